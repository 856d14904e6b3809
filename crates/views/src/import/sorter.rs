//! Sorts buckets one after the other, each in the processor's cache.
//!
//! # Why keys include their position
//! The sorted items are words: the pair relative to the bucket's bounds and, if rows have weights,
//! the row's position in the low bits. Positions ascend, so a stable radix sort of the pair's bits
//! keeps the input order of equal pairs, moves one word a row, and finds the weights afterwards.

use super::progress::Counters;
use super::rows::{Pair, Pairs, Rows, Scattered, Span, WeightWords, mask, shl, shr};
use super::spill::RunFile;
use super::splitters::{Bounds, Splitters};
use base::{Batch, Column, Keys};
use env::Env;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use store::Result;

/// Maximum bits of a radix digit: counters of 16 KiB fit the L1 cache beside the streams.
const DIGIT_BITS_MAX: u32 = 12;

/// Fewer rows are sorted by comparison, since clearing the counters would cost more.
const RADIX_ROWS_MIN: usize = 512;

/// All rows in one direction, scattered into buckets.
pub(super) struct Direction {
    pub(super) splitters: Splitters,
    /// Sorted runs on disk, from earlier input.
    pub(super) runs: Vec<Arc<RunFile>>,
    /// Rows in memory, from later input, in input order.
    pub(super) pieces: Vec<Scattered>,
    /// Spans of the first ends and of the second ends, over all rows.
    pub(super) spans: [Span; 2],
    /// Number of rows in memory for each bucket.
    pub(super) counts: Vec<u64>,
    pub(super) weighted: bool,
    pub(super) counters: Arc<Counters>,
    /// Number of rows dropped because their pair occurs again.
    pub(super) repeated: AtomicU64,
}

/// The rows of a direction before they are scattered. Spans cover all rows, runs included.
pub(super) struct Unscattered {
    pub(super) runs: Vec<Arc<RunFile>>,
    pub(super) pieces: Vec<Rows>,
    pub(super) spans: [Span; 2],
    pub(super) weighted: bool,
    /// Target number of rows in a bucket.
    pub(super) bucket_rows: u64,
}

impl Direction {
    /// Chooses splitters and scatters the pieces by them, in parallel. `flip` swaps the ends of the
    /// pieces; runs and spans are in this direction already.
    pub(super) fn new(
        env: &dyn Env,
        from: Unscattered,
        flip: bool,
        counters: &Arc<Counters>,
    ) -> Result<Self> {
        let Unscattered { runs, pieces, spans, weighted, bucket_rows } = from;
        let mut samples = Vec::new();
        pieces.iter().for_each(|piece| piece.sample(&mut samples));
        if flip {
            samples.iter_mut().for_each(|((a, b), _)| std::mem::swap(a, b));
        }
        runs.iter().for_each(|run| run.sample(&mut samples));
        let rows: u64 = samples.iter().map(|(_, rows)| rows).sum();
        let buckets = usize::try_from(rows / bucket_rows.max(1)).unwrap_or(usize::MAX);
        let splitters = Arc::new(Splitters::choose(samples, buckets.max(1)));
        let shared = (Arc::clone(&splitters), Arc::clone(counters));
        let scattered = env::parallel(env, pieces, move |piece| {
            let (splitters, counters) = &shared;
            counters.check()?;
            Ok(piece.scatter(flip, splitters))
        });
        let pieces = scattered.into_iter().collect::<Result<Vec<_>>>()?;
        let mut counts = vec![0; splitters.buckets()];
        for piece in &pieces {
            for (bucket, count) in counts.iter_mut().enumerate() {
                *count += piece.bucket(bucket).len() as u64;
            }
        }
        let splitters = Arc::unwrap_or_clone(splitters);
        let (counters, repeated) = (Arc::clone(counters), AtomicU64::new(0));
        Ok(Self { splitters, runs, pieces, spans, counts, weighted, counters, repeated })
    }

