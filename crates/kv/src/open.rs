//! Opening: lock, manifest, trees, then the log on top.

use crate::bulk::remove_strays;
use crate::convert::{env_error, tree_error};
use crate::inner::{Inner, Writer};
use crate::options::KvOptions;
use crate::poison::Poison;
use crate::record;
use crate::reserve::{Reserve, frugal_segment_bytes};
use crate::snapshots::Snapshots;
use crate::trees::{Entry, Trees};
use crate::wal::{Replay, Wal, WalOptions};
use base::sabotage::{Switch, is_on};
use base::{Corruption, KeyspaceId, TableId};
use env::sync::ArcSwap;
use env::sync::{Mutex, RwLock};
use env::{Env, EnvError, HeldFolder, LogMode};
use lsm::context::Context;
use lsm::manifest::{CURRENT, Manifest, State, VersionEdit};
use lsm::table::BlockCache;
use lsm::tree::Tree;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::ErrorKind as ErrorKindIo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, KeyspaceInfo, Result};

pub(crate) const LOCK: &str = "LOCK";
pub(crate) const TABLES: &str = "tables";
pub(crate) const WAL: &str = "wal";

/// Filters may take this part of the cache: what an import leaves of it (see `quipu::Options`).
const FILTER_SHARE: u64 = 4;

/// Opens or creates the database in `folder`.
pub(crate) fn open(env: Arc<dyn Env>, folder: &Path, options: KvOptions) -> Result<Arc<Inner>> {
    let folder = &env.resolved(folder).map_err(env_error)?;
    crate::outside::check_is_folder(&*env, folder)?;
    if options.read_only {
        return crate::follower::open(env, folder, options);
    }
    crate::restore::finish_interrupted(&*env, folder)?;
    let mut frugal = crate::reserve::is_needed(&*env, folder, &options)?;
    let mut opened = open_here(&env, folder, &options, frugal);
    while let Err(error) = &opened {
        if !crate::reserve::is_disk_full(error) {
            break;
        }
        // First with what there is, then with ever more of the reserve.
        if frugal && !crate::reserve::give_up_part(&*env, folder, &options)? {
            break;
        }
        frugal = true;
        opened = open_here(&env, folder, &options, frugal);
    }
    opened
}

/// Opens or creates the database in a folder that is reached by no link. `frugal`: with little room on the disk.
fn open_here(
    env: &Arc<dyn Env>,
    folder: &Path,
    options: &KvOptions,
    frugal: bool,
) -> Result<Arc<Inner>> {
    let (env, options) = (Arc::clone(env), options.clone());
    let was_there = env.exists(folder);
    if !was_there {
        if !options.create {
            return Err(missing(folder));
        }
        create_private_folder(&*env, folder)?;
    }
    let mut held = vec![env.hold(folder).map_err(env_error)?];
    let exists = env.exists(&folder.join(CURRENT));
    if exists && let Some(parent) = folder.parent() {
        // A restore may have been killed between its last renaming and the sync of it.
        sync_if_ours(&*env, parent)?;
    }
    if !exists {
        if !options.create {
            return Err(missing(folder));
        }
        if was_there {
            create_folder(&*env, folder)?;
        }
        check_is_free(&*env, folder)?;
    }
    let lock = env.lock(&folder.join(LOCK), &env.process_line()).map_err(env_error)?;
    crate::restore::unmark(&*env, folder)?;
    let (mut manifest, state) = if exists {
        Manifest::open(Arc::clone(&env), folder).map_err(tree_error)?
    } else {
        let manifest = Manifest::create(Arc::clone(&env), folder).map_err(tree_error)?;
        let state = manifest.state().clone();
        (manifest, state)
    };
    let identity = state.identity().unwrap_or_else(|| new_identity(&*env));
    let names = table_folder_names(&state, identity, &options.table_folders)?;
    let folders = table_folders(&*env, folder, &names)?;
    for (at, folder) in folders.iter().enumerate() {
        // One that the manifest knows was durable before it did, unless somebody removed it.
        if at < state.folders().len() && env.exists(folder) {
            create_folder_within(&*env, folder)?;
        } else {
            create_private_folder(&*env, folder)?;
        }
        if at > 0 {
            held.push(hold_within(&*env, folder)?);
        }
    }
    if names != state.folders() || state.identity().is_none() {
        // Before any table lies in a new one.
        let identity = state.identity().is_none().then_some(identity);
        let edit = VersionEdit { folders: Some(names), identity, ..VersionEdit::default() };
        manifest.append(&edit).map_err(tree_error)?;
    }
    let context = context(&env, &options, folders, &state);
    remove_strays(&*env, &context, &|id| named(&state).contains(&id))?;
    let trees = open_trees(&context, &state).map_err(missing_table)?;
    let reserve = Reserve::of(&env, folder, &options, frugal);
    let inner = assemble(env, folder, options, context, trees, Some(manifest), Some(lock), reserve);
    *inner.held.lock() = held;
    recover(&inner, &state)?;
    Ok(inner)
}

