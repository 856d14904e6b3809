//! The real thing: `parking_lot`, the standard library and `arc-swap`.

use std::cell::Cell;

pub use arc_swap::{ArcSwap, ArcSwapOption};
pub use parking_lot::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// Atomics of the standard library.
pub mod atomic {
    pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

thread_local! {
    static CONTENDED: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// From now on, a thread that finds a lock taken calls `run_others` again and again until it is
/// free, instead of sleeping. `None` gives back the usual behaviour. For simulators; only the
/// calling thread is concerned.
pub fn on_contention(run_others: Option<fn()>) {
    CONTENDED.with(|hook| hook.set(run_others));
}

/// Whether the lock could be had by running others; `None` where this thread may simply sleep.
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

/// A lock for one at a time. A panic while it is held does not poison it.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    /// An open lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// The value, for its only owner.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock, waiting while another has it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if let Some(guard) = self.0.try_lock() {
            return guard;
        }
        wait(|| self.0.try_lock()).unwrap_or_else(|| self.0.lock())
    }

    /// Takes the lock if nobody has it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// The value, for its only owner.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// A lock for one writer or many readers. A panic while it is held does not poison it.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(parking_lot::RwLock<T>);

impl<T> RwLock<T> {
    /// An open lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::RwLock::new(value))
    }

    /// The value, for its only owner.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock beside other readers, waiting while a writer has it.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        if let Some(guard) = self.0.try_read() {
            return guard;
        }
        wait(|| self.0.try_read()).unwrap_or_else(|| self.0.read())
    }

    /// Takes the lock beside other readers if no writer has it or waits for it.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.0.try_read()
    }

    /// Takes the lock alone, waiting while anyone has it.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        if let Some(guard) = self.0.try_write() {
            return guard;
        }
        wait(|| self.0.try_write()).unwrap_or_else(|| self.0.write())
    }

    /// The value, for its only owner.
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
        // "Another task" gives the lock back; a sleeping thread would sleep for ever.
        on_contention(Some(|| HELD.with(|held| drop(held.borrow_mut().take()))));
        assert_eq!(*LOCK.lock(), 7);
        on_contention(None);
    }
}
