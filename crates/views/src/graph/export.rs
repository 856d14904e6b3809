//! Exports a graph as delimited text, Parquet or Arrow, in memory that does not grow with the
//! graph. An exported file imports as the same graph.

use super::{Edges, Graph, VertexColumn, VertexType, WeightType, Weights, damaged};
use ingest::EdgeChunk;
#[cfg(feature = "columnar")]
use ingest::parquet_edges::ParquetEdgeWriter;
use std::io::Write;
use store::{Error, ErrorKind, Result};

/// Edges read, converted and written in one step.
const EDGES: usize = 1 << 16;

impl Graph {
    /// Writes all edges, by source and then target, as delimited text with a header line. Returns
    /// their number. `progress` gets the number of edges written and returns false to stop.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if `out` fails, [`ErrorKind::Cancelled`] if `progress` returns false.
    pub fn export_csv(
        &self,
        out: &mut dyn Write,
        delimiter: u8,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<u64> {
        let (vertex, weight) = self.ingest_types();
        let writer = ingest::TextEdgeWriter::new(delimiter, vertex, weight);
        let mut text = Vec::new();
        writer.header(&mut text);
        let edges = self.export(progress, |chunk| {
            writer.edges(chunk, &mut text);
            out.write_all(&text).map_err(io_error)?;
            text.clear();
            Ok(())
        })?;
        // For an empty graph the header is still in the buffer.
        out.write_all(&text).and_then(|()| out.flush()).map_err(io_error)?;
        Ok(edges)
    }

    /// Writes all edges, by source and then target, as Parquet with the columns `source`, `target`
    /// and, if the graph has weights, `weight`. Returns their number.
    ///
    /// # Errors
    /// As [`Graph::export_csv`].
    #[cfg(feature = "columnar")]
    pub fn export_parquet(
        &self,
        out: impl Write + Send,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<u64> {
        let (vertex, weight) = self.ingest_types();
        let mut writer = ParquetEdgeWriter::new(out, vertex, weight).map_err(export_error)?;
        let edges = self.export(progress, |chunk| writer.write(chunk).map_err(export_error))?;
        writer.finish().map_err(export_error)?.flush().map_err(io_error)?;
        Ok(edges)
    }

    /// Passes all edges, by source and then target, to `write` in chunks. Returns their number.
    /// `progress` gets the number of edges passed and returns false to stop.
    ///
    /// # Errors
    /// Those of `write`, [`ErrorKind::Cancelled`] if `progress` returns false.
    pub fn export_chunks(
        &self,
        progress: &dyn Fn(u64) -> bool,
        write: impl FnMut(&EdgeChunk) -> Result<()>,
    ) -> Result<u64> {
        self.export(progress, write)
    }

    fn export(
        &self,
        progress: &dyn Fn(u64) -> bool,
        mut write: impl FnMut(&EdgeChunk) -> Result<()>,
    ) -> Result<u64> {
        self.refuse_keyed("export its relation of edges")?;
        let mut scan = self.scan_edges()?;
        let mut edges = Edges::default();
        let mut chunk = EdgeChunk::default();
        let mut exported = 0;
        while scan.next_edges(EDGES, &mut edges)? {
            self.fill(&mut edges, &mut chunk)?;
            write(&chunk)?;
            exported += chunk.len() as u64;
            if !progress(exported) {
                return Err(Error::new(ErrorKind::Cancelled, "the export was stopped"));
            }
        }
        Ok(exported)
    }

    /// Converts edges to a chunk for the writers. Leaves `edges` empty.
    fn fill(&self, edges: &mut Edges, chunk: &mut EdgeChunk) -> Result<()> {
        chunk.reset(self.ingest_types().1);
        if self.def().vertex == VertexType::Str {
            for (words, texts) in
                [(&edges.src, &mut chunk.src_str), (&edges.dst, &mut chunk.dst_str)]
            {
                let VertexColumn::Str(names) = self.to_vertices(words)? else {
                    return Err(damaged("the graph has no dictionary"));
                };
                for i in 0..names.len() {
                    let name = std::str::from_utf8(names.get(i));
                    texts.push(name.map_err(|_| damaged("a vertex's name is not UTF-8"))?);
                }
            }
        } else {
            std::mem::swap(&mut edges.src, &mut chunk.src);
            std::mem::swap(&mut edges.dst, &mut chunk.dst);
        }
        chunk.weights = match std::mem::take(&mut edges.weight) {
            Weights::None => ingest::Weights::None,
            Weights::Float(weights) => ingest::Weights::Float(weights),
            Weights::Int(weights) => ingest::Weights::Int(weights),
        };
        Ok(())
    }

    /// The graph's types as types of `ingest`.
    #[must_use]
    pub fn ingest_types(&self) -> (ingest::VertexType, ingest::WeightType) {
        let vertex = match self.def().vertex {
            VertexType::U64 => ingest::VertexType::U64,
            VertexType::I64 => ingest::VertexType::I64,
            VertexType::Str => ingest::VertexType::Str,
        };
        let weight = match self.def().weight {
            WeightType::None => ingest::WeightType::None,
            WeightType::Float => ingest::WeightType::Float,
            WeightType::Int => ingest::WeightType::Int,
        };
        (vertex, weight)
    }
}

fn io_error(error: std::io::Error) -> Error {
    Error::caused(ErrorKind::Io, error)
}

#[cfg(feature = "columnar")]
fn export_error(error: ingest::Error) -> Error {
    let kind = match error {
        ingest::Error::Io { .. } => ErrorKind::Io,
        ingest::Error::Input(_) => ErrorKind::InvalidInput,
    };
    Error::caused(kind, error)
}
