//! Copies the intact data of a damaged database into a new folder. The command `repair` calls it.
//!
//! # Saved data
//! Tables keep their levels and rows their sequence numbers, so the newest version that is left
//! still wins. A sound table is copied; of a damaged one the sound blocks are written to a new
//! table; commits of the log follow in order. Nothing is taken over without a valid checksum.
//!
//! # Report
//! A lost block may have held newer versions than those that are left. Its key range is known from
//! the fences, and so is the number of rows that may be stale.
//!
//! # Invariants
//! 1. The source is not changed.
//! 2. The target is a new database. A crash leaves files that no `CURRENT` names, or later a
//!    database without the commits of the log; the caller starts over.

use crate::check::files_of;
use crate::convert::{env_error, tree_error};
use crate::folder::{TABLES, WAL, create_folder_within, create_private_folder, missing};
use crate::kv::Kv;
use crate::open::named_files;
use crate::options::KvOptions;
use crate::outside::{check_is_folder, check_is_outside};
use crate::record;
use crate::wal;
use base::{Corruption, Key, KeyRange, KeyRef, KeyspaceId, SeqNo, Shape, TableId};
use env::{Env, RandomReadFile};
use lsm::context::{Context, TreeOptions, parse_table_file_name};
use lsm::manifest::{AddedKeyspace, Manifest, SalvagedManifest, State, VersionEdit};
use lsm::run_writer::RunWriter;
use lsm::table::{BlockCache, Fill, LostBlock, RangeTombstone, Remains, Table, TableMeta};
use lsm::version::{AddedTable, LEVEL_MAX, TreeEdit};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Progress, Result, Store};

/// Tables that a worker saves between two calls of the progress function.
const TABLES_A_STEP: usize = 2;
/// Bytes of cached blocks. Small: each block is read once.
const CACHE_BYTES: u64 = 1 << 20;
/// Bytes per read of a copy.
const COPY_BYTES: usize = 1 << 20;

/// Report of [`salvage`]: saved and lost data.
#[derive(Clone, Debug, Default)]
pub struct Salvaged {
    /// All keyspaces, by id.
    pub keyspaces: Vec<SalvagedKeyspace>,
    /// Every damage that was found.
    pub damages: Vec<Corruption>,
    /// Tables that could not be used at all, or are missing.
    pub files_skipped: Vec<PathBuf>,
    /// Commits taken from the log.
    pub commits_kept: u64,
    /// Commits of the log that were found only in part.
    pub commits_incomplete: u64,
    /// Bytes of the log that are lost, with an unknown number of commits.
    pub log_lost_bytes: u64,
    /// Whether anything of the log is damaged or missing.
    pub log_damaged: bool,
    /// Whether the manifest was whole. If not, the list of tables is an earlier one, and later
    /// changes are unknown.
    pub manifest_whole: bool,
}

/// The saved part of a keyspace.
#[derive(Clone, Debug)]
pub struct SalvagedKeyspace {
    /// Its id, the same in source and target.
    pub id: KeyspaceId,
    /// Its name.
    pub name: String,
    /// Row versions of tables that were saved. Commits of the log are not counted.
    pub rows_kept: u64,
    /// Row versions of tables that are lost.
    pub rows_lost: u64,
    /// Range tombstones that are lost: the rows they deleted may be visible again.
    pub tombstones_lost: u64,
    /// Upper bound of the saved row versions that may be stale, because a newer one may be lost.
    pub stale_max: u64,
    /// Key ranges with lost rows.
    pub lost: Vec<LostRange>,
    /// Whether every key is in doubt, because the manifest was not whole.
    pub all_in_doubt: bool,
}

/// A range of keys whose rows are lost, both ends included.
#[derive(Clone, Debug)]
pub struct LostRange {
    /// First key of the range.
    pub first: Key,
    /// Last key of the range.
    pub last: Key,
    /// Number of row versions lost.
    pub rows: u64,
    /// File of the table that held them.
    pub file: PathBuf,
}

impl SalvagedKeyspace {
    /// The keys whose rows may be lost or stale.
    #[must_use]
    pub fn doubts(&self) -> Doubts {
        let mut lost: Vec<_> =
            self.lost.iter().map(|l| (l.first.clone(), l.last.clone())).collect();
        lost.sort();
        let mut ranges: Vec<(Key, Key)> = Vec::new();
        for (first, last) in lost {
            match ranges.last_mut() {
                Some(range) if first <= range.1 => range.1 = last.max(range.1.clone()),
                _ => ranges.push((first, last)),
            }
        }
        Doubts { all: self.all_in_doubt, ranges }
    }
}

