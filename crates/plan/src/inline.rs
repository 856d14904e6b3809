//! Puts rules that only rename a relation into the rules that read them.
//!
//! # Why
//! `parent[x, a] := *par[x, a]` says nothing that `*par` does not. Left as a rule it hides the
//! relation's orders, statistics and size from the rules that read it, magic sets make copies of
//! it, and its rows are copied. Views are unfolded for the same reason (Stonebraker,
//! *Implementation of integrity constraints and views by query modification*, SIGMOD 1975; Selinger
//! et al., SIGMOD 1979).
//!
//! # Invariants
//! 1. A rule is a set. It is unfolded where its body gives each of its rows once, or where one rule
//!    reads it alone and gives a set itself: otherwise a count would change, or a join would find
//!    the same row again and again.
//! 2. Nothing that can fail moves, so that no value meets an expression that it did not meet
//!    before.
//! 3. A body that is unfolded has at most [`LITERALS_MAX`] literals: each of a long chain of rules
//!    would hold all conditions of those before it.
//! 4. A rule that is read several times is unfolded only if it keeps all rows of its relation but
//!    those that equalities choose: anything else would be computed several times.

use crate::catalog::RelationInfo;
use crate::ir::{Expr, LITERALS_MAX, Literal, Program, Rule, Source, Var};
use crate::live::{self, Duplicates};
use crate::push::uses;
use crate::stratify::components_of;
use crate::unequal::are_unequal;
use hashbrown::HashMap;
use model::{Type, Value};

/// Unfolds whatever can be, from the rules that read stored relations to the entry.
pub(crate) fn inline(program: &mut Program, infos: &[RelationInfo]) {
    let uses = uses(program);
    let rules_of = program.rules_of();
    let components = components_of(program);
    let mut component_of = vec![usize::MAX; program.predicates.len()];
    for (place, component) in components.iter().enumerate() {
        component.iter().for_each(|&predicate| component_of[predicate] = place);
    }
    let mut views: HashMap<usize, View> = HashMap::new();
    for (place, component) in components.into_iter().enumerate() {
        let numbers = || component.iter().flat_map(|&predicate| &rules_of[predicate]);
        let is_own = |read: usize| component_of[read] == place;
        let is_recursive = numbers().any(|&number| reads_any(&program.rules[number], &is_own));
        for &number in numbers() {
            unfold_in(program, number, is_recursive, &views, infos);
        }
        let [predicate] = component[..] else { continue };
        let [number] = rules_of[predicate][..] else { continue };
        if !is_recursive
            && predicate != program.entry
            && let Some(view) = View::of(program, number, uses[predicate], infos)
        {
            views.insert(predicate, view);
        }
    }
}

/// Whether a rule reads such a predicate.
fn reads_any(rule: &Rule, is_one: &dyn Fn(usize) -> bool) -> bool {
    rule.body.iter().any(|literal| match literal {
        Literal::Atom { source: Source::Derived(read), .. } => is_one(*read),
        _ => false,
    })
}

/// A rule that can be unfolded.
struct View {
    rule: Rule,
    /// Whether its body gives each row once.
    is_unequal: bool,
    /// Whether it keeps all rows of its relation but those that equalities choose.
    is_alias: bool,
    /// Whether it is one atom with constants, so that it is not there where that atom is not.
    is_atom: bool,
}

impl View {
    /// A rule that is its predicate's only one, if it can be unfolded where it is read; it is read
    /// so many times.
    fn of(program: &Program, number: usize, uses: usize, infos: &[RelationInfo]) -> Option<Self> {
        let rule = &program.rules[number];
        let of = &program.predicates[rule.predicate];
        // Rows that are read in the order of their columns would come in the order of a join.
        if of.is_aggregated() || of.is_sorted || rule.body.len() > LITERALS_MAX {
            return None;
        }
        let mut atoms = 0;
        let (mut is_atom, mut is_alias) = (are_distinct(&rule.head), true);
        let mut assigned = Vec::new();
        for literal in &rule.body {
            match literal {
                Literal::Atom { negated: false, at, .. } => {
                    if !at.iter().all(is_leaf) {
                        return None;
                    }
                    match spelling_of(literal, &rule.body, program, infos) {
                        Some(_) => is_atom = false,
                        None => atoms += 1,
                    }
                }
                Literal::Assign { var, value, .. } if is_leaf(value) => assigned.push(*var),
                Literal::Assign { value: Expr::Var(_), .. } | Literal::Same(..) => is_atom = false,
                Literal::Atom { at: None, .. } => is_alias = false,
                Literal::Condition(one) if never_fails(one, rule, infos) => is_alias = false,
                _ => return None,
            }
        }
        if atoms != 1 || !is_alias && uses > 1 || !are_bound(rule) {
            return None;
        }
        let is_told = assigned.iter().any(|var| rule.head.contains(var));
        is_atom &= is_alias && !is_told && are_distinct(&assigned);
        let is_unequal = are_unequal(program, rule, &rule.head, infos);
        Some(Self { rule: rule.clone(), is_unequal, is_alias, is_atom })
    }

