//! Imports of rows with properties through the Rust API: who a graph belongs to, and memory.
#![allow(clippy::unwrap_used)]

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use quipu::{
    Database, Error, ErrorKind, Frame, GraphOptions, ImportOptions, Options, PropertyImport,
    PropertySource, PropertyTypes, Value, Values,
};
use std::sync::Arc;

fn memory() -> Database {
    Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap()
}

fn failed() -> Error {
    Error::new(ErrorKind::InvalidInput, "the table broke off")
}

fn batch(names: [&str; 3], rows: i64) -> RecordBatch {
    let column = || -> ArrayRef { Arc::new((0..rows).collect::<Int64Array>()) };
    RecordBatch::try_from_iter(names.map(|name| (name, column()))).unwrap()
}

#[test]
fn a_failed_import_leaves_a_graph_that_another_writer_created_meanwhile() {
    let db = memory();
    let other = db.clone();
    let create = move || {
        other.graph("g", GraphOptions::default())?;
        Err(failed())
    };
    let import = PropertyImport {
        edges: Some(PropertySource::Batches(Box::new(std::iter::once_with(create)))),
        edge_properties: Some(PropertyTypes::Found),
        ..PropertyImport::default()
    };
    let error = db.import_properties("g", import, &|_| true).unwrap_err();
    assert!(error.to_string().contains("broke off"), "{error}");
    assert!(db.existing_graph("g").unwrap().is_some());
}

#[test]
fn a_failed_import_drops_the_graph_that_it_created() {
    let db = memory();
    let batches = [Ok(batch(["source", "target", "x"], 3)), Err(failed())];
    let import = PropertyImport {
        edges: Some(PropertySource::Batches(Box::new(batches.into_iter()))),
        ..PropertyImport::default()
    };
    let error = db.import_properties("g", import, &|_| true).unwrap_err();
    assert!(error.to_string().contains("broke off"), "{error}");
    assert!(db.existing_graph("g").unwrap().is_none());
}

#[test]
fn rows_of_an_undirected_graph_are_one_edge_from_both_ends() {
    let ends = |ends: &[(&str, &str)]| {
        let row = |&(a, b): &(&str, &str)| vec![Value::Str(a.into()), Value::Str(b.into())];
        let names = ["source", "target"].map(str::to_owned).to_vec();
        PropertySource::Rows(Frame::of_rows(names, ends.iter().map(row).collect()).unwrap())
    };
    let db = memory();
    let import = |rows: &[(&str, &str)]| {
        let import = PropertyImport {
            edges: Some(ends(rows)),
            is_undirected: Some(true),
            ..PropertyImport::default()
        };
        let report = db.import_properties("g", import, &|_| true).unwrap();
        (report.rows, report.edges, report.duplicates)
    };
    assert_eq!(import(&[("b", "a"), ("a", "b"), ("c", "c")]), (3, 2, 1));
    assert_eq!(import(&[("a", "b"), ("a", "c"), ("c", "b")]), (3, 3, 1));
    let graph = db.require_graph("g").unwrap();
    assert!(GraphOptions::of(graph.def()).is_undirected);
    assert_eq!(graph.number_of_edges().unwrap(), 4);
    graph.check().unwrap();
    let directed = GraphOptions { is_undirected: false, ..GraphOptions::of(graph.def()) };
    let error = db.graph("g", directed).unwrap_err().to_string();
    assert_eq!(error, "the graph \"g\" is undirected, one that is directed was asked for");
}

/// Imports edges and vertices of this many rows; returns the kind of the error.
fn import(edges: PropertySource, nodes: Option<PropertySource>) -> Option<ErrorKind> {
    let options = ImportOptions { memory_limit_bytes: 4 * 50_000, ..ImportOptions::default() };
    let edge_properties = Some(PropertyTypes::Found);
    let edges = Some(edges);
    let import =
        PropertyImport { edges, nodes, edge_properties, options, ..PropertyImport::default() };
    memory().import_properties("g", import, &|_| true).err().map(|error| error.kind())
}

#[test]
fn the_memory_limit_counts_edges_and_vertices_together() {
    // 32 bytes a row: three columns and the row itself.
    let batches =
        |names, rows| PropertySource::Batches(Box::new(std::iter::once(Ok(batch(names, rows)))));
    let frame = |names: [&str; 3], rows: i64| {
        let column = || Values::Int((0..rows).collect()).into();
        let columns = names.iter().map(|_| column()).collect();
        PropertySource::Rows(Frame::new(names.map(str::to_owned).to_vec(), columns).unwrap())
    };
    let (edges, nodes) = (["source", "target", "since"], ["vertex", "kind", "year"]);
    assert_eq!(import(batches(edges, 1000), None), None);
    assert_eq!(import(batches(edges, 1000), Some(batches(nodes, 1000))), Some(ErrorKind::Limit));
    assert_eq!(import(frame(edges, 1000), None), None);
    assert_eq!(import(frame(edges, 1000), Some(batches(nodes, 1000))), Some(ErrorKind::Limit));
    assert_eq!(import(frame(edges, 1000), Some(frame(nodes, 1000))), Some(ErrorKind::Limit));
    assert_eq!(import(frame(edges, 2000), None), Some(ErrorKind::Limit));
}
