//! The storage trait: keyspaces, snapshots, transactions; column batches in, column batches out.
//!
//! # Why batches
//! A call carries columns, so that one virtual call serves one key or a million, and an engine can
//! sort, filter and read blocks for all of them at once. A single look-up is the batch of one: the
//! caller owns and reuses the [`Batch`] that rows are appended to, so nothing is allocated for it.
//!
//! # Invariants every engine keeps
//! 1. A reader sees one moment: all keyspaces as of one sequence number.
//! 2. A write batch is atomic across keyspaces, on disk and to readers.
//! 3. Two merges of one key never conflict; a merge and a plain write do.
//! 4. After the first failed write or sync every write fails with [`ErrorKind::Poisoned`].

mod check;
mod error;
mod write;

pub use check::{CheckFailed, CheckReport, PROBLEMS_MAX};
pub use error::{Error, ErrorKind, Result};
pub use write::{Kinds, TableWrites, WriteBatch};

use base::{Batch, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo, Shape};
use std::sync::Arc;

/// What an acknowledged commit survives.
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

/// What a transaction is checked against when it commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// First committer wins on the rows written.
    #[default]
    Snapshot,
    /// Also fails when a row or range that was read has changed.
    Serializable,
}

/// About how much a range holds: see [`Read::estimate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Rows.
    pub rows: u64,
    /// Bytes that their blocks and memtable entries take, as stored.
    pub bytes: u64,
}

/// A keyspace as the catalog of the engine knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyspaceInfo {
    /// Its id.
    pub id: KeyspaceId,
    /// Its name, unique among live keyspaces.
    pub name: String,
    /// Its columns.
    pub shape: Shape,
    /// What the layer above says of it (a schema, say); opaque here, kept with the keyspace.
    pub definition: Vec<u8>,
}

/// A keyspace to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKeyspace {
    /// Its name, unique among live keyspaces.
    pub name: String,
    /// Its columns.
    pub shape: Shape,
    /// Kept and handed back as it is.
    pub definition: Vec<u8>,
}

/// What a keyspace is to be called, and what is kept about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyspaceChange {
    /// Which.
    pub id: KeyspaceId,
    /// Its name from now on, unique among live keyspaces.
    pub name: String,
    /// Kept and handed back as it is.
    pub definition: Vec<u8>,
}

