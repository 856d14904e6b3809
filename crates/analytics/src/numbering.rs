//! Numbers for words: word `i` of an ascending list has number `i`.
//!
//! # Why no hash table
//! A projection looks each target up, so a lookup should be one or two reads of memory. Ids of
//! vertices are mostly dense, and then a table by the word itself is one read. Sparse ids are
//! divided by their high bits into about as many buckets as there are words; a binary search in a
//! bucket of a few words ends it, and no distribution takes more than a search of the whole list.

use algo::NO_VERTEX;

/// A table by the word itself has at most this many slots per word.
const TABLE_SLOTS_MAX: u64 = 4;

/// Buckets per word in a sparse list.
const BUCKETS: u64 = 2;

/// The numbers of an ascending list of distinct words.
#[derive(Debug)]
pub(crate) struct Numbering<'w> {
    words: &'w [u64],
    first: u64,
    index: Index,
}

#[derive(Debug)]
enum Index {
    /// No word is missing between the first and the last.
    Consecutive,
    /// Slot `word - first`; [`NO_VERTEX`] where there is no such word.
    Table(Vec<u32>),
    /// The words with `(word - first) >> shift == b` are `starts[b]..starts[b + 1]`.
    Buckets { shift: u32, starts: Vec<u32> },
}

impl<'w> Numbering<'w> {
    /// `words` must be ascending and distinct, and fewer than [`NO_VERTEX`].
    pub(crate) fn new(words: &'w [u64]) -> Self {
        let first = words.first().copied().unwrap_or_default();
        let span = words.last().map_or(0, |last| last - first);
        let count = words.len() as u64;
        let index = if span < count || count == 0 {
            Index::Consecutive
        } else if span / TABLE_SLOTS_MAX < count {
            let mut table = vec![NO_VERTEX; span as usize + 1];
            for (number, &word) in (0..).zip(words) {
                table[(word - first) as usize] = number;
            }
            Index::Table(table)
        } else {
            let shift = (span / (BUCKETS * count)).checked_ilog2().map_or(0, |log| log + 1);
            let mut starts = vec![0; (span >> shift) as usize + 2];
            for &word in words {
                starts[((word - first) >> shift) as usize + 1] += 1;
            }
            let mut sum = 0;
            for start in &mut starts {
                sum += *start;
                *start = sum;
            }
            Index::Buckets { shift, starts }
        };
        Self { words, first, index }
    }

    /// Upper bound of the bytes that a numbering of `count` words takes besides the words.
    pub(crate) fn bytes_max(count: usize) -> u64 {
        4 * (TABLE_SLOTS_MAX.max(2 * BUCKETS) * count as u64 + 2)
    }

    /// The number of a word of the list; `None` for other words.
    #[inline]
    pub(crate) fn get(&self, word: u64) -> Option<u32> {
        let offset = word.checked_sub(self.first)?;
        match &self.index {
            Index::Consecutive => (offset < self.words.len() as u64).then_some(offset as u32),
            Index::Table(table) => {
                let slot = table.get(usize::try_from(offset).ok()?).copied();
                slot.filter(|&number| number != NO_VERTEX)
            }
            Index::Buckets { shift, starts } => {
                let bucket = usize::try_from(offset >> shift).ok()?;
                let (start, &end) = (*starts.get(bucket)?, starts.get(bucket + 1)?);
                let bucket = &self.words[start as usize..end as usize];
                bucket.binary_search(&word).ok().map(|place| start + place as u32)
            }
        }
    }

    /// Appends the numbers of `words`. Returns false, perhaps after some, if one has no number.
    pub(crate) fn extend(&self, words: &[u64], out: &mut Vec<u32>) -> bool {
        if let Index::Consecutive = self.index {
            // Without a branch in the loop, so that the compiler makes vectors of it.
            let count = self.words.len() as u64;
            let mut is_known = true;
            out.extend(words.iter().map(|word| {
                let offset = word.wrapping_sub(self.first);
                is_known &= offset < count;
                offset as u32
            }));
            return is_known;
        }
        let before = out.len();
        out.extend(words.iter().map_while(|&word| self.get(word)));
        out.len() - before == words.len()
    }
}

/// The distinct words of the columns, ascending.
pub(crate) fn distinct(columns: &[&[u64]]) -> Vec<u64> {
    let mut words = Vec::new();
    for column in columns {
        // Equal words are mostly adjacent in the column by which rows are sorted.
        let mut last = None;
        words.extend(column.iter().filter(|&&word| last.replace(word) != Some(word)));
    }
    if !words.is_sorted() {
        words.sort_unstable();
    }
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> impl Strategy<Value = Vec<u64>> {
        let word = prop_oneof![0..20_u64, 1000..1100_u64, any::<u64>(), (u64::MAX - 5)..=u64::MAX];
        prop_oneof![
            prop::collection::vec(word, 0..60),
            prop::collection::vec(5..30_u64, 0..60),
            prop::collection::vec(0..400_u64, 100..300),
        ]
    }

    proptest! {
        #[test]
        fn a_number_is_the_place_in_the_list(words in words(), others in words()) {
            let list = distinct(&[&words]);
            let numbering = Numbering::new(&list);
            for word in words.iter().chain(&others) {
                let want = list.iter().position(|one| one == word).map(|place| place as u32);
                prop_assert_eq!(numbering.get(*word), want);
            }
            let mut numbers = Vec::new();
            prop_assert!(numbering.extend(&words, &mut numbers));
            let named: Vec<u64> = numbers.iter().map(|&number| list[number as usize]).collect();
            prop_assert_eq!(named, words);
            let all_known = others.iter().all(|word| list.contains(word));
            prop_assert_eq!(numbering.extend(&others, &mut Vec::new()), all_known);
        }
    }
}
