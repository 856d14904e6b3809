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
    append_positions(positions.iter().copied(), &mut out);
    out
}

/// Appends encoded positions, which ascend.
pub fn append_positions(positions: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let mut last = 0;
    for position in positions {
        varint::put(out, u64::from(position.wrapping_sub(last)));
        last = position;
    }
}

/// Decodes positions; `None` if the bytes are not a valid encoding.
#[must_use]
pub fn decode_positions(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut positions = Vec::new();
    decode_to(bytes, &mut positions)?;
    Some(positions)
}

/// Appends decoded positions.
fn decode_to(mut bytes: &[u8], out: &mut Vec<u32>) -> Option<()> {
    let mut last = 0_u32;
    while !bytes.is_empty() {
        let step = u32::try_from(varint::take(&mut bytes)?).ok()?;
        last = last.checked_add(step)?;
        out.push(last);
    }
    Some(())
}

/// The positions of a word in each of many documents, in one allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionLists {
    positions: Vec<u32>,
    /// The end of each list in `positions`.
    ends: Vec<usize>,
}

impl PositionLists {
    /// Adds the positions of a document, ascending.
    pub fn push(&mut self, positions: &[u32]) {
        self.positions.extend_from_slice(positions);
        self.ends.push(self.positions.len());
    }

    /// Adds encoded positions of a document; `None` if the bytes are not a valid encoding.
    pub fn push_encoded(&mut self, bytes: &[u8]) -> Option<()> {
        decode_to(bytes, &mut self.positions)?;
        self.ends.push(self.positions.len());
        Some(())
    }

    /// The positions in a document; none if they were not read.
    #[must_use]
    pub fn get(&self, document: usize) -> &[u32] {
        let Some(&end) = self.ends.get(document) else { return &[] };
        let start = document.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.positions[start..end]
    }
}
