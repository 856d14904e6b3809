//! Columns of words and byte strings, and batches of rows made of them.

use crate::{ColumnShape, Key, KeyRef, KeyShape, Shape};

/// Which rows of a column hold a value. `None`: all do. Otherwise bit `i % 64` of word `i / 64`
/// is set for a valid row `i`; the words cover at least the column's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validity(pub Option<Vec<u64>>);

impl Validity {
    /// Appends rows from row `first` on, which is as many as there are; `bits` is asked, from 0,
    /// which of 64 rows hold a value, one bit each, and may say anything of rows past the last.
    pub fn extend(&mut self, first: usize, rows: usize, bits: impl Fn(usize) -> u64) {
        for from in (0..rows).step_by(64) {
            let some = (rows - from).min(64);
            self.extend_some(first + from, some, bits(from) & (u64::MAX >> (64 - some)));
        }
    }

    /// The same of 1 to 64 rows; bits past them are zero.
    fn extend_some(&mut self, first: usize, rows: usize, bits: u64) {
        if self.0.is_none() && bits.count_ones() as usize == rows {
            return;
        }
        let (word, bit) = (first / 64, first % 64);
        let words = self.told(first);
        words.resize((first + rows).div_ceil(64), 0);
        words[word] |= bits << bit;
        if let Some(next) = words.get_mut(word + 1) {
            // In two steps: a shift by 64 is none.
            *next |= bits >> 1 >> (63 - bit);
        }
    }

    /// The words, also where the `rows` rows so far needed none, for all of them are valid.
    fn told(&mut self, rows: usize) -> &mut Vec<u64> {
        self.0.get_or_insert_with(|| {
            let mut words = vec![u64::MAX; rows / 64];
            words.push((1 << (rows % 64)) - 1);
            words
        })
    }

    /// Which of the 64 rows from `first` on hold a value, one bit each; rows that there are not may
    /// count as any.
    #[must_use]
    pub fn bits(&self, first: usize) -> u64 {
        let Some(words) = &self.0 else { return u64::MAX };
        let (word, bit) = (first / 64, first % 64);
        let at = |word: usize| words.get(word).copied().unwrap_or(0);
        at(word) >> bit | at(word + 1) << 1 << (63 - bit)
    }

    /// Whether row `i` holds a value.
    #[must_use]
    pub fn is_valid(&self, i: usize) -> bool {
        match &self.0 {
            None => true,
            Some(words) => words.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1),
        }
    }

    /// Records row `i`, the next row after those recorded.
    pub fn push(&mut self, i: usize, valid: bool) {
        if valid && self.0.is_none() {
            return;
        }
        let words = self.told(i);
        if words.len() <= i / 64 {
            words.resize(i / 64 + 1, 0);
        }
        let bit = 1_u64 << (i % 64);
        if valid {
            words[i / 64] |= bit;
        } else {
            words[i / 64] &= !bit;
        }
    }
}

/// A column of words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordColumn {
    /// One word a row; a filler where the row is not valid.
    pub words: Vec<u64>,
    /// Which rows hold a value.
    pub validity: Validity,
}

/// A column of byte strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytesColumn {
    /// `rows + 1` offsets into `heap`, the first 0.
    pub offsets: Vec<u64>,
    /// The strings, one after the other.
    pub heap: Vec<u8>,
    /// Which rows hold a value.
    pub validity: Validity,
}

impl Default for BytesColumn {
    fn default() -> Self {
        Self { offsets: vec![0], heap: Vec::new(), validity: Validity::default() }
    }
}

