//! The vertices of a projection as users name them.
//!
//! # Why words
//! A stored graph has a word for each vertex: the id itself, or the dictionary id of a string. A
//! projection is made of words, and strings are read only when a caller asks for them.
//!
//! # Invariants
//! 1. Words are ascending and distinct. Vertex `v` of the graph has word `v`.

use base::BytesColumn;
use base::shape::{int_to_word, word_to_int};
use model::Value;
use store::Result;
use views::graph::{ABSENT, Graph, VertexColumn, VertexList, VertexType};

/// Ids of the vertices, ascending in the order of their words.
#[derive(Clone, Debug)]
pub struct VertexIds {
    words: Vec<u64>,
    naming: Naming,
}

/// How words are converted to the vertices that users see.
#[derive(Clone, Debug)]
pub(crate) enum Naming {
    U64,
    I64,
    /// Words are dictionary ids of this graph, whose dictionary only grows.
    Dictionary(Graph),
    /// Words are places in this column, whose strings are ascending.
    Strings(BytesColumn),
}

impl VertexIds {
    /// `words` must be ascending and distinct.
    pub(crate) fn new(words: Vec<u64>, naming: Naming) -> Self {
        Self { words, naming }
    }

    /// The same naming for other words.
    pub(crate) fn with_words(&self, words: Vec<u64>) -> Self {
        Self { words, naming: self.naming.clone() }
    }

    /// Number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no vertices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The type of the ids.
    #[must_use]
    pub fn vertex_type(&self) -> VertexType {
        match self.naming {
            Naming::U64 => VertexType::U64,
            Naming::I64 => VertexType::I64,
            Naming::Dictionary(_) | Naming::Strings(_) => VertexType::Str,
        }
    }

    /// The ids themselves, if they are unsigned integers.
    #[must_use]
    pub fn as_u64(&self) -> Option<&[u64]> {
        matches!(self.naming, Naming::U64).then_some(&self.words)
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let strings = match &self.naming {
            Naming::Strings(strings) => strings.heap.len() as u64 + 8 * strings.len() as u64,
            _ => 0,
        };
        8 * self.words.capacity() as u64 + strings
    }

    /// The ids of all vertices.
    ///
    /// # Errors
    /// Those of reading a dictionary.
    pub fn all(&self) -> Result<VertexColumn> {
        self.named(self.words.clone())
    }

    /// The ids of these vertices.
    ///
    /// # Errors
    /// Those of reading a dictionary.
    ///
    /// # Panics
    /// If one of them is not a vertex of the projection.
    pub fn of(&self, vertices: &[u32]) -> Result<VertexColumn> {
        self.named(vertices.iter().map(|&v| self.words[v as usize]).collect())
    }

    fn named(&self, words: Vec<u64>) -> Result<VertexColumn> {
        match &self.naming {
            Naming::U64 => Ok(VertexColumn::U64(words)),
            Naming::I64 => Ok(VertexColumn::I64(words.into_iter().map(word_to_int).collect())),
            Naming::Dictionary(graph) => graph.to_vertices(&words),
            Naming::Strings(strings) => {
                let places: Vec<u32> = words.iter().map(|&word| word as u32).collect();
                Ok(VertexColumn::Str(strings.gather(&places)))
            }
        }
    }

    /// The id of a vertex as a value.
    ///
    /// # Errors
    /// Those of reading a dictionary.
    pub fn value(&self, vertex: u32) -> Result<Value> {
        Ok(match self.of(&[vertex])? {
            VertexColumn::U64(ids) => Value::id(ids[0]),
            VertexColumn::I64(ids) => Value::Int(ids[0]),
            VertexColumn::Str(ids) => Value::Str(String::from_utf8_lossy(ids.get(0)).into_owned()),
        })
    }

    /// The vertex with this id; `None` if there is none, also for an id of another type. A float
    /// without a fraction is the integer, as in Python.
    ///
    /// # Errors
    /// Those of reading a dictionary.
    pub fn vertex(&self, id: &Value) -> Result<Option<u32>> {
        let whole = match id {
            Value::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
                Value::Int(*float as i64)
            }
            Value::Bool(bool) => Value::Int(i64::from(*bool)),
            other => other.clone(),
        };
        let word = match (&self.naming, &whole) {
            (Naming::U64, Value::Int(int)) => u64::try_from(*int).ok(),
            (Naming::U64, Value::Id(id)) => Some(*id),
            (Naming::I64, Value::Int(int)) => Some(int_to_word(*int)),
            (_, Value::Str(text)) => return Ok(self.vertices(VertexList::Str(&[text]))?[0]),
            _ => None,
        };
        Ok(word.and_then(|word| self.place(word)))
    }

    /// The vertices with these ids; `None` for ids that are not vertices.
    ///
    /// # Errors
    /// Those of reading a dictionary.
    pub fn vertices(&self, ids: VertexList<'_>) -> Result<Vec<Option<u32>>> {
        let words: Vec<Option<u64>> = match (&self.naming, ids) {
            (Naming::U64, VertexList::U64(ids)) => ids.iter().copied().map(Some).collect(),
            (Naming::U64, VertexList::I64(ids)) => {
                ids.iter().map(|&id| u64::try_from(id).ok()).collect()
            }
            (Naming::I64, VertexList::I64(ids)) => {
                ids.iter().map(|&id| Some(int_to_word(id))).collect()
            }
            (Naming::I64, VertexList::U64(ids)) => {
                ids.iter().map(|&id| i64::try_from(id).ok().map(int_to_word)).collect()
            }
            (Naming::Dictionary(graph), VertexList::Str(_)) => {
                let mut words = Vec::with_capacity(ids.len());
                graph.to_words(ids, &mut words)?;
                words.into_iter().map(|word| (word != ABSENT).then_some(word)).collect()
            }
            (Naming::Strings(strings), VertexList::Str(ids)) => {
                ids.iter().map(|id| search(strings, id.as_bytes())).collect()
            }
            _ => vec![None; ids.len()],
        };
        Ok(words.into_iter().map(|word| self.place(word?)).collect())
    }

    fn place(&self, word: u64) -> Option<u32> {
        self.words.binary_search(&word).ok().map(|place| place as u32)
    }
}

/// The place of a string in an ascending column.
fn search(strings: &BytesColumn, wanted: &[u8]) -> Option<u64> {
    let (mut from, mut to) = (0, strings.len());
    while from < to {
        let middle = from.midpoint(to);
        match strings.get(middle).cmp(wanted) {
            std::cmp::Ordering::Less => from = middle + 1,
            std::cmp::Ordering::Greater => to = middle,
            std::cmp::Ordering::Equal => return Some(middle as u64),
        }
    }
    None
}
