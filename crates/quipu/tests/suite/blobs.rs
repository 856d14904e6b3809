//! Blobs through the Rust API: on disk, in memory, in transactions, and of any length.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use base::BytesColumn;
use proptest::prelude::*;
use quipu::{
    BlobOptions, BlobRows, Blobs, Database, Durability, ErrorKind, Isolation, KeyColumn, KeyList,
    KeyOf, KeyType, Options, Parameters, RunOptions,
};
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Minimum length of a long value; and the length of a chunk.
const LARGE: usize = 16 << 10;
const CHUNK: usize = 256 << 10;

fn memory() -> Database {
    Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap()
}

fn pages(db: &Database) -> Blobs {
    db.blobs("pages", BlobOptions::default()).unwrap()
}

fn value_of(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

fn get<'k>(blobs: &Blobs, key: impl Into<KeyOf<'k>>) -> Option<Vec<u8>> {
    let mut out = vec![1, 2, 3];
    let found = blobs.get(key, &mut out).unwrap();
    if !found {
        assert!(out.is_empty());
    }
    found.then_some(out)
}

fn column(values: &[&[u8]]) -> BytesColumn {
    let mut column = BytesColumn::default();
    values.iter().for_each(|value| column.push(Some(value)));
    column
}

fn chunks(db: &Database) -> u64 {
    let stats = db.store().stats();
    let large = stats.keyspaces.iter().find(|(info, _)| info.name == "pages:large").unwrap();
    db.store().count(large.0.id).unwrap()
}

#[test]
fn values_of_every_length_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { durability: Durability::Os, threads: 1, ..Options::default() };
    let lengths = [0, 1, 1024, LARGE - 1, LARGE, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17];
    {
        let db = Database::open(folder.path(), options()).unwrap();
        let blobs = pages(&db);
        for (key, &len) in (0_u64..).zip(&lengths) {
            blobs.put(key, &value_of(len, key)).unwrap();
        }
        for (key, &len) in (0_u64..).zip(&lengths) {
            assert!(get(&blobs, key) == Some(value_of(len, key)), "{len} bytes");
        }
        db.close().unwrap();
    }
    let db = Database::open(folder.path(), options()).unwrap();
    let blobs = pages(&db);
    db.compact().unwrap();
    for (key, &len) in (0_u64..).zip(&lengths) {
        assert!(get(&blobs, key) == Some(value_of(len, key)), "{len} bytes, opened again");
    }
    let mut rows = BlobRows::default();
    blobs.scan(None, 100, &mut rows).unwrap();
    assert_eq!(rows.len(), lengths.len());
    for (i, &len) in lengths.iter().enumerate() {
        assert!(rows.value(i) == value_of(len, i as u64), "{len} bytes, scanned");
    }
    db.check(&|_, _| true).unwrap();
}

#[test]
fn a_long_value_that_is_replaced_or_deleted_leaves_no_chunk() {
    let db = memory();
    let blobs = pages(&db);
    let chunks = || chunks(&db);
    blobs.put(1_u64, &value_of(2 * CHUNK, 1)).unwrap();
    blobs.put(2_u64, &value_of(LARGE, 2)).unwrap();
    assert_eq!(chunks(), 3);
    blobs.put(1_u64, &value_of(LARGE, 3)).unwrap();
    assert_eq!(chunks(), 2);
    blobs.put(1_u64, b"short").unwrap();
    assert_eq!(chunks(), 1);
    assert!(blobs.delete(2_u64).unwrap());
    assert!(!blobs.delete(2_u64).unwrap());
    assert_eq!(chunks(), 0);
    // A key occurs twice in a batch: the chunks of its first value are never written.
    let long = [value_of(LARGE, 4), value_of(LARGE, 5)];
    blobs.put_many(KeyList::U64(&[7, 7]), &column(&[&long[0], &long[1]])).unwrap();
    assert_eq!(chunks(), 1);
    assert!(get(&blobs, 7_u64) == Some(long[1].clone()));
    let mut deleted = Vec::new();
    blobs.delete_many(KeyList::U64(&[7, 7, 8]), &mut deleted).unwrap();
    assert_eq!((deleted, chunks()), (vec![true, false, false], 0));
    // Discards delete the chunks too.
    for key in 1..5_u64 {
        blobs.put(key, &value_of(LARGE, key)).unwrap();
    }
    blobs.discard(1_u64).unwrap();
    blobs.discard_many(KeyList::U64(&[2, 3, 99])).unwrap();
    assert_eq!((chunks(), blobs.len().unwrap()), (1, 1));
}

#[test]
fn a_snapshot_keeps_a_long_value_that_is_overwritten_and_compacted_away() {
    let db = memory();
    let blobs = pages(&db);
    let old = value_of(CHUNK + 5, 1);
    blobs.put(1_u64, &old).unwrap();
    db.flush().unwrap();
    let snapshot = db.store().snapshot();
    let mut reader = blobs.reader(1_u64).unwrap().unwrap();
    blobs.put(1_u64, b"new").unwrap();
    db.compact().unwrap();
    assert!(get(&blobs.at(&snapshot), 1_u64) == Some(old.clone()));
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    assert!(read == old);
    assert_eq!(get(&blobs, 1_u64), Some(b"new".to_vec()));
}

#[test]
fn a_value_is_written_and_read_in_pieces() {
    let db = memory();
    let blobs = pages(&db);
    let value = value_of(5 * CHUNK + 1000, 9);
    let mut writer = blobs.writer(3_u64).unwrap();
    for piece in value.chunks(100_000) {
        writer.write_all(piece).unwrap();
    }
    assert!(!blobs.contains(3_u64).unwrap(), "it is not there before it is finished");
    writer.finish().unwrap();
    assert!(get(&blobs, 3_u64) == Some(value.clone()));

    let mut reader = blobs.reader(3_u64).unwrap().unwrap();
    assert_eq!(reader.len(), value.len() as u64);
    let mut piece = vec![0; 300_000];
    reader.seek(SeekFrom::Start(CHUNK as u64 - 10)).unwrap();
    reader.read_exact(&mut piece).unwrap();
    assert!(piece == value[CHUNK - 10..][..300_000]);
    reader.seek(SeekFrom::End(-5)).unwrap();
    piece.clear();
    reader.read_to_end(&mut piece).unwrap();
    assert!(piece == value[value.len() - 5..]);
    assert!(blobs.reader(4_u64).unwrap().is_none());
    // Also short values.
    let mut writer = blobs.writer(4_u64).unwrap();
    writer.write_all(b"short").unwrap();
    writer.finish().unwrap();
    let mut out = Vec::new();
    blobs.reader(4_u64).unwrap().unwrap().take_bytes(3, &mut out).unwrap();
    assert_eq!(out, b"sho");
}

