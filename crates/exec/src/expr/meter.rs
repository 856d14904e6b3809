//! Counts the memory of an expression's intermediate values, and requests it before they are made.
//!
//! # How
//! Only the result of an expression enters the query's interner. Arguments of its calls are plain
//! values until the call returns: `length(concat(…))` holds the whole string while it is measured.
//! A meter counts these bytes.

use crate::value::cell::Interner;
use function::{Failure, FunctionContext};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counts the bytes that an expression's values hold. Functions reach it through
/// [`FunctionContext`].
pub(crate) struct Meter<'a> {
    ambient: &'a dyn FunctionContext,
    interner: &'a Interner,
    held_bytes: AtomicU64,
}

impl<'a> Meter<'a> {
    /// A meter with nothing held.
    pub(crate) fn new(ambient: &'a dyn FunctionContext, interner: &'a Interner) -> Self {
        Self { ambient, interner, held_bytes: AtomicU64::new(0) }
    }

    /// Bytes held now.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Relaxed)
    }

    /// Sets the bytes held now.
    pub(crate) fn set_held_bytes(&self, bytes: u64) {
        self.held_bytes.store(bytes, Relaxed);
    }
}

impl FunctionContext for Meter<'_> {
    fn now_us(&self) -> i64 {
        self.ambient.now_us()
    }

    fn statement_time_us(&self) -> i64 {
        self.ambient.statement_time_us()
    }

    fn random(&self) -> u64 {
        self.ambient.random()
    }

    fn check_cancelled(&self) -> Result<(), Failure> {
        self.ambient.check_cancelled()
    }

    fn request_memory(&self, bytes: u64) -> Result<(), Failure> {
        let held = self.held_bytes.fetch_add(bytes, Relaxed).saturating_add(bytes);
        self.ambient.request_memory(held.saturating_add(self.interner.bytes()))
    }
}
