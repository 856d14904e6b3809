//! `\h NAME`: the entry of a word of the language in the reference, whose pages are compiled into
//! the program.

/// The pages, and what kind of word has a heading of its own in each.
const PAGES: [(&str, &str); 4] = [
    ("function", include_str!("../../../../docs/reference/functions.md")),
    ("aggregate", include_str!("../../../../docs/reference/aggregates.md")),
    ("algorithm", include_str!("../../../../docs/reference/algorithms.md")),
    ("", include_str!("../../../../docs/reference/language.md")),
];

/// An entry of the reference: its heading, and the text below it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) title: String,
    pub(super) text: String,
}

/// The entries of a word; empty where the language has no such word. With its `:`, `::` or `%` the
/// word is not looked up as a function.
pub(super) fn entries(word: &str) -> Vec<Entry> {
    let bare = word.trim_start_matches([':', '%']);
    let pages = PAGES.iter().filter(|(kind, _)| bare.len() == word.len() || kind.is_empty());
    pages.flat_map(|(kind, page)| entries_of(kind, page, bare)).collect()
}

fn entries_of(kind: &str, page: &str, word: &str) -> Vec<Entry> {
    let lines: Vec<&str> = page.lines().collect();
    let mut found = Vec::new();
    let mut header: Vec<String> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let below = || lines.get(at + 1).copied().unwrap_or_default();
        if line.starts_with("| ") && below().starts_with("| ---") {
            header = cells(line);
        } else if let Some(heading) = line.strip_prefix("### ")
            && names(heading).any(|name| name == word)
        {
            let title = if kind.is_empty() { String::new() } else { format!(" ({kind})") };
            let title = plain(heading) + &title;
            found.push(Entry { title, text: section(&lines[at + 1..]) });
        } else if line.starts_with("| `")
            && header.first().is_none_or(|first| first != "Operator")
            && let [first, rest @ ..] = &cells(line)[..]
            && names(first).any(|name| name == word)
        {
            let said = |(name, cell): (&String, &String)| match rest.len() {
                1 => format!("    {}\n", plain(cell)),
                _ => format!("    {name}: {}\n", plain(cell)),
            };
            let text = header.iter().skip(1).zip(rest).filter(|(_, cell)| !cell.is_empty());
            found.push(Entry { title: plain(first), text: text.map(said).collect() });
        }
    }
    found
}

/// The cells of a row of a Markdown table.
fn cells(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\u{0}");
    let line = line.trim().trim_matches('|');
    line.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

/// Names in backticks: the first word of each, and the words after `%`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.flat_map(|quoted| {
        let first = std::iter::once(quoted.trim_start_matches([':', '%']));
        first.chain(quoted.split('%').skip(1)).map(|text| {
            let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
            let end = text.find(|c| !is_of_word(c)).unwrap_or(text.len());
            &text[..end]
        })
    })
}

/// The lines up to the next heading, or up to the errors that all functions of a group share.
/// Examples are indented.
fn section(lines: &[&str]) -> String {
    let (mut text, mut is_example) = (String::new(), false);
    for line in lines {
        if line.starts_with("```") {
            is_example = !is_example;
        } else if (line.starts_with('#') || *line == "What they refuse:") && !is_example {
            break;
        } else if is_example {
            text += &format!("        {line}\n");
        } else if line.is_empty() {
            text.push('\n');
        } else {
            text += &format!("    {}\n", plain(line));
        }
    }
    text.trim_matches('\n').to_owned() + "\n"
}

/// Markdown without backticks, and links as their text.
fn plain(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, link)) = rest.split_once('[') {
        let shown = link.split_once("](").and_then(|(shown, target)| {
            let is_link = !shown.contains(['[', ']']);
            Some((shown, target.split_once(')')?.1)).filter(|_| is_link)
        });
        out += before;
        match shown {
            Some((shown, after)) => {
                out += shown;
                rest = after;
            }
            None => {
                out.push('[');
                rest = link;
            }
        }
    }
    (out + rest).replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_language_has_an_entry() {
        let words = quipu::words();
        let all = [
            words.functions,
            words.aggregates,
            words.fixed_rules.iter().map(String::as_str).collect(),
            words.system_ops,
            words.options,
            words.statements,
        ];
        for word in all.concat() {
            let entries = entries(word);
            assert!(!entries.is_empty(), "{word}");
            for Entry { title, text } in entries {
                assert!(!title.is_empty() && text.trim().len() > 3, "{word}: {title}: {text}");
                assert!(!text.contains('`') && !title.contains('`'), "{word}: {title}: {text}");
            }
        }
    }

    #[test]
    fn an_entry_says_what_the_reference_says() {
        let entry = |word: &str| entries(word).remove(0);
        let eq = entry("eq");
        assert_eq!(eq.title, "eq(a, b) (function)");
        assert!(eq.text.starts_with("    a == b. Whether two values are the same"), "{}", eq.text);
        assert!(eq.text.contains("\n        a | b | c | d\n"), "its example: {}", eq.text);
        assert!(!eq.text.contains("neq"), "and nothing of the next: {}", eq.text);
        assert_eq!(entry(":limit"), entry("limit"));
        assert_eq!(entry("::columns").title, "::columns r, ::indices r, ::show_triggers r");
        assert_eq!(entry("%then").title, entry("%if").title);
        assert_eq!(entry("if").title, "if(condition, a, b) (function)");
        assert!(!entry("remove_json_path").text.contains("refuse"));
        assert!(entry("PageRank").text.contains("\n    Columns: vertex, rank\n"));
        // A function and an aggregate have this name.
        assert_eq!(entries("min").len(), 2);
        assert_eq!(entries("nothing"), []);
        assert_eq!(plain("see [that](x.md), `a[b]` and [c]"), "see that, a[b] and [c]");
    }
}
