//! Plans and parsed scripts that are kept by their text.
//!
//! # Invariants
//! 1. A plan that was begun before the plans were let go is not kept after it: who changes what plans depend on lets them go once the change is
//!    there, and no reader brings an old one back.
//! 2. Nothing is dropped under the lock: plans own functions of the program's, which may do anything when they go.

pub(crate) mod cached_script;

use crate::nesting;
use crate::plan_cache::cached_script::Parsed;
use env::sync::Mutex;
use exec::bounded_map::keep;
use exec::error::Result;
use exec::storage::relation_source::Relation;
use hashbrown::HashMap;
use plan::Plan;
use std::sync::Arc;

/// Bytes of a script of which anything is kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A query that was planned before.
pub(crate) struct Planned {
    pub(crate) text: Arc<str>,
    /// How deep it nests.
    pub(crate) levels: u32,
    pub(crate) query: syntax::Query,
    pub(crate) plan: Plan,
    pub(crate) relations: Vec<Relation>,
    pub(crate) made_us: u64,
}

/// What is kept.
#[derive(Default)]
pub(crate) struct Plans {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    plans: ByText<Planned>,
    scripts: ByText<Parsed>,
    /// How often all plans were let go.
    generation: u64,
}

impl Plans {
    /// The plan of a text, if this thread's stack has room for it.
    pub(crate) fn get(&self, text: &str) -> Option<Arc<Planned>> {
        let planned = self.kept.lock().plans.get(text).cloned()?;
        (planned.levels <= nesting::levels_max()).then_some(planned)
    }

    /// Lets one go.
    pub(crate) fn remove(&self, text: &str) {
        let removed = self.kept.lock().plans.remove(text);
        drop(removed);
    }

    /// Lets all go, since what they depend on has changed.
    pub(crate) fn clear(&self) {
        let plans = {
            let mut kept = self.kept.lock();
            kept.generation += 1;
            std::mem::take(&mut kept.plans)
        };
        drop(plans);
    }

    /// A number for [`Plans::put`], to be asked for before planning begins.
    pub(crate) fn generation(&self) -> u64 {
        self.kept.lock().generation
    }

    /// Keeps a plan, unless all were let go since it was begun.
    pub(crate) fn put(&self, planned: &Arc<Planned>, generation: u64) {
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

    /// A script that was parsed before.
    pub(crate) fn parsed(&self, text: &str) -> Option<Arc<Parsed>> {
        let kept = self.kept.lock();
        let parsed = kept.scripts.get(text)?;
        parsed.note_again();
        Some(Arc::clone(parsed)).filter(|parsed| parsed.levels <= nesting::levels_max())
    }

    /// A text as a script.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(crate) fn parse(&self, text: &str) -> Result<Arc<Parsed>> {
        if let Some(parsed) = self.parsed(text) {
            return Ok(parsed);
        }
        let text: Arc<str> = text.into();
        let (script, levels) = nesting::parse(&text)?;
        let parsed = Arc::new(Parsed::new(Arc::clone(&text), script, levels));
        if text.len() <= TEXT_BYTES_MAX {
            let dropped = keep(&mut self.kept.lock().scripts, text, Arc::clone(&parsed));
            drop(dropped);
        }
        Ok(parsed)
    }
}

/// What is kept by its text.
type ByText<T> = HashMap<Arc<str>, Arc<T>>;
