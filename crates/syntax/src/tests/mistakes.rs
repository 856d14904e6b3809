//! The exact messages for scripts with errors.

use crate::{parse, parse_expression};

#[track_caller]
fn check(text: &str, want: &[&str]) {
    let found = parse(text).unwrap_err();
    let found: Vec<_> = found.iter().map(|diagnostic| diagnostic.render(text)).collect();
    assert_eq!(found.join("\n\n"), want.join("\n"));
}

#[test]
fn a_rule_needs_its_head_and_arrow() {
    check(
        "?[a] = b[a]",
        &[
            "expected `:=`, `<-` or `<~` after the head of rule `?`, found `=`",
            "--> line 1, column 6",
            "  ?[a] = b[a]",
            "       ^",
            "hint: did you mean `:=`?",
        ],
    );
    check(
        "?[x] :- b[x]",
        &[
            "expected `:=`, `<-` or `<~` after the head of rule `?`, found `:`",
            "--> line 1, column 6",
            "  ?[x] :- b[x]",
            "       ^",
            "hint: did you mean `:=`?",
        ],
    );
    check(
        "?[x] <= [[1]]",
        &[
            "expected `:=`, `<-` or `<~` after the head of rule `?`, found `<=`",
            "--> line 1, column 6",
            "  ?[x] <= [[1]]",
            "       ^^",
            "hint: did you mean `<-`?",
        ],
    );
    check(
        "?[x] < - [[1]]",
        &[
            "expected `:=`, `<-` or `<~` after the head of rule `?`, found `<`",
            "--> line 1, column 6",
            "  ?[x] < - [[1]]",
            "       ^",
            "hint: `<-` and `<~` are written without a space",
        ],
    );
    check(
        "?[x]",
        &[
            "expected `:=`, `<-` or `<~` after the head of rule `?`, found the end of the text",
            "--> line 1, column 5",
            "  ?[x]",
            "      ^",
            "hint: `:=` and a body, `<-` and rows, or `<~` and an algorithm make a rule",
        ],
    );
    check(
        "edge(x, y) := b[x]",
        &[
            "expected `[` after the name of rule `edge`, found `(`",
            "--> line 1, column 5",
            "  edge(x, y) := b[x]",
            "      ^",
            "hint: the columns stand in `[…]`: `edge[…] := …`",
        ],
    );
    check(
        "a[x] := b[x]\nedge(x, y) :- a[x]",
        &[
            "expected `[` after the name of rule `edge`, found `(`",
            "--> line 2, column 5",
            "  edge(x, y) :- a[x]",
            "      ^",
            "hint: the columns stand in `[…]`: `edge[…] := …`",
        ],
    );
    check(
        "?[1] := x = 1",
        &[
            "expected a variable or an aggregate, found `1`",
            "--> line 1, column 3",
            "  ?[1] := x = 1",
            "    ^",
            "hint: columns of a head are variables: bind one to the value in the body",
        ],
    );
    check(
        "?[count(1)] := x = 1",
        &[
            "expected a variable, found `1`",
            "--> line 1, column 9",
            "  ?[count(1)] := x = 1",
            "          ^",
            "hint: an aggregate takes a variable: bind one to the value in the body",
        ],
    );
    check(
        "?[count()] := x = 1",
        &[
            "`count` names no variable",
            "--> line 1, column 3",
            "  ?[count()] := x = 1",
            "    ^^^^^^^",
            "hint: write `count(variable)`",
        ],
    );
    check(
        "?[] := x = 1",
        &["rule `?` has no columns", "--> line 1, column 1", "  ?[] := x = 1", "  ^^^^^^"],
    );
    check(
        "?[count(a)] <- [[1]]",
        &[
            "a constant rule has no aggregates",
            "--> line 1, column 3",
            "  ?[count(a)] <- [[1]]",
            "    ^^^^^^^^",
            "hint: aggregate in an inline rule that reads it",
        ],
    );
    check(
        "?[a] <- [[1]] b[count(a)] <~ F()",
        &[
            "a fixed rule has no aggregates",
            "--> line 1, column 17",
            "  ?[a] <- [[1]] b[count(a)] <~ F()",
            "                  ^^^^^^^^",
            "hint: aggregate in an inline rule that reads it",
        ],
    );
    check(
        "_r[x] := x = 1",
        &[
            "the name of a rule has no dot and no `_` first, found `_r`",
            "--> line 1, column 1",
            "  _r[x] := x = 1",
            "  ^^",
        ],
    );
    check("", &["expected a rule, found the end of the text", "--> line 1, column 1", "  ", "  ^"]);
    check(
        "// a comment\n?[x] := x = 1",
        &[
            "expected a rule or an option, found `/`",
            "--> line 1, column 1",
            "  // a comment",
            "  ^",
            "hint: a comment begins with `#`, or is `/* … */`",
        ],
    );
}

