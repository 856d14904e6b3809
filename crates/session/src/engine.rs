//! The engine: the state that all scripts on one store share.
//!
//! `quipu` makes one per database; `run`, `stream`, `transaction` and `nonblocking` add its entry
//! points.

use crate::admin::Admin;
use crate::catalog_view::{CatalogView, TempRelation};
use crate::dml::change_feed::Callbacks;
use crate::index_check::{IndexCheck, RepairedIndexes};
use crate::plan_cache::PlanCache;
use crate::run_options::Run;
use crate::running::{Registered, RunningScripts};
use crate::schema_epoch::SchemaEpoch;
use env::Env;
use env::sync::{Mutex, RwLock};
use exec::error::Result;
use exec::files::Files;
use exec::fixed_rule::Projections;
use exec::fixed_rule::registry::UserDefined;
use exec::host::Host;
use exec::limits::QueryLimits;
use exec::parallel::WorkerPool;
use exec::storage::relation_source::{Relation, StoredRelation};
use exec::storage::statistics::Statistics;
use exec::storage::vector_cache::VectorCache;
use exec::trie::cache::TrieCache;
use plan::{PerStored, Plan};
use relation::{Catalog, NameOverlay};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use store::{Read, Store};

/// Default timeout of a query, in seconds.
const TIMEOUT_S: f64 = 300.0;

/// The cache of graph projections may take the memory limit of a query divided by this.
const PROJECTIONS_SHARE: u64 = 4;

/// Runs scripts over a store.
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) catalog: Catalog,
    pub(crate) plan_cache: PlanCache,
    pub(crate) statistics: Statistics,
    pub(crate) running: RunningScripts,
    /// Held shared by scripts that change rows, and exclusively while an index is created or
    /// dropped.
    pub(crate) changing: RwLock<()>,
    /// Held while a commit changes the schema.
    pub(crate) naming: Mutex<()>,
    /// Transactions begun before a schema change must retry (`schema_epoch.rs`).
    pub(crate) schema_epoch: SchemaEpoch,
    /// The last [`Store::catalog_version`], where other processes change the catalog.
    pub(crate) catalog_version: AtomicU64,
    pub(crate) memory_bytes_max: u64,
    pub(crate) projections: Projections,
    pub(crate) tries: TrieCache,
    /// Graphs of vector indexes.
    pub(crate) vectors: VectorCache,
    pub(crate) worker_pool: WorkerPool,
    pub(crate) host: Option<Arc<dyn Host>>,
    /// Files that scripts may read.
    pub(crate) files: Files,
    pub(crate) callbacks: Callbacks,
    pub(crate) user_defined: UserDefined,
    pub(crate) pauses: env::Pauses,
    /// Rows per range of a relation that is streamed.
    pub(crate) range_rows: AtomicU64,
    /// See [`Engine::set_round_order`].
    pub(crate) round_order: AtomicUsize,
}

