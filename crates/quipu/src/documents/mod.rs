//! Documents: JSON by key, in a relation `{key => doc: Json}`.
//!
//! # Why they have no storage of their own
//! They are rows of a relation, and are written as such: indexes, triggers, callbacks, checks and
//! backups are those of relations, and scripts read and write them. A change of a part of a
//! document reads it, changes it and writes it in one transaction.

mod change;
mod export;
mod find;
#[cfg(feature = "arrow")]
mod gather;
mod import;

pub use change::FieldChange;
pub use find::FieldValues;
#[cfg(feature = "arrow")]
pub use gather::Gathered;
pub use import::DocumentImport;

use crate::database::{Database, Tx, retried};
use crate::relation::{Relation, RowScan};
use crate::script::Parameters;
use base::BytesColumn;
use document::Gist;
use model::{Frame, FrameError, Json, Series, Value};
use relation::{DocumentsDef, Entry};
use session::{ChangeKind, schema_columns};
use store::{Error, ErrorKind, Result};
use syntax::words::quote_name;
use views::keys::{KeyColumn, KeyList, KeyOf, KeyType};

/// Description of the relation of new documents.
const DESCRIPTION: &str = "documents";

/// Documents that are read at a time.
const CHUNK_ROWS: usize = 1024;

/// Options to create documents with. Existing documents must have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentOptions {
    /// Type of the keys. Default: `u64`.
    pub key: KeyType,
}

/// JSON documents by key, as the database or a transaction sees them. Cheap to clone.
///
/// ```
/// use quipu::{Database, DocumentOptions, Json, Options, Patch};
///
/// let db = Database::in_memory(Options::default())?;
/// let users = db.documents("users", DocumentOptions::default())?;
/// users.put(7_u64.into(), Json::parse(r#"{"name": "Ada", "langs": ["fr"]}"#).unwrap())?;
///
/// let patch = r#"[{"op": "add", "path": "/langs/-", "value": "en"}]"#;
/// let patch = Patch::parse(&Json::parse(patch).unwrap().to_tree()).unwrap();
/// users.patch(7_u64.into(), &patch)?;
/// let ada = users.get(7_u64.into())?.unwrap();
/// assert_eq!(ada.as_str(), r#"{"langs":["fr","en"],"name":"Ada"}"#);
/// # Ok::<(), quipu::Error>(())
/// ```
///
/// # Errors
/// Every call: [`ErrorKind::InvalidInput`] if a key is not of the documents' type, after the
/// documents were dropped, or after their transaction has ended; errors of the store. Writes:
/// [`ErrorKind::Conflict`] if other writers keep changing the same documents,
/// [`ErrorKind::InvalidInput`] for the relation's access level.
#[derive(Clone, Debug)]
pub struct Documents {
    database: Database,
    transaction: Option<Tx>,
    def: DocumentsDef,
}

/// Keys with their documents, in key order.
#[derive(Clone, Debug)]
pub struct DocumentRows {
    /// Keys.
    pub keys: KeyColumn,
    /// Their documents.
    pub documents: Vec<Json>,
}

/// Reads all documents, from one snapshot.
#[derive(Debug)]
pub struct DocumentScan {
    rows: RowScan,
    key: KeyType,
}

impl Database {
    /// Opens the documents with this name, and creates them if they do not exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to a relation with other columns or to
    /// something else, or is invalid.
    pub fn documents(&self, name: &str, options: DocumentOptions) -> Result<Documents> {
        if self.store().is_read_only() {
            return self.require_documents(name);
        }
        let def = DocumentsDef { name: name.to_owned(), key: options.key };
        if let Some(there) = self.existing_documents(name)? {
            return match there.def == def {
                true => Ok(there),
                false => Err(invalid(format!(
                    "the documents {name:?} have {} keys, {} were asked for",
                    there.def.key, def.key
                ))),
            };
        }
        self.create_relation_of(name, &schema_columns(&def.schema()))?;
        // `::relations` shows it.
        let describe = format!("::describe {} '{DESCRIPTION}'", quote_name(name));
        // Another thread may create and describe the same documents now.
        retried(|| self.run(&describe, &Parameters::new()).map(drop))?;
        Ok(Documents { database: self.clone(), transaction: None, def })
    }

    /// Opens the documents with this name; `None` if there are none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to something else.
    pub fn existing_documents(&self, name: &str) -> Result<Option<Documents>> {
        self.check_open()?;
        let def = match self.entry(name)? {
            None => return Ok(None),
            Some(Entry::Relation(schema, _)) => DocumentsDef::of_schema(&schema),
            Some(_) => None,
        };
        let def = def.ok_or_else(|| {
            let hint = "documents are a relation {key => doc: Json} with keys of one column";
            invalid(format!("{name:?} are not documents\nhint: {hint}"))
        })?;
        Ok(Some(Documents { database: self.clone(), transaction: None, def }))
    }

