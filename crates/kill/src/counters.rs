//! Operations on counters as a function of seed, stream and number, and what must be in the
//! database after a kill.
//!
//! Each stream has counters of its own: integers with integer keys, and floats with string keys. In
//! addition both streams add to shared counters.
//!
//! # Checks
//! With `os` and `sync` an operation is a commit: an acknowledged one is counted exactly once, one
//! in flight once or not at all, as a whole. With `none` only the last flush is guaranteed: each
//! counter must have one of the values that it had since then, in the order of its changes. The
//! order of changes to a shared counter is not known, so its value must be between two bounds. The
//! next child starts from the values found after such a kill, because the open has made them
//! durable.

use crate::database::{text, tiny_options};
use crate::ops::{Random, STREAMS};
use crate::outcome::Outcome;
use crate::verifier::{Checked, Compared, KillPlan, Verifier, VerifyMode};
use crate::worker::Worker;
use quipu::{
    Check, CounterOptions, CounterRows, Counters, Database, Durability, ErrorKind, Isolation,
    KeyColumn, KeyList, KeyType, Number, NumberColumn, NumberList, NumberType, Options,
};
use std::collections::{BTreeMap, BTreeSet};

/// Keys that half of the operations use, and all keys: many, so that with `none` more increments
/// are buffered than the limit allows.
const FREQUENT_KEYS: u64 = 300;
const KEYS: u64 = 2_000;

/// One of the three maps of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Numbers,
    Texts,
    /// The counters of both streams, which are only added to.
    Shared,
}

impl Of {
    const ALL: [Self; 3] = [Self::Numbers, Self::Texts, Self::Shared];

    fn name(self, stream: usize) -> String {
        match self {
            Self::Numbers => format!("numbers{stream}"),
            Self::Texts => format!("texts{stream}"),
            Self::Shared => "shared".to_owned(),
        }
    }

    fn options(self) -> CounterOptions {
        match self {
            Self::Texts => CounterOptions {
                key: KeyType::Str,
                number: NumberType::Float,
                ..CounterOptions::default()
            },
            Self::Numbers | Self::Shared => CounterOptions::default(),
        }
    }
}

/// A change of one counter, or of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Add(u64, i64),
    Set(u64, i64),
    Remove(u64),
    Reset,
}

/// Counters with their values. Float counters only get whole numbers, whose sums are exact.
type Sums = BTreeMap<u64, i64>;

/// The state that a stream has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State([Sums; 3]);

impl State {
    fn of(&self, of: Of) -> &Sums {
        &self.0[of as usize]
    }

    fn change(&mut self, of: Of, change: Change) {
        let sums = &mut self.0[of as usize];
        match change {
            Change::Add(key, number) => *sums.entry(key).or_default() += number,
            Change::Set(key, number) => drop(sums.insert(key, number)),
            Change::Remove(key) => drop(sums.remove(&key)),
            Change::Reset => sums.clear(),
        }
    }
}

/// One operation.
#[derive(Clone, Debug)]
enum Op {
    /// One change in a call of its own.
    One(Of, Change),
    /// Several additions in one call.
    AddMany(Of, Vec<(u64, i64)>),
    /// Additions of 1 in one call.
    Ones(Of, Vec<u64>),
    Transaction(Vec<(Of, Change)>),
    /// Flushes the write buffer.
    Write(Of),
    Flush,
    Compact,
    Check,
}

impl Op {
    fn of(seed: u64, stream: usize, number: u32) -> Self {
        let mut random = Random::new(seed ^ (stream as u64) << 61 ^ u64::from(number) << 20);
        let of = Of::ALL[random.below(3) as usize];
        match random.below(1000) {
            0..500 => Self::One(of, add(&mut random, of)),
            500..700 => {
                let adds =
                    (0..1 + random.below(48)).map(|_| (key(&mut random), amount(&mut random, of)));
                Self::AddMany(of, adds.collect())
            }
            700..750 => {
                Self::Ones(of, (0..1 + random.below(48)).map(|_| key(&mut random)).collect())
            }
            750..900 => Self::One(of, change(&mut random, of)),
            900..970 => {
                let own = |random: &mut Random| [Of::Numbers, Of::Texts][random.below(2) as usize];
                let changes = (0..1 + random.below(12)).map(|_| {
                    let of = own(&mut random);
                    (of, change(&mut random, of))
                });
                Self::Transaction(changes.collect())
            }
            970..974 if of != Of::Shared => Self::One(of, Change::Reset),
            970..980 => Self::Write(of),
            // Without this, increments would seldom be in memory only.
            980.. if is_calm(seed) && random.below(12) > 0 => Self::One(of, add(&mut random, of)),
            980..990 => Self::Flush,
            990..994 => Self::Compact,
            994.. => Self::Check,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::One(_, Change::Reset) => "clear",
            Self::One(..) => "write",
            Self::AddMany(..) | Self::Ones(..) => "many at once",
            Self::Transaction(_) => "transaction",
            Self::Write(_) | Self::Flush => "flush",
            Self::Compact => "compaction",
            Self::Check => "check",
        }
    }

