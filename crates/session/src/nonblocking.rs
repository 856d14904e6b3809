//! Non-blocking scripts: they take some microseconds, for callers that hold a lock meanwhile, such
//! as Python's GIL.
//!
//! # Why
//! Releasing such a lock and taking it again costs as much as a short script if no other thread
//! waits for it, and several times as much if one does: two threads with alternating queries would
//! get fewer answers together than one alone.
//!
//! # Invariants
//! 1. A non-blocking script has a cached plan, reads and writes some hundred rows, and waits
//!    neither for a file nor for a lock that is held for long or by a thread that waits for the
//!    caller.
//! 2. A script that would block has changed nothing.

use crate::engine::Engine;
use crate::plan_cache::cached_script::CachedScript;
use crate::run_options::{NonBlocking, Run};
use exec::error::{Error, Result};
use exec::query_result::QueryResult;
use exec::storage::access_path::SHORT_ROWS;
use model::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;
use syntax::{Block, MutationOp, Query, Script, Statement};

/// Most queries of a non-blocking script.
const QUERIES_MAX: usize = 8;

/// Most bytes of its text, and of each string parameter.
const TEXT_BYTES_MAX: usize = 4096;

/// Most items of all list parameters: the cells of rows.
const ITEMS_MAX: usize = 4 * SHORT_ROWS;

impl Engine {
    /// Runs a script in a new transaction if that takes some microseconds: small changes, and
    /// lookups by a key or a key prefix, whose plans are cached. `None` where it may take longer,
    /// or something is not cached: nothing was done then.
    ///
    /// # Errors
    /// See [`Error`]; nothing was changed then.
    pub fn try_run(
        &self,
        text: &str,
        non_blocking: NonBlocking,
        run: &Run<'_>,
    ) -> Result<Option<QueryResult>> {
        let mut items_left = ITEMS_MAX;
        let mut all = run.parameters.values();
        if text.len() > TEXT_BYTES_MAX || !all.all(|value| is_small(value, &mut items_left)) {
            return Ok(None);
        }
        if self.pauses.is_one() {
            return Ok(None);
        }
        let run = Run { non_blocking: Some(non_blocking), ..*run };
        let done = env::try_without_blocking(|| self.run_with(text, &run));
        self.pauses.note(done.is_some());
        match done {
            None | Some(Err(Error::WouldBlock)) => Ok(None),
            Some(done) => done.map(Some),
        }
    }

    /// The current schema epoch. Only a non-blocking script does not wait for a change under way.
    pub(crate) fn present(&self, run: &Run<'_>) -> Result<u64> {
        self.follow_catalog();
        match run.non_blocking {
            Some(_) => self.schema_epoch.try_now().ok_or(Error::WouldBlock),
            None => Ok(self.schema_epoch.now(&*self.env)),
        }
    }

    /// Ends the schema epoch if another process has changed the catalog.
    fn follow_catalog(&self) {
        if let Some(version) = self.store.catalog_version()
            && self.catalog_version.swap(version, AcqRel) != version
        {
            self.schema_epoch.pass();
            self.invalidate_plans();
        }
    }

    /// The cached script of a text, if it consists of small changes.
    pub(crate) fn cached_script_without_blocking(
        &self,
        text: &str,
        non_blocking: NonBlocking,
    ) -> Result<Arc<CachedScript>> {
        let nothing_waits = || {
            let host = self.host.as_ref();
            self.store.commit_would_not_block() && host.is_none_or(|host| !host.has_buffered(None))
        };
        let parsed = match non_blocking {
            NonBlocking::Reading => None,
            NonBlocking::Changing => self.plan_cache.parsed(text),
        };
        parsed
            .filter(|one| is_non_blocking(&one.script) && nothing_waits())
            .ok_or(Error::WouldBlock)
    }
}

/// Whether a script consists of changes that run once each.
fn is_non_blocking(script: &Script) -> bool {
    let changes = |query: &Query| {
        let mutation = query.options.mutation.as_ref();
        mutation.is_some_and(|one| !matches!(one.op, MutationOp::Create | MutationOp::Replace))
    };
    match script {
        Script::Query(query) => changes(query),
        Script::Imperative(all) => {
            let is_change = |statement: &Statement| match statement {
                Statement::Run(Block::Query(query), None) => changes(query),
                _ => false,
            };
            all.len() <= QUERIES_MAX && all.iter().all(is_change)
        }
        Script::System(_) => false,
    }
}

/// Whether a parameter is small; lists hold the rows of constant rules.
fn is_small(value: &Value, items_left: &mut usize) -> bool {
    match value {
        Value::List(items) => match items_left.checked_sub(items.len()) {
            Some(left) => {
                *items_left = left;
                items.iter().all(|item| is_small(item, items_left))
            }
            None => false,
        },
        Value::Str(text) => text.len() <= TEXT_BYTES_MAX,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Id(_) | Value::Float(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_options::Parameters;
    use env::{Env, MemoryEnv};
    use kv::{Kv, KvOptions};
    use std::path::Path;

    const PUT: &str = "?[k, v] <- [[1, 2]] :put r {k => v}";

    fn engine() -> Engine {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
        let engine = Engine::new(Arc::new(store), env, 1 << 30);
        engine.run(":create r {k: Int => v: Int}", &Parameters::new()).unwrap();
        engine
    }

    /// Whether it runs once everything is cached. Cached plans are valid for two seconds, which may
    /// have passed.
    fn is_run(engine: &Engine) -> bool {
        let none = Parameters::new();
        let non_blocking = || engine.try_run(PUT, NonBlocking::Changing, &Run::new(&none)).unwrap();
        (0..20).any(|_| engine.run(PUT, &none).is_ok() && non_blocking().is_some())
    }

    #[test]
    fn it_waits_for_no_index_that_is_made() {
        let engine = engine();
        assert!(is_run(&engine));
        let none = Parameters::new();
        let alone = engine.changing.write();
        assert!(engine.try_run(PUT, NonBlocking::Changing, &Run::new(&none)).unwrap().is_none());
        drop(alone);
        assert!(is_run(&engine));
    }

    #[test]
    fn it_waits_for_no_change_of_names() {
        let engine = engine();
        assert!(is_run(&engine));
        let none = Parameters::new();
        let change = engine.schema_epoch.begin_change();
        assert!(engine.try_run(PUT, NonBlocking::Changing, &Run::new(&none)).unwrap().is_none());
        drop(change);
        assert!(is_run(&engine));
    }
}