    /// At most `parts` ranges of buckets with about equal numbers of rows; empty without rows.
    pub(super) fn parts(&self, parts: usize, rows_min: u64) -> Vec<Range<usize>> {
        let mut counts = self.counts.clone();
        if !self.runs.is_empty() {
            for (bucket, count) in counts.iter_mut().enumerate() {
                let bounds = self.splitters.bounds(bucket);
                *count += self.runs.iter().map(|run| run.rows_about(bounds)).sum::<u64>();
            }
        }
        let rows: u64 = counts.iter().sum();
        let share = rows.div_ceil(parts.max(1) as u64).max(rows_min).max(1);
        let mut ranges = Vec::new();
        let (mut from, mut held) = (0, 0);
        for (bucket, count) in counts.iter().enumerate() {
            held += count;
            if held >= share {
                ranges.push(from..bucket + 1);
                (from, held) = (bucket + 1, 0);
            }
        }
        if from < counts.len() && (held > 0 || (ranges.is_empty() && rows > 0)) {
            ranges.push(from..counts.len());
        }
        ranges
    }

    /// Takes the rows of the pieces, for the other direction.
    pub(super) fn into_pieces(self) -> Vec<Rows> {
        self.pieces.into_iter().map(|piece| piece.rows).collect()
    }
}

/// Memory for sorting a bucket, reused for the next.
#[derive(Default)]
pub(super) struct Sorter {
    keys: Vec<u64>,
    spare: Vec<u64>,
    weights: Vec<u64>,
    wide: Vec<(u128, u32)>,
    run_rows: RunRows,
}

/// Rows decoded from runs.
#[derive(Default)]
pub(super) struct RunRows {
    pub(super) pairs: Vec<Pair>,
    pub(super) weights: Vec<u64>,
    pub(super) bytes: Vec<u8>,
}

/// Source of the rows of a bucket.
struct Gather<'a> {
    direction: &'a Direction,
    bucket: usize,
    /// The base that is subtracted from both ends.
    base: Pair,
    second_bits: u32,
    first_bits: u32,
}

impl Sorter {
    /// Appends the distinct rows of a bucket to `out`, sorted. Returns the number of rows before
    /// repeated pairs were dropped.
    pub(super) fn sort(
        &mut self,
        direction: &Direction,
        bucket: usize,
        out: &mut Batch,
    ) -> Result<u64> {
        let bounds = direction.splitters.bounds(bucket);
        self.run_rows.pairs.clear();
        self.run_rows.weights.clear();
        for run in &direction.runs {
            run.read(bounds, direction.weighted, &mut self.run_rows)?;
        }
        let rows = self.run_rows.pairs.len() as u64 + direction.counts[bucket];
        if rows == 0 {
            return Ok(0);
        }
        let before = out.rows;
        if bounds.is_one_pair() {
            self.one_pair(direction, bucket, bounds, out);
        } else {
            let gather = Gather::new(direction, bucket, bounds);
            self.many_pairs(&gather, rows as usize, out);
        }
        out.rows = out_len(out);
        let distinct = (out.rows - before) as u64;
        Counters::add(&direction.repeated, rows - distinct);
        Counters::add(&direction.counters.rows_sorted, rows);
        Ok(rows)
    }

    /// For a bucket of one pair: the last row wins.
    fn one_pair(&self, direction: &Direction, bucket: usize, bounds: Bounds, out: &mut Batch) {
        let mut weight = self.run_rows.weights.last().copied().unwrap_or_default();
        for piece in &direction.pieces {
            if let Some(last) = piece.bucket(bucket).last() {
                weight = match &piece.rows.weights {
                    WeightWords::None => 0,
                    WeightWords::Constant(word) => *word,
                    WeightWords::Words(words) => words[last],
                };
            }
        }
        let (first, second) = out_keys(out);
        first.push(bounds.lower.0);
        second.push(bounds.lower.1);
        if let Some(weights) = out_weights(out) {
            weights.push(weight);
        }
    }

