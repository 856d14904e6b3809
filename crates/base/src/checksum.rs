//! The checksum that all file formats share.

#[cfg(feature = "fault-switches")]
static ALL_ZERO: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Makes every checksum in this process 0 from now on, computed or compared, so that fuzzing
/// reaches the decoders behind the checks. Only with the feature `fault-switches`.
#[cfg(feature = "fault-switches")]
pub fn make_all_zero() {
    ALL_ZERO.store(true, std::sync::atomic::Ordering::Relaxed);
}

/// XXH3-64 of `bytes`. Guards each block, log record and manifest edit.
///
/// Not cryptographic: it detects accidental damage, not manipulation.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    #[cfg(feature = "fault-switches")]
    if ALL_ZERO.load(std::sync::atomic::Ordering::Relaxed) {
        return 0;
    }
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// Computes [`checksum`] incrementally, for files that should not be held in memory.
#[derive(Clone, Default)]
pub struct Checksummer(xxhash_rust::xxh3::Xxh3);

impl Checksummer {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all bytes so far.
    #[must_use]
    pub fn finish(&self) -> u64 {
        #[cfg(feature = "fault-switches")]
        if ALL_ZERO.load(std::sync::atomic::Ordering::Relaxed) {
            return 0;
        }
        self.0.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        for piece in [1, 7, 240, 4096, bytes.len()] {
            let mut sum = Checksummer::default();
            bytes.chunks(piece).for_each(|piece| sum.update(piece));
            assert_eq!(sum.finish(), checksum(&bytes), "pieces of {piece}");
        }
        assert_eq!(Checksummer::default().finish(), checksum(&[]));
    }
}
