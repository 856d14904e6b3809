//! Walking the versions of a memtable in order.

use super::list::{self, NIL};
use super::{EntryRef, Memtable};
use base::KeyRef;

/// A place among the versions of a memtable; entries inserted meanwhile behind it are met.
#[derive(Clone, Copy, Debug)]
pub struct MemCursor<'a> {
    memtable: &'a Memtable,
    address: u32,
}

impl<'a> MemCursor<'a> {
    pub(super) fn new(memtable: &'a Memtable, address: u32) -> Self {
        Self { memtable, address }
    }

    /// The version the cursor is at; `None` past the last.
    #[must_use]
    #[inline]
    pub fn entry(&self) -> Option<EntryRef<'a>> {
        let entry = EntryRef { memtable: self.memtable, address: self.address };
        (self.address != NIL).then_some(entry)
    }

    /// Goes to the next version; does nothing past the last.
    #[inline]
    pub fn advance(&mut self) {
        if let Some(entry) = self.entry() {
            self.address = list::link(entry.node(), self.memtable.key_words(), 0);
        }
    }

    /// Goes past all versions of the key the cursor is at.
    #[inline]
    pub fn skip_key(&mut self) {
        let mut last = self.entry();
        while let Some(entry) = last {
            self.address = entry.next_address();
            last = entry.next_older();
        }
    }

    /// Goes to the first version at or after `key`, a key or a prefix, wherever it was before.
    pub fn seek(&mut self, key: KeyRef<'_>) {
        self.address = self.memtable.seek(key, u64::MAX);
    }
}
