//! What goes from script to script of a transaction of the caller's, and to its commit.

use super::parsed::Stand;
use crate::callback::Changed;
use relation::Names;

/// What scripts in a transaction of the caller's leave to be done when it ends.
pub struct Carried {
    /// Of the engine, when the transaction began.
    pub(super) stand: Stand,
    pub(super) names: Names,
    pub(super) changed: Vec<Changed>,
    /// How much had changed in what this is a copy of.
    pub(super) changed_before: usize,
    pub(super) lets_plans_go: bool,
}

impl Carried {
    pub(super) fn new(stand: Stand, names: Names) -> Self {
        Self { stand, names, changed: Vec::new(), changed_before: 0, lets_plans_go: false }
    }

    /// What names stand for in the transaction.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// For another script of the transaction.
    #[must_use]
    pub fn copy(&self) -> Self {
        let (lets_plans_go, changed_before) = (self.lets_plans_go, self.changed.len());
        Self { lets_plans_go, changed_before, ..Self::new(self.stand, self.names.clone()) }
    }

    /// Takes over what a script has left that began with a copy of `base`.
    pub fn absorb(&mut self, base: &Self, mut later: Self) {
        self.names.merge(&base.names, later.names);
        self.changed.append(&mut later.changed);
        self.lets_plans_go |= later.lets_plans_go;
    }

    /// A script that began with a copy of `base` has failed: goes back to what was there then, for what scripts inside of it did is undone, too.
    /// What they made is to be dropped, by [`Engine::forget`](super::Engine::forget) with what is returned.
    #[must_use]
    pub fn give_up(&mut self, base: &Self) -> Self {
        self.changed.truncate(base.changed_before);
        Self::new(self.stand, self.names.go_back_to(base.names.clone()))
    }

    /// All of it; nothing is left.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.stand, Names::default()))
    }
}
