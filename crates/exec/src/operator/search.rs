//! Operator: finds rows by a search index, the best first.

use crate::batch_size::{CHUNK_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::Compiled;
use crate::expr::batch::Bindings;
use crate::pipeline::{Operator, Pipeline};
use crate::sink::Out;
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::{Readable, StoredRelation};
use crate::storage::text_index::{DocumentKey, StoredPostings, TextIndex};
use crate::value::cell::Cell;
use model::Value;
use plan::{OperatorName, SearchInput, SearchOutput, SearchUse, Step};
use search::{Hit, Plan, ScoreKind, Totals};
use std::sync::Arc;
use syntax::Span;

/// Rows that are first tried with a filter; each time more are needed, twice as many are tried.
const FILTERED_ROWS: usize = 64;

/// A search for each row of a batch.
pub(crate) struct Search<'i> {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: &'i Bindings,
}

impl Operator for Search<'_> {
    const NAME: OperatorName = OperatorName::Search;

    /// # Errors
    /// Inputs that are no query, number or name; those of the store; what stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Self { at, input } = self;
        let planned = pipeline.steps[at].planned;
        let Step::Search(wanted) = &planned.step else { return Ok(true) };
        let searcher = Searcher::new(wanted, context)?;
        for row in 0..input.rows {
            context.check(0)?;
            let found = searcher.search(input, row)?;
            let mut output = input.gather(&vec![row as u32; found.rows], &planned.live);
            for (var, column) in found.columns {
                if planned.live.contains(&var) {
                    output.columns[var] = column;
                }
            }
            if !pipeline.hand_on(at, output, context, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Rows that a search found, by variable.
#[derive(Default)]
struct FoundRows {
    rows: usize,
    columns: Vec<(usize, Vec<Cell>)>,
}

/// A search with its compiled inputs.
struct Searcher<'s> {
    wanted: &'s SearchUse,
    context: &'s ExecContext<'s>,
    relation: Arc<StoredRelation>,
    index: Arc<TextIndex>,
    totals: Totals,
    inputs: Vec<(SearchInput, Compiled, Span)>,
    filter: Option<Compiled>,
}

impl<'s> Searcher<'s> {
    fn new(wanted: &'s SearchUse, context: &'s ExecContext<'s>) -> Result<Self> {
        let stored = |number| match context.relation(number) {
            Readable::Stored(relation) => relation,
            Readable::Memory(_) => unreachable!("a temporary relation has no search index"),
        };
        let (relation, index) = (stored(wanted.relation), stored(wanted.index));
        let Some(index) = index.text_index.clone() else {
            unreachable!("planning has looked for a search index");
        };
        let computer = context.computer();
        let compile = |(input, expr, span): &(SearchInput, plan::Expr, Span)| {
            Ok((*input, computer.compile(expr)?, *span))
        };
        let inputs = wanted.inputs.iter().map(compile).collect::<Result<_>>()?;
        let filter =
            wanted.filter.as_ref().map(|(filter, _)| computer.compile(filter)).transpose()?;
        let totals = index.totals(context.read)?;
        Ok(Self { wanted, context, relation, index, totals, inputs, filter })
    }

    fn path(&self) -> &StoredPath {
        &self.relation.paths[0]
    }

    /// The value of an input in a row, and its place.
    fn input(
        &self,
        of: SearchInput,
        input: &Bindings,
        row: usize,
    ) -> Result<Option<(Value, Span)>> {
        let Some((_, expr, span)) = self.inputs.iter().find(|(known, ..)| *known == of) else {
            return Ok(None);
        };
        let cell = self.context.computer().compute(expr, input, row)?;
        Ok(Some((self.context.interner.value(cell), *span)))
    }

    fn search(&self, input: &Bindings, row: usize) -> Result<FoundRows> {
        let Some((plan, k, kind)) = self.asked(input, row)? else {
            return Ok(FoundRows::default());
        };
        let check = |bytes: u64| self.context.check(bytes);
        let mut postings =
            StoredPostings { index: &self.index, read: self.context.read, check: &check, bytes: 0 };
        let Some(filter) = &self.filter else {
            let hits = search::search(&plan, k, kind, self.totals, &mut postings)?;
            return self.rows(&hits);
        };
        let hits = search::search(&plan, usize::MAX, kind, self.totals, &mut postings)?;
        let mut out = FoundRows::default();
        let (mut from, mut step) = (0, k.clamp(FILTERED_ROWS, CHUNK_ROWS));
        while from < hits.len() && out.rows < k {
            self.context.check(0)?;
            let to = hits.len().min(from + step);
            let found = self.rows(&hits[from..to])?;
            let kept = self.kept(filter, input, row, &found)?;
            out.append(&found, &kept[..kept.len().min(k - out.rows)]);
            (from, step) = (to, (2 * step).min(CHUNK_ROWS));
        }
        Ok(out)
    }

    /// What a row asks for: the query, the number of rows and the formula of scores.
    fn asked(&self, input: &Bindings, row: usize) -> Result<Option<(Plan, usize, ScoreKind)>> {
        let query = self.input(SearchInput::Query, input, row)?;
        let k = self.input(SearchInput::K, input, row)?;
        let (Some((query, query_span)), Some((k, k_span))) = (query, k) else { return Ok(None) };
        let Value::Str(query) = query else {
            let what = format!("the query of a search is a String, not {}", query.kind());
            return Err(Error::value(what, query_span));
        };
        let query = search::parse(&query).map_err(|error| {
            let what = format!("{}, at byte {} of the query", error.what, error.at);
            Error::hinted(what, query_span, error.hint)
        })?;
        let k = match k {
            Value::Int(k @ 1..) => usize::try_from(k).unwrap_or(usize::MAX),
            other => {
                let what = format!("`k` is an integer from 1 on, not {other}");
                return Err(Error::value(what, k_span));
            }
        };
        let kind = match self.input(SearchInput::ScoreKind, input, row)? {
            None => ScoreKind::TfIdf,
            Some((name, span)) => {
                let kind = match &name {
                    Value::Str(name) => ScoreKind::of_name(name),
                    _ => None,
                };
                kind.ok_or_else(|| {
                    let what = format!("there is no kind of score {name}");
                    Error::hinted(what, span, "kinds are 'tf_idf', 'tf' and 'bm25'")
                })?
            }
        };
        Ok(Some((Plan::new(&query, &self.index.analyzer), k, kind)))
    }

    /// The wanted columns of some rows.
    fn rows(&self, hits: &[Hit<DocumentKey>]) -> Result<FoundRows> {
        let (interner, path) = (self.context.interner, self.path());
        let mut keys: Vec<Vec<Cell>> = vec![Vec::with_capacity(hits.len()); path.keys()];
        for hit in hits {
            for ((column, value), key) in
                keys.iter_mut().zip(self.index.key_values(&hit.document)?).zip(&path.schema.keys)
            {
                // An id and an integer are encoded alike.
                let value = key.column_type.coerce(value.clone()).unwrap_or(value);
                column.push(interner.take(value));
            }
        }
        let mut columns = Vec::with_capacity(self.wanted.columns.len() + 1);
        let values = self.wanted.columns.iter().filter(|(column, _)| *column >= path.keys());
        let values: Vec<(usize, usize)> = values.copied().collect();
        if !values.is_empty() {
            let slices: Vec<&[Cell]> = keys.iter().map(Vec::as_slice).collect();
            let wanted: Vec<usize> = values.iter().map(|(column, _)| *column).collect();
            let mut found = Vec::with_capacity(hits.len());
            let read = self.context.read;
            let rows = path.probe(read, &slices, hits.len(), &wanted, interner, &mut found)?;
            if found.len() < hits.len() {
                return Err(self.stale());
            }
            columns.extend(values.iter().map(|(_, var)| *var).zip(rows.columns));
        }
        let scores = self.wanted.computed.iter().map(|(of, var)| match of {
            SearchOutput::Score => {
                (*var, hits.iter().map(|hit| interner.float(hit.score)).collect())
            }
        });
        columns.extend(scores);
        for &(column, var) in &self.wanted.columns {
            if let Some(key) = keys.get(column) {
                columns.push((var, key.clone()));
            }
        }
        Ok(FoundRows { rows: hits.len(), columns })
    }

    fn stale(&self) -> Error {
        let name = &self.index.postings.schema.name;
        let what = format!(
            "index {name:?} finds rows that its relation does not have\n\
             hint: `quipu check` compares them, `quipu repair` makes the index anew"
        );
        store::Error::new(store::ErrorKind::Corruption, what).into()
    }

    /// Which of some rows pass the filter.
    fn kept(
        &self,
        filter: &Compiled,
        input: &Bindings,
        row: usize,
        found: &FoundRows,
    ) -> Result<Vec<u32>> {
        let all: Vec<usize> = (0..input.columns.len()).collect();
        let mut rows = input.gather(&vec![row as u32; found.rows], &all);
        for (var, column) in &found.columns {
            rows.columns[*var].clone_from(column);
        }
        let span = self.wanted.filter.as_ref().map_or(self.wanted.span, |(_, span)| *span);
        self.context.computer().select(filter, &rows, span)
    }
}

impl FoundRows {
    /// Appends the rows numbered in `kept` of others with the same columns.
    fn append(&mut self, other: &Self, kept: &[u32]) {
        if self.columns.is_empty() {
            self.columns = other.columns.iter().map(|(var, _)| (*var, Vec::new())).collect();
        }
        for ((_, out), (_, column)) in self.columns.iter_mut().zip(&other.columns) {
            out.extend(kept.iter().map(|&row| column[row as usize]));
        }
        self.rows += kept.len();
    }
}