#[test]
fn a_value_that_is_not_finished_leaves_the_key_as_it_was_and_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { durability: Durability::Os, threads: 1, ..Options::default() };
    {
        let db = Database::open(folder.path(), options()).unwrap();
        let blobs = pages(&db);
        blobs.put(1_u64, b"old").unwrap();
        let mut writer = blobs.writer(1_u64).unwrap();
        writer.write_all(&value_of(2 * CHUNK, 1)).unwrap();
        drop(writer);
        assert_eq!((get(&blobs, 1_u64), chunks(&db)), (Some(b"old".to_vec()), 0));
        // The process ends before the value is finished, so no destructor cleans up.
        let mut writer = blobs.writer(1_u64).unwrap();
        writer.write_all(&value_of(2 * CHUNK, 1)).unwrap();
        assert_eq!(chunks(&db), 3, "two chunks and a note");
        std::mem::forget(writer);
        db.close().unwrap();
    }
    let db = Database::open(folder.path(), options()).unwrap();
    assert_eq!(get(&pages(&db), 1_u64), Some(b"old".to_vec()));
    assert_eq!(chunks(&db), 0);
}

#[test]
fn a_value_that_is_being_written_is_whole_though_all_were_cleared_meanwhile() {
    let db = memory();
    let blobs = pages(&db);
    let value = value_of(3 * CHUNK + 1000, 1);
    // One value before and one after: their chunks, which surround those being written, are freed.
    for key in [1_u64, 2] {
        blobs.put(key, &value_of(2 * CHUNK, key)).unwrap();
    }
    let mut writer = blobs.writer(3_u64).unwrap();
    writer.write_all(&value[..2 * CHUNK]).unwrap();
    blobs.put(4_u64, &value_of(LARGE, 4)).unwrap();
    let mut other = blobs.writer(5_u64).unwrap();
    other.write_all(&value[..CHUNK]).unwrap();
    blobs.put(6_u64, &value_of(LARGE, 6)).unwrap();
    blobs.clear().unwrap();
    assert_eq!((blobs.len().unwrap(), chunks(&db)), (0, 5), "three chunks and two notes");
    db.compact().unwrap();
    writer.write_all(&value[2 * CHUNK..]).unwrap();
    writer.finish().unwrap();
    other.write_all(&value[CHUNK..]).unwrap();
    other.finish().unwrap();
    assert!(get(&blobs, 3_u64) == Some(value.clone()));
    assert!(get(&blobs, 5_u64) == Some(value));
    assert_eq!(blobs.check().unwrap().unused, 0);
    blobs.clear().unwrap();
    assert_eq!(chunks(&db), 0);
}

#[test]
fn a_transaction_that_clears_spares_what_it_and_others_are_writing() {
    let db = memory();
    let blobs = pages(&db);
    let value = value_of(2 * CHUNK + 1, 1);
    blobs.put(1_u64, &value_of(2 * CHUNK, 1)).unwrap();
    let mut outside = blobs.writer(2_u64).unwrap();
    outside.write_all(&value[..CHUNK]).unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    let seen = tx.blobs("pages").unwrap();
    let mut inside = seen.writer(3_u64).unwrap();
    inside.write_all(&value[..CHUNK]).unwrap();
    seen.put(4_u64, &value_of(CHUNK, 4)).unwrap();
    seen.clear().unwrap();
    inside.write_all(&value[CHUNK..]).unwrap();
    inside.finish().unwrap();
    assert!(get(&seen, 3_u64) == Some(value.clone()));
    assert_eq!(seen.len().unwrap(), 1);
    tx.commit().unwrap();
    outside.write_all(&value[CHUNK..]).unwrap();
    outside.finish().unwrap();
    assert!(get(&blobs, 2_u64) == Some(value.clone()));
    assert!(get(&blobs, 3_u64) == Some(value));
    assert_eq!((blobs.len().unwrap(), chunks(&db)), (2, 6));
    assert_eq!(blobs.check().unwrap().unused, 0);
}

#[test]
fn a_transaction_that_clears_conflicts_with_a_value_that_it_does_not_know_of() {
    let db = memory();
    let blobs = pages(&db);
    blobs.put(1_u64, &value_of(CHUNK, 1)).unwrap();
    let value = value_of(2 * CHUNK + 1, 1);
    let tx = db.transaction(Isolation::Snapshot);
    tx.blobs("pages").unwrap().clear().unwrap();
    let mut writer = blobs.writer(2_u64).unwrap();
    writer.write_all(&value[..CHUNK]).unwrap();
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    writer.write_all(&value[CHUNK..]).unwrap();
    writer.finish().unwrap();
    assert!(get(&blobs, 2_u64) == Some(value));
    assert_eq!(blobs.check().unwrap().large, 2);
}

/// Found by kills: a table of deletes made the estimate of chunks 0, and so a short value did not
/// look for the long value that it replaced.
#[test]
fn a_long_value_is_seen_behind_tables_of_deletes() {
    let db = memory();
    let blobs = pages(&db);
    let mut held = blobs.writer(99_u64).unwrap();
    held.write_all(&value_of(CHUNK, 99)).unwrap();
    (1..=4_u64).for_each(|key| blobs.put(key, &value_of(LARGE, key)).unwrap());
    db.flush().unwrap();
    // Their notes are put and deleted in one memtable, and the deletes lie between keys of the
    // first table.
    for key in 5..=24_u64 {
        let mut writer = blobs.writer(key).unwrap();
        writer.write_all(&value_of(CHUNK, key)).unwrap();
        writer.finish().unwrap();
        assert!(blobs.delete(key).unwrap());
    }
    db.flush().unwrap();
    blobs.put(1_u64, b"short").unwrap();
    blobs.put_many(KeyList::U64(&[2]), &column(&[b"short"])).unwrap();
    assert!(blobs.delete(3_u64).unwrap());
    blobs.discard(4_u64).unwrap();
    drop(held);
    assert_eq!((chunks(&db), blobs.check().unwrap().unused), (0, 0));
}

#[test]
fn a_value_that_was_given_up_leaves_nothing_behind_though_all_were_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { durability: Durability::Os, threads: 1, ..Options::default() };
    {
        let db = Database::open(folder.path(), options()).unwrap();
        let blobs = pages(&db);
        let mut dropped = blobs.writer(1_u64).unwrap();
        let mut forgotten = blobs.writer(2_u64).unwrap();
        dropped.write_all(&value_of(CHUNK, 1)).unwrap();
        forgotten.write_all(&value_of(CHUNK, 2)).unwrap();
        blobs.clear().unwrap();
        assert_eq!(blobs.collect_garbage().unwrap(), 0, "they are being written");
        drop(dropped);
        assert_eq!(chunks(&db), 2);
        std::mem::forget(forgotten);
        db.close().unwrap();
    }
    let db = Database::open(folder.path(), options()).unwrap();
    assert_eq!((pages(&db).len().unwrap(), chunks(&db)), (0, 0));
}

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn unless_others_won(done: quipu::Result<()>) -> bool {
    match done {
        Err(error) if error.kind() == ErrorKind::Conflict => false,
        done => done.map(|()| true).unwrap(),
    }
}

