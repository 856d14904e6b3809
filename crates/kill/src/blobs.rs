//! Operations on blobs as a function of seed, stream and number, and the required contents of the
//! database after a kill.
//!
//! The bytes of a value are derived from its key, the number of its operation and its length. So a
//! torn value, a value of another key and an older value can be told from the right one without
//! storing any. Each stream has blobs of its own.
//!
//! # Why half of the databases have little memory
//! A value that fits into a transaction is committed together with its chunks. With 256 KiB of
//! memory hardly any long value does, so they are written in pieces under a note, which the next
//! open finds after a kill.

use crate::database::{text, tiny_options};
use crate::ops::{Random, STREAMS};
use crate::outcome::Outcome;
use crate::verifier::{Checked, Compared, KillPlan, Verifier, VerifyMode};
use crate::worker::Worker;
use quipu::{
    BlobOptions, BlobRows, BlobWriter, Blobs, BytesColumn, Check, Database, Durability, Isolation,
    KeyList, KeyType, Options,
};
use std::collections::BTreeMap;

/// The number of keys: few, so that most writes replace or delete a value.
const KEYS: u64 = 40;

/// A value of this length or more is cut into chunks of [`CHUNK_BYTES`].
const LARGE_BYTES_MIN: u64 = 16 << 10;
const CHUNK_BYTES: u64 = 256 << 10;

/// Memory limit of a database whose transactions can hold long values.
const ROOMY_BYTES: u64 = 32 << 20;

/// A value, from which its bytes are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value {
    key: u64,
    number: u32,
    bytes: usize,
}

impl Value {
    /// The bytes of the value.
    fn derive(self, stream: usize) -> Vec<u8> {
        let seed = self.key << 48 ^ u64::from(self.number) << 8 ^ stream as u64;
        let mut random = Random::new(seed ^ (self.bytes as u64) << 32);
        let mut bytes = Vec::with_capacity(self.bytes + 8);
        while bytes.len() < self.bytes {
            bytes.extend(random.next().to_le_bytes());
        }
        bytes.truncate(self.bytes);
        bytes
    }
}

/// The state that a stream has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    rows: BTreeMap<u64, Value>,
    /// A value whose writer stays open while other operations run.
    held: Option<Value>,
}

/// One operation.
#[derive(Clone, Debug)]
enum Op {
    Put(Value),
    PutMany(Vec<Value>),
    Delete(u64),
    DeleteMany(Vec<u64>),
    Discard(u64),
    /// Writes a value in pieces of `piece` bytes, and finishes it or drops the writer.
    Write {
        value: Value,
        piece: usize,
        finish: bool,
    },
    /// Writes the first half of a value, and keeps the writer open.
    Hold(Value),
    /// Writes the second half, and finishes the value or drops the writer.
    Release {
        finish: bool,
    },
    Transaction {
        puts: Vec<Value>,
        deletes: Vec<u64>,
    },
    Clear,
    Flush,
    Compact,
    Check,
}

impl Op {
    fn of(seed: u64, stream: usize, number: u32) -> Self {
        let mut random = Random::new(seed ^ (stream as u64) << 61 ^ u64::from(number) << 20);
        let roomy = is_roomy(seed);
        let any = |random: &mut Random| value(random, number, Length::Any);
        // A value that does not fit into a commit can only be written by a single put.
        let fits = if roomy { Length::Any } else { Length::Short };
        match random.below(1000) {
            0..360 => Self::Put(any(&mut random)),
            360..440 => Self::PutMany(values(&mut random, number, fits)),
            440..540 => Self::Delete(random.below(KEYS)),
            540..580 => Self::DeleteMany(keys(&mut random)),
            580..620 => Self::Discard(random.below(KEYS)),
            620..740 => Self::Write {
                value: value(&mut random, number, Length::Long),
                piece: 1 + random.below(400 << 10) as usize,
                finish: random.below(3) > 0,
            },
            740..790 => Self::Hold(value(&mut random, number, Length::Long)),
            790..840 => Self::Release { finish: random.below(3) > 0 },
            840..900 => Self::Transaction {
                puts: values(&mut random, number, fits),
                deletes: keys(&mut random),
            },
            900..920 => Self::Clear,
            920..950 => Self::Flush,
            950..958 => Self::Compact,
            958..966 => Self::Check,
            966.. => Self::Put(any(&mut random)),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Put(value) if value.bytes as u64 >= LARGE_BYTES_MIN => "long value",
            Self::Put(_) | Self::Delete(_) | Self::Discard(_) => "write",
            Self::PutMany(_) | Self::DeleteMany(_) => "many at once",
            Self::Write { .. } | Self::Hold(_) | Self::Release { .. } => "write in pieces",
            Self::Transaction { .. } => "transaction",
            Self::Clear => "clear",
            Self::Flush => "flush",
            Self::Compact => "compaction",
            Self::Check => "check",
        }
    }

