//! The ordered map in a TiKV cluster.

use crate::address::Address;
use crate::cluster::{Cluster, State, failed, is_conflict, together};
use crate::control::{Control, Garbage, Turn, claim, number, release, took_place, write_fence};
use crate::overlay::Overlay;
use env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use env::sync::{Mutex, MutexGuard};
use ordered::{MapRead, MapWriter, Order, OrderedMap, Pair, successor};
use std::sync::Arc;
use store::{Error, ErrorKind, Result};
use tikv_client::Transaction;

/// Bytes that the client sends in one request of a commit.
const BYTES_A_REQUEST: usize = 16 << 10;
/// The client sends all keys of a commit with each of these requests, and holds all requests at
/// once. So the cost grows with the square of the rows: 50,000 rows of 90 bytes reach this.
const COMMIT_COST_MAX: usize = 1 << 30;
/// Bytes that the client needs for a key beside those of the key.
const KEY_OVERHEAD_BYTES: usize = 48;

/// Bytes and rows of a load that are written in one transaction.
const LOADED_BYTES: usize = 128 << 10;
const LOADED_ROWS: usize = 2048;

/// Keys that are removed from a range at once.
const KEYS_A_PAGE: usize = 4096;

/// An ordered map in a TiKV cluster.
pub struct TikvMap {
    cluster: Arc<Cluster>,
    /// The number of this process's lease; 0 if it has none.
    owner: AtomicU64,
    /// Held by the writer.
    alone: Mutex<()>,
    is_closed: AtomicBool,
}

