//! What counters may be where increments wait in memory: under durability `none`.
//!
//! # Why not states, as for all else
//! When an increment becomes part of a commit, and of which, is the buffer's affair; the model of commits is told what is written, and
//! cannot say whether it should have been. So each counter has a ledger of its own: the numbers it may have now, by what has ended and
//! what is under way. What has begun and not ended may have happened or not; what has ended has happened, once.
//!
//! # What is asked of it
//! A reader finds a number that the counter may have had while it read. What a restart finds, it may have had since the last flush
//! of the database began: nothing counted twice, and nothing lost that was flushed.

use crate::workload::spaces::{COUNTERS, KEYS, NAMES, Slot, TX_KEYS, counters_merge, narrow};
use base::{Merge, word_to_int};
use std::collections::{BTreeMap, BTreeSet};

/// A counter's word as it is read; nothing where it is not there.
pub type Word = Option<u64>;

/// A counter's number, of any size.
type Number = Option<i128>;

/// What readers see of it.
fn seen_of(number: Number) -> Word {
    number.map(narrow)
}

/// A change of one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An increment.
    Add(u64),
    /// A number, whatever it had.
    Set(u64),
    /// It is forgotten.
    Remove,
}

/// Which counter.
pub type Counter = (Slot, u16);

/// A change that began.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    counter: Counter,
    place: usize,
}

/// Numbers that counters may have had since a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watch(u64);

/// How a change ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It has happened.
    Done,
    /// It has not.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// One counter.
#[derive(Default)]
struct Account {
    /// Numbers that it may have, each with what of `begun` has happened then, as bits.
    now: BTreeSet<(u32, Number)>,
    /// What is under way.
    begun: Vec<Option<Change>>,
    /// Numbers that it may have had since.
    watched: BTreeMap<Watch, BTreeSet<Number>>,
    /// What a restart may find.
    floor: BTreeSet<Number>,
}

impl Account {
    fn of(numbers: BTreeSet<Number>) -> Self {
        let now = numbers.iter().map(|number| (0, *number)).collect();
        Self { now, floor: numbers, ..Self::default() }
    }

    fn numbers(&self) -> impl Iterator<Item = Number> + '_ {
        self.now.iter().map(|(_, number)| *number)
    }

    /// The numbers among those that a restart may find that look like this; else what it looks
    /// like.
    fn looking_like(&self, word: Word) -> BTreeSet<Number> {
        let of = |number: &Number| seen_of(*number) == word;
        let found: BTreeSet<Number> = self.floor.iter().copied().filter(of).collect();
        match found.is_empty() {
            true => BTreeSet::from([word.map(|word| word_to_int(word).into())]),
            false => found,
        }
    }

    fn begin(&mut self, slot: Slot, change: Change) -> usize {
        let free = self.begun.iter().position(Option::is_none);
        let place = free.unwrap_or(self.begun.len());
        if place == self.begun.len() {
            self.begun.push(None);
        }
        self.begun[place] = Some(change);
        let merge = counters_merge(slot);
        let mut left: Vec<(u32, Number)> = self.now.iter().copied().collect();
        while let Some((happened, number)) = left.pop() {
            for (i, change) in self.begun.iter().enumerate() {
                let Some(change) = change.filter(|_| happened & 1 << i == 0) else { continue };
                let int = |word: u64| i128::from(word_to_int(word));
                let number = match (change, number) {
                    (Change::Add(delta), Some(number)) => Some(match merge {
                        Merge::Min => number.min(int(delta)),
                        Merge::Max => number.max(int(delta)),
                        _ => number + int(delta),
                    }),
                    (Change::Add(word) | Change::Set(word), _) => Some(int(word)),
                    (Change::Remove, _) => None,
                };
                let next = (happened | 1 << i, number);
                if self.now.insert(next) {
                    left.push(next);
                }
            }
        }
        let numbers: BTreeSet<Number> = self.numbers().collect();
        self.watched.values_mut().for_each(|seen| seen.extend(&numbers));
        self.floor.extend(&numbers);
        place
    }

    fn end(&mut self, place: usize, ending: Ending) {
        let bit = 1 << place;
        self.begun[place] = None;
        let now = std::mem::take(&mut self.now);
        let stays = |(happened, _): &(u32, Number)| match ending {
            Ending::Done => happened & bit != 0,
            Ending::Refused => happened & bit == 0,
            Ending::Unknown => true,
        };
        let now = now.into_iter().filter(stays);
        self.now = now.map(|(happened, number)| (happened & !bit, number)).collect();
    }
}

