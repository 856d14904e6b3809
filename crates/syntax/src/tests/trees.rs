//! Trees of parsed scripts.

use super::shape;
use crate::{Expr, Query, Script, parse, parse_expression};

/// An expression with brackets around every call.
fn nested(expr: &Expr) -> String {
    match expr {
        Expr::Call { name, args, .. } => {
            let args: Vec<_> = args.iter().map(nested).collect();
            format!("{name}({})", args.join(", "))
        }
        other => other.to_string(),
    }
}

#[track_caller]
fn check_expression(text: &str, want: &str) {
    assert_eq!(nested(&parse_expression(text).unwrap()), want);
}

#[track_caller]
fn query(text: &str) -> Query {
    match parse(text) {
        Ok(Script::Query(query)) => query,
        Ok(other) => panic!("{other:?}"),
        Err(found) => panic!("{}", found[0].render(text)),
    }
}

/// The debug format without fields that the script leaves out.
fn compact(shape: &str) -> String {
    let mut compact = shape.to_owned();
    for name in [
        "aggregate",
        "index",
        "at",
        "column_type",
        "default",
        "binding",
        "spec",
        "limit",
        "offset",
        "timeout",
        "sleep",
        "assert_some",
        "disable_magic_rewrite",
        "mutation",
    ] {
        for unsaid in [format!(", {name}: None"), format!("{name}: None, ")] {
            compact = compact.replace(&unsaid, "");
        }
    }
    let compact = compact.replace("order: []", "").replace(", returning: false", "");
    ["Variable", "Literal", "Parameter"].iter().fold(compact, |text, kind| text.replace(kind, ""))
}

#[track_caller]
fn check(text: &str, want: &str) {
    match parse(text) {
        Ok(tree) => assert_eq!(compact(&shape(&tree)), want),
        Err(found) => panic!("{}", found[0].render(text)),
    }
}

/// Checks the body of a rule.
#[track_caller]
fn check_body(text: &str, want: &str) {
    let rules = query(&format!("?[x] := {text}")).rules;
    let [crate::Rule::Inline { body, .. }] = rules.as_slice() else { panic!("{rules:?}") };
    assert_eq!(compact(&shape(body)), want);
}

#[test]
fn operators_bind_as_tightly_as_the_table_of_the_language_says() {
    check_expression("a || b && c", "or(a, and(b, c))");
    check_expression("a && b > c", "and(a, gt(b, c))");
    check_expression("a <= b == c", "le(a, eq(b, c))");
    check_expression("a == b % c", "eq(a, mod(b, c))");
    check_expression("a % b + c", "mod(a, add(b, c))");
    check_expression("a ++ b / c", "concat(a, div(b, c))");
    check_expression("a * b ^ c", "mul(a, pow(b, c))");
    check_expression("a ^ b ~ c", "pow(a, coalesce(b, c))");
    check_expression("a ~ b -> c", "coalesce(a, maybe_get(b, c))");
    check_expression("-a -> b", "maybe_get(minus(a), b)");
    check_expression("!a == b", "eq(negate(a), b)");
    check_expression("-3 ^ 2", "pow(-3, 2)");
    check_expression("(a + b) * c", "mul(add(a, b), c)");
}

#[test]
fn operators_go_left_to_right_and_powers_right_to_left() {
    check_expression("a - b - c", "sub(sub(a, b), c)");
    check_expression("a -> b -> c", "maybe_get(maybe_get(a, b), c)");
    check_expression("a - b + c", "add(sub(a, b), c)");
    check_expression("a < b >= c != d", "ge(lt(a, b), neq(c, d))");
    check_expression("a ^ b ^ c", "pow(a, pow(b, c))");
}

#[test]
fn a_chain_of_one_operator_is_one_call() {
    check_expression("a + b + c", "add(a, b, c)");
    check_expression("(a + b) + c", "add(add(a, b), c)");
    check_expression("a + (b + c)", "add(a, add(b, c))");
    check_expression("a + b ++ c ++ d", "concat(add(a, b), c, d)");
    check_expression("a && b && c || d || e", "or(and(a, b, c), d, e)");
    check_expression("add(a, b) + c", "add(add(a, b), c)");
}

