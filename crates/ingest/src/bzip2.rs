//! Decompresses bzip2: one or more streams, as `pbzip2` writes them, with their checksums.
//!
//! # Why not a crate
//! Those with an allowed licence read one stream and silently ignore the next. The format is small,
//! and only decompression is needed.

use std::io::{self, BufRead, Read};

const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;
/// The longest code of a symbol.
const CODE_BITS_MAX: u32 = 20;
/// Symbols that share a code table before the next selector.
const GROUP: usize = 50;

/// A reader of the decompressed bytes.
pub(crate) struct Bzip2Reader<R> {
    bits: Bits<R>,
    /// Bytes of a block at most; 0 before a stream's head.
    block_bytes: usize,
    /// The checksum of all blocks of the stream.
    combined: u32,
    /// The plain bytes of the block, and how far they were read.
    plain: Vec<u8>,
    at: usize,
    ended: bool,
}

struct Bits<R> {
    reader: R,
    held: u64,
    count: u32,
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged bzip2 data: {what}"))
}

impl<R: BufRead> Bits<R> {
    fn take(&mut self, count: u32) -> io::Result<u64> {
        while self.count < count {
            let mut byte = [0];
            self.reader.read_exact(&mut byte)?;
            self.held = self.held << 8 | u64::from(byte[0]);
            self.count += 8;
        }
        self.count -= count;
        Ok(self.held >> self.count & ((1 << count) - 1))
    }

    fn bit(&mut self) -> io::Result<bool> {
        Ok(self.take(1)? == 1)
    }

    /// Whether whole bytes follow.
    fn is_at_end(&mut self) -> io::Result<bool> {
        self.count -= self.count % 8;
        Ok(self.count == 0 && self.reader.fill_buf()?.is_empty())
    }
}

impl<R: BufRead> Bzip2Reader<R> {
    pub(crate) fn new(reader: R) -> Self {
        let bits = Bits { reader, held: 0, count: 0 };
        Self { bits, block_bytes: 0, combined: 0, plain: Vec::new(), at: 0, ended: false }
    }

    /// Reads the next block, the end of a stream or the head of one.
    fn step(&mut self) -> io::Result<()> {
        if self.block_bytes == 0 {
            let head = self.bits.take(24)?;
            let level = self.bits.take(8)?.wrapping_sub(u64::from(b'0'));
            if head != 0x0042_5a68 || !(1..=9).contains(&level) {
                return Err(damaged("no head of a stream"));
            }
            self.block_bytes = 100_000 * level as usize;
            self.combined = 0;
            return Ok(());
        }
        match self.bits.take(48)? {
            BLOCK => self.block(),
            END => {
                if self.bits.take(32)? as u32 != self.combined {
                    return Err(damaged("the checksum of a stream differs"));
                }
                self.block_bytes = 0;
                self.ended = self.bits.is_at_end()?;
                Ok(())
            }
            _ => Err(damaged("no head of a block")),
        }
    }

    fn block(&mut self) -> io::Result<()> {
        let checksum = self.bits.take(32)? as u32;
        if self.bits.bit()? {
            return Err(damaged("a randomised block of a very old version"));
        }
        let origin = self.bits.take(24)? as usize;
        let (bytes, counts) = self.symbols()?;
        if origin >= bytes.len() {
            return Err(damaged("a block begins outside of itself"));
        }
        self.undo_sort(&bytes, &counts, origin);
        if checksum_of(&self.plain) != checksum {
            return Err(damaged("the checksum of a block differs"));
        }
        self.combined = self.combined.rotate_left(1) ^ checksum;
        Ok(())
    }

    /// The sorted bytes of a block, and how often each byte occurs.
    fn symbols(&mut self) -> io::Result<(Vec<u8>, [usize; 256])> {
        let mut front = self.bytes_in_use()?;
        let symbols = front.len() + 2;
        let tables = self.bits.take(3)? as usize;
        let selectors = self.bits.take(15)? as usize;
        if front.is_empty() || !(2..=6).contains(&tables) || selectors == 0 {
            return Err(damaged("the head of a block"));
        }
        let mut order: Vec<usize> = (0..tables).collect();
        let mut chosen = Vec::with_capacity(selectors);
        for _ in 0..selectors {
            let mut place = 0;
            while self.bits.bit()? {
                place += 1;
                if place == tables {
                    return Err(damaged("a selector of a table"));
                }
            }
            order[..=place].rotate_right(1);
            chosen.push(order[0]);
        }
        let tables: Vec<_> = (0..tables).map(|_| self.table(symbols)).collect::<io::Result<_>>()?;
        let mut bytes: Vec<u8> = Vec::new();
        let mut counts = [0; 256];
        let (mut run, mut run_bit) = (0, 1_usize);
        for &table in &chosen {
            for _ in 0..GROUP {
                let symbol = tables[table].next(&mut self.bits)?;
                if symbol <= 1 {
                    // A run of the first byte, in digits of base two that are 1 and 2.
                    run += run_bit << symbol;
                    run_bit <<= 1;
                    if run > self.block_bytes {
                        return Err(damaged("a block is too long"));
                    }
                    continue;
                }
                if bytes.len() + run > self.block_bytes {
                    return Err(damaged("a block is too long"));
                }
                bytes.resize(bytes.len() + run, front[0]);
                counts[usize::from(front[0])] += run;
                (run, run_bit) = (0, 1);
                if symbol == symbols - 1 {
                    return Ok((bytes, counts));
                }
                front[..symbol].rotate_right(1);
                bytes.push(front[0]);
                counts[usize::from(front[0])] += 1;
            }
        }
        Err(damaged("a block without an end"))
    }

