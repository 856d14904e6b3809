//! Runs scripts from text to rows; the main entry points of the engine. `quipu` calls them, and
//! `stream.rs` and `nonblocking.rs` call them with other options.
//!
//! # Order
//! A text that ran before takes its cached script. Otherwise the text is parsed. A query without
//! changes reads a snapshot; anything else runs in a session with a transaction (`session.rs`).

use crate::caught::caught;
use crate::columns::Publish;
use crate::engine::Engine;
use crate::plan_cache::CachedQuery;
use crate::plan_cache::cached_script::{CachedScript, PLAN_AGE_US};
use crate::query::QueryInput;
use crate::run_options::{Parameters, Run};
use exec::error::{Error, Result};
use exec::explain::Analysis;
use exec::operator::shared_tries;
use exec::query_result::QueryResult;
use exec::result_stream::Consumer;
use exec::storage::relation_source::Relation;
use exec::value::cell::Interner;
use model::Value;
use relation::NameOverlay;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{ErrorKind, Read};
use syntax::{Script, SpecColumn, SystemOp};

impl Engine {
    /// Runs a script in a new transaction.
    ///
    /// # Errors
    /// See [`Error`]; nothing was changed then.
    pub fn run(&self, text: &str, parameters: &Parameters) -> Result<QueryResult> {
        self.run_with(text, &Run::new(parameters))
    }

    /// Runs a script with the caller's limits.
    ///
    /// # Errors
    /// See [`Error`]; nothing was changed then. [`Error::WouldBlock`] only with
    /// [`Run::non_blocking`].
    pub fn run_with(&self, text: &str, run: &Run<'_>) -> Result<QueryResult> {
        caught(|| self.run_uncaught(text, run))
    }

