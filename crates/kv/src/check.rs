//! Reads all files of a database and reports everything that is wrong with them.
//!
//! # Why a folder can be checked without opening it
//! Opening stops at the first damage. A check should give the whole list, above all for a database
//! that does not open any more. So [`check_folder`] reads the files by itself.
//!
//! # Why it is correct beside a writer
//! A table that is missing although the manifest named it, or a log that ends too early, may be due
//! to a writer. So a problem counts only if the manifest has not changed since it was read, or if a
//! second read finds the problem at the same place.

use crate::convert::{env_error, tree_error};
use crate::folder::{TABLES, WAL, missing};
use crate::inner::Inner;
use crate::open::named_files;
use crate::record;
use crate::table_folders::{table_folder_names, table_folders};
use crate::wal::{self, Wal, WalError, WalOptions};
use base::{Corruption, SeqNo};
use env::Env;
use lsm::context::{Context, TreeOptions, parse_table_file_name, table_file_name};
use lsm::manifest::{CURRENT, Manifest, State};
use lsm::table::{BlockCache, Table, TableMeta};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{CheckFailed, CheckReport, Error, ErrorKind, Progress, Result};

/// Most attempts of a check while a writer changes the files.
const ATTEMPTS: usize = 5;
/// The same for the log, which a busy writer changes more often.
const LOG_ATTEMPTS: usize = 50;
/// Tables that a worker checks between two calls of the progress function.
const TABLES_A_STEP: usize = 2;

/// A table to check: an open one, or the manifest's entry of one.
enum Item {
    Open(Arc<Table>),
    Named(Arc<Context>, Box<TableMeta>, base::Shape),
}

impl Item {
    fn meta(&self) -> &TableMeta {
        match self {
            Self::Open(table) => table.meta(),
            Self::Named(_, meta, _) => meta,
        }
    }

    fn bytes(&self) -> u64 {
        self.meta().summary.bytes
    }
}

/// Checks an open store.
pub(crate) fn check(inner: &Arc<Inner>, progress: Progress<'_>) -> Result<CheckReport> {
    let start = inner.env.monotonic_us();
    let mut report = CheckReport::default();
    let mut items = Vec::new();
    // Holds the trees, so that no table is removed before it is read.
    let trees = inner.trees.load_full();
    for entry in trees.iter() {
        let view = entry.tree.view_full();
        items.extend(view.version.tables().map(|(_, _, table)| Item::Open(Arc::clone(table))));
    }
    match Manifest::read(&*inner.env, &inner.folder) {
        Ok(state) => {
            check_state(&state, &inner.folder, &mut report);
            check_log(&inner.env, &inner.folder, state, &mut report)?;
        }
        Err(lsm::Error::Corruption(corruption)) => report.push(corruption),
        Err(error) => return Err(tree_error(error)),
    }
    check_tables(&*inner.env, items, progress, &mut report)?;
    finish(report, inner.env.monotonic_us() - start)
}

/// Checks the database in `folder` without opening it, also one that does not open. Nothing is
/// written. It does not compare the two directions of a graph: that is left to `views`.
///
/// # Errors
/// [`ErrorKind::Corruption`] with everything found, after all was read: its cause is a
/// [`CheckFailed`]. [`ErrorKind::InvalidInput`] where there is no database;
/// [`ErrorKind::Cancelled`].
pub fn check_folder(
    env: &Arc<dyn Env>,
    folder: &Path,
    progress: Progress<'_>,
) -> Result<CheckReport> {
    let start = env.monotonic_us();
    let folder = &env.resolved(folder).map_err(env_error)?;
    if !env.exists(folder) {
        return Err(missing(folder));
    }
    let _held = env.hold(folder).map_err(env_error)?;
    let mut attempt = 0;
    loop {
        let mut report = CheckReport::default();
        let state = match Manifest::read(&**env, folder) {
            Ok(state) => Some(state),
            Err(lsm::Error::Corruption(corruption)) => {
                report.push(corruption);
                None
            }
            Err(lsm::Error::Env(error)) if error.is_not_found() => {
                if !is_database(&**env, folder) {
                    return Err(missing(folder));
                }
                report.push(Corruption::new(&folder.join(CURRENT), 0, "the file is missing"));
                None
            }
            Err(error) => return Err(tree_error(error)),
        };
        match &state {
            Some(state) => check_named(env, folder, state, progress, &mut report)?,
            None => report.notes.push(
                "tables and log were not checked: nothing says which of them are in use".into(),
            ),
        }
        attempt += 1;
        let again = !report.is_sound() && attempt < ATTEMPTS;
        if again
            && let (Some(state), Ok(now)) = (&state, Manifest::read(&**env, folder))
            && now != *state
        {
            continue;
        }
        return finish(report, env.monotonic_us() - start);
    }
}

