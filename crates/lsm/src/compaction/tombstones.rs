//! Range tombstones cut into pieces that do not overlap.
//!
//! # Why pieces
//! Among overlapping tombstones only the newest between two snapshots matters, and that one changes
//! where a tombstone begins or ends. If they are cut at every bound, each piece has one answer.

use super::snapshots::Snapshots;
use crate::table::RangeTombstone;
use base::{Key, KeyRange, KeyRef, SeqNo};
use std::collections::BTreeMap;

/// Pieces of range tombstones in key order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    /// Where each piece begins; it ends where the next begins, and the last has no end.
    starts: Vec<Key>,
    /// Sequence numbers of the tombstones over each piece, newest first; empty in gaps.
    seqs: Vec<Vec<SeqNo>>,
}

impl Pieces {
    /// Cuts tombstones, in any order, at all their bounds.
    pub(crate) fn new(tombstones: &[RangeTombstone]) -> Self {
        // At a key: tombstones that begin there, and that end there.
        let mut bounds: BTreeMap<Key, (Vec<SeqNo>, Vec<SeqNo>)> = BTreeMap::new();
        for RangeTombstone { range, seq } in tombstones.iter().filter(|t| !t.range.is_empty()) {
            bounds.entry(range.lower.clone()).or_default().0.push(*seq);
            if let Some(upper) = &range.upper {
                bounds.entry(upper.clone()).or_default().1.push(*seq);
            }
        }
        let mut open: BTreeMap<SeqNo, usize> = BTreeMap::new();
        let mut pieces = Self::default();
        for (key, (begin, end)) in bounds {
            begin.into_iter().for_each(|seq| *open.entry(seq).or_default() += 1);
            for seq in end {
                if let Some(count) = open.get_mut(&seq) {
                    *count -= 1;
                    if *count == 0 {
                        open.remove(&seq);
                    }
                }
            }
            pieces.starts.push(key);
            pieces.seqs.push(open.keys().rev().copied().collect());
        }
        pieces
    }

    /// Sequence numbers of the tombstones over `key`, newest first.
    pub(crate) fn over(&self, key: KeyRef<'_>) -> &[SeqNo] {
        let behind = self.starts.partition_point(|start| start.as_ref() <= key);
        behind.checked_sub(1).map_or(&[], |piece| &self.seqs[piece])
    }

    /// Whether a tombstone lies over any key from `first` to `last`, both inclusive.
    pub(crate) fn reach(&self, first: KeyRef<'_>, last: KeyRef<'_>) -> bool {
        let start = self.starts.partition_point(|start| start.as_ref() <= first);
        let end = self.starts.partition_point(|start| start.as_ref() <= last);
        self.seqs[start.saturating_sub(1)..end].iter().any(|seqs| !seqs.is_empty())
    }

    /// The tombstones that must be written: the newest between each two snapshots, but not those
    /// below which, by `is_bottom`, nothing is left for any snapshot.
    pub(crate) fn needed(
        &self,
        snapshots: Snapshots<'_>,
        mut is_bottom: impl FnMut(&KeyRange) -> bool,
    ) -> Vec<RangeTombstone> {
        let mut needed: Vec<RangeTombstone> = Vec::new();
        // Index in `needed` of the tombstone of each number that ends at this piece's start.
        let mut ending: BTreeMap<SeqNo, usize> = BTreeMap::new();
        for (i, (lower, seqs)) in self.starts.iter().zip(&self.seqs).enumerate() {
            let range = KeyRange { lower: lower.clone(), upper: self.starts.get(i + 1).cloned() };
            let mut ending_here = BTreeMap::new();
            let mut stripe_before = None;
            for &seq in seqs {
                let stripe = Some(snapshots.stripe(seq));
                if stripe == stripe_before {
                    continue;
                }
                if seq <= snapshots.oldest() && is_bottom(&range) {
                    base::mark::hit(base::mark::Mark::RangeTombstoneDropped);
                    continue;
                }
                stripe_before = stripe;
                let index = match ending.get(&seq) {
                    Some(&index) => {
                        needed[index].range.upper.clone_from(&range.upper);
                        index
                    }
                    None => {
                        needed.push(RangeTombstone { range: range.clone(), seq });
                        needed.len() - 1
                    }
                };
                ending_here.insert(seq, index);
            }
            ending = ending_here;
        }
        needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tombstone(lower: u64, upper: Option<u64>, seq: u64) -> RangeTombstone {
        let upper = upper.map(|upper| Key::words(&[upper]));
        RangeTombstone { range: KeyRange { lower: Key::words(&[lower]), upper }, seq: SeqNo(seq) }
    }

    fn over(tombstones: &[RangeTombstone], key: u64) -> Vec<SeqNo> {
        let covers = |t: &&RangeTombstone| t.range.contains(KeyRef::Words(&[key]));
        let mut seqs: Vec<SeqNo> = tombstones.iter().filter(covers).map(|t| t.seq).collect();
        seqs.sort_unstable_by(|a, b| b.cmp(a));
        seqs.dedup();
        seqs
    }

    fn some() -> impl Strategy<Value = Vec<RangeTombstone>> {
        let one = (0..20_u64, prop::option::of(0..20_u64), 1..9_u64);
        prop::collection::vec(one.prop_map(|(l, u, s)| tombstone(l, u, s)), 0..8)
    }

    proptest! {
        #[test]
        fn pieces_cover_what_the_tombstones_covered(tombstones in some(), key in 0..21_u64) {
            let pieces = Pieces::new(&tombstones);
            let want = over(&tombstones, key);
            prop_assert_eq!(pieces.over(KeyRef::Words(&[key])), &want[..]);
            let reach = pieces.reach(KeyRef::Words(&[key]), KeyRef::Words(&[key]));
            prop_assert_eq!(reach, !want.is_empty());
        }

        #[test]
        fn needed_tombstones_hide_the_same_from_every_snapshot(
            tombstones in some(),
            snapshots in prop::collection::btree_set(0..9_u64, 0..4),
            bottom_to in 0..20_u64,
        ) {
            let list: Vec<SeqNo> = snapshots.into_iter().map(SeqNo).collect();
            let bottom = Key::words(&[bottom_to]);
            let is_bottom = |r: &KeyRange| r.upper.as_ref().is_some_and(|u| *u <= bottom);
            let needed = Pieces::new(&tombstones).needed(Snapshots::new(&list), is_bottom);
            for key in 0..21 {
                for &snapshot in list.iter().chain([&SeqNo::MAX]) {
                    let newest = |t: &[RangeTombstone]| {
                        over(t, key).into_iter().find(|&seq| seq <= snapshot)
                    };
                    let (was, is) = (newest(&tombstones), newest(&needed));
                    let oldest = list.first().copied().unwrap_or(SeqNo::MAX);
                    let ended = key < bottom_to && was.is_some_and(|seq| seq <= oldest);
                    prop_assert!(was == is || ended && is.is_none(), "{key}@{snapshot}: {was:?} {is:?}");
                }
            }
        }
    }

    #[test]
    fn a_tombstone_cut_by_an_older_one_is_written_whole() {
        let tombstones = [tombstone(1, Some(9), 7), tombstone(3, Some(5), 2)];
        let needed = Pieces::new(&tombstones).needed(Snapshots::new(&[]), |_| false);
        assert_eq!(needed, tombstones[..1]);
    }
}
