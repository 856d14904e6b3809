//! Counters through the Rust API: buffered or not, from many threads, and in transactions.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use proptest::prelude::*;
use quipu::{
    BackupOptions, Combine, CounterOptions, Counters, Database, Durability, ErrorKind, Isolation,
    KeyColumn, KeyList, KeyOf, KeyType, Number, NumberColumn, NumberList, NumberType, Options,
    RestoreOptions, restore,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Timeout for writes that take about a second on an idle machine.
const WRITTEN_WITHIN: Duration = Duration::from_secs(30);

fn options(durability: Durability) -> Options {
    Options { durability, threads: 1, ..Options::default() }
}

fn memory() -> Database {
    Database::in_memory(options(Durability::None)).unwrap()
}

fn bigrams(db: &Database) -> Counters {
    db.counters("bigrams", CounterOptions::default()).unwrap()
}

fn int(counters: &Counters, key: u64) -> i64 {
    match counters.get(key).unwrap() {
        Number::Int(int) => int,
        Number::Float(_) => panic!("integers are counted"),
    }
}

#[test]
fn what_is_counted_is_read_at_once_and_kept_whatever_the_durability() {
    for durability in [Durability::Sync, Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        {
            let db = Database::open(folder.path(), options(durability)).unwrap();
            let counters = bigrams(&db);
            counters.add(7_u64, 1).unwrap();
            counters.add(7_u64, 41).unwrap();
            counters.add_many(KeyList::U64(&[7, 8, 7]), NumberList::Ones).unwrap();
            assert_eq!((int(&counters, 7), int(&counters, 8), int(&counters, 9)), (44, 1, 0));
            // A new handle finds the buffered increments.
            assert_eq!(int(&bigrams(&db), 7), 44);
            drop(counters);
            assert_eq!(int(&bigrams(&db), 7), 44);
            let numbers = bigrams(&db).get_many(KeyList::U64(&[9, 7, 8, 7])).unwrap();
            assert_eq!(numbers, NumberColumn::Int(vec![0, 44, 1, 44]));
            let left_open = bigrams(&db);
            db.close().unwrap();
            assert!(left_open.add(1_u64, 1).is_err());
            assert!(db.existing_counters("bigrams").is_err());
        }
        let db = Database::open(folder.path(), options(durability)).unwrap();
        assert_eq!(int(&bigrams(&db), 7), 44, "{durability:?}");
        db.check(&|_, _| true).unwrap();
    }
}

/// A series of increments out of the range and back, with an operation that moves rows at each of
/// its steps. The sum does not depend on what was flushed, compacted, reopened, backed up or
/// restored in between, and a key out of range does not hide others.
#[test]
fn a_sum_that_leaves_the_range_and_comes_back_is_right_wherever_it_was_flushed() {
    const MOST: i64 = i64::MAX - 1;
    let steps: [i64; 9] = [MOST, 5, -10, -MOST, -MOST, -3, 1 << 62, 1 << 62, MOST];
    type Move = fn(Database, &std::path::Path, Durability) -> Database;
    let moves: [Move; 5] = [
        |db, _, _| {
            db.flush().unwrap();
            db
        },
        |db, _, _| {
            db.compact().unwrap();
            db
        },
        |db, _, _| {
            bigrams(&db).flush().unwrap();
            db
        },
        |db, path, durability| {
            db.close().unwrap();
            Database::open(path, options(durability)).unwrap()
        },
        |db, path, durability| {
            let backup = path.with_extension("backup");
            db.backup(&backup, &BackupOptions::default(), &|_, _| true).unwrap();
            db.close().unwrap();
            restore(&backup, path, RestoreOptions { replace: true }, &|_, _| true).unwrap();
            Database::open(path, options(durability)).unwrap()
        },
    ];
    let modes = [None, Some(Durability::Sync), Some(Durability::Os), Some(Durability::None)];
    for (mode, place, which) in modes.iter().flat_map(|mode| {
        (0..steps.len())
            .flat_map(move |place| (0..moves.len()).map(move |which| (mode, place, which)))
    }) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        // Each opening, and each commit under `sync`, waits for the device. The model test of the
        // engine covers every step, in memory.
        let waits = which > 2 || *mode == Some(Durability::Sync);
        if mode.is_none() && which > 2 || waits && ![1, 4].contains(&place) {
            continue;
        }
        let mut db = match mode {
            Some(durability) => Database::open(&path, options(*durability)).unwrap(),
            None => memory(),
        };
        bigrams(&db).add(2_u64, 7).unwrap();
        let mut sum = 0_i128;
        for (i, step) in steps.into_iter().enumerate() {
            bigrams(&db).add(1_u64, step).unwrap();
            sum += i128::from(step);
            if i == place {
                db = moves[which](db, &path, mode.unwrap_or(Durability::None));
            }
            let says = format!("{mode:?}, step {i}, move {which} at {place}");
            let counters = bigrams(&db);
            let end = if sum > 0 { i64::MAX } else { i64::MIN };
            let wanted = i64::try_from(sum).unwrap_or(end);
            match counters.get(1_u64) {
                Ok(found) => assert_eq!(found, Number::Int(wanted), "{says}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Limit, "{says}");
                    assert!(wanted == i64::MAX || wanted == i64::MIN, "{says}: {error}");
                }
            }
            let both = KeyList::U64(&[1, 2]);
            assert_eq!(
                counters.get_many(both).unwrap(),
                NumberColumn::Int(vec![wanted, 7]),
                "{says}"
            );
            let all = counters.scan(None, 9).unwrap();
            assert_eq!(all.numbers, NumberColumn::Int(vec![wanted, 7]), "{says}");
            assert_eq!(counters.top(2).unwrap().len(), 2, "{says}");
            assert_eq!(counters.len().unwrap(), 2, "{says}");
        }
        db.check(&|_, _| true).unwrap();
    }
}

