//! The schema epoch: transactions begun before a schema change must retry. Such changes create or
//! drop indexes, and rename, replace or remove relations.
//!
//! # Why a count
//! A transaction that began before such a change has a snapshot with the old relations, but finds
//! the new ones by name. Its rows would be missing from an index, or go to a keyspace without
//! readers. So a transaction that finds another epoch at its end than at its beginning starts over.
//!
//! # Invariants
//! 1. The count is odd from before the commit of a change until names, rows and cached plans agree;
//!    no transaction begins then. It is a sequence lock (Lameter, *Effective synchronization on
//!    Linux/NUMA systems*, 2005).

use env::Env;
use env::sync::atomic::{AtomicU64, Ordering};

/// Microseconds between two checks while a change is under way.
const LOOK_US: u64 = 100;

#[derive(Default)]
pub(crate) struct SchemaEpoch {
    count: AtomicU64,
}

impl SchemaEpoch {
    /// The current epoch; waits while a change is under way.
    pub(crate) fn now(&self, env: &dyn Env) -> u64 {
        loop {
            match self.try_now() {
                Some(count) => return count,
                None => exec::limits::wait(env, LOOK_US),
            }
        }
    }

    /// The current epoch, unless a change is under way.
    pub(crate) fn try_now(&self) -> Option<u64> {
        let count = self.count.load(Ordering::Acquire);
        count.is_multiple_of(2).then_some(count)
    }

    /// Whether `epoch` is still current.
    #[inline]
    pub(crate) fn is(&self, epoch: u64) -> bool {
        self.count.load(Ordering::Acquire) == epoch
    }

    /// Advances the epoch, for a change during which no script runs.
    pub(crate) fn pass(&self) {
        self.count.fetch_add(2, Ordering::AcqRel);
    }

    /// Begins a change; the epoch advances when the result is dropped. One change at a time.
    pub(crate) fn begin_change(&self) -> EpochChange<'_> {
        EpochChange { schema_epoch: self, from: self.count.fetch_add(1, Ordering::AcqRel) }
    }
}

/// A change under way.
pub(crate) struct EpochChange<'m> {
    schema_epoch: &'m SchemaEpoch,
    from: u64,
}

impl EpochChange<'_> {
    /// The epoch that the change ends.
    pub(crate) fn from(&self) -> u64 {
        self.from
    }
}

impl Drop for EpochChange<'_> {
    fn drop(&mut self) {
        self.schema_epoch.count.fetch_add(1, Ordering::AcqRel);
    }
}
