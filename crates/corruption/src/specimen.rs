//! A small database with every kind of structure, and its content as text.
//!
//! This file has the writes of [`Specimen::fill`], and the samples that consist of them. Samples of
//! other structures are in `columns`, `graphs`, `search` and `unique`; `text` reads the content.

mod columns;
mod graphs;
mod search;
mod text;
mod unique;

pub use text::{by_keyspace, content, other_ways, rows};

use crate::image::Image;
use base::shape::{float_to_word, int_to_word};
use base::{Batch, Column, ColumnShape, Key, KeyRange, KeyShape, KeyspaceId, Kind, Merge, Shape};
use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use lsm::context::TreeOptions;
use lsm::table::TableOptions;
use model::Type;
use relation::{KeyColumn, Schema, ValueColumn, new_keyspace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use store::{Durability, Kinds, Result, Store, TableWrites, WriteBatch};
use views::graph::{Graph, GraphDef, VertexList, VertexType, WeightType, WeightsRef};

/// Tiny blocks, tables and segments, so that a few kilobytes hold every kind of structure.
/// Automatic compaction is off: the specimen chooses when, so that its files are always the same.
#[must_use]
pub fn options() -> KvOptions {
    KvOptions {
        durability: Durability::Sync,
        cache_bytes: 1 << 20,
        memtable_bytes: 1 << 20,
        wal_segment_bytes: 1 << 10,
        tree: TreeOptions {
            table: TableOptions {
                block_rows_max: 24,
                block_bytes_max: 512,
                apart_bytes_max: 1024,
                apart_value_bytes_min: 40,
                ..TableOptions::default()
            },
            table_bytes: 1500,
            level0_runs: 8,
            level1_bytes: 4000,
            level_factor: 4,
            ..TreeOptions::default()
        },
        auto_compaction: false,
        ..KvOptions::default()
    }
}

/// Names of the frozen samples of `tests/formats`.
pub const SAMPLES: [&str; 19] = [
    "ordinary",
    "killed",
    "names",
    "merges",
    "damaged",
    "apart",
    "wide",
    "shared",
    "statistics",
    "dates",
    "decimals",
    "properties",
    "search",
    "near",
    "vectors",
    "paths",
    "undirected",
    "parallel",
    "unique",
];

/// Folder of specimens in memory.
pub(crate) const FOLDER: &str = "/db";

/// A database that is being filled.
#[derive(Debug)]
pub struct Specimen {
    /// The store. Its files are in the environment that it was made in.
    pub store: Arc<Kv>,
    counts: KeyspaceId,
    pages: KeyspaceId,
    noise: KeyspaceId,
    plain: Graph,
    weighted: Graph,
    named: Graph,
}

/// One change of the database.
type Step = fn(&Specimen) -> Result<()>;

/// The steps of [`Specimen::fill`].
const FIRST_STEPS: [Step; 15] = [
    Specimen::load_plain,
    |specimen| specimen.merges(0),
    |specimen| specimen.texts(0),
    |specimen| specimen.noises(0),
    |specimen| specimen.edges(0),
    |specimen| specimen.store.flush(),
    |specimen| specimen.store.compact(),
    |specimen| specimen.merges(1),
    |specimen| specimen.texts(1),
    |specimen| specimen.noises(1),
    |specimen| specimen.edges(1),
    |specimen| specimen.store.flush(),
    |specimen| specimen.merges(2),
    Specimen::remove,
    |specimen| specimen.store.flush(),
];

/// The steps of [`Specimen::last_writes`].
const LAST_STEPS: [Step; 6] = [
    |specimen| specimen.merges(3),
    |specimen| specimen.weighted.upsert(3, 4, Some(views::graph::Weight::Float(0.125))),
    |specimen| specimen.plain.remove(4, 9).map(drop),
    Specimen::name_two,
    |specimen| specimen.texts(2),
    Specimen::remove_pages,
];

/// The steps of both that change counts.
const COUNT_STEPS: [Step; 5] = [
    |specimen| specimen.merges(0),
    |specimen| specimen.merges(1),
    |specimen| specimen.merges(2),
    Specimen::remove_counts,
    |specimen| specimen.merges(3),
];

/// The specimen as a killed process leaves it, made with the checksums of this process.
pub(crate) fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let made = Specimen::new(&env, Path::new(FOLDER)).and_then(|specimen| {
            specimen.fill()?;
            specimen.last_writes()?;
            Ok(Image::of(&*env, Path::new(FOLDER)))
        });
        match made {
            Ok(Ok(image)) => image,
            other => panic!("the specimen cannot be made: {other:?}"),
        }
    })
}