#[test]
fn a_body_needs_its_commas() {
    check(
        "?[x] := b[x] c[x]",
        &[
            "expected `,`, `or` or the end of the rule, found `c`",
            "--> line 1, column 14",
            "  ?[x] := b[x] c[x]",
            "               ^",
            "hint: a `,` may be missing",
        ],
    );
    check(
        "?[x] := b[x] c[x + 1], d[x]",
        &[
            "expected `,`, `or` or the end of the rule, found `c`",
            "--> line 1, column 14",
            "  ?[x] := b[x] c[x + 1], d[x]",
            "               ^",
            "hint: a `,` may be missing",
        ],
    );
    check(
        "?[x] := b[x]\n?[y] = c[y]",
        &[
            "expected `:=`, `<-` or `<~` after the head of rule `?`, found `=`",
            "--> line 2, column 6",
            "  ?[y] = c[y]",
            "       ^",
            "hint: did you mean `:=`?",
        ],
    );
    check(
        "?[x] := b[x],\nc[x] := d[x]",
        &[
            "expected the end of the body, found `:=`",
            "--> line 2, column 6",
            "  c[x] := d[x]",
            "       ^^",
            "hint: the rule before ends with a `,`, so this head is read as a part of its body",
        ],
    );
    check(
        "?[x] := x = 1 *r[x]",
        &[
            "expected `,`, `or` or the end of the rule, found `[`",
            "--> line 1, column 17",
            "  ?[x] := x = 1 *r[x]",
            "                  ^",
            "hint: a `,` may be missing before `r`; a stored relation is read as `*name`",
        ],
    );
    check(
        "?[x] := b[x] not c[x]",
        &[
            "expected `,`, `or` or the end of the rule, found `not`",
            "--> line 1, column 14",
            "  ?[x] := b[x] not c[x]",
            "               ^^^",
            "hint: a `,` may be missing",
        ],
    );
    check(
        "?[x] := a[x] or , b[x]",
        &[
            "expected an atom of a body, found `,`",
            "--> line 1, column 17",
            "  ?[x] := a[x] or , b[x]",
            "                  ^",
        ],
    );
    check(
        "?[x] := a[x]. ?[y] := b[y]",
        &[
            "`.` means nothing here",
            "--> line 1, column 13",
            "  ?[x] := a[x]. ?[y] := b[y]",
            "              ^",
            "hint: no dot ends a rule; `;` may",
        ],
    );
    check(
        "?[x] := *person{name: a age: 3}",
        &[
            "expected `}` or `,` after the columns of relation `person`, found `age`",
            "--> line 1, column 25",
            "  ?[x] := *person{name: a age: 3}",
            "                          ^^^",
            "hint: a `,` may be missing",
        ],
    );
}

