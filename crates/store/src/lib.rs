//! The storage trait: keyspaces, snapshots and transactions. Reads and writes move batches of
//! columns.
//!
//! `kv` and `ordered` implement the trait, and `testkit` has a simple model for tests. `relation`,
//! `views`, `exec` and `session` use it.
//!
//! # Why batches
//! One virtual call serves one key or a million, because a call passes columns. The engine can
//! sort, filter and read blocks for all keys at once. A point lookup is a batch of one: the caller
//! owns and reuses the [`Batch`] that rows are appended to, so a lookup allocates nothing.
//!
//! # Invariants of every engine
//! 1. A reader sees one snapshot: all keyspaces as of one sequence number.
//! 2. A write batch is atomic across keyspaces, on disk and to readers.
//! 3. Two merges of one key never conflict; a merge and a plain write do.
//! 4. After the first failed write or sync every write fails with [`ErrorKind::Poisoned`].
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `error`, `write`, `check`: types that the traits in this file use.

mod check;
mod error;
mod write;

pub use check::{CheckFailed, CheckReport, PROBLEMS_MAX};
pub use error::{Error, ErrorKind, Result};
pub use write::{Kinds, TableWrites, WriteBatch};

use base::{Batch, BlockFilter, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo, Shape};
use std::sync::Arc;

/// The failures that an acknowledged commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// After the commit returns, a power cut loses nothing.
    #[default]
    Sync,
    /// A killed process loses nothing; a power cut may lose the newest commits, whole ones.
    Os,
    /// Commits since the last flush are lost with the process.
    None,
}

/// The check of a transaction at commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// The first committer wins on the rows written.
    #[default]
    Snapshot,
    /// Also fails if a row or a range that the transaction read has changed since its snapshot.
    Serializable,
}

/// Estimated contents of a key range, from [`Read::estimate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Estimated number of rows.
    pub rows: u64,
    /// Bytes of their blocks (as stored) and of their memtable entries.
    pub bytes: u64,
}

/// A keyspace in the engine's catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyspaceInfo {
    /// Unique within a database, never reused.
    pub id: KeyspaceId,
    /// Unique among live keyspaces.
    pub name: String,
    /// Key and value columns.
    pub shape: Shape,
    /// Bytes of the layer above, such as an encoded schema. The engine stores and returns them
    /// without reading them.
    pub definition: Vec<u8>,
}

/// A keyspace to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKeyspace {
    /// Must be unique among live keyspaces.
    pub name: String,
    /// Key and value columns.
    pub shape: Shape,
    /// See [`KeyspaceInfo::definition`].
    pub definition: Vec<u8>,
}

/// A new name and a new definition for a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyspaceChange {
    /// The keyspace to change.
    pub id: KeyspaceId,
    /// Its new name, unique among live keyspaces after the change.
    pub name: String,
    /// Replaces [`KeyspaceInfo::definition`].
    pub definition: Vec<u8>,
}

