//! Reads a database that another process writes: no lock, no writes, a snapshot that can be
//! refreshed.
//!
//! `Kv::open` and `Store::refresh` call it where the options say `read_only`.
//!
//! # Why it is correct while the writer continues
//! A refresh reads the manifest, opens every table that it names (an open file outlives its name),
//! and replays the log from the segment that it names. If the writer removed a table or reused a
//! segment meanwhile, the refresh discards its work and starts over with the newer manifest.

use crate::convert::{env_error, tree_error};
use crate::folder::{TABLES, WAL, hold_within, missing};
use crate::inner::{FollowerPosition, Inner};
use crate::open::{Replayed, assemble, context, missing_table, open_trees, replay};
use crate::options::KvOptions;
use crate::reserve::Reserve;
use crate::table_folders::{table_folder_names, table_folders};
use crate::trees::Trees;
use crate::wal::{Follow, WalReader};
use base::Corruption;
use env::Env;
use lsm::manifest::{CURRENT, Manifest, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// A refresh gives up after this many attempts and this many further microseconds, where the writer
/// replaces files faster than they are read. Both are needed: beside a writer that flushes and
/// compacts all the time, the attempts alone take only a moment.
const ATTEMPTS: usize = 100;
const PATIENCE_US: u64 = 10_000_000;

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

/// Advances the follower to the writer's newest commit.
pub(crate) fn refresh(inner: &Arc<Inner>) -> Result<()> {
    let mut refresh =
        Refresh { inner, position: &mut inner.follower.lock(), gone: None, missing_segment: 0 };
    let mut last_error = None;
    let mut end_us = None;
    let patient = |attempt: &usize| {
        if *attempt < ATTEMPTS {
            return true;
        }
        let now_us = inner.env.monotonic_us();
        now_us < *end_us.get_or_insert(now_us.saturating_add(PATIENCE_US))
    };
    for _ in (0..).take_while(patient) {
        match refresh.attempt()? {
            Attempt::Done => return Ok(()),
            Attempt::Outdated(error) => last_error = error.or(last_error),
        }
    }
    Err(last_error.unwrap_or_else(|| {
        Error::new(
            ErrorKind::Io,
            "the writer replaces its files faster than they can be opened\nhint: try again",
        )
    }))
}

/// State of a refresh between its attempts.
struct Refresh<'a> {
    inner: &'a Arc<Inner>,
    position: &'a mut Option<FollowerPosition>,
    /// End of the log that readers have seen, where it is missing now.
    gone: Option<(PathBuf, u64)>,
    /// Attempts in which a segment was missing though the manifest had not changed.
    missing_segment: usize,
}

enum Attempt {
    /// Readers see the writer's newest commit.
    Done,
    /// The manifest has changed meanwhile, or a part has to be read again. The error is that of a
    /// missing table.
    Outdated(Option<Error>),
}

