//! The storage trait: keyspaces, snapshots, transactions; column batches in, column batches out.
