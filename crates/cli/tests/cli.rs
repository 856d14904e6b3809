//! The command as a user calls it: arguments in, output and exit status out.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // processes and files
#![allow(clippy::unwrap_used)]

use quipu::{Database, GraphOptions, Options, VertexColumn, Weight};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A temporary folder for a database and files.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn open(&self) -> Database {
        Database::open(self.path("db"), Options::default()).unwrap()
    }

    fn quipu(&self, arguments: &[&str]) -> Output {
        command(self.folder.path()).args(arguments).output().unwrap()
    }

    /// Runs the command, which must succeed, and returns its standard output.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.quipu(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        out(&output)
    }

    /// Runs the command, which must fail with this status, and returns its standard error.
    #[track_caller]
    fn fails(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.quipu(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", err(&output));
        err(&output)
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quipu"));
    command.current_dir(folder);
    command
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

const ROADS: &str = "from,to,km\n1,2,2.5\n2,3,4\n3,1,0.5\n2,2,1\n18446744073709551615,0,7\n";

fn with_roads() -> Place {
    let place = Place::new();
    place.file("roads.csv", ROADS);
    place.ok(&["import", "db", "roads", "roads.csv", "--weight", "float64"]);
    place
}

#[test]
fn a_database_is_migrated_and_a_target_that_holds_one_is_refused() {
    let place = Place::new();
    place.file("edges.csv", "1,2\n2,3\n");
    place.ok(&["import", "db", "g", "edges.csv"]);
    let said = place.ok(&["migrate", "db", "copy"]);
    assert!(said.starts_with("copy: ") && said.contains("rows in"), "{said}");
    assert_eq!(
        place.ok(&["neighbors", "copy", "g", "2"]),
        place.ok(&["neighbors", "db", "g", "2"])
    );
    let refused = place.fails(1, &["migrate", "db", "copy"]);
    assert!(refused.contains("holds a database") && refused.contains("hint: "), "{refused}");
    place.fails(1, &["migrate", "nothing", "other"]);
}

#[test]
fn what_was_imported_is_found_by_stats_neighbors_and_check() {
    let place = with_roads();
    let stats = json(&place.ok(&["stats", "db", "--json"]));
    let graph = &stats["graphs"][0];
    assert_eq!(graph["name"], "roads");
    assert_eq!(graph["edges"], 5);
    assert_eq!(graph["vertices"], 5);
    assert_eq!(graph["weight"], "float64");
    assert_eq!(place.ok(&["neighbors", "db", "roads", "2"]), "1\n3\n");
    assert_eq!(place.ok(&["neighbors", "db", "roads", "2", "--out"]), "2\n3\n");
    assert_eq!(place.ok(&["neighbors", "db", "roads", "2", "--in"]), "1\n2\n");
    assert_eq!(place.ok(&["neighbors", "db", "roads", "0"]), "18446744073709551615\n");
    let found = json(&place.ok(&["neighbors", "db", "roads", "2", "--limit", "1", "--json"]));
    assert_eq!(found["neighbors"], serde_json::json!([1]));
    assert_eq!(found["count"], 2);
    assert!(place.ok(&["check", "db"]).contains("graph \"roads\", 5 edges"));
    assert_eq!(json(&place.ok(&["check", "db", "--json"]))["ok"], true);
    assert!(place.ok(&["stats", "db"]).contains("roads"));
}

#[test]
fn stats_lists_relations_and_their_indexes() {
    let place = with_roads();
    place.ok(&[
        "run",
        "db",
        "-e",
        "?[a, b] <- [[1, 'x'], [2, 'y']] :create t {a: Int => b: String}",
    ]);
    place.ok(&["run", "db", "-e", "::index create t:by_b {b}"]);
    let text = place.ok(&["stats", "db"]);
    assert!(text.contains("relation") && text.contains("t:by_b"), "{text}");
    let stats = json(&place.ok(&["stats", "db", "--json"]));
    assert_eq!(stats["relations"][0]["name"], "t");
    assert_eq!(stats["relations"][0]["rows"], 2);
    assert_eq!(stats["indexes"][0]["name"], "t:by_b");
    assert_eq!(stats["activity"]["stalls"], 0);
}

#[test]
fn the_report_of_an_import_counts_edges_and_duplicates() {
    let place = Place::new();
    place.file("a.tsv", "1\t2\n1\t2\n3\t4\n");
    place.file("b.txt", "% a comment\n5 6\n1 2\n");
    let text = place.ok(&["import", "db", "g", "a.tsv", "b.txt", "--json"]);
    let reports: Vec<Value> = text.lines().map(json).collect();
    assert_eq!(reports.len(), 2);
    assert_eq!((&reports[0]["edges"], &reports[0]["duplicates"]), (&2.into(), &1.into()));
    assert_eq!((&reports[1]["edges"], &reports[1]["duplicates"]), (&2.into(), &1.into()));
    assert_eq!(json(&place.ok(&["stats", "db", "--json"]))["graphs"][0]["edges"], 3);
}

#[test]
fn columns_are_chosen_by_name_or_by_position() {
    let place = Place::new();
    place.file("named.csv", "id,head,tail,n\n9,1,2,7\n");
    place.ok(&["import", "db", "g", "named.csv", "--weight", "int64", "--columns", "tail,head,n"]);
    place.file("plain.csv", "9;3;4\n");
    place.ok(&[
        "import",
        "db",
        "g",
        "plain.csv",
        "--columns",
        "1,2",
        "--delimiter",
        ";",
        "--no-header",
    ]);
    let graph = place.open().require_graph("g").unwrap();
    assert_eq!(graph.edge(2, 1).unwrap(), Some(Weight::Int(7)));
    assert_eq!(graph.edge(3, 4).unwrap(), Some(Weight::Int(1)));
}

#[test]
fn text_and_signed_vertices_come_back_as_they_went_in() {
    let place = Place::new();
    place.file("names.csv", "\"Inca, Empire\",Quipu\nQuipu,knot\n");
    place.ok(&["import", "db", "names", "names.csv", "--vertex", "str", "--no-header"]);
    assert_eq!(place.ok(&["neighbors", "db", "names", "Quipu", "--in"]), "Inca, Empire\n");
    let found = json(&place.ok(&["neighbors", "db", "names", "Inca, Empire", "--json"]));
    assert_eq!(found["neighbors"][0], "Quipu");
    place.file("signed.csv", "-5,3\n");
    place.ok(&["import", "db", "signed", "signed.csv", "--vertex", "i64"]);
    assert_eq!(place.ok(&["neighbors", "db", "signed", "-5"]), "3\n");
    assert_eq!(place.ok(&["neighbors", "db", "signed", "3"]), "-5\n");
}

#[test]
fn an_import_reads_standard_input() {
    let place = Place::new();
    let mut child = command(place.folder.path())
        .args(["import", "db", "g", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"1,2\n2,3\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(place.ok(&["neighbors", "db", "g", "2"]), "1\n3\n");
}

#[test]
fn a_bad_line_is_an_error_with_its_place_and_leaves_no_database_behind() {
    let place = Place::new();
    place.file("bad.csv", "1,2\n3,oops\n");
    let message = place.fails(1, &["import", "db", "g", "bad.csv", "--vertex", "u64"]);
    assert!(message.starts_with("error: bad.csv line 2, column 2: expected "), "{message}");
    assert!(message.contains("\"oops\""), "{message}");
    assert!(!place.path("db").exists());
}

#[test]
fn a_failed_import_leaves_what_was_there() {
    let place = with_roads();
    place.file("bad.csv", "7,8,1\n3,oops,1\n");
    place.fails(1, &["import", "db", "roads", "bad.csv"]);
    place.fails(1, &["import", "db", "new", "bad.csv", "--vertex", "u64"]);
    let stats = json(&place.ok(&["stats", "db", "--json"]));
    assert_eq!(stats["graphs"].as_array().unwrap().len(), 1);
    assert_eq!(stats["graphs"][0]["edges"], 5);
}

#[test]
fn a_new_graph_gets_the_types_that_fit_the_file_and_the_report_says_so() {
    let place = Place::new();
    place.file("names.csv", "follower,followee,weight\nann,bob,0.5\nbob,carl,\n");
    let message = place.fails(1, &["import", "db", "g", "names.csv"]);
    assert!(message.contains("1 edge without one: line 3"), "{message}");
    assert!(!place.path("db").exists());
    let said = place.ok(&["import", "db", "g", "names.csv", "--missing", "2"]);
    for part in ["2 edges", "1 missing weight", "header: yes", "types: str, str, float64"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(place.ok(&["neighbors", "db", "g", "bob"]), "ann\ncarl\n");
}

#[test]
fn bad_lines_are_skipped_and_told_on_request() {
    let place = Place::new();
    place.file("bad.csv", "1,2\n3,oops\n5,6\n");
    let output = place.quipu(&["import", "db", "g", "bad.csv", "--on-error", "skip", "--json"]);
    assert!(output.status.success(), "{}", err(&output));
    let report = json(&out(&output));
    assert_eq!((&report["edges"], &report["skipped"]), (&2.into(), &1.into()));
    assert!(err(&output).contains("warning: skipped: bad.csv line 2"), "{}", err(&output));
}

#[test]
fn properties_are_imported_and_exported() {
    let place = Place::new();
    place.file("e.csv", "from,to,since,name\n1,2,1998,\"a,b\"\n2,3,,\n");
    place.file("n.csv", "id,kind\n1,book\n9,\n");
    let said = place.ok(&["import", "db", "g", "e.csv", "--properties", "--nodes", "n.csv"]);
    assert!(said.starts_with("e.csv: 2 edges, 2 vertices in"), "{said}");
    assert!(said.contains("properties: since, name; vertex properties: kind"), "{said}");
    let edges = "source,target,since,name\n1,2,1998,\"a,b\"\n2,3,,\n";
    assert_eq!(place.ok(&["export", "db", "g", "-"]), edges);
    place.ok(&["export", "db", "g", "out.csv", "--nodes", "vertices.tsv"]);
    assert_eq!(fs::read_to_string(place.path("out.csv")).unwrap(), edges);
    let vertices = fs::read_to_string(place.path("vertices.tsv")).unwrap();
    assert_eq!(vertices, "vertex\tkind\n1\tbook\n9\t\n");
    for nodes in ["out.csv", "./out.csv"] {
        let message =
            place.fails(1, &["export", "db", "g", "out.csv", "--nodes", nodes, "--force"]);
        assert!(message.contains("is named for the edges and for the vertices"), "{message}");
        assert_eq!(fs::read_to_string(place.path("out.csv")).unwrap(), edges);
    }
    let message = place.fails(1, &["export", "db", "g", "new.csv", "--nodes", "vertices.tsv"]);
    assert!(message.contains("vertices.tsv already exists"), "{message}");
    let said = place.ok(&["import", "db", "g", "out.csv", "--nodes", "vertices.tsv", "--json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&report["edges"], &report["nodes"]), (&2.into(), &2.into()));
}

#[test]
fn an_export_can_be_imported_again() {
    let place = with_roads();
    for file in ["again.csv", "again.tsv", "again.parquet"] {
        place.ok(&["export", "db", "roads", file]);
        let graph = file.replace('.', "_");
        place.ok(&["import", "db", &graph, file, "--weight", "float64"]);
        let text = place.ok(&["export", "db", &graph, "-"]);
        assert_eq!(text, place.ok(&["export", "db", "roads", "-"]), "{file}");
    }
    let text = place.ok(&["export", "db", "roads", "-"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "source,target,weight");
    assert_eq!(lines[1..], ["1,2,2.5", "2,2,1", "2,3,4", "3,1,0.5", "18446744073709551615,0,7"]);
}

#[test]
fn an_export_replaces_a_file_only_when_told() {
    let place = with_roads();
    place.file("kept.csv", "mine");
    let message = place.fails(1, &["export", "db", "roads", "kept.csv"]);
    assert!(message.contains("hint: --force"), "{message}");
    assert_eq!(fs::read_to_string(place.path("kept.csv")).unwrap(), "mine");
    place.ok(&["export", "db", "roads", "kept.csv", "--force"]);
    assert!(fs::read_to_string(place.path("kept.csv")).unwrap().starts_with("source,"));
    assert!(place.fails(1, &["export", "db", "roads", "roads.png"]).contains("hint: "));
}

#[test]
fn an_empty_graph_exports_its_header() {
    let place = Place::new();
    let database = place.open();
    let options = GraphOptions::default();
    database.graph("empty", options).unwrap();
    database.close().unwrap();
    assert_eq!(place.ok(&["export", "db", "empty", "-"]), "source,target\n");
    assert_eq!(place.ok(&["neighbors", "db", "empty", "1"]), "");
}

#[test]
fn reading_commands_run_beside_a_writer_and_a_second_writer_is_told() {
    let place = with_roads();
    let writer = place.open();
    writer.require_graph("roads").unwrap().upsert(100, 200, None).unwrap();
    assert_eq!(place.ok(&["neighbors", "db", "roads", "100"]), "200\n");
    assert_eq!(json(&place.ok(&["stats", "db", "--json"]))["graphs"][0]["edges"], 6);
    place.ok(&["check", "db"]);
    assert_eq!(place.ok(&["export", "db", "roads", "-"]).lines().count(), 7);
    let message = place.fails(1, &["import", "db", "roads", "roads.csv"]);
    assert!(message.starts_with("error: "), "{message}");
    assert!(message.contains(&std::process::id().to_string()), "{message}");
    writer.close().unwrap();
}

#[test]
fn wrong_names_get_hints_and_status_1() {
    let place = with_roads();
    let message = place.fails(1, &["neighbors", "db", "rods", "1"]);
    assert!(message.contains("hint: there are: roads"), "{message}");
    let message = place.fails(1, &["neighbors", "db", "roads", "Cusco"]);
    assert!(message.contains("hint: "), "{message}");
    let message = place.fails(1, &["stats", "nowhere"]);
    assert!(message.starts_with("error: "), "{message}");
    assert!(!place.path("nowhere").exists());
    let output = place.quipu(&["neighbors", "db", "roads", "77"]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(err(&output).starts_with("note: "), "{}", err(&output));
}

#[test]
fn wrong_usage_is_status_2_and_help_teaches() {
    let place = Place::new();
    place.fails(2, &["import", "db"]);
    place.fails(2, &["neighbors", "db", "g", "1", "--in", "--out"]);
    place.fails(2, &["import", "db", "g", "f", "--memory-limit", "lots"]);
    for command in ["import", "stats", "check", "neighbors", "export"] {
        assert!(place.ok(&[command, "--help"]).contains("Examples:"), "{command}");
    }
    assert!(place.ok(&["--help"]).contains("Exit status:"));
}

/// Columns at which the command wraps its help without a terminal.
const HELP_COLUMNS: usize = 100;

#[test]
fn help_wraps_its_paragraphs_once() {
    let place = Place::new();
    let commands = [
        "import", "check", "repair", "algo", "run", "shell", "export", "backup", "migrate",
        "restore",
    ];
    for command in commands {
        let help = place.ok(&[command, "--help"]);
        let lines: Vec<_> = help.lines().collect();
        let is_prose =
            |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        for pair in lines.windows(2).filter(|pair| pair.iter().all(|line| is_prose(line))) {
            let word = pair[1].split(' ').next().unwrap_or_default();
            let together = pair[0].chars().count() + 1 + word.chars().count();
            assert!(together > HELP_COLUMNS, "{command}: {pair:?}");
        }
    }
}

#[test]
fn damage_is_status_3_and_names_the_file() {
    let place = with_roads();
    let tables: Vec<PathBuf> = walk(&place.path("db"))
        .into_iter()
        .filter(|path| path.parent().is_some_and(|parent| parent.ends_with("tables")))
        .collect();
    assert!(!tables.is_empty(), "an import leaves tables");
    for path in &tables {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
        fs::write(path, bytes).unwrap();
    }
    let output = place.quipu(&["check", "db", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert_eq!(json(&out(&output))["ok"], false);
    let message = err(&output);
    let named = tables.iter().any(|p| message.contains(p.file_name().unwrap().to_str().unwrap()));
    assert!(named, "{message}");
    // A damaged block is not a mistake of the script that reads it.
    for query in [
        "?[src, dst, weight] := *roads{src, dst, weight}",
        "?[node, group] <~ ConnectedComponents(*roads[])",
        "%ignore_error { ?[src, dst] := *roads{src, dst} }",
    ] {
        for more in [&[][..], &["--stream", "--format", "csv"]] {
            let arguments = [&["run", "db", "-e", query][..], more].concat();
            let message = place.fails(3, &arguments);
            assert!(message.contains(".sst is damaged"), "{message}");
        }
    }
}

#[test]
fn a_script_reads_the_files_that_a_flag_allows() {
    let place = Place::new();
    fs::create_dir(place.path("in")).unwrap();
    let inside = place.file("in/a.csv", "inside\n");
    let outside = place.file("secret.csv", "outside\n");
    let folder = place.path("in");
    let folder = folder.to_str().unwrap();
    let query = |path: &Path| {
        let url = path.display();
        format!("?[a] <~ CsvReader(url: 'file://{url}', types: ['String'], has_headers: false)")
    };
    place.ok(&["run", "db", "-e", ":create r {k}"]);
    for (path, which, text) in [
        (&outside, "any", Some("outside")),
        (&inside, "none", None),
        (&inside, folder, Some("inside")),
        (&outside, folder, None),
    ] {
        let query = query(path);
        let arguments = ["run", "db", "-e", &query, "--files", which, "--format", "csv"];
        match text {
            Some(text) => assert!(place.ok(&arguments).contains(text), "{which}"),
            None => {
                let message = place.fails(1, &arguments);
                assert!(
                    message.contains("does not allow") || message.contains("not below"),
                    "{message}"
                );
            }
        }
    }
    assert!(place.ok(&["run", "db", "-e", &query(&outside)]).contains("outside"));
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let place = Place::new();
    let rows: String = (0..200_000).map(|i| format!("{i},{}\n", i + 1)).collect();
    place.file("path.csv", &rows);
    place.ok(&["import", "db", "g", "path.csv"]);
    let mut child = command(place.folder.path())
        .args(["export", "db", "g", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The reader closes the pipe while more output than the pipe's buffer is still to come.
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(err(&output), "");
}

#[test]
#[cfg(unix)]
fn ctrl_c_stops_an_import_and_leaves_the_database_as_it_was() {
    /// Rows that the test writes at most before it gives up waiting for the command to end.
    const ROWS_MAX: u64 = 200_000_000;
    const ROWS_A_WRITE: u64 = 100_000;

    let place = with_roads();
    let mut child = command(place.folder.path())
        .args(["import", "db", "roads", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut next = 0;
    let mut ended = false;
    while !ended && next < ROWS_MAX {
        let rows: String =
            (next..next + ROWS_A_WRITE).map(|i| format!("{i},{},1\n", i * 7)).collect();
        // A pipe buffers less than this: once it is written, the command is reading.
        ended = stdin.write_all(rows.as_bytes()).is_err();
        if next == 0 {
            // The shell's builtin `kill`: not every machine has the program.
            let kill =
                Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
            assert!(kill.unwrap().success());
        }
        next += ROWS_A_WRITE;
        ended |= child.try_wait().unwrap().is_some();
    }
    assert!(ended, "the command went on after Ctrl-C");
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert!(output.stdout.is_empty());
    assert_eq!(json(&place.ok(&["stats", "db", "--json"]))["graphs"][0]["edges"], 5);
    place.ok(&["check", "db"]);
}

#[test]
fn what_the_command_wrote_the_library_reads() {
    let place = with_roads();
    let database = place.open();
    let graph = database.require_graph("roads").unwrap();
    let mut words = Vec::new();
    graph.successors(u64::MAX, &mut words).unwrap();
    assert_eq!(graph.to_vertices(&words).unwrap(), VertexColumn::U64(vec![0]));
    assert_eq!(graph.edge(1, 2).unwrap(), Some(Weight::Float(2.5)));
}

#[test]
fn a_backup_is_restored_as_it_was_and_replaces_only_when_told() {
    let place = with_roads();
    let first = json(&place.ok(&["backup", "db", "monday", "--json"]));
    assert_eq!((&first["reused"], first["files"].as_u64() > Some(2)), (&0.into(), true));
    let next = json(&place.ok(&["backup", "db", "tuesday", "--earlier", "monday", "--json"]));
    assert_eq!((&next["linked"], &next["copied"]), (&0.into(), &0.into()));
    assert!(place.ok(&["backup", "db", "monday.qbak"]).contains("monday.qbak: "));
    for (i, backup) in ["monday", "tuesday", "monday.qbak"].into_iter().enumerate() {
        let report = json(&place.ok(&["restore", backup, &format!("again{i}"), "--json"]));
        assert_eq!(report["rows"], 10, "five edges, both directions");
        assert_eq!(place.ok(&["neighbors", &format!("again{i}"), "roads", "2"]), "1\n3\n");
    }
    let refused = place.quipu(&["restore", "monday", "again0"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("already exists"), "{}", err(&refused));
    place.ok(&["restore", "monday", "again0", "--replace"]);
    place.ok(&["check", "again0"]);
    let refused = place.quipu(&["restore", "db", "new"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("not a backup"), "{}", err(&refused));
    place.file("monday.qbak", "QuipuBak and then nothing of the kind, for a line at least");
    let refused = place.quipu(&["restore", "monday.qbak", "new"]);
    assert_eq!(refused.status.code(), Some(3));
}

#[test]
fn a_backup_is_taken_beside_a_writer_with_what_is_in_its_log_alone() {
    let place = with_roads();
    let database = place.open();
    let roads = database.require_graph("roads").unwrap();
    roads.upsert(70, 71, Some(Weight::Float(2.5))).unwrap();
    for (i, backup) in ["folder", "file.qbak"].into_iter().enumerate() {
        place.ok(&["backup", "db", backup]);
        place.ok(&["restore", backup, &format!("again{i}")]);
        assert_eq!(place.ok(&["neighbors", &format!("again{i}"), "roads", "70"]), "71\n");
    }
    let refused = place.quipu(&["restore", "folder", "db", "--replace"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("locked by"), "{}", err(&refused));
}

/// A folder whose database has a graph `cites` with the edges 1→2, 2→3 and 3→4.
fn cited() -> Place {
    let place = Place::new();
    let db = place.open();
    let cites = db.graph("cites", GraphOptions::default()).unwrap();
    for (from, to) in [(1, 2), (2, 3), (3, 4)] {
        cites.upsert(from, to, None).unwrap();
    }
    db.close().unwrap();
    place
}

#[test]
fn a_script_is_taken_from_the_command_a_file_or_standard_input() {
    let place = cited();
    let script = "?[to] := *cites{src: $v, dst: via}, *cites{src: via, dst: to}";
    assert_eq!(place.ok(&["run", "db", "-e", script, "--param", "v=2"]), "to\n4\n");
    place.file("hops.q", script);
    assert_eq!(place.ok(&["run", "db", "hops.q", "--param", "v=1"]), "to\n3\n");
    let mut child = command(place.folder.path())
        .args(["run", "db", "-", "--format", "table"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"?[from, to] := *cites{src: from, dst: to}").unwrap();
    let table = out(&child.wait_with_output().unwrap());
    assert_eq!(table, "from │ to\n─────┼───\n   1 │  2\n   2 │  3\n   3 │  4\n(3 rows)\n");
}

#[test]
fn a_script_that_only_reads_runs_beside_a_writer_and_creates_nothing() {
    let place = cited();
    let writer = place.open();
    assert_eq!(place.ok(&["run", "db", "-e", "?[count(a)] := *cites{src: a}"]), "count(a)\n3\n");
    assert!(place.ok(&["run", "db", "-e", "::relations", "--format", "json"]).contains("cites"));
    let steps = "{ ?[a] := *cites{src: a} :create _a {a} } { ?[count(a)] := *_a[a] }";
    assert_eq!(place.ok(&["run", "db", "-e", steps]), "count(a)\n3\n");
    let refused = place.fails(1, &["run", "db", "-e", "?[a] <- [[1]] :create t {a}"]);
    assert!(refused.contains("error: "), "{refused}");
    writer.close().unwrap();
    place.fails(1, &["run", "new", "-e", "?[a] <- [[1]]"]);
    place.fails(1, &["run", "new", "-e", "{ ?[a] <- [[1]] }"]);
    assert!(!place.path("new").exists());
    place.ok(&["run", "new", "-e", "?[a] <- [[1], [2]] :create t {a}"]);
    assert_eq!(place.ok(&["run", "new", "-e", "?[a] := *t[a]"]), "a\n1\n2\n");
}

#[test]
fn rows_are_csv_or_json_with_every_value_told_apart() {
    let place = cited();
    let script =
        r#"?[n, a, b] <- [[1, null, ""], [2, "x,\"y", "null"], [3, [1, "z"], 0.5], [4, true, $p]]"#;
    let run = |format| {
        let p = r#"p={"k": [1, null]}"#;
        place.ok(&["run", "db", "-e", script, "--param", p, "--format", format])
    };
    assert_eq!(
        run("csv"),
        "n,a,b\n1,,\"\"\n2,\"x,\"\"y\",null\n3,\"[1, \"\"z\"\"]\",0.5\n4,true,\"{\"\"k\"\":[1,null]}\"\n"
    );
    let rows: Value = serde_json::from_str(&run("json")).unwrap();
    assert_eq!(rows["columns"], serde_json::json!(["n", "a", "b"]));
    assert_eq!(rows["rows"][2], serde_json::json!([3, [1, "z"], 0.5]));
    let lines = run("jsonl");
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last, serde_json::json!({"n": 4, "a": true, "b": {"k": [1, null]}}));
}

#[test]
fn a_wrong_script_is_shown_with_its_place_and_a_long_one_stops_at_its_timeout() {
    let place = cited();
    let wrong = place.fails(1, &["run", "db", "-e", "?[a] := *cite{src: a}"]);
    let shown = "error: no relation `cite`\n--> line 1, column 10\n  ?[a] := *cite{src: a}\n           ^^^^\n\
        hint: did you mean `cites`?\n";
    assert_eq!(wrong, shown);
    let long = "c[x] := x in int_range(3000) ?[x] := c[x], c[y], c[z], x + y + z < 0";
    let stopped = place.fails(1, &["run", "db", "-e", long, "--timeout", "0.1"]);
    assert_eq!(stopped, "error: the query ran into its timeout\n");
    place.fails(2, &["run", "db"]);
    place.fails(2, &["run", "db", "-e", "?[a] <- [[1]]", "--param", "novalue"]);
}

#[test]
fn several_scripts_run_in_order_and_a_mistake_names_its_file() {
    let place = Place::new();
    place.file("schema.q", ":create t {a: Int => b: String}");
    place.file("load.q", "?[a, b] <- [[1, $word], [2, 'x']] :put t {a, b}");
    let all = ["run", "new", "schema.q", "load.q", "-e", "?[b] := *t[1, b]", "--param", "word=hi"];
    assert_eq!(place.ok(&all), "b\nhi\n");
    place.file("wrong.q", "?[a] :=\n  *t[a, _],\n  *tt[a]");
    let shown = place.fails(1, &["run", "new", "load.q", "wrong.q", "--param", "word=hi"]);
    assert_eq!(
        shown,
        "error: no relation `tt`\n--> wrong.q, line 3, column 4\n    *tt[a]\n     ^^\n"
    );
    let shown = place.fails(1, &["run", "new", "load.q"]);
    assert_eq!(
        shown,
        "error: parameter `$word` has no value\n--> load.q, line 1, column 17\n  ?[a, b] <- [[1, $word], [2, 'x']] :put t {a, b}\n                  ^^^^^\n"
    );
    place.fails(1, &["run", "new", "missing.q"]);
}

#[test]
fn rows_are_files_of_columns_too() {
    let place = cited();
    let script = "?[a, b] <- [[1, 'x'], [2, null]]";
    for (format, magic) in [("parquet", &b"PAR1"[..]), ("arrow", b"ARROW1")] {
        let output = place.quipu(&["run", "db", "-e", script, "--format", format]);
        assert!(output.status.success(), "{}", err(&output));
        assert!(output.stdout.starts_with(magic), "{format}");
        assert!(output.stdout.ends_with(magic), "{format}");
    }
}

#[test]
fn rows_are_printed_while_they_are_found_as_they_are_in_the_end() {
    let place = Place::new();
    let load = "?[a, s] := a in int_range(200000), s = concat('the text of ', to_string(a)) :create t {a: Int => s: String}";
    place.ok(&["run", "db", "-e", load]);
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[1..].sort();
        lines
    };
    let script = "?[a, s] := *t{a, s}, a % 3 == 0";
    for format in ["csv", "jsonl", "json"] {
        let whole = place.ok(&["run", "db", "-e", script, "--format", format]);
        let parts = place.ok(&["run", "db", "-e", script, "--format", format, "--stream"]);
        if format == "json" {
            let rows = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            let count = |text: &str| rows(text)["rows"].as_array().map_or(0, Vec::len);
            assert_eq!(count(&whole), 66_667);
            assert_eq!(count(&parts), 66_667);
        } else {
            assert_eq!(sorted(whole), sorted(parts), "{format}");
        }
    }
    for (format, magic) in [("parquet", &b"PAR1"[..]), ("arrow", b"ARROW1")] {
        let output = place.quipu(&["run", "db", "-e", script, "--format", format, "--stream"]);
        assert!(output.stdout.starts_with(magic) && output.stdout.ends_with(magic), "{format}");
    }
    let none = place.ok(&["run", "db", "-e", "?[a] := *t{a}, a < 0", "--stream"]);
    assert_eq!(none, "a\n");
    let table = ["run", "db", "-e", script, "--stream", "--format", "table"];
    assert!(place.fails(1, &table).contains("--format csv"));
    let wrong = "?[a, x] := *t{a, s}, x = if(a < 199999, a, s + 1)";
    let output = place.quipu(&["run", "db", "-e", wrong, "--stream"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("add: expected"), "{}", err(&output));
}

#[test]
fn an_algorithm_prints_writes_a_file_or_makes_a_relation() {
    let place = with_roads();
    let printed = place.ok(&["algo", "bfs", "db", "roads", "--param", "source=1"]);
    assert_eq!(printed, "vertex,level,parent\n1,0,\n2,1,1\n3,2,2\n");
    let far =
        ["algo", "shortest_paths", "db", "roads", "--weight", "weight", "--param", "source=1"];
    assert_eq!(place.ok(&far), "vertex,distance,parent\n1,0.0,\n2,2.5,1\n3,6.5,2\n");
    assert_eq!(place.ok(&["algo", "is_directed_acyclic_graph", "db", "roads"]), "false\n");
    let near = place.ok(&["algo", "connected_components", "db", "roads", "--where", "weight < 3"]);
    assert_eq!(near.lines().count(), 4);
    place.ok(&["algo", "pagerank", "db", "roads", "--out", "ranks.parquet"]);
    assert!(std::fs::read(place.path("ranks.parquet")).unwrap().starts_with(b"PAR1"));
    place.ok(&[
        "algo",
        "core_number",
        "db",
        "roads",
        "--undirected",
        "--where",
        "src != dst",
        "--relation",
        "cores",
    ]);
    let rows = place.ok(&["run", "db", "-e", "?[count(vertex)] := *cores{vertex, core}"]);
    assert_eq!(rows.lines().last(), Some("5"));
}

#[test]
fn algorithms_are_listed_with_their_parameters() {
    let place = with_roads();
    assert!(place.ok(&["algo", "list"]).contains("strongly_connected_components"));
    assert!(place.ok(&["algo", "pagerank"]).contains("alpha=0.85"));
    assert!(place.fails(1, &["algo", "page_rank"]).contains("hint: there are "));
    let wrong = ["algo", "bfs", "db", "roads", "--param", "source=77"];
    assert!(place.fails(1, &wrong).contains("77 is not a vertex"));
    place.fails(2, &["algo", "bfs", "db"]);
}
