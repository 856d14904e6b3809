//! The values that key columns of an access path hold: those of columns, and values at paths into
//! documents.
//!
//! # Why
//! An index on `doc->'addr'->'city'` has the value at the path as a key column, which the relation
//! does not have. A body names that value by the expression, or by a variable to which it is
//! assigned. Conditions and assignments of the expression stay in the body and are evaluated for
//! each row that the index finds, so the index only skips rows.

use crate::catalog::RelationInfo;
use crate::ids::{PerVar, VarId};
use crate::ir::{Expr, Literal, Rule};
use model::JsonStep;

/// Most assignments that are followed from a variable to the document that it is a part of.
const ASSIGNMENTS_MAX: usize = 8;

/// The value of a key column in the rows of an atom.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyValue<'a> {
    /// The value of a variable.
    Var(VarId),
    /// The value at a path into the document of a variable.
    Path(VarId, &'a [JsonStep]),
}

impl<'a> KeyValue<'a> {
    /// The value of a column of an access path, for an atom with these arguments; `None` if the
    /// atom does not use the column.
    pub(crate) fn of(
        info: &'a RelationInfo,
        args: &[Option<VarId>],
        column: usize,
    ) -> Option<Self> {
        match column.checked_sub(info.columns.len()) {
            None => args[column].map(Self::Var),
            Some(path) => {
                let path = &info.path_columns[path];
                args[path.column].map(|var| Self::Path(var, &path.steps))
            }
        }
    }

    /// Whether an expression has this value.
    pub(crate) fn is(self, rule: &Rule, expr: &Expr) -> bool {
        match (self, expr) {
            (Self::Var(var), Expr::Var(other)) => var == *other,
            (Self::Var(_), _) | (_, Expr::Const(_) | Expr::Param(_)) => false,
            (Self::Path(document, steps), expr) => {
                leads_to(rule, expr, document, steps, ASSIGNMENTS_MAX)
            }
        }
    }

    /// Calls `visit` with each variable of the rule that has this value.
    pub(crate) fn each_var(self, rule: &Rule, visit: &mut dyn FnMut(VarId)) {
        match self {
            Self::Var(var) => visit(var),
            Self::Path(..) => {
                for literal in &rule.body {
                    if let Literal::Assign { var, value, .. } = literal
                        && self.is(rule, value)
                    {
                        visit(*var);
                    }
                }
            }
        }
    }

    /// A bound variable that has this value.
    pub(crate) fn bound_var(self, rule: &Rule, bound: &PerVar<bool>) -> Option<VarId> {
        let mut found = None;
        self.each_var(rule, &mut |var| found = found.or(bound[var].then_some(var)));
        found
    }

    /// Whether a variable has this value.
    pub(crate) fn is_var(self, rule: &Rule, var: VarId) -> bool {
        let mut found = false;
        self.each_var(rule, &mut |one| found |= one == var);
        found
    }
}

/// Whether an expression is the value at exactly these steps into a document.
fn leads_to(
    rule: &Rule,
    expr: &Expr,
    document: VarId,
    steps: &[JsonStep],
    assignments: usize,
) -> bool {
    match expr {
        Expr::Var(var) if *var == document => steps.is_empty(),
        Expr::Var(var) if assignments > 0 => rule.body.iter().any(|literal| match literal {
            Literal::Assign { var: assigned, value, .. } => {
                assigned == var && leads_to(rule, value, document, steps, assignments - 1)
            }
            _ => false,
        }),
        // `a->b` is `maybe_get(a, b)`. Where `get` finds nothing, it fails.
        Expr::Call(function, args, _) if matches!(function.name, "maybe_get" | "get") => {
            let [of, key] = args.as_slice() else { return false };
            let begin = begin_before(steps, key);
            begin.is_some_and(|begin| leads_to(rule, of, document, begin, assignments))
        }
        _ => false,
    }
}

/// The steps before those that a key makes, if these are the last ones.
fn begin_before<'s>(steps: &'s [JsonStep], key: &Expr) -> Option<&'s [JsonStep]> {
    let last = match key {
        Expr::Const(value) => JsonStep::all_of(value)?,
        key => {
            let step = |item: &Expr| match item {
                Expr::Const(value) => JsonStep::of_value(value),
                _ => None,
            };
            key.list_items()?.iter().map(step).collect::<Option<Vec<_>>>()?
        }
    };
    steps.strip_suffix(last.as_slice())
}
