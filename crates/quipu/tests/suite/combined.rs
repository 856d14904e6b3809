//! Combined values through the Rust API.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use proptest::prelude::*;
use quipu::{
    BytesColumn, Combined, CombinedOptions, Combiner, CounterOptions, Database, Durability, Error,
    ErrorKind, Isolation, KeyColumn, KeyList, KeyOf, KeyType, Options,
};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const DURABILITIES: [Durability; 3] = [Durability::Sync, Durability::Os, Durability::None];

/// Appends the new value: associative, and sensitive to each lost, repeated or swapped increment.
/// It refuses to append an `!`, and panics at a `?`.
struct Append;

impl Combiner for Append {
    fn combine(
        &self,
        _: KeyOf<'_>,
        old: &[u8],
        new: &[u8],
        out: &mut Vec<u8>,
    ) -> quipu::Result<()> {
        out.extend_from_slice(old);
        if new.contains(&b'!') {
            return Err(Error::new(ErrorKind::InvalidInput, "no shouting"));
        }
        assert!(!new.contains(&b'?'), "no questions");
        out.extend_from_slice(new);
        Ok(())
    }
}

/// Adds numbers of eight bytes.
fn add(_: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> quipu::Result<()> {
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes);
    let wrong = |_| Error::new(ErrorKind::InvalidInput, "not eight bytes");
    let sum = number(old).map_err(wrong)? + number(new).map_err(wrong)?;
    out.extend_from_slice(&sum.to_le_bytes());
    Ok(())
}

fn options(durability: Durability) -> Options {
    Options { durability, threads: 1, ..Options::default() }
}

fn texts(db: &Database) -> Combined {
    db.combined("texts", CombinedOptions::default(), Arc::new(Append)).unwrap()
}

fn get<'k>(combined: &Combined, key: impl Into<KeyOf<'k>>) -> Option<Vec<u8>> {
    let mut out = vec![1, 2, 3];
    combined.get(key, &mut out).unwrap().then_some(out)
}

fn column(values: &[&[u8]]) -> BytesColumn {
    let mut column = BytesColumn::default();
    values.iter().for_each(|value| column.push(Some(value)));
    column
}

#[test]
fn what_is_added_is_read_at_once_and_kept_whatever_the_durability() {
    for durability in DURABILITIES {
        let folder = tempfile::tempdir().unwrap();
        {
            let db = Database::open(folder.path(), options(durability)).unwrap();
            let combined = texts(&db);
            assert_eq!(get(&combined, 7_u64), None);
            combined.add(7_u64, b"a").unwrap();
            combined.add(7_u64, b"").unwrap();
            combined.add(7_u64, b"bc").unwrap();
            let deltas = column(&[b"d", b"x", b"e"]);
            combined.add_many(KeyList::U64(&[7, 8, 7]), &deltas).unwrap();
            combined.put(9_u64, b"old").unwrap();
            combined.put(9_u64, b"new").unwrap();
            assert!(combined.remove(8_u64).unwrap() && !combined.remove(8_u64).unwrap());
            // A new handle finds the buffered increments.
            assert_eq!(get(&texts(&db), 7_u64).unwrap(), b"abcde");
            let (mut present, mut values) = (Vec::new(), BytesColumn::default());
            combined.get_many(KeyList::U64(&[9, 8, 7]), &mut present, &mut values).unwrap();
            assert_eq!(
                (present, values),
                (vec![true, false, true], column(&[b"new", b"", b"abcde"]))
            );
            assert_eq!(db.stats().unwrap().combined[0].rows, 2);
            db.close().unwrap();
            assert!(combined.add(1_u64, b"").is_err());
        }
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let combined = texts(&db);
        combined.add(7_u64, b"f").unwrap();
        let rows = combined.scan(None, 9).unwrap();
        assert_eq!(rows.keys, KeyColumn::U64(vec![7, 9]), "{durability:?}");
        assert_eq!(rows.values, column(&[b"abcdef", b"new"]));
        db.check(&|_, _| true).unwrap();
    }
}

