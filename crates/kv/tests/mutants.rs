//! Breaks the engine's durability on purpose with fault switches, and checks that a test notices:
//! run with `--features fault-switches`.
//!
//! `crates/quipu/tests/mutants.rs` turns the switches of isolation; these two need a disk that
//! fails.
#![allow(clippy::unwrap_used)]

mod common;

use base::Kind;
use base::fault_switch::{Switch, on};
use common::disk::{Fault, FaultyEnv};
use common::{create, options, scan, table, weight};
use env::Env;
use env::sync::Mutex;
use quipu_kv::Kv;
use std::path::Path;
use std::sync::Arc;
use store::{Durability, Store, WriteBatch};

/// A switch affects the whole process, so the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn open(env: &Arc<FaultyEnv>) -> Kv {
    let env: Arc<dyn Env> = Arc::<FaultyEnv>::clone(env);
    Kv::open(env, Path::new("/db"), options(Durability::Sync, 1 << 20)).unwrap()
}

fn put(kv: &Kv, id: base::KeyspaceId, edge: u64) -> store::Result<()> {
    let tables = vec![table(id, Kind::Put, &[(edge, edge, 1)])];
    kv.write(&WriteBatch { tables }, None).map(drop)
}

/// Fails where a power cut loses an acknowledged commit, whatever else the disk kept.
fn a_power_cut_loses_nothing() -> Result<(), String> {
    let env = Arc::new(FaultyEnv::new());
    let kv = open(&env);
    let id = create(&kv, &["rows"]).unwrap()[0];
    for edge in 0..5 {
        put(&kv, id, edge).unwrap();
    }
    for seed in 0..20 {
        let after = open(&Arc::new(env.after_power_cut(seed)));
        let found = scan(&after, id).unwrap().len();
        if found != 5 {
            return Err(format!("power cut {seed}: 5 acknowledged, {found} found"));
        }
    }
    Ok(())
}

/// Fails where a reader sees a commit whose record did not reach the log.
fn a_failed_commit_is_not_seen() -> Result<(), String> {
    for later in 0..4 {
        let env = Arc::new(FaultyEnv::new());
        let kv = open(&env);
        let id = create(&kv, &["rows"]).unwrap()[0];
        put(&kv, id, 1).unwrap();
        env.fail_at(env.operations() + later, Fault::Once { done: false });
        if put(&kv, id, 2).is_err() && weight(&kv, id, 2, 2).is_some() {
            return Err(format!("seen although it failed: {}", env.failed().unwrap_or_default()));
        }
    }
    Ok(())
}

#[test]
fn a_sync_left_out_is_missed_after_a_power_cut() {
    let _turn = TURN.lock();
    assert_eq!(a_power_cut_loses_nothing(), Ok(()));
    let _on = on(Switch::SkipSync);
    eprintln!("SkipSync is caught: {}", a_power_cut_loses_nothing().unwrap_err());
}

#[test]
fn a_commit_seen_before_it_is_logged_is_noticed_when_the_log_fails() {
    let _turn = TURN.lock();
    assert_eq!(a_failed_commit_is_not_seen(), Ok(()));
    let _on = on(Switch::PublishBeforeLog);
    eprintln!("PublishBeforeLog is caught: {}", a_failed_commit_is_not_seen().unwrap_err());
}
