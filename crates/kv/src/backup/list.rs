//! The list of a backup: its files with their lengths and checksums.
//!
//! # Why text
//! A person with a broken disk can read it without our program. Its last line is a checksum of all
//! lines before, so damage to it is noticed. docs/formats/backup.md has the grammar.

use crate::convert::env_error;
use base::mark::{self, Mark};
use base::{Corruption, SeqNo, checksum};
use env::Env;
use lsm::context::parse_table_file_name;
use lsm::manifest::CURRENT;
use std::fmt::Write;
use std::path::Path;
use store::{Error, ErrorKind};

/// Name of the list in a folder. It is written last, so a folder without it is not a backup.
pub(crate) const LIST: &str = "BACKUP";
/// Its name while the backup is being written.
pub(crate) const UNFINISHED: &str = "BACKUP.unfinished";

const FIRST_LINE: &str = "quipu backup 1";

/// The content of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// Identity of the database, 0 where it has none.
    pub(crate) identity: u128,
    /// Newest commit in the backup.
    pub(crate) seq: SeqNo,
    /// When the backup was taken, in microseconds since 1970-01-01T00:00:00Z.
    pub(crate) moment_us: u64,
    pub(crate) files: Vec<Entry>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Path relative to the backup's folder.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) checksum: u64,
    /// Fingerprint of a table's content as in the manifest; `None` for files that several tables
    /// share, and for other files.
    pub(crate) fingerprint: Option<u64>,
}

impl List {
    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(crate) fn encode(&self) -> String {
        let mut out = String::new();
        let Self { identity, seq, moment_us, files } = self;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{FIRST_LINE}\nidentity {identity:032x}");
        let _ = writeln!(out, "sequence {seq}\nmoment {moment_us}");
        for Entry { name, bytes, checksum, fingerprint } in files {
            let _ = match fingerprint {
                None => {
                    let kind = if is_table_name(name) { "shared" } else { "file" };
                    writeln!(out, "{kind} {name} {bytes} {checksum:016x}")
                }
                Some(mark) => writeln!(out, "table {name} {bytes} {checksum:016x} {mark:016x}"),
            };
        }
        let check = checksum(out.as_bytes());
        let _ = writeln!(out, "end {check:016x}");
        out
    }

    /// Decodes what [`List::encode`] wrote; `offset` is its place in `file`, for errors.
    pub(crate) fn decode(file: &Path, offset: u64, bytes: &[u8]) -> Result<Self, Corruption> {
        let damaged = |what: &str| Corruption::new(file, offset, what);
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("the list is not UTF-8"))?;
        let body =
            text.strip_suffix('\n').and_then(|text| Some(text.rsplit_once('\n')?.0.len() + 1));
        let (body, last) = text.split_at(body.ok_or_else(|| damaged("the list is cut short"))?);
        if last != format!("end {:016x}\n", checksum(body.as_bytes())) {
            return Err(damaged("the list does not match its checksum"));
        }
        let mut lines = body.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err(damaged("a list of a format that this program does not know"));
        }
        Self::parse(lines).ok_or_else(|| damaged("the list has a line of unknown form"))
    }

    fn parse<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<Self> {
        let identity = lines.next()?.strip_prefix("identity ")?;
        let seq = lines.next()?.strip_prefix("sequence ")?;
        let moment = lines.next()?.strip_prefix("moment ")?;
        let mut list = Self {
            identity: u128::from_str_radix(identity, 16).ok()?,
            seq: SeqNo(seq.parse().ok()?),
            moment_us: moment.parse().ok()?,
            files: Vec::new(),
        };
        for line in lines {
            let fields: Vec<&str> = line.split(' ').collect();
            let (name, bytes, sum, fingerprint) = match fields[..] {
                ["file", name, bytes, sum] if is_top_name(name) => (name, bytes, sum, None),
                ["shared", name, bytes, sum] if is_table_name(name) => (name, bytes, sum, None),
                ["table", name, bytes, sum, mark] if is_table_name(name) => {
                    (name, bytes, sum, Some(u64::from_str_radix(mark, 16).ok()?))
                }
                _ => return None,
            };
            list.files.push(Entry {
                name: name.to_owned(),
                bytes: bytes.parse().ok()?,
                checksum: u64::from_str_radix(sum, 16).ok()?,
                fingerprint,
            });
        }
        Some(list)
    }
}

