//! What is set of a relation besides its columns: who may change it, what happens when it changes,
//! what it is for.
//!
//! # Why rows, and not part of the definition
//! They are written in the transaction of the script that sets them, and seen by whoever reads at a
//! later moment, like any row. A definition changes by an edit of the manifest, which is made for
//! things that change less often.

use crate::catalog::Catalog;
use crate::definition::invalid;
use crate::{KeyColumn, Schema, ValueColumn};
use base::{Batch, KeyRef, KeyspaceId, Kind, Projection};
use model::{Json, Type, Value};
use store::{Error, ErrorKind, Kinds, Read, Result, TableWrites};

/// What scripts may do with a relation; each level forbids what those before it forbid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Anything.
    #[default]
    Normal,
    /// Not to remove, rename or replace it, nor to set its triggers.
    Protected,
    /// Not to change its rows.
    ReadOnly,
    /// Not to read its rows.
    Hidden,
}

/// What is set of a relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What scripts may do with it.
    pub access: Access,
    /// Scripts that run after rows were put.
    pub on_put: Vec<String>,
    /// After rows were removed.
    pub on_rm: Vec<String>,
    /// After it was replaced.
    pub on_replace: Vec<String>,
    /// What it is for.
    pub description: String,
}

impl Access {
    /// The level of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Normal, Self::Protected, Self::ReadOnly, Self::Hidden]
            .into_iter()
            .find(|level| level.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Protected => "protected",
            Self::ReadOnly => "read_only",
            Self::Hidden => "hidden",
        }
    }
}

/// Where settings are: a relation `{name => settings}`.
pub(crate) const SETTINGS: &str = ":settings";

pub(crate) fn settings_schema() -> Schema {
    Schema {
        name: SETTINGS.to_owned(),
        keys: vec![KeyColumn::new("name", Type::String)],
        values: vec![ValueColumn::new("settings", Type::Json)],
    }
}

impl Settings {
    fn to_json(&self) -> Value {
        let texts = |texts: &[String]| {
            Value::List(texts.iter().map(|text| Value::Str(text.clone())).collect()).to_string()
        };
        let text = |text: &str| Value::Str(text.to_owned()).to_string();
        let json = format!(
            r#"{{"access":{},"description":{},"put":{},"replace":{},"rm":{}}}"#,
            text(self.access.name()),
            text(&self.description),
            texts(&self.on_put),
            texts(&self.on_replace),
            texts(&self.on_rm),
        );
        Json::parse(&json).map_or(Value::Null, Value::Json)
    }

    fn of_json(json: &Json) -> Option<Self> {
        let fields: serde_json::Value = serde_json::from_str(json.as_str()).ok()?;
        let texts = |name: &str| -> Option<Vec<String>> {
            let items = fields.get(name)?.as_array()?;
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        };
        Some(Self {
            access: Access::of_name(fields.get("access")?.as_str()?)?,
            on_put: texts("put")?,
            on_rm: texts("rm")?,
            on_replace: texts("replace")?,
            description: fields.get("description")?.as_str()?.to_owned(),
        })
    }
}

impl Catalog {
    /// What is set of a relation, as a reader sees it.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] where it is not to be read.
    pub fn settings(&self, read: &dyn Read, name: &str) -> Result<Settings> {
        let Some(id) = self.settings_keyspace() else { return Ok(Settings::default()) };
        let schema = settings_schema();
        let mut key = Vec::new();
        model::encode_value(&Value::Str(name.to_owned()), &mut key);
        let mut rows = Batch::new(&schema.shape());
        let all = Projection { keys: 0, ..Projection::ALL };
        if !read.get(id, KeyRef::Bytes(&key), all, &mut rows)? {
            return Ok(Settings::default());
        }
        let stored = match rows.values.first() {
            Some(base::Column::Bytes(column)) => column.get(0),
            _ => &[],
        };
        let mut bytes = stored;
        let settings = match model::decode_value(&mut bytes) {
            Ok(Value::Json(json)) => Settings::of_json(&json),
            _ => None,
        };
        settings.ok_or_else(|| {
            Error::new(ErrorKind::Corruption, format!("the settings of {name:?} cannot be read"))
        })
    }

    /// The write that sets them; a delete where they are the usual ones.
    ///
    /// # Errors
    /// Those of the store.
    pub fn settings_row(&self, name: &str, settings: &Settings) -> Result<TableWrites> {
        let id = match self.settings_keyspace() {
            Some(id) => id,
            None => self.create_internal(&settings_schema())?,
        };
        let schema = settings_schema();
        let mut rows = Batch::new(&schema.shape());
        schema.append(vec![Value::Str(name.to_owned()), settings.to_json()], &mut rows)?;
        let kind = if *settings == Settings::default() { Kind::Delete } else { Kind::Put };
        let kinds = Kinds::Uniform(kind);
        Ok(TableWrites { keyspace: id, kinds, rows, delete_ranges: Vec::new() })
    }

    fn settings_keyspace(&self) -> Option<KeyspaceId> {
        self.keyspace_named(SETTINGS)
    }
}

/// An error where a level forbids what is to be done.
///
/// # Errors
/// [`ErrorKind::InvalidInput`].
pub fn check_access(name: &str, settings: &Settings, forbidden_from: Access) -> Result<()> {
    match settings.access >= forbidden_from {
        true => Err(invalid(format!(
            "the access level of relation `{name}` is {}, which forbids this",
            settings.access.name()
        ))),
        false => Ok(()),
    }
}
