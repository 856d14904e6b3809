//! Blocks in memory within a budget that all tables share.
//!
//! # Why a slot a block and no map
//! A table knows its blocks by number, so a hit is a load from the table's own array: no hash, no
//! lock, no list that every reader rewrites. Only a miss takes the lock of the queue that decides
//! what goes.
//!
//! # Invariants
//! 1. A filled slot has exactly one entry in the queue, and its bytes are counted once; both change
//!    only under the queue's lock.
//! 2. Closing a table gives back its bytes without that lock; its entries are dropped when met.
//! 3. A hit of a block writes at most one flag, and only if it is not set already. A hit of a value
//!    takes the lock of its place.
//! 4. A slot that holds the header of a block may later hold the whole block. The reverse needs the
//!    slot to be emptied first.
//! 5. The queue also has the kept values of a header. When the header is evicted, its values are
//!    too, and their entries are dropped when the queue reaches them.

use super::apart::{self, Apart, Keeper, Value};
use super::block::{Block, Part};
use super::run_buffer::RunBuffers;
use base::prefetch::prefetch;
use env::sync::ArcSwapOption;
use env::sync::Mutex;
use env::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// The cache policy of a read. If the kernel caches the bytes too, a block is kept here only
/// from the second request on. A block that is never requested again then evicts nothing, and costs
/// no fresh memory: page faults take longer than reading a block again from the kernel's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The block may be wanted again: it pushes out others.
    Keep,
    /// The block is wanted in a moment: kept at once.
    Ahead,
    /// A block of a short range. With direct reads it is treated as `Keep`, but from the second
    /// request on; otherwise it is not kept.
    Range,
    /// A scan's block. It takes free room when it is read for the second time, and evicts nothing.
    Once,
}

/// Entries that an eviction may spare because they were hit; bounds what one miss can cost.
const SPARED_MAX: usize = 64;

/// Entries of closed tables that may wait in the queue beside as many live ones.
const DEAD_MAX: u64 = 1024;

/// A budget of bytes for the blocks, indexes and filters of all open tables.
#[derive(Debug)]
pub struct BlockCache {
    budget_bytes: u64,
    /// The part of the budget that filters may take.
    filter_bytes_max: u64,
    counters: Arc<Counters>,
    queue: Mutex<VecDeque<Entry>>,
    /// Memory for blocks that only pass by.
    pub(super) run_buffers: RunBuffers,
}

#[derive(Debug, Default)]
struct Counters {
    used_bytes: AtomicU64,
    /// Those of them that are filters'.
    filter_bytes: AtomicU64,
    /// Filled slots and kept values.
    entries: AtomicU64,
    misses: AtomicU64,
}

/// A filled slot, in the order in which slots were filled or last spared.
#[derive(Debug)]
struct Entry {
    slots: Weak<Slots>,
    index: usize,
    /// The row whose value it is; `None`: the block.
    row: Option<u32>,
}

/// Evicted entries, to be freed after the queue's lock is released.
#[derive(Debug)]
enum Evicted {
    Block { _block: Arc<Block>, _values: Vec<Value> },
    Value { _value: Value },
}

impl Entry {
    /// Whether something is still there.
    fn is_filled(&self) -> bool {
        self.slots.upgrade().is_some_and(|slots| {
            let Some(block) = slots.slots[self.index].block.load_full() else { return false };
            match self.row {
                None => true,
                Some(row) => block.apart().is_some_and(|apart| apart.is_kept(row as usize)),
            }
        })
    }
}

/// The places of one table's blocks.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Box<[Slot]>,
    pub(super) cache: Arc<BlockCache>,
}

#[derive(Debug, Default)]
struct Slot {
    block: ArcSwapOption<Block>,
    /// Where the block last was, to be fetched and never read: it may be gone.
    address: AtomicUsize,
    /// Hit since the queue last looked at it.
    hit: AtomicBool,
    /// It was asked for, and not kept, since it was last pushed out.
    passed: AtomicBool,
}

impl BlockCache {
    /// A cache that holds at most `budget_bytes` of blocks, indexes and filters. Indexes and
    /// filters of open tables always stay; the rest of the budget is for blocks.
    #[must_use]
    pub fn new(budget_bytes: u64) -> Self {
        Self::with_filters(budget_bytes, u64::MAX)
    }

    /// The same, but filters may take `filter_bytes_max`. A table that is opened when they are used
    /// up has no filter: filters grow with the data, and a memory limit must include everything
    /// that grows.
    #[must_use]
    pub fn with_filters(budget_bytes: u64, filter_bytes_max: u64) -> Self {
        Self {
            budget_bytes,
            filter_bytes_max,
            counters: Arc::default(),
            queue: Mutex::default(),
            run_buffers: RunBuffers::default(),
        }
    }

