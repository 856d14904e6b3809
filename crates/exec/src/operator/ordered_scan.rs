//! Reads a stored relation in the order of the result, until the first rows are found.
//!
//! The plan names it where an order of keys is that of `:order` and the query has a `:limit`, or
//! where an aggregate needs only the least or the greatest value.
//!
//! # How
//! Rows are read a few at a time, and passed through the rest of the pipeline before more are read.
//! Filters after the scan are evaluated before columns are fetched that the path lacks. When the
//! output has enough rows, the rest of those that are equal in the order's columns follows: other
//! columns decide which of them come first.
//!
//! # Invariants
//! 1. The rows that are not read come after those that the output has, in the query's order.
//! 2. It runs in a trial only (`fixpoint/in_order.rs`): it gives up where sorting is cheaper.

use crate::batch_size::{BATCH_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::operator::trie_build;
use crate::pipeline::{Operator, Pipeline};
use crate::sink::Out;
use crate::storage::access_path::StoredPath;
use crate::storage::ordered_rows::{OrderedRead, OrderedRows, Piece};
use crate::storage::probe_keys::ProbeKeys;
use crate::storage::relation_source::StoredRelation;
use crate::value::cell::Cell;
use crate::value::columns::gather;
use base::{Batch, KeyRange, Projection};
use plan::{LOOK_UP_ROWS, OperatorName, RowOrder, SEEK_ROWS, Step, Ties, VarId};

/// Rows that are read without asking whether sorting is cheaper.
pub(crate) const ROWS_FREE: u64 = 256;

/// A scan in order counts toward a trie if it read more than the relation's rows divided by this.
const LONG_PART: u64 = 16;

/// Most rows that are read first.
const FIRST_ROWS_MAX: usize = 1024;

/// Ranges whose rows are estimated; others are taken to have as many.
const RANGES_ESTIMATED: usize = 4;

/// Rows up to which a range is counted, where there are several.
const ROWS_COUNTED: u64 = 1024;

/// Equal rows after which the first of them are looked for at their other end.
const TIES_FEW: usize = 32;

/// A trial may read the rows that sorting would, divided by this.
const SPENT_PART: f64 = 4.0;

/// A trial may read this many times the rows that it is expected to read.
const EXPECTED_TIMES: f64 = 4.0;

/// A scan in order that is joined with a batch.
pub(crate) struct OrderedScan<'i> {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: &'i Bindings,
    /// The relation.
    pub(crate) relation: &'i StoredRelation,
    /// See [`Pipeline::rows_in_trie`].
    pub(crate) in_trie: Option<u64>,
}

/// How the columns of a relation are read.
struct ColumnReads {
    /// Columns that the scan reads.
    scanned: Vec<usize>,
    /// Variables that it binds, with their indexes in `scanned`.
    bound: Vec<(usize, VarId)>,
    /// Bound columns that it compares, with their indexes in `scanned`.
    checks: Vec<(usize, VarId)>,
    /// Indexes in `scanned` of the columns by which rows are ordered.
    order: Vec<usize>,
    /// Number of filters that are evaluated before the rest is fetched.
    filters: usize,
    /// Indexes in `scanned` of the relation's key, if a rest is fetched.
    key: Vec<usize>,
    /// Columns that are fetched by key.
    fetched: Vec<usize>,
    /// Variables that they bind, with their indexes in `fetched`.
    fetched_bound: Vec<(usize, VarId)>,
    /// Bound columns that are compared after they were fetched.
    fetched_checks: Vec<(usize, VarId)>,
}

