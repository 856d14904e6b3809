//! Counters and combined values behind one interface, for the steps of `task/counters`.

use crate::workload::plan::RowStep;
use crate::workload::spaces::{
    GROWN, KEYS, NAMES, Slot, TX_KEYS, int_of, row, signed, text, word_of,
};
use base::{BytesColumn, Kind, int_to_word, word_to_int};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{ErrorKind, Result, Snapshot};
use views::SharedTransaction;
use views::combined::{Combined, Combiner};
use views::counters::{Counters, Number, NumberColumn, NumberList};
use views::keys::{KeyColumn, KeyList, KeyOf};
use views::write_buffer::Registry;

/// One of the two views with numbers by key.
pub enum Numbers {
    /// Words that are merged by the engine.
    Counters(Counters),
    /// Strings of eight bytes that a function of this file combines.
    Combined(Combined),
}

/// Keys in the form that the views take. The slot of a keyspace decides the type.
pub enum Named {
    /// Unsigned.
    Words(Vec<u64>),
    /// Signed.
    Signed(Vec<i64>),
    /// Strings.
    Texts(Vec<String>),
}

impl Named {
    /// The keys with these numbers.
    pub fn of(slot: Slot, numbers: impl Iterator<Item = u16>) -> Self {
        match slot {
            9 => Self::Words(numbers.map(u64::from).collect()),
            11 => Self::Signed(numbers.map(signed).collect()),
            _ => Self::Texts(numbers.map(text).collect()),
        }
    }

    fn list<R>(&self, f: impl FnOnce(KeyList<'_>) -> R) -> R {
        match self {
            Self::Words(keys) => f(KeyList::U64(keys)),
            Self::Signed(keys) => f(KeyList::I64(keys)),
            Self::Texts(keys) => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                f(KeyList::Str(&keys))
            }
        }
    }

    fn first(&self) -> KeyOf<'_> {
        match self {
            Self::Words(keys) => KeyOf::U64(keys[0]),
            Self::Signed(keys) => KeyOf::I64(keys[0]),
            Self::Texts(keys) => KeyOf::Str(&keys[0]),
        }
    }
}

/// The word of a step's value.
#[must_use]
pub fn word(slot: Slot, step: &RowStep) -> u64 {
    row(slot, step.seed).first().and_then(word_of).unwrap_or_default()
}

/// The combining function: adds numbers, so that an increment that is counted twice or lost shows.
fn add_up(_: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match (int_of(old), int_of(new)) {
        (Some(old), Some(new)) => out.extend_from_slice(&(old + new).to_le_bytes()),
        _ => return Err(relation::invalid("a combined value is not a number")),
    }
    Ok(())
}

impl Numbers {
    /// The view of a slot that must exist.
    ///
    /// # Errors
    /// The engine's.
    pub fn find(registry: &Registry, slot: Slot) -> Result<Self> {
        let name = NAMES[usize::from(slot)];
        let found = if slot == GROWN {
            let combiner: Arc<dyn Combiner> = Arc::new(add_up);
            registry.find_combined(name, &combiner)?.map(Self::Combined)
        } else {
            registry.find_counters(name)?.map(Self::Counters)
        };
        found.ok_or_else(|| relation::invalid("the counters are not there"))
    }

    /// The view at a snapshot.
    #[must_use]
    pub fn at(&self, snapshot: &Arc<dyn Snapshot>) -> Self {
        match self {
            Self::Counters(counters) => Self::Counters(counters.at(snapshot)),
            Self::Combined(combined) => Self::Combined(combined.at(snapshot)),
        }
    }

    /// The view in a transaction.
    #[must_use]
    pub fn in_transaction(&self, transaction: &Arc<SharedTransaction>) -> Self {
        match self {
            Self::Counters(counters) => Self::Counters(counters.in_transaction(transaction)),
            Self::Combined(combined) => Self::Combined(combined.in_transaction(transaction)),
        }
    }

    /// Removes all counters.
    ///
    /// # Errors
    /// The engine's.
    pub fn reset(&self) -> Result<()> {
        match self {
            Self::Counters(counters) => counters.reset(),
            Self::Combined(_) => Err(relation::invalid("combined values are not reset")),
        }
    }

