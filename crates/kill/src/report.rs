//! Totals of a run of kills, for people and as JSON.

use std::collections::BTreeMap;
use std::time::Instant;

/// Kinds of operations, the rarest first.
const PHASES: [&str; 12] = [
    "backup",
    "create and drop",
    "import",
    "compaction",
    "clear",
    "flush",
    "check",
    "write in pieces",
    "many at once",
    "long value",
    "transaction",
    "write",
];

/// Totals of a run.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) seed: u64,
    /// The kind of data that the children write: graphs, blobs, counters or rows.
    pub(crate) work: &'static str,
    pub(crate) kills: u64,
    /// Kills by the kind of operation in flight. If two were in flight, the rarer kind counts.
    pub(crate) by_phase: BTreeMap<&'static str, u64>,
    pub(crate) by_durability: BTreeMap<&'static str, u64>,
    /// Kills that left a table that is not in the manifest.
    pub(crate) left_tables: u64,
    /// Kills that left sorted runs of an import.
    pub(crate) left_runs: u64,
    /// Kills that left chunks of an unfinished long value, where a check saw them before they were
    /// removed.
    pub(crate) left_values: u64,
    /// Kills with `none` that lost unflushed writes, which is allowed.
    pub(crate) lost_unflushed: u64,
    /// Acknowledged operations, and how many of them were commits.
    pub(crate) acknowledged: u64,
    pub(crate) commits: u64,
    /// Operations in flight at a kill that took effect.
    pub(crate) in_flight_kept: u64,
    pub(crate) backups_restored: u64,
    /// Interrupted backups that `restore` refused as unfinished.
    pub(crate) backups_refused: u64,
    pub(crate) verifications: u64,
    pub(crate) rows_verified: u64,
    pub(crate) folders: u64,
    /// Children that writers forked, and that ended before the kill.
    pub(crate) forked: u64,
    pub(crate) started: Instant,
}

impl Report {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            work: "graphs",
            kills: 0,
            by_phase: BTreeMap::new(),
            by_durability: BTreeMap::new(),
            left_tables: 0,
            left_runs: 0,
            left_values: 0,
            lost_unflushed: 0,
            acknowledged: 0,
            commits: 0,
            in_flight_kept: 0,
            backups_restored: 0,
            backups_refused: 0,
            verifications: 0,
            rows_verified: 0,
            folders: 0,
            forked: 0,
            started: Instant::now(),
        }
    }

    /// Counts a kill by the rarest kind of operation that was in flight.
    pub(crate) fn count(
        &mut self,
        running: &[&'static str],
        opened: bool,
        durability: &'static str,
    ) {
        let phase = match PHASES.iter().find(|phase| running.contains(phase)) {
            Some(phase) => phase,
            None if opened => "between",
            None => "open, recovery",
        };
        *self.by_phase.entry(phase).or_default() += 1;
        *self.by_durability.entry(durability).or_default() += 1;
        self.kills += 1;
    }

    /// One line of progress.
    pub(crate) fn line(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        format!(
            "{} kills, {:.1} a second, {} operations acknowledged, {} rows verified",
            self.kills,
            self.kills as f64 / seconds.max(1e-3),
            self.acknowledged,
            self.rows_verified
        )
    }

    /// The final report, with the error of a failed run.
    pub(crate) fn text(&self, wrong: Option<&str>) -> String {
        let table = |counts: &BTreeMap<&'static str, u64>| {
            counts.iter().map(|(name, n)| format!("  {name:<16} {n}\n")).collect::<String>()
        };
        format!(
            "{}\nin {:.0} s, {}, seed {}, {} folders\nkills by running operation:\n{}kills by durability:\n{}\
             left an unfinished table: {}\nleft sorted runs of an import: {}\nleft chunks of an unfinished value: {}\n\
             cost what was not flushed, under none: {}\n\
             backups restored and compared: {}, interrupted and refused: {}\n\
             children that tried what was not theirs: {}\n\
             commits acknowledged: {}\nin flight and there after all: {}\nverifications: {}\n{}",
            self.line(),
            self.started.elapsed().as_secs_f64(),
            self.work,
            self.seed,
            self.folders,
            table(&self.by_phase),
            table(&self.by_durability),
            self.left_tables,
            self.left_runs,
            self.left_values,
            self.lost_unflushed,
            self.backups_restored,
            self.backups_refused,
            self.forked,
            self.commits,
            self.in_flight_kept,
            self.verifications,
            wrong.unwrap_or("lost: 0, wrong: 0"),
        )
    }

    pub(crate) fn json(&self, wrong: Option<&str>) -> serde_json::Value {
        serde_json::json!({
            "seed": self.seed,
            "work": self.work,
            "kills": self.kills,
            "seconds": self.started.elapsed().as_secs_f64(),
            "folders": self.folders,
            "forked": self.forked,
            "kills_by_phase": self.by_phase,
            "kills_by_durability": self.by_durability,
            "left_unfinished_tables": self.left_tables,
            "left_import_runs": self.left_runs,
            "left_unfinished_values": self.left_values,
            "lost_unflushed_under_none": self.lost_unflushed,
            "operations_acknowledged": self.acknowledged,
            "commits_acknowledged": self.commits,
            "in_flight_kept": self.in_flight_kept,
            "backups_restored": self.backups_restored,
            "backups_refused": self.backups_refused,
            "verifications": self.verifications,
            "rows_verified": self.rows_verified,
            "wrong": wrong,
        })
    }
}
