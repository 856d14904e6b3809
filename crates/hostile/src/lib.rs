//! Files that are damaged on purpose, and what the engine makes of them. Tests only.
//!
//! # What is promised
//! Whatever the bytes of a database's files are, opening and reading them gives the right answer or an error of
//! kind `Corruption` that names a file and a place in it. Never a panic, never a wrong row, never memory
//! beyond the limit. The one exception is stated in `docs/formats/wal.md`: the end of a log that was not closed.
//!
//! # The parts
//! - [`specimen`] makes a small database with something of everything in it, and writes down what it holds.
//! - [`image`] is a database's files as bytes, to be changed and opened.
//! - [`damage`] flips and cuts them, one byte after the other, and sorts what comes of it.
//! - [`aftermath`] repairs them, and reads them beside a writer.
//! - [`scripts`] asks them by queries: of one table they ask more, and in more ways, than a reader does.
//! - [`targets`] are the bodies of the fuzz targets in `fuzz/`; the tests run them over what fuzzing found.
//! - [`seeds`] makes the inputs that fuzzing starts from.

pub mod aftermath;
pub mod damage;
pub mod image;
pub mod scripts;
pub mod seeds;
pub mod specimen;
pub mod targets;
