//! NetworkX's edge list: source, target, and a Python dictionary of attributes.

use std::io::BufRead;

use super::{lines::Lines, pass::Pass, sink::Sink};
use crate::error::Error;

pub(super) struct NetworkX {
    lines: Lines,
}

impl NetworkX {
    pub(super) fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { lines: Lines::new(reader) }
    }
}

/// The value of the key `weight` as text, and whether there are other keys.
fn weight_of(dict: &str) -> (Option<&str>, bool) {
    let found = ["'weight':", "\"weight\":"].iter().find_map(|key| dict.split_once(key));
    let value = found.map(|(_, rest)| rest.split([',', '}']).next().unwrap_or_default().trim());
    let keys = dict.matches("':").count() + dict.matches("\":").count();
    (value, keys > usize::from(value.is_some()))
}

impl Pass for NetworkX {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, Error> {
        let number = self.lines.number + 1;
        let Some(line) = self.lines.next(sink)? else { return Ok(false) };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(true);
        }
        let split = line.find('{').map(|at| line.split_at(at));
        let Some((ends, dict)) = split.filter(|(_, dict)| dict.ends_with('}')) else {
            return Err(sink.error(number, "source, target and attributes in {}", line));
        };
        let is_blank = |c: char| c.is_whitespace() || c == ',' || c == ';';
        let ends: Vec<_> = ends.split(is_blank).filter(|word| !word.is_empty()).collect();
        let [source, target] = ends[..] else {
            return Err(sink.error(number, "a source and a target", line));
        };
        let (weight, more) = weight_of(dict);
        if more {
            sink.note("attributes of edges other than the weight are left out");
        }
        sink.edge(number, source, target, weight)?;
        Ok(true)
    }
}
