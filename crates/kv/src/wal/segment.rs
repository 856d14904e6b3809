//! Reads one segment file through a window of bounded memory. Recovery, followers and salvage use
//! it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Corruption;
use env::{Env, RandomReadFile, ReadOptions};

use super::record::{
    self, ALIGN_BYTES, BEGIN_BYTES, HEADER_BYTES, Header, MARK_BYTES, NEXT_BYTES, NotARecord,
    RecordKind,
};
use super::{Position, Result};

/// Path of a segment's file.
pub(super) fn segment_path(folder: &Path, number: u64) -> PathBuf {
    env::join(folder, &format!("{number:06}.log"))
}

/// Numbers of the segment files in the folder, ascending. Other names are ignored.
pub(super) fn list_segments(env: &dyn Env, folder: &Path) -> Result<Vec<u64>> {
    let number = |name: &String| -> Option<u64> {
        let digits = name.strip_suffix(".log")?;
        // One spelling per number, so that two files never have the same one.
        let number = digits.parse().ok()?;
        (number > 0 && *digits == format!("{number:06}")).then_some(number)
    };
    let names = match env.list(folder) {
        Ok(names) => names,
        // Creation of the database was interrupted before it had a log. A log that was removed
        // later is still noticed: the manifest names its first segment.
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads records of one segment at any offset.
#[derive(Debug)]
pub(super) struct SegmentReader {
    file: Arc<dyn RandomReadFile>,
    pub(super) number: u64,
    pub(super) len_bytes: u64,
    window_bytes: usize,
    window: Vec<u8>,
    window_start: u64,
}

/// A record: its header, its payload, and where the next one starts.
pub(super) struct Found<'a> {
    pub(super) header: Header,
    pub(super) payload: &'a [u8],
    pub(super) end: u64,
}

impl SegmentReader {
    pub(super) fn open(
        env: &dyn Env,
        folder: &Path,
        number: u64,
        window_bytes: usize,
    ) -> Result<Self> {
        let file = env.open_read(&segment_path(folder, number), ReadOptions::default())?;
        let len_bytes = file.len_bytes()?;
        Ok(Self { file, number, len_bytes, window_bytes, window: Vec::new(), window_start: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Discards the buffered bytes: the writer may have written more, or truncated the segment when
    /// it closed.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.window.clear();
        self.len_bytes = self.file.len_bytes()?;
        Ok(())
    }

    /// The log's record at `offset`, or why there is none. A mark does not count.
    pub(super) fn record_at(
        &mut self,
        offset: u64,
    ) -> Result<std::result::Result<Found<'_>, NotARecord>> {
        Ok(self.any_record_at(offset)?.and_then(|found| match found.header.kind {
            RecordKind::Mark => Err("the log's end"),
            _ => Ok(found),
        }))
    }

    /// The number of the next segment, if a mark at `offset` names it.
    pub(super) fn next_named_at(&mut self, offset: u64) -> Result<Option<u64>> {
        let found = self.any_record_at(offset)?.ok();
        let mark = found.filter(|found| found.header.kind == RecordKind::Mark);
        Ok(mark.and_then(|mark| {
            let number: [u8; NEXT_BYTES] = mark.payload.try_into().ok()?;
            Some(u64::from(u32::from_le_bytes(number)))
        }))
    }

    /// The position up to which a mark at `offset` calls the log durable; the log's beginning where
    /// there is no mark.
    pub(super) fn durable_marked_at(&mut self, offset: u64) -> Result<Position> {
        let found = self.any_record_at(offset)?.ok();
        let mark = found.filter(|found| found.header.kind == RecordKind::Mark);
        Ok(mark.map_or_else(Position::default, |mark| mark.header.durable))
    }

    /// The bytes from `offset` to `end`, which must be within the file.
    pub(super) fn raw(&mut self, offset: u64, end: u64) -> Result<&[u8]> {
        self.bytes(offset, (end - offset) as usize)
    }

    /// Fails where the file is shorter than its beginning states. A log that was closed may be
    /// shorter: then a mark is the last thing in the file.
    pub(super) fn check_length(&mut self) -> Result<()> {
        let Ok(found) = self.record_at(0)? else { return Ok(()) };
        let stated = match *found.payload {
            [_, _, _, _, _, _, _, _, a, b, c, d] if found.header.kind == RecordKind::Begin => {
                u64::from(u32::from_le_bytes([a, b, c, d]))
            }
            _ => return Ok(()),
        };
        if self.len_bytes >= stated {
            return Ok(());
        }
        let mark = self.len_bytes.saturating_sub(MARK_BYTES as u64);
        let marked = mark.is_multiple_of(ALIGN_BYTES as u64)
            && matches!(self.any_record_at(mark)?, Ok(found) if found.header.kind == RecordKind::Mark);
        if marked {
            return Ok(());
        }
        let what = format!("the segment ends here, it was {stated} bytes long");
        Err(Corruption::new(self.path(), self.len_bytes, what).into())
    }

    fn any_record_at(&mut self, offset: u64) -> Result<std::result::Result<Found<'_>, NotARecord>> {
        let number = self.number;
        let header = match record::parse_header(self.bytes(offset, HEADER_BYTES)?, number) {
            Ok(header) => header,
            Err(why) => return Ok(Err(why)),
        };
        let bytes = self.bytes(offset, HEADER_BYTES + header.payload_bytes)?;
        if bytes.len() < HEADER_BYTES + header.payload_bytes {
            return Ok(Err("a record longer than its segment"));
        }
        if !record::is_sound(bytes, header) {
            return Ok(Err("a record whose checksum does not match"));
        }
        let payload = &bytes[HEADER_BYTES..];
        let end = offset + record::record_bytes(header.payload_bytes) as u64;
        Ok(Ok(Found { header, payload, end }))
    }

    /// Where the segment before ended, from the `Begin` record.
    pub(super) fn previous(&mut self) -> Result<Option<Position>> {
        let Ok(found) = self.record_at(0)? else { return Ok(None) };
        if found.header.kind != RecordKind::Begin || found.payload.len() != BEGIN_BYTES {
            return Ok(None);
        }
        let word = |at: usize| {
            let bytes = &found.payload[at..at + 4];
            u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        Ok(Some(Position { segment: word(0), offset: word(4) }))
    }

    /// The furthest durable position that any sound record from `offset` on states.
    ///
    /// Tries each aligned offset, because after damage the start of the next record is unknown.
    pub(super) fn durable_stated_from(&mut self, offset: u64) -> Result<Option<Position>> {
        let mut best: Option<Position> = None;
        let mut at = offset.next_multiple_of(ALIGN_BYTES as u64);
        while at + HEADER_BYTES as u64 <= self.len_bytes {
            let number = self.number;
            // Compares the segment number first, which is cheap: stale bytes and zeros fail there.
            if record::parse_header(self.bytes(at, HEADER_BYTES)?, number).is_ok()
                && let Ok(found) = self.any_record_at(at)?
            {
                best = best.max(Some(found.header.durable));
                at = found.end;
                continue;
            }
            at += ALIGN_BYTES as u64;
        }
        Ok(best)
    }

    /// Whether a header at `offset` names this segment: a record was begun there, sound or not.
    pub(super) fn is_begun_at(&mut self, offset: u64) -> Result<bool> {
        let number = self.number;
        let header = record::parse_header(self.bytes(offset, HEADER_BYTES)?, number);
        Ok(header.is_ok_and(|header| header.kind != RecordKind::Mark))
    }

    /// Up to `len` bytes at `offset`; fewer at the end of the file.
    #[inline]
    fn bytes(&mut self, offset: u64, len: usize) -> Result<&[u8]> {
        let len = len.min(usize::try_from(self.len_bytes.saturating_sub(offset)).unwrap_or(len));
        let inside = offset >= self.window_start
            && offset + len as u64 <= self.window_start + self.window.len() as u64;
        if !inside {
            self.load(offset, len)?;
        }
        let start = (offset - self.window_start) as usize;
        Ok(&self.window[start..start + len])
    }

    #[cold]
    fn load(&mut self, offset: u64, len: usize) -> Result<()> {
        let rest = self.len_bytes.saturating_sub(offset);
        let want = usize::try_from(rest).unwrap_or(usize::MAX).min(self.window_bytes.max(len));
        self.window.clear();
        self.window.resize(want, 0);
        self.window_start = offset;
        // An environment may refuse to read behind the end of a truncated segment.
        if want > 0 {
            self.file.read_at(&mut self.window, offset)?;
        }
        Ok(())
    }
}