#[test]
fn text_and_signed_keys_reach_the_function() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let named = |key: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(format!("{key:?}").as_bytes());
            out.extend_from_slice(&[old, new].concat());
            Ok(())
        };
        for (name, key, of) in
            [("s", KeyOf::Str("a\0b"), KeyType::Str), ("i", KeyOf::I64(-3), KeyType::I64)]
        {
            let combined = db.combined(name, CombinedOptions { key: of }, Arc::new(named)).unwrap();
            combined.add(key, b"x").unwrap();
            combined.flush().unwrap();
            combined.add(key, b"y").unwrap();
            assert_eq!(get(&combined, key).unwrap(), format!("{key:?}xy").as_bytes());
            combined.flush().unwrap();
            assert_eq!(get(&combined, key).unwrap(), format!("{key:?}xy").as_bytes());
            assert!(combined.add(1_u64, b"x").is_err());
        }
    }
}

#[test]
fn a_name_is_opened_with_one_function_and_one_type_of_keys() {
    let db = Database::in_memory(options(Durability::None)).unwrap();
    let combined = texts(&db);
    combined.add(1_u64, b"a").unwrap();
    // A function of the same type is the same function.
    texts(&db).add(1_u64, b"b").unwrap();
    let other = db.combined("texts", CombinedOptions::default(), Arc::new(add)).unwrap_err();
    assert!(other.to_string().contains("Append"), "{other}");
    let key = KeyType::Str;
    assert!(db.combined("texts", CombinedOptions { key }, Arc::new(Append)).is_err());
    assert!(db.counters("texts", CounterOptions::default()).is_err());
    assert!(db.transaction(Isolation::Snapshot).combined("nothing").is_err());
    assert!(db.drop_entry("texts").unwrap());
    assert!(combined.add(1_u64, b"a").is_err());
    assert_eq!(get(&texts(&db), 1_u64), None);
}

#[test]
fn what_the_function_refuses_at_once_changes_nothing() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let combined = texts(&db);
        combined.add(1_u64, b"a").unwrap();
        assert_eq!(combined.add(1_u64, b"!").unwrap_err().to_string(), "no shouting");
        let many = combined.add_many(KeyList::U64(&[1, 1, 2]), &column(&[b"b", b"!", b"c"]));
        assert_eq!(many.unwrap_err().kind(), ErrorKind::InvalidInput);
        // Without a buffer a call is atomic; with one, only refused increments are left out.
        let want: (&[u8], _) = match durability {
            Durability::None => (b"ab", Some(b"c".to_vec())),
            _ => (b"a", None),
        };
        assert_eq!((get(&combined, 1_u64).unwrap().as_slice(), get(&combined, 2_u64)), want);
        let long = vec![0; quipu::COMBINED_BYTES_MAX];
        assert_eq!(combined.add(1_u64, &long).unwrap_err().kind(), ErrorKind::Limit);
        assert!(combined.add_many(KeyList::U64(&[1]), &column(&[])).is_err());
        assert_eq!(get(&combined, 1_u64).unwrap(), want.0);
    }
}

#[test]
fn what_the_function_refuses_later_waits_on_and_everything_else_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), options(Durability::None)).unwrap();
    let combined = texts(&db);
    combined.put(1_u64, b"a").unwrap();
    combined.add(1_u64, b"!").unwrap();
    let keys: Vec<u64> = (2..500).collect();
    let deltas: Vec<&[u8]> = keys.iter().map(|_| &b"x"[..]).collect();
    combined.add_many(KeyList::U64(&keys), &column(&deltas)).unwrap();
    assert_eq!(combined.flush().unwrap_err().to_string(), "no shouting");
    assert!(combined.get(1_u64, &mut Vec::new()).is_err());
    assert!(combined.scan(None, 1).is_err() && combined.len().is_err() && db.flush().is_err());
    // All other values are in the store, and are not combined again.
    let stored = combined.at(&db.store().snapshot());
    assert_eq!(stored.len().unwrap(), 499);
    assert_eq!(
        (get(&stored, 1_u64).unwrap(), get(&combined, 2_u64).unwrap()),
        (b"a".into(), b"x".into())
    );
    // The transaction reports that it would not see an acknowledged increment.
    let tx = db.transaction(Isolation::Snapshot);
    assert_eq!(tx.combined("texts").unwrap_err().to_string(), "no shouting");
    // A put of the key discards the refused increment.
    combined.put(1_u64, b"b").unwrap();
    combined.flush().unwrap();
    assert_eq!(get(&combined, 1_u64).unwrap(), b"b");
    assert!(db.transaction(Isolation::Snapshot).combined("texts").is_ok());
}

