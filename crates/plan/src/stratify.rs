//! Groups predicates into strata and orders them.
//!
//! # Invariants
//! 1. A group comes after all groups that it reads.
//! 2. Within a group there is no negation, no ordinary aggregate and no algorithm input: such a
//!    cycle has no generally accepted meaning.

use crate::ids::{PerPredicate, PredicateId};
use crate::ir::{Literal, PredicateKind, Program, Source};
use syntax::Diagnostic;

/// Predicates that depend on each other and are computed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Indexes of the predicates, in ascending order.
    pub predicates: Vec<PredicateId>,
    /// Whether a predicate of the group reads one of the group.
    pub is_recursive: bool,
}

impl Group {
    /// Whether a predicate is in the group.
    #[must_use]
    pub fn has(&self, predicate: PredicateId) -> bool {
        self.predicates.binary_search(&predicate).is_ok()
    }
}

/// How a predicate depends on another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Plainly,
    Negated,
    Aggregated,
    Whole,
}

/// The groups that the entry depends on, in evaluation order.
///
/// # Errors
/// A cycle through negation, an ordinary aggregate or an algorithm.
pub(crate) fn stratify(program: &Program) -> Result<Vec<Group>, Diagnostic> {
    let reads = reads_of(program);
    let groups = components(&reads, program.entry);
    let group_of = PerPredicate::of_groups(groups.iter().map(Vec::as_slice), reads.len());
    let mut found = Vec::with_capacity(groups.len());
    for (number, mut predicates) in groups.into_iter().enumerate() {
        let mut is_recursive = false;
        for &reader in &predicates {
            for &(read, how) in reads[reader].iter().filter(|(read, _)| group_of[*read] == number) {
                is_recursive = true;
                if how != Reads::Plainly {
                    return Err(unstratified(program, reader, read, how));
                }
            }
        }
        predicates.sort_unstable();
        found.push(Group { predicates, is_recursive });
    }
    Ok(found)
}

/// The strongly connected components that the entry depends on, without checking cycles.
pub(crate) fn components_of(program: &Program) -> Vec<Vec<PredicateId>> {
    components(&reads_of(program), program.entry)
}

/// The dependencies of each predicate.
fn reads_of(program: &Program) -> PerPredicate<Vec<(PredicateId, Reads)>> {
    let mut reads: PerPredicate<Vec<(PredicateId, Reads)>> =
        PerPredicate::filled(Vec::new(), program.predicates.len());
    for rule in &program.rules {
        let aggregated = program.predicates[rule.predicate].is_aggregated();
        for literal in &rule.body {
            let Literal::Atom { source: Source::Derived(read), negated, .. } = literal else {
                continue;
            };
            let is_meet = program.predicates[rule.predicate].is_meet();
            let how = match (negated, aggregated) {
                (true, _) => Reads::Negated,
                (false, true) if !(is_meet && *read == rule.predicate) => Reads::Aggregated,
                (false, _) => Reads::Plainly,
            };
            reads[rule.predicate].push((*read, how));
        }
    }
    for (reader, predicate) in program.predicates.enumerate() {
        if let PredicateKind::Fixed(fixed) = &predicate.kind {
            for input in &fixed.inputs {
                if let Source::Derived(read) = input.source {
                    reads[reader].push((read, Reads::Whole));
                }
            }
        }
    }
    reads
}

fn unstratified(
    program: &Program,
    reader: PredicateId,
    read: PredicateId,
    how: Reads,
) -> Diagnostic {
    // Without the suffix that `resolve` adds to the names of derived rows.
    let name = |predicate: PredicateId| program.predicates[predicate].name.split('#').next();
    let [reader_name, read_name] = [reader, read].map(|one| name(one).unwrap_or_default());
    let (through, hint) = match how {
        Reads::Negated => ("negation", "let the negated rule depend on stored relations only"),
        Reads::Whole => ("an algorithm", "an algorithm needs its whole input first"),
        Reads::Aggregated | Reads::Plainly => (
            "an aggregate",
            "in recursion only min, max, and other meet aggregates are possible, as the last columns of a rule that reads only itself",
        ),
    };
    let message = match reader_name == read_name {
        true => format!("rule `{reader_name}` depends on itself through {through}"),
        false => format!(
            "rules `{reader_name}` and `{read_name}` depend on each other through {through}"
        ),
    };
    let span = program.predicates[reader].span;
    Diagnostic { message, span, hint: Some(hint.to_owned()) }
}

/// Strongly connected components that are reachable from `entry`, each after those it reads
/// (Tarjan, SIAM J. Comput. 1972). Uses an explicit stack, so that a chain of thousands of rules
/// cannot overflow the thread's stack.
fn components(
    reads: &PerPredicate<Vec<(PredicateId, Reads)>>,
    entry: PredicateId,
) -> Vec<Vec<PredicateId>> {
    const NEW: usize = usize::MAX;
    let (mut index, mut low) =
        (PerPredicate::filled(NEW, reads.len()), PerPredicate::filled(0, reads.len()));
    let (mut path, mut on_path) = (Vec::new(), PerPredicate::filled(false, reads.len()));
    let mut found = Vec::new();
    let mut calls = vec![(entry, 0)];
    let mut next = 0;
    while let Some((at, edge)) = calls.pop() {
        if edge == 0 {
            index[at] = next;
            low[at] = next;
            next += 1;
            path.push(at);
            on_path[at] = true;
        }
        match reads[at].get(edge) {
            Some(&(to, _)) => {
                calls.push((at, edge + 1));
                if index[to] == NEW {
                    calls.push((to, 0));
                } else if on_path[to] {
                    low[at] = low[at].min(index[to]);
                }
            }
            None => {
                if let Some(&(caller, _)) = calls.last() {
                    low[caller] = low[caller].min(low[at]);
                }
                if low[at] == index[at] {
                    let start = path.iter().rposition(|&one| one == at).unwrap_or(0);
                    let component = path.split_off(start);
                    component.iter().for_each(|&one| on_path[one] = false);
                    found.push(component);
                }
            }
        }
    }
    found
}
