//! The types of a rule's columns, as far as they are known before it runs.

use crate::catalog::RelationInfo;
use crate::ir::{Expr, Literal, Rule, Source, Var};
use model::{Type, Value};

/// The type of each column of a rule: that of a stored column it is taken of, or that which a conversion makes; `None` where it may be any.
#[must_use]
pub fn head_types(rule: &Rule, infos: &[RelationInfo]) -> Vec<Option<Type>> {
    rule.head.iter().map(|&var| type_of(var, rule, infos, rule.variables.len())).collect()
}

/// The type of a variable. `steps` more variables that are the same are looked at.
fn type_of(var: Var, rule: &Rule, infos: &[RelationInfo], steps: usize) -> Option<Type> {
    let of_literal = |literal: &Literal| match literal {
        Literal::Atom { source: Source::Stored(stored), args, negated: false, .. } => {
            let place = args.iter().position(|arg| *arg == Some(var))?;
            let column = infos[*stored].columns.get(place)?;
            (*column.column_type.without_null() != Type::Any).then(|| column.column_type.clone())
        }
        Literal::Assign { var: assigned, value, .. } if *assigned == var => {
            of_expr(value, rule, infos, steps)
        }
        Literal::Same(a, b) if steps > 0 && (*a == var || *b == var) => {
            type_of(if *a == var { *b } else { *a }, rule, infos, steps - 1)
        }
        _ => None,
    };
    rule.body.iter().find_map(of_literal)
}

fn of_expr(expr: &Expr, rule: &Rule, infos: &[RelationInfo], steps: usize) -> Option<Type> {
    match expr {
        Expr::Const(value) => Some(match value {
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Float(_) => Type::Float,
            Value::Str(_) => Type::String,
            Value::Bytes(_) => Type::Bytes,
            _ => return None,
        }),
        Expr::Var(var) if steps > 0 => type_of(*var, rule, infos, steps - 1),
        Expr::Call(function, ..) => Some(match function.name {
            "to_bool" | "eq" | "neq" | "lt" | "le" | "gt" | "ge" => Type::Bool,
            "to_int" | "length" => Type::Int,
            "to_float" => Type::Float,
            "to_string" => Type::String,
            _ => return None,
        }),
        Expr::Var(_) | Expr::Param(_) => None,
    }
}
