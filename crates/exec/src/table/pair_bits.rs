//! A bitmap for a set of pairs with few distinct values on each side.
//!
//! # Why
//! A recursion over a graph of some thousand vertices derives each pair of them many times, and
//! asks each time whether it has it already. A bit of a matrix answers with one load; a hash table
//! takes four that miss the caches: control bytes, row number and both cells. Bit matrices for
//! closures and same generation: Fan et al., "Scaling-up in-memory Datalog processing", PVLDB 2019.
//!
//! # How values are numbered
//! By the words of their cells, where these are dense: small integers by themselves, other values
//! by their entry in the interner. Otherwise in the order in which they come, by a hash table: it
//! has a value once for thousands of pairs, so it stays in the nearest caches.
//!
//! # Invariants
//! 1. Each line starts with a word of its own.
//! 2. The number of a value never changes, except that a range may begin earlier.

use crate::value::cell::Cell;
use hashbrown::HashMap;

/// Rows below which a hash table is small enough.
const ROWS_MIN: usize = 256;

/// Most bits per row, which take twice the bytes of a row's two cells. With more, a query would
/// reach its memory limit early.
const BITS_A_ROW: u64 = 256;

/// The highest bit of a small integer's word: flipped, words are in the order of their integers.
const SIGN: u64 = 1 << 49;

/// A bit matrix: a line for each value of the first column, a bit of it for each of the second.
#[derive(Clone, Debug)]
pub(super) struct PairBits {
    lines: Side,
    /// Its length is a multiple of 64.
    bits: Side,
    words: Vec<u64>,
}

/// The numbers of the values of a column.
#[derive(Clone, Debug)]
struct Side {
    numbering: Numbering,
    /// Values that fit.
    length: u64,
}

#[derive(Clone, Debug)]
enum Numbering {
    /// By their words, from this one on.
    Range(u64),
    /// In the order in which they came.
    Order(HashMap<Cell, u32, foldhash::fast::FixedState>),
}

/// The word of a value, in the order of integers.
#[inline]
fn word(cell: Cell) -> u64 {
    cell.word() ^ SIGN
}

/// Most bits for a set of this many rows.
fn bits_max(rows: usize) -> u64 {
    (rows.max(ROWS_MIN) as u64).saturating_mul(BITS_A_ROW)
}

impl Side {
    /// The range of a column's words. The column is not empty.
    fn range(column: &[Cell]) -> Option<Self> {
        let words = || column.iter().map(|&cell| word(cell));
        let (first, last) = (words().min()?, words().max()?);
        let length = (last - first).checked_add(1)?;
        Some(Self { numbering: Numbering::Range(first), length })
    }

    /// The values of two columns in their order; `None` as soon as a matrix of them would have more
    /// than `most` bits.
    fn orders(columns: [&[Cell]; 2], most: u64) -> Option<[Self; 2]> {
        let mut numbers = [HashMap::default(), HashMap::default()];
        for (&a, &b) in columns[0].iter().zip(columns[1]) {
            for (numbers, cell) in numbers.iter_mut().zip([a, b]) {
                let next = numbers.len() as u32;
                numbers.entry(cell).or_insert(next);
            }
            let [lines, bits] = numbers.each_ref().map(|numbers| numbers.len() as u64);
            if lines * bits > most {
                return None;
            }
        }
        Some(numbers.map(|numbers| {
            let length = numbers.len() as u64;
            Self { numbering: Numbering::Order(numbers), length }
        }))
    }

    #[inline]
    fn number(&self, cell: Cell) -> Option<u64> {
        match &self.numbering {
            Numbering::Range(first) => {
                Some(word(cell).wrapping_sub(*first)).filter(|&number| number < self.length)
            }
            Numbering::Order(numbers) => numbers.get(&cell).map(|&number| number.into()),
        }
    }

    /// How far the first number moves down, and the length, so that a value fits: as they are, or
    /// the length grows by at least its part `share`. The first number moves by a multiple of 64.
    fn reaching(&self, cell: Cell, share: u64) -> Option<(u64, u64)> {
        let more = self.length / share;
        if self.number(cell).is_some() {
            return Some((0, self.length));
        }
        match &self.numbering {
            Numbering::Order(numbers) if (numbers.len() as u64) < self.length => {
                Some((0, self.length))
            }
            Numbering::Order(_) => Some((0, self.length.checked_add(more.max(1))?)),
            Numbering::Range(first) if word(cell) < *first => {
                let down = (first - word(cell)).max(more).checked_next_multiple_of(64)?;
                first.checked_sub(down)?;
                Some((down, self.length.checked_add(down)?))
            }
            Numbering::Range(first) => {
                let wanted = (word(cell) - first).checked_add(1)?;
                Some((0, wanted.max(self.length.checked_add(more)?)))
            }
        }
    }

