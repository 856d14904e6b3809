//! Plans queries: from rules to checked strata and join orders. Pure functions without storage or
//! clock.
//!
//! # Passes
//! 1. [`resolve`]: names become indexes, bodies become lists of literals.
//! 2. `inline`: rules that only rename or restrict a relation are unfolded into their readers.
//! 3. `push`: conditions move into the rules whose columns they compare.
//! 4. `stratify`: predicates are grouped into strata.
//! 5. `order`: finds a join order for each rule, and one for each of its recursive atoms.
//!    `orderer` builds an order, `alternative` adds one to be tried first, `round_orders` others
//!    for a semi-naive round, `row_order` one that finds the first rows of the result first,
//!    `intersection` groups steps that are answered by intersection, `physical` names operators,
//!    `live` finds live variables, and `distinct` proves rows distinct. Estimates are those of
//!    `estimate`, costs those of `cost`.
//! 6. `magic`: by these orders, rules are restricted to the values that the query needs (magic
//!    sets). The rewritten rules are grouped and ordered again, and dropped if they have no strata.
//!
//! With debug assertions, `check` verifies the result of each pass.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `cost`, `search`, `ids`: the cost model, the parameters of searches, numbers of relations.
//! 2. `ir`, `catalog`: rules and stored relations.
//! 3. `resolve::message`, `resolve::flatten`, `resolve::expression`, `resolve::scope`: errors,
//!    disjunctions, expressions and variables of a rule that is resolved.
//! 4. `resolve::resolver`: the state of name resolution.
//! 5. `resolve::declare`, `resolve::spelled`, `resolve::search`, `resolve::literal`,
//!    `resolve::in_order`, `resolve::input`, `resolve`: heads, atoms and rules.
//! 6. `key_value`, `bounds`, `constants`, `duplicates`, `distinct`, `stratify`: facts about rules.
//! 7. `push`, `inline`: passes that rewrite rules before they are ordered.
//! 8. `step`, `physical`, `pipeline`: steps, their operators, the plan of a body.
//! 9. `check`, `intersection`, `live`: passes over the steps of a body.
//! 10. `sizes`, `frontier`, `estimate`: numbers of rows.
//! 11. `orderer`, `finish`: one order of a body, and its plan.
//! 12. `alternative`, `round_orders`, `row_order`: other orders of a body.
//! 13. `order`, `magic`: the choice of an order, and magic sets, which follow it.
//! 14. `query_plan`, `inferred`, `types`: the plan of a query, and the types of its columns.

mod alternative;
mod bounds;
mod catalog;
mod check;
mod constants;
mod cost;
mod distinct;
mod duplicates;
mod estimate;
mod finish;
mod frontier;
mod ids;
mod inferred;
mod inline;
mod intersection;
mod ir;
mod key_value;
mod live;
mod magic;
mod order;
mod orderer;
mod physical;
mod pipeline;
mod push;
mod query_plan;
mod resolve;
mod round_orders;
mod row_order;
mod search;
mod sizes;
mod step;
mod stratify;
mod types;

pub use bounds::RangeHint;
pub use catalog::{
    AccessPath, AlgorithmColumns, Catalog, ColumnInfo, DictionaryColumns, PathColumn,
    PrefixStatistics, RelationInfo,
};
pub use constants::{Constant, Wanted};
pub use cost::{LOOK_UP_ROWS, SEEK_ROWS};
pub use duplicates::Duplicates;
pub use ids::{Id, PerId, PerPredicate, PerStored, PerVar, PredicateId, StoredId, VarId};
pub use ir::{
    AggregateUse, Expr, FixedInput, FixedUse, Literal, Predicate, PredicateKind, Program, Rule,
    SearchUse, Source, StoredUse,
};
pub use physical::{OperatorName, Physical};
pub use pipeline::{Alternative, InOrder, PipelinePlan, PlannedStep, RowOrder, Ties};
pub use query_plan::{GroupPlan, Plan, Reader, RulePlan};
pub use resolve::{resolve, resolve_expression, resolve_over};
pub use search::{SearchInput, SearchMethod, SearchOutput};
pub use step::{Step, Version};
pub use stratify::Group;

use check::Heads;
use row_order::FirstRows;
use sizes::Sizes;
use syntax::Diagnostic;

/// Plans a query.
///
/// # Errors
/// All errors that were found in it.
pub fn plan(query: &syntax::Query, catalog: &dyn Catalog) -> Result<Plan, Vec<Diagnostic>> {
    let (mut program, infos) = resolve(query, catalog)?;
    check::program("resolve", Heads::Unknown, &program, &infos);
    if !magic::is_disabled(query) {
        inline::inline(&mut program, &infos);
        check::program("inline", Heads::Unknown, &program, &infos);
        push::push(&mut program);
        check::program("push", Heads::Unknown, &program, &infos);
    }
    let groups = stratify::stratify(&program).map_err(|problem| vec![problem])?;
    let mut is_read = PerPredicate::filled(false, program.predicates.len());
    groups.iter().flat_map(|group| &group.predicates).for_each(|&read| is_read[read] = true);
    let constants = constants::find(&program, &is_read);
    let (groups, whole_rows) = plan_groups(query, &program, &infos, groups)?;
    if !magic::is_disabled(query)
        && program.rules.iter().any(|rule| rule.body.iter().any(is_derived))
        && let Some(program) = magic::rewrite(&program, &infos, &whole_rows)
        // A magic set may depend on something that is negated or aggregated later. Then the query
        // runs without the rewriting.
        && let Ok(groups) = stratify::stratify(&program)
        && let Ok((groups, _)) = plan_groups(query, &program, &infos, groups)
    {
        check::program("magic", Heads::Bound, &program, &infos);
        return Ok(Plan::new(program, infos, groups, constants));
    }
    Ok(Plan::new(program, infos, groups, constants))
}

