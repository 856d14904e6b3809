//! Filters: change or remove words after the tokenizer has split a text. Positions stay, so phrases
//! match across removed words.

use crate::component::{Component, SettingError};
use crate::stop_words;
use crate::token::{TOKEN_BYTES_MAX, Token};
use hashbrown::HashSet;
use model::Value;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A step after the tokenizer.
pub(crate) enum Filter {
    /// Lower case.
    Lowercase,
    /// Removes words with characters other than letters and digits.
    AlphaNumOnly,
    /// Letters without accents and ligatures.
    AsciiFolding,
    /// The stem of each word, by Snowball's rules.
    Stemmer(Stemmer),
    /// Removes these words.
    Stopwords(HashSet<String>),
    /// Removes words of this many bytes or more.
    RemoveLong(usize),
    /// Replaces a word that is made of these by its parts.
    SplitCompoundWords(HashSet<String>),
}

impl Filter {
    /// The filter that a setting names.
    ///
    /// # Errors
    /// There is none with this name, or its arguments are not valid.
    pub(crate) fn of(component: &Component) -> Result<Self, SettingError> {
        let plain = |filter| component.args_max(0).map(|()| filter);
        match component.name.as_str() {
            "lowercase" => plain(Self::Lowercase),
            "alphanumonly" => plain(Self::AlphaNumOnly),
            "asciifolding" => plain(Self::AsciiFolding),
            "stemmer" => stemmer(component),
            "stopwords" => stop_filter(component),
            "removelong" => {
                component.args_max(1)?;
                let least = component.count(0, "the length")?;
                least.map(Self::RemoveLong).ok_or_else(|| {
                    SettingError::new("`RemoveLong` needs a length", "write RemoveLong(40)")
                })
            }
            "splitcompoundwords" => {
                component.args_max(1)?;
                words_of(component).map(Self::SplitCompoundWords)
            }
            other => Err(SettingError::new(
                format!("there is no filter `{other}`"),
                "filters are Lowercase, AlphaNumOnly, AsciiFolding, Stemmer, Stopwords, \
                 RemoveLong and SplitCompoundWords",
            )),
        }
    }

    /// Changes the words of a text.
    pub(crate) fn apply(&self, mut tokens: Vec<Token>) -> Vec<Token> {
        let mut change = |change: &dyn Fn(&str) -> String| {
            tokens.iter_mut().for_each(|token| token.text = change(&token.text));
        };
        match self {
            Self::Lowercase => change(&|text| text.to_lowercase()),
            Self::AsciiFolding => change(&folded),
            Self::Stemmer(stemmer) => change(&|text| stemmer.stem(text).into_owned()),
            Self::AlphaNumOnly => {
                tokens.retain(|token| token.text.chars().all(char::is_alphanumeric));
            }
            Self::Stopwords(words) => tokens.retain(|token| !words.contains(&token.text)),
            Self::RemoveLong(least) => tokens.retain(|token| token.text.len() < *least),
            Self::SplitCompoundWords(words) => {
                return tokens.into_iter().flat_map(|token| split(token, words)).collect();
            }
        }
        tokens
    }
}

fn stemmer(component: &Component) -> Result<Filter, SettingError> {
    component.args_max(1)?;
    let name = match component.args.first() {
        Some(Value::Str(name)) => name.to_lowercase(),
        _ => {
            let what = "`Stemmer` needs the name of a language";
            return Err(SettingError::new(what, "write Stemmer('english')"));
        }
    };
    let known = ALGORITHMS.iter().find(|(language, _)| *language == name);
    let algorithm = known.map(|(_, algorithm)| algorithm()).ok_or_else(|| {
        let all: Vec<&str> = ALGORITHMS.iter().map(|(language, _)| *language).collect();
        let hint = format!("there are {}", all.join(", "));
        SettingError::new(format!("there is no stemmer for `{name}`"), hint)
    })?;
    Ok(Filter::Stemmer(Stemmer::create(algorithm)))
}

