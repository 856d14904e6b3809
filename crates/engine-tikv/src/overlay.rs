//! Writes that are not committed, on top of pages of a snapshot.

use ordered::{Order, Pair};
use std::collections::BTreeMap;

/// Values of written keys; `None` for a removed one.
#[derive(Default)]
pub(crate) struct Overlay {
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    bytes: usize,
    key_bytes: usize,
}

impl Overlay {
    pub(crate) fn set(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        let (key_bytes, value_bytes) = (key.len(), value.as_ref().map_or(0, Vec::len));
        self.bytes += value_bytes;
        match self.changes.insert(key, value) {
            None => {
                self.bytes += key_bytes;
                self.key_bytes += key_bytes;
            }
            Some(before) => self.bytes -= before.map_or(0, |before| before.len()),
        }
    }

    /// The written value of a key, `Some(None)` if it was removed.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&Vec<u8>>> {
        self.changes.get(key).map(Option::as_ref)
    }

    /// Number of written keys, their bytes, and the bytes of keys and values.
    pub(crate) fn extent(&self) -> (usize, usize, usize) {
        (self.changes.len(), self.key_bytes, self.bytes)
    }

    pub(crate) fn into_changes(self) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
        self.changes
    }

    /// The keys written in a range.
    pub(crate) fn keys(&self, lower: &[u8], upper: &[u8]) -> Vec<Vec<u8>> {
        if lower >= upper {
            return Vec::new();
        }
        let range = self
            .changes
            .range::<[u8], _>((std::ops::Bound::Included(lower), std::ops::Bound::Excluded(upper)));
        range.map(|(key, _)| key.clone()).collect()
    }

    /// Puts the writes of a range on top of its pairs, which are all there are.
    pub(crate) fn merge(&self, lower: &[u8], upper: &[u8], order: Order, pairs: &mut Vec<Pair>) {
        let keys = self.keys(lower, upper);
        if keys.is_empty() {
            return;
        }
        let mut all: BTreeMap<Vec<u8>, Vec<u8>> = std::mem::take(pairs).into_iter().collect();
        for key in keys {
            match self.get(&key) {
                Some(Some(value)) => drop(all.insert(key, value.clone())),
                _ => drop(all.remove(&key)),
            }
        }
        match order {
            Order::Forward => pairs.extend(all),
            Order::Backward => pairs.extend(all.into_iter().rev()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &[u8]) -> Vec<Pair> {
        text.iter().map(|&byte| (vec![byte], vec![byte])).collect()
    }

    #[test]
    fn writes_replace_add_and_remove_pairs_of_their_range() {
        let mut overlay = Overlay::default();
        for (key, value) in [(b'b', None), (b'c', Some(b"new".to_vec())), (b'x', Some(vec![1]))] {
            overlay.set(vec![key], value);
        }
        let mut page = pairs(b"abd");
        overlay.merge(b"a", b"e", Order::Forward, &mut page);
        assert_eq!(page, [pairs(b"a"), vec![(vec![b'c'], b"new".to_vec())], pairs(b"d")].concat());
        let mut page = pairs(b"ba");
        overlay.merge(b"a", b"c", Order::Backward, &mut page);
        assert_eq!(page, pairs(b"a"));
    }

    #[test]
    fn the_extent_counts_each_key_once() {
        let mut overlay = Overlay::default();
        overlay.set(vec![1, 2], Some(vec![0; 10]));
        overlay.set(vec![1, 2], Some(vec![0; 5]));
        overlay.set(vec![3], None);
        assert_eq!(overlay.extent(), (2, 3, 8));
    }
}
