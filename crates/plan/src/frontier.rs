//! How many different rows a body can have after a step, where equal rows are made one.
//!
//! # Why
//! Four steps from one vertex of a graph of a hundred thousand are millions of paths, but a hundred
//! thousand rows at most: nobody asks for the vertices on the way (`live.rs`). An order that is
//! judged by the number of its paths looks dear, and one that begins with a scan of the whole
//! relation looks cheap, whatever vertex is asked for.

use crate::catalog::RelationInfo;
use crate::ir::{Literal, Program, Rule, Source, Var};
use crate::live::{self, Duplicates};
use crate::order::Sizes;

/// What bounds the rows of a body on the way.
#[derive(Clone)]
pub(crate) struct Frontier {
    /// Whether each row counts for itself, however many are equal.
    keeps_equal: bool,
    /// Of each variable that is bound, how many values it has at most; infinite where that is not
    /// known.
    values: Vec<f64>,
    /// Variables whose values the head asks for.
    in_head: Vec<bool>,
}

impl Frontier {
    /// That of a body of which nothing is bound.
    pub(crate) fn new(program: &Program, rule: &Rule) -> Self {
        Self {
            keeps_equal: live::duplicates(program, rule) == Duplicates::Keep,
            values: vec![f64::INFINITY; rule.variables.len()],
            in_head: live::asked_by_head(program, rule),
        }
    }

    /// Notes what a literal says of the values of its variables, before they are bound by it.
    pub(crate) fn bind(&mut self, literal: &Literal, sizes: &Sizes<'_>) {
        match literal {
            Literal::Assign { var, value, .. } => {
                let mut all = 1.0;
                value.each_var(&mut |var| all *= self.values[var]);
                if !value.is_drawn() {
                    self.at_most(*var, all);
                }
            }
            Literal::Same(a, b) => {
                let least = self.values[*a].min(self.values[*b]);
                (self.values[*a], self.values[*b]) = (least, least);
            }
            Literal::Atom { source: Source::Stored(stored), args, negated: false, .. } => {
                let info = &sizes.infos[*stored];
                for (column, var) in args.iter().enumerate() {
                    if let Some(var) = *var {
                        self.at_most(var, column_values(info, column));
                    }
                }
            }
            Literal::Atom { source: Source::Derived(read), args, negated: false, .. } => {
                if let Some(rows) = sizes.predicates[*read] {
                    args.iter().flatten().for_each(|&var| self.at_most(var, rows));
                }
            }
            Literal::Atom { .. } | Literal::Condition(_) | Literal::Member { .. } => {}
        }
    }

    fn at_most(&mut self, var: Var, values: f64) {
        self.values[var] = self.values[var].min(values.max(1.0));
    }

    /// How many rows differ at most in what the head and the literals that are left ask for.
    pub(crate) fn rows_max(&self, bound: &[bool], left: &[(usize, &Literal)]) -> f64 {
        if self.keeps_equal {
            return f64::INFINITY;
        }
        let mut is_asked = self.in_head.clone();
        left.iter().for_each(|(_, literal)| literal.each_var(&mut |var| is_asked[var] = true));
        let vars = (0..bound.len()).filter(|&var| bound[var] && is_asked[var]);
        vars.map(|var| self.values[var]).product()
    }
}

/// How many values a column of a stored relation has at most.
fn column_values(info: &RelationInfo, column: usize) -> f64 {
    let begins = info.paths.iter().filter(|path| path.keys.first() == Some(&column));
    let known = begins.filter_map(|path| path.prefixes.first()).map(|first| first.values);
    known.fold((info.rows as f64).max(1.0), f64::min)
}
