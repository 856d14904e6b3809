//! The write-ahead log: what was committed and is in no table yet.
//!
//! # Why segments that are recycled
//! A sync of a file that grows writes the file's length and block map too; a preallocated file needs its data
//! only, and a file used before has even its blocks written. So a log is a row of preallocated files, and
//! one that is no longer needed is renamed to be a later one. Its old records are still in it, which is why
//! every record carries the number of the segment it was written for.
//!
//! # Why every record says what was durable
//! After a crash the log ends somewhere. A record that fails its checksum may be that end, or it may be
//! damage in the middle, which must never pass for an end. Each record therefore states up to where the log had
//! been synced when it was written: an unsound record before a position that a later record calls
//! durable is corruption, reported with file and offset; one after it was never synced, and the log ends there.
//!
//! The last record has none behind it that could say so. [`Wal::mark`] puts a *mark* there, which says it and is
//! overwritten by the next record. It is not synced itself: a killed process leaves it, a power cut may not.
//!
//! # Invariants
//! 1. A segment is written by one process life only. Reopening starts the next number, so nothing is
//!    ever written behind a torn tail.
//! 2. Numbers only grow; a number is never used for two files.
//! 3. The first record of a segment (`Begin`) says which segment came before and where that ended. What
//!    lies behind that end is dead.
//! 4. A position is called durable only after every segment up to it was synced, oldest first.
//! 5. After a failed write or sync the log refuses to go on ([`WalError::Failed`]).

mod follow;
mod record;
mod recovery;
mod salvage;
mod segment;
#[cfg(test)]
mod tests;

pub use follow::{Follow, WalReader};
pub use recovery::{Place, Recovered, Recovery};
pub use salvage::{SalvagedLog, salvage};

use env::sync::Mutex;
use env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Corruption;
use base::sabotage::{Switch, is_on};
use env::{Env, EnvError, LogFile, LogMode, LogSync};

use record::{ALIGN_BYTES, HEADER_BYTES, PAYLOAD_BYTES_MAX, RecordKind, record_bytes};
use segment::segment_path;

/// Result of a log operation.
pub type Result<T> = std::result::Result<T, WalError>;

/// Why the log cannot do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalError {
    /// The machine said no.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// Bytes that had been synced are not what was written.
    #[error(transparent)]
    Corruption(#[from] Corruption),
    /// An earlier write or sync failed, so nobody knows what is on the disk. Reopen the log.
    #[error("the log {} refuses to go on after a failed write or sync", folder.display())]
    Failed {
        /// The log's folder.
        folder: PathBuf,
    },
    /// The log has used up its segment numbers or an option is out of range.
    #[error("the log {}: {what}", folder.display())]
    Limit {
        /// The log's folder.
        folder: PathBuf,
        /// Which limit.
        what: &'static str,
    },
}

/// A place in the log, ordered as the log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Number of the segment; the first is 1. 0 is before everything.
    pub segment: u64,
    /// Offset in the segment's file, in bytes.
    pub offset: u64,
}

/// How a log is written.
#[derive(Clone, Copy, Debug)]
pub struct WalOptions {
    /// Length of a segment's file in bytes: 256 to 2^30. The first ones after opening are shorter
    /// (from 4 MiB, doubling), so that a small database stays small.
    pub segment_bytes: u64,
    /// [`LogMode::Write`] where each commit is synced, [`LogMode::Mapped`] otherwise.
    pub mode: LogMode,
    /// How many released segments are kept for reuse.
    pub spare_segments_max: usize,
    /// Length of the first segment after opening, at most.
    pub first_segment_bytes: u64,
}

impl Default for WalOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            mode: LogMode::Write,
            spare_segments_max: 2,
            first_segment_bytes: 4 << 20,
        }
    }
}

