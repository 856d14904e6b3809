//! The analyzed query: its texts pass the analyzer of the documents. `evaluate.rs` and
//! `highlight.rs` read it.

use crate::analyzer::Analyzer;
use crate::query::{Query, Words};

/// The analyzed query. Parts whose words the analyzer removes, such as stop words, are gone.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Matches nothing.
    Nothing,
    /// A word, a prefix or a phrase.
    Phrase(Phrase),
    /// Phrases, and the number of positions within which they begin.
    Near(Vec<Phrase>, u32),
    /// All match; at least two.
    And(Vec<Plan>),
    /// One matches; at least two.
    Or(Vec<Plan>),
    /// The first matches and the second does not.
    Not(Box<Plan>, Box<Plan>),
}

/// Words at fixed distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Phrase {
    /// Each word, and its position after the first one's; at least one.
    pub words: Vec<(String, u32)>,
    /// Whether the last word is only the beginning of one.
    pub is_prefix: bool,
    /// Factor of its scores.
    pub boost: f64,
}

impl Plan {
    /// The plan of a query over an index with this analyzer.
    #[must_use]
    pub fn new(query: &Query, analyzer: &Analyzer) -> Self {
        match query {
            Query::Words(words) => phrase(words, analyzer).map_or(Self::Nothing, Self::Phrase),
            Query::Near { items, distance } => {
                let mut phrases: Vec<Phrase> =
                    items.iter().filter_map(|words| phrase(words, analyzer)).collect();
                match phrases.len() {
                    0 => Self::Nothing,
                    1 => Self::Phrase(phrases.remove(0)),
                    _ => Self::Near(phrases, *distance),
                }
            }
            Query::And(parts) => several(parts, analyzer, Self::And),
            Query::Or(parts) => several(parts, analyzer, Self::Or),
            Query::Not(yes, no) => match (Self::new(yes, analyzer), Self::new(no, analyzer)) {
                (Self::Nothing, _) => Self::Nothing,
                (yes, Self::Nothing) => yes,
                (yes, no) => Self::Not(Box::new(yes), Box::new(no)),
            },
        }
    }

    /// Calls `visit` for each phrase that makes documents match.
    pub fn each_phrase<'p>(&'p self, visit: &mut dyn FnMut(&'p Phrase)) {
        match self {
            Self::Nothing => {}
            Self::Phrase(phrase) => visit(phrase),
            Self::Near(phrases, _) => phrases.iter().for_each(visit),
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.each_phrase(visit));
            }
            Self::Not(yes, _) => yes.each_phrase(visit),
        }
    }
}

fn several(parts: &[Query], analyzer: &Analyzer, all: fn(Vec<Plan>) -> Plan) -> Plan {
    let plans = parts.iter().map(|part| Plan::new(part, analyzer));
    let mut plans: Vec<Plan> = plans.filter(|plan| *plan != Plan::Nothing).collect();
    match plans.len() {
        0 => Plan::Nothing,
        1 => plans.remove(0),
        _ => all(plans),
    }
}

fn phrase(words: &Words, analyzer: &Analyzer) -> Option<Phrase> {
    let tokens = analyzer.tokens(&words.text);
    let first = tokens.first()?.position;
    let place = |token: crate::token::Token| (token.text, token.position.saturating_sub(first));
    let (is_prefix, boost) = (words.is_prefix, words.boost);
    Some(Phrase { words: tokens.into_iter().map(place).collect(), is_prefix, boost })
}
