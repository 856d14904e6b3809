//! Communities by the Louvain method: vertices that have more edges among themselves than chance
//! would give.
//!
//! Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of communities in large networks"
//! (2008), with the modularity of directed graphs (Leicht and Newman, 2008), as CozoDB has it.
//! Vertices move one after the other into the community of a vertex that they point to, as long as
//! that raises the modularity; then each community becomes a vertex, and the same begins anew.
//!
//! The order in which vertices move, and so the result, is CozoDB's; but sums are kept for each
//! community instead of being made again for each question, so a round is linear in the edges.

use crate::csr::Rows;
use crate::nearest::refuse_negative;
use crate::watch::Ticker;
use crate::{Csr, Error, Stopped, Watch};

/// The knobs; the defaults are CozoDB's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Rounds of moves at most, on each level.
    pub max_iter: u32,
    /// A level ends when a round raised the modularity by no more than this.
    pub delta: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_iter: 10, delta: 1e-4 }
    }
}

/// Communities within communities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Communities {
    levels: Vec<Vec<u32>>,
}

impl Communities {
    /// The community of each vertex on each level, the finest level first. There is no level where
    /// nothing could be joined. On each level communities are numbered from 0.
    pub fn levels(&self) -> &[Vec<u32>] {
        &self.levels
    }

    /// The communities of a vertex, the largest first: what CozoDB gives as its labels.
    pub fn labels(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        self.levels.iter().rev().filter_map(move |level| level.get(v as usize).copied())
    }
}

/// Finds communities in a directed graph, or, if `undirected`, in its [`Csr::symmetric`].
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn louvain(
    graph: &Csr,
    undirected: bool,
    options: Options,
    watch: &dyn Watch,
) -> Result<Communities, Error> {
    let ticker = &mut Ticker::new(watch)?;
    refuse_negative(graph, ticker)?;
    let order = graph.order_met(watch)?;
    let mut current = if undirected {
        graph.symmetric(watch)?.renumbered(&order, ticker)?
    } else {
        graph.renumbered(&order, ticker)?
    };
    let mut communities = Communities::default();
    // Where each vertex, in the order of moving, is on the level at hand.
    let mut place: Vec<u32> = (0..current.vertices()).collect();
    while current.vertices() > 2 {
        let back = if undirected { None } else { Some(current.reverse(watch)?) };
        let mut level = Level::new(&current, back, ticker)?;
        level.settle(options, ticker)?;
        let joined = level.joined(ticker)?;
        if joined.vertices() == current.vertices() {
            break;
        }
        place.iter_mut().for_each(|place| *place = level.community[*place as usize]);
        let mut labels = vec![0; order.len()];
        for (&v, &community) in order.iter().zip(&place) {
            labels[v as usize] = community;
        }
        communities.levels.push(labels);
        current = joined;
    }
    Ok(communities)
}

/// Weights that leave and enter.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    leaving: f64,
    entering: f64,
}

/// One level: a graph and which of its vertices are together.
struct Level<'a> {
    graph: &'a Csr,
    /// The edges turned around, unless they are the same.
    back: Option<Csr>,
    community: Vec<u32>,
    /// Of each vertex.
    flow: Vec<Flow>,
    /// Of each community: the sum over its members.
    sums: Vec<Flow>,
    total: f64,
    /// Weights between the vertex at hand and each community, both directions; zero between
    /// questions.
    between: Vec<f64>,
    /// The communities that have such weights.
    met: Vec<u32>,
}

/// Counts a weight towards a community. One that has met only weights of zero may be met again.
#[inline]
fn meet(community: u32, weight: f64, between: &mut [f64], met: &mut Vec<u32>) {
    let sum = &mut between[community as usize];
    if *sum == 0.0 {
        met.push(community);
    }
    *sum += weight;
}

impl<'a> Level<'a> {
    fn new(graph: &'a Csr, back: Option<Csr>, ticker: &mut Ticker<'_>) -> Result<Self, Stopped> {
        let mut flow = vec![Flow::default(); graph.vertices() as usize];
        let mut total = 0.0;
        for v in 0..graph.vertices() {
            for (to, weight) in graph.weighted(v) {
                ticker.tick(1)?;
                total += weight;
                flow[v as usize].leaving += weight;
                flow[to as usize].entering += weight;
            }
        }
        Ok(Self {
            graph,
            back,
            community: (0..graph.vertices()).collect(),
            sums: flow.clone(),
            between: vec![0.0; flow.len()],
            met: Vec::new(),
            flow,
            total,
        })
    }

