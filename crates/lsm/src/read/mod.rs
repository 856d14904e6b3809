//! Reading a tree: memtables over runs of tables, at a snapshot, optionally under a transaction's
//! writes.
//!
//! # Why fast paths are decided per call
//! Most reads find nothing in the memtables and one bottom run. Then columns are copied from the
//! block to the caller's batch with no work per row. Checking whether a call may take that path
//! costs a few loads and a filter. Every other call takes one merge that is always correct.
//!
//! # Invariants
//! 1. For a key, versions are taken newest first: overlay, active, sealed, level 0, deeper levels;
//!    those newer than the snapshot are skipped; the first put or delete decides; merges before it
//!    combine (`fold`).
//! 2. A row older than a range tombstone that the snapshot sees is deleted by it.
//! 3. A table whose global number is newer than the snapshot is not read at all.

mod back;
mod columns;
mod conflict;
mod count;
mod cursor;
mod estimate;
mod fold;
mod get;
mod layers;
mod many;
mod merge;
mod merge_order;
mod own_effect;
mod prefix;
mod row_locations;
mod runs;
mod sample;
mod scan;
mod source;
pub(crate) mod thresholds;

pub use cursor::Cursor;
pub use estimate::Estimate;
pub use merge::VersionMerger;
pub use scan::Most;
pub use source::{MemSource, RowSource, RunSource};
pub use thresholds::ReadThresholds;

use crate::memtable::Memtable;
use crate::table::RangeTombstone;
use crate::version::{Run, Version};
use base::{KeyRange, KeyRef, SeqNo, Shape};
use env::sync::atomic::{AtomicU64, Ordering};
use runs::RunView;
use std::sync::Arc;

/// Everything a reader of a tree needs, immutable except for the active memtable.
#[derive(Debug)]
pub struct SuperVersion {
    /// Takes the writes.
    pub active: Arc<Memtable>,
    /// Full memtables that are not yet in tables, newest first.
    pub sealed: Vec<Arc<Memtable>>,
    /// The tables.
    pub version: Arc<Version>,
    /// Snapshots older than this may miss versions that compaction dropped.
    pub oldest_readable: SeqNo,
    /// Runs that hold tables, newest first.
    runs: Vec<RunView>,
    /// How many of them lie in level 0.
    level0_runs: usize,
    /// Range tombstones of sealed memtables and tables.
    tombstones: Vec<RangeTombstone>,
    /// See [`SuperVersion::scan_debt`].
    scan_debt: Arc<AtomicU64>,
    scan_debt_due: AtomicU64,
    thresholds: ReadThresholds,
}

/// Whose eyes a read has.
#[derive(Clone, Copy, Debug)]
pub struct ReadAt<'a> {
    /// Versions with a larger sequence number are not seen.
    pub snapshot: SeqNo,
    /// A transaction's own writes: all seen, and newer than everything else.
    pub overlay: Option<&'a Memtable>,
}

impl<'a> ReadAt<'a> {
    /// Without a transaction's writes.
    #[must_use]
    pub fn snapshot(snapshot: SeqNo) -> Self {
        Self { snapshot, overlay: None }
    }

    fn own(&self) -> Option<&'a Memtable> {
        self.overlay.filter(|overlay| !overlay.is_empty())
    }
}

impl SuperVersion {
    /// A view of these memtables and tables, all of one shape.
    #[must_use]
    pub fn new(
        active: Arc<Memtable>,
        sealed: Vec<Arc<Memtable>>,
        version: Arc<Version>,
        oldest_readable: SeqNo,
        thresholds: ReadThresholds,
    ) -> Self {
        let level0 = version.level0.iter().map(|(_, run)| run);
        let view = |run: &Run| (!run.tables.is_empty()).then(|| RunView::new(run));
        let mut runs: Vec<RunView> = level0.filter_map(view).collect();
        let level0_runs = runs.len();
        runs.extend(version.levels.iter().filter_map(view));
        let mut tombstones: Vec<RangeTombstone> = Vec::new();
        for memtable in sealed.iter().filter(|memtable| memtable.has_range_tombstones()) {
            tombstones.extend(memtable.range_tombstones().iter().cloned());
        }
        for table in runs.iter().flat_map(|run| &run.tables) {
            let global = table.meta().global_seq;
            tombstones.extend(table.range_tombstones().iter().cloned().map(|mut tombstone| {
                tombstone.seq = tombstone.seq.max(global);
                tombstone
            }));
        }
        let (scan_debt, scan_debt_due) = Default::default();
        Self {
            active,
            sealed,
            version,
            oldest_readable,
            runs,
            level0_runs,
            tombstones,
            scan_debt,
            scan_debt_due,
            thresholds,
        }
    }

    /// Rows of memtables and of level 0 that long scans of this view have merged, counted once per
    /// scan, without those already spent. A flush and a compaction of level 0 would have saved this
    /// work.
    #[must_use]
    pub fn scan_debt(&self) -> u64 {
        self.scan_debt.load(Ordering::Relaxed)
    }

