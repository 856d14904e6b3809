//! Reading Parquet files in scripts.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the files are the test's own
#![allow(clippy::unwrap_used)]

use quipu::{Database, ErrorKind, Options, Parameters, Value};
use std::fs::{self, File};
use tempfile::TempDir;

/// A database in memory, and a folder with `people.parquet`: 20,000 rows of `id`, `name`, `score`
/// (every third is null) and `tags` (lists as text).
fn place() -> (Database, TempDir) {
    let db = Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap();
    let folder = TempDir::new().unwrap();
    let rows =
        "?[id, name, score, tags] := id in int_range(20000), name = concat('n', to_string(id)),
                score = if(id % 3 == 0, null, id / 2), tags = [id, 'x']";
    let answer = db.run(rows, &Parameters::new()).unwrap();
    let file = File::create(folder.path().join("people.parquet")).unwrap();
    answer.write_parquet(file).unwrap();
    (db, folder)
}

/// Runs a script on the file, which the script calls `$url`; returns the result as text.
fn asked(db: &Database, folder: &TempDir, file: &str, script: &str) -> String {
    let url = format!("file://{}", folder.path().join(file).display());
    let parameters = Parameters::from([("url".to_owned(), Value::Str(url))]);
    match db.run(script, &parameters) {
        Ok(answer) => {
            let rows = answer.rows().map(|row| {
                format!("{:?}", row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
            });
            rows.collect::<Vec<_>>().join(", ")
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            let text = error.to_string().replace(&folder.path().display().to_string(), "");
            text.lines().next().unwrap_or_default().to_owned()
        }
    }
}

#[test]
fn a_script_reads_all_columns_or_those_it_names() {
    let (db, folder) = place();
    let check = |script: &str, want: &str| {
        assert_eq!(asked(&db, &folder, "people.parquet", script), want, "{script}");
    };
    check(
        "row[id, name, score, tags] <~ ParquetReader(url: $url) ?[name, score, tags] := row[id, name, score, tags], id in [3, 4]",
        r#""\"n3\" null \"[3, \\\"x\\\"]\"", "\"n4\" 2.0 \"[4, \\\"x\\\"]\"""#,
    );
    check(
        "row[score, id] <~ ParquetReader(url: $url, columns: ['score', 'id'])
         ?[count(id), sum(id), sum(s)] := row[score, id], s = score ~ 0",
        "\"20000 199990000.0 66663333.5\"",
    );
    check(
        "?[] <~ ParquetReader(url: $url, columns: ['id'], types: ['Float'], prepend_index: true) :limit 2 :order _0",
        "\"0 0.0\", \"1 1.0\"",
    );
}

#[test]
fn what_cannot_be_read_is_told() {
    let (db, folder) = place();
    fs::write(folder.path().join("text.parquet"), "id,name\n1,a\n").unwrap();
    for (file, options, want) in [
        (
            "people.parquet",
            "columns: ['nam']",
            "/people.parquet: expected a column `nam`, found `id`, `name`, `score`, `tags`",
        ),
        (
            "people.parquet",
            "columns: ['name'], types: ['Int']",
            "row 1 of the file, column 1: expected Int, found a String (\"n0\")",
        ),
        (
            "people.parquet",
            "columns: ['name'], types: ['Int', 'Int']",
            "ParquetReader: 2 types for 1 columns",
        ),
        ("people.parquet", "types: ['Int']", "ParquetReader: 1 types, and the file has 4 columns"),
        (
            "text.parquet",
            "",
            "/text.parquet: expected a sound Parquet file, found Parquet error: Invalid Parquet file. Corrupt footer",
        ),
    ] {
        let comma = if options.is_empty() { "" } else { ", " };
        let script = format!("?[] <~ ParquetReader(url: $url{comma}{options})");
        assert_eq!(asked(&db, &folder, file, &script), want);
    }
    let missing = asked(&db, &folder, "none.parquet", "?[] <~ ParquetReader(url: $url)");
    assert!(missing.contains("none.parquet"), "{missing}");
}
