//! Implements [`Ambient`] for functions of a script: clock, randomness and limits.

use exec::error::Error;
use exec::limits::QueryLimits;
use function::Ambient;

/// The clock and randomness of an environment, with the limits of a query.
pub(crate) struct EnvAmbient<'e>(pub(crate) &'e QueryLimits<'e>);

impl Ambient for EnvAmbient<'_> {
    fn now_us(&self) -> i64 {
        i64::try_from(self.0.env().wall_us()).unwrap_or(i64::MAX)
    }

    fn moment_us(&self) -> i64 {
        self.0.moment_us()
    }

    fn random(&self) -> u64 {
        self.0.env().random_u64()
    }

    fn go_on(&self) -> std::result::Result<(), function::Failure> {
        self.0.check(0).map_err(|error| function::Failure {
            is_stopped: true,
            ..function::Failure::caused(error)
        })
    }

    fn ask(&self, bytes: u64) -> std::result::Result<(), function::Failure> {
        self.0.ask(bytes).map_err(|error| match error {
            Error::Limit(what) => function::Failure::limit(what),
            other => function::Failure::stopped(other.to_string()),
        })
    }
}
