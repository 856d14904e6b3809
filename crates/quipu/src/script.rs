//! Scripts of the query language: run over a database, or inside of a transaction.

use crate::answer::Answer;
use crate::database::{Database, Tx};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use base::KeyspaceId;
use ingest::parquet_rows::ParquetRows;
use model::Series;
use relation::{Catalog, Entry};
use session::{Engine, Files, GoOn, Host, NonBlocking, Run};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use store::{Durability, Error, ErrorKind, Result, Store};
use views::blobs::Blobs;
use views::waiting::Registry;

/// Values by the names that a script has after `$`.
pub type Parameters = session::Parameters;

/// When a script is stopped from outside.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'r> {
    /// How long it may take, whatever it says itself; zero is without a limit. `None`: as its `:timeout` says, else 300 s.
    pub timeout: Option<Duration>,
    /// Most bytes of memory it may hold. `None`, and whatever is more: as [`Options::memory_limit_bytes`](crate::Options) says for
    /// every query.
    pub memory_limit_bytes: Option<u64>,
    /// Asked every few thousand rows, also by worker threads; false stops the script.
    pub go_on: Option<GoOn<'r>>,
    /// Takes the name and the rows of what `%debug` shows; without it they are shown to nobody.
    pub debug: Option<Debug<'r>>,
    /// Whether a script that would change something is refused.
    pub read_only: bool,
    /// Which files of the machine it may read, of those that [`Options::files`](crate::Options) lets scripts read. `None`: all of them.
    pub files: Option<&'r Files>,
}

/// Takes what `%debug` shows, while the script runs.
pub type Debug<'r> = &'r (dyn Fn(&str, &Answer) + Send + Sync);

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { timeout, memory_limit_bytes, read_only, .. } = self;
        let mut shown = f.debug_struct("RunOptions");
        shown.field("timeout", timeout).field("memory_limit_bytes", memory_limit_bytes);
        shown.field("read_only", read_only).finish_non_exhaustive()
    }
}

/// What is wrong with a script: the [`Error::cause`] of errors of kind [`ErrorKind::InvalidInput`], and of
/// [`ErrorKind::ReadOnly`] where it changes what may only be read.
#[derive(Clone, Debug)]
pub struct ScriptError {
    message: String,
    place: Option<(u32, u32)>,
    hint: Option<String>,
    cause: Option<function::Cause>,
}

impl ScriptError {
    /// Line and column of the first mistake, both from 1; columns are characters. `None` where it is nowhere in the text.
    #[must_use]
    pub fn place(&self) -> Option<(u32, u32)> {
        self.place
    }

    /// What may have been meant where the first mistake is.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for ScriptError {
    /// Each mistake with its line of the script, a caret and a hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {
    /// The cause that a rule or an aggregate of the program's gave with its failure.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(function::Cause::error)
    }
}

impl Database {
    /// Runs a script of the query language (Datalog, as CozoScript writes it) in a transaction of its own.
    ///
    /// ```
    /// use quipu::{Database, GraphOptions, Options, Parameters, Value};
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// let cites = db.graph("cites", GraphOptions::default())?;
    /// for (from, to) in [(1, 2), (2, 3), (3, 4)] {
    ///     cites.upsert(from, to, None)?;
    /// }
    /// let script = "reached[to] := *cites{src: $from, dst: to}
    ///               reached[to] := reached[via], *cites{src: via, dst: to}
    ///               ?[to] := reached[to]";
    /// let from = Parameters::from([("from".to_owned(), Value::Int(2))]);
    /// let answer = db.run(script, &from)?;
    /// assert_eq!(answer.columns(), ["to"]);
    /// assert_eq!(answer.rows().collect::<Vec<_>>(), [[Value::Int(3)], [Value::Int(4)]]);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with line, caret and hint where the script or a value is wrong ([`ScriptError`] has the
    /// place); [`ErrorKind::Cancelled`] where it ran into its timeout or was killed; [`ErrorKind::Limit`] where it needs more
    /// memory than a query may have ([`Options::memory_limit_bytes`](crate::Options), or less by
    /// [`RunOptions::memory_limit_bytes`]); [`ErrorKind::Conflict`] where another
    /// commit won. Nothing was changed then.
    pub fn run(&self, script: &str, parameters: &Parameters) -> Result<Answer> {
        self.run_with(script, parameters, &RunOptions::default())
    }

