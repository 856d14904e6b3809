//! Late materialization: checks, conditions and assignments on a scan's rows are evaluated on the
//! stored columns, and only rows that pass have their values made into cells.
//!
//! A top-k query does the same: rows after the last wanted row are dropped early.
//!
//! # Why
//! A string of more than six bytes is interned when it becomes a cell, which takes some 400 ns (a
//! hash, a lookup, a copy). A condition on a column takes a few nanoseconds a row (decision 0045).
//! (Abadi, Myers, DeWitt and Madden, *Materialization strategies in a column-oriented DBMS*, ICDE
//! 2007; Boncz, Zukowski and Nes, *MonetDB/X100: hyper-pipelining query execution*, CIDR 2005.)

use crate::batch_size::{CHUNK_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::Computer;
use crate::expr::batch::Bindings;
use crate::operator::block_filter::block_filter;
use crate::operator::column_steps::{ColumnStep, Kept, Layout, Piece};
use crate::operator::row_step;
use crate::operator::scan::ScannedRange;
use crate::pipeline::Pipeline;
use crate::sink::top_k::TopK;
use crate::sink::{Out, RowOutput};
use crate::storage::access_path::{Place, StoredPath};
use crate::storage::decode::Picked;
use crate::storage::stored_columns::StoredColumns;
use crate::value::columns::Columns;
use crate::vector::evaluate::TypedRows;
use base::{Batch, BlockFilter};
use plan::{Duplicates, PerVar, Physical, Step, VarId};
use std::sync::Arc;

/// The steps that a scan does on columns, before rows are materialized.
pub(crate) struct LateMaterialization<'l> {
    /// The checks of bound columns, then the steps behind the scan.
    steps: Vec<ColumnStep>,
    /// How many of them are checks.
    checks: usize,
    layout: Layout<'l>,
    /// Blocks that the first steps exclude.
    filter: Option<Arc<BlockFilter>>,
    /// For a top-k query: the variable that its order begins with.
    by: Option<(Arc<TopK>, VarId)>,
    /// Whether the output takes the rows in columns.
    to_output: bool,
}

