//! Takes the edges of a format, with vertices and weights as text, into columns.

use std::collections::{BTreeMap, BTreeSet};

use crate::edges::{EdgeChunk, SKIPPED_KEPT_MAX, Weights};
use crate::error::{Error, InputError, Place, show};
use crate::number::{self, NumberError, i64_to_word};
use crate::options::{Missing, OnError, TextOptions, VertexType, WeightType, describe_types};

/// The output of a format's parser: the edges of a chunk, and the properties of the file.
pub(super) struct Sink {
    pub(super) file: String,
    options: TextOptions,
    chunk: EdgeChunk,
    /// The names of vertices by id, where the file has both.
    labels: BTreeMap<String, String>,
    distinct: BTreeSet<String>,
    labels_repeat: bool,
    notes: BTreeSet<&'static str>,
    with_weight: u64,
    /// Edges without a weight, and the first of them.
    without_weight: u64,
    first_without: Vec<InputError>,
    is_u64: bool,
    is_i64: bool,
}

impl Sink {
    pub(super) fn new(file: &str, options: &TextOptions) -> Self {
        Self {
            file: file.to_owned(),
            options: options.clone(),
            chunk: EdgeChunk::default(),
            labels: BTreeMap::new(),
            distinct: BTreeSet::new(),
            labels_repeat: false,
            notes: BTreeSet::new(),
            with_weight: 0,
            without_weight: 0,
            first_without: Vec::new(),
            is_u64: true,
            is_i64: true,
        }
    }

    pub(super) fn begin(&mut self, mut chunk: EdgeChunk) {
        chunk.reset(self.options.edges.weight);
        self.chunk = chunk;
    }

    /// At the end of the file: if some edges have a weight, it is missing for the others.
    pub(super) fn finish(&mut self) {
        let is_fail = self.options.edges.missing == Missing::Fail;
        if is_fail && self.with_weight > 0 && self.options.edges.weight != WeightType::None {
            self.chunk.missing_count += std::mem::take(&mut self.without_weight);
            self.chunk.missing.append(&mut self.first_without);
        }
    }

    pub(super) fn take(&mut self) -> EdgeChunk {
        std::mem::take(&mut self.chunk)
    }

    pub(super) fn edges(&self) -> usize {
        self.chunk.len()
    }

    /// Something that the graph cannot hold.
    pub(super) fn note(&mut self, note: &'static str) {
        self.notes.insert(note);
    }

    pub(super) fn error(&self, line: u64, expected: &str, found: &str) -> Error {
        let place = if line == 0 { Place::Whole } else { Place::Line(line) };
        InputError::whole(&self.file, expected, show(found.as_bytes())).at(place, 0).into()
    }

    pub(super) fn io(&self, source: std::io::Error) -> Error {
        Error::Io { file: self.file.clone(), source }
    }

    /// The file calls the vertex `id` by a name. Graphs of string vertices hold the names.
    pub(super) fn label(&mut self, id: &str, label: &str) {
        if self.options.edges.vertex == VertexType::Str && id != label && !self.labels_repeat {
            self.labels_repeat = !self.distinct.insert(label.to_owned());
            self.labels.insert(id.to_owned(), label.to_owned());
        }
        const CALLED: &str = "vertices have labels: graphs of string vertices are called by them";
        if self.labels_repeat {
            self.notes.remove(CALLED);
            self.note("several vertices have one label, so vertices are called by their ids");
        } else {
            self.note(CALLED);
        }
    }

    pub(super) fn has_labels(&self) -> bool {
        !self.labels.is_empty() && !self.labels_repeat
    }

    /// Takes an edge. A bad one is an error, or is skipped.
    pub(super) fn edge(
        &mut self,
        line: u64,
        source: &str,
        target: &str,
        weight: Option<&str>,
    ) -> Result<(), Error> {
        match self.push(line, source, target, weight) {
            Ok(()) => Ok(()),
            Err(wrong) => {
                let place = if line == 0 { Place::Whole } else { Place::Line(line) };
                let (text, wrong) = wrong;
                let error = InputError::whole(&self.file, wrong.expected, show(text.as_bytes()));
                let error =
                    InputError { hint: wrong.hint.map(str::to_owned), ..error.at(place, 0) };
                if self.options.on_error == OnError::Fail {
                    return Err(error.into());
                }
                self.chunk.skipped_count += 1;
                if self.chunk.skipped.len() < SKIPPED_KEPT_MAX {
                    self.chunk.skipped.push(error);
                }
                Ok(())
            }
        }
    }

