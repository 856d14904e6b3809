//! Streams of rows for scans: one page of the map at a time, on the snapshot of the scan.

use crate::core::Pinned;
use crate::key::Span;
use crate::map::Order;
use crate::meta::Space;
use crate::overlay::Overlay;
use crate::pages::{Found, PageRows, Writes, page};
use crate::reads::Reads;
use base::{Batch, Projection};
use env::sync::Mutex;
use std::sync::Arc;
use store::{Result, Scan};

/// Bytes of byte strings after which a batch ends.
const BYTES_MAX: usize = 1 << 20;

/// Rows of a range, page by page.
pub(crate) struct Stream {
    pub(crate) pinned: Arc<Pinned>,
    /// The transaction's writes when the stream began.
    pub(crate) own: Option<Overlay>,
    pub(crate) reads: Option<Arc<Mutex<Reads>>>,
    pub(crate) space: Space,
    /// The span that was not read yet.
    pub(crate) rest: Option<Span>,
    pub(crate) rows: PageRows,
    /// Rows that were read.
    pub(crate) ready: std::vec::IntoIter<(Vec<u8>, Found)>,
    pub(crate) projection: Projection,
}

impl Scan for Stream {
    fn next_batch(&mut self, rows_max: usize, out: &mut Batch) -> Result<bool> {
        let (before, bytes) = (out.rows, out.heap_bytes());
        while out.rows - before < rows_max.max(1) {
            let Some((key, found)) = self.ready.next() else {
                let Some(span) = self.rest.take() else { break };
                let writes = self.own.as_ref().map_or(Writes::None, Writes::Frozen);
                let (order, rows, reads) = (Order::Forward, self.rows.get(), self.reads.as_deref());
                let page = page(&self.pinned, &self.space, writes, reads, &span, order, rows)?;
                self.rows.learn(&page);
                self.rest = page.rest;
                self.ready = page.rows.into_iter();
                continue;
            };
            found.append(&self.pinned, &self.space, &key, self.projection, out)?;
            if out.heap_bytes() - bytes > BYTES_MAX {
                break;
            }
        }
        Ok(out.rows > before)
    }
}
