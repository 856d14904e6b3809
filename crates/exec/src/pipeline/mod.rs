//! One rule body as a pipeline: batches of rows move from operator to operator into a sink.
//!
//! The fixpoint makes a `Pipeline` of a body plan, on each thread one, and runs it. This file
//! prepares the steps and hands batches from one to the next; `operator` adds `dispatch`, which
//! makes the operator of a step.
//!
//! # How
//! A batch has one column of cells for each variable that is bound and still needed. An operator
//! makes batches of a batch, and hands each to the next operator before it makes another. So memory
//! holds one batch for each step, and `:limit` stops where it is reached.
//!
//! # Invariants
//! 1. A batch that enters a step has exactly the columns that the plan calls live after the step
//!    before.
//! 2. Where rows are counted, equal rows that are collected go on when all that comes before has
//!    run.
//! 3. A step that computes or reads values hands on what it has when they take
//!    `batch_bytes`, and values of batches that are done are released
//!    (`sweep.rs`).
//! 4. A join hands on its rows before much more than `BATCH_ROWS` of them are collected, but for
//!    one row that finds more by itself in memory. What one call to the store may find is bounded
//!    by the memory limit of the query (`index_join.rs`).

pub(crate) mod count_multiplicity;
pub(crate) mod exchange;
pub(crate) mod sweep;

use crate::batch_size::{BATCH_ROWS, Wanted};
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
use base::KeyRange;
use model::Value;
use plan::{Duplicates, OperatorName, PipelinePlan, PlannedStep, RangeHint, Step, Var};
use std::sync::Arc;
use store::Estimate;

/// After so many rows that steps take it is asked whether to go on: a look at the clock for each
/// step of a query that reads one row would be a tenth of it.
pub(crate) const CHECKED_ROWS: usize = 512;

/// What is known of the rows that a pipeline makes, for the operators that read them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputHints {
    /// Variables whose values nothing compares, on the way or behind the pipeline.
    pub not_compared: Vec<Var>,
    /// The first rows that are wanted, and the variable that their order begins with.
    pub top_k: Option<(Arc<TopK>, Var)>,
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
    /// Counts what the steps do, where somebody asks.
    pub(crate) clock: Option<Clock>,
    /// Where other threads take over.
    pub(crate) exchange: Option<Exchange>,
    /// The part of the first step's relation that is read.
    pub(crate) part: Option<KeyRange>,
    /// Rows of the next batch.
    pub(crate) batch_rows: usize,
    /// Rows that come out that are enough.
    pub(crate) enough: usize,
    /// Rows that steps have taken since it was asked whether to go on.
    pub(crate) unchecked_rows: usize,
    /// When values of batches that are done are let go, if this body may.
    pub(crate) sweep: Option<Sweep>,
    /// Rows that it may still read or make, where it is only tried.
    pub(crate) rows_left: Option<i64>,
    /// What is known of the rows that come out.
    pub(crate) hints: OutputHints,
}

pub(crate) struct PreparedStep<'p> {
    pub(crate) planned: &'p PlannedStep,
    /// The expression of an assignment, a filter, a list, a time.
    pub(crate) expr: Option<Compiled>,
    /// What is known of the key column after the prefix, ...
    pub(crate) range: Bounds,
    /// ... and of the relation's own first one, where another path was chosen.
    pub(crate) own_range: Bounds,
    /// Rows that were handed on, where equal ones are made one.
    pub(crate) seen: Option<Box<Table>>,
    /// Rows that wait, where equal ones are counted.
    pub(crate) pre_aggregation: Option<Box<PreAggregation>>,
    /// About how much the relation holds, once that was asked.
    pub(crate) all: Option<Estimate>,
    /// How much one word that keys begin with finds at most, once that was asked.
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
    /// Those of a hint. An expression that fails says nothing: the condition will say so itself, if
    /// there is a row.
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

    /// Narrows the range of keys that begin with a prefix.
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
    /// Makes a plan's expressions ready.
    ///
    /// # Errors
    /// An expression that fails whatever the rows are.
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
        })
    }

    /// What is known of the rows that come out.
    pub(crate) fn set_hints(&mut self, hints: OutputHints) {
        self.hints = hints;
    }

    /// Stops once it has read or made so many rows.
    pub(crate) fn try_with(&mut self, rows_max: u64) {
        self.rows_left = Some(i64::try_from(rows_max).unwrap_or(i64::MAX));
    }

    /// Whether it was stopped because it had read or made too many.
    pub(crate) fn is_given_up(&self) -> bool {
        self.rows_left.is_some_and(|left| left < 0)
    }

    /// Rows that it may still read or make.
    pub(crate) fn rows_left(&self) -> u64 {
        self.rows_left.map_or(0, |left| u64::try_from(left).unwrap_or(0))
    }

    /// Notes rows that are read or made, where it is only tried; whether to go on.
    pub(crate) fn spend(&mut self, rows: u64) -> Wanted {
        if let Some(left) = &mut self.rows_left {
            *left = left.saturating_sub(i64::try_from(rows).unwrap_or(i64::MAX));
        }
        !self.is_given_up()
    }

    /// So many rows that come out are enough: the first batch has no more, and those after it twice
    /// as many each, so that what is looked for is found before much else is, or else little is
    /// lost.
    pub(crate) fn set_enough(&mut self, enough: usize) {
        self.batch_rows = enough.clamp(1, BATCH_ROWS);
        self.enough = enough;
    }

    /// Runs it; `emit` gets the rows.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub(crate) fn run(&mut self, context: &ExecContext<'_>, out: Out<'_>) -> Result<Wanted> {
        if !self.step(0, Bindings::unit(self.variables), context, out)?
            || !self.hand_on_all_pre_aggregated(context, out)?
        {
            return Ok(false);
        }
        self.run_waiting_in_parallel(context, out)
    }

    /// Hands on what waits at any step for others of its kind.
    ///
    /// # Errors
    /// Whatever stops the query.
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

    /// Whether rows may come out once however often they are found.
    pub(crate) fn is_set(&self) -> bool {
        self.duplicates == Duplicates::Merge
    }

    /// Runs the steps from `at` on over a batch.
    ///
    /// # Errors
    /// Whatever stops the query.
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

    /// What a step does with a batch.
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

    /// Hands rows to the next step, equal ones once where the plan says so.
    pub(crate) fn hand_on(
        &mut self,
        at: usize,
        mut output: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        // Rows of which nothing is asked for are only counted.
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

    /// Hands rows to the next step, not too many at once.
    pub(crate) fn pass_on(
        &mut self,
        at: usize,
        output: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let mut start = 0;
        // A rest of less than a batch goes with the last.
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
