//! JSON: creating, parsing, and reading or changing values at a path.
//!
//! # Invariants
//! 1. JSON that is created here nests at most [`DEPTH_MAX`] levels, below [`Json::LEVELS_MAX`].
//! 2. Values extracted from JSON are scalars or stay JSON: arrays do not become lists.

use crate::call::Call;
use crate::context::FunctionContext;
use crate::failure::Failure;
use model::{Json, JsonText, Value};
use serde_json::Value as Tree;

/// Maximum nesting of arrays and objects.
const DEPTH_MAX: usize = Json::DEPTH_MAX;

/// Converts a value to JSON; see [`Json::tree_of`].
///
/// # Errors
/// Lists are nested too deeply for JSON.
pub fn json_of(value: &Value) -> Result<Json, Failure> {
    canonical(Call::new("json", &[]), tree(Call::new("json", &[]), value)?)
}

/// Converts a JSON scalar to a value. Arrays and objects stay JSON.
#[must_use]
pub fn scalar_of_json(json: &Json) -> Value {
    json.text().value()
}

/// The items of a JSON array, as scalars or JSON. `None` if it is not an array.
pub(crate) fn items(json: &Json) -> Option<Vec<Value>> {
    match json.to_tree() {
        Tree::Array(items) => Some(items.into_iter().map(scalar).collect()),
        _ => None,
    }
}

/// The text of a value, also used for object names: strings unchanged, other values as JSON.
pub(crate) fn text_of(call: Call<'_>, value: &Value) -> Result<String, Failure> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        value => match tree(call, value)? {
            Tree::String(text) => Ok(text),
            other => Ok(other.to_string()),
        },
    }
}

fn tree(call: Call<'_>, value: &Value) -> Result<Tree, Failure> {
    Json::tree_of(value).ok_or_else(|| too_deep(call))
}

fn too_deep(call: Call<'_>) -> Failure {
    call.fail(format_args!("JSON nests at most {DEPTH_MAX} levels"))
}

fn canonical(call: Call<'_>, tree: Tree) -> Result<Json, Failure> {
    Json::of_tree(tree).map_err(|_| too_deep(call))
}

fn scalar(tree: Tree) -> Value {
    match tree {
        Tree::Null => Value::Null,
        Tree::Bool(value) => Value::Bool(value),
        Tree::Number(number) => {
            let int = number.as_i64().map(Value::Int);
            let id = || number.as_u64().map(Value::Id);
            let float = || number.as_f64().map(Value::Float);
            int.or_else(id).or_else(float).unwrap_or(Value::Null)
        }
        Tree::String(text) => Value::Str(text),
        // A part of a parsed tree is not nested deeper than the tree.
        other => Json::of_tree(other).map_or(Value::Null, Value::Json),
    }
}

pub(crate) fn json(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("json", args);
    canonical(call, tree(call, call.value(0))?).map(Value::Json)
}

/// Takes alternating names and values. The last of equal names wins.
pub(crate) fn json_object(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("json_object", args);
    if !args.len().is_multiple_of(2) {
        return Err(call
            .fail(format_args!("takes names and values in turn, {} arguments given", args.len())));
    }
    let mut object = serde_json::Map::new();
    for i in (0..args.len()).step_by(2) {
        object.insert(text_of(call, call.value(i))?, tree(call, call.value(i + 1))?);
    }
    canonical(call, Tree::Object(object)).map(Value::Json)
}

pub(crate) fn parse_json(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("parse_json", args);
    let json = Json::parse(call.text(0)?);
    json.map(Value::Json).map_err(|error| call.fail(format_args!("not JSON: {error}")))
}

pub(crate) fn dump_json(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("dump_json", args);
    match call.value(0) {
        Value::Json(json) => Ok(Value::Str(json.as_str().to_owned())),
        _ => Err(call.refuse(0, "JSON").hint("json(…) makes JSON of a value")),
    }
}

pub(crate) fn json_to_scalar(args: &[Value]) -> Result<Value, Failure> {
    Ok(match Call::new("json_to_scalar", args).value(0) {
        Value::Json(json) => scalar_of_json(json),
        other => other.clone(),
    })
}

/// `get(list, index [, default])`, `get(json, name | index | path [, default])`
pub(crate) fn get(args: &[Value]) -> Result<Value, Failure> {
    let found = look_up(Call::new("get", args));
    match args.get(2) {
        Some(default) => Ok(found.unwrap_or_else(|_| default.clone())),
        None => found,
    }
}

/// As `get`, but null if nothing is found.
pub(crate) fn maybe_get(args: &[Value]) -> Result<Value, Failure> {
    Ok(look_up(Call::new("maybe_get", args)).unwrap_or(Value::Null))
}

