//! The parameters and the outputs of search atoms.

/// How a search index finds rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMethod {
    /// Words of texts.
    FullText,
    /// Sets of words that are nearly equal.
    NearDuplicates,
    /// Nearest neighbors of vectors.
    Vector,
}

/// A parameter of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchInput {
    /// `query`: what to find.
    Query,
    /// `k`: the most rows to find.
    K,
    /// `score_kind`: the formula of scores.
    ScoreKind,
    /// `marks`: the strings before and after each match.
    Marks,
    /// `snippet_words`: the most words of a snippet.
    SnippetWords,
    /// `ef`: candidates of a search for neighbors.
    Ef,
    /// `radius`: the greatest distance.
    Radius,
}

/// An output of a search, computed for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchOutput {
    /// `bind_score`: how well the row matches. Of near duplicates `bind_similarity`: an estimate.
    Score,
    /// `bind_snippet`: the part of the text with the most matches, marked.
    Snippet,
    /// `bind_highlight`: the text with its matches marked.
    Highlight,
    /// `bind_distance`: the distance from the query.
    Distance,
    /// `bind_vector`: the found vector.
    Vector,
    /// `bind_field`: the column that has the vector.
    Field,
    /// `bind_field_idx`: the place of the vector in a list; null without a list.
    FieldIndex,
}

/// The meaning of a parameter of a search atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchParameter {
    /// An expression that is an input.
    Input(SearchInput),
    /// A variable that is bound to an output.
    Output(SearchOutput),
    /// A condition on the rows.
    Filter,
}

impl SearchMethod {
    /// The parameters of its atoms, by name.
    pub(crate) fn parameters(self) -> &'static [(&'static str, SearchParameter)] {
        match self {
            Self::FullText => &[
                ("query", SearchParameter::Input(SearchInput::Query)),
                ("k", SearchParameter::Input(SearchInput::K)),
                ("score_kind", SearchParameter::Input(SearchInput::ScoreKind)),
                ("bind_score", SearchParameter::Output(SearchOutput::Score)),
                ("bind_snippet", SearchParameter::Output(SearchOutput::Snippet)),
                ("bind_highlight", SearchParameter::Output(SearchOutput::Highlight)),
                ("marks", SearchParameter::Input(SearchInput::Marks)),
                ("snippet_words", SearchParameter::Input(SearchInput::SnippetWords)),
                ("filter", SearchParameter::Filter),
            ],
            Self::NearDuplicates => &[
                ("query", SearchParameter::Input(SearchInput::Query)),
                ("k", SearchParameter::Input(SearchInput::K)),
                ("bind_similarity", SearchParameter::Output(SearchOutput::Score)),
                ("filter", SearchParameter::Filter),
            ],
            Self::Vector => &[
                ("query", SearchParameter::Input(SearchInput::Query)),
                ("k", SearchParameter::Input(SearchInput::K)),
                ("ef", SearchParameter::Input(SearchInput::Ef)),
                ("radius", SearchParameter::Input(SearchInput::Radius)),
                ("bind_distance", SearchParameter::Output(SearchOutput::Distance)),
                ("bind_vector", SearchParameter::Output(SearchOutput::Vector)),
                ("bind_field", SearchParameter::Output(SearchOutput::Field)),
                ("bind_field_idx", SearchParameter::Output(SearchOutput::FieldIndex)),
                ("filter", SearchParameter::Filter),
            ],
        }
    }

    /// The inputs that every atom must have.
    pub(crate) fn needed(self) -> &'static [(&'static str, SearchInput)] {
        match self {
            Self::FullText | Self::Vector => {
                &[("query", SearchInput::Query), ("k", SearchInput::K)]
            }
            Self::NearDuplicates => &[("query", SearchInput::Query)],
        }
    }
}
