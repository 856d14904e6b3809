//! The head of a Matrix Market file.

/// The size line of a matrix, and how its other half follows from the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Rows and columns.
    pub rows: u64,
    /// Columns.
    pub columns: u64,
    /// Entries that the file says it has.
    pub entries: u64,
    /// How the other half follows.
    pub(crate) mirror: Mirror,
}

/// How the other half of a matrix follows from its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mirror {
    None,
    Same,
    Negated,
}
