//! The objects of count-db's third test: two words and how often they followed one another,
//! serialised.
//!
//! ```text
//! object := count:u64 le  length of the first word:u8  both words
//! ```

use crate::store::{Result, Rows};

/// Bytes before the words.
const HEAD: usize = 9;

/// The object of a key, counted once. Its words are made of the key: as long as English ones, and
/// always the same.
pub fn of(key: u64, out: &mut Vec<u8>) {
    let (first, second) = (2 + (key % 7) as usize, 2 + (key / 7 % 7) as usize);
    out.clear();
    out.extend_from_slice(&1_u64.to_le_bytes());
    out.push(first as u8);
    let letter = |i: usize| b'a' + (key >> (4 * i % 61) & 15) as u8;
    out.extend((0..first + second).map(letter));
}

/// Appends the one object that two of a key make. Nothing and an object make the object.
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

/// What an object counts; nothing counts nothing.
pub fn count(object: &[u8]) -> Result<u64> {
    match object.first_chunk() {
        Some(count) if object.len() > HEAD => Ok(u64::from_le_bytes(*count)),
        None if object.is_empty() => Ok(0),
        _ => Err("no object".into()),
    }
}

/// Objects combined by key, in key order.
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