impl Pipeline<'_> {
    /// The steps that a scan does on columns for its one input row; `None` if there are none.
    pub(crate) fn late_materialization<'l>(
        &mut self,
        at: usize,
        path: &'l StoredPath,
        input: &'l Bindings,
        computer: &Computer<'_>,
        out: &dyn RowOutput,
    ) -> Option<LateMaterialization<'l>> {
        let Step::Stored { outputs, checks, .. } = &self.steps[at].planned.step else {
            return None;
        };
        let mut places = PerVar::filled(None, self.variables);
        for (column, var) in outputs {
            places[*var] = path.place(*column);
        }
        // A top-k bound applies to the column that the order begins with.
        let is_read = |(_, var): &(_, VarId)| places[*var].is_some();
        let by = self.hints.top_k.clone().filter(is_read);
        let mut layout = Layout { path, places, computed: Vec::new(), input };
        let check =
            |(column, var): &(usize, VarId)| ColumnStep::check(*column, *var, &layout, computer);
        let mut steps: Vec<ColumnStep> = checks.iter().map(check).collect::<Option<_>>()?;
        let checks = steps.len();
        for place in at..self.steps.len().saturating_sub(1) {
            let (ready, next) = (&self.steps[place], &self.steps[place + 1]);
            // Where equal rows are made one on the way, they are passed on.
            if ready.seen.is_some()
                || ready.pre_aggregation.is_some()
                || !row_step::is_row_step(&next.planned.step)
            {
                break;
            }
            match ColumnStep::new(next, &mut layout, &mut self.list_sets, computer) {
                Some(step) => steps.push(step),
                None => break,
            }
        }
        let last = at + steps.len() - checks;
        let to_output = self.may_output_columns(last, input) && out.takes_columns();
        let is_empty = steps.is_empty() && by.is_none() && !to_output;
        let filter = block_filter(steps.iter().map_while(ColumnStep::condition), &layout);
        (!is_empty).then_some(LateMaterialization { steps, checks, layout, filter, by, to_output })
    }

    /// Whether the rows of a step are those of the output, each once.
    fn may_output_columns(&self, last: usize, input: &Bindings) -> bool {
        let ready = &self.steps[last];
        last + 1 == self.steps.len()
            && ready.seen.is_none()
            && ready.pre_aggregation.is_none()
            && input.weights.is_empty()
            && !ready.planned.live.is_empty()
    }

    /// Passes on the rows of a scan that its steps on columns keep, for a single input row.
    pub(crate) fn scan_late_materialized(
        &mut self,
        scan: ScannedRange<'_>,
        late_materialization: LateMaterialization<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let ScannedRange { at, path, range, chunk_rows, .. } = scan;
        let LateMaterialization { mut steps, checks, layout, filter, by, to_output } =
            late_materialization;
        let last = at + steps.len() - checks;
        let computer = context.computer();
        let wanted: Vec<usize> = match &self.steps[at].planned.step {
            Step::Stored { outputs, checks, .. } => {
                outputs.iter().chain(checks).map(|(column, _)| *column).collect()
            }
            _ => Vec::new(),
        };
        let output = OutputColumns::new(self, at, last, &layout);
        // If few rows are enough, the first pieces are small.
        let mut piece_rows = self.batch_rows.max(1);
        let mark = self.mark(context);
        let mut wants_more = true;
        let mut visit = |batch: &Batch| -> Result<bool> {
            let stored = StoredColumns::new(path, batch);
            let mut start = 0;
            while start < batch.rows {
                context.limits.check(context.interner.bytes())?;
                // A rest of less than a piece is added to the last one.
                let is_last = batch.rows - start <= 2 * piece_rows;
                let end = if is_last { batch.rows } else { start + piece_rows };
                piece_rows = (2 * piece_rows).min(CHUNK_ROWS);
                let mut piece = Piece::new(&stored, start..end, &layout, &computer);
                let mut kept = Kept::All(end - start);
                for step in &mut steps {
                    if kept.len() == 0 {
                        break;
                    }
                    step.run(&mut piece, &mut kept, &computer)?;
                }
                if let Some((first, var)) = &by {
                    kept = before_bound(first, *var, &piece, kept, batch, context)?;
                }
                start = end;
                if kept.len() == 0 {
                    continue;
                }
                let taken = match to_output {
                    true => self.output_columns(&piece, &kept, context, out)?,
                    false => None,
                };
                wants_more = match taken {
                    Some(wanted) => wanted,
                    None => {
                        let found = output.of(&piece, &kept, batch, context)?;
                        self.hand_on(last, found, context, out)?
                    }
                };
                self.handed_on(mark.as_ref(), context, out);
                if !wants_more {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let filter = filter.as_ref();
        path.scan_batches(context.read, range, &wanted, chunk_rows, filter, &mut visit)?;
        if let Some(clock) = &mut self.clock {
            if let Some((met, skipped)) = filter.map(|filter| filter.counted()) {
                clock.note_blocks(at, met, met - skipped);
            }
            for (step, done) in (at + 1..).zip(&steps[checks..]) {
                let Physical::Fixed(name) = self.steps[step].planned.operator else { continue };
                clock.note_fused(step, name, done.taken.0, done.taken.1);
            }
        }
        Ok(wants_more)
    }
}

impl Pipeline<'_> {
    /// Passes rows of a scan to the output in columns; `None` where it takes them only as cells.
    fn output_columns(
        &mut self,
        piece: &Piece<'_>,
        kept: &Kept,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Option<Wanted>> {
        let now_us = || context.limits.now_us();
        let head = self.steps.len();
        let before = self.clock.as_mut().map(|clock| clock.turn_to(head, now_us()));
        let taken = out.take_columns(context, piece, &kept.selection());
        if let (Some(clock), Some(before)) = (&mut self.clock, before) {
            clock.leave(before, now_us());
            if let Ok(Some(_)) = taken {
                clock.note_columns(head, kept.len() as u64);
            }
        }
        taken
    }
}

/// The rows that may be among the first ones in an order.
fn before_bound(
    first: &TopK,
    var: VarId,
    piece: &Piece<'_>,
    kept: Kept,
    batch: &Batch,
    context: &ExecContext<'_>,
) -> Result<Kept> {
    let Some(place) = piece.layout.places[var] else { return Ok(kept) };
    if first.last.lock().is_none() {
        return Ok(kept);
    }
    let (path, selection) = (piece.layout.path, kept.selection());
    let typed = piece.column(var, &selection);
    let typed = typed.and_then(|typed| first.kept_typed(&typed, kept.len(), context.interner));
    let found = match typed {
        Some(found) => Some(found),
        None => {
            let rows = kept.in_batch(piece.start);
            let cells = path.cells(batch, &rows.picked(), &[place], &[], context.interner)?;
            first.kept(&cells.columns[0], context.interner)
        }
    };
    let Some(found) = found else { return Ok(kept) };
    let rows = found.iter().map(|&position| selection.row(position as usize));
    Ok(Kept::of(rows.collect(), piece.rows))
}

/// Makes the live columns of rows that passed.
struct OutputColumns<'o> {
    input: &'o Bindings,
    live: &'o [VarId],
    /// Stored columns that are live, by place in the path, with their variables.
    stored: Vec<(Place, VarId)>,
    /// Columns of the relation that are not compared.
    not_compared: Vec<usize>,
    /// Variables that steps have bound and that are live, and whether they are compared.
    computed: Vec<(VarId, bool)>,
    /// Whether rows without live columns are only counted.
    is_weighed: bool,
}

impl<'o> OutputColumns<'o> {
    fn new(pipeline: &Pipeline<'o>, at: usize, last: usize, layout: &Layout<'o>) -> Self {
        let live = pipeline.steps[last].planned.live.as_slice();
        let stored = live.iter().filter_map(|&var| Some((layout.places[var]?, var))).collect();
        let computed = live.iter().filter(|var| layout.computed.contains(var));
        let is_compared = |var: &VarId| !pipeline.hints.not_compared.contains(var);
        Self {
            input: layout.input,
            live,
            stored,
            not_compared: pipeline.not_compared_columns(at),
            computed: computed.map(|var| (*var, is_compared(var))).collect(),
            is_weighed: live.is_empty() && pipeline.duplicates == Duplicates::Weigh,
        }
    }

    fn of(
        &self,
        piece: &Piece<'_>,
        kept: &Kept,
        batch: &Batch,
        context: &ExecContext<'_>,
    ) -> Result<Bindings> {
        if self.is_weighed {
            let weight = self.input.weight(0).saturating_mul(kept.len() as u64);
            return Ok(self.input.gather_weighted(&[0], vec![weight], self.live));
        }
        let rows = kept.in_batch(piece.start);
        let places: Vec<Place> = self.stored.iter().map(|(place, _)| *place).collect();
        let path = piece.layout.path;
        let cells =
            path.cells(batch, &rows.picked(), &places, &self.not_compared, context.interner)?;
        let found = Columns { rows: kept.len(), ..cells };
        let vars = self.stored.iter().map(|(_, var)| *var);
        let mut output = self.input.with_found(vars, found, self.live);
        for &(var, is_compared) in &self.computed {
            output.columns[var] = piece.computed_cells(var, kept, is_compared).unwrap_or_default();
        }
        Ok(output)
    }
}

/// Rows of a batch.
pub(crate) enum BatchRows {
    Range(std::ops::Range<usize>),
    Some(Vec<u32>),
}

impl BatchRows {
    fn picked(&self) -> Picked<'_> {
        match self {
            Self::Range(rows) => Picked::Range(rows.clone()),
            Self::Some(rows) => Picked::Rows(rows),
        }
    }
}

impl Kept {
    /// The rows, as positions in the batch.
    fn in_batch(&self, start: usize) -> BatchRows {
        match self {
            Self::All(rows) => BatchRows::Range(start..start + rows),
            Self::Some(rows) => {
                BatchRows::Some(rows.iter().map(|&row| row + start as u32).collect())
            }
        }
    }
}
