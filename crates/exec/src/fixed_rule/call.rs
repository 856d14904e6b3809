//! One call of an algorithm: gives it inputs as columns of cells and options as values, and turns
//! its errors into messages.

use super::cache::Projections;
use super::projection::{Edges, Projection};
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Rows;
use crate::files::Files;
use crate::host::Host;
use crate::limits::QueryLimits;
use crate::snapshot_cache::Key;
use crate::storage::relation_source::Readable;
use crate::value::cell::Cell;
use model::Value;
use plan::{FixedInput, FixedUse, Id, PredicateKind, Source, VarId};
use store::Snapshot;
use syntax::Span;

/// Rows between two checks of the query's limits.
const ROWS_UNCHECKED: usize = 4096;

/// Bytes of values between two such checks: a path can be long.
const BYTES_UNCHECKED: u64 = 1 << 20;

/// Receives columns of some rows; returns the bytes that it holds.
type Visit<'v> = dyn FnMut(&[&[Cell]], usize) -> Result<u64> + 'v;

/// A call of an algorithm in a running query.
pub(crate) struct Call<'a, 'q> {
    /// Context of the query.
    pub query: &'a ExecContext<'q>,
    /// The call as planned.
    pub fixed: &'a FixedUse,
    /// The projection cache, if the query may use it.
    pub kept: Option<&'a CachedProjections<'a>>,
    /// The database around the engine.
    pub host: Option<&'a dyn Host>,
    /// Files that the database lets scripts read.
    pub files: &'a Files,
}

/// The projection cache, for a query that reads a snapshot.
pub struct CachedProjections<'e> {
    /// The engine's cache.
    pub cache: &'e Projections,
    /// The snapshot, without uncommitted changes.
    pub snapshot: &'e dyn Snapshot,
}

/// Rows of cells in columns, for expressions over names of columns.
pub(super) struct Columns<'c>(pub &'c [Vec<Cell>]);

impl Rows for Columns<'_> {
    fn cell(&self, var: VarId, row: usize) -> Cell {
        self.0.get(var.place()).and_then(|column| column.get(row)).copied().unwrap_or(Cell::NULL)
    }
}

/// A single row, for expressions over names of columns.
pub(super) struct Row<'c>(pub &'c [Cell]);

impl Rows for Row<'_> {
    fn cell(&self, var: VarId, _: usize) -> Cell {
        self.0.get(var.place()).copied().unwrap_or(Cell::NULL)
    }
}

/// Rows of an algorithm's result, in columns.
pub(super) struct RuleRows {
    columns: Vec<Vec<Cell>>,
    /// Size of the interner at the last check of the limits, in bytes.
    checked_bytes: u64,
}

impl RuleRows {
    /// A result without rows, with this many columns.
    pub(super) fn new(columns: usize) -> Self {
        Self { columns: vec![Vec::new(); columns], checked_bytes: 0 }
    }

    /// Appends a row.
    pub(super) fn push<const N: usize>(&mut self, row: [Cell; N]) {
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.push(cell);
        }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Approximate size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        8 * self.columns.iter().map(|column| column.capacity() as u64).sum::<u64>()
    }

    /// The columns.
    pub(super) fn into_columns(self) -> Vec<Vec<Cell>> {
        self.columns
    }
}

impl Call<'_, '_> {
    /// The algorithm's name as written.
    pub(crate) fn name(&self) -> &str {
        &self.fixed.name
    }

    /// Whether the input with this number was given.
    pub(super) fn has_input(&self, number: usize) -> bool {
        self.fixed.inputs.len() > number
    }

    /// An input; its number was checked before.
    fn input(&self, number: usize) -> Result<&FixedInput> {
        self.fixed.inputs.get(number).ok_or_else(|| {
            let what = format!("{} reads more relations than are given", self.name());
            Error::value(what, self.fixed.span)
        })
    }

    /// Place of an input in the script.
    pub(crate) fn input_span(&self, number: usize) -> Span {
        self.fixed.inputs.get(number).map_or(self.fixed.span, |input| input.span)
    }

