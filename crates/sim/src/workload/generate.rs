//! Generates a plan from a seed: the settings of the run, and the steps of each task in each life.
//! `plan.rs` explains these words.
//!
//! # Swarm testing
//! A run that does a little of everything rarely does enough of one thing to reach rare states. So
//! each run draws which kinds of steps it has, how small everything is, and mostly one kind of
//! fault or none.

use crate::faults::{Crash, Fault, FaultPlan};
use crate::random::Random;
use crate::settings::NameOrder;
use crate::workload::dice::Dice;
use crate::workload::plan::{
    BlobsStep, CountersStep, End, GraphStep, ImportStep, Life, Plan, RowStep, Step, Swarm,
    TableStep,
};
use crate::workload::read::{ReadStep, What, has_words};
use crate::workload::spaces::{BLOBS, COUNTERS, FORWARD, KEYS, REVERSE, SLOTS, Slot, Span, shape};
use crate::workload::vault::{BackupStep, PLACES, RestoreStep, Way};
use base::Kind;
use store::{Durability, Isolation};

/// Maximum number of lives of a run; the minimum is half of it.
const LIVES: u64 = 16;

/// Kinds of steps that a run may leave out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    Transactions,
    Ranges,
    Merges,
    Deletes,
    Bulk,
    Keyspaces,
    Flush,
    Compact,
    Follow,
    Hold,
    Reopen,
    Check,
    Backup,
    Graph,
    Blobs,
    Counters,
}

const HABITS: [Habit; 16] = [
    Habit::Transactions,
    Habit::Ranges,
    Habit::Merges,
    Habit::Deletes,
    Habit::Bulk,
    Habit::Keyspaces,
    Habit::Flush,
    Habit::Compact,
    Habit::Follow,
    Habit::Hold,
    Habit::Reopen,
    Habit::Check,
    Habit::Backup,
    Habit::Graph,
    Habit::Blobs,
    Habit::Counters,
];

/// The plan for a seed: the same for equal seeds, on every machine.
#[must_use]
pub fn plan(seed: u64) -> Plan {
    let mut dice = Dice::new(seed);
    let mut swarm = swarm(&mut dice);
    let mut generator = Generator::new(&mut dice);
    swarm.blobs = generator.has(Habit::Blobs);
    swarm.counters = generator.has(Habit::Counters);
    let lives = generator.dice.between(LIVES / 2, LIVES);
    let lives = (0..lives).map(|_| generator.life()).collect();
    Plan { seed, swarm, lives }
}

/// Draws the settings of a run.
fn swarm(dice: &mut Dice) -> Swarm {
    let durability =
        *dice.pick(&[Durability::Sync, Durability::Sync, Durability::Os, Durability::None]);
    let mut random = Random::new(dice.word());
    let mut faults = match dice.below(10) {
        0..6 => FaultPlan::swarm(&mut random),
        6..8 => FaultPlan::swarm_of_corruption(&mut random),
        _ => FaultPlan::none(),
    };
    let corrupts = Fault::ALL.iter().any(|&fault| fault.corrupts() && faults.ppm(fault) > 0);
    if corrupts && dice.one_in(3) {
        // A database has few of these files and many tables.
        faults.corrupt_only = Some(*dice.pick(&["MANIFEST", "CURRENT", "BACKUP", ".qbak", ".log"]));
    }
    let memtable_bytes = *dice.pick(&[600, 2_000, 6_000, 30_000]);
    Swarm {
        durability,
        memtable_bytes,
        wal_segment_bytes: *dice.pick(&[4 << 10, 4 << 10, 16 << 10]),
        cache_bytes: *dice.pick(&[0, 2_000, 100_000]),
        auto_compaction: !dice.one_in(5),
        block_rows_max: *dice.pick(&[1, 2, 4, 64]),
        block_bytes_max: *dice.pick(&[64, 400, 4_000]),
        filter_bits: *dice.pick(&[0, 2, 10]),
        compress: dice.one_in(2),
        table_bytes: *dice.pick(&[300, 600, 3_000, 30_000]),
        level0_runs: *dice.pick(&[1, 2, 2, 4]),
        level1_bytes: *dice.pick(&[500, 1_500, 10_000]),
        level_factor: *dice.pick(&[2, 3, 10]),
        shared_bytes_max: *dice.pick(&[0, 500, 64 << 10]),
        two_folders: dice.one_in(6),
        faults,
        disk_bytes: if !corrupts && dice.one_in(12) { dice.between(40_000, 200_000) } else { 0 },
        parallelism: dice.between(1, 3) as usize,
        switch_permille: *dice.pick(&[20, 100, 300, 800]),
        name_order: *dice.pick(&[NameOrder::Journal, NameOrder::Folder, NameOrder::Name]),
        append_buffer_bytes: *dice.pick(&[0, 512, 4096, 1 << 20]),
        torn_ppm: if dice.one_in(4) { *dice.pick(&[10_000, 300_000]) } else { 0 },
        read_flush_rows: *dice.pick(&[1, 30, 100_000]),
        apart: dice.one_in(2),
        direct_reads: dice.one_in(2),
        transaction_bytes: if dice.one_in(6) { 1_500 } else { 0 },
        waiting_rows: *dice.pick(&[2, 8, 1_000]),
        commit_rows: *dice.pick(&[1, 2, 5]),
        blobs: false,
        counters: false,
    }
}

