//! Counters of background jobs and of waiting writers, for statistics.

use env::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct ActivityCounters {
    flushes: AtomicU64,
    compactions: AtomicU64,
    stalls: AtomicU64,
    stalled_us: AtomicU64,
}

impl ActivityCounters {
    /// Counts a flush that is installed.
    pub(crate) fn count_flush(&self) {
        self.flushes.fetch_add(1, Relaxed);
    }

    /// Counts a compaction that is installed.
    pub(crate) fn count_compaction(&self) {
        self.compactions.fetch_add(1, Relaxed);
    }

    /// Counts a commit that waited for a flush.
    pub(crate) fn count_stall(&self, us: u64) {
        self.stalls.fetch_add(1, Relaxed);
        self.stalled_us.fetch_add(us, Relaxed);
    }

    /// The counters, together with two figures that are kept elsewhere.
    pub(crate) fn activity(
        &self,
        cache_misses: u64,
        compaction_error: Option<String>,
    ) -> store::Activity {
        store::Activity {
            flushes: self.flushes.load(Relaxed),
            compactions: self.compactions.load(Relaxed),
            stalls: self.stalls.load(Relaxed),
            stalled_us: self.stalled_us.load(Relaxed),
            cache_misses,
            compaction_error,
        }
    }
}
