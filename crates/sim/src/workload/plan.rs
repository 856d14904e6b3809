//! A run as plain data: settings, lives, tasks, steps. It can be printed, replayed and shrunk.

use crate::faults::{Crash, Fault, FaultPlan};
use crate::settings::NameOrder;
use crate::workload::read::{ReadStep, What};
use crate::workload::spaces::{NAMES, Slot, Span, blob, kind_name};
use crate::workload::vault::{BackupStep, RestoreStep};
use base::Kind;
use kv::KvOptions;
use lsm::context::TreeOptions;
use lsm::read::ReadThresholds;
use lsm::table::TableOptions;
use std::fmt;
use store::{Durability, Isolation};

/// One row of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowStep {
    /// Number of the key.
    pub key: u16,
    /// Put, merge or delete.
    pub kind: Kind,
    /// Seed of its values, see `spaces::row`.
    pub seed: u32,
}

/// Writes to one keyspace. Writes to the forward edges are made in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStep {
    /// Slot of the keyspace.
    pub slot: Slot,
    /// Ranges that are deleted first. The graph is only ever cleared completely.
    pub spans: Vec<Span>,
    /// Rows that are written then.
    pub rows: Vec<RowStep>,
}

/// One step of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A commit without a transaction. The flag says whether it asks which keys existed.
    Write(Vec<TableStep>, bool),
    /// Begins a transaction, and rolls back the one before.
    Begin(Isolation),
    /// Writes in the transaction.
    TxWrite(Vec<TableStep>),
    /// Writes in the transaction and rolls that back.
    TxUndone(Vec<TableStep>),
    /// Reads in the transaction.
    TxRead(ReadStep),
    /// Commits the transaction.
    Commit,
    /// Rolls the transaction back.
    Rollback,
    /// Reads the latest state.
    Read(ReadStep),
    /// Takes a snapshot, in addition to those that the task holds.
    Hold,
    /// Reads the oldest snapshot held.
    HeldRead(ReadStep),
    /// Releases the oldest snapshot held.
    LetGo,
    /// Flushes all memtables.
    Flush,
    /// Compacts everything.
    Compact,
    /// Bulk load of puts, with the number of partitions and whether it commits.
    Bulk(Vec<TableStep>, u8, bool),
    /// Creates a keyspace that does not exist.
    Create(Slot),
    /// Drops an existing keyspace.
    Drop(Slot),
    /// Verifies every checksum.
    Check,
    /// Opens or refreshes the follower, and reads all of it.
    Follow,
    /// Reads the follower's current state.
    FollowRead(ReadStep),
    /// Closes and reopens the database, while the other tasks run.
    Reopen,
    /// Uses the graph through its view.
    Graph(GraphStep),
    /// Uses blobs through their view.
    Blobs(BlobsStep),
    /// Writes or reads blobs in the transaction.
    TxBlobs(BlobsStep),
    /// Uses counters through their view.
    Counters(CountersStep),
    /// Changes counters in the transaction.
    TxCounters(TableStep),
    /// Takes a backup.
    Backup(BackupStep),
    /// Removes a backup, counted back from the newest.
    Discard(u8),
    /// Restores a backup.
    Restore(RestoreStep),
    /// Opens the restored database at a place, and compares it.
    Look(u8),
    /// A scheduling point.
    Pause,
}

/// A call of the graph's view. Edges are rows of the forward direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphStep {
    /// Inserts edges, or sets their weights.
    Upsert(Vec<RowStep>),
    /// Removes edges.
    Remove(Vec<u16>),
    /// Removes all edges.
    Clear,
    /// Imports edges.
    Import(ImportStep),
    /// Compares the two directions at a snapshot, and reads the edges at the ends of one.
    Check(u16),
}

/// One or more calls of the blobs' view. Rows are of their slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobsStep {
    /// Puts and deletes; consecutive rows of one kind by one call.
    Write(Vec<RowStep>),
    /// Writes a value in pieces.
    Stream {
        /// Key and value.
        row: RowStep,
        /// Bytes of each piece that is written.
        piece_bytes: u8,
        /// Whether it is finished; otherwise it is dropped.
        finish: bool,
    },
    /// Deletes all.
    Clear,
    /// Removes pieces that belong to no row.
    Collect,
    /// Reads these keys, and all blobs, in every way.
    Read(Vec<u16>),
}

/// One or more calls of a counters' view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountersStep {
    /// A span removes all counters first; then a merge adds, a put sets, a delete removes.
    Write(TableStep),
    /// Writes the buffered increments.
    Flush(Slot),
    /// Reads these keys.
    Read(Slot, Vec<u16>),
    /// Reads all.
    Scan(Slot),
}

