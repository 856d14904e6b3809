//! Columns of edges: the output of parsing.
//!
//! Columns rather than a list of edges, because the next steps (sorting, dictionary lookups,
//! encoding) each read one column. A chunk is cleared and filled again, so a worker allocates only
//! while its first chunks grow.

use crate::error::{InputError, Place};
use crate::number::word_to_i64;
use crate::options::{Missing, VertexType, WeightType};

/// Maximum number of messages about skipped records that a chunk keeps.
pub const SKIPPED_KEPT_MAX: usize = 10;

/// Strings, stored one after the other in one heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrColumn {
    /// The byte at which each string ends in `heap`.
    ends: Vec<usize>,
    heap: String,
}

impl StrColumn {
    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at `index`, or `None` past the end.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? };
        self.heap.get(start..end)
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let text = &self.heap[start..end];
            start = end;
            text
        })
    }

    /// Total bytes of all strings.
    pub fn heap_bytes(&self) -> usize {
        self.heap.len()
    }

    /// Appends a string.
    #[inline]
    pub fn push(&mut self, text: &str) {
        self.heap.push_str(text);
        self.ends.push(self.heap.len());
    }

    /// Leaves out the strings for which `keep` is false.
    fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let all = std::mem::take(self);
        all.iter().enumerate().filter(|(i, _)| keep(*i)).for_each(|(_, text)| self.push(text));
    }

    /// Removes all strings and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.heap.clear();
    }
}

/// The weights of a chunk's edges, one per edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Weights {
    /// Edges have no weight.
    #[default]
    None,
    /// Finite floats.
    Float(Vec<f64>),
    /// Integers.
    Int(Vec<i64>),
}

impl Weights {
    /// The number of weights: the number of edges, or 0 for [`Weights::None`].
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Float(weights) => weights.len(),
            Self::Int(weights) => weights.len(),
        }
    }

    /// Whether there are no weights.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Edges in input order, by column.
///
/// For integer vertices `src` and `dst` are filled and the string columns are empty; for string
/// vertices the reverse. `weights` has the same length, or is [`Weights::None`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeChunk {
    /// Sources as words, whose order is the order of the vertices.
    pub src: Vec<u64>,
    /// Targets as words, whose order is the order of the vertices.
    pub dst: Vec<u64>,
    /// Sources as strings.
    pub src_str: StrColumn,
    /// Targets as strings.
    pub dst_str: StrColumn,
    /// The weights, or [`Weights::None`] where edges have none.
    pub weights: Weights,
    /// The first [`SKIPPED_KEPT_MAX`] bad records, in input order, when bad records are skipped.
    pub skipped: Vec<InputError>,
    /// The number of bad records that were skipped, including those in `skipped`.
    pub skipped_count: u64,
    /// The first [`SKIPPED_KEPT_MAX`] edges without a weight, in input order.
    pub missing: Vec<InputError>,
    /// The number of edges whose weight is missing. They are in the columns only if the options
    /// give them a weight.
    pub missing_count: u64,
    /// The first [`SKIPPED_KEPT_MAX`] values of a table that are no vertices, in input order.
    pub unfit: Vec<InputError>,
    /// The number of values of a table that are no vertices. The chunk then has no edges, and the
    /// input cannot be imported; see [`crate::vertices_error`].
    pub unfit_count: u64,
    /// Number of records of the input, if it is to be compared with the number in its header.
    pub records: u64,
}

impl EdgeChunk {
    /// The number of edges.
    pub fn len(&self) -> usize {
        self.src.len().max(self.src_str.len())
    }

