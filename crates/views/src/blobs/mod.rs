//! Blobs: byte strings by key, from 0 bytes to 1 GiB each.
//!
//! # Why long values have their own keyspace
//! Every compaction rewrites all values of the tables it reads. So a value of [`LARGE_BYTES_MIN`]
//! bytes or more is split into chunks under an id in `NAME:large {id, chunk => bytes}`, and its row
//! holds the id. Ids ascend with time, so tables of chunks do not overlap and are not merged again.
//! Rows and chunks are both ordinary rows, so snapshots, backups, checks and recovery need no
//! special case. The decision and its costs: `docs/decisions/0011-blobs.md`.
//!
//! # Invariants
//! 1. A row has either a value, or the id and the length of its chunks.
//! 2. The chunks of an id are numbered from 0, all but the last have [`CHUNK_BYTES`] bytes, and
//!    they never change.
//! 3. An id belongs to at most one row, is never reused, and is never 0.
//! 4. Chunks are written in the commit of their row; or before it, under a note `{0, id}` that this
//!    commit removes. After a crash the next opening removes chunks that have a note. Until then
//!    only their writer may remove them.

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

use crate::parts::{ATTEMPTS_MAX, find_with_parts};
use crate::source::Source;
use crate::transaction::SharedTransaction;
use base::{KeyspaceId, Projection};
use env::Env;
use relation::{BlobsDef, BlobsPart, Definition, check_name, invalid};
use std::fmt;
use std::sync::Arc;
use store::{Error, ErrorKind, NewKeyspace, Result, Snapshot, Store};

/// Minimum length in bytes of values that are split into chunks.
pub const LARGE_BYTES_MIN: usize = 16 << 10;

/// Length of a chunk in bytes; the last chunk of a value may be shorter.
pub const CHUNK_BYTES: usize = 256 << 10;

/// Maximum length of a value in bytes.
pub const VALUE_BYTES_MAX: u64 = 1 << 30;

/// Projection of all columns but the key.
const VALUES: Projection = Projection { keys: 0, values: 7 };

/// Projection of the columns `large` and `bytes`.
const LARGE: Projection = Projection { keys: 0, values: 6 };

/// How values are split. The sizes are not stored: all users of a set of blobs must use the same.
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

/// A set of blobs: byte strings by key. Cheap to clone; threads may share it.
///
/// # Errors
/// Every call: [`ErrorKind::Corruption`] and failed reads or writes; [`ErrorKind::InvalidInput`] if
/// a key is not of the blobs' type, after the blobs were dropped, or after their transaction has
/// ended.
#[derive(Clone)]
pub struct Blobs {
    core: Arc<Core>,
    source: Source,
}

/// State that all handles of a set of blobs share, whatever they read from.
struct Core {
    def: BlobsDef,
    rows: KeyspaceId,
    large: KeyspaceId,
    env: Arc<dyn Env>,
    sizes: Sizes,
}

impl Blobs {
    /// Opens the blobs, and creates them if they do not exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the name is invalid or taken by something else, or the blobs
    /// exist with keys of another type.
    pub fn open(store: Arc<dyn Store>, env: Arc<dyn Env>, def: BlobsDef) -> Result<Self> {
        check_name(&def.name)?;
        // Two callers may create them at the same time: the second finds the blobs of the first.
        for _ in 0..ATTEMPTS_MAX {
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

    /// Opens the blobs with this name; `None` if there are none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to something else.
    pub fn find(store: Arc<dyn Store>, env: Arc<dyn Env>, name: &str) -> Result<Option<Self>> {
        let found = find_with_parts(&*store, name, |info| {
            let Definition::Blobs(def, BlobsPart::Rows) = Definition::decode(info)? else {
                return Err(invalid(format!("{name:?} are not blobs")));
            };
            let part = def.keyspace_name(BlobsPart::Large);
            let large = store.keyspace_named(&part);
            let large =
                large.ok_or_else(|| damaged(format!("{name:?} has lost its keyspace {part:?}")))?;
            if Definition::decode(&large)? != Definition::Blobs(def.clone(), BlobsPart::Large) {
                let what = format!("the keyspace {part:?} does not fit the blobs {name:?}");
                return Err(damaged(what));
            }
            let env = Arc::clone(&env);
            Ok(Core { def, rows: info.id, large: large.id, env, sizes: Sizes::default() })
        })?;
        Ok(found.map(|core| Self { core: Arc::new(core), source: Source::Store(store) }))
    }

    /// The same blobs with other sizes, for tests in which the usual sizes would take too long. All
    /// reads and writes of these blobs must use the same sizes.
    #[doc(hidden)]
    #[must_use]
    pub fn with_sizes(&self, large_bytes_min: usize, chunk_bytes: usize) -> Self {
        let Core { def, rows, large, env, .. } = &*self.core;
        let sizes = Sizes { large_bytes_min, chunk_bytes };
        let core =
            Core { def: def.clone(), rows: *rows, large: *large, env: Arc::clone(env), sizes };
        Self { core: Arc::new(core), source: self.source.clone() }
    }

    /// The same blobs in a transaction: reads see its snapshot and its own writes.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        let source = Source::Transaction(Arc::clone(transaction));
        Self { core: Arc::clone(&self.core), source }
    }

    /// The same blobs at a snapshot. They are read-only.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        Self { core: Arc::clone(&self.core), source: Source::Snapshot(Arc::clone(snapshot)) }
    }

    /// The same blobs at a new snapshot, if they were read through the store.
    fn held(&self) -> Self {
        Self { core: Arc::clone(&self.core), source: self.source.held() }
    }

    /// Name and type of the keys.
    #[must_use]
    pub fn def(&self) -> &BlobsDef {
        &self.core.def
    }

    /// Name of the set of blobs.
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

/// The error of stored data that is inconsistent.
fn damaged(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corruption, what)
}
