//! A matching of the greatest total weight in any undirected graph.
//!
//! Galil, "Efficient algorithms for finding maximum matching in graphs" (1986), after Edmonds: the
//! primal-dual method with blossoms, in time cubic in the vertices. The steps are those of van
//! Rantwijk's `mwmatching.py`, which NetworkX's `max_weight_matching` is made of.
//!
//! # Terms
//! A blossom is an odd cycle of vertices and smaller blossoms, with one base through which it is
//! entered. Outermost blossoms and vertices in none are labeled in a search from free vertices: S
//! at an even distance, T at an odd one. Ends of edges are numbered: edge `k` has the ends `2k` and
//! `2k + 1`, so `end ^ 1` is the other one.
//!
//! # Why floats are safe
//! Duals change by halves of sums of weights, which are exact for whole numbers below 2^51. With
//! other weights a matching may miss the greatest weight by a rounding error.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};

/// No end, edge, vertex or blossom.
const NONE: usize = usize::MAX;

/// The vertex that each vertex is matched with in a matching of the greatest total weight, or
/// [`NO_VERTEX`]. With `max_cardinality`, of the greatest weight among those with the most pairs.
///
/// `both` is a symmetric graph; without weights every edge has weight 1. Of parallel edges the
/// heaviest counts, and self-loops are not taken.
///
/// # Errors
/// [`Error::Stopped`].
pub fn max_weight_matching(
    both: &Csr,
    max_cardinality: bool,
    limits: &dyn Limits,
) -> Result<Vec<u32>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    let mut matching = Matching::new(both, ticker)?;
    while matching.stage(max_cardinality, ticker)? {}
    let mate = |&end: &usize| if end == NONE { NO_VERTEX } else { matching.ends[end] as u32 };
    Ok(matching.mates.iter().map(mate).collect())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Label {
    #[default]
    Free,
    S,
    T,
    /// S, and met by the search for a common base.
    Met,
}

/// How the duals may change next.
enum Step {
    /// No further.
    Finish,
    /// This edge becomes tight; its end that is an S-vertex is scanned again.
    Edge(usize),
    /// The dual of this T-blossom becomes zero.
    Expand(usize),
}

/// A blossom is numbered after the vertices. Its cycle begins at the base.
#[derive(Clone, Debug, Default)]
struct Blossom {
    children: Vec<usize>,
    /// For each child, the end in the next child of the edge to it.
    links: Vec<usize>,
    /// Of each S-blossom around, the edge with the least slack. Empty if not computed.
    best_edges: Option<Vec<usize>>,
}

struct Matching {
    n: usize,
    /// The vertex at each end.
    ends: Vec<usize>,
    weights: Vec<f64>,
    /// For each vertex, the far ends of its edges.
    far_ends: Vec<Vec<usize>>,
    /// For each vertex, the far end of its matched edge.
    mates: Vec<usize>,
    labels: Vec<Label>,
    /// The end through which a vertex or blossom got its label.
    label_ends: Vec<usize>,
    /// The outermost blossom of each vertex.
    outermost: Vec<usize>,
    parents: Vec<usize>,
    bases: Vec<usize>,
    blossoms: Vec<Blossom>,
    unused: Vec<usize>,
    /// The edge with the least slack to an S-vertex, for free vertices; to another S-blossom, for
    /// S-blossoms.
    best: Vec<usize>,
    duals: Vec<f64>,
    is_tight: Vec<bool>,
    queue: Vec<usize>,
}

impl Matching {
    fn new(both: &Csr, ticker: &mut Ticker<'_>) -> Result<Self, Stopped> {
        let n = both.vertices() as usize;
        let (mut ends, mut weights, mut far_ends) = (Vec::new(), Vec::new(), vec![Vec::new(); n]);
        for v in 0..both.vertices() {
            ticker.tick(1)?;
            for (to, weight) in both.weighted(v).filter(|&(to, _)| to > v) {
                ticker.tick(1)?;
                far_ends[v as usize].push(ends.len() + 1);
                far_ends[to as usize].push(ends.len());
                ends.extend([v as usize, to as usize]);
                weights.push(weight);
            }
        }
        let greatest = weights.iter().copied().fold(0.0, f64::max);
        let mut duals = vec![greatest; n];
        duals.resize(2 * n, 0.0);
        let mut bases: Vec<usize> = (0..n).collect();
        bases.resize(2 * n, NONE);
        Ok(Self {
            n,
            mates: vec![NONE; n],
            labels: vec![Label::Free; 2 * n],
            label_ends: vec![NONE; 2 * n],
            outermost: (0..n).collect(),
            parents: vec![NONE; 2 * n],
            bases,
            blossoms: vec![Blossom::default(); 2 * n],
            unused: (n..2 * n).collect(),
            best: vec![NONE; 2 * n],
            duals,
            is_tight: vec![false; weights.len()],
            queue: Vec::new(),
            ends,
            weights,
            far_ends,
        })
    }

