//! Graphs as compressed sparse rows, and algorithms on them.
