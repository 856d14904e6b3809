//! Restricts rules to the values that the query needs: magic sets.
//!
//! # Why
//! `?[b] := path[1, b]` needs only the paths from 1, but bottom-up evaluation would compute all
//! paths. So each use of a rule with bound columns gets a copy of the rule, joined with a magic set
//! of the values of those columns (Bancilhon, Maier, Sagiv and Ullman, PODS 1986). Sideways
//! information passing follows the join order.
//!
//! # Invariants
//! 1. The rows of the entry stay the same: a copy is read only for values in its magic set.
//! 2. Columns with aggregates are never bound: a group is computed completely or not at all.
//! 3. A rule that is also needed as a whole is not copied. Rules that are negated or read by an
//!    algorithm are needed as a whole.
//! 4. A copy of a rule with meet aggregates reads itself but no other copy of the same rule. The
//!    other copy only has the final row of each group, and a condition may reject that row although
//!    it accepted an earlier one that the final row replaced.

use crate::catalog::RelationInfo;
use crate::cost;
use crate::ids::{Id, PerPredicate, PerStored, PerVar, PredicateId, VarId};
use crate::ir::{Expr, Literal, Predicate, PredicateKind, Program, Rule, Source};
use crate::order;
use crate::orderer::Orderer;
use crate::pipeline::PipelinePlan;
use crate::sizes::Sizes;
use crate::step::Version;
use crate::stratify::{Group, components_of};
use hashbrown::{HashMap, HashSet};

/// Maximum number of copies of rules. A query that needs more is not rewritten.
const COPIES_MAX: usize = 256;

/// The restricted program; `None` if nothing is bound or a rule cannot be ordered. `whole_rows` are
/// estimates for each predicate: a rule that is hardly larger than its magic set is not restricted.
pub(crate) fn rewrite(
    program: &Program,
    infos: &PerStored<RelationInfo>,
    whole_rows: &PerPredicate<Option<f64>>,
) -> Option<Program> {
    let mut rewriter = Rewriter {
        given: program,
        infos,
        whole_rows,
        rules_of: program.rules_of(),
        sizes: whole_rows.clone(),
        out: Program { rules: Vec::new(), ..program.clone() },
        whole: HashSet::new(),
        copies: HashMap::new(),
        work: Vec::new(),
        component: PerPredicate::of_groups(
            components_of(program).iter().map(Vec::as_slice),
            program.predicates.len(),
        ),
    };
    rewriter.want_whole(program.entry);
    loop {
        while let Some(task) = rewriter.work.pop() {
            rewriter.work_on(&task)?;
            if rewriter.copies.len() > COPIES_MAX {
                return None;
            }
        }
        let Some(whole) = rewriter.meet_of_other_copy() else { break };
        rewriter.want_whole(whole);
    }
    if rewriter.copies.is_empty() {
        return None;
    }
    Some(rewriter.finish())
}

enum Task {
    /// Process the rules of a predicate unchanged.
    Whole(PredicateId),
    /// Process the rules of a predicate's copy for these bound columns.
    Copy { of: PredicateId, bound: Vec<bool>, copy: PredicateId, asked: PredicateId },
}

struct Rewriter<'p> {
    given: &'p Program,
    infos: &'p PerStored<RelationInfo>,
    /// Estimated rows of the predicates, if known.
    whole_rows: &'p PerPredicate<Option<f64>>,
    /// For each predicate of the original program, the indexes of its rules.
    rules_of: PerPredicate<Vec<usize>>,
    /// As `whole_rows`, extended by copies and magic sets.
    sizes: PerPredicate<Option<f64>>,
    out: Program,
    /// Predicates that are needed as a whole.
    whole: HashSet<PredicateId>,
    /// The copy and its magic set, by predicate and bound columns.
    copies: HashMap<(PredicateId, Vec<bool>), (PredicateId, PredicateId)>,
    work: Vec<Task>,
    /// For each predicate, the index of its strongly connected component.
    component: PerPredicate<usize>,
}

