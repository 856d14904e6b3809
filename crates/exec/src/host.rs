//! The trait through which execution calls the database around it.

use base::KeyspaceId;
use model::Series;

/// The database around the engine: it holds write buffers and decodes Parquet files.
pub trait Host: Send + Sync {
    /// Writes the buffered increments of one relation, or of all.
    ///
    /// # Errors
    /// Failed writes.
    fn flush_buffered(&self, keyspace: Option<KeyspaceId>) -> store::Result<()>;

    /// Whether one relation, or any, has buffered increments.
    fn has_buffered(&self, keyspace: Option<KeyspaceId>) -> bool;

    /// Called after a keyspace was dropped: its write buffer must be emptied.
    fn dropped(&self, keyspace: KeyspaceId);

    /// Compacts the database and removes what nothing refers to any more, as long as `go_on`
    /// returns true.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`](store::ErrorKind::Cancelled) where it returned false; failed
    /// writes.
    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> store::Result<()>;

    /// Passes the rows of a Parquet file to `visit` in pieces, until that returns false. `columns`
    /// are the names to read, in this order; without them all are read. `file` is for messages.
    ///
    /// # Errors
    /// The bytes are not a Parquet file, lack a column, or have a column of an unsupported type.
    fn read_parquet(
        &self,
        bytes: Vec<u8>,
        file: &str,
        columns: Option<&[String]>,
        visit: &mut dyn FnMut(&[Series]) -> bool,
    ) -> store::Result<()>;
}