/// Draws lives and steps. What it drew for the whole run is in its fields.
struct Generator<'a> {
    dice: &'a mut Dice,
    habits: Vec<Habit>,
    /// Keys used in this run: the first, and their number.
    keys: (u16, u16),
    /// Keyspaces used in this run, by slot.
    slots: Vec<Slot>,
    /// Counters that most steps of this run use: one of `COUNTERS`, so that tasks share it.
    counters: Slot,
    /// Seed of the last row: each row has another one.
    seeds: u32,
    /// Kind of all crashes of the run; `None` for both kinds.
    crash: Option<Crash>,
    /// Approximate maximum number of steps of a task; a transaction counts as one.
    steps_max: u64,
}

impl<'a> Generator<'a> {
    fn new(dice: &'a mut Dice) -> Self {
        let habits = HABITS.into_iter().filter(|_| dice.one_in(2)).collect();
        let count = dice.between(2, u64::from(KEYS)) as u16;
        let keys = (dice.below(u64::from(KEYS - count) + 1) as u16, count);
        let mut slots: Vec<Slot> =
            (0..SLOTS).filter(|slot| *slot != REVERSE && !dice.one_in(2)).collect();
        if slots.is_empty() {
            slots.push(FORWARD);
        }
        let crash = *dice.pick(&[None, Some(Crash::Power), Some(Crash::Kill)]);
        let steps_max = *dice.pick(&[3, 6, 12, 25]);
        let counters = *dice.pick(&COUNTERS);
        Self { dice, habits, keys, slots, counters, seeds: 0, crash, steps_max }
    }

    fn has(&self, habit: Habit) -> bool {
        self.habits.contains(&habit)
    }

    /// One life: one to three tasks that write, and perhaps one each of the tasks that read, hold
    /// snapshots, follow, flush and compact, and make backups.
    fn life(&mut self) -> Life {
        let mut tasks: Vec<Vec<Step>> = Vec::new();
        for _ in 0..self.dice.between(1, 3) {
            let steps = self.dice.between(1, self.steps_max);
            tasks.push((0..steps).flat_map(|_| self.writer_steps()).collect());
        }
        if self.dice.one_in(2) {
            let steps = self.dice.between(1, self.steps_max);
            tasks.push((0..steps).map(|_| Step::Read(self.read())).collect());
        }
        if self.has(Habit::Hold) && self.dice.one_in(2) {
            tasks.push(self.holder());
        }
        if self.has(Habit::Follow) && self.dice.one_in(2) {
            tasks.push(self.follower());
        }
        if self.dice.one_in(2) {
            let steps = self.dice.between(1, 4);
            let steps = (0..steps).filter_map(|_| self.upkeep()).collect::<Vec<_>>();
            tasks.push(steps);
        }
        if self.has(Habit::Backup) && self.dice.one_in(2) {
            tasks.push(self.keeper());
        }
        tasks.retain(|steps| !steps.is_empty());
        let end = if self.dice.one_in(8) {
            End::Close
        } else {
            let kind = self.crash.unwrap_or(*self.dice.pick(&[Crash::Power, Crash::Kill]));
            let operations: u64 = tasks.iter().flatten().map(operations).sum();
            // Opening takes some tens of operations.
            End::Crash(1 + self.dice.below(40 + operations), kind)
        };
        Life { tasks, end }
    }

