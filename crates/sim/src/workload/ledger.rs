//! Possible values of counters under durability `none`, where increments wait in the write buffer.
//!
//! `task/counters` reports changes and reads; `world` and `run` report flushes and restarts.
//!
//! # Why not the states of the model
//! The write buffer decides when an increment is committed and in which commit. The model of
//! commits only records what was written, not what should have been. So each counter has
//! an account: the set of numbers that it may have now, given the changes that have ended and those
//! under way. A change that has begun and not ended may have happened or not; one that has ended
//! has happened, once.
//!
//! # Checks
//! A reader must find a number that the counter may have had during the read. A restart must find a
//! number that it may have had since the last flush of the database began: nothing counted twice,
//! and nothing lost that was flushed.

use crate::workload::spaces::{COUNTERS, KEYS, NAMES, Slot, TX_KEYS, counters_merge, narrow};
use base::{Merge, word_to_int};
use std::collections::{BTreeMap, BTreeSet};

/// The word that a reader gets for a counter; `None` where it does not exist.
pub type Word = Option<u64>;

/// Exact value of a counter, of any size.
type Number = Option<i128>;

/// The word that readers get for a number.
fn seen_of(number: Number) -> Word {
    number.map(narrow)
}

/// A change of one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An increment.
    Add(u64),
    /// Sets a number, whatever the old one was.
    Set(u64),
    /// Removes the counter.
    Remove,
}

/// Slot and key of a counter.
pub type Counter = (Slot, u16);

/// A change that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    counter: Counter,
    place: usize,
}

/// An observation of the numbers that counters may have had since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window(u64);

/// How a change ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The change has happened.
    Done,
    /// The change has not happened.
    Refused,
    /// The change may have happened.
    Unknown,
}

/// The possible numbers of one counter.
#[derive(Default)]
struct Account {
    /// Numbers that it may have now, each with a bitmap of the changes in `begun` that have
    /// happened then.
    now: BTreeSet<(u32, Number)>,
    /// Changes under way.
    begun: Vec<Option<Change>>,
    /// Numbers that it may have had since each observation began.
    watched: BTreeMap<Window, BTreeSet<Number>>,
    /// Numbers that a restart may find.
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

    /// The numbers that a restart may find and that readers see as `word`; if there is none, the
    /// number that `word` itself shows.
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

/// The possible numbers of all counters.
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
    /// Begins changes of counters.
    ///
    /// # Panics
    /// Where a counter does not exist.
    pub fn begin(&mut self, changes: &[(Counter, Change)]) -> Vec<Begun> {
        let begin = |&(counter, change): &(Counter, Change)| {
            let account = self.account(counter);
            Begun { counter, place: account.begin(counter.0, change) }
        };
        changes.iter().map(begin).collect()
    }

    /// Ends changes, all in the same way.
    pub fn end(&mut self, begun: &[Begun], ending: Ending) {
        for begun in begun {
            self.account(begun.counter).end(begun.place, ending);
        }
    }

    fn account(&mut self, counter: Counter) -> &mut Account {
        self.accounts.entry(counter).or_insert_with(|| Account::of(BTreeSet::from([None])))
    }

    /// Begins an observation: from now on the possible numbers are recorded.
    pub fn watch(&mut self) -> Window {
        self.watches += 1;
        let watch = Window(self.watches);
        for account in self.accounts.values_mut() {
            let numbers = account.numbers().collect();
            account.watched.insert(watch, numbers);
        }
        watch
    }

    /// Ends an observation.
    pub fn forget(&mut self, watch: Window) {
        self.accounts.values_mut().for_each(|account| drop(account.watched.remove(&watch)));
    }

    /// Checks a number that was read during an observation.
    ///
    /// # Errors
    /// A number that the counter cannot have had.
    pub fn judge(&self, watch: Window, counter: Counter, found: Word) -> Result<(), String> {
        let seen = self.accounts.get(&counter).and_then(|account| account.watched.get(&watch));
        match seen {
            Some(seen) => judge(counter, seen, found, "read"),
            None => Err("the ledger lost a watch".to_owned()),
        }
    }

    /// A flush of the database begins: changes that have ended by now survive it.
    pub fn flush_begins(&mut self) -> Window {
        self.watch()
    }

    /// Ends the observation of a flush. If it was done, restarts find numbers from its start or
    /// later.
    pub fn flush_ended(&mut self, watch: Window, done: bool) {
        for account in self.accounts.values_mut() {
            if let (Some(seen), true) = (account.watched.remove(&watch), done) {
                account.floor = seen;
            }
        }
    }

    /// Continues after a restart with the numbers `found` of all existing counters. Checks them
    /// first if `promised`.
    ///
    /// # Errors
    /// A number that the counter cannot have had since the last flush.
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
