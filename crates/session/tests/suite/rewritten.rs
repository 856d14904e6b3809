//! Inlined rules, join orders under trial and magic sets: compared with plain loops.

use crate::common::engine_of;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::rc::Rc;

type Row = Vec<i64>;
type Relations = BTreeMap<String, Rc<Vec<Row>>>;

/// Vertices with a dense set of edges.
const CORE: i64 = 9;
/// Edges of vertices with one edge each: enough that full scans are not chosen.
const PAIRS: i64 = 1100;
/// Rows that plain loops may visit; programs that need more add no coverage.
const LOOKS_MAX: usize = 4_000_000;

/// A variable, a constant, or a wildcard.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arg {
    Var(usize),
    Is(i64),
    Any,
}

#[derive(Clone, Debug)]
enum Literal {
    Atom { of: String, args: Vec<Arg>, negated: bool },
    In(usize, Vec<i64>),
    Differ(usize, usize),
    Less(usize, usize),
}

#[derive(Clone, Debug)]
struct Rule {
    name: String,
    head: Vec<usize>,
    /// Aggregate of the head's last variable.
    aggregate: Option<&'static str>,
    body: Vec<Literal>,
}

impl Rule {
    fn of(name: &str, head: &[usize], body: Vec<Literal>) -> Self {
        Self { name: name.to_owned(), head: head.to_vec(), aggregate: None, body }
    }

    fn script(&self) -> String {
        let mut head: Vec<String> = self.head.iter().map(|var| format!("x{var}")).collect();
        if let (Some(aggregate), Some(last)) = (self.aggregate, head.last_mut()) {
            *last = format!("{aggregate}({last})");
        }
        let body: Vec<String> = self.body.iter().map(Literal::script).collect();
        format!("{}[{}] := {}\n", self.name, head.join(", "), body.join(", "))
    }
}

impl Literal {
    fn atom(of: &str, args: &[Arg]) -> Self {
        Self::Atom { of: of.to_owned(), args: args.to_vec(), negated: false }
    }

    fn script(&self) -> String {
        match self {
            Self::Atom { of, args, negated } => {
                let args: Vec<String> = args
                    .iter()
                    .map(|arg| match arg {
                        Arg::Var(var) => format!("x{var}"),
                        Arg::Is(number) => number.to_string(),
                        Arg::Any => "_".to_owned(),
                    })
                    .collect();
                format!("{}{of}[{}]", if *negated { "not " } else { "" }, args.join(", "))
            }
            Self::In(var, one) if one.len() == 1 => format!("x{var} = {}", one[0]),
            Self::In(var, list) => format!("x{var} in {list:?}"),
            Self::Differ(a, b) => format!("x{a} != x{b}"),
            Self::Less(a, b) => format!("x{a} < x{b}"),
        }
    }
}

/// Evaluates rules by plain loops.
struct Loops {
    relations: Relations,
    looks: usize,
}

impl Loops {
    /// The rows of the last rule; `None` if there are too many to visit.
    fn answer(mut self, rules: &[Rule]) -> Option<Vec<Row>> {
        let mut names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
        names.dedup();
        for name in &names {
            self.relations.insert((*name).to_owned(), Rc::default());
            loop {
                let mut rows: BTreeSet<Row> = BTreeSet::new();
                for rule in rules.iter().filter(|rule| rule.name == *name) {
                    let mut found = Vec::new();
                    self.extend(&rule.body, &mut vec![None; 8], &mut |values| {
                        let of = |var: &usize| values[*var].unwrap();
                        found.push(rule.head.iter().map(of).collect::<Row>());
                    })?;
                    rows.extend(aggregated(rule, found));
                }
                let rows: Vec<Row> = rows.into_iter().collect();
                let is_done = *self.relations[*name] == rows;
                self.relations.insert((*name).to_owned(), Rc::new(rows));
                if is_done {
                    break;
                }
            }
        }
        self.relations.remove("?").map(Rc::unwrap_or_clone)
    }