    /// A transaction with its steps, or one other step that mostly writes.
    fn writer_steps(&mut self) -> Vec<Step> {
        if self.has(Habit::Transactions) && self.dice.one_in(2) {
            let serializable = self.dice.one_in(2);
            let isolation =
                if serializable { Isolation::Serializable } else { Isolation::Snapshot };
            let mut steps = vec![Step::Begin(isolation)];
            for _ in 0..self.dice.between(1, 3) {
                if self.dice.one_in(2) {
                    steps.push(Step::TxRead(self.read()));
                }
                steps.push(match self.dice.below(4) {
                    0 if self.has(Habit::Blobs) => Step::TxBlobs(self.blobs()),
                    1 if self.has(Habit::Counters) => Step::TxCounters(self.counted(true)),
                    _ => Step::TxWrite(self.tables(4)),
                });
                if self.dice.one_in(6) {
                    steps.push(Step::TxUndone(self.tables(4)));
                }
            }
            if self.dice.one_in(3) {
                steps.push(Step::TxRead(self.read()));
            }
            if self.dice.one_in(4) {
                steps.push(Step::Pause);
            }
            steps.push(if self.dice.one_in(10) { Step::Rollback } else { Step::Commit });
            return steps;
        }
        match self.dice.below(20) {
            0 if self.has(Habit::Bulk) => {
                let tables = self.bulk_tables();
                let partitions = self.dice.between(1, 3) as u8;
                vec![Step::Bulk(tables, partitions, !self.dice.one_in(5))]
            }
            1 if self.has(Habit::Keyspaces) => vec![Step::Create(self.droppable())],
            2 if self.has(Habit::Keyspaces) => vec![Step::Drop(self.droppable())],
            3 => vec![Step::Read(self.read())],
            4..9 if self.has(Habit::Graph) => vec![Step::Graph(self.graph())],
            9..13 if self.has(Habit::Blobs) => vec![Step::Blobs(self.blobs())],
            13..17 if self.has(Habit::Counters) => vec![Step::Counters(self.counters())],
            _ => {
                let existed = self.dice.one_in(5);
                vec![Step::Write(self.tables(6), existed)]
            }
        }
    }

    /// A task that takes snapshots, reads at the oldest one that it holds, and releases them.
    fn holder(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..self.dice.between(2, self.steps_max + 2) {
            steps.push(match self.dice.below(8) {
                0 | 1 => Step::Hold,
                2 => Step::LetGo,
                3 | 4 => Step::Pause,
                _ => Step::HeldRead(self.read_of_moment()),
            });
        }
        steps
    }

    /// A task that follows the database in a second process.
    fn follower(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..self.dice.between(1, self.steps_max / 2 + 1) {
            steps.push(match self.dice.below(4) {
                0 if self.has(Habit::Backup) => Step::Backup(self.backup(true)),
                0 => Step::Pause,
                1 => Step::FollowRead(self.read_of_moment()),
                _ => Step::Follow,
            });
        }
        steps
    }

    fn graph(&mut self) -> GraphStep {
        match self.dice.below(12) {
            0..4 => GraphStep::Upsert(self.edges(6)),
            4..7 => GraphStep::Remove((0..self.dice.between(1, 4)).map(|_| self.key()).collect()),
            7 => GraphStep::Clear,
            8 | 9 => {
                let (text, spill) = (self.dice.one_in(2), self.dice.one_in(2));
                GraphStep::Import(ImportStep { rows: self.edges(20), text, spill })
            }
            _ => GraphStep::Check(self.key()),
        }
    }

    fn blobs(&mut self) -> BlobsStep {
        match self.dice.below(16) {
            0..6 => BlobsStep::Write(self.rows_of(BLOBS, 4)),
            6..10 => BlobsStep::Stream {
                row: RowStep { kind: Kind::Put, ..self.rows_of(BLOBS, 1)[0] },
                piece_bytes: *self.dice.pick(&[10, 64, 200]),
                finish: !self.dice.one_in(4),
            },
            10 => BlobsStep::Clear,
            11 => BlobsStep::Collect,
            _ => BlobsStep::Read((0..self.dice.between(1, 4)).map(|_| self.key()).collect()),
        }
    }