/// Fails where something is in the folder that a database without `CURRENT` does not have.
fn check_is_free(env: &dyn Env, folder: &Path) -> Result<()> {
    let stranger = env.list(folder).map_err(env_error)?.into_iter().find(|name| {
        name != LOCK
            && name != TABLES
            && name != WAL
            && !name.starts_with("MANIFEST-")
            && !name.starts_with(CURRENT)
    });
    // Both folders come after `CURRENT`: without it, what is in them would be given up.
    for folder_within in [TABLES, WAL].map(|name| folder.join(name)) {
        if env.list(&folder_within).is_ok_and(|names| !names.is_empty()) {
            let what = format!("it is missing, but {} is not empty", folder_within.display());
            return Err(tree_error(Corruption::new(&folder.join(CURRENT), 0, what).into()));
        }
    }
    let Some(name) = stranger else { return Ok(()) };
    Err(Error::new(
        ErrorKind::InvalidInput,
        format!(
            "{} is no Quipu database and not empty: it holds \"{name}\"\n\
             hint: name an empty or a new folder",
            folder.display()
        ),
    ))
}

/// A table that the manifest names and that is not there is damage: nobody else removes files of a folder
/// whose lock is held, and its holder changes the manifest first.
pub(crate) fn missing_table(error: Error) -> Error {
    match error.cause::<EnvError>() {
        Some(cause @ EnvError::Io { path, .. }) if cause.is_not_found() => {
            let what = "the table is missing, but the manifest names it";
            tree_error(Corruption::new(path, 0, what).into())
        }
        _ => error,
    }
}

/// A number that no other database has: backups of one are told from those of another by it.
fn new_identity(env: &dyn Env) -> u128 {
    let identity = u128::from(env.random_u64()) << 64 | u128::from(env.random_u64());
    identity.max(1)
}

/// Creates a folder and its parents and makes their names durable: what is synced in a folder that a
/// power cut takes away is lost with it. All names up to the root are synced, also of folders that are there: an earlier
/// life may have created them, and failed to sync a name far up.
pub(crate) fn create_folder(env: &dyn Env, folder: &Path) -> Result<()> {
    create_folder_within(env, folder)?;
    folder.ancestors().skip(2).try_for_each(|above| sync_if_ours(env, above))
}

/// As [`create_folder`]; a folder that was not there is nobody else's to look into.
pub(crate) fn create_private_folder(env: &dyn Env, folder: &Path) -> Result<()> {
    env.create_private_folder(folder).map_err(env_error)?;
    create_folder(env, folder)
}

/// Makes the names in a folder durable, where it is ours.
fn sync_if_ours(env: &dyn Env, folder: &Path) -> Result<()> {
    match env.sync_folder(or_here(folder)) {
        // Not ours to sync, so not ours to have created anything in.
        Err(EnvError::Io { source, .. })
            if matches!(
                source.kind(),
                ErrorKindIo::PermissionDenied
                    | ErrorKindIo::InvalidInput
                    | ErrorKindIo::Unsupported
            ) =>
        {
            Ok(())
        }
        synced => synced.map_err(env_error),
    }
}

