//! Access levels of relations. Everything that reads or changes a relation by name checks here.
//!
//! # Invariant
//! A part of a relation (an index, the reverse of a graph, its dictionary) has the name
//! `relation:part` and the relation's level. Parts have no settings of their own.

use exec::error::{Error, Result};
use relation::{
    Access, Catalog, CombinedDef, CountersDef, Entry, GraphPart, NameOverlay, Settings,
};
use store::Read;
use syntax::{Ident, Span};

/// The relation to which a name belongs.
pub(crate) fn owner(name: &str) -> &str {
    name.split_once(':').map_or(name, |(relation, _)| relation)
}

/// The settings of the relation to which a name belongs, if its level is below `forbidden_from`.
///
/// # Errors
/// [`store::ErrorKind::InvalidInput`] where the level forbids it; settings that cannot be read.
pub(crate) fn check(
    catalog: &Catalog,
    read: &dyn Read,
    name: &str,
    forbidden_from: Access,
) -> store::Result<Settings> {
    let owner = owner(name);
    let settings = catalog.settings(read, owner)?;
    relation::check_access(owner, &settings, forbidden_from)?;
    Ok(settings)
}

/// Refuses the name of a part where a relation is required; `what` says how the part follows its
/// relation.
///
/// # Errors
/// The name is that of a part.
pub(crate) fn refuse_part(name: &Ident, what: &str) -> Result<()> {
    match name.text.split_once(':') {
        Some((relation, _)) => {
            let what = format!("`{}` is {what} `{relation}`", name.text);
            let hint = "indexes, and the reverse of a graph, are kept with their relation";
            Err(Error::hinted(what, name.span, hint))
        }
        None => Ok(()),
    }
}

/// As [`refuse_part`], for a change of rows: the vertices of a graph are a part whose rows are
/// written by themselves.
///
/// # Errors
/// The name is that of another part; a definition that cannot be read.
pub(crate) fn refuse_unwritable_part(
    catalog: &Catalog,
    names: &NameOverlay,
    name: &Ident,
) -> Result<()> {
    if name.text.ends_with(GraphPart::Nodes.suffix())
        && let Some(Entry::Nodes(..)) = catalog.find_in(names, &name.text)?
    {
        return Ok(());
    }
    refuse_part(name, "written by writing")
}

/// The kind of an entry that is also written by calls other than scripts and row changes. Such
/// calls run no triggers and no callbacks.
pub(crate) fn other_writers(entry: &Entry) -> Option<&'static str> {
    match entry {
        Entry::Graph(..) | Entry::Nodes(..) => Some("graph"),
        Entry::Blobs(..) => Some("blobs"),
        Entry::Relation(schema, _) if CountersDef::of_schema(schema).is_some() => Some("counters"),
        Entry::Relation(schema, _) if CombinedDef::of_schema(schema).is_some() => {
            Some("combined values")
        }
        Entry::Relation(..) => None,
    }
}

/// The entry with this name, as a transaction sees it.
///
/// # Errors
/// There is nothing of this name.
pub(crate) fn find(catalog: &Catalog, names: &NameOverlay, name: &Ident) -> Result<Entry> {
    // Names with this prefix are the database's own.
    let is_named = !name.text.starts_with(':');
    if is_named && let Some(found) = catalog.find_in(names, &name.text)? {
        return Ok(found);
    }
    let known = catalog.list_in(names)?;
    let near = syntax::closest(&name.text, known.iter().map(|(name, _)| name.as_str()));
    Err(Error::unknown(format!("no relation `{}`", name.text), name.span, near))
}

/// Refuses entries that scripts can only read. Long values of blobs are in another keyspace, where
/// a script would orphan them.
pub(crate) fn refuse_read_only(entry: &Entry, span: Span) -> Result<()> {
    match entry {
        Entry::Blobs(def, _) => {
            let what = format!("`{}` holds blobs, which scripts only read", def.name);
            Err(Error::hinted(what, span, "put and delete them by the calls for blobs"))
        }
        Entry::Relation(..) | Entry::Graph(..) | Entry::Nodes(..) => Ok(()),
    }
}
