//! The serialized objects of count-db's third test: two words, and how often the second followed
//! the first.
//!
//! ```text
//! object := count:u64 le  length of the first word:u8  both words
//! ```

use crate::store::{Result, Rows};

/// Bytes before the words.
const HEAD: usize = 9;

/// The object of a key with count 1. Its words are derived from the key, so they are always the
/// same, and are as long as English ones.
pub fn of(key: u64, out: &mut Vec<u8>) {
    let (first, second) = (2 + (key % 7) as usize, 2 + (key / 7 % 7) as usize);
    out.clear();
    out.extend_from_slice(&1_u64.to_le_bytes());
    out.push(first as u8);
    let letter = |i: usize| b'a' + (key >> (4 * i % 61) & 15) as u8;
    out.extend((0..first + second).map(letter));
}

/// Appends the combination of two objects of a key. An empty object is neutral.
pub fn combine(old: &[u8], new: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if old.is_empty() {
        out.extend_from_slice(new);
        return Ok(());
    }
    if old.len() != new.len() {
        return Err("objects of one key have other words".into());
    }
    let sum = count(old)? + count(new)?;
    out.extend_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(&new[8..]);
    Ok(())
}

/// The count of an object; an empty object counts 0.
pub fn count(object: &[u8]) -> Result<u64> {
    match object.first_chunk() {
        Some(count) if object.len() > HEAD => Ok(u64::from_le_bytes(*count)),
        None if object.is_empty() => Ok(0),
        _ => Err("no object".into()),
    }
}

/// Combines objects by key; returns them in key order.
pub fn sums(objects: &Rows) -> Result<Rows> {
    let mut order: Vec<u32> = (0..objects.len() as u32).collect();
    order.sort_unstable_by_key(|&i| objects.keys[i as usize]);
    let (mut sums, mut sum, mut made) = (Rows::default(), Vec::new(), Vec::new());
    let mut order = order.into_iter().map(|i| i as usize).peekable();
    while let Some(i) = order.next() {
        let key = objects.keys[i];
        sum.clear();
        sum.extend_from_slice(objects.values.get(i));
        while let Some(next) = order.next_if(|&next| objects.keys[next] == key) {
            made.clear();
            combine(&sum, objects.values.get(next), &mut made)?;
            std::mem::swap(&mut sum, &mut made);
        }
        sums.push(key, &sum);
    }
    Ok(sums)
}
