//! Relations with more than 64 columns, the number of bits of a projection.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use quipu::{Database, Durability, ErrorKind, Options, Parameters, Value};
use std::fmt::Write;
use std::fs::File;
use tempfile::TempDir;

/// Number of rows in each relation.
const ROWS: usize = 40;

fn options() -> Options {
    Options { threads: 1, durability: Durability::Os, ..Options::default() }
}

fn names(columns: usize) -> String {
    (0..columns).map(|i| format!("c{i}")).collect::<Vec<_>>().join(", ")
}

/// Columns of four types; three of them are nullable.
fn spec(columns: usize) -> String {
    let kinds = ["Int?", "String?", "Float?", "Any"];
    let mut spec = String::from("{k: Int => ");
    for i in 0..columns {
        let _ = write!(spec, "c{i}: {}, ", kinds[i % kinds.len()]);
    }
    spec + "}"
}

/// The value of a column in a row: all different, with every ninth null.
fn value(row: usize, column: usize) -> Value {
    let number = (row * 10_000 + column) as i64;
    match column % 4 {
        3 => Value::Int(number),
        _ if (row + column).is_multiple_of(9) => Value::Null,
        0 => Value::Int(number),
        1 => Value::Str(format!("text {number}")),
        _ => Value::Float(number as f64 + 0.5),
    }
}

fn row(row: usize, columns: usize) -> Vec<Value> {
    let values = (0..columns).map(|column| value(row, column));
    std::iter::once(Value::Int(row as i64)).chain(values).collect()
}

#[track_caller]
fn ask(db: &Database, script: &str) -> Vec<Vec<Value>> {
    db.run(script, &Parameters::new()).unwrap().rows().collect()
}

fn fill(db: &Database, name: &str, columns: usize) {
    let rows = (0..ROWS).map(|number| Value::List(row(number, columns))).collect();
    let parameters = Parameters::from([("rows".to_owned(), Value::List(rows))]);
    let head = names(columns);
    let script = format!("?[k, {head}] <- $rows :create {name} {}", spec(columns));
    db.run(&script, &parameters).unwrap();
}

/// Reads whole rows, and single columns: the first, the last, and those next to multiples of 64.
#[track_caller]
fn check(db: &Database, name: &str, columns: usize, want: &dyn Fn(usize, usize) -> Value) {
    let head = names(columns);
    let all = ask(db, &format!("?[k, {head}] := *{name}[k, {head}]"));
    let whole = |number: usize| -> Vec<Value> {
        let values = (0..columns).map(|column| want(number, column));
        std::iter::once(Value::Int(number as i64)).chain(values).collect()
    };
    assert_eq!(all, (0..ROWS).map(whole).collect::<Vec<_>>(), "{columns} columns");
    let edges = [0, 1, 2, 3, 62, 63, 64, 65, 66, 67, 127, 128, 129, columns - 2, columns - 1];
    for column in edges.into_iter().filter(|&column| column < columns) {
        let found = ask(db, &format!("?[k, x] := *{name}{{k, c{column}: x}}"));
        let one = |number: usize| vec![Value::Int(number as i64), want(number, column)];
        assert_eq!(found, (0..ROWS).map(one).collect::<Vec<_>>(), "column {column} of {columns}");
        let looked_up = ask(db, &format!("?[x] := *{name}{{k: 7, c{column}: x}}"));
        assert_eq!(looked_up, [[want(7, column)]], "column {column} of {columns}");
    }
}

