//! Reads the intact records of a damaged log, for `check` and `repair`.
//!
//! # Which records are accepted
//! Every record has a checksum that covers its segment's number, and every segment states where the
//! one before ended. So a sound record before a known end was committed, whatever is damaged before
//! it. Behind the last known end, bytes may be the remains of a crash; those are not accepted.
//! # Invariants
//! 1. A payload is returned whole or not at all, in the order of appending.
//! 2. Nothing is written.

use std::path::Path;

use base::Corruption;
use env::Env;

use super::record::{ALIGN_BYTES, HEADER_BYTES, RecordKind};
use super::segment::{SegmentReader, list_segments, segment_path};
use super::{Place, Position, Result, WalError};

/// Memory for reading one segment, unless a record is longer.
const WINDOW_BYTES: usize = 1 << 20;

/// Result of [`salvage`].
#[derive(Clone, Debug, Default)]
pub struct SalvagedLog {
    /// Number of payloads handed to the caller.
    pub payloads: u64,
    /// Number of payloads that were found only in part and discarded.
    pub incomplete: u64,
    /// Bytes between the last sound record before a damage and the first one behind it.
    pub lost_bytes: u64,
    /// Each damaged place, and each missing segment.
    pub damages: Vec<Corruption>,
}

/// A live segment, with its end where the next one states it.
struct Live {
    number: u64,
    end: Option<u64>,
    /// Whether no live segment follows it.
    is_last: bool,
}

/// A payload that is being assembled.
#[derive(Default)]
struct Pending {
    start: Option<(Position, u64)>,
    payload: Vec<u8>,
}

/// Hands every sound and committed payload to `each`. `first_live` as in [`super::Wal::open`].
///
/// # Errors
/// A failed read, or what `each` returns.
pub fn salvage(
    env: &dyn Env,
    folder: &Path,
    first_live: u64,
    each: &mut dyn FnMut(&Place, &[u8]) -> Result<()>,
) -> Result<SalvagedLog> {
    let mut log = SalvagedLog::default();
    if !env.exists(folder) {
        if first_live > 0 {
            log.damages.push(Corruption::new(folder, 0, "the log's folder is missing"));
        }
        return Ok(log);
    }
    let mut pending = Pending::default();
    for live in find_live(env, folder, first_live, &mut log)? {
        read_segment(env, folder, &live, &mut pending, &mut log, each)?;
    }
    log.incomplete += u64::from(pending.start.is_some());
    Ok(log)
}

/// The live segments, oldest first: along the links where they are sound, all of them elsewhere.
fn find_live(
    env: &dyn Env,
    folder: &Path,
    first_live: u64,
    log: &mut SalvagedLog,
) -> Result<Vec<Live>> {
    let mut live: Vec<Live> = Vec::new();
    // End of the segment before, as the segment above states it.
    let mut expected: Option<Position> = None;
    let numbers = list_segments(env, folder)?;
    for number in numbers.into_iter().rev().take_while(|number| *number >= first_live) {
        let mut end = None;
        if let Some(before) = expected {
            if number > before.segment {
                continue; // discarded after a crash: the link skips it
            }
            if number == before.segment {
                end = Some(before.offset);
            } else {
                log.damages.push(missing(folder, before.segment));
            }
        }
        let mut reader = SegmentReader::open(env, folder, number, WINDOW_BYTES)?;
        let previous = reader.previous()?;
        let is_last = live.is_empty();
        if is_last && previous.is_none() {
            // Created and never written, unless a record says that its beginning was synced.
            let stated = reader.durable_stated_from(0)?;
            if stated.is_none_or(|durable| durable <= Position { segment: number, offset: 0 }) {
                continue;
            }
        }
        live.push(Live { number, end, is_last });
        expected = previous;
        if number == first_live || previous.is_some_and(|before| before.segment < first_live.max(1))
        {
            expected = None;
            break;
        }
    }
    let oldest = live.last().map(|live| live.number);
    match expected {
        Some(before) if oldest != Some(before.segment) && before.segment > 0 => {
            log.damages.push(missing(folder, before.segment));
        }
        _ if first_live > 0 && oldest != Some(first_live) => {
            log.damages.push(missing(folder, first_live));
        }
        _ => {}
    }
    live.reverse();
    Ok(live)
}

