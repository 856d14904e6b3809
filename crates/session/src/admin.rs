//! What system ops and indexes need of the engine, without the engine.

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
    /// The scripts that run.
    pub running: &'e RunningScripts,
    /// The database around the engine, if it keeps something beside the store.
    pub host: Option<&'e dyn Host>,
    /// Rules and aggregates of the program's.
    pub user_defined: &'e UserDefined,
}
