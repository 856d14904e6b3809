//! Ranges of deleted keys in a memtable, which scans skip in one step.
//!
//! # Why scans find them
//! A queue is read and deleted from its front. Without the ranges, each search for the first key
//! passes every deletion since the last flush. A scan that passes many deletions in a row records
//! their range, and the next scan seeks to its end. A writer that only deletes pays nothing; any
//! other writer pays one load while there are no ranges.
//!
//! # Invariants
//! 1. In a range, the newest version of every key is a deletion whose sequence number is at most
//!    the range's. A reader at that number or a newer one sees no row there.
//! 2. Ranges are in key order and do not overlap.
//! 3. They change under the writer's lock only. A writer removes its keys from the ranges before it
//!    links their entries, and so before the entries' sequence number is published.

use super::{EntryRef, Kinds, Memtable, Place};
use crate::rows::key_at;
use base::{Batch, Key, KeyRange, KeyRef, Kind, SeqNo};
use env::sync::ArcSwap;
use env::sync::atomic::AtomicU64;
use env::sync::atomic::Ordering::{Acquire, Release};
use std::sync::Arc;

/// Shorter ranges are not recorded.
const RECORDED_KEYS_MIN: usize = 16;
/// Keys checked while the writer's lock is held, at most.
const CHECKED_KEYS_MAX: usize = 4096;
/// Ranges of a memtable, at most. Of more, the first ones stay.
const RANGES_MAX: usize = 64;

#[derive(Clone, Debug)]
struct DeletedRange {
    range: KeyRange,
    /// Largest sequence number of its keys' deletions, when they were checked.
    seq: SeqNo,
}

/// The ranges of one memtable.
#[derive(Debug, Default)]
pub(super) struct DeletedRanges {
    /// Number of ranges: one load says that there are none.
    count: AtomicU64,
    ranges: ArcSwap<Vec<DeletedRange>>,
}

impl DeletedRanges {
    fn store(&self, mut ranges: Vec<DeletedRange>) {
        ranges.truncate(RANGES_MAX);
        let count = ranges.len() as u64;
        self.ranges.store(Arc::new(ranges));
        self.count.store(count, Release);
    }

    /// The range around `key`, if a reader at `snapshot` can skip it.
    fn over(&self, key: KeyRef<'_>, snapshot: SeqNo) -> Option<KeyRange> {
        if self.count.load(Acquire) == 0 {
            return None;
        }
        let ranges = self.ranges.load();
        let behind = ranges.partition_point(|one| one.range.lower.as_ref() <= key);
        let one = ranges.get(behind.checked_sub(1)?)?;
        (one.seq <= snapshot && one.range.contains(key)).then(|| one.range.clone())
    }

    /// Removes the keys of a batch that is about to be inserted from the ranges, except deletions.
    pub(super) fn cut(&self, writes: &Batch, kinds: Kinds<'_>) {
        if self.count.load(Acquire) == 0 || matches!(kinds, Kinds::Uniform(Kind::Delete)) {
            return;
        }
        let mut ranges = None;
        for row in (0..writes.rows).filter(|&row| kinds.get(row) != Kind::Delete as u8) {
            let mut buffer = [0; base::WORDS_MAX];
            let key = key_at(&writes.keys, row, &mut buffer);
            if self.over(key, SeqNo::MAX).is_some() {
                let ranges = ranges.get_or_insert_with(|| Vec::clone(&self.ranges.load()));
                cut_key(ranges, key);
            }
        }
        if let Some(ranges) = ranges {
            self.store(ranges);
        }
    }

