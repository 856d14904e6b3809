//! The sort key of a memtable's entries, and the layout of its tree's nodes in the arena.
//!
//! # Entry, in words
//! ```text
//! meta | key words | values, or the address of a record that holds them
//! meta = seq << 8 | nulls << 7 | whole << 6 | closed << 5 | kind
//! ```
//!
//! # Node, in words
//! ```text
//! order | links | 15 slots
//! slot = an entry in a leaf; meta, key words and a child's address in an inner node
//! links = address of the leaf before << 32 | address of the leaf after
//! ```

use super::arena::{BytesArena, load};
use base::SeqNo;
use env::sync::atomic::AtomicU64;
use std::cmp::Ordering;

/// Entries of a leaf, children of an inner node.
pub(super) const SLOTS: usize = 15;
/// Words before the slots.
pub(super) const HEADER: usize = 2;
/// Largest sequence number an entry can hold; larger ones are stored as this.
pub(super) const SEQ_STORED_MAX: SeqNo = SeqNo((1 << 56) - 1);

const NULLS_BIT: u64 = 1 << 7;
/// Set on an increment: the second value word is its combination with all older versions of its key
/// in the memtable ...
pub(super) const WHOLE_BIT: u64 = 1 << 6;
/// ... and one of those versions is a put or a delete.
pub(super) const CLOSED_BIT: u64 = 1 << 5;

/// Which slots are filled, in the order of their keys. The slot of rank `i` is in the `i`-th four
/// bits, and the number of slots is in the top four. Slots are filled in the order of their
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotOrder(pub(super) u64);

const _: () = assert!(SLOTS * 4 + 4 == 64, "slots and their number fill a word");

impl SlotOrder {
    /// The first `len` slots, in the order of their numbers.
    pub(super) fn ascending(len: usize) -> Self {
        let slots = 0x0edc_ba98_7654_3210 & ((1 << (4 * len)) - 1);
        Self(slots | ((len as u64) << 60))
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        (self.0 >> 60) as usize
    }

    #[inline]
    pub(super) fn slot(self, rank: usize) -> usize {
        ((self.0 >> (4 * rank)) & 15) as usize
    }

    /// The order after the next free slot is filled with the entry of this `rank`.
    pub(super) fn insert(self, rank: usize) -> Self {
        let slots = self.0 & ((1 << 60) - 1);
        let below = slots & ((1 << (4 * rank)) - 1);
        let above = (slots ^ below) << 4;
        let len = self.len() as u64;
        Self(below | above | (len << (4 * rank)) | ((len + 1) << 60))
    }

    /// Rank of a filled slot: the lowest four bits that equal its number.
    #[inline]
    pub(super) fn rank_of(self, slot: usize) -> usize {
        const ONES: u64 = 0x1111_1111_1111_1111;
        let differs = self.0 ^ (slot as u64 * ONES);
        let zero = differs.wrapping_sub(ONES) & !differs & (ONES << 3);
        zero.trailing_zeros() as usize / 4
    }
}

/// The sort key of a tree, as its nodes store it.
pub(super) trait NodeKey {
    /// Words of the key in a slot.
    const WORDS: usize;
    /// A key looked for.
    type Probe<'a>: Copy;

    /// Whether the entry comes before (`probe`, `seq`). `slot` begins at its meta word.
    fn is_before(
        slot: &[AtomicU64],
        bytes: &BytesArena,
        probe: Self::Probe<'_>,
        seq: SeqNo,
    ) -> bool;

    /// Number of the filled slots that come before (`probe`, `seq`).
    fn rank(
        slots: &[AtomicU64],
        stride: usize,
        order: SlotOrder,
        bytes: &BytesArena,
        probe: Self::Probe<'_>,
        seq: SeqNo,
    ) -> usize;
}

/// A key of `K` words. A shorter prefix is padded with zeros, which makes it a lower bound.
#[derive(Debug)]
pub(super) struct WordsKey<const K: usize>;

