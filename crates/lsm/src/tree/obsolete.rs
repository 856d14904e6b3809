//! Files of tables that no version names any more, until the last reader lets go.

use crate::context::Context;
use crate::table::Table;
use env::Env;
use std::path::PathBuf;
use std::sync::Arc;

/// Tables that left their trees, with their files.
#[derive(Debug, Default)]
pub struct ObsoleteFiles {
    tables: Vec<(PathBuf, Arc<Table>)>,
}

impl ObsoleteFiles {
    /// Takes a table that the manifest does not name any more.
    pub(crate) fn add(&mut self, context: &Context, table: Arc<Table>) {
        let meta = table.meta();
        context.table_leaves(meta);
        self.tables.push((context.table_path(meta.id, meta.folder), table));
    }

    /// Takes all of another's.
    pub fn append(&mut self, other: &mut Self) {
        self.tables.append(&mut other.tables);
    }

    /// Removes the files of tables that nothing else refers to; returns how many. What cannot be
    /// removed is tried again next time, and opening the database removes what is left.
    pub fn collect(&mut self, env: &dyn Env) -> usize {
        let before = self.tables.len();
        // Ours is the only reference and no version holds the table, so no one can get another.
        self.tables.retain(|(path, table)| {
            let free = Arc::strong_count(table) == 1;
            if !free {
                base::mark::hit(base::mark::Mark::ObsoleteWaits);
            }
            !free || env.remove(path).is_err_and(|error| !error.is_not_found())
        });
        before - self.tables.len()
    }

    /// Tables whose files are still there.
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
