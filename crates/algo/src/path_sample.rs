//! Random shortest paths between random pairs of vertices, by number of edges.
//!
//! Breadth-first searches from both ends take turns: the one whose next level has fewer edges
//! advances, until they meet. All shortest paths of the pair lead through the vertices where they
//! meet. One of these is drawn in proportion to the paths through it, and the path is followed back
//! to both ends in the same way. So each shortest path is equally likely.

use crate::bfs::NO_LEVEL;
use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::Ticker;
use crate::random::{Random, weighted};

/// Numbers of paths of a level are divided by this when the greatest one exceeds it. Only their
/// ratios within a level count, so that they never leave the range of floats.
const COUNT_MAX: f64 = 1e100;

/// Draws paths. Buffers are reused.
pub(crate) struct PathSampler<'a> {
    graph: &'a Csr,
    from_source: Side<'a>,
    from_goal: Side<'a>,
    path: Vec<u32>,
    choices: Vec<(u32, f64)>,
}

impl<'a> PathSampler<'a> {
    /// `there` and `back` are simple graphs, each the reverse of the other.
    pub(crate) fn new(there: &'a Csr, back: &'a Csr) -> Self {
        Self {
            graph: there,
            from_source: Side::new(there, back),
            from_goal: Side::new(back, there),
            path: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// The inner vertices of a random shortest path of a random pair, none if it has no path. The
    /// graph has two vertices or more.
    pub(crate) fn draw(
        &mut self,
        random: &mut Random,
        ticker: &mut Ticker<'_>,
    ) -> Result<&[u32], Stopped> {
        let n = self.graph.vertices() as usize;
        let source = random.below(n) as u32;
        let goal = random.below(n - 1) as u32;
        let goal = goal + u32::from(goal >= source);
        self.path.clear();
        self.from_source.start(source);
        self.from_goal.start(goal);
        if self.meet(ticker)? {
            let middle = choose(&self.choices, random);
            self.follow(middle, random, ticker)?;
            self.path.retain(|&v| v != source && v != goal);
        }
        Ok(&self.path)
    }

    /// Advances the searches until they meet. Fills `choices` with the vertices where they do.
    fn meet(&mut self, ticker: &mut Ticker<'_>) -> Result<bool, Stopped> {
        self.choices.clear();
        loop {
            let (from_source, from_goal) = (&mut self.from_source, &mut self.from_goal);
            let (side, other) = if from_source.edges_ahead <= from_goal.edges_ahead {
                (from_source, from_goal)
            } else {
                (from_goal, from_source)
            };
            side.advance(ticker)?;
            let level = side.level_start..side.order.len();
            if level.is_empty() {
                return Ok(false);
            }
            for &v in &side.order[level] {
                if other.levels[v as usize] != NO_LEVEL {
                    let paths = side.counts[v as usize] * other.counts[v as usize];
                    self.choices.push((v, paths));
                }
            }
            if !self.choices.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Adds a path through `middle` to both ends.
    fn follow(
        &mut self,
        middle: u32,
        random: &mut Random,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        self.path.push(middle);
        for side in [&self.from_source, &self.from_goal] {
            let mut v = middle;
            for level in (0..side.levels[middle as usize]).rev() {
                self.choices.clear();
                for &before in side.back.neighbors(v) {
                    ticker.tick(1)?;
                    if side.levels[before as usize] == level {
                        self.choices.push((before, side.counts[before as usize]));
                    }
                }
                v = choose(&self.choices, random);
                self.path.push(v);
            }
        }
        Ok(())
    }
}

/// One of some vertices with positive weights, at least one.
fn choose(choices: &[(u32, f64)], random: &mut Random) -> u32 {
    let weights: Vec<f64> = choices.iter().map(|choice| choice.1).collect();
    let place = weighted(&weights, || random.bits()).unwrap_or(0);
    choices[place].0
}

/// The search from one end.
struct Side<'a> {
    there: &'a Csr,
    back: &'a Csr,
    /// Number of edges from the end; [`NO_LEVEL`] if not reached.
    levels: Vec<u32>,
    /// Number of shortest paths from the end, up to a factor of the level.
    counts: Vec<f64>,
    /// The reached vertices; the last level begins at `level_start`.
    order: Vec<u32>,
    level_start: usize,
    /// Edges that leave the last level.
    edges_ahead: usize,
}

impl<'a> Side<'a> {
    fn new(there: &'a Csr, back: &'a Csr) -> Self {
        let n = there.vertices() as usize;
        Self {
            there,
            back,
            levels: vec![NO_LEVEL; n],
            counts: vec![0.0; n],
            order: Vec::new(),
            level_start: 0,
            edges_ahead: 0,
        }
    }

    fn start(&mut self, end: u32) {
        for v in self.order.drain(..) {
            self.levels[v as usize] = NO_LEVEL;
        }
        self.levels[end as usize] = 0;
        self.counts[end as usize] = 1.0;
        self.order.push(end);
        self.level_start = 0;
        self.edges_ahead = self.there.degree(end);
    }

    fn advance(&mut self, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let last = self.level_start..self.order.len();
        let most = self.order[last.clone()].iter().map(|&v| self.counts[v as usize]);
        let scale = if most.fold(0.0, f64::max) > COUNT_MAX { 1.0 / COUNT_MAX } else { 1.0 };
        self.level_start = self.order.len();
        self.edges_ahead = 0;
        for i in last {
            let v = self.order[i];
            let level = self.levels[v as usize] + 1;
            let count = self.counts[v as usize] * scale;
            ticker.tick(1)?;
            for &to in self.there.neighbors(v) {
                ticker.tick(1)?;
                let known = &mut self.levels[to as usize];
                if *known == NO_LEVEL {
                    *known = level;
                    self.counts[to as usize] = count;
                    self.order.push(to);
                    self.edges_ahead += self.there.degree(to);
                } else if *known == level {
                    self.counts[to as usize] += count;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{diamonds, edges, go};

    #[test]
    fn paths_of_a_long_chain_of_diamonds_can_be_drawn() {
        // More paths than a float can count.
        let both = diamonds(1100).simple_undirected(&go).unwrap();
        let mut sampler = PathSampler::new(&both, &both);
        let ticker = &mut Ticker::new(&go).unwrap();
        for i in 0..50 {
            let path = sampler.draw(&mut Random::new(1, i), ticker).unwrap();
            let mut distinct = path.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), path.len());
        }
        let longest = (0..50).map(|i| sampler.draw(&mut Random::new(2, i), ticker).unwrap().len());
        assert!(longest.max().unwrap() > 1100);
    }

    proptest! {
        #[test]
        fn a_drawn_path_has_as_many_vertices_as_the_distance_says(edges in edges(), seed: u64) {
            prop_assume!(edges.vertices > 1);
            let ticker = &mut Ticker::new(&go).unwrap();
            let there = edges.unweighted().simple(ticker).unwrap();
            let back = there.reverse(&go).unwrap();
            let distances = edges.hops().distances();
            let mut sampler = PathSampler::new(&there, &back);
            for i in 0..20 {
                let random = &mut Random::new(seed, i);
                let path = sampler.draw(random, ticker).unwrap().to_vec();
                let source = sampler.from_source.order[0] as usize;
                let goal = sampler.from_goal.order[0] as usize;
                let distance = distances[source][goal];
                if distance.is_infinite() {
                    prop_assert!(path.is_empty());
                } else {
                    prop_assert_eq!(path.len() as f64, distance - 1.0);
                    for &v in &path {
                        let through = distances[source][v as usize] + distances[v as usize][goal];
                        prop_assert_eq!(through, distance);
                    }
                }
            }
        }
    }

    #[test]
    fn each_shortest_path_is_equally_likely() {
        // From 0 to 5: two paths through 1, one through 2.
        let edges = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5)];
        let list = edges.iter().map(|&(a, b)| (a, b, 1.0)).collect();
        let graph = crate::testing::Edges { vertices: 6, list }.unweighted();
        let both = graph.symmetric(&go).unwrap();
        let mut sampler = PathSampler::new(&both, &both);
        let ticker = &mut Ticker::new(&go).unwrap();
        let (mut all, mut through_one) = (0, 0);
        for i in 0..60_000 {
            let path = sampler.draw(&mut Random::new(1, i), ticker).unwrap().to_vec();
            if (sampler.from_source.order[0], sampler.from_goal.order[0]) == (0, 5) {
                all += 1;
                through_one += u32::from(path.contains(&1));
            }
        }
        let share = f64::from(through_one) / f64::from(all);
        assert!((share - 2.0 / 3.0).abs() < 0.05, "{share}");
    }
}
