//! Finds changes since a snapshot, for the validation of commits.

use super::{SuperVersion, exactly};
use crate::error::Result;
use crate::table::{Fill, RangeTombstone};
use base::mark::{Mark, hit};
use base::{KeyRange, KeyRef, Kind, SeqNo};

impl SuperVersion {
    /// Whether a write of `key` by a transaction that read at `since` conflicts with a version that
    /// is newer. Two merges never conflict; anything else does, range tombstones included.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn conflicts(&self, key: KeyRef<'_>, since: SeqNo, kind: Kind) -> Result<bool> {
        let clashes = |newer: u8| kind != Kind::Merge || newer != Kind::Merge as u8;
        if self.is_deleted_since(since, |tombstone| tombstone.range.contains(key)) {
            hit(Mark::ConflictWithRange);
            return Ok(true);
        }
        for memtable in self.memtables().filter(|memtable| memtable.seq_max() > since) {
            let mut entry = memtable.first_version(key);
            while let Some(version) = entry.filter(|version| version.seq() > since) {
                if clashes(version.kind()) {
                    if kind == Kind::Merge || version.kind() == Kind::Merge as u8 {
                        hit(Mark::ConflictWithMerge);
                    }
                    return Ok(true);
                }
                entry = version.next_older();
            }
        }
        for run in self.runs.iter().filter(|run| run.seq_max > since) {
            let mut found = run.find(key, SeqNo::MAX)?;
            while let Some(version) = found {
                if version.block.seq(version.row) <= since {
                    break;
                }
                if clashes(version.block.kind(version.row)) {
                    return Ok(true);
                }
                found = version.older(run)?;
            }
        }
        Ok(false)
    }

    /// Whether a range tombstone newer than `since` meets a condition.
    fn is_deleted_since(&self, since: SeqNo, meets: impl Fn(&RangeTombstone) -> bool) -> bool {
        let newer = |tombstone: &RangeTombstone| tombstone.seq > since && meets(tombstone);
        self.tombstones.iter().any(newer)
            || (self.active.has_range_tombstones()
                && self.active.range_tombstones().iter().any(newer))
    }

    /// Whether any version or range tombstone within `range` is newer than `since`.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn changed_in(&self, range: &KeyRange, since: SeqNo) -> Result<bool> {
        if range.is_empty() {
            return Ok(false); // also where a range tombstone lies around it
        }
        let reaches = |tombstone: &RangeTombstone| {
            let over = &tombstone.range;
            !over.is_empty()
                && over.upper.as_ref().is_none_or(|upper| *upper > range.lower)
                && range.upper.as_ref().is_none_or(|upper| over.lower < *upper)
        };
        if self.is_deleted_since(since, reaches) {
            return Ok(true);
        }
        for memtable in self.memtables().filter(|memtable| memtable.seq_max() > since) {
            let mut cursor = memtable.cursor(range.lower.as_ref());
            while let Some(entry) = cursor.entry() {
                let key = entry.key();
                if range.upper.as_ref().is_some_and(|upper| key.as_ref() >= upper.as_ref()) {
                    break;
                }
                if entry.seq() > since {
                    return Ok(true);
                }
                cursor.advance();
            }
        }
        for run in self.runs.iter().filter(|run| run.seq_max > since) {
            for table in run.tables_in(range, SeqNo::MAX) {
                if table.meta().seq_max() <= since {
                    continue;
                }
                for block in table.blocks_overlapping(range) {
                    let block = table.head(block, Fill::Once)?;
                    if block.seq_max() > since
                        && block.rows_in(range).any(|row| block.seq(row) > since)
                    {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Whether `key` has a version newer than `since`, of any kind.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn changed(&self, key: KeyRef<'_>, since: SeqNo) -> Result<bool> {
        self.changed_in(&exactly(key), since)
    }
}
