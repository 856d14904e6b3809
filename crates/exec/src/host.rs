//! What the engine asks of the database around it.

use base::KeyspaceId;
use model::Series;

/// What a database keeps beside its store: increments that wait to be written.
pub trait Host: Send + Sync {
    /// Writes what waits for one relation, or for all.
    ///
    /// # Errors
    /// Failed writes.
    fn write_waiting(&self, keyspace: Option<KeyspaceId>) -> store::Result<()>;

    /// Whether something waits for one relation, or for any.
    fn is_waiting(&self, keyspace: Option<KeyspaceId>) -> bool;

    /// A keyspace is gone: nothing may wait for it any more.
    fn dropped(&self, keyspace: KeyspaceId);

    /// Merges what the database keeps, and gives back what nothing refers to any more, as long as
    /// `go_on` says so.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`](store::ErrorKind::Cancelled) where it did not; failed writes.
    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> store::Result<()>;

    /// Hands the rows of a Parquet file to `visit`, piece by piece, until it says that it wants no
    /// more. `columns` are names in the order in which they are wanted; without them all are read.
    /// `file` is for messages.
    ///
    /// # Errors
    /// It is no such file, has no such column, or one of values that are none of the language's.
    fn read_parquet(
        &self,
        bytes: Vec<u8>,
        file: &str,
        columns: Option<&[String]>,
        visit: &mut dyn FnMut(&[Series]) -> bool,
    ) -> store::Result<()>;
}
