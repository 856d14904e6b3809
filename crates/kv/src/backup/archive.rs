//! Writes and reads a backup as one compressed file, front to back.
//!
//! # Invariants
//! 1. Writer and reader hold at most [`frames_at_once`] frames in memory.
//! 2. Every byte of the file is covered by a checksum that is compared before the byte is used. A
//!    length that is used earlier is bounded first.
//! 3. The list is at the end, behind everything it describes, so that the file is written without
//!    seeking back.

use super::list::List;
use crate::convert::env_error;
use base::{Checksummer, Corruption, checksum};
use env::{AppendFile, Env, RandomReadFile, ReadOptions};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use store::Result;

/// Extension of an archive's name.
pub(crate) const ENDING: &str = "qbak";

/// Most bytes of content in a frame.
pub(super) const CONTENT_BYTES_MAX: usize = 1 << 20;

const MAGIC: [u8; 8] = *b"QuipuBak";
const END_MAGIC: [u8; 8] = *b"QuipuEnd";
const FORMAT_VERSION: u32 = 1;
/// Magic number, format version, low half of the checksum of both.
const HEADER_BYTES: usize = 8 + 4 + 4;
/// Two lengths and a checksum.
const FRAME_BYTES: usize = 4 + 4 + 8;
/// Offset, length and checksum of the list, magic number, checksum of all that.
const TRAILER_BYTES: usize = 8 + 8 + 8 + 8 + 8;
/// Tables are compressed already: a higher level takes much time and saves little.
const LEVEL: i32 = 1;
/// Most bytes of a list; a longer one is taken for damage.
const LIST_BYTES_MAX: u64 = 1 << 30;

