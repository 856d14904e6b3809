//! What conditions say of the values of one variable, before any row is read.
//!
//! # Why
//! `*person{age, name}, age >= 18 && age < 21` asks for a stretch of an index by `age`. Conditions
//! stay where they are and are checked in every row; what is found here only spares rows that would
//! fail them.

use crate::ir::{Expr, Literal, Rule, Var};

/// Bounds of a column, from conditions that are checked again later.
#[derive(Clone, Debug, Default)]
pub struct RangeHint {
    /// At least this.
    pub lower: Option<Expr>,
    /// At most this.
    pub upper: Option<Expr>,
    /// Begins with this text.
    pub starts_with: Option<Expr>,
    /// Whether both bounds are one value that it is equal to.
    pub is_point: bool,
}

/// How much a hint is thought to spare, for the choice between orders of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sharpness {
    /// Nothing is known.
    Nothing,
    /// From some value on, or up to one.
    OneSide,
    /// Between two values, or texts that begin alike.
    Stretch,
    /// One value.
    Point,
}

impl RangeHint {
    /// How much it is thought to spare.
    pub(crate) fn sharpness(&self) -> Sharpness {
        match (&self.lower, &self.upper) {
            _ if self.is_point => Sharpness::Point,
            _ if self.starts_with.is_some() => Sharpness::Stretch,
            (Some(_), Some(_)) => Sharpness::Stretch,
            (None, None) => Sharpness::Nothing,
            _ => Sharpness::OneSide,
        }
    }

    /// Takes down what `left function right` says, where `left` is the variable.
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

/// What the conditions of a rule's body say of a variable.
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
    (hint.sharpness() > Sharpness::Nothing).then(|| Box::new(hint))
}

/// Visits the conditions that must all hold for a condition to hold.
pub(crate) fn each_conjunct(condition: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match condition {
        Expr::Call(function, operands, _) if function.name == "and" => {
            operands.iter().for_each(|operand| each_conjunct(operand, visit));
        }
        one => visit(one),
    }
}

/// The function and the other side of a comparison of a variable with what is known before any row
/// is read.
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

/// The expression, if its value is known before any row is read: or that of the variable that it
/// is.
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

/// The function's name with its arguments exchanged.
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
