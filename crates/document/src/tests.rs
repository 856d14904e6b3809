//! Pointers, patches and merges: the examples of the RFCs, errors, and properties.

use crate::{Converted, DocumentError, FieldType, Gist, Patch, Pointer, Scalar, convert, merge};
use model::Json;
use proptest::prelude::*;
use serde_json::{Value, json};

#[track_caller]
fn patched(document: Value, operations: Value) -> Value {
    Patch::parse(&operations).unwrap().apply(&document).unwrap()
}

/// The error of a patch: of the text, or of its application.
#[track_caller]
fn refused(document: Value, operations: Value) -> String {
    match Patch::parse(&operations) {
        Ok(patch) => patch.apply(&document).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn pointers_find_what_the_rfc_says() {
    let document = json!({
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6,
        " ": 7, "m~n": 8
    });
    for (pointer, want) in [
        ("/foo/0", json!("bar")),
        ("/", json!(0)),
        ("/a~1b", json!(1)),
        ("/c%d", json!(2)),
        ("/i\\j", json!(5)),
        ("/ ", json!(7)),
        ("/m~0n", json!(8)),
        ("", document.clone()),
    ] {
        let parsed = Pointer::parse(pointer).unwrap();
        assert_eq!(parsed.get(&document), Some(&want), "{pointer}");
        assert_eq!(parsed.to_string(), pointer);
    }
    for pointer in ["/foo/2", "/foo/-", "/foo/01", "/foo/+1", "/foo/bar", "/nope", "/foo/0/x"] {
        assert_eq!(Pointer::parse(pointer).unwrap().get(&document), None, "{pointer}");
    }
    for text in ["foo", "/a~", "/a~2", "/~~10", "/~", "/~é"] {
        assert!(Pointer::parse(text).is_err(), "{text}");
    }
    assert_eq!(Pointer::of_field("a/b").unwrap().get(&document), Some(&json!(1)));
}

#[test]
fn patches_do_what_the_rfc_says() {
    for (document, operations, want) in [
        (
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/baz", "value": "qux"}]),
            json!({"baz": "qux", "foo": "bar"}),
        ),
        (
            json!({"foo": ["bar", "baz"]}),
            json!([{"op": "add", "path": "/foo/1", "value": "qux"}]),
            json!({"foo": ["bar", "qux", "baz"]}),
        ),
        (
            json!({"foo": ["bar"]}),
            json!([{"op": "add", "path": "/foo/-", "value": ["abc"]}]),
            json!({"foo": ["bar", ["abc"]]}),
        ),
        (json!({"baz": 1, "foo": 2}), json!([{"op": "remove", "path": "/baz"}]), json!({"foo": 2})),
        (
            json!({"foo": [1, 2, 3]}),
            json!([{"op": "remove", "path": "/foo/1"}]),
            json!({"foo": [1, 3]}),
        ),
        (
            json!({"baz": 1}),
            json!([{"op": "replace", "path": "/baz", "value": "boo"}]),
            json!({"baz": "boo"}),
        ),
        (
            json!({"foo": {"bar": 1, "waldo": 2}, "qux": {}}),
            json!([{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]),
            json!({"foo": {"bar": 1}, "qux": {"thud": 2}}),
        ),
        (
            json!({"foo": [1, 2, 3, 4]}),
            json!([{"op": "move", "from": "/foo/1", "path": "/foo/3"}]),
            json!({"foo": [1, 3, 4, 2]}),
        ),
        (
            json!({"a": [1]}),
            json!([{"op": "copy", "from": "/a", "path": "/b"}]),
            json!({"a": [1], "b": [1]}),
        ),
        (json!({"a": 1}), json!([{"op": "move", "from": "/a", "path": "/a"}]), json!({"a": 1})),
        (json!({"a": 1}), json!([{"op": "add", "path": "", "value": [1]}]), json!([1])),
        (json!({"a": 1}), json!([{"op": "replace", "path": "", "value": 7}]), json!(7)),
        (json!([1]), json!([{"op": "copy", "from": "", "path": "/-"}]), json!([1, [1]])),
        (
            json!({"a~b": {"/": 1}}),
            json!([{"op": "test", "path": "/a~0b/~1", "value": 1}]),
            json!({"a~b": {"/": 1}}),
        ),
        (
            json!({"a": {"b": 1, "c": [1.0]}}),
            json!([{"op": "test", "path": "/a", "value": {"c": [1], "b": 1.0}}]),
            json!({"a": {"b": 1, "c": [1.0]}}),
        ),
        (
            json!({"a": 1}),
            json!([{"op": "add", "path": "/b", "value": null, "more": 1}]),
            json!({"a": 1, "b": null}),
        ),
        (json!({"a": 1}), json!([]), json!({"a": 1})),
    ] {
        assert_eq!(patched(document, operations.clone()), want, "{operations}");
    }
}

#[test]
fn patches_that_cannot_be_applied_say_which_operation_and_why() {
    let document = json!({"a": {"b": [1, 2]}, "s": "text", "n": 9_007_199_254_740_993_u64});
    for (operations, want) in [
        (json!({"op": "add"}), "a patch is a list of operations"),
        (json!([7]), "operation 0 of the patch: an operation is an object"),
        (json!([{"path": "/a"}]), "operation 0 of the patch: `op` is missing"),
        (json!([{"op": "add", "value": 1}]), "operation 0 of the patch: `path` is missing"),
        (
            json!([{"op": "add", "path": 7, "value": 1}]),
            "operation 0 of the patch: `path` is a string",
        ),
        (json!([{"op": "add", "path": "/x"}]), "operation 0 of the patch: `value` is missing"),
        (json!([{"op": "move", "path": "/x"}]), "operation 0 of the patch: `from` is missing"),
        (
            json!([{"op": "spam", "path": "/x"}]),
            "operation 0 of the patch: unknown operation `spam`\nhint: operations are add, remove, replace, move, copy and test",
        ),
        (
            json!([{"op": "add", "path": "x", "value": 1}]),
            "operation 0 of the patch: \"x\" is not a JSON Pointer: it does not begin with `/`",
        ),
        (
            json!([{"op": "remove", "path": "/s"}, {"op": "add", "path": "/a/x/y", "value": 1}]),
            "operation 1 of the patch: there is no value at \"/a/x\"",
        ),
        (
            json!([{"op": "remove", "path": "/x"}]),
            "operation 0 of the patch: there is no value at \"/x\"",
        ),
        (
            json!([{"op": "remove", "path": ""}]),
            "operation 0 of the patch: the whole document cannot be removed",
        ),
        (
            json!([{"op": "replace", "path": "/x", "value": 1}]),
            "operation 0 of the patch: there is no value at \"/x\"",
        ),
        (
            json!([{"op": "add", "path": "/a/b/3", "value": 1}]),
            "operation 0 of the patch: \"/a/b/3\" is not a place in a list of 2 items",
        ),
        (
            json!([{"op": "add", "path": "/a/b/01", "value": 1}]),
            "operation 0 of the patch: \"/a/b/01\" is not a place in a list of 2 items",
        ),
        (
            json!([{"op": "remove", "path": "/a/b/-"}]),
            "operation 0 of the patch: there is no value at \"/a/b/-\"",
        ),
        (
            json!([{"op": "add", "path": "/s/x", "value": 1}]),
            "operation 0 of the patch: \"/s/x\" is in neither an object nor a list",
        ),
        (
            json!([{"op": "copy", "from": "/x", "path": "/y"}]),
            "operation 0 of the patch: there is no value at \"/x\"",
        ),
        (
            json!([{"op": "move", "from": "/a", "path": "/a/b"}]),
            "operation 0 of the patch: a value cannot be moved into itself",
        ),
        (
            json!([{"op": "move", "from": "/x", "path": "/x"}]),
            "operation 0 of the patch: there is no value at \"/x\"",
        ),
        (
            json!([{"op": "test", "path": "/s", "value": "other"}]),
            "operation 0 of the patch: the value at \"/s\" is different",
        ),
        (
            json!([{"op": "test", "path": "/a/b", "value": [2, 1]}]),
            "operation 0 of the patch: the value at \"/a/b\" is different",
        ),
        (
            json!([{"op": "test", "path": "/s", "value": null}]),
            "operation 0 of the patch: the value at \"/s\" is different",
        ),
        (
            json!([{"op": "test", "path": "/n", "value": 9_007_199_254_740_992_u64}]),
            "operation 0 of the patch: the value at \"/n\" is different",
        ),
    ] {
        assert_eq!(refused(document.clone(), operations), want);
    }
}

#[test]
fn equal_numbers_pass_a_test_however_they_are_written() {
    for (number, other, are_equal) in [
        ("1", "1.0", true),
        ("9007199254740992", "9007199254740992.0", true),
        ("18446744073709549568", "18446744073709549568.0", true),
        ("9007199254740993", "9007199254740992.0", false),
        ("1e20", "100000000000000000000.0", true),
        ("-0.0", "0", true),
        ("0.1", "0.25", false),
        ("1", "1.5", false),
    ] {
        let [number, other]: [Value; 2] = [number, other].map(|text| text.parse().unwrap());
        for (there, tested) in [(&number, &other), (&other, &number)] {
            let test = json!([{"op": "test", "path": "/n", "value": tested}]);
            let passed = Patch::parse(&test).unwrap().apply(&json!({"n": there})).is_ok();
            assert_eq!(passed, are_equal, "{there} and {tested}");
        }
    }
}

/// The document at which a pointer with `tokens` tokens ends.
fn deep(tokens: usize, value: Value) -> Value {
    (0..tokens).fold(value, |below, _| json!({"a": below}))
}

#[test]
fn no_change_nests_a_document_deeper_than_the_limit() {
    const MAX: usize = Json::LEVELS_MAX;
    let pointer = |tokens: usize| Pointer::parse(&"/a".repeat(tokens)).unwrap();
    let refused = |result: Result<(), DocumentError>| {
        assert!(result.unwrap_err().to_string().contains("recursion limit"));
    };
    let mut document = json!({});
    pointer(MAX).set(&mut document, json!(1)).unwrap();
    assert_eq!(document, deep(MAX, json!(1)));
    for tokens in [MAX + 1, 1_000_000] {
        refused(pointer(tokens).set(&mut document, json!(1)));
        refused(pointer(tokens).add(&mut document, json!(1)));
    }
    refused(pointer(MAX).set(&mut document, json!([])));
    refused(pointer(MAX).add(&mut document, json!({})));
    refused(pointer(MAX).replace(&mut document, json!([])).map(drop));
    refused(pointer(1).replace(&mut document, deep(MAX, json!(1))).map(drop));
    assert_eq!(document, deep(MAX, json!(1)), "what fails changes nothing");
    pointer(1).replace(&mut document, deep(MAX - 1, json!(2))).unwrap();
    assert_eq!(document, deep(MAX, json!(2)));

    let copies = vec![json!({"op": "copy", "from": "", "path": "/a"}); 100_000];
    let copied = Patch::parse(&Value::from(copies)).unwrap().apply(&json!({}));
    refused(copied.map(drop));
}

/// The examples of RFC 7396, appendix A.
#[test]
fn merges_do_what_the_rfc_says() {
    for (document, changes, want) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), json!(null), json!(null)),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ] {
        assert_eq!(merge(document, &changes), want, "{changes}");
    }
}

