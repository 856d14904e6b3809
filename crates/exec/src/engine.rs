//! Scripts from text to rows.

mod brief;
pub(crate) mod carried;
mod ephemeral;
pub(crate) mod frames;
mod inside;
mod load;
mod moments;
mod options;
mod parsed;
pub(crate) mod plans;
mod register;
pub(crate) mod rows;
mod session;
mod stream;
mod transactions;

use crate::callback::Callbacks;
use crate::caught::caught;
use crate::context::ExecContext;
use crate::engine::moments::Moments;
use crate::engine::options::{Options, cells_of};
use crate::engine::parsed::{Parsed, Stand};
use crate::engine::plans::PLAN_AGE_US;
use crate::engine::plans::{Planned, Plans};
use crate::engine::session::Session;
use crate::error::{Error, Result};
use crate::explain::Analysis;
use crate::expr::Computer;
use crate::fast_path::depth_first::Walk;
use crate::fast_path::point_lookup::Lookup;
use crate::files::Files;
use crate::fixed_rule::Projections;
use crate::fixed_rule::registry::Own;
use crate::fixpoint::Fixpoint;
use crate::host::Host;
use crate::limits::Watch;
use crate::output::Output;
use crate::parallel::Helpers;
use crate::result_stream::{Left, Outlet, Taker};
use crate::run_options::Parameters;
use crate::run_options::Run;
use crate::sink::top_k::First;
use crate::storage::access_path::SHORT_ROWS;
use crate::storage::relation_source::{Relation, StoredRelation};
use crate::storage::statistics::Statistics;
use crate::trie::cache::{KeptTries, Tries};
use crate::value::cell::{Cell, Interner};
use crate::value::columns::Columns;
use crate::view::{Ephemeral, View};
use env::Env;
use env::sync::{Mutex, RwLock};
use function::Ambient;
use plan::{Constant, Plan, Wanted};
use relation::{Catalog, Names};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use store::{ErrorKind, Read, Snapshot, Store, Transaction};
use syntax::{Script, SystemOp};

/// Seconds that a query may take where neither it nor the caller says otherwise.
const TIMEOUT_S: f64 = 300.0;

/// Graphs of stored relations that are kept from query to query take as much as a query may, divided by this.
const PROJECTIONS_SHARE: u64 = 4;

/// Runs scripts over a store.
pub struct Engine {
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    catalog: Catalog,
    plans: Plans,
    statistics: Statistics,
    running: Mutex<BTreeMap<u64, Running>>,
    /// Shared by scripts that change rows; held alone while an index is made or dropped.
    changing: RwLock<()>,
    /// Held while a commit changes what names stand for.
    naming: Mutex<()>,
    /// Counts what whoever began before must not write past (`engine/moments.rs`).
    moments: Moments,
    next_id: AtomicU64,
    memory_bytes_max: u64,
    projections: Projections,
    pub(crate) tries: Tries,
    helpers: Helpers,
    host: Option<Arc<dyn Host>>,
    /// Files that scripts may read.
    files: Files,
    callbacks: Callbacks,
    own: Own,
    pauses: env::Pauses,
    /// Rows of a range of a relation that goes out in parts.
    range_rows: AtomicU64,
}

/// What a query reads, and where its rows go.
struct Ground<'g> {
    read: &'g dyn Read,
    /// The same, where it may be kept beyond the query.
    lasting: Option<&'g dyn Snapshot>,
    /// To the caller, as they are.
    goes_out: bool,
    /// To the caller while they are found, where they can.
    take: Option<&'g Taker<'g>>,
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

/// A script that runs.
struct Running {
    started_us: u64,
    text: Arc<str>,
    cancelled: Arc<AtomicBool>,
}

/// The clock and randomness of an environment, and what watches a query.
struct EnvAmbient<'e>(&'e Watch<'e>);

impl Ambient for EnvAmbient<'_> {
    fn now_us(&self) -> i64 {
        i64::try_from(self.0.env().wall_us()).unwrap_or(i64::MAX)
    }

    fn moment_us(&self) -> i64 {
        self.0.moment_us()
    }

    fn random(&self) -> u64 {
        self.0.env().random_u64()
    }

    fn go_on(&self) -> std::result::Result<(), function::Failure> {
        self.0.check(0).map_err(|error| function::Failure {
            is_stopped: true,
            ..function::Failure::caused(error)
        })
    }

    fn ask(&self, bytes: u64) -> std::result::Result<(), function::Failure> {
        self.0.ask(bytes).map_err(|error| match error {
            Error::Limit(what) => function::Failure::limit(what),
            other => function::Failure::stopped(other.to_string()),
        })
    }
}

