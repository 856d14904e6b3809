//! Opens a database: takes the lock, reads manifest and trees, and replays the log onto them.
//!
//! `Kv::open` calls [`open`]; followers, checks and repair use the parts.

use crate::convert::{env_error, tree_error};
use crate::folder::{
    LOCK, TABLES, WAL, create_folder, create_folder_within, create_private_folder, missing,
    sync_if_ours,
};
use crate::inner::{Inner, Writer};
use crate::options::KvOptions;
use crate::poison::Poison;
use crate::record;
use crate::reserve::{Reserve, frugal_segment_bytes};
use crate::restore::paths::{finish_interrupted, unmark};
use crate::snapshots::Snapshots;
use crate::table_folders::{make_table_folders, table_folder_names, table_folders};
use crate::trees::{Entry, Trees};
use crate::wal::{Replay, Wal, WalOptions};
use base::fault_switch::{Switch, is_on};
use base::{Corruption, KeyspaceId, SeqNo, TableId};
use env::sync::ArcSwap;
use env::sync::{Mutex, RwLock};
use env::{Env, EnvError, HeldFolder, LogMode};
use lsm::context::{Context, parse_table_file_name};
use lsm::manifest::{CURRENT, Manifest, State, VersionEdit};
use lsm::table::BlockCache;
use lsm::tree::Tree;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, KeyspaceInfo, Result};

/// Filters may take one part in this many of the block cache.
const FILTER_SHARE: u64 = 4;

/// Opens or creates the database in a folder with resolved links.
pub(crate) fn open(env: Arc<dyn Env>, folder: &Path, options: KvOptions) -> Result<Arc<Inner>> {
    finish_interrupted(&*env, folder)?;
    let mut frugal = crate::reserve::is_needed(&*env, folder, &options)?;
    let mut opened = open_here(&env, folder, &options, frugal);
    while let Err(error) = &opened {
        if !crate::reserve::is_disk_full(error) {
            break;
        }
        // The first attempt uses the free space as it is; each further one gives up a part of the
        // reserve.
        if frugal && !crate::reserve::give_up_part(&*env, folder, &options)? {
            break;
        }
        frugal = true;
        opened = open_here(&env, folder, &options, frugal);
    }
    opened
}

/// Tries to open it once. `frugal`: the disk has little room.
fn open_here(
    env: &Arc<dyn Env>,
    folder: &Path,
    options: &KvOptions,
    frugal: bool,
) -> Result<Arc<Inner>> {
    let (env, options) = (Arc::clone(env), options.clone());
    let (database, has_manifest) = claim_folder(&*env, folder, options.create)?;
    let mut held = vec![database];
    let lock = env.lock(&folder.join(LOCK), &env.process_line()).map_err(env_error)?;
    unmark(&*env, folder)?;
    let (mut manifest, state) = if has_manifest {
        Manifest::open(Arc::clone(&env), folder).map_err(tree_error)?
    } else {
        let manifest = Manifest::create(Arc::clone(&env), folder).map_err(tree_error)?;
        let state = manifest.state().clone();
        (manifest, state)
    };
    let identity = state.identity().unwrap_or_else(|| new_identity(&*env));
    let names = table_folder_names(&state, identity, &options.table_folders)?;
    let folders = table_folders(&*env, folder, &names)?;
    held.extend(make_table_folders(&*env, &folders, state.folders().len())?);
    if names != state.folders() || state.identity().is_none() {
        // The manifest names a new folder before any table is created in it.
        let identity = state.identity().is_none().then_some(identity);
        let edit = VersionEdit { folders: Some(names), identity, ..VersionEdit::default() };
        manifest.append(&edit).map_err(tree_error)?;
    }
    let context = context(&env, &options, folders, &state);
    let named = named_files(&state);
    remove_strays(&*env, &context, &|id| named.contains(&id))?;
    let trees = open_trees(&context, &state).map_err(missing_table)?;
    let reserve = Reserve::of(&env, folder, &options, frugal);
    let inner = assemble(env, folder, options, context, trees, Some(manifest), Some(lock), reserve);
    *inner.held.lock() = held;
    recover(&inner, &state)?;
    Ok(inner)
}

