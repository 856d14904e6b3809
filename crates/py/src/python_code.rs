//! Python code that the database calls, and the end of the interpreter.
//!
//! # What happens at its end
//! The main thread ends the interpreter while daemon threads and threads of ours still run. Up to
//! Python 3.13 a thread that asks for the interpreter's lock then is ended by `pthread_exit`, also
//! from within Python code that a rule, a callback or an iterable runs. That unwinds its stack: our
//! frames would give back a lock that the thread does not hold, which aborts the process, drop
//! objects that nobody may touch any more, or catch what may not be caught.
//!
//! # Invariants
//! 1. Such a thread stands still until the process is gone, before any frame of its stack is left.
//!    It holds what it holds: no file is changed by it any more, which is what a killed process
//!    leaves.
//! 2. A thread that comes too late to ask for the lock stands still, too.
//! 3. Nobody waits for such a thread: once the program is at its end, streams do not join theirs.
//!
//! # How a thread is kept from unwinding
//! `pthread_exit` runs the handlers of `pthread_cleanup_push` before it leaves the frames in which
//! they were pushed, which it tells by their addresses. (In C that is a macro over two functions,
//! which glibc and musl export.) One at the lowest address of the thread's stack is run before the
//! first frame is left. Where there is no such thing, the first of our frames with something to
//! drop stands still.
//!
//! # Why unsafe here
//! Neither the standard library nor PyO3 has a way to see `pthread_exit`. A call takes some
//! nanoseconds.
#![allow(unsafe_code)]

use py_guard::guarded;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{panicking, park};

fn stand_still() -> ! {
    loop {
        park();
    }
}

/// Does what Python called. Does not come back where the interpreter ends while Python code works
/// that `work` calls.
pub(crate) fn still_at_end<T>(work: impl FnOnce() -> T) -> T {
    let mut standing = Standing::enter();
    let done = work();
    standing.is_done = true;
    done
}

/// Runs `with` with the interpreter's lock. Does not come back where the interpreter ends meanwhile
/// or has ended.
pub(crate) fn attached<T>(with: impl FnOnce(Python<'_>) -> T) -> T {
    let done = Python::try_attach(|py| still_at_end(|| with(py)));
    done.unwrap_or_else(|| stand_still())
}

static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the program is at its end: threads may stand still for ever.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.load(Relaxed)
}

/// Told by Python's `atexit` before the interpreter ends.
#[guarded]
#[pyfunction]
pub(crate) fn _at_exit() -> PyResult<()> {
    IS_ENDING.store(true, Relaxed);
    Ok(())
}

/// Stands still where it is dropped by an unwinding that is no panic.
struct Standing {
    is_done: bool,
}

impl Standing {
    fn enter() -> Self {
        handler::enter();
        Self { is_done: false }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if !self.is_done && !panicking() {
            stand_still();
        }
        handler::leave();
    }
}

/// A handler of `pthread_exit` while a thread is in a call of ours.
#[cfg(target_os = "linux")]
mod handler {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::mem::align_of;
    use std::ptr::null_mut;

    /// `struct _pthread_cleanup_buffer`
    #[repr(C)]
    struct Buffer {
        routine: Option<extern "C" fn(*mut c_void)>,
        arg: *mut c_void,
        cancel_type: c_int,
        previous: *mut Self,
    }

    unsafe extern "C" {
        fn _pthread_cleanup_push(
            buffer: *mut Buffer,
            routine: extern "C" fn(*mut c_void),
            arg: *mut c_void,
        );
        fn _pthread_cleanup_pop(buffer: *mut Buffer, execute: c_int);
    }

    extern "C" fn stand_still(_: *mut c_void) {
        super::stand_still()
    }

    #[derive(Clone, Copy)]
    enum Place {
        Unknown,
        /// The thread is not ended by `pthread_exit`, or nobody knows its stack.
        Nowhere,
        At(*mut Buffer),
    }

    thread_local! {
        static PLACE: Cell<Place> = const { Cell::new(Place::Unknown) };
        /// Calls inside one another.
        static DEPTH: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn enter() {
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        if depth > 0 {
            return;
        }
        if matches!(PLACE.get(), Place::Unknown) {
            PLACE.set(find().map_or(Place::Nowhere, Place::At));
        }
        if let Place::At(buffer) = PLACE.get() {
            // SAFETY: the buffer is this thread's alone, and stays in the list until `leave`, on
            // the same thread.
            unsafe { _pthread_cleanup_push(buffer, stand_still, null_mut()) };
        }
    }

    pub(super) fn leave() {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0
            && let Place::At(buffer) = PLACE.get()
        {
            // SAFETY: `enter` pushed it. What was pushed behind it was popped: calls end in the
            // order of a stack.
            unsafe { _pthread_cleanup_pop(buffer, 0) };
        }
    }

    /// The lowest place of this thread's stack, above its guard. A thread that needs the place for
    /// a frame is about to overflow.
    fn find() -> Option<*mut Buffer> {
        // SAFETY: both only ask the kernel.
        if unsafe { libc::gettid() == libc::getpid() } {
            // The main thread ends the interpreter.
            return None;
        }
        let stack = env::stack_range();
        let place = stack.start.next_multiple_of(align_of::<Buffer>());
        (stack.len() > 2 * size_of::<Buffer>())
            .then(|| std::ptr::with_exposed_provenance_mut(place))
    }
}

#[cfg(not(target_os = "linux"))]
mod handler {
    pub(super) fn enter() {}

    pub(super) fn leave() {}
}
