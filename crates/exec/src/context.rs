//! The execution context: what a running query reads, its snapshot, interner, parameters and
//! limits, and the tables filled so far.
//!
//! Operators, sinks and fixed rules take `&ExecContext` and do not change it. The fixpoint owns the
//! only mutable one and changes it between two pipelines; a worker thread gets a fork.
//!
//! # Invariants
//! 1. While a pipeline runs, the tables and relations of its context do not change. The interner
//!    and the tries do; both have locks.
//! 2. A fork sees the tables as they were when it was made.

use crate::batch_size::CHUNK_ROWS;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::expr::{Compiled, Computer};
use crate::limits::QueryLimits;
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::{Readable, Relation};
use crate::storage::vector_cache::VectorCache;
use crate::table::derived::{Marks, Tables};
use crate::table::{ROWS_MAX, Table};
use crate::trie::cache::{CachedTries, QueryTries};
use crate::value::cell::{Cell, Interner};
use crate::value::list_items::not_a_list;
use crate::value::validity::newest;
use base::STEPS;
use function::FunctionContext;
use model::Value;
use plan::{PerPredicate, PerStored, Plan, PredicateId, Source, StoredId};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use store::Read;
use syntax::Span;

/// The execution context of a query.
pub struct ExecContext<'a> {
    /// The snapshot or transaction to read.
    pub read: &'a dyn Read,
    /// Interned values, for cells that do not hold their value.
    pub interner: &'a Interner,
    /// The plan that is executed.
    pub plan: &'a Plan,
    /// Values of the query's parameters, by number.
    pub parameters: Vec<Cell>,
    /// Timeout, memory limit and cancellation.
    pub limits: &'a QueryLimits<'a>,
    /// Clock and randomness for functions.
    pub ambient: &'a dyn FunctionContext,
    /// Evaluates fixed rules.
    pub algorithms: &'a dyn Algorithms,
    /// The plan's stored relations, in the plan's order.
    pub relations: PerStored<Readable>,
    /// Tables of derived relations, by predicate.
    pub tables: Tables,
    /// For each derived relation, which rows the last round added.
    pub marks: PerPredicate<Marks>,
    /// Tries of this query, shared by all of its threads.
    pub tries: Arc<QueryTries>,
    /// The trie cache of the engine, if this query may use it.
    pub cached_tries: Option<CachedTries<'a>>,
    /// The cached graphs of vector indexes, likewise.
    pub cached_vectors: Option<&'a VectorCache>,
    /// Bytes that the sinks of other threads hold.
    pub beside_bytes: u64,
    /// The most bytes that were held since this was reset, for an analysed query.
    pub held_bytes_max: Option<Arc<AtomicU64>>,
}

/// Receives columns and their number of rows; returns the bytes that it holds.
pub(crate) type Visit<'v> = &'v mut dyn FnMut(&[&[Cell]], usize) -> Result<u64>;

/// Evaluates the fixed rules that a plan applies with `<~`.
pub trait Algorithms: Sync {
    /// Evaluates a fixed rule; returns its rows as columns.
    ///
    /// # Errors
    /// An unknown name, wrong inputs or options, and what stops the query.
    fn run(&self, context: &ExecContext<'_>, fixed: &plan::FixedUse) -> Result<Vec<Vec<Cell>>>;
}

impl<'a> ExecContext<'a> {
    /// The context of a query that has not started. `relations` are the plan's stored relations, in
    /// order.
    ///
    /// # Errors
    /// The errors that stop the query: those of the store, a limit, cancellation.
    #[expect(clippy::too_many_arguments, reason = "the inputs of a query")]
    pub fn new(
        plan: &'a Plan,
        read: &'a dyn Read,
        interner: &'a Interner,
        relations: PerStored<Relation>,
        parameters: Vec<Cell>,
        limits: &'a QueryLimits<'a>,
        ambient: &'a dyn FunctionContext,
        algorithms: &'a dyn Algorithms,
    ) -> Result<Self> {
        let tables = Tables::new(plan.program.predicates.len());
        let marks = PerPredicate::filled(Marks::default(), plan.program.predicates.len());
        let readable = |relation| Readable::of(relation, interner, limits);
        let relations = relations.into_iter().map(readable).collect::<Result<_>>()?;
        Ok(Self {
            read,
            interner,
            plan,
            parameters,
            limits,
            ambient,
            algorithms,
            relations,
            tables,
            marks,
            tries: Arc::default(),
            cached_tries: None,
            cached_vectors: None,
            beside_bytes: 0,
            held_bytes_max: None,
        })
    }

    /// A copy for a worker thread, which runs a part of a pipeline.
    pub(crate) fn fork(&self) -> Self {
        Self {
            read: self.read,
            interner: self.interner,
            plan: self.plan,
            parameters: self.parameters.clone(),
            limits: self.limits,
            ambient: self.ambient,
            algorithms: self.algorithms,
            relations: self.relations.clone(),
            tables: self.tables.clone(),
            marks: self.marks.clone(),
            tries: Arc::clone(&self.tries),
            cached_tries: self.cached_tries,
            cached_vectors: self.cached_vectors,
            beside_bytes: 0,
            held_bytes_max: self.held_bytes_max.clone(),
        }
    }

    /// Evaluates expressions in this context.
    pub(crate) fn computer(&self) -> Computer<'_> {
        Computer::new(self.interner, &self.parameters, self.ambient)
    }

    /// Checks the limits, with `more_bytes` held besides the context's own.
    ///
    /// # Errors
    /// Once the query has to stop.
    pub(crate) fn check(&self, more_bytes: u64) -> Result<()> {
        let besides = self.tries.bytes() + self.interner.bytes() + self.beside_bytes;
        let held = self.tables.bytes() + besides + more_bytes;
        let interned = self.interner.bytes();
        self.limits.note_held(held.saturating_sub(interned), interned);
        if let Some(held_max) = &self.held_bytes_max {
            held_max.fetch_max(held, Relaxed);
        }
        self.limits.check(held)
    }