#[test]
fn atoms_are_joined_and_negated_by_words() {
    check(
        "?[x] := *r[x] && x > 1",
        &[
            "expected `,`, `or` or the end of the rule, found `&&`",
            "--> line 1, column 15",
            "  ?[x] := *r[x] && x > 1",
            "                ^^",
            "hint: `&&` joins conditions; between atoms write `,`",
        ],
    );
    check(
        "?[x] := *r[x] || *s[x]",
        &[
            "expected `,`, `or` or the end of the rule, found `||`",
            "--> line 1, column 15",
            "  ?[x] := *r[x] || *s[x]",
            "                ^^",
            "hint: `||` joins conditions; between atoms write `or`",
        ],
    );
    check(
        "?[x] := (a[x] && b[x])",
        &[
            "expected `,` or `or` after an atom, found `&&`",
            "--> line 1, column 15",
            "  ?[x] := (a[x] && b[x])",
            "                ^^",
            "hint: `&&` joins conditions; between atoms write `,`",
        ],
    );
    check(
        "?[x] := (a[x], b[x]) && c",
        &[
            "expected `,` or `or` after an atom, found `&&`",
            "--> line 1, column 22",
            "  ?[x] := (a[x], b[x]) && c",
            "                       ^^",
            "hint: `&&` joins conditions; between atoms write `,`",
        ],
    );
    check(
        "?[x] := a[x] and b[x]",
        &[
            "expected `,`, `or` or the end of the rule, found `and`",
            "--> line 1, column 14",
            "  ?[x] := a[x] and b[x]",
            "               ^^^",
            "hint: between atoms write `,`, in an expression `&&`",
        ],
    );
    check(
        "?[x] := b[x] OR c[x]",
        &[
            "expected `,`, `or` or the end of the rule, found `OR`",
            "--> line 1, column 14",
            "  ?[x] := b[x] OR c[x]",
            "               ^^",
            "hint: between atoms write `or`, in small letters",
        ],
    );
    check(
        "?[x] := b[x], NOT c[x]",
        &[
            "expected `,`, `or` or the end of the rule, found `c`",
            "--> line 1, column 19",
            "  ?[x] := b[x], NOT c[x]",
            "                    ^",
            "hint: before an atom write `not`, in small letters",
        ],
    );
    check(
        "?[x] := !*r[x]",
        &[
            "expected an expression after `!`, found `*`",
            "--> line 1, column 10",
            "  ?[x] := !*r[x]",
            "           ^",
            "hint: before an atom write `not`; `!` is for conditions",
        ],
    );
    check(
        "?[x] := !r[x]",
        &[
            "expected an expression after `!`, found `r`",
            "--> line 1, column 10",
            "  ?[x] := !r[x]",
            "           ^",
            "hint: before an atom write `not`; `!` is for conditions",
        ],
    );
    check(
        "?[x] := x = 1, x not in [1]",
        &[
            "expected `,`, `or` or the end of the rule, found `not`",
            "--> line 1, column 18",
            "  ?[x] := x = 1, x not in [1]",
            "                   ^^^",
            "hint: write `!is_in(value, list)` for values that are not in a list",
        ],
    );
}

#[test]
fn expressions_are_joined_and_negated_by_signs() {
    check(
        "?[x] := f(a or b)",
        &[
            "expected `)` or `,` after the arguments of `f`, found `or`",
            "--> line 1, column 13",
            "  ?[x] := f(a or b)",
            "              ^^",
            "hint: between expressions write `||`",
        ],
    );
    check(
        "?[x] := f(a and b)",
        &[
            "expected `)` or `,` after the arguments of `f`, found `and`",
            "--> line 1, column 13",
            "  ?[x] := f(a and b)",
            "              ^^^",
            "hint: between expressions write `&&`",
        ],
    );
    check(
        "?[x] := x = not(true)",
        &[
            "expected an expression, found `not`",
            "--> line 1, column 13",
            "  ?[x] := x = not(true)",
            "              ^^^",
            "hint: before a condition write `!`; `not` is for atoms of a body",
        ],
    );
    check(
        "?[x] := x & y",
        &[
            "`&` means nothing here",
            "--> line 1, column 11",
            "  ?[x] := x & y",
            "            ^",
            "hint: `&&` joins conditions, `,` atoms",
        ],
    );
}

#[test]
fn one_equals_sign_binds_and_two_compare() {
    check(
        "?[x] := f(a = b)",
        &[
            "expected `)` or `,` after the arguments of `f`, found `=`",
            "--> line 1, column 13",
            "  ?[x] := f(a = b)",
            "              ^",
            "hint: `==` compares",
        ],
    );
    check(
        "?[x] := x + 1 = 2",
        &[
            "expected the end of the condition, found `=`",
            "--> line 1, column 15",
            "  ?[x] := x + 1 = 2",
            "                ^",
            "hint: `==` compares; `=` binds the variable left of it",
        ],
    );
    check(
        "?[x] := x = y = 2",
        &[
            "expected `,`, `or` or the end of the rule, found `=`",
            "--> line 1, column 15",
            "  ?[x] := x = y = 2",
            "                ^",
            "hint: `==` compares; `=` binds the variable left of it",
        ],
    );
    check(
        "?[x] := x = = 1",
        &[
            "expected an expression, found `=`",
            "--> line 1, column 13",
            "  ?[x] := x = = 1",
            "              ^",
        ],
    );
}

