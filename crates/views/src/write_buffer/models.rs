//! Concurrency models of the buffer, run by the model checker `shuttle`: threads that own keys add,
//! read and replace them, and one of the threads drains in steps. Meanwhile another thread drains
//! everything. `make models` runs them for longer.
//!
//! The store is a map. Each owner alone changes its keys, so it knows what a read must return.

use super::buffer::Buffer;
use super::drain::{Patience, Steps};
use base::Merge;
use base::shape::{int_to_word, word_to_int};
use env::model::explore;
use env::sync::Mutex;
use shuttle::thread;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Keys of each owner: more than `chunk_rows` and `part_rows` below, so a drain has several steps.
const KEYS: u64 = 4;

/// How often an owner visits its keys.
const ROUNDS: i64 = 3;

/// Rows in the store; a clone is a snapshot.
type Map = Arc<BTreeMap<u64, i64>>;

struct Shared {
    buffer: Buffer<u64, Merge>,
    written: Mutex<Map>,
    /// Number of writes that succeed before one fails; if it is below zero, none fails.
    fails_after: Mutex<i32>,
}

impl Shared {
    fn new(fails_after: i32) -> Arc<Self> {
        let (written, fails_after) = (Mutex::default(), Mutex::new(fails_after));
        let steps = Steps { chunk_rows: 2, part_rows: 3 };
        Arc::new(Self { buffer: Buffer::new(Merge::AddInt, 1, steps), written, fails_after })
    }

    fn write(&self, rows: &[(u64, u64)]) -> Result<()> {
        let mut left = self.fails_after.lock();
        *left -= 1;
        if *left == -1 {
            return Err(Error::new(ErrorKind::Io, "no"));
        }
        drop(left);
        let mut map = self.written.lock();
        let map = Arc::make_mut(&mut map);
        rows.iter().for_each(|(key, word)| *map.entry(*key).or_default() += word_to_int(*word));
        Ok(())
    }

    fn drain(&self) -> Result<()> {
        self.buffer.drain_in_order(|| Ok(()), |rows| self.write(rows))
    }

    fn keep_pace(&self, rows: usize) -> Result<()> {
        let room = |patience: Patience| Ok(patience == Patience::Wait || rows > 1);
        self.buffer.keep_pace(KEYS, rows, room, |rows| self.write(rows))
    }

    fn stored(&self, key: u64) -> i64 {
        self.written.lock().get(&key).copied().unwrap_or_default()
    }
}

/// Changes the keys of one owner, checks every read of them, and returns their values. `paced`: the
/// owner also drains in steps.
fn own(shared: &Shared, owner: u64, paced: bool) -> BTreeMap<u64, i64> {
    let keys: Vec<u64> = (0..KEYS).map(|i| 2 * i + owner).collect();
    let mut right = BTreeMap::new();
    for round in 1..=ROUNDS {
        for key in &keys {
            shared.buffer.add(key, int_to_word(round)).unwrap();
            *right.entry(*key).or_default() += round;
            if paced {
                // A failed write leaves its rows in the buffer.
                let _ = shared.keep_pace(round as usize);
            }
        }
        let replaced = keys[round as usize % keys.len()];
        let set = |_: &dyn Fn() -> Option<u64>| {
            Arc::make_mut(&mut shared.written.lock()).insert(replaced, 100 * round);
            Ok(())
        };
        shared.buffer.replace(&replaced, set).unwrap();
        right.insert(replaced, 100 * round);
        let one = keys[(round as usize + 1) % keys.len()];
        let sum = shared.buffer.with_sum(
            &one,
            || shared.stored(one),
            |stored, sum| sum.map_or(0, |&word| word_to_int(word)) + stored,
        );
        assert_eq!(sum, right[&one], "one key, buffered and written");
        let moment = || Arc::clone(&shared.written.lock());
        let (sums, at) = shared.buffer.sums_at(keys.len(), |i| &keys[i], moment);
        for (key, sum) in keys.iter().zip(sums) {
            let stored = at.get(key).copied().unwrap_or_default();
            assert_eq!(stored + sum.map_or(0, word_to_int), right[key], "many keys at a moment");
        }
    }
    right
}

fn owners_beside_a_writer(fails_after: i32) {
    let shared = Shared::new(fails_after);
    let owners: Vec<_> = (0..2)
        .map(|owner| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || own(&shared, owner, owner == 0))
        })
        .collect();
    let writer = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || (0..2).filter(|_| shared.drain().is_err()).count())
    };
    let right: BTreeMap<u64, i64> =
        owners.into_iter().flat_map(|owner| owner.join().unwrap()).collect();
    let failed = writer.join().unwrap();
    assert!(fails_after >= 0 || failed == 0, "no reason to fail");
    *shared.fails_after.lock() = i32::MAX;
    shared.drain().unwrap();
    assert_eq!(shared.buffer.rows(), 0);
    assert_eq!(**shared.written.lock(), right);
}

/// Removes all rows, as a reset does, and adds more, while other threads write.
fn forget_beside_writers() {
    let shared = Shared::new(-1);
    for key in 0..3 * KEYS {
        shared.buffer.add(&key, int_to_word(1)).unwrap();
    }
    let writers: Vec<_> = [true, false]
        .into_iter()
        .map(|paced| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || if paced { shared.keep_pace(2) } else { shared.drain() })
        })
        .collect();
    let held = shared.buffer.hold();
    *shared.written.lock() = Arc::default();
    held.clear();
    for key in 0..KEYS {
        shared.buffer.add(&key, int_to_word(7)).unwrap();
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
    shared.drain().unwrap();
    assert_eq!(shared.buffer.rows(), 0);
    let right = (0..KEYS).map(|key| (key, 7)).collect();
    assert_eq!(**shared.written.lock(), right);
}

#[test]
fn what_comes_after_all_is_forgotten_is_kept() {
    explore("forgetting beside writers", forget_beside_writers);
}

/// If a drain in steps gets an error, a concurrent flush does not report that all is written.
fn flush_beside_a_failure() {
    let shared = Shared::new(0);
    for key in 0..3 * KEYS {
        shared.buffer.add(&key, int_to_word(1)).unwrap();
    }
    let paced = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || shared.keep_pace(2).is_err())
    };
    let flushed = shared.drain().is_ok();
    if flushed {
        assert_eq!(
            shared.written.lock().len() as u64,
            3 * KEYS,
            "a flush that says so has written all"
        );
    }
    let failed = paced.join().unwrap();
    assert!(failed || !flushed || shared.buffer.rows() == 0);
}

#[test]
fn a_flush_beside_a_failure_has_written_all_or_fails() {
    explore("a flush beside a failing write", flush_beside_a_failure);
}

#[test]
fn an_increment_is_waiting_or_written_for_whoever_looks() {
    explore("buffered increments", || owners_beside_a_writer(-1));
}

#[test]
fn a_write_that_fails_loses_and_doubles_no_increment() {
    explore("buffered increments, a failing write", || {
        (0..3).for_each(owners_beside_a_writer);
    });
}
