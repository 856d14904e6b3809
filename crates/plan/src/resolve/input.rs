//! Resolves the inputs of algorithms.

use super::expression::resolve_expression;
use super::message::{columns_text, error, were};
use super::resolver::{Resolver, StoredAtom};
use crate::ir::{FixedInput, Source};
use syntax::{Args, Atom, Diagnostic, Ident, Span};

impl Resolver<'_> {
    /// The input of an algorithm that an atom names.
    pub(super) fn input(&mut self, atom: &Atom) -> Result<FixedInput, Diagnostic> {
        match atom {
            Atom::Rule { name, args, span } => self.derived_input(name, args, *span),
            Atom::Stored { name, index, args, at, span } => {
                let index = index.as_ref();
                self.stored_input(&StoredAtom { name, index, args, at: at.as_ref(), span: *span })
            }
            Atom::Search { span, .. } => {
                let hint = "search in a rule of its own, and give that rule to the algorithm";
                let message = "a search cannot be an input".to_owned();
                Err(Diagnostic { message, span: *span, hint: Some(hint.to_owned()) })
            }
            Atom::Condition(expr) => Err(error("an input is a relation".to_owned(), expr.span())),
            Atom::Unify { variable, .. } | Atom::Member { variable, .. } => {
                Err(error("an input is a relation".to_owned(), variable.span))
            }
        }
    }

    fn derived_input(
        &mut self,
        name: &Ident,
        args: &[syntax::Expr],
        span: Span,
    ) -> Result<FixedInput, Diagnostic> {
        let predicate = self.predicate(name)?;
        let known = self.program.predicates[predicate].columns.len();
        let mut names = args.iter().map(name_of).collect::<Result<Vec<_>, _>>()?;
        // If the number of columns is only known when the rule has been computed, names are checked
        // then.
        if known > 0 {
            names = padded(names, known).map_err(|given| {
                let what = (columns_text(known), were(given));
                let message = format!("rule `{}` has {}, {} given here", name.text, what.0, what.1);
                error(message, span)
            })?;
        }
        let columns = (0..known).collect();
        Ok(FixedInput { source: Source::Derived(predicate), columns, names, at: None, span })
    }

    fn stored_input(&mut self, atom: &StoredAtom<'_>) -> Result<FixedInput, Diagnostic> {
        let &StoredAtom { name, index, args, at, span } = atom;
        let mut stored = self.stored(name, index)?;
        let known = self.infos[stored].columns.len();
        let (mut columns, names): (Vec<usize>, Vec<String>) = match args {
            Args::Positional(args) if args.len() <= known => {
                let names = args.iter().map(name_of).collect::<Result<Vec<_>, _>>()?;
                ((0..known).collect(), padded(names, known).unwrap_or_default())
            }
            args => {
                let places = self.columns_of(stored, name, args, span)?;
                let names = places.iter().map(|(_, arg)| name_of(arg));
                let names = names.collect::<Result<Vec<_>, _>>()?;
                (places.iter().map(|(column, _)| *column).collect(), names)
            }
        };
        if columns.is_empty() {
            // Empty braces mean all columns, as empty brackets do.
            columns = (0..known).collect();
        }
        if index.is_some() && at.is_some() {
            let in_relation;
            (stored, in_relation) = self.behind(stored, name)?;
            columns.iter_mut().for_each(|column| *column = in_relation[*column]);
        }
        let at = at.map(|at| resolve_expression(at, &mut self.program.parameters)).transpose()?;
        self.check_at(stored, name, at.is_some(), span)?;
        let source = match self.spelled(stored, &[], span)? {
            Some(atom) => Source::Derived(self.spelled_rows(&atom)),
            None => Source::Stored(stored),
        };
        Ok(FixedInput { source, columns, names, at, span })
    }
}

/// The name that an argument gives to its column; empty for a wildcard.
fn name_of(arg: &syntax::Expr) -> Result<String, Diagnostic> {
    match arg {
        syntax::Expr::Variable(ident) if !ident.text.starts_with('_') => Ok(ident.text.clone()),
        syntax::Expr::Variable(_) => Ok(String::new()),
        other => Err(error("only plain names stand in an input".to_owned(), other.span())),
    }
}

/// Pads the names of an input's columns with wildcards to `known` columns. An empty list stays
/// empty: then the columns keep their own names.
///
/// # Errors
/// The number of names, if there are more than columns.
fn padded(mut names: Vec<String>, known: usize) -> Result<Vec<String>, usize> {
    if names.len() > known {
        return Err(names.len());
    }
    if !names.is_empty() {
        names.resize(known, String::new());
    }
    Ok(names)
}
