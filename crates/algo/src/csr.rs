//! A graph as compressed sparse rows (CSR): the neighbors of each vertex, one vertex after another.
//!
//! All algorithms of this crate read graphs in this form. `exec` builds them from relations.
//!
//! # Why counting sort
//! Vertices are numbered densely. So a stable counting sort by target and then by source produces
//! sorted rows in time and memory linear in the edges. A scan of a relation often returns edges in
//! that order already; then the columns are copied without sorting.
//!
//! # Invariants
//! 1. `offsets` has one more entry than there are vertices, starts with 0, ends with the number of
//!    edges, and never decreases.
//! 2. Every target is less than the number of vertices.
//! 3. Each row is sorted by target. Parallel edges keep their original order.
//! 4. `weights`, if present, is as long as `targets`, and every weight is finite.

mod from_rows;
mod known_sign;

use std::ops::Range;

use crate::csr::known_sign::KnownSign;
use crate::error::{Error, Stopped};
use crate::limits::{Limits, STRIDE, Ticker};

/// Not a valid vertex. Means "none" in columns of vertices.
pub const NO_VERTEX: u32 = u32::MAX;

/// A directed graph, optionally weighted. May have parallel edges and self-loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    offsets: Vec<u64>,
    targets: Vec<u32>,
    weights: Option<Vec<f64>>,
    sign: KnownSign,
}

impl Default for Csr {
    fn default() -> Self {
        Self::from_parts(vec![0], Vec::new(), None)
    }
}

impl Csr {
    /// Creates a graph of `vertices` vertices with an edge for each row of the columns.
    ///
    /// Memory: eight bytes per vertex, four per edge, and eight more per edge with weights.
    /// Temporarily twice that if the rows are not sorted by source and target.
    ///
    /// # Errors
    /// [`Error::TooManyVertices`], [`Error::UnequalColumns`], [`Error::VertexOutOfRange`],
    /// [`Error::WeightNotFinite`], [`Error::Stopped`].
    pub fn from_edges(
        vertices: usize,
        sources: &[u32],
        targets: &[u32],
        weights: Option<&[f64]>,
        limits: &dyn Limits,
    ) -> Result<Self, Error> {
        let mut ticker = Ticker::new(limits)?;
        let sorted = check_columns(vertices, sources, targets, weights, &mut ticker)?;
        if sorted {
            let offsets = count(vertices, sources, &mut ticker)?;
            let targets = copy(targets, &mut ticker)?;
            let weights = weights.map(|weights| copy(weights, &mut ticker)).transpose()?;
            return Ok(Self::from_parts(offsets, targets, weights));
        }
        Ok(Self::from_columns(vertices, sources, targets, weights, &mut ticker)?)
    }

