//! The write-ahead log: all commits that are not in tables yet.
//!
//! `open` recovers it, `commit` appends and syncs, `maintenance` rotates and releases segments.
//!
//! # Why segments are recycled
//! A sync of a growing file also writes the file's length and block map. A preallocated file needs
//! its data only, and in a file that was used before even the blocks are written. So the log is a
//! series of preallocated files, and a file that is no longer needed is renamed to a later segment.
//! It still contains old records, which is why every record carries the number of the segment it
//! was written for.
//!
//! # Why every record says how far the log was durable
//! After a crash the log ends somewhere. A record that fails its checksum may be that end, or it
//! may be damage in the middle, which must never pass for the end. Each record therefore states up
//! to where the log had been synced when it was written. An unsound record before a position that a
//! later record calls durable is corruption, reported with file and offset. An unsound record after
//! it was never synced, and the log ends there.
//!
//! No record follows the last one to say so. [`Wal::mark`] writes a *mark* there, which states it
//! and is overwritten by the next record. A mark is not synced: a killed process leaves it, a power
//! cut may not.
//!
//! # Invariants
//! 1. A segment is written by one process only. Reopening starts the next number, so nothing is
//!    ever written behind a torn tail.
//! 2. Numbers only grow; a number is never used for two files.
//! 3. The first record of a segment (`Begin`) names the segment before and where that ended. Bytes
//!    behind that end are dead.
//! 4. A position is called durable only after every segment up to it was synced, oldest first.
//! 5. After a failed write or sync the log refuses further calls ([`WalError::Failed`]).

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
use base::fault_switch::{Switch, is_on};
use env::{Env, EnvError, LogFile, LogMode, LogSync};

use record::{ALIGN_BYTES, HEADER_BYTES, PAYLOAD_BYTES_MAX, RecordKind, record_bytes};
use segment::segment_path;

/// Result of a log operation.
pub type Result<T> = std::result::Result<T, WalError>;

/// Why a log operation failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalError {
    /// An operation of the environment failed.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// Synced bytes differ from the written ones.
    #[error(transparent)]
    Corruption(#[from] Corruption),
    /// An earlier write or sync failed, so the state on disk is unknown. Reopen the log.
    #[error("the log {} refuses to go on after a failed write or sync", folder.display())]
    Failed {
        /// The log's folder.
        folder: PathBuf,
    },
    /// The log has used up its segment numbers, or an option is out of range.
    #[error("the log {}: {what}", folder.display())]
    Limit {
        /// The log's folder.
        folder: PathBuf,
        /// Which limit.
        what: &'static str,
    },
}

/// A position in the log; positions are ordered as the log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Number of the segment; the first is 1. Segment 0 is before everything.
    pub segment: u64,
    /// Offset in the segment's file, in bytes.
    pub offset: u64,
}

/// Options of a log.
#[derive(Clone, Copy, Debug)]
pub struct WalOptions {
    /// Length of a segment's file, in bytes: 256 to 2^30. The first segments after opening are
    /// shorter (from 4 MiB, doubling), so that a small database stays small.
    pub segment_bytes: u64,
    /// [`LogMode::Write`] where each commit is synced, [`LogMode::Mapped`] otherwise.
    pub mode: LogMode,
    /// Number of released segments that are kept for reuse.
    pub spare_segments_max: usize,
    /// Largest length of the first segment after opening, in bytes.
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
/// Shortest piece of a payload, in bytes, that gets a record of its own at a segment's end.
const PIECE_BYTES_MIN: usize = 64;

/// The writer's side of the log. There is one per folder; the folder's lock ensures it.
#[derive(Debug)]
pub struct Wal {
    env: Arc<dyn Env>,
    folder: PathBuf,
    options: WalOptions,
    current: Segment,
    /// Segments that are not released, except the current one, oldest first.
    older: Vec<Older>,
    /// Numbers of the files that are kept for reuse.
    spares: Vec<u64>,
    progress: Arc<Progress>,
    recovered: Recovered,
    /// Length of the next new file, in bytes.
    next_bytes: u64,
    /// While it is set, segments stay as short as the first one, and none is kept for reuse.
    frugal: Arc<AtomicBool>,
    /// Bytes of all records written since opening.
    written_bytes: u64,
    scratch: Vec<u8>,
}

/// The caller's verdict on a replayed payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// The payload is accepted.
    Done,
    /// The payload depends on something that is missing, for the reason given. Where the log does
    /// not call it durable, a power cut explains that, and the log ends before it. Otherwise it is
    /// corruption.
    EndBefore(String),
}

