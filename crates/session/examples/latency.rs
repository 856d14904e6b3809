//! Measures queries on a generated social network: users with ages, and friendships whose targets
//! follow a power law.
//!
//! Run with `cargo run --release -p quipu-session --example latency -- [users] [friendships] [part
//! of a name] [times as many calls] [threads]`. Prints the median time of many calls of each query
//! of the Pokec set (Memgraph's, as Cozo measured it). Everything is in memory.

#![allow(clippy::disallowed_methods, reason = "a benchmark tells the time itself")]

use base::{Batch, Key, KeyspaceId};
use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use model::{Type, Value};
use quipu_session::{Engine, Parameters};
use relation::{Catalog, KeyColumn, Schema, ValueColumn};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::Store;
use testkit::OneBatch;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let users = numbers.next().unwrap_or(100_000);
    let friendships = numbers.next().unwrap_or(1_768_515);
    let threads = std::env::args().nth(5).and_then(|arg| arg.parse().ok()).unwrap_or(2);
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(threads));
    let options = KvOptions { cache_bytes: 1 << 30, ..KvOptions::default() };
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), options);
    let store: Arc<dyn Store> = Arc::new(store.expect("a database in memory opens"));
    load(&store, users, friendships);
    let engine = Engine::new(store, env, 4 << 30);
    engine.run("::index create friends:rev {to}", &Parameters::new()).expect("an index");
    let mut random = Random(7);
    let part = std::env::args().nth(3).unwrap_or_default();
    let factor = std::env::args().nth(4).and_then(|arg| arg.parse().ok()).unwrap_or(1);
    for (name, script, calls) in QUERIES.iter().filter(|query| query.0.contains(&part)) {
        let calls = calls * factor;
        let mut times = Vec::new();
        let mut rows = 0;
        for _ in 0..calls {
            let id = Value::Int((random.next() % users) as i64);
            let parameters: Parameters = [("id".to_owned(), id)].into();
            let start = Instant::now();
            let output = engine.run(script, &parameters).expect("the query runs");
            times.push(start.elapsed().as_nanos() as f64 / 1e3);
            rows += output.rows;
        }
        times.sort_by(f64::total_cmp);
        let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        println!(
            "{name:24} median {median:12.1} us  mean {mean:12.1} us  worst {worst:12.1} us  rows {:.1}",
            rows as f64 / calls as f64
        );
    }
}

