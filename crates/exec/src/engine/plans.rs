//! Plans and parsed scripts that are kept by their text.
//!
//! # Invariants
//! 1. A plan that was begun before the plans were let go is not kept after it: who changes what plans depend on lets them go once the change is
//!    there, and no reader brings an old one back.
//! 2. Nothing is dropped under the lock: plans own functions of the program's, which may do anything when they go.

use super::parsed::Parsed;
use crate::error::Result;
use crate::nesting;
use crate::query::Relation;
use env::sync::Mutex;
use hashbrown::HashMap;
use plan::Plan;
use std::hash::Hash;
use std::sync::Arc;

/// Plans, scripts, and keyspaces whose statistics are kept.
const KEPT_MAX: usize = 1024;

/// Bytes of a script of which anything is kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A query that was planned before.
pub(super) struct Planned {
    pub(super) text: Arc<str>,
    /// How deep it nests.
    pub(super) levels: u32,
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
    plans: ByText<Planned>,
    scripts: ByText<Parsed>,
    /// How often all plans were let go.
    generation: u64,
}

impl Plans {
    /// The plan of a text, if this thread's stack has room for it.
    pub(super) fn get(&self, text: &str) -> Option<Arc<Planned>> {
        let planned = self.kept.lock().plans.get(text).cloned()?;
        (planned.levels <= nesting::levels_max()).then_some(planned)
    }

    /// Lets one go.
    pub(super) fn remove(&self, text: &str) {
        let removed = self.kept.lock().plans.remove(text);
        drop(removed);
    }

    /// Lets all go, since what they depend on has changed.
    pub(super) fn clear(&self) {
        let plans = {
            let mut kept = self.kept.lock();
            kept.generation += 1;
            std::mem::take(&mut kept.plans)
        };
        drop(plans);
    }

    /// A number for [`Plans::put`], to be asked for before planning begins.
    pub(super) fn generation(&self) -> u64 {
        self.kept.lock().generation
    }

    /// Keeps a plan, unless all were let go since it was begun.
    pub(super) fn put(&self, planned: &Arc<Planned>, generation: u64) {
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
    pub(super) fn parsed(&self, text: &str) -> Option<Arc<Parsed>> {
        let kept = self.kept.lock();
        let parsed = kept.scripts.get(text)?;
        parsed.note_again();
        Some(Arc::clone(parsed)).filter(|parsed| parsed.levels <= nesting::levels_max())
    }

    /// A text as a script.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(super) fn parse(&self, text: &str) -> Result<Arc<Parsed>> {
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

/// Keeps one more, of some thousand at most; what is to be dropped for it.
pub(crate) fn keep<K: Eq + Hash, T>(
    all: &mut HashMap<K, T>,
    key: K,
    one: T,
) -> (HashMap<K, T>, Option<T>) {
    let full = all.len() >= KEPT_MAX;
    let before = if full { std::mem::take(all) } else { HashMap::new() };
    (before, all.insert(key, one))
}
