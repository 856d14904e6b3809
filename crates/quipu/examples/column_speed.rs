//! Times everyday questions over the columns of one large relation: conditions, expressions, sums,
//! groups, and results as Arrow.
//!
//! ```text
//! cargo run --release -p quipu --example column_speed -- FOLDER [ROWS] [ROUNDS] [QUESTION]
//! ```
//!
//! `FOLDER` is made with `ROWS` posts if it is missing, and kept. With `QUESTION`, only questions
//! with this in their name are asked. Each line has the median, least and most milliseconds of the
//! rounds, and the first value of the answer. For two versions to be compared, run their binaries
//! on one folder in turn.
#![allow(clippy::disallowed_methods)] // an example of the outside: clocks and threads are its own

use quipu::{Database, Durability, Options, Parameters, Value};
use std::path::Path;
use std::time::Instant;

/// Rows of one put.
const PUT_ROWS: usize = 10_000;

/// The questions: a name and a script.
const QUESTIONS: &[(&str, &str)] = &[
    ("length summed", "?[sum(n)] := *posts{body}, n = length(body)"),
    ("str_includes", "?[count(id)] := *posts{id, body}, str_includes(body, 'word77 ')"),
    ("starts_with", "?[count(id)] := *posts{id, body}, starts_with(body, 'word7')"),
    ("ends_with", "?[count(id)] := *posts{id, body}, ends_with(body, 'word77 ')"),
    ("body = 'zzz'", "?[id] := *posts{id, body}, body = 'zzz'"),
    ("body == 'zzz'", "?[id] := *posts{id, body}, body == 'zzz'"),
    ("regex_matches", "?[count(id)] := *posts{id, body}, regex_matches(body, 'word7[0-9] ')"),
    ("lang != 'de'", "?[count(id)] := *posts{id, lang}, lang != 'de'"),
    ("uppercase ==", "?[count(id)] := *posts{id, lang}, uppercase(lang) == 'DE'"),
    ("if summed", "?[sum(n)] := *posts{lang, score}, n = if(lang == 'de', score, 0.0)"),
    ("score range", "?[count(id)] := *posts{id, score}, score > 0.5, score < 0.6"),
    ("ts % 100 == 3", "?[count(id)] := *posts{id, ts}, ts % 100 == 3"),
    ("or of two", "?[count(id)] := *posts{id, lang, score}, lang == 'de' || score > 0.9"),
    ("score * 2 + 1 summed", "?[sum(n)] := *posts{score}, n = score * 2.0 + 1.0"),
    ("is_in fifty", "?[count(id)] := *posts{id, author}, is_in(author, $fifty)"),
    ("in texts", "?[count(id)] := *posts{id, lang}, lang in ['de', 'fr']"),
    ("body with rows", "?[id, body] := *posts{id, body, score}, score > 0.99"),
    (
        "count, sum, min, max, mean",
        "?[count(ts), sum(ts), min(ts), max(ts), mean(score)] := *posts{ts, score}",
    ),
    ("group by lang", "?[lang, count(id), mean(score)] := *posts{id, lang, score}"),
    ("group by city", "?[city, count(id)] := *posts{id, city}"),
    ("group by day", "?[day, count(id)] := *posts{id, ts}, day = floor(ts / 86400)"),
    ("count_unique", "?[count_unique(author)] := *posts{author}"),
    ("three columns to Arrow", "?[id, ts, score] := *posts{id, ts, score}"),
    ("id and body to Arrow", "?[id, body] := *posts{id, body}"),
    ("sorted by text, first ten", "?[body, id] := *posts{id, body} :order body :limit 10"),
    ("group by lang and city", "?[lang, city, count(id)] := *posts{id, lang, city}"),
    ("group by author", "?[author, count(id), max(ts)] := *posts{id, author, ts}"),
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("a folder for the database")?;
    let rows = arguments.next().map_or(Ok(500_000), |text| text.parse())?;
    let rounds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let asked = arguments.next().unwrap_or_default();
    let is_new = !Path::new(&folder).exists();
    let db = Database::open(&folder, Options { durability: Durability::Os, ..Options::default() })?;
    if is_new {
        load(&db, rows)?;
    }
    let fifty = (0..50).map(|i| Value::Int(i * 37)).collect();
    let parameters = Parameters::from([("fifty".to_owned(), Value::List(fifty))]);
    for (name, script) in QUESTIONS.iter().filter(|(name, _)| name.contains(&asked)) {
        let (mut times, mut first) = (Vec::new(), String::new());
        for round in 0..=rounds {
            let start = Instant::now();
            let answer = db.run(script, &parameters)?;
            let batch = answer.to_batch()?;
            let ms = start.elapsed().as_secs_f64() * 1e3;
            // The first round reads cold blocks.
            if round > 0 {
                times.push(ms);
            }
            first = format!("{} rows", batch.num_rows());
            if !answer.is_empty() {
                first = format!("{first}, first {}", answer.shown(0, answer.columns().len() - 1));
            }
        }
        times.sort_by(f64::total_cmp);
        let (least, most) = (times[0], times[times.len() - 1]);
        let median = times[times.len() / 2];
        let first: String = first.chars().take(60).collect();
        println!("{name:28} {median:9.2} {least:9.2} {most:9.2}  {first}");
    }
    db.close()?;
    Ok(())
}

/// Writes the posts.
fn load(db: &Database, rows: usize) -> Result<(), Box<dyn std::error::Error>> {
    let none = Parameters::new();
    db.run(
        ":create posts {id: Int => author: Int, ts: Int, body: String, lang: String, \
         city: String, score: Float}",
        &none,
    )?;
    let mut random = Random(7);
    let langs = ["de", "en", "fr", "es", "it"];
    for start in (0..rows).step_by(PUT_ROWS) {
        let some = (start..rows.min(start + PUT_ROWS)).map(|id| {
            let words = 4 + random.below(12);
            let body: String = (0..words).map(|_| format!("word{} ", random.below(1000))).collect();
            Value::List(vec![
                Value::Int(id as i64),
                Value::Int(random.below(20_000) as i64),
                Value::Int(1_700_000_000 + random.below(30_000_000) as i64),
                Value::Str(body),
                Value::Str(langs[random.below(5) as usize].to_owned()),
                Value::Str(format!("a city called {}", random.below(200))),
                Value::Float(random.below(1 << 20) as f64 / f64::from(1 << 20)),
            ])
        });
        let parameters = Parameters::from([("rows".to_owned(), Value::List(some.collect()))]);
        let put = "?[id, author, ts, body, lang, city, score] <- $rows \
                   :put posts {id => author, ts, body, lang, city, score}";
        db.run(put, &parameters)?;
    }
    db.compact()?;
    Ok(())
}
