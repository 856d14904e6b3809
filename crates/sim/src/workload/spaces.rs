//! The keyspaces of the workload, and their keys and rows, which are generated from small numbers.
//!
//! # Why numbers
//! A step of a plan is data that can be printed and shrunk: it names a keyspace by its slot, a key
//! by a small number and a row by a seed. There are few keys, so that writers conflict; they share
//! prefixes, so that ranges and filters matter; values include the ends of their ranges, where
//! errors are likely.

use crate::workload::dice::mix;
use base::{
    ColumnShape, Key, KeyRange, KeyShape, KeyspaceId, Merge, Shape, float_to_word, int_to_word,
    shape::Kind, word_to_float, word_to_int,
};
use relation::{
    BlobsDef, BlobsPart, Combine, CombinedDef, CountersDef, KeyType, NumberType, Schema,
};
use std::collections::BTreeMap;

/// Number of a keyspace of the workload: an index into [`NAMES`].
pub type Slot = u8;

/// The keyspaces that a step uses, as of its beginning.
pub type Ids = BTreeMap<Slot, KeyspaceId>;

/// Forward edges; never written without [`REVERSE`].
pub const FORWARD: Slot = 0;
/// Reverse edges.
pub const REVERSE: Slot = 1;
/// Slots below this one are written as plain keyspaces.
pub const SLOTS: Slot = 7;
/// Rows of blobs. In the model they have one column, the value.
pub const BLOBS: Slot = 7;
/// Pieces of long blobs; not in the model.
pub const LARGE: Slot = 8;
/// Counters: sums by number, minima by string, maxima by signed number; and [`GROWN`].
pub const COUNTERS: [Slot; 4] = [9, 10, 11, GROWN];
/// Combined values: sums by string, stored as eight bytes that a function of the workload adds.
pub const GROWN: Slot = 12;
/// Number of keys of a slot.
pub const KEYS: u16 = 24;
/// Further keys of counters. Under durability `none` only transactions add to them.
pub const TX_KEYS: u16 = 2;

/// Names of the keyspaces.
pub const NAMES: [&str; 13] = [
    "edges",
    "edges:rev",
    "counts",
    "names",
    "wide",
    "set",
    "sums",
    "pages",
    "pages:large",
    "hits",
    "least",
    "most",
    "grown",
];

/// Length from which on blobs are divided here. The engine's 16 KiB would fill a memtable.
pub const LARGE_BYTES_MIN: usize = 48;
/// Bytes of a piece.
pub const CHUNK_BYTES: usize = 64;

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No value.
    Null,
    /// A word.
    Word(u64),
    /// A sum that does not fit a word. Only the model has it; readers see [`past`].
    Sum(i128),
    /// A byte string.
    Bytes(Vec<u8>),
}

/// The word that readers see for a sum that does not fit a word.
#[must_use]
pub fn past(sum: i128) -> u64 {
    if sum > 0 { u64::MAX } else { 0 }
}

/// The word that readers see for a sum.
#[must_use]
pub fn narrow(sum: i128) -> u64 {
    let word = i64::try_from(sum).ok().map(int_to_word);
    word.filter(|&word| !Merge::AddInt.is_past(word)).unwrap_or_else(|| past(sum))
}

/// The values of a row.
pub type Row = Vec<Cell>;

/// Definition of the blobs.
#[must_use]
pub fn blobs_def() -> BlobsDef {
    BlobsDef { name: NAMES[usize::from(BLOBS)].to_owned(), key: KeyType::Str }
}

/// Definition of a slot's counters.
#[must_use]
pub fn counters_def(slot: Slot) -> CountersDef {
    let (key, combine) = match slot {
        9 => (KeyType::U64, Combine::Sum),
        10 => (KeyType::Str, Combine::Min),
        _ => (KeyType::I64, Combine::Max),
    };
    let name = NAMES[usize::from(slot)].to_owned();
    CountersDef { name, key, number: NumberType::Int, combine }
}

/// Schema of counters and combined values.
#[must_use]
pub fn counters_schema(slot: Slot) -> Schema {
    match slot {
        GROWN => {
            let name = NAMES[usize::from(slot)].to_owned();
            CombinedDef { name, key: KeyType::Str }.schema()
        }
        _ => counters_def(slot).schema(),
    }
}

/// How counters of a slot combine, where they are words.
#[must_use]
pub fn counters_merge(slot: Slot) -> Merge {
    if slot == GROWN { Merge::AddInt } else { counters_def(slot).merge() }
}

/// The word of a counter's value.
#[must_use]
pub fn word_of(cell: &Cell) -> Option<u64> {
    match cell {
        Cell::Word(word) => Some(*word),
        Cell::Sum(sum) => Some(past(*sum)),
        Cell::Bytes(bytes) => Some(int_to_word(int_of(bytes)?)),
        Cell::Null => None,
    }
}

