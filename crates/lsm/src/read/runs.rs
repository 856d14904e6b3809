//! One run of tables as reads see it: where each table ends, and whether rows are simply rows.

use crate::codec::runs::RunRange;
use crate::error::Result;
use crate::table::{Block, Fill, Table};
use crate::version::Run;
use base::{Key, KeyRange, KeyRef, Projection, SeqNo, WORDS_MAX};
use std::sync::Arc;

/// A run that holds tables.
#[derive(Debug)]
pub(super) struct RunView {
    pub(super) tables: Vec<Arc<Table>>,
    /// Last key of each table, as words padded with zeros; empty for byte-string keys.
    last_words: Vec<[u64; WORDS_MAX]>,
    last_bytes: Vec<Key>,
    /// Only puts, and no key twice: every row is a row of the relation if its number is seen.
    pub(super) is_simple: bool,
    /// No row has a larger number.
    pub(super) seq_max: SeqNo,
    /// Rows in all tables.
    pub(super) rows: u64,
    /// Upper bound of the rows that share a first word.
    pub(super) first_word_rows_max: u64,
}

/// A row of a run; of its block perhaps the head alone.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) table: usize,
    pub(super) block_number: usize,
    pub(super) block: Arc<Block>,
    pub(super) row: usize,
}

/// Where the rows of one first word begin in a run, as far as can be said without reading them.
pub(super) enum Start {
    /// It has none that the snapshot sees.
    Nowhere,
    /// In this block of this table, if there are any.
    Block(usize, usize),
    /// Perhaps in several tables.
    Scattered,
}

/// Where a run has the rows of one first word.
pub(super) enum Adjacency {
    /// It has none that the snapshot sees.
    None,
    /// In one block; of those, some may be newer than the snapshot.
    Rows(Arc<Block>, RunRange),
    /// In several blocks, or perhaps in several tables.
    Scattered,
}

pub(super) fn padded(words: &[u64]) -> [u64; WORDS_MAX] {
    let mut padded = [0; WORDS_MAX];
    let len = words.len().min(WORDS_MAX);
    padded[..len].copy_from_slice(&words[..len]);
    padded
}

impl RunView {
    pub(super) fn new(run: &Run) -> Self {
        let summaries = || run.tables.iter().map(|table| &table.meta().summary);
        let mut view = Self {
            tables: run.tables.clone(),
            last_words: Vec::new(),
            last_bytes: Vec::new(),
            is_simple: summaries().all(|s| s.deletes + s.merges + s.repeats == 0),
            seq_max: run
                .tables
                .iter()
                .map(|table| table.meta().seq_max())
                .max()
                .unwrap_or(SeqNo::ZERO),
            rows: summaries().map(|summary| summary.rows).sum(),
            first_word_rows_max: 0,
        };
        view.first_word_rows_max = view.most_of_first_word();
        for summary in summaries() {
            match summary.last_key.as_ref() {
                KeyRef::Words(words) => view.last_words.push(padded(words)),
                KeyRef::Bytes(_) => view.last_bytes.push(summary.last_key.clone()),
            }
        }
        view
    }

    fn most_of_first_word(&self) -> u64 {
        let most = |table: &Arc<Table>| table.first_word_rows_max();
        // A word that three tables have takes all of the middle one.
        if self.tables.iter().any(|table| most(table) >= table.meta().summary.rows) {
            return self.rows;
        }
        let pairs = self.tables.windows(2).map(|pair| pair.iter().map(most).sum());
        pairs.max().unwrap_or_else(|| self.tables.first().map_or(0, most))
    }

    /// The first table that can hold `key` or keys after it.
    #[inline]
    pub(super) fn table_for(&self, key: KeyRef<'_>) -> usize {
        if self.tables.len() == 1 {
            return 0;
        }
        match key {
            KeyRef::Words(words) => {
                let key = padded(words);
                self.last_words.partition_point(|last| *last < key)
            }
            KeyRef::Bytes(_) => self.last_bytes.partition_point(|last| last.as_ref() < key),
        }
    }

