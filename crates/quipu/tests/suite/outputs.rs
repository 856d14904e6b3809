//! Effects of calls that write to a user's path on existing files there.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the files are the test's own
#![allow(clippy::unwrap_used)]

use quipu::{
    BackupOptions, Database, Error, ErrorKind, ExportFormat, GraphOptions, Options, Parameters,
    RestoreOptions,
};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A database with a graph, a second database, a backup, and an empty folder `other`.
struct Fixture {
    folder: TempDir,
    db: Database,
}

impl Fixture {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        let options = || Options { threads: 1, ..Options::default() };
        let db = Database::open(at("db"), options()).unwrap();
        let graph = db.graph("roads", GraphOptions::default()).unwrap();
        graph.upsert_many(&[1, 2, 3], &[2, 3, 4], None).unwrap();
        db.backup(at("bk"), &BackupOptions::default(), &|_, _| true).unwrap();
        Database::open(at("second"), options()).unwrap().close().unwrap();
        fs::create_dir(at("other")).unwrap();
        Self { folder, db }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// All files below the folder, with mode and contents.
    fn everything(&self) -> Vec<(PathBuf, u32, Vec<u8>)> {
        let (mut all, mut folders) = (Vec::new(), vec![self.folder.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let there = fs::symlink_metadata(&path).unwrap();
                if there.is_dir() {
                    folders.push(path.clone());
                }
                let content = if there.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                all.push((path, there.mode(), content));
            }
        }
        all.sort();
        all
    }
}

type Writer = (&'static str, fn(&Fixture, &Path) -> Result<(), Error>);

fn export(fixture: &Fixture, path: &Path, format: ExportFormat) -> Result<(), Error> {
    let graph = fixture.db.require_graph("roads")?;
    quipu::export_file(&graph, path, format, &|_| true).map(drop)
}

const EXPORTS: [Writer; 3] = [
    ("csv", |fixture, path| export(fixture, path, ExportFormat::Text(b','))),
    ("tsv", |fixture, path| export(fixture, path, ExportFormat::Text(b'\t'))),
    ("parquet", |fixture, path| export(fixture, path, ExportFormat::Parquet)),
];

const FOLDERS: [Writer; 5] = [
    ("backup", |fixture, path| {
        fixture.db.backup(path, &BackupOptions::default(), &|_, _| true).map(drop)
    }),
    ("incremental backup", |fixture, path| {
        let earlier = Some(fixture.at("bk"));
        let options = BackupOptions { earlier, ..BackupOptions::default() };
        fixture.db.backup(path, &options, &|_, _| true).map(drop)
    }),
    ("restore", |fixture, path| {
        let options = RestoreOptions::default();
        quipu::restore(fixture.at("bk"), path, options, &|_, _| true).map(drop)
    }),
    ("replacing restore", |fixture, path| {
        let options = RestoreOptions { replace: true };
        quipu::restore(fixture.at("bk"), path, options, &|_, _| true).map(drop)
    }),
    ("repair", |fixture, path| {
        quipu::repair(fixture.at("second"), path, Options::default(), &|_, _| true).map(drop)
    }),
];

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn exports_keep_modes_follow_links_and_stream_into_pipes() {
    for (name, export) in EXPORTS {
        let fixture = Fixture::new();
        let new = fixture.at("new");
        export(&fixture, &new).unwrap();
        let want = fs::read(&new).unwrap();
        assert!(!want.is_empty());
        let plain = fixture.at("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(&new), mode(&plain), "{name}: as the process's mask says");

        let secret = fixture.at("secret");
        fs::write(&secret, "old").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("secret", fixture.at("link")).unwrap();
        symlink("other/made", fixture.at("dangling")).unwrap();
        for (to, real) in [("secret", "secret"), ("link", "secret"), ("dangling", "other/made")] {
            let _ = fs::write(&secret, "old");
            export(&fixture, &fixture.at(to)).unwrap();
            assert_eq!(fs::read(fixture.at(real)).unwrap(), want, "{name} to {to}");
        }
        assert_eq!(mode(&secret), 0o600, "{name}");
        for link in ["link", "dangling"] {
            assert!(fs::symlink_metadata(fixture.at(link)).unwrap().is_symlink(), "{name}: {link}");
        }

        let pipe = fixture.at("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let path = pipe.clone();
        let reader = std::thread::spawn(move || {
            let mut found = Vec::new();
            fs::File::open(path).unwrap().read_to_end(&mut found).unwrap();
            found
        });
        export(&fixture, &pipe).unwrap();
        assert_eq!(reader.join().unwrap(), want, "{name} into a pipe");
        assert!(!fs::symlink_metadata(&pipe).unwrap().is_file(), "{name}");
        let graph = fixture.db.require_graph("roads").unwrap();
        let stopped = quipu::export_file(&graph, &pipe, ExportFormat::Text(b','), &|_| false);
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled, "nobody reads the pipe");
    }
}

#[test]
fn nothing_is_written_into_a_database_or_a_backup_by_whatever_way() {
    let fixture = Fixture::new();
    symlink("db", fixture.at("to db")).unwrap();
    symlink("db/tables/9.sst", fixture.at("into db")).unwrap();
    symlink("second/CURRENT", fixture.at("to current")).unwrap();
    symlink("bk/tables", fixture.at("to bk")).unwrap();
    fixture.db.flush().unwrap();
    let before = fixture.everything();
    let inside = [
        "db/x",
        "db/tables/x",
        "other/../db/x",
        "other/../db/tables/x",
        "to db/x",
        "to db/tables/x",
        "second/x",
        "other/../second/wal/x",
        "bk/x",
        "to bk/x",
        "other/../bk/y",
    ];
    for (name, write) in EXPORTS {
        for path in inside.iter().chain(&[
            "into db",
            "to current",
            "db/CURRENT",
            "db",
            "other",
            "other/",
            "new/",
            "other/.",
        ]) {
            let error = write(&fixture, &fixture.at(path)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name} to {path}: {error}");
            assert!(fixture.everything() == before, "{name} to {path}");
        }
    }
    for (name, write) in FOLDERS {
        for path in inside.iter().chain(&["bk/tables", "to current"]) {
            let error = write(&fixture, &fixture.at(path)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name} to {path}: {error}");
            assert!(fixture.everything() == before, "{name} to {path}");
        }
    }
}

#[test]
fn what_is_no_folder_is_no_place_for_a_database() {
    let fixture = Fixture::new();
    fs::write(fixture.at("file"), "mine").unwrap();
    let made = std::process::Command::new("mkfifo").arg(fixture.at("pipe")).status().unwrap();
    assert!(made.success());
    symlink("file", fixture.at("link")).unwrap();
    let before = fixture.everything();
    for (name, write) in FOLDERS {
        for path in ["file", "pipe", "link"] {
            let error = write(&fixture, &fixture.at(path)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name} to {path}: {error}");
            assert!(fixture.everything() == before, "{name} to {path}");
        }
    }
    let opened = Database::open(fixture.at("file"), Options::default()).map(drop);
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::InvalidInput);
    let options = BackupOptions { earlier: Some(fixture.at("file")), ..BackupOptions::default() };
    let made = fixture.db.backup(fixture.at("x"), &options, &|_, _| true);
    assert_eq!(made.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(fixture.everything() == before);
}

#[test]
fn new_databases_are_private_and_replaced_ones_keep_their_mode_and_owner() {
    let fixture = Fixture::new();
    assert_eq!(mode(&fixture.at("db")), 0o700);
    assert_eq!(mode(&fixture.at("bk")), 0o700);
    for (i, (name, write)) in FOLDERS.into_iter().enumerate() {
        for (path, kept) in
            [(format!("a{i}/b/c"), 0o700), (format!("d{i}/"), 0o700), (format!("e{i}"), 0o750)]
        {
            let path = fixture.at(&path);
            if kept != 0o700 {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            }
            write(&fixture, &path).unwrap();
            assert_eq!(mode(&path), kept, "{name} to {}", path.display());
            let left: Vec<_> = fs::read_dir(path.parent().unwrap())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name.contains("restore-"))
                .collect();
            assert!(left.is_empty(), "{name}: {left:?}");
        }
    }
    let second = fixture.at("second");
    fs::set_permissions(&second, fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(second.join("CURRENT"), fs::Permissions::from_mode(0o640)).unwrap();
    for path in [&second, &second.join("tables"), &second.join("CURRENT")] {
        // Succeeds only if this user may change owners.
        let _ = std::os::unix::fs::chown(path, Some(12), Some(34));
    }
    let before = fs::metadata(&second).unwrap();
    let options = RestoreOptions { replace: true };
    quipu::restore(fixture.at("bk"), &second, options, &|_, _| true).unwrap();
    assert_eq!((mode(&second), mode(&second.join("CURRENT"))), (0o751, 0o640));
    for path in [&second, &second.join("tables"), &second.join("CURRENT")] {
        let after = fs::metadata(path).unwrap();
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()), "{}", path.display());
    }
    for table in fs::read_dir(second.join("tables")).unwrap() {
        assert_eq!(mode(&table.unwrap().path()), 0o640);
    }
}

