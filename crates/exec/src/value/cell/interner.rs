//! The interner: values of one query that do not fit a word, each once.
//!
//! Scans, expressions, parameters and results make their cells here. The threads of a query share
//! it under a read-write lock.
//!
//! # Invariants
//! 1. Equal values have one entry and one cell, except strings that no operator compares
//!    ([`Interner::intern_not_compared`]).
//! 2. An entry stays until [`Interner::sweep`] finds no cell of it, or [`Interner::split_off`]
//!    moves it. Its slot may be reused then.
//! 3. A cell is looked up only in the interner that made it: the brand in its word is checked. The
//!    exception are cells of the shared values that the interner was made with
//!    ([`SharedValues`]), which it never has again among its own.
//! 4. [`Interner::bytes`] counts the values that are there, and the tables of lists.

mod brand;
mod lists;
mod shared;

pub(crate) use lists::Sought;
pub use shared::SharedValues;
pub(crate) use shared::SharedVersion;

use super::{Cell, compare_to_word, compare_words, hash_value, inline, plain};
use base::STEPS;
use brand::Brand;
use env::sync::RwLock;
use function::{Failure, FunctionContext, UNASKED_BYTES, bytes_of};
use hashbrown::{HashMap, HashTable};
use lists::ListTables;
use model::Value;
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Strings of a batch that [`Interner::intern_not_compared`] remembers.
const RECENT: usize = 1024;

/// Bytes from which on copying a string costs as much as looking it up.
const NOT_COMPARED_BYTES: usize = 256;

/// Calls its argument with each cell that is still held.
pub(crate) type EachCell<'a> = &'a mut dyn FnMut(&mut dyn FnMut(Cell));

/// The values of one query that do not fit a word.
#[derive(Debug, Default)]
pub struct Interner {
    inner: RwLock<Inner>,
    /// Bytes of values.
    bytes: AtomicU64,
    /// Bytes of the tables of lists.
    list_bytes: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    values: Vec<Value>,
    /// Slots of swept values, which are null.
    free: Vec<u32>,
    /// Values before this slot are never swept: see [`Interner::keep`].
    kept: usize,
    places: HashTable<u32>,
    lists: ListTables,
    hasher: foldhash::fast::FixedState,
    brand: Brand,
    /// Values that are found here first, and are not counted.
    shared: Option<Arc<SharedValues>>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
            kept: 0,
            places: HashTable::new(),
            lists: ListTables::default(),
            hasher: foldhash::fast::FixedState::default(),
            brand: Brand::new(),
            shared: None,
        }
    }
}

impl Interner {
    /// An interner that finds these values, whose cells are those of other queries.
    pub fn with_shared(shared: Option<Arc<SharedValues>>) -> Self {
        Self { inner: RwLock::new(Inner { shared, ..Inner::default() }), ..Self::default() }
    }

    /// Whether the shared values of a version are found here.
    pub(crate) fn has_shared(&self, version: SharedVersion) -> bool {
        self.inner.read().shared.as_ref().is_some_and(|shared| shared.has(version))
    }

    /// Makes the values of this interner shared ones, after those of `shared`, which it was made
    /// with, and the cells of `columns` refer to them.
    pub(crate) fn into_shared(
        self,
        shared: &SharedValues,
        columns: &mut [Vec<Cell>],
    ) -> SharedValues {
        let inner = self.inner.into_inner();
        debug_assert!(inner.free.is_empty(), "nothing is swept while tries are read");
        let first = shared.len();
        for cell in columns.iter_mut().flatten() {
            if let Some(place) = inner.own_place(*cell) {
                *cell = shared.cell(first + place);
            }
        }
        shared.with_more(inner.values)
    }

    /// The cell of a value.
    pub fn cell(&self, value: &Value) -> Cell {
        match inline(value) {
            Some(cell) => cell,
            None => self
                .known(|inner| inner.hash(value), |other| other == value)
                .unwrap_or_else(|hash| self.insert(hash, value.clone())),
        }
    }

