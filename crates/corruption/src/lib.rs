//! Opens and reads databases whose files are damaged on purpose. Tests only.
//!
//! # What must hold
//! Whatever bytes a database's files contain, opening and reading them gives the right answer, or
//! an error of kind `Corruption` that names a file and an offset. It never panics, returns a wrong
//! row, or exceeds the memory limit. `docs/formats/wal.md` states the one exception: the end of a
//! log that was not closed.
//!
//! # The parts
//! - [`specimen`] makes a small database with every kind of structure, and lists its content.
//! - [`image`] holds a database's files as bytes, to be changed and opened.
//! - [`damage`] flips and truncates them, one byte after the other, and classifies the results.
//! - [`aftermath`] repairs them, and reads them with a follower.
//! - [`scripts`] runs queries on them, which read a table in more ways than `damage` does.
//! - [`targets`] are the bodies of the fuzz targets in `fuzz/`; the tests run them on inputs that
//!   fuzzing found.
//! - [`seeds`] makes the initial inputs of fuzzing.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `image`: files as bytes.
//! 2. `specimen`: the database.
//! 3. `damage`, `seeds`: what is done to its files; inputs.
//! 4. `aftermath`, `scripts`, `targets`: calls on damaged files.

pub mod aftermath;
pub mod damage;
pub mod image;
pub mod scripts;
pub mod seeds;
pub mod specimen;
pub mod targets;
