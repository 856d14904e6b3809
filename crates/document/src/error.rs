//! Errors in pointers, patches and changes.

use std::fmt;

/// A change that cannot be applied to a document, or a pointer or a patch that is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// The reason.
    pub what: String,
    /// Number of the operation of a patch, from 0.
    pub operation: Option<usize>,
}

impl DocumentError {
    /// An error with this reason.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), operation: None }
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
