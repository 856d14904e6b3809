#![no_main]

use std::sync::Once;

static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    // Parquet's reader panics on damage, and our guard turns the panic into an error. Only a panic
    // that passes the guard counts; it ends the process in any case.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    quipu_corruption::targets::parquet(input);
});
