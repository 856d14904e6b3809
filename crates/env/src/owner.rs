//! The process that something belongs to.
//!
//! # Why it is remembered
//! A child of `fork` has a copy of everything: locks that threads of its parent held and that
//! nobody gives back, descriptors whose file positions are its parent's, a shared mapping of the
//! log, and worker threads that exist by name only. Whatever a child does with such a copy hangs,
//! or damages what its parent goes on writing. So what is opened remembers where, and is refused
//! everywhere else before any lock is taken.
//!
//! # Why a handler and not `getpid`
//! Reads ask too, and a system call would cost more than many of them. A handler of
//! `pthread_atfork` changes one word in the child before `fork` returns there; to ask is to load
//! that word. (`MADV_WIPEONFORK` would also notice a child that was made by a raw `clone`, but
//! exists on Linux only. [`Owner::is_surely_here`] asks the kernel, too, and is for calls that are
//! rare.) `vfork` and `posix_spawn` run no handlers, which is right: their child shares its
//! parent's memory until it runs another program.
//!
//! # Why locks are closed in a child
//! The kernel's lock on a folder belongs to the open file, which a child shares with its parent: if
//! the parent is killed, a child that knows nothing of the database would hold it locked. So
//! descriptors that hold locks are registered, and the handler closes them in the child; the parent
//! keeps its own. Between the opening of a lock file and its registration lie a few instructions,
//! in which a `fork` by another thread would be missed.
//!
//! # Why unsafe here
//! Registering the handler and what it calls are foreign functions. In the child of a process with
//! threads only async-signal-safe calls are allowed: the handler loads and stores atomics, and
//! calls `getpid` and `close`.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

use crate::{EnvError, Result};

/// This process: how many forks lie between it and the first that asked, and its id. 0 before
/// anyone asks.
static HERE: AtomicU64 = AtomicU64::new(0);

/// The process that something belongs to. To ask whether it is this one takes a load and a
/// comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Owner(u64);

impl Owner {
    /// This process.
    #[must_use]
    pub fn here() -> Self {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            HERE.store(u64::from(std::process::id()), Ordering::Relaxed);
            register();
        });
        Self(HERE.load(Ordering::Relaxed))
    }

    /// Whether this is the process.
    #[inline]
    #[must_use]
    pub fn is_here(self) -> bool {
        HERE.load(Ordering::Relaxed) == self.0
    }

    /// The same, asking the kernel too: a child that was made without the C library has run no
    /// handler.
    #[must_use]
    pub fn is_surely_here(self) -> bool {
        self.is_here() && std::process::id() == self.process()
    }

    /// The id of the process.
    #[must_use]
    pub fn process(self) -> u32 {
        self.0 as u32
    }

    /// To be asked before anything of another process could be touched, or a lock be taken.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in every other process.
    #[inline]
    pub fn check(self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(self.elsewhere()) }
    }

    #[cold]
    fn elsewhere(self) -> EnvError {
        EnvError::Forked { opened_in: self.process(), here: std::process::id() }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process())
    }
}

/// Something that belongs to the process that made it. In another one it cannot be reached, and is
/// never dropped: a drop may join a thread, take a lock, or close a descriptor whose number means
/// another file by then.
pub struct Own<T> {
    owner: Owner,
    value: ManuallyDrop<T>,
}

impl<T> Own<T> {
    /// Belongs to this process.
    pub fn new(value: T) -> Self {
        Self { owner: Owner::here(), value: ManuallyDrop::new(value) }
    }

    /// The process that it belongs to.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// What it is.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in another process.
    #[inline]
    pub fn get(&self) -> Result<&T> {
        self.owner.check()?;
        Ok(&self.value)
    }

    /// What it is, to be changed.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in another process.
    #[inline]
    pub fn get_mut(&mut self) -> Result<&mut T> {
        self.owner.check()?;
        Ok(&mut self.value)
    }

    /// What it is, in any process: for words and numbers that never change and lie behind no lock.
    pub fn anywhere(&self) -> &T {
        &self.value
    }

    /// What it is, given away.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in another process, where it is kept for ever.
    pub fn into_inner(mut self) -> Result<T> {
        self.owner.check()?;
        // SAFETY: `self` is forgotten in the next line, so nobody sees the value here again.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        std::mem::forget(self);
        Ok(value)
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.owner.is_here() {
            // SAFETY: dropped once, here; nobody has it any more.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Own<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(value) => value.fmt(f),
            Err(_) => write!(f, "of {:?}", self.owner),
        }
    }
}

