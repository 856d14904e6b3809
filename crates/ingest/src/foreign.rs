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
    refuse_other_texts(head, file)?;
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

/// Refuses texts of other formats: as columns they would be edges between brackets and words.
fn refuse_other_texts(head: &[u8], file: &str) -> Result<(), InputError> {
    let looked_at = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let starts = |mark: &[u8]| {
        looked_at.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark))
    };
    let (found, hint) = if starts(b"<!doctype") || starts(b"<html") {
        ("an HTML page", "the download may have failed; open the file to see what it says")
    } else if starts(b"<?xml") {
        ("XML that is neither GraphML nor GEXF", "export the edges as CSV")
    } else if is_json(looked_at) {
        ("JSON", "parse it, and import a list of its pairs or a dict of its columns")
    } else if starts(b"version https://git-lfs.github.com/") {
        ("a pointer of Git LFS", "`git lfs pull` fetches the file itself")
    } else if is_with_returns_alone(head) {
        let found = "lines that end with a carriage return alone";
        (found, "write them with line feeds, as by tr '\\r' '\\n'")
    } else {
        return Ok(());
    };
    Err(InputError::whole(file, "a text of edges", found).hint(hint))
}

/// Whether a text begins as an object or a list of JSON. A name in brackets, such as `[deleted]`,
/// does not.
fn is_json(text: &[u8]) -> bool {
    let Some((first, rest)) = text.split_first() else { return false };
    let next = rest.trim_ascii_start().first();
    match first {
        b'{' => matches!(next, Some(b'"' | b'}')),
        b'[' => matches!(next, Some(b'[' | b'{' | b'"' | b']' | b'-' | b'0'..=b'9')),
        _ => false,
    }
}

/// Whether lines end as on old Macs: with `\r` and without `\n`.
fn is_with_returns_alone(text: &[u8]) -> bool {
    let inside = text.get(..text.len().saturating_sub(1)).unwrap_or_default();
    memchr::memchr(b'\r', inside).is_some() && memchr::memchr(b'\n', text).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, found: &str) {
        let refused = refuse(text.as_bytes(), "x").map_err(|error| error.found);
        assert_eq!(
            refused,
            if found.is_empty() { Ok(()) } else { Err(found.to_owned()) },
            "{text}"
        );
    }

    #[test]
    fn texts_of_other_formats_are_refused_by_what_they_are() {
        check("[{\"source\": 1, \"target\": 2}]", "JSON");
        check("[1, 2]\n[2, 3]\n", "JSON");
        check("{\n \"nodes\": []}", "JSON");
        check("\u{feff} <!DOCTYPE html><p>404, sorry", "an HTML page");
        check("<?xml version=\"1.0\"?><foo/>", "XML that is neither GraphML nor GEXF");
        check(
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n",
            "a pointer of Git LFS",
        );
        check("1 2\r2 3\r", "lines that end with a carriage return alone");
    }

    #[test]
    fn edges_that_look_a_little_like_them_are_not_refused() {
        check("[deleted],ann\n", "");
        check("{a},{b}\n", "");
        check("<ann>,<bob>\n", "");
        check("1 2\r\n2 3\r\n", "");
        check("1 2\r", "");
        check("version 2\n", "");
    }
}
