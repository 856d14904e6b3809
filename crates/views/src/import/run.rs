//! The steps of an import, in order: read, choose splitters, scatter, sort and load both
//! directions, publish. `mod.rs` describes them.

use super::feed::{Feed, LocalFeed};
use super::names::Names;
use super::progress::{Counters, Phase, Reporter};
use super::report::{ImportOptions, ImportReport, OnlyVertices};
use super::row_collector::{Collected, RowCollector};
use super::sorter::{Direction, Sorter, Unscattered};
use super::spill::io;
use crate::graph::{Graph, GraphDef, GraphPart, VertexType, WeightType, fill_nulls};
use base::{Batch, Key, KeyRange, Keys, KeyspaceId, Projection};
use env::Env;
use ingest::Missing;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{BulkLoad, BulkWritten, Error, ErrorKind, Result, Scan, Snapshot, SortedRows, Store};

/// Maximum number of rows in a bucket: keys and their copy take 512 KiB, half of a typical L2
/// cache.
pub(super) const BUCKET_ROWS: u64 = 32 << 10;

/// Partitions for each worker, so that workers end at about the same time.
const PARTS_A_WORKER: usize = 4;

/// Minimum number of rows in a partition, since each partition begins a new table.
const PART_ROWS_MIN: u64 = 1 << 20;

/// If fewer than one row for this many existing edges is imported, existing edges are counted by
/// lookups, otherwise by merging the sorted rows with a scan.
const LOOK_UP_SHARE: u64 = 16;

/// An import that has not started.
pub(super) struct Run<'g> {
    graph: &'g Graph,
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    options: ImportOptions,
}

/// The parts of a graph that writing needs; shared by jobs.
#[derive(Clone)]
struct Target {
    forward: KeyspaceId,
    reverse: KeyspaceId,
    dictionary: Option<[KeyspaceId; 2]>,
    edge_shape: base::Shape,
    snapshot: Arc<dyn Snapshot>,
    /// Number of edges before the import.
    edges: u64,
}

