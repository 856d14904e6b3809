//! Columns of words and byte strings, and batches of rows in columns. All crates from the storage
//! engine to the executor pass rows in this form.

use crate::key::{Key, KeyRef};
use crate::shape::{ColumnShape, KeyShape, Shape};
use std::ops::Range;

/// Which rows of a column hold a value. The other rows are null.
///
/// `None` if all rows hold one. Otherwise bit `i % 64` of word `i / 64` is set if row `i` is valid,
/// and there are enough words for all rows of the column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validity(pub Option<Vec<u64>>);

impl Validity {
    /// Appends `rows` rows; `first` must be the number of rows so far. `bits(i)` returns one bit
    /// for each of 64 new rows, starting with new row `i`: whether it is valid. Bits past the last
    /// row are ignored.
    pub fn extend(&mut self, first: usize, rows: usize, bits: impl Fn(usize) -> u64) {
        for from in (0..rows).step_by(64) {
            let some = (rows - from).min(64);
            self.extend_some(first + from, some, bits(from) & (u64::MAX >> (64 - some)));
        }
    }

    /// As [`Validity::extend`] for 1 to 64 rows. Bits past them must be zero.
    fn extend_some(&mut self, first: usize, rows: usize, bits: u64) {
        if self.0.is_none() && bits.count_ones() as usize == rows {
            return;
        }
        let (word, bit) = (first / 64, first % 64);
        let words = self.told(first);
        words.resize((first + rows).div_ceil(64), 0);
        words[word] |= bits << bit;
        if let Some(next) = words.get_mut(word + 1) {
            // In two steps, because a shift by 64 bits overflows.
            *next |= bits >> 1 >> (63 - bit);
        }
    }

    /// The validity words. If there are none yet, creates them for `rows` rows, all valid.
    fn told(&mut self, rows: usize) -> &mut Vec<u64> {
        self.0.get_or_insert_with(|| {
            let mut words = vec![u64::MAX; rows / 64];
            words.push((1 << (rows % 64)) - 1);
            words
        })
    }

    /// Validity of the 64 rows from `first` on, one bit each. Bits past the last row are
    /// unspecified.
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

    /// The validity of these rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        let mut gathered = Self::default();
        if self.0.is_some() {
            for (i, &row) in rows.iter().enumerate() {
                gathered.push(i, self.is_valid(row as usize));
            }
        }
        gathered
    }

    /// Appends the validity of row `i`, which must be the next row.
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
    /// One word per row. Invalid rows have a filler.
    pub words: Vec<u64>,
    /// Which rows hold a value.
    pub validity: Validity,
}

/// A column of byte strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytesColumn {
    /// `rows + 1` offsets into `heap`, the first 0.
    pub offsets: Vec<u64>,
    /// The concatenated strings.
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
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether the column has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string of row `i`. Invalid rows return a filler.
    #[must_use]
    pub fn get(&self, i: usize) -> &[u8] {
        &self.heap[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Appends a row, or a null for `None`.
    pub fn push(&mut self, bytes: Option<&[u8]>) {
        let row = self.len();
        self.validity.push(row, bytes.is_some());
        self.heap.extend_from_slice(bytes.unwrap_or_default());
        self.offsets.push(self.heap.len() as u64);
    }

    /// Appends some successive rows of another column.
    pub fn append(&mut self, more: &Self, rows: Range<usize>) {
        self.validity.extend(self.len(), rows.len(), |i| more.validity.bits(rows.start + i));
        let before = self.heap.len() as u64;
        let offsets = &more.offsets[rows.start..=rows.end];
        let (start, end) = (offsets[0], offsets[rows.len()]);
        self.offsets.extend(offsets[1..].iter().map(|offset| offset - start + before));
        self.heap.extend_from_slice(&more.heap[start as usize..end as usize]);
    }

    /// These rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        let mut end = 0;
        for &row in rows {
            end += self.offsets[row as usize + 1] - self.offsets[row as usize];
            offsets.push(end);
        }
        let mut heap = Vec::with_capacity(end as usize);
        rows.iter().for_each(|&row| heap.extend_from_slice(self.get(row as usize)));
        Self { offsets, heap, validity: self.validity.gather(rows) }
    }

    /// Removes all rows and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.heap.clear();
        self.validity.0 = None;
    }
}

impl WordColumn {
    /// Appends a row, or a null for `None`.
    pub fn push(&mut self, word: Option<u64>) {
        self.validity.push(self.words.len(), word.is_some());
        self.words.push(word.unwrap_or_default());
    }

