//! Makes the operator of a step for each batch, and chooses it where the step is adaptive.
//!
//! # Which operator joins with a stored relation
//! In the order of the result: `ordered_scan`. As of a time: `temporal_scan`. Several relations
//! that bind one variable together, or a trie that is worth its making: `leapfrog_join`. A bound
//! prefix of a stored order: `index_join`. Otherwise `scan`.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::operator::filter::Filter;
use crate::operator::hash_join::HashJoin;
use crate::operator::index_join::IndexJoin;
use crate::operator::leapfrog_join::{LeapfrogJoin, TrieJoin};
use crate::operator::ordered_scan::{OrderedScan, ROWS_FREE};
use crate::operator::project::Project;
use crate::operator::scan::Scan;
use crate::operator::search::Search;
use crate::operator::temporal_scan::TemporalScan;
use crate::operator::unnest::Unnest;
use crate::pipeline::Pipeline;
use crate::sink::Out;
use crate::storage::probe_keys::ProbeKeys;
use crate::storage::relation_source::{Readable, StoredRelation};
use plan::{OperatorName, Physical, Step};

impl Pipeline<'_> {
    /// Makes the operator of a step for a batch and runs it.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub(crate) fn dispatch(
        &mut self,
        at: usize,
        input: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        match planned.operator {
            Physical::Fixed(OperatorName::Filter) => {
                self.run_operator(at, Filter { at, input }, context, out)
            }
            Physical::Fixed(OperatorName::Project) => {
                self.run_operator(at, Project { at, input }, context, out)
            }
            Physical::Fixed(OperatorName::Unnest) => {
                self.run_operator(at, Unnest { at, input: &input }, context, out)
            }
            Physical::Fixed(OperatorName::Search) => {
                self.run_operator(at, Search { at, input: &input }, context, out)
            }
            Physical::Fixed(OperatorName::HashJoin) => {
                self.run_operator(at, HashJoin { at, input: &input }, context, out)
            }
            _ => self.join_stored(at, input, context, out),
        }
    }

    /// Joins a batch with a relation in the store.
    ///
    /// # Errors
    /// Those of the store, and what stops the query.
    fn join_stored(
        &mut self,
        at: usize,
        input: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { stored, prefix, .. } = &planned.step else { return Ok(true) };
        let Readable::Stored(relation) = context.relation(*stored) else {
            unreachable!("a relation in memory is planned as a hash join");
        };
        let relation = &*relation;
        if planned.row_order.is_some() {
            let in_trie = self.rows_in_trie(at, &input, 0, context)?;
            if in_trie.is_some_and(|rows| rows < ROWS_FREE) {
                self.give_up();
                return Ok(false);
            }
            let scan = OrderedScan { at, input: &input, relation, in_trie };
            return self.run_operator(at, scan, context, out);
        }
        match (planned.operator, &self.steps[at].expr) {
            (Physical::Fixed(OperatorName::TemporalScan), Some(expr)) => {
                let times = context.times(expr, &input).map_err(|error| error.at(planned.span))?;
                let scan = TemporalScan { at, input: &input, relation, times: &times };
                return self.run_operator(at, scan, context, out);
            }
            (Physical::Adaptive(_), _) => {
                let joins = match self.joins_together(at, &input, context)? {
                    None if self.is_given_up() => return Ok(false),
                    None => self.trie_join(at, &input, None, context)?.map(|join| vec![join]),
                    joins => joins,
                };
                if let Some(joins) = joins {
                    let join = LeapfrogJoin { at, input: &input, joins };
                    return self.run_operator(at, join, context, out);
                }
                if self.is_given_up() {
                    return Ok(false);
                }
            }
            _ => {}
        }
        match prefix.is_empty() {
            true => self.run_operator(at, Scan { at, input, relation }, context, out),
            false => self.join_index(at, &input, relation, context, out),
        }
    }

    /// Joins a batch with the rows whose keys begin with the bound values.
    fn join_index(
        &mut self,
        at: usize,
        input: &Bindings,
        relation: &StoredRelation,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { stored, path, prefix, checks, outputs, negated, range, .. } =
            &planned.step
        else {
            return Ok(true);
        };
        let path = &relation.paths[*path];
        let wanted: Vec<usize> = outputs.iter().chain(checks).map(|(column, _)| *column).collect();
        let join = IndexJoin {
            at,
            input,
            asked: &ProbeKeys::new(&planned.step, input, None, context.plan),
            main: &relation.paths[0],
            path,
            rows_planned: context.plan.infos[*stored].rows,
            wanted: &wanted,
            has_range: range.is_some() && prefix.len() < path.schema.keys.len(),
            once: *negated || (outputs.is_empty() && self.is_set()),
            negated: *negated,
        };
        self.run_operator(at, join, context, out)
    }

    /// The tries of a step and of those after it that bind its variable together with it, if there
    /// are such and all have tries.
    fn joins_together<'i>(
        &mut self,
        at: usize,
        input: &'i Bindings,
        context: &ExecContext<'_>,
    ) -> Result<Option<Vec<TrieJoin<'i>>>> {
        let together = self.steps[at].planned.group_steps;
        let Step::Stored { outputs, .. } = &self.steps[at].planned.step else { return Ok(None) };
        let (1.., Some(&(_, var))) = (together, outputs.first()) else { return Ok(None) };
        let mut joins = Vec::with_capacity(together + 1);
        for step in at..=at + together {
            let without = (step > at).then_some(var);
            match self.trie_join(step, input, without, context)? {
                Some(join) => joins.push(join),
                None => return Ok(None),
            }
        }
        Ok(Some(joins))
    }
}
