//! Decides whether a plan's expressions are cheap: no function that may take long, no recursion
//! over lists.
//!
//! Non-blocking scripts check it before they compute anything.

use plan::{Expr, Plan, PlannedStep, PredicateKind, Step};

/// Functions that may make large values of small ones, or take long to start.
const LONG_FUNCTIONS: &[&str] = &[
    "int_range",
    "rand_vec",
    "regex_extract",
    "regex_extract_first",
    "regex_matches",
    "regex_replace",
    "regex_replace_all",
    "windows",
];

/// Whether the expressions of a plan are cheap for each row.
pub(crate) fn computes_little(plan: &Plan) -> bool {
    let is_little = |step: &PlannedStep| match &step.step {
        Step::Assign { value: expr, .. } | Step::Filter(expr) => is_quick(expr),
        Step::Same { .. } | Step::Stored { .. } => true,
        Step::Derived { .. } | Step::Member { .. } | Step::Search(_) => false,
    };
    let rules = plan.groups.iter().flat_map(|group| &group.rules);
    let mut steps = rules.filter_map(|rule| rule.first.as_ref()).flat_map(|body| &body.steps);
    let mut predicates = plan.program.predicates.iter();
    steps.all(is_little)
        && predicates.all(|one| match &one.kind {
            PredicateKind::Constant(data) => is_quick(data),
            PredicateKind::Inline { .. } => true,
            PredicateKind::Fixed(_) => false,
        })
}

/// Whether an expression has no function that may take long.
pub(crate) fn is_quick(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) => true,
        Expr::Call(function, args, _) => {
            LONG_FUNCTIONS.binary_search(&function.name).is_err() && args.iter().all(is_quick)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_that_take_long_are_functions_in_order() {
        assert!(LONG_FUNCTIONS.is_sorted());
        assert!(LONG_FUNCTIONS.iter().all(|name| function::lookup(name).is_some()));
    }
}
