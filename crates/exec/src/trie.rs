//! Rows of a stored relation in memory, in the order of some of their columns: what joins that ask for much of it read.
//!
//! # Why
//! A look-up in the store costs a few hundred nanoseconds a key, however many keys are asked at once; here it is two loads. A query
//! that asks for more than a small part of a relation is quicker when it reads the relation once. Each level of the order is sorted, so that
//! the values that several relations agree on are found by walking through their lists together: the leapfrog join (Veldhuizen, ICDT 2014), and
//! the extension by intersection of generic join (Ngo, Ré and Rudra, SIGMOD Record 2013).
//!
//! # Layout
//! Compressed sparse rows. The first column is no column but a place in `offsets`, by its number where it holds whole numbers that lie close
//! together, by a hash table elsewhere; the others stand row after row.
//!
//! # Invariants
//! 1. Rows of one first value ascend by the words of the other columns, one after the other. The order of words is not the order of values,
//!    but one order for all tries of a query, which is all that walking together needs.
//! 2. Rows stand there as often as the relation has them: a trie of some columns is a bag.

use crate::cell::{Cell, small_range};
use hashbrown::HashMap;
use std::ops::Range;

/// Rows that a trie may have.
pub(crate) const ROWS_MAX: usize = u32::MAX as usize - 1;

/// Below this many rows from the start a list is walked, not halved.
const WALKED: usize = 8;

/// Rows in the order of their columns.
#[derive(Debug)]
pub(crate) struct Trie {
    first: First,
    /// Where the rows of each first value begin; one more at the end.
    offsets: Vec<u32>,
    /// The other columns.
    rest: Vec<Vec<Cell>>,
    rows: usize,
    are_words: bool,
}

/// How the place of a first value is found.
#[derive(Debug)]
enum First {
    /// It is the number less this one.
    Dense(i64),
    /// By its cell.
    Sparse(HashMap<Cell, u32, foldhash::fast::FixedState>),
}

impl Trie {
    /// The trie of some columns of equal length, at least one.
    pub(crate) fn new(columns: Vec<Vec<Cell>>) -> Self {
        let are_words = columns.iter().flatten().all(|cell| cell.is_word());
        let mut columns = columns.into_iter();
        let first = columns.next().unwrap_or_default();
        let rows = first.len();
        let mut rest: Vec<Vec<Cell>> = columns.collect();
        let mut places = Vec::with_capacity(rows);
        let (first, groups) = match dense(&first) {
            Some((base, groups)) => {
                let number = |cell: &Cell| cell.as_small_int().unwrap_or(base).wrapping_sub(base);
                places.extend(first.iter().map(|cell| number(cell) as u32));
                (First::Dense(base), groups)
            }
            None => {
                let mut known = HashMap::with_hasher(foldhash::fast::FixedState::default());
                for cell in first {
                    let next = known.len() as u32;
                    places.push(*known.entry(cell).or_insert(next));
                }
                let groups = known.len();
                (First::Sparse(known), groups)
            }
        };
        let mut offsets = vec![0_u32; groups + 1];
        places.iter().for_each(|&place| offsets[place as usize + 1] += 1);
        for place in 0..groups {
            offsets[place + 1] += offsets[place];
        }
        if !places.is_sorted() {
            // Counting sort; stable, so that what was in order stays in order.
            let mut next = offsets.clone();
            let to: Vec<u32> = places
                .iter()
                .map(|&place| {
                    let next = &mut next[place as usize];
                    *next += 1;
                    *next - 1
                })
                .collect();
            for column in &mut rest {
                let mut sorted = vec![Cell::NULL; rows];
                to.iter().zip(&*column).for_each(|(&to, &cell)| sorted[to as usize] = cell);
                *column = sorted;
            }
        }
        let mut trie = Self { first, offsets, rest, rows, are_words };
        trie.sort_groups();
        trie
    }

