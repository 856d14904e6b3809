//! The log's promises, over an environment in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{Env, LogMode, MemoryEnv};
use proptest::prelude::*;

use super::record::{HEADER_BYTES, record_bytes};
use super::segment::{list_segments, segment_path};
use super::{
    Follow, Place, Position, Recovered, SyncHandle, Wal, WalError, WalOptions, WalReader, salvage,
};

const BEGIN: u64 = 40;

struct Log {
    env: Arc<dyn Env>,
    folder: PathBuf,
    options: WalOptions,
}

impl Log {
    fn new(segment_bytes: u64) -> Self {
        let env = Arc::new(MemoryEnv::new(1));
        let folder = PathBuf::from("/wal");
        env.create_folder(&folder).unwrap();
        let options = WalOptions { segment_bytes, ..WalOptions::default() };
        Self { env, folder, options }
    }

    fn open(&self, first_live: u64) -> super::Result<(Wal, Recovered, Vec<Vec<u8>>)> {
        let mut recovery =
            Wal::recover(Arc::clone(&self.env), &self.folder, first_live, self.options)?;
        let mut payloads = Vec::new();
        while let Some((_, payload)) = recovery.next_payload()? {
            payloads.push(payload.to_vec());
        }
        let wal = recovery.finish()?;
        let recovered = wal.recovered();
        assert_eq!(recovered.payloads, payloads.len() as u64);
        Ok((wal, recovered, payloads))
    }

    fn files(&self) -> Vec<u64> {
        list_segments(self.env.as_ref(), &self.folder).unwrap()
    }

    fn path(&self, number: u64) -> PathBuf {
        segment_path(&self.folder, number)
    }

    fn read(&self, number: u64) -> Vec<u8> {
        self.env.read_file(&self.path(number)).unwrap()
    }

    fn overwrite(&self, number: u64, at: u64, bytes: &[u8]) {
        let mut file = self.env.open_log(&self.path(number), LogMode::Write).unwrap();
        file.write_at(bytes, at).unwrap();
    }

    fn flip(&self, number: u64, at: u64) {
        let byte = self.read(number)[at as usize];
        self.overwrite(number, at, &[byte ^ 0x40]);
    }

    /// Copies the disk as it is now, for trying out crashes.
    fn fork(&self) -> Self {
        let copy = Self::new(self.options.segment_bytes);
        for number in self.files() {
            put(copy.env.as_ref(), &copy.path(number), &self.read(number));
        }
        copy
    }

    fn reader(&self, from: Position) -> WalReader {
        WalReader::at(Arc::clone(&self.env), &self.folder, from)
    }
}

fn put(env: &dyn Env, path: &Path, bytes: &[u8]) {
    env.create(path).unwrap().append(bytes).unwrap();
}

fn payload(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (seed * 31 + i * 7) as u8).collect()
}

#[track_caller]
fn is_corruption<T>(result: super::Result<T>, file: &Path, offset: u64) {
    match result {
        Err(WalError::Corruption(damage)) => {
            assert_eq!((damage.file.as_path(), damage.offset), (file, offset), "{damage}");
        }
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("damage went unnoticed"),
    }
}

#[test]
fn what_was_appended_is_replayed_after_reopening_and_goes_on() {
    let log = Log::new(1024);
    let mut want: Vec<Vec<u8>> = Vec::new();
    for life in 0..5 {
        let (mut wal, recovered, found) = log.open(0).unwrap();
        assert_eq!(found, want);
        assert!(!recovered.torn);
        for i in 0..20 {
            let payload = payload(life * 100 + i, i * 9);
            let (left, right) = payload.split_at(payload.len() / 3);
            wal.append(&[left, &[], right]).unwrap();
            want.push(payload);
        }
    }
}

#[test]
fn payloads_longer_than_segments_are_cut_and_put_together() {
    for segment_bytes in [256, 1000, 4096] {
        let log = Log::new(segment_bytes);
        let (mut wal, ..) = log.open(0).unwrap();
        let want: Vec<Vec<u8>> =
            [0, 1, 5_000, 100, 200, 12_345, 0, 40].iter().map(|n| payload(*n, *n)).collect();
        for payload in &want {
            wal.append(&[payload]).unwrap();
        }
        assert!(wal.current_segment() > 3);
        assert_eq!(log.open(0).unwrap().2, want);
    }
}

