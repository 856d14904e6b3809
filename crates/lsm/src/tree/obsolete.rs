//! Files of tables that no version names any more; they are removed after their last reader.

use crate::context::Context;
use crate::table::Table;
use std::sync::Arc;

/// Tables that left their trees, with their files.
#[derive(Debug, Default)]
pub struct ObsoleteFiles {
    tables: Vec<Arc<Table>>,
}

impl ObsoleteFiles {
    /// Takes a table that the manifest does not name any more.
    pub(crate) fn add(&mut self, context: &Context, table: Arc<Table>) {
        context.table_leaves(table.meta());
        self.tables.push(table);
    }

    /// Takes all of another's.
    pub fn append(&mut self, other: &mut Self) {
        self.tables.append(&mut other.tables);
    }

    /// Removes the files of tables that nothing else refers to; returns how many tables. What
    /// cannot be removed is tried again next time, and opening the database removes remaining
    /// files.
    pub fn collect(&mut self, context: &Context) -> usize {
        let before = self.tables.len();
        // Ours is the only reference and no version holds the table, so no one can get another.
        self.tables.retain(|table| {
            let free = Arc::strong_count(table) == 1;
            if !free {
                base::mark::hit(base::mark::Mark::ObsoleteWaits);
            }
            !free || context.remove_table(table.meta()).is_err_and(|error| !error.is_not_found())
        });
        before - self.tables.len()
    }

    /// Tables that are still there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}
