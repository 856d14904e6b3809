//! The newest writes of a tree, in memory: versions of rows in (key, newest first) order.
//!
//! # Why a skip list in arenas
//! Readers must never wait for the writer nor hold it up, and a graph's keys are two words. Nodes of a
//! few words in chunks that never move, linked by 32-bit addresses, give both without unsafe code;
//! `docs/decisions/0003-memtable.md` has the figures against the alternatives.
//!
//! # Invariants
//! 1. One thread inserts at a time (a lock that the caller's own order keeps free).
//! 2. An entry never changes and never goes away while the memtable lives.
//! 3. Entries may be there before their sequence number is published: readers skip what is newer
//!    than their snapshot, and that is all they do.

mod arena;
mod cursor;
mod fold;
mod list;
mod sieve;

pub use cursor::MemCursor;

use crate::codec::filter::{hash_bytes, hash_words};
use crate::rows::Rows;
use crate::table::RangeTombstone;
use arc_swap::ArcSwap;
use arena::{BytesArena, WordArena, load, store};
use base::{Batch, Column, ColumnShape, Key, KeyRange, KeyRef, KeyShape, Keys, Kind, Shape};
use list::{BytesKey, Finger, HEIGHT_MAX, List, NIL, WordsKey};
use parking_lot::Mutex;
use sieve::Sieve;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Largest sequence number an entry can hold; larger ones are stored as this.
pub const SEQ_STORED_MAX: u64 = list::SEQ_STORED_MAX;

/// What the rows of a batch say.
#[derive(Clone, Copy, Debug)]
pub enum Kinds<'a> {
    /// All rows the same.
    Uniform(Kind),
    /// [`Kind`] of each row as its number.
    Each(&'a [u8]),
}

impl Kinds<'_> {
    /// Kind of row `i` as its number.
    #[must_use]
    pub fn get(self, i: usize) -> u8 {
        match self {
            Self::Uniform(kind) => kind as u8,
            Self::Each(kinds) => kinds[i],
        }
    }
}

/// Versions of rows in memory.
#[derive(Debug)]
pub struct Memtable {
    shape: Shape,
    order: Order,
    /// For each value column, its first word within a node's values; the last is their sum.
    columns: Vec<ValuePlace>,
    value_words: usize,
    words: WordArena,
    strings: BytesArena,
    sieve: Sieve,
    writer: Mutex<Writer>,
    height: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    seq_min: AtomicU64,
    seq_max: AtomicU64,
    tombstone_count: AtomicU64,
    tombstones: ArcSwap<Vec<RangeTombstone>>,
}

#[derive(Clone, Copy, Debug)]
struct ValuePlace {
    word: usize,
    is_bytes: bool,
}

/// Which list the nodes make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    W1,
    W2,
    W3,
    W4,
    Bytes,
}

#[derive(Debug)]
struct Writer {
    next: u32,
    next_slot: u32,
    finger: Finger,
    random: u64,
    /// Row numbers in key order; kept for its memory.
    sorted: Vec<u32>,
}

/// Runs `$body` with `$list` as the list of the right type and `$probe` a function from `KeyRef`.
macro_rules! with_list {
    ($memtable:expr, |$list:ident, $probe:ident| $body:expr) => {{
        let memtable = $memtable;
        match memtable.order {
            Order::W1 => with_list!(memtable, WordsKey<1>, words_probe::<1>, $list, $probe, $body),
            Order::W2 => with_list!(memtable, WordsKey<2>, words_probe::<2>, $list, $probe, $body),
            Order::W3 => with_list!(memtable, WordsKey<3>, words_probe::<3>, $list, $probe, $body),
            Order::W4 => with_list!(memtable, WordsKey<4>, words_probe::<4>, $list, $probe, $body),
            Order::Bytes => with_list!(memtable, BytesKey, bytes_probe, $list, $probe, $body),
        }
    }};
    ($memtable:expr, $key:ty, $function:expr, $list:ident, $probe:ident, $body:expr) => {{
        let $list = List::<$key>::new(&$memtable.words, &$memtable.strings);
        let $probe = $function;
        $body
    }};
}

#[inline]
fn words_probe<const K: usize>(key: KeyRef<'_>) -> [u64; K] {
    let mut words = [0; K];
    if let KeyRef::Words(given) = key {
        let len = given.len().min(K);
        words[..len].copy_from_slice(&given[..len]);
    }
    words
}

