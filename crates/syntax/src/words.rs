//! Words that the language has of its own: for those who complete or colour scripts.

/// Names of system ops, without `::`.
pub const SYSTEM_OPS: &[&str] = &crate::system::OPS;

/// Names of a query's options and of what it does to a stored relation, without `:`.
pub const OPTIONS: &[&str] = &crate::query::OPTIONS;

/// Statements of scripts of several steps, without `%`; those that end or divide others are `then`, `else` and `end`.
pub const STATEMENTS: &[&str] = &crate::imperative::STATEMENTS;