#[test]
fn a_payload_over_the_record_limit_comes_back_whole() {
    let log = Log::new(8 << 20);
    let (mut wal, ..) = log.open(0).unwrap();
    let want = payload(3, (3 << 20) + 17);
    let (a, b) = want.split_at(1 << 20);
    wal.append(&[a, b]).unwrap();
    wal.append(&[b"after"]).unwrap();
    assert_eq!(log.open(0).unwrap().2, [want, b"after".to_vec()]);
}

#[test]
fn a_tail_torn_at_any_byte_ends_the_log_before_the_last_record() {
    let log = Log::new(4096);
    let (mut wal, ..) = log.open(0).unwrap();
    let want = vec![payload(1, 50), payload(2, 33)];
    for payload in &want {
        wal.append(&[payload]).unwrap();
    }
    wal.sync().unwrap();
    let last = payload(3, 77);
    let at = wal.append(&[&last]).unwrap();
    let bytes = log.read(at.segment);
    let end = at.offset as usize + HEADER_BYTES + last.len();
    for torn in at.offset as usize..end {
        // Bytes that did not reach the disk are the preallocated zeros.
        if bytes[torn..end].iter().all(|byte| *byte == 0) {
            continue;
        }
        let crashed = log.fork();
        crashed.overwrite(at.segment, torn as u64, &vec![0; end - torn]);
        let (mut wal, recovered, found) = crashed.open(0).unwrap();
        assert_eq!((found, recovered.end), (want.clone(), at), "torn at {torn}");
        wal.append(&[b"new"]).unwrap();
        drop(wal);
        let (_, _, found) = crashed.open(0).unwrap();
        assert_eq!(found.last().unwrap(), b"new");
        assert_eq!(found.len(), 3);
    }
}

#[test]
fn a_byte_flipped_in_what_was_synced_is_corruption_with_file_and_offset() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    let mut records = Vec::new();
    for i in 0..20 {
        records.push((wal.append(&[&payload(i, 60)]).unwrap(), record_bytes(60)));
        wal.sync().unwrap();
    }
    assert!(wal.current_segment() > 2);
    drop(wal);
    for (at, _) in &records[..records.len() - 1] {
        for byte in 0..HEADER_BYTES as u64 + 60 {
            let damaged = log.fork();
            damaged.flip(at.segment, at.offset + byte);
            is_corruption(damaged.open(0), &damaged.path(at.segment), at.offset);
        }
    }
    // A damaged link: the segment cannot be read from its first byte.
    for segment in 1..records.last().unwrap().0.segment {
        let damaged = log.fork();
        damaged.flip(segment, 25);
        is_corruption(damaged.open(0), &damaged.path(segment), 0);
    }
}

/// Found by reading: a damaged last commit was taken for one that a crash interrupted, though it
/// had been acknowledged.
#[test]
fn a_byte_flipped_in_the_last_acknowledged_record_is_corruption() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    for i in 0..9 {
        let at = wal.append(&[&payload(i, 60)]).unwrap();
        wal.sync().unwrap();
        wal.mark().unwrap();
        for byte in 0..HEADER_BYTES as u64 + 60 {
            let damaged = log.fork();
            damaged.flip(at.segment, at.offset + byte);
            is_corruption(damaged.open(0), &damaged.path(at.segment), at.offset);
        }
        // Damage to the mark itself loses nothing.
        let mark = wal.position();
        for byte in 0..HEADER_BYTES as u64 {
            let damaged = log.fork();
            damaged.flip(mark.segment, mark.offset + byte);
            let (_, recovered, found) = damaged.open(0).unwrap();
            assert_eq!((found.len(), recovered.end), (i + 1, mark));
        }
    }
}

