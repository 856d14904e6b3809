//! Broken engines, and the checks that detect them: run with `--features fault-switches`.
//!
//! Each test turns one fault switch on and asserts which checks of `hermitage.rs`, `ldbc_acid.rs`,
//! `list_append.rs` and of the storage fail. They are the same functions that the sound engine
//! passes. Where threads race, a check is repeated until it fails, for a bounded time. The table is
//! in `docs/isolation.md`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod checks;

use base::fault_switch::{Switch, on};
use checks::append::{Plan, run};
use checks::hermitage::{Lab, SCHEDULES, Seen};
use checks::ldbc::{Bench, TESTS};
use checks::{attempts, storage};
use env::sync::{Mutex, MutexGuard};
use quipu::{Database, Isolation, Options};
use std::io::Write;
use std::time::Duration;

/// Timeout for one history: a broken engine makes large cycles, which may take the checker very
/// long.
const CHECK_SECONDS_MAX: Duration = Duration::from_secs(20);

/// A switch breaks the whole process, so tests run one at a time, even those that check the sound
/// engine.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// Writes past the test's capture, so that the output always says what detected the fault.
fn say(switch: Switch, check: &str, by: &str) {
    let _ = writeln!(std::io::stderr(), "{switch:?} is caught by {check}: {by}");
}

/// Names of the Hermitage schedules that show an anomaly which the level forbids.
fn hermitage() -> Vec<String> {
    let mut caught = Vec::new();
    for (name, schedule, allowed) in SCHEDULES {
        for level in [Isolation::Snapshot, Isolation::Serializable] {
            if schedule(&Lab::new(level, false)) == Seen::Anomaly
                && !(allowed && level == Isolation::Snapshot)
            {
                caught.push(format!("{name} under {level:?}").to_lowercase());
            }
        }
    }
    caught
}

#[track_caller]
fn hermitage_catches(switch: Switch, want: &[&str]) {
    let caught = hermitage();
    say(switch, "hermitage", &caught.join(", "));
    for name in want {
        assert!(caught.iter().any(|caught| caught.starts_with(name)), "{switch:?} passed {name}");
    }
}

#[track_caller]
fn ldbc_catches(switch: Switch, level: Isolation, want: &[&str]) {
    for name in want {
        let (_, test) = TESTS.iter().find(|(test, _)| test == name).unwrap();
        let caught = attempts().find_map(|_| test(&Bench::new(level), 40).anomalies.pop());
        let by = caught.unwrap_or_else(|| panic!("{switch:?} passed LDBC {name}"));
        say(switch, &format!("ldbc {name} under {level:?}").to_lowercase(), &by);
    }
}

/// Checks that the list-append checker finds a violation of the level, by one of these anomalies.
#[track_caller]
fn list_append_catches(switch: Switch, level: Isolation, want: &[&str]) {
    let model = match level {
        Isolation::Snapshot => "strong-snapshot-isolation",
        Isolation::Serializable => "strict-serializable",
    };
    let mut last = Vec::new();
    for seed in attempts() {
        let db = Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap();
        let plan = Plan { level, threads: 8, transactions: 60, seed, stirred: false };
        let verdict = run(&db, plan).check(model, CHECK_SECONDS_MAX);
        if verdict.valid == adya::Valid::False
            && verdict
                .anomalies
                .iter()
                .any(|anomaly| want.iter().any(|want| anomaly.starts_with(want)))
        {
            say(switch, "list-append", &verdict.to_string());
            return;
        }
        last = verdict.anomalies;
    }
    panic!("{switch:?} passed the list-append checker under {level:?}, which found {last:?}");
}

#[test]
fn without_conflict_checks_updates_are_lost() {
    let _turn = turn();
    let switch = Switch::SkipConflictCheck;
    let _on = on(switch);
    hermitage_catches(
        switch,
        &[
            "p4_lost_update",
            "pmp_with_a_write_predicate",
            "g_single_with_a_write",
            "g_single_interleaved",
        ],
    );
    ldbc_catches(switch, Isolation::Snapshot, &["lu", "atomicity_c", "g0"]);
    list_append_catches(switch, Isolation::Snapshot, &["lost-update", "incompatible-order"]);
}

