//! Dictionary ids: strings that are stored as numbers, which are the vertices of a graph.

use base::{Batch, BytesColumn, Column, Keys, Kind, WordColumn};
use exec::error::Result;
use hashbrown::HashMap;
use model::Value;
use relation::{ABSENT, Dictionary};
use store::{Kinds, Read, TableWrites, Transaction, WriteBatch};

/// The numbers of some texts.
pub(crate) struct DictionaryIds {
    dictionary: Dictionary,
    /// [`ABSENT`] for a text that has none.
    by_text: HashMap<String, u64>,
}

impl DictionaryIds {
    /// Those of the texts in some rows' keys.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn of<'v>(
        dictionary: Dictionary,
        read: &dyn Read,
        keys: impl Iterator<Item = &'v Value>,
    ) -> Result<Self> {
        let mut by_text = HashMap::new();
        let mut texts = Vec::new();
        for text in keys.filter_map(as_text) {
            if !by_text.contains_key(text) {
                by_text.insert(text.to_owned(), ABSENT);
                texts.push(text);
            }
        }
        let ids = dictionary.look_up(read, &texts)?;
        for (text, number) in texts.into_iter().zip(ids) {
            by_text.insert(text.to_owned(), number);
        }
        Ok(Self { dictionary, by_text })
    }

    /// A key with numbers in the place of texts; `None` where one of them has no number.
    pub(crate) fn key(&self, key: &[Value]) -> Option<Vec<Value>> {
        let number = |value: &Value| {
            let number = *self.by_text.get(as_text(value)?)?;
            (number != ABSENT).then(|| i64::try_from(number).ok().map(Value::Int)).flatten()
        };
        key.iter().map(number).collect()
    }

    /// Gives the texts of these keys that have no number the next ones, in their order.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn assign_ids<'v>(
        &mut self,
        transaction: &dyn Transaction,
        keys: impl Iterator<Item = &'v Value>,
    ) -> Result<()> {
        let is_new = |text: &&str| self.by_text.get(*text) == Some(&ABSENT);
        let texts: Vec<&str> = keys.filter_map(as_text).filter(is_new).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let mut ids = vec![ABSENT; texts.len()];
        let mut next = self.dictionary.free_id(transaction, 0)?;
        let tables = self.dictionary.assign_ids(&texts, &mut ids, 0..texts.len(), &mut next);
        transaction.write(&WriteBatch { tables })?;
        for (text, number) in texts.into_iter().zip(ids) {
            self.by_text.insert(text.to_owned(), number);
        }
        Ok(())
    }

    /// Makes a commit that names one of these keys' texts meanwhile a conflict: that they have no
    /// number is what the rows stand on.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn hold_absent<'v>(
        &self,
        transaction: &dyn Transaction,
        keys: impl Iterator<Item = &'v Value>,
    ) -> Result<()> {
        let mut names = BytesColumn::default();
        let is_absent = |text: &&str| self.by_text.get(*text) == Some(&ABSENT);
        keys.filter_map(as_text)
            .filter(is_absent)
            .for_each(|text| names.push(Some(text.as_bytes())));
        if names.is_empty() {
            return Ok(());
        }
        let count = names.len();
        let fillers = WordColumn { words: vec![0; count], ..WordColumn::default() };
        let values = vec![Column::Words(fillers)];
        let rows = Batch { rows: count, keys: Keys::Bytes(names), values };
        let kinds = Kinds::Uniform(Kind::Delete);
        let keyspace = self.dictionary.ids;
        let table = TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() };
        transaction.write(&WriteBatch { tables: vec![table] })?;
        Ok(())
    }
}

fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::Str(text) => Some(text),
        _ => None,
    }
}

/// The texts that numbers stand for.
///
/// # Errors
/// As [`Dictionary::texts`].
pub(crate) fn spelled(dictionary: Dictionary, read: &dyn Read, ids: &[u64]) -> Result<BytesColumn> {
    // Each once and in order: a vertex has many edges.
    let mut distinct = ids.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let names = dictionary.texts(read, distinct.clone())?;
    let mut texts = BytesColumn::default();
    for number in ids {
        let place = distinct.partition_point(|one| one < number);
        texts.push(Some(names.get(place)));
    }
    Ok(texts)
}
