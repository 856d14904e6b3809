//! Operator: joins with a stored relation by a prefix of its key, a thousand keys per call, or one
//! key in pieces.
//!
//! `choose.rs` chooses this operator where a stored order begins with columns that are bound.
//!
//! # How much one call may find
//! The store answers a call completely, and the limits are not checked meanwhile. So before a call
//! that might find much, the operator estimates the rows of some of its keys, from data that the
//! store has in memory, and looks up fewer keys at a time if that is too much. In a relation with
//! more rows than one call may find, a single key might find too much: ranges of several keys are
//! estimated and halved until those keys are found. Their rows are read as a scan.
//!
//! Estimates cost as much as lookups. So one key in a hundred is estimated, and none if even all
//! rows for each key would fit, or if the relation is small compared with the memory limit. No
//! range is estimated where the store knows that no first word of a key has too many rows. (Without
//! these two exceptions, hops over a graph took 1.2 to 2 times as long.)

use crate::batch_size::{BATCH_ROWS, CHUNK_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::operator::pairs::Pairs;
use crate::pipeline::sweep::batch_bytes;
use crate::pipeline::{CHECKED_ROWS, Operator, Pipeline};
use crate::sink::Out;
use crate::storage::access_path::{SHORT_ROWS, StoredPath};
use crate::storage::probe_keys::ProbeKeys;
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use base::KeyRange;
use plan::{LOOK_UP_ROWS, OperatorName};
use std::ops::Range;
use store::Estimate;

/// Rows of a batch that are looked up at a time.
const PROBE_ROWS: usize = 1024;

/// One key in this many is estimated.
const KEYS_A_SAMPLE: usize = 128;

/// Bytes of memory per stored byte, where columns are more than words: stored bytes are compressed.
const BYTES_A_BYTE: u64 = 4;

/// One call may find the memory limit divided by this.
const MEMORY_SHARE: u64 = 16;

/// Bounds of the bytes that one call may find. The largest calls take some hundredths of a second.
const CALL_BYTES: (u64, u64) = (1 << 20, 32 << 20);

/// A call's bytes are not estimated for a relation smaller than the memory limit divided by this.
const SMALL_SHARE: u64 = 8;

/// Whole keys that are looked up without estimating the length of their rows.
const FEW_WHOLE: usize = 2;

/// Most keys whose lookup considers how many rows are enough.
const FEW_KEYS: usize = 4;

/// Rows that may be read at a time, as a multiple of those that are enough.
const ENOUGH_TIMES: usize = 4;

/// Rows of a call that become pairs at a time.
const PIECE_ROWS: usize = 8 * BATCH_ROWS;

/// A join by the begin of a key.
pub(crate) struct IndexJoin<'j> {
    /// The step.
    pub(crate) at: usize,
    /// The input rows.
    pub(crate) input: &'j Bindings,
    /// The key columns and their values.
    pub(crate) asked: &'j ProbeKeys<'j>,
    /// The relation's primary order, which has the columns that `path` lacks.
    pub(crate) main: &'j StoredPath,
    /// The order that is read.
    pub(crate) path: &'j StoredPath,
    /// Rows of the relation at planning time.
    pub(crate) rows_planned: u64,
    /// Columns of the relation to read.
    pub(crate) wanted: &'j [usize],
    /// Whether the key column after the bound ones has bounds.
    pub(crate) has_range: bool,
    /// Whether only the existence of a row matters.
    pub(crate) once: bool,
    /// Whether there must be no row.
    pub(crate) negated: bool,
}

impl IndexJoin<'_> {
    /// The keys that begin with the values of a row; `None` where no stored row can match.
    pub(crate) fn range(&self, row: usize, context: &ExecContext<'_>) -> Option<KeyRange> {
        self.path.prefix(&self.prefix(row), context.interner)
    }

    pub(crate) fn prefix(&self, row: usize) -> Vec<Cell> {
        self.asked.cells[..self.asked.prefix].iter().map(|column| column[row]).collect()
    }

    /// Columns to read from the order: only its keys, if the rest is looked up in the relation.
    pub(crate) fn columns(&self) -> Vec<usize> {
        match self.path.covers(self.wanted) {
            true => self.wanted.to_vec(),
            false => (0..self.main.schema.keys.len()).collect(),
        }
    }

    /// Whether all key columns are bound, so that a key finds at most one row.
    pub(crate) fn is_whole(&self) -> bool {
        self.asked.prefix == self.path.keys()
    }
}

