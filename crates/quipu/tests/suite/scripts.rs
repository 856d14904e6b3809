//! Scripts through the Rust API: columns of results, errors and timeouts, transactions, and how
//! scripts see buffered increments and blobs.
#![allow(clippy::unwrap_used)]

use quipu::{
    ColumnValues, CounterOptions, Database, Durability, Error, ErrorKind, GraphOptions, Isolation,
    Options, Parameters, RunOptions, ScriptError, Value,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A script that does not end by itself during a test.
const ENDLESS: &str = "c[x] := x in int_range(3000) ?[x] := c[x], c[y], c[z], x + y + z < 0";

fn memory() -> Database {
    Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap()
}

#[track_caller]
fn check(db: &Database, script: &str, want: &str) {
    let rows: Vec<Value> =
        db.run(script, &Parameters::new()).unwrap().rows().map(Value::List).collect();
    assert_eq!(Value::List(rows).to_string(), want);
}

fn fails(db: &Database, script: &str) -> Error {
    db.run(script, &Parameters::new()).unwrap_err()
}

#[test]
fn vectors_of_one_length_and_lists_of_one_kind_of_items_are_columns_of_such() {
    let db = memory();
    let script = "?[i, v, w, l, t, e, o, x] <- [
        [1, vec([1, 2]), vec([1, 2]), [1, null], ['a'], [], [1, 'a'], [[1]]],
        [2, vec([3, 4]), vec([1, 2, 3]), [0.5, 2, 3], [], [], [], [[2]]],
        [3, null, null, null, null, null, null, null]]";
    let answer = db.run(script, &Parameters::new()).unwrap();
    let column = |i: usize| answer.column(i);
    let vectors = column(1);
    assert!(
        matches!(&vectors.values, ColumnValues::Vector32(2, all) if all == &[1.0, 2.0, 3.0, 4.0, 0.0, 0.0])
    );
    assert_eq!([0, 1, 2].map(|row| vectors.valid.is_valid(row)), [true, true, false]);
    assert!(matches!(column(2).values, ColumnValues::Literal(_)), "of two lengths");
    let ColumnValues::List(offsets, items) = column(3).values else { panic!("no lists") };
    assert_eq!(offsets, [0, 2, 5, 5]);
    assert!(matches!(&items.values, ColumnValues::Float(all) if all == &[1.0, 0.0, 0.5, 2.0, 3.0]));
    assert_eq!([0, 1, 2].map(|item| items.valid.is_valid(item)), [true, false, true]);
    let ColumnValues::List(offsets, items) = column(4).values else { panic!("no lists") };
    assert_eq!(offsets, [0, 1, 1, 1]);
    assert!(matches!(&items.values, ColumnValues::Str(texts) if texts.get(0) == b"a"));
    assert!(
        matches!(column(5).values, ColumnValues::List(_, items) if matches!(items.values, ColumnValues::Null(0)))
    );
    assert!(
        matches!(column(6).values, ColumnValues::Literal(texts) if texts.get(0) == b"[1, \"a\"]")
    );
    let ColumnValues::List(_, items) = column(7).values else { panic!("no lists") };
    let ColumnValues::List(offsets, items) = items.values else { panic!("no lists of lists") };
    assert_eq!(offsets, [0, 1, 2], "lists of lists");
    assert!(matches!(items.values, ColumnValues::Int(all) if all == [1, 2]));
    let batch = answer.to_batch().unwrap();
    let types: Vec<String> =
        batch.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types[1], "FixedSizeList(2 x Float32)");
    assert_eq!(types[3], "List(Float64)");
    let mut file = Vec::new();
    answer.write_parquet(&mut file).unwrap();
    assert!(file.starts_with(b"PAR1"));
}

