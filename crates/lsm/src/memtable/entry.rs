//! One version of a row, read where it lies.
//!
//! # Invariant
//! An entry is linked into its leaf when all of it is written, and never changes: a reader that has
//! its address reads it whole.

use super::arena::load;
use super::{INLINE_WORDS_MAX, Memtable, Order, Place, node, push_seq_kind, tree};
use crate::rows::Rows;
use base::SeqNo;
use base::prefetch::prefetch_value;
use base::{Column, Key, KeyRef, Keys, Kind};
use env::sync::atomic::AtomicU64;

/// One version of a row in a memtable.
#[derive(Clone, Copy, Debug)]
pub struct EntryRef<'a> {
    pub(super) memtable: &'a Memtable,
    pub(super) place: Place,
    /// The words at the place, up to the end of its chunk.
    pub(super) node: &'a [AtomicU64],
}

/// A key that is borrowed where it is a byte string and copied where it is words.
#[derive(Clone, Copy, Debug)]
pub enum EntryKey<'a> {
    /// The first `len` words.
    Words([u64; base::WORDS_MAX], usize),
    /// A byte string.
    Bytes(&'a [u8]),
}

impl EntryKey<'_> {
    /// Borrows it.
    #[must_use]
    #[inline]
    pub fn as_ref(&self) -> KeyRef<'_> {
        match self {
            Self::Words(words, len) => KeyRef::Words(&words[..*len]),
            Self::Bytes(bytes) => KeyRef::Bytes(bytes),
        }
    }

    /// Copies it.
    #[must_use]
    pub fn to_key(&self) -> Key {
        self.as_ref().into()
    }
}

/// A version combined with all older ones of its key in its memtable.
///
/// # Why it is kept
/// A counter that is asked between increments would be added up from all of them each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The value column.
    pub(crate) word: u64,
    /// [`Kind`] as its number: an increment of the value in older sources, or a put.
    pub(crate) kind: u8,
}

/// After this many older versions the cursor searches for the next key instead of stepping.
pub(crate) const VERSIONS_MAX: usize = 16;

impl<'a> EntryRef<'a> {
    #[inline]
    pub(super) fn key_is(&self, key: KeyRef<'_>) -> bool {
        let node = self.node;
        match key {
            KeyRef::Words(words) => {
                words.iter().enumerate().all(|(i, word)| load(node, 1 + i) == *word)
            }
            KeyRef::Bytes(bytes) => self.memtable.key_bytes(node) == bytes,
        }
    }