    /// Whether table `table` ends at `key`, so that the next can begin with it: a bound of a range
    /// tombstone, which is the last key of its table, may be the first row of the next.
    pub(super) fn ends_at(&self, table: usize, key: KeyRef<'_>) -> bool {
        match key {
            // The first word distinguishes most keys without a comparison with a copy, whose words
            // would cost a cache miss.
            KeyRef::Words(words) => self
                .last_words
                .get(table)
                .is_some_and(|last| last.first() == words.first() && *last == padded(words)),
            KeyRef::Bytes(_) => self.last_bytes.get(table).is_some_and(|l| l.as_ref() == key),
        }
    }

    /// Whether the table behind table `table` begins with a key of this first word.
    #[inline]
    pub(super) fn next_begins_with(&self, table: usize, word: u64) -> bool {
        self.tables.get(table + 1).is_some_and(|next| {
            let first = next.meta().summary.first_key.as_ref();
            matches!(first, KeyRef::Words([first, ..]) if *first == word)
        })
    }

    /// Where the rows that begin with `word` begin, of a run without range tombstones.
    #[inline]
    pub(super) fn start_of(&self, word: u64, snapshot: SeqNo, ask_filter: bool) -> Start {
        let prefix = [word];
        let key = KeyRef::Words(&prefix);
        let number = self.table_for(key);
        let Some(table) = self.tables.get(number) else { return Start::Nowhere };
        if self.next_begins_with(number, word) {
            return Start::Scattered;
        }
        let is_seen = table.meta().global_seq <= snapshot;
        if !is_seen || ask_filter && !table.may_contain_first_word(word) {
            return Start::Nowhere;
        }
        table.block_for(key).map_or(Start::Nowhere, |block| Start::Block(number, block))
    }

    /// Whether rows that were found in a block go on in the next one.
    #[inline]
    pub(super) fn goes_on(
        &self,
        (table, number): (usize, usize),
        block: &Block,
        found: &RunRange,
        word: u64,
    ) -> bool {
        found.rows.end == block.rows() && self.tables[table].block_begins_with(number + 1, word)
    }

    /// The rows that begin with `word`, of a run without range tombstones.
    pub(super) fn adjacency(
        &self,
        word: u64,
        snapshot: SeqNo,
        ask_filter: bool,
    ) -> Result<Adjacency> {
        let (table, number) = match self.start_of(word, snapshot, ask_filter) {
            Start::Nowhere => return Ok(Adjacency::None),
            Start::Scattered => return Ok(Adjacency::Scattered),
            Start::Block(table, number) => (table, number),
        };
        let block = self.tables[table].block(number, Fill::Keep)?;
        let found = block.find_run(word);
        Ok(match found.rows.is_empty() {
            _ if self.goes_on((table, number), &block, &found, word) => Adjacency::Scattered,
            true => Adjacency::None,
            false => Adjacency::Rows(block, found),
        })
    }

    /// Whether keys of `range` may lie in tables behind table `table`.
    pub(super) fn reaches_past(&self, table: usize, range: &KeyRange) -> bool {
        self.tables.get(table + 1).is_some_and(|next| {
            let first = next.meta().summary.first_key.as_ref();
            range.upper.as_ref().is_none_or(|upper| first < upper.as_ref())
        })
    }

    /// Whether every row of the run is visible unchanged.
    #[inline]
    pub(super) fn is_plain_at(&self, snapshot: SeqNo) -> bool {
        self.is_simple && self.seq_max <= snapshot
    }

    /// The newest version of exactly this key that the snapshot sees.
    #[inline]
    pub(super) fn find(&self, key: KeyRef<'_>, snapshot: SeqNo) -> Result<Option<Found>> {
        self.find_toward(key, snapshot, Projection::KEYS)
    }

