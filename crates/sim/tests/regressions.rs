//! Errors that the simulator found in the engine, as the short traces that shrinking left.

use base::Kind;
use env::Env;
use lsm::manifest::Manifest;
use quipu_sim::workload::plan::{End, Life, Plan, RowStep, Step, Swarm, TableStep};
use quipu_sim::workload::run;
use quipu_sim::workload::spaces::Span;
use quipu_sim::{Crash, Fault, FaultPlan, NameOrder, Settings, Sim};
use std::path::Path;
use store::{Durability, Isolation};

const COUNTS: u8 = 2;
const SET: u8 = 5;

fn swarm(durability: Durability) -> Swarm {
    Swarm {
        durability,
        memtable_bytes: 1 << 20,
        wal_segment_bytes: 4096,
        cache_bytes: 0,
        auto_compaction: false,
        block_rows_max: 4,
        block_bytes_max: 64,
        filter_bits: 10,
        compress: false,
        table_bytes: 30_000,
        level0_runs: 2,
        level1_bytes: 1_500,
        level_factor: 10,
        shared_bytes_max: 64 << 10,
        two_folders: false,
        faults: FaultPlan::none(),
        disk_bytes: 0,
        parallelism: 1,
        switch_permille: 300,
        name_order: NameOrder::Name,
        append_buffer_bytes: 4096,
        torn_ppm: 0,
        read_flush_rows: 100_000,
        apart: false,
        direct_reads: false,
        transaction_bytes: 0,
        waiting_rows: 1_000,
        commit_rows: 5,
        blobs: false,
        counters: false,
    }
}

fn put(slot: u8, key: u16) -> Step {
    let rows = vec![RowStep { key, kind: Kind::Put, seed: 1 }];
    Step::Write(vec![TableStep { slot, spans: Vec::new(), rows }], false)
}

fn life(tasks: &[&[Step]], end: End) -> Life {
    Life { tasks: tasks.iter().map(|steps| steps.to_vec()).collect(), end }
}

/// A crash at the end of the life, after the last step.
fn at_the_end(kind: Crash) -> End {
    End::Crash(1 << 20, kind)
}

/// Runs the trace under many interleavings.
#[track_caller]
fn holds(durability: Durability, lives: &[Life]) {
    for seed in 0..200 {
        let plan = Plan { seed, swarm: swarm(durability), lives: lives.to_vec() };
        if let Some(broken) = run(&plan).broken {
            panic!("life {}: {}\n{plan}", broken.life, broken.why);
        }
    }
}

#[test]
fn a_power_cut_right_after_creation_leaves_a_database_that_opens() {
    let power = life(&[], at_the_end(Crash::Power));
    holds(Durability::Os, &[power.clone(), power.clone(), power]);
}

/// A failed sync may take an unsynced keyspace, and the process that is killed then writes no more:
/// the next one finds the keyspace or not.
#[test]
fn a_failed_sync_before_a_kill_may_take_a_new_keyspace() {
    let rows = vec![RowStep { key: 1, kind: Kind::Put, seed: 1 }];
    let bulk = Step::Bulk(vec![TableStep { slot: COUNTS, spans: Vec::new(), rows }], 1, true);
    let faults = FaultPlan::none().with(Fault::SyncFails, 100_000);
    let kill = |steps: &[Step]| life(&[steps], at_the_end(Crash::Kill));
    let mut failed = 0;
    for seed in 0..200 {
        let swarm = Swarm { faults: faults.clone(), ..swarm(Durability::Os) };
        let plan = Plan { seed, swarm, lives: vec![kill(std::slice::from_ref(&bulk)), kill(&[])] };
        let report = run(&plan);
        if let Some(broken) = report.broken {
            panic!("life {}: {}\n{plan}", broken.life, broken.why);
        }
        failed += report.counts.of(Fault::SyncFails);
    }
    assert!(failed > 50, "{failed} syncs failed");
}

#[test]
fn a_power_cut_while_closing_leaves_a_database_that_opens() {
    let closing = life(&[&[put(COUNTS, 1)]], End::Close);
    for at in 30..120 {
        let mut cut = closing.clone();
        cut.end = End::Crash(at, Crash::Power);
        cut.tasks[0].push(Step::Reopen);
        let lives = [closing.clone(), cut, closing.clone()];
        let plan = Plan { seed: at, swarm: swarm(Durability::Os), lives: lives.to_vec() };
        if let Some(broken) = run(&plan).broken {
            panic!("life {}: {}\n{plan}", broken.life, broken.why);
        }
    }
}

