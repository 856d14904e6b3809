//! A column of byte strings: offsets of fixed width, and a heap that is compressed if that pays.
//!
//! # Why segments
//! A point read of a compressed column decompresses one segment of at most
//! [`SEGMENT_BYTES_MAX`], not the heap. A raw heap is lent to the reader without a copy.
//!
//! # Invariants
//! 1. A string lies in one segment; only a string longer than a segment makes a longer one.
//! 2. Offset `i` is stored minus `i` times the shortest length: strings of one length cost nothing.

use super::bitpack::Packed;
use super::{Fields, Malformed};
use base::{BytesColumn, checksum};
use std::ops::Range;

const RAW: u8 = 0;
const LZ4: u8 = 1;
const APART: u8 = 2;

/// Bytes of heap that are compressed together, unless a single string is longer.
pub const SEGMENT_BYTES_MAX: usize = 8 << 10;

/// LZ4 cannot make more bytes than this from one: bounds the allocation for a damaged length.
const LZ4_RATIO_MAX: usize = 255;

/// Appends the strings of `rows`; compressed if `compress` and that saves at least an eighth.
/// Returns whether it was compressed.
///
/// # Panics
/// If `rows` ends past the column or its strings have 4 GiB or more in all.
pub fn encode(column: &BytesColumn, rows: Range<usize>, compress: bool, out: &mut Vec<u8>) -> bool {
    let offsets = &column.offsets[rows.start..=rows.end];
    let first = offsets[0];
    let heap = &column.heap[first as usize..offsets[rows.len()] as usize];
    assert!(heap.len() <= u32::MAX as usize, "a block holds less than 4 GiB");
    let segments = if compress { compressed(offsets, heap) } else { None };
    let kind = if segments.is_some() { LZ4 } else { RAW };
    encode_offsets(kind, offsets, out);
    match &segments {
        None => out.extend_from_slice(heap),
        Some(segments) => {
            out.extend_from_slice(&(segments.starts.len() as u32 - 1).to_le_bytes());
            Packed::encode(&segments.starts, out);
            Packed::encode(&segments.stored, out);
            out.extend_from_slice(&segments.bytes);
        }
    }
    segments.is_some()
}

/// Appends the kind of a column, the length of its heap, and where each string starts in it.
fn encode_offsets(kind: u8, offsets: &[u64], out: &mut Vec<u8>) {
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let shortest = offsets.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0);
    out.push(kind);
    out.extend_from_slice(&((last - first) as u32).to_le_bytes());
    out.extend_from_slice(&(shortest as u32).to_le_bytes());
    let above = offsets.iter().enumerate().map(|(i, offset)| offset - first - i as u64 * shortest);
    Packed::encode(&above.collect::<Vec<_>>(), out);
}

/// Appends the strings of `rows` without their heap, with a checksum for each. Returns the heap,
/// which is stored elsewhere.
///
/// # Panics
/// As [`encode`].
pub fn encode_apart<'a>(
    column: &'a BytesColumn,
    rows: Range<usize>,
    out: &mut Vec<u8>,
) -> &'a [u8] {
    let offsets = &column.offsets[rows.start..=rows.end];
    let heap = &column.heap[offsets[0] as usize..offsets[rows.len()] as usize];
    assert!(heap.len() <= u32::MAX as usize, "a block holds less than 4 GiB");
    encode_offsets(APART, offsets, out);
    for row in rows {
        out.extend_from_slice(&checksum(column.get(row)).to_le_bytes());
    }
    heap
}

/// A compressed heap. `starts` and `stored` have an end after the last segment.
struct Segments {
    starts: Vec<u64>,
    stored: Vec<u64>,
    bytes: Vec<u8>,
}

