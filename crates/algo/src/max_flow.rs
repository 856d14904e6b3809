//! Maximum flow from a source to a sink, and a minimum cut between them.
//!
//! Goldberg and Tarjan, "A new approach to the maximum-flow problem" (1988): push and relabel, the
//! highest vertices first. Heights are corrected by searches back from the target (global
//! relabeling), and vertices above a height without vertices are set aside (gap relabeling), as in
//! Cherkassky and Goldberg, "On implementing the push-relabel method" (1997).
//!
//! # Why there are two runs
//! The first moves as much as possible to the sink, which gives the value and the cut. What could
//! not get there is moved back to the source by a second run, with the source as its target.
//!
//! # Why floats are safe
//! A push empties either a vertex or an arc exactly, so the number of pushes does not depend on
//! rounding. Only sums at vertices are rounded.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker};

/// Heights are corrected after as many steps as the network has vertices, times this, and arcs.
const STEPS_PER_VERTEX: usize = 12;

/// Steps that a relabeling counts besides the arcs that it reads.
const RELABEL_STEPS: usize = 12;

/// A number that capacities may have: `f64` or `i64`.
pub trait Capacity: Copy + PartialOrd + Send + Sync + private::Sealed {
    /// No capacity.
    const ZERO: Self;

    /// The value as a float, for messages.
    fn as_f64(self) -> f64;

    /// The sum, if the type can represent it.
    fn checked_add(self, other: Self) -> Option<Self>;

    /// The difference; `other` is not greater.
    fn minus(self, other: Self) -> Self;

    /// Whether it is unlimited.
    fn is_infinite(self) -> bool;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for i64 {}
}

impl Capacity for f64 {
    const ZERO: Self = 0.0;

    fn as_f64(self) -> f64 {
        self
    }

    fn checked_add(self, other: Self) -> Option<Self> {
        Some(self + other).filter(|sum| sum.is_finite())
    }

    fn minus(self, other: Self) -> Self {
        self - other
    }

    fn is_infinite(self) -> bool {
        self == f64::INFINITY
    }
}

impl Capacity for i64 {
    const ZERO: Self = 0;

    fn as_f64(self) -> f64 {
        self as f64
    }

    fn checked_add(self, other: Self) -> Option<Self> {
        i64::checked_add(self, other)
    }

    fn minus(self, other: Self) -> Self {
        self - other
    }

    fn is_infinite(self) -> bool {
        false
    }
}

/// A maximum flow with a minimum cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaxFlow<C> {
    /// The flow from the source to the sink, which is the capacity of the cut.
    pub value: C,
    /// The flow along each edge, in the order of [`Csr::targets`].
    pub flows: Vec<C>,
    /// For each vertex, whether it is on the source's side of the cut. The sink's side is the
    /// smallest possible: the vertices from which more could flow to the sink. It is NetworkX's.
    pub is_source_side: Vec<bool>,
}

/// Finds a maximum flow in a directed graph. `capacities` has one for each edge, in the order of
/// [`Csr::targets`]; floats may be infinite.
///
/// An undirected edge is two edges; both may have a flow, whose difference counts. Self-loops have
/// no flow.
///
/// Memory: about sixty bytes per edge and forty per vertex.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::SourceIsSink`], [`Error::UnequalColumns`],
/// [`Error::NegativeWeight`], [`Error::WeightNotFinite`] for NaN, [`Error::UnboundedFlow`] if a
/// path of infinite capacities leads to the sink or capacities add up to more than their type can
/// represent, [`Error::Stopped`].
pub fn max_flow<C: Capacity>(
    graph: &Csr,
    capacities: &[C],
    source: u32,
    sink: u32,
    limits: &dyn Limits,
) -> Result<MaxFlow<C>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    check(graph, capacities, source, sink, ticker)?;
    let (mut network, arcs) = Network::new(graph, capacities, ticker)?;
    let mut preflow = Preflow::new(graph.vertices());
    preflow.leave_source(&mut network, capacities, source)?;
    preflow.run(&mut network, sink, ticker)?;
    // Heights only bound the number of arcs to the sink from below.
    preflow.correct_heights(&network, sink, ticker)?;
    let is_source_side = preflow.heights.iter().map(|&height| height == NO_VERTEX).collect();
    let value = std::mem::replace(&mut preflow.excess[sink as usize], C::ZERO);
    preflow.run(&mut network, source, ticker)?;
    let flow =
        |arc: usize| if arc == usize::MAX { C::ZERO } else { network.residual[network.pairs[arc]] };
    Ok(MaxFlow { value, flows: arcs.into_iter().map(flow).collect(), is_source_side })
}

