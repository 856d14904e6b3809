//! Compares imports with a map of edges: all inputs, vertex and weight types, with and without
//! spills.

use env::{Env, MemoryEnv};
use ingest::arrow_edges::to_batch;
use ingest::parquet_edges::ParquetEdgeWriter;
use ingest::{EdgeChunk, InputError, OnError};
use proptest::prelude::*;
use quipu_views::graph::{
    Graph, GraphDef, GraphPart, VertexColumn, VertexList, VertexType, Weight, WeightType,
    WeightsRef,
};
use quipu_views::import::{ImportOptions, ImportProgress, ImportReport, Phase, remove_stale_runs};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{ErrorKind, Result, Store};
use testkit::ModelStore;

const SPILL: &str = "/spill";

struct Fixture {
    env: Arc<dyn Env>,
    store: Arc<dyn Store>,
    graph: Graph,
}

fn fixture(vertex: VertexType, weight: WeightType) -> Fixture {
    fixture_of(GraphDef::new("g", vertex, weight))
}

fn fixture_of(def: GraphDef) -> Fixture {
    let store: Arc<dyn Store> = Arc::new(ModelStore::new());
    let graph = Graph::open(Arc::clone(&store), def).unwrap();
    Fixture { env: Arc::new(MemoryEnv::new(2)), store, graph }
}

fn options(memory_limit_bytes: u64) -> ImportOptions {
    let spill_folder = Some(SPILL.into());
    ImportOptions { memory_limit_bytes, spill_folder, ..ImportOptions::default() }
}

fn go_on(_: &ImportProgress) -> bool {
    true
}

impl Fixture {
    fn import(&self, text: &str, options: &ImportOptions) -> Result<ImportReport> {
        let reader = Box::new(std::io::Cursor::new(text.to_owned().into_bytes()));
        self.graph.import_reader(&self.env, reader, "edges.csv", options, &go_on)
    }

    /// Checks that nothing was written and no file is left.
    #[track_caller]
    fn check_untouched(&self, edges: u64) {
        assert_eq!(self.graph.number_of_edges().unwrap(), edges);
        self.check_no_files();
    }

    #[track_caller]
    fn check_no_files(&self) {
        if self.env.exists(Path::new(SPILL)) {
            assert_eq!(self.env.list(Path::new(SPILL)).unwrap(), Vec::<String>::new());
        }
    }

