//! Finds the log after a restart and replays it.
//!
//! # How the end is distinguished from damage
//! Segments are linked backwards: each begins by naming the one before and where that ended.
//! Reading goes forward along the links to the first bytes that are not a sound record. If any
//! record behind them, in this segment or a later one, says that the log was durable beyond them,
//! those bytes had been synced and are damaged: corruption. Otherwise nothing from there on was
//! ever synced, and a crash explains it: the log ends there.
//!
//! # Why replayed bytes are written again
//! Bytes of a killed process may be in the page cache alone, and a sync need not help: after a
//! failed sync Linux considers the pages clean, shows them until it needs the memory, and a power
//! cut loses them. Everything that follows relies on what was replayed. So the bytes behind the
//! last position that the log itself calls durable are written once more, at the same place, and
//! synced. Under `sync` that is at most the last group of commits; under `os` and `none` it is what
//! was in the memtables.
//!
//! # Invariants
//! 1. Nothing is written or removed before [`Recovery::finish`]. That writes only bytes that are in
//!    the log already, except where [`Recovery::end_before`] ends it: that record becomes unsound,
//!    so that no reader accepts it.
//! 2. A payload is returned whole or not at all.
//! 3. Files that the recovery discards are removed, never reused: their numbers are above the live
//!    ones, so a later segment could find its own number in their records.
//! 4. What [`Recovery::finish`] calls durable was synced by the process that wrote it, or was
//!    written again and synced by this one.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Corruption;
use env::{Env, LogFile, LogMode};

use super::record::{self, RecordKind};
use super::segment::{SegmentReader, list_segments, segment_path};
use super::{Older, Position, Result, Wal, WalOptions};

/// Memory for reading one segment, unless a record is longer.
const WINDOW_BYTES: usize = 1 << 20;

/// A log that is being replayed. Read all payloads with [`Recovery::next_payload`], then call
/// [`Recovery::finish`].
#[derive(Debug)]
pub struct Recovery {
    env: Arc<dyn Env>,
    folder: PathBuf,
    options: WalOptions,
    /// Numbers of all segment files, ascending, including those before `first_live`.
    files: Vec<u64>,
    first_live: u64,
    /// The live segments, oldest first, each with its end where the next one states it.
    chain: Vec<Link>,
    /// Index in `chain` of the segment being read.
    at: usize,
    reader: Option<SegmentReader>,
    offset: u64,
    /// Position of a payload whose last record has not been read yet.
    pending: Option<Position>,
    payload: Vec<u8>,
    payloads: u64,
    /// The furthest position that a record or mark calls durable. It is reliable: a process says so
    /// only after a successful sync of bytes that it wrote.
    durable: Position,
    recovered: Option<Recovered>,
    /// The log ends here, before a sound record.
    cut: Option<Position>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    number: u64,
    end: Option<u64>,
}

/// Where a payload was found, for error messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The segment's file.
    pub file: PathBuf,
    /// Offset of the payload's first record in the file, in bytes.
    pub offset: u64,
    /// The same place as a position in the log.
    pub position: Position,
}

/// Where the log ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// End of the last whole payload.
    pub end: Position,
    /// Payloads replayed.
    pub payloads: u64,
    /// Whether something that was never synced was found behind the end: a commit that a crash
    /// interrupted. After a power cut under the durabilities `os` and `none` it may be several.
    pub torn: bool,
}

impl Recovery {
    pub(super) fn open(
        env: Arc<dyn Env>,
        folder: &Path,
        first_live: u64,
        options: WalOptions,
    ) -> Result<Self> {
        let files = list_segments(env.as_ref(), folder)?;
        let chain = find_chain(env.as_ref(), folder, &files, first_live)?;
        let empty = Recovered { end: Position::default(), payloads: 0, torn: false };
        let recovered = chain.is_empty().then_some(empty);
        Ok(Self {
            env,
            folder: folder.to_owned(),
            options,
            files,
            first_live,
            chain,
            at: 0,
            reader: None,
            offset: 0,
            pending: None,
            payload: Vec::new(),
            payloads: 0,
            durable: Position::default(),
            recovered,
            cut: None,
        })
    }

