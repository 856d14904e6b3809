//! Runs scripts of the query language, on a database or in a transaction.

use crate::database::{Database, Tx};
use crate::query_result::QueryResult;
use session::{Files, GoOn, NonBlocking, Run};
use std::fmt;
use std::time::Duration;
use store::{Durability, Error, ErrorKind, Result};

/// Values of a script's parameters, by their names without `$`.
pub type Parameters = session::Parameters;

/// Limits and hooks of one run of a script.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'r> {
    /// Timeout; zero is no timeout. It overrides `:timeout` of the script. `None`: the script's
    /// `:timeout`, or 300 s.
    pub timeout: Option<Duration>,
    /// Memory limit in bytes. `None`, and values above it: the limit for every query, which follows
    /// from [`Options::memory_limit_bytes`](crate::Options).
    pub memory_limit_bytes: Option<u64>,
    /// Called every few thousand rows, also by worker threads. Returning false stops the script.
    pub go_on: Option<GoOn<'r>>,
    /// Receives name and rows of each `%debug`. Without it, `%debug` is ignored.
    pub debug: Option<Debug<'r>>,
    /// Whether to refuse scripts that would change something.
    pub read_only: bool,
    /// Files that the script may read, among those that [`Options::files`](crate::Options) allows.
    /// `None`: all of these.
    pub files: Option<&'r Files>,
}

/// Receives the output of `%debug` while the script runs: name and rows.
pub type Debug<'r> = &'r (dyn Fn(&str, &QueryResult) + Send + Sync);

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { timeout, memory_limit_bytes, read_only, .. } = self;
        let mut shown = f.debug_struct("RunOptions");
        shown.field("timeout", timeout).field("memory_limit_bytes", memory_limit_bytes);
        shown.field("read_only", read_only).finish_non_exhaustive()
    }
}

/// The problem in a script: the [`Error::cause`] of errors of kind [`ErrorKind::InvalidInput`], and
/// of kind [`ErrorKind::ReadOnly`] for a change that is not allowed.
#[derive(Clone, Debug)]
pub struct ScriptError {
    message: String,
    place: Option<(u32, u32)>,
    hint: Option<String>,
    cause: Option<function::Cause>,
}

impl ScriptError {
    /// Line and column of the first problem, both from 1; columns count characters. `None` if it
    /// has no position in the text.
    #[must_use]
    pub fn place(&self) -> Option<(u32, u32)> {
        self.place
    }

    /// A suggestion for the first problem.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for ScriptError {
    /// Writes each problem with its line of the script, a caret and a hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {
    /// The cause of a failure in a user-defined rule or aggregate.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(function::Cause::error)
    }
}

impl Database {
    /// Runs a script of the query language (Datalog, in the syntax of CozoScript) in a new
    /// transaction.
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
    /// Nothing was changed after any of these:
    /// - [`ErrorKind::InvalidInput`] with line, caret and hint: an error in the script or in a
    ///   parameter ([`ScriptError`] has the position);
    /// - [`ErrorKind::Cancelled`]: the timeout expired, or the script was killed;
    /// - [`ErrorKind::Limit`]: it needs more memory than
    ///   [`Options::memory_limit_bytes`](crate::Options) allows a query, or
    ///   [`RunOptions::memory_limit_bytes`];
    /// - [`ErrorKind::Conflict`]: another commit won.
    pub fn run(&self, script: &str, parameters: &Parameters) -> Result<QueryResult> {
        self.run_with(script, parameters, &RunOptions::default())
    }

    /// Runs a script if that takes only some microseconds. For callers that hold a lock, such as
    /// Python's GIL. Returns `None`, with nothing done, if it may take longer, if it would have to
    /// read a file, or if no similar script ran before.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub fn try_run(
        &self,
        script: &str,
        parameters: &Parameters,
        options: &RunOptions<'_>,
    ) -> Result<Option<QueryResult>> {
        let mode = match self.options().durability {
            Durability::Sync => NonBlocking::Reading,
            Durability::None | Durability::Os => NonBlocking::Changing,
        };
        let output = self.engine()?.try_run(script, mode, &run_of(parameters, options));
        output
            .map(|found| found.map(QueryResult::new))
            .map_err(|error| to_store_error(error, Some(script)))
    }

    /// As [`Database::run`], with options.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub fn run_with(
        &self,
        script: &str,
        parameters: &Parameters,
        options: &RunOptions<'_>,
    ) -> Result<QueryResult> {
        self.timed(script, || {
            with_debug(run_of(parameters, options), options, |run| {
                let output = self.engine()?.run_with(script, run);
                output.map(QueryResult::new).map_err(|error| to_store_error(error, Some(script)))
            })
        })
    }
}

impl Tx {
    /// Runs a script in the transaction. It sees the transaction's writes. Its own writes are
    /// committed or rolled back with the rest, including relations that it creates, renames,
    /// replaces or removes. Indexes cannot be created or dropped in a transaction.
    ///
    /// # Errors
    /// As [`Database::run`]. The script's writes are then undone, and the transaction can continue;
    /// but if several threads have written in it, its commit fails with [`ErrorKind::Conflict`].
    pub fn run(&self, script: &str, parameters: &Parameters) -> Result<QueryResult> {
        self.run_with(script, parameters, &RunOptions::default())
    }

    /// As [`Tx::run`], with options.
    ///
    /// # Errors
    /// As [`Tx::run`].
    pub fn run_with(
        &self,
        script: &str,
        parameters: &Parameters,
        options: &RunOptions<'_>,
    ) -> Result<QueryResult> {
        let engine = self.database().engine()?;
        self.database().timed(script, || {
            with_debug(run_of(parameters, options), options, |run| {
                self.with_state(|transaction, state| {
                    let output = engine.run_in(transaction, script, run, state);
                    output
                        .map(QueryResult::new)
                        .map_err(|error| to_store_error(error, Some(script)))
                })
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

/// Calls `call` with the run, extended by a function that passes the output of `%debug` on.
pub(crate) fn with_debug<T>(
    run: Run<'_>,
    options: &RunOptions<'_>,
    call: impl FnOnce(&Run<'_>) -> T,
) -> T {
    let Some(debug) = options.debug else { return call(&run) };
    let show =
        |name: &str, output: &session::QueryResult| debug(name, &QueryResult::new(output.clone()));
    call(&Run { debug: Some(&show), ..run })
}

/// An empty set of parameters.
pub(crate) fn no_parameters() -> &'static Parameters {
    static NONE: Parameters = Parameters::new();
    &NONE
}

/// Converts an error of the engine; `script` is its text, if the error comes from a script.
pub(crate) fn to_store_error(error: session::Error, script: Option<&str>) -> Error {
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
    // A problem without a position, such as a missing parameter, has an empty span at the start.
    let is_placed = |span| span != syntax::Span::default() || script.is_some_and(str::is_empty);
    let place = first.as_ref().filter(|first| is_placed(first.span));
    let place = place.map(|first| syntax::line_and_column(text, first.span.start));
    let hint = first.and_then(|first| first.hint);
    Error::caused(kind, ScriptError { message, place, hint, cause })
}
