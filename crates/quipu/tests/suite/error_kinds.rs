//! An error keeps its kind, whichever call returns it: a query, a stream, a transaction, an import,
//! a callback. A script can ignore only errors that are its own fault.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // tests damage files
#![allow(clippy::unwrap_used)]

use quipu::{
    Accumulate, Database, Durability, Error, ErrorKind, Failure, FixedRule, Frame, Options,
    Parameters, Result, RuleCall, RunOptions, Value,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// Every kind, and whether a script may ignore it.
const KINDS: [(ErrorKind, bool); 9] = [
    (ErrorKind::InvalidInput, true),
    (ErrorKind::Conflict, false),
    (ErrorKind::Corruption, false),
    (ErrorKind::Poisoned, false),
    (ErrorKind::Cancelled, false),
    (ErrorKind::Limit, false),
    (ErrorKind::Locked, false),
    (ErrorKind::ReadOnly, false),
    (ErrorKind::Io, false),
];

fn options() -> Options {
    Options { durability: Durability::Os, threads: 2, ..Options::default() }
}

fn none() -> Parameters {
    Parameters::new()
}

fn kind<T>(outcome: Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

/// The table files of a database.
fn tables(folder: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(folder.join("tables")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A closed database with a sound relation `good {k => v}`, and a relation `bad {k => v, w}` with
/// an index, whose blocks are damaged. Putting a row into `watched {k}` fires a trigger that reads
/// `bad`.
fn damaged() -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("db");
    let db = Database::open(&folder, options()).unwrap();
    db.run("?[k, v] := k in int_range(100), v = k * k :create good {k: Int => v: Int}", &none())
        .unwrap();
    db.run(":create watched {k: Int}", &none()).unwrap();
    db.run(
        "::set_triggers watched on put { ?[k, v] := *bad{k}, v = k :put good {k => v} }",
        &none(),
    )
    .unwrap();
    db.flush().unwrap();
    let before = tables(&folder);
    let rows = "?[k, v, w] := k in int_range(20000), v = (k * 7919) % 20000, w = to_string(v)
                :create bad {k: Int => v: Int, w: String}";
    db.run(rows, &none()).unwrap();
    db.run("::index create bad:by_v {v}", &none()).unwrap();
    db.close().unwrap();
    let new: Vec<PathBuf> = tables(&folder).difference(&before).cloned().collect();
    assert!(!new.is_empty());
    for path in new {
        let mut bytes = fs::read(&path).unwrap();
        if bytes.len() < 16 << 10 {
            // Not a table of the relation; it is read when the database is opened.
            continue;
        }
        // Blocks come first in a table; what opening reads is at the end.
        let blocks = bytes.len() / 10 * 6;
        bytes[..blocks].iter_mut().step_by(64).for_each(|byte| *byte ^= 0x40);
        fs::write(&path, bytes).unwrap();
    }
    (home, folder)
}

/// Queries that read the damaged relation.
const READS: [&str; 8] = [
    "?[count(k)] := *bad{k}",
    "?[v] := *bad{k: 17, v}",
    "?[k] := *bad{k, v: 17}",
    "?[k, u] := *good{k}, *bad{k, v: u}",
    "?[k] := *good{k}, not *bad{k}",
    "?[w, count(k)] := *bad{k, w}",
    "?[node, group] <~ ConnectedComponents(*bad[])",
    "?[n] <~ Counts(*bad[])",
];

/// A rule that returns the number of its input rows.
struct Counts;

impl FixedRule for Counts {
    fn columns(&self) -> usize {
        1
    }

    fn run(&self, call: &RuleCall<'_>) -> std::result::Result<Vec<Vec<Value>>, Failure> {
        Ok(vec![vec![Value::Int(call.inputs.iter().map(Frame::len).sum::<usize>() as i64)]])
    }
}

/// A rule that fails with an error of the kind in its option `kind`.
struct Fails;

impl FixedRule for Fails {
    fn columns(&self) -> usize {
        1
    }

    fn run(&self, call: &RuleCall<'_>) -> std::result::Result<Vec<Vec<Value>>, Failure> {
        let wanted = call.options["kind"].to_string();
        let named = |(kind, _): &&(ErrorKind, bool)| format!("\"{kind:?}\"") == wanted;
        let (kind, _) = KINDS.iter().find(named).unwrap();
        Err(Failure::caused(Error::new(*kind, "told to")))
    }
}

/// An aggregate that fails with an error of this kind.
struct FailsToAdd(ErrorKind);

impl Accumulate for FailsToAdd {
    fn add(&mut self, _: &Value) -> std::result::Result<(), Failure> {
        Err(Failure::caused(Error::new(self.0, "told to")))
    }

    fn finish(&mut self) -> std::result::Result<Value, Failure> {
        Ok(Value::Null)
    }

    fn bytes(&self) -> usize {
        1
    }
}

fn open(folder: &Path, read_only: bool) -> Database {
    let db = Database::open(folder, Options { read_only, ..options() }).unwrap();
    db.register_fixed_rule("Counts", Counts).unwrap();
    db
}

/// Runs a query in every possible way, and returns the kind of each error.
fn ways(db: &Database, query: &str) -> Vec<(String, Option<ErrorKind>)> {
    let mut found = Vec::new();
    let mut add = |way: &str, kind| found.push((format!("{way}: {query}"), kind));
    add("run", kind(db.run(query, &none())));
    add("run again", kind(db.run(query, &none())));
    add("try_run", {
        let options = RunOptions::default();
        // Falls back to a normal run, as its callers do.
        let tried = db.try_run(query, &none(), &options).and_then(|done| match done {
            Some(done) => Ok(done),
            None => db.run(query, &none()),
        });
        kind(tried)
    });
    let stream = |script: &str| db.stream(script, &none(), &RunOptions::default(), |_| Ok(true));
    add("stream", kind(stream(query)));
    for (way, script) in [
        ("block", format!("{{ {query} }}")),
        ("if", format!("%if {{ {query} }} %then %return {{ ?[a] <- [[1]] }} %end")),
        ("loop", format!("%loop {{ {query} }} %break %end")),
        ("return", format!("%return {{ {query} }}")),
        ("ignored", format!("%ignore_error {{ {query} }}")),
        ("ignored in a loop", format!("%loop %ignore_error {{ {query} }} %break %end")),
        ("explained", format!("::explain analyze {{ {query} }}")),
    ] {
        add(way, kind(db.run(&script, &none())));
        add(&format!("stream of {way}"), kind(stream(&script)));
        let tx = db.transaction(quipu::Isolation::Snapshot);
        add(&format!("transaction, {way}"), kind(tx.run(&script, &none())));
        tx.rollback();
    }
    let tx = db.transaction(quipu::Isolation::Serializable);
    add("serializable", kind(tx.run(query, &none())));
    tx.rollback();
    found
}

fn all_are(found: Vec<(String, Option<ErrorKind>)>, wanted: ErrorKind) {
    let other: Vec<_> = found.iter().filter(|(_, kind)| *kind != Some(wanted)).collect();
    assert!(other.is_empty(), "no {wanted:?}: {other:#?}");
}

#[test]
fn damage_is_corruption_whichever_way_a_query_meets_it() {
    let (_home, folder) = damaged();
    for read_only in [false, true] {
        for query in READS {
            // Each query starts with an empty cache.
            let db = open(&folder, read_only);
            all_are(ways(&db, query), ErrorKind::Corruption);
        }
    }
}

#[test]
fn a_script_that_meets_damage_commits_nothing_of_what_it_would_have_derived() {
    let (_home, folder) = damaged();
    let db = open(&folder, false);
    for script in [
        "{ ?[k] <- [[-1]] :create kept {k} } %ignore_error { ?[k] := *bad{k} } { ?[k] <- [[2]] :put kept {k} }",
        "%ignore_error { ?[k] := *bad{k} :replace kept {k} } { ?[k, v] <- [[2, 0]] :put good {k => v} }",
        "{ ?[k, v] := *good{k, v}, not *bad{k} :rm good {k} }",
        "?[k] <- [[1]] :put watched {k}",
        "%ignore_error { ?[k] <- [[1]] :put watched {k} } { ?[k, v] <- [[200, 0]] :put good {k => v} }",
    ] {
        assert_eq!(kind(db.run(script, &none())), Some(ErrorKind::Corruption), "{script}");
        let tx = db.transaction(quipu::Isolation::Snapshot);
        assert_eq!(kind(tx.run(script, &none())), Some(ErrorKind::Corruption), "{script}");
        tx.rollback();
        let names = db.list().unwrap();
        assert!(!names.iter().any(|entry| entry.name() == "kept"), "{script}");
        assert_eq!(db.relation("good").unwrap().len().unwrap(), 100, "{script}");
        assert_eq!(db.relation("watched").unwrap().len().unwrap(), 0, "{script}");
    }
}

#[test]
fn damage_is_corruption_for_calls_imports_exports_and_callbacks() {
    let (_home, folder) = damaged();
    let db = open(&folder, false);
    let bad = db.relation("bad").unwrap();
    let one = |k: i64| {
        let names = ["k", "v", "w"].map(str::to_owned).to_vec();
        let row = vec![Value::Int(k), Value::Int(1), Value::Str("x".into())];
        Frame::of_rows(names, vec![row]).unwrap()
    };
    let watched = Frame::of_rows(vec!["k".to_owned()], vec![vec![Value::Int(1)]]).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (told, inside) = (Arc::clone(&seen), db.clone());
    db.register_callback("good", move |_| {
        told.lock().unwrap().push(kind(inside.run(READS[0], &none())));
    })
    .unwrap();
    db.run("?[k, v] <- [[1, 1]] :put good {k => v}", &none()).unwrap();
    assert_eq!(*seen.lock().unwrap(), [Some(ErrorKind::Corruption)]);
    let mut found = vec![
        ("rows", kind(bad.to_frame())),
        ("export", kind(db.export_relations(&["bad"]))),
        ("insert", kind(bad.insert(&one(17)))),
        ("update", kind(bad.update(&one(17)))),
        ("delete", kind(bad.delete(&one(17)))),
        ("put with an index of values", kind(bad.put(&one(17)))),
        ("import", kind(db.import_relations(&BTreeMap::from([("bad".to_owned(), one(17))])))),
        ("put with a trigger", kind(db.relation("watched").unwrap().put(&watched))),
        ("check of indexes", kind(db.check(&|_, _| true).map(|_| ()))),
        ("index", kind(db.run("::index create bad:by_w {w}", &none()))),
    ];
    found.retain(|(_, kind)| *kind != Some(ErrorKind::Corruption));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_rule_or_an_aggregate_of_the_programs_keeps_the_kind_of_what_it_met() {
    let db = Database::in_memory(Options::default()).unwrap();
    db.register_fixed_rule("Fails", Fails).unwrap();
    for (wanted, _) in KINDS {
        let name = format!("fails_{wanted:?}").to_lowercase();
        db.register_aggregate(&name, 0, move |_| Ok(Box::new(FailsToAdd(wanted)))).unwrap();
    }
    db.run(":create rows {k: Int}", &none()).unwrap();
    for (wanted, may_be_ignored) in KINDS {
        for query in [
            format!("?[a] <~ Fails(kind: '{wanted:?}')"),
            format!("r[a] <- [[1]] ?[fails_{}(a)] := r[a]", format!("{wanted:?}").to_lowercase()),
        ] {
            let (ignored, others): (Vec<_>, Vec<_>) =
                ways(&db, &query).into_iter().partition(|(way, _)| way.contains("ignored"));
            all_are(others, wanted);
            match may_be_ignored {
                true => assert!(ignored.iter().all(|(_, kind)| kind.is_none()), "{ignored:?}"),
                false => all_are(ignored, wanted),
            }
            let trigger = format!("::set_triggers rows on put {{ {query} }}");
            db.run(&trigger, &none()).unwrap();
            let put = db.run("?[k] <- [[1]] :put rows {k}", &none());
            assert_eq!(kind(put), Some(wanted), "{trigger}");
            assert_eq!(db.relation("rows").unwrap().len().unwrap(), 0, "{trigger}");
            let ignoring = "%ignore_error { ?[k] <- [[1]] :put rows {k} }";
            let wanted = (!may_be_ignored).then_some(wanted);
            assert_eq!(kind(db.run(ignoring, &none())), wanted, "{trigger}");
        }
    }
}

#[test]
fn what_stops_a_script_cannot_be_ignored() {
    let (_home, folder) = damaged();
    let db = open(&folder, false);
    let run = |db: &Database, script: &str, options: &RunOptions<'_>| {
        kind(db.run_with(script, &none(), options))
    };
    let usual = RunOptions::default();
    let short = RunOptions { timeout: Some(Duration::from_millis(20)), ..usual };
    let endless = "%loop %ignore_error { ?[a] <- [[1]] :sleep 0.01 } %end";
    assert_eq!(run(&db, endless, &short), Some(ErrorKind::Cancelled));
    let stopped = RunOptions { go_on: Some(&|| false), ..usual };
    assert_eq!(run(&db, endless, &stopped), Some(ErrorKind::Cancelled));
    let little = RunOptions { memory_limit_bytes: Some(1 << 20), ..usual };
    let large = "%ignore_error { ?[a, b] := a in int_range(10000), b in int_range(1000) }";
    assert_eq!(run(&db, large, &little), Some(ErrorKind::Limit));
    // Also inside a function.
    let long = "?[n] := n = length(sorted(int_range(10000000)))";
    let held = format!("%ignore_error {{ {long} }}");
    assert_eq!(run(&db, &held, &short), Some(ErrorKind::Cancelled));

    let writes = "%ignore_error { ?[k, v] <- [[500, 1]] :put good {k => v} }";
    let reading = RunOptions { read_only: true, ..usual };
    assert_eq!(run(&db, writes, &reading), Some(ErrorKind::ReadOnly));
    assert_eq!(run(&db, "%ignore_error { ::remove good }", &reading), Some(ErrorKind::ReadOnly));
    drop(db);
    let follower = open(&folder, true);
    assert_eq!(run(&follower, writes, &usual), Some(ErrorKind::ReadOnly));
    let row = vec![Value::Int(1), Value::Int(1)];
    let rows = Frame::of_rows(vec!["k".to_owned(), "v".to_owned()], vec![row]).unwrap();
    let put = follower.relation("good").unwrap().put(&rows);
    assert_eq!(kind(put), Some(ErrorKind::ReadOnly));
}
/// Found by a user: an I/O error was reported as an error of the script.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_the_machine_fails_to_read_is_an_error_of_the_machine() {
    let db = Database::in_memory(Options::default()).unwrap();
    // Its first page is never mapped, so the kernel returns EIO.
    let query = "?[a] <~ CsvReader(url: 'file:///proc/self/mem', types: ['Int'])";
    all_are(ways(&db, query), ErrorKind::Io);
    let missing = "?[a] <~ CsvReader(url: 'file:///there/is/no/such/file', types: ['Int'])";
    assert_eq!(kind(db.run(missing, &none())), Some(ErrorKind::InvalidInput));
    assert_eq!(kind(db.run(&format!("%ignore_error {{ {missing} }}"), &none())), None);
}
