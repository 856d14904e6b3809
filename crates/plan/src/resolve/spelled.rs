//! Atoms over dictionary-encoded relations: graphs with string vertices.
//!
//! # How atoms are rewritten
//! `*g[a, b]` becomes `*g[i, j], *g:names[i, a], *g:names[j, b]`. A string variable has one id
//! variable in a rule, so atoms that share it are joined by ids. A string that is not used
//! otherwise is not looked up, because every id has one.
//!
//! A negated atom uses ids if all its strings already have one. Other negated atoms, and inputs of
//! algorithms, read a derived relation of decoded rows: a string without an id is in no row, which
//! makes the negation true.

use super::resolver::Resolver;
use super::scope::{Scope, SpelledAtom, distinct_places};
use crate::ids::{PerVar, PredicateId, StoredId, VarId};
use crate::ir::{Literal, Predicate, PredicateKind, Rule, Source};
use syntax::{Diagnostic, Ident, Span};

impl SpelledAtom {
    /// Appends the atom with ids, and the lookups of their strings.
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

    /// The arguments with ids; `None` if a string has no id variable yet.
    fn numbers(&self, scope: &Scope) -> Option<Vec<Option<VarId>>> {
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
    /// The atom, if the relation is dictionary-encoded.
    pub(super) fn spelled(
        &mut self,
        stored: StoredId,
        args: &[Option<VarId>],
        span: Span,
    ) -> Result<Option<SpelledAtom>, Diagnostic> {
        let Some(spelled) = self.infos[stored].spelled.clone() else { return Ok(None) };
        let names = self.stored(&Ident { text: spelled.names, span }, None)?;
        let (columns, args) = (spelled.columns, args.to_vec());
        Ok(Some(SpelledAtom { stored, names, columns, args, span }))
    }

    /// Appends the negated atoms.
    pub(super) fn negated_spelled(&mut self, scope: &mut Scope, body: &mut Vec<Literal>) {
        for atom in std::mem::take(&mut scope.negated) {
            let (source, args) = match atom.numbers(scope) {
                Some(args) => (Source::Stored(atom.stored), args),
                None => (Source::Derived(self.spelled_rows(&atom)), atom.args),
            };
            body.push(Literal::Atom { source, args, negated: true, at: None, span: atom.span });
        }
    }

    /// The predicate of all rows of the atom's relation with ids replaced by strings.
    pub(super) fn spelled_rows(&mut self, atom: &SpelledAtom) -> PredicateId {
        // Rules in scripts cannot have such a name.
        let name = format!("*{}", self.program.stored[atom.stored].name);
        if let Some(&known) = self.by_name.get(&name) {
            return known;
        }
        let names = self.infos[atom.stored].columns.iter().map(|column| column.name.clone());
        let columns: Vec<String> = names.collect();
        let aggregates = columns.iter().map(|_| None).collect();
        let mut scope = Scope::default();
        let head: Vec<VarId> = columns.iter().map(|name| scope.var(name)).collect();
        let mut body = Vec::new();
        let rows = SpelledAtom {
            columns: atom.columns.clone(),
            args: head.iter().map(|&var| Some(var)).collect(),
            ..*atom
        };
        rows.push(&mut scope, &mut body);
        let predicate = self.program.predicates.push(Predicate {
            name: name.clone(),
            columns,
            kind: PredicateKind::Inline { aggregates },
            span: atom.span,
            is_magic_set: false,
            is_sorted: false,
        });
        self.by_name.insert(name, predicate);
        let variables = scope.names;
        self.program.rules.push(Rule { predicate, head, variables, body, span: atom.span });
        predicate
    }
}

impl Scope {
    /// Removes the lookups of strings that are not used.
    pub(super) fn drop_unread(&self, head: &[VarId], body: &mut Vec<Literal>) {
        if self.numbers.is_empty() {
            return;
        }
        let mut uses = PerVar::filled(0, self.names.len());
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
