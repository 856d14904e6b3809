//! Rows of relations with an index of each kind: operations as a function of seed, stream and
//! number, and the rows, indexes and searches that must be there after a kill.
//!
//! Each stream has a relation of its own. An operation that makes an index anew may be killed
//! between its two steps; then the index is missing, and the next child makes it.

use crate::database::{text, tiny_options};
use crate::ops::{Random, STREAMS};
use crate::outcome::Outcome;
use crate::verifier::{Checked, Compared, KillPlan, Verifier, VerifyMode};
use crate::worker::Worker;
use quipu::{Check, Database, Durability, Options, Parameters, Value};
use std::collections::{BTreeMap, BTreeSet};
use testkit::indexed_rows::{COLUMNS, INDEXES, IndexedRow};

/// The number of keys: few, so that most writes replace or remove a row.
const KEYS: u64 = 30;

/// Memory limit of a database. A build of a vector index needs more than the others have.
const MEMORY_BYTES: u64 = 4 << 20;

const TEXTS: [&str; 6] = ["a", "a b", "b c", "a b c", "c", ""];

/// A row but for its key; each column may be null.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    text: Option<&'static str>,
    v: Option<[u64; 2]>,
    city: Option<u64>,
    /// The number of the operation and the key, which no other row has.
    once: Option<u64>,
}

type Rows = BTreeMap<u64, Row>;

/// One operation.
#[derive(Clone, Debug)]
enum Op {
    Put(Rows),
    Remove(BTreeSet<u64>),
    /// Sets the text of all rows from a key on.
    Rewrite(u64, &'static str),
    /// Sets the vector of all rows from a key on.
    Move(u64, [u64; 2]),
    /// Puts and removes in one transaction.
    Transaction(Rows, BTreeSet<u64>),
    /// Drops the index of this number and makes it anew.
    Index(usize),
    Flush,
    Compact,
    Check,
}

impl Op {
    fn of(seed: u64, stream: usize, number: u32) -> Self {
        let mut random = Random::new(seed ^ (stream as u64) << 61 ^ u64::from(number) << 20);
        let first_key = |random: &mut Random| random.below(KEYS);
        match random.below(100) {
            0..40 => Self::Put(rows(&mut random, number)),
            40..55 => Self::Remove(keys(&mut random)),
            55..62 => {
                let text = TEXTS[random.below(TEXTS.len() as u64) as usize];
                Self::Rewrite(first_key(&mut random), text)
            }
            62..69 => {
                let v = [random.below(4), random.below(4)];
                Self::Move(first_key(&mut random), v)
            }
            69..85 => Self::Transaction(rows(&mut random, number), keys(&mut random)),
            85..92 => Self::Index(random.below(INDEXES.len() as u64) as usize),
            92..96 => Self::Flush,
            96..98 => Self::Compact,
            _ => Self::Check,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Put(_) | Self::Remove(_) | Self::Rewrite(..) | Self::Move(..) => "write",
            Self::Transaction(..) => "transaction",
            Self::Index(_) => "create and drop",
            Self::Flush => "flush",
            Self::Compact => "compaction",
            Self::Check => "check",
        }
    }

    /// Applies the operation to a plain map.
    fn apply(&self, state: &mut Rows) {
        match self {
            Self::Put(rows) => state.extend(rows.clone()),
            Self::Remove(keys) => state.retain(|key, _| !keys.contains(key)),
            Self::Rewrite(first, text) => {
                state.range_mut(first..).for_each(|(_, row)| row.text = Some(text));
            }
            Self::Move(first, v) => {
                state.range_mut(first..).for_each(|(_, row)| row.v = Some(*v));
            }
            Self::Transaction(rows, keys) => {
                state.extend(rows.clone());
                state.retain(|key, _| !keys.contains(key));
            }
            Self::Index(_) | Self::Flush | Self::Compact | Self::Check => {}
        }
    }
}

fn rows(random: &mut Random, number: u32) -> Rows {
    let count = 1 + random.below(8);
    let row = |random: &mut Random, key: u64| Row {
        text: (random.below(5) > 0).then(|| TEXTS[random.below(TEXTS.len() as u64) as usize]),
        v: (random.below(5) > 0).then(|| [random.below(4), random.below(4)]),
        city: (random.below(5) > 0).then(|| random.below(3)),
        once: (random.below(5) > 0).then(|| u64::from(number) * KEYS + key),
    };
    let keyed = |random: &mut Random| {
        let key = random.below(KEYS);
        (key, row(random, key))
    };
    (0..count).map(|_| keyed(random)).collect()
}

fn keys(random: &mut Random) -> BTreeSet<u64> {
    (0..1 + random.below(6)).map(|_| random.below(KEYS)).collect()
}

/// Options of the database.
pub(crate) fn options(durability: Durability) -> Options {
    Options { memory_limit_bytes: MEMORY_BYTES, ..tiny_options(durability) }
}

fn relation_name(stream: usize) -> String {
    format!("rows{stream}")
}

/// The rows of a script.
fn run(db: &Database, script: &str) -> Outcome<Vec<Vec<Value>>> {
    let answer = db.run(script, &Parameters::new());
    let answer = answer.map_err(|error| format!("{script}: {error}"))?;
    Ok(answer.rows().collect())
}

/// The worker of one stream in a child.
pub(crate) struct Writer {
    db: Database,
    seed: u64,
    stream: usize,
    relation: String,
}

impl Writer {
    pub(crate) fn new(db: Database, seed: u64, stream: usize) -> Self {
        Self { db, seed, stream, relation: relation_name(stream) }
    }