    /// The word of row `i`; `None` if it is null.
    #[must_use]
    pub fn get(&self, i: usize) -> Option<u64> {
        self.validity.is_valid(i).then(|| self.words[i])
    }
}

/// A value column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// A column of words.
    Words(WordColumn),
    /// A column of byte strings.
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

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Words(column) => column.words.len(),
            Self::Bytes(column) => column.len(),
        }
    }

    /// Whether the column has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words; `None` if the column holds byte strings.
    #[must_use]
    pub fn as_words(&self) -> Option<&WordColumn> {
        match self {
            Self::Words(column) => Some(column),
            Self::Bytes(_) => None,
        }
    }

    /// The byte strings; `None` if the column holds words.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&BytesColumn> {
        match self {
            Self::Bytes(column) => Some(column),
            Self::Words(_) => None,
        }
    }

    /// These rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Self::Words(column) => Self::Words(WordColumn {
                words: gather_words(&column.words, rows),
                validity: column.validity.gather(rows),
            }),
            Self::Bytes(column) => Self::Bytes(column.gather(rows)),
        }
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        match self {
            Self::Words(column) => column.push(None),
            Self::Bytes(column) => column.push(None),
        }
    }

    /// Appends row `i` of `other`. Both must have the same shape.
    ///
    /// # Panics
    /// If one column holds words and the other byte strings.
    pub fn push_from(&mut self, other: &Self, i: usize) {
        match (self, other) {
            (Self::Words(to), Self::Words(from)) => to.push(from.get(i)),
            (Self::Bytes(to), Self::Bytes(from)) => {
                to.push(from.validity.is_valid(i).then(|| from.get(i)));
            }
            _ => unreachable!("columns of one position have one shape"),
        }
    }

    /// Removes all rows and keeps the allocated memory.
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

fn gather_words(words: &[u64], rows: &[u32]) -> Vec<u64> {
    rows.iter().map(|&row| words[row as usize]).collect()
}

/// A column of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One vector for each word of the key. All have the same length, except that vectors outside
    /// of the projection are empty.
    Words(Vec<Vec<u64>>),
    /// Byte strings.
    Bytes(BytesColumn),
}

impl Keys {
    /// An empty column of keys of this shape.
    #[must_use]
    pub fn new(shape: KeyShape) -> Self {
        match shape {
            KeyShape::Words(n) => Self::Words(vec![Vec::new(); n as usize]),
            KeyShape::Bytes => Self::Bytes(BytesColumn::default()),
        }
    }

    /// Number of rows: the length of the longest vector.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Words(columns) => columns.iter().map(Vec::len).max().unwrap_or(0),
            Self::Bytes(column) => column.len(),
        }
    }

    /// Whether the column has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of row `i`. Copying a key of words needs no allocation.
    #[must_use]
    pub fn get(&self, i: usize) -> Key {
        match self {
            Self::Words(columns) => {
                let mut words = [0; crate::key::WORDS_MAX];
                for (word, column) in words.iter_mut().zip(columns) {
                    *word = column[i];
                }
                Key::Words { words, len: columns.len() as u8 }
            }
            Self::Bytes(column) => Key::bytes(column.get(i)),
        }
    }

    /// These rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Self::Words(columns) => {
                Self::Words(columns.iter().map(|words| gather_words(words, rows)).collect())
            }
            Self::Bytes(column) => Self::Bytes(column.gather(rows)),
        }
    }

    /// Appends a complete key.
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

    /// Removes all rows and keeps the allocated memory.
    pub fn clear(&mut self) {
        match self {
            Self::Words(columns) => columns.iter_mut().for_each(Vec::clear),
            Self::Bytes(column) => column.clear(),
        }
    }
}

/// The columns that a read fills. Other columns stay empty in the batch, except those that share a
/// bit with a requested one.
///
/// # Why bits are shared
/// Each read passes its projection by value through all layers. One word has a bit for each of up
/// to 64 columns. With more columns some share a bit, and a read of one of them also fills the
/// others. So reads of a relation of `n` columns fill groups of `n / 64` columns, and narrow
/// relations do not pay for wide ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Bit `i` selects word `i` of the key; bit 0 selects a byte-string key.
    pub keys: u8,
    /// Bit `i % 64` selects value column `i`.
    pub values: u64,
}