    /// Writes rows of one kind by a single call. Returns whether a key existed, where the view says
    /// so.
    ///
    /// # Errors
    /// The engine's.
    pub fn write(&self, slot: Slot, rows: &[RowStep]) -> Result<Option<bool>> {
        let keys = Named::of(slot, rows.iter().map(|step| step.key));
        let numbers: Vec<i64> = rows.iter().map(|step| word_to_int(word(slot, step))).collect();
        let bytes = numbers[0].to_le_bytes();
        match (self, rows, rows[0].kind) {
            (Self::Counters(counters), _, Kind::Put) => counters.set(keys.first(), numbers[0])?,
            (Self::Combined(combined), _, Kind::Put) => combined.put(keys.first(), &bytes)?,
            (Self::Counters(counters), _, Kind::Delete) => {
                return counters.remove(keys.first()).map(Some);
            }
            (Self::Combined(combined), _, Kind::Delete) => {
                return combined.remove(keys.first()).map(Some);
            }
            (Self::Counters(counters), [_], Kind::Merge) => {
                counters.add(keys.first(), numbers[0])?;
            }
            (Self::Combined(combined), [_], Kind::Merge) => combined.add(keys.first(), &bytes)?,
            (Self::Counters(counters), _, Kind::Merge) => {
                keys.list(|keys| counters.add_many(keys, NumberList::Int(&numbers)))?;
            }
            (Self::Combined(combined), _, Kind::Merge) => {
                let mut deltas = BytesColumn::default();
                numbers.iter().for_each(|number| deltas.push(Some(&number.to_le_bytes())));
                keys.list(|keys| combined.add_many(keys, &deltas))?;
            }
        }
        Ok(None)
    }

    /// The first key's number, if it exists.
    ///
    /// # Errors
    /// The engine's.
    pub fn first(&self, keys: &Named) -> Result<Option<i64>> {
        match self {
            Self::Counters(counters) => match counters.find(keys.first()) {
                // A lookup of many keys returns the end of the range instead of an error.
                Err(error) if error.kind() == ErrorKind::Limit => {
                    Ok(self.many(keys)?.first().copied())
                }
                found => Ok(found?.map(int_of_number)),
            },
            Self::Combined(combined) => {
                let mut out = Vec::new();
                let there = combined.get(keys.first(), &mut out)?;
                Ok(there.then(|| int_of(&out)).flatten())
            }
        }
    }

    /// The keys' numbers; 0 for counters that do not exist.
    ///
    /// # Errors
    /// The engine's.
    pub fn many(&self, keys: &Named) -> Result<Vec<i64>> {
        match self {
            Self::Counters(counters) => Ok(ints(&keys.list(|keys| counters.get_many(keys))?)),
            Self::Combined(combined) => {
                let (mut present, mut values) = (Vec::new(), BytesColumn::default());
                keys.list(|keys| combined.get_many(keys, &mut present, &mut values))?;
                let int = |(i, there): (usize, &bool)| match there {
                    true => int_of(values.get(i)).unwrap_or(i64::MIN),
                    false => 0,
                };
                Ok(present.iter().enumerate().map(int).collect())
            }
        }
    }

    /// All words by the numbers of their keys.
    ///
    /// # Errors
    /// The engine's.
    pub fn scan(&self, back: bool) -> Result<BTreeMap<u16, u64>> {
        let (keys, ints) = match self {
            Self::Counters(counters) => {
                let rows = if back {
                    counters.scan_back(None, usize::MAX)?
                } else {
                    counters.scan(None, usize::MAX)?
                };
                (numbers_of(&rows.keys), ints(&rows.numbers))
            }
            Self::Combined(combined) => {
                let rows = if back {
                    combined.scan_back(None, usize::MAX)?
                } else {
                    combined.scan(None, usize::MAX)?
                };
                let int = |i| int_of(rows.values.get(i)).unwrap_or(i64::MIN);
                (numbers_of(&rows.keys), (0..rows.len()).map(int).collect())
            }
        };
        Ok(keys.into_iter().zip(ints.into_iter().map(int_to_word)).collect())
    }

    /// Number of counters.
    ///
    /// # Errors
    /// The engine's.
    pub fn len(&self) -> Result<u64> {
        match self {
            Self::Counters(counters) => counters.len(),
            Self::Combined(combined) => combined.len(),
        }
    }

    /// Whether there are none.
    ///
    /// # Errors
    /// The engine's.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Writes the buffered increments.
    ///
    /// # Errors
    /// The engine's.
    pub fn flush(&self) -> Result<()> {
        match self {
            Self::Counters(counters) => counters.flush(),
            Self::Combined(combined) => combined.flush(),
        }
    }
}

fn int_of_number(number: Number) -> i64 {
    match number {
        Number::Int(int) => int,
        Number::Float(_) => unreachable!("counters of the workload are integers"),
    }
}

fn ints(numbers: &NumberColumn) -> Vec<i64> {
    (0..numbers.len()).map(|i| int_of_number(numbers.get(i))).collect()
}

fn numbers_of(keys: &KeyColumn) -> Vec<u16> {
    let all = || 0..KEYS + TX_KEYS;
    match keys {
        KeyColumn::U64(keys) => keys.iter().map(|key| *key as u16).collect(),
        KeyColumn::I64(keys) => {
            keys.iter().filter_map(|key| all().find(|n| signed(*n) == *key)).collect()
        }
        KeyColumn::Str(keys) => {
            let number = |i| all().find(|n| text(*n).as_bytes() == keys.get(i));
            (0..keys.len()).filter_map(number).collect()
        }
    }
}
