//! Errors: cancellation, and graphs that an algorithm does not accept.

use std::fmt;

/// The limits or a callback ended the algorithm. The caller knows the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the algorithm was stopped")
    }
}

impl std::error::Error for Stopped {}

/// The reason why a graph could not be created or an algorithm failed.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Error {
    /// See [`Stopped`].
    Stopped,
    /// The result would take more memory than the limits allow.
    TooLarge {
        /// Required bytes.
        bytes: u64,
    },
    /// The graph would have more than `u32::MAX` vertices.
    TooManyVertices {
        /// Requested number of vertices.
        vertices: usize,
    },
    /// The columns of the edges differ in length.
    UnequalColumns {
        /// Length of the column of sources.
        sources: usize,
        /// Length of the column of targets.
        targets: usize,
        /// Length of the column of weights, if there is one.
        weights: Option<usize>,
    },
    /// An edge contains a vertex that is not in the graph.
    VertexOutOfRange {
        /// Row of the edge in the columns, from 0.
        row: usize,
        /// The vertex.
        vertex: u32,
        /// Number of vertices in the graph.
        vertices: usize,
    },
    /// Columns that should be those of a graph are not: offsets that decrease or do not end with
    /// the number of edges, or a row that is not sorted.
    InvalidRows {
        /// The first such row.
        row: usize,
    },
    /// A source, a goal or another argument is not a vertex of the graph.
    UnknownVertex {
        /// The vertex.
        vertex: u32,
        /// Number of vertices in the graph.
        vertices: u32,
    },
    /// A weight is NaN or infinite.
    WeightNotFinite {
        /// Source of the edge.
        source: u32,
        /// Target of the edge.
        target: u32,
        /// Its weight.
        weight: f64,
    },
    /// A weight is negative. The search settles the nearest vertex first, which requires weights
    /// that are not negative.
    NegativeWeight {
        /// Source of the edge.
        source: u32,
        /// Target of the edge.
        target: u32,
        /// Its weight.
        weight: f64,
    },
    /// A source reaches a cycle whose weights sum to less than zero, so some distances have no
    /// minimum.
    NegativeCycle {
        /// A vertex on the cycle.
        vertex: u32,
    },
    /// A vertex does not reach all others, so its greatest distance is infinite.
    Disconnected {
        /// The vertex.
        vertex: u32,
    },
    /// A parameter must be a finite number more than zero.
    NotPositive {
        /// The value.
        value: f64,
    },
    /// The graph has no vertices, and the algorithm needs one.
    NullGraph,
    /// A column that is divided by its sum sums to zero.
    ZeroSum,
    /// The values still changed too much after the last round.
    NoConvergence {
        /// Number of rounds.
        rounds: u32,
    },
    /// The graph has a cycle, so its vertices have no topological order.
    HasCycle,
    /// An edge leads from a vertex to itself, which the algorithm does not allow.
    SelfLoop {
        /// The vertex.
        vertex: u32,
    },
    /// A column has a length other than the number of vertices.
    WrongLength {
        /// Length of the column.
        len: usize,
        /// Number of vertices.
        vertices: usize,
    },
    /// The source of a flow is also its sink.
    SourceIsSink {
        /// The vertex.
        vertex: u32,
    },
    /// A flow has no greatest value, or one that its type cannot represent.
    UnboundedFlow,
    /// An edge has both ends on one side, so the graph is not bipartite.
    NotBipartite {
        /// Source of the edge.
        source: u32,
        /// Target of the edge.
        target: u32,
    },
    /// Two vertices that should not be neighbors have an edge between them.
    NotIndependent {
        /// The first vertex.
        source: u32,
        /// The second vertex.
        target: u32,
    },
    /// An estimate of the remaining cost is NaN.
    EstimateNotANumber {
        /// The vertex of the estimate.
        vertex: u32,
    },
}

/// Fails if one of `vertices` is not among the first `count`.
pub(crate) fn refuse_unknown(vertices: &[u32], count: u32) -> Result<(), Error> {
    match vertices.iter().find(|&&vertex| vertex >= count) {
        Some(&vertex) => Err(Error::UnknownVertex { vertex, vertices: count }),
        None => Ok(()),
    }
}

/// Fails if a column of `len` values does not have one for each of `count` vertices.
pub(crate) fn refuse_length(len: usize, count: u32) -> Result<(), Error> {
    let vertices = count as usize;
    if len == vertices { Ok(()) } else { Err(Error::WrongLength { len, vertices }) }
}

impl From<Stopped> for Error {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => Stopped.fmt(f),
            Self::TooLarge { bytes } => {
                write!(f, "the result takes {bytes} bytes or more, which is more than may be held")
            }
            Self::TooManyVertices { vertices } => {
                write!(f, "a graph has at most {} vertices, this one has {vertices}", u32::MAX)
            }
            Self::UnequalColumns { sources, targets, weights } => {
                write!(f, "the edges have {sources} sources and {targets} targets")?;
                match weights {
                    Some(weights) => write!(f, " and {weights} weights"),
                    None => Ok(()),
                }
            }
            Self::VertexOutOfRange { row, vertex, vertices } => {
                write!(f, "edge {row} names vertex {vertex}, the graph has {vertices}")
            }
            Self::InvalidRows { row } => {
                write!(f, "row {row} of the columns is not the row of a graph")
            }
            Self::UnknownVertex { vertex, vertices } => {
                write!(f, "vertex {vertex} is not in the graph, which has {vertices}")
            }
            Self::WeightNotFinite { source, target, weight } => {
                write!(
                    f,
                    "the edge from {source} to {target} has weight {weight}; weights are finite numbers"
                )
            }
            Self::NegativeWeight { source, target, weight } => {
                write!(
                    f,
                    "the edge from {source} to {target} has weight {weight}; here weights are not negative"
                )
            }
            Self::NegativeCycle { vertex } => {
                write!(f, "vertex {vertex} is on a cycle of negative weight")
            }
            Self::Disconnected { vertex } => {
                write!(f, "vertex {vertex} does not reach all other vertices")
            }
            Self::NotPositive { value } => {
                write!(f, "a parameter is {value}, which is not a finite number more than zero")
            }
            Self::NullGraph => f.write_str("the graph has no vertices"),
            Self::ZeroSum => f.write_str("the values sum to zero, so they have no shares"),
            Self::NoConvergence { rounds } => {
                write!(f, "the values do not converge within {rounds} rounds")
            }
            Self::HasCycle => f.write_str("the graph has a cycle"),
            Self::SelfLoop { vertex } => {
                write!(f, "vertex {vertex} has an edge to itself, which is not allowed here")
            }
            Self::WrongLength { len, vertices } => {
                write!(f, "the column has {len} values, the graph has {vertices} vertices")
            }
            Self::SourceIsSink { vertex } => {
                write!(f, "vertex {vertex} is the source of the flow and its sink")
            }
            Self::UnboundedFlow => f.write_str("the flow has no limit, or one that is too large"),
            Self::NotBipartite { source, target } => {
                write!(f, "the edge from {source} to {target} has both ends on one side")
            }
            Self::NotIndependent { source, target } => {
                write!(
                    f,
                    "there is an edge from {source} to {target}, which should not be neighbors"
                )
            }
            Self::EstimateNotANumber { vertex } => {
                write!(f, "the estimated cost from vertex {vertex} is not a number")
            }
        }
    }
}

impl std::error::Error for Error {}
