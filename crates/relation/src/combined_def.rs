//! Definition of a set of combined values: a relation `{key => value}` of byte strings.
//!
//! The catalog knows only the relation: [`CombinedDef::of_schema`] recognizes it by its columns.
//!
//! # Why the function is not part of it
//! The function that combines values is code of the program that opens the database. Code cannot be
//! stored, and has no name that stays valid from one build to the next. So each program passes the
//! function when it opens the values.

use crate::blobs_def::{KeyType, key_type};
use crate::schema::{KeyColumn, Schema, ValueColumn};
use model::Type;

/// A set of combined values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CombinedDef {
    /// Name of the set and of the relation `{key => value}`.
    pub name: String,
    /// Type of the keys.
    pub key: KeyType,
}

impl CombinedDef {
    /// The relation that stores the values.
    #[must_use]
    pub fn schema(&self) -> Schema {
        Schema {
            name: self.name.clone(),
            keys: vec![KeyColumn::new("key", key_type(self.key))],
            values: vec![ValueColumn::new("value", Type::Bytes)],
        }
    }

    /// Recognizes a relation that can be opened as combined values, by its columns.
    #[must_use]
    pub fn of_schema(schema: &Schema) -> Option<Self> {
        [KeyType::U64, KeyType::I64, KeyType::Str]
            .map(|key| Self { name: schema.name.clone(), key })
            .into_iter()
            .find(|def| def.schema() == *schema)
    }
}
