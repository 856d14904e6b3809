//! What is in a store, by name.

use crate::definition::{Definition, check_name, invalid};
use crate::{BlobsDef, BlobsPart, GraphDef, GraphPart, Schema};
use base::KeyspaceId;
use std::sync::Arc;
use store::{NewKeyspace, Result, Store};

/// Something with a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A relation, and where its rows are.
    Relation(Schema, KeyspaceId),
    /// A graph, and where its edges are by source.
    Graph(GraphDef, KeyspaceId),
    /// Blobs, and where their rows are.
    Blobs(BlobsDef, KeyspaceId),
}

impl Entry {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Relation(schema, _) => &schema.name,
            Self::Graph(def, _) => &def.name,
            Self::Blobs(def, _) => &def.name,
        }
    }

    /// Its columns: of a graph those of `{src, dst => weight}`.
    #[must_use]
    pub fn schema(&self) -> Schema {
        match self {
            Self::Relation(schema, _) => schema.clone(),
            Self::Graph(def, _) => def.schema(),
            Self::Blobs(def, _) => def.part_schema(BlobsPart::Rows),
        }
    }

    /// Where the rows of [`Entry::schema`] are.
    #[must_use]
    pub fn keyspace(&self) -> KeyspaceId {
        match self {
            Self::Relation(_, id) | Self::Graph(_, id) | Self::Blobs(_, id) => *id,
        }
    }
}

/// The relations, graphs and blobs of a store. Holds nothing: it asks the store each time.
#[derive(Clone)]
pub struct Catalog {
    store: Arc<dyn Store>,
}

impl Catalog {
    /// The catalog of a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// All entries, by name.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] where a keyspace's definition is not to be read.
    pub fn list(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for info in self.store.keyspaces() {
            match Definition::decode(&info)? {
                Definition::Relation(schema) => entries.push(Entry::Relation(schema, info.id)),
                Definition::Graph(def, GraphPart::Forward) => {
                    entries.push(Entry::Graph(def, info.id));
                }
                Definition::Blobs(def, BlobsPart::Rows) => {
                    entries.push(Entry::Blobs(def, info.id));
                }
                Definition::Graph(..) | Definition::Blobs(..) => {}
            }
        }
        entries.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(entries)
    }

    /// The entry of this name. A graph's reverse is found as `NAME:rev`.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] where its definition is not to be read.
    pub fn find(&self, name: &str) -> Result<Option<Entry>> {
        let infos = self.store.keyspaces();
        let Some(info) = infos.iter().find(|info| info.name == name) else { return Ok(None) };
        Ok(Some(match Definition::decode(info)? {
            Definition::Relation(schema) => Entry::Relation(schema, info.id),
            Definition::Graph(def, GraphPart::Forward) => Entry::Graph(def, info.id),
            Definition::Graph(def, part) => Entry::Relation(def.part_schema(part), info.id),
            Definition::Blobs(def, BlobsPart::Rows) => Entry::Blobs(def, info.id),
            Definition::Blobs(def, part) => Entry::Relation(def.part_schema(part), info.id),
        }))
    }

    /// Creates a relation.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: a name that cannot be one or is taken, or columns that
    /// cannot be stored (see [`Schema::check`]).
    pub fn create(&self, schema: &Schema) -> Result<KeyspaceId> {
        check_name(&schema.name)?;
        schema.check()?;
        let new = NewKeyspace {
            name: schema.name.clone(),
            shape: schema.shape(),
            definition: Definition::Relation(schema.clone()).encode(),
        };
        let ids = self.store.create_keyspaces(&[new])?;
        ids.first().copied().ok_or_else(|| invalid("the store created nothing"))
    }

