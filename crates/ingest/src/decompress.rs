//! Decompression of gzip, Zstandard, bzip2, xz, LZ4 and zip, which are detected by the first bytes
//! and not by a file name.
//!
//! # Invariants
//! 1. A stream that ends in the middle is an error, never the end of the input.
//! 2. Streams of several parts are read to their end; zeros after gzip, as tapes pad it, are
//!    no part.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use crate::{bzip2::Bzip2Reader, zip::ZipReader};

/// The compression of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    Plain,
    /// Gzip, with one or more members.
    Gzip,
    /// Zstandard, with one or more frames.
    Zstd,
    /// Bzip2, with one or more streams.
    Bzip2,
    /// Xz, with one or more streams.
    Xz,
    /// LZ4, with one or more frames.
    Lz4,
    /// A zip archive of one file.
    Zip,
}

/// Bytes that are needed to detect the compression.
const MAGIC_BYTES: usize = 6;

/// Compressed bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// The largest window that a Zstandard stream may request, as a power of two: 128 MiB. It bounds
/// the memory that a malicious file can take, and is what `zstd --long` writes.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Memory of an xz decoder in KiB: dictionaries of up to 128 MiB, above the 64 MiB of `xz -9`.
const XZ_KIB_MAX: u32 = 144 << 10;

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lz4 => "LZ4",
            Self::Zip => "zip",
        })
    }
}

impl Compression {
    /// The compression of a stream that starts with `head`; six bytes are enough.
    pub fn detect(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A skippable frame may come first.
            [low, 0x2a, 0x4d, 0x18, ..] if low & 0xf0 == 0x50 => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x04, 0x22, 0x4d, 0x18, ..] => Self::Lz4,
            [b'P', b'K', 3, 4, ..] => Self::Zip,
            _ => Self::Plain,
        }
    }
}

/// Returns the compression of `reader`, and a reader of the decompressed bytes.
///
/// A reader of a Zstandard stream holds up to 128 MiB.
///
/// # Errors
/// The first bytes cannot be read, or there is no memory for the decompressor. Damage further into
/// a stream is an error of the returned reader.
pub fn decompressor<'a, R: Read + Send + 'a>(
    mut reader: R,
) -> io::Result<(Compression, Box<dyn Read + Send + 'a>)> {
    let mut head = Vec::with_capacity(MAGIC_BYTES);
    reader.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut head)?;
    let compression = Compression::detect(&head);
    let whole = io::Cursor::new(head).chain(reader);
    if compression == Compression::Plain {
        return Ok((compression, Box::new(whole)));
    }
    let buffered = BufReader::with_capacity(READ_BYTES, whole);
    let plain: Box<dyn Read + Send + 'a> = match compression {
        Compression::Plain => Box::new(buffered),
        Compression::Gzip => Box::new(Parts::new(buffered, flate2::bufread::GzDecoder::new)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
        Compression::Bzip2 => Box::new(Bzip2Reader::new(buffered)),
        Compression::Xz => {
            Box::new(lzma_rust2::XzReader::new_mem_limit(buffered, true, XZ_KIB_MAX))
        }
        Compression::Lz4 => Box::new(Parts::new(buffered, Lz4Frame::new)),
        Compression::Zip => Box::new(ZipReader::new(buffered)),
    };
    Ok((compression, plain))
}

/// A decoder of one part of a stream.
trait Part<R>: Read {
    /// The reader after the part.
    fn finish(self) -> io::Result<R>;
}

impl<R: BufRead> Part<R> for flate2::bufread::GzDecoder<R> {
    fn finish(self) -> io::Result<R> {
        Ok(self.into_inner())
    }
}

/// A frame of LZ4. Its decoder takes the end of the input for the end of a frame, so the mark at
/// the end is looked for here.
struct Lz4Frame<R: Read>(lz4_flex::frame::FrameDecoder<LastBytes<R>>);

impl<R: BufRead> Lz4Frame<R> {
    fn new(reader: R) -> Self {
        Self(lz4_flex::frame::FrameDecoder::new(LastBytes { reader, last: 0 }))
    }
}

