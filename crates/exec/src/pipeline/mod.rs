//! One rule body as a pipeline: batches of rows move from operator to operator into a sink.
//!
//! The fixpoint makes a `Pipeline` of a body plan, on each thread one, and runs it. This file
//! prepares the steps and hands batches from one to the next; `operator` adds `dispatch`, which
//! makes the operator of a step.
//!
//! # How
//! A batch has one column of cells for each live variable. An operator turns one batch into
//! several, and passes each to the next operator before it makes another. So memory holds one batch
//! per step, and `:limit` stops as soon as it is reached.
//!
//! # Invariants
//! 1. A batch that enters a step has exactly the columns that are live after the step before.
//! 2. Where rows are counted, collected rows are passed on when everything before has run.
//! 3. A step that computes or reads values passes on its rows when they take `batch_bytes`, and
//!    values of finished batches are released (`sweep.rs`).
//! 4. A join passes on its rows before much more than `BATCH_ROWS` of them are collected, except
//!    for an input row that alone finds more in memory. What one call to the store may find is
//!    bounded by the memory limit of the query (`index_join.rs`).

pub(crate) mod count_multiplicity;
pub(crate) mod exchange;
pub(crate) mod sweep;

use crate::batch_size::{BATCH_ROWS, Wanted};
use crate::column_list::ColumnList;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::expr::{Compiled, Computer};
use crate::pipeline::count_multiplicity::PreAggregation;
use crate::pipeline::exchange::Exchange;
use crate::pipeline::sweep::Sweep;
use crate::profile::Clock;
use crate::sink::Out;
use crate::sink::top_k::TopK;
use crate::storage::access_path::StoredPath;
use crate::table::Table;
use crate::value::cell::{Cell, Interner};
use crate::vector::node::ListSets;
use base::KeyRange;
use model::Value;
use plan::{Duplicates, OperatorName, PipelinePlan, PlannedStep, RangeHint, Step, VarId};
use std::sync::Arc;
use store::Estimate;

/// The limits are checked after this many rows. Reading the clock at each step would take a tenth
/// of the time of a query with one row.
pub(crate) const CHECKED_ROWS: usize = 512;

/// Known properties of the rows that a pipeline makes, for the operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputHints {
    /// Variables whose values are never compared, in the pipeline or after it.
    pub not_compared: Vec<VarId>,
    /// The top-k bound, and the variable that its order begins with.
    pub top_k: Option<(Arc<TopK>, VarId)>,
}

impl OutputHints {
    /// An empty list for rows with these variables.
    pub(crate) fn columns(&self, head: &[VarId]) -> ColumnList {
        let is_loose = |place: &usize| self.not_compared.contains(&head[*place]);
        ColumnList::new((0..head.len()).filter(is_loose).collect())
    }
}

/// A physical operator, made for one batch of a step.
pub(crate) trait Operator {
    /// Its name in plans and in the profile of a query.
    const NAME: OperatorName;

    /// Makes rows of its batch and pushes them to the next step ([`Pipeline::hand_on`]); whether
    /// more rows are wanted.
    ///
    /// # Errors
    /// Whatever stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted>;
}

/// A rule body whose expressions are compiled.
pub(crate) struct Pipeline<'p> {
    pub(crate) steps: Vec<PreparedStep<'p>>,
    pub(crate) variables: usize,
    pub(crate) duplicates: Duplicates,
    /// Measures the steps, for `::explain analyze`.
    pub(crate) clock: Option<Clock>,
    /// Where other threads take over, if any do.
    pub(crate) exchange: Option<Exchange>,
    /// The key range of the first step's relation that is read.
    pub(crate) part: Option<KeyRange>,
    /// Rows of the next batch.
    pub(crate) batch_rows: usize,
    /// Result rows that are enough.
    pub(crate) enough: usize,
    /// Rows that steps have taken since the last check of the limits.
    pub(crate) unchecked_rows: usize,
    /// When interned values are released, if this pipeline may.
    pub(crate) sweep: Option<Sweep>,
    /// Rows that it may still read or make, if it is a trial.
    pub(crate) rows_left: Option<i64>,
    /// Known properties of the result rows.
    pub(crate) hints: OutputHints,
    /// Result rows that are wanted, where a step reads in order.
    pub(crate) first_rows: usize,
    /// Sets of constant lists, for scans that evaluate conditions on columns.
    pub(crate) list_sets: ListSets,
}