impl Engine {
    /// An engine whose queries may hold at most `memory_bytes_max` bytes each.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, env: Arc<dyn Env>, memory_bytes_max: u64) -> Self {
        Self {
            catalog: Catalog::new(Arc::clone(&store)),
            store,
            worker_pool: WorkerPool::new(env.parallelism()),
            env,
            plan_cache: PlanCache::default(),
            statistics: Statistics::default(),
            running: RunningScripts::default(),
            changing: RwLock::default(),
            naming: Mutex::default(),
            schema_epoch: SchemaEpoch::default(),
            catalog_version: AtomicU64::new(0),
            memory_bytes_max,
            projections: Projections::new(memory_bytes_max / PROJECTIONS_SHARE),
            tries: TrieCache::new(memory_bytes_max / PROJECTIONS_SHARE),
            vectors: VectorCache::new(memory_bytes_max / PROJECTIONS_SHARE),
            host: None,
            files: Files::default(),
            callbacks: Callbacks::default(),
            user_defined: UserDefined::default(),
            pauses: env::Pauses::new(),
            range_rows: exec::result_stream::RANGE_ROWS.into(),
            round_order: 0.into(),
        }
    }

    /// Sets the database around the engine.
    #[must_use]
    pub fn with_host(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Restricts the files of the machine that scripts may read.
    #[must_use]
    pub fn with_files(mut self, files: Files) -> Self {
        self.files = files;
        self
    }

    pub(crate) fn host(&self) -> Option<&dyn Host> {
        self.host.as_deref()
    }

    /// Sets the rows after which worker threads help, so that tests see parallel execution.
    #[doc(hidden)]
    pub fn set_parallel_rows(&self, rows: usize) {
        self.worker_pool.set_rows_min(rows);
    }

    /// Sets the rows from which on relations are sampled, so that tests of small relations use
    /// statistics.
    #[doc(hidden)]
    pub fn set_sampled_rows(&self, rows: u64) {
        self.statistics.set_sampled_min(rows);
    }

    /// Sets the rows per range of a streamed relation. For tests.
    #[doc(hidden)]
    pub fn set_range_rows(&self, rows: u64) {
        self.range_rows.store(rows.max(1), Relaxed);
    }

    /// Sets which of its join orders a rule uses in each round of a recursion: 0 chooses by size, 1
    /// is the first one, and so on. For tests.
    #[doc(hidden)]
    pub fn set_round_order(&self, order: usize) {
        self.round_order.store(order, Relaxed);
    }

    /// How often worker threads were reserved. For tests.
    #[doc(hidden)]
    pub fn times_parallel(&self) -> u64 {
        self.worker_pool.times_taken()
    }

    /// Invalidates all cached plans. Called when relations or settings may have changed other than
    /// by scripts.
    pub fn invalidate_plans(&self) {
        self.plan_cache.clear();
    }

    pub(crate) fn limits<'r>(&self, run: &Run<'r>, cancelled: &Arc<AtomicBool>) -> QueryLimits<'r> {
        let memory_bytes_max = run.memory_bytes_max.unwrap_or(u64::MAX).min(self.memory_bytes_max);
        let limits =
            QueryLimits::new(Arc::clone(&self.env), Arc::clone(cancelled), memory_bytes_max)
                .with_caller(run.go_on, run.timeout_s)
                .with_files(run.files)
                .non_blocking(run.non_blocking.is_some());
        // A timeout of the caller may also be longer than the default.
        limits.set_timeout(if run.timeout_s.is_some() { 0.0 } else { TIMEOUT_S });
        limits
    }

    /// Limits for work that is never stopped.
    pub(crate) fn no_limits(&self) -> QueryLimits<'static> {
        QueryLimits::new(Arc::clone(&self.env), Arc::default(), self.memory_bytes_max)
    }

    pub(crate) fn register(&self, text: &Arc<str>, cancelled: &Arc<AtomicBool>) -> Registered<'_> {
        self.running.register(text, cancelled, self.env.wall_us())
    }

    pub(crate) fn plan(
        &self,
        query: &syntax::Query,
        read: &dyn Read,
        temp_relations: &BTreeMap<String, TempRelation>,
        names: &NameOverlay,
    ) -> Result<(Plan, PerStored<Relation>)> {
        let distribution = |relation: &StoredRelation, rows: u64| {
            self.statistics.of(relation, rows, &*self.store, &*self.env)
        };
        let view = CatalogView::new(
            &self.catalog,
            read,
            temp_relations,
            names,
            &distribution,
            &self.user_defined,
        );
        let plan = plan::plan(query, &view);
        let found = view.into_relations()?;
        let plan = plan?;
        let relations =
            plan.program.stored.iter().map(|stored| found[stored.handle].clone()).collect();
        Ok((plan, relations))
    }

    /// The running scripts: id, start in microseconds since 1970-01-01T00:00:00Z, text.
    #[must_use]
    pub fn running(&self) -> Vec<(u64, u64, String)> {
        self.running.list()
    }

    /// Stops a script; returns whether it was running.
    pub fn kill(&self, id: u64) -> bool {
        self.running.kill(id)
    }

    /// The parts that system ops and indexes need.
    pub(crate) fn admin(&self) -> Admin<'_> {
        Admin {
            catalog: &self.catalog,
            store: &self.store,
            running: &self.running,
            host: self.host(),
            user_defined: &self.user_defined,
        }
    }

    /// Compares the indexes of all relations with their relations. Returns the sound ones, and
    /// messages about the others.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn check_indexes(&self) -> store::Result<(Vec<IndexCheck>, Vec<String>)> {
        self.admin().check_indexes(&self.no_limits())
    }

    /// Rebuilds the indexes that do not match their relations. Relations must not be changed
    /// meanwhile.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn mend_indexes(&self) -> store::Result<RepairedIndexes> {
        self.admin().mend_indexes(&self.no_limits())
    }
}