    /// The next payload and its position, in the order of appending; `None` at the log's end.
    ///
    /// # Errors
    /// [`WalError::Corruption`](super::WalError::Corruption) with file and offset; a failed read.
    pub fn next_payload(&mut self) -> Result<Option<(Position, &[u8])>> {
        let found = self.advance()?;
        Ok(found.map(|position| (position, self.payload.as_slice())))
    }

    /// Ends the log before the payload that was returned last, which began at `here`: it depends on
    /// something that a power cut lost, and so do all later ones.
    ///
    /// # Errors
    /// [`WalError::Corruption`](super::WalError::Corruption), saying `why`, where the log calls the
    /// payload durable: then a power cut does not explain it.
    pub fn end_before(&mut self, here: Position, why: &str) -> Result<()> {
        check_never_synced(self.env.as_ref(), &self.folder, &self.files, here, why)?;
        base::mark::hit(base::mark::Mark::TornTail);
        self.payloads -= 1;
        self.recovered = Some(Recovered { end: here, payloads: self.payloads, torn: true });
        self.cut = Some(here);
        self.pending = None;
        self.payload.clear();
        self.at = self.chain.len();
        Ok(())
    }

    /// Where the log ended; `None` until [`Recovery::next_payload`] has returned nothing.
    #[must_use]
    pub fn recovered(&self) -> Option<Recovered> {
        self.recovered
    }

    /// Discards the payloads that were not read yet, makes the log durable, and opens it for
    /// appending in a new segment.
    ///
    /// # Errors
    /// As [`Recovery::next_payload`]; a failed sync or a full disk.
    pub fn finish(mut self) -> Result<Wal> {
        while self.advance()?.is_some() {}
        let recovered = self.recovered.expect("advance() ends only after setting it");
        let end = recovered.end;
        let is_kept = |number: u64| number >= self.first_live && number <= end.segment;
        let kept: Vec<u64> =
            self.chain.iter().map(|link| link.number).filter(|n| is_kept(*n)).collect();
        let mut older = Vec::new();
        for number in kept.iter().copied() {
            let path = segment_path(&self.folder, number);
            let mut file = self.env.open_log(&path, LogMode::Write)?;
            self.write_anew(file.as_mut(), number, end)?;
            if let Some(cut) = self.cut.filter(|cut| cut.segment == number) {
                file.write_at(&[0; record::HEADER_BYTES], cut.offset)?;
            }
            // Later records rely on these bytes, so they must be at least as durable.
            file.sync()?;
            older.push(Older { number, len_bytes: file.len_bytes(), unsynced: None });
        }
        let last_number = self.files.last().copied().unwrap_or(0).max(self.first_live);
        let spares: Vec<u64> =
            self.files.iter().copied().filter(|number| *number < self.first_live).collect();
        let given_up = self.files.iter().copied();
        let given_up: Vec<u64> = given_up
            .filter(|number| *number >= self.first_live && !kept.contains(number))
            .collect();
        let (env, folder) = (Arc::clone(&self.env), self.folder.clone());
        let files = (older, spares);
        let mut wal =
            Wal::start(self.env, self.folder, self.options, recovered, last_number, files)?;
        if !given_up.is_empty() {
            base::mark::hit(base::mark::Mark::SegmentsGivenUp);
            // The new segment's link skips these files, so it must be durable first.
            wal.sync()?;
            for number in given_up {
                env.remove(&segment_path(&folder, number))?;
            }
        }
        Ok(wal)
    }

    /// Writes the records of segment `number` that nothing calls durable again, in place.
    fn write_anew(&self, file: &mut dyn LogFile, number: u64, log_end: Position) -> Result<()> {
        let link = self.chain.iter().find(|link| link.number == number);
        let end = link.and_then(|link| link.end);
        let end = if number == log_end.segment { log_end.offset } else { end.unwrap_or(0) };
        let mut offset = match number.cmp(&self.durable.segment) {
            Ordering::Less => return Ok(()),
            Ordering::Equal => self.durable.offset,
            Ordering::Greater => 0,
        };
        if offset >= end {
            return Ok(());
        }
        base::mark::hit(base::mark::Mark::LogRewritten);
        let mut reader =
            SegmentReader::open(self.env.as_ref(), &self.folder, number, WINDOW_BYTES)?;
        let (mut from, mut bytes) = (offset, Vec::new());
        while offset < end {
            // Checked again: a page that was lost meanwhile must not be written as if it had been
            // replayed.
            let next = match reader.record_at(offset)? {
                Ok(found) => found.end,
                Err(why) => {
                    let what = format!("{why}, where there was a sound one before");
                    return Err(Corruption::new(reader.path(), offset, what).into());
                }
            };
            bytes.extend_from_slice(reader.raw(offset, next)?);
            offset = next;
            if bytes.len() >= WINDOW_BYTES || offset >= end {
                file.write_at(&bytes, from)?;
                from = offset;
                bytes.clear();
            }
        }
        Ok(())
    }

