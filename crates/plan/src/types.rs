//! Infers the types of result columns, as far as they are known before a query runs.
//!
//! A column of a derived relation has the type that all its rules agree on. The rules of a
//! recursion are asked until nothing changes: at first its columns have no values, and each rule
//! adds some.
//!
//! A type may be wrong where a parameter is the value of a column. It may be anything, and counts
//! as a value of the type that the other rules give. So the types are only used where the values
//! agree.

use crate::catalog::RelationInfo;
use crate::ids::{PerPredicate, PerStored, PerVar, StoredId, VarId};
use crate::inferred::Inferred;
use crate::ir::{AggregateUse, Expr, FixedUse, Literal, PredicateKind, Rule, Source};
use crate::query_plan::{GroupPlan, Plan};
use model::{Type, Value};
use std::sync::Arc;

/// Maximum number of times that the rules of a recursion are asked. More are needed only where a
/// column gets its type through a long chain of columns of the same recursion. The types are
/// unknown then.
const PASSES_MAX: usize = 16;

impl Plan {
    /// The type of each result column, where known. Inferred when first asked for.
    #[must_use]
    pub fn result_types(&self) -> &Arc<[Option<Type>]> {
        self.types.get_or_init(|| {
            let mut types = DerivedTypes::new(self);
            self.groups.iter().for_each(|group| types.infer(group));
            types.columns[self.program.entry].iter().map(Inferred::known).collect()
        })
    }
}

/// The inferred columns of all derived relations.
struct DerivedTypes<'p> {
    plan: &'p Plan,
    columns: PerPredicate<Vec<Inferred>>,
}

impl<'p> DerivedTypes<'p> {
    fn new(plan: &'p Plan) -> Self {
        let nothing = |columns: usize| vec![Inferred::Nothing; columns];
        let predicates = plan.program.predicates.iter();
        Self { plan, columns: predicates.map(|of| nothing(of.columns.len())).collect() }
    }

    /// Infers the columns of a group, whose relations depend on each other and on earlier groups.
    fn infer(&mut self, GroupPlan { group, rules, .. }: &GroupPlan) {
        let program = &self.plan.program;
        for &predicate in &group.predicates {
            self.columns[predicate] = match &program.predicates[predicate].kind {
                PredicateKind::Inline { .. } => continue,
                PredicateKind::Constant(rows) => {
                    constant_columns(rows, self.columns[predicate].len())
                }
                PredicateKind::Fixed(fixed) => {
                    self.algorithm_columns(fixed, self.columns[predicate].len())
                }
            };
        }
        for _ in 0..PASSES_MAX {
            let mut has_changed = false;
            for rule in rules.iter().map(|rule| &program.rules[rule.rule]) {
                has_changed |= self.add(rule);
            }
            if !group.is_recursive || !has_changed {
                return;
            }
        }
        for &predicate in &group.predicates {
            self.columns[predicate].fill(Inferred::Unknown);
        }
    }

    /// Adds the values of a rule to its relation; returns whether a column changed.
    fn add(&mut self, rule: &Rule) -> bool {
        let mut found = RuleTypes::new(rule, &self.plan.infos, &self.columns).head();
        let predicate = &self.plan.program.predicates[rule.predicate];
        if let PredicateKind::Inline { aggregates } = &predicate.kind {
            for (of, used) in found.iter_mut().zip(aggregates) {
                if let Some(used) = used {
                    *of = aggregated(used, std::mem::replace(of, Inferred::Nothing));
                }
            }
        }
        let mut has_changed = false;
        for (column, found) in self.columns[rule.predicate].iter_mut().zip(found) {
            let both = column.clone().or(found);
            has_changed |= both != *column;
            *column = both;
        }
        has_changed
    }

    /// The columns of an algorithm's result. Its vertices are those of its inputs.
    fn algorithm_columns(&self, fixed: &FixedUse, columns: usize) -> Vec<Inferred> {
        let mut found = vec![Inferred::Unknown; columns];
        if fixed.vertices.is_empty() {
            return found;
        }
        let mut vertices = Inferred::Nothing;
        for (number, input) in fixed.inputs.iter().enumerate() {
            // The first input has edges, the others vertices.
            let ends = if number == 0 { 2 } else { 1 };
            for &column in input.columns.iter().take(ends) {
                vertices = vertices.or(match input.source {
                    Source::Derived(read) => self.columns[read][column].clone(),
                    Source::Stored(read) => {
                        Inferred::of_type(&self.plan.infos[read].columns[column].column_type)
                    }
                });
            }
        }
        for &column in fixed.vertices.iter().filter(|&&column| column < columns) {
            found[column] = vertices.clone();
        }
        found
    }
}

