//! A value in one word, so that joins, sets and sorts work on words whatever the types are.
//!
//! # Why
//! Columns of `Int`, `Float`, `Bool` and nullable ones of these are most of what is joined and
//! counted. A word each, with no box and no tag beside it, is compared and hashed in one
//! instruction, and a row is a few words in columns. So are short texts: codes, states, categories.
//! Longer ones, lists and the rest stand in a query's [`Interner`] once, and the word says where:
//! equal values are equal words, always.
//!
//! # Layout
//! Floats are their own bits. The bit patterns of negative quiet NaNs, which nothing computes but
//! 0/0, are taken for the others (NaN boxing, as in Lua's and JavaScript's engines); a float that
//! is one of them is interned.
//!
//! ```text
//! 0xFFF9 0000 0000 000x   null 0, false 1, true 2
//! 0xFFFA bbbb iiii iiii   entry i of the interner whose brand is b
//! 0xFFFB tttt tttt tttt   a text of at most six bytes without a zero one, padded with zeros: in the order of the texts
//! 0xFFFC..0xFFFF …        an integer of 50 bits, two's complement
//! below 0xFFF8 …          a float
//! ```
//!
//! # Brands
//! A cell of one interner has no value in another: its word carries the low bits of its interner's
//! number, which are compared wherever its value is looked up, and nowhere else. A cell that goes
//! astray ends in a panic instead of a wrong value (decision 0038). Two interners have the same
//! brand only if 65,535 others were made between them.

mod int_kernels;
mod lists;

pub use int_kernels::small_ints;
pub(crate) use int_kernels::{push_small_ints, select_small_ints, small_range, small_sum};
pub(crate) use lists::Sought;

use base::STEPS;
use env::sync::RwLock;
pub use function::bytes_of;
use function::{Ambient, Failure, UNASKED_BYTES};
use hashbrown::{HashMap, HashTable};
use lists::ListTables;
use model::{Value, Vector};
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const BOXES: u64 = 0xFFF8 << 48;
const SPECIAL: u64 = 0xFFF9 << 48;
const INTERNED: u64 = 0xFFFA << 48;
const SHORT: u64 = 0xFFFB << 48;
const INT: u64 = 0xFFFC << 48;
const INT_BITS: u32 = 50;
const TAG: u64 = 0xFFFF << 48;

/// Bytes of a text that a cell holds.
const SHORT_BYTES: usize = 6;

/// A value in one word. Equal values are equal words within one [`Interner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell(u64);

impl Cell {
    /// Null.
    pub const NULL: Self = Self(SPECIAL);
    /// False.
    pub const FALSE: Self = Self(SPECIAL | 1);
    /// True.
    pub const TRUE: Self = Self(SPECIAL | 2);