#[test]
fn what_one_call_adds_to_a_key_is_a_word_or_refused_whole() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let counters = bigrams(&db);
        let most = i64::MAX - 1;
        let keys = KeyList::U64(&[1, 1, 2]);
        let added = counters.add_many(keys, NumberList::Int(&[most, most, 1]));
        match durability {
            // With a buffer each increment counts separately.
            Durability::None => added.unwrap(),
            _ => {
                assert_eq!(added.unwrap_err().kind(), ErrorKind::Limit);
                assert_eq!(counters.len().unwrap(), 0);
            }
        }
        let tx = db.transaction(Isolation::Snapshot);
        let inside = tx.counters("bigrams").unwrap();
        inside.add(5_u64, most).unwrap();
        inside.add(5_u64, most).unwrap();
        assert_eq!(inside.get(5_u64).unwrap_err().kind(), ErrorKind::Limit);
        inside.add(5_u64, -most).unwrap();
        assert_eq!(inside.get(5_u64).unwrap(), Number::Int(most));
        tx.commit().unwrap();
        assert_eq!(int(&counters, 5), most);
        let tx = db.transaction(Isolation::Snapshot);
        tx.counters("bigrams").unwrap().add(6_u64, most).unwrap();
        tx.counters("bigrams").unwrap().add(6_u64, most).unwrap();
        assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(int(&counters, 6), 0);
    }
}

/// More keys than one lookup handles, unordered and some repeated. Their increments are in several
/// tables, in memtables and in the write buffer, with counters set and removed in between.
#[test]
fn many_counters_of_several_tables_are_read_as_one_by_one() {
    let db = memory();
    let counters = bigrams(&db);
    let mut right: BTreeMap<u64, i64> = BTreeMap::new();
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (seed >> 33) % below
    };
    for round in 0..6 {
        let keys: Vec<u64> = (0..4000).map(|_| random(6000)).collect();
        counters.add_many(KeyList::U64(&keys), NumberList::Ones).unwrap();
        keys.iter().for_each(|&key| *right.entry(key).or_default() += 1);
        for _ in 0..100 {
            let (key, number) = (random(6000), random(50) as i64);
            counters.set(key, number).unwrap();
            right.insert(key, number);
            let gone = random(6000);
            assert_eq!(counters.remove(gone).unwrap(), right.remove(&gone).is_some());
        }
        match round {
            0..4 => db.flush().unwrap(),
            4 => counters.flush().unwrap(),
            _ => {}
        }
    }
    let asked: Vec<u64> = (0..9000).map(|_| random(7000)).collect();
    let want = asked.iter().map(|key| right.get(key).copied().unwrap_or_default()).collect();
    let got = counters.get_many(KeyList::U64(&asked)).unwrap();
    assert_eq!(got, NumberColumn::Int(want));
    assert!(asked.iter().all(|&key| int(&counters, key) == right.get(&key).copied().unwrap_or(0)));
}