#[test]
fn a_mark_vouches_only_for_what_was_synced() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    wal.append(&[b"synced"]).unwrap();
    wal.sync().unwrap();
    wal.mark().unwrap();
    let torn = wal.append(&[b"never synced"]).unwrap();
    wal.mark().unwrap();
    log.flip(torn.segment, torn.offset + 30);
    let (_, recovered, found) = log.open(0).unwrap();
    assert_eq!((found, recovered.end), (vec![b"synced".to_vec()], torn));
}

#[test]
fn a_segment_cut_behind_its_beginning_is_corruption_unless_the_log_was_closed() {
    let log = Log::new(256);
    let (mut wal, ..) = log.open(0).unwrap();
    for i in 0..6 {
        wal.append(&[&payload(i, 60)]).unwrap();
    }
    let cut = |log: &Log, number: u64, bytes: &[u8]| {
        let damaged = log.fork();
        damaged.env.remove(&damaged.path(number)).unwrap();
        put(damaged.env.as_ref(), &damaged.path(number), bytes);
        damaged
    };
    for number in log.files() {
        let bytes = log.read(number);
        for len in BEGIN as usize..bytes.len() {
            let damaged = cut(&log, number, &bytes[..len]);
            is_corruption(damaged.open(0), &damaged.path(number), len as u64);
        }
    }
    let newest = wal.current_segment();
    wal.close().unwrap();
    let bytes = log.read(newest);
    assert!(bytes.len() < 256, "closing gives back what was reserved");
    for len in BEGIN as usize..bytes.len() {
        let damaged = cut(&log, newest, &bytes[..len]);
        is_corruption(damaged.open(0), &damaged.path(newest), len as u64);
    }
    assert_eq!(log.open(0).unwrap().2.len(), 6);
}

#[test]
fn a_missing_segment_is_corruption() {
    let log = Log::new(256);
    let (mut wal, ..) = log.open(0).unwrap();
    for i in 0..20 {
        wal.append(&[&payload(i, 60)]).unwrap();
    }
    drop(wal);
    let newest = log.files().pop().unwrap();
    for (missing, first_live) in [(2, 0), (1, 0), (1, 1), (3, 2), (newest, 0), (newest, 2)] {
        let damaged = log.fork();
        damaged.env.remove(&damaged.path(missing)).unwrap();
        is_corruption(damaged.open(first_live), &damaged.path(missing), 0);
    }
    let empty = Log::new(256);
    is_corruption(empty.open(7), &empty.path(7), 0);
}

#[test]
fn a_cut_segment_costs_a_salvage_its_own_payloads_alone() {
    let log = Log::new(256);
    let (mut wal, ..) = log.open(0).unwrap();
    for i in 0..20 {
        wal.append(&[&payload(i, 60)]).unwrap();
    }
    drop(wal);
    let salvaged = |log: &Log| {
        let mut kept = Vec::new();
        let mut keep = |_: &Place, payload: &[u8]| {
            kept.push(payload.to_vec());
            Ok(())
        };
        let report = salvage(log.env.as_ref(), &log.folder, 0, &mut keep).unwrap();
        (kept, report.damages)
    };
    let (all, damages) = salvaged(&log);
    assert_eq!((all.len(), damages), (20, Vec::new()));
    for bytes in [0, 100] {
        let damaged = log.fork();
        drop(damaged.env.open_append(&damaged.path(2), bytes).unwrap());
        let (kept, damages) = salvaged(&damaged);
        assert!(kept.len() < 20 && kept.len() > 14, "{} of 20 payloads", kept.len());
        // Nothing states the end of the first segment any more, so its end is unknown too.
        assert!(damages.iter().any(|damage| damage.file == damaged.path(2)), "{damages:?}");
        assert!(damages.iter().all(|damage| damage.file != damaged.path(3)), "{damages:?}");
        let mut left = all.iter();
        assert!(kept.iter().all(|one| left.any(|payload| payload == one)), "invented or moved");
    }
}

