//! Runs one query by its plan: options, fast paths, execution, order and limit.

use crate::ambient::EnvAmbient;
use crate::engine::Engine;
use crate::query_options::{Options, cells_of};
use crate::run_options::Parameters;
use env::sync::Mutex;
use exec::column_list::ColumnList;
use exec::context::ExecContext;
use exec::error::{Error, Result};
use exec::explain::Analysis;
use exec::expr::Computer;
use exec::fast_path::depth_first::DepthFirst;
use exec::fast_path::point_lookup::PointLookup;
use exec::fixpoint::Fixpoint;
use exec::limits::QueryLimits;
use exec::profile::Profile;
use exec::query_result::QueryResult;
use exec::result_stream::{Consumer, Remaining, ResultStream};
use exec::sink::top_k::TopK;
use exec::storage::access_path::SHORT_ROWS;
use exec::storage::relation_source::Relation;
use exec::trie::cache::CachedTries;
use exec::value::cell::{Cell, Interner};
use exec::value::columns::Columns;
use plan::{Constant, PerStored, Plan, Wanted};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Read, Snapshot};

/// The inputs of a query, and the consumer of its rows.
pub(crate) struct QueryInput<'g> {
    pub(crate) read: &'g dyn Read,
    /// The snapshot, if it may be used for caches.
    pub(crate) lasting: Option<&'g dyn Snapshot>,
    /// Whether rows may go to the caller in any order.
    pub(crate) streamable: bool,
    /// The consumer of rows as they are found, if there is one.
    pub(crate) consumer: Option<&'g Consumer<'g>>,
}

/// Columns of the entry rule in `:order`, and whether each is descending. Names that are not
/// columns are skipped.
fn order_of(query: &syntax::Query, plan: &Plan) -> Vec<(usize, bool)> {
    let headers = &plan.program.predicates[plan.program.entry].columns;
    let by = query.options.order.iter().filter_map(|(name, descends)| {
        let place = headers.iter().position(|header| *header == name.text)?;
        Some((place, *descends))
    });
    by.collect()
}

/// Names of the result's columns.
fn headers_of(plan: &Plan, columns: usize) -> Vec<String> {
    let headers = &plan.program.predicates[plan.program.entry].columns;
    match headers.is_empty() {
        true => (0..columns).map(|i| format!("_{i}")).collect(),
        false => headers.clone(),
    }
}

/// How many rows a query asks for.
struct WantedRows {
    is_ordered: bool,
    /// With those that are passed over. One at least: an assertion may ask whether there are any.
    rows: Option<usize>,
    /// So many rows are enough, whichever.
    enough: usize,
}

impl WantedRows {
    fn new(query: &syntax::Query, options: &Options) -> Self {
        let is_ordered = !query.options.order.is_empty();
        let rows = options.limit.map(|limit| limit.saturating_add(options.offset).max(1));
        let enough = rows.filter(|_| !is_ordered).unwrap_or(usize::MAX);
        Self { is_ordered, rows, enough }
    }
}

/// A query whose options and parameters are known.
#[derive(Clone, Copy)]
struct RunningQuery<'q> {
    query: &'q syntax::Query,
    options: &'q Options,
    plan: &'q Plan,
    interner: &'q Arc<Interner>,
    limits: &'q QueryLimits<'q>,
    ambient: &'q EnvAmbient<'q>,
}

/// The rows of the entry rule, before `:order` and `:limit`.
struct Found {
    rows: Columns,
    /// So many of the first columns tell the rows apart.
    keys: usize,
    /// The fast path that found them, if one did.
    fast_path: Option<&'static str>,
    /// The measurements of the execution, if requested.
    profile: Option<Profile>,
    /// Whether the rows went to the consumer.
    has_streamed: bool,
    /// The rows in typed columns and in order; then there are no others.
    columns: Option<ColumnList>,
}

