//! One query by its plan: options, fast paths, execution, order and limit.

use crate::ambient::EnvAmbient;
use crate::engine::Engine;
use crate::query_options::{Options, cells_of};
use crate::run_options::Parameters;
use env::sync::Mutex;
use exec::context::ExecContext;
use exec::error::{Error, Result};
use exec::explain::Analysis;
use exec::expr::Computer;
use exec::fast_path::depth_first::Walk;
use exec::fast_path::point_lookup::Lookup;
use exec::fixpoint::Fixpoint;
use exec::limits::Watch;
use exec::output::Output;
use exec::result_stream::{Left, Outlet, Taker};
use exec::sink::top_k::First;
use exec::storage::access_path::SHORT_ROWS;
use exec::storage::relation_source::Relation;
use exec::trie::cache::KeptTries;
use exec::value::cell::{Cell, Interner};
use exec::value::columns::Columns;
use plan::{Constant, Plan, Wanted};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::Read;
use store::Snapshot;

/// What a query reads, and where its rows go.
pub(crate) struct Ground<'g> {
    pub(crate) read: &'g dyn Read,
    /// The same, where it may be kept beyond the query.
    pub(crate) lasting: Option<&'g dyn Snapshot>,
    /// To the caller, as they are.
    pub(crate) goes_out: bool,
    /// To the caller while they are found, where they can.
    pub(crate) take: Option<&'g Taker<'g>>,
}

/// Columns of the entry that `:order` names, and whether each descends; what is no column is left out.
fn order_of(query: &syntax::Query, plan: &Plan) -> Vec<(usize, bool)> {
    let headers = &plan.program.predicates[plan.program.entry].columns;
    let by = query.options.order.iter().filter_map(|(name, descends)| {
        let place = headers.iter().position(|header| *header == name.text)?;
        Some((place, *descends))
    });
    by.collect()
}

/// Names of the result's columns, of which there are so many.
fn headers_of(plan: &Plan, columns: usize) -> Vec<String> {
    let headers = &plan.program.predicates[plan.program.entry].columns;
    match headers.is_empty() {
        true => (0..columns).map(|i| format!("_{i}")).collect(),
        false => headers.clone(),
    }
}

impl Engine {
    #[expect(clippy::too_many_arguments, reason = "what a query stands on")]
    pub(crate) fn run_query(
        &self,
        query: &syntax::Query,
        plan: &Plan,
        relations: Vec<Relation>,
        ground: Ground<'_>,
        interner: &Arc<Interner>,
        parameters: &Parameters,
        watch: &Watch<'_>,
        analysis: Option<&mut Analysis>,
    ) -> Result<Output> {
        let ambient = EnvAmbient(watch);
        let options = Options::new(&query.options, parameters, interner, &ambient)?;
        let earlier = options.timeout_s.map(|seconds| watch.begin_part(seconds));
        let outcome = self.run_options(
            query, &options, plan, relations, ground, interner, parameters, watch, analysis,
        );
        earlier.into_iter().for_each(|earlier| watch.end_part(earlier));
        outcome
    }

