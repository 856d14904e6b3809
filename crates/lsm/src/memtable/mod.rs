//! The newest writes of a tree, in memory: versions of rows in (key, newest first) order.
//!
//! # Why a B+-tree in arenas
//! Readers must never wait for the writer nor hold it up, and a graph's keys are two words. Leaves
//! have 15 entries and lie in chunks that never move. They are filled slot by slot and replaced by
//! fresh ones when they are full. This gives both without unsafe code;
//! `docs/decisions/0003-memtable.md` has the figures against the alternatives.
//!
//! # Invariants
//! 1. One thread inserts at a time (a lock that the caller's own order keeps free).
//! 2. An entry never changes and never goes away while the memtable lives.
//! 3. Versions of one key come in the order of their numbers. (An increment knows the sum of those
//!    before it.)
//! 4. Entries may be there before their sequence number is published: readers skip what is newer
//!    than their snapshot, and that is all they do.

mod arena;
mod bloom;
mod cursor;
mod deleted;
mod entry;
mod node;
mod tree;
mod truncate;
mod walk;

pub use cursor::MemCursor;
pub(crate) use deleted::PassedDeletions;
pub use entry::{EntryKey, EntryRef};
pub(crate) use entry::{VERSIONS_MAX, Whole};

use crate::codec::filter::{hash_bytes, hash_words};
use crate::rows::{Rows, key_at};
use crate::table::RangeTombstone;
use arena::{BytesArena, WordArena, load, store};
pub(crate) use base::key_order::{compare_rows, is_sorted, sort};
use base::{
    Batch, Column, ColumnShape, Key, KeyRange, KeyRef, KeyShape, Keys, Kind, Merge, SeqNo, Shape,
};
use bloom::BloomFilter;
use deleted::DeletedRanges;
use env::sync::ArcSwap;
use env::sync::Mutex;
use env::sync::atomic::AtomicU64;
use env::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use node::{BytesKey, SLOTS, WordsKey};
use std::marker::PhantomData;
use std::sync::Arc;
use tree::{Behind, Finger, Tree};
pub(crate) use tree::{Drawn, Place, SlotSpace};
pub(crate) use walk::Walk;

/// Largest sequence number an entry can hold; larger ones are stored as this.
pub const SEQ_STORED_MAX: SeqNo = node::SEQ_STORED_MAX;

/// The kinds of the rows of a batch.
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
    columns: Vec<ValuePlace>,
    /// How the one value column's increments are combined, if that is all there is.
    sums: Option<Merge>,
    /// Words of a row's values, with which of them there are.
    value_words: usize,
    /// Words of an entry in a leaf.
    stride: usize,
    words: WordArena,
    strings: BytesArena,
    bloom: BloomFilter,
    writer: Mutex<Writer>,
    root: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    seq_min: AtomicU64,
    seq_max: AtomicU64,
    tombstone_count: AtomicU64,
    tombstones: ArcSwap<Vec<RangeTombstone>>,
    deleted: DeletedRanges,
}

#[derive(Clone, Copy, Debug)]
struct ValuePlace {
    /// First word among the row's values.
    word: usize,
}

/// Values of at most this many words lie in the leaf, which is copied when it is split. Longer
/// values lie in a record of their own.
const INLINE_WORDS_MAX: usize = 2;

/// Which keys the tree is compiled for.
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
    /// Row numbers in key order; kept for its memory.
    sorted: Vec<u32>,
}

