//! One open table: fences and filters in memory, blocks through the cache.
//!
//! # Invariants
//! 1. With the fences in memory, a block costs exactly one wait, and so does its header if its
//!    values are separated.
//! 2. Every part is compared with its checksum when it is read from the file, before it is decoded.
//! 3. A table opens only if it is the very file that the manifest's entry describes.

use super::apart::{Apart, Home};
use super::block::{BlockBytes, Part};
use super::cache::{Reservation, Slots};
use super::encode::apart_column;
use super::index::Index;
use super::layout::{FOOTER_BYTES, FORMAT_VERSION, Footer, Handle, Properties, decode_tombstones};
use super::run_buffer::KEPT_BYTES_MAX;
use super::section::{CUT_BLOCK, damaged_at, ends_before, read_files};
use super::statistics::Statistics;
use super::{Block, Fill, RangeTombstone, TableMeta};
use crate::codec::Malformed;
use crate::codec::filter::{Filter, hash_bytes, hash_words};
use crate::context::Context;
use crate::error::{Error, Result};
use base::fault_switch::{Switch, is_on};
use base::{BlockFilter, Corruption, KeyRange, KeyRef, Projection, Shape, checksum};
use env::{EnvError, FileRead, RandomReadFile, ReadRequest};
use std::ops::Range;
use std::sync::{Arc, Weak};

/// Bytes read from a table's end at once: holds all but the blocks of a small table.
const TAIL_BYTES: u64 = 32 << 10;

/// Most bytes of blocks that one read fills: enough that the cost of the call does not matter, and
/// few enough that they are still in the second-level cache when they are parsed.
const RUN_BYTES: u64 = KEPT_BYTES_MAX as u64;

/// An open table. Shared by all versions that hold it.
#[derive(Debug)]
pub struct Table {
    pub(super) meta: TableMeta,
    pub(super) shape: Shape,
    pub(super) file: Arc<dyn RandomReadFile>,
    pub(super) index: Index,
    pub(super) slots: Arc<Slots>,
    /// Reads go around the kernel's cache, so that ours is the only one.
    pub(super) direct: bool,
    key_filter: Option<Filter>,
    first_word_filter: Option<Filter>,
    tombstones: Vec<RangeTombstone>,
    statistics: Option<Statistics>,
    first_word_rows_max: u64,
    _reserved: Vec<Reservation>,
}

impl Table {
    /// Reads and checks footer, index, properties, range tombstones and filters.
    ///
    /// # Errors
    /// A failed read; [`Error::Corruption`] if a part is damaged or is not what `meta` says;
    /// [`Error::Invalid`] for a format version that this program does not know.
    pub fn open(context: &Context, meta: &TableMeta, shape: &Shape) -> Result<Arc<Self>> {
        let file = context.open_table(meta)?;
        let parts = Parts::read(&*file, meta, shape)?;
        Ok(Self::assemble(context, meta, shape, file, parts))
    }

    /// A table of parts that were read and checked, without filters.
    pub(super) fn from_parts(
        context: &Context,
        meta: &TableMeta,
        shape: &Shape,
        file: Arc<dyn RandomReadFile>,
        index: Index,
        tombstones: Vec<RangeTombstone>,
    ) -> Arc<Self> {
        let (key_filter, first_word_filter, statistics) = (None, None, None);
        let parts = Parts { index, tombstones, key_filter, first_word_filter, statistics };
        Self::assemble(context, meta, shape, file, parts)
    }

    fn assemble(
        context: &Context,
        meta: &TableMeta,
        shape: &Shape,
        file: Arc<dyn RandomReadFile>,
        parts: Parts,
    ) -> Arc<Self> {
        let Parts { index, tombstones, key_filter, first_word_filter, statistics } = parts;
        let slots = context.cache.slots(index.blocks());
        let bytes = statistics.as_ref().map_or(0, Statistics::memory_bytes);
        let bytes = bytes + index.memory_bytes() + slots.memory_bytes();
        let mut reserved = vec![context.cache.reserve(bytes)];
        // Tables of the bottom level have none for whole keys of several words.
        let bottom = key_filter.is_none();
        let mut kept = |filter: Option<Filter>| {
            let filter = filter?;
            let room = context.cache.reserve_filter(filter.memory_bytes(), bottom)?;
            reserved.push(room);
            Some(filter)
        };
        let (key_filter, first_word_filter) = (kept(key_filter), kept(first_word_filter));
        let first_word_rows_max = index.first_word_rows_max();
        Arc::new(Self {
            meta: meta.clone(),
            shape: shape.clone(),
            file,
            index,
            slots,
            direct: context.direct_reads,
            key_filter,
            first_word_filter,
            tombstones,
            statistics,
            first_word_rows_max,
            _reserved: reserved,
        })
    }

