//! METIS: a head `VERTICES EDGES [FORMAT [WEIGHTS]]`, then a line for each vertex with its
//! neighbours. Each undirected edge is on two lines, so both directions are edges.

use std::io::BufRead;

use super::{lines::Lines, pass::Pass, sink::Sink};
use crate::error::Error;

pub(super) struct Metis {
    lines: Lines,
    head: Option<Head>,
    vertex: u64,
    entries: u64,
}

#[derive(Clone, Copy)]
struct Head {
    vertices: u64,
    edges: u64,
    /// Words before the neighbours: size and weights of the vertex.
    skipped: usize,
    weighted: bool,
}

impl Metis {
    pub(super) fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { lines: Lines::new(reader), head: None, vertex: 0, entries: 0 }
    }
}

fn head(line: &str) -> Option<Head> {
    let words: Vec<_> = line.split_whitespace().collect();
    let format = words.get(2).map_or("0", |word| word);
    let digit = |place: usize| format.bytes().rev().nth(place) == Some(b'1');
    let weights = words.get(3).map_or(Some(1), |word| word.parse::<usize>().ok())?;
    Some(Head {
        vertices: words.first()?.parse().ok()?,
        edges: words.get(1)?.parse().ok()?,
        skipped: usize::from(digit(2)) + if digit(1) { weights } else { 0 },
        weighted: digit(0),
    })
}

impl Pass for Metis {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, Error> {
        let number = self.lines.number + 1;
        let Some(line) = self.lines.next(sink)? else {
            let Some(head) = self.head else {
                return Err(sink.error(0, "the numbers of vertices and edges", "nothing"));
            };
            if self.vertex != head.vertices || self.entries != 2 * head.edges {
                let expected =
                    format!("{} vertices and {} edges, twice each", head.vertices, head.edges);
                let found = format!("{} lines and {} neighbours", self.vertex, self.entries);
                return Err(sink.error(0, &expected, &found));
            }
            return Ok(false);
        };
        if line.trim_start().starts_with('%') {
            return Ok(true);
        }
        let Some(of) = self.head else {
            self.head = head(line);
            return match self.head {
                Some(_) => Ok(true),
                None => Err(sink.error(number, "the numbers of vertices and edges", line)),
            };
        };
        if self.vertex == of.vertices {
            return match line.trim() {
                "" => Ok(true),
                _ => Err(sink.error(number, &format!("{} lines of vertices", of.vertices), line)),
            };
        }
        self.vertex += 1;
        if of.skipped > 0 {
            sink.note("weights and sizes of vertices are left out");
        }
        let source = self.vertex.to_string();
        let mut words = line.split_whitespace().skip(of.skipped);
        while let Some(target) = words.next() {
            let weight = if of.weighted { words.next() } else { None };
            if of.weighted && weight.is_none() {
                return Err(sink.error(number, "a weight after each neighbour", line));
            }
            sink.edge(number, &source, target, weight)?;
            self.entries += 1;
        }
        Ok(true)
    }
}
