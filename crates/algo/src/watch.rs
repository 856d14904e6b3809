//! Who may stop an algorithm, and how often it is asked.

use crate::Stopped;

/// Says whether an algorithm goes on: a deadline, a cancelled query, a spent budget.
///
/// It is asked from inside loops, so it should be as cheap as reading an atomic; and from whichever
/// thread runs them. A closure `|| bool` is one.
pub trait Watch: Sync {
    /// False ends the algorithm with [`Stopped`].
    fn go_on(&self) -> bool;

    /// Whether a result that grows may take so many bytes.
    fn may_hold(&self, _bytes: u64) -> bool {
        true
    }
}

impl<F: Fn() -> bool + Sync> Watch for F {
    fn go_on(&self) -> bool {
        self()
    }
}

/// Steps between two questions. A step is an edge looked at or a vertex taken: some nanoseconds, so
/// a question comes each millisecond or less, and its cost is lost among the steps.
const STEPS: u32 = 1 << 16;

/// How many neighbours a tight loop may take before it counts them. A hub can have a hundred
/// million.
pub(crate) const STRIDE: usize = 1 << 14;

/// Counts steps and asks the watch when enough were made.
pub(crate) struct Ticker<'a> {
    watch: &'a dyn Watch,
    left: u32,
}

impl<'a> Ticker<'a> {
    /// Asks at once, so that a call under a spent budget does nothing.
    pub(crate) fn new(watch: &'a dyn Watch) -> Result<Self, Stopped> {
        let mut ticker = Self { watch, left: 0 };
        ticker.ask()?;
        Ok(ticker)
    }

    /// Counts `steps`, at most [`STRIDE`] of them or so.
    #[inline]
    pub(crate) fn tick(&mut self, steps: usize) -> Result<(), Stopped> {
        match self.left.checked_sub(u32::try_from(steps).unwrap_or(u32::MAX)) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.ask(),
        }
    }

    /// Asks now: before work that is long and has no steps of its own.
    #[cold]
    pub(crate) fn ask(&mut self) -> Result<(), Stopped> {
        self.left = STEPS;
        if self.watch.go_on() { Ok(()) } else { Err(Stopped) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_watch_is_asked_at_the_start_and_every_so_many_steps() {
        let asked = AtomicU32::new(0);
        let watch = || {
            asked.fetch_add(1, Ordering::Relaxed);
            true
        };
        let mut ticker = Ticker::new(&watch).unwrap();
        for _ in 0..1_000_000 {
            ticker.tick(1).unwrap();
        }
        let asked = asked.load(Ordering::Relaxed);
        assert!((10..=20).contains(&asked), "{asked}");
    }

    #[test]
    fn a_watch_that_says_no_at_once_lets_nothing_begin() {
        assert!(Ticker::new(&|| false).is_err());
    }
}
