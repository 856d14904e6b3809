//! Calls of Python code, and what becomes of their threads when the interpreter ends.
//!
//! # What happens when the interpreter ends
//! The main thread ends the interpreter while daemon threads and threads of ours still run. Up to
//! Python 3.13, a thread that then asks for the GIL is ended by `pthread_exit`, even from within
//! Python code that a rule, a callback or an iterable runs. That unwinds its stack. Our frames
//! would release a GIL that the thread does not hold, which aborts the process; or drop objects
//! that must no longer be touched; or catch what must not be caught.
//!
//! # Invariants
//! 1. Such a thread is parked until the process is gone, before any frame of its stack is left. It
//!    keeps what it holds. It changes no file any more, so files are as after a killed process.
//! 2. A thread that asks for the GIL after the end is parked, too.
//! 3. No thread waits for a parked one: once the program ends, streams do not join their threads.
//!
//! # How a thread is kept from unwinding
//! `pthread_exit` runs the handlers of `pthread_cleanup_push` before it leaves the frames in which
//! they were pushed. It compares the addresses of handlers and frames. (In C,
//! `pthread_cleanup_push` is a macro over two functions, which glibc and musl export.) A handler at
//! the lowest address of the thread's stack therefore runs before the first frame is left. Where
//! there are no such handlers, the first of our frames with something to drop parks the thread.
//!
//! # Why unsafe here
//! Neither the standard library nor PyO3 can intercept `pthread_exit`. A call takes some
//! nanoseconds.
#![allow(unsafe_code)]

use py_guard::guarded;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{panicking, park};

fn park_forever() -> ! {
    loop {
        park();
    }
}

/// Runs `work`, which Python called. Does not return where the interpreter ends while `work` runs
/// Python code.
pub(crate) fn still_at_end<T>(work: impl FnOnce() -> T) -> T {
    let mut guard = ParkOnUnwind::enter();
    let done = work();
    guard.is_done = true;
    done
}

/// Takes the GIL and runs `with`. Does not return where the interpreter ends meanwhile or has
/// ended.
pub(crate) fn attached<T>(with: impl FnOnce(Python<'_>) -> T) -> T {
    let done = Python::try_attach(|py| still_at_end(|| with(py)));
    done.unwrap_or_else(|| park_forever())
}

static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the program is ending: from then on threads may be parked for ever.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.load(Relaxed)
}

/// Called by Python's `atexit`, before the interpreter ends.
#[guarded]
#[pyfunction]
pub(crate) fn _at_exit() -> PyResult<()> {
    IS_ENDING.store(true, Relaxed);
    Ok(())
}

/// Parks the thread when it is dropped by an unwinding that is not a panic.
struct ParkOnUnwind {
    is_done: bool,
}

impl ParkOnUnwind {
    fn enter() -> Self {
        handler::enter();
        Self { is_done: false }
    }
}

impl Drop for ParkOnUnwind {
    fn drop(&mut self) {
        if !self.is_done && !panicking() {
            park_forever();
        }
        handler::leave();
    }
}

/// A cleanup handler for `pthread_exit`, pushed while a thread is in a call of ours.
#[cfg(target_os = "linux")]
mod handler {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::mem::align_of;
    use std::ptr::null_mut;

    /// `struct _pthread_cleanup_buffer` of glibc and musl.
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

    extern "C" fn park_forever(_: *mut c_void) {
        crate::python_code::park_forever()
    }

    #[derive(Clone, Copy)]
    enum Place {
        Unknown,
        /// The thread is never ended by `pthread_exit`, or its stack is not known.
        Nowhere,
        At(*mut Buffer),
    }

    thread_local! {
        static PLACE: Cell<Place> = const { Cell::new(Place::Unknown) };
        /// Depth of nested calls. Only the outermost pushes the handler and pops it.
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
            unsafe { _pthread_cleanup_push(buffer, park_forever, null_mut()) };
        }
    }

    pub(super) fn leave() {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0
            && let Place::At(buffer) = PLACE.get()
        {
            // SAFETY: `enter` pushed it. Handlers that were pushed after it are popped by now,
            // because calls end in the order of a stack.
            unsafe { _pthread_cleanup_pop(buffer, 0) };
        }
    }

    /// The lowest address of this thread's stack, above its guard page. A thread that needs this
    /// address for a frame is about to overflow its stack.
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
