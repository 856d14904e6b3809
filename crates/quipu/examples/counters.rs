//! Four threads count words without locks or conflicts, since an increment reads nothing.
//!
//! `cargo run --example counters -p quipu`
#![allow(clippy::disallowed_methods, reason = "the threads are the program's own")]

use quipu::{CounterOptions, Database, KeyType, Options};

const TEXT: &str = "the knot says how many and the cord says of what the colour says of whom";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Database::in_memory(Options::default())?;
    let options = CounterOptions { key: KeyType::Str, ..CounterOptions::default() };
    let words = db.counters("words", options)?;
    std::thread::scope(|scope| {
        let count = || TEXT.split(' ').try_for_each(|word| words.add(word, 1));
        let counting: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
        counting.into_iter().try_for_each(|one| one.join().expect("a thread that counts"))
    })?;
    println!("says: {:?}", words.get("says")?);
    println!("the largest: {:?}", words.top(2)?);
    db.close()?;
    Ok(())
}