/// How much one call may find.
struct Room {
    rows: u64,
    /// Bytes as stored, where columns are more than words.
    stored_bytes: u64,
}

/// Bytes of a row with this many words: as read, as cells, and the number of its input row.
fn row_bytes(columns: usize) -> u64 {
    16 * columns as u64 + 8
}

impl Room {
    pub(crate) fn holds(&self, found: Estimate, times: u64) -> bool {
        found.rows.saturating_mul(times) <= self.rows
            && found.bytes.saturating_mul(times) <= self.stored_bytes
    }

    /// How many of `keys` keys to look up at a time if `samples` of them find `sum`: all, half, a
    /// quarter, …, at least one.
    pub(crate) fn fitting(&self, sum: Estimate, samples: usize, keys: usize) -> usize {
        let mut fits = keys;
        while fits > 1 && !self.holds(sum, fits.div_ceil(samples) as u64) {
            fits /= 2;
        }
        fits
    }
}

/// How many of the first of these rows one call looks up, by the estimates of some of their keys.
fn fitting_by_sample(
    join: &IndexJoin<'_>,
    rows: Range<usize>,
    room: &Room,
    context: &ExecContext<'_>,
) -> Result<usize> {
    let keys = rows.len();
    let samples = (keys / KEYS_A_SAMPLE).max(1);
    let mut sum = Estimate::default();
    for sample in 0..samples {
        let row = rows.start + (2 * sample + 1) * keys / (2 * samples);
        if let Some(range) = join.range(row, context) {
            let found = context.read.estimate(join.path.keyspace, &range)?;
            sum.rows += found.rows;
            sum.bytes += found.bytes;
        }
    }
    Ok(room.fitting(sum, samples, keys))
}

impl Operator for IndexJoin<'_> {
    const NAME: OperatorName = OperatorName::IndexJoin;

    /// # Errors
    /// Those of the store, and what stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        pipeline.join_by_key(&self, context, out)
    }
}

