//! Chooses which tables to merge.
//!
//! # Why targets grow from the deepest level up
//! With fixed targets for each level, the bytes of a one-gigabyte tree may be distributed over
//! levels 1 to 3, and a large part of each may be rows that deeper levels repeat. So the target of
//! a level is that of the next deeper level divided by `level_factor`, starting from the largest
//! level. Nine tenths of the bytes are then at the bottom, the space lost to old versions is at
//! most a ninth, and levels that would have less than `level1_bytes` stay empty. A tree that fits
//! level 1 lives at the bottom alone, so a small tree merges straight into the level where sequence
//! numbers are dropped.
//!
//! # Why choosing and merging are apart
//! Choosing is a pure function of the tables' metadata, so every branch is tested with a line of
//! text and no disk. Merging is the only half that can fail.
//!
//! # Invariants
//! 1. Inputs are closed: no key of a deeper level's data passes newer versions that stay above it.
//!    From level 0 all runs are taken; from deeper levels all tables below that overlap.
//! 2. Each choice makes progress: bytes go down, or versions that no snapshot needs are dropped. A
//!    merge that left stale rows at the bottom would leave them again: see [`super::settled`].

use crate::context::TreeOptions;
use crate::version::{LEVEL_MAX, Version};
use base::{Key, SeqNo, TableId};

/// What to do next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The tree is in order.
    #[default]
    Nothing,
    /// Give these tables another level; no byte is read or written.
    Move {
        /// Tables, which overlap neither each other nor the level they go to.
        tables: Vec<TableId>,
        /// The level they go to.
        into: usize,
    },
    /// Merge these tables into new ones.
    Merge {
        /// Tables, those of the level they go to included.
        tables: Vec<TableId>,
        /// The level the new tables go to.
        into: usize,
    },
}

/// The properties of a table that the choice of a compaction depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// Its id.
    pub id: TableId,
    /// Smallest key.
    pub first: Key,
    /// Largest key, inclusive.
    pub last: Key,
    /// Bytes of its file.
    pub bytes: u64,
    /// Row versions.
    pub rows: u64,
    /// Deletes, repeats of a key and merges among them: rows that a merge could drop or fold.
    pub stale: u64,
    /// Range tombstones.
    pub range_tombstones: u64,
    /// Largest sequence number.
    pub seq_max: SeqNo,
}

/// The properties of a version that the choice of a compaction depends on: the runs of level 0,
/// newest first, then the deeper levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Runs of level 0, newest first.
    pub level0: Vec<Vec<TableInfo>>,
    /// Levels 1 to [`LEVEL_MAX`], each in key order.
    pub deeper: Vec<Vec<TableInfo>>,
}

/// How full a level is that has all that it may hold.
pub const DUE: u64 = 1000;

/// One in this many rows may be stale before a table is merged for that alone.
const STALE_SHARE: u64 = 4;

impl Levels {
    /// The levels of `version`. Tables that `is_settled` have nothing that a merge of them alone
    /// could drop.
    #[must_use]
    pub fn of(version: &Version, is_settled: &dyn Fn(TableId) -> bool) -> Self {
        let info = |table: &std::sync::Arc<crate::table::Table>| {
            let info = TableInfo::of(table.meta());
            match info.stale > 0 && is_settled(info.id) {
                true => TableInfo { stale: 0, ..info },
                false => info,
            }
        };
        let infos = |run: &crate::version::Run| run.tables.iter().map(info).collect();
        let mut deeper: Vec<Vec<TableInfo>> = version.levels.iter().map(infos).collect();
        deeper.resize(LEVEL_MAX, Vec::new());
        Self { level0: version.level0.iter().map(|(_, run)| infos(run)).collect(), deeper }
    }

    fn level(&self, level: usize) -> &[TableInfo] {
        &self.deeper[level - 1]
    }

    fn overlapping(&self, level: usize, first: &Key, last: &Key) -> Vec<&TableInfo> {
        self.level(level).iter().filter(|t| t.first <= *last && *first <= t.last).collect()
    }