    /// Reads one payload into `self.payload`.
    fn advance(&mut self) -> Result<Option<Position>> {
        self.payload.clear();
        while let Some(link) = self.link() {
            if link.end == Some(self.offset) {
                self.at += 1;
                self.offset = 0;
                self.reader = None;
                continue;
            }
            let here = Position { segment: link.number, offset: self.offset };
            let mut reader = match self.reader.take() {
                Some(reader) => reader,
                None => {
                    let env = self.env.as_ref();
                    let mut reader =
                        SegmentReader::open(env, &self.folder, link.number, WINDOW_BYTES)?;
                    reader.check_length()?;
                    reader
                }
            };
            let known_bytes = self.payload.len();
            let read = reader.record_at(self.offset)?.map(|found| {
                self.payload.extend_from_slice(found.payload);
                self.durable = self.durable.max(found.header.durable);
                (found.header.kind, found.end)
            });
            let path = reader.path().to_owned();
            self.reader = Some(reader);
            let (kind, next) = match read {
                Ok((_, next)) if link.end.is_some_and(|end| next > end) => {
                    let what = "a record runs past the end of its segment";
                    return Err(Corruption::new(&path, here.offset, what).into());
                }
                Ok(found) => found,
                Err(why) => return self.stop(here, why),
            };
            self.offset = next;
            if kind == RecordKind::Begin && here.offset == 0 {
                self.payload.truncate(known_bytes);
                continue;
            }
            match self.complete(kind, here) {
                Ok(None) => {}
                Ok(payload) => return Ok(payload),
                Err(what) => return Err(Corruption::new(&path, here.offset, what).into()),
            }
        }
        Ok(None)
    }

    /// Where the payload that a record ends begins; `None` if more records follow.
    fn complete(
        &mut self,
        kind: RecordKind,
        here: Position,
    ) -> std::result::Result<Option<Position>, &'static str> {
        let start = match (kind, self.pending) {
            (RecordKind::Begin, _) => return Err("a segment begins in its middle"),
            (RecordKind::Full, None) => here,
            (RecordKind::First, None) => {
                self.pending = Some(here);
                return Ok(None);
            }
            (RecordKind::Middle | RecordKind::Mark, Some(_)) => return Ok(None),
            (RecordKind::Last, Some(start)) => start,
            (RecordKind::Full | RecordKind::First, Some(_)) => {
                return Err("a payload begins before the one before it has ended");
            }
            (RecordKind::Middle | RecordKind::Last | RecordKind::Mark, None) => {
                return Err("a payload goes on that never began");
            }
        };
        self.pending = None;
        self.payloads += 1;
        Ok(Some(start))
    }

    fn link(&self) -> Option<Link> {
        self.chain.get(self.at).copied()
    }

    /// Decides whether bytes at `here` that are not a record are the log's end or damage.
    fn stop(&mut self, here: Position, why: &str) -> Result<Option<Position>> {
        let env = self.env.as_ref();
        let mut reader = SegmentReader::open(env, &self.folder, here.segment, WINDOW_BYTES)?;
        let (mut doubtful, mut why) = (here, why);
        self.durable = self.durable.max(reader.durable_marked_at(here.offset)?);
        if let Some(next) = reader.next_named_at(here.offset)? {
            if self.files.binary_search(&next).is_err() {
                let file = segment_path(&self.folder, next);
                let what =
                    format!("the segment is missing, but segment {} goes on in it", here.segment);
                return Err(Corruption::new(&file, 0, what).into());
            }
            // The log continues there, so the beginning of that segment is what cannot be read.
            doubtful = Position { segment: next, offset: 0 };
            why = "no sound beginning of the segment";
        }
        let later = check_never_synced(env, &self.folder, &self.files, doubtful, why)?;
        // A header that names this segment shows that a record was begun here.
        let torn = later || self.pending.is_some() || reader.is_begun_at(here.offset)?;
        let end = self.pending.take().unwrap_or(here);
        self.payload.clear();
        if torn {
            base::mark::hit(base::mark::Mark::TornTail);
        }
        self.recovered = Some(Recovered { end, payloads: self.payloads, torn });
        self.at = self.chain.len();
        Ok(None)
    }
}

