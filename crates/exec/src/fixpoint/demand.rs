//! Decides whether a recursive stratum must be computed: not if the rules that read it have no rows
//! before the steps that read it.
//!
//! # Why
//! `?[count(y)] := *e[$v, y], not r[y]` has no rows for a vertex without edges, and needs no row of
//! `r`. Nor is a row of `r[y] := *e[$v, y]` with `r[y] := r[x], *e[x, y]` needed then.
//!
//! # Invariants
//! 1. A rule has no rows if the first steps of its body have none. Only steps over finished strata
//!    are run, on few rows.
//! 2. A rule that reads its own group has no rows while that is empty, so the other rules of its
//!    group decide.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::fixpoint::Fixpoint;
use crate::pipeline::Pipeline;
use crate::sink::RowOutput;
use crate::value::cell::Cell;
use plan::{PipelinePlan, Reader, RulePlan, Step};

/// Most rows to read or make for the decision.
const ROWS_MAX: u64 = 1024;

/// Records whether there was a row.
struct Any(bool);

impl RowOutput for Any {
    fn take(&mut self, _: &ExecContext<'_>, found: &Bindings) -> Result<Wanted> {
        self.0 |= found.rows > 0;
        Ok(!self.0)
    }

    fn each_cell(&self, _: &mut dyn FnMut(Cell)) {}
}

impl Fixpoint<'_> {
    /// Whether the result may depend on a group, by its number.
    pub(crate) fn is_needed(&mut self, number: usize) -> bool {
        let plan = self.context.plan;
        let of = &plan.groups[number];
        let is_asked_for = of.group.has(plan.program.entry);
        is_asked_for || of.readers.iter().any(|reader| self.is_needed_by(reader, number))
    }

    fn is_needed_by(&mut self, reader: &Reader, number: usize) -> bool {
        if reader.is_input || reader.rules.is_empty() {
            return reader.is_input;
        }
        let rules = &self.context.plan.groups[reader.group].rules;
        // A rule that reads its own group has rows only if another rule of the group has.
        let has_own = reader.rules.iter().any(|&place| rules[place].first.is_none());
        let mut may = |one: &RulePlan| match &one.first {
            Some(body) => self.may_have_rows(body, one.rule, number),
            None => false,
        };
        match has_own {
            true => rules.iter().any(may),
            false => reader.rules.iter().any(|&place| may(&rules[place])),
        }
    }

    /// Whether a body may have rows, by the steps before the first that reads a group which is not
    /// computed yet. What fails is left to who runs it.
    fn may_have_rows(&mut self, body: &PipelinePlan, rule: usize, number: usize) -> bool {
        let body = body.tried.as_ref().map_or(body, |tried| &tried.plan);
        let group_of = &self.context.plan.group_of;
        let is_later = |step: &Step| match step {
            Step::Derived { predicate, .. } => group_of[*predicate] >= number,
            _ => false,
        };
        let steps = body.steps.iter().take_while(|planned| !is_later(&planned.step));
        let steps: Vec<_> = steps.cloned().collect();
        let looks = |step: &Step| matches!(step, Step::Stored { .. } | Step::Derived { .. });
        if steps.len() == body.steps.len() || !steps.iter().any(|planned| looks(&planned.step)) {
            return true;
        }
        let first = PipelinePlan {
            steps,
            tried: None,
            in_order: Vec::new(),
            by_size: Vec::new(),
            ..body.clone()
        };
        self.has_rows(&first, rule).unwrap_or(true)
    }

    fn has_rows(&mut self, plan: &PipelinePlan, rule: usize) -> Result<bool> {
        self.index_for(plan)?;
        let variables = self.context.plan.program.rules[rule].variables.len();
        let mut body = Pipeline::new(plan, variables, &self.context.computer())?;
        body.set_enough(1);
        body.try_with(ROWS_MAX);
        let mut any = Any(false);
        body.run(&self.context, &mut any)?;
        Ok(any.0 || body.is_given_up())
    }
}
