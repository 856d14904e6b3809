//! Scripts from text to rows.

use crate::cell::{Cell, Interner};
use crate::error::{Error, Result};
use crate::fixed::Projections;
use crate::host::{Host, Run};
use crate::imperative::Blocks;
use crate::mutate::{Given, Writer, schema_of};
use crate::output::Output;
use crate::query::{Query, Relation};
use crate::stored::StoredPath;
use crate::view::{Ephemeral, View, stored_paths};
use crate::watch::Watch;
use base::SeqNo;
use env::Env;
use env::sync::{Mutex, RwLock};
use function::Ambient;
use hashbrown::HashMap;
use model::Value;
use plan::Plan;
use relation::{Access, Catalog, Entry, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use store::{ErrorKind, Isolation, Read, Store, Transaction};
use syntax::{MutationOp, Script, Span, SystemOp};

/// Seconds that a query may take where neither it nor the caller says otherwise.
const TIMEOUT_S: f64 = 300.0;

/// Plans that are kept.
const PLANS_MAX: usize = 1024;

/// Bytes of a script whose plan is kept.
const PLAN_TEXT_BYTES_MAX: usize = 64 << 10;

/// Microseconds for which a plan's estimates are believed.
const PLAN_AGE_US: u64 = 2_000_000;

/// Graphs of stored relations that are kept from query to query take as much as a query may, divided by this.
const PROJECTIONS_SHARE: u64 = 4;

/// Named parameters.
pub type Parameters = BTreeMap<String, Value>;

/// Runs scripts over a store.
pub struct Engine {
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    catalog: Catalog,
    plans: Mutex<HashMap<Arc<str>, Arc<Planned>>>,
    running: Mutex<BTreeMap<u64, Running>>,
    /// Shared by scripts that change rows; held alone while an index is made or dropped.
    changing: RwLock<()>,
    /// How often indexes were made or dropped.
    index_changes: AtomicU64,
    next_id: AtomicU64,
    memory_bytes_max: u64,
    projections: Projections,
    host: Option<Arc<dyn Host>>,
}

/// A query that was planned before.
struct Planned {
    text: Arc<str>,
    query: syntax::Query,
    plan: Plan,
    relations: Vec<Relation>,
    made_us: u64,
}

/// A script that runs.
struct Running {
    started_us: u64,
    text: Arc<str>,
    cancelled: Arc<AtomicBool>,
}

/// The clock and randomness of an environment.
struct EnvAmbient<'e>(&'e dyn Env);

impl Ambient for EnvAmbient<'_> {
    fn now_us(&self) -> i64 {
        i64::try_from(self.0.wall_us()).unwrap_or(i64::MAX)
    }

    fn random(&self) -> u64 {
        self.0.random_u64()
    }
}