    fn counters(&mut self) -> CountersStep {
        let slot = self.counter_slot();
        match self.dice.below(12) {
            0 => CountersStep::Flush(slot),
            1 => CountersStep::Scan(slot),
            2 | 3 => {
                let keys = (0..self.dice.between(1, 4)).map(|_| self.key()).collect();
                CountersStep::Read(slot, keys)
            }
            _ => CountersStep::Write(self.counted(false)),
        }
    }

    fn counter_slot(&mut self) -> Slot {
        if self.dice.one_in(8) { *self.dice.pick(&COUNTERS) } else { self.counters }
    }

    /// Changes of counters; in a transaction never of all counters.
    fn counted(&mut self, inside: bool) -> TableStep {
        let slot = self.counter_slot();
        let spans = if !inside && self.dice.one_in(16) { vec![Span::All] } else { Vec::new() };
        let mut rows = self.rows_of(slot, 8);
        // Mostly increments: in a mixture each row is a separate call.
        if !self.dice.one_in(4) {
            rows.iter_mut().for_each(|row| row.kind = Kind::Merge);
        }
        TableStep { slot, spans, rows }
    }

    fn rows_of(&mut self, slot: Slot, rows_max: u64) -> Vec<RowStep> {
        let mut kind = self.kind(slot);
        let mut rows = Vec::new();
        for _ in 0..self.dice.between(1, rows_max) {
            self.seeds += 1;
            if self.dice.one_in(4) {
                kind = self.kind(slot);
            }
            rows.push(RowStep { key: self.key(), kind, seed: self.seeds });
        }
        rows
    }

    fn edges(&mut self, rows_max: u64) -> Vec<RowStep> {
        let rows = self.dice.between(1, rows_max);
        let edge = |_| {
            self.seeds += 1;
            RowStep { key: self.key(), kind: Kind::Put, seed: self.seeds }
        };
        (0..rows).map(edge).collect()
    }

    /// A task that makes, restores, opens and removes backups.
    fn keeper(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..self.dice.between(1, 4) {
            match self.dice.below(8) {
                0..4 => steps.push(Step::Backup(self.backup(false))),
                4 => steps.push(Step::Discard(self.dice.below(4) as u8)),
                5 => steps.push(Step::Look(self.place())),
                _ => {
                    let place = self.place();
                    let which = self.dice.below(4) as u8;
                    let replace = !self.dice.one_in(4);
                    steps.push(Step::Restore(RestoreStep { which, place, replace }));
                    steps.push(Step::Look(place));
                }
            }
        }
        steps
    }

    fn place(&mut self) -> u8 {
        self.dice.below(u64::from(PLACES)) as u8
    }

    fn backup(&mut self, by_follower: bool) -> BackupStep {
        let way = match self.dice.below(4) {
            0 => Way::Folder,
            1 => Way::Archive,
            _ => Way::Incremental(self.dice.below(3) as u8),
        };
        let stop_after = if self.dice.one_in(8) { self.dice.between(1, 4) as u8 } else { 0 };
        BackupStep { way, verify: !self.dice.one_in(4), by_follower, stop_after }
    }

    /// A flush, a compaction, a reopening, a check or a pause; `None` if the run leaves it out.
    fn upkeep(&mut self) -> Option<Step> {
        let step = match self.dice.below(8) {
            0..3 => (Habit::Flush, Step::Flush),
            3 | 4 => (Habit::Compact, Step::Compact),
            5 => (Habit::Reopen, Step::Reopen),
            6 => (Habit::Check, Step::Check),
            _ => return Some(Step::Pause),
        };
        self.has(step.0).then_some(step.1)
    }

    fn slot(&mut self) -> Slot {
        *self.dice.pick(&self.slots)
    }

    /// A keyspace that steps may create and drop: not one of the two directions of the edges.
    fn droppable(&mut self) -> Slot {
        self.dice.between(2, u64::from(SLOTS) - 1) as Slot
    }

