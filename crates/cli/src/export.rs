//! `quipu export`: writes the edges of a graph to a file or to standard output, and its vertices to
//! a file; or both to a folder for Apache Spark.

use crate::args::Export;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, note, open_to_read, plural};
use quipu::{ExportFormat, SparkOptions};
use std::io;
use std::path::Path;

const TEMPLATE: &str = "exporting {bar:30} {human_pos} of {human_len} edges, {eta} left";

const SPARK_TEMPLATE: &str = "exporting {human_pos} rows, {elapsed}";

pub(crate) fn run(arguments: &Export) -> Result<(), Failure> {
    match (&arguments.spark, &arguments.file) {
        (Some(folder), _) => to_spark(arguments, folder),
        (None, Some(file)) => to_file(arguments, file),
        (None, None) => Err(Failure::Request("no file is named".to_owned())),
    }
}

fn to_spark(arguments: &Export, folder: &Path) -> Result<(), Failure> {
    let Export { vertices, force: replace, .. } = arguments;
    let file_rows_max = SparkOptions::default().file_rows_max;
    let file_rows_max = arguments.file_rows.unwrap_or(file_rows_max);
    let options = SparkOptions { vertices: vertices.clone(), file_rows_max, replace: *replace };
    interrupt::watch();
    let database = open_to_read(&arguments.db)?;
    let bar = bar(0, SPARK_TEMPLATE);
    let tell = |rows| {
        bar.set_position(rows);
        interrupt::go_on()
    };
    let exported = database.export_spark(&arguments.graph, folder, &options, &tell);
    bar.finish_and_clear();
    let report = exported?;
    note(&format!(
        "{} and {} to {}, in {}",
        plural(report.vertices, "vertex", "vertices"),
        plural(report.edges, "edge", "edges"),
        folder.display(),
        plural(report.files.len() as u64, "file", "files"),
    ));
    Ok(())
}

/// Refuses files that exist, unless `force`, and one file for both edges and vertices.
fn check_targets(edges: Option<&Path>, nodes: Option<&Path>, force: bool) -> Result<(), Failure> {
    if let Some(file) =
        edges.into_iter().chain(nodes).find(|file| !force && quipu::is_replaced(file))
    {
        return Err(Failure::Request(format!(
            "{} already exists\nhint: --force replaces it",
            file.display()
        )));
    }
    if let (Some(edges), Some(nodes)) = (edges, nodes)
        && quipu::is_same_output(nodes, edges)
    {
        return Err(Failure::Request(format!(
            "{} is named for the edges and for the vertices\nhint: name two files",
            edges.display()
        )));
    }
    Ok(())
}

fn to_file(arguments: &Export, edges_file: &Path) -> Result<(), Failure> {
    let to_stdout = edges_file.as_os_str() == "-";
    let format = if to_stdout { ExportFormat::Text(b',') } else { format_of(edges_file)? };
    let nodes = arguments.nodes.as_deref();
    check_targets((!to_stdout).then_some(edges_file), nodes, arguments.force)?;
    let nodes = nodes.map(|file| format_of(file).map(|format| (file, format)));
    let nodes = nodes.transpose()?;
    interrupt::watch();
    let database = open_to_read(&arguments.db)?;
    let graph = database.require_graph(&arguments.graph)?;
    let relations = database.graph_relations(&arguments.graph)?;
    if let Some((file, format)) = nodes {
        let rows = relations.nodes()?;
        let go_on = |_| interrupt::go_on();
        let count = quipu::export_relation(&database, &rows, file, format, &go_on)?;
        note(&format!("{} to {}", plural(count, "vertex", "vertices"), file.display()));
    }
    let has_properties = graph.def().has_edge_rows();
    if to_stdout {
        // Edges are written in large pieces, which a buffer of standard output would only copy.
        let mut out = io::stdout().lock();
        let go_on = |_| interrupt::go_on();
        let exported = match has_properties {
            true => quipu::export_relation_text(&relations.edges()?, &mut out, b',', &go_on),
            false => graph.export_csv(&mut out, b',', &go_on),
        };
        return exported.map(drop).map_err(|error| match error.cause::<io::Error>() {
            Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => error.into(),
        });
    }
    let bar = bar(graph.number_of_edges()?, TEMPLATE);
    let tell = |edges| {
        bar.set_position(edges);
        interrupt::go_on()
    };
    let exported = match has_properties {
        true => {
            let rows = relations.edges()?;
            quipu::export_relation(&database, &rows, edges_file, format, &tell)
        }
        false => quipu::export_file(&graph, edges_file, format, &tell),
    };
    bar.finish_and_clear();
    let edges = exported?;
    note(&format!("{} to {}", plural(edges, "edge", "edges"), edges_file.display()));
    Ok(())
}

fn format_of(file: &Path) -> Result<ExportFormat, Failure> {
    ExportFormat::of(file).ok_or_else(|| {
        Failure::Request(format!(
            "the ending of {} says no format\nhint: .csv, .tsv and .txt (also with .gz or .zst), \
             .parquet and .arrow are known",
            file.display()
        ))
    })
}
