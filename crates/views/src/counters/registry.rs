//! The counters of a database that are open: what waits in them is written together.

use super::{Buffering, Core, Counters, CountersDef, def_of};
use crate::source::Source;
use base::KeyspaceId;
use env::Env;
use env::sync::Mutex;
use env::sync::atomic::{AtomicBool, Ordering};
use relation::{Definition, check_name, invalid};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use store::{ErrorKind, NewKeyspace, Result, Store};

/// Opens counters, each once. What is open stays so: who gives its handle back and asks for another finds what waits.
pub struct Registry {
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    buffering: Buffering,
    open: Mutex<BTreeMap<KeyspaceId, Arc<Core>>>,
    closed: AtomicBool,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("buffering", &self.buffering).finish_non_exhaustive()
    }
}

impl Registry {
    /// Of a database.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, env: Arc<dyn Env>, buffering: Buffering) -> Self {
        Self { store, env, buffering, open: Mutex::default(), closed: AtomicBool::new(false) }
    }

    /// Opens the counters, creating them where they are not there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the name cannot be one, or is taken by something else; or they are there with
    /// other types: the message says both.
    pub fn open(&self, def: &CountersDef) -> Result<Counters> {
        check_name(&def.name)?;
        // Two may create them at once: the loser finds what the winner made.
        for _ in 0..2 {
            if let Some(counters) = self.find(&def.name)? {
                check_types(counters.def(), def)?;
                return Ok(counters);
            }
            let schema = def.schema();
            let new = NewKeyspace {
                name: def.name.clone(),
                shape: schema.shape(),
                definition: Definition::Relation(schema).encode(),
            };
            match self.store.create_keyspaces(&[new]) {
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                created => drop(created?),
            }
        }
        Err(invalid(format!("the counters {:?} cannot be created", def.name)))
    }

    /// Opens the counters of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where the name belongs to something else.
    pub fn find(&self, name: &str) -> Result<Option<Counters>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(invalid("the database is closed"));
        }
        let infos = self.store.keyspaces();
        let Some(info) = infos.iter().find(|info| info.name == name) else { return Ok(None) };
        let def = def_of(info)?;
        let mut open = self.open.lock();
        open.retain(|_, core| !core.ended.load(Ordering::Acquire));
        let new = || {
            let (store, env) = (Arc::clone(&self.store), Arc::clone(&self.env));
            Core::new(def, info.id, store, env, self.buffering)
        };
        let core = Arc::clone(open.entry(info.id).or_insert_with(new));
        Ok(Some(Counters { core, source: Source::Store(Arc::clone(&self.store)) }))
    }

    /// Writes what waits in all of them.
    ///
    /// # Errors
    /// The first failed write; what could not be written waits on.
    pub fn write_waiting(&self) -> Result<()> {
        self.cores().iter().try_for_each(|core| core.write_waiting())
    }

    /// Writes what waits, and lets nothing wait any more: for a database that is closed.
    ///
    /// # Errors
    /// The first failed write; what could not be written is lost.
    pub fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        let mut result = Ok(());
        for core in self.cores() {
            result = result.and(core.write_waiting());
            core.ended.store(true, Ordering::Release);
        }
        result
    }

    fn cores(&self) -> Vec<Arc<Core>> {
        self.open.lock().values().cloned().collect()
    }
}

fn check_types(stored: &CountersDef, wanted: &CountersDef) -> Result<()> {
    if stored == wanted {
        return Ok(());
    }
    let words = |def: &CountersDef| format!("{} keys, {} of {}", def.key, def.combine, def.number);
    Err(invalid(format!(
        "the counters {:?} have {}; {} were asked for",
        stored.name,
        words(stored),
        words(wanted)
    )))
}
