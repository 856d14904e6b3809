//! Rows beside those of the map: the lease of the only writer, the fence that orders commits, and
//! ranges whose removal is not finished.

use crate::cluster::{Cluster, State, is_conflict, is_locked, together};
use ordered::{Order, successor};
use std::time::Duration;
use store::{Error, ErrorKind, Result};
use tikv_client::{TimestampExt, Transaction, TransactionClient};
use tokio::time::{Instant, sleep};

/// Time that a lease is good for, and between two renewals.
const LEASE_MS: u64 = 10_000;
const RENEWED_AFTER: Duration = Duration::from_secs(3);

/// Time after which the outcome of a commit is given up. Locks that a dead commit left live 20
/// seconds at most.
const LOOKED_UP_FOR: Duration = Duration::from_secs(60);
const LOOKED_UP_EVERY: Duration = Duration::from_millis(200);

/// Keys that are removed in one transaction.
const KEYS_A_REMOVAL: usize = 1000;

const LEASE: &[u8] = b"lease";
const FENCE: &[u8] = b"fence";
const TURN: &[u8] = b"turn";
const GARBAGE: &[u8] = b"garbage:";
/// The first key after those that start with [`GARBAGE`].
const AFTER_GARBAGE: &[u8] = b"garbage;";

/// The right to write alone, until a time of the cluster's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lease {
    owner: u64,
    ends_ms: u64,
}

impl Lease {
    fn encode(self) -> Vec<u8> {
        [self.owner.to_le_bytes(), self.ends_ms.to_le_bytes()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (owner, ends_ms) = bytes.split_first_chunk()?;
        let ends_ms = u64::from_le_bytes(ends_ms.try_into().ok()?);
        Some(Self { owner: u64::from_le_bytes(*owner), ends_ms })
    }
}

fn clock_ms(transaction: &Transaction) -> u64 {
    transaction.start_timestamp().physical.cast_unsigned()
}

/// The number of a transaction: no two of a cluster have the same.
pub(crate) fn number(transaction: &Transaction) -> u64 {
    transaction.start_timestamp().version()
}

fn held(place: &str, lease: Lease, now_ms: u64) -> Error {
    let seconds = lease.ends_ms.saturating_sub(now_ms).div_ceil(1000);
    let what = format!("another process has {place} open for writing");
    let hint = format!(
        "open it read-only, or wait until the other process has closed it; if it has died, {seconds} \
         seconds"
    );
    Error::new(ErrorKind::Locked, format!("{what}\nhint: {hint}"))
}

/// The lock of a writer where several processes may write. Given up when it is dropped.
pub(crate) struct Turn<'c> {
    cluster: &'c Cluster,
    transaction: Transaction,
}

