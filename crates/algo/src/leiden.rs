//! Communities of an undirected graph by the Leiden method.
//!
//! Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing well-connected communities"
//! (2019), with the data structures of GVE-Leiden (Sahu, 2023): vertices move between communities
//! while this raises the modularity; a flat table sums the weights to the communities nearby; only
//! vertices with a moved neighbor are visited again. Then each community is refined into
//! connected parts, and the parts become the vertices of the next level.
//!
//! # Why communities are connected
//! A part grows by vertices that are alone and have an edge to it. Moves on the last level can
//! still take away a vertex that held a community together. So communities are divided into their
//! connected parts at the end, which never lowers the modularity.

use crate::components::{Sets, numbered};
use crate::csr::{Csr, NO_VERTEX};
use crate::dijkstra_search::refuse_negative;
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};
use crate::random::shuffled;

/// Rounds of moves on one level end when a round raises the modularity by less than this.
const ROUND_GAIN_MIN: f64 = 1e-6;

/// A move must raise the modularity by more than rounding errors do.
const MOVE_GAIN_MIN: f64 = 1e-12;

/// Options of [`leiden`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeidenOptions {
    /// Larger values give smaller communities. 1 is Newman's modularity.
    pub resolution: f64,
    /// Visits vertices in an order that this number decides. `None`: in the order of their
    /// numbers.
    pub seed: Option<u64>,
    /// Maximum number of levels.
    pub levels_max: u32,
}

impl Default for LeidenOptions {
    fn default() -> Self {
        Self { resolution: 1.0, seed: None, levels_max: 32 }
    }
}

/// The community of each vertex, numbered from 0 by the smallest vertices of the communities.
///
/// `both` is a symmetric graph: each edge is in the rows of both ends, a self-loop once. Parallel
/// edges add up. Each community is connected.
///
/// # Errors
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn leiden(both: &Csr, options: &LeidenOptions, limits: &dyn Limits) -> Result<Vec<u32>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(both, ticker)?;
    let mut level = Level::new(both, ticker)?;
    let total: f64 = level.degrees.iter().sum();
    let mut vertex_of: Vec<u32> = (0..both.vertices()).collect();
    let mut labels = vertex_of.clone();
    if total > 0.0 {
        let mut search =
            Search { factor: options.resolution / total, total, table: Table::new(both) };
        for depth in 0..options.levels_max {
            let seed = options.seed.filter(|_| depth == 0);
            search.move_vertices(&level, &mut labels, seed, ticker)?;
            let (parts, count) = search.refine(&level, &labels, ticker)?;
            if count == level.degrees.len() {
                break;
            }
            level = search.aggregate(&level, &parts, count, ticker)?;
            let mut part_labels = vec![0; count];
            // A label is a vertex; the next level names a community by one of its parts.
            let mut named = vec![NO_VERTEX; labels.len()];
            for (&label, &part) in labels.iter().zip(&parts) {
                let name = &mut named[label as usize];
                *name = if *name == NO_VERTEX { part } else { *name };
                part_labels[part as usize] = *name;
            }
            labels = part_labels;
            vertex_of.iter_mut().for_each(|vertex| *vertex = parts[*vertex as usize]);
            ticker.ask()?;
        }
    }
    let found: Vec<u32> = vertex_of.iter().map(|&vertex| labels[vertex as usize]).collect();
    Ok(connected_parts(both, &found, ticker)?)
}

/// Divides communities into their connected parts and numbers them.
fn connected_parts(
    both: &Csr,
    labels: &[u32],
    ticker: &mut Ticker<'_>,
) -> Result<Vec<u32>, Stopped> {
    let mut sets = Sets::new(both.vertices());
    for (v, &label) in (0..).zip(labels) {
        ticker.tick(1)?;
        for &to in both.neighbors(v) {
            ticker.tick(1)?;
            if labels[to as usize] == label {
                sets.unite(v, to);
            }
        }
    }
    let roots = (0..both.vertices()).map(|v| sets.root(v)).collect();
    numbered(roots, ticker)
}

/// A graph whose vertices represent sets of vertices of the level below.
struct Level {
    offsets: Vec<usize>,
    /// Edges to other vertices. Edges of a vertex to itself count only in `degrees`.
    edges: Vec<(u32, f64)>,
    degrees: Vec<f64>,
}

impl Level {
    fn new(both: &Csr, ticker: &mut Ticker<'_>) -> Result<Self, Stopped> {
        let mut level = Self {
            offsets: vec![0],
            edges: Vec::with_capacity(both.targets().len()),
            degrees: Vec::with_capacity(both.vertices() as usize),
        };
        for source in 0..both.vertices() {
            let mut degree = 0.0;
            for (target, weight) in both.weighted(source) {
                ticker.tick(1)?;
                if target == source {
                    degree += 2.0 * weight;
                } else {
                    degree += weight;
                    level.edges.push((target, weight));
                }
            }
            ticker.tick(1)?;
            level.degrees.push(degree);
            level.offsets.push(level.edges.len());
        }
        Ok(level)
    }

