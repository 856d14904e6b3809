//! Runs queries on one graph and prints the time of each call: the Rust counterpart of
//! `fuzz/datalog/times.py`.
//!
//! The first line of standard input says what to load, each further line is a query; that file
//! describes the format.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads files and tells the time itself")]

use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::Value;
use quipu_session::{Engine, Parameters};
use serde_json::json;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let mut lines =
        std::io::stdin().lock().lines().map(|line| line.expect("standard input is text"));
    let spec = parsed(&lines.next().expect("the first line says what to load"));
    let limit_s = spec["limit_s"].as_f64().unwrap_or(5.0);
    let engine = engine();
    load(&engine, &spec);
    answer(&json!({"ready": true}));
    for line in lines {
        answer(&ask(&engine, &parsed(&line), limit_s));
    }
}

fn parsed(line: &str) -> serde_json::Value {
    serde_json::from_str(line).expect("a line of JSON")
}

fn answer(what: &serde_json::Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what}").and_then(|()| out.flush()).expect("stdout is open");
}

fn engine() -> Engine {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(2));
    let options = KvOptions { cache_bytes: 512 << 20, ..KvOptions::default() };
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), options);
    Engine::new(Arc::new(store.expect("a database in memory opens")), env, 1 << 30)
}

fn load(engine: &Engine, spec: &serde_json::Value) {
    let is_text = spec["is_text"].as_bool().unwrap_or(false);
    let key = if is_text { "String" } else { "Int" };
    let none = Parameters::new();
    let run = |script: &str, parameters: &Parameters| {
        engine.run(script, parameters).unwrap_or_else(|error| panic!("{}", error.render(script)));
    };
    run(&format!(":create e {{a: {key}, b: {key}}}"), &none);
    run(&format!(":create n {{id: {key} => k: Int}}"), &none);
    let folder = spec["folder"].as_str().expect("a folder");
    for (file, put) in [
        ("edges.csv", "?[a, b] <- $rows :put e {a, b}"),
        ("vertices.csv", "?[id, k] <- $rows :put n {id => k}"),
    ] {
        let text = std::fs::read_to_string(Path::new(folder).join(file)).expect("a file of rows");
        let cell = |text: &str| match text.parse() {
            Ok(int) => Value::Int(int),
            Err(_) => Value::Str(text.to_owned()),
        };
        let row = |line: &str| Value::List(line.split(',').map(cell).collect());
        let rows: Vec<Value> = text.lines().skip(1).map(row).collect();
        for rows in rows.chunks(100_000) {
            run(put, &[("rows".to_owned(), Value::List(rows.to_vec()))].into());
        }
    }
    if spec["has_reverse"].as_bool() == Some(true) {
        run("::index create e:rev {b, a}", &none);
    }
}

fn ask(engine: &Engine, asked: &serde_json::Value, limit_s: f64) -> serde_json::Value {
    let script = asked["script"].as_str().expect("a script");
    let script = match script.starts_with("::") {
        true => script.to_owned(),
        false => format!("{script}\n:timeout {limit_s}"),
    };
    let parameters = asked["params"].as_object().into_iter().flatten();
    let parameters: Parameters =
        parameters.map(|(name, value)| (name.clone(), value_of(value))).collect();
    let calls = asked["calls"].as_u64().unwrap_or(1);
    let (begin, mut times, mut rows) = (Instant::now(), Vec::new(), Vec::new());
    for _ in 0..calls {
        if !times.is_empty() && begin.elapsed().as_secs_f64() > limit_s / 4.0 {
            break;
        }
        let start = Instant::now();
        let found = engine.run(&script, &parameters);
        times.push(start.elapsed().as_secs_f64() * 1e3);
        match found {
            Ok(output) => {
                let row = |row: usize| output.row(row).iter().map(json_of).collect();
                rows = (0..output.rows).map(row).collect::<Vec<serde_json::Value>>();
            }
            Err(error) => return json!({"ms": times, "error": error.render(&script)}),
        }
    }
    json!({"ms": times, "answer": rows})
}

fn value_of(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Number(number) => Value::Int(number.as_i64().unwrap_or(0)),
        serde_json::Value::String(text) => Value::Str(text.clone()),
        _ => Value::Null,
    }
}

fn json_of(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Int(int) => json!(int),
        Value::Id(id) => json!(id),
        Value::Float(float) => json!(float),
        Value::Bool(truth) => json!(truth),
        Value::Str(text) => json!(text),
        other => json!(other.to_string()),
    }
}