/// Names of languages with a function each, because [`Algorithm`] cannot be copied.
type Languages = [(&'static str, fn() -> Algorithm); 18];

/// The languages with a stemmer.
const ALGORITHMS: Languages = [
    ("arabic", || Algorithm::Arabic),
    ("danish", || Algorithm::Danish),
    ("dutch", || Algorithm::Dutch),
    ("english", || Algorithm::English),
    ("finnish", || Algorithm::Finnish),
    ("french", || Algorithm::French),
    ("german", || Algorithm::German),
    ("greek", || Algorithm::Greek),
    ("hungarian", || Algorithm::Hungarian),
    ("italian", || Algorithm::Italian),
    ("norwegian", || Algorithm::Norwegian),
    ("portuguese", || Algorithm::Portuguese),
    ("romanian", || Algorithm::Romanian),
    ("russian", || Algorithm::Russian),
    ("spanish", || Algorithm::Spanish),
    ("swedish", || Algorithm::Swedish),
    ("tamil", || Algorithm::Tamil),
    ("turkish", || Algorithm::Turkish),
];

fn stop_filter(component: &Component) -> Result<Filter, SettingError> {
    component.args_max(1)?;
    let Some(Value::Str(language)) = component.args.first() else {
        return words_of(component).map(Filter::Stopwords);
    };
    let words = stop_words::of_language(language).ok_or_else(|| {
        let hint = format!("there are {}; or list the words", stop_words::languages());
        SettingError::new(format!("there are no stop words of `{language}`"), hint)
    })?;
    Ok(Filter::Stopwords(words.map(str::to_owned).collect()))
}

/// The argument as a list of words.
fn words_of(component: &Component) -> Result<HashSet<String>, SettingError> {
    let wrong = || {
        let what = format!("`{}` needs a list of words", component.name);
        SettingError::new(what, "write it as ['one', 'other']")
    };
    let Some(Value::List(items)) = component.args.first() else { return Err(wrong()) };
    let word = |item: &Value| match item {
        Value::Str(word) => Ok(word.clone()),
        _ => Err(wrong()),
    };
    items.iter().map(word).collect()
}

/// The parts of a word, or the word if it is not made of the words.
fn split(token: Token, words: &HashSet<String>) -> Vec<Token> {
    let text = &token.text;
    // The time grows with the square of the length.
    if text.len() > TOKEN_BYTES_MAX {
        return vec![token];
    }
    // `first[at]` is where the part begins that ends at `at`, where the text up to it is made of
    // words. Longer parts are preferred.
    let mut first: Vec<Option<usize>> = vec![None; text.len() + 1];
    first[0] = Some(0);
    for end in 1..=text.len() {
        let begins = |&start: &usize| {
            first[start].is_some() && text.get(start..end).is_some_and(|part| words.contains(part))
        };
        first[end] = (0..end).find(begins);
    }
    let mut ends = Vec::new();
    let mut end = text.len();
    while end > 0 {
        let Some(start) = first[end] else { break };
        ends.push((start, end));
        end = start;
    }
    if end > 0 || ends.len() < 2 {
        return vec![token];
    }
    ends.reverse();
    let part =
        |(start, end): (usize, usize)| Token { text: text[start..end].to_owned(), ..token.clone() };
    ends.into_iter().map(part).collect()
}

/// The text without accents, and with ligatures written out.
fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.nfkd().filter(|c| !is_combining_mark(*c)) {
        match written_out(c) {
            Some(letters) => out.push_str(letters),
            None => out.push(c),
        }
    }
    out
}

/// Letters that do not decompose.
fn written_out(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'ẞ' => "SS",
        'æ' => "ae",
        'Æ' => "AE",
        'œ' => "oe",
        'Œ' => "OE",
        'ø' => "o",
        'Ø' => "O",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'ł' => "l",
        'Ł' => "L",
        'þ' => "th",
        'Þ' => "TH",
        'ħ' => "h",
        'Ħ' => "H",
        'ı' => "i",
        'ŧ' => "t",
        'Ŧ' => "T",
        '‘' | '’' | '‚' | '‛' => "'",
        '“' | '”' | '„' | '‟' => "\"",
        '‐' | '‑' | '‒' | '–' | '—' => "-",
        _ => return None,
    })
}
