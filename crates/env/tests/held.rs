//! Held folders: links and special files in them, and folders that are moved or replaced while
//! held.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use quipu_env::{Env, EnvError, LogMode, ReadOptions, RealEnv, RealOptions};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A folder to hold, and another one that must not be touched.
struct Fixture {
    _all: tempfile::TempDir,
    own: PathBuf,
    other: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(all.path()).unwrap();
        let (own, other) = (path.join("own"), path.join("other"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("file"), "theirs").unwrap();
        Self { _all: all, own, other }
    }

    /// Checks that the other folder is unchanged.
    #[track_caller]
    fn other_is_untouched(&self, about: &str) {
        let names: Vec<_> =
            fs::read_dir(&self.other).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["file"], "{about}");
        assert_eq!(fs::read_to_string(self.other.join("file")).unwrap(), "theirs", "{about}");
    }
}

type Operation = (&'static str, fn(&RealEnv, &Path) -> quipu_env::Result<()>);

/// Every operation that opens the file at a path.
const OPENINGS: [Operation; 5] = [
    ("read", |env, path| env.open_read(path, ReadOptions::default()).map(drop)),
    ("read directly", |env, path| env.open_read(path, ReadOptions { direct: true }).map(drop)),
    ("append", |env, path| env.open_append(path, 0).map(drop)),
    ("log", |env, path| env.open_log(path, LogMode::Mapped).map(drop)),
    ("lock", |env, path| env.lock(path, "us").map(drop)),
];

/// Every operation on something in the folder at a path, which contains a file named `file`.
const INSIDE: [Operation; 13] = [
    ("create", |env, path| env.create(&path.join("new")).map(drop)),
    ("create log", |env, path| env.create_log(&path.join("new"), 4096, LogMode::Write).map(drop)),
    ("read", |env, path| env.open_read(&path.join("file"), ReadOptions::default()).map(drop)),
    ("append", |env, path| env.open_append(&path.join("file"), 0).map(drop)),
    ("log", |env, path| env.open_log(&path.join("file"), LogMode::Write).map(drop)),
    ("remove", |env, path| env.remove(&path.join("file"))),
    ("rename", |env, path| env.rename(&path.join("file"), &path.join("new"))),
    ("link", |env, path| env.link(&path.join("file"), &path.join("new"))),
    ("list", |env, path| env.list(path).map(drop)),
    ("create folder", |env, path| env.create_folder(&path.join("new"))),
    ("create it", |env, path| env.create_folder(path)),
    ("sync", |env, path| env.sync_folder(path)),
    ("lock", |env, path| env.lock(&path.join("new"), "us").map(drop)),
];

fn environments() -> [RealEnv; 2] {
    [false, true]
        .map(|direct_writes| RealEnv::new(RealOptions { direct_writes, ..RealOptions::default() }))
}

#[test]
fn below_a_held_folder_no_link_is_followed() {
    for env in environments() {
        let fixture = Fixture::new();
        let _held = env.hold(&fixture.own).unwrap();
        let (file, folder) = (fixture.own.join("to-file"), fixture.own.join("to-folder"));
        symlink(fixture.other.join("file"), &file).unwrap();
        symlink(&fixture.other, &folder).unwrap();
        for (name, open) in OPENINGS {
            let error = open(&env, &file).unwrap_err().to_string();
            assert!(error.contains("symbolic link"), "{name}: {error}");
            fixture.other_is_untouched(name);
        }
        for (name, operation) in INSIDE {
            let error = operation(&env, &folder).unwrap_err().to_string();
            assert!(error.contains("symbolic link"), "{name}: {error}");
            fixture.other_is_untouched(name);
        }
        // Opening a dangling link for writing would create its target.
        let nothing = fixture.own.join("to-nothing");
        symlink(fixture.other.join("new"), &nothing).unwrap();
        assert!(env.create(&nothing).is_err());
        assert!(env.lock(&nothing, "us").is_err());
        fixture.other_is_untouched("a link to nothing");
        assert!(env.exists(&nothing), "something is there");
        // Names may be changed: this removes the link, not its target.
        env.remove(&file).unwrap();
        env.rename(&folder, &file).unwrap();
        fixture.other_is_untouched("names");
        assert!(env.open_read(&fixture.own.join("../other/file"), ReadOptions::default()).is_err());
    }
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    for env in environments() {
        let fixture = Fixture::new();
        let (pipe, socket) = (fixture.own.join("pipe"), fixture.own.join("socket"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _listens = UnixListener::bind(&socket).unwrap();
        let mut held = None;
        for _ in 0..2 {
            for (path, what) in
                [(&pipe, "named pipe"), (&socket, "socket"), (&fixture.own, "irectory")]
            {
                for (name, open) in OPENINGS {
                    let error = open(&env, path).unwrap_err().to_string();
                    assert!(error.contains(what), "{name} of a {what}: {error}");
                }
            }
            let error = env.read_file(Path::new("/dev/zero")).unwrap_err().to_string();
            assert!(error.contains("it is a device"), "{error}");
            held = Some(env.hold(&fixture.own).unwrap());
        }
        drop(held);
    }
}

#[test]
fn what_has_a_second_name_is_not_written_to() {
    for env in environments() {
        let fixture = Fixture::new();
        let linked = fixture.own.join("linked");
        fs::hard_link(fixture.other.join("file"), &linked).unwrap();
        let _held = env.hold(&fixture.own).unwrap();
        for (name, open) in &OPENINGS[2..] {
            let error = open(&env, &linked).unwrap_err().to_string();
            assert!(error.contains("hard link"), "{name}: {error}");
            fixture.other_is_untouched(name);
        }
        assert_eq!(env.read_file(&linked).unwrap(), b"theirs", "tables are linked into backups");
        env.remove(&linked).unwrap();
        fixture.other_is_untouched("removed");
    }
}

/// The folder is moved, and a new one is created at its path.
#[test]
fn in_a_folder_that_was_moved_nothing_changes_and_reads_go_on() {
    for env in environments() {
        let fixture = Fixture::new();
        let tables = fixture.own.join("tables");
        let held = env.hold(&fixture.own).unwrap();
        let lock = env.lock(&fixture.own.join("LOCK"), "us").unwrap();
        env.create_folder(&tables).unwrap();
        fs::write(tables.join("file"), "ours").unwrap();
        held.check().unwrap();

        let moved = fixture.own.with_file_name("moved");
        fs::rename(&fixture.own, &moved).unwrap();
        for replaced in [false, true] {
            if replaced {
                fs::create_dir_all(&tables).unwrap();
                fs::write(tables.join("file"), "theirs").unwrap();
            }
            let change = [
                "create",
                "create log",
                "append",
                "log",
                "remove",
                "rename",
                "link",
                "create folder",
                "lock",
            ];
            for (name, operation) in INSIDE.iter().filter(|(name, _)| change.contains(name)) {
                let error = operation(&env, &tables).unwrap_err();
                assert!(matches!(error, EnvError::Moved { .. }), "{name}: {error}");
                let error = error.to_string();
                assert!(
                    error.contains("was moved, removed or replaced since it was opened"),
                    "{error}"
                );
            }
            assert!(matches!(held.check(), Err(EnvError::Moved { .. })));
            assert_eq!(env.read_file(&tables.join("file")).unwrap(), b"ours", "reads stay in it");
            assert_eq!(env.list(&tables).unwrap(), ["file"]);
        }
        // In one environment a path cannot lead to two folders. Another environment sees only the
        // new folder.
        assert!(matches!(env.hold(&fixture.own), Err(EnvError::Moved { .. })));
        let second = RealEnv::default();
        let _second_held = second.hold(&fixture.own).unwrap();
        let _second_lock = second.lock(&fixture.own.join("LOCK"), "them").unwrap();
        second.create(&tables.join("new")).unwrap();
        assert!(!moved.join("tables/new").exists());
        // The moved folder is still locked.
        assert!(matches!(second.lock(&moved.join("LOCK"), "them"), Err(EnvError::Locked { .. })));

        drop((lock, held));
        env.hold(&fixture.own).unwrap();
        // After moving it back, it would be the right folder again. Here another folder is at the
        // path, and may be held.
    }
}

#[test]
fn where_the_lock_was_replaced_nothing_changes() {
    for env in environments() {
        let fixture = Fixture::new();
        let lock_file = fixture.own.join("LOCK");
        let held = env.hold(&fixture.own).unwrap();
        let lock = env.lock(&lock_file, "us").unwrap();
        env.create(&fixture.own.join("a")).unwrap();
        fs::remove_file(&lock_file).unwrap();
        for replaced in [false, true] {
            let second = RealEnv::default();
            let _theirs = replaced.then(|| second.lock(&lock_file, "them").unwrap());
            let error = env.create(&fixture.own.join("b")).unwrap_err();
            assert!(
                error.to_string().contains("has another lock file since it was opened"),
                "{error}"
            );
            assert!(env.remove(&fixture.own.join("a")).is_err());
            assert!(held.check().is_err());
        }
        drop(lock);
        // Without a lock, none can be replaced.
        env.remove(&fixture.own.join("a")).unwrap();
        held.check().unwrap();
    }
}

#[test]
fn the_links_of_a_path_are_followed_once() {
    let fixture = Fixture::new();
    let env = RealEnv::default();
    let link = fixture.own.join("link");
    symlink(&fixture.other, &link).unwrap();
    assert_eq!(env.resolved(&link).unwrap(), fixture.other);
    assert_eq!(env.resolved(&link.join("new/deep")).unwrap(), fixture.other.join("new/deep"));
    let nowhere = fixture.own.join("nowhere");
    symlink("nothing", &nowhere).unwrap();
    let error = env.resolved(&nowhere).unwrap_err().to_string();
    assert!(error.contains("a symbolic link to something that is not there"), "{error}");
    symlink("circle", fixture.own.join("circle")).unwrap();
    assert!(env.resolved(&fixture.own.join("circle")).is_err());
}
