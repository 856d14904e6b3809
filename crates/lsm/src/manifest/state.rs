//! The state that all edits produce: the keyspaces, their tables, and where recovery begins.

use super::edit::{AddedKeyspace, ChangedKeyspace, VersionEdit};
use crate::version::{AddedTable, TreeEdit};
use base::{Key, KeyShape, KeyspaceId, SeqNo, Shape, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// The fold of all edits of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    keyspaces: BTreeMap<KeyspaceId, KeyspaceState>,
    /// The same by name: there may be many, and each edit asks.
    names: BTreeMap<String, KeyspaceId>,
    wal_first_live: u64,
    last_seq: SeqNo,
    next_table_id: TableId,
    next_keyspace_id: u32,
    folders: Vec<String>,
    identity: Option<u128>,
}

/// A keyspace as the manifest knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyspaceState {
    /// Its id.
    pub id: KeyspaceId,
    /// Its name, unique among living keyspaces.
    pub name: String,
    /// Its shape; never changes.
    pub shape: Shape,
    /// The definition that the layers above store.
    pub definition: Vec<u8>,
    /// Its tables in order of their ids.
    pub tables: Vec<AddedTable>,
}

impl KeyspaceState {
    fn has(&self, id: TableId) -> bool {
        self.tables.binary_search_by_key(&id, |table| table.meta.id).is_ok()
    }
}

impl State {
    /// Keyspaces that exist, in order of their ids.
    pub fn keyspaces(&self) -> impl Iterator<Item = &KeyspaceState> {
        self.keyspaces.values()
    }

    /// The WAL segment from which recovery replays.
    #[must_use]
    pub fn wal_first_live(&self) -> u64 {
        self.wal_first_live
    }

    /// No write in tables or in WAL segments before the first live one is newer than this.
    #[must_use]
    pub fn last_seq(&self) -> SeqNo {
        self.last_seq
    }

    /// First table id never given out; larger than every id in use.
    #[must_use]
    pub fn next_table_id(&self) -> TableId {
        self.next_table_id
    }

    /// First keyspace id never given out; larger than every id in use.
    #[must_use]
    pub fn next_keyspace_id(&self) -> u32 {
        self.next_keyspace_id
    }

    /// Folders that hold tables; empty where the engine above named none.
    #[must_use]
    pub fn folders(&self) -> &[String] {
        &self.folders
    }

    /// A number of this database alone, and of its backups and restored copies; `None` where the
    /// engine above gave it none.
    #[must_use]
    pub fn identity(&self) -> Option<u128> {
        self.identity
    }

    /// Applies one edit whole, or refuses it and stays as it was.
    ///
    /// # Errors
    /// In words, which table or keyspace contradicts the state.
    pub fn apply(&mut self, edit: &VersionEdit) -> Result<(), String> {
        // Checked first, changed afterwards: a snapshot edit is large, so no copy is made of the
        // state to fall back to.
        self.check(edit)?;
        for AddedKeyspace { id, name, shape, definition } in edit.keyspaces_added.iter().cloned() {
            let keyspace = KeyspaceState { id, name, shape, definition, tables: Vec::new() };
            self.names.insert(keyspace.name.clone(), id);
            self.keyspaces.insert(id, keyspace);
            self.next_keyspace_id = self.next_keyspace_id.max(id.0.saturating_add(1));
        }
        for (id, tree) in &edit.trees {
            let Some(keyspace) = self.keyspaces.get_mut(id) else { continue };
            let removed: BTreeSet<TableId> = tree.removed.iter().copied().collect();
            keyspace.tables.retain(|table| !removed.contains(&table.meta.id));
            keyspace.tables.extend(tree.added.iter().cloned());
            keyspace.tables.sort_by_key(|table| table.meta.id);
            let ids = tree.added.iter().map(|table| table.meta.id.max(table.meta.file_id()));
            let next = ids.max().map_or(TableId::default(), TableId::next);
            self.next_table_id = self.next_table_id.max(next);
        }
        for id in &edit.keyspaces_dropped {
            if let Some(keyspace) = self.keyspaces.remove(id) {
                self.names.remove(&keyspace.name);
            }
        }
        // All old names first: one keyspace can take another's.
        for ChangedKeyspace { id, .. } in &edit.keyspaces_changed {
            if let Some(keyspace) = self.keyspaces.get(id) {
                self.names.remove(&keyspace.name);
            }
        }
        for ChangedKeyspace { id, name, definition } in edit.keyspaces_changed.iter().cloned() {
            let Some(keyspace) = self.keyspaces.get_mut(&id) else { continue };
            self.names.insert(name.clone(), id);
            (keyspace.name, keyspace.definition) = (name, definition);
        }
        self.wal_first_live = edit.wal_first_live.unwrap_or(self.wal_first_live);
        self.last_seq = edit.last_seq.unwrap_or(self.last_seq);
        self.next_table_id = self.next_table_id.max(edit.next_table_id.unwrap_or_default());
        self.next_keyspace_id = self.next_keyspace_id.max(edit.next_keyspace_id.unwrap_or(0));
        if let Some(folders) = &edit.folders {
            self.folders.clone_from(folders);
        }
        self.identity = edit.identity.or(self.identity);
        Ok(())
    }

