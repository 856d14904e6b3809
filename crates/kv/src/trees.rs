//! The live keyspaces, one tree each, found by id or name without a lock.
//!
//! # Why in chunks
//! Each change makes a new list, because readers hold the old one. There may be ten thousand
//! keyspaces, and a change of one must not copy all: it copies one chunk and the list of chunks.

use crate::convert::tree_error;
use base::KeyspaceId;
use lsm::context::Context;
use lsm::tree::Tree;
use std::sync::Arc;
use store::{Error, ErrorKind, KeyspaceInfo, Result};

/// Slots of a chunk of ids; a chunk of names has up to twice as many.
const CHUNK: usize = 128;

/// A keyspace and its tree.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) info: KeyspaceInfo,
    /// Shared by all entries that the keyspace has had under different names.
    pub(crate) tree: Arc<Tree>,
}

impl Entry {
    /// A keyspace with an empty tree.
    pub(crate) fn empty(context: &Arc<Context>, info: KeyspaceInfo) -> Result<Self> {
        let tree = Tree::open(Arc::clone(context), info.id, info.shape.clone(), &[]);
        Ok(Self { info, tree: Arc::new(tree.map_err(tree_error)?) })
    }

    /// Sort key in the order of names. It includes the id, because two keyspaces have one name
    /// while names are being exchanged.
    fn key(&self) -> (&str, KeyspaceId) {
        (&self.info.name, self.info.id)
    }
}

/// An immutable set of all live keyspaces; replaced as a whole by each change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trees {
    /// Chunk and index within it come from the keyspace's id; a dropped one leaves a hole.
    slots: Vec<Arc<[Option<Arc<Entry>>; CHUNK]>>,
    /// The same entries in order of their names. No chunk is empty.
    names: Vec<Arc<Vec<Arc<Entry>>>>,
}