    /// As [`Csr::from_edges`] for columns that are known to be valid.
    pub(crate) fn from_columns(
        vertices: usize,
        sources: &[u32],
        targets: &[u32],
        weights: Option<&[f64]>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self, Stopped> {
        let turned = targets.iter().copied().zip(sources.iter().copied());
        let offsets = count(vertices, targets, ticker)?;
        let by_target = Self::scatter(offsets, turned, weights, ticker)?;
        by_target.transposed(Some(count(vertices, sources, ticker)?), ticker)
    }

    /// The caller is responsible for the invariants.
    pub(crate) fn from_parts(
        offsets: Vec<u64>,
        targets: Vec<u32>,
        weights: Option<Vec<f64>>,
    ) -> Self {
        Self { offsets, targets, weights, sign: KnownSign::default() }
    }

    /// Knowledge about the signs of the weights.
    pub(crate) fn sign(&self) -> &KnownSign {
        &self.sign
    }

    /// Number of vertices, including those without edges.
    pub fn vertices(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// Number of edges. Parallel edges count separately.
    pub fn edges(&self) -> u64 {
        self.targets.len() as u64
    }

    /// Offsets of the rows: row `v` is `offsets()[v]..offsets()[v + 1]` of [`Csr::targets`].
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The targets of all rows, concatenated.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// The weights of all edges, in the order of [`Csr::targets`]. `None` if every edge has weight
    /// 1.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Targets of the outgoing edges of `v`, in ascending order. Empty if `v` is not in the graph.
    #[inline]
    pub fn neighbors(&self, v: u32) -> &[u32] {
        self.targets.get(self.row(v)).unwrap_or_default()
    }

    /// Number of outgoing edges of `v`.
    #[inline]
    pub fn degree(&self, v: u32) -> usize {
        self.row(v).len()
    }

    /// The outgoing edges of `v` as pairs of target and weight, in ascending order of targets. The
    /// weight is 1 in an unweighted graph.
    #[inline]
    pub fn weighted(&self, v: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let weights = self.weights.as_deref().and_then(|all| all.get(self.row(v)));
        let weight = move |i: usize| weights.map_or(1.0, |row| row[i]);
        self.neighbors(v).iter().enumerate().map(move |(i, &to)| (to, weight(i)))
    }

    /// Number of incoming edges of each vertex.
    pub(crate) fn in_degrees(&self, ticker: &mut Ticker<'_>) -> Result<Vec<u64>, Stopped> {
        let mut degrees = vec![0; self.vertices() as usize];
        for part in self.targets.chunks(STRIDE) {
            part.iter().for_each(|&to| degrees[to as usize] += 1);
            ticker.tick(part.len())?;
        }
        Ok(degrees)
    }

    /// The range of `v`'s edges in the columns.
    #[inline]
    pub(crate) fn row(&self, v: u32) -> Range<usize> {
        let v = v as usize;
        match (self.offsets.get(v), self.offsets.get(v + 1)) {
            (Some(&from), Some(&to)) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    /// The graph with all edges reversed.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn reverse(&self, limits: &dyn Limits) -> Result<Self, Stopped> {
        self.transposed(None, &mut Ticker::new(limits)?)
    }

    /// The graph with each edge in both directions. So self-loops, and edges whose reverse exists,
    /// occur twice.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn symmetric(&self, limits: &dyn Limits) -> Result<Self, Stopped> {
        self.both_ways(true, limits)
    }

    /// As [`Csr::symmetric`], but self-loops occur once, as the neighborhoods of an undirected
    /// graph have them.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn undirected(&self, limits: &dyn Limits) -> Result<Self, Stopped> {
        self.both_ways(false, limits)
    }

    /// The distinct neighbors of each vertex in either direction, without itself and without
    /// weights.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn simple_undirected(&self, limits: &dyn Limits) -> Result<Self, Stopped> {
        self.symmetric(limits)?.simple(&mut Ticker::new(limits)?)
    }

    fn both_ways(&self, loops_twice: bool, limits: &dyn Limits) -> Result<Self, Stopped> {
        let ticker = &mut Ticker::new(limits)?;
        let back = self.transposed(None, ticker)?;
        let edges = self.targets.len() * 2;
        let mut offsets = Vec::with_capacity(self.offsets.len());
        let mut targets = Vec::with_capacity(edges);
        let mut weights = self.weights.as_ref().map(|_| Vec::with_capacity(edges));
        offsets.push(0);
        for v in 0..self.vertices() {
            let (mut there, mut here) = (self.row(v), back.row(v));
            while !(there.is_empty() && here.is_empty()) {
                ticker.tick(1)?;
                let from_self = here.is_empty()
                    || !there.is_empty() && self.targets[there.start] <= back.targets[here.start];
                let (graph, row) = if from_self { (self, &mut there) } else { (&back, &mut here) };
                let (place, to) = (row.start, graph.targets[row.start]);
                row.start += 1;
                if !loops_twice && !from_self && to == v {
                    continue;
                }
                targets.push(to);
                if let (Some(out), Some(all)) = (&mut weights, &graph.weights) {
                    out.push(all[place]);
                }
            }
            offsets.push(targets.len() as u64);
        }
        Ok(Self::from_parts(offsets, targets, weights))
    }

