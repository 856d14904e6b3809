//! The records of a manifest file: framing, checksums, and the treatment of a damaged tail.
//!
//! # Why the frame has a checksum of its own
//! A record's length must be trusted before its end is known. The frame's checksum covers the
//! length and the record's position in the file. So a damaged length differs from a torn append,
//! and a search for records behind the damage costs one short checksum for each byte.
//!
//! # Why the reader needs the acknowledged length
//! A damaged last record and an append that a crash cut short can be the same bytes. `CURRENT` says
//! how long the file was when the last edit was acknowledged, so only bytes after that may be
//! unsound.
//!
//! # How damage after that is distinguished from a power cut
//! Several edits may lie there that were never synced, and a power cut keeps any part of them. An
//! edit says how much of the file was synced when it was written (all before it, where it says
//! nothing). Unsound bytes that a sound record behind them calls synced are damage; others a crash
//! explains, and the manifest ends there.

use base::{Corruption, checksum};
use std::path::Path;

/// First bytes of every manifest file.
const MAGIC: [u8; 8] = *b"QuipuMan";
/// Version of the framing and of the edits in it.
const FORMAT_VERSION: u32 = 1;
/// Magic number, format version, low half of the checksum of both.
pub(super) const FILE_HEADER_BYTES: usize = 8 + 4 + 4;
const _: () = assert!(FILE_HEADER_BYTES == 16, "docs/formats/manifest.md says 16");
/// Length of the edit, low half of the checksum of place and length, checksum of the edit.
pub(super) const FRAME_BYTES: usize = 4 + 4 + 8;
const _: () = assert!(FRAME_BYTES == 16, "docs/formats/manifest.md says 16");

/// The bytes a file starts with.
pub(super) fn file_header() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    let check = checksum(&out) as u32;
    out.extend_from_slice(&check.to_le_bytes());
    out
}

/// Appends the record of `edit` to `out`; it will stand at `offset` of the file. `None` where the
/// edit is too long for a record (4 GiB).
pub(super) fn put_record(out: &mut Vec<u8>, offset: u64, edit: &[u8]) -> Option<()> {
    let len = u32::try_from(edit.len()).ok()?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&frame_check(offset, len).to_le_bytes());
    out.extend_from_slice(&checksum(edit).to_le_bytes());
    out.extend_from_slice(edit);
    Some(())
}

/// Calls `each` with the offset and the edit of each record; `synced` tells of a record how many
/// bytes it calls synced. Returns how many bytes of the file are sound. Bytes behind them are an
/// append that a crash cut short. The first `acknowledged` bytes are whole records, or the file is
/// damaged.
pub(super) fn read_records(
    file: &Path,
    bytes: &[u8],
    acknowledged: u64,
    synced: impl Fn(u64, &[u8]) -> u64,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Corruption>,
) -> Result<u64, Corruption> {
    check_file_header(file, bytes)?;
    let mut offset = FILE_HEADER_BYTES;
    loop {
        match record_at(bytes, offset) {
            Ok(edit) => {
                each(offset as u64, edit)?;
                offset += FRAME_BYTES + edit.len();
            }
            Err(_) if (offset as u64) < acknowledged && offset == bytes.len() => {
                let what = format!("the file ends here, {acknowledged} bytes were written");
                return Err(Corruption::new(file, offset as u64, what));
            }
            Err(_) if offset == bytes.len() && offset > FILE_HEADER_BYTES => {
                return Ok(offset as u64);
            }
            Err(damage) => {
                // The first record was synced before `CURRENT` named the file: it is never torn.
                let first = offset == FILE_HEADER_BYTES || (offset as u64) < acknowledged;
                if first || is_called_synced(bytes, offset, &synced) {
                    return Err(Corruption::new(file, offset as u64, damage.words()));
                }
                return Ok(offset as u64);
            }
        }
    }
}

fn check_file_header(file: &Path, bytes: &[u8]) -> Result<(), Corruption> {
    let damaged = |what: String| Corruption::new(file, 0, what);
    let header = bytes
        .get(..FILE_HEADER_BYTES)
        .ok_or_else(|| damaged(format!("{} bytes are no manifest", bytes.len())))?;
    let want = file_header();
    if header[..8] != MAGIC {
        return Err(damaged("this is not a manifest".into()));
    }
    if (checksum(&header[..12]) as u32).to_le_bytes() != header[12..] {
        return Err(damaged("the header's checksum does not match".into()));
    }
    if header != want {
        let version = u32_at(header, 8);
        return Err(damaged(format!(
            "manifest of format version {version}, this program knows {FORMAT_VERSION}"
        )));
    }
    Ok(())
}

enum Damage {
    /// The frame is cut or its checksum does not match.
    Frame,
    /// The frame is sound, the file ends within the edit.
    Truncated,
    /// The frame is sound, the edit's checksum does not match.
    Edit,
}

impl Damage {
    fn words(&self) -> &'static str {
        match self {
            Self::Frame => "a record's frame is cut or does not match its checksum",
            Self::Truncated => "the file ends within a record",
            Self::Edit => "an edit does not match its checksum",
        }
    }
}

fn record_at(bytes: &[u8], offset: usize) -> Result<&[u8], Damage> {
    let frame = bytes.get(offset..offset + FRAME_BYTES).ok_or(Damage::Frame)?;
    let len = u32_at(frame, 0);
    if u32_at(frame, 4) != frame_check(offset as u64, len) {
        return Err(Damage::Frame);
    }
    let end = offset + FRAME_BYTES + len as usize;
    let edit = bytes.get(offset + FRAME_BYTES..end).ok_or(Damage::Truncated)?;
    if checksum(edit).to_le_bytes() != frame[8..] {
        return Err(Damage::Edit);
    }
    Ok(edit)
}

/// Whether a whole sound record behind `offset` says that the bytes there were synced.
fn is_called_synced(bytes: &[u8], offset: usize, synced: impl Fn(u64, &[u8]) -> u64) -> bool {
    (offset + 1..bytes.len()).any(|behind| {
        record_at(bytes, behind).is_ok_and(|edit| synced(behind as u64, edit) > offset as u64)
    })
}

fn frame_check(offset: u64, len: u32) -> u32 {
    let mut covered = [0; 12];
    covered[..8].copy_from_slice(&offset.to_le_bytes());
    covered[8..].copy_from_slice(&len.to_le_bytes());
    checksum(&covered) as u32
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