pub(crate) struct PreparedStep<'p> {
    pub(crate) planned: &'p PlannedStep,
    /// The expression of an assignment, a filter, a list, a time.
    pub(crate) expr: Option<Compiled>,
    /// Bounds of the key column after the prefix.
    pub(crate) range: Bounds,
    /// Bounds of the relation's first key column, if an index was chosen.
    pub(crate) own_range: Bounds,
    /// Rows passed on before, where rows are deduplicated.
    pub(crate) seen: Option<Box<Table>>,
    /// Collected rows, where equal ones are counted.
    pub(crate) pre_aggregation: Option<Box<PreAggregation>>,
    /// Estimated size of the relation, once requested.
    pub(crate) all: Option<Estimate>,
    /// Most rows with one first key word, once requested.
    pub(crate) longest: Option<u64>,
}

/// Bounds of a range.
#[derive(Default)]
pub(crate) struct Bounds {
    pub(crate) lower: Option<Value>,
    pub(crate) upper: Option<Value>,
    pub(crate) starts_with: Option<Value>,
}

impl Bounds {
    /// The bounds of a hint. An expression that fails gives no bound: the condition itself reports
    /// the error if there is a row.
    pub(crate) fn new(hint: Option<&RangeHint>, computer: &Computer<'_>) -> Self {
        let Some(hint) = hint else { return Self::default() };
        let known =
            |expr: &Option<plan::Expr>| expr.as_ref().and_then(|expr| computer.known(expr).ok());
        Self {
            lower: known(&hint.lower),
            upper: known(&hint.upper),
            starts_with: known(&hint.starts_with),
        }
    }

    /// Narrows a range of keys that start with a prefix.
    pub(crate) fn narrow(
        &self,
        range: &mut KeyRange,
        prefix: &[Cell],
        path: &StoredPath,
        interner: &Interner,
    ) {
        path.narrow(range, prefix, self.lower.as_ref(), self.upper.as_ref(), interner);
        if let Some(Value::Str(text)) = &self.starts_with {
            path.narrow_to_text(range, prefix, text, interner);
        }
    }
}

impl<'p> Pipeline<'p> {
    /// Compiles the expressions of a plan.
    ///
    /// # Errors
    /// A constant expression that fails.
    pub(crate) fn new(
        plan: &'p PipelinePlan,
        variables: usize,
        computer: &Computer<'_>,
    ) -> Result<Self> {
        let mut steps = Vec::with_capacity(plan.steps.len());
        for (place, planned) in plan.steps.iter().enumerate() {
            let mut ready = PreparedStep {
                planned,
                expr: None,
                range: Bounds::default(),
                own_range: Bounds::default(),
                seen: None,
                pre_aggregation: None,
                all: None,
                longest: None,
            };
            if let Some(expr) = planned.step.expr() {
                ready.expr = Some(computer.compile(expr)?);
            }
            if let Step::Stored { range, own_range, .. } = &planned.step {
                ready.range = Bounds::new(range.as_deref(), computer);
                ready.own_range = Bounds::new(own_range.as_deref(), computer);
            }
            match plan.duplicates {
                Duplicates::Merge if planned.distinct => {
                    ready.seen = Some(Box::new(Table::set(planned.live.len())));
                }
                Duplicates::Weigh if planned.distinct => {
                    let later = count_multiplicity::rows_later(&plan.steps, place);
                    let pre_aggregation =
                        PreAggregation::new(planned.live.len(), later, planned.rows);
                    ready.pre_aggregation = Some(Box::new(pre_aggregation));
                }
                _ => {}
            }
            steps.push(ready);
        }
        let duplicates = plan.duplicates;
        Ok(Self {
            steps,
            variables,
            duplicates,
            clock: None,
            exchange: None,
            part: None,
            batch_rows: BATCH_ROWS,
            enough: usize::MAX,
            unchecked_rows: 0,
            sweep: None,
            rows_left: None,
            hints: OutputHints::default(),
            first_rows: usize::MAX,
            list_sets: ListSets::default(),
        })
    }

    /// Sets the known properties of the result rows.
    pub(crate) fn set_hints(&mut self, hints: OutputHints) {
        self.hints = hints;
    }

    /// Makes this a trial that stops after reading or making this many rows.
    pub(crate) fn try_with(&mut self, rows_max: u64) {
        self.rows_left = Some(i64::try_from(rows_max).unwrap_or(i64::MAX));
    }

    /// Whether a trial was stopped.
    pub(crate) fn is_given_up(&self) -> bool {
        self.rows_left.is_some_and(|left| left < 0)
    }

    /// Stops a trial.
    pub(crate) fn give_up(&mut self) {
        self.rows_left = Some(-1);
    }

    /// Rows that a trial may still read or make.
    pub(crate) fn rows_left(&self) -> u64 {
        self.rows_left.map_or(0, |left| u64::try_from(left).unwrap_or(0))
    }

