//! Flips bytes of a database's files and truncates them, and classifies the result of opening and
//! reading it.

use crate::image::Image;
use crate::specimen::{content, ever, options, other_ways, rows};
use base::{Batch, Corruption, KeyspaceId};
use env::Env;
use kv::Kv;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{CheckFailed, Error, ErrorKind, Store};

/// A damage to one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Flips bits of one byte.
    Flip {
        /// Offset of the byte.
        at: usize,
        /// The bits to flip.
        bits: u8,
    },
    /// The file is truncated to this length.
    Truncated(usize),
    /// This many foreign bytes are appended.
    Longer(usize),
    /// The file is missing.
    Removed,
}

impl Damage {
    /// The damaged content; `None` where the file is removed.
    #[must_use]
    pub fn done_to(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut new = bytes.to_vec();
        match self {
            Self::Flip { at, bits } => new[at] ^= bits,
            Self::Truncated(at) => new.truncate(at),
            Self::Longer(by) => new.extend((0..by).map(|i| (i * 37 + 11) as u8)),
            Self::Removed => return None,
        }
        Some(new)
    }
}

/// Results of a damage: of opening from best to worst, of a repair, of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// All answers are right, and the check found nothing: the byte has no meaning or is stored
    /// twice.
    Right,
    /// All answers are right, and the check reports the damaged file.
    RightAndFound,
    /// Opening is refused.
    RefusedAtOpening,
    /// A read fails.
    RefusedAtReading,
    /// The end of an unclosed log is lost: the content is an acknowledged state.
    Prefix,
    /// A repair reports no loss, and there is none.
    RepairedWhole,
    /// A repair reports a possible loss, and invents nothing.
    RepairedInPart,
    /// A repair reports that nothing can be saved.
    RepairRefused,
    /// A follower's answers are right.
    FollowedRight,
    /// A follower waits at an earlier acknowledged state.
    FollowedEarlier,
    /// A follower reports where the damage is.
    FollowerRefused,
}

/// A database to damage, and its right answers.
#[derive(Debug)]
pub struct Subject {
    /// Its files.
    pub image: Image,
    pub(crate) folder: PathBuf,
    /// Its [`content`].
    pub(crate) want: String,
    /// The result of [`other_ways`].
    others: String,
    /// Its rows, which `other_ways` looks up.
    known: Vec<(KeyspaceId, Batch)>,
    /// Its states after the last commits, oldest first.
    pub(crate) states: Vec<String>,
    /// Whether those commits are in the log alone.
    pub(crate) killed: bool,
    /// See [`ever`].
    pub(crate) ever: BTreeMap<String, BTreeSet<String>>,
}