/// Compresses segment by segment, or gives up where it saves less than an eighth.
fn compressed(offsets: &[u64], heap: &[u8]) -> Option<Segments> {
    if heap.len() < 64 {
        return None;
    }
    let first = offsets[0];
    let mut found = Segments { starts: vec![0], stored: vec![0], bytes: Vec::new() };
    let mut scratch = Vec::new();
    let mut start = 0;
    for (i, &offset) in offsets.iter().enumerate().skip(1) {
        let end = (offset - first) as usize;
        let next = offsets.get(i + 1).map(|next| (next - first) as usize);
        if next.is_some_and(|next| next - start <= SEGMENT_BYTES_MAX) || start == end {
            continue;
        }
        let segment = &heap[start..end];
        scratch.resize(lz4_flex::block::get_maximum_output_size(segment.len()), 0);
        match lz4_flex::block::compress_into(segment, &mut scratch) {
            Ok(len) if len < segment.len() => found.bytes.extend_from_slice(&scratch[..len]),
            // As long as before: stored as it is.
            _ => found.bytes.extend_from_slice(segment),
        }
        found.starts.push(end as u64);
        found.stored.push(found.bytes.len() as u64);
        start = end;
        // The first segments tell: data that does not shrink is not tried to its end.
        if end >= 4 * SEGMENT_BYTES_MAX && found.bytes.len() > end - end / 16 {
            return None;
        }
    }
    (found.bytes.len() + found.starts.len() * 4 <= heap.len() - heap.len() / 8).then_some(found)
}

#[derive(Clone, Copy, Debug)]
enum Heap<'a> {
    Raw(&'a [u8]),
    Lz4 { starts: Packed<'a>, stored: Packed<'a>, bytes: &'a [u8] },
}

/// A column of byte strings of known length.
#[derive(Clone, Copy, Debug)]
pub struct BytesReader<'a> {
    rows: usize,
    shortest: usize,
    offsets: Packed<'a>,
    heap_bytes: usize,
    heap: Heap<'a>,
}

impl<'a> BytesReader<'a> {
    /// Reads a column of `rows` strings; `bytes` holds nothing else.
    ///
    /// # Errors
    /// If `bytes` is no column of that length.
    pub fn parse(bytes: &'a [u8], rows: usize) -> Result<Self, Malformed> {
        let mut fields = Fields::new(bytes);
        let kind = fields.u8()?;
        let heap_bytes = fields.u32()? as usize;
        let shortest = fields.u32()? as usize;
        let offsets = fields.packed(rows + 1)?;
        let heap = match kind {
            RAW => Heap::Raw(fields.take(heap_bytes)?),
            LZ4 => {
                let segments = fields.u32()? as usize;
                if segments > heap_bytes {
                    return Err(Malformed("more segments than bytes"));
                }
                let starts = fields.packed(segments + 1)?;
                let stored = fields.packed(segments + 1)?;
                let bytes = fields.take(stored.get(segments) as usize)?;
                Heap::Lz4 { starts, stored, bytes }
            }
            _ => return Err(Malformed("unknown encoding of byte strings")),
        };
        fields.finish()?;
        Ok(Self { rows, shortest, offsets, heap_bytes, heap })
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Where row `row` begins in the heap; for the row count, where the last ends.
    #[inline]
    fn offset(&self, row: usize) -> usize {
        let above = self.offsets.get(row) as usize;
        above.wrapping_add(row.wrapping_mul(self.shortest)).min(self.heap_bytes)
    }

    #[inline]
    fn span(&self, row: usize) -> Range<usize> {
        let start = self.offset(row);
        start..self.offset(row + 1).max(start)
    }

    /// Length of row `row` in bytes, without touching the heap.
    ///
    /// # Panics
    /// If `row` is not below `len()`.
    pub fn bytes_of(&self, row: usize) -> usize {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        self.span(row).len()
    }

    /// The string of row `row`: lent from a raw heap, else decompressed into `scratch`.
    ///
    /// # Errors
    /// If a compressed segment does not decompress.
    ///
    /// # Panics
    /// If `row` is not below `len()`.
    pub fn get<'s>(&self, row: usize, scratch: &'s mut Vec<u8>) -> Result<&'s [u8], Malformed>
    where
        'a: 's,
    {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let span = self.span(row);
        match &self.heap {
            Heap::Raw(heap) => Ok(&heap[span]),
            Heap::Lz4 { .. } if span.is_empty() => Ok(&[]),
            Heap::Lz4 { starts, .. } => {
                let segment = last_at_most(starts, span.start);
                let start = starts.get(segment) as usize;
                scratch.clear();
                self.segment(segment, scratch)?;
                let inside = span.start.wrapping_sub(start)..span.end.wrapping_sub(start);
                scratch.get(inside).ok_or(Malformed("a string that leaves its segment"))
            }
        }
    }

