//! Bodies of the fuzz targets: each takes arbitrary bytes, and must not panic, hang or allocate
//! much memory.
//!
//! # Why checksums are zero here
//! A fuzzer does not guess a checksum of 64 bits, so it would only test the comparison. With the
//! feature `fault-switches` every checksum is 0, in the seeds and when they are read, so that the
//! decoders get the fuzzer's bytes. They must be robust anyway: a checksum does not prove who wrote
//! a file.

use crate::specimen::{FOLDER, content, image, options, rows};
use base::{BytesColumn, KeyspaceId, Shape};
use env::{Env, MemoryEnv};
use ingest::{
    EdgeChunk, EdgeOptions, OnError, Splitter, TextOptions, VertexType, WeightType, decompressor,
    parse_chunk, sniff,
};
use kv::{Kv, RestoreOptions};
use lsm::codec::runs::{KeyReader, LazySamples};
use lsm::codec::words::WordReader;
use lsm::codec::{bitmap::BitmapReader, bytes::BytesReader, filter::Filter};
use lsm::manifest::{State, VersionEdit};
use quipu::{Database, Options, Parameters};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use store::{KeyspaceInfo, Store};

/// A decoder under fuzzing.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of `fuzz/fuzz_targets/<name>.rs` and of the folder of found inputs.
    pub name: &'static str,
    /// Runs it on an input.
    pub run: fn(&[u8]),
    /// Initial inputs, made from real files.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target { name: "table", run: table, seeds: || seeds_of("sst") },
    Target { name: "log", run: log, seeds: || seeds_of("log") },
    Target { name: "manifest", run: manifest, seeds: || seeds_of("") },
    Target { name: "codecs", run: codecs, seeds: crate::seeds::codecs },
    Target { name: "edit", run: edit, seeds: crate::seeds::edits },
    Target { name: "text", run: text, seeds: crate::seeds::texts },
    Target { name: "parquet", run: parquet, seeds: crate::seeds::parquets },
    Target { name: "archive", run: archive, seeds: crate::seeds::archives },
    Target { name: "script", run: script, seeds: crate::seeds::scripts },
];

fn files(ending: &str) -> Vec<&'static PathBuf> {
    let wanted = |path: &&PathBuf| match path.extension() {
        Some(extension) => extension == ending,
        None => ending.is_empty() && !path.ends_with("LOCK"),
    };
    image().files.keys().filter(wanted).collect()
}

fn seeds_of(ending: &str) -> Vec<Vec<u8>> {
    let with_number =
        |(i, path): (usize, &PathBuf)| [&[i as u8], &image().files[path][..]].concat();
    files(ending).into_iter().enumerate().map(with_number).collect()
}

/// Opens the specimen with one file replaced, and reads everything in it.
fn open_with(ending: &str, data: &[u8]) {
    let Some((&pick, bytes)) = data.split_first() else { return };
    let files = files(ending);
    let path = files[usize::from(pick) % files.len()];
    let Ok(env) = image().with(path, Some(bytes)) else { return };
    let Ok(kv) = Kv::open(env, Path::new(FOLDER), options()) else { return };
    let store: Arc<dyn Store> = Arc::new(kv);
    let _ = content(&*store);
    let _ = store.check(&|_, _| true);
    if let Ok(known) = rows(&*store) {
        let _ = crate::specimen::other_ways(&store, &known);
    }
}

/// A table: footer, properties, fences, filters, blocks.
pub fn table(data: &[u8]) {
    open_with("sst", data);
}

/// A segment of the log, with its commits.
pub fn log(data: &[u8]) {
    open_with("log", data);
}

/// The manifest, or `CURRENT`.
pub fn manifest(data: &[u8]) {
    open_with("", data);
}

