//! Words that the language has of its own: for those who complete or colour scripts.

use std::borrow::Cow;

/// The name of a relation or a column as a script has it: in backquotes where it would be read as
/// something else without them.
///
/// ```
/// assert_eq!(quipu_syntax::words::written("cites"), "cites");
/// assert_eq!(quipu_syntax::words::written("data-2026"), "`data-2026`");
/// ```
#[must_use]
pub fn written(name: &str) -> Cow<'_, str> {
    let is_cut = name.contains('.') && name.split('.').any(str::is_empty);
    match name.contains(['-', ' ']) || is_cut {
        true => Cow::Owned(format!("`{name}`")),
        false => Cow::Borrowed(name),
    }
}

/// Names of system ops, without `::`.
pub const SYSTEM_OPS: &[&str] = &crate::system::OPS;

/// Names of a query's options and of what it does to a stored relation, without `:`.
pub const OPTIONS: &[&str] = &crate::query::OPTIONS;

/// Statements of scripts of several steps, without `%`; those that end or divide others are `then`,
/// `else` and `end`.
pub const STATEMENTS: &[&str] = &crate::imperative::STATEMENTS;