fn check<C: Capacity>(
    graph: &Csr,
    capacities: &[C],
    source: u32,
    sink: u32,
    ticker: &mut Ticker<'_>,
) -> Result<(), Error> {
    refuse_unknown(&[source, sink], graph.vertices())?;
    if source == sink {
        return Err(Error::SourceIsSink { vertex: source });
    }
    let edges = graph.targets().len();
    if capacities.len() != edges {
        let weights = Some(capacities.len());
        return Err(Error::UnequalColumns { sources: edges, targets: edges, weights });
    }
    for v in 0..graph.vertices() {
        ticker.tick(1)?;
        for i in graph.row(v) {
            ticker.tick(1)?;
            let (target, weight) = (graph.targets()[i], capacities[i].as_f64());
            if weight < 0.0 {
                return Err(Error::NegativeWeight { source: v, target, weight });
            }
            if weight.is_nan() {
                return Err(Error::WeightNotFinite { source: v, target, weight });
            }
        }
    }
    let mut is_reached = vec![false; graph.vertices() as usize];
    let mut stack = vec![source];
    while let Some(v) = stack.pop() {
        for i in graph.row(v).filter(|&i| capacities[i].is_infinite()) {
            ticker.tick(1)?;
            let to = graph.targets()[i];
            if !std::mem::replace(&mut is_reached[to as usize], true) {
                stack.push(to);
            }
        }
    }
    if is_reached[sink as usize] { Err(Error::UnboundedFlow) } else { Ok(()) }
}

/// Arcs in both directions for each edge: the residual network.
struct Network<C> {
    /// Arcs of vertex `v` are at `starts[v]..starts[v + 1]`.
    starts: Vec<usize>,
    heads: Vec<u32>,
    /// The arc in the other direction.
    pairs: Vec<usize>,
    residual: Vec<C>,
}

impl<C: Capacity> Network<C> {
    /// The network, and the arc of each edge, `usize::MAX` for self-loops.
    fn new(
        graph: &Csr,
        capacities: &[C],
        ticker: &mut Ticker<'_>,
    ) -> Result<(Self, Vec<usize>), Stopped> {
        let n = graph.vertices() as usize;
        let mut starts = vec![0_usize; n + 1];
        let edges = || (0..graph.vertices()).flat_map(|v| graph.row(v).map(move |i| (v, i)));
        let edges = || edges().map(|(v, i)| (v, graph.targets()[i], i)).filter(|e| e.0 != e.1);
        for (from, to, _) in edges() {
            ticker.tick(1)?;
            starts[from as usize + 1] += 1;
            starts[to as usize + 1] += 1;
        }
        for v in 0..n {
            starts[v + 1] += starts[v];
        }
        let total = starts[n];
        let mut next = starts.clone();
        let mut network = Self {
            starts,
            heads: vec![0; total],
            pairs: vec![0; total],
            residual: vec![C::ZERO; total],
        };
        let mut arcs = vec![usize::MAX; capacities.len()];
        for (from, to, i) in edges() {
            ticker.tick(1)?;
            let (there, back) = (next[from as usize], next[to as usize]);
            next[from as usize] += 1;
            next[to as usize] += 1;
            (network.heads[there], network.heads[back]) = (to, from);
            (network.pairs[there], network.pairs[back]) = (back, there);
            network.residual[there] = capacities[i];
            arcs[i] = there;
        }
        Ok((network, arcs))
    }
}

