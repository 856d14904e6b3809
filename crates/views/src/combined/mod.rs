//! Combined values: byte strings by key that grow by a user-defined function, like counters of any
//! type that the caller can serialize.
//!
//! # Requirements on the function
//! An increment of a key is combined with the key's value. Increments may be combined with each
//! other before they meet the stored value, any number at a time. So the function must be
//! associative, and an increment must have the format of a value (the first one *is* the value).
//! Increments of one key by one thread are combined in the order of the calls. If transactions add
//! to keys that others also add to, the function must be commutative as well.
//!
//! # The write buffer
//! As in [`crate::counters`]: under durability `none` increments are combined in memory, where
//! reads of this process see them. They are written within a second, or earlier if there are many;
//! by [`Combined::flush`]; and before a transaction, a scan, a backup and the close. Writing reads
//! the stored values, combines and puts, in one transaction for up to a few thousand keys. Under
//! `os` and `sync` each call does this itself.
//!
//! # When the function fails
//! The call that needed the function returns its error, and nothing that was acknowledged changes:
//! - [`Combined::add`] and [`Combined::add_many`] fail if they call the function immediately. Under
//!   `os` and `sync` and in transactions they always do, and then nothing of the call is added.
//!   Under `none` they do so only for keys with a buffered increment, and then all other increments
//!   of the call are added.
//! - Under `none` the function may refuse an acknowledged increment later, when it meets the stored
//!   value. The increment stays in the buffer. The error comes from reads of this key, and from
//!   everything that writes the buffer: [`Combined::flush`], scans, statistics, a backup, a flush
//!   of the database, the begin of a database's transaction (for [`Combined::in_transaction`]), and
//!   the close of the database, which loses the increment. Other keys are written all the same.
//!   [`Combined::put`] and [`Combined::remove`] of the key discard the increment.
//!
//! # Invariants
//! 1. A set of combined values has one `Core` in a database, shared by all its handles, and one
//!    function.
//! 2. No value and no increment is longer than [`VALUE_BYTES_MAX`].
//! 3. The function is called under the lock of a shard of the buffer, or under one of the locks in
//!    `Core::adding`: outside of transactions two threads never combine for one key at the same
//!    time.

mod combiner;
mod read;
mod write;

pub use combiner::{Combiner, VALUE_BYTES_MAX};
pub use read::{CombinedRows, CombinedScan};
pub use relation::CombinedDef;

use crate::keys::empty_keys;
use crate::source::Source;
use crate::transaction::SharedTransaction;
use crate::write_buffer::{Buffered, Buffering, Schedule, Steps, WriteBuffer};
use base::{Batch, BytesColumn, Column, KeyspaceId};
use combiner::CombineFn;
use env::Env;
use env::sync::Mutex;
use env::sync::atomic::AtomicBool;
use relation::{Definition, KeyType, invalid};
use std::fmt;
use std::sync::{Arc, Weak};
use store::{Durability, Result, Snapshot, Store};

/// Byte strings by key, combined by a user-defined function. Cheap to clone; threads may share it.
///
/// # Errors
/// Every call: [`store::ErrorKind::Corruption`] and failed reads or writes;
/// [`store::ErrorKind::InvalidInput`] if a key is not of the values' type, after the values were
/// dropped, or after their transaction has ended; errors of the function, see the module;
/// [`store::ErrorKind::Limit`] if the function returns more than [`VALUE_BYTES_MAX`] bytes.
#[derive(Clone)]
pub struct Combined {
    core: Arc<Core>,
    source: Source,
}

/// Number of locks for increments that are not buffered.
const LOCKS: usize = 64;

/// State that all handles of a set of combined values share, whatever they read from.
pub(crate) struct Core {
    def: CombinedDef,
    combine_fn: CombineFn,
    rows: KeyspaceId,
    store: Arc<dyn Store>,
    buffer: WriteBuffer<CombineFn>,
    rows_max: u64,
    bytes_max: u64,
    schedule: Schedule,
    /// Locks by hash of the key. An increment that is not buffered holds them from its read to its
    /// write, so that many writers of one key do not conflict.
    adding: Box<[Mutex<()>]>,
    /// Set when nothing may be buffered any more: the database is closed, or the values are
    /// dropped.
    ended: AtomicBool,
}

