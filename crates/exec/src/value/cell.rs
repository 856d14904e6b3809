//! A value in one word, so that joins, sets and sorts work on words, whatever the types are.
//!
//! # Why
//! Most joined and counted columns are `Int`, `Float`, `Bool` and nullable ones of these. With one
//! word each, without a box or a separate tag, they are compared and hashed in one instruction, and
//! a row is a few words in columns. So are short strings: codes, states, categories. Longer
//! strings, lists and the rest are stored once in a query's [`Interner`], and the word holds their
//! index. Equal values are always equal words.
//!
//! # Layout
//! Floats are their own bits. Other values use the bit patterns of negative quiet NaNs, which only
//! 0/0 computes (NaN boxing, as in Lua's and JavaScript's engines); a float with one of these
//! patterns is interned.
//!
//! ```text
//! 0xFFF9 0000 0000 000x   null 0, false 1, true 2
//! 0xFFFA bbbb iiii iiii   entry i of the interner with brand b, or of shared values, whose brands
//!                         have their highest bit set
//! 0xFFFB tttt tttt tttt   a string of at most six bytes, none of them zero, padded with zeros;
//!                         ordered as strings are
//! 0xFFFC..0xFFFF …        an integer of 50 bits, two's complement
//! below 0xFFF8 …          a float
//! ```
//!
//! # Brands
//! A cell of one interner has no value in another. Its word carries the low bits of its interner's
//! number, which are compared when its value is looked up, and only then. So a misplaced cell
//! causes a panic, not a wrong value (decision 0038). Two interners have the same brand only if
//! 32,767 others were made between them.

mod int_kernels;
mod interner;

pub use int_kernels::small_ints;
pub(crate) use int_kernels::{push_small_ints, select_small_ints, small_range, small_sum};
pub(crate) use interner::{EachCell, Mark, SharedVersion, Sought};
pub use interner::{Interner, SharedValues};

pub use function::bytes_of;
use model::{Type, Value, Vector};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

const BOXES: u64 = 0xFFF8 << 48;
const SPECIAL: u64 = 0xFFF9 << 48;
const INTERNED: u64 = 0xFFFA << 48;
/// Set in the brand of shared values.
const SHARED: u64 = 1 << 47;
const SHORT: u64 = 0xFFFB << 48;
const INT: u64 = 0xFFFC << 48;
const INT_BITS: u32 = 50;
const TAG: u64 = 0xFFFF << 48;

/// Most bytes of a string that a cell holds.
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

    /// An integer, if it fits.
    #[inline]
    pub fn small_int(value: i64) -> Option<Self> {
        let shift = 64 - INT_BITS;
        ((value << shift) >> shift == value)
            .then(|| Self(INT | (value.cast_unsigned() & (u64::MAX >> shift))))
    }

    /// A float, if its pattern is not taken.
    #[inline]
    pub fn plain_float(value: f64) -> Option<Self> {
        (value.to_bits() < BOXES).then(|| Self(value.to_bits()))
    }

    /// A string, if it fits.
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

    /// The string, if it is a short one.
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

    /// Whether it is valid in every [`Interner`].
    #[inline]
    pub fn is_word(self) -> bool {
        !self.is_interned()
    }

    /// Whether it holds an integer, a float or a string.
    #[inline]
    pub(crate) fn is_ordered_word(self) -> bool {
        self.0 >= SHORT || self.0 < BOXES
    }

    #[inline]
    fn is_interned(self) -> bool {
        self.0 & TAG == INTERNED
    }

    /// Whether it is an entry of shared values.
    #[inline]
    pub(crate) fn is_shared(self) -> bool {
        self.0 & (TAG | SHARED) == INTERNED | SHARED
    }
}

/// The string of a cell that holds one.
#[derive(Clone, Copy, Debug)]
pub struct ShortText {
    bytes: [u8; 8],
    len: usize,
}

impl ShortText {
    /// The string.
    pub fn as_str(&self) -> &str {
        // The bytes were copied from a whole string.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

/// The cell of a value that needs no interning.
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

/// Whether most values of a type need no interning. Dates, times and durations do.
pub(crate) fn fits_cells(of: &Type) -> bool {
    of.is_word() && !of.is_temporal()
}

/// The order of two cells of one kind that hold their values.
#[inline]
pub(crate) fn compare_words(a: Cell, b: Cell) -> Option<Ordering> {
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

/// Compares an interned value with that of a cell that is not.
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

/// Hashes a value. Equal values have equal hashes; floats are hashed by their bits, as the total
/// order distinguishes them.
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
        Value::Date(days) => days.hash(state),
        Value::Timestamp(us) | Value::Duration(us) => us.hash(state),
        Value::Decimal(decimal) => decimal.hash(state),
    }
}
