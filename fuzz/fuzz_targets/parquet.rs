#![no_main]

use std::sync::Once;

static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    // Parquet's reader panics on damage, and our guard makes an error of it: only what gets past
    // the guard counts, and ends the process all the same.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    quipu_hostile::targets::parquet(input);
});
