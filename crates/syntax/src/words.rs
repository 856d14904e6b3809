//! Keywords of the language, for completion and syntax highlighting, and names as they are written
//! in scripts.

use std::borrow::Cow;

/// The name of a relation or a column as written in a script: in backquotes if it contains `-` or a
/// space, or a dot at its start, at its end or next to another one.
///
/// ```
/// assert_eq!(quipu_syntax::words::quote_name("cites"), "cites");
/// assert_eq!(quipu_syntax::words::quote_name("data-2026"), "`data-2026`");
/// ```
#[must_use]
pub fn quote_name(name: &str) -> Cow<'_, str> {
    let is_cut = name.contains('.') && name.split('.').any(str::is_empty);
    match name.contains(['-', ' ']) || is_cut {
        true => Cow::Owned(format!("`{name}`")),
        false => Cow::Borrowed(name),
    }
}

/// Names of the system operations, without `::`.
pub const SYSTEM_OPS: &[&str] = &crate::system::OPS;

/// Names of all options of a query, including those that change a stored relation, without `:`.
pub const OPTIONS: &[&str] = &crate::query::OPTIONS;

/// Keywords of imperative statements, without `%`. The keywords `then`, `else` and `end` only
/// structure other statements and are not included.
pub const STATEMENTS: &[&str] = &crate::imperative::STATEMENTS;