    /// One edit that makes this state out of nothing.
    #[must_use]
    pub fn snapshot(&self) -> VersionEdit {
        let trees = self.keyspaces.iter().filter(|(_, keyspace)| !keyspace.tables.is_empty());
        VersionEdit {
            keyspaces_added: self
                .keyspaces
                .iter()
                .map(|(&id, keyspace)| AddedKeyspace {
                    id,
                    name: keyspace.name.clone(),
                    shape: keyspace.shape.clone(),
                    definition: keyspace.definition.clone(),
                })
                .collect(),
            keyspaces_dropped: Vec::new(),
            keyspaces_changed: Vec::new(),
            trees: trees
                .map(|(&id, k)| (id, TreeEdit { added: k.tables.clone(), removed: Vec::new() }))
                .collect(),
            wal_first_live: Some(self.wal_first_live),
            last_seq: Some(self.last_seq),
            next_table_id: Some(self.next_table_id),
            next_keyspace_id: Some(self.next_keyspace_id),
            folders: Some(self.folders.clone()),
            identity: self.identity,
            synced_bytes: None,
        }
    }

    /// The keyspace of this name.
    #[must_use]
    pub fn keyspace(&self, name: &str) -> Option<&KeyspaceState> {
        self.keyspaces.get(self.names.get(name)?)
    }

    /// Every table of every keyspace.
    pub fn tables(&self) -> impl Iterator<Item = &AddedTable> {
        self.keyspaces.values().flat_map(|keyspace| &keyspace.tables)
    }

    fn check(&self, edit: &VersionEdit) -> Result<(), String> {
        let (mut new, mut new_names) = (BTreeMap::new(), BTreeSet::new());
        for AddedKeyspace { id, name, shape, .. } in &edit.keyspaces_added {
            if self.keyspaces.contains_key(id) || new.insert(*id, shape).is_some() {
                return Err(format!("keyspace {} already exists", id.0));
            }
            if self.names.contains_key(name) || !new_names.insert(name) {
                return Err(format!("a keyspace is named {name:?} already"));
            }
        }
        let folders = edit.folders.as_ref().unwrap_or(&self.folders).len().max(1);
        let mut touched = BTreeSet::new();
        for (id, tree) in &edit.trees {
            if !touched.insert(id) {
                return Err(format!("keyspace {} changes twice in one edit", id.0));
            }
            let existing = self.keyspaces.get(id);
            let shape = existing.map(|k| &k.shape).or_else(|| new.get(id).copied());
            let shape = shape.ok_or_else(|| format!("keyspace {} is unknown", id.0))?;
            check_tree(existing, shape, tree, folders)?;
        }
        let mut dropped = BTreeSet::new();
        for id in &edit.keyspaces_dropped {
            if !(self.keyspaces.contains_key(id) || new.contains_key(id)) || !dropped.insert(id) {
                return Err(format!("keyspace {} is dropped and not there", id.0));
            }
        }
        self.check_names(edit, &dropped)
    }

