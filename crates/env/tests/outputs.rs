//! Output files of every kind, reached directly, through links and through `..`.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use quipu_env::{Env, Output, RealEnv};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

fn write(path: &Path, text: &str) -> quipu_env::Result<()> {
    let mut output = Output::create(path, &|| true)?;
    output.write_all(text.as_bytes()).unwrap();
    output.finish()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[track_caller]
fn names(folder: &Path, expected: &[&str]) {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, expected);
}

#[test]
fn a_regular_file_is_replaced_and_keeps_mode_owner_and_group() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    for kept in [0o600, 0o640, 0o666] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
        // Only root can change owners. For other users there is nothing to preserve.
        let _ = std::os::unix::fs::chown(&path, Some(12), Some(34));
        let before = fs::metadata(&path).unwrap();
        write(&path, "new").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(mode(&path), kept);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        names(folder.path(), &["x.csv"]);
    }
}

#[test]
fn a_file_that_is_not_finished_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    for (old, left) in [(None, &[][..]), (Some("old"), &["x.csv"][..])] {
        if let Some(old) = old {
            fs::write(&path, old).unwrap();
        }
        let mut output = Output::create(&path, &|| true).unwrap();
        output.write_all(b"new").unwrap();
        drop(output);
        names(folder.path(), left);
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
    }
}

#[test]
fn links_are_followed_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("real")).unwrap();
    fs::write(at("real/there"), "old").unwrap();
    fs::set_permissions(at("real/there"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("real/there", at("link")).unwrap();
    symlink("link", at("twice")).unwrap();
    symlink(at("real/missing"), at("dangling")).unwrap();
    symlink("circle", at("circle")).unwrap();
    symlink("nowhere/x", at("lost")).unwrap();
    for (link, real) in [("link", "there"), ("twice", "there"), ("dangling", "missing")] {
        write(&at(link), link).unwrap();
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
        assert_eq!(fs::read_to_string(at("real").join(real)).unwrap(), link);
    }
    assert_eq!(mode(&at("real/there")), 0o600);
    write(&at("circle"), "").unwrap_err();
    write(&at("lost"), "").unwrap_err();
    names(&at("real"), &["missing", "there"]);
    names(folder.path(), &["circle", "dangling", "link", "lost", "real", "twice"]);
}

#[test]
fn a_pipe_is_written_into() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    // The pipe has no reader, and the caller does not want to wait forever.
    let asked = std::cell::Cell::new(0);
    let go_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 3
    };
    Output::create(&path, &go_on).unwrap_err();
    assert_eq!(asked.get(), 3);

    let reader = path.clone();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        fs::File::open(reader).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    write(&path, "streamed").unwrap();
    assert_eq!(reader.join().unwrap(), "streamed");
    names(folder.path(), &["pipe"]);
    assert!(!fs::symlink_metadata(&path).unwrap().is_file());
}

#[test]
fn a_character_device_is_written_into() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("null");
    // Our own device like /dev/null, since the real one is shared.
    let made =
        mknodat(CWD, &path, FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(1, 3));
    let opened = made.map_err(Into::into).and_then(|()| fs::File::open(&path));
    if opened.is_err() {
        println!("skipped: this user may not make or open devices here");
        return;
    }
    let before = fs::symlink_metadata(&path).unwrap();
    write(&path, "nothing").unwrap();
    let after = fs::symlink_metadata(&path).unwrap();
    assert_eq!((after.ino(), after.mode()), (before.ino(), before.mode()));
    names(folder.path(), &["null"]);
}

#[test]
fn what_is_no_file_to_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let _socket = UnixListener::bind(at("socket")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("file"), "old").unwrap();
    let paths = ["socket", "folder", "folder/", "folder/.", "new/", "new/.", "new/..", "file/", ""];
    for path in paths {
        let error = write(&at(path), "").unwrap_err();
        assert!(error.to_string().contains(&*folder.path().to_string_lossy()), "{error}");
    }
    write(&at("missing/file"), "").unwrap_err();
    write(&at("missing/../file"), "").unwrap_err();
    names(folder.path(), &["file", "folder", "socket"]);
    names(&at("folder"), &[]);
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "old");
}

#[test]
fn whatever_leads_into_a_folder_is_within_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let env = RealEnv::default();
    fs::create_dir_all(at("db/tables")).unwrap();
    fs::create_dir(at("other")).unwrap();
    fs::write(at("db/tables/1.sst"), "table").unwrap();
    symlink("db/tables/1.sst", at("to a table")).unwrap();
    symlink("db/tables/2.sst", at("to a new one")).unwrap();
    symlink("db", at("to it")).unwrap();
    let within = [
        "db",
        "db/",
        "db/.",
        "db/x",
        "db/x/y/z",
        "other/../db/x",
        "other/../db/tables/x",
        "to it",
        "to it/",
        "to it/x",
        "to it/tables/../x",
        "other/../to it/x/y",
        "to a table",
        "to a new one",
    ];
    for path in within {
        assert!(env.is_within(&at(path), &at("db")), "{path}");
    }
    for path in ["", "other", "other/x", "db/../other/x", "db2", "db2/x", "to it/../x"] {
        assert!(!env.is_within(&at(path), &at("db")), "{path}");
    }
}

#[test]
fn a_private_folder_is_private_and_its_parents_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let env = RealEnv::default();
    env.create_private_folder(&at("a/b/c")).unwrap();
    env.create_folder(&at("d")).unwrap();
    assert_eq!(mode(&at("a/b/c")), 0o700);
    assert_eq!((mode(&at("a")), mode(&at("a/b"))), (mode(&at("d")), mode(&at("d"))));
    // An existing folder keeps its mode.
    fs::set_permissions(at("d"), fs::Permissions::from_mode(0o750)).unwrap();
    env.create_private_folder(&at("d")).unwrap();
    assert_eq!(mode(&at("d")), 0o750);

    env.copy_access(&at("d"), &at("a/b/c")).unwrap();
    assert_eq!(mode(&at("a/b/c")), 0o750);
}
