//! Tries: rows of a stored relation in memory, in the order of some of their columns, for joins
//! that need a large part of it.
//!
//! `operator/trie_build.rs` builds them, `operator/leapfrog_join.rs` reads them.
//!
//! # Why
//! A lookup in the store costs a few hundred nanoseconds per key, however many keys a call has; in
//! a trie it is two loads. A query that needs more than a small part of a relation is faster when
//! it reads the relation once. Each level is sorted, so that values common to several relations are
//! found by walking through their lists together: the leapfrog join (Veldhuizen, ICDT 2014), and
//! the extension by intersection of generic join (Ngo, Ré and Rudra, SIGMOD Record 2013).
//!
//! # Layout
//! Compressed sparse rows, with a patch for groups that have changed since: a group has the rows
//! with one first value, and a cached trie is patched while its relation changes, not rebuilt. The
//! first column is not stored but is an index into `offsets`: by its integer if those are dense,
//! otherwise by a hash table. The other columns are stored row after row.
//!
//! # Invariants
//! 1. The rows of a group are ascending by the words of the other columns. The order of words is
//!    not that of values, but it is the same in all tries of a query, which is all that
//!    intersection needs.
//! 2. Rows occur as often as in the relation: a trie of some columns is a bag.

pub mod cache;

use crate::error::Result;
use crate::limits::Check;
use crate::value::cell::{Cell, Interner, SharedValues, SharedVersion, small_range};
use base::{STEPS, sort_in_pieces};
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Most rows of a trie.
pub(crate) const ROWS_MAX: usize = u32::MAX as usize - 1;

/// Rows of the base per row or group of a patch, ...
const PATCHED_SHARE: usize = 8;
/// ... within these bounds. A patch is copied if a running query uses the trie.
const PATCHED_MIN: usize = 1 << 10;
const PATCHED_MAX: usize = 1 << 15;

/// Bits in the filter per group that a patch may have.
const MARKS_A_GROUP: usize = 8;

/// The first elements of a list are searched linearly.
const WALKED: usize = 8;

/// Rows in the order of their columns.
#[derive(Clone, Debug)]
pub struct Trie {
    base: Arc<Base>,
    patch: Patch,
    /// The shared values that its cells may be of.
    shared: Option<SharedVersion>,
}

/// The rows that a trie was built from.
#[derive(Debug)]
struct Base {
    first: First,
    /// Where each group starts, and the end of the last.
    offsets: Vec<u32>,
    /// The other columns.
    rest: Vec<Vec<Cell>>,
    rows: usize,
    are_words: bool,
}

/// The rows of changed groups, which replace those of the base.
#[derive(Clone, Debug, Default)]
struct Patch {
    /// A filter: a bit for each first value in `groups`, which other values may share. Most lookups
    /// are of unchanged groups, which it tells from the nearest caches. The number of bits is a
    /// power of two.
    marks: Vec<u64>,
    groups: HashMap<Cell, (u32, u32), foldhash::fast::FixedState>,
    /// Columns as in the base. Rows of groups that were replaced again stay for a while.
    rest: Vec<Vec<Cell>>,
    rows: usize,
}

impl Patch {
    /// Position of a first value's bit, by Fibonacci hashing (Knuth). There must be bits.
    #[inline]
    fn mark_of(&self, first: Cell) -> (usize, u64) {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let bits = 64 * self.marks.len() as u64;
        let place = first.word().wrapping_mul(GOLDEN) >> (64 - bits.trailing_zeros());
        (place as usize / 64, 1 << (place % 64))
    }

    /// The rows of a first value, if its group is patched.
    #[inline]
    fn group(&self, first: Cell) -> Option<Range<usize>> {
        if self.marks.is_empty() {
            return None;
        }
        let (word, bit) = self.mark_of(first);
        if self.marks[word] & bit == 0 {
            return None;
        }
        let &(start, end) = self.groups.get(&first)?;
        Some(start as usize..end as usize)
    }

    /// Replaces the rows of a first value.
    fn put(&mut self, first: Cell, rows: &Range<usize>, most: usize) {
        if self.marks.is_empty() {
            self.marks = vec![0; (most * MARKS_A_GROUP).next_power_of_two().div_ceil(64)];
        }
        let (word, bit) = self.mark_of(first);
        self.marks[word] |= bit;
        self.groups.insert(first, (rows.start as u32, rows.end as u32));
    }