    /// Its changes, in order.
    fn changes(&self) -> Vec<(Of, Change)> {
        match self {
            Self::One(of, change) => vec![(*of, *change)],
            Self::AddMany(of, adds) => {
                adds.iter().map(|&(key, number)| (*of, Change::Add(key, number))).collect()
            }
            Self::Ones(of, keys) => keys.iter().map(|&key| (*of, Change::Add(key, 1))).collect(),
            Self::Transaction(changes) => changes.clone(),
            Self::Write(_) | Self::Flush | Self::Compact | Self::Check => Vec::new(),
        }
    }

    fn apply(&self, state: &mut State) {
        self.changes().into_iter().for_each(|(of, change)| state.change(of, change));
    }
}

fn key(random: &mut Random) -> u64 {
    let keys = [FREQUENT_KEYS, KEYS][random.below(2) as usize];
    random.below(keys)
}

/// Additions to shared counters are positive, so that the bounds hold in any order.
fn amount(random: &mut Random, of: Of) -> i64 {
    let amount = 1 + random.below(1000) as i64;
    if of != Of::Shared && random.below(4) == 0 { -amount } else { amount }
}

fn add(random: &mut Random, of: Of) -> Change {
    Change::Add(key(random), amount(random, of))
}

fn change(random: &mut Random, of: Of) -> Change {
    match random.below(3) {
        0 if of != Of::Shared => Change::Set(key(random), amount(random, of)),
        1 if of != Of::Shared => Change::Remove(key(random)),
        _ => add(random, of),
    }
}

/// Half of the databases are seldom flushed, compacted and checked.
fn is_calm(seed: u64) -> bool {
    Random::new(seed ^ 0xca14).below(2) == 0
}

/// Options of the database.
pub(crate) fn options(durability: Durability) -> Options {
    tiny_options(durability)
}

fn text_of(key: u64) -> String {
    format!("key {key:04}")
}

/// The worker of one stream in a child.
pub(crate) struct Writer {
    db: Database,
    seed: u64,
    stream: usize,
    /// In the order of [`Of::ALL`].
    counters: Vec<Counters>,
}

impl Writer {
    pub(crate) fn new(db: Database, seed: u64, stream: usize) -> Self {
        Self { db, seed, stream, counters: Vec::new() }
    }

    /// Retries after conflicts: two transactions that add to the same counter may conflict.
    fn transaction(&self, changes: &[(Of, Change)]) -> Outcome<()> {
        loop {
            let tx = self.db.transaction(Isolation::Snapshot);
            for (of, change) in changes {
                let inside = tx.counters(&of.name(self.stream)).map_err(text)?;
                perform(&inside, *of, *change)?;
            }
            match tx.commit() {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                done => return done.map_err(text),
            }
        }
    }
}

/// Makes one change in one call.
fn perform(counters: &Counters, of: Of, change: Change) -> Outcome<()> {
    let number = |number: i64| match of {
        Of::Texts => Number::Float(number as f64),
        Of::Numbers | Of::Shared => Number::Int(number),
    };
    let done = match (of, change) {
        (Of::Texts, Change::Add(key, n)) => counters.add(&*text_of(key), number(n)),
        (Of::Texts, Change::Set(key, n)) => counters.set(&*text_of(key), number(n)),
        (Of::Texts, Change::Remove(key)) => counters.remove(&*text_of(key)).map(drop),
        (_, Change::Add(key, n)) => counters.add(key, number(n)),
        (_, Change::Set(key, n)) => counters.set(key, number(n)),
        (_, Change::Remove(key)) => counters.remove(key).map(drop),
        (_, Change::Reset) => counters.reset(),
    };
    done.map_err(text)
}

