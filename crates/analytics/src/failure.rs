//! Errors of calls of algorithms, and the reasons that callers can act on.

use algo::Error as AlgoError;
use model::Value;
use std::fmt;
use store::{Error, ErrorKind};

/// Why a call of an algorithm is refused, beyond the reasons of the algorithms themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An argument is not a vertex.
    UnknownVertex,
    /// There is no path between the two vertices.
    NoPath,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownVertex => "an argument is not a vertex",
            Self::NoPath => "there is no path",
        })
    }
}

impl std::error::Error for Refusal {}

/// An error of wrong input; `hint` may be empty.
pub(crate) fn invalid(what: &str, hint: &str) -> Error {
    let message = if hint.is_empty() { what.to_owned() } else { format!("{what}\nhint: {hint}") };
    Error::new(ErrorKind::InvalidInput, message)
}

/// The error of an id that is not a vertex.
pub(crate) fn unknown_vertex(id: &Value) -> Error {
    let what = format!("{id} is not a vertex of the projection");
    Error::caused(ErrorKind::InvalidInput, Refusal::UnknownVertex).with_message(what)
}

/// The error of two vertices without a path.
pub(crate) fn no_path(source: &Value, target: &Value) -> Error {
    let what = format!("there is no path from {source} to {target}");
    Error::caused(ErrorKind::InvalidInput, Refusal::NoPath).with_message(what)
}

/// A stable word for the reason of an error of an algorithm, for callers that translate errors:
/// `"unknown_vertex"`, `"no_path"`, `"no_convergence"`, `"negative_weight"`, `"negative_cycle"`,
/// `"disconnected"`, `"has_cycle"`, `"self_loop"`, `"null_graph"` or `"zero_sum"`. `None` for any
/// other error.
#[must_use]
pub fn reason_of(error: &Error) -> Option<&'static str> {
    if let Some(refusal) = error.cause::<Refusal>() {
        return Some(match refusal {
            Refusal::UnknownVertex => "unknown_vertex",
            Refusal::NoPath => "no_path",
        });
    }
    Some(match error.cause::<AlgoError>()? {
        AlgoError::UnknownVertex { .. } => "unknown_vertex",
        AlgoError::NoConvergence { .. } => "no_convergence",
        AlgoError::NegativeWeight { .. } => "negative_weight",
        AlgoError::NegativeCycle { .. } => "negative_cycle",
        AlgoError::Disconnected { .. } => "disconnected",
        AlgoError::HasCycle => "has_cycle",
        AlgoError::SelfLoop { .. } => "self_loop",
        AlgoError::NullGraph => "null_graph",
        AlgoError::ZeroSum => "zero_sum",
        _ => return None,
    })
}
