//! The catalog of a store in memory, and the bytes of definitions.

use super::*;
use crate::{
    IndexColumn, JsonPath, KeyColumn, NameOverlay, SearchDef, Settings, ValueColumn, VertexType,
    WeightType,
};
use base::{ColumnShape, Kind, Merge};
use model::{JsonStep, Type, Value, VectorKind};
use store::{ErrorKind, Isolation, WriteBatch};
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
fn definitions_with_newer_types_are_refused_by_their_version_and_others_are_not() {
    for (of, version) in [
        (Type::Timestamp, 2),
        (Type::List(Box::new(Type::Tuple(vec![Type::Int, Type::Date])), None), 2),
        (Type::List(Box::new(Type::Nullable(Box::new(Type::Duration))), None), 2),
        (Type::List(Box::new(Type::Validity), None), 1),
        (Type::Decimal, 10),
        (Type::Tuple(vec![Type::Date, Type::Nullable(Box::new(Type::Decimal))]), 10),
    ] {
        let keys = vec![KeyColumn::new("k", Type::Int)];
        let values = vec![ValueColumn::new("v", of)];
        let schema = Schema { name: "r".into(), keys, values };
        assert_eq!(Definition::Relation(schema.clone()).encode()[0], version);
        let catalog = catalog();
        let id = catalog.create(&schema).unwrap();
        assert_eq!(catalog.find("r").unwrap(), Some(Entry::Relation(schema, id)));
    }
}

/// Renames in a transaction that does nothing else.
fn rename(catalog: &Catalog, pairs: &[(&str, &str)]) -> Result<()> {
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let transaction = catalog.store.begin(Isolation::Snapshot);
    let mut names = NameOverlay::default();
    let rows = catalog.rename_in(&mut names, &*transaction, &pairs)?;
    let (changes, more) = catalog.schema_changes(&names, &*transaction)?;
    for row in rows.into_iter().chain(more) {
        transaction.write(&WriteBatch { tables: vec![row] })?;
    }
    transaction.commit()?;
    catalog.change_names(&changes)
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
fn a_search_index_has_two_parts_and_goes_with_its_relation() {
    let names = [
        (crate::SearchMethod::FullText, ["word", "src_id"], "doc:words:terms"),
        (crate::SearchMethod::NearDuplicates, ["hash", "src_id"], "doc:words:inv"),
    ];
    for (method, columns, second) in names {
        check_search_index(method, columns, second);
    }
}

fn check_search_index(method: crate::SearchMethod, columns: [&str; 2], second: &str) {
    let catalog = catalog();
    let keys = vec![KeyColumn::new("id", Type::Int)];
    let values = vec![ValueColumn::new("text", Type::String)];
    let of = Schema { name: "doc".into(), keys, values };
    catalog.create(&of).unwrap();
    let def = SearchDef {
        name: "doc:words".to_owned(),
        method,
        keys: of.keys.clone(),
        settings: vec![("extractor".to_owned(), Value::Str("text".to_owned()))],
    };
    let ids = catalog.create_search_index(&def).unwrap();
    assert_eq!(catalog.search_indexes_of(&*catalog.store, "doc").unwrap(), [], "not whole yet");
    let again = catalog.create_search_index(&def).unwrap();
    assert_ne!(ids[..2], again[..2], "an incomplete index is replaced");
    let ready = catalog.ready_row(&def.name, Kind::Put).unwrap();
    catalog.store.write(&WriteBatch { tables: vec![ready] }, None).unwrap();
    assert!(catalog.create_search_index(&def).is_err());
    assert_eq!(catalog.indexes_of(&*catalog.store, "doc").unwrap(), []);
    let found = catalog.search_indexes_of(&*catalog.store, "doc").unwrap();
    assert_eq!(found, [(def.clone(), again[..2].to_vec())]);
    let names: Vec<String> =
        catalog.list().unwrap().iter().map(|entry| entry.name().to_owned()).collect();
    assert_eq!(names, ["doc", "doc:words"]);
    let read = catalog.find("doc:words").unwrap().unwrap().schema();
    assert_eq!(read.keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), columns);
    assert!(catalog.find(second).unwrap().is_some());
    assert!(catalog.drop_entry("doc").unwrap());
    assert_eq!(catalog.list().unwrap(), []);
    assert!(catalog.keyspace_named(second).is_none());
}

