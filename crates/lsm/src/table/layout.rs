//! The sections after a table's blocks: range tombstones, properties and the footer.
//!
//! # Why properties and fences are one section
//! They are read together, once, when the table is opened; one checksum over both is the table's
//! fingerprint in the manifest, and since the fences hold each block's checksum, it binds all rows.
//!
//! # Invariants
//! 1. Lengths and counts read from a file are compared with the bytes there are before anything is
//!    allocated for them.
//! 2. The place of magic, version and footer checksum never changes, so that a table of a later
//!    version is distinguished from a damaged one.

use super::meta::{RangeTombstone, TableSummary};
use crate::codec::Malformed;
use base::{
    ColumnShape, Key, KeyRange, KeyRef, KeyShape, SeqNo, Shape, WORDS_MAX, checksum, varint,
};

/// Newest version of the format that this program writes and reads; it reads those before it too.
pub const FORMAT_VERSION: u32 = 3;

/// Version of a table without separated values and statistics. Such tables are written as before.
pub(super) const VERSION_PLAIN: u32 = 1;

/// Version of a table with separated values and without statistics.
pub(super) const VERSION_WITH_HEADS: u32 = 2;

/// Last bytes of every table.
pub(super) const MAGIC: [u8; 8] = *b"QUIPUSST";

/// Bytes of the footer: section handle, version, zero, checksum, magic.
pub(super) const FOOTER_BYTES: usize = HANDLE_BYTES + 4 + 4 + 8 + 8;
const HANDLE_BYTES: usize = 3 * 8;
const _: () = assert!(FOOTER_BYTES == 48, "docs/formats/sstable.md says 48");

const CUT: Malformed = Malformed("cut short");

/// Where a section lies and its checksum. Length 0: there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) checksum: u64,
}

impl Handle {
    /// Of a section about to be written at `offset`.
    pub(super) fn of(section: &[u8], offset: u64) -> Self {
        Self { offset, bytes: section.len() as u64, checksum: checksum(section) }
    }

    pub(super) fn put(self, out: &mut Vec<u8>) {
        for field in [self.offset, self.bytes, self.checksum] {
            out.extend_from_slice(&field.to_le_bytes());
        }
    }

    pub(super) fn take(bytes: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Self { offset: take_u64(bytes)?, bytes: take_u64(bytes)?, checksum: take_u64(bytes)? })
    }

    /// Whether it lies inside the first `end` bytes of the file.
    pub(super) fn fits(&self, end: u64) -> bool {
        self.offset.checked_add(self.bytes).is_some_and(|own_end| own_end <= end)
    }
}

pub(super) fn take_u64(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let (head, tail) = bytes.split_first_chunk::<8>().ok_or(CUT)?;
    *bytes = tail;
    Ok(u64::from_le_bytes(*head))
}

pub(super) fn take_varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    varint::take(bytes).ok_or(CUT)
}

pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    varint::take_bytes(bytes).ok_or(CUT)
}

/// The decoded footer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Footer {
    /// The section of properties and fences.
    Known(Handle),
    /// A sound footer of another format version.
    OtherVersion(u32),
}

