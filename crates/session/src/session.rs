//! A script in its transaction: its queries, its changes, its temporary relations, and the work
//! left for the commit.
//!
//! `transaction` makes a [`Session`] for each attempt to run a script.

use crate::ambient::EnvAmbient;
use crate::catalog_view::TempRelation;
use crate::dml::change_feed::Changed;
use crate::dml::changed_rows::{InputRows, ReturnedRows};
use crate::dml::target::Target;
use crate::dml::writer::Writer;
use crate::engine::Engine;
use crate::plan_cache::cached_script::{CacheValidity, CachedPlan, CachedScript, WriteTarget};
use crate::query::QueryInput;
use crate::query_options::{Options, cells_of, known};
use crate::run_options::{Debug, Parameters, Run};
use crate::script::Blocks;
use crate::transaction_state::{SavepointState, TransactionState};
use base::KeyspaceId;
use env::sync::Mutex;
use exec::error::{Error, Result};
use exec::explain::Analysis;
use exec::limits::QueryLimits;
use exec::query_result::QueryResult;
use exec::storage::relation_source::Relation;
use exec::table::Table;
use exec::table::owned::{OwnedCells, OwnedTable};
use exec::value::cell::{Cell, Interner};
use model::{Type, Value};
use plan::{ColumnInfo, PerStored, Plan};
use relation::{Access, NameOverlay, Schema};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use store::{ErrorKind, Read, Savepoint, Transaction};
use syntax::{Expr, Ident, MutationOp, Script, Span, Spec, SpecColumn, SystemOp};

/// State of a script before a part that may be undone.
pub(crate) struct Part {
    savepoint: Savepoint,
    names: NameOverlay,
    changed: usize,
    /// State of the transaction's other scripts.
    inside: Option<SavepointState>,
}

/// A script in a transaction.
pub(crate) struct Session<'e> {
    pub(crate) engine: &'e Engine,
    pub(crate) transaction: &'e dyn Transaction,
    /// Whether the caller commits the transaction.
    pub(crate) is_callers: bool,
    /// Whether changes are refused.
    pub(crate) read_only: bool,
    pub(crate) interner: Arc<Interner>,
    pub(crate) parameters: &'e Parameters,
    pub(crate) temp_relations: BTreeMap<String, TempRelation>,
    pub(crate) limits: QueryLimits<'e>,
    /// Receiver of `%debug`.
    pub(crate) debug: Option<Debug<'e>>,
    /// The names that the transaction has created, renamed or removed.
    pub(crate) names: NameOverlay,
    /// Receives the deferred work of scripts inside of it, for the commit.
    pub(crate) shared: Option<Arc<Mutex<TransactionState>>>,
    /// Within a part that may be undone: the temporary relations before its first trigger, once
    /// there was one.
    pub(crate) before_triggers: Option<Option<BTreeMap<String, TempRelation>>>,
    /// Whether a trigger is running; its changes run no further triggers.
    pub(crate) in_trigger: bool,
    /// Whether it changed what plans depend on, so that its commit invalidates them.
    pub(crate) invalidates_plans: bool,
    /// Whether it may conflict by rows that the caller does not know of: new dictionary ids, links
    /// of vectors.
    pub(crate) may_conflict_unseen: bool,
    /// Changes of relations with callbacks.
    pub(crate) changed: Vec<Changed>,
    /// The running script, if its plans may be cached.
    pub(crate) parsed: Option<&'e CachedScript>,
    /// Validity of caches at its start.
    pub(crate) validity: CacheValidity,
    /// Whether it used the script's cache.
    pub(crate) used_cached: std::cell::Cell<bool>,
    /// Keyspaces that it wrote to: plans that read them are not reused, because their size may have
    /// changed.
    pub(crate) written: Vec<KeyspaceId>,
}

impl Engine {
    /// A session for a script that starts in a transaction.
    pub(crate) fn session<'e>(
        &'e self,
        transaction: &'e dyn Transaction,
        run: &Run<'e>,
        limits: QueryLimits<'e>,
    ) -> Session<'e> {
        Session {
            engine: self,
            transaction,
            is_callers: false,
            read_only: run.read_only,
            interner: Arc::default(),
            parameters: run.parameters,
            temp_relations: BTreeMap::new(),
            limits,
            debug: run.debug,
            names: NameOverlay::default(),
            shared: None,
            before_triggers: None,
            invalidates_plans: false,
            in_trigger: false,
            may_conflict_unseen: false,
            changed: Vec::new(),
            parsed: None,
            validity: CacheValidity::default(),
            used_cached: std::cell::Cell::new(false),
            written: Vec::new(),
        }
    }
}

