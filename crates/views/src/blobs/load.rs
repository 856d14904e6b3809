//! Bulk load of blobs in ascending order of keys, without the log and the memtables. Long values
//! are refused: rows and chunks are two keyspaces, and a bulk load writes one.

use super::rows::{append_values, empty_batch, large_ids, push_values};
use super::{BlobRows, Blobs, LARGE, LARGE_BYTES_MIN};
use crate::keys::{KeyList, KeyOf, KeyType, check_values, push_keys, push_one};
use crate::source::Source;
use base::{Batch, BytesColumn, Key, Keys, KeyspaceId};
use relation::invalid;
use std::sync::Arc;
use store::{BulkWritten, Result, SortedRows, Store};

impl BlobRows {
    /// Removes all rows.
    pub fn clear(&mut self) {
        self.batch.clear();
    }

    /// Appends a row.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] for a key of another type.
    pub fn push<'k>(&mut self, key: impl Into<KeyOf<'k>>, value: &[u8]) -> Result<()> {
        push_one(self.key, key.into(), &mut self.batch.keys)?;
        push_values(&mut self.batch, Some(value), None);
        self.batch.rows += 1;
        Ok(())
    }

    /// Appends one row for each key.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: keys of another type, columns of different lengths, or a
    /// null value.
    pub fn push_many(&mut self, keys: KeyList<'_>, values: &BytesColumn) -> Result<()> {
        check_values(keys, values)?;
        let count = keys.len();
        push_keys(self.key, keys, &mut self.batch.keys)?;
        append_values(&mut self.batch, values);
        self.batch.rows += count;
        Ok(())
    }
}

impl Blobs {
    /// Writes many blobs in ascending order of their keys directly into tables, without the log and
    /// the memtables, and makes all of them visible in one step. They replace earlier values of
    /// their keys. Writes about as many bytes as the blobs have. One call costs a few syncs and a
    /// flush of the memtables, so it pays for megabytes and more.
    ///
    /// `next` appends rows to its argument and returns false after the last; it may be called from
    /// another thread. The blobs are durable when this returns, independent of the durability of
    /// commits.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`]: keys that do not ascend; a value of [`LARGE_BYTES_MIN`]
    /// bytes or more, or a key that has one (use [`Blobs::put_many`]); blobs in a transaction or at
    /// a snapshot. Errors of `next`. In each case nothing is written.
    pub fn load<F>(&self, next: F) -> Result<BulkWritten>
    where
        F: FnMut(&mut BlobRows) -> Result<bool> + Send + 'static,
    {
        let Source::Store(store) = &self.source else {
            return Err(invalid(
                "a load is a commit of its own: not for a transaction or a snapshot",
            ));
        };
        let key = self.core.def.key;
        let source = Rows {
            next,
            rows: BlobRows::new(key),
            key,
            last: None,
            count: 0,
            store: Arc::clone(store),
            keyspace: self.core.rows,
            look_up: self.may_hold_large()?,
        };
        let mut bulk = store.begin_bulk()?;
        let written = bulk.write(self.core.rows, vec![Box::new(source)])?;
        bulk.commit()?;
        Ok(written)
    }
}

/// The rows that `next` returns, validated.
struct Rows<F> {
    next: F,
    rows: BlobRows,
    key: KeyType,
    last: Option<Key>,
    /// Number of rows so far.
    count: u64,
    store: Arc<dyn Store>,
    keyspace: KeyspaceId,
    /// Whether keys may have long values, so that they must be looked up.
    look_up: bool,
}

impl<F: FnMut(&mut BlobRows) -> Result<bool> + Send> SortedRows for Rows<F> {
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool> {
        // `next` may return no rows now and some later.
        loop {
            self.rows.reset(self.key);
            let more = (self.next)(&mut self.rows)?;
            if !self.rows.is_empty() {
                break;
            }
            if !more {
                return Ok(false);
            }
        }
        self.check()?;
        self.count += self.rows.len() as u64;
        if out.rows == 0 {
            std::mem::swap(out, &mut self.rows.batch);
            return Ok(true);
        }
        match (&mut out.keys, &self.rows.batch.keys) {
            (Keys::Words(to), Keys::Words(from)) => to[0].extend_from_slice(&from[0]),
            (to, from) => (0..from.len()).for_each(|i| to.push(from.get(i).as_ref())),
        }
        append_values(out, self.rows.values());
        out.rows += self.rows.len();
        Ok(true)
    }
}

impl<F> Rows<F> {
    fn check(&mut self) -> Result<()> {
        if self.rows.key != self.key {
            return Err(invalid(format!("{} keys, the blobs have {}", self.rows.key, self.key)));
        }
        let (keys, values) = (&self.rows.batch.keys, self.rows.values());
        let first = keys.get(0);
        let ascends = |i: usize| match keys {
            Keys::Words(columns) => columns[0][i - 1] < columns[0][i],
            Keys::Bytes(column) => column.get(i - 1) < column.get(i),
        };
        let wrong = match &self.last {
            Some(last) if *last >= first => Some(0),
            _ => (1..keys.len()).find(|&i| !ascends(i)),
        };
        if let Some(i) = wrong {
            return Err(invalid(format!(
                "the key of row {} is not above the one before it\nhint: a load takes ascending keys; others are for put_many",
                self.count + i as u64
            )));
        }
        let long =
            values.offsets.windows(2).position(|pair| pair[1] - pair[0] >= LARGE_BYTES_MIN as u64);
        if let Some(i) = long {
            return Err(invalid(format!(
                "the value of row {} has {} bytes, a load takes less than {LARGE_BYTES_MIN}\nhint: put_many takes longer ones",
                self.count + i as u64,
                values.offsets[i + 1] - values.offsets[i]
            )));
        }
        if self.look_up {
            let (mut present, mut old) = (Vec::new(), empty_batch(self.key));
            self.store.get_many(self.keyspace, keys, LARGE, &mut present, &mut old)?;
            if large_ids(&old).next().is_some() {
                let what = "a key has a value that lies in chunks, which a load does not replace\nhint: delete it before";
                return Err(invalid(what));
            }
        }
        self.last = Some(keys.get(keys.len() - 1));
        Ok(())
    }
}
