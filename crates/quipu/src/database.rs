//! An open database: the folder, its graphs.

mod transaction;

pub use transaction::Tx;

use crate::options::{BlobOptions, CombinedOptions, CounterOptions, GraphOptions, Options};
use crate::script::Beside;
use env::{Env, MemoryEnv, Own, RealEnv, RealOptions};
use kv::{Kv, KvOptions};
use relation::{BlobsDef, BlobsPart, Catalog, Definition, Entry, GraphPart};
use session::{Files, Host};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Isolation, Result, Store, WrittenBytes};
use views::blobs::{Blobs, remove_unfinished};
use views::combined::{Combined, CombinedDef, Combiner};
use views::counters::{Counters, CountersDef};
use views::graph::{Graph, GraphDef};
use views::import::ImportOptions;
use views::waiting::{Buffering, Registry};

/// An open database. Cheap to clone; threads may share it. It is closed when the last clone is
/// gone, or by [`Database::close`].
///
/// It belongs to the process that opened it. In a child of a `fork`, which inherits a copy, every call of it, and of whatever was
/// made from it, is [`ErrorKind::Forked`] and touches nothing; to close or drop it there does nothing. The child may open the
/// folder itself, read-only or after its parent has closed it.
#[derive(Clone)]
pub struct Database {
    parts: Arc<Own<Parts>>,
    folder: Option<PathBuf>,
    options: Options,
}

