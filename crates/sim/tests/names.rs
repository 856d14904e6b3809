//! The simulated disk after crashes: renamed folders, and files with several names.

use env::{Env, EnvError};
use quipu_sim::{Crash, FaultPlan, Random, Settings, Sim, SimEnv};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

fn path(name: &str) -> &Path {
    Path::new(name)
}

fn put(env: &SimEnv, name: &str, bytes: &[u8]) {
    let mut file = env.create(path(name)).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

/// Creates folder `name` with a file, all durable.
fn folder(env: &SimEnv, name: &str, bytes: &[u8]) {
    env.create_folder(path(&format!("{name}/deep"))).unwrap();
    put(env, &format!("{name}/deep/a"), bytes);
    for name in ["/", name, &format!("{name}/deep")] {
        env.sync_folder(path(name)).unwrap();
    }
}

fn on_machines(work: impl Fn(&SimEnv) + Clone + 'static, then: impl Fn(Sim)) {
    for seed in 0..300 {
        let settings =
            Settings { faults: FaultPlan::none(), ..Settings::swarm(&mut Random::new(seed)) };
        let machine = Sim::new(seed, settings);
        let (work, env) = (work.clone(), machine.env());
        machine.spawn("work", move || work(&env));
        machine.run().unwrap();
        then(machine);
    }
}

/// All files that exist after a power cut that follows `work`, over many seeds.
fn after_power_cuts(work: impl Fn(&SimEnv) + Clone + 'static) -> BTreeSet<String> {
    let found = std::cell::RefCell::new(BTreeSet::new());
    on_machines(work, |machine| {
        machine.crash(Crash::Power);
        let files = machine.restart().files();
        let line = |(name, bytes)| format!("{name}={}", String::from_utf8(bytes).unwrap());
        found.borrow_mut().insert(files.into_iter().map(line).collect::<Vec<_>>().join(" "));
    });
    found.into_inner()
}

#[track_caller]
fn check(work: impl Fn(&SimEnv) + Clone + 'static, want: &[&str]) {
    let want: BTreeSet<String> = want.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(after_power_cuts(work), want);
}

#[test]
fn a_renamed_folder_has_everything_in_it_under_its_new_name() {
    on_machines(
        |env| {
            folder(env, "/old", b"x");
            env.rename(path("/old"), path("/new")).unwrap();
            assert!(!env.exists(path("/old")) && !env.exists(path("/old/deep/a")));
            assert_eq!(env.read_file(path("/new/deep/a")).unwrap(), b"x");
            put(env, "/new/deep/b", b"y");
            env.create_folder(path("/old")).unwrap();
            assert!(env.list(path("/old")).unwrap().is_empty());
        },
        |machine| {
            let names: Vec<String> = machine.files().into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["/new/deep/a", "/new/deep/b"]);
        },
    );
}

#[test]
fn a_renamed_folder_is_in_one_place_after_a_power_cut_and_in_the_new_one_once_synced() {
    let renamed = |env: &SimEnv| {
        folder(env, "/old", b"x");
        env.rename(path("/old"), path("/new")).unwrap();
    };
    check(renamed, &["/old/deep/a=x", "/new/deep/a=x"]);
    let synced = move |env: &SimEnv| {
        renamed(env);
        env.sync_folder(path("/")).unwrap();
    };
    check(synced, &["/new/deep/a=x"]);
    // The names in a folder are made durable through any path that it has.
    let filled = |env: &SimEnv| {
        folder(env, "/old", b"x");
        put(env, "/old/deep/b", b"y");
        env.rename(path("/old"), path("/new")).unwrap();
        env.sync_folder(path("/new/deep")).unwrap();
    };
    check(filled, &["/old/deep/a=x /old/deep/b=y", "/new/deep/a=x /new/deep/b=y"]);
}

#[test]
fn two_renamings_in_turn_leave_one_of_two_folders_whole_at_each_name() {
    let swapped = |env: &SimEnv| {
        folder(env, "/db", b"1");
        folder(env, "/ready", b"2");
        env.rename(path("/db"), path("/old")).unwrap();
        env.rename(path("/ready"), path("/db")).unwrap();
    };
    let want = [
        "/db/deep/a=1 /ready/deep/a=2",
        "/old/deep/a=1 /ready/deep/a=2",
        "/db/deep/a=2 /old/deep/a=1",
    ];
    check(swapped, &want);
}

#[test]
fn a_linked_file_lives_until_its_last_name_goes() {
    let linked = |env: &SimEnv| {
        folder(env, "/db", b"x");
        env.create_folder(path("/backup")).unwrap();
        env.link(path("/db/deep/a"), path("/backup/a")).unwrap();
        for name in ["/", "/backup"] {
            env.sync_folder(path(name)).unwrap();
        }
        env.remove(path("/db/deep/a")).unwrap();
    };
    check(linked, &["/backup/a=x", "/backup/a=x /db/deep/a=x"]);
}

#[test]
fn a_folder_is_not_renamed_onto_something_or_into_itself() {
    on_machines(
        |env| {
            folder(env, "/one", b"1");
            folder(env, "/two", b"2");
            let kind = |from, to| match env.rename(path(from), path(to)) {
                Err(EnvError::Io { source, .. }) => Some(source.kind()),
                _ => None,
            };
            assert_eq!(kind("/one", "/two"), Some(ErrorKind::IsADirectory));
            assert_eq!(kind("/one", "/two/deep/a"), Some(ErrorKind::NotADirectory));
            assert_eq!(kind("/one", "/one/deep/new"), Some(ErrorKind::InvalidInput));
            assert_eq!(kind("/none", "/new"), Some(ErrorKind::NotFound));
            assert_eq!(kind("/one", "/none/new"), Some(ErrorKind::NotFound));
            assert_eq!(kind("/one", "/one"), None, "as rename(2): nothing happens");
        },
        |machine| assert_eq!(machine.files().len(), 2),
    );
}

#[test]
fn a_lock_moves_with_its_folder() {
    on_machines(
        |env| {
            folder(env, "/db", b"x");
            let held = env.lock(path("/db/LOCK"), "the first").unwrap();
            env.rename(path("/db"), path("/old")).unwrap();
            let holder = match env.lock(path("/old/LOCK"), "the second") {
                Err(EnvError::Locked { holder, .. }) => holder,
                other => panic!("{other:?}"),
            };
            assert_eq!(holder, "the first");
            folder(env, "/db", b"y");
            drop(env.lock(path("/db/LOCK"), "of the new one").unwrap());
            drop(held);
            drop(env.lock(path("/old/LOCK"), "the second").unwrap());
        },
        drop,
    );
}