    /// Removes rows of groups that were replaced again.
    fn shrink(&mut self) {
        let mut rest = vec![Vec::new(); self.rest.len()];
        let mut rows = 0;
        for group in self.groups.values_mut() {
            let range = group.0 as usize..group.1 as usize;
            for (to, from) in rest.iter_mut().zip(&self.rest) {
                to.extend_from_slice(&from[range.clone()]);
            }
            *group = (rows as u32, (rows + range.len()) as u32);
            rows += range.len();
        }
        (self.rest, self.rows) = (rest, rows);
    }
}

/// A range of rows found in a trie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    range: Range<usize>,
    is_patched: bool,
}

impl Rows {
    /// Number of rows.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }
}

/// How the index of a first value is found.
#[derive(Debug)]
enum First {
    /// It is the integer minus this one.
    Dense(i64),
    /// By a hash table.
    Sparse(HashMap<Cell, u32, foldhash::fast::FixedState>),
}

/// Numbers the first values. Returns how a number is found, how many there are, and the number of
/// each row.
fn number_firsts(first: &[Cell], check: Check<'_>) -> Result<(First, usize, Vec<u32>)> {
    let mut places = Vec::with_capacity(first.len());
    if let Some((base, groups)) = dense(first) {
        let number = |cell: &Cell| cell.as_small_int().unwrap_or(base).wrapping_sub(base);
        places.extend(first.iter().map(|cell| number(cell) as u32));
        return Ok((First::Dense(base), groups, places));
    }
    let mut known = HashMap::with_hasher(foldhash::fast::FixedState::default());
    for piece in first.chunks(STEPS) {
        check()?;
        for &cell in piece {
            let next = known.len() as u32;
            places.push(*known.entry(cell).or_insert(next));
        }
    }
    let groups = known.len();
    Ok((First::Sparse(known), groups, places))
}

/// Moves the rows of each group together, by a counting sort; `places` are the groups of the rows,
/// and `offsets` where each begins. It is stable, so sorted input stays sorted.
fn collect_groups(
    rest: &mut [Vec<Cell>],
    places: &[u32],
    offsets: &[u32],
    check: Check<'_>,
) -> Result<()> {
    let mut next = offsets.to_vec();
    let mut to: Vec<u32> = Vec::with_capacity(places.len());
    for piece in places.chunks(STEPS) {
        check()?;
        to.extend(piece.iter().map(|&place| {
            let next = &mut next[place as usize];
            *next += 1;
            *next - 1
        }));
    }
    for column in rest {
        let mut sorted = vec![Cell::NULL; places.len()];
        for (to, cells) in to.chunks(STEPS).zip(column.chunks(STEPS)) {
            check()?;
            to.iter().zip(cells).for_each(|(&to, &cell)| sorted[to as usize] = cell);
        }
        *column = sorted;
    }
    Ok(())
}

impl Trie {
    /// Builds the trie of columns of equal length, at least one.
    ///
    /// # Errors
    /// Those of `check`.
    pub(crate) fn new(columns: Vec<Vec<Cell>>, check: Check<'_>) -> Result<Self> {
        check()?;
        let are_words = columns.iter().flatten().all(|cell| cell.is_word());
        let mut columns = columns.into_iter();
        let first = columns.next().unwrap_or_default();
        let rows = first.len();
        let mut rest: Vec<Vec<Cell>> = columns.collect();
        let (first, groups, places) = number_firsts(&first, check)?;
        let mut offsets = vec![0_u32; groups + 1];
        for piece in places.chunks(STEPS) {
            check()?;
            piece.iter().for_each(|&place| offsets[place as usize + 1] += 1);
        }
        for place in 0..groups {
            offsets[place + 1] += offsets[place];
        }
        if !places.is_sorted() {
            collect_groups(&mut rest, &places, &offsets, check)?;
        }
        let sorting = &mut Sorting::default();
        let mut unasked = 0;
        for group in offsets.windows(2) {
            let group = group[0] as usize..group[1] as usize;
            unasked += group.len() + 1;
            if unasked > STEPS {
                unasked = 0;
                check()?;
            }
            sort_group(&mut rest, group, sorting, check)?;
        }
        let base = Base { first, offsets, rest, rows, are_words };
        Ok(Self { base: Arc::new(base), patch: Patch::default(), shared: None })
    }

    /// The trie, whose cells are words or shared values of this version.
    pub(crate) fn with_shared(self, version: SharedVersion) -> Self {
        Self { shared: Some(version), ..self }
    }

    /// Whether its cells may be shared values.
    pub(crate) fn has_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether it has long strings, which are among these values.
    pub(crate) fn has_shared_of(&self, values: &SharedValues) -> bool {
        self.shared.is_some_and(|version| values.has(version))
    }