    fn slack(&self, edge: usize) -> f64 {
        let (a, b) = (self.ends[2 * edge], self.ends[2 * edge + 1]);
        self.duals[a] + self.duals[b] - 2.0 * self.weights[edge]
    }

    /// The vertices of a vertex or blossom.
    fn leaves(&self, b: usize) -> Vec<usize> {
        let (mut found, mut left) = (Vec::new(), vec![b]);
        while let Some(b) = left.pop() {
            if b < self.n {
                found.push(b);
            } else {
                left.extend(&self.blossoms[b].children);
            }
        }
        found
    }

    /// Augments the matching once. Returns false if it is the best.
    fn stage(&mut self, max_cardinality: bool, ticker: &mut Ticker<'_>) -> Result<bool, Stopped> {
        self.labels.fill(Label::Free);
        self.best.fill(NONE);
        self.blossoms.iter_mut().for_each(|blossom| blossom.best_edges = None);
        self.is_tight.fill(false);
        self.queue.clear();
        for v in 0..self.n {
            ticker.tick(1)?;
            if self.mates[v] == NONE && self.labels[self.outermost[v]] == Label::Free {
                self.assign_label(v, Label::S, NONE);
            }
        }
        loop {
            while let Some(v) = self.queue.pop() {
                if self.scan(v, ticker)? {
                    self.expand_empty(ticker)?;
                    return Ok(true);
                }
            }
            match self.change_duals(max_cardinality, ticker)? {
                Step::Finish => return Ok(false),
                Step::Edge(edge) => {
                    self.is_tight[edge] = true;
                    let (a, b) = (self.ends[2 * edge], self.ends[2 * edge + 1]);
                    let is_s = self.labels[self.outermost[a]] == Label::S;
                    self.queue.push(if is_s { a } else { b });
                }
                Step::Expand(blossom) => self.expand(blossom, ticker)?,
            }
        }
    }

    /// Labels the outermost blossom of `w`, which was reached through `end`. That of its mate
    /// becomes an S-blossom if it is a T-blossom.
    fn assign_label(&mut self, w: usize, label: Label, end: usize) {
        let (mut w, mut label, mut end) = (w, label, end);
        loop {
            let b = self.outermost[w];
            for one in [w, b] {
                self.labels[one] = label;
                self.label_ends[one] = end;
                self.best[one] = NONE;
            }
            if label == Label::S {
                let leaves = self.leaves(b);
                self.queue.extend(leaves);
                return;
            }
            let mate = self.mates[self.bases[b]];
            (w, label, end) = (self.ends[mate], Label::S, mate ^ 1);
        }
    }

    /// Follows the edges of an S-vertex. Returns whether the matching was augmented.
    fn scan(&mut self, v: usize, ticker: &mut Ticker<'_>) -> Result<bool, Stopped> {
        for i in 0..self.far_ends[v].len() {
            ticker.tick(1)?;
            let end = self.far_ends[v][i];
            let (edge, w) = (end / 2, self.ends[end]);
            let (bv, bw) = (self.outermost[v], self.outermost[w]);
            if bv == bw {
                continue;
            }
            let slack = self.slack(edge);
            if !self.is_tight[edge] && slack <= 0.0 {
                self.is_tight[edge] = true;
            }
            if self.is_tight[edge] {
                match self.labels[bw] {
                    Label::Free => self.assign_label(w, Label::T, end ^ 1),
                    Label::T => {
                        if self.labels[w] == Label::Free {
                            self.labels[w] = Label::T;
                            self.label_ends[w] = end ^ 1;
                        }
                    }
                    Label::S | Label::Met => match self.common_base(v, w) {
                        NONE => {
                            self.augment(edge, ticker)?;
                            return Ok(true);
                        }
                        base => self.add_blossom(base, edge, ticker)?,
                    },
                }
                continue;
            }
            let side = match self.labels[bw] {
                Label::S | Label::Met => bv,
                _ if self.labels[w] == Label::Free => w,
                _ => continue,
            };
            if self.best[side] == NONE || slack < self.slack(self.best[side]) {
                self.best[side] = edge;
            }
        }
        Ok(false)
    }

