//! Which tables make up a tree: levels of sorted runs, immutable once built.
//!
//! # Invariants
//! 1. Tables of one run never overlap and are in key order. (The upper bound of a range tombstone,
//!    which lies outside it, may be the first key of the next table.)
//! 2. A key's versions in an upper level (smaller number) are newer than in every deeper one; in
//!    level 0 the runs are newest first.
//! 3. Levels 1 and deeper hold one run each.
//! 4. A version never changes: an edit makes a new one, and readers of the old one keep its tables
//!    alive.

use crate::error::{Error, Result};
use crate::table::{Table, TableMeta};
use base::{KeyRange, KeyRef, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Opens a table that an edit names.
pub type OpenTable<'a> = dyn FnMut(&TableMeta) -> Result<Arc<Table>> + 'a;

/// Number of the deepest level.
pub const LEVEL_MAX: usize = 6;

/// Tables in key order that do not overlap.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The tables.
    pub tables: Vec<Arc<Table>>,
}

/// All tables of a tree at one moment.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// Level 0: runs newest first, each with the number that orders it (larger is newer).
    pub level0: Vec<(u64, Run)>,
    /// Levels 1 to [`LEVEL_MAX`], index 0 being level 1.
    pub levels: Vec<Run>,
}

/// A change of one tree's tables, as the manifest records it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeEdit {
    /// Tables that join: level (0 with the run's number, which is larger than all before).
    pub added: Vec<AddedTable>,
    /// Tables that leave.
    pub removed: Vec<TableId>,
}

/// A table and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedTable {
    /// 0 to [`LEVEL_MAX`].
    pub level: u8,
    /// Run number within level 0 (larger is newer); 0 in deeper levels.
    pub run: u64,
    /// The table.
    pub meta: TableMeta,
}

impl Run {
    /// The one table that can hold versions of `key` or a range tombstone over it.
    #[must_use]
    pub fn find(&self, key: KeyRef<'_>) -> Option<&Arc<Table>> {
        // Searches by first keys: the last key of the table before may be this very key, as the
        // upper bound of a range tombstone that does not include it.
        let behind = self.tables.partition_point(|table| first_key(table) <= key);
        let table = self.tables.get(behind.checked_sub(1)?)?;
        (key <= last_key(table)).then_some(table)
    }

    /// Tables that can hold keys of `range`.
    #[must_use]
    pub fn overlapping(&self, range: &KeyRange) -> &[Arc<Table>] {
        let start = self.tables.partition_point(|table| last_key(table) < range.lower.as_ref());
        let end = match &range.upper {
            Some(upper) => self.tables.partition_point(|table| first_key(table) < upper.as_ref()),
            None => self.tables.len(),
        };
        self.tables.get(start..end).unwrap_or(&[])
    }

    /// Whether a table can hold keys from `first` to `last`, both inclusive.
    #[must_use]
    pub fn overlaps(&self, first: KeyRef<'_>, last: KeyRef<'_>) -> bool {
        let start = self.tables.partition_point(|table| last_key(table) < first);
        self.tables.get(start).is_some_and(|table| first_key(table) <= last)
    }

    /// Bytes of its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.meta().summary.bytes).sum()
    }

    /// Takes tables in any order.
    ///
    /// # Errors
    /// The pair that overlaps, in words.
    fn from_tables(mut tables: Vec<Arc<Table>>) -> std::result::Result<Self, String> {
        tables.sort_by(|a, b| first_key(a).cmp(&first_key(b)));
        for pair in tables.windows(2) {
            let (before, after) = (last_key(&pair[0]), first_key(&pair[1]));
            let touches = before == after && pair[0].meta().summary.range_tombstones > 0;
            if before >= after && !touches {
                let (a, b) = (pair[0].meta().id, pair[1].meta().id);
                return Err(format!("tables {a} and {b} of one run overlap"));
            }
        }
        Ok(Self { tables })
    }
}

impl Version {
    /// No tables.
    #[must_use]
    pub fn empty() -> Self {
        Self { level0: Vec::new(), levels: vec![Run::default(); LEVEL_MAX] }
    }