    /// Whether its cells are valid in an interner that did not make them.
    pub(crate) fn serves(&self, interner: &Interner) -> bool {
        match self.shared {
            Some(version) => interner.has_shared(version),
            None => self.base.are_words,
        }
    }

    /// Replaces the rows of some first values: those of `firsts[i]` by rows `offsets[i]` to
    /// `offsets[i + 1]` of `rest`, the other columns. Returns false where a cell does not fit a
    /// word, or so much has changed that the trie should be rebuilt; it must not be used then.
    pub(crate) fn patch(&mut self, firsts: &[Cell], offsets: &[usize], rest: &[Vec<Cell>]) -> bool {
        let most = self.patched_max();
        let patch = &mut self.patch;
        if !firsts.iter().chain(rest.iter().flatten()).all(|cell| cell.is_word()) {
            return false;
        }
        patch.rest.resize(self.base.rest.len(), Vec::new());
        for (own, more) in patch.rest.iter_mut().zip(rest) {
            own.extend_from_slice(more);
        }
        let (before, sorting) = (patch.rows, &mut Sorting::default());
        for (&first, group) in firsts.iter().zip(offsets.windows(2)) {
            let rows = before + group[0]..before + group[1];
            patch.put(first, &rows, most);
            // Few rows, so the limits need not be checked.
            let sorted = sort_group(&mut patch.rest, rows, sorting, &|| Ok(()));
            debug_assert!(sorted.is_ok(), "this check never fails");
        }
        patch.rows += offsets.last().copied().unwrap_or(0);
        if patch.rows + patch.groups.len() <= most {
            return true;
        }
        patch.shrink();
        // Leaves room, so that the next time is some changes away.
        patch.rows + patch.groups.len() <= most / 4 * 3
    }

    /// Most rows and groups of a patch.
    fn patched_max(&self) -> usize {
        (self.base.rows / PATCHED_SHARE).clamp(PATCHED_MIN, PATCHED_MAX)
    }

    /// Whether these are too many rows for a patch.
    pub(crate) fn is_too_much(&self, rows: usize) -> bool {
        rows > self.patched_max()
    }

    /// Number of rows of these groups.
    pub(crate) fn rows_of(&self, firsts: &[Cell]) -> usize {
        firsts.iter().map(|&first| self.group(first).len()).sum()
    }

    /// The rows with this first value.
    #[inline]
    fn group(&self, first: Cell) -> Rows {
        match self.patch.group(first) {
            Some(range) => Rows { range, is_patched: true },
            None => Rows { range: self.base.group(first), is_patched: false },
        }
    }

    /// The rows whose first columns are `key`, which has at least one cell.
    #[inline]
    pub(crate) fn find(&self, key: impl Iterator<Item = Cell>) -> Rows {
        let mut key = key;
        let Some(first) = key.next() else { return Rows { range: 0..0, is_patched: false } };
        let mut rows = self.group(first);
        for (column, cell) in self.rest(&rows).iter().zip(key) {
            if rows.is_empty() {
                break;
            }
            let start = rows.range.start + before(&column[rows.range.clone()], cell.word());
            let equal = after(&column[start..rows.range.end], cell.word());
            rows.range = start..start + equal;
        }
        rows
    }

    fn rest(&self, rows: &Rows) -> &[Vec<Cell>] {
        if rows.is_patched { &self.patch.rest } else { &self.base.rest }
    }

    /// Column `i` of some rows. The first column has no cells.
    #[inline]
    pub(crate) fn column(&self, i: usize, rows: &Rows) -> &[Cell] {
        &self.rest(rows)[i - 1][rows.range.clone()]
    }

    /// Number of patched groups.
    #[doc(hidden)]
    pub fn patched(&self) -> usize {
        self.patch.groups.len()
    }

    /// Whether all cells are words, so that the trie is valid in every query.
    pub(crate) fn are_words(&self) -> bool {
        self.base.are_words
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let columns =
            |rest: &[Vec<Cell>]| rest.iter().map(|column| 8 * column.capacity()).sum::<usize>();
        let sparse = match &self.base.first {
            First::Dense(_) => 0,
            First::Sparse(known) => 17 * known.capacity(),
        };
        let patch = 17 * self.patch.groups.capacity()
            + 8 * self.patch.marks.len()
            + columns(&self.patch.rest);
        (sparse + 4 * self.base.offsets.capacity() + columns(&self.base.rest) + patch) as u64
    }
}

impl Base {
    #[inline]
    fn group(&self, first: Cell) -> Range<usize> {
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
        // The index after the last one has no end.
        match self.offsets.get(place..place.saturating_add(2)) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        }
    }
}