    /// The manifest's entry.
    #[must_use]
    pub fn meta(&self) -> &TableMeta {
        &self.meta
    }

    /// Its file, which can be read as long as the table is held, also where its name is gone.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn RandomReadFile> {
        &self.file
    }

    /// The shape of its rows.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Range tombstones, in the order they were added.
    #[must_use]
    pub fn range_tombstones(&self) -> &[RangeTombstone] {
        &self.tombstones
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.index.blocks()
    }

    /// Row versions in block `i`, known without reading it.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn block_rows(&self, i: usize) -> usize {
        self.index.rows(i)
    }

    /// Bytes of block `i` in the file, known without reading it.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn block_bytes(&self, i: usize) -> u64 {
        let span = self.index.bytes(i);
        span.end - span.start
    }

    /// First and last key of block `i`, known without reading it.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn block_keys(&self, i: usize) -> (base::Key, base::Key) {
        (self.index.first_key(i), self.index.last_key(i))
    }

    /// Whether a row of block `i` may be wanted, by its statistics.
    #[must_use]
    pub fn block_may_match(&self, i: usize, filter: &BlockFilter) -> bool {
        self.statistics.as_ref().is_none_or(|statistics| statistics.may_match(i, filter))
    }

    /// The statistics of its blocks, if it has any.
    pub(super) fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_ref()
    }

    /// Blocks that can hold keys of `range`.
    #[must_use]
    pub fn blocks_overlapping(&self, range: &KeyRange) -> Range<usize> {
        self.index.overlapping(range)
    }

    /// The first block that can hold `key` (its newest version) or, for a prefix, a key that
    /// begins with it. Later versions, or keys with the prefix, may go on in the next blocks.
    #[inline]
    #[must_use]
    pub fn block_for(&self, key: KeyRef<'_>) -> Option<usize> {
        self.index.block_for(key)
    }

    /// The same if all blocks before `from` end before the key: fast if the result is one of the
    /// next blocks.
    #[inline]
    pub(crate) fn block_for_from(&self, from: usize, key: KeyRef<'_>) -> Option<usize> {
        self.index.block_for_from(from, key)
    }

    /// Whether there is a block `i`, and its first key begins with this word.
    #[inline]
    pub(crate) fn block_begins_with(&self, i: usize, word: u64) -> bool {
        self.index.begins_with(i, word)
    }

    /// Fetches what [`Self::may_contain_key`] reads for a whole key.
    #[inline]
    pub(crate) fn prefetch_filter(&self, key: KeyRef<'_>) {
        if let Some(filter) = &self.key_filter {
            filter.prefetch(match key {
                KeyRef::Words(words) => hash_words(words),
                KeyRef::Bytes(bytes) => hash_bytes(bytes),
            });
        }
    }

    /// Fetches what [`Self::may_contain_first_word`] reads of keys of several words.
    #[inline]
    pub(crate) fn prefetch_first_word_filter(&self, word: u64) {
        if let Some(filter) = &self.first_word_filter {
            filter.prefetch(hash_words(&[word]));
        }
    }

    /// Prefetches the first words of a lookup in block `i`, if it is in the cache.
    #[inline]
    pub(crate) fn prefetch_block(&self, i: usize) {
        self.slots.prefetch(i);
    }

    /// `false` if no row has this key (or, for a prefix, begins with its first word).
    #[inline]
    #[must_use]
    pub fn may_contain_key(&self, key: KeyRef<'_>) -> bool {
        match key {
            KeyRef::Words(words) if words.len() == self.shape.key_words() => {
                match &self.key_filter {
                    Some(filter) => filter.may_contain(hash_words(words)),
                    None => self.may_contain_first_word(words[0]),
                }
            }
            KeyRef::Words([]) => true,
            KeyRef::Words(words) => self.may_contain_first_word(words[0]),
            KeyRef::Bytes(bytes) => {
                self.key_filter.as_ref().is_none_or(|f| f.may_contain(hash_bytes(bytes)))
            }
        }
    }

    /// `false` if no row's key begins with `word`.
    #[inline]
    #[must_use]
    pub fn may_contain_first_word(&self, word: u64) -> bool {
        let filter = match self.shape.key_words() {
            0 => return true,
            1 => &self.key_filter,
            _ => &self.first_word_filter,
        };
        filter.as_ref().is_none_or(|filter| filter.may_contain(hash_words(&[word])))
    }

    /// Whether there is a filter of whole keys that have more than one word.
    pub(super) fn filters_whole_keys(&self) -> bool {
        self.shape.key_words() > 1 && self.key_filter.is_some()
    }

    /// Block `i`, from the cache or else from the file, checked.
    ///
    /// # Errors
    /// A failed read, or corruption.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline]
    pub fn block(&self, i: usize, fill: Fill) -> Result<Arc<Block>> {
        self.part(i, Part::Whole, fill)
    }

    /// The same, possibly without separated values: [`Block::append_read`] reads those.
    ///
    /// # Errors
    /// As [`Self::block`].
    ///
    /// # Panics
    /// If there is no such block.
    #[inline]
    pub(crate) fn head(&self, i: usize, fill: Fill) -> Result<Arc<Block>> {
        self.part(i, Part::Head, fill)
    }

    #[inline]
    fn part(&self, i: usize, part: Part, fill: Fill) -> Result<Arc<Block>> {
        match self.slots.get(i, part, fill) {
            Some(block) => Ok(block),
            None => self.part_missed(i, part, fill),
        }
    }

    #[cold]
    pub(super) fn part_missed(&self, i: usize, part: Part, fill: Fill) -> Result<Arc<Block>> {
        let bytes = self.read(i, part)?;
        self.take_in(i, part, fill, |_| BlockBytes::Own(bytes))
    }

    /// Reads block `i` from the file, past the cache.
    pub(super) fn load(&self, i: usize) -> Result<Block> {
        self.checked(i, Part::Whole, BlockBytes::Own(self.read(i, Part::Whole)?))
    }

    /// Whether rows under a projection are read from the headers of blocks. That is so if the
    /// headers lack none of the columns, or if the rows are few and their values are read to where
    /// they are wanted, not into a cache of ours.
    #[inline]
    pub(crate) fn reads_heads(&self, projection: Projection, few: bool) -> bool {
        self.index.has_heads() && (few && !self.direct || !self.has_apart(projection))
    }

    /// Whether a projected value may be separated.
    fn has_apart(&self, projection: Projection) -> bool {
        apart_column(&self.shape).is_some_and(|column| projection.value(column))
    }

    /// Where block `i`, or its head, lies in the file.
    fn span(&self, i: usize, part: Part) -> Range<u64> {
        match part {
            Part::Whole => self.index.bytes(i),
            Part::Head => self.index.head(i),
        }
    }

    /// The bytes of block `i` in the file, not checked.
    fn read(&self, i: usize, part: Part) -> Result<Vec<u8>> {
        self.file.may_read()?;
        let span = self.span(i, part);
        let mut bytes = vec![0; (span.end - span.start) as usize];
        if let Err(error) = self.file.read_at(&mut bytes, span.start) {
            return Err(self.cut_before(i, &error).map_or_else(|| error.into(), Error::Corruption));
        }
        Ok(bytes)
    }

    /// The damage, if block `i` could not be read because the file has become shorter than it was.
    #[cold]
    fn cut_before(&self, i: usize, error: &EnvError) -> Option<Corruption> {
        let is_cut = ends_before(&*self.file, self.index.bytes(i).end, error);
        is_cut.then(|| self.damaged(i, CUT_BLOCK))
    }

    /// These blocks in the order asked for; those not in the cache are read in one batch.
    ///
    /// # Errors
    /// A failed read, or corruption.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn read_blocks(&self, blocks: &[usize], fill: Fill) -> Result<Vec<Arc<Block>>> {
        let wanted: Vec<(&Self, usize)> = blocks.iter().map(|&i| (self, i)).collect();
        Self::read_across(&wanted, fill)
    }

    /// The same, possibly without separated values, as [`Self::head`].
    ///
    /// # Errors
    /// A failed read, or corruption.
    ///
    /// # Panics
    /// If there is no such block.
    pub(crate) fn read_heads(&self, blocks: &[usize], fill: Fill) -> Result<Vec<Arc<Block>>> {
        let wanted: Vec<(&Self, usize)> = blocks.iter().map(|&i| (self, i)).collect();
        Self::parts_across(&wanted, Part::Head, fill)
    }

    /// Returns blocks of any tables in the order given. Those not in the cache are read in one
    /// batch, and blocks that follow one another in a file by one read.
    ///
    /// # Errors
    /// A failed read, or corruption.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn read_across(wanted: &[(&Self, usize)], fill: Fill) -> Result<Vec<Arc<Block>>> {
        Self::parts_across(wanted, Part::Whole, fill)
    }

    /// The same, possibly without separated values, as [`Self::head`].
    ///
    /// # Errors
    /// A failed read, or corruption.
    ///
    /// # Panics
    /// If there is no such block.
    pub(crate) fn heads_across(wanted: &[(&Self, usize)], fill: Fill) -> Result<Vec<Arc<Block>>> {
        Self::parts_across(wanted, Part::Head, fill)
    }

    fn parts_across(wanted: &[(&Self, usize)], part: Part, fill: Fill) -> Result<Vec<Arc<Block>>> {
        let mut found: Vec<Option<Arc<Block>>> =
            wanted.iter().map(|&(table, i)| table.slots.get(i, part, fill)).collect();
        if let Some(missing) = found.iter().position(Option::is_none) {
            wanted[missing].0.file.may_read()?;
        }
        let (runs, mut reads) = runs_of(wanted, part, &found);
        if let Err(error) = read_files(&mut reads) {
            let cut = runs.iter().map(|run| wanted[run.end - 1]);
            let cut = cut.filter_map(|(table, i)| table.cut_before(i, &error)).next();
            return Err(cut.map_or_else(|| error.into(), Error::Corruption));
        }
        for (run, FileRead { offset, buf, .. }) in runs.into_iter().zip(reads) {
            if run.len() == 1 {
                let (table, i) = wanted[run.start];
                found[run.start] = Some(table.take_in(i, part, fill, |_| BlockBytes::Own(buf))?);
                continue;
            }
            let shared = wanted[run.start].0.slots.cache.run_buffers.lend(buf);
            for place in run {
                let (table, i) = wanted[place];
                let span = table.span(i, part);
                let bytes = (span.start - offset) as usize..(span.end - offset) as usize;
                found[place] = Some(table.take_in(i, part, fill, |is_kept| match is_kept {
                    true => BlockBytes::Own(shared.bytes()[bytes].to_vec()),
                    false => BlockBytes::Part(Arc::clone(&shared), bytes),
                })?);
            }
        }
        // Each place is filled: found at once, or missing and then read.
        Ok(found.into_iter().flatten().collect())
    }

    /// Block `i`, which was just read; `bytes` gets whether the cache keeps it.
    pub(super) fn take_in(
        &self,
        i: usize,
        part: Part,
        fill: Fill,
        bytes: impl FnOnce(bool) -> BlockBytes,
    ) -> Result<Arc<Block>> {
        self.slots.count_miss();
        // Headers take little room, and each lookup in their blocks needs them.
        let is_head = part == Part::Head && self.index.is_apart(i);
        let is_kept = match is_head {
            true => fill != Fill::Once,
            false => self.slots.is_wanted(i, fill, self.direct),
        };
        let block = Arc::new(self.checked(i, part, bytes(is_kept))?);
        Ok(match is_kept {
            true => self.slots.cache.insert(&self.slots, i, block, fill),
            false => block,
        })
    }

    /// Reads those of these blocks that are not in the cache into it, in one batch.
    ///
    /// # Errors
    /// A failed read, or corruption.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn prefetch(&self, blocks: &[usize]) -> Result<()> {
        self.read_blocks(blocks, Fill::Ahead).map(drop)
    }

    /// Upper bound of the rows that share a first word, visible or not. The number of all rows if
    /// keys are byte strings.
    pub(crate) fn first_word_rows_max(&self) -> u64 {
        self.first_word_rows_max
    }

    /// Asks the kernel to have the bytes of these blocks ready soon.
    pub fn read_ahead(&self, blocks: Range<usize>) {
        if blocks.start < blocks.end && blocks.end <= self.blocks() {
            let start = self.index.bytes(blocks.start).start;
            let end = self.index.bytes(blocks.end - 1).end;
            self.file.read_ahead(start, end - start);
        }
    }

    /// The block in bytes that were just read, if they match their checksum.
    fn checked(&self, i: usize, part: Part, bytes: BlockBytes) -> Result<Block> {
        let (head, is_apart) = (self.index.head(i), self.index.is_apart(i));
        // Separated values have checksums of their own, in the header.
        let checked = bytes.get(..(head.end - head.start) as usize).unwrap_or(&bytes);
        if checksum(checked) != self.index.checksum(i) && !is_on(Switch::IgnoreChecksum) {
            return Err(self.damaged(i, "the block's checksum does not match").into());
        }
        let block = match part == Part::Head && is_apart {
            false => Block::parse(bytes, &self.shape, self.meta.global_seq),
            true => {
                Block::parse_head(bytes, &self.shape, self.meta.global_seq, |column, rows, len| {
                    let heap = head.end..self.index.bytes(i).end;
                    (heap.end - heap.start == len as u64).then(|| self.apart(i, column, heap, rows))
                })
            }
        };
        let block = block.map_err(|Malformed(what)| self.damaged(i, what))?;
        if is_apart && block.head_bytes() as u64 != head.end - head.start {
            return Err(self.damaged(i, "the block has not the head that the index says").into());
        }
        if block.rows() != self.index.rows(i) {
            return Err(self.damaged(i, "the block has not the rows that the index says").into());
        }
        Ok(block)
    }

    /// Where the separated values of block `i` are.
    fn apart(&self, i: usize, column: usize, heap: Range<u64>, rows: usize) -> Apart {
        let slots: Weak<Slots> = Arc::downgrade(&self.slots);
        let home = Home { keeper: slots, index: i, direct: self.direct };
        Apart::new(column, Arc::clone(&self.file), heap, home, rows)
    }

    pub(super) fn damaged(&self, block: usize, what: &str) -> Corruption {
        damaged_at(&*self.file, self.index.bytes(block).start, what)
    }
}

