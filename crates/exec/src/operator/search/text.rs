//! Searches for words of texts.

use super::inputs::Inputs;
use super::{Match, Method};
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::storage::access_path::StoredPath;
use crate::storage::text_index::{DocumentKey, LongKey, ShortKey, StoredPostings, TextIndex};
use crate::value::cell::Cell;
use model::Value;
use plan::{Id, SearchInput, SearchOutput};
use search::{Marks, Plan, ScoreKind, Totals, highlight, snippet};

/// Words of a snippet, where a search does not say.
const SNIPPET_WORDS: usize = 30;

/// Finds the rows whose texts match a query.
pub(super) struct TextSearch<'s> {
    index: &'s TextIndex,
    context: &'s ExecContext<'s>,
    totals: Totals,
}

/// The search of one row of a batch.
pub(super) struct Question {
    plan: Plan,
    kind: ScoreKind,
    marks: Marks,
    snippet_words: usize,
}

impl<'s> TextSearch<'s> {
    /// # Errors
    /// Those of the store.
    pub(super) fn new(index: &'s TextIndex, context: &'s ExecContext<'s>) -> Result<Self> {
        let totals = index.totals(context.read)?;
        Ok(Self { index, context, totals })
    }

    fn matches_by<D: DocumentKey>(&self, question: &Question, k: usize) -> Result<Vec<Match>> {
        let check = |bytes: u64| self.context.check(bytes);
        let mut postings =
            StoredPostings { index: self.index, read: self.context.read, check: &check, bytes: 0 };
        let Question { plan, kind, .. } = question;
        let hits = search::search::<D, _>(plan, k, *kind, self.totals, &mut postings)?;
        let found = |hit: search::Hit<D>| {
            let mut key = Vec::new();
            hit.document.append_to(&mut key);
            Match { key, score: hit.score }
        };
        Ok(hits.into_iter().map(found).collect())
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
}

impl Method for TextSearch<'_> {
    type Question = Question;

    fn question(
        &self,
        inputs: &Inputs<'_>,
        input: &Bindings,
        row: usize,
    ) -> Result<Option<(Question, usize)>> {
        let Some((query, query_span)) = inputs.query(input, row)? else { return Ok(None) };
        let Value::Str(query) = query else {
            let what = format!("the query of a search is a String, not {}", query.kind());
            return Err(Error::value(what, query_span));
        };
        let query = search::parse(&query).map_err(|error| {
            let what = format!("{}, at byte {} of the query", error.what, error.at);
            Error::hinted(what, query_span, error.hint)
        })?;
        let kind = match inputs.value(SearchInput::ScoreKind, input, row)? {
            None => ScoreKind::TfIdf,
            Some((name, span)) => kind_of(&name).ok_or_else(|| {
                let what = format!("there is no kind of score {name}");
                Error::hinted(what, span, "kinds are 'tf_idf', 'tf' and 'bm25'")
            })?,
        };
        let marks = match inputs.value(SearchInput::Marks, input, row)? {
            None => Marks::default(),
            Some((marks, span)) => marks_of(&marks).ok_or_else(|| {
                let what = format!("`marks` is a list of two strings, not {marks}");
                Error::hinted(what, span, "write marks: ['<b>', '</b>']")
            })?,
        };
        let words = inputs.positive(SearchInput::SnippetWords, "snippet_words", input, row)?;
        let snippet_words = words.unwrap_or(SNIPPET_WORDS);
        let plan = Plan::new(&query, &self.index.analyzer);
        let k = inputs.positive(SearchInput::K, "k", input, row)?;
        Ok(k.map(|k| (Question { plan, kind, marks, snippet_words }, k)))
    }

    fn matches(&self, question: &Question, k: usize) -> Result<Vec<Match>> {
        match self.index.has_short_keys() {
            true => self.matches_by::<ShortKey>(question, k),
            false => self.matches_by::<LongKey>(question, k),
        }
    }

    fn path(&self) -> &StoredPath {
        &self.index.postings
    }

    fn each_read(&self, output: SearchOutput, visit: &mut dyn FnMut(usize)) {
        if output != SearchOutput::Score {
            self.index.extractor.each_var(&mut |var| visit(var.place()));
        }
    }

    fn output(
        &self,
        output: SearchOutput,
        question: &Question,
        found: &[Match],
        columns: &Bindings,
    ) -> Result<Vec<Cell>> {
        let Question { plan, marks, snippet_words, .. } = question;
        let analyzer = &self.index.analyzer;
        match output {
            SearchOutput::Highlight => {
                self.texts(columns, found.len(), &|text| highlight(text, plan, analyzer, marks))
            }
            SearchOutput::Snippet => self.texts(columns, found.len(), &|text| {
                snippet(text, plan, analyzer, *snippet_words, marks)
            }),
            _ => Ok(found.iter().map(|row| self.context.interner.float(row.score)).collect()),
        }
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
