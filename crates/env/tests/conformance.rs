//! Runs the shared promises on the memory environment and on the real one.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod promises;

use std::path::{Path, PathBuf};

use quipu_env::{Env, LogMode, MemoryEnv, ReadOptions, RealEnv, RealOptions};

/// Runs a promise on the memory environment, and on the real one without `io_uring`, with it, and
/// with direct writes.
fn check(promise: impl Fn(&dyn Env, &Path) + 'static) {
    let memory = MemoryEnv::new(2);
    let folder = PathBuf::from("/db");
    memory.create_folder(&folder).unwrap();
    promise(&memory, &folder);
    for (io_uring, direct_writes) in [(false, false), (true, false), (true, true)] {
        let real = RealEnv::new(RealOptions { threads: 2, io_uring, direct_writes });
        let folder = tempfile::tempdir().unwrap();
        promise(&real, folder.path());
    }
}

#[test]
fn a_log_that_does_not_fit_fails_when_it_is_created() {
    let env = RealEnv::default();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    // Longer than any file can be, so that it fails on every file system without filling it.
    // `crates/kill` tests a disk with too little space.
    assert!(env.create_log(&path, u64::MAX, LogMode::Mapped).is_err());
    assert!(!env.exists(&path));
}

#[test]
fn the_process_is_named_by_its_id() {
    let id = std::process::id().to_string();
    assert!(MemoryEnv::new(1).process_line().contains(&id));
    assert!(RealEnv::default().process_line().contains(&id));
}

// Not in the shared promises yet, because the simulated disk can rename only files.
#[test]
fn a_renamed_folder_takes_all_in_it_along() {
    check(|env, folder| {
        let put = |path: &Path, bytes: &[u8]| {
            let mut file = env.create(path).unwrap();
            file.append(bytes).unwrap();
            file.sync().unwrap();
        };
        let (old, new) = (folder.join("old"), folder.join("new"));
        env.create_folder(&old.join("deep/empty")).unwrap();
        put(&old.join("deep/file"), b"content");
        put(&folder.join("older"), b"begins alike");
        let open = env.open_read(&old.join("deep/file"), ReadOptions::default()).unwrap();
        env.rename(&old, &new).unwrap();
        assert!(!env.exists(&old));
        assert_eq!(env.read_file(&new.join("deep/file")).unwrap(), b"content");
        assert_eq!(env.list(&new.join("deep")).unwrap(), ["empty", "file"]);
        assert_eq!(env.list(folder).unwrap(), ["new", "older"]);
        assert_eq!(open.len_bytes().unwrap(), 7, "an open file outlives its name");
        assert!(env.rename(&new, &folder.join("older")).is_err(), "a file is in the way");
        assert!(env.rename(&old, &folder.join("x")).is_err(), "there is none");
        assert!(env.link_if_possible(&new.join("deep/file"), &folder.join("x")).unwrap());
    });
}