impl Trees {
    /// The keyspace with this id; `InvalidInput` where there is none.
    pub(crate) fn get(&self, id: KeyspaceId) -> Result<&Arc<Entry>> {
        let at = id.0 as usize;
        match self.slots.get(at / CHUNK).map(|chunk| &chunk[at % CHUNK]) {
            Some(Some(entry)) => Ok(entry),
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("no keyspace has the number {}; it may have been dropped", id.0),
            )),
        }
    }

    /// All keyspaces, in order of ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.slots.iter().flat_map(|chunk| chunk.iter().flatten())
    }

    /// The keyspaces whose names start with `prefix`, in order of names.
    pub(crate) fn starting<'t>(&'t self, prefix: &'t str) -> impl Iterator<Item = &'t Arc<Entry>> {
        let (chunk, within) = self.place((prefix, KeyspaceId(0)));
        let from = self.names.iter().skip(chunk).flat_map(|chunk| chunk.iter()).skip(within);
        from.take_while(move |entry| entry.info.name.starts_with(prefix))
    }

    /// The keyspaces with this name: at most one, except while names are being exchanged.
    pub(crate) fn named<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t Arc<Entry>> {
        self.starting(name).take_while(move |entry| entry.info.name == name)
    }

    /// Adds a keyspace, or replaces the one with its id.
    pub(crate) fn insert(&mut self, entry: Arc<Entry>) {
        self.remove(entry.info.id);
        let at = entry.info.id.0 as usize;
        while self.slots.len() <= at / CHUNK {
            self.slots.push(Arc::new([const { None }; CHUNK]));
        }
        Arc::make_mut(&mut self.slots[at / CHUNK])[at % CHUNK] = Some(Arc::clone(&entry));
        let (chunk, within) = self.place(entry.key());
        let Some(names) = self.names.get_mut(chunk) else {
            self.names.push(Arc::new(vec![entry]));
            return;
        };
        let names = Arc::make_mut(names);
        names.insert(within, entry);
        if names.len() > 2 * CHUNK {
            let upper = names.split_off(CHUNK);
            self.names.insert(chunk + 1, Arc::new(upper));
        }
    }

    /// Removes a keyspace and returns it.
    pub(crate) fn remove(&mut self, id: KeyspaceId) -> Option<Arc<Entry>> {
        self.get(id).ok()?;
        let at = id.0 as usize;
        let entry = Arc::make_mut(self.slots.get_mut(at / CHUNK)?)[at % CHUNK].take()?;
        let (chunk, within) = self.place(entry.key());
        let names = Arc::make_mut(&mut self.names[chunk]);
        names.remove(within);
        if names.is_empty() {
            self.names.remove(chunk);
        }
        Some(entry)
    }

    /// Position of a sort key among the names, or where to insert it: chunk, index within the
    /// chunk.
    fn place(&self, key: (&str, KeyspaceId)) -> (usize, usize) {
        // A key before the first of a chunk belongs to the end of the chunk before.
        let after = self.names.partition_point(|chunk| chunk[0].key() <= key);
        let chunk = after.saturating_sub(1);
        let within = |chunk: &Arc<Vec<Arc<Entry>>>| chunk.partition_point(|e| e.key() < key);
        (chunk, self.names.get(chunk).map_or(0, within))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use base::{KeyShape, Shape, TableId};
    use env::MemoryEnv;
    use lsm::context::TreeOptions;
    use lsm::table::BlockCache;
    use std::collections::BTreeMap;

    /// A context without tables, in memory.
    pub(crate) fn context() -> Arc<Context> {
        let (env, cache) = (Arc::new(MemoryEnv::new(1)), Arc::new(BlockCache::new(1 << 20)));
        let (folders, options) = (vec!["/tables".into()], TreeOptions::default());
        Arc::new(Context::new(env, cache, folders, options, false, TableId(1)))
    }

    fn entry(context: &Arc<Context>, id: u32, name: &str) -> Arc<Entry> {
        let shape = Shape { key: KeyShape::Words(1), values: Vec::new() };
        let name = name.to_owned();
        let info = KeyspaceInfo { id: KeyspaceId(id), name, shape, definition: Vec::new() };
        Arc::new(Entry::empty(context, info).unwrap())
    }

    /// Compares with an ordered map, over more than one chunk of both kinds.
    #[test]
    fn keyspaces_are_found_by_number_and_name_whatever_came_and_went() {
        let context = context();
        let mut trees = Trees::default();
        let mut model: BTreeMap<u32, String> = BTreeMap::new();
        let mut word = 1_u64;
        for step in 0..3000_u32 {
            word = word
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let id = (word >> 33) as u32 % 700;
            let name = format!("r{}", step * 7919 % 3001);
            let held = trees.clone();
            let before: Vec<u32> = held.iter().map(|entry| entry.info.id.0).collect();
            if step % 4 == 3 {
                assert_eq!(trees.remove(KeyspaceId(id)).is_some(), model.remove(&id).is_some());
            } else {
                trees.insert(entry(&context, id, &name));
                model.insert(id, name);
            }
            // A reader that holds the old list still sees it unchanged.
            assert!(held.iter().map(|entry| entry.info.id.0).eq(before));
            if step % 100 == 0 {
                let all = trees.iter().map(|entry| (entry.info.id.0, entry.info.name.clone()));
                assert!(all.eq(model.iter().map(|(id, name)| (*id, name.clone()))));
                for prefix in ["", "r", "r1", "r29", "r3000", "s"] {
                    let mut want: Vec<_> = model.iter().map(|(id, name)| (name, *id)).collect();
                    want.retain(|(name, _)| name.starts_with(prefix));
                    want.sort();
                    let found = trees.starting(prefix);
                    assert!(found.map(|e| (&e.info.name, e.info.id.0)).eq(want), "{prefix}");
                }
                for (id, name) in &model {
                    assert!(trees.named(name).any(|entry| entry.info.id.0 == *id));
                }
            }
        }
    }
}