/// All counters.
pub struct Ledger {
    accounts: BTreeMap<Counter, Account>,
    watches: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        let counters = COUNTERS.iter().flat_map(|slot| (0..KEYS + TX_KEYS).map(|n| (*slot, n)));
        let accounts =
            counters.map(|counter| (counter, Account::of(BTreeSet::from([None])))).collect();
        Self { accounts, watches: 0 }
    }
}

impl Ledger {
    /// Changes begin, of counters whose numbers are `n`.
    ///
    /// # Panics
    /// Where there is no such counter.
    pub fn begin(&mut self, changes: &[(Counter, Change)]) -> Vec<Begun> {
        let begin = |&(counter, change): &(Counter, Change)| {
            let account = self.account(counter);
            Begun { counter, place: account.begin(counter.0, change) }
        };
        changes.iter().map(begin).collect()
    }

    /// Changes that began have ended, all in one way.
    pub fn end(&mut self, begun: &[Begun], ending: Ending) {
        for begun in begun {
            self.account(begun.counter).end(begun.place, ending);
        }
    }

    fn account(&mut self, counter: Counter) -> &mut Account {
        self.accounts.entry(counter).or_insert_with(|| Account::of(BTreeSet::from([None])))
    }

    /// From now on it is noted what numbers counters may have.
    pub fn watch(&mut self) -> Watch {
        self.watches += 1;
        let watch = Watch(self.watches);
        for account in self.accounts.values_mut() {
            let numbers = account.numbers().collect();
            account.watched.insert(watch, numbers);
        }
        watch
    }

    /// No more.
    pub fn forget(&mut self, watch: Watch) {
        self.accounts.values_mut().for_each(|account| drop(account.watched.remove(&watch)));
    }

    /// Judges a number that was found while it was watched.
    ///
    /// # Errors
    /// One that it cannot have had.
    pub fn judge(&self, watch: Watch, counter: Counter, found: Word) -> Result<(), String> {
        let seen = self.accounts.get(&counter).and_then(|account| account.watched.get(&watch));
        match seen {
            Some(seen) => judge(counter, seen, found, "read"),
            None => Err("the ledger lost a watch".to_owned()),
        }
    }

    /// A flush of the database begins: what has ended by now survives it.
    pub fn flush_begins(&mut self) -> Watch {
        self.watch()
    }

    /// It has ended.
    pub fn flush_ended(&mut self, watch: Watch, done: bool) {
        for account in self.accounts.values_mut() {
            if let (Some(seen), true) = (account.watched.remove(&watch), done) {
                account.floor = seen;
            }
        }
    }

    /// The database was opened again: `found` are the numbers of all counters that are there. Judges them, where `promised`, and
    /// goes on from them.
    ///
    /// # Errors
    /// One that the counter cannot have had since the last flush.
    pub fn recover(
        &mut self,
        found: &BTreeMap<Counter, u64>,
        promised: bool,
    ) -> Result<(), String> {
        for (counter, account) in &mut self.accounts {
            let word = found.get(counter).copied();
            if promised {
                judge(*counter, &account.floor, word, "found after a crash")?;
            }
            *account = Account::of(account.looking_like(word));
        }
        Ok(())
    }
}

fn judge(
    counter: Counter,
    seen: &BTreeSet<Number>,
    found: Word,
    how: &'static str,
) -> Result<(), String> {
    if seen.iter().any(|number| seen_of(*number) == found) {
        return Ok(());
    }
    let may: Vec<&Number> = seen.iter().collect();
    let name = NAMES[usize::from(counter.0)];
    Err(format!(
        "counter {} of {name}: {how} was {:?}, it may have been {may:?}",
        counter.1,
        found.map(word_to_int)
    ))
}
