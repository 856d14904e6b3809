//! Computes the values of rows that search indexes store.

use crate::search_storage::expression;
use crate::vector_index::unreadable;
use base::{Batch, KeyspaceId};
use exec::error::{Error, Result};
use exec::expr::batch::Rows;
use exec::expr::{Compiled, Computer};
use exec::storage::access_path::StoredPath;
use exec::value::cell::{Cell, Interner};
use function::FunctionContext;
use model::{Value, encode_tuple};
use plan::{Id, VarId};
use relation::{Schema, SearchDef};
use store::{Kinds, TableWrites};
use syntax::Span;

/// Expressions of a search index over the relation's columns.
pub(crate) struct Extractor {
    /// Name of the index.
    index: String,
    /// The indexed value of a row.
    extractor: plan::Expr,
    /// Whether a row is indexed.
    filter: Option<plan::Expr>,
    /// Number of key columns.
    keys: usize,
}

/// A row before and after a change.
pub(crate) type RowChange<'r> = (Option<&'r [Value]>, Option<&'r [Value]>);

/// Rows of a new index that are collected to be loaded.
pub(crate) trait NewRows {
    /// Adds the rows of the index for a row of the relation.
    ///
    /// # Errors
    /// As [`Extract::value`].
    fn add(&mut self, extract: &Extract<'_>, row: &[Value]) -> Result<()>;

    /// Bytes that are held.
    fn bytes(&self) -> u64;

    /// Takes the rows; those that can only be told at the end if `is_last`.
    fn take(&mut self, is_last: bool) -> Vec<(KeyspaceId, Batch)>;
}

impl Extractor {
    /// The extractor of an index of a relation with this schema.
    ///
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn of(def: &SearchDef, schema: &Schema) -> store::Result<Self> {
        let extractor = expression(def, "extractor", schema)?;
        Ok(Self {
            index: def.name.clone(),
            extractor: extractor.ok_or_else(|| unreadable(def, "no extractor"))?,
            filter: expression(def, "extract_filter", schema)?,
            keys: schema.keys.len(),
        })
    }

    /// Ready to read the indexed values of rows. The interner holds values only while it does.
    ///
    /// # Errors
    /// A constant expression that fails.
    pub(crate) fn extract<'i>(
        &'i self,
        interner: &'i Interner,
        ambient: &'i dyn FunctionContext,
        span: Span,
    ) -> Result<Extract<'i>> {
        let computer = Computer::new(interner, &[], ambient);
        let extractor =
            computer.compile(&self.extractor).map_err(|error| self.failed(error, span))?;
        let filter = self.filter.as_ref().map(|filter| computer.compile(filter));
        let filter = filter.transpose().map_err(|error| self.failed(error, span))?;
        Ok(Extract { of: self, computer, interner, extractor, filter, span })
    }

    fn failed(&self, error: Error, span: Span) -> Error {
        failed(&self.index, error, span)
    }
}

/// An error in the settings of an index, reported where rows are changed.
pub(crate) fn failed(index: &str, error: Error, span: Span) -> Error {
    match error {
        Error::Value(problem) => {
            let what = format!("index `{index}`: {}", problem.message);
            Error::Value(syntax::Diagnostic { message: what, span, ..problem })
        }
        other => other,
    }
}

/// Reads the indexed values of rows.
pub(crate) struct Extract<'i> {
    of: &'i Extractor,
    computer: Computer<'i>,
    interner: &'i Interner,
    extractor: Compiled,
    filter: Option<Compiled>,
    span: Span,
}

/// The cells of one row, for expressions over names of columns.
pub(crate) struct RowCells(pub Vec<Cell>);

impl Rows for RowCells {
    fn cell(&self, var: VarId, _: usize) -> Cell {
        self.0[var.place()]
    }
}

impl Extract<'_> {
    /// The indexed value of a row; `None` if the row is not indexed.
    ///
    /// # Errors
    /// It cannot be computed.
    pub(crate) fn value(&self, row: &[Value]) -> Result<Option<Value>> {
        let value = match (&self.of.extractor, &self.filter) {
            (plan::Expr::Var(column), None) => row[column.place()].clone(),
            _ => match self.computed(row)? {
                Some(value) => value,
                None => return Ok(None),
            },
        };
        Ok(Some(value).filter(|value| *value != Value::Null))
    }

    fn computed(&self, row: &[Value]) -> Result<Option<Value>> {
        let cells = RowCells(row.iter().map(|value| self.interner.cell(value)).collect());
        let failed = |error| self.of.failed(error, self.span);
        if let Some(filter) = &self.filter {
            let is_true = self.computer.compute(filter, &cells, 0);
            let is_true =
                is_true.and_then(|cell| self.computer.truth(cell, "`extract_filter`", self.span));
            if !is_true.map_err(failed)? {
                return Ok(None);
            }
        }
        let value = self.computer.compute(&self.extractor, &cells, 0).map_err(failed)?;
        Ok(Some(self.interner.value(value)))
    }

    /// The encoded key of a row.
    pub(crate) fn key(&self, row: &[Value]) -> Vec<u8> {
        let mut key = Vec::new();
        encode_tuple(&row[..self.of.keys], &mut key);
        key
    }

    /// The error of a value that cannot be indexed.
    pub(crate) fn refused(&self, value: &Value, expected: &str, hint: &str) -> Error {
        let what = format!("index `{}` expects {expected}, not {}", self.of.index, value.kind());
        Error::hinted(what, self.span, hint)
    }

    /// Calls `change` with the entry of each row before and after its change, where these differ.
    ///
    /// # Errors
    /// As `make`; cancellation.
    pub(crate) fn each_change<T: PartialEq>(
        &self,
        changes: &[RowChange<'_>],
        make: &dyn Fn(&[Value]) -> Result<Option<T>>,
        change: &mut dyn FnMut(Option<&T>, Option<&T>),
    ) -> Result<()> {
        for &(old, new) in changes {
            let asked = self.computer.ambient.check_cancelled();
            asked.map_err(|failure| Error::failed(failure, self.span))?;
            let make = |row: Option<&[Value]>| row.map(make).transpose();
            let (old, new) = (make(old)?.flatten(), make(new)?.flatten());
            if old != new {
                change(old.as_ref(), new.as_ref());
            }
        }
        Ok(())
    }
}

/// Writes to one part of an index.
pub(crate) fn part_writes(path: &StoredPath, kinds: Kinds, rows: Batch) -> TableWrites {
    TableWrites { keyspace: path.keyspace, kinds, rows, delete_ranges: Vec::new() }
}
