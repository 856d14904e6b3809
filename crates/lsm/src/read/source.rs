//! Where versions come from, in chunks: a memtable or a run of tables.

use crate::error::Result;
use crate::memtable::{
    EntryRef, Memtable, PassedDeletions, Place, SEQ_STORED_MAX, VERSIONS_MAX, compare_rows,
};
use crate::rows::Rows;
use crate::table::{Block, Fill, RangeTombstone, Table};
use base::SeqNo;
use base::prefetch::prefetch_front;
use base::{BlockFilter, Column, Key, KeyRange, KeyRef, Kind, Projection};
use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Versions in (key ascending, sequence number descending) order, chunk by chunk.
pub trait RowSource: Send {
    /// Appends the next rows to `out`, which is empty; `false` past the last.
    ///
    /// # Errors
    /// A failed read, or corruption.
    fn next_rows(&mut self, out: &mut Rows) -> Result<bool>;

    /// Whether only the visible versions of each key are returned: the newest version up to the
    /// snapshot, and if it is a merge, older ones down to the first that is not a merge.
    fn is_resolved(&self) -> bool {
        false
    }

    /// Whether a flush and a merge of level 0 would take the rows away from here.
    fn is_passing(&self) -> bool {
        false
    }
}

/// Rows a source hands out at once, at most.
pub(crate) const CHUNK_ROWS: usize = 1024;
/// Entries whose values are fetched at the same time; the bits of a word.
const AT_ONCE: usize = 64;
/// Blocks a long scan reads at once, at most ...
pub(super) const WINDOW_BLOCKS: usize = 128;
/// ... and their bytes, except for a single block that is longer.
pub(super) const WINDOW_BYTES: u64 = 1 << 20;

/// The versions of a memtable within a range.
pub struct MemSource<M> {
    memtable: M,
    place: Option<Place>,
    range: KeyRange,
    projection: Projection,
    chunk_rows: usize,
    /// For a transaction's own writes. They are newer than everything else, whatever their numbers
    /// are, and hide what these range tombstones cover.
    own: Option<Arc<Vec<RangeTombstone>>>,
    /// Of each key only the versions visible at this snapshot.
    snapshot: Option<SeqNo>,
    /// The last entry that needs none of the older ones of its key.
    decided: Option<Place>,
    /// Memory for the entries of a chunk.
    places: Vec<Place>,
    /// No older source has rows of the range, so a deletion hides nothing and is not handed out.
    is_last: bool,
}

impl<M: Deref<Target = Memtable> + Send> MemSource<M> {
    /// All versions within `range`.
    #[must_use]
    pub fn new(memtable: M, range: KeyRange) -> Self {
        Self::of(memtable, range, None, Projection::ALL, CHUNK_ROWS)
    }

    /// Of each key only the versions visible at this snapshot, as [`RowSource::is_resolved`] says.
    pub(crate) fn seen(
        memtable: M,
        range: KeyRange,
        snapshot: SeqNo,
        projection: Projection,
        chunk_rows: usize,
    ) -> Self {
        Self::of(memtable, range, Some(snapshot), projection, chunk_rows)
    }

    fn of(
        memtable: M,
        range: KeyRange,
        snapshot: Option<SeqNo>,
        projection: Projection,
        chunk_rows: usize,
    ) -> Self {
        let place = memtable.place_of(range.lower.as_ref());
        Self {
            memtable,
            place,
            range,
            projection,
            chunk_rows,
            own: None,
            snapshot,
            decided: None,
            places: Vec::new(),
            is_last: false,
        }
    }

    /// No older source has rows of the range.
    pub(crate) fn into_last(mut self) -> Self {
        self.is_last = true;
        self
    }

