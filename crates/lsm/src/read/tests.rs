//! Reads of random trees against a plain map of versions.

use super::*;
use crate::context::{Context, TreeOptions};
use crate::memtable::Kinds;
use crate::rows::Rows;
use crate::table::{BlockCache, Table, TableBuilder, TableMeta, TableOptions};
use crate::version::{Run, Version};
use base::{
    Batch, BlockFilter, Column, ColumnRanges, ColumnShape, Key, KeyShape, Keys, Kind, Merge,
    Projection, SeqNo,
};
use env::{Env, MemoryEnv};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

type Values = Vec<Option<Vec<u8>>>;
type Model = BTreeMap<Key, Vec<(u64, u8, Values)>>;

/// A write: key number, kind, value.
type Write = (u64, u8, u64);

#[derive(Clone, Debug)]
enum Step {
    Write(Vec<Write>),
    DeleteRange(u64, u64),
    /// Memtables become the newest run of level 0.
    Flush,
    /// Level 0 and the memtables become one run at this level, merged with its tables.
    Sink(usize),
    Seal,
}

fn shapes() -> Vec<Shape> {
    let word = |merge| ColumnShape::Word { merge };
    vec![
        Shape { key: KeyShape::Words(1), values: vec![word(Some(Merge::AddInt))] },
        Shape { key: KeyShape::Words(2), values: vec![word(None)] },
        Shape { key: KeyShape::Words(2), values: vec![] },
        // Whose values are never null.
        Shape { key: KeyShape::Words(2), values: vec![word(None), word(None)] },
        Shape { key: KeyShape::Words(3), values: vec![ColumnShape::Bytes, word(Some(Merge::Max))] },
        Shape { key: KeyShape::Words(4), values: vec![word(Some(Merge::Min)), word(None)] },
        Shape { key: KeyShape::Bytes, values: vec![word(Some(Merge::AddInt)), ColumnShape::Bytes] },
    ]
}

fn key_of(shape: KeyShape, i: u64) -> Key {
    match shape {
        KeyShape::Words(1) => Key::words(&[if i == 29 { u64::MAX } else { i }]),
        KeyShape::Words(n) => {
            let first = [0, 1, 2, 7, u64::MAX][(i / 6 % 5) as usize];
            Key::words(&[first, i % 6, i % 2, 0][..n as usize])
        }
        KeyShape::Bytes => Key::Bytes(format!("k{:02}", i).into_bytes()),
    }
}

