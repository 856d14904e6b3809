#![no_main]

libfuzzer_sys::fuzz_target!(init: base::checksum::make_all_zero(), |input: &[u8]| {
    quipu_corruption::targets::script(input);
});