    /// A truth value.
    #[inline]
    pub fn bool(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// An integer that fits.
    #[inline]
    pub fn small_int(value: i64) -> Option<Self> {
        let shift = 64 - INT_BITS;
        ((value << shift) >> shift == value)
            .then(|| Self(INT | (value.cast_unsigned() & (u64::MAX >> shift))))
    }

    /// A float that is not one of the taken patterns.
    #[inline]
    pub fn plain_float(value: f64) -> Option<Self> {
        (value.to_bits() < BOXES).then(|| Self(value.to_bits()))
    }

    /// A text that fits.
    #[inline]
    pub fn short_text(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        if text.len() > SHORT_BYTES || text.contains(&0) {
            return None;
        }
        let mut bytes = [0; 8];
        bytes[2..2 + text.len()].copy_from_slice(text);
        Some(Self(SHORT | u64::from_be_bytes(bytes)))
    }

    #[inline]
    fn is_short_text(self) -> bool {
        self.0 & TAG == SHORT
    }

    /// The text, if it is a short one.
    #[inline]
    pub fn as_short_text(self) -> Option<ShortText> {
        self.is_short_text().then(|| {
            let bytes = (self.0 << 16).to_be_bytes();
            let len = 8 - ((self.0 << 16).trailing_zeros() / 8).min(8) as usize;
            ShortText { bytes, len }
        })
    }

    /// The integer, if it is a small one.
    #[inline]
    pub fn as_small_int(self) -> Option<i64> {
        let shift = 64 - INT_BITS;
        (self.0 >= INT).then(|| (self.0 << shift).cast_signed() >> shift)
    }

    /// The float, if it is a plain one.
    #[inline]
    pub fn as_plain_float(self) -> Option<f64> {
        (self.0 < BOXES).then(|| f64::from_bits(self.0))
    }

    /// The truth value, if it is one.
    #[inline]
    pub fn as_bool(self) -> Option<bool> {
        match self {
            Self::TRUE => Some(true),
            Self::FALSE => Some(false),
            _ => None,
        }
    }

    /// The word.
    #[inline]
    pub fn word(self) -> u64 {
        self.0
    }

    /// Whether it means the same in every [`Interner`].
    #[inline]
    pub fn is_word(self) -> bool {
        !self.is_interned()
    }

    #[inline]
    fn is_interned(self) -> bool {
        self.0 & TAG == INTERNED
    }
}

/// The text of a cell that holds one.
#[derive(Clone, Copy, Debug)]
pub struct ShortText {
    bytes: [u8; 8],
    len: usize,
}

impl ShortText {
    /// It.
    pub fn as_str(&self) -> &str {
        // It was made of a whole text.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

/// Texts of a batch that [`Interner::intern_not_compared`] remembers.
const RECENT: usize = 1024;

/// Bytes of a text that costs as much to copy as to look for.
const NOT_COMPARED_BYTES: usize = 256;

/// Calls what it is given with each cell that somebody holds.
pub(crate) type EachCell<'a> = &'a mut dyn FnMut(&mut dyn FnMut(Cell));

/// The values of one query that are no words.
#[derive(Debug, Default)]
pub struct Interner {
    inner: RwLock<Inner>,
    /// Of values.
    bytes: AtomicU64,
    /// Of tables of lists.
    list_bytes: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    values: Vec<Value>,
    /// Places of values that were swept, which are null.
    free: Vec<u32>,
    /// What stands before was handed out to somebody whose cells nobody knows: see
    /// [`Interner::keep`].
    kept: usize,
    places: HashTable<u32>,
    lists: ListTables,
    hasher: foldhash::fast::FixedState,
    brand: Brand,
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
        }
    }
}

/// What the cells of one interner have in common: the upper half of their words.
#[derive(Clone, Copy, Debug)]
struct Brand(u32);

impl Brand {
    fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Relaxed) as u32 & 0xFFFF;
        Self((INTERNED >> 32) as u32 | number)
    }

    /// The cell of an entry.
    #[inline]
    fn cell(self, place: u32) -> Cell {
        Cell(u64::from(self.0) << 32 | u64::from(place))
    }

    /// The entry of a cell, if it is one's.
    ///
    /// # Panics
    /// If another interner made the cell.
    #[inline]
    fn place(self, cell: Cell) -> Option<usize> {
        if !cell.is_interned() {
            return None;
        }
        assert!((cell.0 >> 32) as u32 == self.0, "a cell met an interner that did not make it");
        Some(cell.0 as u32 as usize)
    }
}

impl Interner {
    /// The cell of a value.
    pub fn cell(&self, value: &Value) -> Cell {
        match inline(value) {
            Some(cell) => cell,
            None => self
                .known(|inner| inner.hash(value), |other| other == value)
                .unwrap_or_else(|hash| self.insert(hash, value.clone())),
        }
    }

    /// The same of a value that is given away.
    pub fn take(&self, value: Value) -> Cell {
        match inline(&value) {
            Some(cell) => cell,
            None => self
                .known(|inner| inner.hash(&value), |other| *other == value)
                .unwrap_or_else(|hash| self.insert(hash, value)),
        }
    }

    /// A text's cell; a copy is made only of one that is new.
    pub fn text(&self, text: &str) -> Cell {
        if let Some(cell) = Cell::short_text(text) {
            return cell;
        }
        let is_it = |value: &Value| matches!(value, Value::Str(other) if other == text);
        self.known(|inner| inner.hash_text(text), is_it)
            .unwrap_or_else(|hash| self.insert(hash, Value::Str(text.to_owned())))
    }

    /// Cells of texts that are compared with nothing: equal texts may be several cells, so that
    /// none has to be looked for. One that was there not long ago is mostly the same. (400 ns a
    /// text otherwise, of which there are millions.)
    ///
    /// # Errors
    /// Those of `each`, which is handed what takes a text, in order.
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
            // Other bits than those that the table's groups are told by.
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