    /// Bytes that filters take.
    #[must_use]
    pub fn filter_bytes(&self) -> u64 {
        self.counters.filter_bytes.load(Relaxed)
    }

    /// Bytes that blocks, indexes and filters take.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.counters.used_bytes.load(Relaxed)
    }

    /// The budget.
    #[must_use]
    pub fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    /// Blocks that were asked for and not there. (Hits are not counted: that would cost more than
    /// the hit.)
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.counters.misses.load(Relaxed)
    }

    /// Empty slots for a table of `blocks` blocks.
    pub(super) fn slots(self: &Arc<Self>, blocks: usize) -> Arc<Slots> {
        let slots = (0..blocks).map(|_| Slot::default()).collect();
        Arc::new(Slots { slots, cache: Arc::clone(self) })
    }

    /// Counts bytes that stay in memory until the reservation is dropped.
    #[must_use]
    pub fn reserve(&self, bytes: u64) -> Reservation {
        self.counters.used_bytes.fetch_add(bytes, Relaxed);
        let evicted = self.evict(&mut self.queue.lock());
        drop(evicted);
        Reservation { bytes, filter_bytes: 0, counters: Arc::clone(&self.counters) }
    }

    /// The same for a filter, if there is room for it. A filter of the bottom level, which covers
    /// the oldest rows, leaves a quarter of the room to newer tables: those are asked first and
    /// hold the key least often.
    pub(super) fn reserve_filter(&self, bytes: u64, bottom: bool) -> Option<Reservation> {
        let max = self.filter_bytes_max - if bottom { self.filter_bytes_max / 4 } else { 0 };
        let before = self.counters.filter_bytes.fetch_add(bytes, Relaxed);
        if before.saturating_add(bytes) > max {
            self.counters.filter_bytes.fetch_sub(bytes, Relaxed);
            return None;
        }
        let mut reservation = self.reserve(bytes);
        reservation.filter_bytes = bytes;
        Some(reservation)
    }

    /// Offers a block that was just read; returns the block to use, which is another reader's if
    /// that one was faster.
    pub(super) fn insert(
        &self,
        slots: &Arc<Slots>,
        index: usize,
        block: Arc<Block>,
        fill: Fill,
    ) -> Arc<Block> {
        let bytes = block.memory_bytes();
        let mut queue = self.queue.lock();
        let slot = &slots.slots[index];
        let before = slot.block.load_full();
        if let Some(present) = &before
            && (block.is_head() || !present.is_head())
        {
            return Arc::clone(present);
        }
        if bytes > self.budget_bytes
            || (fill == Fill::Once && self.used_bytes() + bytes > self.budget_bytes)
        {
            return block;
        }
        slot.hit.store(false, Relaxed);
        slot.block.store(Some(Arc::clone(&block)));
        slot.address.store(Arc::as_ptr(&block).addr(), Relaxed);
        self.counters.used_bytes.fetch_add(bytes, Relaxed);
        // The entry of a head is now that of the whole.
        let values = before.as_deref().map(|head| self.counters.forget(head));
        if values.is_none() {
            queue.push_back(Entry { slots: Arc::downgrade(slots), index, row: None });
        }
        self.counters.entries.fetch_add(1, Relaxed);
        let evicted = self.make_room(&mut queue);
        drop(queue);
        // Memory is given back after the lock.
        drop((evicted, before, values));
        block
    }

    /// Keeps the value of a row in `values` as long as their head is in its slot.
    pub(super) fn insert_value(
        &self,
        slots: &Arc<Slots>,
        index: usize,
        values: &Apart,
        row: usize,
        value: &Value,
    ) {
        let bytes = apart::memory_bytes(value);
        let mut queue = self.queue.lock();
        let present = slots.slots[index].block.load_full();
        let is_here = present.is_some_and(|present| {
            present.apart().is_some_and(|present| std::ptr::eq(present, values))
        });
        if !is_here || bytes > self.budget_bytes || !values.put(row, value) {
            return;
        }
        self.counters.used_bytes.fetch_add(bytes, Relaxed);
        self.counters.entries.fetch_add(1, Relaxed);
        queue.push_back(Entry { slots: Arc::downgrade(slots), index, row: Some(row as u32) });
        let evicted = self.make_room(&mut queue);
        drop(queue);
        drop(evicted);
    }

    /// Empties slots until the budget holds, and drops stale entries if they have become many.
    fn make_room(&self, queue: &mut VecDeque<Entry>) -> Vec<Evicted> {
        if queue.len() as u64 > 2 * self.counters.entries.load(Relaxed) + DEAD_MAX {
            queue.retain(Entry::is_filled);
        }
        self.evict(queue)
    }

    /// Empties slots, oldest first, until the budget holds; one that was hit is spared once.
    fn evict(&self, queue: &mut VecDeque<Entry>) -> Vec<Evicted> {
        let mut evicted = Vec::new();
        let mut spared = 0;
        while self.used_bytes() > self.budget_bytes {
            let Some(entry) = queue.pop_front() else { break };
            let Some(slots) = entry.slots.upgrade() else { continue };
            let slot = &slots.slots[entry.index];
            let Some(row) = entry.row else {
                if spared < SPARED_MAX && slot.hit.swap(false, Relaxed) {
                    spared += 1;
                    queue.push_back(entry);
                } else if let Some(block) = slot.block.swap(None) {
                    slot.passed.store(false, Relaxed);
                    let values = self.counters.forget(&block);
                    evicted.push(Evicted::Block { _block: block, _values: values });
                }
                continue;
            };
            let Some(block) = slot.block.load_full() else { continue };
            let Some(apart) = block.apart().filter(|apart| apart.is_kept(row as usize)) else {
                continue;
            };
            if spared < SPARED_MAX && apart.was_hit(row as usize) {
                spared += 1;
                queue.push_back(entry);
            } else if let Some(value) = apart.take(row as usize) {
                self.counters.used_bytes.fetch_sub(apart::memory_bytes(&value), Relaxed);
                self.counters.entries.fetch_sub(1, Relaxed);
                evicted.push(Evicted::Value { _value: value });
            }
        }
        evicted
    }
}

