//! What scripts are read as, and what is said of those that cannot be.

use crate::{Script, parse};

#[test]
fn scripts_are_read() {
    for text in [
        "?[a] := *r[a, b], not s[b], b > 1 or c = 2",
        "?[a, count(b)] := *r{a, b: b @ 'NOW'} :order -count(b), a :limit 3",
        "a[x] <- [[1], [-2]] ?[x] <~ PageRank(a[], *e[x, y], theta: 0.5); :put out {x => y = z}",
        "?[x] := (x > 1) && y, (a[x], b[x]), ~r:i{a, b | query: q, k: 3}",
        "{?[a] <- [[1]]} as _x %if {?[a] := *_x[a]} %then {?[a] <- [[5]]} %else %break %end %return _x, {?[a] <- [[1]]}",
        "::set_triggers a on put { ?[x] := _new[x] :put b {x} } on rm {?[x] := _old[x] :rm b {x}}",
        "::hnsw create a:b {dim: 3, x: {a: 1}}",
        "{::relations} {::explain {?[a] <- [[1]]}}",
        ":create q {a: [Int; 2] default [1,2] => b: (Int, String?), c: <F32; 3>?, d: Any default rand_uuid_v4()}",
    ] {
        if let Err(found) = parse(text) {
            panic!("{}", found.iter().map(|d| d.render(text)).collect::<Vec<_>>().join("\n"));
        }
    }
    assert!(matches!(parse("::relations"), Ok(Script::System(_))));
    let text = "?[a] := b[a\nc[x] = d[x]; ?[x] := y[x], :limt 3";
    assert_eq!(parse(text).unwrap_err().len(), 2);
}

/// What an expression is read as and written again.
#[track_caller]
fn check_expression(text: &str, want: &str) {
    let tree = crate::parse_expression(text).unwrap();
    let written = tree.to_string();
    assert_eq!(written, want);
    assert_eq!(crate::parse_expression(&written).unwrap().to_string(), want);
}

#[test]
fn expressions_are_written_with_the_parentheses_they_need() {
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
        "-3 ^ 2",
        "a % b + c",
        "(a % b) + c",
        "a == b % c",
        "a -> \"x\" ~ 3",
        "or(a)",
        "{\"a\": [1, 2.0]}",
        "f()",
        "$x + _y",
        "-9223372036854775808",
    ] {
        check_expression(text, text);
    }
    check_expression("add(a,b,c) +d", "(a + b + c) + d");
    check_expression("1e999 + 1.", "1e999 + 1.0");
}
