//! Encodes and checks one record of the log. `docs/formats/wal.md` describes the format.

use base::checksum;

use super::Position;

/// Checksum, length and kind, segment, and up to where the log was durable: `8 + 4 + 4 + 4 + 4`.
pub(super) const HEADER_BYTES: usize = 8 + 4 + 4 + 4 + 4;
const _: () = assert!(HEADER_BYTES == 24, "docs/formats/wal.md says 24");

/// Records start at multiples of this many bytes.
pub(super) const ALIGN_BYTES: usize = 8;

/// A longer payload is divided into several records. Bounds the memory that a reader needs to check
/// one.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 20;
const _: () = assert!(PAYLOAD_BYTES_MAX < 1 << 24, "the length has 24 bits");

/// Payload of a `Begin` record: number of the segment before, where that ended, and this segment's
/// length.
pub(super) const BEGIN_BYTES: usize = 4 + 4 + 4;

/// Space that always stays free at a segment's end: a mark without payload.
pub(super) const MARK_BYTES: usize = HEADER_BYTES;
/// Payload of the mark at the end of a full segment: the number of the next segment.
pub(super) const NEXT_BYTES: usize = 4;

/// Kind of a record. Zero is not a kind, so preallocated zeros are never a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// The first record of a segment; its payload links it to the segment before.
    Begin = 1,
    /// A whole payload.
    Full = 2,
    /// The first part of a payload.
    First = 3,
    /// A middle part of a payload.
    Middle = 4,
    /// The last part of a payload.
    Last = 5,
    /// Not part of the log: written behind its last record to say how far it was durable, until the
    /// next record overwrites it.
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

/// A record's header after its checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: RecordKind,
    pub(super) payload_bytes: usize,
    /// Everything before this was durable when the record was written.
    pub(super) durable: Position,
}

/// Why bytes are not a record. A string, because it is only used in messages.
pub(super) type NotARecord = &'static str;

/// Bytes of the record for a payload of this length.
pub(super) fn record_bytes(payload_bytes: usize) -> usize {
    (HEADER_BYTES + payload_bytes).next_multiple_of(ALIGN_BYTES)
}

/// Builds a record in `out`, replacing its content.
///
/// # Panics
/// When payload, segment number or offset exceed their limits: the caller divides payloads and
/// counts.
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

/// Reads a header without its checksum; kind and length must fit this segment.
///
/// # Errors
/// The reason why the bytes are not a header.
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