    /// All rows of a direction: the two ends and the weight word.
    fn rows(&self, part: GraphPart) -> Vec<(u64, u64, Option<u64>)> {
        let shape = self.graph.def().shape(part);
        let mut rows = base::Batch::new(&shape);
        let keyspace = self.graph.keyspace(part).unwrap();
        let range = base::KeyRange::all_words();
        let all = base::Projection::ALL;
        self.store.scan_into(keyspace, &range, all, usize::MAX, &mut rows).unwrap();
        let row = |i| {
            let weight = rows.value_words(0).get(i).copied();
            (rows.key_words(0)[i], rows.key_words(1)[i], weight)
        };
        (0..rows.rows).map(row).collect()
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Few vertices, so most pairs repeat.
    Few,
    Scattered,
    /// One source.
    Star,
    /// One pair.
    Equal,
    /// Any 64-bit words, including the ends of the range.
    Wide,
    /// Sources ascend in input order.
    Sorted,
}

const KINDS: [Kind; 6] =
    [Kind::Few, Kind::Scattered, Kind::Star, Kind::Equal, Kind::Wide, Kind::Sorted];

/// Two vertex words and a weight.
fn edges(kind: Kind, rows: usize, seed: u64) -> Vec<(u64, u64, i64)> {
    let mut random = Random(seed);
    let edge = |row| {
        let (a, b) = (random.next(), random.next());
        let weight = (random.next() % 1000) as i64 - 500;
        let (a, b) = match kind {
            Kind::Few => (a % 30, b % 30),
            Kind::Scattered => (a % 100_000, b % 100_000),
            Kind::Star => (7, b % 5000),
            Kind::Equal => (3, 5),
            Kind::Wide => match a % 8 {
                0 => (0, b),
                1 => (u64::MAX, b),
                2 => (b, u64::MAX),
                3 => (u64::MAX, u64::MAX),
                _ => (a, b),
            },
            Kind::Sorted => (row as u64 / 5, b % 1000),
        };
        (a, b, weight)
    };
    (0..rows).map(edge).collect()
}

/// A word as vertex text of the type.
fn shown(vertex: VertexType, word: u64) -> String {
    match vertex {
        VertexType::U64 => word.to_string(),
        VertexType::I64 => base::shape::word_to_int(word).to_string(),
        VertexType::Str => format!("v{word}"),
    }
}

fn csv(edges: &[(u64, u64, i64)], vertex: VertexType, weighted: bool) -> String {
    let mut text = String::from("source,target");
    text += if weighted { ",weight\n" } else { "\n" };
    for &(a, b, weight) in edges {
        text += &format!("{},{}", shown(vertex, a), shown(vertex, b));
        if weighted {
            text += &format!(",{weight}");
        }
        text.push('\n');
    }
    text
}

fn word(weight: WeightType, value: i64) -> Option<u64> {
    match weight {
        WeightType::None => None,
        WeightType::Float => Some(base::shape::float_to_word(value as f64)),
        WeightType::Int => Some(base::shape::int_to_word(value)),
    }
}

type Model = BTreeMap<(u64, u64), Option<u64>>;

#[track_caller]
fn check_graph(fixture: &Fixture, model: &Model) {
    let forward: Vec<_> = model.iter().map(|(&(a, b), &weight)| (a, b, weight)).collect();
    let mut reverse: Vec<_> = model.iter().map(|(&(a, b), &weight)| (b, a, weight)).collect();
    reverse.sort_unstable();
    assert_eq!(fixture.rows(GraphPart::Forward), forward);
    assert_eq!(fixture.rows(GraphPart::Reverse), reverse);
}

/// Ids of string vertices in order of first appearance.
fn named(edges: &[(u64, u64, i64)], ids: &mut BTreeMap<u64, u64>) -> Vec<(u64, u64, i64)> {
    let mut id = |word| {
        let next = ids.len() as u64;
        *ids.entry(word).or_insert(next)
    };
    edges.iter().map(|&(a, b, weight)| (id(a), id(b), weight)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn two_imports_leave_what_a_map_holds(
        kinds in (prop::sample::select(KINDS.to_vec()), prop::sample::select(KINDS.to_vec())),
        rows in (0..6000_usize, 0..2500_usize),
        vertex in prop::sample::select(vec![VertexType::U64, VertexType::I64, VertexType::Str]),
        weight in prop::sample::select(vec![WeightType::None, WeightType::Float, WeightType::Int]),
        limit in prop::sample::select(vec![64 << 10, 400 << 10, 1 << 30_u64]),
        seed in any::<u64>(),
    ) {
        let fixture = fixture(vertex, weight);
        let mut model = Model::new();
        let mut ids = BTreeMap::new();
        for (kind, rows, seed) in [(kinds.0, rows.0, seed), (kinds.1, rows.1, !seed)] {
            let edges = edges(kind, rows, seed);
            let text = csv(&edges, vertex, weight != WeightType::None);
            let report = fixture.import(&text, &options(limit)).unwrap();
            let words =
                if vertex == VertexType::Str { named(&edges, &mut ids) } else { edges };
            let distinct = words.iter().map(|edge| (edge.0, edge.1)).collect::<std::collections::BTreeSet<_>>();
            let before = model.len();
            for (a, b, value) in words {
                model.insert((a, b), word(weight, value));
            }
            prop_assert_eq!(report.rows, rows as u64);
            prop_assert_eq!(report.edges, distinct.len() as u64);
            prop_assert_eq!(report.duplicates, (rows + before - model.len()) as u64);
            prop_assert_eq!(report.bytes_read, text.len() as u64);
            check_graph(&fixture, &model);
            fixture.check_no_files();
        }
        if vertex == VertexType::Str {
            let words: Vec<u64> = ids.values().copied().collect();
            let VertexColumn::Str(names) = fixture.graph.to_vertices(&words).unwrap() else {
                panic!("names are text")
            };
            let texts: Vec<String> = ids.keys().map(|&key| shown(vertex, key)).collect();
            for (i, text) in texts.iter().enumerate() {
                prop_assert_eq!(names.get(i), text.as_bytes());
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut found = Vec::new();
            fixture.graph.to_words(VertexList::Str(&texts), &mut found).unwrap();
            prop_assert_eq!(found, words);
        }
    }
}

#[test]
fn a_tiny_memory_limit_spills() {
    let fixture = fixture(VertexType::U64, WeightType::None);
    let text = csv(&edges(Kind::Scattered, 20_000, 1), VertexType::U64, false);
    let folder = Path::new(SPILL);
    let seen = AtomicU64::new(0);
    let count = |_: &ImportProgress| {
        let files = fixture.env.list(folder).map_or(0, |names| names.len() as u64);
        seen.fetch_max(files, Ordering::Relaxed);
        true
    };
    let reader = Box::new(std::io::Cursor::new(text.into_bytes()));
    let options = options(64 << 10);
    let report = fixture.graph.import_reader(&fixture.env, reader, "x", &options, &count).unwrap();
    assert!(seen.load(Ordering::Relaxed) >= 4, "runs of both directions are there in between");
    assert!(report.bytes_written > 20_000);
    fixture.check_no_files();
}

/// Found by killing importing processes: beside a pair frequent enough for its own bucket, a row
/// can be alone in a bucket, and it lost its weight.
#[test]
fn a_row_alone_in_its_bucket_keeps_its_weight() {
    let fixture = fixture(VertexType::U64, WeightType::Int);
    let mut text = "1,1,7\n".to_owned();
    (0..40_000).for_each(|i| text += &format!("5,5,{i}\n"));
    // A small limit makes small buckets.
    fixture.import(&text, &options(1 << 20)).unwrap();
    let weight = |weight| word(WeightType::Int, weight);
    let (alone, frequent) = ((1, 1, weight(7)), (5, 5, weight(39_999)));
    assert_eq!(fixture.rows(GraphPart::Forward), [alone, frequent]);
    assert_eq!(fixture.rows(GraphPart::Reverse), [alone, frequent]);
}

#[test]
fn without_a_folder_a_full_memory_is_an_error_with_a_hint() {
    let fixture = fixture(VertexType::U64, WeightType::None);
    let text = csv(&edges(Kind::Scattered, 20_000, 1), VertexType::U64, false);
    let options = ImportOptions { memory_limit_bytes: 64 << 10, ..ImportOptions::default() };
    let error = fixture.import(&text, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("hint: "), "{error}");
    fixture.check_untouched(0);
}

#[test]
fn names_past_the_limit_are_an_error_with_a_hint_without_a_folder() {
    let fixture = fixture(VertexType::Str, WeightType::None);
    let text = csv(&edges(Kind::Scattered, 20_000, 1), VertexType::Str, false);
    let options = ImportOptions { memory_limit_bytes: 64 << 10, ..ImportOptions::default() };
    let error = fixture.import(&text, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("raise memory_limit"), "{error}");
    fixture.check_untouched(0);
}

/// A graph whose names were in memory and one whose names were spilled are the same, ids included.
#[test]
fn names_past_the_limit_are_spilled_and_keep_the_order_of_their_appearance() {
    let edges = edges(Kind::Scattered, 30_000, 1);
    let text = csv(&edges, VertexType::Str, true);
    let [roomy, tight] = [1 << 30, 256 << 10].map(|limit| {
        let fixture = fixture(VertexType::Str, WeightType::Int);
        // Some names are stored before, and have their ids.
        fixture
            .import(&csv(&edges[20_000..20_100], VertexType::Str, true), &options(1 << 30))
            .unwrap();
        let report = fixture.import(&text, &options(limit)).unwrap();
        fixture.check_no_files();
        let rows = [GraphPart::Forward, GraphPart::Reverse].map(|part| fixture.rows(part));
        let mut ids = Vec::new();
        fixture.graph.vertices(&mut |more| ids.extend_from_slice(more)).unwrap();
        let VertexColumn::Str(names) = fixture.graph.to_vertices(&ids).unwrap() else {
            panic!("names are text")
        };
        let names: Vec<Vec<u8>> = (0..ids.len()).map(|i| names.get(i).to_vec()).collect();
        (report.edges, report.duplicates, rows, ids, names, report.bytes_written)
    });
    assert_eq!((roomy.0, roomy.1), (tight.0, tight.1));
    assert_eq!(roomy.2, tight.2);
    assert_eq!((roomy.3, roomy.4), (tight.3, tight.4));
    assert!(tight.5 > roomy.5, "spilled names and edges are written twice");
}

/// `(a, b)` and `(b, a)` are one edge, whose last row counts, also across spills and where ids of
/// names are provisional.
#[test]
fn an_undirected_import_has_each_edge_once() {
    for vertex in [VertexType::U64, VertexType::I64, VertexType::Str] {
        let mut edges = edges(Kind::Few, 20_000, 7);
        edges.extend(self::edges(Kind::Scattered, 20_000, 8));
        let text = csv(&edges, vertex, true);
        let [roomy, tight] = [1 << 30, 256 << 10].map(|limit| {
            let def =
                GraphDef { is_undirected: true, ..GraphDef::new("g", vertex, WeightType::Int) };
            let fixture = fixture_of(def);
            // Some edges are there before, with the other end first.
            let turned: Vec<_> = edges[..50].iter().map(|&(a, b, w)| (b, a, w + 1)).collect();
            fixture.import(&csv(&turned, vertex, true), &options(1 << 30)).unwrap();
            let report = fixture.import(&text, &options(limit)).unwrap();
            fixture.graph.check().unwrap();
            fixture.check_no_files();
            (report.edges, report.duplicates, fixture.rows(GraphPart::Forward))
        });
        assert_eq!(roomy, tight);
        let mut want = BTreeMap::new();
        for &(a, b, weight) in &edges {
            want.insert((a.min(b), a.max(b)), weight);
        }
        let (imported, duplicates, rows) = roomy;
        let told = (imported, imported + duplicates);
        let before: std::collections::BTreeSet<_> =
            edges[..50].iter().map(|&(a, b, _)| (a.min(b), a.max(b))).collect();
        assert_eq!(told, (want.len() as u64, (edges.len() + before.len()) as u64));
        let mut weights: Vec<_> = rows.iter().map(|row| row.2).collect();
        let mut wanted: Vec<_> = want.values().map(|&w| word(WeightType::Int, w)).collect();
        weights.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(weights, wanted);
        assert!(rows.iter().all(|(src, dst, _)| src <= dst));
    }
}

#[test]
fn a_refusal_in_any_phase_changes_nothing() {
    for vertex in [VertexType::U64, VertexType::Str] {
        for limit in [64 << 10, 1 << 30] {
            for phase in [Phase::Read, Phase::Forward, Phase::Reverse, Phase::Commit] {
                let fixture = fixture(vertex, WeightType::Int);
                fixture.import("1,2,3\n", &options(1 << 30)).unwrap();
                let text = csv(&edges(Kind::Scattered, 5000, 1), vertex, true);
                let reader = Box::new(std::io::Cursor::new(text.into_bytes()));
                let refuse = |progress: &ImportProgress| progress.phase != phase;
                let (graph, options) = (&fixture.graph, options(limit));
                let result = graph.import_reader(&fixture.env, reader, "x", &options, &refuse);
                assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled, "{phase:?}");
                fixture.check_untouched(1);
            }
        }
    }
}

#[test]
fn phases_come_in_order_and_the_fraction_grows() {
    let fixture = fixture(VertexType::U64, WeightType::None);
    let seen = env::sync::Mutex::new(Vec::new());
    let note = |progress: &ImportProgress| {
        seen.lock().push((progress.phase, progress.fraction));
        true
    };
    let reader = Box::new(std::io::Cursor::new(b"1,2\n".to_vec()));
    fixture.graph.import_reader(&fixture.env, reader, "x", &options(1 << 30), &note).unwrap();
    let mut seen = seen.into_inner();
    assert!(seen.is_sorted_by(|a, b| a.1 <= b.1), "{seen:?}");
    seen.dedup_by_key(|(phase, _)| *phase);
    let phases: Vec<_> = seen.into_iter().map(|(phase, _)| phase).collect();
    assert_eq!(phases, [Phase::Read, Phase::Forward, Phase::Reverse, Phase::Commit]);
}

#[test]
fn a_bad_line_is_named_and_changes_nothing() {
    for (vertex, limit) in
        [(VertexType::U64, 64 << 10), (VertexType::U64, 1 << 30), (VertexType::Str, 2 << 20)]
    {
        let fixture = fixture(vertex, WeightType::Float);
        let mut lines: Vec<String> = csv(&edges(Kind::Scattered, 5000, 1), vertex, true)
            .lines()
            .map(str::to_owned)
            .collect();
        lines[4000] = "1,2,heavy".to_owned();
        lines[4500] = "1".to_owned();
        let text = lines.join("\n");
        let error = fixture.import(&text, &options(limit)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let cause = error.cause::<InputError>().unwrap();
        assert_eq!((cause.file.as_str(), cause.line(), cause.column), ("edges.csv", 4001, 3));
        fixture.check_untouched(0);

        let mut skip = options(limit);
        skip.text.on_error = OnError::Skip;
        let report = fixture.import(&text, &skip).unwrap();
        assert_eq!((report.skipped, report.rows), (2, 4998));
        let skipped: Vec<u64> = report.skipped_lines.iter().map(InputError::line).collect();
        assert_eq!(skipped, [4001, 4501]);
    }
}

/// A stream that fails in the middle.
struct Failing(std::io::Cursor<Vec<u8>>);

impl std::io::Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("the disk is gone")),
            bytes => Ok(bytes),
        }
    }
}