const QUERIES: &[(&str, &str, usize)] = &[
    (
        "single_vertex_read",
        "?[cmpl_pct, gender, age] := *user{uid: $id, cmpl_pct, gender, age}",
        200_000,
    ),
    ("expansion_1", "?[to] := *friends{fr: $id, to}", 20_000),
    ("expansion_2", "?[to] := *friends{fr: $id, to: a}, *friends{fr: a, to}", 1_000),
    (
        "expansion_3",
        "l1[to] := *friends{fr: $id, to}\nl2[to] := l1[fr], *friends{fr, to}\n?[to] := l2[fr], *friends{fr, to}",
        100,
    ),
    (
        "expansion_4",
        "l1[to] := *friends{fr: $id, to}\nl2[to] := l1[fr], *friends{fr, to}\nl3[to] := l2[fr], *friends{fr, to}\n?[to] := l3[fr], *friends{fr, to}",
        10,
    ),
    (
        "expansion_2 with filter",
        "?[to] := *friends{fr: $id, to: a}, *friends{fr: a, to}, *user{uid: to, age}, (age ~ 0) >= 18",
        1_000,
    ),
    (
        "neighbours_2",
        "?[to] := *friends{fr: $id, to}\n?[to] := *friends{fr: $id, to: a}, *friends{fr: a, to}",
        1_000,
    ),
    (
        "neighbours_2_data",
        "?[to, cmpl_pct, gender, age] := *friends{fr: $id, to}, *user{uid: to, cmpl_pct, gender, age}\n?[to, cmpl_pct, gender, age] := *friends{fr: $id, to: a}, *friends{fr: a, to}, *user{uid: to, cmpl_pct, gender, age}",
        1_000,
    ),
    ("pattern_cycle", "?[n, m] := n = $id, *friends{fr: n, to: m}, *friends{fr: m, to: n}", 10_000),
    ("pattern_short", "?[m] := *friends{fr: $id, to: m} :limit 1", 20_000),
    (
        "pattern_long",
        "?[n] := *friends{fr: $id, to: a}, *friends{fr: a, to: b}, *friends{fr: b, to: c}, *friends{fr: n, to: c} :limit 1",
        1_000,
    ),
    (
        "single_vertex_write",
        "?[uid, cmpl_pct, gender, age] <- [[$id, 0, null, null]] :put user {uid => cmpl_pct, gender, age}",
        20_000,
    ),
    (
        "single_vertex_update",
        "?[uid, cmpl_pct, gender, age] := uid = $id, *user{uid, cmpl_pct: before, gender, age}, cmpl_pct = mod(before + 1, 100) :put user {uid => cmpl_pct, gender, age}",
        20_000,
    ),
    ("aggregation_group", "?[age, count(uid)] := *user{uid, age}", 20),
    ("aggregation_count", "?[count(uid), count(age)] := *user{uid, age}", 20),
    ("aggregation_filter", "?[age, count(age)] := *user{age}, (age ~ 0) >= 18", 20),
    ("aggregation_min_max", "?[min(uid), max(uid), mean(uid)] := *user{uid}", 20),
    (
        "triangles",
        "?[count(a)] := *friends{fr: a, to: b}, *friends{fr: b, to: c}, *friends{fr: c, to: a}, a < b, b < c",
        1,
    ),
];

fn load(store: &Arc<dyn Store>, users: u64, friendships: u64) {
    let catalog = Catalog::new(Arc::clone(store));
    let nullable = |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
    let user = Schema {
        name: "user".into(),
        keys: vec![KeyColumn::new("uid", Type::Int)],
        values: vec![
            ValueColumn::new("cmpl_pct", Type::Int),
            nullable("gender", Type::String),
            nullable("age", Type::Int),
        ],
    };
    let friends = Schema {
        name: "friends".into(),
        keys: vec![KeyColumn::new("fr", Type::Int), KeyColumn::new("to", Type::Int)],
        values: Vec::new(),
    };
    let mut random = Random(1);
    let user_id = catalog.create(&user).expect("a new relation");
    let friends_id = catalog.create(&friends).expect("a new relation");
    let mut rows = Batch::new(&user.shape());
    for uid in 0..users {
        let age = match random.next() % 4 {
            0 => Value::Null,
            _ => Value::Int((random.next() % 80) as i64),
        };
        let gender = Value::Str(["man", "woman"][(random.next() & 1) as usize].to_owned());
        let row = vec![Value::Int(uid as i64), Value::Int(50), gender, age];
        user.append(row, &mut rows).expect("a row of its columns");
    }
    bulk(store, user_id, rows);
    let mut edges: Vec<(u64, u64)> = (0..friendships)
        .map(|_| {
            // The square of a uniform number: a tenth of the users have a third of the friendships.
            let u = random.next() % users;
            let v = random.next() % users;
            (u, ((v as u128 * v as u128) / users as u128) as u64)
        })
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut rows = Batch::new(&friends.shape());
    for (u, v) in edges {
        let word = |id: u64| base::int_to_word(id as i64);
        rows.keys.push(Key::words(&[word(u), word(v)]).as_ref());
        rows.rows += 1;
    }
    bulk(store, friends_id, rows);
}

fn bulk(store: &Arc<dyn Store>, keyspace: KeyspaceId, rows: Batch) {
    let mut bulk = store.begin_bulk().expect("a bulk load");
    bulk.write(keyspace, vec![Box::new(OneBatch(Some(rows)))]).expect("rows in order");
    bulk.commit().expect("a commit");
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
