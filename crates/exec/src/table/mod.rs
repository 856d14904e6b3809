//! Rows of a derived relation: a set in insertion order, with indexes that grow with it.
//!
//! Sinks insert, operators look up, and the fixpoint reads ranges of rows.
//!
//! # Invariants
//! 1. Rows are only appended. So the delta of a round of semi-naive evaluation is a range of row
//!    numbers.
//! 2. Live rows are distinct. A row that a meet aggregate has replaced is dead: it stays, and no
//!    lookup returns it.
//! 3. A lookup in the delta does not pass older rows (`index.rs`).

pub(crate) mod derived;
pub mod owned;

mod bits;
mod dense;
pub(crate) mod index;
mod pair_bits;

use crate::error::Result;
use crate::limits::Check;
use crate::value::cell::Cell;
use base::STEPS;
use bits::Bits;
use dense::Dense;
use hashbrown::HashTable;
use index::Index;
use pair_bits::PairBits;
use std::hash::BuildHasher;
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// Most rows of a table.
pub(crate) const ROWS_MAX: usize = NONE as usize;

/// Most rows for which memory is reserved in advance.
const EXPECTED_ROWS_MAX: usize = 1024;

/// The same for the hash table where a single column may hold dense integers, which soon move to a
/// bitmap or an array.
const EXPECTED_KEYS_MAX: usize = 112;

/// Rows from which on the hash table grows in steps that check the limits.
const GROWN_ASKING_MIN: usize = 1 << 17;

/// A set of rows of cells.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Vec<Cell>>,
    rows: usize,
    /// Rows by their first `keys` columns. These are all columns, unless a meet aggregate keeps one
    /// row per key.
    set: HashTable<u32>,
    keys: usize,
    /// Replaces `set` if the only key column holds dense integers.
    dense: Option<Dense>,
    /// Replaces both if the only column of a set holds such integers: a set never asks for the row
    /// of a key.
    bits: Option<Bits>,
    /// Replaces `set` if the two columns of a set hold few distinct values.
    pairs: Option<Box<PairBits>>,
    /// Whether a bitmap of one column was given up because of an integer too far from the others.
    is_spread: bool,
    is_set: bool,
    dead: Vec<u64>,
    dead_rows: usize,
    indexes: Vec<Index>,
    hasher: foldhash::fast::FixedState,
}

impl Table {
    /// An empty table whose rows are distinct in their first `keys` columns.
    pub fn new(arity: usize, keys: usize) -> Self {
        Self { columns: vec![Vec::new(); arity], keys, ..Self::default() }
    }

    /// An empty set: its rows are not looked up by key, and not replaced.
    pub(crate) fn set(arity: usize) -> Self {
        Self { is_set: true, ..Self::new(arity, arity) }
    }

    /// Number of rows ever appended, including dead ones.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of live rows.
    pub fn live_rows(&self) -> usize {
        self.rows - self.dead_rows
    }

    /// Number of leading columns in which rows are distinct.
    pub(crate) fn keys(&self) -> usize {
        self.keys
    }

    /// Number of columns.
    pub fn arity(&self) -> usize {
        self.columns.len()
    }

    /// Column `i` of all rows.
    pub fn column(&self, i: usize) -> &[Cell] {
        &self.columns[i]
    }

    /// All columns.
    pub fn columns(&self) -> Vec<&[Cell]> {
        self.columns.iter().map(Vec::as_slice).collect()
    }

    /// Its columns; no row may be dead.
    pub(crate) fn into_columns(self) -> Vec<Vec<Cell>> {
        self.columns
    }

    /// Its columns, sorted where that costs nothing.
    pub(crate) fn into_sorted_columns(mut self) -> Vec<Vec<Cell>> {
        if let Some(bits) = &self.bits {
            let column = &mut self.columns[0];
            column.clear();
            bits.append_to(column);
        }
        self.columns
    }

