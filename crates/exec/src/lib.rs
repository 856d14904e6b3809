//! Runs plans over a store.