/// Shortest segment: a `Begin` record and one of a few bytes fit several times.
const SEGMENT_BYTES_MIN: u64 = 256;
/// Longest segment. Offsets are stored in 32 bits.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;
/// A piece of payload shorter than this is not worth a record of its own at a segment's end.
const PIECE_BYTES_MIN: usize = 64;

/// The writer's end of the log. One per folder: the folder's lock sees to that.
#[derive(Debug)]
pub struct Wal {
    env: Arc<dyn Env>,
    folder: PathBuf,
    options: WalOptions,
    current: Segment,
    /// Segments that are not released, without the current one, oldest first.
    older: Vec<Older>,
    /// Numbers of files to be reused.
    spares: Vec<u64>,
    progress: Arc<Progress>,
    recovered: Recovered,
    /// Length of the next new file.
    next_bytes: u64,
    /// While it is set, segments stay as short as the first one, and none is kept for reuse.
    frugal: Arc<AtomicBool>,
    /// Bytes of all records written here.
    written_bytes: u64,
    scratch: Vec<u8>,
}

/// What became of a payload that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It counts.
    Done,
    /// It rests on what is not there, for the reason given. Where the log does not call it durable,
    /// a power cut explains that, and the log ends before it; else it is corruption.
    EndBefore(String),
}

/// What a writer and those who sync for it tell each other.
#[derive(Debug, Default)]
struct Progress {
    /// Everything before this position is on the disk: segment in the upper half, offset in the lower.
    durable: AtomicU64,
    failed: AtomicBool,
    /// One sync at a time: the kernel tells of a failed write once, to whichever sync comes first, and a sync beside
    /// that one would be told that all is well.
    syncing: Mutex<()>,
}

impl Progress {
    fn durable(&self) -> Position {
        let word = self.durable.load(Ordering::Acquire);
        Position { segment: word >> 32, offset: word & u64::from(u32::MAX) }
    }

    fn set_durable(&self, position: Position) {
        self.durable.fetch_max(position.segment << 32 | position.offset, Ordering::AcqRel);
    }

    fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }
}

/// A full segment whose records are still needed.
#[derive(Debug)]
struct Older {
    number: u64,
    len_bytes: u64,
    /// Where it ended, and how to sync it; nothing where it was synced before this process wrote.
    unsynced: Option<(Position, Arc<dyn LogSync>)>,
}

/// Syncs the log as far as it was written when the handle was made, while appending goes on.
#[derive(Debug)]
pub struct SyncHandle {
    /// Oldest first.
    files: Vec<Arc<dyn LogSync>>,
    upto: Position,
    progress: Arc<Progress>,
}

impl SyncHandle {
    /// Makes everything durable that was appended before [`Wal::sync_handle`] was called.
    ///
    /// # Errors
    /// After a failed sync nobody knows what is on the disk; the log refuses to go on.
    pub fn sync(&self) -> env::Result<()> {
        let _turn = self.progress.syncing.lock();
        if self.progress.failed.load(Ordering::Acquire) {
            let cause = std::io::Error::other("an earlier write or sync of the log failed");
            return Err(EnvError::io("sync", Path::new("wal"), cause));
        }
        for file in &self.files {
            if let Err(error) = file.sync() {
                // Before the turn is given up: the next one must know.
                self.progress.fail();
                return Err(error);
            }
        }
        self.progress.set_durable(self.upto);
        Ok(())
    }

    /// What is durable after [`SyncHandle::sync`]: everything before this.
    #[must_use]
    pub fn upto(&self) -> Position {
        self.upto
    }
}

#[derive(Debug)]
struct Segment {
    number: u64,
    file: Box<dyn LogFile>,
    sync: Arc<dyn LogSync>,
    len_bytes: u64,
    offset: u64,
}

impl Segment {
    /// Where its records must end: there is room for a mark behind them.
    fn records_max(&self) -> u64 {
        self.len_bytes - record_bytes(record::NEXT_BYTES) as u64
    }
}

