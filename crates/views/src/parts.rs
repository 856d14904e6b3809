//! The keyspaces of a view, found as they are at one time.
//!
//! A view with several keyspaces looks each of them up by name. Between two look-ups others may
//! drop the view, create it again, or exchange its name: it would then lack a keyspace, or have one
//! of each. All keyspaces of a view are created, renamed and dropped together, so they belong
//! together if the first one is the same before and after.

use store::{KeyspaceInfo, Result, Store};

/// How often a view is looked up or created again when others change it at the same time.
pub(crate) const ATTEMPTS_MAX: usize = 64;

/// The result of `open` for the keyspace with this name; `None` if there is none. `open` looks up
/// the other keyspaces. It is called again if the first one has changed meanwhile.
///
/// # Errors
/// Those of `open`.
pub(crate) fn find_with_parts<T>(
    store: &dyn Store,
    name: &str,
    open: impl Fn(&KeyspaceInfo) -> Result<T>,
) -> Result<Option<T>> {
    let mut attempts = 0;
    loop {
        let Some(first) = store.keyspace_named(name) else { return Ok(None) };
        let opened = open(&first);
        let is_same = |now: KeyspaceInfo| now.id == first.id && now.definition == first.definition;
        attempts += 1;
        if store.keyspace_named(name).is_some_and(is_same) || attempts == ATTEMPTS_MAX {
            return opened.map(Some);
        }
    }
}
