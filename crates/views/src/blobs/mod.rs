//! Byte strings by key: from nothing to a gibibyte each.
//!
//! # Why long values lie in a keyspace of their own
//! What shares tables with short values is rewritten with them at every compaction. So a value of
//! [`LARGE_BYTES_MIN`] bytes or more is cut into chunks under an id in `NAME:large {id, chunk => bytes}`, and its row
//! holds the id. Ids ascend with time, so tables of chunks follow one another and are not merged
//! again; and since both are ordinary rows, a snapshot, a backup, a check and a recovery treat them
//! as they treat all rows. The decision, and what it costs: `docs/decisions/0011-blobs.md`.
//!
//! # Invariants
//! 1. A row has a value, or the id of its chunks and their length; not both, and not neither.
//! 2. Chunks of an id are numbered from 0, all but the last have [`CHUNK_BYTES`] bytes, and never
//!    change.
//! 3. An id belongs to one row at most, is never used again, and is never 0.
//! 4. Chunks are written in the commit of their row, or before it under a note `{0, id}` that this
//!    commit removes. What a crash leaves under such a note is removed by the next opening; nobody
//!    but its writer takes chunks away that have a note.

mod check;
mod garbage;
mod large;
mod load;
mod measure;
mod read;
mod rows;
mod stream;
mod write;

pub use check::{BlobsCheck, BlobsReconciled};
pub use garbage::remove_unfinished;
pub use measure::Measure;
pub use read::{BlobScan, KeyScan};
pub use rows::BlobRows;
pub use stream::{BlobReader, BlobWriter};

use crate::SharedTransaction;
use crate::source::Source;
use base::{KeyspaceId, Projection};
use env::Env;
use relation::{BlobsDef, BlobsPart, Definition, check_name, invalid};
use std::fmt;
use std::sync::Arc;
use store::{Error, ErrorKind, NewKeyspace, Result, Snapshot, Store};

/// Values from this length on, in bytes, are cut into chunks.
pub const LARGE_BYTES_MIN: usize = 16 << 10;

/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = 256 << 10;

/// Longest value, in bytes.
pub const VALUE_BYTES_MAX: u64 = 1 << 30;

/// All columns but the key.
const VALUES: Projection = Projection { keys: 0, values: 7 };

/// Columns `large` and `bytes`.
const LARGE: Projection = Projection { keys: 0, values: 6 };

/// Where a value is cut. What is on disk does not say: all who open some blobs must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// See [`LARGE_BYTES_MIN`].
    pub(crate) large_bytes_min: usize,
    /// See [`CHUNK_BYTES`].
    pub(crate) chunk_bytes: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { large_bytes_min: LARGE_BYTES_MIN, chunk_bytes: CHUNK_BYTES }
    }
}

/// Byte strings by key. Cheap to clone; threads may share it.
///
/// # Errors
/// Every call: [`ErrorKind::Corruption`] and failures of the machine; [`ErrorKind::InvalidInput`]
/// where a key is not of the blobs' type, after they were dropped, or after their transaction has
/// ended.
#[derive(Clone)]
pub struct Blobs {
    core: Arc<Core>,
    source: Source,
}

/// What is known of blobs whatever they are read through.
struct Core {
    def: BlobsDef,
    rows: KeyspaceId,
    large: KeyspaceId,
    env: Arc<dyn Env>,
    sizes: Sizes,
}

impl Blobs {
    /// Opens the blobs, creating them where they are not there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the name cannot be one, or is taken by something else; or they have keys of
    /// another type.
    pub fn open(store: Arc<dyn Store>, env: Arc<dyn Env>, def: BlobsDef) -> Result<Self> {
        check_name(&def.name)?;
        // Two may create them at once: the loser finds what the winner made.
        for _ in 0..2 {
            if let Some(blobs) = Self::find(Arc::clone(&store), Arc::clone(&env), &def.name)? {
                if blobs.def().key != def.key {
                    return Err(invalid(format!(
                        "the blobs {:?} have {} keys, {} were asked for",
                        def.name,
                        blobs.def().key,
                        def.key
                    )));
                }
                return Ok(blobs);
            }
            let new = BlobsDef::PARTS.map(|part| NewKeyspace {
                name: def.keyspace_name(part),
                shape: def.shape(part),
                definition: Definition::Blobs(def.clone(), part).encode(),
            });
            match store.create_keyspaces(&new) {
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                created => {
                    let [rows, large] = created?[..] else {
                        return Err(invalid("the store did not create the keyspaces asked for"));
                    };
                    let core = Arc::new(Core { def, rows, large, env, sizes: Sizes::default() });
                    return Ok(Self { core, source: Source::Store(store) });
                }
            }
        }
        Err(invalid(format!("the blobs {:?} cannot be created: a part's name is taken", def.name)))
    }

    /// Opens the blobs of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where the name belongs to something else.
    pub fn find(store: Arc<dyn Store>, env: Arc<dyn Env>, name: &str) -> Result<Option<Self>> {
        let Some(info) = store.keyspace_named(name) else { return Ok(None) };
        let Definition::Blobs(def, BlobsPart::Rows) = Definition::decode(&info)? else {
            return Err(invalid(format!("{name:?} are no blobs")));
        };
        let part = def.keyspace_name(BlobsPart::Large);
        let large = store.keyspace_named(&part);
        let large =
            large.ok_or_else(|| damaged(format!("{name:?} has lost its keyspace {part:?}")))?;
        if Definition::decode(&large)? != Definition::Blobs(def.clone(), BlobsPart::Large) {
            return Err(damaged(format!("the keyspace {part:?} does not fit the blobs {name:?}")));
        }
        let core = Core { def, rows: info.id, large: large.id, env, sizes: Sizes::default() };
        let core = Arc::new(core);
        Ok(Some(Self { core, source: Source::Store(store) }))
    }

    /// The same blobs with other sizes, for tests in which the usual ones would take too much:
    /// whatever is written and read of them must be so with the same sizes, always.
    #[doc(hidden)]
    #[must_use]
    pub fn with_sizes(&self, large_bytes_min: usize, chunk_bytes: usize) -> Self {
        let Core { def, rows, large, env, .. } = &*self.core;
        let sizes = Sizes { large_bytes_min, chunk_bytes };
        let core =
            Core { def: def.clone(), rows: *rows, large: *large, env: Arc::clone(env), sizes };
        Self { core: Arc::new(core), source: self.source.clone() }
    }

    /// The same blobs inside a transaction: reads see its snapshot and its own writes.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        let source = Source::Transaction(Arc::clone(transaction));
        Self { core: Arc::clone(&self.core), source }
    }

    /// The same blobs as of a moment; they cannot be written.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        Self { core: Arc::clone(&self.core), source: Source::Snapshot(Arc::clone(snapshot)) }
    }

    /// The same blobs as of now, where they were read through the store.
    fn held(&self) -> Self {
        Self { core: Arc::clone(&self.core), source: self.source.held() }
    }

    /// Name and type of the keys.
    #[must_use]
    pub fn def(&self) -> &BlobsDef {
        &self.core.def
    }

    /// Their name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.def.name
    }
}

impl fmt::Debug for Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blobs").field("def", self.def()).field("through", &self.source).finish()
    }
}

/// What is on disk does not fit together.
fn damaged(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corruption, what)
}
