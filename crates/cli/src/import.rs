//! `quipu import`: reads files of edges into a graph, with a progress bar and a report per file.

use crate::args::{Import, OnError};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, bytes, count, note, plural, print, print_json};
use indicatif::ProgressBar;
use quipu::ingest::TextOptions;
use quipu::{
    Database, Graph, GraphOptions, ImportFile, ImportOptions, ImportProgress, ImportReport,
    OnlyVertices, Options, Phase, PropertyImport, PropertySource, PropertyTypes,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Steps of the progress bar: thousandths of the work.
const STEPS: u64 = 1000;

const TEMPLATE: &str = "{msg} {bar:30} {percent} %, {eta} left";

pub(crate) fn run(arguments: &Import) -> Result<(), Failure> {
    interrupt::watch();
    let new_folder = !arguments.db.exists();
    let options = Options {
        durability: arguments.durability.into(),
        cache_bytes: arguments.cache,
        memory_limit_bytes: arguments.memory_limit,
        ..Options::default()
    };
    let database = Database::open(&arguments.db, options)?;
    let mut imported = 0;
    let result = import_all(arguments, &database, &mut imported);
    let closed = database.close();
    if result.is_err() && imported == 0 && new_folder {
        // The folder did not exist before this command: remove it again.
        let _ = quipu::remove_database(&arguments.db);
    }
    result?;
    Ok(closed?)
}

/// Imports one file after the other; `imported` counts the files that are committed.
fn import_all(
    arguments: &Import,
    database: &Database,
    imported: &mut usize,
) -> Result<(), Failure> {
    let mut files = files(&arguments.files)?;
    let found = database.existing_graph(&arguments.graph)?;
    let has_properties = found.as_ref().is_some_and(|graph| graph.def().has_edge_rows());
    if arguments.properties || arguments.keyed || !arguments.nodes.is_empty() || has_properties {
        let names: Vec<String> = files.iter().map(|file| file.name().to_owned()).collect();
        let report = import_properties(arguments, database, files)?;
        *imported += 1;
        return told(arguments, &names.join(", "), &report);
    }
    let given = (arguments.vertex.map(Into::into), arguments.weight.map(Into::into));
    let wanted = match (&found, given) {
        (Some(graph), _) => GraphOptions::of(graph.def()),
        (None, (Some(vertex), Some(weight))) => {
            GraphOptions { vertex, weight, ..GraphOptions::default() }
        }
        (None, _) => {
            let text = text_options(arguments);
            quipu::types_of_files(&mut files, &ImportOptions { text, ..ImportOptions::default() })?
        }
    };
    let options = GraphOptions {
        vertex: given.0.unwrap_or(wanted.vertex),
        weight: given.1.unwrap_or(wanted.weight),
        is_undirected: arguments.undirected || wanted.is_undirected,
        ..wanted
    };
    let (graph, is_new) = database.open_or_create_graph(&arguments.graph, options)?;
    let is_only = files.len() == 1;
    for file in files {
        let name = file.name().to_owned();
        let report = match import_one(arguments, database, &graph, file) {
            Ok(report) => report,
            // The table of vertices beside a table of edges.
            Err(error) if !is_only && error.cause::<OnlyVertices>().is_some() => {
                note(&format!("warning: {name} is a table of vertices, which has no edges"));
                continue;
            }
            Err(error) => {
                if is_new && *imported == 0 {
                    database.drop_graph(&arguments.graph)?;
                }
                return Err(error.into());
            }
        };
        *imported += 1;
        told(arguments, &name, &report)?;
    }
    Ok(())
}

/// Prints the report of an import.
fn told(arguments: &Import, name: &str, report: &ImportReport) -> Result<(), Failure> {
    for line in &report.skipped_lines {
        note(&format!("warning: skipped: {line}"));
    }
    if report.skipped > report.skipped_lines.len() as u64 {
        note(&format!("warning: {} lines were skipped in all", count(report.skipped)));
    }
    for line in &report.notes {
        note(&format!("note: {line}"));
    }
    if arguments.json { print_json(&as_json(name, report)) } else { print(&as_text(name, report)) }
}

/// Imports all files, with the properties of edges and vertices, as one.
fn import_properties(
    arguments: &Import,
    database: &Database,
    edges: Vec<ImportFile>,
) -> Result<ImportReport, Failure> {
    let nodes = files(&arguments.nodes)?;
    let text = text_options(arguments);
    let import = PropertyImport {
        edges: Some(PropertySource::Files(edges)),
        nodes: (!nodes.is_empty()).then_some(PropertySource::Files(nodes)),
        vertex: arguments.vertex.map(Into::into),
        weight: arguments.weight.map(Into::into),
        is_undirected: arguments.undirected.then_some(true),
        is_keyed: arguments.keyed.then_some(true),
        edge_properties: arguments.properties.then_some(PropertyTypes::Found),
        options: ImportOptions { text, ..database.import_options() },
        ..PropertyImport::default()
    };
    let bar = bar(STEPS, TEMPLATE);
    let tell = |progress: &ImportProgress| {
        draw(&bar, progress);
        interrupt::go_on()
    };
    let report = database.import_properties(&arguments.graph, import, &tell);
    bar.finish_and_clear();
    Ok(report?)
}

fn files(paths: &[PathBuf]) -> Result<Vec<ImportFile>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            files.push(ImportFile::stream(Box::new(io::stdin()), "standard input"));
        } else {
            files.extend(ImportFile::all_at(path)?);
        }
    }
    Ok(files)
}

