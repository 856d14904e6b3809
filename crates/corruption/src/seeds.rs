//! Initial inputs of fuzzing, made from bytes that the engine writes. Each public function makes
//! those of one target in `targets.rs`; `examples/seeds.rs` writes them to files.

use crate::specimen::{FOLDER, Specimen, image};
use base::{BytesColumn, Validity};
use env::{Env, MemoryEnv};
use ingest::parquet_edges::ParquetEdgeWriter;
use ingest::{EdgeChunk, TextEdgeWriter, VertexType, WeightType, Weights};
use lsm::codec;
use lsm::manifest::{AddedKeyspace, VersionEdit};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// One column in each encoding that the codecs choose, after the four bytes that the target reads
/// first: codec, number of rows, distance between rows that are read one by one.
pub fn codecs() -> Vec<Vec<u8>> {
    let rows = 300_u64;
    let columns: [Vec<u64>; 6] = [
        vec![7; rows as usize],
        (0..rows).map(|i| 1000 + i % 50).collect(),
        (0..rows).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect(),
        (0..rows).map(|i| base::float_to_word(i as f64 / 100.0)).collect(),
        (0..rows).map(|i| [3, 1 << 60, 9][i as usize % 3]).collect(),
        (0..rows).map(|i| i * i).collect(),
    ];
    let head = |codec: u8| [&[codec][..], &(rows as u16).to_le_bytes(), &[3]].concat();
    let mut all = Vec::new();
    for column in &columns {
        let mut out = head(0);
        codec::words::encode(column, &mut out);
        all.push(out);
    }
    for repeat in [0, 1, 9] {
        let mut texts = BytesColumn::default();
        (0..rows).for_each(|i| texts.push(Some(format!("{i:04}").repeat(repeat).as_bytes())));
        let mut out = head(1);
        codec::bytes::encode(&texts, 0..rows as usize, true, &mut out);
        all.push(out);
    }
    let mut validity = Validity::default();
    (0..rows as usize).for_each(|i| validity.push(i, i % 7 != 2));
    let mut out = head(2);
    codec::bitmap::encode(&validity, 0..rows as usize, &mut out);
    all.push(out);
    for words in 1..=3_u64 {
        let mut out = head(3 + 5 * (words as u8 - 1));
        let keys: Vec<Vec<u64>> = (0..words)
            .map(|w| {
                (0..rows).map(|i| if w + 1 == words { i * 3 } else { i >> (6 - 2 * w) }).collect()
            })
            .collect();
        codec::runs::encode_keys(&keys, 0..rows as usize, &mut out);
        all.push(out);
    }
    let mut filter = codec::filter::FilterBuilder::new();
    (0..rows).for_each(|i| filter.add_hash(codec::filter::hash_words(&[i])));
    let mut out = head(4);
    filter.finish(10, &mut out);
    all.push(out);
    all
}

/// Manifest edits, and keyspace definitions.
pub fn edits() -> Vec<Vec<u8>> {
    let image = image();
    let manifest = image.files.iter().find(|(path, _)| path.to_string_lossy().contains("MANIFEST"));
    let bytes = manifest.map_or(&[][..], |(_, bytes)| bytes);
    // After the file's header come frames, whose first 16 bytes begin with the edit's length.
    let (mut at, mut all) = (16, Vec::new());
    while let Some(frame) = bytes.get(at..at + 4) {
        let len = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize;
        all.extend(bytes.get(at + 16..at + 16 + len).map(<[u8]>::to_vec));
        at += 16 + len;
    }
    let added = AddedKeyspace {
        id: base::KeyspaceId(9),
        name: "k".into(),
        shape: base::Shape {
            key: base::KeyShape::Bytes,
            values: vec![base::ColumnShape::Bytes; 3],
        },
        definition: vec![1, 0, 1],
    };
    let edit = VersionEdit {
        keyspaces_added: vec![added],
        last_seq: Some(base::SeqNo(9)),
        ..VersionEdit::default()
    };
    all.push(edit.encode());
    all
}