#[test]
fn increments_that_wait_are_written_without_being_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path(), options(Durability::None)).unwrap();
    let counters = bigrams(&db);
    let stored = |key: u64| match counters.at(&db.store().snapshot()).find(key).unwrap() {
        Some(Number::Int(int)) => int,
        _ => 0,
    };
    counters.add(1_u64, 5).unwrap();
    // Within a second on an idle machine; the test only checks that it is written.
    let comes = |number: i64| {
        let begin = Instant::now();
        while stored(1) != number {
            let waited = begin.elapsed();
            assert!(waited < WRITTEN_WITHIN, "{number} is not written after {waited:?}");
            std::thread::yield_now();
        }
    };
    comes(5);
    // The background job also runs a second time.
    counters.add(1_u64, 6).unwrap();
    comes(11);
    assert_eq!(int(&counters, 1), 11);
}

#[test]
fn more_keys_than_may_wait_are_written_as_they_come() {
    let small = Options { memory_limit_bytes: 1 << 20, ..options(Durability::None) };
    let db = Database::in_memory(small).unwrap();
    let counters = bigrams(&db);
    let keys: Vec<u64> = (0..10_000).collect();
    for _ in 0..3 {
        counters.add_many(KeyList::U64(&keys), NumberList::Ones).unwrap();
    }
    assert_eq!(counters.get_many(KeyList::U64(&keys)).unwrap(), NumberColumn::Int(vec![3; 10_000]));
    assert_eq!(counters.len().unwrap(), 10_000);
}

#[test]
fn eight_threads_lose_no_increment() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let counters = bigrams(&db);
        std::thread::scope(|scope| {
            for thread in 0..8_u64 {
                let (counters, db) = (&counters, &db);
                scope.spawn(move || {
                    let keys: Vec<u64> = (0..100).map(|i| i * thread % 37).collect();
                    for round in 0..20_u64 {
                        counters.add_many(KeyList::U64(&keys), NumberList::Ones).unwrap();
                        counters.add(1000_u64, 1).unwrap();
                        if round % 7 == thread % 7 {
                            counters.flush().unwrap();
                        }
                        if round == 10 {
                            db.flush().unwrap();
                        }
                        // No read returns less than an earlier one, nor more than was added.
                        let first = int(counters, 1000);
                        let second = int(counters, 1000);
                        assert!(first <= second && second <= 160, "{first} {second}");
                        let many = counters.get_many(KeyList::U64(&[1000, 0])).unwrap();
                        let NumberColumn::Int(many) = many else { panic!("integers") };
                        assert!(second <= many[0] && many[0] <= 160, "{second} {many:?}");
                    }
                });
            }
        });
        assert_eq!(int(&counters, 1000), 160);
        let NumberColumn::Int(all) = counters.scan(None, 1000).unwrap().numbers else {
            panic!("integers are counted")
        };
        assert_eq!(all.iter().sum::<i64>(), 8 * 20 * 101);
    }
}

