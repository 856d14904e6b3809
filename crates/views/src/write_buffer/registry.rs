//! The open views of a database that have a write buffer. Each is opened once, and all buffers are
//! written together.

use crate::combined::{self, Combined, CombinedDef, Combiner};
use crate::counters::{self, Counters, CountersDef};
use crate::owner::check_process;
use crate::write_buffer::{Buffered, Buffering};
use base::KeyspaceId;
use env::sync::Mutex;
use env::{Env, Owner};
use relation::{Schema, check_name, invalid, new_keyspace};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use store::{Error, ErrorKind, KeyspaceInfo, Result, Store};

/// Opens counters and combined values, each once per database. Views stay open: a new handle of a
/// view finds its buffered increments. In a child of a `fork` nothing is opened and nothing is
/// written.
pub struct Registry {
    owner: Owner,
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    buffering: Buffering,
    open: Mutex<Views>,
}

#[derive(Default)]
struct Views {
    by_id: BTreeMap<KeyspaceId, View>,
    closed: bool,
}

#[derive(Clone)]
enum View {
    Counters(Arc<counters::Core>),
    Combined(Arc<combined::Core>),
}

impl View {
    fn is_ended(&self) -> bool {
        match self {
            Self::Counters(core) => core.is_ended(),
            Self::Combined(core) => core.is_ended(),
        }
    }

    fn buffered(&self) -> &dyn Buffered {
        match self {
            Self::Counters(core) => &**core,
            Self::Combined(core) => &**core,
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("buffering", &self.buffering).finish_non_exhaustive()
    }
}

impl Registry {
    /// A registry without open views.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, env: Arc<dyn Env>, buffering: Buffering) -> Self {
        Self { owner: Owner::here(), store, env, buffering, open: Mutex::default() }
    }

    /// Opens counters, and creates them if they do not exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the name is invalid or taken by something else, or the counters
    /// exist with other types; the message names both.
    pub fn counters(&self, def: &CountersDef) -> Result<Counters> {
        check_name(&def.name)?;
        let counters = self.find_or_create(&def.schema(), || self.find_counters(&def.name))?;
        counters::check_types(counters.def(), def)?;
        Ok(counters)
    }

    /// Opens the counters with this name; `None` if there are none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to something else.
    pub fn find_counters(&self, name: &str) -> Result<Option<Counters>> {
        let Some(info) = self.info(name)? else { return Ok(None) };
        let def = counters::def_of(&info)?;
        let view = self.view(info.id, |store, env| {
            View::Counters(counters::Core::new(def, info.id, store, env, &self.buffering))
        })?;
        match view {
            View::Counters(core) => Ok(Some(Counters::of(core))),
            View::Combined(_) => Err(invalid(format!("{name:?} are no counters"))),
        }
    }

    /// Opens combined values, and creates them if they do not exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the name is invalid or taken by something else, or the values
    /// exist with other keys, or are open with a function of another name.
    pub fn combined(&self, def: &CombinedDef, combiner: &Arc<dyn Combiner>) -> Result<Combined> {
        check_name(&def.name)?;
        let find = || self.find_combined(&def.name, combiner);
        let combined = self.find_or_create(&def.schema(), find)?;
        combined::check_same(&combined, def, &**combiner)?;
        Ok(combined)
    }

    /// Opens the combined values with this name; `None` if there are none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to something else.
    pub fn find_combined(
        &self,
        name: &str,
        combiner: &Arc<dyn Combiner>,
    ) -> Result<Option<Combined>> {
        let Some(info) = self.info(name)? else { return Ok(None) };
        let def = combined::def_of(&info)?;
        let view = self.view(info.id, |store, env| {
            let combiner = Arc::clone(combiner);
            View::Combined(combined::Core::new(def, combiner, info.id, store, env, &self.buffering))
        })?;
        match view {
            View::Combined(core) => Ok(Some(Combined::of(core))),
            View::Counters(_) => Err(invalid(format!("{name:?} are no combined values"))),
        }
    }

