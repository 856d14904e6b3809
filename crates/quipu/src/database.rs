//! An open database, and handles of its graphs, blobs, counters and combined values.

mod stats;
mod transaction;

pub use stats::{DatabaseStats, GraphStats, RelationStats};
pub use transaction::Tx;

use crate::options::{BlobOptions, CombinedOptions, CounterOptions, GraphOptions, Options};
use crate::slow_query::timed;
use crate::view_host::ViewHost;
use env::{Env, MemoryEnv, Own, RealEnv, RealOptions};
use kv::{Kv, KvOptions};
use relation::{BlobsDef, Catalog, Definition, Entry, GraphPart};
use session::{Files, Host};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Isolation, Result, Store};
use views::blobs::{Blobs, remove_unfinished};
use views::combined::{Combined, CombinedDef, Combiner};
use views::counters::{Counters, CountersDef};
use views::graph::{Graph, GraphDef};
use views::import::ImportOptions;
use views::write_buffer::{Buffering, Registry};

/// An open database. Cheap to clone; threads may share it. It is closed by [`Database::close`], or
/// when the last clone is dropped.
///
/// It belongs to the process that opened it. In a child of a `fork`, every call of the copied
/// database and of objects made from it returns [`ErrorKind::Forked`] and accesses nothing; closing
/// or dropping it does nothing. The child may open the folder itself: read-only, or after the
/// parent has closed it.
#[derive(Clone)]
pub struct Database {
    parts: Arc<Own<Parts>>,
    folder: Option<PathBuf>,
    options: Options,
}

/// The components that calls use, for the process that opened them.
pub(crate) struct Parts {
    store: Arc<dyn Store>,
    /// The same store, if it is the native engine.
    kv: Option<Arc<Kv>>,
    env: Arc<dyn Env>,
    /// Open counters and combined values, with their write buffers.
    buffers: Arc<Registry>,
    /// Runs scripts.
    engine: Arc<session::Engine>,
    /// Makes projections of graphs.
    pub(crate) projector: analytics::Projector,
}