/// A flow that may have more entering a vertex than leaving it.
///
/// # Invariants of a run
/// 1. A vertex with a height is linked in the list of that height; [`NO_VERTEX`] is the height of
///    vertices that do not reach the target.
/// 2. An arc with residual capacity leads down by at most one.
struct Preflow<C> {
    excess: Vec<C>,
    heights: Vec<u32>,
    /// The next arc of each vertex to push along.
    current: Vec<usize>,
    /// First vertex of each height, and the neighbors of each vertex in its list.
    layers: Vec<u32>,
    after: Vec<u32>,
    before: Vec<u32>,
    /// First vertex of each height that has an excess, and the next one of each vertex. A vertex
    /// whose height has changed since is skipped.
    active: Vec<u32>,
    active_after: Vec<u32>,
    highest_active: usize,
    highest: usize,
    /// Steps since heights were corrected.
    steps: usize,
}

impl<C: Capacity> Preflow<C> {
    fn new(vertices: u32) -> Self {
        let n = vertices as usize;
        Self {
            excess: vec![C::ZERO; n],
            heights: vec![NO_VERTEX; n],
            current: vec![0; n],
            layers: vec![NO_VERTEX; n],
            after: vec![NO_VERTEX; n],
            before: vec![NO_VERTEX; n],
            active: vec![NO_VERTEX; n],
            active_after: vec![NO_VERTEX; n],
            highest_active: 0,
            highest: 0,
            steps: 0,
        }
    }

    /// Fills all arcs of the source. Instead of an infinite capacity, the sum of all others is
    /// taken, which no flow exceeds.
    fn leave_source(
        &mut self,
        network: &mut Network<C>,
        capacities: &[C],
        source: u32,
    ) -> Result<(), Error> {
        let row = network.starts[source as usize]..network.starts[source as usize + 1];
        let finite = if network.residual[row.clone()].iter().any(|c| c.is_infinite()) {
            let mut all = capacities.iter().filter(|capacity| !capacity.is_infinite());
            let sum = all.try_fold(C::ZERO, |sum, &capacity| sum.checked_add(capacity));
            sum.ok_or(Error::UnboundedFlow)?
        } else {
            C::ZERO
        };
        let mut total = C::ZERO;
        for arc in row {
            let pair = network.pairs[arc];
            let infinite = network.residual[arc].is_infinite();
            let amount = if infinite { finite } else { network.residual[arc] };
            total = total.checked_add(amount).ok_or(Error::UnboundedFlow)?;
            let to = network.heads[arc] as usize;
            network.residual[arc] = C::ZERO;
            let returned = network.residual[pair].checked_add(amount);
            network.residual[pair] = returned.ok_or(Error::UnboundedFlow)?;
            let excess = self.excess[to].checked_add(amount);
            self.excess[to] = excess.ok_or(Error::UnboundedFlow)?;
        }
        Ok(())
    }

    /// Moves the excess of all vertices to `target`, as far as possible.
    fn run(
        &mut self,
        network: &mut Network<C>,
        target: u32,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let steps_max = STEPS_PER_VERTEX * self.heights.len() + network.heads.len();
        self.correct_heights(network, target, ticker)?;
        loop {
            if self.steps > steps_max {
                self.correct_heights(network, target, ticker)?;
            }
            let Some(v) = self.pop_highest() else { break };
            self.discharge(network, v, target, ticker)?;
        }
        Ok(())
    }

