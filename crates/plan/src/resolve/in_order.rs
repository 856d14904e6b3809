//! Rules whose heads tell in which order rows came: those with `collect`.
//!
//! # Which order that is
//! That of nested loops over the atoms of the body as they are written, each relation read in the
//! order of its columns. CozoDB joins so. Here the order of joins follows from sizes, and a derived
//! relation has the order in which its rows were found.
//!
//! # How a rule gets it
//! The rows of the body become a derived relation of their own first, whose columns are those of
//! the atoms in the order in which they are written, and the rule reads that one in the order of
//! its columns. A body of one atom needs none: it is read in order as it is. Nor has a body one in
//! which `in` binds a variable: the places in a list are no column.

use super::{Resolver, Scope};
use crate::ir::{Literal, Predicate, PredicateKind, Rule, Source, Var};
use syntax::{Args, Atom, Diagnostic, Expr, Ident, Span};

/// Aggregates that tell the order of their rows.
const IN_ORDER: [&str; 1] = ["collect"];

impl Resolver<'_> {
    /// Whether the head of a predicate tells the order of rows.
    pub(super) fn tells_order(&self, predicate: usize) -> bool {
        let PredicateKind::Inline { aggregates } = &self.program.predicates[predicate].kind else {
            return false;
        };
        aggregates.iter().flatten().any(|used| IN_ORDER.contains(&used.aggregate.name))
    }

    /// Whether the rows of a body have to become a relation of their own for that.
    ///
    /// # Errors
    /// A stored relation that is not there.
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
                Atom::Rule { .. } => read += 1,
                Atom::Stored { name, index, .. } => {
                    let stored = self.stored(name, index.as_ref())?;
                    let info = &self.infos[stored];
                    // Rows may come by an index, in the order of the numbers of texts, or as a
                    // script put them.
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

    /// Lets the derived relations of a body be read in the order of their columns.
    pub(super) fn read_in_order(&mut self, body: &[Literal]) {
        for literal in body {
            if let Literal::Atom { source: Source::Derived(read), negated: false, .. } = literal {
                self.program.predicates[*read].is_sorted = true;
            }
        }
    }

    /// The rule that reads the rows of a body in order, which another rule finds. `scope` knows the
    /// order.
    pub(super) fn over_rows(
        &mut self,
        predicate: usize,
        head: &[Var],
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
        let variables: Vec<String> = columns.iter().map(|&var| scope.names[var].clone()).collect();
        let rows = self.program.predicates.len();
        self.program.predicates.push(Predicate {
            // No rule of a script has such a name.
            name: format!("{}#{rows}", self.program.predicates[predicate].name),
            columns: variables.clone(),
            kind: PredicateKind::Inline { aggregates: vec![None; columns.len()] },
            span,
            is_asked: false,
            is_sorted: true,
        });
        let place = |var: &Var| columns.iter().position(|own| own == var).unwrap_or_default();
        let head = head.iter().map(place).collect();
        let args = (0..columns.len()).map(Some).collect();
        let found = Rule { predicate: rows, head: columns, variables: scope.names, body, span };
        self.program.rules.push(found);
        let source = Source::Derived(rows);
        let read = Literal::Atom { source, args, negated: false, at: None, span };
        Rule { predicate, head, variables, body: vec![read], span }
    }
}

/// What stands as a plain variable in the places of an atom.
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

impl Scope {
    /// Takes down an atom's columns, where the order of rows is asked for: those that nothing
    /// reads, too.
    pub(super) fn note_row(&mut self, args: &mut [Option<Var>]) {
        if self.rows.is_none() {
            return;
        }
        for arg in args.iter_mut() {
            let var = arg.unwrap_or_else(|| self.fresh());
            *arg = Some(var);
            let rows = self.rows.get_or_insert_default();
            if !rows.contains(&var) {
                rows.push(var);
            }
        }
    }
}
