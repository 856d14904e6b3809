//! A skip list for one writer and any number of readers, monomorphised for the length of its keys.
//!
//! # Node, in words of the arena
//! ```text
//! meta | key words | links, two to a word | validity, if any column is null | value columns
//! meta = seq << 8 | nulls << 7 | kind << 5 | height
//! ```
//! A link is the 32-bit address of the next node at its height; 0, the head's address, ends a list.
//!
//! # Invariants
//! 1. Nodes are in (key ascending, sequence number descending) order; of two equal ones the later
//!    inserted comes first, so it counts as newer.
//! 2. A node is written whole before a link to it is stored with release order; links are loaded with
//!    acquire order. Nothing but links changes afterwards, and only the writer changes them.
//! 3. `Finger::before[h]` is, for each height, the last node at or before the finger's node.

use super::arena::{BytesArena, WordArena, load, store};
use std::cmp::Ordering;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Most links of a node; one in four nodes rises a height, so this serves 4^12 nodes well.
pub(super) const HEIGHT_MAX: usize = 12;
/// Ends a list; also the address of the head, to which no link leads.
pub(super) const NIL: u32 = 0;
/// Largest sequence number a node can hold; larger ones are stored as this.
pub(super) const SEQ_STORED_MAX: u64 = (1 << 56) - 1;

const NULLS_BIT: u64 = 1 << 7;
const KIND_SHIFT: u32 = 5;
const HEIGHT_MASK: u64 = 31;

/// What a list is ordered by, as the node stores it.
pub(super) trait NodeKey {
    /// Words of the key in a node.
    const WORDS: usize;
    /// A key looked for.
    type Probe<'a>: Copy;
    /// The node's key compared with the probe. `key` begins at the node's key words.
    fn compare(key: &[AtomicU64], bytes: &BytesArena, probe: Self::Probe<'_>) -> Ordering;
}

/// A key of `K` words. A shorter prefix is padded with zeros, which makes it a lower bound.
#[derive(Debug)]
pub(super) struct WordsKey<const K: usize>;

impl<const K: usize> NodeKey for WordsKey<K> {
    const WORDS: usize = K;
    type Probe<'a> = [u64; K];

    #[inline]
    fn compare(key: &[AtomicU64], _: &BytesArena, probe: [u64; K]) -> Ordering {
        for (i, probe) in probe.iter().enumerate() {
            let word = load(key, i);
            if word != *probe {
                return word.cmp(probe);
            }
        }
        Ordering::Equal
    }
}

/// A byte string: its first eight bytes as a big-endian word, then slot and length, then the offset.
#[derive(Debug)]
pub(super) struct BytesKey;

impl NodeKey for BytesKey {
    const WORDS: usize = 3;
    type Probe<'a> = (u64, &'a [u8]);

    #[inline]
    fn compare(key: &[AtomicU64], bytes: &BytesArena, probe: (u64, &[u8])) -> Ordering {
        let head = load(key, 0);
        if head != probe.0 {
            return head.cmp(&probe.0);
        }
        read_bytes(bytes, load(key, 1), load(key, 2)).cmp(probe.1)
    }
}

/// First eight bytes as a big-endian word, padded with zeros: orders most pairs of strings.
pub(super) fn head_of(bytes: &[u8]) -> u64 {
    let mut head = [0; 8];
    let len = bytes.len().min(8);
    head[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(head)
}

/// Where a byte string lies: slot and length in one word. The offset takes another.
pub(super) fn bytes_place(slot: u32, len: usize) -> u64 {
    (u64::from(slot) << 32) | u64::from(u32::try_from(len).expect("rows are below 1 GiB"))
}

/// The byte string that two words of a node tell of.
#[inline]
pub(super) fn read_bytes(bytes: &BytesArena, place: u64, offset: u64) -> &[u8] {
    let slot = bytes.get((place >> 32) as u32);
    let len = (place & 0xffff_ffff) as usize;
    slot.get(offset as usize..offset as usize + len).unwrap_or_default()
}

/// The predecessors of the last insertion.
#[derive(Debug)]
pub(super) struct Finger {
    pub(super) before: [u32; HEIGHT_MAX],
}

/// The arenas, seen as a list ordered by `N`.
pub(super) struct List<'a, N> {
    pub(super) words: &'a WordArena,
    pub(super) bytes: &'a BytesArena,
    key: std::marker::PhantomData<N>,
}

pub(super) fn meta(seq: u64, kind: u8, nulls: bool, height: usize) -> u64 {
    let nulls = if nulls { NULLS_BIT } else { 0 };
    (seq.min(SEQ_STORED_MAX) << 8) | nulls | (u64::from(kind) << KIND_SHIFT) | height as u64
}