    /// Whether it can be unfolded in a rule where it is not negated. A recursive one would refuse
    /// the same rows in each round.
    fn fits(&self, is_recursive: bool, takes_equal_rows: bool) -> bool {
        (self.is_unequal || takes_equal_rows) && (self.is_alias || !is_recursive)
    }
}

fn is_leaf(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_) | Expr::Param(_))
}

fn are_distinct(vars: &[Var]) -> bool {
    vars.iter().enumerate().all(|(place, var)| !vars[..place].contains(var))
}

/// Whether a condition is true or false of all values that can reach it, wherever the rule is
/// unfolded: variables of the head may be bound to anything there, others have the types of their
/// columns.
fn never_fails(condition: &Expr, rule: &Rule, infos: &[RelationInfo]) -> bool {
    let Expr::Call(function, args, _) = condition else { return false };
    match function.name {
        "and" | "or" => args.iter().all(|arg| never_fails(arg, rule, infos)),
        "eq" | "neq" => args.iter().all(|arg| is_leaf(arg) || matches!(arg, Expr::Var(_))),
        "lt" | "le" | "gt" | "ge" => args.iter().all(|arg| is_number(arg, rule, infos)),
        _ => false,
    }
}

/// Whether an expression is a number in any case.
fn is_number(expr: &Expr, rule: &Rule, infos: &[RelationInfo]) -> bool {
    let var = match expr {
        Expr::Const(value) => return matches!(value, Value::Int(_) | Value::Float(_)),
        Expr::Var(var) if !rule.head.contains(var) => *var,
        _ => return false,
    };
    rule.body.iter().any(|literal| match literal {
        Literal::Atom { source: Source::Stored(stored), args, negated: false, .. } => {
            let place = args.iter().position(|arg| *arg == Some(var));
            let of = place.map(|place| &infos[*stored].columns[place].column_type);
            matches!(of, Some(Type::Int | Type::Id | Type::Float))
        }
        _ => false,
    })
}

/// Whether something binds every variable. A rule of which that is not so is refused by its own
/// name.
fn are_bound(rule: &Rule) -> bool {
    let mut bound = vec![false; rule.variables.len()];
    loop {
        let before = bound.clone();
        for literal in &rule.body {
            match literal {
                Literal::Atom { args, negated: false, .. } => {
                    args.iter().flatten().for_each(|&var| bound[var] = true);
                }
                Literal::Assign { var, value, .. } => bound[*var] |= value.is_bound(&bound),
                Literal::Same(a, b) => {
                    let both = bound[*a] || bound[*b];
                    (bound[*a], bound[*b]) = (both, both);
                }
                _ => {}
            }
        }
        if before == bound {
            break;
        }
    }
    let mut all = rule.head.iter().all(|&var| bound[var]);
    rule.body.iter().for_each(|literal| literal.each_var(&mut |var| all &= bound[var]));
    all
}

/// Unfolds the views that a rule reads.
fn unfold_in(
    program: &mut Program,
    number: usize,
    is_recursive: bool,
    views: &HashMap<usize, View>,
    infos: &[RelationInfo],
) {
    let rule = &program.rules[number];
    if !reads_any(rule, &|read| views.contains_key(&read)) {
        return;
    }
    let takes_equal_rows = !is_recursive && takes_equal_rows(program, rule);
    let mut reader = Reader::new(program, rule, infos);
    for literal in &rule.body {
        let Literal::Atom { source: Source::Derived(read), args, negated, .. } = literal else {
            reader.body.push(literal.clone());
            continue;
        };
        match views.get(read) {
            Some(view) if *negated && view.is_atom => reader.unfold(&view.rule, args, true),
            Some(view) if !*negated && view.fits(is_recursive, takes_equal_rows) => {
                reader.unfold(&view.rule, args, false);
            }
            _ => reader.body.push(literal.clone()),
        }
    }
    let (variables, body) = reader.finish();
    let rule = &mut program.rules[number];
    (rule.variables, rule.body) = (variables, body);
}

/// Whether the rule is the set of the rows of one atom.
fn takes_equal_rows(program: &Program, rule: &Rule) -> bool {
    let is_said =
        |literal: &&Literal| matches!(literal, Literal::Assign { value, .. } if is_leaf(value));
    let mut others = rule.body.iter().filter(|literal| !is_said(literal));
    let is_one = matches!((others.next(), others.next()), (Some(Literal::Atom { .. }), None));
    is_one && live::duplicates(program, rule) == Duplicates::Merge
}

/// A rule in which views are being unfolded.
struct Reader<'p> {
    program: &'p Program,
    infos: &'p [RelationInfo],
    head: &'p [Var],
    variables: Vec<String>,
    body: Vec<Literal>,
    /// Of texts that the body spells already, by the relation that spells them: their numbers.
    numbers: HashMap<(usize, Var), Var>,
}