fn is_derived(literal: &Literal) -> bool {
    matches!(literal, Literal::Atom { source: Source::Derived(_), .. })
}

/// The plans of all groups, and the estimated rows of each predicate.
type Groups = (Vec<GroupPlan>, PerPredicate<Option<f64>>);

/// Plans all groups. Also returns the estimated number of rows of each predicate, if there is an
/// estimate.
fn plan_groups(
    query: &syntax::Query,
    program: &Program,
    infos: &PerStored<RelationInfo>,
    groups: Vec<Group>,
) -> Result<Groups, Vec<Diagnostic>> {
    let asked = |predicate: &Predicate| predicate.is_magic_set.then_some(cost::ROWS_MAGIC);
    let mut sizes: PerPredicate<Option<f64>> = program.predicates.iter().map(asked).collect();
    let mut whole_rows = PerPredicate::filled(None, program.predicates.len());
    let mut unchanged = PerPredicate::filled(Vec::new(), program.predicates.len());
    let mut planned = Vec::with_capacity(groups.len());
    let mut problems = Vec::new();
    let rules_of = program.rules_of();
    let first = FirstRows::of_query(query, program).filter(|_| rules_of[program.entry].len() == 1);
    let mut rows = PerPredicate::filled(0.0, program.predicates.len());
    for group in groups {
        for &predicate in &group.predicates {
            if group.is_recursive && program.predicates[predicate].is_magic_set {
                let rules = rules_of[predicate].iter().map(|&rule| &program.rules[rule]);
                unchanged[predicate] = magic::unchanged_columns(rules, &group);
            }
        }
        let mut rules = Vec::new();
        let mut numbers: Vec<usize> =
            group.predicates.iter().flat_map(|&one| &rules_of[one]).copied().collect();
        // In the order of the script, across the predicates of the group.
        numbers.sort_unstable();
        for number in numbers {
            let first = first.as_ref().filter(|_| program.rules[number].predicate == program.entry);
            let sizes = Sizes { predicates: &sizes, unchanged: &unchanged, infos };
            match plan_rule(program, number, &group, &sizes, first) {
                Ok(plan) => {
                    let found = plan.first.iter().chain(&plan.rounds).map(|body| body.rows);
                    rows[program.rules[number].predicate] += found.fold(0.0, f64::max);
                    rules.push(plan);
                }
                Err(problem) => problems.push(problem),
            }
        }
        for &predicate in &group.predicates {
            let is_inline =
                matches!(program.predicates[predicate].kind, PredicateKind::Inline { .. });
            if is_inline && !program.predicates[predicate].is_magic_set {
                let grown = if group.is_recursive { cost::RECURSION_GROWS } else { 1.0 };
                sizes[predicate] = Some((rows[predicate] * grown).clamp(1.0, cost::ROWS_MAX));
                if !group.is_recursive {
                    whole_rows[predicate] = sizes[predicate];
                }
            }
        }
        planned.push(GroupPlan { group, rules, readers: Vec::new() });
    }
    match problems.is_empty() {
        true => Ok((planned, whole_rows)),
        false => Err(problems),
    }
}

fn plan_rule(
    program: &Program,
    number: usize,
    group: &Group,
    sizes: &Sizes<'_>,
    first_rows: Option<&FirstRows>,
) -> Result<RulePlan, Diagnostic> {
    let rule = &program.rules[number];
    let is_own = |literal: &Literal| match literal {
        Literal::Atom { source: Source::Derived(read), .. } => {
            group.is_recursive && group.has(*read)
        }
        _ => false,
    };
    let own: Vec<usize> = (0..rule.body.len()).filter(|&i| is_own(&rule.body[i])).collect();
    let is_among_own = |place: &usize| own.binary_search(place).is_ok();
    if own.is_empty() {
        let mut first = order::order(program, rule, sizes, &|_| Version::Total)?;
        if !group.is_recursive {
            first.in_order = row_order::find(program, rule, sizes, first_rows, &first);
        }
        return Ok(RulePlan { rule: number, first: Some(first), rounds: Vec::new() });
    }
    let rounds = own.iter().map(|&delta| {
        order::order(program, rule, sizes, &|place| match place {
            place if place == delta => Version::Delta,
            // A combination of two new rows is found only once: by the plan of the first atom.
            place if place > delta && is_among_own(&place) => Version::Old,
            _ => Version::Total,
        })
    });
    Ok(RulePlan { rule: number, first: None, rounds: rounds.collect::<Result<_, _>>()? })
}
