//! The largest counters.
//!
//! # Why there is no index by value
//! An index ordered by value would have to follow every increment, which then would have to read.
//! So `top` scans all counters, on all threads: each scans a range of keys into its own heap, and
//! the heaps are merged.

use super::read::{CounterRows, empty_rows};
use super::{Core, Counters};
use crate::keys::{empty_keys, range_of};
use crate::source::Source;
use base::{Batch, Key, KeyRange, KeyspaceId, Projection};
use relation::CountersDef;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use store::{Read, Result, Snapshot};

/// Rows read in one batch of a scan.
const ROWS_A_STEP: usize = 16 << 10;

/// Approximate minimum of rows in a range; fewer are not worth another thread.
const ROWS_A_RANGE_MIN: u64 = 32 << 10;

/// Ranges for each thread. A thread with a small range takes another one.
const RANGES_A_THREAD: usize = 4;

/// Keys sampled for each bound between ranges.
const DRAWS_A_RANGE: usize = 8;

/// A counter: the word of its value, and its key.
type Best = (u64, Key);

impl Counters {
    /// The `count` largest counters, in descending order; of equal ones the smaller key comes
    /// first. Scans all counters, on all threads unless in a transaction.
    pub fn top(&self, count: usize) -> Result<CounterRows> {
        self.write_what_waits()?;
        let all = range_of(self.core.def.key, None, None)?;
        let mut best = match &self.source {
            _ if count == 0 => Vec::new(),
            Source::Store(store) => self.core.best_of_ranges(&store.snapshot(), all, count)?,
            Source::Snapshot(snapshot) => self.core.best_of_ranges(snapshot, all, count)?,
            Source::Transaction(_) => self
                .source
                .read(|read| best_of(read, &self.core.def, self.core.rows, all, count))?,
        };
        best.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let (mut keys, mut words) = (empty_keys(self.core.def.key), Vec::new());
        for (word, key) in best.into_iter().take(count) {
            keys.push(key.as_ref());
            words.push(word);
        }
        self.rows_out(keys, &words)
    }
}

impl Core {
    /// The `count` largest counters of each of several ranges.
    fn best_of_ranges(
        &self,
        snapshot: &Arc<dyn Snapshot>,
        all: KeyRange,
        count: usize,
    ) -> Result<Vec<Best>> {
        let ranges = self.ranges(&**snapshot, all)?;
        let (snapshot, def, rows) = (Arc::clone(snapshot), self.def.clone(), self.rows);
        let best = env::parallel(&*self.env, ranges, move |range| {
            best_of(&*snapshot, &def, rows, range, count)
        });
        let mut all = Vec::new();
        for best in best {
            all.extend(best?);
        }
        Ok(all)
    }

    /// Splits the range at sampled keys into parts of about equal numbers of rows.
    fn ranges(&self, read: &dyn Read, all: KeyRange) -> Result<Vec<KeyRange>> {
        let threads = self.env.parallelism();
        if threads < 2 {
            return Ok(vec![all]);
        }
        let worth = read.estimate(self.rows, &all)?.rows / ROWS_A_RANGE_MIN;
        let parts = usize::try_from(worth).unwrap_or(usize::MAX).min(threads * RANGES_A_THREAD);
        if parts < 2 {
            return Ok(vec![all]);
        }
        let mut state = 0_u64;
        let mut random = move || {
            // SplitMix64 (Steele, Lea and Flood, 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = state;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        let mut drawn: Batch = empty_rows(&self.def);
        let draws = parts * DRAWS_A_RANGE;
        read.sample_into(self.rows, draws, &mut random, Projection::KEYS, &mut drawn)?;
        let mut keys: Vec<Key> = (0..drawn.rows).map(|i| drawn.keys.get(i)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut ranges = Vec::with_capacity(parts);
        let mut lower = all.lower;
        for bound in keys.chunks(DRAWS_A_RANGE).skip(1).map(|keys| keys[0].clone()) {
            ranges.push(KeyRange { lower, upper: Some(bound.clone()) });
            lower = bound;
        }
        ranges.push(KeyRange { lower, upper: all.upper });
        Ok(ranges)
    }
}

/// The `count` largest counters of a range, unordered.
fn best_of(
    read: &dyn Read,
    def: &CountersDef,
    keyspace: KeyspaceId,
    range: KeyRange,
    count: usize,
) -> Result<Vec<Best>> {
    let mut best: BinaryHeap<Reverse<(u64, Reverse<Key>)>> = BinaryHeap::new();
    let mut scan = read.scan(keyspace, range, Projection::ALL)?;
    let mut rows = empty_rows(def);
    while scan.next_batch(ROWS_A_STEP, &mut rows)? {
        let least = |best: &BinaryHeap<_>| match best.peek() {
            Some(Reverse((word, _))) if best.len() >= count => Some(*word),
            _ => None,
        };
        let mut bar = least(&best);
        for (i, &word) in rows.value_words(0).iter().enumerate() {
            // Keys ascend, so a later key with an equal value ranks below.
            if bar.is_some_and(|bar| word <= bar) {
                continue;
            }
            best.push(Reverse((word, Reverse(rows.keys.get(i)))));
            if best.len() > count {
                best.pop();
            }
            bar = least(&best);
        }
        rows.clear();
    }
    Ok(best.into_iter().map(|Reverse((word, Reverse(key)))| (word, key)).collect())
}
