//! Triggers: queries that run when rows of a relation have changed, in the same transaction.
//! `change_rows.rs` runs them.
//!
//! A trigger sees the changed rows as the rules `_new` and `_old`. A change without rows runs no
//! trigger. A trigger's own changes run no further triggers. Where a relation is replaced, triggers
//! `on replace` run first: they see the old content and get no rows. Triggers `on put` run when the
//! new rows exist.

use crate::dml::changed_rows::ReturnedRows;
use exec::error::{Error, Result};
use model::Value;
use relation::Settings;
use syntax::{Expr, Ident, MutationOp, Query, Rule, Script, Span};

/// The triggers that a change runs.
pub(crate) fn of(settings: &Settings, op: MutationOp) -> &[String] {
    match op {
        MutationOp::Put
        | MutationOp::Insert
        | MutationOp::Update
        | MutationOp::Create
        | MutationOp::Replace => &settings.on_put,
        MutationOp::Rm | MutationOp::Delete => &settings.on_rm,
        MutationOp::Ensure | MutationOp::EnsureNot => &[],
    }
}

/// Parses a trigger's query.
///
/// # Errors
/// The text is not a query.
pub(crate) fn query(text: &str) -> Result<Query> {
    match crate::nesting::parse(text)?.0 {
        Script::Query(query) => Ok(query),
        _ => Err(Error::value("a trigger is a single query", Span::default())),
    }
}

/// The rules `_new` and `_old`. `columns` are the relation's, keys first.
pub(crate) fn rules(
    op: MutationOp,
    columns: &[String],
    keys: usize,
    changed: &ReturnedRows,
) -> [Rule; 2] {
    let is_removal = matches!(op, MutationOp::Rm | MutationOp::Delete);
    // Of removed rows only the keys are requested.
    let new_columns = if is_removal { &columns[..keys] } else { columns };
    [
        rule("_new", new_columns, changed, &["inserted", "requested"]),
        rule("_old", columns, changed, &["replaced", "deleted"]),
    ]
}

/// A constant rule with the rows of some kinds.
fn rule(name: &str, columns: &[String], changed: &ReturnedRows, kinds: &[&str]) -> Rule {
    let ident = |text: &str| Ident { text: text.to_owned(), span: Span::default() };
    let literal = |value: &Value| Expr::Literal(value.clone(), Span::default());
    let rows = changed.iter().filter(|(kind, _)| kinds.contains(kind)).map(|(_, row)| {
        Expr::List(row[..columns.len()].iter().map(literal).collect(), Span::default())
    });
    Rule::Constant {
        name: ident(name),
        head: columns.iter().map(|column| ident(column)).collect(),
        data: Expr::List(rows.collect(), Span::default()),
        span: Span::default(),
    }
}
