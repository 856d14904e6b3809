//! Measures how much stack a thread has left.
//!
//! # Why
//! Recursive functions process nested scripts. The program chooses the stack sizes of its threads,
//! as small as 128 KiB, and a stack overflow ends the process. So a script that is nested too
//! deeply for the current thread is refused before any recursion.
//!
//! # Why unsafe here
//! The standard library does not report where a stack ends. The C library is asked once per thread;
//! after that a call takes a few nanoseconds.
#![allow(unsafe_code)]

use std::cell::Cell;

/// Bytes of stack that this thread has left, without the guard pages. `usize::MAX` if unknown, as
/// on the stack of a coroutine.
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

/// Usable addresses of this thread's stack, above the guard pages, with exposed provenance. Empty
/// if unknown.
#[must_use]
pub fn stack_range() -> std::ops::Range<usize> {
    let stack = stack();
    stack.lowest + stack.guard_bytes..stack.end
}

/// Address range of a thread's stack; empty if unknown.
#[derive(Clone, Copy, Default)]
struct Stack {
    lowest: usize,
    end: usize,
    /// Length of the guard at the lowest addresses.
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
        // Some versions of glibc count the guard as part of the stack, so it is subtracted for all.
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
