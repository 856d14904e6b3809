//! Exports and imports of whole relations through the Rust API.
#![allow(clippy::unwrap_used)]

use quipu::{
    BlobOptions, CounterOptions, Database, Error, ErrorKind, Frame, GraphOptions, Isolation,
    Options, Parameters, Series, Value, Values,
};
use std::collections::BTreeMap;

fn memory() -> Database {
    Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap()
}

fn run(db: &Database, script: &str) {
    db.run(script, &Parameters::new()).unwrap();
}

#[track_caller]
fn check(db: &Database, script: &str, want: &str) {
    let answer = db.run(script, &Parameters::new()).unwrap();
    let rows: Vec<String> = answer.rows().map(|row| Value::List(row).to_string()).collect();
    assert_eq!(rows.join(" "), want);
}

/// Rows as literals of the query language.
fn frame(db: &Database, names: &str, rows: &str) -> Frame {
    let script =
        format!("?[i, row] := rows = {rows}, i in int_range(length(rows)), row = get(rows, i)");
    let answer = db.run(&script, &Parameters::new()).unwrap();
    let row = |row: Vec<Value>| match row.into_iter().nth(1) {
        Some(Value::List(items)) => items,
        _ => Vec::new(),
    };
    let names = names.split_whitespace().map(str::to_owned).collect();
    Frame::of_rows(names, answer.rows().map(row).collect()).unwrap()
}

fn import(db: &Database, name: &str, names: &str, rows: &str) -> Result<(), Error> {
    db.import_relations(&BTreeMap::from([(name.to_owned(), frame(db, names, rows))]))
}

#[track_caller]
fn refuses(db: &Database, name: &str, names: &str, rows: &str, want: &str) {
    let error = import(db, name, names, rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), want);
}

