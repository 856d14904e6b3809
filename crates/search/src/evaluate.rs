//! Finds the best documents of a query.
//!
//! # How
//! Each part of a query becomes a list of documents with scores, in the order of documents; lists
//! are merged. Where a query is an alternative of phrases whose scores add up, the best ones are
//! found without scoring all documents: MaxScore of Turtle and Flood, "Query evaluation: strategies
//! and optimizations" (1995). Lists are ordered by the highest score that they can add. Once there
//! are `k` results, documents that are only in lists that together cannot reach the worst of these
//! are never looked at.

use crate::occurrences::{Occurrences, first_from, of_near, of_phrase};
use crate::plan::{Phrase, Plan};
use crate::postings::PostingSource;
use crate::score::{ScoreKind, Scorer, Totals};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

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
    let mut hits = matching(plan, &scorer, source)?;
    source.check()?;
    if k < hits.len() {
        hits.select_nth_unstable_by(k, Hit::order);
        hits.truncate(k);
    }
    hits.sort_unstable_by(Hit::order);
    Ok(hits)
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

/// All matching documents with their scores, in their order.
fn matching<D: Ord + Clone, S: PostingSource<D>>(
    plan: &Plan,
    scorer: &Scorer,
    source: &mut S,
) -> Result<Vec<Hit<D>>, S::Error> {
    source.check()?;
    match plan {
        Plan::Nothing => Ok(Vec::new()),
        Plan::Phrase(phrase) => {
            let found = of_phrase(phrase, false, scorer, source)?;
            Ok(scored(found, phrase.boost, scorer))
        }
        Plan::Near(phrases, distance) => {
            let found = of_near(phrases, *distance, scorer, source)?;
            let boost = match scorer.kind {
                ScoreKind::Tf => phrases.iter().map(|phrase| phrase.boost).sum(),
                // The weights of the words have their boosts.
                _ => 1.0,
            };
            Ok(scored(found, boost, scorer))
        }
        Plan::And(parts) => {
            let mut hits: Option<Vec<Hit<D>>> = None;
            for part in parts {
                let found = matching(part, scorer, source)?;
                hits = Some(match hits {
                    None => found,
                    Some(hits) => in_both(hits, &found),
                });
            }
            Ok(hits.unwrap_or_default())
        }
        Plan::Or(parts) => {
            let mut hits = Vec::new();
            for part in parts {
                let found = matching(part, scorer, source)?;
                hits = in_either(hits, found, scorer.kind.sums_alternatives());
            }
            Ok(hits)
        }
        Plan::Not(yes, no) => {
            let mut hits = matching(yes, scorer, source)?;
            let no = matching(no, scorer, source)?;
            let mut at = 0;
            hits.retain(|hit| !is_in(&no, &mut at, &hit.document));
            Ok(hits)
        }
    }
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
    let rest = &hits[*at..];
    // Callers ask in ascending order, mostly for a document that is near.
    let near = rest.iter().take(8).take_while(|hit| hit.document < *document).count();
    *at += match near {
        8 => rest.partition_point(|hit| hit.document < *document),
        near => near,
    };
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

/// A hit in a heap whose greatest item is the worst hit.
struct Worst<D>(Hit<D>);

impl<D: Ord> Ord for Worst<D> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

impl<D: Ord> PartialOrd for Worst<D> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<D: Ord> PartialEq for Worst<D> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<D: Ord> Eq for Worst<D> {}

/// The matches of one phrase among several.
struct Weighted<D> {
    found: Occurrences<D>,
    boost: f64,
    /// Most that it adds to a score.
    max: f64,
    /// The first match that may still be needed.
    at: usize,
    /// Its place in the query: scores are added in this order, so that they do not depend on how
    /// the search went.
    place: usize,
}

/// The best documents that match at least one phrase, where the scores of phrases add up.
fn best_of_any<D: Ord + Clone, S: PostingSource<D>>(
    phrases: &[&Phrase],
    k: usize,
    scorer: &Scorer,
    source: &mut S,
) -> Result<Vec<Hit<D>>, S::Error> {
    let mut lists = Vec::with_capacity(phrases.len());
    for (place, phrase) in phrases.iter().enumerate() {
        let found = of_phrase(phrase, false, scorer, source)?;
        let tf_max = found.list.frequencies.iter().copied().max().unwrap_or(0);
        let max = scorer.score_max(tf_max, found.idf) * phrase.boost;
        lists.push(Weighted { found, boost: phrase.boost, max, at: 0, place });
    }
    lists.sort_by(|a, b| a.max.total_cmp(&b.max));
    // `below[i]` is the most that the first `i` lists can add together, rounding included.
    let mut below = vec![0.0];
    for list in &lists {
        below.push((below[below.len() - 1] + list.max) * (1.0 + 1e-9));
    }
    let mut best: BinaryHeap<Worst<D>> = BinaryHeap::new();
    // Lists before `first` cannot make a result by themselves.
    let (mut first, mut looked) = (0, 0_usize);
    while let Some(document) = next_document(&lists[first..]) {
        looked += 1;
        if looked.is_multiple_of(1024) {
            source.check()?;
        }
        let score = score_of(&mut lists, &document, scorer);
        let hit = Worst(Hit { document, score });
        if best.len() < k {
            best.push(hit);
        } else if best.peek().is_some_and(|worst| hit < *worst) {
            best.pop();
            best.push(hit);
        }
        if best.len() == k
            && let Some(worst) = best.peek()
        {
            // An equal score does not help: later documents come after it.
            while first < lists.len() && below[first + 1] <= worst.0.score {
                first += 1;
            }
        }
    }
    Ok(best.into_sorted_vec().into_iter().map(|Worst(hit)| hit).collect())
}

/// The first document that one of the lists has next.
fn next_document<D: Ord + Clone>(lists: &[Weighted<D>]) -> Option<D> {
    lists.iter().filter_map(|list| list.found.list.documents.get(list.at)).min().cloned()
}

/// The score of a document; all lists move past it.
fn score_of<D: Ord>(lists: &mut [Weighted<D>], document: &D, scorer: &Scorer) -> f64 {
    let mut added: Vec<(usize, f64)> = Vec::with_capacity(lists.len());
    for list in lists {
        let of = &list.found.list;
        list.at = first_from(&of.documents, list.at, document);
        if of.documents.get(list.at) == Some(document) {
            let score = scorer.score(of.frequencies[list.at], of.lengths[list.at], list.found.idf);
            added.push((list.place, score * list.boost));
            list.at += 1;
        }
    }
    added.sort_unstable_by_key(|(place, _)| *place);
    added.into_iter().map(|(_, score)| score).sum()
}