impl<'p> Reader<'p> {
    fn new(program: &'p Program, rule: &'p Rule, infos: &'p [RelationInfo]) -> Self {
        let mut numbers = HashMap::new();
        for literal in &rule.body {
            if let Some((names, number, text)) = spelling_of(literal, &rule.body, program, infos) {
                numbers.insert((names, text), number);
            }
        }
        let (variables, body) = (rule.variables.clone(), Vec::with_capacity(rule.body.len()));
        Self { program, infos, head: &rule.head, variables, body, numbers }
    }

    fn fresh(&mut self) -> Var {
        self.variables.push(format!("*{}", self.variables.len()));
        self.variables.len() - 1
    }

    /// Appends the body of a view for an atom with these arguments.
    fn unfold(&mut self, view: &Rule, args: &[Option<Var>], negated: bool) {
        let mut to: Vec<Option<Var>> = vec![None; view.variables.len()];
        let mut same = Vec::new();
        for (&var, &arg) in view.head.iter().zip(args) {
            match (to[var], arg) {
                (Some(known), Some(arg)) => same.push(Literal::Same(known, arg)),
                (None, Some(_)) => to[var] = arg,
                (_, None) => {}
            }
        }
        let spelled = self.spell(view, &mut to);
        let mut uses = vec![0; view.variables.len()];
        view.body.iter().for_each(|literal| literal.each_var(&mut |var| uses[var] += 1));
        for (var, uses) in uses.into_iter().enumerate() {
            if to[var].is_none() && uses > 1 {
                to[var] = Some(self.fresh());
            }
        }
        let left = view.body.iter().enumerate().filter(|(place, _)| !spelled.contains(place));
        self.body.extend(left.filter_map(|(_, literal)| renamed(literal, &to, negated)));
        self.body.extend(same);
    }

    /// Gives numbers of a view's texts the variables that they have here; places of literals that
    /// are not needed therefore.
    fn spell(&mut self, view: &Rule, to: &mut [Option<Var>]) -> Vec<usize> {
        let mut spelled = Vec::new();
        for (place, literal) in view.body.iter().enumerate() {
            let found = spelling_of(literal, &view.body, self.program, self.infos);
            let Some((names, number, text)) = found else { continue };
            let (Some(text), None) = (to[text], to[number]) else { continue };
            match self.numbers.get(&(names, text)) {
                Some(&known) => {
                    to[number] = Some(known);
                    spelled.push(place);
                }
                None => {
                    let fresh = self.fresh();
                    to[number] = Some(fresh);
                    self.numbers.insert((names, text), fresh);
                }
            }
        }
        spelled
    }

    /// The variables and the body, without what spells texts that nothing asks for.
    fn finish(self) -> (Vec<String>, Vec<Literal>) {
        let mut uses = vec![0; self.variables.len()];
        self.head.iter().for_each(|&var| uses[var] += 1);
        self.body.iter().for_each(|literal| literal.each_var(&mut |var| uses[var] += 1));
        let is_asked = |literal: &&Literal| {
            let spelling = spelling_of(literal, &self.body, self.program, self.infos);
            spelling.is_none_or(|(_, _, text)| uses[text] > 1)
        };
        let body = self.body.iter().filter(is_asked).cloned().collect();
        (self.variables, body)
    }
}

/// A literal of a view with its reader's variables: of an atom only what somebody asks for, and
/// nothing of what is only said.
fn renamed(literal: &Literal, to: &[Option<Var>], negate: bool) -> Option<Literal> {
    let new = |var: Var| to[var].unwrap_or(var);
    Some(match literal {
        Literal::Atom { source, args, negated, at, span } => Literal::Atom {
            source: *source,
            args: args.iter().map(|arg| arg.and_then(|var| to[var])).collect(),
            negated: *negated || negate,
            at: at.clone(),
            span: *span,
        },
        Literal::Condition(condition) => Literal::Condition(condition.renamed(&new)),
        Literal::Assign { var, value, span } => {
            Literal::Assign { var: to[*var]?, value: value.renamed(&new), span: *span }
        }
        Literal::Member { var, list, span } => {
            Literal::Member { var: to[*var]?, list: list.renamed(&new), span: *span }
        }
        Literal::Same(a, b) => Literal::Same(to[*a]?, to[*b]?),
    })
}

/// The relation, the number and the text, where a literal says which text a number stands for that
/// another one reads: every such number has one.
fn spelling_of(
    literal: &Literal,
    body: &[Literal],
    program: &Program,
    infos: &[RelationInfo],
) -> Option<(usize, Var, Var)> {
    let Literal::Atom { source: Source::Stored(names), args, negated: false, .. } = literal else {
        return None;
    };
    let [Some(number), Some(text)] = args[..] else { return None };
    let is_read = body.iter().any(|literal| match literal {
        Literal::Atom { source: Source::Stored(stored), args, negated: false, .. } => {
            infos[*stored].spelled.as_ref().is_some_and(|spelled| {
                let mut columns = spelled.columns.iter();
                spelled.names == program.stored[*names].name
                    && columns.any(|&column| args[column] == Some(number))
            })
        }
        _ => false,
    });
    is_read.then_some((*names, number, text))
}
