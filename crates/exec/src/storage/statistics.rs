//! Statistics of stored relations, by which the planner orders joins.
//!
//! # Sampling
//! Rows of each order of a relation are sampled uniformly. For each prefix of its key, the rows
//! that share a sampled row's prefix are counted. The mean of the inverse counts gives the number
//! of distinct prefixes, because a row is sampled with a chance proportional to its group. The mean
//! of the counts is what a join by a column of the same distribution finds, the second frequency
//! moment divided by the rows (Alon, Matias and Szegedy, *The space complexity of approximating the
//! frequency moments*, STOC 1996; by sampling as in Haas, Naughton, Seshadri and Swami,
//! *Selectivity and cost estimation for joins based on random sampling*, JCSS 1996). For each
//! column, the share of sampled pairs with equal values is counted.
//!
//! # Which snapshot
//! The newest one, whatever snapshot the query reads: a transaction is validated by the
//! reads of its queries, not by the statistics of their plans. If the query sees many more or fewer
//! rows than there are, because its own transaction changed them, there are no statistics.
//!
//! # How long they are valid
//! Until the number of rows has changed by a quarter, or for a minute. Sampling costs some hundred
//! lookups, and counting some thousand rows: too much for each new query text.

use crate::bounded_map::keep;
use crate::storage::access_path::{StoredPath, words_to_draw_by};
use crate::storage::relation_source::StoredRelation;
use base::{Batch, Column, KeyRange, Keys, KeyspaceId, Projection};
use env::Env;
use env::sync::Mutex;
use hashbrown::HashMap;
use model::Type;
use plan::PrefixStatistics;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use store::{ErrorKind, Read, Result};

/// Rows to sample.
const SAMPLE_ROWS: usize = 64;

/// Smaller relations are not sampled. The limit must not be larger: without statistics, a thousand
/// rows joined by a one-column key are estimated to find 32 rows each, and four such joins a
/// million.
const SAMPLED_MIN: u64 = 64;

/// Rows of a group that are counted exactly. The store's estimates are wrong by some thousand rows,
/// which does not matter for larger groups.
const COUNTED_MAX: usize = 16 << 10;

/// Rows that are counted exactly for all groups of a sample. That takes some milliseconds, during
/// which the limits are not checked.
const COUNTED_ALL_MAX: usize = 128 << 10;

/// Longest key prefix with statistics. A longer prefix is taken to find as many rows as this one,
/// which is an upper bound.
const PREFIX_COLUMNS_MAX: usize = 16;

/// Microseconds for which statistics are valid.
const AGE_US: u64 = 60_000_000;

/// Statistics of one order of a relation.
#[derive(Debug, Default)]
pub struct PathStatistics {
    /// For each proper prefix of the key, as far as known.
    pub prefixes: Vec<PrefixStatistics>,
    /// For each column of the path, the probability that two rows have the same value, if known.
    pub repeat_rates: Vec<Option<f64>>,
}

/// Cached statistics, by keyspace.
pub struct Statistics {
    sampled_min: AtomicU64,
    kept: Mutex<HashMap<KeyspaceId, CachedStatistics>>,
}

impl Default for Statistics {
    fn default() -> Self {
        Self { sampled_min: AtomicU64::new(SAMPLED_MIN), kept: Mutex::default() }
    }
}

struct CachedStatistics {
    rows: u64,
    made_us: u64,
    found: Arc<PathStatistics>,
}

impl CachedStatistics {
    fn holds(&self, rows: u64, now_us: u64) -> bool {
        are_about(self.rows, rows) && now_us.saturating_sub(self.made_us) < AGE_US
    }
}

/// Whether the number of rows has changed by at most a quarter.
fn are_about(before: u64, rows: u64) -> bool {
    (before - before / 4..=before + before / 4).contains(&rows)
}

impl Statistics {
    /// Sets the number of rows from which on relations are sampled.
    pub fn set_sampled_min(&self, rows: u64) {
        self.sampled_min.store(rows, Relaxed);
    }

