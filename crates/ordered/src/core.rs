//! The shared state of an open store: the map, the cached catalog, open transactions.

use crate::error::{damaged, invalid};
use crate::map::{MapRead, OrderedMap};
use crate::meta::{Catalog, Meta, Space, read_catalog};
use crate::options::OrderedOptions;
use base::KeyspaceId;
use env::Own;
use env::sync::Mutex;
use env::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Shared state of a store.
pub(crate) struct Core {
    map: Own<Box<dyn OrderedMap>>,
    /// Where the map is, for messages.
    pub(crate) place: String,
    pub(crate) options: OrderedOptions,
    /// The newest catalog that was read.
    catalog: Mutex<Arc<Catalog>>,
    /// Open transactions of this process, by the commit that they see.
    open: Mutex<BTreeMap<u64, usize>>,
    closed: AtomicBool,
}

/// One state of the map, with its numbers and keyspaces.
pub(crate) struct Pinned {
    pub(crate) core: Arc<Core>,
    map: Own<Mutex<Box<dyn MapRead + Send>>>,
    pub(crate) meta: Meta,
    /// Its keyspaces. Use [`Pinned::space`], which also knows those that are newer.
    pub(crate) catalog: Arc<Catalog>,
}

/// An open transaction: its entry in [`Core::open`].
pub(crate) struct Opened {
    core: Arc<Core>,
    seq: u64,
}

impl Core {
    pub(crate) fn new(map: Box<dyn OrderedMap>, options: OrderedOptions) -> Self {
        Self {
            place: map.name(),
            map: Own::new(map),
            options,
            catalog: Mutex::default(),
            open: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// The map, for the process that opened it, until it is closed.
    pub(crate) fn map(&self) -> Result<&dyn OrderedMap> {
        let map = self.map.get().map_err(|error| Error::caused(ErrorKind::Forked, error))?;
        self.check_open()?;
        Ok(&**map)
    }

    pub(crate) fn check_process(&self) -> Result<()> {
        self.map.get().map(drop).map_err(|error| Error::caused(ErrorKind::Forked, error))
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(invalid(format!("{} is closed", self.place))),
            false => Ok(()),
        }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.options.read_only {
            true => {
                Err(Error::new(ErrorKind::ReadOnly, format!("{} was opened read-only", self.place)))
            }
            false => Ok(()),
        }
    }

    /// Fails in non-blocking mode: calls of the map may wait.
    pub(crate) fn check_may_wait(&self) -> Result<()> {
        match env::may_wait() {
            true => Ok(()),
            false => {
                let what = format!("{} cannot be used without waiting", self.place);
                Err(Error::new(ErrorKind::Io, what))
            }
        }
    }

    /// Marks the store as closed; returns whether it was open.
    pub(crate) fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    /// The path that the names of the map's files start with.
    pub(crate) fn file(&self) -> Option<std::path::PathBuf> {
        self.map.get().ok()?.file().map(std::path::Path::to_owned)
    }

    /// The newest state.
    pub(crate) fn pin(self: &Arc<Self>) -> Result<Pinned> {
        self.check_may_wait()?;
        let mut map = self.map()?.snapshot()?;
        let meta = self.meta(&mut *map)?;
        let catalog = self.catalog(&mut *map, &meta)?;
        Ok(Pinned { core: Arc::clone(self), map: Own::new(Mutex::new(map)), meta, catalog })
    }

    pub(crate) fn meta(&self, map: &mut dyn MapRead) -> Result<Meta> {
        Meta::read(&self.place, map)?.ok_or_else(|| damaged(&self.place, "its numbers are missing"))
    }

    /// The keyspaces of a state of the map, which are read only if they changed.
    pub(crate) fn catalog(&self, map: &mut dyn MapRead, meta: &Meta) -> Result<Arc<Catalog>> {
        let known = self.known_catalog();
        if known.seq == meta.catalog_seq {
            return Ok(known);
        }
        let read = Arc::new(read_catalog(&self.place, map, meta.catalog_seq)?);
        self.learn(&read);
        Ok(read)
    }

    pub(crate) fn known_catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.lock())
    }

    /// Keeps a catalog if it is newer.
    pub(crate) fn learn(&self, catalog: &Arc<Catalog>) {
        let mut known = self.catalog.lock();
        if known.seq < catalog.seq {
            *known = Arc::clone(catalog);
        }
    }

    pub(crate) fn open_transaction(self: &Arc<Self>, seq: u64) -> Opened {
        *self.open.lock().entry(seq).or_default() += 1;
        Opened { core: Arc::clone(self), seq }
    }

    /// The oldest commit that an open transaction of this process sees.
    pub(crate) fn oldest_open(&self) -> Option<u64> {
        self.open.lock().keys().next().copied()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.core.check_process().is_err() {
            return;
        }
        let mut open = self.core.open.lock();
        if let Some(count) = open.get_mut(&self.seq) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.seq);
            }
        }
    }
}

impl Pinned {
    /// The keyspace with this id. One that was created later is empty here.
    pub(crate) fn space(&self, id: KeyspaceId) -> Result<Arc<Space>> {
        if let Ok(space) = self.catalog.space(id) {
            return Ok(Arc::clone(space));
        }
        self.core.known_catalog().space(id).cloned()
    }

    /// Calls `f` with the map.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut dyn MapRead) -> Result<R>) -> Result<R> {
        let map = self.map.get().map_err(|error| Error::caused(ErrorKind::Forked, error))?;
        self.core.check_open()?;
        self.core.check_may_wait()?;
        f(&mut **map.lock())
    }
}