impl RunningQuery<'_> {
    /// Orders the rows, limits their number, checks the assertion, and tells the analysis.
    fn finish(&self, found: Found, analysis: Option<&mut Analysis>) -> Result<QueryResult> {
        let Self { options, plan, limits, .. } = *self;
        if !found.has_streamed {
            return self.ordered(found, analysis);
        }
        if let (Some(profile), Some(analysis)) = (&found.profile, analysis) {
            let entry = profile.groups.get(plan.group_of[plan.program.entry]);
            let rows = entry.map_or(0, |group| group.rows as usize);
            let rows = rows.saturating_sub(options.offset).min(options.limit.unwrap_or(rows));
            analysis.end(profile, plan, rows, limits);
        }
        // The consumer has received all rows, and ignores the returned output.
        Ok(QueryResult::status("OK"))
    }

    fn ordered(&self, found: Found, analysis: Option<&mut Analysis>) -> Result<QueryResult> {
        let Self { query, options, plan, interner, limits, .. } = *self;
        let Found { rows: Columns { rows, columns }, keys, fast_path, profile, .. } = found;
        let headers = headers_of(plan, columns.len());
        let rows = found.columns.as_ref().map_or(rows, ColumnList::rows);
        let order = match found.columns {
            Some(_) => None,
            None => order(query, &headers, &columns[..], rows, keys, interner, limits)?,
        };
        let from = options.offset.min(rows);
        let to = options.limit.map_or(rows, |limit| from.saturating_add(limit).min(rows));
        check_assertion(query, rows)?;
        if let Some(analysis) = analysis {
            match (fast_path, profile) {
                (Some(name), _) => analysis.end_fast_path(name, to - from, limits),
                (None, Some(profile)) => analysis.end(&profile, plan, to - from, limits),
                (None, None) => {}
            }
        }
        if let Some(list) = found.columns {
            let list = if (from, to) == (0, rows) { list } else { list.slice(from..to) };
            return Ok(QueryResult::of_list(headers, list).with_types(plan.result_types()));
        }
        let columns = picked(columns, rows, order.as_deref(), from..to, limits)?;
        let output = QueryResult::new(headers, columns, to - from, Arc::clone(interner));
        Ok(output.with_types(plan.result_types()))
    }
}

impl Engine {
    #[expect(clippy::too_many_arguments, reason = "the inputs of a query")]
    pub(crate) fn run_query(
        &self,
        query: &syntax::Query,
        plan: &Plan,
        relations: PerStored<Relation>,
        input: QueryInput<'_>,
        interner: &Arc<Interner>,
        parameters: &Parameters,
        limits: &QueryLimits<'_>,
        analysis: Option<&mut Analysis>,
    ) -> Result<QueryResult> {
        let ambient = EnvAmbient(limits);
        let options = Options::new(&query.options, parameters, interner, &ambient)?;
        let earlier = options.timeout_s.map(|seconds| limits.begin_part(seconds));
        let outcome = self.run_options(
            query, &options, plan, relations, input, interner, parameters, limits, analysis,
        );
        earlier.into_iter().for_each(|earlier| limits.end_part(earlier));
        outcome
    }

    #[expect(clippy::too_many_arguments, reason = "the inputs of a query")]
    fn run_options(
        &self,
        query: &syntax::Query,
        options: &Options,
        plan: &Plan,
        relations: PerStored<Relation>,
        input: QueryInput<'_>,
        interner: &Arc<Interner>,
        parameters: &Parameters,
        limits: &QueryLimits<'_>,
        analysis: Option<&mut Analysis>,
    ) -> Result<QueryResult> {
        let ambient = EnvAmbient(limits);
        let given = cells_of(&plan.program.parameters, parameters, interner, |name| {
            query.span_of_parameter(name)
        })?;
        if let Some(seconds) = options.sleep_s {
            limits.check_may_block()?;
            self.sleep(seconds, limits)?;
        }
        let computer = Computer::new(interner, &given, &ambient);
        check_constants(plan, &computer, limits)?;
        let wanted = WantedRows::new(query, options);
        let running = RunningQuery { query, options, plan, interner, limits, ambient: &ambient };
        let fast = fast_path(plan, &relations, input.read, &computer, wanted.enough, limits)?;
        let found = match fast {
            Some((name, rows)) => {
                let keys = rows.columns.len();
                let (fast_path, has_streamed) = (Some(name), false);
                Found { rows, keys, fast_path, profile: None, has_streamed, columns: None }
            }
            None => {
                limits.check_may_block()?;
                let is_profiled = analysis.is_some();
                self.execute(&running, relations, given, input, &wanted, is_profiled)?
            }
        };
        running.finish(found, analysis)
    }

