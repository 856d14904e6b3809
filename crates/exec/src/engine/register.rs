//! What the program brings along: functions that are told of changes, fixed rules, aggregates.

use super::Engine;
use crate::callback::Callback;
use crate::own::{FixedRule, Own};
use function::OwnAggregate;
use std::sync::Arc;

impl Engine {
    /// Has what is changed of a relation told to a function, after each commit: by scripts and changes of this engine, statement after
    /// statement. The relation need not be there yet. Returns a number for [`Engine::unregister_callback`].
    ///
    /// It is called on the thread that commits, which holds no lock then. What it changes itself is told when it has returned.
    pub fn register_callback(&self, relation: &str, callback: Callback) -> u64 {
        self.callbacks.register(relation, callback)
    }

    /// Ends that; whether there was such a number.
    pub fn unregister_callback(&self, id: u64) -> bool {
        self.callbacks.unregister(id)
    }

    /// Lets scripts apply a rule of the program's. What it does is not known to be the same twice, so nothing of it is kept.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput): the name is one that is built in or registered, or that scripts could not write.
    pub fn register_fixed_rule(&self, name: &str, rule: Arc<dyn FixedRule>) -> store::Result<()> {
        self.own.add_rule(name, rule)?;
        self.plans.clear();
        Ok(())
    }

    /// Ends that; whether there was one of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) for one that is built in.
    pub fn unregister_fixed_rule(&self, name: &str) -> store::Result<bool> {
        let removed = self.own.remove_rule(name)?;
        self.plans.clear();
        Ok(removed)
    }

    /// Lets scripts use an aggregate of the program's: an ordinary one, which stands in no recursion.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput): the name is one that is built in or registered, or that scripts could not write.
    pub fn register_aggregate(&self, aggregate: OwnAggregate) -> store::Result<()> {
        self.own.add_aggregate(aggregate)?;
        self.plans.clear();
        Ok(())
    }

    /// Ends that; whether there was one of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) for one that is built in.
    pub fn unregister_aggregate(&self, name: &str) -> store::Result<bool> {
        let removed = self.own.remove_aggregate(name)?;
        self.plans.clear();
        Ok(removed)
    }

    /// Forgets all functions of the program's: callbacks, rules, aggregates.
    pub fn unregister_all(&self) {
        self.callbacks.clear();
        self.own.clear();
        self.plans.clear();
    }

    /// Rules and aggregates of the program's.
    pub(crate) fn own(&self) -> &Own {
        &self.own
    }
}