    /// Moves vertices until that gains no more.
    fn settle(&mut self, options: Options, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let mut last = f64::NEG_INFINITY;
        for _ in 0..options.max_iter {
            let modularity = self.modularity(ticker)?;
            // So written, what is no number ends the rounds too: a graph that weighs nothing.
            let gained = modularity > last + options.delta;
            if !gained {
                break;
            }
            last = modularity;
            let mut moved = false;
            for v in 0..self.graph.vertices() {
                moved |= self.consider(v, ticker)?;
            }
            if !moved {
                break;
            }
        }
        Ok(())
    }

    fn modularity(&self, ticker: &mut Ticker<'_>) -> Result<f64, Stopped> {
        let mut inside = 0.0;
        for v in 0..self.graph.vertices() {
            for (to, weight) in self.graph.weighted(v) {
                ticker.tick(1)?;
                if self.community[v as usize] == self.community[to as usize] {
                    inside += weight;
                }
            }
        }
        let by_chance: f64 = self.sums.iter().map(|sum| sum.leaving * sum.entering).sum();
        Ok((inside * self.total - by_chance) / (self.total * self.total))
    }

    /// Moves `v` to where it gains most, if it gains at all.
    fn consider(&mut self, v: u32, ticker: &mut Ticker<'_>) -> Result<bool, Stopped> {
        let home = self.community[v as usize];
        let flow = self.flow[v as usize];
        // Without edges of their own, those that enter weigh as much as those that leave.
        let times = if self.back.is_none() { 2.0 } else { 1.0 };
        for (to, weight) in self.graph.weighted(v).filter(|&(to, _)| to != v) {
            ticker.tick(1)?;
            meet(self.community[to as usize], weight * times, &mut self.between, &mut self.met);
        }
        let candidates = self.met.len();
        let entering = self.back.iter().flat_map(|back| back.weighted(v));
        for (from, weight) in entering.filter(|&(from, _)| from != v) {
            ticker.tick(1)?;
            meet(self.community[from as usize], weight, &mut self.between, &mut self.met);
        }
        self.sums[home as usize].leaving -= flow.leaving;
        self.sums[home as usize].entering -= flow.entering;
        let at_home = self.gain(flow, home);
        let (mut best, mut best_gain) = (home, 0.0);
        for &community in &self.met[..candidates] {
            ticker.tick(1)?;
            let gain = self.gain(flow, community) - at_home;
            if community != home && gain > best_gain {
                (best, best_gain) = (community, gain);
            }
        }
        self.sums[best as usize].leaving += flow.leaving;
        self.sums[best as usize].entering += flow.entering;
        self.community[v as usize] = best;
        for community in self.met.drain(..) {
            self.between[community as usize] = 0.0;
        }
        Ok(best != home)
    }

    /// What a vertex of `flow` adds by being in `community`, which it is not counted in; times the
    /// total weight. Without the division, whole weights give whole gains: ties are exact, and
    /// nothing moves for the sake of a rounding error.
    fn gain(&self, flow: Flow, community: u32) -> f64 {
        let sum = self.sums[community as usize];
        let by_chance = sum.leaving * flow.entering + sum.entering * flow.leaving;
        self.between[community as usize] * self.total - by_chance
    }

    /// Numbers the communities as the vertices name them, and makes each a vertex of a new graph.
    fn joined(&mut self, ticker: &mut Ticker<'_>) -> Result<Csr, Stopped> {
        const NONE: u32 = u32::MAX;
        let mut number = vec![NONE; self.community.len()];
        let mut members: Vec<Vec<u32>> = Vec::new();
        for (v, community) in (0..).zip(&mut self.community) {
            ticker.tick(1)?;
            let number = &mut number[*community as usize];
            if *number == NONE {
                *number = members.len() as u32;
                members.push(Vec::new());
            }
            *community = *number;
            members[*number as usize].push(v);
        }
        let mut rows = Rows::new(members.len(), self.graph.targets().len());
        let mut sum: Vec<Option<f64>> = vec![None; members.len()];
        let mut met = Vec::new();
        for members in members {
            for v in members {
                for (to, weight) in self.graph.weighted(v) {
                    ticker.tick(1)?;
                    let to = self.community[to as usize];
                    let sum = &mut sum[to as usize];
                    if sum.is_none() {
                        met.push(to);
                    }
                    *sum = Some(sum.unwrap_or(0.0) + weight);
                }
            }
            met.sort_unstable();
            rows.push(met.drain(..).map(|to| (to, sum[to as usize].take().unwrap_or(0.0))));
        }
        Ok(rows.graph())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, edges, go, graph, long_path, stop_after};

