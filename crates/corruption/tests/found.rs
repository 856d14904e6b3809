//! Bugs that fuzzing found stay fixed. Runs the targets on the inputs that it found, on the seeds,
//! and on simple variations of the seeds. This needs no fuzzer, so it runs with the stable
//! toolchain. `QUIPU_FOUND_ROUNDS` sets the variations of each seed; `QUIPU_FOUND_SEED` selects
//! others.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout)]

mod capped;

use quipu_corruption::targets::{TARGETS, Target};
use std::fs;
use std::panic::{catch_unwind, resume_unwind};
use std::path::Path;

/// Memory that a target may take for one input.
const LIMIT_BYTES: usize = 512 << 20;

/// Runs one input. One that panics is written to the folder `QUIPU_FOUND_SAVE`, to be added to
/// `found/`.
fn run(target: &Target, about: &str, input: &[u8]) {
    let ended = catch_unwind(|| capped::within(LIMIT_BYTES, about, || (target.run)(input)));
    if let Err(panic) = ended {
        if let Ok(folder) = std::env::var("QUIPU_FOUND_SAVE") {
            fs::write(Path::new(&folder).join(format!("{}-{}", target.name, input.len())), input)
                .unwrap();
        }
        println!("{about}: a panic at {} bytes", input.len());
        resume_unwind(panic);
    }
}

/// A single test, because the targets share the switch and the allocator's counters.
#[test]
fn inputs_that_fuzzing_found_and_seeds_damaged_here_and_there_end_in_an_answer_or_an_error() {
    base::checksum::make_all_zero();
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let rounds = number("QUIPU_FOUND_ROUNDS").unwrap_or(30);
    let mut random = 0x2545_f491_4f6c_dd1d_u64 ^ number("QUIPU_FOUND_SEED").unwrap_or(0) << 1;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below.max(1) as u64) as usize
    };
    for target in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").join(target.name);
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            run(&target, &path.display().to_string(), &fs::read(&path).unwrap());
        }
        let (seeds, mut inputs) = ((target.seeds)(), 0_u64);
        assert!(!seeds.is_empty(), "{}", target.name);
        for (i, seed) in seeds.iter().enumerate() {
            run(&target, target.name, seed);
            for round in 0..rounds {
                let mut input = seed.clone();
                for _ in 0..=round % 7 {
                    let at = next(input.len());
                    match next(4) {
                        0 => input.truncate(at.max(1)),
                        1 => input[at] = next(256) as u8,
                        2 => input[at] ^= 1 << next(8),
                        _ => input[at] = [0, 0xff, 0x7f, 0x80][next(4)],
                    }
                }
                run(&target, &format!("{} seed {i} round {round}", target.name), &input);
                inputs += 1;
            }
        }
        println!("{}: {inputs} inputs", target.name);
    }
}
