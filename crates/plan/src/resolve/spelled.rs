//! Relations whose columns hold numbers that stand for texts: graphs with text for vertices.
//!
//! # What becomes of an atom
//! `*g[a, b]` becomes `*g[i, j], *g:names[i, a], *g:names[j, b]`. A variable has one number in a
//! rule, so that atoms which share it are joined by numbers; and a text that nothing else asks for
//! is not looked up, for every number has one.
//!
//! A negated atom whose texts all have numbers asks for these. Another one, and the input of an
//! algorithm, reads a rule of spelled rows: a text that no number stands for is in no row, and that
//! is what makes the negation true.

use super::{Resolver, Scope, distinct_places};
use crate::ir::{Literal, Predicate, PredicateKind, Rule, Source, Var};
use syntax::{Diagnostic, Ident, Span};

/// An atom of such a relation, its places still those of texts.
pub(super) struct SpelledAtom {
    stored: usize,
    /// The relation `{number => text}`.
    names: usize,
    /// Places of texts.
    columns: Vec<usize>,
    args: Vec<Option<Var>>,
    span: Span,
}

impl SpelledAtom {
    /// Appends it, with what spells its numbers.
    pub(super) fn push(mut self, scope: &mut Scope, body: &mut Vec<Literal>) {
        for &column in &self.columns {
            let Some(text) = self.args[column] else { continue };
            let number = match scope.numbers.get(&(self.names, text)) {
                Some(&number) => number,
                None => {
                    let number = scope.fresh();
                    scope.numbers.insert((self.names, text), number);
                    body.push(Literal::Atom {
                        source: Source::Stored(self.names),
                        args: vec![Some(number), Some(text)],
                        negated: false,
                        at: None,
                        span: self.span,
                    });
                    number
                }
            };
            self.args[column] = Some(number);
        }
        distinct_places(&mut self.args, false, scope, body);
        let source = Source::Stored(self.stored);
        body.push(Literal::Atom {
            source,
            args: self.args,
            negated: false,
            at: None,
            span: self.span,
        });
    }

    /// Its arguments by number, where all are known.
    fn numbers(&self, scope: &Scope) -> Option<Vec<Option<Var>>> {
        let mut args = self.args.clone();
        for &column in &self.columns {
            if let Some(text) = args[column] {
                args[column] = Some(*scope.numbers.get(&(self.names, text))?);
            }
        }
        Some(args)
    }
}

impl Resolver<'_> {
    /// The atom, where the relation is such a one.
    pub(super) fn spelled(
        &mut self,
        stored: usize,
        args: &[Option<Var>],
        span: Span,
    ) -> Result<Option<SpelledAtom>, Diagnostic> {
        let Some(spelled) = self.infos[stored].spelled.clone() else { return Ok(None) };
        let names = self.stored(&Ident { text: spelled.names, span }, None)?;
        let (columns, args) = (spelled.columns, args.to_vec());
        Ok(Some(SpelledAtom { stored, names, columns, args, span }))
    }

    /// Appends the negated ones.
    pub(super) fn negated_spelled(&mut self, scope: &mut Scope, body: &mut Vec<Literal>) {
        for atom in std::mem::take(&mut scope.negated) {
            let (source, args) = match atom.numbers(scope) {
                Some(args) => (Source::Stored(atom.stored), args),
                None => (Source::Derived(self.spelled_rows(&atom)), atom.args),
            };
            body.push(Literal::Atom { source, args, negated: true, at: None, span: atom.span });
        }
    }

    /// The predicate of the rows of the atom's relation with texts in the place of numbers,
    /// whatever its arguments.
    pub(super) fn spelled_rows(&mut self, atom: &SpelledAtom) -> usize {
        // No rule of a script has such a name.
        let name = format!("*{}", self.program.stored[atom.stored].name);
        if let Some(&known) = self.by_name.get(&name) {
            return known;
        }
        let names = self.infos[atom.stored].columns.iter().map(|column| column.name.clone());
        let columns: Vec<String> = names.collect();
        let predicate = self.program.predicates.len();
        self.by_name.insert(name.clone(), predicate);
        let aggregates = columns.iter().map(|_| None).collect();
        let mut scope = Scope::default();
        let head: Vec<Var> = columns.iter().map(|name| scope.var(name)).collect();
        let mut body = Vec::new();
        let rows = SpelledAtom {
            columns: atom.columns.clone(),
            args: head.iter().map(|&var| Some(var)).collect(),
            ..*atom
        };
        rows.push(&mut scope, &mut body);
        self.program.predicates.push(Predicate {
            name,
            columns,
            kind: PredicateKind::Inline { aggregates },
            span: atom.span,
            is_asked: false,
            is_sorted: false,
        });
        let variables = scope.names;
        self.program.rules.push(Rule { predicate, head, variables, body, span: atom.span });
        predicate
    }
}

impl Scope {
    /// Takes away what spells texts that nothing else asks for.
    pub(super) fn drop_unread(&self, head: &[Var], body: &mut Vec<Literal>) {
        if self.numbers.is_empty() {
            return;
        }
        let mut uses = vec![0_usize; self.names.len()];
        head.iter().for_each(|&var| uses[var] += 1);
        body.iter().for_each(|literal| literal.each_var(&mut |var| uses[var] += 1));
        body.retain(|literal| match literal {
            Literal::Atom { source: Source::Stored(names), args, .. } => match args[..] {
                [Some(number), Some(text)] => {
                    uses[text] > 1 || self.numbers.get(&(*names, text)) != Some(&number)
                }
                _ => true,
            },
            _ => true,
        });
    }
}
