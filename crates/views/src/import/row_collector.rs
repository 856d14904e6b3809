//! Parses the pieces of an import's input on all workers, and collects their rows in memory.
//!
//! `run.rs` creates the collector, has it read everything, and takes the rows by
//! [`RowCollector::collect`]. Rows that exceed the memory limit are spilled as two sorted runs, by
//! source and by target; those with provisional ids of names as one, which is rewritten with final
//! ids at the end (`final_ids.rs`).
//!
//! # Invariants
//! 1. Rows are ordered by the number of their piece, then of their chunk: the order of the input,
//!    whatever worker parsed them.
//! 2. If several pieces fail, the error of the first in the input is reported.

use super::feed::{Buffers, Feed, LocalFeed, Piece};
use super::final_ids::IdsOfRun;
use super::names::{Distinct, Names};
use super::progress::Counters;
use super::rows::{Rows, Span, WeightWords, weight_words};
use super::sorter::{Direction, RunRows, Sorter, Unscattered};
use super::spill::{Blocks, RunFile, RunWriter};
use crate::graph::order_ends;
use base::Batch;
use env::Env;
use env::sync::Mutex;
use ingest::{EdgeChunk, InputError};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use store::{Error, ErrorKind, Result};

/// Maximum number of errors of skipped rows in a report.
const SKIPPED_KEPT_MAX: usize = 10;

/// Collects rows from workers.
pub(super) struct RowCollector {
    pub(super) counters: Arc<Counters>,
    pub(super) names: Option<Arc<Names>>,
    /// Maximum memory in bytes for rows and for the dictionary of string vertices.
    pub(super) rows_bytes_max: u64,
    pub(super) bucket_rows: u64,
    pub(super) spill_folder: Option<PathBuf>,
    pub(super) edge_shape: base::Shape,
    /// Whether edges are stored with their smaller end first.
    is_undirected: bool,
    held: Mutex<Held>,
}

/// Sources or targets of edges.
type Ends<'a> = Cow<'a, [u64]>;

/// Rows and errors so far.
struct Held {
    /// Rows with the number of their piece, and of the chunk in it.
    rows: Vec<((u64, usize), Rows)>,
    bytes: u64,
    /// Smallest and largest word of the sources, and of the targets.
    spans: [Span; 2],
    /// Errors of skipped rows, with the number of their piece.
    skipped: Vec<(u64, InputError)>,
    skipped_count: u64,
    /// Edges without a weight, as `skipped`.
    missing: Vec<(u64, InputError)>,
    missing_count: u64,
    /// Values that are no vertices, as `skipped`.
    unfit: Vec<(u64, InputError)>,
    unfit_count: u64,
    /// The error of the first piece that failed.
    failed: Option<(u64, Error)>,
    /// Sorted runs, oldest first: by source and by target.
    runs: [Vec<Arc<RunFile>>; 2],
    /// Runs by source with provisional ids of string vertices, oldest first, each with the number
    /// of the run of names that its ids are from.
    provisional: Vec<(usize, RunFile)>,
    spilled_bytes: u64,
    /// Rows dropped because their pair occurs again within a run.
    repeated: u64,
}

/// Everything that was read.
pub(super) struct Collected {
    pub(super) forward: Unscattered,
    pub(super) reverse_runs: Vec<Arc<RunFile>>,
    pub(super) skipped: Vec<InputError>,
    pub(super) skipped_count: u64,
    pub(super) missing: Vec<InputError>,
    pub(super) missing_count: u64,
    pub(super) unfit: Vec<InputError>,
    pub(super) unfit_count: u64,
    pub(super) spilled_bytes: u64,
    pub(super) repeated: u64,
}

impl RowCollector {
    pub(super) fn new(
        counters: &Arc<Counters>,
        names: Option<Arc<Names>>,
        limits: (u64, u64),
        spill_folder: Option<PathBuf>,
        edge_shape: base::Shape,
        is_undirected: bool,
    ) -> Self {
        Self {
            counters: Arc::clone(counters),
            names,
            rows_bytes_max: limits.0,
            bucket_rows: limits.1,
            spill_folder,
            edge_shape,
            is_undirected,
            held: Mutex::new(Held {
                rows: Vec::new(),
                bytes: 0,
                spans: [Span::EMPTY; 2],
                skipped: Vec::new(),
                skipped_count: 0,
                missing: Vec::new(),
                missing_count: 0,
                unfit: Vec::new(),
                unfit_count: 0,
                failed: None,
                runs: [Vec::new(), Vec::new()],
                provisional: Vec::new(),
                spilled_bytes: 0,
                repeated: 0,
            }),
        }
    }

    fn weighted(&self) -> bool {
        !self.edge_shape.values.is_empty()
    }

