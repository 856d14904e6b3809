//! The quipu command line.
