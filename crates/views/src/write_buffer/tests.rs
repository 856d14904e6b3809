//! Buffered and written increments against exact sums, while threads add, replace and read.
#![allow(clippy::disallowed_methods)]

use super::buffer::Buffer;
use super::drain::{BYTES_A_ROW, Patience, ROWS_A_CHUNK, Steps};
use base::Merge;
use base::shape::{int_to_word, word_to_int};
use env::sync::Mutex;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Error, ErrorKind, Result};

/// Rows in the store; a clone is a snapshot.
#[derive(Default)]
struct Written(Mutex<Arc<BTreeMap<u64, i64>>>);

impl Written {
    fn add(&self, rows: &[(u64, u64)]) -> Result<()> {
        let mut map = self.0.lock();
        let map = Arc::make_mut(&mut map);
        for (key, word) in rows {
            *map.entry(*key).or_default() += word_to_int(*word);
        }
        Ok(())
    }

    fn now(&self) -> Arc<BTreeMap<u64, i64>> {
        Arc::clone(&self.0.lock())
    }

    fn get(&self, key: u64) -> i64 {
        self.0.lock().get(&key).copied().unwrap_or_default()
    }

    fn set(&self, key: u64, int: i64) -> Result<()> {
        Arc::make_mut(&mut self.0.lock()).insert(key, int);
        Ok(())
    }
}

fn new() -> (Buffer<u64, Merge>, Written) {
    (Buffer::new(Merge::AddInt, 1, Steps::of(ROWS_A_CHUNK)), Written::default())
}

/// No increment is refused.
fn none(_: usize, error: Error) {
    panic!("{error}");
}

fn sum(buffer: &Buffer<u64, Merge>, written: &Written, key: u64) -> i64 {
    let both = |stored, sum: Option<&u64>| sum.map_or(0, |&word| word_to_int(word)) + stored;
    buffer.with_sum(&key, || written.get(key), both)
}

/// More keys than one chunk.
const KEYS: u64 = 10_000;

fn add_ones(buffer: &Buffer<u64, Merge>) {
    let keys: Vec<u64> = (0..KEYS).collect();
    buffer.add_many(keys.len(), |i| &keys[i], |_| int_to_word(1), none).unwrap();
}

#[test]
fn keys_are_written_once_and_in_order_and_what_comes_meanwhile_waits_on() {
    let (buffer, written) = new();
    add_ones(&buffer);
    let (mut calls, mut last) = (0, None);
    let write = |rows: &[(u64, u64)]| -> Result<()> {
        calls += 1;
        for (key, _) in rows {
            assert!(last < Some(*key));
            last = Some(*key);
        }
        // Adds to keys that are written, being written, and not written yet.
        for key in [0, 5000, KEYS - 1, KEYS] {
            buffer.add(&key, int_to_word(1)).unwrap();
        }
        written.add(rows)
    };
    buffer.drain_in_order(|| Ok(()), write).unwrap();
    assert!(calls > 1);
    assert_eq!((written.now().len() as u64, written.get(5000), buffer.rows()), (KEYS, 1, 4));
    for (key, more) in [(0, 1), (5000, 1), (KEYS - 1, 1), (KEYS, 0), (1, 1)] {
        let came = if key == 1 { 0 } else { calls };
        assert_eq!(sum(&buffer, &written, key), more + came, "{key}");
    }
}