    /// Whether all names are distinct after the edit.
    fn check_names(
        &self,
        edit: &VersionEdit,
        dropped: &BTreeSet<&KeyspaceId>,
    ) -> Result<(), String> {
        let added = edit.keyspaces_added.iter().map(|added| (added.id, added.name.as_str()));
        let added: BTreeMap<KeyspaceId, &str> = added.collect();
        let (mut changed, mut taken) = (BTreeSet::new(), BTreeSet::new());
        for ChangedKeyspace { id, name, .. } in &edit.keyspaces_changed {
            let is_there = self.keyspaces.contains_key(id) || added.contains_key(id);
            if !is_there || dropped.contains(id) || !changed.insert(*id) {
                return Err(format!("keyspace {} changes and is not there", id.0));
            }
            if !taken.insert(name.as_str()) {
                return Err(format!("a keyspace is named {name:?} already"));
            }
        }
        let keeps = |id: &KeyspaceId| !changed.contains(id) && !dropped.contains(id);
        let is_kept = |name: &&&str| {
            self.names.get(**name).is_some_and(keeps)
                || !edit.keyspaces_changed.is_empty()
                    && added.iter().any(|(id, new)| new == *name && keeps(id))
        };
        match taken.iter().find(is_kept) {
            Some(name) => Err(format!("a keyspace is named {name:?} already")),
            None => Ok(()),
        }
    }
}

fn check_tree(
    existing: Option<&KeyspaceState>,
    shape: &Shape,
    tree: &TreeEdit,
    folders: usize,
) -> Result<(), String> {
    let mut removed = BTreeSet::new();
    for id in &tree.removed {
        if !existing.is_some_and(|k| k.has(*id)) || !removed.insert(id) {
            return Err(format!("table {id} leaves and is not there"));
        }
    }
    let mut added = BTreeSet::new();
    for AddedTable { meta, .. } in &tree.added {
        let stays = existing.is_some_and(|k| k.has(meta.id)) && !removed.contains(&meta.id);
        if stays || !added.insert(meta.id) {
            return Err(format!("table {} joins and already exists", meta.id));
        }
        if let Some(place) = meta.shared
            && place.offset.checked_add(meta.summary.bytes).is_none()
        {
            return Err(format!("table {} ends past every file", meta.id));
        }
        if meta.folder as usize >= folders {
            return Err(format!("table {} lies in unknown folder {}", meta.id, meta.folder));
        }
        let (first, last) = (&meta.summary.first_key, &meta.summary.last_key);
        if !fits(first, shape.key) || !fits(last, shape.key) || first > last {
            return Err(format!("table {} has keys of another keyspace", meta.id));
        }
    }
    Ok(())
}

