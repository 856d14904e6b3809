//! How much of its stack a thread has left.
//!
//! # Why
//! Recursive functions walk nested scripts. Host programs choose the stack sizes of their threads,
//! as small as 128 KiB, and a stack overflow ends the process. So a script that is too deep for the
//! current thread is refused before anything walks it.
//!
//! # Why unsafe here
//! The standard library does not say where a stack ends. It is asked once a thread; after that an
//! answer takes some nanoseconds.
#![allow(unsafe_code)]

use std::cell::Cell;

/// Bytes of stack that this thread has left, less what its guard takes; `usize::MAX` where nobody
/// knows, as on the stack of a coroutine.
#[must_use]
pub fn stack_left_bytes() -> usize {
    thread_local! {
        static STACK: Cell<Option<Stack>> = const { Cell::new(None) };
    }
    let here = 0_u8;
    let stack = STACK.get().unwrap_or_else(|| {
        let stack = stack();
        STACK.set(Some(stack));
        stack
    });
    let here = std::ptr::from_ref(&here).addr();
    if (stack.lowest..stack.end).contains(&here) {
        here.saturating_sub(stack.lowest + stack.guard_bytes)
    } else {
        usize::MAX
    }
}

/// Usable addresses of this thread's stack, above its guard, with exposed provenance; empty where
/// nobody knows.
#[must_use]
pub fn stack_range() -> std::ops::Range<usize> {
    let stack = stack();
    stack.lowest + stack.guard_bytes..stack.end
}

/// Where a thread's stack lies; empty where nobody knows.
#[derive(Clone, Copy, Default)]
struct Stack {
    lowest: usize,
    end: usize,
    /// At its lowest addresses.
    guard_bytes: usize,
}

#[cfg(target_os = "linux")]
fn stack() -> Stack {
    let mut attributes = std::mem::MaybeUninit::uninit();
    let (mut lowest, mut stack_bytes, mut guard_bytes) = (std::ptr::null_mut(), 0, 0);
    // SAFETY: the first call fills the attributes, which the others read and the last one frees.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return Stack::default();
        }
        let attributes = attributes.assume_init_mut();
        let is_known = libc::pthread_attr_getstack(attributes, &mut lowest, &mut stack_bytes) == 0
            && libc::pthread_attr_getguardsize(attributes, &mut guard_bytes) == 0;
        libc::pthread_attr_destroy(attributes);
        if !is_known {
            return Stack::default();
        }
        // Some versions of glibc count the guard as part of the stack; it is subtracted for all.
        let lowest = lowest.expose_provenance();
        Stack { lowest, end: lowest + stack_bytes, guard_bytes }
    }
}

#[cfg(not(target_os = "linux"))]
fn stack() -> Stack {
    Stack::default()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_less_than_the_stack_and_shrinks_with_each_call() {
        #[inline(never)]
        fn deeper() -> usize {
            let frame = std::hint::black_box([0_u8; 4096]);
            stack_left_bytes() - usize::from(frame[0])
        }
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        let asked = thread.spawn(|| (stack_left_bytes(), deeper())).unwrap();
        let (left, in_call) = asked.join().unwrap();
        assert!((128 << 10..=256 << 10).contains(&left), "{left}");
        assert!(in_call <= left - 4096, "{in_call} of {left}");
    }
}
