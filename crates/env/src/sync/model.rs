//! The types of `machine.rs` for the model checker `shuttle` (feature `shuttle`): it may switch
//! threads at every operation that another thread can observe. Both files must offer the same
//! functions.
//!
//! # What a model does not show
//! `shuttle` runs one thread at a time, and every load returns the latest store, whatever its
//! ordering. An ordering that is too weak is found by Miri, which also returns older values (`make
//! miri`).

use arc_swap::{Guard, RefCnt};
use atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, TryLockError};

pub use shuttle::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// The checker's atomics.
pub mod atomic {
    pub use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

/// Does nothing: the checker knows which other threads can run.
pub fn on_contention(_: Option<fn()>) {}

/// As in `machine.rs`: the model checker's tasks are threads of their own.
#[must_use]
pub fn task() -> u64 {
    0
}

/// As in `machine.rs`.
pub fn set_task(_: u64) {}

/// A mutual exclusion lock. A panic while it is held does not poison it.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    /// Consumes the lock and returns its value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock; blocks while another thread holds it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value; needs no locking, since the lock is borrowed mutably.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lock for one writer or many readers. A panic while it is held does not poison it.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(shuttle::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(shuttle::sync::RwLock::new(value))
    }

    /// Consumes the lock and returns its value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes a shared lock; blocks while a writer holds it.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a shared lock if no writer holds the lock or waits for it.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        match self.0.try_read() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes the exclusive lock; blocks while another thread holds it.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value; needs no locking, since the lock is borrowed mutably.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pointer that can be replaced while readers load it.
pub type ArcSwap<T> = Swap<Arc<T>>;
/// As [`ArcSwap`], but may be empty.
pub type ArcSwapOption<T> = Swap<Option<Arc<T>>>;

/// `arc-swap`, with a point before each operation at which the checker may switch threads. An
/// operation of `arc-swap` is one step of the model; what happens inside is not checked here.
#[derive(Debug)]
pub struct Swap<P: RefCnt> {
    inner: arc_swap::ArcSwapAny<P>,
    turn: AtomicU64,
}

impl<T> Swap<Arc<T>> {
    /// Creates a pointer to a new `Arc` of `value`.
    pub fn from_pointee(value: T) -> Self {
        Self::new(Arc::new(value))
    }
}

impl<P: RefCnt + Default> Default for Swap<P> {
    fn default() -> Self {
        Self::new(P::default())
    }
}

impl<P: RefCnt> Swap<P> {
    /// Creates a pointer that holds `value`.
    pub fn new(value: P) -> Self {
        Self { inner: arc_swap::ArcSwapAny::new(value), turn: AtomicU64::new(0) }
    }

    /// A point at which the checker may switch threads. The value that it loads has no meaning.
    fn step(&self) {
        self.turn.load(Ordering::SeqCst);
    }

    /// The current value, borrowed for a short time.
    pub fn load(&self) -> Guard<P> {
        self.step();
        self.inner.load()
    }

    /// The current value, with its own reference.
    pub fn load_full(&self) -> P {
        self.step();
        self.inner.load_full()
    }

    /// Replaces the value.
    pub fn store(&self, value: P) {
        self.step();
        self.inner.store(value);
    }

    /// Replaces the value and returns the old one.
    pub fn swap(&self, value: P) -> P {
        self.step();
        self.inner.swap(value)
    }
}
