//! Decides which tries a query has and builds them.
//!
//! Joins ask for a trie with the number of keys that they are about to look up.
//!
//! # When a trie is built
//! Reading a whole relation costs some ten nanoseconds per row, a lookup in the store some hundred.
//! Once a query has asked for an eighth as many keys as a relation has rows, it reads the relation.
//! Lookups of earlier queries count, and after many small queries a graph is answered from
//! memory. A cached trie is patched, group by group, where the store knows which groups changed. If
//! no stored order begins with the bound columns, lookups are impossible, and the relation is read
//! immediately.
//!
//! # Invariants
//! 1. A trie is built from the query's snapshot. It is cached for other queries only if it has no
//!    interned cells. A trie with long strings is built only if there is no alternative, or if the
//!    query has looked up a quarter as many keys as there are rows; later queries find one that was
//!    built before they started ([`shared_tries`](super::shared_tries)).
//! 2. A trie that would take more than a quarter of the query's memory is built only if there is no
//!    alternative.

use crate::batch_size::CHUNK_ROWS;
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::snapshot_cache::Key;
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::Readable;
use crate::trie::cache::CachedTries;
use crate::trie::{ROWS_MAX, Trie};
use crate::value::cell::{Cell, Interner, fits_cells};
use crate::value::columns::Columns;
use base::{KeyShape, SeqNo};
use model::Type;
use plan::StoredId;
use std::sync::Arc;
use store::Snapshot;

/// Rows that can be read in the time of one lookup.
pub(crate) const ROWS_A_LOOK_UP: u64 = 8;

/// Rows of the first read, where strings may be long.
const FIRST_ROWS: usize = 16;

/// Keys that a query looks up, however few the rows, before it builds a trie with long values.
const ASKED_MIN: u64 = 64;

/// Rows that are sampled for the bytes of a row.
const SAMPLE_ROWS: usize = 64;

/// Changed first values whose rows are read at a time: their strings may be long.
const MENDED_AT_ONCE: usize = 32;

/// Rows to patch a trie with.
struct Changed {
    firsts: Vec<Cell>,
    /// Where the rows of each first value start, and the end of the last.
    offsets: Vec<usize>,
    /// Rows, in the order of the trie's columns.
    rows: Columns,
}

/// A request for a trie.
pub(crate) struct Wanted<'w> {
    /// Index of the relation in the plan.
    pub stored: StoredId,
    /// The bound columns.
    pub bound: &'w [usize],
    /// The column after them, if it must be a certain one.
    pub next: Option<usize>,
    /// Other columns to read.
    pub outputs: &'w [usize],
    /// Number of keys about to be looked up.
    pub keys: usize,
    /// Whether there is no alternative.
    pub is_needed: bool,
}

impl Wanted<'_> {
    /// The columns of the trie, each once. `main` is the primary order of the relation.
    fn columns(&self, main: &StoredPath) -> Vec<usize> {
        let mut columns = self.bound.to_vec();
        columns.extend(self.next);
        if matches!(main.shape.key, KeyShape::Words(_)) {
            // The same trie then also serves requests for fewer columns.
            columns.extend(0..main.schema.keys.len());
        }
        columns.extend(self.outputs);
        let mut seen = Vec::with_capacity(columns.len());
        columns.retain(|column| {
            let is_new = !seen.contains(column);
            seen.push(*column);
            is_new
        });
        columns
    }
}

/// A trie that is not among those of the query yet.
struct Request<'r> {
    /// Relation and columns, by which the query finds it.
    key: (StoredId, Vec<usize>),
    /// By which later queries find it.
    cache_key: Key,
    /// The cache, if the trie may be in it, and the last commit that changed the path.
    cache: Option<(CachedTries<'r>, SeqNo)>,
    /// The path that it is built from.
    path: &'r StoredPath,
}

