//! The dictionary of a graph whose vertices are text: from text to number and back.
//!
//! # Why new names are written in a transaction
//! Two writers may meet one new text at once. A plain write would let the later number replace the
//! earlier, whose edges would then lead to nothing. In a transaction the row `text => number` and
//! the row `number => text` are both written, so whichever comes second conflicts and looks again.
//!
//! # Invariants
//! 1. Every number of an edge has a name, every name one number.
//! 2. Names are never taken back, and numbers never used again: what was found stays true.

use base::{
    Batch, BytesColumn, Column, Key, KeyRange, Keys, KeyspaceId, Kind, Projection, WordColumn,
};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use store::{Error, ErrorKind, Kinds, Read, Result, TableWrites};

/// Stands for a text that has no number; no dictionary grows so far.
pub const ABSENT: u64 = u64::MAX;

/// Where the two halves of a dictionary are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dictionary {
    /// `text => number`.
    pub ids: KeyspaceId,
    /// `number => text`.
    pub names: KeyspaceId,
}

impl Dictionary {
    /// The number of each text, or [`ABSENT`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn look_up(&self, read: &dyn Read, texts: &[&str]) -> Result<Vec<u64>> {
        let mut keys = BytesColumn::default();
        for text in texts {
            keys.push(Some(text.as_bytes()));
        }
        let mut rows = Batch {
            rows: 0,
            keys: Keys::Bytes(BytesColumn::default()),
            values: vec![Column::Words(WordColumn::default())],
        };
        let mut present = Vec::new();
        let projection = Projection { keys: 0, values: 1 };
        read.get_many(self.ids, &Keys::Bytes(keys), projection, &mut present, &mut rows)?;
        let ids = rows.value_words(0).iter().zip(&present);
        Ok(ids.map(|(&id, &present)| if present { id } else { ABSENT }).collect())
    }

    /// The text of each number.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] where a number has none; those of the store.
    pub fn texts(&self, read: &dyn Read, numbers: Vec<u64>) -> Result<BytesColumn> {
        let mut rows = Batch {
            rows: 0,
            keys: Keys::Words(vec![Vec::new()]),
            values: vec![Column::Bytes(BytesColumn::default())],
        };
        let mut present = Vec::new();
        let keys = Keys::Words(vec![numbers]);
        let projection = Projection { keys: 0, values: 1 };
        read.get_many(self.names, &keys, projection, &mut present, &mut rows)?;
        match rows.values.pop() {
            Some(Column::Bytes(texts)) if present.iter().all(|present| *present) => Ok(texts),
            _ => Err(Error::new(ErrorKind::Corruption, "a vertex has no name")),
        }
    }

    /// The least number from `from` on above which none is taken.
    ///
    /// # Errors
    /// Those of the store.
    pub fn free_id(&self, read: &dyn Read, from: u64) -> Result<u64> {
        let mut rows = Batch {
            rows: 0,
            keys: Keys::Words(vec![Vec::new()]),
            values: vec![Column::Bytes(BytesColumn::default())],
        };
        // Whether a number from `id` on is taken is true up to the last and false after it, so a
        // search by halves finds the border without reading the names.
        let mut taken_from = |id: u64| -> Result<bool> {
            rows.clear();
            let range = KeyRange { lower: Key::words(&[id]), upper: None };
            read.scan_into(self.names, &range, Projection::COUNT, 1, &mut rows)?;
            Ok(rows.rows > 0)
        };
        let (mut taken, mut free) = (from, from);
        let mut step = 1_u64;
        while taken_from(free)? {
            taken = free;
            free = free.saturating_add(step);
            step = step.saturating_mul(2);
        }
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2;
            if taken_from(middle)? { taken = middle } else { free = middle }
        }
        Ok(free)
    }

    /// Gives every text that has none, an [`ABSENT`] in `ids`, a number from `next` on, and makes
    /// the rows of the dictionary. `order` says which of the texts come first.
    pub fn name_new(
        &self,
        texts: &[&str],
        ids: &mut [u64],
        order: impl Iterator<Item = usize>,
        next: &mut u64,
    ) -> Vec<TableWrites> {
        let mut new: HashMap<&str, u64, RandomState> = HashMap::default();
        let (mut named, mut numbers) = (BytesColumn::default(), Vec::new());
        for i in order.filter(|&i| ids[i] == ABSENT).collect::<Vec<_>>() {
            ids[i] = *new.entry(texts[i]).or_insert_with(|| {
                let id = *next;
                *next += 1;
                named.push(Some(texts[i].as_bytes()));
                numbers.push(id);
                id
            });
        }
        if numbers.is_empty() {
            return Vec::new();
        }
        let table = |keyspace, keys, value| TableWrites {
            keyspace,
            kinds: Kinds::Uniform(Kind::Put),
            rows: Batch { rows: numbers.len(), keys, values: vec![value] },
            delete_ranges: Vec::new(),
        };
        let column = WordColumn { words: numbers.clone(), ..WordColumn::default() };
        vec![
            table(self.ids, Keys::Bytes(named.clone()), Column::Words(column)),
            table(self.names, Keys::Words(vec![numbers.clone()]), Column::Bytes(named)),
        ]
    }
}