    /// Takes a value in, once there is room for it.
    fn admit(&mut self, cell: Cell, down: u64, length: u64) {
        self.length = length;
        match &mut self.numbering {
            Numbering::Range(first) => *first -= down,
            Numbering::Order(numbers) => {
                let next = numbers.len() as u32;
                numbers.entry(cell).or_insert(next);
            }
        }
    }

    fn bytes(&self) -> usize {
        match &self.numbering {
            Numbering::Range(_) => 0,
            Numbering::Order(numbers) => 17 * numbers.capacity(),
        }
    }
}

impl PairBits {
    /// Whether to try a matrix at this number of rows: only now and then.
    #[inline]
    pub(super) fn is_time(rows: usize) -> bool {
        rows >= ROWS_MIN && rows.is_power_of_two()
    }

    /// The matrix of two columns of equal length; `None` where they have too many values.
    pub(super) fn of(columns: [&[Cell]; 2]) -> Option<Self> {
        let rows = columns[0].len();
        let by_words = || Self::empty(Side::range(columns[0])?, Side::range(columns[1])?, rows);
        let by_order = || {
            let [lines, bits] = Side::orders(columns, bits_max(rows))?;
            Self::empty(lines, bits, rows)
        };
        let mut matrix = by_words().or_else(by_order)?;
        for (&a, &b) in columns[0].iter().zip(columns[1]) {
            let place = matrix.place(a, b)?;
            matrix.words[(place / 64) as usize] |= 1 << (place % 64);
        }
        Some(matrix)
    }

    /// An empty matrix; `None` if it would have too many bits for this many rows.
    fn empty(lines: Side, mut bits: Side, rows: usize) -> Option<Self> {
        bits.length = bits.length.checked_next_multiple_of(64)?;
        let all = lines.length.checked_mul(bits.length)?;
        let is_dense = all <= bits_max(rows);
        is_dense.then(|| Self { lines, bits, words: vec![0; (all / 64) as usize] })
    }

    /// The number of a pair's bit, if both values have numbers.
    #[inline]
    fn place(&self, a: Cell, b: Cell) -> Option<u64> {
        Some(self.lines.number(a)? * self.bits.length + self.bits.number(b)?)
    }

    #[inline]
    fn is_set(&self, place: u64) -> bool {
        self.words[(place / 64) as usize] >> (place % 64) & 1 == 1
    }

    /// Whether a pair is in the set.
    #[inline]
    pub(super) fn has(&self, a: Cell, b: Cell) -> bool {
        self.place(a, b).is_some_and(|place| self.is_set(place))
    }

    /// The numbers of the pairs that are not in the set, of two columns of equal length. Has no
    /// branch on what it finds, which would be mispredicted, so its cache misses overlap.
    pub(super) fn missing(&self, a: &[Cell], b: &[Cell]) -> Vec<u32> {
        let mut missing = vec![0_u32; a.len()];
        let mut len = 0;
        // Joins make runs of equal first values.
        let mut line = None;
        let mut last = None;
        for (row, (&a, &b)) in a.iter().zip(b).enumerate() {
            if last != Some(a) {
                (last, line) = (Some(a), self.lines.number(a));
            }
            let place = line.zip(self.bits.number(b));
            let is_there =
                place.is_some_and(|(line, bit)| self.is_set(line * self.bits.length + bit));
            missing[len] = row as u32;
            len += usize::from(!is_there);
        }
        missing.truncate(len);
        missing
    }

