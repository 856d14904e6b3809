//! The result of a step, and whether a failed commit can have taken effect.

use store::ErrorKind;

/// The violated promise, in words, if any.
pub type Outcome = Result<(), String>;

/// Whether an error of a commit means that nothing was committed. `poisoned`: the store had refused
/// a write before this commit began.
#[must_use]
pub fn is_definite(error: &store::Error, poisoned: bool) -> bool {
    match error.kind() {
        ErrorKind::Poisoned => poisoned,
        ErrorKind::Io | ErrorKind::Corruption => false,
        _ => true,
    }
}
