//! Settings of a relation besides its columns: access level, triggers and description.
//!
//! # Why rows, and not part of the definition
//! The transaction of a script can write rows, and later snapshots see them. Changing a definition
//! needs an edit of the manifest, which is meant for things that change less often.

use crate::catalog::Catalog;
use crate::error::invalid;
use crate::schema::{KeyColumn, Schema, ValueColumn};
use base::{Batch, KeyRef, KeyspaceId, Kind, Projection};
use model::{Json, Type, Value};
use store::{Error, ErrorKind, Kinds, Read, Result, TableWrites};

/// Operations that scripts may do with a relation. Each level also has the restrictions of the
/// levels before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Anything.
    #[default]
    Normal,
    /// Must not be removed, renamed or replaced, and its triggers must not be set.
    Protected,
    /// Its rows must not be changed.
    ReadOnly,
    /// Its rows must not be read.
    Hidden,
}

/// Settings of a relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Operations that scripts may do.
    pub access: Access,
    /// Triggers: scripts that run after rows were put.
    pub on_put: Vec<String>,
    /// Scripts that run after rows were removed.
    pub on_rm: Vec<String>,
    /// Scripts that run after the relation was replaced.
    pub on_replace: Vec<String>,
    /// Free text for users.
    pub description: String,
}

impl Access {
    /// The level with this name; `None` if there is none.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Normal, Self::Protected, Self::ReadOnly, Self::Hidden]
            .into_iter()
            .find(|level| level.name() == name)
    }

    /// The level's name in scripts: `normal`, `protected`, `read_only` or `hidden`.
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

/// The relation `{name => settings}` that stores all settings.
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
    /// Settings of a relation as `read` sees them; the default if none were set.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if they cannot be decoded.
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

    /// The write that stores settings: a put, or a delete for default settings.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn settings_row(&self, name: &str, settings: &Settings) -> Result<TableWrites> {
        let id = match self.settings_keyspace() {
            Some(id) => id,
            None => match self.create_internal(&settings_schema()) {
                Ok(id) => id,
                // Another thread may have created it meanwhile.
                Err(error) => self.settings_keyspace().ok_or(error)?,
            },
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

/// Fails if the relation's access level is `forbidden_from` or stricter.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] with the level.
pub fn check_access(name: &str, settings: &Settings, forbidden_from: Access) -> Result<()> {
    match settings.access >= forbidden_from {
        true => Err(invalid(format!(
            "the access level of relation `{name}` is {}, which forbids this",
            settings.access.name()
        ))),
        false => Ok(()),
    }
}