/// Creates a folder and makes its name durable, within one whose own name is.
pub(crate) fn create_folder_within(env: &dyn Env, folder: &Path) -> Result<()> {
    env.create_folder(folder).map_err(env_error)?;
    // Also of one that is there: a life that was cut short may have left it before it synced the name.
    match folder.parent() {
        Some(parent) => env.sync_folder(or_here(parent)).map_err(env_error),
        None => Ok(()),
    }
}

/// What a relative path begins in has no name.
fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

pub(crate) fn missing(folder: &Path) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        format!("there is no Quipu database in {}", folder.display()),
    )
}

/// What the names of folders for tables begin with that lie outside of the database's own folder.
const OUTER: &str = "quipu-";

/// What the manifest calls the folders that hold tables: the database's own first, those it knows, and
/// the new ones, in this order for ever, because a table is found by the position of its folder.
///
/// In a folder that the user names, each database has one of its own: opening removes tables that the
/// manifest does not name, and they must never be another database's. So its name is not made of the database's path:
/// when the database was moved, another one may come to that path.
pub(crate) fn table_folder_names(
    state: &State,
    identity: u128,
    new: &[PathBuf],
) -> Result<Vec<String>> {
    let mut names = state.folders().to_vec();
    if names.is_empty() {
        names.push(TABLES.to_owned());
    }
    for path in new {
        let own = path.join(format!("{OUTER}{:016x}", (identity >> 64) as u64));
        let name = own.to_str().ok_or_else(|| {
            let message = format!("the table folder {} is not UTF-8", path.display());
            Error::new(ErrorKind::InvalidInput, message)
        })?;
        // One that is known keeps its name.
        if !names.iter().any(|known| Path::new(known).parent() == Some(path)) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Paths of the folders of these names. Of what the user named as a table folder links are followed, and of nothing below.
pub(crate) fn table_folders(
    env: &dyn Env,
    database: &Path,
    names: &[String],
) -> Result<Vec<PathBuf>> {
    let path = |name: &String| {
        let path = Path::new(name);
        let own = path.file_name().and_then(|own| own.to_str());
        match (path.parent(), own) {
            _ if name == TABLES => Ok(database.join(TABLES)),
            (Some(above), Some(own)) if path.is_absolute() && own.starts_with(OUTER) => {
                Ok(env.resolved(above).map_err(env_error)?.join(own))
            }
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!(
                    "the manifest names {name:?} as a folder of tables, which is none of a database"
                ),
            )),
        }
    };
    names.iter().map(path).collect()
}

/// Holds a folder that must be one itself, and no link to one.
pub(crate) fn hold_within(env: &dyn Env, folder: &Path) -> Result<Arc<dyn HeldFolder>> {
    let _above = env.hold(crate::restore::parent(folder)).map_err(env_error)?;
    env.hold(folder).map_err(env_error)
}

pub(crate) fn context(
    env: &Arc<dyn Env>,
    options: &KvOptions,
    folders: Vec<PathBuf>,
    state: &State,
) -> Arc<Context> {
    let context = Context::new(
        Arc::clone(env),
        Arc::new(BlockCache::with_filters(options.cache_bytes, options.cache_bytes / FILTER_SHARE)),
        folders,
        options.tree.clone(),
        options.direct_reads,
        state.next_table_id(),
    );
    // Nobody removes tables beside a writer. Beside a follower there is one who does.
    Arc::new(if options.read_only { context } else { context.with_names_that_stay() })
}

/// Numbers of all tables that the manifest names.
fn named(state: &State) -> BTreeSet<TableId> {
    state.keyspaces().flat_map(|keyspace| keyspace.tables.iter().map(|t| t.meta.id)).collect()
}