    /// Adds a pair; returns whether it is new, or `None` where the matrix would have too many bits.
    /// The set has `rows` rows.
    #[inline]
    pub(super) fn put(&mut self, a: Cell, b: Cell, rows: usize) -> Option<bool> {
        let place = match self.place(a, b) {
            Some(place) => place,
            None => {
                self.grow(a, b, rows)?;
                self.place(a, b)?
            }
        };
        let (word, bit) = (&mut self.words[(place / 64) as usize], 1 << (place % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        Some(is_new)
    }

    /// Gives numbers to the values of a pair; `None` where the matrix would have too many bits. A
    /// side that has to grow grows by half at least, so that a value costs a constant number of
    /// copies.
    #[cold]
    fn grow(&mut self, a: Cell, b: Cell, rows: usize) -> Option<()> {
        let sizes = |share: u64| {
            let (down, lines) = self.lines.reaching(a, share)?;
            let (right, bits) = self.bits.reaching(b, share)?;
            let bits = bits.checked_next_multiple_of(64)?;
            let all = lines.checked_mul(bits).filter(|&all| all <= bits_max(rows))?;
            Some((down, lines, right, bits, all))
        };
        let (down, lines, right, bits, all) = sizes(1).or_else(|| sizes(2))?;
        if (lines, bits) != (self.lines.length, self.bits.length) {
            let mut words = vec![0; (all / 64) as usize];
            let (own, to) = (self.bits.length as usize / 64, bits as usize / 64);
            for (line, from) in self.words.chunks_exact(own.max(1)).enumerate() {
                let start = (line + down as usize) * to + right as usize / 64;
                words[start..start + own].copy_from_slice(from);
            }
            self.words = words;
        }
        self.lines.admit(a, down, lines);
        self.bits.admit(b, right, bits);
        Some(())
    }

    /// Approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        8 * self.words.capacity() + self.lines.bytes() + self.bits.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn cell(int: i64) -> Cell {
        Cell::small_int(int).unwrap()
    }

    proptest! {
        #[test]
        fn pairs_are_a_set_until_they_have_too_many_values(
            first in prop::collection::vec((-50_i64..50, -50_i64..50), 1..20),
            more in prop::collection::vec((-500_i64..500, -500_i64..500), 0..80),
            asked in prop::collection::vec((-500_i64..500, -500_i64..500), 0..80),
            times in prop::sample::select(vec![1_i64, 1_000_003]),
        ) {
            let column = |pairs: &[(i64, i64)], side: fn(&(i64, i64)) -> i64| {
                pairs.iter().map(|pair| cell(side(pair) * times)).collect::<Vec<_>>()
            };
            let (a, b) = (column(&first, |pair| pair.0), column(&first, |pair| pair.1));
            let mut matrix = PairBits::of([&a, &b]).unwrap();
            let mut want: BTreeSet<(i64, i64)> = first.iter().copied().collect();
            for (a, b) in more {
                if let Some(is_new) = matrix.put(cell(a * times), cell(b * times), ROWS_MIN) {
                    prop_assert_eq!(is_new, want.insert((a, b)));
                }
            }
            prop_assert!(want.iter().all(|&(a, b)| matrix.has(cell(a * times), cell(b * times))));
            let ones: u32 = matrix.words.iter().map(|word| word.count_ones()).sum();
            prop_assert_eq!(ones as usize, want.len());
            let missing = matrix.missing(&column(&asked, |pair| pair.0), &column(&asked, |pair| pair.1));
            let wanted = (0..asked.len()).filter(|&row| !want.contains(&asked[row]));
            prop_assert!(missing.into_iter().map(|row| row as usize).eq(wanted));
            prop_assert!(!matrix.has(Cell::NULL, cell(0)));
        }
    }

    #[test]
    fn a_matrix_grows_in_all_directions_and_keeps_its_pairs() {
        for times in [1, 1 << 30] {
            let mut matrix = PairBits::of([&[cell(0), cell(5 * times)], &[cell(0), cell(0)]]);
            let matrix = matrix.as_mut().unwrap();
            let mut want = vec![(0, 0), (5, 0)];
            for step in 1..100 {
                for (a, b) in [(step, -step), (-step, step), (step, step), (-step, -step)] {
                    let is_new = matrix.put(cell(a * times), cell(b * times), 1 << 12);
                    assert_eq!(is_new, Some(true), "{a} {b}");
                    want.push((a, b));
                }
            }
            assert!(want.iter().all(|&(a, b)| matrix.has(cell(a * times), cell(b * times))));
            assert!(!matrix.has(cell(times), cell(2 * times)));
        }
    }

    #[test]
    fn a_matrix_that_would_be_nearly_empty_is_none() {
        let column: Vec<Cell> = (0..ROWS_MIN as i64 * 8).map(cell).collect();
        assert!(PairBits::of([&column, &column]).is_none());
        let mut matrix = PairBits::of([&column[..9], &column[..9]]).unwrap();
        assert_eq!(matrix.put(cell(1 << 40), cell(0), ROWS_MIN), None);
    }
}
