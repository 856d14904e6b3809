//! fjall: sorted ingestion for loads, batches otherwise. It has no merges, so counts are read and
//! written under a lock.

use crate::store::{Result, Rows, Session, Settings, Store, Values, sums};
use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::sync::Mutex;

struct Fjall {
    db: Database,
    table: Keyspace,
    /// Held by an ingestion, or by a batch that reads and writes counts.
    one: Mutex<()>,
    single: bool,
}

struct Handle<'a> {
    store: &'a Fjall,
    rows: Rows,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Store>> {
    let db = Database::builder(&settings.folder)
        .cache_size(settings.cache_bytes)
        .journal_compression(CompressionType::None)
        // fjall cannot run without its journal: where other engines write no WAL, the journal is
        // only buffered.
        .manual_journal_persist(!settings.logged)
        .worker_threads(settings.threads.max(2))
        .open()?;
    let options = || {
        KeyspaceCreateOptions::default()
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
            .index_block_compression_policy(CompressionPolicy::all(CompressionType::None))
            .data_block_size_policy(BlockSizePolicy::all(4 << 10))
            .max_memtable_size(settings.write_bytes / 2)
            .manual_journal_persist(!settings.logged)
    };
    let table = db.keyspace("table", options)?;
    Ok(Box::new(Fjall { db, table, one: Mutex::default(), single: settings.threads == 1 }))
}

impl Store for Fjall {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Handle { store: self, rows: Rows::default() }))
    }

    fn flush(&self) -> Result<()> {
        Ok(self.db.persist(PersistMode::SyncAll)?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Session for Handle<'_> {
    fn load(&mut self, rows: &mut Rows) -> Result<()> {
        if !self.store.single {
            return self.put_batch(rows);
        }
        let mut load = self.store.table.start_ingestion()?;
        for (key, value) in rows.iter() {
            load.write(key.to_be_bytes(), value)?;
        }
        Ok(load.finish()?)
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<()> {
        Ok(self.store.table.insert(key.to_be_bytes(), value)?)
    }

    fn put_batch(&mut self, rows: &mut Rows) -> Result<()> {
        let mut batch = self.store.db.batch();
        for (key, value) in rows.iter() {
            batch.insert(&self.store.table, key.to_be_bytes(), value);
        }
        Ok(batch.commit()?)
    }

    fn get(&mut self, key: u64, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let value = self.store.table.get(key.to_be_bytes())?;
        Ok(value.map(|value| out.extend_from_slice(&value)).is_some())
    }

    fn multi_get(&mut self, keys: &[u64], out: &mut Values) -> Result<usize> {
        out.clear();
        let mut found = 0;
        for key in keys {
            let value = self.store.table.get(key.to_be_bytes())?;
            found += usize::from(value.is_some());
            out.push(value.as_deref().unwrap_or_default());
        }
        Ok(found)
    }

    fn scan(&mut self, start: u64, count: usize) -> Result<(usize, u64)> {
        self.rows.clear();
        for row in self.store.table.range(start.to_be_bytes()..).take(count) {
            let (key, value) = row.into_inner()?;
            self.rows.push(u64::from_be_bytes(key[..].try_into()?), &value);
        }
        Ok((self.rows.len(), self.rows.values.heap.len() as u64))
    }

    fn stream(&mut self, start: u64, end: u64, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        for row in self.store.table.range(start.to_be_bytes()..end.to_be_bytes()) {
            each(&row.value()?);
        }
        Ok(())
    }

    fn delete(&mut self, key: u64) -> Result<()> {
        Ok(self.store.table.remove(key.to_be_bytes())?)
    }

    fn add(&mut self, keys: &[u64]) -> Result<()> {
        let _one = self.store.one.lock().unwrap();
        let mut batch = self.store.db.batch();
        for (key, sum) in sums(keys) {
            let stored = self.store.table.get(key.to_be_bytes())?.map_or(Ok(0), |v| word(&v))?;
            batch.insert(&self.store.table, key.to_be_bytes(), (stored + sum).to_le_bytes());
        }
        Ok(batch.commit()?)
    }

    fn counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        for key in keys {
            out.push(self.store.table.get(key.to_be_bytes())?.map_or(Ok(0), |v| word(&v))?);
        }
        Ok(())
    }
}

fn word(bytes: &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(bytes.try_into()?))
}
