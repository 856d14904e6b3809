//! Cancellation and limits of algorithms.

use crate::error::{Error, Stopped};

/// Decides whether an algorithm continues. It represents a deadline, a cancelled query or a memory
/// limit; `exec` implements it for the limits of a query.
///
/// It is called from inner loops on any thread, so it should be as cheap as reading an atomic. A
/// closure `|| bool` implements it.
pub trait Limits: Sync {
    /// Returns false to end the algorithm with [`Stopped`].
    fn go_on(&self) -> bool;

    /// Whether a growing result may take this many bytes.
    fn may_hold(&self, _bytes: u64) -> bool {
        true
    }
}

impl<F: Fn() -> bool + Sync> Limits for F {
    fn go_on(&self) -> bool {
        self()
    }
}

/// Fails if a result may not take `bytes`.
pub(crate) fn refuse_large(bytes: u64, limits: &dyn Limits) -> Result<(), Error> {
    if limits.may_hold(bytes) { Ok(()) } else { Err(Error::TooLarge { bytes }) }
}

/// Number of steps between two checks. A step is an edge or a vertex and takes a few nanoseconds,
/// so a check comes at least every millisecond and its cost does not matter.
const STEPS: u32 = 1 << 16;

/// Maximum number of neighbors that a tight loop processes before it counts them as steps. A hub
/// can have a hundred million.
pub(crate) const STRIDE: usize = 1 << 14;

/// Counts steps and checks the limits regularly.
pub(crate) struct Ticker<'a> {
    limits: &'a dyn Limits,
    left: u32,
}

impl<'a> Ticker<'a> {
    /// Checks the limits immediately, so that an expired deadline starts nothing.
    pub(crate) fn new(limits: &'a dyn Limits) -> Result<Self, Stopped> {
        let mut ticker = Self { limits, left: 0 };
        ticker.ask()?;
        Ok(ticker)
    }

    /// Counts `steps`, which should be at most about [`STRIDE`].
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

    /// Checks the limits now. Used before long work that counts no steps.
    #[cold]
    pub(crate) fn ask(&mut self) -> Result<(), Stopped> {
        self.left = STEPS;
        if self.limits.go_on() { Ok(()) } else { Err(Stopped) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn limits_are_checked_at_the_start_and_regularly() {
        let asked = AtomicU32::new(0);
        let limits = || {
            asked.fetch_add(1, Ordering::Relaxed);
            true
        };
        let mut ticker = Ticker::new(&limits).unwrap();
        for _ in 0..1_000_000 {
            ticker.tick(1).unwrap();
        }
        let asked = asked.load(Ordering::Relaxed);
        assert!((10..=20).contains(&asked), "{asked}");
    }

    #[test]
    fn limits_that_are_reached_let_nothing_begin() {
        assert!(Ticker::new(&|| false).is_err());
    }
}
