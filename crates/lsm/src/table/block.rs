//! One block as it is read: checked bytes and, beside them, where each column lies in them.
//!
//! # Why the columns' readers are kept with the bytes
//! Finding the columns again for each lookup would touch the front of every column, a cache miss
//! each; here a lookup touches the readers and the bytes that it wants.
//!
//! # Invariants
//! 1. The bytes passed their checksum before a [`Block`] exists, so what a malformed column would
//!    make of a lookup is only ever a wrong row number, not a panic.
//! 2. Rows are in (key ascending, sequence number descending) order.
//! 3. A block may be its header alone if its values are separated ([`Block::is_head`]). Everything
//!    but those values is present, and only [`Block::append_read`] reads them.

mod columns;

pub(super) use columns::{BLOCK_ROWS_LIMIT, Part};

use super::apart::Apart;
use super::encode::apart_column;
use super::pending::append_validity;
use super::run_buffer::RunBuffer;
use crate::codec::Malformed;
use crate::codec::bytes::ApartReader;
use crate::codec::runs::{RunRange, Seek};
use crate::rows::Rows;
use base::SeqNo;
use base::prefetch::prefetch_value;
use base::{
    Batch, BytesColumn, Column, Key, KeyRange, KeyRef, Keys, Kind, Projection, Shape, WORDS_MAX,
};
use columns::{Columns, Data, KeyColumn, NOT_READ};
use std::cmp::Ordering;
use std::ops::{Deref, Range};
use std::sync::Arc;

self_cell::self_cell!(
    struct Cell {
        owner: BlockBytes,
        #[covariant]
        dependent: Columns,
    }
    impl {Debug}
);

/// Some thousand rows in columns. Row indexes run from 0 to [`Block::rows`].
#[derive(Debug)]
pub struct Block {
    cell: Cell,
    /// Where the values are that a head lacks.
    apart: Option<Apart>,
}

/// The bytes of a block as they are in the file.
#[derive(Debug)]
pub(super) enum BlockBytes {
    /// In memory of their own.
    Own(Vec<u8>),
    /// A part of one read of several adjacent blocks: for a block that is not cached.
    Part(Arc<RunBuffer>, Range<usize>),
}

impl Deref for BlockBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Part(run, part) => &run.bytes()[part.clone()],
        }
    }
}

impl From<Vec<u8>> for BlockBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(bytes)
    }
}

impl Block {
    /// Parses checked bytes of a whole block, and compares separated values with their checksums.
    /// Rows that store sequence number 0 read as `global_seq`.
    ///
    /// # Errors
    /// If the bytes are no block of this shape.
    pub(super) fn parse(
        bytes: impl Into<BlockBytes>,
        shape: &Shape,
        global_seq: SeqNo,
    ) -> Result<Self, Malformed> {
        let cell = Cell::try_new(bytes.into(), |bytes| {
            Columns::parse(bytes, Part::Whole, shape, global_seq)
        })?;
        Ok(Self { cell, apart: None })
    }

    /// The same for the bytes of a block's header. `apart` reads its values, given their column,
    /// the rows, and the bytes of all of them.
    ///
    /// # Errors
    /// If the bytes are no head of a block of this shape.
    pub(super) fn parse_head(
        bytes: impl Into<BlockBytes>,
        shape: &Shape,
        global_seq: SeqNo,
        apart: impl FnOnce(usize, usize, usize) -> Option<Apart>,
    ) -> Result<Self, Malformed> {
        let cell = Cell::try_new(bytes.into(), |bytes| {
            Columns::parse(bytes, Part::Head, shape, global_seq)
        })?;
        let column = apart_column(shape).ok_or(Malformed("strings apart of no column"))?;
        let columns = cell.borrow_dependent();
        let heap_bytes = match &columns.values[column].data {
            Data::Apart(reader) => reader.heap_bytes(),
            _ => return Err(Malformed("no head of a block")),
        };
        let apart = apart(column, columns.rows, heap_bytes);
        let apart = apart.ok_or(Malformed("strings that do not fill their heap"))?;
        Ok(Self { cell, apart: Some(apart) })
    }

