//! Reads the options of an algorithm as values of the expected type, with an error for others.

use super::call::Call;
use crate::error::{Error, Result};
use crate::expr::Compiled;
use model::Value;
use syntax::Span;

impl Call<'_, '_> {
    /// The expression of an option.
    pub(super) fn option(&self, name: &str) -> Option<&syntax::Expr> {
        self.fixed.options.iter().find(|(known, _)| known == name).map(|(_, expr)| expr)
    }

    /// The expression of a required option.
    pub(super) fn required(&self, name: &str, hint: &str) -> Result<&syntax::Expr> {
        self.option(name).ok_or_else(|| {
            let what = format!("{} needs the option `{name}`", self.name());
            Error::hinted(what, self.fixed.span, hint)
        })
    }

    /// The value of an option, or of another expression without variables.
    pub(crate) fn known(&self, expr: &syntax::Expr) -> Result<Value> {
        let mut names = self.query.plan.program.parameters.clone();
        let resolved =
            plan::resolve_expression(expr, &mut names).map_err(|problem| vec![problem])?;
        self.query.computer().known(&resolved)
    }

    /// Compiles an expression over columns with these names.
    pub(super) fn over(
        &self,
        expr: &syntax::Expr,
        names: &[String],
    ) -> Result<(plan::Expr, Compiled)> {
        let mut parameters = self.query.plan.program.parameters.clone();
        let resolved =
            plan::resolve_over(expr, names, &mut parameters).map_err(|problem| vec![problem])?;
        let compiled = self.query.computer().compile(&resolved)?;
        Ok((resolved, compiled))
    }

    /// The error for an option with a value of another type.
    pub(super) fn wrong(&self, name: &str, wanted: &str, found: &Value, span: Span) -> Error {
        let kind = match found {
            Value::List(_) => "a list".to_owned(),
            other => other.to_string(),
        };
        Error::value(format!("{}: `{name}` is {wanted}, found {kind}", self.name()), span)
    }

    fn read<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(expr) = self.option(name) else { return Ok(None) };
        let value = self.known(expr)?;
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(self.wrong(name, wanted, &value, expr.span())),
        }
    }

    /// An option that has one value for all of `count` inputs, or a list with one for each.
    pub(super) fn of_each<T: Copy>(
        &self,
        name: &str,
        wanted: &str,
        count: usize,
        otherwise: T,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>> {
        let wanted = format!("{wanted}, or a list of one for each of the {count} relations");
        let read_all = |value: &Value| match value {
            Value::List(items) if items.len() == count => items.iter().map(&read).collect(),
            Value::List(_) => None,
            one => read(one).map(|one| vec![one; count]),
        };
        Ok(self.read(name, &wanted, read_all)?.unwrap_or_else(|| vec![otherwise; count]))
    }

    /// A truth value, `false` by default.
    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        self.flag_or(name, false)
    }

    /// A truth value.
    pub(super) fn flag_or(&self, name: &str, otherwise: bool) -> Result<bool> {
        let found = self.read(name, "true or false", |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })?;
        Ok(found.unwrap_or(otherwise))
    }

    /// A non-negative integer.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>> {
        self.read(name, "a whole number that is not negative", whole)
    }

    /// A positive integer.
    pub(super) fn positive(&self, name: &str) -> Result<Option<u64>> {
        self.read(name, "a whole number above zero", |value| whole(value).filter(|&int| int > 0))
    }

    /// A number from 0 to 1.
    pub(super) fn fraction(&self, name: &str, otherwise: f64) -> Result<f64> {
        let read = |value: &Value| float(value).filter(|float| (0.0..=1.0).contains(float));
        Ok(self.read(name, "a number from 0 to 1", read)?.unwrap_or(otherwise))
    }

    /// A non-negative number.
    pub(super) fn size(&self, name: &str, otherwise: f64) -> Result<f64> {
        let read = |value: &Value| float(value).filter(|&float| float >= 0.0);
        Ok(self.read(name, "a number that is not negative", read)?.unwrap_or(otherwise))
    }

    /// A string.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        self.read(name, "text", |value| match value {
            Value::Str(text) => Some(text.clone()),
            _ => None,
        })
    }
}

/// A number of rounds or steps in the type of the algorithms.
pub(super) fn rounds(number: Option<u64>, otherwise: u32) -> u32 {
    number.map_or(otherwise, |number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// The value of a number as a float.
pub(super) fn float(value: &Value) -> Option<f64> {
    match *value {
        Value::Int(int) => Some(int as f64),
        Value::Id(id) => Some(id as f64),
        Value::Float(float) => Some(float),
        Value::Decimal(decimal) => Some(decimal.to_float()),
        _ => None,
    }
}

fn whole(value: &Value) -> Option<u64> {
    match *value {
        Value::Int(int) => u64::try_from(int).ok(),
        Value::Id(id) => Some(id),
        Value::Float(float) if float >= 0.0 && float.fract() == 0.0 && float < 1e15 => {
            Some(float as u64)
        }
        _ => None,
    }
}
