//! `quipu export`: writes the edges of a graph to a file or to standard output.

use crate::args::Export;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, note, open_to_read, plural};
use quipu::ExportFormat;
use std::io;
use std::path::Path;

const TEMPLATE: &str = "exporting {bar:30} {human_pos} of {human_len} edges, {eta} left";

pub(crate) fn run(arguments: &Export) -> Result<(), Failure> {
    let to_stdout = arguments.file.as_os_str() == "-";
    let format = if to_stdout { ExportFormat::Text(b',') } else { format_of(&arguments.file)? };
    if !to_stdout && !arguments.force && quipu::is_replaced(&arguments.file) {
        return Err(Failure::Request(format!(
            "{} already exists\nhint: --force replaces it",
            arguments.file.display()
        )));
    }
    interrupt::watch();
    let database = open_to_read(&arguments.db)?;
    let graph = database.require_graph(&arguments.graph)?;
    if to_stdout {
        // Edges are written in large pieces, which a buffer of standard output would only copy.
        let mut out = io::stdout().lock();
        let exported = graph.export_csv(&mut out, b',', &|_| interrupt::go_on());
        return exported.map(drop).map_err(|error| match error.cause::<io::Error>() {
            Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => error.into(),
        });
    }
    let bar = bar(graph.number_of_edges()?, TEMPLATE);
    let exported = quipu::export_file(&graph, &arguments.file, format, &|edges| {
        bar.set_position(edges);
        interrupt::go_on()
    });
    bar.finish_and_clear();
    let edges = exported?;
    note(&format!("{} to {}", plural(edges, "edge", "edges"), arguments.file.display()));
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
