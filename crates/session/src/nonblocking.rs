//! Scripts that do not block: they take some microseconds, for callers that hold a lock meanwhile,
//! such as Python's GIL.
//!
//! # Why
//! Releasing such a lock and taking it again costs as much as a short script where nobody waits for
//! it, and several times as much where somebody does: two threads that ask in turn would answer
//! less together than one alone.
//!
//! # Invariants
//! 1. A non-blocking script is planned already, reads and writes some hundred rows, and waits
//!    neither for a file nor for a lock that is held for long or by somebody who waits for the
//!    caller.
//! 2. A script that would block has changed nothing.

use crate::engine::Engine;
use crate::plan_cache::cached_script::CachedScript;
use crate::run_options::{NonBlocking, Run};
use exec::error::{Error, Result};
use exec::output::Output;
use exec::storage::access_path::SHORT_ROWS;
use model::Value;
use std::sync::Arc;
use syntax::{Block, MutationOp, Query, Script, Statement};

/// Queries of a non-blocking script.
const QUERIES_MAX: usize = 8;

/// Bytes of its text, and of each text that it is given.
const TEXT_BYTES_MAX: usize = 4096;

/// Items of all lists that it is given: the cells of rows.
const ITEMS_MAX: usize = 4 * SHORT_ROWS;

impl Engine {
    /// Runs a script in a transaction of its own if that takes some microseconds: small changes,
    /// and looks at the rows of a key or of the begin of one, of which the engine has seen the
    /// like. `None` where it may take longer, or something is not in the cache: nothing was done
    /// then.
    ///
    /// # Errors
    /// See [`Error`]; nothing was changed then.
    pub fn try_run(
        &self,
        text: &str,
        non_blocking: NonBlocking,
        run: &Run<'_>,
    ) -> Result<Option<Output>> {
        let mut items_left = ITEMS_MAX;
        let mut all = run.parameters.values();
        if text.len() > TEXT_BYTES_MAX || !all.all(|value| is_small(value, &mut items_left)) {
            return Ok(None);
        }
        if self.pauses.is_one() {
            return Ok(None);
        }
        let run = Run { non_blocking: Some(non_blocking), ..*run };
        let done = env::at_once(|| self.run_with(text, &run));
        self.pauses.note(done.is_some());
        match done {
            None | Some(Err(Error::WouldBlock)) => Ok(None),
            Some(done) => done.map(Some),
        }
    }

    /// The present schema epoch, which only a non-blocking script does not wait for.
    pub(crate) fn present(&self, run: &Run<'_>) -> Result<u64> {
        match run.non_blocking {
            Some(_) => self.schema_epoch.try_now().ok_or(Error::WouldBlock),
            None => Ok(self.schema_epoch.now(&*self.env)),
        }
    }

    /// A script that was parsed before, if it is one of small changes.
    pub(crate) fn cached_script_without_blocking(
        &self,
        text: &str,
        non_blocking: NonBlocking,
    ) -> Result<Arc<CachedScript>> {
        let nothing_waits = || {
            let host = self.host.as_ref();
            self.store.commit_would_not_block() && host.is_none_or(|host| !host.is_waiting(None))
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

/// Whether a script is changes and nothing else, each of them once.
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

/// Whether so much is soon looked at: lists hold the rows of constant rules.
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

    /// Whether it is run when all is kept of it: for two seconds, which may be over once.
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