/// Whether a key, or a prefix that bounds a range tombstone, can be of this shape.
fn fits(key: &Key, shape: KeyShape) -> bool {
    match (key, shape) {
        (Key::Bytes(_), KeyShape::Bytes) => true,
        (Key::Words { len, .. }, KeyShape::Words(words)) => *len <= words,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::table;
    use super::*;

    fn words(n: u8) -> Shape {
        Shape { key: KeyShape::Words(n), values: Vec::new() }
    }

    fn add(id: u32, name: &str) -> VersionEdit {
        let (id, name) = (KeyspaceId(id), name.to_owned());
        let keyspaces_added =
            vec![AddedKeyspace { id, name, shape: words(2), definition: vec![1, 2] }];
        VersionEdit { keyspaces_added, ..VersionEdit::default() }
    }

    fn tables(keyspace: u32, added: Vec<AddedTable>, removed: &[u64]) -> VersionEdit {
        let removed = removed.iter().copied().map(TableId).collect();
        VersionEdit::of_tree(KeyspaceId(keyspace), TreeEdit { added, removed })
    }

    #[track_caller]
    fn refuses(state: &State, edit: &VersionEdit, why: &str) {
        let mut after = state.clone();
        let message = after.apply(edit).expect_err(why);
        assert!(message.contains(why), "{message:?} should say {why:?}");
        assert_eq!(&after, state, "a refused edit changes nothing");
    }

    #[test]
    fn an_edit_that_contradicts_the_state_is_refused_whole() {
        let mut state = State::default();
        state.apply(&add(1, "a")).unwrap();
        state.apply(&tables(1, vec![table(7, 1, 0, &[1, 0], &[5, 0])], &[])).unwrap();
        refuses(&state, &add(1, "b"), "already exists");
        refuses(&state, &add(2, "a"), "named");
        refuses(&state, &tables(2, vec![], &[]), "unknown");
        refuses(&state, &tables(1, vec![], &[8]), "not there");
        refuses(&state, &tables(1, vec![], &[7, 7]), "not there");
        let again = vec![table(7, 2, 0, &[1], &[2])];
        refuses(&state, &tables(1, again.clone(), &[]), "already exists");
        refuses(&state, &tables(1, vec![table(9, 2, 0, &[1, 2, 3], &[2])], &[]), "another");
        refuses(&state, &tables(1, vec![table(9, 2, 0, &[3], &[2])], &[]), "another");
        let dropped =
            VersionEdit { keyspaces_dropped: vec![KeyspaceId(4)], ..VersionEdit::default() };
        refuses(&state, &dropped, "not there");
        let changed = |id, name: &str, dropped: &[u32]| VersionEdit {
            keyspaces_changed: vec![ChangedKeyspace {
                id: KeyspaceId(id),
                name: name.to_owned(),
                definition: vec![3],
            }],
            keyspaces_dropped: dropped.iter().copied().map(KeyspaceId).collect(),
            ..VersionEdit::default()
        };
        state.apply(&add(3, "c")).unwrap();
        refuses(&state, &changed(4, "d", &[]), "not there");
        refuses(&state, &changed(3, "d", &[3]), "not there");
        refuses(&state, &changed(3, "a", &[]), "named");
        let mut later = state.clone();
        later.apply(&changed(3, "a", &[1])).unwrap();
        let left: Vec<_> = later.keyspaces().map(|one| (one.id.0, &*one.name)).collect();
        assert_eq!((left, &later.keyspace("a").unwrap().definition), (vec![(3, "a")], &vec![3]));
        state
            .apply(&VersionEdit {
                keyspaces_dropped: vec![KeyspaceId(3)],
                ..VersionEdit::default()
            })
            .unwrap();
        // A move to another level names the table on both sides.
        state.apply(&tables(1, again, &[7])).unwrap();
        assert_eq!(state.keyspace("a").unwrap().tables[0].level, 2);
    }

    #[test]
    fn a_snapshot_makes_the_same_state_out_of_nothing() {
        let mut state = State::default();
        state.apply(&add(1, "a")).unwrap();
        state.apply(&add(2, "b")).unwrap();
        let edit = VersionEdit {
            wal_first_live: Some(4),
            last_seq: Some(SeqNo(99)),
            folders: Some(vec!["tables".into()]),
            ..tables(2, vec![table(7, 0, 3, &[1, 0], &[5, 0])], &[])
        };
        state.apply(&edit).unwrap();
        let drop_first =
            VersionEdit { keyspaces_dropped: vec![KeyspaceId(1)], ..VersionEdit::default() };
        state.apply(&drop_first).unwrap();
        assert_eq!((state.next_table_id, state.next_keyspace_id), (TableId(8), 3));
        let mut again = State::default();
        again.apply(&state.snapshot()).unwrap();
        assert_eq!(again, state);
    }
}
