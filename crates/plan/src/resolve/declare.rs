//! Declares the predicates of a query: their columns, and the source of their rows.

use super::expression::{note_parameters, resolve_expression};
use super::message::{columns_text, count_text, error};
use super::resolver::{Resolver, first_row_len};
use crate::ir::{AggregateUse, FixedUse, Predicate, PredicateKind};
use syntax::{Diagnostic, HeadItem, Ident, Span, closest};

impl Resolver<'_> {
    /// Creates the predicates first, so that rules can refer to them in any order.
    pub(super) fn declare(&mut self, query: &syntax::Query) {
        for rule in &query.rules {
            let (name, declared, span) = match rule {
                syntax::Rule::Inline { name, head, span, .. } => {
                    (name, Some(self.inline_predicate(head)), *span)
                }
                syntax::Rule::Constant { name, head, data, span } => {
                    (name, self.constant_predicate(head, data), *span)
                }
                syntax::Rule::Fixed { name, head, algorithm, options, span, .. } => {
                    (name, Some(self.fixed_predicate(name, head, algorithm, options)), *span)
                }
            };
            if let Some((columns, kind)) = declared {
                self.declare_one(name, columns, kind, span);
            }
        }
        match self.by_name.get("?") {
            Some(&entry) => self.program.entry = entry,
            // The entry rule exists, but has an error that was already reported.
            None if query.rules.iter().any(|rule| rule.name().text == "?") => {}
            None => self.errors.push(Diagnostic {
                message: "the query has no entry rule".to_owned(),
                span: query.span,
                hint: Some("name the rule whose rows are the result `?`: ?[a] := …".to_owned()),
            }),
        }
    }

    /// The columns of a rule with a body, and its aggregates.
    fn inline_predicate(&mut self, head: &[HeadItem]) -> (Vec<String>, PredicateKind) {
        let columns = head.iter().map(column_name).collect();
        let mut aggregates = Vec::new();
        for item in head {
            let found = self.aggregate(item);
            aggregates.push(self.keep(found).flatten());
        }
        (columns, PredicateKind::Inline { aggregates })
    }

    /// The columns of constant rows, and the rows; `None` if they have an error.
    fn constant_predicate(
        &mut self,
        head: &[Ident],
        data: &syntax::Expr,
    ) -> Option<(Vec<String>, PredicateKind)> {
        let named = parameter_names(data);
        let data = resolve_expression(data, &mut self.program.parameters);
        let data = self.keep(data)?;
        let columns: Vec<String> = head.iter().map(|ident| ident.text.clone()).collect();
        let columns = match (columns.is_empty(), named, first_row_len(&data)) {
            (true, Some(named), _) => named,
            (true, None, Some(len)) => (0..len).map(|i| format!("_{i}")).collect(),
            _ => columns,
        };
        Some((columns, PredicateKind::Constant(data)))
    }

    /// The columns of an algorithm's result, and the algorithm without its inputs.
    fn fixed_predicate(
        &mut self,
        name: &Ident,
        head: &[Ident],
        algorithm: &Ident,
        options: &[(Ident, syntax::Expr)],
    ) -> (Vec<String>, PredicateKind) {
        let returned = self.catalog.algorithm(algorithm, options);
        let returned = self.keep(returned).unwrap_or_default();
        let arity = returned.count;
        for (_, value) in options {
            note_parameters(value, &mut self.program.parameters);
        }
        let options = options.iter().map(|(name, value)| (name.text.clone(), value.clone()));
        let fixed = FixedUse {
            name: algorithm.text.clone(),
            span: algorithm.span,
            inputs: Vec::new(),
            options: options.collect(),
            has_head: !head.is_empty(),
            vertices: returned.vertices,
        };
        let columns: Vec<String> = match (head, arity) {
            ([], Some(arity)) => (0..arity).map(|i| format!("_{i}")).collect(),
            _ => head.iter().map(|ident| ident.text.clone()).collect(),
        };
        if let Some(arity) = arity
            && arity != columns.len()
        {
            let message = format!(
                "{} gives {}, rule `{}` names {}",
                algorithm.text,
                columns_text(arity),
                name.text,
                columns.len()
            );
            self.errors.push(error(message, algorithm.span));
        }
        (columns, PredicateKind::Fixed(fixed))
    }

    fn declare_one(&mut self, name: &Ident, columns: Vec<String>, kind: PredicateKind, span: Span) {
        let Some(&place) = self.by_name.get(&name.text) else {
            let declared = self.program.predicates.push(Predicate {
                name: name.text.clone(),
                columns,
                kind,
                span,
                is_magic_set: false,
                is_sorted: false,
            });
            self.by_name.insert(name.text.clone(), declared);
            return;
        };
        let known = &self.program.predicates[place];
        let (message, hint) = match (&known.kind, &kind) {
            (
                PredicateKind::Inline { aggregates },
                PredicateKind::Inline { aggregates: others },
            ) => {
                if known.columns.len() != columns.len() {
                    let message = format!(
                        "rule `{}` has {} here and {} in its first definition",
                        name.text,
                        columns_text(columns.len()),
                        known.columns.len()
                    );
                    (message, "all definitions of a rule have the same columns")
                } else if !aggregates.iter().zip(others).all(|(a, b)| same_aggregate(a, b)) {
                    let message = format!(
                        "rule `{}` has other aggregates in its first definition",
                        name.text
                    );
                    (message, "all definitions of a rule have the same aggregates")
                } else {
                    // The last definition names the columns of the result, as in CozoDB.
                    self.program.predicates[place].columns = columns;
                    return;
                }
            }
            _ => (
                format!("rule `{}` is defined twice", name.text),
                "only inline rules (`:=`) may have several definitions",
            ),
        };
        self.errors.push(Diagnostic { message, span: name.span, hint: Some(hint.to_owned()) });
    }

    fn aggregate(&mut self, item: &HeadItem) -> Result<Option<AggregateUse>, Diagnostic> {
        let Some((name, args)) = &item.aggregate else { return Ok(None) };
        let own = self.catalog.aggregate(&name.text);
        let built_in = function::aggregate(&name.text);
        let Some(aggregate) = built_in.or(own.as_ref().map(|_| &function::OWN)) else {
            let owned = self.catalog.aggregates();
            let names = function::aggregates().iter().map(|known| known.name);
            let hint = closest(&name.text, names.chain(owned.iter().map(String::as_str)));
            return Err(Diagnostic::unknown(
                format!("no aggregate `{}`", name.text),
                name.span,
                hint,
            ));
        };
        let args_max = own.as_ref().map_or(aggregate.args_max, |own| own.args_max);
        if args.len() > args_max {
            let most = match args_max {
                0 => "no arguments".to_owned(),
                most => format!("at most {}", count_text(most, "argument")),
            };
            let message = format!(
                "aggregate `{}` takes {most} besides its variable, it is given {}",
                name.text,
                args.len()
            );
            return Err(error(message, item.span));
        }
        let parameters = &mut self.program.parameters;
        let args = args.iter().map(|arg| resolve_expression(arg, parameters));
        let args = args.collect::<Result<_, _>>()?;
        Ok(Some(AggregateUse { aggregate, own, args, span: item.span }))
    }
}

fn column_name(item: &HeadItem) -> String {
    match &item.aggregate {
        Some((aggregate, _)) => format!("{}({})", aggregate.text, item.variable.text),
        None => item.variable.text.clone(),
    }
}

/// Column names of `[[$x, $y]]`: a single row that consists of parameters is named after them.
fn parameter_names(data: &syntax::Expr) -> Option<Vec<String>> {
    let syntax::Expr::List(rows, _) = data else { return None };
    let [syntax::Expr::List(items, _)] = rows.as_slice() else { return None };
    let name = |item: &syntax::Expr| match item {
        syntax::Expr::Parameter(ident) => Some(ident.text.clone()),
        _ => None,
    };
    items.iter().map(name).collect()
}

fn same_aggregate(a: &Option<AggregateUse>, b: &Option<AggregateUse>) -> bool {
    let name = |one: &Option<AggregateUse>| {
        let own = |one: &AggregateUse| one.own.as_ref().map(|own| own.name.clone());
        one.as_ref().map(|one| (one.aggregate.name, own(one)))
    };
    name(a) == name(b)
}
