//! Whether a script may change the database, judged by its syntax tree. The command line opens a
//! database for writing only if so, and read-only runs refuse such scripts. A new system op counts
//! as a change unless it is listed here.

use exec::error::{Error, Result};
use syntax::{Block, Condition, Query, Script, Span, Statement, SystemOp};

/// Whether a script may change the database. One with syntax errors does not, nor one that only
/// changes temporary relations. All statements count, also those that may never run.
#[must_use]
pub fn may_change(text: &str) -> bool {
    let script = crate::nesting::parse(text).map(|(script, _)| script);
    match script {
        Ok(Script::Query(query)) => changes(&query),
        Ok(Script::System(op)) => is_system_change(&op),
        Ok(Script::Imperative(statements)) => statements.iter().any(is_change),
        Err(_) => false,
    }
}

fn is_change(statement: &Statement) -> bool {
    match statement {
        Statement::Run(block, _) | Statement::IgnoreError(block, _) => match block {
            Block::Query(query) => changes(query),
            Block::System(op) => is_system_change(op),
        },
        Statement::If { condition, then, otherwise, .. } => {
            asks_by_change(condition) || then.iter().chain(otherwise).any(is_change)
        }
        Statement::Loop { body, .. } => body.iter().any(is_change),
        Statement::Return(returned, _) => returned.iter().any(asks_by_change),
        // Temporary relations do not count.
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

/// Relations whose names begin with `_` are temporary.
fn changes(query: &Query) -> bool {
    let mutation = query.options.mutation.as_ref();
    mutation.is_some_and(|mutation| !mutation.relation.text.starts_with('_'))
}

/// Whether a system op changes state that a transaction cannot undo: the catalog, or files.
pub(crate) fn is_system_change(op: &SystemOp) -> bool {
    !matches!(
        op,
        SystemOp::Relations
            | SystemOp::Columns(_)
            | SystemOp::Explain(_)
            | SystemOp::Analyze(_)
            | SystemOp::Running
            | SystemOp::Kill(_)
            | SystemOp::FixedRules
            | SystemOp::Indices(_)
            | SystemOp::ShowTriggers(_)
    )
}

/// Whether a system op is a script of its own, outside of transactions, while no script that
/// changes rows runs.
pub(crate) fn is_run_alone(op: &SystemOp) -> bool {
    matches!(
        op,
        SystemOp::IndexCreate(..)
            | SystemOp::IndexDrop(..)
            | SystemOp::SearchCreate(..)
            | SystemOp::SearchDrop(..)
            | SystemOp::ColumnAdd(..)
            | SystemOp::ColumnDrop(..)
            | SystemOp::ColumnRename(..)
    )
}

/// Message for a refused change.
pub(crate) const READ_ONLY: &str = "the script is run for reading only";

/// Refuses system ops that change something.
///
/// # Errors
/// The op changes something.
pub(crate) fn refuse_change(op: &SystemOp) -> Result<()> {
    match is_system_change(op) {
        true => Err(Error::read_only(READ_ONLY, Span::default())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by an audit: every script with braces counted as a change.
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
