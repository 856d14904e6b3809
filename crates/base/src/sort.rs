//! Sorts that can be cancelled.
//!
//! Callers are the executor (`exec`) and the list functions (`function`).
//!
//! # Why the standard library is not enough
//! Its sort cannot be interrupted, and a sort of millions of values takes longer than a cancelled
//! query may continue. So large inputs are first distributed over buckets by sampled splitters
//! (samplesort: Frazer and McKellar, JACM 1970), and each bucket is sorted separately. That takes
//! no longer in total, because short sorts are faster for each value. Values equal to a splitter
//! get a bucket of their own, which needs no sort.

use std::cmp::Ordering;

/// Number of steps, of a few nanoseconds each, that a long loop makes between two checks for
/// cancellation.
pub const STEPS: usize = 1 << 14;

/// Maximum number of values that are sorted without a check.
const SORTED_AT_ONCE: usize = 1 << 16;

/// As [`SORTED_AT_ONCE`], for words, whose comparison is cheaper.
const WORDS_SORTED_AT_ONCE: usize = 1 << 20;

/// Maximum number of splitters. The `2 * SPLITTERS_MAX + 1` buckets must be numbered in 16 bits.
const SPLITTERS_MAX: usize = 1 << 9;

/// Number of values that are sampled for each splitter.
const DRAWN: usize = 8;

/// Maximum number of times that values are distributed. A bucket that is still too large had a very
/// bad sample, and is sorted as it is.
const DEALS_MAX: usize = 4;

/// Sorts values; the sort is stable. `go_on` is called at least once every [`STEPS`] steps and
/// before each short sort, but not if a single short sort is enough.
///
/// # Errors
/// Those of `go_on`, which end the sort. The values are dropped then.
pub fn sort_in_pieces<T, E>(
    mut values: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    mut go_on: impl FnMut() -> Result<(), E>,
) -> Result<Vec<T>, E> {
    if values.len() <= SORTED_AT_ONCE {
        values.sort_by(compare);
        return Ok(values);
    }
    // As the standard library does, sorted input is returned as it is and strictly descending input
    // is reversed.
    if is_sorted_by(&values, |a, b| compare(a, b).is_le(), &mut go_on)? {
        return Ok(values);
    }
    if is_sorted_by(&values, |a, b| compare(a, b).is_gt(), &mut go_on)? {
        values.reverse();
        return Ok(values);
    }
    let len = values.len();
    let mut sorted = Vec::new();
    let mut deals = vec![(values, DEALS_MAX)];
    // A stack of buckets, the first bucket on top. The number says how often the bucket may still
    // be distributed: 0 for buckets with an odd index, whose values are all equal.
    while let Some((mut values, times)) = deals.pop() {
        go_on()?;
        if values.len() > SORTED_AT_ONCE && times > 0 {
            let buckets = deal(values, &compare, &mut go_on)?.into_iter().enumerate();
            let buckets = buckets.filter(|(_, bucket)| !bucket.is_empty());
            let left = |place: usize| if place % 2 == 1 { 0 } else { times - 1 };
            deals.extend(buckets.rev().map(|(place, bucket)| (bucket, left(place))));
            continue;
        }
        values.sort_by(&compare);
        sorted.reserve_exact(len - sorted.len());
        sorted.append(&mut values);
    }
    Ok(sorted)
}

/// Sorts words; the sort is unstable. Words are split at their median (quickselect) until the parts
/// are small enough for the standard library. This takes a tenth longer than sorting all of them
/// with it.
///
/// # Errors
/// Those of `go_on`, which end the sort.
pub fn sort_words_in_pieces<T: Ord + Copy, E>(
    words: &mut [T],
    go_on: &mut impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    if words.len() <= WORDS_SORTED_AT_ONCE {
        words.sort_unstable();
        return Ok(());
    }
    if is_sorted_by(words, |a, b| a <= b, go_on)? {
        return Ok(());
    }
    if is_sorted_by(words, |a, b| a > b, go_on)? {
        words.reverse();
        return Ok(());
    }
    let (less, _, more) = words.select_nth_unstable(words.len() / 2);
    sort_words_in_pieces(less, go_on)?;
    go_on()?;
    sort_words_in_pieces(more, go_on)
}

