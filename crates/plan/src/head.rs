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
        Expr::Call(function, args, _) => {
            let same = |args: &mut dyn Iterator<Item = &Expr>| {
                let mut known =
                    args.filter(|arg| !matches!(arg, Expr::Const(Value::Null))).map(|arg| {
                        of_expr(arg, rule, infos, steps).map(|of| of.without_null().clone())
                    });
                let first = known.next()??;
                known.all(|of| of.as_ref() == Some(&first)).then_some(first)
            };
            match function.name {
                "to_bool" | "eq" | "neq" | "lt" | "le" | "gt" | "ge" => Some(Type::Bool),
                "to_int" | "length" => Some(Type::Int),
                "to_float" => Some(Type::Float),
                "to_string" => Some(Type::String),
                "if" => same(&mut args.iter().skip(1)),
                "cond" => same(&mut args.iter().skip(1).step_by(2)),
                "coalesce" => same(&mut args.iter()),
                "concat" => same(&mut args.iter()).filter(|of| *of == Type::String),
                "add" | "sub" | "mul" | "mod" | "minus" => {
                    same(&mut args.iter()).filter(|of| matches!(of, Type::Int | Type::Float))
                }
                _ => None,
            }
        }
        Expr::Var(_) | Expr::Param(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::ColumnInfo;
    use crate::resolve_over;

    /// The type of an expression of `a: Int`, `s: String?` and `x`, which may be anything.
    fn type_of_text(text: &str) -> Option<String> {
        let names = ["a", "s", "x"].map(str::to_owned).to_vec();
        let parsed = syntax::parse_expression(text).unwrap();
        let value = resolve_over(&parsed, &names, &mut Vec::new()).unwrap();
        let column = |name: &str, column_type| ColumnInfo { name: name.to_owned(), column_type };
        let info = RelationInfo {
            handle: 0,
            columns: vec![
                column("a", Type::Int),
                column("s", Type::Nullable(Box::new(Type::String))),
                column("x", Type::Any),
            ],
            keys: 1,
            rows: 0,
            paths: Vec::new(),
            repeat_rates: Vec::new(),
            is_historical: false,
            spelled: None,
        };
        let span = syntax::Span::default();
        let rule = Rule {
            predicate: 0,
            head: vec![3],
            variables: ["a", "s", "x", "y"].map(str::to_owned).to_vec(),
            body: vec![
                Literal::Atom {
                    source: Source::Stored(0),
                    args: vec![Some(0), Some(1), Some(2)],
                    negated: false,
                    at: None,
                    span,
                },
                Literal::Assign { var: 3, value, span },
            ],
            span,
        };
        head_types(&rule, &[info]).remove(0).map(|of| of.to_string())
    }

    #[test]
    fn an_expression_has_a_type_where_all_its_values_are_of_one() {
        for (text, of) in [
            ("a", Some("Int")),
            ("s", Some("String?")),
            ("x", None),
            ("a + 1", Some("Int")),
            ("a + 1.5", None),
            ("a + x", None),
            ("a / 2", None),
            ("s ++ 'x'", Some("String")),
            ("if(a > 1, null, 'late')", Some("String")),
            ("if(a > 1, a, 'late')", None),
            ("if(a > 1, a)", Some("Int")),
            ("cond(a > 1, 2, a > 0, a, true, null)", Some("Int")),
            ("s ~ 'none'", Some("String")),
            ("to_float(x)", Some("Float")),
            ("a == 1", Some("Bool")),
            ("null", None),
        ] {
            assert_eq!(type_of_text(text).as_deref(), of, "{text}");
        }
    }
}