#[inline]
fn bytes_probe(key: KeyRef<'_>) -> (u64, &[u8]) {
    match key {
        KeyRef::Bytes(bytes) => (list::head_of(bytes), bytes),
        KeyRef::Words(_) => (0, &[]),
    }
}

/// Writer and memory cost of an empty memtable, about.
const EMPTY_BYTES: u64 = 2 << 10;

impl Memtable {
    /// An empty memtable for rows of this shape.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        let order = match shape.key {
            KeyShape::Words(1) => Order::W1,
            KeyShape::Words(2) => Order::W2,
            KeyShape::Words(3) => Order::W3,
            KeyShape::Words(_) => Order::W4,
            KeyShape::Bytes => Order::Bytes,
        };
        let mut value_words = 0;
        let place = |column: &ColumnShape| {
            let place =
                ValuePlace { word: value_words, is_bytes: matches!(column, ColumnShape::Bytes) };
            value_words += 1 + usize::from(place.is_bytes);
            place
        };
        let columns = shape.values.iter().map(place).collect();
        let memtable = Self {
            shape: shape.clone(),
            order,
            columns,
            value_words,
            words: WordArena::new(),
            strings: BytesArena::new(),
            sieve: Sieve::new(),
            writer: Mutex::new(Writer {
                next: 0,
                next_slot: 0,
                finger: Finger { before: [NIL; HEIGHT_MAX] },
                random: 0x9e37_79b9_7f4a_7c15,
                sorted: Vec::new(),
            }),
            height: AtomicU64::new(1),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(EMPTY_BYTES),
            seq_min: AtomicU64::new(u64::MAX),
            seq_max: AtomicU64::new(0),
            tombstone_count: AtomicU64::new(0),
            tombstones: ArcSwap::default(),
        };
        memtable.writer.lock().next = with_list!(&memtable, |list, _probe| list.write_head());
        memtable
    }

    /// Adds a version of each row of `writes` (all columns; no key twice), with this sequence
    /// number. Of two entries with one key and one number the later inserted counts as newer.
    ///
    /// # Panics
    /// When the batch is not of the memtable's shape, or the memtable grows past 32 GiB.
    pub fn insert(&self, writes: &Batch, kinds: Kinds<'_>, seq: u64) {
        if writes.rows == 0 {
            return;
        }
        let writer = &mut *self.writer.lock();
        let next_before = writer.next;
        let slots = self.keep_strings(writer, writes);
        writer.sorted.clear();
        if writes.rows > 1 && !is_sorted(&writes.keys) {
            writer.sorted.extend(0..writes.rows as u32);
            sort(&writes.keys, &mut writer.sorted);
        }
        for position in 0..writes.rows {
            let row = writer.sorted.get(position).map_or(position, |&row| row as usize);
            self.insert_row(writer, writes, slots, row, kinds.get(row), seq);
        }
        let stored = seq.min(SEQ_STORED_MAX);
        self.seq_min.fetch_min(stored, Relaxed);
        self.seq_max.fetch_max(stored, Relaxed);
        self.bytes.fetch_add(u64::from(writer.next - next_before) * 8, Relaxed);
        self.rows.fetch_add(writes.rows as u64, Release);
    }

    fn insert_row(
        &self,
        writer: &mut Writer,
        writes: &Batch,
        slots: FirstSlots,
        row: usize,
        kind: u8,
        seq: u64,
    ) {
        let node_height = random_height(&mut writer.random);
        with_list!(self, |list, probe| {
            let mut buffer = [0; base::WORDS_MAX];
            let key = key_at(&writes.keys, row, &mut buffer);
            self.sift(key);
            let height = (self.height.load(Relaxed) as usize).max(node_height);
            list.point(&mut writer.finger, height, probe(key), seq.min(SEQ_STORED_MAX));
            let node = self.write_node(writer, writes, slots, row, (kind, seq, node_height));
            list.insert(&mut writer.finger, node, node_height);
            self.height.store(height as u64, Relaxed);
        });
    }

    /// Tells the filter of a key and of its first word.
    #[inline]
    fn sift(&self, key: KeyRef<'_>) {
        match key {
            KeyRef::Words(words) => {
                self.sieve.insert(hash_words(words));
                if words.len() > 1 {
                    self.sieve.insert(hash_words(&words[..1]));
                }
            }
            KeyRef::Bytes(bytes) => self.sieve.insert(hash_bytes(bytes)),
        }
    }

    /// `false` if no entry, at any number, has exactly this key.
    #[inline]
    fn may_contain_key(&self, key: KeyRef<'_>) -> bool {
        self.sieve.may_contain(match key {
            KeyRef::Words(words) => hash_words(words),
            KeyRef::Bytes(bytes) => hash_bytes(bytes),
        })
    }

    /// `false` if no entry's key begins with this word.
    #[must_use]
    #[inline]
    pub fn may_contain_first_word(&self, word: u64) -> bool {
        self.sieve.may_contain(hash_words(&[word]))
    }

    /// Writes all of a node but its links.
    fn write_node(
        &self,
        writer: &mut Writer,
        writes: &Batch,
        slots: FirstSlots,
        row: usize,
        (kind, seq, height): (u8, u64, usize),
    ) -> u32 {
        let has_values = kind != Kind::Delete as u8;
        let nulls = has_values && writes.values.iter().any(|column| !is_valid(column, row));
        let links = 1 + self.key_words() + list::link_words(height);
        let values = if has_values { usize::from(nulls) + self.value_words } else { 0 };
        let address = self.words.allocate(writer.next, links + values);
        writer.next = address + (links + values) as u32;
        let node = self.words.at(address);
        store(node, 0, list::meta(seq, kind, nulls, height));
        match &writes.keys {
            Keys::Words(columns) => {
                columns.iter().enumerate().for_each(|(i, column)| store(node, 1 + i, column[row]));
            }
            Keys::Bytes(column) => {
                store(node, 1, list::head_of(column.get(row)));
                store(node, 2, list::bytes_place(slots.first, column.get(row).len()));
                store(node, 3, column.offsets[row]);
            }
        }
        if !has_values {
            return address;
        }
        if nulls {
            let valid = writes.values.iter().enumerate();
            let bits = valid.fold(0, |bits, (i, c)| bits | (u64::from(is_valid(c, row)) << i));
            store(node, links, bits);
        }
        let mut slot = slots.first + u32::from(self.order == Order::Bytes);
        let mut word = links + usize::from(nulls);
        for column in &writes.values {
            match column {
                Column::Words(column) => store(node, word, column.words[row]),
                Column::Bytes(column) => {
                    store(node, word, list::bytes_place(slot, column.get(row).len()));
                    word += 1;
                    store(node, word, column.offsets[row]);
                    slot += 1;
                }
            }
            word += 1;
        }
        address
    }

    /// Keeps the batch's byte strings, a slot for each column that has them (keys first).
    fn keep_strings(&self, writer: &mut Writer, writes: &Batch) -> FirstSlots {
        let first = writer.next_slot;
        let mut keep = |heap: &[u8]| {
            self.strings.set(writer.next_slot, heap.into());
            writer.next_slot += 1;
            self.bytes.fetch_add(heap.len() as u64 + 24, Relaxed);
        };
        if let Keys::Bytes(column) = &writes.keys {
            keep(&column.heap);
        }
        writes.values.iter().filter_map(Column::as_bytes).for_each(|column| keep(&column.heap));
        FirstSlots { first }
    }

    /// Deletes every key of `range` that is older than `seq`.
    pub fn delete_range(&self, range: KeyRange, seq: u64) {
        let _writer = self.writer.lock();
        let seq = seq.min(SEQ_STORED_MAX);
        let mut tombstones = Vec::clone(&self.tombstones.load());
        tombstones.push(RangeTombstone { range, seq });
        self.bytes.fetch_add(128, Relaxed);
        self.seq_min.fetch_min(seq, Relaxed);
        self.seq_max.fetch_max(seq, Relaxed);
        self.tombstones.store(Arc::new(tombstones));
        self.tombstone_count.fetch_add(1, Release);
    }

    /// Whether nothing was ever written.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows() == 0 && !self.has_range_tombstones()
    }

    /// Versions of rows.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> u64 {
        self.rows.load(Acquire)
    }

    /// Memory that entries and byte strings take, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed) + self.sieve.bytes()
    }

    /// Smallest sequence number written; `u64::MAX` in an empty memtable.
    #[must_use]
    pub fn seq_min(&self) -> u64 {
        self.seq_min.load(Relaxed)
    }

    /// Largest sequence number written; 0 in an empty memtable.
    #[must_use]
    pub fn seq_max(&self) -> u64 {
        self.seq_max.load(Relaxed)
    }

    /// Whether a range was ever deleted: one load.
    #[must_use]
    #[inline]
    pub fn has_range_tombstones(&self) -> bool {
        self.tombstone_count.load(Acquire) != 0
    }

    /// Range tombstones, oldest first.
    #[must_use]
    pub fn range_tombstones(&self) -> Arc<Vec<RangeTombstone>> {
        self.tombstones.load_full()
    }

    /// The newest version of exactly this key that a snapshot sees.
    #[must_use]
    #[inline]
    pub fn find(&self, key: KeyRef<'_>, snapshot: u64) -> Option<EntryRef<'_>> {
        if !self.may_contain_key(key) {
            return None;
        }
        let address = self.seek(key, snapshot);
        (address != NIL && self.key_is(address, key))
            .then_some(EntryRef { memtable: self, address })
    }

    /// The newest version of exactly this key, published or not.
    #[must_use]
    pub fn first_version(&self, key: KeyRef<'_>) -> Option<EntryRef<'_>> {
        self.find(key, u64::MAX)
    }

    /// Sequence number of the newest version of exactly this key.
    #[must_use]
    pub fn newest_seq(&self, key: KeyRef<'_>) -> Option<u64> {
        self.first_version(key).map(|entry| entry.seq())
    }

    /// A cursor at the first version at or after `lower`, a key or a prefix.
    #[must_use]
    pub fn cursor(&self, lower: KeyRef<'_>) -> MemCursor<'_> {
        MemCursor::new(self, self.seek(lower, u64::MAX))
    }

    /// Appends all versions, in order, to `out`.
    pub fn append_all(&self, out: &mut Rows) {
        let mut cursor = self.cursor_at_start();
        while let Some(entry) = cursor.entry() {
            entry.append_version(out);
            cursor.advance();
        }
    }

    /// A cursor at the first version.
    #[must_use]
    pub fn cursor_at_start(&self) -> MemCursor<'_> {
        let head = self.words.at(NIL);
        MemCursor::new(self, list::link(head, self.key_words(), 0))
    }

    /// Address of the first version at or after `lower`.
    pub(crate) fn address_of(&self, lower: KeyRef<'_>) -> u32 {
        self.seek(lower, u64::MAX)
    }

    /// The entry at an address; `None` past the last.
    #[inline]
    pub(crate) fn entry_at(&self, address: u32) -> Option<EntryRef<'_>> {
        (address != NIL).then_some(EntryRef { memtable: self, address })
    }

    /// What its rows are made of.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Address of the first entry at or after (`key`, `seq`).
    #[inline]
    fn seek(&self, key: KeyRef<'_>, seq: u64) -> u32 {
        let height = self.height.load(Relaxed) as usize;
        let seq = seq.min(SEQ_STORED_MAX);
        with_list!(self, |list, probe| list.seek(height, probe(key), seq))
    }

    #[inline]
    fn key_words(&self) -> usize {
        match self.order {
            Order::W1 => 1,
            Order::W2 => 2,
            Order::W3 | Order::Bytes => 3,
            Order::W4 => 4,
        }
    }

    #[inline]
    fn key_is(&self, address: u32, key: KeyRef<'_>) -> bool {
        let node = self.words.at(address);
        match key {
            KeyRef::Words(words) => {
                words.iter().enumerate().all(|(i, word)| load(node, 1 + i) == *word)
            }
            KeyRef::Bytes(bytes) => self.key_bytes(node) == bytes,
        }
    }

    #[inline]
    fn key_bytes(&self, node: &[AtomicU64]) -> &[u8] {
        list::read_bytes(&self.strings, load(node, 2), load(node, 3))
    }
}