    /// Makes room for further rows if the hash table is large. Growing it is a long step, a fifth
    /// of a second for some million rows, and checks the limits here.
    ///
    /// # Errors
    /// Those of `check`.
    pub(crate) fn make_room(&mut self, rows: usize, check: Check<'_>) -> Result<()> {
        if self.rows < GROWN_ASKING_MIN || self.set.capacity() - self.set.len() >= rows {
            return Ok(());
        }
        if self.set.is_empty() {
            // The rows are found by other means.
            return Ok(());
        }
        let Self { columns, hasher, keys, .. } = &*self;
        let hash = |row: u32| {
            hash_cells(hasher, columns.iter().take(*keys).map(|column| column[row as usize]))
        };
        let mut grown = HashTable::with_capacity(2 * self.set.capacity().max(rows));
        // In the order of the rows, so that they are read sequentially.
        for row in 0..self.rows {
            if row.is_multiple_of(STEPS) {
                check()?;
            }
            if self.is_live(row) {
                grown.insert_unique(hash(row as u32), row as u32, |&row| hash(row));
            }
        }
        self.set = grown;
        Ok(())
    }

    /// Makes room for these rows, or for some of them if they are many: they may repeat.
    pub(crate) fn expect(&mut self, columns: &[&[Cell]], rows: usize) {
        let mut may_be_close = self.keys == 1;
        if let ([column], [own], None) = (columns, &self.columns[..], &self.bits)
            && self.is_set
            && !self.is_spread
            && Bits::is_worth(rows)
            && own.len() < rows
        {
            let mut bits = Bits::around(&column[..rows]);
            for &cell in own {
                bits = bits.and_then(|mut bits| bits.put(cell, rows).map(|_| bits));
            }
            self.bits = bits;
            if self.bits.is_some() {
                self.set = HashTable::new();
            }
            may_be_close = false;
        }
        let rows = rows.min(EXPECTED_ROWS_MAX);
        self.columns.iter_mut().for_each(|column| column.reserve(rows));
        if self.bits.is_some() || self.dense.is_some() || self.pairs.is_some() {
            return;
        }
        let keys = if may_be_close { rows.min(EXPECTED_KEYS_MAX) } else { rows };
        let Self { columns, set, hasher, keys: key_columns, .. } = self;
        set.reserve(keys, |&there| {
            hash_cells(hasher, (0..*key_columns).map(|i| columns[i][there as usize]))
        });
    }

    /// Whether a row is live.
    #[inline]
    pub fn is_live(&self, row: usize) -> bool {
        self.dead_rows == 0
            || self.dead.get(row / 64).is_none_or(|word| word >> (row % 64) & 1 == 0)
    }

    /// The columns of the live rows.
    pub(crate) fn live_columns(&self) -> Vec<Vec<Cell>> {
        let live = |column: usize| {
            let cells = self.column(column).iter().enumerate();
            cells.filter(|(row, _)| self.is_live(*row)).map(|(_, cell)| *cell).collect()
        };
        (0..self.arity()).map(live).collect()
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let indexes: usize = self.indexes.iter().map(Index::bytes).sum();
        let columns: usize = self.columns.iter().map(|column| 8 * column.capacity()).sum();
        let set = 5 * self.set.capacity()
            + self.dense.as_ref().map_or(0, Dense::bytes)
            + self.bits.as_ref().map_or(0, Bits::bytes)
            + self.pairs.as_ref().map_or(0, |pairs| pairs.bytes());
        (columns + set + indexes + self.dead.len() * 8) as u64
    }