fn values_of(shape: &Shape, value: u64) -> Values {
    let has_nulls = shape.key != KeyShape::Words(2) || shape.values.len() != 2;
    let value_of = |(i, column): (usize, &ColumnShape)| {
        let value = value.wrapping_mul(31).wrapping_add(i as u64);
        (!has_nulls || !value.is_multiple_of(5)).then(|| match column {
            ColumnShape::Word { .. } => (value % 9 + (1 << 63)).to_le_bytes().to_vec(),
            ColumnShape::Bytes => vec![value as u8; (value % 4) as usize],
        })
    };
    shape.values.iter().enumerate().map(value_of).collect()
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn push_values(columns: &mut [Column], values: &Values) {
    for (column, value) in columns.iter_mut().zip(values) {
        match column {
            Column::Words(column) => column.push(value.as_deref().map(word)),
            Column::Bytes(column) => column.push(value.as_deref()),
        }
    }
}

fn values_at(columns: &[Column], row: usize) -> Values {
    let value = |column: &Column| match column {
        Column::Words(column) => column.get(row).map(|word| word.to_le_bytes().to_vec()),
        Column::Bytes(column) => column.validity.is_valid(row).then(|| column.get(row).to_vec()),
    };
    columns.iter().map(value).collect()
}

/// The tree, and a model of the written rows.
struct World {
    shape: Shape,
    context: Context,
    active: Arc<Memtable>,
    sealed: Vec<Arc<Memtable>>,
    version: Version,
    run: u64,
    seq: u64,
    model: Model,
    deleted: Vec<(Key, Key, u64)>,
}

impl World {
    fn new(shape: Shape, block_rows_max: usize) -> Self {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        env.create_folder(&PathBuf::from("t")).unwrap();
        let cache = Arc::new(BlockCache::new(1 << 20));
        // Short strings are separated in every other world.
        let apart_value_bytes_min = if block_rows_max % 2 == 1 { 1 } else { u64::MAX };
        let table =
            TableOptions { block_rows_max, apart_value_bytes_min, ..TableOptions::default() };
        let options = TreeOptions { table, ..TreeOptions::default() };
        let context =
            Context::new(env, cache, vec![PathBuf::from("t")], options, false, base::TableId(1));
        Self {
            active: Arc::new(Memtable::new(&shape)),
            shape,
            context,
            sealed: Vec::new(),
            version: Version { level0: Vec::new(), levels: vec![Run::default(); 3] },
            run: 0,
            seq: 0,
            model: Model::new(),
            deleted: Vec::new(),
        }
    }

    fn batch(&self, writes: &[Write]) -> (Batch, Vec<u8>, Vec<(Key, Values)>) {
        let mut batch = Batch::new(&self.shape);
        let (mut kinds, mut rows, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for &(i, kind, value) in writes {
            let key = key_of(self.shape.key, i);
            if seen.insert(key.clone()) {
                let values = values_of(&self.shape, value);
                batch.rows += 1;
                batch.keys.push(key.as_ref());
                push_values(&mut batch.values, &values);
                kinds.push(kind);
                rows.push((key, values));
            }
        }
        (batch, kinds, rows)
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Write(writes) => {
                self.seq += 1;
                let (batch, kinds, rows) = self.batch(writes);
                self.active.insert(&batch, Kinds::Each(&kinds), SeqNo(self.seq));
                for ((key, values), kind) in rows.into_iter().zip(kinds) {
                    self.model.entry(key).or_default().insert(0, (self.seq, kind, values));
                }
            }
            Step::DeleteRange(a, b) => {
                self.seq += 1;
                let (a, b) = (key_of(self.shape.key, *a), key_of(self.shape.key, *b));
                let range = KeyRange { lower: a.clone(), upper: Some(b.clone()) };
                if !range.is_empty() {
                    self.active.delete_range(range, SeqNo(self.seq));
                    self.deleted.push((a, b, self.seq));
                }
            }
            Step::Seal => {
                let sealed =
                    std::mem::replace(&mut self.active, Arc::new(Memtable::new(&self.shape)));
                self.sealed.insert(0, sealed);
            }
            Step::Flush => {
                self.apply(&Step::Seal);
                for memtable in std::mem::take(&mut self.sealed).into_iter().rev() {
                    let source: Box<dyn RowSource> =
                        Box::new(MemSource::new(Arc::clone(&memtable), self.all()));
                    let run = self.write(vec![source], memtable.range_tombstones().to_vec());
                    self.run += 1;
                    self.version.level0.insert(0, (self.run, run));
                }
            }
            Step::Sink(level) => {
                self.apply(&Step::Flush);
                let level0 = std::mem::take(&mut self.version.level0);
                let mut runs: Vec<Run> = level0.into_iter().map(|(_, run)| run).collect();
                runs.extend(self.version.levels.iter_mut().take(*level).map(std::mem::take));
                let source = |run: &Run| -> Box<dyn RowSource> {
                    Box::new(RunSource::new(run.tables.clone(), self.all()))
                };
                let tables = runs.iter().flat_map(|run| &run.tables);
                let tombstones = tables.flat_map(|t| t.range_tombstones().to_vec()).collect();
                let run = self.write(runs.iter().map(source).collect(), tombstones);
                self.version.levels[level - 1] = run;
            }
        }
    }

    fn all(&self) -> KeyRange {
        KeyRange::all(&self.shape.key)
    }

    /// Merges sources into tables of about ten rows, all versions of a key in one table.
    fn write(&self, sources: Vec<Box<dyn RowSource + '_>>, tombstones: Vec<RangeTombstone>) -> Run {
        let mut merger = VersionMerger::new(&self.shape, sources).unwrap();
        let mut rows = Rows::new(&self.shape);
        while merger.next_chunk(7, &mut rows).unwrap() {}
        let mut run = Run::default();
        let mut start = 0;
        while start < rows.len() || (start == 0 && !tombstones.is_empty()) {
            let mut end = rows.len().min(start + 10);
            while end > start
                && end < rows.len()
                && crate::memtable::compare_rows(&rows.keys, end - 1, end).is_eq()
            {
                end += 1;
            }
            // Range tombstones reach everywhere: with them the run is one table.
            if !tombstones.is_empty() {
                end = rows.len();
            }
            let (id, folder, path) = self.context.new_table();
            let file = self.context.env.create(&path).unwrap();
            let options = self.context.options.table.clone();
            let mut builder = TableBuilder::new(file, self.shape.clone(), options, false);
            builder.add(&rows, start..end).unwrap();
            for tombstone in &tombstones {
                builder.add_range_tombstone(tombstone.clone()).unwrap();
            }
            let summary = builder.finish().unwrap();
            let summary = summary.into();
            let meta = TableMeta { id, folder, global_seq: SeqNo::ZERO, shared: None, summary };
            run.tables.push(Table::open(&self.context, &meta, &self.shape).unwrap());
            start = end.max(1);
        }
        run
    }

    fn view(&self) -> Arc<SuperVersion> {
        Arc::new(SuperVersion::new(
            Arc::clone(&self.active),
            self.sealed.clone(),
            Arc::new(self.version.clone()),
            SeqNo::ZERO,
            ReadThresholds::TINY,
        ))
    }

    /// The rows that a reader at `snapshot` sees, by the definition.
    fn visible(&self, snapshot: u64, own: &Own) -> BTreeMap<Key, Values> {
        let mut rows = BTreeMap::new();
        let keys: BTreeSet<&Key> = self.model.keys().chain(own.model.keys()).collect();
        for key in keys {
            let mut versions: Vec<(u8, Values)> = Vec::new();
            let own_cover = own.over(key);
            let own_versions = own.model.get(key).map_or(&[][..], Vec::as_slice);
            let seen_own = own_versions.iter().filter(|(seq, ..)| *seq >= own_cover);
            versions.extend(seen_own.map(|(_, kind, values)| (*kind, values.clone())));
            let covers = self.deleted.iter().filter(|(a, b, _)| a <= key && key < b);
            let cover = covers.map(|(.., seq)| *seq).filter(|seq| *seq <= snapshot).max();
            if own_cover == 0 {
                let below = self.model.get(key).map_or(&[][..], Vec::as_slice);
                let seen = below.iter().filter(|(seq, ..)| {
                    *seq <= snapshot && cover.is_none_or(|cover| *seq >= cover)
                });
                versions.extend(seen.map(|(_, kind, values)| (*kind, values.clone())));
            }
            if let Some(values) = self.fold(&versions) {
                rows.insert(key.clone(), values);
            }
        }
        rows
    }

    fn fold(&self, versions: &[(u8, Values)]) -> Option<Values> {
        let end = versions.iter().position(|(kind, _)| *kind != Kind::Merge as u8);
        let mut counted = versions[..end.unwrap_or(versions.len())].to_vec();
        if let Some(end) = end
            && versions[end].0 == Kind::Put as u8
        {
            counted.push(versions[end].clone());
        }
        let (_, mut row) = counted.pop()?;
        for (_, newer) in counted.into_iter().rev() {
            for (i, column) in self.shape.values.iter().enumerate() {
                row[i] = match (column, &row[i], &newer[i]) {
                    (ColumnShape::Word { merge: Some(merge) }, Some(old), Some(new)) => {
                        let both = merge.apply(word(old), word(new)).expect("small numbers");
                        Some(both.to_le_bytes().to_vec())
                    }
                    (ColumnShape::Word { merge: Some(_) }, old, None) => old.clone(),
                    (_, _, new) => new.clone(),
                };
            }
        }
        Some(row)
    }
}

/// A transaction's own writes.
struct Own {
    memtable: Memtable,
    model: Model,
    deleted: Vec<(Key, Key, u64)>,
}

impl Own {
    fn new(world: &World, steps: &[Step]) -> Self {
        let memtable = Memtable::new(&world.shape);
        let mut own = Self { memtable, model: Model::new(), deleted: Vec::new() };
        for (i, step) in steps.iter().enumerate() {
            let seq = i as u64 + 1;
            match step {
                Step::Write(writes) => {
                    let (batch, kinds, rows) = world.batch(writes);
                    own.memtable.insert(&batch, Kinds::Each(&kinds), SeqNo(seq));
                    for ((key, values), kind) in rows.into_iter().zip(kinds) {
                        own.model.entry(key).or_default().insert(0, (seq, kind, values));
                    }
                }
                Step::DeleteRange(a, b) => {
                    let (a, b) = (key_of(world.shape.key, *a), key_of(world.shape.key, *b));
                    if a < b {
                        let range = KeyRange { lower: a.clone(), upper: Some(b.clone()) };
                        own.memtable.delete_range(range, SeqNo(seq));
                        own.deleted.push((a, b, seq));
                    }
                }
                _ => {}
            }
        }
        own
    }

    fn over(&self, key: &Key) -> u64 {
        let over = self.deleted.iter().filter(|(a, b, _)| a <= key && key < b);
        over.map(|(.., seq)| *seq).max().unwrap_or(0)
    }
}

fn rows_of(batch: &Batch) -> Vec<(Key, Values)> {
    assert_eq!(batch.keys.len(), batch.rows);
    assert!(batch.values.iter().all(|column| column.len() == batch.rows));
    (0..batch.rows).map(|row| (batch.keys.get(row), values_at(&batch.values, row))).collect()
}

fn check(world: &World, own: &Own, with_own: bool, snapshot: u64) {
    let view = world.view();
    let overlay = with_own.then_some(&own.memtable);
    let at = ReadAt { snapshot: SeqNo(snapshot), overlay };
    let nothing = Own::new(world, &[]);
    let want = world.visible(snapshot, if with_own { own } else { &nothing });
    let all: Vec<(Key, Values)> = want.clone().into_iter().collect();
    let shape = &world.shape;
    let keys: Vec<Key> =
        (0..30).map(|i| key_of(shape.key, i)).collect::<BTreeSet<_>>().into_iter().collect();

    let mut of_word: BTreeMap<u64, u64> = BTreeMap::new();
    for key in want.keys() {
        let word = match key.as_ref() {
            KeyRef::Words(words) => words[0],
            KeyRef::Bytes(_) => 0,
        };
        *of_word.entry(word).or_default() += 1;
    }
    let most = of_word.into_values().max().unwrap_or(0);
    let told = view.first_word_rows_max(at);
    assert!(most <= told, "{most} rows of a word, and {told} at most");

    for key in &keys {
        let mut out = Batch::new(shape);
        let found = view.get(key.as_ref(), at, Projection::ALL, &mut out).unwrap();
        assert_eq!(found, want.contains_key(key), "get {key:?} at {snapshot}");
        let got = rows_of(&out);
        assert_eq!(got.first().map(|(_, values)| values), want.get(key), "get {key:?}");
    }

    for reversed in [false, true] {
        let mut many = Keys::new(shape.key);
        let mut asked: Vec<Key> = keys.clone();
        if reversed {
            asked.reverse();
            asked.push(keys[3].clone());
        }
        asked.iter().for_each(|key| many.push(key.as_ref()));
        let (mut present, mut out) = (Vec::new(), Batch::new(shape));
        view.get_many(&many, at, Projection::ALL, &mut present, &mut out).unwrap();
        let got = rows_of(&out);
        assert_eq!(got.len(), asked.len());
        for (i, key) in asked.iter().enumerate() {
            assert_eq!(&got[i].0, key);
            assert_eq!(present[i], want.contains_key(key), "get_many {key:?}");
            let absent = vec![None; shape.values.len()];
            assert_eq!(&got[i].1, want.get(key).unwrap_or(&absent));
        }
    }

    for (lower, upper) in [(0, 29), (3, 17), (8, 9), (11, 11), (20, 28)] {
        let range =
            KeyRange { lower: keys[lower % keys.len()].clone(), upper: keys.get(upper).cloned() };
        for limit in [1, 4, usize::MAX] {
            let mut out = Batch::new(shape);
            view.scan_into(&range, at, Projection::ALL, limit, &mut out).unwrap();
            let in_range = all.iter().filter(|(key, _)| range.contains(key.as_ref()));
            let want: Vec<_> = in_range.clone().take(limit).cloned().collect();
            assert_eq!(rows_of(&out), want, "scan {range:?} limit {limit} at {snapshot}");
            let want: Vec<_> = in_range.rev().take(limit).cloned().collect();
            for wanted in [1, 2, 16] {
                let mut out = Batch::new(shape);
                let p = Projection::ALL;
                view.scan_back_in_pieces(&range, at, p, limit, wanted, &mut out).unwrap();
                assert_eq!(rows_of(&out), want, "back {range:?} limit {limit} at {snapshot}");
            }
        }
    }

    if !with_own {
        let mut cursor =
            view.cursor(&world.context, world.all(), SeqNo(snapshot), None, Projection::ALL, None);
        let mut out = Batch::new(shape);
        while cursor.next_batch(3, &mut out).unwrap() {}
        assert_eq!(rows_of(&out), all, "cursor at {snapshot}");
        let mut cursor =
            view.cursor(&world.context, world.all(), SeqNo(snapshot), None, Projection::KEYS, None);
        let mut out = Batch::new(shape);
        while cursor.next_batch(1000, &mut out).unwrap() {}
        assert_eq!(out.rows, all.len());
        assert!(out.values.iter().all(Column::is_empty));
        check_filtered(world, &view, snapshot, &all);
    }

    let mut out = Batch::new(shape);
    view.sample_into(5, &mut words(snapshot), at, Projection::ALL, &mut out).unwrap();
    assert_eq!(out.rows, if all.is_empty() { 0 } else { 5 });
    for (key, values) in rows_of(&out) {
        assert_eq!(want.get(&key), Some(&values), "a sample at {snapshot}");
    }

    assert_eq!(view.count(at).unwrap(), all.len() as u64, "count at {snapshot}");

    if let KeyShape::Words(_) = shape.key {
        let first = |key: &Key| match key.as_ref() {
            KeyRef::Words(words) => words[0],
            KeyRef::Bytes(_) => 0,
        };
        let mut asked: Vec<u64> = keys.iter().map(first).collect();
        asked.dedup();
        asked.push(4);
        asked.push(asked[0]);
        let (mut offsets, mut out) = (Vec::new(), Batch::new(shape));
        view.prefix_many(&asked, at, Projection::ALL, &mut offsets, &mut out).unwrap();
        let got = rows_of(&out);
        assert_eq!(offsets.len(), asked.len() + 1);
        for (i, word) in asked.iter().enumerate() {
            let want = all.iter().filter(|(key, _)| first(key) == *word);
            let got = got[offsets[i] as usize..offsets[i + 1] as usize].iter();
            assert!(got.eq(want), "prefix {word}");
        }
        for p in [Projection::KEYS, Projection::COUNT, Projection { keys: 2, values: 1 }] {
            let mut some = Batch::new(shape);
            view.prefix_many(&asked, at, p, &mut offsets, &mut some).unwrap();
            assert_eq!(some.rows, out.rows);
            for i in 0..shape.key_words() {
                let want = if p.key(i) { out.key_words(i) } else { &[] };
                assert_eq!(some.key_words(i), want, "word {i} under {p:?}");
            }
            for (i, (some, all)) in some.values.iter().zip(&out.values).enumerate() {
                let rows = if p.value(i) { out.rows } else { 0 };
                assert_eq!(some.len(), rows, "column {i} under {p:?}");
                for row in 0..rows {
                    assert_eq!(
                        values_at(std::slice::from_ref(some), row),
                        values_at(std::slice::from_ref(all), row)
                    );
                }
            }
        }
        for (word, limit) in asked.iter().zip([2, 5, 6, usize::MAX].into_iter().cycle()) {
            let range = KeyRange::prefix_words(&[*word]);
            let before = out.rows;
            view.scan_into(&range, at, Projection::ALL, limit, &mut out).unwrap();
            let want = all.iter().filter(|(key, _)| first(key) == *word).take(limit);
            assert!(rows_of(&out)[before..].iter().eq(want), "all of {word}, at most {limit}");
        }
        if shape.key_words() > 1 {
            for word in &asked {
                let (lower, upper) = (Key::words(&[*word]), Key::words(&[*word, 3]));
                for range in [
                    KeyRange { lower: lower.clone(), upper: Some(upper.clone()) },
                    KeyRange { lower: upper, upper: KeyRange::prefix_words(&[*word]).upper },
                    KeyRange { lower, upper: None },
                ] {
                    let mut some = Batch::new(shape);
                    view.scan_into(&range, at, Projection::ALL, usize::MAX, &mut some).unwrap();
                    let want = all.iter().filter(|(key, _)| range.contains(key.as_ref()));
                    assert!(rows_of(&some).iter().eq(want), "{range:?} at {snapshot}");
                }
            }
        }
        let mut words = Vec::new();
        view.first_words(at, &mut |some| words.extend_from_slice(some)).unwrap();
        let want: BTreeSet<u64> = all.iter().map(|(key, _)| first(key)).collect();
        assert_eq!(words, want.into_iter().collect::<Vec<_>>());
    }
}

/// Uniform words.
fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Draws `draws` rows, in each of two ways, and compares how often each row was drawn with the
/// expected count.
fn check_uniform(world: &World, own: &Own, snapshot: u64, draws: usize) {
    let view = world.view();
    let at = ReadAt { snapshot: SeqNo(snapshot), overlay: Some(&own.memtable) };
    let want = world.visible(snapshot, own);
    let (mut sampled, mut counted) = (Batch::new(&world.shape), Batch::new(&world.shape));
    let p = Projection::KEYS;
    view.sample_into(draws, &mut words(7), at, p, &mut sampled).unwrap();
    view.sample_counted(draws, &mut words(8), at, p, &mut counted).unwrap();
    for out in [sampled, counted] {
        assert_eq!(out.rows, draws);
        let mut times: BTreeMap<Key, f64> = want.keys().map(|key| (key.clone(), 0.0)).collect();
        for i in 0..out.rows {
            *times.get_mut(&out.keys.get(i)).expect("only rows are drawn") += 1.0;
        }
        let expected = draws as f64 / want.len() as f64;
        let chi: f64 = times.values().map(|n| (n - expected).powi(2) / expected).sum();
        let free = want.len() as f64 - 1.0;
        assert!(chi < free + 4.0 * (2.0 * free).sqrt() + 4.0, "{chi} with {free} free: {times:?}");
    }
}

/// Whether a row has one version or ten, in memory or in files, and whatever deleted rows lie
/// beside it.
#[test]
fn each_row_is_as_likely_to_be_drawn() {
    for shape in shapes() {
        let mut world = World::new(shape, 3);
        let put = |keys: std::ops::Range<u64>, kind: u8| {
            Step::Write(keys.map(|key| (key, kind, key * 7)).collect())
        };
        world.apply(&put(0..30, 1));
        world.apply(&Step::Sink(3));
        (0..6).for_each(|_| world.apply(&put(0..4, 2)));
        world.apply(&put(6..12, 0));
        world.apply(&Step::Flush);
        let before_range = world.seq;
        world.apply(&put(8..15, 1));
        world.apply(&Step::Seal);
        (0..6).for_each(|_| world.apply(&put(12..16, 1)));
        world.apply(&put(20..22, 0));
        let own = Own::new(&world, &[put(1..3, 2), put(16..18, 0), put(20..21, 1)]);
        let nothing = Own::new(&world, &[]);
        for snapshot in [1, before_range, before_range + 3, world.seq] {
            check_uniform(&world, &nothing, snapshot, 3000);
            check_uniform(&world, &own, snapshot, 3000);
        }
        world.apply(&Step::DeleteRange(3, 14));
        check_uniform(&world, &own, world.seq, 3000);
        world.apply(&Step::Sink(2));
        check_uniform(&world, &own, world.seq, 3000);
    }
}

#[test]
fn the_last_row_left_is_found_among_the_deleted() {
    let mut world = World::new(shapes().remove(0), 64);
    let (mut batch, _, _) = world.batch(&[]);
    (0..40_000).for_each(|key| batch.keys.push(KeyRef::Words(&[key])));
    batch.rows = 40_000;
    (0..40_000).for_each(|_| batch.values[0].push_null());
    world.active.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(1));
    world.apply(&Step::Sink(3));
    let mut kinds = vec![Kind::Delete as u8; 40_000];
    kinds[31_234] = Kind::Put as u8;
    world.active.insert(&batch, Kinds::Each(&kinds), SeqNo(2));
    let mut out = Batch::new(&world.shape);
    let at = ReadAt::snapshot(SeqNo(2));
    world.view().sample_into(3, &mut words(1), at, Projection::KEYS, &mut out).unwrap();
    assert_eq!(out.key_words(0), [31_234; 3]);
}

