//! Searches of a graph: algorithms 2 and 5.

use super::graph::Graph;
use super::metric::Query;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Vertices that are visited between two checks of the limits.
const CHECKED_VERTICES: usize = 256;

/// Vectors that are compared between two checks of the limits.
const CHECKED_VECTORS: usize = 8192;

/// A graph that a search reads.
pub trait GraphView {
    /// Why a search stops.
    type Error;

    /// The part of the graph that is in memory.
    fn graph(&self) -> &Graph;

    /// Sees to it that the links of a vertex in a layer are in memory, and the vectors that they
    /// lead to.
    ///
    /// # Errors
    /// Those of storage.
    fn read(&mut self, number: u32, layer: usize) -> Result<(), Self::Error>;

    /// The vertex at which searches begin.
    ///
    /// # Errors
    /// Those of storage.
    fn entry(&mut self) -> Result<Option<u32>, Self::Error>;

    /// Called now and then.
    ///
    /// # Errors
    /// Once the search has to stop.
    fn check(&mut self) -> Result<(), Self::Error>;
}

/// A vertex and its distance. The order is by distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The distance in 32-bit floats.
    pub distance: f32,
    /// Number of the vertex.
    pub number: u32,
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Vertices that were seen, by number.
struct Visited(Vec<u64>);

impl Visited {
    /// Returns whether the vertex was not seen before.
    fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

/// The nearest vertices, the nearest first, among `ef` candidates: fewer only if fewer can be
/// reached. The vector of the query has the graph's number of dimensions.
///
/// # Errors
/// Those of the view.
pub fn nearest<V: GraphView>(
    view: &mut V,
    query: &Query,
    ef: usize,
) -> Result<Vec<Near>, V::Error> {
    let Some(entry) = view.entry()? else { return Ok(Vec::new()) };
    let mut found = vec![Near { distance: view.graph().distance(query, entry), number: entry }];
    let top = view.graph().id(entry).map_or(0, super::VertexId::layer);
    for layer in (1..=top).rev() {
        found = search_layer(view, query, found, 1, layer)?;
    }
    search_layer(view, query, found, ef, 0)
}

/// All vertices of a whole graph, the nearest first. Calls `check` now and then.
///
/// # Errors
/// Those of `check`.
pub fn exhaustive<E>(
    graph: &Graph,
    query: &Query,
    mut check: impl FnMut() -> Result<(), E>,
) -> Result<Vec<Near>, E> {
    let mut found = Vec::with_capacity(graph.len());
    for number in 0..graph.numbers_end() as u32 {
        if (number as usize).is_multiple_of(CHECKED_VECTORS) {
            check()?;
        }
        if graph.id(number).is_some() {
            found.push(Near { distance: graph.distance(query, number), number });
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Algorithm 2: the nearest vertices of a layer that are found from `entries`, at most `ef`, the
/// nearest first.
pub(super) fn search_layer<V: GraphView>(
    view: &mut V,
    query: &Query,
    entries: Vec<Near>,
    ef: usize,
    layer: usize,
) -> Result<Vec<Near>, V::Error> {
    let mut visited = Visited(vec![0; view.graph().numbers_end() / 64 + 1]);
    for near in &entries {
        visited.insert(near.number);
    }
    let mut candidates: BinaryHeap<Reverse<Near>> = entries.iter().copied().map(Reverse).collect();
    let mut found: BinaryHeap<Near> = entries.into();
    let mut steps = 0;
    while let Some(Reverse(candidate)) = candidates.pop() {
        let farthest = found.peek().map_or(f32::INFINITY, |near| near.distance);
        if found.len() >= ef && candidate.distance > farthest {
            break;
        }
        steps += 1;
        if steps % CHECKED_VERTICES == 0 {
            view.check()?;
        }
        view.read(candidate.number, layer)?;
        let graph = view.graph();
        for link in graph.links(candidate.number, layer) {
            if !visited.insert(link.to) {
                continue;
            }
            let near = Near { distance: graph.distance(query, link.to), number: link.to };
            if found.len() < ef {
                found.push(near);
            } else if let Some(mut farthest) = found.peek_mut().filter(|farthest| near < **farthest)
            {
                *farthest = near;
            } else {
                continue;
            }
            candidates.push(Reverse(near));
        }
    }
    let mut found = found.into_sorted_vec();
    found.truncate(ef);
    Ok(found)
}