    fn run_uncaught(&self, text: &str, run: &Run<'_>) -> Result<QueryResult> {
        self.store.check_open()?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let epoch = self.present(run)?;
        if let Some(output) = self.run_known(text, run, &cancelled, epoch)? {
            return Ok(output);
        }
        let parsed = match run.non_blocking {
            Some(non_blocking) => self.cached_script_without_blocking(text, non_blocking)?,
            None => self.plan_cache.parse(text)?,
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
        if let Script::System(SystemOp::Analyze(query)) = script
            && query.options.mutation.is_none()
        {
            loop {
                if let Some(output) = self.analyze(query, &parsed, run, &cancelled)? {
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
            host.flush_buffered(None)?;
        }
        if let Script::System(op) = script
            && crate::script_kind::is_run_alone(op)
        {
            return self.change_paths(op, run, &cancelled);
        }
        self.in_transaction(Some(&parsed), run, &cancelled, |session| session.run(script))
    }

    /// Runs a script by its cached plan; `None` where there is none, or it is too old or does not
    /// hold any more.
    fn run_known(
        &self,
        text: &str,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
        epoch: u64,
    ) -> Result<Option<QueryResult>> {
        let Some(planned) = self.plan_cache.get(text) else { return Ok(None) };
        if self.env.monotonic_us().saturating_sub(planned.made_us) >= PLAN_AGE_US {
            return Ok(None);
        }
        let _running = self.register(&planned.text, cancelled);
        match self.run_planned(&planned, run, cancelled, epoch) {
            // A relation may have gone since the plan was made.
            // Of a result that is handed out in parts, some may have been.
            Err(Error::Store(error))
                if error.kind() == ErrorKind::InvalidInput
                    && !run.consumer.is_some_and(Consumer::has_begun) =>
            {
                self.plan_cache.remove(text);
                Ok(None)
            }
            other => other,
        }
    }

    /// Makes or drops an index, or changes columns. No script that changes rows runs meanwhile.
    fn change_paths(
        &self,
        op: &SystemOp,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<QueryResult> {
        self.check_outside()?;
        let defaults = self.defaults_of_new(op, run)?;
        let _alone = self.changing.write();
        let limits = self.limits(run, cancelled);
        // The timeout of queries does not apply: the work grows with the relation.
        limits.set_timeout(0.0);
        match op {
            SystemOp::IndexDrop(..) | SystemOp::SearchDrop(..) => {
                self.change_schema(&mut || crate::system::index(&self.admin(), op, &limits))
            }
            SystemOp::ColumnAdd(..) | SystemOp::ColumnDrop(..) | SystemOp::ColumnRename(..) => {
                let publish = |change: Publish<'_>| self.change_schema(change);
                crate::columns::change(&self.admin(), op, defaults, &limits, &publish)
            }
            _ => {
                let output = crate::system::index(&self.admin(), op, &limits);
                self.plan_cache.clear();
                self.schema_epoch.pass();
                output
            }
        }
    }

    /// Runs a change that drops keyspaces or renames columns. A query that is planned meanwhile
    /// finds another epoch, and is planned again.
    fn change_schema<T>(&self, change: &mut dyn FnMut() -> Result<T>) -> Result<T> {
        // Changes of names take this lock too: one change at a time.
        let _naming = self.naming.lock();
        let _change = self.schema_epoch.begin_change();
        let done = change();
        self.plan_cache.clear();
        done
    }

    /// The defaults of the columns that a relation gets. Each is computed once, for all existing
    /// rows.
    fn defaults_of_new(&self, op: &SystemOp, run: &Run<'_>) -> Result<Vec<Option<Value>>> {
        let SystemOp::ColumnAdd(_, spec) = op else { return Ok(Vec::new()) };
        let value = |column: &SpecColumn| {
            let Some(default) = &column.default else { return Ok(None) };
            let computed =
                Run { read_only: true, debug: None, non_blocking: None, consumer: None, ..*run };
            let output = self.run_with(&format!("?[x] := x = ({default})"), &computed);
            let output = output.map_err(|error| match error {
                Error::Script(_) | Error::Value(_) => {
                    let what = format!("the default of `{}` is not a constant", column.name.text);
                    Error::value(what, default.span())
                }
                other => other,
            })?;
            Ok((output.rows > 0).then(|| output.value(0, 0)))
        };
        spec.columns().map(value).collect()
    }

    /// Plans a query, caches the plan and runs it; `None` if the meaning of names has changed
    /// meanwhile.
    fn ask_planned(
        &self,
        query: &syntax::Query,
        parsed: &CachedScript,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Option<QueryResult>> {
        let epoch = self.schema_epoch.now(&*self.env);
        let generation = self.plan_cache.generation();
        let Some(planned) = self.planned(query, parsed, epoch)? else { return Ok(None) };
        let planned = Arc::new(planned);
        self.plan_cache.put(&planned, generation);
        self.run_planned(&planned, run, cancelled, epoch)
    }

    /// Plans a query; `None` where what names stand for has changed since `epoch`.
    fn planned(
        &self,
        query: &syntax::Query,
        parsed: &CachedScript,
        epoch: u64,
    ) -> Result<Option<CachedQuery>> {
        let snapshot = self.store.snapshot();
        let planned = self.plan(query, &*snapshot, &BTreeMap::new(), &NameOverlay::default());
        if !self.schema_epoch.is(epoch) {
            return Ok(None);
        }
        let (plan, relations) = planned?;
        Ok(Some(CachedQuery {
            text: Arc::clone(&parsed.text),
            levels: parsed.levels,
            query: query.clone(),
            plan,
            relations,
            made_us: self.env.monotonic_us(),
        }))
    }

    /// Runs a query as for its rows, and returns its measurements; `None` if the meaning of a name
    /// has changed meanwhile. A result that would be streamed is streamed, and discarded.
    fn analyze(
        &self,
        query: &syntax::Query,
        parsed: &CachedScript,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Option<QueryResult>> {
        let epoch = self.schema_epoch.now(&*self.env);
        let limits = self.limits(run, cancelled);
        let mut analysis = Analysis::begin(&limits);
        let Some(planned) = self.planned(query, parsed, epoch)? else { return Ok(None) };
        analysis.planned(&limits);
        let discarded = Consumer::new(&|_| Ok(true));
        let run = Run { consumer: run.consumer.map(|_| &discarded), ..*run };
        let output = self.run_analyzed(&planned, &run, cancelled, epoch, Some(&mut analysis))?;
        Ok(output.map(|_| analysis.into_output()))
    }

    /// Runs a query by its plan; `None` if the schema has changed since `epoch`, which was read
    /// before planning.
    pub(crate) fn run_planned(
        &self,
        planned: &CachedQuery,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
        epoch: u64,
    ) -> Result<Option<QueryResult>> {
        self.run_analyzed(planned, run, cancelled, epoch, None)
    }

    fn run_analyzed(
        &self,
        planned: &CachedQuery,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
        epoch: u64,
        analysis: Option<&mut Analysis>,
    ) -> Result<Option<QueryResult>> {
        let CachedQuery { query, plan, relations, .. } = planned;
        if let Some(host) = &self.host {
            for keyspace in relations.iter().filter_map(Relation::keyspace) {
                if run.non_blocking.is_some() && host.has_buffered(Some(keyspace)) {
                    return Err(Error::WouldBlock);
                }
                host.flush_buffered(Some(keyspace))?;
            }
        }
        let snapshot = self.store.snapshot();
        if !self.schema_epoch.is(epoch) {
            return Ok(None);
        }
        let read: &dyn Read = &*snapshot;
        let limits = self.limits(run, cancelled);
        // A follower's snapshot that is taken during a refresh may see fewer rows than its number
        // says.
        let lasting = (!self.store.is_read_only()).then_some(&*snapshot);
        let shared = lasting.and_then(|_| shared_tries::values_for(&self.tries, relations));
        let interner = Arc::new(Interner::with_shared(shared));
        let input = QueryInput { read, lasting, streamable: true, consumer: run.consumer };
        let of_run = relations.clone();
        let output = self.run_query(
            query,
            plan,
            of_run,
            input,
            &interner,
            run.parameters,
            &limits,
            analysis,
        )?;
        if let Some(snapshot) = lasting {
            // After an error here later queries are only slower.
            let _ = shared_tries::build_wanted(&self.tries, snapshot, relations, &limits);
        }
        Ok(Some(output))
    }
}
