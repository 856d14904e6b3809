//! Measures the speed of the simulated machine: operations per second, and the time of a restart
//! after a power cut.
//!
//! `cargo run --release -p quipu-sim --example speed`
#![allow(clippy::disallowed_methods, reason = "this measures the real clock")]

use env::{Env, LogMode, ReadOptions};
use quipu_sim::{Crash, Settings, Sim};
use std::path::Path;
use std::time::Instant;

fn main() {
    let machine = Sim::new(1, Settings::default());
    for name in ["/0", "/1", "/2", "/3"] {
        let env = machine.env();
        machine.spawn("writer", move || {
            let mut log = env.create_log(Path::new(name), 1 << 20, LogMode::Write).unwrap();
            let file = env.open_read(Path::new(name), ReadOptions::default()).unwrap();
            let mut buf = [0; 100];
            for i in 0..1_000_000_u64 {
                log.write_at(&[1; 100], i * 100 % 1_000_000).unwrap();
                file.read_at(&mut buf, i * 100 % 1_000_000).unwrap();
                if i % 8 == 0 {
                    log.sync().unwrap();
                }
            }
        });
    }
    let began = Instant::now();
    machine.run().unwrap();
    let seconds = began.elapsed().as_secs_f64();
    println!("{:.2} M operations/s", machine.operations() as f64 / seconds / 1e6);

    let mut machine = Sim::new(2, Settings::default());
    let cycles = 20_000;
    let began = Instant::now();
    for i in 0..cycles {
        let env = machine.env();
        machine.spawn("writer", move || {
            let name = format!("/{}", i % 10);
            let _ = env.remove(Path::new(&name));
            let Ok(mut file) = env.create(Path::new(&name)) else { return };
            let _ = file.append(&[1; 10_000]).and_then(|()| file.sync());
            let _ = file.append(&[2; 10_000]).and_then(|()| file.flush());
            let _ = env.sync_folder(Path::new("/"));
        });
        machine.crash_at_operation(machine.operations() + 1 + i % 8, Crash::Power);
        machine.run().unwrap();
        machine.crash(Crash::Power);
        machine = machine.restart();
    }
    let us = began.elapsed().as_secs_f64() * 1e6 / cycles as f64;
    println!("{us:.1} us a crash cycle of {:?}", machine.counts());
}
