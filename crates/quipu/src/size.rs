//! Parses sizes in bytes, such as `512MB`. `py` and `cli` use it.

use store::{Error, ErrorKind, Result};

/// Parses a size such as `512MB`, `1GiB`, `64k` or `1000` into bytes. Units are powers of 1024.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] if the text is not a size.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let wrong = || {
        Error::new(
            ErrorKind::InvalidInput,
            format!("{text:?} is no size\nhint: write a number and a unit, such as \"512MB\""),
        )
    };
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let number: f64 = trimmed[..digits].parse().map_err(|_| wrong())?;
    let shift = match trimmed[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(wrong()),
    };
    Ok((number * (1_u64 << shift) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        for (text, bytes) in [("512MB", 512 << 20), ("1.5 GiB", 3 << 29), ("64k", 65536), ("7", 7)]
        {
            assert_eq!(parse_bytes(text).ok(), Some(bytes), "{text}");
        }
        for text in ["", "MB", "1 furlong", "-1"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
