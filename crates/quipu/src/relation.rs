//! A handle of a relation: columns, rows, and changes with many rows.

use crate::database::{Database, Tx};
use crate::script::{RunOptions, no_parameters, run_of, to_store_error};
use base::Projection;
use model::Frame;
use relation::NameOverlay;
use session::{Change, ChangeKind, ColumnOf, Frames};
use std::fmt;
use std::sync::Arc;
use store::{Read, Result, Snapshot};

/// A relation of a database, or as a transaction sees it: a relation that a script created, or the
/// relation of a graph or of counters.
///
/// Each change is atomic: in a transaction of its own, or in the relation's transaction. The
/// columns of the given rows may have any order, and columns with a default may be missing. Changes
/// update indexes and fire triggers.
///
/// ```
/// use quipu::{Database, Frame, Options, Value};
///
/// let db = Database::in_memory(Options::default())?;
/// let city = db.create_relation("city", "{name: String => people: Int}")?;
/// let row = |name: &str, people| vec![Value::Str(name.into()), Value::Int(people)];
/// let names = vec!["name".into(), "people".into()];
/// let rows = vec![row("Lima", 10_092_000), row("Cusco", 428_450)];
/// city.put(&Frame::of_rows(names, rows).unwrap())?;
/// assert_eq!(city.len()?, 2);
/// assert_eq!(city.to_frame()?.row(0), row("Cusco", 428_450));
/// # Ok::<(), quipu::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Relation {
    database: Database,
    transaction: Option<Tx>,
    name: String,
    columns: Vec<ColumnOf>,
}

/// The rows of a relation in key order, at one snapshot or in a transaction.
#[derive(Debug)]
pub struct RowScan {
    frames: Frames,
    reader: Reader,
}

/// The source of a relation's rows.
#[derive(Clone)]
enum Reader {
    Snapshot(Arc<dyn Snapshot>),
    Transaction(Tx),
}

impl Reader {
    fn with<T>(&self, read: impl FnOnce(&dyn Read) -> Result<T>) -> Result<T> {
        match self {
            Self::Snapshot(snapshot) => read(&**snapshot),
            Self::Transaction(transaction) => {
                transaction.for_script().with(|transaction| read(transaction))
            }
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Snapshot(_) => "Snapshot",
            Self::Transaction(_) => "Transaction",
        })
    }
}

impl Database {
    /// The relation with this name, which must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is none.
    pub fn relation(&self, name: &str) -> Result<Relation> {
        Relation::open(self, None, name)
    }

    /// The columns of a relation, keys first.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is no such relation.
    pub fn columns_of(&self, name: &str) -> Result<Vec<ColumnOf>> {
        self.engine()?
            .columns(&NameOverlay::default(), name)
            .map_err(|error| to_store_error(error, None))
    }

    /// Opens the relation with these columns, and creates it if it does not exist. `spec` has the
    /// syntax after `:create name`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput): it exists with other columns,
    /// or the name or the columns are invalid.
    pub fn create_relation(&self, name: &str, spec: &str) -> Result<Relation> {
        let columns =
            self.engine()?.columns_of_spec(spec).map_err(|error| to_store_error(error, None))?;
        self.create_relation_of(name, &columns)
    }

    /// As [`Database::create_relation`], with parsed columns.
    ///
    /// # Errors
    /// As [`Database::create_relation`].
    pub fn create_relation_of(&self, name: &str, columns: &[ColumnOf]) -> Result<Relation> {
        self.engine()?.create(name, columns).map_err(|error| to_store_error(error, None))?;
        self.relation(name)
    }
}

impl Tx {
    /// The relation with this name in the transaction. It must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is none.
    pub fn relation(&self, name: &str) -> Result<Relation> {
        Relation::open(self.database(), Some(self), name)
    }
}