fn chunk(vertex: VertexType, weight: WeightType) -> EdgeChunk {
    let mut chunk = EdgeChunk::default();
    chunk.reset(weight);
    for i in 0..60_u64 {
        if vertex == VertexType::Str {
            chunk.src_str.push(&format!("v{}", i / 3));
            chunk.dst_str.push(["", "a \"quoted\" name", "x,y", "plain"][i as usize % 4]);
        } else {
            chunk.src.push(i / 3);
            chunk.dst.push(i * i);
        }
        match &mut chunk.weights {
            Weights::None => {}
            Weights::Float(weights) => weights.push(i as f64 / 8.0),
            Weights::Int(weights) => weights.push(i as i64 - 30),
        }
    }
    chunk
}

const VERTICES: [VertexType; 3] = [VertexType::U64, VertexType::I64, VertexType::Str];
const WEIGHTS: [WeightType; 3] = [WeightType::None, WeightType::Float, WeightType::Int];

fn kinds() -> impl Iterator<Item = (u8, VertexType, WeightType)> {
    (0..9_u8).map(|i| (i, VERTICES[usize::from(i % 3)], WEIGHTS[usize::from(i / 3)]))
}

/// Text imports of each type and delimiter, plain and compressed.
pub fn texts() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (types, vertex, weight) in kinds() {
        for (dialect, delimiter) in [(0, b','), (2, b'\t'), (4, b';')] {
            let writer = TextEdgeWriter::new(delimiter, vertex, weight);
            let mut out = Vec::new();
            writer.header(&mut out);
            writer.edges(&chunk(vertex, weight), &mut out);
            all.push([&[types, dialect, 5, 0], &out[..]].concat());
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            if dialect == 0 && gzip.write_all(&out).is_ok() {
                let packed = gzip.finish().unwrap_or_default();
                all.push([&[types | 0x80, 0, 200, 0], &packed[..]].concat());
                let packed = zstd::encode_all(&out[..], 1).unwrap_or_default();
                all.push([&[types, 0, 200, 0], &packed[..]].concat());
            }
        }
    }
    all.push(b"\x02\x03\x09\x00# comment\n% other\n\xef\xbb\xbfa b 1\n\"c\nd\" e 2\r\n".to_vec());
    all
}

/// A Parquet file of each type.
pub fn parquets() -> Vec<Vec<u8>> {
    let write = |(types, vertex, weight): (u8, VertexType, WeightType)| {
        let mut writer = ParquetEdgeWriter::new(vec![types], vertex, weight).ok()?;
        writer.write(&chunk(vertex, weight)).ok()?;
        // Offsets in a Parquet file count from its first byte, so the types are prepended
        // afterwards.
        let mut file = writer.finish().ok()?;
        file.remove(0);
        file.insert(0, types);
        Some(file)
    };
    kinds().filter_map(write).collect()
}

/// A backup of the specimen in one file.
pub fn archives() -> Vec<Vec<u8>> {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let path = Path::new("/out/a.qbak");
    let made = || -> store::Result<Vec<u8>> {
        let specimen = Specimen::new(&env, Path::new(FOLDER))?;
        specimen.fill()?;
        let io = |error| store::Error::caused(store::ErrorKind::Io, error);
        env.create_folder(Path::new("/out")).map_err(io)?;
        let options = kv::BackupOptions::default();
        specimen.store.backup(&env, path, &options, &|_, _| true)?;
        env.read_file(path).map_err(io)
    };
    match made() {
        Ok(archive) => vec![archive],
        Err(error) => panic!("the specimen cannot be backed up: {error}"),
    }
}

/// Scripts with every construct, from the tests of the language.
pub fn scripts() -> Vec<Vec<u8>> {
    let all = include_str!("../../syntax/src/tests/scripts.txt");
    all.split("\n---\n").map(|script| script.as_bytes().to_vec()).collect()
}
