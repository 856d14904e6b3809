//! The plan cache: plans and parsed scripts by their text.
//!
//! # Invariants
//! 1. A plan that was begun before an invalidation is not cached after it. Plans are invalidated
//!    after the change that they depend on has become visible, and no reader brings an old plan
//!    back.
//! 2. Nothing is dropped under the lock: plans own user-defined functions, whose destructors may do
//!    anything.

pub(crate) mod cached_script;

use crate::nesting;
use crate::plan_cache::cached_script::CachedScript;
use env::sync::Mutex;
use exec::bounded_map::keep;
use exec::error::Result;
use exec::storage::relation_source::Relation;
use hashbrown::HashMap;
use plan::{PerStored, Plan};
use std::sync::Arc;

/// Most bytes of a script that is cached.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A planned query.
pub(crate) struct CachedQuery {
    pub(crate) text: Arc<str>,
    /// Its depth of nesting.
    pub(crate) levels: u32,
    pub(crate) query: syntax::Query,
    pub(crate) plan: Plan,
    pub(crate) relations: PerStored<Relation>,
    pub(crate) made_us: u64,
}

/// The plan cache of an engine.
#[derive(Default)]
pub(crate) struct PlanCache {
    kept: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    plans: ByText<CachedQuery>,
    scripts: ByText<CachedScript>,
    /// How often all plans were invalidated.
    generation: u64,
}

impl PlanCache {
    /// The cached plan of a text, if it fits this thread's stack.
    pub(crate) fn get(&self, text: &str) -> Option<Arc<CachedQuery>> {
        let planned = self.kept.lock().plans.get(text).cloned()?;
        (planned.levels <= nesting::levels_max()).then_some(planned)
    }

    /// Removes the plan of a text.
    pub(crate) fn remove(&self, text: &str) {
        let removed = self.kept.lock().plans.remove(text);
        drop(removed);
    }

    /// Removes all plans, because what they depend on has changed.
    pub(crate) fn clear(&self) {
        let plans = {
            let mut kept = self.kept.lock();
            kept.generation += 1;
            std::mem::take(&mut kept.plans)
        };
        drop(plans);
    }

    /// The generation for [`PlanCache::put`], to be read before planning begins.
    pub(crate) fn generation(&self) -> u64 {
        self.kept.lock().generation
    }

    /// Caches a plan, unless plans were invalidated since it was begun.
    pub(crate) fn put(&self, planned: &Arc<CachedQuery>, generation: u64) {
        if planned.text.len() > TEXT_BYTES_MAX {
            return;
        }
        let dropped = {
            let mut kept = self.kept.lock();
            if kept.generation != generation {
                return;
            }
            keep(&mut kept.plans, Arc::clone(&planned.text), Arc::clone(planned))
        };
        drop(dropped);
    }

    /// The cached script of a text.
    pub(crate) fn parsed(&self, text: &str) -> Option<Arc<CachedScript>> {
        let kept = self.kept.lock();
        let parsed = kept.scripts.get(text)?;
        parsed.note_again();
        Some(Arc::clone(parsed)).filter(|parsed| parsed.levels <= nesting::levels_max())
    }

    /// Parses a text, or returns the cached script.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(crate) fn parse(&self, text: &str) -> Result<Arc<CachedScript>> {
        if let Some(parsed) = self.parsed(text) {
            return Ok(parsed);
        }
        let text: Arc<str> = text.into();
        let (script, levels) = nesting::parse(&text)?;
        let parsed = Arc::new(CachedScript::new(Arc::clone(&text), script, levels));
        if text.len() <= TEXT_BYTES_MAX {
            let dropped = keep(&mut self.kept.lock().scripts, text, Arc::clone(&parsed));
            drop(dropped);
        }
        Ok(parsed)
    }
}

/// Cached entries by text.
type ByText<T> = HashMap<Arc<str>, Arc<T>>;
