//! `quipu import`: reads files of edges into a graph, with a progress bar and a report per file.

use crate::args::{Import, OnError};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, bytes, count, note, plural, print, print_json};
use indicatif::ProgressBar;
use quipu::ingest::TextOptions;
use quipu::{
    Database, Graph, GraphOptions, ImportOptions, ImportProgress, ImportReport, Options, Phase,
};
use serde_json::{Value, json};
use std::io;
use std::path::Path;

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
    let found = database.existing_graph(&arguments.graph)?;
    let there = found.as_ref().map(|graph| (graph.def().vertex, graph.def().weight));
    let options = GraphOptions {
        vertex: arguments.vertex.map(Into::into).or(there.map(|types| types.0)).unwrap_or_default(),
        weight: arguments.weight.map(Into::into).or(there.map(|types| types.1)).unwrap_or_default(),
    };
    let graph = database.graph(&arguments.graph, options)?;
    for file in &arguments.files {
        let name = file.display().to_string();
        let result = import_one(arguments, database, &graph, file);
        let report = match result {
            Ok(report) => report,
            Err(failure) => {
                if there.is_none() && *imported == 0 {
                    database.drop_graph(&arguments.graph)?;
                }
                return Err(failure);
            }
        };
        *imported += 1;
        for line in &report.skipped_lines {
            note(&format!("warning: skipped: {line}"));
        }
        if report.skipped > report.skipped_lines.len() as u64 {
            note(&format!("warning: {} lines were skipped in all", count(report.skipped)));
        }
        if arguments.json {
            print_json(&as_json(&name, &report))?;
        } else {
            print(&as_text(&name, &report))?;
        }
    }
    Ok(())
}

fn import_one(
    arguments: &Import,
    database: &Database,
    graph: &Graph,
    file: &Path,
) -> Result<ImportReport, Failure> {
    let options = ImportOptions { text: text_options(arguments), ..database.import_options() };
    let bar = bar(STEPS, TEMPLATE);
    let tell = |progress: &ImportProgress| {
        draw(&bar, progress);
        interrupt::go_on()
    };
    let env = database.env();
    let parquet = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
    let report = if file.as_os_str() == "-" {
        graph.import_reader(env, Box::new(io::stdin()), "standard input", &options, &tell)
    } else if parquet {
        graph.import_parquet(env, file, &options, &tell)
    } else {
        graph.import_csv(env, file, &options, &tell)
    };
    bar.finish_and_clear();
    Ok(report?)
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
        "rows": report.rows,
        "duplicates": report.duplicates,
        "skipped": report.skipped,
        "skipped_lines": report.skipped_lines.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seconds": report.seconds,
        "bytes_read": report.bytes_read,
        "bytes_written": report.bytes_written,
    })
}

fn as_text(file: &str, report: &ImportReport) -> String {
    let mut text = format!("{file}: {}", plural(report.edges, "edge", "edges"));
    if report.duplicates > 0 {
        text.push_str(&format!(", {}", plural(report.duplicates, "duplicate", "duplicates")));
    }
    if report.skipped > 0 {
        text.push_str(&format!(", {} skipped", count(report.skipped)));
    }
    text.push_str(&format!(
        " in {:.2} s ({:.1} M/s); {} read, {} written\n",
        report.seconds,
        report.rows as f64 / report.seconds.max(1e-3) / 1e6,
        bytes(report.bytes_read),
        bytes(report.bytes_written),
    ));
    text
}