/// Calls each method of a reader of keys, for one row in `1 + skipped`.
fn read_keys(reader: &KeyReader<'_>, key_words: usize, rows: usize, skipped: usize) {
    let some = || (0..rows).step_by(1 + skipped);
    let mut words = Vec::new();
    for column in 0..key_words {
        words.clear();
        reader.column(column, 0..rows, &mut words);
        some().for_each(|row| {
            reader.get(column, row);
        });
    }
    let samples = LazySamples::default();
    for row in some() {
        let key: Vec<u64> = (0..key_words).map(|column| reader.get(column, row)).collect();
        let _ = (
            reader.find(&key),
            reader.find_first(&key),
            reader.find_first_from(&key, reader.seek(&key, samples.get_for(reader))),
            reader.lower_bound(&key),
            reader.find_prefix(&key[..key_words - 1]),
        );
    }
    reader.prefetch_entries();
    // Past all keys, or all except damaged ones.
    let key = vec![u64::MAX; key_words];
    reader.find_first_from(&key, reader.seek(&key, None));
    reader.prefetch_samples(&key, samples.get());
    reader.find_first_from(&key, reader.seek(&key, samples.get()));
    words.clear();
    reader.distinct_first_words(&mut words);
}

/// One encoded column: codec, number of rows, distance between single reads, bytes.
///
/// Bytes that no encoder made may decode to different rows one by one than all together; the
/// checksum excludes them. Here they only must do no harm.
pub fn codecs(data: &[u8]) {
    let Some((&[codec, low, high, at], bytes)) = data.split_first_chunk::<4>() else { return };
    let rows = usize::from(u16::from_le_bytes([low, high])) % 5000;
    let some = || (0..rows).step_by(1 + usize::from(at));
    let mut words = Vec::new();
    match codec % 5 {
        0 => {
            let Ok(reader) = WordReader::parse(bytes, rows) else { return };
            reader.read(0..rows, &mut words);
            some().for_each(|row| {
                reader.get(row);
            });
        }
        1 => {
            let Ok(reader) = BytesReader::parse(bytes, rows) else { return };
            let (mut column, mut scratch) = (BytesColumn::default(), Vec::new());
            let _ = reader.read(0..rows, &mut column);
            for row in some() {
                let _ = reader.get(row, &mut scratch);
            }
            let _ = reader.lower_bound(b"m");
        }
        2 => {
            let Ok(reader) = BitmapReader::parse(bytes, rows) else { return };
            some().for_each(|row| {
                reader.get(row);
            });
        }
        3 => {
            let key_words = 1 + usize::from(codec / 5) % 4;
            let Ok(reader) = KeyReader::parse(bytes, key_words, rows) else { return };
            read_keys(&reader, key_words, rows, usize::from(at));
        }
        _ => {
            let Ok(filter) = Filter::parse(bytes) else { return };
            (0..100).for_each(|i| {
                filter.may_contain(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i));
            });
        }
    }
}

/// An edit of the manifest, and the definition of a keyspace.
pub fn edit(data: &[u8]) {
    if let Ok(edit) = VersionEdit::decode(data) {
        let again = VersionEdit::decode(&edit.encode());
        assert_eq!(again.as_ref(), Ok(&edit), "an edit comes back as it was");
        let mut state = State::default();
        let _ = state.apply(&edit);
    }
    let shapes = [1, 2].map(|n| Shape { key: base::KeyShape::Words(n), values: Vec::new() });
    for shape in shapes {
        let name = "named".to_owned();
        let info = KeyspaceInfo { id: KeyspaceId(1), name, shape, definition: data.to_vec() };
        let _ = relation::Definition::decode(&info);
    }
}

/// A text of edges: four bytes of options, then the text, perhaps compressed.
pub fn text(data: &[u8]) {
    let Some((&[types, dialect, chunk_bytes, _], bytes)) = data.split_first_chunk::<4>() else {
        return;
    };
    let options = TextOptions {
        delimiter: [None, Some(b','), Some(b'\t'), Some(b' '), Some(b';'), Some(b'|')]
            [usize::from(dialect % 6)],
        header: [None, Some(true), Some(false)][usize::from(dialect / 6) % 3],
        edges: EdgeOptions {
            columns: None,
            vertex: [VertexType::U64, VertexType::I64, VertexType::Str][usize::from(types % 3)],
            weight: [WeightType::None, WeightType::Float, WeightType::Int]
                [usize::from(types / 3) % 3],
            ..EdgeOptions::default()
        },
        on_error: if types & 0x80 == 0 { OnError::Fail } else { OnError::Skip },
        quotes: types & 0x40 == 0,
        ..TextOptions::default()
    };
    let _ = ingest::guess_types(bytes, "fuzz", &options);
    // A decompression bomb is truncated where the importer, too, would have parsed and freed what
    // it read before.
    let Ok((_, plain)) = decompressor(bytes) else { return };
    let mut splitter =
        Splitter::with_chunk_bytes(plain.take(1 << 20), "fuzz", 1 + usize::from(chunk_bytes) * 7);
    let Ok(head) = splitter.head() else { return };
    if let Some(format) = ingest::GraphFormat::detect(head, "fuzz") {
        let mut text = Vec::new();
        let _ = splitter.into_reader().read_to_end(&mut text);
        let text = std::io::Cursor::new(text);
        let mut reader = ingest::GraphReader::new(format, text, "fuzz", &options);
        let mut out = EdgeChunk::default();
        while reader.next_chunk(&mut out).unwrap_or(false) {
            assert_eq!(out.src.len(), out.dst.len());
        }
        return;
    }
    let Ok(dialect) = sniff(head, "fuzz", &options) else { return };
    let mut out = EdgeChunk::default();
    while let Ok(Some(chunk)) = splitter.next(&dialect, Vec::new()) {
        if parse_chunk(&dialect, &chunk, &mut out).is_err() {
            return;
        }
        assert_eq!(out.src.len(), out.dst.len());
    }
}

