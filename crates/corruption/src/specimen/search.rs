//! Search indexes of samples: their keyspaces, with rows as a writer would make them.

use super::Specimen;
use base::{Batch, Kind};
use model::{Type, Value};
use relation::{Definition, KeyColumn, SearchDef, SearchMethod, SearchPart};
use store::{NewKeyspace, Result, Store};

/// Batches of rows of a part of an index in a round, each with its kind of write.
type Writes<'w> = &'w dyn Fn(SearchPart, i64) -> Result<Vec<(Kind, Batch)>>;

impl Specimen {
    /// A full-text index.
    pub(super) fn index_texts(&self) -> Result<()> {
        self.index(&search_def(), &|part, round| {
            let kind = if part == SearchPart::Terms { Kind::Merge } else { Kind::Put };
            Ok(vec![(kind, search_rows(part, round)?)])
        })
    }

    /// A vector index.
    pub(super) fn index_vectors(&self) -> Result<()> {
        self.index(&vector_def(), &|part, round| {
            let kind = if part == SearchPart::Vertices { Kind::Merge } else { Kind::Put };
            Ok(vec![(kind, vector_rows(part, round)?)])
        })
    }

    /// An index of near duplicates. The first row gets another signature in each round.
    pub(super) fn index_near(&self) -> Result<()> {
        self.index(&near_def(), &|part, round| {
            Ok(vec![
                (Kind::Put, near_rows(part, round, 1)?),
                (Kind::Delete, near_rows(part, 0, 9 + round as u8)?),
                (Kind::Put, near_rows(part, 0, 10 + round as u8)?),
            ])
        })
    }

    /// Creates an index, and writes rows in three rounds. The last ones stay in the log.
    fn index(&self, def: &SearchDef, writes: Writes<'_>) -> Result<()> {
        let keyspace = |&part: &SearchPart| NewKeyspace {
            name: def.keyspace_name(part),
            shape: def.shape(part),
            definition: Definition::Search(def.clone(), part).encode(),
        };
        let parts = def.method.parts();
        let new: Vec<NewKeyspace> = parts.iter().map(keyspace).collect();
        let ids = self.store.create_keyspaces(&new)?;
        for round in 0..3 {
            for (&part, &id) in parts.iter().zip(&ids) {
                for (kind, rows) in writes(part, round)? {
                    self.write(id, rows, kind, Vec::new())?;
                }
            }
            if round < 2 {
                self.store.flush()?;
            }
        }
        Ok(())
    }
}

/// A search index, which has a definition of its own.
fn search_def() -> SearchDef {
    let text = |text: &str| Value::Str(text.to_owned());
    SearchDef {
        name: "doc:words".to_owned(),
        method: SearchMethod::FullText,
        keys: vec![KeyColumn::new("day", Type::Date), KeyColumn::new("k", Type::String)],
        settings: vec![
            ("extractor".to_owned(), text("text")),
            ("tokenizer".to_owned(), Value::List(vec![text("Simple")])),
        ],
    }
}

/// An index of near duplicates.
fn near_def() -> SearchDef {
    let settings = search_def().settings.into_iter();
    let numbers = [("n_gram", 1), ("n_bands", 3), ("n_rows_in_band", 2)];
    let numbers = numbers.map(|(name, number)| (name.to_owned(), Value::Int(number)));
    SearchDef {
        name: "doc:like".to_owned(),
        method: SearchMethod::NearDuplicates,
        settings: settings.chain(numbers).collect(),
        ..search_def()
    }
}

/// A key of each round, with its bands or its signature; `what` makes them differ.
fn near_rows(part: SearchPart, round: i64, what: u8) -> Result<Batch> {
    let schema = near_def().part_schema(part);
    let mut rows = Batch::new(&schema.shape());
    let key = [Value::Date(round as i32), Value::Str(format!("k{round}"))];
    match part {
        SearchPart::Bands => {
            for band in 0..3 {
                let hash = Value::Bytes(vec![0, band, what, 0, 255, 4, 5, 6, 7, 8]);
                schema.append([&[hash][..], &key].concat(), &mut rows)?;
            }
        }
        _ => schema.append([&key[..], &[Value::Bytes(vec![what; 24])]].concat(), &mut rows)?,
    }
    Ok(rows)
}

/// A vector index.
fn vector_def() -> SearchDef {
    let text = |text: &str| Value::Str(text.to_owned());
    let settings = [
        ("dim", Value::Int(2)),
        ("dtype", text("F32")),
        ("fields", Value::List(vec![text("v")])),
        ("distance", text("L2")),
        ("m", Value::Int(16)),
        ("ef_construction", Value::Int(128)),
    ];
    SearchDef {
        name: "doc:closest".to_owned(),
        method: SearchMethod::Vector,
        keys: vec![KeyColumn::new("k", Type::String)],
        settings: settings.map(|(name, value)| (name.to_owned(), value)).into(),
    }
}

/// A few vertices, or links of a few vertices to one of each round.
fn vector_rows(part: SearchPart, round: i64) -> Result<Batch> {
    let schema = vector_def().part_schema(part);
    let mut rows = Batch::new(&schema.shape());
    let vertex = |number: i64| Value::Id((63 << 56) + number as u64);
    for (number, word) in (1..).zip(["", "a", "fox", "été"]) {
        let name = [Value::Str(word.to_owned()), Value::Int(0), Value::Int(-1)];
        let row = match part {
            SearchPart::Links => {
                let key = [vertex(number), Value::Int(0), vertex(100 + round)];
                let link = [Value::Float(number as f64 / 4.0), Value::Bool(round == 1)];
                [&key[..], &name, &name, &link].concat()
            }
            _ => [&[vertex(number)][..], &name, &[Value::Int(round)]].concat(),
        };
        schema.append(row, &mut rows)?;
    }
    Ok(rows)
}

/// Postings and counts of a few words; each round adds documents.
fn search_rows(part: SearchPart, round: i64) -> Result<Batch> {
    let schema = search_def().part_schema(part);
    let mut rows = Batch::new(&schema.shape());
    for (number, word) in (1..).zip(["", "a", "fox", "été"]) {
        let word = Value::Str(word.to_owned());
        let counts = [Value::Int(number), Value::Int(number + round)];
        let row = match part {
            SearchPart::Postings => {
                let key = [word, Value::Date(round as i32), Value::Str(format!("k{round}"))];
                [&key[..], &counts, &[Value::Bytes(vec![1; number as usize])]].concat()
            }
            _ => [&[word][..], &counts].concat(),
        };
        schema.append(row, &mut rows)?;
    }
    Ok(rows)
}
