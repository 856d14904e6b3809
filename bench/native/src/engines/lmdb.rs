//! LMDB through heed: a writable map, no sync, one transaction per batch.

use crate::store::{Result, Rows, Session, Settings, Store, Values, sums};
use heed::byteorder::BE;
use heed::types::{Bytes, U64};
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags, WithTls};

type Table = Database<U64<BE>, Bytes>;

struct Lmdb {
    env: Env<WithTls>,
    table: Table,
    append: bool,
}

struct Handle<'a> {
    store: &'a Lmdb,
    rows: Rows,
}

/// Size of the memory map: address space, not memory.
const MAP_BYTES: usize = 1 << 40;

pub fn open(settings: &Settings) -> Result<Box<dyn Store>> {
    let mut options = EnvOpenOptions::new().read_txn_with_tls();
    options.map_size(MAP_BYTES).max_readers(1024);
    // SAFETY: only this process has the folder open. A power cut may lose what was not flushed,
    // which is what is measured.
    let env = unsafe {
        options.flags(
            EnvFlags::NO_SYNC
                | EnvFlags::NO_META_SYNC
                | EnvFlags::WRITE_MAP
                | EnvFlags::MAP_ASYNC
                | EnvFlags::NO_READ_AHEAD,
        );
        options.open(&settings.folder)?
    };
    let mut write = env.write_txn()?;
    let table: Table = env.create_database(&mut write, None)?;
    write.commit()?;
    Ok(Box::new(Lmdb { env, table, append: settings.threads == 1 }))
}

impl Store for Lmdb {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Handle { store: self, rows: Rows::default() }))
    }

    fn flush(&self) -> Result<()> {
        Ok(self.env.force_sync()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}

impl Session for Handle<'_> {
    fn load(&mut self, rows: &mut Rows) -> Result<()> {
        let flags = if self.store.append { PutFlags::APPEND } else { PutFlags::empty() };
        let mut write = self.store.env.write_txn()?;
        for (key, value) in rows.iter() {
            self.store.table.put_with_flags(&mut write, flags, &key, value)?;
        }
        Ok(write.commit()?)
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<()> {
        let mut write = self.store.env.write_txn()?;
        self.store.table.put(&mut write, &key, value)?;
        Ok(write.commit()?)
    }

    fn put_batch(&mut self, rows: &mut Rows) -> Result<()> {
        let mut write = self.store.env.write_txn()?;
        for (key, value) in rows.iter() {
            self.store.table.put(&mut write, &key, value)?;
        }
        Ok(write.commit()?)
    }

    fn get(&mut self, key: u64, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let read = self.store.env.read_txn()?;
        let value = self.store.table.get(&read, &key)?;
        Ok(value.map(|value| out.extend_from_slice(value)).is_some())
    }

    fn multi_get(&mut self, keys: &[u64], out: &mut Values) -> Result<usize> {
        out.clear();
        let read = self.store.env.read_txn()?;
        let mut found = 0;
        for key in keys {
            let value = self.store.table.get(&read, key)?;
            found += usize::from(value.is_some());
            out.push(value.unwrap_or_default());
        }
        Ok(found)
    }

    fn scan(&mut self, start: u64, count: usize) -> Result<(usize, u64)> {
        self.rows.clear();
        let read = self.store.env.read_txn()?;
        for row in self.store.table.range(&read, &(start..))?.take(count) {
            let (key, value) = row?;
            self.rows.push(key, value);
        }
        Ok((self.rows.len(), self.rows.values.heap.len() as u64))
    }

    fn stream(&mut self, start: u64, end: u64, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let read = self.store.env.read_txn()?;
        for row in self.store.table.range(&read, &(start..end))? {
            each(row?.1);
        }
        Ok(())
    }

    fn delete(&mut self, key: u64) -> Result<()> {
        let mut write = self.store.env.write_txn()?;
        self.store.table.delete(&mut write, &key)?;
        Ok(write.commit()?)
    }

    fn add(&mut self, keys: &[u64]) -> Result<()> {
        let mut write = self.store.env.write_txn()?;
        for (key, sum) in sums(keys) {
            let stored = self.store.table.get(&write, &key)?.map_or(Ok(0), word)?;
            self.store.table.put(&mut write, &key, &(stored + sum).to_le_bytes())?;
        }
        Ok(write.commit()?)
    }

    fn counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        let read = self.store.env.read_txn()?;
        for key in keys {
            out.push(self.store.table.get(&read, key)?.map_or(Ok(0), word)?);
        }
        Ok(())
    }
}

fn word(bytes: &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(bytes.try_into()?))
}
