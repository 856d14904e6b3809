//! Counts the tables in use of each file that holds tables of several trees.

use super::meta::TableMeta;
use base::TableId;
use base::fault_switch::{Switch, is_on};
use env::RandomReadFile;
use env::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The shared files whose tables are in use.
#[derive(Debug, Default)]
pub struct SharedFiles {
    /// Tables that are left in each file. A leaf lock.
    tables: Mutex<BTreeMap<TableId, Left>>,
    /// Files that are open, one handle for all of their tables.
    open: Mutex<BTreeMap<TableId, Weak<dyn RandomReadFile>>>,
}

/// The remaining tables of a shared file.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    tables: usize,
    bytes: u64,
    /// Where the last table ever seen ends.
    end: u64,
}

impl SharedFiles {
    /// Counts a table.
    pub(crate) fn add(&self, table: &TableMeta) {
        let Some(place) = table.shared else { return };
        let bytes = table.summary.bytes;
        let mut tables = self.tables.lock();
        let left = tables.entry(place.file).or_default();
        left.tables += 1;
        left.bytes += bytes;
        left.end = left.end.max(place.offset.saturating_add(bytes));
    }

    /// A table is gone. `remove` removes its file, and is called for the last one.
    ///
    /// # Errors
    /// Those of `remove`; the table then still counts.
    pub(crate) fn release(
        &self,
        table: &TableMeta,
        remove: impl FnOnce() -> env::Result<()>,
    ) -> env::Result<()> {
        let Some(place) = table.shared else { return remove() };
        let mut tables = self.tables.lock();
        if let Some(left) = tables.get_mut(&place.file)
            && left.tables > 1
            && !is_on(Switch::RemoveSharedEarly)
        {
            left.tables -= 1;
            left.bytes = left.bytes.saturating_sub(table.summary.bytes);
            return Ok(());
        }
        remove()?;
        tables.remove(&place.file);
        drop(tables);
        self.open.lock().remove(&place.file);
        Ok(())
    }

    /// Whether more than half of a table's file, and more than `bytes`, is unused, so that it
    /// should be written elsewhere.
    #[must_use]
    pub fn is_sparse(&self, table: &TableMeta, bytes: u64) -> bool {
        let Some(place) = table.shared else { return false };
        let is_sparse = |left: &Left| left.end.saturating_sub(left.bytes) > bytes.max(left.bytes);
        self.tables.lock().get(&place.file).is_some_and(is_sparse)
    }

    /// The handle of a file, opened by `open` if none is.
    pub(crate) fn handle(
        &self,
        file: TableId,
        open: impl FnOnce() -> env::Result<Arc<dyn RandomReadFile>>,
    ) -> env::Result<Arc<dyn RandomReadFile>> {
        let mut files = self.open.lock();
        if let Some(open) = files.get(&file).and_then(Weak::upgrade) {
            return Ok(open);
        }
        let opened = open()?;
        files.retain(|_, file| file.strong_count() > 0);
        files.insert(file, Arc::downgrade(&opened));
        Ok(opened)
    }
}