/// Makes additions in one call; without `numbers`, of 1 each.
fn perform_many(counters: &Counters, of: Of, keys: &[u64], numbers: Option<&[i64]>) -> Outcome<()> {
    let done = match (of, numbers) {
        (Of::Texts, numbers) => {
            let texts: Vec<String> = keys.iter().map(|&key| text_of(key)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let floats: Option<Vec<f64>> =
                numbers.map(|numbers| numbers.iter().map(|&number| number as f64).collect());
            let numbers = floats.as_deref().map_or(NumberList::Ones, NumberList::Float);
            counters.add_many(KeyList::Str(&texts), numbers)
        }
        (_, numbers) => {
            let numbers = numbers.map_or(NumberList::Ones, NumberList::Int);
            counters.add_many(KeyList::U64(keys), numbers)
        }
    };
    done.map_err(text)
}

impl Worker for Writer {
    fn open(&mut self) -> Outcome<()> {
        for of in Of::ALL {
            let counters = self.db.counters(&of.name(self.stream), of.options());
            self.counters.push(counters.map_err(text)?);
        }
        Ok(())
    }

    fn name(&self, number: u32) -> &'static str {
        Op::of(self.seed, self.stream, number).name()
    }

    fn perform(&mut self, number: u32) -> Outcome<()> {
        match Op::of(self.seed, self.stream, number) {
            Op::One(of, change) => perform(&self.counters[of as usize], of, change),
            Op::AddMany(of, adds) => {
                let (keys, numbers): (Vec<u64>, Vec<i64>) = adds.into_iter().unzip();
                perform_many(&self.counters[of as usize], of, &keys, Some(&numbers))
            }
            Op::Ones(of, keys) => perform_many(&self.counters[of as usize], of, &keys, None),
            Op::Transaction(changes) => self.transaction(&changes),
            Op::Write(of) => self.counters[of as usize].flush().map_err(text),
            Op::Flush => self.db.flush().map_err(text),
            Op::Compact => self.db.compact().map_err(text),
            Op::Check => self.db.check(&|_, _| true).map(drop).map_err(text),
        }
    }
}

/// Knows what must be in the counters.
pub(crate) struct CountersVerifier {
    seed: u64,
    states: [State; STREAMS],
    /// Durability of the last child.
    durability: Durability,
    /// With `none`: the values that must survive a kill, and the changes since.
    floors: [State; STREAMS],
    since: [Vec<(Of, Change)>; STREAMS],
    /// For each stream that is flushing: the changes of both streams that were acknowledged when it
    /// started.
    flushing: [Option<[usize; STREAMS]>; STREAMS],
}