/// Found by reading: keys were counted whatever their size, and copied while they were written.
#[test]
fn long_keys_are_written_before_they_take_more_than_may_wait() {
    const MAX: u64 = 1_000;
    const KEY_BYTES: usize = 400;
    let buffer: Buffer<Box<[u8]>, Merge> = Buffer::new(Merge::AddInt, 1, Steps::of(8));
    let key = |i: u64| {
        let mut key = vec![b'k'; KEY_BYTES];
        key[..8].copy_from_slice(&i.to_be_bytes());
        key
    };
    let (mut most, mut rows) = (0, 0);
    let worth = |rows: u64, bytes: u64| rows + bytes / BYTES_A_ROW;
    for i in 0..1_020 {
        buffer.add(&key(i)[..], int_to_word(1)).unwrap();
        if buffer.is_behind(MAX) {
            let write = |chunk: &[(Box<[u8]>, u64)]| {
                rows += chunk.len();
                Ok(())
            };
            buffer.keep_pace(MAX, 2, |_| Ok(true), write).unwrap();
        }
        most = most.max(worth(buffer.rows(), buffer.bytes()));
    }
    assert!((MAX / 2..MAX + MAX / 8).contains(&most), "{most}");
    // Replaces a key during the drain, adds to a sealed one, and lets a drain fail.
    buffer.replace(&key(1_019)[..], |_| Ok(())).unwrap();
    let write = |chunk: &[(Box<[u8]>, u64)]| {
        buffer.add(&chunk[0].0[..], int_to_word(1)).unwrap();
        Err(Error::new(ErrorKind::Io, "no"))
    };
    assert!(buffer.drain_in_order(|| Ok(()), write).is_err());
    assert_eq!(buffer.bytes(), 2 * KEY_BYTES as u64 * buffer.rows());
    let write = |chunk: &[(Box<[u8]>, u64)]| {
        rows += chunk.len();
        Ok(())
    };
    buffer.drain_in_order(|| Ok(()), write).unwrap();
    assert_eq!((rows, buffer.rows(), buffer.bytes()), (1_019, 0, 0));
}

#[test]
fn a_commit_of_long_keys_has_fewer_of_them() {
    let buffer: Buffer<Box<[u8]>, Merge> = Buffer::new(Merge::AddInt, 1, Steps::of(ROWS_A_CHUNK));
    for i in 0..50_u8 {
        buffer.add(&vec![i; 100_000][..], int_to_word(1)).unwrap();
    }
    let mut chunks = Vec::new();
    let write = |chunk: &[(Box<[u8]>, u64)]| {
        chunks.push(chunk.len());
        Ok(())
    };
    buffer.drain_in_order(|| Ok(()), write).unwrap();
    assert_eq!(chunks, [6, 6, 6, 6, 6, 6, 6, 6, 2]);
}

/// Found by reading: writers to any key of the shard waited for a read of the device.
#[test]
fn nobody_who_adds_waits_for_a_read_of_the_store_and_no_increment_is_counted_twice_for_it() {
    let (buffer, written) = new();
    written.set(7, 100).unwrap();
    let both = |stored, sum: Option<&u64>| sum.map_or(0, |&word| word_to_int(word)) + stored;
    // On one thread, so a lock held here would deadlock.
    let reads = Cell::new(0);
    let read = |meanwhile: &dyn Fn()| {
        let stored = written.get(7);
        if reads.replace(reads.get() + 1) == 0 {
            meanwhile();
        }
        stored
    };
    let add = || assert!(buffer.add(&7, int_to_word(1)).is_ok());
    assert_eq!((buffer.with_sum(&7, || read(&add), both), reads.take()), (101, 1));
    let drain = || buffer.drain_in_order(|| Ok(()), |rows| written.add(rows)).unwrap();
    assert_eq!((buffer.with_sum(&7, || read(&drain), both), reads.take()), (101, 2));
    let set = || assert!(buffer.replace(&7, |_| written.set(7, 5)).is_ok());
    add();
    assert_eq!((buffer.with_sum(&7, || read(&set), both), reads.take()), (5, 2));
    let clear = || {
        add();
        let held = buffer.hold();
        written.set(7, 0).unwrap();
        held.clear();
    };
    assert_eq!((buffer.with_sum(&7, || read(&clear), both), reads.take()), (0, 2));
}

#[test]
fn nobody_who_reads_or_adds_is_held_up_while_the_store_has_no_room() {
    let (buffer, written) = new();
    add_ones(&buffer);
    let mut waits = 0;
    // On one thread, so a lock held here would deadlock.
    let wait = || -> Result<()> {
        waits += 1;
        buffer.add(&KEYS, int_to_word(1)).unwrap();
        assert_eq!(sum(&buffer, &written, 0), 1);
        assert_eq!(sum(&buffer, &written, KEYS - 1), 1);
        let asked = [0, KEYS - 1, KEYS];
        let (sums, at) = buffer.sums_at(asked.len(), |i| &asked[i], || written.now());
        let all = asked.iter().zip(sums).map(|(key, sum)| {
            at.get(key).copied().unwrap_or_default() + sum.map_or(0, word_to_int)
        });
        assert_eq!(all.collect::<Vec<_>>(), [1, 1, waits]);
        Ok(())
    };
    buffer.drain_in_order(wait, |rows| written.add(rows)).unwrap();
    assert_eq!((waits, buffer.rows()), (3, 1));
}