/// The number of a combined value.
#[must_use]
pub fn int_of(bytes: &[u8]) -> Option<i64> {
    Some(i64::from_le_bytes(bytes.try_into().ok()?))
}

/// Adds `newer`, an increment of a combined value, to `older`.
#[must_use]
pub fn grow(older: &Row, newer: &Row) -> Row {
    let int = |row: &Row| match &row[..] {
        [Cell::Bytes(bytes)] => int_of(bytes).unwrap_or_default(),
        _ => 0,
    };
    vec![Cell::Bytes((int(older) + int(newer)).to_le_bytes().to_vec())]
}

/// The shape of a slot.
#[must_use]
pub fn shape(slot: Slot) -> Shape {
    match slot {
        BLOBS => return blobs_def().shape(BlobsPart::Rows),
        LARGE => return blobs_def().shape(BlobsPart::Large),
        _ if COUNTERS.contains(&slot) => return counters_schema(slot).shape(),
        _ => {}
    }
    let plain = ColumnShape::Word { merge: None };
    let merge = |merge| ColumnShape::Word { merge: Some(merge) };
    let (key, values) = match slot {
        FORWARD | REVERSE => (KeyShape::Words(2), vec![plain]),
        2 => (
            KeyShape::Words(1),
            vec![merge(Merge::AddInt), merge(Merge::Min), merge(Merge::Max), plain],
        ),
        3 => (KeyShape::Bytes, vec![ColumnShape::Bytes, plain]),
        4 => (KeyShape::Words(3), vec![plain, ColumnShape::Bytes, merge(Merge::AddInt)]),
        5 => (KeyShape::Words(4), vec![]),
        _ => (KeyShape::Bytes, vec![merge(Merge::AddFloat), ColumnShape::Bytes]),
    };
    Shape { key, values }
}

/// The `n`th string key.
#[must_use]
pub fn text(n: u16) -> String {
    match n {
        0 => String::new(),
        _ => format!("k{}{n}", ["", "\0", "\u{7f}", "\u{7f}\0é"][usize::from(n % 4)]),
    }
}

/// The `n`th signed key of counters.
#[must_use]
pub fn signed(n: u16) -> i64 {
    i64::from(n) - i64::from(KEYS / 2)
}

/// The `n`th key of a slot. An edge's key in [`REVERSE`] is that in [`FORWARD`] reversed.
#[must_use]
pub fn key(slot: Slot, n: u16) -> Key {
    if slot >= SLOTS {
        return match slot {
            9 => Key::words(&[u64::from(n)]),
            11 => Key::words(&[int_to_word(signed(n))]),
            _ => {
                let mut encoded = Vec::new();
                model::encode_str(&text(n), &mut encoded);
                Key::bytes(&encoded)
            }
        };
    }
    let n = u64::from(n % KEYS);
    match slot {
        FORWARD => Key::words(&[n / 5, n % 5]),
        REVERSE => Key::words(&[n % 5, n / 5]),
        2 => Key::words(&[if n + 1 == u64::from(KEYS) { u64::MAX } else { n * n * n }]),
        4 => Key::words(&[n % 2, (n / 2 % 3) << 40, n]),
        5 => Key::words(&[n % 3, n % 2, 0, n << 60 | n]),
        _ => match n {
            0 => Key::bytes(b""),
            _ => Key::bytes(format!("k{}{n}", "\u{7f}".repeat((n % 4) as usize)).as_bytes()),
        },
    }
}

/// The blob for a seed. No two blobs share a piece.
#[must_use]
pub fn blob(seed: u32) -> Vec<u8> {
    let r = mix(u64::from(seed) << 8);
    let length = match r % 8 {
        0 => 0,
        1 => LARGE_BYTES_MIN - 1 + (r / 8 % 2) as usize,
        2 => CHUNK_BYTES * (1 + (r / 8 % 3) as usize),
        3 => CHUNK_BYTES + (r / 8 % 400) as usize,
        4 => LARGE_BYTES_MIN + (r / 8 % 60) as usize,
        _ => (r / 8 % 40) as usize,
    };
    (0..length as u64).map(|j| mix(r ^ (j / 3 + 1)) as u8).collect()
}

/// An integer to add: mostly small, sometimes so large that two of them overflow a word, and a
/// third may bring the sum back into range.
fn addend(random: u64) -> i64 {
    let small = (random % 11) as i64 - 5;
    match random / 11 % 40 {
        0 => (1 << 62) + small,
        1 => -(1 << 62) - small,
        2 => i64::MAX - 1,
        3 => i64::MIN + 1,
        _ => small,
    }
}

