//! Relations with columns of special kinds: many columns, dates, decimals, and indexed paths into
//! documents.

use super::Specimen;
use base::{Batch, Column, Key, Kind};
use model::{Decimal, Json, JsonStep, Type, Value};
use relation::{JsonPath, KeyColumn, Schema, ValueColumn, new_keyspace};
use store::{Result, Store};

impl Specimen {
    pub(super) fn wide_sample(&self) -> Result<()> {
        let ids = self.store.create_keyspaces(&[new_keyspace(&wide_schema())])?;
        for (round, &wide) in ids.iter().chain(&ids).chain(&ids).enumerate() {
            self.write(wide, wide_rows(round as u64), Kind::Put, Vec::new())?;
            if round < 2 {
                self.store.flush()?;
            }
        }
        Ok(())
    }

    pub(super) fn dates_sample(&self) -> Result<()> {
        let dates = self.store.create_keyspaces(&[new_keyspace(&dates_schema())])?[0];
        self.write(dates, dates_rows(0)?, Kind::Put, Vec::new())?;
        self.store.flush()?;
        self.write(dates, dates_rows(1)?, Kind::Put, Vec::new())
    }

    pub(super) fn decimals_sample(&self) -> Result<()> {
        let decimals = self.store.create_keyspaces(&[new_keyspace(&decimals_schema())])?[0];
        self.write(decimals, decimals_rows(0)?, Kind::Put, Vec::new())?;
        self.store.flush()?;
        self.write(decimals, decimals_rows(1)?, Kind::Put, Vec::new())
    }

    pub(super) fn paths_sample(&self) -> Result<()> {
        let schemas = path_schemas();
        let new = schemas.each_ref().map(new_keyspace);
        let ids = self.store.create_keyspaces(&new)?;
        for round in 0..3 {
            let [documents, index] = path_rows(&schemas, round)?;
            self.write(ids[0], documents, Kind::Put, Vec::new())?;
            if let Some(before) = round.checked_sub(1) {
                let [_, stale] = path_rows(&schemas, before)?;
                self.write(ids[1], stale, Kind::Delete, Vec::new())?;
            }
            self.write(ids[1], index, Kind::Put, Vec::new())?;
            if round < 2 {
                self.store.flush()?;
            }
        }
        Ok(())
    }
}

/// Columns of a wide relation: more than the bits of a word.
const WIDE_COLUMNS: usize = 150;

fn wide_schema() -> Schema {
    let value = |i: usize| {
        let of = if i.is_multiple_of(3) { Type::String } else { Type::Int };
        ValueColumn { nullable: true, ..ValueColumn::new(format!("c{i}"), of) }
    };
    let keys = vec![KeyColumn::new("number", Type::Int)];
    Schema { name: "wide".to_owned(), keys, values: (0..WIDE_COLUMNS).map(value).collect() }
}

/// Rows of a wide relation; each round overwrites some.
fn wide_rows(round: u64) -> Batch {
    let mut rows = Batch::new(&wide_schema().shape());
    for i in 0..6 {
        rows.keys.push(Key::words(&[round * 2 + i]).as_ref());
        for (place, column) in (0_u64..).zip(&mut rows.values) {
            let number = round * 100_000 + i * 1000 + place;
            let is_there = !number.is_multiple_of(7);
            match column {
                Column::Words(words) => words.push(is_there.then_some(number)),
                Column::Bytes(bytes) => {
                    bytes.push(is_there.then(|| number.to_string()).as_deref().map(str::as_bytes));
                }
            }
        }
        rows.rows += 1;
    }
    rows
}

fn dates_schema() -> Schema {
    let nullable = |name, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
    Schema {
        name: "dates".to_owned(),
        keys: vec![KeyColumn::new("day", Type::Date), KeyColumn::new("at", Type::Timestamp)],
        values: vec![nullable("took", Type::Duration), ValueColumn::new("any", Type::Any)],
    }
}

