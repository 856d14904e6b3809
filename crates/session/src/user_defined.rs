//! Registration of user-defined functions: callbacks for changes, fixed rules, aggregates.

use crate::dml::change_feed::Callback;
use crate::engine::Engine;
use exec::fixed_rule::registry::FixedRule;
use function::UserAggregate;
use std::sync::Arc;

impl Engine {
    /// Registers a callback for the committed changes of a relation, by scripts and row changes of
    /// this engine, one call per statement. The relation need not exist yet. Returns an id for
    /// [`Engine::unregister_callback`].
    ///
    /// The callback runs on the thread that commits, which then holds no lock. Its own changes are
    /// reported when it has returned.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) for a graph, blobs, counters and
    /// combined values: their own calls run no callbacks.
    pub fn register_callback(&self, relation: &str, callback: Callback) -> store::Result<u64> {
        self.store.check_open()?;
        // Registered first, so that a relation that is created meanwhile is checked against it, or
        // found here.
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

    /// Called before creating something that is changed by its own calls. Checks that no callback
    /// is registered for its name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) if one is.
    pub fn refuse_told(&self, name: &str) -> store::Result<()> {
        if !self.callbacks.wants(name) {
            return Ok(());
        }
        let what =
            format!("a callback is registered for {name:?}, which would not get changes by calls");
        let hint = "callbacks are for relations: unregister it, or take another name";
        Err(store::Error::new(store::ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")))
    }

    /// Removes a callback; returns whether it existed.
    pub fn unregister_callback(&self, id: u64) -> bool {
        self.callbacks.unregister(id)
    }

    /// Registers a user-defined fixed rule for scripts. It may be non-deterministic, so its rows
    /// are never cached.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput): the name is built in or
    /// registered, or scripts could not write it.
    pub fn register_fixed_rule(&self, name: &str, rule: Arc<dyn FixedRule>) -> store::Result<()> {
        self.store.check_open()?;
        self.user_defined.add_rule(name, rule)?;
        self.plan_cache.clear();
        Ok(())
    }

    /// Removes a fixed rule; returns whether it existed.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) for a built-in one.
    pub fn unregister_fixed_rule(&self, name: &str) -> store::Result<bool> {
        self.store.check_open()?;
        let removed = self.user_defined.remove_rule(name)?;
        self.plan_cache.clear();
        Ok(removed)
    }

    /// Registers a user-defined aggregate for scripts. It cannot be used in recursion.
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

    /// Removes an aggregate; returns whether it existed.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](store::ErrorKind::InvalidInput) for a built-in one.
    pub fn unregister_aggregate(&self, name: &str) -> store::Result<bool> {
        self.store.check_open()?;
        let removed = self.user_defined.remove_aggregate(name)?;
        self.plan_cache.clear();
        Ok(removed)
    }

    /// Removes all user-defined functions: callbacks, rules, aggregates.
    pub fn unregister_all(&self) {
        self.callbacks.clear();
        self.user_defined.clear();
        self.plan_cache.clear();
    }
}