    fn levels(graph: &Csr, undirected: bool) -> Vec<Vec<u32>> {
        louvain(graph, undirected, Options::default(), &go).unwrap().levels
    }

    #[test]
    fn two_triangles_with_a_bridge_are_two_communities() {
        let bridge = graph(6, "0-1 1-2 0-2 3-4 4-5 3-5 2-3");
        assert_eq!(levels(&bridge, true), [[0, 0, 0, 1, 1, 1]]);
        let found = louvain(&bridge, true, Options::default(), &go).unwrap();
        assert_eq!(found.labels(5).collect::<Vec<_>>(), [1]);
        assert_eq!(found.labels(6).count(), 0);
    }

    #[test]
    fn where_nothing_can_be_joined_there_is_no_level() {
        for (vertices, edges) in [(0, ""), (1, "0-0"), (2, "0-1"), (4, ""), (3, "0-1:0 1-2:0")] {
            assert!(levels(&graph(vertices, edges), true).is_empty(), "{edges}");
        }
    }

    #[test]
    fn a_negative_weight_is_refused_and_the_rounds_can_be_stopped() {
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        let result = louvain(&graph(3, "0-1:-1"), true, Options::default(), &go);
        assert_eq!(result, Err(negative));
        let path = long_path(300_000);
        let result = louvain(&path, true, Options::default(), &stop_after(100));
        assert_eq!(result, Err(Error::Stopped));
    }

    /// Modularity by its definition, over all pairs.
    fn modularity(edges: &Edges, community: &[u32]) -> f64 {
        let total: f64 = edges.list.iter().map(|e| e.2).sum();
        let n = community.len();
        let leaving = |v| edges.list.iter().filter(|e| e.0 as usize == v).map(|e| e.2).sum::<f64>();
        let entering =
            |v| edges.list.iter().filter(|e| e.1 as usize == v).map(|e| e.2).sum::<f64>();
        let within =
            edges.list.iter().filter(|e| community[e.0 as usize] == community[e.1 as usize]);
        let inside: f64 = within.map(|e| e.2).sum();
        let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
        let together = pairs.filter(|&(a, b)| community[a] == community[b]);
        let by_chance: f64 = together.map(|(a, b)| leaving(a) * entering(b)).sum();
        (inside - by_chance / total) / total
    }

    proptest! {
        #[test]
        fn each_level_raises_the_modularity_and_joins_whole_communities(
            edges in edges(),
            undirected: bool,
        ) {
            let found = levels(&edges.graph(), undirected);
            let edges = if undirected { edges.both_ways() } else { edges };
            let mut finer: Vec<u32> = (0..edges.vertices).collect();
            for level in found {
                prop_assert!(modularity(&edges, &level) > modularity(&edges, &finer));
                let mut home = vec![None; finer.len()];
                for (&fine, &coarse) in finer.iter().zip(&level) {
                    prop_assert_eq!(*home[fine as usize].get_or_insert(coarse), coarse);
                }
                finer = level;
            }
        }

        #[test]
        fn the_modularity_of_a_level_is_that_of_the_definition(edges in edges(), marks in prop::collection::vec(0..3_u32, 12)) {
            let graph = edges.graph();
            let ticker = &mut Ticker::new(&go).unwrap();
            let back = graph.reverse(&go).unwrap();
            let mut level = Level::new(&graph, Some(back), ticker).unwrap();
            level.sums = vec![Flow::default(); level.flow.len().max(3)];
            for (v, flow) in level.flow.iter().enumerate() {
                level.community[v] = marks[v];
                level.sums[marks[v] as usize].leaving += flow.leaving;
                level.sums[marks[v] as usize].entering += flow.entering;
            }
            let got = level.modularity(ticker).unwrap();
            let want = modularity(&edges, &level.community);
            prop_assert!((got - want).abs() < 1e-9 || got.is_nan() && want.is_nan());
        }
    }
}