    /// Goes back from two S-vertices in turns until both ways meet. [`NONE`] if they come from
    /// different free vertices.
    fn common_base(&mut self, v: usize, w: usize) -> usize {
        let mut path = Vec::new();
        let mut base = NONE;
        let (mut v, mut w) = (v, w);
        while v != NONE || w != NONE {
            if v != NONE {
                let b = self.outermost[v];
                if self.labels[b] == Label::Met {
                    base = self.bases[b];
                    break;
                }
                path.push(b);
                self.labels[b] = Label::Met;
                v = if self.label_ends[b] == NONE {
                    NONE
                } else {
                    let t = self.outermost[self.ends[self.label_ends[b]]];
                    self.ends[self.label_ends[t]]
                };
            }
            std::mem::swap(&mut v, &mut w);
        }
        for b in path {
            self.labels[b] = Label::S;
        }
        base
    }

    /// Makes a blossom of the cycle that a tight edge between two S-blossoms closes.
    fn add_blossom(
        &mut self,
        base: usize,
        edge: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        // There are fewer blossoms than vertices, since each has three children or more.
        let Some(b) = self.unused.pop() else { return Ok(()) };
        let base_blossom = self.outermost[base];
        let (mut children, mut links) = (Vec::new(), Vec::new());
        let mut at = self.outermost[self.ends[2 * edge]];
        while at != base_blossom {
            children.push(at);
            links.push(self.label_ends[at]);
            at = self.outermost[self.ends[self.label_ends[at]]];
        }
        children.push(base_blossom);
        children.reverse();
        links.reverse();
        links.push(2 * edge);
        let mut at = self.outermost[self.ends[2 * edge + 1]];
        while at != base_blossom {
            children.push(at);
            links.push(self.label_ends[at] ^ 1);
            at = self.outermost[self.ends[self.label_ends[at]]];
        }
        ticker.tick(children.len())?;
        children.iter().for_each(|&child| self.parents[child] = b);
        self.bases[b] = base;
        self.parents[b] = NONE;
        self.labels[b] = Label::S;
        self.label_ends[b] = self.label_ends[base_blossom];
        self.duals[b] = 0.0;
        self.blossoms[b] = Blossom { children, links, best_edges: None };
        for v in self.leaves(b) {
            ticker.tick(1)?;
            if self.labels[self.outermost[v]] == Label::T {
                self.queue.push(v);
            }
            self.outermost[v] = b;
        }
        self.find_best_edges(b, ticker)
    }

    /// Finds the edges with the least slack from a new blossom to each other S-blossom.
    fn find_best_edges(&mut self, b: usize, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let mut best_to = vec![NONE; 2 * self.n];
        for child in self.blossoms[b].children.clone() {
            let edges = match self.blossoms[child].best_edges.take() {
                Some(edges) => edges,
                None => {
                    let leaves = self.leaves(child).into_iter();
                    leaves.flat_map(|v| &self.far_ends[v]).map(|end| end / 2).collect()
                }
            };
            for edge in edges {
                ticker.tick(1)?;
                let (one, other) =
                    (self.outermost[self.ends[2 * edge]], self.outermost[self.ends[2 * edge + 1]]);
                let other = if other == b { one } else { other };
                let is_s = matches!(self.labels[other], Label::S | Label::Met);
                let known = best_to[other];
                if other != b && is_s && (known == NONE || self.slack(edge) < self.slack(known)) {
                    best_to[other] = edge;
                }
            }
            self.best[child] = NONE;
        }
        ticker.tick(best_to.len())?;
        let edges: Vec<usize> = best_to.into_iter().filter(|&edge| edge != NONE).collect();
        let least = edges.iter().copied().min_by(|&a, &b| self.slack(a).total_cmp(&self.slack(b)));
        self.best[b] = least.unwrap_or(NONE);
        self.blossoms[b].best_edges = Some(edges);
        Ok(())
    }

    /// Puts the children of a blossom in its place and makes its number unused.
    fn dissolve(&mut self, b: usize, ticker: &mut Ticker<'_>) -> Result<Blossom, Stopped> {
        let blossom = std::mem::take(&mut self.blossoms[b]);
        for &child in &blossom.children {
            self.parents[child] = NONE;
            for v in self.leaves(child) {
                ticker.tick(1)?;
                self.outermost[v] = child;
            }
        }
        self.labels[b] = Label::Free;
        self.label_ends[b] = NONE;
        self.bases[b] = NONE;
        self.best[b] = NONE;
        self.unused.push(b);
        Ok(blossom)
    }

