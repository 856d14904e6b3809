//! Decompression of gzip and Zstandard, which are detected by the first bytes and not by a file
//! name.

use std::io::{self, BufReader, Read};

/// The compression of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    Plain,
    /// Gzip, with one or more members.
    Gzip,
    /// Zstandard, with one or more frames.
    Zstd,
}

/// Bytes that are needed to detect the compression.
const MAGIC_BYTES: usize = 4;

/// Compressed bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// The largest window that a Zstandard stream may request, as a power of two: 128 MiB. It bounds
/// the memory that a malicious file can take, and is what `zstd --long` writes.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

impl Compression {
    /// The compression of a stream that starts with `head`; four bytes are enough.
    pub fn detect(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A skippable frame may come first.
            [low, 0x2a, 0x4d, 0x18, ..] if low & 0xf0 == 0x50 => Self::Zstd,
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
    let plain: Box<dyn Read + Send + 'a> = match compression {
        Compression::Plain => Box::new(whole),
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(
            BufReader::with_capacity(READ_BYTES, whole),
        )),
        Compression::Zstd => {
            let buffered = BufReader::with_capacity(READ_BYTES, whole);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
    };
    Ok((compression, plain))
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