/// Increments concurrent with the close: acknowledged ones are kept, refused ones are not.
#[test]
fn an_increment_while_the_database_closes_is_kept_or_refused() {
    for round in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(Durability::None)).unwrap();
        let counters = bigrams(&db);
        // Gives the close something to write.
        let keys: Vec<u64> = (0..20_000).collect();
        counters.add_many(KeyList::U64(&keys), NumberList::Ones).unwrap();
        let acknowledged: i64 = std::thread::scope(|scope| {
            let adders: Vec<_> = (0..3_u64)
                .map(|thread| {
                    let counters = &counters;
                    scope.spawn(move || {
                        let mut added = 0;
                        while counters.add((added * 7 + thread) % 5000, 1).is_ok() {
                            added += 1;
                        }
                        added
                    })
                })
                .collect();
            while int(&counters, 0) < 2 {
                std::thread::yield_now();
            }
            db.close().unwrap();
            adders.into_iter().map(|adder| adder.join().unwrap() as i64).sum()
        });
        drop((counters, db));
        let db = Database::open(folder.path(), options(Durability::None)).unwrap();
        let NumberColumn::Int(sums) = bigrams(&db).scan(None, 20_000).unwrap().numbers else {
            panic!("integers are counted")
        };
        assert_eq!(sums.iter().sum::<i64>(), 20_000 + acknowledged, "{round}");
    }
}

#[test]
fn a_sum_past_the_range_is_an_error_until_it_comes_back_or_is_set() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let counters = bigrams(&db);
        counters.add(1_u64, i64::MAX - 1).unwrap();
        assert_eq!(int(&counters, 1), i64::MAX - 1);
        counters.add(1_u64, 100).unwrap();
        let error = counters.get(1_u64).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        db.compact().unwrap();
        assert_eq!(counters.get(1_u64).unwrap_err().kind(), ErrorKind::Limit);
        assert!(counters.contains(1_u64).unwrap() && !counters.contains(2_u64).unwrap());
        let past = NumberColumn::Int(vec![i64::MAX]);
        assert_eq!(counters.get_many(KeyList::U64(&[1])).unwrap(), past);
        assert_eq!(counters.top(1).unwrap().numbers, past);
        counters.add(1_u64, -1000).unwrap();
        assert_eq!(int(&counters, 1), i64::MAX - 901);
        counters.add(1_u64, 1000).unwrap();
        assert_eq!(counters.get(1_u64).unwrap_err().kind(), ErrorKind::Limit);
        assert!(counters.add(2_u64, i64::MAX).is_err());
        counters.set(1_u64, 3).unwrap();
        assert_eq!(int(&counters, 1), 3);
    }
}

#[test]
fn a_sum_below_the_range_is_an_error_as_well() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let counters = bigrams(&db);
        // The smallest value of a counter, and one below it.
        counters.add(1_u64, i64::MIN + 2).unwrap();
        counters.add(2_u64, i64::MIN + 2).unwrap();
        db.flush().unwrap();
        counters.add(1_u64, -1).unwrap();
        counters.add(2_u64, -2).unwrap();
        assert_eq!(int(&counters, 1), i64::MIN + 1);
        assert_eq!(counters.get(2_u64).unwrap_err().kind(), ErrorKind::Limit);
        db.compact().unwrap();
        let numbers = NumberColumn::Int(vec![i64::MIN + 1, i64::MIN]);
        assert_eq!(counters.get_many(KeyList::U64(&[1, 2])).unwrap(), numbers);
        assert_eq!(counters.scan(None, 10).unwrap().numbers, numbers);
        counters.add(2_u64, 1000).unwrap();
        assert_eq!(int(&counters, 1), i64::MIN + 1);
        assert_eq!(int(&counters, 2), i64::MIN + 1000);
        for number in [i64::MIN, i64::MAX] {
            assert!(counters.add(3_u64, number).is_err(), "the ends mark what is past the range");
            assert!(counters.set(3_u64, number).is_err());
        }
        counters.set(2_u64, -3).unwrap();
        assert_eq!(int(&counters, 2), -3);
    }
}

