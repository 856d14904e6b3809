//! How deep a script may nest on this thread.
//!
//! # Invariants
//! 1. What parses, plans or computes a script calls itself at most once for each level of it, and a
//!    level takes at most [`LEVEL_BYTES`] of stack. So a script that is as deep as is allowed here
//!    does not overflow the stack; deeper ones are refused before they are walked, also those that
//!    were parsed by a thread with more room.

use syntax::{Diagnostic, Expr, Script};

/// Bytes of stack for what runs a script that does not nest.
const BASE_BYTES: usize = 64 << 10;

/// Bytes of stack for each level. Frames are larger where the compiler leaves them as they are
/// written.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) { 4 << 10 } else { 2 << 10 };

/// Levels for which this thread's stack has room.
pub(crate) fn levels_max() -> u32 {
    let left_bytes = env::stack_left_bytes().saturating_sub(BASE_BYTES);
    u32::try_from(left_bytes / LEVEL_BYTES).unwrap_or(u32::MAX)
}

/// Reads a script; how many levels deep it is.
///
/// # Errors
/// What is wrong with it, or that it nests deeper than this thread's stack allows.
pub(crate) fn parse(text: &str) -> Result<(Script, u32), Vec<Diagnostic>> {
    syntax::parse_within(text, levels_max())
}

/// The same for one expression, such as the default of a column.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_expression(text: &str) -> Result<Expr, Vec<Diagnostic>> {
    syntax::parse_expression_within(text, levels_max())
}
