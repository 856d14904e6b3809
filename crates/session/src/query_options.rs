//! The options of a query, and the values of its parameters.

use crate::run_options::Parameters;
use exec::error::{Error, Result};
use exec::expr::one_nan;
use exec::value::cell::{Cell, Interner};
use function::FunctionContext;
use model::Value;
use syntax::Span;

/// Values of a query's options.
pub(crate) struct Options {
    pub(crate) limit: Option<usize>,
    pub(crate) offset: usize,
    pub(crate) timeout_s: Option<f64>,
    pub(crate) sleep_s: Option<f64>,
}

impl Options {
    pub(crate) fn new(
        options: &syntax::Options,
        parameters: &Parameters,
        interner: &Interner,
        ambient: &dyn FunctionContext,
    ) -> Result<Self> {
        let number = |what: &str, expr: &Option<syntax::Expr>| -> Result<Option<f64>> {
            let Some(expr) = expr else { return Ok(None) };
            let value = known(expr, parameters, interner, ambient)?;
            let number = match value {
                Value::Int(int) if int >= 0 => int as f64,
                Value::Float(float) if float >= 0.0 => float,
                other => {
                    let what =
                        format!("`:{what}` expects a number that is not negative, found {other}");
                    return Err(Error::value(what, expr.span()));
                }
            };
            Ok(Some(number))
        };
        let rows = |what: &str, expr: &Option<syntax::Expr>| -> Result<Option<usize>> {
            let Some((number, expr)) = number(what, expr)?.zip(expr.as_ref()) else {
                return Ok(None);
            };
            if number.fract() != 0.0 {
                let what = format!("`:{what}` expects a number of rows, found {number}");
                return Err(Error::value(what, expr.span()));
            }
            Ok(Some(number as usize))
        };
        if let Some(expr) = &options.disable_magic_rewrite
            && let value = known(expr, parameters, interner, ambient)?
            && !matches!(value, Value::Bool(_))
        {
            let what = format!("`:disable_magic_rewrite` expects true or false, found {value}");
            return Err(Error::value(what, expr.span()));
        }
        Ok(Self {
            limit: rows("limit", &options.limit)?,
            offset: rows("offset", &options.offset)?.unwrap_or(0),
            timeout_s: number("timeout", &options.timeout)?,
            sleep_s: number("sleep", &options.sleep)?,
        })
    }
}

/// The value of an expression without variables.
pub(crate) fn known(
    expr: &syntax::Expr,
    parameters: &Parameters,
    interner: &Interner,
    ambient: &dyn FunctionContext,
) -> Result<Value> {
    let mut names = Vec::new();
    let resolved = plan::resolve_expression(expr, &mut names).map_err(|problem| vec![problem])?;
    let place = |name: &str| expr.span_of_parameter(name);
    let given = cells_of(&names, parameters, interner, place)?;
    exec::expr::Computer::new(interner, &given, ambient).known(&resolved)
}

/// The cells of these parameters; `place` returns where one is used.
pub(crate) fn cells_of(
    names: &[String],
    given: &Parameters,
    interner: &Interner,
    place: impl Fn(&str) -> Option<Span>,
) -> Result<Vec<Cell>> {
    let cell = |name: &String| match given.get(name) {
        // NaN is normalized to the one above all numbers, as in expressions: keys of a negative NaN
        // are below them.
        Some(Value::Float(float)) => Ok(interner.cell(&Value::Float(one_nan(*float)))),
        Some(value) => Ok(interner.cell(value)),
        None => {
            let near = syntax::closest(name, given.keys().map(String::as_str));
            let hint = near.map(|near| format!("did you mean `${near}`?"));
            let message = format!("parameter `${name}` has no value");
            let span = place(name).unwrap_or_default();
            Err(Error::Value(syntax::Diagnostic { message, span, hint }))
        }
    };
    names.iter().map(cell).collect()
}