    fn add(&self, added: DeletedRange) {
        let mut ranges = Vec::clone(&self.ranges.load());
        let at = ranges.partition_point(|one| one.range.lower < added.range.lower);
        ranges.insert(at, added);
        // Ranges that touch are merged.
        ranges.dedup_by(|next, one| {
            let touches = one.range.upper.as_ref().is_none_or(|upper| next.range.lower <= *upper);
            if touches {
                one.seq = one.seq.max(next.seq);
                one.range.upper = match (one.range.upper.take(), next.range.upper.take()) {
                    (Some(a), Some(b)) => Some(a.max(b)),
                    _ => None,
                };
            }
            touches
        });
        self.store(ranges);
    }
}

/// Removes one key from sorted ranges.
fn cut_key(ranges: &mut Vec<DeletedRange>, key: KeyRef<'_>) {
    let behind = ranges.partition_point(|one| one.range.lower.as_ref() <= key);
    let Some(at) = behind.checked_sub(1).filter(|&at| ranges[at].range.contains(key)) else {
        return;
    };
    let cut = ranges.remove(at);
    let before = KeyRange { lower: cut.range.lower, upper: Some(Key::from(key)) };
    let after = key.successor().map(|lower| KeyRange { lower, upper: cut.range.upper });
    let rest = [Some(before), after].into_iter().flatten().filter(|range| !range.is_empty());
    ranges.splice(at..at, rest.map(|range| DeletedRange { range, seq: cut.seq }));
}

impl Memtable {
    /// Records that the keys from `first` to `last` are deleted, up to the first one that is not.
    fn record_deleted(&self, first: Key, last: &Key) {
        let mut lower = Some(first);
        while let Some(first) = lower.take() {
            lower = self.record_some_deleted(first, last);
        }
    }

    /// Checks and records the first [`CHECKED_KEYS_MAX`] of these keys; returns where to go on.
    fn record_some_deleted(&self, first: Key, last: &Key) -> Option<Key> {
        let _writer = self.writer.lock();
        let mut cursor = self.cursor(first.as_ref());
        let (mut seq, mut end, mut keys) = (SeqNo::ZERO, None, 0);
        while let Some(entry) = cursor.entry() {
            let key = entry.key();
            let is_past = key.as_ref() > last.as_ref();
            if is_past || keys == CHECKED_KEYS_MAX || entry.kind() != Kind::Delete as u8 {
                break;
            }
            seq = seq.max(entry.seq());
            end = Some(key.to_key());
            keys += 1;
            cursor.skip_key();
        }
        let end = end?;
        let upper = end.as_ref().successor();
        self.deleted.add(DeletedRange { range: KeyRange { lower: first, upper }, seq });
        // The next piece starts with this one's last key, so that the two touch.
        (keys == CHECKED_KEYS_MAX && end < *last).then_some(end)
    }
}

/// Deletions that a scan passes in a row; long rows of them are recorded in the memtable.
#[derive(Default)]
pub(crate) struct PassedDeletions {
    /// Lower bound of the keys that are not recorded yet.
    first: Option<Key>,
    last: Option<Place>,
    keys: usize,
    /// They start where a recorded range ends.
    follows_range: bool,
}

impl PassedDeletions {
    /// Passes a deletion that a reader at `snapshot` sees. If it is in a recorded range, returns
    /// the place behind the range (`None` inside: the end of the memtable).
    pub(crate) fn pass(
        &mut self,
        memtable: &Memtable,
        entry: EntryRef<'_>,
        snapshot: SeqNo,
    ) -> Option<Option<Place>> {
        let key = entry.key();
        if let Some(range) = memtable.deleted.over(key.as_ref(), snapshot) {
            // Keys between two ranges join them, however few they are.
            let is_between = self.follows_range && self.keys > 0;
            self.record(memtable, if is_between { 1 } else { RECORDED_KEYS_MIN });
            let behind = range.upper.as_ref().and_then(|upper| memtable.place_of(upper.as_ref()));
            (self.first, self.follows_range) = (range.upper, true);
            return Some(behind);
        }
        if self.first.is_none() {
            self.first = Some(key.to_key());
        }
        self.keys += 1;
        self.last = Some(entry.place());
        None
    }

