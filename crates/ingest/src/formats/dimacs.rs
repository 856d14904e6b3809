//! DIMACS: `c` comments, `p KIND VERTICES EDGES`, then `a` arcs or `e` edges.

use std::io::BufRead;

use super::{
    lines::Lines,
    pass::{Pass, UNDIRECTED},
    sink::Sink,
};
use crate::error::Error;

pub(super) struct Dimacs {
    lines: Lines,
    promised: Option<u64>,
    edges: u64,
}

impl Dimacs {
    pub(super) fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { lines: Lines::new(reader), promised: None, edges: 0 }
    }
}

impl Pass for Dimacs {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, Error> {
        let number = self.lines.number + 1;
        let Some(line) = self.lines.next(sink)? else {
            return match self.promised {
                Some(edges) if edges == self.edges => Ok(false),
                Some(edges) => {
                    let expected = format!("{edges} edges, as the line \"p\" says");
                    Err(sink.error(0, &expected, &self.edges.to_string()))
                }
                None => Err(sink.error(0, "a line \"p\" with the number of edges", "none")),
            };
        };
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["p", .., edges] if self.promised.is_none() => match edges.parse() {
                Ok(edges) => self.promised = Some(edges),
                Err(_) => return Err(sink.error(number, "the number of edges", edges)),
            },
            ["a", source, target] => sink.edge(number, source, target, None)?,
            ["a", source, target, weight] => sink.edge(number, source, target, Some(weight))?,
            ["a", source, target, _, weight, ..] => {
                sink.note("arcs have a lower bound and a cost: the capacity is the weight");
                sink.edge(number, source, target, Some(weight))?;
            }
            ["e", source, target, ref weight @ ..] => {
                sink.note(UNDIRECTED);
                sink.edge(number, source, target, weight.first().copied())?;
            }
            ["n" | "v", ..] => sink.note("lines \"n\" of vertices are left out"),
            [] | ["c", ..] => return Ok(true),
            _ => return Err(sink.error(number, "a line \"a\" or \"e\"", line)),
        }
        if matches!(words[0], "a" | "e") {
            self.edges += 1;
        }
        Ok(true)
    }
}
