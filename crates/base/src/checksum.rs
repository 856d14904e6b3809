//! The one checksum of every file kind.

/// XXH3-64 of `bytes`: guards each block, log record and manifest edit.
///
/// Not cryptographic: it finds accidents, not attackers.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}
