//! Adds vertices to a graph: algorithm 1. `remove.rs` removes them.

use super::graph::{Graph, Link};
use super::search::{GraphView, Near, search_layer};
use super::select::{Choice, select};
use super::vertex_id::VertexId;

/// Vertices that are asked whether they have room for one more link.
const ASKED_FOR_ROOM: usize = 16;

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
            if self.is_before(number, entry) {
                self.ensure_before(entry, layer, &[number])?;
            } else {
                let others = found.iter().map(|near| near.number).chain([entry]);
                self.ensure_before(number, layer, &others.collect::<Vec<u32>>())?;
            }
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
    /// last one that leads to a vertex from one before it, or the last one that leads to a vertex
    /// before this one.
    pub(super) fn relink(
        &mut self,
        number: u32,
        layer: usize,
        mut links: Vec<Link>,
    ) -> Result<(), S::Error> {
        self.read(number, layer)?;
        let old = self.graph.links(number, layer).to_vec();
        if !self.leads_before(number, &links) {
            let before = old.iter().filter(|link| self.is_before(link.to, number));
            links.extend(before.min_by(|a, b| a.distance.total_cmp(&b.distance)).copied());
        }
        for link in &old {
            if leads_to(&links, link.to) {
                continue;
            }
            self.read(link.to, layer)?;
            let is_before = self.is_before(number, link.to);
            if is_before && !self.has_link_from_before(link.to, layer, Some(number))? {
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

    /// Whether a vertex comes before another one by id.
    fn is_before(&self, one: u32, other: u32) -> bool {
        self.graph.id(one) < self.graph.id(other)
    }

    /// Whether one of some links leads to a vertex before this one.
    fn leads_before(&self, number: u32, links: &[Link]) -> bool {
        links.iter().any(|link| self.is_before(link.to, number))
    }

    /// Whether a link leads to a vertex from one before it, other than `besides`.
    fn has_link_from_before(
        &mut self,
        number: u32,
        layer: usize,
        besides: Option<u32>,
    ) -> Result<bool, S::Error> {
        self.read(number, layer)?;
        let Some(own) = self.graph.adjacency(number, layer) else { return Ok(true) };
        let is_sought = |link: &&Link| Some(link.to) != besides && self.is_before(link.to, number);
        if own.pruned.iter().any(|link| is_sought(&link)) {
            return Ok(true);
        }
        let before: Vec<u32> = own.links.iter().filter(is_sought).map(|link| link.to).collect();
        for other in before {
            self.read(other, layer)?;
            if leads_to(self.graph.links(other, layer), number) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sees to it that a vertex has a link to one before it and a link from one before it, where
    /// there is one among `others`.
    pub(super) fn ensure_before(
        &mut self,
        number: u32,
        layer: usize,
        others: &[u32],
    ) -> Result<(), S::Error> {
        self.read(number, layer)?;
        let has_link_to = self.leads_before(number, self.graph.links(number, layer));
        let has_link_from = self.has_link_from_before(number, layer, None)?;
        if has_link_to && has_link_from {
            return Ok(());
        }
        let Some(near) = self.one_before(number, layer, others)? else { return Ok(()) };
        let (to, distance) = (near.number, near.distance);
        if !has_link_to {
            self.add_link(number, layer, Link { to, distance })?;
        }
        if !has_link_from {
            self.add_link(to, layer, Link { to: number, distance })?;
        }
        Ok(())
    }

    /// The nearest of some vertices before a vertex that has room for a link; if none of the
    /// nearest has, the nearest.
    fn one_before(
        &mut self,
        number: u32,
        layer: usize,
        others: &[u32],
    ) -> Result<Option<Near>, S::Error> {
        let before = others.iter().filter(|&&other| self.is_before(other, number));
        let near = |&number_of: &u32| {
            let distance = self.graph.distance_between(number, number_of);
            Near { distance, number: number_of }
        };
        let mut before: Vec<Near> = before.map(near).collect();
        before.sort_unstable();
        let links_max = self.graph.settings().links_max(layer);
        for near in before.iter().take(ASKED_FOR_ROOM) {
            self.read(near.number, layer)?;
            if self.graph.links(near.number, layer).len() < links_max {
                return Ok(Some(*near));
            }
        }
        Ok(before.first().copied())
    }

    /// Adds a link, even if a vertex has too many then.
    fn add_link(&mut self, number: u32, layer: usize, link: Link) -> Result<(), S::Error> {
        self.read(number, layer)?;
        let mut links = self.graph.links(number, layer).to_vec();
        links.push(link);
        self.relink(number, layer, links)
    }
}

pub(super) fn leads_to(links: &[Link], number: u32) -> bool {
    links.iter().any(|link| link.to == number)
}
