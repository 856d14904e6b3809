//! Kills children, at random times.

use crate::outcome::Outcome;
use std::process::Child;
use std::time::Duration;

/// Sleeps until the random time of a kill or a fork, or between two looks at a state that changes
/// without a signal. No check relies on the length of the sleep.
pub(crate) fn wait_us(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}

/// Sends SIGKILL; an error if the child had already ended by itself.
pub(crate) fn end(child: &mut Child) -> Outcome<()> {
    let ended = child.try_wait().map_err(|error| error.to_string())?;
    if let Some(status) = ended {
        return Err(format!("WRONG: a child ended by itself: {status}"));
    }
    child.kill().map_err(|error| error.to_string())?;
    child.wait().map(drop).map_err(|error| error.to_string())
}
