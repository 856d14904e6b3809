//! Snapshots and transactions, and the reads that both share.

use crate::cell::append_values;
use crate::commit::Writing;
use crate::core::{Core, Opened, Pinned};
use crate::error::invalid;
use crate::key::{first_word, successor};
use crate::map::Order;
use crate::meta::{Figures, Space};
use crate::overlay::Overlay;
use crate::pages::{Found, PageRows, Writes, found, overlaid, page};
use crate::reads::Reads;
use crate::stream::Stream;
use base::{Batch, KeyRange, KeyRef, KeyShape, Keys, KeyspaceId, Projection, SeqNo, next_words};
use env::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{
    Error, Estimate, Isolation, Read, Result, Savepoint, Scan, Snapshot, Transaction, WriteBatch,
};

/// Keys looked up at once.
const KEYS_AT_ONCE: usize = 1000;
/// Spans scanned at once, and rows of each that are read before those that have more.
const SPANS_AT_ONCE: usize = 256;
const ROWS_OF_A_SPAN: usize = 64;
/// Keys that an estimate reads.
const ESTIMATED_FROM: usize = 256;

/// One state of the store, with uncommitted writes on top.
pub(crate) struct View<'a> {
    pub(crate) pinned: &'a Arc<Pinned>,
    pub(crate) writes: Writes<'a>,
    /// The read set of a serializable transaction.
    pub(crate) reads: Option<&'a Arc<Mutex<Reads>>>,
}