    /// Applies the operation to a plain map.
    fn apply(&self, state: &mut State) {
        let State { rows, held } = state;
        match self {
            Self::Put(value) | Self::Write { value, finish: true, .. } => {
                rows.insert(value.key, *value);
            }
            Self::PutMany(values) => rows.extend(values.iter().map(|value| (value.key, *value))),
            Self::Delete(key) | Self::Discard(key) => drop(rows.remove(key)),
            Self::DeleteMany(keys) => rows.retain(|key, _| !keys.contains(key)),
            Self::Hold(value) => *held = Some(*value),
            Self::Release { finish } => {
                rows.extend(held.take().filter(|_| *finish).map(|value| (value.key, value)));
            }
            Self::Transaction { puts, deletes } => {
                rows.extend(puts.iter().map(|value| (value.key, *value)));
                rows.retain(|key, _| !deletes.contains(key));
            }
            Self::Clear => rows.clear(),
            Self::Write { finish: false, .. } | Self::Flush | Self::Compact | Self::Check => {}
        }
    }
}

/// Which lengths of values are drawn.
#[derive(Clone, Copy, Debug)]
enum Length {
    Any,
    Short,
    Long,
}

fn value(random: &mut Random, number: u32, length: Length) -> Value {
    let kind = match length {
        Length::Any => random.below(100),
        Length::Short => random.below(70),
        Length::Long => 60 + random.below(40),
    };
    let bytes = match kind {
        0..45 => random.below(12),
        45..70 => 1 << 10,
        // Around the limit for chunks, and around multiples of a chunk.
        70..75 => LARGE_BYTES_MIN - 1 + random.below(3),
        75..80 => (1 + random.below(2)) * CHUNK_BYTES - 1 + random.below(3),
        80..96 => LARGE_BYTES_MIN + random.below(400 << 10),
        _ => (1 << 20) + random.below(2 << 20),
    };
    Value { key: random.below(KEYS), number, bytes: bytes as usize }
}

/// One to eight values. If a key occurs several times, its last value counts.
fn values(random: &mut Random, number: u32, length: Length) -> Vec<Value> {
    let count = 1 + random.below(8);
    let mut values: Vec<_> = (0..count).map(|_| value(random, number, length)).collect();
    // At most one of them is long, so that they fit into a commit together.
    let long = values.iter().position(|value| value.bytes as u64 >= LARGE_BYTES_MIN);
    values.iter_mut().enumerate().filter(|(i, _)| Some(*i) != long).for_each(|(_, value)| {
        value.bytes = value.bytes.min(1 << 10);
    });
    values
}

fn keys(random: &mut Random) -> Vec<u64> {
    (0..1 + random.below(6)).map(|_| random.below(KEYS)).collect()
}

fn is_roomy(seed: u64) -> bool {
    Random::new(seed ^ 0xb10b).below(2) == 0
}

/// Options of the database with this seed.
pub(crate) fn options(seed: u64, durability: Durability) -> Options {
    let tiny = tiny_options(durability);
    let memory_limit_bytes = if is_roomy(seed) { ROOMY_BYTES } else { tiny.memory_limit_bytes };
    Options { memory_limit_bytes, ..tiny }
}

fn blobs_name(stream: usize) -> String {
    format!("blobs{stream}")
}

/// The worker of one stream in a child.
pub(crate) struct Writer {
    db: Database,
    seed: u64,
    stream: usize,
    blobs: Option<Blobs>,
    held: Option<(Value, BlobWriter)>,
}

impl Writer {
    pub(crate) fn new(db: Database, seed: u64, stream: usize) -> Self {
        Self { db, seed, stream, blobs: None, held: None }
    }

