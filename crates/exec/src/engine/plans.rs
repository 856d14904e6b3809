//! Plans and parsed scripts that are kept by their text.
//!
//! # Invariants
//! 1. A plan that was begun before the plans were let go is not kept after it: who changes what plans depend on lets them go once the change is
//!    there, and no reader brings an old one back.

use super::parsed::Parsed;
use crate::error::Result;
use crate::query::Relation;
use env::sync::Mutex;
use hashbrown::HashMap;
use plan::Plan;
use std::sync::Arc;

/// Plans, and scripts, that are kept.
const KEPT_MAX: usize = 1024;

/// Bytes of a script of which anything is kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A query that was planned before.
pub(super) struct Planned {
    pub(super) text: Arc<str>,
    pub(super) query: syntax::Query,
    pub(super) plan: Plan,
    pub(super) relations: Vec<Relation>,
    pub(super) made_us: u64,
}

/// What is kept.
#[derive(Default)]
pub(super) struct Plans {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    plans: HashMap<Arc<str>, Arc<Planned>>,
    scripts: HashMap<Arc<str>, Arc<Parsed>>,
    /// How often all plans were let go.
    generation: u64,
}

impl Plans {
    /// The plan of a text.
    pub(super) fn get(&self, text: &str) -> Option<Arc<Planned>> {
        self.kept.lock().plans.get(text).cloned()
    }

    /// Lets one go.
    pub(super) fn remove(&self, text: &str) {
        self.kept.lock().plans.remove(text);
    }

    /// Lets all go, since what they depend on has changed.
    pub(super) fn clear(&self) {
        let mut kept = self.kept.lock();
        kept.plans.clear();
        kept.generation += 1;
    }

    /// A number for [`Plans::put`], to be asked for before planning begins.
    pub(super) fn generation(&self) -> u64 {
        self.kept.lock().generation
    }

    /// Keeps a plan, unless all were let go since it was begun.
    pub(super) fn put(&self, planned: &Arc<Planned>, generation: u64) {
        let mut kept = self.kept.lock();
        if planned.text.len() > TEXT_BYTES_MAX || kept.generation != generation {
            return;
        }
        if kept.plans.len() >= KEPT_MAX {
            kept.plans.clear();
        }
        kept.plans.insert(Arc::clone(&planned.text), Arc::clone(planned));
    }

    /// A text as a script.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(super) fn parse(&self, text: &str) -> Result<Arc<Parsed>> {
        if let Some(parsed) = self.kept.lock().scripts.get(text) {
            parsed.note_again();
            return Ok(Arc::clone(parsed));
        }
        let text: Arc<str> = text.into();
        let parsed = Arc::new(Parsed::new(Arc::clone(&text), syntax::parse(&text)?));
        if text.len() <= TEXT_BYTES_MAX {
            let mut kept = self.kept.lock();
            if kept.scripts.len() >= KEPT_MAX {
                kept.scripts.clear();
            }
            kept.scripts.insert(text, Arc::clone(&parsed));
        }
        Ok(parsed)
    }
}
