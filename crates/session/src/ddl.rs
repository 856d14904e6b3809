//! Schema changes: relations are created, renamed, replaced and removed in a script's transaction.
//!
//! # Invariants
//! 1. Other transactions see the change when this one commits, together with its rows.

use crate::catalog_view::stored_paths;
use crate::dml::spec::schema_of;
use crate::session::Session;
use exec::error::{Error, Result};
use exec::query_result::QueryResult;
use exec::storage::access_path::StoredPath;
use relation::{Access, Entry, Schema};
use syntax::{Ident, MutationOp, Span};

impl Session<'_> {
    /// The entry that is to be removed or renamed, if that is allowed.
    pub(crate) fn check_movable(&self, name: &Ident) -> Result<Entry> {
        let catalog = &self.engine.catalog;
        let entry = crate::access::find(catalog, &self.names, name)?;
        crate::access::check(catalog, self.read(), &name.text, Access::Protected)
            .map_err(|error| Error::refused(error, name.span))?;
        Ok(entry)
    }

    pub(crate) fn rename(&mut self, pairs: &[(Ident, Ident)]) -> Result<QueryResult> {
        for (old, new) in pairs {
            let entry = self.check_movable(old)?;
            if self.engine.callbacks.wants(&new.text) {
                crate::dml::change_feed::refuse_other_writers(&entry, &new.text)
                    .map_err(|error| Error::refused(error, new.span))?;
            }
            relation::check_name(&new.text).map_err(|error| Error::refused(error, new.span))?;
            if new.text.starts_with('_') {
                let what = "a name with `_` first is for relations of a script";
                return Err(Error::value(what, new.span));
            }
            let leaves = pairs.iter().any(|(other, _)| other.text == new.text);
            if !leaves && self.engine.catalog.find_in(&self.names, &new.text)?.is_some() {
                let what = format!("there is a relation `{}` already", new.text);
                return Err(Error::value(what, new.span));
            }
        }
        let texts: Vec<_> =
            pairs.iter().map(|(old, new)| (old.text.clone(), new.text.clone())).collect();
        let span = pairs.first().map_or_else(Span::default, |(old, _)| old.span);
        let catalog = &self.engine.catalog;
        let renamed = catalog.rename_in(&mut self.names, self.transaction, &texts);
        let rows = renamed.map_err(|error| Error::refused(error, span))?;
        self.write_tables(rows)?;
        Ok(QueryResult::status("OK"))
    }

    pub(crate) fn remove(&mut self, names: &[Ident]) -> Result<QueryResult> {
        for name in names {
            let entry = self.check_movable(name)?;
            let catalog = &self.engine.catalog;
            if let Some((index, _)) = catalog.indexes_of(self.read(), entry.name())?.first() {
                let what = format!("relation `{}` has the index `{}`", name.text, index.name);
                let hint = format!("drop it first: ::index drop {}", index.name);
                return Err(Error::hinted(what, name.span, hint));
            }
            if let Some((def, _)) = catalog.search_indexes_of(self.read(), entry.name())?.first() {
                let what = format!("relation `{}` has the index `{}`", name.text, def.name);
                let hint = format!("drop it first: ::{} drop {}", def.method.name(), def.name);
                return Err(Error::hinted(what, name.span, hint));
            }
            let rows = catalog.remove_in(&mut self.names, self.transaction, &name.text, &entry)?;
            self.write_tables(rows)?;
        }
        Ok(QueryResult::status("OK"))
    }

    pub(crate) fn write_tables(&self, tables: Vec<store::TableWrites>) -> Result<()> {
        for table in tables {
            self.transaction.write(&store::WriteBatch { tables: vec![table] })?;
        }
        Ok(())
    }

    pub(crate) fn create(&mut self, mutation: &syntax::Mutation, headers: &[String]) -> Result<()> {
        let schema = schema_of(mutation, headers)?;
        // An invalid default is reported now, not when the first row needs it.
        self.defaults(mutation, &schema)?;
        let name = &schema.name;
        let catalog = &self.engine.catalog;
        let there = catalog.find_in(&self.names, name)?;
        if there.is_some() && mutation.op == MutationOp::Create {
            let what = format!("relation `{name}` already exists");
            let hint = "`:replace` overwrites a relation, `:put` adds rows to it";
            return Err(Error::hinted(what, mutation.relation.span, hint));
        }
        if let Some(entry) = &there {
            crate::access::refuse_read_only(entry, mutation.relation.span)?;
            let shown = entry.shown_schema();
            if shown == (Schema { name: shown.name.clone(), ..schema.clone() }) {
                // The reverse of a graph and the indexes are cleared with the rows.
                let clear = |path: StoredPath| store::TableWrites {
                    keyspace: path.keyspace,
                    kinds: store::Kinds::Uniform(base::Kind::Delete),
                    rows: base::Batch::new(&path.shape),
                    delete_ranges: vec![path.all()],
                };
                let mut paths = stored_paths(catalog, self.read(), entry)?;
                for (def, ids) in catalog.search_indexes_of(self.read(), entry.name())? {
                    let parts = def.method.parts().iter().zip(ids);
                    let path = |(&part, id)| StoredPath::of(def.part_schema(part), id);
                    paths.extend(parts.map(path));
                }
                let tables = paths.into_iter().map(clear).collect();
                self.transaction.write(&store::WriteBatch { tables })?;
                return Ok(());
            }
            let has_indexes = !catalog.indexes_of(self.read(), entry.name())?.is_empty()
                || !catalog.search_indexes_of(self.read(), entry.name())?.is_empty();
            if has_indexes || !matches!(entry, Entry::Relation(..)) {
                let what = format!("`{name}` has other columns, and cannot be replaced");
                let hint = format!("remove it first: ::remove {name}");
                return Err(Error::hinted(what, mutation.relation.span, hint));
            }
        } else {
            let rows = catalog.reset(self.read(), name)?;
            self.write_tables(rows)?;
        }
        catalog
            .make(&mut self.names, &schema, there.as_ref())
            .map_err(|error| Error::refused(error, mutation.relation.span))
    }
}