/// The blocks that are not found, as runs of places that one read fills each, and those reads.
fn runs_of(
    wanted: &[(&Table, usize)],
    part: Part,
    found: &[Option<Arc<Block>>],
) -> (Vec<Range<usize>>, Vec<FileRead>) {
    let (mut runs, mut reads) = (Vec::new(), Vec::new());
    let mut place = 0;
    while place < wanted.len() {
        if found[place].is_some() {
            place += 1;
            continue;
        }
        let (table, first) = wanted[place];
        let span = table.span(first, part);
        let (mut bytes, mut end) = (span.end - span.start, place + 1);
        while let (Some(&(other, i)), Some(None)) = (wanted.get(end), found.get(end)) {
            if !std::ptr::eq(other, table) {
                break;
            }
            let next = table.span(i, part);
            if next.start != span.start + bytes {
                break;
            }
            let longer = next.end - span.start;
            if longer > RUN_BYTES {
                break;
            }
            (bytes, end) = (longer, end + 1);
        }
        let buf = match end - place {
            1 => vec![0; bytes as usize],
            _ => table.slots.cache.run_buffers.take(bytes as usize),
        };
        reads.push(FileRead { file: Arc::clone(&table.file), offset: span.start, buf });
        runs.push(place..end);
        place = end;
    }
    (runs, reads)
}

