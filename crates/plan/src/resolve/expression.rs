//! Resolves expressions: looks up functions, checks the number of arguments, and replaces variables
//! and parameters by indexes.

use super::message::{count_text, error};
use crate::ids::{Id, VarId};
use crate::ir::Expr;
use model::Value;
use syntax::{Diagnostic, Ident, Span, closest};

/// Resolves an expression without variables, such as the value of an option.
///
/// # Errors
/// Unknown functions, wrong numbers of arguments, variables.
pub fn resolve_expression(
    expr: &syntax::Expr,
    parameters: &mut Vec<String>,
) -> Result<Expr, Diagnostic> {
    expression(expr, parameters, &mut |ident| {
        Err(error(format!("there is nothing to bind `{}` here", ident.text), ident.span))
    })
}

/// Resolves an expression over named columns, such as a condition of an algorithm. Each
/// column is a variable with the same number.
///
/// # Errors
/// Unknown functions and columns, wrong numbers of arguments.
pub fn resolve_over(
    expr: &syntax::Expr,
    columns: &[String],
    parameters: &mut Vec<String>,
) -> Result<Expr, Diagnostic> {
    expression(expr, parameters, &mut |ident| {
        let place = columns.iter().position(|column| *column == ident.text);
        place.map(VarId::new).ok_or_else(|| {
            let hint = closest(&ident.text, columns.iter().map(String::as_str));
            Diagnostic::unknown(format!("no column `{}`", ident.text), ident.span, hint)
        })
    })
}

pub(super) fn expression(
    expr: &syntax::Expr,
    parameters: &mut Vec<String>,
    var: &mut dyn FnMut(&Ident) -> Result<VarId, Diagnostic>,
) -> Result<Expr, Diagnostic> {
    Ok(match expr {
        syntax::Expr::Literal(value, _) => Expr::Const(value.clone()),
        syntax::Expr::Variable(ident) if ident.text.starts_with('_') => {
            return Err(Diagnostic {
                message: format!("`{}` has no value: it is a wildcard", ident.text),
                span: ident.span,
                hint: Some("names that begin with `_` never bind".to_owned()),
            });
        }
        syntax::Expr::Variable(ident) => Expr::Var(var(ident)?),
        syntax::Expr::Parameter(ident) => {
            let known = parameters.iter().position(|known| *known == ident.text);
            Expr::Param(known.unwrap_or_else(|| {
                parameters.push(ident.text.clone());
                parameters.len() - 1
            }))
        }
        syntax::Expr::List(items, span) => {
            let items = items.iter().map(|item| expression(item, parameters, var));
            call("list", items.collect::<Result<_, _>>()?, *span)
        }
        syntax::Expr::Object(fields, span) => {
            let mut args = Vec::new();
            for (name, value) in fields {
                args.push(expression(name, parameters, var)?);
                args.push(expression(value, parameters, var)?);
            }
            call("json_object", args, *span)
        }
        syntax::Expr::Call { name, args, span } => {
            let function = function_of(name, args.len(), *span)?;
            let args = args.iter().map(|arg| expression(arg, parameters, var));
            Expr::Call(function, args.collect::<Result<_, _>>()?, *span)
        }
    })
}

/// The built-in function of a call with `given` arguments.
///
/// # Errors
/// There is none of this name, or it takes another number of arguments.
fn function_of(
    name: &Ident,
    given: usize,
    span: Span,
) -> Result<&'static function::Function, Diagnostic> {
    let Some(function) = function::lookup(&name.text) else {
        let names = function::functions().iter().map(|function| function.name);
        let hint = closest(&name.text, names);
        let mut problem =
            Diagnostic::unknown(format!("no function `{}`", name.text), name.span, hint);
        if function::aggregate(&name.text).is_some() {
            problem.hint = Some("it is an aggregate: those stand in a rule's head".into());
        }
        return Err(problem);
    };
    let few = given < function.args_min;
    if few || function.args_max.is_some_and(|most| given > most) {
        let wanted = match function.args_max {
            Some(most) if most == function.args_min => count_text(most, "argument"),
            Some(most) => format!("{} to {most} arguments", function.args_min),
            None => format!("at least {}", count_text(function.args_min, "argument")),
        };
        let message = format!("function `{}` takes {wanted}, it is given {given}", name.text);
        return Err(error(message, span));
    }
    Ok(function)
}

/// Records the parameters of an expression that is resolved later.
pub(super) fn note_parameters(expr: &syntax::Expr, parameters: &mut Vec<String>) {
    match expr {
        syntax::Expr::Parameter(ident) if !parameters.contains(&ident.text) => {
            parameters.push(ident.text.clone());
        }
        syntax::Expr::Literal(..) | syntax::Expr::Variable(_) | syntax::Expr::Parameter(_) => {}
        syntax::Expr::List(items, _) | syntax::Expr::Call { args: items, .. } => {
            items.iter().for_each(|item| note_parameters(item, parameters));
        }
        syntax::Expr::Object(fields, _) => {
            for (name, value) in fields {
                note_parameters(name, parameters);
                note_parameters(value, parameters);
            }
        }
    }
}

/// A call of a built-in function that must exist.
pub(crate) fn call(name: &str, args: Vec<Expr>, span: Span) -> Expr {
    match function::lookup(name) {
        Some(function) => Expr::Call(function, args, span),
        None => Expr::Const(Value::Null),
    }
}