    /// After an augmentation, dissolves S-blossoms whose dual is zero.
    fn expand_empty(&mut self, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        for b in self.n..2 * self.n {
            let is_outermost = self.bases[b] != NONE && self.parents[b] == NONE;
            if !is_outermost || self.labels[b] != Label::S || self.duals[b] != 0.0 {
                continue;
            }
            let mut left = vec![b];
            while let Some(b) = left.pop() {
                let children = self.dissolve(b, ticker)?.children;
                left.extend(children.iter().filter(|&&c| c >= self.n && self.duals[c] == 0.0));
            }
        }
        Ok(())
    }

    /// Dissolves a T-blossom during a stage, and labels its children along the way from where it
    /// was entered to its base.
    fn expand(&mut self, b: usize, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let mut end = self.label_ends[b];
        let Blossom { children, links, .. } = self.dissolve(b, ticker)?;
        let len = children.len();
        let entry_child = self.outermost[self.ends[end ^ 1]];
        let entry = children.iter().position(|&child| child == entry_child).unwrap_or(0);
        // An even number of children lies on the way to the base in one direction.
        let way = Way::new(entry, len);
        let mut at = entry;
        while at != 0 {
            ticker.tick(1)?;
            let link = way.link(at, len, &links);
            self.labels[self.ends[end ^ 1]] = Label::Free;
            self.labels[self.ends[link ^ 1]] = Label::Free;
            self.assign_label(self.ends[end ^ 1], Label::T, end);
            self.is_tight[link / 2] = true;
            at = way.next(at, len);
            end = way.link(at, len, &links);
            self.is_tight[end / 2] = true;
            at = way.next(at, len);
        }
        let base = children[0];
        for one in [self.ends[end ^ 1], base] {
            self.labels[one] = Label::T;
            self.label_ends[one] = end;
        }
        self.best[base] = NONE;
        at = way.next(at, len);
        while children[at] != entry_child {
            ticker.tick(1)?;
            let child = children[at];
            at = way.next(at, len);
            if self.labels[child] == Label::S {
                continue;
            }
            // A vertex that was reached from outside keeps the whole child in the search.
            let leaves = self.leaves(child).into_iter();
            let reached = leaves.into_iter().find(|&v| self.labels[v] != Label::Free);
            if let Some(v) = reached {
                self.labels[v] = Label::Free;
                let mate = self.ends[self.mates[self.bases[child]]];
                self.labels[mate] = Label::Free;
                self.assign_label(v, Label::T, self.label_ends[v]);
            }
        }
        Ok(())
    }

    /// Exchanges matched and unmatched edges on the ways from a tight edge to two free vertices.
    fn augment(&mut self, edge: usize, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        for end in [2 * edge, 2 * edge + 1] {
            let (mut s, mut end) = (self.ends[end], end ^ 1);
            loop {
                ticker.tick(1)?;
                let bs = self.outermost[s];
                self.augment_blossom(bs, s, ticker)?;
                self.mates[s] = end;
                if self.label_ends[bs] == NONE {
                    break;
                }
                let bt = self.outermost[self.ends[self.label_ends[bs]]];
                let entry = self.label_ends[bt];
                s = self.ends[entry];
                let inner = self.ends[entry ^ 1];
                self.augment_blossom(bt, inner, ticker)?;
                self.mates[inner] = entry;
                end = entry ^ 1;
            }
        }
        Ok(())
    }

    /// Makes `v` the base of a blossom, and matches its other vertices along the cycles.
    fn augment_blossom(
        &mut self,
        b: usize,
        v: usize,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let mut left = vec![(b, v)];
        while let Some((b, v)) = left.pop() {
            ticker.tick(1)?;
            if b < self.n {
                continue;
            }
            let mut child = v;
            while self.parents[child] != b {
                child = self.parents[child];
            }
            left.push((child, v));
            let Blossom { mut children, mut links, best_edges } =
                std::mem::take(&mut self.blossoms[b]);
            let len = children.len();
            let entry = children.iter().position(|&one| one == child).unwrap_or(0);
            let way = Way::new(entry, len);
            let mut at = entry;
            while at != 0 {
                ticker.tick(1)?;
                at = way.next(at, len);
                let end = way.link(at, len, &links);
                left.push((children[at], self.ends[end]));
                at = way.next(at, len);
                left.push((children[at], self.ends[end ^ 1]));
                self.mates[self.ends[end]] = end ^ 1;
                self.mates[self.ends[end ^ 1]] = end;
            }
            children.rotate_left(entry);
            links.rotate_left(entry);
            self.blossoms[b] = Blossom { children, links, best_edges };
            self.bases[b] = v;
        }
        Ok(())
    }