/// Runs `$body` with `$tree` as the tree of the right type and `$probe` a function from `KeyRef`.
macro_rules! with_tree {
    ($memtable:expr, |$tree:ident, $probe:ident| $body:expr) => {{
        let memtable = $memtable;
        match memtable.order {
            Order::W1 => with_tree!(memtable, WordsKey<1>, words_probe::<1>, $tree, $probe, $body),
            Order::W2 => with_tree!(memtable, WordsKey<2>, words_probe::<2>, $tree, $probe, $body),
            Order::W3 => with_tree!(memtable, WordsKey<3>, words_probe::<3>, $tree, $probe, $body),
            Order::W4 => with_tree!(memtable, WordsKey<4>, words_probe::<4>, $tree, $probe, $body),
            Order::Bytes => with_tree!(memtable, BytesKey, bytes_probe, $tree, $probe, $body),
        }
    }};
    ($memtable:expr, $key:ty, $function:expr, $tree:ident, $probe:ident, $body:expr) => {{
        let $tree = $memtable.tree::<$key>();
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
        KeyRef::Bytes(bytes) => (node::head_of(bytes), bytes),
        KeyRef::Words(_) => (0, &[]),
    }
}

/// An increment looks at this many range tombstones at most.
const RANGES_LOOKED_AT_MAX: usize = 8;

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
        let mut value_words = validity_words(shape.values.len());
        let place = |column: &ColumnShape| {
            let place = ValuePlace { word: value_words };
            value_words += 1 + usize::from(matches!(column, ColumnShape::Bytes));
            place
        };
        let columns = shape.values.iter().map(place).collect();
        let sums = match shape.values[..] {
            [ColumnShape::Word { merge }] => merge,
            _ => None,
        };
        value_words += usize::from(sums.is_some());
        let stride = 1 + order.key_words() + Self::leaf_words(value_words);
        let memtable = Self {
            shape: shape.clone(),
            order,
            columns,
            sums,
            value_words,
            stride,
            words: WordArena::new(),
            strings: BytesArena::new(),
            bloom: BloomFilter::new(),
            writer: Mutex::new(Writer {
                next: 0,
                next_slot: 0,
                finger: Finger::default(),
                sorted: Vec::new(),
            }),
            root: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(EMPTY_BYTES),
            seq_min: AtomicU64::new(SeqNo::MAX.0),
            seq_max: AtomicU64::new(0),
            tombstone_count: AtomicU64::new(0),
            tombstones: ArcSwap::default(),
            deleted: DeletedRanges::default(),
        };
        memtable.writer.lock().next = with_tree!(&memtable, |tree, _probe| tree.plant());
        memtable
    }

    /// Adds a version of each row of `writes` (all columns; no key twice), with this sequence
    /// number. Of two entries with one key and one number the later inserted counts as newer.
    ///
    /// # Panics
    /// When the batch is not of the memtable's shape, or the memtable grows past 32 GiB.
    pub fn insert(&self, writes: &Batch, kinds: Kinds<'_>, seq: SeqNo) {
        if writes.rows == 0 {
            return;
        }
        let writer = &mut *self.writer.lock();
        self.deleted.cut(writes, kinds);
        let next_before = writer.next;
        let slots = self.keep_strings(writer, writes);
        writer.sorted.clear();
        if writes.rows > 1 && !is_sorted(&writes.keys) {
            writer.sorted.extend(0..writes.rows as u32);
            sort(&writes.keys, &mut writer.sorted);
        }
        // Writes all rows before the first is linked: in a loop of their own, their cache misses
        // overlap.
        for row in 0..writes.rows {
            let mut buffer = [0; base::WORDS_MAX];
            self.sift(key_at(&writes.keys, row, &mut buffer));
        }
        for position in 0..writes.rows {
            let row = writer.sorted.get(position).map_or(position, |&row| row as usize);
            self.insert_row(writer, writes, slots, row, kinds.get(row), seq);
        }
        let stored = seq.min(SEQ_STORED_MAX);
        self.seq_min.fetch_min(stored.0, Relaxed);
        self.seq_max.fetch_max(stored.0, Relaxed);
        self.bytes.fetch_add(u64::from(writer.next - next_before) * 8, Relaxed);
        self.rows.fetch_add(writes.rows as u64, Release);
    }

    /// The arenas as a tree.
    #[inline]
    fn tree<N>(&self) -> Tree<'_, N> {
        Tree {
            words: &self.words,
            bytes: &self.strings,
            root: &self.root,
            stride: self.stride,
            key: PhantomData,
        }
    }

    /// Words that a value of this many words takes in a leaf.
    fn leaf_words(value_words: usize) -> usize {
        if value_words > INLINE_WORDS_MAX { 1 } else { value_words }
    }

    fn insert_row(
        &self,
        writer: &mut Writer,
        writes: &Batch,
        slots: FirstSlots,
        row: usize,
        kind: u8,
        seq: SeqNo,
    ) {
        let has_values = kind != Kind::Delete as u8 && self.value_words > 0;
        let mut record = None;
        if has_values && self.value_words > INLINE_WORDS_MAX {
            let address = self.words.allocate(writer.next, self.value_words);
            writer.next = address + self.value_words as u32;
            self.write_values(self.words.at(address), writes, slots, row);
            record = Some(address);
        }
        let mut buffer = [0; base::WORDS_MAX];
        let key = key_at(&writes.keys, row, &mut buffer);
        let nulls = has_values && writes.values.iter().any(|column| !is_valid(column, row));
        let write = |slot: &[AtomicU64], behind: Behind| {
            let mut meta = node::meta(seq, kind, nulls);
            if let (Some(merge), true) = (self.sums, kind == Kind::Merge as u8 && !nulls) {
                let word = writes.value_words(0)[row];
                if let Some(whole) = self.whole(merge, word, key, behind) {
                    meta |= node::WHOLE_BIT;
                    meta |= if whole.kind == Kind::Put as u8 { node::CLOSED_BIT } else { 0 };
                    store(&slot[1 + self.key_words()..], 1, whole.word);
                }
            }
            store(slot, 0, meta);
            Self::write_key(slot, &writes.keys, slots, row);
            let values = &slot[1 + self.key_words()..];
            match record {
                Some(address) => store(values, 0, u64::from(address)),
                None if has_values => self.write_values(values, writes, slots, row),
                None => {}
            }
        };
        let stored = seq.min(SEQ_STORED_MAX);
        with_tree!(self, |tree, probe| {
            tree.insert(&mut writer.finger, &mut writer.next, probe(key), stored, write);
        });
    }

    /// A new increment of `word`, combined with the older versions of its key here.
    fn whole(&self, merge: Merge, word: u64, key: KeyRef<'_>, behind: Behind) -> Option<Whole> {
        let deleted = match self.has_range_tombstones() {
            true => self.deleted_up_to(key)?,
            false => SeqNo::ZERO,
        };
        let older = behind.place(&self.words).map(|place| self.entry(place));
        let Some(older) = older.filter(|one| one.key_is(key) && one.seq() >= deleted) else {
            let kind = if deleted > SeqNo::ZERO { Kind::Put } else { Kind::Merge };
            return Some(Whole { word, kind: kind as u8 });
        };
        let below = match older.kind() {
            kind if kind == Kind::Merge as u8 => older.whole()?,
            _ => match older.word(0) {
                Some(word) => Whole { word, kind: Kind::Put as u8 },
                None => return Some(Whole { word, kind: Kind::Put as u8 }),
            },
        };
        Some(Whole { word: merge.apply(below.word, word)?, kind: below.kind })
    }

    /// A range tombstone deletes the versions of a key below this number. Returns `None` if there
    /// are many ranges to look at.
    fn deleted_up_to(&self, key: KeyRef<'_>) -> Option<SeqNo> {
        let ranges = self.tombstones.load();
        let over = ranges.iter().filter(|one| one.range.contains(key)).map(|one| one.seq);
        (ranges.len() <= RANGES_LOOKED_AT_MAX).then(|| over.max().unwrap_or(SeqNo::ZERO))
    }

    /// Whether [`EntryRef::whole`] ever knows something.
    pub(crate) fn has_wholes(&self) -> bool {
        self.sums.is_some()
    }

    /// Tells the filter of a key and of its first word.
    #[inline]
    fn sift(&self, key: KeyRef<'_>) {
        match key {
            KeyRef::Words(words) => {
                self.bloom.insert(hash_words(words));
                if words.len() > 1 {
                    self.bloom.insert(hash_words(&words[..1]));
                }
            }
            KeyRef::Bytes(bytes) => self.bloom.insert(hash_bytes(bytes)),
        }
    }

    /// `false` if no entry, at any number, has exactly this key.
    #[inline]
    fn may_contain_key(&self, key: KeyRef<'_>) -> bool {
        self.bloom.may_contain(match key {
            KeyRef::Words(words) => hash_words(words),
            KeyRef::Bytes(bytes) => hash_bytes(bytes),
        })
    }

    /// `false` if no entry's key begins with this word.
    #[must_use]
    #[inline]
    pub fn may_contain_first_word(&self, word: u64) -> bool {
        self.bloom.may_contain(hash_words(&[word]))
    }

    #[inline]
    fn write_key(slot: &[AtomicU64], keys: &Keys, slots: FirstSlots, row: usize) {
        match keys {
            Keys::Words(columns) => {
                columns.iter().enumerate().for_each(|(i, column)| store(slot, 1 + i, column[row]));
            }
            Keys::Bytes(column) => {
                store(slot, 1, node::head_of(column.get(row)));
                store(slot, 2, node::bytes_place(slots.first, column.get(row).len()));
                store(slot, 3, column.offsets[row]);
            }
        }
    }

    /// Writes a row's values: which there are, if there is more than one column, then each.
    fn write_values(&self, to: &[AtomicU64], writes: &Batch, slots: FirstSlots, row: usize) {
        if writes.values.len() > 1 {
            for (word, columns) in writes.values.chunks(64).enumerate() {
                let valid = columns.iter().enumerate();
                let bits = valid.fold(0, |bits, (i, c)| bits | (u64::from(is_valid(c, row)) << i));
                store(to, word, bits);
            }
        }
        let mut slot = slots.first + u32::from(self.order == Order::Bytes);
        for (column, place) in writes.values.iter().zip(&self.columns) {
            match column {
                Column::Words(column) => store(to, place.word, column.words[row]),
                Column::Bytes(column) => {
                    store(to, place.word, node::bytes_place(slot, column.get(row).len()));
                    store(to, place.word + 1, column.offsets[row]);
                    slot += 1;
                }
            }
        }
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
    pub fn delete_range(&self, range: KeyRange, seq: SeqNo) {
        let _writer = self.writer.lock();
        let seq = seq.min(SEQ_STORED_MAX);
        let mut tombstones = Vec::clone(&self.tombstones.load());
        tombstones.push(RangeTombstone { range, seq });
        self.bytes.fetch_add(128, Relaxed);
        self.seq_min.fetch_min(seq.0, Relaxed);
        self.seq_max.fetch_max(seq.0, Relaxed);
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
        self.bytes.load(Relaxed) + self.bloom.bytes()
    }

    /// Smallest sequence number written; [`SeqNo::MAX`] in an empty memtable.
    #[must_use]
    pub fn seq_min(&self) -> SeqNo {
        SeqNo(self.seq_min.load(Relaxed))
    }

    /// Largest sequence number written; 0 in an empty memtable.
    #[must_use]
    pub fn seq_max(&self) -> SeqNo {
        SeqNo(self.seq_max.load(Relaxed))
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
    pub fn find(&self, key: KeyRef<'_>, snapshot: SeqNo) -> Option<EntryRef<'_>> {
        if !self.may_contain_key(key) {
            return None;
        }
        let entry = self.entry_at(self.seek(key, snapshot))?;
        entry.key_is(key).then_some(entry)
    }

    /// The newest version of exactly this key, published or not.
    #[must_use]
    pub fn first_version(&self, key: KeyRef<'_>) -> Option<EntryRef<'_>> {
        self.find(key, SeqNo::MAX)
    }

    /// Sequence number of the newest version of exactly this key.
    #[must_use]
    pub fn newest_seq(&self, key: KeyRef<'_>) -> Option<SeqNo> {
        self.first_version(key).map(|entry| entry.seq())
    }

    /// A cursor at the first version at or after `lower`, a key or a prefix.
    #[must_use]
    pub fn cursor(&self, lower: KeyRef<'_>) -> MemCursor<'_> {
        MemCursor::new(self, self.seek(lower, SeqNo::MAX))
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
        MemCursor::new(self, with_tree!(self, |tree, _probe| tree.first()))
    }

    /// Place of the first version at or after `lower`.
    pub(crate) fn place_of(&self, lower: KeyRef<'_>) -> Option<Place> {
        self.seek(lower, SeqNo::MAX)
    }

    /// A key before `upper` (`None`: before the end) such that about `entries` versions lie between
    /// them, at most some 200; `None` where there are so few that no such key is needed.
    pub(crate) fn fence_below(&self, upper: Option<KeyRef<'_>>, entries: usize) -> Option<Key> {
        let leaves = entries / node::SLOTS;
        let address = with_tree!(self, |tree, probe| tree.fence(upper.map(probe), leaves))?;
        let fence = self.key_in(self.words.at(address)).to_key();
        upper.is_none_or(|upper| fence.as_ref() < upper).then_some(fence)
    }

    /// Estimates how many versions lie in `range`. The number is exact if they are few. Otherwise
    /// it follows from the shape of the tree, and may be wrong by a factor of three where parts of
    /// the tree are filled differently.
    pub(crate) fn estimate_versions(&self, range: &KeyRange) -> u64 {
        const COUNTED_MAX: u64 = 256;
        let upper = range.upper.as_ref().map(Key::as_ref);
        let mut cursor = self.cursor(range.lower.as_ref());
        let mut counted = 0;
        while counted < COUNTED_MAX {
            match cursor.entry() {
                Some(entry) if upper.is_none_or(|upper| entry.key().as_ref() < upper) => {}
                _ => return counted,
            }
            counted += 1;
            cursor.advance();
        }
        let lower = range.lower.as_ref();
        let share = with_tree!(self, |tree, probe| {
            tree.share_before(upper.map(probe)) - tree.share_before(Some(probe(lower)))
        });
        counted.max((share * self.rows() as f64) as u64)
    }

    /// The slots that entries can be drawn from.
    pub(crate) fn slot_space(&self) -> SlotSpace {
        with_tree!(self, |tree, _probe| tree.slot_space())
    }

    /// The contents of one of these slots.
    pub(crate) fn slot_in(&self, space: &SlotSpace, index: u64) -> Drawn {
        with_tree!(self, |tree, _probe| tree.slot_in(space, index))
    }

    /// The entry at a place; `None` past the last.
    #[inline]
    pub(crate) fn entry_at(&self, place: Option<Place>) -> Option<EntryRef<'_>> {
        place.map(|place| self.entry(place))
    }

    #[inline]
    pub(crate) fn entry(&self, place: Place) -> EntryRef<'_> {
        let leaf = self.words.at(place.leaf);
        let node = &leaf[node::HEADER + place.slot as usize * self.stride..];
        EntryRef { memtable: self, place, node }
    }

    /// A walk from a place on.
    pub(crate) fn walk(&self, from: Option<Place>) -> Walk<'_> {
        Walk::new(self, from)
    }

    /// A walk from the first version of a key, or of the first one after it, whose number is 0.
    pub(crate) fn walk_behind(&self, key: KeyRef<'_>) -> Walk<'_> {
        self.walk(self.seek(key, SeqNo::ZERO))
    }

    /// The shape of its rows.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Place of the first entry at or after (`key`, `seq`).
    #[inline]
    fn seek(&self, key: KeyRef<'_>, seq: SeqNo) -> Option<Place> {
        let seq = seq.min(SEQ_STORED_MAX);
        with_tree!(self, |tree, probe| tree.seek(probe(key), seq))
    }

    #[inline]
    fn key_words(&self) -> usize {
        self.order.key_words()
    }

    /// The key in a slot of a leaf or an inner node.
    #[inline]
    fn key_in(&self, slot: &[AtomicU64]) -> EntryKey<'_> {
        match self.order {
            Order::Bytes => EntryKey::Bytes(self.key_bytes(slot)),
            _ => {
                let len = self.key_words();
                let mut words = [0; base::WORDS_MAX];
                for (i, word) in words.iter_mut().enumerate().take(len) {
                    *word = load(slot, 1 + i);
                }
                EntryKey::Words(words, len)
            }
        }
    }

    #[inline]
    fn key_bytes(&self, slot: &[AtomicU64]) -> &[u8] {
        node::read_bytes(&self.strings, load(slot, 2), load(slot, 3))
    }
}

impl Order {
    /// Words of a key in a slot.
    #[inline]
    fn key_words(self) -> usize {
        match self {
            Self::W1 => 1,
            Self::W2 => 2,
            Self::W3 | Self::Bytes => 3,
            Self::W4 => 4,
        }
    }
}

/// First of the slots that hold a batch's byte strings.
#[derive(Clone, Copy)]
struct FirstSlots {
    first: u32,
}

/// Records number and kind of the row that is about to be pushed to `out`.
pub(crate) fn push_seq_kind(out: &mut Rows, seq: SeqNo, kind: u8) {
    let row = out.len();
    if seq != SeqNo::ZERO || !out.seqs.is_empty() {
        out.seqs.resize(row, 0);
        out.seqs.push(seq.0);
    }
    if kind != Kind::Put as u8 || !out.kinds.is_empty() {
        out.kinds.resize(row, Kind::Put as u8);
        out.kinds.push(kind);
    }
}

/// Number of words that tell which columns hold a value. For one column, the entry's meta word
/// tells it.
fn validity_words(columns: usize) -> usize {
    if columns > 1 { columns.div_ceil(64) } else { 0 }
}

fn is_valid(column: &Column, row: usize) -> bool {
    match column {
        Column::Words(column) => column.validity.is_valid(row),
        Column::Bytes(column) => column.validity.is_valid(row),
    }
}

#[cfg(all(test, feature = "shuttle"))]
mod models;
#[cfg(test)]
mod tests;
