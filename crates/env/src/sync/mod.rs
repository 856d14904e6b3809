//! Locks, atomics and swappable pointers that work in simulations and under a model checker.
//!
//! # Why not `parking_lot` itself
//! A simulation runs all its tasks on one thread. A task that blocked this thread, for a lock that
//! another task holds, would stop both forever. So a contended lock first calls the thread's hook
//! ([`on_contention`]): a simulator runs other tasks, and the lock is tried again. A free lock
//! costs the same as in `parking_lot`, one compare-and-swap.
//!
//! # Why atomics are included
//! With the feature `shuttle`, all types here are those of the model checker, which decides at
//! every lock, load and store which thread continues. So it checks the engine's own code and not a
//! copy of it (`make models`). Without the feature, the atomics are re-exported from the standard
//! library and the pointers from `arc-swap`, at no cost.

#[cfg(not(feature = "shuttle"))]
mod machine;
#[cfg(feature = "shuttle")]
mod model;

#[cfg(not(feature = "shuttle"))]
pub use machine::{
    ArcSwap, ArcSwapOption, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
    on_contention, set_task, task,
};
#[cfg(feature = "shuttle")]
pub use model::{
    ArcSwap, ArcSwapOption, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
    on_contention, set_task, task,
};

pub use arc_swap::Guard;

/// Releases a lock and hands it to the first waiter, if there is one. For threads that take the
/// lock again immediately, before a waiter could wake up.
pub trait UnlockFair {
    /// Releases the lock fairly.
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

// The checker chooses which thread gets the lock next.
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