/// All of a table but its blocks.
pub(super) struct Parts {
    index: Index,
    tombstones: Vec<RangeTombstone>,
    key_filter: Option<Filter>,
    first_word_filter: Option<Filter>,
    statistics: Option<Statistics>,
}

impl Parts {
    /// Reads and checks footer, index, properties, range tombstones, filters and statistics.
    pub(super) fn read(file: &dyn RandomReadFile, meta: &TableMeta, shape: &Shape) -> Result<Self> {
        let tail = Tail::read(file)?;
        let handle = tail.footer(file)?;
        let malformed = |Malformed(what)| damaged_at(file, handle.offset, what);

        let section = tail.sections(file, &[handle])?.swap_remove(0);
        let mut rest = &*section;
        let properties = Properties::take(&mut rest, shape).map_err(malformed)?;
        let index = Index::decode(rest, shape.key, handle.offset).map_err(malformed)?;
        drop(section);

        let mut summary = properties.summary;
        (summary.bytes, summary.fingerprint) = (tail.file_bytes, handle.checksum);
        if summary != *meta.summary || index.rows_in_all() != summary.rows {
            let what = "the file is not the table that the manifest describes";
            return Err(malformed(Malformed(what)).into());
        }
        let Properties { key_filter, first_word_filter, tombstones, .. } = properties;
        let handles = [key_filter, first_word_filter, tombstones, index.statistics];
        if handles.iter().any(|part| !part.fits(handle.offset)) {
            return Err(malformed(Malformed("a section outside of the file")).into());
        }

        let mut parts = tail.sections(file, &handles)?;
        let statistics = match parts.pop().unwrap_or_default() {
            bytes if bytes.is_empty() => None,
            bytes => Some(Statistics::parse(bytes, shape, index.blocks()).map_err(malformed)?),
        };
        let tombstones = match parts.pop().unwrap_or_default() {
            bytes if bytes.is_empty() => Vec::new(),
            bytes => decode_tombstones(&bytes, shape.key).map_err(malformed)?,
        };
        if tombstones.len() as u64 != summary.range_tombstones {
            return Err(malformed(Malformed("range tombstones are missing")).into());
        }
        let mut filter = || -> Result<Option<Filter>> {
            let bytes = parts.pop().filter(|bytes| !bytes.is_empty());
            Ok(bytes.map(|bytes| Filter::parse(&bytes)).transpose().map_err(malformed)?)
        };
        let first_word_filter = filter()?;
        let key_filter = filter()?;
        Ok(Self { index, tombstones, key_filter, first_word_filter, statistics })
    }
}