/// Threads write values in pieces, long values and short ones, while another thread clears: all
/// values are complete, and `compact` leaves no chunk without a row.
#[test]
fn values_that_are_written_while_others_clear_are_whole_or_gone() {
    for durability in [Durability::Sync, Durability::Os] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { durability, threads: 1, ..Options::default() };
        let db = Database::open(folder.path(), options).unwrap();
        let blobs = pages(&db);
        let done = AtomicBool::new(false);
        let attempts = AtomicU64::new(0);
        let value = value_of(CHUNK + 1000, 7);
        std::thread::scope(|scope| {
            let (blobs, done, value, attempts) = (&blobs, &done, &value, &attempts);
            // Ends the threads even if an assertion below fails.
            let end = SetWhenDropped(done);
            let until_done = |step: &'static (dyn Fn(&Blobs, &[u8], u64) + Sync)| {
                scope.spawn(move || {
                    let going_on = |_: &u64| !done.load(Ordering::Relaxed);
                    (0..).take_while(going_on).for_each(|n| step(blobs, value, n));
                });
            };
            until_done(&|blobs, _, n| {
                unless_others_won(blobs.put(1000 + n % 10, b"short"));
            });
            until_done(&|blobs, value, n| {
                unless_others_won(blobs.put(2000 + n % 3, &value[..LARGE]));
            });
            // Of two values that are written in pieces, one is not disturbed.
            scope.spawn(move || {
                let mut next = 0;
                while !done.load(Ordering::Relaxed) {
                    if attempts.load(Ordering::Relaxed) >= next {
                        blobs.clear().unwrap();
                        next = attempts.load(Ordering::Relaxed) + 2;
                    }
                    std::thread::yield_now();
                }
            });
            let mut finished = 0;
            for n in 0..60_u64 {
                let mut writer = blobs.writer(n % 5).unwrap();
                writer.write_all(&value[..CHUNK]).unwrap();
                std::thread::yield_now();
                writer.write_all(&value[CHUNK..]).unwrap();
                finished += u64::from(unless_others_won(writer.finish()));
                attempts.fetch_add(1, Ordering::Relaxed);
                let found = get(blobs, n % 5);
                assert!(found.is_none_or(|found| found == *value), "value {n} is not whole");
            }
            assert!(finished > 0);
            drop(end);
        });
        blobs.check().unwrap();
        db.compact().unwrap();
        assert_eq!(blobs.check().unwrap().unused, 0, "{durability:?}");
        db.check(&|_, _| true).unwrap();
    }
}

#[test]
fn a_script_that_compacts_collects_what_is_left_of_long_values() {
    let db = memory();
    let blobs = pages(&db);
    lose(&db, &blobs, &[1, 2]);
    assert_eq!(blobs.check().unwrap().unused, 2);
    db.run("::compact", &Parameters::new()).unwrap();
    assert_eq!(blobs.check().unwrap().unused, 0);
    assert_eq!(get(&blobs, 3_u64), Some(value_of(LARGE + 3, 3)));
}

#[test]
fn a_compaction_is_stopped_by_whoever_asks() {
    let db = memory();
    let blobs = pages(&db);
    for round in 0..2_u8 {
        (0..1000_u64).for_each(|key| blobs.put(key, &[round]).unwrap());
        db.flush().unwrap();
    }
    assert_eq!(db.compact_while(&|| false).unwrap_err().kind(), ErrorKind::Cancelled);
    let options = RunOptions { go_on: Some(&|| false), ..RunOptions::default() };
    let stopped = db.run_with("::compact", &Parameters::new(), &options).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Cancelled, "{stopped}");
    let late = RunOptions { timeout: Some(Duration::from_nanos(1)), ..RunOptions::default() };
    let late = db.run_with("::compact", &Parameters::new(), &late).unwrap_err();
    assert!(late.to_string().contains("timeout"), "{late}");
    db.compact().unwrap();
    assert_eq!(get(&blobs, 999_u64), Some(vec![1]));
    db.check(&|_, _| true).unwrap();
}

#[test]
fn a_batch_of_a_stream_ends_where_its_values_are_some_mebibytes() {
    const MIB: usize = 1 << 20;
    let db = memory();
    let blobs = pages(&db);
    // Long values, short ones between them, one longer than a batch, and many just below the limit.
    let len_of = |key: u64| match key {
        20 => 9 * MIB,
        0..40 if key.is_multiple_of(3) => 100,
        0..40 => MIB,
        _ => LARGE - 1,
    };
    let keys = 1500_u64;
    for key in 0..keys {
        blobs.put(key, &value_of(len_of(key), key)).unwrap();
    }
    let mut stream = blobs.range(None, None).unwrap();
    let mut rows = BlobRows::default();
    let (mut next, mut batches) = (0, 0);
    while stream.next_rows(4096, &mut rows).unwrap() {
        batches += 1;
        assert!(!rows.is_empty());
        let bytes: usize = (0..rows.len()).map(|i| rows.value(i).len()).sum();
        assert!(bytes <= 8 * MIB || rows.len() == 1, "{bytes} bytes in {} rows", rows.len());
        for (i, &key) in rows.words().iter().enumerate() {
            assert_eq!(key, next);
            assert!(rows.value(i) == value_of(len_of(key), key), "blob {key}");
            next += 1;
        }
    }
    assert_eq!(next, keys);
    assert!(batches < 25, "{batches} batches");
    assert!(!stream.next_rows(10, &mut rows).unwrap());
    // Requests fewer rows than were read ahead.
    let mut stream = blobs.range(Some(10_u64.into()), Some(50_u64.into())).unwrap();
    let mut streamed = Vec::new();
    while stream.next_rows(2, &mut rows).unwrap() {
        assert!(rows.len() <= 2);
        streamed.extend_from_slice(rows.words());
    }
    assert_eq!(streamed, (10..50).collect::<Vec<u64>>());
}