    /// The statistics of each path of a relation with about this many rows.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of(
        &self,
        relation: &StoredRelation,
        rows: u64,
        newest: &dyn Read,
        env: &dyn Env,
    ) -> Result<Vec<Arc<PathStatistics>>> {
        let is_small = rows < self.sampled_min.load(Relaxed);
        let mut found = Vec::with_capacity(relation.paths.len());
        for (number, path) in relation.paths.iter().enumerate() {
            found.push(match is_small {
                true => Arc::default(),
                false => self.of_path(path, number == 0, rows, newest, env)?,
            });
        }
        Ok(found)
    }

    fn of_path(
        &self,
        path: &StoredPath,
        is_own: bool,
        rows: u64,
        newest: &dyn Read,
        env: &dyn Env,
    ) -> Result<Arc<PathStatistics>> {
        let now_us = env.monotonic_us();
        if let Some(kept) = self.kept.lock().get(&path.keyspace)
            && kept.holds(rows, now_us)
        {
            return Ok(Arc::clone(&kept.found));
        }
        let about = match newest.estimate(path.keyspace, &path.all()) {
            Ok(about) => about,
            // Created by a transaction that has not committed: other snapshots do not have it.
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(Arc::default()),
            Err(error) => return Err(error),
        };
        let there = about.rows;
        if !are_about(there, rows) {
            return Ok(Arc::default());
        }
        let stored_bytes = about.bytes / there.max(1);
        let found = Arc::new(draw(path, is_own, there, stored_bytes, newest)?);
        let kept = CachedStatistics { rows: there, made_us: now_us, found: Arc::clone(&found) };
        let dropped = keep(&mut self.kept.lock(), path.keyspace, kept);
        drop(dropped);
        Ok(found)
    }
}

/// Stored bytes of a row from which on its strings may be long.
const LONG_STORED_BYTES: u64 = 256;

/// Most bytes of byte strings in a sample.
const LONG_SAMPLE_BYTES: u64 = 4 << 20;

/// Samples rows and computes statistics, of values only if `with_values`: those of other paths are
/// the same. `stored_bytes` per row tells whether strings may be long; those are not read.
fn draw(
    path: &StoredPath,
    with_values: bool,
    rows: u64,
    stored_bytes: u64,
    newest: &dyn Read,
) -> Result<PathStatistics> {
    let mut projection = short_columns(path, with_values);
    let mut drawn = SAMPLE_ROWS;
    if stored_bytes > LONG_STORED_BYTES {
        let bytes_max = LONG_SAMPLE_BYTES / SAMPLE_ROWS as u64;
        if path.mean_bytes(newest, projection, SAMPLE_ROWS)? > bytes_max {
            let is_word = |value: usize| path.schema.values[value].column_type.is_word();
            let words = (0..path.schema.values.len()).filter(|&value| is_word(value));
            projection.values &= words.fold(0, |all, value| all | 1 << value);
            let key_bytes = path.mean_bytes(newest, projection, SAMPLE_ROWS)?.max(1);
            drawn = drawn.min((LONG_SAMPLE_BYTES / key_bytes).max(1) as usize);
        }
    }
    let mut sample = Batch::new(&path.shape);
    // The sample is the same each time, so that a plan, and the rows that a `:limit` without an
    // order leaves, are the same for the same rows.
    let mut random = words_to_draw_by();
    newest.sample_into(path.keyspace, drawn, &mut random, projection, &mut sample)?;
    if sample.rows == 0 {
        return Ok(PathStatistics::default());
    }
    let ends = KeyEnds::of(path, &sample);
    let prefixes = prefix_statistics(path, &sample, &ends, rows, newest)?;
    let places = 0..path.schema.keys.len() + path.schema.values.len();
    let rates = places.map(|place| repeat_rate(path, &sample, &ends, place, projection, rows));
    Ok(PathStatistics { prefixes, repeat_rates: rates.collect() })
}

/// The keys, and of the values those that are mostly short.
fn short_columns(path: &StoredPath, with_values: bool) -> Projection {
    let mut projection = Projection { keys: Projection::ALL.keys, values: 0 };
    for (value, column) in path.schema.values.iter().enumerate() {
        let is_short = matches!(column.column_type, Type::String | Type::Uuid | Type::Decimal);
        if with_values && (is_short || column.column_type.is_word()) {
            projection.want_value(value);
        }
    }
    projection
}

/// Statistics of each prefix of the key, from the rows that share those of the sampled rows.
fn prefix_statistics(
    path: &StoredPath,
    sample: &Batch,
    ends: &KeyEnds,
    rows: u64,
    newest: &dyn Read,
) -> Result<Vec<PrefixStatistics>> {
    let keys = path.schema.keys.len();
    let mut prefixes = Vec::new();
    let mut counted_rows = 0;
    for columns in 1..keys.min(PREFIX_COLUMNS_MAX + 1) {
        let mut counts = BTreeMap::new();
        let (mut inverse, mut sum) = (0.0, 0.0);
        for row in 0..sample.rows {
            let Some(range) = ends.prefix(sample, row, columns) else { break };
            let count = match counts.get(&range.lower) {
                Some(&count) => count,
                None => {
                    let count = count_of(path, &range, newest, &mut counted_rows)?;
                    counts.insert(range.lower, count);
                    count
                }
            };
            inverse += 1.0 / count;
            sum += count;
        }
        let drawn = sample.rows as f64;
        prefixes.push(PrefixStatistics {
            values: (rows as f64 * inverse / drawn).max(1.0),
            rows_met: (sum / drawn).max(1.0),
        });
    }
    if let Some(&last) = prefixes.last() {
        prefixes.resize(keys - 1, last);
    }
    Ok(prefixes)
}

