//! Size and symmetry of the matrix in a Matrix Market file.

/// The size line of a Matrix Market file, and the symmetry of its matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub columns: u64,
    /// Entries in the file, as its size line says.
    pub entries: u64,
    /// How the other half follows from the entries.
    pub(crate) mirror: Mirror,
}

/// How the other half of a matrix follows from its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mirror {
    None,
    Same,
    Negated,
}
