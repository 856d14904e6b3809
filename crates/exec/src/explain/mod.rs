//! The output of `::explain`, a line for each plan step of each rule in the order of execution, and
//! the measured columns that `::explain analyze` adds. The session calls it.

use crate::limits::QueryLimits;
use crate::profile::{GroupFigures, Profile, StepFigures};
use crate::query_result::QueryResult;
use model::Value;
use plan::{
    Expr, GroupPlan, PerVar, PipelinePlan, Plan, PlannedStep, PredicateKind, RangeHint, Step,
    StoredId, VarId,
};

const PLANNED: [&str; 9] =
    ["stratum", "rule_idx", "rule", "atom_idx", "op", "ref", "joins_on", "expr", "rows_estimate"];

/// The figures of a query that has run: rows out and in, batches, runs or rounds, milliseconds of
/// all threads, bytes held at most, operators that ran.
const SEEN: [&str; 7] = ["rows", "rows_in", "batches", "rounds", "ms", "bytes_max", "ran"];

/// The plan as rows.
pub fn rows(plan: &Plan) -> QueryResult {
    let mut rows = Vec::new();
    for (stratum, group) in plan.groups.iter().enumerate() {
        each_step(plan, stratum, group, &mut |_, _, row| rows.push(row));
    }
    QueryResult::of_values(&PLANNED, rows)
}

/// Calls `visit` for each step of a group, with the step's rule body and its index there.
fn each_step(
    plan: &Plan,
    stratum: usize,
    group: &GroupPlan,
    visit: &mut dyn FnMut(&plan::PipelinePlan, usize, Vec<Value>),
) {
    for (number, rule) in group.rules.iter().enumerate() {
        let definition = &plan.program.rules[rule.rule];
        let name = &plan.program.predicates[definition.predicate].name;
        let bodies = rule.first.iter().chain(&rule.rounds).flat_map(|body| {
            let tried = body.tried.iter().map(|tried| (&tried.plan, format!("{name} (tried)")));
            let in_order = body.in_order.iter();
            let in_order = in_order.map(|first| (&first.plan, format!("{name} (in order)")));
            let by_size = body.by_size.iter();
            let by_size = by_size.map(|order| (order, format!("{name} (by size)")));
            in_order.chain(tried).chain(std::iter::once((body, name.clone()))).chain(by_size)
        });
        for (body, name) in bodies {
            for (place, planned) in body.steps.iter().enumerate() {
                let names = Names { plan, variables: &definition.variables };
                let (of, on) = reads(plan, &planned.step, &definition.variables);
                let row = vec![
                    Value::Int(stratum as i64),
                    Value::Int(number as i64),
                    Value::Str(name.clone()),
                    Value::Int(place as i64),
                    Value::Str(planned.operator.to_string()),
                    Value::Str(of),
                    Value::Str(on.join(", ")),
                    Value::Str(names.computed(planned, stops_at(rule.first.as_ref()))),
                    Value::Float(rounded(planned.rows)),
                ];
                visit(body, place, row);
            }
        }
    }
}

/// Rows after which a plan in order stops, if they are known before it runs.
fn stops_at(first: Option<&PipelinePlan>) -> Option<u64> {
    first?.in_order.first()?.rows
}

/// Measurements of an analysed query.
pub struct Analysis {
    began_us: u64,
    plan_us: u64,
    output: QueryResult,
}

impl Analysis {
    /// Starts with planning.
    pub fn begin(limits: &QueryLimits<'_>) -> Self {
        Self { began_us: limits.now_us(), plan_us: 0, output: QueryResult::status("OK") }
    }

    /// Planning has ended.
    pub fn planned(&mut self, limits: &QueryLimits<'_>) {
        self.plan_us = limits.now_us().saturating_sub(self.began_us);
    }