    fn overlaps_below(&self, level: usize, first: &Key, last: &Key) -> bool {
        (level + 1..=LEVEL_MAX).any(|level| !self.overlapping(level, first, last).is_empty())
    }

    /// The level that level 0 merges into, and the bytes each level may hold; index 0 is level 1.
    fn targets(&self, options: &TreeOptions) -> (usize, [u64; LEVEL_MAX]) {
        let largest = self.deeper.iter().map(|level| bytes_of(level)).max().unwrap_or(0);
        let factor = options.level_factor.max(2);
        let mut targets = [u64::MAX; LEVEL_MAX];
        let (mut base, mut bytes) = (LEVEL_MAX, largest);
        while base > 1 && bytes > options.level1_bytes {
            base -= 1;
            bytes /= factor;
            targets[base - 1] = bytes.max(options.level1_bytes / factor).max(1);
        }
        // Levels above the base are left over from a larger tree: they drain.
        targets[..base - 1].fill(0);
        (base, targets)
    }
}

impl TableInfo {
    pub(super) fn of(meta: &crate::table::TableMeta) -> Self {
        let summary = &meta.summary;
        Self {
            id: meta.id,
            first: summary.first_key.clone(),
            last: summary.last_key.clone(),
            bytes: summary.bytes,
            rows: summary.rows,
            stale: summary.deletes + summary.repeats + summary.merges,
            range_tombstones: summary.range_tombstones,
            seq_max: meta.seq_max(),
        }
    }

    fn is_stale(&self) -> bool {
        self.range_tombstones > 0 || self.stale > self.rows / STALE_SHARE
    }
}

fn bytes_of(tables: &[TableInfo]) -> u64 {
    tables.iter().map(|table| table.bytes).sum()
}

/// The most urgent step. `oldest_snapshot`: nothing older is read, so versions that it hides can be
/// dropped.
#[must_use]
pub fn choose(levels: &Levels, options: &TreeOptions, oldest_snapshot: SeqNo) -> Choice {
    let (base, targets) = levels.targets(options);
    match fullest(levels, options, &targets) {
        (DUE.., 0) => merge_level0(levels, options, base),
        (score, level) if score > DUE => push_down(levels, level),
        _ => drop_stale(levels, oldest_snapshot),
    }
}

/// How full the fullest level is, in thousandths of its target. From [`DUE`] on [`choose`] sees to
/// it, but for a deeper level that is just full.
#[must_use]
pub fn compaction_score(levels: &Levels, options: &TreeOptions) -> u64 {
    fullest(levels, options, &levels.targets(options).1).0
}

/// How full the fullest level is, in thousandths, and which it is. Level 0 first among equals:
/// readers and stalled writers wait for it.
fn fullest(levels: &Levels, options: &TreeOptions, targets: &[u64; LEVEL_MAX]) -> (u64, usize) {
    let mut best = (levels.level0.len() as u64 * DUE / options.level0_runs.max(1) as u64, 0);
    for level in 1..LEVEL_MAX {
        let bytes = bytes_of(levels.level(level));
        let score = match targets[level - 1] {
            _ if bytes == 0 => 0,
            0 => 10 * DUE,
            target => bytes.saturating_mul(DUE) / target,
        };
        if score > best.0 {
            best = (score, level);
        }
    }
    best
}

/// Level 0 into the first level that it meets, though it is not full.
#[must_use]
pub fn choose_level0(levels: &Levels, options: &TreeOptions) -> Choice {
    merge_level0(levels, options, levels.targets(options).0)
}

/// Rows that [`choose_level0`] would merge if level 0 had keys from everywhere.
#[must_use]
pub fn rows_with_level0(levels: &Levels, options: &TreeOptions) -> u64 {
    let (base, _) = levels.targets(options);
    let tables = levels.level0.iter().chain(&levels.deeper[..base]).flatten();
    tables.map(|table| table.rows).sum()
}

