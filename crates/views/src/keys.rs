//! Keys of blobs, counters and combined values: integers as words, strings in an encoding that
//! keeps their order.
//!
//! # Why strings get no dictionary ids
//! A vertex occurs in many edges, so a graph stores its string once, and edges hold an id. Here a
//! key occurs once: a dictionary would store each string twice, and an id besides.

pub use crate::graph::{VertexColumn as KeyColumn, VertexList as KeyList};
use base::shape::{int_to_word, word_to_int};
use base::{BytesColumn, Key, KeyRange, KeyRef, Keys};
pub use relation::KeyType;
use relation::invalid;
use std::cell::Cell;
use store::{Error, ErrorKind, Result};

/// A key passed to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOf<'a> {
    /// An unsigned integer.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// A string.
    Str(&'a str),
}

impl From<u64> for KeyOf<'_> {
    fn from(key: u64) -> Self {
        Self::U64(key)
    }
}

impl From<i64> for KeyOf<'_> {
    fn from(key: i64) -> Self {
        Self::I64(key)
    }
}

impl<'a> From<&'a str> for KeyOf<'a> {
    fn from(key: &'a str) -> Self {
        Self::Str(key)
    }
}

impl KeyOf<'_> {
    fn key_type(self) -> KeyType {
        match self {
            Self::U64(_) => KeyType::U64,
            Self::I64(_) => KeyType::I64,
            Self::Str(_) => KeyType::Str,
        }
    }
}

thread_local! {
    /// Buffer for encoded strings, reused across calls.
    static ENCODED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with the encoded key. Fails if the key is not of type `of`.
#[inline]
pub(crate) fn with_key<R>(
    of: KeyType,
    key: KeyOf<'_>,
    f: impl FnOnce(KeyRef<'_>) -> Result<R>,
) -> Result<R> {
    match (of, key) {
        (KeyType::U64, KeyOf::U64(key)) => f(KeyRef::Words(&[key])),
        (KeyType::I64, KeyOf::I64(key)) => f(KeyRef::Words(&[int_to_word(key)])),
        (KeyType::Str, KeyOf::Str(text)) => {
            let mut encoded = ENCODED.take();
            encoded.clear();
            model::encode_str(text, &mut encoded);
            let result = f(KeyRef::Bytes(&encoded));
            ENCODED.set(encoded);
            result
        }
        _ => Err(wrong_type(of, key.key_type())),
    }
}

/// Appends an encoded key to a column.
pub(crate) fn push_one(of: KeyType, key: KeyOf<'_>, out: &mut Keys) -> Result<()> {
    with_key(of, key, |key| {
        out.push(key);
        Ok(())
    })
}

/// Checks that there is a value for each key, and that no value is null.
///
/// # Errors
/// [`store::ErrorKind::InvalidInput`] otherwise.
pub(crate) fn check_values(keys: KeyList<'_>, values: &BytesColumn) -> Result<()> {
    if keys.len() != values.len() {
        return Err(invalid(format!("{} keys, but {} values", keys.len(), values.len())));
    }
    match (0..values.len()).find(|&row| !values.validity.is_valid(row)) {
        None => Ok(()),
        Some(row) => {
            let what = format!("value {row} is null\nhint: a value may be empty, not null");
            Err(invalid(what))
        }
    }
}

/// Appends encoded keys to a column.
pub(crate) fn push_keys(of: KeyType, list: KeyList<'_>, out: &mut Keys) -> Result<()> {
    match (list, out) {
        (KeyList::U64(list), Keys::Words(columns)) if of == KeyType::U64 => {
            columns[0].extend_from_slice(list);
        }
        (KeyList::I64(list), Keys::Words(columns)) if of == KeyType::I64 => {
            columns[0].extend(list.iter().map(|&key| int_to_word(key)));
        }
        (KeyList::Str(list), Keys::Bytes(column)) if of == KeyType::Str => {
            for text in list {
                push_encoded(column, |heap| model::encode_str(text, heap));
            }
        }
        (list, _) => return Err(wrong_type(of, list.key_type())),
    }
    Ok(())
}

/// Appends the bytes that `write` appends to the heap as one string.
fn push_encoded(column: &mut BytesColumn, write: impl FnOnce(&mut Vec<u8>)) {
    let row = column.len();
    column.validity.push(row, true);
    write(&mut column.heap);
    column.offsets.push(column.heap.len() as u64);
}

/// Encodes keys of this type as a column.
pub(crate) fn keys_of(of: KeyType, list: KeyList<'_>) -> Result<Keys> {
    let mut keys = empty_keys(of);
    push_keys(of, list, &mut keys)?;
    Ok(keys)
}

/// An empty column for keys of this type.
pub(crate) fn empty_keys(of: KeyType) -> Keys {
    match of {
        KeyType::U64 | KeyType::I64 => Keys::Words(vec![Vec::new()]),
        KeyType::Str => Keys::Bytes(BytesColumn::default()),
    }
}

/// Decodes a column of keys from the store.
pub(crate) fn column_of(of: KeyType, keys: Keys) -> Result<KeyColumn> {
    match (of, keys) {
        (KeyType::U64, Keys::Words(mut columns)) => {
            Ok(KeyColumn::U64(columns.pop().unwrap_or_default()))
        }
        (KeyType::I64, Keys::Words(columns)) => {
            let words = columns.first().map_or(&[][..], Vec::as_slice);
            Ok(KeyColumn::I64(words.iter().map(|&word| word_to_int(word)).collect()))
        }
        (KeyType::Str, Keys::Bytes(column)) => {
            let mut texts = BytesColumn::default();
            for i in 0..column.len() {
                let text = model::decode_str(column.get(i)).map_err(|error| {
                    Error::new(ErrorKind::Corruption, format!("a key is no text: {error}"))
                })?;
                texts.push(Some(text.as_bytes()));
            }
            Ok(KeyColumn::Str(texts))
        }
        _ => Err(Error::new(ErrorKind::Corruption, "the keys are not of their relation's type")),
    }
}

/// Maximum number of bytes of a string key in a message.
const SHOWN_BYTES_MAX: usize = 100;

/// A key for a message; long strings are shortened.
pub(crate) fn shown(of: KeyType, key: KeyRef<'_>) -> String {
    match (of, key) {
        (KeyType::U64, KeyRef::Words(words)) => words[0].to_string(),
        (KeyType::I64, KeyRef::Words(words)) => word_to_int(words[0]).to_string(),
        (_, KeyRef::Words(words)) => format!("{words:?}"),
        (_, KeyRef::Bytes(bytes)) => match model::decode_str(bytes) {
            Ok(text) if text.len() > SHOWN_BYTES_MAX => {
                format!("{:?}…", &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)])
            }
            Ok(text) => format!("{text:?}"),
            Err(_) => format!("{bytes:?}"),
        },
    }
}

