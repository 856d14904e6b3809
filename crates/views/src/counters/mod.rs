//! Counters: numbers by key that grow without being read.
//!
//! # Why an increment does not read
//! The column of the relation `{key => count}` has a merge operator: a write stores a delta, and
//! reads and compactions combine deltas. So an increment costs one write, whatever the counter's
//! value and wherever its key lies.
//!
//! # The write buffer
//! Under durability `none`, increments are first summed in memory (`write_buffer/buffer.rs`). They
//! are written within a second, or earlier if there are many, or by [`Counters::flush`]. Reads of
//! this process see them immediately. Transactions and snapshots that begin later see them too,
//! because the buffer is written before they begin. Under `os` and `sync` each call is a commit.
//!
//! # Invariants
//! 1. A set of counters has one `Core` in a database, shared by all its handles, so it has one
//!    write buffer.
//! 2. A value is never wrong, and does not depend on when something was written. If a sum of
//!    integers leaves the range of `i64`, a read of this key alone is an error, and a read of
//!    several keys returns the end of the range; later increments can bring it back into the
//!    range. The sums within one call or one transaction are checked separately.

mod number;
mod read;
mod top;
mod write;

pub use number::{Number, NumberColumn, NumberList};
pub use read::{CounterRows, CounterScan};

use crate::source::Source;
use crate::transaction::SharedTransaction;
use crate::write_buffer::{Buffered, Buffering, Schedule, Steps, WriteBuffer};
use base::{KeyspaceId, Merge};
use env::Env;
use env::sync::atomic::AtomicBool;
pub use relation::{Combine, CountersDef, KeyType, NumberType};
use relation::{Definition, invalid};
use std::fmt;
use std::sync::{Arc, Weak};
use store::{Durability, Result, Snapshot, Store};

/// A set of counters: numbers by key. Cheap to clone; threads may share it.
///
/// # Errors
/// Every call: [`store::ErrorKind::Corruption`] and failed reads or writes;
/// [`store::ErrorKind::InvalidInput`] if a key is not of the counters' type, after the counters
/// were dropped, or after their transaction has ended. Reads of one counter:
/// [`store::ErrorKind::Limit`] with the key if its sum is out of the range of `i64`.
#[derive(Clone)]
pub struct Counters {
    core: Arc<Core>,
    source: Source,
}

/// State that all handles of a set of counters share, whatever they read from.
pub(crate) struct Core {
    def: CountersDef,
    rows: KeyspaceId,
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    buffer: WriteBuffer<Merge>,
    rows_max: u64,
    schedule: Schedule,
    /// Set when nothing may be buffered any more: the database is closed, or the counters are
    /// dropped.
    ended: AtomicBool,
}

impl Counters {
    pub(crate) fn of(core: Arc<Core>) -> Self {
        let source = Source::Store(Arc::clone(&core.store));
        Self { core, source }
    }

    /// The same counters in a transaction: reads see its snapshot and its own writes.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        let source = Source::Transaction(Arc::clone(transaction));
        Self { core: Arc::clone(&self.core), source }
    }

    /// The same counters at a snapshot. They are read-only.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        Self { core: Arc::clone(&self.core), source: Source::Snapshot(Arc::clone(snapshot)) }
    }

    /// Name, types, and how writes combine.
    #[must_use]
    pub fn def(&self) -> &CountersDef {
        &self.core.def
    }

    /// Name of the set of counters.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.def.name
    }
}

impl Core {
    pub(crate) fn new(
        def: CountersDef,
        rows: KeyspaceId,
        store: Arc<dyn Store>,
        env: Arc<dyn Env>,
        buffering: &Buffering,
    ) -> Arc<Self> {
        let wait = buffering.durability == Durability::None && !store.is_read_only();
        let steps = Steps::of(buffering.commit_rows);
        let buffer = WriteBuffer::of(def.key, wait, def.merge(), &*env, steps);
        Arc::new_cyclic(|me: &Weak<Self>| Self {
            def,
            rows,
            store,
            env: Arc::clone(&env),
            buffer,
            rows_max: buffering.rows_max,
            schedule: Schedule::new(env, me.clone()),
            ended: AtomicBool::new(false),
        })
    }

    fn check_open(&self) -> Result<()> {
        self.check_process()?;
        if self.is_ended() {
            self.store.check_open()?;
            let name = &self.def.name;
            return Err(invalid(format!("the counters {name:?} are closed or dropped")));
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

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").field("def", self.def()).field("through", &self.source).finish()
    }
}

/// The counters that a keyspace's definition describes.
pub(crate) fn def_of(info: &store::KeyspaceInfo) -> Result<CountersDef> {
    match Definition::decode(info)? {
        Definition::Relation(schema) => CountersDef::of_schema(&schema),
        _ => None,
    }
    .ok_or_else(|| invalid(format!("{:?} are no counters", info.name)))
}

/// Checks that existing counters have the requested types.
pub(crate) fn check_types(stored: &CountersDef, wanted: &CountersDef) -> Result<()> {
    if stored == wanted {
        return Ok(());
    }
    let words = |def: &CountersDef| format!("{} keys, {} of {}", def.key, def.combine, def.number);
    Err(invalid(format!(
        "the counters {:?} have {}; {} were asked for",
        stored.name,
        words(stored),
        words(wanted)
    )))
}