    /// Fills the tables of a plan, or hands the rows to the consumer while they are found.
    fn execute<'q>(
        &'q self,
        running: &RunningQuery<'q>,
        relations: PerStored<Relation>,
        given: Vec<Cell>,
        QueryInput { read, lasting, streamable, consumer }: QueryInput<'q>,
        wanted: &WantedRows,
        is_profiled: bool,
    ) -> Result<Found> {
        let RunningQuery { query, options, plan, interner, limits, ambient } = *running;
        let kept = lasting.map(|snapshot| exec::fixed_rule::CachedProjections {
            cache: &self.projections,
            snapshot,
        });
        let (own, host, files) = (&self.user_defined, self.host(), &self.files);
        let algorithms = exec::fixed_rule::Library { kept, own, host, files };
        let stream = consumer.filter(|_| !wanted.is_ordered && query.options.assert_some.is_none());
        let stream = stream.map(|consumer| self.result_stream(consumer, options, plan, limits));
        let mut context =
            ExecContext::new(plan, read, interner, relations, given, limits, ambient, &algorithms)?;
        context.cached_tries = lasting.map(|snapshot| CachedTries { cache: &self.tries, snapshot });
        context.cached_vectors = Some(&self.vectors);
        let fixpoint = Fixpoint::new(context);
        let mut fixpoint = if is_profiled { fixpoint.profiled() } else { fixpoint };
        fixpoint.worker_pool = Some(&self.worker_pool);
        fixpoint.round_order = self.round_order.load(Relaxed);
        let order = order_of(query, plan);
        fixpoint.streamable = streamable.then(|| order.iter().map(|(column, _)| *column).collect());
        fixpoint.takes_columns = streamable && query.options.order.is_empty();
        if let Some(rows) = wanted.rows.filter(|_| !order.is_empty()) {
            fixpoint.first = Some(Arc::new(TopK { order, rows, last: Mutex::default() }));
        }
        fixpoint.stream = stream.as_ref();
        fixpoint.run(wanted.enough)?;
        let columns = fixpoint.take_columns();
        let (rows, keys) = fixpoint.take_result();
        let has_streamed = stream.as_ref().is_some_and(ResultStream::has_begun);
        let profile = fixpoint.profile.take();
        Ok(Found { rows, keys, fast_path: None, profile, has_streamed, columns })
    }

    /// A result stream for the rows within limit and offset.
    fn result_stream<'q>(
        &self,
        consumer: &'q Consumer<'q>,
        options: &Options,
        plan: &Plan,
        limits: &'q QueryLimits<'q>,
    ) -> ResultStream<'q> {
        let columns = plan.program.predicates[plan.program.entry].columns.len();
        let rows = options.limit.unwrap_or(usize::MAX);
        ResultStream {
            consumer,
            headers: headers_of(plan, columns),
            types: Arc::clone(plan.result_types()),
            limits,
            range_rows: self.range_rows.load(Relaxed),
            left: Mutex::new(Remaining { skipped: options.offset, rows }),
        }
    }

    pub(crate) fn sleep(&self, seconds: f64, limits: &QueryLimits<'_>) -> Result<()> {
        let until = self.env.monotonic_us().saturating_add((seconds.clamp(0.0, 1e6) * 1e6) as u64);
        while self.env.monotonic_us() < until {
            limits.check(0)?;
            let left = until.saturating_sub(self.env.monotonic_us()).min(20_000);
            exec::limits::wait(&*self.env, left);
        }
        Ok(())
    }
}

