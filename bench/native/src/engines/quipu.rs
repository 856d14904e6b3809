//! Quipu: blobs, integer counters, or values that a function combines.

use crate::object;
use crate::store::{Kind, Result, Rows, Session, Settings, Store, Values};
use quipu::{
    BlobOptions, BlobRows, Blobs, BytesColumn, Combined, CombinedOptions, CounterOptions, Counters,
    Database, Durability, KeyList, KeyOf, NumberColumn, NumberList, Options,
};
use std::sync::{Arc, Mutex};

/// Rows that a stream returns at a time.
const ROWS_A_STEP: usize = 256;

struct Quipu {
    db: Database,
    table: Table,
}

#[derive(Clone)]
enum Table {
    Blobs(Blobs),
    Counters(Counters),
    Combined(Combined),
}

struct Handle {
    table: Table,
    present: Vec<bool>,
    rows: BlobRows,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Store>> {
    let options = Options {
        durability: if settings.logged { Durability::Os } else { Durability::None },
        cache_bytes: settings.cache_bytes,
        // Memtables get a sixteenth of the limit and at most 64 MiB, twice; the cache gets at most
        // half of it.
        memory_limit_bytes: (2 * settings.cache_bytes).max(8 * settings.write_bytes),
        direct_io: settings.direct,
        ..Options::default()
    };
    let db = Database::open(&settings.folder, options)?;
    let table = match settings.kind {
        Kind::Values => Table::Blobs(db.blobs("values", BlobOptions::default())?),
        Kind::Objects => {
            let objects = db.combined("objects", CombinedOptions::default(), Arc::new(combine))?;
            Table::Combined(objects)
        }
        Kind::Counts => Table::Counters(db.counters("counts", CounterOptions::default())?),
    };
    Ok(Box::new(Quipu { db, table }))
}

/// The merge function that Quipu calls.
fn combine(_: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> quipu::Result<()> {
    object::combine(old, new, out)
        .map_err(|error| quipu::Error::new(quipu::ErrorKind::InvalidInput, error.to_string()))
}

impl Store for Quipu {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let table = self.table.clone();
        Ok(Box::new(Handle { table, present: Vec::new(), rows: BlobRows::default() }))
    }

    fn flush(&self) -> Result<()> {
        Ok(self.db.flush()?)
    }

    fn optimise(&self) -> Result<()> {
        Ok(self.db.compact()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.close()?)
    }
}

/// Moves the values into a column of the engine, without a copy.
fn lent(values: &mut Values) -> BytesColumn {
    let offsets = std::mem::take(&mut values.offsets);
    BytesColumn { offsets, heap: std::mem::take(&mut values.heap), ..BytesColumn::default() }
}

fn give_back(column: BytesColumn, values: &mut Values) {
    values.offsets = column.offsets;
    values.heap = column.heap;
}

impl Handle {
    fn blobs(&self) -> &Blobs {
        match &self.table {
            Table::Blobs(blobs) => blobs,
            Table::Counters(_) | Table::Combined(_) => panic!("opened for counts"),
        }
    }

    fn counters(&self) -> &Counters {
        match &self.table {
            Table::Counters(counters) => counters,
            Table::Blobs(_) | Table::Combined(_) => panic!("opened for values"),
        }
    }

    fn combined(&self) -> &Combined {
        match &self.table {
            Table::Combined(combined) => combined,
            Table::Blobs(_) | Table::Counters(_) => panic!("opened for values or counts"),
        }
    }
}

impl Session for Handle {
    fn put(&mut self, key: u64, value: &[u8]) -> Result<()> {
        Ok(self.blobs().put(key, value)?)
    }

    fn load(&mut self, rows: &mut Rows) -> Result<()> {
        // The rows' memory is lent to the engine, which drains it within this call.
        let mut columns = Some((std::mem::take(&mut rows.keys), lent(&mut rows.values)));
        let back = std::sync::Arc::new(std::sync::Mutex::new(None));
        let drained = std::sync::Arc::clone(&back);
        self.blobs().load(move |out| {
            let Some((keys, values)) = columns.take() else { return Ok(false) };
            out.push_many(KeyList::U64(&keys), &values)?;
            *drained.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((keys, values));
            Ok(true)
        })?;
        let drained = back.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let (keys, values) = drained.ok_or("the load took no rows")?;
        rows.keys = keys;
        give_back(values, &mut rows.values);
        Ok(())
    }

    fn put_batch(&mut self, rows: &mut Rows) -> Result<()> {
        let values = lent(&mut rows.values);
        let put = self.blobs().put_many(KeyList::U64(&rows.keys), &values);
        give_back(values, &mut rows.values);
        Ok(put?)
    }

    fn get(&mut self, key: u64, out: &mut Vec<u8>) -> Result<bool> {
        Ok(self.blobs().get(key, out)?)
    }

    fn multi_get(&mut self, keys: &[u64], out: &mut Values) -> Result<usize> {
        let mut present = std::mem::take(&mut self.present);
        let mut values = lent(out);
        let got = self.blobs().get_many(KeyList::U64(keys), &mut present, &mut values);
        give_back(values, out);
        self.present = present;
        got?;
        Ok(self.present.iter().filter(|&&there| there).count())
    }

    fn scan(&mut self, start: u64, count: usize) -> Result<(usize, u64)> {
        let mut rows = std::mem::take(&mut self.rows);
        self.blobs().scan(Some(KeyOf::U64(start)), count, &mut rows)?;
        self.rows = rows;
        Ok((self.rows.len(), self.rows.values().heap.len() as u64))
    }

    fn stream(&mut self, start: u64, end: u64, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut scan = self.blobs().range(Some(KeyOf::U64(start)), Some(KeyOf::U64(end)))?;
        let mut rows = std::mem::take(&mut self.rows);
        while scan.next_rows(ROWS_A_STEP, &mut rows)? {
            (0..rows.len()).for_each(|i| each(rows.value(i)));
        }
        self.rows = rows;
        Ok(())
    }

    fn delete(&mut self, key: u64) -> Result<()> {
        Ok(self.blobs().discard(key)?)
    }

    fn add(&mut self, keys: &[u64]) -> Result<()> {
        Ok(self.counters().add_many(KeyList::U64(keys), NumberList::Ones)?)
    }

    fn counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        match self.counters().get_many(KeyList::U64(keys))? {
            NumberColumn::Int(numbers) => out.extend(numbers.iter().map(|&number| number as u64)),
            NumberColumn::Float(_) => unreachable!("opened for integers"),
        }
        Ok(())
    }

    fn combine(&mut self, objects: &mut Rows, _: &Mutex<()>) -> Result<()> {
        let values = lent(&mut objects.values);
        let added = self.combined().add_many(KeyList::U64(&objects.keys), &values);
        give_back(values, &mut objects.values);
        Ok(added?)
    }

    fn object_counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        let mut values = BytesColumn::default();
        let mut present = std::mem::take(&mut self.present);
        self.combined().get_many(KeyList::U64(keys), &mut present, &mut values)?;
        self.present = present;
        out.clear();
        for i in 0..keys.len() {
            out.push(object::count(values.get(i))?);
        }
        Ok(())
    }
}