    /// Appends row `row` of other columns unless it exists; returns whether it was appended.
    #[inline]
    pub fn insert(&mut self, columns: &[&[Cell]], row: usize) -> bool {
        if let Some(bits) = &mut self.bits {
            match bits.put(columns[0][row], self.rows) {
                Some(true) => {
                    self.push(columns, row);
                    return true;
                }
                Some(false) => return false,
                None => {
                    self.bits = None;
                    self.is_spread = true;
                    self.fill_set();
                }
            }
        }
        if let Some(pairs) = &mut self.pairs {
            match pairs.put(columns[0][row], columns[1][row], self.rows) {
                Some(true) => {
                    self.push(columns, row);
                    return true;
                }
                Some(false) => return false,
                None => {
                    self.pairs = None;
                    self.fill_set();
                }
            }
        }
        let before = self.rows;
        self.find_or_insert(columns, row);
        let is_new = self.rows > before;
        if is_new && self.is_set {
            self.try_bits();
        }
        is_new
    }

    /// Replaces the hash table of a set by bits, now and then and where its values are dense.
    #[inline]
    fn try_bits(&mut self) {
        match &self.columns[..] {
            [column] if Bits::is_time(self.rows) => self.bits = Bits::of(column),
            [a, b] if PairBits::is_time(self.rows) => {
                self.pairs = PairBits::of([a, b]).map(Box::new)
            }
            _ => return,
        }
        if self.bits.is_some() || self.pairs.is_some() {
            (self.set, self.dense) = (HashTable::new(), None);
        }
    }

    /// Appends those of the first `rows` rows of other columns that do not exist yet.
    pub(crate) fn insert_rows(&mut self, columns: &[&[Cell]], rows: usize) {
        let mut row = 0;
        if let ([column], Some(bits)) = (columns, &mut self.bits) {
            let own = &mut self.columns[0];
            while let Some(&cell) = column[..rows].get(row) {
                match bits.put(cell, own.len()) {
                    Some(true) => own.push(cell),
                    Some(false) => {}
                    None => break,
                }
                row += 1;
            }
            self.rows = own.len();
        }
        if let ([a, b], Some(pairs)) = (columns, &mut self.pairs)
            && let [own_a, own_b] = &mut self.columns[..]
        {
            while let (Some(&a), Some(&b)) = (a[..rows].get(row), b.get(row)) {
                match pairs.put(a, b, own_a.len()) {
                    Some(true) => {
                        own_a.push(a);
                        own_b.push(b);
                    }
                    Some(false) => {}
                    None => break,
                }
                row += 1;
            }
            self.rows = own_a.len();
        }
        for row in row..rows {
            self.insert(columns, row);
        }
    }

    /// Appends those of the first `rows` rows of other columns that exist neither here nor in
    /// `known`.
    pub(crate) fn insert_unknown(&mut self, known: &Self, columns: &[&[Cell]], rows: usize) {
        let (Some(pairs), [a, b]) = (&known.pairs, columns) else {
            for row in (0..rows).filter(|&row| !known.contains(columns, row)) {
                self.insert(columns, row);
            }
            return;
        };
        for row in pairs.missing(&a[..rows], &b[..rows]) {
            self.insert(columns, row as usize);
        }
    }

    /// The table with these rows added, each once.
    ///
    /// # Errors
    /// Those of `check`.
    pub fn with_rows(
        mut self,
        columns: &[Vec<Cell>],
        rows: usize,
        check: Check<'_>,
    ) -> Result<Self> {
        let slices: Vec<&[Cell]> = columns.iter().map(Vec::as_slice).collect();
        self.insert_checking(&slices, rows, check)?;
        Ok(self)
    }

    /// Appends the rows of a set that do not exist yet.
    ///
    /// # Errors
    /// Those of `check`.
    pub(crate) fn insert_all(&mut self, set: &Self, check: Check<'_>) -> Result<()> {
        self.insert_checking(&set.columns(), set.rows, check)
    }

    fn insert_checking(
        &mut self,
        columns: &[&[Cell]],
        rows: usize,
        check: Check<'_>,
    ) -> Result<()> {
        for start in (0..rows).step_by(STEPS) {
            let end = rows.min(start + STEPS);
            let piece: Vec<&[Cell]> = columns.iter().map(|column| &column[start..end]).collect();
            self.make_room(end - start, check)?;
            self.insert_rows(&piece, end - start);
            if end < rows {
                check()?;
            }
        }
        Ok(())
    }

