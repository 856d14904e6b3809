//! Definition of a set of documents: a relation `{key => doc: Json}`. The catalog knows only the
//! relation: [`DocumentsDef::of_schema`] recognizes it by its columns.

use crate::blobs_def::{KeyType, key_type};
use crate::schema::{KeyColumn, Schema, ValueColumn};
use model::Type;

/// A set of documents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DocumentsDef {
    /// Name of the set and of the relation `{key => doc}`.
    pub name: String,
    /// Type of the keys.
    pub key: KeyType,
}

impl DocumentsDef {
    /// The relation that stores the documents.
    #[must_use]
    pub fn schema(&self) -> Schema {
        Schema {
            name: self.name.clone(),
            keys: vec![KeyColumn::new("key", key_type(self.key))],
            values: vec![ValueColumn::new("doc", Type::Json)],
        }
    }

    /// Recognizes a relation that can be opened as documents, by its columns.
    #[must_use]
    pub fn of_schema(schema: &Schema) -> Option<Self> {
        let types = [KeyType::U64, KeyType::I64, KeyType::Str].into_iter();
        let mut defs = types.map(|key| Self { name: schema.name.clone(), key });
        defs.find(|def| def.schema() == *schema)
    }
}
