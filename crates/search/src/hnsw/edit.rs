//! Adds vertices to a graph: algorithm 1. `remove.rs` removes them.

use super::graph::{Graph, Link};
use super::search::{GraphView, Near, search_layer};
use super::select::{Choice, select};
use super::vertex_id::VertexId;

/// Fetches parts of a stored graph.
pub trait Source {
    /// Why it fails.
    type Error;

    /// Adds the first stored vertex by id to the graph, of those that are not removed.
    ///
    /// # Errors
    /// Those of storage.
    fn read_entry(&mut self, graph: &mut Graph) -> Result<(), Self::Error>;

    /// Sets the links of a vertex in a layer, after it has added the vertices that they lead to.
    ///
    /// # Errors
    /// Those of storage.
    fn read_links(
        &mut self,
        graph: &mut Graph,
        number: u32,
        layer: usize,
    ) -> Result<(), Self::Error>;

    /// Called now and then, with the graph.
    ///
    /// # Errors
    /// Once the work has to stop.
    fn check(&mut self, graph: &Graph) -> Result<(), Self::Error>;
}

/// The source of a graph that is whole. Calls a function now and then.
pub struct WholeSource<C>(pub C);

impl<E, C: FnMut(&Graph) -> Result<(), E>> Source for WholeSource<C> {
    type Error = E;

    fn read_entry(&mut self, _: &mut Graph) -> Result<(), E> {
        Ok(())
    }

    fn read_links(&mut self, _: &mut Graph, _: u32, _: usize) -> Result<(), E> {
        Ok(())
    }

    fn check(&mut self, graph: &Graph) -> Result<(), E> {
        (self.0)(graph)
    }
}

/// A whole graph that is only read. Calls `check` now and then.
pub struct WholeGraph<'g, C> {
    /// The graph.
    pub graph: &'g Graph,
    /// Returns an error once a search has to stop.
    pub check: C,
}

impl<E, C: FnMut() -> Result<(), E>> GraphView for WholeGraph<'_, C> {
    type Error = E;

    fn graph(&self) -> &Graph {
        self.graph
    }

    fn read(&mut self, _: u32, _: usize) -> Result<(), E> {
        Ok(())
    }

    fn entry(&mut self) -> Result<Option<u32>, E> {
        Ok(self.graph.entry().flatten())
    }

    fn check(&mut self) -> Result<(), E> {
        (self.check)()
    }
}

/// Changes a graph, and searches one that is stored.
pub struct Editor<'g, S> {
    /// The part of the graph that is in memory.
    pub graph: &'g mut Graph,
    /// Fetches the rest.
    pub source: &'g mut S,
}

impl<S: Source> GraphView for Editor<'_, S> {
    type Error = S::Error;

    fn graph(&self) -> &Graph {
        self.graph
    }

    fn read(&mut self, number: u32, layer: usize) -> Result<(), S::Error> {
        match self.graph.adjacency(number, layer) {
            Some(adjacency) if !adjacency.is_known => {
                self.source.read_links(self.graph, number, layer)
            }
            _ => Ok(()),
        }
    }

    fn entry(&mut self) -> Result<Option<u32>, S::Error> {
        if self.graph.entry().is_none() {
            self.source.read_entry(self.graph)?;
            self.graph.find_entry();
        }
        Ok(self.graph.entry().flatten())
    }

    fn check(&mut self) -> Result<(), S::Error> {
        self.source.check(self.graph)
    }
}