impl Counters {
    /// Removes the kept values of a block that is no longer in its slot, and returns them.
    fn forget(&self, block: &Block) -> Vec<Value> {
        let (mut bytes, mut entries) = (block.memory_bytes(), 1);
        let mut values = Vec::new();
        for value in block.apart().into_iter().flat_map(Apart::take_all) {
            bytes += apart::memory_bytes(&value);
            entries += 1;
            values.push(value);
        }
        self.used_bytes.fetch_sub(bytes, Relaxed);
        self.entries.fetch_sub(entries, Relaxed);
        values
    }
}

impl Slots {
    /// The block if it is there; where its head is wanted, perhaps the whole of it.
    #[inline]
    pub(super) fn get(&self, index: usize, part: Part, fill: Fill) -> Option<Arc<Block>> {
        let slot = &self.slots[index];
        let block = slot.block.load_full()?;
        if part == Part::Whole && block.is_head() {
            return None;
        }
        if fill != Fill::Once && !slot.hit.load(Relaxed) {
            slot.hit.store(true, Relaxed);
        }
        Some(block)
    }

    /// Prefetches the count of the block's owners, which [`Self::get`] changes, and the fields
    /// beside it.
    #[inline]
    pub(super) fn prefetch(&self, index: usize) {
        let address = self.slots[index].address.load(Relaxed);
        prefetch(address.wrapping_sub(2 * size_of::<usize>()));
        prefetch(address);
    }

    /// Whether a block that has to be read is to be offered to the cache.
    pub(super) fn is_wanted(&self, index: usize, fill: Fill, direct: bool) -> bool {
        match fill {
            Fill::Ahead => true,
            Fill::Keep if direct => true,
            Fill::Range if !direct => false,
            Fill::Keep | Fill::Range | Fill::Once => self.slots[index].passed.swap(true, Relaxed),
        }
    }

    /// Counts a block that has to be read.
    pub(super) fn count_miss(&self) {
        self.cache.counters.misses.fetch_add(1, Relaxed);
    }

    /// Bytes that the empty slots take.
    pub(super) fn memory_bytes(&self) -> u64 {
        size_of_val::<[Slot]>(&self.slots) as u64
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for slot in &self.slots {
            if let Some(block) = slot.block.swap(None) {
                self.cache.counters.forget(&block);
            }
        }
    }
}

impl Keeper for Slots {
    fn keep(self: Arc<Self>, index: usize, values: &Apart, row: usize, value: &Value) {
        self.cache.insert_value(&self, index, values, row, value);
    }
}

/// Bytes counted against the budget until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    bytes: u64,
    /// Those of them that are a filter's.
    filter_bytes: u64,
    counters: Arc<Counters>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.counters.used_bytes.fetch_sub(self.bytes, Relaxed);
        self.counters.filter_bytes.fetch_sub(self.filter_bytes, Relaxed);
    }
}

#[cfg(all(test, feature = "shuttle"))]
mod models;