    /// Number of columns of an input.
    pub(super) fn arity(&self, number: usize) -> Result<usize> {
        let input = self.input(number)?;
        let known = input.columns.len();
        Ok(match input.source {
            Source::Derived(predicate) => match self.query.table(predicate).arity() {
                // A table without rows may have no columns, whatever its head says.
                0 => 0,
                arity if known == 0 => arity,
                _ => known,
            },
            Source::Stored(_) => known,
        })
    }

    /// Names of an input's columns: those in the rule, or else those of the relation. Wildcards
    /// have the empty name.
    pub(crate) fn names(&self, number: usize) -> Result<Vec<String>> {
        let input = self.input(number)?;
        if !input.names.is_empty() {
            let (mut names, arity) = (input.names.clone(), self.arity(number)?);
            if names.len() > arity && !self.is_empty_table(number)? {
                let (has, given) = (arity, names.len());
                let rule = match input.source {
                    Source::Derived(predicate) => {
                        &self.query.plan.program.predicates[predicate].name
                    }
                    Source::Stored(stored) => &self.query.plan.program.stored[stored].name,
                };
                let what = format!("rule `{rule}` has {has} columns, {given} are given here");
                return Err(Error::value(what, input.span));
            }
            names.resize(arity.max(names.len()), String::new());
            return Ok(names);
        }
        Ok(match input.source {
            Source::Derived(predicate) => {
                self.query.plan.program.predicates[predicate].columns.clone()
            }
            Source::Stored(stored) => {
                let all = &self.query.plan.infos[stored].columns;
                let name = |&column: &usize| all.get(column).map(|column| column.name.clone());
                input.columns.iter().map(|column| name(column).unwrap_or_default()).collect()
            }
        })
    }

    /// Passes the first `wanted` columns of all rows of an input to `visit`, which returns the
    /// bytes that it holds.
    fn each(&self, number: usize, wanted: usize, visit: &mut Visit<'_>) -> Result<()> {
        let input = self.input(number)?;
        let columns: Vec<usize> = match input.columns.is_empty() {
            true => (0..wanted).collect(),
            false => input.columns.iter().copied().take(wanted).collect(),
        };
        let at = match &input.at {
            Some(at) => {
                let at = self.query.computer().known(at)?;
                let time = crate::value::validity::time_of(&at, self.query.ambient);
                Some(time.map_err(|error| error.at(input.span))?)
            }
            None => None,
        };
        self.query.each_row(input.source, &columns, at, visit)
    }

    /// All rows of an input, in columns.
    pub(crate) fn columns(&self, number: usize) -> Result<Vec<Vec<Cell>>> {
        let arity = self.arity(number)?;
        let mut columns = vec![Vec::new(); arity];
        self.each(number, arity, &mut |found, _| {
            for (column, found) in columns.iter_mut().zip(found) {
                column.extend_from_slice(found);
            }
            Ok(8 * columns.iter().map(|column| column.capacity() as u64).sum::<u64>())
        })?;
        Ok(columns)
    }

    /// The distinct values of an input's first column, ascending.
    pub(super) fn cells(&self, number: usize) -> Result<Vec<Cell>> {
        if self.arity(number)? == 0 {
            return match self.is_empty_table(number)? {
                true => Ok(Vec::new()),
                false => {
                    let what = "the relation has no column";
                    Err(Error::value(what, self.input_span(number)))
                }
            };
        }
        let mut cells: Vec<Cell> = Vec::new();
        self.each(number, 1, &mut |columns, _| {
            if let Some(column) = columns.first() {
                cells.extend_from_slice(column);
            }
            Ok(8 * cells.capacity() as u64)
        })?;
        let mut cells = self.query.interner.sort(cells, &|| self.query.check(0))?;
        cells.dedup();
        Ok(cells)
    }

    /// Whether an input is a rule without rows, so that its number of columns is unknown.
    fn is_empty_table(&self, number: usize) -> Result<bool> {
        Ok(match self.input(number)?.source {
            Source::Derived(predicate) => {
                let is_data = matches!(
                    self.query.plan.program.predicates[predicate].kind,
                    PredicateKind::Constant(_) | PredicateKind::Fixed(_)
                );
                is_data && self.query.table(predicate).live_rows() == 0
            }
            Source::Stored(_) => false,
        })
    }

