//! The same names under the model checker `shuttle`: whatever can be seen by another thread is a
//! place where the checker may let another thread go on.
//!
//! # What a model does not show
//! `shuttle` runs one thread at a time and every load sees the last store, whatever the ordering
//! says. Too weak an ordering is found by Miri, which also returns old values (`make miri`).

use arc_swap::{Guard, RefCnt};
use atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, TryLockError};

pub use shuttle::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// The checker's atomics.
pub mod atomic {
    pub use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

/// The checker knows what else can run, so there is nobody to ask.
pub fn on_contention(_: Option<fn()>) {}

/// A lock for one at a time. A panic while it is held does not poison it.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An open lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    /// The value, for its only owner.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock, waiting while another has it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if nobody has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value, for its only owner.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lock for one writer or many readers. A panic while it is held does not poison it.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(shuttle::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// An open lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(shuttle::sync::RwLock::new(value))
    }

    /// The value, for its only owner.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock beside other readers, waiting while a writer has it.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock beside other readers if no writer has it or waits for it.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        match self.0.try_read() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes the lock alone, waiting while anyone has it.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, for its only owner.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pointer that readers load while it is replaced.
pub type ArcSwap<T> = Swap<Arc<T>>;
/// The same, possibly empty.
pub type ArcSwapOption<T> = Swap<Option<Arc<T>>>;

/// `arc-swap` itself, behind a place where the checker may let others go on. Its own loads and
/// stores are one step to the model: that they may overlap is its authors' proof, not ours.
#[derive(Debug)]
pub struct Swap<P: RefCnt> {
    inner: arc_swap::ArcSwapAny<P>,
    turn: AtomicU64,
}

impl<T> Swap<Arc<T>> {
    /// A pointer to `value`.
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
    /// Holds `value`.
    pub fn new(value: P) -> Self {
        Self { inner: arc_swap::ArcSwapAny::new(value), turn: AtomicU64::new(0) }
    }

    fn step(&self) {
        self.turn.load(Ordering::SeqCst);
    }

    /// What is there now, for a short use.
    pub fn load(&self) -> Guard<P> {
        self.step();
        self.inner.load()
    }

    /// What is there now, to keep.
    pub fn load_full(&self) -> P {
        self.step();
        self.inner.load_full()
    }

    /// Replaces what is there.
    pub fn store(&self, value: P) {
        self.step();
        self.inner.store(value);
    }

    /// Replaces what is there and hands it over.
    pub fn swap(&self, value: P) -> P {
        self.step();
        self.inner.swap(value)
    }
}