    /// Finds the entries of the next chunk, and appends their keys, numbers and kinds.
    fn find(&mut self, out: &mut Rows) {
        self.places.clear();
        let memtable = &*self.memtable;
        let mut walk = memtable.walk(self.place);
        // Versions older than a decisive version, or than one that holds the combined value, are
        // skipped.
        let mut decided = self.decided.map(|place| memtable.entry(place));
        let mut older = 0;
        let mut passed = PassedDeletions::default();
        while self.places.len() < self.chunk_rows {
            let Some(entry) = walk.entry() else { break };
            if decided.is_some_and(|decided| entry.has_key_of(&decided)) {
                older += 1;
                match older {
                    VERSIONS_MAX => walk = memtable.walk_behind(entry.key().as_ref()),
                    _ => walk.advance(),
                }
                continue;
            }
            let beyond = |upper: &Key| entry.key().as_ref() >= upper.as_ref();
            if self.range.upper.as_ref().is_some_and(beyond) {
                break;
            }
            let is_seen = match (&self.own, self.snapshot) {
                (Some(own), _) => !is_own_hidden(own, entry),
                (None, snapshot) => snapshot.is_none_or(|snapshot| entry.seq() <= snapshot),
            };
            walk.advance();
            if !is_seen {
                continue;
            }
            let whole = entry.whole().filter(|_| self.snapshot.is_some());
            let kind = whole.map_or(entry.kind(), |whole| whole.kind);
            let is_last = entry.kind() != Kind::Merge as u8 || whole.is_some();
            if is_last && self.snapshot.is_some() {
                (decided, older) = (Some(entry), 0);
            }
            if let (true, Some(snapshot)) = (self.is_last, self.snapshot) {
                if kind == Kind::Delete as u8 {
                    if let Some(behind) = passed.pass(memtable, entry, snapshot) {
                        walk = memtable.walk(behind);
                    }
                    continue;
                }
                passed.end(memtable);
            }
            out.seqs.push(if self.own.is_some() { SEQ_STORED_MAX.0 } else { entry.seq().0 });
            out.kinds.push(kind);
            entry.append_key(&mut out.keys);
            if self.projection.values != 0 {
                entry.prefetch_values();
            }
            self.places.push(entry.place());
        }
        passed.end(memtable);
        (self.place, self.decided) = (walk.place(), decided.map(|entry| entry.place()));
        if out.kinds.iter().all(|&kind| kind == Kind::Put as u8) {
            out.kinds.clear();
        }
    }

    /// The versions are a transaction's own.
    pub(crate) fn into_own(mut self) -> Self {
        self.own = Some(self.memtable.range_tombstones());
        self
    }
}

/// Whether one of a transaction's own range tombstones hides one of its own entries.
pub(crate) fn is_own_hidden(tombstones: &[RangeTombstone], entry: EntryRef<'_>) -> bool {
    let hides = |tombstone: &RangeTombstone| {
        entry.seq() < tombstone.seq && tombstone.range.contains(entry.key().as_ref())
    };
    tombstones.iter().any(hides)
}

impl<M: Deref<Target = Memtable> + Send> RowSource for MemSource<M> {
    fn next_rows(&mut self, out: &mut Rows) -> Result<bool> {
        // First finds the entries, then reads them column by column: these reads do not depend on
        // one another.
        self.find(out);
        let memtable = &*self.memtable;
        let entries = || self.places.iter().map(|&place| memtable.entry(place));
        let has_wholes = self.snapshot.is_some() && memtable.has_wholes();
        for (i, column) in out.values.iter_mut().enumerate() {
            if !self.projection.value(i) {
                continue;
            }
            match column {
                Column::Words(column) if has_wholes => {
                    let word = |entry: EntryRef<'_>| match entry.whole() {
                        Some(whole) => Some(whole.word),
                        None => entry.word(i),
                    };
                    entries().for_each(|entry| column.push(word(entry)));
                }
                Column::Words(column) => {
                    for places in self.places.chunks(AT_ONCE) {
                        let (before, mut valid) = (column.words.len(), 0);
                        for (bit, &place) in places.iter().enumerate() {
                            let word = memtable.entry(place).word(i);
                            column.words.push(word.unwrap_or_default());
                            valid |= u64::from(word.is_some()) << bit;
                        }
                        column.validity.extend(before, places.len(), |_| valid);
                    }
                }
                // Slot, string, copy: each is a wait for memory before the next.
                Column::Bytes(column) => {
                    for places in self.places.chunks(AT_ONCE) {
                        let entry = |&place: &Place| memtable.entry(place);
                        places.iter().for_each(|place| entry(place).prefetch_bytes(i));
                        let mut strings = [None; AT_ONCE];
                        for (string, place) in strings.iter_mut().zip(places) {
                            *string = entry(place).bytes(i);
                            prefetch_front(string.unwrap_or_default(), 1);
                        }
                        strings[..places.len()].iter().for_each(|string| column.push(*string));
                    }
                }
            }
        }
        Ok(!self.places.is_empty())
    }

    fn is_resolved(&self) -> bool {
        self.snapshot.is_some()
    }

    fn is_passing(&self) -> bool {
        self.own.is_none()
    }
}

