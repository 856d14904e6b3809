//! Reads rows of a stored relation as columns of cells, by ranges of keys or by many keys per call.
//!
//! # Invariants
//! 1. Columns are identified by their index in the relation, whichever path is read.
//! 2. A range may contain rows that its condition refuses, but never lacks one that it accepts:
//!    conditions are evaluated again.

use crate::batch_size::CHUNK_ROWS;
use crate::storage::decode::Picked;
use crate::storage::key_bounds::{bound_word, encode_cells, number, raw_key, text_after, word_of};
use crate::value::cell::{Cell, Interner, fits_cells};
use crate::value::columns::Columns;
use base::{Batch, BlockFilter, Key, KeyRange, KeyShape, Keys, KeyspaceId, Projection, Shape};
use model::{Type, Value, encode_value};
use relation::{JsonPath, KeyColumn, Schema};
use std::hash::BuildHasher;
use std::sync::Arc;
use store::{Error, Read, Result};

/// Bytes of strings that are read in one piece.
pub(crate) const SHORT_BYTES: usize = 1 << 20;

/// Rows that are sampled where they may be long.
const LONG_DRAWN: usize = 4;

/// Rows of a range that are read in one piece.
pub const SHORT_ROWS: usize = 256;

/// Words for [`Read::sample_into`] that are the same each time, so that everything derived from the
/// sample is, too.
pub(crate) fn words_to_draw_by() -> impl FnMut() -> u64 {
    let (hasher, mut draws) = (foldhash::fast::FixedState::with_seed(0), 0_u64);
    move || {
        draws += 1;
        hasher.hash_one(draws)
    }
}

/// A column of an index that has the value at a path into a column of the relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathColumn {
    /// Its index, after those of the relation's columns.
    pub index: usize,
    /// The column into which the path goes.
    pub column: usize,
    /// The path.
    pub path: JsonPath,
}

/// The place of a column in an order of rows, as opposed to its number in the relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the key.
    Key(usize),
    /// Among the values.
    Value(usize),
}

/// One order in which a relation's rows are stored.
#[derive(Clone, Debug)]
pub struct StoredPath {
    /// The keyspace.
    pub keyspace: KeyspaceId,
    /// Schema of the keyspace.
    pub schema: Schema,
    /// Shape of the keyspace.
    pub shape: Shape,
    /// For each column of the keyspace, its index in the relation. Values at paths have indexes
    /// after those of the relation's columns.
    pub columns: Vec<usize>,
    /// The values at paths among them.
    pub path_columns: Vec<PathColumn>,
    /// A value column where null means that the value is stored elsewhere, out of reach for
    /// scripts.
    pub kept_elsewhere: Option<usize>,
    /// Whether the single key column is a string and keys are its bytes, not an encoded tuple.
    pub has_raw_keys: bool,
    /// For the edges of an undirected graph: the key words of source and target. The smaller one is
    /// stored as the source.
    pub ordered_ends: Option<[usize; 2]>,
}

impl StoredPath {
    /// The path for a relation's own keyspace.
    pub fn of(schema: Schema, keyspace: KeyspaceId) -> Self {
        let columns = (0..schema.columns()).collect();
        let shape = schema.shape();
        Self {
            keyspace,
            shape,
            schema,
            columns,
            path_columns: Vec::new(),
            kept_elsewhere: None,
            has_raw_keys: false,
            ordered_ends: None,
        }
    }

    /// Puts the ends of edges of an undirected graph in their stored order, in rows of this path.
    pub fn order_ends(&self, rows: &mut Batch) {
        if let Some(places) = self.ordered_ends
            && let Keys::Words(columns) = &mut rows.keys
            && let Ok([sources, targets]) = columns.get_disjoint_mut(places)
        {
            for (source, target) in sources.iter_mut().zip(targets) {
                if *target < *source {
                    std::mem::swap(source, target);
                }
            }
        }
    }