    /// Drops a relation or a whole graph at once; whether it was there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn drop_entry(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        let names: Vec<String> = match self.find(name)? {
            None => return Ok(false),
            Some(Entry::Relation(schema, _)) => vec![schema.name],
            Some(Entry::Graph(def, _)) => {
                def.parts().iter().map(|&part| def.keyspace_name(part)).collect()
            }
            Some(Entry::Blobs(def, _)) => {
                BlobsDef::PARTS.iter().map(|&part| def.keyspace_name(part)).collect()
            }
        };
        let infos = self.store.keyspaces().into_iter();
        let ids: Vec<_> =
            infos.filter(|info| names.contains(&info.name)).map(|info| info.id).collect();
        self.store.drop_keyspaces(&ids)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyColumn, ValueColumn, VertexType, WeightType};
    use base::{ColumnShape, Merge};
    use model::{Type, VectorKind};
    use store::{ErrorKind, KeyspaceInfo};
    use testkit::ModelStore;

    fn catalog() -> Catalog {
        Catalog::new(Arc::new(ModelStore::new()))
    }

    fn schema(name: &str) -> Schema {
        let list = Type::List(Box::new(Type::Tuple(vec![Type::Int, Type::Any])), Some(3));
        let merge = Some(Merge::Max);
        Schema {
            name: name.into(),
            keys: vec![KeyColumn::new("k", Type::Nullable(Box::new(list)))],
            values: vec![
                ValueColumn { merge, ..ValueColumn::new("m", Type::Float) },
                ValueColumn { nullable: true, ..ValueColumn::new("v", Type::Json) },
                ValueColumn::new("x", Type::Vector(VectorKind::F64, 700)),
            ],
        }
    }

    #[test]
    fn a_relation_is_found_as_it_was_created_until_it_is_dropped() {
        let catalog = catalog();
        let id = catalog.create(&schema("r")).unwrap();
        assert_eq!(catalog.find("r").unwrap(), Some(Entry::Relation(schema("r"), id)));
        assert_eq!(catalog.create(&schema("r")).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert!(catalog.drop_entry("r").unwrap());
        assert!(!catalog.drop_entry("r").unwrap());
        assert_eq!(catalog.list().unwrap(), []);
    }

    #[test]
    fn names_with_colons_and_signs_are_refused() {
        for name in ["", "1a", "a:rev", "a b", "-a", "é", &"a".repeat(256)] {
            let error = catalog().create(&schema(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        }
        for name in ["a", "_", "Cites.v2-final_1"] {
            catalog().create(&schema(name)).unwrap();
        }
    }

    #[test]
    fn a_definition_that_is_cut_or_changed_is_corruption_or_another_definition() {
        let graph = GraphDef::new("g", VertexType::Str, WeightType::Int);
        let graph = Definition::Graph(graph, GraphPart::Forward);
        let blobs = BlobsDef { name: "b".into(), key: VertexType::Str };
        let blobs = BlobsDef::PARTS.map(|part| Definition::Blobs(blobs.clone(), part));
        for whole in [Definition::Relation(schema("r")), graph].into_iter().chain(blobs) {
            let (name, shape) = match &whole {
                Definition::Relation(schema) => ("r".to_owned(), schema.shape()),
                Definition::Graph(def, part) => (def.keyspace_name(*part), def.shape(*part)),
                Definition::Blobs(def, part) => (def.keyspace_name(*part), def.shape(*part)),
            };
            let bytes = whole.encode();
            let decode = |definition: &[u8]| {
                let (name, definition) = (name.clone(), definition.to_vec());
                let info =
                    KeyspaceInfo { id: KeyspaceId(1), name, shape: shape.clone(), definition };
                Definition::decode(&info)
            };
            assert_eq!(decode(&bytes).unwrap(), whole);
            for cut in 0..bytes.len() {
                assert_eq!(decode(&bytes[..cut]).unwrap_err().kind(), ErrorKind::Corruption);
            }
            let longer = [bytes.as_slice(), &[0]].concat();
            assert_eq!(decode(&longer).unwrap_err().kind(), ErrorKind::Corruption);
            for i in 0..bytes.len() {
                for byte in 0..=255 {
                    let mut changed = bytes.clone();
                    changed[i] = byte;
                    if let Err(error) = decode(&changed) {
                        assert_eq!(error.kind(), ErrorKind::Corruption);
                    }
                }
            }
        }
    }

    #[test]
    fn a_graph_has_the_shape_of_its_schema() {
        for weight in [WeightType::None, WeightType::Float, WeightType::Int] {
            let def = GraphDef::new("g", VertexType::Str, weight);
            for &part in def.parts() {
                let shape = def.part_schema(part).shape();
                // The dictionary keeps its texts as they are, without the encoding of keys.
                assert_eq!(shape, def.shape(part));
            }
            assert_eq!(def.schema().values.is_empty(), weight == WeightType::None);
        }
        let merge = Some(Merge::Max);
        assert_eq!(schema("r").shape().values[0], ColumnShape::Word { merge });
    }
}
