//! Property tests: no text causes a panic, and parsed rules survive formatting and parsing again.

use model::Value;
use proptest::prelude::*;

use super::{queries, scripts, shape, spans};
use crate::{Atom, Expr, Formula, Ident, Script, Span, parse, parse_expression};

/// Tokens that change how the surrounding text is parsed.
const PIECES: [&str; 44] = [
    "[", "]", "{", "}", "(", ")", ",", ";", ":", "::", ":=", "<-", "<~", "=>", "->", "=", "==",
    "!", "-", "*", "~", "@", "|", "||", "?", "%", "'", "\"", "_\"", "\\", "/*", "*/", "#", "$",
    "not ", " or ", " in ", "%end", ":limit ", "é", "\u{301}", "0x", "1e", ".",
];

/// Checks the properties that hold for every text.
fn check(text: &str) {
    let inside = |start: usize, end: usize| {
        start <= end && text.is_char_boundary(start) && text.is_char_boundary(end)
    };
    match parse(text) {
        Ok(script) => {
            for (start, end) in spans(&script) {
                assert!(inside(start, end), "{start}..{end} of {text:?}");
            }
            check_written(&script);
        }
        Err(found) => {
            assert!(!found.is_empty());
            for diagnostic in found {
                let Span { start, end } = diagnostic.span;
                assert!(inside(start as usize, end as usize), "{diagnostic:?} of {text:?}");
                let shown = diagnostic.render(text);
                assert!(shown.starts_with(&diagnostic.message) && shown.contains('^'));
            }
        }
    }
}

/// Checks that each rule is the same after it is formatted and parsed again.
fn check_written(script: &Script) {
    for rule in queries(script).iter().flat_map(|query| &query.rules) {
        let written = rule.to_string();
        match parse(&written) {
            Ok(Script::Query(query)) => {
                assert_eq!(shape(&query.rules), shape(&[rule]), "{written}")
            }
            other => panic!("{written}: {other:?}"),
        }
    }
}

#[test]
fn a_variable_of_a_head_keeps_its_dots_without_backquotes() {
    check("?[fr., sum(to.)] := *friends{to: to., fr: fr.}");
}

#[test]
fn sound_scripts_are_the_same_after_they_were_written_and_read_again() {
    for text in scripts() {
        assert_eq!(parse(text).err(), None, "{text}");
        check(text);
    }
}

#[test]
fn dots_of_variables_and_parameters_are_written_as_they_were_read() {
    for text in ["?[x] := x = v.", "?[x] := v. = 1, x = v..", "?[x] := v. in [1], x = $p."] {
        assert_eq!(parse(text).err(), None, "{text}");
        check(text);
    }
}

#[test]
fn what_nests_too_deep_is_told_and_not_walked() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{a: ", "}"),
        ("f(", ")"),
        ("not ", ""),
        ("!", ""),
        ("-", ""),
        ("a ^ ", ""),
        ("a - ", ""),
        ("a || b && ", ""),
        ("not (x, ", ")"),
        ("(a[x] or ", ")"),
        ("cond(a, -b -> [", "])"),
    ] {
        let text = format!("?[x] := {}x{}", open.repeat(20_000), close.repeat(20_000));
        if !open.contains("||") {
            let found = parse(&text).unwrap_err();
            assert!(found.iter().any(|d| d.message.contains("levels deep")), "{open}: {found:?}");
        }
        check(&text);
    }
    for (open, close) in [(":create r {a: ", "[", "]"), ("", "%loop ", " %end"), ("", "/*", "*/")]
        .map(|(before, open, close)| (format!("{before}{}", open.repeat(9999)), close.repeat(9999)))
    {
        check(&format!("{open}{close}"));
    }
}

#[test]
fn at_the_deepest_all_is_walked() {
    for (open, close) in [("(", ")"), ("[", "]"), ("f(", ")"), ("a[x], (b or ", ")"), ("not ", "")]
    {
        let text = format!("?[x] := {}x{}", open.repeat(120), close.repeat(120));
        assert_eq!(parse(&text).err(), None, "{text}");
        check(&text);
    }
    let text = format!("?[x] := {}x", "x - ".repeat(250));
    assert_eq!(parse(&text).err(), None);
    check(&text);
}

#[test]
fn long_texts_take_no_depth_and_no_time_that_grows_faster() {
    for part in [
        "a[", "a[x] ", "a[x], ", "[[", "]]", "}{", "::", "?[x] := ", ":limit ", ":limt ", "_",
        "/*", "\"", "_\"a", "x or ", "not ", "1 + ", "'\\", "%if {", "$a ", "{} ", "a[x\n", "é",
    ] {
        check(&part.repeat(20_000));
        check(&format!("?[x] := {}x", part.repeat(20_000)));
    }
    let sum = format!("?[x] := x = {}1", "1 + ".repeat(20_000));
    assert_eq!(parse(&sum).err(), None);
}

#[test]
fn at_most_twenty_mistakes_are_told() {
    let found = parse(&"?[x] := x = ; ".repeat(100)).unwrap_err();
    assert_eq!(found.len(), 20);
}

fn names() -> impl Strategy<Value = Ident> {
    let names = prop::sample::select(vec!["a", "b.c", "_", "_x", "nullable", "trueish", "é"]);
    names.prop_map(|name| Ident { text: name.to_owned(), span: Span::default() })
}