#[test]
fn a_column_has_the_one_type_that_holds_all_its_values() {
    let db = memory();
    let script = "?[i, f, b, s, n, m, id, no] <- [
        [1, 1, true, 'x', null, 1, $big, -1],
        [2, 0.5, false, null, null, 'a', 7, $big]]";
    let big = Parameters::from([("big".to_owned(), Value::Id(1 << 63))]);
    let answer = db.run(script, &big).unwrap();
    let column = |i: usize| answer.column(i);
    assert!(matches!(column(0).values, ColumnValues::Int(ints) if ints == [1, 2]));
    assert!(matches!(column(1).values, ColumnValues::Float(floats) if floats == [1.0, 0.5]));
    assert!(matches!(column(2).values, ColumnValues::Bool(bools) if bools == [true, false]));
    let texts = column(3);
    assert!(matches!(&texts.values, ColumnValues::Str(texts) if texts.get(0) == b"x"));
    assert_eq!([0, 1].map(|row| texts.valid.is_valid(row)), [true, false]);
    assert!(matches!(column(4).values, ColumnValues::Null(2)));
    assert!(matches!(column(5).values, ColumnValues::Literal(texts) if texts.get(1) == b"\"a\""));
    assert!(matches!(column(6).values, ColumnValues::Id(ids) if ids == [1 << 63, 7]));
    assert!(matches!(column(7).values, ColumnValues::Literal(texts) if texts.get(0) == b"-1"));
}

#[test]
fn a_mistake_has_its_place_and_its_hint() {
    let db = memory();
    db.graph("cites", GraphOptions::default()).unwrap();
    let error = fails(&db, "?[a] :=\n *cite{src: a}");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let cause = error.cause::<ScriptError>().unwrap();
    assert_eq!(cause.place(), Some((2, 3)));
    assert_eq!(cause.hint(), Some("did you mean `cites`?"));
    assert!(error.to_string().ends_with("\n    ^^^^\nhint: did you mean `cites`?"), "{error}");
    let error = fails(&db, "?[a] := a = $v");
    assert_eq!(error.cause::<ScriptError>().unwrap().place(), Some((1, 13)));
}

#[test]
fn a_script_stops_at_its_timeout_and_when_it_is_told() {
    let db = memory();
    let run = |options: RunOptions<'_>| {
        let error = db.run_with(ENDLESS, &Parameters::new(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        error.to_string()
    };
    let timeout = Some(Duration::from_millis(20));
    assert!(run(RunOptions { timeout, ..RunOptions::default() }).contains("timeout"));
    let asked = AtomicUsize::new(0);
    let go_on = || asked.fetch_add(1, Ordering::Relaxed) < 3;
    assert!(
        run(RunOptions { go_on: Some(&go_on), ..RunOptions::default() }).contains("interrupted")
    );
    assert_eq!(asked.load(Ordering::Relaxed), 4);
}

#[test]
fn what_waits_for_counters_is_seen_and_goes_with_them() {
    let db = memory();
    let seen = db.counters("seen", CounterOptions::default()).unwrap();
    seen.add(7_u64, 2).unwrap();
    check(&db, "?[k, n] := *seen[k, n]", "[[7, 2]]");
    seen.add(7_u64, 3).unwrap();
    check(&db, "{?[k, n] := *seen[k, n]}", "[[7, 5]]");
    seen.add(7_u64, 1).unwrap();
    check(&db, "?[key, count] <- [[7, 100]] :put seen {key => count}", "[[\"OK\"]]");
    seen.add(7_u64, 1).unwrap();
    check(&db, "?[k, n] := *seen[k, n]", "[[7, 101]]");
    seen.add(7_u64, 1).unwrap();
    check(&db, "::remove seen", "[[\"OK\"]]");
    db.flush().unwrap();
    assert!(db.existing_counters("seen").unwrap().is_none());
}

#[test]
fn a_brief_look_sees_what_waits_for_counters_or_is_none() {
    let db = memory();
    let seen = db.counters("seen", CounterOptions::default()).unwrap();
    let script = "?[n] := *seen[7, n]";
    let (mut looks, mut refused) = (0, 0);
    for count in 1..=20 {
        seen.add(7_u64, 1).unwrap();
        let look = || db.try_run(script, &Parameters::new(), &RunOptions::default()).unwrap();
        let want = count.to_string();
        // On a busy machine the increment may have been written already.
        match look() {
            Some(found) => assert_eq!(found.value(0, 0).to_string(), want),
            None => refused += 1,
        }
        check(&db, script, &format!("[[{count}]]"));
        // A cached plan is used for two seconds, which may be over.
        if let Some(found) = look() {
            assert_eq!(found.value(0, 0).to_string(), want);
            looks += 1;
        }
    }
    assert!(looks > 0 && refused > 1, "{looks} and {refused}");
}

#[test]
fn a_brief_look_reads_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { threads: 1, durability: Durability::None, ..Options::default() };
    let none = Parameters::new();
    {
        let db = Database::open(folder.path(), options.clone()).unwrap();
        let make =
            "?[k, v] := k in int_range(200000), v = k * 7919 % 99991 :create r {k: Int => v: Int}";
        db.run(make, &none).unwrap();
        db.close().unwrap();
    }
    let db = Database::open(folder.path(), options).unwrap();
    let script = "?[v] := *r{k: $k, v}";
    let mut refused = 0;
    for k in (0..200_000).step_by(20_000) {
        let given = Parameters::from([("k".to_owned(), Value::Int(k))]);
        let look = || db.try_run(script, &given, &RunOptions::default()).unwrap();
        refused += u32::from(look().is_none());
        // A block that is in the page cache too is cached at the second request; a plan is cached
        // for two seconds.
        let found = (0..20).find_map(|_| {
            db.run(script, &given).unwrap();
            look()
        });
        assert_eq!(found.unwrap().value(0, 0), Value::Int(k * 7919 % 99991));
    }
    // Each of these keys is in a different block.
    assert_eq!(refused, 10);
}