#[test]
fn who_adds_writes_in_pace_and_no_call_writes_everything() {
    const MAX: u64 = 200_000;
    const ADDED: u64 = 5_000;
    let (buffer, written) = new();
    let (mut most, mut chunks) = (0, 0);
    for call in 0..200 {
        // In another order than the keys', so that each part gets keys of each call.
        let keys: Vec<u64> = (0..ADDED).map(|i| (i * 200 + call).reverse_bits()).collect();
        buffer.add_many(keys.len(), |i| &keys[i], |_| int_to_word(1), none).unwrap();
        let mut rows_written = 0;
        let room = |patience| {
            assert_eq!(patience, Patience::Ask, "it is never full");
            Ok(true)
        };
        let write = |rows: &[(u64, u64)]| {
            rows_written += rows.len();
            chunks += 1;
            written.add(rows)
        };
        if buffer.is_behind(MAX) {
            buffer.keep_pace(MAX, 2 * ADDED as usize, room, write).unwrap();
        }
        assert!(rows_written < 2 * ADDED as usize + 5_000, "call {call}: {rows_written}");
        most = most.max(buffer.rows());
    }
    assert!(chunks > 100, "{chunks}");
    assert!((MAX / 8 * 7..MAX).contains(&most), "{most}");
    buffer.drain_in_order(|| Ok(()), |rows| written.add(rows)).unwrap();
    assert_eq!((written.now().len() as u64, buffer.rows()), (200 * ADDED, 0));
    assert!(written.now().values().all(|&sum| sum == 1));
}

#[test]
fn who_adds_waits_for_room_only_where_too_much_waits() {
    let (buffer, written) = new();
    let add = |call: u64| {
        let keys: Vec<u64> = (call * KEYS..(call + 1) * KEYS).collect();
        buffer.add_many(keys.len(), |i| &keys[i], |_| int_to_word(1), none).unwrap();
    };
    let max = 10 * KEYS;
    let waited = Cell::new(0);
    let room = |patience| {
        if patience == Patience::Wait {
            waited.set(waited.get() + 1);
        }
        Ok(patience == Patience::Wait)
    };
    for call in 0..9 {
        add(call);
        buffer.keep_pace(max, KEYS as usize, room, |rows| written.add(rows)).unwrap();
    }
    assert_eq!((waited.get(), written.now().len()), (0, 0));
    add(9);
    buffer.keep_pace(max, KEYS as usize, room, |rows| written.add(rows)).unwrap();
    assert!(waited.get() > 0);
    let there = written.now().len() as u64;
    assert!(0 < there && there < 2 * KEYS, "{there}");
    assert_eq!(buffer.rows(), max - there);
    buffer.drain_in_order(|| Ok(()), |rows| written.add(rows)).unwrap();
    assert_eq!((written.now().len() as u64, buffer.rows()), (max, 0));
}

#[test]
fn who_adds_nothing_to_a_full_buffer_comes_back() {
    let (buffer, written) = new();
    let write = |rows: &[(u64, u64)]| written.add(rows);
    add_ones(&buffer);
    // All rows are sealed, and then twice the limit is buffered.
    buffer.keep_pace(KEYS, 1, |_| Ok(true), write).unwrap();
    for key in KEYS..2 * KEYS {
        buffer.add(&key, int_to_word(1)).unwrap();
    }
    buffer.keep_pace(KEYS, 0, |_| Ok(true), write).unwrap();
    assert!(buffer.rows() < 2 * KEYS);
    buffer.drain_in_order(|| Ok(()), write).unwrap();
    // The limit is 0, and the buffer stays empty.
    buffer.keep_pace(0, 0, |_| Ok(true), write).unwrap();
    assert_eq!((written.now().len() as u64, buffer.rows()), (2 * KEYS, 0));
}