/// Reads at one snapshot. Rows come in key order unless a method says otherwise.
///
/// Methods append to batches that the caller made with [`Batch::new`] for the keyspace's shape.
///
/// # Errors
/// Every method returns [`ErrorKind::Corruption`] for damaged files, the error of a failed read,
/// and [`ErrorKind::InvalidInput`] for an unknown keyspace.
pub trait Read: Send + Sync {
    /// Appends the row of `key` and returns true; returns false if the key is absent.
    fn get(
        &self,
        keyspace: KeyspaceId,
        key: KeyRef<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool>;

    /// Appends one row for each key, in the given order: the values of the key, or fillers marked
    /// invalid if it is absent. Pushes one flag for each key to `present`. The key columns of `out`
    /// stay empty.
    fn get_many(
        &self,
        keyspace: KeyspaceId,
        keys: &Keys,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()>;

    /// Appends up to `limit` rows of the range.
    fn scan_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()>;

    /// Appends the first rows of the range: up to `limit`, or fewer once their byte strings take
    /// about `bytes_max` (at least one row). Returns whether there may be more rows.
    fn scan_some_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        bytes_max: usize,
        out: &mut Batch,
    ) -> Result<bool> {
        let _ = bytes_max;
        let before = out.rows;
        self.scan_into(keyspace, range, projection, limit, out)?;
        Ok(out.rows - before >= limit)
    }

    /// Appends up to `limit` rows of the range, in descending key order.
    fn scan_back_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()>;

    /// Appends all rows whose first key word is `first_words[i]`, for each `i` in order. Pushes
    /// `first_words.len() + 1` entries to `offsets`, relative to the first appended row.
    fn prefix_many(
        &self,
        keyspace: KeyspaceId,
        first_words: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()>;

    /// Streams a range, for results that may not fit in memory.
    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: KeyRange,
        projection: Projection,
    ) -> Result<Box<dyn Scan>>;

    /// As [`Read::scan`], where rows that the filter excludes are not wanted. An engine may leave
    /// them out, or return them. The default returns them.
    fn scan_filtered(
        &self,
        keyspace: KeyspaceId,
        range: KeyRange,
        projection: Projection,
        filter: &Arc<BlockFilter>,
    ) -> Result<Box<dyn Scan>> {
        let _ = filter;
        self.scan(keyspace, range, projection)
    }

    /// Exact number of rows. The cost grows with the writes since the last full compaction, not
    /// with the number of rows.
    fn count(&self, keyspace: KeyspaceId) -> Result<u64>;

    /// Estimates the rows and stored bytes of a range from table metadata and memtables, without
    /// reading row blocks.
    ///
    /// If one run holds all rows of the range (as after a full compaction), the row count is off
    /// by at most half of the rows in the two blocks at the ends of the range. Otherwise a key
    /// counts once in each run and memtable that holds it, and the count in a memtable may be up
    /// to three times too low or too high. A serializable transaction does not validate this read.
    fn estimate(&self, keyspace: KeyspaceId, range: &KeyRange) -> Result<Estimate>;

    /// Upper bound of the rows that share a first key word, from metadata alone. For byte-string
    /// keys it is an upper bound of all rows. The default, for engines without such metadata, is
    /// [`u64::MAX`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there is no such keyspace.
    fn first_word_rows_max(&self, keyspace: KeyspaceId) -> Result<u64> {
        let _ = keyspace;
        Ok(u64::MAX)
    }

    /// Appends `n` rows drawn uniformly with replacement, in the order drawn; no rows only if the
    /// keyspace is empty. `random` returns uniformly distributed words.
    ///
    /// Each row costs a few block reads, more if most stored versions are old or deleted.
    fn sample_into(
        &self,
        keyspace: KeyspaceId,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()>;

    /// Passes the distinct first key words to `visit`, in ascending order, a slice at a time.
    fn first_words(&self, keyspace: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()>;
}

/// A stream of row batches in key order. It holds its snapshot until it is dropped.
pub trait Scan: Send {
    /// Appends about `rows_max` rows, or fewer if their byte strings are long: an engine may stop
    /// at about a megabyte. Returns false at the end of the range, with nothing appended.
    ///
    /// # Errors
    /// Corruption or a failed read.
    fn next_batch(&mut self, rows_max: usize, out: &mut Batch) -> Result<bool>;
}

/// A snapshot. The row versions that it sees are kept until it is dropped.
pub trait Snapshot: Read {
    /// Sequence number of the newest commit that it sees.
    fn seq(&self) -> SeqNo;

    /// Sequence number of the last change to the keyspace that this snapshot sees, at most
    /// [`Snapshot::seq`]. If two snapshots of one open store return the same number, their rows
    /// are equal. The number may be too large if newer commits hide the last change.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there is no such keyspace.
    fn changed_at(&self, keyspace: KeyspaceId) -> Result<SeqNo>;

    /// First key words of the rows that changed after `since`, an earlier result of
    /// [`Snapshot::changed_at`]. They are distinct and ascending, and may include words whose rows
    /// did not change.
    ///
    /// Returns `None` if the engine does not know: `since` is too old, too much has changed, or
    /// keys are byte strings. The engine starts to track a keyspace at the first call and may stop
    /// if no call follows for a long time.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there is no such keyspace.
    fn changed_since(&self, keyspace: KeyspaceId, since: SeqNo) -> Result<Option<Vec<u64>>>;
}

/// A position within a transaction, from [`Transaction::savepoint`]. Its number has a meaning only
/// to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub u64);

/// A transaction. It reads its snapshot with its own writes on top; others see its writes only
/// after [`Transaction::commit`]. Dropping it rolls it back.
pub trait Transaction: Read {
    /// Sequence number of its snapshot.
    fn seq(&self) -> SeqNo;

    /// Adds writes to the transaction. A later write of a key replaces the earlier one; a merge
    /// combines with it.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the transaction would exceed its memory limit; then nothing of the
    /// batch is written.
    fn write(&self, batch: &WriteBatch) -> Result<()>;

    /// Marks the current writes, for [`Transaction::roll_back_to`]. Costs no copy.
    fn savepoint(&self) -> Savepoint;

    /// Undoes all writes since `savepoint`, of any thread. `savepoint` must come from this
    /// transaction; later savepoints become invalid. Reads are still validated at commit. If
    /// another thread made one of the undone writes, the transaction can no longer commit.
    fn roll_back_to(&self, savepoint: Savepoint);

    /// Makes all writes visible in one step.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`]: another commit won and nothing was written. Retry with a new
    /// snapshot.
    fn commit(self: Box<Self>) -> Result<SeqNo>;

    /// Whether a commit would do nothing: the transaction has no writes, and no reads to
    /// validate. The default, for engines that do not know, is false.
    fn is_idle(&self) -> bool {
        false
    }
}

/// Writes SSTables directly, without the log or the memtable, then makes all of them visible in one
/// step. Dropping it without [`BulkLoad::commit`] leaves the database as it was.
pub trait BulkLoad: Send {
    /// Writes the rows of one keyspace. Partitions must be in key order and must not overlap; the
    /// environment's workers read them in parallel. Call it at most once for each keyspace.
    ///
    /// # Errors
    /// An error of a source (returned unchanged), a full disk, or cancellation.
    fn write(
        &mut self,
        keyspace: KeyspaceId,
        partitions: Vec<Box<dyn SortedRows>>,
    ) -> Result<BulkWritten>;

    /// Makes all written tables visible with one manifest edit. They are durable when it returns,
    /// independent of the durability of commits.
    ///
    /// # Errors
    /// As for a commit; then nothing becomes visible.
    fn commit(self: Box<Self>) -> Result<SeqNo>;
}

/// Amount that a bulk load wrote to one keyspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkWritten {
    /// Number of rows.
    pub rows: u64,
    /// Bytes of the finished tables.
    pub bytes: u64,
}

/// Rows in strictly ascending key order.
pub trait SortedRows: Send {
    /// Appends a few thousand rows; returns false at the end.
    ///
    /// # Errors
    /// Any error stops the load.
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool>;
}

/// Storage figures of a keyspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyspaceStats {
    /// Bytes of its files.
    pub disk_bytes: u64,
    /// Row versions in its files.
    pub disk_rows: u64,
    /// Bytes of its memtables.
    pub memory_bytes: u64,
    /// Number of files by level, from level 0.
    pub tables_per_level: Vec<u64>,
}

/// Bytes that an engine has written since it was opened. Their sum divided by `flushed + loaded` is
/// the write amplification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenBytes {
    /// To the write-ahead log.
    pub log: u64,
    /// Tables flushed from memtables.
    pub flushed: u64,
    /// Tables of bulk loads.
    pub loaded: u64,
    /// Tables written by compactions.
    pub merged: u64,
}