impl Parts {
    /// Where imports spill; `None` where there is no folder for it.
    fn spill_folder(&self, folder: Option<&Path>) -> Option<PathBuf> {
        folder.and(self.kv.as_ref()).map(|kv| spill_folder(kv.folder()))
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Database {
    /// Creates a database in memory. It is lost when the last clone is dropped.
    ///
    /// # Errors
    /// Currently none.
    pub fn in_memory(options: Options) -> Result<Self> {
        let env = MemoryEnv::new(options.threads);
        // A log in memory would not survive anything.
        let options =
            Options { durability: Durability::None, read_only: false, create: true, ..options };
        Self::open_in(Arc::new(env), None, options)
    }

    pub(crate) fn open_in(
        env: Arc<dyn Env>,
        folder: Option<PathBuf>,
        options: Options,
    ) -> Result<Self> {
        let mut kv_options = KvOptions {
            durability: options.durability,
            cache_bytes: options.cache_bytes(),
            memtable_bytes: options.memtable_bytes(),
            memory_limit_bytes: options.memory_limit_bytes,
            transaction_bytes_max: options.memory_limit_bytes / 4,
            wal_segment_bytes: options.wal_segment_bytes(),
            table_folders: options.table_folders.clone(),
            direct_reads: options.direct_io,
            read_only: options.read_only,
            create: options.create,
            ..KvOptions::default()
        };
        kv_options.tree.table_bytes = options.table_bytes();
        let path = folder.clone().unwrap_or_else(|| PathBuf::from("/memory"));
        let kv = Arc::new(Kv::open(Arc::clone(&env), &path, kv_options)?);
        let store: Arc<dyn Store> = Arc::<Kv>::clone(&kv);
        let env = match &folder {
            // Imported files are on the machine even if the database is in memory.
            None => Arc::new(RealEnv::new(RealOptions {
                threads: options.threads,
                ..RealOptions::default()
            })),
            Some(_) => {
                if !options.read_only {
                    // The store holds the lock of the folder, so no other process imports into it.
                    views::import::remove_stale_runs(&*env, &spill_folder(kv.folder()))?;
                    finish_what_was_left(&store, &env)?;
                }
                env
            }
        };
        Self::over(store, Some(kv), env, folder, options)
    }

    /// A database over an open store. `kv` is the same store, if it is the native engine.
    pub(crate) fn over(
        store: Arc<dyn Store>,
        kv: Option<Arc<Kv>>,
        env: Arc<dyn Env>,
        folder: Option<PathBuf>,
        options: Options,
    ) -> Result<Self> {
        let buffering = Buffering {
            durability: options.durability,
            rows_max: options.increments_buffered_max(),
            bytes_max: options.combined_buffered_bytes(),
            commit_rows: Buffering::COMMIT_ROWS,
        };
        let buffers = Registry::new(Arc::clone(&store), Arc::clone(&env), buffering);
        let buffers = Arc::new(buffers);
        let view_host = ViewHost {
            store: Arc::clone(&store),
            env: Arc::clone(&env),
            buffers: Arc::clone(&buffers),
        };
        let engine = view_host.engine(options.query_bytes(), absolute_files(&options.files)?);
        let projector = analytics::Projector::new(options.query_bytes());
        let parts = Parts { store, kv, env, buffers, engine, projector };
        let parts = Arc::new(Own::new(parts));
        Ok(Self { parts, folder, options })
    }

    /// The folder of the database; `None` in memory.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Whether `path` lies in a folder of the database, where others must not write.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        let Ok(parts) = self.parts() else { return false };
        std::path::absolute(path).is_ok_and(|path| parts.store.holds(&path))
    }

    /// The options it was opened with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Every call uses this first: threads of the parent process may hold locks behind it.
    #[inline]
    pub(crate) fn parts(&self) -> Result<&Parts> {
        self.parts.get().map_err(|error| Error::caused(ErrorKind::Forked, error))
    }

    /// Checks that the database may be used in this process. Costs one load.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`] if another process opened it.
    #[inline]
    pub fn check_process(&self) -> Result<()> {
        self.parts().map(drop)
    }

    /// The environment, for imports that read files. In another process its calls fail.
    #[must_use]
    pub fn env(&self) -> &Arc<dyn Env> {
        &self.parts.anywhere().env
    }

    /// The store below, for layers that this crate does not wrap. In another process its calls
    /// fail.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.anywhere().store
    }

