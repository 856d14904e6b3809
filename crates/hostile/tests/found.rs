//! What fuzzing found stays mended: its inputs, the seeds, and simple changes of them, run on every toolchain.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod capped;

use quipu_hostile::targets::{TARGETS, Target};
use std::fs;
use std::path::Path;

const LIMIT_BYTES: usize = 512 << 20;

fn run(target: &Target, about: &str, input: &[u8]) {
    capped::within(LIMIT_BYTES, about, || (target.run)(input));
}

/// One test for all: they share the switch and the allocator's counters.
#[test]
fn inputs_that_fuzzing_found_and_seeds_damaged_here_and_there_end_in_an_answer_or_an_error() {
    base::checksum::make_all_zero();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
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
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{}", target.name);
        for (i, seed) in seeds.iter().enumerate() {
            run(&target, target.name, seed);
            for round in 0..6 {
                let mut input = seed.clone();
                for _ in 0..=round {
                    let at = next(input.len());
                    match next(4) {
                        0 => input.truncate(at.max(1)),
                        1 => input[at] = next(256) as u8,
                        2 => input[at] ^= 1 << next(8),
                        _ => input[at] = [0, 0xff, 0x7f, 0x80][next(4)],
                    }
                }
                run(&target, &format!("{} seed {i} round {round}", target.name), &input);
            }
        }
    }
}