#[test]
fn a_salvage_is_told_of_a_last_segment_that_was_cut_between_two_records() {
    let log = Log::new(1024);
    let (mut wal, ..) = log.open(0).unwrap();
    let _first = wal.append(&[b"kept"]).unwrap();
    let last = wal.append(&[b"lost"]).unwrap();
    drop(wal);
    for bytes in [last.offset, last.offset + 3] {
        let damaged = log.fork();
        drop(damaged.env.open_append(&damaged.path(last.segment), bytes).unwrap());
        let mut kept = Vec::new();
        let mut keep = |_: &Place, payload: &[u8]| {
            kept.push(payload.to_vec());
            Ok(())
        };
        let report = salvage(damaged.env.as_ref(), &damaged.folder, 0, &mut keep).unwrap();
        assert_eq!(kept, [b"kept"], "cut at {bytes}");
        assert!(!report.damages.is_empty(), "cut at {bytes}");
    }
}

#[test]
fn unsynced_records_written_back_out_of_order_end_the_log_at_the_first_hole() {
    // A power cut without a sync: a later page reached the disk, an earlier one did not.
    let log = Log::new(1024);
    let (mut wal, ..) = log.open(0).unwrap();
    wal.append(&[b"synced"]).unwrap();
    wal.sync().unwrap();
    let hole = wal.append(&[b"lost"]).unwrap();
    for i in 0..60 {
        wal.append(&[&payload(i, 40)]).unwrap();
    }
    assert!(wal.current_segment() > 2);
    drop(wal);
    log.overwrite(hole.segment, hole.offset, &[0; 24]);
    let (mut wal, recovered, found) = log.open(0).unwrap();
    assert_eq!((found, recovered.end, recovered.torn), (vec![b"synced".to_vec()], hole, true));
    wal.append(&[b"new"]).unwrap();
    drop(wal);
    assert_eq!(log.open(0).unwrap().2, [b"synced".to_vec(), b"new".to_vec()]);
}

#[test]
fn a_payload_without_its_last_record_is_not_replayed() {
    let log = Log::new(256);
    let (mut wal, ..) = log.open(0).unwrap();
    wal.append(&[b"one"]).unwrap();
    let at = wal.append(&[&payload(1, 900)]).unwrap();
    let last = wal.current_segment();
    assert!(last > at.segment + 1);
    drop(wal);
    log.overwrite(last, BEGIN, &[0; 8]);
    let (mut wal, recovered, found) = log.open(0).unwrap();
    assert_eq!((found, recovered.end, recovered.torn), (vec![b"one".to_vec()], at, true));
    // The half that stayed on disk must not be completed by a new end.
    wal.append(&[&payload(2, 900)]).unwrap();
    drop(wal);
    assert_eq!(log.open(0).unwrap().2, [b"one".to_vec(), payload(2, 900)]);
}

#[test]
fn recycling_never_brings_old_records_back() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    let mut live = Vec::new();
    let mut first_live = 0;
    for i in 0..500_usize {
        let payload = payload(i, i % 90);
        let at = wal.append(&[&payload]).unwrap();
        live.push((at, payload));
        if i % 50 == 49 {
            first_live = wal.rotate().unwrap();
            wal.release(first_live).unwrap();
            live.retain(|(at, _)| at.segment >= first_live);
            assert!(log.files().len() <= 3, "{:?}", log.files());
        }
        if i % 37 == 0 {
            let copy = log.fork();
            let want: Vec<Vec<u8>> = live.iter().map(|(_, payload)| payload.clone()).collect();
            assert_eq!(copy.open(first_live).unwrap().2, want);
        }
    }
}

#[test]
fn a_spare_file_renamed_but_not_begun_is_an_empty_segment() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    for i in 0..30 {
        wal.append(&[&payload(i, 60)]).unwrap();
    }
    let first_live = wal.rotate().unwrap();
    wal.append(&[b"live"]).unwrap();
    wal.release(first_live).unwrap();
    drop(wal);
    let spare = log.files()[0];
    assert!(spare < first_live);
    log.env.rename(&log.path(spare), &log.path(first_live + 1)).unwrap();
    let (wal, _, found) = log.open(first_live).unwrap();
    assert_eq!(found, [b"live".to_vec()]);
    assert_eq!(wal.current_segment(), first_live + 2);
    drop(wal);
    assert_eq!(log.open(first_live).unwrap().2, [b"live".to_vec()]);
}