impl CountersStep {
    /// The slot.
    #[must_use]
    pub fn slot(&self) -> Slot {
        match self {
            Self::Write(table) => table.slot,
            Self::Flush(slot) | Self::Read(slot, _) | Self::Scan(slot) => *slot,
        }
    }
}

/// An import of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportStep {
    /// Edges, some of them repeated.
    pub rows: Vec<RowStep>,
    /// Whether it reads text; otherwise columns.
    pub text: bool,
    /// Whether it has so little memory that it spills sorted runs.
    pub spill: bool,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A crash at this operation of the life, or after the last step.
    Crash(u64, Crash),
    /// The database is closed.
    Close,
}

/// The time from one opening of the disk to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// The steps of each task; tasks run concurrently.
    pub tasks: Vec<Vec<Step>>,
    /// How it ends.
    pub end: End,
}

/// Random settings of a run, with a few features switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swarm {
    /// Durability of all commits.
    pub durability: Durability,
    /// See [`KvOptions`].
    pub memtable_bytes: u64,
    /// See [`KvOptions`].
    pub wal_segment_bytes: u64,
    /// See [`KvOptions`].
    pub cache_bytes: u64,
    /// See [`KvOptions`].
    pub auto_compaction: bool,
    /// See [`TableOptions`].
    pub block_rows_max: usize,
    /// See [`TableOptions`].
    pub block_bytes_max: usize,
    /// See [`TableOptions`].
    pub filter_bits: u8,
    /// See [`TableOptions`].
    pub compress: bool,
    /// Whether strings of any length are separated values.
    pub apart: bool,
    /// See [`KvOptions`].
    pub direct_reads: bool,
    /// See [`TreeOptions`].
    pub table_bytes: u64,
    /// See [`TreeOptions`].
    pub level0_runs: usize,
    /// See [`TreeOptions`].
    pub level1_bytes: u64,
    /// See [`TreeOptions`].
    pub level_factor: u64,
    /// Trees with fewer bytes to write share a file.
    pub shared_bytes_max: u64,
    /// Whether there is a second folder for tables.
    pub two_folders: bool,
    /// Faults of the machine.
    pub faults: FaultPlan,
    /// Size of the disk, in bytes; 0 for unlimited.
    pub disk_bytes: u64,
    /// Jobs that run in parallel.
    pub parallelism: usize,
    /// Chance, in a thousand operations, to switch to another task.
    pub switch_permille: u32,
    /// See [`crate::Settings`].
    pub name_order: NameOrder,
    /// See [`crate::Settings`].
    pub append_buffer_bytes: usize,
    /// See [`crate::Settings`].
    pub torn_ppm: u32,
    /// See [`KvOptions`].
    pub read_flush_rows: u64,
    /// Most bytes of a transaction; 0 for unlimited.
    pub transaction_bytes: u64,
    /// Most keys of counters in the write buffer.
    pub waiting_rows: u64,
    /// Most buffered rows that one commit writes.
    pub commit_rows: usize,
    /// Whether there are blobs.
    pub blobs: bool,
    /// Whether there are counters.
    pub counters: bool,
}

impl Swarm {
    /// The engine's options.
    #[must_use]
    pub fn options(&self) -> KvOptions {
        KvOptions {
            durability: self.durability,
            cache_bytes: self.cache_bytes,
            memtable_bytes: self.memtable_bytes,
            wal_segment_bytes: self.wal_segment_bytes,
            auto_compaction: self.auto_compaction,
            read_flush_rows: self.read_flush_rows,
            direct_reads: self.direct_reads,
            table_folders: if self.two_folders { vec!["/more".into()] } else { vec![] },
            tree: TreeOptions {
                table: TableOptions {
                    block_rows_max: self.block_rows_max,
                    block_bytes_max: self.block_bytes_max,
                    block_string_bytes_max: self.block_bytes_max,
                    apart_bytes_max: 2 * self.block_bytes_max,
                    apart_value_bytes_min: if self.apart { 1 } else { u64::MAX },
                    filter_bits: self.filter_bits,
                    compress: self.compress,
                },
                table_bytes: self.table_bytes,
                level0_runs: self.level0_runs,
                level1_bytes: self.level1_bytes,
                level_factor: self.level_factor,
                shared_bytes_max: self.shared_bytes_max,
                // Small blocks and rare branches go together, and draw no number of their own.
                read: match self.block_rows_max {
                    0..32 => ReadThresholds::TINY,
                    _ => ReadThresholds::default(),
                },
            },
            transaction_bytes_max: match self.transaction_bytes {
                0 => KvOptions::default().transaction_bytes_max,
                bytes => bytes,
            },
            ..KvOptions::default()
        }
    }