impl<'g> Run<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        env: &Arc<dyn Env>,
        options: &ImportOptions,
    ) -> Result<Self> {
        let Some(store) = graph.store() else {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "an import is a commit of its own: it needs a graph outside of transactions and \
                 snapshots",
            ));
        };
        graph.refuse_required_properties()?;
        graph.refuse_keyed("import rows with a column `key` as rows with properties")?;
        store.check_process()?;
        env.check_process().map_err(io)?;
        let (store, env, mut options) = (Arc::clone(store), Arc::clone(env), options.clone());
        if store.is_read_only() {
            return Err(Error::new(ErrorKind::ReadOnly, "the database was opened read-only"));
        }
        options.text.edges.vertex = match graph.def().vertex {
            VertexType::U64 => ingest::VertexType::U64,
            VertexType::I64 => ingest::VertexType::I64,
            VertexType::Str => ingest::VertexType::Str,
        };
        options.text.edges.weight = match graph.def().weight {
            WeightType::None => ingest::WeightType::None,
            WeightType::Float => ingest::WeightType::Float,
            WeightType::Int => ingest::WeightType::Int,
        };
        Ok(Self { graph, store, env, options })
    }

    pub(super) fn text_options(&self) -> ingest::TextOptions {
        self.options.text.clone()
    }

    /// Bytes of text that a worker parses at a time: small compared with the memory limit.
    pub(super) fn chunk_bytes(&self) -> usize {
        let share = self.options.memory_limit_bytes / (16 * self.workers());
        (share as usize).clamp(16 << 10, ingest::CHUNK_BYTES)
    }

    fn workers(&self) -> u64 {
        self.env.parallelism() as u64
    }

    /// Maximum bytes of rows in memory, and rows of a bucket. The rest of the memory limit is for
    /// text, parsed columns, and for the scattered copy of one piece on each worker.
    fn limits(&self) -> (u64, u64) {
        let limit = self.options.memory_limit_bytes;
        let buffers = 5 * self.workers() * self.chunk_bytes() as u64;
        let rows = limit.saturating_sub(buffers).max(limit / 2);
        // Sorting a bucket takes about 40 bytes a row.
        (rows, (limit / (400 * self.workers())).clamp(1 << 10, BUCKET_ROWS))
    }

    /// Imports a feed that jobs read.
    pub(super) fn import(
        &self,
        reporter: Reporter<'_>,
        open: impl FnOnce() -> Result<Feed> + Send + 'static,
    ) -> Result<ImportReport> {
        self.with_collector(reporter, |reporter, collector| {
            let collector = Arc::clone(collector);
            reporter.run(Phase::Read, move |env| collector.read_all(env, open()?))
        })
    }

    /// Imports a feed that only this thread can read.
    pub(super) fn import_here(
        &self,
        reporter: Reporter<'_>,
        feed: &mut dyn LocalFeed,
    ) -> Result<ImportReport> {
        self.with_collector(reporter, |reporter, collector| {
            let tell = || reporter.tell(Phase::Read);
            let spill = || {
                let collector = Arc::clone(collector);
                reporter.run(Phase::Read, move |env| collector.spill(env))
            };
            collector.read_local(&self.env, feed, &tell, &spill)
        })
    }

    fn with_collector(
        &self,
        reporter: Reporter<'_>,
        read: impl FnOnce(&Reporter<'_>, &Arc<RowCollector>) -> Result<()>,
    ) -> Result<ImportReport> {
        // Dropped last, after all memory of the import.
        let _released = Released(&self.env);
        let _lent = self.store.lend_cache(self.options.cache_lent_bytes);
        // Locked to the end: ids that are free now must stay free.
        let mut next_id = self.graph.dictionary().map(|dictionary| dictionary.next.lock());
        let target = self.target()?;
        let limits = self.limits();
        let names = match (self.graph.dictionary(), &next_id) {
            (Some(dictionary), Some(next)) => {
                let limit = self.options.memory_limit_bytes / 2;
                let spills = self.options.spill_folder.is_some();
                let (env, snapshot) = (&*self.env, &target.snapshot);
                let names = Names::new(env, snapshot, dictionary, **next, limit, spills)?;
                Some(Arc::new(names))
            }
            _ => None,
        };
        let (folder, def) = (self.options.spill_folder.clone(), self.graph.def());
        // Rows in memory have no properties besides the weight.
        let shape = GraphDef::new("", def.vertex, def.weight).shape(GraphPart::Forward);
        let collector = Arc::new(RowCollector::new(
            &reporter.counters,
            names.clone(),
            limits,
            folder,
            shape,
            def.is_undirected,
        ));
        read(&reporter, &collector)?;
        if names.as_ref().is_some_and(|names| names.runs() > 0) {
            let collector = Arc::clone(&collector);
            reporter.run(Phase::Read, move |env| collector.make_ids_final(env))?;
        }
        let report = self.write(&reporter, &collector, &target, names.as_ref())?;
        if let (Some(next), Some(names)) = (&mut next_id, &names) {
            **next = names.next_id();
        }
        Ok(report)
    }

    fn target(&self) -> Result<Target> {
        let def = self.graph.def();
        let id = |part| {
            let missing = || Error::new(ErrorKind::InvalidInput, "the graph lacks a keyspace");
            self.graph.keyspace(part).ok_or_else(missing)
        };
        let dictionary = match def.vertex {
            VertexType::Str => Some([id(GraphPart::Ids)?, id(GraphPart::Names)?]),
            VertexType::U64 | VertexType::I64 => None,
        };
        let snapshot = self.store.snapshot();
        let forward = id(GraphPart::Forward)?;
        Ok(Target {
            forward,
            reverse: id(GraphPart::Reverse)?,
            dictionary,
            edge_shape: def.shape(GraphPart::Forward),
            edges: snapshot.count(forward)?,
            snapshot,
        })
    }

    /// Refuses input that is known to be incomplete only after all of it is read.
    fn check_collected(&self, reporter: &Reporter<'_>, collected: &Collected) -> Result<()> {
        let input = |error| Error::caused(ErrorKind::InvalidInput, error);
        if collected.unfit_count > 0 {
            let error = ingest::vertices_error(collected.unfit_count, &collected.unfit);
            return Err(input(error));
        }
        if collected.missing_count > 0 && self.options.text.edges.missing == Missing::Fail {
            let error = ingest::missing_error(collected.missing_count, &collected.missing);
            return Err(input(error));
        }
        let counters = &reporter.counters;
        let is_empty = counters.rows_read.load(Ordering::Relaxed) == 0;
        if is_empty && counters.only_vertices.load(Ordering::Relaxed) {
            return Err(Error::caused(ErrorKind::InvalidInput, OnlyVertices));
        }
        let promised = counters.records_promised.load(Ordering::Relaxed);
        let records = counters.records.load(Ordering::Relaxed);
        if promised != records {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!(
                    "the head of the file promises {promised} entries, and {records} follow\n\
                     hint: the file may have been cut off"
                ),
            ));
        }
        Ok(())
    }

    /// Fails if a transaction has assigned ids to vertices since the import began.
    fn check_first_new(&self, names: Option<&Arc<Names>>) -> Result<()> {
        if let (Some(names), Some(dictionary)) = (names, self.graph.dictionary()) {
            // Transactions assign ids at their commit without this lock.
            if dictionary.stored.free_id(&*self.store, names.first_new())? != names.first_new() {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    "a transaction named new vertices while the import ran; run the import again",
                ));
            }
        }
        Ok(())
    }

    fn write(
        &self,
        reporter: &Reporter<'_>,
        collector: &Arc<RowCollector>,
        target: &Target,
        names: Option<&Arc<Names>>,
    ) -> Result<ImportReport> {
        let collected = collector.collect();
        self.check_collected(reporter, &collected)?;
        let Collected {
            forward,
            reverse_runs,
            skipped,
            skipped_count,
            spilled_bytes,
            repeated,
            ..
        } = collected;
        let rows = reporter.counters.rows_read.load(Ordering::Relaxed);
        let mut report = ImportReport {
            rows,
            skipped: skipped_count,
            skipped_lines: skipped,
            missing: collected.missing_count,
            detected: reporter.counters.detected.lock().clone(),
            notes: reporter.counters.notes.lock().clone(),
            bytes_read: reporter.counters.bytes_read.load(Ordering::Relaxed),
            bytes_written: spilled_bytes,
            ..ImportReport::default()
        };
        if rows == 0 {
            for phase in [Phase::Forward, Phase::Reverse, Phase::Commit] {
                reporter.tell(phase)?;
            }
            report.seconds = reporter.seconds();
            return Ok(report);
        }
        let bulk = self.store.begin_bulk()?;
        let (job, counters) = (target.clone(), Arc::clone(&reporter.counters));
        let Forward { bulk, written, pieces, repeated: more, existing } =
            reporter.run(Phase::Forward, move |env| job.forward(env, bulk, forward, &counters))?;
        report.edges = written.rows;
        report.duplicates = repeated + more + existing;
        report.bytes_written += written.bytes;
        let reverse = Unscattered { runs: reverse_runs, ..pieces };
        let (job, counters, texts) =
            (target.clone(), Arc::clone(&reporter.counters), names.cloned());
        let (bulk, bytes) = reporter.run(Phase::Reverse, move |env| {
            job.reverse(env, bulk, reverse, texts.as_ref(), &counters)
        })?;
        report.bytes_written += bytes;
        reporter.tell(Phase::Commit)?;
        self.check_first_new(names)?;
        bulk.commit()?;
        report.seconds = reporter.seconds();
        Ok(report)
    }
}

