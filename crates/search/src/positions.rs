//! Positions of a word in a document, encoded as the differences between them.
//!
//! ```text
//! positions := (position - previous:varint)*     ascending, the first minus 0
//! ```

use base::varint;

/// Encodes ascending positions.
#[must_use]
pub fn encode_positions(positions: &[u32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(positions.len());
    let mut last = 0;
    for &position in positions {
        varint::put(&mut out, u64::from(position.wrapping_sub(last)));
        last = position;
    }
    out
}

/// Decodes positions; `None` if the bytes are not a valid encoding.
#[must_use]
pub fn decode_positions(mut bytes: &[u8]) -> Option<Vec<u32>> {
    let (mut positions, mut last) = (Vec::new(), 0_u32);
    while !bytes.is_empty() {
        let step = u32::try_from(varint::take(&mut bytes)?).ok()?;
        last = last.checked_add(step)?;
        positions.push(last);
    }
    Some(positions)
}
