//! A parsed script, with the plans and write targets of its queries from their last run in a
//! transaction.
//!
//! # Why
//! A small change takes a few microseconds. Planning its query and finding its relation, with
//! indexes, settings and defaults, takes several times as long, and gives the same result until the
//! schema or a setting changes. Estimates become outdated, so plans are valid as long as those of
//! other queries.
//!
//! # Invariants
//! 1. An entry made under one [`CacheValidity`] is not used under another. A schema change advances
//!    the schema epoch, and a change of settings, rules or aggregates the generation, once it is
//!    visible. So a transaction that begins later never finds the old entry.
//! 2. A session with uncommitted names, relations or settings neither reads nor fills this cache.
//! 3. A relation that was dropped other than by a script is noticed when its keyspace is used: the
//!    store reports it, the script's cache is cleared, and the script runs again. Until then, at
//!    most as long as a plan is valid, it is noticed only where rows are written to it.

use crate::dml::sources::Sources;
use crate::dml::target::Target;
use env::sync::Mutex;
use exec::storage::relation_source::Relation;
use plan::{PerStored, Plan};
use relation::Settings;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use syntax::{Script, Span};

/// Microseconds for which a cached plan is valid.
pub(crate) const PLAN_AGE_US: u64 = 2_000_000;

/// The state of the engine under which a cached plan or target is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheValidity {
    /// The schema epoch (`schema_epoch.rs`).
    pub(crate) epoch: u64,
    /// How often all plans were invalidated.
    pub(crate) generation: u64,
}

/// A query's plan, and the relations that it reads.
pub(crate) type CachedPlan = (Plan, PerStored<Relation>);

/// The target of a query's rows.
pub(crate) struct WriteTarget {
    pub(crate) target: Target,
    pub(crate) settings: Settings,
    /// Defaults by column: those in the script, then those of the relation.
    pub(crate) defaults: Vec<(String, plan::Expr)>,
    /// Sources of the columns.
    pub(crate) sources: OnceLock<Sources>,
}

/// A parsed script.
pub(crate) struct CachedScript {
    pub(crate) text: Arc<str>,
    pub(crate) script: Script,
    /// Its depth of nesting.
    pub(crate) levels: u32,
    /// Whether it was requested again: for scripts that run once, nothing is cached.
    again: AtomicBool,
    plans: Mutex<Vec<Entry<CachedPlan>>>,
    targets: Mutex<Vec<Entry<WriteTarget>>>,
}

struct Entry<T> {
    /// Start of the query in the text.
    place: u32,
    validity: CacheValidity,
    made_us: u64,
    of: Arc<T>,
}

impl CachedScript {
    pub(crate) fn new(text: Arc<str>, script: Script, levels: u32) -> Self {
        Self {
            text,
            script,
            levels,
            again: AtomicBool::new(false),
            plans: Mutex::default(),
            targets: Mutex::default(),
        }
    }

    /// Notes that the script was requested again.
    pub(crate) fn note_again(&self) {
        self.again.store(true, Relaxed);
    }

    /// The cached plan of the query at a place.
    pub(crate) fn cached_plan(
        &self,
        query: Span,
        validity: CacheValidity,
        now_us: u64,
    ) -> Option<Arc<CachedPlan>> {
        find(&self.plans, query, validity, now_us)
    }

    /// The cached write target of the query at a place.
    pub(crate) fn write_target(
        &self,
        query: Span,
        validity: CacheValidity,
        now_us: u64,
    ) -> Option<Arc<WriteTarget>> {
        find(&self.targets, query, validity, now_us)
    }

    pub(crate) fn cache_plan(
        &self,
        query: Span,
        validity: CacheValidity,
        now_us: u64,
        cached_plan: &Arc<CachedPlan>,
    ) {
        self.keep(&self.plans, query, validity, now_us, cached_plan);
    }

    pub(crate) fn cache_write_target(
        &self,
        query: Span,
        validity: CacheValidity,
        now_us: u64,
        write_target: &Arc<WriteTarget>,
    ) {
        self.keep(&self.targets, query, validity, now_us, write_target);
    }

    /// Drops all plans and targets.
    pub(crate) fn forget(&self) {
        // Dropped without the locks: plans own user-defined functions.
        let plans = std::mem::take(&mut *self.plans.lock());
        let targets = std::mem::take(&mut *self.targets.lock());
        drop((plans, targets));
    }

    fn keep<T>(
        &self,
        all: &Mutex<Vec<Entry<T>>>,
        query: Span,
        validity: CacheValidity,
        made_us: u64,
        of: &Arc<T>,
    ) {
        if !self.again.load(Relaxed) {
            return;
        }
        let before = {
            let mut all = all.lock();
            let place = all.iter().position(|kept| kept.place == query.start);
            let before = place.map(|place| all.swap_remove(place));
            all.push(Entry { place: query.start, validity, made_us, of: Arc::clone(of) });
            before
        };
        drop(before);
    }
}

fn find<T>(
    all: &Mutex<Vec<Entry<T>>>,
    query: Span,
    validity: CacheValidity,
    now_us: u64,
) -> Option<Arc<T>> {
    let all = all.lock();
    let kept = all.iter().find(|kept| kept.place == query.start)?;
    let is_young = now_us.saturating_sub(kept.made_us) < PLAN_AGE_US;
    (kept.validity == validity && is_young).then(|| Arc::clone(&kept.of))
}