pub(crate) fn open_trees(context: &Arc<Context>, state: &State) -> Result<Trees> {
    let mut trees = Trees::default();
    for keyspace in state.keyspaces() {
        for table in &keyspace.tables {
            if usize::from(table.meta.folder) >= context.folders.len() {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    format!(
                        "table {} lies in table folder {}, but there were only {} when the \
                         database was opened\n\
                         hint: close it and open it again",
                        table.meta.id,
                        table.meta.folder,
                        context.folders.len()
                    ),
                ));
            }
        }
        let info = KeyspaceInfo {
            id: keyspace.id,
            name: keyspace.name.clone(),
            shape: keyspace.shape.clone(),
            definition: keyspace.definition.clone(),
        };
        let tree =
            Tree::open(Arc::clone(context), keyspace.id, info.shape.clone(), &keyspace.tables)
                .map_err(tree_error)?;
        trees.insert(Arc::new(Entry { info, tree: Arc::new(tree) }));
    }
    Ok(trees)
}

#[expect(clippy::too_many_arguments, reason = "the parts of an open database, each once")]
pub(crate) fn assemble(
    env: Arc<dyn Env>,
    folder: &Path,
    options: KvOptions,
    context: Arc<Context>,
    trees: Trees,
    manifest: Option<Manifest>,
    lock: Option<Box<dyn env::FolderLock>>,
    reserve: Reserve,
) -> Arc<Inner> {
    Arc::new(Inner {
        owner: env::Owner::here(),
        progress: env.signal(),
        env,
        folder: folder.to_owned(),
        options,
        context,
        trees: ArcSwap::from_pointee(trees),
        snapshots: Snapshots::default(),
        poison: Poison::default(),
        maintenance: Mutex::new(()),
        compacting: Mutex::new(KeyspaceId(0)),
        merging: Mutex::new(None),
        loading: RwLock::new(()),
        writer: Mutex::new(Writer { wal: None, last_seq: 0, payload: Vec::new() }),
        manifest: Mutex::new(manifest),
        synced: Mutex::new(0),
        sealed: false.into(),
        sealed_segment: 0.into(),
        sealed_seq: 0.into(),
        level0_runs: 0.into(),
        flush_queued: false.into(),
        read_flush_queued: false.into(),
        compaction_queued: false.into(),
        compactions_asked: 0.into(),
        closing: Arc::new(false.into()),
        active_bytes: 0.into(),
        pace: crate::pace::Pace::default(),
        released_at: 0.into(),
        compaction_error: Mutex::new(None),
        flush_waits: Mutex::new(None),
        lock: Mutex::new(lock),
        held: Mutex::default(),
        reserve,
        follower: Mutex::new(None),
        obsolete: Mutex::default(),
    })
}