impl Engine {
    /// An engine whose queries hold at most so many bytes each.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, env: Arc<dyn Env>, memory_bytes_max: u64) -> Self {
        Self {
            catalog: Catalog::new(Arc::clone(&store)),
            store,
            helpers: Helpers::new(env.parallelism()),
            env,
            plans: Plans::default(),
            statistics: Statistics::default(),
            running: Mutex::default(),
            changing: RwLock::default(),
            naming: Mutex::default(),
            moments: Moments::default(),
            next_id: AtomicU64::new(1),
            memory_bytes_max,
            projections: Projections::new(memory_bytes_max / PROJECTIONS_SHARE),
            tries: Tries::new(memory_bytes_max / PROJECTIONS_SHARE),
            host: None,
            files: Files::default(),
            callbacks: Callbacks::default(),
            own: Own::default(),
            pauses: env::Pauses::new(),
            range_rows: crate::result_stream::RANGE_ROWS.into(),
        }
    }

    /// Of a database that keeps something beside the store.
    #[must_use]
    pub fn with_host(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Whose scripts read these files of the machine, and no others.
    #[must_use]
    pub fn with_files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    pub(crate) fn host(&self) -> Option<&dyn Host> {
        self.host.as_deref()
    }

    /// Lets other threads help a query once it has made so many rows, in the place of some ten thousand: so that tests see them help.
    #[doc(hidden)]
    pub fn set_help_rows(&self, rows: usize) {
        self.helpers.set_rows_min(rows);
    }

    /// Lets statistics of relations with so many rows or more say how joins run, in the place of some thousand: so that tests of small ones see it.
    #[doc(hidden)]
    pub fn set_sampled_rows(&self, rows: u64) {
        self.statistics.set_sampled_min(rows);
    }

    /// Lets relations that go out in parts be read so many rows at once. For tests.
    #[doc(hidden)]
    pub fn set_range_rows(&self, rows: u64) {
        self.range_rows.store(rows.max(1), Relaxed);
    }

    /// How often other threads were let help. For tests.
    #[doc(hidden)]
    pub fn times_helped(&self) -> u64 {
        self.helpers.times_taken()
    }

    /// Runs a script in a transaction of its own.
    ///
    /// # Errors
    /// See [`Error`]; nothing was changed then.
    pub fn run(&self, text: &str, parameters: &Parameters) -> Result<Output> {
        self.run_with(text, &Run::new(parameters))
    }

    /// The same, with limits of the caller's.
    ///
    /// # Errors
    /// See [`Error`]; nothing was changed then. [`Error::Long`] only where [`Run::brief`] is asked for.
    pub fn run_with(&self, text: &str, run: &Run<'_>) -> Result<Output> {
        caught(|| self.run_uncaught(text, run))
    }

    fn run_uncaught(&self, text: &str, run: &Run<'_>) -> Result<Output> {
        self.store.check_open()?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let moment = self.present(run)?;
        let known = self.plans.get(text);
        if let Some(planned) = known
            && self.env.monotonic_us().saturating_sub(planned.made_us) < PLAN_AGE_US
        {
            let _running = self.register(&planned.text, &cancelled);
            match self.run_planned(&planned, run, &cancelled, moment) {
                // A relation may have gone since the plan was made.
                // Of a result that is handed out in parts, some may have been.
                Err(Error::Store(error))
                    if error.kind() == ErrorKind::InvalidInput
                        && !run.take.is_some_and(Taker::has_begun) =>
                {
                    self.plans.remove(text);
                }
                Ok(None) => {}
                Ok(Some(output)) => return Ok(output),
                Err(error) => return Err(error),
            }
        }
        let parsed = match run.brief {
            Some(brief) => self.parsed_briefly(text, brief)?,
            None => self.plans.parse(text)?,
        };
        let script = &parsed.script;
        let _running = self.register(&parsed.text, &cancelled);
        if let Script::Query(query) = script
            && query.options.mutation.is_none()
        {
            loop {
                if let Some(output) = self.ask_planned(query, &parsed, run, &cancelled)? {
                    return Ok(output);
                }
            }
        }
        if run.read_only
            && let Script::System(op) = script
        {
            crate::script_kind::refuse_change(op)?;
        }
        if let Some(host) = &self.host {
            host.write_waiting(None)?;
        }
        if let Script::System(op @ (SystemOp::IndexCreate(..) | SystemOp::IndexDrop(..))) = script {
            self.check_outside()?;
            let _alone = self.changing.write();
            let watch = self.watch(run, &cancelled);
            // Of a large relation it takes as long as it takes.
            watch.set_timeout(0.0);
            let output = crate::system::index(self, op, &watch);
            self.plans.clear();
            self.moments.pass();
            return output;
        }
        self.in_transaction(Some(&parsed), run, &cancelled, |session| session.run(script))
    }

    /// Plans a query, keeps the plan and runs it; `None` where what names stand for has changed meanwhile.
    fn ask_planned(
        &self,
        query: &syntax::Query,
        parsed: &Parsed,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Option<Output>> {
        let moment = self.moments.now(&*self.env);
        let generation = self.plans.generation();
        let snapshot = self.store.snapshot();
        let planned = self.plan(query, &*snapshot, &BTreeMap::new(), &Names::default());
        if !self.moments.is(moment) {
            return Ok(None);
        }
        let (plan, relations) = planned?;
        drop(snapshot);
        let planned = Arc::new(Planned {
            text: Arc::clone(&parsed.text),
            levels: parsed.levels,
            query: query.clone(),
            plan,
            relations,
            made_us: self.env.monotonic_us(),
        });
        self.plans.put(&planned, generation);
        self.run_planned(&planned, run, cancelled, moment)
    }

    /// Forgets how queries run: what they stand on may have changed otherwise than by scripts.
    pub fn let_plans_go(&self) {
        self.plans.clear();
    }

    fn session<'e>(
        &'e self,
        transaction: &'e dyn Transaction,
        run: &Run<'e>,
        watch: Watch<'e>,
    ) -> Session<'e> {
        Session {
            engine: self,
            transaction,
            is_callers: false,
            read_only: run.read_only,
            interner: Arc::default(),
            parameters: run.parameters,
            ephemeral: BTreeMap::new(),
            watch,
            debug: run.debug,
            names: Names::default(),
            of_all: None,
            before_triggers: None,
            lets_plans_go: false,
            in_trigger: false,
            has_numbered: false,
            changed: Vec::new(),
            parsed: None,
            stand: Stand::default(),
            used_kept: std::cell::Cell::new(false),
            written: Vec::new(),
        }
    }

    fn watch<'r>(&self, run: &Run<'r>, cancelled: &Arc<AtomicBool>) -> Watch<'r> {
        let memory_bytes_max = run.memory_bytes_max.unwrap_or(u64::MAX).min(self.memory_bytes_max);
        let watch = Watch::new(Arc::clone(&self.env), Arc::clone(cancelled), memory_bytes_max)
            .with_caller(run.go_on, run.timeout_s)
            .with_files(run.files)
            .briefly(run.brief.is_some());
        // Who says how long it may take, says so for longer than the default too.
        watch.set_timeout(if run.timeout_s.is_some() { 0.0 } else { TIMEOUT_S });
        watch
    }

    /// A watch of what nobody stops.
    pub(crate) fn patient_watch(&self) -> Watch<'static> {
        Watch::new(Arc::clone(&self.env), Arc::default(), self.memory_bytes_max)
    }

    fn register(&self, text: &Arc<str>, cancelled: &Arc<AtomicBool>) -> Registered<'_> {
        let id = self.next_id.fetch_add(1, Relaxed);
        let running = Running {
            started_us: self.env.wall_us(),
            text: Arc::clone(text),
            cancelled: Arc::clone(cancelled),
        };
        self.running.lock().insert(id, running);
        Registered { engine: self, id }
    }

    fn plan(
        &self,
        query: &syntax::Query,
        read: &dyn Read,
        ephemeral: &BTreeMap<String, Ephemeral>,
        names: &Names,
    ) -> Result<(Plan, Vec<Relation>)> {
        let spread = |relation: &StoredRelation, rows: u64| {
            self.statistics.of(relation, rows, &*self.store, &*self.env)
        };
        let view = View::new(&self.catalog, read, ephemeral, names, &spread, &self.own);
        let plan = plan::plan(query, &view);
        let found = view.into_relations()?;
        let plan = plan?;
        let relations =
            plan.program.stored.iter().map(|stored| found[stored.handle].clone()).collect();
        Ok((plan, relations))
    }

    /// Runs a query by its plan; `None` where what names stand for has changed since `moment`, which was asked for before the plan.
    fn run_planned(
        &self,
        planned: &Planned,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
        moment: u64,
    ) -> Result<Option<Output>> {
        let Planned { query, plan, relations, .. } = planned;
        if let Some(host) = &self.host {
            for keyspace in relations.iter().filter_map(Relation::keyspace) {
                if run.brief.is_some() && host.is_waiting(Some(keyspace)) {
                    return Err(Error::Long);
                }
                host.write_waiting(Some(keyspace))?;
            }
        }
        let snapshot = self.store.snapshot();
        if !self.moments.is(moment) {
            return Ok(None);
        }
        let read: &dyn Read = &*snapshot;
        let interner = Arc::<Interner>::default();
        let watch = self.watch(run, cancelled);
        // A follower's snapshot that is taken while it moves on may see less than its number says.
        let lasting = (!self.store.is_read_only()).then_some(&*snapshot);
        let relations = relations.clone();
        let ground = Ground { read, lasting, goes_out: true, take: run.take };
        self.run_query(query, plan, relations, ground, &interner, run.parameters, &watch, None)
            .map(Some)
    }

    #[expect(clippy::too_many_arguments, reason = "what a query stands on")]
    fn run_query(
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
    fn run_options(
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
            lasting.map(|snapshot| crate::fixed_rule::Kept { cache: &self.projections, snapshot });
        let (own, host, files) = (&self.own, self.host(), &self.files);
        let algorithms = crate::fixed_rule::Library { kept, own, host, files };
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
        let order = match crate::value::sort::is_in_order(&order_by, rows) {
            true => None,
            false => {
                let check = || watch.check(interner.bytes());
                Some(crate::value::sort::order(&order_by, rows, interner, &check)?)
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

    fn sleep(&self, seconds: f64, watch: &Watch<'_>) -> Result<()> {
        let until = self.env.monotonic_us().saturating_add((seconds.clamp(0.0, 1e6) * 1e6) as u64);
        while self.env.monotonic_us() < until {
            watch.check(0)?;
            let left = until.saturating_sub(self.env.monotonic_us()).min(20_000);
            crate::limits::wait(&*self.env, left);
        }
        Ok(())
    }

    /// The catalog.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The store.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Scripts that run: id, microseconds since 1970 when they began, text.
    #[must_use]
    pub fn running(&self) -> Vec<(u64, u64, String)> {
        let running = self.running.lock();
        running.iter().map(|(&id, one)| (id, one.started_us, one.text.to_string())).collect()
    }

    /// Stops a script; whether it was there.
    pub fn kill(&self, id: u64) -> bool {
        match self.running.lock().get(&id) {
            Some(running) => {
                running.cancelled.store(true, Relaxed);
                true
            }
            None => false,
        }
    }
}

/// Computes what needs no rows, so that whether it fails does not depend on whether rows come to it.
fn check_constants(plan: &Plan, computer: &Computer<'_>, watch: &Watch<'_>) -> Result<()> {
    if !plan.constants.is_empty()
        && watch.is_brief()
        && !crate::engine::brief::computes_little(plan)
    {
        return Err(Error::Long);
    }
    for Constant { expr, wanted, span } in &plan.constants {
        let cell = computer.known_cell(expr)?;
        match wanted {
            Wanted::Any => {}
            Wanted::List => {
                computer
                    .interner
                    .with(cell, |value| crate::value::list_items::check_list(value, *span))?;
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
    if watch.is_brief() && !crate::engine::brief::computes_little(plan) {
        return Err(Error::Long);
    }
    let mut found = match Lookup::of(plan, relations) {
        Some(lookup) => lookup.rows(read, computer, enough)?,
        None => crate::fast_path::values::rows_of(plan, computer, watch)?,
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

/// Takes a script off the list when it is done.
struct Registered<'e> {
    engine: &'e Engine,
    id: u64,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.engine.running.lock().remove(&self.id);
    }
}
