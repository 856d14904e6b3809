//! `quipu export`.

use crate::args::Export;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, note, open_to_read, plural};
use quipu::ingest::{self, EdgeChunk, StrColumn, TextEdgeWriter};
use quipu::{Edges, Error, ErrorKind, Graph, VertexColumn, VertexType, WeightType, Weights};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Edges asked of a scan at once.
const EDGES_A_BATCH: usize = 1 << 16;

const TEMPLATE: &str = "exporting {bar:30} {human_pos} of {human_len} edges, {eta} left";

enum Format {
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
        // A scan's batches are large: another buffer between would only copy them.
        return text(&graph, b',', &mut io::stdout().lock(), &Failure::output).map(drop);
    }
    let edges = match format {
        Format::Parquet => graph.export_parquet(database.env(), &arguments.file)?,
        Format::Text(delimiter) => to_file(&graph, delimiter, &arguments.file)?,
    };
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

/// Writes a text file; one that cannot be finished is removed.
fn to_file(graph: &Graph, delimiter: u8, path: &Path) -> Result<u64, Failure> {
    let failed = |error| Failure::File(path.display().to_string(), error);
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).open(path).map_err(failed)?;
    let written = text(graph, delimiter, &mut file, &failed)
        .and_then(|edges| file.sync_all().map(|()| edges).map_err(failed));
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

fn text(
    graph: &Graph,
    delimiter: u8,
    out: &mut dyn Write,
    failed: &dyn Fn(io::Error) -> Failure,
) -> Result<u64, Failure> {
    let (vertex, weight) = (graph.def().vertex, graph.def().weight);
    let writer = TextEdgeWriter::new(delimiter, text_vertex(vertex), text_weight(weight));
    let bar = bar(graph.number_of_edges()?, TEMPLATE);
    let mut scan = graph.scan_edges()?;
    let mut edges = Edges::default();
    let mut chunk = EdgeChunk::default();
    let mut bytes = Vec::new();
    let mut count = 0;
    writer.header(&mut bytes);
    while scan.next_edges(EDGES_A_BATCH, &mut edges)? {
        count += edges.len() as u64;
        bar.set_position(count);
        fill(graph, &mut edges, &mut chunk)?;
        writer.edges(&chunk, &mut bytes);
        out.write_all(&bytes).map_err(failed)?;
        bytes.clear();
        if !interrupt::go_on() {
            return Err(Error::new(ErrorKind::Cancelled, "the export was cancelled").into());
        }
    }
    // The header, where there was no edge.
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(failed)?;
    bar.finish_and_clear();
    Ok(count)
}

/// Moves edges into the form that the text writer takes.
fn fill(graph: &Graph, edges: &mut Edges, chunk: &mut EdgeChunk) -> Result<(), Failure> {
    chunk.reset(text_weight(graph.def().weight));
    if graph.def().vertex == VertexType::Str {
        names(&graph.to_vertices(&edges.src)?, &mut chunk.src_str);
        names(&graph.to_vertices(&edges.dst)?, &mut chunk.dst_str);
    } else {
        std::mem::swap(&mut chunk.src, &mut edges.src);
        std::mem::swap(&mut chunk.dst, &mut edges.dst);
    }
    chunk.weights = match std::mem::take(&mut edges.weight) {
        Weights::None => ingest::Weights::None,
        Weights::Float(weights) => ingest::Weights::Float(weights),
        Weights::Int(weights) => ingest::Weights::Int(weights),
    };
    Ok(())
}

fn names(vertices: &VertexColumn, out: &mut StrColumn) {
    if let VertexColumn::Str(names) = vertices {
        (0..names.len()).for_each(|i| out.push(&String::from_utf8_lossy(names.get(i))));
    }
}

fn text_vertex(vertex: VertexType) -> ingest::VertexType {
    match vertex {
        VertexType::U64 => ingest::VertexType::U64,
        VertexType::I64 => ingest::VertexType::I64,
        VertexType::Str => ingest::VertexType::Str,
    }
}

fn text_weight(weight: WeightType) -> ingest::WeightType {
    match weight {
        WeightType::None => ingest::WeightType::None,
        WeightType::Float => ingest::WeightType::Float,
        WeightType::Int => ingest::WeightType::Int,
    }
}