/// The range from `from` (inclusive) to `to` (exclusive); `None` is no bound.
pub(crate) fn range_of(
    of: KeyType,
    from: Option<KeyOf<'_>>,
    to: Option<KeyOf<'_>>,
) -> Result<KeyRange> {
    let owned = |key| with_key(of, key, |key| Ok(Key::from(key)));
    let lower = match from {
        Some(key) => owned(key)?,
        None if of == KeyType::Str => Key::Bytes(Vec::new()),
        None => Key::words(&[]),
    };
    Ok(KeyRange { lower, upper: to.map(owned).transpose()? })
}

/// The range of keys up to and including `last`; `None` is no bound.
pub(crate) fn range_through(of: KeyType, last: Option<KeyOf<'_>>) -> Result<KeyRange> {
    let mut range = range_of(of, None, last)?;
    range.upper = range.upper.and_then(|last| last.as_ref().successor());
    Ok(range)
}

impl KeyList<'_> {
    fn key_type(&self) -> KeyType {
        match self {
            Self::U64(_) => KeyType::U64,
            Self::I64(_) => KeyType::I64,
            Self::Str(_) => KeyType::Str,
        }
    }
}

impl KeyColumn {
    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U64(keys) => keys.len(),
            Self::I64(keys) => keys.len(),
            Self::Str(keys) => keys.len(),
        }
    }

    /// Whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn wrong_type(of: KeyType, given: KeyType) -> Error {
    invalid(format!("the keys are {of}, {given} was given"))
}
