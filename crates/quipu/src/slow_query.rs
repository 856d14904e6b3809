//! Reports scripts that took long: to a callback of the options, and as spans of `tracing` with
//! that feature.

use env::Env;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use store::{Error, Result};

/// A script that took at least as long as [`SlowQueries::threshold`].
#[derive(Debug)]
pub struct SlowQuery<'q> {
    /// Its text.
    pub script: &'q str,
    /// From the call to its end. Of a stream it includes the time that the consumer took.
    pub elapsed: Duration,
    /// The error with which it ended, if it failed.
    pub error: Option<&'q Error>,
}

/// What to do about slow scripts: see [`Options::on_slow_query`](crate::Options).
#[derive(Clone)]
pub struct SlowQueries {
    /// Scripts that take at least as long are reported.
    pub threshold: Duration,
    /// Called by the thread that ran the script, after it has ended. It may use the database.
    pub report: Arc<dyn Fn(&SlowQuery<'_>) + Send + Sync>,
}

impl fmt::Debug for SlowQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlowQueries").field("threshold", &self.threshold).finish_non_exhaustive()
    }
}

/// Runs `call`, which runs a script, and reports it to `slow` if it took long. `env` has the clock.
pub(crate) fn timed<T>(
    slow: Option<&SlowQueries>,
    env: &dyn Env,
    script: &str,
    call: impl FnOnce() -> Result<T>,
) -> Result<T> {
    #[cfg(feature = "tracing")]
    let _span = tracing::debug_span!(target: "quipu", "script", text = script).entered();
    let Some(slow) = slow else { return call() };
    let start_us = env.monotonic_us();
    let result = call();
    let elapsed = Duration::from_micros(env.monotonic_us().saturating_sub(start_us));
    if elapsed >= slow.threshold {
        let error = result.as_ref().err();
        #[cfg(feature = "tracing")]
        tracing::warn!(target: "quipu", ?elapsed, script, error = ?error, "slow query");
        (slow.report)(&SlowQuery { script, elapsed, error });
    }
    result
}