    /// Whether another entry of the same memtable is a version of the same key.
    #[inline]
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        match self.memtable.order {
            Order::Bytes => {
                load(self.node, 1) == load(other.node, 1)
                    && self.memtable.key_bytes(self.node) == self.memtable.key_bytes(other.node)
            }
            order => (1..=order.key_words()).all(|i| load(self.node, i) == load(other.node, i)),
        }
    }

    /// Where it lies.
    #[inline]
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Fetches the values, if they lie elsewhere.
    #[inline]
    pub(crate) fn prefetch_values(&self) {
        let memtable = self.memtable;
        if memtable.value_words > INLINE_WORDS_MAX {
            let record = load(self.node, 1 + memtable.key_words()) as u32;
            let words = memtable.words.at(record);
            prefetch_value(&words[..memtable.value_words.min(words.len())]);
        }
    }

    /// Appends the key to a column for each of its words, or to one of byte strings.
    #[inline]
    pub(crate) fn append_key(&self, out: &mut Keys) {
        match out {
            Keys::Words(columns) => {
                for (i, column) in columns.iter_mut().enumerate() {
                    column.push(load(self.node, 1 + i));
                }
            }
            Keys::Bytes(column) => column.push(Some(self.memtable.key_bytes(self.node))),
        }
    }

    /// Sequence number, at most [`super::SEQ_STORED_MAX`].
    #[must_use]
    #[inline]
    pub fn seq(&self) -> SeqNo {
        node::meta_seq(load(self.node, 0))
    }

    /// [`Kind`] as its number.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> u8 {
        node::meta_kind(load(self.node, 0))
    }

    /// Of an increment its combination with all older versions here, if known.
    #[inline]
    pub(crate) fn whole(&self) -> Option<Whole> {
        let node = self.node;
        let meta = load(node, 0);
        (meta & node::WHOLE_BIT != 0).then(|| {
            let is_closed = meta & node::CLOSED_BIT != 0;
            let kind = if is_closed { Kind::Put } else { Kind::Merge } as u8;
            Whole { word: load(node, 2 + self.memtable.key_words()), kind }
        })
    }

    /// The key.
    #[must_use]
    #[inline]
    pub fn key(&self) -> EntryKey<'a> {
        self.memtable.key_in(self.node)
    }

    /// The words of a value column within the node, if it holds a value.
    #[inline]
    fn value(&self, column: usize) -> Option<&'a [AtomicU64]> {
        let node = self.node;
        let meta = load(node, 0);
        if node::meta_kind(meta) == Kind::Delete as u8 {
            return None;
        }
        let memtable = self.memtable;
        let mut values = &node[1 + memtable.key_words()..];
        if memtable.value_words > INLINE_WORDS_MAX {
            values = memtable.words.at(load(values, 0) as u32);
        }
        let is_null = || {
            let bits = || load(values, column / 64) >> (column % 64);
            memtable.columns.len() == 1 || bits() & 1 == 0
        };
        if node::meta_nulls(meta) && is_null() {
            return None;
        }
        Some(&values[memtable.columns[column].word..])
    }

    /// Word of a value column; `None` where the row holds none.
    #[must_use]
    #[inline]
    pub fn word(&self, column: usize) -> Option<u64> {
        self.value(column).map(|value| load(value, 0))
    }

    /// Byte string of a value column; `None` where the row holds none.
    #[must_use]
    pub fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        let value = self.value(column)?;
        Some(node::read_bytes(&self.memtable.strings, load(value, 0), load(value, 1)))
    }

    /// Prefetches the record that says where the byte string of a value column lies;
    /// [`EntryRef::bytes`] reads it.
    #[inline]
    pub(crate) fn prefetch_bytes(&self, column: usize) {
        if let Some(value) = self.value(column) {
            self.memtable.strings.prefetch(node::bytes_slot(load(value, 0)));
        }
    }

    /// Place of the next version in order.
    #[inline]
    pub(crate) fn next_place(&self) -> Option<Place> {
        tree::next(&self.memtable.words, self.place)
    }

    /// The next older version of the same key.
    #[must_use]
    pub fn next_older(&self) -> Option<Self> {
        let older = self.memtable.entry(self.next_place()?);
        older.key_is(self.key().as_ref()).then_some(older)
    }

    /// This version or the next older one of its key that a reader at `snapshot` sees.
    #[must_use]
    #[inline]
    pub fn seen_at(self, snapshot: SeqNo) -> Option<Self> {
        let mut version = Some(self);
        while version.is_some_and(|version| version.seq() > snapshot) {
            version = version.and_then(|version| version.next_older());
        }
        version
    }

    /// Place of the first version of the next key.
    #[inline]
    pub(crate) fn next_key(&self) -> Option<Place> {
        let mut last = *self;
        for _ in 0..VERSIONS_MAX {
            match last.next_older() {
                Some(older) => last = older,
                None => return last.next_place(),
            }
        }
        let key = self.key();
        let place = self.memtable.seek(key.as_ref(), SeqNo::ZERO)?;
        let entry = self.memtable.entry(place);
        if entry.key_is(key.as_ref()) { entry.next_key() } else { Some(place) }
    }

    /// Appends the value of one column to a column of its shape, or a null if the entry has no
    /// value.
    pub fn append_value(&self, column: usize, out: &mut Column) {
        match out {
            Column::Words(out) => out.push(self.word(column)),
            Column::Bytes(out) => out.push(self.bytes(column)),
        }
    }

    /// Appends the whole version.
    pub fn append_version(&self, out: &mut Rows) {
        push_seq_kind(out, self.seq(), self.kind());
        out.keys.push(self.key().as_ref());
        out.values.iter_mut().enumerate().for_each(|(i, column)| self.append_value(i, column));
    }
}