#[test]
fn numbers_do_not_go_back_where_all_that_was_written_was_dropped() {
    let dropped = [put(COUNTS, 1), Step::Drop(COUNTS)];
    let power = life(&[], at_the_end(Crash::Power));
    holds(Durability::None, &[life(&[&dropped], End::Close), power.clone()]);
    let flushed = [put(COUNTS, 1), Step::Drop(COUNTS), Step::Flush];
    holds(Durability::Os, &[life(&[&flushed], at_the_end(Crash::Power)), power]);
}

#[test]
fn a_follower_reads_on_while_the_writer_closes_its_log() {
    let writer = [put(COUNTS, 1), Step::Reopen, put(COUNTS, 2), Step::Reopen];
    let follower = [Step::Follow, Step::Follow, Step::Follow, Step::Follow];
    holds(Durability::Os, &[life(&[&writer, &follower], End::Close)]);
}

#[test]
fn a_change_of_keyspaces_that_waits_behind_a_failed_one_says_poisoned() {
    let one = [Step::Create(SET), put(SET, 1), Step::Drop(SET)];
    let two = [Step::Drop(COUNTS), Step::Create(COUNTS), Step::Reopen];
    for at in 30..160 {
        let crash = End::Crash(at, Crash::Kill);
        let lives = [life(&[], End::Close), life(&[&one, &two, &one], crash)];
        let plan = Plan { seed: at, swarm: swarm(Durability::Sync), lives: lives.to_vec() };
        if let Some(broken) = run(&plan).broken {
            panic!("life {}: {}\n{plan}", broken.life, broken.why);
        }
    }
}

#[test]
fn an_empty_range_conflicts_with_nothing() {
    let clear = |span| vec![TableStep { slot: COUNTS, spans: vec![span], rows: Vec::new() }];
    let one = [Step::Write(clear(Span::All), false)];
    let two = [
        Step::Begin(Isolation::Snapshot),
        Step::TxWrite(clear(Span::Between(4, 4))),
        Step::Pause,
        Step::Commit,
    ];
    holds(Durability::None, &[life(&[&one, &two], at_the_end(Crash::Power))]);
}

/// Opens the manifest on a machine that crashes at an operation.
fn open_manifest(machine: &Sim, operation: u64, crash: Crash) {
    let env = machine.env();
    machine.crash_at_operation(machine.operations() + operation, crash);
    machine.spawn("open", move || drop(Manifest::open(env, Path::new("/db"))));
    machine.run().unwrap();
    machine.crash(crash);
}

#[test]
fn an_opening_removes_no_manifest_that_a_power_cut_may_need_again() {
    for (killed_at, cut_at, seed) in (1..16).flat_map(|killed_at| {
        (1..16).flat_map(move |cut_at| (0..60).map(move |seed| (killed_at, cut_at, seed)))
    }) {
        let machine = Sim::new(seed, Settings { append_buffer_bytes: 0, ..Settings::default() });
        let env = machine.env();
        machine.spawn("create", move || {
            env.create_folder(Path::new("/db")).unwrap();
            env.sync_folder(Path::new("/")).unwrap();
            drop(Manifest::create(env.clone(), Path::new("/db")).unwrap());
            // An unacknowledged edit: the opening begins a new file after it.
            let path = Path::new("/db/MANIFEST-000001");
            let bytes = env.read_file(path).unwrap().len() as u64;
            env.open_append(path, bytes).unwrap().append(&[1; 5]).unwrap();
        });
        machine.run().unwrap();
        machine.crash(Crash::Kill);
        let machine = machine.restart();
        open_manifest(&machine, killed_at, Crash::Kill);
        let machine = machine.restart();
        open_manifest(&machine, cut_at, Crash::Power);
        let machine = machine.restart();
        let env = machine.env();
        machine.spawn("open", move || {
            if let Err(error) = Manifest::open(env, Path::new("/db")) {
                panic!("killed at {killed_at}, cut at {cut_at}, seed {seed}: {error}");
            }
        });
        machine.run().unwrap();
    }
}
