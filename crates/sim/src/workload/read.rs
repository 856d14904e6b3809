//! A read as plain data, executed by the engine and by the model.

use crate::workload::model::{Rows, State};
use crate::workload::pieces;
use crate::workload::spaces::{
    self, BLOBS, Cell, FORWARD, Ids, LARGE, REVERSE, Slot, Span, key, shape,
};
use base::{Batch, Column, Key, KeyRange, KeyRef, KeyShape, Keys, KeyspaceId, Projection};

/// One read. Keys are numbers within the slot (see `spaces`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadStep {
    /// Slot of the keyspace.
    pub slot: Slot,
    /// Kind of the read.
    pub what: What,
    /// Key columns to return, see [`Projection`].
    pub keys: u8,
    /// Value columns to return.
    pub values: u8,
}

/// Kind of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// One key.
    Get(u16),
    /// Many keys, in this order.
    GetMany(Vec<u16>),
    /// A range by one call, with a row limit.
    Scan(Span, u16),
    /// A range as a stream, with the approximate number of rows per batch.
    Stream(Span, u16),
    /// All rows with these first words.
    PrefixMany(Vec<u16>),
    /// The number of rows.
    Count,
    /// The distinct first words.
    FirstWords,
    /// Both directions of the graph, which must agree.
    Graph,
}

/// An answer as a list of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Number of rows.
    pub rows: u64,
    /// The rows' columns, each row followed by [`Cell::Null`]; then other results.
    pub cells: Vec<Cell>,
}

impl Answer {
    fn push(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    fn extend(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.cells.extend(cells);
    }

    fn of(cell: Cell) -> Self {
        Self { rows: 0, cells: vec![cell] }
    }
}

impl ReadStep {
    /// Slots of the keyspaces that it reads.
    #[must_use]
    pub fn slots(&self) -> Vec<Slot> {
        match (&self.what, self.slot) {
            (What::Graph, _) => vec![FORWARD, REVERSE],
            (_, BLOBS) => vec![BLOBS, LARGE],
            _ => vec![self.slot],
        }
    }

    fn projection(&self) -> Projection {
        Projection { keys: self.keys, values: u64::from(self.values) }
    }

    /// Executes the read on the engine.
    ///
    /// # Errors
    /// The engine's.
    pub fn ask(&self, read: &dyn store::Read, ids: &Ids) -> store::Result<Answer> {
        if self.slot == BLOBS {
            return self.ask_blobs(read, ids);
        }
        let shape = shape(self.slot);
        let id = ids[&self.slot];
        let projection = self.projection();
        let mut out = Batch::new(&shape);
        match &self.what {
            What::Get(n) => {
                let found = read.get(id, key(self.slot, *n).as_ref(), projection, &mut out)?;
                let mut answer = cells(&out, projection);
                answer.push(Cell::Word(u64::from(found)));
                Ok(answer)
            }
            What::GetMany(numbers) => {
                let mut keys = Keys::new(shape.key);
                numbers.iter().for_each(|n| keys.push(key(self.slot, *n).as_ref()));
                let mut present = Vec::new();
                read.get_many(id, &keys, projection, &mut present, &mut out)?;
                let mut answer = cells(&out, Projection { keys: 0, ..projection });
                answer.extend(present.iter().map(|there| Cell::Word(u64::from(*there))));
                Ok(answer)
            }
            What::Scan(span, limit) => {
                let range = spaces::range(self.slot, *span);
                read.scan_into(id, &range, projection, usize::from(*limit), &mut out)?;
                Ok(cells(&out, projection))
            }
            What::Stream(span, rows) => {
                let range = spaces::range(self.slot, *span);
                let mut scan = read.scan(id, range, projection)?;
                while scan.next_batch(usize::from(*rows), &mut out)? {}
                Ok(cells(&out, projection))
            }
            What::PrefixMany(numbers) => {
                let words: Vec<u64> = numbers.iter().map(|n| first_word(self.slot, *n)).collect();
                let mut offsets = Vec::new();
                read.prefix_many(id, &words, projection, &mut offsets, &mut out)?;
                let mut answer = cells(&out, projection);
                answer.extend(offsets.into_iter().map(Cell::Word));
                Ok(answer)
            }
            What::Count => Ok(Answer::of(Cell::Word(read.count(id)?))),
            What::FirstWords => {
                let mut answer = Answer::default();
                read.first_words(id, &mut |words| {
                    answer.extend(words.iter().map(|w| Cell::Word(*w)));
                })?;
                Ok(answer)
            }
            What::Graph => ask_graph(read, ids),
        }
    }

