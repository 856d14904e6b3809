//! Finds parameters (`$name`) in queries, and replaces them by values in expressions. `session`
//! needs it for positions in error messages, and binds default expressions of new relations.

use crate::ast::{Args, Atom, Expr, Formula, Ident, Query, Rule, Span, Spec};
use model::Value;

/// Says of a parameter whether it is one of those to find.
type Is<'f> = &'f dyn Fn(&Ident) -> bool;

impl Query {
    /// Position of the first use of a parameter in the query.
    #[must_use]
    pub fn span_of_parameter(&self, name: &str) -> Option<Span> {
        self.span_of(&|ident| ident.text == name)
    }

    /// Position of the first use of any parameter in the query.
    #[must_use]
    pub fn span_of_any_parameter(&self) -> Option<Span> {
        self.span_of(&|_| true)
    }

    fn span_of(&self, is: Is<'_>) -> Option<Span> {
        let options = &self.options;
        let columns = options.mutation.iter().filter_map(|mutation| mutation.spec.as_ref());
        let columns = columns.flat_map(Spec::columns);
        let asked = [
            &options.limit,
            &options.offset,
            &options.timeout,
            &options.sleep,
            &options.disable_magic_rewrite,
        ];
        let in_rules = self.rules.iter().find_map(|rule| in_rule(rule, is));
        in_rules
            .or_else(|| in_all(asked.into_iter().flatten(), is))
            .or_else(|| in_all(columns.filter_map(|column| column.default.as_ref()), is))
    }
}

impl Expr {
    /// Position of the first use of a parameter in the expression.
    #[must_use]
    pub fn span_of_parameter(&self, name: &str) -> Option<Span> {
        self.span_of(&|ident| ident.text == name)
    }

    fn span_of(&self, is: Is<'_>) -> Option<Span> {
        match self {
            Self::Literal(..) | Self::Variable(_) => None,
            Self::Parameter(ident) => is(ident).then_some(ident.span),
            Self::List(items, _) => in_all(items, is),
            Self::Object(fields, _) => in_all(fields.iter().flat_map(|(k, v)| [k, v]), is),
            Self::Call { args, .. } => in_all(args, is),
        }
    }

    /// Whether the expression contains parameters.
    #[must_use]
    pub fn has_parameters(&self) -> bool {
        self.span_of(&|_| true).is_some()
    }

    /// Replaces each parameter by the literal that `value` returns for it.
    ///
    /// # Errors
    /// Those of `value`.
    pub fn bind_parameters<E>(
        &mut self,
        value: &mut impl FnMut(&Ident) -> Result<Value, E>,
    ) -> Result<(), E> {
        match self {
            Self::Literal(..) | Self::Variable(_) => Ok(()),
            Self::Parameter(ident) => {
                *self = Self::Literal(value(ident)?, ident.span);
                Ok(())
            }
            Self::List(items, _) => items.iter_mut().try_for_each(|one| one.bind_parameters(value)),
            Self::Object(fields, _) => fields.iter_mut().try_for_each(|(name, field)| {
                name.bind_parameters(value)?;
                field.bind_parameters(value)
            }),
            Self::Call { args, .. } => {
                args.iter_mut().try_for_each(|one| one.bind_parameters(value))
            }
        }
    }
}

fn in_all<'e>(all: impl IntoIterator<Item = &'e Expr>, is: Is<'_>) -> Option<Span> {
    all.into_iter().find_map(|expr| expr.span_of(is))
}

fn in_rule(rule: &Rule, is: Is<'_>) -> Option<Span> {
    match rule {
        Rule::Inline { head, body, .. } => {
            let args = head.iter().filter_map(|item| item.aggregate.as_ref());
            in_all(args.flat_map(|(_, args)| args), is).or_else(|| in_formula(body, is))
        }
        Rule::Constant { data, .. } => data.span_of(is),
        Rule::Fixed { inputs, options, .. } => inputs
            .iter()
            .find_map(|input| in_atom(input, is))
            .or_else(|| in_all(options.iter().map(|(_, expr)| expr), is)),
    }
}

fn in_formula(formula: &Formula, is: Is<'_>) -> Option<Span> {
    match formula {
        Formula::And(parts) | Formula::Or(parts) => {
            parts.iter().find_map(|part| in_formula(part, is))
        }
        Formula::Not(inner, _) => in_formula(inner, is),
        Formula::Atom(atom) => in_atom(atom, is),
    }
}

fn in_atom(atom: &Atom, is: Is<'_>) -> Option<Span> {
    let values = |named: &[(_, Expr)]| in_all(named.iter().map(|(_, expr)| expr), is);
    match atom {
        Atom::Rule { args, .. } => in_all(args, is),
        Atom::Stored { args, at, .. } => match args {
            Args::Positional(args) => in_all(args, is),
            Args::Named(args) => values(args),
        }
        .or_else(|| in_all(at, is)),
        Atom::Search { args, parameters, .. } => values(args).or_else(|| values(parameters)),
        Atom::Condition(expr)
        | Atom::Unify { value: expr, .. }
        | Atom::Member { list: expr, .. } => expr.span_of(is),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Script, parse};

    #[test]
    fn a_parameter_is_found_wherever_it_may_stand() {
        let texts = [
            "?[a] := a = $p",
            "?[a] := a in [1, {'x': f($p)}]",
            "?[a] := r[a, $p]",
            "?[a] := *r[a, $p]",
            "?[a] := *r{a, b: $p}",
            "?[a] := *r{a @ $p}",
            "?[a] := *r[a], not (a > 1 or a == $p)",
            "?[collect(a, $p)] := *r[a]",
            "?[a] <- $p",
            "?[a] <~ BreadthFirstSearch(*r[x, y], s[], limit: $p)",
            "?[a] <- [[1]] :limit $p",
            "?[a] <- [[1]] :timeout $p",
            "?[a] <- [[1]] :put r {a => b default $p}",
        ];
        for text in texts {
            let Ok(Script::Query(query)) = parse(text) else { panic!("{text} is no query") };
            let place = query.span_of_parameter("p").unwrap_or_else(|| panic!("{text}"));
            let place = place.start as usize..place.end as usize;
            assert_eq!(text.get(place), Some("$p"), "{text}");
            assert_eq!(query.span_of_parameter("q"), None);
        }
    }
}
