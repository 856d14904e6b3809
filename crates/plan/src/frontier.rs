//! Upper bounds on the number of distinct rows after each step of a body.
//!
//! # Why
//! Four steps from one vertex in a graph with a hundred thousand vertices may be millions of paths,
//! but at most a hundred thousand distinct rows, since the vertices in between are not live
//! (`live.rs`). Estimates that count paths would make this order look expensive, and an order that
//! starts with a full scan look cheap, for any start vertex.

use crate::catalog::RelationInfo;
use crate::duplicates::{Duplicates, asked_by_head, duplicates};
use crate::ids::{PerVar, VarId};
use crate::ir::{Literal, Program, Rule, Source};
use crate::sizes::Sizes;

/// State of the bound while a body is ordered.
#[derive(Clone)]
pub(crate) struct Frontier {
    /// Whether duplicates must be kept, so that there is no bound.
    keeps_equal: bool,
    /// For each variable, the maximum number of distinct values; infinite if unknown.
    values: PerVar<f64>,
    /// Variables that the head uses.
    in_head: PerVar<bool>,
}

impl Frontier {
    /// The state before the first step.
    pub(crate) fn new(program: &Program, rule: &Rule) -> Self {
        Self {
            keeps_equal: duplicates(program, rule) == Duplicates::Keep,
            values: PerVar::filled(f64::INFINITY, rule.variables.len()),
            in_head: asked_by_head(program, rule),
        }
    }

    /// Updates the bounds of a literal's variables. Must be called before the literal binds them.
    pub(crate) fn bind(&mut self, literal: &Literal, sizes: &Sizes<'_>) {
        match literal {
            Literal::Assign { var, value, .. } => {
                let mut all = 1.0;
                value.each_var(&mut |var| all *= self.values[var]);
                if !value.is_random() {
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
            Literal::Atom { .. }
            | Literal::Condition(_)
            | Literal::Member { .. }
            | Literal::Search(_) => {}
        }
    }

    fn at_most(&mut self, var: VarId, values: f64) {
        self.values[var] = self.values[var].min(values.max(1.0));
    }

    /// Maximum number of rows that differ in variables that the head or the remaining literals use.
    pub(crate) fn rows_max(&self, bound: &PerVar<bool>, left: &[(usize, &Literal)]) -> f64 {
        if self.keeps_equal {
            return f64::INFINITY;
        }
        let mut is_used = self.in_head.clone();
        left.iter().for_each(|(_, literal)| literal.each_var(&mut |var| is_used[var] = true));
        let vars = bound.which(|is_bound| *is_bound).filter(|&var| is_used[var]);
        vars.map(|var| self.values[var]).product()
    }
}

/// Maximum number of distinct values in a column of a stored relation.
fn column_values(info: &RelationInfo, column: usize) -> f64 {
    let begins = info.paths.iter().filter(|path| path.keys.first() == Some(&column));
    let known = begins.filter_map(|path| path.prefixes.first()).map(|first| first.values);
    known.fold((info.rows as f64).max(1.0), f64::min)
}
