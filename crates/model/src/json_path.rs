//! Paths into JSON, and the values at them.
//!
//! # Why the text is scanned
//! A tree of a document costs an allocation for each of its names and values, and a path needs one
//! value. Canonical text has no white space, so fields and items are found by skipping over those
//! before them.
//!
//! # Invariants
//! 1. The value at a path is that of the tree's: `tests::a_path_finds_what_the_tree_has` compares.
//! 2. Text that is no JSON has some value or none. Scanning never leaves it.

use crate::value::{Json, Value};
use std::fmt;

/// A step of a path: from an object or an array to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JsonStep {
    /// To the field of an object with this name. Arrays have none.
    Name(String),
    /// To the item of an array with this index, from 0; in an object, to the field whose name has
    /// these digits.
    Index(u64),
}

impl JsonStep {
    /// The steps that `->` makes with this value on its right: those of a list, or one.
    #[must_use]
    pub fn all_of(value: &Value) -> Option<Vec<Self>> {
        match value {
            Value::List(values) => values.iter().map(Self::of_value).collect(),
            value => Self::of_value(value).map(|step| vec![step]),
        }
    }

    /// The step that the operator `->` makes with this value on its right; `None` for one that is
    /// neither a string nor an index.
    #[must_use]
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Str(name) => Some(Self::Name(name.clone())),
            Value::Int(index) => u64::try_from(*index).ok().map(Self::Index),
            _ => None,
        }
    }
}

impl fmt::Display for JsonStep {
    /// Writes it as a literal of the query language.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Name(name) if name.contains(['\'', '\\']) || name.contains(char::is_control) => {
                Value::Str(name.clone()).fmt(f)
            }
            Self::Name(name) => write!(f, "'{name}'"),
        }
    }
}

impl Json {
    /// Its text, whose parts can be read.
    #[must_use]
    pub fn text(&self) -> JsonText<'_> {
        JsonText(self.as_str())
    }

    /// The value at a path, as the operator `->` finds it: a scalar as such, an array or an object
    /// as JSON, and null where there is nothing.
    #[must_use]
    pub fn at(&self, path: &[JsonStep]) -> Value {
        path.iter()
            .try_fold(self.text(), |text, step| text.part(step))
            .map_or(Value::Null, JsonText::value)
    }
}

/// Canonical text of JSON, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonText<'j>(&'j str);

impl<'j> JsonText<'j> {
    /// Whether it is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether it is an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.0.starts_with('[')
    }

    /// The part that a step leads to.
    #[must_use]
    pub fn part(self, step: &JsonStep) -> Option<Self> {
        match step {
            JsonStep::Name(name) => self.field(name),
            JsonStep::Index(index) if self.is_object() => self.field(&index.to_string()),
            JsonStep::Index(index) => self.item(usize::try_from(*index).ok()?),
        }
    }

    /// The field of an object with this name; `None` if there is none, or if it is no object.
    #[must_use]
    pub fn field(self, name: &str) -> Option<Self> {
        let bytes = self.0.as_bytes();
        if !self.is_object() {
            return None;
        }
        let mut at = 1;
        loop {
            let colon = end_of_string(bytes, at)?;
            let end = end_of_value(bytes, colon + 1)?;
            if is_name(self.0.get(at..colon)?, name) {
                return self.0.get(colon + 1..end).map(Self);
            }
            if bytes.get(end) != Some(&b',') {
                return None;
            }
            at = end + 1;
        }
    }

    /// The item of an array with this index; `None` if there is none, or if it is no array.
    #[must_use]
    pub fn item(self, index: usize) -> Option<Self> {
        let bytes = self.0.as_bytes();
        if !self.is_array() || bytes.get(1) == Some(&b']') {
            return None;
        }
        let mut at = 1;
        for place in 0..=index {
            let end = end_of_value(bytes, at)?;
            if place == index {
                return self.0.get(at..end).map(Self);
            }
            if bytes.get(end) != Some(&b',') {
                return None;
            }
            at = end + 1;
        }
        None
    }

    /// Its value: a scalar as such, an array or an object as JSON.
    #[must_use]
    pub fn value(self) -> Value {
        match self.0.as_bytes().first() {
            Some(b'{' | b'[') => Value::Json(Json::from_canonical(self.0.to_owned())),
            Some(b'"') => Value::Str(unescaped(self.0)),
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') | None => Value::Null,
            Some(_) => number(self.0),
        }
    }
}

/// Whether a quoted string of JSON is this text.
fn is_name(quoted: &str, name: &str) -> bool {
    match quoted.contains('\\') {
        false => quoted.len() == name.len() + 2 && quoted[1..].starts_with(name),
        true => unescaped(quoted) == name,
    }
}

/// The text of a quoted string of JSON.
fn unescaped(quoted: &str) -> String {
    match quoted.get(1..quoted.len().saturating_sub(1)) {
        Some(text) if !text.contains('\\') => text.to_owned(),
        _ => serde_json::from_str(quoted).unwrap_or_default(),
    }
}

