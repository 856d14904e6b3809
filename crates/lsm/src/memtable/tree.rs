//! A B+-tree for one writer and any number of readers, compiled for the length of its keys.
//!
//! # Why readers need no lock
//! A slot is written while no reader looks at it, and one store of the node's order publishes it. A
//! full node is copied into two fresh ones that a store in its parent publishes. The old node keeps
//! its contents, so a reader still in it sees what existed when it came.
//!
//! # Invariants
//! 1. Entries are in (key ascending, sequence number descending) order; of two equal ones the later
//!    inserted comes first, so it counts as newer.
//! 2. A slot is filled once, before the store (release order) of the order that names it.
//! 3. A node that was replaced never changes again, except for its links. The leaf after a leaf
//!    begins where that leaf ends, or ended when it was replaced. So a reader that follows links
//!    from a leaf meets everything that existed when it came to it.
//! 4. A child's address changes only to the left half of that child, and only after the order of
//!    the node has changed to name the right half. So a reader that sees the same order before and
//!    after it loads a child has the right child. A node's order changes at most 15 times, so the
//!    retries end.
//! 5. The first slot of an inner node is its lower bound; of the leftmost, less than every entry.

use super::arena::{BytesArena, WordArena, load, store};
use super::node::{HEADER, NodeKey, SEQ_STORED_MAX, SLOTS, SlotOrder, meta};
use base::SeqNo;
use env::sync::atomic::AtomicU64;
use env::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::marker::PhantomData;

/// Ends the chain of leaves; no node lies there.
pub(super) const NIL: u32 = 0;
/// The tree never grows higher: nodes have seven children at least, or were filled in order.
const HEIGHT_MAX: usize = 32;

/// Where an entry lies: the leaf and the slot in it, as the reader found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) leaf: u32,
    pub(super) slot: u32,
}

/// Every slot that a leaf of the tree has or could have. Each slot is as likely to be drawn as any
/// other, whatever its leaf holds, so entries are drawn uniformly without knowing their number.
#[derive(Debug)]
pub(crate) struct SlotSpace {
    root: u64,
    /// The root's order: while it stands, the space does.
    order: SlotOrder,
    /// Number of the slots, filled or not.
    pub(crate) slots: u64,
}

/// The result of a draw from the slots of a tree.
#[derive(Debug)]
pub(crate) enum Drawn {
    Place(Place),
    Empty,
    /// The tree's root has grown since.
    Changed,
}

/// The place of the last insertion, and where its leaf ends: rows of a batch follow closely.
#[derive(Debug, Default)]
pub(super) struct Finger {
    last: Option<Place>,
    /// Address of the slot that bounds the leaf from above; [`NIL`] if none does.
    upper: u32,
}

/// The entries after a new one, found on demand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    leaf: u32,
    order: SlotOrder,
    rank: usize,
}

impl Behind {
    pub(super) fn place(self, words: &WordArena) -> Option<Place> {
        let Self { leaf, order, rank } = self;
        if rank < order.len() {
            return Some(Place { leaf, slot: order.slot(rank) as u32 });
        }
        first_of(words, next_leaf(words.at(leaf)))
    }
}

/// The first entry of a leaf; a leaf is never empty once it is linked.
fn first_of(words: &WordArena, leaf: u32) -> Option<Place> {
    (leaf != NIL).then(|| Place { leaf, slot: order_of(words.at(leaf)).slot(0) as u32 })
}

/// Inner nodes from the root down, each with the rank of the child taken.
struct Path {
    steps: [(u32, u8); HEIGHT_MAX],
    len: usize,
}

/// The arenas, seen as a tree ordered by `N`.
pub(super) struct Tree<'a, N> {
    pub(super) words: &'a WordArena,
    pub(super) bytes: &'a BytesArena,
    /// Address of the root << 8 | levels of inner nodes.
    pub(super) root: &'a AtomicU64,
    /// Words of an entry in a leaf.
    pub(super) stride: usize,
    pub(super) key: PhantomData<N>,
}

#[inline]
pub(super) fn order_of(node: &[AtomicU64]) -> SlotOrder {
    SlotOrder(node[0].load(Acquire))
}