    /// The path for an index of a relation; `None` if the relation lacks one of its columns.
    /// `known` has the values at paths of the relation's other indexes, and gets those of this one.
    pub fn of_index(
        relation: &Schema,
        index: Schema,
        keyspace: KeyspaceId,
        known: &mut Vec<PathColumn>,
    ) -> Option<Self> {
        let columns = relation.columns();
        let place = |name: &String| relation.names().position(|own| own == name);
        let (known_before, mut own) = (known.len(), Vec::new());
        let mut column = |key: &KeyColumn| {
            let Some(path) = &key.path else { return place(&key.name) };
            let there = known.iter().find(|one| one.path == *path).cloned();
            let found = match there {
                Some(there) => there,
                None => {
                    let index = columns + known.len();
                    let column = place(&path.column)?;
                    known.push(PathColumn { index, column, path: path.clone() });
                    known.last()?.clone()
                }
            };
            own.push(found.clone());
            Some(found.index)
        };
        let columns = index.keys.iter().map(&mut column).collect::<Option<Vec<usize>>>();
        if columns.is_none() {
            // No index has these: the numbers of paths have no gaps.
            known.truncate(known_before);
        }
        Some(Self { columns: columns?, path_columns: own, ..Self::of(index, keyspace) })
    }

    /// For each column of the keyspace, the column of the relation that its value depends on.
    pub fn origins(&self) -> Vec<usize> {
        let origin = |&column: &usize| self.path_column(column).map_or(column, |path| path.column);
        self.columns.iter().map(origin).collect()
    }

    /// The row of this order for a row of the relation.
    pub fn row_of(&self, row: &[Value]) -> Vec<Value> {
        let value = |&column: &usize| match self.path_column(column) {
            None => row[column].clone(),
            Some(path) => path.path.value_in(&row[path.column]),
        };
        self.columns.iter().map(value).collect()
    }

    fn path_column(&self, column: usize) -> Option<&PathColumn> {
        self.path_columns.iter().find(|path| path.index == column)
    }

    /// Whether all these columns of the relation are stored here.
    pub(crate) fn covers(&self, wanted: &[usize]) -> bool {
        wanted.iter().all(|column| self.columns.contains(column))
    }

    /// Whether values of a column may need interning, because they do not always fit a word.
    pub(crate) fn is_costly(&self, column: usize) -> bool {
        let is_costly = |place| !fits_cells(self.column_type(place).without_null());
        self.place(column).is_some_and(is_costly)
    }

    pub(crate) fn keys(&self) -> usize {
        self.schema.keys.len()
    }

    pub(crate) fn column_type(&self, place: Place) -> &Type {
        match place {
            Place::Key(key) => &self.schema.keys[key].column_type,
            Place::Value(value) => &self.schema.values[value].column_type,
        }
    }

    /// Where the path has columns of the relation.
    pub(super) fn places(&self, wanted: &[usize]) -> Vec<Place> {
        wanted.iter().filter_map(|&column| self.place(column)).collect()
    }

    /// The place with this number, if the values are numbered after the keys.
    pub(crate) fn place_at(&self, number: usize) -> Place {
        number.checked_sub(self.keys()).map_or(Place::Key(number), Place::Value)
    }

    /// The number of a place, if the values are numbered after the keys.
    pub(crate) fn number_of(&self, place: Place) -> usize {
        match place {
            Place::Key(key) => key,
            Place::Value(value) => self.keys() + value,
        }
    }

    pub(super) fn projection(&self, places: &[Place]) -> Projection {
        let mut projection = Projection::COUNT;
        for &place in places {
            match place {
                Place::Key(_) if self.shape.key == KeyShape::Bytes => projection.keys |= 1,
                Place::Key(key) => projection.keys |= 1 << key,
                Place::Value(value) => projection.want_value(value),
            }
        }
        projection
    }

    /// The range of all keys.
    pub fn all(&self) -> KeyRange {
        KeyRange::all(&self.shape.key)
    }

    /// The range of keys that start with these cells; `None` where no stored row can have them.
    pub(crate) fn prefix(&self, prefix: &[Cell], interner: &Interner) -> Option<KeyRange> {
        let mut range = self.all();
        self.set_prefix(&mut range, prefix, interner, &mut Vec::new()).then_some(range)
    }