impl<'c> Turn<'c> {
    /// Waits until no other process has it.
    pub(crate) fn take(cluster: &'c Cluster) -> Result<Self> {
        let key = cluster.control_key(TURN);
        loop {
            // A lock's time to live counts from the start of its transaction, so each attempt
            // starts another one.
            let mut transaction = cluster.wait(Cluster::begin_locking(cluster.client()))?;
            match cluster.wait_for(transaction.lock_keys([key.clone()]))? {
                Ok(()) => return Ok(Self { cluster, transaction }),
                Err(error) if is_locked(&error) => {}
                Err(error) => return Err(crate::cluster::failed(&cluster.place, &error)),
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // If it fails, the lock ends by itself.
        let _ = self.cluster.wait(self.transaction.rollback());
    }
}

/// The lease and the fence as a writer sees them.
pub(crate) struct Control {
    lease: Option<Lease>,
    /// The number of the last commit.
    pub(crate) fence: Option<Vec<u8>>,
}

impl Control {
    pub(crate) fn read(cluster: &Cluster, state: &State) -> Result<Self> {
        let keys = [cluster.control_key(LEASE), cluster.control_key(FENCE)];
        let mut values = cluster.get(state, &keys)?.into_iter();
        let (lease, fence) = (values.next().flatten(), values.next().flatten());
        let lease = lease.map(|bytes| {
            let wrong = || {
                let what = format!("{}: its lease is damaged", cluster.place);
                Error::new(ErrorKind::Corruption, what)
            };
            Lease::decode(&bytes).ok_or_else(wrong)
        });
        Ok(Self { lease: lease.transpose()?, fence })
    }

    /// Fails if another process alone may write. `owner` is the number of this process's lease, if
    /// it has one.
    pub(crate) fn check(
        &self,
        place: &str,
        owner: Option<u64>,
        transaction: &Transaction,
    ) -> Result<()> {
        let now_ms = clock_ms(transaction);
        match (self.lease, owner) {
            (Some(lease), Some(owner)) if lease.owner == owner => Ok(()),
            (Some(lease), _) if lease.ends_ms > now_ms => Err(held(place, lease, now_ms)),
            (_, None) => Ok(()),
            _ => {
                let what = format!("another process has written {place}");
                let hint = "this one was paused or cut off for too long: close and open it again";
                Err(Error::new(ErrorKind::Locked, format!("{what}\nhint: {hint}")))
            }
        }
    }
}

/// Writes the fence. It must be the first write of a commit: TiKV decides there whether the
/// transaction is committed.
pub(crate) async fn write_fence(
    cluster: &Cluster,
    transaction: &mut Transaction,
) -> tikv_client::Result<()> {
    let number = number(transaction).to_be_bytes().to_vec();
    transaction.put(cluster.control_key(FENCE), number).await
}

/// Whether a commit took place that ended in an error. `before` is the fence that it replaces.
/// Reading it decides an open commit: TiKV rolls it back when its lock has expired.
pub(crate) fn took_place(cluster: &Cluster, number: u64, before: Option<&[u8]>) -> Result<bool> {
    let deadline = Instant::now() + LOOKED_UP_FOR;
    let key = [cluster.control_key(FENCE)];
    loop {
        let found = cluster.newest().and_then(|state| cluster.get(&state, &key));
        let unknown = |why: &str| {
            let hint = "whether the commit took place is unknown: read before you repeat it";
            let what = format!("{}: a commit failed, {why}", cluster.place);
            Error::new(ErrorKind::Io, format!("{what}\nhint: {hint}"))
        };
        match found.map(|mut found| found.pop().flatten()) {
            Ok(fence) if fence.as_deref() == Some(&number.to_be_bytes()[..]) => return Ok(true),
            Ok(fence) if fence.as_deref() == before => return Ok(false),
            Ok(_) => return Err(unknown("and another process has written since")),
            Err(error) if Instant::now() > deadline => return Err(unknown(&error.to_string())),
            Err(_) => cluster.pause(LOOKED_UP_EVERY)?,
        }
    }
}

/// Takes the lease, and keeps it until [`release`]. Returns its number.
pub(crate) fn claim(cluster: &Cluster) -> Result<u64> {
    let key = cluster.control_key(LEASE);
    loop {
        let mut transaction = cluster.wait(Cluster::begin(cluster.client()))?;
        let control = Control::read(cluster, &Cluster::state_of(&transaction))?;
        control.check(&cluster.place, None, &transaction)?;
        let owner = number(&transaction);
        let lease = Lease { owner, ends_ms: clock_ms(&transaction) + LEASE_MS };
        let taken = cluster.wait_for(async {
            // Writers that began before fail.
            write_fence(cluster, &mut transaction).await?;
            transaction.put(key.clone(), lease.encode()).await?;
            Cluster::commit(&mut transaction).await
        })?;
        match taken {
            Ok(()) => {
                cluster.spawn(keep(cluster.client().clone(), key, owner));
                return Ok(owner);
            }
            Err(error) if is_conflict(&error) => {}
            Err(error) => return Err(crate::cluster::failed(&cluster.place, &error)),
        }
    }
}

/// Renews a lease until it is lost.
async fn keep(client: TransactionClient, key: Vec<u8>, owner: u64) {
    loop {
        sleep(RENEWED_AFTER).await;
        if let Ok(false) = change(&client, &key, owner, false).await {
            return;
        }
    }
}

/// Renews or ends a lease. Returns false if it was lost.
async fn change(
    client: &TransactionClient,
    key: &[u8],
    owner: u64,
    ends: bool,
) -> tikv_client::Result<bool> {
    let mut transaction = Cluster::begin(client).await?;
    let lease = transaction.get(key.to_vec()).await?;
    if lease.and_then(|bytes| Lease::decode(&bytes)).is_none_or(|lease| lease.owner != owner) {
        return Ok(false);
    }
    let renewed = Lease { owner, ends_ms: clock_ms(&transaction) + LEASE_MS };
    match ends {
        true => transaction.delete(key.to_vec()).await?,
        false => transaction.put(key.to_vec(), renewed.encode()).await?,
    }
    transaction.commit().await.map(|_| true)
}

/// Ends a lease. If it fails, the lease ends by itself.
pub(crate) fn release(cluster: &Cluster, owner: u64) -> Result<()> {
    let key = cluster.control_key(LEASE);
    loop {
        match cluster.wait_for(change(cluster.client(), &key, owner, true))? {
            // The task that renews it was faster.
            Err(error) if is_conflict(&error) => {}
            Err(error) => return Err(crate::cluster::failed(&cluster.place, &error)),
            Ok(_) => return Ok(()),
        }
    }
}

/// A range of rows that is to be removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbage {
    /// The key of its record.
    key: Vec<u8>,
    lower: Vec<u8>,
    upper: Vec<u8>,
}

impl Garbage {
    /// The `nth` range of a commit.
    pub(crate) fn new(cluster: &Cluster, commit: u64, nth: u32, range: (Vec<u8>, Vec<u8>)) -> Self {
        let key = [GARBAGE, &commit.to_be_bytes(), &nth.to_be_bytes()].concat();
        Self { key: cluster.control_key(&key), lower: range.0, upper: range.1 }
    }

