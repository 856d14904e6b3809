//! Dictionary ids: the numbers stored in place of strings, for graphs with string vertices.

use base::{Batch, BytesColumn, Column, Keys, Kind, WordColumn};
use exec::error::Result;
use hashbrown::HashMap;
use model::Value;
use relation::{ABSENT, Dictionary};
use store::{Kinds, Read, TableWrites, Transaction, WriteBatch};

/// Dictionary ids of some strings.
pub(crate) struct DictionaryIds {
    dictionary: Dictionary,
    /// [`ABSENT`] for a string without an id.
    by_text: HashMap<String, u64>,
}

impl DictionaryIds {
    /// Looks up the ids of the strings in keys.
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

    /// The id of a string that had one when the ids were looked up.
    pub(crate) fn id(&self, text: Option<&Value>) -> Option<u64> {
        let id = *self.by_text.get(as_text(text?)?)?;
        (id != ABSENT).then_some(id)
    }

    /// A key with ids in place of strings; `None` where a string has no id. Its other columns, such
    /// as the key of an edge, stay.
    pub(crate) fn key(&self, key: &[Value]) -> Option<Vec<Value>> {
        let number = |value: &Value| {
            let Some(text) = as_text(value) else { return Some(value.clone()) };
            let number = *self.by_text.get(text)?;
            (number != ABSENT).then(|| i64::try_from(number).ok().map(Value::Int)).flatten()
        };
        key.iter().map(number).collect()
    }

    /// Assigns the next ids to strings in keys that have none, in their order.
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

    /// Makes this transaction conflict with a commit that assigns ids to these absent strings
    /// meanwhile, because its rows depend on their absence.
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

/// The strings of ids.
///
/// # Errors
/// As [`Dictionary::texts`].
pub(crate) fn spelled(dictionary: Dictionary, read: &dyn Read, ids: &[u64]) -> Result<BytesColumn> {
    // Distinct and sorted: a vertex has many edges.
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