#[test]
fn a_minus_before_a_number_is_a_part_of_it() {
    check_expression("-9223372036854775808", "-9223372036854775808");
    check_expression("a - -1.5e-3", "sub(a, -0.0015)");
    check_expression("--1", "minus(-1)");
    check_expression("-(1)", "minus(1)");
    check_expression("a -1", "sub(a, 1)");
}

#[test]
fn literals_have_all_their_forms() {
    let text = r#"[0x1F, 0o17, 0b11, 1_0, 1., 1e2, 'a"\'', "b\n", __"c\"_"__, null, true, {'k': $p.q}, _,]"#;
    let want =
        r#"[31, 15, 3, 10, 1.0, 100.0, "a\"'", "b\n", "c\\\"_", null, true, {"k": $p.q}, _]"#;
    assert_eq!(parse_expression(text).unwrap().to_string(), want);
}

#[test]
fn words_that_begin_as_keywords_are_names() {
    check_expression(
        "trueish || nullable(nothing) || or_ || in_",
        "or(trueish, nullable(nothing), or_, in_)",
    );
    check_body("orqn = inner", r#"Atom(Unify { variable: "orqn", value: ("inner") })"#);
    check_body("notable[x]", r#"Atom(Rule { name: "notable", args: [("x")] })"#);
    check_body(
        "not, not == 1",
        r#"And([Atom(Condition(("not"))), Atom(Condition(Call { name: "eq", args: [("not"), (Int(1))] }))])"#,
    );
}

#[test]
fn expressions_are_written_with_the_parentheses_they_need_only() {
    for text in [
        "a + b + c",
        "(a + b) + c",
        "a + (b + c)",
        "a - b - c",
        "a - (b - c)",
        "a - b + c",
        "a ^ b ^ c",
        "(a ^ b) ^ c",
        "-a ^ b",
        "-(a ^ b)",
        "!(a && b) || c",
        "minus(3)",
        "--a",
        "a % b + c",
        "(a % b) + c",
        "a -> \"x\" ~ 3",
        "or(a)",
        "{\"a\": [1, 2.0]}",
        "f()",
        "1e999",
    ] {
        assert_eq!(parse_expression(text).unwrap().to_string(), text);
    }
}

#[test]
fn a_comma_binds_looser_than_or_and_or_looser_than_not() {
    let atom = |name: &str| format!(r#"Atom(Rule {{ name: "{name}", args: [] }})"#);
    let (a, b, c) = (atom("a"), atom("b"), atom("c"));
    check_body("a[], b[] or c[]", &format!("And([{a}, Or([{b}, {c}])])"));
    check_body("not a[] or b[]", &format!("Or([Not({a}), {b}])"));
    check_body("not (a[] or b[])", &format!("Not(Or([{a}, {b}]))"));
    check_body("(a[], b[]) or c[]", &format!("Or([And([{a}, {b}]), {c}])"));
    check_body("(a[], (b[])), c[],", &format!("And([{a}, {b}, {c}])"));
    check_body("a[] or (b[] or c[])", &format!("Or([{a}, {b}, {c}])"));
    check_body("not not a[]", &format!("Not(Not({a}))"));
    check_body("", "And([])");
}

#[test]
fn parentheses_hold_a_condition_or_atoms() {
    let and = |name| format!(r#"Atom(Condition(Call {{ name: "{name}", args: [("a"), ("b")] }}))"#);
    check_body("(a) && b", &and("and"));
    check_body("((a) && (b))", &and("and"));
    check_body("(a && b,)", &and("and"));
    check_body("(a = b)", r#"Atom(Unify { variable: "a", value: ("b") })"#);
    let member = r#"Atom(Member { variable: "a", list: ("b") })"#;
    check_body("(a in b or c)", &format!(r#"Or([{member}, Atom(Condition(("c")))])"#));
}

#[test]
fn an_atom_reads_a_rule_a_relation_an_index_or_a_search() {
    check_body(
        "a[1, b + 1]",
        r#"Atom(Rule { name: "a", args: [(Int(1)), Call { name: "add", args: [("b"), (Int(1))] }] })"#,
    );
    check_body("*a.b[x, _]", r#"Atom(Stored { name: "a.b", args: Positional([("x"), ("_")]) })"#);
    check_body(
        "*a {x, y: 1}",
        r#"Atom(Stored { name: "a", args: Named([("x", ("x")), ("y", (Int(1)))]) })"#,
    );
    check_body(
        "*a[x @ 'NOW']",
        r#"Atom(Stored { name: "a", args: Positional([("x")]), at: Some((Str("NOW"))) })"#,
    );
    check_body(
        "*a{x, @ 1}",
        r#"Atom(Stored { name: "a", args: Named([("x", ("x"))]), at: Some((Int(1))) })"#,
    );
    check_body(
        "*a:i{x}",
        r#"Atom(Stored { name: "a", index: Some("i"), args: Named([("x", ("x"))]) })"#,
    );
    check_body(
        "*a:i:inv{}",
        r#"Atom(Stored { name: "a", index: Some("i:inv"), args: Named([]) })"#,
    );
    check_body(
        "~a:i{x | k: 3, query: $q,}",
        r#"Atom(Search { name: "a", index: "i", args: [("x", ("x"))], parameters: [("k", (Int(3))), ("query", ("q"))] })"#,
    );
    check_body("x <-1", r#"Atom(Condition(Call { name: "lt", args: [("x"), (Int(-1))] }))"#);
    check_body("x.y = not_x", r#"Atom(Unify { variable: "x.y", value: ("not_x") })"#);
}

#[test]
fn rules_are_told_apart_without_separators() {
    let rules =
        query("a[x] := b[x] b[x] <- [[1]]; c[] <~ F(a[], *r[x], *s{y: z}, k: -1) ?[x] := c[x]")
            .rules;
    let rules: Vec<_> = rules.iter().map(ToString::to_string).collect();
    let want =
        ["a[x] := b[x]", "b[x] <- [[1]]", "c[] <~ F(a[], *r[x], *s{y: z}, k: -1)", "?[x] := c[x]"];
    assert_eq!(rules, want);
    check(
        "?[a.b, count(c), collect(d, 3)] := x",
        r#"Query(Query { rules: [Inline { name: "?", head: [HeadItem { variable: "a.b" }, HeadItem { aggregate: Some(("count", [])), variable: "c" }, HeadItem { aggregate: Some(("collect", [(Int(3))])), variable: "d" }], body: Atom(Condition(("x"))) }], options: Options {  } })"#,
    );
}

#[track_caller]
fn check_options(text: &str, want: &str) {
    let options = query(text).options;
    assert_eq!(compact(&shape(&options)), format!("Options {{ {want} }}"));
}

#[test]
fn options_stand_anywhere_between_rules() {
    check_options(
        ":limit 1 + 1 ?[x] := y; :offset 2; z[] <- []",
        r#"limit: Some(Call { name: "add", args: [(Int(1)), (Int(1))] }), offset: Some((Int(2))), "#,
    );
    check_options(
        ":order -a, +b, count(c) :sort d",
        r#"order: [("a", true), ("b", false), ("count(c)", false), ("d", false)]"#,
    );
    check_options(
        ":timeout 0.5 :sleep 1 :assert none :disable_magic_rewrite true",
        r#", timeout: Some((Float(0.5))), sleep: Some((Int(1))), assert_some: Some(false), disable_magic_rewrite: Some((Bool(true)))"#,
    );
    check_options(
        ":returning :rm a.b",
        r#", returning: true, mutation: Some(Mutation { op: Rm, relation: "a.b" })"#,
    );
}

#[track_caller]
fn check_spec(text: &str, want: &str) {
    let mutation = query(text).options.mutation.unwrap();
    assert_eq!(compact(&shape(&mutation)), want);
}

#[test]
fn a_spec_has_keys_and_values_with_types_defaults_and_bindings() {
    check_spec(
        ":create _t {a: Int?, b => c: [String; 3] default [], d = count(x),}",
        r#"Mutation { op: Create, relation: "_t", spec: Some(Spec { keys: [SpecColumn { name: "a", column_type: Some(Nullable(Int)) }, SpecColumn { name: "b" }], values: [SpecColumn { name: "c", column_type: Some(List(String, Some(3))), default: Some(List([])) }, SpecColumn { name: "d", binding: Some("count(x)") }] }) }"#,
    );
    check_spec(
        ":ensure_not t {default: (Any, Json)?, v: <F32; 2>=> w: <Double; 8>=x}",
        r#"Mutation { op: EnsureNot, relation: "t", spec: Some(Spec { keys: [SpecColumn { name: "default", column_type: Some(Nullable(Tuple([Any, Json]))) }, SpecColumn { name: "v", column_type: Some(Vector(F32, 2)) }], values: [SpecColumn { name: "w", column_type: Some(Vector(F64, 8)), binding: Some("x") }] }) }"#,
    );
    check_spec(":put t {}", r#"Mutation { op: Put, relation: "t" }"#);
}

#[test]
fn system_ops_are_read() {
    for (text, want) in [
        ("::relations", "Relations"),
        (":: columns a.b:i", r#"Columns("a.b:i")"#),
        ("::remove a, b.c", r#"Remove(["a", "b.c"])"#),
        ("::rename a -> b, c->d", r#"Rename([("a", "b"), ("c", "d")])"#),
        ("::describe a 'what'", r#"Describe("a", "what")"#),
        (
            "::index create a:i {b, c}",
            r#"IndexCreate("a", "i", [Column("b"), Column("c")], false)"#,
        ),
        ("::index create a:i {b} unique", r#"IndexCreate("a", "i", [Column("b")], true)"#),
        (
            "::index create a:i {b->'x'->0, c: maybe_get(b, 'x'), `d-d`->'x', d}",
            r#"IndexCreate("a", "i", [Expression(None, Call { name: "maybe_get", args: [Call { name: "maybe_get", args: [("b"), (Str("x"))] }, (Int(0))] }), Expression(Some("c"), Call { name: "maybe_get", args: [("b"), (Str("x"))] }), Expression(None, Call { name: "maybe_get", args: [("d-d"), (Str("x"))] }), Column("d")], false)"#,
        ),
        ("::index drop a : i", r#"IndexDrop("a", "i")"#),
        (
            "::fts create a:i {tokenizer: NGram(2), filters: [Lowercase]}",
            r#"SearchCreate("fts", "a", "i", [("tokenizer", Call { name: "NGram", args: [(Int(2))] }), ("filters", List([("Lowercase")]))])"#,
        ),
        ("::lsh drop a:i", r#"SearchDrop("lsh", "a", "i")"#),
        ("::show_triggers a", r#"ShowTriggers("a")"#),
        ("::access_level hidden a, b", r#"AccessLevel("hidden", ["a", "b"])"#),
        ("::kill 1", "Kill((Int(1)))"),
        (
            "::set_triggers a on put { ?[x] := _new[x] # why\n } on put {?[] <- []} on rm { :put b }",
            r##"SetTriggers { relation: "a", put: ["?[x] := _new[x]", "?[] <- []"], rm: [":put b"], replace: [] }"##,
        ),
        (
            "::explain {?[] <- 1}",
            r#"Explain(Query { rules: [Constant { name: "?", head: [], data: (Int(1)) }], options: Options {  } })"#,
        ),
        (
            "::explain analyze {?[] <- 1}",
            r#"Analyze(Query { rules: [Constant { name: "?", head: [], data: (Int(1)) }], options: Options {  } })"#,
        ),
    ] {
        check(text, &format!("System({want})"));
    }
}

#[test]
fn imperative_scripts_are_read() {
    let block = "Query(Query { rules: [Constant { name: \"?\", head: [], data: (Int(1)) }], options: Options {  } })";
    for (text, want) in [
        ("{?[] <- 1} {::compact} as _x", format!(r#"Run({block}, None), Run(System(Compact), Some("_x"))"#)),
        ("%if _x %then %break %else %continue a %end", r#"If { negated: false, condition: Relation("_x"), then: [Break(None)], otherwise: [Continue(Some("a"))] }"#.to_owned()),
        ("%if_not {?[] <- 1} %break %end", format!("If {{ negated: true, condition: {block}, then: [Break(None)], otherwise: [] }}")),
        ("%if {?[] <- 1} as _x %then %end", format!(r#"Run({block}, Some("_x")), If {{ negated: false, condition: Relation("_x"), then: [], otherwise: [] }}"#)),
        ("%mark a %loop %loop %break a %end %end", r#"Loop { label: Some("a"), body: [Loop { label: None, body: [Break(Some("a"))] }] }"#.to_owned()),
        ("%return", "Return([])".to_owned()),
        ("%return a, _b, {?[] <- 1}", format!(r#"Return([Relation("a"), Relation("_b"), {block}])"#)),
        ("%debug _x %swap _x _y %ignore_error {?[] <- 1}", format!(r#"Debug("_x"), Swap("_x", "_y"), IgnoreError({block}, None)"#)),
    ] {
        check(text, &format!("Imperative([{want}])"));
    }
}

#[test]
fn a_mark_of_utf_8_at_the_beginning_is_passed_over() {
    check("\u{feff}::compact", "System(Compact)");
}

#[test]
fn spans_are_the_places_of_parts_in_the_text() {
    let text = "?[x] := *r{x}, y = (a + b) * c # end";
    let rules = query(text).rules;
    let [crate::Rule::Inline { span, body: crate::Formula::And(parts), .. }] = rules.as_slice()
    else {
        panic!("{rules:?}")
    };
    let source = |span: &crate::Span| &text[span.start as usize..span.end as usize];
    assert_eq!(source(span), "?[x] := *r{x}, y = (a + b) * c");
    let crate::Formula::Atom(crate::Atom::Unify { value, .. }) = &parts[1] else { panic!() };
    assert_eq!(source(&value.span()), "(a + b) * c");
    let Expr::Call { name, .. } = value else { panic!() };
    assert_eq!(source(&name.span), "*");
}

#[test]
fn names_in_backquotes_are_names() {
    let same = |text: &str, plain: &str| {
        let (text, plain) = (query(text), query(plain));
        let shapes = [&text, &plain].map(|query| shape(query).to_string());
        assert_eq!(shapes[0].replace("a-b", "ab"), shapes[1], "{text:?}");
    };
    same("?[x] := *`a-b`[x]", "?[x] := *ab[x]");
    same("?[x] := *`a-b`{`a-b`: x}, not *`a-b`:`a-b`{x}", "?[x] := *ab{ab: x}, not *ab:ab{x}");
    same("?[x] <- [[1]] :put `a-b` {x}", "?[x] <- [[1]] :put ab {x}");
    same(
        "?[x] <- [[1]] :create `a-b` {`a-b`: Int => x}",
        "?[x] <- [[1]] :create ab {ab: Int => x}",
    );
    same("?[x] <~ BFS(*`a-b`[], s[])", "?[x] <~ BFS(*ab[], s[])");
    same("?[x] := *`ab`[x]", "?[x] := *ab[x]");
    check("::remove `a-b`, `a.`", r#"System(Remove(["a-b", "a."]))"#);
    check("::rename `a-b` -> c", r#"System(Rename([("a-b", "c")]))"#);
    check("::index create `a-b`:i {x}", r#"System(IndexCreate("a-b", "i", [Column("x")], false))"#);
    // The formatted rule is parsed to the same tree.
    let text = "?[x] := *`a-b`{`c-d`: x}, *plain.dots[x]";
    assert_eq!(query(text).rules[0].to_string(), text);
    for broken in
        ["?[x] := *``[x]", "?[x] := *`a\nb`[x]", "?[x] := *`a", "?[x] := `a`", "`a`[x] := x = 1"]
    {
        parse(broken).unwrap_err();
    }
    let found = parse("?[x] := *a-b[x]").unwrap_err();
    assert!(found[0].hint.as_deref().is_some_and(|hint| hint.contains("backquotes")), "{found:?}");
}
