//! A counting allocator, so that a length read from a damaged file cannot allocate much memory
//! unnoticed.
//!
//! # Why unsafe
//! Only a global allocator sees every allocation. It adds two counters to the system's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

/// Bytes that are allocated now.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// Maximum of [`LIVE`] since [`within`] last began.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Largest allocation of a test. A larger one fails, and ends the process with the system's
/// message.
const SINGLE_BYTES_MAX: usize = 1 << 30;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed to the system's allocator unchanged, or refused with a null pointer,
// which the contract allows.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > SINGLE_BYTES_MAX {
            return std::ptr::null_mut();
        }
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's contract is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > SINGLE_BYTES_MAX {
            return std::ptr::null_mut();
        }
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's contract is the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work`, and fails if memory grew by more than `limit_bytes` meanwhile.
pub(crate) fn within<R>(limit_bytes: usize, about: &str, work: impl FnOnce() -> R) -> R {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    let peak = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    assert!(peak <= limit_bytes, "{about}: {} MiB of memory", peak >> 20);
    result
}
