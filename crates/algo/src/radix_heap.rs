//! A heap for searches that settle the nearest vertex first.
//!
//! Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path problem" (1990).
//! A search never pushes a distance below the last one it popped. So an entry lies in a bucket by
//! the highest bit in which its key differs from the last popped key, and moves to lower buckets
//! at most 64 times, in sequential memory.
//!
//! Distances are at least zero, and such floats are ordered as their bits are.

/// Number of bits in a key, and one bucket for keys equal to the last popped one.
const BUCKETS: usize = 65;

/// Distances with vertices.
#[derive(Debug)]
pub(crate) struct RadixHeap {
    last: u64,
    buckets: Vec<Vec<(u64, u32)>>,
}

impl RadixHeap {
    pub(crate) fn new() -> Self {
        Self { last: 0, buckets: vec![Vec::new(); BUCKETS] }
    }

    /// Removes everything. After this, any distance may be pushed.
    pub(crate) fn clear(&mut self) {
        self.last = 0;
        self.buckets.iter_mut().for_each(Vec::clear);
    }

    /// `distance` must be at least that of the last [`RadixHeap::pop`].
    #[inline]
    pub(crate) fn push(&mut self, distance: f64, vertex: u32) {
        let key = distance.to_bits();
        debug_assert!(key >= self.last, "{distance} comes after a greater distance");
        self.buckets[bucket(key, self.last)].push((key, vertex));
    }

    /// Removes a nearest vertex.
    pub(crate) fn pop(&mut self) -> Option<(f64, u32)> {
        if self.buckets[0].is_empty() {
            let from = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
            let mut entries = std::mem::take(&mut self.buckets[from]);
            self.last = entries.iter().map(|entry| entry.0).min()?;
            for entry in entries.drain(..) {
                self.buckets[bucket(entry.0, self.last)].push(entry);
            }
            // The memory serves later entries.
            self.buckets[from] = entries;
        }
        self.buckets[0].pop().map(|(key, vertex)| (f64::from_bits(key), vertex))
    }
}

#[inline]
fn bucket(key: u64, last: u64) -> usize {
    64 - (key ^ last).leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_nearest_comes_first(steps in prop::collection::vec((0..3_u8, 0..1000_u32), 0..200)) {
            let mut heap = RadixHeap::new();
            let mut model: Vec<f64> = Vec::new();
            let mut last = 0.0;
            for (step, value) in steps {
                if step < 2 {
                    let distance = last + f64::from(value) / 7.0;
                    heap.push(distance, value);
                    model.push(distance);
                    model.sort_by(|a, b| b.total_cmp(a));
                } else {
                    let popped = heap.pop().map(|entry| entry.0);
                    prop_assert_eq!(popped, model.pop());
                    last = popped.unwrap_or(last);
                }
            }
            heap.clear();
            prop_assert_eq!(heap.pop(), None);
        }
    }
}