    fn put_many(&self, blobs: &Blobs, values: &[Value]) -> Outcome<()> {
        let keys: Vec<u64> = values.iter().map(|value| value.key).collect();
        let mut column = BytesColumn::default();
        values.iter().for_each(|value| column.push(Some(&value.derive(self.stream))));
        blobs.put_many(KeyList::U64(&keys), &column).map_err(text)
    }

    fn release(&mut self, finish: bool) -> Outcome<()> {
        let Some((value, mut writer)) = self.held.take() else { return Ok(()) };
        let bytes = value.derive(self.stream);
        writer.append(&bytes[bytes.len() / 2..]).map_err(text)?;
        if finish { writer.finish().map_err(text) } else { Ok(()) }
    }
}

impl Worker for Writer {
    fn open(&mut self) -> Outcome<()> {
        let blobs = self.db.blobs(&blobs_name(self.stream), BlobOptions::default());
        self.blobs = Some(blobs.map_err(text)?);
        Ok(())
    }

    fn name(&self, number: u32) -> &'static str {
        Op::of(self.seed, self.stream, number).name()
    }

    fn perform(&mut self, number: u32) -> Outcome<()> {
        let blobs = self.blobs.clone().ok_or("the blobs are not open")?;
        match Op::of(self.seed, self.stream, number) {
            Op::Put(value) => blobs.put(value.key, &value.derive(self.stream)).map_err(text),
            Op::PutMany(values) => self.put_many(&blobs, &values),
            Op::Delete(key) => blobs.delete(key).map(drop).map_err(text),
            Op::DeleteMany(keys) => {
                blobs.delete_many(KeyList::U64(&keys), &mut Vec::new()).map_err(text)
            }
            Op::Discard(key) => blobs.discard(key).map_err(text),
            Op::Write { value, piece, finish } => {
                let mut writer = blobs.writer(value.key).map_err(text)?;
                for piece in value.derive(self.stream).chunks(piece) {
                    writer.append(piece).map_err(text)?;
                }
                if finish { writer.finish().map_err(text) } else { Ok(()) }
            }
            Op::Hold(value) => {
                let mut writer = blobs.writer(value.key).map_err(text)?;
                let bytes = value.derive(self.stream);
                writer.append(&bytes[..bytes.len() / 2]).map_err(text)?;
                self.held = Some((value, writer));
                Ok(())
            }
            Op::Release { finish } => self.release(finish),
            Op::Transaction { puts, deletes } => {
                let tx = self.db.transaction(Isolation::Snapshot);
                let inside = tx.blobs(blobs.name()).map_err(text)?;
                self.put_many(&inside, &puts)?;
                inside.delete_many(KeyList::U64(&deletes), &mut Vec::new()).map_err(text)?;
                tx.commit().map_err(text)
            }
            Op::Clear => blobs.clear().map_err(text),
            Op::Flush => self.db.flush().map_err(text),
            Op::Compact => self.db.compact().map_err(text),
            Op::Check => self.db.check(&|_, _| true).map(drop).map_err(text),
        }
    }
}

/// Knows what must be in the blobs.
pub(crate) struct BlobsVerifier {
    seed: u64,
    states: [State; STREAMS],
}

impl BlobsVerifier {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, states: Default::default() }
    }
}