/// Returns the memory of an import to the operating system when it ends, even by an error.
struct Released<'a>(&'a Arc<dyn Env>);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.release_memory();
    }
}

/// The result of writing the first direction.
struct Forward {
    bulk: Box<dyn BulkLoad>,
    written: BulkWritten,
    /// Rows in memory, with the spans of the other direction; its runs are not set yet.
    pieces: Unscattered,
    repeated: u64,
    existing: u64,
}

impl Target {
    fn forward(
        &self,
        env: &Arc<dyn Env>,
        mut bulk: Box<dyn BulkLoad>,
        rows: Unscattered,
        counters: &Arc<Counters>,
    ) -> Result<Forward> {
        let ([first, second], bucket_rows) = (rows.spans, rows.bucket_rows);
        let weighted = rows.weighted;
        let direction = Arc::new(Direction::new(&**env, rows, false, counters)?);
        let existing = Arc::new(AtomicU64::new(0));
        let parts = direction.parts(PARTS_A_WORKER * env.parallelism(), PART_ROWS_MIN);
        let rows = counters.rows_read.load(Ordering::Relaxed);
        let partitions = parts.into_iter().map(|buckets| {
            let existing = (self.edges > 0).then(|| Existing {
                snapshot: Arc::clone(&self.snapshot),
                keyspace: self.forward,
                shape: self.edge_shape.clone(),
                look_up: rows < self.edges / LOOK_UP_SHARE,
                scan: None,
                found: Arc::clone(&existing),
            });
            Partition::boxed(&direction, buckets, existing)
        });
        let written = bulk.write(self.forward, partitions.collect())?;
        let repeated = direction.repeated.load(Ordering::Relaxed);
        let pieces = Arc::into_inner(direction).map(Direction::into_pieces).ok_or_else(|| {
            Error::new(ErrorKind::Io, "the store keeps partitions that it has written")
        })?;
        let spans = [second, first];
        let pieces = Unscattered { runs: Vec::new(), pieces, spans, weighted, bucket_rows };
        let existing = existing.load(Ordering::Relaxed);
        Ok(Forward { bulk, written, pieces, repeated, existing })
    }