    /// Whether separated values are missing here.
    #[inline]
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.apart.is_some()
    }

    /// Bytes without the separated values, present or not; 0 if there are none.
    pub(super) fn head_bytes(&self) -> usize {
        self.columns().head_bytes
    }

    /// Whether a projected value has to be read from the file.
    #[inline]
    #[must_use]
    pub(crate) fn lacks(&self, projection: Projection) -> bool {
        self.apart.as_ref().is_some_and(|apart| projection.value(apart.column))
    }

    /// Where the values are that a head lacks.
    pub(super) fn apart(&self) -> Option<&Apart> {
        self.apart.as_ref()
    }

    /// As [`Self::append_to`], of a head too: the values that it lacks are read.
    ///
    /// # Errors
    /// A failed read, or corruption; `out` is then as it was.
    pub(crate) fn append_read(
        &self,
        rows: Range<usize>,
        projection: Projection,
        out: &mut Batch,
    ) -> crate::error::Result<()> {
        let Some(apart) = self.apart.as_ref().filter(|_| self.lacks(projection)) else {
            self.append_to(rows, projection, out);
            return Ok(());
        };
        self.append_lacked(apart, rows.clone(), &mut out.values)?;
        self.append_others(rows, projection, out);
        Ok(())
    }

    /// As [`Self::append_range`], of a head too: the values that it lacks are read.
    ///
    /// # Errors
    /// As [`Self::append_read`].
    pub(crate) fn append_range_read(
        &self,
        range: &KeyRange,
        projection: Projection,
        out: &mut Batch,
    ) -> crate::error::Result<Range<usize>> {
        if !self.lacks(projection) {
            return Ok(self.append_range(range, projection, out));
        }
        let rows = self.rows_in(range);
        self.append_read(rows.clone(), projection, out)?;
        Ok(rows)
    }

    /// Whether a row holds a value that the head lacks.
    pub(crate) fn holds_lacked(&self, row: usize) -> bool {
        let apart = self.apart.as_ref();
        apart.is_some_and(|apart| self.columns().values[apart.column].is_valid(row))
    }

    /// As [`Self::append_versions`], of a head too: the values that it lacks are read.
    ///
    /// # Errors
    /// As [`Self::append_read`].
    pub(crate) fn append_versions_read(
        &self,
        rows: Range<usize>,
        projection: Projection,
        out: &mut Rows,
    ) -> crate::error::Result<()> {
        let Some(apart) = self.apart.as_ref().filter(|_| self.lacks(projection)) else {
            self.append_versions(rows, projection, out);
            return Ok(());
        };
        self.append_lacked(apart, rows.clone(), &mut out.values)?;
        self.append_versions(rows, self.without_lacked(projection), out);
        Ok(())
    }

    /// Appends the values that the head lacks.
    fn append_lacked(
        &self,
        apart: &Apart,
        rows: Range<usize>,
        out: &mut [Column],
    ) -> crate::error::Result<()> {
        match &mut out[apart.column] {
            Column::Bytes(out) => {
                let before = out.len();
                if let Some(strings) = self.apart_strings() {
                    apart.append(strings, rows.clone(), out)?;
                }
                self.append_valid(before, rows, out);
                Ok(())
            }
            Column::Words(_) => unreachable!("columns of one position have one shape"),
        }
    }

    /// As [`Self::append_read`] of one row, whose value was read before.
    pub(crate) fn append_with(
        &self,
        row: usize,
        value: &[u8],
        projection: Projection,
        out: &mut Batch,
    ) {
        self.append_others(row..row + 1, projection, out);
        if let Some(apart) = &self.apart
            && let Column::Bytes(out) = &mut out.values[apart.column]
        {
            let before = out.len();
            out.heap.extend_from_slice(value);
            out.offsets.push(out.heap.len() as u64);
            self.append_valid(before, row..row + 1, out);
        }
    }

    /// Appends all projected columns except the values that the header lacks.
    fn append_others(&self, rows: Range<usize>, projection: Projection, out: &mut Batch) {
        self.append_to(rows, self.without_lacked(projection), out);
    }

    fn without_lacked(&self, projection: Projection) -> Projection {
        let lacked = self.apart.as_ref().map_or(0, |apart| 1 << apart.column);
        Projection { values: projection.values & !lacked, ..projection }
    }

    /// Appends which rows hold a value that the header lacks. `before` is the length of the column
    /// so far.
    fn append_valid(&self, before: usize, rows: Range<usize>, out: &mut BytesColumn) {
        if let Some(apart) = &self.apart {
            let value = &self.columns().values[apart.column];
            let all = value.validity.is_none();
            append_validity(&mut out.validity, before, rows, all, |row| value.bits(row));
        }
    }

    /// The values that the head lacks, as far as it knows them.
    #[inline]
    pub(super) fn apart_strings(&self) -> Option<&ApartReader<'_>> {
        match &self.columns().values[self.apart.as_ref()?.column].data {
            Data::Apart(reader) => Some(reader),
            _ => None,
        }
    }

    #[inline]
    fn columns(&self) -> &Columns<'_> {
        self.cell.borrow_dependent()
    }

    /// Bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let columns = self.columns();
        let fixed = size_of::<Columns<'_>>() + size_of_val(&*columns.values) + 64;
        let bytes = match self.cell.borrow_owner() {
            BlockBytes::Own(bytes) => bytes.capacity(),
            BlockBytes::Part(_, part) => part.len(),
        };
        let apart = self.apart.as_ref().map_or(0, Apart::memory_bytes);
        (bytes + columns.beside_bytes + fixed + apart) as u64
    }

    /// Number of row versions.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns().rows
    }

    /// Whether all rows are puts, no key occurs twice, and all have one sequence number.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.columns().plain
    }

    /// Sequence number of a row, the table's global one applied.
    ///
    /// # Panics
    /// Like all methods that take a row or a column: if there is none with that index.
    #[must_use]
    pub fn seq(&self, row: usize) -> SeqNo {
        self.columns().seq(row)
    }

    /// Kind of a row as its number.
    #[must_use]
    pub fn kind(&self, row: usize) -> u8 {
        self.columns().kinds.as_ref().map_or(Kind::Put as u8, |kinds| kinds.get(row) as u8)
    }

    /// No row has a larger sequence number; where one number is for all, it is this.
    #[must_use]
    pub fn seq_max(&self) -> SeqNo {
        self.columns().seq_max
    }

    /// First row whose key is at least `key`, which may be a prefix.
    #[must_use]
    pub fn lower_bound(&self, key: KeyRef<'_>) -> usize {
        let columns = self.columns();
        match (&columns.keys, key) {
            (KeyColumn::Words(reader), KeyRef::Words(key)) => reader.lower_bound(key),
            (KeyColumn::Bytes(strings), KeyRef::Bytes(key)) => strings.lower_bound(key),
            _ => unreachable!("keys of one tree have one shape"),
        }
    }

    /// Rows whose keys lie in `range`. Fastest for the keys that begin with some words.
    #[must_use]
    pub fn rows_in(&self, range: &KeyRange) -> Range<usize> {
        if let Some(found) = self.find_runs(range) {
            return found.rows;
        }
        let start = self.lower_bound(range.lower.as_ref());
        let end = match (&range.upper, &self.columns().keys) {
            (None, _) => self.rows(),
            // Few rows begin with the same bytes.
            (Some(Key::Bytes(upper)), KeyColumn::Bytes(strings)) => {
                strings.lower_bound_near(upper, start, self.rows())
            }
            (Some(upper), _) => self.lower_bound(upper.as_ref()),
        };
        start..end.max(start)
    }

    /// The runs of `range`, if that is the keys that begin with some words but not one whole key.
    #[inline]
    fn find_runs(&self, range: &KeyRange) -> Option<RunRange> {
        let (KeyColumn::Words(reader), Key::Words { words, len }) =
            (&self.columns().keys, &range.lower)
        else {
            return None;
        };
        match words[..usize::from(*len)] {
            // The neighbours of a vertex: without making a key to compare with.
            [word] if reader.words() > 1 => {
                let next = [word.checked_add(1)?];
                let upper = range.upper.as_ref()?.as_ref();
                (upper == KeyRef::Words(&next)).then(|| reader.find_run(word))
            }
            ref prefix if !prefix.is_empty() && prefix.len() < reader.words() => {
                let upper = KeyRange::prefix_words(prefix).upper;
                (range.upper == upper).then(|| reader.find_prefix(prefix))
            }
            _ => None,
        }
    }

    /// Newest version of exactly this key in this block.
    #[inline]
    #[must_use]
    pub fn find(&self, key: KeyRef<'_>) -> Option<usize> {
        let columns = self.columns();
        match (&columns.keys, key) {
            (KeyColumn::Words(reader), KeyRef::Words(key)) if reader.words() == 1 => {
                let samples = columns.samples_for(reader);
                reader.find_first_from(key, reader.seek(key, samples))
            }
            (KeyColumn::Words(reader), KeyRef::Words(key)) => reader.find_first(key),
            (KeyColumn::Bytes(strings), KeyRef::Bytes(key)) => {
                let row = strings.lower_bound(key);
                (row < columns.rows && strings.get(row) == key).then_some(row)
            }
            _ => unreachable!("keys of one tree have one shape"),
        }
    }

    /// Fetches what tells where everything lies in the block.
    #[inline]
    pub(crate) fn prefetch_columns(&self) {
        prefetch_value(self.columns());
    }

    /// Fetches what [`Self::seek`] reads for any key.
    #[inline]
    pub(crate) fn prefetch_keys(&self) {
        if let KeyColumn::Words(reader) = &self.columns().keys {
            reader.prefetch_entries();
        }
    }

    /// Fetches what [`Self::seek`] reads for a key.
    #[inline]
    pub(crate) fn prefetch_key(&self, key: KeyRef<'_>) {
        let columns = self.columns();
        if let (KeyColumn::Words(reader), KeyRef::Words(key)) = (&columns.keys, key) {
            reader.prefetch_samples(key, columns.samples());
        }
    }

    /// Where [`Self::find_from`] begins to look for a key; prefetches the words decoded there.
    #[inline]
    pub(crate) fn seek(&self, key: KeyRef<'_>) -> Option<Seek> {
        let columns = self.columns();
        match (&columns.keys, key) {
            (KeyColumn::Words(reader), KeyRef::Words(key)) => {
                Some(reader.seek(key, columns.samples_for(reader)))
            }
            _ => None,
        }
    }

    /// As [`Self::find`], from where [`Self::seek`] said.
    #[inline]
    pub(crate) fn find_from(&self, key: KeyRef<'_>, seek: Option<Seek>) -> Option<usize> {
        match (&self.columns().keys, key, seek) {
            (KeyColumn::Words(reader), KeyRef::Words(key), Some(seek)) => {
                reader.find_first_from(key, seek)
            }
            _ => self.find(key),
        }
    }

    /// Reads the projected words of a row, and forgets them.
    #[inline]
    pub(crate) fn touch_row(&self, row: usize, projection: Projection) {
        self.columns().touch(row, projection);
    }

    /// Prefetches the projected words of a row, as far as their addresses are known without other
    /// memory reads.
    #[inline]
    pub(crate) fn prefetch_row(&self, row: usize, projection: Projection) {
        for (i, value) in self.columns().values.iter().enumerate() {
            if let (true, Data::Words(reader)) = (projection.value(i), &value.data) {
                reader.prefetch(row);
            }
        }
    }

    /// Key of a row.
    #[must_use]
    pub fn key(&self, row: usize) -> Key {
        match &self.columns().keys {
            KeyColumn::Words(reader) => {
                let mut words = [0; WORDS_MAX];
                for (column, word) in words[..reader.words()].iter_mut().enumerate() {
                    *word = reader.get(column, row);
                }
                Key::Words { words, len: reader.words() as u8 }
            }
            KeyColumn::Bytes(strings) => Key::bytes(strings.get(row)),
        }
    }

    /// Whether the row has exactly this key.
    #[must_use]
    pub fn key_eq(&self, row: usize, key: KeyRef<'_>) -> bool {
        self.compare_key(row, key) == Ordering::Equal
    }

    /// The row's key compared with `key`.
    #[must_use]
    pub fn compare_key(&self, row: usize, key: KeyRef<'_>) -> Ordering {
        match (&self.columns().keys, key) {
            (KeyColumn::Bytes(strings), KeyRef::Bytes(key)) => strings.get(row).cmp(key),
            _ => self.key(row).as_ref().cmp(&key),
        }
    }

    /// Word of value column `column`; `None` where the row holds none.
    #[inline]
    #[must_use]
    pub fn word(&self, column: usize, row: usize) -> Option<u64> {
        let value = &self.columns().values[column];
        match &value.data {
            Data::Words(reader) if value.is_valid(row) => Some(reader.get(row)),
            _ => None,
        }
    }

    /// Byte string of value column `column`; `None` where the row holds none. Lent by the block:
    /// `scratch` is only for blocks that may come to keep strings compressed.
    #[must_use]
    pub fn bytes<'a>(
        &'a self,
        column: usize,
        row: usize,
        scratch: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        let _ = scratch;
        let value = &self.columns().values[column];
        match &value.data {
            Data::Bytes(strings) if value.is_valid(row) => Some(strings.get(row)),
            Data::Apart(_) => unreachable!("{NOT_READ}"),
            _ => None,
        }
    }

    /// Appends keys and values of the rows under a projection; neither numbers nor kinds.
    pub fn append_to(&self, rows: Range<usize>, projection: Projection, out: &mut Batch) {
        let columns = self.columns();
        out.rows += rows.len();
        columns.append_keys(rows.clone(), projection, &mut out.keys);
        columns.append_values(rows, projection, &mut out.values);
    }

    /// [`Self::rows_in`] and [`Self::append_to`] in one. For an adjacency it saves the search for
    /// the run of the first row. Returns the rows.
    pub fn append_range(
        &self,
        range: &KeyRange,
        projection: Projection,
        out: &mut Batch,
    ) -> Range<usize> {
        let columns = self.columns();
        let (Some(found), KeyColumn::Words(reader), Keys::Words(keys)) =
            (self.find_runs(range), &columns.keys, &mut out.keys)
        else {
            let rows = self.rows_in(range);
            self.append_to(rows.clone(), projection, out);
            return rows;
        };
        if found.rows.is_empty() {
            return found.rows;
        }
        columns.touch(found.rows.start, projection);
        out.rows += found.rows.len();
        let last = keys.len() - 1;
        for (i, out) in keys.iter_mut().enumerate() {
            if projection.key(i) {
                match i == last {
                    true => reader.last_words_of(&found, out),
                    false => reader.column(i, found.rows.clone(), out),
                }
            }
        }
        columns.append_values(found.rows.clone(), projection, &mut out.values);
        found.rows
    }

    /// Whether keys are two words and every projected value is a word that every row has: then
    /// [`Self::find_run`] and [`Self::write_run`] can be used.
    #[must_use]
    pub(crate) fn is_adjacency(&self, projection: Projection) -> bool {
        let columns = self.columns();
        let mut values = columns.values.iter().enumerate();
        matches!(&columns.keys, KeyColumn::Words(reader) if reader.words() == 2)
            && values.all(|(i, value)| {
                !projection.value(i)
                    || (value.validity.is_none() && matches!(value.data, Data::Words(_)))
            })
    }

    /// Run and rows of the keys that begin with `word`; empty if there are none.
    #[inline]
    pub(crate) fn find_run(&self, word: u64) -> RunRange {
        match &self.columns().keys {
            KeyColumn::Words(reader) => reader.find_run(word),
            KeyColumn::Bytes(_) => RunRange { runs: 0..0, rows: 0..0 },
        }
    }

    /// Writes the second word of each row of a run, whose keys are two words.
    #[inline]
    pub(crate) fn last_words_into(&self, found: &RunRange, out: &mut [u64]) {
        if let KeyColumn::Words(reader) = &self.columns().keys {
            reader.last_words_into(found, out);
        }
    }

    /// Touches the first bytes that [`Self::write_run`] will read. Called for many runs in a row,
    /// so that their cache misses overlap.
    #[inline]
    pub(crate) fn touch_run(&self, found: &RunRange, projection: Projection) {
        let columns = self.columns();
        columns.touch(found.rows.start, projection);
        if let (true, KeyColumn::Words(reader)) = (projection.key(1), &columns.keys) {
            reader.touch(found);
        }
    }

    /// Writes the rows of one run over those from `at` on of the projected columns of `out`.
    ///
    /// # Panics
    /// If `out` has a different number of rows, or the block is not an adjacency.
    pub(crate) fn write_run(
        &self,
        word: u64,
        found: &RunRange,
        projection: Projection,
        at: usize,
        out: &mut Batch,
    ) {
        let columns = self.columns();
        let to = at..at + found.rows.len();
        if let (KeyColumn::Words(reader), Keys::Words(keys)) = (&columns.keys, &mut out.keys) {
            if projection.key(0) {
                keys[0][to.clone()].fill(word);
            }
            if projection.key(1) {
                reader.last_words_into(found, &mut keys[1][to.clone()]);
            }
        }
        for (i, (value, out)) in columns.values.iter().zip(&mut out.values).enumerate() {
            match (projection.value(i), &value.data, out) {
                (false, ..) => {}
                (true, Data::Words(reader), Column::Words(out)) => {
                    reader.read_into(found.rows.start, &mut out.words[to.clone()]);
                }
                _ => unreachable!("an adjacency's values are words"),
            }
        }
    }

    /// Appends keys (always), sequence numbers, kinds and the projected values of the rows.
    /// `out.seqs` and `out.kinds` stay empty as long as all are 0 and puts.
    pub fn append_versions(&self, rows: Range<usize>, projection: Projection, out: &mut Rows) {
        let columns = self.columns();
        let before = out.len();
        columns.append_keys(rows.clone(), Projection::KEYS, &mut out.keys);
        columns.append_values(rows.clone(), projection, &mut out.values);

        if columns.seqs.is_some() || columns.global_seq != SeqNo::ZERO || !out.seqs.is_empty() {
            out.seqs.resize(before, 0);
            match &columns.seqs {
                None => out.seqs.resize(before + rows.len(), columns.global_seq.0),
                Some(seqs) => {
                    seqs.read(rows.clone(), &mut out.seqs);
                    for seq in &mut out.seqs[before..] {
                        *seq = if *seq == 0 { columns.global_seq.0 } else { *seq };
                    }
                }
            }
        }
        if columns.kinds.is_some() || !out.kinds.is_empty() {
            out.kinds.resize(before, Kind::Put as u8);
            match &columns.kinds {
                None => out.kinds.resize(before + rows.len(), Kind::Put as u8),
                Some(kinds) => out.kinds.extend(rows.map(|row| kinds.get(row) as u8)),
            }
        }
    }

    /// Appends the distinct first words, ascending; nothing for byte-string keys.
    pub fn first_words(&self, out: &mut Vec<u64>) {
        if let KeyColumn::Words(reader) = &self.columns().keys {
            reader.distinct_first_words(out);
        }
    }
}