impl Refresh<'_> {
    fn attempt(&mut self) -> Result<Attempt> {
        let inner = self.inner;
        let state =
            read_manifest(&*inner.env, &inner.folder).map_err(|error| moved_or(inner, error))?;
        if self.position.as_ref().is_some_and(|now| now.state == state) {
            self.follow_log(&state)
        } else {
            self.read_anew(state)
        }
    }

    /// Reads on from the position, under an unchanged manifest.
    fn follow_log(&mut self, state: &State) -> Result<Attempt> {
        let inner = self.inner;
        let Some(now) = self.position.as_mut() else { return Ok(Attempt::Outdated(None)) };
        match follow(&inner.trees.load_full(), now, &inner.folder)? {
            Followed::UpToDate if is_current(inner, state)? => {
                inner.snapshots.publish(now.last_seq);
                return Ok(Attempt::Done);
            }
            Followed::UpToDate => {}
            Followed::Gap(gap) if is_current(inner, state)? => {
                return Err(tree_error(gap.into()));
            }
            Followed::Gap(_) => *self.position = None,
            Followed::Ahead => *self.position = None,
            // The part of the log that was read is not at its place any more.
            Followed::StartOver => {
                base::mark::hit(base::mark::Mark::FollowerBeganAgain);
                self.gone = Some((now.log.path(), now.log.position().offset));
                *self.position = None;
            }
        }
        Ok(Attempt::Outdated(None))
    }

    /// Opens everything that a manifest names, and shows it to readers if the manifest is still the
    /// newest.
    fn read_anew(&mut self, state: State) -> Result<Attempt> {
        let inner = self.inner;
        match rebuild(inner, state.clone()) {
            Ok(Rebuilt::Gap(gap)) if is_current(inner, &state)? => {
                return Err(tree_error(gap.into()));
            }
            Ok(Rebuilt::Gap(_)) => {}
            Ok(Rebuilt::Whole(whole))
                if whole.position.last_seq < inner.snapshots.visible()
                    && is_current(inner, &state)? =>
            {
                return Err(self.lost_commits(*whole));
            }
            Ok(Rebuilt::Whole(whole)) if is_current(inner, &state)? => {
                let Whole { trees, position: new, is_ahead } = *whole;
                inner.snapshots.publish(new.last_seq);
                inner.trees.store(Arc::new(trees));
                *self.position = (!is_ahead).then_some(new);
                return Ok(Attempt::Done);
            }
            Ok(Rebuilt::Whole(..)) => {}
            Ok(Rebuilt::StartOver(segment)) => {
                // A writer that closes or opens changes segments without an edit, but only a few
                // times.
                let is_current = is_current(inner, &state)?;
                self.missing_segment = if is_current { self.missing_segment + 1 } else { 0 };
                if self.missing_segment == ATTEMPTS {
                    let what = "the segment is missing or cut, but the manifest names it";
                    return Err(tree_error(Corruption::new(&segment, 0, what).into()));
                }
            }
            // A table is missing though the manifest named it. If the writer replaced the table,
            // its edit came first, and the manifest has changed.
            Err(lsm::Error::Env(error)) if error.is_not_found() => {
                let error = env_error(error);
                if is_current(inner, &state)? {
                    return Err(missing_table(error));
                }
                return Ok(Attempt::Outdated(Some(error)));
            }
            Err(error) => return Err(tree_error(error)),
        }
        Ok(Attempt::Outdated(None))
    }

    /// The error where readers saw commits of the log that cannot be read any more: it has been
    /// damaged since, or a failed sync has lost what they depend on.
    fn lost_commits(&mut self, whole: Whole) -> Error {
        let shown = self.inner.snapshots.visible();
        let Whole { position: FollowerPosition { log, last_seq, .. }, is_ahead, .. } = whole;
        let what = format!("the log ends at commit {last_seq}, and {shown} was read");
        if is_ahead {
            let why = "a failed sync has lost the keyspace of a later commit";
            return Error::new(ErrorKind::Io, format!("{what}: {why}"));
        }
        let (file, offset) =
            self.gone.take().unwrap_or_else(|| (log.path(), log.position().offset));
        tree_error(Corruption::new(&file, offset, what).into())
    }
}

/// The error for a database folder that cannot be read any more; it may have been replaced by
/// another at its path.
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

/// The folder has no `CURRENT`. It is a damaged database if it holds what is created after
/// `CURRENT`, and none otherwise.
fn no_manifest(env: &dyn Env, folder: &Path) -> Error {
    let current = folder.join(CURRENT);
    let left = [TABLES, WAL].map(|name| folder.join(name));
    let left = left.iter().find(|f| env.list(f).is_ok_and(|names| !names.is_empty()));
    // Checked again: a writer may have created the database meanwhile.
    match left.filter(|_| !env.exists(&current)) {
        Some(left) => {
            let what = format!("it is missing, but {} is not empty", left.display());
            tree_error(Corruption::new(&current, 0, what).into())
        }
        None => missing(folder),
    }
}