    fn execute(&self, script: &str) -> Outcome<()> {
        run(&self.db, script).map(drop)
    }
}

fn put(relation: &str, rows: &Rows) -> String {
    let row = |(key, Row { text, v, city, once }): (&u64, &Row)| {
        let text = text.map_or("null".to_owned(), |text| format!("'{text}'"));
        let v = v.map_or("null".to_owned(), |[x, y]| format!("[{x}, {y}]"));
        let more = city.map_or("null".to_owned(), |city| format!("{{\"city\": {city}}}"));
        let once = once.map_or("null".to_owned(), |once| once.to_string());
        format!("[{key}, {text}, {v}, {more}, {once}]")
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    let rows = rows.join(", ");
    let columns = "text, v, more, once";
    format!("{{ ?[k, {columns}] <- [{rows}] :put {relation} {{k => {columns}}} }}")
}

fn remove(relation: &str, keys: &BTreeSet<u64>) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("[{key}]")).collect();
    format!("{{ ?[k] <- [{}] :rm {relation} {{k}} }}", keys.join(", "))
}

impl Worker for Writer {
    fn open(&mut self) -> Outcome<()> {
        if self.db.relation(&self.relation).is_err() {
            self.execute(&format!(":create {} {COLUMNS}", self.relation))?;
        }
        let there = indexes(&self.db, self.stream)?;
        for index in INDEXES {
            if !there.contains(index.name) {
                self.execute(&index.create_on(&self.relation))?;
            }
        }
        Ok(())
    }

    fn name(&self, number: u32) -> &'static str {
        Op::of(self.seed, self.stream, number).name()
    }

    fn perform(&mut self, number: u32) -> Outcome<()> {
        let relation = &*self.relation;
        match Op::of(self.seed, self.stream, number) {
            Op::Put(rows) => self.execute(&put(relation, &rows)),
            Op::Remove(keys) => self.execute(&remove(relation, &keys)),
            Op::Rewrite(first, text) => self.execute(&format!(
                "?[k, text] := *{relation}{{k}}, k >= {first}, text = '{text}' \
                 :update {relation} {{k => text}}"
            )),
            Op::Move(first, [x, y]) => self.execute(&format!(
                "?[k, v] := *{relation}{{k}}, k >= {first}, v = vec([{x}, {y}]) \
                 :update {relation} {{k => v}}"
            )),
            Op::Transaction(rows, keys) => {
                self.execute(&(put(relation, &rows) + &remove(relation, &keys)))
            }
            Op::Index(index) => {
                self.execute(&INDEXES[index].drop_on(relation))?;
                self.execute(&INDEXES[index].create_on(relation))
            }
            Op::Flush => self.db.flush().map_err(text),
            Op::Compact => self.db.compact().map_err(text),
            Op::Check => self.db.check(&|_, _| true).map(drop).map_err(text),
        }
    }
}

/// The names of a relation's indexes, without the relation's.
fn indexes(db: &Database, stream: usize) -> Outcome<BTreeSet<String>> {
    let listed = run(db, &format!("::indices {}", relation_name(stream)))?;
    let name = |row: Vec<Value>| match row.into_iter().next() {
        Some(Value::Str(name)) => Ok(name),
        other => Err(format!("an index called {other:?}")),
    };
    listed.into_iter().map(name).collect()
}