    /// Sets a range to the keys that start with these cells; false where no stored row can have
    /// them. Reuses the memory of `range`, which is of this path, and of `encoded`.
    fn set_prefix(
        &self,
        range: &mut KeyRange,
        prefix: &[Cell],
        interner: &Interner,
        encoded: &mut Vec<u8>,
    ) -> bool {
        let found = match self.shape.key {
            KeyShape::Words(_) => {
                self.words(prefix, interner).map(|words| KeyRange::prefix_words(&words))
            }
            KeyShape::Bytes if self.has_raw_keys => match prefix {
                [] => Some(self.all()),
                [cell, ..] => interner.with(*cell, raw_key),
            },
            KeyShape::Bytes => {
                encoded.clear();
                encode_cells(prefix.iter().copied(), interner, encoded);
                range.set_prefix_bytes(encoded);
                return true;
            }
        };
        found.map(|found| *range = found).is_some()
    }

    /// The key words of these cells; `None` where the columns cannot have such values.
    fn words(&self, prefix: &[Cell], interner: &Interner) -> Option<Vec<u64>> {
        let words = prefix.iter().enumerate();
        words.map(|(i, &cell)| word_of(self.column_type(Place::Key(i)), cell, interner)).collect()
    }

    /// Narrows a range that [`StoredPath::prefix`] made of `prefix` to values of the next column
    /// from `lower` to `upper`.
    pub(crate) fn narrow(
        &self,
        range: &mut KeyRange,
        prefix: &[Cell],
        lower: Option<&Value>,
        upper: Option<&Value>,
        interner: &Interner,
    ) {
        let of = self.column_type(Place::Key(prefix.len()));
        let bound = |value: &Value, up: bool| -> Option<KeyRange> {
            match self.shape.key {
                KeyShape::Words(_) => {
                    let word = bound_word(of, value, up)?;
                    let mut words = self.words(prefix, interner)?;
                    words.push(word);
                    Some(KeyRange::prefix_words(&words))
                }
                KeyShape::Bytes if self.has_raw_keys => raw_key(value),
                KeyShape::Bytes => {
                    let mut bytes = Vec::new();
                    encode_cells(prefix.iter().copied(), interner, &mut bytes);
                    let value = match value {
                        // 1 and 1.0 compare as equal, but are neighbors in key order.
                        Value::Int(_) | Value::Id(_) | Value::Float(_) | Value::Decimal(_) => {
                            let float = number(value)?;
                            Value::Float(if up { float.next_up() } else { float.next_down() })
                        }
                        other => other.clone(),
                    };
                    encode_value(&value, &mut bytes);
                    Some(KeyRange::prefix_bytes(&bytes))
                }
            }
        };
        if let Some(bound) = lower.and_then(|lower| bound(lower, false)) {
            range.lower = bound.lower;
        }
        if let Some(bound) = upper.and_then(|upper| bound(upper, true))
            && bound.upper.is_some()
        {
            range.upper = bound.upper;
        }
    }

    /// Narrows a range to strings of the next column that start with `text`, if the column may hold
    /// strings.
    pub(crate) fn narrow_to_text(
        &self,
        range: &mut KeyRange,
        prefix: &[Cell],
        text: &str,
        interner: &Interner,
    ) {
        if self.shape.key != KeyShape::Bytes {
            return;
        }
        if self.has_raw_keys {
            *range = KeyRange::prefix_bytes(text.as_bytes());
            return;
        }
        let mut bytes = Vec::new();
        encode_cells(prefix.iter().copied(), interner, &mut bytes);
        let mut lower = bytes.clone();
        encode_value(&Value::Str(text.to_owned()), &mut lower);
        range.lower = Key::bytes(&lower);
        if let Some(after) = text_after(text) {
            encode_value(&Value::Str(after), &mut bytes);
            range.upper = Some(Key::bytes(&bytes));
        }
    }

    /// Passes the wanted columns of a range's rows to `visit` until it returns false. A short range
    /// is one chunk; otherwise the first chunk has `chunk_rows` rows, and each later one twice as
    /// many, up to 64 times and some thousand rows.
    ///
    /// # Errors
    /// Those of the store and of `visit`.
    pub(crate) fn scan<E: From<Error>>(
        &self,
        read: &dyn Read,
        range: KeyRange,
        wanted: &[usize],
        chunk_rows: usize,
        interner: &Interner,
        visit: &mut dyn FnMut(Columns) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        self.scan_not_comparing(read, range, wanted, &[], chunk_rows, interner, visit)
    }

