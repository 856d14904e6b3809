//! Times queries by a field of small documents, with and without an index on the field.
//!
//! Prints a table: the least of 25 calls of each query in milliseconds, on a database in memory. An
//! argument is the number of documents.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark tells the time")]

use env::MemoryEnv;
use kv::{Kv, KvOptions};
use quipu_session::{Engine, Parameters};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const QUERIES: [(&str, &str); 7] = [
    ("`==`, 10 documents", "?[key] := *docs{key, doc}, doc->'addr'->'city' == 'city 77'"),
    ("`==`, no document", "?[key] := *docs{key, doc}, doc->'addr'->'city' == 'nowhere'"),
    ("`==`, a number", "?[key] := *docs{key, doc}, doc->'age' == 50"),
    (
        "`=` with 3 values of a list",
        "?[key] := c in ['city 1', 'city 2', 'city 3'], *docs{key, doc}, c = doc->'addr'->'city'",
    ),
    ("range, 200 documents", "?[key] := *docs{key, doc}, v = doc->'age', v >= 50, v < 50.2"),
    (
        "first 10 in order",
        "?[v, key] := *docs{key, doc}, v = doc->'addr'->'city' :order v, key :limit 10",
    ),
    (
        "scan: count by a field without an index",
        "?[count(key)] := *docs{key, doc}, doc->'active' == true",
    ),
];

fn run(engine: &Engine, script: &str) {
    if let Err(error) = engine.run(script, &Parameters::new()) {
        panic!("{}", error.render(script));
    }
}

fn least_ms(engine: &Engine, script: &str) -> f64 {
    let times = (0..25).map(|_| {
        let start = Instant::now();
        run(engine, script);
        start.elapsed().as_secs_f64() * 1e3
    });
    times.fold(f64::MAX, f64::min)
}

fn main() {
    let documents = std::env::args().nth(1).map_or(100_000, |n| n.parse().expect("a number"));
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(2));
    let options = KvOptions { cache_bytes: 512 << 20, ..KvOptions::default() };
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), options);
    let engine = Engine::new(Arc::new(store.expect("a database in memory opens")), env, 1 << 30);
    run(
        &engine,
        &format!(
            "?[key, doc] := key in int_range({documents}), doc = {{
                'name': concat('name ', to_string(key)), 'age': (key % 1000) / 10, 'active': key % 3 == 0,
                'addr': {{'street': concat(to_string(key), ' High Street'), 'zip': key % 90000,
                    'city': concat('city ', to_string(key % 10000))}},
                'tags': ['a', to_string(key % 7)]}}
             :create docs {{key: Int => doc: Json}}"
        ),
    );
    run(&engine, "::compact");
    let without: Vec<f64> = QUERIES.iter().map(|(_, query)| least_ms(&engine, query)).collect();
    let start = Instant::now();
    run(&engine, "::index create docs:by_city {doc->'addr'->'city'}");
    run(&engine, "::index create docs:by_age {age: doc->'age'}");
    let made = start.elapsed().as_secs_f64();
    println!("| query | without, ms | with, ms |\n| --- | ---: | ---: |");
    for ((name, query), without) in QUERIES.iter().zip(without) {
        println!("| {name} | {without:.2} | {:.2} |", least_ms(&engine, query));
    }
    println!("\nBoth indexes were made in {made:.2} s.");
}