    /// Whether stored bytes may differ from the written ones.
    #[must_use]
    pub fn damages(&self) -> bool {
        Fault::ALL.iter().any(|&fault| fault.corrupts() && self.faults.ppm(fault) > 0)
    }

    /// Whether operations of the machine can fail.
    #[must_use]
    pub fn fails(&self) -> bool {
        let fails = |fault: &Fault| {
            !fault.corrupts() && *fault != Fault::Slow && self.faults.ppm(*fault) > 0
        };
        self.disk_bytes > 0 || Fault::ALL.iter().any(fails)
    }

    /// Whether operations can fail in ways that end all writing.
    #[must_use]
    pub fn fails_for_good(&self) -> bool {
        let faults = self.faults.clone().with(Fault::NoDescriptor, 0);
        Self { faults, ..self.clone() }.fails()
    }
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Decides the interleaving, the faults and what a crash loses.
    pub seed: u64,
    /// Settings of the run.
    pub swarm: Swarm,
    /// Consecutive lives on one disk.
    pub lives: Vec<Life>,
}

impl Plan {
    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.lives.iter().flat_map(|life| &life.tasks).map(Vec::len).sum()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        self.swarm.fmt(f)?;
        for (i, life) in self.lives.iter().enumerate() {
            writeln!(f, "life {i}")?;
            for (task, steps) in life.tasks.iter().enumerate() {
                for step in steps {
                    writeln!(f, "  task {task}: {step}")?;
                }
            }
            match life.end {
                End::Crash(at, kind) => writeln!(f, "  {kind:?} at operation {at}, or at the end")?,
                End::Close => writeln!(f, "  close")?,
            }
        }
        Ok(())
    }
}

/// Lines of a plan.
impl fmt::Display for Swarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let swarm = self;
        writeln!(
            f,
            "durability {:?}, memtable {} B, segment {} B, cache {} B, table {} B, block {} rows {} B, filter {}{}",
            swarm.durability,
            swarm.memtable_bytes,
            swarm.wal_segment_bytes,
            swarm.cache_bytes,
            swarm.table_bytes,
            swarm.block_rows_max,
            swarm.block_bytes_max,
            swarm.filter_bits,
            match (swarm.compress, swarm.apart) {
                (true, true) => ", compressed or apart",
                (true, false) => ", compressed",
                (false, true) => ", apart",
                (false, false) => "",
            },
        )?;
        writeln!(
            f,
            "level 0: {} runs, level 1: {} B, factor {}, {} B share a file, compaction {}, folders {}, reads {}, jobs {}, switch {} ‰, disk {}",
            swarm.level0_runs,
            swarm.level1_bytes,
            swarm.level_factor,
            swarm.shared_bytes_max,
            if swarm.auto_compaction { "on" } else { "off" },
            1 + usize::from(swarm.two_folders),
            if swarm.direct_reads { "direct" } else { "cached" },
            swarm.parallelism,
            swarm.switch_permille,
            if swarm.disk_bytes == 0 {
                "big".to_owned()
            } else {
                format!("{} B", swarm.disk_bytes)
            },
        )?;
        writeln!(
            f,
            "names survive by {:?}, buffers of {} B, {} sectors in a million torn, flushed after {} rows passed",
            swarm.name_order, swarm.append_buffer_bytes, swarm.torn_ppm, swarm.read_flush_rows,
        )?;
        if swarm.transaction_bytes > 0 {
            writeln!(f, "a transaction holds {} B", swarm.transaction_bytes)?;
        }
        if swarm.counters && swarm.durability == Durability::None {
            let (waiting, commit) = (swarm.waiting_rows, swarm.commit_rows);
            writeln!(f, "{waiting} counters may wait, a commit writes {commit}")?;
        }
        if let Some(only) = swarm.faults.corrupt_only {
            writeln!(f, "only files called …{only}… are damaged")?;
        }
        for fault in Fault::ALL {
            if swarm.faults.ppm(fault) > 0 {
                writeln!(f, "fault {fault:?}: {} in a million", swarm.faults.ppm(fault))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(tables, existed) => {
                write!(f, "write{}", if *existed { " and tell" } else { "" })?;
                tables.iter().try_for_each(|table| write!(f, " {table}"))
            }
            Self::Begin(isolation) => write!(f, "begin {isolation:?}"),
            Self::TxWrite(tables) => {
                write!(f, "in the transaction")?;
                tables.iter().try_for_each(|table| write!(f, " {table}"))
            }
            Self::TxUndone(tables) => {
                write!(f, "in the transaction, undone,")?;
                tables.iter().try_for_each(|table| write!(f, " {table}"))
            }
            Self::TxRead(read) => write!(f, "in the transaction {read}"),
            Self::Read(read) => write!(f, "{read}"),
            Self::HeldRead(read) => write!(f, "at the held moment {read}"),
            Self::FollowRead(read) => write!(f, "in the follower {read}"),
            Self::Bulk(tables, partitions, commit) => {
                write!(f, "bulk load in {partitions} partitions")?;
                tables.iter().try_for_each(|table| write!(f, " {table}"))?;
                write!(f, "{}", if *commit { "" } else { ", given up" })
            }
            Self::Create(slot) => write!(f, "create {}", NAMES[usize::from(*slot)]),
            Self::Graph(step) => write!(f, "{step}"),
            Self::Blobs(step) => write!(f, "blobs: {step}"),
            Self::TxBlobs(step) => write!(f, "in the transaction, blobs: {step}"),
            Self::Counters(CountersStep::Write(table)) => write!(f, "count {table}"),
            Self::TxCounters(table) => write!(f, "in the transaction count {table}"),
            Self::Counters(step) => {
                let name = NAMES[usize::from(step.slot())];
                match step {
                    CountersStep::Read(_, keys) => write!(f, "read {keys:?} of {name}"),
                    CountersStep::Scan(_) => write!(f, "scan {name}"),
                    _ => write!(f, "write what waits of {name}"),
                }
            }
            Self::Backup(step) => write!(f, "{step}"),
            Self::Restore(step) => write!(f, "{step}"),
            Self::Discard(which) => write!(f, "remove the last backup but {which}"),
            Self::Look(place) => write!(f, "open place {place}"),
            Self::Drop(slot) => write!(f, "drop {}", NAMES[usize::from(*slot)]),
            other => write!(f, "{}", format!("{other:?}").to_lowercase()),
        }
    }
}

