//! Reads the intact blocks of a damaged table.
//!
//! # Proof
//! The manifest keeps the checksum of a table's properties and fences, and the fences hold the
//! checksum of each block. So a section found by guessing from half a footer is the right one or is
//! refused, and a block is whole or lost: no bytes are trusted without a checksum.
//!
//! # Invariants
//! 1. Filters are not read: they are written anew with the saved rows.
//! 2. A block that is lost is named with its keys and its number of rows, which the fences tell.

use super::index::Index;
use super::layout::{FOOTER_BYTES, Footer, Handle, Properties, decode_tombstones};
use super::section::damaged_at;
use super::verify::Seen;
use super::{Table, TableMeta};
use crate::codec::Malformed;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::rows::Rows;
use base::{Corruption, Key, Shape, checksum};
use env::RandomReadFile;
use std::sync::Arc;

/// A damaged table whose fences were found.
#[derive(Debug)]
pub struct Remains {
    /// The table, without filters; it may be read block by block.
    pub table: Arc<Table>,
    /// Damages found while opening; blocks were not read yet.
    pub damages: Vec<Corruption>,
    /// Range tombstones that are lost.
    pub tombstones_lost: u64,
}

/// Rows that are lost with their block.
#[derive(Clone, Debug)]
pub struct LostBlock {
    /// First key of the block.
    pub first: Key,
    /// Last key of the block.
    pub last: Key,
    /// Row versions in it.
    pub rows: u64,
    /// The damage.
    pub corruption: Corruption,
}

impl Table {
    /// Opens the rest of a table that [`Table::open`] refuses.
    ///
    /// # Errors
    /// [`Error::Corruption`] where the fences are lost, and so are all rows; a failed read;
    /// [`Error::Invalid`] for a format version that this program does not know.
    pub fn open_damaged(context: &Context, meta: &TableMeta, shape: &Shape) -> Result<Remains> {
        let file = context.open_table(meta)?;
        let mut damages = Vec::new();
        let (handle, section) = find_section(&*file, meta, &mut damages)?;
        let malformed = |Malformed(what)| damaged_at(&*file, handle.offset, what);
        let mut rest = &*section;
        let properties = Properties::take(&mut rest, shape).map_err(malformed)?;
        let index = Index::decode(rest, shape.key, handle.offset).map_err(malformed)?;
        let tombstones = match properties.tombstones {
            part if part.bytes == 0 => Some(Vec::new()),
            part => match read_part(&*file, part, handle.offset)? {
                None => None,
                Some(bytes) => decode_tombstones(&bytes, shape.key).ok(),
            },
        };
        let tombstones_lost = match &tombstones {
            Some(_) => 0,
            None => {
                let what = "the range tombstones are damaged";
                let corruption = damaged_at(&*file, properties.tombstones.offset, what);
                damages.push(corruption);
                properties.summary.range_tombstones
            }
        };
        let parts = [
            (properties.key_filter, "a filter is damaged"),
            (properties.first_word_filter, "a filter is damaged"),
            (index.statistics, "the statistics of blocks are damaged"),
        ];
        for (part, what) in parts {
            if part.bytes > 0 && read_part(&*file, part, handle.offset)?.is_none() {
                damages.push(damaged_at(&*file, part.offset, what));
            }
        }
        let tombstones = tombstones.unwrap_or_default();
        let table = Self::from_parts(context, meta, shape, file, index, tombstones);
        Ok(Remains { table, damages, tombstones_lost })
    }

    /// Hands the rows of every sound block to `each`, in key order, and every lost block to `lost`.
    /// `progress` gets the bytes read so far and returns whether to go on.
    ///
    /// # Errors
    /// A failed read, what `each` returns, or [`Error::Cancelled`].
    pub fn salvage_rows(
        &self,
        progress: &mut dyn FnMut(u64) -> bool,
        each: &mut dyn FnMut(&Rows) -> Result<()>,
        lost: &mut dyn FnMut(LostBlock),
    ) -> Result<()> {
        let mut seen = Seen::default();
        let mut rows = Rows::new(&self.shape);
        for i in 0..self.blocks() {
            let sound = match self.load(i) {
                Ok(block) => self
                    .inspect_block(i, &block, &mut rows, &mut seen)
                    .map_err(|what| self.damaged(i, &what)),
                Err(Error::Corruption(corruption)) => Err(corruption),
                // The file ends before the block does.
                Err(Error::Env(error)) if error.is_past_end() => {
                    Err(self.damaged(i, "the file ends before the block"))
                }
                Err(error) => return Err(error),
            };
            match sound {
                Ok(()) => each(&rows)?,
                Err(corruption) => {
                    let (first, last) = self.block_keys(i);
                    lost(LostBlock { first, last, rows: self.block_rows(i) as u64, corruption });
                }
            }
            if !progress(self.index.bytes(i).end) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }
}

/// The section of properties and fences, proven by the manifest's fingerprint.
fn find_section(
    file: &dyn RandomReadFile,
    meta: &TableMeta,
    damages: &mut Vec<Corruption>,
) -> Result<(Handle, Vec<u8>)> {
    let summary = &meta.summary;
    let file_bytes = file.len_bytes()?;
    let Some(at) = summary.bytes.checked_sub(FOOTER_BYTES as u64) else {
        return Err(damaged_at(file, 0, "the file is too short to be a table").into());
    };
    if file_bytes != summary.bytes {
        let what =
            format!("the file has {file_bytes} bytes, it was written with {}", summary.bytes);
        damages.push(damaged_at(file, file_bytes.min(summary.bytes), what));
    }
    let mut candidates = Vec::new();
    let mut footer = [0; FOOTER_BYTES];
    if file_bytes >= summary.bytes {
        file.read_at(&mut footer, at)?;
        match Footer::decode(&footer) {
            Ok(Footer::Known(handle)) => candidates.push(handle),
            Ok(Footer::OtherVersion(version)) => {
                let path = file.path().display();
                return Err(Error::Invalid(format!("{path} has format version {version}")));
            }
            Err(Malformed(what)) => damages.push(damaged_at(file, at, what)),
        }
        // The section ends where the footer begins, so one of the two numbers gives the other.
        let word = |i: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&footer[8 * i..8 * i + 8]);
            u64::from_le_bytes(bytes)
        };
        let checksum = summary.fingerprint;
        if let Some(bytes) = at.checked_sub(word(0)) {
            candidates.push(Handle { offset: word(0), bytes, checksum });
        }
        if let Some(offset) = at.checked_sub(word(1)) {
            candidates.push(Handle { offset, bytes: word(1), checksum });
        }
    }
    for handle in candidates {
        if handle.checksum == summary.fingerprint
            && let Some(section) = read_part(file, handle, at)?
        {
            return Ok((handle, section));
        }
    }
    let what = "properties and fences are lost, and with them all rows";
    Err(damaged_at(file, at.min(file_bytes), what).into())
}

/// A part of the first `end` bytes; nothing where it lies elsewhere or its checksum does not match.
fn read_part(file: &dyn RandomReadFile, part: Handle, end: u64) -> Result<Option<Vec<u8>>> {
    if part.bytes == 0 || !part.fits(end.min(file.len_bytes()?)) {
        return Ok(None);
    }
    let mut bytes = vec![0; part.bytes as usize];
    file.read_at(&mut bytes, part.offset)?;
    Ok((checksum(&bytes) == part.checksum).then_some(bytes))
}
