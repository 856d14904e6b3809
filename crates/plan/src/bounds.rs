//! Derives ranges of column values from conditions, before any row is read.
//!
//! # Why
//! `*person{age, name}, age >= 18 && age < 21` needs only a range of an index by `age`. The
//! conditions stay in the body and are checked for every row. A range only skips rows that would
//! fail them.

use crate::cost;
use crate::ids::VarId;
use crate::ir::{Expr, Literal, Rule};
use crate::key_value::KeyValue;

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

impl Selectivity {
    /// Estimated share of the rows that a range leaves. `point` is the share of a single value.
    pub(crate) fn share(self, point: impl FnOnce() -> f64) -> f64 {
        match self {
            Self::Nothing => 1.0,
            Self::OneSide => cost::HALF_RANGE_SHARE,
            Self::Stretch => cost::RANGE_SHARE,
            Self::Point => point(),
        }
    }
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

    /// Adds bounds that every part of a disjunction implies, unless there are bounds already.
    fn note_disjunction(&mut self, parts: &[Self]) {
        let [first, rest @ ..] = parts else { return };
        let is_same = |one: &Option<Expr>, other: &Option<Expr>| match (one, other) {
            (Some(one), Some(other)) => one.is_same(other),
            _ => false,
        };
        if self.lower.is_none() && rest.iter().all(|part| is_same(&part.lower, &first.lower)) {
            self.lower.clone_from(&first.lower);
        }
        if self.upper.is_none() && rest.iter().all(|part| is_same(&part.upper, &first.upper)) {
            self.upper.clone_from(&first.upper);
        }
    }
}

/// The range of a key column that the conditions of a rule's body imply, if any.
pub(crate) fn find(rule: &Rule, of: KeyValue<'_>) -> Option<Box<RangeHint>> {
    let mut hint = RangeHint::default();
    for literal in &rule.body {
        if let Literal::Condition(condition) = literal {
            note_conjunction(rule, condition, of, &mut hint);
        }
    }
    (hint.selectivity() > Selectivity::Nothing).then(|| Box::new(hint))
}

/// Adds the bounds that a condition implies for a key column: those of all conjuncts.
///
/// Paging writes `ts < $t || (ts == $t && id < $i)`, which bounds `ts` by `$t`.
fn note_conjunction(rule: &Rule, condition: &Expr, of: KeyValue<'_>, hint: &mut RangeHint) {
    each_operand(condition, "and", &mut |one| {
        if let Some((function, right)) = compared(rule, one, of) {
            hint.note(function, right);
        }
    });
    each_operand(condition, "and", &mut |one| {
        if matches!(one, Expr::Call(function, ..) if function.name == "or") {
            let mut parts = Vec::new();
            each_operand(one, "or", &mut |part| {
                let mut implied = RangeHint::default();
                note_conjunction(rule, part, of, &mut implied);
                parts.push(implied);
            });
            hint.note_disjunction(&parts);
        }
    });
}

/// Visits the operands of nested calls of `and`, or of `or`.
fn each_operand(expr: &Expr, name: &str, visit: &mut dyn FnMut(&Expr)) {
    match expr {
        Expr::Call(function, operands, _) if function.name == name => {
            operands.iter().for_each(|operand| each_operand(operand, name, visit));
        }
        one => visit(one),
    }
}

/// Visits the operands of nested conjunctions.
pub(crate) fn each_conjunct(condition: &Expr, visit: &mut dyn FnMut(&Expr)) {
    each_operand(condition, "and", visit);
}

/// If `condition` compares `var` with a value that is known before any row is read: the function
/// and the value. The function is mirrored if the variable is on the right.
pub(crate) fn comparison(
    rule: &Rule,
    condition: &Expr,
    var: VarId,
) -> Option<(&'static str, Expr)> {
    compared(rule, condition, KeyValue::Var(var))
}

/// As [`comparison`], for the value of a key column.
fn compared(rule: &Rule, condition: &Expr, of: KeyValue<'_>) -> Option<(&'static str, Expr)> {
    let Expr::Call(function, args, _) = condition else { return None };
    let [left, right] = args.as_slice() else { return None };
    match (of.is(rule, left), of.is(rule, right)) {
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