    /// The same where that takes some microseconds, blocks that are not in the cache aside: for callers that hold something which others
    /// wait for, as an interpreter's lock. `None` where it may take longer, or where nothing like it ran before: nothing was done then.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub fn run_briefly(
        &self,
        script: &str,
        parameters: &Parameters,
        options: &RunOptions<'_>,
    ) -> Result<Option<Answer>> {
        let mode = match self.options().durability {
            Durability::Sync => NonBlocking::Reading,
            Durability::None | Durability::Os => NonBlocking::Changing,
        };
        let output = self.engine()?.try_run(script, mode, &run_of(parameters, options));
        output.map(|found| found.map(Answer::new)).map_err(|error| said(error, Some(script)))
    }

    /// The same, stopped from outside.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub fn run_with(
        &self,
        script: &str,
        parameters: &Parameters,
        options: &RunOptions<'_>,
    ) -> Result<Answer> {
        with_debug(run_of(parameters, options), options, |run| {
            let output = self.engine()?.run_with(script, run);
            output.map(Answer::new).map_err(|error| said(error, Some(script)))
        })
    }
}

impl Tx {
    /// Runs a script inside of the transaction: it sees what was written here, and what it writes is committed or rolled
    /// back with the rest, relations that it makes, renames, replaces and removes too. Indexes are made and dropped outside.
    ///
    /// # Errors
    /// As [`Database::run`]. Nothing of the script is left in the transaction then, which goes on; where several threads have written in
    /// it, it does not commit any more ([`ErrorKind::Conflict`]).
    pub fn run(&self, script: &str, parameters: &Parameters) -> Result<Answer> {
        self.run_with(script, parameters, &RunOptions::default())
    }

    /// The same, stopped from outside.
    ///
    /// # Errors
    /// As [`Tx::run`].
    pub fn run_with(
        &self,
        script: &str,
        parameters: &Parameters,
        options: &RunOptions<'_>,
    ) -> Result<Answer> {
        let engine = self.database().engine()?;
        with_debug(run_of(parameters, options), options, |run| {
            self.changing(|transaction, carried| {
                let output = engine.run_in(transaction, script, run, carried);
                output.map(Answer::new).map_err(|error| said(error, Some(script)))
            })
        })
    }
}

pub(crate) fn run_of<'r>(parameters: &'r Parameters, options: &RunOptions<'r>) -> Run<'r> {
    let timeout_s = options.timeout.map(|timeout| timeout.as_secs_f64());
    Run {
        timeout_s,
        memory_bytes_max: options.memory_limit_bytes,
        go_on: options.go_on,
        read_only: options.read_only,
        files: options.files,
        ..Run::new(parameters)
    }
}

/// Calls `call` with what a script is run with, and with what the engine calls where it has `%debug`.
pub(crate) fn with_debug<T>(
    run: Run<'_>,
    options: &RunOptions<'_>,
    call: impl FnOnce(&Run<'_>) -> T,
) -> T {
    let Some(debug) = options.debug else { return call(&run) };
    let show = |name: &str, output: &session::Output| debug(name, &Answer::new(output.clone()));
    call(&Run { debug: Some(&show), ..run })
}

/// No parameters.
pub(crate) fn no_parameters() -> &'static Parameters {
    static NONE: Parameters = Parameters::new();
    &NONE
}

