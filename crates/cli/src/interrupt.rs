//! Ctrl-C: the first asks the command to stop, the second ends the process.
//!
//! Either way the database stays as it was. An import becomes visible atomically at its end, and
//! the next process that opens the folder removes what an unfinished one has written.
//!
//! At the prompt of the shell, Ctrl-C is a key and not a signal. A signal at the prompt ends the
//! process. A signal while a script runs stops the script, and a third one ends the process.

use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the shell runs a script.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Signals since that script began.
static SIGNALS: AtomicU32 = AtomicU32::new(0);

/// Signals during a script that do not end the process.
const SIGNALS_MAX: u32 = 2;

/// From now on the first Ctrl-C or request to terminate is recorded instead of ending the process.
pub(crate) fn watch() {
    // Fails only where a handler is set already, which then does the same.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            exit(130);
        }
    });
}

/// Whether the command should continue: false after Ctrl-C.
pub(crate) fn go_on() -> bool {
    !INTERRUPTED.load(Ordering::Relaxed)
}

/// As [`watch`], for the shell: a signal that ends the process restores the terminal's current
/// modes first.
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
            // The process ends, so an error cannot be reported.
            let _ = rustix::termios::tcsetattr(std::io::stdin(), now, modes);
        }
        exit(130);
    });
}

/// Marks that a script of the shell runs, until it is dropped.
pub(crate) struct ScriptGuard(());

/// Begins a script of the shell. Earlier signals do not stop it.
pub(crate) fn running() -> ScriptGuard {
    INTERRUPTED.store(false, Ordering::Relaxed);
    SIGNALS.store(0, Ordering::Relaxed);
    RUNNING.store(true, Ordering::Relaxed);
    ScriptGuard(())
}

impl Drop for ScriptGuard {
    fn drop(&mut self) {
        RUNNING.store(false, Ordering::Relaxed);
    }
}
