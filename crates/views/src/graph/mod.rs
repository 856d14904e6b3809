//! Graphs: edges with an optional weight and properties, indexed by source and by target.
//!
//! # Why two keyspaces
//! `NAME {src, dst => weight}` serves outgoing edges, `NAME:rev {dst, src => weight}` incoming
//! edges. One batch writes both and one snapshot reads both, so they never disagree.
//!
//! # Why undirected edges are stored in one order of their ends
//! An edge of an undirected graph is a row of each keyspace too, so it costs what a directed edge
//! costs: `NAME` has it under its smaller end, `NAME:rev` under its larger one. A read of a vertex
//! reads both. Under both ends in `NAME`, a relation with each edge once would need another copy.
//!
//! # Invariants
//! 1. Every edge is in both directions with the same weight and properties.
//! 2. A read that needs both directions takes one snapshot for them.
//! 3. String vertices: every id of an edge has a name, every name has one id, and ids are never
//!    reused. A vertex with properties has a name too.
//! 4. Undirected graphs: no source is above its target.
//!
//! # Parallel edges
//! A graph of parallel edges has a third key column in both directions, which is an integer. Reads
//! of vertices return each of its edges, with their keys, and other ends once.

mod check;
mod compare;
mod edges;
mod export;
mod names;
mod properties;
mod read;
mod reconcile;
mod scan;
mod scratch;
mod side;
mod write;

pub use check::GraphCheck;
pub use compare::RowProgress;
pub use edges::{Edges, Weight, Weights, WeightsRef};
pub use names::{VertexColumn, VertexList};
pub use reconcile::{GraphDoubts, InDoubt, Reconciled};
pub use relation::{ABSENT, GraphDef, GraphPart, VertexType, WeightType};
pub use scan::{EdgeScan, VertexScan};

use crate::parts::{ATTEMPTS_MAX, find_with_parts};
use crate::source::Source;
use crate::transaction::SharedTransaction;
use base::KeyspaceId;
use base::shape::int_to_word;
pub(crate) use edges::weight_words;
pub(crate) use names::Dictionary;
pub(crate) use properties::fill_nulls;
use relation::{Definition, ValueColumn, check_name, invalid};
use scratch::Layout;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};
use store::{Error, ErrorKind, NewKeyspace, Read, Result, Snapshot, Store};

/// A graph with at most one edge from one vertex to another, or with several that have keys
/// ([`GraphDef::is_keyed`]). Cheap to clone; threads may share it.
///
/// In an undirected graph ([`GraphDef::is_undirected`]) calls take the ends of an edge in any
/// order. Outgoing and incoming edges of a vertex are all its edges there, with the vertex as their
/// source or target, by the other end. Scans of all edges have each edge once, its smaller end
/// first.
///
/// Inside, vertices are words (see [`VertexType`]). Calls take and return `u64` words;
/// [`Graph::to_words`] and [`Graph::to_vertices`] convert them.
///
/// # Errors
/// Every call: [`ErrorKind::Corruption`] and failed reads or writes; [`ErrorKind::InvalidInput`]
/// after the graph was dropped or its transaction has ended. Reading an absent vertex is not an
/// error.
#[derive(Clone)]
pub struct Graph {
    core: Arc<Core>,
    source: Source,
}

/// State that all handles of a graph share, whatever they read from.
struct Core {
    def: GraphDef,
    forward: KeyspaceId,
    reverse: KeyspaceId,
    dictionary: Option<Dictionary>,
    /// The relation of vertices.
    nodes: Option<KeyspaceId>,
    /// The columns of edges.
    layout: Layout,
    /// The store of the graph. Weak, so that a handle does not keep the database open.
    store: Weak<dyn Store>,
}

impl Graph {
    /// Opens the graph, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the name is invalid or taken by something else, or the graph
    /// exists with other types or properties; the message names both. The properties cannot be
    /// stored ([`GraphDef::check`]).
    pub fn open(store: Arc<dyn Store>, def: GraphDef) -> Result<Self> {
        Self::open_or_create(store, def).map(|(graph, _)| graph)
    }

    /// As [`Graph::open`]; also returns whether this call created the graph.
    ///
    /// # Errors
    /// As [`Graph::open`].
    pub fn open_or_create(store: Arc<dyn Store>, def: GraphDef) -> Result<(Self, bool)> {
        check_name(&def.name)?;
        def.check()?;
        // Two callers may create it at the same time: the second finds the graph of the first.
        for _ in 0..ATTEMPTS_MAX {
            if let Some(graph) = Self::find(Arc::clone(&store), &def.name)? {
                check_same(graph.def(), &def)?;
                return Ok((graph, false));
            }
            let new: Vec<_> = def.parts().iter().map(|&part| new_keyspace(&def, part)).collect();
            match store.create_keyspaces(&new) {
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                created => {
                    let core = Core::new(def, &created?, &store)?;
                    let source = Source::Store(store);
                    return Ok((Self { core: Arc::new(core), source }, true));
                }
            }
        }
        Err(invalid(format!("the graph {:?} cannot be created: a part's name is taken", def.name)))
    }