    /// The edges of the first input, from its first columns. The first columns of the inputs `lone`
    /// are further vertices.
    pub(super) fn edges(&self, is_weighted: bool, lone: &[usize]) -> Result<Edges> {
        let arity = self.arity(0)?;
        let span = self.input_span(0);
        let mut edges = Edges::default();
        if arity < 2 && !self.is_empty_table(0)? {
            let what = format!("{} reads edges, which have two columns or more", self.name());
            return Err(Error::hinted(
                what,
                span,
                "the first is the source, the second the target",
            ));
        }
        if is_weighted && arity > 2 {
            edges.weights = Some(Vec::new());
        }
        let wanted = if edges.weights.is_some() { 3 } else { 2 };
        if arity >= 2 {
            self.each(0, wanted, &mut |columns, _| {
                let [sources, targets, more @ ..] = columns else { return Ok(0) };
                edges.sources.extend_from_slice(sources);
                edges.targets.extend_from_slice(targets);
                if let (Some(weights), [column, ..]) = (&mut edges.weights, more) {
                    for &cell in *column {
                        weights.push(self.weight(cell, span)?);
                    }
                }
                Ok(edges.bytes())
            })?;
        }
        for &number in lone.iter().filter(|&&number| self.has_input(number)) {
            edges.lone.extend(self.cells(number)?);
        }
        Ok(edges)
    }

    fn weight(&self, cell: Cell, span: Span) -> Result<f64> {
        if let Some(int) = cell.as_small_int() {
            return Ok(int as f64);
        }
        let weight = self.query.interner.with(cell, super::options::float);
        weight.filter(|weight| weight.is_finite()).ok_or_else(|| {
            let found = self.query.interner.value(cell);
            let what = format!("{found} is no weight of an edge");
            Error::hinted(what, span, "the third column of the edges holds finite numbers")
        })
    }

