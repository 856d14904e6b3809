//! Errors in pointers, patches and changes.

use std::fmt;

/// A change of a document that cannot be made, or a text that describes none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// The reason.
    pub what: String,
    /// Number of the operation of a patch, from 0.
    pub operation: Option<usize>,
}

impl DocumentError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), operation: None }
    }

    /// An error of a caller's change.
    #[must_use]
    pub fn of_text(what: &str) -> Self {
        Self::new(what)
    }

    /// The same error in an operation of a patch.
    pub(crate) fn in_operation(self, operation: usize) -> Self {
        Self { operation: Some(operation), ..self }
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.operation {
            write!(f, "operation {operation} of the patch: ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for DocumentError {}