    /// Opens the graph with this name, with the types it was created with; `None` if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to something other than a graph.
    pub fn find(store: Arc<dyn Store>, name: &str) -> Result<Option<Self>> {
        let found = find_with_parts(&*store, name, |info| {
            let Definition::Graph(def, GraphPart::Forward) = Definition::decode(info)? else {
                return Err(invalid(format!("{name:?} is not a graph")));
            };
            let mut ids = Vec::new();
            for &part in def.parts() {
                let name = def.keyspace_name(part);
                let info = store.keyspace_named(&name).ok_or_else(|| {
                    damaged(format!("the graph {:?} has lost its keyspace {name:?}", def.name))
                })?;
                if Definition::decode(&info)? != Definition::Graph(def.clone(), part) {
                    let what =
                        format!("the keyspace {name:?} does not fit the graph {:?}", def.name);
                    return Err(damaged(what));
                }
                ids.push(info.id);
            }
            Core::new(def, &ids, &store)
        })?;
        Ok(found.map(|core| Self { core: Arc::new(core), source: Source::Store(store) }))
    }

    /// The same graph in a transaction: reads see its snapshot and its own writes.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        let source = Source::Transaction(Arc::clone(transaction));
        Self { core: Arc::clone(&self.core), source }
    }

    /// The same graph at a snapshot. It is read-only.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        Self { core: Arc::clone(&self.core), source: Source::Snapshot(Arc::clone(snapshot)) }
    }

    /// The same graph at a new snapshot, if it was read through the store.
    fn held(&self) -> Self {
        Self { core: Arc::clone(&self.core), source: self.source.held() }
    }

    /// Name, types and properties.
    #[must_use]
    pub fn def(&self) -> &GraphDef {
        &self.core.def
    }

    /// Name of the graph.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.def.name
    }

    /// The keyspace of a part; `None` if the graph has no such part.
    #[must_use]
    pub fn keyspace(&self, part: GraphPart) -> Option<KeyspaceId> {
        let dictionary = self.core.dictionary.as_ref();
        match part {
            GraphPart::Forward => Some(self.core.forward),
            GraphPart::Reverse => Some(self.core.reverse),
            GraphPart::Ids => dictionary.map(|dictionary| dictionary.stored.ids),
            GraphPart::Names => dictionary.map(|dictionary| dictionary.stored.names),
            GraphPart::Nodes => self.core.nodes,
        }
    }

    /// The store, unless the graph is in a transaction or at a snapshot.
    pub(crate) fn store(&self) -> Option<&Arc<dyn Store>> {
        self.source.store()
    }

    /// Whether the absolute path `path` lies in a folder of the graph's database.
    #[must_use]
    pub fn is_stored_with(&self, path: &Path) -> bool {
        self.core.store.upgrade().is_some_and(|store| store.holds(path))
    }

    /// The dictionary of string vertices.
    pub(crate) fn dictionary(&self) -> Option<&Dictionary> {
        self.core.dictionary.as_ref()
    }

    fn weighted(&self) -> bool {
        self.core.def.weight != WeightType::None
    }

    #[inline]
    fn is_keyed(&self) -> bool {
        self.core.def.is_keyed
    }

    /// Refuses a call that names an edge by its ends alone, where edges have keys.
    pub(crate) fn refuse_keyed(&self, hint: &str) -> Result<()> {
        if !self.is_keyed() {
            return Ok(());
        }
        let what = format!("edges of graph {:?} have keys, and none was given", self.name());
        Err(invalid(format!("{what}\nhint: {hint}")))
    }

    /// Refuses a key where edges have none.
    fn refuse_keys(&self) -> Result<()> {
        if self.is_keyed() {
            return Ok(());
        }
        Err(invalid(format!("edges of graph {:?} have no keys", self.name())))
    }

    #[inline]
    fn is_undirected(&self) -> bool {
        self.core.def.is_undirected
    }

    /// Fills empty key columns of the forward direction with edges, which callers give in any order
    /// of their ends. `keys` has a key for each edge where edges have keys.
    fn fill_keys(&self, columns: &mut [Vec<u64>], us: &[u64], vs: &[u64], keys: &[i64]) {
        let [srcs, dsts, rest @ ..] = columns else { return };
        srcs.extend_from_slice(us);
        dsts.extend_from_slice(vs);
        if self.is_undirected() {
            order_ends(srcs, dsts);
        }
        for column in rest {
            column.extend(keys.iter().map(|&key| int_to_word(key)));
        }
    }

    /// Reads the newest state. Two calls may see different states.
    #[inline]
    fn read<R>(&self, f: impl FnOnce(&dyn Read) -> Result<R>) -> Result<R> {
        self.source.read(f)
    }

    /// Reads one snapshot, for operations that need more than one read.
    fn read_snapshot<R>(&self, f: impl FnOnce(&dyn Read) -> Result<R>) -> Result<R> {
        self.source.read_snapshot(f)
    }
}