    /// The cell of an owned value.
    pub fn take(&self, value: Value) -> Cell {
        match inline(&value) {
            Some(cell) => cell,
            None => self
                .known(|inner| inner.hash(&value), |other| *other == value)
                .unwrap_or_else(|hash| self.insert(hash, value)),
        }
    }

    /// A string's cell. Only a new string is copied.
    pub fn text(&self, text: &str) -> Cell {
        if let Some(cell) = Cell::short_text(text) {
            return cell;
        }
        let is_it = |value: &Value| matches!(value, Value::Str(other) if other == text);
        self.known(|inner| inner.hash_text(text), is_it)
            .unwrap_or_else(|hash| self.insert(hash, Value::Str(text.to_owned())))
    }

    /// Cells of strings that no operator compares. Equal strings may get several cells, so that the
    /// table is not searched (400 ns a string); only recent ones are found again.
    ///
    /// # Errors
    /// Those of `each`. It gets a function that interns the next string.
    pub(crate) fn intern_not_compared<E>(
        &self,
        each: impl FnOnce(&mut dyn FnMut(&str) -> Cell) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut inner = self.inner.write();
        let (mut bytes, mut recent) = (0, [u32::MAX; RECENT]);
        let done = each(&mut |text| {
            if let Some(cell) = Cell::short_text(text) {
                return cell;
            }
            let hash = inner.hash_text(text);
            let is_it = |value: &Value| matches!(value, Value::Str(other) if other == text);
            // Other bits than those that select groups in the table.
            let slot = &mut recent[(hash >> 20) as usize % RECENT];
            if inner.values.get(*slot as usize).is_some_and(is_it) {
                return inner.brand.cell(*slot);
            }
            let is_long = text.len() > NOT_COMPARED_BYTES;
            if is_long && let Some(cell) = inner.find(hash, is_it) {
                return cell;
            }
            let value = Value::Str(text.to_owned());
            bytes += bytes_of(&value) + 16;
            let place = inner.add(value, is_long.then_some(hash));
            *slot = place;
            inner.brand.cell(place)
        });
        self.bytes.fetch_add(bytes, Relaxed);
        done
    }

    /// An integer's cell.
    #[inline]
    pub fn int(&self, value: i64) -> Cell {
        Cell::small_int(value).unwrap_or_else(|| self.take(Value::Int(value)))
    }

    /// A float's cell.
    #[inline]
    pub fn float(&self, value: f64) -> Cell {
        Cell::plain_float(value).unwrap_or_else(|| self.take(Value::Float(value)))
    }

    /// The value of a cell.
    pub fn value(&self, cell: Cell) -> Value {
        match cell.is_interned() {
            true => self.inner.read().value(cell).clone(),
            false => plain(cell),
        }
    }

    /// Calls `with` with a cell's value, without a copy.
    pub fn with<T>(&self, cell: Cell, with: impl FnOnce(&Value) -> T) -> T {
        match cell.is_interned() {
            true => with(self.inner.read().value(cell)),
            false => with(&plain(cell)),
        }
    }

    /// Calls `visit` with the value of each cell, in order, without a copy.
    pub fn each(&self, cells: &[Cell], mut visit: impl FnMut(&Value)) {
        let inner = self.inner.read();
        for &cell in cells {
            match cell.is_interned() {
                true => visit(inner.value(cell)),
                false => visit(&plain(cell)),
            }
        }
    }

    /// The order of two cells by their values.
    pub fn cmp(&self, a: Cell, b: Cell) -> Ordering {
        compare_words(a, b).unwrap_or_else(|| self.inner.read().cmp(a, b))
    }

