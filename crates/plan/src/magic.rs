//! Restricts rules to what the query asks of them: magic sets.
//!
//! # Why
//! `?[b] := path[1, b]` asks for the paths from 1. Computed bottom up, `path` would be all paths
//! there are. So each use of a rule with bound columns gets a copy of the rule that is joined with
//! the set of values those columns are asked for (Bancilhon, Maier, Sagiv and Ullman, PODS 1986;
//! with the joins' own order for passing bindings sideways).
//!
//! # Invariants
//! 1. The entry's rows stay the same: a copy is read only where its set holds what is asked.
//! 2. Columns of aggregates are never bound: a group is asked for whole or not at all.
//! 3. A rule that is also needed whole is not copied; what is negated or read by an algorithm is
//!    needed whole.
//! 4. A copy of a rule with meet aggregates reads itself and no other copy of that rule: the
//!    other's rows are the last of their groups, and a condition may refuse those where it took the
//!    ones that they bettered.

use crate::ASKED_ROWS;
use crate::catalog::RelationInfo;
use crate::ir::{Expr, Literal, Predicate, PredicateKind, Program, Rule, Source, Var};
use crate::order::{self, Orderer, Sizes, Version};
use hashbrown::{HashMap, HashSet};

/// How many times as many rows a rule must have as it is asked for.
const LESS: f64 = 4.0;

/// Copies of rules that a rewriting may make; a query that needs more runs as it is.
const COPIES_MAX: usize = 256;

/// The restricted program; `None` where nothing is bound, or a rule cannot be ordered. `whole_rows`
/// are the rows that predicates are thought to have, where that is known: nobody asks with a set
/// for a rule that is hardly larger.
pub(crate) fn rewrite(
    program: &Program,
    infos: &[RelationInfo],
    whole_rows: &[Option<f64>],
) -> Option<Program> {
    let mut rewriter = Rewriter {
        given: program,
        infos,
        whole_rows,
        rules_of: program.rules_of(),
        sizes: whole_rows.to_vec(),
        out: Program { rules: Vec::new(), ..program.clone() },
        whole: HashSet::new(),
        copies: HashMap::new(),
        work: Vec::new(),
        component: components(program),
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
    /// The rules of a predicate as they are.
    Whole(usize),
    /// The copy of a predicate for these bound columns.
    Copy { of: usize, bound: Vec<bool>, copy: usize, asked: usize },
}

struct Rewriter<'p> {
    given: &'p Program,
    infos: &'p [RelationInfo],
    /// Rows that predicates are thought to have, where that is known.
    whole_rows: &'p [Option<f64>],
    /// Of each given predicate the numbers of its rules.
    rules_of: Vec<Vec<usize>>,
    /// The same as `whole_rows`, with those of copies and of what is asked behind.
    sizes: Vec<Option<f64>>,
    out: Program,
    /// Predicates that are needed whole.
    whole: HashSet<usize>,
    /// By predicate and bound columns: the copy, and the set of what is asked of it.
    copies: HashMap<(usize, Vec<bool>), (usize, usize)>,
    work: Vec<Task>,
    /// Of each predicate, the number of its recursive component.
    component: Vec<usize>,
}

