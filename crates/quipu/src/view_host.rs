//! The services that the engine of scripts needs from this crate.

use base::KeyspaceId;
use model::Series;
use relation::{Catalog, Entry};
use session::{Engine, Files, Host};
use std::sync::Arc;
use store::{Error, ErrorKind, Result, Store};
use views::blobs::Blobs;
use views::write_buffer::Registry;

/// The services that the engine needs from this crate.
pub(crate) struct ViewHost {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) env: Arc<dyn env::Env>,
    pub(crate) buffers: Arc<Registry>,
}

impl ViewHost {
    /// A script engine over the store, with this as its host.
    pub(crate) fn engine(self, memory_bytes_max: u64, files: Files) -> Arc<Engine> {
        let (store, env) = (Arc::clone(&self.store), Arc::clone(&self.env));
        let engine = Engine::new(store, env, memory_bytes_max).with_files(files);
        Arc::new(engine.with_host(Arc::new(self)))
    }

    /// Drops an entry and ends its view's write buffer. Returns false if there was no such entry.
    pub(crate) fn drop_entry(&self, name: &str) -> Result<bool> {
        let catalog = Catalog::new(Arc::clone(&self.store));
        let entry = catalog.find(name)?;
        let was_there = catalog.drop_entry(name)?;
        if let Some(entry) = entry {
            self.buffers.end(entry.keyspace());
        }
        Ok(was_there)
    }
}

impl Host for ViewHost {
    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.buffers.flush_buffers()?;
        for entry in Catalog::new(Arc::clone(&self.store)).list()? {
            let Entry::Blobs(def, _) = entry else { continue };
            if !go_on() {
                return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
            }
            let (store, env) = (Arc::clone(&self.store), Arc::clone(&self.env));
            // The blobs may have been dropped since.
            if let Some(blobs) = Blobs::find(store, env, &def.name)? {
                blobs.collect_garbage()?;
            }
        }
        self.store.compact_while(go_on)
    }

    fn flush_buffered(&self, keyspace: Option<KeyspaceId>) -> Result<()> {
        match keyspace {
            Some(keyspace) => self.buffers.flush_buffer_of(keyspace),
            None => self.buffers.flush_buffers(),
        }
    }

    fn has_buffered(&self, keyspace: Option<KeyspaceId>) -> bool {
        self.buffers.has_buffered(keyspace)
    }

    fn dropped(&self, keyspace: KeyspaceId) {
        self.buffers.end(keyspace);
    }

    fn read_parquet(
        &self,
        bytes: Vec<u8>,
        file: &str,
        columns: Option<&[String]>,
        visit: &mut dyn FnMut(&[Series]) -> bool,
    ) -> Result<()> {
        #[cfg(feature = "arrow")]
        {
            crate::parquet_reader::read(bytes, file, columns, visit)
        }
        #[cfg(not(feature = "arrow"))]
        {
            let _ = (bytes, file, columns, visit);
            Err(crate::file_errors::without_arrow())
        }
    }
}
