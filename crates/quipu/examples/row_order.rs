//! Times queries for first rows in an order: newest posts, pages, extremes, a feed.
//!
//! ```text
//! cargo run --release -p quipu --example row_order -- [ROWS] [ROUNDS]
//! ```
//!
//! Prints the best time of each query. The database is in a temporary folder.
#![allow(clippy::disallowed_methods)] // an example of the outside: its clock is its own

use quipu::{Database, Options, Parameters, Value};
use std::time::Instant;

/// Seconds for which a query is repeated in a round, at most.
const ROUND_S: f64 = 0.2;

/// Rows of a commit.
const COMMIT_ROWS: i64 = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: i64 = arguments.next().map_or(Ok(200_000), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("quipu-order-{}", std::process::id()));
    let db = Database::open(&folder, Options::default())?;
    let none = Parameters::new();
    fill(&db, rows)?;
    for (name, script) in queries(rows) {
        let mut best = f64::INFINITY;
        let mut answer_rows = 0;
        for _ in 0..rounds {
            let begin = Instant::now();
            while begin.elapsed().as_secs_f64() < ROUND_S {
                let start = Instant::now();
                answer_rows = db.run(&script, &none)?.len();
                best = best.min(start.elapsed().as_secs_f64());
            }
        }
        println!("{name}: {:.3} ms, {answer_rows} rows", best * 1e3);
    }
    db.close()?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Posts with three indexes; author 1 wrote a third of them. User 1 follows 100 authors.
fn fill(db: &Database, rows: i64) -> quipu::Result<()> {
    let none = Parameters::new();
    db.run(":create posts {id: Int => author: Int, ts: Int, lang: Int, body: String}", &none)?;
    let script = "
        ?[id, author, ts, lang, body] := id in int_range($from, $to),
            author = if(id % 3 == 0, 1, (id * 31) % 5000),
            ts = ((id * 7919) % $rows) * 10 + (id % 10), lang = id % 7,
            body = concat('a post about word', to_string(id % 1000), ' by ', to_string(author),
                ', which goes on for a while and says little')
        :put posts {id => author, ts, lang, body}";
    for from in (0..rows).step_by(COMMIT_ROWS as usize) {
        let to = (from + COMMIT_ROWS).min(rows);
        let parameters = [("from", from), ("to", to), ("rows", rows)];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), Value::Int(value)));
        db.run(script, &Parameters::from(parameters))?;
    }
    for script in [
        "::index create posts:by_ts {ts}",
        "::index create posts:by_author {author, ts}",
        "::index create posts:by_lang {lang}",
        "?[src, dst] := src = 1, dst in int_range(1000, 1100) :create follows {src: Int, dst: Int}",
        "::compact",
    ] {
        db.run(script, &none)?;
    }
    Ok(())
}

fn queries(rows: i64) -> Vec<(&'static str, String)> {
    let (late, middle) = (rows * 9, rows / 2);
    [
        (
            "newest ten of an author",
            "?[id, ts, body] := *posts{id, author: 1, ts, body} :order -ts",
        ),
        ("newest ten", "?[id, ts] := *posts{id, ts} :order -ts"),
        ("newest ten with bodies", "?[id, ts, body] := *posts{id, ts, body} :order -ts"),
        ("next ten by time", "?[id, ts, body] := *posts{id, ts, body}, ts > LATE :order ts"),
        ("next ten by key", "?[id, body] := *posts{id, body}, id > MIDDLE :order id"),
        ("previous ten by key", "?[id, body] := *posts{id, body}, id < MIDDLE :order -id"),
        ("newest ten in a language", "?[id, ts] := *posts{id, ts, lang: 3} :order -ts"),
        (
            "a page by time and key",
            "?[id, ts] := *posts{id, ts}, ts < LATE || (ts == LATE && id < MIDDLE) :order -ts, -id",
        ),
        ("newest of no language", "?[id, ts] := *posts{id, ts, lang: 9} :order -ts"),
        (
            "newest with a rare word",
            "?[id, ts] := *posts{id, ts, body}, str_includes(body, 'word77 ') :order -ts",
        ),
        (
            "newest with no word",
            "?[id, ts] := *posts{id, ts, body}, str_includes(body, 'zzz') :order -ts",
        ),
        ("last languages", "?[id, lang] := *posts{id, lang} :order -lang"),
        ("greatest time", "?[max(ts)] := *posts{ts}"),
        ("greatest key", "?[max(id)] := *posts{id}"),
        ("least time of an author", "?[min(ts)] := *posts{author: 1, ts}"),
        ("feed", "?[id, ts] := *follows{src: 1, dst: a}, *posts{id, author: a, ts} :order -ts"),
    ]
    .into_iter()
    .map(|(name, script)| {
        let script = script.replace("LATE", &late.to_string());
        let script = script.replace("MIDDLE", &middle.to_string());
        let limit = if name == "feed" { " :limit 20" } else { " :limit 10" };
        let is_aggregate = script.contains("max(") || script.contains("min(");
        (name, if is_aggregate { script } else { script + limit })
    })
    .collect()
}
