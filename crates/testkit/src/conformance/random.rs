//! Random histories on an engine and on the model: the same operations, the same answers.

use super::Place;
use super::data::{Random, Row, Rows, Space, bytes, create, int, merged, rows_of};
use crate::one_batch::OneBatch;
use crate::rows::Cell;
use crate::store_impl::ModelStore;
use base::{Batch, ColumnShape, Key, KeyRange, KeyShape, Keys, Kind, Merge, Projection, SeqNo};
use std::sync::Arc;
use store::{
    ErrorKind, Isolation, Kinds, Read, Savepoint, Snapshot, Store, TableWrites, Transaction,
    WriteBatch,
};

/// Few keys, so that operations often share them.
const KEYS: u64 = 20;
/// Operations of a history. Engines behind a network take about a millisecond for each read.
const STEPS: usize = 60;
/// Histories.
const SEEDS: u64 = 6;

/// A store, and the same store as a model.
struct Both {
    engine: Arc<dyn Store>,
    model: ModelStore,
    spaces: Vec<Space>,
    random: Random,
}

/// The same in engine and model.
type Pair<T> = (T, T);

/// Any history ends in the state that the model has, with the same results on the way.
pub fn random_histories_equal_the_model(place: &dyn Place) {
    let store = place.open();
    for seed in 0..SEEDS {
        let model = ModelStore::new();
        let left: Vec<_> = store.keyspaces().iter().map(|info| info.id).collect();
        store.drop_keyspaces(&left).unwrap();
        let values = [merged(Merge::AddInt), ColumnShape::Bytes];
        let shapes = [("words", KeyShape::Words(2)), ("bytes", KeyShape::Bytes)];
        let spaces = shapes.map(|(name, key)| {
            // The model's ids follow those of the engine, because histories share the engine.
            let engine = create(&*store, name, key, &values);
            while create(&model, &format!("{name}{}", model.keyspaces().len()), key, &values).id
                < engine.id
            {}
            engine
        });
        let both = Both {
            engine: Arc::clone(&store),
            model,
            spaces: spaces.to_vec(),
            random: Random(seed),
        };
        run(both, seed);
    }
    store.close().unwrap();
}

fn run(mut both: Both, seed: u64) {
    let mut held: Vec<Pair<Arc<dyn Snapshot>>> = Vec::new();
    let mut open: Option<Pair<Box<dyn Transaction>>> = None;
    let mut saved: Vec<Pair<Savepoint>> = Vec::new();
    for step in 0..STEPS {
        let at = format!("seed {seed}, step {step}");
        match both.random.below(16) {
            0..4 => both.write(&at),
            4 => both.delete_range(),
            5 => both.load(),
            6 => both.engine.flush().unwrap(),
            7 => both.engine.compact().unwrap(),
            8 => held.push((both.engine.snapshot(), both.model.snapshot())),
            9 if !held.is_empty() => drop(held.remove(0)),
            10 => {
                if let Some((a, b)) = open.take() {
                    same(a.commit(), b.commit(), &at);
                }
            }
            11 if open.is_none() => {
                let serializable = both.random.below(2) == 0;
                let isolation =
                    if serializable { Isolation::Serializable } else { Isolation::Snapshot };
                open = Some((both.engine.begin(isolation), both.model.begin(isolation)));
                saved.clear();
            }
            choice => {
                if let Some(pair) = &open {
                    both.in_transaction(pair, &mut saved, choice, &at);
                }
            }
        }
        if step % 4 == 3 {
            both.compare(&*both.engine, &both.model, &at);
        }
        if let Some((a, b)) = held.first().filter(|_| step % 8 == 7) {
            both.compare(&**a, &**b, &format!("a snapshot, {at}"));
        }
    }
}

/// Whether both succeeded. Otherwise both failed for the same reason.
fn same(engine: store::Result<SeqNo>, model: store::Result<SeqNo>, at: &str) -> bool {
    let kind = |result: store::Result<SeqNo>| result.map(drop).map_err(|error| error.kind());
    let (engine, model) = (kind(engine), kind(model));
    assert_eq!(engine, model, "engine and model end differently: {at}");
    assert!(matches!(engine, Ok(()) | Err(ErrorKind::Conflict | ErrorKind::Limit)), "{engine:?}");
    engine.is_ok()
}

impl Both {
    fn key(&mut self, space: usize) -> Key {
        let key = self.random.below(KEYS);
        match self.spaces[space].shape.key {
            KeyShape::Words(_) => Key::words(&[key / 5, key % 5]),
            KeyShape::Bytes => {
                Key::bytes(format!("k{}{key}", "x".repeat((key % 4) as usize)).as_bytes())
            }
        }
    }

    fn range(&mut self, space: usize) -> KeyRange {
        let (a, b) = (self.key(space), self.key(space));
        let (lower, upper) = if a <= b { (a, b) } else { (b, a) };
        KeyRange { lower, upper: (self.random.below(6) > 0).then_some(upper) }
    }

    /// Mostly small numbers; sometimes large ones whose sum does not fit into a word.
    fn row(&mut self) -> Row {
        let large = [i64::MAX - 1, i64::MIN + 1, 1 << 62, -1 << 62];
        let number = match self.random.below(14) {
            0 => Cell::Null,
            1 => int(large[self.random.below(4) as usize]),
            _ => int(self.random.below(100) as i64 - 50),
        };
        let text = match self.random.below(4) {
            0 => Cell::Null,
            len => bytes(&self.random.word().to_be_bytes()[..len as usize * 2]),
        };
        vec![number, text]
    }