/// The error as the database says it, of a script or of something else that has no text.
pub(crate) fn said(error: session::Error, script: Option<&str>) -> Error {
    let text = script.unwrap_or_default();
    let message = error.render(text);
    let mut kind = ErrorKind::InvalidInput;
    let mut cause = None;
    let first = match error {
        session::Error::Store(error) => return error,
        session::Error::Stopped(_) | session::Error::WouldBlock => {
            return Error::new(ErrorKind::Cancelled, message);
        }
        session::Error::Limit(_) => {
            let hint = "a larger memory_limit allows more";
            return Error::new(ErrorKind::Limit, format!("{message}\nhint: {hint}"));
        }
        session::Error::Script(problems) => problems.into_iter().next(),
        session::Error::Value(problem) => Some(problem),
        session::Error::UserDefined(problem, why) => {
            cause = Some(why);
            Some(problem)
        }
        session::Error::ReadOnly(problem) => {
            kind = ErrorKind::ReadOnly;
            Some(problem)
        }
    };
    // A mistake that is nowhere in the text, a missing parameter say, has an empty span at its begin.
    let is_placed = |span| span != syntax::Span::default() || script.is_some_and(str::is_empty);
    let place = first.as_ref().filter(|first| is_placed(first.span));
    let place = place.map(|first| syntax::line_and_column(text, first.span.start));
    let hint = first.and_then(|first| first.hint);
    Error::caused(kind, ScriptError { message, place, hint, cause })
}

/// What waits beside the store.
pub(crate) struct Beside {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) env: Arc<dyn env::Env>,
    pub(crate) waiting: Arc<Registry>,
}

impl Beside {
    /// An engine for scripts over a store, and what waits to be written to it.
    pub(crate) fn engine(self, memory_bytes_max: u64, files: Files) -> Arc<Engine> {
        let (store, env) = (Arc::clone(&self.store), Arc::clone(&self.env));
        let engine = Engine::new(store, env, memory_bytes_max).with_files(files);
        Arc::new(engine.with_host(Arc::new(self)))
    }

    /// Drops a relation and what waits for it; whether it was there.
    pub(crate) fn drop_entry(&self, name: &str) -> Result<bool> {
        let catalog = Catalog::new(Arc::clone(&self.store));
        let entry = catalog.find(name)?;
        let was_there = catalog.drop_entry(name)?;
        if let Some(entry) = entry {
            self.waiting.end(entry.keyspace());
        }
        Ok(was_there)
    }
}

impl Host for Beside {
    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.waiting.write_waiting()?;
        for entry in Catalog::new(Arc::clone(&self.store)).list()? {
            let Entry::Blobs(def, _) = entry else { continue };
            if !go_on() {
                return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
            }
            let (store, env) = (Arc::clone(&self.store), Arc::clone(&self.env));
            // It may be gone by now.
            if let Some(blobs) = Blobs::find(store, env, &def.name)? {
                blobs.collect_garbage()?;
            }
        }
        self.store.compact_while(go_on)
    }

    fn write_waiting(&self, keyspace: Option<KeyspaceId>) -> Result<()> {
        match keyspace {
            Some(keyspace) => self.waiting.write_waiting_in(keyspace),
            None => self.waiting.write_waiting(),
        }
    }

    fn is_waiting(&self, keyspace: Option<KeyspaceId>) -> bool {
        self.waiting.is_waiting(keyspace)
    }

    fn dropped(&self, keyspace: KeyspaceId) {
        self.waiting.end(keyspace);
    }

    fn read_parquet(
        &self,
        bytes: Vec<u8>,
        file: &str,
        columns: Option<&[String]>,
        visit: &mut dyn FnMut(&[Series]) -> bool,
    ) -> Result<()> {
        let wrong =
            |error: &dyn fmt::Display| Error::new(ErrorKind::InvalidInput, error.to_string());
        let mut rows = ParquetRows::open(bytes, file, columns).map_err(|error| wrong(&error))?;
        let mut is_first = true;
        loop {
            let batch = match rows.next_batch().map_err(|error| wrong(&error))? {
                Some(batch) => batch,
                // Without rows the columns are told all the same.
                None if is_first => {
                    let fields = rows.names().iter();
                    let fields = fields.map(|name| Field::new(name, DataType::Null, true));
                    RecordBatch::new_empty(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
                }
                None => return Ok(()),
            };
            is_first = false;
            let schema = batch.schema();
            let columns = batch.columns().iter().zip(schema.fields());
            let series = columns.map(|(array, field)| {
                crate::series_arrow::series_of_arrow(array, field)
                    .map_err(|error| Error::new(error.kind(), format!("{file}: {error}")))
            });
            let series = series.collect::<Result<Vec<_>>>()?;
            if !visit(&series) {
                return Ok(());
            }
        }
    }
}
