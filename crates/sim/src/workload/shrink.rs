//! Removes the parts of a plan that a failure does not need.
//!
//! # Why only removals
//! Steps are plain data and have no effect where they do not apply (a commit without a
//! transaction), so any part of a plan is a plan. When no single part can be removed any more, the
//! plan is short enough to read.
//!
//! Removing a step changes the interleaving, so the failure may not occur although its cause
//! remains. Each attempt therefore tries several seeds and several places of the crash.

use crate::faults::FaultPlan;
use crate::settings::NameOrder;
use crate::workload::plan::{BlobsStep, CountersStep, End, GraphStep, Plan, Step, TableStep};
use crate::workload::run::{Broken, run};
use crate::workload::vault::{BackupStep, Way};

/// Most runs of one shrinking.
const RUNS_MAX: usize = 6_000;
/// Seeds tried for each smaller plan.
const SEEDS: u64 = 6;

struct Shrinker {
    best: Plan,
    broken: Broken,
    runs: usize,
}

/// The smallest plan found that still fails, and its failure.
#[must_use]
pub fn shrink(plan: &Plan, broken: Broken) -> (Plan, Broken) {
    let mut shrinker = Shrinker { best: plan.clone(), broken, runs: 0 };
    shrinker.cut_lives();
    loop {
        let size = shrinker.size();
        shrinker.fewer_lives();
        shrinker.fewer_tasks();
        shrinker.fewer_steps();
        shrinker.smaller_steps();
        shrinker.simpler_settings();
        if shrinker.size() == size || shrinker.runs >= RUNS_MAX {
            return (shrinker.best, shrinker.broken);
        }
    }
}

impl Shrinker {
    fn size(&self) -> (usize, usize) {
        (self.best.lives.len(), self.best.to_string().len())
    }

    /// Adopts `plan` if it fails.
    fn attempt(&mut self, plan: Plan) -> bool {
        for extra in 0..SEEDS {
            if self.runs >= RUNS_MAX {
                return false;
            }
            self.runs += 1;
            let plan = Plan { seed: plan.seed + extra, ..plan.clone() };
            if let Some(broken) = run(&plan).broken {
                self.broken = broken;
                self.best = plan;
                self.cut_lives();
                return true;
            }
        }
        false
    }

    /// Lives after the failure do not matter.
    fn cut_lives(&mut self) {
        self.best.lives.truncate(self.broken.life + 1);
    }

    fn fewer_lives(&mut self) {
        let mut i = 0;
        while i < self.best.lives.len() {
            let mut plan = self.best.clone();
            plan.lives.remove(i);
            if !self.attempt(plan) {
                i += 1;
            }
        }
    }

    fn fewer_tasks(&mut self) {
        let mut life = 0;
        while life < self.best.lives.len() {
            let mut task = 0;
            while life < self.best.lives.len() && task < self.best.lives[life].tasks.len() {
                let mut plan = self.best.clone();
                plan.lives[life].tasks.remove(task);
                if !self.attempt(plan) {
                    task += 1;
                }
            }
            life += 1;
        }
    }

    fn fewer_steps(&mut self) {
        for chunk in [8, 3, 1] {
            let mut life = 0;
            while life < self.best.lives.len() {
                let mut task = 0;
                while life < self.best.lives.len() && task < self.best.lives[life].tasks.len() {
                    let mut step = 0;
                    while self
                        .best
                        .lives
                        .get(life)
                        .and_then(|life| life.tasks.get(task))
                        .is_some_and(|steps| step < steps.len())
                    {
                        let mut plan = self.best.clone();
                        let steps = &mut plan.lives[life].tasks[task];
                        let end = steps.len().min(step + chunk);
                        steps.drain(step..end);
                        if !self.attempt(plan) {
                            step += chunk;
                        }
                    }
                    task += 1;
                }
                life += 1;
            }
        }
    }

    /// Removes tables, rows and ranges from writes.
    fn smaller_steps(&mut self) {
        let mut at = 0;
        while let Some((life, task, step)) = place(&self.best, at) {
            let mut part = 0;
            while let Some(smaller) = self
                .best
                .lives
                .get(life)
                .and_then(|life| life.tasks.get(task))
                .and_then(|steps| without(steps.get(step)?, part))
            {
                let mut plan = self.best.clone();
                plan.lives[life].tasks[task][step] = smaller;
                if !self.attempt(plan) {
                    part += 1;
                }
            }
            at += 1;
        }
    }