impl fmt::Display for GraphStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = |f: &mut fmt::Formatter<'_>, rows: &[RowStep]| {
            rows.iter().try_for_each(|row| write!(f, " {}={}", row.key, row.seed))
        };
        match self {
            Self::Upsert(rows) => {
                write!(f, "graph: upsert")?;
                edges(f, rows)
            }
            Self::Import(step) => {
                let text = if step.text { " text" } else { "" };
                let spill = if step.spill { ", spilling" } else { "" };
                write!(f, "graph: import{text}{spill}")?;
                edges(f, &step.rows)
            }
            Self::Remove(keys) => write!(f, "graph: remove {keys:?}"),
            Self::Clear => write!(f, "graph: clear"),
            Self::Check(key) => write!(f, "graph: check, read the ends of {key}"),
        }
    }
}

impl fmt::Display for BlobsStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(rows) => rows.iter().try_for_each(|row| {
                write!(f, "{} {}", kind_name(row.kind), row.key)?;
                write!(f, " of {} bytes, ", blob(row.seed).len())
            }),
            Self::Stream { row, piece_bytes, finish } => {
                let end = if *finish { "" } else { ", given up" };
                write!(f, "put {} of {} bytes", row.key, blob(row.seed).len())?;
                write!(f, " in pieces of {piece_bytes}{end}")
            }
            Self::Clear => write!(f, "clear"),
            Self::Collect => write!(f, "collect garbage"),
            Self::Read(keys) => write!(f, "read {keys:?}"),
        }
    }
}

impl fmt::Display for TableStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", NAMES[usize::from(self.slot)])?;
        for span in &self.spans {
            write!(f, "delete {span:?} ")?;
        }
        for (i, row) in self.rows.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", kind_name(row.kind), row.key)?;
            if row.kind != Kind::Delete {
                write!(f, "={}", row.seed)?;
            }
        }
        write!(f, "]")
    }
}

impl fmt::Display for ReadStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "read {} {:?}", NAMES[usize::from(self.slot)], self.what)?;
        if self.what != What::Count && (self.keys, self.values) != (u8::MAX, u8::MAX) {
            write!(f, " columns {:b}/{:b}", self.keys, self.values)?;
        }
        Ok(())
    }
}