/// Rows of a range that contains a sampled row, so at least one. Adds rows that are counted exactly
/// to `counted_rows`.
fn count_of(
    path: &StoredPath,
    range: &KeyRange,
    newest: &dyn Read,
    counted_rows: &mut usize,
) -> Result<f64> {
    let about = newest.estimate(path.keyspace, range)?.rows.max(1);
    let most = COUNTED_MAX.min(COUNTED_ALL_MAX - *counted_rows);
    if about >= most as u64 {
        return Ok(about as f64);
    }
    let mut counted = Batch::new(&path.shape);
    newest.scan_into(path.keyspace, range, Projection::COUNT, most, &mut counted)?;
    *counted_rows += counted.rows;
    Ok(match counted.rows < most {
        true => counted.rows.max(1) as f64,
        false => about.max(most as u64) as f64,
    })
}

/// The probability that two rows have the same value in a column; `None` where it was not read.
fn repeat_rate(
    path: &StoredPath,
    sample: &Batch,
    ends: &KeyEnds,
    place: usize,
    projection: Projection,
    rows: u64,
) -> Option<f64> {
    /// A value of the column, as stored.
    #[derive(PartialEq, Eq, Hash)]
    enum Part<'b> {
        Null,
        Word(u64),
        Bytes(&'b [u8]),
    }
    let keys = path.schema.keys.len();
    let mut parts: HashMap<Part<'_>, u64> = HashMap::new();
    for row in 0..sample.rows {
        let part = match place.checked_sub(keys) {
            None => match &sample.keys {
                Keys::Words(words) => Part::Word(words[place][row]),
                Keys::Bytes(bytes) => Part::Bytes(ends.part(bytes.get(row), row, place)?),
            },
            Some(value) if !projection.value(value) => return None,
            Some(value) => match &sample.values[value] {
                Column::Words(words) => words.get(row).map_or(Part::Null, Part::Word),
                Column::Bytes(bytes) => match bytes.validity.is_valid(row) {
                    true => Part::Bytes(bytes.get(row)),
                    false => Part::Null,
                },
            },
        };
        *parts.entry(part).or_default() += 1;
    }
    let drawn = sample.rows as u64;
    let pairs = (drawn * drawn.saturating_sub(1) / 2).max(1) as f64;
    let same: u64 = parts.values().map(|&count| count * (count - 1) / 2).sum();
    Some(match same {
        // The true rate is below one in as many pairs, and at least one in as many as there are
        // rows: the geometric mean of both.
        0 => (1.0 / (pairs * rows.max(1) as f64)).sqrt().min(1.0 / pairs),
        _ => same as f64 / pairs,
    })
}

/// Where the columns of byte-string keys end.
struct KeyEnds {
    /// Of each row; empty where keys are words.
    ends: Vec<Vec<usize>>,
}

impl KeyEnds {
    fn of(path: &StoredPath, sample: &Batch) -> Self {
        let Keys::Bytes(keys) = &sample.keys else { return Self { ends: Vec::new() } };
        let ends = (0..sample.rows).map(|row| {
            let key = keys.get(row);
            if path.has_raw_keys {
                return vec![key.len()];
            }
            let (mut rest, mut ends) = (key, Vec::new());
            while !rest.is_empty() && model::decode_value(&mut rest).is_ok() {
                ends.push(key.len() - rest.len());
            }
            ends
        });
        Self { ends: ends.collect() }
    }

    /// A column of a row's key; `None` where the key does not match its schema. A reader reports
    /// that.
    fn part<'k>(&self, key: &'k [u8], row: usize, column: usize) -> Option<&'k [u8]> {
        let ends = &self.ends[row];
        let begin = if column == 0 { 0 } else { *ends.get(column - 1)? };
        key.get(begin..*ends.get(column)?)
    }

    /// The range of a row's first columns; `None` as in [`KeyEnds::part`].
    fn prefix(&self, sample: &Batch, row: usize, columns: usize) -> Option<KeyRange> {
        match &sample.keys {
            Keys::Words(words) => {
                let prefix: Vec<u64> = words[..columns].iter().map(|column| column[row]).collect();
                Some(KeyRange::prefix_words(&prefix))
            }
            Keys::Bytes(keys) => {
                let end = *self.ends[row].get(columns - 1)?;
                Some(KeyRange::prefix_bytes(&keys.get(row)[..end]))
            }
        }
    }
}