    fn simpler_settings(&mut self) {
        let simpler: [fn(&mut Plan); 16] = [
            |plan| plan.swarm.transaction_bytes = 0,
            |plan| plan.swarm.waiting_rows = 1_000,
            |plan| plan.swarm.torn_ppm = 0,
            |plan| plan.swarm.name_order = NameOrder::Journal,
            |plan| plan.swarm.append_buffer_bytes = 4096,
            |plan| plan.swarm.faults = FaultPlan::none(),
            |plan| plan.swarm.disk_bytes = 0,
            |plan| plan.swarm.two_folders = false,
            |plan| plan.swarm.auto_compaction = false,
            |plan| plan.swarm.read_flush_rows = 100_000,
            |plan| plan.swarm.apart = false,
            |plan| plan.swarm.direct_reads = false,
            |plan| plan.swarm.parallelism = 1,
            |plan| plan.swarm.memtable_bytes = 1 << 20,
            |plan| plan.swarm.compress = false,
            |plan| {
                plan.lives.iter_mut().for_each(|life| {
                    if let End::Crash(at, _) = &mut life.end {
                        *at = 1 << 20; // at the end
                    }
                })
            },
        ];
        for simplify in simpler {
            let mut plan = self.best.clone();
            simplify(&mut plan);
            if plan != self.best {
                self.attempt(plan);
            }
        }
    }
}

fn place(plan: &Plan, at: usize) -> Option<(usize, usize, usize)> {
    let lives = plan.lives.iter().enumerate();
    let tasks =
        lives.flat_map(|(l, life)| life.tasks.iter().enumerate().map(move |(t, s)| (l, t, s)));
    let mut steps = tasks.flat_map(|(l, t, steps)| (0..steps.len()).map(move |s| (l, t, s)));
    steps.nth(at)
}

/// The step without its part `part`; `None` where it has no such part.
fn without(step: &Step, part: usize) -> Option<Step> {
    let mut step = step.clone();
    let tables = match &mut step {
        Step::Graph(GraphStep::Upsert(rows)) if rows.len() > 1 && part < rows.len() => {
            rows.remove(part);
            return Some(step);
        }
        Step::Graph(GraphStep::Import(import))
            if import.rows.len() > 1 && part < import.rows.len() =>
        {
            import.rows.remove(part);
            return Some(step);
        }
        Step::Blobs(BlobsStep::Write(rows)) | Step::TxBlobs(BlobsStep::Write(rows))
            if rows.len() > 1 && part < rows.len() =>
        {
            rows.remove(part);
            return Some(step);
        }
        Step::Counters(CountersStep::Write(table)) | Step::TxCounters(table)
            if table.rows.len() > 1 && part < table.rows.len() =>
        {
            table.rows.remove(part);
            return Some(step);
        }
        Step::Counters(CountersStep::Write(table)) if part == 1 && !table.spans.is_empty() => {
            table.spans.clear();
            return Some(step);
        }
        Step::Blobs(BlobsStep::Read(keys)) | Step::Counters(CountersStep::Read(_, keys))
            if keys.len() > 1 && part < keys.len() =>
        {
            keys.remove(part);
            return Some(step);
        }
        Step::Backup(backup) => return simpler_backup(*backup, part).map(Step::Backup),
        Step::Write(tables, _)
        | Step::TxWrite(tables)
        | Step::TxUndone(tables)
        | Step::Bulk(tables, _, _) => tables,
        _ => return None,
    };
    without_part(tables, part).then_some(step)
}

/// Removes a table, a range or a row, which are numbered in this order. False where there are no
/// more than `part` of them.
fn without_part(tables: &mut Vec<TableStep>, part: usize) -> bool {
    let mut n = part;
    if tables.len() > 1 {
        if n < tables.len() {
            tables.remove(n);
            return true;
        }
        n -= tables.len();
    }
    for table in tables {
        let (spans, rows) = (table.spans.len(), table.rows.len());
        if spans + rows < 2 {
            continue;
        }
        if n < spans {
            table.spans.remove(n);
            return true;
        }
        n -= spans;
        if n < rows {
            table.rows.remove(n);
            return true;
        }
        n -= rows;
    }
    false
}

/// The backup step with one special property removed.
fn simpler_backup(step: BackupStep, part: usize) -> Option<BackupStep> {
    let all = [
        BackupStep { stop_after: 0, ..step },
        BackupStep { way: Way::Folder, ..step },
        BackupStep { verify: true, ..step },
    ];
    all.into_iter().filter(|simpler| *simpler != step).nth(part)
}