impl Operator for OrderedScan<'_> {
    const NAME: OperatorName = OperatorName::OrderedScan;

    /// # Errors
    /// Those of the store, and what stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Self { at, input, relation, in_trie } = self;
        let planned = pipeline.steps[at].planned;
        let (Step::Stored { stored, path, .. }, Some(order)) = (&planned.step, planned.row_order)
        else {
            return Ok(true);
        };
        let path = &relation.paths[*path];
        let reads = pipeline.column_reads(at, relation, path, order);
        let some =
            pipeline.ordered_ranges(at, input, input.rows.min(RANGES_ESTIMATED), path, context)?;
        let sorting_rows = match in_trie {
            Some(rows) => Some(rows as f64),
            None => pipeline.sorting_rows(at, input, relation, order, context)?,
        };
        let sorting_rows = sorting_rows.or(order.sorting_rows);
        let order = RowOrder { sorting_rows, ..order };
        if !pipeline.is_order_cheaper(order, &some, input.rows, path, &reads, context)? {
            pipeline.give_up();
            return Ok(false);
        }
        let ranges = match input.rows {
            0..=RANGES_ESTIMATED => some,
            all => pipeline.ordered_ranges(at, input, all, path, context)?,
        };
        let expected = (pipeline.first_rows as f64 / order.kept).min(FIRST_ROWS_MAX as f64);
        let piece_rows = (expected as usize).max(1);
        let chunk_rows =
            (piece_rows / ranges.len().max(1)).max(1) + usize::from(order.ties != Ties::InOrder);
        let read = OrderedRead {
            path,
            wanted: reads.scanned.clone(),
            order: reads.order.clone(),
            backwards: order.backwards,
        };
        let rows = OrderedRows::new(read, context.read, context.interner, ranges, chunk_rows)?;
        let mut scan =
            PassOn { at, input, relation, reads: &reads, rows, piece_rows, read_rows: 0 };
        let goes_on = scan.first_rows(order, path, pipeline, context, out)?;
        let read_rows = scan.read_rows;
        if read_rows > ROWS_FREE.max(context.plan.infos[*stored].rows / LONG_PART) {
            pipeline.rows_in_trie(at, input, read_rows, context)?;
        }
        Ok(goes_on)
    }
}

