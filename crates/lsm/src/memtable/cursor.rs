//! Walking the versions of a memtable in order.

use super::{EntryRef, Memtable, Place};
use base::{KeyRef, SeqNo};

/// A position among the versions of a memtable. It meets every entry that existed when the cursor
/// was positioned. It may or may not meet those inserted meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct MemCursor<'a> {
    memtable: &'a Memtable,
    place: Option<Place>,
}

impl<'a> MemCursor<'a> {
    pub(super) fn new(memtable: &'a Memtable, place: Option<Place>) -> Self {
        Self { memtable, place }
    }

    /// The version the cursor is at; `None` past the last.
    #[must_use]
    #[inline]
    pub fn entry(&self) -> Option<EntryRef<'a>> {
        self.memtable.entry_at(self.place)
    }

    /// Goes to the next version; does nothing past the last.
    #[inline]
    pub fn advance(&mut self) {
        if let Some(entry) = self.entry() {
            self.place = entry.next_place();
        }
    }

    /// Goes past all versions of the key the cursor is at.
    #[inline]
    pub fn skip_key(&mut self) {
        self.place = self.entry().and_then(|entry| entry.next_key());
    }

    /// Goes to the first version at or after `key`, a key or a prefix, wherever it was before.
    pub fn seek(&mut self, key: KeyRef<'_>) {
        self.place = self.memtable.seek(key, SeqNo::MAX);
    }
}