#[test]
fn a_function_that_panics_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), options(Durability::None)).unwrap();
    let combined = texts(&db);
    let keys: Vec<u64> = (0..2000).collect();
    let deltas: Vec<&[u8]> = keys.iter().map(|_| &b"x"[..]).collect();
    combined.put(1_u64, b"a").unwrap();
    combined.add(1_u64, b"?").unwrap();
    combined.add_many(KeyList::U64(&keys[2..]), &column(&deltas[2..])).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| combined.flush())).is_err());
    combined.remove(1_u64).unwrap();
    let (mut present, mut values) = (Vec::new(), BytesColumn::default());
    combined.get_many(KeyList::U64(&keys[2..]), &mut present, &mut values).unwrap();
    assert_eq!(values, column(&deltas[2..]));
    combined.flush().unwrap();
    assert_eq!(combined.len().unwrap(), 1998);
    assert_eq!(get(&combined, 77_u64).unwrap(), b"x");
}

#[test]
fn threads_and_transactions_lose_no_increment() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let open = || db.combined("sums", CombinedOptions::default(), Arc::new(add)).unwrap();
        let sum = |combined: &Combined, key: u64| {
            get(combined, key).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        };
        let one = 1_u64.to_le_bytes();
        std::thread::scope(|scope| {
            for thread in 0..8_u64 {
                let (db, open) = (&db, &open);
                scope.spawn(move || {
                    let combined = open();
                    let keys: Vec<u64> = (0..100).map(|i| i * thread % 37).collect();
                    let ones = column(&vec![&one[..]; 100]);
                    for round in 0..20_u64 {
                        combined.add_many(KeyList::U64(&keys), &ones).unwrap();
                        combined.add(1000_u64, &one).unwrap();
                        match (round + thread) % 7 {
                            0 => combined.flush().unwrap(),
                            1 => db.flush().unwrap(),
                            2 => loop {
                                let tx = db.transaction(Isolation::Snapshot);
                                tx.combined("sums").unwrap().add(1000_u64, &one).unwrap();
                                match tx.commit() {
                                    Err(e) if e.kind() == ErrorKind::Conflict => {}
                                    done => break done.unwrap(),
                                }
                            },
                            _ => {}
                        }
                        // No read returns less than an earlier one.
                        let first = sum(&combined, 1000);
                        let second = sum(&combined, 1000);
                        let (mut present, mut many) = (Vec::new(), BytesColumn::default());
                        let keys = KeyList::U64(&[1000, 0]);
                        combined.get_many(keys, &mut present, &mut many).unwrap();
                        let many = u64::from_le_bytes(many.get(0).try_into().unwrap());
                        assert!(first <= second && second <= many, "{first} {second} {many}");
                    }
                });
            }
        });
        let in_transactions = (0..8)
            .map(|thread| (0..20).filter(|round| (round + thread) % 7 == 2).count())
            .sum::<usize>();
        assert_eq!(sum(&open(), 1000), 160 + in_transactions as u64);
        let all = open().scan(None, 1000).unwrap();
        let all: u64 =
            (0..all.len()).map(|i| u64::from_le_bytes(all.values.get(i).try_into().unwrap())).sum();
        assert_eq!(all, 160 * 101 + in_transactions as u64);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<(u64, Vec<u8>)>),
    One(u64, Vec<u8>),
    Put(u64, Vec<u8>),
    Remove(u64),
    Transaction(Vec<(u64, Vec<u8>)>),
    Write,
    Flush,
    Compact,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let row = || (0..20_u64, prop::collection::vec(b'a'..=b'z', 0..4));
    prop_oneof![
        6 => prop::collection::vec(row(), 1..100).prop_map(Step::Add),
        6 => row().prop_map(|(k, v)| Step::One(k, v)),
        2 => row().prop_map(|(k, v)| Step::Put(k, v)),
        2 => (0..20_u64).prop_map(Step::Remove),
        2 => prop::collection::vec(row(), 1..9).prop_map(Step::Transaction),
        2 => Just(Step::Write),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn combined_values_are_a_map(steps in prop::collection::vec(step(), 1..40), waits: bool) {
        let durability = if waits { Durability::None } else { Durability::Os };
        let folder = tempfile::tempdir().unwrap();
        let open = || Database::open(folder.path(), options(durability)).unwrap();
        let mut db = open();
        let mut combined = texts(&db);
        let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for step in &steps {
            match step {
                Step::Add(rows) => {
                    let keys: Vec<u64> = rows.iter().map(|row| row.0).collect();
                    let deltas: Vec<&[u8]> = rows.iter().map(|row| row.1.as_slice()).collect();
                    combined.add_many(KeyList::U64(&keys), &column(&deltas)).unwrap();
                    rows.iter().for_each(|(k, v)| model.entry(*k).or_default().extend(v));
                }
                Step::One(key, value) => {
                    combined.add(*key, value).unwrap();
                    model.entry(*key).or_default().extend(value);
                }
                Step::Put(key, value) => {
                    combined.put(*key, value).unwrap();
                    model.insert(*key, value.clone());
                }
                Step::Remove(key) => {
                    prop_assert_eq!(combined.remove(*key).unwrap(), model.remove(key).is_some());
                }
                Step::Transaction(rows) => {
                    let tx = db.transaction(Isolation::Snapshot);
                    let inside = tx.combined("texts").unwrap();
                    for (key, value) in rows {
                        inside.add(*key, value).unwrap();
                        model.entry(*key).or_default().extend(value);
                        prop_assert_eq!(get(&inside, *key), model.get(key).cloned());
                    }
                    tx.commit().unwrap();
                }
                Step::Write => combined.flush().unwrap(),
                Step::Flush => db.flush().unwrap(),
                Step::Compact => db.compact().unwrap(),
                Step::Reopen => {
                    db.close().unwrap();
                    db = open();
                    combined = texts(&db);
                }
            }
            for key in [0, 7, 19] {
                prop_assert_eq!(get(&combined, key), model.get(&key).cloned());
            }
        }
        let keys: Vec<u64> = (0..22).collect();
        let (mut present, mut found) = (Vec::new(), BytesColumn::default());
        combined.get_many(KeyList::U64(&keys), &mut present, &mut found).unwrap();
        for (i, key) in keys.iter().enumerate() {
            let found = present[i].then(|| found.get(i).to_vec());
            prop_assert_eq!(found.as_ref(), model.get(key));
        }
        let same = |rows: quipu::CombinedRows, want: Vec<(&u64, &Vec<u8>)>| {
            let keys = KeyColumn::U64(want.iter().map(|row| *row.0).collect());
            let values: Vec<&[u8]> = want.iter().map(|row| row.1.as_slice()).collect();
            rows.keys == keys && rows.values == column(&values)
        };
        let want: Vec<_> = model.range(4..).take(5).collect();
        prop_assert!(same(combined.scan(Some(4_u64.into()), 5).unwrap(), want));
        let want: Vec<_> = model.range(..=9).rev().take(5).collect();
        prop_assert!(same(combined.scan_back(Some(9_u64.into()), 5).unwrap(), want));
        prop_assert_eq!(combined.len().unwrap(), model.len() as u64);
        let rows = combined.range(None, Some(10_u64.into())).unwrap().next_rows(99).unwrap();
        let want: Vec<_> = model.range(..10).collect();
        prop_assert!(rows.map_or(want.is_empty(), |rows| same(rows, want)));
    }
}