    /// As [`StoredPath::scan`]; values of the columns `not_compared` are never compared.
    ///
    /// # Errors
    /// Those of the store and of `visit`.
    #[expect(clippy::too_many_arguments, reason = "a scan, and how it is read")]
    pub(crate) fn scan_not_comparing<E: From<Error>>(
        &self,
        read: &dyn Read,
        range: KeyRange,
        wanted: &[usize],
        not_compared: &[usize],
        chunk_rows: usize,
        interner: &Interner,
        visit: &mut dyn FnMut(Columns) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        let places = self.places(wanted);
        let visit = &mut |batch: &Batch| {
            visit(self.cells(
                batch,
                &Picked::Range(0..batch.rows),
                &places,
                not_compared,
                interner,
            )?)
        };
        self.batches(read, range, &places, chunk_rows, None, visit)
    }

    /// As [`StoredPath::scan`], with the batches as the store decodes them. Blocks that `filter`
    /// excludes may be left out.
    ///
    /// # Errors
    /// Those of the store and of `visit`.
    pub(crate) fn scan_batches<E: From<Error>>(
        &self,
        read: &dyn Read,
        range: KeyRange,
        wanted: &[usize],
        chunk_rows: usize,
        filter: Option<&Arc<BlockFilter>>,
        visit: &mut dyn FnMut(&Batch) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        self.batches(read, range, &self.places(wanted), chunk_rows, filter, visit)
    }

    /// The place of a column of the relation.
    pub(crate) fn place(&self, column: usize) -> Option<Place> {
        let number = self.columns.iter().position(|own| *own == column)?;
        Some(self.place_at(number))
    }

    /// Passes the rows of a range, with the columns at these places, to `visit` in chunks, as
    /// [`StoredPath::scan`] says.
    fn batches<E: From<Error>>(
        &self,
        read: &dyn Read,
        range: KeyRange,
        places: &[Place],
        chunk_rows: usize,
        filter: Option<&Arc<BlockFilter>>,
        visit: &mut dyn FnMut(&Batch) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        if range.is_empty() {
            return Ok(());
        }
        let projection = self.projection(places);
        let mut batch = Batch::new(&self.shape);
        // Most ranges of a query are short, and need no stream.
        let (rows, bytes) = (SHORT_ROWS, SHORT_BYTES);
        let has_more =
            read.scan_some_into(self.keyspace, &range, projection, rows, bytes, &mut batch)?;
        if !has_more {
            if batch.rows > 0 {
                visit(&batch)?;
            }
            return Ok(());
        }
        batch.clear();
        let mut scan = match filter {
            Some(filter) => read.scan_filtered(self.keyspace, range, projection, filter)?,
            None => read.scan(self.keyspace, range, projection)?,
        };
        let mut chunk = chunk_rows.min(CHUNK_ROWS);
        let chunk_max = CHUNK_ROWS.min(64 * chunk);
        while scan.next_batch(chunk, &mut batch)? {
            if !visit(&batch)? {
                break;
            }
            batch.clear();
            chunk = (2 * chunk).min(chunk_max);
        }
        Ok(())
    }