    #[expect(clippy::too_many_arguments, reason = "what a query stands on")]
    pub(crate) fn run_options(
        &self,
        query: &syntax::Query,
        options: &Options,
        plan: &Plan,
        relations: Vec<Relation>,
        Ground { read, lasting, goes_out, take }: Ground<'_>,
        interner: &Arc<Interner>,
        parameters: &Parameters,
        watch: &Watch<'_>,
        analysis: Option<&mut Analysis>,
    ) -> Result<Output> {
        let ambient = EnvAmbient(watch);
        let given = cells_of(&plan.program.parameters, parameters, interner, |name| {
            query.place_of_parameter(name)
        })?;
        if let Some(seconds) = options.sleep_s {
            watch.may_take_long()?;
            self.sleep(seconds, watch)?;
        }
        let kept =
            lasting.map(|snapshot| exec::fixed_rule::Kept { cache: &self.projections, snapshot });
        let (own, host, files) = (&self.own, self.host(), &self.files);
        let algorithms = exec::fixed_rule::Library { kept, own, host, files };
        let is_ordered = !query.options.order.is_empty();
        // One row at least: an assertion may ask whether there are any.
        let wanted = options.limit.map(|limit| limit.saturating_add(options.offset).max(1));
        let enough = wanted.filter(|_| !is_ordered).unwrap_or(usize::MAX);
        let computer = Computer::new(interner, &given, &ambient);
        check_constants(plan, &computer, watch)?;
        let short = match &analysis {
            None => short(plan, &relations, read, &computer, enough, watch)?,
            Some(_) => None,
        };
        let outlet = take.filter(|_| !is_ordered && query.options.assert_some.is_none());
        let outlet = outlet.map(|taker| Outlet {
            taker,
            headers: headers_of(plan, plan.program.predicates[plan.program.entry].columns.len()),
            types: plan::entry_types(plan),
            watch,
            range_rows: self.range_rows.load(Relaxed),
            left: Mutex::new(Left {
                skipped: options.offset,
                rows: options.limit.unwrap_or(usize::MAX),
            }),
        });
        let mut running = None;
        let (Columns { rows, columns }, told) = match short {
            Some(found) => {
                let all = found.columns.len();
                (found, all)
            }
            None => {
                watch.may_take_long()?;
                let mut context = ExecContext::new(
                    plan,
                    read,
                    interner,
                    relations,
                    given,
                    watch,
                    &ambient,
                    &algorithms,
                )?;
                context.kept_tries =
                    lasting.map(|snapshot| KeptTries { cache: &self.tries, snapshot });
                let fixpoint = Fixpoint::new(context);
                let running = running.insert(match &analysis {
                    Some(_) => fixpoint.profiled(),
                    None => fixpoint,
                });
                running.helpers = Some(&self.helpers);
                let order = order_of(query, plan);
                running.goes_out =
                    goes_out.then(|| order.iter().map(|(column, _)| *column).collect());
                if let Some(rows) = wanted.filter(|_| !order.is_empty()) {
                    running.first = Some(Arc::new(First { order, rows, last: Mutex::default() }));
                }
                running.outlet = outlet.as_ref();
                running.run(enough)?;
                if let Some(outlet) = &outlet
                    && outlet.has_begun()
                {
                    // All rows went out; what is returned beside them nobody looks at.
                    return Ok(Output::status("OK"));
                }
                running.take_result()
            }
        };
        let headers = headers_of(plan, columns.len());
        let mut order_by: Vec<(&[Cell], bool)> = Vec::new();
        for (name, descends) in &query.options.order {
            let Some(place) = headers.iter().position(|header| *header == name.text) else {
                let near = syntax::closest(&name.text, headers.iter().map(String::as_str));
                let what =
                    format!("`:order` names `{}`, which is no column of the result", name.text);
                return Err(Error::unknown(what, name.span, near));
            };
            order_by.push((&columns[place], *descends));
        }
        order_by.extend(columns[..told].iter().map(|column| (column.as_slice(), false)));
        let order = match exec::value::sort::is_in_order(&order_by, rows) {
            true => None,
            false => {
                let check = || watch.check(interner.bytes());
                Some(exec::value::sort::order(&order_by, rows, interner, &check)?)
            }
        };
        let from = options.offset.min(rows);
        let to = options.limit.map_or(rows, |limit| from.saturating_add(limit).min(rows));
        if let Some(wants_some) = query.options.assert_some
            && wants_some == (rows == 0)
        {
            let what = match wants_some {
                true => "the query is asserted to give rows, and gives none",
                false => "the query is asserted to give no rows, and gives some",
            };
            return Err(Error::value(what, query.span));
        }
        if let (Some(analysis), Some(running)) = (analysis, &running) {
            analysis.end(running, to - from);
        }
        let columns = match order {
            None if from == 0 && to == rows => columns,
            None => columns.iter().map(|column| column[from..to].to_vec()).collect(),
            Some(order) => {
                let order = &order[from..to];
                let sorted = |column: &Vec<Cell>| {
                    watch.check(0)?;
                    Ok(order.iter().map(|&row| column[row as usize]).collect())
                };
                columns.iter().map(sorted).collect::<Result<_>>()?
            }
        };
        let output = Output::new(headers, columns, to - from, Arc::clone(interner));
        Ok(output.with_types(|| plan::entry_types(plan)))
    }

    pub(crate) fn sleep(&self, seconds: f64, watch: &Watch<'_>) -> Result<()> {
        let until = self.env.monotonic_us().saturating_add((seconds.clamp(0.0, 1e6) * 1e6) as u64);
        while self.env.monotonic_us() < until {
            watch.check(0)?;
            let left = until.saturating_sub(self.env.monotonic_us()).min(20_000);
            exec::limits::wait(&*self.env, left);
        }
        Ok(())
    }
}

/// Computes what needs no rows, so that whether it fails does not depend on whether rows come to it.
fn check_constants(plan: &Plan, computer: &Computer<'_>, watch: &Watch<'_>) -> Result<()> {
    if !plan.constants.is_empty() && watch.is_brief() && !crate::cheap_plan::computes_little(plan) {
        return Err(Error::Long);
    }
    for Constant { expr, wanted, span } in &plan.constants {
        let cell = computer.known_cell(expr)?;
        match wanted {
            Wanted::Any => {}
            Wanted::List => {
                computer
                    .interner
                    .with(cell, |value| exec::value::list_items::check_list(value, *span))?;
            }
            Wanted::Bool => {
                computer.truth(cell, "a condition", *span)?;
            }
        }
    }
    Ok(())
}

/// The rows of a plan that needs neither tables nor batches; `None` where it is none such.
fn short(
    plan: &Plan,
    relations: &[Relation],
    read: &dyn Read,
    computer: &Computer<'_>,
    enough: usize,
    watch: &Watch<'_>,
) -> Result<Option<Columns>> {
    watch.check(0)?;
    if watch.is_brief() && !crate::cheap_plan::computes_little(plan) {
        return Err(Error::Long);
    }
    let mut found = match Lookup::of(plan, relations) {
        Some(lookup) => lookup.rows(read, computer, enough)?,
        None => exec::fast_path::values::rows_of(plan, computer, watch)?,
    };
    if found.is_none()
        && enough <= SHORT_ROWS
        && let Some(walk) = Walk::of(plan, relations, computer)?
    {
        found = walk.rows(read, computer, enough, watch)?;
    }
    if found.as_ref().is_some_and(|found| found.rows > SHORT_ROWS) {
        watch.may_take_long()?;
    }
    watch.check(computer.interner.bytes())?;
    Ok(found)
}
