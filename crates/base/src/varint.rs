//! LEB128 variable-length integers, for formats where most numbers are small: tables, log records,
//! the manifest and keyspace definitions. They are on disk, so the encoding is fixed.

/// Appends `value` with 7 bits per byte, low bits first; 1 to 10 bytes.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Decodes an integer and advances `bytes` past it. `None` if the bytes end early or the value
/// overflows 64 bits.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (i, &byte) in bytes.iter().enumerate().take(10) {
        let part = u64::from(byte & 0x7f);
        if i == 9 && part > 1 {
            return None;
        }
        value |= part << (7 * i);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(value);
        }
    }
    None
}

/// Appends the length of `bytes` as a varint, then the bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Decodes a byte string from [`put_bytes`] and advances `bytes` past it.
pub fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take(bytes)?).ok()?;
    let (head, tail) = bytes.split_at_checked(len)?;
    *bytes = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_power_of_two_comes_back_whole() {
        for shift in 0..64 {
            for value in [(1_u64 << shift) - 1, 1 << shift, u64::MAX] {
                let mut out = Vec::new();
                put(&mut out, value);
                let mut rest = out.as_slice();
                assert_eq!(take(&mut rest), Some(value));
                assert!(rest.is_empty());
            }
        }
    }

    #[test]
    fn a_cut_or_overlong_integer_is_refused() {
        assert_eq!(take(&mut [0x80_u8, 0x80].as_slice()), None);
        assert_eq!(take(&mut [0xff_u8; 10].as_slice()), None);
        assert_eq!(take_bytes(&mut [5_u8, 1, 2].as_slice()), None);
    }
}
