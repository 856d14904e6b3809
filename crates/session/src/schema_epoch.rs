//! The schema epoch: transactions begun before a schema change must retry. Such changes are indexes
//! that are made or dropped, and relations that are renamed, replaced or removed.
//!
//! # Why a count
//! A transaction that began before such a change has a snapshot that fits the old relations, and
//! finds the new ones by their names. Its rows would lack those of an index, or go where nobody
//! reads them. So a transaction that finds another epoch at its end than at its beginning begins
//! again.
//!
//! # Invariants
//! 1. The count is odd from before the commit of a change until names, rows and cached plans agree:
//!    nobody begins then. It is a sequence lock (Lameter, *Effective synchronization on Linux/NUMA
//!    systems*, 2005).

use env::Env;
use env::sync::atomic::{AtomicU64, Ordering};

/// Microseconds between two looks at a change that is under way.
const LOOK_US: u64 = 100;

#[derive(Default)]
pub(crate) struct SchemaEpoch {
    count: AtomicU64,
}

impl SchemaEpoch {
    /// The present moment, once no change is under way.
    pub(crate) fn now(&self, env: &dyn Env) -> u64 {
        loop {
            match self.try_now() {
                Some(count) => return count,
                None => exec::limits::wait(env, LOOK_US),
            }
        }
    }

    /// The present moment, unless a change is under way.
    pub(crate) fn try_now(&self) -> Option<u64> {
        let count = self.count.load(Ordering::Acquire);
        count.is_multiple_of(2).then_some(count)
    }

    /// Whether it is still that moment.
    #[inline]
    pub(crate) fn is(&self, epoch: u64) -> bool {
        self.count.load(Ordering::Acquire) == epoch
    }

    /// Another moment begins at once: for a change beside which nothing runs.
    pub(crate) fn pass(&self) {
        self.count.fetch_add(2, Ordering::AcqRel);
    }

    /// Another one begins when what is returned is dropped. One at a time.
    pub(crate) fn begin_change(&self) -> EpochChange<'_> {
        EpochChange { schema_epoch: self, from: self.count.fetch_add(1, Ordering::AcqRel) }
    }
}

/// A change that is under way.
pub(crate) struct EpochChange<'m> {
    schema_epoch: &'m SchemaEpoch,
    from: u64,
}

impl EpochChange<'_> {
    /// The moment that ends.
    pub(crate) fn from(&self) -> u64 {
        self.from
    }
}

impl Drop for EpochChange<'_> {
    fn drop(&mut self) {
        self.schema_epoch.count.fetch_add(1, Ordering::AcqRel);
    }
}