fn is_sorted_by<T, E>(
    values: &[T],
    are_in_order: impl Fn(&T, &T) -> bool,
    go_on: &mut impl FnMut() -> Result<(), E>,
) -> Result<bool, E> {
    for start in (0..values.len()).step_by(STEPS) {
        go_on()?;
        let piece = &values[start..values.len().min(start + STEPS + 1)];
        if !piece.is_sorted_by(&are_in_order) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Distributes values over buckets in ascending order. All values in a bucket with an odd index are
/// equal.
fn deal<T, E>(
    values: Vec<T>,
    compare: &impl Fn(&T, &T) -> Ordering,
    go_on: &mut impl FnMut() -> Result<(), E>,
) -> Result<Vec<Vec<T>>, E> {
    let parts = (2 * values.len() / SORTED_AT_ONCE).clamp(2, SPLITTERS_MAX);
    let step = values.len() / (parts * DRAWN);
    // At irregular distances, because values often repeat at regular ones.
    let draw = |i: usize| i * step + i.wrapping_mul(0x9E37_79B9) % step;
    let mut drawn: Vec<&T> = (0..parts * DRAWN).map(|i| &values[draw(i)]).collect();
    drawn.sort_by(|a, b| compare(a, b));
    let mut splitters: Vec<&T> = drawn.into_iter().skip(DRAWN / 2).step_by(DRAWN).collect();
    splitters.dedup_by(|a, b| compare(a, b).is_eq());
    let mut numbers: Vec<u16> = Vec::with_capacity(values.len());
    let mut lens = vec![0; 2 * splitters.len() + 1];
    for piece in values.chunks(STEPS) {
        go_on()?;
        for value in piece {
            let number = match splitters.binary_search_by(|splitter| compare(splitter, value)) {
                Ok(place) => 2 * place + 1,
                Err(place) => 2 * place,
            };
            lens[number] += 1;
            numbers.push(number as u16);
        }
    }
    let mut buckets: Vec<Vec<T>> = lens.into_iter().map(Vec::with_capacity).collect();
    let mut values = values.into_iter();
    for numbers in numbers.chunks(STEPS) {
        go_on()?;
        for (&number, value) in numbers.iter().zip(values.by_ref()) {
            buckets[usize::from(number)].push(value);
        }
    }
    Ok(buckets)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of a pseudorandom number less than `below` and the pair's index.
    fn values(len: u64, below: u64) -> Vec<(u64, u64)> {
        (0..len).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % below, i)).collect()
    }

    fn sorted(values: &[(u64, u64)]) -> Vec<(u64, u64)> {
        sort_in_pieces(values.to_vec(), |a, b| a.0.cmp(&b.0), || Ok::<(), ()>(())).unwrap()
    }

    #[test]
    fn it_sorts_and_equal_values_keep_their_order() {
        let len = 5 * SORTED_AT_ONCE as u64 + 7;
        let few = values(1000, 30);
        let all_equal = values(len, 1);
        let mostly_equal: Vec<_> = (0..len).map(|i| (if i % 50 == 0 { i } else { 3 }, i)).collect();
        let up: Vec<_> = (0..len).map(|i| (i / 2, i)).collect();
        let down: Vec<_> = (0..len).map(|i| (len - i, i)).collect();
        let many = values(2 * WORDS_SORTED_AT_ONCE as u64, u64::MAX);
        let lists = [few, all_equal, mostly_equal, up, down, values(len, 3), many];
        for list in lists {
            let mut want = list.clone();
            want.sort_by_key(|value| value.0);
            assert!(sorted(&list) == want);
            let mut words = list;
            sort_words_in_pieces(&mut words, &mut || Ok::<(), ()>(())).unwrap();
            want.sort_unstable();
            assert!(words == want);
        }
    }

    #[test]
    fn it_is_asked_often_and_ends_when_told() {
        let len = 5 * SORTED_AT_ONCE;
        let (mut asked, mut compared, mut between) = (0, std::cell::Cell::new(0), 0);
        let count = |a: &(u64, u64), b: &(u64, u64)| {
            compared.set(compared.get() + 1);
            a.cmp(b)
        };
        let go_on = || {
            asked += 1;
            between = between.max(compared.replace(0));
            Ok::<(), ()>(())
        };
        sort_in_pieces(values(len as u64, u64::MAX), count, go_on).unwrap();
        between = between.max(*compared.get_mut());
        assert!(between <= SORTED_AT_ONCE * 18, "{between} comparisons without a question");
        for end in [1, asked / 2, asked] {
            let mut left = end;
            let go_on = || {
                left -= 1;
                if left == 0 { Err("told") } else { Ok(()) }
            };
            let ended = sort_in_pieces(values(len as u64, u64::MAX), Ord::cmp, go_on);
            assert_eq!(ended.err(), Some("told"));
        }
    }
}
