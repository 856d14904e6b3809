//! A Bloom filter that grows with the memtable. Most reads learn from it that the key is absent.
//!
//! # Why layers
//! A filter of fixed size would be too large for a transaction's few writes or too full for a large
//! memtable. Each layer is eight times the one before. A reader checks all layers, one cache line
//! each, and the loads do not wait for each other.
//!
//! # Invariants
//! 1. Bits are set before an entry is linked and are never cleared.
//! 2. Three bits of one word stand for an item, so an item costs one load a layer.

use env::sync::atomic::AtomicU64;
use env::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::OnceLock;

/// Items the first layer is made for.
const FIRST_ITEMS_LOG2: u32 = 9;
/// Each layer is this much larger than the one before.
const GROWTH_LOG2: u32 = 3;
const LAYERS: usize = 8;
/// A word of 64 bits for this many items.
const ITEMS_A_WORD_LOG2: u32 = 2;

/// A set of hashes that may claim to hold one that it does not.
#[derive(Debug)]
pub(super) struct BloomFilter {
    layers: [OnceLock<Box<[AtomicU64]>>; LAYERS],
    /// Layers in use.
    used: AtomicU64,
    /// Items in the last of them.
    items: AtomicU64,
}

/// Which word of a layer, and which bits of it.
#[inline]
fn place(hash: u64, words: usize) -> (usize, u64) {
    let word = ((u128::from(hash) * words as u128) >> 64) as usize;
    let bit = |shift: u32| 1_u64 << ((hash >> shift) & 63);
    (word, bit(0) | bit(6) | bit(12))
}

impl BloomFilter {
    pub(super) fn new() -> Self {
        Self {
            layers: [const { OnceLock::new() }; LAYERS],
            used: AtomicU64::new(0),
            items: AtomicU64::new(0),
        }
    }

    /// Adds an item. One thread at a time.
    #[inline]
    pub(super) fn insert(&self, hash: u64) {
        let used = self.used.load(Relaxed) as usize;
        let items = self.items.load(Relaxed) + 1;
        let full = used == 0
            || used < LAYERS && items > 1 << (FIRST_ITEMS_LOG2 + GROWTH_LOG2 * (used as u32 - 1));
        let layer = match self.layers.get(used.wrapping_sub(1)).and_then(OnceLock::get) {
            Some(words) if !full => words,
            _ => self.grow(used),
        };
        let (word, bits) = place(hash, layer.len());
        let before = layer[word].load(Relaxed);
        if before & bits != bits {
            layer[word].store(before | bits, Relaxed);
        }
        self.items.store(if full { 1 } else { items }, Relaxed);
    }

    #[cold]
    fn grow(&self, used: usize) -> &[AtomicU64] {
        let items_log2 = FIRST_ITEMS_LOG2 + GROWTH_LOG2 * used as u32;
        let words = 1_usize << (items_log2 - ITEMS_A_WORD_LOG2);
        let layer = self.layers[used]
            .get_or_init(|| std::iter::repeat_with(AtomicU64::default).take(words).collect());
        self.used.store(used as u64 + 1, Release);
        layer
    }

    /// `false` if the item was never added.
    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        let used = self.used.load(Acquire) as usize;
        self.layers[..used].iter().rev().filter_map(OnceLock::get).any(|words| {
            let (word, bits) = place(hash, words.len());
            words[word].load(Relaxed) & bits == bits
        })
    }

    /// Memory it takes, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.layers.iter().filter_map(OnceLock::get).map(|words| 8 * words.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::filter::hash_words;

    #[test]
    fn a_filter_holds_what_it_was_given_and_little_else() {
        let filter = BloomFilter::new();
        assert!(!filter.may_contain(hash_words(&[1])));
        let items = 40_000;
        (0..items).for_each(|i| filter.insert(hash_words(&[i])));
        assert!((0..items).all(|i| filter.may_contain(hash_words(&[i]))));
        let wrong = (items..2 * items).filter(|&i| filter.may_contain(hash_words(&[i]))).count();
        assert!(wrong < items as usize / 10, "{wrong} of {items}");
        assert!(filter.bytes() < 40 * items);
    }
}
