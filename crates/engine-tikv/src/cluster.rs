//! A connection to a cluster: its runtime, timestamps, requests of reads, and errors.

use crate::address::Address;
use crate::regions::Regions;
use ordered::{Order, Pair, successor};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use store::{Error, ErrorKind, Result};
use tikv_client::{
    Backoff, BoundRange, CheckLevel, Config, Key, RetryOptions, Timestamp, Transaction,
    TransactionClient, TransactionOptions,
};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Most keys or rows of one request. Pages of `ordered` are also bounded in bytes.
const ROWS_A_REQUEST: usize = 4096;
/// Most requests at once.
pub(crate) const REQUESTS_MAX: usize = 32;

/// One answer may have [`ROWS_A_REQUEST`] rows of a few hundred kilobytes.
const ANSWER_BYTES_MAX: usize = 1 << 30;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits about 27 seconds in all: longer than an abandoned lock lives, and than an election takes.
const PATIENT: Backoff = Backoff::no_jitter_backoff(2, 500, 60);
/// Tries again four times, after 10 to 80 milliseconds.
const BRIEF: Backoff = Backoff::no_jitter_backoff(10, 100, 4);

/// Threads that send and receive.
const THREADS: usize = 2;

/// A connection, shared by all snapshots of a map.
pub(crate) struct Cluster {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: TransactionClient,
    regions: Arc<Regions>,
    pub(crate) place: String,
    prefix: String,
    snapshot_age_max: Option<Duration>,
}

/// One state of the cluster.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) timestamp: Timestamp,
    taken: Instant,
}

/// An error of the cluster or of the network.
pub(crate) fn failed(place: &str, error: &tikv_client::Error) -> Error {
    let kind = if is_conflict(error) { ErrorKind::Conflict } else { ErrorKind::Io };
    let mut text = error.to_string();
    // It may have the keys and values of a whole request.
    if text.len() > 500 {
        text.truncate((0..=500).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0));
        text += "…";
    }
    Error::new(kind, format!("{place}: {text}"))
}

/// The errors inside an error.
fn parts(error: &tikv_client::Error) -> &[tikv_client::Error] {
    use tikv_client::Error::{
        ExtractedErrors, MultipleKeyErrors, PessimisticLockError, UndeterminedError,
    };
    match error {
        ExtractedErrors(errors) | MultipleKeyErrors(errors) => errors,
        PessimisticLockError { inner, .. } => std::slice::from_ref(inner),
        UndeterminedError(inner) => std::slice::from_ref(inner),
        _ => &[],
    }
}

/// Whether another transaction won.
pub(crate) fn is_conflict(error: &tikv_client::Error) -> bool {
    match error {
        tikv_client::Error::KeyError(error) => error.conflict.is_some(),
        error => parts(error).iter().any(is_conflict),
    }
}

/// Whether another transaction held a lock for as long as this one waited.
pub(crate) fn is_locked(error: &tikv_client::Error) -> bool {
    match error {
        tikv_client::Error::KeyError(error) => error.locked.is_some(),
        tikv_client::Error::ResolveLockError(_) => true,
        error => parts(error).iter().any(is_locked),
    }
}

