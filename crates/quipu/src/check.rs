//! Checks a database: its files, then the directions of each graph, and each relation against its
//! indexes.
//!
//! # Why all problems are collected before the error
//! A user of the check wants to know how much is damaged: one block, or a failing disk. So
//! everything is read first, and the error contains the whole report.

use crate::database::Database;
use crate::options::Options;
use base::Corruption;
use env::{Env, RealEnv, RealOptions};
use relation::{Catalog, Entry};
use session::IndexCheck;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{CheckFailed, CheckReport, Error, ErrorKind, Progress, Result};
use views::blobs::BlobsCheck;
use views::graph::GraphCheck;

/// Report of a check.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// Amount of files, blocks, bytes and rows read, and the problems in them.
    pub files: CheckReport,
    /// Graphs without problems, by name.
    pub graphs: Vec<(String, GraphCheck)>,
    /// Blobs without problems, by name.
    pub blobs: Vec<(String, BlobsCheck)>,
    /// Indexes that agree with their relations.
    pub indexes: Vec<IndexCheck>,
    /// Inconsistencies between parts of graphs and of blobs, and between relations and their
    /// indexes.
    pub graph_problems: Vec<String>,
}

/// A problem that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The damaged file; `None` if sound files contradict each other.
    pub file: Option<PathBuf>,
    /// Byte offset of the damaged part in the file.
    pub offset: u64,
    /// Description: the expected and the found contents.
    pub what: String,
}

impl Check {
    /// Whether no problem was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.files.is_sound() && self.graph_problems.is_empty()
    }

    /// The problems, those of files first. About a hundred at most; see [`Check::problems_total`].
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let of_file = |Corruption { file, offset, what }: &Corruption| Problem {
            file: Some(file.clone()),
            offset: *offset,
            what: what.clone(),
        };
        let of_graph = |what: &String| Problem { file: None, offset: 0, what: what.clone() };
        let files = self.files.problems.iter().map(of_file);
        files.chain(self.graph_problems.iter().map(of_graph)).collect()
    }

    /// Number of problems, including those that are not listed.
    #[must_use]
    pub fn problems_total(&self) -> u64 {
        let listed = self.files.problems.len() + self.graph_problems.len();
        listed as u64 + self.files.problems_more
    }

    /// The report of a check that failed with this error; `None` if the error has another cause.
    #[must_use]
    pub fn of_error(error: &Error) -> Option<&Self> {
        error.cause::<Unsound>().map(|Unsound(check)| check)
    }

    /// Returns itself if it has no problems, or else an error with the report as its cause.
    fn into_result(self) -> Result<Self> {
        match self.is_sound() {
            true => Ok(self),
            false => Err(Error::caused(ErrorKind::Corruption, Unsound(self))),
        }
    }
}

/// The cause of the error of a check with problems.
#[derive(Debug)]
struct Unsound(Check);

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(check) = self;
        let files = check.files.problems.iter().map(ToString::to_string);
        for (i, line) in files.chain(check.graph_problems.iter().cloned()).enumerate() {
            write!(f, "{}{line}", if i > 0 { "\n" } else { "" })?;
        }
        if check.files.problems_more > 0 {
            write!(f, "\nand {} more", check.files.problems_more)?;
        }
        f.write_str("\nhint: restore a backup, or save what is sound with \"quipu repair\"")
    }
}

impl std::error::Error for Unsound {}

/// The report of a check of files, from its result or from its error.
fn report_of(checked: Result<CheckReport>) -> Result<CheckReport> {
    match checked {
        Ok(report) => Ok(report),
        Err(error) => match error.cause::<CheckFailed>() {
            Some(CheckFailed(report)) => Ok(report.clone()),
            None => Err(error),
        },
    }
}