impl Verifier for BlobsVerifier {
    fn name(&self, stream: usize, number: u32) -> &'static str {
        Op::of(self.seed, stream, number).name()
    }

    fn draw_plan(&self, random: &mut Random) -> KillPlan {
        let durability = ["os", "sync"][random.below(2) as usize];
        KillPlan { durability, steps_max: 80, life_us_max: 60_000 }
    }

    fn starts(&mut self, _: Durability) {
        self.states.iter_mut().for_each(|state| state.held = None);
    }

    fn begins(&mut self, _: usize, _: u32) {}

    fn done(&mut self, stream: usize, number: u32) {
        Op::of(self.seed, stream, number).apply(&mut self.states[stream]);
    }

    fn is_empty(&self) -> bool {
        self.states.iter().all(|state| state.rows.is_empty())
    }

    fn compare(&mut self, db: &Database, next: &mut [u32; STREAMS]) -> Outcome<Compared> {
        let mut compared = Compared::default();
        for (stream, next) in next.iter_mut().enumerate() {
            let found = read(db, stream)?;
            compared.values += found.len() as u64;
            let state = &mut self.states[stream];
            let without = difference(&state.rows, &found, stream);
            let Some(without) = without else { continue };
            let op = Op::of(self.seed, stream, *next);
            op.apply(state);
            if let Some(with) = difference(&state.rows, &found, stream) {
                return Err(format!(
                    "WRONG: stream {stream} before operation {next}, {op:?}:\nwithout it: {without}\nwith it: {with}"
                ));
            }
            *next += 1;
        }
        Ok(compared)
    }

    fn checked(&mut self, db: &Database, check: &Check, mode: VerifyMode) -> Outcome<Checked> {
        let unused: u64 = check.blobs.iter().map(|(_, blobs)| blobs.unused).sum();
        let rows: u64 = check.blobs.iter().map(|(_, blobs)| blobs.rows).sum();
        let expected: usize = self.states.iter().map(|state| state.rows.len()).sum();
        if rows != expected as u64 {
            return Err(format!("WRONG: a check found {rows} blobs, there are {expected}"));
        }
        if mode == VerifyMode::ReadOnly {
            return Ok(Checked { unfinished_values: unused });
        }
        if unused > 0 {
            return Err(format!("WRONG: an opening left the chunks of {unused} values"));
        }
        for stream in 0..STREAMS {
            let Some(blobs) = db.existing_blobs(&blobs_name(stream)).map_err(text)? else {
                continue;
            };
            let removed = blobs.collect_garbage().map_err(text)?;
            if removed > 0 {
                return Err(format!("WRONG: garbage of {removed} values in {}", blobs.name()));
            }
        }
        Ok(Checked::default())
    }
}

/// Reads the blobs of a stream: by a scan, and again one by one, long ones also in pieces.
fn read(db: &Database, stream: usize) -> Outcome<BTreeMap<u64, Vec<u8>>> {
    let name = blobs_name(stream);
    let wrong = |what: String| format!("WRONG: {name}: {what}");
    let told = |error: quipu::Error| wrong(error.to_string());
    let mut found = BTreeMap::new();
    let Some(blobs) = db.existing_blobs(&name).map_err(told)? else { return Ok(found) };
    let mut scan = blobs.range(None, None).map_err(told)?;
    let mut rows = BlobRows::new(KeyType::U64);
    while scan.next_rows(16, &mut rows).map_err(told)? {
        for (i, key) in rows.words().iter().enumerate() {
            found.insert(*key, rows.value(i).to_vec());
        }
    }
    if blobs.len().map_err(told)? != found.len() as u64 {
        return Err(wrong(format!("counts {:?} blobs and has {}", blobs.len(), found.len())));
    }
    let mut bytes = Vec::new();
    for key in 0..KEYS {
        let there = blobs.get(key, &mut bytes).map_err(told)?;
        if found.get(&key) != there.then_some(&bytes) {
            return Err(wrong(format!("a scan and a look-up of {key} disagree")));
        }
        let reader = blobs.reader(key).map_err(told)?;
        if let Some(mut reader) = reader.filter(|reader| reader.len() >= LARGE_BYTES_MIN) {
            let mut piece = Vec::new();
            let mut at = 0;
            while at < bytes.len() {
                reader.take_bytes(100_000, &mut piece).map_err(told)?;
                if piece.is_empty() || !bytes[at..].starts_with(&piece) {
                    return Err(wrong(format!("pieces of {key} and its value disagree at {at}")));
                }
                at += piece.len();
            }
        }
    }
    Ok(found)
}

/// The first difference; `None` if there is none.
fn difference(
    wanted: &BTreeMap<u64, Value>,
    found: &BTreeMap<u64, Vec<u8>>,
    stream: usize,
) -> Option<String> {
    let lost = wanted.keys().filter(|key| !found.contains_key(key)).count();
    let extra = found.keys().filter(|key| !wanted.contains_key(key)).count();
    let is_other = |(key, value): &(&u64, &Value)| {
        found.get(key).is_some_and(|found| *found != value.derive(stream))
    };
    let differ: Vec<_> = wanted.iter().filter(is_other).map(|(_, value)| *value).collect();
    if lost + extra + differ.len() == 0 {
        return None;
    }
    let first = differ.first().map(|value| {
        let bytes = found.get(&value.key).map_or(0, Vec::len);
        format!(", such as {value:?}, which has {bytes} bytes")
    });
    Some(format!(
        "{lost} lost, {extra} too many, {} with other bytes of {}{}",
        differ.len(),
        wanted.len(),
        first.unwrap_or_default()
    ))
}