/// Holds the database's folder, creating it where `may_create`. Also returns whether the folder has
/// a manifest; if not, it is free for a new database.
fn claim_folder(
    env: &dyn Env,
    folder: &Path,
    may_create: bool,
) -> Result<(Arc<dyn HeldFolder>, bool)> {
    let was_there = env.exists(folder);
    if !was_there {
        if !may_create {
            return Err(missing(folder));
        }
        create_private_folder(env, folder)?;
    }
    let held = env.hold(folder).map_err(env_error)?;
    if env.exists(&folder.join(CURRENT)) {
        if let Some(parent) = folder.parent() {
            // A restore may have been killed between its last rename and the sync of the folder.
            sync_if_ours(env, parent)?;
        }
        return Ok((held, true));
    }
    if !may_create {
        return Err(missing(folder));
    }
    if was_there {
        create_folder(env, folder)?;
    }
    check_is_free(env, folder)?;
    Ok((held, false))
}

/// Fails where the folder contains something that does not belong to a database without `CURRENT`.
fn check_is_free(env: &dyn Env, folder: &Path) -> Result<()> {
    let stranger = env.list(folder).map_err(env_error)?.into_iter().find(|name| {
        name != LOCK
            && name != TABLES
            && name != WAL
            && !name.starts_with("MANIFEST-")
            && !name.starts_with(CURRENT)
    });
    // Both folders are created after `CURRENT`. Their files would be lost if a new database were
    // created over them.
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

/// Turns a missing table into a corruption error. The manifest names the table, nobody else removes
/// files from a folder whose lock is held, and its holder edits the manifest first.
pub(crate) fn missing_table(error: Error) -> Error {
    match error.cause::<EnvError>() {
        Some(cause @ EnvError::Io { path, .. }) if cause.is_not_found() => {
            let what = "the table is missing, but the manifest names it";
            tree_error(Corruption::new(path, 0, what).into())
        }
        _ => error,
    }
}

/// A random identity for a new database. It tells the backups of one database from those of
/// another.
fn new_identity(env: &dyn Env) -> u128 {
    let identity = u128::from(env.random_u64()) << 64 | u128::from(env.random_u64());
    identity.max(1)
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
    // Only the writer removes tables. A follower cannot rely on names that stay.
    Arc::new(if options.read_only { context } else { context.with_names_that_stay() })
}

/// Ids of all files of tables that the manifest names.
pub(crate) fn named_files(state: &State) -> BTreeSet<TableId> {
    state.tables().map(|table| table.meta.file_id()).collect()
}

/// Removes table files that the manifest does not name, left by a crash in a load, flush or
/// compaction.
fn remove_strays(env: &dyn Env, context: &Context, named: &dyn Fn(TableId) -> bool) -> Result<()> {
    for folder in &context.folders {
        for name in env.list(folder).map_err(env_error)? {
            let path = folder.join(&name);
            if let Some(id) = parse_table_file_name(&path)
                && !named(id)
            {
                base::mark::hit(base::mark::Mark::StrayTable);
                env.remove(&path).map_err(env_error)?;
            }
        }
    }
    Ok(())
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
        merging: Mutex::default(),
        loading: RwLock::new(()),
        writer: Mutex::new(Writer { wal: None, last_seq: SeqNo::ZERO, payload: Vec::new() }),
        manifest: Mutex::new(manifest),
        synced: Mutex::new(SeqNo::ZERO),
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
        throttle: crate::throttle::WriteThrottle::default(),
        activity: crate::activity::ActivityCounters::default(),
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

/// Replays the log onto the trees and prepares it for new commits.
fn recover(inner: &Arc<Inner>, state: &State) -> Result<()> {
    let trees = inner.trees.load_full();
    let (mut wal, last_seq) = replay_log(inner, &trees, state)?;
    wal.be_frugal(inner.reserve.frugal())?;
    if state.wal_first_live() == 0 {
        // From now on a missing log segment is detected.
        let edit = VersionEdit { wal_first_live: Some(wal.first_segment()), ..Default::default() };
        inner.log_edit(&edit)?;
    }
    let mut writer = inner.writer.lock();
    writer.last_seq = last_seq;
    inner.snapshots.publish(last_seq);
    *inner.synced.lock() = SeqNo::ZERO;
    let none = inner.options.durability == Durability::None;
    writer.wal = Some(wal);
    let replayed: u64 = trees.iter().map(|entry| entry.tree.active_bytes()).sum();
    inner.active_bytes.store(replayed, env::sync::atomic::Ordering::Relaxed);
    // On a full disk the replayed rows become tables as soon as possible, so that the log's space
    // is released.
    let due = replayed >= inner.options.memtable_bytes || inner.reserve.is_frugal() && replayed > 0;
    if none || due && inner.reserve.may_flush(replayed) {
        base::mark::hit(base::mark::Mark::ReplayFlushed);
        inner.seal(&mut writer)?;
        inner.flush_sealed_with(&mut writer)?;
    }
    if none && let Some(wal) = writer.wal.take() {
        close_flushed_log(inner, wal)?;
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

fn wal_options(inner: &Inner) -> WalOptions {
    WalOptions {
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
    }
}

/// Opens the log and applies its commits that are newer than the tables. Also returns the newest
/// commit of tables and log.
fn replay_log(inner: &Inner, trees: &Trees, state: &State) -> Result<(Wal, SeqNo)> {
    let wal_folder = inner.folder.join(WAL);
    create_folder_within(&*inner.env, &wal_folder)?;
    let mut last_seq = state.last_seq();
    let flushed = last_seq;
    let mut held_back = Vec::new();
    let wal = Wal::open(
        Arc::clone(&inner.env),
        &wal_folder,
        state.wal_first_live(),
        wal_options(inner),
        &mut |position, payload| {
            let damaged = |what| Corruption::new(&position.file, position.offset, what);
            if is_on(Switch::DropLastRecordOnReplay) {
                // Delayed by one record, so the last is never replayed.
                let last = std::mem::replace(&mut held_back, payload.to_vec());
                if !last.is_empty()
                    && let Replayed::Seq(seq) =
                        replay(trees, &last, flushed, u32::MAX).map_err(damaged)?
                {
                    last_seq = last_seq.max(seq);
                }
                return Ok(Replay::Done);
            }
            match replay(trees, payload, flushed, state.next_keyspace_id()).map_err(damaged)? {
                // Each sequence number above that of the tables belongs to a log record, or to a
                // manifest edit before the next record. A gap means a lost edit.
                Replayed::Seq(seq) if seq > last_seq.next() => {
                    return Err(damaged(format!("commit {seq} follows commit {last_seq}")).into());
                }
                Replayed::Seq(seq) => last_seq = last_seq.max(seq),
                // A keyspace is in the manifest before its first commit is logged, but under `os`
                // and `none` not synced. A power cut may have lost it, and then all later commits
                // too.
                Replayed::Ahead => {
                    let what = "a commit to a keyspace that the manifest does not know";
                    return Ok(Replay::EndBefore(what.to_owned()));
                }
            }
            Ok(Replay::Done)
        },
    )?;
    Ok((wal, last_seq))
}

/// Closes a log whose rows are in tables now, so that one empty segment remains of it.
fn close_flushed_log(inner: &Inner, mut wal: Wal) -> Result<()> {
    let first = wal.current_segment();
    if wal.first_segment() < first {
        inner.log_edit(&VersionEdit { wal_first_live: Some(first), ..Default::default() })?;
        wal.release(first).map_err(|error| inner.poisoned(error.into()))?;
    }
    wal.close().map_err(|error| inner.poisoned(error.into()))
}

/// Outcome of replaying one commit.
pub(crate) enum Replayed {
    /// The commit is in the trees, or was in the tables already. Holds its sequence number.
    Seq(SeqNo),
    /// The commit wrote to a keyspace that the manifest, as read, does not know yet.
    Ahead,
}

/// Applies one commit that is newer than the tables. Ids from `next_keyspace` on are unknown;
/// smaller ones that are missing were dropped since.
pub(crate) fn replay(
    trees: &Trees,
    payload: &[u8],
    flushed: SeqNo,
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
