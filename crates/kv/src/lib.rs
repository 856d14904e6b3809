//! The native engine: one write-ahead log over many trees, MVCC snapshots and group commit.