    /// Calls `with` with the value, without a copy.
    pub fn with<T>(&self, cell: Cell, with: impl FnOnce(&Value) -> T) -> T {
        match cell.is_interned() {
            true => with(self.inner.read().value(cell)),
            false => with(&plain(cell)),
        }
    }

    /// The order of two cells' values.
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
        // Most texts are told apart by their words, which lie beside the cells: each of the others
        // lies anywhere.
        let pairs = words.into_iter().zip(cells).collect();
        let compare =
            |a: &(u64, Cell), b: &(u64, Cell)| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1));
        let pairs = base::sort_in_pieces(pairs, compare, check)?;
        Ok(pairs.into_iter().map(|(_, cell)| cell).collect())
    }

    /// Calls `with` with the text of a cell; `None` where it is no text.
    pub(crate) fn with_text<T>(&self, cell: Cell, with: impl FnOnce(&str) -> T) -> Option<T> {
        match cell.as_short_text() {
            Some(short) => Some(with(short.as_str())),
            None => self.with(cell, |value| match value {
                Value::Str(text) => Some(with(text)),
                _ => None,
            }),
        }
    }

    /// A copy of the value. A long one is asked for, and a long list not copied to its end where
    /// `ambient` says so.
    ///
    /// # Errors
    /// What `ambient` says.
    pub(crate) fn copy(&self, cell: Cell, ambient: &dyn Ambient) -> Result<Value, Failure> {
        if !cell.is_interned() {
            return Ok(plain(cell));
        }
        match self.inner.read().value(cell) {
            Value::List(items) => {
                // Few hundred items that are no lists themselves are no matter.
                if items.len() as u64 * size_of::<Value>() as u64 >= UNASKED_BYTES {
                    ambient.ask(items.iter().map(bytes_of).sum())?;
                }
                Ok(Value::List(function::copied(items, ambient)?))
            }
            other => {
                let bytes = bytes_of(other);
                if bytes >= UNASKED_BYTES {
                    ambient.ask(bytes)?;
                }
                Ok(other.clone())
            }
        }
    }

    /// About how many bytes the values take.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed) + self.list_bytes.load(Relaxed)
    }

    /// How far it is filled.
    pub(crate) fn mark(&self) -> Mark {
        let inner = self.inner.read();
        Mark {
            values: inner.values.len(),
            places: inner.places.len(),
            bytes: self.bytes.load(Relaxed),
        }
    }

    /// Columns as cells of an interner of their own. What came behind `mark` goes there with them
    /// and is forgotten here: no other cell of it may be used again.
    pub(crate) fn split_off(&self, mark: &Mark, columns: &mut [Vec<Cell>]) -> Self {
        let mut inner = self.inner.write();
        let values = inner.values.split_off(mark.values);
        let Inner { places, hasher, free, kept, .. } = &mut *inner;
        free.retain(|&place| (place as usize) < mark.values);
        *kept = (*kept).min(mark.values);
        // What nobody looks for has no place: mostly none has.
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
        let mut other = Inner { values, ..Inner::default() };
        let moved = |place: usize| place.checked_sub(mark.values);
        inner.resettle(&mut other, moved, columns);
        Self { inner: RwLock::new(other), ..Self::default() }
    }

    /// Nothing that is here now is swept any more: somebody holds cells of it beyond a batch, and
    /// is not asked which.
    pub(crate) fn keep(&self) {
        let mut inner = self.inner.write();
        inner.kept = inner.values.len();
    }

    /// Lets go the values that came behind `mark` and are in none of the cells that `each_kept`
    /// hands on: no other cell of them may be used again.
    pub(crate) fn sweep(&self, mark: &Mark, each_kept: EachCell<'_>) {
        let mut inner = self.inner.write();
        let first = mark.values.max(inner.kept);
        let mut is_kept = vec![false; inner.values.len().saturating_sub(first)];
        let brand = inner.brand;
        each_kept(&mut |cell| {
            let place = brand.place(cell).and_then(|place| place.checked_sub(first));
            if let Some(kept) = place.and_then(|place| is_kept.get_mut(place)) {
                *kept = true;
            }
        });
        let Inner { values, free, places, lists, hasher, .. } = &mut *inner;
        let mut freed_bytes = 0;
        for (at, _) in is_kept.iter().enumerate().filter(|(_, kept)| !**kept) {
            let place = first + at;
            // No null is ever interned.
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

    /// The same, and nothing is forgotten.
    pub(crate) fn copied(&self, columns: &mut [Vec<Cell>]) -> Self {
        let mut other = Inner::default();
        self.inner.read().resettle(&mut other, |_| None, columns);
        Self { inner: RwLock::new(other), ..Self::default() }
    }

    /// The cell of a value that is there, or else its hash. No lock is held when this returns, so
    /// that another can be taken.
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
        // Another thread may have been here since.
        if let Some(cell) = inner.find(hash, |other| *other == value) {
            return cell;
        }
        self.bytes.fetch_add(bytes_of(&value) + 16, Relaxed);
        let place = inner.add(value, Some(hash));
        inner.brand.cell(place)
    }
}