#[test]
fn a_relation_of_any_width_gives_back_every_value_from_memory_tables_and_the_log() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("db");
    let widths = [64, 65, 130, 200, 1000];
    let db = Database::open(&path, options()).unwrap();
    for columns in widths {
        fill(&db, &format!("w{columns}"), columns);
        check(&db, &format!("w{columns}"), columns, &value);
    }
    db.flush().unwrap();
    for columns in widths {
        check(&db, &format!("w{columns}"), columns, &value);
    }
    // One column of each row changes, in memtables above the tables.
    let changed = |row: usize, column: usize| match column {
        64 => Value::Int(-1),
        _ => value(row, column),
    };
    for columns in widths.into_iter().filter(|&columns| columns > 64) {
        let put =
            format!("?[k, c64] := *w{columns}{{k}}, c64 = -1 :update w{columns} {{k => c64}}");
        ask(&db, &put);
        check(&db, &format!("w{columns}"), columns, &changed);
    }
    drop(db);
    for compacts in [false, true] {
        let db = Database::open(&path, options()).unwrap();
        if compacts {
            db.compact().unwrap();
        }
        check(&db, "w64", 64, &value);
        for columns in widths.into_iter().filter(|&columns| columns > 64) {
            check(&db, &format!("w{columns}"), columns, &changed);
        }
        assert!(db.check(&|_, _| true).unwrap().is_sound());
    }
}

#[test]
fn a_wide_relation_is_changed_searched_and_counted_as_others_are() {
    let db = Database::in_memory(options()).unwrap();
    fill(&db, "w", 200);
    ask(&db, "::index create w:late {c150}");
    ask(&db, "?[k] <- [[3], [4]] :rm w {k}");
    let found = ask(&db, "?[k, c199] := *w{k, c150: 50150.5, c199}");
    assert_eq!(found, [[Value::Int(5), Value::Int(50199)]]);
    let found = ask(&db, "?[k] := *w:late{c150: 60150.5, k}");
    assert_eq!(found, [[Value::Int(6)]]);
    assert_eq!(ask(&db, "?[count(c71)] := *w{c71}, c71 > 200000"), [[Value::Int(20)]]);
    let joined = "?[count(a)] := *w{k: a, c199: x}, *w{k: b, c199: x}, a == b";
    assert_eq!(ask(&db, joined), [[Value::Int(38)]]);
    let returned = ask(&db, "?[k] <- [[5]] :rm w {k} :returning");
    assert_eq!(returned[1][1..], row(5, 200));
}

#[test]
fn a_relation_has_up_to_4096_value_columns_and_any_number_of_keys() {
    let db = Database::in_memory(options()).unwrap();
    ask(&db, &format!(":create w {}", spec(4096)));
    let error = db.run(&format!(":create v {}", spec(4097)), &Parameters::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("more than 4096 value columns"), "{error}");
    let head = names(1000);
    let row = |first: i64| Value::List((first..first + 1000).map(Value::Int).collect());
    let parameters = Parameters::from([("rows".to_owned(), Value::List(vec![row(2), row(1)]))]);
    db.run(&format!("?[{head}] <- $rows :create keys {{}}"), &parameters).unwrap();
    let found = ask(&db, "?[a, z] := *keys{c0: a, c999: z}");
    assert_eq!(found, [[1, 1000].map(Value::Int), [2, 1001].map(Value::Int)]);
    let found = ask(&db, &format!("?[c999] := *keys[{head}], c0 = 2"));
    assert_eq!(found, [[Value::Int(1001)]]);
}

#[test]
fn a_parquet_file_of_many_columns_becomes_a_relation() {
    let folder = TempDir::new().unwrap();
    let db = Database::in_memory(options()).unwrap();
    fill(&db, "w", 300);
    let head = names(300);
    let all = db.run(&format!("?[k, {head}] := *w[k, {head}]"), &Parameters::new()).unwrap();
    all.write_parquet(File::create(folder.path().join("wide.parquet")).unwrap()).unwrap();
    let url = format!("file://{}", folder.path().join("wide.parquet").display());
    let parameters = Parameters::from([("url".to_owned(), Value::Str(url))]);
    let named = (0..300).map(|i| format!("'c{i}'")).collect::<Vec<_>>().join(", ");
    let read = format!(
        "?[k, {head}] <~ ParquetReader(url: $url, columns: ['k', {named}]) :create read {}",
        spec(300)
    );
    db.run(&read, &parameters).unwrap();
    check(&db, "read", 300, &value);
}