/// A key out of range does not hide others: a read of several keys returns the end of the range for
/// it, which no other sum equals.
#[test]
fn a_sum_past_the_range_is_named_by_its_key_and_hides_no_other() {
    let db = memory();
    let text = CounterOptions { key: KeyType::Str, ..CounterOptions::default() };
    let signed = CounterOptions { key: KeyType::I64, ..CounterOptions::default() };
    let long = "é".repeat(500);
    let named = |counters: &Counters, key: KeyOf<'_>, keys: KeyList<'_>, shown: &str| {
        counters.add(key, i64::MAX - 1).unwrap();
        counters.add(key, 100).unwrap();
        let error = counters.get(key).unwrap_err();
        let want = format!("the sum of the counter {shown} of {:?} is past", counters.name());
        assert!(error.to_string().starts_with(&want), "{error}");
        let columns = [
            counters.get_many(keys).unwrap(),
            counters.scan(None, 10).unwrap().numbers,
            counters.scan_back(None, 10).unwrap().numbers,
            counters.top(10).unwrap().numbers,
            counters.range(None, None).unwrap().next_rows(10).unwrap().unwrap().numbers,
        ];
        for numbers in columns {
            let NumberColumn::Int(numbers) = numbers else { panic!("integers are counted") };
            assert!(numbers.contains(&i64::MAX), "{numbers:?}");
        }
    };
    let counters = db.counters("t", text).unwrap();
    counters.add("good", 1).unwrap();
    named(&counters, "bad".into(), KeyList::Str(&["good", "bad"]), "\"bad\"");
    counters.set("bad", 0).unwrap();
    let cut = format!("\"{}\"…", "é".repeat(50));
    named(&counters, long.as_str().into(), KeyList::Str(&[&long, "good"]), &cut);
    named(&bigrams(&db), 7_u64.into(), KeyList::U64(&[1, 7]), "7");
    named(&db.counters("i", signed).unwrap(), (-7_i64).into(), KeyList::I64(&[-7]), "-7");
}

#[test]
fn floats_add_and_numbers_of_another_type_are_refused() {
    let db = memory();
    let floats = CounterOptions { number: NumberType::Float, ..CounterOptions::default() };
    let counters = db.counters("sums", floats).unwrap();
    counters.add(1_u64, 0.5).unwrap();
    counters.add(1_u64, 2).unwrap();
    assert_eq!(counters.get(1_u64).unwrap(), Number::Float(2.5));
    assert!(bigrams(&db).add(1_u64, 0.5).is_err());
    assert!(bigrams(&db).add("text", 1).is_err());
    let error = db.counters("bigrams", floats).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the counters \"bigrams\" have u64 keys, sum of int64; u64 keys, sum of float64 were asked for"
    );
}

/// Found by reading: only the writes of transactions were limited.
#[test]
fn more_increments_than_a_transaction_may_hold_are_refused_where_none_waits() {
    let folder = tempfile::tempdir().unwrap();
    let limit = Options { memory_limit_bytes: 16 << 20, ..options(Durability::Os) };
    let db = Database::open(folder.path(), limit).unwrap();
    let counters = bigrams(&db);
    let keys: Vec<u64> = (0..100_000).collect();
    let error = counters.add_many(KeyList::U64(&keys), NumberList::Ones).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert_eq!(counters.len().unwrap(), 0);
    counters.add_many(KeyList::U64(&keys[..50_000]), NumberList::Ones).unwrap();
    assert_eq!(counters.len().unwrap(), 50_000);
}

#[test]
fn least_and_greatest_are_kept() {
    for (combine, want) in [(Combine::Min, -4), (Combine::Max, 9)] {
        let db = memory();
        let counters =
            db.counters("c", CounterOptions { combine, ..CounterOptions::default() }).unwrap();
        for number in [3, 9, -4, 5] {
            counters.add(1_u64, number).unwrap();
            counters.flush().unwrap();
        }
        assert_eq!(int(&counters, 1), want);
        assert_eq!(counters.find(2_u64).unwrap(), None);
    }
}

fn of_floats(db: &Database, combine: Combine) -> Counters {
    let options =
        CounterOptions { combine, number: NumberType::Float, ..CounterOptions::default() };
    db.counters("floats", options).unwrap()
}

