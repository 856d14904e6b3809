//! The graph in memory: vectors, and the links of each vertex in each of its layers.
//!
//! # Invariants
//! Where a link leads from `a` to `b` in a layer, both know it:
//! 1. `a` has `b` among its links.
//! 2. `b` has `a` among its links, or among its *pruned* ones: vertices that link to `b` while `b`
//!    does not link back.
//!
//! So the links that lead to a vertex are found at the vertex. Vertices whose links in a layer were
//! not read yet are exempt; an [`Editor`](super::Editor) reads them before it changes anything.

use super::metric::{Metric, Query};
use super::vertex_id::VertexId;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// How a graph is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphSettings {
    /// Numbers in a vector.
    pub dim: usize,
    /// How distances are measured.
    pub metric: Metric,
    /// Links of a new vertex in a layer, at most (`M` in the paper). A vertex has up to twice as
    /// many in layer 0.
    pub m: usize,
    /// Candidates for the links of a new vertex (`efConstruction`).
    pub ef_construction: usize,
    /// Whether neighbors of candidates are candidates (`extendCandidates`).
    pub extends_candidates: bool,
    /// Whether links that were refused fill up free places (`keepPrunedConnections`).
    pub keeps_pruned: bool,
}

impl GraphSettings {
    /// Links of a vertex in a layer, at most.
    #[must_use]
    pub fn links_max(&self, layer: usize) -> usize {
        if layer == 0 { 2 * self.m } else { self.m }
    }
}

/// A link to another vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Number of the vertex.
    pub to: u32,
    /// Its distance.
    pub distance: f32,
}

/// The links of a vertex in a layer.
#[derive(Clone, Debug, Default)]
pub(super) struct Adjacency {
    /// Whether they are in memory.
    pub(super) is_known: bool,
    pub(super) links: Vec<Link>,
    pub(super) pruned: Vec<Link>,
}

#[derive(Clone, Debug)]
struct Vertex {
    id: VertexId,
    is_present: bool,
    layers: Vec<Adjacency>,
}

/// A link as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRow {
    /// The vertex that it leads to.
    pub to: VertexId,
    /// Its distance.
    pub distance: f32,
    /// Whether it is a pruned one, which searches do not follow.
    pub is_pruned: bool,
}

/// Links by vertex and layer.
type LinkRows = BTreeMap<(VertexId, usize), Vec<LinkRow>>;

/// The changes of an [`Editor`](super::Editor).
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Vertices that are there and were not.
    pub added: Vec<VertexId>,
    /// Vertices that were there and are not.
    pub removed: Vec<VertexId>,
    /// Vertices that were removed and added again, with another vector.
    pub replaced: Vec<VertexId>,
    /// Links of changed vertices before and after, by vertex and layer, each ordered by id.
    pub links: BTreeMap<(VertexId, usize), (Vec<LinkRow>, Vec<LinkRow>)>,
}

/// The state before the first change.
#[derive(Clone, Debug, Default)]
struct Before {
    links: LinkRows,
    added: HashSet<VertexId>,
    removed: HashSet<VertexId>,
}

/// Vertices with their vectors and links. Vertices have numbers from 0.
#[derive(Clone, Debug)]
pub struct Graph {
    settings: GraphSettings,
    vertices: Vec<Vertex>,
    numbers: HashMap<VertexId, u32>,
    free: Vec<u32>,
    /// The vectors one after the other, by vertex.
    vectors: Vec<f32>,
    /// See [`Metric::inverse_norm`]; empty for metrics that do not need it.
    inverse_norms: Vec<f32>,
    /// The first vertex by id; `None` if that is not known.
    entry: Option<Option<u32>>,
    before: Option<Before>,
}

impl Graph {
    /// A graph without vertices. If it is a part of a stored one, an editor fetches the rest, and
    /// changes are recorded; else it is whole.
    #[must_use]
    pub fn new(settings: GraphSettings, is_part: bool) -> Self {
        Self {
            settings,
            vertices: Vec::new(),
            numbers: HashMap::new(),
            free: Vec::new(),
            vectors: Vec::new(),
            inverse_norms: Vec::new(),
            entry: (!is_part).then_some(None),
            before: is_part.then(Before::default),
        }
    }

    /// How it is made.
    #[must_use]
    pub fn settings(&self) -> &GraphSettings {
        &self.settings
    }

