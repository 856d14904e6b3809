//! The store is killed in the middle of commits, and starts again. `tools/with-tikv.sh` says in
//! `QUIPU_TIKV_SERVERS` where its process is; servers of others are not killed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // processes and threads

mod server;

use ordered::{OrderedMap, Writers};
use server::Database;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;

const KILLS: usize = 6;
/// Commits between two kills.
const COMMITS: u32 = 40;

/// Kills the store and starts it again.
fn kill(servers: &Path) {
    let id = std::fs::read_to_string(servers.join("store.pid")).unwrap();
    assert!(Command::new("kill").args(["-9", id.trim()]).status().unwrap().success());
    assert!(Command::new(servers.join("store.sh")).status().unwrap().success());
}

/// A commit of two rows, so that one of them is not the row where TiKV decides.
fn commit(map: &impl OrderedMap, number: u32) -> store::Result<()> {
    let mut writer = map.writer()?;
    for half in [0, 1] {
        writer.put(&[([number.to_be_bytes(), [0, 0, 0, half]].concat(), vec![7; 100])])?;
    }
    writer.commit()
}

#[test]
fn a_killed_store_keeps_every_acknowledged_commit_and_none_that_failed() {
    let Some(servers) = std::env::var_os("QUIPU_TIKV_SERVERS").map(PathBuf::from) else {
        eprintln!("left out: the servers are not those of tools/with-tikv.sh");
        return;
    };
    let database = Database::new(Writers::One);
    let map = database.map();
    map.claim().unwrap();
    // The other thread kills while this one commits.
    let (now, waits) = mpsc::sync_channel(0);
    let killer = std::thread::spawn(move || waits.iter().for_each(|()| kill(&servers)));
    let (mut acknowledged, mut failed, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..COMMITS * (KILLS as u32 + 1) {
        if number > 0 && number.is_multiple_of(COMMITS) {
            now.send(()).unwrap();
        }
        match commit(&map, number) {
            Ok(()) => acknowledged.push(number),
            Err(error) if error.to_string().contains("is unknown") => unknown.push(number),
            Err(_) => failed.push(number),
        }
    }
    drop(now);
    killer.join().unwrap();
    eprintln!(
        "{KILLS} kills: {} commits acknowledged, {} failed, {} unknown",
        acknowledged.len(),
        failed.len(),
        unknown.len()
    );
    let mut snapshot = map.snapshot().unwrap();
    let mut halves = |number: &u32| -> Vec<bool> {
        let key = |half| [number.to_be_bytes(), [0, 0, 0, half]].concat();
        let mut values = Vec::new();
        snapshot.get(&[key(0), key(1)], &mut values).unwrap();
        values.iter().map(Option::is_some).collect()
    };
    assert!(acknowledged.len() > COMMITS as usize);
    for number in &acknowledged {
        assert_eq!(halves(number), [true, true], "commit {number} was acknowledged");
    }
    for number in &failed {
        assert_eq!(halves(number), [false, false], "commit {number} failed");
    }
    for number in &unknown {
        let found = halves(number);
        assert_eq!(found[0], found[1], "commit {number} is unknown");
    }
}
