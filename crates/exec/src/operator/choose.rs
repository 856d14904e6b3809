//! Makes the operator of a step for each batch, and chooses it where the step is adaptive.
//!
//! # Which operator joins with a stored relation
//! As of a time: `temporal_scan`. Several relations that bind one variable together, or a trie that
//! is worth its making: `leapfrog_join`. A bound prefix of a stored order: `index_join`. Otherwise
//! `scan`.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::operator::filter::Filter;
use crate::operator::hash_join::HashJoin;
use crate::operator::index_join::IndexJoin;
use crate::operator::leapfrog_join::{LeapfrogJoin, TrieJoin};
use crate::operator::project::Project;
use crate::operator::scan::Scan;
use crate::operator::temporal_scan::TemporalScan;
use crate::operator::unnest::Unnest;
use crate::pipeline::Pipeline;
use crate::sink::Out;
use crate::storage::probe_keys::ProbeKeys;
use crate::storage::relation_source::{Readable, StoredRelation};
use plan::Step;

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
        match &planned.step {
            Step::Filter(_)
            | Step::Assign { compare: true, .. }
            | Step::Same { compare: true, .. } => {
                self.run_operator(at, Filter { at, input }, context, out)
            }
            Step::Assign { .. } | Step::Same { .. } => {
                self.run_operator(at, Project { at, input }, context, out)
            }
            Step::Member { .. } => {
                self.run_operator(at, Unnest { at, input: &input }, context, out)
            }
            Step::Derived { .. } => {
                let join = HashJoin { at, input: &input, table: None };
                self.run_operator(at, join, context, out)
            }
            Step::Stored { stored, .. } => match context.relation(*stored) {
                Readable::Stored(relation) => self.join_stored(at, input, &relation, context, out),
                Readable::Memory(table) => {
                    let join = HashJoin { at, input: &input, table: Some(&table) };
                    self.run_operator(at, join, context, out)
                }
            },
        }
    }

    /// Joins a batch with a relation in the store, by the operator that fits the batch.
    ///
    /// # Errors
    /// Those of the store, and what stops the query.
    fn join_stored(
        &mut self,
        at: usize,
        input: Bindings,
        relation: &StoredRelation,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored {
            stored, path, prefix, checks, outputs, negated, range, at: time, ..
        } = &planned.step
        else {
            return Ok(true);
        };
        if let (Some(expr), Some(_)) = (&self.steps[at].expr, time) {
            let times = context.times(expr, &input).map_err(|error| error.at(planned.span))?;
            let scan = TemporalScan { at, input: &input, relation, times: &times };
            return self.run_operator(at, scan, context, out);
        }
        if let Some(joins) = self.joins_together(at, &input, context)? {
            let join = LeapfrogJoin { at, input: &input, joins };
            return self.run_operator(at, join, context, out);
        }
        if self.is_given_up() {
            return Ok(false);
        }
        if let Some(join) = self.trie_join(at, &input, None, context)? {
            let join = LeapfrogJoin { at, input: &input, joins: vec![join] };
            return self.run_operator(at, join, context, out);
        }
        if self.is_given_up() {
            return Ok(false);
        }
        if prefix.is_empty() {
            return self.run_operator(at, Scan { at, input, relation }, context, out);
        }
        let asked = ProbeKeys::new(&planned.step, &input, None, context.plan);
        let stored_path = &relation.paths[*path];
        let mut wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        wanted.extend(checks.iter().map(|(column, _)| *column));
        let once = *negated || (outputs.is_empty() && self.is_set());
        let has_range = range.is_some() && prefix.len() < stored_path.schema.keys.len();
        let join = IndexJoin {
            at,
            input: &input,
            asked: &asked,
            main: &relation.paths[0],
            path: stored_path,
            rows_planned: context.plan.infos[*stored].rows,
            wanted: &wanted,
            has_range,
            once,
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
