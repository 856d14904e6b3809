//! Searches compared with counting words in every document.

use crate::query::Words;
use crate::{
    Analyzer, Component, Plan, PostingList, PostingSource, Query, ScoreKind, Totals,
    decode_positions, encode_positions, parse, search,
};
use model::Value;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;

fn component(name: &str) -> Component {
    Component::new(name, Vec::new())
}

fn text(text: &str) -> Value {
    Value::Str(text.to_owned())
}

fn simple(filters: &[Component]) -> Analyzer {
    Analyzer::new(&component("Simple"), filters).expect("valid settings")
}

/// Texts as an index in memory.
struct Index {
    analyzer: Analyzer,
    documents: Vec<Vec<(String, u32)>>,
    words: BTreeMap<String, PostingList<u32>>,
    totals: Totals,
}

impl Index {
    fn new(texts: &[String], analyzer: Analyzer) -> Self {
        let (mut documents, mut words) = (Vec::new(), BTreeMap::<String, PostingList<u32>>::new());
        let mut totals = Totals::default();
        for (number, text) in texts.iter().enumerate() {
            let tokens = analyzer.tokens(text);
            let length = tokens.len() as u32;
            let mut of_word = BTreeMap::<String, Vec<u32>>::new();
            for token in &tokens {
                of_word.entry(token.text.clone()).or_default().push(token.position);
            }
            for (word, positions) in of_word {
                let list = words.entry(word).or_default();
                list.documents.push(number as u32);
                list.frequencies.push(positions.len() as u32);
                list.lengths.push(length);
                list.positions.push(&positions);
            }
            totals.documents += 1;
            totals.tokens += u64::from(length);
            documents.push(tokens.into_iter().map(|token| (token.text, token.position)).collect());
        }
        Self { analyzer, documents, words, totals }
    }

    fn search(&mut self, query: &str, k: usize, kind: ScoreKind) -> Vec<(u32, f64)> {
        let plan = Plan::new(&parse(query).expect("a valid query"), &self.analyzer);
        let totals = self.totals;
        let Ok(hits) = search(&plan, k, kind, totals, self);
        hits.into_iter().map(|hit| (hit.document, hit.score)).collect()
    }

    /// The same by looking at each document.
    fn naive(&self, query: &str, k: usize, kind: ScoreKind) -> Vec<(u32, f64)> {
        let query = parse(query).expect("a valid query");
        let all = (0..self.documents.len())
            .filter_map(|document| Some((document as u32, self.score(&query, document, kind)?)));
        let mut all: Vec<(u32, f64)> = all.collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
        all
    }

    /// Positions where the words of a query are in a document.
    fn places(&self, words: &Words, document: usize) -> Option<Vec<u32>> {
        let tokens = self.analyzer.tokens(&words.text);
        let first = tokens.first()?.position;
        let matches = |at: u32| {
            tokens.iter().enumerate().all(|(number, token)| {
                let is_prefix = words.is_prefix && number + 1 == tokens.len();
                self.documents[document].iter().any(|(word, position)| {
                    *position == at + token.position - first
                        && (*word == token.text || is_prefix && word.starts_with(&token.text))
                })
            })
        };
        let mut positions: Vec<u32> = self.documents[document].iter().map(|(_, at)| *at).collect();
        positions.dedup();
        Some(positions.into_iter().filter(|&at| matches(at)).collect())
    }

    fn idf(&self, words: &Words) -> f64 {
        let tokens = self.analyzer.tokens(&words.text);
        let of_token = |(number, token): (usize, &crate::Token)| {
            let is_prefix = words.is_prefix && number + 1 == tokens.len();
            let has = |document: &&Vec<(String, u32)>| {
                document.iter().any(|(word, _)| {
                    *word == token.text || is_prefix && word.starts_with(&token.text)
                })
            };
            let df = self.documents.iter().filter(has).count() as f64;
            let documents = self.documents.len() as f64;
            (1.0 + (documents - df + 0.5) / (df + 0.5)).ln()
        };
        tokens.iter().enumerate().map(of_token).sum()
    }