    /// The graph of the first input; see [`Call::edges`]. That of a stored relation is cached.
    pub(super) fn projection(&self, is_weighted: bool, lone: &[usize]) -> Result<Projection<'_>> {
        let Some((kept, key)) = self.key(is_weighted)? else {
            return self.project(self.edges(is_weighted, lone)?);
        };
        let interner = self.query.interner;
        let moment = kept.snapshot.changed_at(key.keyspace)?;
        let projection = match kept.cache.get(&key, moment, interner) {
            Some(projection) => projection,
            None => {
                let projection = self.project(self.edges(is_weighted, &[])?)?;
                kept.cache.put(key, moment, projection, interner)
            }
        };
        let mut strangers = Vec::new();
        for &number in lone.iter().filter(|&&number| self.has_input(number)) {
            let cells = self.cells(number)?.into_iter();
            strangers.extend(cells.filter(|&cell| projection.number(cell).is_none()));
        }
        match strangers.is_empty() {
            true => Ok(projection),
            false => self.project(projection.edges_and(strangers)),
        }
    }

    /// Cache key of the first input's graph, if it may be cached.
    fn key(&self, is_weighted: bool) -> Result<Option<(&CachedProjections<'_>, Key)>> {
        let input = self.input(0)?;
        let (Some(kept), Source::Stored(stored), None) = (self.kept, input.source, &input.at)
        else {
            return Ok(None);
        };
        let Readable::Stored(relation) = self.query.relation(stored) else { return Ok(None) };
        let Some(path) = relation.paths.first() else { return Ok(None) };
        let wanted = if is_weighted { 3 } else { 2 };
        let columns: Vec<usize> = input.columns.iter().copied().take(wanted).collect();
        let is_graph = columns.len() >= 2;
        Ok(is_graph
            .then_some((kept, Key { keyspace: path.keyspace, path: path.keyspace, columns })))
    }

    /// Builds the graph of these edges.
    pub(super) fn project(&self, edges: Edges) -> Result<Projection<'_>> {
        let made = Projection::new(edges, self.query.interner, self.limits());
        let projection = made.map_err(|error| self.failed_with(error, &|_| Value::Null))?;
        self.query.check(projection.bytes())?;
        Ok(projection)
    }

    /// The query's limits, which stop algorithms too.
    pub(super) fn limits(&self) -> &QueryLimits<'_> {
        self.query.limits
    }

    /// Checks the limits after each [`ROWS_UNCHECKED`] rows or [`BYTES_UNCHECKED`] bytes.
    pub(super) fn check(&self, answer: &mut RuleRows) -> Result<()> {
        let bytes = self.query.interner.bytes();
        let grown = bytes.saturating_sub(answer.checked_bytes);
        if grown < BYTES_UNCHECKED && !answer.rows().is_multiple_of(ROWS_UNCHECKED) {
            return Ok(());
        }
        answer.checked_bytes = bytes;
        self.query.check(answer.bytes())
    }

    /// Runs an algorithm that emits its results one by one. `run` gets a place for the error that
    /// stops it from within.
    pub(super) fn guarded(
        &self,
        projection: &Projection<'_>,
        run: impl FnOnce(&mut Option<Error>) -> std::result::Result<(), algo::Error>,
    ) -> Result<()> {
        let mut stopped_by = None;
        let outcome = run(&mut stopped_by);
        match (stopped_by, outcome) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(self.failed(error, projection)),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Converts an algorithm's error; vertices become the values they stand for.
    pub(super) fn failed(&self, error: algo::Error, projection: &Projection<'_>) -> Error {
        self.failed_with(error, &|vertex| projection.value(vertex))
    }

    fn failed_with(&self, error: algo::Error, name: &dyn Fn(u32) -> Value) -> Error {
        let span = self.input_span(0);
        match error {
            algo::Error::NegativeWeight { source, target, weight } => {
                let (source, target) = (name(source), name(target));
                let what = format!("the edge from {source} to {target} weighs {weight}");
                let hint = format!("{} takes no weights below zero", self.name());
                Error::hinted(what, span, hint)
            }
            algo::Error::WeightNotFinite { source, target, weight } => {
                let (source, target) = (name(source), name(target));
                let what = format!("the edge from {source} to {target} weighs {weight}");
                Error::hinted(what, span, "weights are finite numbers")
            }
            algo::Error::EstimateNotANumber { vertex } => {
                let what = format!("the cost that remains from {} is not a number", name(vertex));
                Error::value(what, span)
            }
            algo::Error::NotBipartite { source, target } => {
                let (source, target) = (name(source), name(target));
                let what = format!("the edge from {source} to {target} has both ends on one side");
                let hint = format!("{} takes graphs of two sides", self.name());
                Error::hinted(what, span, hint)
            }
            algo::Error::SourceIsSink { vertex } => {
                let what = format!("the flow starts and ends at {}", name(vertex));
                Error::value(what, span)
            }
            algo::Error::UnboundedFlow => {
                Error::hinted("the flow is too large", span, "capacities sum to a finite number")
            }
            algo::Error::NotPositive { value } => {
                let what = format!("{}: {value} is not a number above zero", self.name());
                Error::value(what, self.fixed.span)
            }
            algo::Error::Stopped => match self.query.check(0) {
                Err(error) => error,
                Ok(()) => Error::Stopped(function::Stop::Interrupted),
            },
            other => Error::Limit(other.to_string()),
        }
    }

    /// Converts the error of an algorithm that can only be stopped.
    pub(super) fn stopped(&self, _: algo::Stopped) -> Error {
        self.failed_with(algo::Error::Stopped, &|_| Value::Null)
    }

    /// A path as a list.
    pub(super) fn path(&self, projection: &Projection<'_>, path: &[u32]) -> Cell {
        let value = |&vertex: &u32| projection.value(vertex);
        self.query.interner.take(Value::List(path.iter().map(value).collect()))
    }

    /// The cell of an integer.
    pub(super) fn int(&self, int: impl TryInto<i64>) -> Cell {
        self.query.interner.int(int.try_into().unwrap_or(i64::MAX))
    }

    /// The cell of a float.
    pub(super) fn float(&self, float: f64) -> Cell {
        self.query.interner.float(float)
    }
}
