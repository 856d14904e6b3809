//! Which rows of a tree changed recently, for caches that are derived from them.
//!
//! # Why a list beside the memtable
//! A memtable is ordered by key, so finding changes newer than a sequence number would visit every
//! entry. A cache that asks from time to time for changes needs only the last few changes, or
//! the fact that there were too many.
//!
//! # Invariants
//! 1. A commit is noted before it is published: a reader at a snapshot finds all changes up to it.
//! 2. One thread notes at a time. Any number ask.
//! 3. Nothing is listed before a caller asks, and listing stops when callers stop asking: a list
//!    that fills up between two questions ends.

use base::{Keys, SeqNo};
use env::sync::Mutex;
use env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::VecDeque;

/// Rows that are listed, at most.
const LISTED_MAX: usize = 4096;

/// The changes of a tree.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Number of the newest commit that changed something.
    newest: AtomicU64,
    /// Whether they are listed.
    listing: AtomicBool,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    /// The list has all changes after this commit; `None` until the first one is listed.
    after: Option<SeqNo>,
    /// Commit and first key word of each row.
    changes: VecDeque<(SeqNo, u64)>,
    /// Changes were requested since it was last shortened.
    is_asked: bool,
}

impl Changes {
    /// Notes that commit `seq` writes these keys.
    #[inline]
    pub(crate) fn note(&self, keys: &Keys, seq: SeqNo) {
        let before = SeqNo(self.newest.fetch_max(seq.0, Ordering::AcqRel));
        if self.listing.load(Ordering::Acquire) {
            self.add(keys, seq, before);
        }
    }

    /// Notes that commit `seq` has changes that are not listed.
    pub(crate) fn note_unlisted(&self, seq: SeqNo) {
        self.newest.fetch_max(seq.0, Ordering::AcqRel);
        let list = &mut *self.list.lock();
        list.changes.clear();
        // Also what another may be noting now.
        list.after = list.after.map(|after| after.max(self.newest()));
    }

    #[cold]
    fn add(&self, keys: &Keys, seq: SeqNo, before: SeqNo) {
        let Keys::Words(columns) = keys else {
            // Such keys are never listed.
            self.listing.store(false, Ordering::Release);
            return self.note_unlisted(seq);
        };
        let Some(words) = columns.first() else { return };
        if words.len() > LISTED_MAX / 2 {
            return self.note_unlisted(seq);
        }
        let list = &mut *self.list.lock();
        // Changes by a writer that did not see yet that listing is on are not in the list.
        list.after.get_or_insert(before);
        list.changes.extend(words.iter().map(|&word| (seq, word)));
        if list.changes.len() <= LISTED_MAX {
            return;
        }
        if !std::mem::take(&mut list.is_asked) {
            *list = List::default();
            self.listing.store(false, Ordering::Release);
            return;
        }
        list.after = list.changes.get(LISTED_MAX / 2 - 1).map(|&(seq, _)| seq);
        list.changes.drain(..LISTED_MAX / 2);
    }

    /// Sequence number of the newest commit that changed something, published or not; 0 if there
    /// was none since the tree was opened.
    pub(crate) fn newest(&self) -> SeqNo {
        SeqNo(self.newest.load(Ordering::Acquire))
    }

