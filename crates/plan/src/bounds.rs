//! Derives ranges of column values from conditions, before any row is read.
//!
//! # Why
//! `*person{age, name}, age >= 18 && age < 21` needs only a range of an index by `age`. The
//! conditions stay in the body and are checked for every row. A range only skips rows that would
//! fail them.

use crate::ir::{Expr, Literal, Rule, Var};

/// A range of column values, derived from conditions that are still checked later.
#[derive(Clone, Debug, Default)]
pub struct RangeHint {
    /// Inclusive lower bound.
    pub lower: Option<Expr>,
    /// Inclusive upper bound.
    pub upper: Option<Expr>,
    /// Prefix of strings.
    pub starts_with: Option<Expr>,
    /// Whether both bounds are one value and the condition is equality.
    pub is_point: bool,
}

/// Estimated selectivity of a range, used to choose an access path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Selectivity {
    /// No restriction.
    Nothing,
    /// One bound.
    OneSide,
    /// Two bounds, or a string prefix.
    Stretch,
    /// A single value.
    Point,
}

impl RangeHint {
    /// Estimated selectivity.
    pub(crate) fn selectivity(&self) -> Selectivity {
        match (&self.lower, &self.upper) {
            _ if self.is_point => Selectivity::Point,
            _ if self.starts_with.is_some() => Selectivity::Stretch,
            (Some(_), Some(_)) => Selectivity::Stretch,
            (None, None) => Selectivity::Nothing,
            _ => Selectivity::OneSide,
        }
    }

    /// Adds the condition `variable function right`.
    fn note(&mut self, function: &str, right: Expr) {
        match function {
            "eq" => {
                (self.lower, self.upper) = (Some(right.clone()), Some(right));
                self.is_point = true;
            }
            "gt" | "ge" if !self.is_point => self.lower = Some(right),
            "lt" | "le" if !self.is_point => self.upper = Some(right),
            "starts_with" => self.starts_with = Some(right),
            _ => {}
        }
    }
}

/// The range of a variable that the conditions of a rule's body imply, if any.
pub(crate) fn find(rule: &Rule, var: Var) -> Option<Box<RangeHint>> {
    let mut hint = RangeHint::default();
    for literal in &rule.body {
        if let Literal::Condition(condition) = literal {
            each_conjunct(condition, &mut |one| {
                if let Some((function, right)) = comparison(rule, one, var) {
                    hint.note(function, right);
                }
            });
        }
    }
    (hint.selectivity() > Selectivity::Nothing).then(|| Box::new(hint))
}

/// Visits the operands of nested conjunctions.
pub(crate) fn each_conjunct(condition: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match condition {
        Expr::Call(function, operands, _) if function.name == "and" => {
            operands.iter().for_each(|operand| each_conjunct(operand, visit));
        }
        one => visit(one),
    }
}

/// If `condition` compares `var` with a value that is known before any row is read: the function
/// and the value. The function is mirrored if the variable is on the right.
pub(crate) fn comparison(rule: &Rule, condition: &Expr, var: Var) -> Option<(&'static str, Expr)> {
    let Expr::Call(function, args, _) = condition else { return None };
    let [left, right] = args.as_slice() else { return None };
    let is_var = |expr: &Expr| matches!(expr, Expr::Var(other) if *other == var);
    match (is_var(left), is_var(right)) {
        (true, false) => Some((function.name, known(rule, right)?)),
        (false, true) => Some((mirrored(function.name)?, known(rule, left)?)),
        _ => None,
    }
}

/// The expression, if its value is known before any row is read. A variable is replaced by the
/// value assigned to it.
fn known(rule: &Rule, expr: &Expr) -> Option<Expr> {
    if let Expr::Var(var) = expr {
        return rule.body.iter().find_map(|literal| match literal {
            Literal::Assign { var: assigned, value, .. } if assigned == var => {
                value.is_known().then(|| value.clone())
            }
            _ => None,
        });
    }
    expr.is_known().then(|| expr.clone())
}

/// The comparison with exchanged arguments.
fn mirrored(name: &str) -> Option<&'static str> {
    match name {
        "gt" => Some("lt"),
        "ge" => Some("le"),
        "lt" => Some("gt"),
        "le" => Some("ge"),
        "eq" => Some("eq"),
        _ => None,
    }
}
