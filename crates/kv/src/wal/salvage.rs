//! What can still be read of a damaged log.
//!
//! # What is proof
//! Every record has a checksum over its segment's number, and every segment says where the one before it
//! ended. So a sound record before a known end was committed, whatever lies damaged before it. Behind the
//! last end that anything vouches for, bytes may be what a crash left; those are not believed.
//!
//! # Invariants
//! 1. A payload is handed out whole or not at all, in the order of appending.
//! 2. Nothing is written.

use std::path::Path;

use base::Corruption;
use env::Env;

use super::record::{ALIGN_BYTES, HEADER_BYTES, RecordKind};
use super::segment::{SegmentReader, list_segments, segment_path};
use super::{Place, Position, Result, WalError};

/// Memory for reading one segment, unless a record is longer.
const WINDOW_BYTES: usize = 1 << 20;

/// What [`salvage`] read.
#[derive(Clone, Debug, Default)]
pub struct SalvagedLog {
    /// Payloads handed out.
    pub payloads: u64,
    /// Payloads of which a part was found, and given up with the damaged rest.
    pub incomplete: u64,
    /// Bytes between the last sound record before a damage and the first one behind it.
    pub lost_bytes: u64,
    /// Each damaged place, and segments that are missing.
    pub damages: Vec<Corruption>,
}

/// A live segment, and where it ended if the next one says so.
struct Live {
    number: u64,
    end: Option<u64>,
    /// No live segment follows it.
    is_last: bool,
}

/// A payload that is being put together.
#[derive(Default)]
struct Pending {
    start: Option<(Position, u64)>,
    payload: Vec<u8>,
}

/// Hands every payload that is sound and was committed to `each`. `first_live` as in
/// [`super::Wal::open`].
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

/// The live segments, oldest first: along the links where they are sound, all of them where not.
fn find_live(
    env: &dyn Env,
    folder: &Path,
    first_live: u64,
    log: &mut SalvagedLog,
) -> Result<Vec<Live>> {
    let mut live: Vec<Live> = Vec::new();
    // What the segment above says came before it.
    let mut expected: Option<Position> = None;
    let numbers = list_segments(env, folder)?;
    for number in numbers.into_iter().rev().take_while(|number| *number >= first_live) {
        let mut end = None;
        if let Some(before) = expected {
            if number > before.segment {
                continue; // passed by: given up after a crash
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
            // Made and never written, unless something says that its beginning was synced.
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
        // As an opening does: what the cut took may have been acknowledged.
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
                        // Nothing vouches for what follows.
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
    /// Takes the record whose payload was just appended.
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
            // Its other records lie in a damaged place; a whole payload behind them stands alone.
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

    /// Bytes of the payload that earlier records brought.
    fn before(&self) -> usize {
        self.start.map_or(0, |(_, bytes)| bytes as usize)
    }

    /// Forgets what is there; whether there was something.
    fn give_up(&mut self) -> bool {
        self.payload.clear();
        self.start.take().is_some()
    }
}

/// Where the next sound record behind `offset` and before `limit` begins, or `limit`.
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
