//! Completion of the word before the cursor.
//!
//! # Invariants
//! 1. Candidates are sorted and distinct, and begin with the typed word, apart from backquotes.

use super::command;
use super::scan::{Kind, Token, tokens};
use quipu::{Database, Parameters, Value, Words};
use unicode_ident::is_xid_continue;

/// Names in the database and in the shell.
pub(crate) trait Names {
    /// Stored relations.
    fn relations(&self) -> Vec<String>;
    /// Columns of a relation; empty where it does not exist.
    fn columns(&self, relation: &str) -> Vec<String>;
    /// Parameters that have a value.
    fn parameters(&self) -> Vec<String>;
}

/// The names of an open database.
pub(crate) struct DatabaseNames<'d> {
    pub(crate) database: &'d Database,
    pub(crate) parameters: Vec<String>,
}

impl Names for DatabaseNames<'_> {
    fn relations(&self) -> Vec<String> {
        self.first_column("::relations")
    }

    fn columns(&self, relation: &str) -> Vec<String> {
        // The name is put into a script, so it must not contain other syntax.
        match relation.chars().all(|c| c == '.' || is_xid_continue(c)) {
            true => self.first_column(&format!("::columns {relation}")),
            false => Vec::new(),
        }
    }

    fn parameters(&self) -> Vec<String> {
        self.parameters.clone()
    }
}

impl DatabaseNames<'_> {
    fn first_column(&self, script: &str) -> Vec<String> {
        // An error of the database means no candidates.
        let Ok(answer) = self.database.run(script, &Parameters::new()) else { return Vec::new() };
        let text = |row| match answer.value(row, 0) {
            Value::Str(text) => text,
            other => other.to_string(),
        };
        (0..answer.len()).map(text).collect()
    }
}

/// Words of the language that are neither functions nor names.
const KEYWORDS: [&str; 6] = ["false", "in", "not", "null", "or", "true"];

/// Operations that are followed by the name of a relation.
const OPS_ON_RELATIONS: [&str; 17] = [
    ":create",
    ":delete",
    ":ensure",
    ":ensure_not",
    ":insert",
    ":put",
    ":replace",
    ":rm",
    ":update",
    "::access_level",
    "::columns",
    "::describe",
    "::indices",
    "::remove",
    "::rename",
    "::set_triggers",
    "::show_triggers",
];

/// The byte at which the word begins, and its candidates; none where the context allows none.
pub(crate) fn candidates(before: &str, words: &Words, names: &dyn Names) -> (usize, Vec<String>) {
    if let Some(typed) = before.strip_prefix('\\') {
        return of_command(before, typed, words, names);
    }
    let all = tokens(before);
    if all.last().is_some_and(|token| token.is_open || token.kind == Kind::Comment) {
        return (before.len(), Vec::new());
    }
    let (rest, word) = match all.split_last() {
        Some((last, rest)) if !matches!(last.kind, Kind::Space | Kind::Sign) => {
            (rest, last.range.start..before.len())
        }
        _ => (&all[..], before.len()..before.len()),
    };
    let typed = &before[word.clone()];
    let context = CompletionContext { before, tokens: rest };
    let found: Vec<String> = if let Some(name) = typed.strip_prefix("::") {
        prefixed("::", name, words.system_ops.iter().copied())
    } else if before.ends_with("::") {
        return (before.len() - 2, prefixed("::", "", words.system_ops.iter().copied()));
    } else if let Some(name) = typed.strip_prefix(':') {
        prefixed(":", name, words.options.iter().copied())
    } else if let Some(name) = typed.strip_prefix('%') {
        prefixed("%", name, words.statements.iter().copied())
    } else if let Some(name) = typed.strip_prefix('$') {
        prefixed("$", name, names.parameters().iter().map(String::as_str))
    } else if let Some(name) = typed.strip_prefix('*') {
        prefixed("*", name, written(names).iter().map(String::as_str))
    } else if typed.is_empty() && before.ends_with('$') {
        return (
            before.len() - 1,
            prefixed("$", "", names.parameters().iter().map(String::as_str)),
        );
    } else if typed.is_empty() && context.text().ends_with('*') && !context.is_behind_value() {
        return (before.len() - 1, prefixed("*", "", written(names).iter().map(String::as_str)));
    } else if typed.is_empty() && before.ends_with('%') {
        return (before.len() - 1, prefixed("%", "", words.statements.iter().copied()));
    } else if typed.is_empty() && context.text().ends_with(':') && context.begins_line(1) {
        return (before.len() - 1, prefixed(":", "", words.options.iter().copied()));
    } else {
        context.words(typed, words, names)
    };
    (word.start, found)
}

