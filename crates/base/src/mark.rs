//! Marks at rare branches, so that a test can show that it reached them.
//!
//! # Why
//! A random test that never stalls a writer proves nothing about stalled writers, and nobody
//! notices. Each mark stands at a branch that is far from the test that should reach it; the
//! simulator prints which were hit, and a test asserts it.
//!
//! # Invariants
//! 1. Without the feature `marks`, [`hit`] is empty: the compiler removes it.
//! 2. Counts are the process's, of all threads together.

macro_rules! marks {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A rare branch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum Mark {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mark {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

marks! {
    /// A writer waited until a sealed generation was in tables.
    WriterStalled,
    /// A writer was slowed because it outran the flush of a sealed generation.
    WriterPaced,
    /// Scans had passed so much of memtables and level 0 that these were flushed and merged.
    FlushedForScans,
    /// A writer was slowed because level 0 is deep.
    WriterSlowed,
    /// A flush found that a commit had sealed a generation meanwhile.
    SealedMeanwhile,
    /// A commit found the log synced by another's sync.
    SyncShared,
    /// The newest state was read again, since a compaction had outrun the number first read.
    LatestReadAgain,
    /// Recovery ended the log at a commit that a crash had cut short.
    TornTail,
    /// Recovery left out a commit to a keyspace that was dropped since.
    ReplayWithoutKeyspace,
    /// Recovery sealed what it had replayed.
    ReplayFlushed,
    /// A segment of the log was used again.
    SegmentRecycled,
    /// A payload was cut over two segments.
    PayloadCut,
    /// Recovery removed segments that lead nowhere.
    SegmentsGivenUp,
    /// The opening removed tables that the manifest does not name.
    StrayTable,
    /// The manifest began a new file.
    ManifestRotated,
    /// The opening cut an edit off that a crash had left half written.
    ManifestTail,
    /// The opening began a new manifest, because what it found was not acknowledged as durable.
    ManifestRewritten,
    /// The opening wrote records of the log anew, because nothing told that they were durable.
    LogRewritten,
    /// After a failed sync the database was opened again on the running machine; then the power
    /// went.
    ReopenedThenCut,
    /// A follower read something again because the writer had moved on.
    FollowerBeganAgain,
    /// A follower met a commit to a keyspace that it does not know yet.
    FollowerAhead,
    /// A compaction found nothing to do.
    CompactionFoundNothing,
    /// A compaction ended after its keyspace was dropped.
    CompactedDropped,
    /// A tombstone ended at the bottom.
    TombstoneDropped,
    /// A compaction kept several versions of a key for snapshots.
    VersionsKept,
    /// A compaction folded a merge.
    MergeFolded,
    /// A compaction kept two versions of a key because no word holds their sum.
    SumKeptApart,
    /// A range tombstone hid a row in a compaction.
    RangeHidRow,
    /// A range tombstone ended at the bottom.
    RangeTombstoneDropped,
    /// A transaction that merges lost against a commit that does not, or the other way round.
    ConflictWithMerge,
    /// A transaction lost against a range that was deleted.
    ConflictWithRange,
    /// A serializable transaction lost because of what it read.
    ConflictOfRead,
    /// A bulk load went to the bottom of an empty tree.
    BulkAtBottom,
    /// A bulk load went on top of other tables.
    BulkOnTop,
    /// A bulk load went to the bottom between other tables.
    BulkBeside,
    /// A file waited for its last reader.
    ObsoleteWaits,
    /// A backup has a table as a link to the database's.
    BackupLinked,
    /// A backup has a table from an earlier one.
    BackupReused,
    /// A backup found that a table of the earlier one is not as it was.
    BackupEarlierUnsound,
    /// A backup copied a table because it has no name of its own any more, or never had.
    BackupCopied,
    /// A backup failed, and was cleared away.
    BackupClearedAway,
    /// A folder was refused as a backup that did not finish.
    BackupUnfinished,
    /// A restore replaced a database.
    RestoreReplaced,
    /// A restore that was cut short was carried to its end: the new database came to its place.
    RestoreCarriedOn,
    /// A restore that was cut short was undone: the old database came back to its place.
    RestoreUndone,
    /// An opening found what a restore that was cut short had left.
    RestoreFound,
}

#[cfg(feature = "marks")]
mod counted {
    use super::Mark;
    use std::sync::atomic::{AtomicU64, Ordering};

    static COUNTS: [AtomicU64; Mark::ALL.len()] = [const { AtomicU64::new(0) }; Mark::ALL.len()];

    /// The branch was reached. Without the feature `marks`: nothing.
    #[inline]
    pub fn hit(mark: Mark) {
        COUNTS[mark as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often the branch was reached by this process. Without the feature `marks`: 0.
    #[must_use]
    pub fn hits(mark: Mark) -> u64 {
        COUNTS[mark as usize].load(Ordering::Relaxed)
    }
}

#[cfg(not(feature = "marks"))]
mod counted {
    use super::Mark;

    /// The branch was reached. Without the feature `marks`: nothing.
    #[inline(always)]
    pub const fn hit(_: Mark) {}

    /// How often the branch was reached by this process. Without the feature `marks`: 0.
    #[inline(always)]
    #[must_use]
    pub const fn hits(_: Mark) -> u64 {
        0
    }
}

pub use counted::{hit, hits};
