//! The process that owns an object.
//!
//! # Why the owner is recorded
//! A child of `fork` has a copy of everything: locks that threads of the parent held and that
//! nobody releases, file positions that it shares with the parent, a shared mapping of the log, and
//! handles of worker threads that do not exist there. Using such a copy hangs, or damages what the
//! parent continues to write. So every open object records its process, and refuses calls in other
//! processes before it takes any lock.
//!
//! # Why a fork handler and not `getpid`
//! Every read checks the owner, and many reads are cheaper than a system call. A `pthread_atfork`
//! handler changes one word in the child before `fork` returns there, so a check loads that word.
//! `MADV_WIPEONFORK` would also detect a child that a raw `clone` created, but exists only on
//! Linux. [`Owner::is_surely_here`] also asks the kernel, for rare calls. `vfork` and `posix_spawn`
//! run no handlers, which is correct: their child shares the parent's memory until it executes
//! another program.
//!
//! # Why locks are closed in a child
//! The kernel's lock on a folder belongs to the open file, which a child shares with its parent. If
//! the parent is killed, a child that does not use the database would keep it locked. So
//! descriptors of locks are registered, and the handler closes them in the child; the parent keeps
//! its own. Between opening a lock file and registering it are a few instructions. A `fork` by
//! another thread in this gap is missed.
//!
//! # Why unsafe here
//! Registering the handler and the calls in it use foreign functions. In the child of a process
//! with threads only async-signal-safe calls are allowed: the handler loads and stores atomics, and
//! calls `getpid` and `close`.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

use crate::error::{EnvError, Result};

/// This process: the number of forks since the first use in the upper half, the process id in the
/// lower. 0 before the first use.
static HERE: AtomicU64 = AtomicU64::new(0);

/// The process that owns an object. Comparing it with the current process takes one load.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Owner(u64);

impl Owner {
    /// The current process.
    #[must_use]
    pub fn here() -> Self {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            HERE.store(u64::from(std::process::id()), Ordering::Relaxed);
            register();
        });
        Self(HERE.load(Ordering::Relaxed))
    }

    /// Whether this is the current process.
    #[inline]
    #[must_use]
    pub fn is_here(self) -> bool {
        HERE.load(Ordering::Relaxed) == self.0
    }

    /// As [`Owner::is_here`], but asks the kernel too: a child that was created without the C
    /// library has not run the fork handler.
    #[must_use]
    pub fn is_surely_here(self) -> bool {
        self.is_here() && std::process::id() == self.process()
    }

    /// The process id.
    #[must_use]
    pub fn process(self) -> u32 {
        self.0 as u32
    }

    /// Checks that the current process is the owner. Call it before touching shared state or taking
    /// a lock.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in any other process.
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

/// A value that belongs to the process that created it. Another process has no access, and never
/// drops the value: a drop may join a thread, take a lock, or close a descriptor number that
/// the child has reused for another file.
pub struct Own<T> {
    owner: Owner,
    value: ManuallyDrop<T>,
}

impl<T> Own<T> {
    /// Wraps a value that belongs to the current process.
    pub fn new(value: T) -> Self {
        Self { owner: Owner::here(), value: ManuallyDrop::new(value) }
    }

    /// The process that owns the value.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// The value.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in another process.
    #[inline]
    pub fn get(&self) -> Result<&T> {
        self.owner.check()?;
        Ok(&self.value)
    }

    /// The value, mutably.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in another process.
    #[inline]
    pub fn get_mut(&mut self) -> Result<&mut T> {
        self.owner.check()?;
        Ok(&mut self.value)
    }

    /// The value, in any process. Only for plain data that never changes and needs no lock.
    pub fn anywhere(&self) -> &T {
        &self.value
    }

    /// Takes the value out.
    ///
    /// # Errors
    /// [`EnvError::Forked`] in another process, where the value is leaked.
    pub fn into_inner(mut self) -> Result<T> {
        self.owner.check()?;
        // SAFETY: `self` is forgotten in the next line, so the value is not used here again.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        std::mem::forget(self);
        Ok(value)
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.owner.is_here() {
            // SAFETY: dropped once, here, and not used afterwards.
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

/// A slot for a descriptor that children close. Slots are reused but never freed.
struct Place {
    /// -1 if the slot is free.
    descriptor: AtomicI32,
    next: *mut Place,
}

static PLACES: AtomicPtr<Place> = AtomicPtr::new(std::ptr::null_mut());

/// Until it is dropped, children close the descriptor before `fork` returns in them.
pub(crate) struct ClosedInChildren(&'static AtomicI32);

impl ClosedInChildren {
    /// Registers `descriptor`. Must be dropped before the descriptor is closed.
    pub(crate) fn new(descriptor: i32) -> Self {
        // Registers the handler before there is a descriptor for it to close.
        let _ = Owner::here();
        let mut place = PLACES.load(Ordering::Acquire);
        // SAFETY: slots are leaked boxes, linked before they are published and never freed.
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
            // SAFETY: just allocated, and not reachable by others before the exchange below
            // succeeds.
            let head = unsafe { (*new).next };
            match PLACES.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: never freed.
                Ok(_) => return Self(unsafe { &(*new).descriptor }),
                // SAFETY: still not reachable by others.
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
    // SAFETY: slots are never freed.
    while let Some(found) = unsafe { place.as_ref() } {
        let descriptor = found.descriptor.swap(-1, Ordering::Relaxed);
        if descriptor >= 0 {
            // SAFETY: async-signal-safe. This is the child's copy of a lock's descriptor. Nothing
            // else in the child closes it: the lock does nothing in a process that does not own it.
            unsafe { libc::close(descriptor) };
        }
        place = found.next;
    }
}

fn register() {
    // Miri supports neither this function nor child processes.
    #[cfg(all(unix, not(miri)))]
    // SAFETY: the handler lives as long as the program (the C library forgets it if this library is
    // unloaded), and calls only functions that are allowed in a child.
    let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    #[cfg(any(not(unix), miri))]
    let failed = {
        let _ = in_child;
        0
    };
    // Fails only if a few bytes cannot be allocated.
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
            // SAFETY: slots are never freed.
            while let Some(found) = unsafe { place.as_ref() } {
                (count, place) = (count + 1, found.next);
            }
            count
        };
        // Descriptors that no process has, in case a child of another test closes them.
        for _ in 0..100 {
            drop(ClosedInChildren::new(1 << 30));
        }
        assert!(count() <= 16, "{} places", count());
    }
}
