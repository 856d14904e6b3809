//! The implementation for the real machine and for simulators: `parking_lot`, the standard library
//! and `arc-swap`. `model.rs` has the same types for the model checker; both files must offer the
//! same functions.

use std::cell::Cell;

pub use arc_swap::{ArcSwap, ArcSwapOption};
pub use parking_lot::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// Atomics of the standard library.
pub mod atomic {
    pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

thread_local! {
    static CONTENDED: Cell<Option<fn()>> = const { Cell::new(None) };
    static TASK: Cell<u64> = const { Cell::new(0) };
}

/// The task that runs on this thread: 0, but in a simulator, which runs several on one thread. What
/// belongs to the caller's thread on a real machine belongs to its task.
#[must_use]
pub fn task() -> u64 {
    TASK.get()
}

/// Sets the task that runs on this thread. For simulators.
pub fn set_task(task: u64) {
    TASK.set(task);
}

/// Sets what this thread does when it finds a lock taken: it calls `run_others` until the lock is
/// free. With `None`, the default, it sleeps. For simulators.
pub fn on_contention(run_others: Option<fn()>) {
    CONTENDED.with(|hook| hook.set(run_others));
}

/// Runs other tasks until `take` gets the lock. `None` if this thread may sleep instead.
#[cold]
fn wait<G>(mut take: impl FnMut() -> Option<G>) -> Option<G> {
    let run_others = CONTENDED.with(Cell::get)?;
    loop {
        run_others();
        if let Some(guard) = take() {
            return Some(guard);
        }
    }
}

/// A mutual exclusion lock. A panic while it is held does not poison it.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// Consumes the lock and returns its value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock; blocks while another thread holds it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if let Some(guard) = self.0.try_lock() {
            return guard;
        }
        wait(|| self.0.try_lock()).unwrap_or_else(|| self.0.lock())
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// The value; needs no locking, since the lock is borrowed mutably.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// A lock for one writer or many readers. A panic while it is held does not poison it.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(parking_lot::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::RwLock::new(value))
    }

    /// Consumes the lock and returns its value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes a shared lock; blocks while a writer holds it.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        if let Some(guard) = self.0.try_read() {
            return guard;
        }
        wait(|| self.0.try_read()).unwrap_or_else(|| self.0.read())
    }

    /// Takes a shared lock if no writer holds the lock or waits for it.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.0.try_read()
    }

    /// Takes the exclusive lock; blocks while another thread holds it.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        if let Some(guard) = self.0.try_write() {
            return guard;
        }
        wait(|| self.0.try_write()).unwrap_or_else(|| self.0.write())
    }

    /// The value; needs no locking, since the lock is borrowed mutably.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static HELD: std::cell::RefCell<Option<MutexGuard<'static, u32>>> = const { std::cell::RefCell::new(None) };
    }
    static LOCK: Mutex<u32> = Mutex::new(7);

    #[test]
    fn a_thread_that_can_run_others_does_so_until_the_lock_is_free() {
        HELD.with(|held| *held.borrow_mut() = Some(LOCK.lock()));
        // The other task releases the lock. A sleeping thread would sleep forever.
        on_contention(Some(|| HELD.with(|held| drop(held.borrow_mut().take()))));
        assert_eq!(*LOCK.lock(), 7);
        on_contention(None);
    }
}