    fn many_pairs(&mut self, gather: &Gather<'_>, rows: usize, out: &mut Batch) {
        let constant = gather.constant_weight(&self.run_rows);
        let single = !gather.direction.weighted || constant.is_some();
        let index_bits = if single { 0 } else { usize::BITS - (rows - 1).leading_zeros() };
        let key_bits = gather.first_bits + gather.second_bits;
        if !single {
            gather.weights(&self.run_rows, &mut self.weights);
        }
        let before = out_len(out);
        if key_bits + index_bits <= u64::BITS {
            gather.keys(&self.run_rows, index_bits, &mut self.keys);
            radix_sort(&mut self.keys, &mut self.spare, index_bits, key_bits);
            self.unpack(gather, index_bits, single, out);
        } else {
            gather.wide_keys(&self.run_rows, &mut self.wide);
            self.wide.sort_unstable();
            self.unpack_wide(gather, single, out);
        }
        let added = out_len(out) - before;
        if let (Some(word), Some(weights)) = (constant, out_weights(out)) {
            weights.resize(weights.len() + added, word);
        }
    }

    /// Unpacks sorted keys; of equal pairs the last one stays.
    fn unpack(&mut self, gather: &Gather<'_>, index_bits: u32, single: bool, out: &mut Batch) {
        let keys = &mut self.keys;
        let repeats = keys.windows(2).filter(|w| shr(w[0] ^ w[1], index_bits) == 0).count();
        if repeats > 0 {
            let mut kept = 0;
            for i in 0..keys.len() {
                let key = keys[i];
                let last = keys.get(i + 1).is_none_or(|next| shr(next ^ key, index_bits) != 0);
                keys[kept] = key;
                kept += usize::from(last);
            }
            keys.truncate(kept);
        }
        let (base, low) = (gather.base, mask(gather.second_bits));
        let (first, second) = out_keys(out);
        let shift = gather.second_bits + index_bits;
        first.extend(keys.iter().map(|&key| base.0 + shr(key, shift)));
        second.extend(keys.iter().map(|&key| base.1 + (shr(key, index_bits) & low)));
        let index = mask(index_bits);
        // Not decided by `index_bits`: for a single row they are 0 although it has a weight.
        if let (false, Some(weights)) = (single, out_weights(out)) {
            weights.extend(keys.iter().map(|&key| self.weights[(key & index) as usize]));
        }
    }

    fn unpack_wide(&self, gather: &Gather<'_>, single: bool, out: &mut Batch) {
        let (base, bits) = (gather.base, gather.second_bits);
        let low = (1_u128 << bits) - 1;
        let is_last = |i: usize| self.wide.get(i + 1).is_none_or(|next| next.0 != self.wide[i].0);
        let kept = || (0..self.wide.len()).filter(|&i| is_last(i)).map(|i| self.wide[i]);
        let (first, second) = out_keys(out);
        first.extend(kept().map(|(key, _)| base.0 + (key >> bits) as u64));
        second.extend(kept().map(|(key, _)| base.1 + (key & low) as u64));
        if let (false, Some(weights)) = (single, out_weights(out)) {
            weights.extend(kept().map(|(_, index)| self.weights[index as usize]));
        }
    }
}

impl<'a> Gather<'a> {
    fn new(direction: &'a Direction, bucket: usize, bounds: Bounds) -> Self {
        let [first, second] = direction.spans;
        let lower = bounds.lower.0.max(first.min);
        let upper = bounds.upper.map_or(first.max, |upper| upper.0.min(first.max));
        let first_bits = Span { min: lower, max: upper }.bits();
        let base = (lower, second.min);
        Self { direction, bucket, base, second_bits: second.bits(), first_bits }
    }

    fn pieces(&self) -> impl Iterator<Item = (&'a Rows, Range<usize>)> {
        let bucket = self.bucket;
        let all =
            self.direction.pieces.iter().map(move |piece| (&piece.rows, piece.bucket(bucket)));
        all.filter(|(_, range)| !range.is_empty())
    }

