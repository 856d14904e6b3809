//! Tests the simulator: each fault switch breaks the engine, and one of a few seeds notices.
//!
//! `cargo test -p quipu-sim --features fault-switches`
#![cfg(feature = "fault-switches")]

use base::fault_switch::{Switch, on};
use env::sync::Mutex;
use quipu_sim::workload::{plan, run, shrink};

/// Seeds for each switch; most are caught by the first few.
const SEEDS: std::ops::Range<u64> = 1..400;

/// The tests take turns: a switch affects the whole process, and each test also runs the sound
/// engine.
static TURN: Mutex<()> = Mutex::new(());

#[track_caller]
fn is_caught(switch: Switch) {
    is_caught_by(switch, SEEDS);
}

#[track_caller]
fn is_caught_by(switch: Switch, seeds: std::ops::Range<u64>) {
    let _turn = TURN.lock();
    let mutant = on(switch);
    let mut caught = seeds.map(|seed| (plan(seed), run(&plan(seed)).broken));
    let caught = caught.find_map(|(plan, broken)| Some((plan, broken?)));
    drop(mutant);
    let Some((plan, broken)) = caught else { panic!("nobody noticed {switch:?}") };
    println!("{switch:?}: seed {}, life {}: {}", plan.seed, broken.life, broken.why);
    assert!(run(&plan).broken.is_none(), "the sound engine passes the same seed");
}

#[test]
fn a_skipped_sync_is_caught() {
    is_caught(Switch::SkipSync);
}

#[test]
fn a_shared_file_removed_too_early_is_caught() {
    is_caught(Switch::RemoveSharedEarly);
}

#[test]
fn a_sync_of_the_newest_segment_alone_is_caught() {
    is_caught_by(Switch::SyncNewestSegment, 1..3_000);
}

#[test]
fn a_skipped_conflict_check_is_caught() {
    is_caught(Switch::SkipConflictCheck);
}

#[test]
fn a_skipped_check_of_what_was_read_is_caught() {
    is_caught(Switch::SkipReadValidation);
}

#[test]
fn a_commit_shown_before_it_is_logged_is_caught() {
    is_caught(Switch::PublishBeforeLog);
}

#[test]
fn a_forgotten_tombstone_is_caught() {
    is_caught(Switch::ForgetTombstone);
}

#[test]
fn a_replay_that_drops_the_last_record_is_caught() {
    is_caught(Switch::DropLastRecordOnReplay);
}

#[test]
fn a_snapshot_that_reads_the_newest_is_caught() {
    is_caught(Switch::ReadLatestInsteadOfSnapshot);
}

#[test]
fn half_a_commit_shown_is_caught() {
    is_caught(Switch::HalfCommitVisible);
}

#[test]
fn a_read_of_uncommitted_rows_is_caught() {
    is_caught(Switch::ReadUncommitted);
}

#[test]
fn a_blob_that_lost_a_piece_is_caught() {
    is_caught(Switch::ForgetPiece);
}

#[test]
fn pieces_that_nobody_noted_are_caught() {
    is_caught(Switch::ForgetNote);
}

#[test]
fn increments_that_are_counted_twice_are_caught() {
    is_caught(Switch::CountTwice);
}

#[test]
fn increments_that_come_after_the_number_that_replaced_them_are_caught() {
    is_caught_by(Switch::KeepIncrements, 1..20_000);
}

#[test]
fn a_checksum_that_is_ignored_is_caught() {
    is_caught_by(Switch::IgnoreChecksum, 1..3_000);
}

#[test]
fn a_failure_is_shrunk_to_a_few_steps() {
    let _turn = TURN.lock();
    let mutant = on(Switch::DropLastRecordOnReplay);
    let mut caught = SEEDS.map(|seed| (plan(seed), run(&plan(seed)).broken));
    let (plan, broken) = caught
        .find_map(|(plan, broken)| Some((plan, broken?)))
        .expect("the simulator notices the switch");
    let (small, _) = shrink(&plan, broken);
    assert!(run(&small).broken.is_some(), "what is left still fails");
    drop(mutant);
    println!("{small}");
    assert!(small.steps() <= 6, "{} steps of {} are left", small.steps(), plan.steps());
}