    /// Whether there are no edges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Empties the chunk and prepares it for weights of this type. Memory is kept.
    pub fn reset(&mut self, weight: WeightType) {
        self.src.clear();
        self.dst.clear();
        self.src_str.clear();
        self.dst_str.clear();
        self.skipped.clear();
        self.skipped_count = 0;
        self.missing.clear();
        self.missing_count = 0;
        self.unfit.clear();
        self.unfit_count = 0;
        self.records = 0;
        match (&mut self.weights, weight) {
            (Weights::Float(weights), WeightType::Float) => weights.clear(),
            (Weights::Int(weights), WeightType::Int) => weights.clear(),
            (weights, WeightType::None) => *weights = Weights::None,
            (weights, WeightType::Float) => *weights = Weights::Float(Vec::new()),
            (weights, WeightType::Int) => *weights = Weights::Int(Vec::new()),
        }
    }

    /// Reserves memory for the weights of `edges` more edges.
    pub(crate) fn reserve_weights(&mut self, edges: usize) {
        match &mut self.weights {
            Weights::None => {}
            Weights::Float(weights) => weights.reserve(edges),
            Weights::Int(weights) => weights.reserve(edges),
        }
    }

    /// Appends the default weight for every edge that has none yet.
    pub(crate) fn fill_weights(&mut self, default_weight: f64) {
        let edges = self.len();
        match &mut self.weights {
            Weights::None => {}
            Weights::Float(weights) => weights.resize(edges, default_weight),
            // It was checked to be a whole number together with the options.
            Weights::Int(weights) => weights.resize(edges, default_weight as i64),
        }
    }

    /// Leaves out the edges for which `keep` is false.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        retain(&mut self.src, &keep);
        retain(&mut self.dst, &keep);
        self.src_str.retain(&keep);
        self.dst_str.retain(&keep);
        match &mut self.weights {
            Weights::None => {}
            Weights::Float(weights) => retain(weights, &keep),
            Weights::Int(weights) => retain(weights, &keep),
        }
    }

    /// Handles NaN among float weights as missing, as NumPy writes it. `first_row` is the number of
    /// rows before this chunk.
    pub fn take_nan_as_missing(&mut self, file: &str, first_row: u64, missing: Missing) {
        let Weights::Float(weights) = &mut self.weights else { return };
        let nan: Vec<_> = (0..weights.len()).filter(|&i| weights[i].is_nan()).collect();
        if let Missing::Weight(weight) = missing {
            nan.iter().for_each(|&i| weights[i] = weight);
        }
        self.note_missing(file, first_row, 3, &nan, missing);
    }

    /// Counts rows without a weight, and leaves them out unless they get one.
    pub(crate) fn note_missing(
        &mut self,
        file: &str,
        first_row: u64,
        column: u32,
        rows: &[usize],
        missing: Missing,
    ) {
        self.missing_count += rows.len() as u64;
        for &row in rows.iter().take(SKIPPED_KEPT_MAX.saturating_sub(self.missing.len())) {
            let place = Place::Row(first_row + row as u64 + 1);
            self.missing.push(InputError::whole(file, "a weight", "nothing").at(place, column));
        }
        if !rows.is_empty() && !matches!(missing, Missing::Weight(_)) {
            self.retain(|row| rows.binary_search(&row).is_err());
        }
    }

    /// Edge `index` as text, for messages and tests: `source target weight`.
    pub fn describe(&self, index: usize, vertex: VertexType) -> Option<String> {
        let name = |words: &[u64], texts: &StrColumn| match vertex {
            VertexType::U64 => words.get(index).map(u64::to_string),
            VertexType::I64 => words.get(index).map(|&w| word_to_i64(w).to_string()),
            VertexType::Str => texts.get(index).map(|text| format!("{text:?}")),
        };
        let mut line =
            format!("{} {}", name(&self.src, &self.src_str)?, name(&self.dst, &self.dst_str)?);
        match &self.weights {
            Weights::None => {}
            Weights::Float(weights) => line += &format!(" {:?}", weights.get(index)?),
            Weights::Int(weights) => line += &format!(" {}", weights.get(index)?),
        }
        Some(line)
    }
}

fn retain<T>(values: &mut Vec<T>, keep: impl Fn(usize) -> bool) {
    let mut at = 0;
    values.retain(|_| {
        at += 1;
        keep(at - 1)
    });
}
