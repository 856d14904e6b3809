//! Which files of the machine scripts may read.

use std::path::PathBuf;

/// Which files of the machine scripts may read, by `CsvReader`, `JsonReader` and `ParquetReader`.
/// No script writes files.
///
/// A database has such a rule, and a run may have one of its own: a file is read where both allow
/// it, so a run narrows what the database allows and never widens it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// None. For scripts of people who are not to see the files that this process may read.
    None,
    /// Those below this folder, and none that a link or `..` leads to elsewhere. A second name of a
    /// file (a hard link) is a file of the folder that it is in.
    Below(PathBuf),
    /// Any that the process may read, as a program's own scripts need it.
    #[default]
    Any,
}
