//! What whoever began before must not write past: indexes that were made or dropped, relations that were renamed, replaced or removed.
//!
//! # Why a count
//! A transaction that began before such a change has a snapshot that fits the old relations, and finds the new ones by their names. Its rows would
//! lack those of an index, or go where nobody reads them. So whoever finds another count at the end than at the beginning begins again.
//!
//! # Invariants
//! 1. The count is odd from before the commit of a change until names, rows and kept plans belong together: nobody begins then. It is what a
//!    sequence lock does (Lameter, *Effective synchronization on Linux/NUMA systems*, 2005), without a lock for those who only ask.

use env::Env;
use env::sync::atomic::{AtomicU64, Ordering};

/// Microseconds between two looks at a change that is under way.
const LOOK_US: u64 = 100;

#[derive(Default)]
pub(crate) struct Moments {
    count: AtomicU64,
}

impl Moments {
    /// The present moment, once no change is under way.
    pub(crate) fn now(&self, env: &dyn Env) -> u64 {
        loop {
            match self.now_at_once() {
                Some(count) => return count,
                None => exec::limits::wait(env, LOOK_US),
            }
        }
    }

    /// The present moment, unless a change is under way.
    pub(crate) fn now_at_once(&self) -> Option<u64> {
        let count = self.count.load(Ordering::Acquire);
        count.is_multiple_of(2).then_some(count)
    }

    /// Whether it is still that moment.
    #[inline]
    pub(crate) fn is(&self, moment: u64) -> bool {
        self.count.load(Ordering::Acquire) == moment
    }

    /// Another moment begins at once: for a change beside which nothing runs.
    pub(crate) fn pass(&self) {
        self.count.fetch_add(2, Ordering::AcqRel);
    }

    /// Another one begins when what is returned is dropped. One at a time.
    pub(crate) fn begin_to_pass(&self) -> Passing<'_> {
        Passing { moments: self, from: self.count.fetch_add(1, Ordering::AcqRel) }
    }
}

/// A change that is under way.
pub(crate) struct Passing<'m> {
    moments: &'m Moments,
    from: u64,
}

impl Passing<'_> {
    /// The moment that ends.
    pub(crate) fn from(&self) -> u64 {
        self.from
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.moments.count.fetch_add(1, Ordering::AcqRel);
    }
}