#[test]
fn without_read_validation_writes_skew() {
    let _turn = turn();
    let switch = Switch::SkipReadValidation;
    let _on = on(switch);
    hermitage_catches(
        switch,
        &["g2_item_write_skew", "g2_anti_dependency_cycle", "g2_two_anti", "read_only_transaction"],
    );
    ldbc_catches(switch, Isolation::Serializable, &["ws"]);
    list_append_catches(switch, Isolation::Serializable, &["G2-item"]);
}

#[test]
fn reading_the_latest_state_skews_reads() {
    let _turn = turn();
    let switch = Switch::ReadLatestInsteadOfSnapshot;
    let _on = on(switch);
    hermitage_catches(
        switch,
        &["pmp_predicate_many_preceders", "g_single_read_skew", "g_single_with_a_predicate"],
    );
    ldbc_catches(switch, Isolation::Snapshot, &["imp", "pmp", "fr"]);
    list_append_catches(switch, Isolation::Snapshot, &["G-single", "internal", "G1"]);
}

#[test]
fn reading_the_uncommitted_shows_what_never_was() {
    let _turn = turn();
    let switch = Switch::ReadUncommitted;
    let _on = on(switch);
    hermitage_catches(
        switch,
        &[
            "g0_write_cycle",
            "g1a_aborted_read",
            "g1b_intermediate_read",
            "g1c_circular",
            "otv_observed",
        ],
    );
    ldbc_catches(
        switch,
        Isolation::Snapshot,
        &["atomicity_rb", "g0", "g1a", "g1b", "g1c", "imp", "pmp", "otv", "fr", "lu"],
    );
    list_append_catches(
        switch,
        Isolation::Snapshot,
        &["G1", "G0", "internal", "incompatible-order"],
    );
}

#[test]
fn commits_seen_by_halves_are_fractured() {
    let _turn = turn();
    let switch = Switch::HalfCommitVisible;
    let _on = on(switch);
    ldbc_catches(switch, Isolation::Snapshot, &["fr", "otv"]);
    list_append_catches(switch, Isolation::Snapshot, &["G-single", "G1", "internal"]);
}

#[test]
fn rollbacks_that_commit_are_seen() {
    let _turn = turn();
    let switch = Switch::CommitOnRollback;
    let _on = on(switch);
    hermitage_catches(switch, &["g1a_aborted_read"]);
    ldbc_catches(switch, Isolation::Snapshot, &["atomicity_rb", "g1a"]);
}

#[test]
fn a_direction_that_is_not_written_is_missed() {
    let _turn = turn();
    let switch = Switch::ForgetReverseDirection;
    let _on = on(switch);
    ldbc_catches(switch, Isolation::Snapshot, &["atomicity_c"]);
    let by = storage::both_directions_agree().unwrap_err();
    say(switch, "check", &by);
}

#[test]
fn a_forgotten_tombstone_brings_an_edge_back() {
    let _turn = turn();
    assert_eq!(storage::removed_edges_stay_away(), Ok(()));
    let switch = Switch::ForgetTombstone;
    let _on = on(switch);
    say(switch, "removed edges", &storage::removed_edges_stay_away().unwrap_err());
}

#[test]
fn a_record_left_out_of_recovery_is_missed() {
    let _turn = turn();
    assert_eq!(storage::a_killed_process_loses_nothing(), Ok(()));
    let switch = Switch::DropLastRecordOnReplay;
    let _on = on(switch);
    say(switch, "kill", &storage::a_killed_process_loses_nothing().unwrap_err());
}

#[test]
fn checksums_not_looked_at_let_damage_pass() {
    let _turn = turn();
    assert_eq!(storage::flipped_bits_are_found(), Ok(()));
    let switch = Switch::IgnoreChecksum;
    let _on = on(switch);
    say(switch, "flipped bits", &storage::flipped_bits_are_found().unwrap_err());
}