/// Every row that the specimen has or had, as lines of [`content`], by keyspace. The rows of the
/// keyspace `counts` are sums of several writes. Damage may lose any of these, so the result has
/// the sums of all subsets.
///
/// # Errors
/// Failures of the environment.
pub fn ever() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let new = || {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        Specimen::new(&env, Path::new(FOLDER))
    };
    let mut rows = BTreeMap::new();
    let specimen = new()?;
    for step in FIRST_STEPS.iter().chain(&LAST_STEPS) {
        step(&specimen)?;
        by_keyspace(&content(&*specimen.store)?, &mut rows);
    }
    for chosen in 0..1 << COUNT_STEPS.len() {
        let specimen = new()?;
        for (i, step) in COUNT_STEPS.iter().enumerate() {
            if chosen >> i & 1 == 1 {
                step(&specimen)?;
            }
        }
        by_keyspace(&content(&*specimen.store)?, &mut rows);
    }
    Ok(rows)
}

fn counts_shape() -> Shape {
    let word = |merge| ColumnShape::Word { merge };
    let values = vec![word(Some(Merge::AddInt)), word(Some(Merge::Min)), word(None)];
    Shape { key: KeyShape::Words(2), values }
}

fn counts_schema() -> Schema {
    let keys = ["a", "b"].map(|name| KeyColumn::new(name, Type::Int)).to_vec();
    let value = |name: &str, merge| ValueColumn {
        nullable: true,
        merge,
        ..ValueColumn::new(name, Type::Int)
    };
    let values = [("n", Some(Merge::AddInt)), ("least", Some(Merge::Min)), ("last", None)];
    let values = values.map(|(name, merge)| value(name, merge)).to_vec();
    Schema { name: "counts".to_owned(), keys, values }
}

fn pages_schema() -> Schema {
    let keys = vec![KeyColumn::new("name", Type::String)];
    let value = |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
    let values = vec![value("text", Type::String), value("score", Type::Float)];
    Schema { name: "pages".to_owned(), keys, values }
}

fn pages_shape() -> Shape {
    let values = vec![ColumnShape::Bytes, ColumnShape::Word { merge: None }];
    Shape { key: KeyShape::Bytes, values }
}

fn noise_schema() -> Schema {
    let keys = vec![KeyColumn::new("number", Type::Int)];
    let bytes = ValueColumn { nullable: true, ..ValueColumn::new("bytes", Type::Bytes) };
    Schema { name: "noise".to_owned(), keys, values: vec![bytes] }
}

/// Incompressible bytes.
fn noise(seed: u64, len: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..len).map(|_| next()).collect()
}

impl Specimen {
    /// Creates the keyspaces in a new database.
    ///
    /// # Errors
    /// Failures of the environment.
    pub fn new(env: &Arc<dyn Env>, folder: &Path) -> Result<Self> {
        let kv = Arc::new(Kv::open(Arc::clone(env), folder, options())?);
        let schemas = [counts_schema(), pages_schema(), noise_schema()];
        let ids = kv.create_keyspaces(&schemas.each_ref().map(new_keyspace))?;
        let graph = |name: &str, vertex, weight| {
            Graph::open(Arc::clone(&kv) as Arc<dyn Store>, GraphDef::new(name, vertex, weight))
        };
        let plain = graph("plain", VertexType::U64, WeightType::None)?;
        let weighted = graph("weighted", VertexType::I64, WeightType::Float)?;
        let named = graph("named", VertexType::Str, WeightType::Int)?;
        let [counts, pages, noise] = ids[..] else { unreachable!("three were asked for") };
        Ok(Self { store: kv, counts, pages, noise, plain, weighted, named })
    }

    /// Writes everything but the last commits: several tables and levels, with deletes and merges
    /// above the rows that they change.
    ///
    /// # Errors
    /// Failures of the environment.
    pub fn fill(&self) -> Result<()> {
        FIRST_STEPS.iter().try_for_each(|step| step(self))
    }

    /// Makes commits that stay in the log. Returns the states that a truncated log may end in.
    ///
    /// # Errors
    /// Failures of the environment.
    pub fn last_writes(&self) -> Result<Vec<String>> {
        let mut states = vec![content(&*self.store)?];
        for step in LAST_STEPS {
            step(self)?;
            states.push(content(&*self.store)?);
        }
        Ok(states)
    }