impl Wal {
    /// Finds the log in `folder`, which must exist, hands every payload to `replay` in the order of
    /// appending, and opens the log for appending, in a fresh segment.
    ///
    /// `first_live` is the oldest segment that is still needed, from the manifest; 0 where no
    /// segment was ever named there: then all are read. Files of older numbers are reused.
    ///
    /// # Errors
    /// [`WalError::Corruption`] with file and offset, a segment that must be there and is not
    /// included; a failed read or sync; a full disk; options out of range; what `replay` returns.
    pub fn open(
        env: Arc<dyn Env>,
        folder: &Path,
        first_live: u64,
        options: WalOptions,
        replay: &mut dyn FnMut(&Place, &[u8]) -> Result<Replay>,
    ) -> Result<Self> {
        let mut recovery = Self::recover(env, folder, first_live, options)?;
        while let Some((position, payload)) = recovery.next_payload()? {
            let file = segment_path(folder, position.segment);
            let place = Place { file, offset: position.offset, position };
            if let Replay::EndBefore(why) = replay(&place, payload)? {
                recovery.end_before(position, &why)?;
            }
        }
        recovery.finish()
    }

    /// As [`Wal::open`], step by step: the caller pulls the payloads.
    ///
    /// # Errors
    /// As [`Wal::open`].
    pub fn recover(
        env: Arc<dyn Env>,
        folder: &Path,
        first_live: u64,
        options: WalOptions,
    ) -> Result<Recovery> {
        if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&options.segment_bytes) {
            let what = "segment_bytes must be from 256 to 2^30";
            return Err(WalError::Limit { folder: folder.to_owned(), what });
        }
        Recovery::open(env, folder, first_live, options)
    }

    /// Starts the segment after the recovered end; called by the recovery when all is replayed.
    fn start(
        env: Arc<dyn Env>,
        folder: PathBuf,
        options: WalOptions,
        recovered: Recovered,
        last_number: u64,
        files: (Vec<Older>, Vec<u64>),
    ) -> Result<Self> {
        let (older, mut spares) = files;
        let next_bytes = options.segment_bytes.min(options.first_segment_bytes);
        let number = last_number + 1;
        let current =
            make_segment(env.as_ref(), &folder, number, next_bytes, options, &mut spares)?;
        let mut wal = Self {
            env,
            folder,
            options,
            current,
            older,
            spares,
            progress: Arc::default(),
            recovered,
            next_bytes: (next_bytes * 2).min(options.segment_bytes),
            frugal: Arc::default(),
            written_bytes: 0,
            scratch: Vec::new(),
        };
        wal.progress.set_durable(recovered.end);
        wal.begin(recovered.end)?;
        wal.trim_spares()?;
        Ok(wal)
    }

    /// Appends one payload, however long; returns where its first record begins.
    ///
    /// It is in the operating system's hands when this returns, and on the disk after [`Wal::sync`].
    /// A payload over 1 MiB, or over what is left of a segment, becomes several records, which
    /// replay as one payload or not at all.
    ///
    /// # Errors
    /// A failed write or a full disk. The log then refuses to go on.
    #[inline]
    pub fn append(&mut self, payload_parts: &[&[u8]]) -> Result<Position> {
        self.check()?;
        let bytes = payload_parts.iter().map(|part| part.len()).sum();
        let fits = self.current.offset + record_bytes(bytes) as u64 <= self.current.records_max();
        let appended = if bytes <= PAYLOAD_BYTES_MAX && fits {
            self.write(RecordKind::Full, payload_parts)
        } else {
            self.append_cut(payload_parts, bytes)
        };
        if appended.is_err() {
            self.progress.fail();
        }
        appended
    }

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    /// After a failed sync nobody knows what is on the disk; the log refuses to go on.
    pub fn sync(&mut self) -> Result<()> {
        self.check()?;
        self.sync_handle().sync()?;
        Ok(())
    }

    /// What syncs all that is appended by now, on any thread and without this log being held.
    ///
    /// Several handles may wait for their turn at once, in any order.
    #[must_use]
    pub fn sync_handle(&self) -> SyncHandle {
        let durable = self.progress.durable();
        let unsynced = self.older.iter().filter_map(|older| older.unsynced.as_ref());
        let unsynced = unsynced
            .filter(|(end, _)| *end > durable && !is_on(Switch::SyncNewestSegment))
            .map(|(_, sync)| Arc::clone(sync));
        SyncHandle {
            files: unsynced.chain([Arc::clone(&self.current.sync)]).collect(),
            upto: self.position(),
            progress: Arc::clone(&self.progress),
        }
    }

    /// Makes segments before `before` reusable: everything in them is in tables that the durable
    /// manifest names. The current segment always stays.
    ///
    /// # Errors
    /// A file that is too much cannot be removed.
    pub fn release(&mut self, before: u64) -> Result<()> {
        let before = before.min(self.current.number);
        let count = self.older.partition_point(|older| older.number < before);
        self.spares.extend(self.older.drain(..count).map(|older| older.number));
        self.trim_spares()
    }

    /// Number of the segment that is written now. A payload appended from now on lies in it or later.
    #[must_use]
    pub fn current_segment(&self) -> u64 {
        self.current.number
    }

    /// Where the next record will begin: the end of the log.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { segment: self.current.number, offset: self.current.offset }
    }

    /// Everything before this position is on the disk.
    #[must_use]
    pub fn durable_position(&self) -> Position {
        self.progress.durable()
    }

    /// What was found when the log was opened.
    #[must_use]
    pub fn recovered(&self) -> Recovered {
        self.recovered
    }

    /// Bytes of all records that were written since the log was opened.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Bytes on the disk of the segments that are not released, preallocated space included.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        let older: u64 = self.older.iter().map(|older| older.len_bytes).sum();
        older + self.current.len_bytes
    }

    /// Starts a new segment, so that all before it can be released later (a memtable was sealed).
    /// Does nothing where the current one is still empty. Returns the current segment's number.
    ///
    /// # Errors
    /// As [`Wal::append`].
    pub fn rotate(&mut self) -> Result<u64> {
        self.check()?;
        if self.current.offset > record_bytes(record::BEGIN_BYTES) as u64 {
            self.next_segment().inspect_err(|_| self.progress.fail())?;
        }
        Ok(self.current.number)
    }

    /// Says behind the last record that everything is durable, where it is and nothing was appended since:
    /// damage to that record is then told from a crash.
    ///
    /// # Errors
    /// A failed write. The log then refuses to go on.
    pub fn mark(&mut self) -> Result<()> {
        self.check()?;
        if self.progress.durable() == self.position() {
            self.write_mark(&[]).inspect_err(|_| self.progress.fail())?;
        }
        Ok(())
    }

    /// Number of the oldest segment that is not released.
    #[must_use]
    pub fn first_segment(&self) -> u64 {
        self.older.first().map_or(self.current.number, |older| older.number)
    }

    /// Syncs, and gives back the space that was reserved ahead: a closed database is as small as what
    /// it holds. The next opening starts a fresh segment.
    ///
    /// # Errors
    /// As [`Wal::sync`].
    pub fn close(mut self) -> Result<()> {
        self.sync()?;
        self.options.spare_segments_max = 0;
        self.trim_spares()?;
        self.write_mark(&[])?;
        let Self { env, folder, current, .. } = self;
        let Segment { number, mut file, offset, .. } = current;
        // Before the file gets shorter: without the mark that would be damage.
        file.sync()?;
        drop(file);
        let bytes = offset + record::MARK_BYTES as u64;
        env.open_append(&segment_path(&folder, number), bytes)?.sync()?;
        env.sync_folder(&folder)?;
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.progress.failed.load(Ordering::Acquire) {
            return Err(WalError::Failed { folder: self.folder.clone() });
        }
        Ok(())
    }

    #[inline]
    fn write(&mut self, kind: RecordKind, parts: &[&[u8]]) -> Result<Position> {
        let position = self.position();
        let durable = self.progress.durable();
        record::build(&mut self.scratch, kind, position.segment, durable, parts);
        self.current.file.write_at(&self.scratch, position.offset)?;
        self.current.offset += self.scratch.len() as u64;
        self.written_bytes += self.scratch.len() as u64;
        Ok(position)
    }

    /// Writes a mark behind the last record, without going on behind it.
    fn write_mark(&mut self, payload: &[u8]) -> Result<()> {
        let offset = self.current.offset;
        self.write(RecordKind::Mark, &[payload])?;
        self.current.offset = offset;
        Ok(())
    }

    /// Appends a payload that does not fit as it is.
    #[cold]
    fn append_cut(&mut self, parts: &[&[u8]], bytes: usize) -> Result<Position> {
        let ends = record_bytes(record::BEGIN_BYTES) + record_bytes(record::NEXT_BYTES);
        let fresh = self.next_bytes as usize - ends;
        let waste_is_small = self.left() <= self.current.len_bytes as usize / 16;
        // Whole in one segment is better: one file to sync. Unless much space would be left behind.
        if bytes <= PAYLOAD_BYTES_MAX && record_bytes(bytes) <= fresh && waste_is_small {
            self.next_segment()?;
            return self.write(RecordKind::Full, parts);
        }
        let mut first = None;
        let mut rest = Parts { parts, skip: 0, left: bytes };
        while rest.left > 0 {
            if self.left() < HEADER_BYTES + PIECE_BYTES_MIN {
                self.next_segment()?;
            }
            let room = (self.left() - HEADER_BYTES) / ALIGN_BYTES * ALIGN_BYTES;
            let piece = rest.take(room.min(PAYLOAD_BYTES_MAX));
            let kind = match (first.is_none(), rest.left == 0) {
                (true, true) => RecordKind::Full,
                (true, false) => {
                    base::mark::hit(base::mark::Mark::PayloadCut);
                    RecordKind::First
                }
                (false, false) => RecordKind::Middle,
                (false, true) => RecordKind::Last,
            };
            let position = self.write(kind, &piece)?;
            first = first.or(Some(position));
        }
        match first {
            Some(position) => Ok(position),
            // An empty payload at the very end of a segment.
            None => {
                self.next_segment()?;
                self.write(RecordKind::Full, parts)
            }
        }
    }

    /// Bytes left in the current segment.
    fn left(&self) -> usize {
        (self.current.records_max() - self.current.offset) as usize
    }

    fn next_segment(&mut self) -> Result<()> {
        let end = self.position();
        let number = self.current.number + 1;
        let (env, options) = (self.env.as_ref(), self.options);
        let bytes = if self.is_frugal() {
            options.segment_bytes.min(options.first_segment_bytes)
        } else {
            let longer = (self.next_bytes * 2).min(options.segment_bytes);
            std::mem::replace(&mut self.next_bytes, longer)
        };
        let next = make_segment(env, &self.folder, number, bytes, options, &mut self.spares)?;
        let mut full = std::mem::replace(&mut self.current, next);
        let durable = self.progress.durable();
        for older in &mut self.older {
            // Lets the files of segments that were synced meanwhile be closed.
            older.unsynced = older.unsynced.take().filter(|(end, _)| *end > durable);
        }
        self.begin(end)?;
        // The file of the next segment is there for good: without it, the log is cut.
        let kind = RecordKind::Mark;
        let next = (self.current.number as u32).to_le_bytes();
        record::build(&mut self.scratch, kind, end.segment, durable, &[&next]);
        full.file.write_at(&self.scratch, end.offset)?;
        let Segment { number, sync, len_bytes, .. } = full;
        self.older.push(Older { number, len_bytes, unsynced: Some((end, sync)) });
        Ok(())
    }

    /// Writes the record that links the fresh current segment to the log's end before it, and says how
    /// long the file is.
    fn begin(&mut self, end: Position) -> Result<()> {
        let mut payload = [0; record::BEGIN_BYTES];
        payload[..4].copy_from_slice(&(end.segment as u32).to_le_bytes());
        payload[4..8].copy_from_slice(&(end.offset as u32).to_le_bytes());
        payload[8..].copy_from_slice(&(self.current.len_bytes as u32).to_le_bytes());
        self.write(RecordKind::Begin, &[&payload])?;
        Ok(())
    }

    /// Says whether to be sparing with the disk, from now on and whenever the flag changes.
    ///
    /// # Errors
    /// A segment kept for reuse cannot be removed.
    pub fn be_frugal(&mut self, frugal: Arc<AtomicBool>) -> Result<()> {
        self.frugal = frugal;
        self.trim_spares()
    }

    fn is_frugal(&self) -> bool {
        self.frugal.load(Ordering::Relaxed)
    }

    fn trim_spares(&mut self) -> Result<()> {
        let most = if self.is_frugal() { 0 } else { self.options.spare_segments_max };
        while self.spares.len() > most {
            let number = self.spares.remove(0);
            self.env.remove(&segment_path(&self.folder, number))?;
        }
        Ok(())
    }
}