/// State shared between the writer and its sync handles.
#[derive(Debug, Default)]
struct Progress {
    /// Everything before this position is synced: segment in the upper half, offset in the lower.
    durable: AtomicU64,
    failed: AtomicBool,
    /// Allows one sync at a time. The kernel reports a failed write once, to the sync that comes
    /// first; a concurrent sync would be told that all is well.
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
    /// Where it ended, and how to sync it; `None` where it was synced before this process wrote.
    unsynced: Option<(Position, Arc<dyn LogSync>)>,
}

/// Syncs the log up to its end when the handle was made, while appends continue.
#[derive(Debug)]
pub struct SyncHandle {
    /// Files to sync, oldest first.
    files: Vec<Arc<dyn LogSync>>,
    upto: Position,
    progress: Arc<Progress>,
}

impl SyncHandle {
    /// Makes everything durable that was appended before [`Wal::sync_handle`] was called.
    ///
    /// # Errors
    /// A failed sync, now or before. The state on disk is unknown then, and the log refuses further
    /// calls.
    pub fn sync(&self) -> env::Result<()> {
        let _turn = self.progress.syncing.lock();
        if self.progress.failed.load(Ordering::Acquire) {
            let cause = std::io::Error::other("an earlier write or sync of the log failed");
            return Err(EnvError::io("sync", Path::new("wal"), cause));
        }
        for file in &self.files {
            if let Err(error) = file.sync() {
                // Set while `syncing` is still held: the next sync must see it.
                self.progress.fail();
                return Err(error);
            }
        }
        self.progress.set_durable(self.upto);
        Ok(())
    }

    /// Everything before this position is durable after [`SyncHandle::sync`].
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
    /// Offset up to which records may extend; behind it there is room for a mark.
    fn records_max(&self) -> u64 {
        self.len_bytes - record_bytes(record::NEXT_BYTES) as u64
    }
}

impl Wal {
    /// Finds the log in `folder`, which must exist, hands every payload to `replay` in the order of
    /// appending, and opens the log for appending in a new segment.
    ///
    /// `first_live` is the oldest segment that is still needed, from the manifest. It is 0 where
    /// the manifest never named a segment: then all are read. Files with smaller numbers are
    /// reused.
    ///
    /// # Errors
    /// [`WalError::Corruption`] with file and offset, also for a segment that is missing; a failed
    /// read or sync; a full disk; options out of range; what `replay` returns.
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

    /// Starts the segment after the recovered end. Called when the recovery has replayed
    /// everything.
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

    /// Appends one payload of any length; returns the position of its first record.
    ///
    /// The operating system has the payload when this returns; it is on disk after [`Wal::sync`]. A
    /// payload over 1 MiB, or longer than the rest of a segment, becomes several records, which
    /// replay as one payload or not at all.
    ///
    /// # Errors
    /// A failed write or a full disk. The log then refuses further calls.
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

    /// Makes everything durable that was appended so far.
    ///
    /// # Errors
    /// A failed sync. The state on disk is unknown then, and the log refuses further calls.
    pub fn sync(&mut self) -> Result<()> {
        self.check()?;
        self.sync_handle().sync()?;
        Ok(())
    }

    /// A handle that syncs everything appended so far, on any thread and without a reference to
    /// this log.
    ///
    /// Several handles may be waiting at once, in any order.
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

    /// Makes segments before `before` reusable: their rows are in tables that the durable manifest
    /// names. The current segment always stays.
    ///
    /// # Errors
    /// A superfluous file cannot be removed.
    pub fn release(&mut self, before: u64) -> Result<()> {
        let before = before.min(self.current.number);
        let count = self.older.partition_point(|older| older.number < before);
        self.spares.extend(self.older.drain(..count).map(|older| older.number));
        self.trim_spares()
    }