impl Pipeline<'_> {
    /// The ranges of keys that the first `rows` of a batch ask for, with the numbers of the rows.
    fn ordered_ranges(
        &self,
        at: usize,
        input: &Bindings,
        rows: usize,
        path: &StoredPath,
        context: &ExecContext<'_>,
    ) -> Result<Vec<(u32, KeyRange)>> {
        let Step::Stored { prefix, .. } = &self.steps[at].planned.step else {
            return Ok(Vec::new());
        };
        let mut ranges = Vec::with_capacity(rows);
        for row in 0..rows {
            let cells: Vec<Cell> = prefix.iter().map(|&var| input.columns[var][row]).collect();
            if let Some(mut keys) = path.prefix(&cells, context.interner) {
                self.steps[at].range.narrow(&mut keys, &cells, path, context.interner);
                ranges.push((row as u32, keys));
            }
        }
        context.check(0)?;
        Ok(ranges)
    }

    /// Whether reading `count` ranges in order is estimated to read fewer rows than the plan that
    /// sorts, judged by `some` of the ranges. If so, sets how many rows it may read.
    fn is_order_cheaper(
        &mut self,
        order: RowOrder,
        some: &[(u32, KeyRange)],
        count: usize,
        path: &StoredPath,
        reads: &ColumnReads,
        context: &ExecContext<'_>,
    ) -> Result<bool> {
        if some.is_empty() && count <= RANGES_ESTIMATED {
            return Ok(true);
        }
        let mut all = 0;
        for (_, keys) in some {
            all += match count {
                1 => context.read.estimate(path.keyspace, keys)?.rows,
                _ => rows_of(path, keys, ROWS_COUNTED, context)?,
            };
        }
        let all = all as f64 * count as f64 / some.len().max(1) as f64;
        let look_up = LOOK_UP_ROWS as f64;
        let row_cost = if reads.fetched.is_empty() { 1.0 } else { 1.0 + look_up };
        let seeks = if count > 1 { count as f64 * SEEK_ROWS as f64 } else { 0.0 };
        let expected = (self.first_rows as f64 / order.kept).min(all) * row_cost + seeks;
        // The plan that sorts can do without ranges: it looks all prefixes up together.
        let together = all * order.sorting_row_cost + (count - 1) as f64 * look_up;
        let sorting = match order.sorting_rows {
            Some(rows) if count == 1 => rows,
            Some(rows) => rows.min(together),
            None => together,
        };
        let is_little = order.sorting_lookup.is_some() && sorting < ROWS_FREE as f64;
        if is_little || expected > sorting.max(ROWS_FREE as f64) {
            return Ok(false);
        }
        let may_read = (sorting / SPENT_PART).max(expected * EXPECTED_TIMES).max(ROWS_FREE as f64);
        self.rows_left = Some((may_read as i64).saturating_mul(2));
        Ok(true)
    }

    /// The rows that the plan that sorts finds in a trie for the bound columns of one input row, if
    /// there is such a trie or this is the time to build it. Reading in order scans the relation
    /// for them. `read` is the number of rows that were read so without the trie.
    ///
    /// # Errors
    /// Those of the store, and what stops the query.
    pub(crate) fn rows_in_trie(
        &self,
        at: usize,
        input: &Bindings,
        read: u64,
        context: &ExecContext<'_>,
    ) -> Result<Option<u64>> {
        let planned = self.steps[at].planned;
        let Step::Stored { stored, prefix, checks, outputs, .. } = &planned.step else {
            return Ok(None);
        };
        if input.rows != 1 || !prefix.is_empty() || checks.is_empty() {
            return Ok(None);
        }
        let keys = ProbeKeys::new(&planned.step, input, None, context.plan);
        let outputs: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        let wanted = trie_build::Wanted {
            stored: *stored,
            bound: &keys.columns,
            next: None,
            outputs: &outputs,
            keys: (read / trie_build::ROWS_A_LOOK_UP / 2) as usize,
            is_needed: false,
        };
        let Some((trie, _)) = context.trie(&wanted)? else { return Ok(None) };
        let key = keys.cells.iter().map(|column| column[0]);
        Ok(Some(trie.find(key).len() as u64))
    }

    /// The cost of the rows that the sorting plan looks up, if it looks up other keys. A few are
    /// counted.
    fn sorting_rows(
        &self,
        at: usize,
        input: &Bindings,
        relation: &StoredRelation,
        order: RowOrder,
        context: &ExecContext<'_>,
    ) -> Result<Option<f64>> {
        let (Some((path, bound)), Step::Stored { stored, path: own, prefix, checks, .. }) =
            (order.sorting_lookup, &self.steps[at].planned.step)
        else {
            return Ok(None);
        };
        let paths = &context.plan.infos[*stored].paths;
        let in_prefix = paths[*own].keys.iter().copied().zip(prefix.iter().copied());
        let known: Vec<(usize, VarId)> = in_prefix.chain(checks.iter().copied()).collect();
        let cell = |column: &usize| {
            let (_, var) = known.iter().find(|(known, _)| known == column)?;
            Some(input.columns[*var][0])
        };
        let keys = &paths[path].keys[..bound];
        let Some(cells) = keys.iter().map(cell).collect::<Option<Vec<Cell>>>() else {
            return Ok(None);
        };
        let path = &relation.paths[path];
        let Some(mut keys) = path.prefix(&cells, context.interner) else { return Ok(Some(0.0)) };
        self.steps[at].own_range.narrow(&mut keys, &cells, path, context.interner);
        let rows = rows_of(path, &keys, ROWS_FREE, context)?;
        if rows < ROWS_FREE {
            return Ok(Some(rows as f64));
        }
        Ok(Some(rows as f64 * order.sorting_row_cost))
    }

    /// How the columns of an ordered scan are read.
    fn column_reads(
        &self,
        at: usize,
        relation: &StoredRelation,
        path: &StoredPath,
        order: RowOrder,
    ) -> ColumnReads {
        let mut reads = ColumnReads {
            scanned: Vec::new(),
            bound: Vec::new(),
            checks: Vec::new(),
            order: Vec::new(),
            filters: 0,
            key: Vec::new(),
            fetched: Vec::new(),
            fetched_bound: Vec::new(),
            fetched_checks: Vec::new(),
        };
        let Step::Stored { prefix, checks, outputs, .. } = &self.steps[at].planned.step else {
            return reads;
        };
        let is_there = |(column, _): &&(usize, VarId)| path.covers(&[*column]);
        let later = || outputs.iter().filter(|one| !is_there(one));
        if checks.iter().all(|one| is_there(&one)) {
            let unread: Vec<VarId> = later().map(|(_, var)| *var).collect();
            reads.filters = self.early_filters(at, &unread);
        }
        let asked = self.asked_by_filters(at, reads.filters);
        let is_filtered = reads.filters > 0 || !checks.is_empty();
        for &(column, var) in outputs {
            let is_first = !is_filtered || asked.contains(&var) || !path.is_costly(column);
            match path.covers(&[column]) && is_first {
                true => reads.bound.push((place(&mut reads.scanned, column), var)),
                false => reads.fetched_bound.push((place(&mut reads.fetched, column), var)),
            }
        }
        for &(column, var) in checks {
            match path.covers(&[column]) {
                true => reads.checks.push((place(&mut reads.scanned, column), var)),
                false => reads.fetched_checks.push((place(&mut reads.fetched, column), var)),
            }
        }
        let ordered = &path.columns[prefix.len()..prefix.len() + order.columns];
        reads.order = ordered.iter().map(|&column| place(&mut reads.scanned, column)).collect();
        if !reads.fetched.is_empty() {
            let keys = 0..relation.paths[0].keys();
            reads.key = keys.map(|column| place(&mut reads.scanned, column)).collect();
        }
        reads
    }

    /// Number of filters right after a step that do not read these variables.
    fn early_filters(&self, at: usize, unread: &[VarId]) -> usize {
        let is_plain =
            |at: usize| self.steps[at].seen.is_none() && self.steps[at].pre_aggregation.is_none();
        if !is_plain(at) {
            return 0;
        }
        let filters = (at + 1..self.steps.len()).take_while(|&step| {
            let Step::Filter(expr) = &self.steps[step].planned.step else { return false };
            is_plain(step) && !unread.iter().any(|&var| expr.has_var(var))
        });
        filters.count()
    }

    /// Variables that the first filters after a step read.
    fn asked_by_filters(&self, at: usize, filters: usize) -> Vec<VarId> {
        let mut asked = Vec::new();
        for ready in &self.steps[at + 1..=at + filters] {
            if let Step::Filter(expr) = &ready.planned.step {
                expr.each_var(&mut |var| asked.push(var));
            }
        }
        asked
    }
}

