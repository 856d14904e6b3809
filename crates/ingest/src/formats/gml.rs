//! GML: keys and values, where a value may be a list of keys and values in brackets.

use std::io::BufRead;

use super::{
    lines::Lines,
    pass::{Pass, UNDIRECTED},
    sink::Sink,
};
use crate::error::Error;

pub(super) struct Gml {
    lines: Lines,
    /// Words of the last line that were not read yet, last first.
    words: Vec<Word>,
    /// The keys of the lists that are open.
    path: Vec<String>,
    /// The attributes so far of the node or edge that is being read, and its line.
    id: Option<String>,
    label: Option<String>,
    source: Option<String>,
    target: Option<String>,
    weight: Option<String>,
    line: u64,
    seen_graph: bool,
    is_directed: bool,
}

#[derive(Debug)]
enum Word {
    Open,
    Close,
    Plain(String),
}

impl Gml {
    pub(super) fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self {
            lines: Lines::new(reader),
            words: Vec::new(),
            path: Vec::new(),
            id: None,
            label: None,
            source: None,
            target: None,
            weight: None,
            line: 0,
            seen_graph: false,
            is_directed: false,
        }
    }

    fn word(&mut self, sink: &Sink) -> Result<Option<Word>, Error> {
        while self.words.is_empty() {
            let Some(line) = self.lines.next(sink)? else { return Ok(None) };
            let mut text = line.to_owned();
            if text.trim_start().starts_with('#') {
                continue;
            }
            // A string may hold line ends.
            while text.matches('"').count() % 2 == 1 {
                let Some(more) = self.lines.next(sink)? else {
                    return Err(sink.error(self.lines.number, "a closing quote", "the end"));
                };
                text.push('\n');
                text.push_str(more);
            }
            self.words = split(&text);
            self.words.reverse();
        }
        Ok(self.words.pop())
    }

    fn close(&mut self, sink: &mut Sink) -> Result<(), Error> {
        let key = self.path.pop();
        match (key.as_deref(), self.path.len()) {
            (Some("node"), 1) => {
                if let (Some(id), Some(label)) = (&self.id, &self.label) {
                    sink.label(id, label);
                }
            }
            (Some("edge"), 1) => {
                let (Some(source), Some(target)) = (&self.source, &self.target) else {
                    return Err(sink.error(self.line, "an edge with source and target", "none"));
                };
                sink.edge(self.line, source, target, self.weight.as_deref())?;
            }
            // A graph is undirected unless it says otherwise.
            (Some("graph"), 0) if !self.is_directed => sink.note(UNDIRECTED),
            (None, _) => return Err(sink.error(self.lines.number, "a key", "]")),
            _ => {}
        }
        Ok(())
    }

    fn value(&mut self, sink: &mut Sink, key: &str, value: String) {
        let inside: Vec<_> = self.path.iter().map(String::as_str).collect();
        match (&inside[..], key) {
            (["graph"], "directed") => self.is_directed = value == "1",
            (["graph", "node"], "id") => self.id = Some(value),
            (["graph", "node"], "label") => self.label = Some(value),
            (["graph", "edge"], "source") => self.source = Some(value),
            (["graph", "edge"], "target") => self.target = Some(value),
            (["graph", "edge"], "weight") => self.weight = Some(value),
            (["graph", "edge"], "value") if self.weight.is_none() => self.weight = Some(value),
            (["graph", "node", ..], _) => sink.note("attributes of vertices are left out"),
            (["graph", "edge", ..], "id" | "key") => {}
            (["graph", "edge", ..], _) => {
                sink.note("attributes of edges other than the weight are left out");
            }
            _ => {}
        }
    }
}

fn split(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '[' => (Word::Open, &rest[1..]),
            ']' => (Word::Close, &rest[1..]),
            '"' => {
                let (text, after) = rest[1..].split_once('"').unwrap_or((&rest[1..], ""));
                (Word::Plain(unescaped(text)), after)
            }
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || c == '[' || c == ']');
                let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
                (Word::Plain(text.to_owned()), after)
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn unescaped(text: &str) -> String {
    match quick_xml::escape::unescape(text) {
        Ok(text) => text.into_owned(),
        Err(_) => text.to_owned(),
    }
}

impl Pass for Gml {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, Error> {
        let Some(word) = self.word(sink)? else {
            return match (self.path.is_empty(), self.seen_graph) {
                (true, true) => Ok(false),
                (true, false) => Err(sink.error(0, "a graph", "none")),
                (false, _) => Err(sink.error(self.lines.number, "a closing bracket", "the end")),
            };
        };
        match word {
            Word::Close => self.close(sink)?,
            Word::Open => return Err(sink.error(self.lines.number, "a key", "[")),
            Word::Plain(key) => match self.word(sink)? {
                Some(Word::Open) => {
                    if self.path.len() == 1 && (key == "node" || key == "edge") {
                        (self.id, self.label, self.source) = (None, None, None);
                        (self.target, self.weight) = (None, None);
                        self.line = self.lines.number;
                    }
                    self.seen_graph |= self.path.is_empty() && key == "graph";
                    self.path.push(key);
                }
                Some(Word::Plain(value)) => self.value(sink, &key, value),
                Some(Word::Close) | None => {
                    return Err(sink.error(self.lines.number, "a value", "none"));
                }
            },
        }
        Ok(true)
    }
}
