//! Operator: finds rows by a search index, the best first.
//!
//! The differences between kinds of indexes are behind one trait ([`Method`]): `text` searches
//! words, `near` near duplicates. `vector` searches neighbors; it applies filters in its own way.

mod inputs;
mod near;
mod text;
mod vector;

use crate::batch_size::{CHUNK_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::Compiled;
use crate::expr::batch::Bindings;
use crate::operator::search::inputs::Inputs;
use crate::operator::search::near::NearSearch;
use crate::operator::search::text::TextSearch;
use crate::operator::search::vector::VectorSearch;
use crate::pipeline::{Operator, Pipeline};
use crate::sink::Out;
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::{Readable, StoredRelation};
use crate::storage::search_index::{SearchIndex, source_key};
use crate::value::cell::Cell;
use model::Value;
use plan::{Id, OperatorName, SearchOutput, SearchUse, Step, StoredId, VarId};
use std::sync::Arc;

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
        let mut search_all = |searcher: &dyn SearchRow, pipeline: &mut Pipeline<'_>| {
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
        };
        let index = stored(context, wanted.index);
        match &index.search_index {
            Some(SearchIndex::Text(text)) => {
                let method = TextSearch::new(text, context)?;
                search_all(&Searcher::new(wanted, context, method)?, pipeline)
            }
            Some(SearchIndex::Bands(bands)) => {
                let method = NearSearch::new(bands, wanted, context);
                search_all(&Searcher::new(wanted, context, method)?, pipeline)
            }
            Some(SearchIndex::Vector(index)) => {
                search_all(&VectorSearch::new(wanted, context, index)?, pipeline)
            }
            None => unreachable!("planning has looked for a search index"),
        }
    }
}

fn stored(context: &ExecContext<'_>, id: StoredId) -> Arc<StoredRelation> {
    match context.relation(id) {
        Readable::Stored(relation) => relation,
        Readable::Memory(_) => unreachable!("a temporary relation has no search index"),
    }
}

/// How a kind of index finds rows.
trait Method {
    /// The search of one row of a batch.
    type Question;

    /// The search of a row, and the most rows to find; `None` if nothing can be found.
    ///
    /// # Errors
    /// Inputs that are not valid.
    fn question(
        &self,
        inputs: &Inputs<'_>,
        input: &Bindings,
        row: usize,
    ) -> Result<Option<(Self::Question, usize)>>;

    /// At most `k` rows, the best first.
    ///
    /// # Errors
    /// Those of the store; what stops the query.
    fn matches(&self, question: &Self::Question, k: usize) -> Result<Vec<Match>>;

    /// The rows of the index: the keys of the relation follow their first column.
    fn path(&self) -> &StoredPath;

    /// Calls `visit` for the columns of the relation that an output is computed of.
    fn each_read(&self, output: SearchOutput, visit: &mut dyn FnMut(usize));

    /// Computes an output of each row.
    ///
    /// # Errors
    /// As of expressions.
    fn output(
        &self,
        output: SearchOutput,
        question: &Self::Question,
        found: &[Match],
        columns: &Bindings,
    ) -> Result<Vec<Cell>>;
}

/// Rows that a search found, by variable.
#[derive(Default)]
struct FoundRows {
    rows: usize,
    columns: Vec<(VarId, Vec<Cell>)>,
}

/// A row that matches: its encoded key, and its score.
struct Match {
    key: Vec<u8>,
    score: f64,
}

/// Searches for one row of a batch.
trait SearchRow {
    /// # Errors
    /// As [`Search`].
    fn search(&self, input: &Bindings, row: usize) -> Result<FoundRows>;
}

/// A search with its compiled inputs.
struct Searcher<'s, M> {
    rows: RowReader<'s>,
    method: M,
}

impl<M: Method> SearchRow for Searcher<'_, M> {
    fn search(&self, input: &Bindings, row: usize) -> Result<FoundRows> {
        let Some((question, k)) = self.method.question(&self.rows.inputs, input, row)? else {
            return Ok(FoundRows::default());
        };
        let Some(filter) = &self.rows.filter else {
            return self.rows(&self.method.matches(&question, k)?, &question);
        };
        let all = self.method.matches(&question, usize::MAX)?;
        let mut out = FoundRows::default();
        let (mut from, mut step) = (0, k.clamp(FILTERED_ROWS, CHUNK_ROWS));
        while from < all.len() && out.rows < k {
            self.rows.context.check(0)?;
            let to = all.len().min(from + step);
            let found = self.rows(&all[from..to], &question)?;
            let kept = self.rows.kept(filter, input, row, &found)?;
            out.append(&found, &kept[..kept.len().min(k - out.rows)]);
            (from, step) = (to, (2 * step).min(CHUNK_ROWS));
        }
        Ok(out)
    }
}

