//! A split-block Bloom filter: says that a key is surely absent, so that a table need not be read
//! for it. `table/builder.rs` writes filters, `table/reader.rs` asks them, and the filter of a
//! memtable uses the same hashes.
//!
//! # Why split blocks
//! A key sets eight bits, all in one block of 32 bytes: one cache miss a question, where a plain
//! Bloom filter of the same accuracy has seven. The cost is about a third more false positives.
//!
//! # Invariants
//! 1. A hash that was added is always found.
//! 2. On disk: block count `u32`, then the blocks, eight words `u32` each.

use super::{Fields, Malformed};
use base::prefetch::prefetch_value;

/// Bits of the filter for each key: about 1 % false positives.
pub const BITS_PER_KEY: usize = 10;

/// Bytes of a block: eight words of 32 bits.
const BLOCK_BYTES: usize = 32;

/// Odd numbers whose products choose a bit in each word of a block; those of Apache Parquet.
const SALT: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Hash of a key of words, or of a prefix of one.
#[inline]
pub fn hash_words(words: &[u64]) -> u64 {
    // A prefix is not the key with a zero word: the length goes into the seed.
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(words.len() as u64 + 1);
    for &word in words {
        let wide = u128::from(hash ^ word ^ 0xa076_1d64_78bd_642f)
            * u128::from(word.rotate_left(32) ^ 0xe703_7ed1_a0b4_28db);
        hash = (wide as u64) ^ ((wide >> 64) as u64) ^ hash.rotate_left(23);
    }
    // The finisher of splitmix64: the products above leave structure in the low bits.
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Hash of a key of bytes.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    base::checksum(bytes)
}

/// Collects the hashes of a table's keys.
#[derive(Debug, Default)]
pub struct FilterBuilder {
    hashes: Vec<u64>,
}

impl FilterBuilder {
    /// A builder without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key's hash. The same hash twice in a row counts once.
    #[inline]
    pub fn add_hash(&mut self, hash: u64) {
        if self.hashes.last() != Some(&hash) {
            self.hashes.push(hash);
        }
    }

    /// Number of hashes added.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether no hash was added.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Appends the filter of all hashes with `bits_per_key` bits for each.
    pub fn finish(&self, bits_per_key: usize, out: &mut Vec<u8>) {
        let blocks = (self.hashes.len() * bits_per_key).div_ceil(BLOCK_BYTES * 8).max(1);
        let mut words = vec![[0_u32; 8]; blocks];
        for &hash in &self.hashes {
            let block = &mut words[block_of(hash, blocks)];
            block.iter_mut().zip(bits_of(hash)).for_each(|(word, bit)| *word |= bit);
        }
        out.reserve(4 + blocks * BLOCK_BYTES);
        out.extend_from_slice(&(blocks as u32).to_le_bytes());
        for word in words.iter().flatten() {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}

/// The high half of the hash chooses the block, the low half the bits in it.
#[inline]
fn block_of(hash: u64, blocks: usize) -> usize {
    (((hash >> 32) * blocks as u64) >> 32) as usize
}

/// The bit that a hash has in each word of its block.
#[inline]
fn bits_of(hash: u64) -> [u32; 8] {
    SALT.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

/// A filter in memory.
#[derive(Clone, Debug)]
pub struct Filter {
    blocks: Box<[FilterBlock]>,
}

/// Aligned, so that none lies on two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct FilterBlock([u32; 8]);

impl Filter {
    /// Reads a filter; `bytes` holds nothing else.
    ///
    /// # Errors
    /// If the block count and the bytes disagree.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(bytes);
        let count = fields.u32()? as usize;
        let (blocks, rest) = fields.rest().as_chunks::<BLOCK_BYTES>();
        if count == 0 || blocks.len() != count || !rest.is_empty() {
            return Err(Malformed("a filter whose block count is not its length"));
        }
        let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let block = |bytes: &[u8; BLOCK_BYTES]| {
            let (words, _) = bytes.as_chunks::<4>();
            FilterBlock(std::array::from_fn(|i| word(&words[i])))
        };
        Ok(Self { blocks: blocks.iter().map(block).collect() })
    }

    /// Bytes of memory it takes.
    pub fn memory_bytes(&self) -> u64 {
        size_of_val::<[FilterBlock]>(&self.blocks) as u64
    }

    /// Fetches what [`Self::may_contain`] reads.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch_value(&self.blocks[block_of(hash, self.blocks.len())]);
    }

    /// `false` if no key with this hash was added.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        let FilterBlock(words) = &self.blocks[block_of(hash, self.blocks.len())];
        let mut missing = 0;
        for (word, bit) in words.iter().zip(bits_of(hash)) {
            missing |= !word & bit;
        }
        missing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_that_was_added_is_found(
            keys in prop::collection::vec(prop::collection::vec(any::<u64>(), 1..4), 0..200),
        ) {
            let mut builder = FilterBuilder::new();
            keys.iter().for_each(|key| builder.add_hash(hash_words(key)));
            let mut bytes = Vec::new();
            builder.finish(BITS_PER_KEY, &mut bytes);
            let filter = Filter::parse(&bytes).unwrap();
            prop_assert!(keys.iter().all(|key| filter.may_contain(hash_words(key))));
            prop_assert!(Filter::parse(&bytes[..bytes.len() - 1]).is_err());
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(0..3_u8, 0..100), hash: u64) {
            if let Ok(filter) = Filter::parse(&bytes) {
                filter.may_contain(hash);
            }
        }
    }

    #[test]
    fn dense_absent_keys_are_refused_about_ninety_eight_times_in_a_hundred() {
        let mut builder = FilterBuilder::new();
        for a in 0..200_u64 {
            (0..100).for_each(|b| builder.add_hash(hash_words(&[a, b])));
        }
        let mut bytes = Vec::new();
        builder.finish(BITS_PER_KEY, &mut bytes);
        let filter = Filter::parse(&bytes).unwrap();
        let mut found = 0;
        for a in 0..200_u64 {
            found += (100..200).filter(|&b| filter.may_contain(hash_words(&[a, b]))).count();
        }
        assert!(found < 20_000 * 2 / 100, "{found} of 20000 absent keys pass");
    }
}
