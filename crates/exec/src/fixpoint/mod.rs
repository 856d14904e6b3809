//! Fills the tables of a query's derived relations, stratum by stratum.
//!
//! The session makes a [`Fixpoint`] of a context for each query that no fast path answers, calls
//! [`Fixpoint::run`] and takes the rows of the entry rule.
//!
//! # How recursion is computed
//! Semi-naively (Bancilhon and Ramakrishnan, SIGMOD 1986): in each round, one recursive atom of a
//! rule reads the delta of the last round; atoms before it read the total, atoms after it the rows
//! from before the delta. Tables only grow, so the three are ranges of row numbers. A rule with
//! meet aggregates keeps one row per group; a better row is appended and the old one marked dead.
//!
//! # Invariants
//! 1. While pipelines run, the tables that they read do not change: new rows are collected in
//!    separate tables until the round is over.

use crate::column_list::ColumnList;
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::limits::Check;
use crate::parallel::{ParallelPipeline, WorkerPool};
use crate::pipeline::{OutputHints, Pipeline};
use crate::profile::{Clock, Profile};
use crate::result_stream::ResultStream;
use crate::sink::aggregate::AggregateSink;
use crate::sink::groups::Groups;
use crate::sink::list::ListSink;
use crate::sink::meet::{MeetSink, join_best};
use crate::sink::set::SetSink;
use crate::sink::top_k::TopK;
use crate::sink::{PendingRows, RowOutput, Serial, Sink, plain_columns};
use crate::storage::relation_source::Readable;
use crate::table::Table;
use crate::table::derived::Marks;
use crate::value::cell::Cell;
use crate::value::columns::{Columns, gather};
use hashbrown::HashMap;
use model::Value;
use plan::{
    AggregateUse, Alternative, GroupPlan, PipelinePlan, PredicateId, PredicateKind, Step, VarId,
};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use syntax::Span;

mod demand;
mod in_order;
mod round_order;
mod stream;

/// A query whose tables are being filled.
pub struct Fixpoint<'a> {
    /// The execution context.
    pub context: ExecContext<'a>,
    /// The worker pool, if the query may run in parallel.
    pub worker_pool: Option<&'a WorkerPool>,
    /// Rows of the entry rule that are enough.
    enough: usize,
    /// The ordered first rows of the entry rule, if only those are wanted.
    pub first: Option<Arc<TopK>>,
    /// Set if rows of the entry rule may go directly to the consumer: the columns in `:order`.
    pub streamable: Option<Vec<usize>>,
    /// Whether the rows of the entry rule may leave in typed columns, in the order of their keys.
    pub takes_columns: bool,
    /// The rows of the entry rule, if they left in typed columns.
    columns: Option<ColumnList>,
    /// Known properties of the rows of the running entry pipeline.
    hints: OutputHints,
    /// Consumer of the entry rule's rows as they are found, if there is one.
    pub stream: Option<&'a ResultStream<'a>>,
    /// Rows of the entry rule, if they are provably distinct and read by nothing else; and the
    /// number of leading columns that make them distinct.
    listed: Option<(Columns, usize)>,
    /// Rows of the entry that are in no table.
    passed_on: usize,
    /// Of orders that are tried, by their address: rows that they may still read or make.
    tried: HashMap<usize, u64>,
    /// Which join order a rule uses in a round: 0 chooses by size, others are for tests.
    pub round_order: usize,
    /// Measurements, for `::explain analyze`.
    pub profile: Option<Profile>,
}

/// A plan of a rule that may be abandoned, and the rows that it may read.
struct Trial<'p> {
    plan: &'p PipelinePlan,
    rule: usize,
    rows_max: u64,
}

impl<'a> Fixpoint<'a> {
    /// A query that has not started.
    pub fn new(context: ExecContext<'a>) -> Self {
        Self {
            context,
            worker_pool: None,
            enough: usize::MAX,
            first: None,
            streamable: None,
            takes_columns: false,
            columns: None,
            hints: OutputHints::default(),
            stream: None,
            listed: None,
            passed_on: 0,
            tried: HashMap::new(),
            round_order: 0,
            profile: None,
        }
    }