/// Whether the folder holds files of a database whose `CURRENT` is missing.
fn is_database(env: &dyn Env, folder: &Path) -> bool {
    let names = env.list(folder).unwrap_or_default();
    names.iter().any(|name| name.starts_with("MANIFEST-") || name == WAL)
}

fn finish(mut report: CheckReport, duration_us: u64) -> Result<CheckReport> {
    report.duration_us = duration_us;
    match report.is_sound() {
        true => Ok(report),
        false => Err(Error::caused(ErrorKind::Corruption, CheckFailed(report))),
    }
}

/// Checks every file that the manifest names, and notes table files that it does not name.
fn check_named(
    env: &Arc<dyn Env>,
    folder: &Path,
    state: &State,
    progress: Progress<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    check_state(state, folder, report);
    let context = files_of(env, folder, state)?;
    let mut items = Vec::new();
    for keyspace in state.keyspaces() {
        for table in &keyspace.tables {
            if usize::from(table.meta.folder) < context.folders.len() {
                let (meta, shape) = (Box::new(table.meta.clone()), keyspace.shape.clone());
                items.push(Item::Named(Arc::clone(&context), meta, shape));
            }
        }
    }
    check_log(env, folder, state.clone(), report)?;
    check_tables(&**env, items, progress, report)?;
    note_strays(&**env, state, &context, report);
    Ok(())
}

/// A context to read tables with while the database is not open.
pub(crate) fn files_of(env: &Arc<dyn Env>, folder: &Path, state: &State) -> Result<Arc<Context>> {
    let names = table_folder_names(state, state.identity().unwrap_or(0), &[])?;
    let folders = table_folders(&**env, folder, &names)?;
    let cache = Arc::new(BlockCache::new(1 << 20));
    let next = state.next_table_id();
    let options = TreeOptions::default();
    Ok(Arc::new(Context::new(Arc::clone(env), cache, folders, options, false, next)))
}

/// Checks the invariants between entries of the manifest.
fn check_state(state: &State, folder: &Path, report: &mut CheckReport) {
    report.files += 1;
    let mut ids = BTreeSet::new();
    for keyspace in state.keyspaces() {
        let mut wrong = |table: &TableMeta, what: String| {
            let file = Path::new(&format!("table {}", table.id)).to_path_buf();
            let file =
                folder.join(TABLES).join(file.with_file_name(table_file_name(table.file_id())));
            report.push(Corruption::new(&file, 0, format!("keyspace {:?}: {what}", keyspace.name)));
        };
        let mut runs: BTreeMap<(u8, u64), Vec<&TableMeta>> = BTreeMap::new();
        for table in &keyspace.tables {
            let run = if table.level == 0 { table.run } else { 0 };
            runs.entry((table.level, run)).or_default().push(&table.meta);
            if !ids.insert(table.meta.id) {
                wrong(&table.meta, "the manifest names the table twice".into());
            }
            if table.meta.id.max(table.meta.file_id()) >= state.next_table_id() {
                wrong(&table.meta, "its number was never given out".into());
            }
            let (most, last) = (table.meta.seq_max(), state.last_seq());
            if most > last {
                wrong(&table.meta, format!("sequence number {most} past the newest, {last}"));
            }
        }
        for ((level, _), mut tables) in runs {
            tables.sort_by(|a, b| a.summary.first_key.cmp(&b.summary.first_key));
            for pair in tables.windows(2) {
                let (before, after) = (&pair[0].summary, &pair[1].summary);
                let touches = before.last_key == after.first_key && before.range_tombstones > 0;
                if before.last_key >= after.first_key && !touches {
                    let what = format!("overlaps table {} of level {level}", pair[0].id);
                    wrong(pair[1], what);
                }
            }
        }
    }
}