impl ExecContext<'_> {
    /// The trie whose columns begin with the bound ones, and the relation's columns in its order;
    /// `None` where it is not worth building.
    ///
    /// # Errors
    /// Those of the store, and what stops the query.
    pub(crate) fn trie(&self, wanted: &Wanted<'_>) -> Result<Option<(Arc<Trie>, Vec<usize>)>> {
        let stored = wanted.stored;
        let Readable::Stored(relation) = self.relation(stored) else { return Ok(None) };
        let main = &relation.paths[0];
        let key = (stored, wanted.columns(main));
        if let Some(trie) = self.tries.get(&key) {
            return Ok(Some((trie, key.1)));
        }
        let types = |column: &usize| &self.plan.infos[stored].columns[*column].column_type;
        // Long strings would be interned by this query. Long values that are not requested are not
        // read either.
        let may_be_words = key.1.iter().map(types).all(may_be_words);
        let may_be_shared = key.1.iter().map(types).all(may_be_shared);
        let path = relation.read_for(&key.1);
        let cache_key =
            Key { keyspace: main.keyspace, path: path.keyspace, columns: key.1.clone() };
        let cache = match self.cached_tries.filter(|_| may_be_shared) {
            Some(tries) => Some((tries, tries.snapshot.changed_at(path.keyspace)?)),
            None => None,
        };
        let mut serves_later = false;
        if let Some((tries, changed)) = cache
            && let Some(trie) = self.kept_trie(tries, &cache_key, changed, path)?
        {
            if trie.serves(self.interner) {
                self.tries.put(key.clone(), &trie);
                return Ok(Some((trie, key.1)));
            }
            serves_later = tries.cache.serves_later(&trie);
        }
        let is_long = |column: &usize| !fits_cells(types(column).without_null());
        let is_worth_own = !wanted.is_needed
            && key.1.iter().any(is_long)
            && self.is_worth_interning(&key, path, wanted.keys)?;
        let request = Request { key, cache_key, cache, path };
        if is_worth_own {
            return self.build_own(request);
        }
        if !wanted.is_needed && (serves_later || !(may_be_words || may_be_shared)) {
            return Ok(None);
        }
        // Reading stops at long strings. Numbers that do not fit a word still allow a trie for this
        // query.
        let only_words = !wanted.is_needed && request.key.1.iter().map(types).any(is_text);
        let may_be_built = may_be_words && !(only_words && self.is_refused(&request));
        if wanted.is_needed || (may_be_built && self.is_worth_reading(&request, wanted.keys)) {
            if let Some(trie) = self.build_and_cache(&request, only_words)? {
                return Ok(Some((trie, request.key.1)));
            }
        } else if may_be_built {
            return Ok(None);
        }
        if let Some((tries, _)) = cache {
            let rows = self.plan.infos[stored].rows;
            tries.cache.want_shared(&request.cache_key, wanted.keys as u64, rows);
        }
        Ok(None)
    }

    /// Whether this query should build a trie with long values for itself: it has looked up a
    /// quarter as many keys as there are rows, and the trie is likely to fit its memory. Counts the
    /// keys. A recursion with one new row a round would otherwise scan the relation each round.
    fn is_worth_interning(
        &self,
        key: &(StoredId, Vec<usize>),
        path: &StoredPath,
        keys: usize,
    ) -> Result<bool> {
        let rows = self.plan.infos[key.0].rows;
        let mut known = self.tries.known.lock();
        let asked = known.asked_long.entry(key.clone()).or_insert(Some(0));
        let Some(asked) = asked else { return Ok(false) };
        *asked = asked.saturating_add(keys as u64);
        if *asked < (rows / 4).max(ASKED_MIN) {
            return Ok(false);
        }
        drop(known);
        let row_bytes =
            2 * path.mean_bytes_of(self.read, &key.1, SAMPLE_ROWS)? + 16 * key.1.len() as u64;
        let fits = rows.saturating_mul(row_bytes) <= self.limits.memory_bytes_max() / 4
            && rows < ROWS_MAX as u64;
        if !fits {
            self.tries.known.lock().asked_long.insert(key.clone(), None);
        }
        Ok(fits)
    }

    /// Builds a trie with long values for this query. `None` if that fails: the query goes on
    /// without it, and does not try again.
    fn build_own(&self, request: Request<'_>) -> Result<Option<(Arc<Trie>, Vec<usize>)>> {
        match self.build_and_cache(&request, false) {
            Ok(trie) => Ok(trie.map(|trie| (trie, request.key.1))),
            Err(error @ (Error::Stopped(_) | Error::WouldBlock)) => Err(error),
            // A row that this query does not read, or too little memory.
            Err(_) => {
                self.tries.known.lock().asked_long.insert(request.key, None);
                Ok(None)
            }
        }
    }

    /// Whether long strings were found in the relation before.
    fn is_refused(&self, request: &Request<'_>) -> bool {
        let Request { key, cache_key, cache, .. } = request;
        let by_others =
            cache.is_some_and(|(tries, changed)| tries.cache.refuses(cache_key, changed));
        by_others || self.tries.known.lock().refused.contains(key)
    }

    /// Whether reading the relation is worth it, and within the limits, now that `keys` more keys
    /// are looked up in it. Counts the keys.
    fn is_worth_reading(&self, request: &Request<'_>, keys: usize) -> bool {
        let Request { key, cache_key, cache, .. } = request;
        let rows = self.plan.infos[key.0].rows;
        let keys = keys as u64;
        let asked = match cache {
            Some((tries, _)) => tries.cache.ask(cache_key, keys),
            None => {
                let mut known = self.tries.known.lock();
                let asked = known.asked.entry(key.clone()).or_default();
                *asked += keys;
                *asked
            }
        };
        let bytes = rows.saturating_mul(16 * key.1.len() as u64);
        asked.saturating_mul(ROWS_A_LOOK_UP) >= rows
            && bytes <= self.limits.memory_bytes_max() / 4
            && rows < ROWS_MAX as u64
    }

    /// Builds a trie, unless another thread has done so meanwhile, and adds it to those of the
    /// query and to the cache; `None` if `only_words` and a value does not fit a word.
    fn build_and_cache(
        &self,
        request: &Request<'_>,
        only_words: bool,
    ) -> Result<Option<Arc<Trie>>> {
        let Request { key, cache_key, cache, path } = request;
        let _making = self.tries.making.lock();
        if let Some(trie) = self.tries.get(key) {
            return Ok(Some(trie));
        }
        // Another thread may have tried meanwhile.
        if only_words && self.is_refused(request) {
            return Ok(None);
        }
        let made = self.make_trie(path, &key.1, only_words)?;
        if let Some((tries, changed)) = cache {
            // Resets the count of lookups, also if long strings prevented the trie.
            tries.cache.settle(cache_key, *changed, made.is_none());
        }
        if made.is_none() {
            self.tries.known.lock().refused.insert(key.clone());
        }
        let Some(trie) = made.map(Arc::new) else { return Ok(None) };
        if let Some((tries, _)) = cache
            && !trie.are_words()
        {
            // Another query would read all rows again.
            tries.cache.want_shared(cache_key, u64::MAX, 0);
        }
        if let Some((tries, changed)) = cache
            && trie.are_words()
        {
            let bytes = trie.bytes();
            if path.begins_with(key.1[0]) {
                // From now on the store must track the changes of this relation.
                tries.snapshot.changed_since(path.keyspace, *changed)?;
            }
            tries.cache.kept.remove_dropped(tries.snapshot);
            tries.cache.kept.put(cache_key.clone(), *changed, Arc::clone(&trie), bytes);
        }
        self.tries.put(key.clone(), &trie);
        Ok(Some(trie))
    }

    /// The cached trie, patched where the path has changed since; `moment` is the last commit that
    /// changed the path.
    fn kept_trie(
        &self,
        tries: CachedTries<'_>,
        key: &Key,
        moment: SeqNo,
        path: &StoredPath,
    ) -> Result<Option<Arc<Trie>>> {
        let kept = &tries.cache.kept;
        if let Some(trie) = kept.get(key, moment) {
            return Ok(Some(trie));
        }
        if kept.up_to(key, moment).is_none() {
            return Ok(None);
        }
        let _mending = tries.cache.mending.lock();
        if let Some(trie) = kept.get(key, moment) {
            return Ok(Some(trie));
        }
        let Some((since, trie)) = kept.up_to(key, moment) else { return Ok(None) };
        let changed = match self.changed(tries.snapshot, key, since, &trie, path) {
            Ok(changed) => changed,
            Err(error @ Error::Stopped(_)) => return Err(error),
            // A row that this query must not read.
            Err(_) => None,
        };
        // Without this reference the trie need not be copied, unless another running query has it.
        drop(trie);
        let (Some(changed), Some((at, trie))) = (changed, kept.take(key, moment)) else {
            return Ok(None);
        };
        // The cached trie may have been replaced meanwhile. An older one lacks more than the rows
        // read here.
        if at < since {
            return Ok(None);
        }
        let mut trie = Arc::unwrap_or_clone(trie);
        let rest = changed.rows.columns.get(1..).unwrap_or_default();
        if !trie.patch(&changed.firsts, &changed.offsets, rest) {
            return Ok(None);
        }
        let trie = Arc::new(trie);
        kept.put(key.clone(), moment, Arc::clone(&trie), trie.bytes());
        Ok(Some(trie))
    }

    /// The rows of all first values that changed since a trie was built; `None` where that is
    /// unknown or too much.
    fn changed(
        &self,
        snapshot: &dyn Snapshot,
        key: &Key,
        since: SeqNo,
        trie: &Trie,
        path: &StoredPath,
    ) -> Result<Option<Changed>> {
        if !path.begins_with(key.columns[0]) {
            return Ok(None);
        }
        let Some(words) = snapshot.changed_since(path.keyspace, since)? else { return Ok(None) };
        // A separate interner, so that long strings do not stay with the query.
        let interner = Interner::default();
        let are_words = |cells: &[Cell]| cells.iter().all(|cell| cell.is_word());
        let firsts = path.first_cells(&words, &interner)?;
        if !are_words(&firsts) || trie.is_too_much(words.len() + trie.rows_of(&firsts)) {
            return Ok(None);
        }
        let rows = Columns { rows: 0, columns: vec![Vec::new(); key.columns.len()] };
        let mut changed = Changed { firsts, offsets: vec![0], rows };
        for words in words.chunks(MENDED_AT_ONCE) {
            self.check((changed.rows.rows * 8 * key.columns.len()) as u64)?;
            let offsets = &mut changed.offsets;
            let more = path.groups(snapshot, words, &key.columns, &interner, offsets)?;
            changed.rows.rows += more.rows;
            if trie.is_too_much(changed.rows.rows)
                || !more.columns.iter().all(|column| are_words(column))
            {
                return Ok(None);
            }
            for (own, more) in changed.rows.columns.iter_mut().zip(more.columns) {
                own.extend(more);
            }
        }
        Ok(Some(changed))
    }

    /// Reads a relation into a trie; `None` if `only_words` and a value does not fit a word.
    fn make_trie(
        &self,
        path: &StoredPath,
        columns: &[usize],
        only_words: bool,
    ) -> Result<Option<Trie>> {
        let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); columns.len()];
        // A separate interner, so that the query does not keep the long strings of at most a
        // thousand rows.
        let own = Interner::default();
        let (interner, chunk_rows) = match only_words {
            true => (&own, FIRST_ROWS),
            false => (self.interner, CHUNK_ROWS),
        };
        let mut fits = true;
        path.scan(self.read, path.all(), columns, chunk_rows, interner, &mut |found| {
            fits = !only_words || found.columns.iter().flatten().all(|cell| cell.is_word());
            if !fits {
                return Ok(false);
            }
            for (own, more) in cells.iter_mut().zip(found.columns) {
                own.extend(more);
            }
            let rows = cells.first().map_or(0, Vec::len);
            if rows >= ROWS_MAX {
                let what = "a join would need more than 4 billion rows in memory".to_owned();
                return Err(Error::Limit(what));
            }
            // Sorting holds the cells twice.
            self.check((rows * (16 * columns.len() + 8)) as u64)?;
            Ok(true)
        })?;
        if !only_words {
            self.interner.keep();
        }
        fits.then(|| Trie::new(cells, &|| self.check(0))).transpose()
    }
}

/// Whether values of a type fit a word or may be shared by queries.
fn may_be_shared(of: &Type) -> bool {
    let plain = of.without_null();
    may_be_words(plain)
        || plain.is_temporal()
        || matches!(plain, Type::Uuid | Type::Bytes | Type::Decimal)
}

/// Whether values of a type often fit a word; of strings, the short ones do.
fn may_be_words(of: &Type) -> bool {
    fits_cells(of.without_null()) || is_text(of)
}

fn is_text(of: &Type) -> bool {
    *of.without_null() == Type::String
}