impl Rewriter<'_> {
    fn want_whole(&mut self, predicate: usize) {
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

    fn want_copy(&mut self, of: usize, bound: Vec<bool>) -> (usize, usize) {
        if let Some(&known) = self.copies.get(&(of, bound.clone())) {
            return known;
        }
        let original = &self.given.predicates[of];
        let pattern: String = bound.iter().map(|&is| if is { 'b' } else { 'f' }).collect();
        let copy = self.out.predicates.len();
        self.out
            .predicates
            .push(Predicate { name: format!("{}^{pattern}", original.name), ..original.clone() });
        let columns = original.columns.iter().zip(&bound).filter(|(_, is)| **is);
        let columns: Vec<String> = columns.map(|(column, _)| column.clone()).collect();
        let asked = self.out.predicates.len();
        self.out.predicates.push(Predicate {
            name: format!("asked {}^{pattern}", original.name),
            kind: PredicateKind::Inline { aggregates: columns.iter().map(|_| None).collect() },
            columns,
            span: original.span,
            is_asked: true,
            is_sorted: false,
        });
        self.sizes.extend([original.is_asked.then_some(ASKED_ROWS), Some(ASKED_ROWS)]);
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
                let mut args: Vec<Option<Var>> = Vec::new();
                let mut same = Vec::new();
                for (&var, _) in head {
                    // A variable may stand in two columns of the head, but not in two places of an
                    // atom.
                    if args.contains(&Some(var)) {
                        rule.variables.push(format!("*{}", rule.variables.len()));
                        args.push(Some(rule.variables.len() - 1));
                        same.push(Literal::Same(var, rule.variables.len() - 1));
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

    /// The rule with copies in the place of the rules that it uses with bound columns.
    fn restrict(&mut self, rule: Rule, of: usize, is_copy: bool) -> Option<Rule> {
        let sizes = Sizes { predicates: &self.sizes, infos: self.infos };
        let (places, rows) = handed_on(&self.out, &rule, &sizes, is_copy)?;
        let mut bound = vec![false; rule.variables.len()];
        let mut body: Vec<Literal> = Vec::with_capacity(rule.body.len());
        for (step, &place) in places.iter().enumerate() {
            let mut literal = rule.body[place].clone();
            if let Literal::Atom { source: Source::Derived(read), args, negated, .. } = &mut literal
                && *read < self.given.predicates.len()
            {
                let asked: Vec<bool> = match *negated {
                    true => vec![false; args.len()],
                    false => self.bound_columns(*read, args, &bound),
                };
                // A rule that is computed whole reads its own component whole.
                let is_own = !is_copy && self.component[*read] == self.component[of];
                let before = step.checked_sub(1).map_or(1.0, |last| rows[last]);
                let is_less = self.whole_rows[*read].is_none_or(|rows| before * LESS < rows);
                if asked.contains(&true) && !is_own && (is_copy || is_less) {
                    let (copy, set) = self.want_copy(*read, asked.clone());
                    let head: Vec<Var> = args
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

    /// Which columns of a use are bound and may be.
    fn bound_columns(&self, read: usize, args: &[Option<Var>], bound: &[bool]) -> Vec<bool> {
        let PredicateKind::Inline { aggregates } = &self.given.predicates[read].kind else {
            return vec![false; args.len()];
        };
        let columns = args.iter().zip(aggregates);
        columns.map(|(var, one)| one.is_none() && var.is_some_and(|var| bound[var])).collect()
    }

    /// Adds the rule that says what is asked: what comes before the use, as far as it is tied to
    /// the bound variables.
    fn ask(&mut self, rule: &Rule, set: usize, head: Vec<Var>, before: &[Literal]) {
        let mut needed = vec![false; rule.variables.len()];
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
        // What is asked of a rule because the same is asked of it says nothing.
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

    /// A predicate with meet aggregates of which one copy reads another.
    fn meet_of_other_copy(&self) -> Option<usize> {
        let copy_of: HashMap<usize, usize> =
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

    /// Where a rule is also needed whole, its copies are not.
    fn finish(mut self) -> Program {
        let mut instead: HashMap<usize, usize> = HashMap::new();
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

/// The order in which a rule hands on what is bound: places of its literals, and rows after each. A
/// copy begins with what is asked of it and takes nothing that has nothing to do with what is
/// bound, as long as there is such an order: a rule of which nothing is bound would be needed
/// whole.
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
    let order::BodyPlan { places, steps, .. } = match plan.tried {
        Some(tried) => tried.plan,
        None => plan,
    };
    Some((places, steps.iter().map(|planned| planned.rows).collect()))
}

/// Of each predicate, the number of its strongly connected component.
fn components(program: &Program) -> Vec<usize> {
    let groups = crate::stratify::components_of(program);
    let mut component = vec![usize::MAX; program.predicates.len()];
    for (number, group) in groups.iter().enumerate() {
        group.iter().for_each(|&predicate| component[predicate] = number);
    }
    component
}

/// Whether a query asks not to be rewritten.
pub(crate) fn is_disabled(query: &syntax::Query) -> bool {
    let Some(expr) = &query.options.disable_magic_rewrite else { return false };
    let known = crate::resolve::resolve_expression(expr, &mut Vec::new());
    matches!(known, Ok(Expr::Const(model::Value::Bool(true))))
}