#[test]
fn a_transaction_may_delete_and_replace_long_values_while_it_streams_them() {
    let db = memory();
    (0..3_u64).for_each(|key| pages(&db).put(key, &value_of(LARGE, 0)).unwrap());
    let tx = db.transaction(Isolation::Snapshot);
    let blobs = tx.blobs("pages").unwrap();
    (3..9_u64).for_each(|key| blobs.put(key, &value_of(LARGE + 5, key)).unwrap());
    let mut stream = blobs.range(None, None).unwrap();
    let (mut rows, mut streamed) = (BlobRows::default(), Vec::new());
    assert!(stream.next_rows(1, &mut rows).unwrap());
    for deleted in [0_u64, 1, 4, 8] {
        blobs.delete(deleted).unwrap();
    }
    blobs.put(5_u64, &value_of(LARGE, 50)).unwrap();
    blobs.put(6_u64, b"short").unwrap();
    while stream.next_rows(2, &mut rows).unwrap() {
        streamed.extend((0..rows.len()).map(|i| (rows.words()[i], rows.value(i).to_vec())));
    }
    let want = [
        (2, value_of(LARGE, 0)),
        (3, value_of(LARGE + 5, 3)),
        (5, value_of(LARGE, 50)),
        (6, b"short".to_vec()),
        (7, value_of(LARGE + 5, 7)),
    ];
    assert!(streamed == want, "{:?}", streamed.iter().map(|row| row.0).collect::<Vec<_>>());
}

/// Found by reading: chunks that the transaction itself had removed counted as lost.
#[test]
fn a_reader_whose_value_its_transaction_changes_says_so_and_calls_it_no_corruption() {
    let db = memory();
    let long = || value_of(2 * CHUNK, 1);
    (0..3_u64).for_each(|key| pages(&db).put(key, &long()).unwrap());
    let tx = db.transaction(Isolation::Snapshot);
    let blobs = tx.blobs("pages").unwrap();
    blobs.put(3_u64, &long()).unwrap();
    let open = |key: u64| blobs.reader(key).unwrap().unwrap();
    let mut readers: Vec<_> = (0..4).map(open).collect();
    let mut out = Vec::new();
    readers[0].take_bytes(10, &mut out).unwrap();
    blobs.delete(0_u64).unwrap();
    blobs.put(1_u64, b"short").unwrap();
    blobs.put(3_u64, &value_of(2 * CHUNK, 3)).unwrap();
    for changed in [0, 1, 3] {
        let error = readers[changed].take_bytes(usize::MAX, &mut out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{changed}: {error}");
        assert!(error.to_string().contains("changed by this transaction since"), "{error}");
    }
    readers[2].take_bytes(usize::MAX, &mut out).unwrap();
    assert!(out == long(), "of another key");
    open(3).take_bytes(usize::MAX, &mut out).unwrap();
    assert!(out == value_of(2 * CHUNK, 3), "opened since");
    drop(tx);
    lose_a_chunk(&db);
    let tx = db.transaction(Isolation::Snapshot);
    let mut reader = tx.blobs("pages").unwrap().reader(0_u64).unwrap().unwrap();
    let error = reader.take_bytes(usize::MAX, &mut out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "what is lost is lost in a transaction too");
}

#[test]
fn short_values_come_in_batches_as_long_as_were_asked_for() {
    let db = memory();
    let blobs = pages(&db);
    let keys: Vec<u64> = (0..10_000).collect();
    let values: Vec<[u8; 8]> = keys.iter().map(|key| key.to_le_bytes()).collect();
    let values: Vec<&[u8]> = values.iter().map(|value| &value[..]).collect();
    blobs.put_many(KeyList::U64(&keys), &column(&values)).unwrap();
    db.flush().unwrap();
    let mut stream = blobs.range(None, None).unwrap();
    let mut rows = BlobRows::default();
    let mut lengths = Vec::new();
    while stream.next_rows(4096, &mut rows).unwrap() {
        lengths.push(rows.len());
    }
    assert_eq!((lengths.iter().sum::<usize>(), lengths.len()), (10_000, 3), "{lengths:?}");
}

#[test]
fn a_value_that_a_transaction_cannot_hold_is_put_without_one() {
    let options = Options { memory_limit_bytes: 16 << 20, threads: 1, ..Options::default() };
    let db = Database::in_memory(options).unwrap();
    let blobs = pages(&db);
    let value = value_of(20 << 20, 1);
    blobs.put(1_u64, &value).unwrap();
    assert!(get(&blobs, 1_u64) == Some(value.clone()));
    blobs.put(1_u64, &value[1..]).unwrap();
    assert!(get(&blobs, 1_u64).as_deref() == Some(&value[1..]));
    assert_eq!((chunks(&db), blobs.check().unwrap().unused), (80, 0));
    // In a transaction or a batch they must become visible together, so they must fit.
    let tx = db.transaction(Isolation::Snapshot);
    let error = tx.blobs("pages").unwrap().put(2_u64, &value).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    drop(tx);
    let error = blobs.put_many(KeyList::U64(&[2, 3]), &column(&[&value, b""])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!((blobs.len().unwrap(), chunks(&db)), (1, 80));
}

/// Found by reading: only the writes of transactions were limited.
#[test]
fn many_short_values_past_what_a_transaction_may_hold_are_refused_and_none_is_written() {
    let options = Options { memory_limit_bytes: 16 << 20, threads: 1, ..Options::default() };
    let db = Database::in_memory(options).unwrap();
    let blobs = pages(&db);
    let keys: Vec<u64> = (0..5000).collect();
    let values: Vec<Vec<u8>> = keys.iter().map(|&key| value_of(1000, key)).collect();
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    let error = blobs.put_many(KeyList::U64(&keys), &column(&values)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("the limit is 4194304"), "{error}");
    assert_eq!(blobs.len().unwrap(), 0);
    for (keys, values) in keys.chunks(1000).zip(values.chunks(1000)) {
        blobs.put_many(KeyList::U64(keys), &column(values)).unwrap();
    }
    assert_eq!(blobs.len().unwrap(), 5000);
}

/// Found by reading: each chunk was synced. Readers do not see unsynced commits, so what they see
/// shows whether a chunk was synced.
#[test]
fn chunks_wait_for_the_sync_that_their_row_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Sync, threads: 1, ..Options::default() };
    let db = Database::open(folder.path(), options).unwrap();
    let blobs = pages(&db);
    let value = value_of(3 * CHUNK + 5, 1);
    let mut writer = blobs.writer(1_u64).unwrap();
    writer.write_all(&value).unwrap();
    assert_eq!(chunks(&db), 1, "the note");
    writer.finish().unwrap();
    assert_eq!((chunks(&db), get(&blobs, 1_u64) == Some(value)), (4, true));
    let mut writer = blobs.writer(1_u64).unwrap();
    writer.write_all(&value_of(2 * CHUNK, 2)).unwrap();
    drop(writer);
    assert_eq!((chunks(&db), blobs.check().unwrap().unused), (4, 0), "given up");
}

