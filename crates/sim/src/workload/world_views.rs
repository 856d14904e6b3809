//! Blobs and write buffers over an open store. Their commits are reported to the model.

use crate::workload::recorder::Recorder;
use crate::workload::spaces::{BLOBS, CHUNK_BYTES, LARGE, LARGE_BYTES_MIN, NAMES};
use crate::workload::teller::{Means, Teller};
use crate::workload::world::{World, buffering};
use env::Env;
use kv::Kv;
use std::sync::Arc;
use store::{Durability, Store};
use views::blobs::Blobs;
use views::write_buffer::Registry;

impl World {
    /// Publishes an open store to the tasks, with write buffers where this run has any.
    pub fn set(&self, kv: Arc<Kv>) {
        let waits = self.swarm.durability == Durability::None && self.swarm.counters;
        let registry = waits.then(|| {
            let ids = self.model.borrow().live.clone();
            let teller = Teller::new(self, Means::Rows(ids));
            let store = Recorder::telling(Arc::clone(&kv), teller);
            let env: Arc<dyn Env> = Arc::clone(&self.env) as _;
            Arc::new(Registry::new(Arc::new(store), env, buffering(&self.swarm)))
        });
        self.publish(kv, registry);
    }

    /// The blobs' view. Each of its commits is reported to the model with the meaning `means`.
    ///
    /// # Errors
    /// The engine's.
    pub fn blobs(&self, kv: &Arc<Kv>, means: Means) -> store::Result<(Blobs, Recorder)> {
        let recorder = Recorder::telling(Arc::clone(kv), Teller::new(self, means));
        let store: Arc<dyn Store> = Arc::new(recorder.clone());
        let env: Arc<dyn Env> = Arc::clone(&self.env) as _;
        let blobs = Blobs::find(store, env, NAMES[usize::from(BLOBS)])?;
        let blobs = blobs.ok_or_else(|| relation::invalid("the blobs are not there"))?;
        Ok((blobs.with_sizes(LARGE_BYTES_MIN, CHUNK_BYTES), recorder))
    }

    /// Removes unfinished pieces of blobs, as a database does after it was opened for writing.
    /// Afterwards every piece belongs to a row, except those of blobs that were replaced without a
    /// lookup.
    ///
    /// # Errors
    /// Other pieces; and the engine's errors.
    pub fn tidy(&self, kv: &Arc<Kv>) -> Result<store::Result<()>, String> {
        let Some(ids) = self.ids(&[BLOBS, LARGE]) else { return Ok(Ok(())) };
        let tidied = || {
            let (blobs, recorder) = self.blobs(kv, Means::Step(ids[&BLOBS], Vec::new()))?;
            let env: Arc<dyn Env> = Arc::clone(&self.env) as _;
            let store: Arc<dyn Store> = Arc::new(recorder);
            views::blobs::remove_unfinished(&store, &env)?;
            blobs.at(&kv.snapshot()).check()
        };
        let check = match tidied() {
            Ok(check) => check,
            Err(error) => return Ok(Err(error)),
        };
        let litter = self.model.borrow().litter.get() as u64;
        if check.unused > litter {
            return Err(format!(
                "pieces of {} blobs belong to no row, of at most {litter} somebody can have left them",
                check.unused
            ));
        }
        Ok(Ok(()))
    }
}
