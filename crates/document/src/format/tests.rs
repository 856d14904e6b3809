//! Documents in their formats and back, whole files in parts, and bytes that are none.

#![allow(clippy::disallowed_methods, reason = "the thread is the test's own")]

use super::{Format, Splitter};
use model::Json;
use proptest::prelude::*;
use serde_json::{Value, json};

fn json_of(tree: Value) -> Json {
    Json::of_tree(tree).unwrap()
}

/// Objects of fields with any JSON, as each format has them.
fn objects() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("JSON has finite numbers", |x| {
            serde_json::Number::from_f64(x).map(Value::Number)
        }),
        "[a-zé\\n\\PC]{0,8}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |value| {
        prop_oneof![
            prop::collection::vec(value.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,3}", value, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-zé]{0,3}", value, 0..4)
        .prop_map(|fields| json_of(Value::Object(fields.into_iter().collect())))
}

/// The documents of a file that comes in parts of these lengths, repeated.
fn split(format: Format, file: &[u8], lengths: &[usize]) -> Result<Vec<Vec<u8>>, String> {
    let (mut splitter, mut found) = (Splitter::new(format), Vec::new());
    let (mut rest, mut lengths) = (file, lengths.iter().cycle());
    while !rest.is_empty() {
        let (part, after) = rest.split_at((*lengths.next().unwrap()).clamp(1, rest.len()));
        splitter.push(part);
        rest = after;
        while let Some(bytes) = splitter.next_document().map_err(|error| error.to_string())? {
            found.push(bytes.to_vec());
        }
    }
    splitter.end();
    while let Some(bytes) = splitter.next_document().map_err(|error| error.to_string())? {
        found.push(bytes.to_vec());
    }
    Ok(found)
}

proptest! {
    #[test]
    fn each_format_gives_back_what_it_was_given(document in objects()) {
        for &format in Format::ALL {
            let bytes = format.encode(&document).unwrap();
            prop_assert_eq!(&format.decode(&bytes).unwrap(), &document, "{}", format);
        }
    }

    #[test]
    fn a_file_in_any_parts_gives_its_documents(
        documents in prop::collection::vec(objects(), 0..5),
        lengths in prop::collection::vec(1_usize..40, 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        for &format in Format::ALL {
            let mut file = Vec::new();
            let mut ends = vec![0];
            for document in &documents {
                file.extend(format.encode(document).unwrap());
                if format == Format::Json {
                    file.push(b'\n');
                }
                ends.push(file.len());
            }
            let found = split(format, &file, &lengths).unwrap();
            let found = found.iter().map(|bytes| format.decode(bytes).unwrap());
            prop_assert!(found.eq(documents.iter().cloned()), "{}", format);

            let cut = cut.index(file.len() + 1);
            let whole = format == Format::Json || ends.contains(&cut);
            prop_assert_eq!(split(format, &file[..cut], &lengths).is_ok(), whole, "{}", format);
        }
    }

    #[test]
    fn bytes_of_any_kind_are_a_document_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        for &format in Format::ALL {
            if let Ok(document) = format.decode(&bytes) {
                let again = format.encode(&document).unwrap();
                prop_assert_eq!(format.decode(&again).unwrap(), document, "{}", format);
            }
            let _ = split(format, &bytes, &[7]);
        }
    }
}

#[test]
fn messagepack_is_as_its_specification_says() {
    let bytes =
        b"\x87\xA1a\x01\xA1b\xE0\xA1c\xCB\x3F\xE0\0\0\0\0\0\0\xA1d\xC0\xA1e\xC3\xA1f\x92\x01\xA1x\
        \xA1g\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
    let want =
        json!({"a": 1, "b": -32, "c": 0.5, "d": null, "e": true, "f": [1, "x"], "g": u64::MAX});
    assert_eq!(Format::MessagePack.decode(bytes).unwrap(), json_of(want.clone()));
    assert_eq!(Format::MessagePack.encode(&json_of(want)).unwrap(), bytes);
    // 32 bits are read, 64 written.
    assert_eq!(Format::MessagePack.decode(b"\xCA\x3F\0\0\0").unwrap(), json_of(json!(0.5)));
}

#[test]
fn what_json_does_not_have_is_an_error_with_its_place() {
    for (bytes, error) in [
        (&b"\x81\xA1a\x92\x01\xC4\x01x"[..], "binary data, which JSON does not have at \"/a/1\""),
        (b"\x81\x07\x01", "a field whose name is 7, not text"),
        (b"\x91\xCB\x7F\xF8\0\0\0\0\0\0", "the number NaN, which JSON does not have at \"/0\""),
        (b"\x81\xA3a/b\xA1\xFF", "text that is not UTF-8 at \"/a~1b\""),
        (
            b"\x81\xA1t\xD6\xFF\0\0\0\x01",
            "a value of the extension -1, which JSON does not have at \"/t\"",
        ),
        (b"\x01\x02", "this is not MessagePack: 1 bytes follow the document"),
    ] {
        assert_eq!(Format::MessagePack.decode(bytes).unwrap_err().to_string(), error);
    }
}

