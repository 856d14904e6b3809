//! Reads separated values of several blocks in one batch.

use super::apart::{Apart, Value};
use super::block::Block;
use super::section::read_files;
use crate::codec::bytes::ApartReader;
use crate::error::Result;
use base::prefetch::{prefetch, prefetch_front, prefetch_value};
use env::FileRead;
use std::ops::Deref;
use std::sync::Arc;

/// Cache lines of each kept value that are prefetched before the first value of a batch is copied.
/// The processor itself prefetches the lines after them.
const FETCHED_LINES: usize = 4;

/// A value that was asked for.
#[derive(Debug)]
pub(crate) enum Found {
    Kept(Value),
    Read(Vec<u8>),
}

impl Deref for Found {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Kept(value) => value,
            Self::Read(bytes) => bytes,
        }
    }
}

/// The values of these rows of headers. Those that are not kept are read in one batch, and may then
/// be kept if `keep`.
///
/// # Errors
/// A failed read, or corruption.
///
/// # Panics
/// If a block is no head.
pub(crate) fn read_values(wanted: &[(&Block, usize)], keep: bool) -> Result<Vec<Found>> {
    // Loops of their own, in which cache misses pass beside each other.
    for &(block, row) in wanted {
        if let Some(place) = block.apart().and_then(|apart| apart.places.get(row)) {
            prefetch_value(place);
        }
    }
    for &(block, row) in wanted {
        if let Some(place) = block.apart().and_then(|apart| apart.places.get(row))
            && let Some(value) = &*place.lock()
        {
            // With the count of its owners, which stands before it.
            prefetch(value.as_ptr().addr() - 2 * size_of::<usize>());
        }
    }
    let (mut values, mut missing, mut reads) =
        (Vec::with_capacity(wanted.len()), Vec::new(), Vec::new());
    for (i, &(block, row)) in wanted.iter().enumerate() {
        let (apart, strings) = separated(block);
        let span = strings.span(row);
        if let Some(value) = apart.kept(row) {
            prefetch_front(&value, FETCHED_LINES);
            values.push(Found::Kept(value));
            continue;
        }
        values.push(Found::Read(Vec::new()));
        if span.is_empty() {
            continue;
        }
        if reads.is_empty() {
            apart.may_read()?;
        }
        let offset = apart.heap.start + span.start as u64;
        reads.push(FileRead { file: Arc::clone(&apart.file), offset, buf: vec![0; span.len()] });
        missing.push(i);
    }
    if let Err(error) = read_files(&mut reads) {
        let mut cut = missing.iter().map(|&i| separated(wanted[i].0).0.cut(&error));
        return Err(cut.find_map(|damage| damage).map_or_else(|| error.into(), Into::into));
    }
    for (i, read) in missing.into_iter().zip(reads) {
        let (block, row) = wanted[i];
        let (apart, strings) = separated(block);
        apart.check(strings, row, &read.buf)?;
        if keep && apart.is_wanted(row) {
            apart.keep(row, &Value::from(&*read.buf));
        }
        values[i] = Found::Read(read.buf);
    }
    Ok(values)
}

/// The separated values of a block that is a header, and the places and checksums that it has of
/// them.
fn separated(block: &Block) -> (&Apart, &ApartReader<'_>) {
    match (block.apart(), block.apart_strings()) {
        (Some(apart), Some(strings)) => (apart, strings),
        _ => unreachable!("the block is a head"),
    }
}