    fn name_two(&self) -> Result<()> {
        let (us, vs) = (["new", "vertices"], ["a", "b"]);
        let weights = Some(WeightsRef::Int(&[-5, 6]));
        self.named.upsert_list(VertexList::Str(&us), VertexList::Str(&vs), weights)
    }

    fn remove_pages(&self) -> Result<()> {
        let range = vec![KeyRange::prefix_bytes(b"page/001")];
        self.write(self.pages, Batch::new(&pages_shape()), Kind::Put, range)
    }

    fn write(
        &self,
        keyspace: KeyspaceId,
        rows: Batch,
        kind: Kind,
        ranges: Vec<KeyRange>,
    ) -> Result<()> {
        let kinds = Kinds::Uniform(kind);
        let table = TableWrites { keyspace, kinds, rows, delete_ranges: ranges };
        self.store.write(&WriteBatch { tables: vec![table] }, None)?;
        Ok(())
    }

    fn load_plain(&self) -> Result<()> {
        let edges =
            (0..40_u64).flat_map(|u| (0..u % 7).map(move |i| (u, (u * 5 + i * i + 4) % 41)));
        let mut forward: Vec<_> = edges.collect();
        forward.sort_unstable();
        forward.dedup();
        let mut reverse: Vec<_> = forward.iter().map(|&(u, v)| (v, u)).collect();
        reverse.sort_unstable();
        let shape = Shape { key: KeyShape::Words(2), values: Vec::new() };
        let mut load = self.store.begin_bulk()?;
        let parts = [views::graph::GraphPart::Forward, views::graph::GraphPart::Reverse];
        for (part, rows) in parts.into_iter().zip([forward, reverse]) {
            let Some(id) = self.plain.keyspace(part) else { continue };
            let mut batch = Batch::new(&shape);
            for (a, b) in rows {
                batch.keys.push(Key::words(&[a, b]).as_ref());
                batch.rows += 1;
            }
            load.write(id, vec![Box::new(testkit::OneBatch(Some(batch)))])?;
        }
        load.commit()?;
        Ok(())
    }

    fn merges(&self, round: u64) -> Result<()> {
        let mut rows = Batch::new(&counts_shape());
        for i in (round..120).step_by(1 + round as usize) {
            rows.keys.push(Key::words(&[i / 9, i * i]).as_ref());
            let values =
                [Some(int_to_word(i as i64 - 50)), Some(i * 7 % 13), (i % 5 > 0).then_some(i)];
            push_words(&mut rows, &values);
        }
        let kind = if round == 0 { Kind::Put } else { Kind::Merge };
        self.write(self.counts, rows, kind, Vec::new())
    }

    fn texts(&self, round: u64) -> Result<()> {
        let mut rows = Batch::new(&pages_shape());
        for i in (round..60).step_by(1 + round as usize * 3) {
            let key = format!("page/{i:03}");
            rows.keys.push(Key::bytes(key.as_bytes()).as_ref());
            let text = format!("round {round}, {}", "knots in a cord ".repeat((i % 11) as usize));
            let value = (i % 6 > 0).then_some(text.as_bytes());
            if let [Column::Bytes(texts), Column::Words(words)] = &mut rows.values[..] {
                texts.push(value);
                words.push((i % 4 > 0).then_some(float_to_word(i as f64 / 4.0)));
            }
            rows.rows += 1;
        }
        self.write(self.pages, rows, Kind::Put, Vec::new())
    }

    /// Rows with separated values.
    fn noises(&self, round: u64) -> Result<()> {
        let mut rows = Batch::new(&noise_schema().shape());
        for i in (round..30).step_by(1 + round as usize * 4) {
            rows.keys.push(Key::words(&[int_to_word(i as i64 * 3)]).as_ref());
            let value = (i % 7 > 0).then(|| noise(i + 100 * round, 40 + i * 5 % 60));
            if let [Column::Bytes(column)] = &mut rows.values[..] {
                column.push(value.as_deref());
            }
            rows.rows += 1;
        }
        self.write(self.noise, rows, Kind::Put, Vec::new())
    }

    fn edges(&self, round: u64) -> Result<()> {
        self.write_weights(round)?;
        self.name(round)
    }

    fn write_weights(&self, round: u64) -> Result<()> {
        let us: Vec<u64> = (0..90).map(|i| int_to_word(i * i % 31 - 15)).collect();
        let vs: Vec<u64> = (0..90).map(|i| int_to_word(i * 3 % 17 + round as i64)).collect();
        let weights: Vec<f64> = (0..90).map(|i| f64::from(i) / 8.0).collect();
        self.weighted.upsert_many(&us, &vs, Some(WeightsRef::Float(&weights)))
    }

