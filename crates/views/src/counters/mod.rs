//! Counters: numbers by key that grow without being read.
//!
//! # Why an increment does not read
//! The relation `{key => count}` has a column that merges: a write of it is a difference, and
//! differences are added up when they are read, or merged. So adding costs a write, whatever the
//! key's number is and wherever it lies.
//!
//! # What waits, and for how long
//! Under durability `none` increments are summed in memory first (`waiting/buffer.rs`) and written
//! a second later, or when they are many, or by [`Counters::flush`]. Reads of this process see them
//! at once; a transaction and a snapshot that begin later see them too, because what waits is
//! written before they begin. Under `os` and `sync` each call is a commit.
//!
//! # Invariants
//! 1. There is one `Core` of some counters in a database, whoever opened them: what waits, waits in
//!    one place.
//! 2. A number is never wrong, and does not depend on when something was written: a sum of integers
//!    that is past the range of `i64` is an error when it is read alone and the end of the range
//!    among others; what is added later brings it back. Only sums of one call or transaction are
//!    judged by themselves.

mod number;
mod read;
mod top;
mod write;

pub use number::{Number, NumberColumn, NumberList};
pub use read::{CounterRows, CounterScan};

use crate::SharedTransaction;
use crate::source::Source;
use crate::waiting::{Buffering, Schedule, Steps, Waiting, Waits};
use base::{KeyspaceId, Merge};
use env::Env;
use env::sync::atomic::AtomicBool;
pub use relation::{Combine, CountersDef, KeyType, NumberType};
use relation::{Definition, invalid};
use std::fmt;
use std::sync::{Arc, Weak};
use store::{Durability, Result, Snapshot, Store};

/// Numbers by key. Cheap to clone; threads may share it.
///
/// # Errors
/// Every call: [`store::ErrorKind::Corruption`] and failures of the machine;
/// [`store::ErrorKind::InvalidInput`] where a key is not of the counters' type, after they were
/// dropped, or after their transaction has ended. Reads: [`store::ErrorKind::Limit`] where the sum
/// of one counter is past the range of `i64`: it names the key.
#[derive(Clone)]
pub struct Counters {
    core: Arc<Core>,
    source: Source,
}

/// What is known of counters whatever they are read through.
pub(crate) struct Core {
    def: CountersDef,
    rows: KeyspaceId,
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    waiting: Waiting<Merge>,
    rows_max: u64,
    schedule: Schedule,
    /// Nothing may wait any more: the database is closed, or the counters are dropped.
    ended: AtomicBool,
}

impl Counters {
    pub(crate) fn of(core: Arc<Core>) -> Self {
        let source = Source::Store(Arc::clone(&core.store));
        Self { core, source }
    }

    /// The same counters inside a transaction: reads see its snapshot and its own writes.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        let source = Source::Transaction(Arc::clone(transaction));
        Self { core: Arc::clone(&self.core), source }
    }

    /// The same counters as of a moment; they cannot be written.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        Self { core: Arc::clone(&self.core), source: Source::Snapshot(Arc::clone(snapshot)) }
    }

    /// Name and types.
    #[must_use]
    pub fn def(&self) -> &CountersDef {
        &self.core.def
    }

    /// Their name.
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
        let waiting = Waiting::of(def.key, wait, def.merge(), &*env, steps);
        Arc::new_cyclic(|me: &Weak<Self>| Self {
            def,
            rows,
            store,
            env: Arc::clone(&env),
            waiting,
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
            // Best effort, as for what a database does when it is dropped without being closed.
            let _ = self.write_waiting();
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

/// Whether counters that are there are those asked for.
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
