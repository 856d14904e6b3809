//! The write throttle: delays for writers that outrun a flush.
//!
//! `commit` adds delays and waits them off; the end of a flush cancels them.
//!
//! # Why
//! While a sealed generation is flushed, commits fill the next one; when that is full too, all
//! commits stop until the flush ends. A device that is busy with compactions makes flushes longer,
//! and such stops took up to 0.3 s. So the last quarter fills more and more slowly: each commit
//! there adds a delay for its bytes, which grows with the square of the fill level, and the next
//! commits wait it off. A writer that is only a little ahead hardly notices, and the stop is
//! divided among all commits before it.
//!
//! A writer that outruns the flush at 64 MB/s takes about three seconds to fill the last quarter.

use env::sync::atomic::{AtomicU64, Ordering};

/// Delay in nanoseconds per byte where nothing is left: 2 MB/s.
const NS_A_BYTE: u64 = 512;

/// Shorter delays are added up first: a sleep and its wake-up take some 50 us.
const DELAY_US_MIN: u64 = 200;

/// Longest delay of one commit, in microseconds.
const DELAY_US_MAX: u64 = 20_000;

/// The delay that writers owe.
#[derive(Debug, Default)]
pub(crate) struct WriteThrottle {
    owed_ns: AtomicU64,
}

impl WriteThrottle {
    /// Adds the delay for `added` bytes in a generation that then has `active` of at most `full`
    /// bytes. Called while another generation waits for its flush.
    pub(crate) fn owe(&self, added: u64, active: u64, full: u64) {
        let from = full / 4 * 3;
        let (over, room) = (active.saturating_sub(from), (full - from).max(1));
        if over > 0 {
            let (over, room) = (u128::from(over.min(room)), u128::from(room));
            let ns = u128::from(added) * u128::from(NS_A_BYTE) * over * over / (room * room);
            self.owed_ns.fetch_add(ns as u64, Ordering::Relaxed);
        }
    }

    /// Takes the delay of the next commit, in microseconds; zero where too little is owed.
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

    /// Cancels the delay: the flush has ended.
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
        let throttle = WriteThrottle::default();
        throttle.owe(FULL, FULL / 4 * 3, FULL);
        assert_eq!(throttle.due_us(), 0);
        let waits = |part: u64| {
            // Commits of a kilobyte until one has to wait.
            let commits = (1..).find(|_| {
                throttle.owe(1024, FULL / 100 * part, FULL);
                throttle.is_due()
            });
            let us = throttle.due_us();
            us / commits.unwrap_or(u64::MAX)
        };
        let (little, much, all) = (waits(80), waits(90), waits(100));
        assert!(little < 25 && little < much && much < all, "{little} {much} {all} us a commit");
        assert!((400..600).contains(&all), "{all} us");
        assert_eq!(throttle.due_us(), 0, "the delay was taken");
    }

    #[test]
    fn one_commit_waits_for_a_bounded_time_however_large() {
        let throttle = WriteThrottle::default();
        throttle.owe(1 << 30, FULL, FULL);
        assert_eq!(throttle.due_us(), DELAY_US_MAX);
        throttle.owe(1 << 30, FULL, FULL);
        throttle.forgive();
        assert!(!throttle.is_due());
        // A memtable limit of zero, as tests ask for.
        throttle.owe(1 << 10, 1, 0);
    }
}
