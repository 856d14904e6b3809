//! Reading beside a writer in another process: no lock, no writes, a snapshot that can be refreshed.
//!
//! # How it stays right while the writer goes on
//! It reads the manifest, opens every table the manifest names (an open file outlives its name), and
//! replays the log from where the manifest says. If the writer removed a table or reused a log
//! segment in between, the attempt is thrown away and begins again with the newer manifest.

use crate::convert::{env_error, tree_error};
use crate::inner::Inner;
use crate::open::{
    Replayed, TABLES, WAL, assemble, context, hold_within, missing, missing_table, open_trees,
    replay, table_folder_names, table_folders,
};
use crate::options::KvOptions;
use crate::reserve::Reserve;
use crate::trees::Trees;
use crate::wal::{Follow, WalReader};
use base::Corruption;
use env::Env;
use lsm::manifest::{CURRENT, Manifest, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Attempts, and microseconds after them, before a follower gives up on a writer that changes its files faster than they
/// are read. Both: attempts alone are over in a moment beside a writer that flushes and compacts without a pause.
const ATTEMPTS: usize = 100;
const PATIENCE_US: u64 = 10_000_000;

/// Where a follower stands.
#[derive(Debug)]
pub(crate) struct Position {
    pub(crate) state: State,
    log: WalReader,
    pub(crate) last_seq: u64,
}

pub(crate) fn open(env: Arc<dyn Env>, folder: &Path, options: KvOptions) -> Result<Arc<Inner>> {
    if !env.exists(&folder.join(CURRENT)) {
        return Err(no_manifest(&*env, folder));
    }
    let mut held = vec![env.hold(folder).map_err(env_error)?];
    let state = read_manifest(&*env, folder)?;
    let names = table_folder_names(&state, state.identity().unwrap_or(0), &[])?;
    let folders = table_folders(&*env, folder, &names)?;
    for outer in folders.iter().skip(1).filter(|outer| env.exists(outer)) {
        held.push(hold_within(&*env, outer)?);
    }
    let context = context(&env, &options, folders, &state);
    let reserve = Reserve::of(&env, folder, &options, false);
    let inner = assemble(env, folder, options, context, Trees::default(), None, None, reserve);
    *inner.held.lock() = held;
    refresh(&inner)?;
    Ok(inner)
}

/// Moves on to what the writer has committed since.
pub(crate) fn refresh(inner: &Arc<Inner>) -> Result<()> {
    let mut position = inner.follower.lock();
    let mut last_error = None;
    // The place in the log behind what was shown, where it is no longer there.
    let mut gone: Option<(PathBuf, u64)> = None;
    // Attempts at which a segment was missing though the manifest stayed as it was.
    let mut missing_segment = 0;
    let mut end_us = None;
    let patient = |attempt: &usize| {
        if *attempt < ATTEMPTS {
            return true;
        }
        let now_us = inner.env.monotonic_us();
        now_us < *end_us.get_or_insert(now_us.saturating_add(PATIENCE_US))
    };
    for _ in (0..).take_while(patient) {
        let state =
            read_manifest(&*inner.env, &inner.folder).map_err(|error| moved_or(inner, error))?;
        if let Some(now) = position.as_mut().filter(|now| now.state == state) {
            let trees = inner.trees.load_full();
            match follow(&trees, now, &inner.folder)? {
                Followed::UpToDate if is_current(inner, &state)? => {
                    inner.snapshots.publish(now.last_seq);
                    return Ok(());
                }
                Followed::UpToDate => {}
                Followed::Gap(gap) if is_current(inner, &state)? => {
                    return Err(tree_error(gap.into()));
                }
                Followed::Gap(_) => *position = None,
                // What was read of the log is no longer where it stands.
                Followed::StartOver => {
                    base::mark::hit(base::mark::Mark::FollowerBeganAgain);
                    gone = Some((now.log.path(), now.log.position().offset));
                    *position = None;
                }
            }
            continue;
        }
        match rebuild(inner, state.clone()) {
            Ok(Rebuilt::Gap(gap)) if is_current(inner, &state)? => {
                return Err(tree_error(gap.into()));
            }
            Ok(Rebuilt::Gap(_)) => {}
            Ok(Rebuilt::Whole(whole))
                if whole.1.last_seq < inner.snapshots.visible() && is_current(inner, &state)? =>
            {
                // What was shown before came from the log, which has been damaged since.
                let shown = inner.snapshots.visible();
                let Position { log, last_seq, .. } = whole.1;
                let what = format!("the log ends at commit {last_seq}, and {shown} was read");
                let (file, offset) = gone.unwrap_or_else(|| (log.path(), log.position().offset));
                return Err(tree_error(Corruption::new(&file, offset, what).into()));
            }
            Ok(Rebuilt::Whole(whole)) if is_current(inner, &state)? => {
                let (trees, new) = *whole;
                inner.snapshots.publish(new.last_seq);
                inner.trees.store(Arc::new(trees));
                *position = Some(new);
                return Ok(());
            }
            Ok(Rebuilt::Whole(..)) => {}
            Ok(Rebuilt::StartOver(segment)) => {
                // A writer that closes or opens changes segments without an edit, but not for ever.
                missing_segment = if is_current(inner, &state)? { missing_segment + 1 } else { 0 };
                if missing_segment == ATTEMPTS {
                    let what = "the segment is missing or cut, but the manifest names it";
                    return Err(tree_error(Corruption::new(&segment, 0, what).into()));
                }
            }
            // A table that is gone although the manifest named it: the writer replaced it since, and its edit
            // came before the table went.
            Err(lsm::Error::Env(error)) if error.is_not_found() => {
                let error = env_error(error);
                if is_current(inner, &state)? {
                    return Err(missing_table(error));
                }
                last_error = Some(error);
            }
            Err(error) => return Err(tree_error(error)),
        }
    }
    Err(last_error.unwrap_or_else(|| {
        Error::new(
            ErrorKind::Io,
            "the writer replaces its files faster than they can be opened\nhint: try again",
        )
    }))
}

/// Why a folder that was a database is none any more: it may have been removed, with another one at its path.
fn moved_or(inner: &Inner, error: Error) -> Error {
    let moved = inner.held.lock().first().and_then(|folder| folder.check().err());
    moved.map_or(error, env_error)
}

fn read_manifest(env: &dyn Env, folder: &Path) -> Result<State> {
    Manifest::read(env, folder).map_err(|error| match error {
        lsm::Error::Env(error) if error.is_not_found() && !env.exists(&folder.join(CURRENT)) => {
            no_manifest(env, folder)
        }
        error => tree_error(error),
    })
}

/// No database; or a damaged one, where there is anything that comes after `CURRENT`.
fn no_manifest(env: &dyn Env, folder: &Path) -> Error {
    let current = folder.join(CURRENT);
    let left = [TABLES, WAL].map(|name| folder.join(name));
    let left = left.iter().find(|f| env.list(f).is_ok_and(|names| !names.is_empty()));
    // Another look: a writer may be creating the database just now.
    match left.filter(|_| !env.exists(&current)) {
        Some(left) => {
            let what = format!("it is missing, but {} is not empty", left.display());
            tree_error(Corruption::new(&current, 0, what).into())
        }
        None => missing(folder),
    }
}

/// Whether the manifest still says what it said before the log was read. The writer lets a segment go
/// only after the manifest stopped naming it; so if nothing changed, the end that was found is the
/// log's end, and not the end of what was left of it.
fn is_current(inner: &Inner, state: &State) -> Result<bool> {
    Ok(read_manifest(&*inner.env, &inner.folder)? == *state)
}

enum Followed {
    UpToDate,
    StartOver,
    /// A commit is missing before one that is there. It came by an edit of the manifest that was not read yet; or, if
    /// there is none, a damaged record was taken for the log's end until the log went on elsewhere.
    Gap(Corruption),
}

enum Rebuilt {
    Whole(Box<(Trees, Position)>),
    /// A segment that the manifest names was not there.
    StartOver(PathBuf),
    Gap(Corruption),
}

fn follow(trees: &Trees, now: &mut Position, folder: &Path) -> Result<Followed> {
    let flushed = now.state.last_seq();
    loop {
        match now.log.next().map_err(Error::from)? {
            Follow::Record(at, payload) => {
                let damaged = |what| Corruption::new(&folder.join(WAL), at.offset, what);
                let next_keyspace = now.state.next_keyspace_id();
                match replay(trees, payload, flushed, next_keyspace).map_err(damaged)? {
                    Replayed::Seq(seq) if seq > now.last_seq + 1 => {
                        let what = format!("commit {seq} follows commit {}", now.last_seq);
                        return Ok(Followed::Gap(damaged(what)));
                    }
                    Replayed::Seq(seq) => now.last_seq = now.last_seq.max(seq),
                    // The keyspace came after the manifest was read; half a commit is shown to no one.
                    Replayed::Ahead => {
                        base::mark::hit(base::mark::Mark::FollowerAhead);
                        return Ok(Followed::StartOver);
                    }
                }
            }
            Follow::End => return Ok(Followed::UpToDate),
            Follow::Gone => return Ok(Followed::StartOver),
        }
    }
}

/// Opens everything the manifest names.
fn rebuild(inner: &Arc<Inner>, state: State) -> lsm::Result<Rebuilt> {
    let trees = match open_trees(&inner.context, &state) {
        Ok(trees) => trees,
        Err(error) => return Err(as_tree_error(&error)),
    };
    let log =
        WalReader::new(Arc::clone(&inner.env), &inner.folder.join(WAL), state.wal_first_live());
    let last_seq = state.last_seq();
    let mut position = Position { state, log, last_seq };
    match follow(&trees, &mut position, &inner.folder) {
        Ok(Followed::UpToDate) => Ok(Rebuilt::Whole(Box::new((trees, position)))),
        Ok(Followed::StartOver) => Ok(Rebuilt::StartOver(position.log.path())),
        Ok(Followed::Gap(gap)) => Ok(Rebuilt::Gap(gap)),
        Err(error) => Err(as_tree_error(&error)),
    }
}

/// The same failure one layer below, so that its kind is not lost.
fn as_tree_error(error: &Error) -> lsm::Error {
    match (error.cause::<env::EnvError>(), error.cause::<Corruption>()) {
        (Some(error), _) => error.clone().into(),
        (_, Some(corruption)) => corruption.clone().into(),
        _ => lsm::Error::Invalid(error.to_string()),
    }
}
