//! Ranges of a memtable in which every key is deleted, so that scans pass them in one step.
//!
//! # Why found by readers
//! A queue is read from its front and deleted from its front: each look for the first key would pass every
//! deletion made since the last flush. A scan that passed many notes where they lie; the next scan seeks
//! to their end. A writer that only deletes pays nothing, and any other pays one load.
//!
//! # Invariants
//! 1. Of every key in a range that has entries, the newest is a deletion, with a number of at most the
//!    range's. So whoever reads at that number or a newer one sees no row there.
//! 2. Ranges are in key order and do not overlap.
//! 3. They change under the writer's lock only. A writer cuts its keys out before it links their entries,
//!    so a reader that sees the entries' number published sees them cut out.

use super::{Kinds, Memtable, key_at};
use base::{Batch, Key, KeyRange, KeyRef, Kind};
use env::sync::ArcSwap;
use env::sync::atomic::AtomicU64;
use env::sync::atomic::Ordering::{Acquire, Release};
use std::sync::Arc;

/// Fewer deleted keys in a row are passed one by one.
pub(crate) const NOTED_KEYS_MIN: usize = 16;
/// Keys looked at while the writer's lock is held, at most.
const NOTED_KEYS_MAX: usize = 4096;
/// Ranges kept, the first ones; keys of further ones are passed one by one.
const RANGES_MAX: usize = 64;

#[derive(Clone, Debug)]
struct DeletedRange {
    range: KeyRange,
    /// Largest number of its keys' newest deletions, when they were noted.
    seq: u64,
}

/// The ranges of one memtable.
#[derive(Debug, Default)]
pub(super) struct DeletedRanges {
    /// How many there are: one load tells that there is none.
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

    /// The range that holds `key`, if a reader at `snapshot` sees none of its rows.
    fn over(&self, key: KeyRef<'_>, snapshot: u64) -> Option<KeyRange> {
        if self.count.load(Acquire) == 0 {
            return None;
        }
        let ranges = self.ranges.load();
        let behind = ranges.partition_point(|one| one.range.lower.as_ref() <= key);
        let one = ranges.get(behind.checked_sub(1)?)?;
        (one.seq <= snapshot && one.range.contains(key)).then(|| one.range.clone())
    }

