//! Tries with long strings, which are built after a query that would have used them.
//!
//! # Why after
//! The cells of such a trie are shared values ([`SharedValues`]). A query must have one cell for
//! each value, so it cannot take in shared values after it has made cells. Queries that start later
//! use the trie until the relation changes.
//!
//! # When a trie is built
//! Once as many keys have been looked up as a quarter of the rows, or four scans have been made.
//! Building takes as long as five scans, so a relation that changes before each build is used costs
//! a little over twice as much as without tries (the ski rental problem: Karlin et al.,
//! Algorithmica 1988).

use crate::batch_size::CHUNK_ROWS;
use crate::error::{Error, Result};
use crate::limits::QueryLimits;
use crate::snapshot_cache::Key;
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::Relation;
use crate::trie::cache::TrieCache;
use crate::trie::{ROWS_MAX, Trie};
use crate::value::cell::{Cell, Interner, SharedValues};
use plan::PerStored;
use std::sync::Arc;
use store::Snapshot;

/// The values that the interner of a query must have to use the tries of its relations; `None` if
/// they have no tries with long strings.
pub fn values_for(cache: &TrieCache, relations: &PerStored<Relation>) -> Option<Arc<SharedValues>> {
    cache.values_if_wanted(|key| is_of(relations, key))
}

fn is_of(relations: &PerStored<Relation>, key: &Key) -> bool {
    relations.iter().any(|one| one.keyspace() == Some(key.keyspace))
}

/// Builds the tries that queries of these relations wanted, unless another query is doing so.
///
/// # Errors
/// Those of the store, and what stops the query. The query's result does not depend on them.
pub fn build_wanted(
    cache: &TrieCache,
    snapshot: &dyn Snapshot,
    relations: &PerStored<Relation>,
    limits: &QueryLimits<'_>,
) -> Result<()> {
    let due = cache.due(|key| is_of(relations, key));
    if due.is_empty() || limits.is_non_blocking() {
        return Ok(());
    }
    let Some(_building) = cache.building.try_lock() else { return Ok(()) };
    for key in &due {
        if let Some(path) = relations.iter().find_map(|one| path_of(one, key)) {
            build(cache, snapshot, key, path, limits)?;
        }
    }
    Ok(())
}

fn path_of<'r>(relation: &'r Relation, key: &Key) -> Option<&'r StoredPath> {
    let Relation::Stored(stored) = relation else { return None };
    let is_it = relation.keyspace() == Some(key.keyspace);
    stored.paths.iter().filter(|_| is_it).find(|path| path.keyspace == key.path)
}

/// Builds a trie, unless another query has done so meanwhile, or it would be too large.
fn build(
    cache: &TrieCache,
    snapshot: &dyn Snapshot,
    key: &Key,
    path: &StoredPath,
    limits: &QueryLimits<'_>,
) -> Result<()> {
    let moment = snapshot.changed_at(path.keyspace)?;
    if !cache.begin_build(key) {
        return Ok(());
    }
    let values = cache.shared_values();
    let interner = Interner::with_shared(Some(Arc::clone(&values)));
    let mut columns: Vec<Vec<Cell>> = vec![Vec::new(); key.columns.len()];
    let mut fits = true;
    path.scan(snapshot, path.all(), &key.columns, CHUNK_ROWS, &interner, &mut |found| {
        for (own, more) in columns.iter_mut().zip(found.columns) {
            own.extend(more);
        }
        let rows = columns.first().map_or(0, Vec::len);
        let cells_bytes = (16 * rows * columns.len()) as u64;
        fits = rows < ROWS_MAX && cache.has_room(cells_bytes, values.bytes() + interner.bytes());
        limits.check(0)?;
        Ok::<_, Error>(fits)
    })?;
    if !fits {
        cache.forget_shared();
        return Ok(());
    }
    let values = interner.into_shared(&values, &mut columns);
    let trie = Trie::new(columns, &|| limits.check(0))?.with_shared(values.version());
    cache.kept.remove_dropped(snapshot);
    cache.publish(values);
    let bytes = trie.bytes();
    cache.kept.put(key.clone(), moment, Arc::new(trie), bytes);
    Ok(())
}
