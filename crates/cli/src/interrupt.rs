//! Ctrl-C: once asks the command to stop, twice ends it.
//!
//! Either way the database stays as it was: what an import has written becomes visible by one step
//! at its end, and the next process that opens the folder removes what is not.
//!
//! At a shell's prompt Ctrl-C is a key, and no signal. A signal that comes there ends the process;
//! one that comes while a script runs stops the script, and a third one the process.

use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether a script of a shell runs.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Signals since it began.
static SIGNALS: AtomicU32 = AtomicU32::new(0);

/// Signals that a shell's script may ignore.
const SIGNALS_MAX: u32 = 2;

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

/// The same for a shell, whose terminal is given back as it is now where a signal ends it.
pub(crate) fn watch_at_prompt() {
    #[cfg(unix)]
    let modes = rustix::termios::tcgetattr(std::io::stdin()).ok();
    // As above.
    let _ = ctrlc::set_handler(move || {
        INTERRUPTED.store(true, Ordering::Relaxed);
        let signals = SIGNALS.fetch_add(1, Ordering::Relaxed) + 1;
        if RUNNING.load(Ordering::Relaxed) && signals <= SIGNALS_MAX {
            return;
        }
        #[cfg(unix)]
        if let Some(modes) = &modes {
            let now = rustix::termios::OptionalActions::Now;
            // The process ends: nobody is there to be told.
            let _ = rustix::termios::tcsetattr(std::io::stdin(), now, modes);
        }
        exit(130);
    });
}

/// A script of a shell runs until this is dropped.
pub(crate) struct RunningScript(());

/// A script of a shell begins: what was interrupted before does not matter to it.
pub(crate) fn running() -> RunningScript {
    INTERRUPTED.store(false, Ordering::Relaxed);
    SIGNALS.store(0, Ordering::Relaxed);
    RUNNING.store(true, Ordering::Relaxed);
    RunningScript(())
}

impl Drop for RunningScript {
    fn drop(&mut self) {
        RUNNING.store(false, Ordering::Relaxed);
    }
}