#[test]
fn what_was_opened_is_closed() {
    check(
        "a[x := b[x]",
        &[
            "expected `]` or `,` after the columns of rule `a`, found `:=`",
            "--> line 1, column 5",
            "  a[x := b[x]",
            "      ^^",
            "hint: the `[` at line 1, column 2 is not closed",
        ],
    );
    check(
        "?[x] := b[x\nc[y] := d[y]",
        &[
            "expected `]` or `,` after the columns of rule `b`, found `c`",
            "--> line 2, column 1",
            "  c[y] := d[y]",
            "  ^",
            "hint: the `[` at line 1, column 10 is not closed",
        ],
    );
    check(
        "?[x] := b[x\n  c[y]",
        &[
            "expected `]` or `,` after the columns of rule `b`, found `c`",
            "--> line 2, column 3",
            "    c[y]",
            "    ^",
            "hint: a `,` may be missing, or the `[` at line 1, column 10 is not closed",
        ],
    );
    check(
        "?[x] := x = [1, 2",
        &[
            "expected `]` or `,` after the items of the list, found the end of the text",
            "--> line 1, column 18",
            "  ?[x] := x = [1, 2",
            "                   ^",
            "hint: the `[` at line 1, column 13 is not closed",
        ],
    );
    check(
        "?[x] := x = (1 + 2",
        &[
            "expected `)` or `,` after the expression in parentheses, found the end of the text",
            "--> line 1, column 19",
            "  ?[x] := x = (1 + 2",
            "                    ^",
            "hint: the `(` at line 1, column 13 is not closed",
        ],
    );
    check(
        "?[x] := 'unclosed",
        &[
            "this text is not closed",
            "--> line 1, column 9",
            "  ?[x] := 'unclosed",
            "          ^",
            "hint: it ends with `'`",
        ],
    );
    check(
        "?[x] := x = __\"unclosed\"_",
        &[
            "this text is not closed",
            "--> line 1, column 13",
            "  ?[x] := x = __\"unclosed\"_",
            "              ^",
            "hint: it ends with `\"__`",
        ],
    );
    check(
        "?[x] := x /* y",
        &[
            "this comment is not closed",
            "--> line 1, column 11",
            "  ?[x] := x /* y",
            "            ^",
            "hint: each `/*` needs its `*/`",
        ],
    );
    check(
        "?[x] := (a[x], b[x]",
        &[
            "expected `)` or `,` after the atoms in parentheses, found the end of the text",
            "--> line 1, column 20",
            "  ?[x] := (a[x], b[x]",
            "                     ^",
            "hint: the `(` at line 1, column 9 is not closed",
        ],
    );
    check(
        "?[x] := *r{x :limit 3",
        &[
            "expected `}` or `,` after the columns of relation `r`, found `3`",
            "--> line 1, column 21",
            "  ?[x] := *r{x :limit 3",
            "                      ^",
            "hint: a `,` may be missing",
        ],
    );
}

#[test]
fn numbers_and_texts_have_their_forms() {
    check(
        "?[x] := x = 1a",
        &[
            "the number `1a` holds letters",
            "--> line 1, column 13",
            "  ?[x] := x = 1a",
            "              ^^",
            "hint: names do not begin with digits",
        ],
    );
    check(
        "?[x] := x = 99999999999999999999",
        &[
            "`99999999999999999999` is not a valid 64-bit integer",
            "--> line 1, column 13",
            "  ?[x] := x = 99999999999999999999",
            "              ^^^^^^^^^^^^^^^^^^^^",
        ],
    );
    check(
        "?[x] := x = '\\d'",
        &[
            "unknown escape `\\d`",
            "--> line 1, column 14",
            "  ?[x] := x = '\\d'",
            "               ^^",
            "hint: for a backslash write `\\\\`, or the text as `_\"…\"_`, without escapes",
        ],
    );
    check(
        "?[x] := x = '\\u12'",
        &[
            "expected four hexadecimal digits after `\\u`",
            "--> line 1, column 14",
            "  ?[x] := x = '\\u12'",
            "               ^^",
        ],
    );
    check(
        "?[x] := x = '\\ud800'",
        &[
            "`\\ud800` is half of a character",
            "--> line 1, column 14",
            "  ?[x] := x = '\\ud800'",
            "               ^^^^^^",
        ],
    );
    check(
        "?[x] := x = “a”",
        &[
            "`“` means nothing here",
            "--> line 1, column 13",
            "  ?[x] := x = “a”",
            "              ^",
            "hint: texts stand in `\"…\"` or `'…'`",
        ],
    );
    check(
        "?[x] := x\u{a0}= 1",
        &[
            "`\u{a0}` means nothing here",
            "--> line 1, column 10",
            "  ?[x] := x\u{a0}= 1",
            "           ^",
            "hint: it looks like a blank; write a plain one",
        ],
    );
    check(
        "?[x] := x = $",
        &[
            "`$` means nothing here",
            "--> line 1, column 13",
            "  ?[x] := x = $",
            "              ^",
            "hint: a parameter is `$` and a name",
        ],
    );
    check(
        "?[x] := x = 1 // why",
        &[
            "expected an expression, found `/`",
            "--> line 1, column 16",
            "  ?[x] := x = 1 // why",
            "                 ^",
            "hint: a comment begins with `#`, or is `/* … */`",
        ],
    );
}

