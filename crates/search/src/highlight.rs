//! Shows why a text matches: the words that a query found, marked in the text or in a part of it.

use crate::analyzer::Analyzer;
use crate::plan::{Phrase, Plan};
use crate::token::Token;
use hashbrown::HashMap;
use std::ops::Range;

/// Strings before and after each match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Before a match.
    pub open: String,
    /// After a match.
    pub close: String,
}

impl Default for Marks {
    fn default() -> Self {
        Self { open: "<b>".to_owned(), close: "</b>".to_owned() }
    }
}

/// The whole text with its matches marked. Nothing is escaped.
#[must_use]
pub fn highlight(text: &str, plan: &Plan, analyzer: &Analyzer, marks: &Marks) -> String {
    let tokens = analyzer.tokens(text);
    marked(text, 0..text.len(), &matches(&tokens, plan), marks)
}

/// The best excerpt of at most `words_max` words, with its matches marked. The best excerpt has the
/// most different words of the query, then the most matches, then the earliest position. `…` marks
/// omitted text. Nothing is escaped.
#[must_use]
pub fn snippet(
    text: &str,
    plan: &Plan,
    analyzer: &Analyzer,
    words_max: usize,
    marks: &Marks,
) -> String {
    let tokens = analyzer.tokens(text);
    let found = matches(&tokens, plan);
    if tokens.len() <= words_max {
        return marked(text, 0..text.len(), &found, marks);
    }
    let first = best_window(&tokens, &found, words_max.max(1));
    let window = &tokens[first..tokens.len().min(first + words_max.max(1))];
    let (Some(start), Some(end)) =
        (window.first().map(|token| token.start), window.iter().map(|token| token.end).max())
    else {
        return String::new();
    };
    let (before, start) = if first > 0 { ("…", start) } else { ("", 0) };
    let is_cut = first + window.len() < tokens.len();
    let (after, end) = if is_cut { ("…", end) } else { ("", text.len()) };
    format!("{before}{}{after}", marked(text, start..end, &found, marks))
}

/// The bytes of each match in order, without overlaps; a match of a phrase is one for each word.
fn matches(tokens: &[Token], plan: &Plan) -> Vec<Range<usize>> {
    let mut places: HashMap<(&str, u32), Vec<usize>> = HashMap::new();
    for (place, token) in tokens.iter().enumerate() {
        places.entry((&token.text, token.position)).or_default().push(place);
    }
    let mut found: Vec<usize> = Vec::new();
    plan.each_phrase(&mut |phrase| {
        for token in tokens.iter().filter(|token| begins(phrase, token)) {
            found.extend(occurrence(phrase, token.position, tokens, &places));
        }
    });
    found.sort_unstable_by_key(|&place| (tokens[place].start, tokens[place].end));
    found.dedup();
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for place in found {
        let (start, end) = (tokens[place].start, tokens[place].end);
        match ranges.last_mut() {
            Some(last) if start < last.end => last.end = last.end.max(end),
            _ => ranges.push(start..end),
        }
    }
    ranges
}

fn begins(phrase: &Phrase, token: &Token) -> bool {
    let Some((word, _)) = phrase.words.first() else { return false };
    match phrase.is_prefix && phrase.words.len() == 1 {
        true => token.text.starts_with(word.as_str()),
        false => token.text == *word,
    }
}

/// The tokens of a phrase that begins at a position; none if it does not.
fn occurrence(
    phrase: &Phrase,
    begin: u32,
    tokens: &[Token],
    places: &HashMap<(&str, u32), Vec<usize>>,
) -> Vec<usize> {
    let mut found = Vec::new();
    for (number, (word, offset)) in phrase.words.iter().enumerate() {
        let position = begin.saturating_add(*offset);
        let before = found.len();
        match phrase.is_prefix && number + 1 == phrase.words.len() {
            false => found.extend(places.get(&(word.as_str(), position)).into_iter().flatten()),
            true => {
                let from = tokens.partition_point(|token| token.position < position);
                let at = tokens[from..].iter().take_while(|token| token.position == position);
                let at = at.enumerate().filter(|(_, token)| token.text.starts_with(word.as_str()));
                found.extend(at.map(|(place, _)| from + place));
            }
        }
        if found.len() == before {
            return Vec::new();
        }
    }
    found
}

