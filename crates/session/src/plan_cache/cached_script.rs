//! A parsed script, with the plans and write targets of its queries when they last ran in a
//! transaction.
//!
//! # Why
//! A small change is written in a few microseconds. Planning its query and finding its relation,
//! with indexes, settings and defaults, takes several times as long, and gives the same until
//! something is created, renamed or set. Estimates grow old, and are valid as long as those of
//! other queries.
//!
//! # Invariants
//! 1. What was found under one [`CacheValidity`] is used under no other. A schema change advances
//!    the schema epoch, and a change of settings, rules or aggregates the generation, once it is
//!    visible. So nobody who begins after that finds the old.
//! 2. A session that knows names, relations or settings which nobody else sees neither uses this
//!    nor adds to it.
//! 3. A relation that was dropped by another way than a script is noticed when its keyspace is
//!    used: the store reports it, the cache of the script is cleared, and the script runs once
//!    more. Until then, at most as long as a plan is valid, it is noticed only where rows are
//!    written to it.

use crate::dml::sources::Sources;
use crate::dml::target::Target;
use env::sync::Mutex;
use exec::storage::relation_source::Relation;
use plan::Plan;
use relation::Settings;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use syntax::{Script, Span};

/// Microseconds for which a plan's estimates are believed.
pub(crate) const PLAN_AGE_US: u64 = 2_000_000;

/// Under what a cached plan or target is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheValidity {
    /// What names stand for (`schema_epoch.rs`).
    pub(crate) epoch: u64,
    /// How often all plans were invalidated.
    pub(crate) generation: u64,
}

/// How a query runs, and the relations that it reads.
pub(crate) type CachedPlan = (Plan, Vec<Relation>);

/// Where a query's rows go.
pub(crate) struct WriteTarget {
    pub(crate) target: Target,
    pub(crate) settings: Settings,
    /// Defaults by column: those that the script says, then those of the relation.
    pub(crate) defaults: Vec<(String, plan::Expr)>,
    /// Where the columns get their values.
    pub(crate) sources: OnceLock<Sources>,
}

/// A script that was parsed before.
pub(crate) struct CachedScript {
    pub(crate) text: Arc<str>,
    pub(crate) script: Script,
    /// How deep it nests.
    pub(crate) levels: u32,
    /// Whether it was asked for again: of what runs once, nothing is kept.
    again: AtomicBool,
    plans: Mutex<Vec<Entry<CachedPlan>>>,
    targets: Mutex<Vec<Entry<WriteTarget>>>,
}

struct Entry<T> {
    /// Where the query begins in the text.
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

    /// It was asked for once more.
    pub(crate) fn note_again(&self) {
        self.again.store(true, Relaxed);
    }

    /// How the query at a place runs.
    pub(crate) fn cached_plan(
        &self,
        query: Span,
        validity: CacheValidity,
        now_us: u64,
    ) -> Option<Arc<CachedPlan>> {
        find(&self.plans, query, validity, now_us)
    }

    /// Where the rows of the query at a place go.
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

    /// Forgets all but the script.
    pub(crate) fn forget(&self) {
        // Dropped without the locks: plans own functions of the program's.
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
