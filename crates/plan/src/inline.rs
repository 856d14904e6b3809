//! Unfolds rules that only rename or restrict a relation into the rules that read them.
//!
//! # Why
//! `parent[x, a] := *par[x, a]` adds nothing to `*par`. As a rule of its own it hides the
//! relation's access paths, statistics and size from its readers, magic sets copy it, and its rows
//! are copied. Databases unfold views for the same reason (Stonebraker, *Implementation of
//! integrity constraints and views by query modification*, SIGMOD 1975; Selinger et al., SIGMOD
//! 1979).
//!
//! # Invariants
//! 1. A rule is a set. It is unfolded only if its body produces each row once, or if its reader has
//!    no other atoms and is a set too. Otherwise counts would change, or a join would find the same
//!    row repeatedly.
//! 2. An expression that can fail does not move, so it is not evaluated on additional values.
//! 3. An unfolded body has at most [`LITERALS_MAX`] literals. Otherwise, in a long chain of rules,
//!    each one would accumulate the conditions of all earlier ones.
//! 4. A rule with several readers is unfolded only if it restricts its relation by equalities
//!    alone. Anything else would be computed several times.

use crate::catalog::RelationInfo;
use crate::distinct::are_distinct;
use crate::duplicates::{Duplicates, duplicates};
use crate::ids::{PerPredicate, PerStored, PerVar, PredicateId, StoredId, VarId};
use crate::ir::{Expr, LITERALS_MAX, Literal, Program, Rule, Source};
use crate::push::uses;
use crate::stratify::components_of;
use hashbrown::HashMap;
use model::{Type, Value};

/// Unfolds all rules that can be, from the rules that read stored relations to the entry.
pub(crate) fn inline(program: &mut Program, infos: &PerStored<RelationInfo>) {
    let uses = uses(program);
    let rules_of = program.rules_of();
    let components = components_of(program);
    let of_components = components.iter().map(Vec::as_slice);
    let component_of = PerPredicate::of_groups(of_components, program.predicates.len());
    let mut views: HashMap<PredicateId, View> = HashMap::new();
    for (place, component) in components.into_iter().enumerate() {
        let numbers = || component.iter().flat_map(|&predicate| &rules_of[predicate]);
        let is_own = |read: PredicateId| component_of[read] == place;
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

/// Whether a rule reads a predicate for which `is_one` is true.
fn reads_any(rule: &Rule, is_one: &dyn Fn(PredicateId) -> bool) -> bool {
    rule.body.iter().any(|literal| match literal {
        Literal::Atom { source: Source::Derived(read), .. } => is_one(*read),
        _ => false,
    })
}

/// A rule that can be unfolded.
struct View {
    rule: Rule,
    /// Whether its body produces each row once.
    is_distinct: bool,
    /// Whether it restricts its relation by equalities alone.
    is_alias: bool,
    /// Whether it is a single atom, possibly with constants, so that negating it means negating
    /// that atom.
    is_atom: bool,
}

impl View {
    /// Creates a view from the only rule of a predicate, if it can be unfolded. `uses` is the
    /// number of its readers.
    fn of(
        program: &Program,
        number: usize,
        uses: usize,
        infos: &PerStored<RelationInfo>,
    ) -> Option<Self> {
        let rule = &program.rules[number];
        let of = &program.predicates[rule.predicate];
        // If its rows are read in column order, they would come in join order instead.
        if of.is_aggregated() || of.is_sorted || rule.body.len() > LITERALS_MAX {
            return None;
        }
        let mut atoms = 0;
        let (mut is_atom, mut is_alias) = (are_all_different(&rule.head), true);
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
        is_atom &= is_alias && !is_told && are_all_different(&assigned);
        let is_distinct = are_distinct(program, rule, &rule.head, infos);
        Some(Self { rule: rule.clone(), is_distinct, is_alias, is_atom })
    }

    /// Whether it can be unfolded for a positive atom. A recursive rule would apply its conditions
    /// again in every round.
    fn fits(&self, is_recursive: bool, takes_equal_rows: bool) -> bool {
        (self.is_distinct || takes_equal_rows) && (self.is_alias || !is_recursive)
    }
}

fn is_leaf(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_) | Expr::Param(_))
}

fn are_all_different(vars: &[VarId]) -> bool {
    vars.iter().enumerate().all(|(place, var)| !vars[..place].contains(var))
}

/// Whether a condition cannot fail wherever the rule is unfolded. There, head variables may have
/// values of any type; other variables have the types of their columns.
fn never_fails(condition: &Expr, rule: &Rule, infos: &PerStored<RelationInfo>) -> bool {
    let Expr::Call(function, args, _) = condition else { return false };
    match function.name {
        "and" | "or" => args.iter().all(|arg| never_fails(arg, rule, infos)),
        "eq" | "neq" => args.iter().all(|arg| is_leaf(arg) || matches!(arg, Expr::Var(_))),
        "lt" | "le" | "gt" | "ge" => args.iter().all(|arg| is_number(arg, rule, infos)),
        _ => false,
    }
}