#[test]
fn a_sync_handle_vouches_for_what_was_there_when_it_was_made() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    for i in 0..30 {
        wal.append(&[&payload(i, 60)]).unwrap();
    }
    let (handle, newer_end) = (wal.sync_handle(), wal.position());
    wal.append(&[&payload(0, 60)]).unwrap();
    let newer = wal.sync_handle();
    newer.sync().unwrap();
    handle.sync().unwrap();
    assert_eq!(handle.upto(), newer_end);
    assert_eq!((wal.durable_position(), newer.upto()), (wal.position(), wal.position()));
    // The next record states it: damage to anything before is corruption.
    wal.append(&[b"next"]).unwrap();
    drop(wal);
    log.flip(1, BEGIN);
    is_corruption(log.open(0), &log.path(1), BEGIN);
}

#[test]
fn opening_with_a_callback_replays_in_place() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    let at = wal.append(&[b"one"]).unwrap();
    let bytes = wal.live_bytes();
    drop(wal);
    let mut seen = Vec::new();
    let env = Arc::clone(&log.env);
    let wal = Wal::open(env, &log.folder, 0, log.options, &mut |place, payload| {
        seen.push((place.clone(), payload.to_vec()));
        Ok(super::Replay::Done)
    });
    let place = super::Place { file: log.path(1), offset: at.offset, position: at };
    assert_eq!(seen, [(place, b"one".to_vec())]);
    assert_eq!(wal.unwrap().live_bytes(), 2 * bytes);
}

/// Records behind the end may be whole and sound; no later reader may see them, followers included.
#[test]
fn a_log_that_ends_before_a_payload_ends_there_for_every_reader_to_come() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    wal.append(&[b"one"]).unwrap();
    wal.append(&[b"two"]).unwrap();
    wal.append(&[b"three"]).unwrap();
    drop(wal);
    let open = |from: &[u8]| {
        let mut seen = Vec::new();
        let env = Arc::clone(&log.env);
        let wal = Wal::open(env, &log.folder, 0, log.options, &mut |_, payload| {
            if payload == from {
                return Ok(super::Replay::EndBefore("it rests on nothing".into()));
            }
            seen.push(payload.to_vec());
            Ok(super::Replay::Done)
        });
        wal.map(|wal| (wal, seen))
    };
    let (mut wal, seen) = open(b"two").unwrap();
    assert_eq!((seen, wal.recovered().payloads), (vec![b"one".to_vec()], 1));
    wal.append(&[b"four"]).unwrap();
    let mut follower = super::WalReader::new(Arc::clone(&log.env), &log.folder, 0);
    let mut followed = Vec::new();
    while let super::Follow::Record(_, payload) = follower.next().unwrap() {
        followed.push(payload.to_vec());
    }
    assert_eq!(followed, [b"one".to_vec(), b"four".to_vec()]);
    wal.sync().unwrap();
    wal.mark().unwrap();
    drop(wal);
    let Err(super::WalError::Corruption(damage)) = open(b"four") else {
        panic!("a synced payload was discarded")
    };
    assert!(damage.to_string().contains("it rests on nothing"), "{damage}");
    assert_eq!(open(b"none").unwrap().1, [b"one".to_vec(), b"four".to_vec()]);
}

#[test]
fn the_example_in_the_format_page_is_what_is_written() {
    let log = Log::new(256);
    let (mut wal, ..) = log.open(0).unwrap();
    wal.append(&[b"hello"]).unwrap();
    wal.sync().unwrap();
    wal.append(&[b"knots"]).unwrap();
    wal.rotate().unwrap();
    let page = include_str!("../../../../docs/formats/wal.md");
    let mut lines = page.lines();
    for (number, count) in [(1, 18), (2, 5)] {
        let name = format!("{number:06}.log");
        lines.find(|line| *line == name).unwrap();
        for (i, bytes) in log.read(number).chunks(8).take(count).enumerate() {
            let line = lines.next().unwrap();
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let want = if i == 17 { "00 ...".to_owned() } else { hex.join(" ") };
            assert!(line.starts_with(&format!("{:04x}  {want}", i * 8)), "{line} is not {want}");
        }
    }
}