/// The end of a file, read at once.
struct Tail {
    bytes: Vec<u8>,
    offset: u64,
    file_bytes: u64,
}

impl Tail {
    fn read(file: &dyn RandomReadFile) -> Result<Self> {
        let file_bytes = file.len_bytes()?;
        let offset = file_bytes.saturating_sub(TAIL_BYTES);
        let mut bytes = vec![0; (file_bytes - offset) as usize];
        file.read_at(&mut bytes, offset)?;
        Ok(Self { bytes, offset, file_bytes })
    }

    /// Handle of the section of properties and fences, which lies inside the file.
    fn footer(&self, file: &dyn RandomReadFile) -> Result<Handle> {
        let at = self.file_bytes.saturating_sub(FOOTER_BYTES as u64);
        let damaged = |what| damaged_at(file, at, what);
        let footer = self.bytes.last_chunk::<FOOTER_BYTES>();
        let footer = footer.ok_or_else(|| damaged("the file is too short to be a table"))?;
        match Footer::decode(footer).map_err(|Malformed(what)| damaged(what))? {
            Footer::Known(handle) if handle.bytes > 0 && handle.fits(at) => Ok(handle),
            Footer::Known(_) => Err(damaged("properties outside of the file").into()),
            Footer::OtherVersion(version) => Err(Error::Invalid(format!(
                "{} has format version {version}, this program reads {FORMAT_VERSION}",
                file.path().display()
            ))),
        }
    }