#[test]
fn relations_rules_and_searches_have_their_forms() {
    check(
        "?[x] := *r",
        &[
            "expected `[` or `{` after relation `r`, found the end of the text",
            "--> line 1, column 11",
            "  ?[x] := *r",
            "            ^",
        ],
    );
    check(
        "?[x] := *r[x] @ 'NOW'",
        &[
            "expected `,`, `or` or the end of the rule, found `@`",
            "--> line 1, column 15",
            "  ?[x] := *r[x] @ 'NOW'",
            "                ^",
            "hint: `@ time` stands before the closing bracket of the relation",
        ],
    );
    check(
        "?[x] := a.b[x]",
        &[
            "the name of a rule holds no dot, found `a.b`",
            "--> line 1, column 9",
            "  ?[x] := a.b[x]",
            "          ^^^",
            "hint: a stored relation is read as `*a.b[…]`",
        ],
    );
    check(
        "?[x] := *a..b[x]",
        &[
            "a dot stands between two words, found `a..b`",
            "--> line 1, column 10",
            "  ?[x] := *a..b[x]",
            "           ^^^^",
        ],
    );
    check(
        "?[x] := *r{a.b}",
        &[
            "the name of a column holds no dot, found `a.b`",
            "--> line 1, column 12",
            "  ?[x] := *r{a.b}",
            "             ^^^",
        ],
    );
    check(
        "?[x] := ~r{x | k: 1}",
        &[
            "expected `:` and the name of an index, found `{`",
            "--> line 1, column 11",
            "  ?[x] := ~r{x | k: 1}",
            "            ^",
            "hint: a search is written `~relation:index{columns | query: …}`",
        ],
    );
    check(
        "?[x] := ~r:i{x}",
        &[
            "expected `|` or `,` after the columns, found `}`",
            "--> line 1, column 15",
            "  ?[x] := ~r:i{x}",
            "                ^",
            "hint: the search's parameters stand behind a `|`: `| query: …`",
        ],
    );
    check(
        "?[x] <~ F(1)",
        &[
            "expected an input or an option, found `1`",
            "--> line 1, column 11",
            "  ?[x] <~ F(1)",
            "            ^",
            "hint: an input is `rule[…]` or `*relation[…]`, an option `name: value`",
        ],
    );
    check(
        "?[x] <~ F(r[1])",
        &[
            "the columns of an algorithm's input are variables",
            "--> line 1, column 13",
            "  ?[x] <~ F(r[1])",
            "              ^",
            "hint: filter in a rule, and give that rule to the algorithm",
        ],
    );
    check(
        "?[x] <~ F",
        &[
            "expected `(` after algorithm `F`, found the end of the text",
            "--> line 1, column 10",
            "  ?[x] <~ F",
            "           ^",
        ],
    );
    check(
        "?[x] := x = {a b}",
        &[
            "expected `:` after the name of a field, found `b`",
            "--> line 1, column 16",
            "  ?[x] := x = {a b}",
            "                 ^",
        ],
    );
}