fn number(text: &str) -> Value {
    if let Ok(int) = text.parse::<i64>()
        && text != "-0"
    {
        return Value::Int(int);
    }
    // By the parser that made the text canonical.
    let number: Option<serde_json::Number> = serde_json::from_str(text).ok();
    let id = || number.as_ref()?.as_u64().map(Value::Id);
    let float = || number.as_ref()?.as_f64().map(Value::Float);
    id().or_else(float).unwrap_or(Value::Null)
}

/// Where a string ends that begins with the quote at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Where a value ends that begins at `at`.
fn end_of_value(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => return end_of_string(bytes, at),
        b'{' | b'[' => {}
        _ => {
            let len = bytes[at..].iter().position(|byte| matches!(byte, b',' | b'}' | b']'));
            return Some(len.map_or(bytes.len(), |len| at + len));
        }
    }
    let (mut depth, mut at) = (0_usize, at);
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = end_of_string(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value as Tree;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    /// The value at a path, found in the tree.
    fn in_tree(json: &Json, path: &[JsonStep]) -> Value {
        let tree = json.to_tree();
        let mut at = &tree;
        for step in path {
            let found = match (step, at) {
                (JsonStep::Name(name), Tree::Object(fields)) => fields.get(name),
                (JsonStep::Index(index), Tree::Object(fields)) => fields.get(&index.to_string()),
                (JsonStep::Index(index), Tree::Array(items)) => items.get(*index as usize),
                _ => None,
            };
            let Some(found) = found else { return Value::Null };
            at = found;
        }
        match at {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), ..) => Value::Int(int),
                (_, Some(id), _) => Value::Id(id),
                (.., float) => Value::Float(float.unwrap()),
            },
            Tree::String(text) => Value::Str(text.clone()),
            other => Value::Json(Json::of_tree(other.clone()).unwrap()),
        }
    }

    #[test]
    fn steps_lead_to_scalars_and_to_parts() {
        let json = json(
            r#"{"":0,"a":{"b":[1,2.5,"x\"y",null,{"0":true}],"é":-7},"n":18446744073709551615}"#,
        );
        for (path, value) in [
            ("", json.to_string_of()),
            ("/a/b/0", "1".to_owned()),
            ("/a/b/1", "2.5".to_owned()),
            ("/a/b/2", r#""x\"y""#.to_owned()),
            ("/a/b/3", "null".to_owned()),
            ("/a/b/4/0", "true".to_owned()),
            ("/a/b/5", "null".to_owned()),
            ("/a/é", "-7".to_owned()),
            ("/a/é/x", "null".to_owned()),
            ("/n", "18446744073709551615".to_owned()),
            ("/n/0", "null".to_owned()),
            ("/", "0".to_owned()),
        ] {
            let steps = path.split('/').skip(1).map(|step| match step.parse() {
                Ok(index) => JsonStep::Index(index),
                Err(_) => JsonStep::Name(step.to_owned()),
            });
            let steps: Vec<_> = steps.collect();
            assert_eq!(json.at(&steps).to_string(), value, "{path}");
            assert_eq!(json.at(&steps), in_tree(&json, &steps), "{path}");
        }
        assert_eq!(json.at(&[JsonStep::Name("a".into()), JsonStep::Name("0".into())]), Value::Null);
    }

    impl Json {
        fn to_string_of(&self) -> String {
            self.as_str().to_owned()
        }
    }

    #[test]
    fn steps_are_written_as_literals() {
        for (step, text) in [
            (JsonStep::Name("addr".into()), "'addr'"),
            (JsonStep::Name(String::new()), "''"),
            (JsonStep::Name("it's".into()), r#""it's""#),
            (JsonStep::Name("a\n\\".into()), r#""a\n\\""#),
            (JsonStep::Index(3), "3"),
        ] {
            assert_eq!(step.to_string(), text);
        }
    }

    #[test]
    fn text_that_is_no_json_is_not_left() {
        for text in
            ["", "{", "[", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"\\", "[1,", "{1}", "\""]
        {
            let json = Json::from_canonical(text.to_owned());
            for step in [JsonStep::Name("a".into()), JsonStep::Index(1)] {
                let _ = json.at(std::slice::from_ref(&step));
            }
            let _ = json.at(&[]);
        }
    }

    fn trees() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![
            Just(Tree::Null),
            any::<bool>().prop_map(Tree::from),
            (-9_i64..9).prop_map(Tree::from),
            any::<u64>().prop_map(Tree::from),
            (-9..9_i64).prop_map(|n| Tree::from(n as f64 / 4.0)),
            "[ab\"\\\\,:{}\\[\\]é\n]{0,4}".prop_map(Tree::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::from),
                prop::collection::vec(("[ab0\"\\\\]{0,2}", inner), 0..4)
                    .prop_map(|fields| Tree::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn steps() -> impl Strategy<Value = JsonStep> {
        prop_oneof![
            "[ab0\"\\\\]{0,2}".prop_map(JsonStep::Name),
            (0_u64..4).prop_map(JsonStep::Index),
        ]
    }

    proptest! {
        #[test]
        fn a_path_finds_what_the_tree_has(
            tree in trees(),
            path in prop::collection::vec(steps(), 0..4),
        ) {
            let json = Json::of_tree(tree).unwrap();
            prop_assert_eq!(json.at(&path), in_tree(&json, &path));
        }
    }
}