#[test]
fn a_restore_into_an_empty_folder_leaves_the_folder_itself() {
    let fixture = Fixture::new();
    let target = fixture.at("other");
    let before = fs::metadata(&target).unwrap();
    let options = RestoreOptions::default();
    quipu::restore(fixture.at("bk"), &target, options, &|_, _| true).unwrap();
    // The folder is the same one, so processes with this working directory are unaffected.
    assert_eq!(fs::metadata(&target).unwrap().ino(), before.ino());
    let db = Database::open(&target, Options::default()).unwrap();
    let found = db.run("?[count(a)] := *roads{src: a, dst: b}", &Parameters::new()).unwrap();
    assert_eq!(found.row(0).first().map(ToString::to_string).as_deref(), Some("3"));
}

#[test]
fn every_name_can_be_written_in_a_script() {
    let fixture = Fixture::new();
    let run = |script: &str| fixture.db.run(script, &Parameters::new()).unwrap();
    let graph = fixture.db.graph("ci-tes.", GraphOptions::default()).unwrap();
    graph.upsert_many(&[1, 2], &[2, 3], None).unwrap();
    assert_eq!(run("?[a, b] := *`ci-tes.`{src: a, dst: b}").len(), 2);
    run("?[k, v] <- [[1, 2]] :create `my-rows` {k: Int => v: Int}");
    run("?[k, v] <- [[3, 4]] :put `my-rows` {k => v}");
    run("::index create `my-rows`:by_v {v}");
    assert_eq!(run("?[k] := *`my-rows`{k, v: 4}").len(), 1);
    assert_eq!(run("?[k] := *`my-rows`:by_v{k, v: 4}").len(), 1);
    run("::index drop `my-rows`:by_v");
    run("?[k] <- [[3]] :rm `my-rows` {k}");
    run("::rename `my-rows` -> `your-rows`");
    assert_eq!(run("?[k, v] := *`your-rows`{k, v}").len(), 1);
    run("::remove `your-rows`");
}