/// A place for a descriptor that a child closes. Places are never freed, only used again.
struct Place {
    /// -1: free.
    descriptor: AtomicI32,
    next: *mut Place,
}

static PLACES: AtomicPtr<Place> = AtomicPtr::new(std::ptr::null_mut());

/// A descriptor that children close before `fork` returns in them; until this is dropped.
pub(crate) struct ClosedInChildren(&'static AtomicI32);

impl ClosedInChildren {
    /// From now on. To be dropped before the descriptor is closed.
    pub(crate) fn new(descriptor: i32) -> Self {
        // The handler is there before there is anything for it to do.
        let _ = Owner::here();
        let mut place = PLACES.load(Ordering::Acquire);
        // SAFETY: places are leaked boxes, linked before they are published and never freed.
        while let Some(found) = unsafe { place.as_ref() } {
            let taken = found.descriptor.compare_exchange(
                -1,
                descriptor,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                return Self(&found.descriptor);
            }
            place = found.next;
        }
        let new = Box::into_raw(Box::new(Place {
            descriptor: AtomicI32::new(descriptor),
            next: PLACES.load(Ordering::Acquire),
        }));
        loop {
            // SAFETY: just made, and seen by nobody else before the exchange below succeeds.
            let head = unsafe { (*new).next };
            match PLACES.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: never freed.
                Ok(_) => return Self(unsafe { &(*new).descriptor }),
                // SAFETY: still seen by nobody else.
                Err(other) => unsafe { (*new).next = other },
            }
        }
    }
}

impl Drop for ClosedInChildren {
    fn drop(&mut self) {
        self.0.store(-1, Ordering::Release);
    }
}

impl fmt::Debug for ClosedInChildren {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClosedInChildren")
    }
}

/// Runs in every child, on its only thread, before `fork` returns there.
extern "C" fn in_child() {
    let generation = (HERE.load(Ordering::Relaxed) >> 32) + 1;
    // SAFETY: takes nothing, cannot fail, and is async-signal-safe.
    let process = unsafe { libc::getpid() };
    HERE.store(generation << 32 | u64::from(process as u32), Ordering::Relaxed);
    let mut place = PLACES.load(Ordering::Acquire);
    // SAFETY: places are never freed.
    while let Some(found) = unsafe { place.as_ref() } {
        let descriptor = found.descriptor.swap(-1, Ordering::Relaxed);
        if descriptor >= 0 {
            // SAFETY: async-signal-safe. The child's copy of a lock's descriptor, which nothing
            // else in the child closes: its owner leaves it alone in another process.
            unsafe { libc::close(descriptor) };
        }
        place = found.next;
    }
}

fn register() {
    // Miri knows neither the function nor children.
    #[cfg(all(unix, not(miri)))]
    // SAFETY: the handler lives as long as the program (the C library forgets it if this library is
    // unloaded), and does only what is allowed in a child.
    let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    #[cfg(any(not(unix), miri))]
    let failed = {
        let _ = in_child;
        0
    };
    // Only for want of some bytes of memory.
    assert!(failed == 0, "the C library takes a handler for forks");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_here_is_here() {
        let owner = Owner::here();
        assert!(owner.is_here() && owner.is_surely_here() && owner.check().is_ok());
        assert_eq!(owner.process(), std::process::id());
        let own = Own::new(vec![7]);
        assert_eq!((own.get().unwrap().len(), own.into_inner().unwrap()), (1, vec![7]));
    }

    #[test]
    fn what_belongs_to_another_process_is_refused_with_both_ids_and_never_dropped() {
        struct Dropped;
        impl Drop for Dropped {
            fn drop(&mut self) {
                panic!("dropped in a process that it does not belong to");
            }
        }
        let other = Owner(HERE.load(Ordering::Relaxed) + (1 << 32) + 1);
        let mut own = Own { owner: other, value: ManuallyDrop::new(Dropped) };
        assert!(own.get_mut().is_err());
        let error = own.get().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", other.process())), "{error}");
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        assert!(own.into_inner().is_err());
    }

    #[test]
    fn places_of_descriptors_are_used_again() {
        let count = || {
            let (mut count, mut place) = (0, PLACES.load(Ordering::Acquire));
            // SAFETY: places are never freed.
            while let Some(found) = unsafe { place.as_ref() } {
                (count, place) = (count + 1, found.next);
            }
            count
        };
        // Descriptors that no process has, should a child of another test close them.
        for _ in 0..100 {
            drop(ClosedInChildren::new(1 << 30));
        }
        assert!(count() <= 16, "{} places", count());
    }
}