    /// Sorts cells by their values.
    ///
    /// # Errors
    /// Those of `check`.
    pub(crate) fn sort<E>(
        &self,
        cells: Vec<Cell>,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<Cell>, E> {
        let inner = self.inner.read();
        let compare = |&a: &Cell, &b: &Cell| compare_words(a, b).unwrap_or_else(|| inner.cmp(a, b));
        let Some(words) = inner.text_words(&cells, &mut check)? else {
            return base::sort_in_pieces(cells, compare, check);
        };
        // Most strings are distinguished by a word stored beside the cell; the strings themselves
        // are scattered in memory.
        let pairs = words.into_iter().zip(cells).collect();
        let compare =
            |a: &(u64, Cell), b: &(u64, Cell)| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1));
        let pairs = base::sort_in_pieces(pairs, compare, check)?;
        Ok(pairs.into_iter().map(|(_, cell)| cell).collect())
    }

    /// Calls `with` with the string of a cell; `None` where it is not a string.
    pub(crate) fn with_text<T>(&self, cell: Cell, with: impl FnOnce(&str) -> T) -> Option<T> {
        match cell.as_short_text() {
            Some(short) => Some(with(short.as_str())),
            None => self.with(cell, |value| match value {
                Value::Str(text) => Some(with(text)),
                _ => None,
            }),
        }
    }

    /// A copy of the value. Memory for a long one is requested first, and copying a long list stops
    /// if `ambient` says so.
    ///
    /// # Errors
    /// Those of `ambient`.
    pub(crate) fn copy(&self, cell: Cell, ambient: &dyn FunctionContext) -> Result<Value, Failure> {
        if !cell.is_interned() {
            return Ok(plain(cell));
        }
        match self.inner.read().value(cell) {
            Value::List(items) => {
                // A few hundred items that are not lists need no request.
                if items.len() as u64 * size_of::<Value>() as u64 >= UNASKED_BYTES {
                    ambient.request_memory(items.iter().map(bytes_of).sum())?;
                }
                Ok(Value::List(function::copied(items, ambient)?))
            }
            other => {
                let bytes = bytes_of(other);
                if bytes >= UNASKED_BYTES {
                    ambient.request_memory(bytes)?;
                }
                Ok(other.clone())
            }
        }
    }

    /// Approximate size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed) + self.list_bytes.load(Relaxed)
    }

    /// The current fill level.
    pub(crate) fn mark(&self) -> Mark {
        let inner = self.inner.read();
        Mark {
            values: inner.values.len(),
            places: inner.places.len(),
            bytes: self.bytes.load(Relaxed),
        }
    }

    /// Moves the values added after `mark` to a new interner, and makes the cells of `columns`
    /// refer to that. No other cell of these values may be used again.
    pub(crate) fn split_off(&self, mark: &Mark, columns: &mut [Vec<Cell>]) -> Self {
        let mut inner = self.inner.write();
        let values = inner.values.split_off(mark.values);
        let Inner { places, hasher, free, kept, .. } = &mut *inner;
        free.retain(|&place| (place as usize) < mark.values);
        *kept = (*kept).min(mark.values);
        // Strings that are not compared have no entry in the table; mostly none has.
        if places.len() > mark.places {
            for (value, place) in values.iter().zip(mark.values as u32..) {
                let found = places.find_entry(hash_with(hasher, value), |&other| other == place);
                if let Ok(entry) = found {
                    entry.remove();
                }
            }
        }
        self.bytes.store(mark.bytes, Relaxed);
        let freed_bytes = inner.lists.retain(|place| place < mark.values);
        self.list_bytes.fetch_sub(freed_bytes, Relaxed);
        let mut other = Inner { values, shared: inner.shared.clone(), ..Inner::default() };
        let moved = |place: usize| place.checked_sub(mark.values);
        inner.resettle(&mut other, moved, columns);
        Self { inner: RwLock::new(other), ..Self::default() }
    }

    /// Protects all current values from sweeps: their cells are held beyond a batch, and it is not
    /// known which.
    pub(crate) fn keep(&self) {
        let mut inner = self.inner.write();
        inner.kept = inner.values.len();
    }

    /// Releases the values added after `mark` that are in none of the cells that `each_kept`
    /// visits: no other cell of them may be used again.
    pub(crate) fn sweep(&self, mark: &Mark, each_kept: EachCell<'_>) {
        let mut inner = self.inner.write();
        let first = mark.values.max(inner.kept);
        let mut is_kept = vec![false; inner.values.len().saturating_sub(first)];
        let brand = inner.brand;
        each_kept(&mut |cell| {
            let own = if cell.is_shared() { None } else { brand.place(cell) };
            let place = own.and_then(|place| place.checked_sub(first));
            if let Some(kept) = place.and_then(|place| is_kept.get_mut(place)) {
                *kept = true;
            }
        });
        let Inner { values, free, places, lists, hasher, .. } = &mut *inner;
        let mut freed_bytes = 0;
        for (at, _) in is_kept.iter().enumerate().filter(|(_, kept)| !**kept) {
            let place = first + at;
            // Null is never interned.
            if matches!(values[place], Value::Null) {
                continue;
            }
            let found = places
                .find_entry(hash_with(hasher, &values[place]), |&other| other as usize == place);
            if let Ok(entry) = found {
                entry.remove();
            }
            freed_bytes += bytes_of(&values[place]) + 16;
            values[place] = Value::Null;
            free.push(place as u32);
        }
        let rest = is_kept.iter().rposition(|&kept| kept).map_or(first, |at| first + at + 1);
        if rest < values.len() {
            values.truncate(rest);
            free.retain(|&place| (place as usize) < rest);
        }
        self.bytes.fetch_sub(freed_bytes, Relaxed);
        let is_there = |place: usize| !matches!(values.get(place), None | Some(Value::Null));
        self.list_bytes.fetch_sub(lists.retain(is_there), Relaxed);
    }

    /// Copies the values of `columns` to a new interner, and makes their cells refer to that.
    pub(crate) fn copied(&self, columns: &mut [Vec<Cell>]) -> Self {
        let mut other = Inner::default();
        self.inner.read().resettle(&mut other, |_| None, columns);
        Self { inner: RwLock::new(other), ..Self::default() }
    }

    /// The cell of a known value, or else its hash. The lock is released on return, so that the
    /// caller can take another.
    fn known(
        &self,
        hash: impl FnOnce(&Inner) -> u64,
        is_it: impl Fn(&Value) -> bool,
    ) -> Result<Cell, u64> {
        let inner = self.inner.read();
        let hash = hash(&inner);
        inner.find(hash, is_it).ok_or(hash)
    }

    fn insert(&self, hash: u64, value: Value) -> Cell {
        let mut inner = self.inner.write();
        // Another thread may have added it meanwhile.
        if let Some(cell) = inner.find(hash, |other| *other == value) {
            return cell;
        }
        self.bytes.fetch_add(bytes_of(&value) + 16, Relaxed);
        let place = inner.add(value, Some(hash));
        inner.brand.cell(place)
    }
}

