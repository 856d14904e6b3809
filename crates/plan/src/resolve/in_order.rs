//! Rules whose result depends on the order of rows: those with `collect`.
//!
//! # The order
//! It is that of nested loops over the atoms as they are written, where each relation is read in
//! the order of its columns, as in CozoDB. Without this module, the join order depends on
//! estimates, and a derived relation has the order in which its rows were found.
//!
//! # The rewriting
//! The rows of the body first become a derived relation, whose columns are those of the atoms in
//! written order. The rule then reads that relation in the order of its columns. A body with one
//! atom needs no rewriting: it is read in order anyway. A body in which `in` binds a variable is
//! not rewritten, since the position in a list is not a column.

use super::resolver::Resolver;
use super::scope::Scope;
use crate::ids::{Id, PerVar, PredicateId, VarId};
use crate::ir::{Literal, Predicate, PredicateKind, Rule, Source};
use syntax::{Args, Atom, Diagnostic, Expr, Ident, Span};

/// Aggregates that depend on the order of rows.
const IN_ORDER: [&str; 1] = ["collect"];

impl Resolver<'_> {
    /// Whether the head of a predicate depends on the order of rows.
    pub(super) fn tells_order(&self, predicate: PredicateId) -> bool {
        let PredicateKind::Inline { aggregates } = &self.program.predicates[predicate].kind else {
            return false;
        };
        aggregates.iter().flatten().any(|used| IN_ORDER.contains(&used.aggregate.name))
    }

    /// Whether the rows of a body must become a derived relation first.
    ///
    /// # Errors
    /// A stored relation does not exist.
    pub(super) fn needs_rows(&mut self, atoms: &[(&Atom, bool)]) -> Result<bool, Diagnostic> {
        let mut read = 0;
        let mut named: Vec<&str> = Vec::new();
        for &(atom, negated) in atoms {
            if negated {
                continue;
            }
            named.extend(variables_of(atom));
            match atom {
                Atom::Member { variable, .. } if !named.contains(&variable.text.as_str()) => {
                    return Ok(false);
                }
                Atom::Rule { .. } | Atom::Search { .. } => read += 1,
                Atom::Stored { name, index, .. } => {
                    let stored = self.stored(name, index.as_ref())?;
                    let info = &self.infos[stored];
                    // Otherwise rows may come in the order of an index, of dictionary ids, or of a
                    // script's writes.
                    let is_in_order = info.paths.len() <= 1
                        && info.spelled.is_none()
                        && !name.text.starts_with('_');
                    read += if is_in_order { 1 } else { 2 };
                }
                _ => {}
            }
        }
        Ok(read > 1)
    }

    /// Requests that the derived relations in a body are read in the order of their columns.
    pub(super) fn read_in_order(&mut self, body: &[Literal]) {
        for literal in body {
            if let Literal::Atom { source: Source::Derived(read), negated: false, .. } = literal {
                self.program.predicates[*read].is_sorted = true;
            }
        }
    }

    /// Moves the body to a new derived relation, and returns the rule that reads it in order.
    /// `scope` has the order of the columns.
    pub(super) fn over_rows(
        &mut self,
        predicate: PredicateId,
        head: &[VarId],
        mut scope: Scope,
        mut body: Vec<Literal>,
        span: Span,
    ) -> Rule {
        let mut columns = scope.rows.take().unwrap_or_default();
        for var in head {
            if !columns.contains(var) {
                columns.push(*var);
            }
        }
        scope.drop_unread(&columns, &mut body);
        let names = columns.iter().map(|&var| scope.names[var].clone());
        let variables: PerVar<String> = names.clone().collect();
        let number = self.program.predicates.len();
        let rows = self.program.predicates.push(Predicate {
            // Rules in scripts cannot have such a name.
            name: format!("{}#{number}", self.program.predicates[predicate].name),
            columns: names.collect(),
            kind: PredicateKind::Inline { aggregates: vec![None; columns.len()] },
            span,
            is_magic_set: false,
            is_sorted: true,
        });
        let place = |var: &VarId| columns.iter().position(|own| own == var).unwrap_or_default();
        let head = head.iter().map(|var| VarId::new(place(var))).collect();
        let args = variables.ids().map(Some).collect();
        let found = Rule { predicate: rows, head: columns, variables: scope.names, body, span };
        self.program.rules.push(found);
        let source = Source::Derived(rows);
        let read = Literal::Atom { source, args, negated: false, at: None, span };
        Rule { predicate, head, variables, body: vec![read], span }
    }
}

/// The plain variables among an atom's arguments.
fn variables_of(atom: &Atom) -> impl Iterator<Item = &str> {
    let (plain, named): (&[Expr], &[(Ident, Expr)]) = match atom {
        Atom::Rule { args, .. } | Atom::Stored { args: Args::Positional(args), .. } => (args, &[]),
        Atom::Stored { args: Args::Named(args), .. } => (&[], args),
        _ => (&[], &[]),
    };
    let all = plain.iter().chain(named.iter().map(|(_, arg)| arg));
    all.filter_map(|arg| match arg {
        Expr::Variable(ident) => Some(ident.text.as_str()),
        _ => None,
    })
}
