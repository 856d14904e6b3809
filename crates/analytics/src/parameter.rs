//! Parameters of algorithms: their names, types and defaults, and the arguments of a call.

use crate::failure::invalid;
use crate::failure::unknown_vertex;
use crate::ids::VertexIds;
use model::Value;
use std::collections::BTreeMap;
use std::fmt;
use store::Result;

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub of: ParameterType,
    /// Its value where none is given.
    pub default: Default,
    /// Its effect, as a sentence.
    pub about: &'static str,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// `true` or `false`.
    Bool,
    /// An integer from 0.
    Int,
    /// A number that is not NaN.
    Float,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An id of a vertex.
    Vertex,
    /// An id of a vertex, or a list of them.
    Vertices,
    /// A list of pairs of an id and a number. Ids that are not vertices are ignored.
    VertexValues,
    /// A list of lists of ids. Each vertex is in one of them.
    Communities,
}

/// The value of a parameter for which none is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// A value must be given.
    Required,
    /// There is none, which the parameter's description explains.
    None,
    /// A bool.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A word.
    Choice(&'static str),
}

impl fmt::Display for Default {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("required"),
            Self::None => f.write_str("none"),
            Self::Bool(bool) => bool.fmt(f),
            Self::Int(int) => int.fmt(f),
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Choice(word) => write!(f, "{word:?}"),
        }
    }
}

/// Arguments of a call by the names of the parameters. Null is as if nothing was given.
pub type Arguments = BTreeMap<String, Value>;

/// Checked arguments. Getters take names of the table's parameters.
pub(crate) struct Given<'a> {
    algorithm: &'static str,
    parameters: &'static [Parameter],
    arguments: &'a Arguments,
    ids: &'a VertexIds,
}

impl<'a> Given<'a> {
    /// # Errors
    /// An argument without a parameter, or a parameter without an argument that needs one.
    pub(crate) fn new(
        algorithm: &'static str,
        parameters: &'static [Parameter],
        arguments: &'a Arguments,
        ids: &'a VertexIds,
    ) -> Result<Self> {
        let is_known = |name: &str| parameters.iter().any(|parameter| parameter.name == name);
        if let Some(name) = arguments.keys().find(|name| !is_known(name)) {
            let names: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
            let hint = match names.is_empty() {
                true => format!("{algorithm} has no parameters"),
                false => format!("the parameters of {algorithm} are {}", names.join(", ")),
            };
            return Err(invalid(&format!("{algorithm} has no parameter {name:?}"), &hint));
        }
        let given = Self { algorithm, parameters, arguments, ids };
        for parameter in parameters {
            if parameter.default == Default::Required && given.value(parameter.name).is_none() {
                let what = format!("{algorithm} needs the parameter {:?}", parameter.name);
                return Err(invalid(&what, parameter.about));
            }
        }
        Ok(given)
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.arguments.get(name).filter(|value| **value != Value::Null)
    }