/// A fill level of an [`Interner`].
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    values: usize,
    places: usize,
    bytes: u64,
}

impl Mark {
    /// Approximate size of the values, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Inner {
    /// The value of an interned cell.
    ///
    /// # Panics
    /// If another interner made the cell, or the cell is not interned.
    fn value(&self, cell: Cell) -> &Value {
        self.interned(cell).expect("the caller checked that it is interned")
    }

    /// The value of a cell; `None` if the cell holds it.
    ///
    /// # Panics
    /// If another interner made the cell.
    fn interned(&self, cell: Cell) -> Option<&Value> {
        if cell.is_shared() {
            return Some(
                self.shared.as_ref().expect("cells say which values they share").value(cell),
            );
        }
        self.brand.place(cell).map(|place| &self.values[place])
    }

    /// The slot of a cell's value; `None` if the cell holds it, or it is shared.
    fn own_place(&self, cell: Cell) -> Option<usize> {
        if cell.is_shared() { None } else { self.brand.place(cell) }
    }

    /// Makes the cells of `columns` refer to another interner: to the entry that `moved` returns,
    /// or to a copy of the value. Shared values stay if the other one has them.
    fn resettle(
        &self,
        other: &mut Self,
        moved: impl Fn(usize) -> Option<usize>,
        columns: &mut [Vec<Cell>],
    ) {
        let keeps_shared = other.shared.is_some();
        let mut copies: HashMap<Cell, u32, foldhash::fast::FixedState> = HashMap::default();
        for cell in columns.iter_mut().flatten().filter(|cell| cell.is_interned()) {
            if cell.is_shared() && keeps_shared {
                continue;
            }
            let place = self.own_place(*cell).and_then(&moved).map_or_else(
                || {
                    *copies
                        .entry(*cell)
                        .or_insert_with(|| other.add(self.value(*cell).clone(), None))
                },
                |place| place as u32,
            );
            *cell = other.brand.cell(place);
        }
    }