    /// The same, where these values of it will be asked for next.
    #[inline]
    pub(super) fn find_toward(
        &self,
        key: KeyRef<'_>,
        snapshot: SeqNo,
        projection: Projection,
    ) -> Result<Option<Found>> {
        let mut number = self.table_for(key);
        while let Some(table) = self.tables.get(number) {
            if table.meta().global_seq <= snapshot && table.may_contain_key(key) {
                let found = self.find_in(number, table, key, projection)?;
                if let Some(found) = found {
                    return found.at(self, snapshot);
                }
            }
            if !self.ends_at(number, key) {
                break;
            }
            number += 1;
        }
        Ok(None)
    }

    #[inline]
    fn find_in(
        &self,
        number: usize,
        table: &Table,
        key: KeyRef<'_>,
        projection: Projection,
    ) -> Result<Option<Found>> {
        let Some(block_number) = table.block_for(key) else { return Ok(None) };
        let block = table.head_toward(block_number, key, projection)?;
        let row = block.find(key);
        Ok(row.map(|row| Found { table: number, block_number, block, row }))
    }

    /// Blocks, each given by its table's number and its own, possibly without separated values.
    /// Those not in the cache are read together.
    pub(super) fn read_heads(
        &self,
        wanted: &[(usize, usize)],
        fill: Fill,
    ) -> Result<Vec<Arc<Block>>> {
        let wanted: Vec<(&Table, usize)> =
            wanted.iter().map(|&(table, block)| (&*self.tables[table], block)).collect();
        Table::heads_across(&wanted, fill)
    }

    /// Tables that may hold keys of `range` and that a snapshot sees.
    pub(super) fn tables_in(&self, range: &KeyRange, snapshot: SeqNo) -> Vec<Arc<Table>> {
        let start = self.table_for(range.lower.as_ref());
        let rest = self.tables.get(start..).unwrap_or_default().iter();
        rest.take_while(|table| {
            let first = table.meta().summary.first_key.as_ref();
            range.upper.as_ref().is_none_or(|upper| first < upper.as_ref())
        })
        .filter(|table| {
            table.meta().global_seq <= snapshot && super::source::may_overlap(table, range)
        })
        .cloned()
        .collect()
    }

    /// Whether a table may hold keys of `range` that a snapshot sees; allocates nothing.
    pub(super) fn may_reach(&self, range: &KeyRange, snapshot: SeqNo) -> bool {
        let start = self.table_for(range.lower.as_ref());
        for table in self.tables.get(start..).unwrap_or_default() {
            let first = table.meta().summary.first_key.as_ref();
            if range.upper.as_ref().is_some_and(|upper| first >= upper.as_ref()) {
                return false;
            }
            if table.meta().global_seq <= snapshot && super::source::may_overlap(table, range) {
                return true;
            }
        }
        false
    }
}

impl Found {
    /// This version or the first older one that the snapshot sees.
    fn at(self, run: &RunView, snapshot: SeqNo) -> Result<Option<Self>> {
        let mut found = self;
        if found.block.seq_max() <= snapshot {
            return Ok(Some(found));
        }
        while found.block.seq(found.row) > snapshot {
            match found.older(run)? {
                Some(older) => found = older,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// The next older version of the same key.
    pub(super) fn older(mut self, run: &RunView) -> Result<Option<Self>> {
        let key = self.block.key(self.row);
        let table = &run.tables[self.table];
        if table.meta().summary.repeats == 0 {
            return Ok(None);
        }
        self.row += 1;
        if self.row == self.block.rows() {
            self.block_number += 1;
            self.row = 0;
            if self.block_number == table.blocks() {
                return Ok(None);
            }
            self.block = table.head(self.block_number, Fill::Keep)?;
        }
        Ok(self.block.key_eq(self.row, key.as_ref()).then_some(self))
    }
}