/// Numbers of both signs, zeros and infinities: the order of their bits is not that of their
/// values.
#[test]
fn least_and_greatest_floats_are_kept() {
    let numbers = [0.5, -2.25, 1e300, -1e-300, -0.0, f64::INFINITY, -7.5e200, 3.0];
    for (combine, fold) in
        [(Combine::Min, f64::min as fn(f64, f64) -> f64), (Combine::Max, f64::max)]
    {
        for durability in [Durability::Os, Durability::None] {
            let folder = tempfile::tempdir().unwrap();
            let db = Database::open(folder.path(), options(durability)).unwrap();
            let counters = of_floats(&db, combine);
            let negative = |n: &f64| -n.abs() - 1.0;
            let mut want = [None, None];
            for (n, number) in numbers.iter().enumerate() {
                // A counter of all numbers, and one of the negative numbers.
                for (key, number) in [(1_u64, *number), (2, negative(number))] {
                    counters.add(key, number).unwrap();
                    let known = &mut want[key as usize - 1];
                    *known = Some(known.map_or(number, |known| fold(known, number)));
                    assert_eq!(counters.get(key).unwrap(), Number::Float(known.unwrap()), "{n}");
                }
                match n % 3 {
                    0 => db.flush().unwrap(),
                    1 => counters.flush().unwrap(),
                    _ => db.compact().unwrap(),
                }
            }
            let got = counters.get_many(KeyList::U64(&[1, 2])).unwrap();
            assert_eq!(got, NumberColumn::Float(want.map(Option::unwrap).to_vec()));
            assert_eq!(counters.find(3_u64).unwrap(), None);
        }
    }
}

/// Numbers with exact sums, so that the order of merges does not matter. Found by reading: NaN
/// became the maximum (or the minimum, if negative) and stayed.
#[test]
fn nan_is_refused_and_what_was_counted_stays() {
    let db = memory();
    for (name, combine) in [("sum", Combine::Sum), ("min", Combine::Min), ("max", Combine::Max)] {
        let options = CounterOptions { number: NumberType::Float, combine, key: KeyType::U64 };
        let counters = db.counters(name, options).unwrap();
        counters.add(1_u64, 2.5).unwrap();
        for nan in [f64::NAN, -f64::NAN] {
            let keys = KeyList::U64(&[1, 2]);
            for refused in [
                counters.add(1_u64, nan),
                counters.set(1_u64, nan),
                counters.add_many(keys, NumberList::Float(&[1.0, nan])),
            ] {
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
            }
        }
        let numbers = counters.get_many(KeyList::U64(&[1, 2])).unwrap();
        assert_eq!(numbers, NumberColumn::Float(vec![2.5, 0.0]), "{name}");
    }
}

#[test]
fn sums_of_floats_are_the_same_in_what_waits_memtables_and_tables() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let mut want = vec![0.0; 1000];
        {
            let db = Database::open(folder.path(), options(durability)).unwrap();
            let counters = of_floats(&db, Combine::Sum);
            let keys: Vec<u64> = (0..1000).collect();
            for round in 0..7_u64 {
                let numbers: Vec<f64> =
                    keys.iter().map(|key| (key * round % 97) as f64 / 8.0 - 5.5).collect();
                counters.add_many(KeyList::U64(&keys), NumberList::Float(&numbers)).unwrap();
                want.iter_mut().zip(&numbers).for_each(|(sum, number)| *sum += number);
                match round {
                    0 | 2 => db.flush().unwrap(),
                    3 => db.compact().unwrap(),
                    5 => counters.flush().unwrap(),
                    _ => {}
                }
                let got = counters.get_many(KeyList::U64(&keys)).unwrap();
                assert_eq!(got, NumberColumn::Float(want.clone()), "{durability:?}, round {round}");
            }
            db.close().unwrap();
        }
        let db = Database::open(folder.path(), options(durability)).unwrap();
        db.compact().unwrap();
        let scanned = of_floats(&db, Combine::Sum).scan(None, 2000).unwrap().numbers;
        assert_eq!(scanned, NumberColumn::Float(want), "{durability:?}");
        db.check(&|_, _| true).unwrap();
    }
}