impl Session<'_> {
    pub(crate) fn run(&mut self, script: &Script) -> Result<QueryResult> {
        match script {
            Script::Query(query) => self.query(query),
            Script::System(op) => self.system(op),
            Script::Imperative(statements) => crate::script::run(self, statements),
        }
    }

    pub(crate) fn read(&self) -> &dyn Read {
        self.transaction
    }

    /// Begins a part whose changes may be undone.
    pub(crate) fn begin_part(&self) -> Part {
        let savepoint = self.transaction.savepoint();
        let inside = self.shared.as_ref().map(|all| all.lock().left());
        Part { savepoint, names: self.names.clone(), changed: self.changed.len(), inside }
    }

    /// Undoes the changes of a part that failed.
    pub(crate) fn undo(&mut self, part: Part) {
        self.transaction.roll_back_to(part.savepoint);
        let made = self.names.go_back_to(part.names);
        self.engine.forget_names(&made);
        self.changed.truncate(part.changed);
        if let Some((all, left)) = self.shared.as_ref().zip(part.inside) {
            let made = all.lock().go_back_to(left);
            self.engine.forget_names(&made);
        }
    }
}

impl Blocks for Session<'_> {
    fn query(&mut self, query: &syntax::Query) -> Result<QueryResult> {
        let Some(mutation) = &query.options.mutation else { return self.select(query) };
        // The timeout covers the change and its triggers, not only the query.
        let seconds = match &query.options.timeout {
            None => None,
            Some(_) => {
                let (ambient, interner) = (EnvAmbient(&self.limits), &self.interner);
                Options::new(&query.options, self.parameters, interner, &ambient)?.timeout_s
            }
        };
        let earlier = seconds.map(|seconds| self.limits.begin_part(seconds));
        let outcome = self.ask_and_change(query, mutation);
        earlier.into_iter().for_each(|earlier| self.limits.end_part(earlier));
        outcome
    }

    fn system(&mut self, op: &syntax::SystemOp) -> Result<QueryResult> {
        if self.read_only {
            crate::script_kind::refuse_change(op)?;
        }
        let is_outside = crate::script_kind::is_run_alone(op) || matches!(op, SystemOp::Compact);
        if self.is_callers && is_outside {
            let what = "columns and indexes are changed, and files merged, outside of transactions";
            return Err(Error::value(what, Span::default()));
        }
        match op {
            SystemOp::Rename(pairs) => return self.rename(pairs),
            SystemOp::Remove(names) => return self.remove(names),
            SystemOp::Analyze(query) => return self.analyze(query),
            SystemOp::Explain(query) => {
                let (plan, _) = self.plan(query)?;
                return Ok(exec::explain::rows(&plan));
            }
            _ => {}
        }
        let catalog = &self.engine.catalog;
        if let Some(output) = crate::system::set(catalog, &self.names, self.transaction, op)? {
            self.invalidates_plans = true;
            return Ok(output);
        }
        crate::system::run(
            &self.engine.admin(),
            &self.names,
            self.read(),
            op,
            &self.limits,
            |expr| {
                let ambient = EnvAmbient(&self.limits);
                known(expr, self.parameters, &self.interner, &ambient)
            },
        )
    }

    fn keep(&mut self, name: &str, output: &QueryResult) -> Result<()> {
        let keys = output.cells().columns().len();
        let (check, interner) = (|| self.check(), &self.interner);
        let cells = output.cells().cells_for(interner);
        let table = Table::new(keys, keys).with_rows(&cells, output.rows, &check)?;
        let any = |header: &String| ColumnInfo {
            name: readable(header),
            column_type: Type::Nullable(Box::new(Type::Any)),
        };
        let columns = output.headers.iter().map(any).collect();
        let table = OwnedTable::new(table, interner);
        let kept = TempRelation { columns, defaults: Vec::new(), keys, table };
        self.temp_relations.insert(name.to_owned(), kept);
        Ok(())
    }

    fn kept(&self, name: &str) -> Result<Option<QueryResult>> {
        let Some(kept) = self.temp_relations.get(name) else { return self.stored_rows(name) };
        let table = kept.table.table_for(&self.interner, &|| self.check())?;
        let live: Vec<usize> = (0..table.rows()).filter(|&row| table.is_live(row)).collect();
        let column = |i: usize| live.iter().map(|&row| table.column(i)[row]).collect();
        let columns: Vec<Vec<Cell>> = (0..table.arity()).map(column).collect();
        let by: Vec<(&[Cell], bool)> = columns.iter().map(|one| (one.as_slice(), false)).collect();
        let rows = exec::value::sort::order(&by, live.len(), &self.interner, &|| self.check())?;
        let sorted = |column: &Vec<Cell>| rows.iter().map(|&row| column[row as usize]).collect();
        let headers = kept.columns.iter().map(|column| column.name.clone()).collect();
        let columns = columns.iter().map(sorted).collect();
        Ok(Some(QueryResult::new(headers, columns, rows.len(), Arc::clone(&self.interner))))
    }

    fn swap(&mut self, a: &Ident, b: &Ident) -> Result<()> {
        if !a.text.starts_with('_') && !b.text.starts_with('_') {
            if a.text == b.text {
                return self.check_movable(a).map(|_| ());
            }
            let pairs = vec![(a.clone(), b.clone()), (b.clone(), a.clone())];
            return self.system(&SystemOp::Rename(pairs)).map(|_| ());
        }
        for name in [a, b] {
            if !self.temp_relations.contains_key(&name.text) {
                return Err(crate::script::no_temporary(name));
            }
        }
        let both = self
            .temp_relations
            .get(&a.text)
            .cloned()
            .zip(self.temp_relations.get(&b.text).cloned());
        if let Some((one, other)) = both {
            self.temp_relations.insert(a.text.clone(), other);
            self.temp_relations.insert(b.text.clone(), one);
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.limits.check(self.interner.bytes())
    }

    fn whole(
        &mut self,
        act: &mut dyn FnMut(&mut dyn Blocks) -> Result<QueryResult>,
    ) -> Result<QueryResult> {
        let begun = self.begin_part();
        let outer = self.before_triggers.replace(None);
        let outcome = act(self);
        let before_triggers = std::mem::replace(&mut self.before_triggers, outer).flatten();
        if outcome.is_err() {
            self.undo(begun);
            // A failed change of a temporary relation has changed nothing, but its triggers may
            // have changed others before.
            self.temp_relations =
                before_triggers.unwrap_or_else(|| std::mem::take(&mut self.temp_relations));
        }
        outcome
    }

    fn may_be_stale(&self, error: &Error) -> bool {
        self.used_cached.get()
            && matches!(error, Error::Store(error) if error.kind() == ErrorKind::InvalidInput)
    }

    fn debug(&self, name: &str, output: &QueryResult) {
        if let Some(debug) = self.debug {
            debug(name, output);
        }
    }
}

