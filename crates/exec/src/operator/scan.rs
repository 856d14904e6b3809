//! Scans a stored relation, or the range of it that a condition leaves, once for each batch.
//!
//! `choose.rs` makes this operator where no key is bound.

use crate::batch_size::{BATCH_ROWS, CHUNK_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::operator::pairs::Pairs;
use crate::pipeline::{Bounds, Operator, Pipeline, PreparedStep};
use crate::sink::Out;
use crate::storage::access_path::StoredPath;
use crate::storage::probe_keys::ProbeKeys;
use crate::storage::relation_source::StoredRelation;
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use base::KeyRange;
use plan::{Duplicates, LOOK_UP_ROWS, OperatorName, Step};

/// Pairs of input and scanned rows that are made at a time, except for a single input row.
const PAIRS_MAX: usize = 8 * BATCH_ROWS;

/// As [`LOOK_UP_ROWS`], where the index has all columns: the relation itself would be read by all
/// threads.
const COVERED_ROWS: u64 = 2;

/// Rows of an index that are read without considering the relation's own order.
const FEW_FOUND: u64 = 8;

/// A scan that is joined with a batch.
pub(crate) struct Scan<'i> {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: Bindings,
    /// The relation.
    pub(crate) relation: &'i StoredRelation,
}

/// A range of a relation that is read for a batch.
pub(crate) struct ScannedRange<'s> {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: &'s Bindings,
    /// The order in which the relation is read.
    pub(crate) path: &'s StoredPath,
    /// The keys of that order.
    pub(crate) range: KeyRange,
    /// Rows that are read at a time.
    pub(crate) chunk_rows: usize,
}

impl Operator for Scan<'_> {
    const NAME: OperatorName = OperatorName::Scan;

    /// # Errors
    /// Those of the store, and what stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        pipeline.scan_stored(self.at, self.input, self.relation, context, out)
    }
}