#[test]
fn text_keys_are_counted_and_come_back_as_text() {
    let db = memory();
    let options = CounterOptions { key: KeyType::Str, ..CounterOptions::default() };
    let counters = db.counters("words", options).unwrap();
    let words = ["to", "be", "or", "not", "to", "be", ""];
    counters.add_many(KeyList::Str(&words), NumberList::Ones).unwrap();
    counters.add("be", 10).unwrap();
    let top = counters.top(2).unwrap();
    let KeyColumn::Str(keys) = &top.keys else { panic!("not text") };
    assert_eq!((keys.get(0), keys.get(1)), (&b"be"[..], &b"to"[..]));
    assert_eq!(top.numbers, NumberColumn::Int(vec![12, 2]));
    assert_eq!(counters.get("").unwrap(), Number::Int(1));
    assert!(counters.remove("be").unwrap());
    assert!(!counters.remove("be").unwrap());
    assert_eq!(counters.get("be").unwrap(), Number::Int(0));
}

#[test]
fn the_greatest_come_first_and_of_equal_ones_the_smaller_key() {
    let db = memory();
    let counters = bigrams(&db);
    for (key, number) in [(5_u64, 2), (1, 9), (3, 2), (4, 2), (2, -1)] {
        counters.add(key, number).unwrap();
    }
    let top = counters.top(3).unwrap();
    assert_eq!(
        (top.keys, top.numbers),
        (KeyColumn::U64(vec![1, 3, 4]), NumberColumn::Int(vec![9, 2, 2]))
    );
    assert!(counters.top(0).unwrap().is_empty());
    assert_eq!(counters.top(99).unwrap().len(), 5);
}

