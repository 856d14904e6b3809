//! When nothing is tried that is likely to be in vain.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Calls of a pause, at most.
const PAUSE_MAX: u64 = 64;

/// When nothing is tried [at once](crate::at_once): where what is asked for is seldom in the cache,
/// each try would be in vain.
#[derive(Debug, Default)]
pub struct Pauses {
    /// Calls that are not tried, from now on.
    left: AtomicU64,
    /// Those of the last pause.
    last: AtomicU64,
}

impl Pauses {
    /// No pause yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { left: AtomicU64::new(0), last: AtomicU64::new(0) }
    }

    /// Whether this call is one of a pause. Threads that ask at the same time may count one less;
    /// nothing depends on it.
    pub fn is_one(&self) -> bool {
        let left = self.left.load(Relaxed);
        if left > 0 {
            self.left.store(left - 1, Relaxed);
        }
        left > 0
    }

    /// A call was tried: a pause follows where something was not in the cache, twice as long as the
    /// last one if that was just before.
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
