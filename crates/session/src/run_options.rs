//! What a script is run with: parameters, limits, and who is told what while it runs.

use exec::files::Files;
use exec::limits::GoOn;
use exec::output::Output;
use exec::result_stream::Consumer;
use model::Value;
use std::collections::BTreeMap;

/// Named parameters.
pub type Parameters = BTreeMap<String, Value>;

/// Takes the name and the rows of a relation of a script's own where `%debug` shows it.
pub type Debug<'r> = &'r (dyn Fn(&str, &Output) + Send + Sync);

/// What a script is run with.
#[derive(Clone, Copy)]
pub struct Run<'r> {
    /// Its parameters.
    pub parameters: &'r Parameters,
    /// Seconds it may take, whatever it says itself; 0 is no limit. `None`: what it says, else 300.
    pub timeout_s: Option<f64>,
    /// Most bytes that it may hold, where that is less than the engine lets every query hold.
    pub memory_bytes_max: Option<u64>,
    /// Whether to go on.
    pub go_on: Option<GoOn<'r>>,
    /// What `%debug` tells; without it, nobody.
    pub debug: Option<Debug<'r>>,
    /// Whether a change is refused.
    pub read_only: bool,
    /// Files that it may read, of those that the engine's scripts may; `None`: all of them.
    pub files: Option<&'r Files>,
    /// What it does without blocking, if it must not block.
    pub non_blocking: Option<NonBlocking>,
    /// Takes rows while they are found, where they can be; see
    /// [`Engine::stream`](crate::Engine::stream), which sets it.
    pub consumer: Option<&'r Consumer<'r>>,
}

/// What a script does that must not block (see
/// [`Engine::try_run`](crate::Engine::try_run)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonBlocking {
    /// It asks. A commit may wait for the device.
    Reading,
    /// It asks, or changes a few rows.
    Changing,
}

impl<'r> Run<'r> {
    /// With parameters and nothing else.
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