impl View<'_> {
    fn space(&self, id: KeyspaceId) -> Result<Arc<Space>> {
        self.pinned.space(id)
    }

    fn reads(&self) -> Option<&Mutex<Reads>> {
        self.reads.map(|reads| &**reads)
    }

    /// Calls `visit` with the rows of a range until it returns false.
    fn each_row(
        &self,
        space: &Space,
        range: &KeyRange,
        order: Order,
        limit: usize,
        mut visit: impl FnMut(&[u8], &Found) -> Result<bool>,
    ) -> Result<()> {
        let mut rest = (limit > 0).then(|| space.prefix.span(range));
        let (mut rows, mut left) = (PageRows::default(), limit);
        while let Some(span) = rest {
            let most = rows.get().min(left);
            let page = page(self.pinned, space, self.writes, self.reads(), &span, order, most)?;
            rows.learn(&page);
            for (key, found) in &page.rows {
                left -= 1;
                if !visit(key, found)? || left == 0 {
                    return Ok(());
                }
            }
            rest = page.rest;
        }
        Ok(())
    }

    fn get(
        &self,
        id: KeyspaceId,
        key: KeyRef<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        let space = &*self.space(id)?;
        let key = space.prefix.key(key);
        let found = self.look_up(space, std::slice::from_ref(&key))?.pop().flatten();
        if let Some(found) = &found {
            found.append(self.pinned, space, &key, projection, out)?;
        }
        Ok(found.is_some())
    }

    /// The records of the keys, in their order.
    fn look_up(&self, space: &Space, keys: &[Vec<u8>]) -> Result<Vec<Option<Found>>> {
        let mut values = Vec::with_capacity(keys.len());
        self.pinned.with(|map| map.get(keys, &mut values))?;
        if let Some(reads) = self.reads() {
            let mut reads = reads.lock();
            keys.iter().for_each(|key| reads.note_key(key));
        }
        self.writes.with(|own| {
            let pairs = keys.iter().zip(values);
            pairs.map(|(key, value)| found(self.pinned, space, own, key, value)).collect()
        })
    }

    fn get_many(
        &self,
        id: KeyspaceId,
        keys: &Keys,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        let space = &*self.space(id)?;
        let encoded: Vec<_> =
            (0..keys.len()).map(|i| space.prefix.key(keys.get(i).as_ref())).collect();
        let projection = Projection { keys: 0, ..projection };
        for keys in encoded.chunks(KEYS_AT_ONCE) {
            for (key, found) in keys.iter().zip(self.look_up(space, keys)?) {
                present.push(found.is_some());
                match found {
                    Some(found) => found.append(self.pinned, space, key, projection, out)?,
                    None => append_values(out, None, projection),
                }
            }
        }
        Ok(())
    }

    fn scan_into(
        &self,
        id: KeyspaceId,
        range: &KeyRange,
        (order, limit): (Order, usize),
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        let space = &*self.space(id)?;
        self.each_row(space, range, order, limit, |key, found| {
            found.append(self.pinned, space, key, projection, out)?;
            Ok(true)
        })
    }

    fn scan_some_into(
        &self,
        id: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        (limit, bytes_max): (usize, usize),
        out: &mut Batch,
    ) -> Result<bool> {
        let space = &*self.space(id)?;
        let (mut rows, before) = (0, out.heap_bytes());
        let mut more = false;
        self.each_row(space, range, Order::Forward, limit, |key, found| {
            if rows > 0 && out.heap_bytes() - before >= bytes_max {
                more = true;
                return Ok(false);
            }
            rows += 1;
            found.append(self.pinned, space, key, projection, out)?;
            Ok(true)
        })?;
        Ok(more || rows >= limit)
    }

    fn prefix_many(
        &self,
        id: KeyspaceId,
        first_words: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        let space = &*self.space(id)?;
        let start = out.rows;
        offsets.push(0);
        for words in first_words.chunks(SPANS_AT_ONCE) {
            let span = |&word: &u64| space.prefix.span(&KeyRange::prefix_words(&[word]));
            let spans: Vec<_> = words.iter().map(span).collect();
            let mut firsts = Vec::with_capacity(spans.len());
            self.pinned.with(|map| map.scan_many(&spans, ROWS_OF_A_SPAN, &mut firsts))?;
            for (span, pairs) in spans.into_iter().zip(firsts) {
                let (order, most) = (Order::Forward, ROWS_OF_A_SPAN);
                let (pinned, writes) = (self.pinned, self.writes);
                let mut page =
                    overlaid(pinned, space, writes, self.reads(), &span, order, most, pairs)?;
                let mut rows = PageRows::default();
                loop {
                    for (key, found) in &page.rows {
                        found.append(pinned, space, key, projection, out)?;
                    }
                    let Some(rest) = page.rest.take() else { break };
                    let most = rows.get();
                    page = crate::pages::page(
                        pinned,
                        space,
                        writes,
                        self.reads(),
                        &rest,
                        order,
                        most,
                    )?;
                    rows.learn(&page);
                }
                offsets.push((out.rows - start) as u64);
            }
        }
        Ok(())
    }

    fn scan(&self, id: KeyspaceId, range: &KeyRange, projection: Projection) -> Result<Stream> {
        let space = &*self.space(id)?;
        let span = space.prefix.span(range);
        // Later writes of the transaction do not change a stream that has begun.
        let own = self.writes.with(|own| own.map(|own| own.part(&span)));
        Ok(Stream {
            pinned: Arc::clone(self.pinned),
            own,
            reads: self.reads.cloned(),
            space: space.clone(),
            rest: Some(span),
            rows: PageRows::default(),
            ready: Vec::new().into_iter(),
            projection,
        })
    }

    fn figures(&self, id: KeyspaceId) -> Result<Figures> {
        self.pinned.with(|map| Figures::read(&self.pinned.core.place, map, id))
    }

    fn count(&self, id: KeyspaceId) -> Result<u64> {
        let space = &*self.space(id)?;
        let (lower, upper) = space.prefix.all();
        let own = self.writes.with(|own| own.map(|own| own.part(&(lower.clone(), upper.clone()))));
        if let Some(reads) = self.reads() {
            reads.lock().note_span((lower, upper));
        }
        let rows = self.figures(id)?.rows;
        let Some(own) = own.filter(|own| !own.is_empty()) else { return Ok(rows) };
        if !own.deleted.is_empty() {
            let mut count = 0;
            let all = KeyRange::all(&space.info.shape.key);
            self.each_row(space, &all, Order::Forward, usize::MAX, |_, _| {
                count += 1;
                Ok(true)
            })?;
            return Ok(count);
        }
        let (mut more, mut fewer) = (0, 0);
        let keys: Vec<_> = own.changes.keys().cloned().collect();
        for keys in keys.chunks(KEYS_AT_ONCE) {
            let mut values = Vec::new();
            self.pinned.with(|map| map.get(keys, &mut values))?;
            for (key, value) in keys.iter().zip(values) {
                let before = found(self.pinned, space, None, key, value.clone())?.is_some();
                let after = found(self.pinned, space, Some(&own), key, value)?.is_some();
                more += u64::from(after && !before);
                fewer += u64::from(before && !after);
            }
        }
        Ok(rows + more - fewer)
    }

    /// Exact for whole keyspaces and for a few hundred rows. Otherwise keys are assumed to lie as
    /// densely in the whole range as in its first rows.
    fn estimate(&self, id: KeyspaceId, range: &KeyRange) -> Result<Estimate> {
        let space = &*self.space(id)?;
        let (span, all) = (space.prefix.span(range), space.prefix.all());
        let own = self.writes.with(|own| own.map_or(0, |own| own.part(&span).changes.len() as u64));
        let figures = self.figures(id)?;
        let rows = match span == all {
            true => figures.rows,
            false if span.0 >= span.1 => 0,
            false => {
                let mut pairs = Vec::new();
                let (order, most) = (Order::Forward, ESTIMATED_FROM);
                self.pinned.with(|map| map.scan(&span.0, &span.1, order, most, &mut pairs))?;
                match pairs.len() < most {
                    true => pairs.len() as u64,
                    false => {
                        let mut last = Vec::new();
                        let order = Order::Backward;
                        self.pinned.with(|map| map.scan(&span.0, &span.1, order, 1, &mut last))?;
                        let word = |pair: Option<&(Vec<u8>, Vec<u8>)>| {
                            pair.map_or(0, |(key, _)| first_word(key)) as f64
                        };
                        let first = word(pairs.first());
                        let share = (word(pairs.last()) - first) / (word(last.first()) - first);
                        // Equal first words say nothing.
                        let rows = if share > 0.0 { most as f64 / share } else { f64::MAX };
                        (rows as u64).clamp(most as u64, figures.rows.max(most as u64))
                    }
                }
            }
        };
        let rows = rows + own;
        let bytes = (figures.bytes / figures.rows.max(1)).max(1);
        Ok(Estimate { rows, bytes: rows * bytes })
    }

    fn sample_into(
        &self,
        id: KeyspaceId,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        let rows = self.count(id)?;
        if rows == 0 || n == 0 {
            return Ok(());
        }
        let space = &*self.space(id)?;
        let drawn: Vec<u64> = (0..n).map(|_| random() % rows).collect();
        let mut wanted = drawn.clone();
        wanted.sort_unstable();
        wanted.dedup();
        let mut wanted = wanted.into_iter().peekable();
        let (mut at, mut picked) = (0, BTreeMap::new());
        let mut rows = Batch::new(&space.info.shape);
        let all = KeyRange::all(&space.info.shape.key);
        self.each_row(space, &all, Order::Forward, usize::MAX, |key, found| {
            if wanted.next_if_eq(&at).is_some() {
                picked.insert(at, rows.rows);
                found.append(self.pinned, space, key, Projection::ALL, &mut rows)?;
            }
            at += 1;
            Ok(wanted.peek().is_some())
        })?;
        for row in drawn {
            let Some(&row) = picked.get(&row) else { continue };
            let key = space.prefix.key(rows.keys.get(row).as_ref());
            crate::cell::append_key(
                &mut out.keys,
                key.get(crate::key::PREFIX_BYTES..).unwrap_or_default(),
                projection,
            );
            for (i, column) in out.values.iter_mut().enumerate() {
                if projection.value(i) {
                    column.push_from(&rows.values[i], row);
                }
            }
            out.rows += 1;
        }
        Ok(())
    }

    /// Skips to the next word where a page has but one.
    fn first_words(&self, id: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        let space = &*self.space(id)?;
        if space.info.shape.key == KeyShape::Bytes {
            return Err(invalid(format!("keys of {:?} have no words", space.info.name)));
        }
        let mut rest = Some(space.prefix.all());
        let (mut last, mut rows) = (None, PageRows::default());
        while let Some(span) = rest {
            let (order, most) = (Order::Forward, rows.get());
            let page = page(self.pinned, space, self.writes, self.reads(), &span, order, most)?;
            rows.learn(&page);
            let words = page.rows.iter().map(|(key, _)| first_word(key));
            let mut words: Vec<_> = words.filter(|&word| Some(word) != last).collect();
            words.dedup();
            visit(&words);
            rest = page.rest;
            if words.len() <= 1
                && let (Some((key, _)), Some(span)) = (page.rows.last(), &mut rest)
            {
                let next = next_words(&[first_word(key)]);
                let next = next.map(|next| space.prefix.key(next.as_ref()));
                span.0 = next.unwrap_or_else(|| span.1.clone()).max(successor(key));
            }
            last = words.last().copied().or(last);
        }
        Ok(())
    }
}

