//! Turns the atoms of a body into literals.

use super::expression::call;
use super::message::{columns_text, error, were};
use super::resolver::{Resolver, StoredAtom};
use super::scope::{Scope, distinct_places};
use super::search::SearchAtom;
use crate::ids::VarId;
use crate::ir::{Expr, Literal, Source};
use model::Value;
use syntax::{Atom, Diagnostic, Ident, Span};

impl Resolver<'_> {
    /// Appends the literals of an atom to the body.
    pub(super) fn literal(
        &mut self,
        atom: &Atom,
        negated: bool,
        scope: &mut Scope,
        body: &mut Vec<Literal>,
    ) -> Result<(), Diagnostic> {
        match atom {
            Atom::Rule { name, args, span } => {
                return self.derived_literal(name, args, *span, negated, scope, body);
            }
            Atom::Stored { name, index, args, at, span } => {
                let index = index.as_ref();
                let atom = StoredAtom { name, index, args, at: at.as_ref(), span: *span };
                return self.stored_literal(&atom, negated, scope, body);
            }
            Atom::Search { name, index, args, parameters, span } => {
                if negated {
                    let message = "a search cannot be negated".to_owned();
                    let hint = "search in a rule of its own, and negate that rule".to_owned();
                    return Err(Diagnostic { message, span: *span, hint: Some(hint) });
                }
                let atom = SearchAtom { name, index, args, parameters, span: *span };
                return self.search_literal(&atom, scope, body);
            }
            Atom::Condition(expr) => {
                let condition = self.scoped(expr, scope)?;
                body.push(Literal::Condition(match negated {
                    true => call("negate", vec![condition], expr.span()),
                    false => condition,
                }));
            }
            Atom::Unify { variable, value } => {
                let span = variable.span;
                let value = self.scoped(value, scope)?;
                if variable.text.starts_with('_') {
                    return Ok(());
                }
                let var = scope.var(&variable.text);
                body.push(match negated {
                    true => Literal::Condition(other_than(var, value, span)),
                    false => Literal::Assign { var, value, span },
                });
            }
            Atom::Member { variable, list } => {
                let span = variable.span;
                let list = self.scoped(list, scope)?;
                let var = match variable.text.starts_with('_') {
                    true => scope.fresh(),
                    false => scope.var(&variable.text),
                };
                body.push(match negated {
                    true => Literal::Condition(not_in(var, list, span)),
                    false => Literal::Member { var, list, span },
                });
            }
        }
        Ok(())
    }

    /// Appends the literals of an atom over a derived relation.
    fn derived_literal(
        &mut self,
        name: &Ident,
        args: &[syntax::Expr],
        span: Span,
        negated: bool,
        scope: &mut Scope,
        body: &mut Vec<Literal>,
    ) -> Result<(), Diagnostic> {
        let predicate = self.predicate(name)?;
        self.close(predicate, args.len());
        let known = &self.program.predicates[predicate];
        if known.columns.len() != args.len() {
            let message = format!(
                "rule `{}` has {}, {} given here",
                name.text,
                columns_text(known.columns.len()),
                were(args.len())
            );
            return Err(error(message, span));
        }
        let args = args.iter().map(|arg| self.place(arg, scope, body));
        let mut args: Vec<_> = args.collect::<Result<_, _>>()?;
        if !negated {
            scope.note_row(&mut args);
        }
        distinct_places(&mut args, negated, scope, body);
        let source = Source::Derived(predicate);
        body.push(Literal::Atom { source, args, negated, at: None, span });
        Ok(())
    }

    /// Appends the literals of an atom over a stored relation.
    fn stored_literal(
        &mut self,
        atom: &StoredAtom<'_>,
        negated: bool,
        scope: &mut Scope,
        body: &mut Vec<Literal>,
    ) -> Result<(), Diagnostic> {
        let &StoredAtom { name, index, args, at, span } = atom;
        let mut stored = self.stored(name, index)?;
        let mut places = self.columns_of(stored, name, args, span)?;
        if index.is_some() && at.is_some() {
            let columns;
            (stored, columns) = self.behind(stored, name)?;
            places.iter_mut().for_each(|(column, _)| *column = columns[*column]);
        }
        let mut vars = vec![None; self.infos[stored].columns.len()];
        for (column, arg) in places {
            vars[column] = self.place(arg, scope, body)?;
        }
        let at = at.map(|at| self.scoped(at, scope)).transpose()?;
        self.check_at(stored, name, at.is_some(), span)?;
        if !negated {
            scope.note_row(&mut vars);
        }
        if let Some(atom) = self.spelled(stored, &vars, span)? {
            match negated {
                true => scope.negated.push(atom),
                false => atom.push(scope, body),
            }
            return Ok(());
        }
        distinct_places(&mut vars, negated, scope, body);
        let source = Source::Stored(stored);
        body.push(Literal::Atom { source, args: vars, negated, at, span });
        Ok(())
    }
}

/// The negation of `var = value`. Like `=` it compares by identity, so `1` and `1.0` differ.
fn other_than(var: VarId, value: Expr, span: Span) -> Expr {
    let is_number = |value: &Value| {
        matches!(value, Value::Int(_) | Value::Id(_) | Value::Float(_) | Value::Decimal(_))
    };
    if let Expr::Const(said) = &value
        && !is_number(said)
    {
        // Only for numbers does `==` differ from identity.
        return call("neq", vec![Expr::Var(var), value], span);
    }
    let same = call("is_in", vec![Expr::Var(var), call("list", vec![value], span)], span);
    call("negate", vec![same], span)
}

/// The negation of `var in list`.
fn not_in(var: VarId, list: Expr, span: Span) -> Expr {
    let is_in = call("is_in", vec![Expr::Var(var), list], span);
    call("negate", vec![is_in], span)
}
