//! Runs one program of `bench/recursion`: `recursion FOLDER THREADS [analyze]`.
//!
//! FOLDER has the program in `script`, and a file `NAME.txt` for each relation, with a row of two
//! integers in each line. Everything is in memory. Prints the number that the program counts, and
//! the seconds and processor seconds of its first run, as a line of JSON. `analyze` prints the
//! output of `::explain analyze` instead.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads files and tells the time itself")]

use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::Value;
use quipu_session::{Engine, Parameters};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Most rows of one change.
const ROWS_PER_PUT: usize = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, threads, rest @ ..] = &arguments[..] else {
        panic!("usage: recursion FOLDER THREADS [analyze]");
    };
    let engine = engine(threads.parse().expect("a number of threads"));
    let folder = Path::new(folder);
    for file in std::fs::read_dir(folder).expect("a folder") {
        let file = file.expect("a file").path();
        if file.extension().is_some_and(|extension| extension == "txt") {
            load(&engine, &file);
        }
    }
    let script = std::fs::read_to_string(folder.join("script")).expect("the program");
    let (script, is_analyzed) = match rest.is_empty() {
        true => (script, false),
        false => (format!("::explain analyze {{ {script} }}"), true),
    };
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let output = engine.run(&script, &Parameters::new());
    let (seconds, cpu_seconds) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let output = output.unwrap_or_else(|error| panic!("{}", error.render(&script)));
    if is_analyzed {
        for row in 0..output.rows {
            let cells: Vec<String> = output.row(row).iter().map(Value::to_string).collect();
            println!("{}", cells.join(" | "));
        }
        return;
    }
    let [Value::Int(rows)] = output.row(0)[..] else { panic!("a program counts its rows") };
    let found = serde_json::json!({ "rows": rows, "seconds": seconds, "cpu_seconds": cpu_seconds });
    println!("{found}");
}

/// Processor time of this process, in steps of a hundredth of a second; 0 where the system does not
/// tell.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the process, in parentheses, may have spaces. User and system time are the 12th
    // and 13th field after it.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn engine(threads: usize) -> Engine {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(threads));
    let options = KvOptions { cache_bytes: 512 << 20, ..KvOptions::default() };
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), options);
    Engine::new(Arc::new(store.expect("a database in memory opens")), env, 8 << 30)
}

fn load(engine: &Engine, file: &Path) {
    let name = file.file_stem().and_then(|name| name.to_str()).expect("the name of a relation");
    let text = std::fs::read_to_string(file).expect("a file of rows");
    let row = |line: &str| {
        let cell = |text: &str| Value::Int(text.parse().expect("an integer"));
        Value::List(line.split(' ').map(cell).collect())
    };
    let rows: Vec<Value> = text.lines().map(row).collect();
    let run = |script: &str, parameters: &Parameters| {
        engine.run(script, parameters).unwrap_or_else(|error| panic!("{}", error.render(script)));
    };
    run(&format!(":create {name} {{a: Int, b: Int}}"), &Parameters::new());
    let put = format!("?[a, b] <- $rows :put {name} {{a, b}}");
    for rows in rows.chunks(ROWS_PER_PUT) {
        run(&put, &[("rows".to_owned(), Value::List(rows.to_vec()))].into());
    }
}
