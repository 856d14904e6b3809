//! Inputs of functions besides their arguments: clock, randomness, cancellation, memory.

use crate::failure::Failure;

/// Inputs of functions besides their arguments: clock, randomness, cancellation.
pub trait FunctionContext: Sync {
    /// Microseconds since 1970-01-01 UTC.
    fn now_us(&self) -> i64;
    /// The time of the first call, for implementations that keep it: all uses in a query then see
    /// the same time. The default is [`FunctionContext::now_us`].
    fn statement_time_us(&self) -> i64 {
        self.now_us()
    }
    /// 64 random bits.
    fn random(&self) -> u64;
    /// Checks for cancellation. Long-running functions call it every ten thousand steps or so.
    ///
    /// # Errors
    /// [`Failure::stopped`] if the query was cancelled or timed out. The function then fails with
    /// it.
    fn check_cancelled(&self) -> Result<(), Failure> {
        Ok(())
    }
    /// Requests memory for a result, and checks for cancellation.
    ///
    /// # Errors
    /// [`Failure::limit`] if the query's memory limit would be exceeded; those of
    /// [`FunctionContext::check_cancelled`].
    fn request_memory(&self, _bytes: u64) -> Result<(), Failure> {
        self.check_cancelled()
    }
}