impl Combined {
    pub(crate) fn of(core: Arc<Core>) -> Self {
        let source = Source::Store(Arc::clone(&core.store));
        Self { core, source }
    }

    /// The same values in a transaction: reads see its snapshot and its own writes.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        let source = Source::Transaction(Arc::clone(transaction));
        Self { core: Arc::clone(&self.core), source }
    }

    /// The same values at a snapshot. They are read-only.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        Self { core: Arc::clone(&self.core), source: Source::Snapshot(Arc::clone(snapshot)) }
    }

    /// Name and type of the keys.
    #[must_use]
    pub fn def(&self) -> &CombinedDef {
        &self.core.def
    }

    /// Name of the set of combined values.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.def.name
    }

    /// The keyspace that stores the values.
    #[must_use]
    pub fn keyspace(&self) -> KeyspaceId {
        self.core.rows
    }
}

impl Core {
    pub(crate) fn new(
        def: CombinedDef,
        combiner: Arc<dyn Combiner>,
        rows: KeyspaceId,
        store: Arc<dyn Store>,
        env: Arc<dyn Env>,
        buffering: &Buffering,
    ) -> Arc<Self> {
        let wait = buffering.durability == Durability::None && !store.is_read_only();
        let combine_fn = CombineFn::new(combiner, def.key);
        let steps = Steps::of(buffering.commit_rows);
        let buffer = WriteBuffer::of(def.key, wait, combine_fn.clone(), &*env, steps);
        Arc::new_cyclic(|me: &Weak<Self>| Self {
            def,
            combine_fn,
            rows,
            store,
            buffer,
            rows_max: buffering.rows_max,
            bytes_max: buffering.bytes_max,
            schedule: Schedule::new(env, me.clone()),
            adding: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            ended: AtomicBool::new(false),
        })
    }

    fn check_open(&self) -> Result<()> {
        self.check_process()?;
        if self.is_ended() {
            self.store.check_open()?;
            let name = &self.def.name;
            return Err(invalid(format!("the values {name:?} are closed or dropped")));
        }
        Ok(())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if !self.is_ended() && self.check_process().is_ok() {
            // Best effort, like everything that a database does when it is dropped without a close.
            let _ = self.flush_buffer();
        }
    }
}

impl fmt::Debug for Combined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Combined").field("def", self.def()).field("through", &self.source).finish()
    }
}

/// The combined values that a keyspace's definition describes.
pub(crate) fn def_of(info: &store::KeyspaceInfo) -> Result<CombinedDef> {
    match Definition::decode(info)? {
        Definition::Relation(schema) => CombinedDef::of_schema(&schema),
        _ => None,
    }
    .ok_or_else(|| invalid(format!("{:?} are no combined values", info.name)))
}

/// Checks that open combined values have the requested type of keys and function.
pub(crate) fn check_same(
    open: &Combined,
    wanted: &CombinedDef,
    combiner: &dyn Combiner,
) -> Result<()> {
    let (name, key) = (&wanted.name, open.def().key);
    if key != wanted.key {
        return Err(invalid(format!(
            "the values {name:?} have {key} keys, {} were asked for",
            wanted.key
        )));
    }
    let (there, given) = (open.core.combine_fn.name(), combiner.name());
    if there != given {
        return Err(invalid(format!(
            "the values {name:?} are open with the function {there:?}, {given:?} was given"
        )));
    }
    Ok(())
}

/// An empty batch in the shape of combined values.
fn empty_rows(key: KeyType) -> Batch {
    Batch { rows: 0, keys: empty_keys(key), values: vec![Column::Bytes(BytesColumn::default())] }
}

/// The value column of a batch.
fn values(rows: &Batch) -> &BytesColumn {
    match &rows.values[0] {
        Column::Bytes(values) => values,
        Column::Words(_) => unreachable!("combined values are bytes"),
    }
}