/// The rows in the order that the query asks for; `None` where they are in it. The first `keys`
/// columns tell rows apart.
fn order(
    query: &syntax::Query,
    headers: &[String],
    columns: &[Vec<Cell>],
    rows: usize,
    keys: usize,
    interner: &Interner,
    limits: &QueryLimits<'_>,
) -> Result<Option<Vec<u32>>> {
    let mut order_by: Vec<(&[Cell], bool)> = Vec::new();
    for (name, descends) in &query.options.order {
        let Some(place) = headers.iter().position(|header| *header == name.text) else {
            let near = syntax::closest(&name.text, headers.iter().map(String::as_str));
            let what = format!("`:order` names `{}`, which is no column of the result", name.text);
            return Err(Error::unknown(what, name.span, near));
        };
        order_by.push((&columns[place], *descends));
    }
    order_by.extend(columns[..keys].iter().map(|column| (column.as_slice(), false)));
    if exec::value::sort::is_in_order(&order_by, rows) {
        return Ok(None);
    }
    let check = || limits.check(interner.bytes());
    exec::value::sort::order(&order_by, rows, interner, &check).map(Some)
}

/// Checks the query's assertion about its rows.
///
/// # Errors
/// The assertion does not hold.
fn check_assertion(query: &syntax::Query, rows: usize) -> Result<()> {
    let Some(wants_some) = query.options.assert_some else { return Ok(()) };
    let what = match (wants_some, rows == 0) {
        (true, true) => "the query is asserted to give rows, and gives none",
        (false, false) => "the query is asserted to give no rows, and gives some",
        _ => return Ok(()),
    };
    Err(Error::value(what, query.span))
}

/// A range of the ordered rows.
fn picked(
    columns: Vec<Vec<Cell>>,
    rows: usize,
    order: Option<&[u32]>,
    wanted: Range<usize>,
    limits: &QueryLimits<'_>,
) -> Result<Vec<Vec<Cell>>> {
    Ok(match order {
        None if wanted == (0..rows) => columns,
        None => columns.iter().map(|column| column[wanted.clone()].to_vec()).collect(),
        Some(order) => {
            let order = &order[wanted];
            let sorted = |column: &Vec<Cell>| {
                limits.check(0)?;
                Ok(order.iter().map(|&row| column[row as usize]).collect())
            };
            columns.iter().map(sorted).collect::<Result<_>>()?
        }
    })
}

/// Evaluates constant expressions first, so that an error does not depend on whether rows reach
/// them.
fn check_constants(plan: &Plan, computer: &Computer<'_>, limits: &QueryLimits<'_>) -> Result<()> {
    if !plan.constants.is_empty()
        && limits.is_non_blocking()
        && !crate::cheap_plan::computes_little(plan)
    {
        return Err(Error::WouldBlock);
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

/// The rows of a plan that needs neither tables nor batches, and the name of the fast path that
/// found them; `None` where there is none.
fn fast_path(
    plan: &Plan,
    relations: &PerStored<Relation>,
    read: &dyn Read,
    computer: &Computer<'_>,
    enough: usize,
    limits: &QueryLimits<'_>,
) -> Result<Option<(&'static str, Columns)>> {
    limits.check(0)?;
    if limits.is_non_blocking() && !crate::cheap_plan::computes_little(plan) {
        return Err(Error::WouldBlock);
    }
    let (mut name, mut found) = match PointLookup::of(plan, relations) {
        Some(lookup) => ("point_lookup", lookup.rows(read, computer, enough)?),
        None => ("values", exec::fast_path::values::rows_of(plan, computer, limits)?),
    };
    if found.is_none()
        && enough <= SHORT_ROWS
        && let Some(search) = DepthFirst::of(plan, relations, computer)?
    {
        (name, found) = ("depth_first", search.rows(read, computer, enough, limits)?);
    }
    if found.as_ref().is_some_and(|found| found.rows > SHORT_ROWS) {
        limits.check_may_block()?;
    }
    limits.check(computer.interner.bytes())?;
    Ok(found.map(|found| (name, found)))
}