#[test]
fn rotating_an_empty_segment_does_nothing() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    assert_eq!((wal.rotate().unwrap(), wal.rotate().unwrap()), (1, 1));
    wal.append(&[]).unwrap();
    assert_eq!(wal.rotate().unwrap(), 2);
}

#[test]
fn options_out_of_range_are_refused() {
    for bytes in [0, 255, (1 << 30) + 1] {
        assert!(matches!(Log::new(bytes).open(0), Err(WalError::Limit { .. })));
    }
}

#[track_caller]
fn follow(reader: &mut WalReader) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    loop {
        match reader.next().unwrap() {
            Follow::Record(_, payload) => found.push(payload.to_vec()),
            Follow::End => return found,
            Follow::Gone => panic!("gone after {} payloads", found.len()),
        }
    }
}

#[test]
fn a_follower_reads_each_payload_once_as_it_comes() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    let mut reader = log.reader(Position { segment: 1, offset: 0 });
    assert_eq!(reader.next().unwrap(), Follow::End);
    for i in 0..200_usize {
        let payload = payload(i, i * 13 % 1500);
        let at = wal.append(&[&payload]).unwrap();
        match reader.next().unwrap() {
            Follow::Record(position, found) => assert_eq!((position, found), (at, &payload[..])),
            other => panic!("{other:?}"),
        }
        assert_eq!(reader.next().unwrap(), Follow::End);
        assert_eq!(reader.position(), wal.position());
    }
    // Reading can resume at any position that was returned.
    let from = reader.position();
    wal.append(&[b"more"]).unwrap();
    assert_eq!(follow(&mut log.reader(from)), [b"more".to_vec()]);
}

#[test]
fn a_follower_waits_at_a_half_written_record_and_survives_a_reopened_log() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    let at = wal.append(&[b"half"]).unwrap();
    log.flip(at.segment, at.offset + 25);
    let mut reader = log.reader(Position { segment: 1, offset: 0 });
    assert_eq!(reader.next().unwrap(), Follow::End);
    log.flip(at.segment, at.offset + 25);
    assert_eq!(follow(&mut reader), [b"half".to_vec()]);
    // A kill within a payload, whose first records the follower has read already.
    wal.append(&[&payload(1, 2000)]).unwrap();
    let last = wal.current_segment();
    drop(wal);
    log.overwrite(last, BEGIN, &[0; 24]);
    assert_eq!(reader.next().unwrap(), Follow::End);
    let (mut wal, ..) = log.open(0).unwrap();
    wal.append(&[b"new"]).unwrap();
    assert_eq!(follow(&mut reader), [b"new".to_vec()]);
}

