//! Append-only memory with stable addresses, shared without locks and without unsafe code.
//!
//! # Why chunks of doubling length
//! A chunk never moves once it exists, so a reader follows an address while the writer appends. An
//! address becomes (chunk, offset) by counting leading zeros, and thirty slots reach 2^32 words.
//!
//! # Invariants
//! 1. One thread allocates at a time (the memtable's writer lock); any number read.
//! 2. A range that [`WordArena::allocate`] returns lies in one chunk.
//! 3. A word is written before the link that leads to it is published with release order.

use base::prefetch::prefetch_value;
use env::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// Words in the first chunk, as a power of two: small, since a transaction's own writes live in a
/// memtable too.
const FIRST_CHUNK_LOG2: u32 = 7;
/// Chunks until addresses no longer fit 32 bits.
const CHUNKS: usize = (32 - FIRST_CHUNK_LOG2) as usize;

/// Words by 32-bit address; address 0 is the first word.
#[derive(Debug)]
pub(super) struct WordArena {
    chunks: [OnceLock<Box<[AtomicU64]>>; CHUNKS],
}

/// Chunk and offset within it.
#[inline]
fn place(address: u32) -> (usize, usize) {
    // Shifted by the length of the first chunk, chunk `c` holds the numbers with top bit `c`.
    let shifted = u64::from(address) + (1 << FIRST_CHUNK_LOG2);
    let top = 63 - shifted.leading_zeros();
    ((top - FIRST_CHUNK_LOG2) as usize, (shifted - (1 << top)) as usize)
}

impl WordArena {
    pub(super) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS] }
    }

    /// Room for `words` in one piece at or after `next`: its address. The address after it is the
    /// next `next`.
    ///
    /// # Panics
    /// Past 32 GiB, which no caller lets a memtable reach.
    pub(super) fn allocate(&self, next: u32, words: usize) -> u32 {
        let mut address = next;
        loop {
            let (chunk, offset) = place(address);
            let chunk_words = 1_usize << (chunk as u32 + FIRST_CHUNK_LOG2);
            assert!(chunk < CHUNKS, "a memtable has grown past 32 GiB");
            if offset + words <= chunk_words {
                self.chunks[chunk].get_or_init(|| {
                    std::iter::repeat_with(AtomicU64::default).take(chunk_words).collect()
                });
                return address;
            }
            let start = address as usize - offset + chunk_words;
            address = u32::try_from(start).expect("a memtable has grown past 32 GiB");
        }
    }

    /// The words from `address` to the end of its chunk.
    #[inline]
    pub(super) fn at(&self, address: u32) -> &[AtomicU64] {
        let (chunk, offset) = place(address);
        match self.chunks.get(chunk).and_then(OnceLock::get) {
            Some(words) => words.get(offset..).unwrap_or_default(),
            None => &[],
        }
    }
}

type Slots = Box<[OnceLock<Box<[u8]>>]>;

/// Byte strings by slot. A slot holds the strings of one column of one batch, so that a batch costs
/// one allocation a column.
#[derive(Debug)]
pub(super) struct BytesArena {
    chunks: [OnceLock<Slots>; SLOT_CHUNKS],
}

const FIRST_SLOTS_LOG2: u32 = 4;
const SLOT_CHUNKS: usize = 28;

#[inline]
fn slot_place(slot: u32) -> (usize, usize) {
    let shifted = u64::from(slot) + (1 << FIRST_SLOTS_LOG2);
    let top = 63 - shifted.leading_zeros();
    ((top - FIRST_SLOTS_LOG2) as usize, (shifted - (1 << top)) as usize)
}

impl BytesArena {
    pub(super) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; SLOT_CHUNKS] }
    }

    /// Fills a slot that was not filled before.
    pub(super) fn set(&self, slot: u32, bytes: Box<[u8]>) {
        let (chunk, offset) = slot_place(slot);
        let slots = self.chunks[chunk].get_or_init(|| {
            let slots = 1_usize << (chunk as u32 + FIRST_SLOTS_LOG2);
            std::iter::repeat_with(OnceLock::new).take(slots).collect()
        });
        assert!(slots[offset].set(bytes).is_ok(), "a slot is filled once");
    }

    /// Fetches a slot, though not its bytes.
    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        let (chunk, offset) = slot_place(slot);
        let slots = self.chunks.get(chunk).and_then(OnceLock::get);
        if let Some(slot) = slots.and_then(|slots| slots.get(offset)) {
            prefetch_value(slot);
        }
    }

    /// The bytes of a filled slot.
    #[inline]
    pub(super) fn get(&self, slot: u32) -> &[u8] {
        let (chunk, offset) = slot_place(slot);
        self.chunks
            .get(chunk)
            .and_then(OnceLock::get)
            .and_then(|slots| slots.get(offset)?.get())
            .map_or(&[], |bytes| bytes)
    }
}

/// Reads a word that invariant 3 has already published.
#[inline]
pub(super) fn load(words: &[AtomicU64], i: usize) -> u64 {
    words[i].load(Ordering::Relaxed)
}

/// Writes a word before it is published.
#[inline]
pub(super) fn store(words: &[AtomicU64], i: usize, word: u64) {
    words[i].store(word, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_never_overlap_nor_straddle_chunks() {
        let arena = WordArena::new();
        let mut next = 0;
        let mut pieces = Vec::new();
        for i in 0..if cfg!(miri) { 30 } else { 2000_usize } {
            let words = 1 + i * 7 % 300;
            let address = arena.allocate(next, words);
            assert!(address >= next && arena.at(address).len() >= words);
            (0..words).for_each(|w| store(arena.at(address), w, i as u64));
            pieces.push((address, words));
            next = address + words as u32;
        }
        for (i, (address, words)) in pieces.into_iter().enumerate() {
            assert!((0..words).all(|w| load(arena.at(address), w) == i as u64));
        }
    }
}