    /// The vertices in the order in which a scan of the edges reaches them: row by row, the source
    /// and then the targets. Vertices without edges come last. CozoDB numbers vertices this way, so
    /// results that depend on an order use this one.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn scan_order(&self, limits: &dyn Limits) -> Result<Vec<u32>, Stopped> {
        let ticker = &mut Ticker::new(limits)?;
        let mut met = vec![false; self.vertices() as usize];
        let mut order = Vec::with_capacity(met.len());
        let mut meet = |v: u32| {
            if !std::mem::replace(&mut met[v as usize], true) {
                order.push(v);
            }
        };
        for v in 0..self.vertices() {
            let row = self.neighbors(v);
            if !row.is_empty() {
                meet(v);
            }
            for part in row.chunks(STRIDE) {
                part.iter().for_each(|&to| meet(to));
                ticker.tick(part.len())?;
            }
            ticker.tick(1)?;
        }
        (0..self.vertices()).for_each(meet);
        Ok(order)
    }

    /// The graph with vertex `order[i]` renamed to `i`. `order` must be a permutation.
    pub(crate) fn renumbered(
        &self,
        order: &[u32],
        ticker: &mut Ticker<'_>,
    ) -> Result<Self, Stopped> {
        let mut number = vec![NO_VERTEX; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old as usize] = new as u32;
        }
        // Writing rows in the new order leaves their targets unsorted. Reversing the edges twice
        // sorts them.
        let mut offsets = vec![0; self.offsets.len()];
        for part in self.targets.chunks(STRIDE) {
            for &to in part {
                offsets[number[to as usize] as usize + 1] += 1;
            }
            ticker.tick(part.len())?;
        }
        sum_up(&mut offsets);
        let mut next = offsets.clone();
        let mut sources = vec![0; self.targets.len()];
        let mut weights = self.weights.as_ref().map(|all| vec![0.0; all.len()]);
        for (new, &old) in order.iter().enumerate() {
            for i in self.row(old) {
                ticker.tick(1)?;
                let slot = &mut next[number[self.targets[i] as usize] as usize];
                sources[*slot as usize] = new as u32;
                if let (Some(out), Some(all)) = (&mut weights, &self.weights) {
                    out[*slot as usize] = all[i];
                }
                *slot += 1;
            }
        }
        Self::from_parts(offsets, sources, weights).transposed(None, ticker)
    }

    /// The edges for which `keep(source, target)` returns true, without weights.
    pub(crate) fn filtered(
        &self,
        mut keep: impl FnMut(u32, u32) -> bool,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self, Stopped> {
        let mut offsets = Vec::with_capacity(self.offsets.len());
        let mut targets = Vec::with_capacity(self.targets.len());
        offsets.push(0);
        for v in 0..self.vertices() {
            for part in self.neighbors(v).chunks(STRIDE) {
                targets.extend(part.iter().filter(|&&to| keep(v, to)));
                ticker.tick(part.len())?;
            }
            offsets.push(targets.len() as u64);
            ticker.tick(1)?;
        }
        Ok(Self::from_parts(offsets, targets, None))
    }

    /// Distinct edges without weights and self-loops.
    pub(crate) fn simple(&self, ticker: &mut Ticker<'_>) -> Result<Self, Stopped> {
        let mut last = None;
        let keep = |v, to| v != to && last.replace((v, to)) != Some((v, to));
        self.filtered(keep, ticker)
    }

    /// The graph with all edges reversed. `offsets` are those of the result, if they are already
    /// known.
    fn transposed(
        &self,
        offsets: Option<Vec<u64>>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self, Stopped> {
        let offsets = match offsets {
            Some(offsets) => offsets,
            None => count(self.vertices() as usize, &self.targets, ticker)?,
        };
        let rows = (0..self.vertices()).flat_map(|v| self.row(v).map(move |i| (i, v)));
        Self::scatter(
            offsets,
            rows.map(|(i, v)| (self.targets[i], v)),
            self.weights.as_deref(),
            ticker,
        )
    }

    /// Builds a graph whose row `v` starts at `offsets[v]`: puts the second number of each of
    /// `edges` into the next free slot of the row that the first one names.
    fn scatter(
        offsets: Vec<u64>,
        edges: impl Iterator<Item = (u32, u32)>,
        weights: Option<&[f64]>,
        ticker: &mut Ticker<'_>,
    ) -> Result<Self, Stopped> {
        let total = offsets.last().map_or(0, |&n| n as usize);
        let mut next = offsets.clone();
        let mut targets = vec![0; total];
        let mut moved = weights.map(|_| vec![0.0; total]);
        for (i, (row, other)) in edges.enumerate() {
            ticker.tick(1)?;
            let slot = &mut next[row as usize];
            targets[*slot as usize] = other;
            if let (Some(out), Some(all)) = (&mut moved, weights) {
                out[*slot as usize] = all[i];
            }
            *slot += 1;
        }
        Ok(Self::from_parts(offsets, targets, moved))
    }
}

/// Builds a weighted graph row by row. The caller is responsible for the invariants of [`Csr`].
pub(crate) struct Rows {
    offsets: Vec<u64>,
    targets: Vec<u32>,
    weights: Vec<f64>,
}

impl Rows {
    /// Allocates space for `edges_max` edges: growing would copy everything, which cannot be
    /// cancelled.
    pub(crate) fn new(vertices: usize, edges_max: usize) -> Self {
        let mut offsets = Vec::with_capacity(vertices + 1);
        offsets.push(0);
        let targets = Vec::with_capacity(edges_max);
        Self { offsets, targets, weights: Vec::with_capacity(edges_max) }
    }

    /// Appends the row of the next vertex: pairs of target and weight, in ascending order of
    /// targets.
    pub(crate) fn push(&mut self, row: impl Iterator<Item = (u32, f64)>) {
        for (target, weight) in row {
            self.targets.push(target);
            self.weights.push(weight);
        }
        self.offsets.push(self.targets.len() as u64);
    }

    pub(crate) fn graph(self) -> Csr {
        Csr::from_parts(self.offsets, self.targets, Some(self.weights))
    }
}

/// Checks the conditions of [`Csr::from_edges`]. Returns whether the edges are sorted.
fn check_columns(
    vertices: usize,
    sources: &[u32],
    targets: &[u32],
    weights: Option<&[f64]>,
    ticker: &mut Ticker<'_>,
) -> Result<bool, Error> {
    if vertices > NO_VERTEX as usize {
        return Err(Error::TooManyVertices { vertices });
    }
    let weights_len = weights.map(<[f64]>::len);
    if sources.len() != targets.len() || weights_len.is_some_and(|n| n != sources.len()) {
        return Err(Error::UnequalColumns {
            sources: sources.len(),
            targets: targets.len(),
            weights: weights_len,
        });
    }
    let mut sorted = true;
    let mut last = (0, 0);
    for (row, (&source, &target)) in sources.iter().zip(targets).enumerate() {
        let vertex = source.max(target);
        if vertex as usize >= vertices {
            return Err(Error::VertexOutOfRange { row, vertex, vertices });
        }
        sorted &= last <= (source, target);
        last = (source, target);
        ticker.tick(1)?;
    }
    for (row, &weight) in weights.unwrap_or_default().iter().enumerate() {
        if !weight.is_finite() {
            return Err(Error::WeightNotFinite {
                source: sources[row],
                target: targets[row],
                weight,
            });
        }
        ticker.tick(1)?;
    }
    Ok(sorted)
}

/// Copies a column in parts, because copying a hundred million edges must be cancellable.
fn copy<T: Copy>(column: &[T], ticker: &mut Ticker<'_>) -> Result<Vec<T>, Stopped> {
    let mut copied = Vec::with_capacity(column.len());
    for part in column.chunks(STRIDE) {
        copied.extend_from_slice(part);
        ticker.tick(part.len())?;
    }
    Ok(copied)
}

/// Offsets of the rows, if row `v` gets one entry for each `v` in `rows`.
fn count(vertices: usize, rows: &[u32], ticker: &mut Ticker<'_>) -> Result<Vec<u64>, Stopped> {
    let mut offsets = vec![0; vertices + 1];
    for part in rows.chunks(STRIDE) {
        for &row in part {
            offsets[row as usize + 1] += 1;
        }
        ticker.tick(part.len())?;
    }
    sum_up(&mut offsets);
    Ok(offsets)
}

/// Replaces each count by the sum of all counts up to it.
pub(crate) fn sum_up(counts: &mut [u64]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, edges, go};

    /// All edges in the order of the rows.
    fn rows(graph: &Csr) -> Vec<(u32, u32, f64)> {
        (0..graph.vertices())
            .flat_map(|v| graph.weighted(v).map(move |(to, w)| (v, to, w)))
            .collect()
    }

    #[test]
    fn an_undirected_graph_has_each_self_loop_once() {
        let directed = crate::testing::graph(3, "0-0:2 0-1:3 1-0:4 1-2:5");
        let both = directed.undirected(&go).unwrap();
        assert_eq!(both.weighted(0).collect::<Vec<_>>(), [(0, 2.0), (1, 3.0), (1, 4.0)]);
        assert_eq!(both.weighted(2).collect::<Vec<_>>(), [(1, 5.0)]);
        assert_eq!(directed.symmetric(&go).unwrap().edges(), both.edges() + 1);
        let simple = directed.simple_undirected(&go).unwrap();
        assert_eq!(
            (0..3).map(|v| simple.neighbors(v).to_vec()).collect::<Vec<_>>(),
            [vec![1], vec![0, 2], vec![1]]
        );
    }

    #[test]
    fn no_vertices_make_a_graph() {
        let graph = Csr::from_edges(0, &[], &[], None, &go).unwrap();
        assert_eq!((graph.vertices(), graph.edges()), (0, 0));
        assert_eq!(graph, Csr::default());
        assert_eq!(graph.symmetric(&go).unwrap(), graph);
    }

    #[test]
    fn a_vertex_that_is_not_there_has_no_neighbours() {
        let graph = Csr::from_edges(2, &[0], &[1], Some(&[2.5]), &go).unwrap();
        assert_eq!(graph.neighbors(2), []);
        assert_eq!(graph.neighbors(u32::MAX), []);
        assert_eq!(graph.weighted(u32::MAX).count(), 0);
        assert_eq!(graph.weighted(0).collect::<Vec<_>>(), [(1, 2.5)]);
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let make = |vertices, sources: &[u32], targets: &[u32], weights: Option<&[f64]>| {
            Csr::from_edges(vertices, sources, targets, weights, &go).map(|_| ()).unwrap_err()
        };
        assert_eq!(
            make(u32::MAX as usize + 1, &[], &[], None),
            Error::TooManyVertices { vertices: 1 << 32 }
        );
        assert_eq!(
            make(3, &[0, 1], &[1, 3], None),
            Error::VertexOutOfRange { row: 1, vertex: 3, vertices: 3 }
        );
        assert_eq!(
            make(3, &[0, 1], &[1], Some(&[1.0])),
            Error::UnequalColumns { sources: 2, targets: 1, weights: Some(1) }
        );
        let infinite = make(3, &[0, 1], &[1, 2], Some(&[1.0, f64::INFINITY]));
        assert_eq!(
            infinite,
            Error::WeightNotFinite { source: 1, target: 2, weight: f64::INFINITY }
        );
        let nan = make(3, &[0, 1], &[1, 2], Some(&[f64::NAN, 1.0]));
        assert!(nan.to_string().contains("from 0 to 1 has weight NaN"), "{nan}");
    }

    #[test]
    fn both_directions_hold_self_loops_twice() {
        let graph = Csr::from_edges(3, &[0, 1, 1], &[1, 0, 1], None, &go).unwrap();
        let both = graph.symmetric(&go).unwrap();
        assert_eq!(both.neighbors(0), [1, 1]);
        assert_eq!(both.neighbors(1), [0, 0, 1, 1]);
        assert_eq!(both.neighbors(2), []);
    }

    #[test]
    fn vertices_are_met_along_the_edges() {
        let graph = Csr::from_edges(5, &[2, 4, 4], &[3, 0, 2], None, &go).unwrap();
        assert_eq!(graph.scan_order(&go).unwrap(), [2, 3, 4, 0, 1]);
    }

    #[test]
    fn a_stopped_graph_is_none() {
        assert_eq!(Csr::from_edges(1, &[0], &[0], None, &|| false), Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn rows_are_the_edges_stably_sorted(Edges { vertices, mut list } in edges()) {
            let graph = Edges { vertices, list: list.clone() }.graph();
            list.sort_by_key(|&(from, to, _)| (from, to));
            prop_assert_eq!(rows(&graph), list.clone());
            let sorted = Edges { vertices, list }.graph();
            prop_assert_eq!(graph, sorted);
        }

        #[test]
        fn reversed_edges_are_turned_around(edges in edges()) {
            let graph = edges.graph();
            let reverse = graph.reverse(&go).unwrap();
            let mut want: Vec<_> = rows(&graph).into_iter().map(|(from, to, w)| (to, from, w)).collect();
            want.sort_by_key(|&(from, to, _)| (from, to));
            prop_assert_eq!(rows(&reverse), want);
            prop_assert_eq!(reverse.reverse(&go).unwrap(), graph);
        }

        #[test]
        fn both_directions_are_the_edges_and_their_reverse(edges in edges()) {
            let graph = edges.graph();
            let mut want = rows(&graph);
            want.extend(rows(&graph.reverse(&go).unwrap()));
            want.sort_by_key(|&(from, to, _)| (from, to));
            prop_assert_eq!(rows(&graph.symmetric(&go).unwrap()), want);
        }

        #[test]
        fn a_renumbered_graph_has_the_same_edges(edges in edges()) {
            let graph = edges.graph();
            let order = graph.scan_order(&go).unwrap();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..graph.vertices()).collect::<Vec<_>>());
            let renumbered = graph.renumbered(&order, &mut Ticker::new(&go).unwrap()).unwrap();
            let mut back: Vec<_> = rows(&renumbered)
                .into_iter()
                .map(|(from, to, w)| (order[from as usize], order[to as usize], w))
                .collect();
            back.sort_by_key(|&(from, to, _)| (from, to));
            prop_assert_eq!(back, rows(&graph));
            prop_assert!((0..renumbered.vertices()).all(|v| renumbered.neighbors(v).is_sorted()));
        }
    }
}