    fn writes(&mut self, space: usize, rows_max: u64) -> TableWrites {
        let rows: Rows =
            (0..=self.random.below(rows_max)).map(|_| (self.key(space), self.row())).collect();
        let kinds = rows.iter().map(|_| match self.random.below(3) {
            0 => Kind::Delete,
            1 => Kind::Put,
            _ => Kind::Merge,
        });
        let kinds = Kinds::PerRow(kinds.collect());
        TableWrites { kinds, ..self.spaces[space].writes(Kind::Put, &rows) }
    }

    fn write(&mut self, at: &str) {
        let batch = WriteBatch { tables: vec![self.writes(0, 6), self.writes(1, 6)] };
        if self.random.below(2) == 0 {
            same(self.engine.write(&batch, None), self.model.write(&batch, None), at);
            return;
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let engine = self.engine.write(&batch, Some(&mut a));
        if same(engine, self.model.write(&batch, Some(&mut b)), at) {
            assert_eq!(a, b, "what existed: {at}");
        }
    }

    fn deletion(&mut self, space: usize) -> WriteBatch {
        let delete_ranges = vec![self.range(space)];
        let writes = self.spaces[space].writes(Kind::Put, &[]);
        WriteBatch { tables: vec![TableWrites { delete_ranges, ..writes }] }
    }

    fn delete_range(&mut self) {
        let space = self.random.below(2) as usize;
        let batch = self.deletion(space);
        self.engine.write(&batch, None).unwrap();
        self.model.write(&batch, None).unwrap();
    }

    fn load(&mut self) {
        let rows = (0..15).map(|_| (self.key(0), self.row()));
        let mut rows: Rows = rows.collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows.dedup_by(|a, b| a.0 == b.0);
        let space = &self.spaces[0];
        for store in [&*self.engine, &self.model as &dyn Store] {
            let mut bulk = store.begin_bulk().unwrap();
            bulk.write(space.id, vec![Box::new(OneBatch(Some(space.batch(&rows))))]).unwrap();
            bulk.commit().unwrap();
        }
    }

    fn in_transaction(
        &mut self,
        (a, b): &Pair<Box<dyn Transaction>>,
        saved: &mut Vec<Pair<Savepoint>>,
        choice: u64,
        at: &str,
    ) {
        match choice {
            12 | 9 => {
                let batch = WriteBatch { tables: vec![self.writes(0, 4), self.writes(1, 4)] };
                let no = SeqNo::default();
                same(a.write(&batch).map(|()| no), b.write(&batch).map(|()| no), at);
            }
            13 => {
                let batch = self.deletion(0);
                a.write(&batch).unwrap();
                b.write(&batch).unwrap();
            }
            14 => saved.push((a.savepoint(), b.savepoint())),
            15 if !saved.is_empty() => {
                saved.truncate(self.random.below(saved.len() as u64) as usize + 1);
                let (one, other) = saved[saved.len() - 1];
                a.roll_back_to(one);
                b.roll_back_to(other);
            }
            _ => {
                let space = self.spaces[0].clone();
                let range = self.range(0);
                let rows = space.scan(&**a, &range);
                assert_eq!(rows, space.scan(&**b, &range), "a transaction's view: {at}");
                let key = self.key(0);
                let get = |read: &dyn Read| {
                    let mut out = Batch::new(&space.shape);
                    read.get(space.id, key.as_ref(), Projection::ALL, &mut out).unwrap();
                    rows_of(&out)
                };
                assert_eq!(get(&**a), get(&**b), "a transaction's view of {key:?}: {at}");
            }
        }
    }

    /// All rows by every way to read them.
    fn compare(&self, engine: &dyn Read, model: &dyn Read, at: &str) {
        for space in &self.spaces {
            let rows = space.rows(model);
            assert_eq!(space.rows(engine), rows, "{at}");
            assert_eq!(engine.count(space.id).unwrap(), rows.len() as u64, "count: {at}");
            let mut back = Batch::new(&space.shape);
            engine.scan_back_into(space.id, &space.all(), Projection::ALL, 7, &mut back).unwrap();
            let want: Rows = rows.iter().rev().take(7).cloned().collect();
            assert_eq!(rows_of(&back), want, "backward: {at}");
            let mut stream = engine.scan(space.id, space.all(), Projection::ALL).unwrap();
            let mut streamed = Batch::new(&space.shape);
            while stream.next_batch(3, &mut streamed).unwrap() {}
            assert_eq!(rows_of(&streamed), rows, "a stream: {at}");
            let mut keys = Keys::new(space.shape.key);
            rows.iter().rev().for_each(|(key, _)| keys.push(key.as_ref()));
            let (mut present, mut many) = (Vec::new(), Batch::new(&space.shape));
            let projection = Projection { keys: 0, values: u64::MAX };
            engine.get_many(space.id, &keys, projection, &mut present, &mut many).unwrap();
            assert!(present.iter().all(|&there| there), "lookups: {at}");
            let found = (0..many.rows).map(|i| crate::rows::row_at(&many, i));
            assert!(found.eq(rows.iter().rev().map(|(_, row)| row.clone())), "lookups: {at}");
        }
        let space = &self.spaces[0];
        let prefixes = |read: &dyn Read| {
            let (mut offsets, mut out) = (Vec::new(), Batch::new(&space.shape));
            let firsts = [3, 0, 9, 2, 2];
            read.prefix_many(space.id, &firsts, Projection::ALL, &mut offsets, &mut out).unwrap();
            let mut words = Vec::new();
            read.first_words(space.id, &mut |some| words.extend_from_slice(some)).unwrap();
            (offsets, rows_of(&out), words)
        };
        assert_eq!(prefixes(engine), prefixes(model), "prefixes: {at}");
    }
}