#[inline]
pub(super) fn next_leaf(leaf: &[AtomicU64]) -> u32 {
    leaf[1].load(Acquire) as u32
}

fn leaf_before(leaf: &[AtomicU64]) -> u32 {
    (load(leaf, 1) >> 32) as u32
}

fn links(before: u32, after: u32) -> u64 {
    (u64::from(before) << 32) | u64::from(after)
}

fn copy(from: &[AtomicU64], to: &[AtomicU64], words: usize) {
    from.iter().zip(to).take(words).for_each(|(from, to)| to.store(from.load(Relaxed), Relaxed));
}

/// The entry after this one.
#[inline]
pub(super) fn next(words: &WordArena, place: Place) -> Option<Place> {
    let leaf = words.at(place.leaf);
    let order = order_of(leaf);
    let rank = order.rank_of(place.slot as usize) + 1;
    if rank < order.len() {
        return Some(Place { leaf: place.leaf, slot: order.slot(rank) as u32 });
    }
    first_of(words, next_leaf(leaf))
}

impl<N: NodeKey> Tree<'_, N> {
    const INNER_STRIDE: usize = N::WORDS + 2;

    /// Writes an empty leaf as root; returns the next free address.
    pub(super) fn plant(&self) -> u32 {
        // Address 0 stands for no node.
        let mut free = 1;
        let root = self.new_node(&mut free, self.stride);
        self.root.store(u64::from(root) << 8, Release);
        free
    }

    fn new_node(&self, free: &mut u32, stride: usize) -> u32 {
        let words = HEADER + SLOTS * stride;
        let address = self.words.allocate(*free, words);
        *free = address + words as u32;
        address
    }

    #[inline]
    fn rank(
        &self,
        node: &[AtomicU64],
        stride: usize,
        order: SlotOrder,
        probe: N::Probe<'_>,
        seq: SeqNo,
    ) -> usize {
        N::rank(&node[HEADER..], stride, order, self.bytes, probe, seq)
    }

    /// The leaf where (`probe`, `seq`) belongs. `step` gets each inner node with rank, slot count
    /// and the slot addresses it needs.
    #[inline]
    fn descend(
        &self,
        probe: N::Probe<'_>,
        seq: SeqNo,
        step: impl FnMut(u32, SlotOrder, usize),
    ) -> u32 {
        let pick = |node: &[AtomicU64], order| {
            self.rank(node, Self::INNER_STRIDE, order, probe, seq).saturating_sub(1)
        };
        self.descend_by(pick, step)
    }

    /// The leaf that `pick` leads to: it says the rank of the child to take.
    #[inline]
    fn descend_by(
        &self,
        pick: impl Fn(&[AtomicU64], SlotOrder) -> usize,
        mut step: impl FnMut(u32, SlotOrder, usize),
    ) -> u32 {
        let root = self.root.load(Acquire);
        let mut address = (root >> 8) as u32;
        for _ in 0..root & 0xff {
            let node = self.words.at(address);
            let mut order = order_of(node);
            let child = loop {
                let rank = pick(node, order);
                let slot = HEADER + order.slot(rank) * Self::INNER_STRIDE;
                let child = node[slot + 1 + N::WORDS].load(Acquire) as u32;
                let again = order_of(node);
                if again == order {
                    step(address, order, rank);
                    break child;
                }
                order = again;
            };
            address = child;
        }
        address
    }

    /// The first entry at or after (`probe`, `seq`).
    #[inline]
    pub(super) fn seek(&self, probe: N::Probe<'_>, seq: SeqNo) -> Option<Place> {
        let mut leaf = self.descend(probe, seq, |_, _, _| ());
        loop {
            let node = self.words.at(leaf);
            let order = order_of(node);
            let rank = self.rank(node, self.stride, order, probe, seq);
            if rank < order.len() {
                return Some(Place { leaf, slot: order.slot(rank) as u32 });
            }
            // The next leaf may have been split off this one meanwhile, so it is searched, too.
            leaf = next_leaf(node);
            if leaf == NIL {
                return None;
            }
        }
    }

    /// The first entry of all.
    pub(super) fn first(&self) -> Option<Place> {
        let leaf = self.descend_by(|_, _| 0, |_, _, _| ());
        let order = order_of(self.words.at(leaf));
        (order.len() > 0).then(|| Place { leaf, slot: order.slot(0) as u32 })
    }

    /// Address of a slot whose key is the bound of a leaf up to `leaves` leaves before the one
    /// where `upper` belongs (`None`: the last leaf). Returns `None` if there is only one leaf. The
    /// key is one of an entry before `upper`, or that of the slot for the smallest key of all.
    pub(super) fn fence(&self, upper: Option<N::Probe<'_>>, leaves: usize) -> Option<u32> {
        let pick = |node: &[AtomicU64], order: SlotOrder| {
            let rank = match upper {
                Some(upper) => self.rank(node, Self::INNER_STRIDE, order, upper, SEQ_STORED_MAX),
                None => order.len(),
            };
            rank.saturating_sub(1)
        };
        let mut fence = None;
        self.descend_by(pick, |node, order, rank| {
            let slot = order.slot(rank.saturating_sub(leaves));
            fence = Some(node + (HEADER + slot * Self::INNER_STRIDE) as u32);
        });
        fence
    }

    /// The fraction of entries before `upper` (`None`: all), assuming that nodes of one level are
    /// alike.
    pub(super) fn share_before(&self, upper: Option<N::Probe<'_>>) -> f64 {
        let Some(upper) = upper else { return 1.0 };
        let (mut before, mut share) = (0.0, 1.0);
        let mut step = |rank: usize, len: usize| {
            let child = share / len.max(1) as f64;
            before += child * rank as f64;
            share = child;
        };
        let leaf = self.descend(upper, SEQ_STORED_MAX, |_, order, rank| step(rank, order.len()));
        let node = self.words.at(leaf);
        let order = order_of(node);
        step(self.rank(node, self.stride, order, upper, SEQ_STORED_MAX), order.len());
        before
    }

    /// The tree's slots as they can be drawn from.
    pub(super) fn slot_space(&self) -> SlotSpace {
        let root = self.root.load(Acquire);
        let order = order_of(self.words.at((root >> 8) as u32));
        let below = (SLOTS as u64).saturating_pow((root & 0xff) as u32);
        SlotSpace { root, order, slots: (order.len() as u64).saturating_mul(below) }
    }

    /// The contents of slot `index` of the space.
    pub(super) fn slot_in(&self, space: &SlotSpace, mut index: u64) -> Drawn {
        if self.root.load(Acquire) != space.root {
            return Drawn::Changed;
        }
        let mut address = (space.root >> 8) as u32;
        let mut order = space.order;
        let mut digit = |base: usize| {
            let digit = index % base as u64;
            index /= base as u64;
            digit as usize
        };
        let mut rank = digit(order.len());
        for level in 0..space.root & 0xff {
            let node = self.words.at(address);
            address = loop {
                if rank >= order.len() {
                    return Drawn::Empty;
                }
                let slot = HEADER + order.slot(rank) * Self::INNER_STRIDE;
                let child = node[slot + 1 + N::WORDS].load(Acquire) as u32;
                let again = order_of(node);
                if again == order {
                    break child;
                }
                if level == 0 {
                    return Drawn::Changed;
                }
                order = again;
            };
            order = order_of(self.words.at(address));
            rank = digit(SLOTS);
        }
        if rank >= order.len() {
            return Drawn::Empty;
        }
        Drawn::Place(Place { leaf: address, slot: order.slot(rank) as u32 })
    }

    fn slot_address(&self, place: Place) -> u32 {
        place.leaf + HEADER as u32 + place.slot * self.stride as u32
    }

    fn is_before(&self, address: u32, probe: N::Probe<'_>, seq: SeqNo) -> bool {
        N::is_before(self.words.at(address), self.bytes, probe, seq)
    }

    /// Leaf for an insertion: that of the last one, if (`probe`, `seq`) belongs there as well.
    fn point(&self, finger: &mut Finger, probe: N::Probe<'_>, seq: SeqNo) -> u32 {
        if let Some(last) = finger.last
            && self.is_before(self.slot_address(last), probe, seq)
            && (finger.upper == NIL || !self.is_before(finger.upper, probe, seq))
        {
            return last.leaf;
        }
        let mut upper = NIL;
        let leaf = self.descend(probe, seq, |node, order, rank| {
            if rank + 1 < order.len() {
                let slot = order.slot(rank + 1) * Self::INNER_STRIDE;
                upper = node + (HEADER + slot) as u32;
            }
        });
        finger.upper = upper;
        leaf
    }

    /// Inserts the entry that `write` writes, with key and number (`probe`, `seq`), before all
    /// entries that do not sort before it. `write` gets the entry that comes next. `free` is the
    /// next free address of the arena.
    pub(super) fn insert(
        &self,
        finger: &mut Finger,
        free: &mut u32,
        probe: N::Probe<'_>,
        seq: SeqNo,
        write: impl FnOnce(&[AtomicU64], Behind),
    ) {
        let leaf = self.point(finger, probe, seq);
        let node = self.words.at(leaf);
        let order = order_of(node);
        let rank = self.rank(node, self.stride, order, probe, seq);
        // A leaf that is replaced stays as it is.
        let write = |slot: &[AtomicU64]| write(slot, Behind { leaf, order, rank });
        if order.len() < SLOTS {
            let slot = order.len();
            write(&node[HEADER + slot * self.stride..]);
            node[0].store(order.insert(rank).0, Release);
            finger.last = Some(Place { leaf, slot: slot as u32 });
            return;
        }
        let mut path = Path { steps: [(NIL, 0); HEIGHT_MAX], len: 0 };
        self.descend(probe, seq, |node, _, rank| {
            path.steps[path.len] = (node, rank as u8);
            path.len += 1;
        });
        finger.last = None;
        // A writer that inserts in order fills leaves completely. If the slot filled last is next
        // to the new entry, the inserts are assumed to be in order, and the leaf is not split.
        if rank == SLOTS && order.slot(SLOTS - 1) == SLOTS - 1 {
            let right = self.single(free, links(leaf, next_leaf(node)), write);
            self.link(right);
            let sep = right + HEADER as u32;
            self.replace(&mut path, free, None, sep, right);
            finger.last = Some(Place { leaf: right, slot: 0 });
        } else if rank == 0 && order.slot(0) == SLOTS - 1 {
            let left = self.single(free, links(leaf_before(node), leaf), write);
            let sep = self.slot_address(Place { leaf, slot: order.slot(0) as u32 });
            self.replace(&mut path, free, Some(left), sep, leaf);
            self.link(left);
        } else {
            self.split(&mut path, free, leaf, rank, write);
        }
    }

    /// A leaf, not yet published, with one entry.
    fn single(&self, free: &mut u32, links: u64, write: impl FnOnce(&[AtomicU64])) -> u32 {
        let address = self.new_node(free, self.stride);
        let node = self.words.at(address);
        write(&node[HEADER..]);
        store(node, 0, SlotOrder::ascending(1).0);
        store(node, 1, links);
        address
    }

    /// Links the leaves beside a leaf to it.
    fn link(&self, leaf: u32) {
        let node = self.words.at(leaf);
        let (before, after) = (leaf_before(node), load(node, 1) as u32);
        if after != NIL {
            let after = self.words.at(after);
            after[1].store(links(leaf, load(after, 1) as u32), Release);
        }
        if before != NIL {
            let before = self.words.at(before);
            before[1].store(links(leaf_before(before), leaf), Release);
        }
    }

    /// Replaces a full leaf by two, with a new entry at `rank`.
    fn split(
        &self,
        path: &mut Path,
        free: &mut u32,
        leaf: u32,
        rank: usize,
        write: impl FnOnce(&[AtomicU64]),
    ) {
        let old = self.words.at(leaf);
        let order = order_of(old);
        let halves = [self.new_node(free, self.stride), self.new_node(free, self.stride)];
        let slot_of = |i: usize| {
            let half = self.words.at(halves[i / HALF]);
            &half[HEADER + i % HALF * self.stride..]
        };
        for i in 0..SLOTS {
            let from = &old[HEADER + order.slot(i) * self.stride..];
            copy(from, slot_of(i + usize::from(i >= rank)), self.stride);
        }
        write(slot_of(rank));
        let [left, right] = halves;
        for (half, links) in
            [(left, links(leaf_before(old), right)), (right, links(left, next_leaf(old)))]
        {
            store(self.words.at(half), 0, SlotOrder::ascending(HALF).0);
            store(self.words.at(half), 1, links);
        }
        self.replace(path, free, Some(left), right + HEADER as u32, right);
        self.link_outer(left, right);
    }

    /// Links the leaves beside two new ones to them.
    fn link_outer(&self, left: u32, right: u32) {
        let after = load(self.words.at(right), 1) as u32;
        if after != NIL {
            let after = self.words.at(after);
            after[1].store(links(right, load(after, 1) as u32), Release);
        }
        let before = leaf_before(self.words.at(left));
        if before != NIL {
            let before = self.words.at(before);
            before[1].store(links(leaf_before(before), left), Release);
        }
    }

    /// Writes a slot of an inner node: the bound is copied from address `sep`.
    fn write_child(&self, slot: &[AtomicU64], sep: u32, child: u32) {
        copy(self.words.at(sep), slot, 1 + N::WORDS);
        store(slot, 1 + N::WORDS, u64::from(child));
    }

    /// Publishes that the last child of `path` is now `left` (itself if `None`) up to the bound at
    /// address `sep`, and `right` from there.
    fn replace(&self, path: &mut Path, free: &mut u32, left: Option<u32>, sep: u32, right: u32) {
        let Some(level) = path.len.checked_sub(1) else {
            return self.grow(free, left, sep, right);
        };
        path.len = level;
        let (address, rank) = (path.steps[level].0, usize::from(path.steps[level].1));
        let node = self.words.at(address);
        let order = order_of(node);
        let stride = Self::INNER_STRIDE;
        if order.len() < SLOTS {
            self.write_child(&node[HEADER + order.len() * stride..], sep, right);
            node[0].store(order.insert(rank + 1).0, Release);
            if let Some(left) = left {
                let slot = HEADER + order.slot(rank) * stride;
                node[slot + 1 + N::WORDS].store(u64::from(left), Release);
            }
            return;
        }
        if left.is_none() && rank == SLOTS - 1 && order.slot(rank) == SLOTS - 1 {
            let last = self.new_node(free, stride);
            self.write_child(&self.words.at(last)[HEADER..], sep, right);
            store(self.words.at(last), 0, SlotOrder::ascending(1).0);
            return self.replace(path, free, None, sep, last);
        }
        let halves = [self.new_node(free, stride), self.new_node(free, stride)];
        let slot_of = |i: usize| &self.words.at(halves[i / HALF])[HEADER + i % HALF * stride..];
        for i in 0..SLOTS {
            let to = slot_of(i + usize::from(i > rank));
            copy(&node[HEADER + order.slot(i) * stride..], to, stride);
        }
        if let Some(left) = left {
            store(slot_of(rank), 1 + N::WORDS, u64::from(left));
        }
        self.write_child(slot_of(rank + 1), sep, right);
        halves.iter().for_each(|&half| store(self.words.at(half), 0, SlotOrder::ascending(HALF).0));
        self.replace(path, free, Some(halves[0]), halves[1] + HEADER as u32, halves[1]);
    }

    /// A new root above the old one.
    fn grow(&self, free: &mut u32, left: Option<u32>, sep: u32, right: u32) {
        let old = self.root.load(Relaxed);
        let address = self.new_node(free, Self::INNER_STRIDE);
        let slots = &self.words.at(address)[HEADER..];
        // Below every entry: the smallest key with the largest number.
        store(slots, 0, meta(SEQ_STORED_MAX, 0, false));
        (1..=N::WORDS).for_each(|i| store(slots, i, 0));
        store(slots, 1 + N::WORDS, u64::from(left.unwrap_or((old >> 8) as u32)));
        self.write_child(&slots[Self::INNER_STRIDE..], sep, right);
        store(self.words.at(address), 0, SlotOrder::ascending(2).0);
        let height = (old & 0xff) + 1;
        assert!(height as usize <= HEIGHT_MAX, "a memtable's tree is never so high");
        self.root.store((u64::from(address) << 8) | height, Release);
    }
}

/// Slots of each half of a node that was full and got one more.
const HALF: usize = SLOTS.div_ceil(2);
const _: () = assert!(2 * HALF == SLOTS + 1, "a full node and one more are two halves");
