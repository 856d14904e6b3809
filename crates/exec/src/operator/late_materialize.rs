//! Late materialization: conditions on a scan's rows are evaluated before the other columns are
//! read.
//!
//! A top-k query does the same: rows after the last wanted row are dropped early.
//!
//! # Why
//! A string of more than six bytes is interned when it is read, which takes some 400 ns (a hash, a
//! lookup, a copy). Where a numeric condition keeps one row in a thousand, interning the strings
//! of the others took nearly all of the time. (Abadi, Myers, DeWitt and Madden, *Materialization
//! strategies in a column-oriented DBMS*, ICDE 2007.)

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::expr::{Compiled, Computer};
use crate::limits::QueryLimits;
use crate::operator::scan::ScannedRange;
use crate::pipeline::Pipeline;
use crate::sink::Out;
use crate::sink::top_k::TopK;
use crate::storage::access_path::StoredPath;
use crate::value::columns::Columns;
use plan::{OperatorName, Step, Var};
use std::sync::Arc;
use syntax::Span;

/// The columns that are read before the conditions, and those after.
pub(crate) struct LateMaterialization {
    /// Number of filters after the scan.
    filters: usize,
    /// Columns that the filters read, with their variables.
    first: Vec<(usize, Var)>,
    /// The other columns, with their variables.
    rest: Vec<(usize, Var)>,
    /// Variables of the input row that the filters read.
    given: Vec<Var>,
    /// For a top-k query: the variable that its order begins with.
    by: Option<(Arc<TopK>, Var)>,
}

impl Pipeline<'_> {
    /// How the scan of a step is read, if conditions behind it spare anything: none where equal
    /// rows are made one on the way.
    pub(crate) fn late_materialization(
        &self,
        at: usize,
        path: &StoredPath,
    ) -> Option<LateMaterialization> {
        let Step::Stored { outputs, checks, .. } = &self.steps[at].planned.step else {
            return None;
        };
        let behind = self.steps[at + 1..].iter();
        let filters =
            behind.take_while(|ready| matches!(ready.planned.step, Step::Filter(_))).count();
        let is_plain =
            |at: usize| self.steps[at].seen.is_none() && self.steps[at].pre_aggregation.is_none();
        // A top-k bound applies to the column that the order begins with.
        let is_read = |(_, var): &(_, Var)| outputs.iter().any(|(_, read)| read == var);
        let by = self.hints.top_k.clone().filter(is_read);
        if (filters == 0 && by.is_none())
            || !checks.is_empty()
            || !(at..=at + filters).all(is_plain)
        {
            return None;
        }
        let mut asked = Vec::new();
        for ready in &self.steps[at + 1..=at + filters] {
            if let Step::Filter(expr) = &ready.planned.step {
                expr.each_var(&mut |var| asked.push(var));
            }
        }
        asked.extend(by.iter().map(|(_, var)| *var));
        let is_asked = |(_, var): &(usize, Var)| asked.contains(var);
        let (first, rest): (Vec<_>, Vec<_>) = outputs.iter().copied().partition(is_asked);
        if first.is_empty() || !rest.iter().any(|(column, _)| path.is_costly(*column)) {
            return None;
        }
        asked.retain(|var| !first.iter().any(|(_, read)| read == var));
        Some(LateMaterialization { filters, first, rest, given: asked, by })
    }

    /// Passes on the rows of a scan that satisfy the filters after it, for a single input row.
    pub(crate) fn scan_late_materialized(
        &mut self,
        scan: ScannedRange<'_>,
        late_materialization: &LateMaterialization,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let ScannedRange { at, input, path, range, chunk_rows } = scan;
        let LateMaterialization { filters, first, rest, given, .. } = late_materialization;
        let last = at + filters;
        let columns = |of: &[(usize, Var)]| -> Vec<usize> { of.iter().map(|one| one.0).collect() };
        let filters: Vec<_> = self.steps[at + 1..=last]
            .iter()
            .filter_map(|ready| Some((ready.expr.clone()?, ready.planned.span)))
            .collect();
        let live = &self.steps[last].planned.live;
        let not_compared = self.not_compared_columns(at);
        // If few rows are enough, the first pieces are small.
        let piece_rows = self.batch_rows;
        let (read, interner) = (context.read, context.interner);
        let parameters = context.parameters.clone();
        let mut early = EarlyFilters {
            taken: vec![(0, 0); filters.len()],
            filters,
            input,
            vars: given.iter().copied().chain(first.iter().map(|one| one.1)).collect(),
            late_materialization,
            computer: Computer::new(interner, &parameters, context.ambient),
            limits: context.limits,
        };
        let mark = self.mark(context);
        let mut wants_more = true;
        let mut visit = |found: Columns| -> Result<bool> {
            let vars = first.iter().chain(rest).map(|(_, var)| *var);
            wants_more = self.hand_on(last, input.with_found(vars, found, live), context, out)?;
            self.handed_on(mark.as_ref(), context, out);
            Ok(wants_more)
        };
        path.scan_picked(
            read,
            range,
            &columns(first),
            &columns(rest),
            &not_compared,
            chunk_rows,
            piece_rows,
            interner,
            &mut |found| early.pick(found),
            &mut visit,
        )?;
        if let Some(clock) = &mut self.clock {
            for (step, (batches, rows)) in (at + 1..).zip(early.taken) {
                clock.note_fused(step, OperatorName::Filter, batches, rows);
            }
        }
        Ok(wants_more)
    }
}

/// The filters that are evaluated before the other columns are read.
struct EarlyFilters<'f> {
    late_materialization: &'f LateMaterialization,
    /// The input row.
    input: &'f Bindings,
    filters: Vec<(Compiled, Span)>,
    /// Variables that the filters read.
    vars: Vec<Var>,
    /// Batches and rows of each filter.
    taken: Vec<(u64, u64)>,
    computer: Computer<'f>,
    limits: &'f QueryLimits<'f>,
}

impl EarlyFilters<'_> {
    /// The rows that satisfy the filters, and their numbers, of rows with the first columns.
    fn pick(&mut self, found: Columns) -> Result<(Columns, Vec<u32>)> {
        let LateMaterialization { first, given, by, .. } = self.late_materialization;
        let interner = self.computer.interner;
        self.limits.check(interner.bytes())?;
        let mut rows = self.input.gather(&vec![0; found.rows], given);
        for ((_, var), column) in first.iter().zip(found.columns) {
            rows.columns[*var] = column;
        }
        let mut picked: Vec<u32> = (0..found.rows as u32).collect();
        let mut keep = |rows: &mut Bindings, kept: &[u32]| {
            if kept.len() < rows.rows {
                picked = kept.iter().map(|&row| picked[row as usize]).collect();
                *rows = rows.gather(kept, &self.vars);
            }
        };
        for ((expr, span), (batches, all)) in self.filters.iter().zip(&mut self.taken) {
            *batches += 1;
            *all += rows.rows as u64;
            let kept = self.computer.select(expr, &rows, *span)?;
            keep(&mut rows, &kept);
        }
        if let Some((first, var)) = by
            && let Some(kept) = first.kept(&rows.columns[*var], interner)
        {
            keep(&mut rows, &kept);
        }
        let columns = first.iter().map(|(_, var)| std::mem::take(&mut rows.columns[*var]));
        Ok((Columns { rows: picked.len(), columns: columns.collect() }, picked))
    }
}
