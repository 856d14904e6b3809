//! Long calls that Ctrl-C ends: the engine asks every few thousand rows whether to go on.

use crate::error::OrRaise;
use crate::exits;
use crate::gil::detached;
use crate::python_code::attached;
use env::sync::Mutex;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Milliseconds between two checks for Ctrl-C, and between two reports of progress.
pub(crate) const STEP_MS: u64 = 100;

/// Runs `work` without the GIL, so that Ctrl-C can stop it. `work` gets a function `go_on`, and
/// calls it now and then. Once a signal is pending in Python, `go_on` returns false. `work` then
/// stops, and the signal's exception is raised.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&(dyn Fn() -> bool + Send + Sync)) -> quipu::Result<T> + Send,
) -> PyResult<T> {
    let pending: Mutex<Option<PyErr>> = Mutex::new(None);
    let last = AtomicU64::new(0);
    let start = Instant::now();
    let main = std::thread::current().id();
    let go_on = || {
        let now = start.elapsed().as_millis() as u64;
        let before = last.load(Ordering::Relaxed);
        // Only the calling thread checks for signals; worker threads read its result.
        if std::thread::current().id() == main && now >= before + STEP_MS {
            last.store(now, Ordering::Relaxed);
            if let Err(error) = attached(|py| py.check_signals()) {
                *pending.lock() = Some(error);
            }
        }
        pending.lock().is_none() && !exits::is_pending()
    };
    let result = detached(py, || work(&go_on));
    // A signal is raised even where it came after the work was done.
    match pending.into_inner() {
        Some(signal) => Err(signal),
        None => result.or_raise(),
    }
}
