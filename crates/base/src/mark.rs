//! Coverage marks: counters at rare branches, so that a test can prove that it reached them.
//!
//! # Why
//! A random test that never stalls a writer says nothing about stalled writers, and nobody notices.
//! Each mark is at a branch that is far from the test that should reach it. The simulator prints
//! the marks that were hit, and a test asserts them.
//!
//! # Invariants
//! 1. Without the feature `marks`, [`hit`] is empty and the compiler removes it.
//! 2. Counts are global to the process, over all threads.

macro_rules! marks {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A rare branch that tests must reach.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum Mark {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mark {
            /// All marks, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

marks! {
    /// A writer waited until sealed memtables were flushed.
    WriterStalled,
    /// A writer was slowed because it outran the flush of sealed memtables.
    WriterPaced,
    /// Memtables and level 0 were flushed and merged because of scan debt.
    FlushedForScans,
    /// A writer was slowed because level 0 had too many runs.
    WriterSlowed,
    /// A flush found that a commit had sealed the memtables meanwhile.
    SealedMeanwhile,
    /// A commit found the log already synced by another commit's sync.
    SyncShared,
    /// A read of the newest state started again, since a compaction had overtaken its sequence
    /// number.
    LatestReadAgain,
    /// Recovery ended the log at a commit that a crash had torn.
    TornTail,
    /// Recovery skipped a commit to a keyspace that was dropped later.
    ReplayWithoutKeyspace,
    /// Recovery sealed the memtables that it had replayed.
    ReplayFlushed,
    /// A segment of the log was recycled.
    SegmentRecycled,
    /// A payload was split over two segments.
    PayloadCut,
    /// Recovery removed segments that were not part of the log.
    SegmentsGivenUp,
    /// Opening removed tables that the manifest does not contain.
    StrayTable,
    /// The manifest started a new file.
    ManifestRotated,
    /// Opening truncated a manifest edit that a crash had torn.
    ManifestTail,
    /// Opening started a new manifest, because the old one was not known to be durable.
    ManifestRewritten,
    /// Opening wrote log records again, because they were not known to be durable.
    LogRewritten,
    /// After a failed sync the database was reopened on the running machine; then the power failed.
    ReopenedThenCut,
    /// A follower started over because the writer had moved on.
    FollowerBeganAgain,
    /// A follower read a commit to a keyspace that it does not know yet.
    FollowerAhead,
    /// A compaction had nothing to do.
    CompactionFoundNothing,
    /// A compaction ended after its keyspace was dropped.
    CompactedDropped,
    /// A tombstone was dropped at the bottom.
    TombstoneDropped,
    /// A compaction kept several versions of a key for snapshots.
    VersionsKept,
    /// A compaction combined the operands of a merge.
    MergeFolded,
    /// A compaction kept two versions of a key because their sum does not fit in a word.
    SumKeptApart,
    /// A range tombstone hid a row in a compaction.
    RangeHidRow,
    /// A range tombstone was dropped at the bottom.
    RangeTombstoneDropped,
    /// A merge conflicted with a put or delete of another transaction, or the other way round.
    ConflictWithMerge,
    /// A transaction conflicted with a range deletion.
    ConflictWithRange,
    /// A serializable transaction conflicted because of a read.
    ConflictOfRead,
    /// A bulk load went to the bottom of an empty tree.
    BulkAtBottom,
    /// A bulk load went to a run above other tables.
    BulkOnTop,
    /// A bulk load went to the bottom between other tables.
    BulkBeside,
    /// An obsolete file waited for its last reader.
    ObsoleteWaits,
    /// A backup hard-linked a table of the database.
    BackupLinked,
    /// A backup reused a table of an earlier backup.
    BackupReused,
    /// A backup found that a table of the earlier backup was damaged or changed.
    BackupEarlierUnsound,
    /// A backup copied a table because its file had no name that could be linked.
    BackupCopied,
    /// A backup failed and was removed.
    BackupClearedAway,
    /// A folder was refused because its backup did not finish.
    BackupUnfinished,
    /// A restore replaced a database.
    RestoreReplaced,
    /// An interrupted restore was completed: the new database moved into place.
    RestoreCarriedOn,
    /// An interrupted restore was undone: the old database moved back.
    RestoreUndone,
    /// Opening found the remains of an interrupted restore.
    RestoreFound,
}

#[cfg(feature = "marks")]
mod counted {
    use crate::mark::Mark;
    use std::sync::atomic::{AtomicU64, Ordering};

    static COUNTS: [AtomicU64; Mark::ALL.len()] = [const { AtomicU64::new(0) }; Mark::ALL.len()];

    /// Counts one visit of the branch. Does nothing without the feature `marks`.
    #[inline]
    pub fn hit(mark: Mark) {
        COUNTS[mark as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Number of visits by this process. Always 0 without the feature `marks`.
    #[must_use]
    pub fn hits(mark: Mark) -> u64 {
        COUNTS[mark as usize].load(Ordering::Relaxed)
    }
}

#[cfg(not(feature = "marks"))]
mod counted {
    use crate::mark::Mark;

    /// Counts one visit of the branch. Does nothing without the feature `marks`.
    #[inline(always)]
    pub const fn hit(_: Mark) {}

    /// Number of visits by this process. Always 0 without the feature `marks`.
    #[inline(always)]
    #[must_use]
    pub const fn hits(_: Mark) -> u64 {
        0
    }
}

pub use counted::{hit, hits};