/// The first token of the best window.
fn best_window(tokens: &[Token], found: &[Range<usize>], words_max: usize) -> usize {
    let is_match: Vec<bool> = tokens
        .iter()
        .map(|token| {
            let next = found.partition_point(|range| range.end <= token.start);
            found.get(next).is_some_and(|range| range.start < token.end)
        })
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let (mut matched, mut best) = (0, (0, 0, 0));
    for (end, token) in tokens.iter().enumerate() {
        if is_match[end] {
            *counts.entry(&token.text).or_default() += 1;
            matched += 1;
        }
        if end >= words_max && is_match[end - words_max] {
            let left = tokens[end - words_max].text.as_str();
            matched -= 1;
            if let Some(count) = counts.get_mut(left) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(left);
                }
            }
        }
        if (counts.len(), matched) > (best.0, best.1) {
            best = (counts.len(), matched, end);
        }
    }
    // Some words before the first match, where the window has room for them.
    let (_, _, last) = best;
    let first = (last + 1).saturating_sub(words_max);
    let first_match = (first..tokens.len()).find(|&place| is_match[place]).unwrap_or(0);
    let spare = first_match.saturating_sub(first);
    (first + spare / 2).min(tokens.len() - words_max.min(tokens.len()))
}

/// A part of a text with marks around the ranges within it.
fn marked(text: &str, part: Range<usize>, found: &[Range<usize>], marks: &Marks) -> String {
    let mut out = String::with_capacity(part.len() + 16);
    let mut at = part.start;
    for range in found.iter().filter(|range| range.start >= part.start && range.end <= part.end) {
        let (Some(before), Some(inside)) = (text.get(at..range.start), text.get(range.clone()))
        else {
            continue;
        };
        out.push_str(before);
        out.push_str(&marks.open);
        out.push_str(inside);
        out.push_str(&marks.close);
        at = range.end;
    }
    out.push_str(text.get(at..part.end).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Component, parse};
    use proptest::prelude::*;

    fn analyzer() -> Analyzer {
        let stemmer = Component::new("stemmer", vec![model::Value::Str("english".to_owned())]);
        let filters = [Component::new("lowercase", Vec::new()), stemmer];
        Analyzer::new(&Component::new("simple", Vec::new()), &filters).expect("valid settings")
    }

    fn plan(query: &str) -> Plan {
        Plan::new(&parse(query).expect("a valid query"), &analyzer())
    }

    #[track_caller]
    fn check(text: &str, query: &str, want: &str) {
        let marks = Marks { open: "[".to_owned(), close: "]".to_owned() };
        assert_eq!(highlight(text, &plan(query), &analyzer(), &marks), want);
    }

    #[test]
    fn what_matches_is_marked_as_it_is_written() {
        check("Foxes, a fox!", "fox", "[Foxes], a [fox]!");
        check(
            "a quick brown fox, brown quick",
            "\"quick brown\"",
            "a [quick] [brown] fox, brown quick",
        );
        check("jumped jumps over", "ju* NOT over", "[jumped] [jumps] over");
        check("very quick browns", "\"quick bro\"*", "very [quick] [browns]");
        check("nothing here", "fox", "nothing here");
    }

    #[test]
    fn a_snippet_is_the_part_with_the_most_different_matches() {
        let marks = Marks { open: "[".to_owned(), close: "]".to_owned() };
        let text = "fox fox fox and then nothing at all for long until a fox met a dog on the way";
        let found = snippet(text, &plan("fox OR dog"), &analyzer(), 5, &marks);
        assert_eq!(
            found,
            "…until a [fox] met a…".replace("until a [fox] met a", "a [fox] met a [dog]")
        );
        assert_eq!(snippet("a fox", &plan("fox"), &analyzer(), 5, &marks), "a [fox]");
        assert_eq!(snippet("", &plan("fox"), &analyzer(), 5, &marks), "");
        assert_eq!(snippet("one two three", &plan("fox"), &analyzer(), 2, &marks), "one two…");
    }

    proptest! {
        #[test]
        fn without_its_marks_a_highlight_is_the_text(
            text in "([a-cé]{1,2}[ ,.]){0,20}",
            query in "[a-cé]{1,2}( [a-c]\\*?){0,2}",
            words in 0_usize..8,
        ) {
            let marks = Marks { open: "<".to_owned(), close: ">".to_owned() };
            let plain = |marked: String| marked.replace(['<', '>'], "");
            let (plan, analyzer) = (plan(&query), analyzer());
            prop_assert_eq!(&plain(highlight(&text, &plan, &analyzer, &marks)), &text);
            let part = plain(snippet(&text, &plan, &analyzer, words, &marks));
            prop_assert!(text.contains(part.trim_matches('…')), "{} in {}", part, text);
        }
    }
}
