//! Formulas of scores.
//!
//! `tf` is how often a word is in a document, `df` the number of documents with the word, `N` the
//! number of all documents, `dl` the words of the document and `avg` the mean of that.
//!
//! ```text
//! idf     = ln(1 + (N - df + 0.5) / (df + 0.5))
//! tf      = tf
//! tf_idf  = tf * idf
//! bm25    = idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avg))     k1 = 1.2, b = 0.75
//! ```
//! `tf` and `tf_idf` are those of CozoDB, `bm25` is that of Robertson and Zaragoza, "The
//! Probabilistic Relevance Framework: BM25 and Beyond" (2009), as Lucene and tantivy compute it.

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Which formula scores a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreKind {
    /// How often the word is in the document.
    Tf,
    /// The same, weighted by how rare the word is.
    TfIdf,
    /// The same, with diminishing returns and the length of the document.
    Bm25,
}

impl ScoreKind {
    /// The kind with this name: `tf`, `tf_idf` or `bm25`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "tf" => Some(Self::Tf),
            "tf_idf" => Some(Self::TfIdf),
            "bm25" => Some(Self::Bm25),
            _ => None,
        }
    }

    /// Whether alternatives add up. For the others the best one counts, as in CozoDB.
    pub(crate) fn sums_alternatives(self) -> bool {
        self == Self::Bm25
    }
}

/// Counts over all documents of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents, those without words included.
    pub documents: u64,
    /// Words of all documents together.
    pub tokens: u64,
}

/// Scores the documents of one search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scorer {
    pub(crate) kind: ScoreKind,
    documents: f64,
    mean_length: f64,
}

impl Scorer {
    pub(crate) fn new(kind: ScoreKind, totals: Totals) -> Self {
        let documents = totals.documents as f64;
        let mean_length = (totals.tokens as f64 / documents.max(1.0)).max(f64::MIN_POSITIVE);
        Self { kind, documents, mean_length }
    }

    /// The weight of a word that `df` documents have.
    pub(crate) fn idf(&self, df: usize) -> f64 {
        let df = df as f64;
        // An index that is not in step with its totals must not make a logarithm of a negative.
        let rest = (self.documents - df).max(0.0);
        ((rest + 0.5) / (df + 0.5)).ln_1p()
    }

    /// The score of a document with `tf` matches and `length` words.
    pub(crate) fn score(&self, tf: u32, length: u32, idf: f64) -> f64 {
        let tf = f64::from(tf);
        match self.kind {
            ScoreKind::Tf => tf,
            ScoreKind::TfIdf => tf * idf,
            ScoreKind::Bm25 => {
                let share = f64::from(length) / self.mean_length;
                idf * tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * share))
            }
        }
    }

    /// No document has a higher `bm25` score, however often it has the word.
    pub(crate) fn score_max(&self, idf: f64) -> f64 {
        idf * (K1 + 1.0)
    }
}
