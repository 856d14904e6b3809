//! Errors of changes that require that a key exists, or that it does not.

use exec::error::Error;
use syntax::{MutationOp, Span};

/// Why a row with this key is refused.
pub(crate) fn row_error(
    relation: &str,
    key: impl Iterator<Item = String>,
    why: &str,
    span: Span,
) -> Error {
    let key = key.collect::<Vec<_>>().join(", ");
    Error::value(format!("row [{key}] of relation `{relation}` {why}"), span)
}

/// Why an op refuses a row whose key is there or is not.
pub(crate) fn refusal(op: MutationOp, is_there: bool) -> Option<&'static str> {
    match (op, is_there) {
        (MutationOp::Insert, true) => Some("already exists"),
        (MutationOp::EnsureNot, true) => Some("exists"),
        (MutationOp::Update | MutationOp::Delete | MutationOp::Ensure, false) => {
            Some("does not exist")
        }
        _ => None,
    }
}
