//! Promises that every environment keeps. The tests of each crate with an environment include this
//! module and define `check`, which runs a promise on it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quipu_env::{Env, EnvError, JobKind, LogMode, ReadOptions, ReadRequest, parallel};

use super::check;

fn put(env: &dyn Env, path: &Path, bytes: &[u8]) {
    let mut file = env.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

fn kind<T>(result: quipu_env::Result<T>) -> io::ErrorKind {
    match result {
        Err(EnvError::Io { source, .. }) => source.kind(),
        Err(other) => panic!("not an I/O error: {other}"),
        Ok(_) => panic!("this should have failed"),
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

#[test]
fn what_is_flushed_between_large_pieces_stays_in_its_place() {
    check(|env, dir| {
        let path = dir.join("a");
        let bytes = pattern(9 << 20);
        let mut file = env.create(&path).unwrap();
        let mut seen = 0;
        for (round, piece) in bytes.chunks(1_234_567).enumerate() {
            file.append(piece).unwrap();
            seen += piece.len();
            if round % 2 == 0 {
                file.flush().unwrap();
                assert!(env.read_file(&path).unwrap() == bytes[..seen]);
            }
        }
        file.sync().unwrap();
        drop(file);
        assert!(env.read_file(&path).unwrap() == bytes);
    });
}

#[test]
fn what_was_appended_is_read_back() {
    check(|env, dir| {
        let path = dir.join("a");
        let bytes = pattern(3 << 20);
        let mut file = env.create(&path).unwrap();
        for piece in bytes.chunks(700_001) {
            file.append(piece).unwrap();
        }
        file.append(b"tail").unwrap();
        assert_eq!(file.len_bytes(), bytes.len() as u64 + 4);
        file.flush().unwrap();
        assert_eq!(env.read_file(&path).unwrap(), [&bytes, b"tail".as_slice()].concat());
        assert_eq!(file.path(), path);
    });
}

#[test]
fn creation_fails_on_an_existing_path_and_in_a_missing_folder() {
    check(|env, dir| {
        put(env, &dir.join("a"), b"x");
        assert_eq!(kind(env.create(&dir.join("a"))), io::ErrorKind::AlreadyExists);
        let log = env.create_log(&dir.join("a"), 4096, LogMode::Write);
        assert_eq!(kind(log), io::ErrorKind::AlreadyExists);
        assert_eq!(kind(env.create(&dir.join("no/a"))), io::ErrorKind::NotFound);
        assert_eq!(env.read_file(&dir.join("a")).unwrap(), b"x");
    });
}

#[test]
fn opening_to_append_cuts_and_goes_on() {
    check(|env, dir| {
        let path = dir.join("a");
        put(env, &path, b"0123456789");
        let mut file = env.open_append(&path, 4).unwrap();
        assert_eq!(file.len_bytes(), 4);
        file.append(b"xy").unwrap();
        file.sync().unwrap();
        assert_eq!(env.read_file(&path).unwrap(), b"0123xy");
        assert_eq!(kind(env.open_append(&path, 7)), io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(env.open_append(&dir.join("b"), 0)), io::ErrorKind::NotFound);
    });
}

#[test]
fn reads_fill_the_buffer_or_fail() {
    check(|env, dir| {
        let path = dir.join("a");
        let bytes = pattern(20_000);
        put(env, &path, &bytes);
        for direct in [false, true] {
            let file = env.open_read(&path, ReadOptions { direct }).unwrap();
            assert_eq!(file.len_bytes().unwrap(), 20_000);
            file.read_ahead(0, 20_000);
            for (offset, len) in [(0, 1), (1, 4096), (4095, 2), (8192, 4096), (19_999, 1), (5, 0)] {
                let mut buf = vec![0; len];
                file.read_at(&mut buf, offset as u64).unwrap();
                assert_eq!(buf, bytes[offset..offset + len]);
            }
            let mut past = [0; 2];
            assert_eq!(kind(file.read_at(&mut past, 19_999)), io::ErrorKind::UnexpectedEof);
            assert_eq!(kind(file.read_at(&mut past, 1 << 40)), io::ErrorKind::UnexpectedEof);
        }
        assert_eq!(
            kind(env.open_read(&dir.join("b"), ReadOptions::default())),
            io::ErrorKind::NotFound
        );
        assert!(env.open_read(dir, ReadOptions::default()).is_err());
    });
}

#[test]
fn a_batch_reads_what_single_reads_would() {
    check(|env, dir| {
        let path = dir.join("a");
        let bytes = pattern(1 << 20);
        put(env, &path, &bytes);
        for direct in [false, true] {
            let file = env.open_read(&path, ReadOptions { direct }).unwrap();
            // More requests than one ring holds, of odd lengths, up to the last byte.
            let mut requests: Vec<ReadRequest> = (0..600_usize)
                .map(|i| (i * 1_747, i * 3 % 4_100))
                .chain([(bytes.len() - 10, 10)])
                .map(|(offset, len)| ReadRequest { offset: offset as u64, buf: vec![0; len] })
                .collect();
            file.read_batch(&mut requests).unwrap();
            for request in &requests {
                let start = request.offset as usize;
                assert_eq!(request.buf, bytes[start..start + request.buf.len()]);
            }
            let ask = |offset: u64| ReadRequest { offset, buf: vec![0; 8] };
            let mut past = [ask(0), ask(100), ask((1 << 20) - 7), ask(200)];
            assert_eq!(kind(file.read_batch(&mut past)), io::ErrorKind::UnexpectedEof);
            file.read_batch(&mut []).unwrap();
        }
    });
}

#[test]
fn reads_of_several_files_are_those_of_each() {
    check(|env, dir| {
        let names = ["a", "b", "c"];
        for (i, name) in names.iter().enumerate() {
            put(env, &dir.join(name), &pattern(100_000 + i));
        }
        for direct in [false, true] {
            let open = |name| env.open_read(&dir.join(name), ReadOptions { direct }).unwrap();
            let files = names.map(open);
            // Adjacent reads, the same read twice, jumps between files, and the ends of files.
            let mut reads: Vec<quipu_env::FileRead> = (0..300_usize)
                .map(|i| (i / 7 % 3, i * 331, 331 + i % 2))
                .chain([(0, 5, 0), (2, 100_000, 2), (0, 5, 9)])
                .map(|(file, offset, len)| quipu_env::FileRead {
                    file: Arc::clone(&files[file]),
                    offset: offset as u64,
                    buf: vec![0; len],
                })
                .collect();
            quipu_env::read_files(&mut reads).unwrap();
            for read in &reads {
                let (start, bytes) = (read.offset as usize, pattern(100_002));
                assert_eq!(read.buf, bytes[start..start + read.buf.len()]);
            }
            reads[17].offset = 99_999;
            assert_eq!(kind(quipu_env::read_files(&mut reads)), io::ErrorKind::UnexpectedEof);
            quipu_env::read_files(&mut []).unwrap();
        }
    });
}

#[test]
fn a_rename_replaces_and_a_removed_file_stays_readable() {
    check(|env, dir| {
        let (a, b) = (dir.join("a"), dir.join("b"));
        put(env, &a, b"new");
        put(env, &b, b"old");
        let old = env.open_read(&b, ReadOptions::default()).unwrap();
        env.rename(&a, &b).unwrap();
        env.sync_folder(dir).unwrap();
        assert!(!env.exists(&a));
        assert_eq!(env.read_file(&b).unwrap(), b"new");
        let new = env.open_read(&b, ReadOptions::default()).unwrap();
        env.remove(&b).unwrap();
        let mut buf = [0; 3];
        old.read_at(&mut buf, 0).unwrap();
        assert_eq!(&buf, b"old");
        new.read_at(&mut buf, 0).unwrap();
        assert_eq!(&buf, b"new");
        assert_eq!(kind(env.remove(&b)), io::ErrorKind::NotFound);
        assert_eq!(kind(env.rename(&a, &b)), io::ErrorKind::NotFound);
    });
}

#[test]
fn a_link_is_the_same_file_under_another_name() {
    check(|env, dir| {
        let (a, b) = (dir.join("a"), dir.join("b"));
        put(env, &a, b"x");
        env.link(&a, &b).unwrap();
        env.remove(&a).unwrap();
        assert_eq!(env.read_file(&b).unwrap(), b"x");
        put(env, &a, b"y");
        assert_eq!(kind(env.link(&a, &b)), io::ErrorKind::AlreadyExists);
        assert_eq!(kind(env.link(&dir.join("c"), &dir.join("d"))), io::ErrorKind::NotFound);
    });
}

#[test]
fn folders_list_their_names_in_order() {
    check(|env, dir| {
        env.create_folder(&dir.join("sub/deep")).unwrap();
        env.create_folder(&dir.join("sub/deep")).unwrap();
        for name in ["z", "a", "m"] {
            put(env, &dir.join(name), b"");
        }
        assert_eq!(env.list(dir).unwrap(), ["a", "m", "sub", "z"]);
        assert_eq!(env.list(&dir.join("sub")).unwrap(), ["deep"]);
        assert_eq!(kind(env.list(&dir.join("none"))), io::ErrorKind::NotFound);
        assert_eq!(kind(env.remove_folder(&dir.join("sub"))), io::ErrorKind::DirectoryNotEmpty);
        env.remove_folder(&dir.join("sub/deep")).unwrap();
        env.remove_folder(&dir.join("sub")).unwrap();
        assert_eq!(kind(env.remove_folder(&dir.join("sub"))), io::ErrorKind::NotFound);
        assert!(env.exists(dir) && !env.exists(&dir.join("sub")));
        assert!(env.create_folder(&dir.join("a/below-a-file")).is_err());
        assert!(env.sync_folder(&dir.join("none")).is_err());
        assert!(env.free_bytes(dir).unwrap() > 0);
    });
}

#[test]
fn a_log_is_zero_at_first_and_keeps_what_is_written() {
    check(|env, dir| {
        for mode in [LogMode::Write, LogMode::Mapped] {
            let path = dir.join(format!("{mode:?}"));
            let len = 5 << 20;
            let mut log = env.create_log(&path, len, mode).unwrap();
            assert_eq!(log.len_bytes(), len);
            let reader = env.open_read(&path, ReadOptions::default()).unwrap();
            let bytes = pattern(3 << 20);
            let mut at = 0;
            for piece in bytes.chunks(99_999) {
                log.write_at(piece, at).unwrap();
                let mut back = vec![0; piece.len()];
                reader.read_at(&mut back, at).unwrap();
                assert_eq!(back, piece, "a write is visible to readers at once");
                at += piece.len() as u64;
            }
            log.sync().unwrap();
            log.sync_handle().sync().unwrap();
            log.write_at(b"end", len - 3).unwrap();
            assert!(log.write_at(b"past", len - 3).is_err());
            assert!(log.write_at(b"past", u64::MAX).is_err());
            drop(log);
            let mut want = bytes.clone();
            want.resize(len as usize - 3, 0);
            want.extend_from_slice(b"end");
            assert!(env.read_file(&path).unwrap() == want);
            let renamed = dir.join(format!("{mode:?}-2"));
            env.rename(&path, &renamed).unwrap();
            let mut log = env.open_log(&renamed, mode).unwrap();
            assert_eq!(log.len_bytes(), len);
            log.write_at(b"again", 4_000_000).unwrap();
            log.sync().unwrap();
            want[4_000_000..4_000_005].copy_from_slice(b"again");
            drop(log);
            assert!(env.read_file(&renamed).unwrap() == want);
            assert_eq!(kind(env.open_log(&path, mode)), io::ErrorKind::NotFound);
        }
        env.drain_jobs();
    });
}

#[test]
fn a_lock_excludes_and_names_its_holder() {
    check(|env, dir| {
        let path = dir.join("LOCK");
        let lock = env.lock(&path, "process 7 (test)").unwrap();
        match env.lock(&path, "second") {
            Err(EnvError::Locked { path: at, holder }) => {
                assert_eq!((at, holder.as_str()), (path.clone(), "process 7 (test)"));
            }
            other => panic!("locked twice: {other:?}"),
        }
        drop(lock);
        let _third = env.lock(&path, "third").unwrap();
        assert_eq!(env.read_file(&path).unwrap(), b"third\n");
        assert!(env.lock(&dir.join("no/LOCK"), "x").is_err());
    });
}

#[test]
fn the_clock_does_not_go_back_and_random_words_differ() {
    check(|env, _| {
        let times: Vec<u64> = (0..1000).map(|_| env.monotonic_us()).collect();
        assert!(times.is_sorted());
        let year_2020_us = 1_577_836_800_000_000;
        assert!(env.wall_us() > year_2020_us);
        let mut words: Vec<u64> = (0..1000).map(|_| env.random_u64()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 1000);
        assert!(!env.process_line().is_empty());
    });
}

#[test]
fn every_job_has_run_after_draining() {
    check(|env, _| {
        let ran = Arc::new(AtomicUsize::new(0));
        for i in 0..300 {
            let kind = [JobKind::Flush, JobKind::Compaction, JobKind::Foreground][i % 3];
            let ran = Arc::clone(&ran);
            let count = move || {
                ran.fetch_add(1, Ordering::SeqCst);
            };
            env.spawn(kind, Box::new(count));
        }
        env.drain_jobs();
        assert_eq!(ran.load(Ordering::SeqCst), 300);
    });
}

#[test]
fn parallel_keeps_the_order_of_the_items() {
    check(|env, _| {
        assert_eq!(env.parallelism(), 2);
        for count in [0, 1, 2, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let want: Vec<usize> = items.iter().map(|i| i * i).collect();
            assert_eq!(parallel(env, items, |i| i * i), want);
        }
    });
}

#[test]
fn parallel_passes_a_panic_on() {
    check(|env, _| {
        let work = || {
            parallel(env, vec![1, 2, 3, 4], |i| {
                if i == 3 {
                    std::panic::resume_unwind(Box::new("three"));
                }
                i
            })
        };
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"three"));
        env.drain_jobs();
    });
}
