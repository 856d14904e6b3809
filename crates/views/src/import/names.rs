//! String vertices of an import: assigns ids to strings, and writes the new rows of the dictionary.
//!
//! # Why turns
//! New strings get ids in order of first appearance, so the step that assigns ids takes the pieces
//! in input order. Before its turn a worker reduces its piece to distinct strings with their
//! hashes. After it, the rest is a table lookup. Both run in parallel with other workers.
//!
//! # Invariants
//! 1. The caller holds the graph's dictionary lock from the first turn to the commit.
//! 2. A worker that waits for its turn waits only for workers with earlier pieces.
//! 3. Names are spilled while no worker has a piece. Ids assigned since are provisional until
//!    [`Names::merge_runs`].

use super::final_ids::FinalIds;
use super::name_runs::{NameRun, NameRunWriter};
use super::progress::Counters;
use crate::graph::{ABSENT, Dictionary};
use base::{Batch, BytesColumn, Column, Keys, KeyspaceId, Projection, WordColumn};
use env::sync::RwLock;
use env::{Env, Signal};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use ingest::{EdgeChunk, StrColumn};
use std::hash::BuildHasher;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use store::{Error, ErrorKind, Result, Snapshot, SortedRows};

/// Rows returned in one batch.
pub(super) const STEP_ROWS: usize = 8 << 10;

/// Strings of an import, and their ids.
pub(super) struct Names {
    hasher: RandomState,
    state: RwLock<State>,
    turn: Arc<dyn Signal>,
    /// Snapshot for looking up strings that are new to this import; `None` if the dictionary is
    /// empty.
    known: Option<Arc<dyn Snapshot>>,
    ids: KeyspaceId,
    limit_bytes: u64,
    /// Whether names may be spilled.
    spills: bool,
}

struct State {
    /// Number of the piece whose turn it is.
    next_piece: u64,
    /// The first piece that failed; later ones get no turn.
    failed: Option<u64>,
    texts: Interner,
    first_new: u64,
    next_id: u64,
    /// Names that were spilled, oldest first.
    runs: Vec<Arc<NameRun>>,
    /// Set once all names are spilled and merged.
    final_ids: Option<Arc<FinalIds>>,
}

/// Distinct strings in order of first appearance.
#[derive(Default)]
struct Interner {
    heap: Vec<u8>,
    entries: Vec<Entry>,
    table: HashTable<u32>,
}

/// Everything that a lookup needs besides the string, in one place to save cache misses.
#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    bytes: u32,
    /// Upper half of the hash. It rules out nearly all wrong candidates without reading their
    /// strings, and lets the table grow without hashing again.
    hash: u32,
    id: u64,
}

/// The distinct strings of some rows.
pub(super) struct Distinct {
    texts: StrColumn,
    hashes: Vec<u64>,
    /// Index into `texts` for each source.
    src: Vec<u32>,
    dst: Vec<u32>,
}

impl Interner {
    fn get(&self, i: usize) -> &[u8] {
        let entry = &self.entries[i];
        &self.heap[entry.start as usize..entry.start as usize + entry.bytes as usize]
    }

    fn find(&self, text: &[u8], hash: u64) -> Option<u64> {
        let tag = (hash >> 32) as u32;
        let same = |&i: &u32| self.entries[i as usize].hash == tag && self.get(i as usize) == text;
        let found = self.table.find(table_hash(tag), same)?;
        Some(self.entries[*found as usize].id)
    }

    fn insert(&mut self, text: &[u8], hash: u64, id: u64) {
        let tag = (hash >> 32) as u32;
        let index = self.entries.len() as u32;
        let (start, bytes) = (self.heap.len() as u64, text.len() as u32);
        self.heap.extend_from_slice(text);
        self.entries.push(Entry { start, bytes, hash: tag, id });
        let entries = &self.entries;
        self.table.insert_unique(table_hash(tag), index, |&i| table_hash(entries[i as usize].hash));
    }

    fn bytes(&self) -> u64 {
        let entries = size_of::<Entry>() * self.entries.capacity();
        (self.heap.capacity() + entries + self.table.allocation_size()) as u64
    }

    /// Memory in bytes after a few thousand more strings: a part that is nearly full doubles.
    fn bytes_soon(&self) -> u64 {
        let grown = |len: usize, capacity: usize, bytes: usize| {
            if len >= capacity - capacity / 8 { 2 * bytes } else { bytes }
        };
        let (names, heap) = (self.entries.len(), self.heap.capacity());
        let entries = self.entries.capacity();
        let parts = grown(self.heap.len(), heap, heap)
            + grown(names, entries, size_of::<Entry>() * entries)
            + grown(names, self.table.capacity(), self.table.allocation_size());
        parts as u64
    }

