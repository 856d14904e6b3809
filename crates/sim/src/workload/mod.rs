//! The workload: random operations on the engine, checked against a model, through crashes and
//! faults.
//!
//! # Structure
//! `generate` makes a [`plan::Plan`] from a seed: settings, lives, tasks and steps, all plain data.
//! `run` executes it on a [`crate::Sim`]. A life begins with an opening that is compared with the
//! `model` row by row; its tasks (`task`) run concurrently; a crash ends it. `shrink` removes the
//! parts of a plan that a failure does not need.
//!
//! Besides the database, backups (`vault`) and restored databases outlive a life. Some writes go
//! through the graph's view (`task/graph`); a `recorder` reports the sequence numbers of their
//! commits. Blobs, counters and combined values (`task/blobs`, `task/counters`) are written through
//! their views alone; a `teller` reports each commit of these to the model.
//!
//! # Checks
//! 1. Every read equals the same read of the model's state at its sequence number.
//! 2. A transaction is refused if and only if another commit conflicts with it.
//! 3. After a crash the state is that of a prefix of the commits, each of them whole. The prefix is
//!    at least as long as the durability promises.
//! 4. A follower sees a prefix, and never an older one than before.
//! 5. An acknowledged backup restores to the state of its snapshot, whatever happened later;
//!    another one is refused, or is whole. An interrupted restore leaves the old state or the new
//!    one.
//! 6. Every error is explained by the machine, by damage or by another task.
//! 7. A blob is whole or absent, read through the view and without it (`pieces`). After an opening
//!    every piece belongs to a row, except those of blobs that were replaced without a lookup; the
//!    model counts these.
//! 8. Under `os` and `sync` a counter or a combined value is the result of its commits, each
//!    counted once. Under `none` it is a number that it may have had during the read, and after a
//!    crash one that it may have had since the last flush (`ledger`).

pub mod dice;
pub mod existed;
pub mod generate;
pub mod ledger;
pub mod model;
pub mod numbers;
pub mod outcome;
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
mod world_views;

pub use generate::plan;
pub use run::{Broken, Report, run};
pub use shrink::shrink;
pub use world::Tally;
