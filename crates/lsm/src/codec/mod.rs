//! Encoders and decoders of one block's columns: words, byte strings, keys, validity, filters.
//!
//! # Why this is apart from tables
//! Everything here is a pure function from columns to bytes and back. It knows no file, no cache
//! and no row limit of a table, so each encoding is tested against plain vectors.
//!
//! # Invariants
//! 1. A reader borrows the encoded bytes; parsing takes constant time and allocates nothing.
//! 2. Parsing checks that every fixed part fits the bytes. What it cannot check in constant time
//!    (run starts, group offsets) is clamped where it is used: damaged bytes that got past a
//!    checksum give wrong rows, never a panic and never an allocation above the row count.
//! 3. Whoever stores these bytes puts a checksum around them; nothing here detects a flipped bit.

pub mod bitmap;
pub mod bitpack;
pub mod bytes;
pub mod filter;
mod gaps;
pub mod runs;
pub mod words;

/// Bytes that are no encoding of the column they were read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed column: {0}")]
pub struct Malformed(pub &'static str);

/// Reads fixed-width little-endian fields from the front of a slice.
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Takes the next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.bytes.split_at_checked(count).ok_or(Malformed("cut short"))?;
        self.bytes = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.bytes.split_first_chunk::<N>().ok_or(Malformed("cut short"))?;
        self.bytes = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Bit-packed values as [`bitpack::Packed::encode`] wrote them.
    pub(crate) fn packed(&mut self, len: usize) -> Result<bitpack::Packed<'a>, Malformed> {
        let width = self.u8()?;
        let base = self.u64()?;
        if width > 64 {
            return Err(Malformed("a bit width above 64"));
        }
        let bytes = self.take(bitpack::packed_bytes(width, len))?;
        Ok(bitpack::Packed::new(bytes, width, base, len))
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// Fails unless every byte was taken.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Malformed("bytes after the end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], want: &str) {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex.join(" "), want.split_whitespace().collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn the_examples_of_the_format_page_hold() {
        let mut bytes = Vec::new();
        runs::encode_keys(&[[7_u64, 7, 7, 9], [1, 4, 9, 4]], 0..4, &mut bytes);
        check(
            &bytes,
            "02 00 00 00  01 00 00 00
             01  07 00 00 00 00 00 00 00  02  00 00 00 00 00 00 00 00
             02  00 00 00 00 00 00 00 00  08  00 00 00 00 00 00 00 00
             02  01 00 00 00 00 00 00 00  0c  00 00 00 00 00 00 00 00
             00  01 00 00 00 00 00 00 00
             00  00 00 00 00 00 00 00 00
             03 00 00
             2b  00 00 00 00 00 00 00 00",
        );
        bytes.clear();
        words::encode(&[1000, 1003, 1001, 1007], &mut bytes);
        check(&bytes, "01  03  e8 03 00 00 00 00 00 00  58 0e  00 00 00 00 00 00 00 00");
        bytes.clear();
        let mut column = base::BytesColumn::default();
        [&b"ab"[..], b"abc", b"xy"].iter().for_each(|string| column.push(Some(string)));
        bytes::encode(&column, 0..3, true, &mut bytes);
        check(
            &bytes,
            "00  07 00 00 00  02 00 00 00
             01  00 00 00 00 00 00 00 00  0c  00 00 00 00 00 00 00 00
             61 62 61 62 63 78 79",
        );
        bytes.clear();
        assert_eq!(bytes::encode_apart(&column, 0..3, &mut bytes), b"ababcxy");
        check(
            &bytes,
            "02  07 00 00 00  02 00 00 00
             01  00 00 00 00 00 00 00 00  0c  00 00 00 00 00 00 00 00
             5c 73 d5 24 9c 71 73 a8  50 39 2f 89 94 5f af 78  86 68 97 55 f8 97 43 a2",
        );
    }
}
