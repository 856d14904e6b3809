//! One record of the log: how it is put together and when it is believed. `docs/formats/wal.md` has the page.

use base::checksum;

use super::Position;

/// Checksum, length and kind, segment, and up to where the log was durable: `8 + 4 + 4 + 4 + 4`.
pub(super) const HEADER_BYTES: usize = 8 + 4 + 4 + 4 + 4;
const _: () = assert!(HEADER_BYTES == 24, "docs/formats/wal.md says 24");

/// Records start at multiples of this.
pub(super) const ALIGN_BYTES: usize = 8;

/// A longer payload is cut into several records. Bounds what a reader holds to check one.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 20;
const _: () = assert!(PAYLOAD_BYTES_MAX < 1 << 24, "the length has 24 bits");

/// Payload of a `Begin` record: number of the segment before this one, where that ended, and this one's length.
pub(super) const BEGIN_BYTES: usize = 4 + 4 + 4;

/// Room that is always left at a segment's end: a mark without payload.
pub(super) const MARK_BYTES: usize = HEADER_BYTES;
/// Payload of the mark at the end of a segment that another follows: the number of that one.
pub(super) const NEXT_BYTES: usize = 4;

/// What a record is. Zero is no kind, so that preallocated zeros are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// First in its segment; its payload links it to the segment before.
    Begin = 1,
    /// A whole payload.
    Full = 2,
    /// A payload's beginning.
    First = 3,
    /// Neither its beginning nor its end.
    Middle = 4,
    /// Its end.
    Last = 5,
    /// Not part of the log: stands behind its last record and tells how far it was durable, until the
    /// next record takes the place.
    Mark = 6,
}

impl RecordKind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Begin,
            2 => Self::Full,
            3 => Self::First,
            4 => Self::Middle,
            5 => Self::Last,
            6 => Self::Mark,
            _ => return None,
        })
    }
}

/// A record's header, believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: RecordKind,
    pub(super) payload_bytes: usize,
    /// Everything before this was on the disk when the record was written.
    pub(super) durable: Position,
}

/// Why bytes are not a record. As words, because only a message is made of it.
pub(super) type NotARecord = &'static str;

/// Bytes that a record with this payload takes in the file.
pub(super) fn record_bytes(payload_bytes: usize) -> usize {
    (HEADER_BYTES + payload_bytes).next_multiple_of(ALIGN_BYTES)
}

/// Builds a record in `out`, whose old content goes.
///
/// # Panics
/// When the payload, segment number or offset is past its limit: the caller cuts and counts.
pub(super) fn build(
    out: &mut Vec<u8>,
    kind: RecordKind,
    segment: u64,
    durable: Position,
    parts: &[&[u8]],
) {
    out.clear();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    for part in parts {
        out.extend_from_slice(part);
    }
    let payload_bytes = out.len() - HEADER_BYTES;
    assert!(payload_bytes <= PAYLOAD_BYTES_MAX);
    let word = |n: u64| u32::try_from(n).expect("numbers and offsets are kept below 2^32");
    let length_and_kind = (kind as u32) << 24 | payload_bytes as u32;
    out[8..12].copy_from_slice(&length_and_kind.to_le_bytes());
    out[12..16].copy_from_slice(&word(segment).to_le_bytes());
    out[16..20].copy_from_slice(&word(durable.segment).to_le_bytes());
    out[20..24].copy_from_slice(&word(durable.offset).to_le_bytes());
    let sum = checksum(&out[8..]);
    out[..8].copy_from_slice(&sum.to_le_bytes());
    out.resize(record_bytes(payload_bytes), 0);
}

/// Reads a header without believing it: kind and length fit this segment.
///
/// # Errors
/// Says what is wrong with the bytes.
pub(super) fn parse_header(bytes: &[u8], segment: u64) -> Result<Header, NotARecord> {
    if bytes.len() < HEADER_BYTES {
        return Err("no room for a record");
    }
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let length_and_kind = word(8);
    let Some(kind) = RecordKind::from_byte((length_and_kind >> 24) as u8) else {
        return Err("no record");
    };
    if u64::from(word(12)) != segment {
        return Err("a record of another segment");
    }
    let payload_bytes = (length_and_kind & 0x00ff_ffff) as usize;
    if payload_bytes > PAYLOAD_BYTES_MAX {
        return Err("a record of impossible length");
    }
    let durable = Position { segment: u64::from(word(16)), offset: u64::from(word(20)) };
    Ok(Header { kind, payload_bytes, durable })
}

/// Whether the checksum of the record at the start of `bytes` is right.
pub(super) fn is_sound(bytes: &[u8], header: Header) -> bool {
    let end = HEADER_BYTES + header.payload_bytes;
    let Some(covered) = bytes.get(8..end) else { return false };
    checksum(covered).to_le_bytes() == bytes[..8]
}
