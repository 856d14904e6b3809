//! Infers the types of result columns, as far as they are known before a query runs.

use crate::catalog::RelationInfo;
use crate::ids::PerStored;
use crate::ir::{Expr, Literal, PredicateKind, Rule, Source, Var};
use crate::query_plan::Plan;
use model::{Type, Value};

/// The type of each column of a rule, from a stored column or an expression. `None` if it is not
/// known.
#[must_use]
pub fn head_types(rule: &Rule, infos: &PerStored<RelationInfo>) -> Vec<Option<Type>> {
    let mut known = vec![Known::Unasked; rule.variables.len()];
    let types = Types { rule, infos };
    let of = |&var: &Var| types.of_var(var, &mut known);
    rule.head.iter().map(of).collect()
}

/// The types of a program's result columns, as far as all rules of the entry agree on them.
#[must_use]
pub fn entry_types(plan: &Plan) -> Vec<Option<Type>> {
    let (program, entry) = (&plan.program, plan.program.entry);
    let mut rules = program.rules.iter().filter(|rule| rule.predicate == entry);
    let of = |rule: &Rule| head_types(rule, &plan.infos);
    let mut types = rules.next().map_or_else(Vec::new, of);
    for rule in rules {
        for (known, other) in types.iter_mut().zip(of(rule)) {
            if *known != other {
                *known = None;
            }
        }
    }
    if let PredicateKind::Inline { aggregates } = &program.predicates[entry].kind {
        for (of, used) in types.iter_mut().zip(aggregates) {
            let Some(used) = used else { continue };
            *of = match (used.aggregate.name, &used.own) {
                ("count" | "count_unique", None) => Some(Type::Int),
                ("sum" | "mean", None) if is(of.as_ref(), &Type::Duration) => Some(Type::Duration),
                ("sum" | "mean", None) if is(of.as_ref(), &Type::Decimal) => Some(Type::Decimal),
                ("sum" | "mean" | "product" | "variance" | "std_dev", None) => Some(Type::Float),
                ("and" | "or", None) => Some(Type::Bool),
                ("min" | "max" | "choice" | "choice_rand", None) => of.take(),
                _ => None,
            };
        }
    }
    types
}

fn is(of: Option<&Type>, one: &Type) -> bool {
    of.is_some_and(|of| of.without_null() == one)
}

/// Context of the inference.
struct Types<'r> {
    rule: &'r Rule,
    infos: &'r PerStored<RelationInfo>,
}

/// Result of the inference for a variable.
#[derive(Clone)]
enum Known {
    Unasked,
    /// Also the state during the inference, so that cyclic definitions end.
    Nothing,
    Type(Type),
}

