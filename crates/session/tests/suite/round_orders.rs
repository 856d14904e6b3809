//! Join orders of recursive rules: each of them, by hand or by size, gives what plain loops give.

use crate::common::engine_of;
use proptest::prelude::*;
use quipu_session::{Engine, Parameters};
use std::collections::BTreeSet;

type Pairs = BTreeSet<(i64, i64)>;

/// Two stored relations and two recursive ones.
const NAMES: [&str; 4] = ["*e", "*f", "t", "u"];

/// Most orders that a rule of three atoms has, and one more.
const ORDERS: usize = 4;

/// A relation by its index in [`NAMES`], with two variables.
type Atom = (usize, usize, usize);

/// A rule for `t` (2) or `u` (3): its relation, the variables of its head, its atoms.
#[derive(Clone, Debug)]
struct Rule {
    of: usize,
    head: (usize, usize),
    body: Vec<Atom>,
}

impl Rule {
    fn script(&self) -> String {
        let atom = |&(of, a, b): &Atom| format!("{}[x{a}, x{b}]", NAMES[of]);
        let body: Vec<String> = self.body.iter().map(atom).collect();
        let (a, b) = self.head;
        format!("{}[x{a}, x{b}] := {}\n", NAMES[self.of], body.join(", "))
    }

    /// Adds what the rule derives; returns whether there was something new.
    fn derive(&self, relations: &mut [Pairs; 4]) -> bool {
        let mut found = Pairs::new();
        self.extend(relations, 0, &mut [None; 4], &mut found);
        let before = relations[self.of].len();
        relations[self.of].extend(found);
        relations[self.of].len() > before
    }

    fn extend(
        &self,
        relations: &[Pairs; 4],
        at: usize,
        values: &mut [Option<i64>; 4],
        found: &mut Pairs,
    ) {
        let Some(&(of, a, b)) = self.body.get(at) else {
            found.extend(values[self.head.0].zip(values[self.head.1]));
            return;
        };
        for &(left, right) in &relations[of] {
            let before = *values;
            if *values[a].get_or_insert(left) == left && *values[b].get_or_insert(right) == right {
                self.extend(relations, at + 1, values, found);
            }
            *values = before;
        }
    }
}

/// A rule whose atoms are connected: each has a variable of one before it.
fn rule() -> impl Strategy<Value = Rule> {
    let atom = || (0..4_usize, 0..4_usize, 0..4_usize, any::<bool>());
    (2..4_usize, prop::collection::vec(atom(), 2..4), (0..4_usize, 0..4_usize)).prop_map(
        |(of, drawn, head)| {
            let (mut body, mut bound): (Vec<Atom>, Vec<usize>) = (Vec::new(), vec![0]);
            for (source, old, new, is_reversed) in drawn {
                let (old, new) = (bound[old % bound.len()], new);
                // A variable in two places of an atom is another feature.
                let new = if new == old { (new + 1) % 4 } else { new };
                bound.extend([old, new]);
                body.push(if is_reversed { (source, new, old) } else { (source, old, new) });
            }
            let used: Vec<usize> = body.iter().flat_map(|&(_, a, b)| [a, b]).collect();
            let head = (used[head.0 % used.len()], used[head.1 % used.len()]);
            Rule { of, head, body }
        },
    )
}

fn pairs() -> impl Strategy<Value = Pairs> {
    prop::collection::btree_set((0..7_i64, 0..7_i64), 1..12)
}

fn run(engine: &Engine, script: &str) -> Vec<Vec<i64>> {
    let output = engine
        .run(script, &Parameters::new())
        .unwrap_or_else(|error| panic!("{}", error.render(script)));
    let int = |value: &model::Value| match value {
        model::Value::Int(int) => *int,
        other => panic!("{other} is not an integer"),
    };
    (0..output.rows).map(|row| output.row(row).iter().map(int).collect()).collect()
}

fn loaded(threads: usize, stored: &[Pairs]) -> Engine {
    let engine = engine_of(threads, 1 << 30);
    engine.set_parallel_rows(8);
    engine.set_sampled_rows(1);
    for (name, pairs) in ["e", "f"].iter().zip(stored) {
        let rows: Vec<[i64; 2]> = pairs.iter().map(|&(a, b)| [a, b]).collect();
        let script = format!("?[a, b] <- {rows:?} :create {name} {{a: Int, b: Int}}");
        engine.run(&script, &Parameters::new()).unwrap();
    }
    engine
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_order_of_a_round_gives_what_loops_give(
        stored in [pairs(), pairs()],
        programs in prop::collection::vec(prop::collection::vec(rule(), 1..4), 6),
    ) {
        let engines = [loaded(1, &stored), loaded(2, &stored)];
        for rules in programs {
            let mut script = "t[x, y] := *e[x, y]\nu[x, y] := *f[x, y]\n".to_owned();
            rules.iter().for_each(|rule| script.push_str(&rule.script()));
            script.push_str("?[k, x, y] := t[x, y], k = 0\n?[k, x, y] := u[x, y], k = 1\n");
            let mut relations =
                [stored[0].clone(), stored[1].clone(), stored[0].clone(), stored[1].clone()];
            while rules.iter().fold(false, |grown, rule| rule.derive(&mut relations) | grown) {}
            let mut wanted = Vec::new();
            for (k, pairs) in relations[2..].iter().enumerate() {
                wanted.extend(pairs.iter().map(|&(a, b)| vec![k as i64, a, b]));
            }
            for (engine, order) in engines.iter().flat_map(|one| (0..=ORDERS).map(move |i| (one, i))) {
                engine.set_round_order(order);
                let mut found = run(engine, &script);
                found.sort();
                prop_assert_eq!(&found, &wanted, "order {} of\n{}", order, script);
            }
        }
    }
}

#[test]
fn a_large_delta_is_reached_from_the_small_relation() {
    // Each object is reached from 500 variables; `load` reads two of them.
    let engine = engine_of(1, 1 << 30);
    let run_all = |script: &str| engine.run(script, &Parameters::new()).unwrap();
    run_all(
        "?[a, b] := a in int_range(0, 500), b in int_range(0, 20) :create addr {a: Int, b: Int}",
    );
    run_all("?[a, b] <- [[700, 3], [701, 4]] :create load {a: Int, b: Int}");
    let rules = "pt[y, x] := *addr{a: y, b: x}
        pt[y, w] := *load{a: y, b: x}, pt[x, z], pt[z, w]
        ?[count(y)] := pt[y, w]";
    assert_eq!(run(&engine, rules), [[10_000 + 40]]);
    let lines = run_all(&format!("::explain analyze {{ {rules} }}"));
    let text = |row: &[model::Value], column: usize| row[column].to_string();
    // The first steps of these orders that made rows.
    let mut ran: Vec<(String, String)> = (0..lines.rows)
        .map(|row| lines.row(row))
        .filter(|row| text(row, 2).contains("by size") && text(row, 3) == "0")
        .filter(|row| text(row, 9) != "0")
        .map(|row| (text(&row, 4), text(&row, 5)))
        .collect();
    ran.dedup();
    assert_eq!(ran, [("\"scan\"".to_owned(), "\"*load\"".to_owned())]);
}
