//! Finds the documents that match a word, a prefix, a phrase, or words near each other, from lists
//! of postings in document order. `evaluate.rs` calls it.

use crate::plan::Phrase;
use crate::postings::{PostingList, PostingSource};
use crate::score::Scorer;

/// A look-up of one document costs about as much as reading this many postings.
const LOOK_UP_POSTINGS: usize = 16;

/// Matches of a phrase in documents: a posting list of a word that nobody wrote.
pub(crate) struct Occurrences<D> {
    pub(crate) list: PostingList<D>,
    /// Weight of the phrase: the sum of those of its words, as in Lucene and tantivy.
    pub(crate) idf: f64,
}

/// The documents that matter, which ascend; `None` for all.
pub(crate) type Among<'d, D> = Option<&'d [D]>;

/// The weight of a phrase and the most documents that may have it, without reading postings; `None`
/// where only postings tell.
///
/// # Errors
/// Those of the source.
pub(crate) fn weight<D, S: PostingSource<D>>(
    phrase: &Phrase,
    scorer: &Scorer,
    source: &mut S,
) -> Result<Option<(f64, usize)>, S::Error> {
    if phrase.is_prefix {
        return Ok(None);
    }
    let (mut idf, mut least) = (0.0, usize::MAX);
    for (word, _) in &phrase.words {
        let count = source.count(word)?;
        idf += scorer.idf(count);
        least = least.min(count);
    }
    Ok(Some((idf, least)))
}

/// The documents with a phrase.
///
/// # Errors
/// Those of the source.
pub(crate) fn of_phrase<D: Ord + Clone, S: PostingSource<D>>(
    phrase: &Phrase,
    positions: bool,
    among: Among<'_, D>,
    scorer: &Scorer,
    source: &mut S,
) -> Result<Occurrences<D>, S::Error> {
    let positions = positions || phrase.words.len() > 1;
    let last = phrase.words.len() - 1;
    // Words by the number of their documents: the rarest is read first, the others only where it
    // is. A prefix counts as the most frequent.
    let mut words = Vec::with_capacity(phrase.words.len());
    for (place, (word, _)) in phrase.words.iter().enumerate() {
        let is_prefix = phrase.is_prefix && place == last;
        let count = if is_prefix { usize::MAX } else { source.count(word)? };
        words.push((count, place, word.as_str(), is_prefix));
    }
    words.sort_unstable();
    let mut lists: Vec<PostingList<D>> = vec![PostingList::default(); phrase.words.len()];
    let mut idfs = vec![0.0; phrase.words.len()];
    let mut candidates: Option<Vec<D>> = None;
    for (count, place, word, is_prefix) in words {
        let list = if is_prefix {
            united(source.words_with(word, positions)?)
        } else {
            match candidates.as_deref().or(among) {
                Some(known) if known.len().saturating_mul(LOOK_UP_POSTINGS) < count => {
                    source.word_among(word, known, positions)?
                }
                known => source.word(word, known, positions)?,
            }
        };
        idfs[place] = scorer.idf(if is_prefix { list.documents.len() } else { count });
        if last > 0 {
            candidates = Some(list.documents.clone());
        }
        lists[place] = list;
    }
    let idf = idfs.iter().sum();
    if last == 0 {
        return Ok(Occurrences { list: lists.remove(0), idf });
    }
    let offsets: Vec<u32> = phrase.words.iter().map(|(_, offset)| *offset).collect();
    let list = joined(&lists, source, |positions| in_sequence(positions, &offsets))?;
    Ok(Occurrences { list, idf })
}

/// The documents where phrases begin within `distance` positions.
///
/// # Errors
/// Those of the source.
pub(crate) fn of_near<D: Ord + Clone, S: PostingSource<D>>(
    phrases: &[Phrase],
    distance: u32,
    among: Among<'_, D>,
    scorer: &Scorer,
    source: &mut S,
) -> Result<Occurrences<D>, S::Error> {
    let (mut lists, mut idf) = (Vec::<PostingList<D>>::with_capacity(phrases.len()), 0.0);
    for phrase in phrases {
        let before = lists.iter().min_by_key(|list| list.documents.len());
        let among = before.map_or(among, |list| Some(&list.documents));
        let found = of_phrase(phrase, true, among, scorer, source)?;
        idf += found.idf * phrase.boost;
        lists.push(found.list);
    }
    let list = joined(&lists, source, |positions| within(positions, distance))?;
    Ok(Occurrences { list, idf })
}

