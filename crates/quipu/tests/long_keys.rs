//! Memory of long keys, by the kernel's accounting. The peak is the whole process's, so this file
//! has one test.

#![allow(clippy::disallowed_methods, reason = "reads the process's own memory from /proc")]

use quipu::{Database, Options, Parameters, Value};

const MIB: u64 = 1 << 20;

/// Peak of resident memory in bytes; 0 where the kernel keeps no account of it.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// A key was copied up to twenty times while it was flushed: into the bounds of its table, the
/// fences, and each copy of the manifest's entry.
#[test]
fn a_key_of_16_mib_stays_within_the_memory_limit() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        Options { cache_bytes: 64 * MIB, memory_limit_bytes: 256 * MIB, ..Options::default() };
    let db = Database::open(folder.path().join("db"), options).unwrap();
    let none = Parameters::new();
    db.run(":create r {k: String => v: Int}", &none).unwrap();

    // Noise, which no compression makes shorter.
    let bytes = 16 * MIB as usize;
    let mut text = String::with_capacity(bytes);
    let noise = |i: usize| char::from(b' ' + (i.wrapping_mul(0x9e37_79b9) >> 13) as u8 % 90);
    text.extend((0..bytes).map(noise));
    let key = Parameters::from([("k".to_owned(), Value::Str(text))]);
    db.run("?[k, v] <- [[$k, 1]] :put r {k => v}", &key).unwrap();
    db.flush().unwrap();

    let found = db.run("?[v] := *r{k: $k, v}", &key).unwrap();
    assert_eq!(found.len(), 1);
    let length = db.run("?[n] := *r{k}, n = length(k)", &none).unwrap();
    assert_eq!(length.rows().collect::<Vec<_>>(), [[Value::Int(bytes as i64)]]);
    let (peak, most) = (peak_bytes(), 256 * MIB + 2 * bytes as u64);
    assert!(peak <= most, "a peak of {} MiB, {} are allowed", peak / MIB, most / MIB);
    db.close().unwrap();
}