/// How far an [`Interner`] was filled.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    values: usize,
    places: usize,
    bytes: u64,
}

impl Mark {
    /// About how many bytes its values take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Inner {
    /// The value of a cell that it made.
    ///
    /// # Panics
    /// If another interner made the cell, or it holds its value itself.
    fn value(&self, cell: Cell) -> &Value {
        &self.values[self.brand.place(cell).expect("the caller saw that it is interned")]
    }

    /// Makes cells of this one cells of another: at the place that `moved` says, or else as copies
    /// of their values.
    fn resettle(
        &self,
        other: &mut Self,
        moved: impl Fn(usize) -> Option<usize>,
        columns: &mut [Vec<Cell>],
    ) {
        let mut copies: HashMap<usize, u32, foldhash::fast::FixedState> = HashMap::default();
        for cell in columns.iter_mut().flatten() {
            let Some(place) = self.brand.place(*cell) else { continue };
            let place = moved(place).map_or_else(
                || {
                    *copies
                        .entry(place)
                        .or_insert_with(|| other.add(self.values[place].clone(), None))
                },
                |place| place as u32,
            );
            *cell = other.brand.cell(place);
        }
    }

    /// Adds a value, which is found again by its hash if one is given.
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
        match (self.brand.place(a), self.brand.place(b)) {
            (Some(a), Some(b)) => self.values[a].cmp(&self.values[b]),
            (Some(a), None) => compare_to_word(&self.values[a], b),
            (None, Some(b)) => compare_to_word(&self.values[b], a).reverse(),
            (None, None) => plain(a).cmp(&plain(b)),
        }
    }

    /// Of cells that are all texts, a word each, in their order as far as it goes: that of the
    /// first bytes behind those that all texts begin with.
    ///
    /// # Errors
    /// Those of `check`.
    fn text_words<E>(
        &self,
        cells: &[Cell],
        check: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Option<Vec<u64>>, E> {
        let mut first: Option<&str> = None;
        let mut shared = usize::MAX;
        for piece in cells.chunks(STEPS) {
            check()?;
            for cell in piece {
                let Some(place) = self.brand.place(*cell) else {
                    if !cell.is_short_text() {
                        return Ok(None);
                    }
                    // Six bytes or less: little to be saved.
                    shared = 0;
                    continue;
                };
                let Value::Str(text) = &self.values[place] else { return Ok(None) };
                let first = first.get_or_insert(text);
                let known = &first.as_bytes()[..shared.min(first.len())];
                shared = known.iter().zip(text.as_bytes()).take_while(|(a, b)| a == b).count();
            }
        }
        let mut words = Vec::with_capacity(cells.len());
        for piece in cells.chunks(STEPS) {
            check()?;
            words.extend(piece.iter().map(|&cell| {
                match self.brand.place(cell).map(|at| &self.values[at]) {
                    Some(Value::Str(text)) => base::leading_word(&text.as_bytes()[shared..]),
                    // A short text: its bytes are the lower six of its word.
                    _ => cell.0 << 16,
                }
            }));
        }
        Ok(Some(words))
    }

    fn hash(&self, value: &Value) -> u64 {
        hash_with(&self.hasher, value)
    }

    /// The hash of the text as a value.
    fn hash_text(&self, text: &str) -> u64 {
        let mut state = self.hasher.build_hasher();
        std::mem::discriminant(&Value::Str(String::new())).hash(&mut state);
        text.hash(&mut state);
        state.finish()
    }

    fn find(&self, hash: u64, is_it: impl Fn(&Value) -> bool) -> Option<Cell> {
        let place = self.places.find(hash, |&place| is_it(&self.values[place as usize]))?;
        Some(self.brand.cell(*place))
    }
}