#[test]
fn a_field_is_set_with_the_objects_above_it_or_not_at_all() {
    let mut document = json!({"a": 1});
    Pointer::parse("/b/c/d").unwrap().set(&mut document, json!(2)).unwrap();
    assert_eq!(document, json!({"a": 1, "b": {"c": {"d": 2}}}));
    Pointer::parse("/a").unwrap().set(&mut document, json!([1])).unwrap();
    Pointer::parse("/a/-").unwrap().set(&mut document, json!(5)).unwrap();
    Pointer::parse("/a/0").unwrap().set(&mut document, json!(4)).unwrap();
    assert_eq!(document["a"], json!([4, 5]));
    let before = document.clone();
    Pointer::parse("/x/y/0/a/b").unwrap().set(&mut document, json!(1)).unwrap();
    assert_eq!(document["x"], json!({"y": {"0": {"a": {"b": 1}}}}));
    document = before.clone();
    Pointer::parse("/a/-/x").unwrap().set(&mut document, json!(1)).unwrap();
    assert_eq!(document["a"], json!([4, 5, {"x": 1}]));
    document = before.clone();
    assert!(Pointer::parse("/b/c/d/e").unwrap().set(&mut document, json!(1)).is_err());
    assert!(Pointer::parse("/a/9/x").unwrap().set(&mut document, json!(1)).is_err());
    assert_eq!(document, before, "what fails changes nothing");
    let insert =
        |document: &mut Value, at: &str| Pointer::parse(at).unwrap().insert(document, json!(0));
    assert!(insert(&mut document, "/b").is_err());
    assert!(insert(&mut document, "/a/0").is_ok());
    assert_eq!(document["a"], json!([0, 4, 5]));
}

