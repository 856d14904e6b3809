//! What a set of combined values is made of: a relation `{key => value}` of byte strings.
//!
//! # Why the function is not part of it
//! It is code of the program that opens the database, and code has no name that lasts from one
//! build to the next. So a relation of byte strings is all that is stored, and whoever opens it
//! hands the function in.

use crate::blobs_def::{KeyType, key_type};
use crate::{KeyColumn, Schema, ValueColumn};
use model::Type;

/// Combined values as the catalog knows them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CombinedDef {
    /// Their name, also that of the relation `{key => value}`.
    pub name: String,
    /// What names a value.
    pub key: KeyType,
}

impl CombinedDef {
    /// The relation they are.
    #[must_use]
    pub fn schema(&self) -> Schema {
        Schema {
            name: self.name.clone(),
            keys: vec![KeyColumn::new("key", key_type(self.key))],
            values: vec![ValueColumn::new("value", Type::Bytes)],
        }
    }

    /// The combined values that a relation is, if its columns are those of combined values.
    #[must_use]
    pub fn of_schema(schema: &Schema) -> Option<Self> {
        [KeyType::U64, KeyType::I64, KeyType::Str]
            .map(|key| Self { name: schema.name.clone(), key })
            .into_iter()
            .find(|def| def.schema() == *schema)
    }
}
