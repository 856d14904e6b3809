//! The parts of the engine that system ops and indexes need. They get these, not the engine, so
//! that no module below the engine imports it.

use crate::running::RunningScripts;
use exec::fixed_rule::registry::UserDefined;
use exec::host::Host;
use relation::Catalog;
use std::sync::Arc;
use store::Store;

/// The parts of an engine that administration reads and changes.
#[derive(Clone, Copy)]
pub(crate) struct Admin<'e> {
    /// The catalog.
    pub catalog: &'e Catalog,
    /// The store.
    pub store: &'e Arc<dyn Store>,
    /// The running scripts.
    pub running: &'e RunningScripts,
    /// The database around the engine, if there is one.
    pub host: Option<&'e dyn Host>,
    /// User-defined rules and aggregates.
    pub user_defined: &'e UserDefined,
}