    /// The weight of all rows, if they have one and it is the same.
    fn constant_weight(&self, runs: &RunRows) -> Option<u64> {
        let mut constant = None;
        if let Some((first, rest)) = runs.weights.split_first() {
            if rest.iter().any(|word| word != first) {
                return None;
            }
            constant = Some(*first);
        }
        for (rows, _) in self.pieces() {
            match (&rows.weights, constant) {
                (WeightWords::Constant(word), None) => constant = Some(*word),
                (WeightWords::Constant(word), Some(constant)) if *word == constant => {}
                _ => return None,
            }
        }
        constant
    }

    fn weights(&self, runs: &RunRows, out: &mut Vec<u64>) {
        out.clear();
        out.extend_from_slice(&runs.weights);
        for (rows, range) in self.pieces() {
            match &rows.weights {
                WeightWords::None => {}
                WeightWords::Constant(word) => out.resize(out.len() + range.len(), *word),
                WeightWords::Words(words) => out.extend_from_slice(&words[range]),
            }
        }
    }

    fn keys(&self, runs: &RunRows, index_bits: u32, out: &mut Vec<u64>) {
        out.clear();
        let (base, bits) = (self.base, self.second_bits);
        let key = |(a, b): Pair| shl(a - base.0, bits) | (b - base.1);
        out.extend(runs.pairs.iter().map(|&pair| key(pair)));
        for (rows, range) in self.pieces() {
            match &rows.pairs {
                Pairs::Packed { base, second_bits, words } => {
                    let (from, low) = (*second_bits, mask(*second_bits));
                    let add = key_of(*base, self.base, bits);
                    out.extend(words[range].iter().map(|&word| {
                        shl(shr(word, from), bits).wrapping_add(word & low).wrapping_add(add)
                    }));
                }
                Pairs::Wide(pairs) => out.extend(pairs[range].iter().map(|&pair| key(pair))),
            }
        }
        if index_bits > 0 {
            for (i, key) in out.iter_mut().enumerate() {
                *key = shl(*key, index_bits) | i as u64;
            }
        }
    }

    fn wide_keys(&self, runs: &RunRows, out: &mut Vec<(u128, u32)>) {
        out.clear();
        let (base, bits) = (self.base, self.second_bits);
        let key = |(a, b): Pair| u128::from(a - base.0) << bits | u128::from(b - base.1);
        out.extend(runs.pairs.iter().map(|&pair| (key(pair), 0)));
        for (rows, range) in self.pieces() {
            match &rows.pairs {
                Pairs::Packed { base, second_bits, words } => out.extend(
                    words[range]
                        .iter()
                        .map(|&word| (key(super::rows::unpack(word, *base, *second_bits)), 0)),
                ),
                Pairs::Wide(pairs) => out.extend(pairs[range].iter().map(|&pair| (key(pair), 0))),
            }
        }
        for (i, (_, index)) in out.iter_mut().enumerate() {
            *index = i as u32;
        }
    }
}

/// The difference between a piece's base and the bucket's, as a key. It may wrap around; only its
/// sum with a key is meaningful.
fn key_of(piece: Pair, bucket: Pair, bits: u32) -> u64 {
    let first = shl(piece.0.wrapping_sub(bucket.0), bits);
    first.wrapping_add(piece.1.wrapping_sub(bucket.1))
}

fn out_len(out: &Batch) -> usize {
    out.key_words(0).len()
}

fn out_keys(out: &mut Batch) -> (&mut Vec<u64>, &mut Vec<u64>) {
    match &mut out.keys {
        Keys::Words(columns) => match columns.as_mut_slice() {
            [first, second] => (first, second),
            _ => unreachable!("edges have keys of two words"),
        },
        Keys::Bytes(_) => unreachable!("edges have keys of words"),
    }
}

fn out_weights(out: &mut Batch) -> Option<&mut Vec<u64>> {
    match out.values.first_mut() {
        Some(Column::Words(column)) => Some(&mut column.words),
        _ => None,
    }
}