#[test]
fn rows_are_put_by_name_and_deleted_behind_a_minus() {
    let db = memory();
    run(&db, ":create r {k: Int => v: String, w: Float? default 7, u: Any}");
    import(&db, "r", "u more v k", "[['x', 0, 'a', 1], [[1], 0, 'b', 2.0]]").unwrap();
    check(&db, "?[k, v, w, u] := *r[k, v, w, u]", r#"[1, "a", 7.0, "x"] [2, "b", 7.0, [1]]"#);
    import(&db, "r", "k v w u", "[[2, 'c', null, true], [2, 'd', 3, false]]").unwrap();
    import(&db, "-r", "k", "[[1], [99]]").unwrap();
    check(&db, "?[k, v, w, u] := *r[k, v, w, u]", r#"[2, "d", 3.0, false]"#);
}

#[test]
fn what_is_wrong_is_told_by_relation_row_and_column_and_nothing_is_written() {
    let db = memory();
    run(&db, ":create r {k: Int => v: String}");
    run(&db, ":create s {k: Int}");
    let data = [("r", "k v", "[[1, 'a'], [2, 3]]"), ("s", "k", "[[1]]")];
    let data = data.map(|(name, names, rows)| (name.to_owned(), frame(&db, names, rows)));
    let error = db.import_relations(&BTreeMap::from(data)).unwrap_err();
    let want = "relation `r`, row 1, column `v`: expected String, found an Int (3)\nhint: rows are counted from 0";
    assert_eq!(error.to_string(), want);
    check(&db, "?[k] := *r[k, _] or *s[k]", "");

    let missing = "the rows for relation `r` have no column `v`\nhint: they have `k`, `V`";
    refuses(&db, "r", "k V", "[[1, 'a']]", missing);
    refuses(&db, "rr", "k", "[[1]]", "no relation `rr`");
    db.blobs("b", BlobOptions::default()).unwrap();
    let blobs = "`b` holds blobs, which scripts only read\nhint: put and delete them by the calls for blobs";
    refuses(&db, "b", "k", "[[1]]", blobs);
    run(&db, "::access_level read_only s");
    let level = "the access level of relation `s` is read_only, which forbids this";
    refuses(&db, "-s", "k", "[[1]]", level);
    run(&db, "::access_level hidden s");
    let error = db.export_relations(&["r", "s"]).unwrap_err();
    assert_eq!(error.to_string(), level.replace("read_only", "hidden"));
}

#[test]
fn indexes_follow_an_import_and_triggers_do_not_fire() {
    let db = memory();
    run(&db, ":create r {k: Int, l: Int => v: String}");
    run(&db, ":create log {k}");
    run(&db, "::index create r:by_v {v}");
    run(&db, "::index create r:by_l {l}");
    run(&db, "::set_triggers r on put { ?[k] := _new[k, _, _] :put log {k} }");
    import(&db, "r", "k l v", "[[1, 1, 'a'], [2, 1, 'b'], [3, 2, 'a']]").unwrap();
    import(&db, "r", "k l v", "[[1, 1, 'z'], [1, 1, 'c']]").unwrap();
    import(&db, "-r", "k l", "[[3, 2]]").unwrap();
    check(&db, "?[v, k] := *r:by_v{v, k}", r#"["b", 2] ["c", 1]"#);
    check(&db, "?[l, k] := *r:by_l{l, k}", "[1, 1] [1, 2]");
    check(&db, "?[k] := *log[k]", "");
}

#[test]
fn a_graph_gets_both_directions_and_counters_their_numbers() {
    let db = memory();
    let graph =
        db.graph("g", GraphOptions { weight: quipu::WeightType::Float, ..Default::default() });
    let graph = graph.unwrap();
    import(&db, "g", "src dst weight", "[[1, 2, 0.5], [3, 2, 1]]").unwrap();
    import(&db, "g", "src dst weight", "[[1, 2, 4]]").unwrap();
    let mut who = Vec::new();
    graph.predecessors(2, &mut who).unwrap();
    assert_eq!(who, [1, 3]);
    assert_eq!(graph.check().unwrap().edges, 2);
    refuses(
        &db,
        "g:rev",
        "src dst",
        "[[1, 2]]",
        "`g:rev` is written by writing `g`\nhint: indexes, and the reverse of a graph, are kept with their relation",
    );
    let counters = db.counters("c", CounterOptions::default()).unwrap();
    counters.add(7_u64, 5_i64).unwrap();
    let all = db.export_relations(&["c"]).unwrap();
    assert_eq!(all["c"].rows().collect::<Vec<_>>(), [[Value::Int(7), Value::Int(5)]]);
}

#[test]
fn what_is_exported_is_imported_as_it_was() {
    let db = memory();
    let spec = "{a: Int, b: String => c: Bool, d: Float?, e: Bytes, f: [Int], g: Json, h: Uuid, i: <F32; 2>, j: Any?, k: Date, l: Timestamp?, m: Duration}";
    let rows = "?[a, b, c, d, e, f, g, h, i, j, k, l, m] <- [
        [1, 'x', true, null, decode_base64('AAE='), [1, 2], {'k': [null]}, '00112233-4455-6677-8899-aabbccddeeff', [1, 2], null, '2026-01-31', null, 'PT1S'],
        [-5, \"a\\u0000\", false, 1.5, decode_base64(''), [], 3, '00112233-4455-6677-8899-aabbccddee00', [0, 0.5], [1, 'z'], '-0001-01-31', '2026-01-31T12:00:00+01:00', '-P1D']]";
    run(&db, &format!("{rows} :create r {spec}"));
    run(&db, ":create h {k: Int, at: Validity => v: Int}");
    run(&db, "?[k, at, v] <- [[1, [5, true], 7], [1, [9, false], 7]] :put h {k, at => v}");
    let all = db.export_relations(&["r", "h"]).unwrap();
    assert!(matches!(all["r"].columns()[0].values, Values::Int(_)));
    assert!(matches!(all["r"].columns()[1].values, Values::Str(_)));
    let other = memory();
    run(&other, &format!(":create r {spec}"));
    run(&other, ":create h {k: Int, at: Validity => v: Int}");
    other.import_relations(&all).unwrap();
    let again = other.export_relations(&["r", "h"]).unwrap();
    for name in ["r", "h"] {
        assert_eq!(again[name].rows().collect::<Vec<_>>(), all[name].rows().collect::<Vec<_>>());
        assert_eq!(again[name].len(), 2);
    }
}

#[test]
fn an_import_in_a_transaction_is_seen_there_and_goes_with_it() {
    let db = memory();
    run(&db, ":create r {k: Int}");
    let data = BTreeMap::from([("r".to_owned(), frame(&db, "k", "[[1], [2]]"))]);
    let tx = db.transaction(Isolation::Snapshot);
    tx.import_relations(&data).unwrap();
    assert_eq!(tx.export_relations(&["r"]).unwrap()["r"].len(), 2);
    assert_eq!(db.export_relations(&["r"]).unwrap()["r"].len(), 0);
    tx.rollback();
    check(&db, "?[k] := *r[k]", "");
    let tx = db.transaction(Isolation::Snapshot);
    tx.import_relations(&data).unwrap();
    tx.commit().unwrap();
    check(&db, "?[k] := *r[k]", "[1] [2]");
}

#[test]
fn more_rows_than_are_written_at_once_arrive() {
    let db = memory();
    run(&db, ":create r {k: Int => v: Int}");
    run(&db, ":create s {k: Int => v: Int}");
    run(&db, "::index create s:by_v {v}");
    let ints = |f: fn(i64) -> i64| Series::from(Values::Int((0..70_000).map(f).collect()));
    // Every key occurs twice, far apart: the later row wins.
    let columns = vec![ints(|i| i % 35_000), ints(|i| i)];
    let rows = Frame::new(vec!["k".into(), "v".into()], columns).unwrap();
    db.import_relations(&["r", "s"].map(|name| (name.to_owned(), rows.clone())).into()).unwrap();
    for name in ["r", "s"] {
        check(&db, &format!("?[count(k), min(v)] := *{name}[k, v]"), "[35000, 35000]");
    }
    check(&db, "?[count(v), min(v)] := *s:by_v{v}", "[35000, 35000]");
}

#[test]
fn a_relation_is_changed_by_tables_of_rows() {
    let db = memory();
    let relation = db.create_relation("r", "{k: Int => v: String, w default 7}").unwrap();
    relation.put(&frame(&db, "v k", "[['a', 1], ['b', 2]]")).unwrap();
    relation.insert(&frame(&db, "k v w", "[[3, 'c', 1]]")).unwrap();
    relation.update(&frame(&db, "k w", "[[1, 'x'], [3, null]]")).unwrap();
    relation.rm(&frame(&db, "k", "[[2], [99]]")).unwrap();
    assert_eq!(relation.len().unwrap(), 2);
    check(&db, "?[k, v, w] := *r[k, v, w]", r#"[1, "a", "x"] [3, "c", null]"#);
    for (wrong, want) in [
        (
            relation.insert(&frame(&db, "k v", "[[9, 'c'], [3, 'c']]")),
            "row [3] of relation `r` already exists",
        ),
        (relation.update(&frame(&db, "k", "[[1], [2]]")), "row [2] of relation `r` does not exist"),
        (relation.delete(&frame(&db, "k", "[[1], [2]]")), "row [2] of relation `r` does not exist"),
        (
            relation.put(&frame(&db, "k v w u", "[[1, 'a', 1, 1]]")),
            "relation `r` has no column `u`",
        ),
    ] {
        assert!(wrong.unwrap_err().to_string().starts_with(want), "{want}");
    }
    check(&db, "?[k, v, w] := *r[k, v, w]", r#"[1, "a", "x"] [3, "c", null]"#);
    let mut scan = relation.scan().unwrap();
    relation.delete(&frame(&db, "k", "[[1], [3]]")).unwrap();
    assert!(relation.is_empty().unwrap());
    assert_eq!(scan.next_rows(10).unwrap().unwrap().len(), 2);
    assert!(scan.next_rows(10).unwrap().is_none());
    assert!(db.create_relation("r", "{k: Int => v: String, w default 8}").is_err());
    let tx = db.transaction(Isolation::Snapshot);
    tx.relation("r").unwrap().put(&frame(&db, "k v", "[[1, 'a']]")).unwrap();
    assert_eq!(tx.relation("r").unwrap().len().unwrap(), 1);
    assert!(relation.is_empty().unwrap());
}

#[test]
fn very_many_rows_are_seen_at_once_and_outgrow_no_transaction() {
    let db = Database::in_memory(Options { memory_limit_bytes: 64 << 20, ..Options::default() })
        .unwrap();
    run(&db, ":create r {k: Int => v: String?, l: [Int]}");
    run(&db, ":create s {a: Int, b: String}");
    run(&db, "::index create s:by_b {b}");
    run(&db, "?[k, v, l] <- [[3, 'old', []], [-1, 'kept', []]] :put r {k => v, l}");
    let graph = db.graph("g", GraphOptions::default()).unwrap();
    let count = 400_000_i64;
    let ints = |f: &dyn Fn(i64) -> i64| Series::from(Values::Int((0..count).map(f).collect()));
    let texts = |f: &dyn Fn(i64) -> Option<String>| {
        let mut texts = quipu::BytesColumn::default();
        (0..count).for_each(|i| texts.push(f(i).as_deref().map(str::as_bytes)));
        let valid = texts.validity.clone();
        Series { values: Values::Str(texts), valid }
    };
    let named = |names: &[&str], columns| {
        Frame::new(names.iter().map(|&name| name.to_owned()).collect(), columns).unwrap()
    };
    let lists: Vec<Value> = (0..count).map(|i| Value::List(vec![Value::Int(i)])).collect();
    let text = |i: i64| (i % 3 > 0).then(|| format!("text {i}"));
    // Every key occurs twice, far apart: the later row wins.
    let half = count / 2;
    let data = BTreeMap::from([
        (
            "r".to_owned(),
            named(&["k", "v", "l"], vec![ints(&|i| (i * 7) % half), texts(&text), lists.into()]),
        ),
        (
            "s".to_owned(),
            named(&["b", "a"], vec![texts(&|i| Some(format!("b{}", i % 10))), ints(&|i| i)]),
        ),
        ("g".to_owned(), named(&["src", "dst"], vec![ints(&|i| i), ints(&|i| i / 4)])),
    ]);
    let before = db.transaction(Isolation::Snapshot);
    before.run("?[k, v, l] <- [[5, 'mine', []]] :put r {k => v, l}", &Parameters::new()).unwrap();
    db.import_relations(&data).unwrap();
    assert_eq!(before.relation("r").unwrap().len().unwrap(), 3);
    assert_eq!(before.commit().unwrap_err().kind(), ErrorKind::Conflict);
    check(&db, "?[count(k)] := *r[k, _, _]", &format!("[{}]", half + 1));
    let last = (half..count).find(|i| (i * 7) % half == 3).unwrap();
    let value = text(last).map_or(Value::Null, Value::Str);
    check(
        &db,
        "?[v, l] := *r[k, v, l], k in [-1, 3]",
        &format!("[\"kept\", []] [{value}, [{last}]]"),
    );
    check(&db, "?[count(a)] := *s:by_b{b: 'b7', a}", &format!("[{}]", count / 10));
    assert_eq!(graph.check().unwrap().edges, count as u64);
    let mut wrong = data["r"].clone();
    wrong.append(frame(&db, "k v l", "[[1, 2, []]]"));
    let wrong = db.import_relations(&BTreeMap::from([("r".to_owned(), wrong)])).unwrap_err();
    assert!(
        wrong.to_string().starts_with(&format!("relation `r`, row {count}, column `v`:")),
        "{wrong}"
    );
}
