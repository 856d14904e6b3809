//! How writers are slowed who outrun a flush.
//!
//! # Why
//! While a sealed generation is written to tables, commits fill the next one; when that is full too, nobody can commit until the flush has
//! ended. A device that is busy with merges makes flushes longer, and such stops took up to 0.3 s. So the last quarter is filled more and more slowly: each
//! commit there owes a delay for its bytes, which grows with the square of how far it is filled, and which the next ones wait off. Whoever is a little
//! ahead hardly notices, and the stop is spread over all commits before it.
//!
//! A writer that leaves the flush behind at 64 MB/s has about three seconds from the begin of the last quarter to its end.

use env::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds that a byte is delayed where nothing is left: 2 MB/s.
const NS_A_BYTE: u64 = 512;

/// Shorter delays wait for others: to sleep and be woken takes some 50 us by itself.
const DELAY_US_MIN: u64 = 200;

/// One commit waits for no longer than this.
const DELAY_US_MAX: u64 = 20_000;

/// What writers owe.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    owed_ns: AtomicU64,
}

impl Pace {
    /// So many bytes were added to a generation that then had `active` of at most `full`, while another waits for its flush.
    pub(crate) fn owe(&self, added: u64, active: u64, full: u64) {
        let from = full / 4 * 3;
        let (over, room) = (active.saturating_sub(from), (full - from).max(1));
        if over > 0 {
            let (over, room) = (u128::from(over.min(room)), u128::from(room));
            let ns = u128::from(added) * u128::from(NS_A_BYTE) * over * over / (room * room);
            self.owed_ns.fetch_add(ns as u64, Ordering::Relaxed);
        }
    }

    /// The microseconds that the next commit has to wait; they are owed no longer.
    pub(crate) fn due_us(&self) -> u64 {
        if !self.is_due() {
            return 0;
        }
        (self.owed_ns.swap(0, Ordering::Relaxed) / 1000).min(DELAY_US_MAX)
    }

    /// Whether the next commit has to wait.
    pub(crate) fn is_due(&self) -> bool {
        self.owed_ns.load(Ordering::Relaxed) >= 1000 * DELAY_US_MIN
    }

    /// The flush has ended.
    pub(crate) fn forgive(&self) {
        self.owed_ns.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 64 << 20;

    #[test]
    fn three_quarters_cost_nothing_and_the_rest_more_and_more() {
        let pace = Pace::default();
        pace.owe(FULL, FULL / 4 * 3, FULL);
        assert_eq!(pace.due_us(), 0);
        let waits = |part: u64| {
            // Commits of a kilobyte until one waits.
            let commits = (1..).find(|_| {
                pace.owe(1024, FULL / 100 * part, FULL);
                pace.is_due()
            });
            let us = pace.due_us();
            us / commits.unwrap_or(u64::MAX)
        };
        let (little, much, all) = (waits(80), waits(90), waits(100));
        assert!(little < 25 && little < much && much < all, "{little} {much} {all} us a commit");
        assert!((400..600).contains(&all), "{all} us");
        assert_eq!(pace.due_us(), 0, "it was waited off");
    }

    #[test]
    fn one_commit_waits_for_a_bounded_time_however_large() {
        let pace = Pace::default();
        pace.owe(1 << 30, FULL, FULL);
        assert_eq!(pace.due_us(), DELAY_US_MAX);
        pace.owe(1 << 30, FULL, FULL);
        pace.forgive();
        assert!(!pace.is_due());
        // No memtable at all, as tests ask for.
        pace.owe(1 << 10, 1, 0);
    }
}
