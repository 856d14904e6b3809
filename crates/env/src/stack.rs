//! How much of its stack a thread has left.
//!
//! # Why it is asked
//! What nests is walked by functions that call themselves. A program chooses how large its threads' stacks are, some of them 128 KiB, and an overflow ends the
//! process: so what is too deep for this very thread is refused before it is walked.
//!
//! # Why unsafe here
//! The standard library does not say where a stack ends. It is asked once a thread; after that an answer takes some nanoseconds.
#![allow(unsafe_code)]

use std::cell::Cell;

/// Bytes of stack that this thread has left, less what its guard takes; `usize::MAX` where nobody knows.
#[must_use]
pub fn stack_left_bytes() -> usize {
    thread_local! {
        static LOWEST: Cell<Option<usize>> = const { Cell::new(None) };
    }
    let here = 0_u8;
    let lowest = LOWEST.get().unwrap_or_else(|| {
        let lowest = lowest();
        LOWEST.set(Some(lowest));
        lowest
    });
    match lowest {
        0 => usize::MAX,
        lowest => std::ptr::from_ref(&here).addr().saturating_sub(lowest),
    }
}

/// The lowest address of this thread's stack that is no guard; 0 where nobody knows.
#[cfg(target_os = "linux")]
fn lowest() -> usize {
    let mut attributes = std::mem::MaybeUninit::uninit();
    let (mut lowest, mut stack_bytes, mut guard_bytes) = (std::ptr::null_mut(), 0, 0);
    // SAFETY: the first call fills the attributes, which the others read and the last one frees.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return 0;
        }
        let attributes = attributes.assume_init_mut();
        let is_known = libc::pthread_attr_getstack(attributes, &mut lowest, &mut stack_bytes) == 0
            && libc::pthread_attr_getguardsize(attributes, &mut guard_bytes) == 0;
        libc::pthread_attr_destroy(attributes);
        // Some versions of glibc count the guard as a part of the stack, some do not.
        if is_known { lowest.addr() + guard_bytes } else { 0 }
    }
}

#[cfg(not(target_os = "linux"))]
fn lowest() -> usize {
    0
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