/// The conflicting commit was invisible until its sync, and all attempts met it again within that
/// time.
#[test]
fn threads_that_put_one_long_value_under_sync_are_told_of_no_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Sync, ..Options::default() };
    let db = Database::open(folder.path(), options).unwrap();
    let blobs = pages(&db);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let blobs = &blobs;
            scope.spawn(move || {
                for i in 0..25 {
                    blobs.put(1_u64, &value_of(LARGE + 7, 100 * thread + i)).unwrap();
                }
            });
        }
    });
    let last = get(&blobs, 1_u64).unwrap();
    assert!((0..4).any(|thread| last == value_of(LARGE + 7, 100 * thread + 24)));
    assert_eq!(chunks(&db), 1);
}

#[test]
fn transactions_see_their_own_blobs_and_conflict_over_one_key() {
    let db = memory();
    let blobs = pages(&db);
    blobs.put(1_u64, b"one").unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    let inside = tx.blobs("pages").unwrap();
    let long = value_of(CHUNK + 1, 2);
    inside.put(2_u64, &long).unwrap();
    inside.put(1_u64, b"eins").unwrap();
    assert!(get(&inside, 2_u64) == Some(long.clone()));
    assert_eq!(get(&blobs, 2_u64), None);
    assert_eq!(inside.len().unwrap(), 2);
    let mut rows = BlobRows::default();
    inside.scan_back(None, 10, &mut rows).unwrap();
    assert_eq!(rows.words(), [2, 1]);
    tx.commit().unwrap();
    assert!(get(&blobs, 2_u64) == Some(long));
    assert_eq!(get(&blobs, 1_u64), Some(b"eins".to_vec()));

    let tx = db.transaction(Isolation::Snapshot);
    tx.blobs("pages").unwrap().put(1_u64, b"lost").unwrap();
    blobs.put(1_u64, b"won").unwrap();
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(get(&blobs, 1_u64), Some(b"won".to_vec()));
}

#[test]
fn text_and_signed_keys_are_in_their_order() {
    let db = memory();
    let texts = db.blobs("texts", BlobOptions { key: KeyType::Str }).unwrap();
    for key in ["b", "", "a\0b", "a", "ä", "ab"] {
        texts.put(key, key.as_bytes()).unwrap();
    }
    let mut rows = BlobRows::default();
    texts.scan(None, 10, &mut rows).unwrap();
    let KeyColumn::Str(keys) = rows.keys().unwrap() else { panic!("not text") };
    let keys: Vec<&[u8]> = (0..keys.len()).map(|i| keys.get(i)).collect();
    let want: Vec<&[u8]> = ["", "a", "a\0b", "ab", "b", "ä"].map(str::as_bytes).to_vec();
    assert_eq!(keys, want);
    texts.scan_back(Some("ab".into()), 2, &mut rows).unwrap();
    assert_eq!((rows.value(0), rows.value(1)), (&b"ab"[..], &b"a\0b"[..]));

    let signed = db.blobs("signed", BlobOptions { key: KeyType::I64 }).unwrap();
    for key in [3_i64, -1, i64::MIN, 0] {
        signed.put(key, b"x").unwrap();
    }
    signed.scan(Some((-1_i64).into()), 10, &mut rows).unwrap();
    assert_eq!(rows.keys().unwrap(), KeyColumn::I64(vec![-1, 0, 3]));
    let error = signed.put(1_u64, b"x").unwrap_err();
    assert_eq!(error.to_string(), "the keys are i64, u64 was given");
}

#[test]
fn names_and_types_that_do_not_fit_are_refused() {
    let db = memory();
    pages(&db);
    let error = db.blobs("pages", BlobOptions { key: KeyType::Str }).unwrap_err();
    assert_eq!(error.to_string(), "the blobs \"pages\" have u64 keys, str were asked for");
    assert!(db.existing_graph("pages").is_err());
    let error = db.require_blobs("nothing").unwrap_err();
    assert_eq!(error.to_string(), "no blobs \"nothing\"\nhint: there are: pages");
    let blobs = pages(&db);
    let error = blobs.put_many(KeyList::U64(&[1, 2]), &column(&[b"x"])).unwrap_err();
    assert_eq!(error.to_string(), "2 keys, but 1 values");
    let mut nulls = BytesColumn::default();
    nulls.push(None);
    assert!(blobs.put_many(KeyList::U64(&[1]), &nulls).is_err());
    blobs.drop_blobs().unwrap();
    assert!(db.existing_blobs("pages").unwrap().is_none());
    assert_eq!(db.store().keyspaces(), []);
}

#[test]
fn every_way_to_read_in_a_transaction_sees_what_it_wrote_and_nobody_elses() {
    let db = memory();
    let blobs = pages(&db);
    let length = |key: u64| [0, 5, 700, LARGE + 1, CHUNK + 3][key as usize % 5];
    let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for key in 0..200 {
        blobs.put(key, &value_of(length(key), key)).unwrap();
        model.insert(key, value_of(length(key), key));
    }
    db.compact().unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    let inside = tx.blobs("pages").unwrap();
    for key in (0..300).step_by(3) {
        let value = value_of(length(key + 1), key + 1000);
        inside.put(key, &value).unwrap();
        model.insert(key, value);
    }
    for key in (0..300).step_by(7) {
        assert_eq!(inside.delete(key).unwrap(), model.remove(&key).is_some(), "{key}");
    }
    // Other writers commit in the meantime.
    blobs.put(1000_u64, b"theirs").unwrap();
    blobs.put(1_u64, b"theirs").unwrap();
    blobs.delete(2_u64).unwrap();

    assert_eq!(inside.len().unwrap(), model.len() as u64);
    let all: Vec<(u64, Vec<u8>)> = model.clone().into_iter().collect();
    let pairs = |rows: &BlobRows| -> Vec<(u64, Vec<u8>)> {
        let keys = rows.words().iter().copied();
        keys.enumerate().map(|(i, key)| (key, rows.value(i).to_vec())).collect()
    };
    let mut rows = BlobRows::default();
    inside.scan(Some(50_u64.into()), 40, &mut rows).unwrap();
    let from_50: Vec<_> = all.iter().filter(|(key, _)| *key >= 50).cloned().collect();
    assert!(pairs(&rows) == from_50[..40]);
    inside.scan_back(Some(150_u64.into()), 40, &mut rows).unwrap();
    let back: Vec<_> = all.iter().rev().filter(|(key, _)| *key <= 150).cloned().collect();
    assert!(pairs(&rows) == back[..40]);
    let mut scan = inside.range(Some(20_u64.into()), Some(280_u64.into())).unwrap();
    let mut found = Vec::new();
    while scan.next_rows(33, &mut rows).unwrap() {
        found.extend(pairs(&rows));
    }
    let within: Vec<_> = all.iter().filter(|(key, _)| (20..280).contains(key)).cloned().collect();
    assert!(found == within);
    inside.sample(500, 3, &mut rows).unwrap();
    assert_eq!(rows.len(), 500);
    assert!(pairs(&rows).iter().all(|(key, value)| model.get(key) == Some(value)));
    let drawn: std::collections::BTreeSet<_> = rows.words().iter().collect();
    assert!(drawn.iter().any(|&&key| key % 3 == 0), "what it wrote is drawn too");
    // The estimate of a memtable's range may be three times too low or too high.
    let measure = inside.measure(None, None).unwrap();
    let is_near = (model.len() as u64 / 3..=model.len() as u64 * 3).contains(&measure.rows);
    assert!(is_near, "{measure:?} of {}", model.len());
    for key in 0..300 {
        assert_eq!(inside.contains(key).unwrap(), model.contains_key(&key), "{key}");
        let mut read = Vec::new();
        match inside.reader(key).unwrap() {
            Some(mut reader) => {
                reader.read_to_end(&mut read).unwrap();
                assert!(model.get(&key) == Some(&read), "{key}");
            }
            None => assert!(!model.contains_key(&key), "{key}"),
        }
    }
    tx.rollback();
    assert_eq!(blobs.len().unwrap(), 200);
    assert_eq!(get(&blobs, 1_u64), Some(b"theirs".to_vec()));
}