    /// Lends the string of row `row` if the heap is raw.
    #[inline]
    pub fn borrow(&self, row: usize) -> Option<&'a [u8]> {
        match &self.heap {
            Heap::Raw(heap) => Some(&heap[self.span(row)]),
            Heap::Lz4 { .. } => None,
        }
    }

    /// Appends the strings of `rows` to the heap, and their offsets to `out`. The caller appends
    /// the validity.
    ///
    /// # Errors
    /// If a compressed segment does not decompress; `out` is then unspecified.
    ///
    /// # Panics
    /// If `rows` ends past `len()`.
    pub fn read(&self, rows: Range<usize>, out: &mut BytesColumn) -> Result<(), Malformed> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "{rows:?} of {}", self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let start = self.offset(rows.start);
        let end = self.offset(rows.end).max(start);
        let base = out.heap.len() as u64;
        let begin = out.offsets.len();
        out.offsets.resize(begin + rows.len(), 0);
        self.offsets.read(rows.start + 1, &mut out.offsets[begin..]);
        let mut least = start;
        for (row, offset) in (rows.start + 1..).zip(&mut out.offsets[begin..]) {
            let at = (*offset as usize).wrapping_add(row.wrapping_mul(self.shortest));
            least = at.clamp(least, end.max(least));
            *offset = base + (least - start) as u64;
        }
        match &self.heap {
            Heap::Raw(heap) => out.heap.extend_from_slice(&heap[start..end]),
            Heap::Lz4 { .. } if start == end => {}
            Heap::Lz4 { starts, .. } => {
                let first = last_at_most(starts, start);
                let skip = start.saturating_sub(starts.get(first) as usize);
                let from = out.heap.len();
                for segment in first..starts.len() - 1 {
                    if starts.get(segment) as usize >= end {
                        break;
                    }
                    self.segment(segment, &mut out.heap)?;
                }
                if out.heap.len() < from + skip + (end - start) {
                    return Err(Malformed("segments shorter than the heap"));
                }
                if skip > 0 {
                    out.heap.copy_within(from + skip.., from);
                }
                out.heap.truncate(from + (end - start));
            }
        }
        Ok(())
    }

    /// Appends a decompressed segment.
    fn segment(&self, segment: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
        const BAD: Malformed = Malformed("a segment that does not decompress");
        let Heap::Lz4 { starts, stored, bytes } = &self.heap else { return Ok(()) };
        if segment + 1 >= starts.len() {
            return Err(BAD);
        }
        let from = stored.get(segment) as usize;
        let bytes = bytes.get(from..stored.get(segment + 1) as usize).ok_or(BAD)?;
        let len = (starts.get(segment + 1) as usize).wrapping_sub(starts.get(segment) as usize);
        if len == bytes.len() {
            out.extend_from_slice(bytes);
            return Ok(());
        }
        if len > bytes.len().saturating_mul(LZ4_RATIO_MAX) {
            return Err(BAD);
        }
        let at = out.len();
        out.resize(at + len, 0);
        match lz4_flex::block::decompress_into(bytes, &mut out[at..]) {
            Ok(done) if done == len => Ok(()),
            _ => Err(BAD),
        }
    }

    /// First row whose string is at least `key`, where the strings are sorted.
    ///
    /// # Errors
    /// If a compressed segment does not decompress.
    pub fn lower_bound(&self, key: &[u8]) -> Result<usize, Malformed> {
        let mut scratch = Vec::new();
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = (low + high) / 2;
            if self.get(middle, &mut scratch)? < key { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}

/// A column of byte strings whose heap stands elsewhere: where each lies in it, and its checksum.
#[derive(Clone, Copy, Debug)]
pub struct ApartReader<'a> {
    /// Its heap is empty: only spans are asked of it.
    spans: BytesReader<'a>,
    checksums: &'a [[u8; 8]],
}

