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
use crate::storage::text_index::{DocumentKey, LongKey, ShortKey, StoredPostings, TextIndex};
use crate::value::cell::Cell;
use model::Value;
use plan::{OperatorName, SearchInput, SearchOutput, SearchUse, Step};
use search::{Marks, Plan, ScoreKind, Totals, highlight, snippet};
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

/// A row that matches: its encoded key, and its score.
struct Match {
    key: Vec<u8>,
    score: f64,
}

/// The search of one row of a batch.
struct Asked {
    plan: Plan,
    k: usize,
    kind: ScoreKind,
    marks: Marks,
    snippet_words: usize,
}

/// Words of a snippet, where a search does not say.
const SNIPPET_WORDS: usize = 30;

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
        let Some(asked) = self.asked(input, row)? else { return Ok(FoundRows::default()) };
        let k = asked.k;
        let Some(filter) = &self.filter else {
            return self.rows(&self.matches(&asked, k)?, &asked);
        };
        let all = self.matches(&asked, usize::MAX)?;
        let mut out = FoundRows::default();
        let (mut from, mut step) = (0, k.clamp(FILTERED_ROWS, CHUNK_ROWS));
        while from < all.len() && out.rows < k {
            self.context.check(0)?;
            let to = all.len().min(from + step);
            let found = self.rows(&all[from..to], &asked)?;
            let kept = self.kept(filter, input, row, &found)?;
            out.append(&found, &kept[..kept.len().min(k - out.rows)]);
            (from, step) = (to, (2 * step).min(CHUNK_ROWS));
        }
        Ok(out)
    }

    /// The best `k` rows.
    fn matches(&self, asked: &Asked, k: usize) -> Result<Vec<Match>> {
        match self.index.has_short_keys() {
            true => self.matches_by::<ShortKey>(asked, k),
            false => self.matches_by::<LongKey>(asked, k),
        }
    }

    fn matches_by<D: DocumentKey>(&self, asked: &Asked, k: usize) -> Result<Vec<Match>> {
        let check = |bytes: u64| self.context.check(bytes);
        let mut postings =
            StoredPostings { index: &self.index, read: self.context.read, check: &check, bytes: 0 };
        let Asked { plan, kind, .. } = asked;
        let hits = search::search::<D, _>(plan, k, *kind, self.totals, &mut postings)?;
        let found = |hit: search::Hit<D>| {
            let mut key = Vec::new();
            hit.document.append_to(&mut key);
            Match { key, score: hit.score }
        };
        Ok(hits.into_iter().map(found).collect())
    }

    /// The search of a row.
    fn asked(&self, input: &Bindings, row: usize) -> Result<Option<Asked>> {
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
        let kind = match self.input(SearchInput::ScoreKind, input, row)? {
            None => ScoreKind::TfIdf,
            Some((name, span)) => kind_of(&name).ok_or_else(|| {
                let what = format!("there is no kind of score {name}");
                Error::hinted(what, span, "kinds are 'tf_idf', 'tf' and 'bm25'")
            })?,
        };
        let marks = match self.input(SearchInput::Marks, input, row)? {
            None => Marks::default(),
            Some((marks, span)) => marks_of(&marks).ok_or_else(|| {
                let what = format!("`marks` is a list of two strings, not {marks}");
                Error::hinted(what, span, "write marks: ['<b>', '</b>']")
            })?,
        };
        let snippet_words = match self.input(SearchInput::SnippetWords, input, row)? {
            None => SNIPPET_WORDS,
            Some((words, span)) => positive("snippet_words", &words, span)?,
        };
        let plan = Plan::new(&query, &self.index.analyzer);
        Ok(Some(Asked { plan, k: positive("k", &k, k_span)?, kind, marks, snippet_words }))
    }

    /// The wanted columns of some rows.
    fn rows(&self, found: &[Match], asked: &Asked) -> Result<FoundRows> {
        let (interner, path) = (self.context.interner, self.path());
        let mut keys: Vec<Vec<Cell>> = vec![Vec::with_capacity(found.len()); path.keys()];
        for row in found {
            for ((column, value), key) in
                keys.iter_mut().zip(self.index.key_values(&row.key)?).zip(&path.schema.keys)
            {
                // An id and an integer are encoded alike.
                let value = key.column_type.coerce(value.clone()).unwrap_or(value);
                column.push(interner.take(value));
            }
        }
        let mut read: Vec<usize> = self.wanted.columns.iter().map(|(column, _)| *column).collect();
        let shows_text = self.wanted.computed.iter().any(|(of, _)| *of != SearchOutput::Score);
        if shows_text {
            self.index.extractor.each_var(&mut |column| read.push(column));
        }
        let columns = self.columns(keys, &read, found.len())?;
        let mut out = Vec::with_capacity(self.wanted.columns.len() + self.wanted.computed.len());
        for &(of, var) in &self.wanted.computed {
            let column = match of {
                SearchOutput::Score => found.iter().map(|row| interner.float(row.score)).collect(),
                SearchOutput::Highlight => self.texts(&columns, found.len(), &|text| {
                    highlight(text, &asked.plan, &self.index.analyzer, &asked.marks)
                })?,
                SearchOutput::Snippet => self.texts(&columns, found.len(), &|text| {
                    let (plan, analyzer) = (&asked.plan, &self.index.analyzer);
                    snippet(text, plan, analyzer, asked.snippet_words, &asked.marks)
                })?,
            };
            out.push((var, column));
        }
        for &(column, var) in &self.wanted.columns {
            out.push((var, columns.columns[column].clone()));
        }
        Ok(FoundRows { rows: found.len(), columns: out })
    }

    /// Columns of the rows with these keys, by their number in the relation; of the values only
    /// those that are read.
    fn columns(&self, keys: Vec<Vec<Cell>>, read: &[usize], rows: usize) -> Result<Bindings> {
        let path = self.path();
        let mut values: Vec<usize> =
            read.iter().copied().filter(|column| *column >= path.keys()).collect();
        values.sort_unstable();
        values.dedup();
        let mut columns: Vec<Vec<Cell>> = vec![Vec::new(); path.schema.columns()];
        if !values.is_empty() {
            let slices: Vec<&[Cell]> = keys.iter().map(Vec::as_slice).collect();
            let (store, interner) = (self.context.read, self.context.interner);
            let mut found = Vec::with_capacity(rows);
            let there = path.probe(store, &slices, rows, &values, interner, &mut found)?;
            if found.len() < rows {
                return Err(self.stale());
            }
            values.iter().zip(there.columns).for_each(|(&column, cells)| columns[column] = cells);
        }
        keys.into_iter().enumerate().for_each(|(column, cells)| columns[column] = cells);
        Ok(Bindings { rows, columns, weights: Vec::new() })
    }

    /// The results of a function on the indexed text of each row.
    fn texts(
        &self,
        columns: &Bindings,
        rows: usize,
        make: &dyn Fn(&str) -> String,
    ) -> Result<Vec<Cell>> {
        let computer = self.context.computer();
        let extractor = computer.compile(&self.index.extractor)?;
        let text = |row: usize| {
            self.context.check(0)?;
            let text = computer.compute(&extractor, columns, row)?;
            let made = match self.context.interner.value(text) {
                Value::Str(text) => Value::Str(make(&text)),
                other => other,
            };
            Ok(self.context.interner.take(made))
        };
        (0..rows).map(text).collect()
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

fn kind_of(name: &Value) -> Option<ScoreKind> {
    match name {
        Value::Str(name) => ScoreKind::of_name(name),
        _ => None,
    }
}

fn marks_of(marks: &Value) -> Option<Marks> {
    match marks {
        Value::List(marks) => match &marks[..] {
            [Value::Str(open), Value::Str(close)] => {
                Some(Marks { open: open.clone(), close: close.clone() })
            }
            _ => None,
        },
        _ => None,
    }
}

/// A number of rows or words.
fn positive(name: &str, value: &Value, span: Span) -> Result<usize> {
    match value {
        Value::Int(int @ 1..) => Ok(usize::try_from(*int).unwrap_or(usize::MAX)),
        other => Err(Error::value(format!("`{name}` is an integer from 1 on, not {other}"), span)),
    }
}
