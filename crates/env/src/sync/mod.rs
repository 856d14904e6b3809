//! Locks, atomics and swapped pointers that a simulated machine can wait on and a model can watch.
//!
//! # Why not `parking_lot` itself
//! A simulated machine runs all its tasks on one thread. A task that blocks that thread for a lock
//! which another task holds would stop them both for ever. So a lock that is taken already first
//! asks the thread whether it knows something better to do ([`on_contention`]): a simulator then
//! runs other tasks, and the lock is tried again. A free lock costs what it costs in `parking_lot`:
//! one compare-and-swap.
//!
//! # Why atomics, too
//! With the feature `shuttle` everything here is the model checker's, which decides at every lock,
//! load and store who goes on. So it runs the engine's own code, not a copy of it (`make models`).
//! Without the feature the atomics are the standard library's and the pointers `arc-swap`'s, by
//! name: they cost nothing more.

#[cfg(not(feature = "shuttle"))]
mod machine;
#[cfg(feature = "shuttle")]
mod model;

#[cfg(not(feature = "shuttle"))]
pub use machine::{
    ArcSwap, ArcSwapOption, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
    on_contention,
};
#[cfg(feature = "shuttle")]
pub use model::{
    ArcSwap, ArcSwapOption, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
    on_contention,
};

pub use arc_swap::Guard;

/// Gives a lock back and, where others wait for it, to the first of them: for who takes it again at
/// once, and would else have it before they are awake.
pub trait UnlockFair {
    /// Gives it back.
    fn unlock_fair(self);
}

#[cfg(not(feature = "shuttle"))]
impl<T: ?Sized> UnlockFair for MutexGuard<'_, T> {
    fn unlock_fair(self) {
        MutexGuard::unlock_fair(self);
    }
}

#[cfg(not(feature = "shuttle"))]
impl<T: ?Sized> UnlockFair for RwLockWriteGuard<'_, T> {
    fn unlock_fair(self) {
        RwLockWriteGuard::unlock_fair(self);
    }
}

// The checker chooses who gets the lock next.
#[cfg(feature = "shuttle")]
impl<T: ?Sized> UnlockFair for MutexGuard<'_, T> {
    fn unlock_fair(self) {
        drop(self);
    }
}

#[cfg(feature = "shuttle")]
impl<T: ?Sized> UnlockFair for RwLockWriteGuard<'_, T> {
    fn unlock_fair(self) {
        drop(self);
    }
}