/// Reading as of one moment. Rows come in key order unless a method says otherwise.
///
/// Methods append to batches that the caller made with [`Batch::new`] for the keyspace's shape.
///
/// # Errors
/// All methods: [`ErrorKind::Corruption`] and I/O failures; an unknown keyspace is
/// [`ErrorKind::InvalidInput`].
pub trait Read: Send + Sync {
    /// Appends the row of `key` and returns true, or returns false.
    fn get(
        &self,
        keyspace: KeyspaceId,
        key: KeyRef<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool>;

    /// Appends one row for each key in the given order: its values, or fillers without validity
    /// where it is absent; `present` is extended by one flag a key. Key columns of `out` stay
    /// empty.
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

    /// Appends the first rows of the range: up to `limit`, and fewer where their byte strings take
    /// about `bytes_max` (one row at least). Whether there may be more.
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

    /// Appends up to `limit` rows of the range, the last first.
    fn scan_back_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()>;

    /// Appends all rows whose first key word is `first_words[i]`, for each in the given order;
    /// `offsets` is extended by `first_words.len() + 1` entries relative to the first appended row.
    fn prefix_many(
        &self,
        keyspace: KeyspaceId,
        first_words: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()>;

    /// A stream over a range, for results that should not be in memory whole.
    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: KeyRange,
        projection: Projection,
    ) -> Result<Box<dyn Scan>>;

    /// Exact number of rows. Costs what was written since the last full compaction, not the size.
    fn count(&self, keyspace: KeyspaceId) -> Result<u64>;

    /// About how many rows and stored bytes a range holds, told from fences and counts in memory;
    /// no block of rows is read. Where all rows of the range are in one run of tables, which a
    /// compaction leaves, the rows are wrong by at most half of those in the two blocks that the
    /// range's ends fall into; else a key counts once in each run and memtable that has it, and
    /// what a memtable holds of a range may be three times too few or too many. No read that a
    /// serializable transaction is checked for.
    fn estimate(&self, keyspace: KeyspaceId, range: &KeyRange) -> Result<Estimate>;

    /// No more rows than so many begin with one word, as far as that is told without a look at
    /// rows; of byte-string keys as many as there may be rows at all. An engine that does not know
    /// says [`u64::MAX`], as here.
    ///
    /// # Errors
    /// No such keyspace.
    fn first_word_rows_max(&self, keyspace: KeyspaceId) -> Result<u64> {
        let _ = keyspace;
        Ok(u64::MAX)
    }

    /// Appends `n` rows drawn uniformly, with replacement, in the order drawn; none only where the
    /// keyspace is empty. `random` gives uniform words.
    ///
    /// Costs some block reads a row, more where most of what is stored is older versions or
    /// deletes.
    fn sample_into(
        &self,
        keyspace: KeyspaceId,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()>;

    /// Hands the distinct first key words to `visit`, ascending, in slices.
    fn first_words(&self, keyspace: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()>;
}

/// A stream of row batches in key order. Holds its snapshot until dropped.
pub trait Scan: Send {
    /// Appends about `rows_max` rows, fewer where their byte strings are long: an engine that
    /// stores them stops at about a megabyte. False when the range is exhausted and nothing was
    /// appended.
    ///
    /// # Errors
    /// Corruption or a failed read.
    fn next_batch(&mut self, rows_max: usize, out: &mut Batch) -> Result<bool>;
}

/// A moment held: what it sees is kept until it is dropped.
pub trait Snapshot: Read {
    /// The moment.
    fn seq(&self) -> SeqNo;

    /// Since when the keyspace has stood as it is read here: of two snapshots of one store, both
    /// taken since it was opened, that answer the same, the rows are the same. At most
    /// [`Snapshot::seq`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where there is no such keyspace.
    fn changed_at(&self, keyspace: KeyspaceId) -> Result<SeqNo>;

    /// The distinct first key words of all rows that differ from what they were at an earlier
    /// answer of [`Snapshot::changed_at`], ascending, and perhaps some that do not; `None` where
    /// that is not known: where it is too long ago, too much, or where keys are no words. Nothing
    /// is known before the first question, and of keyspaces that nobody has asked about for long.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where there is no such keyspace.
    fn changed_since(&self, keyspace: KeyspaceId, since: SeqNo) -> Result<Option<Vec<u64>>>;
}

/// A moment within a transaction: what [`Transaction::savepoint`] gave, in its engine's own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub u64);

/// A transaction: reads its snapshot overlaid with its own writes; nothing is visible to others
/// before [`Transaction::commit`]. Dropping it rolls back.
pub trait Transaction: Read {
    /// The snapshot's moment.
    fn seq(&self) -> SeqNo;

    /// Adds writes to the transaction. A later write of one key replaces the earlier, except that a
    /// merge combines with it.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] where the transaction would outgrow its memory; nothing of the batch is written then.
    fn write(&self, batch: &WriteBatch) -> Result<()>;

    /// The transaction's writes as they are now, for [`Transaction::roll_back_to`]. It costs
    /// nothing.
    fn savepoint(&self) -> Savepoint;

    /// Undoes what was written, by whichever thread, since `savepoint`, which is this
    /// transaction's; savepoints that are later say nothing any more. What was read stays read.
    /// Where another thread had written any of it, the transaction does not commit any more.
    fn roll_back_to(&self, savepoint: Savepoint);

    /// Makes all writes visible at once.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`]: another commit won, nothing was written, retry with a new snapshot.
    fn commit(self: Box<Self>) -> Result<SeqNo>;

    /// Whether a commit would be without effect and without a check: nothing was written, and
    /// nothing read that must not have changed. May be false where it is not known, as here.
    fn is_idle(&self) -> bool {
        false
    }
}

/// Writes tables beside the log and the memtable, then makes all of them visible at once.
/// Dropping it without [`BulkLoad::commit`] leaves the database as it was.
pub trait BulkLoad: Send {
    /// Writes one keyspace's rows. Partitions are in key order and do not overlap; they are drained
    /// in parallel on the environment's workers. May be called once for each keyspace.
    ///
    /// # Errors
    /// Failures of the sources (handed through), full disk, cancellation.
    fn write(
        &mut self,
        keyspace: KeyspaceId,
        partitions: Vec<Box<dyn SortedRows>>,
    ) -> Result<BulkWritten>;

    /// One manifest edit makes every written table visible; durable when it returns, whatever the
    /// durability of commits.
    ///
    /// # Errors
    /// As a commit; nothing is visible then.
    fn commit(self: Box<Self>) -> Result<SeqNo>;
}

/// What a bulk load wrote of one keyspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkWritten {
    /// Rows.
    pub rows: u64,
    /// Bytes of the finished tables.
    pub bytes: u64,
}

/// Rows in strictly ascending key order.
pub trait SortedRows: Send {
    /// Appends some thousand rows; false at the end.
    ///
    /// # Errors
    /// Whatever stops the load.
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool>;
}

/// What is known of a keyspace's storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyspaceStats {
    /// Bytes of its files.
    pub disk_bytes: u64,
    /// Row versions in its files.
    pub disk_rows: u64,
    /// Bytes of its memtables.
    pub memory_bytes: u64,
    /// Files a level, from the top.
    pub tables_per_level: Vec<u64>,
}

/// Bytes that an engine wrote since it was opened: by `flushed + loaded` this is its write
/// amplification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenBytes {
    /// To the log.
    pub log: u64,
    /// Tables of what was committed.
    pub flushed: u64,
    /// Tables of bulk loads.
    pub loaded: u64,
    /// Tables that merges wrote anew.
    pub merged: u64,
}