#[test]
fn options_have_their_names_and_arguments() {
    check(
        "?[x] := x = 1 :limt 3",
        &[
            "there is no option `:limt`",
            "--> line 1, column 15",
            "  ?[x] := x = 1 :limt 3",
            "                ^^^^^",
            "hint: did you mean `:limit`?",
        ],
    );
    check(
        "?[x] := x = 1 :select x",
        &[
            "there is no option `:select`",
            "--> line 1, column 15",
            "  ?[x] := x = 1 :select x",
            "                ^^^^^^^",
            "hint: the rule `?[…]` is the result",
        ],
    );
    check(
        "?[x] := x = 1 :assert any",
        &[
            "expected `some` or `none` after `:assert`, found `any`",
            "--> line 1, column 23",
            "  ?[x] := x = 1 :assert any",
            "                        ^^^",
        ],
    );
    check(
        "?[x] := x = 1 :order x desc",
        &[
            "expected `,` or the end of the option, found `desc`",
            "--> line 1, column 24",
            "  ?[x] := x = 1 :order x desc",
            "                         ^^^^",
            "hint: `-column` orders from the largest down, `column` up",
        ],
    );
    check(
        "?[x] := x = 1 :put r {x} :rm s {x}",
        &[
            "a query changes one stored relation",
            "--> line 1, column 26",
            "  ?[x] := x = 1 :put r {x} :rm s {x}",
            "                           ^^^",
            "hint: write one query a relation, each in braces",
        ],
    );
    check(
        ":assert some :assert none",
        &[
            "a query asserts once",
            "--> line 1, column 14",
            "  :assert some :assert none",
            "               ^^^^^^^",
        ],
    );
    check(
        ":limit",
        &[
            "expected an expression, found the end of the text",
            "--> line 1, column 7",
            "  :limit",
            "        ^",
        ],
    );
}

#[test]
fn specs_have_columns_and_types() {
    check(
        ":create r {a: int}",
        &[
            "there is no type `int`",
            "--> line 1, column 15",
            "  :create r {a: int}",
            "                ^^^",
            "hint: did you mean `Int`?",
        ],
    );
    check(
        ":create r {a: Text}",
        &[
            "there is no type `Text`",
            "--> line 1, column 15",
            "  :create r {a: Text}",
            "                ^^^^",
            "hint: did you mean `String`?",
        ],
    );
    check(
        ":create r {a, a}",
        &[
            "column `a` occurs twice",
            "--> line 1, column 15",
            "  :create r {a, a}",
            "                ^",
        ],
    );
    check(
        ":create r {_a}",
        &[
            "the name of a column does not begin with `_`, found `_a`",
            "--> line 1, column 12",
            "  :create r {_a}",
            "             ^^",
        ],
    );
    check(
        ":create r {a -> b}",
        &[
            "expected `,`, `=>` or `}`, found `->`",
            "--> line 1, column 14",
            "  :create r {a -> b}",
            "               ^^",
            "hint: `=>` stands between keys and values",
        ],
    );
    check(
        ":create r {a: <F32>}",
        &[
            "expected `;` and the length, found `>`",
            "--> line 1, column 19",
            "  :create r {a: <F32>}",
            "                    ^",
            "hint: a vector's type is `<F32; 128>`",
        ],
    );
    check(
        ":create r {a: [Int; x]}",
        &[
            "the length of a list is a whole number",
            "--> line 1, column 21",
            "  :create r {a: [Int; x]}",
            "                      ^",
        ],
    );
    check(
        ":create r {a: Int b}",
        &[
            "expected `}` or `,` after the columns of relation `r`, found `b`",
            "--> line 1, column 19",
            "  :create r {a: Int b}",
            "                    ^",
            "hint: a `,` may be missing",
        ],
    );
    check(
        ":create r {a => b => c}",
        &[
            "expected `}` or `,` after the columns of relation `r`, found `=>`",
            "--> line 1, column 19",
            "  :create r {a => b => c}",
            "                    ^^",
            "hint: the `{` at line 1, column 11 is not closed",
        ],
    );
}

