//! Implements [`FunctionContext`] for functions of a script: clock, randomness and limits.

use exec::error::Error;
use exec::limits::QueryLimits;
use function::FunctionContext;

/// The clock and randomness of an environment, with the limits of a query.
pub(crate) struct EnvAmbient<'e>(pub(crate) &'e QueryLimits<'e>);

impl FunctionContext for EnvAmbient<'_> {
    fn now_us(&self) -> i64 {
        i64::try_from(self.0.env().wall_us()).unwrap_or(i64::MAX)
    }

    fn statement_time_us(&self) -> i64 {
        self.0.moment_us()
    }

    fn random(&self) -> u64 {
        self.0.env().random_u64()
    }

    fn check_cancelled(&self) -> std::result::Result<(), function::Failure> {
        self.0.check(0).map_err(failure_of)
    }

    fn request_memory(&self, bytes: u64) -> std::result::Result<(), function::Failure> {
        self.0.ask(bytes).map_err(failure_of)
    }
}

/// Converts the error of a query limit to the failure of a function.
fn failure_of(error: Error) -> function::Failure {
    match error {
        Error::Stopped(why) => function::Failure::stopped(why),
        Error::Limit(what) => function::Failure::limit(what),
        other => function::Failure::caused(other),
    }
}