#[test]
fn a_sample_is_of_what_there_is_and_a_measure_is_near_it() {
    let db = memory();
    let blobs = pages(&db);
    let mut rows = BlobRows::default();
    blobs.sample(5, 1, &mut rows).unwrap();
    assert!(rows.is_empty());
    let keys: Vec<u64> = (0..2000).collect();
    let values: Vec<Vec<u8>> = keys.iter().map(|&key| value_of(100, key)).collect();
    let refs: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    blobs.put_many(KeyList::U64(&keys), &column(&refs)).unwrap();
    db.compact().unwrap();
    let mut deleted = Vec::new();
    blobs.delete_many(KeyList::U64(&keys[..1000]), &mut deleted).unwrap();
    blobs.put(1500_u64, &value_of(LARGE, 3)).unwrap();
    blobs.sample(4000, 7, &mut rows).unwrap();
    assert_eq!(rows.len(), 4000);
    for (i, &key) in rows.words().iter().enumerate() {
        let want = if key == 1500 { value_of(LARGE, 3) } else { values[key as usize].clone() };
        assert!(key >= 1000, "{key} is deleted");
        assert!(rows.value(i) == want, "{key}");
    }
    let distinct: std::collections::BTreeSet<_> = rows.words().iter().collect();
    assert!(distinct.len() > 900, "{} of 1000: 4 draws a key leave 2 in 100 out", distinct.len());
    db.compact().unwrap();
    let measure = blobs.measure(None, None).unwrap();
    assert_eq!(measure.rows, 1000);
    // Adjacent rows have equal values, which compress well.
    assert!(measure.bytes > 40_000 && measure.bytes < 200_000, "{measure:?}");
}

/// Found by reading: chunks were not counted, so gigabytes were measured as a few kilobytes.
#[test]
fn a_measure_has_the_bytes_of_long_values() {
    let db = memory();
    let blobs = pages(&db);
    let long = value_of(LARGE + 100, 1);
    (0..20_u64).for_each(|key| blobs.put(key, b"short").unwrap());
    (20..50_u64).for_each(|key| blobs.put(key, &long).unwrap());
    db.compact().unwrap();
    let bytes = |from: Option<u64>, to: Option<u64>| {
        blobs.measure(from.map(KeyOf::U64), to.map(KeyOf::U64)).unwrap().bytes
    };
    let near = |bytes: u64, values: u64| {
        let want = values * long.len() as u64;
        assert!((want..want + want / 20 + 4096).contains(&bytes), "{bytes}, not {want}");
    };
    near(bytes(None, None), 30);
    near(bytes(Some(20), Some(40)), 20);
    near(bytes(Some(40), None), 10);
    assert!(bytes(None, Some(20)) < 4096, "short ones alone");
    // More rows than are read: those at both ends are extrapolated.
    let keys: Vec<u64> = (1000..7000).collect();
    let values: Vec<&[u8]> =
        keys.iter().map(|key| if key % 1000 == 0 { long.as_slice() } else { b"short" }).collect();
    for (keys, values) in keys.chunks(1000).zip(values.chunks(1000)) {
        blobs.put_many(KeyList::U64(keys), &column(values)).unwrap();
    }
    db.compact().unwrap();
    let most = bytes(Some(1000), Some(7000));
    let want = 6 * long.len() as u64;
    assert!((want / 2..2 * want).contains(&most), "{most}, some {want}");
}

/// Deletes the second chunk of the first long value, without the view.
fn lose_a_chunk(db: &Database) {
    use base::{Batch, KeyRange, Kind, Projection};
    let infos = db.store().keyspaces();
    let large = infos.iter().find(|info| info.name == "pages:large").unwrap();
    let mut rows = Batch::new(&large.shape);
    let all = KeyRange::all_words();
    db.store().scan_into(large.id, &all, Projection::ALL, 2, &mut rows).unwrap();
    let chunk = [rows.key_words(0)[1], rows.key_words(1)[1]];
    assert_eq!(chunk[1], 1);
    let mut lost = Batch::new(&large.shape);
    lost.keys.push(base::KeyRef::Words(&chunk));
    lost.values[0].push_null();
    lost.rows = 1;
    let table = store::TableWrites {
        keyspace: large.id,
        kinds: store::Kinds::Uniform(Kind::Delete),
        rows: lost,
        delete_ranges: Vec::new(),
    };
    db.store().write(&store::WriteBatch { tables: vec![table] }, None).unwrap();
}

/// Puts ten long values, and deletes the rows of some of them without the view, which would also
/// delete their chunks.
fn lose(db: &Database, blobs: &Blobs, lost: &[u64]) {
    (0..10_u64).for_each(|key| blobs.put(key, &value_of(LARGE + key as usize, key)).unwrap());
    let stats = db.store().stats();
    let rows = stats.keyspaces.iter().find(|(info, _)| info.name == "pages").unwrap();
    let mut batch = base::Batch::new(&rows.0.shape);
    for &key in lost {
        batch.keys.push(base::KeyRef::Words(&[key]));
        batch.values.iter_mut().for_each(base::Column::push_null);
        batch.rows += 1;
    }
    let table = store::TableWrites {
        keyspace: rows.0.id,
        kinds: store::Kinds::Uniform(base::Kind::Delete),
        rows: batch,
        delete_ranges: Vec::new(),
    };
    db.store().write(&store::WriteBatch { tables: vec![table] }, None).unwrap();
}