fn look_up(call: Call<'_>) -> Result<Value, Failure> {
    match call.value(0) {
        Value::List(items) => {
            let i = call.index(1, items.len(), false)?;
            Ok(items.get(i).cloned().unwrap_or(Value::Null))
        }
        Value::Json(json) => {
            let path = match call.value(1) {
                Value::List(path) => path.as_slice(),
                key => std::slice::from_ref(key),
            };
            let mut at = json.text();
            for key in path {
                at = step(call, at, key)?.ok_or_else(|| {
                    call.fail(format_args!("the JSON has nothing at {key}"))
                        .hint("`->` and maybe_get give null instead")
                })?;
            }
            Ok(at.value())
        }
        _ => Err(call.refuse(0, "a list or JSON")),
    }
}

/// The value at a name or an index.
fn step<'j>(
    call: Call<'_>,
    at: JsonText<'j>,
    key: &Value,
) -> Result<Option<JsonText<'j>>, Failure> {
    Ok(match key {
        Value::Str(name) if at.is_object() => at.field(name),
        key if at.is_object() => at.field(&text_of(call, key)?),
        key if at.is_array() => array_index(call, key)?.and_then(|i| at.item(i)),
        _ => None,
    })
}

/// `None` for a negative index.
fn array_index(call: Call<'_>, key: &Value) -> Result<Option<usize>, Failure> {
    let int = match key {
        Value::Int(int) => Some(*int),
        Value::Float(float) => crate::call::whole(*float),
        _ => None,
    };
    let int = int.ok_or_else(|| call.refuse_operand(key, "an integer as the index of an array"))?;
    Ok(usize::try_from(int).ok())
}

/// Sets a value at a path. Missing objects are created; arrays grow and are filled with null.
pub(crate) fn set_json_path(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let call = Call::new("set_json_path", args);
    let mut tree_found = tree(call, call.value(0))?;
    let path = path(call)?;
    let mut at = &mut tree_found;
    for key in path {
        at = match at {
            Tree::Object(object) => {
                let name = text_of(call, key)?;
                object.entry(name).or_insert_with(|| Tree::Object(serde_json::Map::new()))
            }
            Tree::Array(items) => {
                let i = array_index(call, key)?;
                let i = i.ok_or_else(|| call.refuse_operand(key, "an index from 0"))?;
                call.check_items(i as u128 + 1)?;
                if i >= items.len() {
                    // As a tree and as text, and both again when it is sorted.
                    crate::budget::request_memory(
                        4 * size_of::<Tree>() as u64 * i as u64,
                        context,
                    )?;
                    items.resize(i + 1, Tree::Null);
                }
                match items.get_mut(i) {
                    Some(item) => item,
                    None => return Err(no_container(call, key)),
                }
            }
            _ => return Err(no_container(call, key)),
        };
    }
    *at = tree(call, call.value(2))?;
    canonical(call, tree_found).map(Value::Json)
}

/// Removes the value at a path. Does nothing if there is none.
pub(crate) fn remove_json_path(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("remove_json_path", args);
    let mut tree_found = tree(call, call.value(0))?;
    let Some((last, path)) = path(call)?.split_last() else {
        return Err(call.fail("the path is empty"));
    };
    let mut at = Some(&mut tree_found);
    for key in path {
        at = match at {
            Some(Tree::Object(object)) => object.get_mut(&text_of(call, key)?),
            Some(Tree::Array(items)) => array_index(call, key)?.and_then(|i| items.get_mut(i)),
            Some(_) => return Err(no_container(call, key)),
            None => None,
        };
    }
    match at {
        Some(Tree::Object(object)) => {
            object.remove(&text_of(call, last)?);
        }
        Some(Tree::Array(items)) => {
            let i = array_index(call, last)?;
            if let Some(i) = i.filter(|&i| i < items.len()) {
                items.remove(i);
            }
        }
        Some(_) => return Err(no_container(call, last)),
        None => {}
    }
    canonical(call, tree_found).map(Value::Json)
}

/// The path argument. Its length is limited so that the result is not nested too deeply.
fn path(call: Call<'_>) -> Result<&[Value], Failure> {
    let Value::List(path) = call.value(1) else {
        return Err(call.refuse(1, "a list of names and indexes"));
    };
    if path.len() > DEPTH_MAX { Err(too_deep(call)) } else { Ok(path) }
}

fn no_container(call: Call<'_>, key: &Value) -> Failure {
    call.fail(format_args!("the value at the path is not an object or array, so it has no {key}"))
}

