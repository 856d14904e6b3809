//! Which small trees share a file, and which never do.
//!
//! # Why not all of them
//! A graph is stored in both directions, and a relation with its indexes: if a file is lost or cut,
//! `repair` makes its rows again from the others. So keyspaces that belong together never share a
//! file. They have one name before the first colon (`g` and `g:rev`, `r` and `r:by_v`), and each
//! gets another of a few files.

use lsm::context::Context;
use lsm::table::SharedWriter;
use std::collections::HashMap;
use std::sync::Arc;

/// Most files that are written side by side. Further indexes of a relation share files with each
/// other, but never with the relation.
const FILES_MAX: usize = 8;

/// The files that one flush or compaction writes.
#[derive(Debug)]
pub(crate) struct SharedWriters {
    context: Arc<Context>,
    writers: Vec<Arc<SharedWriter>>,
    /// How many names there were with each part before the colon.
    seen: HashMap<String, usize>,
}

impl SharedWriters {
    /// No file is created before the first table.
    pub(crate) fn new(context: &Arc<Context>) -> Self {
        Self { context: Arc::clone(context), writers: Vec::new(), seen: HashMap::new() }
    }

    /// The file for the next keyspace, which has this name. A name without a colon gets the first
    /// file. Names with the same part before the colon take turns in the others.
    pub(crate) fn of(&mut self, name: &str) -> &Arc<SharedWriter> {
        let place = match name.split_once(':') {
            None => 0,
            Some((base, _)) => {
                let seen = self.seen.entry(base.to_owned()).or_default();
                let place = 1 + *seen % (FILES_MAX - 1);
                *seen += 1;
                place
            }
        };
        while self.writers.len() <= place {
            self.writers.push(SharedWriter::new(&self.context));
        }
        &self.writers[place]
    }

    /// Makes all files durable.
    ///
    /// # Errors
    /// A failed write or sync. No file is left then.
    pub(crate) fn finish(self) -> lsm::Result<()> {
        SharedWriter::finish_all(&self.writers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trees::tests::context;

    #[test]
    fn what_belongs_together_is_in_different_files() {
        let mut shared = SharedWriters::new(&context());
        let mut file = |name: &str| Arc::as_ptr(shared.of(name));
        let graph = ["g:rev", "g", "g:ids", "g:names"].map(&mut file);
        assert!((0..4).all(|i| !graph[..i].contains(&graph[i])));
        let relation = file("r");
        let indexes: Vec<_> = (0..20).map(|i| file(&format!("r:{i}"))).collect();
        assert!(!indexes.contains(&relation));
        assert_eq!(file("h"), relation, "others share");
        assert_eq!(file("h:rev"), indexes[0]);
    }
}
