//! Releases the GIL around a call, or keeps it for calls that would not block.
//!
//! # Why a thread spins before it takes the GIL back
//! Two threads that run queries of about 20 us and then make tuples of the rows for as long contend
//! for the GIL all the time. The interpreter puts a thread that finds the GIL taken to sleep, and
//! sleeping and waking take longer than the query: by the time the thread is awake, the other has
//! the GIL again. The interpreter does not tell whether its GIL is taken, so threads tell each
//! other. A thread that comes back from [`detached`] stores its mark in [`HOLDER`], and clears it
//! when it releases the GIL here the next time. A mark can be stale, because a thread may release
//! the GIL elsewhere (in `time.sleep`). Therefore the wait is bounded by the duration of the work.
//!
//! Spinning for a bounded time before sleeping is what adaptive mutexes do (Karlin and others,
//! "Empirical studies of competitive spinning for a shared-memory multiprocessor", SOSP 1991:
//! spinning for as long as a sleep would cost takes at most twice the optimum). Figures are in
//! decision 0022.

use crate::error::OrRaise;
use pyo3::prelude::*;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The longest time that a thread spins: about what sleeping and waking cost, some 50 us on a
/// virtual machine.
const AWAKE_MAX: Duration = Duration::from_micros(50);

/// Reads of the mark between two reads of the clock.
const LOOKS: usize = 16;

/// The mark of the thread that last came back from [`detached`] and has not released the GIL here
/// since; 0 for none.
static HOLDER: AtomicUsize = AtomicUsize::new(0);

/// Whether a thread spins. One is enough: more would only take processors from threads that work.
static IS_AWAITED: AtomicBool = AtomicBool::new(false);

/// Does `work` without the GIL.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let me = mark();
    let result = py.detach(|| {
        // The GIL is released by now. The mark is kept where another thread has stored its own
        // since.
        let _ = HOLDER.compare_exchange(me, 0, Ordering::Relaxed, Ordering::Relaxed);
        let start = Instant::now();
        let result = work();
        wait_awake(start.elapsed());
        result
    });
    HOLDER.store(me, Ordering::Relaxed);
    result
}

/// Backoff of [`try_with_gil`], for all tables: data that is seldom in memory makes lookups in
/// other tables only a little slower.
static PAUSES: env::Pauses = env::Pauses::new();

/// Does `work` while holding the GIL, as long as it reads no file. `None` where it would read one:
/// then the caller does it again without the GIL, so that other threads run while this one waits
/// for the device.
pub(crate) fn try_with_gil<T>(work: impl FnOnce() -> T) -> Option<T> {
    if PAUSES.is_one() {
        return None;
    }
    let done = env::try_without_blocking(work);
    PAUSES.note(done.is_some());
    done
}

/// A lookup whose data is mostly in memory, where it takes no longer than releasing the GIL. It
/// holds the GIL unless a file has to be read.
pub(crate) fn lookup<T: Send>(py: Python<'_>, mut look: impl FnMut() -> T + Send) -> T {
    match try_with_gil(&mut look) {
        Some(found) => found,
        None => detached(py, look),
    }
}

/// Backoff of [`write()`].
static WRITES_PAUSES: env::Pauses = env::Pauses::new();

/// Does a small write. It holds the GIL where the write does not block, because releasing the GIL
/// takes as long as the write. A write blocks on a sync of the WAL, on room in memtables, on a
/// flush or a load that is running, and on files that are read to see which row is replaced. Where
/// a file would be read, nothing was written yet (`kv` guarantees it), and the write is done again
/// without the GIL.
pub(crate) fn write<T: Send>(
    py: Python<'_>,
    database: &quipu::Database,
    mut write: impl FnMut() -> quipu::Result<T> + Send,
) -> PyResult<T> {
    if database.commit_would_not_block() && !WRITES_PAUSES.is_one() {
        let done = env::try_without_blocking(&mut write);
        WRITES_PAUSES.note(done.is_some());
        if let Some(done) = done {
            return done.or_raise();
        }
    }
    detached(py, write).or_raise()
}

/// Spins until the mark is cleared, at most for as long as the work `took`.
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

/// A number that no other running thread has, never 0: the address of a thread-local variable.
fn mark() -> usize {
    thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}