/// Accepts only names that cannot lead out of the folder: somebody may have edited the list.
fn is_top_name(name: &str) -> bool {
    let number = name.strip_prefix("MANIFEST-");
    name == "CURRENT" || number.is_some_and(|n| n.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_table_name(name: &str) -> bool {
    name.strip_prefix("tables/").is_some_and(|file| {
        !file.contains(['/', '\\']) && parse_table_file_name(Path::new(file)).is_some()
    })
}

/// Reads the list of the backup in a folder.
///
/// # Errors
/// `InvalidInput` where there is none, `Corruption` where it is damaged.
pub(crate) fn read_list(env: &dyn Env, folder: &Path) -> store::Result<List> {
    let path = folder.join(LIST);
    match env.read_file(&path) {
        Ok(bytes) => Ok(List::decode(&path, 0, &bytes)?),
        Err(error) if error.is_not_found() => {
            let what = folder.display();
            let message = if env.exists(&folder.join(UNFINISHED)) {
                mark::hit(Mark::BackupUnfinished);
                format!(
                    "{what} is a backup that did not finish\nhint: it cannot be used; remove it"
                )
            } else if env.exists(&folder.join(CURRENT)) {
                format!(
                    "{what} is a database, not a backup of one: it has no file {LIST} in it\n\
                     hint: `backup` makes one"
                )
            } else {
                format!("{what} is not a backup: there is no file {LIST} in it")
            };
            Err(Error::new(ErrorKind::InvalidInput, message))
        }
        Err(error) => Err(env_error(error)),
    }
}

/// The error for a file that differs from its list entry.
pub(crate) fn misfit(path: &Path, offset: u64, what: impl Into<String>) -> Error {
    Corruption::new(path, offset, what).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> List {
        List {
            identity: 0x0123_4567_89ab_cdef_0011_2233_4455_6677,
            seq: SeqNo(42),
            moment_us: 1_763_700_000_000_000,
            files: vec![
                Entry {
                    name: "tables/000007.sst".into(),
                    bytes: 12_345,
                    checksum: 1,
                    fingerprint: Some(u64::MAX),
                },
                Entry {
                    name: "tables/000009.sst".into(),
                    bytes: 9,
                    checksum: 3,
                    fingerprint: None,
                },
                Entry { name: "CURRENT".into(), bytes: 40, checksum: 2, fingerprint: None },
            ],
        }
    }

    #[test]
    fn a_list_comes_back_as_it_was() {
        for list in [list(), List::default()] {
            assert_eq!(List::decode(Path::new("B"), 0, list.encode().as_bytes()), Ok(list));
        }
    }

    #[test]
    fn every_flipped_byte_and_every_cut_of_a_list_is_found() {
        let text = list().encode().into_bytes();
        for at in 0..text.len() {
            assert!(List::decode(Path::new("B"), 0, &text[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[at] ^= 1 << bit;
                assert!(List::decode(Path::new("B"), 0, &flipped).is_err(), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../x.sst", "tables/../x.sst", "tables/a/1.sst", "/etc/passwd", "LOCK", ""] {
            let mut list = list();
            list.files[0].name = name.to_owned();
            assert!(List::decode(Path::new("B"), 0, list.encode().as_bytes()).is_err(), "{name}");
            list.files[0].fingerprint = None;
            assert!(List::decode(Path::new("B"), 0, list.encode().as_bytes()).is_err(), "{name}");
        }
    }
}