impl Session<'_> {
    /// Runs a query and writes its rows.
    fn ask_and_change(
        &mut self,
        query: &syntax::Query,
        mutation: &syntax::Mutation,
    ) -> Result<QueryResult> {
        let is_new = matches!(mutation.op, MutationOp::Create | MutationOp::Replace);
        let given = match query.rules.is_empty() && is_new {
            true => None,
            false => Some(self.select(query)?),
        };
        let none = OwnedCells::new(Vec::new(), Arc::clone(&self.interner));
        let (headers, rows, cells) = match &given {
            Some(given) => (given.headers.as_slice(), given.rows, given.cells()),
            None => (&[][..], 0, &none),
        };
        let given = InputRows { headers, rows, cells };
        let said = self.with_parameters(mutation)?;
        let mutation = &*said;
        let name = &mutation.relation.text;
        if name.starts_with('_') {
            return self.change_temp_relation(mutation, &given, query.options.returning);
        }
        if self.engine.store.is_read_only() {
            let what = "the database was opened read-only";
            return Err(Error::read_only(what, mutation.relation.span));
        }
        if self.read_only {
            return Err(Error::read_only(crate::script_kind::READ_ONLY, mutation.relation.span));
        }
        if is_new {
            let settings = self.check_change(mutation)?;
            if mutation.op == MutationOp::Replace && !self.in_trigger {
                self.fire(mutation, &settings.on_replace, &[])?;
            }
            self.create(mutation, headers)?;
            if headers.is_empty() || (rows == 0 && !query.options.returning) {
                return Ok(QueryResult::status("OK"));
            }
        }
        // Defaults that depend on parameters cannot be cached.
        let is_as_written = matches!(said, Cow::Borrowed(_));
        let write_target = self.write_target(query.span, mutation, is_new || !is_as_written)?;
        let triggers = match self.in_trigger {
            true => &[],
            false => crate::dml::trigger::of(&write_target.settings, mutation.op),
        };
        let returned =
            self.write(mutation, &given, &write_target, triggers, query.options.returning)?;
        if !query.options.returning {
            return Ok(QueryResult::status("OK"));
        }
        let columns = crate::catalog_view::columns_of(&write_target.target.schema);
        Ok(crate::dml::writer::returned_output(&columns, returned))
    }

    /// Applies a change to an existing relation and runs its triggers; returns the changed rows if
    /// needed.
    pub(crate) fn write(
        &mut self,
        mutation: &syntax::Mutation,
        given: &InputRows<'_>,
        write_target: &WriteTarget,
        triggers: &[String],
        returning: bool,
    ) -> Result<ReturnedRows> {
        let WriteTarget { target, defaults, sources, .. } = write_target;
        let ambient = EnvAmbient(&self.limits);
        let has_hidden_rows = target.dictionary.is_some() || target.has_vector_index();
        self.may_conflict_unseen |= has_hidden_rows;
        if let Some(main) = target.paths.first()
            && !self.written.contains(&main.keyspace)
        {
            self.written.push(main.keyspace);
        }
        let is_told = self.engine.callbacks.wants(&mutation.relation.text);
        let are_quick = defaults.iter().all(|(_, default)| crate::cheap_plan::is_quick(default));
        if is_told || !triggers.is_empty() || has_hidden_rows || !are_quick {
            self.limits.check_may_block()?;
        }
        let writer = Writer {
            transaction: self.transaction,
            interner: &self.interner,
            computer: exec::expr::Computer::new(&self.interner, &[], &ambient),
            target,
            defaults,
            sources,
            returning: (returning || !triggers.is_empty() || is_told)
                && !matches!(mutation.op, MutationOp::Ensure | MutationOp::EnsureNot),
            memory_bytes_max: self.limits.memory_bytes_max(),
        };
        let returned = writer.apply(mutation, given)?;
        if is_told {
            let schema = &target.schema;
            let columns = crate::catalog_view::columns_of(schema);
            let columns: Vec<String> = columns.into_iter().map(|column| column.name).collect();
            let (name, keys) = (&mutation.relation.text, schema.keys.len());
            let changed =
                crate::dml::change_feed::of_returned(name, mutation.op, &columns, keys, &returned);
            self.changed.extend(changed);
        }
        if !triggers.is_empty() && given.rows > 0 {
            let columns = crate::catalog_view::columns_of(&target.schema);
            let columns: Vec<String> = columns.into_iter().map(|column| column.name).collect();
            let keys = target.schema.keys.len();
            let rules = crate::dml::trigger::rules(mutation.op, &columns, keys, &returned);
            self.fire(mutation, triggers, &rules)?;
        }
        Ok(returned)
    }

    /// Runs triggers; `rules` are the rules `_new` and `_old`.
    fn fire(
        &mut self,
        mutation: &syntax::Mutation,
        triggers: &[String],
        rules: &[syntax::Rule],
    ) -> Result<()> {
        let name = &mutation.relation.text;
        if let Some(before @ None) = &mut self.before_triggers {
            *before = Some(self.temp_relations.clone());
        }
        for text in triggers {
            let mut query = crate::dml::trigger::query(text)?;
            query.rules.extend_from_slice(rules);
            self.in_trigger = true;
            let outcome = self.query(&query);
            self.in_trigger = false;
            outcome.map_err(|error| {
                let what = format!("a trigger of relation `{name}` failed: {error}");
                match error {
                    Error::Script(_) | Error::Value(_) => {
                        Error::value(what, mutation.relation.span)
                    }
                    Error::UserDefined(problem, cause) => {
                        let span = mutation.relation.span;
                        Error::UserDefined(
                            syntax::Diagnostic { message: what, span, ..problem },
                            cause,
                        )
                    }
                    other => other,
                }
            })?;
        }
        Ok(())
    }

    /// The script, if no uncommitted state influences how its queries run: temporary relations,
    /// names, settings.
    fn cacheable_script(&self) -> Option<&CachedScript> {
        let is_own = self.in_trigger
            || self.invalidates_plans
            || !self.temp_relations.is_empty()
            || self.names.are_changed();
        self.parsed.filter(|_| !is_own)
    }

    fn plan(&self, query: &syntax::Query) -> Result<CachedPlan> {
        self.engine.plan(query, self.read(), &self.temp_relations, &self.names)
    }

    /// The plan of a query, from the cache if it is valid.
    fn cached_plan(&self, query: &syntax::Query) -> Result<Arc<CachedPlan>> {
        let Some(parsed) = self.cacheable_script() else {
            self.limits.check_may_block()?;
            return Ok(Arc::new(self.plan(query)?));
        };
        let now_us = self.engine.env.monotonic_us();
        let is_as_it_was = |cached_plan: &Arc<CachedPlan>| {
            cached_plan
                .1
                .iter()
                .filter_map(Relation::keyspace)
                .all(|one| !self.written.contains(&one))
        };
        if let Some(cached_plan) =
            parsed.cached_plan(query.span, self.validity, now_us).filter(is_as_it_was)
        {
            self.used_cached.set(true);
            return Ok(cached_plan);
        }
        self.limits.check_may_block()?;
        let cached_plan = Arc::new(self.plan(query)?);
        if is_as_it_was(&cached_plan) {
            parsed.cache_plan(query.span, self.validity, now_us, &cached_plan);
        }
        Ok(cached_plan)
    }

    /// The write target of the query at a place, from the cache if it is valid.
    pub(crate) fn write_target(
        &self,
        query: Span,
        mutation: &syntax::Mutation,
        is_new: bool,
    ) -> Result<Arc<WriteTarget>> {
        let cacheable_script = self.cacheable_script().filter(|_| !is_new);
        let now_us = self.engine.env.monotonic_us();
        if let Some(write_target) =
            cacheable_script.and_then(|parsed| parsed.write_target(query, self.validity, now_us))
        {
            self.used_cached.set(true);
            return Ok(write_target);
        }
        self.limits.check_may_block()?;
        let write_target = Arc::new(self.find_write_target(mutation)?);
        if let Some(parsed) = cacheable_script {
            parsed.cache_write_target(query, self.validity, now_us, &write_target);
        }
        Ok(write_target)
    }

    /// Finds the write target of a mutation.
    ///
    /// # Errors
    /// No such relation, or one that must not be changed this way.
    pub(crate) fn find_write_target(&self, mutation: &syntax::Mutation) -> Result<WriteTarget> {
        let settings = self.check_change(mutation)?;
        let catalog = &self.engine.catalog;
        let entry = crate::access::find(catalog, &self.names, &mutation.relation)?;
        crate::access::refuse_read_only(&entry, mutation.relation.span)?;
        let mut target = Target::of(catalog, self.read(), &entry)?;
        target.call(&mutation.relation.text);
        let defaults = self.defaults(mutation, &target.schema)?;
        Ok(WriteTarget { target, settings, defaults, sources: OnceLock::new() })
    }

    /// A relation's settings, if they allow the change. A new relation has the defaults.
    fn check_change(&self, mutation: &syntax::Mutation) -> Result<relation::Settings> {
        let name = &mutation.relation.text;
        let catalog = &self.engine.catalog;
        crate::access::refuse_unwritable_part(catalog, &self.names, &mutation.relation)?;
        let forbidden = match mutation.op {
            MutationOp::Replace => Access::Protected,
            // These only read.
            MutationOp::Ensure | MutationOp::EnsureNot => Access::Hidden,
            _ => Access::ReadOnly,
        };
        crate::access::check(catalog, self.read(), name, forbidden)
            .map_err(|error| Error::refused(error, mutation.relation.span))
    }

    fn select(&self, query: &syntax::Query) -> Result<QueryResult> {
        self.ask(query, None)
    }

    /// All rows of a stored relation, if it exists.
    fn stored_rows(&self, name: &str) -> Result<Option<QueryResult>> {
        let Some(entry) = self.engine.catalog.find_in(&self.names, name)? else { return Ok(None) };
        let columns = crate::catalog_view::columns_of(&entry.schema());
        let variables: Vec<String> = (0..columns.len()).map(|i| format!("c{i}")).collect();
        let variables = variables.join(", ");
        let text = format!("?[{variables}] := *{name}[{variables}]");
        let Ok(Script::Query(query)) = syntax::parse(&text) else { return Ok(None) };
        // Spans in this query do not refer to the script.
        let elsewhere = |error| match error {
            Error::Script(problems) => {
                let message = problems.into_iter().next().map(|problem| problem.message);
                Error::value(message.unwrap_or_default(), Span::default())
            }
            other => other,
        };
        self.limits.check_may_block()?;
        let (plan, relations) = self.plan(&query).map_err(elsewhere)?;
        let mut output = self.run_query(&query, &plan, relations, None)?;
        output.headers = columns.into_iter().map(|column| column.name).collect();
        Ok(Some(output))
    }

    /// Plans a query and runs it, with measurements if there is an analysis.
    fn ask(
        &self,
        query: &syntax::Query,
        mut analysis: Option<&mut Analysis>,
    ) -> Result<QueryResult> {
        let cached_plan = match &analysis {
            Some(_) => Arc::new(self.plan(query)?),
            None => self.cached_plan(query)?,
        };
        let (plan, relations) = &*cached_plan;
        if let Some(analysis) = &mut analysis {
            analysis.planned(&self.limits);
        }
        self.run_query(query, plan, relations.clone(), analysis)
    }

    /// Runs a query by its plan; its rows stay in the script.
    fn run_query(
        &self,
        query: &syntax::Query,
        plan: &Plan,
        relations: PerStored<Relation>,
        analysis: Option<&mut Analysis>,
    ) -> Result<QueryResult> {
        let input =
            QueryInput { read: self.read(), lasting: None, streamable: false, consumer: None };
        self.engine.run_query(
            query,
            plan,
            relations,
            input,
            &self.interner,
            self.parameters,
            &self.limits,
            analysis,
        )
    }

    /// Runs a query and returns its measurements instead of its rows. Its changes are not made.
    fn analyze(&self, query: &syntax::Query) -> Result<QueryResult> {
        let mut analysis = Analysis::begin(&self.limits);
        self.ask(query, Some(&mut analysis))?;
        Ok(analysis.into_output())
    }

    /// The mutation with parameters in its defaults replaced by their values: a relation stores its
    /// defaults, but not the parameters.
    fn with_parameters<'m>(
        &self,
        mutation: &'m syntax::Mutation,
    ) -> Result<Cow<'m, syntax::Mutation>> {
        let spec = mutation.spec.iter();
        let mut columns = spec.flat_map(Spec::columns);
        let asks = |column: &SpecColumn| column.default.as_ref().is_some_and(Expr::has_parameters);
        if !columns.any(asks) {
            return Ok(Cow::Borrowed(mutation));
        }
        let mut value = |ident: &Ident| -> Result<Value> {
            let names = std::slice::from_ref(&ident.text);
            let cells = cells_of(names, self.parameters, &self.interner, |_| Some(ident.span))?;
            Ok(cells.first().map_or(Value::Null, |&cell| self.interner.value(cell)))
        };
        let mut mutation = mutation.clone();
        let spec = mutation.spec.iter_mut();
        for column in spec.flat_map(Spec::columns_mut) {
            column.default.iter_mut().try_for_each(|one| one.bind_parameters(&mut value))?;
        }
        Ok(Cow::Owned(mutation))
    }

    /// Defaults in the script, by column.
    pub(crate) fn said_defaults(mutation: &syntax::Mutation) -> Result<Vec<(String, plan::Expr)>> {
        let spec = mutation.spec.iter();
        let columns = spec.flat_map(Spec::columns);
        let said = columns.filter_map(|column| Some((&column.name, column.default.as_ref()?)));
        said.map(|(name, default)| Ok((name.text.clone(), resolved(default)?))).collect()
    }

    /// Defaults by column: those in the script, then those of the relation.
    pub(crate) fn defaults(
        &self,
        mutation: &syntax::Mutation,
        schema: &Schema,
    ) -> Result<Vec<(String, plan::Expr)>> {
        let mut defaults = Self::said_defaults(mutation)?;
        let names = crate::catalog_view::columns_of(schema).into_iter().map(|column| column.name);
        for (name, default) in names.zip(schema.defaults()) {
            if let Some(text) = default {
                defaults.push((name, resolved(&crate::nesting::parse_expression(text)?)?));
            }
        }
        Ok(defaults)
    }
}

/// The column name of a temporary relation for a header: `sum(b)` becomes `sum_b`, because scripts
/// cannot write the former as a name.
fn readable(header: &str) -> String {
    match header.split_once('(') {
        Some((aggregate, variable)) => {
            format!("{aggregate}_{}", variable.strip_suffix(')').unwrap_or(variable))
        }
        None => header.to_owned(),
    }
}

/// Resolves an expression without variables and parameters.
fn resolved(expr: &Expr) -> Result<plan::Expr> {
    plan::resolve_expression(expr, &mut Vec::new()).map_err(|problem| vec![problem].into())
}