/// Result of checking one table.
#[derive(Default)]
struct Found {
    blocks: u64,
    rows: u64,
    bytes: u64,
    problems: Vec<Corruption>,
}

fn check_tables(
    env: &dyn Env,
    items: Vec<Item>,
    progress: Progress<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    let total: u64 = items.iter().map(Item::bytes).sum();
    let files: BTreeSet<_> = items.iter().map(|item| item.meta().file_id()).collect();
    report.files += files.len() as u64;
    let mut done = 0;
    let step = TABLES_A_STEP * env.parallelism().max(1);
    let mut items = items.into_iter().peekable();
    if !progress(0, total) {
        return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
    }
    while items.peek().is_some() {
        let some: Vec<Item> = items.by_ref().take(step).collect();
        done += some.iter().map(Item::bytes).sum::<u64>();
        for found in env::parallel(env, some, check_table) {
            report.blocks += found.blocks;
            report.rows += found.rows;
            report.bytes += found.bytes;
            found.problems.into_iter().for_each(|problem| report.push(problem));
        }
        if !progress(done, total) {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
        }
    }
    Ok(())
}

fn check_table(item: Item) -> Found {
    let mut found = Found::default();
    let path = match &item {
        Item::Open(_) => PathBuf::new(),
        Item::Named(context, meta, _) => context.path_of(meta),
    };
    let table = match item {
        Item::Open(table) => Ok(table),
        // A table with a damaged filter, say, still has rows that can be checked.
        Item::Named(context, meta, shape) => match Table::open(&context, &meta, &shape) {
            Err(lsm::Error::Corruption(first)) => {
                match Table::open_damaged(&context, &meta, &shape) {
                    Ok(remains) => {
                        found.problems.push(first);
                        Ok(remains.table)
                    }
                    Err(_) => Err(first.into()),
                }
            }
            other => other,
        },
    };
    let inspected = table.and_then(|table| {
        let summary = &table.meta().summary;
        (found.rows, found.bytes) = (summary.rows, summary.bytes);
        let problems = &mut found.problems;
        let mut push = |problem| {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        };
        table.inspect(&mut |_| true, &mut push)
    });
    match inspected {
        Ok(blocks) => found.blocks = blocks,
        Err(lsm::Error::Corruption(corruption)) => found.problems.push(corruption),
        Err(lsm::Error::Env(error)) if error.is_not_found() => {
            found.problems.push(Corruption::new(&path, 0, "the file is missing"));
        }
        // A sector that the disk cannot read is damage too; the check continues.
        Err(lsm::Error::Env(env::EnvError::Io { operation, path, source })) => {
            let what = format!("cannot {operation} it: {source}");
            found.problems.push(Corruption::new(&path, 0, what));
        }
        Err(error) => found.problems.push(Corruption::new(&path, 0, error.to_string())),
    }
    found
}

