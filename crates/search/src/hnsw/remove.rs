//! Removes vertices from a graph, and links their neighbors to each other.
//!
//! # Why not marks
//! Other implementations mark removed vertices and skip them in results. Such vertices take places
//! among the candidates of a search, so that recall falls until the index is built anew. The paper
//! has no algorithm for removals.

use super::edit::{Editor, Source, leads_to};
use super::graph::Link;
use super::search::{GraphView, Near};
use super::select::{Choice, select};

impl<S: Source> Editor<'_, S> {
    /// Removes a vertex. Vertices that linked to it choose new links among its other neighbors.
    ///
    /// # Errors
    /// Those of the source. The graph must not be used then.
    pub fn remove(&mut self, number: u32) -> Result<(), S::Error> {
        let Some(id) = self.graph.id(number) else { return Ok(()) };
        for layer in 0..=id.layer() {
            let neighbors = self.neighbors(number, layer)?;
            let incoming = self.cut_off(number, layer, &neighbors)?;
            for &neighbor in &incoming {
                self.relink_around(neighbor, layer, &neighbors)?;
            }
            for &neighbor in &neighbors {
                if self.graph.links(neighbor, layer).is_empty() {
                    self.relink_around(neighbor, layer, &neighbors)?;
                }
                self.ensure_incoming(neighbor, layer)?;
            }
            self.join(&neighbors, layer)?;
        }
        self.graph.remove_vertex(number);
        self.check()
    }

    /// The other ends of all links of a vertex in a layer.
    fn neighbors(&mut self, number: u32, layer: usize) -> Result<Vec<u32>, S::Error> {
        self.read(number, layer)?;
        let Some(own) = self.graph.adjacency(number, layer) else { return Ok(Vec::new()) };
        let mut numbers: Vec<u32> =
            own.links.iter().chain(&own.pruned).map(|link| link.to).collect();
        numbers.sort_unstable_by_key(|&number| self.graph.id(number));
        Ok(numbers)
    }

    /// Deletes the links from and to a vertex; returns the neighbors that linked to it.
    fn cut_off(
        &mut self,
        number: u32,
        layer: usize,
        neighbors: &[u32],
    ) -> Result<Vec<u32>, S::Error> {
        let mut incoming = Vec::new();
        for &neighbor in neighbors {
            self.read(neighbor, layer)?;
            if leads_to(self.graph.links(neighbor, layer), number) {
                incoming.push(neighbor);
            }
            if let Some(other) = self.graph.change(neighbor, layer) {
                other.links.retain(|link| link.to != number);
                other.pruned.retain(|link| link.to != number);
            }
        }
        if let Some(own) = self.graph.change(number, layer) {
            (own.links, own.pruned) = (Vec::new(), Vec::new());
        }
        Ok(incoming)
    }

    /// Links a vertex to some of the others, in both directions, besides the links that it has.
    fn relink_around(&mut self, number: u32, layer: usize, others: &[u32]) -> Result<(), S::Error> {
        let own = self.graph.links(number, layer).to_vec();
        let near = |link: &Link| Near { distance: link.distance, number: link.to };
        let mut candidates: Vec<Near> = own.iter().map(near).collect();
        for &other in others {
            if other != number && !leads_to(&own, other) {
                let distance = self.graph.distance_between(number, other);
                candidates.push(Near { distance, number: other });
            }
        }
        let links_max = self.graph.settings().links_max(layer);
        let choice = Choice { of: number, layer, links_max, extends: false };
        let chosen = select(self, choice, candidates)?;
        for link in chosen.into_iter().filter(|link| !leads_to(&own, link.to)) {
            self.link_back(number, layer, link)?;
            self.link_back(link.to, layer, Link { to: number, distance: link.distance })?;
        }
        Ok(())
    }

    /// Links vertices in both directions, so that all of them are connected. Each of them was
    /// connected to the removed vertex, so what was connected stays so.
    fn join(&mut self, numbers: &[u32], layer: usize) -> Result<(), S::Error> {
        // A vertex is in the group of the vertex that its place leads to, in the end.
        let mut group: Vec<usize> = (0..numbers.len()).collect();
        let root = |group: &[usize], mut place: usize| {
            while group[place] != place {
                place = group[place];
            }
            place
        };
        for (place, &number) in numbers.iter().enumerate() {
            for link in self.graph.links(number, layer) {
                if let Some(other) = numbers.iter().position(|other| *other == link.to) {
                    let (a, b) = (root(&group, place), root(&group, other));
                    group[a] = b;
                }
            }
        }
        while let Some((a, b, distance)) =
            self.nearest_apart(numbers, |a, b| root(&group, a) != root(&group, b))
        {
            for (from, to) in [(a, b), (b, a)] {
                let mut links = self.graph.links(numbers[from], layer).to_vec();
                links.push(Link { to: numbers[to], distance });
                self.relink(numbers[from], layer, links)?;
            }
            let (a, b) = (root(&group, a), root(&group, b));
            group[a] = b;
        }
        Ok(())
    }

    /// The places of the two nearest vertices that are apart, and their distance.
    fn nearest_apart(
        &self,
        numbers: &[u32],
        are_apart: impl Fn(usize, usize) -> bool,
    ) -> Option<(usize, usize, f32)> {
        let pairs = (0..numbers.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let distance = |(a, b)| (a, b, self.graph.distance_between(numbers[a], numbers[b]));
        let apart = pairs.filter(|&(a, b)| are_apart(a, b)).map(distance);
        apart.min_by(|a, b| a.2.total_cmp(&b.2))
    }
}
