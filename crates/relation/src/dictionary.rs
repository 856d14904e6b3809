//! The dictionary of a graph with string vertices: maps strings to ids and back.
//!
//! # Why new strings are written in a transaction
//! Two writers may bring the same new string. With plain writes the later id would replace the
//! earlier one, and edges with the earlier id would refer to nothing. A transaction writes both the
//! row `string => id` and the row `id => string`, so the second writer gets a conflict and looks
//! the string up again.
//!
//! # Invariants
//! 1. Every id of an edge has a string, and every string has one id.
//! 2. Strings are never removed and ids never reused, so a result of a lookup stays valid.

use base::{
    Batch, BytesColumn, Column, Key, KeyRange, Keys, KeyspaceId, Kind, Projection, WordColumn,
};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use store::{Error, ErrorKind, Kinds, Read, Result, TableWrites};

/// Marks a string without an id. No dictionary grows this large.
pub const ABSENT: u64 = u64::MAX;

/// The two keyspaces of a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dictionary {
    /// Maps `string => id`.
    pub ids: KeyspaceId,
    /// Maps `id => string`.
    pub names: KeyspaceId,
}

impl Dictionary {
    /// Looks up the id of each string; [`ABSENT`] if it has none.
    ///
    /// # Errors
    /// Errors of the store.
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

    /// Looks up the string of each id.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if an id has no string; errors of the store.
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

    /// The first free id: neither it nor any larger id is taken. At least `from`.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn free_id(&self, read: &dyn Read, from: u64) -> Result<u64> {
        let mut rows = Batch {
            rows: 0,
            keys: Keys::Words(vec![Vec::new()]),
            values: vec![Column::Bytes(BytesColumn::default())],
        };
        // Ids are taken up to the last one and free after it, so a galloping and then a binary
        // search finds the border without reading the strings.
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

    /// Assigns new ids to the strings without one ([`ABSENT`] in `ids`), and returns the dictionary
    /// rows to write. `ids[i]` is the id of `texts[i]`. Strings get their ids in the order of the
    /// indexes in `order`, starting with `next`, which is then the next free id.
    pub fn assign_ids(
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