/// Replays the log without applying it.
fn check_log(
    env: &Arc<dyn Env>,
    folder: &Path,
    mut state: State,
    report: &mut CheckReport,
) -> Result<()> {
    let mut before: Option<Corruption> = None;
    for _ in 0..LOG_ATTEMPTS {
        let (commits, damage) = replay_log(env, folder, &state)?;
        report.log_commits = commits;
        let Some(damage) = damage else { return Ok(()) };
        let known = before
            .as_ref()
            .is_some_and(|before| (&before.file, before.offset) == (&damage.file, damage.offset));
        let now = Manifest::read(&**env, folder).map_err(tree_error)?;
        // A commit that was being written is complete at the second read, and segments that were
        // released meanwhile are not missing.
        if known && now == state {
            return list_log_damages(&**env, folder, &state, damage, report);
        }
        before = (now == state).then_some(damage);
        state = now;
    }
    let what = "the end of the log was not checked: a writer changed it at every look";
    report.notes.push(what.to_owned());
    Ok(())
}

/// Number of commits that replay, and the damage that ends them.
fn replay_log(
    env: &Arc<dyn Env>,
    folder: &Path,
    state: &State,
) -> Result<(u64, Option<Corruption>)> {
    let folder = folder.join(WAL);
    let first_live = state.wal_first_live();
    if !env.exists(&folder) {
        let what = "the log's folder is missing";
        return Ok((0, (first_live > 0).then(|| Corruption::new(&folder, 0, what))));
    }
    let shapes: BTreeMap<_, _> = state.keyspaces().map(|k| (k.id, &k.shape)).collect();
    let mut commits = 0;
    let mut replay = || -> std::result::Result<(), WalError> {
        let options = WalOptions::default();
        let mut log = Wal::recover(Arc::clone(env), &folder, first_live, options)?;
        let mut newest = SeqNo::ZERO;
        while let Some((position, payload)) = log.next_payload()? {
            let file = folder.join(format!("{:06}.log", position.segment));
            let damaged = |what| Corruption::new(&file, position.offset, what);
            // Decoding is the check: a sound commit yields all its rows.
            let decoded = record::decode(payload, &|id| shapes.get(&id).copied());
            let (seq, _) = decoded.map_err(damaged)?;
            if seq <= newest {
                return Err(damaged("commits are out of order".into()).into());
            }
            newest = seq;
            commits += 1;
        }
        Ok(())
    };
    match replay() {
        Ok(()) => Ok((commits, None)),
        Err(WalError::Corruption(corruption)) => Ok((commits, Some(corruption))),
        // A segment that was removed while it was being read.
        Err(WalError::Env(error)) if error.is_not_found() => {
            Ok((commits, Some(Corruption::new(&folder, 0, error.to_string()))))
        }
        Err(error) => Err(error.into()),
    }
}

/// Replaying ended at `first`; this looks for damage behind it.
fn list_log_damages(
    env: &dyn Env,
    folder: &Path,
    state: &State,
    first: Corruption,
    report: &mut CheckReport,
) -> Result<()> {
    let found = wal::salvage(env, &folder.join(WAL), state.wal_first_live(), &mut |_, _| Ok(()));
    let more = found.map(|log| log.damages).unwrap_or_default();
    let others = more.into_iter().filter(|d| (&d.file, d.offset) != (&first.file, first.offset));
    let others: Vec<_> = others.collect();
    report.push(first);
    others.into_iter().for_each(|damage| report.push(damage));
    Ok(())
}

/// Notes table files that the manifest does not name: left by a crash, or being written.
fn note_strays(env: &dyn Env, state: &State, context: &Context, report: &mut CheckReport) {
    let named = named_files(state);
    for folder in &context.folders {
        let names = match env.list(folder) {
            Ok(names) => names,
            Err(error) => {
                // Each table in it is reported by itself.
                report.notes.push(env_error(error).to_string());
                continue;
            }
        };
        let is_stray = |name: &&String| {
            parse_table_file_name(&folder.join(name)).is_some_and(|id| !named.contains(&id))
        };
        let strays = names.iter().filter(is_stray).count();
        if strays > 0 {
            report.notes.push(format!(
                "{} holds {strays} table files that nothing names; the next writer removes them",
                folder.display()
            ));
        }
    }
}