/// Stable radix sort by `bits` bits from bit `from` on. The bits below `from` must ascend among
/// equal keys, and those above must be zero.
fn radix_sort(keys: &mut Vec<u64>, spare: &mut Vec<u64>, from: u32, bits: u32) {
    if keys.len() < RADIX_ROWS_MIN {
        // Whole words sort the same way, since the position is below the pair.
        keys.sort_unstable();
        return;
    }
    let passes = bits.div_ceil(DIGIT_BITS_MAX).max(1);
    let width = bits.div_ceil(passes);
    spare.resize(keys.len(), 0);
    let mut counts = [0_u32; 1 << DIGIT_BITS_MAX];
    let low = mask(width) as usize & ((1 << DIGIT_BITS_MAX) - 1);
    for pass in 0..passes {
        let shift = from + pass * width;
        let counts = &mut counts[..=low];
        counts.fill(0);
        for &key in keys.iter() {
            counts[(key >> shift) as usize & low] += 1;
        }
        if counts.iter().any(|&count| count as usize == keys.len()) {
            continue;
        }
        let mut at = 0;
        for count in counts.iter_mut() {
            at += std::mem::replace(count, at);
        }
        for &key in keys.iter() {
            let start = &mut counts[(key >> shift) as usize & low];
            spare[*start as usize] = key;
            *start += 1;
        }
        std::mem::swap(keys, spare);
    }
}

/// Sorts pairs by first and second end, then by second and first, in parallel, and drops repeated
/// pairs, as an import does. Returns a checksum and the number of rows for each direction. For the
/// benchmark `examples/sort_speed.rs`; an import streams the rows to a store instead.
#[must_use]
pub fn sort_pairs(
    env: &Arc<dyn Env>,
    pieces: Vec<(Vec<u64>, Vec<u64>)>,
    mut lap: impl FnMut(&str),
) -> [(u64, u64); 2] {
    let counters = Arc::<Counters>::default();
    let mut spans = [Span::EMPTY; 2];
    let packed =
        env::parallel(&**env, pieces, |(src, dst)| Rows::pack(&src, &dst, WeightWords::None));
    let pieces: Vec<_> = packed
        .into_iter()
        .map(|(rows, [first, second])| {
            spans = [spans[0].union(first), spans[1].union(second)];
            rows
        })
        .collect();
    lap("pack");
    let mut pieces = Some(pieces);
    let mut results = [(0, 0); 2];
    for (flip, result) in [false, true].into_iter().zip(&mut results) {
        if flip {
            spans.swap(0, 1);
        }
        let from = Unscattered {
            runs: Vec::new(),
            pieces: pieces.take().unwrap_or_default(),
            spans,
            weighted: false,
            bucket_rows: super::run::BUCKET_ROWS,
        };
        let Ok(direction) = Direction::new(&**env, from, flip, &counters) else { return results };
        lap("scatter");
        let direction = Arc::new(direction);
        let parts = direction.parts(8 * env.parallelism(), 1);
        let items = parts.into_iter().map(|buckets| (Arc::clone(&direction), buckets)).collect();
        let sums = env::parallel(&**env, items, |(direction, buckets)| {
            let mut sorter = Sorter::default();
            let keys = Keys::Words(vec![Vec::new(), Vec::new()]);
            let mut out = Batch { rows: 0, keys, values: Vec::new() };
            let (mut sum, mut rows) = (0_u64, 0);
            for bucket in buckets {
                out.clear();
                if sorter.sort(&direction, bucket, &mut out).is_ok() {
                    let first = out.key_words(0).iter().fold(0, |sum: u64, &w| sum.wrapping_add(w));
                    sum = sum.wrapping_add(first);
                    rows += out.rows as u64;
                }
            }
            (sum, rows)
        });
        lap("sort");
        *result = sums.into_iter().fold((0, 0), |a, b| (a.0.wrapping_add(b.0), a.1 + b.1));
        pieces = Arc::into_inner(direction).map(Direction::into_pieces);
    }
    results
}