    /// Sorts the rows of each first value by the other columns.
    fn sort_groups(&mut self) {
        let (mut order, mut sorted) = (Vec::new(), Vec::new());
        for place in 0..self.offsets.len() - 1 {
            let rows = self.offsets[place] as usize..self.offsets[place + 1] as usize;
            let rest = &self.rest;
            let words = |row: usize| rest.iter().map(move |column| column[row].word());
            let before = |a: usize, b: usize| words(a).cmp(words(b));
            if rows.clone().skip(1).all(|row| before(row - 1, row).is_le()) {
                continue;
            }
            order.clear();
            order.extend(rows.clone());
            order.sort_by(|&a, &b| before(a, b));
            for column in &mut self.rest {
                sorted.clear();
                sorted.extend(order.iter().map(|&row| column[row]));
                column[rows.clone()].copy_from_slice(&sorted);
            }
        }
    }

    /// The rows whose first column is this.
    #[inline]
    pub(crate) fn group(&self, first: Cell) -> Range<usize> {
        let place = match &self.first {
            First::Dense(base) => match first.as_small_int() {
                Some(int) => usize::try_from(int.wrapping_sub(*base)).unwrap_or(usize::MAX),
                None => return 0..0,
            },
            First::Sparse(known) => match known.get(&first) {
                Some(&place) => place as usize,
                None => return 0..0,
            },
        };
        // One past the last has no end.
        match self.offsets.get(place..place.saturating_add(2)) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        }
    }

    /// The rows whose first columns are `key`.
    #[inline]
    pub(crate) fn find(&self, key: impl Iterator<Item = Cell>) -> Range<usize> {
        let mut key = key;
        let Some(first) = key.next() else { return 0..self.rows };
        let mut rows = self.group(first);
        for (column, cell) in self.rest.iter().zip(key) {
            if rows.is_empty() {
                break;
            }
            let start = rows.start + before(&column[rows.clone()], cell.word());
            let equal = after(&column[start..rows.end], cell.word());
            rows = start..start + equal;
        }
        rows
    }

    /// Column `i` of the relation's columns that the trie was made of; the first has no cells of its own.
    #[inline]
    pub(crate) fn column(&self, i: usize) -> &[Cell] {
        &self.rest[i - 1]
    }

    /// Whether it means the same in every query.
    pub(crate) fn are_words(&self) -> bool {
        self.are_words
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let sparse = match &self.first {
            First::Dense(_) => 0,
            First::Sparse(known) => 17 * known.capacity(),
        };
        let rest: usize = self.rest.iter().map(|column| 8 * column.capacity()).sum();
        (sparse + 4 * self.offsets.capacity() + rest) as u64
    }
}

/// The least number and how many there are up to the greatest, where all cells are whole numbers that lie close together.
fn dense(cells: &[Cell]) -> Option<(i64, usize)> {
    let (least, greatest) = small_range(cells)?;
    let groups = usize::try_from(greatest.checked_sub(least)?.checked_add(1)?).ok()?;
    (groups <= cells.len().saturating_mul(4) + 1024).then_some((least, groups))
}

/// How many of the ascending cells come before a word.
#[inline]
pub(crate) fn before(cells: &[Cell], word: u64) -> usize {
    if let Some(found) = cells.iter().take(WALKED).position(|cell| cell.word() >= word) {
        return found;
    }
    gallop(cells, WALKED.min(cells.len()), |cell| cell.word() < word)
}

/// How many of the ascending cells come before or are a word.
#[inline]
fn after(cells: &[Cell], word: u64) -> usize {
    if let Some(found) = cells.iter().take(WALKED).position(|cell| cell.word() > word) {
        return found;
    }
    gallop(cells, WALKED.min(cells.len()), |cell| cell.word() <= word)
}