fn functions() -> impl Strategy<Value = Ident> {
    let names = vec![
        "add",
        "sub",
        "mul",
        "div",
        "mod",
        "pow",
        "concat",
        "coalesce",
        "maybe_get",
        "eq",
        "neq",
        "ge",
        "lt",
        "and",
        "or",
        "minus",
        "negate",
        "f",
        "if",
    ];
    prop::sample::select(names)
        .prop_map(|name| Ident { text: name.to_owned(), span: Span::default() })
}

fn literals() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::id),
        any::<f64>().prop_filter("has no literal", |f| !f.is_nan()).prop_map(Value::Float),
        any::<bool>().prop_map(Value::Bool),
        any::<String>().prop_map(Value::Str),
        Just(Value::Null),
    ]
}

fn exprs() -> impl Strategy<Value = Expr> {
    let span = Span::default();
    let leaf = prop_oneof![
        literals().prop_map(move |value| Expr::Literal(value, span)),
        names().prop_map(Expr::Variable),
        names().prop_map(Expr::Parameter),
    ];
    leaf.prop_recursive(5, 40, 3, move |inner| {
        let items = prop::collection::vec(inner.clone(), 0..4);
        let fields = prop::collection::vec((inner.clone(), inner), 0..3);
        prop_oneof![
            1 => items.clone().prop_map(move |items| Expr::List(items, span)),
            1 => fields.prop_map(move |fields| Expr::Object(fields, span)),
            6 => (functions(), items).prop_map(move |(name, args)| Expr::Call { name, args, span }),
        ]
    })
}

fn formulas() -> impl Strategy<Value = Formula> {
    let span = Span::default();
    let leaf = prop_oneof![
        exprs().prop_map(Atom::Condition),
        (names(), exprs()).prop_map(|(variable, value)| Atom::Unify { variable, value }),
        (names(), exprs()).prop_map(|(variable, list)| Atom::Member { variable, list }),
        prop::collection::vec(exprs(), 0..3).prop_map(move |args| {
            Atom::Rule { name: Ident { text: "r".to_owned(), span }, args, span }
        }),
    ];
    leaf.prop_map(Formula::Atom).prop_recursive(3, 12, 3, move |inner| {
        let parts = prop::collection::vec(inner.clone(), 2..4);
        // Flattened here as the parser would do it.
        let flat = |parts: Vec<Formula>, or: bool| {
            let apart = |part| match part {
                Formula::And(inner) if !or => inner,
                Formula::Or(inner) if or => inner,
                other => vec![other],
            };
            parts.into_iter().flat_map(apart).collect()
        };
        prop_oneof![
            parts.clone().prop_map(move |parts| Formula::And(flat(parts, false))),
            parts.prop_map(move |parts| Formula::Or(flat(parts, true))),
            inner.prop_map(move |inner| Formula::Not(Box::new(inner), span)),
        ]
    })
}

/// A script with parts removed, inserted or moved.
fn mutated() -> impl Strategy<Value = String> {
    let script = prop::sample::select(scripts().collect::<Vec<_>>());
    let change = (any::<prop::sample::Index>(), 0..12_usize, prop::sample::select(&PIECES[..]));
    (script, prop::collection::vec((change, 0..4_u8), 1..6)).prop_map(|(script, changes)| {
        let mut chars: Vec<char> = script.chars().collect();
        for ((at, len, piece), kind) in changes {
            let at = at.index(chars.len() + 1);
            let end = (at + len).min(chars.len());
            match kind {
                0 => drop(chars.drain(at..end)),
                1 => drop(chars.splice(at..end, piece.chars())),
                2 => drop(chars.splice(at..at, piece.chars())),
                _ => {
                    let copy = chars[at..end].to_vec();
                    chars.extend(copy);
                }
            }
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn any_text_gives_a_tree_or_mistakes_inside_it(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_pieces_give_a_tree_or_mistakes_inside_them(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::sample::select(&PIECES[..]),
                prop::sample::select(vec!["a", "?[x]", "1", " ", "\n", "*r", "true", "{?[a] <- []}"]),
            ],
            0..30,
        ),
    ) {
        check(&pieces.concat());
    }

    #[test]
    fn a_changed_script_gives_a_tree_or_mistakes_inside_it(text in mutated()) {
        check(&text);
    }

    #[test]
    fn an_expression_is_the_same_after_it_was_written_and_read_again(expr in exprs()) {
        let written = expr.to_string();
        let read = parse_expression(&written).map_err(|found| found[0].render(&written));
        prop_assert_eq!(shape(&read), shape(&Ok::<_, String>(expr)), "{}", written);
    }

    #[test]
    fn a_body_is_the_same_after_it_was_written_and_read_again(body in formulas()) {
        let written = format!("?[x] := {body}");
        let read = parse(&written).map_err(|found| found[0].render(&written));
        let Ok(Script::Query(query)) = read else { panic!("{written}: {read:?}") };
        let [crate::Rule::Inline { body: found, .. }] = query.rules.as_slice() else {
            panic!("{written}")
        };
        prop_assert_eq!(shape(found), shape(&body), "{}", written);
    }
}