fn of_command(before: &str, typed: &str, words: &Words, names: &dyn Names) -> (usize, Vec<String>) {
    let Some((name, rest)) = typed.split_once(' ') else {
        return (0, prefixed("\\", typed, command::NAMES.iter().copied()));
    };
    let start = before.len() - rest.len();
    let relations = names.relations();
    let found = match name {
        "d" | "r" => prefixed("", rest, relations.iter().map(String::as_str)),
        "p" => prefixed("", rest, names.parameters().iter().map(String::as_str)),
        "timing" | "x" => prefixed("", rest, ["off", "on"].into_iter()),
        "h" => {
            let all = words.functions.iter().chain(&words.aggregates).copied();
            prefixed("", rest, all)
        }
        _ => Vec::new(),
    };
    (start, found)
}

/// Names of stored relations as scripts write them, quoted where needed.
fn written(names: &dyn Names) -> Vec<String> {
    names.relations().iter().map(|name| quipu::quote_name(name).into_owned()).collect()
}

fn prefixed<'a>(sign: &str, typed: &str, all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = all
        .filter(|name| {
            name.starts_with(typed)
                || !typed.is_empty() && name.trim_start_matches('`').starts_with(typed)
        })
        .map(|name| format!("{sign}{name}"))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The text before the word, and its tokens.
struct CompletionContext<'p> {
    before: &'p str,
    tokens: &'p [Token],
}

