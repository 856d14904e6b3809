//! Dictionary ids for the string vertices of a bulk load.
//!
//! # Why ids are committed before the rows
//! A bulk load cannot conflict, so it must not assign ids: another commit could give a string a
//! second one. Transactions assign them, some ten thousand strings each. Strings are never removed
//! from a dictionary, so a load that fails afterwards leaves strings without edges, which is what
//! removed edges leave, too.

use crate::engine::Engine;
use exec::error::Result;
use exec::limits::Check;
use hashbrown::HashMap;
use model::{Series, Values};
use relation::{ABSENT, Dictionary};
use store::{ErrorKind, Isolation, WriteBatch};

/// New strings that one transaction writes.
const STEP_TEXTS: usize = 1 << 16;

/// Attempts of a transaction, each after another one assigned ids.
const ATTEMPTS_MAX: usize = 64;

/// The ids of the strings in some columns, row by row: `ids[c][r]` is that of `columns[c]` at `r`.
/// New strings get ids in the order of rows. All values must be strings.
///
/// # Errors
/// Those of the store and of `check`.
pub(crate) fn ids_of(
    engine: &Engine,
    dictionary: Dictionary,
    columns: &[&Series],
    check: Check<'_>,
) -> Result<Vec<Vec<u64>>> {
    // Positions of distinct strings, which become their ids.
    let mut places: HashMap<&[u8], u64> = HashMap::new();
    let mut texts: Vec<&str> = Vec::new();
    let rows = columns.first().map_or(0, |column| column.len());
    let mut ids: Vec<Vec<u64>> = columns.iter().map(|_| Vec::with_capacity(rows)).collect();
    for row in 0..rows {
        for (column, ids) in columns.iter().zip(&mut ids) {
            let Values::Str(all) = &column.values else { continue };
            let text = all.get(row);
            let place = *places.entry(text).or_insert_with(|| {
                texts.push(str::from_utf8(text).unwrap_or_default());
                texts.len() as u64 - 1
            });
            ids.push(place);
        }
    }
    let mut found = Vec::with_capacity(texts.len());
    for step in texts.chunks(STEP_TEXTS) {
        check()?;
        found.extend(assigned(engine, dictionary, step)?);
    }
    ids.iter_mut().flatten().for_each(|place| *place = found[*place as usize]);
    Ok(ids)
}

/// The ids of distinct strings; those without one get the next ids.
fn assigned(engine: &Engine, dictionary: Dictionary, texts: &[&str]) -> Result<Vec<u64>> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let transaction = engine.store.begin(Isolation::Snapshot);
        let mut ids = dictionary.look_up(&*transaction, texts)?;
        if !ids.contains(&ABSENT) {
            return Ok(ids);
        }
        let mut next = dictionary.free_id(&*transaction, 0)?;
        let tables = dictionary.assign_ids(texts, &mut ids, 0..texts.len(), &mut next);
        transaction.write(&WriteBatch { tables })?;
        match transaction.commit() {
            Ok(_) => return Ok(ids),
            Err(error) if error.kind() == ErrorKind::Conflict && attempts < ATTEMPTS_MAX => {}
            Err(error) => return Err(error.into()),
        }
    }
}