    /// A fast path answered the query with this number of rows. No step ran.
    pub fn end_fast_path(&mut self, name: &str, rows: usize, limits: &QueryLimits<'_>) {
        let us = limits.now_us().saturating_sub(self.began_us + self.plan_us);
        let seen = [Some(int(rows as u64)), None, Some(ms(us)), None];
        self.finish(vec![summary(name, String::new(), seen)], rows, None, limits);
    }

    /// The query is done and returned this number of rows.
    pub fn end(&mut self, profile: &Profile, plan: &Plan, rows: usize, limits: &QueryLimits<'_>) {
        let mut lines = Vec::new();
        for (stratum, group) in plan.groups.iter().enumerate() {
            let figures = profile.groups.get(stratum).copied().unwrap_or_default();
            steps(plan, stratum, group, profile, &mut lines);
            lines.push(group_line(plan, stratum, group, figures));
        }
        let held = profile.groups.iter().map(|group| group.held_bytes_max).max().unwrap_or(0);
        self.finish(lines, rows, Some(held), limits);
    }

    /// Adds the lines of the whole query.
    fn finish(
        &mut self,
        mut lines: Vec<Vec<Value>>,
        rows: usize,
        held: Option<u64>,
        limits: &QueryLimits<'_>,
    ) {
        let us = limits.now_us().saturating_sub(self.began_us);
        lines.push(summary("plan", String::new(), [None, None, Some(ms(self.plan_us)), None]));
        let seen = [Some(int(rows as u64)), None, Some(ms(us)), held.map(int)];
        lines.push(summary("query", String::new(), seen));
        let headers: Vec<&str> = PLANNED.into_iter().chain(SEEN).collect();
        self.output = QueryResult::of_values(&headers, lines);
    }

    /// The lines of the result.
    pub fn into_output(self) -> QueryResult {
        self.output
    }
}

/// Lines for the steps of a group's rules and for their heads, which receive the rows of the last
/// step.
fn steps(
    plan: &Plan,
    stratum: usize,
    group: &GroupPlan,
    profile: &Profile,
    lines: &mut Vec<Vec<Value>>,
) {
    each_step(plan, stratum, group, &mut |body, place, mut row| {
        let did = profile.body(body);
        let of = |place: usize| did.steps.get(place).copied().unwrap_or_default();
        let StepFigures { batches, rows, us, .. } = of(place);
        // The output rows of a step are the input rows of the next.
        let given = of(place + 1);
        let mut head = row[..4].to_vec();
        row.extend([int(given.rows), int(rows), int(batches), int(did.runs), ms(us), Value::Null]);
        row.push(Value::Str(ran(&of(place))));
        lines.push(row);
        if place + 1 == body.steps.len() {
            let text = |text: &str| Value::Str(text.to_owned());
            head[3] = int(place as u64 + 1);
            head.extend([text("head"), text(""), text(""), text(""), Value::Null, Value::Null]);
            head.extend([int(given.rows), int(given.batches), int(did.runs), ms(given.us)]);
            head.extend([Value::Null, columns(&given)]);
            lines.push(head);
        }
    });
}

