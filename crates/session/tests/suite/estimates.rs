//! Compares the planner's estimates with the actual number of rows.

use crate::common::engine_of;
use model::Value;
use quipu_session::{Engine, Parameters, QueryResult};

/// Estimated and actual rows of the last join of a query.
fn thought_and_found(engine: &Engine, query: &str) -> (f64, f64) {
    let run = |script: &str| {
        let output = engine.run(script, &Parameters::new());
        output.unwrap_or_else(|error| panic!("{}", error.render(script)))
    };
    let column = |output: &QueryResult, name: &str| {
        output.headers.iter().position(|header| header == name).unwrap()
    };
    let number = |output: &QueryResult, row: usize, name: &str| match output
        .value(row, column(output, name))
    {
        Value::Int(int) => int as f64,
        Value::Float(float) => float,
        other => panic!("{other} is not a number"),
    };
    let last_join = |output: &QueryResult| {
        let is_join = |row: &usize| matches!(output.value(*row, column(output, "ref")), Value::Str(relation) if relation.starts_with('*'));
        (0..output.rows).rfind(is_join)
    };
    let (planned, seen) = (
        run(&format!("::explain {{ {query} }}")),
        run(&format!("::explain analyze {{ {query} }}")),
    );
    let thought = number(&planned, last_join(&planned).unwrap(), "rows_estimate");
    // A point lookup has one line and no steps.
    (thought, number(&seen, last_join(&seen).unwrap_or(0), "rows"))
}

#[track_caller]
fn is_about_right(engine: &Engine, query: &str) {
    let (thought, found) = thought_and_found(engine, query);
    assert!(
        (found / 3.0..=found * 3.0).contains(&thought),
        "{query}: {thought} thought, {found} found"
    );
}

fn engine(scripts: &[&str]) -> Engine {
    let engine = engine_of(1, 1 << 30);
    for script in scripts {
        engine
            .run(script, &Parameters::new())
            .unwrap_or_else(|error| panic!("{}", error.render(script)));
    }
    engine
}