/// What is known of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Each keyspace by id.
    pub keyspaces: Vec<(KeyspaceInfo, KeyspaceStats)>,
    /// Bytes of the write-ahead log's live segments.
    pub log_bytes: u64,
    /// Bytes written since the store was opened.
    pub written: WrittenBytes,
    /// Bytes of blocks, indexes and filters in memory.
    pub cache_bytes: u64,
    /// Newest commit.
    pub seq: SeqNo,
}

/// Told how far a long operation is: done, total (same unit), and asked whether to go on: `false`
/// stops it.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) -> bool + Send + Sync);

/// A store of keyspaces. It belongs to the process that opened it: in a child of a `fork`, which
/// has a copy of it, every call of it and of what was made by it is [`ErrorKind::Forked`] or
/// without effect, takes no lock and touches no file.
///
/// Itself a reader of the newest state: each call sees the latest commit.
pub trait Store: Read {
    /// To be asked before a lock of a layer above is taken: a thread that is not in this process
    /// may hold it. It costs a load.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`] where the store was opened in another process.
    fn check_process(&self) -> Result<()> {
        Ok(())
    }

    /// Creates keyspaces in one step, as durable as a commit; names must be new.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where a name is taken.
    fn create_keyspaces(&self, new: &[NewKeyspace]) -> Result<Vec<KeyspaceId>>;

    /// As [`Store::create_keyspaces`], and drops others in the same step.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where a name is taken, or one is not there that is to be
    /// dropped.
    fn replace_keyspaces(
        &self,
        new: &[NewKeyspace],
        dropped: &[KeyspaceId],
    ) -> Result<Vec<KeyspaceId>> {
        let made = self.create_keyspaces(new)?;
        self.drop_keyspaces(dropped)?;
        Ok(made)
    }

    /// Drops keyspaces in one step, durably and at once; snapshots that still read them keep their
    /// files.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where one is not there.
    fn drop_keyspaces(&self, ids: &[KeyspaceId]) -> Result<()>;

    /// Gives keyspaces other names and definitions and drops others, in one step, durably; names
    /// must be unique afterwards. So one keyspace can take the place of another.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where one is not there, or a name is taken.
    fn change_keyspaces(&self, changes: &[KeyspaceChange], dropped: &[KeyspaceId]) -> Result<()>;

    /// All keyspaces, by id.
    fn keyspaces(&self) -> Vec<KeyspaceInfo>;

    /// The one of this name. Cheap, however many there are.
    fn keyspace_named(&self, name: &str) -> Option<KeyspaceInfo> {
        self.keyspaces_named(&|known| known == name).pop()
    }

    /// Those whose names begin so. Cheap, however many others there are.
    fn keyspaces_starting(&self, prefix: &str) -> Vec<KeyspaceInfo> {
        self.keyspaces_named(&|known| known.starts_with(prefix))
    }

