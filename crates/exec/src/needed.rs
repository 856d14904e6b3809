//! Whether a recursion has to be computed: not if what stands before it in the rules that read it has no row.
//!
//! # Why
//! `?[count(y)] := *e[$v, y], not r[y]` has no answer from a vertex without edges, and nothing of `r` needs to be known for that. Nor has
//! `r[y] := *e[$v, y]` with `r[y] := r[x], *e[x, y]`, whatever is asked of it.
//!
//! # Invariants
//! 1. A rule has no row where the first steps of its body have none. Only steps that read what is computed already are run, and few rows.
//! 2. A rule that reads its own group has none while that is empty, so it counts as the others of its group do.

use crate::bindings::Bindings;
use crate::body::{Body, Wanted};
use crate::cell::Cell;
use crate::error::Result;
use crate::query::Query;
use crate::spread::Out;
use plan::{BodyPlan, GroupPlan, Literal, PredicateKind, Source, Step};

/// Rows that may be read or made to find out.
const ROWS_MAX: u64 = 1024;

/// Whether a row came.
struct Any(bool);

impl Out for Any {
    fn take(&mut self, _: &Query<'_>, found: &Bindings) -> Result<Wanted> {
        self.0 |= found.rows > 0;
        Ok(!self.0)
    }

    fn spread(&mut self, _: &Query<'_>, _: usize, _: Vec<Bindings>) -> Result<Wanted> {
        unreachable!("nothing waits where nobody helps")
    }

    fn each_cell(&self, _: &mut dyn FnMut(Cell)) {}
}

impl Query<'_> {
    /// Whether the answer may depend on a group, by its number.
    pub(crate) fn is_needed(&mut self, number: usize) -> bool {
        let plan = self.plan;
        let own = &plan.groups[number].group.predicates;
        if own.contains(&plan.program.entry) {
            return true;
        }
        plan.groups[number + 1..].iter().any(|group| self.is_needed_by(group, own, number))
    }

    fn is_needed_by(&mut self, group: &GroupPlan, own: &[usize], number: usize) -> bool {
        let program = &self.plan.program;
        let is_read =
            |source: &Source| matches!(source, Source::Derived(read) if own.contains(read));
        let is_input =
            group.group.predicates.iter().any(|&one| match &program.predicates[one].kind {
                PredicateKind::Fixed(fixed) => {
                    fixed.inputs.iter().any(|input| is_read(&input.source))
                }
                _ => false,
            });
        let reads = |rule: usize| {
            program.rules[rule]
                .body
                .iter()
                .any(|literal| matches!(literal, Literal::Atom { source, .. } if is_read(source)))
        };
        let readers: Vec<usize> =
            group.rules.iter().filter(|rule| reads(rule.rule)).map(|rule| rule.rule).collect();
        if readers.is_empty() {
            return is_input;
        }
        // One that reads its own group has rows only if another one of it has.
        let is_own = |rule: &plan::RulePlan| rule.first.is_none() && readers.contains(&rule.rule);
        let has_own = group.rules.iter().any(is_own);
        let mut asked = group.rules.iter().filter(|one| has_own || readers.contains(&one.rule));
        is_input
            || asked.any(|one| match &one.first {
                Some(body) => self.may_have_rows(body, one.rule, number),
                None => false,
            })
    }

    /// Whether a body may have rows, by the steps before the first that reads a group which is not computed yet. What fails is left to who runs it.
    fn may_have_rows(&mut self, body: &BodyPlan, rule: usize, number: usize) -> bool {
        let body = body.tried.as_ref().map_or(body, |tried| &tried.plan);
        let later = &self.plan.groups[number..];
        let is_later = |step: &Step| match step {
            Step::Derived { predicate, .. } => {
                later.iter().any(|group| group.group.predicates.contains(predicate))
            }
            _ => false,
        };
        let steps = body.steps.iter().take_while(|planned| !is_later(&planned.step));
        let steps: Vec<_> = steps.cloned().collect();
        let looks = |step: &Step| matches!(step, Step::Stored { .. } | Step::Derived { .. });
        if steps.len() == body.steps.len() || !steps.iter().any(|planned| looks(&planned.step)) {
            return true;
        }
        let first = BodyPlan { steps, tried: None, ..body.clone() };
        self.has_rows(&first, rule).unwrap_or(true)
    }

    fn has_rows(&mut self, plan: &BodyPlan, rule: usize) -> Result<bool> {
        self.index_for(plan)?;
        let variables = self.plan.program.rules[rule].variables.len();
        let mut body = Body::new(plan, variables, &self.computer())?;
        body.set_enough(1);
        body.try_with(ROWS_MAX);
        let mut any = Any(false);
        body.run(self, &mut any)?;
        Ok(any.0 || body.is_given_up())
    }
}