/// The columns of constant rows.
fn constant_columns(rows: &Expr, columns: usize) -> Vec<Inferred> {
    let mut found = vec![Inferred::Nothing; columns];
    let mut add = |column: usize, of: Inferred| {
        if let Some(column) = found.get_mut(column) {
            *column = std::mem::replace(column, Inferred::Nothing).or(of);
        }
    };
    let rows = Constant::Expr(rows);
    let is_list = rows.each_item(&mut |_, row| {
        if !row.each_item(&mut |column, item| add(column, item.inferred())) {
            (0..columns).for_each(|column| add(column, row.inferred()));
        }
    });
    if !is_list {
        (0..columns).for_each(|column| add(column, rows.inferred()));
    }
    found
}

/// A part of an expression without variables.
#[derive(Clone, Copy)]
enum Constant<'e> {
    Expr(&'e Expr),
    Value(&'e Value),
}

impl Constant<'_> {
    /// Calls `visit` with the place and each item of a list. Returns false if this is no list whose
    /// items are known.
    fn each_item(self, visit: &mut dyn FnMut(usize, Constant<'_>)) -> bool {
        match self {
            Self::Value(Value::List(items)) | Self::Expr(Expr::Const(Value::List(items))) => {
                (0..).zip(items).for_each(|(place, item)| visit(place, Constant::Value(item)));
                true
            }
            Self::Expr(expr) => {
                let items = expr.list_items();
                let all = (0..).zip(items.unwrap_or_default());
                all.for_each(|(place, item)| visit(place, Constant::Expr(item)));
                items.is_some()
            }
            Self::Value(_) => false,
        }
    }

    fn inferred(self) -> Inferred {
        match self {
            Self::Expr(Expr::Const(value)) | Self::Value(value) => Inferred::of_value(value),
            Self::Expr(Expr::Param(_)) => Inferred::Nothing,
            Self::Expr(_) => Inferred::Unknown,
        }
    }
}

/// The result of an aggregate over these values.
fn aggregated(used: &AggregateUse, of: Inferred) -> Inferred {
    let is = |one| of == Inferred::Of(one);
    let of_type = match (used.aggregate.name, &used.own) {
        ("count" | "count_unique", None) => Type::Int,
        // Its values have no type yet.
        ("sum" | "mean", None) if of == Inferred::Nothing => return of,
        ("sum" | "mean", None) if is(Type::Duration) => Type::Duration,
        ("sum" | "mean", None) if is(Type::Decimal) => Type::Decimal,
        ("sum" | "mean" | "product" | "variance" | "std_dev", None) => Type::Float,
        ("and" | "or", None) => Type::Bool,
        ("min" | "max" | "choice" | "choice_rand", None) => return of,
        _ => return Inferred::Unknown,
    };
    Inferred::Of(of_type)
}

/// The inferred variables of a rule.
struct RuleTypes<'r> {
    rule: &'r Rule,
    infos: &'r PerStored<RelationInfo>,
    derived: &'r PerPredicate<Vec<Inferred>>,
    /// For each variable, the representative of the variables that equal it by [`Literal::Same`].
    same: PerVar<VarId>,
    /// The state of each representative. Each is inferred once.
    known: PerVar<State>,
}

/// State of the inference for a variable.
#[derive(Clone)]
enum State {
    Unasked,
    /// Definitions that refer to each other end here.
    Asked,
    Done(Inferred),
}

impl<'r> RuleTypes<'r> {
    fn new(
        rule: &'r Rule,
        infos: &'r PerStored<RelationInfo>,
        derived: &'r PerPredicate<Vec<Inferred>>,
    ) -> Self {
        let mut same: PerVar<VarId> = rule.variables.ids().collect();
        for literal in &rule.body {
            if let Literal::Same(a, b) = literal {
                let (a, b) = (same[*a], same[*b]);
                same.iter_mut().filter(|one| **one == b).for_each(|one| *one = a);
            }
        }
        let known = PerVar::filled(State::Unasked, rule.variables.len());
        Self { rule, infos, derived, same, known }
    }

    /// The columns of the head.
    fn head(&mut self) -> Vec<Inferred> {
        let rule = self.rule;
        rule.head.iter().map(|&var| self.of_var(var)).collect()
    }

    fn of_var(&mut self, var: VarId) -> Inferred {
        let var = self.same[var];
        match &self.known[var] {
            State::Unasked => {}
            State::Asked => return Inferred::Unknown,
            State::Done(of) => return of.clone(),
        }
        self.known[var] = State::Asked;
        let rule = self.rule;
        let mut found = Inferred::Unknown;
        for literal in &rule.body {
            // A look-up compares by identity (`1` is not `1.0`), so the values are in all literals.
            found = found.and(self.of_literal(literal, var));
        }
        self.known[var] = State::Done(found.clone());
        found
    }