    /// As [`ReadStep::ask`], for blobs: returns their values, not the rows that hold them.
    fn ask_blobs(&self, read: &dyn store::Read, ids: &Ids) -> store::Result<Answer> {
        let projection = self.projection();
        let mut answer = Answer::default();
        let found = match &self.what {
            What::Get(n) => {
                let range = exactly(key(BLOBS, *n).as_ref());
                let found = pieces::whole(read, ids, &range, usize::MAX)?;
                found.iter().for_each(|(key, row)| push(&mut answer, Some(key), row, projection));
                answer.push(Cell::Word(u64::from(!found.is_empty())));
                return Ok(answer);
            }
            What::Scan(span, limit) => {
                let range = spaces::range(BLOBS, *span);
                pieces::whole(read, ids, &range, usize::from(*limit))?
            }
            _ => return Ok(Answer::of(Cell::Word(read.count(ids[&BLOBS])?))),
        };
        found.iter().for_each(|(key, row)| push(&mut answer, Some(key), row, projection));
        Ok(answer)
    }

    /// Executes the read on a state of the model.
    #[must_use]
    pub fn expect(&self, state: &State, ids: &Ids) -> Answer {
        let rows = state.rows(ids[&self.slot]);
        let projection = self.projection();
        let mut answer = Answer::default();
        match &self.what {
            What::Get(n) => {
                let key = key(self.slot, *n);
                let found = rows.get(&key);
                if let Some(row) = found {
                    push(&mut answer, Some(&key), row, projection);
                }
                answer.push(Cell::Word(u64::from(found.is_some())));
            }
            What::GetMany(numbers) => {
                let nothing = vec![Cell::Null; shape(self.slot).values.len()];
                let found: Vec<_> = numbers.iter().map(|n| rows.get(&key(self.slot, *n))).collect();
                for row in &found {
                    push(&mut answer, None, row.map_or(&nothing, |row| &**row), projection);
                }
                answer.extend(found.iter().map(|row| Cell::Word(u64::from(row.is_some()))));
            }
            What::Scan(span, limit) => {
                let range = spaces::range(self.slot, *span);
                push_range(&mut answer, &rows, &range, projection, usize::from(*limit));
            }
            What::Stream(span, _) => {
                let range = spaces::range(self.slot, *span);
                push_range(&mut answer, &rows, &range, projection, usize::MAX);
            }
            What::PrefixMany(numbers) => {
                let mut offsets = vec![Cell::Word(0)];
                let mut count = 0;
                for n in numbers {
                    let range = KeyRange::prefix_words(&[first_word(self.slot, *n)]);
                    count += push_range(&mut answer, &rows, &range, projection, usize::MAX);
                    offsets.push(Cell::Word(count));
                }
                answer.extend(offsets);
            }
            What::Count => answer.push(Cell::Word(rows.len() as u64)),
            What::FirstWords => {
                for key in rows.keys() {
                    if let KeyRef::Words(words) = key.as_ref() {
                        answer.push(Cell::Word(words[0]));
                    }
                }
                answer.cells.dedup();
            }
            What::Graph => {
                for slot in [FORWARD, REVERSE] {
                    let rows = state.rows(ids[&slot]);
                    let all = spaces::range(slot, Span::All);
                    push_range(&mut answer, &rows, &all, Projection::ALL, usize::MAX);
                }
            }
        }
        answer
    }
}

/// The range of exactly one key.
#[must_use]
pub fn exactly(key: KeyRef<'_>) -> KeyRange {
    match key {
        KeyRef::Words(words) => KeyRange::prefix_words(words),
        KeyRef::Bytes(bytes) => {
            let upper = [bytes, &[0]].concat();
            KeyRange { lower: Key::bytes(bytes), upper: Some(Key::Bytes(upper)) }
        }
    }
}

fn first_word(slot: Slot, n: u16) -> u64 {
    match key(slot, n).as_ref() {
        KeyRef::Words(words) => words[0],
        KeyRef::Bytes(_) => 0,
    }
}

/// Whether the keys of a slot are words.
#[must_use]
pub fn has_words(slot: Slot) -> bool {
    matches!(shape(slot).key, KeyShape::Words(_))
}

fn push_range(
    answer: &mut Answer,
    rows: &Rows,
    range: &KeyRange,
    projection: Projection,
    limit: usize,
) -> u64 {
    let mut count = 0;
    for (key, row) in rows.iter().filter(|(key, _)| range.contains(key.as_ref())).take(limit) {
        push(answer, Some(key), row, projection);
        count += 1;
    }
    count
}

fn push(answer: &mut Answer, key: Option<&Key>, row: &[Cell], projection: Projection) {
    match key.map(Key::as_ref) {
        Some(KeyRef::Words(words)) => {
            let wanted = words.iter().enumerate().filter(|(i, _)| projection.key(*i));
            answer.extend(wanted.map(|(_, word)| Cell::Word(*word)));
        }
        Some(KeyRef::Bytes(bytes)) if projection.key(0) => {
            answer.push(Cell::Bytes(bytes.to_vec()));
        }
        _ => {}
    }
    for (i, cell) in row.iter().enumerate() {
        if projection.value(i) {
            answer.push(match cell {
                Cell::Sum(sum) => Cell::Word(spaces::past(*sum)),
                cell => cell.clone(),
            });
        }
    }
    answer.rows += 1;
    answer.push(Cell::Null); // end of the row, also where no column is wanted
}

/// All edges, by source and by target.
fn ask_graph(read: &dyn store::Read, ids: &Ids) -> store::Result<Answer> {
    let mut answer = Answer::default();
    for slot in [FORWARD, REVERSE] {
        let mut out = Batch::new(&shape(slot));
        let all = spaces::range(slot, Span::All);
        read.scan_into(ids[&slot], &all, Projection::ALL, usize::MAX, &mut out)?;
        let part = cells(&out, Projection::ALL);
        answer.rows += part.rows;
        answer.extend(part.cells);
    }
    Ok(answer)
}

/// The rows of a batch in the same form.
fn cells(batch: &Batch, projection: Projection) -> Answer {
    let mut answer = Answer::default();
    for row in 0..batch.rows {
        match &batch.keys {
            Keys::Words(columns) => {
                for (i, column) in columns.iter().enumerate() {
                    if projection.key(i) {
                        answer.push(Cell::Word(column[row]));
                    }
                }
            }
            Keys::Bytes(column) if projection.key(0) => {
                answer.push(Cell::Bytes(column.get(row).to_vec()));
            }
            Keys::Bytes(_) => {}
        }
        for (i, column) in batch.values.iter().enumerate() {
            if !projection.value(i) {
                continue;
            }
            answer.push(match column {
                Column::Words(column) => column.get(row).map_or(Cell::Null, Cell::Word),
                Column::Bytes(column) if column.validity.is_valid(row) => {
                    Cell::Bytes(column.get(row).to_vec())
                }
                Column::Bytes(_) => Cell::Null,
            });
        }
        answer.push(Cell::Null);
        answer.rows += 1;
    }
    answer
}

/// Reads all rows of a keyspace from the engine, for comparing with [`Rows`].
///
/// # Errors
/// The engine's.
pub fn everything(read: &dyn store::Read, slot: Slot, id: KeyspaceId) -> store::Result<Answer> {
    let step = ReadStep { slot, what: What::Scan(Span::All, u16::MAX), keys: !0, values: !0 };
    step.ask(read, &Ids::from([(slot, id)]))
}

/// The expected answer of [`everything`].
#[must_use]
pub fn all_rows(state: &State, slot: Slot, id: KeyspaceId) -> Answer {
    let step = ReadStep { slot, what: What::Scan(Span::All, u16::MAX), keys: !0, values: !0 };
    step.expect(state, &Ids::from([(slot, id)]))
}