#[test]
fn a_failed_read_changes_nothing() {
    for limit in [64 << 10, 1 << 30] {
        let fixture = fixture(VertexType::U64, WeightType::None);
        let text = csv(&edges(Kind::Scattered, 20_000, 1), VertexType::U64, false);
        let reader = Box::new(Failing(std::io::Cursor::new(text.into_bytes())));
        let (graph, options) = (&fixture.graph, options(limit));
        let error = graph.import_reader(&fixture.env, reader, "x", &options, &go_on).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("the disk is gone"), "{error}");
        fixture.check_untouched(0);
    }
}

#[test]
fn a_file_of_the_environment_is_read_whatever_its_size() {
    let fixture = fixture(VertexType::U64, WeightType::None);
    let edges = edges(Kind::Sorted, 3000, 1);
    let text = csv(&edges, VertexType::U64, false);
    let mut file = fixture.env.create(Path::new("/edges.csv")).unwrap();
    file.append(text.as_bytes()).unwrap();
    file.sync().unwrap();
    let path = Path::new("/edges.csv");
    let options = options(1 << 20);
    let report = fixture.graph.import_csv(&fixture.env, path, &options, &go_on).unwrap();
    assert_eq!((report.rows, report.bytes_read), (3000, text.len() as u64));
    let missing = Path::new("/missing.csv");
    let error = fixture.graph.import_csv(&fixture.env, missing, &options, &go_on).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("missing.csv"), "{error}");
}