    fn formula(&self, tf: usize, document: usize, idf: f64, kind: ScoreKind) -> f64 {
        let tf = tf as f64;
        match kind {
            ScoreKind::Tf => tf,
            ScoreKind::TfIdf => tf * idf,
            ScoreKind::Bm25 => {
                let all: usize = self.documents.iter().map(Vec::len).sum();
                let mean = all as f64 / self.documents.len() as f64;
                let share = self.documents[document].len() as f64 / mean;
                idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * share))
            }
        }
    }

    fn is_empty(&self, query: &Query) -> bool {
        match query {
            Query::Words(words) => self.analyzer.tokens(&words.text).is_empty(),
            Query::Near { items, .. } => {
                items.iter().all(|words| self.analyzer.tokens(&words.text).is_empty())
            }
            Query::And(parts) | Query::Or(parts) => parts.iter().all(|part| self.is_empty(part)),
            Query::Not(yes, _) => self.is_empty(yes),
        }
    }

    fn score(&self, query: &Query, document: usize, kind: ScoreKind) -> Option<f64> {
        let of = |part: &Query| self.score(part, document, kind);
        match query {
            Query::Words(words) => {
                let tf = self.places(words, document)?.len();
                let score = self.formula(tf, document, self.idf(words), kind);
                (tf > 0).then_some(score * words.boost)
            }
            Query::Near { items, distance } => self.near(items, *distance, document, kind),
            Query::And(parts) => {
                let mut parts = parts.iter().filter(|part| !self.is_empty(part)).peekable();
                parts.peek()?;
                parts.try_fold(0.0, |sum, part| Some(sum + of(part)?))
            }
            Query::Or(parts) => parts.iter().filter_map(of).reduce(|a, b| match kind {
                ScoreKind::Bm25 => a + b,
                _ => a.max(b),
            }),
            Query::Not(yes, no) => of(yes).filter(|_| of(no).is_none()),
        }
    }

    fn near(
        &self,
        items: &[Words],
        distance: u32,
        document: usize,
        kind: ScoreKind,
    ) -> Option<f64> {
        let items = items.iter().filter(|words| !self.analyzer.tokens(&words.text).is_empty());
        let items: Vec<&Words> = items.collect();
        let first = items.first()?;
        let all = items.iter().filter_map(|words| self.places(words, document));
        let all: Vec<Vec<u32>> = all.collect();
        let in_span = |start: u32| {
            let is_in = |&at: &u32| (start..=start.saturating_add(distance)).contains(&at);
            all.iter().all(|places| places.iter().any(is_in))
        };
        let tf = all[0].iter().filter(|&&at| (at.saturating_sub(distance)..=at).any(in_span));
        let tf = if items.len() == 1 { all[0].len() } else { tf.count() };
        let (idf, boost) = match items.len() {
            1 => (self.idf(first), first.boost),
            _ => (
                items.iter().map(|words| self.idf(words) * words.boost).sum(),
                match kind {
                    ScoreKind::Tf => items.iter().map(|words| words.boost).sum(),
                    _ => 1.0,
                },
            ),
        };
        (tf > 0).then(|| self.formula(tf, document, idf, kind) * boost)
    }
}

impl PostingSource<u32> for Index {
    type Error = Infallible;

    fn count(&mut self, word: &str) -> Result<usize, Infallible> {
        Ok(self.words.get(word).map_or(0, |list| list.documents.len()))
    }

    fn word_among(
        &mut self,
        word: &str,
        documents: &[u32],
        _: bool,
    ) -> Result<PostingList<u32>, Infallible> {
        assert!(documents.is_sorted(), "{documents:?}");
        let (mut list, all) = (PostingList::default(), self.words.get(word));
        for (at, document) in all.into_iter().flat_map(|all| all.documents.iter().enumerate()) {
            if let (true, Some(all)) = (documents.contains(document), all) {
                list.documents.push(*document);
                list.frequencies.push(all.frequencies[at]);
                list.lengths.push(all.lengths[at]);
                list.positions.push(all.positions.get(at));
            }
        }
        Ok(list)
    }

    fn word(
        &mut self,
        word: &str,
        among: Option<&[u32]>,
        positions: bool,
    ) -> Result<PostingList<u32>, Infallible> {
        match among {
            Some(documents) => self.word_among(word, documents, positions),
            None => Ok(self.words.get(word).cloned().unwrap_or_default()),
        }
    }

    fn words_with(&mut self, prefix: &str, _: bool) -> Result<Vec<PostingList<u32>>, Infallible> {
        let from = self.words.range(prefix.to_owned()..);
        let all = from.take_while(|(word, _)| word.starts_with(prefix));
        Ok(all.map(|(_, list)| list.clone()).collect())
    }