/// The versions of tables that follow one another, within a range, with read-ahead.
pub struct RunSource {
    tables: Vec<Arc<Table>>,
    table: usize,
    blocks: Range<usize>,
    ready: VecDeque<Arc<Block>>,
    current: Option<(Arc<Block>, Range<usize>)>,
    range: KeyRange,
    projection: Projection,
    fill: Fill,
    /// Of the next chunk; the one after it is longer.
    pub(crate) chunk_rows: usize,
    window_blocks: usize,
    /// Every row is visible unchanged to this reader.
    pub(crate) is_plain: bool,
    /// See [`RowSource::is_passing`].
    pub(crate) is_passing: bool,
    /// Excludes blocks, which are then not read.
    filter: Option<Arc<BlockFilter>>,
}

impl RunSource {
    /// All versions within `range`. The tables are in key order and do not overlap.
    #[must_use]
    pub fn new(tables: Vec<Arc<Table>>, range: KeyRange) -> Self {
        let mut source = Self::projected(tables, range, Projection::ALL, Fill::Once, CHUNK_ROWS);
        source.window_blocks = WINDOW_BLOCKS;
        source
    }

    pub(crate) fn projected(
        tables: Vec<Arc<Table>>,
        range: KeyRange,
        projection: Projection,
        fill: Fill,
        chunk_rows: usize,
    ) -> Self {
        let blocks = tables.first().map_or(0..0, |table| table.blocks_overlapping(&range));
        Self {
            tables,
            table: 0,
            blocks,
            ready: VecDeque::new(),
            current: None,
            range,
            projection,
            fill,
            chunk_rows,
            window_blocks: 1,
            is_plain: false,
            is_passing: false,
            filter: None,
        }
    }

    /// Skips blocks that this filter excludes. All rows of the range must be in this run, each key
    /// once: otherwise a skipped row could be the newest version of a key, and another source
    /// would return an older one.
    pub(super) fn skip_by(&mut self, filter: Arc<BlockFilter>) {
        self.filter = Some(filter);
    }

    /// So many rows will be wanted surely, so the first blocks are read at once.
    pub(crate) fn expect(&mut self, rows: usize) {
        if let Some(table) = self.tables.first()
            && !self.blocks.is_empty()
        {
            self.window_blocks = window(table, &self.blocks, rows).len();
        }
    }

    /// The rows not yet returned from the current block. Goes to the next block if there are none.
    pub(crate) fn block(&mut self) -> Result<Option<(&Arc<Block>, &mut Range<usize>)>> {
        while self.current.as_ref().is_none_or(|(_, rows)| rows.is_empty()) {
            if self.ready.is_empty() && !self.read()? {
                self.current = None;
                return Ok(None);
            }
            self.current = self.ready.pop_front().map(|block| {
                let rows = block.rows_in(&self.range);
                (block, rows)
            });
        }
        Ok(self.current.as_mut().map(|(block, rows)| (&*block, rows)))
    }

    /// Reads the next blocks: few at first, for a scan may be short.
    fn read(&mut self) -> Result<bool> {
        while self.blocks.is_empty() || !self.skip() {
            self.table += 1;
            let Some(table) = self.tables.get(self.table) else { return Ok(false) };
            self.blocks = table.blocks_overlapping(&self.range);
        }
        let table = &self.tables[self.table];
        let mut end = self.blocks.end.min(self.blocks.start + self.window_blocks);
        if let Some(filter) = &self.filter {
            let mut wanted = self.blocks.start + 1..end;
            end = wanted.find(|&i| !table.block_may_match(i, filter)).unwrap_or(end);
        }
        let end = window(table, &(self.blocks.start..end), usize::MAX).end;
        // Of the first block of a short scan few rows may be wanted.
        let few = self.fill == Fill::Keep && end == self.blocks.start + 1;
        let blocks = self.blocks.start..end;
        if let Some(filter) = &self.filter {
            filter.count(blocks.len() as u64, 0);
        }
        self.ready.extend(read_window(table, blocks, few, self.projection, self.fill)?);
        self.blocks.start = end;
        self.window_blocks = (self.window_blocks * 2).min(WINDOW_BLOCKS);
        Ok(true)
    }

    /// Skips the next blocks of the current table that the filter excludes. Returns whether a block
    /// is left.
    fn skip(&mut self) -> bool {
        let (Some(filter), Some(table)) = (&self.filter, self.tables.get(self.table)) else {
            return true;
        };
        let next = self.blocks.clone().find(|&i| table.block_may_match(i, filter));
        let next = next.unwrap_or(self.blocks.end);
        let skipped = (next - self.blocks.start) as u64;
        filter.count(skipped, skipped);
        self.blocks.start = next;
        !self.blocks.is_empty()
    }
}

