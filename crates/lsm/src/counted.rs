//! The row-count cache: how many rows a tree has, from an earlier count and later changes.
//!
//! # Why it is kept
//! A caller that asks for the number of rows often asks again, and the number is the same between
//! two changes. Without this cache each count would walk through all that lies above the deepest
//! run.
//!
//! # Invariants
//! 1. The rows that a reader sees follow from the newest change that it sees: flushes and
//!    compactions do not change the count.
//! 2. A count is updated incrementally only within one view, which still has all versions that the
//!    earlier reader saw.

use crate::changes::Changes;
use crate::error::Result;
use crate::read::{ReadAt, SuperVersion};
use base::{KeyRange, SeqNo};
use env::sync::Mutex;
use std::sync::{Arc, Weak};

/// First key words that are counted before and after, at most: a look each costs some microseconds.
const WORDS_MAX: usize = 1024;
/// Counting a word before and after the change costs about as much as counting this many rows above
/// the deepest run.
const ROWS_A_WORD: u64 = 32;

/// The last count.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    last: Mutex<Option<Last>>,
}

#[derive(Clone, Debug)]
struct Last {
    /// The newest change that the reader saw, or the reader's snapshot where there was a newer one.
    changed_at: SeqNo,
    snapshot: SeqNo,
    view: Weak<SuperVersion>,
    rows: u64,
}

impl Counted {
    /// Number of rows that a reader at `snapshot` without writes of its own sees.
    pub(crate) fn count(
        &self,
        view: &Arc<SuperVersion>,
        changes: &Changes,
        snapshot: SeqNo,
    ) -> Result<u64> {
        let newest = changes.newest();
        // Newer changes hide which were the last that are seen here.
        let changed_at = newest.min(snapshot);
        let last = self.last.lock().clone();
        if let Some(last) = last.as_ref().filter(|last| last.changed_at == changed_at) {
            return Ok(last.rows);
        }
        let rows = match last.as_ref() {
            Some(last) => Self::go_on(last, view, changes, snapshot)?,
            None => None,
        };
        let rows = match rows {
            Some(rows) => rows,
            None => view.count(ReadAt::snapshot(snapshot))?,
        };
        let now = Last { changed_at, snapshot, view: Arc::downgrade(view), rows };
        let last = &mut *self.last.lock();
        if last.as_ref().is_none_or(|last| last.snapshot <= snapshot) {
            *last = Some(now);
        }
        Ok(rows)
    }

    /// The last count, updated by later changes; `None` if they are not known or too many.
    fn go_on(
        last: &Last,
        view: &Arc<SuperVersion>,
        changes: &Changes,
        snapshot: SeqNo,
    ) -> Result<Option<u64>> {
        let is_same_view = std::ptr::eq(last.view.as_ptr(), Arc::as_ptr(view));
        if !is_same_view || last.snapshot > snapshot {
            return Ok(None);
        }
        let Some(words) = changes.between(last.snapshot, snapshot) else { return Ok(None) };
        let above = view.rows_above();
        if words.len() > WORDS_MAX || words.len() as u64 * ROWS_A_WORD > above {
            return Ok(None);
        }
        let mut rows = last.rows;
        for word in words {
            let range = KeyRange::prefix_words(&[word]);
            rows += view.count_in(&range, ReadAt::snapshot(snapshot))?;
            rows -= view.count_in(&range, ReadAt::snapshot(last.snapshot))?;
        }
        Ok(Some(rows))
    }
}