#[test]
fn a_gist_counts_fields_and_their_kinds() {
    let mut gist = Gist::default();
    for document in [
        json!({"a": {"b/c": 1}, "l": [1, 2]}),
        json!({"a": {"b/c": 1.5}}),
        json!({"a": null}),
        json!(7),
    ] {
        gist.add(&document);
    }
    let rows: Vec<String> =
        gist.rows().map(|(field, kind, count)| format!("{field} {kind} {count}")).collect();
    assert_eq!(
        rows,
        [
            " int 1",
            " object 3",
            "/a null 1",
            "/a object 2",
            "/a/b~1c int 1",
            "/a/b~1c float 1",
            "/l list 1"
        ]
    );
}

#[test]
fn values_are_converted_where_nothing_is_lost() {
    use Converted::{Changed, Collided, Missing, Same};
    let int = |int: i128| Scalar::Int(int);
    let text = |text: &str| Scalar::String(text.to_owned());
    for (value, of, want) in [
        (json!(27), FieldType::Int(32), Same(int(27))),
        (json!("27"), FieldType::Int(32), Changed(int(27))),
        (json!(27), FieldType::UInt(32), Same(int(27))),
        (json!("27"), FieldType::UInt(32), Changed(int(27))),
        (json!(27), FieldType::String, Changed(text("27"))),
        (json!("27"), FieldType::String, Same(text("27"))),
        (json!(27.0), FieldType::Int(8), Same(int(27))),
        (json!(27.5), FieldType::Int(8), Collided),
        (json!(128), FieldType::Int(8), Collided),
        (json!(-128), FieldType::Int(8), Same(int(-128))),
        (json!(-1), FieldType::UInt(64), Collided),
        (json!(u64::MAX), FieldType::UInt(64), Same(int(u64::MAX.into()))),
        (json!(u64::MAX), FieldType::Int(64), Collided),
        (json!(1e300), FieldType::Int(64), Collided),
        (json!("x"), FieldType::Int(64), Collided),
        (json!(true), FieldType::Int(8), Changed(int(1))),
        (json!(null), FieldType::Int(8), Missing),
        (json!([1]), FieldType::Int(8), Collided),
        (json!({}), FieldType::String, Collided),
        (json!({"a": [1]}), FieldType::Json, Same(text("{\"a\":[1]}"))),
        (json!(true), FieldType::Bool, Same(Scalar::Bool(true))),
        (json!("false"), FieldType::Bool, Changed(Scalar::Bool(false))),
        (json!(1), FieldType::Bool, Changed(Scalar::Bool(true))),
        (json!(2), FieldType::Bool, Collided),
        (json!(27), FieldType::Float(64), Same(Scalar::Float(27.0))),
        (json!(0.1), FieldType::Float(64), Same(Scalar::Float(0.1))),
        (json!(0.5), FieldType::Float(32), Same(Scalar::Float(0.5))),
        (json!(0.1), FieldType::Float(32), Changed(Scalar::Float(f64::from(0.1_f32)))),
        (json!(1e300), FieldType::Float(32), Collided),
        (json!("1.5"), FieldType::Float(64), Changed(Scalar::Float(1.5))),
        (json!("inf"), FieldType::Float(64), Collided),
        (
            json!(9_007_199_254_740_993_i64),
            FieldType::Float(64),
            Changed(Scalar::Float(9_007_199_254_740_992.0)),
        ),
    ] {
        assert_eq!(convert(Some(&value), of), want, "{value} as {of}");
    }
    assert_eq!(convert(None, FieldType::Bool), Missing);
    for name in ["bool", "int8", "int64", "uint16", "float32", "float64", "str", "json"] {
        assert_eq!(name.parse::<FieldType>().unwrap().to_string(), name);
    }
    assert!("i32".parse::<FieldType>().is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        "[ab~/]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab~/]{0,2}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// All pointers into a document.
fn pointers(document: &Value, at: &Pointer, out: &mut Vec<Pointer>) {
    out.push(at.clone());
    match document {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| pointers(value, &at.child(name), out));
        }
        Value::Array(items) => (0..).zip(items).for_each(|(place, value): (usize, _)| {
            pointers(value, &at.child(&place.to_string()), out)
        }),
        _ => {}
    }
}