    /// Adds a value. With a hash it can be found again.
    fn add(&mut self, value: Value, hash: Option<u64>) -> u32 {
        let Self { values, free, places, hasher, .. } = self;
        let place = match free.pop() {
            Some(place) => {
                values[place as usize] = value;
                place
            }
            None => {
                values.push(value);
                values.len() as u32 - 1
            }
        };
        if let Some(hash) = hash {
            places.insert_unique(hash, place, |&place| hash_with(hasher, &values[place as usize]));
        }
        place
    }

    fn cmp(&self, a: Cell, b: Cell) -> Ordering {
        match (self.interned(a), self.interned(b)) {
            (Some(a), Some(b)) => a.cmp(b),
            (Some(a), None) => compare_to_word(a, b),
            (None, Some(b)) => compare_to_word(b, a).reverse(),
            (None, None) => plain(a).cmp(&plain(b)),
        }
    }

    /// A word for each cell that orders strings as far as it goes: the first bytes after the common
    /// prefix of all. `None` if a cell is not a string.
    ///
    /// # Errors
    /// Those of `check`.
    fn text_words<E>(
        &self,
        cells: &[Cell],
        check: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Option<Vec<u64>>, E> {
        let mut first: Option<&str> = None;
        let mut prefix = usize::MAX;
        for piece in cells.chunks(STEPS) {
            check()?;
            for cell in piece {
                let Some(value) = self.interned(*cell) else {
                    if !cell.is_short_text() {
                        return Ok(None);
                    }
                    // At most six bytes: little can be saved.
                    prefix = 0;
                    continue;
                };
                let Value::Str(text) = value else { return Ok(None) };
                let first = first.get_or_insert(text);
                let known = &first.as_bytes()[..prefix.min(first.len())];
                prefix = known.iter().zip(text.as_bytes()).take_while(|(a, b)| a == b).count();
            }
        }
        let mut words = Vec::with_capacity(cells.len());
        for piece in cells.chunks(STEPS) {
            check()?;
            words.extend(piece.iter().map(|&cell| match self.interned(cell) {
                Some(Value::Str(text)) => base::leading_word(&text.as_bytes()[prefix..]),
                // A short string: its bytes are the lower six of its word.
                _ => cell.0 << 16,
            }));
        }
        Ok(Some(words))
    }

    fn hash(&self, value: &Value) -> u64 {
        hash_with(&self.hasher, value)
    }

    /// The hash of a string as a value.
    fn hash_text(&self, text: &str) -> u64 {
        let mut state = self.hasher.build_hasher();
        std::mem::discriminant(&Value::Str(String::new())).hash(&mut state);
        text.hash(&mut state);
        state.finish()
    }

    fn find(&self, hash: u64, is_it: impl Fn(&Value) -> bool) -> Option<Cell> {
        if let Some(shared) = &self.shared
            && let Some(cell) = shared.find(hash, &is_it)
        {
            return Some(cell);
        }
        let place = self.places.find(hash, |&place| is_it(&self.values[place as usize]))?;
        Some(self.brand.cell(*place))
    }
}

fn hash_with(hasher: &foldhash::fast::FixedState, value: &Value) -> u64 {
    let mut state = hasher.build_hasher();
    hash_value(value, &mut state);
    state.finish()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::value::cell::BOXES;
    use proptest::prelude::*;

    pub(in crate::value::cell) fn value() -> impl Strategy<Value = Value> {
        let edge = [i64::MIN, i64::MAX, -(1 << 49), (1 << 49) - 1, 1 << 49, -(1 << 49) - 1, 0, -1];
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            (-5_i64..5).prop_map(Value::Int),
            prop::sample::select(edge.to_vec()).prop_map(Value::Int),
            any::<u64>().prop_map(|bits| Value::Float(f64::from_bits(bits))),
            Just(Value::Float(f64::from_bits(BOXES))),
            any::<u64>().prop_map(Value::id),
            "[ab]{0,2}".prop_map(Value::Str),
            "[a\\x00\u{e9}\u{20ac}]{0,8}".prop_map(Value::Str),
            prop::collection::vec((-2_i64..2).prop_map(Value::Int), 0..3).prop_map(Value::List),
        ]
    }