impl Pipeline<'_> {
    /// Joins with the rows that begin with the bound values.
    fn join_by_key(
        &mut self,
        join: &IndexJoin<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[join.at].planned;
        let columns = join.columns();
        let mut is_found = vec![false; if join.once { join.input.rows } else { 0 }];
        let mut start = 0;
        let mark = self.mark(context);
        while start < join.input.rows {
            let mut end = (start + PROBE_ROWS).min(join.input.rows);
            if !self.spend((end - start) as u64 * LOOK_UP_ROWS) {
                return Ok(false);
            }
            let fits = match join.has_range {
                true => 0,
                false => self.fitting(join, &columns, start..end, context)?,
            };
            let wants_more = if fits == 0 {
                // Ranges are usually short, so their rows are collected.
                end = if join.has_range { end } else { start + 1 };
                self.read_in_pieces(join, &columns, start..end, &mut is_found, context, out)?
            } else {
                end = start + fits;
                let keys = join.asked.prefix_cells(start..end);
                let (read, interner) = (context.read, context.interner);
                let mut rows = Vec::new();
                let found =
                    join.path.probe(read, &keys, end - start, &columns, interner, &mut rows)?;
                rows.iter_mut().for_each(|row| *row += start as u32);
                self.take_found(join, &rows, &found, &mut is_found, context, out)?
            };
            if !wants_more {
                return Ok(false);
            }
            if join.once {
                let kept = (start..end).filter(|&row| is_found[row] != join.negated);
                let kept: Vec<u32> = kept.map(|row| row as u32).collect();
                let output = join.input.gather(&kept, &planned.live);
                if !self.hand_on(join.at, output, context, out)? {
                    return Ok(false);
                }
            }
            self.handed_on(mark.as_ref(), context, out);
            start = end;
        }
        Ok(true)
    }

    /// How many of the first of these rows one call looks up; zero if the first finds too much.
    pub(crate) fn fitting(
        &mut self,
        join: &IndexJoin<'_>,
        columns: &[usize],
        rows: Range<usize>,
        context: &ExecContext<'_>,
    ) -> Result<usize> {
        let keys = rows.len();
        let path = join.path;
        let is_costly = columns.iter().any(|&column| path.is_costly(column));
        if join.is_whole() && (!is_costly || keys <= FEW_WHOLE) {
            return Ok(keys);
        }
        let room = self.room(columns.len(), is_costly, keys, context);
        if !is_costly && room.holds(Estimate { rows: join.rows_planned, bytes: 0 }, 2 * keys as u64)
        {
            // A plan is cached for some seconds, in which the relation may have grown.
            return Ok(keys);
        }
        let planned = Estimate { rows: 2 * join.rows_planned, bytes: 0 };
        if !is_costly
            && (!self.is_enough_soon(keys) && self.is_small(columns.len(), false, planned, context)
                || self.longest(join, context)?.saturating_mul(keys as u64) <= room.rows)
        {
            return Ok(keys);
        }
        if keys == 1 {
            let Some(range) = join.range(rows.start, context) else { return Ok(1) };
            let found = context.read.estimate(path.keyspace, &range)?;
            return Ok(usize::from(room.holds(found, 1)));
        }
        let all = self.estimate_all(join, context)?;
        if !self.is_enough_soon(keys) && self.is_small(columns.len(), is_costly, all, context) {
            return Ok(keys);
        }
        if join.is_whole() {
            let mean = Estimate { rows: 1, bytes: all.bytes / all.rows.max(1) };
            return Ok(room.fitting(mean, 1, keys));
        }
        if room.holds(all, keys as u64) {
            return Ok(keys);
        }
        let fits = fitting_by_sample(join, rows.clone(), &room, context)?;
        if room.holds(all, 1) || !is_costly && self.longest(join, context)? <= room.rows {
            return Ok(fits);
        }
        let mut ranges: Vec<(KeyRange, usize)> = (0..fits)
            .filter_map(|row| Some((join.range(rows.start + row, context)?, row)))
            .collect();
        ranges.sort_by(|(a, _), (b, _)| a.lower.cmp(&b.lower));
        let mut first_long = fits;
        find_long(path, &ranges, &room, context, &mut first_long)?;
        Ok(first_long)
    }

    /// Estimated size of the whole order that is read.
    fn estimate_all(
        &mut self,
        join: &IndexJoin<'_>,
        context: &ExecContext<'_>,
    ) -> Result<Estimate> {
        match self.steps[join.at].all {
            Some(all) => Ok(all),
            None => {
                let all = context.read.estimate(join.path.keyspace, &join.path.all())?;
                Ok(*self.steps[join.at].all.insert(all))
            }
        }
    }

    /// Whether the keys are so few that the rows that are enough may come from them.
    fn is_enough_soon(&self, keys: usize) -> bool {
        keys <= FEW_KEYS && self.enough != usize::MAX
    }

    /// Whether all rows of a relation fit the memory of a query, so that no call finds too much.
    pub(crate) fn is_small(
        &self,
        columns: usize,
        is_costly: bool,
        all: Estimate,
        context: &ExecContext<'_>,
    ) -> bool {
        let bytes = match is_costly {
            true => all.bytes.saturating_mul(BYTES_A_BYTE),
            false => all.rows.saturating_mul(row_bytes(columns)),
        };
        bytes <= context.limits.memory_bytes_max() / SMALL_SHARE
    }

    /// How much one key finds at most.
    pub(crate) fn longest(
        &mut self,
        join: &IndexJoin<'_>,
        context: &ExecContext<'_>,
    ) -> Result<u64> {
        match self.steps[join.at].longest {
            Some(longest) => Ok(longest),
            None => {
                let longest = context.read.first_word_rows_max(join.path.keyspace)?;
                Ok(*self.steps[join.at].longest.insert(longest))
            }
        }
    }

    /// How much one call may find, with this many columns.
    fn room(
        &self,
        columns: usize,
        is_costly: bool,
        keys: usize,
        context: &ExecContext<'_>,
    ) -> Room {
        let (least, most) = CALL_BYTES;
        let bytes = (context.limits.memory_bytes_max() / MEMORY_SHARE).clamp(least, most);
        let mut rows = bytes / row_bytes(columns);
        if self.is_enough_soon(keys) {
            let enough = self.enough.max(SHORT_ROWS).saturating_mul(ENOUGH_TIMES);
            rows = rows.min(enough as u64);
        }
        Room { rows, stored_bytes: if is_costly { bytes / BYTES_A_BYTE } else { u64::MAX } }
    }

    /// Reads the rows of these keys as a scan does, and passes them on in pieces.
    fn read_in_pieces(
        &mut self,
        join: &IndexJoin<'_>,
        columns: &[usize],
        rows: Range<usize>,
        is_found: &mut [bool],
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let mut piece_rows = self.batch_rows.max(SHORT_ROWS);
        let (mut found, mut of) = (Columns::of(columns.len()), Vec::new());
        let (mark, bytes_max) = (self.mark(context), batch_bytes(context));
        let mut full_bytes = context.interner.bytes().saturating_add(bytes_max);
        let mut wants_more = true;
        for row in rows {
            let Some(mut range) = join.range(row, context) else { continue };
            let (read, interner) = (context.read, context.interner);
            if join.has_range {
                let bounds = &self.steps[join.at].range;
                bounds.narrow(&mut range, &join.prefix(row), join.path, interner);
            }
            let chunk_rows = piece_rows.min(CHUNK_ROWS);
            join.path.scan(read, range, columns, chunk_rows, interner, &mut |more| {
                of.extend(std::iter::repeat_n(row as u32, more.rows));
                found.append(more);
                if found.rows < piece_rows && interner.bytes() < full_bytes {
                    return Ok(true);
                }
                piece_rows = (2 * piece_rows).min(BATCH_ROWS);
                let (of, found) = (
                    std::mem::take(&mut of),
                    std::mem::replace(&mut found, Columns::of(columns.len())),
                );
                wants_more = self.take_found(join, &of, &found, is_found, context, out)?;
                self.handed_on(mark.as_ref(), context, out);
                full_bytes = interner.bytes().saturating_add(bytes_max);
                Ok::<bool, crate::error::Error>(wants_more && !(join.once && is_found[row]))
            })?;
            if !wants_more {
                return Ok(false);
            }
        }
        self.take_found(join, &of, &found, is_found, context, out)
    }

    /// Takes the rows found for the input rows `of`, and looks up the columns that the order lacks.
    fn take_found(
        &mut self,
        join: &IndexJoin<'_>,
        of: &[u32],
        found: &Columns,
        is_found: &mut [bool],
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        if join.path.covers(join.wanted) {
            return self.take_whole(join, of, found, is_found, context, out);
        }
        for start in (0..found.rows).step_by(PROBE_ROWS) {
            let end = found.rows.min(start + PROBE_ROWS);
            let keys: Vec<&[Cell]> = found.columns.iter().map(|cells| &cells[start..end]).collect();
            let mut there = Vec::with_capacity(end - start);
            let (read, interner, wanted) = (context.read, context.interner, join.wanted);
            let full = join.main.probe(read, &keys, end - start, wanted, interner, &mut there)?;
            let of: Vec<u32> = there.iter().map(|&place| of[start + place as usize]).collect();
            if !self.take_whole(join, &of, &full, is_found, context, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes rows with all columns.
    fn take_whole(
        &mut self,
        join: &IndexJoin<'_>,
        of: &[u32],
        found: &Columns,
        is_found: &mut [bool],
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        if found.rows >= CHECKED_ROWS {
            context.check(found.bytes() + size_of_val(of) as u64)?;
        }
        if join.once {
            let outputs = join.wanted.len() - (join.asked.cells.len() - join.asked.prefix);
            for (place, &row) in of.iter().enumerate() {
                let is_found = &mut is_found[row as usize];
                *is_found = *is_found || join.asked.agree(row, found, outputs, place);
            }
            return Ok(true);
        }
        let mut start = 0;
        // Runs once even without rows: the step is then told that nothing was found.
        loop {
            let end = of.len().min(start + PIECE_ROWS);
            let places: Vec<u32> = (start as u32..end as u32).collect();
            let pairs = Pairs { rows: &of[start..end], places: &places, found, asked: join.asked };
            if !self.check_and_hand_on(join.at, join.input, &pairs, context, out)? {
                return Ok(false);
            }
            start = end;
            if start == of.len() {
                return Ok(true);
            }
        }
    }
}

/// Lowers `first_long` to the first row whose range holds more than one call may find. `ranges` are
/// ascending.
fn find_long(
    path: &StoredPath,
    ranges: &[(KeyRange, usize)],
    room: &Room,
    context: &ExecContext<'_>,
    first_long: &mut usize,
) -> Result<()> {
    let ([(first, row), ..], [.., (last, _)]) = (ranges, ranges) else { return Ok(()) };
    let range = KeyRange { lower: first.lower.clone(), upper: last.upper.clone() };
    let found = context.read.estimate(path.keyspace, &range)?;
    if room.holds(found, 1) {
        return Ok(());
    }
    // Equal ranges are adjacent, in the order of their rows.
    if first.lower == last.lower {
        *first_long = (*row).min(*first_long);
        return Ok(());
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    find_long(path, low, room, context, first_long)?;
    find_long(path, high, room, context, first_long)
}