/// Makes the file of segment `number`, of a spare one if there is one that is long enough.
fn make_segment(
    env: &dyn Env,
    folder: &Path,
    number: u64,
    bytes: u64,
    options: WalOptions,
    spares: &mut Vec<u64>,
) -> Result<Segment> {
    if number > u64::from(u32::MAX) {
        let what = "all 2^32 segment numbers are used; write the database anew by a backup";
        return Err(WalError::Limit { folder: folder.to_owned(), what });
    }
    let path = segment_path(folder, number);
    while let Some(spare) = spares.pop() {
        let old = segment_path(folder, spare);
        let file = env.open_log(&old, options.mode)?;
        // Lengths differ after the options changed, and while segments still grow.
        if file.len_bytes() >= bytes / 2 && file.len_bytes() >= SEGMENT_BYTES_MIN {
            drop(file);
            base::mark::hit(base::mark::Mark::SegmentRecycled);
            env.rename(&old, &path)?;
            env.sync_folder(folder)?;
            let file = env.open_log(&path, options.mode)?;
            let len_bytes = file.len_bytes().min(SEGMENT_BYTES_MAX);
            let sync = file.sync_handle();
            return Ok(Segment { number, file, sync, len_bytes, offset: 0 });
        }
        drop(file);
        env.remove(&old)?;
    }
    let mut file = env.create_log(&path, bytes, options.mode)?;
    // Its length must be as durable as its name: a shorter segment is taken for a damaged one.
    file.sync()?;
    env.sync_folder(folder)?;
    let sync = file.sync_handle();
    Ok(Segment { number, file, sync, len_bytes: bytes, offset: 0 })
}

/// What is left of a payload that is being cut.
struct Parts<'a> {
    parts: &'a [&'a [u8]],
    /// Bytes of the first part that are gone already.
    skip: usize,
    left: usize,
}

impl<'a> Parts<'a> {
    /// The next `bytes` of the payload, or all that is left.
    fn take(&mut self, bytes: usize) -> Vec<&'a [u8]> {
        let mut want = bytes.min(self.left);
        self.left -= want;
        let mut piece = Vec::new();
        while want > 0 {
            let Some((part, later)) = self.parts.split_first() else { break };
            let part = &part[self.skip..];
            let taken = part.len().min(want);
            piece.push(&part[..taken]);
            want -= taken;
            if taken == part.len() {
                self.parts = later;
                self.skip = 0;
            } else {
                self.skip += taken;
            }
        }
        piece
    }
}
