//! Pajek: sections that begin with `*`: vertices with labels, arcs, edges, and lists of them.

use std::io::BufRead;

use super::{
    lines::Lines,
    pass::{Pass, UNDIRECTED},
    sink::Sink,
};
use crate::error::Error;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Other,
    Vertices,
    Pairs,
    Lists,
}

pub(super) struct Pajek {
    lines: Lines,
    section: Section,
}

impl Pajek {
    pub(super) fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { lines: Lines::new(reader), section: Section::Other }
    }
}

/// The words of a line; a word in quotes may hold spaces.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('"').and_then(|inner| inner.split_once('"'));
        let (word, after) =
            quoted.unwrap_or_else(|| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
        words.push(word);
        rest = after.trim_start();
    }
    words
}

impl Pass for Pajek {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, Error> {
        let number = self.lines.number + 1;
        let Some(line) = self.lines.next(sink)? else { return Ok(false) };
        if line.trim().is_empty() || line.starts_with('%') {
            return Ok(true);
        }
        if let Some(name) = line.strip_prefix('*') {
            let name = name.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            self.section = match name.as_str() {
                "vertices" => Section::Vertices,
                "arcs" => Section::Pairs,
                "edges" => {
                    sink.note(UNDIRECTED);
                    Section::Pairs
                }
                "arcslist" => Section::Lists,
                "edgeslist" => {
                    sink.note(UNDIRECTED);
                    Section::Lists
                }
                "network" => Section::Other,
                _ => {
                    let expected = "a section *Vertices, *Arcs, *Edges, *Arcslist or *Edgeslist";
                    return Err(sink.error(number, expected, line));
                }
            };
            return Ok(true);
        }
        let words = words(line);
        match (self.section, &words[..]) {
            (Section::Vertices, [id, label, more @ ..]) => {
                sink.label(id, label);
                if !more.is_empty() {
                    sink.note("positions and other attributes of vertices are left out");
                }
            }
            (Section::Vertices | Section::Other, _) => {}
            (Section::Pairs, [source, target, weight @ ..]) => {
                sink.edge(number, source, target, weight.first().copied())?;
            }
            (Section::Lists, [source, targets @ ..]) => {
                for target in targets {
                    sink.edge(number, source, target, None)?;
                }
            }
            (Section::Pairs, _) | (Section::Lists, []) => {
                return Err(sink.error(number, "a source and a target", line));
            }
        }
        Ok(true)
    }
}