impl Rewriter<'_> {
    fn want_whole(&mut self, predicate: PredicateId) {
        if self.whole.insert(predicate) {
            self.work.push(Task::Whole(predicate));
            if let PredicateKind::Fixed(fixed) = &self.given.predicates[predicate].kind {
                for input in &fixed.inputs {
                    if let Source::Derived(read) = input.source {
                        self.want_whole(read);
                    }
                }
            }
        }
    }

    fn want_copy(&mut self, of: PredicateId, bound: Vec<bool>) -> (PredicateId, PredicateId) {
        if let Some(&known) = self.copies.get(&(of, bound.clone())) {
            return known;
        }
        let original = &self.given.predicates[of];
        let pattern: String = bound.iter().map(|&is| if is { 'b' } else { 'f' }).collect();
        let name = format!("{}^{pattern}", original.name);
        let copy = self.out.predicates.push(Predicate { name, ..original.clone() });
        let columns = original.columns.iter().zip(&bound).filter(|(_, is)| **is);
        let columns: Vec<String> = columns.map(|(column, _)| column.clone()).collect();
        let asked = self.out.predicates.push(Predicate {
            name: format!("asked {}^{pattern}", original.name),
            kind: PredicateKind::Inline { aggregates: columns.iter().map(|_| None).collect() },
            columns,
            span: original.span,
            is_magic_set: true,
            is_sorted: false,
        });
        self.sizes.push(original.is_magic_set.then_some(cost::ROWS_MAGIC));
        self.sizes.push(Some(cost::ROWS_MAGIC));
        self.copies.insert((of, bound.clone()), (copy, asked));
        self.work.push(Task::Copy { of, bound, copy, asked });
        (copy, asked)
    }

    fn work_on(&mut self, task: &Task) -> Option<()> {
        let given = self.given;
        let (of, copied) = match task {
            Task::Whole(of) => (*of, None),
            Task::Copy { of, bound, copy, asked } => (*of, Some((bound, *copy, *asked))),
        };
        for place in 0..self.rules_of[of].len() {
            let mut rule = given.rules[self.rules_of[of][place]].clone();
            if let Some((bound, copy, asked)) = copied {
                let head = rule.head.iter().zip(bound).filter(|(_, is)| **is);
                let mut args: Vec<Option<VarId>> = Vec::new();
                let mut same = Vec::new();
                for (&var, _) in head {
                    // A variable may occur in two columns of the head, but only once in an atom.
                    if args.contains(&Some(var)) {
                        let other = rule.variables.fresh();
                        args.push(Some(other));
                        same.push(Literal::Same(var, other));
                    } else {
                        args.push(Some(var));
                    }
                }
                let source = Source::Derived(asked);
                let span = rule.span;
                rule.body.insert(0, Literal::Atom { source, args, negated: false, at: None, span });
                rule.body.extend(same);
                rule.predicate = copy;
            }
            let rule = self.restrict(rule, of, copied.is_some())?;
            self.out.rules.push(rule);
        }
        Some(())
    }

    /// The rule with derived relations replaced by their copies, where columns are bound.
    fn restrict(&mut self, rule: Rule, of: PredicateId, is_copy: bool) -> Option<Rule> {
        let unchanged = PerPredicate::default();
        let sizes = Sizes { predicates: &self.sizes, unchanged: &unchanged, infos: self.infos };
        let (places, rows) = handed_on(&self.out, &rule, &sizes, is_copy)?;
        let mut bound = PerVar::filled(false, rule.variables.len());
        let mut body: Vec<Literal> = Vec::with_capacity(rule.body.len());
        for (step, &place) in places.iter().enumerate() {
            let mut literal = rule.body[place].clone();
            if let Literal::Atom { source: Source::Derived(read), args, negated, .. } = &mut literal
                && read.place() < self.given.predicates.len()
            {
                let asked: Vec<bool> = match *negated {
                    true => vec![false; args.len()],
                    false => self.bound_columns(*read, args, &bound),
                };
                // A rule that is computed as a whole reads its own component as a whole.
                let is_own = !is_copy && self.component[*read] == self.component[of];
                let before = step.checked_sub(1).map_or(1.0, |last| rows[last]);
                let is_less =
                    self.whole_rows[*read].is_none_or(|rows| before * cost::MAGIC_RATIO_MIN < rows);
                if asked.contains(&true) && !is_own && (is_copy || is_less) {
                    let (copy, set) = self.want_copy(*read, asked.clone());
                    let head: Vec<VarId> = args
                        .iter()
                        .zip(&asked)
                        .filter(|(_, is)| **is)
                        .filter_map(|(var, _)| *var)
                        .collect();
                    self.ask(&rule, set, head, &body);
                    *read = copy;
                } else {
                    self.want_whole(*read);
                }
            }
            literal.each_var(&mut |var| bound[var] = true);
            body.push(literal);
        }
        Some(Rule { body, ..rule })
    }

    /// The columns of an atom that are bound and have no aggregate.
    fn bound_columns(
        &self,
        read: PredicateId,
        args: &[Option<VarId>],
        bound: &PerVar<bool>,
    ) -> Vec<bool> {
        let PredicateKind::Inline { aggregates } = &self.given.predicates[read].kind else {
            return vec![false; args.len()];
        };
        let columns = args.iter().zip(aggregates);
        columns.map(|(var, one)| one.is_none() && var.is_some_and(|var| bound[var])).collect()
    }

    /// Adds the rule of a magic set: the literals before the atom that are connected to the bound
    /// variables.
    fn ask(&mut self, rule: &Rule, set: PredicateId, head: Vec<VarId>, before: &[Literal]) {
        let mut needed = PerVar::filled(false, rule.variables.len());
        head.iter().for_each(|&var| needed[var] = true);
        let mut taken = vec![false; before.len()];
        loop {
            let mut grown = false;
            for (literal, taken) in before.iter().zip(&mut taken) {
                let mut touches = false;
                literal.each_var(&mut |var| touches |= needed[var]);
                if touches && !*taken {
                    *taken = true;
                    grown = true;
                    literal.each_var(&mut |var| needed[var] = true);
                }
            }
            if !grown {
                break;
            }
        }
        let body: Vec<Literal> = before
            .iter()
            .zip(&taken)
            .filter(|(_, taken)| **taken)
            .map(|(literal, _)| literal.clone())
            .collect();
        // A rule that derives a magic set from itself adds nothing.
        if let [Literal::Atom { source: Source::Derived(one), args, negated: false, .. }] =
            body.as_slice()
            && *one == set
            && args.iter().copied().eq(head.iter().map(|&var| Some(var)))
        {
            return;
        }
        let (variables, span) = (rule.variables.clone(), rule.span);
        self.out.rules.push(Rule { predicate: set, head, variables, body, span });
    }

    /// A predicate with meet aggregates that has a copy which reads another copy.
    fn meet_of_other_copy(&self) -> Option<PredicateId> {
        let copy_of: HashMap<PredicateId, PredicateId> =
            self.copies.iter().map(|((of, _), (copy, _))| (*copy, *of)).collect();
        self.out.rules.iter().find_map(|rule| {
            let of = *copy_of.get(&rule.predicate)?;
            let reads_other = |literal: &Literal| match literal {
                Literal::Atom { source: Source::Derived(read), .. } => {
                    *read != rule.predicate && copy_of.get(read) == Some(&of)
                }
                _ => false,
            };
            let is_meet = self.given.predicates[of].is_meet() && !self.whole.contains(&of);
            (is_meet && rule.body.iter().any(reads_other)).then_some(of)
        })
    }

    /// Returns the program. Copies of rules that turned out to be needed as a whole are replaced by
    /// the originals.
    fn finish(mut self) -> Program {
        let mut instead: HashMap<PredicateId, PredicateId> = HashMap::new();
        for ((of, _), (copy, _)) in &self.copies {
            if self.whole.contains(of) {
                instead.insert(*copy, *of);
            }
        }
        for rule in &mut self.out.rules {
            for literal in &mut rule.body {
                if let Literal::Atom { source: Source::Derived(read), .. } = literal
                    && let Some(&whole) = instead.get(read)
                {
                    *read = whole;
                }
            }
        }
        self.out
    }
}