    /// Opens the documents with this name, which must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the names of the existing entries.
    pub fn require_documents(&self, name: &str) -> Result<Documents> {
        self.existing_documents(name)?.ok_or_else(|| self.nothing_named("documents", name))
    }
}

impl Tx {
    /// Documents in the transaction. They must exist, there or before it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there are no documents with this name.
    pub fn documents(&self, name: &str) -> Result<Documents> {
        let relation = self.relation(name)?;
        let def = def_of(&relation)
            .ok_or_else(|| invalid(format!("{name:?} are not documents in the transaction")))?;
        Ok(Documents { database: self.database().clone(), transaction: Some(self.clone()), def })
    }
}

/// The documents that a relation's columns describe.
fn def_of(relation: &Relation) -> Option<DocumentsDef> {
    let types = [KeyType::U64, KeyType::I64, KeyType::Str].into_iter();
    let mut defs = types.map(|key| DocumentsDef { name: relation.name().to_owned(), key });
    defs.find(|def| schema_columns(&def.schema()) == relation.columns())
}

impl Documents {
    /// Name and type of the keys.
    #[must_use]
    pub fn def(&self) -> &DocumentsDef {
        &self.def
    }

    /// Name of the documents.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.def.name
    }

    /// The relation that has the documents.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn relation(&self) -> Result<Relation> {
        self.relation_in(self.transaction.as_ref())
    }

    fn relation_in(&self, transaction: Option<&Tx>) -> Result<Relation> {
        match transaction {
            Some(transaction) => transaction.relation(self.name()),
            None => self.database.relation(self.name()),
        }
    }

    /// The document with this key.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn get(&self, key: KeyOf<'_>) -> Result<Option<Json>> {
        Ok(self.read(&[self.key(key)?])?.pop().flatten())
    }

    /// The documents with these keys, in their order; `None` for keys without one.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn get_many(&self, keys: KeyList<'_>) -> Result<Vec<Option<Json>>> {
        self.read(&self.keys(keys)?)
    }

    fn read(&self, keys: &[Value]) -> Result<Vec<Option<Json>>> {
        read(&self.relation()?, keys)
    }

    /// Number of documents. Counts them.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn len(&self) -> Result<u64> {
        self.relation()?.len()
    }

    /// Whether there are none.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn is_empty(&self) -> Result<bool> {
        self.relation()?.is_empty()
    }

    /// Puts a document; one with the same key is replaced.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn put(&self, key: KeyOf<'_>, document: Json) -> Result<()> {
        self.write(ChangeKind::Put, &frame(vec![self.key(key)?], vec![document])?)
    }

    /// Puts documents; of several with one key the last stays.
    ///
    /// # Errors
    /// As [`Documents::put`], and if there are more or fewer keys than documents. Then nothing is
    /// written.
    pub fn put_many(&self, keys: KeyList<'_>, documents: Vec<Json>) -> Result<()> {
        self.write(ChangeKind::Put, &frame(self.keys(keys)?, documents)?)
    }

    /// Puts documents whose keys have none.
    ///
    /// # Errors
    /// As [`Documents::put_many`], and if a key has a document.
    pub fn insert_many(&self, keys: KeyList<'_>, documents: Vec<Json>) -> Result<()> {
        self.write(ChangeKind::Insert, &frame(self.keys(keys)?, documents)?)
    }

    /// Replaces documents.
    ///
    /// # Errors
    /// As [`Documents::put_many`], and if a key has no document.
    pub fn update_many(&self, keys: KeyList<'_>, documents: Vec<Json>) -> Result<()> {
        self.write(ChangeKind::Update, &frame(self.keys(keys)?, documents)?)
    }

    /// Changes rows; outside of a transaction again where another writer changed one of them.
    fn write(&self, kind: ChangeKind, rows: &Frame) -> Result<()> {
        let write = || self.relation()?.change(kind, rows, &crate::script::RunOptions::default());
        match &self.transaction {
            // The rest of the transaction would have to be run again, too.
            Some(_) => write(),
            None => retried(write),
        }
    }

    /// At most `count` documents in key order, from `start` on.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn scan(&self, start: Option<KeyOf<'_>>, count: usize) -> Result<DocumentRows> {
        let mut parameters = Parameters::new();
        let from = match start {
            None => "",
            Some(start) => {
                parameters.insert("start".to_owned(), self.key(start)?);
                ", key >= $start"
            }
        };
        let name = self.quoted();
        let script = format!("?[key, doc] := *{name}{{key, doc}}{from} :order key :limit {count}");
        self.found(&script, &parameters)
    }

    /// The documents of a query for `key` and `doc`, as the database or the transaction has them.
    fn found(&self, script: &str, parameters: &Parameters) -> Result<DocumentRows> {
        let answer = match &self.transaction {
            Some(transaction) => transaction.run(script, parameters)?,
            None => self.database.run(script, parameters)?,
        };
        let mut rows = DocumentRows::new(self.def.key);
        answer.rows().for_each(|row| rows.push(row));
        Ok(rows)
    }

    fn quoted(&self) -> String {
        quote_name(self.name()).into_owned()
    }

    /// Reads all documents in key order, from one snapshot.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn all(&self) -> Result<DocumentScan> {
        Ok(DocumentScan { rows: self.relation()?.scan()?, key: self.def.key })
    }

    /// The fields of all documents: their pointers, the kinds of their values, and how many
    /// documents have each. Memory is as large as the result.
    ///
    /// # Errors
    /// See [`Documents`].
    pub fn gist(&self) -> Result<Gist> {
        let (mut scan, mut gist) = (self.all()?, Gist::default());
        while let Some(rows) = scan.next_rows(CHUNK_ROWS)? {
            rows.documents.iter().for_each(|document| gist.add(&document.to_tree()));
        }
        Ok(gist)
    }

    fn key(&self, key: KeyOf<'_>) -> Result<Value> {
        match (self.def.key, key) {
            (KeyType::U64, KeyOf::U64(key)) => Ok(Value::id(key)),
            (KeyType::I64, KeyOf::I64(key)) => Ok(Value::Int(key)),
            (KeyType::Str, KeyOf::Str(key)) => Ok(Value::Str(key.to_owned())),
            (of, _) => Err(self.wrong_keys(of)),
        }
    }

    fn keys(&self, keys: KeyList<'_>) -> Result<Vec<Value>> {
        Ok(match (self.def.key, keys) {
            (KeyType::U64, KeyList::U64(keys)) => keys.iter().map(|&key| Value::id(key)).collect(),
            (KeyType::I64, KeyList::I64(keys)) => keys.iter().map(|&key| Value::Int(key)).collect(),
            (KeyType::Str, KeyList::Str(keys)) => {
                keys.iter().map(|key| Value::Str((*key).to_owned())).collect()
            }
            (of, _) => return Err(self.wrong_keys(of)),
        })
    }

    fn wrong_keys(&self, of: KeyType) -> Error {
        invalid(format!("the keys of the documents {:?} are {of}", self.name()))
    }
}

