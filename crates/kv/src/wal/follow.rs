//! Reads a log while another process writes it.
//!
//! # Why no lock
//! A follower must never block the writer. It accepts only records that pass their checksum, so
//! bytes that are being written are not visible yet. The segment's number in each record and the
//! links between segments tell it when a file has been recycled.
//!
//! # Invariants
//! 1. Payloads come in order, each once, without a gap; otherwise the answer is [`Follow::Gone`].
//! 2. Nothing is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Corruption;
use env::Env;

use super::record::RecordKind;
use super::segment::{SegmentReader, list_segments, segment_path};
use super::{Position, Result, WalError};

/// Memory for reading, unless a record is longer. Small, because each refresh reads it again.
const WINDOW_BYTES: usize = 64 << 10;

/// Result of reading the next payload.
#[derive(Debug, PartialEq, Eq)]
pub enum Follow<'a> {
    /// The next payload and its position.
    Record(Position, &'a [u8]),
    /// Nothing more has been written yet. Ask again later.
    End,
    /// The segment is gone: its rows are in tables now. Read the manifest again and start from the
    /// segment that it names.
    Gone,
}

/// A follower's position in the log.
#[derive(Debug)]
pub struct WalReader {
    env: Arc<dyn Env>,
    folder: PathBuf,
    segment: u64,
    offset: u64,
    reader: Option<SegmentReader>,
    /// Position of a payload whose records have been read only in part.
    pending: Option<Position>,
    payload: Vec<u8>,
}

/// Outcome of one step of reading.
enum Step {
    Again,
    Payload(Position),
    NothingYet,
    Gone,
}

impl WalReader {
    /// Starts at the beginning of segment `first`; 0 means the oldest there is. Does no I/O.
    #[must_use]
    pub fn new(env: Arc<dyn Env>, folder: &Path, first: u64) -> Self {
        Self::at(env, folder, Position { segment: first, offset: 0 })
    }

    /// Starts at a position that a log or a reader returned. Does no I/O.
    #[must_use]
    pub fn at(env: Arc<dyn Env>, folder: &Path, from: Position) -> Self {
        Self {
            env,
            folder: folder.to_owned(),
            segment: from.segment,
            offset: from.offset,
            reader: None,
            pending: None,
            payload: Vec::new(),
        }
    }

    /// Where to resume after a restart: behind the last payload that was returned.
    #[must_use]
    pub fn position(&self) -> Position {
        self.pending.unwrap_or(Position { segment: self.segment, offset: self.offset })
    }