    /// Number of the current segment. Later payloads are in it or in a later one.
    #[must_use]
    pub fn current_segment(&self) -> u64 {
        self.current.number
    }

    /// Position of the next record: the end of the log.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { segment: self.current.number, offset: self.current.offset }
    }

    /// Everything before this position is durable.
    #[must_use]
    pub fn durable_position(&self) -> Position {
        self.progress.durable()
    }

    /// The findings of recovery when the log was opened.
    #[must_use]
    pub fn recovered(&self) -> Recovered {
        self.recovered
    }

    /// Bytes of all records written since the log was opened.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Bytes on disk of the segments that are not released, including preallocated space.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        let older: u64 = self.older.iter().map(|older| older.len_bytes).sum();
        older + self.current.len_bytes
    }

    /// Starts a new segment, so that all earlier ones can be released later (a memtable was
    /// sealed). Does nothing where the current one is still empty. Returns the current segment's
    /// number.
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

    /// Writes a mark behind the last record if everything up to there is durable: damage to that
    /// record is then told from a crash.
    ///
    /// # Errors
    /// A failed write. The log then refuses further calls.
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

    /// Syncs, and truncates the preallocated space: a closed database takes only the space of its
    /// data. The next opening starts a new segment.
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
        // The mark is synced before the file is truncated: a short file without a mark is taken for
        // damage.
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

    /// Writes a mark behind the last record; the next record overwrites it.
    fn write_mark(&mut self, payload: &[u8]) -> Result<()> {
        let offset = self.current.offset;
        self.write(RecordKind::Mark, &[payload])?;
        self.current.offset = offset;
        Ok(())
    }

    /// Appends a payload that does not fit in the current segment as one record.
    #[cold]
    fn append_cut(&mut self, parts: &[&[u8]], bytes: usize) -> Result<Position> {
        let ends = record_bytes(record::BEGIN_BYTES) + record_bytes(record::NEXT_BYTES);
        let fresh = self.next_bytes as usize - ends;
        let waste_is_small = self.left() <= self.current.len_bytes as usize / 16;
        // One record in one segment is better, as one file has to be synced, unless much space
        // would be wasted.
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

    /// Bytes left for records in the current segment.
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
            // Segments that were synced meanwhile need no open file any more.
            older.unsynced = older.unsynced.take().filter(|(end, _)| *end > durable);
        }
        self.begin(end)?;
        // The file of the next segment exists durably. If it is missing later, the log was
        // truncated.
        let kind = RecordKind::Mark;
        let next = (self.current.number as u32).to_le_bytes();
        record::build(&mut self.scratch, kind, end.segment, durable, &[&next]);
        full.file.write_at(&self.scratch, end.offset)?;
        let Segment { number, sync, len_bytes, .. } = full;
        self.older.push(Older { number, len_bytes, unsynced: Some((end, sync)) });
        Ok(())
    }

    /// Writes the record that links the new current segment to the end of the previous one, and
    /// states the length of the file.
    fn begin(&mut self, end: Position) -> Result<()> {
        let mut payload = [0; record::BEGIN_BYTES];
        payload[..4].copy_from_slice(&(end.segment as u32).to_le_bytes());
        payload[4..8].copy_from_slice(&(end.offset as u32).to_le_bytes());
        payload[8..].copy_from_slice(&(self.current.len_bytes as u32).to_le_bytes());
        self.write(RecordKind::Begin, &[&payload])?;
        Ok(())
    }

    /// Sets the flag that tells whether to use little disk space. The log follows its later
    /// changes.
    ///
    /// # Errors
    /// A segment that was kept for reuse cannot be removed.
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

/// Creates the file of segment `number`, from a spare one where that is long enough.
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
    // Its length must be as durable as its name: a segment that is too short is taken for damage.
    file.sync()?;
    env.sync_folder(folder)?;
    let sync = file.sync_handle();
    Ok(Segment { number, file, sync, len_bytes: bytes, offset: 0 })
}

/// The rest of a payload that is being divided into records.
struct Parts<'a> {
    parts: &'a [&'a [u8]],
    /// Bytes of the first part that were taken already.
    skip: usize,
    left: usize,
}

impl<'a> Parts<'a> {
    /// Takes the next `bytes` of the payload, or all that is left.
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
