//! The running scripts, which `::running` lists and `::kill` stops.

use env::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// A running script.
struct Running {
    started_us: u64,
    text: Arc<str>,
    cancelled: Arc<AtomicBool>,
}

/// The running scripts, by id.
#[derive(Default)]
pub(crate) struct RunningScripts {
    scripts: Mutex<BTreeMap<u64, Running>>,
    last_id: AtomicU64,
}

impl RunningScripts {
    /// Lists a script that began at `started_us` until the result is dropped.
    pub(crate) fn register(
        &self,
        text: &Arc<str>,
        cancelled: &Arc<AtomicBool>,
        started_us: u64,
    ) -> Registered<'_> {
        let id = self.last_id.fetch_add(1, Relaxed) + 1;
        let (text, cancelled) = (Arc::clone(text), Arc::clone(cancelled));
        self.scripts.lock().insert(id, Running { started_us, text, cancelled });
        Registered { scripts: self, id }
    }

    /// Id, start in microseconds since 1970-01-01T00:00:00Z, text.
    pub(crate) fn list(&self) -> Vec<(u64, u64, String)> {
        let scripts = self.scripts.lock();
        scripts.iter().map(|(&id, one)| (id, one.started_us, one.text.to_string())).collect()
    }

    /// Stops a script; returns whether it was running.
    pub(crate) fn kill(&self, id: u64) -> bool {
        match self.scripts.lock().get(&id) {
            Some(running) => {
                running.cancelled.store(true, Relaxed);
                true
            }
            None => false,
        }
    }
}

/// Removes a script from the list when dropped.
pub(crate) struct Registered<'e> {
    scripts: &'e RunningScripts,
    id: u64,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.scripts.scripts.lock().remove(&self.id);
    }
}
