//! Rows of a span, a page at a time, with the uncommitted writes of a transaction on top.

use crate::cell::{Change, Row, append_key, append_values};
use crate::core::Pinned;
use crate::key::{PREFIX_BYTES, Span, successor};
use crate::map::{Order, Pair};
use crate::meta::Space;
use crate::overlay::Overlay;
use crate::reads::Reads;
use crate::record::{decode, header};
use base::{Batch, Projection};
use env::sync::Mutex;
use std::collections::BTreeMap;
use store::Result;

/// Rows of the first page, and the most rows of one.
const ROWS_FIRST: usize = 128;
const ROWS_MAX: usize = 4096;

/// Pages aim at a size between these.
const BYTES_LOW: usize = 128 << 10;
const BYTES_HIGH: usize = 1 << 20;

/// The uncommitted writes that a read sees.
#[derive(Clone, Copy)]
pub(crate) enum Writes<'a> {
    None,
    /// Of a transaction that goes on.
    Shared(&'a Mutex<Overlay>),
    /// As they were when a stream began.
    Frozen(&'a Overlay),
}

impl Writes<'_> {
    pub(crate) fn with<R>(self, f: impl FnOnce(Option<&Overlay>) -> R) -> R {
        match self {
            Self::None => f(None),
            Self::Shared(overlay) => {
                let overlay = overlay.lock();
                f(Some(&*overlay).filter(|overlay| !overlay.is_empty()))
            }
            Self::Frozen(overlay) => f(Some(overlay)),
        }
    }
}

/// A row that was found: as stored, or from the transaction's writes.
pub(crate) enum Found {
    /// Columns as bytes.
    Stored(Vec<u8>),
    Own(Row),
}

impl Found {
    /// Appends it to a batch.
    pub(crate) fn append(
        &self,
        pinned: &Pinned,
        space: &Space,
        key: &[u8],
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        append_key(&mut out.keys, key.get(PREFIX_BYTES..).unwrap_or_default(), projection);
        match self {
            // Without value columns nothing is decoded.
            _ if projection.values == 0 => out.rows += 1,
            Self::Own(row) => append_values(out, Some(row), projection),
            Self::Stored(value) => {
                let row = stored_row(pinned, space, key, value)?;
                append_values(out, row.as_ref(), projection);
            }
        }
        Ok(())
    }
}

/// The row of a stored value; `None` for a tombstone.
fn stored_row(pinned: &Pinned, space: &Space, key: &[u8], value: &[u8]) -> Result<Option<Row>> {
    let place = &pinned.core.place;
    let (header, columns) = header(place, key, value)?;
    if header.is_tombstone {
        return Ok(None);
    }
    decode(place, key, &space.info.shape, columns).map(Some)
}

/// The record of a key, with the transaction's own writes applied.
pub(crate) fn found(
    pinned: &Pinned,
    space: &Space,
    own: Option<&Overlay>,
    key: &[u8],
    value: Option<Vec<u8>>,
) -> Result<Option<Found>> {
    let value = match value {
        Some(_) if own.is_some_and(|own| own.is_deleted(key)) => None,
        Some(value) if header(&pinned.core.place, key, &value)?.0.is_tombstone => None,
        value => value,
    };
    let Some(change) = own.and_then(|own| own.changes.get(key)) else {
        return Ok(value.map(Found::Stored));
    };
    let before = match (&value, change) {
        (Some(value), Change::Merge(_)) => stored_row(pinned, space, key, value)?,
        _ => None,
    };
    Ok(change.apply(&space.info.shape, before.as_ref()).map(Found::Own))
}

/// A page of rows, and the span after it.
pub(crate) struct Page {
    pub(crate) rows: Vec<(Vec<u8>, Found)>,
    pub(crate) rest: Option<Span>,
    bytes: usize,
}

/// Number of rows of the next page, by the size of those before.
#[derive(Clone, Copy)]
pub(crate) struct PageRows(usize);

impl Default for PageRows {
    fn default() -> Self {
        Self(ROWS_FIRST)
    }
}

impl PageRows {
    pub(crate) fn get(self) -> usize {
        self.0
    }

    pub(crate) fn learn(&mut self, page: &Page) {
        match page.bytes {
            0..BYTES_LOW => self.0 = (self.0 * 4).min(ROWS_MAX),
            BYTES_HIGH.. => self.0 = (self.0 / 4).max(1),
            _ => {}
        }
    }
}

/// Reads the first rows of a span, at most about `rows_max`.
pub(crate) fn page(
    pinned: &Pinned,
    space: &Space,
    writes: Writes<'_>,
    reads: Option<&Mutex<Reads>>,
    span: &Span,
    order: Order,
    rows_max: usize,
) -> Result<Page> {
    if span.0 >= span.1 {
        return Ok(Page { rows: Vec::new(), rest: None, bytes: 0 });
    }
    let rows_max = rows_max.max(1);
    let mut pairs = Vec::new();
    pinned.with(|map| map.scan(&span.0, &span.1, order, rows_max, &mut pairs))?;
    overlaid(pinned, space, writes, reads, span, order, rows_max, pairs)
}

/// Puts own writes on top of the first pairs of a span. If there are fewer pairs than `rows_max`,
/// the span has no more.
#[allow(clippy::too_many_arguments)] // what `page` and scans of many spans share
pub(crate) fn overlaid(
    pinned: &Pinned,
    space: &Space,
    writes: Writes<'_>,
    reads: Option<&Mutex<Reads>>,
    span: &Span,
    order: Order,
    rows_max: usize,
    pairs: Vec<Pair>,
) -> Result<Page> {
    let bytes = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
    let (covered, rest) = match (pairs.last(), order) {
        (Some((last, _)), _) if pairs.len() < rows_max || last.is_empty() => (span.clone(), None),
        (None, _) => (span.clone(), None),
        (Some((last, _)), Order::Forward) => {
            let next = successor(last);
            ((span.0.clone(), next.clone()), Some((next, span.1.clone())))
        }
        (Some((last, _)), Order::Backward) => {
            ((last.clone(), span.1.clone()), Some((span.0.clone(), last.clone())))
        }
    };
    if let Some(reads) = reads {
        reads.lock().note_span(covered.clone());
    }
    let rows = writes.with(|own| match own {
        None => {
            let mut rows = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                if let Some(found) = found(pinned, space, None, &key, Some(value))? {
                    rows.push((key, found));
                }
            }
            Ok(rows)
        }
        Some(own) => {
            let mut all: BTreeMap<Vec<u8>, Option<Vec<u8>>> =
                pairs.into_iter().map(|(key, value)| (key, Some(value))).collect();
            for (key, _) in own.changes.range(covered.0..covered.1) {
                all.entry(key.clone()).or_default();
            }
            let mut rows = Vec::with_capacity(all.len());
            for (key, value) in all {
                if let Some(found) = found(pinned, space, Some(own), &key, value)? {
                    rows.push((key, found));
                }
            }
            if order == Order::Backward {
                rows.reverse();
            }
            store::Result::Ok(rows)
        }
    })?;
    Ok(Page { rows, rest: rest.filter(|rest| rest.0 < rest.1), bytes })
}
