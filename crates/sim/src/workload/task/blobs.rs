//! Steps on blobs through their view: short and long, as a whole and in pieces, read in every way.
//!
//! # Why the model has no pieces
//! The view decides what it writes besides a row, and in how many commits. The model has only the
//! values, as the step gives them. [`crate::workload::pieces`] reads the stored rows without the
//! view, and this file with it.

use super::told::{Flags, Wanted};
use super::{Outcome, Task, build};
use crate::workload::model::{Rows, State, Writes};
use crate::workload::plan::{BlobsStep, RowStep, TableStep};
use crate::workload::spaces::{BLOBS, Cell, Ids, KEYS, LARGE, Span, blob, key, text};
use crate::workload::teller::Means;
use crate::workload::world::Opened;
use base::{BytesColumn, Key, Kind};
use std::rc::Rc;
use std::sync::Arc;
use store::{ErrorKind, Result, Store};
use views::blobs::{BlobRows, Blobs};
use views::keys::{KeyColumn, KeyList, KeyOf};

/// The value of a key.
type Value = Option<Vec<u8>>;

/// Puts or deletes by a single call, where the view has one.
fn call(blobs: &Blobs, rows: &[RowStep]) -> Result<Flags> {
    let keys: Vec<String> = rows.iter().map(|row| text(row.key)).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut flags = Vec::new();
    match rows {
        [row] if row.kind == Kind::Put => blobs.put(keys[0], &blob(row.seed))?,
        [row] if row.kind == Kind::Delete => flags.push(blobs.delete(keys[0])?),
        // A merge in the plan means `discard`: a delete that does not read whether the blob exists.
        [_] => blobs.discard(keys[0])?,
        _ if rows[0].kind == Kind::Put => {
            let mut values = BytesColumn::default();
            rows.iter().for_each(|row| values.push(Some(&blob(row.seed))));
            blobs.put_many(KeyList::Str(&keys), &values)?;
        }
        _ if rows[0].kind == Kind::Delete => {
            blobs.delete_many(KeyList::Str(&keys), &mut flags)?;
        }
        _ => blobs.discard_many(KeyList::Str(&keys))?,
    }
    Ok(flags)
}

/// Writes a value in pieces, and finishes or drops it.
fn stream(blobs: &Blobs, row: &RowStep, piece_bytes: u8, finish: bool) -> Result<Flags> {
    let key = text(row.key);
    let mut writer = blobs.writer(&*key)?;
    for piece in blob(row.seed).chunks(usize::from(piece_bytes.max(1))) {
        writer.append(piece)?;
    }
    if finish {
        writer.finish()?;
    }
    Ok(Vec::new())
}

/// Writes of a transaction before a call, the rows of the call, and its result.
type Told = (Writes, Vec<RowStep>, Flags);

/// A read and its keys.
type ReadBack = (All, Vec<u16>);

/// A step within a transaction: returns its writes, or its read with the keys. `told` gets the
/// calls that report which rows exist.
fn tx_step(
    blobs: &Blobs,
    step: &BlobsStep,
    ids: &Ids,
    told: &mut Vec<Told>,
) -> Result<(Writes, Option<ReadBack>)> {
    match step {
        BlobsStep::Write(rows) => {
            // By calls that report what they delete: a missing row is not deleted, and another
            // commit may put it before this one.
            let asks = |row: &RowStep| RowStep {
                kind: if row.kind == Kind::Put { Kind::Put } else { Kind::Delete },
                ..*row
            };
            let rows: Vec<RowStep> = rows.iter().map(asks).collect();
            let mut done = Vec::new();
            for rows in rows.chunk_by(|a, b| a.kind == b.kind) {
                let flags = call(blobs, rows)?;
                told.push((writes_of(&done, &[], ids), rows.to_vec(), flags.clone()));
                let is_done = |i: usize| flags.get(i).is_none_or(|there| *there);
                let rows = rows.iter().enumerate().filter(|(i, _)| is_done(*i));
                done.extend(rows.map(|(_, row)| *row));
            }
            Ok((writes_of(&done, &[], ids), None))
        }
        BlobsStep::Stream { row, piece_bytes, finish } => {
            stream(blobs, row, *piece_bytes, *finish)?;
            let rows = if *finish { std::slice::from_ref(row) } else { &[] };
            Ok((writes_of(rows, &[], ids), None))
        }
        BlobsStep::Clear => {
            blobs.clear()?;
            Ok((writes_of(&[], &[Span::All], ids), None))
        }
        BlobsStep::Collect => Ok((Vec::new(), None)),
        BlobsStep::Read(keys) => Ok((Vec::new(), Some((All::of(blobs, keys)?, keys.clone())))),
    }
}

