//! Work without the interpreter's lock, after which the lock is waited for awake where it is likely
//! to be free at once.
//!
//! Two threads that run queries of some 20 us and then make tuples of their rows for as long meet
//! at the lock all the time. Who finds it taken is put to sleep by the interpreter, and sleeping
//! and being woken takes longer than either: by the time the thread is awake, the other has the
//! lock again. The interpreter does not say whether its lock is taken, so threads tell each other:
//! each that comes back from here leaves its mark, and takes it away when it gives the lock up here
//! the next time. A mark can be stale, for a thread may give the lock up elsewhere (in
//! `time.sleep`), so that the wait is short at most: no longer than the work took.
//!
//! Spinning for a bounded time before sleeping is what adaptive mutexes do (Karlin and others,
//! "Empirical studies of competitive spinning for a shared-memory multiprocessor", SOSP 1991: as
//! long as sleeping would cost, at most twice the best). Figures in decision 0022.

use crate::error::OrRaise;
use pyo3::prelude::*;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The longest wait awake: about what it costs to sleep and be woken, some 50 us on a virtual
/// machine.
const AWAKE_MAX: Duration = Duration::from_micros(50);

/// Looks at the mark between two looks at the clock.
const LOOKS: usize = 16;

/// The thread that was last to come back from here and has not given the lock up here since; 0 for
/// none.
static HOLDER: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread waits awake: one is enough, more would only take processors from those who
/// work.
static IS_AWAITED: AtomicBool = AtomicBool::new(false);

/// Does `work` without the interpreter's lock.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let me = mark();
    let result = py.detach(|| {
        // After the lock is given up, and only if no other thread has left its mark by now.
        let _ = HOLDER.compare_exchange(me, 0, Ordering::Relaxed, Ordering::Relaxed);
        let start = Instant::now();
        let result = work();
        wait_awake(start.elapsed());
        result
    });
    HOLDER.store(me, Ordering::Relaxed);
    result
}

/// When no look is tried with the lock, for all there is: what is seldom in memory makes looks at
/// other things only a little slower.
static PAUSES: env::Pauses = env::Pauses::new();

/// Does `work` with the interpreter's lock, as long as it reads no file; `None` where it would.
/// Then it is to be done anew without the lock, so that others go on while the device is waited
/// for.
pub(crate) fn at_once<T>(work: impl FnOnce() -> T) -> Option<T> {
    if PAUSES.is_one() {
        return None;
    }
    let done = env::at_once(work);
    PAUSES.note(done.is_some());
    done
}

/// Looks up what mostly is in memory and takes no longer than giving the lock up does: with it
/// where no file has to be read.
pub(crate) fn look<T: Send>(py: Python<'_>, mut look: impl FnMut() -> T + Send) -> T {
    match at_once(&mut look) {
        Some(found) => found,
        None => detached(py, look),
    }
}

/// When no write is tried with the lock.
static WRITES_PAUSES: env::Pauses = env::Pauses::new();

/// Does a small write: with the lock where it waits for nothing, which takes no longer than giving
/// the lock up does. What it may wait for is the sync of the log, room in memtables, a flush or a
/// load at work, and files that are read to see what is replaced. Where a file would be read
/// nothing was done yet (`kv` sees to it), and the write is done anew without the lock.
pub(crate) fn write<T: Send>(
    py: Python<'_>,
    database: &quipu::Database,
    mut write: impl FnMut() -> quipu::Result<T> + Send,
) -> PyResult<T> {
    if database.commits_at_once() && !WRITES_PAUSES.is_one() {
        let done = env::at_once(&mut write);
        WRITES_PAUSES.note(done.is_some());
        if let Some(done) = done {
            return done.or_raise();
        }
    }
    detached(py, write).or_raise()
}

/// Waits until no mark is left, for as long as the work `took` at most.
fn wait_awake(took: Duration) {
    if HOLDER.load(Ordering::Relaxed) == 0 || IS_AWAITED.swap(true, Ordering::Relaxed) {
        return;
    }
    let end = Instant::now() + took.min(AWAKE_MAX);
    let is_free = |_| {
        spin_loop();
        HOLDER.load(Ordering::Relaxed) == 0
    };
    while !(0..LOOKS).any(is_free) && Instant::now() < end {}
    IS_AWAITED.store(false, Ordering::Relaxed);
}

/// A number of this thread that no other has.
fn mark() -> usize {
    thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}
