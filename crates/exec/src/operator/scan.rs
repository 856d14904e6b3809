//! Joins with stored relations: by key (`key_join.rs`); as of a time; or, where no stored order helps, with all rows, read once.

use crate::batch_size::CHUNK_ROWS;
use crate::batch_size::{BATCH_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::operator::index_join::KeyJoin;
use crate::operator::leapfrog_join::TrieJoin;
use crate::operator::pairs::Pairs;
use crate::pipeline::{Body, Bounds, Ready};
use crate::sink::Emit;
use crate::storage::access_path::StoredPath;
use crate::storage::probe_keys::StoredKeys;
use crate::storage::relation_source::{Readable, StoredRelation};
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use base::KeyRange;
use plan::{Duplicates, LOOK_UP_ROWS, Step};

/// Pairs of a row that came in and one that was found that are made at once, but for one row's.
const PAIRS_MAX: usize = 8 * BATCH_ROWS;

/// As [`LOOK_UP_ROWS`], where the index has all columns: the relation is read by all threads.
const COVERED_ROWS: u64 = 2;

/// Rows of an index that are read without a question whether there is a better way.
const FEW_FOUND: u64 = 8;

impl Body<'_> {
    pub(crate) fn join_stored(
        &mut self,
        at: usize,
        input: Bindings,
        context: &ExecContext<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored {
            stored, path, prefix, checks, outputs, negated, range, at: time, ..
        } = &planned.step
        else {
            return Ok(true);
        };
        let Readable::Stored(relation) = context.relation(*stored) else { return Ok(true) };
        if let (Some(expr), Some(_)) = (&self.steps[at].expr, time) {
            let times = context.times(expr, &input).map_err(|error| error.at(planned.span))?;
            return self.join_history(at, &input, &relation, &times, context, emit);
        }
        if let Some(joins) = self.joins_together(at, &input, context)? {
            return self.join_together(at, &input, &joins, context, emit);
        }
        if self.is_given_up() {
            return Ok(false);
        }
        if let Some(join) = self.trie_join(at, &input, None, context)? {
            return self.join_trie(at, &input, &join, context, emit);
        }
        if self.is_given_up() {
            return Ok(false);
        }
        let asked = StoredKeys::new(&planned.step, &input, None, context.plan);
        let stored_path = &relation.paths[*path];
        let mut wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        wanted.extend(checks.iter().map(|(column, _)| *column));
        let once = *negated || (outputs.is_empty() && self.is_set());
        if prefix.is_empty() {
            if !self.spend(context.plan.infos[*stored].rows) {
                return Ok(false);
            }
            // Nothing ties it to what is bound: every row of the range with every row of the batch.
            let scanned = match (at, &self.part) {
                // Parts are ranges of the relation's own keys.
                (0, Some(part)) => Some((&relation.paths[0], part.clone())),
                _ => self.scanned(at, &relation, context)?,
            };
            let Some((stored_path, key_range)) = scanned else { return Ok(true) };
            let main = &relation.paths[0];
            let main_keys: Vec<usize> = (0..main.schema.keys.len()).collect();
            let is_covered = stored_path.covers(&wanted);
            let scanned_columns = if is_covered { &wanted } else { &main_keys };
            let (read, interner, is_set) = (context.read, context.interner, self.is_set());
            let mut any = false;
            let mut wants_more = true;
            let chunk_rows = (BATCH_ROWS / input.rows).clamp(64, CHUNK_ROWS);
            let mark = self.mark(context);
            if is_covered
                && input.rows == 1
                && !once
                && let Some(early) = self.early(at, stored_path)
            {
                return self.scan_early(
                    at,
                    &input,
                    &early,
                    stored_path,
                    key_range,
                    chunk_rows,
                    context,
                    emit,
                );
            }
            let loose = if is_covered { self.loose_columns(at) } else { Vec::new() };
            let scan = |visit: &mut dyn FnMut(Columns) -> Result<Wanted>| {
                stored_path.scan_loosely(
                    read,
                    key_range,
                    scanned_columns,
                    &loose,
                    chunk_rows,
                    interner,
                    visit,
                )
            };
            scan(&mut |mut found| {
                if !is_covered {
                    let keys: Vec<&[Cell]> = found.columns.iter().map(Vec::as_slice).collect();
                    let mut there = Vec::with_capacity(found.rows);
                    found = main.probe(read, &keys, found.rows, &wanted, interner, &mut there)?;
                }
                any |= found.rows > 0;
                if once && checks.is_empty() {
                    return Ok(false);
                }
                if planned.finds_alike && is_set {
                    // In the order of the keys, rows of which a part of them is asked for are often equal to the one before.
                    found.dedup();
                }
                if input.rows == 1 && checks.is_empty() {
                    wants_more = self.hand_on_scanned(at, &input, found, context, emit)?;
                    self.handed_on(mark.as_ref(), context, emit);
                    return Ok(wants_more);
                }
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
                    let pairs = Pairs { rows, places, found: &found, asked: &asked };
                    wants_more = self.check_and_hand_on(at, &input, &pairs, context, emit)?;
                    if !wants_more {
                        break;
                    }
                }
                self.handed_on(mark.as_ref(), context, emit);
                Ok::<bool, Error>(wants_more)
            })?;
            if once && checks.is_empty() && any != *negated {
                return self.hand_on(at, input.keep(&planned.live), context, emit);
            }
            return Ok(wants_more);
        }
        let has_range = range.is_some() && prefix.len() < stored_path.schema.keys.len();
        let join = KeyJoin {
            at,
            input: &input,
            asked: &asked,
            main: &relation.paths[0],
            path: stored_path,
            rows_planned: context.plan.infos[*stored].rows,
            wanted: &wanted,
            has_range,
            once,
            negated: *negated,
        };
        self.join_by_key(&join, context, emit)
    }

    /// Columns of a step's relation whose values are compared with nothing.
    pub(crate) fn loose_columns(&self, at: usize) -> Vec<usize> {
        let Step::Stored { outputs, .. } = &self.steps[at].planned.step else { return Vec::new() };
        let loose = outputs.iter().filter(|(_, var)| self.hints.not_compared.contains(var));
        loose.map(|(column, _)| *column).collect()
    }

    /// The tries of a step and of those after it that bind its variable together with it, if there are such and all have tries.
    fn joins_together<'i>(
        &mut self,
        at: usize,
        input: &'i Bindings,
        context: &ExecContext<'_>,
    ) -> Result<Option<Vec<TrieJoin<'i>>>> {
        let together = self.steps[at].planned.together;
        let Step::Stored { outputs, .. } = &self.steps[at].planned.step else { return Ok(None) };
        let (1.., Some(&(_, var))) = (together, outputs.first()) else { return Ok(None) };
        let mut joins = Vec::with_capacity(together + 1);
        for step in at..=at + together {
            let without = (step > at).then_some(var);
            match self.trie_join(step, input, without, context)? {
                Some(join) => joins.push(join),
                None => return Ok(None),
            }
        }
        Ok(Some(joins))
    }

    /// Hands on all rows of a scan, for the one row that came in.
    fn hand_on_scanned(
        &mut self,
        at: usize,
        input: &Bindings,
        found: Columns,
        context: &ExecContext<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { outputs, .. } = &planned.step else { return Ok(true) };
        if outputs.is_empty() && self.duplicates == Duplicates::Weigh {
            let weights = vec![input.weight(0).saturating_mul(found.rows as u64)];
            let output = input.gather_weighted(&[0], weights, &planned.live);
            return self.hand_on(at, output, context, emit);
        }
        let vars = outputs.iter().map(|(_, var)| *var);
        self.hand_on(at, input.with_found(vars, found, &planned.live), context, emit)
    }

    /// Keeps the pairs whose other columns agree, and hands them on.
    pub(crate) fn check_and_hand_on(
        &mut self,
        at: usize,
        input: &Bindings,
        pairs: &Pairs<'_>,
        context: &ExecContext<'_>,
        emit: Emit<'_>,
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
            return self.hand_on(at, output, context, emit);
        }
        let kept: (Vec<u32>, Vec<u32>) = rows
            .iter()
            .zip(places)
            .filter(|&(&row, &place)| asked.agree(row, found, outputs.len(), place as usize))
            .unzip();
        let output = make(&kept.0, &kept.1);
        self.hand_on(at, output, context, emit)
    }

    /// The order in which the rows of a step are read that nothing ties to what is bound, and the range of its keys; `None` where there can be
    /// no row. An index that lacks columns costs a look into the relation for each of its rows, and the relation's own keys may be the better way:
    /// the index is taken where its range is thought to hold so much fewer rows.
    pub(crate) fn scanned<'r>(
        &self,
        at: usize,
        relation: &'r StoredRelation,
        context: &ExecContext<'_>,
    ) -> Result<Option<(&'r StoredPath, KeyRange)>> {
        let Ready { planned, range, own_range, .. } = &self.steps[at];
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