    /// The row of deletions has ended: at a key that is not deleted, or at the end of the scan.
    pub(crate) fn end(&mut self, memtable: &Memtable) {
        self.record(memtable, RECORDED_KEYS_MIN);
    }

    fn record(&mut self, memtable: &Memtable, keys_min: usize) {
        if self.first.is_none() {
            return;
        }
        let passed = std::mem::take(self);
        if let (Some(first), Some(last)) = (passed.first, passed.last)
            && passed.keys >= keys_min
        {
            let last = memtable.entry(last).key().to_key();
            // A reader of an older snapshot passes deletions that newer readers have recorded.
            let known = memtable.deleted.over(first.as_ref(), SeqNo::MAX);
            if known.is_none_or(|known| !known.contains(last.as_ref())) {
                memtable.record_deleted(first, &last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{MemSource, RowSource};
    use crate::rows::Rows;
    use base::{Column, ColumnShape, KeyShape, Projection, Shape};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::ops::Range;

    fn shape(is_words: bool) -> Shape {
        let key = if is_words { KeyShape::Words(1) } else { KeyShape::Bytes };
        Shape { key, values: vec![ColumnShape::Word { merge: None }] }
    }

    fn key_of(is_words: bool, number: u64) -> Key {
        if is_words { Key::words(&[number]) } else { Key::bytes(&[b'k', number as u8]) }
    }

    fn write(memtable: &Memtable, is_words: bool, number: u64, kind: Kind, seq: u64) {
        let mut batch = Batch::new(&shape(is_words));
        batch.rows = 1;
        batch.keys.push(key_of(is_words, number).as_ref());
        if let Column::Words(column) = &mut batch.values[0] {
            column.push(Some(number));
        }
        memtable.insert(&batch, Kinds::Uniform(kind), SeqNo(seq));
    }

    #[test]
    fn a_recorded_range_lies_between_the_first_and_the_last_deletion() {
        for is_words in [true, false] {
            let memtable = Memtable::new(&shape(is_words));
            (10..200).for_each(|key| write(&memtable, is_words, key, Kind::Put, 1));
            (10..150).for_each(|key| write(&memtable, is_words, key, Kind::Delete, key));
            memtable.record_deleted(key_of(is_words, 10), &key_of(is_words, 180));
            let over = |key, snapshot| {
                memtable.deleted.over(key_of(is_words, key).as_ref(), snapshot).is_some()
            };
            assert!(over(10, SeqNo(149)) && over(149, SeqNo(149)), "deleted, and seen so");
            assert!(!over(10, SeqNo(148)), "an older snapshot sees rows");
            assert!(!over(9, SeqNo(149)) && !over(150, SeqNo(149)), "outside");
            write(&memtable, is_words, 77, Kind::Put, 300);
            assert!(!over(77, SeqNo(400)), "a new row is seen");
            assert!(over(76, SeqNo(400)) && over(78, SeqNo(400)), "its neighbours are passed on");
        }
    }

    #[test]
    fn ranges_that_touch_are_one_and_their_number_is_bounded() {
        let memtable = Memtable::new(&shape(true));
        let deletions = 3 * CHECKED_KEYS_MAX as u64;
        (0..deletions).for_each(|key| write(&memtable, true, key, Kind::Delete, key + 1));
        memtable.record_deleted(key_of(true, 0), &key_of(true, deletions));
        let noted = memtable.deleted.over(KeyRef::Words(&[1]), SeqNo::MAX).expect("noted");
        assert_eq!(
            noted,
            KeyRange { lower: Key::words(&[0]), upper: base::next_words(&[deletions - 1]) }
        );
        (0..deletions).step_by(50).for_each(|key| write(&memtable, true, key, Kind::Put, 1 << 40));
        assert_eq!(memtable.deleted.ranges.load().len(), RANGES_MAX);
    }

    #[test]
    fn deletions_that_were_passed_once_are_passed_in_one_step() {
        let shape = Shape { key: KeyShape::Words(1), values: Vec::new() };
        let memtable = Memtable::new(&shape);
        let write = |keys: Range<u64>, kind, seq| {
            let mut batch = Batch { rows: keys.clone().count(), ..Batch::new(&shape) };
            keys.for_each(|key| batch.keys.push(KeyRef::Words(&[key])));
            memtable.insert(&batch, Kinds::Uniform(kind), seq);
        };
        let first = |snapshot| {
            let range = KeyRange::all_words();
            let source = MemSource::seen(&memtable, range, snapshot, Projection::ALL, 16);
            let mut rows = Rows::new(&shape);
            source.into_last().next_rows(&mut rows).unwrap();
            rows.keys.get(0)
        };
        let known = |snapshot| memtable.deleted.over(KeyRef::Words(&[0]), snapshot);
        write(0..20_000, Kind::Put, SeqNo(1));
        write(0..10_000, Kind::Delete, SeqNo(2));
        assert_eq!((first(SeqNo(1)), known(SeqNo(1))), (Key::words(&[0]), None));
        assert_eq!(first(SeqNo(2)), Key::words(&[10_000]));
        let upper = |range: Option<KeyRange>| range.and_then(|range| range.upper);
        assert_eq!(upper(known(SeqNo(2))), Some(Key::words(&[10_000])));
        // The next deletes extend the range.
        write(10_000..10_040, Kind::Delete, SeqNo(3));
        assert_eq!(first(SeqNo(3)), Key::words(&[10_040]));
        assert_eq!(upper(known(SeqNo(3))), Some(Key::words(&[10_040])));
        // A row in between, and its deletion.
        write(500..501, Kind::Put, SeqNo(4));
        assert_eq!(first(SeqNo(4)), Key::words(&[500]));
        write(500..501, Kind::Delete, SeqNo(5));
        assert_eq!(first(SeqNo(5)), Key::words(&[10_040]));
        assert_eq!(upper(known(SeqNo(5))), Some(Key::words(&[10_040])), "both sides are one again");
        assert_eq!(first(SeqNo(2)), Key::words(&[10_000]), "an older snapshot sees what it saw");
    }

    proptest! {
        /// Writes and records in any order: no row that a reader sees lies in a range that it
        /// skips.
        #[test]
        fn no_visible_row_lies_in_a_range_that_its_reader_skips(
            is_words in any::<bool>(),
            steps in prop::collection::vec((0..3_u8, 0..24_u64, 0..24_u64), 1..120),
        ) {
            let memtable = Memtable::new(&shape(is_words));
            // Of each key: numbers of its versions, and whether they are rows.
            let mut model: BTreeMap<u64, Vec<(u64, bool)>> = BTreeMap::new();
            for (seq, (step, a, b)) in (1..).zip(steps) {
                match step {
                    0 | 1 => {
                        let kind = if step == 0 { Kind::Put } else { Kind::Delete };
                        for key in if step == 0 { a..a + 1 } else { a.min(b)..a.max(b) } {
                            write(&memtable, is_words, key, kind, seq);
                            model.entry(key).or_default().push((seq, step == 0));
                        }
                    }
                    _ => memtable.record_deleted(key_of(is_words, a.min(b)), &key_of(is_words, a.max(b))),
                }
                for snapshot in [seq, seq / 2, seq.saturating_sub(3)] {
                    for (&key, versions) in &model {
                        let seen = versions.iter().rev().find(|(number, _)| *number <= snapshot);
                        let passed = memtable.deleted.over(key_of(is_words, key).as_ref(), SeqNo(snapshot));
                        if seen.is_some_and(|(_, is_row)| *is_row) {
                            prop_assert!(passed.is_none(), "key {} at {}", key, snapshot);
                        }
                    }
                }
            }
        }
    }
}
