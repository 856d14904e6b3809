//! What a script is run with, and what the engine asks of the database around it.

use crate::engine::Parameters;
use crate::files::Files;
use crate::outlet::Taker;
use crate::output::Output;
use base::KeyspaceId;
use model::Series;
use syntax::{Block, Condition, Query, Script, Statement};

/// Asked now and then; a script stops once the answer is false.
pub type GoOn<'r> = &'r (dyn Fn() -> bool + Send + Sync);

/// Takes the name and the rows of a relation of a script's own where `%debug` shows it.
pub type Debug<'r> = &'r (dyn Fn(&str, &Output) + Send + Sync);

/// What a script is run with.
#[derive(Clone, Copy)]
pub struct Run<'r> {
    /// Its parameters.
    pub parameters: &'r Parameters,
    /// Seconds it may take, whatever it says itself; 0 is no limit. `None`: what it says, else 300.
    pub timeout_s: Option<f64>,
    /// Most bytes that it may hold, where that is less than the engine lets every query hold.
    pub memory_bytes_max: Option<u64>,
    /// Whether to go on.
    pub go_on: Option<GoOn<'r>>,
    /// What `%debug` tells; without it, nobody.
    pub debug: Option<Debug<'r>>,
    /// Whether a change is refused.
    pub read_only: bool,
    /// Files that it may read, of those that the engine's scripts may; `None`: all of them.
    pub files: Option<&'r Files>,
    /// What it must not take longer than, if that.
    pub brief: Option<Brief>,
    /// Takes rows while they are found, where they can be; see [`Engine::stream`](crate::Engine::stream), which sets it.
    pub take: Option<&'r Taker<'r>>,
}

/// What a script does in some microseconds (see [`Engine::run_briefly`](crate::Engine::run_briefly)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brief {
    /// It asks. A commit may wait for the device.
    Asking,
    /// It asks, or changes a few rows.
    Changing,
}

impl<'r> Run<'r> {
    /// With parameters and nothing else.
    #[must_use]
    pub fn new(parameters: &'r Parameters) -> Self {
        Self {
            parameters,
            timeout_s: None,
            memory_bytes_max: None,
            go_on: None,
            debug: None,
            read_only: false,
            files: None,
            brief: None,
            take: None,
        }
    }
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("timeout_s", &self.timeout_s).finish_non_exhaustive()
    }
}

/// What a database keeps beside its store: increments that wait to be written.
pub trait Host: Send + Sync {
    /// Writes what waits for one relation, or for all.
    ///
    /// # Errors
    /// Failed writes.
    fn write_waiting(&self, keyspace: Option<KeyspaceId>) -> store::Result<()>;

    /// Whether something waits for one relation, or for any.
    fn is_waiting(&self, keyspace: Option<KeyspaceId>) -> bool;

    /// A keyspace is gone: nothing may wait for it any more.
    fn dropped(&self, keyspace: KeyspaceId);

    /// Merges what the database keeps, and gives back what nothing refers to any more, as long as `go_on` says so.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`](store::ErrorKind::Cancelled) where it did not; failed writes.
    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> store::Result<()>;

    /// Hands the rows of a Parquet file to `visit`, piece by piece, until it says that it wants no more. `columns` are names in
    /// the order in which they are wanted; without them all are read. `file` is for messages.
    ///
    /// # Errors
    /// It is no such file, has no such column, or one of values that are none of the language's.
    fn read_parquet(
        &self,
        bytes: Vec<u8>,
        file: &str,
        columns: Option<&[String]>,
        visit: &mut dyn FnMut(&[Series]) -> bool,
    ) -> store::Result<()>;
}

/// Whether a script may change the database. One whose text is wrong does not, nor one that keeps rows in relations of its own; of several steps
/// all are looked at, also those that may never run.
#[must_use]
pub fn may_change(text: &str) -> bool {
    let script = crate::nesting::parse(text).map(|(script, _)| script);
    match script {
        Ok(Script::Query(query)) => changes(&query),
        Ok(Script::System(op)) => crate::system::is_change(&op),
        Ok(Script::Imperative(statements)) => statements.iter().any(is_change),
        Err(_) => false,
    }
}

fn is_change(statement: &Statement) -> bool {
    match statement {
        Statement::Run(block, _) | Statement::IgnoreError(block, _) => match block {
            Block::Query(query) => changes(query),
            Block::System(op) => crate::system::is_change(op),
        },
        Statement::If { condition, then, otherwise, .. } => {
            asks_by_change(condition) || then.iter().chain(otherwise).any(is_change)
        }
        Statement::Loop { body, .. } => body.iter().any(is_change),
        Statement::Return(returned, _) => returned.iter().any(asks_by_change),
        // Those of a script's own are no change.
        Statement::Swap(one, _) => !one.text.starts_with('_'),
        Statement::Debug(_) | Statement::Break(..) | Statement::Continue(..) => false,
    }
}

fn asks_by_change(condition: &Condition) -> bool {
    match condition {
        Condition::Query(query) => changes(query),
        Condition::Relation(_) => false,
    }
}

/// Relations whose names begin with `_` are the script's own.
fn changes(query: &Query) -> bool {
    let mutation = query.options.mutation.as_ref();
    mutation.is_some_and(|mutation| !mutation.relation.text.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by an audit: whatever had braces counted as a change.
    #[test]
    fn a_script_may_change_something_where_one_of_its_steps_does() {
        for (text, want) in [
            ("?[a] := *r[a]", false),
            ("?[a] <- [[1]] :put r {a}", true),
            ("?[a] <- [[1]] :create _r {a}", false),
            ("::relations", false),
            ("::remove r", true),
            ("{ ?[a] := *r[a] }", false),
            ("{ ?[a] := *r[a] :create _r {a} } { ?[a] := *_r[a] } %debug _r", false),
            ("{ ?[a] := *r[a] } { ?[a] <- [[1]] :rm r {a} }", true),
            ("{ ::columns r }", false),
            ("{ ::rename r -> s }", true),
            ("%ignore_error { ?[a] <- [[1]] :put r {a} }", true),
            ("%if { ?[a] := *r[a] } %then %return { ?[a] := *r[a] } %end", false),
            ("%if { ?[a] := *r[a] } %then { ?[a] <- [[1]] :put r {a} } %end", true),
            ("%if { ?[a] := *r[a] } %then %return r %else { ::remove r } %end", true),
            ("%if { ?[a] <- [[1]] :put r {a} } %then %return r %end", true),
            ("%loop { ?[a] <- [[1]] :put r {a} } %break %end", true),
            ("%loop { ?[a] := *r[a] } %break %end", false),
            ("%return { ?[a] <- [[1]] :put r {a} }", true),
            ("%swap r s", true),
            ("%swap _r _s", false),
            ("{ ?[a] := }", false),
        ] {
            assert_eq!(may_change(text), want, "{text}");
        }
    }
}