impl Projection {
    /// Every column.
    pub const ALL: Self = Self { keys: u8::MAX, values: u64::MAX };
    /// No columns: only the number of rows.
    pub const COUNT: Self = Self { keys: 0, values: 0 };
    /// All key columns and no value columns.
    pub const KEYS: Self = Self { keys: u8::MAX, values: 0 };

    /// Whether word `i` of the key is requested.
    #[must_use]
    pub fn key(self, i: usize) -> bool {
        self.keys >> i & 1 == 1
    }

    /// Whether value column `i` is requested, or another one that shares its bit.
    #[must_use]
    pub fn value(self, i: usize) -> bool {
        self.values >> (i % 64) & 1 == 1
    }

    /// Requests value column `i` too.
    pub fn want_value(&mut self, i: usize) {
        self.values |= 1 << (i % 64);
    }
}

/// Rows in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Number of rows, even if the projection left out every column.
    pub rows: usize,
    /// Key columns.
    pub keys: Keys,
    /// Value columns, in the order of the shape.
    pub values: Vec<Column>,
}

impl Batch {
    /// An empty batch of this shape.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        Self {
            rows: 0,
            keys: Keys::new(shape.key),
            values: shape.values.iter().map(|&shape| Column::new(shape)).collect(),
        }
    }

    /// Removes all rows and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.keys.clear();
        self.values.iter_mut().for_each(Column::clear);
    }

    /// Appends the rows of a batch of the same shape. Every column must be filled.
    pub fn append(&mut self, more: &Self) {
        match (&mut self.keys, &more.keys) {
            (Keys::Words(columns), Keys::Words(more)) => {
                columns.iter_mut().zip(more).for_each(|(column, more)| column.extend(more));
            }
            (Keys::Bytes(column), Keys::Bytes(more)) => column.append(more, 0..more.len()),
            _ => unreachable!("batches of one shape"),
        }
        for (column, more) in self.values.iter_mut().zip(&more.values) {
            match (column, more) {
                (Column::Words(column), Column::Words(more)) => {
                    let rows = column.words.len();
                    column.validity.extend(rows, more.words.len(), |i| more.validity.bits(i));
                    column.words.extend(&more.words);
                }
                (Column::Bytes(column), Column::Bytes(more)) => column.append(more, 0..more.len()),
                _ => unreachable!("batches of one shape"),
            }
        }
        self.rows += more.rows;
    }

    /// These rows, in this order. Every column must be filled.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        Self {
            rows: rows.len(),
            keys: self.keys.gather(rows),
            values: self.values.iter().map(|column| column.gather(rows)).collect(),
        }
    }

    /// Total length of the byte strings in keys and values, in bytes.
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

    /// Word `i` of the keys; empty for byte-string keys.
    #[must_use]
    pub fn key_words(&self, i: usize) -> &[u64] {
        match &self.keys {
            Keys::Words(columns) => columns.get(i).map_or(&[], Vec::as_slice),
            Keys::Bytes(_) => &[],
        }
    }

    /// Words of value column `i`; empty if it holds byte strings.
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
    fn gathered_rows_are_those_pushed_one_by_one() {
        let shape = Shape {
            key: KeyShape::Words(2),
            values: vec![ColumnShape::Word { merge: None }, ColumnShape::Bytes],
        };
        for has_nulls in [false, true] {
            let mut all = Batch::new(&shape);
            for i in 0..200_u64 {
                let is_valid = !has_nulls || i % 3 > 0;
                all.keys.push(KeyRef::Words(&[i, i * i]));
                match &mut all.values[0] {
                    Column::Words(words) => words.push(is_valid.then_some(i)),
                    Column::Bytes(_) => {}
                }
                match &mut all.values[1] {
                    Column::Bytes(texts) => {
                        texts.push(is_valid.then_some(&[7; 300][..i as usize]));
                    }
                    Column::Words(_) => {}
                }
                all.rows += 1;
            }
            let picked = [199, 0, 5, 5, 66, 64, 63, 3];
            let mut want = Batch::new(&shape);
            for &row in &picked {
                want.keys.push(all.keys.get(row as usize).as_ref());
                let columns = want.values.iter_mut().zip(&all.values);
                columns.for_each(|(to, from)| to.push_from(from, row as usize));
                want.rows += 1;
            }
            assert_eq!(all.gather(&picked), want);
            assert_eq!(all.gather(&[]).rows, 0);
            let rows: Vec<u32> = (0..200).collect();
            let mut joined = all.gather(&rows[..70]);
            joined.append(&all.gather(&rows[70..]));
            assert_eq!(joined, all);
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
