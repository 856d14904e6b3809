//! Reads header and value of a lookup that finds neither in the cache, in one wait.
//!
//! # Why a guess
//! The header of a block says where a value lies, so a lookup that has neither would wait for the
//! device twice. But the fences give the keys between which a block lies and its length: a key a
//! third of the way between the first and the last key lies about a third of the way into the
//! block. Consecutive numbers lie exactly there, random ones within a few rows (the k-th of n
//! uniform keys: at most sqrt(n) / 2 rows from there, by the standard deviation). So a window
//! around that position is read beside the header (interpolation search, Peterson 1957). A guess
//! that misses, or cannot be read, costs the bytes of the window; the rest is then read as if there
//! had been no guess.

use super::block::{BlockBytes, Part};
use super::encode::apart_column;
use super::{Block, Fill, Table};
use crate::error::Result;
use base::{KeyRef, Projection};
use env::FileRead;
use std::ops::Range;
use std::sync::Arc;

/// Bytes read around where a value may lie. A device returns this many in little more time than one
/// page.
const WINDOW_BYTES: u64 = 16 << 10;

/// Values longer than this, on average, are not guessed: the window would seldom hold one whole.
const VALUE_BYTES_MAX: u64 = 4 << 10;

impl Table {
    /// As [`Table::head`] for a lookup of `key`, whose projected values will be asked for next.
    ///
    /// # Errors
    /// As [`Table::block`].
    ///
    /// # Panics
    /// If there is no such block.
    #[inline]
    pub(crate) fn head_toward(
        &self,
        i: usize,
        key: KeyRef<'_>,
        projection: Projection,
    ) -> Result<Arc<Block>> {
        match self.slots.get(i, Part::Head, Fill::Keep) {
            Some(block) => Ok(block),
            None => self.head_missed(i, key, projection),
        }
    }

    #[cold]
    fn head_missed(&self, i: usize, key: KeyRef<'_>, projection: Projection) -> Result<Arc<Block>> {
        let is_wanted = apart_column(&self.shape).is_some_and(|column| projection.value(column));
        // Elsewhere the kernel may keep both, and a wait is none.
        let window = match self.direct && is_wanted && self.index.is_apart(i) {
            true => self.window(i, key),
            false => None,
        };
        let Some(window) = window else { return self.part_missed(i, Part::Head, Fill::Keep) };
        // The unreadable bytes may not belong to a requested row.
        let Ok((head, values)) = self.read_both(i, window.clone()) else {
            return self.part_missed(i, Part::Head, Fill::Keep);
        };
        let block = self.take_in(i, Part::Head, Fill::Keep, |_| BlockBytes::Own(head))?;
        if let (Some(apart), Some(strings)) = (block.apart(), block.apart_strings())
            && let Some(row) = block.find(key)
        {
            apart.offer(strings, row, window.start, &values);
        }
        Ok(block)
    }

    /// The bytes of the file that probably hold the value of `key`, which lies in block `i`.
    fn window(&self, i: usize, key: KeyRef<'_>) -> Option<Range<u64>> {
        let heap = self.index.head(i).end..self.index.bytes(i).end;
        let bytes = heap.end - heap.start;
        let value_bytes = bytes / self.index.rows(i).max(1) as u64;
        if bytes == 0 || value_bytes > VALUE_BYTES_MAX {
            return None;
        }
        let (first, last) = (self.index.first_key(i), self.index.last_key(i));
        // The last key's value ends where the heap does.
        let share = share(first.as_ref(), last.as_ref(), key)?;
        let middle = heap.start + (share * (bytes - value_bytes) as f64) as u64 + value_bytes / 2;
        let start = middle.saturating_sub(WINDOW_BYTES / 2).max(heap.start);
        let end = (start + WINDOW_BYTES).min(heap.end);
        Some(end.saturating_sub(WINDOW_BYTES).max(heap.start)..end)
    }

    /// The head of block `i`, not checked, and these bytes of its values, read together.
    fn read_both(&self, i: usize, window: Range<u64>) -> Result<(Vec<u8>, Vec<u8>)> {
        self.file.may_read()?;
        let read = |span: Range<u64>| FileRead {
            file: Arc::clone(&self.file),
            offset: span.start,
            buf: vec![0; (span.end - span.start) as usize],
        };
        let mut reads = [read(self.index.head(i)), read(window)];
        env::read_files(&mut reads)?;
        let [head, values] = reads;
        Ok((head.buf, values.buf))
    }
}

/// The position of `key` between `first` and `last` as numbers, from 0 to 1. `None` if it does not
/// lie between them.
fn share(first: KeyRef<'_>, last: KeyRef<'_>, key: KeyRef<'_>) -> Option<f64> {
    let (first, last, key) = match (first, last, key) {
        (KeyRef::Words(first), KeyRef::Words(last), KeyRef::Words(key)) => {
            let differ = first.iter().zip(last).position(|(first, last)| first != last);
            let Some(at) = differ else { return Some(0.0) };
            (first[at], last[at], *key.get(at)?)
        }
        (KeyRef::Bytes(first), KeyRef::Bytes(last), KeyRef::Bytes(key)) => {
            let same = first.iter().zip(last).take_while(|(first, last)| first == last).count();
            (number(first, same), number(last, same), number(key, same))
        }
        _ => return None,
    };
    if key < first || key > last {
        return None;
    }
    Some((key - first) as f64 / (last - first).max(1) as f64)
}

/// The eight bytes from `at` on as a number that orders as they do.
fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    for (to, from) in eight.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    u64::from_be_bytes(eight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keys_share_of_the_way_is_that_of_its_first_word_or_bytes_that_differ() {
        let words = |key: &[u64]| {
            share(KeyRef::Words(&[7, 100]), KeyRef::Words(&[7, 300]), KeyRef::Words(key))
        };
        assert_eq!(words(&[7, 100]), Some(0.0));
        assert_eq!(words(&[7, 150]), Some(0.25));
        assert_eq!(words(&[7, 300]), Some(1.0));
        assert_eq!(words(&[7, 301]), None, "past the block");
        assert_eq!(words(&[7]), None, "a prefix");
        let one = KeyRef::Words(&[7]);
        assert_eq!(share(one, one, one), Some(0.0), "versions of one key");
        assert_eq!(share(one, KeyRef::Words(&[u64::MAX]), KeyRef::Words(&[u64::MAX])), Some(1.0));
        let bytes = |key: &str| {
            share(KeyRef::Bytes(b"page/a"), KeyRef::Bytes(b"page/c"), KeyRef::Bytes(key.as_bytes()))
        };
        assert_eq!(bytes("page/b"), Some(0.5));
        assert_eq!(bytes("page/c"), Some(1.0));
        assert_eq!(bytes("page"), None, "before the block");
    }
}