    /// The values that a literal allows a variable and those with its value.
    fn of_literal(&mut self, literal: &Literal, var: VarId) -> Inferred {
        let is_same = |this: &Self, other: VarId| this.same[other] == var;
        match literal {
            Literal::Atom { source, args, negated: false, .. } => {
                let of = |(place, arg): (usize, &Option<VarId>)| {
                    let is_asked = arg.is_some_and(|arg| is_same(self, arg));
                    is_asked.then(|| match *source {
                        Source::Stored(stored) => self.of_column(stored, place),
                        Source::Derived(derived) => self.derived[derived][place].clone(),
                    })
                };
                let places = args.iter().enumerate().filter_map(of);
                places.fold(Inferred::Unknown, Inferred::and)
            }
            Literal::Assign { var: to, value, .. } if is_same(self, *to) => self.of_expr(value),
            Literal::Member { var: to, list, .. } if is_same(self, *to) => of_items(list),
            Literal::Search(search) => {
                let mut columns = search.columns.iter().filter(|(_, to)| is_same(self, *to));
                columns.next().map_or(Inferred::Unknown, |(column, _)| {
                    self.of_column(search.relation, *column)
                })
            }
            _ => Inferred::Unknown,
        }
    }

    fn of_column(&self, stored: StoredId, column: usize) -> Inferred {
        let column = self.infos[stored].columns.get(column);
        column.map_or(Inferred::Unknown, |column| Inferred::of_type(&column.column_type))
    }

    fn of_expr(&mut self, expr: &Expr) -> Inferred {
        match expr {
            Expr::Const(_) | Expr::Param(_) => Constant::Expr(expr).inferred(),
            Expr::Var(var) => self.of_var(*var),
            Expr::Call(function, args, _) => {
                let of = match function.name {
                    "to_bool" | "eq" | "neq" | "lt" | "le" | "gt" | "ge" => Type::Bool,
                    "length" => Type::Int,
                    // Ids are returned unchanged.
                    "to_int" => match self.of_any(&mut args.iter()).settled() {
                        Inferred::Of(of) if of != Type::Id => Type::Int,
                        Inferred::Nothing => return Inferred::Nothing,
                        _ => return Inferred::Unknown,
                    },
                    "to_float" => Type::Float,
                    "to_string" => Type::String,
                    "to_date" => Type::Date,
                    "to_timestamp" => Type::Timestamp,
                    "to_duration" => Type::Duration,
                    "to_decimal" => Type::Decimal,
                    "if" => return self.of_any(&mut args.iter().skip(1)),
                    "cond" => return self.of_any(&mut args.iter().skip(1).step_by(2)),
                    "coalesce" => return self.of_any(&mut args.iter()),
                    "concat" => return self.common(args, &[Type::String]),
                    "add" | "sub" | "mul" | "mod" | "minus" => {
                        return self.common(args, &[Type::Int, Type::Float, Type::Decimal]);
                    }
                    "div" => return self.common(args, &[Type::Decimal]),
                    _ => return Inferred::Unknown,
                };
                Inferred::Of(of)
            }
        }
    }

    /// The values of any of the arguments. A parameter may be anything.
    fn of_any(&mut self, args: &mut dyn Iterator<Item = &Expr>) -> Inferred {
        args.fold(Inferred::Nothing, |all, arg| match arg {
            Expr::Param(_) => Inferred::Unknown,
            arg => all.or(self.of_expr(arg)),
        })
    }

    /// The type that all arguments have, if it is one of these.
    fn common(&mut self, args: &[Expr], types: &[Type]) -> Inferred {
        let settled = args.iter().fold(Inferred::Nothing, |all, arg| match arg {
            Expr::Param(_) => Inferred::Unknown,
            arg => all.or(self.of_expr(arg).settled()),
        });
        match settled {
            Inferred::Of(one) if !types.contains(&one) => Inferred::Unknown,
            settled => settled,
        }
    }
}