/// The rows' writes to the model.
fn writes_of(rows: &[RowStep], spans: &[Span], ids: &Ids) -> Writes {
    let kind = |kind| if kind == Kind::Merge { Kind::Delete } else { kind };
    let rows = rows.iter().map(|row| RowStep { kind: kind(row.kind), ..*row }).collect();
    build(&[TableStep { slot: BLOBS, spans: spans.to_vec(), rows }], ids)
}

fn value(rows: &Rows, n: u16) -> Option<&[u8]> {
    match rows.get(&key(BLOBS, n)).map(|row| &row[..]) {
        Some([Cell::Bytes(value)]) => Some(value),
        _ => None,
    }
}

impl Task {
    pub(super) fn blobs(&self, opened: &Opened, step: &BlobsStep) -> Outcome {
        let Some(ids) = self.world.ids(&[BLOBS, LARGE]) else { return Ok(()) };
        match step {
            BlobsStep::Write(rows) => rows.chunk_by(|a, b| a.kind == b.kind).try_for_each(|rows| {
                let writes = writes_of(rows, &[], &ids);
                self.blobs_write(opened, &ids, writes, |blobs| call(blobs, rows))
            }),
            BlobsStep::Stream { row, piece_bytes, finish } => {
                let rows = if *finish { std::slice::from_ref(row) } else { &[] };
                let writes = writes_of(rows, &[], &ids);
                self.blobs_write(opened, &ids, writes, |blobs| {
                    stream(blobs, row, *piece_bytes, *finish)
                })
            }
            BlobsStep::Clear => {
                let writes = writes_of(&[], &[Span::All], &ids);
                self.blobs_write(opened, &ids, writes, |blobs| blobs.clear().map(|()| Vec::new()))
            }
            BlobsStep::Collect => self.collect(opened),
            BlobsStep::Read(keys) => {
                self.blobs_newest(opened, &ids, keys)?;
                self.blobs_moment(opened, &ids, keys)
            }
        }
    }

    /// A call of the view. Of its commits, the one that writes the row means the step's writes.
    fn blobs_write(
        &self,
        opened: &Opened,
        ids: &Ids,
        writes: Writes,
        call: impl FnOnce(&Blobs) -> Result<Flags>,
    ) -> Outcome {
        let world = &self.world;
        let wanted = Wanted::of(&writes);
        let (blobs, recorder) = match world.blobs(&opened.kv, Means::Step(ids[&BLOBS], writes)) {
            Ok(found) => found,
            Err(error) => {
                return world.tolerate("find blobs", &error, ids, opened.generation);
            }
        };
        let done = call(&blobs);
        let recorded = recorder.recorded().lock().clone();
        self.judge_told(opened, ids, ids[&BLOBS], wanted, done, &recorded)
    }

