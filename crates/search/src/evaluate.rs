//! Finds the best documents of a query.
//!
//! # How
//! Each part of a query becomes a list of documents with scores, in the order of documents; lists
//! are merged. Where all parts must match, the one with the fewest documents comes first, and the
//! others are looked up where few documents are left.
//!
//! # Alternatives whose scores add up
//! They are taken by the most that they can add to a score, the rarest words first: MaxScore of
//! Turtle and Flood, "Query evaluation: strategies and optimizations" (1995), a word at a time.
//! Once the `k`th best document so far is better than all words to come together can make one, no
//! further document matters: the frequent words are only looked up in the documents that may
//! still be among the best.

use crate::occurrences::{Among, Occurrences, first_from, of_near, of_phrase, weight};
use crate::plan::{Phrase, Plan};
use crate::postings::PostingSource;
use crate::score::{ScoreKind, Scorer, Totals};
use std::cmp::Ordering;

/// Bounds of sums of scores are raised by this share, because sums are rounded.
const ROUNDING: f64 = 1e-9;

/// A document that matches, with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit<D> {
    /// The document.
    pub document: D,
    /// Its score; higher is better.
    pub score: f64,
}

impl<D: Ord> Hit<D> {
    /// The better one is less: it comes first.
    fn order(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.document.cmp(&other.document))
    }
}

/// The `k` best documents of a query, best first; of equal scores the first documents.
///
/// # Errors
/// Those of the source.
pub fn search<D: Ord + Clone, S: PostingSource<D>>(
    plan: &Plan,
    k: usize,
    kind: ScoreKind,
    totals: Totals,
    source: &mut S,
) -> Result<Vec<Hit<D>>, S::Error> {
    if k == 0 {
        return Ok(Vec::new());
    }
    let scorer = Scorer::new(kind, totals);
    if let Plan::Or(parts) = plan
        && kind.sums_alternatives()
        && let Some(phrases) = phrases_of(parts)
    {
        return best_of_any(&phrases, k, &scorer, source);
    }
    let hits = matching(plan, None, &scorer, source)?;
    source.check()?;
    Ok(best(hits, k))
}

/// The `k` best of some hits, best first.
fn best<D: Ord>(mut hits: Vec<Hit<D>>, k: usize) -> Vec<Hit<D>> {
    if k < hits.len() {
        hits.select_nth_unstable_by(k, Hit::order);
        hits.truncate(k);
    }
    hits.sort_unstable_by(Hit::order);
    hits
}

/// The phrases, if there is nothing else.
fn phrases_of(parts: &[Plan]) -> Option<Vec<&Phrase>> {
    let mut phrases = Vec::with_capacity(parts.len());
    for part in parts {
        let Plan::Phrase(phrase) = part else { return None };
        phrases.push(phrase);
    }
    Some(phrases)
}

/// All matching documents with their scores, in their order; at least those of `among`.
fn matching<D: Ord + Clone, S: PostingSource<D>>(
    plan: &Plan,
    among: Among<'_, D>,
    scorer: &Scorer,
    source: &mut S,
) -> Result<Vec<Hit<D>>, S::Error> {
    source.check()?;
    match plan {
        Plan::Nothing => Ok(Vec::new()),
        Plan::Phrase(phrase) => {
            let found = of_phrase(phrase, false, among, scorer, source)?;
            Ok(scored(found, phrase.boost, scorer))
        }
        Plan::Near(phrases, distance) => {
            let found = of_near(phrases, *distance, among, scorer, source)?;
            let boost = match scorer.kind {
                ScoreKind::Tf => phrases.iter().map(|phrase| phrase.boost).sum(),
                // The weights of the words have their boosts.
                _ => 1.0,
            };
            Ok(scored(found, boost, scorer))
        }
        Plan::And(parts) => matching_all(parts, among, scorer, source),
        Plan::Or(parts) => {
            let mut hits = Vec::new();
            for part in parts {
                let found = matching(part, among, scorer, source)?;
                hits = in_either(hits, found, scorer.kind.sums_alternatives());
            }
            Ok(hits)
        }
        Plan::Not(yes, no) => {
            let mut hits = matching(yes, among, scorer, source)?;
            let documents = documents_of(&hits);
            let no = matching(no, Some(&documents), scorer, source)?;
            let mut at = 0;
            hits.retain(|hit| !is_in(&no, &mut at, &hit.document));
            Ok(hits)
        }
    }
}

/// The documents that match all parts.
fn matching_all<D: Ord + Clone, S: PostingSource<D>>(
    parts: &[Plan],
    among: Among<'_, D>,
    scorer: &Scorer,
    source: &mut S,
) -> Result<Vec<Hit<D>>, S::Error> {
    let mut order = Vec::with_capacity(parts.len());
    for (place, part) in parts.iter().enumerate() {
        order.push((matches_max(part, scorer, source)?, place));
    }
    order.sort_unstable();
    let mut hits: Option<Vec<Hit<D>>> = None;
    for (_, place) in order {
        hits = Some(match hits {
            None => matching(&parts[place], among, scorer, source)?,
            Some(hits) => {
                let documents = documents_of(&hits);
                let found = matching(&parts[place], Some(&documents), scorer, source)?;
                in_both(hits, &found)
            }
        });
    }
    Ok(hits.unwrap_or_default())
}

