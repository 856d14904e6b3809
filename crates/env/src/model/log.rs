//! Log files of the model-checking environment. They track which writes a power cut would leave, so
//! that a model can check the promise of a commit.
//!
//! A sync is two steps, and other threads may run between them. First it notes how many writes have
//! arrived, then it marks those writes as durable. After a failed sync, the writes that it should
//! have covered are lost, even if later syncs succeed, as on a kernel that drops dirty pages.

use crate::error::Result;
use crate::files::{LogFile, LogSync};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// State that all log files of an environment share. Writes are numbered from 0 in the order of
/// their arrival.
#[derive(Debug, Default)]
pub(super) struct LogDisk {
    state: Mutex<State>,
    /// Loaded where the checker may switch threads. Its value has no meaning.
    turn: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Number of writes so far.
    writes: u64,
    /// Numbers of the writes that would survive a power cut.
    durable: BTreeSet<u64>,
    /// Numbers of the writes that a failed sync lost.
    lost: BTreeSet<u64>,
    /// Number of syncs so far.
    syncs: u64,
    /// Number of the sync that is to fail.
    fails: Option<u64>,
}

impl LogDisk {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn writes(&self) -> u64 {
        self.with(|state| state.writes)
    }

    pub(super) fn is_durable(&self, write: u64) -> bool {
        self.with(|state| state.durable.contains(&write))
    }

    /// Makes a sync fail, after `syncs` more successful ones.
    pub(super) fn fail_sync_after(&self, syncs: u64) {
        self.with(|state| state.fails = Some(state.syncs + syncs));
    }

    /// A point at which the checker may switch threads.
    fn step(&self) {
        self.turn.load(Ordering::SeqCst);
    }

    /// `path` is used in the error message.
    fn sync(&self, path: &Path) -> Result<()> {
        self.step();
        let (upto, fails) = self.with(|state| {
            state.syncs += 1;
            (state.writes, state.fails == Some(state.syncs - 1))
        });
        self.step();
        self.with(|state| {
            for write in 0..upto {
                if fails && !state.durable.contains(&write) {
                    state.lost.insert(write);
                } else if !state.lost.contains(&write) {
                    state.durable.insert(write);
                }
            }
        });
        self.step();
        if fails {
            let error = std::io::Error::other("a sync that the model makes fail");
            return Err(crate::error::EnvError::io("sync", path, error));
        }
        Ok(())
    }
}

/// A log file in memory whose writes and syncs are counted.
#[derive(Debug)]
pub(super) struct ModelLog {
    pub(super) file: Box<dyn LogFile>,
    pub(super) disk: Arc<LogDisk>,
}

impl LogFile for ModelLog {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.disk.step();
        self.file.write_at(bytes, offset)?;
        self.disk.with(|state| state.writes += 1);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.disk.sync(self.file.path())
    }

    fn sync_handle(&self) -> Arc<dyn LogSync> {
        Arc::new(ModelSync { disk: Arc::clone(&self.disk), path: self.file.path().to_owned() })
    }

    fn len_bytes(&self) -> u64 {
        self.file.len_bytes()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[derive(Debug)]
struct ModelSync {
    disk: Arc<LogDisk>,
    path: std::path::PathBuf,
}

impl LogSync for ModelSync {
    fn sync(&self) -> Result<()> {
        self.disk.sync(&self.path)
    }
}