/// Reusable memory for sorts.
#[derive(Default)]
struct Sorting {
    order: Vec<usize>,
    sorted: Vec<Cell>,
}

/// Sorts some rows by all columns.
///
/// # Errors
/// Those of `check`.
fn sort_group(
    columns: &mut [Vec<Cell>],
    rows: Range<usize>,
    sorting: &mut Sorting,
    check: Check<'_>,
) -> Result<()> {
    let words = |row: usize| columns.iter().map(move |column| column[row].word());
    let before = |a: usize, b: usize| words(a).cmp(words(b));
    if rows.clone().skip(1).all(|row| before(row - 1, row).is_le()) {
        return Ok(());
    }
    let Sorting { order, sorted } = sorting;
    order.clear();
    order.extend(rows.clone());
    match order.len() > STEPS {
        true => *order = sort_in_pieces(std::mem::take(order), |&a, &b| before(a, b), check)?,
        false => order.sort_by(|&a, &b| before(a, b)),
    }
    for column in columns {
        sorted.clear();
        sorted.extend(order.iter().map(|&row| column[row]));
        column[rows.clone()].copy_from_slice(sorted);
    }
    Ok(())
}

/// The least integer, and the number of integers up to the greatest, where all cells are dense
/// small integers.
fn dense(cells: &[Cell]) -> Option<(i64, usize)> {
    let (least, greatest) = small_range(cells)?;
    let groups = usize::try_from(greatest.checked_sub(least)?.checked_add(1)?).ok()?;
    (groups <= cells.len().saturating_mul(4) + 1024).then_some((least, groups))
}

/// Number of ascending cells before a word.
#[inline]
pub(crate) fn before(cells: &[Cell], word: u64) -> usize {
    if let Some(found) = cells.iter().take(WALKED).position(|cell| cell.word() >= word) {
        return found;
    }
    gallop(cells, WALKED.min(cells.len()), |cell| cell.word() < word)
}

/// Number of ascending cells up to and including a word.
#[inline]
fn after(cells: &[Cell], word: u64) -> usize {
    if let Some(found) = cells.iter().take(WALKED).position(|cell| cell.word() > word) {
        return found;
    }
    gallop(cells, WALKED.min(cells.len()), |cell| cell.word() <= word)
}

