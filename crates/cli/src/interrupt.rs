//! Ctrl-C: once asks the command to stop, twice ends it.
//!
//! Either way the database stays as it was: what an import has written becomes visible by one step
//! at its end, and the next process that opens the folder removes what is not.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C and a request to terminate are noted instead of ending the process.
pub(crate) fn watch() {
    // It fails only where a handler is there already, and then that one watches.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            exit(130);
        }
    });
}

/// Whether nobody asked to stop.
pub(crate) fn go_on() -> bool {
    !INTERRUPTED.load(Ordering::Relaxed)
}
