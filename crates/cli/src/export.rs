//! `quipu export`.

use crate::args::Export;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, note, open_to_read, plural};
use quipu::Graph;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = "exporting {bar:30} {human_pos} of {human_len} edges, {eta} left";

#[derive(Clone, Copy)]
enum Format {
    /// Delimited by this byte.
    Text(u8),
    Parquet,
}

pub(crate) fn run(arguments: &Export) -> Result<(), Failure> {
    let to_stdout = arguments.file.as_os_str() == "-";
    let format = if to_stdout { Format::Text(b',') } else { format_of(&arguments.file)? };
    if !to_stdout && !arguments.force && arguments.file.exists() {
        return Err(Failure::Request(format!(
            "{} is there already\nhint: --force replaces it",
            arguments.file.display()
        )));
    }
    interrupt::watch();
    let database = open_to_read(&arguments.db)?;
    let graph = database.require_graph(&arguments.graph)?;
    if to_stdout {
        // Edges come in large pieces: the buffer of standard output would only copy them.
        let mut out = io::stdout().lock();
        let exported = graph.export_csv(&mut out, b',', &|_| interrupt::go_on());
        return exported.map(drop).map_err(|error| match error.cause::<io::Error>() {
            Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => error.into(),
        });
    }
    let edges = to_file(&graph, format, &arguments.file)?;
    note(&format!("{} to {}", plural(edges, "edge", "edges"), arguments.file.display()));
    Ok(())
}

fn format_of(file: &Path) -> Result<Format, Failure> {
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("csv") => Ok(Format::Text(b',')),
        Some("tsv") => Ok(Format::Text(b'\t')),
        Some("parquet") => Ok(Format::Parquet),
        _ => Err(Failure::Request(format!(
            "the ending of {} says no format\nhint: .csv, .tsv and .parquet are known",
            file.display()
        ))),
    }
}

/// Writes beside the file and renames at the end, so that a file of this name is always whole.
fn to_file(graph: &Graph, format: Format, path: &Path) -> Result<u64, Failure> {
    let mut name = OsString::from(path.as_os_str());
    name.push(".partial");
    let partial = PathBuf::from(name);
    let written = write(graph, format, &partial).and_then(|edges| {
        fs::rename(&partial, path).map_err(|e| Failure::File(path.display().to_string(), e))?;
        Ok(edges)
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

fn write(graph: &Graph, format: Format, path: &Path) -> Result<u64, Failure> {
    let failed = |error| Failure::File(path.display().to_string(), error);
    let mut file = File::create(path).map_err(failed)?;
    let bar = bar(graph.number_of_edges()?, TEMPLATE);
    let progress = |edges| {
        bar.set_position(edges);
        interrupt::go_on()
    };
    let edges = match format {
        Format::Text(delimiter) => graph.export_csv(&mut file, delimiter, &progress)?,
        Format::Parquet => graph.export_parquet(&file, &progress)?,
    };
    bar.finish_and_clear();
    file.sync_all().map_err(failed)?;
    Ok(edges)
}
