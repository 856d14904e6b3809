//! Times changes of many rows, in memory and on disk: updates, puts and deletes of a relation
//! without an index and of one with two.
//!
//! ```text
//! cargo run --release -p quipu --example bulk_changes -- FOLDER [ROWS] [ROUNDS]
//! ```
//!
//! `FOLDER` must not exist; the database on disk is removed at the end. Each line has the median,
//! least and most milliseconds of the rounds, and the median microseconds of a changed row. Each
//! round undoes what it changed.
#![allow(clippy::disallowed_methods)] // an example of the outside: clocks and files are its own

use quipu::{Database, Durability, Frame, Options, Parameters, Value, Values};
use std::path::Path;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rows of one put.
const PUT_ROWS: usize = 10_000;

/// Single rows that are put one after the other.
const SINGLE_ROWS: usize = 2_000;

/// A change: its name, what it runs, the rows that it changes as a share of all, and what undoes
/// it, which is not timed.
struct Question {
    name: &'static str,
    script: &'static str,
    rows: fn(usize) -> usize,
    undo: &'static str,
}

const QUESTIONS: &[Question] = &[
    Question {
        name: "update half, not indexed",
        script: "?[id, score] := *T{id, score: s}, id < $half, score = s + 1.0 \
                 :update T {id => score}",
        rows: |all| all / 2,
        undo: "",
    },
    Question {
        name: "update half, one index of two",
        script: "?[id, author] := *T{id, author: a}, id < $half, author = a + 1 \
                 :update T {id => author}",
        rows: |all| all / 2,
        undo: "",
    },
    Question {
        name: "update half, same values",
        script: "?[id, author] := *T{id, author}, id < $half :update T {id => author}",
        rows: |all| all / 2,
        undo: "",
    },
    Question {
        name: "update of a range",
        script: "?[id, score] := *T{id, score: s}, id >= $half, id < $half + $few, \
                 score = s + 1.0 :update T {id => score}",
        rows: |all| all / 40,
        undo: "",
    },
    Question {
        name: "update by a scattered condition",
        script: "?[id, score] := *T{id, author, score: s}, author % 10 == 3, score = s + 1.0 \
                 :update T {id => score}",
        rows: |all| all / 10,
        undo: "",
    },
    Question {
        name: "put half again",
        script: "?[id, author, ts, body, score] := *T{id, author, ts, body, score: s}, \
                 id < $half, score = s + 1.0 :put T {id => author, ts, body, score}",
        rows: |all| all / 2,
        undo: "",
    },
    Question {
        name: "insert a quarter",
        script: "?[id, author, ts, body, score] := *T{id: i, author, ts, body, score}, \
                 i < $quarter, id = i + $all :insert T {id => author, ts, body, score}",
        rows: |all| all / 4,
        undo: "?[id] := *T{id}, id >= $all :rm T {id}",
    },
    Question {
        name: "rm a quarter",
        script: "?[id] := *T{id}, id < $quarter :rm T {id}",
        rows: |all| all / 4,
        undo: "?[id, author, ts, body, score] := *Tcopy{id, author, ts, body, score}, \
               id < $quarter :put T {id => author, ts, body, score}",
    },
    Question {
        name: "delete a quarter",
        script: "?[id] := *T{id}, id < $quarter :delete T {id}",
        rows: |all| all / 4,
        undo: "?[id, author, ts, body, score] := *Tcopy{id, author, ts, body, score}, \
               id < $quarter :put T {id => author, ts, body, score}",
    },
];

