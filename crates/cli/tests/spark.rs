//! `quipu export --spark`: the folder it writes, read back by the database's own Parquet reader.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // processes and files
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A temporary folder with the database `db`.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    /// With the graph `g`, whose edges and vertices have properties. The vertex 9 has no edge.
    fn with_graph() -> Self {
        let place = Self::new();
        place.file("e.csv", "from,to,since,note\n1,2,1998,\"a,b\"\n2,3,,\n3,1,2001,c\n");
        place.file("n.csv", "id,kind\n1,book\n9,paper\n");
        place.ok(&["import", "db", "g", "e.csv", "--properties", "--nodes", "n.csv"]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quipu"));
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    /// Runs the command, which must succeed, and returns its standard output.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the command, which must fail with this status, and returns its standard error.
    #[track_caller]
    fn fails(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", err(&output));
        err(&output)
    }

    /// The rows of a file of the export `out`, as text.
    #[track_caller]
    fn rows(&self, file: &str, columns: &str) -> String {
        let path = self.path("out").join(file);
        let names: Vec<String> = columns.split(", ").map(|name| format!("'{name}'")).collect();
        let read = format!(
            "row[{columns}] <~ ParquetReader(url: 'file://{}', columns: [{}]) \
             ?[{columns}] := row[{columns}]",
            path.display(),
            names.join(", ")
        );
        self.ok(&["run", "db", "-e", &read, "--format", "csv"])
    }

    fn statistics(&self) -> Value {
        let text = fs::read_to_string(self.path("out/quipu.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Names in the folder around the database, hidden ones too.
    fn names(&self) -> Vec<String> {
        names(self.folder.path())
    }
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn vertices_and_edges_are_exported_with_their_properties() {
    let place = Place::with_graph();
    let output = place.command(&["export", "db", "g", "--spark", "out"]).output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(err(&output), "4 vertices and 3 edges to out, in 2 files\n");
    assert_eq!(
        place.rows("edges/part-00000.parquet", "src, dst, since, note"),
        "src,dst,since,note\n1,2,1998,\"a,b\"\n2,3,,\n3,1,2001,c\n"
    );
    assert_eq!(
        place.rows("vertices/part-00000.parquet", "id, kind"),
        "id,kind\n1,book\n2,\n3,\n9,paper\n"
    );
    assert_eq!(names(&place.path("out")), ["_SUCCESS", "edges", "quipu.json", "vertices"]);
    let page = place.statistics();
    assert_eq!((&page["format"], &page["graph"]), (&1.into(), &"g".into()));
    assert_eq!((&page["vertices"], &page["edges"]), (&4.into(), &3.into()));
    assert_eq!(page["file_rows_max"], 4_000_000);
    let columns = &page["edge_columns"];
    assert_eq!((&columns["src"], &columns["note"]), (&"uint64".into(), &"string".into()));
}

#[test]
fn rows_are_split_into_files_of_a_bounded_number() {
    let place = Place::new();
    let edges: String = (0..25).map(|i| format!("{i},{}\n", i + 1)).collect();
    place.file("path.csv", &edges);
    place.ok(&["import", "db", "g", "path.csv"]);
    place.ok(&["export", "db", "g", "--spark", "out", "--file-rows", "10"]);
    let files = place.statistics()["files"].clone();
    for (kind, last) in [("edges", 5), ("vertices", 6)] {
        for (part, rows) in [(0, 10), (1, 10), (2, last)] {
            assert_eq!(files[format!("{kind}/part-0000{part}.parquet")], rows, "{kind} {part}");
        }
    }
    assert_eq!(files.as_object().unwrap().len(), 6);
    let last = place.rows("vertices/part-00002.parquet", "id");
    assert_eq!(last, "id\n20\n21\n22\n23\n24\n25\n");
    for (name, bytes) in place.statistics()["file_bytes"].as_object().unwrap() {
        assert_eq!(fs::metadata(place.path("out").join(name)).unwrap().len(), *bytes);
    }
}

#[test]
fn an_export_reads_one_graph_beside_a_writer() {
    let place = Place::with_graph();
    let options = quipu::Options::default();
    let writer = quipu::Database::open(place.path("db"), options).unwrap();
    place.ok(&["export", "db", "g", "--spark", "out"]);
    assert_eq!(place.statistics()["edges"], 3);
    writer.close().unwrap();
}

#[test]
fn only_an_earlier_export_is_replaced_and_only_when_told() {
    let place = Place::with_graph();
    fs::create_dir(place.path("out")).unwrap();
    place.ok(&["export", "db", "g", "--spark", "out"]);
    let message = place.fails(1, &["export", "db", "g", "--spark", "out"]);
    assert!(message.contains("hint: --replace"), "{message}");
    place.ok(&["export", "db", "g", "--spark", "out", "--replace", "--file-rows", "2"]);
    assert_eq!(place.statistics()["file_rows_max"], 2);
    place.ok(&["export", "db", "g", "--spark", "out/", "--force"]);
    assert_eq!(place.statistics()["file_rows_max"], 4_000_000);
    // Someone's own file in the folder makes it more than an export.
    fs::write(place.path("out/notes.txt"), "years of it").unwrap();
    fs::create_dir(place.path("mine")).unwrap();
    fs::write(place.path("mine/notes.txt"), "years of it").unwrap();
    place.ok(&["export", "db", "g", "--spark", "deep"]);
    fs::write(place.path("deep/edges/notes.txt"), "years of it").unwrap();
    for folder in ["out", "mine", "mine/notes.txt", "deep", ".", "db"] {
        let arguments = ["export", "db", "g", "--spark", folder, "--replace"];
        let message = place.fails(1, &arguments);
        assert!(message.starts_with("error: "), "{folder}: {message}");
    }
    assert_eq!(fs::read_to_string(place.path("out/notes.txt")).unwrap(), "years of it");
    assert_eq!(fs::read_to_string(place.path("deep/edges/notes.txt")).unwrap(), "years of it");
    assert_eq!(place.names(), ["db", "deep", "e.csv", "mine", "n.csv", "out"]);
    place.ok(&["check", "db"]);
}

#[test]
fn wrong_requests_are_refused_and_leave_nothing() {
    let place = Place::with_graph();
    place.ok(&["run", "db", "-e", "?[a, b] <- [[1, 'x']] :create mixed {a: Int, b: String}"]);
    place.ok(&[
        "run",
        "db",
        "-e",
        "?[a, b, c] <- [[1, 2, 3]] :create two {a: Int, b: Int => c: Int}",
    ]);
    place.ok(&[
        "run",
        "db",
        "-e",
        "?[a, b, Src] <- [[1, 2, 3]] :create same {a: Int, b: Int => Src: Int}",
    ]);
    place.ok(&["run", "db", "-e", "?[a] <- [[1]] :create one {a: Int}"]);
    place.ok(&["run", "db", "-e", "?[a, id] <- [[1, 2]] :create ids {a: Int => id: Int}"]);
    place.ok(&["run", "db", "-e", "?[a, t] <- [[-1, 2]] :create below {a: Int => t: Int}"]);
    let before = place.names();
    for (name, more, says) in [
        ("none", &[][..], "none"),
        ("one", &[], "no source and target"),
        ("mixed", &[], "have the types Int and String"),
        ("same", &[], "cannot tell"),
        ("g", &["--vertices", "two"], "needs one key"),
        ("g", &["--vertices", "ids"], "cannot tell"),
        ("g", &["--vertices", "below"], "-1 is no vertex"),
        ("g", &["--vertices", "nothing"], "nothing"),
    ] {
        let arguments = [&["export", "db", name, "--spark", "out"], more].concat();
        let message = place.fails(1, &arguments);
        assert!(message.contains(says), "{name} {more:?}: {message}");
    }
    let inside = place.fails(1, &["export", "db", "g", "--spark", "db/out"]);
    assert!(inside.contains("lies in the folder of the database itself"), "{inside}");
    place.ok(&["backup", "db", "copy"]);
    let inside = place.fails(1, &["export", "db", "g", "--spark", "copy/out"]);
    assert!(inside.contains("is a database or a backup"), "{inside}");
    fs::remove_dir_all(place.path("copy")).unwrap();
    place.fails(1, &["export", "db", "g", "--spark", "missing/out"]);
    for usage in [
        &["export", "db", "g"][..],
        &["export", "db", "g", "f.csv", "--spark", "out"],
        &["export", "db", "g", "--spark", "out", "--nodes", "n.parquet"],
        &["export", "db", "g", "--spark", "out", "--file-rows", "0"],
        &["export", "db", "g", "f.csv", "--file-rows", "5"],
        &["export", "db", "g", "f.csv", "--vertices", "two"],
    ] {
        place.fails(2, usage);
    }
    assert_eq!(place.names(), before);
}

/// Starts an export of thousands of files, and waits until some are written.
#[cfg(unix)]
fn began(place: &Place) -> (std::process::Child, PathBuf) {
    let edges: String = (0..20_000).map(|i| format!("{i},{}\n", i + 1)).collect();
    place.file("path.csv", &edges);
    place.ok(&["import", "db", "g", "path.csv"]);
    let mut child = place
        .command(&["export", "db", "g", "--spark", "out", "--file-rows", "1"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    loop {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it could be stopped");
        let part = place.names().into_iter().find(|name| name.ends_with(".part"));
        let part = part.map(|name| place.path(&name));
        match part.filter(|part| part.join("edges/part-00003.parquet").exists()) {
            Some(part) => return (child, part),
            None => std::thread::yield_now(),
        }
    }
}

#[test]
#[cfg(unix)]
fn a_kill_in_the_middle_leaves_nothing_that_looks_complete() {
    let place = Place::new();
    let (mut child, part) = began(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.path("out").exists());
    assert_eq!(names(&part), ["edges"], "neither quipu.json nor _SUCCESS");
    let hidden = part.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(hidden.starts_with(".quipu-"), "{hidden}");
    place.ok(&["export", "db", "g", "--spark", "out"]);
    assert_eq!(place.statistics()["edges"], 20_000);
    place.ok(&["check", "db"]);
}

#[test]
#[cfg(unix)]
fn ctrl_c_stops_an_export_and_leaves_nothing() {
    let place = Place::new();
    let (child, _) = began(&place);
    // The shell's builtin `kill`: not every machine has the program.
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert_eq!(place.names(), ["db", "path.csv"]);
}