/// Everything into one run at the bottom, unless it is that already and nothing in it is stale.
#[must_use]
pub fn choose_all(levels: &Levels) -> Choice {
    let above = levels.level0.iter().chain(&levels.deeper[..LEVEL_MAX - 1]);
    let is_one_run = above.into_iter().all(Vec::is_empty);
    let bottom = levels.level(LEVEL_MAX);
    if is_one_run && bottom.iter().all(|t| t.stale == 0 && t.range_tombstones == 0) {
        return Choice::Nothing;
    }
    let all = levels.level0.iter().chain(&levels.deeper).flatten();
    Choice::Merge { tables: all.map(|table| table.id).collect(), into: LEVEL_MAX }
}

/// All runs of level 0 into the first level that they meet, but not above the base.
fn merge_level0(levels: &Levels, options: &TreeOptions, base: usize) -> Choice {
    let inputs: Vec<&TableInfo> = levels.level0.iter().flatten().collect();
    let first = inputs.iter().map(|table| &table.first).min();
    let last = inputs.iter().map(|table| &table.last).max();
    let (Some(first), Some(last)) = (first, last) else { return Choice::Nothing };
    // Keys between the first and the last may be in no table, but merged tables may span them.
    let met = (1..=LEVEL_MAX).find(|&level| !levels.overlapping(level, first, last).is_empty());
    let into = met.map_or(LEVEL_MAX, |met| met.min(base));
    let below = levels.overlapping(into, first, last);
    if below.is_empty() && can_move(&inputs, options) {
        return Choice::Move { tables: ids(&inputs), into };
    }
    let mut tables = ids(&inputs);
    tables.extend(ids(&below));
    Choice::Merge { tables, into }
}

/// Whether moving is as good as merging: no overlap among them, and they are of fair length.
fn can_move(inputs: &[&TableInfo], options: &TreeOptions) -> bool {
    let mut sorted = inputs.to_vec();
    sorted.sort_by(|a, b| a.first.cmp(&b.first));
    let disjoint = sorted.windows(2).all(|pair| pair[0].last < pair[1].first);
    let bytes: u64 = inputs.iter().map(|table| table.bytes).sum();
    let long = inputs.len() == 1 || bytes / inputs.len() as u64 >= options.table_bytes / 4;
    disjoint && long && !inputs.iter().any(|table| table.is_stale())
}

/// The table of `level` that costs the least work for each byte that leaves the level.
fn push_down(levels: &Levels, level: usize) -> Choice {
    let into = level + 1;
    let cost = |table: &TableInfo| {
        let below = levels.overlapping(into, &table.first, &table.last);
        let bytes: u64 = below.iter().map(|table| table.bytes).sum();
        u128::from(bytes) * 1000 / u128::from(table.bytes.max(1))
    };
    match levels.level(level).iter().min_by_key(|table| (cost(table), table.id)) {
        Some(table) => down(levels, level, table),
        None => Choice::Nothing,
    }
}

/// `table` one level down. Where nothing lies below it but it holds what could be dropped, merging
/// is worth the bytes.
fn down(levels: &Levels, level: usize, table: &TableInfo) -> Choice {
    let into = level + 1;
    let below = levels.overlapping(into, &table.first, &table.last);
    let ends = table.is_stale() && !levels.overlaps_below(into, &table.first, &table.last);
    if below.is_empty() && !ends {
        return Choice::Move { tables: vec![table.id], into };
    }
    let mut tables = vec![table.id];
    tables.extend(ids(&below));
    Choice::Merge { tables, into }
}

/// A table that is stale to a large part: down, or at the bottom by itself once no snapshot needs
/// what it hides. So space comes back without new writes to push it.
fn drop_stale(levels: &Levels, oldest_snapshot: SeqNo) -> Choice {
    for level in 1..LEVEL_MAX {
        if let Some(table) = levels.level(level).iter().find(|table| table.is_stale()) {
            return down(levels, level, table);
        }
    }
    let droppable = |t: &&TableInfo| t.is_stale() && t.seq_max <= oldest_snapshot;
    match levels.level(LEVEL_MAX).iter().find(droppable) {
        Some(table) => Choice::Merge { tables: vec![table.id], into: LEVEL_MAX },
        None => Choice::Nothing,
    }
}