/// Whether an expression is certainly a number.
fn is_number(expr: &Expr, rule: &Rule, infos: &PerStored<RelationInfo>) -> bool {
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

/// Whether the body binds every variable. Other rules are not unfolded, so that the error names
/// them.
fn are_bound(rule: &Rule) -> bool {
    let mut bound = PerVar::filled(false, rule.variables.len());
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
    views: &HashMap<PredicateId, View>,
    infos: &PerStored<RelationInfo>,
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

/// Whether the rule has a single atom and ignores duplicates.
fn takes_equal_rows(program: &Program, rule: &Rule) -> bool {
    let is_said =
        |literal: &&Literal| matches!(literal, Literal::Assign { value, .. } if is_leaf(value));
    let mut others = rule.body.iter().filter(|literal| !is_said(literal));
    let is_one = matches!((others.next(), others.next()), (Some(Literal::Atom { .. }), None));
    is_one && duplicates(program, rule) == Duplicates::Merge
}

/// A rule into which views are unfolded.
struct Reader<'p> {
    program: &'p Program,
    infos: &'p PerStored<RelationInfo>,
    head: &'p [VarId],
    variables: PerVar<String>,
    body: Vec<Literal>,
    /// Variables of dictionary ids that the body already looks up, by names relation and string
    /// variable.
    numbers: HashMap<(StoredId, VarId), VarId>,
}

impl<'p> Reader<'p> {
    fn new(program: &'p Program, rule: &'p Rule, infos: &'p PerStored<RelationInfo>) -> Self {
        let mut numbers = HashMap::new();
        for literal in &rule.body {
            if let Some((names, number, text)) = spelling_of(literal, &rule.body, program, infos) {
                numbers.insert((names, text), number);
            }
        }
        let (variables, body) = (rule.variables.clone(), Vec::with_capacity(rule.body.len()));
        Self { program, infos, head: &rule.head, variables, body, numbers }
    }

    /// Appends the body of a view in place of an atom with these arguments.
    fn unfold(&mut self, view: &Rule, args: &[Option<VarId>], negated: bool) {
        let mut to: PerVar<Option<VarId>> = PerVar::filled(None, view.variables.len());
        let mut same = Vec::new();
        for (&var, &arg) in view.head.iter().zip(args) {
            match (to[var], arg) {
                (Some(known), Some(arg)) => same.push(Literal::Same(known, arg)),
                (None, Some(_)) => to[var] = arg,
                (_, None) => {}
            }
        }
        let spelled = self.spell(view, &mut to);
        let mut uses = PerVar::filled(0, view.variables.len());
        view.body.iter().for_each(|literal| literal.each_var(&mut |var| uses[var] += 1));
        for (var, &uses) in uses.enumerate() {
            if to[var].is_none() && uses > 1 {
                to[var] = Some(self.variables.fresh());
            }
        }
        let left = view.body.iter().enumerate().filter(|(place, _)| !spelled.contains(place));
        self.body.extend(left.filter_map(|(_, literal)| renamed(literal, &to, negated)));
        self.body.extend(same);
    }

    /// Assigns id variables to the view's encoded strings. Returns the positions of name lookups
    /// that are not needed because the body already has them.
    fn spell(&mut self, view: &Rule, to: &mut PerVar<Option<VarId>>) -> Vec<usize> {
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
                    let fresh = self.variables.fresh();
                    to[number] = Some(fresh);
                    self.numbers.insert((names, text), fresh);
                }
            }
        }
        spelled
    }

    /// Returns the variables and the body, without name lookups whose string is not used.
    fn finish(self) -> (PerVar<String>, Vec<Literal>) {
        let mut uses = PerVar::filled(0, self.variables.len());
        self.head.iter().for_each(|&var| uses[var] += 1);
        self.body.iter().for_each(|literal| literal.each_var(&mut |var| uses[var] += 1));
        let is_used = |literal: &&Literal| {
            let spelling = spelling_of(literal, &self.body, self.program, self.infos);
            spelling.is_none_or(|(_, _, text)| uses[text] > 1)
        };
        let body = self.body.iter().filter(is_used).cloned().collect();
        (self.variables, body)
    }
}

/// A literal of the view with the reader's variables. Arguments that are not used are dropped from
/// atoms, and assignments to unused variables are dropped entirely.
fn renamed(literal: &Literal, to: &PerVar<Option<VarId>>, negate: bool) -> Option<Literal> {
    let new = |var: VarId| to[var].unwrap_or(var);
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
        Literal::Search(search) => Literal::Search(Box::new(search.renamed(&new))),
    })
}

/// If a literal looks up the string of a dictionary id that another atom reads: the names relation,
/// the id and the string. Every such id has a string, so the lookup can be dropped if the string is
/// not used.
fn spelling_of(
    literal: &Literal,
    body: &[Literal],
    program: &Program,
    infos: &PerStored<RelationInfo>,
) -> Option<(StoredId, VarId, VarId)> {
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