    /// The version after `edit`. Tables that joined are opened by `open`; those that only moved are
    /// taken over.
    ///
    /// # Errors
    /// The errors of `open`. `Invalid` if the edit removes a table that is not there, adds one that
    /// is, or would break an invariant.
    pub fn apply(&self, edit: &TreeEdit, open: &mut OpenTable<'_>) -> Result<Self> {
        let mut removed: BTreeSet<TableId> = BTreeSet::new();
        if let Some(twice) = edit.removed.iter().find(|&&id| !removed.insert(id)) {
            return Err(Error::Invalid(format!("table {twice} is removed twice")));
        }
        // Level and run, the newest run of level 0 first.
        let mut runs: BTreeMap<(usize, std::cmp::Reverse<u64>), Vec<Arc<Table>>> = BTreeMap::new();
        let mut left: BTreeMap<TableId, Arc<Table>> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for (level, run, table) in self.tables() {
            let id = table.meta().id;
            if removed.remove(&id) {
                left.insert(id, table.clone());
            } else {
                ids.insert(id);
                runs.entry((level, std::cmp::Reverse(run))).or_default().push(table.clone());
            }
        }
        if let Some(missing) = removed.first() {
            return Err(Error::Invalid(format!("table {missing} is removed and not there")));
        }
        for AddedTable { level, run, meta } in &edit.added {
            let level = usize::from(*level);
            if level > LEVEL_MAX || !ids.insert(meta.id) {
                return Err(Error::Invalid(format!("table {} cannot join level {level}", meta.id)));
            }
            let table = match left.get(&meta.id) {
                Some(table) if table.meta() == meta => table.clone(),
                _ => open(meta)?,
            };
            let run = if level == 0 { *run } else { 0 };
            runs.entry((level, std::cmp::Reverse(run))).or_default().push(table);
        }
        let mut version = Self::empty();
        for ((level, run), tables) in runs {
            let tables = Run::from_tables(tables).map_err(Error::Invalid)?;
            match level.checked_sub(1) {
                None => version.level0.push((run.0, tables)),
                Some(index) => version.levels[index] = tables,
            }
        }
        Ok(version)
    }

    /// Every table with its level and, in level 0, its run's number.
    pub fn tables(&self) -> impl Iterator<Item = (usize, u64, &Arc<Table>)> {
        let level0 = self.level0.iter().flat_map(|(number, run)| {
            let number = *number;
            run.tables.iter().map(move |table| (0, number, table))
        });
        let deeper = self
            .levels
            .iter()
            .enumerate()
            .flat_map(|(index, run)| run.tables.iter().map(move |table| (index + 1, 0, table)));
        level0.chain(deeper)
    }

    /// Whether there is no table at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables().next().is_none()
    }

    /// Bytes of the files of a level.
    #[must_use]
    pub fn level_bytes(&self, level: usize) -> u64 {
        match level.checked_sub(1) {
            None => self.level0.iter().map(|(_, run)| run.bytes()).sum(),
            Some(index) => self.levels.get(index).map_or(0, Run::bytes),
        }
    }

    /// Whether keys from `first` to `last`, both inclusive, may be in a level deeper than `level`.
    #[must_use]
    pub fn overlaps_below(&self, level: usize, first: KeyRef<'_>, last: KeyRef<'_>) -> bool {
        self.runs_below(level).any(|run| run.overlaps(first, last))
    }

    /// All runs, newest first.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.level0.iter().map(|(_, run)| run).chain(&self.levels)
    }

    /// The runs of levels deeper than `level`.
    pub(crate) fn runs_below(&self, level: usize) -> impl Iterator<Item = &Run> {
        self.levels.iter().skip(level)
    }

    /// Smallest and largest key of all tables.
    #[must_use]
    pub fn hull(&self) -> Option<(KeyRef<'_>, KeyRef<'_>)> {
        let first = self.tables().map(|(_, _, table)| first_key(table)).min()?;
        let last = self.tables().map(|(_, _, table)| last_key(table)).max()?;
        Some((first, last))
    }

    /// A number for the next run of level 0: larger than all there are.
    #[must_use]
    pub fn next_run(&self) -> u64 {
        self.level0.first().map_or(1, |(number, _)| number + 1)
    }
}