impl CountersVerifier {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            states: Default::default(),
            durability: Durability::Os,
            floors: Default::default(),
            since: Default::default(),
            flushing: Default::default(),
        }
    }

    /// Advances the floor to the start of a flush: increments acknowledged by then survive.
    fn flushed(&mut self, through: [usize; STREAMS]) {
        for (stream, through) in through.into_iter().enumerate() {
            for (of, change) in self.since[stream].drain(..through) {
                self.floors[stream].change(of, change);
            }
            for flushing in self.flushing.iter_mut().flatten() {
                flushing[stream] = flushing[stream].saturating_sub(through);
            }
        }
    }

    /// With `os` and `sync`: acknowledged operations once, those in flight at most once.
    fn exactly(&mut self, found: &Found, next: &mut [u32; STREAMS]) -> Outcome<()> {
        let mut told = String::new();
        for kept in [[false, false], [true, false], [false, true], [true, true]] {
            let mut states = self.states.clone();
            for (stream, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
                Op::of(self.seed, stream, next[stream]).apply(&mut states[stream]);
            }
            match found.difference(&states) {
                None => {
                    self.states = states;
                    (0..STREAMS).for_each(|s| next[s] += u32::from(kept[s]));
                    return Ok(());
                }
                Some(difference) => told.push_str(&format!("\nwith {kept:?}: {difference}")),
            }
        }
        let ops: [Op; STREAMS] = std::array::from_fn(|s| Op::of(self.seed, s, next[s]));
        Err(format!("WRONG: counters before operations {next:?}, {ops:?}:{told}"))
    }

    /// With `none`: each counter has a value that it had since the last flush.
    fn within_bounds(&mut self, found: &Found, next: [u32; STREAMS]) -> Outcome<()> {
        for (stream, next) in next.into_iter().enumerate() {
            // The operation in flight may be there in part; the next child repeats it on top.
            self.since[stream].extend(Op::of(self.seed, stream, next).changes());
            for of in [Of::Numbers, Of::Texts] {
                self.at_some_moment(stream, of, &found.own[stream].0[of as usize])?;
            }
        }
        let mut most = Sums::new();
        let mut least = Sums::new();
        for (floor, since) in self.floors.iter().zip(&self.since) {
            for (key, number) in floor.of(Of::Shared) {
                *least.entry(*key).or_default() += number;
                *most.entry(*key).or_default() += number;
            }
            for (of, change) in since {
                if let (Of::Shared, Change::Add(key, number)) = (of, change) {
                    *most.entry(*key).or_default() += number;
                }
            }
        }
        for key in most.keys().chain(found.shared.keys()) {
            let number = |sums: &Sums| sums.get(key).copied().unwrap_or_default();
            let (least, most, found) = (number(&least), number(&most), number(&found.shared));
            if !(least..=most).contains(&found) {
                return Err(format!(
                    "WRONG: the shared counter {key} has {found}; {least} was flushed, {most} added"
                ));
            }
        }
        self.states = [found.own[0].clone(), found.own[1].clone()];
        self.states[0].0[Of::Shared as usize] = found.shared.clone();
        Ok(())
    }

    fn at_some_moment(&self, stream: usize, of: Of, found: &Sums) -> Outcome<()> {
        let mut state = self.floors[stream].clone();
        let mut allowed: BTreeMap<u64, BTreeSet<Option<i64>>> = BTreeMap::new();
        for (key, number) in state.of(of) {
            allowed.entry(*key).or_default().insert(Some(*number));
        }
        for change in self.since[stream].iter().filter(|(changed, _)| *changed == of) {
            let keys: Vec<u64> = match change.1 {
                Change::Add(key, _) | Change::Set(key, _) | Change::Remove(key) => vec![key],
                Change::Reset => state.of(of).keys().copied().collect(),
            };
            for key in &keys {
                allowed.entry(*key).or_default().insert(state.of(of).get(key).copied());
            }
            state.change(of, change.1);
            for key in &keys {
                allowed.entry(*key).or_default().insert(state.of(of).get(key).copied());
            }
        }
        for key in allowed.keys().chain(found.keys()) {
            let number = found.get(key).copied();
            let is_one = allowed.get(key).is_some_and(|allowed| allowed.contains(&number));
            if !is_one {
                return Err(format!(
                    "WRONG: counter {key} of {} has {number:?}; since the last flush it had {:?}",
                    of.name(stream),
                    allowed.get(key)
                ));
            }
        }
        Ok(())
    }
}

impl Verifier for CountersVerifier {
    fn name(&self, stream: usize, number: u32) -> &'static str {
        Op::of(self.seed, stream, number).name()
    }

    fn draw_plan(&self, random: &mut Random) -> KillPlan {
        match random.below(3) {
            0 => KillPlan { durability: "os", steps_max: 3_000, life_us_max: 60_000 },
            1 => KillPlan { durability: "sync", steps_max: 200, life_us_max: 60_000 },
            // Increments are buffered for 0.7 s: some children live that long.
            _ if random.below(6) == 0 => {
                KillPlan { durability: "none", steps_max: 3_000, life_us_max: 1_200_000 }
            }
            _ => KillPlan { durability: "none", steps_max: 3_000, life_us_max: 60_000 },
        }
    }

    fn starts(&mut self, durability: Durability) {
        self.durability = durability;
        self.floors = self.states.clone();
        self.since = Default::default();
        self.flushing = Default::default();
    }

    fn begins(&mut self, stream: usize, number: u32) {
        if matches!(Op::of(self.seed, stream, number), Op::Flush) {
            self.flushing[stream] = Some(std::array::from_fn(|stream| self.since[stream].len()));
        }
    }

    fn done(&mut self, stream: usize, number: u32) {
        let op = Op::of(self.seed, stream, number);
        op.apply(&mut self.states[stream]);
        if self.durability != Durability::None {
            return;
        }
        self.since[stream].extend(op.changes());
        if let Some(through) = self.flushing[stream].take() {
            self.flushed(through);
        }
    }

    fn is_empty(&self) -> bool {
        // With `none` unflushed changes may be lost, so only the floors count.
        self.floors.iter().all(|state| *state == State::default())
            && (self.durability == Durability::None
                || self.states.iter().all(|s| *s == State::default()))
    }

    fn compare(&mut self, db: &Database, next: &mut [u32; STREAMS]) -> Outcome<Compared> {
        let found =
            Found { own: [read_own(db, 0)?, read_own(db, 1)?], shared: read(db, Of::Shared, 0)? };
        let mut unflushed_lost = false;
        match self.durability {
            Durability::None => {
                unflushed_lost = found.difference(&self.states).is_some();
                self.within_bounds(&found, *next)?;
            }
            Durability::Os | Durability::Sync => self.exactly(&found, next)?,
        }
        Ok(Compared { values: found.rows(), unflushed_lost })
    }

    fn checked(&mut self, _: &Database, _: &Check, _: VerifyMode) -> Outcome<Checked> {
        Ok(Checked::default())
    }
}

