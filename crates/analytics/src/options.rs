//! Options of a projection: the parts of its graph that it contains.

/// The parts of a graph that a projection contains. The default: directed, without weights, all
/// edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProjectOptions {
    /// Whether edges have the weights of the graph.
    pub is_weighted: bool,
    /// With weights of a stored graph: the property of edges that they are, by its place among the
    /// graph's properties. `None`: the graph's weight.
    pub property: Option<usize>,
    /// Whether each edge is in the rows of both its ends.
    pub is_undirected: bool,
    /// How several edges between the same vertices are combined. In an undirected projection, edges
    /// in both directions are parallel too.
    pub parallel: Parallel,
}

/// How parallel edges are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Parallel {
    /// They all stay.
    #[default]
    Keep,
    /// One edge with the sum of the weights; without weights, with their number.
    Sum,
    /// One edge with the least weight.
    Min,
    /// The first of them: in the order of weights in a projected query. Of two directions, the one
    /// from the smaller vertex.
    First,
}

impl Parallel {
    /// Whether one edge stays.
    pub(crate) fn is_one(self) -> bool {
        self != Self::Keep
    }
}