    /// Calls `each` for every assignment of a body's variables, once for each choice of rows.
    fn extend(
        &mut self,
        body: &[Literal],
        values: &mut Vec<Option<i64>>,
        each: &mut dyn FnMut(&[Option<i64>]),
    ) -> Option<()> {
        // Assignments first, filters last.
        let rank = |literal: &&Literal| match literal {
            Literal::In(..) => 0,
            Literal::Atom { negated: false, .. } => 1,
            _ => 2,
        };
        let Some(next) = body.iter().min_by_key(rank) else {
            each(values);
            return Some(());
        };
        let place = body.iter().position(|one| std::ptr::eq(one, next))?;
        let left = [&body[..place], &body[place + 1..]].concat();
        match next {
            Literal::In(var, list) => {
                for value in list.iter().collect::<BTreeSet<_>>() {
                    if values[*var].is_none_or(|known| known == *value) {
                        let before = values[*var].replace(*value);
                        self.extend(&left, values, each)?;
                        values[*var] = before;
                    }
                }
            }
            Literal::Differ(a, b) if values[*a] == values[*b] => {}
            Literal::Less(a, b) if values[*a] >= values[*b] => {}
            Literal::Differ(..) | Literal::Less(..) => self.extend(&left, values, each)?,
            Literal::Atom { of, args, negated } => {
                let rows = Rc::clone(&self.relations[of]);
                self.looks += rows.len() + 1;
                if self.looks > LOOKS_MAX {
                    return None;
                }
                let fitting = rows.iter().filter_map(|row| fitted(args, row, values));
                let fitting: Vec<_> = fitting.collect();
                if *negated {
                    if fitting.is_empty() {
                        self.extend(&left, values, each)?;
                    }
                    return Some(());
                }
                for mut more in fitting {
                    self.extend(&left, &mut more, each)?;
                }
            }
        }
        Some(())
    }
}

/// The values extended by those of a row, if they match.
fn fitted(args: &[Arg], row: &[i64], values: &[Option<i64>]) -> Option<Vec<Option<i64>>> {
    let mut more = values.to_vec();
    for (arg, value) in args.iter().zip(row) {
        match arg {
            Arg::Any => {}
            Arg::Is(number) if number == value => {}
            Arg::Var(var) if more[*var].is_none_or(|known| known == *value) => {
                more[*var] = Some(*value);
            }
            _ => return None,
        }
    }
    Some(more)
}

fn aggregated(rule: &Rule, found: Vec<Row>) -> Vec<Row> {
    let Some(aggregate) = rule.aggregate else { return found };
    let mut groups: BTreeMap<Row, Row> = BTreeMap::new();
    if rule.head.len() == 1 {
        groups.insert(Vec::new(), Vec::new());
    }
    for mut row in found {
        let value = row.pop().unwrap();
        groups.entry(row).or_default().push(value);
    }
    let value = |values: Row| match aggregate {
        "count" => values.len() as i64,
        "sum" => values.iter().sum(),
        _ => values.into_iter().collect::<BTreeSet<_>>().len() as i64,
    };
    groups.into_iter().map(|(group, values)| [group, vec![value(values)]].concat()).collect()
}

/// Random choices, one byte each.
struct Drawn<'b>(std::slice::Iter<'b, u8>);

impl Drawn<'_> {
    fn below(&mut self, end: usize) -> usize {
        usize::from(*self.0.next().unwrap_or(&0)) % end
    }

    fn vertex(&mut self) -> i64 {
        [0, 1, 2, 3, 5, 1000, 1001, 7777][self.below(8)]
    }

    fn arg(&mut self, var: usize) -> Arg {
        match self.below(12) {
            0 => Arg::Is(self.vertex()),
            1 => Arg::Any,
            2 => Arg::Var(self.below(4)),
            _ => Arg::Var(var),
        }
    }

    /// Rules with one name over the existing relations.
    fn view(&mut self, name: &str, sources: &[(String, usize)]) -> (Vec<Rule>, usize) {
        let two: Vec<&String> =
            sources.iter().filter(|(_, width)| *width == 2).map(|(of, _)| of).collect();
        let of = two[self.below(two.len())].as_str();
        let [x, y, z] = [0, 1, 2].map(Arg::Var);
        let plain = Literal::atom(of, &[x, y]);
        let said = Literal::In(0, vec![self.vertex()]);
        let rule = |head: &[usize], body| Rule::of(name, head, body);
        match self.below(11) {
            0 | 1 => (vec![rule(&[0, 1], vec![plain])], 2),
            2 => (vec![rule(&[1, 0], vec![plain])], 2),
            3 => (vec![rule(&[1], vec![Literal::atom(of, &[Arg::Any, y])])], 1),
            4 => (vec![rule(&[0], vec![Literal::atom(of, &[x, x])])], 1),
            5 => (vec![rule(&[0, 1], vec![plain, said])], 2),
            6 => (vec![rule(&[1], vec![Literal::atom(of, &[Arg::Is(self.vertex()), y])])], 1),
            7 => (vec![rule(&[0, 0], vec![plain])], 2),
            8 => (vec![rule(&[0, 1], vec![plain.clone()]), rule(&[1, 0], vec![plain])], 2),
            9 => {
                let mut counted = rule(&[0, 1], vec![plain]);
                // A sum is a float, and so never an edge's vertex.
                counted.aggregate = Some(["count", "count_unique"][self.below(2)]);
                (vec![counted], 2)
            }
            _ => {
                let own = Literal::atom(name, &[x, z]);
                let mut further = vec![own, Literal::atom(of, &[z, y])];
                if self.below(2) == 0 {
                    further.push(said);
                }
                (vec![rule(&[0, 1], vec![plain]), rule(&[0, 1], further)], 2)
            }
        }
    }

    fn program(&mut self) -> Vec<Rule> {
        let mut sources = vec![("*e".to_owned(), 2), ("*n".to_owned(), 2)];
        let mut rules = Vec::new();
        for number in 0..self.below(4) {
            let name = format!("v{number}");
            let (made, width) = self.view(&name, &sources);
            rules.extend(made);
            sources.push((name, width));
        }
        let mut body = Vec::new();
        for var in 0..1 + self.below(4) {
            // Recent relations are read most often.
            let source = sources.len() - 1 - self.below(sources.len()).min(self.below(3));
            let (of, width) = &sources[source];
            let mut args = vec![self.arg(var), self.arg(var + 1)];
            args.truncate(*width);
            body.push(Literal::atom(of, &args));
        }
        let mut bound: Vec<usize> = (0..8).filter(|var| is_bound(&body, *var)).collect();
        if bound.is_empty() || self.below(4) > 0 {
            let var = *bound.first().unwrap_or(&0);
            let list = (0..=self.below(3)).map(|_| self.vertex()).collect();
            body.push(Literal::In(var, list));
            bound.push(var);
        }
        let one = |drawn: &mut Self| bound[drawn.below(bound.len())];
        match self.below(6) {
            0 => body.push(Literal::Differ(one(self), one(self))),
            1 => body.push(Literal::Less(one(self), one(self))),
            2 | 3 => {
                let (of, width) = sources[self.below(sources.len())].clone();
                let args = (0..width).map(|_| match self.below(4) {
                    0 => Arg::Is(self.vertex()),
                    1 => Arg::Any,
                    _ => Arg::Var(one(self)),
                });
                let args = args.collect();
                body.push(Literal::Atom { of, args, negated: true });
            }
            _ => {}
        }
        let mut head = vec![one(self)];
        if self.below(2) == 0 {
            head.push(one(self));
        }
        let aggregate = [None, Some("count"), Some("sum"), Some("count_unique")][self.below(4)];
        rules.push(Rule { aggregate, ..Rule::of("?", &head, body) });
        rules
    }
}