/// A transaction that deletes most of its writes, and is then read.
#[test]
fn drawing_among_deleted_rows_of_a_memtable_ends_sooner_than_a_count_would() {
    let world = World::new(shapes().remove(0), 64);
    let (mut batch, _, _) = world.batch(&[]);
    let rows = 2000;
    (0..rows).for_each(|key| batch.keys.push(KeyRef::Words(&[key])));
    batch.rows = rows as usize;
    (0..rows).for_each(|_| batch.values[0].push_null());
    world.active.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(1));
    let mut kinds = vec![Kind::Delete as u8; rows as usize];
    kinds[1234] = Kind::Put as u8;
    world.active.insert(&batch, Kinds::Each(&kinds), SeqNo(2));
    let (mut draws, mut random) = (0, words(1));
    let mut out = Batch::new(&world.shape);
    let at = ReadAt::snapshot(SeqNo(2));
    let mut counted = || {
        draws += 1;
        random()
    };
    world.view().sample_into(1000, &mut counted, at, Projection::KEYS, &mut out).unwrap();
    assert_eq!(out.key_words(0), [1234; 1000]);
    // A thousand of them are those of the rows that were counted.
    assert!(draws < 4 * rows, "{draws} draws");
}

#[test]
fn an_estimate_of_one_run_is_wrong_by_half_of_two_blocks() {
    for shape in shapes() {
        let mut world = World::new(shape, 3);
        world.apply(&Step::Write((0..30).map(|key| (key, 1, key)).collect()));
        world.apply(&Step::Sink(3));
        let (view, at) = (world.view(), ReadAt::snapshot(SeqNo(world.seq)));
        let all = view.estimate(&world.all(), at);
        let rows = world.model.len() as u64;
        assert_eq!((all.rows, all.bytes), (rows, world.version.levels[2].bytes()));
        let keys: Vec<&Key> = world.model.keys().collect();
        for (i, lower) in keys.iter().enumerate() {
            for upper in &keys[i..] {
                let range = KeyRange { lower: (*lower).clone(), upper: Some((*upper).clone()) };
                let found = view.estimate(&range, at);
                let exact = keys.iter().filter(|key| range.contains(key.as_ref())).count();
                assert!(found.rows.abs_diff(exact as u64) <= 3, "{range:?} {found:?} {exact}");
                assert!(found.bytes <= all.bytes);
            }
        }
    }
}

