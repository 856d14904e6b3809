//! Searches for near duplicates.

use super::inputs::Inputs;
use super::{Match, Method};
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::storage::access_path::StoredPath;
use crate::storage::band_index::BandIndex;
use crate::value::cell::Cell;
use plan::{SearchInput, SearchOutput, SearchUse};
use search::Signature;

/// Finds the rows whose sets are similar to that of a text or a list.
pub(super) struct NearSearch<'s> {
    index: &'s BandIndex,
    context: &'s ExecContext<'s>,
    /// Whether similarities are needed: for an order, or as an output.
    is_ranked: bool,
}

impl<'s> NearSearch<'s> {
    pub(super) fn new(
        index: &'s BandIndex,
        wanted: &SearchUse,
        context: &'s ExecContext<'s>,
    ) -> Self {
        let has_k = wanted.inputs.iter().any(|(input, ..)| *input == SearchInput::K);
        Self { index, context, is_ranked: has_k || !wanted.computed.is_empty() }
    }
}

impl Method for NearSearch<'_> {
    type Question = Signature;

    fn question(
        &self,
        inputs: &Inputs<'_>,
        input: &Bindings,
        row: usize,
    ) -> Result<Option<(Signature, usize)>> {
        let k = inputs.positive(SearchInput::K, "k", input, row)?.unwrap_or(usize::MAX);
        let Some((query, span)) = inputs.query(input, row)? else { return Ok(None) };
        let Some(shingles) = self.index.shingles(&query) else {
            let what = format!("the query of a search is a String or a list, not {}", query.kind());
            return Err(Error::value(what, span));
        };
        Ok(Signature::of(&shingles, self.index.division).map(|signature| (signature, k)))
    }

    fn matches(&self, question: &Signature, k: usize) -> Result<Vec<Match>> {
        let (index, read) = (self.index, self.context.read);
        let found = index.candidates(question, read, &|bytes| self.context.check(bytes))?;
        let found: Vec<Box<[u8]>> = found.into_iter().collect();
        let similarities = match self.is_ranked {
            true => index.similarities(question, &found, read, &|| self.context.check(0))?,
            false => vec![0.0; found.len()],
        };
        let found = found.into_iter().zip(similarities);
        let mut found: Vec<Match> =
            found.map(|(key, score)| Match { key: key.into(), score }).collect();
        // Stable: equal ones stay in the order of their keys.
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(k);
        Ok(found)
    }

    fn path(&self) -> &StoredPath {
        &self.index.bands
    }

    fn each_read(&self, _: SearchOutput, _: &mut dyn FnMut(usize)) {}

    fn output(
        &self,
        _: SearchOutput,
        _: &Signature,
        found: &[Match],
        _: &Bindings,
    ) -> Result<Vec<Cell>> {
        Ok(found.iter().map(|row| self.context.interner.float(row.score)).collect())
    }
}
