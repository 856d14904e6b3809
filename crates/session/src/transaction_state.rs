//! What goes from script to script of a transaction of the caller's, and to its commit.

use crate::dml::change_feed::Changed;
use crate::plan_cache::cached_script::CacheValidity;
use env::sync::Mutex;
use relation::NameOverlay;
use std::sync::Arc;
use std::thread::ThreadId;

/// What scripts in a transaction of the caller's leave to be done when it ends.
pub struct TransactionState {
    /// Of the engine, when the transaction began.
    pub(crate) validity: CacheValidity,
    pub(crate) names: NameOverlay,
    pub(crate) changed: Vec<Changed>,
    pub(crate) invalidates_plans: bool,
    /// The transaction's, where this is a script's: scripts inside of the script, and beside it,
    /// leave it there.
    pub(crate) shared: Option<Arc<Mutex<TransactionState>>>,
    /// The threads of the scripts that left something, in their order.
    pub(crate) left_by: Vec<ThreadId>,
    /// Whether a thread undid what a script of another had left.
    pub(crate) has_lost: bool,
}

/// What scripts had left.
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

    /// What names stand for in the transaction.
    #[must_use]
    pub fn names(&self) -> &NameOverlay {
        &self.names
    }

    /// For another script of the transaction whose this is.
    #[must_use]
    pub fn for_script(shared: &Arc<Mutex<Self>>) -> Self {
        let all = shared.lock();
        let invalidates_plans = all.invalidates_plans;
        let new = Self::new(all.validity, all.names.clone());
        Self { invalidates_plans, shared: Some(Arc::clone(shared)), ..new }
    }

    /// Takes over what a script has left for which names stood for `before` at first.
    pub fn absorb(&mut self, before: &NameOverlay, mut later: Self) {
        if later.names != *before || !later.changed.is_empty() {
            self.left_by.push(std::thread::current().id());
        }
        self.names.merge(before, later.names);
        self.changed.append(&mut later.changed);
        self.invalidates_plans |= later.invalidates_plans;
    }

    /// What there is now.
    pub(crate) fn left(&self) -> SavepointState {
        let (changed, scripts) = (self.changed.len(), self.left_by.len());
        SavepointState { names: self.names.clone(), changed, scripts }
    }

    /// Goes back to what there was: a script has failed, or a part of one, and what scripts inside
    /// of it did is undone with it. What they made, which is to be dropped.
    #[must_use]
    pub(crate) fn go_back_to(&mut self, left: SavepointState) -> NameOverlay {
        let now = std::thread::current().id();
        let undone = self.left_by.drain(left.scripts.min(self.left_by.len())..);
        self.has_lost |= undone.into_iter().any(|thread| thread != now);
        self.changed.truncate(left.changed);
        self.names.go_back_to(left.names)
    }

    /// All of it; nothing is left.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.validity, NameOverlay::default()))
    }
}