#[test]
fn an_index_has_its_columns_first_and_goes_with_its_relation() {
    let catalog = catalog();
    let of = Schema {
        name: "user".into(),
        keys: vec![KeyColumn::new("country", Type::String), KeyColumn::new("id", Type::Int)],
        values: vec![ValueColumn { nullable: true, ..ValueColumn::new("age", Type::Int) }],
    };
    catalog.create(&of).unwrap();
    let columns = ["age", "id"].map(|name| IndexColumn::Column(name.to_owned()));
    let (index, id) = catalog.create_index(&of, "by_age", &columns, false).unwrap();
    let names: Vec<_> = index.keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!((index.name.as_str(), names), ("user:by_age", vec!["age", "id", "country"]));
    assert_eq!(index.keys[0].column_type, Type::Nullable(Box::new(Type::Int)));
    let store = Arc::clone(&catalog.store);
    assert_eq!(catalog.indexes_of(&*store, "user").unwrap(), [], "it is not whole yet");
    let again = catalog.create_index(&of, "by_age", &columns, false).unwrap();
    assert_ne!(again.1, id, "one that was cut short is begun again");
    let ready = catalog.ready_row("user:by_age", Kind::Put).unwrap();
    store.write(&WriteBatch { tables: vec![ready] }, None).unwrap();
    assert!(catalog.create_index(&of, "by_age", &columns, false).is_err());
    assert_eq!(catalog.indexes_of(&*store, "user").unwrap(), [again]);
    assert_eq!(catalog.indexes_of(&*store, "use").unwrap(), []);
    for columns in [&["nope"][..], &[], &["id", "id"]] {
        let columns = columns.iter().map(|name| IndexColumn::Column((*name).to_owned()));
        let columns: Vec<_> = columns.collect();
        let error = catalog.create_index(&of, "other", &columns, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert!(!catalog.drop_index("user").unwrap());
    assert!(catalog.drop_index("user:by_age").unwrap());
    assert!(!catalog.drop_index("user:by_age").unwrap());
    catalog.create_index(&of, "by_age", &columns[..1], false).unwrap();
    let ready = catalog.ready_row("user:by_age", Kind::Put).unwrap();
    store.write(&WriteBatch { tables: vec![ready] }, None).unwrap();
    rename(&catalog, &[("user", "person")]).unwrap();
    assert_eq!(catalog.find("user").unwrap(), None);
    assert_eq!(catalog.indexes_of(&*store, "person").unwrap().len(), 1);
    catalog.create(&of).unwrap();
    assert_eq!(catalog.indexes_of(&*store, "user").unwrap(), []);
    assert!(rename(&catalog, &[("user", "person")]).is_err());
    rename(&catalog, &[("user", "person"), ("person", "user")]).unwrap();
    assert_eq!(catalog.indexes_of(&*store, "user").unwrap().len(), 1);
    assert_eq!(catalog.indexes_of(&*store, "person").unwrap(), []);
    assert!(catalog.drop_entry("user").unwrap() && catalog.drop_entry("person").unwrap());
    assert_eq!(catalog.list().unwrap(), []);
}

#[test]
fn what_is_set_of_a_relation_goes_where_it_goes() {
    let catalog = catalog();
    let store = Arc::clone(&catalog.store);
    let settings = Settings {
        access: crate::Access::ReadOnly,
        on_put: vec!["?[a] := _new[a]\n\"quoted\"".into()],
        description: "for é".into(),
        ..Settings::default()
    };
    catalog.create(&schema("r")).unwrap();
    assert_eq!(catalog.settings(&*store, "r").unwrap(), Settings::default());
    let row = catalog.settings_row("r", &settings).unwrap();
    store.write(&WriteBatch { tables: vec![row] }, None).unwrap();
    assert_eq!(catalog.settings(&*store, "r").unwrap(), settings);
    rename(&catalog, &[("r", "s")]).unwrap();
    assert_eq!(catalog.settings(&*store, "s").unwrap(), settings);
    assert_eq!(catalog.settings(&*store, "r").unwrap(), Settings::default());
    catalog.drop_entry("s").unwrap();
    catalog.create(&schema("s")).unwrap();
    assert_eq!(catalog.settings(&*store, "s").unwrap(), Settings::default());
    assert_eq!(catalog.list().unwrap().len(), 1);
}

#[test]
fn names_with_colons_and_signs_are_refused() {
    for name in ["", "1a", "a:rev", "a b", "-a", "a+b", "€", &"a".repeat(256)] {
        let error = catalog().create(&schema(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
    }
    for name in ["a", "_", "Cites.v2-final_1", "é", "数据"] {
        catalog().create(&schema(name)).unwrap();
    }
}

#[test]
fn a_definition_that_is_cut_or_changed_is_corruption_or_another_definition() {
    let graph = GraphDef::new("g", VertexType::Str, WeightType::Int);
    let graph = Definition::Graph(graph, GraphPart::Forward);
    let blobs = BlobsDef { name: "b".into(), key: VertexType::Str };
    let blobs = BlobsDef::PARTS.map(|part| Definition::Blobs(blobs.clone(), part));
    let mut defaults = schema("r");
    defaults.keys[0].default = Some("[]".into());
    defaults.values[1].default = Some("rand_uuid_v4()".into());
    let on_paths = Definition::Relation(index_on_paths("r"));
    let relations = [schema("r"), defaults].map(Definition::Relation);
    let relations = relations.into_iter().chain([on_paths, graph]);
    let methods = ["fts", "lsh", "hnsw"].map(|name| crate::SearchMethod::of_name(name).unwrap());
    let parts = methods.into_iter().flat_map(|method| {
        let search = SearchDef {
            name: "r:i".to_owned(),
            method,
            keys: vec![KeyColumn::new("k", Type::Int)],
            settings: vec![("extractor".to_owned(), Value::Str("t".to_owned()))],
        };
        method.parts().iter().map(move |&part| Definition::Search(search.clone(), part))
    });
    let def = with_properties(VertexType::Str);
    let of_graph = def.parts().iter().map(|&part| Definition::Graph(def.clone(), part));
    let all = relations.chain(blobs).chain(parts).chain(of_graph);
    for whole in all {
        let (name, shape) = match &whole {
            Definition::Relation(schema) => ("r".to_owned(), schema.shape()),
            Definition::Graph(def, part) => (def.keyspace_name(*part), def.shape(*part)),
            Definition::Blobs(def, part) => (def.keyspace_name(*part), def.shape(*part)),
            Definition::Search(def, part) => (def.keyspace_name(*part), def.shape(*part)),
        };
        let bytes = whole.encode();
        let decode = |definition: &[u8]| {
            let (name, definition) = (name.clone(), definition.to_vec());
            let info = KeyspaceInfo { id: KeyspaceId(1), name, shape: shape.clone(), definition };
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

/// An index by `d->'a'->0`, `b: d->'b'` and `n`.
fn index_on_paths(name: &str) -> Schema {
    let path =
        |steps: &[JsonStep]| Some(JsonPath { column: "d".to_owned(), steps: steps.to_vec() });
    let name_of = |name: &str| JsonStep::Name(name.to_owned());
    let any = |name: &str, path| KeyColumn { path, ..KeyColumn::new(name, Type::Any) };
    let keys = vec![
        any("d->'a'->0", path(&[name_of("a"), JsonStep::Index(0)])),
        any("b", path(&[name_of("b")])),
        KeyColumn::new("n", Type::Int),
    ];
    Schema { name: name.to_owned(), keys, values: Vec::new() }
}

#[test]
fn an_index_on_paths_is_refused_by_its_version_and_follows_renamed_columns() {
    let want = b"\x07\x0c\x03\x09d->'a'->0\x00\x01b\x00\x01n\x02\x00\
        \x07\x01d\x00\x01a\x01\x00\x05\x01d\x00\x01b\x00";
    let index = index_on_paths("r:i");
    assert_eq!(Definition::Relation(index.clone()).encode(), want);
    let catalog = catalog();
    let relation = |columns: [&str; 2]| Schema {
        name: "r".to_owned(),
        keys: vec![KeyColumn::new(columns[0], Type::Int)],
        values: vec![ValueColumn::new(columns[1], Type::Json)],
    };
    let id = catalog.create(&relation(["n", "d"])).unwrap();
    let columns: Vec<_> = index.keys[..2].iter().map(IndexColumn::of_key).collect();
    let shown: Vec<_> = columns.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["d->'a'->0", "b: d->'b'"]);
    let (created, _) = catalog.create_index(&relation(["n", "d"]), "i", &columns, false).unwrap();
    assert_eq!(created, index);
    let ready = catalog.ready_row("r:i", Kind::Put).unwrap();
    catalog.store.write(&WriteBatch { tables: vec![ready] }, None).unwrap();
    let rename = |from: &str, to: &str, schema: &Schema| {
        let pairs = [(from.to_owned(), to.to_owned())];
        catalog.rename_columns(&*catalog.store, schema, id, &pairs)
    };
    let error = rename("n", "b", &relation(["n", "d"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    rename("d", "e-f", &relation(["n", "d"])).unwrap();
    let (renamed, _) = catalog.indexes_of(&*catalog.store, "r").unwrap().remove(0);
    let shown = renamed.keys.iter().map(|key| IndexColumn::of_key(key).to_string());
    assert_eq!(shown.collect::<Vec<_>>(), ["`e-f`->'a'->0", "b: `e-f`->'b'", "n"]);
    for (of, path) in [("k", index.keys[1].path.clone()), ("n", None)] {
        let path = path.unwrap_or(JsonPath { column: "n".into(), steps: vec![JsonStep::Index(0)] });
        let column = IndexColumn::Path(Some("x".to_owned()), path);
        let of = relation([of, "v"]);
        let error = catalog.create_index(&of, "other", &[column], false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_unique_index_is_refused_by_its_version_and_stays_unique_under_other_names() {
    let of = Schema {
        name: "user".to_owned(),
        keys: vec![KeyColumn::new("id", Type::Int)],
        values: vec![ValueColumn::new("email", Type::String), ValueColumn::new("n", Type::Int)],
    };
    let catalog = catalog();
    let id = catalog.create(&of).unwrap();
    let columns = ["email", "n"].map(|name| IndexColumn::Column(name.to_owned()));
    let (index, _) = catalog.create_index(&of, "mail", &columns, true).unwrap();
    assert_eq!(index.unique_columns(), 2);
    let want = b"\x09\x0d\x03\x05email\x05\x01n\x02\x02id\x02\x00\0\0\0\x02";
    assert_eq!(Definition::Relation(index.clone()).encode(), want);
    let ready = catalog.ready_row("user:mail", Kind::Put).unwrap();
    catalog.store.write(&WriteBatch { tables: vec![ready] }, None).unwrap();
    let pairs = [("email".to_owned(), "mail".to_owned())];
    catalog.rename_columns(&*catalog.store, &of, id, &pairs).unwrap();
    rename(&catalog, &[("user", "person")]).unwrap();
    let (renamed, id) = catalog.indexes_of(&*catalog.store, "person").unwrap().remove(0);
    assert_eq!(renamed.keys[0].name, "mail");
    assert_eq!(renamed.unique_columns(), 2);
    for number in [0, 4, 128] {
        let definition = [&want[..want.len() - 1], &[number]].concat();
        let (name, shape) = ("user:mail".to_owned(), index.shape());
        let info = KeyspaceInfo { id, name, shape, definition };
        let error = Definition::decode(&info).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{number} unique columns");
    }
}

fn with_properties(vertex: VertexType) -> GraphDef {
    let nullable = |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
    GraphDef {
        edges: vec![nullable("since", Type::Int), nullable("more", Type::Json)],
        nodes: Some(vec![ValueColumn::new("kind", Type::String)]),
        ..GraphDef::new("g", vertex, WeightType::Float)
    }
}

#[test]
fn a_graph_without_properties_keeps_its_bytes_and_others_are_refused_by_their_version() {
    let plain = GraphDef::new("g", VertexType::Str, WeightType::Float);
    let bytes = |def: &GraphDef, part| Definition::Graph(def.clone(), part).encode();
    for (number, &part) in [1, 2, 3, 4].iter().zip(plain.parts()) {
        assert_eq!(bytes(&plain, part), [1, *number, 2, 1]);
    }
    let columns = b"\x02\x05since\x02\x01\x00\x04more\x08\x01\x00\x01\x04kind\x05\x00\x00";
    let def = with_properties(VertexType::Str);
    for (number, &part) in [1, 2, 3, 4, 9].iter().zip(def.parts()) {
        let want = [&[4, *number, 2, 1, 1], &columns[..]].concat();
        assert_eq!(bytes(&def, part), want);
    }
}

#[test]
fn undirected_graphs_and_parallel_edges_have_a_version_and_one_encoding() {
    let plain =
        GraphDef { is_undirected: true, ..GraphDef::new("g", VertexType::U64, WeightType::Float) };
    let bytes = |def: &GraphDef, part| Definition::Graph(def.clone(), part).encode();
    assert_eq!(bytes(&plain, GraphPart::Reverse), [8, 2, 0, 1, 2, 0]);
    let def = GraphDef { is_undirected: true, ..with_properties(VertexType::Str) };
    let columns = b"\x02\x05since\x02\x01\x00\x04more\x08\x01\x00\x01\x04kind\x05\x00\x00";
    assert_eq!(bytes(&def, GraphPart::Nodes), [&[8, 9, 2, 1, 3], &columns[..]].concat());
    let decoded = |def: &GraphDef, part, definition: Vec<u8>| {
        let (name, shape) = (def.keyspace_name(part), def.shape(part));
        Definition::decode(&KeyspaceInfo { id: KeyspaceId(1), name, shape, definition })
    };
    let keyed = GraphDef { is_keyed: true, ..with_properties(VertexType::Str) };
    assert_eq!(bytes(&keyed, GraphPart::Nodes), [&[8, 9, 2, 1, 5], &columns[..]].concat());
    assert_eq!(keyed.schema().keys[2], KeyColumn::new("key", Type::Int));
    for def in [&plain, &def, &keyed] {
        for &part in def.parts() {
            let found = decoded(def, part, bytes(def, part)).unwrap();
            assert_eq!(found, Definition::Graph(def.clone(), part));
        }
    }
    // The directed graph of the same columns has another version.
    for wrong in [[8, 2, 0, 1, 0, 0], [4, 2, 0, 1, 2, 0], [8, 2, 0, 1, 8, 0]] {
        let error = decoded(&plain, GraphPart::Reverse, wrong.to_vec()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{wrong:?}");
    }
}

#[test]
fn the_vertices_of_a_graph_are_an_entry_and_go_with_it() {
    let catalog = catalog();
    let def = with_properties(VertexType::U64);
    let new = def.parts().iter().map(|&part| NewKeyspace {
        name: def.keyspace_name(part),
        shape: def.shape(part),
        definition: Definition::Graph(def.clone(), part).encode(),
    });
    catalog.store.create_keyspaces(&new.collect::<Vec<_>>()).unwrap();
    let names: Vec<_> =
        catalog.list().unwrap().iter().map(|entry| entry.name().to_owned()).collect();
    assert_eq!(names, ["g", "g:nodes"]);
    let nodes = catalog.find("g:nodes").unwrap().unwrap();
    assert_eq!(nodes.schema(), def.part_schema(GraphPart::Nodes));
    rename(&catalog, &[("g", "h")]).unwrap();
    assert!(catalog.find("g:nodes").unwrap().is_none());
    assert_eq!(catalog.find("h:nodes").unwrap().unwrap().keyspace(), nodes.keyspace());
    assert!(catalog.drop_entry("h:nodes").is_err());
    assert!(catalog.drop_entry("h").unwrap());
    assert_eq!(catalog.list().unwrap(), []);
}

#[test]
fn properties_that_cannot_be_stored_are_refused() {
    let check = |edges: &[&str], nodes: &[&str], want: &str| {
        let columns = |names: &[&str]| -> Vec<_> {
            names.iter().map(|name| ValueColumn::new(*name, Type::Int)).collect()
        };
        let (edges, nodes) = (columns(edges), Some(columns(nodes)));
        let def = GraphDef { edges, nodes, ..with_properties(VertexType::U64) };
        let error = def.check().unwrap_err().to_string();
        assert_eq!(error.lines().next(), Some(want));
    };
    for name in ["src", "dst", "weight", "key"] {
        let want = format!("graph \"g\": a property of an edge cannot be named {name:?}");
        check(&[name], &[], &want);
    }
    let want = "graph \"g\": a property of a vertex cannot be named \"vertex\"";
    check(&[], &["kind", "vertex"], want);
    for name in ["", "_a", "a b", "1", "a-b"] {
        let want = format!("graph \"g\": {name:?} cannot be the name of a property");
        check(&[name], &[], &want);
        check(&[], &[name], &want);
    }
    check(&["a", "b", "a"], &[], "relation \"g\" has two columns named \"a\"");
    check(&[], &["a", "a"], "relation \"g:nodes\" has two columns named \"a\"");
}

#[test]
fn a_graph_has_the_shape_of_its_schema() {
    for weight in [WeightType::None, WeightType::Float, WeightType::Int] {
        let def = GraphDef::new("g", VertexType::Str, weight);
        let keyed = GraphDef { is_keyed: true, ..def.clone() };
        for &part in def.parts() {
            // The dictionary stores its strings unencoded.
            assert_eq!(def.part_schema(part).shape(), def.shape(part));
            assert_eq!(keyed.part_schema(part).shape(), keyed.shape(part));
        }
        assert_eq!(def.schema().values.is_empty(), weight == WeightType::None);
    }
    let merge = Some(Merge::Max);
    assert_eq!(schema("r").shape().values[0], ColumnShape::Word { merge });
}
