//! Functions that are told what was changed.

use crate::database::Database;
use session::Changed;
use std::sync::Arc;
use store::Result;

impl Database {
    /// Has what is changed of a relation told to a function, after each commit of this database that changed it: by scripts, imports and
    /// [`Relation`](crate::Relation), statement after statement and in their order. The relation need not be there yet. The old rows are read only while somebody is to be told.
    ///
    /// The function is called on the thread that commits, which holds no lock then, so it may run scripts; what it changes itself is told
    /// when it has returned. It is forgotten by [`Database::unregister_callback`] and [`Database::close`]; a function that holds the
    /// database keeps it open until then.
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
    /// db.run("?[name, people] <- [['Lima', 10092000]] :create city {name => people}", &Parameters::new())?;
    /// db.run("?[name] <- [['Lima'], ['Cusco']] :rm city {name}", &Parameters::new())?;
    /// assert_eq!(*log.lock().unwrap(), [(quipu::ChangedBy::Put, 1, 0), (quipu::ChangedBy::Rm, 2, 1)]);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Forked`](crate::ErrorKind::Forked) in a process that inherited the database.
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for graphs, blobs, counters and combined values: nobody is told what their
    /// calls change. As long as a callback waits for a name, none of them is made under it.
    pub fn register_callback(
        &self,
        relation: &str,
        callback: impl Fn(&Changed) + Send + Sync + 'static,
    ) -> Result<u64> {
        self.engine()?.register_callback(relation, Arc::new(callback))
    }

    /// Forgets a function by the number that [`Database::register_callback`] gave; whether there was one.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`](crate::ErrorKind::Forked) in a process that inherited the database; it is closed.
    pub fn unregister_callback(&self, id: u64) -> Result<bool> {
        self.check_open()?;
        Ok(self.engine()?.unregister_callback(id))
    }
}