/// Counters of a store's work since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Flushes of memtables.
    pub flushes: u64,
    /// Compactions.
    pub compactions: u64,
    /// Commits that had to wait for a flush.
    pub stalls: u64,
    /// How long they waited, in microseconds.
    pub stalled_us: u64,
    /// Blocks that were read because they were not in the cache. Hits are not counted.
    pub cache_misses: u64,
    /// Why compaction stopped, if it did. Reads and writes continue.
    pub compaction_error: Option<String>,
}

/// Storage figures of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// All keyspaces, ordered by id.
    pub keyspaces: Vec<(KeyspaceInfo, KeyspaceStats)>,
    /// Bytes of the write-ahead log's live segments.
    pub log_bytes: u64,
    /// Bytes written since the store was opened.
    pub written: WrittenBytes,
    /// Bytes of blocks, indexes and filters in memory.
    pub cache_bytes: u64,
    /// Background jobs and waits since the store was opened.
    pub activity: Activity,
    /// Sequence number of the newest commit.
    pub seq: SeqNo,
}

/// Called with the progress of a long operation: done and total, in one unit. Returning `false`
/// stops the operation.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) -> bool + Send + Sync);

/// A store of keyspaces. Reading from it directly sees the latest commit at each call.
///
/// A store belongs to the process that opened it. In a child of a `fork`, calls of the store and of
/// the objects made from it return [`ErrorKind::Forked`] or do nothing; they take no lock and touch
/// no file.
pub trait Store: Read {
    /// Call it before you take a lock of a higher layer: after a `fork`, a thread that does not
    /// exist in this process may hold that lock. It costs one atomic load.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`] if another process opened the store.
    fn check_process(&self) -> Result<()> {
        Ok(())
    }