#[test]
fn system_ops_have_their_names_and_arguments() {
    check(
        "::relation",
        &[
            "there is no system op `::relation`",
            "--> line 1, column 1",
            "  ::relation",
            "  ^^^^^^^^^^",
            "hint: did you mean `::relations`?",
        ],
    );
    check(
        "::",
        &[
            "expected the name of a system op, found the end of the text",
            "--> line 1, column 3",
            "  ::",
            "    ^",
        ],
    );
    check(
        "::remove",
        &[
            "expected the name of a relation, found the end of the text",
            "--> line 1, column 9",
            "  ::remove",
            "          ^",
        ],
    );
    check(
        "::index make a:b",
        &[
            "expected `create` or `drop`, found `make`",
            "--> line 1, column 9",
            "  ::index make a:b",
            "          ^^^^",
        ],
    );
    check(
        "::index create a {b}",
        &[
            "expected `:` and the name of an index, found `{`",
            "--> line 1, column 18",
            "  ::index create a {b}",
            "                   ^",
        ],
    );
    check(
        "::access_level public a",
        &[
            "expected `normal`, `protected`, `read_only` or `hidden`, found `public`",
            "--> line 1, column 16",
            "  ::access_level public a",
            "                 ^^^^^^",
        ],
    );
    check(
        "::relations x",
        &[
            "expected the end of the script, found `x`",
            "--> line 1, column 13",
            "  ::relations x",
            "              ^",
        ],
    );
    check(
        "::rename a b",
        &[
            "expected `->` and the new name, found `b`",
            "--> line 1, column 12",
            "  ::rename a b",
            "             ^",
        ],
    );
    check(
        "::set_triggers r on put { ?[x] = a }",
        &[
            "expected `:=`, `<-` or `<~` after the head of rule `?`, found `=`",
            "--> line 1, column 32",
            "  ::set_triggers r on put { ?[x] = a }",
            "                                 ^",
            "hint: did you mean `:=`?",
        ],
    );
    check(
        "::set_triggers r on change {}",
        &[
            "expected `put`, `rm` or `replace` after `on`, found `change`",
            "--> line 1, column 21",
            "  ::set_triggers r on change {}",
            "                      ^^^^^^",
        ],
    );
    check(
        "::explain ?[x] := x = 1",
        &[
            "expected `{` after `::explain`, found `?`",
            "--> line 1, column 11",
            "  ::explain ?[x] := x = 1",
            "            ^",
        ],
    );
    check(
        "::hnsw create a:b {",
        &[
            "expected the name of an option, found the end of the text",
            "--> line 1, column 20",
            "  ::hnsw create a:b {",
            "                     ^",
        ],
    );
}

#[test]
fn statements_have_their_names_and_ends() {
    check(
        "{?[a] <- [[1]]} as x",
        &[
            "the name of a temporary relation begins with `_`, found `x`",
            "--> line 1, column 20",
            "  {?[a] <- [[1]]} as x",
            "                     ^",
            "hint: did you mean `_x`?",
        ],
    );
    check(
        "%if _x %then {?[a] <- [[1]]}",
        &[
            "expected a statement or `%end`, found the end of the text",
            "--> line 1, column 29",
            "  %if _x %then {?[a] <- [[1]]}",
            "                              ^",
        ],
    );
    check(
        "%lop",
        &[
            "there is no statement `%lop`",
            "--> line 1, column 1",
            "  %lop",
            "  ^^^^",
            "hint: did you mean `%loop`?",
        ],
    );
    check(
        "{?[a] <- [[1]]}; {?[a] <- [[1]]}",
        &[
            "expected a block in `{…}` or a `%` statement, found `;`",
            "--> line 1, column 16",
            "  {?[a] <- [[1]]}; {?[a] <- [[1]]}",
            "                 ^",
            "hint: no `;` stands between statements",
        ],
    );
    check(
        "%end",
        &["`%end` has no `%if` or `%loop` before it", "--> line 1, column 1", "  %end", "  ^^^^"],
    );
    check("{}", &["expected a rule, found `}`", "--> line 1, column 2", "  {}", "   ^"]);
    check(
        "{?[a] <- [[1]]} ?[b] <- [[1]]",
        &[
            "expected a block in `{…}` or a `%` statement, found `?`",
            "--> line 1, column 17",
            "  {?[a] <- [[1]]} ?[b] <- [[1]]",
            "                  ^",
            "hint: beside blocks a query stands in braces, too",
        ],
    );
    check(
        "%mark a %break",
        &[
            "expected `%loop` after `%mark`, found `%`",
            "--> line 1, column 9",
            "  %mark a %break",
            "          ^",
        ],
    );
    check(
        "%if {::compact} %then %end",
        &[
            "a system op gives no rows to test",
            "--> line 1, column 5",
            "  %if {::compact} %then %end",
            "      ^^^^^^^^^^^",
        ],
    );
}