    /// Indexes of the strings with ids from `first_id` on, by string.
    fn sorted(&self, first_id: u64) -> Vec<u32> {
        let new = (0..).zip(&self.entries).filter(|(_, entry)| entry.id >= first_id);
        self.sorted_by_text(new.map(|(i, _)| i))
    }

    fn sorted_by_text(&self, indexes: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut keyed: Vec<(u64, u32)> =
            indexes.map(|i| (prefix(self.get(i as usize)), i)).collect();
        keyed.sort_unstable_by(|a, b| {
            let text = |i: u32| self.get(i as usize);
            a.0.cmp(&b.0).then_with(|| text(a.1).cmp(text(b.1)))
        });
        keyed.into_iter().map(|(_, i)| i).collect()
    }
}

/// A hash for the table, which takes the position from the low bits and the tag from the high ones.
fn table_hash(tag: u32) -> u64 {
    u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Distinct {
    /// Collects the distinct strings of the rows.
    pub(super) fn of(rows: &EdgeChunk, names: &Names) -> Self {
        let edges = rows.src_str.len();
        let mut distinct = Self {
            texts: StrColumn::default(),
            hashes: Vec::new(),
            src: Vec::with_capacity(edges),
            dst: Vec::with_capacity(edges),
        };
        let mut table: HashTable<u32> = HashTable::with_capacity(edges);
        for (src, dst) in rows.src_str.iter().zip(rows.dst_str.iter()) {
            let index = distinct.index(src, &mut table, &names.hasher);
            distinct.src.push(index);
            let index = distinct.index(dst, &mut table, &names.hasher);
            distinct.dst.push(index);
        }
        distinct
    }

    fn index(&mut self, text: &str, table: &mut HashTable<u32>, hasher: &RandomState) -> u32 {
        let hash = hasher.hash_one(text.as_bytes());
        let (texts, hashes) = (&mut self.texts, &mut self.hashes);
        // Comparing hashes first ends most comparisons with wrong candidates early.
        let same = |&i: &u32| hashes[i as usize] == hash && texts.get(i as usize) == Some(text);
        if let Some(found) = table.find(hash, same) {
            return *found;
        }
        let index = hashes.len() as u32;
        texts.push(text);
        hashes.push(hash);
        table.insert_unique(hash, index, |&i| hashes[i as usize]);
        index
    }

    /// The words of sources and targets, from the ids of the distinct strings.
    pub(super) fn words(&self, ids: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let words = |ends: &[u32]| ends.iter().map(|&i| ids[i as usize]).collect();
        (words(&self.src), words(&self.dst))
    }
}

impl Names {
    /// `from` is the lower bound of free ids that the dictionary's lock guards. If more than
    /// `limit_bytes` of memory is needed, names are spilled, or an error without `spills`.
    pub(super) fn new(
        env: &dyn Env,
        snapshot: &Arc<dyn Snapshot>,
        dictionary: &Dictionary,
        from: u64,
        limit_bytes: u64,
        spills: bool,
    ) -> Result<Self> {
        let known = snapshot.count(dictionary.stored.ids)? > 0;
        let next_id = dictionary.stored.free_id(&**snapshot, from)?;
        let texts = Interner::default();
        let state = State {
            next_piece: 0,
            failed: None,
            texts,
            first_new: next_id,
            next_id,
            runs: Vec::new(),
            final_ids: None,
        };
        Ok(Self {
            hasher: RandomState::default(),
            state: RwLock::new(state),
            turn: env.signal(),
            known: known.then(|| Arc::clone(snapshot)),
            ids: dictionary.stored.ids,
            limit_bytes,
            spills,
        })
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.state.read().texts.bytes()
    }

    /// Whether names must be spilled before more are read.
    pub(super) fn is_full(&self) -> bool {
        self.spills && self.state.read().texts.bytes_soon() > self.limit_bytes
    }

    /// Number of times that names were spilled.
    pub(super) fn runs(&self) -> usize {
        self.state.read().runs.len()
    }

    /// Writes all names in memory as a sorted run. Returns its length in bytes.
    ///
    /// # Errors
    /// A failed write; cancellation.
    pub(super) fn spill(
        &self,
        env: &Arc<dyn Env>,
        folder: &Path,
        counters: &Counters,
    ) -> Result<u64> {
        let mut state = self.state.write();
        let texts = std::mem::take(&mut state.texts);
        let first_id = state.runs.last().map_or(state.first_new, |run| run.first_id + run.names);
        let mut writer = NameRunWriter::create(env, folder, first_id)?;
        for step in texts.sorted(first_id).chunks(STEP_ROWS) {
            counters.check()?;
            for &i in step {
                let entry = texts.entries[i as usize];
                writer.push(texts.get(i as usize), entry.id - first_id)?;
            }
        }
        let run = writer.finish()?;
        let bytes = run.bytes();
        state.runs.push(Arc::new(run));
        Ok(bytes)
    }

    /// Makes the ids of spilled names final. All names must be spilled.
    ///
    /// # Errors
    /// Those of [`FinalIds::merge`].
    pub(super) fn merge_runs(
        &self,
        env: &Arc<dyn Env>,
        folder: &Path,
        counters: &Counters,
    ) -> Result<Arc<FinalIds>> {
        let runs = self.state.read().runs.clone();
        let ids = Arc::new(FinalIds::merge(env, folder, &runs, counters)?);
        let mut state = self.state.write();
        state.next_id = ids.next_id;
        state.final_ids = Some(Arc::clone(&ids));
        Ok(ids)
    }

    /// The next free id after the import.
    pub(super) fn next_id(&self) -> u64 {
        self.state.read().next_id
    }

    /// The first id that this import assigns.
    pub(super) fn first_new(&self) -> u64 {
        self.state.read().first_new
    }

    /// Waits for the piece's turn and returns an id for each of its strings. Each piece has exactly
    /// one turn, which ends here or in [`Names::fail`].
    pub(super) fn assign(&self, piece: u64, distinct: &[Distinct]) -> Result<Vec<Vec<u64>>> {
        // Most strings of a later piece are known from earlier ones. They are looked up before the
        // turn, in parallel with other workers; an id never changes.
        let mut ids: Vec<Vec<u64>> = distinct.iter().map(|distinct| self.known(distinct)).collect();
        let mut turn = false;
        self.turn.wait_until(&mut || {
            let state = self.state.read();
            turn = state.next_piece == piece;
            turn || state.failed.is_some_and(|failed| failed < piece)
        });
        if !turn {
            return Err(Error::new(ErrorKind::Cancelled, "an earlier piece of the input failed"));
        }
        let mut state = self.state.write();
        let assigned = distinct
            .iter()
            .zip(&mut ids)
            .try_for_each(|(distinct, ids)| self.intern(&mut state, distinct, ids));
        state.next_piece += 1;
        drop(state);
        self.turn.notify();
        assigned.map(|()| ids)
    }

    /// The ids of known strings; [`ABSENT`] for others.
    fn known(&self, distinct: &Distinct) -> Vec<u64> {
        let state = self.state.read();
        let texts = distinct.texts.iter().zip(&distinct.hashes);
        texts
            .map(|(text, &hash)| state.texts.find(text.as_bytes(), hash).unwrap_or(ABSENT))
            .collect()
    }

    /// Wakes workers that wait for a turn after `piece`, which never comes.
    pub(super) fn fail(&self, piece: u64) {
        let mut state = self.state.write();
        state.failed = Some(state.failed.map_or(piece, |failed| failed.min(piece)));
        drop(state);
        self.turn.notify();
    }

    fn intern(&self, state: &mut State, distinct: &Distinct, ids: &mut [u64]) -> Result<()> {
        let text = |i: usize| distinct.texts.get(i).unwrap_or_default().as_bytes();
        let mut unknown: Vec<usize> = (0..ids.len()).filter(|&i| ids[i] == ABSENT).collect();
        // Another worker may have assigned ids since.
        unknown.retain(|&i| {
            let found = state.texts.find(text(i), distinct.hashes[i]);
            ids[i] = found.unwrap_or(ABSENT);
            found.is_none()
        });
        let stored = self.look_up(distinct, &unknown)?;
        for (at, &i) in unknown.iter().enumerate() {
            let id = stored.as_ref().and_then(|stored| stored[at]).unwrap_or_else(|| {
                state.next_id += 1;
                state.next_id - 1
            });
            state.texts.insert(text(i), distinct.hashes[i], id);
            ids[i] = id;
        }
        let bytes = state.texts.bytes();
        let is_over = bytes > self.limit_bytes && !self.spills;
        if is_over || state.texts.entries.len() >= u32::MAX as usize - (1 << 24) {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "{} names of vertices take {} MiB so far, {} MiB are allowed for them\n\
                     hint: raise memory_limit to at least twice that",
                    state.texts.entries.len(),
                    bytes >> 20,
                    self.limit_bytes >> 20
                ),
            ));
        }
        Ok(())
    }

    /// The stored ids of strings; `None` if the store has none at all.
    fn look_up(&self, distinct: &Distinct, which: &[usize]) -> Result<Option<Vec<Option<u64>>>> {
        let Some(snapshot) = &self.known else { return Ok(None) };
        let mut keys = BytesColumn::default();
        for &i in which {
            keys.push(Some(distinct.texts.get(i).unwrap_or_default().as_bytes()));
        }
        let mut rows = ids_batch();
        let mut present = Vec::new();
        let projection = Projection { keys: 0, values: 1 };
        snapshot.get_many(self.ids, &Keys::Bytes(keys), projection, &mut present, &mut rows)?;
        let ids = rows.value_words(0).iter().zip(present);
        Ok(Some(ids.map(|(&id, present)| present.then_some(id)).collect()))
    }

    /// The new rows `string => id` and `id => string`, in partitions; empty if no string is new.
    ///
    /// # Errors
    /// A failed read of spilled names.
    pub(super) fn partitions(
        self: &Arc<Self>,
        parts: usize,
    ) -> Result<[Vec<Box<dyn SortedRows>>; 2]> {
        let state = self.state.read();
        if let Some(ids) = &state.final_ids {
            return match ids.next_id > state.first_new {
                true => Ok(ids.rows()?.map(|rows| vec![rows])),
                false => Ok([Vec::new(), Vec::new()]),
            };
        }
        let texts = &state.texts;
        let new: Vec<u32> = (0..texts.entries.len())
            .filter(|&i| texts.entries[i].id >= state.first_new)
            .map(|i| i as u32)
            .collect();
        if new.is_empty() {
            return Ok([Vec::new(), Vec::new()]);
        }
        let mut by_id: Vec<Box<dyn SortedRows>> = Vec::new();
        // New strings were interned in the order of their ids.
        for slice in new.chunks(new.len().div_ceil(parts.max(1))) {
            let (names, indexes) = (Arc::clone(self), slice.to_vec());
            by_id.push(Box::new(NewNames { names, indexes, at: 0, by_text: false }));
        }
        let mut sample: Vec<u64> = new
            .iter()
            .step_by((new.len() >> 12).max(1))
            .map(|&i| prefix(texts.get(i as usize)))
            .collect();
        sample.sort_unstable();
        let mut splitters: Vec<u64> =
            (1..parts.max(1)).map(|part| sample[part * sample.len() / parts]).collect();
        splitters.dedup();
        let mut groups = vec![Vec::new(); splitters.len() + 1];
        for &i in &new {
            let prefix = prefix(texts.get(i as usize));
            groups[splitters.partition_point(|splitter| *splitter <= prefix)].push(i);
        }
        let mut by_text: Vec<Box<dyn SortedRows>> = Vec::new();
        for indexes in groups.into_iter().filter(|indexes| !indexes.is_empty()) {
            let names = Arc::clone(self);
            by_text.push(Box::new(NewNames { names, indexes, at: 0, by_text: true }));
        }
        Ok([by_text, by_id])
    }
}

