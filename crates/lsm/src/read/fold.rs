//! The MVCC rule for one key: from its versions, newest first, to the row a reader sees.
//!
//! The first put or delete decides the value; merges before it combine column by column. A merge
//! with a null word leaves an older word unchanged. A column without an operator takes the newest
//! value.

use super::columns::push_key;
use crate::memtable::{EntryRef, Whole};
use crate::rows::Rows;
use crate::table::Block;
use base::{Batch, Column, ColumnShape, KeyRef, Kind, Merge, Projection, Shape, Total};

/// A version whose values can be read.
pub(crate) trait Version {
    /// Word of a column, if the row holds one.
    fn word(&self, column: usize) -> Option<u64>;
    /// Byte string of a column, if the row holds one, copied.
    fn bytes(&self, column: usize) -> Option<Vec<u8>>;
}

impl Version for EntryRef<'_> {
    fn word(&self, column: usize) -> Option<u64> {
        EntryRef::word(self, column)
    }
    fn bytes(&self, column: usize) -> Option<Vec<u8>> {
        EntryRef::bytes(self, column).map(<[u8]>::to_vec)
    }
}

/// Of shapes with one word alone.
impl Version for Whole {
    fn word(&self, _: usize) -> Option<u64> {
        Some(self.word)
    }
    fn bytes(&self, _: usize) -> Option<Vec<u8>> {
        None
    }
}

impl Version for (&Block, usize) {
    fn word(&self, column: usize) -> Option<u64> {
        self.0.word(column, self.1)
    }
    fn bytes(&self, column: usize) -> Option<Vec<u8>> {
        self.0.bytes(column, self.1, &mut Vec::new()).map(<[u8]>::to_vec)
    }
}

/// A row of a block, with the value that its head lacks.
pub(crate) struct WithValue<'a> {
    pub(crate) block: &'a Block,
    pub(crate) row: usize,
    pub(crate) value: Option<crate::table::Found>,
}

impl Version for WithValue<'_> {
    fn word(&self, column: usize) -> Option<u64> {
        self.block.word(column, self.row)
    }
    fn bytes(&self, column: usize) -> Option<Vec<u8>> {
        match &self.value {
            Some(value) => self.block.holds_lacked(self.row).then(|| value.to_vec()),
            None => (self.block, self.row).bytes(column),
        }
    }
}

impl Version for (&Rows, usize) {
    fn word(&self, column: usize) -> Option<u64> {
        self.0.values[column].as_words().and_then(|words| words.get(self.1))
    }
    fn bytes(&self, column: usize) -> Option<Vec<u8>> {
        let strings = self.0.values[column].as_bytes()?;
        strings.validity.is_valid(self.1).then(|| strings.get(self.1).to_vec())
    }
}

#[derive(Clone, Debug)]
enum Value {
    Word(Option<u64>),
    /// Of a column that merges.
    Total(Merge, Option<Total>),
    Bytes(Option<Vec<u8>>),
}

/// The combined state of the versions so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No version yet.
    Unknown,
    /// Merges only: older versions count.
    Merging,
    /// The row is there; older versions do not count.
    Present,
    /// The row is not there; older versions do not count.
    Absent,
}

/// Combines the versions of one key.
#[derive(Debug)]
pub(crate) struct Fold {
    values: Vec<Value>,
    pub(crate) outcome: Outcome,
}

impl Fold {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), outcome: Outcome::Unknown }
    }

    /// Begins the next key.
    pub(crate) fn reset(&mut self) {
        self.outcome = Outcome::Unknown;
    }

    pub(crate) fn is_decided(&self) -> bool {
        matches!(self.outcome, Outcome::Present | Outcome::Absent)
    }

    /// Whether the row is there when no older version follows.
    pub(crate) fn is_present(&self) -> bool {
        matches!(self.outcome, Outcome::Present | Outcome::Merging)
    }

    /// Whatever is older is deleted.
    pub(crate) fn end(&mut self) {
        self.outcome = match self.outcome {
            Outcome::Unknown | Outcome::Absent => Outcome::Absent,
            Outcome::Merging | Outcome::Present => Outcome::Present,
        };
    }

    /// Adds the next older version; returns whether the outcome is decided.
    pub(crate) fn add(
        &mut self,
        shape: &Shape,
        projection: Projection,
        kind: u8,
        version: &impl Version,
    ) -> bool {
        if kind == Kind::Delete as u8 {
            self.end();
            return true;
        }
        let first = self.outcome == Outcome::Unknown;
        if first {
            self.values.clear();
        }
        for (i, column) in shape.values.iter().enumerate() {
            let wanted = projection.value(i);
            if first {
                self.values.push(match column {
                    ColumnShape::Word { merge } => {
                        let word = if wanted { version.word(i) } else { None };
                        match *merge {
                            Some(merge) => {
                                Value::Total(merge, word.map(|word| Total::of(merge, word)))
                            }
                            None => Value::Word(word),
                        }
                    }
                    ColumnShape::Bytes => {
                        Value::Bytes(if wanted { version.bytes(i) } else { None })
                    }
                });
            } else if let (true, Value::Total(merge, total)) = (wanted, &mut self.values[i])
                && let Some(older) = version.word(i)
            {
                match total {
                    Some(total) => total.add_older(*merge, older),
                    None => *total = Some(Total::of(*merge, older)),
                }
            }
        }
        let put = kind == Kind::Put as u8;
        self.outcome = if put { Outcome::Present } else { Outcome::Merging };
        put
    }

    /// Appends the row that the versions make, which must be present.
    pub(crate) fn push(&self, key: KeyRef<'_>, projection: Projection, out: &mut Batch) {
        out.rows += 1;
        push_key(&mut out.keys, key, projection);
        for (i, column) in out.values.iter_mut().enumerate() {
            if projection.value(i) {
                self.push_value(i, column);
            }
        }
    }

    fn push_value(&self, i: usize, out: &mut Column) {
        match (out, &self.values[i]) {
            (Column::Words(out), Value::Word(word)) => out.push(*word),
            (Column::Words(out), Value::Total(_, total)) => out.push(total.map(Total::word)),
            (Column::Bytes(out), Value::Bytes(bytes)) => out.push(bytes.as_deref()),
            _ => unreachable!("columns of one position have one shape"),
        }
    }
}