#[test]
fn the_greatest_of_many_are_found_by_several_threads() {
    let several = Options { threads: 3, ..options(Durability::None) };
    let db = Database::in_memory(several).unwrap();
    let counters = bigrams(&db);
    let words = CounterOptions { key: KeyType::Str, ..CounterOptions::default() };
    let words = db.counters("words", words).unwrap();
    // Many equal values, so that the order of equal ones matters.
    let keys: Vec<u64> = (0..200_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let numbers: Vec<i64> = (0..keys.len() as i64).map(|i| i % 1000).collect();
    counters.add_many(KeyList::U64(&keys), NumberList::Int(&numbers)).unwrap();
    let texts: Vec<String> = keys.iter().map(|key| format!("{key:x}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    words.add_many(KeyList::Str(&texts), NumberList::Int(&numbers)).unwrap();
    let mut right: Vec<_> = numbers.iter().map(|number| -number).zip(&keys).collect();
    right.sort_unstable();
    let mut right_texts: Vec<_> = numbers.iter().map(|number| -number).zip(&texts).collect();
    right_texts.sort_unstable();
    for count in [1, 150, 500] {
        let top = counters.top(count).unwrap();
        assert_eq!(top.keys, KeyColumn::U64(right[..count].iter().map(|row| *row.1).collect()));
        let best: Vec<i64> = right[..count].iter().map(|row| -row.0).collect();
        assert_eq!(top.numbers, NumberColumn::Int(best));
        let KeyColumn::Str(found) = words.top(count).unwrap().keys else { panic!("not text") };
        let found: Vec<&[u8]> = (0..found.len()).map(|i| found.get(i)).collect();
        let want: Vec<_> = right_texts[..count].iter().map(|row| row.1.as_bytes()).collect();
        assert_eq!(found, want);
    }
    // Also at a snapshot, and in a transaction with its own writes.
    let before = counters.at(&db.store().snapshot());
    let tx = db.transaction(Isolation::Snapshot);
    tx.counters("bigrams").unwrap().add(1_u64, 5000).unwrap();
    let top = tx.counters("bigrams").unwrap().top(1).unwrap();
    assert_eq!((top.keys, top.numbers), (KeyColumn::U64(vec![1]), NumberColumn::Int(vec![5000])));
    tx.commit().unwrap();
    assert_eq!(before.top(1).unwrap().keys, KeyColumn::U64(vec![*right[0].1]));
    assert_eq!(counters.top(1).unwrap().keys, KeyColumn::U64(vec![1]));
}

#[test]
fn transactions_add_without_conflict_and_a_set_conflicts() {
    for durability in [Durability::Os, Durability::None] {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let counters = bigrams(&db);
        counters.add(1_u64, 1).unwrap();
        let (a, b) = (db.transaction(Isolation::Snapshot), db.transaction(Isolation::Snapshot));
        a.counters("bigrams").unwrap().add(1_u64, 10).unwrap();
        b.counters("bigrams").unwrap().add(1_u64, 100).unwrap();
        assert_eq!(int(&a.counters("bigrams").unwrap(), 1), 11);
        assert_eq!(int(&counters, 1), 1);
        a.commit().unwrap();
        b.commit().unwrap();
        assert_eq!(int(&counters, 1), 111);
        let tx = db.transaction(Isolation::Snapshot);
        tx.counters("bigrams").unwrap().set(1_u64, 0).unwrap();
        counters.add(1_u64, 1).unwrap();
        counters.flush().unwrap();
        assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(int(&counters, 1), 112);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<(u64, i64)>),
    One(u64, i64),
    Set(u64, i64),
    Remove(u64),
    Reset,
    Write,
    Flush,
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let row = || (0..20_u64, -50..50_i64);
    prop_oneof![
        6 => prop::collection::vec(row(), 1..100).prop_map(Step::Add),
        6 => row().prop_map(|(k, n)| Step::One(k, n)),
        2 => row().prop_map(|(k, n)| Step::Set(k, n)),
        2 => (0..20_u64).prop_map(Step::Remove),
        1 => Just(Step::Reset),
        2 => Just(Step::Write),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn counters_are_a_map_of_sums(steps in prop::collection::vec(step(), 1..40), waits: bool) {
        let durability = if waits { Durability::None } else { Durability::Os };
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path(), options(durability)).unwrap();
        let counters = bigrams(&db);
        let mut model: BTreeMap<u64, i64> = BTreeMap::new();
        for step in &steps {
            match step {
                Step::Add(rows) => {
                    let (keys, numbers): (Vec<u64>, Vec<i64>) = rows.iter().copied().unzip();
                    counters.add_many(KeyList::U64(&keys), NumberList::Int(&numbers)).unwrap();
                    rows.iter().for_each(|(k, n)| *model.entry(*k).or_default() += n);
                }
                Step::One(key, number) => {
                    counters.add(*key, *number).unwrap();
                    *model.entry(*key).or_default() += number;
                }
                Step::Set(key, number) => {
                    counters.set(*key, *number).unwrap();
                    model.insert(*key, *number);
                }
                Step::Remove(key) => {
                    prop_assert_eq!(counters.remove(*key).unwrap(), model.remove(key).is_some());
                }
                Step::Reset => { counters.reset().unwrap(); model.clear(); }
                Step::Write => counters.flush().unwrap(),
                Step::Flush => db.flush().unwrap(),
                Step::Compact => db.compact().unwrap(),
            }
            for key in [0, 7, 19] {
                prop_assert_eq!(int(&counters, key), model.get(&key).copied().unwrap_or_default());
            }
        }
        let keys: Vec<u64> = (0..22).collect();
        let want: Vec<i64> = keys.iter().map(|key| model.get(key).copied().unwrap_or_default()).collect();
        prop_assert_eq!(counters.get_many(KeyList::U64(&keys)).unwrap(), NumberColumn::Int(want));
        let rows = counters.scan(Some(4_u64.into()), 5).unwrap();
        let want: Vec<_> = model.range(4..).take(5).collect();
        prop_assert_eq!(rows.keys, KeyColumn::U64(want.iter().map(|row| *row.0).collect()));
        prop_assert_eq!(rows.numbers, NumberColumn::Int(want.iter().map(|row| *row.1).collect()));
        let mut best: Vec<_> = model.iter().map(|(&k, &n)| (-n, k)).collect();
        best.sort_unstable();
        let top = counters.top(4).unwrap();
        prop_assert_eq!(top.keys, KeyColumn::U64(best.iter().take(4).map(|row| row.1).collect()));
        prop_assert_eq!(counters.len().unwrap(), model.len() as u64);
    }
}
