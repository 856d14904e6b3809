//! Decompresses a zip archive of one file, as it comes, without seeking.
//!
//! The head of each file is before its bytes, so the list at the end of the archive is not needed.
//! An archive of several files is refused: which of them has the edges is not guessed.

use std::io::{self, BufRead, Read};

use flate2::{Crc, bufread::DeflateDecoder};

const FILE: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const HEAD_BYTES: usize = 30;

/// A reader of the only file's bytes.
pub(crate) struct ZipReader<R> {
    state: State<R>,
    crc: Crc,
    /// The checksum of the head, unless it follows the bytes.
    expected: Option<u32>,
}

enum State<R> {
    /// Before the head of the next file; whether the file with edges was read.
    Head(R, bool),
    Stored(io::Take<R>),
    Deflated(Box<DeflateDecoder<R>>),
    Ended,
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("zip archive: {what}"))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

impl<R: BufRead> ZipReader<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { state: State::Head(reader, false), crc: Crc::new(), expected: None }
    }

    /// Reads heads up to the next file with bytes, or to the list at the end.
    fn head(&mut self, mut reader: R, done: bool) -> io::Result<State<R>> {
        let mut mark = [0; 4];
        reader.read_exact(&mut mark)?;
        if u32::from_le_bytes(mark) != FILE {
            return match done {
                true => Ok(State::Ended),
                false => Err(damaged("it holds no file")),
            };
        }
        let mut head = [0; HEAD_BYTES - 4];
        reader.read_exact(&mut head)?;
        let (flags, method) = (u16_at(&head, 2), u16_at(&head, 4));
        let (crc, packed) = (u32_at(&head, 10), u32_at(&head, 14));
        let mut name = vec![0; usize::from(u16_at(&head, 22))];
        reader.read_exact(&mut name)?;
        let extra = u64::from(u16_at(&head, 24));
        io::copy(&mut reader.by_ref().take(extra), &mut io::sink())?;
        let follows = flags & 8 != 0;
        let is_folder = name.ends_with(b"/") || name.starts_with(b"__MACOSX/");
        if is_folder && !follows {
            io::copy(&mut reader.by_ref().take(u64::from(packed)), &mut io::sink())?;
            return self.head(reader, done);
        }
        if done {
            return Err(damaged("it holds several files\nhint: unpack it, and import one of them"));
        }
        if flags & 1 != 0 {
            return Err(damaged("it is encrypted"));
        }
        self.expected = (!follows).then_some(crc);
        match method {
            0 if !follows && packed != u32::MAX => Ok(State::Stored(reader.take(packed.into()))),
            8 => Ok(State::Deflated(Box::new(DeflateDecoder::new(reader)))),
            _ => Err(damaged("its compression is not known\nhint: unpack it first")),
        }
    }

    /// After the bytes: compares the checksum.
    fn tail(&mut self, mut reader: R) -> io::Result<State<R>> {
        let expected = match self.expected {
            Some(crc) => crc,
            None => {
                let mut word = [0; 4];
                reader.read_exact(&mut word)?;
                if u32::from_le_bytes(word) == DESCRIPTOR {
                    reader.read_exact(&mut word)?;
                }
                let crc = u32::from_le_bytes(word);
                // Two lengths follow, of 32 or, in large files, of 64 bits.
                let mut lengths = [0; 8];
                reader.read_exact(&mut lengths)?;
                let next = reader.fill_buf()?;
                if !next.starts_with(b"PK") {
                    reader.read_exact(&mut lengths)?;
                }
                crc
            }
        };
        if expected != self.crc.sum() {
            return Err(damaged("the checksum of its file differs"));
        }
        Ok(State::Head(reader, true))
    }
}

impl<R: BufRead> Read for ZipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::Head(reader, done) => self.head(reader, done)?,
                State::Stored(mut bytes) => {
                    let read = bytes.read(buffer)?;
                    if read == 0 && bytes.limit() > 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.crc.update(&buffer[..read]);
                    if read > 0 {
                        self.state = State::Stored(bytes);
                        return Ok(read);
                    }
                    self.tail(bytes.into_inner())?
                }
                State::Deflated(mut bytes) => {
                    let read = bytes.read(buffer)?;
                    self.crc.update(&buffer[..read]);
                    if read > 0 {
                        self.state = State::Deflated(bytes);
                        return Ok(read);
                    }
                    self.tail(bytes.into_inner())?
                }
            };
        }
    }
}
