//! Directed graphs: edges with an optional weight, found by either end.
//!
//! # Why two keyspaces
//! `NAME {src, dst => weight}` answers what leaves a vertex, `NAME:rev {dst, src => weight}` what
//! arrives. Both are written in one batch and read as of one moment, so they never disagree.
//!
//! # Invariants
//! 1. Every edge is in both directions with one weight.
//! 2. A read that needs both directions takes one snapshot for them.
//! 3. Text vertices: every id of an edge has a name, every name one id, and ids are never reused.

mod check;
mod compare;
mod edges;
mod export;
mod names;
mod read;
mod reconcile;
mod scan;
mod scratch;
mod write;

pub use check::GraphCheck;
pub use compare::RowProgress;
pub use edges::{Edges, Weight, Weights, WeightsRef};
pub use names::{VertexColumn, VertexList};
pub use reconcile::{Doubt, GraphDoubts, Reconciled};
pub use relation::{ABSENT, GraphDef, GraphPart, VertexType, WeightType};
pub use scan::EdgeScan;

use crate::SharedTransaction;
use crate::source::Source;
use base::KeyspaceId;
pub(crate) use edges::weight_words;
pub(crate) use names::Dictionary;
use relation::{Definition, check_name, invalid};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};
use store::{Error, ErrorKind, NewKeyspace, Read, Result, Snapshot, Store};

/// A directed graph: at most one edge from one vertex to another. Cheap to clone; threads may
/// share it.
///
/// Vertices are words inside (see [`VertexType`]): calls here take and give `u64` words, and
/// [`Graph::to_words`] and [`Graph::to_vertices`] translate.
///
/// # Errors
/// Every call: [`ErrorKind::Corruption`] and failures of the machine; [`ErrorKind::InvalidInput`]
/// after the graph was dropped or its transaction has ended. Reads of absent vertices are no
/// errors.
#[derive(Clone)]
pub struct Graph {
    core: Arc<Core>,
    source: Source,
}

/// What is known of a graph whatever it is read through.
struct Core {
    def: GraphDef,
    forward: KeyspaceId,
    reverse: KeyspaceId,
    dictionary: Option<Dictionary>,
    /// Where it is stored. Weak, so that a handle does not keep the database open.
    store: Weak<dyn Store>,
}

impl Graph {
    /// Opens the graph, creating it where it is not there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the name cannot be one, or is taken by something else; or the
    /// graph is there with another vertex or weight type: the message says both.
    pub fn open(store: Arc<dyn Store>, def: GraphDef) -> Result<Self> {
        check_name(&def.name)?;
        // Two may create it at once: the loser finds what the winner made.
        for _ in 0..2 {
            if let Some(graph) = Self::find(Arc::clone(&store), &def.name)? {
                check_types(graph.def(), &def)?;
                return Ok(graph);
            }
            let new: Vec<_> = def.parts().iter().map(|&part| new_keyspace(&def, part)).collect();
            match store.create_keyspaces(&new) {
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                created => {
                    let core = Core::new(def, &created?, &store)?;
                    return Ok(Self { core: Arc::new(core), source: Source::Store(store) });
                }
            }
        }
        Err(invalid(format!("the graph {:?} cannot be created: a part's name is taken", def.name)))
    }

    /// Opens the graph of this name, with the types it was created with.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where the name belongs to something other than a graph.
    pub fn find(store: Arc<dyn Store>, name: &str) -> Result<Option<Self>> {
        let Some(info) = store.keyspace_named(name) else { return Ok(None) };
        let Definition::Graph(def, GraphPart::Forward) = Definition::decode(&info)? else {
            return Err(invalid(format!("{name:?} is not a graph")));
        };
        let mut ids = Vec::new();
        for &part in def.parts() {
            let name = def.keyspace_name(part);
            let info = store.keyspace_named(&name).ok_or_else(|| {
                damaged(format!("the graph {:?} has lost its keyspace {name:?}", def.name))
            })?;
            if Definition::decode(&info)? != Definition::Graph(def.clone(), part) {
                return Err(damaged(format!("the keyspace {name:?} fits no graph {:?}", def.name)));
            }
            ids.push(info.id);
        }
        let core = Arc::new(Core::new(def, &ids, &store)?);
        Ok(Some(Self { core, source: Source::Store(store) }))
    }

