//! Repair: a new database of what is sound in a damaged one. `docs/repair.md` says what that
//! proves.

use crate::check::Check;
use crate::database::Database;
use crate::options::Options;
use base::{Corruption, Key};
use env::{Env, RealEnv, RealOptions};
use kv::{Doubts, Salvaged, SalvagedKeyspace};
use relation::{Entry, GraphPart};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Progress, Result};
use views::blobs::BlobsReconciled;
use views::graph::{GraphDef, GraphDoubts, Reconciled};

/// Lost ranges that a report names, a keyspace.
const LOST_NAMED_MAX: usize = 100;

/// What a repair saved, and what not.
#[derive(Clone, Debug)]
pub struct RepairReport {
    /// Whether nothing is lost or in doubt: every row of the source is in the target.
    pub complete: bool,
    /// Each keyspace of the source.
    pub keyspaces: Vec<RepairedKeyspace>,
    /// Each graph.
    pub graphs: Vec<(GraphDef, Reconciled)>,
    /// Indexes that were made anew, as `relation:index`.
    pub indexes: Vec<String>,
    /// All blobs by name.
    pub blobs: Vec<(String, BlobsReconciled)>,
    /// Every damage that was found.
    pub damages: Vec<Corruption>,
    /// Tables of which nothing could be used, and those that are missing.
    pub files_skipped: Vec<PathBuf>,
    /// Commits taken from the log.
    pub commits_kept: u64,
    /// Commits of the log of which only a part is left.
    pub commits_incomplete: u64,
    /// Bytes of the log that are lost, with an unknown number of commits in them.
    pub log_lost_bytes: u64,
    /// Whether the manifest was whole. If not, the tables are those of an earlier moment.
    pub manifest_whole: bool,
    /// What the check of the target found, which was sound.
    pub check: Check,
    /// How long it took.
    pub seconds: f64,
}

/// What became of one keyspace's tables.
#[derive(Clone, Debug)]
pub struct RepairedKeyspace {
    /// Its name: a relation's, or a graph's with `:rev`, `:ids` or `:names`.
    pub name: String,
    /// Row versions saved from tables.
    pub rows_kept: u64,
    /// Row versions lost with damaged blocks and tables.
    pub rows_lost: u64,
    /// Range deletes lost: what they deleted may be back.
    pub range_deletes_lost: u64,
    /// At most so many row versions may be stale, because a newer one may be lost.
    pub stale_max: u64,
    /// Where rows are lost, the first hundred.
    pub lost: Vec<RepairedRange>,
    /// Ranges past those listed.
    pub lost_more: u64,
}

/// Keys between which rows are lost, both included.
#[derive(Clone, Debug)]
pub struct RepairedRange {
    /// The first key, as text: words with commas between, or a quoted string.
    pub first: String,
    /// The last key.
    pub last: String,
    /// Row versions lost.
    pub rows: u64,
    /// The file they were in.
    pub file: PathBuf,
}

/// Writes a new database into `target` with all that is sound of the one in `source`, and checks
/// it. The source is never changed; it should not be open for writing. `progress` is told bytes
/// done and in all.
///
/// # Errors
/// [`ErrorKind::InvalidInput`]: no database in `source`, or `target` is not empty.
/// [`ErrorKind::Corruption`] where the manifest is lost, so that nothing tells what the tables are.
/// [`ErrorKind::Cancelled`], and failed reads and writes; the target is then to be removed.
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

/// [`repair`] on a machine of the caller's, with absolute paths: so that tests can damage thousands of databases in
/// memory.
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
    // A third each: tables, graphs, and the check of what was written.
    let third = |done, all: u64| progress(done, 3 * all);
    let salvaged = kv::salvage(env, source, target, options.memtable_bytes(), &third)?;

    let options = Options { read_only: false, ..options };
    let database = Database::open_in(Arc::clone(env), Some(target.to_owned()), options)?;
    let disk: u64 = database.store().stats().keyspaces.iter().map(|(_, s)| s.disk_bytes).sum();
    let mut graphs = Vec::new();
    for def in database.graphs()? {
        let doubts = |part| doubts_of(&salvaged, &def, part);
        let (forward, reverse) = (doubts(GraphPart::Forward), doubts(GraphPart::Reverse));
        let doubts = GraphDoubts {
            forward: &|key| forward.contain(key),
            reverse: &|key| reverse.contain(key),
            any: !forward.is_empty() && !reverse.is_empty(),
        };
        let graph = database.require_graph(&def.name)?;
        let done = graph.reconcile(&doubts, &|_| progress(disk, 3 * disk))?;
        graphs.push((def.clone(), done));
    }
    let mut blobs = Vec::new();
    for entry in database.list()? {
        if let Entry::Blobs(def, _) = entry {
            let done = database.require_blobs(&def.name)?.reconcile()?;
            blobs.push((def.name, done));
        }
    }
    let indexes = database.engine()?.mend_indexes()?;
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
        && blobs.iter().all(|(_, done)| done.lost == 0)
        && keyspaces.iter().all(|keyspace| {
            // An index that is sound now has every row that its relation has.
            keyspace.doubts().is_empty()
                || has_sound_twin(keyspace, &keyspaces, &graphs)
                || check.indexes.iter().any(|index| index.name == keyspace.name)
        });
    Ok(RepairReport {
        complete,
        keyspaces: keyspaces.into_iter().map(repaired).collect(),
        graphs,
        indexes,
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

fn doubts_of(salvaged: &Salvaged, def: &GraphDef, part: GraphPart) -> Doubts {
    let name = def.keyspace_name(part);
    let keyspace = salvaged.keyspaces.iter().find(|keyspace| keyspace.name == name);
    keyspace.map(SalvagedKeyspace::doubts).unwrap_or_default()
}

/// Whether the keyspace is one side of a graph whose other side lost nothing, so that it was
/// rebuilt.
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