    fn row(&self, v: usize) -> &[(u32, f64)] {
        &self.edges[self.offsets[v]..self.offsets[v + 1]]
    }
}

/// Sums of weights by community, in a flat array that is cleared by the list of its entries.
struct Table {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

impl Table {
    fn new(both: &Csr) -> Self {
        Self { sums: vec![-1.0; both.vertices() as usize], touched: Vec::new() }
    }

    #[inline]
    fn add(&mut self, label: u32, weight: f64) {
        let sum = &mut self.sums[label as usize];
        if *sum < 0.0 {
            self.touched.push(label);
            *sum = weight;
        } else {
            *sum += weight;
        }
    }

    fn get(&self, label: u32) -> f64 {
        self.sums[label as usize].max(0.0)
    }

    fn clear(&mut self) {
        for label in self.touched.drain(..) {
            self.sums[label as usize] = -1.0;
        }
    }
}

struct Search {
    /// Resolution divided by the sum of all degrees.
    factor: f64,
    total: f64,
    table: Table,
}

impl Search {
    /// Moves vertices to the neighboring community that raises the modularity most, until a round
    /// gains little. A label is a vertex of the level.
    fn move_vertices(
        &mut self,
        level: &Level,
        labels: &mut [u32],
        seed: Option<u64>,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let n = labels.len();
        let mut sums = vec![0.0; n];
        labels.iter().zip(&level.degrees).for_each(|(&label, k)| sums[label as usize] += k);
        let order = seed.map(|seed| shuffled(n, seed));
        let mut is_active = vec![true; n];
        loop {
            let mut gained = 0.0;
            for i in 0..n {
                let v = order.as_ref().map_or(i, |order| order[i] as usize);
                ticker.tick(1)?;
                if !std::mem::replace(&mut is_active[v], false) {
                    continue;
                }
                for &(to, weight) in level.row(v) {
                    ticker.tick(1)?;
                    self.table.add(labels[to as usize], weight);
                }
                let (degree, old) = (level.degrees[v], labels[v]);
                sums[old as usize] -= degree;
                let stay = self.gain(old, degree, &sums);
                let (best, most) = self.take_best((old, stay), degree, &sums);
                sums[best as usize] += degree;
                if best != old {
                    labels[v] = best;
                    gained += most - stay;
                    for &(to, _) in level.row(v) {
                        is_active[to as usize] |= labels[to as usize] != best;
                    }
                }
            }
            if 2.0 * gained / self.total < ROUND_GAIN_MIN {
                return Ok(());
            }
        }
    }

    /// Proportional to the modularity that a vertex of `degree` adds in the community `label`,
    /// whose sum of degrees in `sums` does not include it.
    fn gain(&self, label: u32, degree: f64, sums: &[f64]) -> f64 {
        self.table.get(label) - self.factor * degree * sums[label as usize]
    }

    /// The community with the greatest gain among those in the table, which is cleared, and that
    /// gain. `home` if none gains more; its own gain is raised by [`MOVE_GAIN_MIN`].
    fn take_best(&mut self, home: (u32, f64), degree: f64, sums: &[f64]) -> (u32, f64) {
        let mut best = (home.0, home.1 + MOVE_GAIN_MIN * self.total);
        for &label in &self.table.touched {
            let gain = self.gain(label, degree, sums);
            if gain > best.1 {
                best = (label, gain);
            }
        }
        self.table.clear();
        best
    }

    /// Divides each community into connected parts: a vertex that is still alone joins the part of
    /// its community that raises the modularity most. Returns the part of each vertex and the
    /// number of parts.
    fn refine(
        &mut self,
        level: &Level,
        labels: &[u32],
        ticker: &mut Ticker<'_>,
    ) -> Result<(Vec<u32>, usize), Stopped> {
        let n = labels.len();
        let mut parts: Vec<u32> = (0..n as u32).collect();
        let mut sums = level.degrees.clone();
        let mut is_single = vec![true; n];
        for v in 0..n {
            ticker.tick(1)?;
            if !is_single[v] {
                continue;
            }
            for &(to, weight) in level.row(v) {
                ticker.tick(1)?;
                if labels[to as usize] == labels[v] {
                    self.table.add(parts[to as usize], weight);
                }
            }
            let degree = level.degrees[v];
            let (best, _) = self.take_best((parts[v], 0.0), degree, &sums);
            if best as usize != v {
                // The vertex that names the part is no longer alone either.
                is_single[v] = false;
                is_single[best as usize] = false;
                parts[v] = best;
                sums[v] = 0.0;
                sums[best as usize] += degree;
            }
        }
        let mut numbers = vec![NO_VERTEX; n];
        let mut count = 0;
        for part in &mut parts {
            let number = &mut numbers[*part as usize];
            if *number == NO_VERTEX {
                *number = count;
                count += 1;
            }
            *part = *number;
        }
        Ok((parts, count as usize))
    }

