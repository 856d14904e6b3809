//! What can go wrong: the caller said stop, or a graph is not one that an algorithm can take.

use std::fmt;

/// The watch said stop, or a closure of the caller refused. The caller knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the algorithm was stopped")
    }
}

impl std::error::Error for Stopped {}

/// Why a graph was not made, or an algorithm gave no answer.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Error {
    /// See [`Stopped`].
    Stopped,
    /// What is asked for takes more memory than the watch allows.
    TooLarge {
        /// Bytes that it would take.
        bytes: u64,
    },
    /// A graph has at most `u32::MAX` vertices.
    TooManyVertices {
        /// Vertices asked for.
        vertices: usize,
    },
    /// The columns of the edges are not equally long.
    UnequalColumns {
        /// Rows in the column of sources.
        sources: usize,
        /// Rows in the column of targets.
        targets: usize,
        /// Rows in the column of weights, if there is one.
        weights: Option<usize>,
    },
    /// An edge names a vertex that the graph does not have.
    VertexOutOfRange {
        /// Row of the edge in the columns, from zero.
        row: usize,
        /// The vertex.
        vertex: u32,
        /// Vertices in the graph.
        vertices: usize,
    },
    /// A weight is not a number, or infinite.
    WeightNotFinite {
        /// Where the edge begins.
        source: u32,
        /// Where the edge ends.
        target: u32,
        /// Its weight.
        weight: f64,
    },
    /// Shortest paths are found by settling the nearest vertex first, which a negative weight
    /// breaks.
    NegativeWeight {
        /// Where the edge begins.
        source: u32,
        /// Where the edge ends.
        target: u32,
        /// Its weight.
        weight: f64,
    },
    /// An estimate of the remaining cost is not a number.
    EstimateNotANumber {
        /// The vertex whose estimate was asked for.
        vertex: u32,
    },
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
            Self::EstimateNotANumber { vertex } => {
                write!(f, "the estimated cost from vertex {vertex} is not a number")
            }
        }
    }
}

impl std::error::Error for Error {}