impl CompletionContext<'_> {
    fn text(&self) -> &str {
        let end = self.tokens.last().map_or(0, |token| token.range.end);
        &self.before[..end]
    }

    fn of(&self, token: &Token) -> &str {
        &self.before[token.range.clone()]
    }

    /// Tokens except spaces and comments, the last first.
    fn back(&self) -> impl Iterator<Item = &Token> {
        self.tokens.iter().rev().filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment))
    }

    /// Whether a value comes before the last sign, so that the sign is an operator.
    fn is_behind_value(&self) -> bool {
        self.back().nth(1).is_some_and(|token| match token.kind {
            Kind::Word | Kind::Number | Kind::Parameter => {
                !matches!(self.of(token), "not" | "or" | "and")
            }
            Kind::Sign => matches!(self.of(token), ")" | "]" | "}"),
            _ => false,
        })
    }

    /// Whether the last `bytes` bytes may begin a line: only spaces come before them, or a space
    /// directly.
    fn begins_line(&self, bytes: usize) -> bool {
        let text = self.text();
        let before = &text[..text.len() - bytes];
        before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty() || line.ends_with(' '))
    }

    /// The index of the innermost open bracket.
    fn open_bracket(&self) -> Option<usize> {
        let mut closed = 0_usize;
        for (i, token) in self.tokens.iter().enumerate().rev() {
            if token.kind != Kind::Sign {
                continue;
            }
            match self.of(token) {
                ")" | "]" | "}" => closed += 1,
                "(" | "[" | "{" if closed == 0 => return Some(i),
                "(" | "[" | "{" => closed -= 1,
                _ => {}
            }
        }
        None
    }

    /// Candidates for a word without a sign such as `:` or `$` before it.
    fn words(&self, typed: &str, words: &Words, names: &dyn Names) -> Vec<String> {
        let mut back = self.back();
        let (last, before_last) = (back.next(), back.next());
        let is = |token: Option<&Token>, sign: &str| token.is_some_and(|one| self.of(one) == sign);
        if is(last, "~") && is(before_last, "<") {
            return prefixed("", typed, words.fixed_rules.iter().map(String::as_str));
        }
        if last.is_some_and(|one| OPS_ON_RELATIONS.contains(&self.of(one))) {
            return prefixed("", typed, written(names).iter().map(String::as_str));
        }
        if let Some(open) = self.open_bracket() {
            let bracket = self.of(&self.tokens[open]);
            let begins_column = is(last, "{") || is(last, ",") || is(last, ">");
            if bracket == "{"
                && begins_column
                && let Some(relation) = self.relation_before(open)
            {
                return prefixed(
                    "",
                    typed,
                    names.columns(relation.trim_matches('`')).iter().map(String::as_str),
                );
            }
            if bracket == "[" && self.is_head(open) {
                let aggregates = words.aggregates.iter().map(|name| format!("{name}("));
                let all: Vec<String> = aggregates.chain(self.variables()).collect();
                return prefixed("", typed, all.iter().map(String::as_str));
            }
        }
        // With no letter typed, all functions would match.
        let functions = words.functions.iter().filter(|_| !typed.is_empty());
        let all: Vec<String> = functions
            .map(|name| format!("{name}("))
            .chain(KEYWORDS.iter().map(|&word| word.to_owned()))
            .chain(self.variables())
            .collect();
        prefixed("", typed, all.iter().map(String::as_str))
    }

    /// The relation whose columns the brace lists: of `*r{`, `*r:index{` or `:put r {`.
    fn relation_before(&self, brace: usize) -> Option<&str> {
        let before = Self { before: self.before, tokens: &self.tokens[..brace] };
        let mut back = before.back();
        let last = back.next()?;
        if last.kind == Kind::Stored {
            return before
                .of(last)
                .strip_prefix('*')
                .map(|_| &self.before[last.range.start + 1..last.range.end]);
        }
        let previous = back.next()?;
        let text = &self.before[previous.range.clone()];
        if previous.kind == Kind::Option && OPS_ON_RELATIONS.contains(&text) {
            return Some(&self.before[last.range.clone()]);
        }
        let stored = back.next().filter(|token| text == ":" && token.kind == Kind::Stored)?;
        Some(&self.before[stored.range.start + 1..stored.range.end])
    }

    /// Whether the bracket begins the head of a rule.
    fn is_head(&self, bracket: usize) -> bool {
        let before = Self { before: self.before, tokens: &self.tokens[..bracket] };
        let mut back = before.back();
        match back.next() {
            Some(name) if before.of(name) == "?" => true,
            Some(name) if name.kind == Kind::Word => match back.next() {
                None => true,
                Some(one) => {
                    matches!(before.of(one), "]" | "}" | ")" | ";") || one.kind == Kind::Number
                }
            },
            _ => false,
        }
    }

    /// Words in the text before, which may be names of rules and variables.
    fn variables(&self) -> impl Iterator<Item = String> {
        let words = self.tokens.iter().filter(|token| token.kind == Kind::Word);
        words.map(|token| self.of(token).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Some;

    impl Names for Some {
        fn relations(&self) -> Vec<String> {
            ["fr-ench", "friend", "friends", "person"].map(str::to_owned).to_vec()
        }

        fn columns(&self, relation: &str) -> Vec<String> {
            match relation {
                "person" => ["age", "id", "name"].map(str::to_owned).to_vec(),
                _ => Vec::new(),
            }
        }

        fn parameters(&self) -> Vec<String> {
            vec!["who".to_owned()]
        }
    }

    /// Checks the candidates for `text` with the cursor at its end. Where `want` ends in `…`, there
    /// may be more.
    #[track_caller]
    fn check(text: &str, want: &str) {
        let (start, found) = candidates(text, &quipu::words(), &Some);
        let shown = found.join(" ");
        match want.strip_suffix(" …") {
            Option::Some(want) => {
                let missing = want.split(' ').find(|one| !found.iter().any(|name| name == one));
                assert_eq!(missing, None, "{shown}");
            }
            None => assert_eq!(shown, want),
        }
        assert!(
            found.iter().all(|name| name.replace('`', "").starts_with(&text[start..])),
            "{shown}"
        );
    }

    #[test]
    fn relations_stand_behind_a_star_and_behind_ops() {
        check("?[a] := *fr", "*`fr-ench` *friend *friends");
        check("?[a] := *", "*`fr-ench` *friend *friends *person");
        check("?[a] := *`fr-ench`{id: x}, *pe", "*person");
        check("?[a] := *person{id: a},\n not *p", "*person");
        check("::columns fri", "friend friends");
        check("?[a] <- [[1]] :put per", "person");
    }

    #[test]
    fn columns_stand_in_a_relation_s_braces() {
        check("?[a] := *person{", "age id name");
        check("?[a] := *person{id: a, n", "name");
        check("?[a] := *person:by_age{", "age id name");
        check("?[a] := *friends{", "");
        check(":put person {i", "id");
        check("?[a] := *person{name: lowerc", "lowercase(");
    }

    #[test]
    fn heads_have_aggregates_and_bodies_functions() {
        check("?[cou", "count( count_unique(");
        check("r[x] := x = 1\n?[x, mea", "mean(");
        check("?[y] := *person{id: y}, reg", "regex_extract( regex_matches( …");
        check("?[person_id, b] := pers", "person_id");
        check("?[r] <~ PageR", "PageRank");
        check("?[r] <~ ", "BFS PageRank …");
    }

    #[test]
    fn signs_say_what_follows() {
        check("::rel", "::relations");
        check("::", "::columns ::relations …");
        check("?[a] := *person{id: a} :lim", ":limit");
        check("?[a] := *person{id: a}\n:", ":limit :order …");
        check("%if_", "%if_not");
        check("{?[a] <- [[1]]}\n%", "%loop %end …");
        check("?[a] := a = $", "$who");
        check("\\tim", "\\timing");
        check("\\d per", "person");
    }

    #[test]
    fn nothing_is_said_in_texts_and_comments() {
        check("?[a] := a = 'fri", "");
        check("# fri", "");
        check("?[a] := x * f", "first( floor( …");
    }
}