impl<'a> ApartReader<'a> {
    /// Reads a column of `rows` strings as [`encode_apart`] wrote it; `bytes` holds nothing else.
    ///
    /// # Errors
    /// If `bytes` is no such column of that length.
    pub fn parse(bytes: &'a [u8], rows: usize) -> Result<Self, Malformed> {
        let mut fields = Fields::new(bytes);
        if fields.u8()? != APART {
            return Err(Malformed("strings that do not stand apart"));
        }
        let heap_bytes = fields.u32()? as usize;
        let shortest = fields.u32()? as usize;
        let offsets = fields.packed(rows + 1)?;
        let checksums = fields.take(rows * 8)?.as_chunks::<8>().0;
        fields.finish()?;
        let spans = BytesReader { rows, shortest, offsets, heap_bytes, heap: Heap::Raw(&[]) };
        Ok(Self { spans, checksums })
    }

    /// Bytes of the heap.
    pub fn heap_bytes(&self) -> usize {
        self.spans.heap_bytes
    }

    /// Where the string of row `row` lies in the heap.
    ///
    /// # Panics
    /// If `row` is not below the number of rows.
    #[inline]
    pub fn span(&self, row: usize) -> Range<usize> {
        assert!(row < self.spans.rows, "row {row} of {}", self.spans.rows);
        self.spans.span(row)
    }

    /// Whether this is the string of row `row`.
    ///
    /// # Panics
    /// If `row` is not below the number of rows.
    #[inline]
    pub fn is_string(&self, row: usize, string: &[u8]) -> bool {
        checksum(string).to_le_bytes() == self.checksums[row]
    }

    /// The column, given its heap. With `check`, each string is compared with its checksum.
    ///
    /// # Errors
    /// If the heap has another length, or a string differs from the written one.
    pub fn with_heap(&self, heap: &'a [u8], check: bool) -> Result<BytesReader<'a>, Malformed> {
        if heap.len() != self.heap_bytes() {
            return Err(Malformed("strings that do not fill their heap"));
        }
        let mut end = 0;
        for row in 0..self.spans.rows {
            let span = self.spans.span(row);
            if span.start != end {
                return Err(Malformed("strings that do not follow one another"));
            }
            end = span.end;
            if check && !self.is_string(row, &heap[span]) {
                return Err(Malformed("a string's checksum does not match"));
            }
        }
        if end != heap.len() {
            return Err(Malformed("strings that do not fill their heap"));
        }
        Ok(BytesReader { heap: Heap::Raw(heap), ..self.spans })
    }
}

/// The last of ascending `starts`, the end excluded, that is at most `at`; 0 if none is.
fn last_at_most(starts: &Packed<'_>, at: usize) -> usize {
    let (mut low, mut high) = (0, starts.len() - 1);
    while low < high {
        let middle = (low + high) / 2;
        if starts.get(middle) as usize <= at { low = middle + 1 } else { high = middle }
    }
    low.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(strings: &[Vec<u8>]) -> BytesColumn {
        let mut column = BytesColumn::default();
        strings.iter().for_each(|string| column.push(Some(string)));
        column
    }

    #[track_caller]
    fn check(strings: &[Vec<u8>], rows: Range<usize>) -> u8 {
        let mut bytes = Vec::new();
        encode(&column(strings), rows.clone(), true, &mut bytes);
        let strings = &strings[rows];
        let reader = BytesReader::parse(&bytes, strings.len()).unwrap();
        let mut scratch = Vec::new();
        for (row, string) in strings.iter().enumerate() {
            assert_eq!(reader.get(row, &mut scratch).unwrap(), string);
            assert_eq!(reader.bytes_of(row), string.len());
        }
        for start in [0, strings.len() / 2, strings.len()] {
            let mut out = column(&[b"before".to_vec()]);
            reader.read(start..strings.len(), &mut out).unwrap();
            let mut want = vec![b"before".to_vec()];
            want.extend_from_slice(&strings[start..]);
            assert_eq!(out, column(&want));
        }
        bytes[0]
    }

    #[test]
    fn text_is_compressed_and_noise_is_not() {
        let text: Vec<_> =
            (0..3000).map(|i| format!("the vertex number {i}").into_bytes()).collect();
        assert_eq!(check(&text, 0..3000), LZ4);
        assert_eq!(check(&text, 17..1801), LZ4);
        let noise: Vec<_> = (0..3000_u64)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().to_vec())
            .collect();
        assert_eq!(check(&noise, 0..3000), RAW);
    }

