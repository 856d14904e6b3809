//! A relation with unique indexes: rows that exchange their values, and deletes that claim them.

use super::Specimen;
use base::{Batch, Key, Kind, int_to_word};
use model::{Type, Value};
use relation::{KeyColumn, Schema, ValueColumn, new_keyspace};
use store::{Result, Store};

impl Specimen {
    /// The relation and its indexes, in three rounds. The last one stays in the log.
    pub(super) fn unique_indexes(&self) -> Result<()> {
        let schemas = schemas();
        let ids = self.store.create_keyspaces(&schemas.each_ref().map(new_keyspace))?;
        for round in 0_i64..3 {
            for place in 0..schemas.len() {
                let stale = (round > 0 && place > 0).then(|| round - 1);
                if let Some(before) = stale {
                    let rows = rows(&schemas, place, before)?;
                    self.write(ids[place], rows, Kind::Delete, Vec::new())?;
                }
                self.write(ids[place], rows(&schemas, place, round)?, Kind::Put, Vec::new())?;
                self.write(ids[place], claims(&schemas[place], round), Kind::Delete, Vec::new())?;
            }
            if round < 2 {
                self.store.flush()?;
            }
        }
        Ok(())
    }
}

/// `people`, an index of byte strings, and one of words.
fn schemas() -> [Schema; 3] {
    let id = KeyColumn::new("id", Type::Int);
    let email = Type::Nullable(Box::new(Type::String));
    let index = |name: &str, column: &str, of| {
        let unique = KeyColumn { is_unique: true, ..KeyColumn::new(column, of) };
        Schema { name: name.to_owned(), keys: vec![unique, id.clone()], values: Vec::new() }
    };
    let people = Schema {
        name: "people".to_owned(),
        keys: vec![id.clone()],
        values: vec![
            ValueColumn { nullable: true, ..ValueColumn::new("email", Type::String) },
            ValueColumn::new("place", Type::Int),
        ],
    };
    [people, index("people:by_email", "email", email), index("people:by_place", "place", Type::Int)]
}

/// The address that a row has in a round: two have none, and the others exchange theirs.
fn email(id: i64, round: i64) -> Value {
    match id {
        0 | 1 => Value::Null,
        id => Value::Str(format!("{}@x.org", 2 + (id + round) % 4)),
    }
}

fn rows(schemas: &[Schema; 3], place: usize, round: i64) -> Result<Batch> {
    let mut rows = Batch::new(&schemas[place].shape());
    for id in 0..6 {
        let (email, place_of_row) = (email(id, round), Value::Int((id + round) % 6));
        let row = match place {
            0 => vec![Value::Int(id), email, place_of_row],
            1 => vec![email, Value::Int(id)],
            _ => vec![place_of_row, Value::Int(id)],
        };
        schemas[place].append(row, &mut rows)?;
    }
    Ok(rows)
}

/// The keys that a writer deletes to claim the values of a round: the addresses alone, and the
/// places with 0 words.
fn claims(schema: &Schema, round: i64) -> Batch {
    let mut rows = Batch::new(&schema.shape());
    for id in 2..6 {
        let key = match schema.name.as_str() {
            "people:by_email" => {
                let mut bytes = Vec::new();
                model::encode_value(&email(id, round), &mut bytes);
                Key::Bytes(bytes)
            }
            "people:by_place" => Key::words(&[int_to_word((id + round) % 6), 0]),
            _ => continue,
        };
        rows.keys.push(key.as_ref());
        rows.rows += 1;
    }
    rows
}