/// Replays the log onto the trees and makes it ready for new commits.
fn recover(inner: &Arc<Inner>, state: &State) -> Result<()> {
    let wal_folder = inner.folder.join(WAL);
    create_folder_within(&*inner.env, &wal_folder)?;
    let options = WalOptions {
        segment_bytes: inner.options.wal_segment_bytes,
        // A mapped log costs no system call a commit; where each commit is synced, the page faults
        // after every sync would cost more than they save (figures in docs/formats/wal.md).
        mode: match inner.options.durability {
            Durability::Sync => LogMode::Write,
            Durability::Os | Durability::None => LogMode::Mapped,
        },
        first_segment_bytes: match inner.reserve.is_frugal() {
            true => frugal_segment_bytes(&inner.options),
            false => WalOptions::default().first_segment_bytes,
        },
        ..WalOptions::default()
    };
    let trees = inner.trees.load_full();
    let mut last_seq = state.last_seq();
    let flushed = last_seq;
    let mut held_back = Vec::new();
    let mut wal = Wal::open(
        Arc::clone(&inner.env),
        &wal_folder,
        state.wal_first_live(),
        options,
        &mut |position, payload| {
            let damaged = |what| Corruption::new(&position.file, position.offset, what);
            if is_on(Switch::DropLastRecordOnReplay) {
                // One late, so the last never comes.
                let last = std::mem::replace(&mut held_back, payload.to_vec());
                if !last.is_empty()
                    && let Replayed::Seq(seq) =
                        replay(&trees, &last, flushed, u32::MAX).map_err(damaged)?
                {
                    last_seq = last_seq.max(seq);
                }
                return Ok(Replay::Done);
            }
            match replay(&trees, payload, flushed, state.next_keyspace_id()).map_err(damaged)? {
                // Every number after the tables' newest is a record of the log, or an edit of the manifest that
                // came before the next record: a gap is an edit that is lost.
                Replayed::Seq(seq) if seq > last_seq + 1 => {
                    return Err(damaged(format!("commit {seq} follows commit {last_seq}")).into());
                }
                Replayed::Seq(seq) => last_seq = last_seq.max(seq),
                // A keyspace is in the manifest before the first commit to it is logged, but under
                // `os` and `none` not synced: a power cut may have taken it, and then what lies
                // behind it too.
                Replayed::Ahead => {
                    let what = "a commit to a keyspace that the manifest does not know";
                    return Ok(Replay::EndBefore(what.to_owned()));
                }
            }
            Ok(Replay::Done)
        },
    )?;
    wal.be_frugal(inner.reserve.frugal())?;
    if state.wal_first_live() == 0 {
        // From now on a log that is gone is missed.
        let edit = VersionEdit { wal_first_live: Some(wal.first_segment()), ..Default::default() };
        inner.log_edit(&edit)?;
    }
    let mut writer = inner.writer.lock();
    writer.last_seq = last_seq;
    inner.snapshots.publish(last_seq);
    *inner.synced.lock() = 0;
    let none = inner.options.durability == Durability::None;
    writer.wal = Some(wal);
    let replayed: u64 = trees.iter().map(|entry| entry.tree.active_bytes()).sum();
    inner.active_bytes.store(replayed, env::sync::atomic::Ordering::Relaxed);
    // On a full disk what the log holds becomes tables as soon as it may, so that the log's space comes back.
    let due = replayed >= inner.options.memtable_bytes || inner.reserve.is_frugal() && replayed > 0;
    if none || due && inner.reserve.may_flush(replayed) {
        base::mark::hit(base::mark::Mark::ReplayFlushed);
        inner.seal(&mut writer)?;
        inner.flush_sealed_with(&mut writer)?;
    }
    if none && let Some(mut wal) = writer.wal.take() {
        // What was in it is in tables now, so one empty segment is all of the log that stays.
        let first = wal.current_segment();
        if wal.first_segment() < first {
            inner.log_edit(&VersionEdit { wal_first_live: Some(first), ..Default::default() })?;
            wal.release(first).map_err(|error| inner.poisoned(error.into()))?;
        }
        wal.close().map_err(|error| inner.poisoned(error.into()))?;
    }
    drop(writer);
    if inner.reserve.is_frugal() {
        *inner.compaction_error.lock() = Some(Error::new(
            ErrorKind::Io,
            "the disk was full when the database was opened\n\
             hint: remove rows or relations, and compact",
        ));
    }
    inner.after_install();
    inner.queue_compaction();
    Ok(())
}

/// What replaying a commit came to.
pub(crate) enum Replayed {
    /// It is in the trees, or was in the tables; its sequence number.
    Seq(u64),
    /// It wrote to a keyspace that the manifest as read did not know yet.
    Ahead,
}

/// Applies one commit that is newer than the tables. Keyspaces from number `next_keyspace` on are
/// unknown; smaller ones that are not there were dropped since.
pub(crate) fn replay(
    trees: &Trees,
    payload: &[u8],
    flushed: u64,
    next_keyspace: u32,
) -> std::result::Result<Replayed, String> {
    let ahead = Cell::new(false);
    let (seq, batch) = record::decode(payload, &|id| {
        ahead.set(ahead.get() || id.0 >= next_keyspace);
        trees.get(id).ok().map(|entry| &entry.info.shape)
    })?;
    if ahead.get() {
        return Ok(Replayed::Ahead);
    }
    if seq <= flushed {
        return Ok(Replayed::Seq(seq));
    }
    for table in &batch.tables {
        let tree = &trees.get(table.keyspace).map_err(|error| error.to_string())?.tree;
        for range in &table.delete_ranges {
            tree.delete_range(range.clone(), seq);
        }
        if table.rows.rows > 0 {
            crate::convert::insert(tree, table, seq);
        }
    }
    Ok(Replayed::Seq(seq))
}