impl Cluster {
    /// Connects.
    pub(crate) fn connect(address: &Address) -> Result<Self> {
        let place = format!("tikv://{}/{}", address.servers.join(","), address.name);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("quipu-tikv")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| Error::caused(ErrorKind::Io, error))?;
        let config = Config::default()
            .with_timeout(REQUEST_TIMEOUT)
            .with_grpc_max_decoding_message_size(ANSWER_BYTES_MAX);
        let client = TransactionClient::new_with_config(address.servers.clone(), config);
        let client = runtime.block_on(client).map_err(|error| failed(&place, &error))?;
        Ok(Self {
            runtime: Some(runtime),
            client,
            regions: Arc::new(Regions::new(&address.servers)),
            place,
            // No name has a colon, so no prefix is the start of another.
            prefix: format!("quipu:{}:", address.name),
            snapshot_age_max: address.snapshot_age_max,
        })
    }

    /// Waits for an answer.
    pub(crate) fn wait<R>(
        &self,
        answer: impl Future<Output = tikv_client::Result<R>>,
    ) -> Result<R> {
        self.wait_for(answer)?.map_err(|error| failed(&self.place, &error))
    }

    /// Waits for an answer whose error matters.
    pub(crate) fn wait_for<R>(&self, answer: impl Future<Output = R>) -> Result<R> {
        let closed = || Error::new(ErrorKind::Io, format!("{} is closed", self.place));
        Ok(self.runtime.as_ref().ok_or_else(closed)?.block_on(answer))
    }

    /// Waits for a time.
    pub(crate) fn pause(&self, time: Duration) -> Result<()> {
        // The timer is made by the runtime: the caller's thread has none.
        self.wait_for(async { tokio::time::sleep(time).await })
    }

    /// Runs a task until the connection is closed.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            drop(runtime.spawn(task));
        }
    }

    pub(crate) fn client(&self) -> &TransactionClient {
        &self.client
    }

    /// The key of a row of the map.
    pub(crate) fn row_key(&self, key: &[u8]) -> Vec<u8> {
        [self.prefix.as_bytes(), b"r", key].concat()
    }

    /// The first key after all rows of the map.
    pub(crate) fn after_rows(&self) -> Vec<u8> {
        [self.prefix.as_bytes(), b"s"].concat()
    }

    /// The key of a row that the map does not see. It is before all rows of the map.
    pub(crate) fn control_key(&self, key: &[u8]) -> Vec<u8> {
        [self.prefix.as_bytes(), b"c", key].concat()
    }

    /// Removes from keys what [`Cluster::row_key`] put before them.
    pub(crate) fn strip(&self, pairs: &mut [Pair]) {
        let bytes = self.prefix.len() + 1;
        pairs.iter_mut().for_each(|(key, _)| drop(key.drain(..bytes.min(key.len()))));
    }

    /// The newest state.
    pub(crate) fn newest(&self) -> Result<State> {
        let timestamp = self.wait(self.client.current_timestamp())?;
        Ok(State { timestamp, taken: Instant::now() })
    }

    /// A transaction that sends its writes when it commits.
    pub(crate) async fn begin(client: &TransactionClient) -> tikv_client::Result<Transaction> {
        // The client's first beat is after that time. Locks live for three seconds at least.
        let beat = tikv_client::transaction::HeartbeatOption::FixedTime(Duration::from_secs(1));
        let options = TransactionOptions::new_optimistic()
            .retry_options(RetryOptions { region_backoff: PATIENT, lock_backoff: PATIENT })
            .heartbeat_option(beat)
            .drop_check(CheckLevel::None);
        client.begin_with_options(options).await
    }

    /// A transaction that waits a few seconds for locks.
    pub(crate) async fn begin_locking(
        client: &TransactionClient,
    ) -> tikv_client::Result<Transaction> {
        let beat = tikv_client::transaction::HeartbeatOption::FixedTime(Duration::from_secs(5));
        let options = TransactionOptions::new_pessimistic()
            .retry_options(RetryOptions { region_backoff: PATIENT, lock_backoff: BRIEF })
            .heartbeat_option(beat)
            .drop_check(CheckLevel::None);
        client.begin_with_options(options).await
    }

    /// Commits. A transaction that loses to another one gives its locks up, which would keep others
    /// waiting.
    pub(crate) async fn commit(transaction: &mut Transaction) -> tikv_client::Result<()> {
        let committed = transaction.commit().await.map(drop);
        if committed.as_ref().is_err_and(is_conflict) {
            let _ = transaction.rollback().await;
        }
        committed
    }

    /// The state that a transaction which has just begun reads.
    pub(crate) fn state_of(transaction: &Transaction) -> State {
        State { timestamp: transaction.start_timestamp(), taken: Instant::now() }
    }

    /// Fails if the cluster may have removed versions that the state has. TiKV itself would answer
    /// without them.
    fn check_age(&self, state: &State) -> Result<()> {
        match self.snapshot_age_max {
            Some(limit) if state.taken.elapsed() > limit => {
                let what = format!(
                    "{}: this snapshot is older than {} seconds, and the cluster may have removed \
                     what it reads",
                    self.place,
                    limit.as_secs()
                );
                let hint = "read a new snapshot; if the cluster keeps old versions for longer, add \
                     ?snapshot_seconds=N to the address (0: no limit)";
                Err(Error::new(ErrorKind::Io, format!("{what}\nhint: {hint}")))
            }
            _ => Ok(()),
        }
    }

    /// The values of keys.
    pub(crate) fn get(&self, state: &State, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.check_age(state)?;
        let mut found = HashMap::with_capacity(keys.len());
        for keys in keys.chunks(ROWS_A_REQUEST) {
            found.extend(self.wait(get(&self.client, &state.timestamp, keys.to_vec()))?);
        }
        Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
    }

    /// The first pairs of a range.
    pub(crate) fn scan(
        &self,
        state: &State,
        (lower, upper): (&[u8], &[u8]),
        order: Order,
        limit: usize,
    ) -> Result<Vec<Pair>> {
        self.check_age(state)?;
        let range = (lower.to_vec(), upper.to_vec());
        self.wait(self.scanner(state, order, limit, false).run(range))
    }

    /// The first pairs of each range.
    pub(crate) fn scan_many(
        &self,
        state: &State,
        ranges: &[(Vec<u8>, Vec<u8>)],
        limit: usize,
    ) -> Result<Vec<Vec<Pair>>> {
        self.check_age(state)?;
        let scans = ranges
            .iter()
            .map(|range| self.scanner(state, Order::Forward, limit, false).run(range.clone()));
        self.wait(together(scans))
    }

    /// The first keys of a range.
    pub(crate) fn keys(
        &self,
        state: &State,
        (lower, upper): (&[u8], &[u8]),
        limit: usize,
    ) -> Result<Vec<Vec<u8>>> {
        self.check_age(state)?;
        let range = (lower.to_vec(), upper.to_vec());
        let pairs = self.wait(self.scanner(state, Order::Forward, limit, true).run(range))?;
        Ok(pairs.into_iter().map(|(key, _)| key).collect())
    }

    fn scanner(&self, state: &State, order: Order, limit: usize, keys_only: bool) -> Scanner {
        let (client, regions) = (self.client.clone(), Arc::clone(&self.regions));
        Scanner { client, regions, timestamp: state.timestamp.clone(), order, limit, keys_only }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may be dropped by a task of another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn reading() -> TransactionOptions {
    TransactionOptions::new_optimistic()
        .retry_options(RetryOptions { region_backoff: PATIENT, lock_backoff: PATIENT })
        .drop_check(CheckLevel::None)
}

/// The pairs of keys. Each request has a snapshot of its own: one keeps all that it has read.
async fn get(
    client: &TransactionClient,
    timestamp: &Timestamp,
    keys: Vec<Vec<u8>>,
) -> tikv_client::Result<Vec<Pair>> {
    let mut snapshot = client.snapshot(timestamp.clone(), reading());
    let pairs = snapshot.batch_get(keys).await?;
    Ok(pairs.map(pair).filter(|(_, value)| !value.is_empty()).collect())
}

fn pair(pair: tikv_client::KvPair) -> Pair {
    let (key, value): (Key, Vec<u8>) = pair.into();
    (key.into(), value)
}

/// A scan of one state.
struct Scanner {
    client: TransactionClient,
    regions: Arc<Regions>,
    timestamp: Timestamp,
    order: Order,
    limit: usize,
    /// Values are left out.
    keys_only: bool,
}

impl Scanner {
    /// The first pairs of a range: a page of rows at a time, and one region at a time.
    async fn run(self, range: (Vec<u8>, Vec<u8>)) -> tikv_client::Result<Vec<Pair>> {
        let (mut lower, mut upper) = range;
        let mut out: Vec<Pair> = Vec::new();
        while out.len() < self.limit && lower < upper {
            let rows = (self.limit - out.len()).min(ROWS_A_REQUEST);
            let cut = match self.order {
                Order::Forward => self.regions.end_above(&lower).await.filter(|end| *end < upper),
                Order::Backward => {
                    self.regions.start_below(&upper).await.filter(|start| *start > lower)
                }
            };
            let part = match (&cut, self.order) {
                (None, _) => (lower.clone(), upper.clone()),
                (Some(end), Order::Forward) => (lower.clone(), end.clone()),
                (Some(start), Order::Backward) => (start.clone(), upper.clone()),
            };
            let before = out.len();
            self.page(part, rows as u32, &mut out).await?;
            let last = out.last().filter(|_| out.len() - before == rows);
            match (last, cut, self.order) {
                (Some((last, _)), _, Order::Forward) => lower = successor(last),
                (Some((last, _)), _, Order::Backward) => upper.clone_from(last),
                (None, Some(end), Order::Forward) => lower = end,
                (None, Some(start), Order::Backward) => upper = start,
                (None, None, _) => break,
            }
        }
        Ok(out)
    }

    async fn page(
        &self,
        (lower, upper): (Vec<u8>, Vec<u8>),
        rows: u32,
        out: &mut Vec<Pair>,
    ) -> tikv_client::Result<()> {
        let mut snapshot = self.client.snapshot(self.timestamp.clone(), reading());
        let range: BoundRange = (lower..upper).into();
        match (self.order, self.keys_only) {
            (Order::Forward, false) => out.extend(snapshot.scan(range, rows).await?.map(pair)),
            (Order::Forward, true) => {
                let keys = snapshot.scan_keys(range, rows).await?;
                out.extend(keys.map(|key| (Vec::from(key), Vec::new())));
            }
            (Order::Backward, _) => {
                out.extend(snapshot.scan_reverse(range, rows).await?.map(pair));
            }
        }
        Ok(())
    }
}

/// Runs requests, a bounded number at once. Results are in the order of the requests.
pub(crate) async fn together<R: Send + 'static>(
    requests: impl Iterator<Item = impl Future<Output = tikv_client::Result<R>> + Send + 'static>,
) -> tikv_client::Result<Vec<R>> {
    let mut waiting = requests.enumerate();
    let (mut running, mut done) = (JoinSet::new(), Vec::new());
    loop {
        while running.len() < REQUESTS_MAX {
            let Some((i, request)) = waiting.next() else { break };
            running.spawn(async move { (i, request.await) });
        }
        let Some(finished) = running.join_next().await else { break };
        let (i, result) = finished?;
        done.push((i, result?));
    }
    done.sort_unstable_by_key(|(i, _)| *i);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
