//! The trait that an engine implements: an ordered map of byte strings with snapshots and one
//! writer.

use store::Result;

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The order in which a scan returns keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Ascending.
    Forward,
    /// Descending.
    Backward,
}

/// Reads of one state of the map.
///
/// # Errors
/// Every method returns the error of a failed read.
pub trait MapRead {
    /// Pushes the value of each key, or `None`, in the order asked.
    fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()>;

    /// Pushes the first `limit` pairs with `lower <= key < upper`, from the end that `order` says.
    fn scan(
        &mut self,
        lower: &[u8],
        upper: &[u8],
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()>;

    /// Pushes, for each range, its first `limit` pairs in ascending order. An engine behind a
    /// network asks for many ranges at once.
    fn scan_many(
        &mut self,
        ranges: &[(Vec<u8>, Vec<u8>)],
        limit: usize,
        out: &mut Vec<Vec<Pair>>,
    ) -> Result<()> {
        for (lower, upper) in ranges {
            let mut pairs = Vec::new();
            self.scan(lower, upper, Order::Forward, limit, &mut pairs)?;
            out.push(pairs);
        }
        Ok(())
    }
}

/// The one writer of the map. It reads the newest state with its own writes. Dropped without
/// [`MapWriter::commit`], it leaves the map as it was.
pub trait MapWriter: MapRead {
    /// Sets values.
    ///
    /// # Errors
    /// A failed write.
    fn put(&mut self, pairs: &[Pair]) -> Result<()>;

    /// Removes keys; absent ones are ignored.
    ///
    /// # Errors
    /// A failed write.
    fn delete(&mut self, keys: &[Vec<u8>]) -> Result<()>;

    /// Removes all keys with `lower <= key < upper`.
    ///
    /// # Errors
    /// A failed write.
    fn delete_range(&mut self, lower: &[u8], upper: &[u8]) -> Result<()>;

    /// Removes all keys with `lower <= key < upper`, which nobody reads or writes after the commit.
    /// An engine with a limit on commits removes them after it, in several steps.
    ///
    /// # Errors
    /// A failed write.
    fn discard(&mut self, lower: &[u8], upper: &[u8]) -> Result<()> {
        self.delete_range(lower, upper)
    }

    /// Makes all writes visible in one step, as durable as the map was opened for.
    ///
    /// # Errors
    /// A failed write. Nothing is written then, unless the message says that it is unknown.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// An ordered map of byte strings. Keys compare bytewise; no value is empty.
pub trait OrderedMap: Send + Sync {
    /// Reads the newest committed state, and only that one, until it is dropped.
    ///
    /// # Errors
    /// A failed read.
    fn snapshot(&self) -> Result<Box<dyn MapRead + Send>>;

    /// Waits until no other writer of any process is left, and becomes the writer.
    ///
    /// # Errors
    /// A failed read, or a writer that does not end.
    fn writer(&self) -> Result<Box<dyn MapWriter + '_>>;

    /// Sets values of new keys that nobody reads before a later commit. An engine with a limit on
    /// commits sets them in several steps; if it fails, some may be there.
    ///
    /// # Errors
    /// A failed write.
    fn load(&self, pairs: &[Pair]) -> Result<()> {
        let mut writer = self.writer()?;
        writer.put(pairs)?;
        writer.commit()
    }

    /// Makes this process the only one that may write, until the map is closed.
    ///
    /// # Errors
    /// [`store::ErrorKind::Locked`] if another process is.
    fn claim(&self) -> Result<()>;

    /// Makes all commits durable.
    ///
    /// # Errors
    /// A failed write.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Gives the room of removed pairs back.
    ///
    /// # Errors
    /// A failed write.
    fn compact(&self) -> Result<()> {
        Ok(())
    }

    /// Bytes that the map takes; 0 if unknown.
    ///
    /// # Errors
    /// A failed read.
    fn bytes(&self) -> Result<u64> {
        Ok(0)
    }

    /// Damage that the engine itself finds, one line each.
    ///
    /// # Errors
    /// A failed read.
    fn problems(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Where the map is, for messages.
    fn name(&self) -> String;

    /// The files of the map lie at paths that start with this one, if it has files.
    fn file(&self) -> Option<&std::path::Path> {
        None
    }

    /// Closes all connections.
    ///
    /// # Errors
    /// A failed write.
    fn close(&self) -> Result<()> {
        Ok(())
    }
}