    /// Bytes of the sections, checked; those outside of the tail are read in one batch.
    fn sections(&self, file: &dyn RandomReadFile, handles: &[Handle]) -> Result<Vec<Vec<u8>>> {
        let mut found = vec![Vec::new(); handles.len()];
        let mut outside = Vec::new();
        let mut requests = Vec::new();
        for (i, handle) in handles.iter().enumerate() {
            if let Some(at) = handle.offset.checked_sub(self.offset) {
                let at = at as usize;
                let inside = self.bytes.get(at..at + handle.bytes as usize);
                found[i] = inside.unwrap_or_default().to_vec();
            } else if handle.bytes > 0 {
                requests.push(ReadRequest {
                    offset: handle.offset,
                    buf: vec![0; handle.bytes as usize],
                });
                outside.push(i);
            }
        }
        if !requests.is_empty() {
            file.read_batch(&mut requests)?;
        }
        for (i, request) in outside.into_iter().zip(requests) {
            found[i] = request.buf;
        }
        for (handle, bytes) in handles.iter().zip(&found) {
            if handle.bytes > 0 && checksum(bytes) != handle.checksum {
                let what = "the section's checksum does not match";
                return Err(damaged_at(file, handle.offset, what).into());
            }
        }
        Ok(found)
    }
}