impl BytesColumn {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string of row `i`, valid or filler.
    #[must_use]
    pub fn get(&self, i: usize) -> &[u8] {
        &self.heap[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Appends a row; `None` is a row without a value.
    pub fn push(&mut self, bytes: Option<&[u8]>) {
        let row = self.len();
        self.validity.push(row, bytes.is_some());
        self.heap.extend_from_slice(bytes.unwrap_or_default());
        self.offsets.push(self.heap.len() as u64);
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.heap.clear();
        self.validity.0 = None;
    }
}

impl WordColumn {
    /// Appends a row; `None` is a row without a value.
    pub fn push(&mut self, word: Option<u64>) {
        self.validity.push(self.words.len(), word.is_some());
        self.words.push(word.unwrap_or_default());
    }

    /// The word of row `i`, if it holds one.
    #[must_use]
    pub fn get(&self, i: usize) -> Option<u64> {
        self.validity.is_valid(i).then(|| self.words[i])
    }
}

/// A value column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Words.
    Words(WordColumn),
    /// Byte strings.
    Bytes(BytesColumn),
}

impl Column {
    /// An empty column of this shape.
    #[must_use]
    pub fn new(shape: ColumnShape) -> Self {
        match shape {
            ColumnShape::Word { .. } => Self::Words(WordColumn::default()),
            ColumnShape::Bytes => Self::Bytes(BytesColumn::default()),
        }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Words(column) => column.words.len(),
            Self::Bytes(column) => column.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words, where it is a column of words.
    #[must_use]
    pub fn as_words(&self) -> Option<&WordColumn> {
        match self {
            Self::Words(column) => Some(column),
            Self::Bytes(_) => None,
        }
    }

    /// The byte strings, where it is a column of those.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&BytesColumn> {
        match self {
            Self::Bytes(column) => Some(column),
            Self::Words(_) => None,
        }
    }

    /// Appends a row without a value.
    pub fn push_null(&mut self) {
        match self {
            Self::Words(column) => column.push(None),
            Self::Bytes(column) => column.push(None),
        }
    }

    /// Appends row `i` of `other`, which must have the same shape.
    pub fn push_from(&mut self, other: &Self, i: usize) {
        match (self, other) {
            (Self::Words(to), Self::Words(from)) => to.push(from.get(i)),
            (Self::Bytes(to), Self::Bytes(from)) => {
                to.push(from.validity.is_valid(i).then(|| from.get(i)));
            }
            _ => unreachable!("columns of one position have one shape"),
        }
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        match self {
            Self::Words(column) => {
                column.words.clear();
                column.validity.0 = None;
            }
            Self::Bytes(column) => column.clear(),
        }
    }
}

/// A column of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One vector a word position, all of one length (under a projection some stay empty).
    Words(Vec<Vec<u64>>),
    /// Byte strings.
    Bytes(BytesColumn),
}

impl Keys {
    /// No keys of this shape.
    #[must_use]
    pub fn new(shape: KeyShape) -> Self {
        match shape {
            KeyShape::Words(n) => Self::Words(vec![Vec::new(); n as usize]),
            KeyShape::Bytes => Self::Bytes(BytesColumn::default()),
        }
    }

    /// Rows, counted on the longest column.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Words(columns) => columns.iter().map(Vec::len).max().unwrap_or(0),
            Self::Bytes(column) => column.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Key of row `i`, copied (word keys without an allocation).
    #[must_use]
    pub fn get(&self, i: usize) -> Key {
        match self {
            Self::Words(columns) => {
                let mut words = [0; crate::WORDS_MAX];
                for (word, column) in words.iter_mut().zip(columns) {
                    *word = column[i];
                }
                Key::Words { words, len: columns.len() as u8 }
            }
            Self::Bytes(column) => Key::bytes(column.get(i)),
        }
    }

    /// Appends a whole key.
    pub fn push(&mut self, key: KeyRef<'_>) {
        match (self, key) {
            (Self::Words(columns), KeyRef::Words(words)) => {
                for (column, word) in columns.iter_mut().zip(words) {
                    column.push(*word);
                }
            }
            (Self::Bytes(column), KeyRef::Bytes(bytes)) => column.push(Some(bytes)),
            _ => unreachable!("keys of one keyspace have one shape"),
        }
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        match self {
            Self::Words(columns) => columns.iter_mut().for_each(Vec::clear),
            Self::Bytes(column) => column.clear(),
        }
    }
}

/// Which columns a read wants. Columns left out stay empty in the batch, but for those that share a
/// bit.
///
/// # Why bits are shared
/// A read carries its projection by value, through every layer. One word of bits tells all columns
/// apart where there are at most 64; of more columns some share a bit, and a read that wants one of
/// them finds the others filled as well. So a relation of `n` columns is read by parts of `n / 64`
/// columns, and narrow ones pay nothing for wide ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Bit `i`: word `i` of the key; for byte-string keys bit 0.
    pub keys: u8,
    /// Bit `i % 64`: value column `i`.
    pub values: u64,
}

