//! Random list-append histories from eight threads, checked by an independent checker.
//!
//! `QUIPU_ISOLATION_SECONDS` continues with further seeds for that long, `QUIPU_ISOLATION_SEED`
//! starts with another seed (`make isolation`). A seed determines the transactions, not their
//! interleaving.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::checks::append::{Plan, Run, Verdict, run};
use crate::checks::attempts;
use adya::Valid;
use quipu::{Database, Durability, Isolation, Options};
use std::io::Write;
use std::time::{Duration, Instant};

/// Timeout for one history. Usually a second suffices, but the machine may be busy.
const CHECK_SECONDS_MAX: Duration = Duration::from_secs(600);

fn history(durability: Durability, level: Isolation, seed: u64, stirred: bool) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { durability, threads: 2, ..Options::default() };
    let db = Database::open(folder.path().join("db"), options).unwrap();
    run(&db, Plan { level, threads: 8, transactions: 400, seed, stirred })
}

/// Checks the promised level and the one above it, and prints both verdicts. Writes past the test's
/// capture, so that they are in the output even if the test passes.
#[track_caller]
fn judge(durability: Durability, run: &Run) -> [Verdict; 2] {
    let models = ["strong-snapshot-isolation", "strict-serializable"];
    let verdicts = models.map(|model| run.check(model, CHECK_SECONDS_MAX));
    let [a, b] = &verdicts;
    let _ = writeln!(std::io::stderr(), "{durability:?}, {run}: {a}; {b}");
    assert!(run.wrong_at_the_end.is_empty(), "{:?}", run.wrong_at_the_end);
    let promised = usize::from(run.plan.level == Isolation::Serializable);
    for verdict in &verdicts[..=promised] {
        assert_eq!(verdict.valid, Valid::True, "{run}: {verdict}\n{}", verdict.explanation);
    }
    verdicts
}

/// Runs histories for each durability, with and without concurrent compaction, seed after seed.
#[track_caller]
fn check(level: Isolation) -> Vec<[Verdict; 2]> {
    let number = |name| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let seconds = number("QUIPU_ISOLATION_SECONDS").unwrap_or(0);
    let begun = Instant::now();
    let mut all = Vec::new();
    for seed in number("QUIPU_ISOLATION_SEED").unwrap_or(1).. {
        for durability in [Durability::Os, Durability::Sync] {
            for stirred in [false, true] {
                all.push(judge(durability, &history(durability, level, seed, stirred)));
            }
        }
        if begun.elapsed() >= Duration::from_secs(seconds) {
            break;
        }
    }
    all
}

#[test]
fn histories_of_snapshot_transactions_are_snapshot_isolated() {
    let verdicts = check(Isolation::Snapshot);
    // If the checker finds the write skew that the level allows, it would find worse. Whether the
    // first histories contain it depends on the interleaving of threads, so more may be needed.
    let skewed =
        |[_, above]: &[Verdict; 2]| above.anomalies.iter().any(|a| a.starts_with("G2-item"));
    let further = |seed| {
        let durability = Durability::Os;
        judge(durability, &history(durability, Isolation::Snapshot, seed, false))
    };
    let seen = verdicts.iter().any(skewed) || attempts().any(|n| skewed(&further(1_000_000 + n)));
    assert!(seen, "no history shows write skew: too little contention");
}

#[test]
fn histories_of_serializable_transactions_are_strictly_serializable() {
    check(Isolation::Serializable);
}