    fn key(&mut self) -> u16 {
        self.keys.0 + self.dice.below(u64::from(self.keys.1)) as u16
    }

    fn span(&mut self) -> Span {
        match self.dice.below(8) {
            0 => Span::All,
            1 | 2 => Span::Prefix(self.key()),
            _ => Span::Between(self.key(), self.key()),
        }
    }

    fn kind(&mut self, slot: Slot) -> Kind {
        let counter = shape(slot)
            .values
            .iter()
            .any(|column| matches!(column, base::ColumnShape::Word { merge: Some(_) }));
        match self.dice.below(8) {
            0 | 1 if self.has(Habit::Deletes) => Kind::Delete,
            2..6 if self.has(Habit::Merges) && counter => Kind::Merge,
            2 if self.has(Habit::Merges) && slot != FORWARD => Kind::Merge,
            _ => Kind::Put,
        }
    }

    fn table(&mut self, slot: Slot, rows_max: u64) -> TableStep {
        let mut spans = Vec::new();
        if self.has(Habit::Ranges) && self.dice.one_in(8) {
            let span = self.span();
            spans.push(if slot == FORWARD { Span::All } else { span });
        }
        let least = u64::from(spans.is_empty());
        let rows = (0..self.dice.between(least, rows_max))
            .map(|_| {
                self.seeds += 1;
                RowStep { key: self.key(), kind: self.kind(slot), seed: self.seeds }
            })
            .collect();
        TableStep { slot, spans, rows }
    }

    fn tables(&mut self, rows_max: u64) -> Vec<TableStep> {
        let first = self.slot();
        let mut slots = vec![first];
        while self.dice.one_in(3) {
            let more = self.slot();
            if !slots.contains(&more) {
                slots.push(more);
            }
        }
        slots.into_iter().map(|slot| self.table(slot, rows_max)).collect()
    }

    fn bulk_tables(&mut self) -> Vec<TableStep> {
        let rows_max = self.dice.between(1, 20);
        let mut tables = self.tables(rows_max);
        for table in &mut tables {
            table.spans.clear();
            table.rows.iter_mut().for_each(|row| row.kind = Kind::Put);
        }
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    /// A read at a fixed sequence number. It may also compare a graph's directions, and read blobs.
    fn read_of_moment(&mut self) -> ReadStep {
        if self.slots.contains(&FORWARD) && self.dice.one_in(5) {
            return ReadStep { slot: FORWARD, what: What::Graph, keys: !0, values: !0 };
        }
        if self.has(Habit::Blobs) && self.dice.one_in(5) {
            let what = match self.dice.below(4) {
                0 => What::Get(self.key()),
                1 => What::Count,
                _ => What::Scan(self.span(), *self.dice.pick(&[2, u16::MAX])),
            };
            return ReadStep { slot: BLOBS, what, keys: !0, values: !0 };
        }
        self.read()
    }

    fn read(&mut self) -> ReadStep {
        let mut slot = self.slot();
        if slot == FORWARD && self.dice.one_in(2) {
            slot = REVERSE;
        }
        let words = has_words(slot);
        let what = match self.dice.below(9) {
            0..2 => What::Get(self.key()),
            2 => What::GetMany((0..self.dice.between(1, 8)).map(|_| self.key()).collect()),
            3 | 4 => {
                let limit = *self.dice.pick(&[1, 3, u16::MAX]);
                What::Scan(self.span(), limit)
            }
            5 => What::Stream(self.span(), self.dice.between(1, 5) as u16),
            6 if words => {
                What::PrefixMany((0..self.dice.between(1, 4)).map(|_| self.key()).collect())
            }
            7 if words => What::FirstWords,
            8 => What::Count,
            _ => What::Scan(Span::All, u16::MAX),
        };
        let all = self.dice.one_in(2);
        let (keys, values) =
            if all { (!0, !0) } else { (self.dice.word() as u8, self.dice.word() as u8) };
        ReadStep { slot, what, keys, values }
    }
}

/// Approximate number of the machine's operations that a step takes.
fn operations(step: &Step) -> u64 {
    match step {
        Step::Backup(_) => 60,
        Step::Restore(_) | Step::Look(_) => 100,
        Step::Blobs(_) | Step::Compact => 30,
        _ => 12,
    }
}