/// Number of leading cells that are `is_before`; those up to `from` are. The steps double until one
/// is past (Bentley and Yao, Information Processing Letters 1976), so near cells are found quickly,
/// however long the list is.
fn gallop(cells: &[Cell], from: usize, is_before: impl Fn(&Cell) -> bool) -> usize {
    let (mut low, mut step) = (from, WALKED);
    while low + step < cells.len() && is_before(&cells[low + step]) {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(cells.len());
    low + cells[low..high].partition_point(is_before)
}

/// Calls `found` for each value that is in all lists, which are ascending, with the product of its
/// frequencies in them.
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

    fn made(columns: Vec<Vec<Cell>>) -> Trie {
        Trie::new(columns, &|| Ok(())).unwrap()
    }

    /// Found by an audit: sorting and building tries of many rows ended long after their query's
    /// timeout.
    #[test]
    fn a_trie_of_many_rows_is_given_up_when_its_query_is() {
        let rows = 6 * STEPS as i64;
        let ints = |of: fn(i64) -> i64| -> Vec<Cell> {
            (0..rows).map(|i| Cell::small_int(of(i)).unwrap()).collect()
        };
        let of_one: fn(i64) -> i64 = |_| 1;
        let of_many = |i| (i * 7919) % 100_003;
        let far_apart = |i| (i * 7919) % 100_003 * 1_000_003;
        for first in [of_one, of_many, far_apart] {
            let columns = || vec![ints(first), ints(of_many)];
            for questions in [0, 4, 8] {
                let left = std::cell::Cell::new(questions);
                let check = || match left.replace(left.get() - 1) {
                    0 => Err(crate::error::Error::Stopped(function::Stop::Killed)),
                    _ => Ok(()),
                };
                let made = Trie::new(columns(), &check);
                assert!(made.is_err(), "{questions} questions were all");
            }
            assert_eq!(made(columns()).base.rows, rows as usize);
        }
    }

    fn cell(value: i64) -> Cell {
        match value % 7 {
            // Some floats, so that the first column is not dense.
            5 => Cell::plain_float(value as f64).unwrap(),
            _ => Cell::small_int(value).unwrap(),
        }
    }

    #[test]
    fn a_trie_of_which_much_has_changed_is_to_be_made_anew() {
        let ints = |range: Range<i64>| range.map(cell).collect::<Vec<_>>();
        let rows = 16 * PATCHED_MIN as i64;
        let mut trie = made(vec![ints(0..rows), ints(0..rows)]);
        let patch = |trie: &mut Trie, at: i64, count: i64| {
            let offsets: Vec<usize> = (0..=count as usize).collect();
            trie.patch(&ints(at..at + count), &offsets, &[ints(0..count)])
        };
        // A row and its group both count.
        assert!(patch(&mut trie, 0, rows / 16 - 1));
        assert!(patch(&mut trie, 0, 1), "a row that was changed twice");
        assert!(!patch(&mut trie, 0, 2));
        // A group that is replaced again and again counts once.
        let mut trie = made(vec![ints(0..rows), ints(0..rows)]);
        for round in 0..1000 {
            assert!(trie.patch(
                &[cell(5), cell(round % 7)],
                &[0, 9, 10],
                &[ints(round..round + 10)]
            ));
            let there = trie.find([cell(5)].into_iter());
            let mut want =
                if round % 7 == 5 { ints(round + 9..round + 10) } else { ints(round..round + 9) };
            want.sort_unstable_by_key(|cell| cell.word());
            assert_eq!(trie.column(1, &there), want);
        }
        let text = Interner::default().text("longer than a word holds");
        let mut trie = made(vec![ints(0..9), ints(0..9)]);
        assert!(!trie.patch(&[cell(1)], &[0, 1], &[vec![text]]));
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
            let trie = made(columns.to_vec());
            let (a, b) = (cell(asked.0 * stretch), cell(asked.1));
            let by_one = rows.iter().enumerate().filter(|&(i, _)| columns[0][i] == a);
            prop_assert_eq!(trie.find([a].into_iter()).len(), by_one.count());
            let mut by_two: Vec<u64> = (0..rows.len())
                .filter(|&i| columns[0][i] == a && columns[1][i] == b)
                .map(|i| columns[2][i].word())
                .collect();
            let found = trie.find([a, b].into_iter());
            let mut third: Vec<u64> =
                trie.column(2, &found).iter().map(|cell| cell.word()).collect();
            by_two.sort_unstable();
            third.sort_unstable();
            prop_assert_eq!(third, by_two);
        }

        #[test]
        fn a_trie_that_was_mended_is_the_trie_of_what_is_there_now(
            rows in prop::collection::vec((0_i64..12, 0_i64..9, 0_i64..3), 0..60),
            changes in prop::collection::vec(
                (0_i64..15, prop::collection::vec((0_i64..9, 0_i64..3), 0..5)),
                1..12,
            ),
            count in 1_usize..4,
            stretch in prop::sample::select(vec![1_i64, 1_000_000]),
        ) {
            let of = |rows: &[(i64, i64, i64)]| vec![
                rows.iter().map(|row| cell(row.0 * stretch)).collect::<Vec<_>>(),
                rows.iter().map(|row| cell(row.1)).collect(),
                rows.iter().map(|row| cell(row.2)).collect(),
            ];
            let mut rows = rows;
            let mut patched = made(of(&rows));
            let first = patched.clone();
            for changes in changes.chunks(count) {
                let (mut firsts, mut offsets) = (Vec::new(), vec![0]);
                let mut anew: Vec<(i64, i64, i64)> = Vec::new();
                for (value, group) in changes {
                    if firsts.contains(&cell(value * stretch)) {
                        continue;
                    }
                    rows.retain(|row| row.0 != *value);
                    rows.extend(group.iter().map(|pair| (*value, pair.0, pair.1)));
                    anew.extend(group.iter().map(|pair| (*value, pair.0, pair.1)));
                    firsts.push(cell(value * stretch));
                    offsets.push(anew.len());
                }
                prop_assert!(patched.patch(&firsts, &offsets, &of(&anew)[1..]));
                let made = made(of(&rows));
                let all = |trie: &Trie, key: &[Cell]| {
                    let found = trie.find(key.iter().copied());
                    [1, 2].map(|column| {
                        trie.column(column, &found).iter().map(|cell| cell.word()).collect::<Vec<_>>()
                    })
                };
                for a in -1..16 {
                    let a = cell(a * stretch);
                    prop_assert_eq!(all(&patched, &[a]), all(&made, &[a]));
                    for b in 0..9 {
                        prop_assert_eq!(all(&patched, &[a, cell(b)]), all(&made, &[a, cell(b)]));
                    }
                }
            }
            prop_assert!(first.patch.groups.is_empty(), "a reader of the old trie sees no change");
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