impl Core {
    /// `ids` are the keyspaces of `def.parts()`, in that order.
    fn new(def: GraphDef, ids: &[KeyspaceId], store: &Arc<dyn Store>) -> Result<Self> {
        if ids.len() != def.parts().len() {
            return Err(invalid("the store did not create the keyspaces asked for"));
        }
        let of = |part| def.parts().iter().position(|&one| one == part).map(|at| ids[at]);
        let dictionary = of(GraphPart::Ids).zip(of(GraphPart::Names));
        Ok(Self {
            forward: ids[0],
            reverse: ids[1],
            dictionary: dictionary.map(|(ids, names)| Dictionary::new(ids, names)),
            nodes: of(GraphPart::Nodes),
            layout: Layout {
                keys: def.edge_key_columns(),
                values: def.shape(GraphPart::Forward).values.into(),
            },
            store: Arc::downgrade(store),
            def,
        })
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("def", self.def()).field("through", &self.source).finish()
    }
}

/// Makes each end in `us` the smaller one of its edge.
pub(crate) fn order_ends(us: &mut [u64], vs: &mut [u64]) {
    for (u, v) in us.iter_mut().zip(vs) {
        if *v < *u {
            std::mem::swap(u, v);
        }
    }
}

fn new_keyspace(def: &GraphDef, part: GraphPart) -> NewKeyspace {
    NewKeyspace {
        name: def.keyspace_name(part),
        shape: def.shape(part),
        definition: Definition::Graph(def.clone(), part).encode(),
    }
}

fn check_same(stored: &GraphDef, wanted: &GraphDef) -> Result<()> {
    let name = &stored.name;
    if stored.vertex != wanted.vertex {
        return Err(invalid(format!(
            "the graph {name:?} has {} vertices, {} were asked for",
            stored.vertex, wanted.vertex
        )));
    }
    if stored.weight != wanted.weight {
        return Err(invalid(format!(
            "the graph {name:?} has weights of type {}, {} was asked for",
            stored.weight, wanted.weight
        )));
    }
    if stored.is_undirected != wanted.is_undirected {
        let text = |is_undirected| if is_undirected { "undirected" } else { "directed" };
        return Err(invalid(format!(
            "the graph {name:?} is {}, one that is {} was asked for",
            text(stored.is_undirected),
            text(wanted.is_undirected)
        )));
    }
    if stored.is_keyed != wanted.is_keyed {
        let text = |is_keyed| if is_keyed { "keys" } else { "no keys" };
        return Err(invalid(format!(
            "the edges of graph {name:?} have {}, {} were asked for",
            text(stored.is_keyed),
            text(wanted.is_keyed)
        )));
    }
    for (of, stored, wanted) in [
        ("edges", Some(&stored.edges), Some(&wanted.edges)),
        ("vertices", stored.nodes.as_ref(), wanted.nodes.as_ref()),
    ] {
        if stored != wanted {
            let (stored, wanted) = (columns_text(stored), columns_text(wanted));
            return Err(invalid(format!(
                "the {of} of graph {name:?} have {stored}, {wanted} were asked for"
            )));
        }
    }
    Ok(())
}

/// Properties for a message.
fn columns_text(columns: Option<&Vec<ValueColumn>>) -> String {
    let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
        let what = if columns.is_some() { "no properties" } else { "no rows of their own" };
        return what.to_owned();
    };
    let text = |column: &ValueColumn| {
        let null = if column.nullable { "?" } else { "" };
        format!("{}: {}{null}", column.name, column.column_type)
    };
    let all: Vec<String> = columns.iter().map(text).collect();
    format!("the properties {{{}}}", all.join(", "))
}

/// The error of stored data that is inconsistent.
fn damaged(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corruption, what)
}