/// What calls go to, in the process that opened it.
struct Parts {
    store: Arc<dyn Store>,
    /// The same, by its type.
    kv: Arc<Kv>,
    env: Arc<dyn Env>,
    /// Counters and combined values.
    waiting: Arc<Registry>,
    /// Runs scripts.
    engine: Arc<session::Engine>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Database {
    /// Opens the database in `folder`, creating it unless the options forbid.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`] where another process writes it (the message says who),
    /// [`ErrorKind::Corruption`] with file and offset, [`ErrorKind::InvalidInput`] where the folder
    /// holds something else, or nothing and may not be created.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        let env = RealEnv::new(RealOptions {
            threads: options.threads,
            direct_writes: options.direct_io,
            ..RealOptions::default()
        });
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
        };
        let folder = absolute(folder.as_ref())?;
        // The database keeps their names, and may be opened from elsewhere.
        let table_folders: Result<_> = options.table_folders.iter().map(|p| absolute(p)).collect();
        let options = Options { table_folders: table_folders?, ..options };
        Self::open_in(Arc::new(env), Some(folder), options)
    }

    /// A new database in memory; gone with the last clone.
    ///
    /// # Errors
    /// None today; opening a database can fail.
    pub fn in_memory(options: Options) -> Result<Self> {
        let env = MemoryEnv::new(options.threads);
        // There is nothing a log in memory would survive.
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
            // What is imported lies on the machine also where the database does not.
            None => Arc::new(RealEnv::new(RealOptions {
                threads: options.threads,
                ..RealOptions::default()
            })),
            Some(_) => {
                if !options.read_only {
                    // The store holds the lock of the folder, so no other process imports into it.
                    views::import::remove_stale_runs(&*env, &spill_folder(kv.folder()))?;
                    Catalog::new(Arc::clone(&store)).finish_names()?;
                    remove_unfinished(&store, &env)?;
                }
                env
            }
        };
        let buffering = Buffering {
            durability: options.durability,
            rows_max: options.increments_waiting_max(),
            bytes_max: options.combined_waiting_bytes(),
            commit_rows: Buffering::COMMIT_ROWS,
        };
        let waiting = Registry::new(Arc::clone(&store), Arc::clone(&env), buffering);
        let waiting = Arc::new(waiting);
        let beside = Beside {
            store: Arc::clone(&store),
            env: Arc::clone(&env),
            waiting: Arc::clone(&waiting),
        };
        let engine = beside.engine(options.query_bytes(), absolute_files(&options.files)?);
        let parts = Arc::new(Own::new(Parts { store, kv, env, waiting, engine }));
        Ok(Self { parts, folder, options })
    }

    /// The folder; `None` in memory.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Whether a file at `path` would lie among the database's own files, where nobody else may write.
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

    /// Asked first by every call: behind it there are locks, which threads of another process may hold.
    #[inline]
    fn parts(&self) -> Result<&Parts> {
        self.parts.get().map_err(|error| Error::caused(ErrorKind::Forked, error))
    }

    /// Whether the database may be used in this process. It costs a load.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`] where it was opened in another one.
    #[inline]
    pub fn check_process(&self) -> Result<()> {
        self.parts().map(drop)
    }

    /// The environment, for imports that read files. In another process all it does is to refuse.
    #[must_use]
    pub fn env(&self) -> &Arc<dyn Env> {
        &self.parts.anywhere().env
    }

    /// The store below, for layers that this crate does not wrap. In another process all it does is to refuse.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.anywhere().store
    }

    /// The native engine below.
    pub(crate) fn kv(&self) -> Result<&Arc<Kv>> {
        Ok(&self.parts()?.kv)
    }

    /// What runs scripts.
    pub(crate) fn engine(&self) -> Result<&session::Engine> {
        Ok(&self.parts()?.engine)
    }

    fn open_store(&self) -> Result<Arc<dyn Store>> {
        Ok(Arc::clone(&self.parts()?.store))
    }

    fn catalog(&self) -> Result<Catalog> {
        Ok(Catalog::new(self.open_store()?))
    }

    /// Opens the graph of this name, creating it where it is not there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where it is there with other types, or the name cannot be one.
    pub fn graph(&self, name: &str, options: GraphOptions) -> Result<Graph> {
        let def =
            GraphDef { name: name.to_owned(), vertex: options.vertex, weight: options.weight };
        if self.parts()?.store.is_read_only() {
            let found = self.existing_graph(name)?;
            return match found {
                Some(graph) => Ok(graph),
                None => Err(no_graph(name, &self.graphs()?)),
            };
        }
        self.refuse_told(name, || Ok(self.existing_graph(name)?.is_some()))?;
        Graph::open(self.open_store()?, def)
    }

    /// Fails once it is closed, as every call does but [`Database::close`] and those that only say how it was opened.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`].
    pub fn check_open(&self) -> Result<()> {
        self.parts()?.store.check_open()
    }

    /// Refuses to make something whose calls tell no callback under a name that one waits for.
    fn refuse_told(&self, name: &str, is_there: impl FnOnce() -> Result<bool>) -> Result<()> {
        match self.engine()?.refuse_told(name) {
            Err(refused) if !is_there()? => Err(refused),
            _ => Ok(()),
        }
    }

    /// Opens the graph of this name with the types it was created with.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where the name belongs to something else.
    pub fn existing_graph(&self, name: &str) -> Result<Option<Graph>> {
        self.check_open()?;
        Graph::find(self.open_store()?, name)
    }

    /// Opens a graph that must be there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the names that are there.
    pub fn require_graph(&self, name: &str) -> Result<Graph> {
        match self.existing_graph(name)? {
            Some(graph) => Ok(graph),
            None => Err(no_graph(name, &self.graphs()?)),
        }
    }

    /// All graphs, by name.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] where a definition cannot be read.
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

    /// Drops whatever has this name at once; whether it was there. Readers that hold a snapshot still see it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where the name cannot be one, or its access level forbids it (`protected` and those above).
    pub fn drop_entry(&self, name: &str) -> Result<bool> {
        self.check_droppable(name)?;
        self.beside()?.drop_entry(name)
    }

    fn check_droppable(&self, name: &str) -> Result<()> {
        self.check_open()?;
        let settings = self.catalog()?.settings(&*self.parts()?.store, name)?;
        relation::check_access(name, &settings, relation::Access::Protected)
    }

    /// Drops a graph at once; readers that hold a snapshot still see it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where there is none, or its access level forbids it.
    pub fn drop_graph(&self, name: &str) -> Result<()> {
        let graph = self.require_graph(name)?;
        self.check_droppable(name)?;
        graph.drop_graph()
    }

    /// Opens the blobs of this name, creating them where they are not there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where they are there with other keys, or the name cannot be one.
    pub fn blobs(&self, name: &str, options: BlobOptions) -> Result<Blobs> {
        if self.parts()?.store.is_read_only() {
            return self.require_blobs(name);
        }
        self.refuse_told(name, || Ok(self.existing_blobs(name)?.is_some()))?;
        let def = BlobsDef { name: name.to_owned(), key: options.key };
        Blobs::open(self.open_store()?, Arc::clone(self.env()), def)
    }

    /// Opens the blobs of this name with the keys they were created with.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where the name belongs to something else.
    pub fn existing_blobs(&self, name: &str) -> Result<Option<Blobs>> {
        self.check_open()?;
        Blobs::find(self.open_store()?, Arc::clone(self.env()), name)
    }

    /// Opens blobs that must be there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the names that are there.
    pub fn require_blobs(&self, name: &str) -> Result<Blobs> {
        self.existing_blobs(name)?.ok_or_else(|| self.nothing_named("blobs", name))
    }

    /// Opens the counters of this name, creating them where they are not there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where they are there with other types, or the name cannot be one.
    pub fn counters(&self, name: &str, options: CounterOptions) -> Result<Counters> {
        let parts = self.parts()?;
        if parts.store.is_read_only() {
            return self.require_counters(name);
        }
        self.refuse_told(name, || Ok(self.existing_counters(name)?.is_some()))?;
        let CounterOptions { key, number, combine } = options;
        parts.waiting.counters(&CountersDef { name: name.to_owned(), key, number, combine })
    }

    /// Opens the counters of this name with the types they were created with.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where the name belongs to something else.
    pub fn existing_counters(&self, name: &str) -> Result<Option<Counters>> {
        self.check_open()?;
        self.parts()?.waiting.find_counters(name)
    }

    /// Opens counters that must be there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the names that are there.
    pub fn require_counters(&self, name: &str) -> Result<Counters> {
        self.existing_counters(name)?.ok_or_else(|| self.nothing_named("counters", name))
    }

    /// Opens the values of this name that a function combines, creating them where they are not there. The function is
    /// not stored: give the same one whenever they are opened. Of those given in one process the first serves all handles.
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
    /// [`ErrorKind::InvalidInput`] where they are there with other keys or open with a function of another name
    /// ([`Combiner::name`]), or the name cannot be one.
    pub fn combined(
        &self,
        name: &str,
        options: CombinedOptions,
        combiner: Arc<dyn Combiner>,
    ) -> Result<Combined> {
        self.check_open()?;
        let parts = self.parts()?;
        if parts.store.is_read_only() {
            let found = parts.waiting.find_combined(name, &combiner)?;
            return found.ok_or_else(|| self.nothing_named("combined values", name));
        }
        self.refuse_told(name, || {
            Ok(self.parts()?.waiting.find_combined(name, &combiner)?.is_some())
        })?;
        let def = CombinedDef { name: name.to_owned(), key: options.key };
        parts.waiting.combined(&def, &combiner)
    }

    /// Everything that has a name, by name.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] where a definition cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>> {
        self.check_open()?;
        self.catalog()?.list()
    }

    fn nothing_named(&self, kind: &str, name: &str) -> Error {
        match self.list() {
            Ok(there) => {
                missing(kind, name, there.iter().map(Entry::name), "the database holds nothing yet")
            }
            Err(error) => error,
        }
    }

    /// Writes the increments that wait for it, so that what comes sees them.
    pub(crate) fn write_waiting(&self) -> Result<()> {
        self.parts()?.waiting.write_waiting()
    }

    /// Begins a transaction. Increments that could not be written before show when they are written next.
    #[must_use]
    pub fn transaction(&self, isolation: Isolation) -> Tx {
        Tx::begin(self, isolation)
    }

    /// Whether a small commit now would wait for nobody: neither for a sync of the log, nor for memtables to be flushed, nor for a thread that flushes or loads. For
    /// callers that hold something meanwhile which others wait for, as an interpreter's lock. Promises nothing, for others commit too.
    #[must_use]
    pub fn commits_at_once(&self) -> bool {
        self.options.durability != Durability::Sync
            && self.parts().is_ok_and(|parts| parts.store.commits_at_once())
    }

    /// Options of an import that follow from this database's.
    #[must_use]
    pub fn import_options(&self) -> ImportOptions {
        ImportOptions {
            memory_limit_bytes: self.options.import_bytes(self.env().parallelism() as u64),
            cache_lent_bytes: self.options.cache_lent_bytes(),
            // A database in memory would spill into memory.
            spill_folder: self.folder().map(|_| spill_folder(self.parts.anywhere().kv.folder())),
            ..ImportOptions::default()
        }
    }

    /// Moves what is in memory and in the log into tables; durable when it returns.
    ///
    /// # Errors
    /// Failed writes, which poison the database.
    pub fn flush(&self) -> Result<()> {
        self.check_open()?;
        let store = self.open_store()?;
        // A function that refuses to combine is no reason to leave the rest in memory.
        let written = self.write_waiting();
        store.flush().and(written)
    }

    /// Merges everything into one sorted run for each direction: smallest and fastest to read.
    ///
    /// # Errors
    /// Failed writes, which poison the database.
    pub fn compact(&self) -> Result<()> {
        self.compact_while(&|| true)
    }

    /// The same as long as `go_on` says so, which is asked every few thousand rows of a merge.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] where it did not: relations that were merged by then are. Failed writes, which poison the database.
    pub fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.check_open()?;
        self.beside()?.compact_while(go_on)
    }

    fn beside(&self) -> Result<Beside> {
        let Parts { store, env, waiting, .. } = self.parts()?;
        let (store, env, waiting) = (Arc::clone(store), Arc::clone(env), Arc::clone(waiting));
        Ok(Beside { store, env, waiting })
    }

    /// Moves a read-only database on to what the writer has committed since. Elsewhere nothing.
    ///
    /// # Errors
    /// Corruption, or files that vanished for good.
    pub fn refresh(&self) -> Result<()> {
        self.check_open()?;
        let Parts { store, engine, .. } = self.parts()?;
        store.refresh()?;
        if store.is_read_only() {
            engine.invalidate_plans();
        }
        Ok(())
    }

    /// Figures of the database and each graph.
    ///
    /// # Errors
    /// Counting reads; see [`Graph::number_of_edges`].
    pub fn stats(&self) -> Result<DatabaseStats> {
        self.check_open()?;
        self.write_waiting()?;
        let store = self.parts()?.store.stats();
        let mut graphs = Vec::new();
        for def in self.graphs()? {
            let graph = self.require_graph(&def.name)?;
            let parts: Vec<_> = def.parts().iter().map(|&part| def.keyspace_name(part)).collect();
            let keyspaces: Vec<_> =
                store.keyspaces.iter().filter(|(info, _)| parts.contains(&info.name)).collect();
            graphs.push(GraphStats {
                edges: graph.number_of_edges()?,
                vertices: graph.number_of_vertices()?,
                disk_bytes: keyspaces.iter().map(|(_, stats)| stats.disk_bytes).sum(),
                memory_bytes: keyspaces.iter().map(|(_, stats)| stats.memory_bytes).sum(),
                tables: keyspaces
                    .iter()
                    .map(|(_, stats)| stats.tables_per_level.iter().sum::<u64>())
                    .sum(),
                def,
            });
        }
        let (mut blobs, mut counters, mut combined) = (Vec::new(), Vec::new(), Vec::new());
        for entry in self.list()? {
            let into = match &entry {
                Entry::Blobs(..) => &mut blobs,
                Entry::Relation(schema, _) if CountersDef::of_schema(schema).is_some() => {
                    &mut counters
                }
                Entry::Relation(schema, _) if CombinedDef::of_schema(schema).is_some() => {
                    &mut combined
                }
                Entry::Relation(..) | Entry::Graph(..) => continue,
            };
            let name = entry.name().to_owned();
            let large = format!("{name}{}", BlobsPart::Large.suffix());
            let parts: Vec<_> = store
                .keyspaces
                .iter()
                .filter(|(info, _)| info.name == name || info.name == large)
                .map(|(_, stats)| stats)
                .collect();
            into.push(RelationStats {
                rows: self.store().count(entry.keyspace())?,
                disk_bytes: parts.iter().map(|stats| stats.disk_bytes).sum(),
                memory_bytes: parts.iter().map(|stats| stats.memory_bytes).sum(),
                tables: parts.iter().map(|stats| stats.tables_per_level.iter().sum::<u64>()).sum(),
                name,
            });
        }
        Ok(DatabaseStats {
            blobs,
            counters,
            combined,
            disk_bytes: store.keyspaces.iter().map(|(_, stats)| stats.disk_bytes).sum(),
            log_bytes: store.log_bytes,
            written: store.written,
            cache_bytes: store.cache_bytes,
            commits: store.seq.0,
            graphs,
        })
    }

    /// Flushes and gives the folder free. Later calls fail. In a process that inherited the database by `fork` it does nothing:
    /// what there is to flush, and the folder, are the parent's.
    ///
    /// # Errors
    /// A failed flush; the folder is given free all the same.
    pub fn close(&self) -> Result<()> {
        let Ok(Parts { store, waiting, engine, .. }) = self.parts() else { return Ok(()) };
        let written = waiting.close();
        // They may hold this database.
        engine.unregister_all();
        store.close().and(written)
    }
}

