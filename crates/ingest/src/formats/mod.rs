//! Formats of graphs that are not tables: each is read in one pass, edge by edge.
//!
//! # Why apart from text of columns
//! Their records depend on what came before (a section, an element, the line's number), so pieces
//! cannot be parsed on several workers. They are as fast as one thread is.
//!
//! # Invariants
//! 1. A file that ends in the middle is an error, as far as its format can tell.
//! 2. The notes list the data of a file that a graph cannot hold.

mod dimacs;
mod gml;
mod lines;
mod metis;
mod networkx;
mod pajek;
mod pass;
mod sink;
mod xml;

use std::io::{BufRead, BufReader, Read};

use crate::edges::EdgeChunk;
use crate::error::Error;
use crate::options::{TextOptions, VertexType, WeightType};
pub(crate) use pass::UNDIRECTED;

use pass::Pass;
use sink::Sink;

/// Edges of a chunk at most.
const CHUNK_EDGES: usize = 64 << 10;

/// A format that is read edge by edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// Shortest paths, maximum flow and colouring: `a 1 2 7`, `e 1 2`.
    Dimacs,
    /// A line for each vertex, with its neighbours.
    Metis,
    /// `graph [ node [ id 1 ] edge [ source 1 target 2 ] ]`.
    Gml,
    /// XML, as NetworkX, igraph and yEd write it.
    GraphMl,
    /// XML, as Gephi writes it.
    Gexf,
    /// `*Vertices`, `*Arcs` and `*Edges`.
    Pajek,
    /// Edges with a dictionary of attributes: `1 2 {'weight': 3}`.
    NetworkX,
}

impl GraphFormat {
    /// The format of a file that begins with `head`; `None` for a text of columns. `name` matters
    /// only for METIS, whose files look like a text of columns.
    pub fn detect(head: &[u8], name: &str) -> Option<Self> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let text = String::from_utf8_lossy(&head[..head.len().min(4 << 10)]);
        let start = text.trim_start();
        let has = |part: &str| start.contains(part);
        if start.starts_with('<') {
            return if has("<graphml") {
                Some(Self::GraphMl)
            } else if has("<gexf") {
                Some(Self::Gexf)
            } else {
                None
            };
        }
        let stem = ["", ".gz", ".zst", ".bz2", ".xz", ".lz4", ".zip"]
            .iter()
            .find_map(|end| name.strip_suffix(end).filter(|_| !end.is_empty()))
            .unwrap_or(name);
        if stem.ends_with(".metis") || stem.ends_with(".graph") {
            return Some(Self::Metis);
        }
        let mut lines = start.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next()?;
        let lower = first.to_ascii_lowercase();
        if lower.starts_with("*vertices") || lower.starts_with("*network") {
            return Some(Self::Pajek);
        }
        let words: Vec<_> = start
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .flat_map(str::split_whitespace)
            .take(60)
            .collect();
        let is_gml = |at: usize| words.get(at..at + 2) == Some(&["graph", "["]);
        if words.first() == Some(&"Creator") && (1..words.len()).any(is_gml) || is_gml(0) {
            return Some(Self::Gml);
        }
        let is_comment = |line: &&str| *line == "c" || line.starts_with("c ");
        let problem =
            start.lines().map(str::trim).find(|line| !is_comment(line) && !line.is_empty());
        if problem.is_some_and(|line| line.starts_with("p ")) {
            return Some(Self::Dimacs);
        }
        let edge = start.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let edge = edge.map(str::trim_end).unwrap_or_default();
        // A line that begins with a bracket is JSON, which is refused as such.
        let has_attributes = edge.ends_with('}') && edge.contains('{');
        (has_attributes && !edge.trim_start().starts_with(['{', '['])).then_some(Self::NetworkX)
    }

    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dimacs => "DIMACS",
            Self::Metis => "METIS",
            Self::Gml => "GML",
            Self::GraphMl => "GraphML",
            Self::Gexf => "GEXF",
            Self::Pajek => "Pajek",
            Self::NetworkX => "edge list of NetworkX",
        }
    }
}

/// A file of a [`GraphFormat`] that is being read.
pub struct GraphReader {
    format: GraphFormat,
    pass: Box<dyn Pass>,
    sink: Sink,
    ended: bool,
}

impl GraphReader {
    /// A reader of plain bytes. `file` is for messages.
    pub fn new(
        format: GraphFormat,
        reader: impl Read + Send + 'static,
        file: &str,
        options: &TextOptions,
    ) -> Self {
        let reader: Box<dyn BufRead + Send> = Box::new(BufReader::with_capacity(256 << 10, reader));
        let pass: Box<dyn Pass> = match format {
            GraphFormat::Dimacs => Box::new(dimacs::Dimacs::new(reader)),
            GraphFormat::Metis => Box::new(metis::Metis::new(reader)),
            GraphFormat::Gml => Box::new(gml::Gml::new(reader)),
            GraphFormat::GraphMl => Box::new(xml::Xml::new(reader, false)),
            GraphFormat::Gexf => Box::new(xml::Xml::new(reader, true)),
            GraphFormat::Pajek => Box::new(pajek::Pajek::new(reader)),
            GraphFormat::NetworkX => Box::new(networkx::NetworkX::new(reader)),
        };
        Self { format, pass, sink: Sink::new(file, options), ended: false }
    }

    /// Reads the next edges into `out`; false at the end.
    ///
    /// # Errors
    /// The bytes cannot be read, or are not of this format.
    pub fn next_chunk(&mut self, out: &mut EdgeChunk) -> Result<bool, Error> {
        self.sink.begin(std::mem::take(out));
        if self.ended {
            *out = self.sink.take();
            return Ok(false);
        }
        while !self.ended && self.sink.edges() < CHUNK_EDGES {
            self.ended = !self.pass.step(&mut self.sink)?;
        }
        if self.ended {
            self.sink.finish();
        }
        *out = self.sink.take();
        Ok(!self.ended || !out.is_empty() || out.skipped_count + out.missing_count > 0)
    }

    /// The properties detected so far; data that the graph cannot hold has the key `note`.
    #[must_use]
    pub fn detected(&self) -> Vec<(&'static str, String)> {
        let mut said = vec![("format", self.format.name().to_owned())];
        said.extend(self.sink.detected());
        said
    }

    /// The types that fit the records so far, for a graph that does not exist yet. The reader must
    /// have been made for string vertices and float weights.
    #[must_use]
    pub fn types(&self) -> (VertexType, WeightType) {
        self.sink.types()
    }
}

#[cfg(test)]
mod tests;