/// The first of these blocks, which must not be empty: as many as hold `rows` rows, at most one
/// read's worth.
pub(super) fn window(table: &Table, blocks: &Range<usize>, rows: usize) -> Range<usize> {
    let mut end = blocks.start + 1;
    let mut held = table.block_rows(blocks.start);
    let mut bytes = table.block_bytes(blocks.start);
    while end < blocks.end && end - blocks.start < WINDOW_BLOCKS && held < rows {
        bytes = bytes.saturating_add(table.block_bytes(end));
        if bytes > WINDOW_BYTES {
            break;
        }
        held = held.saturating_add(table.block_rows(end));
        end += 1;
    }
    blocks.start..end
}

/// A block, or its head: where that lacks nothing of a projection, or `few` of the rows are wanted.
pub(super) fn read_block(
    table: &Table,
    number: usize,
    few: bool,
    projection: Projection,
    fill: Fill,
) -> Result<Arc<Block>> {
    match table.reads_heads(projection, few) {
        true => table.head(number, fill),
        false => table.block(number, fill),
    }
}

/// The same for blocks that follow one another, read at once.
pub(super) fn read_window(
    table: &Table,
    window: Range<usize>,
    few: bool,
    projection: Projection,
    fill: Fill,
) -> Result<Vec<Arc<Block>>> {
    if window.len() == 1 {
        return Ok(vec![read_block(table, window.start, few, projection, fill)?]);
    }
    let numbers: Vec<usize> = window.collect();
    match table.reads_heads(projection, few) {
        true => table.read_heads(&numbers, fill),
        false => table.read_blocks(&numbers, fill.of_blocks(numbers.len())),
    }
}

impl RowSource for RunSource {
    fn next_rows(&mut self, out: &mut Rows) -> Result<bool> {
        let (chunk_rows, projection) = (self.chunk_rows, self.projection);
        self.chunk_rows = (chunk_rows * 4).min(CHUNK_ROWS);
        let Some((block, rows)) = self.block()? else { return Ok(false) };
        let end = rows.end.min(rows.start + chunk_rows);
        block.append_versions_read(rows.start..end, projection, out)?;
        rows.start = end;
        Ok(true)
    }

    fn is_passing(&self) -> bool {
        self.is_passing
    }
}

/// A source of any kind; [`RunSource`] apart, since whole blocks can be taken from it.
pub(crate) enum Source<'a> {
    Run(Box<RunSource>),
    Other(Box<dyn RowSource + 'a>),
}

impl Source<'_> {
    pub(crate) fn next_rows(&mut self, out: &mut Rows) -> Result<bool> {
        match self {
            Self::Run(source) => source.next_rows(out),
            Self::Other(source) => source.next_rows(out),
        }
    }

    /// Whether all rows are visible unchanged, if no other source has their keys.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Run(run) if run.is_plain)
    }

    fn is_resolved(&self) -> bool {
        matches!(self, Self::Other(source) if source.is_resolved())
    }

    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Run(source) => source.is_passing(),
            Self::Other(source) => source.is_passing(),
        }
    }

    /// Whether each of these rows, the next after `last`, decides its key for a reader at
    /// `snapshot`: a visible put or delete, and the only version here.
    pub(crate) fn decides(&self, rows: &Rows, last: Option<&Key>, snapshot: SeqNo) -> bool {
        if self.is_plain() {
            return true;
        }
        if rows.kinds.contains(&(Kind::Merge as u8)) {
            return false;
        }
        let first = || rows.keys.get(0);
        self.is_resolved()
            || rows.seqs.iter().all(|&seq| SeqNo(seq) <= snapshot)
                && last.is_none_or(|last| *last != first())
                && (1..rows.len()).all(|row| compare_rows(&rows.keys, row - 1, row).is_ne())
    }
}

/// Whether a table can hold keys of `range`, as far as its bounds and filters tell.
pub(crate) fn may_overlap(table: &Table, range: &KeyRange) -> bool {
    let summary = &table.meta().summary;
    summary.rows > 0
        && range.overlaps(summary.first_key.as_ref(), summary.last_key.as_ref())
        && single_first_word(range).is_none_or(|word| table.may_contain_first_word(word))
}