#[test]
fn a_follower_left_behind_hears_that_its_segment_is_gone() {
    let log = Log::new(512);
    let (mut wal, ..) = log.open(0).unwrap();
    for i in 0..4 {
        wal.append(&[&payload(i, 60)]).unwrap();
    }
    let mut inside = log.reader(Position { segment: 1, offset: 0 });
    assert!(matches!(inside.next().unwrap(), Follow::Record(..)));
    let mut outside = log.reader(Position { segment: 1, offset: 0 });
    for i in 0..40 {
        wal.append(&[&payload(i, 60)]).unwrap();
        let segment = wal.current_segment();
        wal.release(segment).unwrap();
    }
    // The open file may still show old records; then the reader reports the loss.
    while let Follow::Record(position, _) = inside.next().unwrap() {
        assert_eq!(position.segment, 1);
    }
    assert_eq!(inside.next().unwrap(), Follow::Gone);
    assert_eq!(outside.next().unwrap(), Follow::Gone);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a crash keeps of the unsynced bytes: replay returns all synced payloads, then a
    /// prefix of the unsynced ones, and the log accepts appends.
    #[test]
    fn a_crash_keeps_what_was_synced_and_a_prefix_of_the_rest(
        lens in prop::collection::vec(0..700_usize, 1..30),
        synced in 0..30_usize,
        lost in prop::collection::vec(any::<bool>(), 64),
        segment_bytes in 256..3000_u64,
    ) {
        let log = Log::new(segment_bytes);
        let (mut wal, ..) = log.open(0).unwrap();
        let want: Vec<Vec<u8>> =
            lens.iter().enumerate().map(|(i, len)| payload(i, *len)).collect();
        let synced = synced.min(want.len());
        for payload in &want[..synced] {
            wal.append(&[payload]).unwrap();
        }
        wal.sync().unwrap();
        let durable = wal.durable_position();
        for payload in &want[synced..] {
            wal.append(&[payload]).unwrap();
        }
        drop(wal);
        // Unsynced sectors of 64 bytes are lost or kept at random.
        let mut dice = lost.iter().cycle();
        for number in log.files() {
            let bytes = log.read(number);
            let mut at = 0;
            while at < bytes.len() {
                let end = (at + 64).min(bytes.len());
                let from = if number == durable.segment { at.max(durable.offset as usize) } else { at };
                let is_synced = number < durable.segment || from >= end;
                if !is_synced && *dice.next().unwrap() {
                    log.overwrite(number, from as u64, &vec![0; end - from]);
                }
                at = end;
            }
        }
        let (mut wal, _, found) = log.open(0).unwrap();
        prop_assert!(found.len() >= synced);
        prop_assert!(want.starts_with(&found));
        wal.append(&[b"new"]).unwrap();
        drop(wal);
        let (_, _, again) = log.open(0).unwrap();
        prop_assert_eq!(&again[..found.len()], &found[..]);
        prop_assert_eq!(&again[found.len()..], &[b"new".to_vec()][..]);
    }
}

#[test]
fn on_a_real_disk_both_modes_keep_what_was_appended_without_a_sync() {
    for mode in [LogMode::Mapped, LogMode::Write] {
        let folder = tempfile::tempdir().unwrap();
        let env: Arc<dyn Env> = Arc::new(env::RealEnv::default());
        let options = WalOptions {
            segment_bytes: 64 << 10,
            mode,
            spare_segments_max: 1,
            ..WalOptions::default()
        };
        let log = Log { env, folder: folder.path().to_owned(), options };
        let mut want = Vec::new();
        let mut first_live = 0;
        for life in 0..4 {
            let (mut wal, _, found) = log.open(first_live).unwrap();
            assert!(found == want, "{mode:?}, life {life}");
            let mut reader = log.reader(wal.position());
            for i in 0..300_usize {
                want.push(payload(i, i * 5));
                wal.append(&[want.last().unwrap()]).unwrap();
            }
            assert!(follow(&mut reader) == want[found.len()..]);
            if life == 2 {
                first_live = wal.rotate().unwrap();
                wal.release(first_live).unwrap();
                want.clear();
            }
        }
        log.env.drain_jobs();
    }
}

/// A disk that fails to write once and reports it once, as Linux does.
#[derive(Debug, Default)]
struct FailsOnce(std::sync::atomic::AtomicBool);

impl env::LogSync for FailsOnce {
    fn sync(&self) -> env::Result<()> {
        if self.0.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return Ok(());
        }
        Err(env::EnvError::io("sync", Path::new("log"), std::io::Error::other("no")))
    }
}

/// Found by simulation: a commit was acknowledged by its own sync, because the failure had been
/// reported to a flush's sync.
#[test]
fn a_sync_after_one_that_failed_is_no_success() {
    let file: Arc<dyn env::LogSync> = Arc::new(FailsOnce::default());
    let progress = Arc::default();
    let handle = || SyncHandle {
        files: vec![Arc::clone(&file)],
        upto: Position { segment: 1, offset: 8 },
        progress: Arc::clone(&progress),
    };
    let (flush, commit) = (handle(), handle());
    assert!(flush.sync().is_err());
    assert!(commit.sync().is_err());
    assert_eq!(progress.durable(), Position { segment: 0, offset: 0 });
}