    /// Those whose names are wanted, by id. Where there are many, cheaper than to ask for all.
    fn keyspaces_named(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<KeyspaceInfo> {
        let mut infos = self.keyspaces();
        infos.retain(|info| wanted(&info.name));
        infos
    }

    /// Holds the present moment.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// Begins a transaction.
    fn begin(&self, isolation: Isolation) -> Box<dyn Transaction>;

    /// Commits a batch without a snapshot: it cannot conflict, the newest write wins.
    ///
    /// With `existed`, one flag is pushed for every row of the batch in order (of tables in the
    /// batch's order): whether the key was there just before this commit. Deletes of absent keys
    /// then write nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] where the batch would take more memory than a transaction's writes may, and nothing of it is written then.
    /// Poisoned, read-only, or the failed write that poisons.
    fn write(&self, batch: &WriteBatch, existed: Option<&mut Vec<bool>>) -> Result<SeqNo>;

    /// As [`Store::write`], but under [`Durability::Sync`] it may return before a sync: then the
    /// batch is durable, and there for readers, with the next commit that is synced, or a flush.
    /// For what counts only once a later commit refers to it.
    ///
    /// # Errors
    /// As [`Store::write`].
    fn write_unsynced(&self, batch: &WriteBatch) -> Result<SeqNo> {
        self.write(batch, None)
    }

    /// Returns once a commit would not have to wait for memtables to be flushed, which takes tenths
    /// of a second: for whoever holds a lock while it commits, and does not hold it here. Promises
    /// nothing, for others commit too.
    ///
    /// # Errors
    /// Poisoned.
    fn wait_for_room(&self) -> Result<()> {
        Ok(())
    }

    /// Whether [`Store::wait_for_room`] would return at once.
    fn has_room(&self) -> bool {
        true
    }

    /// Whether a commit now would wait for nobody, not even a moment. Promises nothing, for others
    /// commit too.
    fn commits_at_once(&self) -> bool {
        self.has_room()
    }

    /// Begins a bulk load.
    ///
    /// # Errors
    /// Poisoned or read-only.
    fn begin_bulk(&self) -> Result<Box<dyn BulkLoad>>;

    /// Moves all memtables into tables; durable when it returns.
    ///
    /// # Errors
    /// Failed writes poison.
    fn flush(&self) -> Result<()>;

    /// Makes durable what is committed, whatever the durability of commits: before an edit that
    /// must not overtake it.
    ///
    /// # Errors
    /// As [`Store::flush`].
    fn settle(&self) -> Result<()> {
        self.flush()
    }

    /// Merges every keyspace into one run at the bottom.
    ///
    /// # Errors
    /// Failed writes poison.
    fn compact(&self) -> Result<()> {
        self.compact_while(&|| true)
    }

    /// The same as long as `go_on` says so, which is asked every few thousand rows of a merge.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] where it did not: keyspaces that were merged by then are. Failed writes poison.
    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()>;

    /// Takes `bytes` of the cache's budget until the returned value is dropped: blocks go, filters
    /// and indexes stay. A store without a cache lends nothing.
    fn lend_cache(&self, bytes: u64) -> Box<dyn Send> {
        let _ = bytes;
        Box::new(())
    }

    /// Figures of the store.
    fn stats(&self) -> StoreStats;

    /// Reads every file, verifies every checksum and the order of all rows.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`], after all was read, with everything found: its cause is a
    /// [`CheckFailed`]. A failed read of the machine or [`ErrorKind::Cancelled`] ends it at once.
    fn check(&self, progress: Progress<'_>) -> Result<CheckReport>;

    /// For a read-only follower: moves on to what the writer has committed since. Elsewhere
    /// nothing.
    ///
    /// # Errors
    /// Files that vanished for good, or corruption.
    fn refresh(&self) -> Result<()>;

    /// Whether it was opened without the right to write.
    fn is_read_only(&self) -> bool;

    /// Fails once it was closed, for calls that would otherwise answer without a read. A store that
    /// is never closed says nothing, as here.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: it is closed.
    fn check_open(&self) -> Result<()> {
        Ok(())
    }

    /// Whether a file at `path`, an absolute path, would lie among the store's own files, where
    /// nobody else may write.
    fn holds(&self, path: &std::path::Path) -> bool {
        let _ = path;
        false
    }

    /// Flushes what the durability asks for, waits for jobs, gives the folder free. Also done on
    /// drop. In a child of a `fork` it does nothing.
    ///
    /// # Errors
    /// A failed flush.
    fn close(&self) -> Result<()>;
}