    /// The number of the row with the key of row `row` of other columns, which is appended if
    /// missing.
    pub(crate) fn find_or_insert(&mut self, columns: &[&[Cell]], row: usize) -> usize {
        if let Some(dense) = &mut self.dense {
            let cell = columns[0][row];
            if let Some(there) = dense.get(cell) {
                return there;
            }
            if dense.put(cell, self.rows) {
                return self.push(columns, row);
            }
            self.dense = None;
            self.fill_set();
        }
        let hash = self.hash_of(columns.iter().take(self.keys).map(|column| column[row]));
        let Self { columns: own, set, keys, hasher, .. } = self;
        let is_there = |&there: &u32| (0..*keys).all(|i| own[i][there as usize] == columns[i][row]);
        let entry = set.entry(hash, is_there, |&there| {
            hash_cells(hasher, (0..*keys).map(|i| own[i][there as usize]))
        });
        let entry = match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => return *entry.get() as usize,
            hashbrown::hash_table::Entry::Vacant(entry) => entry,
        };
        entry.insert(self.rows as u32);
        let row = self.push(columns, row);
        if self.keys == 1 && !self.is_set && Dense::is_time(self.rows) {
            self.dense = match self.dead_rows {
                0 => Dense::of(&self.columns[0]),
                _ => None,
            };
            if self.dense.is_some() {
                self.set = HashTable::new();
            }
        }
        row
    }

    fn push(&mut self, columns: &[&[Cell]], row: usize) -> usize {
        for (own, column) in self.columns.iter_mut().zip(columns) {
            own.push(column[row]);
        }
        self.rows += 1;
        self.rows - 1
    }

    /// Returns to the hash table: the keys are not dense any more.
    fn fill_set(&mut self) {
        let Self { columns, rows, set, hasher, keys, .. } = self;
        let keys = &columns[..*keys];
        let hash = |row: usize| hash_cells(hasher, keys.iter().map(|column| column[row]));
        let dead = std::mem::take(&mut self.dead);
        let is_dead =
            |row: usize| dead.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1);
        for row in (0..*rows).filter(|&row| !is_dead(row)) {
            set.insert_unique(hash(row), row as u32, |&there| hash(there as usize));
        }
        self.dead = dead;
    }

    /// Whether row `row` of other columns exists.
    pub fn contains(&self, columns: &[&[Cell]], row: usize) -> bool {
        if let Some(bits) = &self.bits {
            return bits.has(columns[0][row]);
        }
        if let Some(pairs) = &self.pairs {
            return pairs.has(columns[0][row], columns[1][row]);
        }
        if let Some(dense) = &self.dense {
            return dense.get(columns[0][row]).is_some();
        }
        self.position(columns, row).is_some()
    }

    /// The live row with the key of row `row` of other columns. Not of a set.
    pub fn find_row(&self, columns: &[&[Cell]], row: usize) -> Option<usize> {
        debug_assert!(!self.is_set, "the rows of a set are not looked up by key");
        match &self.dense {
            Some(dense) => dense.get(columns[0][row]),
            None => self.position(columns, row),
        }
    }

    /// The entry of the hash table for the key of row `row` of other columns.
    fn position(&self, columns: &[&[Cell]], row: usize) -> Option<usize> {
        let hash = self.hash_of(columns.iter().take(self.keys).map(|column| column[row]));
        let is_there = |&there: &u32| {
            (0..self.keys).all(|i| self.columns[i][there as usize] == columns[i][row])
        };
        self.set.find(hash, is_there).map(|&there| there as usize)
    }

    /// Appends a row that replaces `old`, the row with the same key, which dies.
    pub fn replace(&mut self, old: usize, row: &[Cell]) {
        match &mut self.dense {
            // The cell has an entry, so nothing has to grow.
            Some(dense) => {
                dense.put(row[0], self.rows);
            }
            None => {
                let hash = self.hash_of(row.iter().take(self.keys).copied());
                if let Some(place) = self.set.find_mut(hash, |&there| there as usize == old) {
                    *place = self.rows as u32;
                }
            }
        }
        self.dead.resize(self.rows / 64 + 1, 0);
        self.dead[old / 64] |= 1 << (old % 64);
        self.dead_rows += 1;
        for (own, &cell) in self.columns.iter_mut().zip(row) {
            own.push(cell);
        }
        self.rows += 1;
    }

    /// Builds an index on these columns if it is missing, and brings it up to date.
    ///
    /// # Errors
    /// Those of `check`. The index then lacks rows, which the next call adds.
    pub(crate) fn index(&mut self, columns: &[usize], check: Check<'_>) -> Result<()> {
        let place = self.indexes.iter().position(|index| index.columns() == columns);
        let place = place.unwrap_or_else(|| {
            self.indexes.push(Index::new(columns));
            self.indexes.len() - 1
        });
        self.indexes[place].extend(&self.columns, self.rows, check)
    }

    /// The index on these columns, if there is one.
    pub(crate) fn index_on(&self, columns: &[usize]) -> Option<&Index> {
        self.indexes.iter().find(|index| index.columns() == columns)
    }

    /// Whether there is an index on these columns with all rows.
    pub(crate) fn is_indexed(&self, columns: &[usize]) -> bool {
        self.index_on(columns).is_some_and(|index| index.rows() == self.rows)
    }

    /// Number of distinct keys of the index on these columns, if there is one.
    pub(crate) fn keys_of_index(&self, columns: &[usize]) -> Option<usize> {
        self.index_on(columns).map(Index::keys)
    }

    /// Calls `found` for each live row of a range with a key, by the number of the key in `index`,
    /// the newest first, until it returns false.
    #[inline]
    pub(crate) fn each_match(
        &self,
        index: &Index,
        number: u32,
        rows: &Range<usize>,
        mut found: impl FnMut(usize) -> bool,
    ) {
        index.each(number, rows, |row| !self.is_live(row) || found(row));
    }

    /// Appends the live rows of a range with a key, by the number of the key in `index`. They are
    /// ascending.
    #[inline]
    pub(crate) fn append_matches(
        &self,
        index: &Index,
        number: u32,
        rows: &Range<usize>,
        out: &mut Vec<u32>,
    ) {
        let start = out.len();
        index.append_to(number, rows, out);
        if self.dead_rows > 0 {
            let mut kept = start;
            for place in start..out.len() {
                let row = out[place];
                out[kept] = row;
                kept += usize::from(self.is_live(row as usize));
            }
            out.truncate(kept);
        }
    }

    fn hash_of(&self, cells: impl Iterator<Item = Cell>) -> u64 {
        hash_cells(&self.hasher, cells)
    }
}

