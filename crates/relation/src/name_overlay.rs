//! The names of relations as a transaction sees them.
//!
//! `schema_changes` changes an overlay while a transaction runs, and computes from it what a commit
//! does to keyspaces. Lookups in the catalog go through it: [`Catalog::find_in`] and
//! [`Catalog::list_in`].

use crate::catalog::{Catalog, Entry};
use base::KeyspaceId;
use std::borrow::Cow;
use std::collections::BTreeMap;
use store::Result;

/// The names that refer to another relation in a transaction than in the committed catalog, or to
/// none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameOverlay {
    pub(crate) by_name: BTreeMap<String, Name>,
    /// Hidden names of the keyspaces that the transaction created.
    pub(crate) made: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The keyspace with this name in the committed catalog, at the time when the transaction first
    /// changed what the name refers to.
    pub(crate) was: Option<KeyspaceId>,
    /// Name of the keyspace that it refers to now; `None` if it refers to nothing.
    pub(crate) stored: Option<String>,
}

impl NameOverlay {
    /// Name of the keyspace that a name refers to; `None` if it refers to nothing. A part of a
    /// relation, `name:part`, follows its relation.
    #[must_use]
    pub fn stored<'n>(&self, name: &'n str) -> Option<Cow<'n, str>> {
        let (relation, part) = name.split_at(name.find(':').unwrap_or(name.len()));
        match self.by_name.get(relation) {
            None => Some(Cow::Borrowed(name)),
            Some(Name { stored: Some(stored), .. }) => Some(Cow::Owned(format!("{stored}{part}"))),
            Some(Name { stored: None, .. }) => None,
        }
    }

    /// Whether the transaction changed any name.
    #[must_use]
    pub fn are_changed(&self) -> bool {
        !self.by_name.is_empty()
    }

    /// Whether the transaction renamed, removed or replaced a relation that existed before it.
    /// Others may have looked that relation up.
    #[must_use]
    pub fn move_old(&self) -> bool {
        self.by_name.values().any(|name| name.was.is_some())
    }

    /// Names that refer to something here, and perhaps to nothing outside the transaction.
    pub fn new_names(&self) -> impl Iterator<Item = &str> {
        let new = self.by_name.iter().filter(|(_, name)| name.stored.is_some());
        new.map(|(name, _)| name.as_str())
    }

    /// Takes over the changes made to `later`, which started as the copy `base` of these names.
    pub fn merge(&mut self, base: &Self, later: Self) {
        for (name, later) in later.by_name {
            if base.by_name.get(&name) != Some(&later) {
                self.set(&name, later.was, later.stored);
            }
        }
        for made in later.made {
            if !self.made.contains(&made) {
                self.made.push(made);
            }
        }
    }

    /// Restores the names of `earlier`, a copy made before. Returns the keyspaces created since,
    /// which no name refers to now. The caller drops them with
    /// [`Catalog::forget_names`].
    #[must_use = "the created keyspaces are to be dropped"]
    pub fn go_back_to(&mut self, earlier: Self) -> Self {
        let Self { by_name, made } = earlier;
        let (kept, since) = self.made.drain(..).partition(|one| made.contains(one));
        *self = Self { by_name, made: kept };
        Self { by_name: BTreeMap::new(), made: since }
    }

    /// Changes what `name` refers to. `was` is the keyspace of this name; it is ignored if the
    /// transaction has changed the name before.
    pub(crate) fn set(&mut self, name: &str, was: Option<KeyspaceId>, stored: Option<String>) {
        match self.by_name.get_mut(name) {
            Some(name) => name.stored = stored,
            None => {
                self.by_name.insert(name.to_owned(), Name { was, stored });
            }
        }
    }

    /// Whether any name refers to the keyspace with the name `stored`.
    pub(crate) fn stand_for(&self, stored: &str) -> bool {
        self.by_name.values().any(|name| name.stored.as_deref() == Some(stored))
    }
}

impl Catalog {
    /// The entry that a name refers to in a transaction. The entry bears the name of its keyspace,
    /// under which its parts and indexes are found.
    ///
    /// # Errors
    /// As [`Catalog::find`].
    pub fn find_in(&self, names: &NameOverlay, name: &str) -> Result<Option<Entry>> {
        names.stored(name).map_or(Ok(None), |stored| self.find(&stored))
    }

    /// All entries under the names that a transaction sees, ordered by name.
    ///
    /// # Errors
    /// As [`Catalog::list`].
    pub fn list_in(&self, names: &NameOverlay) -> Result<Vec<(String, Entry)>> {
        let mut entries = BTreeMap::new();
        for entry in self.list()? {
            if names.stored(entry.name()).is_some_and(|stored| stored == entry.name()) {
                entries.insert(entry.name().to_owned(), entry);
            }
        }
        for name in names.new_names() {
            if let Some(entry) = self.find_in(names, name)? {
                entries.insert(name.to_owned(), entry);
            }
        }
        Ok(entries.into_iter().collect())
    }
}
