//! Bulk loads: rows go to a fresh prefix. The commit makes an empty keyspace point to it, and
//! copies the rows into one that has rows.

use crate::cell::Change;
use crate::commit::Writing;
use crate::core::Core;
use crate::error::invalid;
use crate::key::Prefix;
use crate::meta::{Figures, Space, load_key};
use crate::overlay::Overlay;
use crate::record::{Header, encode, header, seal};
use base::{Batch, KeyspaceId, Kind, SeqNo, Shape};
use std::sync::Arc;
use store::{BulkLoad, BulkWritten, Result, SortedRows};

/// Bytes and rows that are written at once, in a commit of their own.
const BYTES_A_COMMIT: usize = 4 << 20;
const ROWS_A_COMMIT: usize = 16 << 10;

/// Rows of a keyspace that were loaded.
struct Loaded {
    id: KeyspaceId,
    prefix: Prefix,
    figures: Figures,
}

/// A load under way.
pub(crate) struct Load {
    core: Arc<Core>,
    loaded: Vec<Loaded>,
    is_done: bool,
}

impl Load {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self { core: Arc::clone(core), loaded: Vec::new(), is_done: false }
    }

    /// Reserves a prefix. An entry of the catalog says that it is unfinished.
    fn reserve(&mut self, id: KeyspaceId) -> Result<(Prefix, Shape)> {
        let mut writing = Writing::begin(&self.core)?;
        let shape = writing.catalog.space(id)?.info.shape.clone();
        let prefix = Prefix(writing.meta.next_prefix);
        writing.meta.next_prefix += 1;
        let key = load_key(prefix);
        let value = seal(&key, vec![1]);
        writing.map.put(&[(key, value)])?;
        writing.finish()?;
        self.loaded.push(Loaded { id, prefix, figures: Figures::default() });
        Ok((prefix, shape))
    }

    /// Writes a batch of rows and returns their bytes. No reader knows their prefix.
    fn write_rows(
        &self,
        prefix: Prefix,
        shape: &Shape,
        rows: &Batch,
        last: &mut Vec<u8>,
    ) -> Result<u64> {
        let (mut pairs, mut bytes) = (Vec::with_capacity(rows.rows), 0);
        for i in 0..rows.rows {
            let key = prefix.key(rows.keys.get(i).as_ref());
            if key <= *last {
                return Err(invalid("rows of a bulk load do not ascend"));
            }
            last.clone_from(&key);
            let Change::Put(row) = Change::new(Kind::Put, rows, i) else { continue };
            let header = Header { seq: 0, plain_seq: 0, is_tombstone: false };
            let value = encode(&key, header, shape, Some(&row));
            bytes += (key.len() + value.len()) as u64;
            pairs.push((key, value));
        }
        self.core.check_may_wait()?;
        self.core.map()?.load(&pairs)?;
        Ok(bytes)
    }

    /// Puts loaded rows into a keyspace that has rows.
    fn copy(writing: &mut Writing<'_>, place: &str, loaded: &Loaded, space: &Space) -> Result<()> {
        let (lower, upper) = loaded.prefix.all();
        let mut from = lower;
        loop {
            let mut pairs = Vec::new();
            let order = crate::map::Order::Forward;
            writing.map.scan(&from, &upper, order, ROWS_A_COMMIT / 16, &mut pairs)?;
            let Some((last, _)) = pairs.last() else { break };
            from = crate::key::successor(last);
            let mut puts = Overlay::default();
            for (key, value) in &pairs {
                let columns = header(place, key, value)?.1;
                let row = crate::record::decode(place, key, &space.info.shape, columns)?;
                let mut to = space.prefix.all().0;
                to.extend_from_slice(key.get(crate::key::PREFIX_BYTES..).unwrap_or_default());
                puts.changes.insert(to, Change::Put(row));
            }
            writing.write(&puts, None)?;
        }
        Ok(())
    }

    /// Removes the rows under these prefixes.
    pub(crate) fn remove(core: &Core, prefixes: &[Prefix]) -> Result<()> {
        let mut map = core.map()?.writer()?;
        for prefix in prefixes {
            let (lower, upper) = prefix.all();
            map.discard(&lower, &upper)?;
            map.delete(&[load_key(*prefix)])?;
        }
        map.commit()
    }
}

impl BulkLoad for Load {
    fn write(
        &mut self,
        keyspace: KeyspaceId,
        partitions: Vec<Box<dyn SortedRows>>,
    ) -> Result<BulkWritten> {
        if self.loaded.iter().any(|loaded| loaded.id == keyspace) {
            return Err(invalid("a keyspace is loaded twice"));
        }
        let (prefix, shape) = self.reserve(keyspace)?;
        let (mut rows, mut written, mut last) =
            (Batch::new(&shape), BulkWritten::default(), vec![]);
        let mut partitions = partitions.into_iter();
        let mut partition = partitions.next();
        while let Some(source) = &mut partition {
            let is_over = !source.next_rows(&mut rows)?;
            if is_over {
                partition = partitions.next();
            }
            let is_full = rows.rows >= ROWS_A_COMMIT || rows.heap_bytes() >= BYTES_A_COMMIT;
            if is_full || partition.is_none() {
                written.bytes += self.write_rows(prefix, &shape, &rows, &mut last)?;
                written.rows += rows.rows as u64;
                rows.clear();
            }
        }
        if let Some(loaded) = self.loaded.last_mut() {
            let (rows, bytes) = (written.rows, written.bytes);
            loaded.figures = Figures { rows, bytes, ..Figures::default() };
        }
        Ok(written)
    }

    fn commit(mut self: Box<Self>) -> Result<SeqNo> {
        let core = Arc::clone(&self.core);
        let mut writing = Writing::begin(&core)?;
        let mut spaces = writing.catalog.spaces.clone();
        let (mut removed, mut changed) = (Vec::new(), Vec::new());
        for loaded in &self.loaded {
            let space = Space::clone(writing.catalog.space(loaded.id)?);
            writing.map.delete(&[load_key(loaded.prefix)])?;
            let before = *writing.figures_of(&space)?;
            if before.rows > 0 {
                Self::copy(&mut writing, &core.place, loaded, &space)?;
                removed.push(loaded.prefix);
                continue;
            }
            removed.push(space.prefix);
            let figures = Figures { changed_at: before.changed_at, ..loaded.figures };
            *writing.figures_of(&space)? = figures;
            let space = Space { prefix: loaded.prefix, ..space };
            let space = Arc::new(space);
            spaces.insert(loaded.id, Arc::clone(&space));
            changed.push(space);
        }
        for prefix in removed {
            let (lower, upper) = prefix.all();
            writing.map.discard(&lower, &upper)?;
        }
        let seq = match changed.is_empty() {
            true => writing.finish()?,
            false => writing.finish_catalog(&[], &changed, spaces)?,
        };
        self.is_done = true;
        Ok(seq)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if self.is_done || self.core.check_process().is_err() {
            return;
        }
        let prefixes: Vec<_> = self.loaded.iter().map(|loaded| loaded.prefix).collect();
        if !prefixes.is_empty() {
            // Rows that remain after a failure are removed when the store is opened.
            let _ = Self::remove(&self.core, &prefixes);
        }
    }
}
