//! The postings of a word: the documents that contain it, and the trait through which the caller
//! returns them. `exec/src/storage/text_index.rs` implements it over a relation.

use crate::positions::PositionLists;

/// Documents with a word, in ascending order, with the frequency, length and positions of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostingList<D> {
    /// The documents, strictly ascending.
    pub documents: Vec<D>,
    /// How often each has the word, at least once.
    pub frequencies: Vec<u32>,
    /// Number of words of each document.
    pub lengths: Vec<u32>,
    /// Positions of the word in each document, ascending; empty where they are not asked for.
    pub positions: PositionLists,
}

impl<D> Default for PostingList<D> {
    fn default() -> Self {
        let (documents, positions) = (Vec::new(), PositionLists::default());
        Self { documents, frequencies: Vec::new(), lengths: Vec::new(), positions }
    }
}

/// Where postings come from.
pub trait PostingSource<D> {
    /// Why postings cannot be read.
    type Error;

    /// Number of documents that have a word.
    ///
    /// # Errors
    /// Whatever the source reports.
    fn count(&mut self, word: &str) -> Result<usize, Self::Error>;

    /// The documents that have a word, if `among` is given only those of it, which ascend. All
    /// postings of the word are read.
    ///
    /// # Errors
    /// As [`PostingSource::count`].
    fn word(
        &mut self,
        word: &str,
        among: Option<&[D]>,
        positions: bool,
    ) -> Result<PostingList<D>, Self::Error>;

    /// The same as [`PostingSource::word`] with `documents`, but each of them is looked up: for few
    /// documents and a word that many have.
    ///
    /// # Errors
    /// As [`PostingSource::count`].
    fn word_among(
        &mut self,
        word: &str,
        documents: &[D],
        positions: bool,
    ) -> Result<PostingList<D>, Self::Error>;

    /// The documents of each word that begins with `prefix`.
    ///
    /// # Errors
    /// As [`PostingSource::count`].
    fn words_with(
        &mut self,
        prefix: &str,
        positions: bool,
    ) -> Result<Vec<PostingList<D>>, Self::Error>;

    /// Called once in a while.
    ///
    /// # Errors
    /// The search is to be stopped.
    fn check(&mut self) -> Result<(), Self::Error>;
}
