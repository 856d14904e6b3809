//! Errors of algorithms as errors of the database, with the ids of vertices.

use crate::ids::VertexIds;
use crate::run::stopped;
use algo::Error as AlgoError;
use model::Value;
use store::{Error, ErrorKind};

/// The error of an algorithm, which numbers vertices, as an error with their ids. The error of the
/// algorithm is the [`Error::cause`].
pub(crate) fn from_algo(error: AlgoError, ids: &VertexIds) -> Error {
    // Where even the ids cannot be read, the number says which vertex it is.
    let name = |vertex: u32| {
        let in_graph = (vertex as usize) < ids.len();
        let id = if in_graph { ids.value(vertex).ok() } else { None };
        id.unwrap_or(Value::Int(vertex.into()))
    };
    let (kind, what) = match error {
        AlgoError::Stopped => return stopped(),
        AlgoError::TooLarge { bytes } => {
            let what = format!("the result takes {bytes} bytes or more");
            let hint = "a larger memory_limit when the database is opened allows it";
            (ErrorKind::Limit, format!("{what}\nhint: {hint}"))
        }
        AlgoError::WeightNotFinite { source, target, weight } => {
            let (source, target) = (name(source), name(target));
            let what = format!("the edge from {source} to {target} has weight {weight}");
            (ErrorKind::InvalidInput, format!("{what}\nhint: weights must be finite numbers"))
        }
        AlgoError::NegativeWeight { source, target, weight } => {
            let (source, target) = (name(source), name(target));
            let what = format!("the edge from {source} to {target} has weight {weight}");
            let hint =
                "this algorithm needs weights that are not negative; bellman_ford takes them";
            (ErrorKind::InvalidInput, format!("{what}\nhint: {hint}"))
        }
        AlgoError::NegativeCycle { vertex } => {
            let what = format!("{} is on a cycle of negative weight", name(vertex));
            (ErrorKind::InvalidInput, format!("{what}\nhint: some distances have no minimum"))
        }
        AlgoError::Disconnected { vertex } => {
            let what = format!("{} does not reach all other vertices", name(vertex));
            let hint = "the greatest distance is infinite; take one component, by project(nodes=…)";
            (ErrorKind::InvalidInput, format!("{what}\nhint: {hint}"))
        }
        AlgoError::SelfLoop { vertex } => {
            let what = format!("{} has an edge to itself", name(vertex));
            let hint = "this algorithm needs a graph without self-loops";
            (ErrorKind::InvalidInput, format!("{what}\nhint: {hint}"))
        }
        AlgoError::HasCycle => {
            let hint = "the condensation of its strong components has none";
            (ErrorKind::InvalidInput, format!("the graph has a cycle\nhint: {hint}"))
        }
        AlgoError::NoConvergence { rounds } => {
            let what = format!("the values do not converge within {rounds} rounds");
            (ErrorKind::InvalidInput, format!("{what}\nhint: a larger max_iter or tol"))
        }
        other => (ErrorKind::InvalidInput, other.to_string()),
    };
    Error::caused(kind, error).with_message(what)
}
