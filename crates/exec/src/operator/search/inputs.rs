//! The inputs of a search, row by row.

use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::Compiled;
use crate::expr::batch::Bindings;
use model::Value;
use plan::{SearchInput, SearchUse};
use syntax::Span;

/// The inputs of a search, compiled.
pub(super) struct Inputs<'s> {
    context: &'s ExecContext<'s>,
    inputs: Vec<(SearchInput, Compiled, Span)>,
}

impl<'s> Inputs<'s> {
    /// # Errors
    /// A constant expression that fails.
    pub(super) fn of(wanted: &SearchUse, context: &'s ExecContext<'s>) -> Result<Self> {
        let computer = context.computer();
        let compile = |(input, expr, span): &(SearchInput, plan::Expr, Span)| {
            Ok((*input, computer.compile(expr)?, *span))
        };
        let inputs = wanted.inputs.iter().map(compile).collect::<Result<_>>()?;
        Ok(Self { context, inputs })
    }

    /// The value of an input in a row, and its place; `None` if the search does not have it.
    ///
    /// # Errors
    /// As of expressions.
    pub(super) fn value(
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

    /// The query of a row's search, and its place; `None` if it is null, which finds nothing.
    ///
    /// # Errors
    /// As of expressions.
    pub(super) fn query(&self, input: &Bindings, row: usize) -> Result<Option<(Value, Span)>> {
        let query = self.value(SearchInput::Query, input, row)?;
        Ok(query.filter(|(query, _)| *query != Value::Null))
    }

    /// An input that is a number of rows or words, from 1 on.
    ///
    /// # Errors
    /// It is something else.
    pub(super) fn positive(
        &self,
        of: SearchInput,
        name: &str,
        input: &Bindings,
        row: usize,
    ) -> Result<Option<usize>> {
        match self.value(of, input, row)? {
            None => Ok(None),
            Some((Value::Int(int @ 1..), _)) => {
                Ok(Some(usize::try_from(int).unwrap_or(usize::MAX)))
            }
            Some((other, span)) => {
                let what = format!("`{name}` is an integer from 1 on, not {other}");
                Err(Error::value(what, span))
            }
        }
    }
}
