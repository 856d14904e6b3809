//! Which tries a query has, and when it is worth making one.
//!
//! # When
//! Reading a relation whole costs some ten nanoseconds a row, a look-up in the store some hundred: once a query has asked for an eighth as many
//! keys as a relation has rows, it reads the relation. What was asked by earlier queries counts, as long as nothing was committed since: so
//! many small questions to a graph that rests are answered from memory in the end. Where no stored order begins with what is bound, there is
//! nothing to look up, and the relation is read at once.
//!
//! # Invariants
//! 1. A trie is made of what the query's snapshot sees. It is kept for other queries only where it holds no cell of an interner. One of long texts and the
//!    like is made only where there is no other way.
//! 2. A trie that would take more than a quarter of the query's memory is made only where there is no other way.

use crate::cell::{Cell, Interner};
use crate::error::{Error, Result};
use crate::kept::{Kept, Key};
use crate::query::{Query, Relation};
use crate::stored::CHUNK_ROWS;
use crate::trie::{ROWS_MAX, Trie};
use base::{KeyShape, SeqNo};
use env::sync::Mutex;
use hashbrown::{HashMap, HashSet};
use model::Type;
use std::sync::Arc;

/// Look-ups that cost as much as reading this many rows.
pub(crate) const ROWS_A_LOOK_UP: u64 = 8;

/// Rows that are read at first of texts that may be long.
const FIRST_ROWS: usize = 16;

/// Relations whose look-ups are counted; more are forgotten.
const COUNTED_MAX: usize = 256;

/// The tries of an engine.
#[derive(Debug)]
pub(crate) struct Tries {
    kept: Kept<Arc<Trie>>,
    asked: Mutex<Asked>,
}

/// Keys that were looked up since the last commit.
#[derive(Debug, Default)]
struct Asked {
    moment: SeqNo,
    keys: Vec<(Key, u64)>,
    /// Relations in which long texts were met.
    refused: Vec<Key>,
}

impl Tries {
    /// Keeps nothing yet, and at most so many bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { kept: Kept::new(bytes_max), asked: Mutex::default() }
    }

    /// Whether long texts were met in a relation at this moment.
    fn refuses(&self, key: &Key, moment: SeqNo) -> bool {
        let asked = self.asked.lock();
        asked.moment == moment && asked.refused.contains(key)
    }

    /// Forgets what was counted, once a trie was tried; notes where it cannot be made.
    fn settle(&self, key: &Key, moment: SeqNo, is_refused: bool) {
        let mut asked = self.asked.lock();
        asked.keys.retain(|(other, _)| other != key);
        if is_refused && asked.moment == moment && asked.refused.len() < COUNTED_MAX {
            asked.refused.push(key.clone());
        }
    }

    /// Counts look-ups; all there were at this moment.
    fn ask(&self, key: &Key, moment: SeqNo, keys: u64) -> u64 {
        let mut asked = self.asked.lock();
        if asked.moment < moment {
            self.kept.forget_before(moment);
        }
        if asked.moment < moment || asked.keys.len() > COUNTED_MAX {
            *asked = Asked { moment, ..Asked::default() };
        }
        if asked.moment > moment {
            return keys;
        }
        match asked.keys.iter_mut().find(|(other, _)| other == key) {
            Some((_, all)) => {
                *all += keys;
                *all
            }
            None => {
                asked.keys.push((key.clone(), keys));
                keys
            }
        }
    }
}

/// Tries that are kept, for a query that sees one moment of the store.
#[derive(Clone, Copy)]
pub(crate) struct KeptTries<'e> {
    /// Where.
    pub cache: &'e Tries,
    /// What the query sees.
    pub moment: SeqNo,
}

/// The tries of a query, by stored relation and columns; all of its threads have the same.
#[derive(Default)]
pub(crate) struct QueryTries {
    known: Mutex<Known>,
    /// Held while one is made: who needs it too waits for it.
    making: Mutex<()>,
}

#[derive(Default)]
struct Known {
    made: HashMap<(usize, Vec<usize>), Arc<Trie>>,
    asked: HashMap<(usize, Vec<usize>), u64>,
    /// In which long texts were met.
    refused: HashSet<(usize, Vec<usize>)>,
    bytes: u64,
}

impl QueryTries {
    /// About how many bytes they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.known.lock().bytes
    }

    fn get(&self, key: &(usize, Vec<usize>)) -> Option<Arc<Trie>> {
        self.known.lock().made.get(key).cloned()
    }

    fn put(&self, key: (usize, Vec<usize>), trie: &Arc<Trie>) {
        let mut known = self.known.lock();
        if known.made.insert(key, Arc::clone(trie)).is_none() {
            known.bytes += trie.bytes();
        }
    }
}

/// Columns in the order of a trie, and what is asked of it.
pub(crate) struct Wanted<'w> {
    /// The relation, by number.
    pub stored: usize,
    /// Columns that are bound.
    pub bound: &'w [usize],
    /// The column after them, if it matters which it is.
    pub next: Option<usize>,
    /// Other columns that are read.
    pub outputs: &'w [usize],
    /// Keys that are looked up now.
    pub keys: usize,
    /// There is no other way.
    pub is_needed: bool,
}

