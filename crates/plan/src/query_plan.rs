//! An executable plan: the strata of a query, with the plans of their rules.

use crate::catalog::RelationInfo;
use crate::constants::Constant;
use crate::ids::{PerPredicate, PerStored};
use crate::ir::{Literal, PredicateKind, Program, Source};
use crate::pipeline::PipelinePlan;
use crate::stratify::Group;
use model::Type;
use std::sync::{Arc, OnceLock};

/// An executable plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rewritten rules.
    pub program: Program,
    /// The stored relations, by the ids of [`Program::stored`].
    pub infos: PerStored<RelationInfo>,
    /// Strata in evaluation order. Each is a strongly connected component of the dependency graph.
    pub groups: Vec<GroupPlan>,
    /// For each predicate, the index of its group; `usize::MAX` if it is not needed.
    pub group_of: PerPredicate<usize>,
    /// Constant expressions to evaluate before any row is read.
    pub constants: Vec<Constant>,
    /// The type of each result column, where known ([`Plan::result_types`]).
    pub(crate) types: OnceLock<Arc<[Option<Type>]>>,
}

/// How the predicates of a stratum are computed.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// Its predicates.
    pub group: Group,
    /// Plans of the rules that define its inline predicates.
    pub rules: Vec<RulePlan>,
    /// Later groups that read it, in ascending order.
    pub readers: Vec<Reader>,
}

/// A later group that reads a group.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Index of the reading group.
    pub group: usize,
    /// The reading rules, as ascending indexes into its [`GroupPlan::rules`].
    pub rules: Vec<usize>,
    /// Whether an algorithm of the group reads it.
    pub is_input: bool,
}

/// How a rule is evaluated.
#[derive(Clone, Debug)]
pub struct RulePlan {
    /// Index in [`Program::rules`].
    pub rule: usize,
    /// Plan of the initial evaluation. `None` for a rule that reads its own group, which is empty
    /// then.
    pub first: Option<PipelinePlan>,
    /// Plans of the semi-naive rounds, one for each atom that reads the rule's own group. That atom
    /// reads the delta.
    pub rounds: Vec<PipelinePlan>,
}

impl Plan {
    /// Builds the plan and records the readers of each group.
    pub(crate) fn new(
        program: Program,
        infos: PerStored<RelationInfo>,
        mut groups: Vec<GroupPlan>,
        constants: Vec<Constant>,
    ) -> Self {
        let of_groups = groups.iter().map(|group| group.group.predicates.as_slice());
        let group_of = PerPredicate::of_groups(of_groups, program.predicates.len());
        let read_by = |source: &Source| match *source {
            Source::Derived(read) => Some(group_of[read]),
            Source::Stored(_) => None,
        };
        for reader in 0..groups.len() {
            let mut found: Vec<(usize, Option<usize>)> = Vec::new();
            for (place, rule) in groups[reader].rules.iter().enumerate() {
                for literal in &program.rules[rule.rule].body {
                    if let Literal::Atom { source, .. } = literal {
                        found.extend(read_by(source).map(|group| (group, Some(place))));
                    }
                }
            }
            for &predicate in &groups[reader].group.predicates {
                if let PredicateKind::Fixed(fixed) = &program.predicates[predicate].kind {
                    let inputs = fixed.inputs.iter().filter_map(|input| read_by(&input.source));
                    found.extend(inputs.map(|group| (group, None)));
                }
            }
            for (read, place) in found {
                // A group that reads itself is not a later reader.
                let Some(of) = groups[..reader].get_mut(read) else { continue };
                let is_new = of.readers.last().is_none_or(|last| last.group != reader);
                if is_new {
                    of.readers.push(Reader { group: reader, rules: Vec::new(), is_input: false });
                }
                let Some(last) = of.readers.last_mut() else { continue };
                match place {
                    None => last.is_input = true,
                    Some(place) if last.rules.last() == Some(&place) => {}
                    Some(place) => last.rules.push(place),
                }
            }
        }
        Self { program, infos, groups, group_of, constants, types: OnceLock::new() }
    }
}