/// A set of keys whose rows may be lost or stale.
#[derive(Clone, Debug, Default)]
pub struct Doubts {
    all: bool,
    /// Ascending and disjoint, both ends included.
    ranges: Vec<(Key, Key)>,
}

impl Doubts {
    /// Whether the row with this key is in doubt.
    #[must_use]
    pub fn contain(&self, key: KeyRef<'_>) -> bool {
        let behind = self.ranges.partition_point(|(first, _)| first.as_ref() <= key);
        self.all || behind > 0 && key <= self.ranges[behind - 1].1.as_ref()
    }

    /// Whether no key is in doubt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.all && self.ranges.is_empty()
    }
}

/// A table to save, and where it belongs.
struct Item {
    source: Arc<Context>,
    target: Arc<Context>,
    keyspace: KeyspaceId,
    shape: Shape,
    table: AddedTable,
}

/// The saved part of one table.
#[derive(Default)]
struct Saved {
    metas: Vec<TableMeta>,
    lost: Vec<LostRange>,
    tombstones_lost: u64,
    damages: Vec<Corruption>,
    skipped: Option<PathBuf>,
}

/// Writes a new database into `target` from everything sound in `source`.
///
/// The source is not changed, and should not be open for writing. Commits of the log go through
/// memtables of `memtable_bytes`, at most twice that. `progress` gets bytes of tables.
///
/// # Errors
/// [`ErrorKind::InvalidInput`]: no database in `source`, or `target` is not empty.
/// [`ErrorKind::Corruption`] where no manifest is left, so that the tables' keyspaces are unknown.
/// [`ErrorKind::Cancelled`]; failed reads and writes.
pub fn salvage(
    env: &Arc<dyn Env>,
    source: &Path,
    target: &Path,
    memtable_bytes: u64,
    progress: Progress<'_>,
) -> Result<Salvaged> {
    let source = &env.resolved(source).map_err(env_error)?;
    let target = &env.resolved(target).map_err(env_error)?;
    if !env.exists(source) {
        return Err(missing(source));
    }
    prepare_target(&**env, source, target)?;
    let _source_held = env.hold(source).map_err(env_error)?;
    let _target_held = env.hold(target).map_err(env_error)?;
    let manifest = Manifest::salvage(&**env, source).map_err(tree_error)?;
    let SalvagedManifest { state, damages, is_newest, .. } = manifest;
    let mut salvaged = Salvaged { damages, manifest_whole: is_newest, ..Salvaged::default() };

    let source_files = files_of(env, source, &state)?;
    let folder = target.join(TABLES);
    create_folder_within(&**env, &folder)?;
    let cache = Arc::new(BlockCache::new(CACHE_BYTES));
    let (options, next) = (TreeOptions::default(), state.next_table_id().max(TableId(1)));
    let context = Context::new(Arc::clone(env), cache, vec![folder], options, false, next);
    let context = Arc::new(context);

    let placed = save_tables(env, &state, &source_files, &context, progress, &mut salvaged)?;
    if !is_newest {
        // Tables of a lost edit: their keyspaces are unknown.
        salvaged.files_skipped.extend(unnamed_tables(&**env, &source_files.folders, &state));
    }
    for keyspace in &mut salvaged.keyspaces {
        keyspace.stale_max = count_stale(keyspace, &placed, &context, &state)?;
    }
    let flushed = write_manifest(env, target, &state, &context, &placed)?;
    let options = KvOptions {
        durability: Durability::None,
        memtable_bytes,
        wal_segment_bytes: memtable_bytes,
        cache_bytes: CACHE_BYTES,
        auto_compaction: false,
        ..KvOptions::default()
    };
    let kv = Kv::open(Arc::clone(env), target, options)?;
    save_log(&kv, source, &state, flushed, &mut salvaged)?;
    kv.close()?;
    if is_newest
        && let Ok(now) = Manifest::read(&**env, source)
        && now != state
    {
        let what = "the database was changed while it was repaired\nhint: close it first";
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    Ok(salvaged)
}

/// Files of tables that the manifest does not name.
fn unnamed_tables(env: &dyn Env, folders: &[PathBuf], state: &State) -> Vec<PathBuf> {
    let named = named_files(state);
    let names = |folder: &PathBuf| env.list(folder).unwrap_or_default();
    let files =
        folders.iter().flat_map(|folder| names(folder).into_iter().map(|name| folder.join(name)));
    files
        .filter(|file| parse_table_file_name(file).is_some_and(|id| !named.contains(&id)))
        .collect()
}

fn prepare_target(env: &dyn Env, source: &Path, target: &Path) -> Result<()> {
    let invalid = |what: String| Err(Error::new(ErrorKind::InvalidInput, what));
    if env.is_within(target, source) {
        return invalid(format!("{} lies in the database itself", target.display()));
    }
    check_is_outside(env, target)?;
    check_is_folder(env, target)?;
    if env.exists(target) && !env.list(target).map_err(env_error)?.is_empty() {
        let hint = "hint: name a new or an empty folder";
        return invalid(format!("{} is not empty\n{hint}", target.display()));
    }
    create_private_folder(env, target)
}

/// Saves all tables; returns the manifest entries of those written.
fn save_tables(
    env: &Arc<dyn Env>,
    state: &State,
    source: &Arc<Context>,
    target: &Arc<Context>,
    progress: Progress<'_>,
    salvaged: &mut Salvaged,
) -> Result<BTreeMap<KeyspaceId, Vec<AddedTable>>> {
    let mut items = Vec::new();
    for keyspace in state.keyspaces() {
        salvaged.keyspaces.push(SalvagedKeyspace {
            id: keyspace.id,
            name: keyspace.name.clone(),
            rows_kept: 0,
            rows_lost: 0,
            tombstones_lost: 0,
            stale_max: 0,
            lost: Vec::new(),
            all_in_doubt: !salvaged.manifest_whole,
        });
        items.extend(keyspace.tables.iter().map(|table| Item {
            source: Arc::clone(source),
            target: Arc::clone(target),
            keyspace: keyspace.id,
            shape: keyspace.shape.clone(),
            table: table.clone(),
        }));
    }
    let total: u64 = items.iter().map(|item| item.table.meta.summary.bytes).sum();
    let mut done = 0;
    let mut placed: BTreeMap<KeyspaceId, Vec<AddedTable>> = BTreeMap::new();
    let mut seen = Seen::default();
    let step = TABLES_A_STEP * env.parallelism().max(1);
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        if !progress(done, total) {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
        }
        let some: Vec<Item> = items.by_ref().take(step).collect();
        done += some.iter().map(|item| item.table.meta.summary.bytes).sum::<u64>();
        let places: Vec<_> =
            some.iter().map(|i| (i.keyspace, i.table.level, i.table.run)).collect();
        for ((id, level, run), saved) in
            places.into_iter().zip(env::parallel(&**env, some, save_table))
        {
            let metas = salvaged.note(id, saved.map_err(tree_error)?, &mut seen);
            let tables = metas.into_iter().map(|meta| AddedTable { level, run, meta });
            placed.entry(id).or_default().extend(tables);
        }
    }
    progress(total, total);
    Ok(placed)
}

