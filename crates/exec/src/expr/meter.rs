//! Memory of the intermediate values of one expression, requested before they are made.
//!
//! # How
//! Only the result of an expression enters the query's interner. Arguments of its calls are plain
//! values until the call returns: `length(concat(…))` holds the whole string while it is measured.
//! A meter counts these bytes.

use crate::value::cell::Interner;
use function::{Failure, FunctionContext};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counts the bytes of values that an expression holds; its functions ask it.
pub(crate) struct Meter<'a> {
    ambient: &'a dyn FunctionContext,
    interner: &'a Interner,
    held_bytes: AtomicU64,
}

impl<'a> Meter<'a> {
    /// Nothing is held.
    pub(crate) fn new(ambient: &'a dyn FunctionContext, interner: &'a Interner) -> Self {
        Self { ambient, interner, held_bytes: AtomicU64::new(0) }
    }

    /// What is held.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Relaxed)
    }

    /// So much is held now.
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
