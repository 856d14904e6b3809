//! Columns of edges and weights: arguments and results of the calls of a graph, in Rust and,
//! through `py`, in Python. All columns of one result have the same length.

use base::shape::{float_to_word, int_to_word, word_to_float, word_to_int};
use relation::{WeightType, invalid};
use store::Result;

/// The weight of an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// The graph has no weights; the edge counts as 1.
    None,
    /// A float.
    Float(f64),
    /// An integer.
    Int(i64),
}

impl Weight {
    /// The weight as a float: 1 without weights, an integer rounded to the nearest float.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Float(weight) => weight,
            Self::Int(weight) => weight as f64,
        }
    }
}

/// The weights of some edges, in the variant of the graph's weight type.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Weights {
    /// The graph has no weights.
    #[default]
    None,
    /// Floats.
    Float(Vec<f64>),
    /// Integers.
    Int(Vec<i64>),
}

impl Weights {
    /// An empty column for this type.
    #[must_use]
    pub fn new(weight: WeightType) -> Self {
        let mut weights = Self::None;
        weights.reset(weight);
        weights
    }

    /// Number of weights; 0 for [`Weights::None`].
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Float(weights) => weights.len(),
            Self::Int(weights) => weights.len(),
        }
    }

    /// Whether there are no weights.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Weight `i`; [`Weight::None`] if the graph has no weights.
    ///
    /// # Panics
    /// If there are weights and `i` is out of bounds.
    #[must_use]
    pub fn get(&self, i: usize) -> Weight {
        match self {
            Self::None => Weight::None,
            Self::Float(weights) => Weight::Float(weights[i]),
            Self::Int(weights) => Weight::Int(weights[i]),
        }
    }

    /// Clears the column and changes its type; keeps the memory if the type stays.
    pub fn reset(&mut self, weight: WeightType) {
        match (&mut *self, weight) {
            (Self::Float(weights), WeightType::Float) => weights.clear(),
            (Self::Int(weights), WeightType::Int) => weights.clear(),
            (weights, WeightType::None) => *weights = Self::None,
            (weights, WeightType::Float) => *weights = Self::Float(Vec::new()),
            (weights, WeightType::Int) => *weights = Self::Int(Vec::new()),
        }
    }

    /// Appends weights from their stored words.
    pub(crate) fn extend_from_words(&mut self, words: &[u64]) {
        match self {
            Self::None => {}
            Self::Float(weights) => weights.extend(words.iter().map(|&word| word_to_float(word))),
            Self::Int(weights) => weights.extend(words.iter().map(|&word| word_to_int(word))),
        }
    }

    /// Overwrites weight `i` with the value for an absent edge: NaN or 0.
    pub(crate) fn set_absent(&mut self, i: usize) {
        match self {
            Self::None => {}
            Self::Float(weights) => weights[i] = f64::NAN,
            Self::Int(weights) => weights[i] = 0,
        }
    }
}

/// Weights passed to a call. Without them the edges of a weighted graph get weight 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeightsRef<'a> {
    /// For graphs of [`WeightType::Float`].
    Float(&'a [f64]),
    /// For graphs of [`WeightType::Int`].
    Int(&'a [i64]),
}

impl WeightsRef<'_> {
    /// Number of weights.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Float(weights) => weights.len(),
            Self::Int(weights) => weights.len(),
        }
    }

    /// Whether there are no weights.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The word of one weight in a graph of type `weight`; `None` if the graph has no weights.
pub(crate) fn weight_word(weight: WeightType, given: Option<Weight>) -> Result<Option<u64>> {
    match (weight, given) {
        (WeightType::None, None | Some(Weight::None)) => Ok(None),
        (WeightType::Float, None | Some(Weight::None)) => Ok(Some(float_to_word(1.0))),
        (WeightType::Int, None | Some(Weight::None)) => Ok(Some(int_to_word(1))),
        (WeightType::Float, Some(Weight::Float(given))) => Ok(Some(float_to_word(given))),
        (WeightType::Int, Some(Weight::Int(given))) => Ok(Some(int_to_word(given))),
        (_, Some(given)) => {
            let given = if matches!(given, Weight::Float(_)) { "float64" } else { "int64" };
            Err(wrong_weight(weight, given))
        }
    }
}

/// Appends the words of `rows` weights to `out`; nothing if the graph has no weights.
pub(crate) fn weight_words(
    weight: WeightType,
    given: Option<WeightsRef<'_>>,
    rows: usize,
    out: &mut Vec<u64>,
) -> Result<()> {
    if let Some(given) = given.filter(|given| given.len() != rows) {
        return Err(invalid(format!("{rows} edges, but {} weights", given.len())));
    }
    match (weight, given) {
        (WeightType::None, None) => {}
        (WeightType::Float, None) => out.resize(out.len() + rows, float_to_word(1.0)),
        (WeightType::Int, None) => out.resize(out.len() + rows, int_to_word(1)),
        (WeightType::Float, Some(WeightsRef::Float(given))) => {
            out.extend(given.iter().map(|&given| float_to_word(given)));
        }
        (WeightType::Int, Some(WeightsRef::Int(given))) => {
            out.extend(given.iter().map(|&given| int_to_word(given)));
        }
        (_, Some(WeightsRef::Float(_))) => return Err(wrong_weight(weight, "float64")),
        (_, Some(WeightsRef::Int(_))) => return Err(wrong_weight(weight, "int64")),
    }
    Ok(())
}

fn wrong_weight(weight: WeightType, given: &str) -> store::Error {
    match weight {
        WeightType::None => invalid(format!(
            "the graph has no weights, but {given} weights were given\n\
             hint: leave the weights out, or create the graph with weights"
        )),
        _ => invalid(format!("the graph has {weight} weights, but {given} weights were given")),
    }
}

/// The sum of weights, given as stored words.
pub(crate) fn sum_words(weight: WeightType, words: &[u64]) -> f64 {
    match weight {
        WeightType::None => words.len() as f64,
        WeightType::Float => words.iter().map(|&word| word_to_float(word)).sum(),
        // Exact as long as it fits 128 bits, and without accumulated rounding errors.
        WeightType::Int => {
            words.iter().map(|&word| i128::from(word_to_int(word))).sum::<i128>() as f64
        }
    }
}

/// Edges in columns. The caller owns and reuses them; each call that fills them replaces their
/// contents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edges {
    /// Sources.
    pub src: Vec<u64>,
    /// Targets.
    pub dst: Vec<u64>,
    /// One weight for each edge, or [`Weights::None`].
    pub weight: Weights,
    /// One key for each edge, in a graph of parallel edges; else empty.
    pub key: Vec<i64>,
}

impl Edges {
    /// Number of edges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there are no edges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// Clears all columns and changes the weight type.
    pub fn reset(&mut self, weight: WeightType) {
        self.src.clear();
        self.dst.clear();
        self.key.clear();
        self.weight.reset(weight);
    }
}
