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
    /// The scripts that run on this thread, the outermost first.
    static INSIDE: RefCell<Vec<Inside>> = const { RefCell::new(Vec::new()) };
}

/// A running script: the address of its engine, and its task (see [`env::sync::task`]).
type Inside = (usize, u64);

/// A share of the lock while a script runs. An inner script uses that of the outer one.
pub(crate) struct Changing<'e> {
    _shared: Option<RwLockReadGuard<'e, ()>>,
    inside: Inside,
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(|inside| {
            // The last of this task: in a simulator those of others may follow.
            let place = inside.iter().rposition(|one| *one == self.inside);
            place.map(|place| inside.remove(place))
        });
    }
}

impl Engine {
    fn inside(&self) -> Inside {
        (std::ptr::from_ref(self).addr(), env::sync::task())
    }

    fn is_inside(&self) -> bool {
        INSIDE.with_borrow(|inside| inside.contains(&self.inside()))
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
        let inside = self.inside();
        INSIDE.with_borrow_mut(|running| running.push(inside));
        Changing { _shared: shared, inside }
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
