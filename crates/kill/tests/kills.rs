//! A short run of the kills, of the full disk and of the memory limit for every test run; `make
//! kill`, `make full-disk` and `make memory` run more.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // starts a process

use std::process::Command;

/// Runs the harness and returns its output.
#[track_caller]
fn harness(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_quipu-kill")).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn nothing_acknowledged_is_lost_by_kills() {
    let text = harness(&["run", "--count", "60", "--seconds", "12"]);
    assert!(text.contains("lost: 0, wrong: 0"), "{text}");
}

#[test]
fn blobs_are_whole_and_leave_no_chunks_after_kills() {
    let text = harness(&["run", "--work", "blobs", "--count", "40", "--seconds", "6"]);
    assert!(text.contains("lost: 0, wrong: 0"), "{text}");
}

#[test]
fn increments_are_counted_once_after_kills() {
    let text = harness(&["run", "--work", "counters", "--count", "60", "--seconds", "6"]);
    assert!(text.contains("lost: 0, wrong: 0"), "{text}");
}

#[test]
fn rows_and_indexes_of_each_kind_agree_after_kills() {
    let text = harness(&["run", "--work", "rows", "--count", "40", "--seconds", "6"]);
    assert!(text.contains("lost: 0, wrong: 0"), "{text}");
}

#[test]
fn a_full_disk_loses_nothing_and_says_which_file() {
    let text = harness(&["full", "--rounds", "12"]);
    assert!(text.contains("lost: 0, wrong: 0") || text.contains("skipped"), "{text}");
}

#[test]
fn a_limit_on_the_length_of_files_loses_nothing() {
    let text = harness(&["full", "--variant", "file-limit", "--rounds", "6"]);
    assert!(text.contains("lost: 0, wrong: 0"), "{text}");
}

#[test]
fn import_scan_and_updates_stay_within_the_memory_limit() {
    // The same number of threads on every machine: their buffers are a fixed cost, for which this
    // small limit leaves no room.
    let slice = ["memory", "--limit", "256MB", "--edges", "4000000", "--threads", "2"];
    let text = harness(&slice);
    assert!(text.contains("scan again") || text.contains("skipped"), "{text}");
}
