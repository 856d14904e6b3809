//! Callbacks: functions that are called with the changes of a relation, after each commit. The
//! change feed of `session` calls them.

use crate::database::Database;
use session::Changed;
use std::sync::Arc;
use store::Result;

impl Database {
    /// Registers a function that is called with the changes of a relation, after each commit of
    /// this database that changed it: by scripts, imports and [`Relation`](crate::Relation), for
    /// each statement in order. The relation need not exist yet. Replaced and removed rows are read
    /// only while a callback is registered.
    ///
    /// The function is called on the committing thread, which holds no lock then, so it may run
    /// scripts. Its own changes are reported after it has returned. It stays registered until
    /// [`Database::unregister_callback`] or [`Database::close`]; if it holds the database, it keeps
    /// the database open until then. Returns an id for [`Database::unregister_callback`].
    ///
    /// ```
    /// use quipu::{Database, Options, Parameters};
    /// use std::sync::{Arc, Mutex};
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// let log = Arc::new(Mutex::new(Vec::new()));
    /// let told = Arc::clone(&log);
    /// db.register_callback("city", move |changed| {
    ///     told.lock().unwrap().push((changed.by, changed.new.len(), changed.old.len()));
    /// })?;
    /// let none = Parameters::new();
    /// db.run("?[name, people] <- [['Lima', 10092000]] :create city {name => people}", &none)?;
    /// db.run("?[name] <- [['Lima'], ['Cusco']] :rm city {name}", &none)?;
    /// use quipu::ChangedBy::{Put, Rm};
    /// assert_eq!(*log.lock().unwrap(), [(Put, 1, 0), (Rm, 2, 1)]);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Forked`](crate::ErrorKind::Forked) in a child of a `fork`.
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for graphs, blobs, counters and
    /// combined values: changes through their views are not reported. While a callback is
    /// registered for a name, none of them can be created under it.
    pub fn register_callback(
        &self,
        relation: &str,
        callback: impl Fn(&Changed) + Send + Sync + 'static,
    ) -> Result<u64> {
        self.engine()?.register_callback(relation, Arc::new(callback))
    }

    /// Removes the callback with this id, from [`Database::register_callback`]. Returns whether
    /// there was one.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`](crate::ErrorKind::Forked) in a child of a `fork`;
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the database is closed.
    pub fn unregister_callback(&self, id: u64) -> Result<bool> {
        self.check_open()?;
        Ok(self.engine()?.unregister_callback(id))
    }
}