/// The most documents that may match, as far as counts of words tell.
fn matches_max<D: Ord + Clone, S: PostingSource<D>>(
    plan: &Plan,
    scorer: &Scorer,
    source: &mut S,
) -> Result<usize, S::Error> {
    let least = |least: usize, more: usize| least.min(more);
    match plan {
        Plan::Nothing => Ok(0),
        Plan::Phrase(phrase) => {
            Ok(weight(phrase, scorer, source)?.map_or(usize::MAX, |(_, count)| count))
        }
        Plan::Near(phrases, _) => phrases.iter().try_fold(usize::MAX, |all, phrase| {
            Ok(least(all, weight(phrase, scorer, source)?.map_or(usize::MAX, |(_, count)| count)))
        }),
        Plan::And(parts) => parts
            .iter()
            .try_fold(usize::MAX, |all, part| Ok(least(all, matches_max(part, scorer, source)?))),
        Plan::Or(parts) => parts.iter().try_fold(0_usize, |all, part| {
            Ok(all.saturating_add(matches_max(part, scorer, source)?))
        }),
        Plan::Not(yes, _) => matches_max(yes, scorer, source),
    }
}

fn documents_of<D: Clone>(hits: &[Hit<D>]) -> Vec<D> {
    hits.iter().map(|hit| hit.document.clone()).collect()
}

fn scored<D>(found: Occurrences<D>, boost: f64, scorer: &Scorer) -> Vec<Hit<D>> {
    let Occurrences { list, idf } = found;
    let counts = list.frequencies.into_iter().zip(list.lengths);
    let hit = |(document, (tf, length)): (D, (u32, u32))| Hit {
        document,
        score: scorer.score(tf, length, idf) * boost,
    };
    list.documents.into_iter().zip(counts).map(hit).collect()
}

/// Whether a document is among the hits from `at` on, which moves there.
fn is_in<D: Ord>(hits: &[Hit<D>], at: &mut usize, document: &D) -> bool {
    *at = first_from(hits, *at, |hit| hit.document < *document);
    hits.get(*at).is_some_and(|hit| hit.document == *document)
}

fn in_both<D: Ord>(mut hits: Vec<Hit<D>>, others: &[Hit<D>]) -> Vec<Hit<D>> {
    let mut at = 0;
    hits.retain_mut(|hit| {
        let found = is_in(others, &mut at, &hit.document);
        if found {
            hit.score += others[at].score;
        }
        found
    });
    hits
}

fn in_either<D: Ord>(one: Vec<Hit<D>>, other: Vec<Hit<D>>, sums: bool) -> Vec<Hit<D>> {
    let mut out = Vec::with_capacity(one.len().max(other.len()));
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        match a.document.cmp(&b.document) {
            Ordering::Less => out.extend(one.next()),
            Ordering::Greater => out.extend(other.next()),
            Ordering::Equal => {
                let score = match sums {
                    true => a.score + b.score,
                    false => a.score.max(b.score),
                };
                out.extend(one.next().map(|hit| Hit { score, ..hit }));
                other.next();
            }
        }
    }
    out.extend(one);
    out.extend(other);
    out
}

/// The best documents that match at least one phrase, where the scores of phrases add up.
fn best_of_any<D: Ord + Clone, S: PostingSource<D>>(
    phrases: &[&Phrase],
    k: usize,
    scorer: &Scorer,
    source: &mut S,
) -> Result<Vec<Hit<D>>, S::Error> {
    let mut lists = Vec::with_capacity(phrases.len());
    for phrase in phrases {
        let max = match weight(phrase, scorer, source)? {
            Some((idf, _)) => scorer.score_max(idf) * phrase.boost,
            None => f64::INFINITY,
        };
        lists.push((max, *phrase));
    }
    lists.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut hits: Vec<Hit<D>> = Vec::new();
    for (place, (_, phrase)) in lists.iter().enumerate() {
        source.check()?;
        let rest: f64 = lists[place..].iter().map(|(max, _)| max).sum();
        let rest = rest * (1.0 + ROUNDING);
        let worst = kth_score(&hits, k);
        // An equal score is not enough: an earlier document would be better.
        let is_closed = worst.is_some_and(|worst| worst > rest);
        if let (true, Some(worst)) = (is_closed, worst) {
            hits.retain(|hit| (hit.score + rest) * (1.0 + ROUNDING) >= worst);
        }
        let documents = if is_closed { documents_of(&hits) } else { Vec::new() };
        let among = is_closed.then_some(documents.as_slice());
        let found = scored(of_phrase(phrase, false, among, scorer, source)?, phrase.boost, scorer);
        hits = match is_closed {
            true => with_more(hits, &found),
            false => in_either(hits, found, true),
        };
    }
    Ok(best(hits, k))
}

/// The `k`th best score, if there are as many.
fn kth_score<D>(hits: &[Hit<D>], k: usize) -> Option<f64> {
    if hits.len() < k {
        return None;
    }
    let mut scores: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
    let (_, kth, _) = scores.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    Some(*kth)
}

/// The hits with the scores of others added, where there are any.
fn with_more<D: Ord>(mut hits: Vec<Hit<D>>, others: &[Hit<D>]) -> Vec<Hit<D>> {
    let mut at = 0;
    for hit in &mut hits {
        if is_in(others, &mut at, &hit.document) {
            hit.score += others[at].score;
        }
    }
    hits
}
