//! The trait of the readers of graph formats.

use super::sink::Sink;
use crate::error::Error;

/// The note for files whose edges have no direction.
pub(crate) const UNDIRECTED: &str = "the file has edges without direction: a directed graph gets \
    them as they are written, from source to target";

/// One pass over a file.
pub(super) trait Pass: Send {
    /// Reads at least one more edge, unless the file ends; then returns false.
    fn step(&mut self, sink: &mut Sink) -> Result<bool, Error>;
}