    fn check(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

fn words_of(analyzer: &Analyzer, text: &str) -> Vec<String> {
    analyzer.tokens(text).into_iter().map(|token| token.text).collect()
}

#[track_caller]
fn refuses(query: &str, want: &str) {
    assert_eq!(parse(query).expect_err(query).to_string(), want);
}

#[test]
fn tokenizers_split_as_they_say() {
    let words = |name: &str, args: Vec<Value>, text: &str| {
        words_of(&Analyzer::new(&Component::new(name, args), &[]).unwrap(), text)
    };
    assert_eq!(words("Simple", vec![], "don't stop-ärger 2x"), ["don", "t", "stop", "ärger", "2x"]);
    assert_eq!(words("Whitespace", vec![], " don't \n stop-x "), ["don't", "stop-x"]);
    assert_eq!(words("Raw", vec![], "All of it."), ["All of it."]);
    assert_eq!(words("Raw", vec![], ""), Vec::<String>::new());
    let two = vec![Value::Int(1), Value::Int(2)];
    assert_eq!(words("NGram", two.clone(), "aéb"), ["a", "aé", "é", "éb", "b"]);
    let prefix = [two, vec![Value::Bool(true)]].concat();
    assert_eq!(words("NGram", prefix, "aéb"), ["a", "aé"]);
}

#[test]
fn filters_change_words_in_their_order() {
    let list = |words: &[&str]| Value::List(words.iter().map(|word| text(word)).collect());
    let filters = |all: &[(&str, Vec<Value>)], of: &str| {
        let all = all.iter().map(|(name, args)| Component::new(name, args.clone()));
        words_of(&simple(&all.collect::<Vec<_>>()), of)
    };
    assert_eq!(
        filters(&[("AsciiFolding", vec![])], "Ça œuvre Straße Łódź"),
        ["Ca", "oeuvre", "Strasse", "Lodz"]
    );
    let english = [("lowercase", vec![]), ("Stemmer", vec![text("English")])];
    assert_eq!(filters(&english, "Running Foxes"), ["run", "fox"]);
    let stops = [("lowercase", vec![]), ("Stopwords", vec![text("en")])];
    assert_eq!(filters(&stops, "The fox and THE dog"), ["fox", "dog"]);
    assert_eq!(filters(&[("Stopwords", vec![list(&["a"])])], "a b A"), ["b", "A"]);
    assert_eq!(filters(&[("RemoveLong", vec![Value::Int(4)])], "one four"), ["one"]);
    let parts = [("SplitCompoundWords", vec![list(&["dampf", "schiff", "fahrt"])])];
    assert_eq!(
        filters(&parts, "dampfschifffahrt dampfer"),
        ["dampf", "schiff", "fahrt", "dampfer"]
    );
    let whole = Analyzer::new(&component("whitespace"), &[component("AlphaNumOnly")]).unwrap();
    assert_eq!(words_of(&whole, "a-b c"), ["c"]);
    let positions = simple(&[Component::new("Stopwords", vec![text("en")])]).tokens("dog of war");
    assert_eq!(positions.iter().map(|token| token.position).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn settings_that_nobody_knows_are_refused_with_what_there_is() {
    let error = |tokenizer: Component, filters: &[Component]| {
        Analyzer::new(&tokenizer, filters).expect_err("not valid").to_string()
    };
    assert_eq!(
        error(component("Simpel"), &[]),
        "there is no tokenizer `simpel`\nhint: tokenizers are Simple, Whitespace, Raw and NGram"
    );
    let stemmer = Component::new("Stemmer", vec![text("klingon")]);
    assert!(error(component("Raw"), &[stemmer]).starts_with("there is no stemmer for `klingon`"));
    let ngram = Component::new("NGram", vec![Value::Int(3), Value::Int(2)]);
    assert!(error(ngram, &[]).starts_with("`NGram` cannot make parts of 3 to 2 characters"));
    assert!(error(component("Raw"), &[component("Stopwords")]).contains("needs a list of words"));
    let more = Component::new("Lowercase", vec![Value::Int(1)]);
    assert!(error(component("Raw"), &[more]).contains("takes 0 arguments, not 1"));
}

#[test]
fn queries_bind_as_in_cozodb() {
    let same = |one: &str, other: &str| assert_eq!(parse(one), parse(other), "{one}");
    same("a b OR c", "a (b OR c)");
    same("a OR b AND c", "(a OR b) AND c");
    same("a AND b NOT c", "(a AND b) NOT c");
    same("a NOT b c", "(a NOT b) c");
    same("a, b; c", "a OR b OR c");
    same("NEAR(a b)", "NEAR/10 (a b)");
    same("'it is'", "\"it is\"");
    let words = Words { text: "a \"b".to_owned(), is_prefix: true, boost: 2.5 };
    assert_eq!(parse(r#" "a \"b"*^2.5 "#), Ok(Query::Words(words)));
    assert_eq!(parse(" "), Ok(Query::And(Vec::new())));
    assert!(parse("don't state-of-the-art NEAR").is_ok());
}

#[test]
fn mistakes_in_queries_are_told_with_their_place() {
    refuses(
        "a AND NOT b",
        "`AND NOT` is no operator, at byte 6 of the query\nhint: write `a NOT b`",
    );
    refuses(
        "NOT b",
        "`NOT` needs something before it, at byte 0 of the query\n\
         hint: quote it to search for it: \"NOT\"",
    );
    refuses(
        "a OR",
        "the query ends where a word should be, at byte 4 of the query\n\
         hint: add what to search for",
    );
    refuses("\"a b", "\" is not closed, at byte 0 of the query\nhint: add \" after the phrase");
    refuses("fox^x", "`^` needs a number, at byte 3 of the query\nhint: write fox^2 or fox^0.5");
    refuses(
        "NEAR/x(a b)",
        "`NEAR/x` has no number of positions, at byte 0 of the query\n\
         hint: write NEAR/5(one other)",
    );
    assert!(parse("(a").is_err() && parse("a)").is_err() && parse("*").is_err());
    assert!(parse(&"(".repeat(100_000)).is_err(), "nesting is bounded");
}

/// They would overflow the stack if each were a level.
#[test]
fn a_query_of_very_many_nots_finds_what_is_left() {
    let mut index = Index::new(&["a b", "a", "b", "a c"].map(str::to_owned), simple(&[]));
    let query = format!("a{}", " NOT b NOT c".repeat(100_000));
    assert_eq!(index.search(&query, 9, ScoreKind::Tf), [(1, 1.0)]);
}

#[test]
fn phrases_prefixes_and_neighbours_match_what_they_say() {
    let texts = ["the quick brown fox", "brown quick", "a fox that is brown", "foxes", ""];
    let texts = texts.map(str::to_owned);
    let mut index = Index::new(&texts, simple(&[]));
    let mut found = |query: &str| {
        let mut found: Vec<u32> =
            index.search(query, 9, ScoreKind::Tf).into_iter().map(|(at, _)| at).collect();
        found.sort_unstable();
        found
    };
    assert_eq!(found("\"quick brown\""), [0]);
    assert_eq!(found("fox*"), [0, 2, 3]);
    assert_eq!(found("\"brown fo\"*"), [0]);
    assert_eq!(found("NEAR/1(brown fox)"), [0]);
    assert_eq!(found("NEAR/3(brown fox)"), [0, 2]);
    assert_eq!(found("brown NOT fox"), [1]);
    assert_eq!(found("quick OR foxes"), [0, 1, 3]);
    assert_eq!(found("quick foxes"), Vec::<u32>::new());
    assert_eq!(found("absent"), Vec::<u32>::new());
    assert_eq!(found(""), Vec::<u32>::new());
}

#[test]
fn scores_are_those_of_cozodb_and_of_lucene() {
    let texts = ["fox fox dog", "fox", "cat cat cat cat", ""].map(str::to_owned);
    let mut index = Index::new(&texts, simple(&[]));
    let idf = (1.0_f64 + 2.5 / 2.5).ln();
    assert_eq!(index.search("fox", 9, ScoreKind::Tf), [(0, 2.0), (1, 1.0)]);
    assert_eq!(index.search("fox^3", 1, ScoreKind::TfIdf), [(0, 2.0 * idf * 3.0)]);
    let bm25 = |tf: f64, length: f64| idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / 2.0));
    let found = index.search("fox", 9, ScoreKind::Bm25);
    for ((document, score), want) in
        found.into_iter().zip([(1, bm25(1.0, 1.0)), (0, bm25(2.0, 3.0))])
    {
        assert_eq!(document, want.0);
        assert!((score - want.1).abs() < 1e-12, "{score} is not {}", want.1);
    }
}

fn any_query() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[abc]{1,2}",
        1 => "[abc]\\*",
        1 => "\"[abc]{1,2} [abc]{1,2}\"",
        1 => "\"[abc] [abc]\"\\*",
        1 => "[abc]\\^(2|0\\.5)",
        1 => "NEAR/[0-4]\\([abc] [abc]{1,2}\\)",
        1 => Just("stop".to_owned()),
    ];
    word.prop_recursive(3, 8, 3, |inner| {
        let join = prop_oneof![Just(" "), Just(" OR "), Just(" AND "), Just(" NOT ")];
        (prop::collection::vec(inner, 2..4), join)
            .prop_map(|(parts, join)| format!("({})", parts.join(join)))
    })
}

proptest! {
    /// Every search finds what looking at all documents finds, with the same scores.
    #[test]
    fn a_search_equals_counting_in_all_documents(
        texts in prop::collection::vec("([abc]{1,2} |stop ){0,12}", 1..12),
        query in any_query(),
        k in 1_usize..9,
    ) {
        let stops = Component::new("Stopwords", vec![Value::List(vec![text("stop")])]);
        let mut index = Index::new(&texts, simple(&[stops]));
        for kind in [ScoreKind::Tf, ScoreKind::TfIdf, ScoreKind::Bm25] {
            let (found, want) = (index.search(&query, k, kind), index.naive(&query, k, kind));
            prop_assert_eq!(found.len(), want.len(), "{} {:?}", query, kind);
            for (found, want) in found.iter().zip(&want) {
                // Sums in another order differ in the last bits, and then so may the order.
                prop_assert!((found.1 - want.1).abs() < 1e-9, "{:?} {:?} {}", found, want, query);
            }
        }
    }

    /// The best of any words are the first of all matches, bit for bit.
    #[test]
    fn the_best_of_any_are_the_first_of_all(
        texts in prop::collection::vec("([a-e] ){0,9}", 1..40),
        words in prop::collection::vec("[a-e](\\^[0-9])?", 2..5),
        // Many documents with a word make it worth to look only some of them up.
        times in 1_usize..30,
        rare in prop::collection::vec("([a-f] ){0,9}", 0..3),
        k in 1_usize..6,
    ) {
        let texts = [vec![texts; times].concat(), rare].concat();
        let mut index = Index::new(&texts, simple(&[]));
        let query = format!("{} OR f", words.join(" OR "));
        let all = index.search(&query, 5000, ScoreKind::Bm25);
        let best = index.search(&query, k, ScoreKind::Bm25);
        prop_assert_eq!(&all[..k.min(all.len())], &best[..]);
        let query = format!("f AND {} NOT a", words.join(" AND "));
        let (found, want) = (
            index.search(&query, k, ScoreKind::Bm25),
            index.naive(&query, k, ScoreKind::Bm25),
        );
        prop_assert_eq!(found.len(), want.len());
    }

    #[test]
    fn no_text_is_too_odd_to_be_a_query(text in any::<String>(), marks in "[()\"'*^,; A-Z/0-9.]{0,40}") {
        let analyzer = simple(&[component("Lowercase")]);
        for text in [text, marks] {
            if let Ok(query) = parse(&text) {
                let _ = Plan::new(&query, &analyzer);
            }
        }
    }

    #[test]
    fn no_text_is_too_odd_to_be_indexed(content in any::<String>(), letters in "[\\p{L}\\p{M}']{0,20}") {
        let languages = "arabic danish dutch english finnish french german greek hungarian italian \
                         norwegian portuguese romanian russian spanish swedish tamil turkish";
        for language in languages.split_whitespace() {
            let filters = [
                component("Lowercase"),
                component("AsciiFolding"),
                Component::new("Stemmer", vec![text(language)]),
            ];
            for all in [&filters[..], &filters[2..]] {
                for content in [&content, &letters] {
                    for tokenizer in ["simple", "whitespace", "raw"] {
                        let analyzer = Analyzer::new(&component(tokenizer), all).unwrap();
                        for token in analyzer.tokens(content) {
                            prop_assert!(content.get(token.start..token.end).is_some());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn positions_come_back(mut positions in prop::collection::vec(any::<u32>(), 0..40)) {
        positions.sort_unstable();
        prop_assert_eq!(decode_positions(&encode_positions(&positions)), Some(positions));
    }

    #[test]
    fn any_bytes_are_positions_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = decode_positions(&bytes);
    }
}