#[test]
fn several_mistakes_are_told_at_a_time() {
    check(
        "?[x] := b[x\nc[y] := d[y,, e]\n?[z] := e[z], :limt 3",
        &[
            "expected `]` or `,` after the columns of rule `b`, found `c`",
            "--> line 2, column 1",
            "  c[y] := d[y,, e]",
            "  ^",
            "hint: the `[` at line 1, column 10 is not closed",
            "",
            "expected an expression, found `,`",
            "--> line 2, column 13",
            "  c[y] := d[y,, e]",
            "              ^",
            "",
            "there is no option `:limt`",
            "--> line 3, column 15",
            "  ?[z] := e[z], :limt 3",
            "                ^^^^^",
            "hint: did you mean `:limit`?",
        ],
    );
    check(
        "{?[a] := b[a} {?[a] <- [[1]] :limt 3} %if {?[x] = 1} %then {?[a] <- [[1]]} %end",
        &[
            "expected `]` or `,` after the columns of rule `b`, found `}`",
            "--> line 1, column 13",
            "  {?[a] := b[a} {?[a] <- [[1]] :limt 3} %if {?[x] = 1} %then {?[a] <- [[1]]} %end",
            "              ^",
            "hint: the `[` at line 1, column 11 is not closed",
            "",
            "there is no option `:limt`",
            "--> line 1, column 30",
            "  {?[a] := b[a} {?[a] <- [[1]] :limt 3} %if {?[x] = 1} %then {?[a] <- [[1]]} %end",
            "                               ^^^^^",
            "hint: did you mean `:limit`?",
            "",
            "expected `:=`, `<-` or `<~` after the head of rule `?`, found `=`",
            "--> line 1, column 49",
            "  {?[a] := b[a} {?[a] <- [[1]] :limt 3} %if {?[x] = 1} %then {?[a] <- [[1]]} %end",
            "                                                  ^",
            "hint: did you mean `:=`?",
        ],
    );
}

#[test]
fn an_expression_alone_is_read_to_its_end() {
    let text = "a + b c";
    let found = parse_expression(text).unwrap_err();
    let want =
        "expected the end of the expression, found `c`\n--> line 1, column 7\n  a + b c\n        ^";
    assert_eq!(found[0].render(text), want);
}

#[test]
fn a_script_that_is_too_long_is_not_read() {
    let text = " ".repeat(crate::SCRIPT_BYTES_MAX + 1);
    assert_eq!(parse(&text).unwrap_err()[0].message, "a script has at most 64 MiB");
}

#[test]
fn a_script_that_only_ends_too_early_is_told_from_a_wrong_one() {
    for unfinished in [
        "",
        "# a comment",
        "?[a] :=",
        "?[a] := *r{",
        "?[a] := *r{a},",
        "?[a] := *r{a}, (b[a] or",
        "?[a] <- [[1, 2],",
        "?[a] <- [['text",
        "?[a] := *r{a} /* why",
        "far[a] := *r{a}",
        "far[a] := *r{a};",
        "?[a] := *r{a} :order",
        "::columns",
        "::explain {",
        "{?[a] <- [[1]]} as",
        "%if {?[a] <- [[1]]} %then {?[b] <- [[2]]}",
        "%loop",
    ] {
        assert!(crate::is_unfinished(unfinished), "{unfinished}");
    }
    for other in [
        "?[a] := *r{a}",
        ":create r {a}",
        "::relations",
        "{?[a] <- [[1]]}",
        "?[a] = *r{",
        "?[a] := *r[a]]",
        "::colums",
        "no script",
    ] {
        assert!(!crate::is_unfinished(other), "{other}");
    }
}

#[test]
fn a_column_op_without_braces_is_shown_with_them() {
    check(
        "::column rename person name title",
        &[
            "expected `{` and the columns, found `name`",
            "--> line 1, column 24",
            "  ::column rename person name title",
            "                         ^^^^",
            "hint: as in `::column rename person {column -> name}`",
        ],
    );
}

#[test]
fn statements_of_other_languages_are_called_by_their_language() {
    for (text, language) in [
        ("DESCRIBE person", "SQL"),
        ("copy person from 'x.csv'", "SQL"),
        ("LOAD CSV FROM 'x.csv' AS row", "Cypher"),
        ("PREFIX x: <http://x.org> SELECT ?a", "SPARQL"),
    ] {
        let found = parse(text).unwrap_err();
        let said = found.iter().map(|one| one.render(text)).collect::<Vec<_>>().join("\n");
        assert!(said.contains(&format!("this looks like {language};")), "{text}: {said}");
    }
}
