//! Measurements: time, latencies, and the kernel's accounting of the process.

use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A histogram of latencies. Each power of two is divided into 32 buckets, so values are exact to 3
/// %.
#[derive(Clone)]
pub struct Latencies {
    counts: Vec<u64>,
    total: u64,
    max_ns: u64,
}

const STEPS: u64 = 32;

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: vec![0; 64 * STEPS as usize], total: 0, max_ns: 0 }
    }
}

impl Latencies {
    pub fn add(&mut self, time: Duration) {
        let ns = time.as_nanos() as u64;
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(to, from)| *to += from);
        self.total += other.total;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// Calls that took longer, to the precision of a bucket.
    pub fn longer_than(&self, time: Duration) -> u64 {
        self.counts[bucket(time.as_nanos() as u64) + 1..].iter().sum()
    }

    /// The quantile `part` of the latencies, in microseconds.
    fn quantile_us(&self, part: f64) -> f64 {
        let rank = ((self.total as f64 * part).ceil() as u64).max(1);
        let mut sum = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            sum += count;
            if sum >= rank {
                return (value(bucket).min(self.max_ns)) as f64 / 1e3;
            }
        }
        0.0
    }

    pub fn json(&self) -> Value {
        json!({
            "p50_us": self.quantile_us(0.5), "p99_us": self.quantile_us(0.99),
            "p999_us": self.quantile_us(0.999), "max_us": self.max_ns as f64 / 1e3,
        })
    }
}

fn bucket(ns: u64) -> usize {
    if ns < STEPS {
        return ns as usize;
    }
    let power = u64::from(ns.ilog2());
    let step = (ns >> (power - 5)) - STEPS;
    ((power - 4) * STEPS + step) as usize
}

/// The upper bound of a bucket.
fn value(bucket: usize) -> u64 {
    let (power, step) = (bucket as u64 / STEPS, bucket as u64 % STEPS);
    if power == 0 { step } else { (STEPS + step + 1) << (power - 1) }
}

/// The kernel's accounting of the process at one time.
pub struct Account {
    at: Instant,
    cpu_s: f64,
    read_bytes: u64,
    written_bytes: u64,
    rchar: u64,
    wchar: u64,
    machine_s: f64,
}

impl Account {
    /// The current values. Also resets the peak of memory, where the kernel allows it.
    pub fn begin() -> Self {
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Self::now()
    }

    fn now() -> Self {
        let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
        let field = |name: &str| {
            let line = io.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim_start_matches(':').trim().parse().ok()).unwrap_or(0)
        };
        Self {
            at: Instant::now(),
            cpu_s: cpu_s(),
            read_bytes: field("read_bytes"),
            written_bytes: field("write_bytes"),
            rchar: field("rchar"),
            wchar: field("wchar"),
            machine_s: machine_s(),
        }
    }

    /// Bytes that were charged as writes to the device since then.
    pub fn written_bytes(&self) -> u64 {
        Self::now().written_bytes - self.written_bytes
    }

    /// Differences since then, as fields of a line.
    pub fn since(&self) -> Value {
        let now = Self::now();
        let cpu_s = now.cpu_s - self.cpu_s;
        json!({
            "account_s": (now.at - self.at).as_secs_f64(),
            "cpu_s": cpu_s,
            "others_cpu_s": (now.machine_s - self.machine_s - cpu_s).max(0.0),
            "disk_read": now.read_bytes - self.read_bytes,
            "disk_written": now.written_bytes - self.written_bytes,
            "call_read": now.rchar - self.rchar,
            "call_written": now.wchar - self.wchar,
            "peak_bytes": peak_bytes(),
        })
    }
}

/// Processor time of all threads so far.
fn cpu_s() -> f64 {
    // SAFETY: `rusage` is plain numbers, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// Resident memory of the process, including pages of mapped files.
pub fn resident_bytes() -> u64 {
    status_bytes("VmRSS:")
}

fn status_bytes(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Processor time of the whole machine so far, including time that its host took away (steal).
fn machine_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split(' ').filter_map(|field| field.parse().ok()).collect();
    // user, nice, system, idle, waiting, interrupts, soft interrupts, stolen
    let busy = ticks.iter().take(8).enumerate().filter(|(i, _)| ![3, 4].contains(i));
    // SAFETY: asks for a number.
    let ticks_a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    busy.map(|(_, ticks)| ticks).sum::<u64>() as f64 / ticks_a_second as f64
}

/// Waits until the engine is at rest, and returns how long it worked after its last call. It is at
/// rest when the process neither writes nor takes more than a twentieth of a processor for `QUIET`.
/// Gives up after `limit`.
pub fn rest(limit: Duration) -> Duration {
    let start = Instant::now();
    let mut busy_until = start;
    let mut last = Account::now();
    while busy_until.elapsed() < QUIET && start.elapsed() < limit {
        std::thread::sleep(LOOK);
        let now = Account::now();
        let cpu_s = (now.at - last.at).as_secs_f64() / 20.0;
        if now.written_bytes > last.written_bytes || now.cpu_s - last.cpu_s > cpu_s {
            busy_until = now.at;
        }
        last = now;
    }
    busy_until - start
}

const QUIET: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(200);

/// Adds the fields of `more` to a line.
pub fn extend(line: &mut Value, more: Value) {
    if let (Value::Object(line), Value::Object(more)) = (line, more) {
        line.extend(more);
    }
}