pub(super) fn meta_seq(meta: u64) -> u64 {
    meta >> 8
}

pub(super) fn meta_kind(meta: u64) -> u8 {
    ((meta >> KIND_SHIFT) & 3) as u8
}

pub(super) fn meta_nulls(meta: u64) -> bool {
    meta & NULLS_BIT != 0
}

pub(super) fn meta_height(meta: u64) -> usize {
    (meta & HEIGHT_MASK) as usize
}

/// Words that links of this height take.
pub(super) fn link_words(height: usize) -> usize {
    height.div_ceil(2)
}

/// The next node at `height`, for a node with `key_words` words of key.
#[inline]
pub(super) fn link(node: &[AtomicU64], key_words: usize, height: usize) -> u32 {
    let both = node[1 + key_words + height / 2].load(Acquire);
    (both >> (32 * (height as u32 & 1))) as u32
}

/// Stores a link. Only the writer does, so it reads the word's other half as it is.
fn set_link(node: &[AtomicU64], key_words: usize, height: usize, to: u32) {
    let word = &node[1 + key_words + height / 2];
    let shift = 32 * (height as u32 & 1);
    let other = word.load(Relaxed) & !(0xffff_ffff << shift);
    word.store(other | (u64::from(to) << shift), Release);
}

impl<'a, N: NodeKey> List<'a, N> {
    pub(super) fn new(words: &'a WordArena, bytes: &'a BytesArena) -> Self {
        Self { words, bytes, key: std::marker::PhantomData }
    }

    /// Whether the node comes before (`probe`, `seq`).
    #[inline]
    fn is_before(&self, node: &[AtomicU64], probe: N::Probe<'_>, seq: u64) -> bool {
        match N::compare(&node[1..], self.bytes, probe) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => meta_seq(load(node, 0)) > seq,
        }
    }

    /// Walks right at `height` from `from`; `stop` is known not to come before the probe.
    #[inline]
    fn walk(
        &self,
        mut from: u32,
        height: usize,
        stop: u32,
        probe: N::Probe<'_>,
        seq: u64,
    ) -> (u32, u32) {
        let mut node = self.words.at(from);
        loop {
            let next = link(node, N::WORDS, height);
            if next == NIL || next == stop {
                return (from, next);
            }
            let next_node = self.words.at(next);
            if !self.is_before(next_node, probe, seq) {
                return (from, next);
            }
            (from, node) = (next, next_node);
        }
    }

    /// The first node at or after (`probe`, `seq`), or [`NIL`].
    #[inline]
    pub(super) fn seek(&self, height: usize, probe: N::Probe<'_>, seq: u64) -> u32 {
        let (mut from, mut next) = (NIL, NIL);
        for h in (0..height).rev() {
            (from, next) = self.walk(from, h, next, probe, seq);
        }
        next
    }

    /// Moves the finger before (`probe`, `seq`).
    pub(super) fn point(&self, finger: &mut Finger, height: usize, probe: N::Probe<'_>, seq: u64) {
        let at = finger.before[0];
        let mut stop = NIL;
        let mut top = height;
        let mut from = NIL;
        if at != NIL && self.is_before(self.words.at(at), probe, seq) {
            // Near the last insertion: climb only as far as the probe lies beyond.
            top = 0;
            while top < height {
                let next = link(self.words.at(finger.before[top]), N::WORDS, top);
                if next == NIL || !self.is_before(self.words.at(next), probe, seq) {
                    stop = next;
                    break;
                }
                from = next;
                top += 1;
            }
        }
        for h in (0..top).rev() {
            (from, stop) = self.walk(from, h, stop, probe, seq);
            finger.before[h] = from;
        }
    }

    /// Links a node that is written whole after the finger, and moves the finger onto it.
    pub(super) fn insert(&self, finger: &mut Finger, node: u32, height: usize) {
        let words = self.words.at(node);
        for (h, before) in finger.before.iter_mut().enumerate().take(height) {
            let before_words = self.words.at(*before);
            set_link(words, N::WORDS, h, link(before_words, N::WORDS, h));
            set_link(before_words, N::WORDS, h, node);
            *before = node;
        }
    }

    /// Writes the head at address 0: a node without key or value, linked to nothing.
    pub(super) fn write_head(&self) -> u32 {
        let words = 1 + N::WORDS + link_words(HEIGHT_MAX);
        let address = self.words.allocate(0, words);
        store(self.words.at(address), 0, meta(0, 0, false, HEIGHT_MAX));
        words as u32
    }
}