#[test]
fn documents_nest_as_deep_as_json_and_no_deeper() {
    let nested = |levels: usize| [vec![0x91; levels], vec![0xC0]].concat();
    assert!(Format::MessagePack.decode(&nested(Json::LEVELS_MAX)).is_ok());
    let error = Format::MessagePack.decode(&nested(Json::LEVELS_MAX + 1)).unwrap_err();
    assert_eq!(error.to_string(), "more than 127 lists and objects are nested");
    assert!(Format::MessagePack.decode(&nested(1 << 20)).is_err());
    assert!(split(Format::MessagePack, &nested(1 << 20), &[1 << 16]).is_err());
}

/// The smallest stack that programs give their threads.
const SMALL_BYTES: usize = 128 << 10;

#[test]
fn the_deepest_documents_fit_on_a_small_stack() {
    // Objects outside, as BSON has them.
    let nest = |tree, level| if level % 2 == 0 { json!([tree]) } else { json!({"a": tree}) };
    let document = json_of((1..=Json::LEVELS_MAX).fold(json!("x"), nest));
    let run = move || {
        for &format in Format::ALL {
            assert_eq!(format.decode(&format.encode(&document).unwrap()).unwrap(), document);
        }
    };
    let thread = std::thread::Builder::new().stack_size(SMALL_BYTES).spawn(run).unwrap();
    thread.join().unwrap();
}

#[test]
fn many_messages_in_one_part_are_found_in_one_pass() {
    let file = vec![0x01; 200_000];
    assert_eq!(split(Format::MessagePack, &file, &[200_000]).unwrap().len(), 200_000);
}

#[cfg(feature = "bson")]
mod bson {
    use super::{Format, Json, json, json_of, split};

    /// One field `x` of this type.
    fn field(kind: u8, value: &[u8]) -> Vec<u8> {
        let length = i32::try_from(4 + 3 + value.len() + 1).unwrap();
        [&length.to_le_bytes()[..], &[kind], b"x\0", value, b"\0"].concat()
    }

    #[test]
    fn types_that_json_lacks_are_relaxed_extended_json() {
        let id = b"\x5f\x43\x72\x6f\x69\x64\0\x01\x02\x03\x04\x05";
        for (kind, value, want) in [
            (0x01, &0.5_f64.to_le_bytes()[..], json!(0.5)),
            (0x01, &f64::NAN.to_le_bytes(), json!({"$numberDouble": "NaN"})),
            (0x02, b"\x02\0\0\0a\0", json!("a")),
            (0x05, b"\x01\0\0\0\0z", json!({"$binary": {"base64": "eg==", "subType": "00"}})),
            (0x07, id, json!({"$oid": "5f43726f6964000102030405"})),
            (0x08, b"\x01", json!(true)),
            (0x09, &1000_i64.to_le_bytes(), json!({"$date": "1970-01-01T00:00:01Z"})),
            (0x0A, b"", json!(null)),
            (0x0B, b"a\0i\0", json!({"$regularExpression": {"pattern": "a", "options": "i"}})),
            (0x10, &(-7_i32).to_le_bytes(), json!(-7)),
            (0x12, &(1_i64 << 60).to_le_bytes(), json!(1_i64 << 60)),
            (0xFF, b"", json!({"$minKey": 1})),
        ] {
            let bytes = field(kind, value);
            let document = Format::Bson.decode(&bytes).unwrap();
            assert_eq!(document, json_of(json!({"x": want})));
            assert_eq!(Format::Bson.encode(&document).unwrap(), bytes, "{document:?}");
        }
    }

    #[test]
    fn what_bson_does_not_have_is_an_error() {
        for (document, error) in [
            (json!([1]), "BSON has objects at the top, and no other values"),
            (
                json!({"x": u64::MAX}),
                "a value without a form in BSON: 18446744073709551615 exceeds",
            ),
            (json!({"x": [{"$oid": 7}]}), "a value without a form in BSON: "),
            (json!({"a\0b": 7}), "a value without a form in BSON: "),
            (json!({"a\0b": {}}), "a value without a form in BSON: "),
        ] {
            let found = Format::Bson.encode(&json_of(document.clone())).map_err(|e| e.to_string());
            assert!(
                found.as_ref().is_err_and(|found| found.starts_with(error)),
                "{document}: {found:?}"
            );
        }
        let error = split(Format::Bson, b"\x04\0\0\0\0", &[9]).unwrap_err();
        assert_eq!(error, "this is not BSON: a document of 4 bytes");
    }

    #[test]
    fn objects_in_objects_nest_as_deep_as_json_and_no_deeper() {
        let nested = |levels: usize| {
            (1..levels).fold(b"\x05\0\0\0\0".to_vec(), |inner, _| field(0x03, &inner))
        };
        assert!(Format::Bson.decode(&nested(Json::LEVELS_MAX)).is_ok());
        for levels in [Json::LEVELS_MAX + 1, 20_000] {
            let error = Format::Bson.decode(&nested(levels)).unwrap_err().to_string();
            assert_eq!(error, "more than 127 lists and objects are nested");
        }
    }
}