#[test]
fn groups_of_text_keys_are_known() {
    // 1,000 authors with 10 papers each, 5 words per paper.
    let engine = engine(&["?[a, p, w] := n in int_range(10000), k in int_range(5),
            a = concat('author ', to_string(mod(n, 1000))), p = concat('paper ', to_string(n)),
            w = concat('word ', to_string(mod(n * 7 + k * 1013, 20000)))
        :create wrote {a: String, p: String, w: String}"]);
    is_about_right(&engine, "?[p, w] := *wrote['author 7', p, w]");
    is_about_right(&engine, "?[w] := *wrote['author 7', 'paper 7', w]");
    is_about_right(
        &engine,
        "?[a, w] := a in ['author 1', 'author 2', 'author 3'], *wrote[a, p, w]",
    );
}

#[test]
fn a_join_with_itself_meets_the_popular_more_often() {
    // One page is liked by a fifth of all users, and four thousand pages by one user each.
    let engine =
        engine(&["?[who, page] := who in int_range(5000), page = if(mod(who, 5) == 0, 0, who)
            :create likes {page: Int, who: Int}"]);
    is_about_right(&engine, "?[a, b] := *likes[page, a], *likes[page, b]");
    // A lookup of one page may be of any page.
    let (thought, _) = thought_and_found(&engine, "?[who] := *likes[0, who]");
    assert!(thought < 10.0, "{thought}");
}

/// LSQB's third pattern once started with a hundred and fifty thousand rows of cities and
/// countries.
#[test]
fn a_chain_of_small_relations_finds_one_row_each() {
    let engine = engine(&[
        "?[a, b] := a in int_range(2000), k in int_range(5), b = mod(a * 7 + k * 331, 2000) :create knows {a: Int, b: Int}",
        "?[p, city] := p in int_range(2000), city = mod(p * 13, 600) :create lives {p: Int, city: Int}",
        "?[city, land] := city in int_range(600), land = mod(city, 25) :create part {city: Int, land: Int}",
    ]);
    is_about_right(&engine, "?[a, b, land] := *knows[a, b], *lives[a, city], *part[city, land]");
}

#[test]
fn a_column_of_few_values_leaves_more_than_one_of_many() {
    let engine = engine(&["?[id, city, name] := id in int_range(20000), city = mod(id, 4),
            name = concat('name ', to_string(id))
        :create user {id: Int => city: Int, name: String}"]);
    is_about_right(&engine, "?[id] := city = 1, *user{id, city}");
    let (few, _) = thought_and_found(&engine, "?[id] := city = 1, *user{id, city}");
    let (one, _) = thought_and_found(&engine, "?[id] := name = 'name 7', *user{id, name}");
    assert!(one * 20.0 < few, "{one} of many, {few} of four");
}

#[test]
fn statistics_of_a_few_rows_change_no_answer() {
    let made = [
        "?[a, b, c] := i in int_range(12), a = mod(i, 3), b = concat('b', to_string(mod(i * 5, 4))), c = mod(i * i, 7)
            :create three {a: Int, b: String, c: Int}",
        "?[a, b] := i in int_range(9), a = concat('b', to_string(mod(i, 5))), b = mod(i * 3, 8)
            :create text {a: String => b: Int}",
        "?[a, b] := a in int_range(7), b in [mod(a * 2, 7), null] :create any {a, b}",
        "::index create three:by_c {c, b}",
    ];
    let (plain, steered) = (engine(&made), engine(&made));
    steered.set_sampled_rows(1);
    for query in [
        "?[a, c, d] := *three[a, b, c], *text[b, d]",
        "?[x, y] := *three[x, b, c], *three[y, b, c], x < y",
        "?[a, y] := *any[a, y], *three[a, b, y], *text[b, z], not *any[z, a]",
        "?[b, count(c)] := *three{b, c}, *any[c, d], *text{a: b}",
        "r[x, y] := *three[x, _, y] r[x, z] := r[x, y], *any[y, z], *three{c: z} ?[x, z] := r[x, z]",
        "?[a, b, c] := *three[a, b, c], c = 4, *text[b, 3] or *three[a, b, c], *any[c, a], *text{a: b, b: a}",
    ] {
        let rows = |engine: &Engine| {
            let output = engine
                .run(query, &Parameters::new())
                .unwrap_or_else(|error| panic!("{}", error.render(query)));
            (0..output.rows).map(|row| output.row(row).to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(rows(&steered), rows(&plain), "{query}");
    }
}

#[test]
fn what_a_transaction_has_not_committed_is_not_kept_for_others() {
    let rows = "?[a, c, d] := i in int_range(20000), a = mod(i, 100), c = i, d = mod(i, 7)";
    let asked = "?[c] := *r{a: 5, c}";
    let loads = [
        format!("{{ {rows} :create r {{a: Int, c: Int => d: Int}} }} {{ {asked} }}"),
        format!(
            "{{ :create r {{a: Int, c: Int => d: Int}} }} {{ {rows} :put r {{a, c => d}} }} {{ {asked} }}"
        ),
        format!("{{ {rows} :replace r {{a: Int, c: Int => d: Int}} }} {{ {asked} }}"),
    ];
    for load in &loads {
        let engine = engine(&[load]);
        is_about_right(&engine, asked);
        is_about_right(&engine, "?[a, c] := d = 3, *r{a, c, d}");
    }
    // A few existing rows do not represent many.
    let engine = engine(&[
        "?[a, c, d] <- [[7, -1, 1], [7, -2, 1], [7, -3, 1]] :create r {a: Int, c: Int => d: Int}",
        &format!("{{ {rows} :put r {{a, c => d}} }} {{ {asked} }}"),
    ]);
    is_about_right(&engine, asked);
    is_about_right(&engine, "?[a, c] := d = 3, *r{a, c, d}");
}