#[test]
fn a_transaction_keeps_what_its_scripts_write_until_it_commits() {
    let db = memory();
    let none = Parameters::new();
    check(&db, "?[k] <- [[1]] :create t {k}", "[[\"OK\"]]");
    let tx = db.transaction(Isolation::Snapshot);
    tx.run("?[k] <- [[2]] :put t {k}", &none).unwrap();
    assert_eq!(tx.run("?[k] := *t[k]", &none).unwrap().len(), 2);
    check(&db, "?[k] := *t[k]", "[[1]]");
    tx.commit().unwrap();
    check(&db, "?[k] := *t[k]", "[[1], [2]]");
    assert!(tx.run("?[k] := *t[k]", &none).is_err());

    let late = db.transaction(Isolation::Snapshot);
    late.run("?[k] <- [[3]] :put t {k}", &none).unwrap();
    late.rollback();
    check(&db, "?[k] := *t[k]", "[[1], [2]]");
}

#[test]
fn a_script_that_fails_in_a_transaction_leaves_nothing_there() {
    let db = memory();
    let none = Parameters::new();
    db.run("?[k] <- [[1]] :create t {k: Int}", &none).unwrap();
    db.graph("g", GraphOptions::default()).unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    tx.run("?[k] <- [[2]] :put t {k}", &none).unwrap();
    tx.graph("g").unwrap().upsert(1, 2, None).unwrap();
    for script in [
        "{?[k] <- [[3]] :put t {k}} {?[k] <- [['x']] :put t {k}}",
        "{?[k] <- [[3]] :replace t {k: Any}} {?[k] := *nothing[k]}",
        "{?[k] <- [[3]] :create u {k: Int}} {::rename t -> v} {?[k] <- [['x']] :put v {k}}",
        "{?[src, dst] <- [[3, 4]] :put g {src, dst}} {?[k] <- [['x']] :put t {k}}",
    ] {
        assert_eq!(tx.run(script, &none).unwrap_err().kind(), ErrorKind::InvalidInput, "{script}");
    }
    tx.run("?[k] <- [[4]] :put t {k}", &none).unwrap();
    tx.commit().unwrap();
    check(&db, "?[k] := *t[k]", "[[1], [2], [4]]");
    check(&db, "?[src, dst] := *g{src, dst}", "[[1, 2]]");
    let there = fails(&db, "?[k] := *u[k]");
    assert!(there.to_string().contains("no relation `u`"), "{there}");
}