/// Follows the links back from the newest segment that has one.
fn find_chain(env: &dyn Env, folder: &Path, files: &[u64], first_live: u64) -> Result<Vec<Link>> {
    let live = &files[files.partition_point(|number| *number < first_live)..];
    let missing = |number: u64, what: &str| {
        let file = segment_path(folder, number);
        Err(Corruption::new(&file, 0, format!("the segment is missing, {what}")).into())
    };
    if first_live > 0 && live.first() != Some(&first_live) {
        return missing(first_live, "but the manifest needs it");
    }
    let mut candidates = live;
    loop {
        let mut chain = Vec::new();
        match follow_links(env, folder, candidates, first_live, &mut chain)? {
            Links::Whole => {
                chain.reverse();
                return Ok(chain);
            }
            Links::Missing { number, next } => {
                return missing(number, &format!("but segment {next} follows it"));
            }
            Links::Broken(number) => {
                let here = Position { segment: number, offset: 0 };
                check_never_synced(env, folder, files, here, "no sound beginning of the segment")?;
                // Never synced, so lost in a crash together with all that followed: the log ends
                // earlier.
                let before = candidates.partition_point(|candidate| *candidate < number);
                candidates = &candidates[..before];
            }
        }
    }
}

/// How far the links of segments lead back.
enum Links {
    /// To the oldest segment that is needed.
    Whole,
    /// To a file that is missing.
    Missing { number: u64, next: u64 },
    /// To a segment whose first record is unsound, though older ones exist.
    Broken(u64),
}

/// Follows the links back from the newest of `candidates` that has one, pushing each segment.
fn follow_links(
    env: &dyn Env,
    folder: &Path,
    candidates: &[u64],
    first_live: u64,
    chain: &mut Vec<Link>,
) -> Result<Links> {
    let previous = |number: u64| SegmentReader::open(env, folder, number, 4096)?.previous();
    let oldest = candidates.first().copied();
    let mut top = None;
    for number in candidates.iter().rev().copied() {
        if let Some(before) = previous(number)? {
            top = Some((number, before));
            break;
        }
    }
    let Some((mut number, mut before)) = top else {
        // No segment has a sound beginning: the oldest is read, and its first byte decides.
        chain.extend(oldest.map(|number| Link { number, end: None }));
        return Ok(Links::Whole);
    };
    chain.push(Link { number, end: None });
    while before.segment >= first_live.max(1) && number != first_live {
        if before.segment >= number || candidates.binary_search(&before.segment).is_err() {
            return Ok(Links::Missing { number: before.segment, next: number });
        }
        number = before.segment;
        chain.push(Link { number, end: Some(before.offset) });
        match previous(number)? {
            Some(position) => before = position,
            // Nothing before it is needed; reading it tells whether it is empty or damaged.
            None if Some(number) == oldest => break,
            None => return Ok(Links::Broken(number)),
        }
    }
    Ok(Links::Whole)
}

/// Fails if a sound record at or behind `here` calls the bytes there durable. Returns whether there
/// is any sound record.
fn check_never_synced(
    env: &dyn Env,
    folder: &Path,
    files: &[u64],
    here: Position,
    why: &str,
) -> Result<bool> {
    let mut any = false;
    let from = files.partition_point(|number| *number < here.segment);
    for number in files[from..].iter().copied() {
        let mut reader = SegmentReader::open(env, folder, number, WINDOW_BYTES)?;
        let offset = if number == here.segment { here.offset + 1 } else { 0 };
        let Some(durable) = reader.durable_stated_from(offset)? else { continue };
        any = true;
        if durable > here {
            let file = segment_path(folder, here.segment);
            let Position { segment, offset } = durable;
            let what = format!(
                "{why}, where the log had been synced up to byte {offset} of segment {segment}"
            );
            return Err(Corruption::new(&file, here.offset, what).into());
        }
    }
    Ok(any)
}