    /// Removes orphaned pieces, as a database does before it compacts.
    pub(super) fn collect(&self, opened: &Opened) -> Outcome {
        let world = &self.world;
        let Some(ids) = world.ids(&[BLOBS, LARGE]) else { return Ok(()) };
        let collected = world
            .blobs(&opened.kv, Means::Step(ids[&BLOBS], Vec::new()))
            .and_then(|(blobs, _)| blobs.collect_garbage());
        match collected {
            Ok(count) => {
                let litter = world.model.borrow().litter.get() as u64;
                if count > litter {
                    return Err(format!(
                        "pieces of {count} blobs belonged to no row, of at most {litter} somebody can have left them"
                    ));
                }
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
            Err(error) => world.tolerate("collect garbage", &error, &ids, opened.generation),
        }
    }

    /// Reads the latest state; each read must match some state since it began.
    fn blobs_newest(&self, opened: &Opened, ids: &Ids, keys: &[u16]) -> Outcome {
        let world = &self.world;
        let low = world.model.borrow().acknowledged;
        let ask = || -> Result<(Value, Vec<Value>)> {
            let (blobs, _) = world.blobs(&opened.kv, Means::Step(ids[&BLOBS], Vec::new()))?;
            let mut one = Vec::new();
            let there = blobs.get(&*text(keys[0]), &mut one)?;
            Ok((there.then_some(one), many(&blobs, keys)?))
        };
        let (one, many) = match ask() {
            Ok(found) => found,
            Err(error) => return world.tolerate("read blobs", &error, ids, opened.generation),
        };
        let high = opened.kv.snapshot().seq().0;
        if world.is_closed(opened.generation) {
            return Ok(());
        }
        let (id, keys, tally) = (ids[&BLOBS], keys.to_vec(), Rc::clone(&world.tally));
        world.model.borrow_mut().when_known(high, move |model| {
            tally.borrow_mut().blobs += 1 + keys.len() as u64;
            let states: Vec<_> =
                (low..=high.max(low)).filter_map(|seq| Some(model.state(seq)?.rows(id))).collect();
            let is_one = |rows: &Rc<Rows>| value(rows, keys[0]) == one.as_deref();
            let is_all = |rows: &Rc<Rows>| {
                keys.iter().zip(&many).all(|(n, found)| value(rows, *n) == found.as_deref())
            };
            if states.is_empty() || states.iter().any(is_one) && states.iter().any(is_all) {
                return Ok(());
            }
            Err(format!("blobs {keys:?} were so at no moment from {low} to {high}"))
        })
    }

    /// Reads one snapshot in every way.
    fn blobs_moment(&self, opened: &Opened, ids: &Ids, keys: &[u16]) -> Outcome {
        let world = &self.world;
        let acknowledged = world.model.borrow().acknowledged;
        let snapshot = opened.kv.snapshot();
        let seq = snapshot.seq().0;
        self.seen(opened, seq, acknowledged, "a snapshot")?;
        let ask = || {
            let (blobs, _) = world.blobs(&opened.kv, Means::Step(ids[&BLOBS], Vec::new()))?;
            All::of(&blobs.at(&snapshot), keys)
        };
        let all = match ask() {
            Ok(all) => all,
            Err(error) => return world.tolerate("read blobs", &error, ids, opened.generation),
        };
        let (id, keys, tally) = (ids[&BLOBS], keys.to_vec(), Rc::clone(&world.tally));
        world.model.borrow_mut().when_known(seq, move |model| {
            let Some(state) = model.state(seq) else { return Ok(()) };
            tally.borrow_mut().blobs += all.rows.len() as u64 + keys.len() as u64;
            all.judge(&state.rows(id), &keys).map_err(|why| format!("at moment {seq}: {why}"))
        })
    }

    /// The same in the task's transaction.
    pub(super) fn tx_blobs(&mut self, opened: &Opened, step: &BlobsStep) -> Outcome {
        let Some(tx) = &self.tx else { return Ok(()) };
        let Some(ids) = self.world.ids(&[BLOBS, LARGE]) else { return Ok(()) };
        if tx.generation != opened.generation {
            return Ok(());
        }
        let (shared, since, generation) = (Arc::clone(&tx.inner), tx.since, tx.generation);
        let inside = self
            .world
            .blobs(&opened.kv, Means::Step(ids[&BLOBS], Vec::new()))
            .map(|(blobs, _)| blobs.in_transaction(&shared));
        let mut told = Vec::new();
        let done = inside.and_then(|blobs| tx_step(&blobs, step, &ids, &mut told));
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let (writes, read) = match done {
            Ok(done) => done,
            Err(error) => {
                self.tx = None;
                return self.world.tolerate("blobs in a transaction", &error, &ids, generation);
            }
        };
        let id = ids[&BLOBS];
        let before = tx.own.borrow().clone();
        tx.own.borrow_mut().extend(writes);
        tx.touched.extend(&ids);
        let own = tx.own.borrow().clone();
        self.world.model.borrow_mut().when_known(since, move |model| {
            let Some(state) = model.state(since) else { return Ok(()) };
            for (earlier, rows, flags) in told.iter().filter(|(.., flags)| !flags.is_empty()) {
                let mut state: State = state.clone();
                state.apply(&before);
                state.apply(earlier);
                let mut there = (*state.rows(id)).clone();
                let deleted = |row: &RowStep| there.remove(&key(BLOBS, row.key)).is_some();
                let wanted: Flags = rows.iter().map(deleted).collect();
                if wanted != *flags {
                    return Err(format!(
                        "deletes in a transaction told {flags:?}, there was {wanted:?}"
                    ));
                }
            }
            Ok(())
        })?;
        let Some((all, keys)) = read else { return Ok(()) };
        self.world.model.borrow_mut().when_known(since, move |model| {
            let Some(state) = model.state(since) else { return Ok(()) };
            let mut state: State = state.clone();
            state.apply(&own);
            all.judge(&state.rows(id), &keys).map_err(|why| format!("in a transaction: {why}"))
        })
    }
}

fn many(blobs: &Blobs, keys: &[u16]) -> Result<Vec<Value>> {
    let keys: Vec<String> = keys.iter().map(|n| text(*n)).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let (mut present, mut values) = (Vec::new(), BytesColumn::default());
    blobs.get_many(KeyList::Str(&keys), &mut present, &mut values)?;
    let value = |(i, there): (usize, &bool)| there.then(|| values.get(i).to_vec());
    Ok(present.iter().enumerate().map(value).collect())
}

/// Keys and values.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn pairs(rows: BlobRows) -> Result<Pairs> {
    let (keys, values) = rows.into_columns()?;
    let KeyColumn::Str(keys) = keys else {
        return Err(relation::invalid("keys of the blobs are text"));
    };
    Ok((0..keys.len()).map(|i| (keys.get(i).to_vec(), values.get(i).to_vec())).collect())
}