/// Whether a path names an archive.
pub(crate) fn is_archive_name(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// Number of frames that are compressed or decompressed in parallel.
fn frames_at_once(env: &dyn Env) -> usize {
    2 * env.parallelism()
}

/// Writes an archive.
#[derive(Debug)]
pub(super) struct Writer {
    env: Arc<dyn Env>,
    file: Box<dyn AppendFile>,
    waiting: Vec<Vec<u8>>,
}

impl Writer {
    pub(super) fn create(env: &Arc<dyn Env>, path: &Path) -> Result<Self> {
        let mut file = env.create(path).map_err(env_error)?;
        file.append(&header()).map_err(env_error)?;
        Ok(Self { env: Arc::clone(env), file, waiting: Vec::new() })
    }

    /// Adds the next piece of content, 1 to [`CONTENT_BYTES_MAX`] bytes.
    pub(super) fn push(&mut self, content: Vec<u8>) -> Result<()> {
        debug_assert!((1..=CONTENT_BYTES_MAX).contains(&content.len()));
        self.waiting.push(content);
        if self.waiting.len() >= frames_at_once(&*self.env) { self.write_frames() } else { Ok(()) }
    }

    fn write_frames(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        for (bytes, stored) in env::parallel(&*self.env, waiting, pack) {
            let lengths = lengths(bytes, stored.len());
            let check = frame_check(self.file.len_bytes(), &lengths, &stored);
            self.file.append(&lengths).map_err(env_error)?;
            self.file.append(&check.to_le_bytes()).map_err(env_error)?;
            self.file.append(&stored).map_err(env_error)?;
        }
        Ok(())
    }

    /// Writes the buffered pieces, the list and the trailer, and syncs; returns the archive's
    /// length.
    pub(super) fn finish(mut self, list: &List) -> Result<u64> {
        self.write_frames()?;
        let list = list.encode();
        let offset = self.file.len_bytes();
        self.file.append(list.as_bytes()).map_err(env_error)?;
        self.file.append(&trailer(offset, list.as_bytes())).map_err(env_error)?;
        self.file.sync().map_err(env_error)?;
        Ok(self.file.len_bytes())
    }
}

/// Returns the content's length and its stored form, compressed where that is shorter.
fn pack(content: Vec<u8>) -> (usize, Vec<u8>) {
    let bytes = content.len();
    match zstd::bulk::compress(&content, LEVEL) {
        Ok(packed) if packed.len() < bytes => (bytes, packed),
        _ => (bytes, content),
    }
}

/// Reads an archive from front to back.
#[derive(Debug)]
pub(crate) struct Reader {
    env: Arc<dyn Env>,
    file: Arc<dyn RandomReadFile>,
    pub(crate) list: List,
    /// Offset of the next frame.
    offset: u64,
    /// Offset at which the frames end.
    end: u64,
    ready: VecDeque<Vec<u8>>,
}

/// A frame before decompression.
struct Frame {
    file: Arc<dyn RandomReadFile>,
    offset: u64,
    head: [u8; FRAME_BYTES],
    stored: Vec<u8>,
}

impl Reader {
    /// Opens an archive: checks header and trailer, and reads the list.
    pub(crate) fn open(env: &Arc<dyn Env>, path: &Path) -> Result<Self> {
        let file = env.open_read(path, ReadOptions::default()).map_err(env_error)?;
        let file_bytes = file.len_bytes().map_err(env_error)?;
        let damaged = |offset: u64, what: &str| Corruption::new(path, offset, what);
        let mut head = [0; HEADER_BYTES];
        let Some(trailer_at) =
            file_bytes.checked_sub(TRAILER_BYTES as u64).filter(|&at| at >= HEADER_BYTES as u64)
        else {
            let what = "the file is too short to be a backup";
            return Err(damaged(0, what).into());
        };
        file.read_at(&mut head, 0).map_err(env_error)?;
        if head != header() {
            return Err(damaged(0, what_header(&head)).into());
        }
        let mut end = [0; TRAILER_BYTES];
        file.read_at(&mut end, trailer_at).map_err(env_error)?;
        let (offset, bytes, check) = (u64_at(&end, 0), u64_at(&end, 8), u64_at(&end, 16));
        if end[24..32] != END_MAGIC || checksum(&end[..32]) != u64_at(&end, 32) {
            let what = "the file does not end as a backup does: it is damaged, or was cut short";
            return Err(damaged(trailer_at, what).into());
        }
        if offset.checked_add(bytes) != Some(trailer_at)
            || offset < HEADER_BYTES as u64
            || bytes > LIST_BYTES_MAX
        {
            return Err(damaged(trailer_at, "the list does not lie before the end").into());
        }
        let mut list = vec![0; bytes as usize];
        file.read_at(&mut list, offset).map_err(env_error)?;
        if checksum(&list) != check {
            return Err(damaged(offset, "the list does not match its checksum").into());
        }
        Ok(Self {
            env: Arc::clone(env),
            list: List::decode(path, offset, &list)?,
            file,
            offset: HEADER_BYTES as u64,
            end: offset,
            ready: VecDeque::new(),
        })
    }

    /// Content of the next frame; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.ready.is_empty() && self.offset < self.end {
            let mut frames = Vec::new();
            while self.offset < self.end && frames.len() < frames_at_once(&*self.env) {
                frames.push(self.read_frame()?);
            }
            for content in env::parallel(&*self.env, frames, unpack) {
                self.ready.push_back(content?);
            }
        }
        Ok(self.ready.pop_front())
    }

    /// The error for content that does not match the list.
    pub(crate) fn misfit(&self, what: &str) -> Corruption {
        Corruption::new(self.file.path(), self.offset, what)
    }

    fn read_frame(&mut self) -> Result<Frame> {
        let damaged = |what| Corruption::new(self.file.path(), self.offset, what);
        let room = (self.end - self.offset).checked_sub(FRAME_BYTES as u64);
        let room = room.ok_or_else(|| damaged("no room for a frame before the list"))?;
        let mut head = [0; FRAME_BYTES];
        self.file.read_at(&mut head, self.offset).map_err(env_error)?;
        let (bytes, stored) = (u32_at(&head, 0), u32_at(&head, 4));
        let bounded = (1..=CONTENT_BYTES_MAX as u32).contains(&bytes) && stored <= bytes;
        if !bounded || u64::from(stored) > room {
            return Err(damaged("a frame of impossible length").into());
        }
        let mut content = vec![0; stored as usize];
        let at = self.offset + FRAME_BYTES as u64;
        self.file.read_at(&mut content, at).map_err(env_error)?;
        let offset = self.offset;
        self.offset = at + u64::from(stored);
        Ok(Frame { file: Arc::clone(&self.file), offset, head, stored: content })
    }
}

fn unpack(frame: Frame) -> std::result::Result<Vec<u8>, Corruption> {
    let Frame { file, offset, head, stored } = frame;
    let damaged = |what| Corruption::new(file.path(), offset, what);
    if frame_check(offset, &head[..8], &stored) != u64_at(&head, 8) {
        return Err(damaged("a frame does not match its checksum"));
    }
    let bytes = u32_at(&head, 0) as usize;
    if stored.len() == bytes {
        return Ok(stored);
    }
    match zstd::bulk::decompress(&stored, bytes) {
        Ok(content) if content.len() == bytes => Ok(content),
        _ => Err(damaged("a frame cannot be decompressed")),
    }
}

fn header() -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    let check = checksum(&out[..12]) as u32;
    out[12..].copy_from_slice(&check.to_le_bytes());
    out
}

fn what_header(head: &[u8; HEADER_BYTES]) -> &'static str {
    if head[..8] != MAGIC {
        "this is not a backup"
    } else if (checksum(&head[..12]) as u32).to_le_bytes() != head[12..] {
        "the header does not match its checksum"
    } else {
        "a backup of a format version that this program does not know"
    }
}

