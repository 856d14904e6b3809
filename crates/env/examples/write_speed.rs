//! Compares three ways to write a large file: system calls, `io_uring` through the page cache, and
//! `io_uring` with direct I/O.
//!
//! `cargo run --release -p quipu-env --example write_speed -- FOLDER [MIB]`
//!
//! Prints the throughput up to the last write and up to the sync in MB/s, and the processor time in
//! seconds. All figures are medians of five interleaved rounds.
//! `docs/decisions/0009-large-writes.md` is based on them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, unsafe_code)]

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, OpenOptions};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;
    use std::time::Instant;

    use io_uring::{IoUring, opcode, types};

    const PIECE: usize = 1 << 20;
    const DEPTH: usize = 8;
    const ROUNDS: usize = 5;

    type Way = (&'static str, fn(&Path, usize) -> std::io::Result<(f64, f64)>);

    /// Memory aligned for direct I/O.
    fn aligned(fill: &mut Vec<u8>) -> &mut [u8] {
        fill.resize(PIECE + 4096, 0);
        let skip = fill.as_ptr().align_offset(4096);
        let piece = &mut fill[skip..skip + PIECE];
        // Random, so that a disk that compresses gains nothing. Filled once, so that filling is not
        // measured.
        let mut word = 0x9e37_79b9_7f4a_7c15_u64;
        for chunk in piece.chunks_exact_mut(8) {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        piece
    }

    fn by_calls(path: &Path, pieces: usize) -> std::io::Result<(f64, f64)> {
        let mut file = File::create(path)?;
        let mut memory = Vec::new();
        let piece = aligned(&mut memory);
        let start = Instant::now();
        for _ in 0..pieces {
            file.write_all(piece)?;
        }
        let written = start.elapsed().as_secs_f64();
        file.sync_data()?;
        Ok((written, start.elapsed().as_secs_f64()))
    }

    fn by_ring(path: &Path, pieces: usize, flags: i32) -> std::io::Result<(f64, f64)> {
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create(true).truncate(true).custom_flags(flags).open(path)?;
        let mut ring = IoUring::new(64)?;
        let mut memory = vec![Vec::new(); DEPTH];
        let buffers: Vec<&mut [u8]> = memory.iter_mut().map(aligned).collect();
        let start = Instant::now();
        let (mut sent, mut done) = (0, 0);
        let mut free: Vec<usize> = (0..DEPTH).collect();
        while done < pieces {
            while sent < pieces {
                let Some(buffer) = free.pop() else { break };
                let entry = opcode::Write::new(
                    types::Fd(file.as_raw_fd()),
                    buffers[buffer].as_ptr(),
                    PIECE as u32,
                )
                .offset((sent * PIECE) as u64)
                .build()
                .user_data(buffer as u64);
                // SAFETY: buffers and file live until all completions are reaped below.
                unsafe { ring.submission().push(&entry) }.map_err(std::io::Error::other)?;
                sent += 1;
            }
            ring.submit_and_wait(1)?;
            for completion in ring.completion() {
                assert_eq!(completion.result(), PIECE as i32, "a whole piece is written");
                free.push(completion.user_data() as usize);
                done += 1;
            }
        }
        let written = start.elapsed().as_secs_f64();
        file.sync_data()?;
        Ok((written, start.elapsed().as_secs_f64()))
    }

    fn buffered_ring(path: &Path, pieces: usize) -> std::io::Result<(f64, f64)> {
        by_ring(path, pieces, 0)
    }

    fn direct_ring(path: &Path, pieces: usize) -> std::io::Result<(f64, f64)> {
        by_ring(path, pieces, libc::O_DIRECT)
    }

    /// User and system processor time of this process so far, in seconds.
    fn processor() -> f64 {
        // SAFETY: plain integers; the structure is ours to fill.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    fn median(values: &mut [f64]) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    pub(crate) fn main() -> std::io::Result<()> {
        let mut arguments = std::env::args().skip(1);
        let folder = arguments.next().unwrap_or_else(|| ".".to_owned());
        let mib: usize = arguments.next().and_then(|m| m.parse().ok()).unwrap_or(256);
        let ways: [Way; 3] = [
            ("write calls", by_calls),
            ("io_uring, page cache", buffered_ring),
            ("io_uring, direct", direct_ring),
        ];
        let mut seen = vec![(Vec::new(), Vec::new(), Vec::new()); ways.len()];
        let path = Path::new(&folder).join("write_speed.tmp");
        for _ in 0..ROUNDS {
            for ((_, way), seen) in ways.iter().zip(&mut seen) {
                let before = processor();
                let (written, synced) = way(&path, mib)?;
                seen.0.push(written);
                seen.1.push(synced);
                seen.2.push(processor() - before);
                std::fs::remove_file(&path)?;
            }
        }
        println!("{mib} MiB in pieces of 1 MiB, {DEPTH} in flight, medians of {ROUNDS} rounds");
        for ((name, _), (written, synced, used)) in ways.iter().zip(&mut seen) {
            let rate = |seconds: f64| mib as f64 * 1.048_576 / seconds;
            let (written, synced, used) = (median(written), median(synced), median(used));
            println!(
                "{name:22} {:6.0} MB/s written, {:6.0} MB/s synced, {used:.3} processor s",
                rate(written),
                rate(synced)
            );
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("io_uring is of Linux alone");
}