    /// Also takes measurements.
    #[must_use]
    pub fn profiled(mut self) -> Self {
        self.profile = Some(Profile::default());
        self.context.held_bytes_max = Some(Arc::default());
        self
    }

    /// Fills all tables; `enough` rows are enough for the entry rule.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub fn run(&mut self, enough: usize) -> Result<()> {
        let plan = self.context.plan;
        self.enough = enough;
        for (number, group) in plan.groups.iter().enumerate() {
            let began_us = if self.profile.is_some() { self.context.limits.now_us() } else { 0 };
            self.run_group(group, number)?;
            if let Some(profile) = &mut self.profile {
                let held = self.context.held_bytes_max.as_ref();
                let held = held.map_or(0, |held| held.swap(0, Relaxed));
                let us = self.context.limits.now_us().saturating_sub(began_us);
                let tables = group.group.predicates.iter();
                let rows: usize =
                    tables.map(|&predicate| self.context.table(predicate).live_rows()).sum();
                profile.end_group(us, (rows + std::mem::take(&mut self.passed_on)) as u64, held);
            }
        }
        Ok(())
    }

    /// Removes and returns the rows of the entry rule, if they are in typed columns. They are in
    /// the order of their keys.
    pub fn take_columns(&mut self) -> Option<ColumnList> {
        self.columns.take()
    }

    /// The rows of the entry rule, and how many of their first columns tell them apart. They are
    /// let go.
    pub fn take_result(&mut self) -> (Columns, usize) {
        if let Some(listed) = self.listed.take() {
            return listed;
        }
        let entry = self.context.plan.program.entry;
        let table = self.context.tables.change(entry, std::mem::take);
        let rows = table.live_rows();
        let columns = match Arc::try_unwrap(table) {
            Ok(table) if table.rows() == rows => table.into_sorted_columns(),
            Ok(table) => table.live_columns(),
            Err(table) => table.live_columns(),
        };
        let all = columns.len();
        (Columns { rows, columns }, all)
    }

    fn run_group(&mut self, group: &GroupPlan, number: usize) -> Result<()> {
        let plan = self.context.plan;
        for &predicate in &group.group.predicates {
            let definition = &plan.program.predicates[predicate];
            match &definition.kind {
                PredicateKind::Inline { aggregates } => {
                    let is_kept = group.group.is_recursive && definition.is_meet();
                    let table = Arc::new(match is_kept {
                        true => Table::new(aggregates.len(), plain_columns(aggregates)),
                        false => Table::set(aggregates.len()),
                    });
                    self.context.tables.change(predicate, |slot| *slot = table);
                }
                PredicateKind::Constant(data) => {
                    let rows = crate::fast_path::values::columns(
                        data,
                        definition,
                        &self.context.computer(),
                    )?;
                    self.fill(predicate, rows.len(), &rows)?;
                }
                PredicateKind::Fixed(fixed) => {
                    let algorithms = self.context.algorithms;
                    let mut columns = algorithms.run(&self.context, fixed)?;
                    let named = definition.columns.len();
                    if columns.is_empty() {
                        // Without rows, the number of columns is unknown.
                        columns = vec![Vec::new(); named];
                    }
                    if named != 0 && named != columns.len() {
                        let what = format!(
                            "{} gives {} columns, rule `{}` has {named}",
                            fixed.name,
                            columns.len(),
                            definition.name,
                        );
                        return Err(Error::value(what, fixed.span));
                    }
                    self.fill(predicate, columns.len(), &columns)?;
                }
            }
        }
        match group.group.is_recursive {
            true if !self.is_needed(number) => {}
            true => self.run_recursive(group)?,
            false => self.run_once(group)?,
        }
        for &predicate in &group.group.predicates {
            if plan.program.predicates[predicate].is_sorted {
                self.sort_table(predicate)?;
            }
        }
        Ok(())
    }

    /// Sorts the rows of a derived relation by their columns.
    fn sort_table(&mut self, predicate: PredicateId) -> Result<()> {
        let columns = self.context.tables[predicate].live_columns();
        let rows = columns.first().map_or(0, Vec::len);
        let by: Vec<(&[Cell], bool)> = columns.iter().map(|one| (one.as_slice(), false)).collect();
        let order =
            crate::value::sort::order(&by, rows, self.context.interner, &|| self.context.check(0))?;
        let sorted = |column: &Vec<Cell>| gather(column, &order);
        let sorted: Vec<Vec<Cell>> = columns.iter().map(sorted).collect();
        let table = Table::set(sorted.len()).with_rows(&sorted, rows, &|| self.context.check(0))?;
        self.context.check_rows(&table)?;
        self.set_table(predicate, table);
        Ok(())
    }

    fn run_once(&mut self, group: &GroupPlan) -> Result<()> {
        let plan = self.context.plan;
        let Some(first) = group.rules.first() else { return Ok(()) };
        let predicate = plan.program.rules[first.rule].predicate;
        let definition = &plan.program.predicates[predicate];
        let PredicateKind::Inline { aggregates } = &definition.kind else { return Ok(()) };
        if definition.is_aggregated() {
            return self.run_aggregated(group, predicate, aggregates);
        }
        let is_entry = predicate == plan.program.entry;
        if let ([rule], true) = (&*group.rules, is_entry)
            && let Some(body) = &rule.first
        {
            if let Some(found) = self.first_rows(body, rule.rule)? {
                self.first = None;
                self.set_table(predicate, found);
                return Ok(());
            }
            if let Some(told) = body.distinct_keys {
                match self.stream {
                    Some(stream) => self.run_streaming(body, rule.rule, stream, self.enough)?,
                    None => self.run_listed(body, rule.rule, aggregates.len(), told)?,
                }
                self.hints = OutputHints::default();
                return Ok(());
            }
        }
        let enough = if is_entry { self.enough } else { usize::MAX };
        let mut sink =
            SetSink { table: Table::set(aggregates.len()), head: &[], known: None, enough };
        for rule in &group.rules {
            let Some(body) = &rule.first else { continue };
            sink.head = &plan.program.rules[rule.rule].head;
            if sink.table.rows() >= enough {
                break;
            }
            self.run_body(body, rule.rule, &mut sink)?;
        }
        self.set_table(predicate, sink.table);
        Ok(())
    }

    /// Runs the rules of a relation that aggregates.
    fn run_aggregated(
        &mut self,
        group: &GroupPlan,
        predicate: PredicateId,
        aggregates: &'a [Option<AggregateUse>],
    ) -> Result<()> {
        let program = &self.context.plan.program;
        let span = program.predicates[predicate].span;
        let mut sink = AggregateSink { groups: self.groups(aggregates, span)?, head: &[] };
        for rule in &group.rules {
            let Some(body) = &rule.first else { continue };
            sink.head = &program.rules[rule.rule].head;
            if !self.extreme_rows(body, rule.rule, &mut sink)? {
                self.run_body(body, rule.rule, &mut sink)?;
            }
        }
        let columns = sink.groups.finish(self.context.interner, &|| self.context.check(0))?;
        self.fill(predicate, aggregates.len(), &columns)
    }

    /// Lists the result of a rule whose rows differ in their first `told` columns, so that they
    /// need no set.
    fn run_listed(
        &mut self,
        body: &PipelinePlan,
        rule: usize,
        arity: usize,
        told: usize,
    ) -> Result<()> {
        let head = &self.context.plan.program.rules[rule].head;
        let (first, enough) = (self.first.take(), self.enough);
        if let Some(order) = self.streamable.take() {
            let is_ordered = |var: &VarId| order.iter().any(|&column| head[column] == *var);
            self.hints.not_compared =
                body.not_compared.iter().copied().filter(|var| !is_ordered(var)).collect();
        }
        self.hints.top_k = first.clone().map(|first| {
            let var = head[first.order[0].0];
            (first, var)
        });
        let list = Columns::of(arity);
        let takes_columns = self.takes_columns && first.is_none() && enough == usize::MAX;
        let columns = takes_columns.then(|| self.hints.columns(head));
        let mut sink = ListSink { list, head, told, enough, first, columns };
        self.run_body(body, rule, &mut sink)?;
        sink.finish(&self.context)?;
        self.passed_on = sink.list.rows + sink.columns.as_ref().map_or(0, ColumnList::rows);
        self.columns = sink.columns;
        self.listed = Some((sink.list, told));
        Ok(())
    }

    fn run_recursive(&mut self, group: &GroupPlan) -> Result<()> {
        let mut is_first = true;
        loop {
            if let Some(profile) = &mut self.profile {
                profile.round();
            }
            let mut fresh = self.empty_tables(group);
            for rule in &group.rules {
                let bodies: &[PipelinePlan] = match (&rule.first, is_first) {
                    (Some(body), true) => std::slice::from_ref(body),
                    (_, false) => &rule.rounds,
                    (None, true) => &[],
                };
                for body in bodies {
                    let body = self.order_for_round(body);
                    self.run_in_round(body, rule.rule, &mut fresh)?;
                }
            }
            is_first = false;
            let has_grown = self.add_round(group, fresh)?;
            self.context.check(0)?;
            if !has_grown {
                return Ok(());
            }
        }
    }

    fn is_meet(&self, predicate: PredicateId) -> bool {
        self.context.plan.program.predicates[predicate].is_meet()
    }

    /// Tables for the rows of a round, by predicate.
    fn empty_tables(&self, group: &GroupPlan) -> HashMap<PredicateId, Table> {
        let table = |&predicate: &PredicateId| {
            let arity = self.context.tables[predicate].arity();
            let kind = &self.context.plan.program.predicates[predicate].kind;
            let table = match self.is_meet(predicate) {
                true => Table::new(arity, plain_columns(aggregates_of(kind))),
                false => Table::set(arity),
            };
            (predicate, table)
        };
        group.group.predicates.iter().map(table).collect()
    }

    /// Runs a body of a rule, and adds its rows to the round's table.
    fn run_in_round(
        &mut self,
        body: &PipelinePlan,
        rule: usize,
        fresh: &mut HashMap<PredicateId, Table>,
    ) -> Result<()> {
        let program = &self.context.plan.program;
        let predicate = program.rules[rule].predicate;
        let head = &program.rules[rule].head;
        let Some(table) = fresh.remove(&predicate) else { return Ok(()) };
        // Indexed before the sink shares the table: a shared table would be copied to be indexed.
        self.index_for(body)?;
        if let Some(tried) = &body.tried {
            self.index_for(&tried.plan)?;
        }
        let known = Arc::clone(&self.context.tables[predicate]);
        let found = if self.is_meet(predicate) {
            let aggregates = aggregates_of(&program.predicates[predicate].kind);
            let mut sink = MeetSink { table, head, aggregates, known };
            self.run_body(body, rule, &mut sink)?;
            sink.table
        } else {
            let mut sink = SetSink { table, head, known: Some(known), enough: usize::MAX };
            self.run_body(body, rule, &mut sink)?;
            sink.table
        };
        fresh.insert(predicate, found);
        Ok(())
    }

    /// Adds the rows of a round to the tables; they become the deltas. Returns whether there were
    /// new ones.
    fn add_round(
        &mut self,
        group: &GroupPlan,
        mut fresh: HashMap<PredicateId, Table>,
    ) -> Result<bool> {
        let mut has_grown = false;
        for &predicate in &group.group.predicates {
            let Some(found) = fresh.remove(&predicate) else { continue };
            let before = self.context.tables[predicate].rows();
            let is_meet = self.is_meet(predicate);
            let aggregates = aggregates_of(&self.context.plan.program.predicates[predicate].kind);
            let (limits, interner) = (self.context.limits, self.context.interner);
            let check = || limits.check(interner.bytes());
            self.context.tables.change(predicate, |table| {
                let table = Arc::make_mut(table);
                match is_meet {
                    true => join_best(table, aggregates, &found, interner, &check),
                    false => table.insert_all(&found, &check),
                }
            })?;
            let total = self.context.tables[predicate].rows();
            self.context.marks[predicate] = Marks { old: before, total };
            has_grown |= total > before;
        }
        Ok(has_grown)
    }

    /// Runs the pipeline of a body, after building the indexes that its joins need.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn run_body<S: Sink>(
        &mut self,
        body: &PipelinePlan,
        rule: usize,
        sink: &mut S,
    ) -> Result<()> {
        if let Some(tried) = &body.tried
            && self.try_body(tried, rule, sink)?
        {
            return Ok(());
        }
        self.run_untried(body, rule, sink)
    }

    /// As `run_body`, without trying another join order first.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn run_untried<S: Sink>(
        &mut self,
        body: &PipelinePlan,
        rule: usize,
        sink: &mut S,
    ) -> Result<()> {
        self.index_for(body)?;
        let variables = self.context.plan.program.rules[rule].variables.len();
        let plan = body;
        let mut body = Pipeline::new(plan, variables, &self.context.computer())?;
        body.clock = self.clock_of(plan);
        body.set_enough(sink.enough());
        body.set_hints(self.hints.clone());
        body.sweep_from(&self.context);
        match self.worker_pool {
            Some(worker_pool) => {
                let parallel = ParallelPipeline::new(
                    worker_pool,
                    &self.context,
                    plan,
                    variables,
                    &self.hints,
                    sink,
                );
                parallel.run(&mut body)?;
            }
            None => drop(body.run(&self.context, &mut Serial(sink))?),
        }
        self.record(plan, body.clock.take());
        Ok(())
    }

    /// Runs the join order that starts with the bound variables, as long as it finds few rows.
    /// Returns whether it was completed.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn try_body<S: Sink>(
        &mut self,
        tried: &Alternative,
        rule: usize,
        sink: &mut S,
    ) -> Result<bool> {
        let key = std::ptr::from_ref(tried).addr();
        let rows_max = self.tried.get(&key).copied().unwrap_or(tried.rows_max);
        if rows_max == 0 {
            return Ok(false);
        }
        let (enough, hints) = (sink.enough(), self.hints.clone());
        let set_up = |body: &mut Pipeline<'_>| {
            body.set_enough(enough);
            body.set_hints(hints);
        };
        // Rows of an abandoned order must not be seen: they would be counted twice.
        let mut waiting = PendingRows::default();
        // The other order may read fewer or shorter values.
        let abandons = |error: &Error| matches!(error, Error::Limit(_));
        let trial = Trial { plan: &tried.plan, rule, rows_max };
        let rows_left = self.run_trial(&trial, set_up, &mut waiting, abandons)?;
        self.tried.insert(key, rows_left.unwrap_or(0));
        if rows_left.is_none() {
            return Ok(false);
        }
        for rows in waiting.found {
            if !sink.take(&self.context, &rows)? {
                break;
            }
        }
        Ok(true)
    }

    /// Runs a plan, and abandons it if it reads too many rows or fails with an error for which
    /// `abandons` is true. Returns the number of rows that it might still have read; `None` if it
    /// was abandoned. Then `out` must be dropped, because the values interned by the plan are
    /// released.
    ///
    /// # Errors
    /// The errors that stop the query.
    fn run_trial(
        &mut self,
        trial: &Trial<'_>,
        set_up: impl FnOnce(&mut Pipeline<'_>),
        out: &mut dyn RowOutput,
        abandons: impl FnOnce(&Error) -> bool,
    ) -> Result<Option<u64>> {
        let plan = trial.plan;
        self.index_for(plan)?;
        let variables = self.context.plan.program.rules[trial.rule].variables.len();
        let mut body = Pipeline::new(plan, variables, &self.context.computer())?;
        body.clock = self.clock_of(plan);
        set_up(&mut body);
        body.try_with(trial.rows_max);
        let mark = self.context.interner.mark();
        let has_failed = match body.run(&self.context, out) {
            Err(error) if abandons(&error) => true,
            other => {
                other?;
                false
            }
        };
        self.record(plan, body.clock.take());
        if has_failed || body.is_given_up() {
            drop(body);
            self.context.interner.sweep(&mark, &mut |_| {});
            return Ok(None);
        }
        Ok(Some(body.rows_left()))
    }

    /// Builds the indexes that a body's joins need.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn index_for(&mut self, body: &PipelinePlan) -> Result<()> {
        let (limits, interner) = (self.context.limits, self.context.interner);
        let check = || limits.check(interner.bytes());
        for planned in &body.steps {
            match &planned.step {
                Step::Derived { predicate, bound, .. } if !bound.is_empty() => {
                    let columns: Vec<usize> = bound.iter().map(|(column, _)| *column).collect();
                    let table = &self.context.tables[*predicate];
                    if !table.is_indexed(&columns) {
                        let is_copied = Arc::strong_count(table) > 1;
                        debug_assert!(
                            !is_copied,
                            "a table of a rule was shared before it was indexed"
                        );
                        self.context
                            .tables
                            .change(*predicate, |table| index(table, &columns, &check))?;
                    }
                }
                Step::Stored { stored, path, prefix, checks, .. } => {
                    if let Readable::Memory(table) = &mut self.context.relations[*stored] {
                        let keys = &self.context.plan.infos[*stored].paths[*path].keys;
                        let prefix = keys.iter().take(prefix.len()).copied();
                        let columns: Vec<usize> =
                            prefix.chain(checks.iter().map(|(column, _)| *column)).collect();
                        if !columns.is_empty() {
                            index(table, &columns, &check)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The profiler of a pipeline's steps, if the query is analyzed.
    fn clock_of(&self, plan: &PipelinePlan) -> Option<Clock> {
        self.profile.as_ref().map(|_| Clock::new(plan.steps.len()))
    }

    /// Records what the steps of a pipeline did.
    fn record(&mut self, plan: &PipelinePlan, clock: Option<Clock>) {
        if let (Some(profile), Some(clock)) = (&mut self.profile, clock) {
            profile.add(plan, clock);
        }
    }

    fn set_table(&mut self, predicate: PredicateId, table: Table) {
        self.context.marks[predicate] = Marks { old: 0, total: table.rows() };
        self.context.tables.change(predicate, |slot| *slot = Arc::new(table));
    }

    fn fill(&mut self, predicate: PredicateId, arity: usize, columns: &[Vec<Cell>]) -> Result<()> {
        let rows = columns.first().map_or(0, Vec::len);
        let table = Table::set(arity).with_rows(columns, rows, &|| self.context.check(0))?;
        self.context.check_rows(&table)?;
        self.set_table(predicate, table);
        Ok(())
    }

    fn groups(&self, aggregates: &[Option<AggregateUse>], span: Span) -> Result<Groups> {
        let computer = self.context.computer();
        let args = aggregates.iter().flatten().map(|used| {
            used.args.iter().map(|arg| computer.known(arg)).collect::<Result<Vec<Value>>>()
        });
        Ok(Groups::new(
            aggregates,
            args.collect::<Result<_>>()?,
            span,
            self.context.ambient.random(),
        ))
    }
}

/// Builds an index if it is missing. A shared table would be copied, so tables are indexed before
/// they are shared.
fn index(table: &mut Arc<Table>, columns: &[usize], check: Check<'_>) -> Result<()> {
    match table.is_indexed(columns) {
        true => Ok(()),
        false => Arc::make_mut(table).index(columns, check),
    }
}

fn aggregates_of(kind: &PredicateKind) -> &[Option<AggregateUse>] {
    match kind {
        PredicateKind::Inline { aggregates } => aggregates,
        _ => &[],
    }
}
