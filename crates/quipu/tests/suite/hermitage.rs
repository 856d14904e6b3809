//! Hermitage: the anomalies that each isolation level prevents, with or without a conflict. The
//! table is in `docs/isolation.md`, and the schedules are in `checks/hermitage.rs`.
//!
//! Tests have Hermitage's names of anomalies. G0, G1a to G1c, G-single and G2 are those of Adya's
//! thesis. OTV is an observed transaction that vanishes, PMP a predicate with many preceders, and
//! P4 a lost update.
#![allow(clippy::unwrap_used)]

use crate::checks::hermitage::{self as h, Lab, Schedule, Seen};
use quipu::Isolation;

/// Runs a schedule at both levels: in memtables, and with everything flushed and compacted between
/// any two steps.
#[track_caller]
fn check(schedule: Schedule, snapshot: Seen, serializable: Seen) {
    for stirred in [false, true] {
        let found = schedule(&Lab::new(Isolation::Snapshot, stirred));
        assert_eq!(found, snapshot, "snapshot, stirred: {stirred}");
        let found = schedule(&Lab::new(Isolation::Serializable, stirred));
        assert_eq!(found, serializable, "serializable, stirred: {stirred}");
    }
}

#[test]
fn g0_write_cycle() {
    check(h::g0_write_cycle, Seen::Conflict, Seen::Conflict);
}

#[test]
fn g1a_aborted_read() {
    check(h::g1a_aborted_read, Seen::Prevented, Seen::Prevented);
}

#[test]
fn g1b_intermediate_read() {
    check(h::g1b_intermediate_read, Seen::Prevented, Seen::Prevented);
}

#[test]
fn g1c_circular_information_flow() {
    check(h::g1c_circular_information_flow, Seen::Prevented, Seen::Conflict);
}

#[test]
fn otv_observed_transaction_vanishes() {
    check(h::otv_observed_transaction_vanishes, Seen::Conflict, Seen::Conflict);
}

#[test]
fn pmp_predicate_many_preceders() {
    check(h::pmp_predicate_many_preceders, Seen::Prevented, Seen::Prevented);
}

#[test]
fn pmp_with_a_write_predicate() {
    check(h::pmp_with_a_write_predicate, Seen::Conflict, Seen::Conflict);
}

#[test]
fn p4_lost_update() {
    check(h::p4_lost_update, Seen::Conflict, Seen::Conflict);
}

#[test]
fn g_single_read_skew() {
    check(h::g_single_read_skew, Seen::Prevented, Seen::Prevented);
}

#[test]
fn g_single_with_a_predicate() {
    check(h::g_single_with_a_predicate, Seen::Prevented, Seen::Prevented);
}

#[test]
fn g_single_with_a_write_predicate() {
    check(h::g_single_with_a_write_predicate, Seen::Conflict, Seen::Conflict);
}

#[test]
fn g_single_interleaved() {
    check(h::g_single_interleaved, Seen::Conflict, Seen::Conflict);
}

#[test]
fn g2_item_write_skew() {
    check(h::g2_item_write_skew, Seen::Anomaly, Seen::Conflict);
}

#[test]
fn g2_anti_dependency_cycle() {
    check(h::g2_anti_dependency_cycle, Seen::Anomaly, Seen::Conflict);
}

#[test]
fn g2_two_anti_dependency_edges() {
    check(h::g2_two_anti_dependency_edges, Seen::Anomaly, Seen::Conflict);
}

#[test]
fn read_only_transaction_anomaly() {
    check(h::read_only_transaction_anomaly, Seen::Anomaly, Seen::Conflict);
}

/// No level is stricter than documented: transactions on other rows, and read-only ones, never
/// conflict.
#[test]
fn what_does_not_depend_on_each_other_commits() {
    check(h::disjoint_work, Seen::Prevented, Seen::Prevented);
}