#[test]
fn a_write_that_a_transaction_has_no_room_for_is_not_in_it() {
    let options = Options { threads: 1, memory_limit_bytes: 64 << 20, ..Options::default() };
    let db = Database::in_memory(options).unwrap();
    let blobs = db.blobs("b", quipu::BlobOptions::default()).unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    let inside = tx.blobs("b").unwrap();
    inside.put(1_u64, b"small").unwrap();
    let refused = inside.put(2_u64, &vec![7; 20 << 20]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Limit);
    assert!(!inside.contains(2_u64).unwrap());
    inside.put(3_u64, b"small, too").unwrap();
    tx.commit().unwrap();
    let kept = [1_u64, 2, 3].map(|key| blobs.contains(key).unwrap());
    assert_eq!(kept, [true, false, true]);
}

#[test]
fn a_script_says_whether_it_may_change_something() {
    for script in [
        "?[a] := *t[a]",
        "::relations",
        "::explain analyze {?[] <- []}",
        "{?[a] := *t[a]}",
        "no script",
    ] {
        assert!(!quipu::may_change(script), "{script}");
    }
    for script in
        ["?[a] <- [[1]] :put t {a}", "::remove t", "{?[] <- []} {::remove t}", "::compact"]
    {
        assert!(quipu::may_change(script), "{script}");
    }
}

#[test]
fn scripts_read_blobs_but_no_long_one_and_write_none() {
    let db = memory();
    let blobs = db.blobs("pages", quipu::BlobOptions::default()).unwrap();
    blobs.put(1_u64, b"short").unwrap();
    check(&db, "?[key, value] := *pages{key, value}", "[[1, 0x73686f7274]]");
    blobs.put(2_u64, &vec![7; 1 << 20]).unwrap();
    check(&db, "?[key, value] := key = 1, *pages{key, value}", "[[1, 0x73686f7274]]");
    check(&db, "?[key] := *pages{key}", "[[1], [2]]");
    let error = fails(&db, "?[key, value] := *pages{key, value}");
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    for script in [
        "?[key] <- [[2]] :rm pages {key}",
        "?[key, value] <- [[3, null]] :put pages {key => value}",
    ] {
        let error = fails(&db, script);
        assert!(error.to_string().contains("scripts only read"), "{error}");
    }
    let mut out = Vec::new();
    assert!(blobs.get(2_u64, &mut out).unwrap());
    assert_eq!(out.len(), 1 << 20);
}

#[test]
fn what_changes_beside_scripts_has_no_index_that_would_miss_it() {
    let db = memory();
    let counters = db.counters("hits", CounterOptions::default()).unwrap();
    counters.add(1_u64, quipu::Number::Int(3)).unwrap();
    let error = fails(&db, "::index create hits:by_count {count}");
    assert!(error.to_string().contains("change beside scripts"), "{error}");
    check(&db, "?[key] := *hits{key, count: 3}", "[[1]]");
}

#[test]
fn a_serializable_query_conflicts_only_with_what_it_read() {
    let db = memory();
    // Enough rows that the join order depends on their statistics.
    let made = "?[a, b, v] := a in int_range(100), b in int_range(50), v = 0
        :create edge {a: Int, b: Int => v: Int}";
    db.run(made, &Parameters::new()).unwrap();
    let read_while = |other: &str| {
        let tx = db.transaction(Isolation::Serializable);
        tx.run("?[v] := *edge{a: 1, b: 1, v}", &Parameters::new()).unwrap();
        db.run(other, &Parameters::new()).unwrap();
        tx.run("?[a, b, v] <- [[5, 5, 5]] :put edge {a, b => v}", &Parameters::new()).unwrap();
        tx.commit()
    };
    read_while("?[a, b, v] <- [[90, 3, 1]] :put edge {a, b => v}").unwrap();
    let error = read_while("?[a, b, v] <- [[1, 1, 1]] :put edge {a, b => v}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}
