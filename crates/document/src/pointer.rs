//! JSON Pointers (RFC 6901): where a value is in a document.
//!
//! # Invariant
//! No call makes a document that nests deeper than [`Json::LEVELS_MAX`]. Values are copied,
//! compared and dropped by recursion, so a deeper one would overflow the stack.

use crate::error::DocumentError;
use model::Json;
use serde_json::{Map, Value};
use std::fmt;

/// A path into a document: names of fields and places in lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    tokens: Vec<String>,
}

impl Pointer {
    /// Parses a pointer: empty for the whole document, or tokens that each follow a `/`. In a token
    /// `~1` is `/` and `~0` is `~`.
    ///
    /// # Errors
    /// It begins with another character, or has an invalid escape.
    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        let wrong =
            |why: &str| DocumentError::new(format!("{text:?} is not a JSON Pointer: {why}"));
        let Some(rest) = text.strip_prefix('/') else {
            return match text.is_empty() {
                true => Ok(Self::default()),
                false => Err(wrong("it does not begin with `/`")),
            };
        };
        let escape = || wrong("`~` is written `~0`, and `/` in a name `~1`");
        let token = |token| unescaped(token).ok_or_else(escape);
        Ok(Self { tokens: rest.split('/').map(token).collect::<Result<_, _>>()? })
    }

    /// Parses the name of a field at the top, or a pointer: text that is empty or begins with `/`.
    ///
    /// # Errors
    /// As [`Pointer::parse`].
    pub fn of_field(text: &str) -> Result<Self, DocumentError> {
        match text.is_empty() || text.starts_with('/') {
            true => Self::parse(text),
            false => Ok(Self { tokens: vec![text.to_owned()] }),
        }
    }

    /// The pointer to a field or an item below.
    #[must_use]
    pub fn child(&self, token: &str) -> Self {
        let tokens = self.tokens.iter().cloned().chain([token.to_owned()]);
        Self { tokens: tokens.collect() }
    }

    /// Names of fields and places in lists, unescaped.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Whether it points to the whole document.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Whether `other` points into the value at this pointer.
    pub(crate) fn is_above(&self, other: &Self) -> bool {
        other.tokens.len() > self.tokens.len() && other.tokens.starts_with(&self.tokens)
    }

    /// The value that it points to.
    #[must_use]
    pub fn get<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        self.tokens.iter().try_fold(document, |at, token| below(at, token))
    }

    fn get_mut<'d>(tokens: &[String], document: &'d mut Value) -> Option<&'d mut Value> {
        tokens.iter().try_fold(document, |at, token| match at {
            Value::Object(fields) => fields.get_mut(token),
            Value::Array(items) => items.get_mut(place(token)?),
            _ => None,
        })
    }

    /// How many of the first tokens lead to a value.
    fn existing_tokens(&self, document: &Value) -> usize {
        let mut at = document;
        let leads = |token: &&String| match below(at, token) {
            Some(value) => {
                at = value;
                true
            }
            None => false,
        };
        self.tokens.iter().take_while(leads).count()
    }

    /// The container of the value, and its last token; `None` for the whole document.
    fn parent<'p, 'd>(
        &'p self,
        document: &'d mut Value,
    ) -> Result<Option<(&'d mut Value, &'p str)>, DocumentError> {
        let Some((last, above)) = self.tokens.split_last() else { return Ok(None) };
        match Self::get_mut(above, document) {
            Some(parent) => Ok(Some((parent, last))),
            None => Err(Self { tokens: above.to_vec() }.nothing()),
        }
    }

    /// Fails if `value` at this place would nest deeper than [`Json::LEVELS_MAX`].
    fn check_levels(&self, value: &Value) -> Result<(), DocumentError> {
        let free = Json::LEVELS_MAX.checked_sub(self.tokens.len());
        match free.is_some_and(|free| Json::nests_within(value, free)) {
            true => Ok(()),
            // A pointer with too many tokens is not repeated.
            false => {
                let limit = Json::LEVELS_MAX;
                let what = format!("the document would exceed the recursion limit of {limit}");
                Err(DocumentError::new(format!("{what} nested lists and objects")))
            }
        }
    }

    /// Adds a value, as the operation `add` of RFC 6902: sets a field, inserts an item before the
    /// one at its place, or at the end for the token `-`.
    ///
    /// # Errors
    /// Its container is missing, or is neither an object nor a list; the place is beyond
    /// the end; the document would nest too deep. Then the document is unchanged.
    pub fn add(&self, document: &mut Value, value: Value) -> Result<(), DocumentError> {
        self.check_levels(&value)?;
        match self.parent(document)? {
            None => *document = value,
            Some((Value::Object(fields), name)) => drop(fields.insert(name.to_owned(), value)),
            Some((Value::Array(items), token)) => {
                let place = if token == "-" { Some(items.len()) } else { place(token) };
                match place.filter(|place| *place <= items.len()) {
                    Some(place) => items.insert(place, value),
                    None => return Err(self.no_place(items.len())),
                }
            }
            Some(_) => return Err(self.no_container()),
        }
        Ok(())
    }

    /// Adds a value as [`Pointer::add`], but replaces no field.
    ///
    /// # Errors
    /// As [`Pointer::add`]; the field already exists.
    pub fn insert(&self, document: &mut Value, value: Value) -> Result<(), DocumentError> {
        let is_field = match self.parent(document)? {
            Some((Value::Object(fields), name)) => fields.contains_key(name),
            Some(_) => false,
            None => true,
        };
        if is_field {
            let what = format!("the value at {:?} already exists", self.to_string());
            return Err(DocumentError::new(what));
        }
        self.add(document, value)
    }

    /// Sets a value: replaces the existing one, or adds it as [`Pointer::add`]. Creates the objects
    /// above it that are missing.
    ///
    /// # Errors
    /// As [`Pointer::add`].
    pub fn set(&self, document: &mut Value, value: Value) -> Result<(), DocumentError> {
        self.check_levels(&value)?;
        let existing = self.existing_tokens(document);
        let Some(missing) = self.tokens.get(existing + 1..) else {
            return self.replace(document, value).map(drop);
        };
        let object =
            |below: Value, name: &String| Value::Object(Map::from_iter([(name.clone(), below)]));
        let made = missing.iter().rev().fold(value, object);
        Self { tokens: self.tokens[..=existing].to_vec() }.add(document, made)
    }

    /// Replaces a value; returns the old one.
    ///
    /// # Errors
    /// There is no value, or the document would nest too deep.
    pub fn replace(&self, document: &mut Value, value: Value) -> Result<Value, DocumentError> {
        self.check_levels(&value)?;
        let there = Self::get_mut(&self.tokens, document).ok_or_else(|| self.nothing())?;
        Ok(std::mem::replace(there, value))
    }

    /// Removes a value and returns it.
    ///
    /// # Errors
    /// There is no value, or it is the whole document.
    pub fn remove(&self, document: &mut Value) -> Result<Value, DocumentError> {
        let removed = match self.parent(document)? {
            None => return Err(DocumentError::new("the whole document cannot be removed")),
            Some((Value::Object(fields), name)) => fields.remove(name),
            Some((Value::Array(items), token)) => {
                place(token).filter(|place| *place < items.len()).map(|place| items.remove(place))
            }
            Some(_) => None,
        };
        removed.ok_or_else(|| self.nothing())
    }

    pub(crate) fn nothing(&self) -> DocumentError {
        DocumentError::new(format!("there is no value at {:?}", self.to_string()))
    }

    fn no_place(&self, items: usize) -> DocumentError {
        let what = format!("{:?} is not a place in a list of {items} items", self.to_string());
        DocumentError::new(what)
    }

    fn no_container(&self) -> DocumentError {
        let what = format!("{:?} is in neither an object nor a list", self.to_string());
        DocumentError::new(what)
    }
}

/// The field or item of a value.
fn below<'d>(value: &'d Value, token: &str) -> Option<&'d Value> {
    match value {
        Value::Object(fields) => fields.get(token),
        Value::Array(items) => items.get(place(token)?),
        _ => None,
    }
}

/// A token without its escapes; `None` if a `~` begins none.
fn unescaped(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (escaped, rest) = part.split_at_checked(1)?;
        plain.push(match escaped {
            "0" => '~',
            "1" => '/',
            _ => return None,
        });
        plain.push_str(rest);
    }
    Some(plain)
}

/// A token as a place in a list: digits without a leading zero.
fn place(token: &str) -> Option<usize> {
    let is_number = token.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = token == "0" || !token.starts_with('0');
    (is_number && is_plain).then(|| token.parse().ok()).flatten()
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tokens
            .iter()
            .try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}