/// Whether the manifest is still the one that was read before the log. The writer releases a
/// segment only after the manifest stopped naming it. So if nothing changed, the end that was found
/// is the log's end, and not the end of a remainder.
fn is_current(inner: &Inner, state: &State) -> Result<bool> {
    Ok(read_manifest(&*inner.env, &inner.folder)? == *state)
}

enum Followed {
    UpToDate,
    /// The next commit needs a keyspace that the manifest, as it was read, does not have.
    Ahead,
    StartOver,
    /// A commit is missing before one that was read. It belongs to a manifest edit that was not
    /// read yet. If there is none, a damaged record was taken for the log's end until the log
    /// continued elsewhere.
    Gap(Corruption),
}

/// The contents of manifest and log.
struct Whole {
    trees: Trees,
    position: FollowerPosition,
    /// Whether the log was read only up to a commit that needs a keyspace of a later manifest. If
    /// there is no later manifest, a power cut or a failed sync has lost it, and the log ends here,
    /// as in recovery: a keyspace is in the manifest before its first commit is logged.
    is_ahead: bool,
}

enum Rebuilt {
    Whole(Box<Whole>),
    /// A segment that the manifest names was missing.
    StartOver(PathBuf),
    Gap(Corruption),
}

fn follow(trees: &Trees, now: &mut FollowerPosition, folder: &Path) -> Result<Followed> {
    let flushed = now.state.last_seq();
    loop {
        match now.log.next().map_err(Error::from)? {
            Follow::Record(at, payload) => {
                let damaged = |what| Corruption::new(&folder.join(WAL), at.offset, what);
                let next_keyspace = now.state.next_keyspace_id();
                match replay(trees, payload, flushed, next_keyspace).map_err(damaged)? {
                    Replayed::Seq(seq) if seq > now.last_seq.next() => {
                        let what = format!("commit {seq} follows commit {}", now.last_seq);
                        return Ok(Followed::Gap(damaged(what)));
                    }
                    Replayed::Seq(seq) => now.last_seq = now.last_seq.max(seq),
                    // Half a commit is never shown.
                    Replayed::Ahead => {
                        base::mark::hit(base::mark::Mark::FollowerAhead);
                        return Ok(Followed::Ahead);
                    }
                }
            }
            Follow::End => return Ok(Followed::UpToDate),
            Follow::Gone => return Ok(Followed::StartOver),
        }
    }
}

/// Opens everything that the manifest names and replays the log.
fn rebuild(inner: &Arc<Inner>, state: State) -> lsm::Result<Rebuilt> {
    let trees = match open_trees(&inner.context, &state) {
        Ok(trees) => trees,
        Err(error) => return Err(as_tree_error(&error)),
    };
    let log =
        WalReader::new(Arc::clone(&inner.env), &inner.folder.join(WAL), state.wal_first_live());
    let last_seq = state.last_seq();
    let mut position = FollowerPosition { state, log, last_seq };
    match follow(&trees, &mut position, &inner.folder) {
        Ok(found @ (Followed::UpToDate | Followed::Ahead)) => {
            let is_ahead = matches!(found, Followed::Ahead);
            Ok(Rebuilt::Whole(Box::new(Whole { trees, position, is_ahead })))
        }
        Ok(Followed::StartOver) => Ok(Rebuilt::StartOver(position.log.path())),
        Ok(Followed::Gap(gap)) => Ok(Rebuilt::Gap(gap)),
        Err(error) => Err(as_tree_error(&error)),
    }
}

/// Converts an error back to the tree's type, keeping its kind.
fn as_tree_error(error: &Error) -> lsm::Error {
    match (error.cause::<env::EnvError>(), error.cause::<Corruption>()) {
        (Some(error), _) => error.clone().into(),
        (_, Some(corruption)) => corruption.clone().into(),
        _ => lsm::Error::Invalid(error.to_string()),
    }
}
