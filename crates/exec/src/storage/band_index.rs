//! Reads the bands and signatures of an index of near duplicates.

use crate::error::Result;
use crate::storage::access_path::StoredPath;
use crate::storage::search_index::{corrupt, source_key};
use crate::value::cell::{Cell, Interner};
use base::{Batch, KeyRange, Keys, Projection};
use model::Value;
use search::{Analyzer, Bands, Shingles, Signature};
use std::collections::BTreeSet;
use store::Read;

/// Rows that are read at a time.
const CHUNK_ROWS: usize = 4096;

/// An index of near duplicates that can be searched.
#[derive(Debug)]
pub struct BandIndex {
    /// `{hash of a band, key of a row}`
    pub bands: StoredPath,
    /// `{key of a row => minhash}`
    pub signatures: StoredPath,
    /// Makes the words of texts.
    pub analyzer: Analyzer,
    /// Words of a shingle.
    pub n_gram: usize,
    /// How signatures are divided into bands.
    pub division: Bands,
}

impl BandIndex {
    /// The shingles of a text, or of a list of anything, whose items are shingles; `None` for other
    /// values.
    #[must_use]
    pub fn shingles(&self, value: &Value) -> Option<Shingles> {
        match value {
            Value::Str(text) => Some(Shingles::of_tokens(&self.analyzer.tokens(text), self.n_gram)),
            Value::List(items) => {
                let mut shingles = Shingles::default();
                let mut encoded = Vec::new();
                for item in items {
                    match item {
                        // As a shingle of one word.
                        Value::Str(text) => shingles.insert(text.as_bytes()),
                        other => {
                            encoded.clear();
                            model::encode_value(other, &mut encoded);
                            shingles.insert(&encoded);
                        }
                    }
                }
                Some(shingles)
            }
            _ => None,
        }
    }

    /// The encoded keys of the rows that have a band in common with a signature. `check` gets the
    /// bytes that are held.
    ///
    /// # Errors
    /// Those of the store and of `check`.
    pub(crate) fn candidates(
        &self,
        signature: &Signature,
        read: &dyn Read,
        check: &dyn Fn(u64) -> Result<()>,
    ) -> Result<BTreeSet<Box<[u8]>>> {
        let mut found: BTreeSet<Box<[u8]>> = BTreeSet::new();
        let mut rows = Batch::new(&self.bands.shape);
        let (mut prefix, mut bytes) = (Vec::new(), 0);
        for band in signature.band_keys(self.division) {
            prefix.clear();
            model::encode_tuple(&[Value::Bytes(band.to_vec())], &mut prefix);
            let keys = Projection { keys: 1, ..Projection::COUNT };
            let range = KeyRange::prefix_bytes(&prefix);
            let mut scan = read.scan(self.bands.keyspace, range, keys)?;
            while scan.next_batch(CHUNK_ROWS, &mut rows)? {
                let Keys::Bytes(keys) = &rows.keys else { break };
                for row in 0..rows.rows {
                    let source = &keys.get(row)[prefix.len()..];
                    if !found.contains(source) {
                        found.insert(source.into());
                        bytes += source.len() as u64 + 64;
                    }
                }
                check(bytes)?;
                rows.clear();
            }
        }
        Ok(found)
    }

    /// The similarity of a signature to those of some rows, by their encoded keys.
    ///
    /// # Errors
    /// Those of the store and of `check`; a row without a signature.
    pub(crate) fn similarities(
        &self,
        signature: &Signature,
        sources: &[Box<[u8]>],
        read: &dyn Read,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Vec<f64>> {
        let mut similarities = Vec::with_capacity(sources.len());
        for some in sources.chunks(CHUNK_ROWS) {
            check()?;
            // Signatures are compared here and needed nowhere else.
            let interner = Interner::default();
            let mut keys: Vec<Vec<Cell>> = vec![Vec::new(); self.signatures.keys()];
            for source in some {
                let values = source_key(&self.bands, source)?;
                let types = self.signatures.schema.keys.iter().map(|key| &key.column_type);
                for ((column, value), of) in keys.iter_mut().zip(values).zip(types) {
                    // An id and an integer are encoded alike.
                    column.push(interner.take(of.coerce(value.clone()).unwrap_or(value)));
                }
            }
            let keys: Vec<&[Cell]> = keys.iter().map(Vec::as_slice).collect();
            let (mut found, minhash) = (Vec::with_capacity(some.len()), [keys.len()]);
            let path = &self.signatures;
            let there = path.probe(read, &keys, some.len(), &minhash, &interner, &mut found)?;
            if found.len() < some.len() {
                return Err(corrupt(path, "a row of a band has no signature").into());
            }
            for &cell in there.columns.iter().flatten() {
                let Value::Bytes(bytes) = interner.value(cell) else { continue };
                let other = Signature::of_bytes(&bytes, self.division);
                let other = other.ok_or_else(|| corrupt(path, "a signature has a wrong length"))?;
                similarities.push(signature.similarity(&other));
            }
        }
        Ok(similarities)
    }
}