/// How many of the first cells are `is_before`; those up to `from` are. Steps double until one is past (Bentley and Yao, Information
/// Processing Letters 1976): what is near is found soon, however long the list is.
fn gallop(cells: &[Cell], from: usize, is_before: impl Fn(&Cell) -> bool) -> usize {
    let (mut low, mut step) = (from, WALKED);
    while low + step < cells.len() && is_before(&cells[low + step]) {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(cells.len());
    low + cells[low..high].partition_point(is_before)
}

/// Calls `found` for each value that stands in all lists, which ascend, with how often that is so: the product of how often each list has it.
pub(crate) fn intersect(lists: &mut [&[Cell]], mut found: impl FnMut(Cell, u64)) {
    let Some(shortest) = (0..lists.len()).min_by_key(|&i| lists[i].len()) else { return };
    lists.swap(0, shortest);
    let Some((lead, others)) = lists.split_first_mut() else { return };
    'values: while let Some(&cell) = lead.first() {
        let times = after(lead, cell.word());
        *lead = &lead[times..];
        let mut times = times as u64;
        for other in &mut *others {
            *other = &other[before(other, cell.word())..];
            let there = after(other, cell.word());
            if there == 0 {
                if other.is_empty() {
                    return;
                }
                continue 'values;
            }
            *other = &other[there..];
            times = times.saturating_mul(there as u64);
        }
        found(cell, times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(value: i64) -> Cell {
        match value % 7 {
            // Some floats: the first column is then not dense.
            5 => Cell::plain_float(value as f64).unwrap(),
            _ => Cell::small_int(value).unwrap(),
        }
    }

    proptest! {
        #[test]
        fn a_trie_finds_the_rows_of_any_prefix(
            rows in prop::collection::vec((-4_i64..9, -4_i64..9, 0_i64..3), 0..80),
            asked in (-5_i64..10, -5_i64..10),
            stretch in prop::sample::select(vec![1_i64, 1_000_000]),
        ) {
            let columns = [
                rows.iter().map(|row| cell(row.0 * stretch)).collect::<Vec<_>>(),
                rows.iter().map(|row| cell(row.1)).collect(),
                rows.iter().map(|row| cell(row.2)).collect(),
            ];
            let trie = Trie::new(columns.to_vec());
            let (a, b) = (cell(asked.0 * stretch), cell(asked.1));
            let by_one = rows.iter().enumerate().filter(|&(i, _)| columns[0][i] == a);
            prop_assert_eq!(trie.find([a].into_iter()).len(), by_one.count());
            let mut by_two: Vec<u64> = (0..rows.len())
                .filter(|&i| columns[0][i] == a && columns[1][i] == b)
                .map(|i| columns[2][i].word())
                .collect();
            let found = trie.find([a, b].into_iter());
            let mut third: Vec<u64> = trie.column(2)[found].iter().map(|cell| cell.word()).collect();
            by_two.sort_unstable();
            third.sort_unstable();
            prop_assert_eq!(third, by_two);
            prop_assert_eq!(trie.find(std::iter::empty()).len(), rows.len());
        }

        #[test]
        fn an_intersection_is_what_stands_in_every_list(
            lists in prop::collection::vec(prop::collection::vec(0_i64..60, 0..90), 1..4),
        ) {
            let lists: Vec<Vec<Cell>> = lists
                .into_iter()
                .map(|mut list| {
                    list.sort_unstable();
                    list.into_iter().map(|int| Cell::small_int(int).unwrap()).collect()
                })
                .collect();
            let mut found = Vec::new();
            let mut slices: Vec<&[Cell]> = lists.iter().map(Vec::as_slice).collect();
            intersect(&mut slices, |cell, times| found.push((cell, times)));
            let mut want = Vec::new();
            for int in 0..60 {
                let cell = Cell::small_int(int).unwrap();
                let times = |list: &Vec<Cell>| list.iter().filter(|&&one| one == cell).count() as u64;
                let times: u64 = lists.iter().map(times).product();
                if times > 0 {
                    want.push((cell, times));
                }
            }
            prop_assert_eq!(found, want);
        }
    }
}