#[test]
fn an_estimate_leaves_out_what_a_deleted_range_hides() {
    for shape in shapes() {
        for (from, to) in [(0, 30), (0, 10), (8, 20), (20, 30)] {
            let mut world = World::new(shape.clone(), 3);
            world.apply(&Step::Write((0..30).map(|key| (key, 1, key)).collect()));
            world.apply(&Step::Sink(3));
            world.apply(&Step::DeleteRange(from, to));
            let (view, at) = (world.view(), ReadAt::snapshot(SeqNo(world.seq)));
            let found = view.estimate(&world.all(), at);
            let exact = view.count(at).unwrap();
            assert!(found.rows.abs_diff(exact) <= 6, "{from} to {to}: {found:?} {exact}");
            assert_eq!(found.rows == 0, exact == 0);
            let before = view.estimate(&world.all(), ReadAt::snapshot(SeqNo(world.seq - 1)));
            assert!(before.rows >= 27, "a reader before it sees all: {before:?}");
        }
    }
}

fn check_conflicts(world: &World, since: u64) {
    let view = world.view();
    for i in 0..30 {
        let key = key_of(world.shape.key, i);
        let deleted = world.deleted.iter().any(|(a, b, seq)| *seq > since && *a <= key && key < *b);
        let newer: Vec<u8> = world.model.get(&key).map_or(Vec::new(), |versions| {
            versions.iter().filter(|(seq, ..)| *seq > since).map(|(_, kind, _)| *kind).collect()
        });
        let plain = deleted || !newer.is_empty();
        let merge = deleted || newer.iter().any(|kind| *kind != Kind::Merge as u8);
        assert_eq!(view.conflicts(key.as_ref(), SeqNo(since), Kind::Put).unwrap(), plain);
        assert_eq!(view.conflicts(key.as_ref(), SeqNo(since), Kind::Merge).unwrap(), merge);
        assert_eq!(view.changed(key.as_ref(), SeqNo(since)).unwrap(), plain);
    }
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let write = (0..30_u64, prop_oneof![2 => Just(1_u8), 1 => Just(0), 1 => Just(2)], 0..1000_u64);
    let step = prop_oneof![
        8 => prop::collection::vec(write, 1..12).prop_map(Step::Write),
        1 => (0..30_u64, 0..30_u64).prop_map(|(a, b)| Step::DeleteRange(a.min(b), a.max(b))),
        1 => Just(Step::Seal),
        1 => Just(Step::Flush),
        1 => (1..=3_usize).prop_map(Step::Sink),
    ];
    prop::collection::vec(step, 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every read sees, at every snapshot, what a map of versions says.
    #[test]
    fn reads_follow_the_rule(
        shape in prop::sample::select(shapes()),
        steps in steps(24),
        own in steps(4),
        ranges in any::<bool>(),
        block_rows in prop::sample::select(vec![3, 64]),
    ) {
        let mut world = World::new(shape, block_rows);
        let own = Own::new(&world, &own);
        for step in steps.iter().filter(|s| ranges || !matches!(s, Step::DeleteRange(..))) {
            world.apply(step);
        }
        for snapshot in (0..=world.seq).step_by(3).chain([world.seq, world.seq + 5]) {
            check(&world, &own, false, snapshot);
            check(&world, &own, true, snapshot);
            check_conflicts(&world, snapshot);
        }
    }

    /// Rows in one bottom run, with nothing or little above: the fast paths.
    #[test]
    fn plain_runs_read_as_merged_ones(
        shape in prop::sample::select(shapes()),
        rows in prop::collection::vec((0..30_u64, Just(1_u8), 0..1000_u64), 1..40),
        above in prop::collection::vec((0..30_u64, 0..3_u8, 0..1000_u64), 0..4),
        flush in any::<bool>(),
        block_rows in prop::sample::select(vec![3, 64]),
    ) {
        let mut world = World::new(shape, block_rows);
        let own = Own::new(&world, &[]);
        world.apply(&Step::Write(rows));
        world.apply(&Step::Sink(3));
        check(&world, &own, false, 0);
        check(&world, &own, false, 1);
        world.apply(&Step::Write(above));
        if flush {
            world.apply(&Step::Flush);
        }
        check(&world, &own, false, 1);
        check(&world, &own, false, 2);
    }
}

/// Cursors with a filter return every row that it wants, and no row that is not visible.
fn check_filtered(world: &World, view: &Arc<SuperVersion>, snapshot: u64, all: &[(Key, Values)]) {
    let word_of = |value: &[u8], column: usize| match world.shape.values[column] {
        ColumnShape::Word { .. } => word(value),
        ColumnShape::Bytes => base::leading_word(value),
    };
    for column in 0..world.shape.values.len() {
        let word_at = |values: &Values| Some(word_of(values[column].as_ref()?, column));
        let words = all.iter().filter_map(|(_, values)| word_at(values));
        let wanted: BTreeSet<u64> = words.step_by(3).take(2).collect();
        for wants_nulls in [false, true] {
            let ranges = wanted.iter().map(|&word| (word, word)).collect();
            let columns = vec![ColumnRanges { column, ranges, wants_nulls }];
            let filter = Arc::new(BlockFilter::new(columns));
            let is_wanted = |row: &&(Key, Values)| match word_at(&row.1) {
                Some(word) => wanted.contains(&word),
                None => wants_nulls,
            };
            let (context, p) = (&world.context, Projection::ALL);
            let mut cursor =
                view.cursor(context, world.all(), SeqNo(snapshot), None, p, Some(&filter));
            let mut out = Batch::new(&world.shape);
            while cursor.next_batch(5, &mut out).unwrap() {}
            let found = rows_of(&out);
            assert!(found.is_sorted_by(|a, b| a.0 < b.0), "in order at {snapshot}");
            assert!(found.iter().all(|row| all.contains(row)), "visible at {snapshot}");
            let missing = all.iter().filter(is_wanted).find(|row| !found.contains(row));
            assert_eq!(missing, None, "column {column} at {snapshot}: {wanted:?}");
        }
    }
}
