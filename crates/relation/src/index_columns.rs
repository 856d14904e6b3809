//! Columns of an index: columns of its relation, and values at paths into JSON columns.

use crate::error::invalid;
use crate::json_path::JsonPath;
use crate::schema::{KeyColumn, Schema, ValueColumn};
use model::Type;
use std::fmt;
use store::Result;

/// A column that an index is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexColumn {
    /// A column of the relation.
    Column(String),
    /// The value at a path. Without a name, the column is called as its path is written.
    Path(Option<String>, JsonPath),
}

impl IndexColumn {
    /// The column that a key column of an index was made with.
    #[must_use]
    pub fn of_key(key: &KeyColumn) -> Self {
        match &key.path {
            None => Self::Column(key.name.clone()),
            Some(path) => {
                let name = key.name.clone();
                Self::Path((name != path.to_string()).then_some(name), path.clone())
            }
        }
    }

    /// The key column.
    fn key(&self, of: &Schema) -> Result<KeyColumn> {
        let missing =
            |column: &str| invalid(format!("relation {:?} has no column {column:?}", of.name));
        match self {
            Self::Column(column) => {
                let found = type_of(of, column).ok_or_else(|| missing(column))?;
                Ok(KeyColumn::new(column, found))
            }
            Self::Path(name, path) => {
                let found = type_of(of, &path.column).ok_or_else(|| missing(&path.column))?;
                if *found.without_null() != Type::Json {
                    return Err(invalid(format!(
                        "column {:?} of relation {:?} is of type {found}, and an index is on paths \
                         into columns of type Json",
                        path.column, of.name
                    )));
                }
                if let Some(name) = name.as_ref().filter(|name| type_of(of, name).is_some()) {
                    let what = format!("relation {:?} has a column {name:?}", of.name);
                    return Err(invalid(format!("{what}\nhint: give the path another name")));
                }
                let name = name.clone().unwrap_or_else(|| path.to_string());
                Ok(KeyColumn { path: Some(path.clone()), ..KeyColumn::new(name, Type::Any) })
            }
        }
    }
}

impl fmt::Display for IndexColumn {
    /// Writes it as in a script.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => f.write_str(column),
            Self::Path(None, path) => path.fmt(f),
            Self::Path(Some(name), path) => write!(f, "{name}: {path}"),
        }
    }
}

fn type_of(of: &Schema, column: &str) -> Option<Type> {
    let key = of.keys.iter().find(|key| key.name == column).map(|key| key.column_type.clone());
    let value = || of.values.iter().find(|value| value.name == column);
    key.or_else(|| value().map(ValueColumn::shown_type))
}

/// The schema of an index: the chosen columns, in which a unique index is unique, then the other
/// key columns.
pub(crate) fn index_schema(
    of: &Schema,
    name: &str,
    columns: &[IndexColumn],
    is_unique: bool,
) -> Result<Schema> {
    if columns.is_empty() {
        return Err(invalid("an index needs at least one column"));
    }
    let key = |column: &IndexColumn| Ok(KeyColumn { is_unique, ..column.key(of)? });
    let mut keys: Vec<KeyColumn> = columns.iter().map(key).collect::<Result<_>>()?;
    let is_chosen = |key: &&KeyColumn| columns.contains(&IndexColumn::Column(key.name.clone()));
    let others = of.keys.iter().filter(|key| !is_chosen(key));
    keys.extend(others.map(|key| KeyColumn::new(&key.name, key.column_type.clone())));
    let schema = Schema { name: format!("{}:{name}", of.name), keys, values: Vec::new() };
    schema.check()?;
    Ok(schema)
}
