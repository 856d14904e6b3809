//! What `::explain` shows: a line for each step of each rule, in the order in which they run.

use crate::output::Output;
use model::Value;
use plan::{Plan, Step};

/// The plan as rows.
pub(crate) fn rows(plan: &Plan) -> Output {
    let headers =
        ["stratum", "rule_idx", "rule", "atom_idx", "op", "ref", "joins_on", "rows_estimate"];
    let mut rows = Vec::new();
    for (stratum, group) in plan.groups.iter().enumerate() {
        for (number, rule) in group.rules.iter().enumerate() {
            let definition = &plan.program.rules[rule.rule];
            let name = &plan.program.predicates[definition.predicate].name;
            for body in rule.first.iter().chain(&rule.rounds) {
                for (place, planned) in body.steps.iter().enumerate() {
                    let (op, of, on) = step_text(plan, &planned.step, &definition.variables);
                    rows.push(vec![
                        Value::Int(stratum as i64),
                        Value::Int(number as i64),
                        Value::Str(name.clone()),
                        Value::Int(place as i64),
                        Value::Str(op.to_owned()),
                        Value::Str(of),
                        Value::Str(on.join(", ")),
                        Value::Float(planned.rows),
                    ]);
                }
            }
        }
    }
    Output::of_values(&headers, rows)
}

fn step_text(plan: &Plan, step: &Step, names: &[String]) -> (&'static str, String, Vec<String>) {
    let name = |&var: &usize| names[var].clone();
    match step {
        Step::Assign { var, compare: false, .. } => ("assign", name(var), Vec::new()),
        Step::Assign { var, .. } => ("compare", name(var), Vec::new()),
        Step::Filter(expr) => {
            let mut vars = Vec::new();
            expr.each_var(&mut |var| vars.push(names[var].clone()));
            ("filter", String::new(), vars)
        }
        Step::Same { a, b, .. } => ("same", String::new(), vec![name(a), name(b)]),
        Step::Member { var, .. } => ("member", name(var), Vec::new()),
        Step::Derived { predicate, bound, negated, .. } => {
            let of = plan.program.predicates[*predicate].name.clone();
            let on = bound.iter().map(|(_, var)| name(var)).collect();
            (if *negated { "anti_join" } else { "join" }, of, on)
        }
        Step::Stored { stored, path, prefix, checks, range, negated, .. } => {
            let info = &plan.infos[*stored];
            let path_name = &info.paths[*path].name;
            let of = match path_name.is_empty() {
                true => format!("*{}", plan.program.stored[*stored].name),
                false => format!("*{path_name}"),
            };
            let checked = checks.iter().map(|(_, var)| var);
            let on: Vec<String> = prefix.iter().chain(checked).map(name).collect();
            let op = match (negated, prefix.len(), range) {
                (true, ..) => "stored_anti_join",
                (false, 0, None) if checks.is_empty() => "scan",
                (false, 0, None) => "stored_hash_join",
                (false, 0, Some(_)) => "range_scan",
                (false, n, _) if n == info.paths[*path].keys.len() => "key_look_up",
                (false, ..) => "prefix_join",
            };
            (op, of, on)
        }
    }
}
