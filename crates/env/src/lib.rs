//! The only door to files, the clock, randomness and threads.