/// The rows of a range: counted if they are fewer than `counted`, estimated otherwise. An estimate
/// is off by the rows of a block.
fn rows_of(
    path: &StoredPath,
    keys: &KeyRange,
    counted: u64,
    context: &ExecContext<'_>,
) -> Result<u64> {
    let mut found = Batch::new(&path.shape);
    let (limit, nothing) = (counted as usize, Projection::COUNT);
    context.read.scan_into(path.keyspace, keys, nothing, limit, &mut found)?;
    Ok(match found.rows < limit {
        true => found.rows as u64,
        false => context.read.estimate(path.keyspace, keys)?.rows.max(counted),
    })
}

/// The index of a column in a list, to which it is added if it is missing.
fn place(columns: &mut Vec<usize>, column: usize) -> usize {
    columns.iter().position(|known| *known == column).unwrap_or_else(|| {
        columns.push(column);
        columns.len() - 1
    })
}

/// Passes the rows of a scan to the next steps.
struct PassOn<'s> {
    at: usize,
    input: &'s Bindings,
    relation: &'s StoredRelation,
    reads: &'s ColumnReads,
    rows: OrderedRows<'s>,
    /// Rows that are passed on next.
    piece_rows: usize,
    /// Rows that were read.
    read_rows: u64,
}

impl<'s> PassOn<'s> {
    /// Passes on rows until the output has the first ones. Returns false if it gives up.
    fn first_rows(
        &mut self,
        order: RowOrder,
        path: &'s StoredPath,
        pipeline: &mut Pipeline<'_>,
        context: &'s ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let wanted = pipeline.first_rows;
        let before = out.rows();
        while out.rows() - before < wanted {
            let piece = self.rows.next(self.piece_rows)?;
            if piece.found.rows == 0 {
                return Ok(true);
            }
            if !self.pass_on(piece, pipeline, context, out)? {
                return Ok(false);
            }
        }
        if order.ties == Ties::InOrder {
            return Ok(true);
        }
        let mut equal = 0;
        while order.ties == Ties::Unordered || equal < TIES_FEW {
            let rows_max = if order.ties == Ties::Reversed { TIES_FEW } else { self.piece_rows };
            let piece = self.rows.next_equal(rows_max)?;
            if piece.found.rows == 0 {
                return Ok(true);
            }
            equal += piece.found.rows;
            if !self.pass_on(piece, pipeline, context, out)? {
                return Ok(false);
            }
        }
        self.first_of_equals(path, pipeline, context, out)
    }

