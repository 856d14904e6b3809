//! The key ranges of the running compaction, so that bulk loads keep their tables out of them.
//!
//! # Why
//! A compaction's output may span the gaps between its inputs. A table that a bulk load put into
//! such a gap meanwhile would overlap with the output, in a level whose tables must not overlap.
//!
//! # Invariants
//! 1. A compaction is chosen and announced while `merging` is held. A bulk load holds it from its
//!    check of the announcement to its installation. So either the compaction's choice saw the
//!    load's tables, or the load saw the compaction.
//! 2. An announcement stays until the compaction is installed or has failed.

use crate::trees::Entry;
use base::{Key, KeyspaceId};
use env::sync::Mutex;
use lsm::compaction::Choice;
use lsm::table::TableMeta;

/// Key range of a compaction: from the first key of its inputs to the last.
#[derive(Debug)]
pub(crate) struct Merging {
    keyspace: KeyspaceId,
    first: Key,
    last: Key,
}

impl Merging {
    /// Whether none of these tables can overlap with the compaction's outputs.
    pub(crate) fn is_apart(&self, keyspace: KeyspaceId, tables: &[TableMeta]) -> bool {
        let apart = |table: &TableMeta| {
            table.summary.last_key < self.first || self.last < table.summary.first_key
        };
        keyspace != self.keyspace || tables.iter().all(apart)
    }
}

/// A chosen compaction; its announcement ends when this is dropped.
pub(crate) struct Announced<'a> {
    pub(crate) choice: Choice,
    all: &'a Mutex<Vec<Merging>>,
    keyspace: KeyspaceId,
}

/// Chooses a compaction and announces it in `all`; `None` where nothing is due. The caller holds
/// `compacting`, and announces one for each tree.
pub(crate) fn announce<'a>(
    all: &'a Mutex<Vec<Merging>>,
    entry: &Entry,
    choose: impl FnOnce() -> Choice,
) -> Option<Announced<'a>> {
    let mut merging = all.lock();
    let choice = choose();
    let (first, last) = entry.tree.span_of(&choice)?;
    let keyspace = entry.info.id;
    merging.push(Merging { keyspace, first, last });
    drop(merging);
    Some(Announced { choice, all, keyspace })
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.all.lock().retain(|merging| merging.keyspace != self.keyspace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::SeqNo;
    use lsm::table::TableSummary;

    fn table(first: u64, last: u64) -> TableMeta {
        let summary = TableSummary {
            bytes: 1,
            rows: 1,
            deletes: 0,
            merges: 0,
            repeats: 0,
            first_words: 1,
            first_key: Key::words(&[first]),
            last_key: Key::words(&[last]),
            seq_min: SeqNo::ZERO,
            seq_max: SeqNo::ZERO,
            range_tombstones: 0,
            fingerprint: 0,
        };
        let summary = summary.into();
        TableMeta {
            id: base::TableId(1),
            folder: 0,
            global_seq: SeqNo::ZERO,
            shared: None,
            summary,
        }
    }

    #[test]
    fn a_load_is_apart_from_a_merge_only_if_all_its_tables_are() {
        let merging =
            Merging { keyspace: KeyspaceId(3), first: Key::words(&[10]), last: Key::words(&[20]) };
        let apart = |keyspace, tables: &[TableMeta]| merging.is_apart(KeyspaceId(keyspace), tables);
        assert!(apart(3, &[table(1, 9), table(21, 30)]));
        assert!(!apart(3, &[table(1, 9), table(12, 13)]), "in a gap of the merge");
        assert!(
            !apart(3, &[table(1, 10)]) && !apart(3, &[table(20, 20)]) && !apart(3, &[table(1, 90)])
        );
        assert!(apart(4, &[table(12, 13)]), "another keyspace");
    }
}
