//! Entries one after the other, leaf by leaf, for readers of many entries.
//!
//! # Why beside the cursor
//! A cursor is a position, and finds its leaf again at each step. A scan of a thousand entries
//! stays in a leaf until its end, and prefetches the next one meanwhile. Leaves lie where they were
//! allocated, so each one costs a wait for memory.

use super::tree::{self, Place};
use super::{EntryRef, Memtable, SLOTS, node};
use base::prefetch::prefetch_value;
use env::sync::atomic::AtomicU64;

/// A position among the versions of a memtable, in its leaf. It meets every entry that existed when
/// it came to the leaf. It may or may not meet those inserted meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    memtable: &'a Memtable,
    /// Address of the leaf, and its words; none past the last entry.
    leaf: u32,
    words: &'a [AtomicU64],
    order: node::SlotOrder,
    rank: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(memtable: &'a Memtable, place: Option<Place>) -> Self {
        let mut walk = Self { memtable, leaf: 0, words: &[], order: node::SlotOrder(0), rank: 0 };
        if let Some(place) = place {
            walk.enter(place.leaf);
            walk.rank = walk.order.rank_of(place.slot as usize);
        }
        walk
    }

    fn enter(&mut self, leaf: u32) {
        self.leaf = leaf;
        self.words = self.memtable.words.at(leaf);
        (self.order, self.rank) = (tree::order_of(self.words), 0);
        let next = self.memtable.words.at(tree::next_leaf(self.words));
        let len = node::HEADER + SLOTS * self.memtable.stride;
        prefetch_value(&next[..len.min(next.len())]);
    }

    /// The place it is at; `None` past the last entry.
    #[inline]
    pub(crate) fn place(&self) -> Option<Place> {
        let slot = |rank| Place { leaf: self.leaf, slot: self.order.slot(rank) as u32 };
        (!self.words.is_empty()).then(|| slot(self.rank))
    }

    /// The version it is at; `None` past the last.
    #[inline]
    pub(crate) fn entry(&self) -> Option<EntryRef<'a>> {
        let place = self.place()?;
        let slot = node::HEADER + place.slot as usize * self.memtable.stride;
        Some(EntryRef { memtable: self.memtable, place, node: &self.words[slot..] })
    }

    /// Goes to the next version; does nothing past the last.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.rank += 1;
        if self.rank < self.order.len() {
            return;
        }
        match self.words.get(1).map(|_| tree::next_leaf(self.words)) {
            Some(next) if next != tree::NIL => self.enter(next),
            _ => self.words = &[],
        }
    }
}
