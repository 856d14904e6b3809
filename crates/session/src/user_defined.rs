//! Functions that the program registers: callbacks that are told of changes, fixed rules,
//! aggregates.

use crate::dml::change_feed::Callback;
use crate::engine::Engine;
use exec::fixed_rule::registry::FixedRule;
use function::UserAggregate;
use std::sync::Arc;

impl Engine {
    /// Has what is changed of a relation told to a function, after each commit: by scripts and
    /// changes of this engine, statement after statement. The relation need not be there yet.
    /// Returns a number for [`Engine::unregister_callback`].
    ///
    /// It is called on the thread that commits, which holds no lock then. What it changes itself is
    /// told when it has returned.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) for a graph, blobs, counters and
    /// combined values: their calls tell nobody.
    pub fn register_callback(&self, relation: &str, callback: Callback) -> store::Result<u64> {
        self.store.check_open()?;
        // First, so that what is made meanwhile sees it, or is seen here.
        let id = self.callbacks.register(relation, callback);
        let there = self.catalog.find(relation);
        let refused = there.and_then(|there| {
            there.map_or(Ok(()), |entry| {
                crate::dml::change_feed::refuse_other_writers(&entry, relation)
            })
        });
        if refused.is_err() {
            self.callbacks.unregister(id);
        }
        refused.map(|()| id)
    }

    /// To be asked before something is made that is changed by calls of its own: whether a callback
    /// waits for this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) where one does.
    pub fn refuse_told(&self, name: &str) -> store::Result<()> {
        if !self.callbacks.wants(name) {
            return Ok(());
        }
        let what =
            format!("a callback is registered for {name:?}, which would not be told of calls");
        let hint = "callbacks are told of relations: unregister it, or take another name";
        Err(store::Error::new(store::ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")))
    }

    /// Ends that; whether there was such a number.
    pub fn unregister_callback(&self, id: u64) -> bool {
        self.callbacks.unregister(id)
    }

    /// Lets scripts apply a rule of the program's. What it does is not known to be the same twice,
    /// so nothing of it is kept.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput): the name is one that is built
    /// in or registered, or that scripts could not write.
    pub fn register_fixed_rule(&self, name: &str, rule: Arc<dyn FixedRule>) -> store::Result<()> {
        self.store.check_open()?;
        self.user_defined.add_rule(name, rule)?;
        self.plan_cache.clear();
        Ok(())
    }

    /// Ends that; whether there was one of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) for one that is built in.
    pub fn unregister_fixed_rule(&self, name: &str) -> store::Result<bool> {
        self.store.check_open()?;
        let removed = self.user_defined.remove_rule(name)?;
        self.plan_cache.clear();
        Ok(removed)
    }

    /// Lets scripts use an aggregate of the program's: an ordinary one, which stands in no
    /// recursion.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput): the name is one that is built
    /// in or registered, or that scripts could not write.
    pub fn register_aggregate(&self, aggregate: UserAggregate) -> store::Result<()> {
        self.store.check_open()?;
        self.user_defined.add_aggregate(aggregate)?;
        self.plan_cache.clear();
        Ok(())
    }

    /// Ends that; whether there was one of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) for one that is built in.
    pub fn unregister_aggregate(&self, name: &str) -> store::Result<bool> {
        self.store.check_open()?;
        let removed = self.user_defined.remove_aggregate(name)?;
        self.plan_cache.clear();
        Ok(removed)
    }

    /// Forgets all functions of the program's: callbacks, rules, aggregates.
    pub fn unregister_all(&self) {
        self.callbacks.clear();
        self.user_defined.clear();
        self.plan_cache.clear();
    }
}