    /// The combined values with this name, if they are open already.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] after the database was closed.
    pub fn open_combined(&self, name: &str) -> Result<Option<Combined>> {
        let Some(info) = self.info(name)? else { return Ok(None) };
        Ok(match self.open.lock().by_id.get(&info.id) {
            Some(View::Combined(core)) => Some(Combined::of(Arc::clone(core))),
            Some(View::Counters(_)) | None => None,
        })
    }

    /// Writes the buffers of all views, as far as possible.
    ///
    /// # Errors
    /// The first failure. Increments that were not written stay in their buffers.
    pub fn flush_buffers(&self) -> Result<()> {
        check_process(self.owner)?;
        let failed = self.write_each();
        failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Writes the buffer of the view with this keyspace, if it is open.
    ///
    /// # Errors
    /// A failed write. Increments that were not written stay in the buffer.
    pub fn flush_buffer_of(&self, keyspace: KeyspaceId) -> Result<()> {
        check_process(self.owner)?;
        let view = self.open.lock().by_id.get(&keyspace).cloned();
        view.map_or(Ok(()), |view| view.buffered().flush_buffer())
    }

    /// Whether the view with this keyspace has buffered increments; for `None`, whether any has.
    #[must_use]
    pub fn has_buffered(&self, keyspace: Option<KeyspaceId>) -> bool {
        if !self.owner.is_here() {
            return false;
        }
        let open = self.open.lock();
        let has_rows = |view: &View| view.buffered().rows_buffered() > 0;
        match keyspace {
            Some(keyspace) => open.by_id.get(&keyspace).is_some_and(has_rows),
            None => open.by_id.values().any(has_rows),
        }
    }

    /// Writes the buffers of all views. Returns the failures with the keyspaces of their views.
    #[must_use]
    pub fn write_each(&self) -> Vec<(KeyspaceId, Error)> {
        if !self.owner.is_here() {
            return Vec::new();
        }
        let views = self.open.lock().by_id.clone();
        let failed = |(id, view): (_, View)| Some((id, view.buffered().flush_buffer().err()?));
        views.into_iter().filter_map(failed).collect()
    }

    /// Marks the view of a dropped keyspace as ended: it refuses further increments.
    pub fn end(&self, keyspace: KeyspaceId) {
        if !self.owner.is_here() {
            return;
        }
        if let Some(view) = self.open.lock().by_id.get(&keyspace) {
            view.buffered().end();
        }
    }

    /// Writes all buffers and refuses further increments, when a database is closed.
    ///
    /// # Errors
    /// The first failed write. Increments that were not written are lost.
    pub fn close(&self) -> Result<()> {
        if !self.owner.is_here() {
            return Ok(());
        }
        let views = {
            let mut open = self.open.lock();
            open.closed = true;
            open.by_id.clone()
        };
        let mut result = Ok(());
        for view in views.values() {
            result = result.and(view.buffered().close());
        }
        result
    }

    fn find_or_create<V>(
        &self,
        schema: &Schema,
        find: impl Fn() -> Result<Option<V>>,
    ) -> Result<V> {
        // Two callers may create it at the same time: the second finds the view of the first.
        for _ in 0..2 {
            if let Some(view) = find()? {
                return Ok(view);
            }
            match self.store.create_keyspaces(&[new_keyspace(schema)]) {
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                created => drop(created?),
            }
        }
        find()?.ok_or_else(|| invalid(format!("{:?} cannot be created", schema.name)))
    }

    fn info(&self, name: &str) -> Result<Option<KeyspaceInfo>> {
        check_process(self.owner)?;
        if self.open.lock().closed {
            return Err(closed());
        }
        Ok(self.store.keyspace_named(name))
    }

    /// The open view of a keyspace; opens it if necessary.
    fn view(
        &self,
        id: KeyspaceId,
        new: impl FnOnce(Arc<dyn Store>, Arc<dyn Env>) -> View,
    ) -> Result<View> {
        let mut open = self.open.lock();
        // Checked under the lock: a view opened after `close` would never be written.
        if open.closed {
            return Err(closed());
        }
        open.by_id.retain(|_, view| !view.is_ended());
        let new = || new(Arc::clone(&self.store), Arc::clone(&self.env));
        Ok(open.by_id.entry(id).or_insert_with(new).clone())
    }
}

fn closed() -> Error {
    invalid("the database is closed")
}
