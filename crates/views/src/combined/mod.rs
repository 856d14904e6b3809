//! Byte strings by key that grow by a function of the caller's: counters of whatever the caller can
//! serialise.
//!
//! # What the function must do
//! What is added to a key is combined with what the key has. Increments are combined with one
//! another before they meet what is stored, and it is not told how many at a time: so the function
//! must be associative, and an increment is of the same kind as a value (the first one *is* the
//! value). Increments of one key by one thread are combined in the order in which they came. Where
//! transactions add to keys that others add to as well, the function must not mind the order.
//!
//! # What waits, and for how long
//! As in [`crate::counters`]: under durability `none` increments are combined in memory, where
//! reads of this process see them, and written a second later, or when they are many, or by
//! [`Combined::flush`], or before a transaction, a scan, a backup and the end. Writing reads what
//! the keys have, combines, and puts, in one transaction for some thousand keys. Under `os` and
//! `sync` each call does so itself.
//!
//! # When the function fails
//! Its error is handed to whoever made the call that needed it, and nothing that was acknowledged
//! changes:
//! - [`Combined::add`] and [`Combined::add_many`] where the function is called at once: always
//!   under `os` and `sync` and inside transactions, where nothing of the call is then added; under
//!   `none` only for a key that increments wait for already, and then all others of the call are
//!   added;
//! - under `none` an increment that was acknowledged may be refused later, when it meets what is
//!   stored. It waits on, and the error comes from reads of that key, and from all that writes what
//!   waits: [`Combined::flush`], scans, figures, a backup, a flush of the database,
//!   [`Combined::in_transaction`] by way of a database's transaction, and the closing of the
//!   database, with which it is lost. Other keys are written all the same. [`Combined::put`] and
//!   [`Combined::remove`] of the key end it.
//!
//! # Invariants
//! 1. There is one `Core` of combined values in a database, whoever opened them, and one function.
//! 2. No value and no increment is longer than [`VALUE_BYTES_MAX`].
//! 3. The function is called with a shard of what waits held, or one of the locks that stand for
//!    shards: two threads never combine for one key at the same time outside of transactions.

mod join;
mod read;
mod write;

pub use join::{Combiner, VALUE_BYTES_MAX};
pub use read::{CombinedRows, CombinedScan};
pub use relation::CombinedDef;

use crate::SharedTransaction;
use crate::keys::empty_keys;
use crate::source::Source;
use crate::waiting::{Buffering, Schedule, Steps, Waiting, Waits};
use base::{Batch, BytesColumn, Column, KeyspaceId};
use env::Env;
use env::sync::Mutex;
use env::sync::atomic::AtomicBool;
use join::Join;
use relation::{Definition, KeyType, invalid};
use std::fmt;
use std::sync::{Arc, Weak};
use store::{Durability, Result, Snapshot, Store};

/// Byte strings by key, combined by a function of the caller's. Cheap to clone; threads may share
/// it.
///
/// # Errors
/// Every call: [`store::ErrorKind::Corruption`] and failures of the machine;
/// [`store::ErrorKind::InvalidInput`] where a key is not of the values' type, after they were
/// dropped, or after their transaction has ended; those of the function, as the module says;
/// [`store::ErrorKind::Limit`] where it makes more than [`VALUE_BYTES_MAX`] bytes.
#[derive(Clone)]
pub struct Combined {
    core: Arc<Core>,
    source: Source,
}

/// Locks for increments that do not wait.
const LOCKS: usize = 64;

/// What is known of combined values whatever they are read through.
pub(crate) struct Core {
    def: CombinedDef,
    join: Join,
    rows: KeyspaceId,
    store: Arc<dyn Store>,
    waiting: Waiting<Join>,
    rows_max: u64,
    bytes_max: u64,
    schedule: Schedule,
    /// By hashes of keys: who adds without waiting holds them from reading to writing, so that a
    /// key that everybody adds to is no reason for conflicts.
    adding: Box<[Mutex<()>]>,
    /// Nothing may wait any more: the database is closed, or the values are dropped.
    ended: AtomicBool,
}

impl Combined {
    pub(crate) fn of(core: Arc<Core>) -> Self {
        let source = Source::Store(Arc::clone(&core.store));
        Self { core, source }
    }

    /// The same values inside a transaction: reads see its snapshot and its own writes.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        let source = Source::Transaction(Arc::clone(transaction));
        Self { core: Arc::clone(&self.core), source }
    }

    /// The same values as of a moment; they cannot be written.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        Self { core: Arc::clone(&self.core), source: Source::Snapshot(Arc::clone(snapshot)) }
    }

    /// Name and type of the keys.
    #[must_use]
    pub fn def(&self) -> &CombinedDef {
        &self.core.def
    }

    /// Their name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.def.name
    }

    /// The keyspace of their rows.
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
        let join = Join::new(combiner, def.key);
        let steps = Steps::of(buffering.commit_rows);
        let waiting = Waiting::of(def.key, wait, join.clone(), &*env, steps);
        Arc::new_cyclic(|me: &Weak<Self>| Self {
            def,
            join,
            rows,
            store,
            waiting,
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
            // Best effort, as for what a database does when it is dropped without being closed.
            let _ = self.write_waiting();
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

/// Whether combined values that are open are those asked for.
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
    let (there, given) = (open.core.join.name(), combiner.name());
    if there != given {
        return Err(invalid(format!(
            "the values {name:?} are open with the function {there:?}, {given:?} was given"
        )));
    }
    Ok(())
}

/// An empty batch of the shape of combined values.
fn empty_rows(key: KeyType) -> Batch {
    Batch { rows: 0, keys: empty_keys(key), values: vec![Column::Bytes(BytesColumn::default())] }
}

/// The values of a batch.
fn values(rows: &Batch) -> &BytesColumn {
    match &rows.values[0] {
        Column::Bytes(values) => values,
        Column::Words(_) => unreachable!("combined values are bytes"),
    }
}
