//! Backups that children make, and how the parent verifies them after a kill.
//!
//! Each stream has graphs of its own. So a backup that a stream makes contains exactly what this
//! stream has written by then. The other stream writes meanwhile: of its graphs the backup contains
//! some snapshot, in which both directions of each graph agree.

use crate::database::tiny_options;
use crate::ops::State;
use crate::outcome::Outcome;
use crate::verify;
use quipu::{BackupOptions, Database, Durability, ErrorKind, RestoreOptions};
use std::path::{Path, PathBuf};

/// Finished backups that are restored after a kill at most: each restore writes a database.
const RESTORED_MAX: usize = 2;

/// Makes the backups of a stream.
#[derive(Debug)]
pub(crate) struct Backups {
    folder: PathBuf,
    stream: usize,
    /// The newest backup that is a folder.
    earlier: Option<PathBuf>,
}

impl Backups {
    /// The backups are stored in a folder next to the database.
    pub(crate) fn new(database: &Path, stream: usize) -> Self {
        Self { folder: folder(database), stream, earlier: None }
    }

    /// Makes the backup of operation `number`: a folder that is built on the newest folder if the
    /// number is even, a file if it is odd.
    pub(crate) fn make(&mut self, db: &Database, number: u32) -> Outcome<()> {
        std::fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        let path = path(&self.folder, self.stream, number);
        let earlier = self.earlier.clone().filter(|_| is_folder(number));
        let options = BackupOptions { earlier, ..BackupOptions::default() };
        db.backup(&path, &options, &|_, _| true).map_err(|error| error.to_string())?;
        if is_folder(number) {
            self.earlier = Some(path);
        }
        Ok(())
    }
}

/// The folder with the backups of a database.
pub(crate) fn folder(database: &Path) -> PathBuf {
    database.with_extension("backups")
}

fn path(folder: &Path, stream: usize, number: u32) -> PathBuf {
    let kind = if is_folder(number) { "" } else { ".qbak" };
    folder.join(format!("{stream}-{number}{kind}"))
}

fn is_folder(number: u32) -> bool {
    number.is_multiple_of(2)
}

/// A backup that a child has started.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub(crate) stream: usize,
    pub(crate) number: u32,
    /// The state that its stream had written when it was started.
    pub(crate) state: State,
    /// Whether the child has reported that it is finished.
    pub(crate) done: bool,
}

/// Results for the backups of a child.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) restored: u64,
    /// Interrupted backups that `restore` refused as unfinished.
    pub(crate) refused: u64,
}

/// Restores all interrupted backups and some of the finished ones to `target`, compares the result
/// with the written state, and deletes all backups.
pub(crate) fn verify(database: &Path, target: &Path, begun: &[Begun]) -> Outcome<Fate> {
    let (folder, mut fate) = (folder(database), Fate::default());
    let interrupted = begun.iter().filter(|backup| !backup.done);
    let finished = begun.iter().rev().filter(|backup| backup.done).take(RESTORED_MAX);
    for backup in interrupted.chain(finished) {
        let path = path(&folder, backup.stream, backup.number);
        let text = |error: quipu::Error| format!("restoring {}: {error}", path.display());
        match quipu::restore(&path, target, RestoreOptions::default(), &|_, _| true) {
            Ok(_) => {}
            Err(error) if !backup.done && error.kind() == ErrorKind::InvalidInput => {
                fate.refused += 1;
                continue;
            }
            Err(error) => return Err(format!("WRONG: {}", text(error))),
        }
        let db = Database::open(target, tiny_options(Durability::Os)).map_err(text)?;
        let found = verify::read_stream(&db, backup.stream)?;
        if found != backup.state {
            return Err(format!("WRONG: {} holds something else than was written", path.display()));
        }
        verify::read_stream(&db, 1 - backup.stream)?;
        db.check(&|_, _| true).map_err(text)?;
        drop(db);
        std::fs::remove_dir_all(target).map_err(|error| error.to_string())?;
        fate.restored += 1;
    }
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string()),
        _ => Ok(fate),
    }
}
