//! A parsed script, and what its queries stood on when they last ran in a transaction.
//!
//! # Why
//! A small change is written in a few microseconds. To plan its query and to find its relation, the relation's indexes, settings and
//! defaults by their names takes several times as long, and comes out the same as long as nothing is made, renamed or set; estimates alone
//! grow old, and are believed for as long as those of other queries.
//!
//! # Invariants
//! 1. What was found out under one [`Stand`] is used under no other. Whoever changes what names stand for passes to another moment, and whoever
//!    changes settings, rules or aggregates to another generation, once the change is there: so nobody who begins after that finds the old.
//! 2. A session that knows names, relations or settings which nobody else sees neither uses this nor adds to it.
//! 3. A relation that was dropped by another way than a script is missed when its keyspace is used: the store says so, and what is kept of the
//!    script is forgotten, and it runs once more without. Until then, at most as long as a plan is believed, it is missed only where rows
//!    come to it.

use crate::dml::target::Target;
use crate::dml::writer::Sources;
use env::sync::Mutex;
use exec::storage::relation_source::Relation;
use plan::Plan;
use relation::Settings;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use syntax::{Script, Span};

/// Microseconds for which a plan's estimates are believed.
pub(crate) const PLAN_AGE_US: u64 = 2_000_000;

/// Under what something was found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stand {
    /// What names stand for (`moments.rs`).
    pub(crate) moment: u64,
    /// How often all plans were let go.
    pub(crate) generation: u64,
}

/// How a query runs, and the relations that it reads.
pub(crate) type Way = (Plan, Vec<Relation>);

/// Where a query's rows go.
pub(crate) struct Aim {
    pub(crate) target: Target,
    pub(crate) settings: Settings,
    /// Defaults by column: those that the script says, then those of the relation.
    pub(crate) defaults: Vec<(String, plan::Expr)>,
    /// Where the columns get their values.
    pub(crate) sources: OnceLock<Sources>,
}

/// A script that was parsed before.
pub(crate) struct Parsed {
    pub(crate) text: Arc<str>,
    pub(crate) script: Script,
    /// How deep it nests.
    pub(crate) levels: u32,
    /// Whether it was asked for again: of what runs once, nothing is kept.
    again: AtomicBool,
    ways: Mutex<Vec<Kept<Way>>>,
    aims: Mutex<Vec<Kept<Aim>>>,
}

struct Kept<T> {
    /// Where the query begins in the text.
    place: u32,
    stand: Stand,
    made_us: u64,
    of: Arc<T>,
}

impl Parsed {
    pub(crate) fn new(text: Arc<str>, script: Script, levels: u32) -> Self {
        Self {
            text,
            script,
            levels,
            again: AtomicBool::new(false),
            ways: Mutex::default(),
            aims: Mutex::default(),
        }
    }

    /// It was asked for once more.
    pub(crate) fn note_again(&self) {
        self.again.store(true, Relaxed);
    }

    /// How the query at a place runs.
    pub(crate) fn way(&self, query: Span, stand: Stand, now_us: u64) -> Option<Arc<Way>> {
        find(&self.ways, query, stand, now_us)
    }

    /// Where the rows of the query at a place go.
    pub(crate) fn aim(&self, query: Span, stand: Stand, now_us: u64) -> Option<Arc<Aim>> {
        find(&self.aims, query, stand, now_us)
    }

    pub(crate) fn keep_way(&self, query: Span, stand: Stand, now_us: u64, way: &Arc<Way>) {
        self.keep(&self.ways, query, stand, now_us, way);
    }

    pub(crate) fn keep_aim(&self, query: Span, stand: Stand, now_us: u64, aim: &Arc<Aim>) {
        self.keep(&self.aims, query, stand, now_us, aim);
    }

    /// Forgets all but the script.
    pub(crate) fn forget(&self) {
        // Dropped without the locks: plans own functions of the program's.
        let ways = std::mem::take(&mut *self.ways.lock());
        let aims = std::mem::take(&mut *self.aims.lock());
        drop((ways, aims));
    }

    fn keep<T>(
        &self,
        all: &Mutex<Vec<Kept<T>>>,
        query: Span,
        stand: Stand,
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
            all.push(Kept { place: query.start, stand, made_us, of: Arc::clone(of) });
            before
        };
        drop(before);
    }
}

fn find<T>(all: &Mutex<Vec<Kept<T>>>, query: Span, stand: Stand, now_us: u64) -> Option<Arc<T>> {
    let all = all.lock();
    let kept = all.iter().find(|kept| kept.place == query.start)?;
    let is_young = now_us.saturating_sub(kept.made_us) < PLAN_AGE_US;
    (kept.stand == stand && is_young).then(|| Arc::clone(&kept.of))
}