    /// Creates keyspaces in one step, as durable as a commit.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if a name is taken.
    fn create_keyspaces(&self, new: &[NewKeyspace]) -> Result<Vec<KeyspaceId>>;

    /// Creates keyspaces and drops others. An engine may do both in one step; the default does
    /// not.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if a name is taken, or a dropped keyspace does not exist.
    fn replace_keyspaces(
        &self,
        new: &[NewKeyspace],
        dropped: &[KeyspaceId],
    ) -> Result<Vec<KeyspaceId>> {
        let made = self.create_keyspaces(new)?;
        self.drop_keyspaces(dropped)?;
        Ok(made)
    }

    /// Drops keyspaces in one durable step. Snapshots that still read them keep their files.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if a keyspace does not exist.
    fn drop_keyspaces(&self, ids: &[KeyspaceId]) -> Result<()>;

    /// Renames keyspaces, replaces their definitions and drops others, in one durable step. Names
    /// must be unique afterwards, so one keyspace can replace another under its name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if a keyspace does not exist, or a name is taken.
    fn change_keyspaces(&self, changes: &[KeyspaceChange], dropped: &[KeyspaceId]) -> Result<()>;

    /// All keyspaces, ordered by id.
    fn keyspaces(&self) -> Vec<KeyspaceInfo>;

    /// The keyspace with this name. Cheap, even among many keyspaces.
    fn keyspace_named(&self, name: &str) -> Option<KeyspaceInfo> {
        self.keyspaces_named(&|known| known == name).pop()
    }

    /// Keyspaces whose names start with `prefix`. Cheap, even among many keyspaces.
    fn keyspaces_starting(&self, prefix: &str) -> Vec<KeyspaceInfo> {
        self.keyspaces_named(&|known| known.starts_with(prefix))
    }