    /// The same graph inside a transaction: reads see its snapshot and its own writes.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        let source = Source::Transaction(Arc::clone(transaction));
        Self { core: Arc::clone(&self.core), source }
    }

    /// The same graph as of a moment; it cannot be written.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        Self { core: Arc::clone(&self.core), source: Source::Snapshot(Arc::clone(snapshot)) }
    }

    /// The same graph as of now, where it was read through the store.
    fn held(&self) -> Self {
        Self { core: Arc::clone(&self.core), source: self.source.held() }
    }

    /// Name and types.
    #[must_use]
    pub fn def(&self) -> &GraphDef {
        &self.core.def
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.def.name
    }

    /// The keyspace of one of its parts; `None` for the dictionary of a graph without one.
    #[must_use]
    pub fn keyspace(&self, part: GraphPart) -> Option<KeyspaceId> {
        let dictionary = self.core.dictionary.as_ref();
        match part {
            GraphPart::Forward => Some(self.core.forward),
            GraphPart::Reverse => Some(self.core.reverse),
            GraphPart::Ids => dictionary.map(|dictionary| dictionary.stored.ids),
            GraphPart::Names => dictionary.map(|dictionary| dictionary.stored.names),
        }
    }

    /// The store, where the graph is neither in a transaction nor at a snapshot.
    pub(crate) fn store(&self) -> Option<&Arc<dyn Store>> {
        self.source.store()
    }

    /// Whether a file at `path`, an absolute path, would lie among the files of the graph's
    /// database.
    #[must_use]
    pub fn is_stored_with(&self, path: &Path) -> bool {
        self.core.store.upgrade().is_some_and(|store| store.holds(path))
    }

    /// The dictionary of text vertices.
    pub(crate) fn dictionary(&self) -> Option<&Dictionary> {
        self.core.dictionary.as_ref()
    }

    fn weighted(&self) -> bool {
        self.core.def.weight != WeightType::None
    }

    /// Reads the newest state, which may move on between two reads.
    #[inline]
    fn read<R>(&self, f: impl FnOnce(&dyn Read) -> Result<R>) -> Result<R> {
        self.source.read(f)
    }

    /// Reads one moment, for what needs more than one read.
    fn read_moment<R>(&self, f: impl FnOnce(&dyn Read) -> Result<R>) -> Result<R> {
        self.source.read_moment(f)
    }
}

impl Core {
    /// `ids` are those of the definition's parts, in their order.
    fn new(def: GraphDef, ids: &[KeyspaceId], store: &Arc<dyn Store>) -> Result<Self> {
        let store = Arc::downgrade(store);
        match (def.vertex, ids) {
            (VertexType::Str, &[forward, reverse, ids, names]) => {
                let dictionary = Some(Dictionary::new(ids, names));
                Ok(Self { def, forward, reverse, dictionary, store })
            }
            (VertexType::U64 | VertexType::I64, &[forward, reverse]) => {
                Ok(Self { def, forward, reverse, dictionary: None, store })
            }
            _ => Err(invalid("the store did not create the keyspaces asked for")),
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("def", self.def()).field("through", &self.source).finish()
    }
}

fn new_keyspace(def: &GraphDef, part: GraphPart) -> NewKeyspace {
    NewKeyspace {
        name: def.keyspace_name(part),
        shape: def.shape(part),
        definition: Definition::Graph(def.clone(), part).encode(),
    }
}

fn check_types(stored: &GraphDef, wanted: &GraphDef) -> Result<()> {
    if stored.vertex != wanted.vertex {
        return Err(invalid(format!(
            "the graph {:?} has {} vertices, {} were asked for",
            stored.name, stored.vertex, wanted.vertex
        )));
    }
    if stored.weight != wanted.weight {
        return Err(invalid(format!(
            "the graph {:?} has weights of type {}, {} was asked for",
            stored.name, stored.weight, wanted.weight
        )));
    }
    Ok(())
}

/// What is on disk does not fit together.
fn damaged(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corruption, what)
}
