//! Refuses files that are certainly not a text of edges, with a better message than a parse would
//! give.

use crate::decompress::Compression;
use crate::error::InputError;

/// Bytes in which control characters are looked for.
const LOOKED_AT_BYTES: usize = 4 << 10;

/// # Errors
/// The bytes are those of another kind of file, or no text.
pub(crate) fn refuse(head: &[u8], file: &str) -> Result<(), InputError> {
    let kinds: [(&[u8], &str, &str); 6] = [
        (b"PAR1", "a Parquet file", "import it as Parquet"),
        (b"ARROW1", "an Arrow file", "read it with Arrow and import the table"),
        (b"\xff\xfe", "UTF-16 text", "convert it to UTF-8"),
        (b"\xfe\xff", "UTF-16 text", "convert it to UTF-8"),
        (b"SQLite format 3\0", "an SQLite database", "export the edges as CSV"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "export the edges as CSV or Parquet"),
    ];
    for (magic, found, hint) in kinds {
        if head.starts_with(magic) {
            return Err(InputError::whole(file, "a text of edges", found).hint(hint));
        }
    }
    if Compression::detect(head) != Compression::Plain {
        let found = "compressed data inside of compressed data";
        let hint = "the file was compressed twice; decompress it once";
        return Err(InputError::whole(file, "a text of edges", found).hint(hint));
    }
    let looked_at = &head[..head.len().min(LOOKED_AT_BYTES)];
    let is_binary =
        |&byte: &u8| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    match looked_at.iter().position(is_binary) {
        None => Ok(()),
        Some(at) => {
            let found = format!("binary data: byte {} is {:#04x}", at + 1, looked_at[at]);
            Err(InputError::whole(file, "a text of edges", found))
        }
    }
}