fn is_bound(body: &[Literal], var: usize) -> bool {
    body.iter().any(
        |literal| matches!(literal, Literal::Atom { args, .. } if args.contains(&Arg::Var(var))),
    )
}

fn relations(drawn: &[(u8, u8)]) -> Relations {
    let core = |byte: u8| i64::from(byte) % CORE;
    let mut edges: BTreeSet<Row> = drawn.iter().map(|&(a, b)| vec![core(a), core(b)]).collect();
    edges.extend((0..PAIRS).map(|pair| vec![1000 + 2 * pair, 1001 + 2 * pair]));
    let labels = (0..CORE).chain(1000..1000 + PAIRS).map(|id| vec![id, id % 4]);
    let edges = Rc::new(edges.into_iter().collect());
    Relations::from([("*e".to_owned(), edges), ("*n".to_owned(), Rc::new(labels.collect()))])
}

fn run(engine: &Engine, script: &str) -> Vec<Row> {
    let output = engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{}", error.render(script)));
    let number = |value: &model::Value| match value {
        model::Value::Int(int) => *int,
        model::Value::Float(float) => *float as i64,
        other => panic!("{other} is not a number"),
    };
    let mut rows: Vec<Row> =
        (0..output.rows).map(|at| output.row(at).iter().map(number).collect()).collect();
    rows.sort();
    rows
}

fn engine(relations: &Relations, has_reverse: bool) -> Engine {
    let engine = engine_of(1, 1 << 30);
    run_text(&engine, &format!("?[a, b] <- {:?} :create e {{a: Int, b: Int}}", relations["*e"]));
    run_text(
        &engine,
        &format!("?[id, k] <- {:?} :create n {{id: Int => k: Int}}", relations["*n"]),
    );
    if has_reverse {
        run_text(&engine, "::index create e:rev {b, a}");
    }
    engine
}

fn run_text(engine: &Engine, script: &str) {
    engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{}", error.render(script)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn no_rewriting_changes_an_answer(
        edges in prop::collection::vec(any::<(u8, u8)>(), 0..40),
        has_reverse in any::<bool>(),
        programs in prop::collection::vec(prop::collection::vec(any::<u8>(), 80), 24),
    ) {
        let relations = relations(&edges);
        let engine = engine(&relations, has_reverse);
        for bytes in &programs {
            let rules = Drawn(bytes.iter()).program();
            let loops = Loops { relations: relations.clone(), looks: 0 };
            let Some(wanted) = loops.answer(&rules) else { continue };
            let mut script = String::new();
            rules.iter().for_each(|rule| script.push_str(&rule.script()));
            for option in ["", ":disable_magic_rewrite true"] {
                let mut asked = script.clone();
                write!(asked, "{option}").unwrap();
                prop_assert_eq!(&run(&engine, &asked), &wanted, "{}", asked);
            }
        }
    }
}