    /// Resets the scan debt to 0.
    pub fn reset_scan_debt(&self) {
        self.scan_debt.store(0, Ordering::Relaxed);
    }

    /// From this scan debt on a compaction is considered again, as last computed; 0 at first.
    #[must_use]
    pub fn scan_debt_due(&self) -> u64 {
        self.scan_debt_due.load(Ordering::Relaxed)
    }

    /// Sets [`SuperVersion::scan_debt_due`].
    pub fn set_scan_debt_due(&self, rows: u64) {
        self.scan_debt_due.store(rows, Ordering::Relaxed);
    }

    /// Versions of rows in memtables and in all runs but the deepest.
    pub(crate) fn rows_above(&self) -> u64 {
        let runs = self.runs.split_last().map_or(&[][..], |(_, above)| above);
        self.memtables().map(|memtable| memtable.rows()).sum::<u64>()
            + runs.iter().map(|run| run.rows).sum::<u64>()
    }

    /// Upper bound of the rows that share a first word, from metadata alone. The number of all rows
    /// if keys are byte strings.
    #[must_use]
    pub fn first_word_rows_max(&self, at: ReadAt<'_>) -> u64 {
        let own = at.own().map_or(0, Memtable::rows);
        let in_memory = self.memtables().map(|memtable| memtable.rows()).sum::<u64>();
        own + in_memory + self.runs.iter().map(|run| run.first_word_rows_max).sum::<u64>()
    }

    /// The shape of the rows.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.active.shape()
    }

    /// Memtables that hold rows, newest first, without an overlay.
    #[inline]
    fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(&self.sealed).filter(|memtable| memtable.rows() > 0)
    }

    /// Whether a reader has to mind range tombstones at all.
    #[inline]
    fn has_tombstones(&self, at: ReadAt<'_>) -> bool {
        !self.tombstones.is_empty()
            || self.active.has_range_tombstones()
            || at.overlay.is_some_and(Memtable::has_range_tombstones)
    }

    /// The range tombstones that reach into `range` and that the reader sees. A transaction's own
    /// read as number [`SeqNo::MAX`]: they hide everything but its own rows.
    fn covers(&self, at: ReadAt<'_>, range: &KeyRange) -> Covers {
        let mut covers = Vec::new();
        if !self.has_tombstones(at) {
            return Covers(covers);
        }
        let reaches = |t: &RangeTombstone| {
            !t.range.is_empty()
                && t.range.upper.as_ref().is_none_or(|upper| *upper > range.lower)
                && range.upper.as_ref().is_none_or(|upper| t.range.lower < *upper)
        };
        if let Some(overlay) = at.overlay.filter(|overlay| overlay.has_range_tombstones()) {
            let own = overlay.range_tombstones();
            let own = own.iter().filter(|t| reaches(t)).cloned();
            covers.extend(own.map(|tombstone| RangeTombstone { seq: SeqNo::MAX, ..tombstone }));
        }
        let seen = |t: &&RangeTombstone| t.seq <= at.snapshot && reaches(t);
        if self.active.has_range_tombstones() {
            covers.extend(self.active.range_tombstones().iter().filter(seen).cloned());
        }
        covers.extend(self.tombstones.iter().filter(seen).cloned());
        Covers(covers)
    }
}

impl SuperVersion {
    /// As [`Covers::over`], of one key, at the cost of a look at each tombstone.
    fn cover_over(&self, key: KeyRef<'_>, at: ReadAt<'_>) -> SeqNo {
        let newest = |tombstones: &[RangeTombstone]| {
            let over = tombstones.iter().filter(|t| t.seq <= at.snapshot && t.range.contains(key));
            over.map(|tombstone| tombstone.seq).max().unwrap_or(SeqNo::ZERO)
        };
        if let Some(overlay) = at.overlay.filter(|overlay| overlay.has_range_tombstones())
            && overlay.range_tombstones().iter().any(|tombstone| tombstone.range.contains(key))
        {
            return SeqNo::MAX;
        }
        let active = match self.active.has_range_tombstones() {
            true => newest(&self.active.range_tombstones()),
            false => SeqNo::ZERO,
        };
        active.max(newest(&self.tombstones))
    }
}

/// Range tombstones that a read has to mind.
#[derive(Debug, Default)]
struct Covers(Vec<RangeTombstone>);

impl Covers {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Rows of this key with a smaller number are deleted; 0 where no tombstone lies over it.
    fn over(&self, key: KeyRef<'_>) -> SeqNo {
        let over = self.0.iter().filter(|tombstone| tombstone.range.contains(key));
        over.map(|tombstone| tombstone.seq).max().unwrap_or(SeqNo::ZERO)
    }
}

/// The range of exactly one key.
fn exactly(key: KeyRef<'_>) -> KeyRange {
    match key {
        KeyRef::Words(words) => KeyRange::prefix_words(words),
        KeyRef::Bytes(bytes) => {
            let upper = [bytes, &[0]].concat();
            KeyRange { lower: base::Key::bytes(bytes), upper: Some(base::Key::Bytes(upper)) }
        }
    }
}

#[cfg(test)]
mod cold_tests;
#[cfg(test)]
mod tests;
