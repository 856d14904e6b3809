//! Options of a run: parameters, limits and receivers. `quipu` fills them from its own options. A
//! run can narrow the limits of the engine, and never widen them.

use exec::files::Files;
use exec::limits::GoOn;
use exec::query_result::QueryResult;
use exec::result_stream::Consumer;
use model::Value;
use std::collections::BTreeMap;

/// Named parameters.
pub type Parameters = BTreeMap<String, Value>;

/// Receives the name and the rows of a temporary relation that `%debug` shows.
pub type Debug<'r> = &'r (dyn Fn(&str, &QueryResult) + Send + Sync);

/// Options of a run.
#[derive(Clone, Copy)]
pub struct Run<'r> {
    /// Its parameters.
    pub parameters: &'r Parameters,
    /// Timeout in seconds, whatever the script sets; 0 is no limit. `None`: that of the script,
    /// or else 300.
    pub timeout_s: Option<f64>,
    /// Most bytes that the run may hold; the engine's limit applies too.
    pub memory_bytes_max: Option<u64>,
    /// Called regularly; the run stops when it returns false.
    pub go_on: Option<GoOn<'r>>,
    /// Receiver of `%debug`, if any.
    pub debug: Option<Debug<'r>>,
    /// Whether changes are refused.
    pub read_only: bool,
    /// Files that the run may read, besides the engine's own rule; `None` for no further
    /// restriction.
    pub files: Option<&'r Files>,
    /// Set if the run must not block.
    pub non_blocking: Option<NonBlocking>,
    /// Consumer of rows as they are found; set by [`Engine::stream`](crate::Engine::stream).
    pub consumer: Option<&'r Consumer<'r>>,
}

/// Permissions of a non-blocking run (see [`Engine::try_run`](crate::Engine::try_run)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonBlocking {
    /// It may read. A commit could wait for the device.
    Reading,
    /// It may read, or change a few rows.
    Changing,
}

impl<'r> Run<'r> {
    /// Options with parameters only.
    #[must_use]
    pub fn new(parameters: &'r Parameters) -> Self {
        Self {
            parameters,
            timeout_s: None,
            memory_bytes_max: None,
            go_on: None,
            debug: None,
            read_only: false,
            files: None,
            non_blocking: None,
            consumer: None,
        }
    }
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("timeout_s", &self.timeout_s).finish_non_exhaustive()
    }
}