impl Projection {
    /// Every column.
    pub const ALL: Self = Self { keys: u8::MAX, values: u64::MAX };
    /// No column: only the number of rows.
    pub const COUNT: Self = Self { keys: 0, values: 0 };
    /// Every key column, no value.
    pub const KEYS: Self = Self { keys: u8::MAX, values: 0 };

    /// Whether word `i` of the key is wanted.
    #[must_use]
    pub fn key(self, i: usize) -> bool {
        self.keys >> i & 1 == 1
    }

    /// Whether value column `i` is wanted, or one that shares its bit.
    #[must_use]
    pub fn value(self, i: usize) -> bool {
        self.values >> (i % 64) & 1 == 1
    }

    /// Wants value column `i` too.
    pub fn want_value(&mut self, i: usize) {
        self.values |= 1 << (i % 64);
    }
}

/// Rows in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Rows, also under a projection that left every column out.
    pub rows: usize,
    /// Key columns.
    pub keys: Keys,
    /// Value columns, one for each of the shape.
    pub values: Vec<Column>,
}

impl Batch {
    /// No rows of this shape.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        Self {
            rows: 0,
            keys: Keys::new(shape.key),
            values: shape.values.iter().map(|&shape| Column::new(shape)).collect(),
        }
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.keys.clear();
        self.values.iter_mut().for_each(Column::clear);
    }

    /// Bytes of its byte strings, keys and values.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Words(_) => 0,
            Keys::Bytes(keys) => keys.heap.len(),
        };
        let values = self.values.iter().map(|column| match column {
            Column::Words(_) => 0,
            Column::Bytes(column) => column.heap.len(),
        });
        keys + values.sum::<usize>()
    }

    /// Word column `i` of the key; empty for byte-string keys.
    #[must_use]
    pub fn key_words(&self, i: usize) -> &[u64] {
        match &self.keys {
            Keys::Words(columns) => columns.get(i).map_or(&[], Vec::as_slice),
            Keys::Bytes(_) => &[],
        }
    }

    /// Words of value column `i`; empty where it holds byte strings.
    #[must_use]
    pub fn value_words(&self, i: usize) -> &[u64] {
        match self.values.get(i) {
            Some(Column::Words(column)) => &column.words,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_appended_at_once_are_valid_as_rows_pushed_are() {
        for (first, rows, hole) in [
            (0, 0, 9),
            (0, 200, 300),
            (0, 200, 0),
            (3, 200, 63),
            (64, 64, 70),
            (70, 5, 72),
            (63, 130, 190),
        ] {
            for before in [first, 1] {
                let is_valid = |row: usize| !row.is_multiple_of(before + 2) && row != hole;
                let (mut pushed, mut extended) = (Validity::default(), Validity::default());
                for row in 0..first {
                    pushed.push(row, row != before);
                    extended.push(row, row != before);
                }
                (first..first + rows).for_each(|row| pushed.push(row, is_valid(row)));
                let bits_from = |from: usize| {
                    (0..64).fold(0, |bits, i| bits | u64::from(is_valid(first + from + i)) << i)
                };
                extended.extend(first, rows, bits_from);
                extended.extend(first + rows, 3, |_| 0b010);
                (0..3).for_each(|row| pushed.push(first + rows + row, row == 1));
                for row in 0..first + rows + 3 {
                    assert_eq!(
                        extended.is_valid(row),
                        pushed.is_valid(row),
                        "{first} {rows} {hole} {row}"
                    );
                    let bits = extended.bits(row);
                    (row..first + rows + 3).take(64).enumerate().for_each(|(i, row)| {
                        assert_eq!(bits >> i & 1 == 1, pushed.is_valid(row), "{row}");
                    });
                }
            }
        }
    }

    #[test]
    fn validity_remembers_each_row_across_word_borders() {
        let mut column = WordColumn::default();
        for i in 0..200_u64 {
            column.push((i % 67 != 66).then_some(i));
        }
        for i in 0..200_u64 {
            assert_eq!(column.get(i as usize), (i % 67 != 66).then_some(i));
        }
    }
}