/// The counters that were found in a database.
#[derive(Debug)]
struct Found {
    /// The counters of each stream, without the shared ones.
    own: [State; STREAMS],
    shared: Sums,
}

impl Found {
    fn rows(&self) -> u64 {
        let own = self.own.iter().flat_map(|state| &state.0).map(BTreeMap::len).sum::<usize>();
        (own + self.shared.len()) as u64
    }

    /// The first difference; `None` if there is none.
    fn difference(&self, states: &[State; STREAMS]) -> Option<String> {
        let mut shared = states[0].of(Of::Shared).clone();
        for (key, number) in states[1].of(Of::Shared) {
            *shared.entry(*key).or_default() += number;
        }
        let compare = |name: String, wanted: &Sums, found: &Sums| {
            let of = |sums: &Sums, key: &u64| sums.get(key).copied();
            let keys: BTreeSet<&u64> = wanted.keys().chain(found.keys()).collect();
            let differ: Vec<_> =
                keys.into_iter().filter(|key| of(wanted, key) != of(found, key)).collect();
            let first = differ.first()?;
            let (wanted, found) = (of(wanted, first), of(found, first));
            let number = differ.len();
            Some(format!("{number} differ in {name}; {first} has {found:?}, not {wanted:?}"))
        };
        let mut told: Vec<String> = Vec::new();
        for (stream, state) in states.iter().enumerate() {
            for of in [Of::Numbers, Of::Texts] {
                told.extend(compare(of.name(stream), state.of(of), self.own[stream].of(of)));
            }
        }
        told.extend(compare(Of::Shared.name(0), &shared, &self.shared));
        (!told.is_empty()).then(|| told.join("; "))
    }
}

fn read_own(db: &Database, stream: usize) -> Outcome<State> {
    Ok(State([read(db, Of::Numbers, stream)?, read(db, Of::Texts, stream)?, Sums::new()]))
}

/// Reads counters by a scan, and again by key.
fn read(db: &Database, of: Of, stream: usize) -> Outcome<Sums> {
    let name = of.name(stream);
    let told = |error: quipu::Error| format!("WRONG: {name}: {error}");
    let mut found = Sums::new();
    let Some(counters) = db.existing_counters(&name).map_err(told)? else { return Ok(found) };
    let mut scan = counters.range(None, None).map_err(told)?;
    while let Some(rows) = scan.next_rows(512).map_err(told)? {
        collect(&rows, &mut found)?;
    }
    if counters.len().map_err(told)? != found.len() as u64 {
        return Err(format!("WRONG: {name} counts other counters than its {}", found.len()));
    }
    let keys: Vec<u64> = (0..KEYS).collect();
    let texts: Vec<String> = keys.iter().map(|&key| text_of(key)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let list = if of == Of::Texts { KeyList::Str(&texts) } else { KeyList::U64(&keys) };
    let numbers = counters.get_many(list).map_err(told)?;
    for key in keys {
        if whole(&numbers, key as usize) != found.get(&key).copied().unwrap_or_default() {
            return Err(format!("WRONG: {name}: a scan and a look-up of {key} disagree"));
        }
    }
    Ok(found)
}

fn collect(rows: &CounterRows, into: &mut Sums) -> Outcome<()> {
    let keys: Vec<u64> = match &rows.keys {
        KeyColumn::U64(keys) => keys.clone(),
        KeyColumn::Str(texts) => {
            let key =
                |i| std::str::from_utf8(texts.get(i)).ok()?.strip_prefix("key ")?.parse().ok();
            let keys: Option<Vec<u64>> = (0..texts.len()).map(key).collect();
            keys.ok_or("WRONG: a key that nobody wrote")?
        }
        KeyColumn::I64(_) => return Err("WRONG: keys of another type".to_owned()),
    };
    for (i, key) in keys.into_iter().enumerate() {
        if into.insert(key, whole(&rows.numbers, i)).is_some() {
            return Err(format!("WRONG: a scan names {key} twice"));
        }
    }
    Ok(())
}

fn whole(numbers: &NumberColumn, i: usize) -> i64 {
    match numbers.get(i) {
        Number::Int(number) => number,
        Number::Float(number) => number as i64,
    }
}