impl<R: BufRead> Read for Lz4Frame<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: BufRead> Part<R> for Lz4Frame<R> {
    fn finish(self) -> io::Result<R> {
        let LastBytes { reader, last } = self.0.into_inner();
        // Four zeros, and perhaps a checksum of four bytes.
        match last as u32 == 0 || last >> 32 == 0 {
            true => Ok(reader),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Remembers the last eight bytes that were read.
struct LastBytes<R> {
    reader: R,
    last: u64,
}

impl<R: Read> Read for LastBytes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        for &byte in &buffer[read.saturating_sub(8)..read] {
            self.last = self.last << 8 | u64::from(byte);
        }
        Ok(read)
    }
}

/// The parts of a stream, one after the other. Zeros after a part are skipped.
struct Parts<R, P> {
    part: Option<P>,
    open: fn(R) -> P,
}

impl<R: BufRead, P: Part<R>> Parts<R, P> {
    fn new(reader: R, open: fn(R) -> P) -> Self {
        Self { part: Some(open(reader)), open }
    }
}

impl<R: BufRead, P: Part<R>> Read for Parts<R, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(part) = &mut self.part {
            let read = part.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let Some(part) = self.part.take() else { break };
            let mut reader = part.finish()?;
            loop {
                let bytes = reader.fill_buf()?;
                let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
                let (is_end, is_padding) = (bytes.is_empty(), zeros == bytes.len());
                reader.consume(zeros);
                if is_end {
                    return Ok(0);
                }
                if !is_padding {
                    break;
                }
            }
            self.part = Some((self.open)(reader));
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd_long(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder.long_distance_matching(true).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[track_caller]
    fn check(stream: &[u8], want: Compression, plain: &[u8]) {
        let (found, mut reader) = decompressor(stream).unwrap();
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!((found, bytes.as_slice()), (want, plain));
    }

    #[test]
    fn streams_of_several_parts_are_read_to_the_end() {
        check(b"1,2\n3,4\n", Compression::Plain, b"1,2\n3,4\n");
        check(&[gzip(b"1,2\n"), gzip(b"3,4\n")].concat(), Compression::Gzip, b"1,2\n3,4\n");
        check(
            &[zstd_long(b"1,2\n"), zstd_long(b"3,4\n")].concat(),
            Compression::Zstd,
            b"1,2\n3,4\n",
        );
    }

    #[test]
    fn every_compression_is_read_and_a_cut_one_is_an_error() {
        let text = b"1,2\n3,4\n".repeat(3000);
        macro_rules! file {
            ($name:literal) => {
                &include_bytes!(concat!("../tests/compressed/", $name))[..]
            };
        }
        for (bytes, want) in [
            (file!("numbers.bz2"), Compression::Bzip2),
            (file!("numbers.xz"), Compression::Xz),
            (file!("numbers.lz4"), Compression::Lz4),
            (file!("numbers.zip"), Compression::Zip),
            (file!("stored.zip"), Compression::Zip),
            (file!("streamed.zip"), Compression::Zip),
        ] {
            check(bytes, want, &text);
            let end = if want == Compression::Zip { bytes.len() - 100 } else { bytes.len() - 1 };
            for cut in (MAGIC_BYTES..end).step_by(7).chain([end]) {
                let (_, mut reader) = decompressor(&bytes[..cut]).unwrap();
                assert!(reader.read_to_end(&mut Vec::new()).is_err(), "{want} cut to {cut}");
            }
            let two = [bytes, bytes].concat();
            if want != Compression::Zip {
                check(&two, want, &[text.clone(), text.clone()].concat());
            }
        }
    }

    #[test]
    fn zeros_after_gzip_are_no_part_of_it() {
        check(&[gzip(b"1,2\n"), vec![0; 700]].concat(), Compression::Gzip, b"1,2\n");
        let other = [gzip(b"1,2\n"), b"x".to_vec()].concat();
        let (_, mut reader) = decompressor(&other[..]).unwrap();
        assert!(reader.read_to_end(&mut Vec::new()).is_err());
    }

    #[test]
    fn streams_shorter_than_the_magic_are_plain() {
        for text in ["", "1", "1 2"] {
            check(text.as_bytes(), Compression::Plain, text.as_bytes());
        }
    }

    #[test]
    fn a_cut_stream_is_an_error() {
        for stream in [gzip(&[b'x'; 5000]), zstd_long(&[b'x'; 5000])] {
            let (_, mut reader) = decompressor(&stream[..stream.len() - 5]).unwrap();
            assert!(reader.read_to_end(&mut Vec::new()).is_err());
        }
    }
}