    /// Reads all input of the feed and parses it on all workers.
    pub(super) fn read_all(self: &Arc<Self>, env: &Arc<dyn Env>, feed: Feed) -> Result<()> {
        let feed = Arc::new(Mutex::new(Some(feed)));
        loop {
            let (collector, shared) = (Arc::clone(self), Arc::clone(&feed));
            let workers = vec![(); env.parallelism()];
            env::parallel(&**env, workers, move |()| collector.work(&shared));
            self.first_failure()?;
            if feed.lock().is_none() {
                return Ok(());
            }
            self.spill(env)?;
        }
    }

    /// Parses pieces until the feed ends, memory is full, or an error occurs.
    fn work(&self, feed: &Mutex<Option<Feed>>) {
        let mut buffers = Buffers::default();
        loop {
            let text = std::mem::take(&mut buffers.text);
            let mut open = feed.lock();
            let Some(pieces) = open.as_mut() else { return };
            if self.is_full() || self.held.lock().failed.is_some() {
                return;
            }
            match self.counters.check().and_then(|()| pieces.next(text)) {
                Ok(Some(piece)) => {
                    drop(open);
                    self.take(piece, &mut buffers);
                }
                Ok(None) => {
                    *open = None;
                    return;
                }
                Err(error) => {
                    // Ranks after the pieces read so far: an error in one of them is earlier in the
                    // input.
                    return self.fail(u64::MAX, error);
                }
            }
        }
    }

    /// Reads a feed of the calling thread, in groups of pieces that are parsed in parallel. Calls
    /// `tell`, which reports progress, between groups, and `spill` when the memory is full.
    pub(super) fn read_local(
        self: &Arc<Self>,
        env: &Arc<dyn Env>,
        feed: &mut dyn LocalFeed,
        tell: &dyn Fn() -> Result<()>,
        spill: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        loop {
            tell()?;
            let mut group = Vec::new();
            while group.len() < env.parallelism() {
                match feed.next(&self.counters)? {
                    Some(piece) => group.push(piece),
                    None => break,
                }
            }
            if group.is_empty() {
                return Ok(());
            }
            let collector = Arc::clone(self);
            env::parallel(&**env, group, move |piece| {
                collector.take(piece, &mut Buffers::default())
            });
            self.first_failure()?;
            if self.is_full() {
                spill()?;
            }
        }
    }

    fn first_failure(&self) -> Result<()> {
        self.held.lock().failed.take().map_or(Ok(()), |(_, error)| Err(error))
    }

    fn fail(&self, piece: u64, error: Error) {
        let mut held = self.held.lock();
        if held.failed.as_ref().is_none_or(|(first, _)| piece < *first) {
            held.failed = Some((piece, error));
        }
        drop(held);
        if let Some(names) = &self.names {
            names.fail(piece);
        }
    }

    fn is_full(&self) -> bool {
        let held = self.held.lock().bytes;
        let Some(names) = &self.names else { return held > self.rows_bytes_max };
        held > 0 && held + names.bytes() > self.rows_bytes_max || names.is_full()
    }

    /// Parses a piece and keeps its rows.
    fn take(&self, piece: Piece, buffers: &mut Buffers) {
        let number = piece.number;
        let result = match &self.names {
            None => self.take_words(piece, buffers),
            Some(names) => self.take_texts(piece, names, buffers),
        };
        if let Err(error) = result {
            self.fail(number, error);
        }
    }

    fn take_words(&self, piece: Piece, buffers: &mut Buffers) -> Result<()> {
        let number = piece.number;
        let mut chunk = 0;
        piece.parse(buffers, &mut |edges| {
            self.skip(number, edges);
            let (src, dst) = ((&edges.src).into(), (&edges.dst).into());
            self.keep((number, chunk), src, dst, weight_words(edges));
            chunk += 1;
            self.counters.check()
        })
    }

    fn take_texts(&self, piece: Piece, names: &Arc<Names>, buffers: &mut Buffers) -> Result<()> {
        let number = piece.number;
        let (mut distinct, mut weights) = (Vec::new(), Vec::new());
        piece.parse(buffers, &mut |edges| {
            self.skip(number, edges);
            distinct.push(Distinct::of(edges, names));
            weights.push(weight_words(edges));
            self.counters.check()
        })?;
        let ids = names.assign(number, &distinct)?;
        for (chunk, ((distinct, ids), weights)) in
            distinct.iter().zip(&ids).zip(weights).enumerate()
        {
            let (src, dst) = distinct.words(ids);
            self.keep((number, chunk), src.into(), dst.into(), weights);
        }
        Ok(())
    }

    fn keep(&self, at: (u64, usize), src: Ends<'_>, dst: Ends<'_>, weights: WeightWords) {
        if src.is_empty() {
            return;
        }
        Counters::add(&self.counters.rows_read, src.len() as u64);
        self.hold(at, src, dst, weights);
    }

