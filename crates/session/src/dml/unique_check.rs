//! Keeps unique indexes unique while a statement changes rows.
//!
//! # When rows are checked
//! At the end of the statement: it may exchange the values of rows, in any order and in several
//! chunks. Before each chunk is written, the values that it puts are looked up. Values that another
//! row has, too, are in doubt, and looked up again at the end.
//!
//! # Concurrent transactions
//! Neither of two transactions that put the same values sees the row of the other. So each one
//! claims its values: it deletes a key that is made of them alone ([`UniqueIndex::claim`]), and the
//! later commit conflicts at every isolation level. A claim adds no row, and compaction drops it.
//!
//! # Invariants
//! 1. At the end of a statement no two rows have the same values, unless one of them is null.
//! 2. Values are claimed only if one row has them: a claim never deletes another row.

use crate::dml::target::Target;
use crate::unique_index::{Repeat, UniqueIndex};
use base::key_order::sort;
use base::{Batch, Key, Kind};
use exec::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use store::{Kinds, TableWrites, Transaction, WriteBatch};
use syntax::Span;

/// The check of one statement.
pub(crate) struct UniqueCheck<'t> {
    target: &'t Target,
    /// An item for each index of the target, or none if no index is checked.
    indexes: Vec<Option<Checked<'t>>>,
}

/// A unique index and its values in doubt, with the key that was put last.
struct Checked<'t> {
    index: UniqueIndex<'t>,
    doubts: BTreeMap<Key, Key>,
}

impl<'t> UniqueCheck<'t> {
    /// The check of a statement that changes this relation.
    pub(crate) fn of(target: &'t Target) -> Self {
        let indexes = match target.has_unique_index() {
            false => Vec::new(),
            true => {
                let keys = target.schema.keys.len();
                let index = |path| UniqueIndex::of(path, keys);
                let checked = |index| Checked { index, doubts: BTreeMap::new() };
                target.paths[1..].iter().map(|path| index(path).map(checked)).collect()
            }
        };
        Self { target, indexes }
    }

    /// Adds the claims of values to the writes of an index, the one with this number, before they
    /// are written.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn claimed(
        &mut self,
        transaction: &dyn Transaction,
        index: usize,
        kinds: Kinds,
        mut rows: Batch,
    ) -> store::Result<(Kinds, Batch)> {
        let Some(Some(Checked { index, doubts })) = self.indexes.get_mut(index) else {
            return Ok((kinds, rows));
        };
        let mut kinds: Vec<Kind> = (0..rows.rows).map(|row| kinds.get(row)).collect();
        let of_kind = |kind: Kind| {
            let rows = (0_u32..).zip(&kinds).filter(move |(_, own)| **own == kind);
            rows.map(|(row, _)| row)
        };
        let mut puts: Vec<u32> = of_kind(Kind::Put).collect();
        let deleted = of_kind(Kind::Delete).filter(|_| !puts.is_empty());
        let deleted: BTreeSet<Key> = deleted.map(|row| rows.keys.get(row as usize)).collect();
        sort(&rows.keys, &mut puts);
        let values = puts.iter().map(|&row| index.values(&rows.keys, row as usize));
        let values: Vec<Option<Key>> = values.collect::<store::Result<_>>()?;
        let mut found = Batch::new(&index.path().shape);
        let mut claims = Vec::new();
        for (place, (&row, own)) in puts.iter().zip(&values).enumerate() {
            let Some(own) = own else { continue };
            let key = rows.keys.get(row as usize);
            let is_put_twice = |other: Option<&Option<Key>>| {
                other.is_some_and(|other| other.as_ref() == Some(own))
            };
            let is_put_again = is_put_twice(place.checked_sub(1).map(|before| &values[before]))
                || is_put_twice(values.get(place + 1));
            let is_doubtful = is_put_again || doubts.contains_key(own) || {
                index.find(transaction, own, &mut found)?;
                let mut others = (0..found.rows).map(|row| found.keys.get(row));
                others.any(|other| other != key && !deleted.contains(&other))
            };
            if is_doubtful {
                doubts.insert(own.clone(), key);
                continue;
            }
            let claim = index.claim(own);
            if claim != key {
                claims.push(claim);
            }
        }
        for claim in claims {
            rows.keys.push(claim.as_ref());
            rows.rows += 1;
            kinds.push(Kind::Delete);
        }
        Ok((Kinds::PerRow(kinds), rows))
    }

    /// Checks that the statement has left no two rows with the same values, and claims those that
    /// were in doubt.
    ///
    /// # Errors
    /// Two rows with the same values; those of the store.
    pub(crate) fn finish(self, transaction: &dyn Transaction, span: Span) -> Result<()> {
        let mut tables = Vec::new();
        for Checked { index, doubts } in self.indexes.into_iter().flatten() {
            let shape = &index.path().shape;
            let (mut found, mut claims) = (Batch::new(shape), Batch::new(shape));
            for (values, put) in doubts {
                index.find(transaction, &values, &mut found)?;
                if found.rows > 1 {
                    let is_put = found.keys.get(0) == put;
                    let (there, new) = if is_put { (1, 0) } else { (0, 1) };
                    let repeat = index.repeat((&found, there), (&found, new))?;
                    return Err(refused(self.target, &index, &repeat, span));
                }
                let claim = index.claim(&values);
                if found.rows == 1 && found.keys.get(0) != claim {
                    claims.keys.push(claim.as_ref());
                    claims.rows += 1;
                }
            }
            if claims.rows > 0 {
                let (keyspace, kinds) = (index.path().keyspace, Kinds::Uniform(Kind::Delete));
                let delete_ranges = Vec::new();
                tables.push(TableWrites { keyspace, kinds, rows: claims, delete_ranges });
            }
        }
        if !tables.is_empty() {
            transaction.write(&WriteBatch { tables })?;
        }
        Ok(())
    }
}

/// The error for a row that repeats values of another one.
fn refused(target: &Target, index: &UniqueIndex<'_>, repeat: &Repeat, span: Span) -> Error {
    let name = &index.path().schema.name;
    let name = name.split_once(':').map_or(name.as_str(), |(_, name)| name);
    let (Repeat { values, rows: [there, new] }, relation) = (repeat, &target.schema.name);
    let what = format!(
        "row {new} of relation `{relation}` cannot have {values}: row {there} has it, and the index \
         `{relation}:{name}` is unique"
    );
    Error::value(what, span)
}
