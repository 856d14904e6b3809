//! Streams the rows of a script while it runs.

use crate::column_kind::Kind;
use crate::database::Database;
use crate::query_result::QueryResult;
use crate::script::{Parameters, RunOptions, run_of, to_store_error, with_debug};
use env::sync::Mutex;
use session::Part;
use std::sync::Arc;
use store::Result;

/// Rows of each part, if the whole result is computed first.
const PART_ROWS: usize = 1 << 16;

impl Database {
    /// Runs a script as [`Database::run_with`] does, and passes its rows to `take` in parts, at
    /// least one, until `take` returns false.
    ///
    /// If no two rows can be equal and there is no `:order`, the parts are passed while the query
    /// runs, in no particular order. It then holds little more than one part in memory, so the
    /// result may exceed the memory limit. (No two rows can be equal if the head contains all keys
    /// that the body reads.) Otherwise the whole result is computed first. A query reads one
    /// snapshot, however long it takes. The time spent in `take` does not count for the timeout.
    ///
    /// The columns of all parts have the same types ([`QueryResult::column`]): those of the stored
    /// columns that they come from, or else those that fit the first part.
    ///
    /// ```
    /// use quipu::{Database, Options, Parameters, RunOptions};
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// let none = Parameters::new();
    /// let squares = "?[a, b] := a in int_range(1000), b = a * a";
    /// db.run(&format!("{squares} :create squares {{a: Int => b: Int}}"), &none)?;
    /// let mut rows = 0;
    /// let large = "?[a, b] := *squares{a, b}, b > 99";
    /// db.stream(large, &none, &RunOptions::default(), |part| {
    ///     rows += part.len();
    ///     Ok(true)
    /// })?;
    /// assert_eq!(rows, 990);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::run`], and errors of `take`; [`ErrorKind::InvalidInput`](crate::ErrorKind) if
    /// a value does not fit the type of its column in earlier parts. Some parts may have been
    /// passed before. A script that changes something has committed before its first part.
    pub fn stream(
        &self,
        script: &str,
        parameters: &Parameters,
        options: &RunOptions<'_>,
        take: impl FnMut(QueryResult) -> Result<bool> + Send,
    ) -> Result<()> {
        // Parts come one at a time, but from different threads.
        let typed = Mutex::new(TypedParts { take, kinds: None });
        let each = |part: Part<'_>| Ok(typed.lock().take(part)?);
        self.timed(script, || {
            with_debug(run_of(parameters, options), options, |run| {
                self.engine()?
                    .stream(script, run, &each)
                    .map_err(|error| to_store_error(error, Some(script)))
            })
        })
    }
}

/// Passes parts on with the same column types.
struct TypedParts<T> {
    take: T,
    kinds: Option<Arc<[Kind]>>,
}

impl<T: FnMut(QueryResult) -> Result<bool>> TypedParts<T> {
    fn take(&mut self, Part { output, types }: Part<'_>) -> Result<bool> {
        let answer = QueryResult::new(output);
        let Some(types) = types else { return self.take_whole(&answer) };
        let kinds = self.kinds.get_or_insert_with(|| {
            // The digits of decimals are those of the first rows, or more.
            let is_known = |of: &&model::Type| *of.without_null() != model::Type::Decimal;
            let known = types.iter().map(|one| one.as_ref().filter(is_known).map(Kind::of));
            let known = known.chain(std::iter::repeat(None));
            let columns = (0..answer.columns().len()).zip(known);
            columns
                .map(|(column, known)| {
                    let seen = answer.seen(column);
                    let known = known.filter(|known| known.takes(&seen));
                    known.unwrap_or_else(|| answer.kind(column, &seen).of_first())
                })
                .collect()
        });
        (self.take)(answer.part(kinds)?)
    }

    fn take_whole(&mut self, answer: &QueryResult) -> Result<bool> {
        let kinds: Arc<[Kind]> = answer.kinds().into();
        let mut from = 0;
        loop {
            let to = answer.len().min(from + PART_ROWS);
            if !(self.take)(answer.slice(from..to, &kinds))? {
                return Ok(false);
            }
            if to == answer.len() {
                return Ok(true);
            }
            from = to;
        }
    }
}