/// All answers of the view at one snapshot.
struct All {
    many: Vec<Value>,
    /// Value of the first key.
    read: Value,
    rows: Pairs,
    back: Pairs,
    streamed: Pairs,
    len: u64,
}

impl All {
    fn of(blobs: &Blobs, keys: &[u16]) -> Result<Self> {
        let (first, mut rows) = (text(keys[0]), BlobRows::default());
        let read = match blobs.reader(&*first)? {
            None => None,
            Some(mut reader) => {
                let (mut whole, mut piece) = (Vec::new(), Vec::new());
                loop {
                    reader.take_bytes(usize::from(keys[0]) + 7, &mut piece)?;
                    if piece.is_empty() {
                        break Some(whole);
                    }
                    whole.extend_from_slice(&piece);
                }
            }
        };
        let many = many(blobs, keys)?;
        let from: Option<KeyOf<'_>> = Some(KeyOf::Str(&first));
        blobs.scan(None, usize::MAX, &mut rows)?;
        let all = pairs(std::mem::take(&mut rows))?;
        blobs.scan_back(from, usize::MAX, &mut rows)?;
        let back = pairs(std::mem::take(&mut rows))?;
        let mut scan = blobs.range(from, None)?;
        let mut streamed = Vec::new();
        while scan.next_rows(3, &mut rows)? {
            streamed.extend(pairs(std::mem::take(&mut rows))?);
        }
        Ok(Self { many, read, rows: all, back, streamed, len: blobs.len()? })
    }

    fn judge(&self, wanted: &Rows, keys: &[u16]) -> Outcome {
        let first = key(BLOBS, keys[0]);
        let is_one = self.read.as_deref() == value(wanted, keys[0]);
        let is_many =
            keys.iter().zip(&self.many).all(|(n, found)| found.as_deref() == value(wanted, *n));
        let pairs = |is_in: &dyn Fn(&Key) -> bool| -> Pairs {
            let numbers = (0..KEYS).map(|n| (key(BLOBS, n), n));
            let mut keys: Vec<(Key, u16)> = numbers.filter(|(key, _)| is_in(key)).collect();
            keys.sort();
            let pair =
                |(_, n): &(Key, u16)| Some((text(*n).into_bytes(), value(wanted, *n)?.to_vec()));
            keys.iter().filter_map(pair).collect()
        };
        let mut back = pairs(&|key| *key <= first);
        back.reverse();
        let all = [
            ("the reader", is_one),
            ("many at once", is_many),
            ("the scan", self.rows == pairs(&|_| true)),
            ("the scan backward", self.back == back),
            ("the stream", self.streamed == pairs(&|key| *key >= first)),
            ("the count", self.len == wanted.len() as u64),
        ];
        match all.iter().find(|(_, is_right)| !is_right) {
            None => Ok(()),
            Some((what, _)) => Err(format!("{what} of blobs {keys:?} is wrong")),
        }
    }
}
