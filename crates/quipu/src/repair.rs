//! Repair: copies the sound parts of a damaged database to a new one. `docs/repair.md` says what
//! that guarantees.

use crate::check::Check;
use crate::database::Database;
use crate::options::Options;
use base::{Corruption, Key};
use env::{Env, RealEnv, RealOptions};
use kv::{Doubts, Salvaged, SalvagedKeyspace};
use relation::{Entry, GraphPart};
use session::RepairedIndexes;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Progress, Result};
use views::blobs::BlobsReconciled;
use views::graph::{GraphDef, GraphDoubts, Reconciled};

/// Maximum number of lost ranges of a keyspace in a report.
const LOST_NAMED_MAX: usize = 100;

/// Report of a repair.
#[derive(Clone, Debug)]
pub struct RepairReport {
    /// Whether nothing is lost or in doubt: every row of the source is in the target.
    pub complete: bool,
    /// Results for each keyspace of the source.
    pub keyspaces: Vec<RepairedKeyspace>,
    /// Results for each graph.
    pub graphs: Vec<(GraphDef, Reconciled)>,
    /// Indexes that were rebuilt, as `relation:index`.
    pub indexes: Vec<String>,
    /// Unique indexes that are ordinary ones now, because rows of their relations are equal in
    /// their columns: the name, and which rows.
    pub not_unique: Vec<(String, String)>,
    /// Results for each set of blobs, by name.
    pub blobs: Vec<(String, BlobsReconciled)>,
    /// All damages found.
    pub damages: Vec<Corruption>,
    /// Tables that are missing, or so damaged that nothing could be used.
    pub files_skipped: Vec<PathBuf>,
    /// Commits recovered from the log.
    pub commits_kept: u64,
    /// Commits of the log that are only partly recovered.
    pub commits_incomplete: u64,
    /// Bytes of the log that are lost, with an unknown number of commits.
    pub log_lost_bytes: u64,
    /// Whether the manifest is complete. If not, the tables are those of an earlier version.
    pub manifest_whole: bool,
    /// Report of the final check of the target, which found no problems.
    pub check: Check,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Results of a repair for one keyspace.
#[derive(Clone, Debug)]
pub struct RepairedKeyspace {
    /// Name of the keyspace: that of a relation, or of a graph with `:rev`, `:ids` or `:names`.
    pub name: String,
    /// Row versions recovered from tables.
    pub rows_kept: u64,
    /// Row versions lost with damaged blocks and tables.
    pub rows_lost: u64,
    /// Range deletes lost. Rows that they deleted may have come back.
    pub range_deletes_lost: u64,
    /// Upper bound of the row versions that may be stale, because a newer one may be lost.
    pub stale_max: u64,
    /// Key ranges with lost rows, at most the first hundred.
    pub lost: Vec<RepairedRange>,
    /// Number of ranges beyond those listed.
    pub lost_more: u64,
}

/// A range of keys with lost rows, both ends included.
#[derive(Clone, Debug)]
pub struct RepairedRange {
    /// First key, as text: words separated by commas, or a quoted string.
    pub first: String,
    /// Last key, in the same form.
    pub last: String,
    /// Number of row versions lost.
    pub rows: u64,
    /// The file that contained them.
    pub file: PathBuf,
}

/// Writes all sound data of the database in `source` to a new database in `target`, and checks it.
/// The source is not changed; it should not be open for writing. `progress` gets the bytes done and
/// in total.
///
/// # Errors
/// [`ErrorKind::InvalidInput`]: there is no database in `source`, or `target` is not empty.
/// [`ErrorKind::Corruption`] if the manifest is lost, since nothing else describes the tables.
/// [`ErrorKind::Cancelled`], and failed reads and writes; then remove the target.
pub fn repair(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: Options,
    progress: Progress<'_>,
) -> Result<RepairReport> {
    let env: Arc<dyn Env> =
        Arc::new(RealEnv::new(RealOptions { threads: options.threads, ..RealOptions::default() }));
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
    };
    let (source, target) = (absolute(source.as_ref())?, absolute(target.as_ref())?);
    repair_in(&env, &source, &target, options, progress)
}

