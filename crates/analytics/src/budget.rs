//! Memory of projections: one budget for all projections of a database.
//!
//! # Why a budget besides the limits of queries
//! A query returns its memory when it ends. A projection lives as long as its user or the
//! cache holds it, so the memory of all projections is counted together.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use store::{Error, ErrorKind, Result};

/// Bytes that all projections of a database may hold, and do.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: u64,
    held: AtomicU64,
}

/// Bytes that belong to a projection until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { bytes_max, held: AtomicU64::new(0) })
    }

    /// Bytes that are reserved.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// Reserves `bytes`, if they may be held.
    pub(crate) fn try_reserve(self: &Arc<Self>, bytes: u64) -> Option<Reservation> {
        let more = |held: u64| held.checked_add(bytes).filter(|&all| all <= self.bytes_max);
        self.held.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Reservation { budget: Arc::clone(self), bytes })
    }

    /// The error of memory that may not be held.
    pub(crate) fn refusal(&self, bytes: u64) -> Error {
        let (max, held) = (self.bytes_max, self.held());
        let what = format!("the projection takes {bytes} bytes; projections hold {held} of {max}");
        let hint = "a larger memory_limit when the database is opened, fewer vertices or no \
                    weights, or projections that are no longer used and dropped";
        Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}"))
    }
}

impl Reservation {
    /// The budget that this belongs to.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns all but `bytes` to the budget.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let surplus = self.bytes.saturating_sub(bytes);
        self.bytes -= surplus;
        self.budget.held.fetch_sub(surplus, Relaxed);
    }

    /// Reserves `bytes` of the same budget.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`].
    pub(crate) fn another(&self, bytes: u64) -> Result<Self> {
        self.budget.try_reserve(bytes).ok_or_else(|| self.budget.refusal(bytes))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_is_returned_when_it_is_dropped() {
        let budget = Budget::new(100);
        let mut first = budget.try_reserve(60).unwrap();
        assert!(budget.try_reserve(41).is_none());
        assert_eq!(first.another(41).unwrap_err().kind(), ErrorKind::Limit);
        first.shrink(50);
        let second = first.another(41).unwrap();
        assert_eq!((first.bytes(), second.bytes(), budget.held()), (50, 41, 91));
        drop((first, second));
        assert_eq!(budget.held(), 0);
    }
}