/// Implements [`Read`] for a type through its method `view`, which makes a [`View`] and passes it
/// on.
macro_rules! read_through_a_view {
    ($type:ty) => {
        impl Read for $type {
            fn get(
                &self,
                keyspace: KeyspaceId,
                key: KeyRef<'_>,
                projection: Projection,
                out: &mut Batch,
            ) -> Result<bool> {
                self.view(|view| view.get(keyspace, key, projection, out))
            }

            fn get_many(
                &self,
                keyspace: KeyspaceId,
                keys: &Keys,
                projection: Projection,
                present: &mut Vec<bool>,
                out: &mut Batch,
            ) -> Result<()> {
                self.view(|view| view.get_many(keyspace, keys, projection, present, out))
            }

            fn scan_into(
                &self,
                keyspace: KeyspaceId,
                range: &KeyRange,
                projection: Projection,
                limit: usize,
                out: &mut Batch,
            ) -> Result<()> {
                let order = (Order::Forward, limit);
                self.view(|view| view.scan_into(keyspace, range, order, projection, out))
            }

            fn scan_some_into(
                &self,
                keyspace: KeyspaceId,
                range: &KeyRange,
                projection: Projection,
                limit: usize,
                bytes_max: usize,
                out: &mut Batch,
            ) -> Result<bool> {
                let most = (limit, bytes_max);
                self.view(|view| view.scan_some_into(keyspace, range, projection, most, out))
            }

            fn scan_back_into(
                &self,
                keyspace: KeyspaceId,
                range: &KeyRange,
                projection: Projection,
                limit: usize,
                out: &mut Batch,
            ) -> Result<()> {
                let order = (Order::Backward, limit);
                self.view(|view| view.scan_into(keyspace, range, order, projection, out))
            }

            fn prefix_many(
                &self,
                keyspace: KeyspaceId,
                first_words: &[u64],
                projection: Projection,
                offsets: &mut Vec<u64>,
                out: &mut Batch,
            ) -> Result<()> {
                self.view(|view| view.prefix_many(keyspace, first_words, projection, offsets, out))
            }

            fn scan(
                &self,
                keyspace: KeyspaceId,
                range: KeyRange,
                projection: Projection,
            ) -> Result<Box<dyn Scan>> {
                self.view(|view| Ok(Box::new(view.scan(keyspace, &range, projection)?) as _))
            }

            fn count(&self, keyspace: KeyspaceId) -> Result<u64> {
                self.view(|view| view.count(keyspace))
            }

            fn estimate(&self, keyspace: KeyspaceId, range: &KeyRange) -> Result<Estimate> {
                self.view(|view| view.estimate(keyspace, range))
            }

            fn sample_into(
                &self,
                keyspace: KeyspaceId,
                n: usize,
                random: &mut dyn FnMut() -> u64,
                projection: Projection,
                out: &mut Batch,
            ) -> Result<()> {
                self.view(|view| view.sample_into(keyspace, n, random, projection, out))
            }

            fn first_words(
                &self,
                keyspace: KeyspaceId,
                visit: &mut dyn FnMut(&[u64]),
            ) -> Result<()> {
                self.view(|view| view.first_words(keyspace, visit))
            }
        }
    };
}