    /// Takes the keys of rows that are about to be written out of the ranges, but for deletions.
    pub(super) fn cut(&self, writes: &Batch, kinds: Kinds<'_>) {
        if self.count.load(Acquire) == 0 || matches!(kinds, Kinds::Uniform(Kind::Delete)) {
            return;
        }
        let mut ranges = None;
        for row in (0..writes.rows).filter(|&row| kinds.get(row) != Kind::Delete as u8) {
            let mut buffer = [0; base::WORDS_MAX];
            let key = key_at(&writes.keys, row, &mut buffer);
            if self.over(key, u64::MAX).is_some() {
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
        // Each joins the one before where they touch.
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

/// Cuts one key out of ranges in order.
fn cut_key(ranges: &mut Vec<DeletedRange>, key: KeyRef<'_>) {
    let behind = ranges.partition_point(|one| one.range.lower.as_ref() <= key);
    let Some(at) = behind.checked_sub(1).filter(|&at| ranges[at].range.contains(key)) else {
        return;
    };
    let cut = ranges.remove(at);
    let before = KeyRange { lower: cut.range.lower, upper: Some(Key::from(key)) };
    let after = key_after(key).map(|lower| KeyRange { lower, upper: cut.range.upper });
    let rest = [Some(before), after].into_iter().flatten().filter(|range| !range.is_empty());
    ranges.splice(at..at, rest.map(|range| DeletedRange { range, seq: cut.seq }));
}

/// The smallest key larger than `key`, which is whole.
fn key_after(key: KeyRef<'_>) -> Option<Key> {
    match key {
        KeyRef::Words(words) => base::next_words(words),
        KeyRef::Bytes(bytes) => Some(Key::Bytes([bytes, &[0]].concat())),
    }
}

impl Memtable {
    /// Where a reader at `snapshot` goes on from `key`: a range that holds it and no row that the reader sees.
    #[inline]
    pub(crate) fn deleted_over(&self, key: KeyRef<'_>, snapshot: u64) -> Option<KeyRange> {
        self.deleted.over(key, snapshot)
    }

    /// Notes that all keys from `first` to `last` are deleted, as far as they are.
    pub(crate) fn note_deleted(&self, first: Key, last: &Key) {
        let mut lower = Some(first);
        while let Some(first) = lower.take() {
            lower = self.note_some_deleted(first, last);
        }
    }

    /// Looks at the first of these keys; returns the one to go on with.
    fn note_some_deleted(&self, first: Key, last: &Key) -> Option<Key> {
        let _writer = self.writer.lock();
        let mut cursor = self.cursor(first.as_ref());
        let (mut seq, mut end, mut keys) = (0, None, 0);
        while let Some(entry) = cursor.entry() {
            let key = entry.key();
            let is_past = key.as_ref() > last.as_ref();
            if is_past || keys == NOTED_KEYS_MAX || entry.kind() != Kind::Delete as u8 {
                break;
            }
            seq = seq.max(entry.seq());
            end = Some(key.to_key());
            keys += 1;
            cursor.skip_key();
        }
        let end = end?;
        let upper = key_after(end.as_ref());
        self.deleted.add(DeletedRange { range: KeyRange { lower: first, upper }, seq });
        // The next piece begins with this one's last key, so that the two touch.
        (keys == NOTED_KEYS_MAX && end < *last).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Column, ColumnShape, KeyShape, Shape};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

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
        memtable.insert(&batch, Kinds::Uniform(kind), seq);
    }

    #[test]
    fn what_is_noted_lies_between_the_first_and_the_last_deletion() {
        for is_words in [true, false] {
            let memtable = Memtable::new(&shape(is_words));
            (10..200).for_each(|key| write(&memtable, is_words, key, Kind::Put, 1));
            (10..150).for_each(|key| write(&memtable, is_words, key, Kind::Delete, key));
            memtable.note_deleted(key_of(is_words, 10), &key_of(is_words, 180));
            let over = |key, snapshot| {
                memtable.deleted_over(key_of(is_words, key).as_ref(), snapshot).is_some()
            };
            assert!(over(10, 149) && over(149, 149), "deleted, and seen so");
            assert!(!over(10, 148), "an older snapshot sees rows");
            assert!(!over(9, 149) && !over(150, 149), "outside");
            write(&memtable, is_words, 77, Kind::Put, 300);
            assert!(!over(77, 400), "a new row is seen");
            assert!(over(76, 400) && over(78, 400), "its neighbours are passed on");
        }
    }

    #[test]
    fn ranges_that_touch_are_one_and_their_number_is_bounded() {
        let memtable = Memtable::new(&shape(true));
        let deletions = 3 * NOTED_KEYS_MAX as u64;
        (0..deletions).for_each(|key| write(&memtable, true, key, Kind::Delete, key + 1));
        memtable.note_deleted(key_of(true, 0), &key_of(true, deletions));
        let noted = memtable.deleted_over(KeyRef::Words(&[1]), u64::MAX).expect("noted");
        assert_eq!(
            noted,
            KeyRange { lower: Key::words(&[0]), upper: base::next_words(&[deletions - 1]) }
        );
        (0..deletions).step_by(50).for_each(|key| write(&memtable, true, key, Kind::Put, 1 << 40));
        assert_eq!(memtable.deleted.ranges.load().len(), RANGES_MAX);
    }

    proptest! {
        /// Whatever was written and noted in whatever order: no row that a reader sees lies in a range that
        /// it may pass.
        #[test]
        fn no_row_lies_in_a_range_that_its_reader_passes(
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
                    _ => memtable.note_deleted(key_of(is_words, a.min(b)), &key_of(is_words, a.max(b))),
                }
                for snapshot in [seq, seq / 2, seq.saturating_sub(3)] {
                    for (&key, versions) in &model {
                        let seen = versions.iter().rev().find(|(number, _)| *number <= snapshot);
                        let passed = memtable.deleted_over(key_of(is_words, key).as_ref(), snapshot);
                        if seen.is_some_and(|(_, is_row)| *is_row) {
                            prop_assert!(passed.is_none(), "key {} at {}", key, snapshot);
                        }
                    }
                }
            }
        }
    }
}