#[test]
fn columns_are_imported_like_text() {
    let edges = edges(Kind::Few, 2000, 9);
    let src: Vec<i64> = edges.iter().map(|edge| edge.0 as i64 - 15).collect();
    let dst: Vec<i64> = edges.iter().map(|edge| edge.1 as i64 - 15).collect();
    let weights: Vec<f64> = edges.iter().map(|edge| edge.2 as f64).collect();
    let fixture = fixture(VertexType::I64, WeightType::Float);
    let (graph, env, options) = (&fixture.graph, &fixture.env, options(1 << 30));
    let (src, dst) = (VertexList::I64(&src), VertexList::I64(&dst));
    let given = Some(WeightsRef::Float(&weights));
    graph.import_columns(env, src, dst, given, &options, &go_on).unwrap();
    let mut model = Model::new();
    let image = |word: u64| base::shape::int_to_word(word as i64 - 15);
    for (a, b, value) in edges {
        model.insert((image(a), image(b)), word(WeightType::Float, value));
    }
    check_graph(&fixture, &model);

    graph.import_columns(env, src, dst, None, &options, &go_on).unwrap();
    model.values_mut().for_each(|weight| *weight = word(WeightType::Float, 1));
    check_graph(&fixture, &model);

    let short = VertexList::I64(&[1]);
    for (dst, weights) in [(short, None), (dst, Some(WeightsRef::Int(&[1; 2000])))] {
        let result = graph.import_columns(env, src, dst, weights, &options, &go_on);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

/// The edges as file readers return them.
fn chunk(edges: &[(u64, u64, i64)]) -> EdgeChunk {
    let mut chunk = EdgeChunk::default();
    for &(a, b, weight) in edges {
        chunk.src.push(a);
        chunk.dst.push(b);
        match &mut chunk.weights {
            ingest::Weights::Int(weights) => weights.push(weight),
            weights => *weights = ingest::Weights::Int(vec![weight]),
        }
    }
    chunk
}

#[test]
fn parquet_and_arrow_are_imported_like_text() {
    let (vertex, weight) = (ingest::VertexType::U64, ingest::WeightType::Int);
    let edges = edges(Kind::Few, 3000, 5);
    let mut model = Model::new();
    for &(a, b, value) in &edges {
        model.insert((a, b), word(WeightType::Int, value));
    }
    let mut writer = ParquetEdgeWriter::new(Vec::new(), vertex, weight).unwrap();
    writer.write(&chunk(&edges)).unwrap();
    let bytes = writer.finish().unwrap();
    for limit in [64 << 10, 1 << 30] {
        let fixture = fixture(VertexType::U64, WeightType::Int);
        let path = Path::new("/edges.parquet");
        let mut file = fixture.env.create(path).unwrap();
        file.append(&bytes).unwrap();
        file.sync().unwrap();
        let (graph, env, options) = (&fixture.graph, &fixture.env, options(limit));
        let report = graph.import_parquet(env, path, &options, &go_on).unwrap();
        assert_eq!((report.rows, report.edges), (3000, model.len() as u64));
        check_graph(&fixture, &model);
    }
    for limit in [64 << 10, 1 << 30] {
        let fixture = fixture(VertexType::U64, WeightType::Int);
        let (graph, env, options) = (&fixture.graph, &fixture.env, options(limit));
        let batch = |edges: &[_]| to_batch(&chunk(edges), vertex, weight).unwrap();
        let batches: Vec<_> = edges.chunks(700).map(batch).collect();
        let mut failing = batches
            .iter()
            .cloned()
            .map(Ok)
            .chain([Err(store::Error::new(ErrorKind::Io, "the stream broke"))]);
        let error = graph.import_arrow(env, &mut failing, "t", &options, &go_on).unwrap_err();
        assert_eq!(error.to_string(), "the stream broke");
        fixture.check_untouched(0);
        let mut whole = batches.into_iter().map(Ok);
        let report = graph.import_arrow(env, &mut whole, "t", &options, &go_on).unwrap();
        assert_eq!((report.rows, report.edges), (3000, model.len() as u64));
        check_graph(&fixture, &model);
    }
}

#[test]
fn names_of_an_upsert_and_an_import_are_one_dictionary() {
    let fixture = fixture(VertexType::Str, WeightType::Int);
    let graph = &fixture.graph;
    let upsert = |u, v| {
        let (u, v) = ([u], [v]);
        graph.upsert_list(VertexList::Str(&u), VertexList::Str(&v), None).unwrap();
    };
    upsert("a", "b");
    fixture.import("b,c,5\nc,a,6\n", &options(1 << 30)).unwrap();
    upsert("c", "d");
    let mut words = Vec::new();
    graph.to_words(VertexList::Str(&["a", "b", "c", "d"]), &mut words).unwrap();
    assert_eq!(words, [0, 1, 2, 3]);
    assert_eq!(graph.edge(1, 2).unwrap(), Some(Weight::Int(5)));
    assert_eq!(graph.number_of_edges().unwrap(), 4);
}

#[test]
fn a_graph_in_a_transaction_refuses_to_import() {
    let fixture = fixture(VertexType::U64, WeightType::None);
    let snapshot = fixture.graph.at(&fixture.store.snapshot());
    let reader = Box::new(std::io::Cursor::new(b"1,2\n".to_vec()));
    let error = snapshot.import_reader(&fixture.env, reader, "x", &options(1 << 30), &go_on);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn runs_of_a_killed_process_are_removed() {
    let env = MemoryEnv::new(1);
    let folder = Path::new(SPILL);
    remove_stale_runs(&env, folder).unwrap();
    env.create_folder(folder).unwrap();
    for name in ["import-00ff.run", "notes.txt"] {
        env.create(&folder.join(name)).unwrap();
    }
    remove_stale_runs(&env, folder).unwrap();
    assert_eq!(env.list(folder).unwrap(), ["notes.txt"]);
}