pub(crate) fn first_key(table: &Table) -> KeyRef<'_> {
    table.meta().summary.first_key.as_ref()
}

pub(crate) fn last_key(table: &Table) -> KeyRef<'_> {
    table.meta().summary.last_key.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::below::Below;
    use crate::context::{Context, TreeOptions};
    use crate::rows::Rows;
    use crate::run_writer::RunWriter;
    use crate::table::{BlockCache, RangeTombstone};
    use base::{ColumnShape, Key, KeyShape, SeqNo, Shape};
    use env::{Env, MemoryEnv};

    struct Tables {
        context: Arc<Context>,
        shape: Shape,
    }

    impl Tables {
        fn new() -> Self {
            let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
            env.create_folder("/t".as_ref()).unwrap();
            let cache = Arc::new(BlockCache::new(1 << 20));
            let folders = vec!["/t".into()];
            let context =
                Context::new(env, cache, folders, TreeOptions::default(), false, base::TableId(1));
            let values = vec![ColumnShape::Word { merge: None }];
            Self { context: Arc::new(context), shape: Shape { key: KeyShape::Words(1), values } }
        }

        /// A table of the two keys. If `open_end`, its last key is `last` as the bound of a
        /// tombstone.
        fn table(&self, first: u64, last: u64, open_end: bool) -> TableMeta {
            let mut writer = RunWriter::new(&self.context, &self.shape, false, SeqNo::ZERO);
            let mut rows = Rows::new(&self.shape);
            if open_end {
                let range =
                    KeyRange { lower: Key::words(&[first]), upper: Some(Key::words(&[last])) };
                writer.set_range_tombstones(vec![RangeTombstone { range, seq: SeqNo(3) }]);
            }
            for key in [first, last].into_iter().take(2 - usize::from(open_end)) {
                rows.keys.push(KeyRef::Words(&[key]));
                rows.values[0].push_null();
            }
            writer.add(&rows, 0..rows.len()).unwrap();
            writer.finish().unwrap().remove(0)
        }

        fn apply(
            &self,
            version: &Version,
            added: &[(u8, u64, &TableMeta)],
            removed: &[&TableMeta],
        ) -> Result<Version> {
            let added = added.iter().map(|&(level, run, meta)| AddedTable {
                level,
                run,
                meta: meta.clone(),
            });
            let removed = removed.iter().map(|meta| meta.id).collect();
            let edit = TreeEdit { added: added.collect(), removed };
            version.apply(&edit, &mut |meta| Table::open(&self.context, meta, &self.shape))
        }
    }

    #[test]
    fn a_stretch_says_of_all_its_keys_whether_a_table_can_hold_them() {
        let tables = Tables::new();
        let metas: Vec<TableMeta> =
            [(10, 20), (30, 31), (15, 17), (25, 25), (12, 40), (3, 4), (50, 60)]
                .iter()
                .map(|&(first, last)| tables.table(first, last, false))
                .collect();
        let places = [(0, 2), (0, 2), (0, 1), (0, 1), (1, 0), (2, 0), (2, 0)];
        let added: Vec<_> =
            places.iter().zip(&metas).map(|(&(level, run), meta)| (level, run, meta)).collect();
        let version = tables.apply(&Version::default(), &added, &[]).unwrap();
        let all: Below<'_> = version.runs().collect();
        let deeper: Below<'_> = version.runs_below(1).collect();
        let range = |key: u64| KeyRange::prefix_words(&[key]);
        for key in 0..70 {
            let here = all.stretch_at(KeyRef::Words(&[key]));
            let below = deeper.stretch_at(KeyRef::Words(&[key]));
            assert!(here.holds(KeyRef::Words(&[key])) && below.holds(KeyRef::Words(&[key])));
            for other in 0..70 {
                if here.holds(KeyRef::Words(&[other])) {
                    assert_eq!(here.is_gap, all.holds_none_of(&range(other)), "{key} {other}");
                }
                if below.holds(KeyRef::Words(&[other])) {
                    let is_gap = deeper.holds_none_of(&range(other));
                    assert_eq!(below.is_gap, is_gap, "{key} {other}");
                }
            }
        }
        let gap = deeper.stretch_at(KeyRef::Words(&[30]));
        assert!(gap.is_gap && gap.holds(KeyRef::Words(&[5])) && gap.holds(KeyRef::Words(&[49])));
    }

    #[test]
    fn an_edit_that_breaks_an_invariant_is_refused() {
        let t = Tables::new();
        let (a, b, c) = (t.table(1, 5, false), t.table(5, 9, false), t.table(10, 20, false));
        let version = t.apply(&Version::empty(), &[(2, 0, &a)], &[]).unwrap();
        assert!(t.apply(&version, &[(2, 0, &b)], &[]).is_err(), "5 is in both");
        assert!(t.apply(&version, &[(2, 0, &a)], &[]).is_err(), "there already");
        assert!(t.apply(&version, &[(7, 0, &c)], &[]).is_err(), "no such level");
        assert!(t.apply(&version, &[], &[&b]).is_err(), "not there");
        assert!(t.apply(&version, &[], &[&a, &a]).is_err(), "twice");
        assert!(t.apply(&version, &[(2, 0, &c), (3, 0, &b)], &[]).is_ok());
    }

    #[test]
    fn runs_of_level_0_are_newest_first_and_may_overlap() {
        let t = Tables::new();
        let (a, b) = (t.table(1, 5, false), t.table(2, 9, false));
        let version = t.apply(&Version::empty(), &[(0, 1, &a), (0, 2, &b)], &[]).unwrap();
        let numbers: Vec<u64> = version.level0.iter().map(|(number, _)| *number).collect();
        assert_eq!((numbers, version.next_run()), (vec![2, 1], 3));
        assert!(t.apply(&Version::empty(), &[(0, 1, &a), (0, 1, &b)], &[]).is_err(), "one run");
    }

    #[test]
    fn a_moved_table_is_not_opened_again() {
        let t = Tables::new();
        let a = t.table(1, 5, false);
        let version = t.apply(&Version::empty(), &[(0, 1, &a)], &[]).unwrap();
        let added = vec![AddedTable { level: 6, run: 0, meta: a.clone() }];
        let edit = TreeEdit { added, removed: vec![a.id] };
        let moved = version.apply(&edit, &mut |_| panic!("opened")).unwrap();
        assert_eq!((moved.level0.len(), moved.levels[5].tables.len()), (0, 1));
    }

    #[test]
    fn a_key_is_found_in_one_table_although_tombstones_touch() {
        let t = Tables::new();
        // Rows 1 and deletes up to 5, which the next table holds as a row.
        let (a, b) = (t.table(1, 5, true), t.table(5, 9, false));
        assert_eq!(a.summary.last_key, b.summary.first_key);
        let version = t.apply(&Version::empty(), &[(6, 0, &a), (6, 0, &b)], &[]).unwrap();
        let run = &version.levels[5];
        let find = |key: u64| run.find(KeyRef::Words(&[key])).map(|table| table.meta().id);
        assert_eq!([0, 1, 4].map(find), [None, Some(a.id), Some(a.id)]);
        assert_eq!([5, 7, 9, 10].map(find), [Some(b.id), Some(b.id), Some(b.id), None]);
        let overlapping = |lower: u64, upper: u64| {
            let (lower, upper) = (Key::words(&[lower]), Some(Key::words(&[upper])));
            run.overlapping(&KeyRange { lower, upper }).len()
        };
        assert_eq!(overlapping(0, 1), 0);
        assert_eq!(overlapping(0, 5), 1);
        assert_eq!(overlapping(4, 6), 2);
        assert_eq!(overlapping(10, 99), 0);
        let below = |level: usize| version.runs_below(level).collect::<Below<'_>>();
        assert!(!below(5).holds_none_of(&KeyRange::all_words()));
        assert!(below(6).holds_none_of(&KeyRange::all_words()));
    }
}
