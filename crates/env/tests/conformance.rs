//! What every environment promises, held against the memory and the machine.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod promises;

use std::path::{Path, PathBuf};

use quipu_env::{Env, LogMode, MemoryEnv, RealEnv, RealOptions};

/// Runs one promise over the memory, and over the machine without `io_uring`, with it, and with direct writes.
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
    // Longer than any disk, shorter than what the kernel calls an invalid length.
    assert!(env.create_log(&path, 1 << 43, LogMode::Mapped).is_err());
    assert!(!env.exists(&path));
}

#[test]
fn the_process_is_named_by_its_id() {
    let id = std::process::id().to_string();
    assert!(MemoryEnv::new(1).process_line().contains(&id));
    assert!(RealEnv::default().process_line().contains(&id));
}
