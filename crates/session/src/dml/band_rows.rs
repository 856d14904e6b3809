//! The rows of indexes of near duplicates. Every row has the key of a row of the relation, so two
//! transactions that change different rows do not conflict.

use crate::dml::extract::{Extract, NewRows, RowChange, part_writes};
use base::{Batch, KeyRef, KeyspaceId, Kind};
use exec::error::{Error, Result};
use exec::storage::band_index::BandIndex;
use model::{Value, encode_tuple};
use search::Signature;
use std::collections::BTreeSet;
use store::{Kinds, TableWrites};

/// The signature of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedRow {
    /// The columns of the row's key.
    pub keys: Vec<Value>,
    /// The key, encoded.
    key: Vec<u8>,
    /// The signature of its text or list.
    pub signature: Signature,
}

/// The rows of a new index of near duplicates.
pub(crate) struct BandRows<'i> {
    index: &'i BandIndex,
    bands: Batch,
    signatures: Batch,
}

impl<'i> BandRows<'i> {
    pub(crate) fn new(index: &'i BandIndex) -> Self {
        let batch = |shape| Batch::new(shape);
        let (bands, signatures) = (batch(&index.bands.shape), batch(&index.signatures.shape));
        Self { index, bands, signatures }
    }
}

impl NewRows for BandRows<'_> {
    fn add(&mut self, extract: &Extract<'_>, row: &[Value]) -> Result<()> {
        if let Some(signed) = SignedRow::of(self.index, extract, row)? {
            for band in signed.signature.band_keys(self.index.division) {
                signed.append_band(&band, &mut self.bands);
            }
            signed.append_signature(self.index, &mut self.signatures)?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        (self.bands.heap_bytes() + self.signatures.heap_bytes()) as u64
    }

    fn take(&mut self, _: bool) -> Vec<(KeyspaceId, Batch)> {
        let BandIndex { bands, signatures, .. } = self.index;
        [(bands, &mut self.bands), (signatures, &mut self.signatures)]
            .map(|(path, rows)| (path.keyspace, std::mem::replace(rows, Batch::new(&path.shape))))
            .into()
    }
}

/// The writes to an index of near duplicates for changed rows.
///
/// # Errors
/// A row that cannot be indexed; what stops the script.
pub(crate) fn band_writes(
    index: &BandIndex,
    extract: &Extract<'_>,
    changes: &[RowChange<'_>],
) -> Result<Vec<TableWrites>> {
    let (mut band_kinds, mut bands) = (Vec::new(), Batch::new(&index.bands.shape));
    let (mut kinds, mut signatures) = (Vec::new(), Batch::new(&index.signatures.shape));
    let make = |row: &[Value]| SignedRow::of(index, extract, row);
    let mut appended = Ok(());
    extract.each_change(
        changes,
        &make,
        &mut |old: Option<&SignedRow>, new: Option<&SignedRow>| {
            change_bands(index, old, new, &mut band_kinds, &mut bands);
            if let Some(row) = new.or(old) {
                kinds.push(if new.is_some() { Kind::Put } else { Kind::Delete });
                if appended.is_ok() {
                    appended = row.append_signature(index, &mut signatures);
                }
            }
        },
    )?;
    appended?;
    Ok(vec![
        part_writes(&index.bands, Kinds::PerRow(band_kinds), bands),
        part_writes(&index.signatures, Kinds::PerRow(kinds), signatures),
    ])
}

impl SignedRow {
    /// The signature of a row; `None` if the row is not indexed, or has no shingles.
    ///
    /// # Errors
    /// The extractor fails, or its value is neither a text nor a list.
    pub(crate) fn of(
        index: &BandIndex,
        extract: &Extract<'_>,
        row: &[Value],
    ) -> Result<Option<Self>> {
        let Some(value) = extract.value(row)? else { return Ok(None) };
        let Some(shingles) = index.shingles(&value) else {
            let hint =
                "its extractor makes the text of a row, or a list: to_string(…) makes a text";
            return Err(extract.refused(&value, "a String or a list", hint));
        };
        let signature = Signature::of(&shingles, index.division);
        let keys = row[..index.signatures.schema.keys.len()].to_vec();
        Ok(signature.map(|signature| Self { keys, key: extract.key(row), signature }))
    }

    fn append_band(&self, band: &[u8], out: &mut Batch) {
        let mut key = Vec::with_capacity(band.len() + 8 + self.key.len());
        encode_tuple(&[Value::Bytes(band.to_vec())], &mut key);
        key.extend_from_slice(&self.key);
        out.keys.push(KeyRef::Bytes(&key));
        out.rows += 1;
    }

    fn append_signature(&self, index: &BandIndex, out: &mut Batch) -> Result<()> {
        let minhash = Value::Bytes(self.signature.to_bytes());
        let row = self.keys.iter().cloned().chain([minhash]).collect();
        index.signatures.schema.append(row, out).map_err(Error::from)
    }
}

/// Appends the changes from the bands of one row to those of another with the same key.
fn change_bands(
    index: &BandIndex,
    old: Option<&SignedRow>,
    new: Option<&SignedRow>,
    kinds: &mut Vec<Kind>,
    out: &mut Batch,
) {
    let bands = |row: Option<&SignedRow>| -> BTreeSet<_> {
        row.into_iter().flat_map(|row| row.signature.band_keys(index.division)).collect()
    };
    let (before, after) = (bands(old), bands(new));
    let mut change = |row: Option<&SignedRow>, band: &[u8], kind: Kind| {
        if let Some(row) = row {
            row.append_band(band, out);
            kinds.push(kind);
        }
    };
    before.difference(&after).for_each(|band| change(old, band, Kind::Delete));
    after.difference(&before).for_each(|band| change(new, band, Kind::Put));
}