/// Reads the newest commit at each call.
pub(crate) struct Newest(pub(crate) Arc<Core>);

impl Newest {
    fn view<R>(&self, f: impl FnOnce(&View<'_>) -> Result<R>) -> Result<R> {
        let pinned = Arc::new(self.0.pin()?);
        f(&View { pinned: &pinned, writes: Writes::None, reads: None })
    }
}

read_through_a_view!(Newest);

/// A snapshot, or why none could be taken: reads return that error.
pub(crate) struct OrderedSnapshot(pub(crate) Result<Arc<Pinned>>);

impl OrderedSnapshot {
    fn pinned(&self) -> Result<&Arc<Pinned>> {
        self.0.as_ref().map_err(Error::clone)
    }

    fn view<R>(&self, f: impl FnOnce(&View<'_>) -> Result<R>) -> Result<R> {
        f(&View { pinned: self.pinned()?, writes: Writes::None, reads: None })
    }
}

read_through_a_view!(OrderedSnapshot);

impl Snapshot for OrderedSnapshot {
    fn seq(&self) -> SeqNo {
        SeqNo(self.0.as_ref().map_or(0, |pinned| pinned.meta.seq))
    }

    fn changed_at(&self, keyspace: KeyspaceId) -> Result<SeqNo> {
        self.view(|view| {
            view.space(keyspace)?;
            Ok(SeqNo(view.figures(keyspace)?.changed_at))
        })
    }

