//! Backups and restores that are interrupted at each of their operations.

use base::Kind;
use base::mark::{self, Mark};
use quipu_sim::workload::plan::{End, Life, Plan, RowStep, Step, Swarm, TableStep};
use quipu_sim::workload::vault::{BackupStep, RestoreStep, Way};
use quipu_sim::workload::{Tally, run};
use quipu_sim::{Crash, Fault, FaultPlan, NameOrder};
use store::Durability;

fn swarm(faults: FaultPlan) -> Swarm {
    Swarm {
        durability: Durability::Sync,
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
        faults,
        disk_bytes: 0,
        parallelism: 1,
        switch_permille: 100,
        name_order: NameOrder::Name,
        append_buffer_bytes: 512,
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

fn put(key: u16) -> Step {
    let rows = vec![RowStep { key, kind: Kind::Put, seed: u32::from(key) }];
    Step::Write(vec![TableStep { slot: 2, spans: Vec::new(), rows }], false)
}

fn backup(way: Way) -> Step {
    Step::Backup(BackupStep { way, verify: true, by_follower: false, stop_after: 0 })
}

fn restore() -> Step {
    Step::Restore(RestoreStep { which: 0, place: 0, replace: true })
}

fn life(steps: &[Step], end: End) -> Life {
    Life { tasks: vec![steps.to_vec()], end }
}

/// Runs the lives with many seeds. Each seed interrupts the life before the last at a different
/// operation.
#[track_caller]
fn holds(
    lives: &[Life],
    faults: &FaultPlan,
    crash: Option<Crash>,
    at: std::ops::Range<u64>,
) -> Tally {
    let mut tally = Tally::default();
    for at in at {
        let mut lives = lives.to_vec();
        let cut = lives.len() - 2;
        if let Some(crash) = crash {
            lives[cut].end = End::Crash(at, crash);
        }
        let plan = Plan { seed: at, swarm: swarm(faults.clone()), lives };
        let report = run(&plan);
        if let Some(broken) = report.broken {
            panic!("life {}: {}\n{plan}", broken.life, broken.why);
        }
        tally.add(&report.tally);
    }
    tally
}

#[test]
fn a_backup_cut_at_any_operation_is_refused_or_whole() {
    for way in [Way::Folder, Way::Incremental(0), Way::Archive] {
        for crash in [Crash::Power, Crash::Kill] {
            let first = life(&[put(1), backup(Way::Folder), put(2)], End::Close);
            let lives = [first, life(&[backup(way)], End::Close), life(&[], End::Close)];
            let tally = holds(&lives, &FaultPlan::none(), Some(crash), 30..150);
            assert!(
                tally.backups > 120 && tally.backups_refused > 10,
                "{way:?} {crash:?} {tally:?}"
            );
        }
    }
}

#[test]
fn a_restore_cut_at_any_operation_leaves_the_old_database_or_the_new() {
    let first = [put(1), backup(Way::Folder), restore(), Step::Look(0), put(2)];
    let look = life(&[Step::Look(0)], End::Close);
    for way in [Way::Folder, Way::Archive] {
        for crash in [Crash::Power, Crash::Kill] {
            let first = [&first[..], &[backup(way)]].concat();
            let lives = [life(&first, End::Close), life(&[restore()], End::Close), look.clone()];
            holds(&lives, &FaultPlan::none(), Some(crash), 30..230);
        }
    }
    for mark in [Mark::RestoreFound, Mark::RestoreCarriedOn, Mark::RestoreReplaced] {
        assert!(mark::hits(mark) > 0, "no cut came to {mark:?}");
    }
}

#[test]
fn a_restore_whose_renamings_fail_leaves_the_old_database_or_the_new() {
    let faults = FaultPlan::none().with(Fault::NameFails, 20_000);
    let steps =
        [put(1), backup(Way::Folder), restore(), Step::Look(0), put(2), backup(Way::Folder)];
    let again = [restore(), Step::Look(0), restore(), Step::Look(0)];
    let lives = [life(&steps, End::Close), life(&again, End::Close), life(&again, End::Close)];
    let tally = holds(&lives, &faults, None, 0..600);
    assert!(tally.restored > 600, "{tally:?}");
    assert!(mark::hits(Mark::RestoreUndone) > 0, "no failure came to it");
}

#[test]
fn a_database_that_a_killed_restore_left_is_durable_once_it_was_opened_for_writing() {
    let first = life(&[put(1), backup(Way::Folder)], End::Close);
    let look = life(&[Step::Look(0)], End::Crash(1 << 20, Crash::Power));
    for seed in 0..4 {
        for at in 130..180 {
            let cut = life(&[restore()], End::Crash(at, Crash::Kill));
            let lives = vec![first.clone(), cut, look.clone()];
            let plan = Plan { seed, swarm: swarm(FaultPlan::none()), lives };
            if let Some(broken) = run(&plan).broken {
                panic!("life {}: {}\n{plan}", broken.life, broken.why);
            }
        }
    }
}
