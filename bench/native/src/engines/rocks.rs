//! RocksDB: big-endian keys, Bloom filters of 10 bits per key, no compression, ingestion of sorted
//! files for loads. Counts and objects use merge operators.

use crate::object;
use crate::store::{Kind, Result, Rows, Session, Settings, Store, Values, sums};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DBCompressionType, DBPinnableSlice,
    MergeOperands, Options, ReadOptions, SstFileWriter, WriteBatch, WriteOptions,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const FAMILY: &str = "default";

struct Rocks {
    db: DB,
    options: Options,
    settings: Settings,
    files: AtomicU64,
}

struct Handle<'a> {
    store: &'a Rocks,
    read: ReadOptions,
    write: WriteOptions,
    rows: Rows,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Store>> {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(settings.cache_bytes as usize));
    table.set_bloom_filter(10.0, false);
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table.set_format_version(5);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(settings.write_bytes as usize / 2);
    options.set_max_write_buffer_number(4);
    options.set_max_bytes_for_level_multiplier(4.0);
    options.increase_parallelism(settings.threads.max(2) as i32);
    options.set_level_compaction_dynamic_level_bytes(false);
    options.set_max_open_files(-1);
    if settings.direct {
        options.set_use_direct_reads(true);
        options.set_use_direct_io_for_flush_and_compaction(true);
    }
    match settings.kind {
        Kind::Counts => options.set_merge_operator_associative("sum", sum),
        Kind::Objects => options.set_merge_operator_associative("objects", combined),
        Kind::Values => {}
    }
    // Opened by name, because the batched lookup needs a handle.
    let family = ColumnFamilyDescriptor::new(FAMILY, options.clone());
    let db = DB::open_cf_descriptors(&options, &settings.folder, [family])?;
    let (settings, files) = (settings.clone(), AtomicU64::new(0));
    Ok(Box::new(Rocks { db, options, settings, files }))
}

/// The merge operator of counts: adds the operands to the stored count.
fn sum(_key: &[u8], stored: Option<&[u8]>, added: &MergeOperands) -> Option<Vec<u8>> {
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    let mut sum = stored.map_or(Some(0), word)?;
    for bytes in added {
        sum += word(bytes)?;
    }
    Some(sum.to_le_bytes().to_vec())
}

/// The merge operator of objects: combines the stored object with the operands.
fn combined(_key: &[u8], stored: Option<&[u8]>, added: &MergeOperands) -> Option<Vec<u8>> {
    let mut made = stored.unwrap_or_default().to_vec();
    for object in added {
        let old = std::mem::take(&mut made);
        object::combine(&old, object, &mut made).ok()?;
    }
    Some(made)
}

impl Store for Rocks {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let mut read = ReadOptions::default();
        read.set_verify_checksums(false);
        if self.settings.direct {
            read.set_async_io(true);
        }
        let mut write = WriteOptions::default();
        write.disable_wal(!self.settings.logged);
        Ok(Box::new(Handle { store: self, read, write, rows: Rows::default() }))
    }

    fn flush(&self) -> Result<()> {
        Ok(self.db.flush()?)
    }

    fn after_load(&self) -> Result<()> {
        self.db.compact_range(None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.db.cancel_all_background_work(true);
        Ok(())
    }
}

impl Session for Handle<'_> {
    fn load(&mut self, rows: &mut Rows) -> Result<()> {
        let number = self.store.files.fetch_add(1, Ordering::Relaxed);
        let path = self.store.settings.folder.join(format!("load-{number}.sst"));
        let mut file = SstFileWriter::create(&self.store.options);
        file.open(&path)?;
        for (key, value) in rows.iter() {
            file.put(key.to_be_bytes(), value)?;
        }
        file.finish()?;
        let mut ingest = rocksdb::IngestExternalFileOptions::default();
        ingest.set_move_files(true);
        self.store.db.ingest_external_file_opts(&ingest, vec![path])?;
        Ok(())
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<()> {
        Ok(self.store.db.put_opt(key.to_be_bytes(), value, &self.write)?)
    }

    fn put_batch(&mut self, rows: &mut Rows) -> Result<()> {
        let mut batch = WriteBatch::default();
        rows.iter().for_each(|(key, value)| batch.put(key.to_be_bytes(), value));
        Ok(self.store.db.write_opt(batch, &self.write)?)
    }

    fn get(&mut self, key: u64, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let value = self.store.db.get_pinned_opt(key.to_be_bytes(), &self.read)?;
        Ok(value.map(|value| out.extend_from_slice(&value)).is_some())
    }

    fn multi_get(&mut self, keys: &[u64], out: &mut Values) -> Result<usize> {
        out.clear();
        let mut found = 0;
        for value in self.many(keys) {
            let value = value?;
            found += usize::from(value.is_some());
            out.push(value.as_deref().unwrap_or_default());
        }
        Ok(found)
    }

    fn scan(&mut self, start: u64, count: usize) -> Result<(usize, u64)> {
        self.rows.clear();
        let mut read = ReadOptions::default();
        read.set_verify_checksums(false);
        let mut rows = self.store.db.raw_iterator_opt(read);
        rows.seek(start.to_be_bytes());
        while self.rows.len() < count
            && let Some((key, value)) = rows.item()
        {
            self.rows.push(u64::from_be_bytes(key.try_into()?), value);
            rows.next();
        }
        rows.status()?;
        Ok((self.rows.len(), self.rows.values.heap.len() as u64))
    }

    fn stream(&mut self, start: u64, end: u64, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut read = ReadOptions::default();
        read.set_verify_checksums(false);
        read.fill_cache(false);
        read.set_readahead_size(2 << 20);
        read.set_iterate_upper_bound(end.to_be_bytes());
        let mut rows = self.store.db.raw_iterator_opt(read);
        rows.seek(start.to_be_bytes());
        while let Some((_, value)) = rows.item() {
            each(value);
            rows.next();
        }
        Ok(rows.status()?)
    }

    fn delete(&mut self, key: u64) -> Result<()> {
        Ok(self.store.db.delete_opt(key.to_be_bytes(), &self.write)?)
    }

    fn add(&mut self, keys: &[u64]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (key, sum) in sums(keys) {
            batch.merge(key.to_be_bytes(), sum.to_le_bytes());
        }
        Ok(self.store.db.write_opt(batch, &self.write)?)
    }

    fn combine(&mut self, objects: &mut Rows, _: &Mutex<()>) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (key, object) in object::sums(objects)?.iter() {
            batch.merge(key.to_be_bytes(), object);
        }
        Ok(self.store.db.write_opt(batch, &self.write)?)
    }

    fn counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        for value in self.many(keys) {
            let count = value?.map(|value| value[..].try_into().map(u64::from_le_bytes));
            out.push(count.transpose()?.unwrap_or(0));
        }
        Ok(())
    }
}

impl Handle<'_> {
    /// The batched lookup, which works best with some hundred sorted keys at a time; results are in
    /// the order of `keys`.
    fn many(&self, keys: &[u64]) -> Vec<Result<Option<DBPinnableSlice<'_>>, rocksdb::Error>> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|&i| keys[i]);
        let mut found: Vec<_> = (0..keys.len()).map(|_| Ok(None)).collect();
        let family = self.store.db.cf_handle(FAMILY).expect("there always is one");
        for piece in order.chunks(256) {
            let sorted: Vec<[u8; 8]> = piece.iter().map(|&i| keys[i].to_be_bytes()).collect();
            let values = self.store.db.batched_multi_get_cf_opt(family, &sorted, true, &self.read);
            piece.iter().zip(values).for_each(|(&i, value)| found[i] = value);
        }
        found
    }
}