/// A Parquet file of edges: one byte selects the types.
pub fn parquet(data: &[u8]) {
    let Some((&types, bytes)) = data.split_first() else { return };
    let options = EdgeOptions {
        vertex: [VertexType::U64, VertexType::I64, VertexType::Str][usize::from(types % 3)],
        weight: [WeightType::None, WeightType::Float, WeightType::Int][usize::from(types / 3) % 3],
        ..EdgeOptions::default()
    };
    let bytes = bytes.to_vec();
    let reader =
        ingest::parquet_edges::ReadAt::new(bytes.len() as u64, move |at, buffer: &mut [u8]| {
            let from = usize::try_from(at).ok().and_then(|at| bytes.get(at..at + buffer.len()));
            match from {
                Some(from) => buffer.copy_from_slice(from),
                None => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            }
            Ok(())
        });
    let Ok(edges) = ingest::parquet_edges::ParquetEdges::open(reader, "fuzz", &options) else {
        return;
    };
    for group in 0..edges.row_group_count().min(4) {
        let _ = edges.read_row_group(group);
    }
}

/// A backup in one file, which is restored.
pub fn archive(data: &[u8]) {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let put = || -> env::Result<()> {
        env.create_folder(Path::new("/from"))?;
        env.create(Path::new("/from/a.qbak"))?.append(data)
    };
    if put().is_err() {
        return;
    }
    let (from, to) = (Path::new("/from/a.qbak"), Path::new("/to/db"));
    let _ = kv::restore(&env, from, to, RestoreOptions::default(), &|_, _| true);
}

/// A script: it is parsed, and its query is planned over a few relations. It is not run, because it
/// may rightly take forever.
pub fn script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = syntax::parse(text);
    if let Err(mistakes) = &read {
        assert!(!mistakes.is_empty(), "a text without a tree has a mistake");
        mistakes.iter().for_each(|mistake| drop(mistake.render(text)));
    }
    let Some(database) = small_database() else { return };
    if let Err(error) = database.run(&format!("::explain {{{text}}}"), &Parameters::default()) {
        drop(error.to_string());
    }
}

fn small_database() -> Option<&'static Database> {
    static DATABASE: OnceLock<Option<Database>> = OnceLock::new();
    let made = DATABASE.get_or_init(|| {
        let options = Options { threads: 1, ..Options::default() };
        let database = Database::in_memory(options).ok()?;
        for relation in SMALL_RELATIONS {
            database.run(relation, &Parameters::default()).ok()?;
        }
        Some(database)
    });
    made.as_ref()
}

/// Relations that the seeds use.
const SMALL_RELATIONS: [&str; 5] = [
    "?[code, name] <- [['a', 'A'], ['b', 'B']] :create airport {code => name}",
    "?[fr, to, dist] <- [['a', 'b', 1.5]] :create route {fr, to => dist}",
    "?[a, b] <- [[1, 2], [2, 3], [3, 1]] :create edge {a: Int, b: Int}",
    "::index create edge:back {b, a}",
    "?[id, at, v] <- [[1, 'ASSERT', 2]] :create history {id: Int, at: Validity => v: Int}",
];