impl Database {
    /// Reads every file, and verifies all checksums and the order of all rows. Then compares the
    /// directions of each graph, rows and chunks of blobs, and indexes with their relations.
    /// `progress` gets the bytes done and in total; returning false cancels.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`], after everything was read: [`Check::of_error`] returns the report
    /// with all problems. [`ErrorKind::Cancelled`], and failures that are not damage.
    pub fn check(&self, progress: Progress<'_>) -> Result<Check> {
        self.check_open()?;
        let start = self.env().monotonic_us();
        let total = AtomicU64::new(0);
        // The second half of the progress is for the graphs.
        let files = report_of(self.store().check(&|done, all| {
            total.store(all, Ordering::Relaxed);
            progress(done, 2 * all)
        }))?;
        let mut check = Check { files, ..Check::default() };
        if check.files.is_sound() {
            self.check_graphs(&mut check, total.load(Ordering::Relaxed), progress)?;
        } else {
            let note = "graphs and indexes were not compared, because files are damaged";
            check.files.notes.push(note.to_owned());
        }
        check.files.duration_us = self.env().monotonic_us() - start;
        check.into_result()
    }

    fn check_graphs(&self, check: &mut Check, bytes: u64, progress: Progress<'_>) -> Result<()> {
        let stats = self.store().stats();
        let rows: u64 = stats.keyspaces.iter().map(|(_, stats)| stats.disk_rows).sum();
        let mut before = 0;
        let catalog = Catalog::new(Arc::clone(self.store()));
        for def in self.graphs()? {
            let name = def.name.clone();
            let done = AtomicU64::new(before);
            let told = |some: u64| {
                done.store(before + some, Ordering::Relaxed);
                let share = (before + some).min(rows) as f64 / rows.max(1) as f64;
                progress(bytes + (share * bytes as f64) as u64, 2 * bytes)
            };
            let checked = catalog.with_entry(&name, |_| {
                self.require_graph(&name)?.check_with(Some(self.env()), &told)
            });
            before = done.into_inner();
            match checked {
                Ok(None) => {}
                Ok(Some(found)) => {
                    if found.ids_free > 0 {
                        check.files.notes.push(format!(
                            "graph {name:?}: {} ids below the largest name no vertex",
                            found.ids_free
                        ));
                    }
                    check.graphs.push((name, found));
                }
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    check.graph_problems.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        for entry in self.list()? {
            let Entry::Blobs(def, _) = entry else { continue };
            match catalog.with_entry(&def.name, |_| self.require_blobs(&def.name)?.check()) {
                Ok(None) => {}
                Ok(Some(found)) => {
                    if found.unused > 0 {
                        check.files.notes.push(format!(
                            "blobs {:?}: {} long values belong to no key, or are being written; compacting \
                             gives the room of the former back",
                            def.name, found.unused
                        ));
                    }
                    check.blobs.push((def.name, found));
                }
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    check.graph_problems.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        let (indexes, problems) = self.engine()?.check_indexes()?;
        check.indexes = indexes;
        check.graph_problems.extend(problems);
        progress(2 * bytes, 2 * bytes);
        Ok(())
    }
}

/// Checks the database in `folder`, even if it cannot be opened or is open for writing. Writes
/// nothing. `progress` gets the bytes done and in total; returning false cancels.
///
/// # Errors
/// As [`Database::check`]; [`ErrorKind::InvalidInput`] if there is no database.
pub fn check(folder: impl AsRef<Path>, options: Options, progress: Progress<'_>) -> Result<Check> {
    let env: Arc<dyn Env> =
        Arc::new(RealEnv::new(RealOptions { threads: options.threads, ..RealOptions::default() }));
    check_in(&env, folder.as_ref(), options, progress)
}

/// As [`check`], in this environment.
pub(crate) fn check_in(
    env: &Arc<dyn Env>,
    folder: &Path,
    options: Options,
    progress: Progress<'_>,
) -> Result<Check> {
    let start = env.monotonic_us();
    let total = AtomicU64::new(0);
    let files = report_of(kv::check_folder(env, folder, &|done, all| {
        total.store(all, Ordering::Relaxed);
        progress(done, 2 * all)
    }))?;
    let mut check = Check { files, ..Check::default() };
    if check.files.is_sound() {
        let options = Options { read_only: true, create: false, ..options };
        let database = Database::open(folder, options)?;
        database.check_graphs(&mut check, total.load(Ordering::Relaxed), progress)?;
    } else {
        let note = "graphs and indexes were not compared, because files are damaged";
        check.files.notes.push(note.to_owned());
    }
    check.files.duration_us = env.monotonic_us() - start;
    check.into_result()
}
