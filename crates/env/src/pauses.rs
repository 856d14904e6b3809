//! Exponential backoff for non-blocking attempts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximum number of calls in one pause.
const PAUSE_MAX: u64 = 64;

/// Decides when to skip non-blocking execution
/// ([`try_without_blocking`](crate::try_without_blocking)). If data is rarely in the cache, most
/// attempts would fail and their work would be wasted.
#[derive(Debug, Default)]
pub struct Pauses {
    /// Calls that are still to be skipped.
    left: AtomicU64,
    /// Length of the last pause in calls.
    last: AtomicU64,
}

impl Pauses {
    /// Starts without a pause.
    #[must_use]
    pub const fn new() -> Self {
        Self { left: AtomicU64::new(0), last: AtomicU64::new(0) }
    }

    /// Whether this call should be skipped. Calls that race may be counted once; the count need not
    /// be exact.
    pub fn is_one(&self) -> bool {
        let left = self.left.load(Relaxed);
        if left > 0 {
            self.left.store(left - 1, Relaxed);
        }
        left > 0
    }

    /// Records the result of an attempt. After a failed one a pause follows, twice as long as the
    /// last if they are consecutive.
    pub fn note(&self, was_there: bool) {
        let last = self.last.load(Relaxed);
        if !was_there {
            let next = (2 * last).clamp(1, PAUSE_MAX);
            self.last.store(next, Relaxed);
            self.left.store(next, Relaxed);
        } else if last > 0 {
            self.last.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_twice_as_long_each_time_and_ends_with_a_hit() {
        let pauses = Pauses::default();
        let calls = |was_there: bool| {
            let pause = (0..1000).take_while(|_| pauses.is_one()).count();
            pauses.note(was_there);
            pause
        };
        let found: Vec<usize> = (0..9).map(|_| calls(false)).collect();
        assert_eq!(found, [0, 1, 2, 4, 8, 16, 32, 64, 64]);
        assert_eq!([calls(true), calls(true), calls(false), calls(false)], [64, 0, 0, 1]);
    }
}