    /// Sets each height to the number of arcs to the target, and lists vertices anew.
    fn correct_heights(
        &mut self,
        network: &Network<C>,
        target: u32,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        for list in [&mut self.heights, &mut self.layers, &mut self.active] {
            list.fill(NO_VERTEX);
        }
        (self.highest, self.highest_active, self.steps) = (0, 0, 0);
        self.heights[target as usize] = 0;
        let mut queue = vec![target];
        let mut first = 0;
        while let Some(&v) = queue.get(first) {
            ticker.tick(1)?;
            first += 1;
            for arc in network.starts[v as usize]..network.starts[v as usize + 1] {
                ticker.tick(1)?;
                let from = network.heads[arc];
                let is_open = network.residual[network.pairs[arc]] > C::ZERO;
                if !is_open || self.heights[from as usize] != NO_VERTEX {
                    continue;
                }
                self.current[from as usize] = network.starts[from as usize];
                self.link(from, self.heights[v as usize] + 1);
                if self.excess[from as usize] > C::ZERO {
                    self.activate(from);
                }
                queue.push(from);
            }
        }
        Ok(())
    }

    /// Gives a vertex a height.
    fn link(&mut self, v: u32, height: u32) {
        self.heights[v as usize] = height;
        let first = std::mem::replace(&mut self.layers[height as usize], v);
        self.after[v as usize] = first;
        self.before[v as usize] = NO_VERTEX;
        if first != NO_VERTEX {
            self.before[first as usize] = v;
        }
        self.highest = self.highest.max(height as usize);
    }

    /// Takes a vertex out of the list of its height.
    fn unlink(&mut self, v: u32) {
        let (before, after) = (self.before[v as usize], self.after[v as usize]);
        if before == NO_VERTEX {
            self.layers[self.heights[v as usize] as usize] = after;
        } else {
            self.after[before as usize] = after;
        }
        if after != NO_VERTEX {
            self.before[after as usize] = before;
        }
        self.heights[v as usize] = NO_VERTEX;
    }

    fn activate(&mut self, v: u32) {
        let height = self.heights[v as usize] as usize;
        self.active_after[v as usize] = std::mem::replace(&mut self.active[height], v);
        self.highest_active = self.highest_active.max(height);
    }

    fn pop_highest(&mut self) -> Option<u32> {
        loop {
            let height = self.highest_active;
            match self.active.get(height).copied() {
                Some(NO_VERTEX) | None => self.highest_active = height.checked_sub(1)?,
                Some(v) => {
                    self.active[height] = self.active_after[v as usize];
                    if self.heights[v as usize] as usize == height {
                        return Some(v);
                    }
                }
            }
        }
    }

    /// Pushes the excess of `v` down until it has none, or no way to the target.
    fn discharge(
        &mut self,
        network: &mut Network<C>,
        v: u32,
        target: u32,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let end = network.starts[v as usize + 1];
        loop {
            for arc in self.current[v as usize]..end {
                ticker.tick(1)?;
                let (residual, to) = (network.residual[arc], network.heads[arc] as usize);
                let height = self.heights[to];
                let is_down = height != NO_VERTEX && self.heights[v as usize] == height + 1;
                if !(is_down && residual > C::ZERO) {
                    continue;
                }
                let excess = self.excess[v as usize];
                let amount = if excess < residual { excess } else { residual };
                let pair = network.pairs[arc];
                network.residual[arc] = residual.minus(amount);
                network.residual[pair] = plus(network.residual[pair], amount);
                if self.excess[to] == C::ZERO && to != target as usize {
                    self.activate(to as u32);
                }
                self.excess[to] = plus(self.excess[to], amount);
                self.excess[v as usize] = excess.minus(amount);
                if self.excess[v as usize] == C::ZERO {
                    self.current[v as usize] = arc;
                    return Ok(());
                }
            }
            if !self.lift(network, v, ticker)? {
                return Ok(());
            }
        }
    }