    fn hold(&self, at: (u64, usize), mut src: Ends<'_>, mut dst: Ends<'_>, weights: WeightWords) {
        // Provisional ids may order two ends otherwise than final ones, with which rows are held
        // again.
        if self.is_undirected && src.iter().zip(&*dst).any(|(u, v)| v < u) {
            order_ends(src.to_mut(), dst.to_mut());
        }
        let (rows, [first, second]) = Rows::pack(&src, &dst, weights);
        let mut held = self.held.lock();
        held.bytes += rows.bytes();
        held.spans = [held.spans[0].union(first), held.spans[1].union(second)];
        held.rows.push((at, rows));
    }

    /// Counts records that became no rows: skipped ones, and those without a weight or a vertex.
    fn skip(&self, piece: u64, edges: &EdgeChunk) {
        if edges.records > 0 {
            Counters::add(&self.counters.records, edges.records);
        }
        if edges.skipped_count + edges.missing_count + edges.unfit_count == 0 {
            return;
        }
        let mut held = self.held.lock();
        held.skipped_count += edges.skipped_count;
        held.missing_count += edges.missing_count;
        held.unfit_count += edges.unfit_count;
        keep_first(&mut held.skipped, piece, &edges.skipped);
        keep_first(&mut held.missing, piece, &edges.missing);
        keep_first(&mut held.unfit, piece, &edges.unfit);
    }

    /// Writes the rows in memory as two sorted runs, by source and by target; then the names, if
    /// they take too much memory.
    pub(super) fn spill(&self, env: &Arc<dyn Env>) -> Result<()> {
        let folder = self.spill_folder()?;
        match self.names.as_ref().map_or(0, |names| names.runs()) {
            0 => self.spill_rows(env)?,
            run => self.spill_provisional(env, run)?,
        }
        if let Some(names) = self.names.as_ref().filter(|names| names.is_full()) {
            self.held.lock().spilled_bytes += names.spill(env, folder, &self.counters)?;
        }
        // The next allocations have other sizes and cannot reuse the freed blocks. Without this
        // call both would be resident.
        env.release_memory();
        Ok(())
    }

    fn spill_folder(&self) -> Result<&PathBuf> {
        self.spill_folder.as_ref().ok_or_else(|| {
            let rows = self.counters.rows_read.load(Ordering::Relaxed);
            Error::new(
                ErrorKind::Limit,
                format!(
                    "{rows} rows fill the memory of this import ({} MiB), and the input goes on\n\
                     hint: raise memory_limit, or give a folder to spill to",
                    self.rows_bytes_max >> 20
                ),
            )
        })
    }

    /// Writes the rows in memory as two sorted runs, by source and by target.
    fn spill_rows(&self, env: &Arc<dyn Env>) -> Result<()> {
        let (mut pieces, [first, second]) = self.take_rows();
        for (flip, spans) in [(false, [first, second]), (true, [second, first])] {
            let (run, rest) = self.write_run(env, self.unscattered(pieces, spans), flip)?;
            pieces = rest;
            self.held.lock().runs[usize::from(flip)].push(Arc::new(run));
        }
        Ok(())
    }

    /// Writes the rows in memory, whose ids are from a run of names, as a run by source.
    fn spill_provisional(&self, env: &Arc<dyn Env>, names: usize) -> Result<()> {
        let (pieces, spans) = self.take_rows();
        if pieces.is_empty() {
            return Ok(());
        }
        let (run, _) = self.write_run(env, self.unscattered(pieces, spans), false)?;
        self.held.lock().provisional.push((names, run));
        Ok(())
    }

    fn take_rows(&self) -> (Vec<Rows>, [Span; 2]) {
        let mut held = self.held.lock();
        held.bytes = 0;
        (in_order(std::mem::take(&mut held.rows)), held.spans)
    }

    /// Writes rows as a sorted run, and returns them.
    fn write_run(
        &self,
        env: &Arc<dyn Env>,
        from: Unscattered,
        flip: bool,
    ) -> Result<(RunFile, Vec<Rows>)> {
        let direction = Arc::new(Direction::new(&**env, from, flip, &self.counters)?);
        let mut writer = RunWriter::create(env, self.spill_folder()?)?;
        let buckets = direction.splitters.buckets();
        // The size of a wave bounds the memory of encoded blocks.
        let wave = 2 * env.parallelism();
        for start in (0..buckets).step_by(wave) {
            // Each item has its own handle, which is dropped when the item is done. A worker may
            // keep the closure a little longer, but the rows are needed back now.
            let item = |bucket| (Arc::clone(&direction), bucket);
            let items = (start..(start + wave).min(buckets)).map(item).collect();
            let shape = self.edge_shape.clone();
            let encoded = env::parallel(&**env, items, move |(direction, bucket)| {
                direction.counters.check()?;
                let (mut rows, mut blocks) = (Batch::new(&shape), Blocks::default());
                Sorter::default().sort(&direction, bucket, &mut rows)?;
                blocks.add(&rows);
                Ok::<_, Error>(blocks)
            });
            for blocks in encoded {
                writer.append(&blocks?)?;
            }
        }
        let run = writer.finish()?;
        let mut held = self.held.lock();
        held.spilled_bytes += run.bytes;
        if !flip {
            held.repeated += direction.repeated.load(Ordering::Relaxed);
        }
        drop(held);
        let Some(direction) = Arc::into_inner(direction) else {
            unreachable!("the items that shared the rows are done")
        };
        Ok((run, direction.into_pieces()))
    }