    /// The first rows, at most `rows_max`, that start with these cells; `None` where they are too
    /// long to be read in one piece.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn few(
        &self,
        read: &dyn Read,
        prefix: &[Cell],
        wanted: &[usize],
        rows_max: usize,
        interner: &Interner,
    ) -> Result<Option<Columns>> {
        let places = self.places(wanted);
        let mut batch = Batch::new(&self.shape);
        if let Some(range) = self.prefix(prefix, interner) {
            let projection = self.projection(&places);
            if prefix.len() == self.keys() {
                // The range starts at its only key.
                read.get(self.keyspace, range.lower.as_ref(), projection, &mut batch)?;
            } else {
                let (of, bytes) = (self.keyspace, SHORT_BYTES);
                read.scan_some_into(of, &range, projection, rows_max, bytes, &mut batch)?;
                if batch.rows < rows_max && batch.heap_bytes() >= SHORT_BYTES {
                    return Ok(None);
                }
            }
        }
        self.cells(&batch, &Picked::Range(0..batch.rows), &places, &[], interner).map(Some)
    }

    /// Looks up rows by key prefixes, one for each row of `keys`. Appends to `found` the index of
    /// that row for each row found, in order.
    ///
    /// # Errors
    /// Those of the store.
    pub fn probe(
        &self,
        read: &dyn Read,
        keys: &[&[Cell]],
        rows: usize,
        wanted: &[usize],
        interner: &Interner,
        found: &mut Vec<u32>,
    ) -> Result<Columns> {
        let places = self.places(wanted);
        if keys.len() == self.keys() {
            return self.probe_whole(read, keys, rows, &places, interner, found);
        }
        let projection = self.projection(&places);
        let mut batch = Batch::new(&self.shape);
        if keys.len() == 1 && matches!(self.shape.key, KeyShape::Words(_)) {
            let of = self.column_type(Place::Key(0));
            let mut words = Vec::with_capacity(rows);
            let mut asked = Vec::with_capacity(rows);
            for (row, &cell) in keys[0].iter().enumerate().take(rows) {
                if let Some(word) = word_of(of, cell, interner) {
                    words.push(word);
                    asked.push(row as u32);
                }
            }
            let mut offsets = Vec::with_capacity(words.len() + 1);
            read.prefix_many(self.keyspace, &words, projection, &mut offsets, &mut batch)?;
            for (pair, &row) in offsets.windows(2).zip(&asked) {
                found.extend(std::iter::repeat_n(row, (pair[1] - pair[0]) as usize));
            }
            return self.cells(&batch, &Picked::Range(0..batch.rows), &places, &[], interner);
        }
        let mut key = Vec::with_capacity(keys.len());
        let (mut range, mut encoded) = (self.all(), Vec::new());
        for row in 0..rows {
            key.clear();
            key.extend(keys.iter().map(|column| column[row]));
            if !self.set_prefix(&mut range, &key, interner, &mut encoded) {
                continue;
            }
            let before = batch.rows;
            read.scan_into(self.keyspace, &range, projection, usize::MAX, &mut batch)?;
            found.extend(std::iter::repeat_n(row as u32, batch.rows - before));
        }
        self.cells(&batch, &Picked::Range(0..batch.rows), &places, &[], interner)
    }

    /// Mean bytes of a row's byte strings, estimated from a sample, which is smaller where rows are
    /// long.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn mean_bytes(
        &self,
        read: &dyn Read,
        projection: Projection,
        drawn: usize,
    ) -> Result<u64> {
        let mut batch = Batch::new(&self.shape);
        let mut random = words_to_draw_by();
        let mut mean = |rows: usize| {
            read.sample_into(self.keyspace, rows, &mut random, projection, &mut batch)?;
            Ok(batch.heap_bytes() as u64 / batch.rows.max(1) as u64)
        };
        let first = mean(drawn.min(LONG_DRAWN))?;
        match drawn.checked_sub(LONG_DRAWN) {
            Some(more @ 1..) if first * drawn as u64 <= SHORT_BYTES as u64 => mean(more),
            _ => Ok(first),
        }
    }

    /// As [`StoredPath::mean_bytes`], for some columns of the relation.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn mean_bytes_of(
        &self,
        read: &dyn Read,
        wanted: &[usize],
        drawn: usize,
    ) -> Result<u64> {
        self.mean_bytes(read, self.projection(&self.places(wanted)), drawn)
    }

    /// Whether this column is the first key word of a row.
    pub(crate) fn begins_with(&self, column: usize) -> bool {
        matches!(self.shape.key, KeyShape::Words(_)) && self.columns.first() == Some(&column)
    }

    /// The values of words of the first column; [`StoredPath::begins_with`] must hold for it.
    ///
    /// # Errors
    /// A word that is not valid for the column's type.
    pub(crate) fn first_cells(&self, words: &[u64], interner: &Interner) -> Result<Vec<Cell>> {
        let mut cells = Vec::with_capacity(words.len());
        self.word_cells(Place::Key(0), words.iter().map(|&word| Some(word)), interner, &mut cells)?;
        Ok(cells)
    }

    /// The wanted columns of all rows with these first key words. Appends to `offsets` where the
    /// rows of each end.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn groups(
        &self,
        read: &dyn Read,
        words: &[u64],
        wanted: &[usize],
        interner: &Interner,
        offsets: &mut Vec<usize>,
    ) -> Result<Columns> {
        let places = self.places(wanted);
        let mut batch = Batch::new(&self.shape);
        let mut starts = Vec::with_capacity(words.len() + 1);
        let projection = self.projection(&places);
        read.prefix_many(self.keyspace, words, projection, &mut starts, &mut batch)?;
        let before = offsets.last().copied().unwrap_or(0);
        offsets.extend(starts.iter().skip(1).map(|&start| before + start as usize));
        self.cells(&batch, &Picked::Range(0..batch.rows), &places, &[], interner)
    }

    /// Looks up whole keys, which find at most one row each.
    fn probe_whole(
        &self,
        read: &dyn Read,
        keys: &[&[Cell]],
        rows: usize,
        places: &[Place],
        interner: &Interner,
        found: &mut Vec<u32>,
    ) -> Result<Columns> {
        let (wanted, asked) = self.whole_keys(keys, rows, interner);
        let mut projection = self.projection(places);
        projection.keys = 0;
        let mut batch = Batch::new(&self.shape);
        let mut present = Vec::new();
        let is_single = asked.len() == 1;
        if is_single {
            let key = wanted.get(0);
            present.push(read.get(self.keyspace, key.as_ref(), projection, &mut batch)?);
        } else {
            read.get_many(self.keyspace, &wanted, projection, &mut present, &mut batch)?;
        }
        let first = found.len();
        let mut kept = Vec::new();
        for (i, (&row, &present)) in asked.iter().zip(&present).enumerate() {
            if present {
                found.push(row);
                kept.push(i);
            }
        }
        let mut out = Columns { rows: kept.len(), columns: Vec::with_capacity(places.len()) };
        for &place in places {
            out.columns.push(match place {
                Place::Key(key) => {
                    found[first..].iter().map(|&row| keys[key][row as usize]).collect()
                }
                Place::Value(value) => {
                    let mut column = Vec::with_capacity(kept.len());
                    for &i in &kept {
                        let i = if is_single { 0 } else { i };
                        column.push(self.value_cell(&batch.values[value], value, i, interner)?);
                    }
                    column
                }
            });
        }
        Ok(out)
    }

    /// Encodes the whole keys of some rows. Returns them with the numbers of their rows; a row
    /// whose cells no stored key can have is left out.
    fn whole_keys(&self, keys: &[&[Cell]], rows: usize, interner: &Interner) -> (Keys, Vec<u32>) {
        let mut asked = Vec::with_capacity(rows);
        let mut wanted = Keys::new(self.shape.key);
        let mut encoded = Vec::new();
        for row in 0..rows {
            let is_possible = match &mut wanted {
                Keys::Words(columns) => {
                    let mut words = [0; base::WORDS_MAX];
                    let mut all = true;
                    for (i, column) in keys.iter().enumerate() {
                        match word_of(self.column_type(Place::Key(i)), column[row], interner) {
                            Some(word) => words[i] = word,
                            None => all = false,
                        }
                    }
                    if all {
                        columns.iter_mut().zip(words).for_each(|(column, word)| column.push(word));
                    }
                    all
                }
                Keys::Bytes(bytes) if self.has_raw_keys => {
                    interner.with(keys[0][row], |value| match value {
                        Value::Str(text) => {
                            bytes.push(Some(text.as_bytes()));
                            true
                        }
                        _ => false,
                    })
                }
                Keys::Bytes(bytes) => {
                    encoded.clear();
                    encode_cells(keys.iter().map(|column| column[row]), interner, &mut encoded);
                    bytes.push(Some(&encoded));
                    true
                }
            };
            if is_possible {
                asked.push(row as u32);
            }
        }
        (wanted, asked)
    }
}