    fn push(
        &mut self,
        line: u64,
        source: &str,
        target: &str,
        weight: Option<&str>,
    ) -> Result<(), (String, NumberError)> {
        let edges = self.options.edges.clone();
        let is_given = |text: &&str| !number::is_null(text.as_bytes(), &self.options.null_values);
        let given = weight.filter(is_given);
        let value = match (given, edges.weight) {
            (None, _) | (_, WeightType::None) => None,
            (Some(text), _) => Some(self.weight(text).map_err(|wrong| (text.to_owned(), wrong))?),
        };
        let keeps_names = edges.vertex == VertexType::Str && self.has_labels();
        let name = |id: &str| match keeps_names.then(|| self.labels.get(id)).flatten() {
            Some(label) => label.clone(),
            None => id.to_owned(),
        };
        let (source, target) = (name(source), name(target));
        let ends = match edges.vertex {
            VertexType::Str => None,
            _ => Some((self.word(&source)?, self.word(&target)?)),
        };
        for end in [&source, &target] {
            self.is_u64 = self.is_u64 && number::parse_u64(end.as_bytes()).is_ok();
            self.is_i64 = self.is_i64 && number::parse_i64(end.as_bytes(), false).is_ok();
        }
        if given.is_some() {
            self.with_weight += 1;
        } else if !self.keeps_without_weight(line, weight.is_some()) {
            return Ok(());
        }
        let default = match edges.missing {
            Missing::Weight(weight) => weight,
            Missing::Fail | Missing::Skip => edges.default_weight,
        };
        match &mut self.chunk.weights {
            Weights::None => {}
            Weights::Float(weights) => {
                weights.push(value.map_or(default, |(float, _)| float));
            }
            Weights::Int(weights) => weights.push(value.map_or(default as i64, |(_, int)| int)),
        }
        match ends {
            Some((source, target)) => {
                self.chunk.src.push(source);
                self.chunk.dst.push(target);
            }
            None => {
                self.chunk.src_str.push(&source);
                self.chunk.dst_str.push(&target);
            }
        }
        Ok(())
    }

    /// Counts an edge without a weight, and returns whether it is kept. `is_null`: the file has a
    /// null in its place.
    fn keeps_without_weight(&mut self, line: u64, is_null: bool) -> bool {
        self.without_weight += 1;
        // Told explicitly, so a file without any weight is meant, too.
        let is_missing = is_null && self.options.edges.weight != WeightType::None;
        match self.options.edges.missing {
            Missing::Fail => {
                if self.first_without.len() < SKIPPED_KEPT_MAX {
                    let place = match line {
                        0 => Place::Row(self.with_weight + self.without_weight),
                        _ => Place::Line(line),
                    };
                    let error = InputError::whole(&self.file, "a weight", "nothing");
                    self.first_without.push(error.at(place, 0));
                }
                true
            }
            Missing::Skip => {
                self.chunk.missing_count += u64::from(is_missing);
                !is_missing
            }
            Missing::Weight(_) => {
                self.chunk.missing_count += u64::from(is_missing);
                true
            }
        }
    }

    fn weight(&self, text: &str) -> Result<(f64, i64), NumberError> {
        match self.options.edges.weight {
            WeightType::Int => Ok((0.0, number::parse_i64(text.as_bytes(), true)?)),
            _ => Ok((number::parse_weight(text.as_bytes(), b'.')?, 0)),
        }
    }

    fn word(&self, id: &str) -> Result<u64, (String, NumberError)> {
        let text = id.as_bytes();
        let word = match self.options.edges.vertex {
            VertexType::I64 => number::parse_i64(text, false).map(i64_to_word),
            VertexType::U64 | VertexType::Str => number::parse_u64(text),
        };
        word.map_err(|wrong| (id.to_owned(), wrong))
    }

    pub(super) fn detected(&self) -> Vec<(&'static str, String)> {
        let weight = if self.with_weight > 0 { "as in the file" } else { "none" };
        let mut said = vec![("weight", weight.to_owned())];
        let edges = &self.options.edges;
        let held = if self.with_weight > 0 { edges.weight } else { WeightType::None };
        said.push(("types", describe_types(edges.vertex, held)));
        let is_held = self.options.edges.weight != WeightType::None || self.with_weight == 0;
        said.extend(self.notes.iter().map(|note| ("note", (*note).to_owned())));
        if !is_held {
            said.push((
                "note",
                "the graph has no weights, so those of the file are left out".to_owned(),
            ));
        }
        said
    }

    pub(super) fn types(&self) -> (VertexType, WeightType) {
        let vertex = match (self.has_labels(), self.is_u64, self.is_i64) {
            (false, true, _) => VertexType::U64,
            (false, false, true) => VertexType::I64,
            _ => VertexType::Str,
        };
        (vertex, if self.with_weight > 0 { WeightType::Float } else { WeightType::None })
    }
}