/// Merges objects by name and concatenates arrays; otherwise the later value wins.
pub(crate) fn merge(call: Call<'_>) -> Result<Value, Failure> {
    let mut found = Tree::Null;
    for (i, value) in call.args().iter().enumerate() {
        let Value::Json(json) = value else { return Err(call.refuse(i, "JSON")) };
        merge_into(&mut found, json.to_tree());
    }
    canonical(call, found).map(Value::Json)
}

/// Recursion is limited by the depth of parsed JSON.
fn merge_into(into: &mut Tree, from: Tree) {
    match (into, from) {
        (Tree::Object(into), Tree::Object(from)) => {
            for (name, value) in from {
                merge_into(into.entry(name).or_insert(Tree::Null), value);
            }
        }
        (Tree::Array(into), Tree::Array(from)) => into.extend(from),
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::testing::{context, table};

    #[test]
    fn json_is_made_read_and_changed() {
        table(
            "json([1, {'a': null}]) => [1,{\"a\":null}]
         json(to_uuid('00112233-4455-6677-8899-aabbccddeeff')) => \"00112233-4455-6677-8899-aabbccddeeff\"
         json(decode_base64('AQI=')) => \"AQI=\"
         json(div(1, 0)) => null
         json_object('b', 1, 'a', 2, 'b', 3) => {\"a\":2,\"b\":3}
         json_object('b') => json_object: takes names and values in turn, 1 arguments given
         parse_json('{\"b\":1, \"a\":[1.0]}') => {\"a\":[1.0],\"b\":1}
         parse_json('{') => parse_json: not JSON: EOF while parsing an object at line 1 column 1
         dump_json({'a': 1}) => \"{\\\"a\\\":1}\"
         dump_json('a') => dump_json: expected JSON, found a String (\"a\")
         json_to_scalar(json('a')) => \"a\"
         is_list(json_to_scalar(json([1]))) => false
         get({'a': {'b': 2}}, ['a', 'b']) => 2
         get({'a': {'b': 2}}, ['a', 'c']) => get: the JSON has nothing at \"c\"
         get({'a': [1, 2]}, ['a', 1]) => 2
         get({'1': 5}, 1) => 5
         get(json([1]), -1) => get: the JSON has nothing at -1
         get(json([1]), 'a') => get: expected an integer as the index of an array, found a String (\"a\")
         get({'a': 1}, 'b', 7) => 7
         get(1, 'b') => get: expected a list or JSON as argument 1, found an Int (1)
         maybe_get({'a': 1}, 'b') => null
         maybe_get(5, 'b') => null
         set_json_path({'a': 1}, ['b', 'c'], 2) => {\"a\":1,\"b\":{\"c\":2}}
         set_json_path({'a': [1]}, ['a', 2], 'x') => {\"a\":[1,null,\"x\"]}
         set_json_path({'a': [1]}, ['a', -1], 'x') => set_json_path: expected an index from 0, found an Int (-1)
         set_json_path([], [99999999999], 1) => set_json_path: the result would have 100000000000 items, the limit is 16777216
         set_json_path({'a': 1}, ['a', 'c'], 2) => set_json_path: the value at the path is not an object or array, so it has no \"c\"
         remove_json_path({'a': [1, 2]}, ['a', 0]) => {\"a\":[2]}
         remove_json_path({'a': [1, 2]}, ['a', 5]) => {\"a\":[1,2]}
         remove_json_path({'a': 1}, ['x', 'y']) => {\"a\":1}
         remove_json_path({'a': 1}, []) => remove_json_path: the path is empty
         concat({'a': {'x': 1}, 'l': [1]}, {'a': {'y': 2}, 'l': [2]}) => {\"a\":{\"x\":1,\"y\":2},\"l\":[1,2]}",
        );
    }

    #[test]
    fn json_never_nests_deeper_than_it_can_be_read() {
        let mut deep = Value::List(Vec::new());
        for _ in 0..200 {
            deep = Value::List(vec![deep]);
        }
        let call = |name: &str, args: &[Value]| lookup(name).unwrap().apply(args, &context());
        assert_eq!(
            call("json", &[deep.clone()]).unwrap_err().message,
            "json: JSON nests at most 120 levels"
        );
        let path = Value::List(vec![Value::Str("a".to_owned()); 1000]);
        let object = Value::Json(Json::parse("{}").unwrap());
        assert!(call("set_json_path", &[object.clone(), path, Value::Null]).is_err());
        let path = Value::List(vec![Value::Str("a".to_owned()); 110]);
        let long = call("set_json_path", &[object.clone(), path.clone(), Value::Int(1)]).unwrap();
        assert!(call("set_json_path", &[object, path, long]).is_err());
    }
}