    /// Changes the duals until an edge becomes tight, the dual of a T-blossom zero, or the matching
    /// is the best.
    fn change_duals(
        &mut self,
        max_cardinality: bool,
        ticker: &mut Ticker<'_>,
    ) -> Result<Step, Stopped> {
        ticker.tick(self.duals.len())?;
        let least_dual = self.duals[..self.n].iter().copied().fold(f64::INFINITY, f64::min);
        let (mut delta, mut step) =
            (if max_cardinality { f64::INFINITY } else { least_dual }, Step::Finish);
        for v in 0..self.n {
            if self.labels[self.outermost[v]] == Label::Free && self.best[v] != NONE {
                let slack = self.slack(self.best[v]);
                if slack < delta {
                    (delta, step) = (slack, Step::Edge(self.best[v]));
                }
            }
        }
        for b in 0..2 * self.n {
            let is_outermost = self.parents[b] == NONE;
            if is_outermost && self.labels[b] == Label::S && self.best[b] != NONE {
                let slack = self.slack(self.best[b]) / 2.0;
                if slack < delta {
                    (delta, step) = (slack, Step::Edge(self.best[b]));
                }
            }
        }
        let is_blossom = |b: usize| self.bases[b] != NONE && self.parents[b] == NONE;
        for b in (self.n..2 * self.n).filter(|&b| is_blossom(b)) {
            if self.labels[b] == Label::T && self.duals[b] < delta {
                (delta, step) = (self.duals[b], Step::Expand(b));
            }
        }
        if delta == f64::INFINITY {
            delta = least_dual.max(0.0);
        }
        for v in 0..self.n {
            match self.labels[self.outermost[v]] {
                Label::S => self.duals[v] -= delta,
                Label::T => self.duals[v] += delta,
                _ => {}
            }
        }
        for b in self.n..2 * self.n {
            if self.bases[b] == NONE || self.parents[b] != NONE {
                continue;
            }
            match self.labels[b] {
                Label::S => self.duals[b] += delta,
                Label::T => self.duals[b] -= delta,
                _ => {}
            }
        }
        Ok(step)
    }
}

/// The direction around a blossom's cycle in which an even number of steps leads to the base.
#[derive(Clone, Copy)]
struct Way {
    is_forward: bool,
}

impl Way {
    fn new(entry: usize, len: usize) -> Self {
        debug_assert!(len % 2 == 1, "a blossom has an odd number of children");
        Self { is_forward: entry % 2 == 1 }
    }

    /// The child after the one at `at`.
    fn next(self, at: usize, len: usize) -> usize {
        if self.is_forward { (at + 1) % len } else { (at + len - 1) % len }
    }