/// Knows what must be in the relations.
pub(crate) struct RowsVerifier {
    seed: u64,
    states: [Rows; STREAMS],
}

impl RowsVerifier {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, states: Default::default() }
    }
}

impl Verifier for RowsVerifier {
    fn name(&self, stream: usize, number: u32) -> &'static str {
        Op::of(self.seed, stream, number).name()
    }

    fn draw_plan(&self, random: &mut Random) -> KillPlan {
        let durability = ["os", "sync"][random.below(2) as usize];
        KillPlan { durability, steps_max: 80, life_us_max: 100_000 }
    }

    fn starts(&mut self, _: Durability) {}

    fn begins(&mut self, _: usize, _: u32) {}

    fn done(&mut self, stream: usize, number: u32) {
        Op::of(self.seed, stream, number).apply(&mut self.states[stream]);
    }

    fn is_empty(&self) -> bool {
        self.states.iter().all(BTreeMap::is_empty)
    }

    fn compare(&mut self, db: &Database, next: &mut [u32; STREAMS]) -> Outcome<Compared> {
        let mut compared = Compared::default();
        for (stream, next) in next.iter_mut().enumerate() {
            let state = &mut self.states[stream];
            // The kill came before the relation was made.
            if db.relation(&relation_name(stream)).is_err() && state.is_empty() {
                continue;
            }
            let found = read(db, stream)?;
            compared.values += found.len() as u64;
            if found != *state {
                let (without, op) = (state.clone(), Op::of(self.seed, stream, *next));
                op.apply(state);
                if found != *state {
                    return Err(format!(
                        "WRONG: stream {stream} before operation {next}, {op:?}: {found:?}\n\
                         without it: {without:?}\nwith it: {state:?}"
                    ));
                }
                *next += 1;
            }
            search(db, stream, &found)?;
        }
        Ok(compared)
    }

    fn checked(&mut self, _: &Database, check: &Check, _: VerifyMode) -> Outcome<Checked> {
        match check.graph_problems.first() {
            Some(problem) => Err(format!("WRONG: {problem}")),
            None => Ok(Checked::default()),
        }
    }
}

/// Reads the rows of a stream.
fn read(db: &Database, stream: usize) -> Outcome<Rows> {
    let script = format!(
        "?[k, text, v, city, once] := *{}{{k, text, v, more, once}}, city = get(more, 'city', null)",
        relation_name(stream)
    );
    let mut found = Rows::new();
    for row in run(db, &script)? {
        let wrong = || format!("WRONG: a row {row:?}");
        let whole = |value: &Value| match value {
            Value::Null => Ok(None),
            Value::Int(value) => u64::try_from(*value).map(Some).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        let [key, text, v, city, once] = row.as_slice() else { return Err(wrong()) };
        let text = match text {
            Value::Null => None,
            Value::Str(text) => Some(*TEXTS.iter().find(|known| *known == text).ok_or_else(wrong)?),
            _ => return Err(wrong()),
        };
        let v = match v.to_floats().as_deref() {
            None if *v == Value::Null => None,
            Some(&[x, y]) => Some([x as u64, y as u64]),
            _ => return Err(wrong()),
        };
        let row = Row { text, v, city: whole(city)?, once: whole(once)? };
        found.insert(whole(key)?.ok_or_else(wrong)?, row);
    }
    Ok(found)
}

/// Compares a search by each index that exists with the rows.
fn search(db: &Database, stream: usize, rows: &Rows) -> Outcome<()> {
    let relation = relation_name(stream);
    let there = indexes(db, stream)?;
    // One may be between its removal and its creation, or not made yet.
    if !rows.is_empty() && there.len() + 1 < INDEXES.len() {
        return Err(format!("WRONG: {relation} has the indexes {there:?} only"));
    }
    let seen = |row: &Row| IndexedRow {
        text: row.text,
        has_vector: row.v.is_some(),
        city: row.city.map(u64::cast_signed),
        once: row.once.map(u64::cast_signed),
    };
    for index in INDEXES.iter().filter(|index| there.contains(index.name)) {
        let found = run(db, &index.search_on(&relation))?;
        let want = rows.iter().filter(|(_, row)| (index.finds)(&seen(row)));
        let want = want.map(|(key, _)| vec![Value::Int(key.cast_signed())]);
        let want: Vec<Vec<Value>> = want.collect();
        if found != want {
            let name = index.name;
            return Err(format!("WRONG: {relation}:{name} finds {found:?}, not {want:?}"));
        }
    }
    Ok(())
}