    /// The items of an interned list.
    ///
    /// # Errors
    /// The value is not a list; what stops the query.
    pub(crate) fn items_of(&self, list: Cell, span: Span) -> Result<Vec<Cell>> {
        let kind = |value: &Value| value.kind();
        let len = self.interner.with(list, |list| match list {
            Value::List(items) => Ok(items.len()),
            other => Err(not_a_list(kind(other), span)),
        })?;
        self.check(8 * len as u64)?;
        let mut cells = Vec::with_capacity(len);
        for start in (0..len).step_by(STEPS) {
            let some = self.interner.with(list, |list| match list {
                Value::List(items) => items[start..len.min(start + STEPS)].to_vec(),
                _ => Vec::new(),
            });
            cells.extend(some.into_iter().map(|item| self.interner.take(item)));
            self.check(8 * len as u64)?;
        }
        Ok(cells)
    }

    /// The items of a list that is not interned.
    ///
    /// # Errors
    /// The value is not a list; what stops the query.
    pub(crate) fn items(&self, list: Value, span: Span) -> Result<Vec<Cell>> {
        let Value::List(items) = list else { return Err(not_a_list(list.kind(), span)) };
        let bytes = (size_of::<Cell>() + size_of::<Value>()) as u64 * items.len() as u64;
        self.check(bytes)?;
        let mut cells = Vec::with_capacity(items.len());
        for item in items {
            cells.push(self.interner.take(item));
            if cells.len().is_multiple_of(STEPS) {
                self.check(bytes)?;
            }
        }
        Ok(cells)
    }

    /// A stored relation, by its index in the plan.
    pub(crate) fn relation(&self, stored: StoredId) -> Readable {
        self.relations[stored].clone()
    }

    /// The table of a derived relation.
    pub(crate) fn table(&self, predicate: PredicateId) -> Arc<Table> {
        Arc::clone(&self.tables[predicate])
    }

    /// The row ranges of a derived relation's versions: total, delta and the rows before.
    pub(crate) fn marks(&self, predicate: PredicateId) -> Marks {
        self.marks[predicate]
    }

    /// Passes the wanted columns of all rows of a relation to `visit`, which returns the bytes that
    /// it holds.
    ///
    /// # Errors
    /// Those of the store and of `visit`, and what stops the query.
    pub(crate) fn each_row(
        &self,
        source: Source,
        wanted: &[usize],
        at: Option<i64>,
        visit: Visit<'_>,
    ) -> Result<()> {
        match source {
            Source::Derived(predicate) => {
                self.each_table_row(&self.tables[predicate], wanted, visit)
            }
            Source::Stored(stored) => match &self.relations[stored] {
                Readable::Memory(table) => self.each_table_row(table, wanted, visit),
                Readable::Stored(relation) => {
                    self.each_stored_row(&relation.paths[0], wanted, at, visit)
                }
            },
        }
    }

    fn each_table_row(&self, table: &Table, wanted: &[usize], visit: Visit<'_>) -> Result<()> {
        let live: Vec<usize> = (0..table.rows()).filter(|&row| table.is_live(row)).collect();
        for rows in live.chunks(CHUNK_ROWS) {
            let columns: Vec<Vec<Cell>> = wanted
                .iter()
                .map(|&column| rows.iter().map(|&row| table.column(column)[row]).collect())
                .collect();
            let columns: Vec<&[Cell]> = columns.iter().map(Vec::as_slice).collect();
            let held = visit(&columns, rows.len())?;
            self.check(held)?;
        }
        Ok(())
    }

    fn each_stored_row(
        &self,
        path: &StoredPath,
        wanted: &[usize],
        at: Option<i64>,
        visit: Visit<'_>,
    ) -> Result<()> {
        let mut all = wanted.to_vec();
        if at.is_some() {
            all.extend(0..path.schema.keys.len());
        }
        let mut last: Option<Vec<Cell>> = None;
        let (read, interner) = (self.read, self.interner);
        path.scan(read, path.all(), &all, CHUNK_ROWS, interner, &mut |mut found| {
            if let Some(at) = at {
                let keys = &found.columns[wanted.len()..];
                let kept: Vec<usize> = (0..found.rows)
                    .filter(|&row| newest(keys, row, at, &mut last, interner))
                    .collect();
                for column in &mut found.columns {
                    *column = kept.iter().map(|&row| column[row]).collect();
                }
                found.rows = kept.len();
            }
            let columns: Vec<&[Cell]> =
                found.columns.iter().take(wanted.len()).map(Vec::as_slice).collect();
            let held = visit(&columns, found.rows)?;
            self.check(held)?;
            Ok(true)
        })
    }

    /// Evaluates an expression after `@` for each row, in microseconds.
    ///
    /// # Errors
    /// A value that is not a time.
    pub(crate) fn times(&self, expr: &Compiled, input: &Bindings) -> Result<Vec<i64>> {
        let computer = self.computer();
        let time = |row: usize| {
            let cell = computer.compute(expr, input, row)?;
            self.interner.with(cell, |value| crate::value::validity::time_of(value, self.ambient))
        };
        (0..input.rows).map(time).collect()
    }

    /// Checks the number of rows of a table, and the limits.
    ///
    /// # Errors
    /// The table has too many rows to number, or the query has to stop.
    pub(crate) fn check_rows(&self, table: &Table) -> Result<()> {
        if table.rows() >= ROWS_MAX / 2 {
            return Err(Error::Limit("a rule has more than 2 billion rows".to_owned()));
        }
        self.check(table.bytes())
    }
}
