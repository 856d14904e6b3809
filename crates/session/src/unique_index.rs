//! Unique indexes: the values in which no two rows are equal, and rows that repeat them.

use base::{Batch, Key, KeyRange, KeyShape, Keys, Projection, WORDS_MAX};
use exec::storage::access_path::StoredPath;
use model::{BorrowedValue, Value, decode_next};
use store::{Error, ErrorKind, Read, Result};

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 65_536;

/// Characters of a value that a message shows.
const SHOWN_CHARS: usize = 60;

/// A unique index, in which rows may be equal in the unique columns, since other columns follow.
#[derive(Clone, Copy)]
pub(crate) struct UniqueIndex<'p> {
    path: &'p StoredPath,
    /// Number of its first columns in which no two rows are equal.
    columns: usize,
    /// Number of key columns of the relation.
    relation_keys: usize,
}

/// Two rows with the same values in a unique index.
pub(crate) struct Repeat {
    /// The values, as `column = value, …`.
    pub values: String,
    /// The keys of two of the rows, as lists.
    pub rows: [String; 2],
}

impl Repeat {
    /// Says which rows have which values.
    pub(crate) fn of_rows(&self) -> String {
        let Self { values, rows: [first, second] } = self;
        format!("rows {first} and {second} both have {values}")
    }
}

impl<'p> UniqueIndex<'p> {
    /// The unique index that a path of a relation is. `None` for another one, and for one whose
    /// unique columns include the relation's key: its rows always differ.
    pub(crate) fn of(path: &'p StoredPath, relation_keys: usize) -> Option<Self> {
        let columns = path.schema.unique_columns();
        let is_checked = columns > 0 && columns < path.schema.keys.len();
        is_checked.then_some(Self { path, columns, relation_keys })
    }

    pub(crate) fn path(&self) -> &'p StoredPath {
        self.path
    }

    /// The values of a row: the part of its key in the index that no other row has. `None` if one
    /// of them is null.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if the bytes are not a key of the index.
    pub(crate) fn values(&self, keys: &Keys, row: usize) -> Result<Option<Key>> {
        let key = match keys {
            // No nullable type is stored as a word.
            Keys::Words(columns) => {
                let mut words = [0; WORDS_MAX];
                let columns = columns.iter().take(self.columns);
                words.iter_mut().zip(columns).for_each(|(word, column)| *word = column[row]);
                return Ok(Some(Key::words(&words[..self.columns])));
            }
            Keys::Bytes(keys) => keys.get(row),
        };
        let mut rest = key;
        for _ in 0..self.columns {
            let value = decode_next(&mut rest).map_err(|error| {
                let of = &self.path.schema.name;
                let what = format!("stored bytes are not a key of the index {of:?}: {error}");
                Error::new(ErrorKind::Corruption, what)
            })?;
            if matches!(value, BorrowedValue::Value(Value::Null)) {
                return Ok(None);
            }
        }
        Ok(Some(Key::bytes(&key[..key.len() - rest.len()])))
    }

    /// The key that a transaction deletes to claim values: it is the same for all rows with these
    /// values, so two transactions that claim them conflict. No row has the key, except, where keys
    /// are words, a row whose other columns are all 0.
    pub(crate) fn claim(&self, values: &Key) -> Key {
        match (values, self.path.shape.key) {
            (Key::Words { words, .. }, KeyShape::Words(len)) => {
                let mut key = [0; WORDS_MAX];
                key[..self.columns].copy_from_slice(&words[..self.columns]);
                Key::words(&key[..usize::from(len)])
            }
            (values, _) => values.clone(),
        }
    }

    /// Replaces `found` by two rows with these values, or fewer if there are not as many.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn find(&self, read: &dyn Read, values: &Key, found: &mut Batch) -> Result<()> {
        found.clear();
        let range = match values {
            Key::Words { words, .. } => KeyRange::prefix_words(&words[..self.columns]),
            Key::Bytes(bytes) => KeyRange::prefix_bytes(bytes),
        };
        read.scan_into(self.path.keyspace, &range, Projection::ALL, 2, found)
    }

    /// The first two rows with the same values, in the order of the index. `check` is called once
    /// for many rows.
    ///
    /// # Errors
    /// Those of the store and of `check`.
    pub(crate) fn first_repeat<E: From<Error>>(
        &self,
        read: &dyn Read,
        check: impl Fn() -> std::result::Result<(), E>,
    ) -> std::result::Result<Option<Repeat>, E> {
        let mut scan = read.scan(self.path.keyspace, self.path.all(), Projection::ALL)?;
        let mut rows = Batch::new(&self.path.shape);
        let mut before = None;
        // The last row of each batch is compared with the first of the next one.
        let mut last = Batch::new(&self.path.shape);
        while scan.next_batch(CHUNK_ROWS, &mut rows)? {
            check()?;
            for row in 0..rows.rows {
                let values = self.values(&rows.keys, row)?;
                if values.is_some() && values == before {
                    let first = match row.checked_sub(1) {
                        Some(row) => (&rows, row),
                        None => (&last, 0),
                    };
                    return Ok(Some(self.repeat(first, (&rows, row))?));
                }
                before = values;
            }
            if let Some(row) = rows.rows.checked_sub(1) {
                last = rows.gather(&[row as u32]);
            }
            rows.clear();
        }
        Ok(None)
    }

    /// Describes two rows of the index with the same values.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if stored bytes are not rows of the index.
    pub(crate) fn repeat(&self, one: (&Batch, usize), other: (&Batch, usize)) -> Result<Repeat> {
        let schema = &self.path.schema;
        let rows = [one, other].map(|(rows, row)| schema.key(rows, row));
        let [one, other] = rows;
        let (one, other) = (one?, other?);
        let values = schema.keys.iter().zip(&one).take(self.columns);
        let values = values.map(|(column, value)| format!("{} = {}", column.name, short(value)));
        let values: Vec<String> = values.collect();
        let key = |row: &[Value]| {
            let place = |column| self.path.columns.iter().position(|&own| own == column);
            let places = (0..self.relation_keys).filter_map(place);
            let key: Vec<String> = places.map(|place| short(&row[place])).collect();
            format!("[{}]", key.join(", "))
        };
        Ok(Repeat { values: values.join(", "), rows: [key(&one), key(&other)] })
    }
}

/// The beginning of a value, as text.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    short + more
}