impl Footer {
    /// Appends the footer of a table of this version.
    pub(super) fn encode(section: Handle, version: u32, out: &mut Vec<u8>) {
        let start = out.len();
        section.put(out);
        out.extend_from_slice(&version.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        let sum = checksum(&out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(&MAGIC);
    }

    pub(super) fn decode(bytes: &[u8; FOOTER_BYTES]) -> Result<Self, Malformed> {
        let (guarded, tail) = bytes.split_at(FOOTER_BYTES - 16);
        let (sum, magic) = tail.split_at(8);
        if magic != MAGIC {
            return Err(Malformed("the file does not end like a table: cut short, or no table"));
        }
        if sum != checksum(guarded).to_le_bytes() {
            return Err(Malformed("the footer's checksum does not match"));
        }
        let mut rest = guarded;
        let section = Handle::take(&mut rest)?;
        let (version, _) = rest.split_first_chunk::<4>().ok_or(CUT)?;
        Ok(match u32::from_le_bytes(*version) {
            VERSION_PLAIN..=FORMAT_VERSION => Self::Known(section),
            other => Self::OtherVersion(other),
        })
    }
}

/// Tag of a byte-string key; a key of words has its number of words instead.
const KEY_OF_BYTES: u8 = 0xff;

pub(super) fn put_key(key: KeyRef<'_>, out: &mut Vec<u8>) {
    match key {
        KeyRef::Words(words) => {
            out.push(words.len() as u8);
            words.iter().for_each(|&word| varint::put(out, word));
        }
        KeyRef::Bytes(bytes) => {
            out.push(KEY_OF_BYTES);
            varint::put_bytes(out, bytes);
        }
    }
}

/// Takes a key or prefix that can stand in a table of this shape.
pub(super) fn take_key(bytes: &mut &[u8], shape: KeyShape) -> Result<Key, Malformed> {
    let (&tag, rest) = bytes.split_first().ok_or(CUT)?;
    *bytes = rest;
    match (tag, shape) {
        (KEY_OF_BYTES, KeyShape::Bytes) => Ok(Key::bytes(take_bytes(bytes)?)),
        (len, KeyShape::Words(most)) if len <= most && usize::from(len) <= WORDS_MAX => {
            let mut words = [0; WORDS_MAX];
            for word in &mut words[..usize::from(len)] {
                *word = take_varint(bytes)?;
            }
            Ok(Key::Words { words, len })
        }
        _ => Err(Malformed("a key of another shape")),
    }
}

pub(super) fn encode_tombstones(tombstones: &[RangeTombstone], out: &mut Vec<u8>) {
    varint::put(out, tombstones.len() as u64);
    for RangeTombstone { range, seq } in tombstones {
        put_key(range.lower.as_ref(), out);
        out.push(u8::from(range.upper.is_some()));
        if let Some(upper) = &range.upper {
            put_key(upper.as_ref(), out);
        }
        varint::put(out, seq.0);
    }
}

pub(super) fn decode_tombstones(
    mut bytes: &[u8],
    shape: KeyShape,
) -> Result<Vec<RangeTombstone>, Malformed> {
    let count = take_varint(&mut bytes)?;
    let mut tombstones = Vec::new();
    for _ in 0..count {
        let lower = take_key(&mut bytes, shape)?;
        let (&bounded, rest) = bytes.split_first().ok_or(CUT)?;
        bytes = rest;
        let upper = match bounded {
            0 => None,
            1 => Some(take_key(&mut bytes, shape)?),
            _ => return Err(Malformed("a range that is neither open nor closed")),
        };
        let seq = take_varint(&mut bytes)?;
        tombstones.push(RangeTombstone { range: KeyRange { lower, upper }, seq: SeqNo(seq) });
    }
    if bytes.is_empty() { Ok(tombstones) } else { Err(Malformed("bytes after the tombstones")) }
}

/// The metadata of a table.
#[derive(Debug)]
pub(super) struct Properties {
    /// `bytes` and `fingerprint` are 0: the file cannot say them of itself.
    pub(super) summary: TableSummary,
    pub(super) tombstones: Handle,
    pub(super) key_filter: Handle,
    pub(super) first_word_filter: Handle,
}

impl Properties {
    pub(super) fn encode(&self, shape: &Shape, out: &mut Vec<u8>) {
        put_shape(shape, out);
        let of = &self.summary;
        let counts = [of.rows, of.deletes, of.merges, of.repeats, of.first_words];
        for count in counts.into_iter().chain([of.seq_min.0, of.seq_max.0, of.range_tombstones]) {
            varint::put(out, count);
        }
        put_key(of.first_key.as_ref(), out);
        put_key(of.last_key.as_ref(), out);
        for handle in [self.tombstones, self.key_filter, self.first_word_filter] {
            varint::put(out, handle.bytes);
            if handle.bytes > 0 {
                varint::put(out, handle.offset);
                out.extend_from_slice(&handle.checksum.to_le_bytes());
            }
        }
    }

    /// Takes the properties of a table of this shape off the front of `bytes`.
    pub(super) fn take(bytes: &mut &[u8], shape: &Shape) -> Result<Self, Malformed> {
        let mut want = Vec::new();
        put_shape(shape, &mut want);
        *bytes = bytes.strip_prefix(&*want).ok_or(Malformed("the rows have another shape"))?;
        let mut counts = [0; 8];
        for count in &mut counts {
            *count = take_varint(bytes)?;
        }
        let [rows, deletes, merges, repeats, first_words, seq_min, seq_max, range_tombstones] =
            counts;
        let first_key = take_key(bytes, shape.key)?;
        let last_key = take_key(bytes, shape.key)?;
        let summary = TableSummary {
            bytes: 0,
            rows,
            deletes,
            merges,
            repeats,
            first_words,
            first_key,
            last_key,
            seq_min: SeqNo(seq_min),
            seq_max: SeqNo(seq_max),
            range_tombstones,
            fingerprint: 0,
        };
        Ok(Self {
            summary,
            tombstones: take_part(bytes)?,
            key_filter: take_part(bytes)?,
            first_word_filter: take_part(bytes)?,
        })
    }
}

/// Handle of a part that a table may lack.
fn take_part(bytes: &mut &[u8]) -> Result<Handle, Malformed> {
    match take_varint(bytes)? {
        0 => Ok(Handle::default()),
        len => {
            let offset = take_varint(bytes)?;
            Ok(Handle { offset, bytes: len, checksum: take_u64(bytes)? })
        }
    }
}

/// Words of the key (0: a byte string), then the number of value columns and the kind of each.
/// Merge operators do not change stored bytes, so they are not written.
fn put_shape(shape: &Shape, out: &mut Vec<u8>) {
    out.push(shape.key_words() as u8);
    varint::put(out, shape.values.len() as u64);
    for value in &shape.values {
        out.push(match value {
            ColumnShape::Word { .. } => 0,
            ColumnShape::Bytes => 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_of_a_later_version_is_told_from_a_damaged_one() {
        let handle = Handle { offset: 5, bytes: 7, checksum: 9 };
        let mut bytes = Vec::new();
        Footer::encode(handle, FORMAT_VERSION, &mut bytes);
        let mut footer: [u8; FOOTER_BYTES] = bytes.try_into().unwrap();
        assert_eq!(Footer::decode(&footer).unwrap(), Footer::Known(handle));
        footer[HANDLE_BYTES] = 7;
        assert!(Footer::decode(&footer).is_err());
        let sum = checksum(&footer[..FOOTER_BYTES - 16]);
        footer[FOOTER_BYTES - 16..FOOTER_BYTES - 8].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(Footer::decode(&footer).unwrap(), Footer::OtherVersion(7));
    }

    #[test]
    fn tombstones_come_back_and_cut_ones_are_refused() {
        let range = KeyRange::prefix_words(&[7, 300]);
        let open = KeyRange { lower: Key::words(&[]), upper: None };
        let tombstones = [
            RangeTombstone { range, seq: SeqNo(1 << 40) },
            RangeTombstone { range: open, seq: SeqNo::ZERO },
        ];
        let mut bytes = Vec::new();
        encode_tombstones(&tombstones, &mut bytes);
        assert_eq!(decode_tombstones(&bytes, KeyShape::Words(2)).unwrap(), tombstones);
        assert!(decode_tombstones(&bytes, KeyShape::Words(1)).is_err());
        assert!(decode_tombstones(&bytes, KeyShape::Bytes).is_err());
        for len in 0..bytes.len() {
            assert!(decode_tombstones(&bytes[..len], KeyShape::Words(2)).is_err());
        }
    }
}