#[inline]
fn hash_cells(hasher: &foldhash::fast::FixedState, cells: impl Iterator<Item = Cell>) -> u64 {
    use std::hash::Hasher;
    let mut state = hasher.build_hasher();
    cells.for_each(|cell| state.write_u64(cell.word()));
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::HashSet;
    use proptest::prelude::*;

    fn cell(i: i64) -> Cell {
        Cell::small_int(i).unwrap()
    }

    proptest! {
        #[test]
        fn a_table_is_a_set_whose_indexes_find_what_is_in_a_range(
            rows in prop::collection::vec((0_i64..6, 0_i64..6), 0..60),
            asked in 0_i64..6,
            from in 0_usize..40,
            len in 0_usize..40,
        ) {
            let mut table = Table::new(2, 2);
            let mut want = Vec::new();
            for (i, &(a, b)) in rows.iter().enumerate() {
                let columns = [[cell(a)], [cell(b)]];
                let is_new = table.insert(&[&columns[0], &columns[1]], 0);
                prop_assert_eq!(is_new, !want.contains(&(a, b)));
                if is_new {
                    want.push((a, b));
                }
                if i == 20 {
                    table.index(&[1], &|| Ok(())).unwrap();
                }
            }
            table.index(&[1], &|| Ok(())).unwrap();
            prop_assert_eq!(table.rows(), want.len());
            let range = from.min(want.len())..(from + len).min(want.len());
            let mut found = Vec::new();
            let index = table.index_on(&[1]).unwrap();
            let Some(number) = index.number(&table, &[cell(asked)]) else {
                prop_assert!(want.iter().all(|row| row.1 != asked));
                return Ok(());
            };
            table.each_match(index, number, &range, |row| { found.push(row); true });
            let all: Vec<usize> = range.clone().filter(|&row| want[row].1 == asked).collect();
            prop_assert!(found.iter().rev().eq(&all));
            let mut appended = Vec::new();
            table.append_matches(index, number, &range, &mut appended);
            prop_assert!(appended.iter().map(|&row| row as usize).eq(all));
        }
    }

    #[test]
    fn a_set_of_numbers_is_one_whether_they_lie_close_together_or_not() {
        let close: Vec<i64> = (-100..100).collect();
        let far: Vec<i64> = (0..100).map(|i| i * 1_000_003).collect();
        for expected in [&[][..], &close[..10], &close, &far] {
            let mut table = Table::set(1);
            let expected: Vec<Cell> = expected.iter().map(|&key| cell(key)).collect();
            table.expect(&[&expected], expected.len());
            let mut seen = std::collections::BTreeSet::new();
            let keys = (0..5000).chain((0..3000).map(|i| i * 1_000_003)).chain(-4000..0);
            let mut by_batches = table.clone();
            let all: Vec<Cell> = keys.clone().chain(-20..20).map(cell).collect();
            all.chunks(700).for_each(|batch| by_batches.insert_rows(&[batch], batch.len()));
            for key in keys {
                let column = [cell(key)];
                assert_eq!(table.contains(&[&column], 0), seen.contains(&key));
                assert_eq!(table.insert(&[&column], 0), seen.insert(key));
                assert!(!table.insert(&[&column], 0));
            }
            assert_eq!(table.rows(), seen.len());
            assert_eq!((by_batches.rows(), by_batches.column(0)), (table.rows(), table.column(0)));
        }
    }

    #[test]
    fn pairs_are_a_set_whether_their_values_are_few_or_lie_close_together_or_not() {
        let close = (0..3000).map(|i| (i * 7 % 50 - 20, i * 11 % 60));
        let few = (0..3000).map(|i| (i % 50 * 1_000_003, i % 61 * 1_000_003));
        let many = (0..3000).map(|i| (i, i * 1_000_003));
        let near = (-60..60).flat_map(|a| (-60..60).map(move |b| (a, b)));
        let pairs: Vec<(i64, i64)> = close.chain(few).chain(many).chain(near).collect();
        for step in [1, 7, 3001] {
            let pairs: Vec<_> = (0..pairs.len()).map(|i| pairs[i * step % pairs.len()]).collect();
            let columns = [
                pairs.iter().map(|pair| cell(pair.0)).collect::<Vec<_>>(),
                pairs.iter().map(|pair| cell(pair.1)).collect::<Vec<_>>(),
            ];
            let half = pairs.len() / 2;
            let (mut known, mut new, mut both) = (Table::set(2), Table::set(2), Table::set(2));
            known.insert_rows(&[&columns[0], &columns[1]], half);
            let before: std::collections::BTreeSet<_> = pairs[..half].iter().copied().collect();
            let mut seen = before.clone();
            for start in (0..pairs.len()).step_by(700) {
                let rows = start..pairs.len().min(start + 700);
                let batch = [&columns[0][rows.clone()], &columns[1][rows.clone()]];
                new.insert_unknown(&known, &batch, rows.len());
                seen.extend(&pairs[rows.clone()]);
                both.insert_rows(&batch, rows.len());
                assert!((0..rows.len()).all(|row| both.contains(&batch, row)));
                assert_eq!(new.rows(), seen.difference(&before).count());
                assert_eq!(both.rows(), pairs[..rows.end].iter().collect::<HashSet<_>>().len());
            }
            assert!(!both.contains(&[&[cell(1 << 40)], &[cell(0)]], 0));
        }
    }

    #[test]
    fn many_rows_are_a_set_whether_their_keys_lie_close_together_or_not() {
        let mut table = Table::new(2, 1);
        // Dense, then far apart, then dense again; each key twice, so that one of its two rows is
        // replaced.
        let keys = (0..5000).chain((0..3000).map(|i| i * 1_000_003)).chain(-4000..0);
        let mut seen = std::collections::BTreeMap::new();
        for key in keys {
            for value in [1, 2] {
                let (key, value) = (cell(key), cell(value));
                let there = table.find_row(&[&[key]], 0);
                assert_eq!(there, seen.get(&key.word()).copied());
                assert_eq!(table.contains(&[&[key]], 0), there.is_some());
                match there {
                    Some(there) if key.word() % 2 == 0 => table.replace(there, &[key, value]),
                    Some(there) => {
                        assert_eq!(table.find_or_insert(&[&[key], &[value]], 0), there);
                        continue;
                    }
                    None => assert!(table.insert(&[&[key], &[value]], 0)),
                }
                seen.insert(key.word(), table.rows() - 1);
            }
        }
        assert_eq!(table.live_rows(), seen.len());
    }

    #[test]
    fn a_large_table_grows_while_it_asks_and_finds_its_rows_as_before() {
        let rows = 3 * GROWN_ASKING_MIN as i64;
        let column = |times: i64| (0..rows).map(|i| cell(i * times)).collect::<Vec<_>>();
        let columns = [column(1_000_003), column(1)];
        let asked = std::cell::Cell::new(0);
        let check = || {
            asked.set(asked.get() + 1);
            Ok(())
        };
        let mut table = Table::new(2, 1);
        table.insert(&[&[cell(-1)], &[cell(1)]], 0);
        table.replace(0, &[cell(-1), cell(2)]);
        let mut table = table.with_rows(&columns, rows as usize, &check).unwrap();
        assert!(asked.get() > rows as usize / STEPS + GROWN_ASKING_MIN / STEPS);
        assert_eq!(table.rows(), rows as usize + 2);
        assert_eq!(table.find_row(&[&[cell(-1)]], 0), Some(1));
        for row in [0, 1, 77, GROWN_ASKING_MIN, rows as usize - 1] {
            assert_eq!(table.find_row(&[&columns[0]], row), Some(row + 2));
            assert!(!table.insert(&[&columns[0], &columns[1]], row));
        }
        let never = || Err(crate::error::Error::Stopped(function::Stop::Killed));
        assert!(table.make_room(GROWN_ASKING_MIN * 64, &never).is_err());
    }

    #[test]
    fn a_bettered_row_is_found_no_more() {
        let mut table = Table::new(2, 1);
        table.insert(&[&[cell(1)], &[cell(9)]], 0);
        table.insert(&[&[cell(2)], &[cell(9)]], 0);
        let old = table.find_row(&[&[cell(1)]], 0).unwrap();
        table.replace(old, &[cell(1), cell(5)]);
        table.index(&[1], &|| Ok(())).unwrap();
        assert_eq!(
            (table.rows(), table.live_rows(), table.find_row(&[&[cell(1)]], 0)),
            (3, 2, Some(2))
        );
        let mut found = Vec::new();
        let index = table.index_on(&[1]).unwrap();
        let number = index.number(&table, &[cell(9)]).unwrap();
        table.each_match(index, number, &(0..3), |row| {
            found.push(row);
            true
        });
        assert_eq!(found, [1]);
        let mut appended = Vec::new();
        table.append_matches(index, number, &(0..3), &mut appended);
        assert_eq!(appended, [1]);
    }
}