/// The first word that all keys of the range begin with, if there is one. Keys outside of the range
/// may begin with it too.
pub(crate) fn single_first_word(range: &KeyRange) -> Option<u64> {
    let KeyRef::Words([word, ..]) = range.lower.as_ref() else { return None };
    let single = match range.upper.as_ref().map(base::Key::as_ref) {
        None => *word == u64::MAX,
        Some(KeyRef::Words([upper])) => upper.checked_sub(1) == Some(*word),
        Some(KeyRef::Words([upper, ..])) => upper == word,
        Some(_) => false,
    };
    single.then_some(*word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtable::Kinds;
    use base::{Batch, ColumnShape, KeyShape, Shape};
    use proptest::prelude::*;

    fn key_of(shape: KeyShape, key: u8) -> Key {
        match shape {
            // Alike in their first eight bytes.
            KeyShape::Bytes => Key::Bytes(format!("a longer key {key:03}").into_bytes()),
            KeyShape::Words(words) => Key::words(&[9, u64::from(key)][2 - usize::from(words)..]),
        }
    }

    /// Key, sequence number, kind, and the values of a word and a string.
    type Version = (Key, u64, u8, Option<u64>, Option<Vec<u8>>);

    /// Inserts a version whose values derive from its sequence number.
    fn insert(
        memtable: &Memtable,
        shape: &Shape,
        key: Key,
        seq: u64,
        kind: Kind,
        has_value: bool,
    ) -> Version {
        let word = has_value.then_some(seq * 3);
        let text = has_value.then(|| vec![seq as u8; seq as usize % 5]);
        let mut batch = Batch { rows: 1, ..Batch::new(shape) };
        batch.keys.push(key.as_ref());
        for column in &mut batch.values {
            match column {
                Column::Words(column) => column.push(word),
                Column::Bytes(column) => column.push(text.as_deref()),
            }
        }
        memtable.insert(&batch, Kinds::Uniform(kind), SeqNo(seq));
        (key, seq, kind as u8, word, text)
    }

    fn versions_of(rows: &Rows) -> Vec<Version> {
        let (Column::Words(words), Column::Bytes(texts)) = (&rows.values[0], &rows.values[1])
        else {
            unreachable!("a word and a text");
        };
        let version = |row: usize| {
            let word = words.validity.is_valid(row).then(|| words.words[row]);
            let text = texts.validity.is_valid(row).then(|| texts.get(row).to_vec());
            (rows.keys.get(row), rows.seq(row).0, rows.kind(row), word, text)
        };
        (0..rows.len()).map(version).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn of_each_key_comes_what_a_reader_sees_whatever_a_chunk_holds(
            writes in prop::collection::vec((0..40_u8, 0..3_u8, any::<bool>()), 0..400),
            hot in 0..60_usize,
            swept in (0..40_u8, 0..40_u8),
            snapshot in 0..500_u64,
            chunk_rows in 1..40_usize,
            lower in 0..20_u8,
            shape in 0..3_usize,
        ) {
            let values = vec![ColumnShape::Word { merge: None }, ColumnShape::Bytes];
            let key = [KeyShape::Words(1), KeyShape::Words(2), KeyShape::Bytes][shape];
            let shape = Shape { key, values };
            let memtable = Memtable::new(&shape);
            // One key with more versions than a walk goes past one by one.
            let hot = std::iter::repeat_n((7, 0, true), hot);
            // And many deleted in a row.
            let swept = (swept.0..swept.1).map(|key| (key, 2, false));
            let kinds = [Kind::Put, Kind::Merge, Kind::Delete];
            let mut all = Vec::new();
            for (seq, (key, kind, is_there)) in (1..).zip(writes.into_iter().chain(hot).chain(swept)) {
                let (kind, key) = (kinds[usize::from(kind)], key_of(shape.key, key));
                all.push(insert(&memtable, &shape, key, seq, kind, is_there && kind != Kind::Delete));
            }
            let range = KeyRange { lower: key_of(shape.key, lower), upper: Some(key_of(shape.key, 35)) };
            all.retain(|(key, seq, ..)| range.contains(key.as_ref()) && *seq <= snapshot);
            all.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
            let mut decided = None;
            all.retain(|(key, _, kind, ..)| {
                let is_older = decided.as_ref() == Some(key);
                if *kind != Kind::Merge as u8 {
                    decided = Some(key.clone());
                }
                !is_older
            });
            // With all deletions; without those that hide nothing; and again, now that the memtable
            // knows their ranges.
            for is_last in [false, true, true] {
                let range = range.clone();
                let mut source =
                    MemSource::seen(&memtable, range, SeqNo(snapshot), Projection::ALL, chunk_rows);
                if is_last {
                    source = source.into_last();
                    all.retain(|(_, _, kind, ..)| *kind != Kind::Delete as u8);
                }
                let mut found = Vec::new();
                let mut rows = Rows::new(&shape);
                while source.next_rows(&mut rows).unwrap() {
                    prop_assert!((1..=chunk_rows).contains(&rows.len()));
                    found.extend(versions_of(&rows));
                    rows.clear();
                }
                prop_assert_eq!(&found, &all);
            }
        }
    }
}