    /// The native engine below the store trait, for `what`, which no other engine can do.
    pub(crate) fn kv(&self, what: &str) -> Result<&Arc<Kv>> {
        self.parts()?.kv.as_ref().ok_or_else(|| {
            let hint = "copy the database into a folder with `quipu migrate`, and use that";
            let what = format!("only a database in a folder can do this: {what}");
            Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}"))
        })
    }

    /// Runs `call`, which runs a script, and reports it if it was slow.
    pub(crate) fn timed<T>(&self, script: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        timed(self.options.on_slow_query.as_ref(), &**self.env(), script, call)
    }

    /// The engine that runs scripts.
    pub(crate) fn engine(&self) -> Result<&session::Engine> {
        Ok(&self.parts()?.engine)
    }

    fn open_store(&self) -> Result<Arc<dyn Store>> {
        Ok(Arc::clone(&self.parts()?.store))
    }

    fn catalog(&self) -> Result<Catalog> {
        Ok(Catalog::new(self.open_store()?))
    }

    /// The entry with this name.
    pub(crate) fn entry(&self, name: &str) -> Result<Option<Entry>> {
        self.catalog()?.find(name)
    }

    /// Opens the graph with this name, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if it exists with other types or properties, or the name or a
    /// property is invalid.
    pub fn graph(&self, name: &str, options: GraphOptions) -> Result<Graph> {
        self.open_or_create_graph(name, options).map(|(graph, _)| graph)
    }

    /// As [`Database::graph`]; also returns whether this call created the graph. Only then may a
    /// caller that fails afterwards drop it.
    ///
    /// # Errors
    /// As [`Database::graph`].
    pub fn open_or_create_graph(&self, name: &str, options: GraphOptions) -> Result<(Graph, bool)> {
        if self.parts()?.store.is_read_only() {
            return Ok((self.require_graph(name)?, false));
        }
        self.refuse_told(name, || Ok(self.existing_graph(name)?.is_some()))?;
        Graph::open_or_create(self.open_store()?, options.into_def(name))
    }

    /// Fails if the database is closed. All calls fail then, except [`Database::close`] and those
    /// that return how it was opened.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`].
    pub fn check_open(&self) -> Result<()> {
        self.parts()?.store.check_open()
    }

    /// Refuses to create a view whose changes are not reported if its name has a callback.
    fn refuse_told(&self, name: &str, is_there: impl FnOnce() -> Result<bool>) -> Result<()> {
        match self.engine()?.refuse_told(name) {
            Err(refused) if !is_there()? => Err(refused),
            _ => Ok(()),
        }
    }

    /// Opens the graph with this name, with the types it was created with; `None` if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to something else.
    pub fn existing_graph(&self, name: &str) -> Result<Option<Graph>> {
        self.check_open()?;
        Graph::find(self.open_store()?, name)
    }

    /// Opens the graph with this name, which must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the names of the existing graphs.
    pub fn require_graph(&self, name: &str) -> Result<Graph> {
        match self.existing_graph(name)? {
            Some(graph) => Ok(graph),
            None => Err(no_graph(name, &self.graphs()?)),
        }
    }

    /// All graphs, ordered by name.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if a definition cannot be decoded.
    pub fn graphs(&self) -> Result<Vec<GraphDef>> {
        self.check_open()?;
        let mut graphs = Vec::new();
        for info in self.parts()?.store.keyspaces() {
            if let Definition::Graph(def, GraphPart::Forward) = Definition::decode(&info)? {
                graphs.push(def);
            }
        }
        graphs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(graphs)
    }

    /// Drops the relation, graph, blobs, counters or combined values with this name, in one step.
    /// Returns false if there are none. Snapshots that are in use still see them.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name is invalid, or its access level forbids it
    /// (`protected` or stricter).
    pub fn drop_entry(&self, name: &str) -> Result<bool> {
        self.check_droppable(name)?;
        self.view_host()?.drop_entry(name)
    }

    fn check_droppable(&self, name: &str) -> Result<()> {
        self.check_open()?;
        let settings = self.catalog()?.settings(&*self.parts()?.store, name)?;
        relation::check_access(name, &settings, relation::Access::Protected)
    }

    /// Drops a graph in one step. Snapshots that are in use still see it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there is no such graph, or its access level forbids it.
    pub fn drop_graph(&self, name: &str) -> Result<()> {
        let graph = self.require_graph(name)?;
        self.check_droppable(name)?;
        graph.drop_graph()
    }

    /// Opens the blobs with this name, and creates them if they do not exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if they exist with other keys, or the name is invalid.
    pub fn blobs(&self, name: &str, options: BlobOptions) -> Result<Blobs> {
        if self.parts()?.store.is_read_only() {
            return self.require_blobs(name);
        }
        self.refuse_told(name, || Ok(self.existing_blobs(name)?.is_some()))?;
        let def = BlobsDef { name: name.to_owned(), key: options.key };
        Blobs::open(self.open_store()?, Arc::clone(self.env()), def)
    }

    /// Opens the blobs with this name, with the keys they were created with; `None` if there are
    /// none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to something else.
    pub fn existing_blobs(&self, name: &str) -> Result<Option<Blobs>> {
        self.check_open()?;
        Blobs::find(self.open_store()?, Arc::clone(self.env()), name)
    }

    /// Opens the blobs with this name, which must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the names of the existing entries.
    pub fn require_blobs(&self, name: &str) -> Result<Blobs> {
        self.existing_blobs(name)?.ok_or_else(|| self.nothing_named("blobs", name))
    }

    /// Opens the counters with this name, and creates them if they do not exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if they exist with other types, or the name is invalid.
    pub fn counters(&self, name: &str, options: CounterOptions) -> Result<Counters> {
        let parts = self.parts()?;
        if parts.store.is_read_only() {
            return self.require_counters(name);
        }
        self.refuse_told(name, || Ok(self.existing_counters(name)?.is_some()))?;
        let CounterOptions { key, number, combine } = options;
        parts.buffers.counters(&CountersDef { name: name.to_owned(), key, number, combine })
    }

    /// Opens the counters with this name, with the types they were created with; `None` if there
    /// are none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to something else.
    pub fn existing_counters(&self, name: &str) -> Result<Option<Counters>> {
        self.check_open()?;
        self.parts()?.buffers.find_counters(name)
    }

    /// Opens the counters with this name, which must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the names of the existing entries.
    pub fn require_counters(&self, name: &str) -> Result<Counters> {
        self.existing_counters(name)?.ok_or_else(|| self.nothing_named("counters", name))
    }

    /// Opens the values with this name that a user-defined function combines, and creates them if
    /// they do not exist. The function is not stored: pass the same one each time. In one process
    /// all handles use the function that was passed first.
    ///
    /// ```
    /// use quipu::{CombinedOptions, Database, KeyOf, Options};
    /// use std::sync::Arc;
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// // Values are lists of bytes, the longer one wins.
    /// let longer = |_: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>| {
    ///     out.extend_from_slice(if new.len() > old.len() { new } else { old });
    ///     Ok(())
    /// };
    /// let longest = db.combined("longest", CombinedOptions::default(), Arc::new(longer))?;
    /// longest.add(7_u64, b"quipu")?;
    /// longest.add(7_u64, b"knot")?;
    /// let mut value = Vec::new();
    /// assert!(longest.get(7_u64, &mut value)?);
    /// assert_eq!(value, b"quipu");
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if they exist with other keys, are open with a function of
    /// another name ([`Combiner::name`]), or the name is invalid.
    pub fn combined(
        &self,
        name: &str,
        options: CombinedOptions,
        combiner: Arc<dyn Combiner>,
    ) -> Result<Combined> {
        self.check_open()?;
        let parts = self.parts()?;
        if parts.store.is_read_only() {
            let found = parts.buffers.find_combined(name, &combiner)?;
            return found.ok_or_else(|| self.nothing_named("combined values", name));
        }
        self.refuse_told(name, || {
            Ok(self.parts()?.buffers.find_combined(name, &combiner)?.is_some())
        })?;
        let def = CombinedDef { name: name.to_owned(), key: options.key };
        parts.buffers.combined(&def, &combiner)
    }

    /// All relations, graphs, blobs, counters and combined values, ordered by name.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if a definition cannot be decoded.
    pub fn list(&self) -> Result<Vec<Entry>> {
        self.check_open()?;
        self.catalog()?.list()
    }

    pub(crate) fn nothing_named(&self, kind: &str, name: &str) -> Error {
        match self.list() {
            Ok(there) => {
                missing(kind, name, there.iter().map(Entry::name), "the database holds nothing yet")
            }
            Err(error) => error,
        }
    }

    /// Writes the write buffers, so that later operations see all increments in the store.
    pub(crate) fn flush_buffers(&self) -> Result<()> {
        self.parts()?.buffers.flush_buffers()
    }

    /// Begins a transaction. Writes the write buffers first; it does not see increments that could
    /// not be written, see [`Tx::combined`].
    #[must_use]
    pub fn transaction(&self, isolation: Isolation) -> Tx {
        Tx::begin(self, isolation)
    }

    /// Calls `change` in new transactions until one of them commits.
    ///
    /// # Errors
    /// Those of `change` and of the commit; [`ErrorKind::Conflict`] after many attempts.
    pub(crate) fn retried<T>(&self, change: impl Fn(&Tx) -> Result<T>) -> Result<T> {
        retried(|| {
            let transaction = self.transaction(Isolation::Snapshot);
            let done = change(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }

    /// Whether a small commit would not block now: not on a sync of the log, a memtable flush, or
    /// another thread. For callers that hold a lock during the commit, such as Python's GIL. It
    /// guarantees nothing, because others commit too.
    #[must_use]
    pub fn commit_would_not_block(&self) -> bool {
        self.options.durability != Durability::Sync
            && self.parts().is_ok_and(|parts| parts.store.commit_would_not_block())
    }

    /// Options of an import, derived from those of this database.
    #[must_use]
    pub fn import_options(&self) -> ImportOptions {
        ImportOptions {
            memory_limit_bytes: self.options.import_bytes(self.env().parallelism() as u64),
            cache_lent_bytes: self.options.cache_lent_bytes(),
            // A database in memory would spill into memory.
            spill_folder: self.parts.anywhere().spill_folder(self.folder()),
            ..ImportOptions::default()
        }
    }

    /// Flushes memtables and write buffers to tables; all commits are durable when it returns.
    ///
    /// # Errors
    /// Failed writes, which poison the database; errors of functions of combined values.
    pub fn flush(&self) -> Result<()> {
        self.check_open()?;
        let store = self.open_store()?;
        // A user-defined function that fails must not keep the rest from being flushed.
        let written = self.flush_buffers();
        store.flush().and(written)
    }

    /// Compacts every keyspace into one sorted run: the smallest form, and the fastest to read.
    ///
    /// # Errors
    /// Failed writes, which poison the database.
    pub fn compact(&self) -> Result<()> {
        self.compact_while(&|| true)
    }

    /// As [`Database::compact`], but stops when `go_on` returns false. It is called every few
    /// thousand merged rows.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] if it was stopped; relations compacted until then stay compacted.
    /// Failed writes, which poison the database.
    pub fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.check_open()?;
        self.view_host()?.compact_while(go_on)
    }

    fn view_host(&self) -> Result<ViewHost> {
        let Parts { store, env, buffers, .. } = self.parts()?;
        let (store, env, buffers) = (Arc::clone(store), Arc::clone(env), Arc::clone(buffers));
        Ok(ViewHost { store, env, buffers })
    }

    /// Moves a read-only database to the writer's newest commits. Does nothing in a writer.
    ///
    /// # Errors
    /// Corruption, or files that are permanently missing.
    pub fn refresh(&self) -> Result<()> {
        self.check_open()?;
        let Parts { store, engine, .. } = self.parts()?;
        store.refresh()?;
        if store.is_read_only() {
            engine.invalidate_plans();
        }
        Ok(())
    }

    /// Flushes and unlocks the folder. Later calls fail. In a child of a `fork` it does nothing:
    /// the parent flushes and owns the folder.
    ///
    /// # Errors
    /// A failed flush; the folder is unlocked all the same.
    pub fn close(&self) -> Result<()> {
        let Ok(Parts { store, buffers, engine, .. }) = self.parts() else { return Ok(()) };
        let written = buffers.close();
        // Callbacks may hold this database.
        engine.unregister_all();
        store.close().and(written)
    }
}

fn no_graph(name: &str, there: &[GraphDef]) -> Error {
    let names = there.iter().map(|def| def.name.as_str());
    missing("graph", name, names, "the database holds no graph yet")
}

/// The error of a missing name, with a hint of the existing ones.
fn missing<'a>(
    kind: &str,
    name: &str,
    there: impl Iterator<Item = &'a str>,
    nothing: &str,
) -> Error {
    let names: Vec<_> = there.collect();
    let hint = if names.is_empty() {
        nothing.to_owned()
    } else {
        format!("there are: {}", names.join(", "))
    };
    Error::new(ErrorKind::InvalidInput, format!("no {kind} {name:?}\nhint: {hint}"))
}

/// Most attempts of a call that begins its own transactions, before its conflict is returned.
const ATTEMPTS_MAX: usize = 64;

/// Calls `attempt` until it conflicts with no other writer.
///
/// # Errors
/// Those of the last attempt.
pub(crate) fn retried<T>(attempt: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS_MAX {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            done => return done,
        }
    }
    attempt()
}

/// Removes unfinished objects of a killed writer. No other process writes now.
pub(crate) fn finish_what_was_left(store: &Arc<dyn Store>, env: &Arc<dyn Env>) -> Result<()> {
    Catalog::new(Arc::clone(store)).finish_names()?;
    remove_unfinished(store, env)
}

/// Makes the folder absolute, so that it stays valid if the working directory changes.
fn absolute_files(files: &Files) -> Result<Files> {
    let Files::Below(folder) = files else { return Ok(files.clone()) };
    let folder = std::path::absolute(folder);
    folder.map(Files::Below).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
}

/// Folder for rows of imports that exceed the memory limit.
fn spill_folder(folder: &Path) -> PathBuf {
    env::join(folder, "tmp")
}
