//! Several processes write one database in a TiKV cluster at once, and one dies in a commit
//! (`crates/ordered/tests/processes`). A process that has died or was paused is replaced.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)] // processes

#[path = "../../ordered/tests/processes/mod.rs"]
mod processes;
mod server;

use ordered::{OrderedMap, Writers};
use server::Database;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use store::ErrorKind;

processes::histories!(Database);

/// The variable that makes this program the process of a test below: the name of its database.
const WRITER: &str = "QUIPU_WRITER";

/// Starts this program for one test, and waits until it has written a line.
fn start(test: &str, database: &Database) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(WRITER, database.name())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.as_mut().unwrap());
    assert!(output.lines().map(Result::unwrap).any(|line| line == "ready"));
    child
}

/// Tells the other process that this one is ready, and waits until that one says so, too.
fn rest() {
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]).unwrap();
}

/// Becomes the only writer, as soon as it may.
fn claimed(database: &Database) -> impl OrderedMap {
    loop {
        let map = database.map();
        match map.claim() {
            Ok(()) => return map,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Locked, "{error}"),
        }
    }
}

fn put(map: &impl OrderedMap, key: u8) -> store::Result<()> {
    let mut writer = map.writer()?;
    writer.put(&[(vec![key], vec![key])])?;
    writer.commit()
}

fn found(map: &impl OrderedMap) -> Vec<bool> {
    let mut values = Vec::new();
    map.snapshot().unwrap().get(&[vec![1], vec![2], vec![3]], &mut values).unwrap();
    values.iter().map(Option::is_some).collect()
}

#[test]
fn the_lease_of_a_dead_process_ends() {
    if let Ok(name) = std::env::var(WRITER) {
        let map = Database::named(&name, Writers::One).map();
        map.claim().unwrap();
        put(&map, 1).unwrap();
        return rest();
    }
    let database = Database::new(Writers::One);
    let mut child = start("the_lease_of_a_dead_process_ends", &database);
    assert_eq!(database.map().claim().unwrap_err().kind(), ErrorKind::Locked);
    child.kill().unwrap();
    child.wait().unwrap();
    let map = claimed(&database);
    put(&map, 2).unwrap();
    assert_eq!(found(&map), [true, true, false]);
}

#[test]
fn a_process_that_was_paused_and_replaced_cannot_commit() {
    if let Ok(name) = std::env::var(WRITER) {
        let map = Database::named(&name, Writers::One).map();
        map.claim().unwrap();
        put(&map, 1).unwrap();
        let mut writer = map.writer().unwrap();
        writer.put(&[(vec![3], vec![3])]).unwrap();
        rest();
        // One commit began before the process was replaced, the other begins after it.
        assert_eq!(writer.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(put(&map, 3).unwrap_err().kind(), ErrorKind::Locked);
        return;
    }
    let database = Database::new(Writers::One);
    let mut child = start("a_process_that_was_paused_and_replaced_cannot_commit", &database);
    let signal = |name: &str, id: u32| {
        let sent = Command::new("kill").args([name, &id.to_string()]).status().unwrap();
        assert!(sent.success(), "{name}");
    };
    signal("-STOP", child.id());
    let map = claimed(&database);
    put(&map, 2).unwrap();
    signal("-CONT", child.id());
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(found(&map), [true, true, false]);
}

#[test]
fn a_writer_that_died_in_its_turn_is_passed_over() {
    if let Ok(name) = std::env::var(WRITER) {
        let map = Database::named(&name, Writers::Many).map();
        put(&map, 1).unwrap();
        let mut writer = map.writer().unwrap();
        writer.put(&[(vec![3], vec![3])]).unwrap();
        return rest();
    }
    let database = Database::new(Writers::Many);
    let mut child = start("a_writer_that_died_in_its_turn_is_passed_over", &database);
    child.kill().unwrap();
    child.wait().unwrap();
    let map = database.map();
    put(&map, 2).unwrap();
    assert_eq!(found(&map), [true, true, false]);
}