    /// All rows of the map.
    pub(crate) fn all_rows(cluster: &Cluster) -> Self {
        let key = cluster.control_key(GARBAGE);
        Self { key, lower: cluster.row_key(&[]), upper: cluster.after_rows() }
    }

    /// All other rows.
    pub(crate) fn all_controls(cluster: &Cluster) -> Self {
        let key = cluster.control_key(GARBAGE);
        Self { key, lower: cluster.control_key(&[]), upper: cluster.row_key(&[]) }
    }

    /// The record, which the commit writes.
    pub(crate) fn record(&self) -> (Vec<u8>, Vec<u8>) {
        let bytes = self.lower.len() as u64;
        (self.key.clone(), [&bytes.to_le_bytes()[..], &self.lower, &self.upper].concat())
    }

    fn decode(key: Vec<u8>, value: &[u8]) -> Option<Self> {
        let (bytes, rest) = value.split_first_chunk()?;
        let bytes = usize::try_from(u64::from_le_bytes(*bytes)).ok()?;
        let (lower, upper) = rest.split_at_checked(bytes)?;
        Some(Self { key, lower: lower.to_vec(), upper: upper.to_vec() })
    }

    /// All that earlier processes left.
    pub(crate) fn left(cluster: &Cluster) -> Result<Vec<Self>> {
        let state = cluster.newest()?;
        let range = (cluster.control_key(GARBAGE), cluster.control_key(AFTER_GARBAGE));
        let found = cluster.scan(&state, (&range.0, &range.1), Order::Forward, usize::MAX)?;
        Ok(found.into_iter().filter_map(|(key, value)| Self::decode(key, &value)).collect())
    }

    /// Removes the rows, then the record.
    pub(crate) fn remove(&self, cluster: &Cluster) -> Result<()> {
        let state = cluster.newest()?;
        let mut lower = self.lower.clone();
        loop {
            let limit = KEYS_A_REMOVAL * crate::cluster::REQUESTS_MAX;
            let keys = cluster.keys(&state, (&lower, &self.upper), limit)?;
            let Some(last) = keys.last() else { break };
            lower = successor(last);
            cluster.wait(together(keys.chunks(KEYS_A_REMOVAL).map(|keys| {
                let (client, keys) = (cluster.client().clone(), keys.to_vec());
                async move { delete(&client, keys).await }
            })))?;
        }
        cluster.wait(delete(cluster.client(), vec![self.key.clone()]))
    }
}

async fn delete(client: &TransactionClient, keys: Vec<Vec<u8>>) -> tikv_client::Result<()> {
    let mut transaction = Cluster::begin(client).await?;
    for key in keys {
        transaction.delete(key).await?;
    }
    transaction.commit().await.map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::address::Address;

    #[test]
    fn the_outcome_of_a_commit_is_looked_up() {
        let servers = std::env::var("QUIPU_TIKV").expect("tools/with-tikv.sh starts servers");
        let address = Address::parse(&format!("tikv://{servers}/outcomes")).unwrap();
        let cluster = Cluster::connect(&address).unwrap();
        let mut transaction = cluster.wait(Cluster::begin(cluster.client())).unwrap();
        let number = number(&transaction);
        let committed = async {
            write_fence(&cluster, &mut transaction).await?;
            transaction.commit().await
        };
        cluster.wait(committed).unwrap();
        assert!(took_place(&cluster, number, None).unwrap());
        let fence = number.to_be_bytes();
        assert!(!took_place(&cluster, number + 1, Some(&fence)).unwrap());
        let error = took_place(&cluster, number + 1, None).unwrap_err();
        assert!(error.to_string().contains("is unknown"), "{error}");
        Garbage::all_controls(&cluster).remove(&cluster).unwrap();
    }

    #[test]
    fn a_pause_needs_no_runtime_of_the_caller() {
        let servers = std::env::var("QUIPU_TIKV").expect("tools/with-tikv.sh starts servers");
        let address = Address::parse(&format!("tikv://{servers}/pauses")).unwrap();
        Cluster::connect(&address).unwrap().pause(Duration::from_millis(1)).unwrap();
    }
}
