//! Calls of Python code from threads and places that run without the interpreter's lock, and the end of the interpreter.
//!
//! # What happens at its end
//! The main thread ends the interpreter while daemon threads still run. Up to Python 3.13 a thread that asks for the lock then is ended by
//! `pthread_exit`, which unwinds its stack: also from within Python code that a rule, a callback or an iterable runs. Our frames on that stack would give
//! back a lock that they do not hold, which aborts the process, or drop objects that nobody may touch any more.
//!
//! # Invariants
//! 1. Such a thread stands still in the first of our frames that the unwinding meets, until the process is gone. It holds what it holds: no file
//!    is changed any more, which is what a killed process leaves.
//! 2. A thread that comes too late to ask for the lock stands still, too.
//! 3. Nobody waits for such a thread: once the program is at its end, streams do not join theirs.
//!
//! # Why unsafe here
//! PyO3 declares `PyObject_Call` and its kind as functions that never unwind, so that no frame between could stop the unwinding in an orderly way. There is no
//! other way to see it.
#![allow(unsafe_code)]

use pyo3::BoundObject;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::mem::forget;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{panicking, park};

unsafe extern "C-unwind" {
    fn PyObject_Call(
        callable: *mut ffi::PyObject,
        args: *mut ffi::PyObject,
        kwargs: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    fn PyObject_GetIter(object: *mut ffi::PyObject) -> *mut ffi::PyObject;
    fn PyIter_Next(iterator: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

/// Stands still for ever where it is dropped by an unwinding that is no panic.
struct Still;

impl Drop for Still {
    fn drop(&mut self) {
        if !panicking() {
            stand_still();
        }
    }
}

fn stand_still() -> ! {
    loop {
        park();
    }
}

/// Runs `with` with the interpreter's lock. Does not come back where the interpreter ends meanwhile or has ended.
pub(crate) fn attached<T>(with: impl FnOnce(Python<'_>) -> T) -> T {
    let done = Python::try_attach(|py| {
        let still = Still;
        let done = with(py);
        forget(still);
        done
    });
    done.unwrap_or_else(|| stand_still())
}

/// Calls an object.
pub(crate) fn call<'py>(
    callable: &Bound<'py, PyAny>,
    args: impl IntoPyObject<'py, Target = PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let args: Bound<'py, PyTuple> = args.into_pyobject(py).map_err(Into::into)?.into_bound();
    // SAFETY: both objects are alive, the second is a tuple, and the lock is held.
    let found = guarded(|| unsafe { PyObject_Call(callable.as_ptr(), args.as_ptr(), null_mut()) });
    // SAFETY: the call gives a reference that is ours, or null and an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, found) }
}

/// The items of an object.
pub(crate) fn items<'py>(of: &Bound<'py, PyAny>) -> PyResult<Items<'py>> {
    // SAFETY: the object is alive, and the lock is held.
    let found = guarded(|| unsafe { PyObject_GetIter(of.as_ptr()) });
    // SAFETY: the call gives a reference that is ours, or null and an exception.
    unsafe { Bound::from_owned_ptr_or_err(of.py(), found) }.map(Items)
}

/// What [`items`] gives.
pub(crate) struct Items<'py>(Bound<'py, PyAny>);

impl<'py> Iterator for Items<'py> {
    type Item = PyResult<Bound<'py, PyAny>>;

    fn next(&mut self) -> Option<Self::Item> {
        let py = self.0.py();
        // SAFETY: it is an iterator, for `PyObject_GetIter` gives nothing else, and the lock is held.
        let found = guarded(|| unsafe { PyIter_Next(self.0.as_ptr()) });
        // SAFETY: the call gives a reference that is ours, or null, with an exception or without.
        match unsafe { Bound::from_owned_ptr_or_opt(py, found) } {
            Some(item) => Some(Ok(item)),
            None => PyErr::take(py).map(Err),
        }
    }
}

#[inline(never)]
fn guarded(call: impl FnOnce() -> *mut ffi::PyObject) -> *mut ffi::PyObject {
    let still = Still;
    let found = call();
    forget(still);
    found
}

static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the program is at its end: threads may stand still for ever.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.load(Relaxed)
}

/// Told by Python's `atexit` before the interpreter ends.
#[pyfunction]
pub(crate) fn _at_exit() {
    IS_ENDING.store(true, Relaxed);
}
