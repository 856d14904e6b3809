//! Schema changes inside a transaction: relations that it creates, renames or removes.
//! `docs/decisions/0019` describes how a commit makes them visible to everybody.
//!
//! A transaction of `session` has a [`NameOverlay`]. [`Catalog::make`] creates a keyspace under a
//! hidden name. It, [`Catalog::rename_in`] and [`Catalog::remove_in`] change names only in the
//! overlay. Before the commit, [`Catalog::schema_changes`] computes the changes of keyspaces, and
//! the row that records them. After the commit, [`Catalog::change_names`] applies them.
//! [`Catalog::forget_names`] cleans up after a rollback, and [`Catalog::finish_names`] after a
//! killed process.
//!
//! # Invariants
//! 1. Until the commit, a keyspace that a transaction created has a hidden name that users cannot
//!    write.
//! 2. Changes to keyspaces refer to their ids, which are never reused. So applying a change twice
//!    has the same effect as applying it once.
//! 3. The row that records a change is in the same commit as the rows that depend on it, and is
//!    deleted once the change is applied.

use crate::catalog::{Catalog, Entry, new_keyspace};
use crate::error::invalid;
use crate::name_overlay::{Name, NameOverlay};
use crate::names::check_name;
use crate::schema::{KeyColumn, Schema, ValueColumn};
use crate::settings::Settings;
use base::{Batch, KeyRange, KeyspaceId, Kind, Projection};
use model::{Type, Value};
use std::collections::BTreeSet;
use store::{
    Error, ErrorKind, KeyspaceChange, KeyspaceInfo, Kinds, NewKeyspace, Read, Result, TableWrites,
    WriteBatch,
};

/// Prefix of the hidden name of a keyspace that a transaction created.
const MADE: &str = ":new:";

/// The relation `{id => changes}` that records changes of commits that are not applied yet.
const NAMES: &str = ":names";

/// Changes of keyspaces that a commit makes.
#[derive(Clone, Debug, Default)]
pub struct SchemaChanges {
    /// Key of the row that records them.
    key: i64,
    changed: Vec<KeyspaceChange>,
    dropped: Vec<KeyspaceId>,
    /// Names that complete indexes lose. The marks under these names are deleted, see
    /// [`Catalog::ready_row`].
    stale: Vec<String>,
}

impl SchemaChanges {
    /// Keyspaces that the commit drops.
    #[must_use]
    pub fn dropped(&self) -> &[KeyspaceId] {
        &self.dropped
    }

    fn are_none(&self) -> bool {
        self.changed.is_empty() && self.dropped.is_empty()
    }

    fn to_value(&self) -> Value {
        let id = |id: KeyspaceId| Value::Int(i64::from(id.0));
        let changed = self.changed.iter().map(|change| {
            let name = Value::Str(change.name.clone());
            Value::List(vec![id(change.id), name, Value::Bytes(change.definition.clone())])
        });
        let dropped = self.dropped.iter().map(|&dropped| id(dropped));
        let stale = self.stale.iter().cloned().map(Value::Str);
        Value::List(vec![
            Value::List(changed.collect()),
            Value::List(dropped.collect()),
            Value::List(stale.collect()),
        ])
    }

    fn of_value(key: i64, value: &Value) -> Option<Self> {
        let list = |value: &Value| match value {
            Value::List(items) => Some(items.clone()),
            _ => None,
        };
        let id = |value: &Value| match value {
            Value::Int(id) => u32::try_from(*id).ok().map(KeyspaceId),
            _ => None,
        };
        let text = |value: &Value| match value {
            Value::Str(text) => Some(text.clone()),
            _ => None,
        };
        let [changed, dropped, stale] = <[Value; 3]>::try_from(list(value)?).ok()?;
        let change = |value: &Value| match list(value)?.as_slice() {
            [at, name, Value::Bytes(definition)] => {
                let (id, name) = (id(at)?, text(name)?);
                Some(KeyspaceChange { id, name, definition: definition.clone() })
            }
            _ => None,
        };
        Some(Self {
            key,
            changed: list(&changed)?.iter().map(change).collect::<Option<_>>()?,
            dropped: list(&dropped)?.iter().map(id).collect::<Option<_>>()?,
            stale: list(&stale)?.iter().map(text).collect::<Option<_>>()?,
        })
    }
}