/// Rows with dates before and after 1970; each round overwrites some.
fn dates_rows(round: i64) -> Result<Batch> {
    let schema = dates_schema();
    let mut rows = Batch::new(&schema.shape());
    for i in 0..6 {
        let number = (round * 2 + i - 4) * 86_400_000_001;
        let took = if i == round { Value::Null } else { Value::Duration(-number) };
        let any = match i % 3 {
            0 => Value::Date(number as i32),
            1 => Value::Timestamp(number),
            _ => Value::Duration(number),
        };
        let row = [Value::Date((round * 2 + i - 4) as i32), Value::Timestamp(number), took, any];
        schema.append(row.to_vec(), &mut rows)?;
    }
    Ok(rows)
}

fn decimals_schema() -> Schema {
    let price = ValueColumn { nullable: true, ..ValueColumn::new("price", Type::Decimal) };
    Schema {
        name: "decimals".to_owned(),
        keys: vec![KeyColumn::new("amount", Type::Decimal), KeyColumn::new("any", Type::Any)],
        values: vec![price, ValueColumn::new("list", Type::List(Box::new(Type::Decimal), None))],
    }
}

/// Rows with decimals of all sizes, beside floats and integers in a column of any type; each round
/// overwrites some.
fn decimals_rows(round: usize) -> Result<Batch> {
    let schema = decimals_schema();
    let mut rows = Batch::new(&schema.shape());
    let large = 10_i128.pow(38) - 1;
    let numbers =
        [(0, 0), (-110, 2), (1, 38), (large, 0), (-large, 38), (9_007_199_254_740_993, 0)];
    let decimal = |i: usize| {
        let (coefficient, scale) = numbers[i % numbers.len()];
        let decimal = Decimal::new(coefficient, scale).expect("it has 38 digits");
        Value::Decimal(decimal)
    };
    for i in 0..numbers.len() {
        let any = match i % 3 {
            0 => decimal(i + 1),
            1 => Value::Int(9_007_199_254_740_993),
            _ => Value::Float(0.1),
        };
        let price = if i == round { Value::Null } else { decimal(i + round) };
        let list = Value::List((0..i).map(decimal).collect());
        schema.append(vec![decimal(i), any, price, list], &mut rows)?;
    }
    Ok(rows)
}

/// A relation of documents, and an index on paths into them.
fn path_schemas() -> [Schema; 2] {
    let steps =
        |steps: &[JsonStep]| Some(JsonPath { column: "doc".to_owned(), steps: steps.to_vec() });
    let name = |name: &str| JsonStep::Name(name.to_owned());
    let city = steps(&[name("addr"), name("city")]);
    let tag = steps(&[name("tags"), JsonStep::Index(0)]);
    let any = |name: &str, path| KeyColumn { path, ..KeyColumn::new(name, Type::Any) };
    let key = KeyColumn::new("k", Type::Int);
    let documents = Schema {
        name: "docs".to_owned(),
        keys: vec![key.clone()],
        values: vec![ValueColumn::new("doc", Type::Json)],
    };
    let keys = vec![any("city", city), any("doc->'tags'->0", tag), key];
    [documents, Schema { name: "docs:by_city".to_owned(), keys, values: Vec::new() }]
}

/// Rows of both, with values of several kinds; each round gives each document the next value.
fn path_rows(schemas: &[Schema; 2], round: usize) -> Result<[Batch; 2]> {
    let mut batches = schemas.each_ref().map(|schema| Batch::new(&schema.shape()));
    let cities = ["null", "7", "7.0", "\"Oslo\"", "[1]", "{\"a\":\"é\"}"];
    for (k, city) in (0..6).zip(cities.into_iter().cycle().skip(round)) {
        let text = format!("{{\"addr\":{{\"city\":{city}}},\"tags\":[\"t{k}\"]}}");
        let document = Value::Json(Json::parse(&text).expect("it is JSON"));
        let paths = schemas[1].keys.iter().filter_map(|key| key.path.as_ref());
        let index = paths.map(|path| path.value_in(&document)).chain([Value::Int(k)]).collect();
        schemas[0].append(vec![Value::Int(k), document], &mut batches[0])?;
        schemas[1].append(index, &mut batches[1])?;
    }
    Ok(batches)
}