    /// Writes the second direction and the dictionary. Returns the bytes written.
    fn reverse(
        &self,
        env: &Arc<dyn Env>,
        mut bulk: Box<dyn BulkLoad>,
        rows: Unscattered,
        names: Option<&Arc<Names>>,
        counters: &Arc<Counters>,
    ) -> Result<(Box<dyn BulkLoad>, u64)> {
        let direction = Arc::new(Direction::new(&**env, rows, true, counters)?);
        let parts = PARTS_A_WORKER * env.parallelism();
        let ranges = direction.parts(parts, PART_ROWS_MIN);
        let partitions =
            ranges.into_iter().map(|b| Partition::boxed(&direction, b, None)).collect();
        let mut bytes = bulk.write(self.reverse, partitions)?.bytes;
        drop(direction);
        if let (Some(names), Some(keyspaces)) = (names, self.dictionary) {
            for (keyspace, partitions) in keyspaces.into_iter().zip(names.partitions(parts)?) {
                counters.check()?;
                if !partitions.is_empty() {
                    bytes += bulk.write(keyspace, partitions)?.bytes;
                }
            }
        }
        counters.check()?;
        Ok((bulk, bytes))
    }
}

/// Consecutive buckets of a direction, sorted on demand.
struct Partition {
    direction: Arc<Direction>,
    buckets: Range<usize>,
    sorter: Sorter,
    existing: Option<Existing>,
}

impl Partition {
    fn boxed(
        direction: &Arc<Direction>,
        buckets: Range<usize>,
        existing: Option<Existing>,
    ) -> Box<dyn SortedRows> {
        let (direction, sorter) = (Arc::clone(direction), Sorter::default());
        Box::new(Self { direction, buckets, sorter, existing })
    }
}

impl SortedRows for Partition {
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool> {
        let before = out.rows;
        // The sorter fills the weights; all other properties are null.
        let weights = usize::from(self.direction.weighted).min(out.values.len());
        let properties = out.values.split_off(weights);
        while out.rows == before {
            self.direction.counters.check()?;
            let Some(bucket) = self.buckets.next() else { break };
            self.sorter.sort(&self.direction, bucket, out)?;
        }
        for mut column in properties {
            fill_nulls(&mut column, out.rows);
            out.values.push(column);
        }
        if out.rows == before {
            return Ok(false);
        }
        if let Some(existing) = &mut self.existing {
            existing.count(out, before)?;
        }
        Ok(true)
    }
}

/// Counts imported rows that existed before.
struct Existing {
    snapshot: Arc<dyn Snapshot>,
    keyspace: KeyspaceId,
    shape: base::Shape,
    look_up: bool,
    /// The stored rows from about the last counted one on.
    scan: Option<Stored>,
    found: Arc<AtomicU64>,
}

struct Stored {
    scan: Box<dyn Scan>,
    rows: Batch,
    at: usize,
    ended: bool,
}

impl Existing {
    /// Counts the rows of `out` from `from` on; they follow those counted before.
    fn count(&mut self, out: &Batch, from: usize) -> Result<()> {
        let (first, second) = (&out.key_words(0)[from..], &out.key_words(1)[from..]);
        let found = if self.look_up {
            let mut present = Vec::with_capacity(first.len());
            let keys = Keys::Words(vec![first.to_vec(), second.to_vec()]);
            let mut rows = Batch::new(&self.shape);
            self.snapshot.get_many(
                self.keyspace,
                &keys,
                Projection::COUNT,
                &mut present,
                &mut rows,
            )?;
            present.iter().filter(|present| **present).count() as u64
        } else {
            self.merge(first, second)?
        };
        self.found.fetch_add(found, Ordering::Relaxed);
        Ok(())
    }

    fn merge(&mut self, first: &[u64], second: &[u64]) -> Result<u64> {
        if self.scan.is_none() {
            let lower = Key::words(&[first[0], second[0]]);
            let range = KeyRange { lower, upper: None };
            let scan = self.snapshot.scan(self.keyspace, range, Projection::KEYS)?;
            let rows = Batch::new(&self.shape);
            self.scan = Some(Stored { scan, rows, at: 0, ended: false });
        }
        let Some(stored) = &mut self.scan else { return Ok(0) };
        let mut found = 0;
        for (&a, &b) in first.iter().zip(second) {
            match stored.seek((a, b))? {
                Some(pair) => found += u64::from(pair == (a, b)),
                None => break,
            }
        }
        Ok(found)
    }
}

/// Stored rows read in one batch.
const SCAN_ROWS: usize = 16 << 10;

impl Stored {
    /// The first stored row at or after `pair`; `None` if there is none.
    fn seek(&mut self, pair: (u64, u64)) -> Result<Option<(u64, u64)>> {
        loop {
            let (first, second) = (self.rows.key_words(0), self.rows.key_words(1));
            while let (Some(&a), Some(&b)) = (first.get(self.at), second.get(self.at)) {
                if (a, b) >= pair {
                    return Ok(Some((a, b)));
                }
                self.at += 1;
            }
            if self.ended {
                return Ok(None);
            }
            self.rows.clear();
            self.at = 0;
            self.ended = !self.scan.next_batch(SCAN_ROWS, &mut self.rows)?;
        }
    }
}