/// The union of posting lists.
fn united<D: Ord + Clone>(mut lists: Vec<PostingList<D>>) -> PostingList<D> {
    if lists.len() < 2 {
        return lists.pop().unwrap_or_default();
    }
    let places = lists.iter().enumerate();
    let places = places.flat_map(|(list, of)| (0..of.documents.len()).map(move |at| (list, at)));
    let mut places: Vec<(usize, usize)> = places.collect();
    places.sort_unstable_by(|&(a, i), &(b, j)| lists[a].documents[i].cmp(&lists[b].documents[j]));
    let is_same = |a: &(usize, usize), b: &(usize, usize)| {
        lists[a.0].documents[a.1] == lists[b.0].documents[b.1]
    };
    let (mut out, mut positions) = (PostingList::default(), Vec::new());
    for same in places.chunk_by(is_same) {
        let (list, at) = same[0];
        out.documents.push(lists[list].documents[at].clone());
        out.lengths.push(lists[list].lengths[at]);
        let frequencies = same.iter().map(|&(list, at)| lists[list].frequencies[at]);
        out.frequencies.push(frequencies.fold(0, u32::saturating_add));
        positions.clear();
        same.iter().for_each(|&(list, at)| positions.extend(lists[list].positions.get(at)));
        positions.sort_unstable();
        // Two words at one position, as of `NGram`, are one place where the prefix is.
        positions.dedup();
        out.positions.push(&positions);
    }
    out
}

/// The documents that all lists have, with the positions that `matches` finds in them.
fn joined<D: Ord + Clone, S: PostingSource<D>>(
    lists: &[PostingList<D>],
    source: &mut S,
    matches: impl Fn(&[&[u32]]) -> Vec<u32>,
) -> Result<PostingList<D>, S::Error> {
    let mut out = PostingList::default();
    let Some(shortest) = lists.iter().min_by_key(|list| list.documents.len()) else {
        return Ok(out);
    };
    let mut at = vec![0; lists.len()];
    for (number, document) in shortest.documents.iter().enumerate() {
        if number % 1024 == 1023 {
            source.check()?;
        }
        let mut positions = Vec::with_capacity(lists.len());
        for (list, at) in lists.iter().zip(&mut at) {
            *at = first_from(&list.documents, *at, |known| known < document);
            if list.documents.get(*at) != Some(document) {
                break;
            }
            positions.push(list.positions.get(*at));
        }
        if positions.len() < lists.len() {
            continue;
        }
        let found = matches(&positions);
        if !found.is_empty() {
            out.documents.push(document.clone());
            out.frequencies.push(u32::try_from(found.len()).unwrap_or(u32::MAX));
            out.lengths.push(lists[0].lengths[at[0]]);
            out.positions.push(&found);
        }
    }
    Ok(out)
}

/// The first place from `from` on whose item is not before the sought one, by galloping
/// search.
pub fn first_from<T>(items: &[T], from: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while items.get(low + step).is_some_and(&is_before) {
        low += step;
        step *= 2;
    }
    let high = items.len().min(low + step + 1);
    let low = low.min(high);
    low + items[low..high].partition_point(is_before)
}

/// Where all words are at their offsets: positions of the first word.
fn in_sequence(positions: &[&[u32]], offsets: &[u32]) -> Vec<u32> {
    let is_there = |first: u32| {
        positions.iter().zip(offsets).skip(1).all(|(positions, &offset)| {
            first.checked_add(offset).is_some_and(|at| positions.binary_search(&at).is_ok())
        })
    };
    positions[0].iter().copied().filter(|&first| is_there(first)).collect()
}

/// Positions of the first phrase in spans of `distance` positions that have all phrases.
fn within(positions: &[&[u32]], distance: u32) -> Vec<u32> {
    let places = positions.iter().enumerate();
    let places = places.flat_map(|(phrase, of)| of.iter().map(move |&position| (position, phrase)));
    let mut places: Vec<(u32, usize)> = places.collect();
    places.sort_unstable();
    // A window from each place on: which phrases it has, and how many.
    let (mut counts, mut has, mut end) = (vec![0_usize; positions.len()], 0, 0);
    let mut found = Vec::new();
    let mut is_after: Option<u32> = None;
    for start in 0..places.len() {
        let from = places[start].0;
        while end < places.len() && places[end].0 - from <= distance {
            has += usize::from(counts[places[end].1] == 0);
            counts[places[end].1] += 1;
            end += 1;
        }
        if has == positions.len() {
            let inside = places[start..end]
                .iter()
                .filter(|(at, phrase)| *phrase == 0 && is_after.is_none_or(|last| *at > last));
            found.extend(inside.map(|(at, _)| *at));
            is_after = places[start..end].last().map(|(at, _)| *at);
        }
        counts[places[start].1] -= 1;
        has -= usize::from(counts[places[start].1] == 0);
    }
    found
}
