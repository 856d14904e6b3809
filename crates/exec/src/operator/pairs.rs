//! Rows of a batch beside the rows that they found in a stored relation.

use crate::storage::probe_keys::ProbeKeys;
use crate::value::columns::Columns;

impl ProbeKeys<'_> {
    /// Whether the columns that are bound besides the prefix are what they must be: they were read
    /// after `outputs` others.
    pub(crate) fn agree(&self, row: u32, found: &Columns, outputs: usize, place: usize) -> bool {
        let checks = self.cells[self.prefix..].iter().zip(&found.columns[outputs..]);
        checks.into_iter().all(|(asked, found)| found[place] == asked[row as usize])
    }
}

/// Rows that came in, and what each found.
pub(crate) struct Pairs<'p> {
    pub(crate) rows: &'p [u32],
    pub(crate) places: &'p [u32],
    pub(crate) found: &'p Columns,
    pub(crate) asked: &'p ProbeKeys<'p>,
}