    fn changed_since(&self, keyspace: KeyspaceId, since: SeqNo) -> Result<Option<Vec<u64>>> {
        Ok((self.changed_at(keyspace)? == since).then(Vec::new))
    }
}

/// A transaction, or why none could begin.
pub(crate) struct OrderedTransaction {
    snapshot: OrderedSnapshot,
    overlay: Mutex<Overlay>,
    /// Of a serializable transaction.
    reads: Option<Arc<Mutex<Reads>>>,
    opened: Option<Opened>,
}

impl OrderedTransaction {
    pub(crate) fn new(pinned: Result<Arc<Pinned>>, isolation: Isolation) -> Self {
        let opened = pinned.as_ref().ok().map(|one| one.core.open_transaction(one.meta.seq));
        let reads = (isolation == Isolation::Serializable).then(Arc::default);
        Self { snapshot: OrderedSnapshot(pinned), overlay: Mutex::default(), reads, opened }
    }

    fn view<R>(&self, f: impl FnOnce(&View<'_>) -> Result<R>) -> Result<R> {
        let (pinned, writes) = (self.snapshot.pinned()?, Writes::Shared(&self.overlay));
        pinned.core.check_process()?;
        f(&View { pinned, writes, reads: self.reads.as_ref() })
    }
}

read_through_a_view!(OrderedTransaction);

impl Transaction for OrderedTransaction {
    fn seq(&self) -> SeqNo {
        Snapshot::seq(&self.snapshot)
    }

    fn write(&self, batch: &WriteBatch) -> Result<()> {
        let pinned = self.snapshot.pinned()?;
        pinned.core.check_process()?;
        pinned.core.check_writable()?;
        let bytes_max = pinned.core.options.transaction_bytes_max;
        self.overlay.lock().add(&|id| pinned.space(id), batch, bytes_max)
    }

    fn savepoint(&self) -> Savepoint {
        match self.snapshot.pinned().and_then(|pinned| pinned.core.check_process()) {
            Ok(()) => Savepoint(self.overlay.lock().savepoint()),
            Err(_) => Savepoint(0),
        }
    }

    fn roll_back_to(&self, savepoint: Savepoint) {
        if self.snapshot.pinned().is_ok_and(|pinned| pinned.core.check_process().is_ok()) {
            self.overlay.lock().roll_back_to(savepoint.0);
        }
    }

    fn commit(self: Box<Self>) -> Result<SeqNo> {
        let Self { snapshot, overlay, reads, opened } = *self;
        let pinned = snapshot.0?;
        pinned.core.check_process()?;
        pinned.core.check_open()?;
        let overlay = overlay.lock();
        if overlay.undone_by_another {
            return Err(Error::undone_by_another());
        }
        if overlay.is_empty() {
            // A transaction that wrote nothing is serialized at its snapshot.
            return Ok(SeqNo(pinned.meta.seq));
        }
        overlay.check_sums()?;
        let none = Mutex::default();
        let reads = reads.as_deref().unwrap_or(&none).lock();
        let mut writing = Writing::begin(&pinned.core)?;
        writing.check(&pinned, &overlay, &reads)?;
        writing.write(&overlay, Some(pinned.meta.seq))?;
        // Until here it counted among those that tombstones are kept for.
        drop(opened);
        writing.finish()
    }

    fn is_idle(&self) -> bool {
        self.overlay.lock().is_empty()
    }
}