impl Types<'_> {
    fn of_var(&self, var: Var, known: &mut [Known]) -> Option<Type> {
        match &known[var] {
            Known::Unasked => {}
            Known::Nothing => return None,
            Known::Type(of) => return Some(of.clone()),
        }
        known[var] = Known::Nothing;
        let mut of_literal = |literal: &Literal| match literal {
            Literal::Atom { source: Source::Stored(stored), args, negated: false, .. } => {
                let place = args.iter().position(|arg| *arg == Some(var))?;
                let of = &self.infos[*stored].columns.get(place)?.column_type;
                match of.without_null() {
                    Type::Any => None,
                    _ => Some(of.clone()),
                }
            }
            Literal::Assign { var: assigned, value, .. } if *assigned == var => {
                self.of_expr(value, known)
            }
            Literal::Same(a, b) if *a == var => self.of_var(*b, known),
            Literal::Same(a, b) if *b == var => self.of_var(*a, known),
            _ => None,
        };
        let found = self.rule.body.iter().find_map(&mut of_literal)?;
        known[var] = Known::Type(found.clone());
        Some(found)
    }

    fn of_expr(&self, expr: &Expr, known: &mut [Known]) -> Option<Type> {
        match expr {
            Expr::Const(value) => Some(match value {
                Value::Bool(_) => Type::Bool,
                Value::Int(_) => Type::Int,
                Value::Float(_) => Type::Float,
                Value::Str(_) => Type::String,
                Value::Bytes(_) => Type::Bytes,
                Value::Date(_) => Type::Date,
                Value::Timestamp(_) => Type::Timestamp,
                Value::Duration(_) => Type::Duration,
                Value::Decimal(_) => Type::Decimal,
                _ => return None,
            }),
            Expr::Var(var) => self.of_var(*var, known),
            Expr::Param(_) => None,
            Expr::Call(function, args, _) => {
                // The common type of all arguments, ignoring nulls.
                let mut same = |args: &mut dyn Iterator<Item = &Expr>| {
                    let mut types = args
                        .filter(|arg| !matches!(arg, Expr::Const(Value::Null)))
                        .map(|arg| self.of_expr(arg, known).map(|of| of.without_null().clone()));
                    let first = types.next()??;
                    types.all(|of| of.as_ref() == Some(&first)).then_some(first)
                };
                match function.name {
                    "to_bool" | "eq" | "neq" | "lt" | "le" | "gt" | "ge" => Some(Type::Bool),
                    "length" => Some(Type::Int),
                    // Ids are returned unchanged.
                    "to_int" => {
                        same(&mut args.iter()).filter(|of| *of != Type::Id).map(|_| Type::Int)
                    }
                    "to_float" => Some(Type::Float),
                    "to_string" => Some(Type::String),
                    "to_date" => Some(Type::Date),
                    "to_timestamp" => Some(Type::Timestamp),
                    "to_duration" => Some(Type::Duration),
                    "to_decimal" => Some(Type::Decimal),
                    "if" => same(&mut args.iter().skip(1)),
                    "cond" => same(&mut args.iter().skip(1).step_by(2)),
                    "coalesce" => same(&mut args.iter()),
                    "concat" => same(&mut args.iter()).filter(|of| *of == Type::String),
                    "add" | "sub" | "mul" | "mod" | "minus" => same(&mut args.iter())
                        .filter(|of| matches!(of, Type::Int | Type::Float | Type::Decimal)),
                    "div" => same(&mut args.iter()).filter(|of| *of == Type::Decimal),
                    _ => None,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::ColumnInfo;
    use crate::ids::{Id, PredicateId, StoredId};
    use crate::resolve_over;

    /// The type of an expression over `a: Int`, `s: String?`, and `x` of any type.
    fn type_of_text(text: &str) -> Option<String> {
        let names = ["a", "s", "x"].map(str::to_owned).to_vec();
        let parsed = syntax::parse_expression(text).unwrap();
        let value = resolve_over(&parsed, &names, &mut Vec::new()).unwrap();
        let span = syntax::Span::default();
        let rule = Rule {
            predicate: PredicateId::new(0),
            head: vec![3],
            variables: ["a", "s", "x", "y"].map(str::to_owned).to_vec(),
            body: vec![atom(span), Literal::Assign { var: 3, value, span }],
            span,
        };
        head_types(&rule, &PerStored::filled(info(), 1)).remove(0).map(|of| of.to_string())
    }

    fn atom(span: syntax::Span) -> Literal {
        let args = vec![Some(0), Some(1), Some(2)];
        Literal::Atom {
            source: Source::Stored(StoredId::new(0)),
            args,
            negated: false,
            at: None,
            span,
        }
    }

    fn info() -> RelationInfo {
        let column = |name: &str, column_type| ColumnInfo { name: name.to_owned(), column_type };
        RelationInfo {
            handle: 0,
            columns: vec![
                column("a", Type::Int),
                column("s", Type::Nullable(Box::new(Type::String))),
                column("x", Type::Any),
            ],
            keys: 1,
            rows: 0,
            paths: Vec::new(),
            path_columns: Vec::new(),
            repeat_rates: Vec::new(),
            is_in_memory: false,
            is_historical: false,
            spelled: None,
            search: None,
        }
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
            ("to_int(x)", None),
            ("to_int(s)", Some("Int")),
            ("a == 1", Some("Bool")),
            ("null", None),
        ] {
            assert_eq!(type_of_text(text).as_deref(), of, "{text}");
        }
    }

    /// A lookup compares by identity (`1` is not `1.0`), so every row that it finds has the
    /// column's type.
    #[test]
    fn what_is_looked_for_in_a_column_has_its_type() {
        for value in [Expr::Param(0), Expr::Const(Value::Int(1)), Expr::Const(Value::Float(1.0))] {
            let span = syntax::Span::default();
            let rule = Rule {
                predicate: PredicateId::new(0),
                head: vec![0, 1, 3],
                variables: ["a", "s", "x", "y"].map(str::to_owned).to_vec(),
                body: vec![
                    atom(span),
                    Literal::Same(3, 0),
                    Literal::Assign { var: 3, value: value.clone(), span },
                ],
                span,
            };
            let found = head_types(&rule, &PerStored::filled(info(), 1));
            let found: Vec<_> = found.iter().map(|of| of.as_ref().map(Type::to_string)).collect();
            assert_eq!(found, ["Int", "String?", "Int"].map(|of| Some(of.to_owned())), "{value:?}");
        }
    }

    #[test]
    fn variables_made_of_each_other_are_asked_once() {
        let span = syntax::Span::default();
        let add = function::lookup("add").unwrap();
        // Each variable is twice the previous one: there are 2^64 paths to the first.
        let twice = |var: Var| Literal::Assign {
            var,
            value: Expr::Call(add, vec![Expr::Var(var - 1), Expr::Var(var - 1)], span),
            span,
        };
        let first = Literal::Assign { var: 0, value: Expr::Const(Value::Int(1)), span };
        let rule = Rule {
            predicate: PredicateId::new(0),
            head: vec![64],
            variables: (0..65).map(|i| format!("v{i}")).collect(),
            body: std::iter::once(first).chain((1..65).map(twice)).collect(),
            span,
        };
        assert_eq!(head_types(&rule, &PerStored::default()), [Some(Type::Int)]);
    }
}