/// An empty batch of `string => id`.
fn ids_batch() -> Batch {
    let keys = Keys::Bytes(BytesColumn::default());
    Batch { rows: 0, keys, values: vec![Column::Words(WordColumn::default())] }
}

/// The first eight bytes as a word with the same order.
fn prefix(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(bytes)
}

/// New rows of the dictionary, as a partition.
struct NewNames {
    names: Arc<Names>,
    /// Indexes of strings; sorted at the first call, so that partitions are sorted in parallel.
    indexes: Vec<u32>,
    at: usize,
    by_text: bool,
}

impl SortedRows for NewNames {
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool> {
        if self.at == 0 && self.by_text {
            let state = self.names.state.read();
            self.indexes = state.texts.sorted_by_text(self.indexes.iter().copied());
        }
        let range: Range<usize> = self.at..(self.at + STEP_ROWS).min(self.indexes.len());
        if range.is_empty() {
            return Ok(false);
        }
        self.at = range.end;
        let state = self.names.state.read();
        for &i in &self.indexes[range] {
            let (text, id) = (state.texts.get(i as usize), state.texts.entries[i as usize].id);
            match (&mut out.keys, out.values.first_mut()) {
                (Keys::Bytes(keys), Some(Column::Words(values))) => {
                    keys.push(Some(text));
                    values.words.push(id);
                }
                (Keys::Words(keys), Some(Column::Bytes(values))) => {
                    keys[0].push(id);
                    values.push(Some(text));
                }
                _ => unreachable!("rows of a dictionary have one key and one value"),
            }
            out.rows += 1;
        }
        Ok(true)
    }
}