    /// Number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether it has no vertices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// An upper bound of the numbers of vertices.
    #[must_use]
    pub fn numbers_end(&self) -> usize {
        self.vertices.len()
    }

    /// The number of a vertex.
    #[must_use]
    pub fn number(&self, id: VertexId) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// The id of a vertex, if there is one with this number.
    #[must_use]
    pub fn id(&self, number: u32) -> Option<VertexId> {
        self.vertices.get(number as usize).filter(|one| one.is_present).map(|one| one.id)
    }

    /// Whether a vertex was there and is removed.
    #[must_use]
    pub fn is_removed(&self, id: VertexId) -> bool {
        self.before.as_ref().is_some_and(|before| before.removed.contains(&id))
            && !self.numbers.contains_key(&id)
    }

    /// The vector of a vertex.
    #[must_use]
    pub fn vector(&self, number: u32) -> &[f32] {
        let from = number as usize * self.settings.dim;
        self.vectors.get(from..from + self.settings.dim).unwrap_or_default()
    }

    /// The vertices that a vertex links to in a layer.
    #[must_use]
    pub fn links(&self, number: u32, layer: usize) -> &[Link] {
        self.adjacency(number, layer).map_or(&[], |adjacency| &adjacency.links)
    }

    /// Approximate size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let links = |adjacency: &Adjacency| {
            (adjacency.links.capacity() + adjacency.pruned.capacity()) * size_of::<Link>()
                + size_of::<Adjacency>()
        };
        let vertices = self.vertices.iter();
        let links: usize =
            vertices.map(|vertex| vertex.layers.iter().map(links).sum::<usize>()).sum();
        let vertex = size_of::<Vertex>() + 2 * size_of::<(VertexId, u32)>();
        let floats = self.vectors.capacity() + self.inverse_norms.capacity();
        (links + self.vertices.capacity() * vertex + floats * size_of::<f32>()) as u64
    }

    /// The distance of a vertex.
    #[inline]
    pub(super) fn distance(&self, from: &Query, to: u32) -> f32 {
        let to = (self.vector(to), self.inverse_norm(to));
        self.settings.metric.distance((&from.vector, from.inverse_norm), to)
    }

    /// The distance of two vertices.
    #[inline]
    pub(super) fn distance_between(&self, a: u32, b: u32) -> f32 {
        let (a, b) =
            ((self.vector(a), self.inverse_norm(a)), (self.vector(b), self.inverse_norm(b)));
        self.settings.metric.distance(a, b)
    }

    fn inverse_norm(&self, number: u32) -> f32 {
        self.inverse_norms.get(number as usize).copied().unwrap_or(1.0)
    }

    pub(super) fn entry(&self) -> Option<Option<u32>> {
        self.entry
    }

    /// Sets the entry to the first vertex of those in memory.
    pub(super) fn find_entry(&mut self) {
        let present = self.numbers.iter().min_by_key(|(id, _)| **id);
        self.entry = Some(present.map(|(_, &number)| number));
    }

    pub(super) fn adjacency(&self, number: u32, layer: usize) -> Option<&Adjacency> {
        self.vertices.get(number as usize)?.layers.get(layer)
    }

    /// The links of a vertex in a layer, to be changed.
    pub(super) fn change(&mut self, number: u32, layer: usize) -> Option<&mut Adjacency> {
        if let Some(before) = &self.before
            && let Some(id) = self.id(number)
            && !before.links.contains_key(&(id, layer))
        {
            let rows = self.link_rows(number, layer);
            if let Some(before) = &mut self.before {
                before.links.insert((id, layer), rows);
            }
        }
        self.vertices.get_mut(number as usize)?.layers.get_mut(layer)
    }

    /// The links of a vertex in a layer as they are stored, ordered by id.
    #[must_use]
    pub fn link_rows(&self, number: u32, layer: usize) -> Vec<LinkRow> {
        let Some(adjacency) = self.adjacency(number, layer) else { return Vec::new() };
        let row = |is_pruned: bool| {
            move |link: &Link| {
                let to = self.vertices.get(link.to as usize)?.id;
                Some(LinkRow { to, distance: link.distance, is_pruned })
            }
        };
        let links = adjacency.links.iter().filter_map(row(false));
        let mut rows: Vec<LinkRow> =
            links.chain(adjacency.pruned.iter().filter_map(row(true))).collect();
        rows.sort_unstable_by_key(|row| row.to);
        rows
    }

    /// Adds a vertex without links, or returns the number of the one that is there. `vector` has
    /// the graph's number of dimensions. `is_new` says that it is not a stored one.
    pub fn add_vertex(&mut self, id: VertexId, vector: &[f32], is_new: bool) -> u32 {
        if let Some(number) = self.number(id) {
            return number;
        }
        debug_assert_eq!(vector.len(), self.settings.dim, "the caller has compared them");
        let adjacency = Adjacency { is_known: is_new, ..Adjacency::default() };
        let vertex = Vertex { id, is_present: true, layers: vec![adjacency; id.layer() + 1] };
        let inverse_norm = self.settings.metric.inverse_norm(vector);
        let has_norms = self.settings.metric == Metric::Cosine;
        let number = match self.free.pop() {
            Some(number) => {
                let place = number as usize;
                self.vertices[place] = vertex;
                let from = place * self.settings.dim;
                self.vectors[from..from + self.settings.dim].copy_from_slice(vector);
                if has_norms {
                    self.inverse_norms[place] = inverse_norm;
                }
                number
            }
            None => {
                self.vertices.push(vertex);
                self.vectors.extend_from_slice(vector);
                if has_norms {
                    self.inverse_norms.push(inverse_norm);
                }
                self.vertices.len() as u32 - 1
            }
        };
        self.numbers.insert(id, number);
        if let Some(before) = self.before.as_mut().filter(|_| is_new) {
            before.added.insert(id);
        }
        if let Some(entry) = self.entry
            && entry.and_then(|entry| self.id(entry)).is_none_or(|entry| id < entry)
        {
            self.entry = Some(Some(number));
        }
        number
    }

    /// Removes a vertex, which no links lead to any more. Its number is free for other vertices,
    /// unless changes are recorded.
    pub fn remove_vertex(&mut self, number: u32) {
        let Some(id) = self.id(number) else { return };
        for layer in 0..=id.layer() {
            // Records what was there.
            self.change(number, layer);
        }
        let vertex = &mut self.vertices[number as usize];
        vertex.is_present = false;
        vertex.layers = Vec::new();
        self.numbers.remove(&id);
        match &mut self.before {
            None => self.free.push(number),
            Some(before) => {
                if !before.added.remove(&id) {
                    before.removed.insert(id);
                }
            }
        }
        if self.entry == Some(Some(number)) {
            self.entry = None;
            if self.before.is_none() {
                self.find_entry();
            }
        }
    }

    /// Replaces the vector of a vertex, whose links are set next.
    pub fn set_vector(&mut self, number: u32, vector: &[f32]) {
        let place = number as usize;
        let dim = self.settings.dim;
        if let Some(old) = self.vectors.get_mut(place * dim..(place + 1) * dim) {
            old.copy_from_slice(vector);
        }
        if let Some(old) = self.inverse_norms.get_mut(place) {
            *old = self.settings.metric.inverse_norm(vector);
        }
    }

    /// Sets the stored links of a vertex in a layer.
    pub fn set_links(&mut self, number: u32, layer: usize, links: Vec<Link>, pruned: Vec<Link>) {
        let vertex = self.vertices.get_mut(number as usize);
        if let Some(adjacency) = vertex.and_then(|vertex| vertex.layers.get_mut(layer)) {
            *adjacency = Adjacency { is_known: true, links, pruned };
        }
    }

    /// The changes since the graph was made.
    #[must_use]
    pub fn changes(&self) -> Changes {
        let Some(before) = &self.before else { return Changes::default() };
        let mut changes = Changes::default();
        for &id in &before.added {
            match before.removed.contains(&id) {
                true => changes.replaced.push(id),
                false => changes.added.push(id),
            }
        }
        let is_gone = |id: &&VertexId| !self.numbers.contains_key(*id);
        changes.removed.extend(before.removed.iter().filter(is_gone));
        for ids in [&mut changes.added, &mut changes.removed, &mut changes.replaced] {
            ids.sort_unstable();
        }
        for (&(id, layer), old) in &before.links {
            let new = self.number(id).map_or_else(Vec::new, |number| self.link_rows(number, layer));
            changes.links.insert((id, layer), (old.clone(), new));
        }
        changes
    }
}