    /// Replaces provisional ids of string vertices by the final ones, when all input is read and
    /// names were spilled.
    pub(super) fn make_ids_final(&self, env: &Arc<dyn Env>) -> Result<()> {
        let Some(names) = &self.names else { return Ok(()) };
        let folder = self.spill_folder()?;
        self.spill_provisional(env, names.runs())?;
        let written = names.spill(env, folder, &self.counters)?;
        let ids = names.merge_runs(env, folder, &self.counters)?;
        env.release_memory();
        let mut held = self.held.lock();
        held.spilled_bytes += written;
        let provisional = std::mem::take(&mut held.provisional);
        drop(held);
        let (mut of_run, mut piece) = (None, 0);
        for (names, run) in provisional {
            let ids = match of_run.take() {
                Some((before, ids)) if before == names => ids,
                _ => ids.of_run(names, &self.counters)?,
            };
            self.rewrite(env, &run, &ids, &mut piece)?;
            of_run = Some((names, ids));
        }
        Ok(())
    }

    /// Keeps the rows of a run with their final ids.
    fn rewrite(
        &self,
        env: &Arc<dyn Env>,
        run: &RunFile,
        ids: &IdsOfRun,
        piece: &mut u64,
    ) -> Result<()> {
        let (mut rows, mut next_block) = (RunRows::default(), 0);
        while let Some(next) = run.read_from(next_block, self.weighted(), &mut rows)? {
            self.counters.check()?;
            next_block = next;
            let ends = rows.pairs.iter().map(|&(src, dst)| (ids.final_id(src), ids.final_id(dst)));
            let (src, dst): (Vec<u64>, Vec<u64>) = ends.unzip();
            let weights = match self.weighted() {
                true => WeightWords::Words(std::mem::take(&mut rows.weights)),
                false => WeightWords::None,
            };
            rows.pairs.clear();
            self.hold((*piece, 0), src.into(), dst.into(), weights);
            *piece += 1;
            if self.held.lock().bytes + ids.bytes() > self.rows_bytes_max {
                self.spill_rows(env)?;
            }
        }
        Ok(())
    }

    fn unscattered(&self, pieces: Vec<Rows>, spans: [Span; 2]) -> Unscattered {
        let bucket_rows = self.bucket_rows;
        Unscattered { runs: Vec::new(), pieces, spans, weighted: self.weighted(), bucket_rows }
    }

    /// Takes everything that was read.
    pub(super) fn collect(&self) -> Collected {
        let mut held = self.held.lock();
        let pieces = in_order(std::mem::take(&mut held.rows));
        let [runs, reverse_runs] = std::mem::take(&mut held.runs);
        let forward = Unscattered { runs, ..self.unscattered(pieces, held.spans) };
        let skipped = held.skipped.drain(..).map(|(_, error)| error).collect();
        let missing = held.missing.drain(..).map(|(_, error)| error).collect();
        let unfit = held.unfit.drain(..).map(|(_, error)| error).collect();
        Collected {
            forward,
            reverse_runs,
            skipped,
            skipped_count: held.skipped_count,
            missing,
            missing_count: held.missing_count,
            unfit,
            unfit_count: held.unfit_count,
            spilled_bytes: held.spilled_bytes,
            repeated: held.repeated,
        }
    }
}

/// Adds errors of a piece, and keeps the first of all.
fn keep_first(kept: &mut Vec<(u64, InputError)>, piece: u64, more: &[InputError]) {
    kept.extend(more.iter().map(|error| (piece, error.clone())));
    // The sort is stable, so errors of one piece stay in their order.
    kept.sort_by_key(|(piece, _)| *piece);
    kept.truncate(SKIPPED_KEPT_MAX);
}

fn in_order(mut rows: Vec<((u64, usize), Rows)>) -> Vec<Rows> {
    rows.sort_unstable_by_key(|(at, _)| *at);
    rows.into_iter().map(|(_, rows)| rows).collect()
}
