//! Input rows paired with the rows that they found in a stored relation. The operators
//! `index_join`, `scan` and `temporal_scan` make pairs; the pipeline builds its output rows from
//! them.
//!
//! # Invariants
//! 1. `rows` and `places` have one length: input row `rows[i]` found row `places[i]` of `found`.

use crate::storage::probe_keys::ProbeKeys;
use crate::value::columns::Columns;

impl ProbeKeys<'_> {
    /// Whether the bound columns that are not in the prefix match. They were read after `outputs`
    /// other columns.
    pub(crate) fn agree(&self, row: u32, found: &Columns, outputs: usize, place: usize) -> bool {
        let checks = self.cells[self.prefix..].iter().zip(&found.columns[outputs..]);
        checks.into_iter().all(|(asked, found)| found[place] == asked[row as usize])
    }
}

/// Input rows, and the row that each found.
pub(crate) struct Pairs<'p> {
    pub(crate) rows: &'p [u32],
    pub(crate) places: &'p [u32],
    pub(crate) found: &'p Columns,
    pub(crate) asked: &'p ProbeKeys<'p>,
}