impl Pipeline<'_> {
    /// Scans the relation, or a range of it, once for the batch, because no bound variable
    /// restricts it. Every row of the range is combined with every row of the batch.
    fn scan_stored(
        &mut self,
        at: usize,
        input: Bindings,
        relation: &StoredRelation,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Step::Stored { stored, checks, outputs, negated, .. } = &self.steps[at].planned.step
        else {
            return Ok(true);
        };
        let once = *negated || (outputs.is_empty() && self.is_set());
        if !self.spend(context.plan.infos[*stored].rows) {
            return Ok(false);
        }
        let scanned = match (at, &self.part) {
            // Parts are ranges of the relation's primary key.
            (0, Some(part)) => Some((&relation.paths[0], part.clone())),
            _ => self.scanned(at, relation, context)?,
        };
        let Some((path, range)) = scanned else { return Ok(true) };
        let wanted: Vec<usize> = outputs.iter().chain(checks).map(|(column, _)| *column).collect();
        let is_covered = path.covers(&wanted);
        let chunk_rows = (BATCH_ROWS / input.rows).clamp(64, CHUNK_ROWS);
        let range = ScannedRange { at, input: &input, path, range, chunk_rows };
        if is_covered
            && input.rows == 1
            && !once
            && let Some(late_materialization) =
                self.late_materialization(at, path, &input, &context.computer(), &*out)
        {
            self.note_operator(at, OperatorName::LateMaterialize);
            return self.scan_late_materialized(range, late_materialization, context, out);
        }
        let main = if is_covered { None } else { Some(&relation.paths[0]) };
        let (any, wants_more) = self.join_range(range, main, &wanted, context, out)?;
        if once && checks.is_empty() && any != *negated {
            return self.hand_on(at, input.keep(&self.steps[at].planned.live), context, out);
        }
        Ok(wants_more)
    }

    /// Joins a range with its batch. The `wanted` columns are looked up in `main`, if the range
    /// lacks some. Returns whether there was a row, and whether more are wanted.
    fn join_range(
        &mut self,
        scan: ScannedRange<'_>,
        main: Option<&StoredPath>,
        wanted: &[usize],
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<(bool, Wanted)> {
        let ScannedRange { at, input, path, range, chunk_rows } = scan;
        let planned = self.steps[at].planned;
        let Step::Stored { checks, outputs, negated, .. } = &planned.step else {
            return Ok((false, true));
        };
        let is_set = self.is_set();
        let once = *negated || (outputs.is_empty() && is_set);
        let asked = ProbeKeys::new(&planned.step, input, None, context.plan);
        let (scanned_columns, not_compared) = match main {
            Some(main) => ((0..main.schema.keys.len()).collect(), Vec::new()),
            None => (wanted.to_vec(), self.not_compared_columns(at)),
        };
        let (read, interner) = (context.read, context.interner);
        let (mut any, mut wants_more) = (false, true);
        let mark = self.mark(context);
        let mut visit = |mut found: Columns| {
            if let Some(main) = main {
                let keys: Vec<&[Cell]> = found.columns.iter().map(Vec::as_slice).collect();
                let mut there = Vec::with_capacity(found.rows);
                found = main.probe(read, &keys, found.rows, wanted, interner, &mut there)?;
            }
            any |= found.rows > 0;
            if once && checks.is_empty() {
                return Ok(false);
            }
            if planned.may_duplicate && is_set {
                // In the order of the keys, rows that are asked for in part are often
                // equal to the one before.
                found.dedup();
            }
            wants_more = match input.rows == 1 && checks.is_empty() {
                true => self.hand_on_scanned(at, input, found, context, out)?,
                false => self.hand_on_pairs(at, input, &found, &asked, context, out)?,
            };
            self.handed_on(mark.as_ref(), context, out);
            Ok::<bool, Error>(wants_more)
        };
        path.scan_not_comparing(
            read,
            range,
            &scanned_columns,
            &not_compared,
            chunk_rows,
            interner,
            &mut visit,
        )?;
        Ok((any, wants_more))
    }

    /// Pairs all input rows with all scanned rows, in pieces.
    fn hand_on_pairs(
        &mut self,
        at: usize,
        input: &Bindings,
        found: &Columns,
        asked: &ProbeKeys<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let rows_at_once = (PAIRS_MAX / found.rows.max(1)).max(1);
        for start in (0..input.rows).step_by(rows_at_once) {
            let some = start..input.rows.min(start + rows_at_once);
            let pairs = some.len() * found.rows;
            let mut rows = Vec::with_capacity(pairs);
            let mut places = Vec::with_capacity(pairs);
            for row in some {
                rows.extend(std::iter::repeat_n(row as u32, found.rows));
                places.extend(0..found.rows as u32);
            }
            let (rows, places) = (&rows, &places);
            let pairs = Pairs { rows, places, found, asked };
            if !self.check_and_hand_on(at, input, &pairs, context, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Columns of a step's relation whose values are never compared.
    pub(crate) fn not_compared_columns(&self, at: usize) -> Vec<usize> {
        let Step::Stored { outputs, .. } = &self.steps[at].planned.step else { return Vec::new() };
        let not_compared = outputs.iter().filter(|(_, var)| self.hints.not_compared.contains(var));
        not_compared.map(|(column, _)| *column).collect()
    }

    /// Hands on all rows of a scan, for the one row that came in.
    fn hand_on_scanned(
        &mut self,
        at: usize,
        input: &Bindings,
        found: Columns,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { outputs, .. } = &planned.step else { return Ok(true) };
        if outputs.is_empty() && self.duplicates == Duplicates::Weigh {
            let weights = vec![input.weight(0).saturating_mul(found.rows as u64)];
            let output = input.gather_weighted(&[0], weights, &planned.live);
            return self.hand_on(at, output, context, out);
        }
        let vars = outputs.iter().map(|(_, var)| *var);
        self.hand_on(at, input.with_found(vars, found, &planned.live), context, out)
    }

    /// Keeps the pairs whose other bound columns match, and passes them on.
    pub(crate) fn check_and_hand_on(
        &mut self,
        at: usize,
        input: &Bindings,
        pairs: &Pairs<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { checks, outputs, .. } = &planned.step else { return Ok(true) };
        let Pairs { rows, places, found, asked } = *pairs;
        let make = |rows: &[u32], places: &[u32]| {
            let mut output = input.gather(rows, &planned.live);
            for (i, (_, var)) in outputs.iter().enumerate() {
                if planned.live.contains(var) {
                    let column = &found.columns[i];
                    output.columns[*var] =
                        places.iter().map(|&place| column[place as usize]).collect();
                }
            }
            output
        };
        if checks.is_empty() {
            let output = make(rows, places);
            return self.hand_on(at, output, context, out);
        }
        let kept: (Vec<u32>, Vec<u32>) = rows
            .iter()
            .zip(places)
            .filter(|&(&row, &place)| asked.agree(row, found, outputs.len(), place as usize))
            .unzip();
        let output = make(&kept.0, &kept.1);
        self.hand_on(at, output, context, out)
    }

    /// The order and key range in which a step without bound columns reads its relation; `None`
    /// where there can be no row.
    ///
    /// An index that lacks columns costs a lookup in the relation for each of its rows, so the
    /// primary order may be better. The index is taken if its range is estimated to hold
    /// sufficiently fewer rows.
    pub(crate) fn scanned<'r>(
        &self,
        at: usize,
        relation: &'r StoredRelation,
        context: &ExecContext<'_>,
    ) -> Result<Option<(&'r StoredPath, KeyRange)>> {
        let PreparedStep { planned, range, own_range, .. } = &self.steps[at];
        let Step::Stored { path, outputs, checks, .. } = &planned.step else { return Ok(None) };
        let narrowed = |path: &StoredPath, bounds: &Bounds| {
            let mut keys = path.prefix(&[], context.interner)?;
            bounds.narrow(&mut keys, &[], path, context.interner);
            Some(keys)
        };
        let (main, path) = (&relation.paths[0], &relation.paths[*path]);
        let Some(keys) = narrowed(path, range) else { return Ok(None) };
        if path.keyspace == main.keyspace {
            return Ok(Some((path, keys)));
        }
        let Some(own) = narrowed(main, own_range) else { return Ok(None) };
        let columns: Vec<usize> = outputs.iter().chain(checks).map(|(column, _)| *column).collect();
        let factor = if path.covers(&columns) { COVERED_ROWS } else { LOOK_UP_ROWS };
        let found = context.read.estimate(path.keyspace, &keys)?.rows;
        if found > FEW_FOUND
            && found.saturating_mul(factor) > context.read.estimate(main.keyspace, &own)?.rows
        {
            return Ok(Some((main, own)));
        }
        Ok(Some((path, keys)))
    }
}