    fn default(&self, name: &str) -> Default {
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name);
        parameter.map_or(Default::None, |parameter| parameter.default)
    }

    fn wrong(&self, name: &str, value: &Value, wanted: &str) -> store::Error {
        let what = format!("{}: {name} is {wanted}, not {value}", self.algorithm);
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name);
        invalid(&what, parameter.map_or("", |parameter| parameter.about))
    }

    pub(crate) fn bool(&self, name: &str) -> Result<bool> {
        match self.value(name) {
            None => Ok(self.default(name) == Default::Bool(true)),
            Some(Value::Bool(bool)) => Ok(*bool),
            Some(other) => Err(self.wrong(name, other, "true or false")),
        }
    }

    pub(crate) fn maybe_int(&self, name: &str) -> Result<Option<u64>> {
        let wanted = "an integer from 0";
        match self.value(name) {
            None => match self.default(name) {
                Default::Int(int) => Ok(u64::try_from(int).ok()),
                _ => Ok(None),
            },
            Some(value @ Value::Int(int)) => {
                u64::try_from(*int).map(Some).map_err(|_| self.wrong(name, value, wanted))
            }
            Some(Value::Id(id)) => Ok(Some(*id)),
            Some(other) => Err(self.wrong(name, other, wanted)),
        }
    }

    /// An integer of a parameter that has one as its default. A larger one is the largest `u32`.
    pub(crate) fn int(&self, name: &str) -> Result<u32> {
        let int = self.maybe_int(name)?.unwrap_or_default();
        Ok(u32::try_from(int).unwrap_or(u32::MAX))
    }

    pub(crate) fn maybe_float(&self, name: &str) -> Result<Option<f64>> {
        match self.value(name) {
            None => match self.default(name) {
                Default::Float(float) => Ok(Some(float)),
                _ => Ok(None),
            },
            Some(Value::Float(float)) if !float.is_nan() => Ok(Some(*float)),
            Some(Value::Int(int)) => Ok(Some(*int as f64)),
            Some(other) => Err(self.wrong(name, other, "a number")),
        }
    }

    pub(crate) fn float(&self, name: &str) -> Result<f64> {
        Ok(self.maybe_float(name)?.unwrap_or_default())
    }

    /// One of the words of the parameter.
    pub(crate) fn choice(&self, name: &str) -> Result<&'static str> {
        let words = self.parameters.iter().find_map(|parameter| match parameter.of {
            ParameterType::Choice(words) if parameter.name == name => Some(words),
            _ => None,
        });
        let words = words.unwrap_or_default();
        match (self.value(name), self.default(name)) {
            (None, Default::Choice(word)) => Ok(word),
            (None, _) => Ok(""),
            (Some(value), _) => {
                let is_it = |word: &&&str| matches!(value, Value::Str(text) if text == **word);
                let wanted = || words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>();
                let found = words.iter().find(is_it);
                found.copied().ok_or_else(|| self.wrong(name, value, &wanted().join(" or ")))
            }
        }
    }

    fn vertex_of(&self, id: &Value) -> Result<u32> {
        self.ids.vertex(id)?.ok_or_else(|| unknown_vertex(id))
    }

    pub(crate) fn vertex(&self, name: &str) -> Result<u32> {
        self.vertex_of(self.value(name).unwrap_or(&Value::Null))
    }

    /// The vertices of a parameter; `None` if none are given.
    pub(crate) fn vertices(&self, name: &str) -> Result<Option<Vec<u32>>> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::List(list)) => {
                list.iter().map(|id| self.vertex_of(id)).collect::<Result<_>>().map(Some)
            }
            Some(id) => Ok(Some(vec![self.vertex_of(id)?])),
        }
    }

    /// A number for each vertex, 0 for vertices that are not named; `None` if nothing is given.
    pub(crate) fn vertex_values(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let wrong = || self.wrong(name, value, "a list of pairs of a vertex and a number");
        let Value::List(pairs) = value else { return Err(wrong()) };
        let mut values = vec![0.0; self.ids.len()];
        for pair in pairs {
            let Value::List(pair) = pair else { return Err(wrong()) };
            let [id, number] = &pair[..] else { return Err(wrong()) };
            let number = match number {
                Value::Float(float) => *float,
                Value::Int(int) => *int as f64,
                _ => return Err(wrong()),
            };
            if let Some(vertex) = self.ids.vertex(id)? {
                values[vertex as usize] = number;
            }
        }
        Ok(Some(values))
    }

    /// The community of each vertex, from lists of vertices.
    pub(crate) fn communities(&self, name: &str) -> Result<Vec<u32>> {
        const NONE: u32 = u32::MAX;
        let value = self.value(name).unwrap_or(&Value::Null);
        let wrong = || self.wrong(name, value, "a list of lists of vertices");
        let Value::List(groups) = value else { return Err(wrong()) };
        let mut labels = vec![NONE; self.ids.len()];
        for (label, group) in (0..).zip(groups) {
            let Value::List(group) = group else { return Err(wrong()) };
            for id in group {
                let slot = &mut labels[self.vertex_of(id)? as usize];
                if *slot != NONE {
                    let what = format!("{}: {id} is in two of {name}", self.algorithm);
                    return Err(invalid(&what, "each vertex is in one community"));
                }
                *slot = label;
            }
        }
        if let Some(vertex) = labels.iter().position(|&label| label == NONE) {
            let id = self.ids.value(vertex as u32)?;
            let what = format!("{}: {id} is in none of {name}", self.algorithm);
            return Err(invalid(&what, "each vertex is in one community"));
        }
        Ok(labels)
    }
}