/// The operators that ran, with the batches of each if there are several, and how many blocks were
/// read despite the block filter.
fn ran(figures: &StepFigures) -> String {
    let ran: Vec<_> = figures.operators().collect();
    let operators = match &ran[..] {
        [(name, _)] => name.as_str().to_owned(),
        ran => {
            let each = ran.iter().map(|(name, batches)| format!("{} {batches}", name.as_str()));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    match figures.blocks {
        (0, _) => operators,
        (met, read) => format!("{operators}, filter: {read} of {met} blocks read"),
    }
}

/// Whether the rows of a head came in typed columns, as those of a scan may; null if none did.
fn columns(figures: &StepFigures) -> Value {
    let StepFigures { batches, column_batches, .. } = *figures;
    match batches - column_batches {
        _ if column_batches == 0 => Value::Null,
        0 => Value::Str("columns".to_owned()),
        cells => Value::Str(format!("columns {column_batches}, cells {cells}")),
    }
}

/// The line of a whole group: rows of its relations, rounds, time and memory.
fn group_line(plan: &Plan, stratum: usize, group: &GroupPlan, figures: GroupFigures) -> Vec<Value> {
    let predicates = &plan.program.predicates;
    let names: Vec<&str> =
        group.group.predicates.iter().map(|&one| predicates[one].name.as_str()).collect();
    let kind = group.group.predicates.first().map(|&one| &predicates[one].kind);
    let (op, of) = match kind {
        Some(PredicateKind::Fixed(fixed)) => ("fixed_rule", fixed.name.clone()),
        Some(PredicateKind::Constant(_)) => ("constant", String::new()),
        _ => ("stratum", String::new()),
    };
    let rounds = group.group.is_recursive.then_some(int(figures.rounds));
    let seen =
        [Some(int(figures.rows)), rounds, Some(ms(figures.us)), Some(int(figures.held_bytes_max))];
    let mut line = summary(op, of, seen);
    line[0] = int(stratum as u64);
    line[2] = Value::Str(names.join(", "));
    line
}

/// A line that belongs to no step: rows, rounds, milliseconds and bytes.
fn summary(op: &str, of: String, seen: [Option<Value>; 4]) -> Vec<Value> {
    let [rows, rounds, ms, bytes_max] = seen.map(|value| value.unwrap_or(Value::Null));
    let mut line = vec![Value::Null; PLANNED.len()];
    line[4] = Value::Str(op.to_owned());
    line[5] = Value::Str(of);
    line.extend([rows, Value::Null, Value::Null, rounds, ms, bytes_max, Value::Null]);
    line
}

fn int(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn ms(us: u64) -> Value {
    Value::Float(us as f64 / 1e3)
}

/// The relation or variable that a step reads or binds, and the bound variables that it joins on.
fn reads(plan: &Plan, step: &Step, names: &PerVar<String>) -> (String, Vec<String>) {
    let name = |&var: &VarId| names[var].clone();
    let unless = |negated: bool| if negated { "not " } else { "" };
    match step {
        Step::Assign { var, .. } | Step::Member { var, .. } => (name(var), Vec::new()),
        Step::Filter(expr) => {
            let mut vars = Vec::new();
            expr.each_var(&mut |var| vars.push(names[var].clone()));
            (String::new(), vars)
        }
        Step::Same { a, b, .. } => (String::new(), vec![name(a), name(b)]),
        Step::Search(search) => {
            let mut vars = Vec::new();
            search.each_read(&mut |var| vars.push(names[var].clone()));
            (format!("~{}", plan.program.stored[search.index].name), vars)
        }
        Step::Derived { predicate, bound, negated, .. } => {
            let of = &plan.program.predicates[*predicate].name;
            let on = bound.iter().map(|(_, var)| name(var)).collect();
            (format!("{}{of}", unless(*negated)), on)
        }
        Step::Stored { stored, path, prefix, checks, negated, .. } => {
            let path_name = &plan.infos[*stored].paths[*path].name;
            let of = match path_name.is_empty() {
                true => &plan.program.stored[*stored].name,
                false => path_name,
            };
            let checked = checks.iter().map(|(_, var)| var);
            let on = prefix.iter().chain(checked).map(name).collect();
            (format!("{}*{of}", unless(*negated)), on)
        }
    }
}

/// Looks up the names of variables, columns and parameters.
struct Names<'p> {
    plan: &'p Plan,
    /// Names of the rule's variables.
    variables: &'p PerVar<String>,
}

impl Names<'_> {
    /// The expression that a step evaluates, or the bounds of its range scan. Bounds may be wider
    /// than the conditions they come from.
    fn computed(&self, planned: &PlannedStep, stops_at: Option<u64>) -> String {
        match &planned.step {
            Step::Assign { value: expr, .. } | Step::Filter(expr) => self.expr(expr),
            Step::Member { list, .. } => self.expr(list),
            Step::Stored { stored, path, prefix, range, at, .. } => {
                let info = &self.plan.infos[*stored];
                let column = info.paths[*path].keys.get(prefix.len());
                let bounds = range.as_deref().zip(column);
                let mut parts = bounds.map_or(Vec::new(), |(range, &column)| {
                    self.bounds(range, info.column_name(column))
                });
                parts.extend(at.iter().map(|at| format!("@ {}", self.expr(at))));
                if let Some(order) = planned.row_order {
                    let name = self.path_name(*stored, *path);
                    let direction = if order.backwards { "backwards" } else { "forwards" };
                    let rows = stops_at.map_or("the limit".to_owned(), |rows| rows.to_string());
                    parts.push(format!("order: {name} {direction}, stops at {rows}"));
                }
                parts.join(", ")
            }
            Step::Search(search) => {
                let inputs = search.inputs.iter().map(|(_, input, _)| self.expr(input));
                let filter = search.filter.iter();
                let filter = filter.map(|(filter, _)| format!("filter: {}", self.expr(filter)));
                inputs.chain(filter).collect::<Vec<_>>().join(", ")
            }
            Step::Same { .. } | Step::Derived { .. } => String::new(),
        }
    }

    /// The name of an index without that of its relation, or the name of the relation.
    fn path_name(&self, stored: StoredId, path: usize) -> &str {
        let relation = &self.plan.program.stored[stored].name;
        match self.plan.infos[stored].paths[path].name.rsplit_once(':') {
            None => relation,
            Some((_, index)) => index,
        }
    }

    fn bounds(&self, range: &RangeHint, column: &str) -> Vec<String> {
        let said = |sign: &str, bound: &Option<Expr>| {
            bound.as_ref().map(|bound| format!("{column} {sign} {}", self.expr(bound)))
        };
        let (lower, upper) = match range.is_point {
            true => (said("==", &range.lower), None),
            false => (said(">=", &range.lower), said("<=", &range.upper)),
        };
        let begins = range.starts_with.as_ref();
        let begins = begins.map(|text| format!("starts_with({column}, {})", self.expr(text)));
        [lower, upper, begins].into_iter().flatten().collect()
    }

    /// An expression in the syntax of scripts.
    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => value.to_string(),
            Expr::Param(number) => format!("${}", self.plan.program.parameters[*number]),
            Expr::Var(var) => self.variables[*var].clone(),
            Expr::Call(function, args, _) => match (function.name, &args[..]) {
                ("list", items) => format!("[{}]", self.exprs(items)),
                ("negate", [of]) => format!("!{}", self.operand(of)),
                ("minus", [of]) => format!("-{}", self.operand(of)),
                (name, args) => match sign(name).filter(|_| args.len() > 1) {
                    Some(sign) => {
                        let operands = args.iter().map(|arg| self.operand(arg));
                        operands.collect::<Vec<_>>().join(&format!(" {sign} "))
                    }
                    None => format!("{name}({})", self.exprs(args)),
                },
            },
        }
    }

    fn exprs(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    /// An expression in parentheses if it has an operator itself.
    fn operand(&self, expr: &Expr) -> String {
        match expr {
            Expr::Call(function, ..) if sign(function.name).is_some() => {
                format!("({})", self.expr(expr))
            }
            _ => self.expr(expr),
        }
    }
}

/// The operator in whose form a function is written.
fn sign(function: &str) -> Option<&'static str> {
    Some(match function {
        "or" => "||",
        "and" => "&&",
        "eq" => "==",
        "neq" => "!=",
        "gt" => ">",
        "ge" => ">=",
        "lt" => "<",
        "le" => "<=",
        "add" => "+",
        "sub" => "-",
        "mul" => "*",
        "div" => "/",
        "mod" => "%",
        "pow" => "^",
        "concat" => "++",
        "coalesce" => "~",
        _ => return None,
    })
}

/// An estimate, rounded to three digits.
fn rounded(rows: f64) -> f64 {
    format!("{rows:.2e}").parse().unwrap_or(rows)
}
