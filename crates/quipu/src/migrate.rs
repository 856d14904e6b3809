//! Copies a database to another engine, and compares the copy.
//!
//! # Steps
//! 1. One snapshot of the source is read, keyspace by keyspace, in key order.
//! 2. Each keyspace is loaded under a hidden name, so the target stays empty until the end.
//! 3. The copy is read again. Its rows must have the number and the checksum of those that were
//!    read from the source.
//! 4. All keyspaces get their names in one step.

use crate::database::Database;
use crate::options::Options;
use base::checksum::Checksummer;
use base::{Batch, Column, KeyRange, Keys, KeyspaceId, Projection, Shape};
use env::sync::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{
    Error, ErrorKind, KeyspaceChange, KeyspaceInfo, NewKeyspace, Progress, Read, Result, Scan,
    SortedRows, Store,
};

/// The prefix of names of unfinished keyspaces. Names that start with a colon are hidden.
const HIDDEN: &str = ":migrating:";

/// Rows read at once.
const ROWS_A_STEP: usize = 4096;

/// Report of a migration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MigrateReport {
    /// Keyspaces copied: relations, indexes, and the parts of graphs and blobs.
    pub keyspaces: u64,
    /// Rows copied and compared.
    pub rows: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Number and checksum of the rows of a keyspace, in key order.
#[derive(Default)]
struct Digest {
    rows: u64,
    sum: Checksummer,
    /// One row, reused.
    row: Vec<u8>,
}

impl Digest {
    fn add(&mut self, rows: &Batch) {
        for i in 0..rows.rows {
            self.row.clear();
            match &rows.keys {
                Keys::Words(columns) => {
                    columns.iter().for_each(|words| self.row.extend(words[i].to_le_bytes()));
                }
                Keys::Bytes(column) => base::varint::put_bytes(&mut self.row, column.get(i)),
            }
            for column in &rows.values {
                match column {
                    Column::Words(words) => match words.get(i) {
                        Some(word) => {
                            self.row.push(1);
                            self.row.extend(word.to_le_bytes());
                        }
                        None => self.row.push(0),
                    },
                    Column::Bytes(bytes) if bytes.validity.is_valid(i) => {
                        self.row.push(1);
                        base::varint::put_bytes(&mut self.row, bytes.get(i));
                    }
                    Column::Bytes(_) => self.row.push(0),
                }
            }
            self.sum.update(&self.row);
        }
        self.rows += rows.rows as u64;
    }

    fn parts(&self) -> (u64, u64) {
        (self.rows, self.sum.finish())
    }
}

/// Counts rows, and asks whether to go on.
struct Meter<'p> {
    done: AtomicU64,
    total: u64,
    progress: Progress<'p>,
}

impl Meter<'_> {
    fn add(&self, rows: u64) -> Result<()> {
        let done = self.done.fetch_add(rows, Ordering::Relaxed) + rows;
        match (self.progress)(done.min(self.total), self.total) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Cancelled, "the migration was stopped")),
        }
    }
}

/// Rows of the source for a load of the target. It takes their checksum.
struct Source {
    scan: Box<dyn Scan>,
    shape: Shape,
    digest: Arc<Mutex<Digest>>,
}

impl SortedRows for Source {
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool> {
        let mut rows = Batch::new(&self.shape);
        if !self.scan.next_batch(ROWS_A_STEP, &mut rows)? {
            return Ok(false);
        }
        self.digest.lock().add(&rows);
        out.append(&rows);
        Ok(true)
    }
}

fn refused(what: &str, hint: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}"))
}