fn trailer(offset: u64, list: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(TRAILER_BYTES);
    for number in [offset, list.len() as u64, checksum(list)] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&END_MAGIC);
    let check = checksum(&out);
    out.extend_from_slice(&check.to_le_bytes());
    out
}

fn lengths(content: usize, stored: usize) -> [u8; 8] {
    let mut out = [0; 8];
    out[..4].copy_from_slice(&(content as u32).to_le_bytes());
    out[4..].copy_from_slice(&(stored as u32).to_le_bytes());
    out
}

fn frame_check(offset: u64, lengths: &[u8], stored: &[u8]) -> u64 {
    let mut sum = Checksummer::default();
    sum.update(&offset.to_le_bytes());
    sum.update(lengths);
    sum.update(stored);
    sum.finish()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Passes a file's content to `take` in pieces of at most [`CONTENT_BYTES_MAX`] bytes; returns its
/// length.
pub(crate) fn read_all(
    file: &dyn RandomReadFile,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    let bytes = file.len_bytes().map_err(env_error)?;
    let mut buffer = vec![0; CONTENT_BYTES_MAX.min(bytes as usize)];
    let mut at = 0;
    while at < bytes {
        let piece = (bytes - at).min(buffer.len() as u64) as usize;
        file.read_at(&mut buffer[..piece], at).map_err(env_error)?;
        take(&buffer[..piece])?;
        at += piece as u64;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::SeqNo;
    use env::MemoryEnv;

    fn written(contents: &[Vec<u8>], list: &List) -> (Arc<dyn Env>, Vec<u8>) {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let mut writer = Writer::create(&env, Path::new("/a.qbak")).unwrap();
        for content in contents {
            writer.push(content.clone()).unwrap();
        }
        let bytes = writer.finish(list).unwrap();
        let file = env.read_file(Path::new("/a.qbak")).unwrap();
        assert_eq!(file.len() as u64, bytes);
        (env, file)
    }

    fn read(env: &Arc<dyn Env>, path: &Path) -> Result<(List, Vec<Vec<u8>>)> {
        let mut reader = Reader::open(env, path)?;
        let mut contents = Vec::new();
        while let Some(content) = reader.next()? {
            contents.push(content);
        }
        Ok((reader.list, contents))
    }

    fn contents() -> Vec<Vec<u8>> {
        let noise = (0..3000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        vec![vec![7; CONTENT_BYTES_MAX], b"CURRENT".to_vec(), noise, vec![0], vec![1; 500]]
    }

    #[test]
    fn what_was_written_is_read_in_order() {
        let list = List { seq: SeqNo(9), ..List::default() };
        let (env, file) = written(&contents(), &list);
        assert!(file.len() < 5000, "{} bytes: a million equal ones are packed", file.len());
        assert_eq!(read(&env, Path::new("/a.qbak")).unwrap(), (list, contents()));
        let (env, _) = written(&[], &List::default());
        assert_eq!(read(&env, Path::new("/a.qbak")).unwrap(), (List::default(), vec![]));
    }

    #[test]
    fn the_documented_example_is_what_is_written() {
        let (_, file) = written(&[b"abc".to_vec()], &List::default());
        let hex: Vec<String> = file.iter().map(|byte| format!("{byte:02x}")).collect();
        let page = include_str!("../../../../docs/formats/backup.md");
        let example = page.split("Worked example").nth(1).unwrap();
        let example = example.split("```text").nth(1).unwrap().split("```").next().unwrap();
        // The part of each line between the offset and the remark.
        let said = example.lines().filter(|line| !line.is_empty());
        let said: Vec<&str> = said.flat_map(|line| line[4..51].split_whitespace()).collect();
        assert_eq!(said, hex);
    }

    #[test]
    fn every_flipped_byte_and_every_cut_of_an_archive_is_found() {
        let list = List { seq: SeqNo(9), ..List::default() };
        let (_, file) = written(&contents(), &list);
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let path = Path::new("/b.qbak");
        let refused = |bytes: &[u8], about: String| {
            let mut to = env.create(path).unwrap();
            to.append(bytes).unwrap();
            match read(&env, path) {
                Ok(_) => panic!("{about} went unnoticed"),
                Err(error) => assert_eq!(error.kind(), store::ErrorKind::Corruption, "{about}"),
            }
            env.remove(path).unwrap();
        };
        for at in 0..file.len() {
            let mut flipped = file.clone();
            flipped[at] ^= 1 << (at % 8);
            refused(&flipped, format!("a flip at {at}"));
            refused(&file[..at], format!("a cut at {at}"));
        }
    }
}