    /// Lifts a vertex just above the lowest vertex that it has an open arc to. Returns whether it
    /// may still reach the target.
    fn lift(
        &mut self,
        network: &Network<C>,
        v: u32,
        ticker: &mut Ticker<'_>,
    ) -> Result<bool, Stopped> {
        let row = network.starts[v as usize]..network.starts[v as usize + 1];
        self.steps += row.len() + RELABEL_STEPS;
        let old = self.heights[v as usize];
        self.unlink(v);
        if self.layers[old as usize] == NO_VERTEX {
            // No arc leads down over the gap, so the levels above do not reach the target.
            for height in old as usize + 1..=self.highest {
                while self.layers[height] != NO_VERTEX {
                    ticker.tick(1)?;
                    self.unlink(self.layers[height]);
                }
            }
            self.highest = (old as usize).saturating_sub(1);
            return Ok(false);
        }
        let mut lowest = NO_VERTEX;
        for arc in row {
            ticker.tick(1)?;
            let height = self.heights[network.heads[arc] as usize];
            if network.residual[arc] > C::ZERO && height < lowest {
                lowest = height;
                self.current[v as usize] = arc;
            }
        }
        let can_reach = (lowest as usize) < self.heights.len() - 1;
        if can_reach {
            self.link(v, lowest + 1);
        }
        Ok(can_reach)
    }
}