fn missing(folder: &Path, number: u64) -> Corruption {
    Corruption::new(&segment_path(folder, number), 0, "the segment is missing")
}

fn read_segment(
    env: &dyn Env,
    folder: &Path,
    live: &Live,
    pending: &mut Pending,
    log: &mut SalvagedLog,
    each: &mut dyn FnMut(&Place, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut reader = SegmentReader::open(env, folder, live.number, WINDOW_BYTES)?;
    let path = reader.path().to_owned();
    if live.end.is_none() {
        // Opening checks the length too: a truncated part may have held acknowledged commits.
        match reader.check_length() {
            Ok(()) => {}
            Err(WalError::Corruption(cut)) => log.damages.push(cut),
            Err(error) => return Err(error),
        }
    }
    let mut limit = live.end.unwrap_or(reader.len_bytes);
    let mut offset = 0;
    while offset < limit {
        let here = Position { segment: live.number, offset };
        let found = match reader.record_at(offset)? {
            Ok(found) if found.end <= limit => {
                if found.header.kind != RecordKind::Begin {
                    pending.payload.extend_from_slice(found.payload);
                }
                Ok((found.header.kind, found.end))
            }
            Ok(_) => Err("a record runs past the end of its segment"),
            Err(why) => Err(why),
        };
        match found {
            Ok((kind, end)) => {
                offset = end;
                pending.take(kind, here, &path, log, each)?;
            }
            Err(why) => {
                if live.end.is_none() {
                    let durable = reader.durable_stated_from(offset + 1)?;
                    match durable.filter(|durable| *durable > here) {
                        Some(_) if live.is_last => {}
                        Some(durable) if durable.segment == live.number => limit = durable.offset,
                        // Nothing confirms the records that follow.
                        _ if live.is_last => return Ok(()),
                        _ => limit = offset,
                    }
                }
                log.damages.push(Corruption::new(&path, offset, why));
                log.incomplete += u64::from(pending.give_up());
                let next = next_sound(&mut reader, offset, limit)?;
                log.lost_bytes += next - offset;
                offset = next;
            }
        }
    }
    Ok(())
}

impl Pending {
    /// Adds the record whose payload was just appended.
    fn take(
        &mut self,
        kind: RecordKind,
        here: Position,
        file: &Path,
        log: &mut SalvagedLog,
        each: &mut dyn FnMut(&Place, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let follows = match kind {
            RecordKind::Begin => return Ok(()),
            RecordKind::Full | RecordKind::First => self.start.is_none(),
            _ => self.start.is_some(),
        };
        if !follows {
            // Its other records are in a damaged place. A whole payload behind them is unaffected.
            log.incomplete += 1;
            let own = self.payload.len() - self.before();
            self.payload.drain(..self.payload.len() - own);
            self.start = None;
            if !matches!(kind, RecordKind::Full | RecordKind::First) {
                self.payload.clear();
                return Ok(());
            }
        }
        match kind {
            RecordKind::First | RecordKind::Middle => {
                let first = self.start.map_or(here, |(first, _)| first);
                self.start = Some((first, self.payload.len() as u64));
            }
            _ => {
                let position = self.start.map_or(here, |(first, _)| first);
                let folder = file.parent().unwrap_or(file);
                let place = Place {
                    file: segment_path(folder, position.segment),
                    offset: position.offset,
                    position,
                };
                each(&place, &self.payload)?;
                log.payloads += 1;
                self.give_up();
            }
        }
        Ok(())
    }

    /// Bytes of the payload from earlier records.
    fn before(&self) -> usize {
        self.start.map_or(0, |(_, bytes)| bytes as usize)
    }

    /// Discards the partial payload; returns whether there was one.
    fn give_up(&mut self) -> bool {
        self.payload.clear();
        self.start.take().is_some()
    }
}

/// Offset of the next sound record behind `offset` and before `limit`, or `limit`.
fn next_sound(reader: &mut SegmentReader, offset: u64, limit: u64) -> Result<u64> {
    let mut at = (offset + 1).next_multiple_of(ALIGN_BYTES as u64);
    while at + HEADER_BYTES as u64 <= limit {
        if reader.record_at(at)?.is_ok_and(|found| found.end <= limit) {
            return Ok(at);
        }
        at += ALIGN_BYTES as u64;
    }
    Ok(limit)
}
