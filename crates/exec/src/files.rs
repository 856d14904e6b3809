//! The rule for files that scripts may read: any, none, or those below a folder. The readers of
//! files (`fixed_rule/file.rs`) check it.

use std::path::PathBuf;

/// Which files of the machine scripts may read, by `CsvReader`, `JsonReader` and `ParquetReader`.
/// Scripts never write files.
///
/// A database has such a rule, and a run may have another one: a file is read only if both allow
/// it, so a run can narrow the setting of the database and never widen it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// None. For scripts of users who must not see the files that this process may read.
    None,
    /// Files below this folder. Links and `..` must not lead out of it. A second name of a file (a
    /// hard link) is a file of the folder that it is in.
    Below(PathBuf),
    /// Any file that the process may read, for a program's own scripts.
    #[default]
    Any,
}