/// The sum of two amounts that are parts of a sum that was checked.
fn plus<C: Capacity>(a: C, b: C) -> C {
    a.checked_add(b).unwrap_or(a)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, edges, go, graph, random_graph, stop_after};

    fn of_weights(graph: &Csr, source: u32, sink: u32) -> Result<MaxFlow<f64>, Error> {
        max_flow(graph, graph.weights().unwrap(), source, sink, &go)
    }

    /// The example of NetworkX's `maximum_flow`: x a 3, x b 1, a c 3, b c 5, b d 4, d e 2, c y 2,
    /// e y 3.
    #[test]
    fn the_example_of_networkx_has_a_flow_of_three() {
        let graph = graph(7, "0-1:3 0-2:1 1-3:3 2-3:5 2-4:4 4-5:2 3-6:2 5-6:3");
        let found = of_weights(&graph, 0, 6).unwrap();
        assert_eq!(found.value, 3.0);
        assert_eq!(found.flows, [2.0, 1.0, 2.0, 0.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(found.is_source_side, [true, true, false, true, false, false, false]);
        let whole: Vec<i64> = graph.weights().unwrap().iter().map(|&c| c as i64).collect();
        assert_eq!(max_flow(&graph, &whole, 0, 6, &go).unwrap().value, 3);
    }

    #[test]
    fn an_infinite_capacity_is_allowed_where_the_flow_is_bounded() {
        let graph = graph(4, "0-1 1-2 2-3 1-3");
        let capacities = [f64::INFINITY, 2.0, 0.1, f64::INFINITY];
        let found = max_flow(&graph, &capacities, 0, 3, &go).unwrap();
        assert_eq!(found.value, 2.1);
        let unbounded = [f64::INFINITY, 2.0, f64::INFINITY, 1.0];
        assert_eq!(max_flow(&graph, &unbounded, 0, 3, &go), Err(Error::UnboundedFlow));
        let large = [i64::MAX; 4];
        assert_eq!(max_flow(&graph, &large, 0, 3, &go).unwrap().value, i64::MAX);
        assert_eq!(max_flow(&graph, &large, 1, 3, &go), Err(Error::UnboundedFlow));
    }

    #[test]
    fn what_has_no_flow_is_refused() {
        let graph = graph(2, "0-1:-1");
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        assert_eq!(of_weights(&graph, 0, 1), Err(negative));
        assert_eq!(of_weights(&graph, 1, 1), Err(Error::SourceIsSink { vertex: 1 }));
        let unknown = Error::UnknownVertex { vertex: 2, vertices: 2 };
        assert_eq!(of_weights(&graph, 0, 2), Err(unknown));
        let unequal = Error::UnequalColumns { sources: 1, targets: 1, weights: Some(0) };
        assert_eq!(max_flow::<i64>(&graph, &[], 0, 1, &go), Err(unequal));
        let large = random_graph(3000, 200_000, 1);
        let ones = vec![1_i64; 200_000];
        assert_eq!(max_flow(&large, &ones, 0, 1, &stop_after(7)), Err(Error::Stopped));
    }

    /// The value by augmenting paths (Ford and Fulkerson) on a matrix, and the vertices from which
    /// the sink is reached afterwards.
    fn model(edges: &Edges, source: usize, sink: usize) -> (f64, Vec<bool>) {
        let n = edges.vertices as usize;
        let mut left = vec![vec![0.0; n]; n];
        edges.list.iter().for_each(|e| left[e.0 as usize][e.1 as usize] += e.2);
        let mut value = 0.0;
        loop {
            let mut parents = vec![None; n];
            let mut stack = vec![source];
            while let Some(v) = stack.pop() {
                for to in (0..n).filter(|&to| left[v][to] > 0.0) {
                    if parents[to].is_none() && to != source {
                        parents[to] = Some(v);
                        stack.push(to);
                    }
                }
            }
            if parents[sink].is_none() {
                break;
            }
            let mut v = sink;
            while v != source {
                let from = parents[v].unwrap();
                left[from][v] -= 1.0;
                left[v][from] += 1.0;
                v = from;
            }
            value += 1.0;
        }
        let mut reaches = vec![false; n];
        reaches[sink] = true;
        for _ in 0..n {
            for v in 0..n {
                reaches[v] |= (0..n).any(|to| left[v][to] > 0.0 && reaches[to]);
            }
        }
        (value, reaches)
    }

    fn check_flow(graph: &Csr, found: &MaxFlow<f64>, source: u32, sink: u32, slack: f64) {
        let n = graph.vertices() as usize;
        let mut sums = vec![0.0; n];
        let mut cut = 0.0;
        for v in 0..graph.vertices() {
            for (i, (to, capacity)) in graph.row(v).zip(graph.weighted(v)) {
                let flow = found.flows[i];
                assert!(flow >= 0.0 && flow <= capacity + slack, "{flow} {capacity}");
                sums[v as usize] -= flow;
                sums[to as usize] += flow;
                if found.is_source_side[v as usize] && !found.is_source_side[to as usize] {
                    cut += capacity;
                }
            }
        }
        for v in (0..n).filter(|&v| v != source as usize && v != sink as usize) {
            assert!(f64::abs(sums[v]) <= slack, "{v} {sums:?}");
        }
        assert!((sums[sink as usize] - found.value).abs() <= slack);
        assert!((cut - found.value).abs() <= slack, "{cut} {}", found.value);
    }

    #[test]
    fn fractions_of_a_large_graph_make_a_flow() {
        let graph = random_graph(400, 6000, 5);
        let weights: Vec<f64> = (0..6000).map(|i| f64::from(i * 7919 % 1000) / 30.0).collect();
        let graph =
            Csr::from_parts(graph.offsets().to_vec(), graph.targets().to_vec(), Some(weights));
        for (source, sink) in [(0, 399), (399, 0), (3, 200)] {
            let found = of_weights(&graph, source, sink).unwrap();
            assert!(found.value > 0.0);
            check_flow(&graph, &found, source, sink, 1e-9);
        }
    }

    proptest! {
        #[test]
        fn flows_are_as_large_as_augmenting_paths_make_them(edges in edges()) {
            prop_assume!(edges.vertices > 1);
            let graph = edges.graph();
            let sink = edges.vertices - 1;
            let found = of_weights(&graph, 0, sink).unwrap();
            let (value, reaches) = model(&edges, 0, sink as usize);
            prop_assert_eq!(found.value, value);
            let sides: Vec<bool> = reaches.iter().map(|reaches| !reaches).collect();
            prop_assert_eq!(&found.is_source_side, &sides);
            check_flow(&graph, &found, 0, sink, 0.0);
            let whole: Vec<i64> = graph.weights().unwrap().iter().map(|&c| c as i64).collect();
            let found = max_flow(&graph, &whole, 0, sink, &go).unwrap();
            prop_assert_eq!((found.value as f64, found.is_source_side), (value, sides));
        }
    }
}