/// Damage that was reported already: tables that share a file may have one in common, a file that
/// is missing.
#[derive(Default)]
struct Seen {
    damages: BTreeSet<(PathBuf, u64, String)>,
    skipped: BTreeSet<PathBuf>,
}

impl Salvaged {
    /// Adds what became of a table; returns the tables that were written.
    fn note(&mut self, keyspace: KeyspaceId, saved: Saved, seen: &mut Seen) -> Vec<TableMeta> {
        let Saved { metas, lost, tombstones_lost, damages, skipped } = saved;
        let is_new =
            |d: &Corruption| seen.damages.insert((d.file.clone(), d.offset, d.what.clone()));
        self.damages.extend(damages.into_iter().filter(is_new));
        self.files_skipped.extend(skipped.filter(|file| seen.skipped.insert(file.clone())));
        if let Some(keyspace) = self.keyspaces.iter_mut().find(|known| known.id == keyspace) {
            keyspace.rows_kept += metas.iter().map(|meta| meta.summary.rows).sum::<u64>();
            keyspace.rows_lost += lost.iter().map(|lost| lost.rows).sum::<u64>();
            keyspace.tombstones_lost += tombstones_lost;
            keyspace.lost.extend(lost);
        }
        metas
    }
}

/// Copies a sound table; writes the sound blocks of a damaged one.
fn save_table(item: Item) -> lsm::Result<Saved> {
    let Item { source, target, shape, table: AddedTable { level, meta, .. }, .. } = item;
    let mut saved = Saved::default();
    let path = source.folders.get(usize::from(meta.folder)).map(|_| ());
    let opened = match path {
        Some(()) => Table::open(&source, &meta, &shape),
        None => Err(lsm::Error::Invalid("its folder is not known".into())),
    };
    if let Ok(table) = &opened {
        let damages = &mut saved.damages;
        match table.inspect(&mut |_| true, &mut |damage| damages.push(damage)) {
            Ok(_) if saved.damages.is_empty() => {
                let meta = TableMeta { folder: 0, shared: None, ..meta };
                copy(&**table.file(), &target, &meta)?;
                saved.metas.push(meta);
                return Ok(saved);
            }
            // A read error is treated as a lost block; the other blocks are read one by one.
            Ok(_) | Err(_) => {}
        }
    }
    let remains = match Table::open_damaged(&source, &meta, &shape) {
        Ok(remains) => remains,
        Err(error) => {
            saved.give_up(&source, &meta, error);
            return Ok(saved);
        }
    };
    saved.damages.extend(opened.err().and_then(|error| match error {
        lsm::Error::Corruption(corruption) => Some(corruption),
        _ => None,
    }));
    for damage in remains.damages.iter() {
        if !saved.damages.contains(damage) {
            saved.damages.push(damage.clone());
        }
    }
    saved.rewrite(&target, &shape, usize::from(level) == LEVEL_MAX, &remains)?;
    Ok(saved)
}