impl Relation {
    fn open(database: &Database, transaction: Option<&Tx>, name: &str) -> Result<Self> {
        let names = transaction.map_or_else(|| Ok(NameOverlay::default()), Tx::names)?;
        let columns = database.engine()?.columns(&names, name);
        let columns = columns.map_err(|error| to_store_error(error, None))?;
        let (database, transaction) = (database.clone(), transaction.cloned());
        Ok(Self { database, transaction, name: name.to_owned(), columns })
    }

    /// Name of the relation.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its columns at the time it was opened, keys first.
    #[must_use]
    pub fn columns(&self) -> &[ColumnOf] {
        &self.columns
    }

    /// Number of rows.
    ///
    /// # Errors
    /// The relation is dropped or hidden; errors of the store.
    pub fn len(&self) -> Result<u64> {
        let (reader, names) = (self.reader()?, self.names()?);
        reader.with(|read| {
            let count = self.database.engine()?.count(read, &names, &self.name);
            count.map_err(|error| to_store_error(error, None))
        })
    }

    /// Whether it has no rows.
    ///
    /// # Errors
    /// As [`Relation::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|rows| rows == 0)
    }

    /// Scans all rows, in batches.
    ///
    /// # Errors
    /// As [`Relation::len`].
    pub fn scan(&self) -> Result<RowScan> {
        self.scan_of(self.reader()?, Projection::ALL)
    }

    /// Scans the rows that another scan of the relation reads, with the columns of the projection
    /// alone: all key columns or none, and value columns. The other columns are null.
    ///
    /// # Errors
    /// As [`Relation::len`].
    #[cfg(feature = "arrow")]
    pub(crate) fn scan_again(&self, scan: &RowScan, projection: Projection) -> Result<RowScan> {
        self.scan_of(scan.reader.clone(), projection)
    }

    /// As [`Relation::scan`], at this snapshot.
    #[cfg(feature = "arrow")]
    pub(crate) fn scan_at(&self, snapshot: &Arc<dyn Snapshot>) -> Result<RowScan> {
        self.scan_of(Reader::Snapshot(Arc::clone(snapshot)), Projection::ALL)
    }

    fn scan_of(&self, reader: Reader, projection: Projection) -> Result<RowScan> {
        let names = self.names()?;
        let frames = reader.with(|read| {
            let frames = self.database.engine()?.frames(read, &names, &self.name, projection);
            frames.map_err(|error| to_store_error(error, None))
        })?;
        Ok(RowScan { frames, reader })
    }

    /// Reads all rows into one frame.
    ///
    /// # Errors
    /// As [`Relation::len`].
    pub fn to_frame(&self) -> Result<Frame> {
        let RowScan { frames, reader } = self.scan()?;
        match frames.are_spelled() {
            true => reader
                .with(|read| frames.all(Some(read)).map_err(|error| to_store_error(error, None))),
            false => frames.all(None).map_err(|error| to_store_error(error, None)),
        }
    }

    /// Reads the rows with these keys: `keys` has the key columns. Returns whether each key exists,
    /// and the rows of those that do, in the order of the keys.
    ///
    /// ```
    /// use quipu::{Database, Frame, Options, Value};
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// let age = db.create_relation("age", "{name: String => years: Int}")?;
    /// let row = |name: &str, years| vec![Value::Str(name.into()), Value::Int(years)];
    /// let names = || vec!["name".into(), "years".into()];
    /// age.put(&Frame::of_rows(names(), vec![row("Ana", 31), row("Luis", 8)]).unwrap())?;
    ///
    /// let key = |name: &str| vec![Value::Str(name.into())];
    /// let keys = vec![key("Luis"), key("Eva")];
    /// let keys = Frame::of_rows(vec!["name".into()], keys).unwrap();
    /// let (present, rows) = age.get_many(&keys)?;
    /// assert_eq!(present, [true, false]);
    /// assert_eq!(rows.row(0), row("Luis", 8));
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Relation::len`]; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput): a key
    /// column is missing, or a value does not fit it.
    pub fn get_many(&self, keys: &Frame) -> Result<(Vec<bool>, Frame)> {
        let (reader, names) = (self.reader()?, self.names()?);
        reader.with(|read| {
            let rows = self.database.engine()?.rows_of_keys(read, &names, &self.name, keys);
            rows.map_err(|error| to_store_error(error, None))
        })
    }

    /// As [`Relation::get_many`], at this snapshot.
    #[cfg(feature = "arrow")]
    pub(crate) fn get_many_at(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        keys: &Frame,
    ) -> Result<(Vec<bool>, Frame)> {
        let engine = self.database.engine()?;
        let rows = engine.rows_of_keys(&**snapshot, &self.names()?, &self.name, keys);
        rows.map_err(|error| to_store_error(error, None))
    }

    /// Puts rows; rows with the same keys are replaced.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput): a missing or unknown column, a
    /// value that does not fit its column, or the relation's access level;
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the rows exceed a transaction's memory;
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict).
    pub fn put(&self, rows: &Frame) -> Result<()> {
        self.change(ChangeKind::Put, rows, &RunOptions::default())
    }

    /// Inserts rows whose keys do not exist.
    ///
    /// # Errors
    /// As [`Relation::put`], and if a key exists.
    pub fn insert(&self, rows: &Frame) -> Result<()> {
        self.change(ChangeKind::Insert, rows, &RunOptions::default())
    }

    /// Updates the given value columns of existing rows.
    ///
    /// # Errors
    /// As [`Relation::put`], and if a key does not exist.
    pub fn update(&self, rows: &Frame) -> Result<()> {
        self.change(ChangeKind::Update, rows, &RunOptions::default())
    }

    /// Removes rows by their keys. Keys that do not exist are ignored.
    ///
    /// # Errors
    /// As [`Relation::put`].
    pub fn rm(&self, rows: &Frame) -> Result<()> {
        self.change(ChangeKind::Rm, rows, &RunOptions::default())
    }

    /// Removes existing rows by their keys.
    ///
    /// # Errors
    /// As [`Relation::put`], and if a key does not exist.
    pub fn delete(&self, rows: &Frame) -> Result<()> {
        self.change(ChangeKind::Delete, rows, &RunOptions::default())
    }

    /// Makes one of the changes above, with options.
    ///
    /// # Errors
    /// As the method for this kind of change.
    pub fn change(&self, kind: ChangeKind, rows: &Frame, options: &RunOptions<'_>) -> Result<()> {
        let changes = [Change { relation: &self.name, kind, rows, is_import: false }];
        let run = run_of(no_parameters(), options);
        let engine = self.database.engine()?;
        match &self.transaction {
            None => engine.change(&changes, &run).map_err(|error| to_store_error(error, None)),
            Some(transaction) => transaction.with_state(|transaction, state| {
                let outcome = engine.change_in(transaction, &changes, &run, state);
                outcome.map_err(|error| to_store_error(error, None))
            }),
        }
    }

    fn names(&self) -> Result<NameOverlay> {
        self.transaction.as_ref().map_or_else(|| Ok(NameOverlay::default()), Tx::names)
    }

    fn reader(&self) -> Result<Reader> {
        Ok(match &self.transaction {
            None => {
                let snapshot = self.database.engine()?.moment();
                Reader::Snapshot(snapshot.map_err(|error| to_store_error(error, None))?)
            }
            Some(transaction) => Reader::Transaction(transaction.clone()),
        })
    }
}

impl RowScan {
    /// About `rows_max` rows; `None` at the end.
    ///
    /// # Errors
    /// Errors of the store, and values that scripts cannot read.
    pub fn next_rows(&mut self, rows_max: usize) -> Result<Option<Frame>> {
        let Self { frames, reader } = self;
        let next = |frames: &mut Frames, read: Option<&dyn Read>| {
            frames.next_rows(read, rows_max).map_err(|error| to_store_error(error, None))
        };
        match frames.are_spelled() {
            true => reader.with(|read| next(frames, Some(read))),
            // The scan has its own snapshot, which stays valid after the transaction's end.
            false => next(frames, None),
        }
    }
}