/// A small random number generator with a fixed seed: xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % end
    }
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("a folder for the database")?;
    let rows = arguments.next().map_or(Ok(200_000), |text| text.parse())?;
    let rounds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let options = || Options { durability: Durability::Os, ..Options::default() };
    println!("{:45} {:>9} {:>9} {:>9} {:>7}", "", "median ms", "least", "most", "us/row");
    measure("memory", &Database::in_memory(options())?, rows, rounds)?;
    if Path::new(&folder).exists() {
        return Err(format!("{folder} exists").into());
    }
    let db = Database::open(&folder, options())?;
    measure("disk", &db, rows, rounds)?;
    db.close()?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn measure(place: &str, db: &Database, rows: usize, rounds: usize) -> Outcome<()> {
    load(db, rows)?;
    let number = |value: usize| Value::Int(value as i64);
    let parameters: Parameters =
        [("half", rows / 2), ("few", rows / 40), ("quarter", rows / 4), ("all", rows)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), number(value)))
            .collect();
    for table in ["plain", "indexed"] {
        for question in QUESTIONS {
            let script = |text: &str| text.replace('T', table);
            let (text, undo) = (script(question.script), script(question.undo));
            let mut times = Vec::new();
            for _ in 0..rounds {
                let start = Instant::now();
                db.run(&text, &parameters)?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
                if !undo.is_empty() {
                    db.run(&undo, &parameters)?;
                }
            }
            report(&format!("{place}, {table}: {}", question.name), times, (question.rows)(rows));
        }
        single_rows(place, db, table, rounds)?;
    }
    Ok(())
}

/// Puts rows one at a time, as a script and as a frame.
fn single_rows(place: &str, db: &Database, table: &str, rounds: usize) -> Outcome<()> {
    let put = format!(
        "?[id, author, ts, body, score] <- [[$id, 1, 2, 'body', 0.5]] \
         :put {table} {{id => author, ts, body, score}}"
    );
    let relation = db.relation(table)?;
    let (mut by_script, mut by_frame) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let start = Instant::now();
        for id in 0..SINGLE_ROWS {
            let parameters = Parameters::from([("id".to_owned(), Value::Int(id as i64))]);
            db.run(&put, &parameters)?;
        }
        by_script.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        for id in 0..SINGLE_ROWS {
            let text: Vec<Value> = vec![Value::Str("body".to_owned())];
            let columns = vec![
                Values::Int(vec![id as i64]).into(),
                Values::Int(vec![1]).into(),
                Values::Int(vec![2]).into(),
                text.into(),
                Values::Float(vec![0.5]).into(),
            ];
            let names = ["id", "author", "ts", "body", "score"].map(str::to_owned).to_vec();
            relation.put(&Frame::new(names, columns)?)?;
        }
        by_frame.push(start.elapsed().as_secs_f64() * 1e3);
    }
    report(&format!("{place}, {table}: put one row, script"), by_script, SINGLE_ROWS);
    report(&format!("{place}, {table}: put one row, frame"), by_frame, SINGLE_ROWS);
    Ok(())
}

fn report(name: &str, mut times: Vec<f64>, rows: usize) {
    times.sort_by(f64::total_cmp);
    let (least, median, most) = (times[0], times[times.len() / 2], times[times.len() - 1]);
    let row_us = median * 1e3 / rows as f64;
    println!("{name:45} {median:9.2} {least:9.2} {most:9.2} {row_us:7.2}");
}

/// Writes the same rows to a relation without an index, to one with two, and to a copy of each.
fn load(db: &Database, rows: usize) -> Outcome<()> {
    let none = Parameters::new();
    let columns = "{id: Int => author: Int, ts: Int, body: String, score: Float}";
    let tables = ["plain", "indexed", "plaincopy", "indexedcopy"];
    for table in tables {
        db.run(&format!(":create {table} {columns}"), &none)?;
    }
    db.run("::index create indexed:by_author {author, ts}", &none)?;
    db.run("::index create indexed:by_ts {ts}", &none)?;
    let mut random = Random(7);
    for start in (0..rows).step_by(PUT_ROWS) {
        let some = (start..rows.min(start + PUT_ROWS)).map(|id| {
            let words = 4 + random.below(12);
            let body: String = (0..words).map(|_| format!("word{} ", random.below(1000))).collect();
            Value::List(vec![
                Value::Int(id as i64),
                Value::Int(random.below(20_000) as i64),
                Value::Int(1_700_000_000 + random.below(30_000_000) as i64),
                Value::Str(body),
                Value::Float(random.below(1 << 20) as f64 / f64::from(1 << 20)),
            ])
        });
        let parameters = Parameters::from([("rows".to_owned(), Value::List(some.collect()))]);
        for table in tables {
            let put = format!(
                "?[id, author, ts, body, score] <- $rows :put {table} {{id => author, ts, body, score}}"
            );
            db.run(&put, &parameters)?;
        }
    }
    db.compact()?;
    Ok(())
}