    /// The near end of the edge from the child at `at` to the one after it.
    fn link(self, at: usize, len: usize, links: &[usize]) -> usize {
        if self.is_forward { links[at] } else { links[(at + len - 1) % len] ^ 1 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, go, graph, random_graph, stop_after, undirected};

    fn run(both: &Csr, max_cardinality: bool) -> Vec<u32> {
        max_weight_matching(both, max_cardinality, &go).unwrap()
    }

    fn pairs(vertices: u32, text: &str, max_cardinality: bool) -> Vec<(u32, u32)> {
        let mates = run(&graph(vertices, text).symmetric(&go).unwrap(), max_cardinality);
        let pairs = (0..).zip(mates).filter(|&(v, mate)| mate != NO_VERTEX && v < mate);
        pairs.collect()
    }

    /// Cases of van Rantwijk's tests, which NetworkX has too.
    #[test]
    fn known_cases_have_their_matchings() {
        let path = "1-2:5 2-3:11 3-4:5";
        assert_eq!(pairs(5, path, false), [(2, 3)]);
        assert_eq!(pairs(5, path, true), [(1, 2), (3, 4)]);
        let negative = "1-2:2 1-3:-2 2-3:1 2-4:-1 3-4:-6";
        assert_eq!(pairs(5, negative, false), [(1, 2)]);
        assert_eq!(pairs(5, negative, true), [(1, 3), (2, 4)]);
        let blossom = "1-2:8 1-3:9 2-3:10 3-4:7";
        assert_eq!(pairs(5, blossom, false), [(1, 2), (3, 4)]);
        let relabeled = "1-2:9 1-3:8 2-3:10 1-4:5 4-5:4 1-6:3";
        assert_eq!(pairs(7, relabeled, false), [(1, 6), (2, 3), (4, 5)]);
        let nested = "1-2:9 1-3:9 2-3:10 2-4:8 3-5:8 4-5:10 5-6:6";
        assert_eq!(pairs(7, nested, false), [(1, 3), (2, 4), (5, 6)]);
        let relabeled = "1-2:10 1-7:10 2-3:12 3-4:20 3-5:20 4-5:25 5-6:10 6-7:10 7-8:8";
        assert_eq!(pairs(9, relabeled, false), [(1, 2), (3, 4), (5, 6), (7, 8)]);
        let expanded = "1-2:8 1-3:8 2-3:10 2-4:12 3-5:12 4-5:14 4-6:12 5-7:12 6-7:14 7-8:12";
        assert_eq!(pairs(9, expanded, false), [(1, 2), (3, 5), (4, 6), (7, 8)]);
        let expanded = "1-2:23 1-5:22 1-6:15 2-3:25 3-4:22 4-5:25 4-8:14 5-7:13";
        assert_eq!(pairs(9, expanded, false), [(1, 6), (2, 3), (4, 8), (5, 7)]);
        let entered = "1-2:45 1-5:45 2-3:50 3-4:45 4-5:50 1-6:30 3-9:35 4-8:35 5-7:26 9-10:5";
        assert_eq!(pairs(11, entered, false), [(1, 6), (2, 3), (4, 8), (5, 7), (9, 10)]);
        let nested =
            "1-2:40 1-3:40 2-3:60 2-4:55 3-5:55 4-5:50 1-8:15 5-7:30 7-6:10 8-10:10 4-9:30";
        assert_eq!(pairs(11, nested, false), [(1, 2), (3, 5), (4, 9), (6, 7), (8, 10)]);
    }

    #[test]
    fn no_edges_are_no_matching_and_the_search_can_be_stopped() {
        assert_eq!(run(&Csr::default(), false), []);
        assert_eq!(pairs(3, "0-0:5 1-1:2", true), []);
        let both = random_graph(400, 8000, 3).simple_undirected(&go).unwrap();
        let found = max_weight_matching(&both, false, &stop_after(1));
        assert_eq!(found, Err(Error::Stopped));
    }

    /// The number of pairs and the weight of the best matching, over all sets of vertices.
    fn model(edges: &Edges, max_cardinality: bool) -> (u32, f64) {
        let n = edges.vertices;
        let mut best = vec![(0, 0.0); 1 << n];
        for set in 1..1_usize << n {
            let first = set.trailing_zeros();
            let without = set & !(1 << first);
            best[set] = best[without];
            for &(a, b, weight) in edges.list.iter().filter(|e| e.0 == first && e.1 != e.0) {
                debug_assert_eq!(a, first);
                if without >> b & 1 == 1 {
                    let (count, sum): (u32, f64) = best[without & !(1 << b)];
                    let one = (count + 1, sum + weight);
                    let is_better = match max_cardinality {
                        true => one.0 > best[set].0 || one.0 == best[set].0 && one.1 > best[set].1,
                        false => one.1 > best[set].1,
                    };
                    best[set] = if is_better { one } else { best[set] };
                }
            }
        }
        best[(1 << n) - 1]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn matchings_have_the_greatest_weight(
            edges in undirected(),
            shift in -3..3_i32,
            max_cardinality: bool,
        ) {
            let mut edges = edges;
            edges.list.iter_mut().for_each(|e| e.2 = e.2 * 7.0 % 11.0 + f64::from(shift));
            let both = edges.graph();
            let mates = run(&both, max_cardinality);
            let (mut count, mut sum) = (0, 0.0);
            for (v, &mate) in (0..).zip(&mates).filter(|pair| *pair.1 != NO_VERTEX) {
                prop_assert_eq!(mates[mate as usize], v);
                let weights = both.weighted(v).filter(|e| e.0 == mate).map(|e| e.1);
                if v < mate {
                    count += 1;
                    sum += weights.fold(f64::NEG_INFINITY, f64::max);
                }
            }
            let (best_count, best_sum) = model(&edges, max_cardinality);
            prop_assert_eq!(sum, best_sum);
            prop_assert!(!max_cardinality || count == best_count);
        }
    }
}