#[test]
fn chunks_that_lost_their_rows_are_collected_and_no_others() {
    let db = memory();
    let blobs = pages(&db);
    let lost = [0, 1, 2, 5, 7, 8, 9];
    let mut writer = blobs.writer(99_u64).unwrap();
    writer.write_all(&value_of(CHUNK, 1)).unwrap();
    lose(&db, &blobs, &lost);
    assert_eq!(blobs.check().unwrap().unused, 8, "with the chunks that are being written");
    assert_eq!(blobs.collect_garbage().unwrap(), 7);
    assert_eq!((chunks(&db), blobs.check().unwrap().unused), (5, 1));
    // The same in a transaction.
    lose(&db, &blobs, &lost);
    let tx = db.transaction(Isolation::Snapshot);
    assert_eq!(tx.blobs("pages").unwrap().collect_garbage().unwrap(), 7);
    tx.commit().unwrap();
    writer.finish().unwrap();
    assert_eq!((chunks(&db), blobs.check().unwrap().unused), (4, 0));
    assert!(
        [3_u64, 4, 6].iter().all(|&key| get(&blobs, key).unwrap().len() == LARGE + key as usize)
    );
}

#[test]
fn a_lost_chunk_is_corruption_never_a_shorter_value() {
    let db = memory();
    let blobs = pages(&db);
    blobs.put(1_u64, &value_of(2 * CHUNK, 1)).unwrap();
    blobs.put(2_u64, b"whole").unwrap();
    blobs.put(3_u64, &value_of(CHUNK + 1, 3)).unwrap();
    let check = db.check(&|_, _| true).unwrap();
    assert_eq!((check.blobs[0].1.rows, check.blobs[0].1.large), (3, 2));
    lose_a_chunk(&db);
    let mut out = Vec::new();
    assert_eq!(blobs.get(1_u64, &mut out).unwrap_err().kind(), ErrorKind::Corruption);
    let mut reader = blobs.reader(1_u64).unwrap().unwrap();
    assert_eq!(reader.take_bytes(usize::MAX, &mut out).unwrap_err().kind(), ErrorKind::Corruption);
    assert_eq!(db.check(&|_, _| true).unwrap_err().kind(), ErrorKind::Corruption);
    // Then repairs it as a repair does.
    let done = blobs.reconcile().unwrap();
    assert_eq!((done.rows, done.lost), (2, 1));
    assert_eq!(get(&blobs, 1_u64), None);
    assert!(get(&blobs, 3_u64) == Some(value_of(CHUNK + 1, 3)));
    let check = db.check(&|_, _| true).unwrap();
    assert_eq!((check.blobs[0].1.rows, check.blobs[0].1.unused), (2, 0));
}

/// Loads these rows in batches of three.
fn load<'k, K: Copy + Send + 'static + Into<KeyOf<'k>>>(
    blobs: &Blobs,
    rows: Vec<(K, Vec<u8>)>,
) -> quipu::Result<quipu::BulkWritten> {
    let mut at = 0;
    blobs.load(move |out| {
        for (key, value) in rows.iter().skip(at).take(3) {
            out.push(*key, value)?;
        }
        at += 3;
        Ok(at < rows.len() + 3)
    })
}