/// The items of a list without variables.
fn of_items(list: &Expr) -> Inferred {
    let (list, mut all) = (Constant::Expr(list), Inferred::Nothing);
    let is_list = list.each_item(&mut |_, item| {
        all = std::mem::replace(&mut all, Inferred::Nothing).or(item.inferred());
    });
    if is_list { all } else { list.inferred() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::ColumnInfo;
    use crate::ids::{Id, PredicateId};
    use crate::resolve_over;

    fn types(rule: &Rule, infos: &PerStored<RelationInfo>) -> Vec<Option<String>> {
        let derived = PerPredicate::default();
        let head = RuleTypes::new(rule, infos, &derived).head();
        head.iter().map(|of| of.known().map(|of| of.to_string())).collect()
    }

    fn var(place: usize) -> VarId {
        VarId::new(place)
    }

    /// The type of an expression over `a: Int`, `s: String?`, and `x` of any type.
    fn type_of_text(text: &str) -> Option<String> {
        let names = ["a", "s", "x"].map(str::to_owned).to_vec();
        let parsed = syntax::parse_expression(text).unwrap();
        let value = resolve_over(&parsed, &names, &mut Vec::new()).unwrap();
        let span = syntax::Span::default();
        let rule = Rule {
            predicate: PredicateId::new(0),
            head: vec![var(3)],
            variables: ["a", "s", "x", "y"].map(str::to_owned).into_iter().collect(),
            body: vec![atom(span), Literal::Assign { var: var(3), value, span }],
            span,
        };
        types(&rule, &PerStored::filled(info(), 1)).remove(0)
    }

    fn atom(span: syntax::Span) -> Literal {
        let args = [0, 1, 2].map(|place| Some(var(place))).to_vec();
        Literal::Atom {
            source: Source::Stored(StoredId::new(0)),
            args,
            negated: false,
            at: None,
            span,
        }
    }

    fn info() -> RelationInfo {
        let column = |name: &str, column_type| ColumnInfo { name: name.to_owned(), column_type };
        RelationInfo {
            handle: 0,
            columns: vec![
                column("a", Type::Int),
                column("s", Type::Nullable(Box::new(Type::String))),
                column("x", Type::Any),
            ],
            keys: 1,
            rows: 0,
            paths: Vec::new(),
            path_columns: Vec::new(),
            repeat_rates: Vec::new(),
            is_in_memory: false,
            is_historical: false,
            spelled: None,
            search: None,
        }
    }

    #[test]
    fn an_expression_has_a_type_where_all_its_values_are_of_one() {
        for (text, of) in [
            ("a", Some("Int")),
            ("s", Some("String")),
            ("x", None),
            ("a + 1", Some("Int")),
            ("a + 1.5", None),
            ("a + x", None),
            ("a / 2", None),
            ("s ++ 'x'", Some("String")),
            ("if(a > 1, null, 'late')", Some("String")),
            ("if(a > 1, a, 'late')", None),
            ("if(a > 1, a)", Some("Int")),
            ("cond(a > 1, 2, a > 0, a, true, null)", Some("Int")),
            ("s ~ 'none'", Some("String")),
            ("to_float(x)", Some("Float")),
            ("to_int(x)", None),
            ("to_int(s)", Some("Int")),
            ("a == 1", Some("Bool")),
            ("null", None),
        ] {
            assert_eq!(type_of_text(text).as_deref(), of, "{text}");
        }
    }

    /// A lookup compares by identity (`1` is not `1.0`), so every row that it finds has the
    /// column's type.
    #[test]
    fn what_is_looked_for_in_a_column_has_its_type() {
        for value in [Expr::Param(0), Expr::Const(Value::Int(1)), Expr::Const(Value::Float(1.0))] {
            let span = syntax::Span::default();
            let rule = Rule {
                predicate: PredicateId::new(0),
                head: [0, 1, 3].map(var).to_vec(),
                variables: ["a", "s", "x", "y"].map(str::to_owned).into_iter().collect(),
                body: vec![
                    atom(span),
                    Literal::Same(var(3), var(0)),
                    Literal::Assign { var: var(3), value: value.clone(), span },
                ],
                span,
            };
            let found = types(&rule, &PerStored::filled(info(), 1));
            assert_eq!(found, ["Int", "String", "Int"].map(|of| Some(of.to_owned())), "{value:?}");
        }
    }

    #[test]
    fn variables_made_of_each_other_are_asked_once() {
        let span = syntax::Span::default();
        let add = function::lookup("add").unwrap();
        // Each variable is twice the previous one: there are 2^64 paths to the first.
        let twice = |place: usize| Literal::Assign {
            var: var(place),
            value: Expr::Call(add, vec![Expr::Var(var(place - 1)); 2], span),
            span,
        };
        let first = Literal::Assign { var: var(0), value: Expr::Const(Value::Int(1)), span };
        let rule = Rule {
            predicate: PredicateId::new(0),
            head: vec![var(64)],
            variables: (0..65).map(|i| format!("v{i}")).collect(),
            body: std::iter::once(first).chain((1..65).map(twice)).collect(),
            span,
        };
        assert_eq!(types(&rule, &PerStored::default()), [Some("Int".to_owned())]);
    }
}
