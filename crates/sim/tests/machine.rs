//! The simulated machine keeps, loses and reports data as a real one does.

use env::sync::Mutex;
use env::{Env, JobKind, LogMode};
use quipu_sim::{Crash, Failure, Fault, FaultPlan, NameOrder, Random, Settings, Sim, SimEnv};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SECTOR: usize = 512;

fn path(name: &str) -> &Path {
    Path::new(name)
}

/// Runs `work` as the only task.
fn run(machine: &Sim, work: impl FnOnce(&SimEnv) + 'static) {
    let env = machine.env();
    machine.spawn("work", move || work(&env));
    machine.run().unwrap();
}

fn put(env: &SimEnv, name: &str, bytes: &[u8]) {
    let mut file = env.create(path(name)).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

/// The set of results of `look` after a power cut that follows `work`, over many seeds.
fn after_power_cuts<T: Ord>(
    work: impl Fn(&SimEnv) + Clone + 'static,
    look: impl Fn(&SimEnv) -> T,
) -> BTreeSet<T> {
    let looked = (0..300).map(|seed| {
        let settings =
            Settings { faults: FaultPlan::none(), ..Settings::swarm(&mut Random::new(seed)) };
        let machine = Sim::new(seed, settings);
        let work = work.clone();
        run(&machine, move |env| work(env));
        machine.crash(Crash::Power);
        look(&machine.restart().env())
    });
    looked.collect()
}

#[test]
fn what_was_synced_survives_and_the_rest_may_or_may_not() {
    let found = after_power_cuts(
        |env| {
            put(env, "/a", b"synced");
            env.sync_folder(path("/")).unwrap();
            let mut file = env.open_append(path("/a"), 6).unwrap();
            file.append(b"+more").unwrap();
            file.flush().unwrap();
        },
        |env| env.read_file(path("/a")).unwrap(),
    );
    assert!(found.iter().all(|bytes| bytes.starts_with(b"synced")));
    assert!(found.contains(b"synced".as_slice()) && found.contains(b"synced+more".as_slice()));
    // The length may survive without the bytes.
    assert!(found.contains(b"synced\0\0\0\0\0".as_slice()));
}

#[test]
fn a_file_whose_folder_was_not_synced_may_vanish() {
    let found = after_power_cuts(|env| put(env, "/a", b"x"), |env| env.read_file(path("/a")).ok());
    assert_eq!(found, BTreeSet::from([None, Some(b"x".to_vec())]));
}

#[test]
fn a_folder_that_was_not_synced_takes_its_files_along() {
    let found = after_power_cuts(
        |env| {
            env.create_folder(path("/db")).unwrap();
            put(env, "/db/a", b"x");
            env.sync_folder(path("/db")).unwrap();
        },
        |env| (env.exists(path("/db")), env.exists(path("/db/a"))),
    );
    assert_eq!(found, BTreeSet::from([(false, false), (true, true)]));
}

#[test]
fn a_rename_without_a_folder_sync_may_be_undone_but_is_whole() {
    let found = after_power_cuts(
        |env| {
            put(env, "/new", b"new");
            put(env, "/a", b"old");
            env.sync_folder(path("/")).unwrap();
            env.rename(path("/new"), path("/a")).unwrap();
        },
        |env| (env.read_file(path("/a")).unwrap(), env.exists(path("/new"))),
    );
    assert_eq!(found, BTreeSet::from([(b"old".to_vec(), true), (b"new".to_vec(), false)]));
    let synced = after_power_cuts(
        |env| {
            put(env, "/new", b"new");
            env.rename(path("/new"), path("/a")).unwrap();
            env.sync_folder(path("/")).unwrap();
        },
        |env| env.read_file(path("/a")).unwrap(),
    );
    assert_eq!(synced, BTreeSet::from([b"new".to_vec()]));
}

#[test]
fn names_survive_in_any_order_that_the_settings_allow() {
    let survivors = |order: NameOrder| -> BTreeSet<(bool, bool)> {
        let machines = (0..100)
            .map(|seed| Sim::new(seed, Settings { name_order: order, ..Settings::default() }));
        let found = machines.map(|machine| {
            run(&machine, |env| {
                put(env, "/first", b"");
                put(env, "/second", b"");
            });
            machine.crash(Crash::Power);
            let env = machine.restart().env();
            (env.exists(path("/first")), env.exists(path("/second")))
        });
        found.collect()
    };
    let in_order = BTreeSet::from([(false, false), (true, false), (true, true)]);
    assert_eq!(survivors(NameOrder::Journal), in_order);
    assert_eq!(survivors(NameOrder::Folder), in_order);
    assert_eq!(survivors(NameOrder::Name).len(), 4);
}

#[test]
fn a_removed_file_may_come_back_with_its_bytes() {
    let found = after_power_cuts(
        |env| {
            put(env, "/a", b"x");
            env.sync_folder(path("/")).unwrap();
            env.remove(path("/a")).unwrap();
            put(env, "/b", b"y"); // must not replace a file that may come back
        },
        |env| env.read_file(path("/a")).ok(),
    );
    assert_eq!(found, BTreeSet::from([None, Some(b"x".to_vec())]));
}

#[test]
fn sectors_of_a_log_survive_later_without_earlier_but_never_in_half() {
    let found = after_power_cuts(
        |env| {
            let mut log = env.create_log(path("/log"), 4 * SECTOR as u64, LogMode::Write).unwrap();
            log.sync().unwrap();
            env.sync_folder(path("/")).unwrap();
            log.write_at(&[1; 3 * SECTOR], 100).unwrap();
        },
        |env| {
            let bytes = env.read_file(path("/log")).unwrap();
            let sectors = bytes.chunks(SECTOR).enumerate();
            let written = sectors.map(|(i, sector)| {
                let from = if i == 0 { 100 } else { 0 };
                let to = if i == 3 { 100 } else { SECTOR };
                assert!(sector[..from].iter().chain(&sector[to..]).all(|byte| *byte == 0));
                let first = sector[from];
                assert!(sector[from..to].iter().all(|byte| *byte == first), "half a sector");
                first
            });
            written.collect::<Vec<u8>>()
        },
    );
    assert_eq!(found.len(), 16, "each subset of four sectors: {found:?}");
}

#[test]
fn sectors_tear_where_the_settings_say_so() {
    let settings = Settings { torn_ppm: 500_000, ..Settings::default() };
    let torn = (0..100).any(|seed| {
        let machine = Sim::new(seed, settings.clone());
        run(&machine, |env| {
            let mut log = env.create_log(path("/log"), SECTOR as u64, LogMode::Write).unwrap();
            log.sync().unwrap();
            env.sync_folder(path("/")).unwrap();
            log.write_at(&[1; SECTOR], 0).unwrap();
        });
        machine.crash(Crash::Power);
        let machine = machine.restart();
        let bytes = machine.env().read_file(path("/log")).unwrap();
        let torn = bytes[0] == 1 && bytes[SECTOR - 1] == 0;
        assert!(!torn || machine.counts().sectors_torn == 1);
        torn
    });
    assert!(torn);
}

#[test]
fn a_cut_file_is_whole_or_cut_never_a_mixture() {
    let old: Vec<u8> = (0..2000_u32).map(|i| (i % 251) as u8).collect();
    let synced = old.clone();
    let found = after_power_cuts(
        move |env| {
            put(env, "/a", &synced);
            env.sync_folder(path("/")).unwrap();
            let mut file = env.open_append(path("/a"), 700).unwrap();
            file.append(&[255; 100]).unwrap();
            file.flush().unwrap();
        },
        |env| env.read_file(path("/a")).unwrap(),
    );
    for bytes in &found {
        let cut = bytes.len() <= 800 && bytes[..700] == old[..700];
        assert!(*bytes == old || cut, "{} bytes", bytes.len());
    }
    let mut new = old[..700].to_vec();
    new.resize(800, 255);
    assert!(found.contains(&old) && found.contains(&old[..700]) && found.contains(&new));
}

#[test]
fn a_killed_process_loses_its_buffers_and_its_locks_only() {
    let settings = Settings { append_buffer_bytes: 1 << 20, ..Settings::default() };
    let machine = Sim::new(3, settings);
    run(&machine, |env| {
        let mut flushed = env.create(path("/flushed")).unwrap();
        flushed.append(b"written").unwrap();
        flushed.flush().unwrap();
        flushed.append(b", buffered").unwrap();
        let mut log = env.create_log(path("/log"), 8, LogMode::Mapped).unwrap();
        log.write_at(b"written", 0).unwrap();
        std::mem::forget(env.lock(path("/LOCK"), "the first").unwrap());
    });
    let other = machine.second_process();
    assert!(other.lock(path("/LOCK"), "x").is_err());
    machine.crash(Crash::Kill);
    assert!(machine.env().read_file(path("/log")).is_err());
    assert_eq!(other.read_file(path("/flushed")).unwrap(), b"written");
    let machine = machine.restart();
    let env = machine.env();
    assert_eq!(env.read_file(path("/flushed")).unwrap(), b"written");
    assert_eq!(env.read_file(path("/log")).unwrap(), b"written\0");
    assert!(env.lock(path("/LOCK"), "the second").is_ok());
    assert_eq!(machine.counts().kills, 1);
}

#[test]
fn a_crash_comes_at_its_operation_done_or_not() {
    let mut seen = BTreeSet::new();
    for seed in 0..20 {
        let machine = Sim::new(seed, Settings::default());
        machine.crash_at_operation(2, Crash::Kill);
        let env = machine.env();
        machine.spawn("work", move || {
            env.create_folder(path("/1")).unwrap();
            assert!(env.create_folder(path("/2")).is_err());
            assert!(env.create_folder(path("/3")).is_err());
            assert!(env.is_off());
        });
        machine.run().unwrap();
        assert_eq!((machine.crashed(), machine.operations()), (Some(Crash::Kill), 2));
        let env = machine.restart().env();
        assert!(env.exists(path("/1")) && !env.exists(path("/3")));
        seen.insert(env.exists(path("/2")));
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn what_a_failed_sync_lost_no_later_sync_brings_back() {
    let mut seen = BTreeSet::new();
    for seed in 0..60 {
        let machine = Sim::new(seed, Settings::default());
        run(&machine, |env| {
            let mut log = env.create_log(path("/log"), SECTOR as u64, LogMode::Write).unwrap();
            log.sync().unwrap();
            env.sync_folder(path("/")).unwrap();
        });
        machine.fault_at_operation(machine.operations() + 1, Fault::SyncFails);
        run(&machine, |env| {
            let mut log = env.open_log(path("/log"), LogMode::Write).unwrap();
            log.write_at(&[1; SECTOR], 0).unwrap();
            log.sync().unwrap_err();
            log.sync().unwrap();
        });
        assert_eq!(machine.counts().of(Fault::SyncFails), 1);
        let cached = machine.env().read_file(path("/log")).unwrap()[0];
        machine.crash(Crash::Power);
        let stored = machine.restart().env().read_file(path("/log")).unwrap()[0];
        seen.insert((cached, stored));
    }
    // Kept; lost, but still in the page cache; lost, and read as lost.
    assert_eq!(seen, BTreeSet::from([(1, 1), (1, 0), (0, 0)]));
}

#[test]
fn each_fault_happens_when_it_is_ordered_and_is_counted() {
    for fault in Fault::ALL {
        let machine = Sim::new(1, Settings { append_buffer_bytes: 0, ..Settings::default() });
        machine.fault_at_operation(4, fault);
        let clock_us = machine.env().monotonic_us();
        run(&machine, move |env| {
            let work = || -> env::Result<bool> {
                env.create_folder(path("/db"))?;
                let mut other = env.create(path("/db/other"))?;
                other.append(&[2; 2 * SECTOR])?;
                let mut file = env.create(path("/db/a.sst"))?;
                file.append(&[1; 2 * SECTOR])?;
                file.sync()?;
                Ok(env.read_file(path("/db/a.sst"))? == [1; 2 * SECTOR]
                    && env.read_file(path("/db/other"))? == [2; 2 * SECTOR])
            };
            match work() {
                Ok(right) => assert_eq!(right, fault == Fault::Slow, "{fault:?}"),
                Err(error) => assert!(!fault.corrupts(), "{fault:?}: {error}"),
            }
        });
        assert_eq!((machine.counts().of(fault), machine.counts().total()), (1, 1), "{fault:?}");
        let took_us = machine.env().monotonic_us() - clock_us;
        assert!(fault == Fault::Slow || took_us < 1000);
    }
}

#[test]
fn a_full_disk_refuses_and_has_room_again_when_files_go() {
    let machine =
        Sim::new(1, Settings { disk_bytes: 1000, append_buffer_bytes: 0, ..Settings::default() });
    run(&machine, |env| {
        put(env, "/a", &[1; 600]);
        assert_eq!(env.free_bytes(path("/")).unwrap(), 400);
        assert!(env.create_log(path("/log"), 401, LogMode::Write).is_err());
        let mut file = env.create(path("/b")).unwrap();
        let error = file.append(&[2; 500]).unwrap_err();
        let env::EnvError::Io { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
        drop(file);
        env.remove(path("/b")).unwrap();
        env.remove(path("/a")).unwrap();
        assert_eq!(env.free_bytes(path("/")).unwrap(), 1000);
        put(env, "/c", &[3; 1000]);
    });
}

#[test]
fn a_deadlock_is_told_with_the_names_of_all_tasks() {
    let machine = Sim::new(5, Settings::default());
    let env = machine.env();
    machine.spawn("waits", move || env.signal().wait_until(&mut || false));
    let locks: Arc<[Mutex<u32>; 2]> = Arc::default();
    for (name, first) in [("left", 0), ("right", 1)] {
        let (env, locks) = (machine.env(), Arc::clone(&locks));
        machine.spawn(name, move || {
            let signal = env.signal();
            let _held = locks[first].lock();
            signal.wait_until_timeout(1000, &mut || false);
            let _never = locks[1 - first].lock();
        });
    }
    let Err(Failure::Deadlock { waiting }) = machine.run() else { panic!("it ended") };
    let text = waiting.join("\n");
    for part in ["\"waits\" of process 0 waits for a signal", "\"left\"", "\"right\"", "for a lock"]
    {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(waiting.len(), 3);
}

#[test]
fn a_forgotten_notification_is_a_deadlock() {
    let run = |notifies: bool| {
        let machine = Sim::new(5, Settings::default());
        let (env, signal) = (machine.env(), machine.env().signal());
        let open = Arc::new(AtomicU64::new(0));
        let opened = Arc::clone(&open);
        let heard = Arc::clone(&signal);
        machine.spawn("waits", move || {
            heard.wait_until(&mut || opened.load(Ordering::Relaxed) == 1);
        });
        machine.spawn("opens", move || {
            // Long enough for the other task to wait.
            env.signal().wait_until_timeout(1000, &mut || false);
            open.store(1, Ordering::Relaxed);
            if notifies {
                signal.notify();
            }
        });
        machine.run()
    };
    assert_eq!(run(true), Ok(()));
    assert!(matches!(run(false), Err(Failure::Deadlock { .. })));
}

#[test]
fn a_panic_and_an_endless_run_are_told() {
    let machine = Sim::new(1, Settings::default());
    machine.spawn("breaks", || std::panic::resume_unwind(Box::new("on purpose")));
    let want = Failure::Panic { task: "breaks".into(), message: "on purpose".into() };
    assert_eq!(machine.run(), Err(want));
    let machine = Sim::new(1, Settings { steps_max: 1000, ..Settings::default() });
    run_forever(&machine);
    assert!(matches!(machine.run(), Err(Failure::OutOfSteps { .. })));
}

fn run_forever(machine: &Sim) {
    let env = machine.env();
    machine.spawn("for ever", move || {
        loop {
            env.exists(path("/"));
        }
    });
}

#[test]
fn time_passes_at_once_where_all_wait() {
    let machine = Sim::new(1, Settings::default());
    let began_us = machine.env().monotonic_us();
    run(&machine, |env| {
        assert!(!env.signal().wait_until_timeout(3_600_000_000, &mut || false));
        let held = Mutex::new(());
        let _guard = held.lock();
    });
    assert!(machine.env().monotonic_us() - began_us >= 3_600_000_000);
}

#[test]
fn a_wait_without_an_end_does_not_hide_one_with() {
    let machine = Sim::new(1, Settings::default());
    let signal = machine.env().signal();
    let open = Arc::new(AtomicU64::new(0));
    for _ in 0..3 {
        let (signal, open) = (Arc::clone(&signal), Arc::clone(&open));
        machine.spawn("waits", move || {
            signal.wait_until(&mut || open.load(Ordering::Relaxed) == 1);
        });
    }
    let env = machine.env();
    machine.spawn("opens", move || {
        env.signal().wait_until_timeout(1000, &mut || false);
        open.store(1, Ordering::Relaxed);
        signal.notify();
    });
    machine.run().unwrap();
}

/// Starts tasks that share files, locks and jobs.
fn busy(machine: &Sim) {
    let total = Arc::new(Mutex::new(Vec::new()));
    for task in 0..4_u8 {
        let (env, total) = (machine.env(), Arc::clone(&total));
        machine.spawn("busy", move || {
            let name = format!("/{task}");
            let mut file = env.create(path(&name)).unwrap();
            for round in 0..20 {
                let mut total = total.lock();
                file.append(&[task; 40]).unwrap();
                total.push((task, round, env.random_u64()));
                drop(total);
                if round % 5 == 0 {
                    let inner = Arc::clone(&env);
                    let job = move || assert!(!inner.exists(path("/x")));
                    env.spawn(JobKind::Compaction, Box::new(job));
                    file.sync().unwrap();
                }
            }
            env.drain_jobs();
            let sum = env::parallel(&*env, (0..9_u64).collect(), |i| i * i).iter().sum::<u64>();
            assert_eq!(sum, 204);
        });
    }
}

#[test]
fn one_seed_gives_one_trace_and_another_seed_another() {
    let trace = |seed| {
        let mut machine = Sim::new(seed, Settings { switch_ppm: 300_000, ..Settings::default() });
        machine.keep_trace(10_000);
        for _ in 0..3 {
            busy(&machine);
            machine.run().unwrap();
            machine.crash(Crash::Power);
            machine = machine.restart();
            for (path, _) in machine.files() {
                machine.env().remove(Path::new(&path)).unwrap();
            }
        }
        (machine.trace_hash(), machine.trace())
    };
    let hashes: BTreeSet<u64> = (0..20).map(|seed| trace(seed).0).collect();
    assert_eq!(hashes.len(), 20);
    for seed in 0..20 {
        assert_eq!(trace(seed), trace(seed));
    }
}

#[test]
fn another_process_sees_what_is_written_and_lives_on() {
    let machine = Sim::new(1, Settings::default());
    run(&machine, |env| put(env, "/a", b"x"));
    let follower = machine.second_process();
    assert_eq!(follower.read_file(path("/a")).unwrap(), b"x");
    machine.crash(Crash::Kill);
    assert!(machine.env().read_file(path("/a")).is_err());
    assert_eq!(follower.read_file(path("/a")).unwrap(), b"x");
    machine.crash(Crash::Power);
    assert!(follower.read_file(path("/a")).is_err());
}

#[test]
fn a_kill_at_another_processs_operation_leaves_that_one_alone() {
    for seed in 0..10 {
        let machine = Sim::new(seed, Settings::default());
        let follower = machine.second_process();
        machine.crash_at_operation(1, Crash::Kill);
        assert!(follower.list(path("/")).is_ok() && !follower.is_off());
        assert!(machine.env().list(path("/")).is_err());
    }
}

#[test]
fn handles_of_a_machine_that_is_gone_fail_and_do_no_harm() {
    let machine = Sim::new(1, Settings::default());
    let old = machine.env();
    let mut file = old.create(path("/a")).unwrap();
    let mut log = old.create_log(path("/log"), 100, LogMode::Mapped).unwrap();
    let machine = machine.restart();
    assert!(file.append(&[1; 9000]).is_err() && file.sync().is_err());
    assert!(log.write_at(b"x", 0).is_err());
    assert!(old.create(path("/b")).is_err());
    drop((file, log));
    assert_eq!(machine.env().list(path("/")).unwrap(), ["a", "log"]);
}
