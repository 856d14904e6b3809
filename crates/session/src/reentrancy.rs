//! Detects scripts that run inside of another script of the same engine, as user-defined rules may
//! start them.
//!
//! # Why it matters
//! Scripts that change rows share a lock, which `::index create` takes exclusively. An inner script
//! would wait for an index that waits for the outer script; creating an index inside of a script
//! would wait forever.

use crate::engine::Engine;
use env::sync::RwLockReadGuard;
use exec::error::{Error, Result};
use std::cell::RefCell;
use syntax::Span;

thread_local! {
    /// Addresses of the engines whose scripts run on this thread, the outermost first.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A share of the lock while a script runs. An inner script uses that of the outer one.
pub(crate) struct Changing<'e> {
    _shared: Option<RwLockReadGuard<'e, ()>>,
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}

impl Engine {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn is_inside(&self) -> bool {
        INSIDE.with_borrow(|inside| inside.contains(&self.address()))
    }

    /// Takes a share of the lock.
    pub(crate) fn share(&self) -> Changing<'_> {
        self.enter((!self.is_inside()).then(|| self.changing.read()))
    }

    /// Takes a share of the lock, unless that would block.
    pub(crate) fn try_share(&self) -> Option<Changing<'_>> {
        let shared = match self.is_inside() {
            true => None,
            false => Some(self.changing.try_read()?),
        };
        Some(self.enter(shared))
    }

    fn enter<'e>(&'e self, shared: Option<RwLockReadGuard<'e, ()>>) -> Changing<'e> {
        INSIDE.with_borrow_mut(|inside| inside.push(self.address()));
        Changing { _shared: shared }
    }

    /// Checks that no script of this engine runs on this thread.
    ///
    /// # Errors
    /// One does.
    pub(crate) fn check_outside(&self) -> Result<()> {
        match self.is_inside() {
            true => {
                let what = "an index is neither made nor dropped inside of a script";
                Err(Error::hinted(what, Span::default(), "do it when the script is done"))
            }
            false => Ok(()),
        }
    }
}