/// First of the slots that hold a batch's byte strings.
#[derive(Clone, Copy)]
struct FirstSlots {
    first: u32,
}

/// One version of a row in a memtable.
#[derive(Clone, Copy, Debug)]
pub struct EntryRef<'a> {
    memtable: &'a Memtable,
    address: u32,
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

impl<'a> EntryRef<'a> {
    #[inline]
    fn node(&self) -> &'a [AtomicU64] {
        self.memtable.words.at(self.address)
    }

    /// Sequence number, at most [`SEQ_STORED_MAX`].
    #[must_use]
    #[inline]
    pub fn seq(&self) -> u64 {
        list::meta_seq(load(self.node(), 0))
    }

    /// [`Kind`] as its number.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> u8 {
        list::meta_kind(load(self.node(), 0))
    }

    /// The key.
    #[must_use]
    #[inline]
    pub fn key(&self) -> EntryKey<'a> {
        let node = self.node();
        match self.memtable.order {
            Order::Bytes => EntryKey::Bytes(self.memtable.key_bytes(node)),
            _ => {
                let len = self.memtable.key_words();
                let mut words = [0; base::WORDS_MAX];
                for (i, word) in words.iter_mut().enumerate().take(len) {
                    *word = load(node, 1 + i);
                }
                EntryKey::Words(words, len)
            }
        }
    }

    /// The words of a value column within the node, if it holds a value.
    #[inline]
    fn value(&self, column: usize) -> Option<&'a [AtomicU64]> {
        let node = self.node();
        let meta = load(node, 0);
        if list::meta_kind(meta) == Kind::Delete as u8 {
            return None;
        }
        let links = list::link_words(list::meta_height(meta));
        let mut values = 1 + self.memtable.key_words() + links;
        if list::meta_nulls(meta) {
            if (load(node, values) >> column) & 1 == 0 {
                return None;
            }
            values += 1;
        }
        Some(&node[values + self.memtable.columns[column].word..])
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
        Some(list::read_bytes(&self.memtable.strings, load(value, 0), load(value, 1)))
    }

    /// Address of the next version in order.
    #[inline]
    pub(crate) fn next_address(&self) -> u32 {
        list::link(self.node(), self.memtable.key_words(), 0)
    }

    /// The next older version of the same key.
    #[must_use]
    pub fn next_older(&self) -> Option<Self> {
        let address = self.next_address();
        let older = Self { memtable: self.memtable, address };
        (address != NIL && self.memtable.key_is(address, self.key().as_ref())).then_some(older)
    }

    /// Appends the value of one column to a column of its shape; a row without one where it has none.
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