/// As [`repair`], in an environment of the caller, with absolute paths. So tests can damage and
/// repair thousands of databases in memory.
///
/// # Errors
/// As [`repair`].
pub fn repair_in(
    env: &Arc<dyn Env>,
    source: &Path,
    target: &Path,
    options: Options,
    progress: Progress<'_>,
) -> Result<RepairReport> {
    let start = env.monotonic_us();
    // The three thirds are tables, graphs, and the check of the target.
    let third = |done, all: u64| progress(done, 3 * all);
    let salvaged = kv::salvage(env, source, target, options.memtable_bytes(), &third)?;

    let options = Options { read_only: false, ..options };
    let database = Database::open_in(Arc::clone(env), Some(target.to_owned()), options)?;
    let disk: u64 = database.store().stats().keyspaces.iter().map(|(_, s)| s.disk_bytes).sum();
    let graphs = reconcile_graphs(&database, &salvaged, &|| progress(disk, 3 * disk))?;
    let blobs = reconcile_blobs(&database)?;
    let RepairedIndexes { rebuilt: indexes, not_unique } = database.engine()?.mend_indexes()?;
    database.flush()?;
    let check = database.check(&|done, all| {
        let share = done as f64 / all.max(1) as f64;
        progress(2 * disk + (share * disk as f64) as u64, 3 * disk)
    })?;
    database.close()?;

    let Salvaged {
        keyspaces,
        damages,
        files_skipped,
        commits_kept,
        commits_incomplete,
        log_lost_bytes,
        log_damaged,
        manifest_whole,
    } = salvaged;
    let complete = manifest_whole
        && !log_damaged
        && graphs.iter().all(|(_, done)| done.unnamed == 0)
        && not_unique.is_empty()
        && blobs.iter().all(|(_, done)| done.lost == 0)
        && keyspaces.iter().all(|keyspace| is_whole(keyspace, &keyspaces, &graphs, &check));
    Ok(RepairReport {
        complete,
        keyspaces: keyspaces.into_iter().map(repaired).collect(),
        graphs,
        indexes,
        not_unique,
        blobs,
        damages,
        files_skipped,
        commits_kept,
        commits_incomplete,
        log_lost_bytes,
        manifest_whole,
        check,
        seconds: (env.monotonic_us() - start) as f64 / 1e6,
    })
}

/// Rebuilds each direction of the graphs from the other where rows may be missing.
fn reconcile_graphs(
    database: &Database,
    salvaged: &Salvaged,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<(GraphDef, Reconciled)>> {
    let mut graphs = Vec::new();
    for def in database.graphs()? {
        let doubts = |part| doubts_of(salvaged, &def, part);
        let (forward, reverse) = (doubts(GraphPart::Forward), doubts(GraphPart::Reverse));
        let doubts = GraphDoubts {
            forward: &|key| forward.contain(key),
            reverse: &|key| reverse.contain(key),
            any: !forward.is_empty() && !reverse.is_empty(),
        };
        let graph = database.require_graph(&def.name)?;
        let done = graph.reconcile(&doubts, &|_| go_on())?;
        graphs.push((def.clone(), done));
    }
    Ok(graphs)
}

fn reconcile_blobs(database: &Database) -> Result<Vec<(String, BlobsReconciled)>> {
    let mut blobs = Vec::new();
    for entry in database.list()? {
        if let Entry::Blobs(def, _) = entry {
            let done = database.require_blobs(&def.name)?.reconcile()?;
            blobs.push((def.name, done));
        }
    }
    Ok(blobs)
}

/// Whether the new database has all rows of a keyspace.
fn is_whole(
    keyspace: &SalvagedKeyspace,
    all: &[SalvagedKeyspace],
    graphs: &[(GraphDef, Reconciled)],
    check: &Check,
) -> bool {
    // A sound index has every row of its relation, whatever was lost.
    keyspace.doubts().is_empty()
        || has_sound_twin(keyspace, all, graphs)
        || check.indexes.iter().any(|index| index.name == keyspace.name)
}

fn doubts_of(salvaged: &Salvaged, def: &GraphDef, part: GraphPart) -> Doubts {
    let name = def.keyspace_name(part);
    let keyspace = salvaged.keyspaces.iter().find(|keyspace| keyspace.name == name);
    keyspace.map(SalvagedKeyspace::doubts).unwrap_or_default()
}

/// Whether the keyspace is one side of a graph whose other side lost nothing, so that it was
/// rebuilt completely.
fn has_sound_twin(
    keyspace: &SalvagedKeyspace,
    all: &[SalvagedKeyspace],
    graphs: &[(GraphDef, Reconciled)],
) -> bool {
    use GraphPart::{Forward, Ids, Names, Reverse};
    graphs.iter().any(|(def, _)| {
        [(Forward, Reverse), (Reverse, Forward), (Ids, Names), (Names, Ids)].iter().any(
            |&(own, other)| {
                let twin = def.keyspace_name(other);
                def.keyspace_name(own) == keyspace.name
                    && all.iter().any(|k| k.name == twin && k.doubts().is_empty())
            },
        )
    })
}

fn repaired(keyspace: SalvagedKeyspace) -> RepairedKeyspace {
    let lost_more = keyspace.lost.len().saturating_sub(LOST_NAMED_MAX) as u64;
    let lost = keyspace.lost.into_iter().take(LOST_NAMED_MAX).map(|lost| RepairedRange {
        first: key_text(&lost.first),
        last: key_text(&lost.last),
        rows: lost.rows,
        file: lost.file,
    });
    RepairedKeyspace {
        name: keyspace.name,
        rows_kept: keyspace.rows_kept,
        rows_lost: keyspace.rows_lost,
        range_deletes_lost: keyspace.tombstones_lost,
        stale_max: keyspace.stale_max,
        lost: lost.collect(),
        lost_more,
    }
}

fn key_text(key: &Key) -> String {
    match key {
        Key::Words { words, len } => {
            let words: Vec<_> =
                words.iter().take(usize::from(*len)).map(ToString::to_string).collect();
            words.join(",")
        }
        Key::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
    }
}