    /// The distinct first key words of rows that commits after `since` up to `upto` changed,
    /// ascending. Returns `None` if that is not known. Starts the listing of changes.
    pub(crate) fn between(&self, since: SeqNo, upto: SeqNo) -> Option<Vec<u64>> {
        let mut words: Vec<u64> = {
            let list = &mut *self.list.lock();
            list.is_asked = true;
            self.listing.store(true, Ordering::Release);
            if self.newest() <= since {
                return Some(Vec::new());
            }
            if list.after.is_none_or(|after| after > since) {
                return None;
            }
            let first = list.changes.partition_point(|&(seq, _)| seq <= since);
            let end = list.changes.partition_point(|&(seq, _)| seq <= upto);
            list.changes.range(first..end.max(first)).map(|&(_, word)| word).collect()
        };
        words.sort_unstable();
        words.dedup();
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn keys(words: impl IntoIterator<Item = u64>) -> Keys {
        let words: Vec<u64> = words.into_iter().collect();
        Keys::Words(vec![words.clone(), words])
    }

    #[test]
    fn changes_are_known_from_the_first_question_on() {
        let changes = Changes::default();
        changes.note(&keys([1]), SeqNo(5));
        assert_eq!(changes.between(SeqNo(5), SeqNo::MAX), Some(vec![]));
        assert_eq!(changes.between(SeqNo(4), SeqNo::MAX), None, "nobody had asked");
        changes.note(&keys([2, 1]), SeqNo(7));
        changes.note(&keys([2, 9]), SeqNo(8));
        assert_eq!(changes.between(SeqNo(4), SeqNo::MAX), None);
        assert_eq!(changes.between(SeqNo(5), SeqNo::MAX), Some(vec![1, 2, 9]));
        assert_eq!(changes.between(SeqNo(6), SeqNo::MAX), Some(vec![1, 2, 9]));
        assert_eq!(changes.between(SeqNo(7), SeqNo::MAX), Some(vec![2, 9]));
        assert_eq!(changes.between(SeqNo(8), SeqNo::MAX), Some(vec![]));
        assert_eq!(changes.between(SeqNo(5), SeqNo(7)), Some(vec![1, 2]));
        assert_eq!(changes.between(SeqNo(7), SeqNo(6)), Some(vec![]));
    }

    #[test]
    fn who_asks_before_anything_changes_learns_of_the_first_change() {
        let changes = Changes::default();
        changes.note(&keys([1]), SeqNo(5));
        assert_eq!(changes.between(SeqNo(5), SeqNo(5)), Some(vec![]));
        changes.note(&keys([2]), SeqNo(6));
        assert_eq!(changes.between(SeqNo(5), SeqNo(6)), Some(vec![2]));
    }

    #[test]
    fn keys_that_are_no_words_are_never_listed() {
        let changes = Changes::default();
        assert_eq!(changes.between(SeqNo::ZERO, SeqNo::ZERO), Some(vec![]));
        changes.note(&Keys::Bytes(base::BytesColumn::default()), SeqNo(1));
        assert_eq!(changes.between(SeqNo::ZERO, SeqNo(1)), None);
        changes.note(&Keys::Bytes(base::BytesColumn::default()), SeqNo(2));
        assert!(!changes.listing.load(Ordering::Relaxed));
    }

    #[test]
    fn what_is_not_listed_makes_all_before_it_unknown() {
        let changes = Changes::default();
        changes.note(&keys([1]), SeqNo(1));
        assert_eq!(changes.between(SeqNo::ZERO, SeqNo::MAX), None);
        changes.note(&keys([2]), SeqNo(2));
        changes.note_unlisted(SeqNo(3));
        changes.note(&keys([4]), SeqNo(4));
        assert_eq!(
            (changes.between(SeqNo(1), SeqNo::MAX), changes.between(SeqNo(2), SeqNo::MAX)),
            (None, None)
        );
        assert_eq!(changes.between(SeqNo(3), SeqNo::MAX), Some(vec![4]));
        // Many rows at once are no list.
        changes.note(&keys(0..LISTED_MAX as u64), SeqNo(5));
        assert_eq!(
            (changes.between(SeqNo(4), SeqNo::MAX), changes.between(SeqNo(5), SeqNo::MAX)),
            (None, Some(vec![]))
        );
    }

    #[test]
    fn a_list_that_nobody_asks_for_ends_and_begins_again() {
        let changes = Changes::default();
        changes.note(&keys([1]), SeqNo(1));
        assert_eq!(changes.between(SeqNo::ZERO, SeqNo::MAX), None);
        for seq in 2..2 + 2 * LISTED_MAX as u64 {
            changes.note(&keys([seq]), SeqNo(seq));
        }
        assert!(!changes.listing.load(Ordering::Relaxed));
        assert!(changes.list.lock().changes.is_empty());
        let newest = changes.newest();
        assert_eq!(changes.between(SeqNo(newest.0 - 1), SeqNo::MAX), None);
        changes.note(&keys([7]), newest.next());
        assert_eq!(changes.between(newest, SeqNo::MAX), Some(vec![7]));
    }

    /// Compares with a map of all noted changes: the answer never misses one.
    #[test]
    fn an_answer_is_all_there_was() {
        let changes = Changes::default();
        let mut all: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut state = 7_u64;
        let mut known = 0;
        for seq in 1..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let rows = [1, 2, 40, 3000][(state >> 33) as usize % 97 / 32];
            let words: Vec<u64> = (0..rows).map(|i| (state >> 40) % 50 + i).collect();
            changes.note(&keys(words.clone()), SeqNo(seq));
            all.insert(seq, words);
            if state >> 60 < 3 {
                let since = seq.saturating_sub((state >> 50) % 200);
                let mut want: Vec<u64> =
                    all.range(since + 1..).flat_map(|(_, words)| words).copied().collect();
                want.sort_unstable();
                want.dedup();
                if let Some(found) = changes.between(SeqNo(since), SeqNo::MAX) {
                    assert_eq!(found, want);
                    known += usize::from(!want.is_empty());
                }
            }
        }
        assert!(known > 100, "{known} answers");
    }
}