#[test]
fn what_a_failed_write_leaves_waits_on_with_what_came_meanwhile() {
    let (buffer, written) = new();
    add_ones(&buffer);
    let calls = Cell::new(0);
    let write = |rows: &[(u64, u64)]| {
        calls.set(calls.get() + 1);
        for key in [0, KEYS - 1] {
            buffer.add(&key, int_to_word(10)).unwrap();
        }
        if calls.get() == 2 {
            return Err(Error::new(ErrorKind::Io, "no"));
        }
        written.add(rows)
    };
    assert_eq!(buffer.drain_in_order(|| Ok(()), write).unwrap_err().to_string(), "no");
    let there = written.now().len() as u64;
    assert!(0 < there && there < KEYS);
    // Key 0 is written, and buffered again.
    assert_eq!(buffer.rows(), KEYS - there + 1);
    let sums = |key| sum(&buffer, &written, key);
    assert_eq!((sums(0), sums(1), sums(KEYS - 2), sums(KEYS - 1)), (21, 1, 1, 21));
    buffer.drain_in_order(|| Ok(()), |rows| written.add(rows)).unwrap();
    assert_eq!((written.get(0), written.get(KEYS - 1), buffer.rows()), (21, 21, 0));
    assert_eq!(written.now().values().sum::<i64>(), KEYS as i64 + 40);
}

/// Each thread owns some keys and knows their values, while another thread drains.
#[test]
fn no_reader_misses_or_doubles_an_increment_while_others_write() {
    const THREADS: u64 = 3;
    let (buffer, written) = new();
    let (buffer, written, stop) = (&buffer, &written, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let owners: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut random = thread + 1;
                    let mut right: BTreeMap<u64, i64> = BTreeMap::new();
                    let own: Vec<u64> = (0..KEYS).map(|i| i * THREADS + thread).collect();
                    for round in 0..40 {
                        let word = |i: usize| int_to_word(i as i64 % 7);
                        buffer.add_many(own.len(), |i| &own[i], word, none).unwrap();
                        // As a writer does when the buffer is behind.
                        let (room, write) = (|_| Ok(true), |rows: &[_]| written.add(rows));
                        buffer.keep_pace(KEYS / 2, own.len() / 3, room, write).unwrap();
                        for (i, key) in own.iter().enumerate() {
                            *right.entry(*key).or_default() += i as i64 % 7;
                        }
                        for _ in 0..200 {
                            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                            let key = own[(random >> 33) as usize % own.len()];
                            match random >> 60 {
                                0 => {
                                    let set = |_: &dyn Fn() -> Option<u64>| written.set(key, round);
                                    assert!(buffer.replace(&key, set).is_ok());
                                    right.insert(key, round);
                                }
                                1..4 => {
                                    buffer.add(&key, int_to_word(1)).unwrap();
                                    *right.entry(key).or_default() += 1;
                                }
                                _ => assert_eq!(sum(buffer, written, key), right[&key]),
                            }
                        }
                        let asked = &own[..500];
                        let (sums, at) =
                            buffer.sums_at(asked.len(), |i| &asked[i], || written.now());
                        for (key, sum) in asked.iter().zip(sums) {
                            let stored = at.get(key).copied().unwrap_or_default();
                            assert_eq!(stored + sum.map_or(0, word_to_int), right[key]);
                        }
                    }
                    right
                })
            })
            .collect();
        let writer = scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                buffer.drain_in_order(|| Ok(()), |rows| written.add(rows)).unwrap();
            }
        });
        // All threads end before a failed one ends the test: the writer must not run for ever.
        let owners: Vec<_> = owners.into_iter().map(|owner| owner.join()).collect();
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        let right: BTreeMap<u64, i64> =
            owners.into_iter().flat_map(std::result::Result::unwrap).collect();
        buffer.drain_in_order(|| Ok(()), |rows| written.add(rows)).unwrap();
        assert_eq!(buffer.rows(), 0);
        assert!(*written.now() == right);
    });
}

#[test]
fn what_is_forgotten_while_it_is_written_does_not_come_back() {
    let (buffer, written) = new();
    let (buffer, written) = (&buffer, &written);
    for _ in 0..50 {
        add_ones(buffer);
        std::thread::scope(|scope| {
            scope.spawn(|| buffer.drain_in_order(|| Ok(()), |rows| written.add(rows)).unwrap());
            let held = buffer.hold();
            *written.0.lock() = Arc::default();
            held.clear();
        });
        // Rows are written before they are removed, or not at all; none are added since.
        let there = written.now().len() as u64 + buffer.rows();
        assert_eq!((there, buffer.rows()), (0, 0));
    }
}