/// Figures of a database.
#[derive(Clone, Debug)]
pub struct DatabaseStats {
    /// Bytes of all tables.
    pub disk_bytes: u64,
    /// Bytes of the log that recovery would read.
    pub log_bytes: u64,
    /// Bytes written since it was opened.
    pub written: WrittenBytes,
    /// Bytes of cached blocks, filters and indexes.
    pub cache_bytes: u64,
    /// Commits so far.
    pub commits: u64,
    /// Each graph by name.
    pub graphs: Vec<GraphStats>,
    /// Blobs by name.
    pub blobs: Vec<RelationStats>,
    /// Counters by name.
    pub counters: Vec<RelationStats>,
    /// Combined values by name.
    pub combined: Vec<RelationStats>,
}

/// Figures of blobs, counters or combined values.
#[derive(Clone, Debug)]
pub struct RelationStats {
    /// Name.
    pub name: String,
    /// Keys.
    pub rows: u64,
    /// Bytes of its tables, long values included.
    pub disk_bytes: u64,
    /// Bytes of its memtables.
    pub memory_bytes: u64,
    /// Its tables.
    pub tables: u64,
}

/// Figures of a graph.
#[derive(Clone, Debug)]
pub struct GraphStats {
    /// Name and types.
    pub def: GraphDef,
    /// Edges.
    pub edges: u64,
    /// Vertices with an edge.
    pub vertices: u64,
    /// Bytes of its tables, all directions.
    pub disk_bytes: u64,
    /// Bytes of its memtables.
    pub memory_bytes: u64,
    /// Its tables.
    pub tables: u64,
}

fn no_graph(name: &str, there: &[GraphDef]) -> Error {
    let names = there.iter().map(|def| def.name.as_str());
    missing("graph", name, names, "the database holds no graph yet")
}

/// There is nothing of this name; what there is instead.
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

/// A folder's name means the same when the program has gone to another one.
fn absolute_files(files: &Files) -> Result<Files> {
    let Files::Below(folder) = files else { return Ok(files.clone()) };
    let folder = std::path::absolute(folder);
    folder.map(Files::Below).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
}

/// Where imports put rows that outgrow the memory limit.
fn spill_folder(folder: &Path) -> PathBuf {
    env::join(folder, "tmp")
}