impl<'s, M: Method> Searcher<'s, M> {
    fn new(wanted: &'s SearchUse, context: &'s ExecContext<'s>, method: M) -> Result<Self> {
        let name = method.path().schema.name.clone();
        Ok(Self { rows: RowReader::new(wanted, context, name)?, method })
    }

    /// The wanted columns of some rows.
    fn rows(&self, found: &[Match], question: &M::Question) -> Result<FoundRows> {
        let keys = found.iter().map(|row| Ok(source_key(self.method.path(), &row.key)?));
        let mut read = Vec::new();
        for (of, _) in &self.rows.wanted.computed {
            self.method.each_read(*of, &mut |column| read.push(column));
        }
        let columns = self.rows.columns(keys.collect::<Result<_>>()?, &read)?;
        let mut computed = Vec::with_capacity(self.rows.wanted.computed.len());
        for &(of, var) in &self.rows.wanted.computed {
            computed.push((var, self.method.output(of, question, found, &columns)?));
        }
        Ok(self.rows.found(&columns, computed))
    }
}

/// Reads the rows of the relation that a search finds, and filters them.
struct RowReader<'s> {
    wanted: &'s SearchUse,
    context: &'s ExecContext<'s>,
    relation: Arc<StoredRelation>,
    /// Name of the index.
    index: String,
    inputs: Inputs<'s>,
    filter: Option<Compiled>,
}

impl<'s> RowReader<'s> {
    fn new(wanted: &'s SearchUse, context: &'s ExecContext<'s>, index: String) -> Result<Self> {
        let relation = stored(context, wanted.relation);
        let inputs = Inputs::of(wanted, context)?;
        let computer = context.computer();
        let filter =
            wanted.filter.as_ref().map(|(filter, _)| computer.compile(filter)).transpose()?;
        Ok(Self { wanted, context, relation, index, inputs, filter })
    }

    fn path(&self) -> &StoredPath {
        &self.relation.paths[0]
    }

    /// Columns of the rows with these keys, each as the variable with its number in the relation.
    /// Values are only those of columns that the search binds, and of those in `more`.
    fn columns(&self, keys: Vec<Vec<Value>>, more: &[usize]) -> Result<Bindings> {
        let (path, interner, rows) = (self.path(), self.context.interner, keys.len());
        let mut by_column: Vec<Vec<Cell>> = vec![Vec::with_capacity(rows); path.keys()];
        for key in keys {
            for ((column, value), key) in by_column.iter_mut().zip(key).zip(&path.schema.keys) {
                // An id and an integer are encoded alike.
                let value = key.column_type.coerce(value.clone()).unwrap_or(value);
                column.push(interner.take(value));
            }
        }
        let bound = self.wanted.columns.iter().map(|(column, _)| *column);
        let read = bound.chain(more.iter().copied());
        let mut values: Vec<usize> = read.filter(|column| *column >= path.keys()).collect();
        values.sort_unstable();
        values.dedup();
        let mut columns: Vec<Vec<Cell>> = vec![Vec::new(); path.schema.columns()];
        if !values.is_empty() {
            let slices: Vec<&[Cell]> = by_column.iter().map(Vec::as_slice).collect();
            let store = self.context.read;
            let mut found = Vec::with_capacity(rows);
            let there = path.probe(store, &slices, rows, &values, interner, &mut found)?;
            if found.len() < rows {
                return Err(self.stale());
            }
            values.iter().zip(there.columns).for_each(|(&column, cells)| columns[column] = cells);
        }
        by_column.into_iter().enumerate().for_each(|(column, cells)| columns[column] = cells);
        Ok(Bindings { rows, columns: columns.into_iter().collect(), weights: Vec::new() })
    }

    /// The columns that the search binds, after those that it computes.
    fn found(&self, columns: &Bindings, computed: Vec<(VarId, Vec<Cell>)>) -> FoundRows {
        let mut out = computed;
        for &(column, var) in &self.wanted.columns {
            out.push((var, columns.columns[VarId::new(column)].clone()));
        }
        FoundRows { rows: columns.rows, columns: out }
    }

    fn stale(&self) -> Error {
        let name = &self.index;
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
        let all: Vec<VarId> = input.columns.ids().collect();
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
