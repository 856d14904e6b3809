//! The workload: random work on the engine, judged at once by a model, through crashes and faults.
//!
//! # How it hangs together
//! `generate` draws a [`plan::Plan`] from a seed: settings, lives, tasks, steps, all data. `run` carries it out on a
//! [`crate::Sim`]: a life begins with an opening that is compared with the `model` row by row, its tasks
//! (`task`) run beside each other, and a crash ends it. `shrink` takes away what a failure does not need.
//!
//! Two kinds of things outlive lives besides: backups (`vault`), and what they were restored to. Some writes go through the graph's
//! view (`task/graph`), of which a `recorder` tells where they stand in the order. Blobs and counters (`task/blobs`, `task/counters`, combined values among them) are
//! written through theirs alone; a `teller` tells the model of each commit that these make.
//!
//! # What is judged
//! 1. Every read equals the same read of the model at its moment.
//! 2. A transaction is refused if and only if another commit stands in its way.
//! 3. After a crash the state is that of a prefix of the commits, each whole, at least as long as the durability promises.
//! 4. A follower sees a prefix, and never goes back.
//! 5. A backup that was acknowledged restores to the state of its moment, whatever came after it; another one is refused, or
//!    is whole after all. A restore that was cut short left what was there, or the new.
//! 6. An error is one that the machine, damage or another task explains.
//! 7. A blob is whole or not there, by the view and without it (`pieces`). After an opening every piece belongs to a row, but for those of blobs
//!    that somebody replaced who did not look, which the model counts.
//! 8. A counter or a combined value under `os` and `sync` is what its commits come to, each counted once. Under `none` it is a number that it may have had while it
//!    was read, and after a crash one that it may have had since the last flush (`ledger`).

pub mod dice;
pub mod existed;
pub mod generate;
pub mod ledger;
pub mod model;
pub mod numbers;
pub mod pieces;
pub mod plan;
pub mod read;
pub mod recorder;
pub mod run;
pub mod shrink;
pub mod spaces;
pub mod task;
pub mod teller;
pub mod vault;
pub mod world;

pub use generate::plan;
pub use run::{Broken, Report, run};
pub use shrink::shrink;
pub use world::Tally;