impl DocumentRows {
    fn new(key: KeyType) -> Self {
        let keys = match key {
            KeyType::U64 => KeyColumn::U64(Vec::new()),
            KeyType::I64 => KeyColumn::I64(Vec::new()),
            KeyType::Str => KeyColumn::Str(BytesColumn::default()),
        };
        Self { keys, documents: Vec::new() }
    }

    fn push(&mut self, row: Vec<Value>) {
        let Ok([key, Value::Json(document)]) = <[Value; 2]>::try_from(row) else { return };
        match (&mut self.keys, key) {
            (KeyColumn::U64(keys), Value::Id(key)) => keys.push(key),
            (KeyColumn::U64(keys), Value::Int(key)) => keys.push(key.cast_unsigned()),
            (KeyColumn::I64(keys), Value::Int(key)) => keys.push(key),
            (KeyColumn::Str(keys), Value::Str(key)) => keys.push(Some(key.as_bytes())),
            _ => return,
        }
        self.documents.push(document);
    }
}

impl DocumentScan {
    /// The next documents, about `rows_max`; `None` at the end.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn next_rows(&mut self, rows_max: usize) -> Result<Option<DocumentRows>> {
        let Some(frame) = self.rows.next_rows(rows_max)? else { return Ok(None) };
        let mut rows = DocumentRows::new(self.key);
        frame.rows().for_each(|row| rows.push(row));
        Ok(Some(rows))
    }
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, what.into())
}

fn of_frame(error: FrameError) -> Error {
    Error::caused(ErrorKind::InvalidInput, error)
}

/// Rows of the relation.
fn frame(keys: Vec<Value>, documents: Vec<Json>) -> Result<Frame> {
    if keys.len() != documents.len() {
        return Err(invalid(format!("{} keys, but {} documents", keys.len(), documents.len())));
    }
    let documents: Vec<Value> = documents.into_iter().map(Value::Json).collect();
    let columns = vec![Series::from(keys), Series::from(documents)];
    Frame::new(["key", "doc"].map(str::to_owned).to_vec(), columns).map_err(of_frame)
}

/// Keys alone.
fn key_frame(keys: &[Value]) -> Result<Frame> {
    Frame::new(vec!["key".to_owned()], vec![Series::from(keys.to_vec())]).map_err(of_frame)
}

/// The documents with these keys.
fn read(relation: &Relation, keys: &[Value]) -> Result<Vec<Option<Json>>> {
    let (present, rows) = relation.get_many(&key_frame(keys)?)?;
    let mut found = rows.rows();
    let mut documents = Vec::with_capacity(keys.len());
    for is_there in present {
        let row = if is_there { found.next() } else { None };
        documents.push(row.and_then(|row| match row.into_iter().nth(1) {
            Some(Value::Json(document)) => Some(document),
            _ => None,
        }));
    }
    Ok(documents)
}
