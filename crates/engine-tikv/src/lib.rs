//! A database in a TiKV cluster, over the adapter `ordered`.
//!
//! Each database has a name, which is the prefix of its keys, so that one cluster holds several. A
//! snapshot is a timestamp of the cluster: TiKV keeps old versions of keys. The writer is a
//! transaction of TiKV that reads at its own timestamp and sends its writes when it commits.
//!
//! # Invariants
//! 1. Every commit writes one row, the fence. TiKV lets the first of two overlapping commits win.
//!    So commits are in one order, even if a process wrongly believes that it is the writer.
//! 2. A process that alone may write holds a lease, a row with a time of the cluster's clock, and
//!    renews it. Who takes an expired lease also writes the fence. A writer reads the lease at its
//!    timestamp, so a commit of a process that lost the lease fails.
//! 3. Where several processes may write, a writer first locks a row that is never written, the
//!    turn. The lock ends 20 seconds after its process has died. It only makes writers wait instead
//!    of failing; the fence keeps them apart.
//! 4. A commit without an answer is looked up: the fence has the number of the last commit.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `address`, `overlay`, `regions`: the parts of an address; the writes of a writer that has not
//!    committed; boundaries of regions.
//! 2. `cluster`: connections, timestamps, requests and their errors.
//! 3. `control`: the lease, the fence and ranges that remain to be removed.
//! 4. `tikv_map`: the map that `ordered` asks for.

#[cfg(feature = "tikv")]
mod address;
#[cfg(feature = "tikv")]
mod cluster;
#[cfg(feature = "tikv")]
mod control;
#[cfg(feature = "tikv")]
mod overlay;
#[cfg(feature = "tikv")]
mod regions;
#[cfg(feature = "tikv")]
mod tikv_map;

#[cfg(feature = "tikv")]
pub use tikv_map::TikvMap;
