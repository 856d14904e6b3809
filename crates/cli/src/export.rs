//! `quipu export`: writes the edges of a graph to a file or to standard output, and its vertices to
//! a file.

use crate::args::Export;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, note, open_to_read, plural};
use quipu::ExportFormat;
use std::io;
use std::path::{Path, PathBuf};

const TEMPLATE: &str = "exporting {bar:30} {human_pos} of {human_len} edges, {eta} left";

pub(crate) fn run(arguments: &Export) -> Result<(), Failure> {
    let to_stdout = arguments.file.as_os_str() == "-";
    let format = if to_stdout { ExportFormat::Text(b',') } else { format_of(&arguments.file)? };
    let mut files = (!to_stdout).then_some(&arguments.file).into_iter().chain(&arguments.nodes);
    if let Some(file) = files.find(|file| !arguments.force && quipu::is_replaced(file)) {
        return Err(Failure::Request(format!(
            "{} already exists\nhint: --force replaces it",
            file.display()
        )));
    }
    let is_same = |nodes: &PathBuf| quipu::is_same_output(nodes, &arguments.file);
    if !to_stdout && arguments.nodes.as_ref().is_some_and(is_same) {
        return Err(Failure::Request(format!(
            "{} is named for the edges and for the vertices\nhint: name two files",
            arguments.file.display()
        )));
    }
    let nodes = arguments.nodes.as_ref().map(|file| format_of(file).map(|format| (file, format)));
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
            quipu::export_relation(&database, &rows, &arguments.file, format, &tell)
        }
        false => quipu::export_file(&graph, &arguments.file, format, &tell),
    };
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
