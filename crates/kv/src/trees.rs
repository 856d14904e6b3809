//! The live keyspaces: one tree each, found by number without a lock.

use base::KeyspaceId;
use lsm::tree::Tree;
use std::sync::Arc;
use store::{Error, ErrorKind, KeyspaceInfo, Result};

/// A keyspace and its tree.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) info: KeyspaceInfo,
    /// Shared by the entries that a keyspace has had under other names.
    pub(crate) tree: Arc<Tree>,
}

/// All live keyspaces at one moment; replaced as a whole when one is created or dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trees {
    /// Index is the keyspace's number; dropped ones leave a hole.
    slots: Vec<Option<Arc<Entry>>>,
}

impl Trees {
    /// The keyspace of this number.
    pub(crate) fn get(&self, id: KeyspaceId) -> Result<&Arc<Entry>> {
        match self.slots.get(id.0 as usize) {
            Some(Some(entry)) => Ok(entry),
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("no keyspace has the number {}; it may have been dropped", id.0),
            )),
        }
    }

    /// All, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.slots.iter().flatten()
    }

    /// With one more.
    pub(crate) fn insert(&mut self, entry: Arc<Entry>) {
        let at = entry.info.id.0 as usize;
        if self.slots.len() <= at {
            self.slots.resize(at + 1, None);
        }
        self.slots[at] = Some(entry);
    }

    /// Without this one.
    pub(crate) fn remove(&mut self, id: KeyspaceId) -> Option<Arc<Entry>> {
        self.slots.get_mut(id.0 as usize)?.take()
    }
}