    fn name(&self, round: u64) -> Result<()> {
        let names: Vec<String> = (0..30).map(|i| format!("vertex {}", i * (round + 1))).collect();
        let us: Vec<&str> = names.iter().map(String::as_str).collect();
        let vs: Vec<&str> = us.iter().rev().copied().collect();
        let weights: Vec<i64> = (0..30).map(|i| i * 1000 - 7).collect();
        let weights = Some(WeightsRef::Int(&weights));
        self.named.upsert_list(VertexList::Str(&us), VertexList::Str(&vs), weights)
    }

    /// Fills a new database for the frozen sample with this name.
    ///
    /// # Errors
    /// Failures of the environment.
    ///
    /// # Panics
    /// Where no sample has this name.
    pub fn sample(&self, name: &str) -> Result<()> {
        match name {
            "ordinary" | "damaged" => self.ordinary_sample(),
            "killed" => self.killed_sample(),
            "names" => self.names_sample(),
            "merges" => self.merges_sample(),
            "apart" => self.apart_sample(),
            "wide" => self.wide_sample(),
            "shared" => self.shared_sample(),
            "statistics" => self.statistics_sample(),
            "dates" => self.dates_sample(),
            "decimals" => self.decimals_sample(),
            "properties" => self.properties_sample(),
            "search" => self.index_texts(),
            "vectors" => self.index_vectors(),
            "near" => self.index_near(),
            "paths" => self.paths_sample(),
            "undirected" => self.undirected_sample(),
            "parallel" => self.parallel_sample(),
            "unique" => self.unique_indexes(),
            other => panic!("no sample is named {other}"),
        }
    }

    fn ordinary_sample(&self) -> Result<()> {
        self.load_plain()?;
        self.write_weights(0)
    }

    fn killed_sample(&self) -> Result<()> {
        self.load_plain()?;
        self.merges(2)?;
        self.store.flush()?;
        self.last_writes().map(drop)
    }

    fn names_sample(&self) -> Result<()> {
        self.name(0)?;
        self.store.flush()?;
        self.name(1)
    }

    fn merges_sample(&self) -> Result<()> {
        self.merges(0)?;
        self.texts(0)?;
        self.store.flush()?;
        self.store.compact()?;
        self.merges(1)?;
        self.texts(1)?;
        self.store.flush()?;
        self.remove()?;
        let range = vec![KeyRange::prefix_bytes(b"page/02")];
        self.write(self.pages, Batch::new(&pages_shape()), Kind::Put, range)
    }

    fn apart_sample(&self) -> Result<()> {
        self.noises(0)?;
        self.texts(0)?;
        self.store.flush()?;
        self.store.compact()?;
        self.noises(1)?;
        self.store.flush()
    }

    /// Several keyspaces a flush, whose tables share files.
    fn shared_sample(&self) -> Result<()> {
        for round in 0..2 {
            self.merges(round)?;
            self.texts(round)?;
            self.write_weights(round)?;
            self.store.flush()?;
        }
        self.remove()
    }

    /// Tables of several blocks with values, some of them null, and changes over them.
    fn statistics_sample(&self) -> Result<()> {
        self.texts(0)?;
        self.write_weights(0)?;
        self.store.flush()?;
        self.store.compact()?;
        self.texts(1)
    }

    fn remove(&self) -> Result<()> {
        let us: Vec<u64> = (0..30).collect();
        let vs: Vec<u64> = us.iter().map(|u| (u * 5 + 4) % 41).collect();
        self.plain.remove_many(&us, &vs, &mut Vec::new())?;
        self.weighted.remove_vertex(int_to_word(3))?;
        self.remove_counts()
    }

    fn remove_counts(&self) -> Result<()> {
        let mut gone = Batch::new(&counts_shape());
        for i in [9, 30, 77] {
            gone.keys.push(Key::words(&[i / 9, i * i]).as_ref());
            push_words(&mut gone, &[None, None, None]);
        }
        let range = KeyRange { lower: Key::words(&[4]), upper: Some(Key::words(&[5, 2500])) };
        self.write(self.counts, gone, Kind::Delete, vec![range])
    }
}

fn push_words(rows: &mut Batch, values: &[Option<u64>]) {
    for (column, value) in rows.values.iter_mut().zip(values) {
        if let Column::Words(words) = column {
            words.push(*value);
        }
    }
    rows.rows += 1;
}