/// Records number and kind of the row that is about to be pushed to `out`.
pub(crate) fn push_seq_kind(out: &mut Rows, seq: u64, kind: u8) {
    let row = out.len();
    if seq != 0 || !out.seqs.is_empty() {
        out.seqs.resize(row, 0);
        out.seqs.push(seq);
    }
    if kind != Kind::Put as u8 || !out.kinds.is_empty() {
        out.kinds.resize(row, Kind::Put as u8);
        out.kinds.push(kind);
    }
}

/// Key of row `i`; words go through `buffer`.
#[inline]
pub(crate) fn key_at<'a>(
    keys: &'a Keys,
    i: usize,
    buffer: &'a mut [u64; base::WORDS_MAX],
) -> KeyRef<'a> {
    match keys {
        Keys::Words(columns) => {
            for (word, column) in buffer.iter_mut().zip(columns) {
                *word = column[i];
            }
            KeyRef::Words(&buffer[..columns.len()])
        }
        Keys::Bytes(column) => KeyRef::Bytes(column.get(i)),
    }
}

fn is_valid(column: &Column, row: usize) -> bool {
    match column {
        Column::Words(column) => column.validity.is_valid(row),
        Column::Bytes(column) => column.validity.is_valid(row),
    }
}

/// Keys of two rows of one column compared.
pub(crate) fn compare_rows(keys: &Keys, a: usize, b: usize) -> std::cmp::Ordering {
    match keys {
        Keys::Words(columns) => {
            let compare = |column: &Vec<u64>| column[a].cmp(&column[b]);
            columns.iter().map(compare).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        }
        Keys::Bytes(column) => column.get(a).cmp(column.get(b)),
    }
}

/// Whether the keys ascend.
pub(crate) fn is_sorted(keys: &Keys) -> bool {
    (1..keys.len()).all(|i| compare_rows(keys, i - 1, i).is_le())
}

/// Sorts row numbers by their keys; rows of one key keep their order.
pub(crate) fn sort(keys: &Keys, rows: &mut [u32]) {
    rows.sort_unstable_by(|&a, &b| compare_rows(keys, a as usize, b as usize).then(a.cmp(&b)));
}

/// One node in four rises to each next height.
fn random_height(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let bits = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
    (1 + bits.trailing_zeros() as usize / 2).min(HEIGHT_MAX)
}

#[cfg(test)]
mod tests;
