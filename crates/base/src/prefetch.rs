//! Prefetching, so that the cache misses of many look-ups overlap. `lsm` and `exec` use it.
//!
//! # Why unsafe here
//! There is no safe prefetch. A discarded plain read loads the line too, but the processor delays
//! later instructions until the memory arrives: half the time of a batch look-up in counters was
//! such waiting (`docs/decisions/0012-counters.md`).
#![allow(unsafe_code)]

/// Length of a cache line in bytes.
const LINE_BYTES: usize = 64;

/// Prefetches the cache line of any address. An unmapped address has no effect.
#[inline(always)]
pub fn prefetch(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::without_provenance::<i8>(address);
        // SAFETY: only a hint. It has no visible effect and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Prefetches all cache lines of a value.
#[inline(always)]
pub fn prefetch_value<T: ?Sized>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>().addr();
    let end = start + size_of_val(value);
    (start & !(LINE_BYTES - 1)..end).step_by(LINE_BYTES).for_each(prefetch);
}

/// Prefetches the first `lines` cache lines of a slice.
#[inline(always)]
pub fn prefetch_front(bytes: &[u8], lines: usize) {
    prefetch_value(&bytes[..bytes.len().min(lines * LINE_BYTES)]);
}