fn import_one(
    arguments: &Import,
    database: &Database,
    graph: &Graph,
    file: ImportFile,
) -> quipu::Result<ImportReport> {
    let options = ImportOptions { text: text_options(arguments), ..database.import_options() };
    let bar = bar(STEPS, TEMPLATE);
    let tell = |progress: &ImportProgress| {
        draw(&bar, progress);
        interrupt::go_on()
    };
    let report = quipu::import_files(graph, database.env(), vec![file], &options, &tell);
    bar.finish_and_clear();
    report
}

fn text_options(arguments: &Import) -> TextOptions {
    let mut options = TextOptions {
        delimiter: arguments.delimiter,
        header: match (arguments.header, arguments.no_header) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
        on_error: match arguments.on_error {
            OnError::Fail => quipu::ingest::OnError::Fail,
            OnError::Skip => quipu::ingest::OnError::Skip,
        },
        ..TextOptions::default()
    };
    options.edges.columns.clone_from(&arguments.columns);
    options.edges.missing = arguments.missing.unwrap_or_default();
    options.quotes = !arguments.no_quotes;
    options.skip_rows = arguments.skip_rows;
    options.comment = arguments.comment;
    options.decimal = arguments.decimal.bytes().next().unwrap_or(b'.');
    options.null_values.clone_from(&arguments.null_value);
    options
}

fn draw(bar: &ProgressBar, progress: &ImportProgress) {
    let rate = progress.rows as f64 / progress.seconds.max(1e-3) / 1e6;
    let what = match progress.phase {
        Phase::Read => "reading",
        Phase::Forward => "writing by source",
        Phase::Reverse => "writing by target",
        Phase::Commit => "committing",
    };
    let rows = progress.rows as f64 / 1e6;
    bar.set_message(format!("{what}, {rows:.1} M edges, {rate:.1} M/s"));
    bar.set_position((progress.fraction * STEPS as f64) as u64);
}

fn as_json(file: &str, report: &ImportReport) -> Value {
    json!({
        "file": file,
        "edges": report.edges,
        "nodes": report.nodes,
        "rows": report.rows,
        "duplicates": report.duplicates,
        "skipped": report.skipped,
        "skipped_lines": report.skipped_lines.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "missing": report.missing,
        "detected": report.detected.iter().cloned().collect::<BTreeMap<_, _>>(),
        "notes": report.notes,
        "seconds": report.seconds,
        "bytes_read": report.bytes_read,
        "bytes_written": report.bytes_written,
    })
}

fn as_text(file: &str, report: &ImportReport) -> String {
    let mut text = format!("{file}: {}", plural(report.edges, "edge", "edges"));
    if report.nodes > 0 {
        text.push_str(&format!(", {}", plural(report.nodes, "vertex", "vertices")));
    }
    if report.duplicates > 0 {
        text.push_str(&format!(", {}", plural(report.duplicates, "duplicate", "duplicates")));
    }
    if report.skipped > 0 {
        text.push_str(&format!(", {} skipped", count(report.skipped)));
    }
    if report.missing > 0 {
        let weights = plural(report.missing, "missing weight", "missing weights");
        text.push_str(&format!(", {weights}"));
    }
    text.push_str(&format!(
        " in {:.2} s ({:.1} M/s); {} read, {} written\n",
        report.seconds,
        report.rows as f64 / report.seconds.max(1e-3) / 1e6,
        bytes(report.bytes_read),
        bytes(report.bytes_written),
    ));
    let said = report.detected.iter().map(|(key, value)| format!("{key}: {value}"));
    let said: Vec<_> = said.collect();
    if !said.is_empty() {
        text.push_str(&format!("  {}\n", said.join("; ")));
    }
    text
}