fn names_schema() -> Schema {
    Schema {
        name: NAMES.to_owned(),
        keys: vec![KeyColumn::new("id", Type::Int)],
        values: vec![ValueColumn::new("changes", Type::Any)],
    }
}

impl Catalog {
    /// Creates a relation that only the transaction sees. Its name refers to the new relation from
    /// now on, and no longer to `there`.
    ///
    /// # Errors
    /// As [`Catalog::create`].
    pub fn make(
        &self,
        names: &mut NameOverlay,
        schema: &Schema,
        there: Option<&Entry>,
    ) -> Result<()> {
        check_name(&schema.name)?;
        schema.check()?;
        let (hidden, _) = self.create_hidden(schema)?;
        names.made.push(hidden.clone());
        names.set(&schema.name, there.map(Entry::keyspace), Some(hidden));
        Ok(())
    }

    /// Creates a keyspace under a hidden name, and returns the name and its id. If it is not
    /// renamed, it is dropped when the database is opened again.
    pub(crate) fn create_hidden(&self, schema: &Schema) -> Result<(String, KeyspaceId)> {
        loop {
            let is_free = |name: &String| self.keyspace_named(name).is_none();
            let free = (0_u64..).map(|number| format!("{MADE}{number}")).find(is_free);
            let hidden = free.ok_or_else(|| invalid("too many relations are made at once"))?;
            let new = NewKeyspace { name: hidden.clone(), ..new_keyspace(schema) };
            match self.store().create_keyspaces(&[new]) {
                Ok(ids) => {
                    let id = ids.first().copied();
                    let id = id.ok_or_else(|| invalid("the store created nothing"))?;
                    return Ok((hidden, id));
                }
                // Another transaction took the name in the meantime.
                Err(_) if self.keyspace_named(&hidden).is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes a name that refers to `there`. Returns the rows that the transaction must write.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for the name of a part; settings that cannot be decoded.
    pub fn remove_in(
        &self,
        names: &mut NameOverlay,
        read: &dyn Read,
        name: &str,
        there: &Entry,
    ) -> Result<Vec<TableWrites>> {
        check_name(name)?;
        names.set(name, Some(there.keyspace()), None);
        self.reset(read, name)
    }

    /// Renames relations, from the first to the second name of each pair. All old names must refer
    /// to something. Returns the rows that the transaction must write.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if an old name is missing, or a new name is invalid or taken;
    /// settings that cannot be decoded.
    pub fn rename_in(
        &self,
        names: &mut NameOverlay,
        read: &dyn Read,
        pairs: &[(String, String)],
    ) -> Result<Vec<TableWrites>> {
        let mut moved = Vec::with_capacity(pairs.len());
        for (at, (old, new)) in pairs.iter().enumerate() {
            check_name(old)?;
            check_name(new)?;
            if pairs[..at].iter().any(|(other, _)| other == old) {
                return Err(invalid(format!("relation `{old}` gets two names")));
            }
            let there = self.find_in(names, old)?;
            let there = there.ok_or_else(|| invalid(format!("there is no relation `{old}`")))?;
            moved.push((old, new, there, self.settings(read, old)?));
        }
        let mut after = names.clone();
        let mut rows = Vec::new();
        for (old, _, there, _) in &moved {
            rows.append(&mut self.remove_in(&mut after, read, old, there)?);
        }
        for (_, new, there, settings) in moved {
            if self.find_in(&after, new)?.is_some() {
                return Err(invalid(format!("there is a relation `{new}` already")));
            }
            after.set(new, None, Some(there.name().to_owned()));
            if settings != Settings::default() {
                rows.push(self.settings_row(new, &settings)?);
            }
        }
        *names = after;
        Ok(rows)
    }

    /// The rows that delete settings of a removed relation, so that a new relation with the same
    /// name does not inherit them.
    ///
    /// # Errors
    /// Settings that cannot be decoded.
    pub fn reset(&self, read: &dyn Read, name: &str) -> Result<Vec<TableWrites>> {
        Ok(match self.settings(read, name)? == Settings::default() {
            true => Vec::new(),
            false => vec![self.settings_row(name, &Settings::default())?],
        })
    }

    /// The changes of keyspaces that make a transaction's names visible to everybody, and the rows
    /// that the transaction must write for them.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the meaning of a name has changed since the transaction began to
    /// change it.
    pub fn schema_changes(
        &self,
        names: &NameOverlay,
        read: &dyn Read,
    ) -> Result<(SchemaChanges, Vec<TableWrites>)> {
        let id_of = |name: &str| self.keyspace_named(name);
        // The keyspace of a relation and those of its parts.
        let all_of = |name: &str| {
            let mut infos = self.store().keyspaces_starting(name);
            infos.retain(|info| part_of(&info.name, name).is_some());
            infos.sort_by_key(|info| info.id);
            infos
        };
        let mut changes = SchemaChanges::default();
        let mut rows = Vec::new();
        let (mut ready, mut called) = (BTreeSet::new(), BTreeSet::new());
        for (name, Name { was, stored }) in &names.by_name {
            if id_of(name) != *was {
                let what = format!("relation `{name}` was made, renamed or removed meanwhile");
                return Err(conflict(what));
            }
            if let Some(stored) = stored
                && (!called.insert(stored) || id_of(stored).is_none())
            {
                return Err(conflict(format!("relation `{name}` was renamed meanwhile")));
            }
            if was.is_some() && !names.stand_for(name) {
                for info in &all_of(name) {
                    changes.dropped.push(info.id);
                    // Another transaction that wrote to it would lose its rows; this delete makes
                    // one of the two conflict.
                    rows.push(emptied(info));
                }
            }
            let Some(stored) = stored.as_ref().filter(|stored| *stored != name) else { continue };
            for info in &all_of(stored) {
                let Some(part) = part_of(&info.name, stored) else { continue };
                let new = format!("{name}{part}");
                if !part.is_empty() && self.is_ready(read, &info.name)? {
                    rows.push(self.ready_row(&new, Kind::Put)?);
                    ready.insert(new.clone());
                    changes.stale.push(info.name.clone());
                }
                let definition = info.definition.clone();
                changes.changed.push(KeyspaceChange { id: info.id, name: new, definition });
            }
        }
        let is_left = |made: &&String| !names.stand_for(made);
        changes.dropped.extend(names.made.iter().filter(is_left).filter_map(|made| id_of(made)));
        changes.stale.retain(|name| !ready.contains(name));
        let ids = changes.changed.iter().map(|change| change.id);
        if let Some(least) = ids.chain(changes.dropped.iter().copied()).min() {
            rows.push(self.changes_row(&mut changes, least)?);
        }
        Ok((changes, rows))
    }

    /// The row that records changes; `least` is the first keyspace that they change. Sets the key
    /// of the changes.
    fn changes_row(&self, changes: &mut SchemaChanges, least: KeyspaceId) -> Result<TableWrites> {
        let keyspace = match self.keyspace_named(NAMES) {
            Some(keyspace) => keyspace,
            None => self.create_internal(&names_schema())?,
        };
        // Concurrent transactions change different keyspaces, so the ids keep their keys apart. A
        // row that is not applied yet keeps its key.
        let waiting = self.pending_changes(keyspace)?;
        let free = |key: &i64| !waiting.iter().any(|changes| changes.key == *key);
        let keys = i64::from(least.0) << 20..;
        changes.key = keys.into_iter().find(free).unwrap_or_default();
        names_row(keyspace, changes.key, changes.to_value(), Kind::Put)
    }

    /// Applies the names of a transaction that only created relations and wrote no rows: in one
    /// step of the store, without a row that records it. Returns false, with nothing done, for any
    /// other transaction.
    ///
    /// # Why the keyspaces get new ids
    /// Without `sync` a power cut may lose this step. Rows written to the relations since must be
    /// lost too, and recovery recognizes them by keyspaces that the manifest does not know. The ids
    /// that the transaction used are in the manifest already.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if a name was taken in the meantime.
    pub fn commit_new_relations(&self, names: &NameOverlay) -> Result<bool> {
        let (mut new, mut hidden) = (Vec::new(), Vec::new());
        for (name, is) in &names.by_name {
            let Name { was: None, stored: Some(stored) } = is else { return Ok(false) };
            if !names.made.contains(stored) {
                return Ok(false);
            }
            let mut parts = self.store().keyspaces_starting(stored);
            parts.retain(|info| part_of(&info.name, stored).is_some());
            let (Some(info), 1) = (parts.pop(), parts.len() + 1) else { return Ok(false) };
            if self.keyspace_named(name).is_some() {
                let what = format!("relation `{name}` was made, renamed or removed meanwhile");
                return Err(conflict(what));
            }
            hidden.push(info.id);
            let KeyspaceInfo { shape, definition, .. } = info;
            new.push(NewKeyspace { name: name.clone(), shape, definition });
        }
        if new.is_empty() {
            return Ok(false);
        }
        let is_left = |made: &&String| !names.stand_for(made);
        let left = names.made.iter().filter(is_left);
        hidden.extend(left.filter_map(|made| self.keyspace_named(made)));
        match self.store().replace_keyspaces(&new, &hidden) {
            // Created outside of transactions after the check above.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                Err(conflict("a relation was made meanwhile".to_owned()))
            }
            done => done.map(|_| true),
        }
    }

    /// Decodes the rows of `:names`: changes that are being applied now, or at the next opening.
    fn pending_changes(&self, keyspace: KeyspaceId) -> Result<Vec<SchemaChanges>> {
        let schema = names_schema();
        let mut rows = Batch::new(&schema.shape());
        let mut scan = self.store().scan(keyspace, KeyRange::all_words(), Projection::ALL)?;
        while scan.next_batch(1024, &mut rows)? {}
        let changes = |row| match schema.row(&rows, row)?.as_slice() {
            [Value::Int(key), value] => Ok(SchemaChanges::of_value(*key, value)),
            _ => Ok(None),
        };
        let wrong = || Error::new(ErrorKind::Corruption, "a row of `:names` cannot be read");
        let read = (0..rows.rows).map(|row| changes(row).and_then(|read| read.ok_or_else(wrong)));
        read.collect()
    }

    /// Applies the changes of a commit to keyspaces.
    ///
    /// # Errors
    /// Errors of the store. The changes are then applied when the database is opened again.
    pub fn change_names(&self, changes: &SchemaChanges) -> Result<()> {
        if changes.are_none() {
            return Ok(());
        }
        // Without this, the edit of the manifest could be durable and the rows of the commit not.
        self.store().make_durable()?;
        // Relations created or dropped outside of transactions may invalidate the edit after its
        // check, so it is tried twice.
        let edited = self.edit_names(changes);
        match edited {
            Err(error) if error.kind() == ErrorKind::InvalidInput => self.edit_names(changes)?,
            edited => edited?,
        }
        for name in &changes.stale {
            let tables = vec![self.ready_row(name, Kind::Delete)?];
            self.store().write(&WriteBatch { tables }, None)?;
        }
        if let Some(keyspace) = self.keyspace_named(NAMES) {
            let tables = vec![names_row(keyspace, changes.key, Value::Bool(false), Kind::Delete)?];
            self.store().write(&WriteBatch { tables }, None)?;
        }
        Ok(())
    }

    /// Changes the keyspaces. Skips changes that were applied before, see invariant 2.
    fn edit_names(&self, changes: &SchemaChanges) -> Result<()> {
        let infos = self.store().keyspaces();
        let is_there = |id: KeyspaceId| infos.iter().any(|info| info.id == id);
        let dropped: Vec<_> = changes.dropped.iter().copied().filter(|&id| is_there(id)).collect();
        let is_open = |change: &&KeyspaceChange| {
            infos.iter().any(|info| info.id == change.id && info.name != change.name)
        };
        let changed: Vec<_> = changes.changed.iter().filter(is_open).cloned().collect();
        match dropped.is_empty() && changed.is_empty() {
            true => Ok(()),
            false => self.store().change_keyspaces(&changed, &dropped),
        }
    }

    /// Drops the keyspaces that a transaction created and did not commit.
    ///
    /// # Errors
    /// Errors of the store; they are then dropped when the database is opened again.
    pub fn forget_names(&self, names: &NameOverlay) -> Result<()> {
        let ids: Vec<_> = names.made.iter().filter_map(|made| self.keyspace_named(made)).collect();
        if ids.is_empty() { Ok(()) } else { self.store().drop_keyspaces(&ids) }
    }

    /// Applies changes of commits that a killed process did not apply, and drops keyspaces of
    /// transactions that it did not commit. Opening a database for writing calls it before
    /// anything else.
    ///
    /// # Errors
    /// Errors of the store, and a row that cannot be decoded.
    pub fn finish_names(&self) -> Result<()> {
        let mut waiting = BTreeSet::new();
        if let Some(keyspace) = self.keyspace_named(NAMES) {
            for changes in self.pending_changes(keyspace)? {
                match self.change_names(&changes) {
                    // A relation created outside of transactions took the name between the commit
                    // and the end of the process. The rows are not dropped; they wait for the name.
                    Err(error) if error.kind() == ErrorKind::InvalidInput => {
                        waiting.extend(changes.changed.iter().map(|change| change.id));
                    }
                    done => done?,
                }
            }
        }
        let is_left =
            |info: &KeyspaceInfo| info.name.starts_with(MADE) && !waiting.contains(&info.id);
        let made = self.store().keyspaces().into_iter().filter(is_left);
        let made: Vec<_> = made.map(|info| info.id).collect();
        if made.is_empty() { Ok(()) } else { self.store().drop_keyspaces(&made) }
    }
}

fn conflict(what: String) -> Error {
    Error::new(ErrorKind::Conflict, format!("{what}\nhint: run the transaction again"))
}

/// The rest of a keyspace's name after its relation's name; `None` for other relations.
fn part_of<'i>(keyspace: &'i str, relation: &str) -> Option<&'i str> {
    let part = keyspace.strip_prefix(relation)?;
    (part.is_empty() || part.starts_with(':')).then_some(part)
}