/// Number of results by kind of file.
pub type Counts = BTreeMap<(&'static str, Outcome), u64>;

impl Subject {
    /// Records the answers of the undamaged files. Where the database was `killed`, a truncated log
    /// may end in one of `states`.
    ///
    /// # Errors
    /// Those of opening and reading.
    pub fn new(
        image: Image,
        folder: &Path,
        states: Vec<String>,
        killed: bool,
    ) -> store::Result<Self> {
        let env = image.whole().map_err(|error| Error::caused(ErrorKind::Io, error))?;
        let store: Arc<dyn Store> = Arc::new(Kv::open(env, folder, options())?);
        let known = rows(&*store)?;
        let (want, others) = (content(&*store)?, other_ways(&store, &known)?);
        Ok(Self {
            image,
            folder: folder.to_owned(),
            want,
            others,
            known,
            states,
            killed,
            ever: ever()?,
        })
    }

    /// Kind of a file, by its path.
    #[must_use]
    pub fn kind(&self, path: &Path) -> &'static str {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("log") => "log",
            _ if name == "CURRENT" => "CURRENT",
            _ if name == "LOCK" => "LOCK",
            _ if name.starts_with("MANIFEST") => "manifest",
            _ => "table",
        }
    }

    /// Every `stride`th flip, truncation and extension of a file, from `first` on. Flips alternate
    /// between the lowest bit, the highest, and all bits.
    #[must_use]
    pub fn damages(&self, path: &Path, stride: usize, first: usize) -> Vec<Damage> {
        let bytes = self.image.files[path].len();
        let flip = |at| Damage::Flip { at, bits: [0x01, 0x80, 0xff][(at + at / stride) % 3] };
        let slice = || (0..bytes).skip(first).step_by(stride);
        let mut all: Vec<Damage> =
            slice().map(flip).chain(slice().map(Damage::Truncated)).collect();
        all.extend([Damage::Truncated(0), Damage::Longer(1), Damage::Longer(700), Damage::Removed]);
        all
    }

    /// Damages a file, then opens the database and reads everything.
    ///
    /// # Errors
    /// The promise that is broken.
    pub fn judge(&self, path: &Path, damage: Damage) -> Result<Outcome, String> {
        let bytes = damage.done_to(&self.image.files[path]);
        let env = self.image.with(path, bytes.as_deref()).map_err(|error| error.to_string())?;
        let read = AssertUnwindSafe(|| self.read(env));
        let seen = catch_unwind(read).map_err(|_| "a panic".to_owned())?;
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match seen {
            Seen::Answers { content, others, checked } => {
                let cut = matches!(damage, Damage::Truncated(_)) && self.kind(path) == "log";
                match content == self.want && others == self.others {
                    true => match checked {
                        Ok(()) => Ok(Outcome::Right),
                        Err(error) => named(&error, file).map(|()| Outcome::RightAndFound),
                    },
                    false if cut && self.killed && self.states.contains(&content) => {
                        Ok(Outcome::Prefix)
                    }
                    false => Err(format!("another answer: {}", difference(&self.want, &content))),
                }
            }
            Seen::Refused(error) => named(&error, file).map(|()| Outcome::RefusedAtOpening),
            Seen::Unreadable(error) => named(&error, file).map(|()| Outcome::RefusedAtReading),
        }
    }

    fn read(&self, env: Arc<dyn Env>) -> Seen {
        let store: Arc<dyn Store> = match Kv::open(env, &self.folder, options()) {
            Ok(kv) => Arc::new(kv),
            Err(error) => return Seen::Refused(error),
        };
        let answers =
            content(&*store).and_then(|text| Ok((text, other_ways(&store, &self.known)?)));
        match answers {
            Ok((content, others)) => {
                let checked =
                    store.check(&|_, _| true).and_then(|report| match report.is_sound() {
                        true => Ok(()),
                        false => Err(Error::caused(ErrorKind::Corruption, CheckFailed(report))),
                    });
                Seen::Answers { content, others, checked }
            }
            Err(error) => Seen::Unreadable(error),
        }
    }
}

enum Seen {
    Answers { content: String, others: String, checked: store::Result<()> },
    Refused(Error),
    Unreadable(Error),
}

/// Checks that the error is of kind `Corruption` and names the damaged file with an offset.
pub(crate) fn named(error: &Error, file: &str) -> Result<(), String> {
    if error.kind() != ErrorKind::Corruption {
        return Err(format!("an error of kind {:?}: {error}", error.kind()));
    }
    let placed = match (error.cause::<Corruption>(), error.cause::<CheckFailed>()) {
        (Some(_), _) => true,
        (None, Some(CheckFailed(report))) => !report.problems.is_empty(),
        (None, None) => false,
    };
    match placed && error.to_string().contains(file) {
        true => Ok(()),
        false => Err(format!("an error that does not name {file}: {error}")),
    }
}

/// The first line in which two contents differ.
pub(crate) fn difference(want: &str, found: &str) -> String {
    let mut lines = want.lines().zip(found.lines());
    match lines.find(|(want, found)| want != found) {
        Some((want, found)) => format!("{found:?} instead of {want:?}"),
        None => format!("{} lines instead of {}", found.lines().count(), want.lines().count()),
    }
}