impl TikvMap {
    /// Connects to the cluster of an address such as `tikv://pd1:2379,pd2:2379/name`. There is no
    /// encryption.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a wrong address; failures of the cluster and of the network.
    pub fn open(address: &str) -> Result<Self> {
        let cluster = Arc::new(Cluster::connect(&Address::parse(address)?)?);
        Ok(Self {
            cluster,
            owner: AtomicU64::new(0),
            alone: Mutex::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Removes the database of an address, and leaves others of the cluster alone.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`] if another process writes it; those of [`TikvMap::open`].
    pub fn erase(address: &str) -> Result<()> {
        let map = Self::open(address)?;
        map.claim()?;
        Garbage::all_rows(&map.cluster).remove(&map.cluster)?;
        map.close()?;
        Garbage::all_controls(&map.cluster).remove(&map.cluster)
    }

    fn owner(&self) -> Option<u64> {
        Some(self.owner.load(Ordering::Acquire)).filter(|&owner| owner != 0)
    }

    fn check_open(&self) -> Result<()> {
        match self.is_closed.load(Ordering::Acquire) {
            true => {
                let what = format!("{} is closed", self.cluster.place);
                Err(Error::new(ErrorKind::ReadOnly, what))
            }
            false => Ok(()),
        }
    }

    /// Removes what earlier processes left.
    fn remove_garbage(&self) -> Result<()> {
        let left = Garbage::left(&self.cluster)?;
        left.iter().try_for_each(|garbage| garbage.remove(&self.cluster))
    }

    fn release(&self) -> Result<()> {
        match self.owner.swap(0, Ordering::AcqRel) {
            0 => Ok(()),
            owner => release(&self.cluster, owner),
        }
    }
}

impl Drop for TikvMap {
    fn drop(&mut self) {
        let _ = self.release();
    }
}

/// Pairs of one state.
struct Snapshot {
    cluster: Arc<Cluster>,
    state: State,
}

impl MapRead for Snapshot {
    fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        let keys: Vec<_> = keys.iter().map(|key| self.cluster.row_key(key)).collect();
        out.extend(self.cluster.get(&self.state, &keys)?);
        Ok(())
    }

    fn scan(
        &mut self,
        lower: &[u8],
        upper: &[u8],
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()> {
        let (lower, upper) = (self.cluster.row_key(lower), self.cluster.row_key(upper));
        let mut pairs = self.cluster.scan(&self.state, (&lower, &upper), order, limit)?;
        self.cluster.strip(&mut pairs);
        out.extend(pairs);
        Ok(())
    }

    fn scan_many(
        &mut self,
        ranges: &[(Vec<u8>, Vec<u8>)],
        limit: usize,
        out: &mut Vec<Vec<Pair>>,
    ) -> Result<()> {
        let key = |key: &[u8]| self.cluster.row_key(key);
        let ranges: Vec<_> = ranges.iter().map(|(lower, upper)| (key(lower), key(upper))).collect();
        for mut pairs in self.cluster.scan_many(&self.state, &ranges, limit)? {
            self.cluster.strip(&mut pairs);
            out.push(pairs);
        }
        Ok(())
    }
}

/// Writes that are sent when they are committed.
struct Writer<'m> {
    snapshot: Snapshot,
    /// Reads the same state as the snapshot.
    transaction: Transaction,
    /// The fence before this commit.
    fence: Option<Vec<u8>>,
    own: Overlay,
    discarded: Vec<(Vec<u8>, Vec<u8>)>,
    /// `turn` and `alone` are dropped in this order.
    turn: Option<Turn<'m>>,
    alone: MutexGuard<'m, ()>,
}

impl MapRead for Writer<'_> {
    fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        let first = out.len();
        let own = keys.iter().map(|key| self.own.get(key).map(Option::<&_>::cloned));
        let own: Vec<_> = own.collect();
        let unknown = keys.iter().zip(&own).filter(|(_, own)| own.is_none());
        let unknown: Vec<_> = unknown.map(|(key, _)| key.clone()).collect();
        let mut found = Vec::new();
        if !unknown.is_empty() {
            self.snapshot.get(&unknown, &mut found)?;
        }
        let mut found = found.into_iter();
        out.extend(own.into_iter().map(|own| own.unwrap_or_else(|| found.next().flatten())));
        debug_assert_eq!(out.len() - first, keys.len());
        Ok(())
    }

    fn scan(
        &mut self,
        lower: &[u8],
        upper: &[u8],
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()> {
        let (mut lower, mut upper) = (lower.to_vec(), upper.to_vec());
        let mut wanted = limit;
        while wanted > 0 && lower < upper {
            let mut page = Vec::new();
            self.snapshot.scan(&lower, &upper, order, wanted, &mut page)?;
            let last = page.last().filter(|_| page.len() == wanted);
            let (from, to) = match (last, order) {
                (None, _) => (lower.clone(), upper.clone()),
                (Some((last, _)), Order::Forward) => (lower.clone(), successor(last)),
                (Some((last, _)), Order::Backward) => (last.clone(), upper.clone()),
            };
            let is_all = last.is_none();
            self.own.merge(&from, &to, order, &mut page);
            page.truncate(wanted);
            wanted -= page.len();
            out.extend(page);
            match order {
                _ if is_all => break,
                Order::Forward => lower = to,
                Order::Backward => upper = from,
            }
        }
        Ok(())
    }
}

impl Writer<'_> {
    fn check_extent(&self) -> Result<()> {
        let (keys, key_bytes, bytes) = self.own.extent();
        let requests = bytes / BYTES_A_REQUEST + 1;
        if requests.saturating_mul(key_bytes + keys * KEY_OVERHEAD_BYTES) <= COMMIT_COST_MAX {
            return Ok(());
        }
        let what = format!(
            "{}: {keys} rows of {bytes} bytes are too many for one commit in TiKV",
            self.snapshot.cluster.place
        );
        let hint = "write in batches of 10,000 rows; imports into new relations have no such limit";
        Err(Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}")))
    }
}

impl MapWriter for Writer<'_> {
    fn put(&mut self, pairs: &[Pair]) -> Result<()> {
        pairs.iter().for_each(|(key, value)| self.own.set(key.clone(), Some(value.clone())));
        self.check_extent()
    }

    fn delete(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        keys.iter().for_each(|key| self.own.set(key.clone(), None));
        self.check_extent()
    }

    fn delete_range(&mut self, lower: &[u8], upper: &[u8]) -> Result<()> {
        self.own.keys(lower, upper).into_iter().for_each(|key| self.own.set(key, None));
        let cluster = Arc::clone(&self.snapshot.cluster);
        let (mut lower, upper) = (cluster.row_key(lower), cluster.row_key(upper));
        let bytes = cluster.row_key(&[]).len();
        loop {
            let keys = cluster.keys(&self.snapshot.state, (&lower, &upper), KEYS_A_PAGE)?;
            let Some(last) = keys.last() else { return Ok(()) };
            lower = successor(last);
            for key in &keys {
                self.own.set(key.get(bytes..).unwrap_or_default().to_vec(), None);
            }
            self.check_extent()?;
        }
    }

    fn discard(&mut self, lower: &[u8], upper: &[u8]) -> Result<()> {
        let cluster = &self.snapshot.cluster;
        self.discarded.push((cluster.row_key(lower), cluster.row_key(upper)));
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let Self { snapshot, mut transaction, fence, own, discarded, turn, alone } = *self;
        let cluster = snapshot.cluster;
        let number = number(&transaction);
        let garbage = discarded.into_iter().zip(0..);
        let garbage = garbage.map(|(range, nth)| Garbage::new(&cluster, number, nth, range));
        let garbage: Vec<_> = garbage.collect();
        let changes = own.into_changes();
        if changes.is_empty() && garbage.is_empty() {
            return Ok(());
        }
        let committed = cluster.wait_for(async {
            write_fence(&cluster, &mut transaction).await?;
            for (key, value) in garbage.iter().map(Garbage::record) {
                transaction.put(key, value).await?;
            }
            for (key, value) in changes {
                let key = cluster.row_key(&key);
                match value {
                    Some(value) => transaction.put(key, value).await?,
                    None => transaction.delete(key).await?,
                }
            }
            Cluster::commit(&mut transaction).await
        })?;
        drop(transaction);
        match committed {
            Ok(()) => {}
            Err(error) if is_conflict(&error) => {
                let what = format!("{}: another process has written meanwhile", cluster.place);
                let hint = "run the transaction again";
                return Err(Error::new(ErrorKind::Conflict, format!("{what}\nhint: {hint}")));
            }
            Err(error) if took_place(&cluster, number, fence.as_deref())? => drop(error),
            Err(error) => return Err(failed(&cluster.place, &error)),
        }
        drop(turn);
        drop(alone);
        // The commit has taken place. What remains is removed when the map is claimed or compacted.
        let _ = garbage.iter().try_for_each(|garbage| garbage.remove(&cluster));
        Ok(())
    }
}

impl OrderedMap for TikvMap {
    fn snapshot(&self) -> Result<Box<dyn MapRead + Send>> {
        let state = self.cluster.newest()?;
        Ok(Box::new(Snapshot { cluster: Arc::clone(&self.cluster), state }))
    }

    fn writer(&self) -> Result<Box<dyn MapWriter + '_>> {
        let alone = self.alone.lock();
        self.check_open()?;
        let owner = self.owner();
        let turn = if owner.is_none() { Some(Turn::take(&self.cluster)?) } else { None };
        let transaction = self.cluster.wait(Cluster::begin(self.cluster.client()))?;
        let state = Cluster::state_of(&transaction);
        let control = Control::read(&self.cluster, &state)?;
        control.check(&self.cluster.place, owner, &transaction)?;
        Ok(Box::new(Writer {
            snapshot: Snapshot { cluster: Arc::clone(&self.cluster), state },
            transaction,
            fence: control.fence,
            own: Overlay::default(),
            discarded: Vec::new(),
            turn,
            alone,
        }))
    }

    fn load(&self, pairs: &[Pair]) -> Result<()> {
        self.check_open()?;
        let (mut parts, mut part, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (key, value) in pairs {
            bytes += key.len() + value.len();
            part.push((self.cluster.row_key(key), value.clone()));
            if bytes >= LOADED_BYTES || part.len() >= LOADED_ROWS {
                parts.push(std::mem::take(&mut part));
                bytes = 0;
            }
        }
        parts.push(part);
        self.cluster.wait(together(parts.into_iter().map(|part| {
            let client = self.cluster.client().clone();
            async move {
                let mut transaction = Cluster::begin(&client).await?;
                for (key, value) in part {
                    transaction.put(key, value).await?;
                }
                transaction.commit().await
            }
        })))?;
        Ok(())
    }

    fn claim(&self) -> Result<()> {
        self.release()?;
        self.owner.store(claim(&self.cluster)?, Ordering::Release);
        self.remove_garbage()
    }

    fn compact(&self) -> Result<()> {
        self.remove_garbage()
    }

    fn name(&self) -> String {
        self.cluster.place.clone()
    }

    fn close(&self) -> Result<()> {
        // A commit that has begun ends first.
        let _alone = self.alone.lock();
        self.is_closed.store(true, Ordering::Release);
        self.release()
    }
}