/// The write that deletes all rows of a keyspace.
fn emptied(info: &KeyspaceInfo) -> TableWrites {
    let all = KeyRange::all(&info.shape.key);
    TableWrites {
        keyspace: info.id,
        kinds: Kinds::Uniform(Kind::Delete),
        rows: Batch::new(&info.shape),
        delete_ranges: vec![all],
    }
}

fn names_row(keyspace: KeyspaceId, key: i64, changes: Value, kind: Kind) -> Result<TableWrites> {
    let schema = names_schema();
    let mut rows = Batch::new(&schema.shape());
    schema.append(vec![Value::Int(key), changes], &mut rows)?;
    let kinds = Kinds::Uniform(kind);
    Ok(TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use store::{Isolation, Transaction};
    use testkit::ModelStore;

    fn catalog() -> Catalog {
        Catalog::new(Arc::new(ModelStore::new()))
    }

    fn schema(name: &str, key: &str) -> Schema {
        let keys = vec![KeyColumn::new(key, Type::Int)];
        Schema { name: name.into(), keys, values: Vec::new() }
    }

    /// Creates a relation in place of the entry with its name.
    fn make(catalog: &Catalog, names: &mut NameOverlay, schema: &Schema) {
        let there = catalog.find_in(names, &schema.name).unwrap();
        catalog.make(names, schema, there.as_ref()).unwrap();
    }

    fn remove(catalog: &Catalog, names: &mut NameOverlay, read: &dyn Read, name: &str) {
        let there = catalog.find_in(names, name).unwrap().unwrap();
        assert!(catalog.remove_in(names, read, name, &there).unwrap().is_empty());
    }

    /// Name of the first key column of a relation; `None` if there is no such relation.
    fn key_of(catalog: &Catalog, names: &NameOverlay, name: &str) -> Option<String> {
        let entry = catalog.find_in(names, name).unwrap()?;
        Some(entry.schema().keys[0].name.clone())
    }

    fn begin(catalog: &Catalog) -> Box<dyn Transaction> {
        catalog.store().begin(Isolation::Snapshot)
    }

    /// Commits, without applying the changes to keyspaces.
    fn commit(
        catalog: &Catalog,
        names: &NameOverlay,
        transaction: Box<dyn Transaction>,
        rows: Vec<TableWrites>,
    ) -> Result<SchemaChanges> {
        let (changes, more) = catalog.schema_changes(names, &*transaction)?;
        for row in rows.into_iter().chain(more) {
            transaction.write(&WriteBatch { tables: vec![row] })?;
        }
        transaction.commit()?;
        Ok(changes)
    }

    #[test]
    fn what_a_transaction_makes_is_known_to_it_alone_until_it_commits() {
        let catalog = catalog();
        let outside = NameOverlay::default();
        catalog.create(&schema("old", "a")).unwrap();
        let mut names = NameOverlay::default();
        let transaction = begin(&catalog);
        make(&catalog, &mut names, &schema("new", "b"));
        make(&catalog, &mut names, &schema("old", "c"));
        assert_eq!(key_of(&catalog, &names, "new").as_deref(), Some("b"));
        assert_eq!(key_of(&catalog, &names, "old").as_deref(), Some("c"));
        assert_eq!(key_of(&catalog, &outside, "new"), None);
        assert_eq!(key_of(&catalog, &outside, "old").as_deref(), Some("a"));
        assert_eq!(catalog.list().unwrap().len(), 1);
        let listed = catalog.list_in(&names).unwrap();
        assert_eq!(
            listed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["new", "old"]
        );
        let changes = commit(&catalog, &names, transaction, Vec::new()).unwrap();
        catalog.change_names(&changes).unwrap();
        assert_eq!(key_of(&catalog, &outside, "new").as_deref(), Some("b"));
        assert_eq!(key_of(&catalog, &outside, "old").as_deref(), Some("c"));
        // Applying it twice does nothing.
        catalog.change_names(&changes).unwrap();
        catalog.finish_names().unwrap();
        assert_eq!(catalog.list().unwrap().len(), 2);
    }

    #[test]
    fn what_a_killed_process_did_not_come_to_is_done_when_it_is_opened_and_nothing_else() {
        let catalog = catalog();
        let outside = NameOverlay::default();
        for (name, key) in [("a", "a"), ("b", "b"), ("c", "c")] {
            catalog.create(&schema(name, key)).unwrap();
        }
        let mut names = NameOverlay::default();
        let transaction = begin(&catalog);
        let pairs = [("a".to_owned(), "b".to_owned()), ("b".to_owned(), "a".to_owned())];
        let rows = catalog.rename_in(&mut names, &*transaction, &pairs).unwrap();
        remove(&catalog, &mut names, &*transaction, "c");
        make(&catalog, &mut names, &schema("d", "d"));
        assert_eq!(key_of(&catalog, &names, "a").as_deref(), Some("b"));
        assert_eq!(key_of(&catalog, &names, "c"), None);
        // A transaction that is never committed.
        let mut lost = NameOverlay::default();
        make(&catalog, &mut lost, &schema("e", "e"));
        commit(&catalog, &names, transaction, rows).unwrap();
        assert_eq!(key_of(&catalog, &outside, "a").as_deref(), Some("a"), "nothing is done yet");
        catalog.finish_names().unwrap();
        assert_eq!(key_of(&catalog, &outside, "a").as_deref(), Some("b"));
        assert_eq!(key_of(&catalog, &outside, "b").as_deref(), Some("a"));
        assert_eq!(key_of(&catalog, &outside, "c"), None);
        assert_eq!(key_of(&catalog, &outside, "d").as_deref(), Some("d"));
        assert_eq!(key_of(&catalog, &outside, "e"), None);
        let left = catalog.store().keyspaces();
        assert!(!left.iter().any(|info| info.name.starts_with(MADE)), "{left:?}");
        let before = catalog.store().keyspaces();
        catalog.finish_names().unwrap();
        assert_eq!(catalog.store().keyspaces(), before);
    }

    #[test]
    fn a_name_that_somebody_else_took_is_a_conflict_and_what_was_made_goes() {
        let catalog = catalog();
        let mut names = NameOverlay::default();
        let transaction = begin(&catalog);
        make(&catalog, &mut names, &schema("r", "mine"));
        catalog.create(&schema("r", "theirs")).unwrap();
        let error = commit(&catalog, &names, transaction, Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        catalog.forget_names(&names).unwrap();
        assert_eq!(key_of(&catalog, &NameOverlay::default(), "r").as_deref(), Some("theirs"));
        assert_eq!(catalog.list().unwrap().len(), 1);
    }

    #[test]
    fn what_is_made_renamed_and_removed_in_one_transaction_leaves_nothing() {
        let catalog = catalog();
        let mut names = NameOverlay::default();
        let transaction = begin(&catalog);
        make(&catalog, &mut names, &schema("r", "first"));
        let rows = catalog
            .rename_in(&mut names, &*transaction, &[("r".to_owned(), "s".to_owned())])
            .unwrap();
        assert!(rows.is_empty());
        assert_eq!(key_of(&catalog, &names, "s").as_deref(), Some("first"));
        make(&catalog, &mut names, &schema("s", "second"));
        remove(&catalog, &mut names, &*transaction, "s");
        let gone = [("s".to_owned(), "t".to_owned())];
        assert!(catalog.rename_in(&mut names, &*transaction, &gone).is_err());
        let changes = commit(&catalog, &names, transaction, Vec::new()).unwrap();
        assert_eq!(changes.dropped().len(), 2);
        catalog.change_names(&changes).unwrap();
        assert_eq!(catalog.list().unwrap(), []);
        let left = catalog.store().keyspaces();
        assert!(!left.iter().any(|info| info.name.starts_with(MADE)), "{left:?}");
    }

    #[test]
    fn one_relation_does_not_get_two_names() {
        let catalog = catalog();
        catalog.create(&schema("a", "a")).unwrap();
        let mut names = NameOverlay::default();
        let transaction = begin(&catalog);
        let pairs = ["b", "c"].map(|new| ("a".to_owned(), new.to_owned()));
        let error = catalog.rename_in(&mut names, &*transaction, &pairs).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(!names.are_changed());
        // Two scripts of one transaction, each with a copy of the names.
        let base = names.clone();
        for (old, new) in pairs {
            let mut copy = base.clone();
            catalog.rename_in(&mut copy, &*transaction, &[(old, new)]).unwrap();
            names.merge(&base, copy);
        }
        let error = commit(&catalog, &names, transaction, Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(key_of(&catalog, &NameOverlay::default(), "a").as_deref(), Some("a"));
    }

    #[test]
    fn what_one_copy_did_not_touch_stays_as_another_left_it() {
        let catalog = catalog();
        let transaction = begin(&catalog);
        let mut names = NameOverlay::default();
        make(&catalog, &mut names, &schema("t", "t"));
        let base = names.clone();
        let (mut outer, mut inner) = (base.clone(), base.clone());
        let renamed = [("t".to_owned(), "u".to_owned())];
        catalog.rename_in(&mut inner, &*transaction, &renamed).unwrap();
        names.merge(&base, inner);
        make(&catalog, &mut outer, &schema("v", "v"));
        names.merge(&base, outer);
        assert_eq!(key_of(&catalog, &names, "t"), None);
        assert_eq!(key_of(&catalog, &names, "u").as_deref(), Some("t"));
        assert_eq!(key_of(&catalog, &names, "v").as_deref(), Some("v"));
    }

    #[test]
    fn rows_that_others_wrote_to_what_goes_are_a_conflict() {
        let catalog = catalog();
        let id = catalog.create(&schema("t", "t")).unwrap();
        let mut names = NameOverlay::default();
        let transaction = begin(&catalog);
        remove(&catalog, &mut names, &*transaction, "t");
        let mut rows = Batch::new(&schema("t", "t").shape());
        schema("t", "t").append(vec![Value::Int(1)], &mut rows).unwrap();
        let kinds = Kinds::Uniform(Kind::Put);
        let table = TableWrites { keyspace: id, kinds, rows, delete_ranges: Vec::new() };
        catalog.store().write(&WriteBatch { tables: vec![table] }, None).unwrap();
        let error = commit(&catalog, &names, transaction, Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }

    #[test]
    fn a_row_says_what_it_was_made_of() {
        let changes = SchemaChanges {
            key: 5,
            changed: vec![KeyspaceChange {
                id: KeyspaceId(7),
                name: "n:rev".into(),
                definition: vec![1, 0, 255],
            }],
            dropped: vec![KeyspaceId(3)],
            stale: vec!["o:by".into()],
        };
        let again = SchemaChanges::of_value(5, &changes.to_value()).unwrap();
        assert_eq!(format!("{again:?}"), format!("{changes:?}"));
        assert!(SchemaChanges::of_value(1, &Value::Int(1)).is_none());
    }
}