impl Engine {
    /// An engine whose queries hold at most so many bytes each.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, env: Arc<dyn Env>, memory_bytes_max: u64) -> Self {
        Self {
            catalog: Catalog::new(Arc::clone(&store)),
            store,
            env,
            plans: Mutex::default(),
            running: Mutex::default(),
            changing: RwLock::default(),
            index_changes: AtomicU64::new(0),
            next_id: AtomicU64::new(1),
            memory_bytes_max,
            projections: Projections::new(memory_bytes_max / PROJECTIONS_SHARE),
            host: None,
        }
    }

    /// Of a database that keeps something beside the store.
    #[must_use]
    pub fn with_host(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
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
    /// See [`Error`]; nothing was changed then.
    pub fn run_with(&self, text: &str, run: &Run<'_>) -> Result<Output> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let known = self.plans.lock().get(text).cloned();
        if let Some(planned) = known
            && self.env.monotonic_us().saturating_sub(planned.made_us) < PLAN_AGE_US
        {
            let _running = self.register(&planned.text, &cancelled);
            match self.run_planned(&planned, run, &cancelled) {
                // A relation may have gone since the plan was made.
                Err(Error::Store(error)) if error.kind() == ErrorKind::InvalidInput => {
                    self.plans.lock().remove(text);
                }
                other => return other,
            }
        }
        let script = syntax::parse(text)?;
        let text: Arc<str> = text.into();
        let _running = self.register(&text, &cancelled);
        if let Script::Query(query) = &script
            && query.options.mutation.is_none()
        {
            let snapshot = self.store.snapshot();
            let read: &dyn Read = &*snapshot;
            let (plan, relations) = self.plan(query, read, &BTreeMap::new(), &BTreeMap::new())?;
            let planned = Arc::new(Planned {
                text: Arc::clone(&text),
                query: query.clone(),
                plan,
                relations,
                made_us: self.env.monotonic_us(),
            });
            if text.len() <= PLAN_TEXT_BYTES_MAX {
                let mut plans = self.plans.lock();
                if plans.len() >= PLANS_MAX {
                    plans.clear();
                }
                plans.insert(text, Arc::clone(&planned));
            }
            return self.run_planned(&planned, run, &cancelled);
        }
        if let Some(host) = &self.host {
            host.write_waiting(None)?;
        }
        if let Script::System(op @ (SystemOp::IndexCreate(..) | SystemOp::IndexDrop(..))) = &script
        {
            let _alone = self.changing.write();
            self.plans.lock().clear();
            let output = crate::system::index(self, op);
            self.index_changes.fetch_add(1, Relaxed);
            return output;
        }
        let _shared = self.changing.read();
        let transaction = self.store.begin(Isolation::Snapshot);
        let mut session = self.session(&*transaction, run, &cancelled);
        let outcome = session.run(&script);
        let Session { created, dropped, successors, renamed, .. } = session;
        let undo = || {
            for name in &created {
                // The relation was never there for anyone else; an orphan is better than hiding the first error.
                let _ = self.catalog.drop_entry(name);
            }
            for successor in successors.values() {
                let _ = self.catalog.abandon_successor(successor);
            }
        };
        let output = match outcome {
            Ok(output) => output,
            Err(error) => {
                drop(transaction);
                undo();
                return Err(error);
            }
        };
        if let Err(error) = transaction.commit() {
            undo();
            return Err(error.into());
        }
        for name in dropped {
            match &self.host {
                Some(host) => host.drop_entry(&name)?,
                None => self.catalog.drop_entry(&name)?,
            };
        }
        for successor in successors.values() {
            self.catalog.install_successor(successor)?;
        }
        if !renamed.is_empty() {
            self.catalog.rename(&renamed)?;
            self.plans.lock().clear();
        }
        Ok(output)
    }

    /// Runs a script in a transaction of the caller's, who commits or rolls back. Relations are neither created nor
    /// removed there, since that is no part of a transaction.
    ///
    /// # Errors
    /// See [`Error`]. What the script wrote before it failed is still in the transaction.
    pub fn run_in(
        &self,
        transaction: &dyn Transaction,
        text: &str,
        run: &Run<'_>,
    ) -> Result<Output> {
        let script = syntax::parse(text)?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let _running = self.register(&text.into(), &cancelled);
        let mut session = self.session(transaction, run, &cancelled);
        session.is_callers = true;
        session.run(&script)
    }

    /// How often indexes were made or dropped: asked before a transaction begins that will run scripts.
    #[must_use]
    pub fn index_changes(&self) -> u64 {
        self.index_changes.load(Relaxed)
    }

    /// Commits a transaction in which scripts ran. What they wrote lacks rows of an index that was made meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] where indexes were made or dropped since there were `index_changes`; those of `commit`.
    pub fn commit_in<R>(
        &self,
        index_changes: u64,
        commit: impl FnOnce() -> store::Result<R>,
    ) -> store::Result<R> {
        let _shared = self.changing.read();
        if self.index_changes() != index_changes {
            let what = "an index was made or dropped since the transaction began";
            let hint = "run the transaction again";
            return Err(store::Error::new(ErrorKind::Conflict, format!("{what}\nhint: {hint}")));
        }
        commit()
    }

    fn session<'e>(
        &'e self,
        transaction: &'e dyn Transaction,
        run: &Run<'e>,
        cancelled: &Arc<AtomicBool>,
    ) -> Session<'e> {
        Session {
            engine: self,
            transaction,
            is_callers: false,
            interner: Arc::default(),
            parameters: run.parameters,
            ephemeral: BTreeMap::new(),
            watch: self.watch(run, cancelled),
            created: Vec::new(),
            dropped: Vec::new(),
            successors: BTreeMap::new(),
            renamed: Vec::new(),
            in_trigger: false,
        }
    }

    fn watch<'r>(&self, run: &Run<'r>, cancelled: &Arc<AtomicBool>) -> Watch<'r> {
        let watch = Watch::new(Arc::clone(&self.env), Arc::clone(cancelled), self.memory_bytes_max)
            .with_caller(run.go_on, run.timeout_s);
        // Who says how long it may take, says so for longer than the default too.
        watch.set_timeout(if run.timeout_s.is_some() { 0.0 } else { TIMEOUT_S });
        watch
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
        successors: &BTreeMap<String, String>,
    ) -> Result<(Plan, Vec<Relation>)> {
        let random = || self.env.random_u64();
        let view = View::new(&self.catalog, read, ephemeral, successors, &random);
        let plan = plan::plan(query, &view)?;
        let found = view.into_relations();
        let relations =
            plan.program.stored.iter().map(|stored| found[stored.handle].clone()).collect();
        Ok((plan, relations))
    }

    fn run_planned(
        &self,
        planned: &Planned,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Output> {
        let Planned { query, plan, relations, .. } = planned;
        if let Some(host) = &self.host {
            for keyspace in relations.iter().filter_map(Relation::keyspace) {
                host.write_waiting(Some(keyspace))?;
            }
        }
        let snapshot = self.store.snapshot();
        let read: &dyn Read = &*snapshot;
        let interner = Arc::<Interner>::default();
        let watch = self.watch(run, cancelled);
        // A follower's snapshot that is taken while it moves on may see less than its number says.
        let moment = (!self.store.is_read_only()).then(|| snapshot.seq());
        let relations = relations.clone();
        self.run_query(query, plan, relations, read, moment, &interner, run.parameters, &watch)
    }

    #[expect(clippy::too_many_arguments, reason = "what a query stands on")]
    fn run_query(
        &self,
        query: &syntax::Query,
        plan: &Plan,
        relations: Vec<Relation>,
        read: &dyn Read,
        moment: Option<SeqNo>,
        interner: &Arc<Interner>,
        parameters: &Parameters,
        watch: &Watch<'_>,
    ) -> Result<Output> {
        let ambient = EnvAmbient(&*self.env);
        let given = cells_of(&plan.program.parameters, parameters, interner)?;
        let options = Options::new(&query.options, parameters, interner, &ambient)?;
        if let Some(timeout) = options.timeout_s {
            watch.set_timeout(timeout);
        }
        if let Some(seconds) = options.sleep_s {
            self.sleep(seconds, watch)?;
        }
        let kept = moment.map(|moment| crate::fixed::Kept { cache: &self.projections, moment });
        let algorithms = crate::fixed::Library { kept };
        let mut running =
            Query::new(plan, read, interner, relations, given, watch, &ambient, &algorithms);
        let is_ordered = !query.options.order.is_empty();
        let enough = match (options.limit, is_ordered) {
            // One row at least: an assertion may ask whether there are any.
            (Some(limit), false) => limit.saturating_add(options.offset).max(1),
            _ => usize::MAX,
        };
        running.run(enough)?;
        let columns = running.result();
        let rows = running.result_rows();
        let headers = &plan.program.predicates[plan.program.entry].columns;
        let headers: Vec<String> = match headers.is_empty() && !columns.is_empty() {
            true => (0..columns.len()).map(|i| format!("_{i}")).collect(),
            false => headers.clone(),
        };
        let mut order_by: Vec<(&[Cell], bool)> = Vec::new();
        for (name, descends) in &query.options.order {
            let Some(place) = headers.iter().position(|header| *header == name.text) else {
                let near = syntax::closest(&name.text, headers.iter().map(String::as_str));
                let what =
                    format!("`:order` names `{}`, which is no column of the result", name.text);
                return Err(Error::Value(syntax::Diagnostic {
                    message: what,
                    span: name.span,
                    hint: near.map(|near| format!("did you mean `{near}`?")),
                }));
            };
            order_by.push((&columns[place], *descends));
        }
        order_by.extend(columns.iter().map(|column| (column.as_slice(), false)));
        let order = crate::sort::order(&order_by, rows, interner);
        let from = options.offset.min(order.len());
        let to =
            options.limit.map_or(order.len(), |limit| from.saturating_add(limit).min(order.len()));
        let order = &order[from..to];
        if let Some(wants_some) = query.options.assert_some
            && wants_some == (rows == 0)
        {
            let what = match wants_some {
                true => "the query is asserted to give rows, and gives none",
                false => "the query is asserted to give no rows, and gives some",
            };
            return Err(Error::value(what, query.span));
        }
        let columns = columns
            .iter()
            .map(|column| order.iter().map(|&row| column[row as usize]).collect())
            .collect();
        Ok(Output { headers, columns, rows: order.len(), interner: Arc::clone(interner) })
    }

    fn sleep(&self, seconds: f64, watch: &Watch<'_>) -> Result<()> {
        let until = self.env.monotonic_us().saturating_add((seconds.clamp(0.0, 1e6) * 1e6) as u64);
        while self.env.monotonic_us() < until {
            watch.check(0)?;
            let left = until.saturating_sub(self.env.monotonic_us()).min(20_000);
            crate::watch::wait(&*self.env, left);
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

    /// How a query would run.
    pub(crate) fn explain(&self, query: &syntax::Query, read: &dyn Read) -> Result<Output> {
        let (plan, _) = self.plan(query, read, &BTreeMap::new(), &BTreeMap::new())?;
        Ok(crate::explain::rows(&plan))
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

/// Numbers that a query's options say.
struct Options {
    limit: Option<usize>,
    offset: usize,
    timeout_s: Option<f64>,
    sleep_s: Option<f64>,
}

impl Options {
    fn new(
        options: &syntax::Options,
        parameters: &Parameters,
        interner: &Interner,
        ambient: &dyn Ambient,
    ) -> Result<Self> {
        let number = |what: &str, expr: &Option<syntax::Expr>| -> Result<Option<f64>> {
            let Some(expr) = expr else { return Ok(None) };
            let value = known(expr, parameters, interner, ambient)?;
            let number = match value {
                Value::Int(int) if int >= 0 => int as f64,
                Value::Float(float) if float >= 0.0 => float,
                other => {
                    let what =
                        format!("`:{what}` expects a number that is not negative, found {other}");
                    return Err(Error::value(what, expr.span()));
                }
            };
            Ok(Some(number))
        };
        Ok(Self {
            limit: number("limit", &options.limit)?.map(|limit| limit as usize),
            offset: number("offset", &options.offset)?.map_or(0, |offset| offset as usize),
            timeout_s: number("timeout", &options.timeout)?,
            sleep_s: number("sleep", &options.sleep)?,
        })
    }
}

/// The value of an expression without variables.
fn known(
    expr: &syntax::Expr,
    parameters: &Parameters,
    interner: &Interner,
    ambient: &dyn Ambient,
) -> Result<Value> {
    let mut names = Vec::new();
    let expr = plan::resolve_expression(expr, &mut names).map_err(|problem| vec![problem])?;
    let given = cells_of(&names, parameters, interner)?;
    crate::expr::Computer { interner, parameters: &given, ambient }.known(&expr)
}

fn cells_of(names: &[String], given: &Parameters, interner: &Interner) -> Result<Vec<Cell>> {
    let cell = |name: &String| match given.get(name) {
        Some(value) => Ok(interner.cell(value)),
        None => {
            let near = syntax::closest(name, given.keys().map(String::as_str));
            let hint = near.map(|near| format!("did you mean `${near}`?"));
            let message = format!("parameter `${name}` has no value");
            Err(Error::Value(syntax::Diagnostic { message, span: Span::default(), hint }))
        }
    };
    names.iter().map(cell).collect()
}

/// A script in a transaction.
struct Session<'e> {
    engine: &'e Engine,
    transaction: &'e dyn Transaction,
    /// Somebody else commits it.
    is_callers: bool,
    interner: Arc<Interner>,
    parameters: &'e Parameters,
    ephemeral: BTreeMap<String, Ephemeral>,
    watch: Watch<'e>,
    /// Relations that were created: dropped again where the script fails.
    created: Vec<String>,
    /// Relations that go when the script has succeeded.
    dropped: Vec<String>,
    /// Relations that were replaced by ones of other columns: by name, what takes their place when the script has succeeded.
    successors: BTreeMap<String, String>,
    /// Whether what runs is a trigger: what it changes sets off no other.
    in_trigger: bool,
    /// New names, for when the script has succeeded.
    renamed: Vec<(String, String)>,
}

impl Session<'_> {
    fn run(&mut self, script: &Script) -> Result<Output> {
        match script {
            Script::Query(query) => self.query(query),
            Script::System(op) => self.system(op),
            Script::Imperative(statements) => crate::imperative::run(self, statements),
        }
    }

    fn read(&self) -> &dyn Read {
        self.transaction
    }
}

impl Blocks for Session<'_> {
    fn query(&mut self, query: &syntax::Query) -> Result<Output> {
        let Some(mutation) = &query.options.mutation else { return self.select(query) };
        let is_new = matches!(mutation.op, MutationOp::Create | MutationOp::Replace);
        let given = match query.rules.is_empty() && is_new {
            true => None,
            false => Some(self.select(query)?),
        };
        let (headers, columns, rows) = match &given {
            Some(given) => (given.headers.as_slice(), given.columns.as_slice(), given.rows),
            None => (&[][..], &[][..], 0),
        };
        let given = Given { headers, columns, rows };
        let name = &mutation.relation.text;
        if name.starts_with('_') {
            return self.ephemeral(mutation, &given);
        }
        if self.engine.store.is_read_only() {
            return Err(Error::value(
                "the database is open for reading only",
                mutation.relation.span,
            ));
        }
        if is_new {
            self.create(mutation, headers)?;
            if headers.is_empty() || (rows == 0 && !query.options.returning) {
                return Ok(Output::status("OK"));
            }
        }
        let stored_name = self.successors.get(name).unwrap_or(name);
        let Some(entry) = self.engine.catalog.find(stored_name)? else {
            let known = self.engine.catalog.list()?;
            let near = syntax::closest(name, known.iter().map(Entry::name));
            return Err(Error::Value(syntax::Diagnostic {
                message: format!("no relation `{name}`"),
                span: mutation.relation.span,
                hint: near.map(|near| format!("did you mean `{near}`?")),
            }));
        };
        let paths = stored_paths(&self.engine.catalog, self.read(), &entry)?;
        let ambient = EnvAmbient(&*self.engine.env);
        let defaults = self.defaults(mutation, &paths[0].schema)?;
        let settings = self.engine.catalog.settings(self.read(), name)?;
        let forbidden =
            if mutation.op == MutationOp::Replace { Access::Protected } else { Access::ReadOnly };
        let refused = |error: store::Error| Error::value(error.to_string(), mutation.relation.span);
        relation::check_access(name, &settings, forbidden).map_err(refused)?;
        let triggers = match self.in_trigger {
            true => &[],
            false => crate::trigger::of(&settings, mutation.op),
        };
        let writer = Writer {
            transaction: self.transaction,
            interner: &self.interner,
            computer: crate::expr::Computer {
                interner: &self.interner,
                parameters: &[],
                ambient: &ambient,
            },
            paths: &paths,
            defaults: &defaults,
            returning: (query.options.returning || !triggers.is_empty())
                && !matches!(mutation.op, MutationOp::Ensure | MutationOp::EnsureNot),
        };
        let returned = writer.apply(mutation, &given)?;
        if !triggers.is_empty() {
            let columns = crate::view::columns_of(&paths[0].schema);
            let columns: Vec<String> = columns.into_iter().map(|column| column.name).collect();
            let keys = paths[0].schema.keys.len();
            for text in triggers {
                let query = crate::trigger::query(text, mutation.op, &columns, keys, &returned)?;
                self.in_trigger = true;
                let outcome = self.query(&query);
                self.in_trigger = false;
                outcome.map_err(|error| {
                    let what = format!("a trigger of relation `{name}` failed: {error}");
                    match error {
                        error @ (Error::Stopped(_) | Error::Limit(_) | Error::Store(_)) => error,
                        _ => Error::value(what, mutation.relation.span),
                    }
                })?;
            }
        }
        if !query.options.returning {
            return Ok(Output::status("OK"));
        }
        let mut names = vec!["_kind".to_owned()];
        names.extend(crate::view::columns_of(&paths[0].schema).into_iter().map(|c| c.name));
        let rows = returned
            .into_iter()
            .map(|(kind, row)| std::iter::once(Value::Str(kind.to_owned())).chain(row).collect());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(Output::of_values(&names, rows.collect()))
    }

    fn system(&mut self, op: &syntax::SystemOp) -> Result<Output> {
        if self.is_callers && crate::system::is_change(op) {
            let what = "the catalog is not changed inside of a transaction";
            let hint = "run this script outside of it";
            return Err(Error::hinted(what, Span::default(), hint));
        }
        if let SystemOp::Rename(pairs) = op {
            for (old, new) in pairs {
                crate::system::find(&self.engine.catalog, old)?;
                let settings = self.engine.catalog.settings(self.read(), &old.text)?;
                relation::check_access(&old.text, &settings, Access::Protected)
                    .map_err(|error| Error::value(error.to_string(), old.span))?;
                let refused = |error: store::Error| Error::value(error.to_string(), new.span);
                relation::check_name(&new.text).map_err(refused)?;
                let leaves = pairs.iter().any(|(other, _)| other.text == new.text);
                if !leaves && self.engine.catalog.find(&new.text)?.is_some() {
                    let what = format!("there is a relation `{}` already", new.text);
                    return Err(Error::value(what, new.span));
                }
                self.renamed.push((old.text.clone(), new.text.clone()));
            }
            return Ok(Output::status("OK"));
        }
        if let Some(output) = crate::system::set(&self.engine.catalog, self.transaction, op)? {
            self.engine.plans.lock().clear();
            return Ok(output);
        }
        let mut dropped = Vec::new();
        let output = crate::system::run(self.engine, self.read(), op, &mut dropped, |expr| {
            let ambient = EnvAmbient(&*self.engine.env);
            known(expr, self.parameters, &self.interner, &ambient)
        })?;
        self.dropped.append(&mut dropped);
        Ok(output)
    }

    fn keep(&mut self, name: &str, output: &Output) {
        let keys = output.columns.len();
        let table = table_of(&output.columns, output.rows, keys);
        let columns = output.headers.clone();
        self.ephemeral.insert(name.to_owned(), Ephemeral { columns, keys, table: Arc::new(table) });
    }

    fn kept(&self, name: &str) -> Option<Output> {
        let kept = self.ephemeral.get(name)?;
        let table = &kept.table;
        let live: Vec<usize> = (0..table.rows()).filter(|&row| table.is_live(row)).collect();
        let column = |i: usize| live.iter().map(|&row| table.column(i)[row]).collect();
        let columns: Vec<Vec<Cell>> = (0..table.arity()).map(column).collect();
        let by: Vec<(&[Cell], bool)> = columns.iter().map(|one| (one.as_slice(), false)).collect();
        let rows = crate::sort::order(&by, live.len(), &self.interner);
        let sorted = |column: &Vec<Cell>| rows.iter().map(|&row| column[row as usize]).collect();
        Some(Output {
            headers: kept.columns.clone(),
            columns: columns.iter().map(sorted).collect(),
            rows: rows.len(),
            interner: Arc::clone(&self.interner),
        })
    }

    fn swap(&mut self, a: &str, b: &str) -> bool {
        match (self.ephemeral.remove(a), self.ephemeral.remove(b)) {
            (Some(one), Some(other)) => {
                self.ephemeral.insert(a.to_owned(), other);
                self.ephemeral.insert(b.to_owned(), one);
                true
            }
            _ => false,
        }
    }

    fn check(&self) -> Result<()> {
        self.watch.check(self.interner.bytes())
    }
}

impl Session<'_> {
    fn select(&self, query: &syntax::Query) -> Result<Output> {
        let (plan, relations) =
            self.engine.plan(query, self.read(), &self.ephemeral, &self.successors)?;
        let (engine, interner) = (self.engine, &self.interner);
        engine.run_query(
            query,
            &plan,
            relations,
            self.read(),
            None,
            interner,
            self.parameters,
            &self.watch,
        )
    }

    fn create(&mut self, mutation: &syntax::Mutation, headers: &[String]) -> Result<()> {
        let schema = schema_of(mutation, headers)?;
        // A default that cannot be read is told now, not when the first row needs it.
        self.defaults(mutation, &schema)?;
        let name = &schema.name;
        let stored_name = self.successors.get(name).unwrap_or(name);
        let there = self.engine.catalog.find(stored_name)?;
        if there.is_some() && mutation.op == MutationOp::Create {
            let what = format!("relation `{name}` is there already");
            let hint = "`:replace` overwrites a relation, `:put` adds rows to it";
            return Err(Error::hinted(what, mutation.relation.span, hint));
        }
        if let Some(entry) = there {
            let same = Schema { name: entry.schema().name, ..schema.clone() };
            if entry.schema() == same {
                // The reverse of a graph and the indexes go with the rows.
                let clear = |path: StoredPath| store::TableWrites {
                    keyspace: path.keyspace,
                    kinds: store::Kinds::Uniform(base::Kind::Delete),
                    rows: base::Batch::new(&path.shape),
                    delete_ranges: vec![match path.shape.key {
                        base::KeyShape::Words(_) => base::KeyRange::all_words(),
                        base::KeyShape::Bytes => base::KeyRange::all_bytes(),
                    }],
                };
                let paths = stored_paths(&self.engine.catalog, self.read(), &entry)?;
                let tables = paths.into_iter().map(clear).collect();
                self.transaction.write(&store::WriteBatch { tables })?;
                return Ok(());
            }
            let has_indexes = !self.engine.catalog.indexes_of(self.read(), name)?.is_empty();
            if has_indexes || !matches!(entry, Entry::Relation(..)) {
                let what = format!("`{name}` has other columns, and cannot be replaced");
                let hint = format!("remove it first: ::remove {name}");
                return Err(Error::hinted(what, mutation.relation.span, hint));
            }
            self.check_own(mutation)?;
            // The transaction has rows for the first successor, which a second would drop.
            if self.successors.contains_key(name) {
                let what = format!("relation `{name}` gets other columns twice in one script");
                let hint = "replace it with its last columns only, or in a script of its own";
                return Err(Error::hinted(what, mutation.relation.span, hint));
            }
            let successor = self.engine.catalog.create_successor(&schema)?;
            self.successors.insert(schema.name, successor);
            return Ok(());
        }
        self.check_own(mutation)?;
        self.engine
            .catalog
            .create(&schema)
            .map_err(|error| Error::value(error.to_string(), mutation.relation.span))?;
        self.created.push(schema.name);
        Ok(())
    }

    /// Defaults by column: those that the script says, then those of the relation.
    /// # Errors
    /// Somebody else commits, and would not commit a new relation.
    fn check_own(&self, mutation: &syntax::Mutation) -> Result<()> {
        let name = &mutation.relation.text;
        match self.is_callers {
            false => Ok(()),
            true => {
                let what = format!("relation `{name}` cannot be made inside of a transaction");
                let hint = "make it outside of the transaction first";
                Err(Error::hinted(what, mutation.relation.span, hint))
            }
        }
    }

    fn defaults(
        &self,
        mutation: &syntax::Mutation,
        schema: &Schema,
    ) -> Result<Vec<(String, plan::Expr)>> {
        let resolve = |expr: &syntax::Expr| {
            plan::resolve_expression(expr, &mut Vec::new()).map_err(|problem| vec![problem])
        };
        let mut defaults = Vec::new();
        if let Some(spec) = &mutation.spec {
            for column in spec.keys.iter().chain(&spec.values) {
                if let Some(default) = &column.default {
                    defaults.push((column.name.text.clone(), resolve(default)?));
                }
            }
        }
        let names = crate::view::columns_of(schema).into_iter().map(|column| column.name);
        for (name, default) in names.zip(schema.defaults()) {
            if let Some(text) = default {
                defaults.push((name, resolve(&syntax::parse_expression(text)?)?));
            }
        }
        Ok(defaults)
    }

    /// Changes a relation of the script's own.
    fn ephemeral(&mut self, mutation: &syntax::Mutation, given: &Given<'_>) -> Result<Output> {
        let name = &mutation.relation.text;
        let span = mutation.relation.span;
        let there = self.ephemeral.get(name);
        match mutation.op {
            MutationOp::Create if there.is_some() => {
                return Err(Error::value(format!("relation `{name}` is there already"), span));
            }
            MutationOp::Create | MutationOp::Replace => {
                let schema = schema_of(mutation, given.headers)?;
                let columns: Vec<String> =
                    crate::view::columns_of(&schema).into_iter().map(|c| c.name).collect();
                let keys = schema.keys.len();
                let empty = Ephemeral {
                    table: Arc::new(crate::table::Table::new(columns.len(), keys)),
                    columns,
                    keys,
                };
                self.ephemeral.insert(name.clone(), empty);
            }
            MutationOp::Put | MutationOp::Rm if there.is_some() => {}
            MutationOp::Put | MutationOp::Rm => {
                return Err(Error::value(format!("no relation `{name}`"), span));
            }
            _ => {
                let what =
                    "relations of a script's own are changed by :create, :replace, :put and :rm";
                return Err(Error::value(what, span));
            }
        }
        let Some(kept) = self.ephemeral.get_mut(name) else { return Ok(Output::status("OK")) };
        let is_removal = mutation.op == MutationOp::Rm;
        let wanted = if is_removal { kept.keys } else { kept.columns.len() };
        let mut columns: Vec<&[Cell]> = Vec::with_capacity(wanted);
        for column in &kept.columns[..wanted] {
            let place = given.headers.iter().position(|header| header == column);
            match place {
                Some(place) => columns.push(&given.columns[place]),
                None if given.rows == 0 => columns.push(&[]),
                None => {
                    let what = format!("column `{column}` gets no value");
                    return Err(Error::value(what, span));
                }
            }
        }
        let mut table = crate::table::Table::new(kept.columns.len(), kept.keys);
        // New rows first: of two rows of one key the first that is inserted stays.
        if !is_removal {
            for row in (0..given.rows).rev() {
                table.insert(&columns, row);
            }
        }
        let mut removed = crate::table::Table::new(kept.keys, kept.keys);
        if is_removal {
            (0..given.rows).for_each(|row| {
                removed.insert(&columns, row);
            });
        }
        let old: Vec<&[Cell]> = (0..kept.columns.len()).map(|i| kept.table.column(i)).collect();
        for row in (0..kept.table.rows()).filter(|&row| kept.table.is_live(row)) {
            if !is_removal || !removed.contains(&old[..kept.keys], row) {
                table.insert(&old, row);
            }
        }
        kept.table = Arc::new(table);
        Ok(Output::status("OK"))
    }
}

fn table_of(columns: &[Vec<Cell>], rows: usize, keys: usize) -> crate::table::Table {
    let mut table = crate::table::Table::new(columns.len(), keys);
    let slices: Vec<&[Cell]> = columns.iter().map(Vec::as_slice).collect();
    (0..rows).for_each(|row| {
        table.insert(&slices, row);
    });
    table
}
