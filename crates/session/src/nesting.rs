//! How deep a script may nest on this thread's stack.
//!
//! # Invariants
//! 1. Functions that parse, plan or evaluate a script recurse at most once per level of nesting,
//!    and a level takes at most [`LEVEL_BYTES`] of stack. So a script of the allowed depth does not
//!    overflow the stack. Deeper ones are refused before they are processed, also if a thread with
//!    a larger stack has parsed them.

use syntax::{Diagnostic, Expr, Script};

/// Stack bytes to run a script that does not nest.
const BASE_BYTES: usize = 64 << 10;

/// Stack bytes per level. Frames are larger without optimization.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) { 4 << 10 } else { 2 << 10 };

/// Levels for which this thread's stack has room.
pub(crate) fn levels_max() -> u32 {
    let left_bytes = env::stack_left_bytes().saturating_sub(BASE_BYTES);
    u32::try_from(left_bytes / LEVEL_BYTES).unwrap_or(u32::MAX)
}

/// Parses a script; also returns its depth.
///
/// # Errors
/// Its diagnostics, or that it nests deeper than this thread's stack allows.
pub(crate) fn parse(text: &str) -> Result<(Script, u32), Vec<Diagnostic>> {
    syntax::parse_within(text, levels_max())
}

/// Parses a single expression, such as the default of a column.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_expression(text: &str) -> Result<Expr, Vec<Diagnostic>> {
    syntax::parse_expression_within(text, levels_max())
}