fn hash_with(hasher: &foldhash::fast::FixedState, value: &Value) -> u64 {
    let mut state = hasher.build_hasher();
    hash_value(value, &mut state);
    state.finish()
}

/// The cell of a value that needs no interner.
pub(crate) fn inline(value: &Value) -> Option<Cell> {
    match *value {
        Value::Null => Some(Cell::NULL),
        Value::Bool(value) => Some(Cell::bool(value)),
        Value::Int(value) => Cell::small_int(value),
        Value::Float(value) => Cell::plain_float(value),
        Value::Str(ref text) => Cell::short_text(text),
        _ => None,
    }
}

/// The order of the values of two cells of one kind that hold them.
#[inline]
fn compare_words(a: Cell, b: Cell) -> Option<Ordering> {
    if a == b {
        return Some(Ordering::Equal);
    }
    if let (Some(a), Some(b)) = (a.as_small_int(), b.as_small_int()) {
        return Some(a.cmp(&b));
    }
    if let (Some(a), Some(b)) = (a.as_plain_float(), b.as_plain_float()) {
        return Some(a.total_cmp(&b));
    }
    (a.is_short_text() && b.is_short_text()).then(|| a.0.cmp(&b.0))
}

/// A value that is interned compared with that of a cell that is not.
fn compare_to_word(value: &Value, cell: Cell) -> Ordering {
    match (value, cell.as_short_text()) {
        (Value::Str(text), Some(short)) => text.as_str().cmp(short.as_str()),
        _ => value.cmp(&plain(cell)),
    }
}

/// The value of a cell that is not interned.
fn plain(cell: Cell) -> Value {
    if let Some(int) = cell.as_small_int() {
        return Value::Int(int);
    }
    if let Some(text) = cell.as_short_text() {
        return Value::Str(text.as_str().to_owned());
    }
    match cell {
        Cell::NULL => Value::Null,
        Cell::FALSE => Value::Bool(false),
        Cell::TRUE => Value::Bool(true),
        Cell(bits) => Value::Float(f64::from_bits(bits)),
    }
}

/// Equal values have equal hashes: floats by their bits, as the total order tells them apart.
fn hash_value(value: &Value, state: &mut impl Hasher) {
    std::mem::discriminant(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(state),
        Value::Int(value) => value.hash(state),
        Value::Id(value) => value.hash(state),
        Value::Float(value) => value.to_bits().hash(state),
        Value::Str(value) => value.hash(state),
        Value::Bytes(value) => value.hash(state),
        Value::Uuid(value) => value.hash(state),
        Value::List(items) => {
            items.len().hash(state);
            items.iter().for_each(|item| hash_value(item, state));
        }
        Value::Vector(Vector::F32(items)) => {
            items.iter().for_each(|item| item.to_bits().hash(state));
        }
        Value::Vector(Vector::F64(items)) => {
            items.iter().for_each(|item| item.to_bits().hash(state));
        }
        Value::Json(value) => value.hash(state),
        Value::Validity(value) => value.hash(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(super) fn value() -> impl Strategy<Value = Value> {
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

    proptest! {
        #[test]
        fn cells_come_back_are_equal_and_ordered_as_their_values(a in value(), b in value()) {
            let interner = Interner::default();
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
        ) {
            let interner = Interner::default();
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
        ) {
            let interner = Interner::default();
            let old: Vec<Cell> = before.iter().map(|value| interner.cell(value)).collect();
            let mark = interner.mark();
            let cells: Vec<_> = young.iter().map(|(value, _)| interner.cell(value)).collect();
            let kept = || cells.iter().zip(&young).filter(|(_, (_, keeps))| *keeps);
            // Values that are there twice are kept where either is.
            interner.sweep(&mark, &mut |keep| kept().for_each(|(&cell, _)| keep(cell)));
            let mut bytes: Vec<Cell> = old.iter().copied().chain(kept().map(|(&cell, _)| cell)).collect();
            bytes.retain(|cell| !cell.is_word());
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
        ) {
            let interner = Interner::default();
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