fn ids(tables: &[&TableInfo]) -> Vec<TableId> {
    tables.iter().map(|table| table.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id:first-last[@kilobytes][~stale]` tables of 100 rows; levels as `0: … | 5: … | 6: …`,
    /// where each mention of level 0 is a run, newest first.
    fn levels(text: &str) -> Levels {
        let mut levels = Levels { level0: Vec::new(), deeper: vec![Vec::new(); LEVEL_MAX] };
        for line in text.split('|').map(str::trim).filter(|line| !line.is_empty()) {
            let (level, tables) = line.split_once(": ").expect("level");
            let tables = tables.split_whitespace().map(table).collect();
            match level.parse().expect("level") {
                0 => levels.level0.push(tables),
                level => levels.deeper[level - 1] = tables,
            }
        }
        levels
    }

    fn table(text: &str) -> TableInfo {
        let (text, stale) = text.split_once('~').unwrap_or((text, "0"));
        let (text, kilobytes) = text.split_once('@').unwrap_or((text, "10"));
        let (id, keys) = text.split_once(':').expect("id");
        let (first, last) = keys.split_once('-').expect("keys");
        TableInfo {
            id: TableId(id.parse().expect("id")),
            first: Key::bytes(first.as_bytes()),
            last: Key::bytes(last.as_bytes()),
            bytes: kilobytes.parse::<u64>().expect("bytes") * 1000,
            rows: 100,
            stale: stale.parse().expect("stale"),
            range_tombstones: 0,
            seq_max: SeqNo(50),
        }
    }

    fn say(choice: &Choice) -> String {
        let list = |tables: &[TableId]| {
            tables.iter().map(|id| id.0.to_string()).collect::<Vec<_>>().join(" ")
        };
        match choice {
            Choice::Nothing => "nothing".into(),
            Choice::Move { tables, into } => format!("move {} into {into}", list(tables)),
            Choice::Merge { tables, into } => format!("merge {} into {into}", list(tables)),
        }
    }

    #[track_caller]
    fn check(text: &str, want: &str) {
        check_at(text, 100, want);
    }

    /// Level 0 is full with two runs, a level is not worth having below 100 kilobytes.
    #[track_caller]
    fn check_at(text: &str, oldest_snapshot: u64, want: &str) {
        let options = TreeOptions {
            table_bytes: 10_000,
            level0_runs: 2,
            level1_bytes: 100_000,
            level_factor: 10,
            ..TreeOptions::default()
        };
        assert_eq!(say(&choose(&levels(text), &options, SeqNo(oldest_snapshot))), want);
    }

    #[track_caller]
    fn check_score(runs: usize, level_bytes: [u64; LEVEL_MAX], want: u64) {
        let table = |bytes| TableInfo { bytes, ..table("1:a-b") };
        let level = |bytes| if bytes == 0 { Vec::new() } else { vec![table(bytes)] };
        let levels = Levels {
            level0: vec![vec![table(1)]; runs],
            deeper: level_bytes.into_iter().map(level).collect(),
        };
        let options = TreeOptions {
            level0_runs: 4,
            level1_bytes: 100,
            level_factor: 10,
            ..TreeOptions::default()
        };
        assert_eq!(compaction_score(&levels, &options), want);
    }

    #[test]
    fn a_level_is_as_full_as_it_has_more_than_its_target() {
        check_score(3, [0; LEVEL_MAX], 750);
        check_score(8, [0, 0, 0, 0, 0, 90], 2000);
        // The bottom has no target; the level above it a tenth of the bottom.
        check_score(0, [0, 0, 0, 0, 0, 5000], 0);
        check_score(0, [0, 0, 0, 0, 1500, 5000], 3000);
        // Above the base, the remaining tables drain.
        check_score(0, [0, 0, 0, 7, 0, 1000], 10_000);
    }

    #[test]
    fn a_tree_in_order_is_left_alone() {
        check("", "nothing");
        check("0: 1:a-z | 6: 2:a-z", "nothing");
        check("5: 3:a-z@90 | 6: 2:a-z@999", "nothing");
    }

    #[test]
    fn a_small_tree_merges_level_0_straight_into_the_bottom() {
        check("0: 2:a-m | 0: 1:c-z | 6: 3:a-b 4:x-z", "merge 2 1 3 4 into 6");
        check("0: 2:a-m | 0: 1:c-z", "merge 2 1 into 6");
    }

    #[test]
    fn all_runs_of_level_0_go_and_all_that_lies_between_their_keys() {
        check("0: 2:a-b | 0: 1:y-z | 6: 3:m-n", "merge 2 1 3 into 6");
    }

    #[test]
    fn a_large_tree_merges_level_0_into_the_level_its_size_asks_for() {
        check("0: 2:a-m | 0: 1:c-z | 6: 3:a-z@900", "merge 2 1 into 5");
        check("0: 2:a-m | 0: 1:c-z | 5: 4:a-b 5:x-z | 6: 3:a-z@900", "merge 2 1 4 5 into 5");
        check("0: 2:a-m | 0: 1:c-z | 6: 3:a-z@9000", "merge 2 1 into 4");
        check("0: 2:a-m | 0: 1:c-z | 3: 7:d-e | 6: 3:a-z@900", "move 7 into 4");
    }

    #[test]
    fn level_0_never_passes_a_level_that_it_overlaps() {
        check(
            "0: 2:a-m | 0: 1:c-z | 0: 8:a-b | 0: 9:a-b | 0: 10:a-b \
               | 0: 11:a-b | 0: 12:a-b | 0: 13:a-b | 0: 14:a-b | 0: 15:a-b | 0: 16:a-b \
               | 0: 17:a-b | 0: 18:a-b | 0: 19:a-b | 0: 20:a-b | 0: 21:a-b | 0: 22:a-b \
               | 0: 23:a-b | 0: 24:a-b | 0: 25:a-b | 3: 7:d-e | 6: 3:a-z@900",
            "merge 2 1 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 7 into 3",
        );
    }

    #[test]
    fn long_tables_that_overlap_nothing_are_moved() {
        check("0: 2:a-b | 0: 1:c-d | 6: 3:x-z", "move 2 1 into 6");
        check("0: 2:a-b@1 | 0: 1:c-d@1 | 6: 3:x-z", "merge 2 1 into 6");
        check("0: 2:a-c | 0: 1:c-d | 6: 3:x-z", "merge 2 1 into 6");
    }

    #[test]
    fn a_full_level_pushes_down_the_table_with_the_least_work() {
        let bottom = "6: 3:a-b@500 4:c-d@100 5:x-z@400";
        check(&format!("5: 7:a-b@60 8:c-d@60 9:x-z@60 | {bottom}"), "merge 8 4 into 6");
        check(&format!("5: 7:a-b@60 8:c-d@60 9:g-h@60 | {bottom}"), "move 9 into 6");
    }

    #[test]
    fn a_stale_table_is_merged_where_its_deletes_can_end() {
        check("5: 7:c-d@60~30 | 6: 4:c-d@900", "merge 7 4 into 6");
        check("5: 7:c-d@60~30 | 6: 4:x-z@900", "merge 7 into 6");
        check("4: 7:c-d@1~30 | 6: 4:a-z@9000", "move 7 into 5");
        check("5: 7:c-d@60~20 | 6: 4:c-d@900", "nothing");
    }

    #[test]
    fn a_stale_table_at_the_bottom_waits_for_the_snapshots_that_need_it() {
        check_at("6: 7:c-d~30", 49, "nothing");
        check_at("6: 7:c-d~30", 50, "merge 7 into 6");
    }

    #[test]
    fn a_full_compaction_takes_everything_once() {
        let all = |text: &str| say(&choose_all(&levels(text)));
        assert_eq!(all("0: 2:a-m | 5: 1:c-z | 6: 3:a-b"), "merge 2 1 3 into 6");
        assert_eq!(all("6: 3:a-b~1"), "merge 3 into 6");
        assert_eq!(all("6: 3:a-b 4:c-d"), "nothing");
    }
}