/// Copies the database at `from` to `to`, which must hold none. Both are folders or addresses of
/// other engines (`docs/guides/scale-out.md`). Another process may write the source meanwhile; the
/// copy is of one commit. `progress` gets the rows done and in total, of both passes; returning
/// false cancels. It is called after each keyspace of the first pass, and often in the second.
///
/// A counter whose sum is out of the range of 64 bits stays out of range, but the copy does not
/// know by how much.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] if there is no database at `from`, or one at `to`;
/// [`ErrorKind::Corruption`] if the copy differs; [`ErrorKind::Conflict`] if a schema was changed
/// meanwhile; [`ErrorKind::Cancelled`]; failures of either engine. The target is empty then.
pub fn migrate(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    progress: Progress<'_>,
) -> Result<MigrateReport> {
    let reading = Options { read_only: true, create: false, ..Options::default() };
    let source = Database::open(from, reading)?;
    let start = source.env().monotonic_us();
    let target = Database::open(to, Options::default())?;
    let (from, to) = (&**source.store(), &**target.store());
    let is_left = |info: &KeyspaceInfo| info.name.starts_with(HIDDEN);
    let there = to.keyspaces();
    if !there.iter().all(is_left) {
        let hint = "migrate to a new folder or address; nothing was changed";
        return Err(refused("the target of the migration holds a database", hint));
    }
    // An earlier migration ended in the middle.
    to.drop_keyspaces(&there.iter().map(|info| info.id).collect::<Vec<_>>())?;
    let copied = copy(from, to, progress);
    if copied.is_err() {
        let left: Vec<_> = to.keyspaces_starting(HIDDEN).iter().map(|info| info.id).collect();
        // The first error says more than one of this.
        let _ = to.drop_keyspaces(&left);
    }
    let (keyspaces, rows) = copied?;
    target.flush()?;
    let seconds = (source.env().monotonic_us() - start) as f64 / 1e6;
    target.close()?;
    Ok(MigrateReport { keyspaces, rows, seconds })
}

/// Copies all keyspaces; returns their number and that of their rows.
fn copy(from: &dyn Store, to: &dyn Store, progress: Progress<'_>) -> Result<(u64, u64)> {
    let infos = from.keyspaces();
    let snapshot = from.snapshot();
    if from.keyspaces() != infos {
        let what = "a schema of the source was changed while the migration began";
        return Err(Error::new(ErrorKind::Conflict, format!("{what}\nhint: run it again")));
    }
    let counts: Vec<u64> =
        infos.iter().map(|info| snapshot.count(info.id)).collect::<Result<_>>()?;
    let rows: u64 = counts.iter().sum();
    let meter = Meter { done: AtomicU64::new(0), total: 2 * rows, progress };
    let hidden = |info: &KeyspaceInfo| NewKeyspace {
        name: format!("{HIDDEN}{}", info.name),
        shape: info.shape.clone(),
        definition: info.definition.clone(),
    };
    let ids = to.create_keyspaces(&infos.iter().map(hidden).collect::<Vec<_>>())?;
    let mut load = to.begin_bulk()?;
    let mut digests = Vec::new();
    for ((info, &id), &count) in infos.iter().zip(&ids).zip(&counts) {
        let scan = snapshot.scan(info.id, KeyRange::all(&info.shape.key), Projection::ALL)?;
        let digest = Arc::new(Mutex::new(Digest::default()));
        digests.push(Arc::clone(&digest));
        load.write(id, vec![Box::new(Source { scan, shape: info.shape.clone(), digest })])?;
        meter.add(count)?;
    }
    load.commit()?;
    let copy = to.snapshot();
    for ((info, &id), digest) in infos.iter().zip(&ids).zip(&digests) {
        compare(&*copy, info, id, digest.lock().parts(), &meter)?;
    }
    let named = infos.iter().zip(&ids).map(|(info, &id)| KeyspaceChange {
        id,
        name: info.name.clone(),
        definition: info.definition.clone(),
    });
    to.change_keyspaces(&named.collect::<Vec<_>>(), &[])?;
    Ok((infos.len() as u64, rows))
}

/// Reads a keyspace of the copy, and compares it with the checksum of the source.
fn compare(
    copy: &dyn Read,
    info: &KeyspaceInfo,
    id: KeyspaceId,
    want: (u64, u64),
    meter: &Meter<'_>,
) -> Result<()> {
    let mut scan = copy.scan(id, KeyRange::all(&info.shape.key), Projection::ALL)?;
    let (mut digest, mut rows) = (Digest::default(), Batch::new(&info.shape));
    while scan.next_batch(ROWS_A_STEP, &mut rows)? {
        digest.add(&rows);
        meter.add(rows.rows as u64)?;
        rows.clear();
    }
    let found = digest.parts();
    if found != want || copy.count(id)? != want.0 {
        let what = format!(
            "the copy of {:?} differs: {} rows instead of {}, or other values",
            info.name, found.0, want.0
        );
        return Err(Error::new(ErrorKind::Corruption, what));
    }
    Ok(())
}