/// The order for sideways information passing: the positions of the literals, and the estimated
/// rows after each. A copy starts with its magic set and avoids atoms without bound variables as
/// long as possible, because such an atom needs its relation as a whole.
fn handed_on(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    is_copy: bool,
) -> Option<(Vec<usize>, Vec<f64>)> {
    if is_copy {
        let mut asked_first = Orderer::looking(program, rule, sizes);
        if asked_first.run(Some(0), &|_| Version::Total).is_none() {
            let rows = asked_first.steps.iter().map(|planned| planned.rows).collect();
            return Some((asked_first.places, rows));
        }
    }
    let plan = order::order(program, rule, sizes, &|_| Version::Total).ok()?;
    let PipelinePlan { places, steps, .. } = match plan.tried {
        Some(tried) => tried.plan,
        None => plan,
    };
    Some((places, steps.iter().map(|planned| planned.rows).collect()))
}

/// For each column of a magic set of a recursive group, whether every rule that extends the set
/// takes the column's value from the set itself. `rules` are those of the set.
pub(crate) fn unchanged_columns<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    group: &Group,
) -> Vec<bool> {
    let mut unchanged = Vec::new();
    for rule in rules {
        unchanged.resize(rule.head.len(), true);
        for literal in &rule.body {
            let Literal::Atom { source: Source::Derived(read), args, .. } = literal else {
                continue;
            };
            if *read == rule.predicate {
                let same = args.iter().zip(&rule.head).map(|(arg, head)| *arg == Some(*head));
                unchanged.iter_mut().zip(same).for_each(|(unchanged, same)| *unchanged &= same);
            } else if group.has(*read) {
                unchanged.fill(false);
            }
        }
    }
    unchanged
}

/// Whether the query disables the rewriting.
pub(crate) fn is_disabled(query: &syntax::Query) -> bool {
    let Some(expr) = &query.options.disable_magic_rewrite else { return false };
    let known = crate::resolve::resolve_expression(expr, &mut Vec::new());
    matches!(known, Ok(Expr::Const(model::Value::Bool(true))))
}