    /// Keyspaces whose names satisfy `wanted`, ordered by id. Among many keyspaces, cheaper than
    /// to filter [`Store::keyspaces`].
    fn keyspaces_named(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<KeyspaceInfo> {
        let mut infos = self.keyspaces();
        infos.retain(|info| wanted(&info.name));
        infos
    }

    /// A number that differs after keyspaces were created, changed or dropped, in a store where
    /// other processes may do that at any time. `None`, the default, where this process alone does,
    /// or where others' changes wait for [`Store::refresh`].
    fn catalog_version(&self) -> Option<u64> {
        None
    }

    /// Takes a snapshot of the newest commit. An engine that fails to do so returns a snapshot
    /// whose reads fail with that error.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// Begins a transaction at the newest commit.
    fn begin(&self, isolation: Isolation) -> Box<dyn Transaction>;

    /// Commits a batch without a snapshot: it cannot conflict, and the newest write wins.
    ///
    /// With `existed`, one flag is pushed for each row, in the order of the batch's tables and
    /// their rows: whether the key existed just before this commit. Deletes of absent keys then
    /// write nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the batch needs more memory than the writes of a transaction may
    /// take; then nothing of it is written. [`ErrorKind::Poisoned`], [`ErrorKind::ReadOnly`], or
    /// the failed write that poisons the store.
    fn write(&self, batch: &WriteBatch, existed: Option<&mut Vec<bool>>) -> Result<SeqNo>;

    /// As [`Store::write`], but under [`Durability::Sync`] it may return before a sync. Then the
    /// batch becomes durable and visible with the next synced commit or flush. Use it for data
    /// that nothing refers to until a later commit.
    ///
    /// # Errors
    /// As [`Store::write`].
    fn write_unsynced(&self, batch: &WriteBatch) -> Result<SeqNo> {
        self.write(batch, None)
    }

    /// Waits until a commit would not have to wait for a memtable flush, which takes tenths of a
    /// second. Call it before you take a lock that you hold during the commit. It guarantees
    /// nothing, because others commit too.
    ///
    /// # Errors
    /// [`ErrorKind::Poisoned`].
    fn wait_for_room(&self) -> Result<()> {
        Ok(())
    }

    /// Whether [`Store::wait_for_room`] would return immediately.
    fn has_room(&self) -> bool {
        true
    }

    /// Whether a commit would not block now, not even on the writer's lock. It guarantees nothing,
    /// because others commit too.
    fn commit_would_not_block(&self) -> bool {
        self.has_room()
    }

    /// Begins a bulk load.
    ///
    /// # Errors
    /// [`ErrorKind::Poisoned`] or [`ErrorKind::ReadOnly`].
    fn begin_bulk(&self) -> Result<Box<dyn BulkLoad>>;

    /// Flushes all memtables to tables; all commits are durable when it returns.
    ///
    /// # Errors
    /// A failed write poisons the store.
    fn flush(&self) -> Result<()>;

    /// Makes all commits durable, independent of the durability of commits. Call it before a
    /// catalog change that must not become durable ahead of them.
    ///
    /// # Errors
    /// As [`Store::flush`].
    fn make_durable(&self) -> Result<()> {
        self.flush()
    }

    /// Compacts every keyspace into one run at the bottom level.
    ///
    /// # Errors
    /// A failed write poisons the store.
    fn compact(&self) -> Result<()> {
        self.compact_while(&|| true)
    }

    /// As [`Store::compact`], but stops when `go_on` returns false. It is called every few
    /// thousand merged rows.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] if it was stopped; keyspaces compacted until then stay compacted.
    /// A failed write poisons the store.
    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()>;

    /// Reserves `bytes` of the block cache's budget until the returned value is dropped. Blocks
    /// are evicted; filters and indexes stay. A store without a cache reserves nothing.
    fn lend_cache(&self, bytes: u64) -> Box<dyn Send> {
        let _ = bytes;
        Box::new(())
    }

    /// Storage figures of all keyspaces, the log and the cache.
    fn stats(&self) -> StoreStats;

    /// Reads every file and verifies all checksums and the order of all rows.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`], after everything was read, with all problems: its cause is a
    /// [`CheckFailed`]. A failed read or [`ErrorKind::Cancelled`] ends the check early.
    fn check(&self, progress: Progress<'_>) -> Result<CheckReport>;

    /// Moves a read-only follower to the writer's newest commits. Does nothing in a writer.
    ///
    /// # Errors
    /// Files that are permanently missing, or corruption.
    fn refresh(&self) -> Result<()>;

    /// Whether it was opened read-only.
    fn is_read_only(&self) -> bool;

    /// Fails if the store is closed. For calls that would otherwise return without a read. The
    /// default, for stores that are never closed, succeeds.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: it is closed.
    fn check_open(&self) -> Result<()> {
        Ok(())
    }

    /// Whether the absolute path `path` lies in a folder of the store, where others must not
    /// write.
    fn holds(&self, path: &std::path::Path) -> bool {
        let _ = path;
        false
    }

    /// Flushes as far as the durability requires, waits for background jobs, and unlocks the
    /// folder. Dropping the store does the same. In a child of a `fork` it does nothing.
    ///
    /// # Errors
    /// A failed flush.
    fn close(&self) -> Result<()>;
}