    /// File of the segment that is being read.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        segment_path(&self.folder, self.segment)
    }

    /// Returns the next payload, if it has been written.
    ///
    /// # Errors
    /// A failed read; corruption where a complete segment cannot be read to its end.
    // Not an iterator: items are borrowed from the reader.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Follow<'_>> {
        if self.pending.is_none() {
            self.payload.clear();
        }
        loop {
            let step = match self.step() {
                // A writer that closes truncates its segment, so bytes that were readable are gone.
                Err(WalError::Env(error)) if error.is_past_end() => Step::Gone,
                step => step?,
            };
            match step {
                Step::Again => {}
                Step::Payload(position) => return Ok(Follow::Record(position, &self.payload)),
                Step::NothingYet => return Ok(Follow::End),
                Step::Gone => return Ok(Follow::Gone),
            }
        }
    }

    fn step(&mut self) -> Result<Step> {
        if self.segment == 0 {
            match list_segments(self.env.as_ref(), &self.folder)?.first() {
                Some(oldest) => self.segment = *oldest,
                None => return Ok(Step::NothingYet),
            }
        }
        if self.reader.is_none() {
            let env = self.env.as_ref();
            match SegmentReader::open(env, &self.folder, self.segment, WINDOW_BYTES) {
                Ok(mut reader) => {
                    reader.check_length()?;
                    self.reader = Some(reader);
                }
                Err(error) => return gone_if_missing(error),
            }
        }
        if let Some(step) = self.read()? {
            return Ok(step);
        }
        // The window may hold bytes that are out of date.
        if let Some(reader) = &mut self.reader {
            reader.refresh()?;
        }
        if let Some(step) = self.read()? {
            return Ok(step);
        }
        self.end_of_segment()
    }

    /// Reads the record at the current position, if there is one.
    fn read(&mut self) -> Result<Option<Step>> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let here = Position { segment: self.segment, offset: self.offset };
        let Ok(found) = reader.record_at(self.offset)? else { return Ok(None) };
        let (kind, end) = (found.header.kind, found.end);
        if kind != RecordKind::Begin {
            self.payload.extend_from_slice(found.payload);
        }
        let path = reader.path();
        let step = match (kind, self.pending) {
            (RecordKind::Begin, _) | (RecordKind::Middle, Some(_)) => Step::Again,
            (RecordKind::First, None) => {
                self.pending = Some(here);
                Step::Again
            }
            (RecordKind::Full, None) => Step::Payload(here),
            (RecordKind::Last, Some(start)) => {
                self.pending = None;
                Step::Payload(start)
            }
            _ => {
                let what = "records of a payload do not follow each other";
                return Err(Corruption::new(path, here.offset, what).into());
            }
        };
        self.offset = end;
        Ok(Some(step))
    }

    /// Called where no record follows: either the segment is complete and another follows, or
    /// nothing has been written yet.
    fn end_of_segment(&mut self) -> Result<Step> {
        // A writer that was killed within a payload discards it when it reopens: then the next
        // segment follows the position where that payload began.
        if let Some(start) = self.pending
            && let Some((next, end)) = self.successor(start.segment)?
            && end == start.offset
        {
            self.pending = None;
            self.payload.clear();
            (self.segment, self.offset, self.reader) = (next, 0, None);
            return Ok(Step::Again);
        }
        if let Some((next, end)) = self.successor(self.segment)? {
            if end == self.offset {
                (self.segment, self.offset, self.reader) = (next, 0, None);
                return Ok(Step::Again);
            }
            // The link was written after the segment's last records, so they can be read now.
            if let Some(reader) = &mut self.reader {
                reader.refresh()?;
            }
            if let Some(step) = self.read()? {
                return Ok(step);
            }
            let path = segment_path(&self.folder, self.segment);
            if end > self.offset && self.is_still(&path)? {
                let what = format!("no sound record, but the segment goes on to byte {end}");
                return Err(Corruption::new(&path, self.offset, what).into());
            }
            return Ok(Step::Gone);
        }
        let path = segment_path(&self.folder, self.segment);
        Ok(if self.is_still(&path)? { Step::NothingYet } else { Step::Gone })
    }

    /// Whether the file at `path` is still this segment: the name may belong to a recycled file.
    fn is_still(&self, path: &Path) -> Result<bool> {
        if !self.env.exists(path) {
            return Ok(false);
        }
        match SegmentReader::open(self.env.as_ref(), &self.folder, self.segment, 4096) {
            // A new segment has no beginning yet; then nothing of it has been read either.
            Ok(mut reader) => Ok(self.offset == 0 || reader.previous()?.is_some()),
            Err(error) => gone_if_missing(error).map(|_| false),
        }
    }

    /// The newest segment whose link names `segment` as its predecessor, and the end that it
    /// states.
    fn successor(&self, segment: u64) -> Result<Option<(u64, u64)>> {
        let env = self.env.as_ref();
        for number in list_segments(env, &self.folder)?.into_iter().rev() {
            if number <= segment {
                break;
            }
            let mut reader = match SegmentReader::open(env, &self.folder, number, 4096) {
                Ok(reader) => reader,
                Err(error) => {
                    gone_if_missing(error)?;
                    continue;
                }
            };
            if let Some(previous) = reader.previous()?
                && previous.segment == segment
            {
                return Ok(Some((number, previous.offset)));
            }
        }
        Ok(None)
    }
}

/// A file that the writer renamed or removed meanwhile is not a failure.
fn gone_if_missing(error: WalError) -> Result<Step> {
    match error {
        WalError::Env(error) if error.is_not_found() => Ok(Step::Gone),
        error => Err(error),
    }
}