    /// An interner that shares some values.
    fn sharing(values: &[Value]) -> Interner {
        let other = Interner::default();
        for value in values {
            other.cell(value);
        }
        let shared = other.into_shared(&SharedValues::default(), &mut []);
        Interner::with_shared(Some(Arc::new(shared)))
    }

    proptest! {
        #[test]
        fn shared_values_have_the_same_cells_in_all_interners_and_versions(
            parts in prop::collection::vec(prop::collection::vec(value(), 0..9), 0..9),
            others in prop::collection::vec(value(), 0..9),
        ) {
            let mut shared = SharedValues::default();
            let mut cells = std::collections::BTreeMap::new();
            for part in &parts {
                let interner = Interner::with_shared(Some(Arc::new(shared.clone())));
                let mut columns = [part.iter().map(|value| interner.cell(value)).collect::<Vec<_>>()];
                shared = interner.into_shared(&shared, &mut columns);
                for (value, &cell) in part.iter().zip(&columns[0]) {
                    prop_assert!(cell.is_word() || cell.is_shared());
                    prop_assert_eq!(*cells.entry(value.clone()).or_insert(cell), cell);
                }
            }
            let bytes = cells.iter().filter(|(_, cell)| !cell.is_word());
            prop_assert_eq!(shared.bytes(), bytes.map(|(value, _)| bytes_of(value) + 16).sum::<u64>());
            let interner = Interner::with_shared(Some(Arc::new(shared)));
            let own: Vec<Cell> = others.iter().map(|value| interner.cell(value)).collect();
            for (value, &cell) in cells.iter().chain(others.iter().zip(&own)) {
                prop_assert_eq!(interner.cell(value), *cells.get(value).unwrap_or(&cell));
                prop_assert_eq!(interner.value(cell).cmp(value), Ordering::Equal);
            }
        }

        #[test]
        fn cells_come_back_are_equal_and_ordered_as_their_values(
            a in value(),
            b in value(),
            shared in prop::collection::vec(value(), 0..3),
        ) {
            let interner = sharing(&shared);
            let [x, y] = [&a, &b].map(|value| interner.cell(value));
            prop_assert_eq!(interner.value(x).cmp(&a), Ordering::Equal);
            prop_assert_eq!(x == y, a == b);
            prop_assert_eq!(interner.cmp(x, y), a.cmp(&b));
            prop_assert_eq!(interner.take(a.clone()), x);
            for (value, cell) in [(&a, x), (&b, y)] {
                if let Value::Str(text) = value {
                    prop_assert_eq!(interner.text(text), cell);
                    let other = Interner::default();
                    prop_assert_eq!(other.text(text), other.cell(value));
                }
            }
        }

        #[test]
        fn cells_are_sorted_by_their_values(
            values in prop_oneof![
                prop::collection::vec(value(), 0..60),
                prop::collection::vec("(shared-)?[ab\\x00]{0,12}".prop_map(Value::Str), 0..60),
                prop::collection::vec("shared-by-all-[ab]{0,12}".prop_map(Value::Str), 0..60),
            ],
            shares in 0_usize..60,
        ) {
            let interner = sharing(&values[..shares.min(values.len())]);
            let mut cells: Vec<Cell> = values.iter().map(|value| interner.cell(value)).collect();
            cells.sort_by_key(|cell| cell.word());
            cells.dedup();
            let sorted = interner.sort(cells.clone(), || Ok::<(), ()>(())).unwrap();
            cells.sort_by_key(|&cell| interner.value(cell));
            prop_assert_eq!(sorted, cells);
        }

        #[test]
        fn what_is_swept_is_forgotten_and_what_is_kept_stays_and_is_found(
            before in prop::collection::vec(value(), 0..6),
            young in prop::collection::vec((value(), any::<bool>()), 0..12),
            after in prop::collection::vec(value(), 0..12),
            shared in prop::collection::vec(value(), 0..3),
        ) {
            let interner = sharing(&shared);
            let old: Vec<Cell> = before.iter().map(|value| interner.cell(value)).collect();
            let mark = interner.mark();
            let cells: Vec<_> = young.iter().map(|(value, _)| interner.cell(value)).collect();
            let kept = || cells.iter().zip(&young).filter(|(_, (_, keeps))| *keeps);
            // A value that occurs twice is kept if either cell is.
            interner.sweep(&mark, &mut |keep| kept().for_each(|(&cell, _)| keep(cell)));
            let mut bytes: Vec<Cell> = old.iter().copied().chain(kept().map(|(&cell, _)| cell)).collect();
            bytes.retain(|cell| !cell.is_word() && !cell.is_shared());
            bytes.sort_by_key(|cell| cell.word());
            bytes.dedup();
            let bytes: u64 = bytes.iter().map(|&cell| interner.with(cell, bytes_of) + 16).sum();
            prop_assert_eq!(interner.bytes(), bytes);
            for (value, &cell) in before.iter().zip(&old).chain(kept().map(|(cell, (value, _))| (value, cell))) {
                prop_assert_eq!(interner.value(cell).cmp(value), Ordering::Equal);
                prop_assert_eq!(interner.cell(value), cell);
            }
            let mut seen = std::collections::BTreeMap::new();
            for value in after.iter().chain(young.iter().map(|(value, _)| value)) {
                let cell = interner.cell(value);
                prop_assert_eq!(interner.value(cell).cmp(value), Ordering::Equal);
                prop_assert_eq!(*seen.entry(value.clone()).or_insert(cell), cell);
            }
            for (value, &cell) in before.iter().zip(&old) {
                prop_assert_eq!(interner.cell(value), cell);
            }
        }

        #[test]
        fn what_is_split_off_keeps_its_values_and_what_stays_is_found_as_before(
            before in prop::collection::vec(value(), 0..6),
            after in prop::collection::vec(value(), 0..6),
            forgets in any::<bool>(),
            shared in prop::collection::vec(value(), 0..3),
        ) {
            let interner = sharing(&shared);
            let kept: Vec<Cell> = before.iter().map(|value| interner.cell(value)).collect();
            let (mark, bytes) = (interner.mark(), interner.bytes());
            let both = || before.iter().chain(&after);
            let mut columns = [both().map(|value| interner.cell(value)).collect::<Vec<_>>()];
            let other = match forgets {
                true => interner.split_off(&mark, &mut columns),
                false => interner.copied(&mut columns),
            };
            for (value, &cell) in both().zip(&columns[0]) {
                prop_assert_eq!(other.value(cell).cmp(value), Ordering::Equal);
            }
            if forgets {
                prop_assert_eq!(interner.bytes(), bytes);
                prop_assert_eq!(interner.mark().places, mark.places);
                prop_assert_eq!(interner.mark().values, mark.values);
            }
            for (value, &cell) in before.iter().zip(&kept) {
                prop_assert_eq!(interner.cell(value), cell);
            }
            for value in &after {
                let cell = interner.cell(value);
                prop_assert_eq!(interner.value(cell).cmp(value), Ordering::Equal);
            }
        }
    }
}