impl<S: Source> Editor<'_, S> {
    /// Algorithm 1: adds a vertex and links it. It must not be there yet. `vector` has the graph's
    /// number of dimensions.
    ///
    /// # Errors
    /// Those of the source. The graph must not be used then.
    pub fn insert(&mut self, id: VertexId, vector: &[f32]) -> Result<(), S::Error> {
        let entry = self.entry()?;
        let number = self.graph.add_vertex(id, vector, true);
        let Some(entry) = entry else { return Ok(()) };
        let query = self.graph.settings().metric.query(vector.to_vec());
        let mut found = vec![Near { distance: self.graph.distance(&query, entry), number: entry }];
        let top = self.graph.id(entry).map_or(0, VertexId::layer);
        for layer in (id.layer() + 1..=top).rev() {
            found = search_layer(self, &query, found, 1, layer)?;
        }
        let settings = self.graph.settings();
        let (links_max, ef) = (settings.m, settings.ef_construction.max(1));
        let extends = settings.extends_candidates;
        for layer in (0..=id.layer().min(top)).rev() {
            found = search_layer(self, &query, found, ef, layer)?;
            let choice = Choice { of: number, layer, links_max, extends };
            let chosen = select(self, choice, found.clone())?;
            self.relink(number, layer, chosen.clone())?;
            for link in chosen {
                let back = Link { to: number, distance: link.distance };
                self.link_back(link.to, layer, back)?;
            }
            self.ensure_incoming(number, layer)?;
        }
        self.check()
    }

    /// Adds a link, unless it is there, and chooses among all links of the vertex where these are
    /// too many.
    pub(super) fn link_back(
        &mut self,
        number: u32,
        layer: usize,
        link: Link,
    ) -> Result<(), S::Error> {
        let links_max = self.graph.settings().links_max(layer);
        self.read(number, layer)?;
        let mut links = self.graph.links(number, layer).to_vec();
        if leads_to(&links, link.to) {
            return Ok(());
        }
        links.push(link);
        if links.len() > links_max {
            let near = |link: &Link| Near { distance: link.distance, number: link.to };
            let choice = Choice { of: number, layer, links_max, extends: false };
            links = select(self, choice, links.iter().map(near).collect())?;
        }
        self.relink(number, layer, links)
    }

    /// Sets the links of a vertex, and what the other ends know of them. A link stays if it is the
    /// last one that leads to a vertex.
    pub(super) fn relink(
        &mut self,
        number: u32,
        layer: usize,
        mut links: Vec<Link>,
    ) -> Result<(), S::Error> {
        self.read(number, layer)?;
        let old = self.graph.links(number, layer).to_vec();
        for link in &old {
            if leads_to(&links, link.to) {
                continue;
            }
            self.read(link.to, layer)?;
            if !self.has_incoming(link.to, layer, Some(number))? {
                links.push(*link);
            } else if leads_to(self.graph.links(link.to, layer), number) {
                if let Some(own) = self.graph.change(number, layer) {
                    own.pruned.push(*link);
                }
            } else if let Some(other) = self.graph.change(link.to, layer) {
                other.pruned.retain(|pruned| pruned.to != number);
            }
        }
        for link in &links {
            if leads_to(&old, link.to) {
                continue;
            }
            self.read(link.to, layer)?;
            let is_pruned = |link: &Link| {
                let own = self.graph.adjacency(number, layer);
                own.is_some_and(|own| leads_to(&own.pruned, link.to))
            };
            if is_pruned(link) {
                if let Some(own) = self.graph.change(number, layer) {
                    own.pruned.retain(|pruned| pruned.to != link.to);
                }
            } else if let Some(other) = self.graph.change(link.to, layer) {
                other.pruned.push(Link { to: number, distance: link.distance });
            }
        }
        if links != old
            && let Some(own) = self.graph.change(number, layer)
        {
            own.links = links;
        }
        Ok(())
    }

    /// Whether a link leads to a vertex, from another one than `besides`.
    pub(super) fn has_incoming(
        &mut self,
        number: u32,
        layer: usize,
        besides: Option<u32>,
    ) -> Result<bool, S::Error> {
        self.read(number, layer)?;
        let Some(own) = self.graph.adjacency(number, layer) else { return Ok(true) };
        if own.pruned.iter().any(|link| Some(link.to) != besides) {
            return Ok(true);
        }
        for place in 0..own.links.len() {
            let Some(link) = self.graph.links(number, layer).get(place).copied() else { break };
            if Some(link.to) == besides {
                continue;
            }
            self.read(link.to, layer)?;
            if leads_to(self.graph.links(link.to, layer), number) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the nearest neighbor of a vertex link to it if no other vertex does. That neighbor may
    /// have one link too many then.
    pub(super) fn ensure_incoming(&mut self, number: u32, layer: usize) -> Result<(), S::Error> {
        if self.has_incoming(number, layer, None)? {
            return Ok(());
        }
        let own = self.graph.links(number, layer).iter();
        let Some(nearest) = own.min_by(|a, b| a.distance.total_cmp(&b.distance)).copied() else {
            return Ok(());
        };
        self.read(nearest.to, layer)?;
        let mut links = self.graph.links(nearest.to, layer).to_vec();
        links.push(Link { to: number, distance: nearest.distance });
        self.relink(nearest.to, layer, links)
    }
}

pub(super) fn leads_to(links: &[Link], number: u32) -> bool {
    links.iter().any(|link| link.to == number)
}
