//! redb: one transaction per batch, without durability until the final flush.

use crate::store::{Kind, Result, Rows, Session, Settings, Store, Values, sums};
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

const VALUES: TableDefinition<u64, &[u8]> = TableDefinition::new("values");
const COUNTS: TableDefinition<u64, u64> = TableDefinition::new("counts");

struct Redb {
    db: Database,
}

struct Handle<'a> {
    db: &'a Database,
    rows: Rows,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Store>> {
    let mut builder = Database::builder();
    builder.set_cache_size(settings.cache_bytes as usize);
    let db = builder.create(settings.folder.join("redb"))?;
    let write = db.begin_write()?;
    match settings.kind {
        Kind::Values | Kind::Objects => drop(write.open_table(VALUES)?),
        Kind::Counts => drop(write.open_table(COUNTS)?),
    }
    write.commit()?;
    Ok(Box::new(Redb { db }))
}

impl Store for Redb {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Handle { db: &self.db, rows: Rows::default() }))
    }

    fn flush(&self) -> Result<()> {
        // An empty durable transaction makes the earlier ones durable.
        Ok(self.db.begin_write()?.commit()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Handle<'_> {
    fn begin(&self) -> Result<redb::WriteTransaction> {
        let mut write = self.db.begin_write()?;
        write.set_durability(Durability::None)?;
        Ok(write)
    }
}

impl Session for Handle<'_> {
    fn put(&mut self, key: u64, value: &[u8]) -> Result<()> {
        let write = self.begin()?;
        write.open_table(VALUES)?.insert(key, value)?;
        Ok(write.commit()?)
    }

    fn put_batch(&mut self, rows: &mut Rows) -> Result<()> {
        let write = self.begin()?;
        {
            let mut table = write.open_table(VALUES)?;
            for (key, value) in rows.iter() {
                table.insert(key, value)?;
            }
        }
        Ok(write.commit()?)
    }

    fn get(&mut self, key: u64, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let value = self.db.begin_read()?.open_table(VALUES)?.get(key)?;
        Ok(value.map(|value| out.extend_from_slice(value.value())).is_some())
    }

    fn multi_get(&mut self, keys: &[u64], out: &mut Values) -> Result<usize> {
        out.clear();
        let table = self.db.begin_read()?.open_table(VALUES)?;
        let mut found = 0;
        for key in keys {
            let value = table.get(key)?;
            found += usize::from(value.is_some());
            out.push(value.as_ref().map_or(&[], |value| value.value()));
        }
        Ok(found)
    }

    fn scan(&mut self, start: u64, count: usize) -> Result<(usize, u64)> {
        self.rows.clear();
        let table = self.db.begin_read()?.open_table(VALUES)?;
        for row in table.range(start..)?.take(count) {
            let (key, value) = row?;
            self.rows.push(key.value(), value.value());
        }
        Ok((self.rows.len(), self.rows.values.heap.len() as u64))
    }

    fn stream(&mut self, start: u64, end: u64, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let table = self.db.begin_read()?.open_table(VALUES)?;
        for row in table.range(start..end)? {
            each(row?.1.value());
        }
        Ok(())
    }

    fn delete(&mut self, key: u64) -> Result<()> {
        let write = self.begin()?;
        write.open_table(VALUES)?.remove(key)?;
        Ok(write.commit()?)
    }

    fn add(&mut self, keys: &[u64]) -> Result<()> {
        let write = self.begin()?;
        {
            let mut table = write.open_table(COUNTS)?;
            for (key, sum) in sums(keys) {
                let stored = table.get(key)?.map_or(0, |count| count.value());
                table.insert(key, stored + sum)?;
            }
        }
        Ok(write.commit()?)
    }

    fn counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        let table = self.db.begin_read()?.open_table(COUNTS)?;
        for key in keys {
            out.push(table.get(key)?.map_or(0, |count| count.value()));
        }
        Ok(())
    }
}