    #[test]
    fn a_string_longer_than_a_segment_is_one_segment() {
        let mut strings = vec![b"short".to_vec(), vec![b'x'; 5 * SEGMENT_BYTES_MAX], Vec::new()];
        strings.extend((0..500).map(|i| vec![b'y'; i % 100]));
        assert_eq!(check(&strings, 0..503), LZ4);
    }

    #[test]
    fn strings_that_stand_apart_come_back_with_their_heap_and_no_other() {
        let strings: Vec<_> = (0..70_u8).map(|i| vec![i; usize::from(i) * 3]).collect();
        let column = column(&strings);
        for rows in [0..70, 0..1, 12..70] {
            let mut bytes = Vec::new();
            let heap = encode_apart(&column, rows.clone(), &mut bytes);
            let reader = ApartReader::parse(&bytes, rows.len()).unwrap();
            for (i, string) in strings[rows.clone()].iter().enumerate() {
                assert_eq!(&heap[reader.span(i)], string);
                assert!(reader.is_string(i, string));
            }
            let mut out = BytesColumn::default();
            reader.with_heap(heap, true).unwrap().read(0..rows.len(), &mut out).unwrap();
            assert!(out.len() == rows.len());
            assert!(reader.with_heap(&[heap, b"x"].concat(), true).is_err());
            for at in 0..heap.len() {
                let mut other = heap.to_vec();
                other[at] ^= 1;
                assert!(reader.with_heap(&other, true).is_err(), "byte {at}");
            }
            for len in 0..bytes.len() {
                assert!(ApartReader::parse(&bytes[..len], rows.len()).is_err());
            }
            assert!(BytesReader::parse(&bytes, rows.len()).is_err());
        }
    }

    #[test]
    fn strings_of_one_length_need_no_offsets() {
        let strings: Vec<_> = (0..1000_u64).map(|i| i.to_be_bytes().to_vec()).collect();
        let mut bytes = Vec::new();
        encode(&column(&strings), 0..1000, false, &mut bytes);
        assert_eq!(bytes.len(), 8000 + 1 + 4 + 4 + 9);
    }

    proptest! {
        #[test]
        fn any_strings_come_back(
            strings in prop::collection::vec(prop::collection::vec(0..6_u8, 0..40), 0..80),
            from: prop::sample::Index,
        ) {
            check(&strings, from.index(strings.len() + 1)..strings.len());
        }

        #[test]
        fn lower_bound_is_that_of_a_sorted_vector(
            mut strings in prop::collection::vec(prop::collection::vec(0..4_u8, 0..5), 0..80),
            key in prop::collection::vec(0..4_u8, 0..5),
        ) {
            strings.sort();
            let mut bytes = Vec::new();
            encode(&column(&strings), 0..strings.len(), true, &mut bytes);
            let reader = BytesReader::parse(&bytes, strings.len()).unwrap();
            prop_assert_eq!(
                reader.lower_bound(&key).unwrap(),
                strings.partition_point(|string| *string < key)
            );
        }

        #[test]
        fn damaged_bytes_never_panic(
            apart: bool,
            strings in prop::collection::vec(prop::collection::vec(0..2_u8, 0..40), 0..80),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in 0..8_usize,
            rows in 0..90_usize,
        ) {
            let mut bytes = Vec::new();
            let column = column(&strings);
            if apart {
                encode_apart(&column, 0..strings.len(), &mut bytes);
            } else {
                encode(&column, 0..strings.len(), true, &mut bytes);
            }
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let shorter = &bytes[..bytes.len() - cut];
            for (bytes, rows) in [(&bytes[..], strings.len()), (&bytes[..], rows), (shorter, rows)] {
                if let Ok(reader) = ApartReader::parse(bytes, rows) {
                    let heap = vec![0; reader.heap_bytes().min(1 << 16)];
                    let _ = reader.with_heap(&heap, true);
                }
                if let Ok(reader) = BytesReader::parse(bytes, rows) {
                    let mut out = BytesColumn::default();
                    let _ = reader.read(0..rows, &mut out);
                    let mut scratch = Vec::new();
                    (0..rows).for_each(|row| { let _ = reader.get(row, &mut scratch); });
                }
            }
        }
    }
}