impl<const K: usize> NodeKey for WordsKey<K> {
    const WORDS: usize = K;
    type Probe<'a> = [u64; K];

    #[inline]
    fn is_before(slot: &[AtomicU64], _: &BytesArena, probe: [u64; K], seq: SeqNo) -> bool {
        let mut before = meta_seq(load(slot, 0)) > seq;
        for i in (0..K).rev() {
            let word = load(slot, 1 + i);
            before = (word < probe[i]) | ((word == probe[i]) & before);
        }
        before
    }

    /// Looks at all slots: no branch to mispredict, no load that waits for another.
    #[inline]
    fn rank(
        slots: &[AtomicU64],
        stride: usize,
        order: SlotOrder,
        bytes: &BytesArena,
        probe: [u64; K],
        seq: SeqNo,
    ) -> usize {
        let filled = slots.chunks_exact(stride).take(order.len());
        filled.map(|slot| usize::from(Self::is_before(slot, bytes, probe, seq))).sum()
    }
}

/// A byte string: its first eight bytes as a big-endian word, then slot and length, then the
/// offset.
#[derive(Debug)]
pub(super) struct BytesKey;

impl NodeKey for BytesKey {
    const WORDS: usize = 3;
    type Probe<'a> = (u64, &'a [u8]);

    #[inline]
    fn is_before(slot: &[AtomicU64], bytes: &BytesArena, probe: (u64, &[u8]), seq: SeqNo) -> bool {
        let head = load(slot, 1);
        if head != probe.0 {
            return head < probe.0;
        }
        match read_bytes(bytes, load(slot, 2), load(slot, 3)).cmp(probe.1) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => meta_seq(load(slot, 0)) > seq,
        }
    }

    /// Halves the range: strings lie elsewhere, so each look may cost a cache miss.
    #[inline]
    fn rank(
        slots: &[AtomicU64],
        stride: usize,
        order: SlotOrder,
        bytes: &BytesArena,
        probe: (u64, &[u8]),
        seq: SeqNo,
    ) -> usize {
        let (mut low, mut high) = (0, order.len());
        while low < high {
            let middle = (low + high) / 2;
            if Self::is_before(&slots[order.slot(middle) * stride..], bytes, probe, seq) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
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

/// The slot of [`bytes_place`].
#[inline]
pub(super) fn bytes_slot(place: u64) -> u32 {
    (place >> 32) as u32
}

/// The byte string that two words of an entry tell of.
#[inline]
pub(super) fn read_bytes(bytes: &BytesArena, place: u64, offset: u64) -> &[u8] {
    let slot = bytes.get(bytes_slot(place));
    let len = (place & 0xffff_ffff) as usize;
    slot.get(offset as usize..offset as usize + len).unwrap_or_default()
}

pub(super) fn meta(seq: SeqNo, kind: u8, nulls: bool) -> u64 {
    let nulls = if nulls { NULLS_BIT } else { 0 };
    (seq.min(SEQ_STORED_MAX).0 << 8) | nulls | u64::from(kind)
}

#[inline]
pub(super) fn meta_seq(meta: u64) -> SeqNo {
    SeqNo(meta >> 8)
}

#[inline]
pub(super) fn meta_kind(meta: u64) -> u8 {
    (meta & 3) as u8
}

#[inline]
pub(super) fn meta_nulls(meta: u64) -> bool {
    meta & NULLS_BIT != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_keeps_each_slot_at_its_rank() {
        let mut order = SlotOrder(0);
        let mut model = Vec::new();
        for slot in 0..SLOTS {
            let rank = slot * 7 % (slot + 1);
            order = order.insert(rank);
            model.insert(rank, slot);
            assert_eq!(order.len(), model.len());
            for (rank, &slot) in model.iter().enumerate() {
                assert_eq!((order.slot(rank), order.rank_of(slot)), (slot, rank));
            }
        }
        assert_eq!(SlotOrder::ascending(3), SlotOrder(0).insert(0).insert(1).insert(2));
    }
}
