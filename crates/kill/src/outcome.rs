//! The result type of this program.

/// An error ends the run, so a message is enough.
pub(crate) type Outcome<T> = Result<T, String>;
