//! Asks the processor for memory before it is read, so that the cache misses of many look-ups pass
//! beside each other.
//!
//! # Why unsafe here
//! There is no safe way to a prefetch. A plain read that is thrown away does the same, but the
//! processor holds back what comes after it until the memory is there: of a batch look-up in
//! counters, half of the time was such waiting (`docs/decisions/0012-counters.md`).
#![allow(unsafe_code)]

/// Bytes that are fetched at once.
const LINE_BYTES: usize = 64;

/// Fetches the line of an address, which may be any: where nothing is mapped, nothing happens.
#[inline(always)]
pub fn prefetch(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::without_provenance::<i8>(address);
        // SAFETY: a hint; it reads nothing that a program could see and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Fetches a value's lines.
#[inline(always)]
pub fn prefetch_value<T: ?Sized>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>().addr();
    let end = start + size_of_val(value);
    (start & !(LINE_BYTES - 1)..end).step_by(LINE_BYTES).for_each(prefetch);
}

/// Fetches the first lines of a slice.
#[inline(always)]
pub fn prefetch_front(bytes: &[u8], lines: usize) {
    prefetch_value(&bytes[..bytes.len().min(lines * LINE_BYTES)]);
}