    /// Charges rows to a trial; returns whether to continue.
    pub(crate) fn spend(&mut self, rows: u64) -> Wanted {
        if let Some(left) = &mut self.rows_left {
            *left = left.saturating_sub(i64::try_from(rows).unwrap_or(i64::MAX));
        }
        !self.is_given_up()
    }

    /// Sets the number of result rows that are enough. The first batch has no more rows, and each
    /// later one twice as many as the one before: so the rows are found before much else is read.
    pub(crate) fn set_enough(&mut self, enough: usize) {
        self.batch_rows = enough.clamp(1, BATCH_ROWS);
        self.enough = enough;
    }

    /// Runs the pipeline; `out` receives the rows.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn run(&mut self, context: &ExecContext<'_>, out: Out<'_>) -> Result<Wanted> {
        if !self.step(0, Bindings::unit(self.variables), context, out)?
            || !self.hand_on_all_pre_aggregated(context, out)?
        {
            return Ok(false);
        }
        self.run_waiting_in_parallel(context, out)
    }

    /// Passes on the collected rows of all steps.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn hand_on_all_pre_aggregated(
        &mut self,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        for at in 0..self.steps.len() {
            if !self.hand_on_pre_aggregated(at, context, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether result rows may be deduplicated.
    pub(crate) fn is_set(&self) -> bool {
        self.duplicates == Duplicates::Merge
    }

    /// Runs the steps from `at` on over a batch.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn step(
        &mut self,
        at: usize,
        input: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Some(clock) = &mut self.clock else { return self.take(at, input, context, out) };
        let before = clock.enter(at, input.rows, context.limits.now_us());
        let wanted = self.take(at, input, context, out);
        if let Some(clock) = &mut self.clock {
            clock.leave(before, context.limits.now_us());
        }
        wanted
    }

    /// Runs one step over a batch.
    pub(crate) fn take(
        &mut self,
        at: usize,
        input: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        self.unchecked_rows += input.rows;
        if input.rows == 0 || self.unchecked_rows >= CHECKED_ROWS {
            self.unchecked_rows = 0;
            context.check(0)?;
        }
        if input.rows == 0 {
            return Ok(true);
        }
        match at < self.steps.len() {
            true => self.dispatch(at, input, context, out),
            false => out.take(context, &input),
        }
    }

    /// Lets an operator answer a step for a batch.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub(crate) fn run_operator<O: Operator>(
        &mut self,
        at: usize,
        operator: O,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        self.note_operator(at, O::NAME);
        operator.push(self, context, out)
    }

    /// Records that an operator answers a step for a batch.
    pub(crate) fn note_operator(&mut self, at: usize, name: OperatorName) {
        debug_assert!(
            self.steps[at].planned.operator.may_be(name),
            "{name:?} answers a step that is planned as {}",
            self.steps[at].planned.operator
        );
        if let Some(clock) = &mut self.clock {
            clock.note_operator(at, name);
        }
    }

    /// Passes rows to the next step, deduplicated or pre-aggregated where the plan says so.
    pub(crate) fn hand_on(
        &mut self,
        at: usize,
        mut output: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        // Rows without live columns are only counted.
        let is_counted = self.steps[at].planned.live.is_empty();
        if !is_counted && !self.spend(output.rows as u64) {
            return Ok(false);
        }
        let ready = &mut self.steps[at];
        if let Some(seen) = &mut ready.seen {
            let live = &ready.planned.live;
            let kept: Vec<u32> = {
                let columns: Vec<&[Cell]> =
                    live.iter().map(|&var| output.columns[var].as_slice()).collect();
                seen.expect(&columns, output.rows);
                (0..output.rows as u32).filter(|&row| seen.insert(&columns, row as usize)).collect()
            };
            if kept.len() < output.rows {
                output = output.gather(&kept, live);
            }
            context.check(seen.bytes())?;
        }
        if ready.pre_aggregation.is_some() {
            return self.merge(at, output, context, out);
        }
        self.pass_on(at, output, context, out)
    }

    /// Passes rows to the next step, in batches.
    pub(crate) fn pass_on(
        &mut self,
        at: usize,
        output: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let mut start = 0;
        // A rest of less than a batch is added to the last one.
        while output.rows - start > 2 * self.batch_rows {
            let end = start + self.batch_rows;
            self.batch_rows = (2 * self.batch_rows).min(BATCH_ROWS);
            if !self.enter(at + 1, output.slice(start..end), context, out)? {
                return Ok(false);
            }
            start = end;
        }
        let rest = if start == 0 { output } else { output.slice(start..output.rows) };
        self.enter(at + 1, rest, context, out)
    }
}
