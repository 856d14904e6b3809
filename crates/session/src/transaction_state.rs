//! The state that scripts of one transaction share, up to its commit.

use crate::dml::change_feed::Changed;
use crate::plan_cache::cached_script::CacheValidity;
use env::sync::Mutex;
use relation::NameOverlay;
use std::sync::Arc;
use std::thread::ThreadId;

/// The work that scripts in a transaction of the caller leave for its end.
pub struct TransactionState {
    /// Validity of caches when the transaction began.
    pub(crate) validity: CacheValidity,
    pub(crate) names: NameOverlay,
    pub(crate) changed: Vec<Changed>,
    pub(crate) invalidates_plans: bool,
    /// If this belongs to a script: the transaction's state, where inner and concurrent scripts
    /// leave their work.
    pub(crate) shared: Option<Arc<Mutex<TransactionState>>>,
    /// Threads of the scripts that left work, in order.
    pub(crate) left_by: Vec<ThreadId>,
    /// Whether a thread undid the work of another thread's script.
    pub(crate) has_lost: bool,
}

/// A savepoint of the shared state.
pub(crate) struct SavepointState {
    names: NameOverlay,
    changed: usize,
    scripts: usize,
}

impl TransactionState {
    pub(crate) fn new(validity: CacheValidity, names: NameOverlay) -> Self {
        Self {
            validity,
            names,
            changed: Vec::new(),
            invalidates_plans: false,
            shared: None,
            left_by: Vec::new(),
            has_lost: false,
        }
    }

    /// Names of relations as the transaction sees them.
    #[must_use]
    pub fn names(&self) -> &NameOverlay {
        &self.names
    }

    /// A state for another script of the transaction.
    #[must_use]
    pub fn for_script(shared: &Arc<Mutex<Self>>) -> Self {
        let all = shared.lock();
        let invalidates_plans = all.invalidates_plans;
        let new = Self::new(all.validity, all.names.clone());
        Self { invalidates_plans, shared: Some(Arc::clone(shared)), ..new }
    }

    /// Adds the state that a script has left. At its start, names had the meanings in `before`.
    pub fn absorb(&mut self, before: &NameOverlay, mut later: Self) {
        if later.names != *before || !later.changed.is_empty() {
            self.left_by.push(std::thread::current().id());
        }
        self.names.merge(before, later.names);
        self.changed.append(&mut later.changed);
        self.invalidates_plans |= later.invalidates_plans;
    }

    /// A savepoint of the current state.
    pub(crate) fn left(&self) -> SavepointState {
        let (changed, scripts) = (self.changed.len(), self.left_by.len());
        SavepointState { names: self.names.clone(), changed, scripts }
    }

    /// Returns to a savepoint, because a script or a part of one has failed; work of inner scripts
    /// is undone with it. Returns the names that they created, which must be dropped.
    #[must_use]
    pub(crate) fn go_back_to(&mut self, left: SavepointState) -> NameOverlay {
        let now = std::thread::current().id();
        let undone = self.left_by.drain(left.scripts.min(self.left_by.len())..);
        self.has_lost |= undone.into_iter().any(|thread| thread != now);
        self.changed.truncate(left.changed);
        self.names.go_back_to(left.names)
    }

    /// Removes and returns everything.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.validity, NameOverlay::default()))
    }
}
