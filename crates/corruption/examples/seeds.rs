//! Writes the initial inputs of fuzzing:
//! `cargo run -p quipu-corruption --features fault-switches --example seeds -- FOLDER`.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a tool beside the engine")]

use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("which folder?")?);
    base::checksum::make_all_zero();
    for target in quipu_corruption::targets::TARGETS {
        let corpus = folder.join(target.name);
        fs::create_dir_all(&corpus)?;
        let seeds = (target.seeds)();
        for (i, seed) in seeds.iter().enumerate() {
            fs::write(corpus.join(format!("seed-{i:03}")), seed)?;
        }
        println!("{}: {} seeds, {} bytes", target.name, seeds.len(), seeds.concat().len());
    }
    Ok(())
}
