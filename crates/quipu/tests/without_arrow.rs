//! A build without the feature `arrow`: text works, and Parquet and Arrow are errors that say so.
#![cfg(not(feature = "arrow"))]
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // the user's files

use quipu::{
    Arguments, Database, ErrorKind, ExportFormat, GraphOptions, ImportFile, ImportOptions, Options,
    Parameters, ProjectOptions, RunOptions, Value, export_file, export_result, import_files,
};
use std::path::Path;

fn database() -> Database {
    Database::in_memory(Options::default()).unwrap()
}

#[test]
fn text_is_imported_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from.csv"), folder.path().join("to.csv"));
    std::fs::write(&from, "source,target\n1,2\n2,3\n").unwrap();
    let db = database();
    let graph = db.graph("g", GraphOptions::default()).unwrap();
    let files = ImportFile::all_at(&from).unwrap();
    let report = import_files(&graph, db.env(), files, &ImportOptions::default(), &|_| true);
    assert_eq!(report.unwrap().edges, 2);
    assert_eq!(export_file(&graph, &to, ExportFormat::Text(b','), &|_| true).unwrap(), 2);
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "source,target\n1,2\n2,3\n");
}

#[test]
fn results_of_algorithms_become_relations_and_text() {
    let db = database();
    let graph = db.graph("g", GraphOptions::default()).unwrap();
    graph.upsert_many(&[1, 2], &[2, 1], None).unwrap();
    let run = db.analytics_run();
    let projection = db.project(&graph, &ProjectOptions::default(), &run).unwrap();
    let result = db.run_algorithm(&projection, "pagerank", &Arguments::new(), &run).unwrap();
    db.write_result(&result, "ranks", &RunOptions::default()).unwrap();
    let found = db.run("?[v, r] := *ranks{vertex: v, rank: r}", &Parameters::new()).unwrap();
    let half = Value::Float(0.5);
    let want = [vec![Value::Int(1), half.clone()], vec![Value::Int(2), half]];
    assert_eq!(found.rows().collect::<Vec<_>>(), want);
    let mut text = Vec::new();
    export_result(&result, &mut text, ExportFormat::Text(b','), &|| true).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "vertex,rank\n1,0.5\n2,0.5\n");
}

#[test]
fn parquet_and_arrow_are_errors_that_say_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let db = database();
    let graph = db.graph("g", GraphOptions::default()).unwrap();
    let is_told = |error: quipu::Error| {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("feature `arrow`"), "{error}");
    };
    for (format, mark) in [(ExportFormat::Parquet, "PAR1"), (ExportFormat::Arrow, "ARROW1")] {
        let to = folder.path().join(mark);
        is_told(export_file(&graph, &to, format, &|_| true).unwrap_err());
        assert!(!to.exists());
        std::fs::write(&to, mark).unwrap();
        let files = ImportFile::all_at(&to).unwrap();
        let options = ImportOptions::default();
        is_told(import_files(&graph, db.env(), files, &options, &|_| true).unwrap_err());
    }
    let file = Path::new(folder.path()).join("PAR1");
    let script = format!("?[a] <~ ParquetReader(url: 'file://{}', columns: ['a'])", file.display());
    let error = db.run(&script, &Parameters::new()).unwrap_err().to_string();
    assert!(error.contains("feature `arrow`"), "{error}");
}