impl Saved {
    /// Records that nothing of the table can be used.
    fn give_up(&mut self, source: &Context, meta: &TableMeta, error: lsm::Error) {
        let file = match source.folders.len() > usize::from(meta.folder) {
            true => source.path_of(meta),
            false => lsm::context::table_file_name(meta.file_id()).into(),
        };
        self.damages.clear();
        self.damages.push(match error {
            lsm::Error::Corruption(corruption) => corruption,
            lsm::Error::Env(error) if error.is_not_found() => {
                Corruption::new(&file, 0, "the file is missing")
            }
            error => Corruption::new(&file, 0, error.to_string()),
        });
        self.tombstones_lost = meta.summary.range_tombstones;
        self.lost.push(LostRange {
            first: meta.summary.first_key.clone(),
            last: meta.summary.last_key.clone(),
            rows: meta.summary.rows,
            file: file.clone(),
        });
        self.skipped = Some(file);
    }

    /// Writes the rows of sound blocks to a new table.
    fn rewrite(
        &mut self,
        target: &Arc<Context>,
        shape: &Shape,
        bottom: bool,
        remains: &Remains,
    ) -> lsm::Result<()> {
        let table = &remains.table;
        let meta = table.meta();
        let mut writer = RunWriter::new(target, shape, bottom, SeqNo::ZERO);
        let tombstones = table.range_tombstones().iter().map(|tombstone| RangeTombstone {
            range: tombstone.range.clone(),
            seq: tombstone.seq.max(meta.global_seq),
        });
        writer.set_range_tombstones(tombstones.collect());
        let (lost, damages) = (&mut self.lost, &mut self.damages);
        table.salvage_rows(
            &mut |_| true,
            &mut |rows| writer.add(rows, 0..rows.len()),
            &mut |block: LostBlock| {
                let LostBlock { first, last, rows, corruption } = block;
                lost.push(LostRange { first, last, rows, file: corruption.file.clone() });
                if !damages.contains(&corruption) {
                    damages.push(corruption);
                }
            },
        )?;
        self.metas = writer.finish()?;
        if remains.tombstones_lost > 0 {
            self.tombstones_lost = remains.tombstones_lost;
            // The rows they deleted are somewhere between the table's first and last key.
            self.lost.push(LostRange {
                first: meta.summary.first_key.clone(),
                last: meta.summary.last_key.clone(),
                rows: 0,
                file: self.damages.first().map_or_else(PathBuf::new, |d| d.file.clone()),
            });
        }
        Ok(())
    }
}

/// Writes a table, which may lie among others, into a file of its own.
fn copy(file: &dyn RandomReadFile, target: &Context, to: &TableMeta) -> lsm::Result<()> {
    let mut out = target.env.create(&target.path_of(to))?;
    let bytes = file.len_bytes()?;
    let mut buffer = vec![0; COPY_BYTES.min(usize::try_from(bytes).unwrap_or(COPY_BYTES))];
    let mut offset = 0;
    while offset < bytes {
        let len = buffer.len().min(usize::try_from(bytes - offset).unwrap_or(COPY_BYTES));
        file.read_at(&mut buffer[..len], offset)?;
        out.append(&buffer[..len])?;
        offset += len as u64;
    }
    out.sync()?;
    Ok(())
}