    fn bytes_in_use(&mut self) -> io::Result<Vec<u8>> {
        let groups = self.bits.take(16)?;
        let mut used = Vec::new();
        for group in 0..16_u8 {
            if groups >> (15 - group) & 1 == 1 {
                let bits = self.bits.take(16)?;
                used.extend((0..16).filter(|i| bits >> (15 - i) & 1 == 1).map(|i| 16 * group + i));
            }
        }
        Ok(used)
    }

    fn table(&mut self, symbols: usize) -> io::Result<Table> {
        let mut length = self.bits.take(5)? as u32;
        let mut lengths = Vec::with_capacity(symbols);
        for _ in 0..symbols {
            while self.bits.bit()? {
                length = if self.bits.bit()? { length.wrapping_sub(1) } else { length + 1 };
                if !(1..=CODE_BITS_MAX).contains(&length) {
                    return Err(damaged("the length of a code"));
                }
            }
            if !(1..=CODE_BITS_MAX).contains(&length) {
                return Err(damaged("the length of a code"));
            }
            lengths.push(length);
        }
        Ok(Table::new(&lengths))
    }

    /// Undoes the Burrows-Wheeler transform, and the runs that were written before it: four equal
    /// bytes are followed by how many more there are.
    fn undo_sort(&mut self, bytes: &[u8], counts: &[usize; 256], origin: usize) {
        let mut starts = [0; 256];
        let mut sum = 0;
        for (start, count) in starts.iter_mut().zip(counts) {
            *start = sum;
            sum += count;
        }
        let mut next = vec![0_u32; bytes.len()];
        for (i, &byte) in bytes.iter().enumerate() {
            let start = &mut starts[usize::from(byte)];
            next[*start] = i as u32;
            *start += 1;
        }
        self.plain.clear();
        self.at = 0;
        let (mut place, mut equal, mut last) = (next[origin] as usize, 0, None);
        for _ in 0..bytes.len() {
            let byte = bytes[place];
            place = next[place] as usize;
            if equal == 4 {
                let length = self.plain.len() + usize::from(byte);
                self.plain.resize(length, last.unwrap_or_default());
                (equal, last) = (0, None);
                continue;
            }
            equal = if last == Some(byte) { equal + 1 } else { 1 };
            last = Some(byte);
            self.plain.push(byte);
        }
    }
}

impl<R: BufRead> Read for Bzip2Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.plain.len() && !self.ended {
            self.plain.clear();
            self.at = 0;
            self.step()?;
        }
        let length = buffer.len().min(self.plain.len() - self.at);
        buffer[..length].copy_from_slice(&self.plain[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// Codes of symbols: shorter ones are smaller, and those of one length follow each other.
struct Table {
    /// For each length: the first code that is longer, aligned to the left, the first code of this
    /// length, and the place of its symbol.
    lengths: Vec<(u32, u32, usize)>,
    symbols: Vec<usize>,
}

impl Table {
    fn new(lengths: &[u32]) -> Self {
        let (mut code, mut symbols, mut all) = (0_u32, Vec::new(), Vec::new());
        for length in 1..=CODE_BITS_MAX {
            let first = (code, symbols.len());
            symbols.extend((0..lengths.len()).filter(|&symbol| lengths[symbol] == length));
            code = code.saturating_add((symbols.len() - first.1) as u32);
            all.push((code, first.0, first.1));
            code = code.saturating_mul(2);
        }
        Self { lengths: all, symbols }
    }

    fn next<R: BufRead>(&self, bits: &mut Bits<R>) -> io::Result<usize> {
        let mut code = 0;
        for &(end, first, place) in &self.lengths {
            code = code << 1 | bits.take(1)? as u32;
            if code < end && code >= first {
                return Ok(self.symbols[place + (code - first) as usize]);
            }
        }
        Err(damaged("a code without a symbol"))
    }
}

/// The checksum of bzip2: CRC-32 with the highest bit first.
fn checksum_of(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut value = (i as u32) << 24;
            let mut bit = 0;
            while bit < 8 {
                value = if value >> 31 == 1 { value << 1 ^ 0x04c1_1db7 } else { value << 1 };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    let step = |sum: u32, &byte: &u8| sum << 8 ^ TABLE[(sum >> 24) as usize ^ usize::from(byte)];
    !bytes.iter().fold(u32::MAX, step)
}