    /// The graph whose vertices are the parts.
    fn aggregate(
        &mut self,
        level: &Level,
        parts: &[u32],
        count: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<Level, Stopped> {
        let mut starts = vec![0_u32; count + 1];
        parts.iter().for_each(|&part| starts[part as usize + 1] += 1);
        for part in 0..count {
            starts[part + 1] += starts[part];
        }
        let mut next = starts.clone();
        let mut members = vec![0; parts.len()];
        for (v, &part) in (0_u32..).zip(parts) {
            let place = &mut next[part as usize];
            members[*place as usize] = v;
            *place += 1;
        }
        let mut above = Level { offsets: vec![0], edges: Vec::new(), degrees: vec![0.0; count] };
        for part in 0..count {
            for &member in &members[starts[part] as usize..starts[part + 1] as usize] {
                above.degrees[part] += level.degrees[member as usize];
                ticker.tick(1)?;
                for &(to, weight) in level.row(member as usize) {
                    ticker.tick(1)?;
                    self.table.add(parts[to as usize], weight);
                }
            }
            let others = self.table.touched.iter().filter(|&&to| to as usize != part);
            above.edges.extend(others.map(|&to| (to, self.table.sums[to as usize])));
            self.table.clear();
            above.offsets.push(above.edges.len());
        }
        Ok(above)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::partition::{ModularityOptions, modularity};
    use crate::testing::{go, graph, long_path, random_graph, stop_after, undirected};

    fn quality(both: &Csr, labels: &[u32]) -> f64 {
        modularity(both, labels, &ModularityOptions::default(), &go).unwrap()
    }

    #[test]
    fn two_cliques_with_one_edge_between_them_are_two_communities() {
        let text = "0-1 0-2 0-3 1-2 1-3 2-3 3-4 4-5 4-6 4-7 5-6 5-7 6-7";
        let both = graph(9, text).symmetric(&go).unwrap();
        for seed in [None, Some(1), Some(2)] {
            let options = LeidenOptions { seed, ..LeidenOptions::default() };
            let found = leiden(&both, &options, &go).unwrap();
            assert_eq!(found, [0, 0, 0, 0, 1, 1, 1, 1, 2], "{seed:?}");
        }
        let apart = LeidenOptions { resolution: 50.0, ..LeidenOptions::default() };
        assert!((0..9).eq(leiden(&both, &apart, &go).unwrap()));
    }

    #[test]
    fn a_ring_of_cliques_is_divided_into_its_cliques() {
        let mut text = String::new();
        for clique in 0..30 {
            let first = clique * 5;
            for a in 0..5 {
                (0..a).for_each(|b| text += &format!("{}-{} ", first + a, first + b));
            }
            text += &format!("{}-{} ", first, (first + 9) % 150);
        }
        let both = graph(150, &text).symmetric(&go).unwrap();
        let found = leiden(&both, &LeidenOptions::default(), &go).unwrap();
        let cliques: Vec<u32> = (0..150).map(|v| v / 5).collect();
        assert!(quality(&both, &found) >= quality(&both, &cliques) - 1e-12);
        assert!(found.chunks(5).all(|clique| clique.iter().all(|label| *label == clique[0])));
    }

    #[test]
    fn the_same_seed_gives_the_same_communities() {
        let both = random_graph(3_000, 9_000, 5).symmetric(&go).unwrap();
        let run = |seed| leiden(&both, &LeidenOptions { seed, ..Default::default() }, &go).unwrap();
        assert_eq!(run(Some(3)), run(Some(3)));
        assert!(quality(&both, &run(Some(3))) > 0.3);
        assert!(quality(&both, &run(None)) > 0.3);
    }

    #[test]
    fn the_search_can_be_stopped() {
        let both = long_path(300_000).symmetric(&go).unwrap();
        let found = leiden(&both, &LeidenOptions::default(), &stop_after(12));
        assert_eq!(found, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn communities_are_connected_and_better_than_none(edges in undirected()) {
            let both = edges.graph();
            let found = leiden(&both, &LeidenOptions::default(), &go).unwrap();
            let alone: Vec<u32> = (0..edges.vertices).collect();
            prop_assert!(quality(&both, &found) >= quality(&both, &alone) - 1e-9);
            let mut inside = edges.clone();
            inside.list.retain(|e| found[e.0 as usize] == found[e.1 as usize]);
            let distances = inside.distances();
            for a in 0..found.len() {
                for b in 0..found.len() {
                    prop_assert_eq!(found[a] == found[b], distances[a][b].is_finite());
                }
            }
        }
    }
}
