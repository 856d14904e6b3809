//! Decodes one item of an encoded list. The others are skipped, so that memory follows the item and
//! not the list.

use super::{
    BYTES, DATE, DEPTH_MAX, DURATION, DecodeError, FALSE, JSON, LIST, NULL, NUMBER, STRING,
    TIMESTAMP, TRUE, UUID, VALIDITY, VECTOR, before_zero, decimal, decode, take, wrong,
};
use crate::number;
use crate::value::Value;

/// The result of looking up an index in an encoded value.
#[derive(Clone, Debug, PartialEq)]
pub enum ListItem {
    /// The item.
    Item(Value),
    /// Nothing: the list is shorter.
    Outside,
    /// The value is not a list.
    NotAList,
}

/// Decodes the item at an index of the list that `bytes` start with. Negative indexes count from
/// the end. Takes time by the items up to that one, by all items if the index is negative.
///
/// # Errors
/// [`DecodeError`] if the bytes do not encode a value up to the end of that item.
pub fn decode_list_item(bytes: &[u8], index: i64) -> Result<ListItem, DecodeError> {
    let mut rest = bytes;
    if take::<1>(&mut rest)?[0] != LIST {
        return Ok(ListItem::NotAList);
    }
    let items = rest;
    let from_start = match u64::try_from(index) {
        Ok(index) => index,
        Err(_) => {
            let len = skip_items(&mut rest, u64::MAX, 1)?;
            match len.checked_sub(index.unsigned_abs()) {
                Some(index) => index,
                None => return Ok(ListItem::Outside),
            }
        }
    };
    rest = items;
    skip_items(&mut rest, from_start, 1)?;
    match rest.first() {
        Some(0) => Ok(ListItem::Outside),
        _ => decode(&mut rest, 1).map(ListItem::Item),
    }
}

/// Skips at most this many items, and stops before the end of the list. Returns how many.
fn skip_items(bytes: &mut &[u8], max: u64, depth: usize) -> Result<u64, DecodeError> {
    let mut skipped = 0;
    while skipped < max && bytes.first() != Some(&0) {
        skip(bytes, depth)?;
        skipped += 1;
    }
    Ok(skipped)
}

/// Advances past a value. Text is not checked to be UTF-8, nor the fraction of a decimal.
fn skip(bytes: &mut &[u8], depth: usize) -> Result<(), DecodeError> {
    if depth > DEPTH_MAX {
        return Err(wrong(bytes, "lists nest too deep"));
    }
    match take::<1>(bytes)?[0] {
        NULL | FALSE | TRUE => Ok(()),
        NUMBER => {
            take::<8>(bytes)?;
            match u16::from_be_bytes(take(bytes)?) {
                number::DECIMAL => decimal::skip(bytes),
                _ => Ok(()),
            }
        }
        STRING | BYTES | JSON => skip_escaped(bytes),
        UUID => take::<16>(bytes).map(drop),
        LIST => {
            skip_items(bytes, u64::MAX, depth + 1)?;
            take::<1>(bytes).map(drop)
        }
        VECTOR => skip_vector(bytes),
        VALIDITY => take::<9>(bytes).map(drop),
        DATE => take::<4>(bytes).map(drop),
        TIMESTAMP | DURATION => take::<8>(bytes).map(drop),
        _ => Err(wrong(bytes, "an unknown tag")),
    }
}

fn skip_escaped(bytes: &mut &[u8]) -> Result<(), DecodeError> {
    loop {
        before_zero(bytes)?;
        match take::<2>(bytes)?[1] {
            0 => return Ok(()),
            0xff => {}
            _ => return Err(wrong(bytes, "a zero is not escaped")),
        }
    }
}

fn skip_vector(bytes: &mut &[u8]) -> Result<(), DecodeError> {
    let width = take::<1>(bytes)?[0];
    loop {
        match (take::<1>(bytes)?[0], width) {
            (0, _) => return Ok(()),
            (1, 1) => drop(take::<4>(bytes)?),
            (1, 2) => drop(take::<8>(bytes)?),
            _ => return Err(wrong(bytes, "a vector goes on with neither 0 nor 1")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode_value;
    use super::super::tests::value;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_item_is_that_of_the_whole_list(
            items in proptest::collection::vec(value(), 0..6),
            index in -8_i64..8,
        ) {
            let mut bytes = Vec::new();
            encode_value(&Value::List(items.clone()), &mut bytes);
            let at = if index < 0 { index + items.len() as i64 } else { index };
            let expected = match usize::try_from(at).ok().and_then(|at| items.get(at)) {
                Some(item) => {
                    let mut bytes = Vec::new();
                    encode_value(item, &mut bytes);
                    ListItem::Item(decode(&mut bytes.as_slice(), 0).unwrap())
                }
                None => ListItem::Outside,
            };
            prop_assert_eq!(decode_list_item(&bytes, index), Ok(expected));
        }

        #[test]
        fn bytes_that_end_early_are_an_error(
            items in proptest::collection::vec(value(), 1..4),
            cut in any::<proptest::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            encode_value(&Value::List(items), &mut bytes);
            let cut = cut.index(bytes.len());
            prop_assert!(decode_list_item(&bytes[..cut], -1).is_err());
        }
    }

    #[test]
    fn a_value_of_another_kind_is_not_a_list() {
        let mut bytes = Vec::new();
        encode_value(&Value::Str("a".to_owned()), &mut bytes);
        assert_eq!(decode_list_item(&bytes, 0), Ok(ListItem::NotAList));
    }
}