/// Counts row versions within the lost ranges in tables older than the damaged ones.
fn count_stale(
    keyspace: &SalvagedKeyspace,
    placed: &BTreeMap<KeyspaceId, Vec<AddedTable>>,
    context: &Arc<Context>,
    state: &State,
) -> Result<u64> {
    let Some(known) = state.keyspaces().find(|known| known.id == keyspace.id) else { return Ok(0) };
    let Some(tables) = placed.get(&keyspace.id).filter(|_| !keyspace.lost.is_empty()) else {
        return Ok(0);
    };
    let mut stale = 0;
    for table in tables {
        let older: Vec<_> = keyspace
            .lost
            .iter()
            .filter(|lost| {
                let name = |t: &&AddedTable| lsm::context::table_file_name(t.meta.file_id());
                // One, or a few that share a file.
                let mut from = known.tables.iter().filter(|t| lost.file.ends_with(name(t)));
                let first = from.next();
                first.is_none_or(|first| {
                    std::iter::once(first).chain(from).any(|from| {
                        table.level > from.level || table.level == 0 && table.run < from.run
                    })
                })
            })
            .collect();
        if older.is_empty() {
            continue;
        }
        let table = Table::open(context, &table.meta, &known.shape).map_err(tree_error)?;
        for lost in older {
            let range = KeyRange { lower: lost.first.clone(), upper: None };
            for i in table.blocks_overlapping(&range) {
                if table.block_keys(i).0 > lost.last {
                    break;
                }
                let block = table.block(i, Fill::Once).map_err(tree_error)?;
                let rows = block.lower_bound(lost.first.as_ref())..block.rows();
                let past = |row: &usize| block.compare_key(*row, lost.last.as_ref()).is_gt();
                stale += rows.take_while(|row| !past(row)).count() as u64;
            }
        }
    }
    Ok(stale)
}

/// Writes the target's manifest; returns the sequence number up to which the tables are complete.
fn write_manifest(
    env: &Arc<dyn Env>,
    target: &Path,
    state: &State,
    context: &Context,
    placed: &BTreeMap<KeyspaceId, Vec<AddedTable>>,
) -> Result<SeqNo> {
    env.sync_folder(&context.folders[0]).map_err(env_error)?;
    let newest =
        placed.values().flatten().map(|table| table.meta.seq_max()).max().unwrap_or(SeqNo::ZERO);
    let flushed = state.last_seq().max(newest);
    let edit = VersionEdit {
        keyspaces_added: state
            .keyspaces()
            .map(|keyspace| AddedKeyspace {
                id: keyspace.id,
                name: keyspace.name.clone(),
                shape: keyspace.shape.clone(),
                definition: keyspace.definition.clone(),
            })
            .collect(),
        trees: placed
            .iter()
            .filter(|(_, tables)| !tables.is_empty())
            .map(|(&id, tables)| (id, TreeEdit { added: tables.clone(), removed: Vec::new() }))
            .collect(),
        last_seq: Some(flushed),
        next_table_id: Some(context.next_table_id()),
        next_keyspace_id: Some(state.next_keyspace_id()),
        folders: Some(vec![TABLES.to_owned()]),
        ..VersionEdit::default()
    };
    let mut manifest = Manifest::create(Arc::clone(env), target).map_err(tree_error)?;
    manifest.append(&edit).map_err(tree_error)?;
    Ok(flushed)
}

/// Commits the log's payloads that are newer than the tables, in order.
fn save_log(
    kv: &Kv,
    source: &Path,
    state: &State,
    flushed: SeqNo,
    salvaged: &mut Salvaged,
) -> Result<()> {
    let shapes: BTreeMap<_, _> = state.keyspaces().map(|k| (k.id, k.shape.clone())).collect();
    let mut failed: Option<Error> = None;
    let mut kept = 0;
    let mut damages = Vec::new();
    let log = wal::salvage(
        &*kv.inner.env,
        &source.join(WAL),
        state.wal_first_live(),
        &mut |place, payload| {
            if failed.is_some() {
                return Ok(());
            }
            match record::decode(payload, &|id| shapes.get(&id)) {
                Ok((seq, _)) if seq <= flushed => {}
                Ok((_, batch)) => match kv.write(&batch, None) {
                    Ok(_) => kept += 1,
                    Err(error) => failed = Some(error),
                },
                Err(what) => damages.push(Corruption::new(&place.file, place.offset, what)),
            }
            Ok(())
        },
    )?;
    if let Some(error) = failed {
        return Err(error);
    }
    salvaged.commits_kept = kept;
    salvaged.commits_incomplete = log.incomplete + damages.len() as u64;
    salvaged.log_lost_bytes = log.lost_bytes;
    salvaged.log_damaged = !log.damages.is_empty() || salvaged.commits_incomplete > 0;
    salvaged.damages.extend(log.damages);
    salvaged.damages.extend(damages);
    Ok(())
}
