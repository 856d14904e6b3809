//! Exports and imports of relations as columns.

use crate::database::{Database, Tx};
use crate::script::{RunOptions, no_parameters, run_of, to_store_error};
use base::Projection;
use model::Frame;
use relation::NameOverlay;
use session::{Change, ChangeKind, Engine};
use std::collections::BTreeMap;
use store::{Read, Result};

/// Prefix of a relation's name in an import whose rows are deleted.
const DELETES: char = '-';

impl Database {
    /// Reads all rows of several relations at one snapshot.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput): there is no such relation, or
    /// its access level forbids it.
    pub fn export_relations<S: AsRef<str>>(&self, names: &[S]) -> Result<BTreeMap<String, Frame>> {
        let snapshot = self.engine()?.moment().map_err(|error| to_store_error(error, None))?;
        export(self.engine()?, &*snapshot, &NameOverlay::default(), names)
    }

    /// Puts rows into relations, atomically. For a name with a leading `-`, the rows' keys are
    /// deleted instead; keys that do not exist are ignored.
    ///
    /// The columns of the rows may have any order. Columns with a default may be missing, and
    /// unknown columns are ignored. Indexes are updated; triggers do not fire.
    ///
    /// ```
    /// use quipu::{Database, Frame, Options, Parameters, Value};
    /// use std::collections::BTreeMap;
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// db.run(":create city {name: String => people: Int}", &Parameters::new())?;
    /// let row = |name: &str, people| vec![Value::Str(name.into()), Value::Int(people)];
    /// let names = vec!["name".into(), "people".into()];
    /// let rows = vec![row("Cusco", 428_450), row("Lima", 10_092_000)];
    /// let rows = Frame::of_rows(names, rows).unwrap();
    /// db.import_relations(&BTreeMap::from([("city".to_owned(), rows)]))?;
    ///
    /// let all = db.export_relations(&["city"])?;
    /// assert_eq!(all["city"].row(0), row("Cusco", 428_450));
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput): there is no such relation, its
    /// access level forbids it, a column is missing, or a value does not fit its column (the
    /// message has relation, row and column); [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the
    /// rows exceed a transaction's memory, which does not happen for 100,000 rows and more unless
    /// there is a callback, an index of value columns or a deletion;
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict).
    pub fn import_relations(&self, data: &BTreeMap<String, Frame>) -> Result<()> {
        self.import_relations_with(data, &RunOptions::default())
    }

    /// As [`Database::import_relations`], with options.
    ///
    /// # Errors
    /// As [`Database::import_relations`].
    pub fn import_relations_with(
        &self,
        data: &BTreeMap<String, Frame>,
        options: &RunOptions<'_>,
    ) -> Result<()> {
        let run = run_of(no_parameters(), options);
        self.engine()?.change(&imports(data), &run).map_err(|error| to_store_error(error, None))
    }
}

impl Tx {
    /// Reads all rows of several relations, as the transaction sees them.
    ///
    /// # Errors
    /// As [`Database::export_relations`].
    pub fn export_relations<S: AsRef<str>>(&self, names: &[S]) -> Result<BTreeMap<String, Frame>> {
        let engine = self.database().engine()?;
        self.for_script().with(|transaction| export(engine, transaction, &self.names()?, names))
    }

    /// Puts rows into relations in the transaction, see [`Database::import_relations`].
    ///
    /// # Errors
    /// As [`Database::import_relations`]. Its writes are then undone in the transaction.
    pub fn import_relations(&self, data: &BTreeMap<String, Frame>) -> Result<()> {
        self.import_relations_with(data, &RunOptions::default())
    }

    /// As [`Tx::import_relations`], with options.
    ///
    /// # Errors
    /// As [`Tx::import_relations`].
    pub fn import_relations_with(
        &self,
        data: &BTreeMap<String, Frame>,
        options: &RunOptions<'_>,
    ) -> Result<()> {
        let run = run_of(no_parameters(), options);
        let engine = self.database().engine()?;
        self.with_state(|transaction, state| {
            let outcome = engine.change_in(transaction, &imports(data), &run, state);
            outcome.map_err(|error| to_store_error(error, None))
        })
    }
}

fn export<S: AsRef<str>>(
    engine: &Engine,
    read: &dyn Read,
    names: &NameOverlay,
    wanted: &[S],
) -> Result<BTreeMap<String, Frame>> {
    let frame = |name: &S| {
        let name = name.as_ref();
        let frame = engine.frames(read, names, name, Projection::ALL)?.all(Some(read))?;
        Ok((name.to_owned(), frame))
    };
    let frames: session::Result<_> = wanted.iter().map(frame).collect();
    frames.map_err(|error| to_store_error(error, None))
}

fn imports(data: &BTreeMap<String, Frame>) -> Vec<Change<'_>> {
    let change = |(name, rows)| {
        let name: &String = name;
        let (relation, kind) = match name.strip_prefix(DELETES) {
            Some(name) => (name, ChangeKind::Rm),
            None => (name.as_str(), ChangeKind::Put),
        };
        Change { relation, kind, rows, is_import: true }
    };
    data.iter().map(change).collect()
}
