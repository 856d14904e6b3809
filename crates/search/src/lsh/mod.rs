//! Near duplicates: sets of shingles become MinHash signatures, whose bands are indexed.
//!
//! MinHash: Broder, "On the resemblance and containment of documents" (1997). Bands: Indyk and
//! Motwani (1998), as in chapter 3 of Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets".
//!
//! # Why all constants are part of the format
//! Signatures and hashes of bands are stored. So the hash family below never changes, and an index
//! stores how many bands it has instead of computing that again.
//!
//! # The hash family
//! A shingle is hashed once, by XXH3 with 64 bits. Value `i` of the signature is the least of
//! `mix(hash XOR mix((i + 1) · γ)) >> 32` over all shingles, where `mix` and γ are those of
//! SplitMix64 (Steele, Lea and Flood, 2014).

mod bands;

pub use bands::{Bands, BandsWanted};

use crate::token::Token;
use std::collections::BTreeSet;

/// Bytes of a value of a signature.
const VALUE_BYTES: usize = 4;

/// Bytes of the key of a band: its number with 16 bits, then a hash of its values with 64.
pub const BAND_KEY_BYTES: usize = 2 + 8;

/// γ of SplitMix64: the odd number closest to 2⁶⁴ divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A set of shingles, each by its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shingles(BTreeSet<u64>);

impl Shingles {
    /// Sequences of `n` words of a text. A text of fewer words is one shingle; one without words
    /// has none.
    #[must_use]
    pub fn of_tokens(tokens: &[Token], n: usize) -> Self {
        let windows = tokens.windows(n.clamp(1, tokens.len().max(1)));
        let mut joined = String::new();
        let hash = |window: &[Token]| {
            joined.clear();
            for (place, token) in window.iter().enumerate() {
                if place > 0 {
                    joined.push('\0');
                }
                joined.push_str(&token.text);
            }
            base::checksum(joined.as_bytes())
        };
        Self(windows.map(hash).collect())
    }

    /// Adds a shingle of these bytes.
    pub fn insert(&mut self, shingle: &[u8]) {
        self.0.insert(base::checksum(shingle));
    }
}

/// The MinHash signature of a set of shingles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature(Vec<u32>);

impl Signature {
    /// The signature with a value for each row of each band; `None` for a set without shingles.
    #[must_use]
    pub fn of(shingles: &Shingles, bands: Bands) -> Option<Self> {
        if shingles.0.is_empty() {
            return None;
        }
        let seeds = (1..=bands.values() as u64).map(|number| mix(number.wrapping_mul(GAMMA)));
        let least = |seed: u64| {
            let hashes = shingles.0.iter().map(|hash| (mix(hash ^ seed) >> 32) as u32);
            hashes.min().unwrap_or(u32::MAX)
        };
        Some(Self(seeds.map(least).collect()))
    }

    /// The signature that [`Signature::to_bytes`] encoded; `None` if it has another length.
    #[must_use]
    pub fn of_bytes(bytes: &[u8], bands: Bands) -> Option<Self> {
        let (values, []) = bytes.as_chunks::<VALUE_BYTES>() else { return None };
        (values.len() == bands.values())
            .then(|| Self(values.iter().map(|value| u32::from_le_bytes(*value)).collect()))
    }

    /// Its values in order, each in 4 bytes, least significant first.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// The keys of its bands in ascending order: the number of the band with the most significant
    /// byte first, then a hash of its values, likewise.
    #[must_use]
    pub fn band_keys(&self, bands: Bands) -> Vec<[u8; BAND_KEY_BYTES]> {
        let bytes = self.to_bytes();
        let all = bytes.chunks_exact(bands.rows() * VALUE_BYTES).take(bands.bands());
        let key = |(number, values): (usize, &[u8])| {
            let mut key = [0; BAND_KEY_BYTES];
            key[..2].copy_from_slice(&(number as u16).to_be_bytes());
            key[2..].copy_from_slice(&base::checksum(values).to_be_bytes());
            key
        };
        all.enumerate().map(key).collect()
    }

    /// Estimates the Jaccard similarity of the sets of two signatures of the same length, 0 to 1:
    /// the share of values that are equal. With n values the standard error is at most 0.5 / √n.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> f64 {
        let equal = self.0.iter().zip(&other.0).filter(|(a, b)| a == b).count();
        equal as f64 / self.0.len().max(1) as f64
    }
}

/// The finalizer of SplitMix64, a bijection of 64 bits.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests;