/// The changes from one value to another as a merge patch; only of values without nulls.
fn difference(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return new.clone() };
    let mut changes = serde_json::Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        changes.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        match old.get(name) {
            Some(before) if before == value => {}
            Some(before) => drop(changes.insert(name.clone(), difference(before, value))),
            None => drop(changes.insert(name.clone(), value.clone())),
        }
    }
    Value::Object(changes)
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

proptest! {
    #[test]
    fn every_value_is_found_by_its_pointer_and_can_be_removed_and_added_back(document in any_json()) {
        let mut all = Vec::new();
        pointers(&document, &Pointer::default(), &mut all);
        for pointer in all {
            let parsed = Pointer::parse(&pointer.to_string()).unwrap();
            prop_assert_eq!(&parsed, &pointer);
            let value = pointer.get(&document).unwrap().clone();
            if pointer.is_root() {
                continue;
            }
            let at = pointer.to_string();
            let operations = json!([
                {"op": "test", "path": at, "value": value},
                {"op": "remove", "path": at},
                {"op": "add", "path": at, "value": value},
            ]);
            prop_assert_eq!(patched(document.clone(), operations), document.clone());
        }
    }

    #[test]
    fn a_merge_of_the_differences_makes_the_other_document(old in any_json(), new in any_json()) {
        prop_assume!(!has_null(&new));
        let changes = difference(&old, &new);
        prop_assert_eq!(merge(old, &changes), new);
    }
}

#[test]
fn a_document_that_doubles_with_each_copy_meets_a_limit() {
    // Under 128 levels, so that only the limit of bytes ends it.
    let double = |number: usize| json!({"op": "copy", "from": "", "path": format!("/{number}")});
    let patch = Value::Array((0..60).map(double).collect());
    let error = refused(json!({"text": "x".repeat(1000)}), patch);
    assert!(error.ends_with("the copies exceed 64 MiB"), "{error}");
}
