//! A small database with every kind of structure, and its content as text.

mod search;
mod unique;

use base::shape::{float_to_word, int_to_word};
use base::{
    Batch, Column, ColumnShape, Key, KeyRange, KeyShape, KeyspaceId, Kind, Merge, Projection, Shape,
};
use env::Env;
use kv::{Kv, KvOptions};
use lsm::context::TreeOptions;
use lsm::table::TableOptions;
use model::{Json, JsonStep, Type, Value};
use relation::{JsonPath, KeyColumn, Schema, ValueColumn, new_keyspace};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use store::{Durability, Kinds, Result, Store, TableWrites, WriteBatch};
use views::graph::{Graph, GraphDef, GraphPart, VertexList, VertexType, WeightType, WeightsRef};

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
pub const SAMPLES: [&str; 18] = [
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
    "properties",
    "search",
    "near",
    "vectors",
    "paths",
    "undirected",
    "parallel",
    "unique",
];

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

/// Every row that the specimen has or had, as lines of [`content`], by keyspace. The rows of the
/// keyspace `counts` are sums of several writes. Damage may lose any of these, so the result has
/// the sums of all subsets.
///
/// # Errors
/// Failures of the environment.
pub fn ever() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let new = || {
        let env: Arc<dyn Env> = Arc::new(env::MemoryEnv::new(1));
        Specimen::new(&env, Path::new("/db"))
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

/// Adds the lines of a [`content`] to `rows`, by the line of their keyspace.
pub fn by_keyspace(content: &str, rows: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut head = "";
    for line in content.lines() {
        // A line of a row begins with a bracket or a letter, that of a keyspace with a digit.
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            head = line;
            rows.entry(head.to_owned()).or_default();
        } else if let Some(lines) = rows.get_mut(head) {
            lines.insert(line.to_owned());
        }
    }
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

fn properties_def() -> GraphDef {
    let nullable = |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
    GraphDef {
        edges: vec![nullable("since", Type::Int), nullable("more", Type::Json)],
        nodes: Some(vec![ValueColumn::new("kind", Type::String), nullable("year", Type::Int)]),
        ..GraphDef::new("properties", VertexType::U64, WeightType::Float)
    }
}

/// Rows of a part of a graph with properties, some of them null; each round overwrites some.
fn properties_rows(part: GraphPart, round: i64) -> Result<Batch> {
    let schema = properties_def().part_schema(part);
    let mut rows = Batch::new(&schema.shape());
    let null_or = |is_null: bool, value: Value| if is_null { Value::Null } else { value };
    for i in 3 * round..3 * round + 8 {
        let row = match part {
            GraphPart::Nodes => {
                let kind = Value::Str(format!("kind {}", (i + round) % 3));
                vec![Value::Int(i * i), kind, null_or(i % 2 == 0, Value::Int(1900 + i))]
            }
            _ => {
                let (src, dst) = (Value::Int(i), Value::Int(i * i % 7));
                let ends = if part == GraphPart::Forward { [src, dst] } else { [dst, src] };
                let more = Json::parse(&format!("[{i}, null]")).map(Value::Json);
                let more = more.map_err(|error| relation::invalid(error.to_string()))?;
                let since = null_or(i % 4 == 0, Value::Int(-i - round));
                let weight = Value::Float(i as f64 / 4.0);
                [ends.to_vec(), vec![weight, since, null_or(i % 3 == 0, more)]].concat()
            }
        };
        schema.append(row, &mut rows)?;
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

    fn wide_sample(&self) -> Result<()> {
        let ids = self.store.create_keyspaces(&[new_keyspace(&wide_schema())])?;
        for (round, &wide) in ids.iter().chain(&ids).chain(&ids).enumerate() {
            self.write(wide, wide_rows(round as u64), Kind::Put, Vec::new())?;
            if round < 2 {
                self.store.flush()?;
            }
        }
        Ok(())
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

    fn dates_sample(&self) -> Result<()> {
        let dates = self.store.create_keyspaces(&[new_keyspace(&dates_schema())])?[0];
        self.write(dates, dates_rows(0)?, Kind::Put, Vec::new())?;
        self.store.flush()?;
        self.write(dates, dates_rows(1)?, Kind::Put, Vec::new())
    }

    /// Also a vertex without edges, and an edge that is removed.
    fn properties_sample(&self) -> Result<()> {
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let graph = Graph::open(store, properties_def())?;
        for round in 0..2 {
            for part in [GraphPart::Forward, GraphPart::Reverse, GraphPart::Nodes] {
                if let Some(keyspace) = graph.keyspace(part) {
                    let rows = properties_rows(part, round)?;
                    self.write(keyspace, rows, Kind::Put, Vec::new())?;
                }
            }
            if round == 0 {
                self.store.flush()?;
            }
        }
        graph.remove(1, 1).map(drop)
    }

    fn paths_sample(&self) -> Result<()> {
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

    /// String vertices; edges written from either end, replaced, and removed.
    fn undirected_sample(&self) -> Result<()> {
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let weight = WeightType::Float;
        let def = GraphDef {
            is_undirected: true,
            ..GraphDef::new("undirected", VertexType::Str, weight)
        };
        let graph = Graph::open(store, def)?;
        let put = |us: [&str; 3], vs: [&str; 3], weights: [f64; 3]| {
            let (us, vs) = (VertexList::Str(&us), VertexList::Str(&vs));
            graph.upsert_list(us, vs, Some(WeightsRef::Float(&weights)))
        };
        put(["é", "b", "c"], ["b", "a", "c"], [0.5, 1.0, -2.0])?;
        self.store.flush()?;
        put(["a", "d", "b"], ["é", "c", "é"], [3.0, 4.0, 5.0])?;
        let mut words = Vec::new();
        graph.to_words(VertexList::Str(&["a", "b"]), &mut words)?;
        graph.remove(words[0], words[1]).map(drop)
    }

    /// Parallel edges with keys of either sign, replaced and removed.
    fn parallel_sample(&self) -> Result<()> {
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let def = GraphDef {
            is_keyed: true,
            ..GraphDef::new("parallel", VertexType::U64, WeightType::Int)
        };
        let graph = Graph::open(store, def.clone())?;
        for round in 0..2 {
            for part in [GraphPart::Forward, GraphPart::Reverse] {
                let schema = def.part_schema(part);
                let mut rows = Batch::new(&schema.shape());
                for i in 2 * round..2 * round + 6 {
                    let mut row = vec![i / 4, i % 3, i - 3, 10 * i + round];
                    if part == GraphPart::Reverse {
                        row.swap(0, 1);
                    }
                    schema.append(row.into_iter().map(Value::Int).collect(), &mut rows)?;
                }
                if let Some(keyspace) = graph.keyspace(part) {
                    self.write(keyspace, rows, Kind::Put, Vec::new())?;
                }
            }
            if round == 0 {
                self.store.flush()?;
            }
        }
        graph.remove_keyed(0, 1, -2).map(drop)
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

/// The content of a store, one line per row, keyspaces in order of their ids.
///
/// # Errors
/// Corruption, and failed reads.
pub fn content(store: &dyn Store) -> Result<String> {
    let mut text = String::new();
    for info in store.keyspaces() {
        let _ = writeln!(
            text,
            "{} {:?} {:?} {:02x?}",
            info.id.0, info.name, info.shape, info.definition
        );
        let mut rows = Batch::new(&info.shape);
        let mut scan = store.scan(info.id, KeyRange::all(&info.shape.key), Projection::ALL)?;
        while scan.next_batch(1000, &mut rows)? {}
        for i in 0..rows.rows {
            write_row(&rows, i, &mut text);
        }
    }
    Ok(text)
}

/// The content as text, by other reads than [`content`] uses: single keys, many keys, first words,
/// counts; and a check that both directions of each graph agree. `want` has the rows of the
/// undamaged store, whose keys are read.
///
/// # Errors
/// Corruption, and failed reads.
pub fn other_ways(store: &Arc<dyn Store>, want: &[(KeyspaceId, Batch)]) -> Result<String> {
    let mut text = String::new();
    for (id, known) in want {
        let Some(info) = store.keyspaces().into_iter().find(|info| info.id == *id) else {
            let _ = writeln!(text, "{} is not there", id.0);
            continue;
        };
        let mut one = Batch::new(&info.shape);
        for i in 0..known.rows {
            let there = store.get(*id, known.keys.get(i).as_ref(), Projection::ALL, &mut one)?;
            let _ = write!(text, "{}", u8::from(there));
        }
        for i in 0..one.rows {
            write_row(&one, i, &mut text);
        }
        let (mut present, mut many) = (Vec::new(), Batch::new(&info.shape));
        store.get_many(*id, &known.keys, Projection::ALL, &mut present, &mut many)?;
        let _ = writeln!(text, "{present:?} {:?}", many.values);
        let _ = writeln!(text, "{} rows", store.count(*id)?);
        if info.shape.key_words() > 1 {
            let mut firsts = Vec::new();
            store.first_words(*id, &mut |words| firsts.extend_from_slice(words))?;
            firsts.push(1 << 40);
            let (mut offsets, mut rows) = (Vec::new(), Batch::new(&info.shape));
            store.prefix_many(*id, &firsts, Projection::ALL, &mut offsets, &mut rows)?;
            let _ = writeln!(text, "{firsts:?} {offsets:?} {:?} {:?}", rows.keys, rows.values);
        }
    }
    for name in ["plain", "weighted", "named"] {
        if let Some(graph) = Graph::find(Arc::clone(store), name)? {
            let _ = writeln!(text, "{name} {:?}", graph.check()?);
        }
    }
    Ok(text)
}

/// All rows, keyspace by keyspace.
///
/// # Errors
/// Corruption, and failed reads.
pub fn rows(store: &dyn Store) -> Result<Vec<(KeyspaceId, Batch)>> {
    let mut all = Vec::new();
    for info in store.keyspaces() {
        let mut rows = Batch::new(&info.shape);
        store.scan_into(
            info.id,
            &KeyRange::all(&info.shape.key),
            Projection::ALL,
            usize::MAX,
            &mut rows,
        )?;
        all.push((info.id, rows));
    }
    Ok(all)
}

fn write_row(rows: &Batch, i: usize, text: &mut String) {
    match rows.keys.get(i) {
        Key::Words { words, len } => {
            let _ = write!(text, "{:?}", &words[..usize::from(len)]);
        }
        Key::Bytes(bytes) => {
            let _ = write!(text, "{}", bytes.escape_ascii());
        }
    }
    for column in &rows.values {
        let _ = match column {
            Column::Words(words) => write!(text, " {:?}", words.get(i)),
            Column::Bytes(bytes) if bytes.validity.is_valid(i) => {
                write!(text, " {}", bytes.get(i).escape_ascii())
            }
            Column::Bytes(_) => write!(text, " None"),
        };
    }
    text.push('\n');
}
