//! What goes from script to script of a transaction of the caller's, and to its commit.

use crate::callback::Changed;
use relation::Names;

/// What scripts in a transaction of the caller's leave to be done when it ends.
pub struct Carried {
    /// Of the engine, when the transaction began.
    pub(super) moment: u64,
    pub(super) names: Names,
    pub(super) changed: Vec<Changed>,
    pub(super) lets_plans_go: bool,
}

impl Carried {
    pub(super) fn new(moment: u64, names: Names) -> Self {
        Self { moment, names, changed: Vec::new(), lets_plans_go: false }
    }

    /// What names stand for in the transaction.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// For another script of the transaction.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self::new(self.moment, self.names.clone())
    }

    /// Takes over what a script has left that began with a copy of `base`.
    pub fn absorb(&mut self, base: &Self, mut later: Self) {
        self.names.merge(&base.names, later.names);
        self.changed.append(&mut later.changed);
        self.lets_plans_go |= later.lets_plans_go;
    }

    /// All of it; nothing is left.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.moment, Names::default()))
    }
}