#[test]
fn a_load_is_there_at_once_durable_and_beside_what_was_loaded_before() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { durability: Durability::None, threads: 1, ..Options::default() };
    {
        let db = Database::open(folder.path(), options()).unwrap();
        let blobs = pages(&db);
        blobs.put(5_u64, b"before").unwrap();
        let before = db.store().snapshot();
        let rows =
            |keys: std::ops::Range<u64>| keys.map(|key| (key, value_of(10_000, key))).collect();
        let written = load(&blobs, rows(1..1001)).unwrap();
        assert_eq!(written.rows, 1000);
        assert!((10_000_000..10_200_000).contains(&written.bytes), "{written:?}");
        assert!(get(&blobs, 5_u64) == Some(value_of(10_000, 5)), "the load is newer");
        let old = blobs.at(&before);
        assert_eq!((old.len().unwrap(), get(&old, 5_u64)), (1, Some(b"before".to_vec())));
        for step in 1..5 {
            load(&blobs, rows(1000 * step + 1..1000 * step + 1001)).unwrap();
        }
        let stats = db.store().stats();
        let rows = stats.keyspaces.iter().find(|(info, _)| info.name == "pages").unwrap();
        let levels = &rows.1.tables_per_level;
        assert!(levels.last().is_some_and(|&bottom| bottom >= 4), "without a merge: {levels:?}");
        std::mem::forget(db); // as if it was killed: nothing is flushed
    }
    let copy = tempfile::tempdir().unwrap();
    copy_folder(folder.path(), copy.path());
    let db = Database::open(copy.path(), options()).unwrap();
    let blobs = pages(&db);
    assert_eq!(blobs.len().unwrap(), 5000);
    for key in [1_u64, 5, 1000, 1001, 5000] {
        assert!(get(&blobs, key) == Some(value_of(10_000, key)), "{key}");
    }
    db.check(&|_, _| true).unwrap();
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_load_that_cannot_be_is_refused_and_changes_nothing() {
    let db = memory();
    let blobs = pages(&db);
    blobs.put(1_u64, b"one").unwrap();
    blobs.put(900_u64, &value_of(LARGE, 9)).unwrap();
    let value = || b"new".to_vec();
    let refuse = |rows: Vec<(u64, Vec<u8>)>, says: &str| {
        let error = load(&blobs, rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!((blobs.len().unwrap(), get(&blobs, 1_u64)), (2, Some(b"one".to_vec())));
    };
    refuse(vec![(1, value()), (2, value()), (2, value())], "row 2 is not above");
    refuse(vec![(1, value()), (2, value()), (3, value()), (3, value())], "row 3 is not above");
    refuse(vec![(1, value()), (2, value_of(LARGE, 1))], "row 1 has 16384 bytes");
    refuse(vec![(1, value()), (900, value())], "lies in chunks");
    let error = blobs.load(|rows| rows.push("text", b"").map(|()| true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = blobs.load(|_| Err(quipu::Error::new(ErrorKind::Io, "no more"))).unwrap_err();
    assert_eq!(error.to_string(), "no more");
    let tx = db.transaction(Isolation::Snapshot);
    let inside = tx.blobs("pages").unwrap();
    assert_eq!(load(&inside, vec![(2_u64, value())]).unwrap_err().kind(), ErrorKind::InvalidInput);
    drop((inside, tx));
    assert_eq!(load(&blobs, Vec::<(u64, Vec<u8>)>::new()).unwrap().rows, 0);
    // Strings in their order, which is not the order of their lengths.
    let names = db.blobs("names", BlobOptions { key: KeyType::Str }).unwrap();
    load(&names, vec![("", value()), ("a", value()), ("aa", value()), ("b", value())]).unwrap();
    assert_eq!(get(&names, "aa"), Some(value()));
    assert!(load(&names, vec![("b", value()), ("aa", value())]).is_err());
}

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<(u64, usize)>),
    Delete(Vec<u64>),
    Discard(Vec<u64>),
    Load(BTreeMap<u64, usize>),
    Flush,
    Compact,
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![6 => 0..40_usize, 2 => LARGE - 2..LARGE + 3, 1 => CHUNK - 1..CHUNK + 2];
    prop_oneof![
        8 => prop::collection::vec((0..24_u64, len), 1..6).prop_map(Step::Put),
        2 => prop::collection::vec(0..24_u64, 1..6).prop_map(Step::Delete),
        2 => prop::collection::vec(0..24_u64, 1..6).prop_map(Step::Discard),
        2 => prop::collection::btree_map(0..24_u64, 0..40_usize, 1..6).prop_map(Step::Load),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Clear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn blobs_are_an_ordered_map(steps in prop::collection::vec(step(), 1..24), single: bool) {
        let db = memory();
        let blobs = pages(&db);
        let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (n, step) in steps.iter().enumerate() {
            match step {
                Step::Put(rows) => {
                    let values: Vec<_> = rows.iter().map(|&(k, len)| value_of(len, k + n as u64)).collect();
                    let keys: Vec<u64> = rows.iter().map(|row| row.0).collect();
                    if single {
                        keys.iter().zip(&values).for_each(|(&key, value)| blobs.put(key, value).unwrap());
                    } else {
                        let refs: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
                        blobs.put_many(KeyList::U64(&keys), &column(&refs)).unwrap();
                    }
                    model.extend(keys.into_iter().zip(values));
                }
                Step::Delete(keys) => {
                    let mut deleted = Vec::new();
                    blobs.delete_many(KeyList::U64(keys), &mut deleted).unwrap();
                    let want: Vec<bool> = keys.iter().map(|key| model.remove(key).is_some()).collect();
                    prop_assert_eq!(deleted, want);
                }
                Step::Discard(keys) => {
                    if single {
                        keys.iter().for_each(|&key| blobs.discard(key).unwrap());
                    } else {
                        blobs.discard_many(KeyList::U64(keys)).unwrap();
                    }
                    keys.iter().for_each(|key| drop(model.remove(key)));
                }
                Step::Load(rows) => {
                    let rows: BTreeMap<u64, Vec<u8>> =
                        rows.iter().map(|(&key, &len)| (key, value_of(len, key + n as u64))).collect();
                    let long = rows.keys().any(|key| model.get(key).is_some_and(|old| old.len() >= LARGE));
                    let loaded = load(&blobs, rows.clone().into_iter().collect());
                    prop_assert_eq!(loaded.is_err(), long);
                    if !long {
                        model.extend(rows);
                    }
                }
                Step::Flush => db.flush().unwrap(),
                Step::Compact => db.compact().unwrap(),
                Step::Clear => { blobs.clear().unwrap(); model.clear(); }
            }
        }
        let keys: Vec<u64> = (0..26).collect();
        let (mut present, mut values) = (Vec::new(), BytesColumn::default());
        blobs.get_many(KeyList::U64(&keys), &mut present, &mut values).unwrap();
        for (i, key) in keys.iter().enumerate() {
            prop_assert_eq!(present[i], model.contains_key(key));
            prop_assert!(values.get(i) == model.get(key).map_or(&[][..], Vec::as_slice));
        }
        let mut rows = BlobRows::default();
        blobs.scan(Some(5_u64.into()), 7, &mut rows).unwrap();
        let want: Vec<_> = model.range(5..).take(7).collect();
        prop_assert_eq!(rows.words(), want.iter().map(|row| *row.0).collect::<Vec<_>>());
        prop_assert!(want.iter().enumerate().all(|(i, row)| rows.value(i) == row.1.as_slice()));
        blobs.scan_back(Some(20_u64.into()), 7, &mut rows).unwrap();
        let want: Vec<_> = model.range(..=20).rev().take(7).collect();
        prop_assert_eq!(rows.words(), want.iter().map(|row| *row.0).collect::<Vec<_>>());
        prop_assert!(want.iter().enumerate().all(|(i, row)| rows.value(i) == row.1.as_slice()));
        let mut stream = blobs.range(Some(3_u64.into()), Some(9_u64.into())).unwrap();
        let mut streamed = Vec::new();
        while stream.next_rows(2, &mut rows).unwrap() {
            streamed.extend_from_slice(rows.words());
        }
        prop_assert_eq!(streamed, model.range(3..9).map(|row| *row.0).collect::<Vec<_>>());
        prop_assert_eq!(blobs.len().unwrap(), model.len() as u64);
        prop_assert_eq!(blobs.collect_garbage().unwrap(), 0);
        db.check(&|_, _| true).unwrap();
    }
}

#[test]
fn a_value_past_a_gibibyte_is_refused_before_it_is_written() {
    let db = Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap();
    let blobs = pages(&db);
    // Its pages are never touched.
    let long = vec![0; (1 << 30) + 1];
    assert_eq!(blobs.put(1_u64, &long).unwrap_err().kind(), ErrorKind::Limit);
    let mut writer = blobs.writer(1_u64).unwrap();
    writer.append(b"first").unwrap();
    assert_eq!(writer.append(&long[5..]).unwrap_err().kind(), ErrorKind::Limit);
    writer.append(b", then more").unwrap();
    writer.finish().unwrap();
    let mut value = Vec::new();
    assert!(blobs.get(1_u64, &mut value).unwrap());
    assert_eq!(value, b"first, then more");
}

#[test]
fn statistics_say_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), Options { threads: 1, ..Options::default() }).unwrap();
    let blobs = pages(&db);
    let written = || db.stats().unwrap().written;
    let before = written();
    assert_eq!((before.flushed, before.loaded, before.merged), (0, 0, 0));
    for round in 0..3_u8 {
        for key in 0..100_u64 {
            blobs.put(key, &[round; 1000]).unwrap();
        }
        db.flush().unwrap();
    }
    let flushed = written();
    assert!((300_000..400_000).contains(&flushed.log), "{flushed:?}");
    assert!(flushed.flushed > 0 && flushed.loaded == 0, "{flushed:?}");
    db.compact().unwrap();
    let merged = written();
    assert!(merged.merged > flushed.merged, "{merged:?}");
    assert_eq!((merged.log, merged.flushed), (flushed.log, flushed.flushed));
}

#[test]
fn a_recursion_over_short_values_does_not_read_the_long_ones() {
    let db = memory();
    let pages = pages(&db);
    pages.put(KeyOf::U64(1), &value_of(100, 1)).unwrap();
    pages.put(KeyOf::U64(2), &value_of(100 * LARGE, 2)).unwrap();
    let script = "n[i] := i = 0
                  n[j] := n[i], i < 100, *pages{value, bytes: null}, j = i + length(value) - 99
                  ?[max(i)] := n[i]";
    let found = db.run(script, &Parameters::new()).unwrap();
    assert_eq!(found.rows().next().unwrap(), [quipu::Value::Int(100)]);
}
