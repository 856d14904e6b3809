//! The keyspaces of the workload, and keys and rows made from small numbers.
//!
//! # Why numbers
//! A step of a plan is data that can be printed and shrunk: it names a keyspace by its slot, a key by a
//! small number and a row by a seed. Few keys, so that writers meet; shared prefixes, so that ranges and
//! filters have something to tell apart; the ends of the value ranges, because that is where bugs live.

use crate::workload::dice::mix;
use base::{
    ColumnShape, Key, KeyRange, KeyShape, Merge, Shape, float_to_word, int_to_word, shape::Kind,
};

/// Number of a keyspace of the workload: an index into [`NAMES`].
pub type Slot = u8;

/// Forward edges; never written without [`REVERSE`].
pub const FORWARD: Slot = 0;
/// Reverse edges.
pub const REVERSE: Slot = 1;
/// Slots in all.
pub const SLOTS: Slot = NAMES.len() as Slot;
/// Keys a slot has.
pub const KEYS: u16 = 24;

/// Names of the keyspaces.
pub const NAMES: [&str; 7] = ["edges", "edges:rev", "counts", "names", "wide", "set", "sums"];

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No value.
    Null,
    /// A word.
    Word(u64),
    /// A byte string.
    Bytes(Vec<u8>),
}

/// The values of a row.
pub type Row = Vec<Cell>;

/// Columns of a slot.
#[must_use]
pub fn shape(slot: Slot) -> Shape {
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

/// Key number `n` of a slot. An edge's key in [`REVERSE`] is that of [`FORWARD`] turned round.
#[must_use]
pub fn key(slot: Slot, n: u16) -> Key {
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

/// The row that a seed stands for.
#[must_use]
pub fn row(slot: Slot, seed: u32) -> Row {
    // Both directions of an edge carry one weight.
    let slot = if slot == REVERSE { FORWARD } else { slot };
    let cell = |(i, column): (usize, &ColumnShape)| {
        let r = mix(u64::from(seed) << 8 | i as u64);
        let small = r >> 8;
        match column {
            // An edge of a graph with weights has one.
            _ if r.is_multiple_of(9) && slot != FORWARD => Cell::Null,
            // No sum comes near the ends of its range, and floats are whole numbers: the order in which an
            // engine adds deltas must not matter.
            ColumnShape::Word { merge: Some(Merge::AddInt) } => {
                Cell::Word(int_to_word((small % 11) as i64 - 5))
            }
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

/// A range of keys as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Everything.
    All,
    /// From the smaller of two keys up to, without, the larger.
    Between(u16, u16),
    /// What shares the first word, or the first bytes, with a key.
    Prefix(u16),
}

/// The range of keys of a slot that a span stands for.
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

/// `newer`, a merge, applied to `older`.
#[must_use]
pub fn merge(shape: &Shape, older: &Row, newer: &Row) -> Row {
    let columns = shape.values.iter().zip(older.iter().zip(newer));
    let cell =
        |(column, (older, newer)): (&ColumnShape, (&Cell, &Cell))| match (column, older, newer) {
            (ColumnShape::Word { merge: Some(merge) }, Cell::Word(older), Cell::Word(newer)) => {
                Cell::Word(merge.apply(*older, *newer))
            }
            // A delta without a value changes nothing.
            (ColumnShape::Word { merge: Some(_) }, older, Cell::Null) => older.clone(),
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
