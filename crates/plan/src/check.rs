//! Checks the invariants of a program after each pass. Active only with debug assertions: in tests,
//! fuzzing and the simulator.

use crate::catalog::RelationInfo;
use crate::ids::{PerStored, PerVar, VarId};
use crate::ir::{Literal, PredicateKind, Program, Rule, Source};
use crate::pipeline::PipelinePlan;
use crate::step::Step;

/// Whether every head variable must be bound by now. Scripts with unbound variables are rejected
/// only when bodies are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heads {
    Unknown,
    Bound,
}

/// Checks a program after the pass with this name.
///
/// # Panics
/// With debug assertions, if an invariant of the intermediate representation is violated.
pub(crate) fn program(
    pass: &str,
    heads: Heads,
    program: &Program,
    infos: &PerStored<RelationInfo>,
) {
    if cfg!(debug_assertions) {
        for rule in &program.rules {
            if let Err(what) = rule_is_sound(heads, program, rule, infos) {
                let name = &program.predicates[rule.predicate].name;
                panic!("after {pass}: rule `{name}`: {what}: {rule:?}");
            }
        }
    }
}

fn rule_is_sound(
    heads: Heads,
    program: &Program,
    rule: &Rule,
    infos: &PerStored<RelationInfo>,
) -> Result<(), String> {
    let predicate = &program.predicates[rule.predicate];
    let is = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    is(matches!(predicate.kind, PredicateKind::Inline { .. }), "a body without an inline rule")?;
    is(rule.head.len() == predicate.columns.len(), "a head of another length than its columns")?;
    let mut named = PerVar::filled(false, rule.variables.len());
    let mut is_known = true;
    for literal in &rule.body {
        literal.each_var(&mut |var| is_known &= named.get(var).is_some());
        is(is_known, "a variable that it does not have")?;
        let Literal::Atom { source, args, negated, .. } = literal else {
            if !matches!(literal, Literal::Condition(_)) {
                literal.each_var(&mut |var| named[var] = true);
            }
            continue;
        };
        let (columns, what) = match *source {
            Source::Derived(read) => (program.predicates[read].columns.len(), "rule"),
            Source::Stored(read) => (infos[read].columns.len(), "stored relation"),
        };
        is(args.len() == columns, &format!("{} places for a {what} of {columns}", args.len()))?;
        let mut vars: Vec<VarId> = args.iter().flatten().copied().collect();
        vars.sort_unstable();
        if !negated {
            let are_distinct = vars.windows(2).all(|two| two[0] != two[1]);
            is(are_distinct, "an atom with a variable in two places")?;
            vars.iter().for_each(|&var| named[var] = true);
        }
    }
    is(
        heads == Heads::Unknown || rule.head.iter().all(|&var| named.get(var) == Some(&true)),
        "a head that nothing binds",
    )
}

/// Checks the order of a body.
///
/// # Panics
/// With debug assertions, if a literal is missing or taken twice, or a step uses a variable that no
/// earlier step binds.
pub(crate) fn body(rule: &Rule, body: &PipelinePlan) {
    if !cfg!(debug_assertions) {
        return;
    }
    let mut places = body.places.clone();
    places.sort_unstable();
    assert!(places.into_iter().eq(0..rule.body.len()), "literals left out or twice: {body:?}");
    let mut bound = PerVar::filled(false, rule.variables.len());
    for (planned, &place) in body.steps.iter().zip(&body.places) {
        let mut needs = Vec::new();
        match &planned.step {
            Step::Filter(expr)
            | Step::Assign { value: expr, .. }
            | Step::Member { list: expr, .. } => {
                expr.each_var(&mut |var| needs.push(var));
            }
            Step::Same { a, b, compare } => {
                needs.push(*a);
                needs.extend(compare.then_some(*b));
            }
            Step::Derived { bound, .. } => needs.extend(bound.iter().map(|(_, var)| *var)),
            Step::Stored { prefix, checks, at, .. } => {
                needs.extend(prefix.iter().copied().chain(checks.iter().map(|(_, var)| *var)));
                at.iter().for_each(|at| at.each_var(&mut |var| needs.push(var)));
            }
            Step::Search(search) => search.each_read(&mut |var| needs.push(var)),
        }
        assert!(
            needs.iter().all(|&var| bound[var]),
            "a step before the bindings it needs: {body:?}"
        );
        rule.body[place].each_var(&mut |var| bound[var] = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::ids::PerPredicate;
    use crate::order;
    use crate::sizes::Sizes;
    use crate::step::Version;

    struct Nothing;

    impl Catalog for Nothing {
        fn relation(&self, _name: &str) -> Result<Option<RelationInfo>, String> {
            Ok(None)
        }

        fn names(&self) -> Vec<String> {
            Vec::new()
        }
    }

    fn resolved() -> Program {
        let text = "r[a, b] := a = 1, b = a ?[b] := r[a, b], a > 0";
        let Ok(syntax::Script::Query(query)) = syntax::parse(text) else { panic!("no query") };
        crate::resolve(&query, &Nothing).unwrap().0
    }

    #[test]
    fn what_the_first_pass_leaves_is_sound() {
        program("resolve", Heads::Bound, &resolved(), &PerStored::default());
    }

    #[test]
    #[should_panic(expected = "after magic: rule `r`: a head that nothing binds")]
    fn a_head_that_nothing_binds_is_found() {
        let mut broken = resolved();
        broken.rules[0].body.pop();
        program("push", Heads::Unknown, &broken, &PerStored::default());
        program("magic", Heads::Bound, &broken, &PerStored::default());
    }

    #[test]
    #[should_panic(expected = "an atom with a variable in two places")]
    fn a_variable_in_two_places_of_an_atom_is_found() {
        let mut broken = resolved();
        let Literal::Atom { args, .. } = &mut broken.rules[1].body[0] else { panic!("no atom") };
        args[0] = args[1];
        program("push", Heads::Unknown, &broken, &PerStored::default());
    }

    #[test]
    #[should_panic(expected = "a step before the bindings it needs")]
    fn a_step_before_the_bindings_it_needs_is_found() {
        let resolved = resolved();
        let rule = &resolved.rules[0];
        let (predicates, unchanged) = (PerPredicate::filled(None, 2), PerPredicate::default());
        let sizes =
            Sizes { predicates: &predicates, unchanged: &unchanged, infos: &PerStored::default() };
        let mut plan = order::order(&resolved, rule, &sizes, &|_| Version::Total).unwrap();
        plan.steps.reverse();
        plan.places.reverse();
        body(rule, &plan);
    }
}
