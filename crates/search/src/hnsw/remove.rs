//! Removes vertices from a graph, and links their neighbors to each other.
//!
//! # Why not marks
//! Other implementations mark removed vertices and skip them in results. Such vertices take places
//! among the candidates of a search, so that recall falls until the index is built anew. The paper
//! has no algorithm for removals.
//!
//! # Why neighbors are compared with some others only
//! All vectors may link to one, as to the center of a sphere. Comparing each of its neighbors with
//! each other would never end. They are in the order of their distances from the removed vertex,
//! and each is compared with those that come near it in this order.

use super::edit::{Editor, Source, leads_to};
use super::graph::Link;
use super::search::{GraphView, Near};
use super::select::{Choice, select};

/// Neighbors that are compared with each other: this many times the most links of a vertex.
const COMPARED: usize = 4;

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
            let compared = COMPARED * self.graph.settings().links_max(layer);
            let around = |place: usize| {
                let from = place.saturating_sub(compared / 2);
                let from = from.min(neighbors.len().saturating_sub(compared));
                &neighbors[from..neighbors.len().min(from + compared)]
            };
            for place in incoming {
                self.check()?;
                self.relink_around(neighbors[place], layer, around(place))?;
            }
            // The removed vertex had one of those before it as a neighbor, so one of these comes
            // before all that have lost their link to or from a vertex before them.
            let first = neighbors.iter().min_by_key(|&&number| self.graph.id(number)).copied();
            for (place, &neighbor) in neighbors.iter().enumerate() {
                self.check()?;
                let others: Vec<u32> = around(place).iter().copied().chain(first).collect();
                self.ensure_before(neighbor, layer, &others)?;
            }
        }
        self.graph.remove_vertex(number);
        self.check()
    }

    /// The other ends of all links of a vertex in a layer, the nearest first.
    fn neighbors(&mut self, number: u32, layer: usize) -> Result<Vec<u32>, S::Error> {
        self.read(number, layer)?;
        let Some(own) = self.graph.adjacency(number, layer) else { return Ok(Vec::new()) };
        let mut links: Vec<Link> = own.links.iter().chain(&own.pruned).copied().collect();
        links.sort_unstable_by(|a, b| {
            let by_id = || self.graph.id(a.to).cmp(&self.graph.id(b.to));
            a.distance.total_cmp(&b.distance).then_with(by_id)
        });
        Ok(links.into_iter().map(|link| link.to).collect())
    }

    /// Deletes the links from and to a vertex; returns the places of the neighbors that linked to
    /// it.
    fn cut_off(
        &mut self,
        number: u32,
        layer: usize,
        neighbors: &[u32],
    ) -> Result<Vec<usize>, S::Error> {
        let mut incoming = Vec::new();
        for (place, &neighbor) in neighbors.iter().enumerate() {
            self.check()?;
            self.read(neighbor, layer)?;
            if leads_to(self.graph.links(neighbor, layer), number) {
                incoming.push(place);
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
}
