//! A recursive query, and an error with its position.
//!
//! `cargo run --example datalog -p quipu`

use quipu::{Database, Options, Parameters, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Database::in_memory(Options::default())?;
    let none = Parameters::new();
    db.run("?[part, of] <- [[1, 0], [2, 1], [3, 1], [4, 9]] :create parts {part, of}", &none)?;

    let script = "
        inside[part] := *parts{part, of: $whole}
        inside[part] := inside[middle], *parts{part, of: middle}
        ?[part] := inside[part]";
    let parameters = Parameters::from([("whole".to_owned(), Value::Int(0))]);
    let answer = db.run(script, &parameters)?;
    print!("{}", answer.to_table(20));

    match db.run("?[part] := *part{part}", &none) {
        Ok(_) => println!("no mistake"),
        Err(mistake) => println!("{mistake}"),
    }
    db.close()?;
    Ok(())
}
