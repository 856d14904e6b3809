//! Small helpers of parent and child: durability by name, the folder to work in, files to import,
//! and the names of the files in a folder, which show what a killed process left.

use crate::arguments::Arguments;
use crate::ops::{Columns, import_weight};
use crate::outcome::Outcome;
use env::{RealEnv, RealOptions};
use lsm::context::table_file_name;
use lsm::manifest::Manifest;
use quipu::Durability;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The durability of this name.
pub(crate) fn durability(name: &str) -> Outcome<Durability> {
    match name {
        "sync" => Ok(Durability::Sync),
        "os" => Ok(Durability::Os),
        "none" => Ok(Durability::None),
        _ => Err(format!("no durability {name:?}: there are sync, os and none")),
    }
}

/// A temporary folder for all files, removed at the end.
pub(crate) fn base_folder(arguments: &Arguments) -> Outcome<tempfile::TempDir> {
    let builder = tempfile::Builder::new().prefix("quipu-kill-").to_owned();
    let made = match arguments.path("folder") {
        Some(folder) => builder.tempdir_in(folder),
        None => builder.tempdir(),
    };
    made.map_err(|error| format!("a folder to work in: {error}"))
}

/// The path of the import file of this number.
pub(crate) fn import_file(folder: &Path, file: usize) -> PathBuf {
    folder.join(format!("rows{file}.csv"))
}

/// Writes the rows of an import file.
pub(crate) fn write_import_file(folder: &Path, file: usize, rows: &Columns) -> Outcome<()> {
    let mut text = String::new();
    for (row, (u, v)) in rows.src.iter().zip(&rows.dst).enumerate() {
        let _ = writeln!(text, "{u},{v},{}", import_weight(file, row));
    }
    std::fs::write(import_file(folder, file), text).map_err(|error| error.to_string())
}

/// Names of the files in a folder; empty if the folder does not exist.
pub(crate) fn names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeSet::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Checks that the manifest names every file of tables. After a close, no job runs and no reader
/// holds a table.
pub(crate) fn only_named_tables(folder: &Path) -> Outcome<()> {
    let env = RealEnv::new(RealOptions::default());
    let state = Manifest::read(&env, folder).map_err(|error| error.to_string())?;
    let named: BTreeSet<String> =
        state.tables().map(|table| table_file_name(table.meta.file_id())).collect();
    let there = names(&folder.join("tables"));
    match named == there {
        true => Ok(()),
        false => Err(format!("the manifest names {named:?}, but there are {there:?}")),
    }
}