    /// Passes on the first of the rows that are equal to the last one, which are read in the other
    /// direction. There is one range of keys.
    fn first_of_equals(
        &mut self,
        path: &'s StoredPath,
        pipeline: &mut Pipeline<'_>,
        context: &'s ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Step::Stored { prefix, .. } = &pipeline.steps[self.at].planned.step else {
            return Ok(true);
        };
        let mut key: Vec<Cell> = prefix.iter().map(|&var| self.input.columns[var][0]).collect();
        key.extend_from_slice(self.rows.last());
        let Some(keys) = path.prefix(&key, context.interner) else { return Ok(true) };
        self.piece_rows = pipeline.first_rows.min(FIRST_ROWS_MAX);
        self.rows = self.rows.reversed(keys, self.piece_rows)?;
        let before = out.rows();
        while out.rows() - before < pipeline.first_rows {
            let piece = self.rows.next(self.piece_rows)?;
            if piece.found.rows == 0 {
                break;
            }
            if !self.pass_on(piece, pipeline, context, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes on the rows of a piece that satisfy the first filters, with all columns.
    fn pass_on(
        &mut self,
        piece: Piece,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let (at, reads) = (self.at, self.reads);
        self.piece_rows = (2 * self.piece_rows).min(BATCH_ROWS);
        context.check(0)?;
        let read_rows = self.rows.take_read_rows();
        self.read_rows += read_rows;
        if !pipeline.spend(read_rows) {
            return Ok(false);
        }
        let (mut rows, mut picked) = self.bindings(&piece, pipeline);
        let computer = context.computer();
        for step in at + 1..=at + reads.filters {
            let ready = &pipeline.steps[step];
            let (batches, all) = (1, rows.rows as u64);
            if let (Some(expr), 1..) = (&ready.expr, all) {
                let kept = computer.select(expr, &rows, ready.planned.span)?;
                if kept.len() < rows.rows {
                    picked = gather(&picked, &kept);
                }
                rows = rows.gather(&kept, &ready.planned.live);
            }
            if let Some(clock) = &mut pipeline.clock {
                clock.note_fused(step, OperatorName::Filter, batches, all);
            }
        }
        if rows.rows == 0 {
            return Ok(true);
        }
        if !reads.fetched.is_empty() {
            let more = LOOK_UP_ROWS * rows.rows as u64;
            if !pipeline.spend(more) {
                return Ok(false);
            }
            rows = self.fetch(rows, &piece, &picked, pipeline, context)?;
        }
        pipeline.hand_on(at + reads.filters, rows, context, out)
    }

    /// The rows of a piece whose bound columns match, as bindings, and their numbers.
    fn bindings(&self, piece: &Piece, pipeline: &Pipeline<'_>) -> (Bindings, Vec<u32>) {
        let Self { at, input, reads, .. } = self;
        let Piece { ranges, found } = piece;
        let is_match = |row: &u32| {
            reads.checks.iter().all(|&(column, var)| {
                let input_row = ranges[*row as usize] as usize;
                found.columns[column][*row as usize] == input.columns[var][input_row]
            })
        };
        let picked: Vec<u32> = (0..found.rows as u32).filter(is_match).collect();
        let of = gather(ranges, &picked);
        let live = &pipeline.steps[*at].planned.live;
        let mut rows = input.gather(&of, live);
        for &(column, var) in &reads.bound {
            if live.contains(&var) {
                rows.columns[var] = gather(&found.columns[column], &picked);
            }
        }
        (rows, picked)
    }

    /// Adds the columns that are fetched by key.
    fn fetch(
        &self,
        mut rows: Bindings,
        piece: &Piece,
        picked: &[u32],
        pipeline: &Pipeline<'_>,
        context: &ExecContext<'_>,
    ) -> Result<Bindings> {
        let Self { at, input, relation, reads, .. } = self;
        let live = &pipeline.steps[at + reads.filters].planned.live;
        let keys: Vec<Vec<Cell>> =
            reads.key.iter().map(|&column| gather(&piece.found.columns[column], picked)).collect();
        let keys: Vec<&[Cell]> = keys.iter().map(Vec::as_slice).collect();
        let mut there = Vec::with_capacity(rows.rows);
        let main = &relation.paths[0];
        let (read, interner) = (context.read, context.interner);
        let found = main.probe(read, &keys, rows.rows, &reads.fetched, interner, &mut there)?;
        let is_match = |&row: &usize| {
            reads.fetched_checks.iter().all(|&(column, var)| {
                let input_row = piece.ranges[picked[there[row] as usize] as usize] as usize;
                found.columns[column][row] == input.columns[var][input_row]
            })
        };
        let kept: Vec<u32> = (0..found.rows).filter(is_match).map(|row| row as u32).collect();
        rows = rows.gather(&gather(&there, &kept), live);
        for &(column, var) in &reads.fetched_bound {
            if live.contains(&var) {
                rows.columns[var] = gather(&found.columns[column], &kept);
            }
        }
        Ok(rows)
    }
}