/// The row for a seed.
#[must_use]
pub fn row(slot: Slot, seed: u32) -> Row {
    if slot == BLOBS {
        return vec![Cell::Bytes(blob(seed))];
    }
    if slot >= SLOTS {
        let r = mix(u64::from(seed) << 8) >> 8;
        let number = match counters_merge(slot) {
            Merge::AddInt if slot != GROWN => addend(r),
            Merge::AddInt => (r % 11) as i64 - 5,
            _ => (r % 1000) as i64 - 5,
        };
        return match slot {
            GROWN => vec![Cell::Bytes(number.to_le_bytes().to_vec())],
            _ => vec![Cell::Word(int_to_word(number))],
        };
    }
    // Both directions of an edge have the same weight.
    let slot = if slot == REVERSE { FORWARD } else { slot };
    let cell = |(i, column): (usize, &ColumnShape)| {
        let r = mix(u64::from(seed) << 8 | i as u64);
        let small = r >> 8;
        match column {
            // Every edge of a weighted graph has a weight.
            _ if r.is_multiple_of(9) && slot != FORWARD => Cell::Null,
            ColumnShape::Word { merge: Some(Merge::AddInt) } => {
                Cell::Word(int_to_word(addend(small)))
            }
            // Floats are whole numbers, so that the order of additions does not matter.
            ColumnShape::Word { merge: Some(Merge::AddFloat) } => {
                Cell::Word(float_to_word((small % 11) as f64 - 5.0))
            }
            ColumnShape::Word { merge: Some(_) } => Cell::Word(small % 1000),
            ColumnShape::Word { merge: None } => Cell::Word(match small % 4 {
                0 => u64::MAX - small % 3,
                1 => small,
                _ => small % 100,
            }),
            ColumnShape::Bytes => {
                let length = match small % 16 {
                    0 => 700 + small / 16 % 900,
                    1 => 0,
                    _ => small / 16 % 20,
                };
                Cell::Bytes((0..length).map(|j| mix(r ^ (j / 3)) as u8 % 5 + b'a').collect())
            }
        }
    };
    shape(slot).values.iter().enumerate().map(cell).collect()
}

/// A range of keys as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Everything.
    All,
    /// From the smaller of two keys up to the larger, exclusive.
    Between(u16, u16),
    /// All keys that share the first word, or the first bytes, with a key.
    Prefix(u16),
}

/// The range of a slot's keys for a span.
#[must_use]
pub fn range(slot: Slot, span: Span) -> KeyRange {
    let words = matches!(shape(slot).key, KeyShape::Words(_));
    match span {
        Span::All if words => KeyRange::all_words(),
        Span::All => KeyRange::all_bytes(),
        Span::Between(a, b) => {
            let (a, b) = (key(slot, a), key(slot, b));
            let (lower, upper) = if a <= b { (a, b) } else { (b, a) };
            KeyRange { lower, upper: Some(upper) }
        }
        Span::Prefix(n) => match key(slot, n).as_ref() {
            base::KeyRef::Words(words) => KeyRange::prefix_words(&words[..1]),
            base::KeyRef::Bytes(bytes) => KeyRange::prefix_bytes(&bytes[..bytes.len().min(3)]),
        },
    }
}

fn combine(merge: Merge, older: &Cell, newer: &Cell) -> Cell {
    let int = |cell: &Cell| match cell {
        Cell::Sum(sum) => *sum,
        cell => word_of(cell).map_or(0, |word| word_to_int(word).into()),
    };
    match (merge, older, newer) {
        (Merge::AddInt, ..) => {
            let sum = int(older) + int(newer);
            let word = narrow(sum);
            if merge.is_past(word) { Cell::Sum(sum) } else { Cell::Word(word) }
        }
        (_, Cell::Word(older), Cell::Word(newer)) => match merge {
            Merge::Min => Cell::Word(*older.min(newer)),
            Merge::Max => Cell::Word(*older.max(newer)),
            _ => Cell::Word(float_to_word(word_to_float(*older) + word_to_float(*newer))),
        },
        _ => newer.clone(),
    }
}

/// Applies the merge `newer` to `older`.
#[must_use]
pub fn merge(shape: &Shape, older: &Row, newer: &Row) -> Row {
    let columns = shape.values.iter().zip(older.iter().zip(newer));
    let cell =
        |(column, (older, newer)): (&ColumnShape, (&Cell, &Cell))| match (column, older, newer) {
            // An increment without a value changes nothing.
            (ColumnShape::Word { merge: Some(_) }, older, Cell::Null) => older.clone(),
            (ColumnShape::Word { merge: Some(merge) }, older, newer) if *older != Cell::Null => {
                combine(*merge, older, newer)
            }
            _ => newer.clone(),
        };
    columns.map(cell).collect()
}

/// Short name of a kind, for traces.
#[must_use]
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Delete => "delete",
        Kind::Put => "put",
        Kind::Merge => "merge",
    }
}