impl Query<'_> {
    /// The trie whose columns begin with those that are bound, and the relation's columns in its order; `None` where it is not worth making.
    ///
    /// # Errors
    /// Those of the store, and what stops the query.
    pub(crate) fn trie(&self, wanted: &Wanted<'_>) -> Result<Option<(Arc<Trie>, Vec<usize>)>> {
        let stored = wanted.stored;
        let Relation::Stored(relation) = self.relation(stored) else { return Ok(None) };
        let main = &relation.paths[0];
        let mut columns = wanted.bound.to_vec();
        columns.extend(wanted.next);
        if matches!(main.shape.key, KeyShape::Words(_)) {
            // The same trie serves whoever needs fewer of its columns.
            columns.extend(0..main.schema.keys.len());
        }
        columns.extend(wanted.outputs);
        let mut seen = Vec::with_capacity(columns.len());
        columns.retain(|column| {
            let is_new = !seen.contains(column);
            seen.push(*column);
            is_new
        });
        let key = (stored, columns);
        if let Some(trie) = self.tries.get(&key) {
            return Ok(Some((trie, key.1)));
        }
        let info = &self.plan.infos[stored];
        // Long texts and the like would be cells of this query's interner. Nor are long values read that nobody asks for.
        let may_be_words =
            key.1.iter().all(|&column| may_be_words(&info.columns[column].column_type));
        if !may_be_words && !wanted.is_needed {
            return Ok(None);
        }
        let kept = self.kept_tries.filter(|_| may_be_words);
        let kept_key = Key { keyspace: main.keyspace, columns: key.1.clone() };
        if let Some(kept) = kept
            && let Some(trie) = kept.cache.kept.get(&kept_key, kept.moment)
        {
            self.tries.put(key.clone(), &trie);
            return Ok(Some((trie, key.1)));
        }
        // Texts that turn out to be long are not read on; numbers that are no words by themselves serve this query at least.
        let has_texts = key.1.iter().any(|&column| is_text(&info.columns[column].column_type));
        let only_words = has_texts && !wanted.is_needed;
        let is_refused = || {
            let by_others = kept.is_some_and(|kept| kept.cache.refuses(&kept_key, kept.moment));
            by_others || self.tries.known.lock().refused.contains(&key)
        };
        if only_words && is_refused() {
            return Ok(None);
        }
        let rows = self.plan.infos[stored].rows;
        if !wanted.is_needed {
            let keys = wanted.keys as u64;
            let asked = match kept {
                Some(kept) => kept.cache.ask(&kept_key, kept.moment, keys),
                None => {
                    let mut known = self.tries.known.lock();
                    let asked = known.asked.entry(key.clone()).or_default();
                    *asked += keys;
                    *asked
                }
            };
            let bytes = rows.saturating_mul(16 * key.1.len() as u64);
            if asked.saturating_mul(ROWS_A_LOOK_UP) < rows
                || bytes > self.watch.memory_bytes_max() / 4
                || rows >= ROWS_MAX as u64
            {
                return Ok(None);
            }
        }
        let _making = self.tries.making.lock();
        if let Some(trie) = self.tries.get(&key) {
            return Ok(Some((trie, key.1)));
        }
        // Another thread may have tried meanwhile.
        if only_words && is_refused() {
            return Ok(None);
        }
        let made = self.make_trie(&relation, &key.1, only_words)?;
        if let Some(kept) = kept {
            // What was asked until now has had its reward, be it that long texts were met.
            kept.cache.settle(&kept_key, kept.moment, made.is_none());
        }
        if made.is_none() {
            self.tries.known.lock().refused.insert(key.clone());
        }
        let Some(trie) = made.map(Arc::new) else { return Ok(None) };
        if let Some(kept) = kept
            && trie.are_words()
        {
            let bytes = trie.bytes();
            kept.cache.kept.put(kept_key, kept.moment, Arc::clone(&trie), bytes);
        }
        self.tries.put(key.clone(), &trie);
        Ok(Some((trie, key.1)))
    }

    /// Reads a relation; `None` where `only_words` and a value is met that is no word by itself.
    fn make_trie(
        &self,
        relation: &crate::query::StoredRelation,
        columns: &[usize],
        only_words: bool,
    ) -> Result<Option<Trie>> {
        let covering = relation.paths.iter().filter(|path| path.covers(columns));
        let in_order = |path: &&crate::stored::StoredPath| {
            path.columns.iter().zip(columns).take_while(|(a, b)| a == b).count()
        };
        // The first of equals: the relation itself, unless an index is in the right order.
        let path = covering.rev().max_by_key(in_order).unwrap_or(&relation.paths[0]);
        let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); columns.len()];
        // What is met of long texts is not the query's: a thousand rows of them at most.
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
            // What is being sorted stands there twice.
            self.check((rows * (16 * columns.len() + 8)) as u64)?;
            Ok(true)
        })?;
        Ok(fits.then(|| Trie::new(cells)))
    }
}

/// Whether values of a type often are words by themselves: of texts the short ones are.
fn may_be_words(of: &Type) -> bool {
    of.without_null().is_word() || is_text(of)
}

fn is_text(of: &Type) -> bool {
    *of.without_null() == Type::String
}
