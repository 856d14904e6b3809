//! `ResultStream`: the result of a script, in batches, while the script still runs.
//!
//! # How it runs
//! The script runs on a thread of its own, which takes the GIL only for Python functions that the
//! script calls. It hands batches over through a channel with room for one, and blocks while the
//! consumer takes none.

use crate::capsule::{arrow_error, schema_capsule, stream_capsule};
use crate::error::{check_process, invalid};
use crate::exits;
use crate::python_code::is_ending;
use crate::result::ResultObject;
use crate::values::parameters;
use arrow_schema::Schema;
use env::sync::Mutex;
use env::{Own, Owner};
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use quipu::{Error, ErrorKind, Files, GoOn, Parameters, RunOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often signals are checked while a call waits for a batch.
const STEP: Duration = Duration::from_millis(50);

/// A running script and its channel.
struct Running {
    /// The process that has the thread: a forked child does not have it.
    owner: Owner,
    parts: Receiver<quipu::Result<quipu::QueryResult>>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// The first batch, which `stream` received for its columns; the next call returns it.
    first: Option<quipu::QueryResult>,
}

impl Running {
    fn start(
        database: quipu::Database,
        script: String,
        parameters: Parameters,
        options: RunOptions<'static>,
        files: Option<Files>,
    ) -> std::io::Result<Self> {
        let (sender, parts) = sync_channel(1);
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&is_stopped);
        let run = move || {
            let go_on = || !stopped.load(Ordering::Relaxed);
            let options = RunOptions { go_on: Some(&go_on), files: files.as_ref(), ..options };
            let take = |part| Ok(sender.send(Ok(part)).is_ok());
            let mut ended = database.stream(&script, &parameters, &options, take);
            if let Some(exit) = exits::take_pending() {
                let message = exit.to_string();
                ended = Err(exits::error(exit, message));
            }
            if let Err(error) = ended {
                // The consumer may have dropped the stream.
                let _ = sender.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("quipu-stream".to_owned()).spawn(run)?;
        Ok(Self { owner: Owner::here(), parts, is_stopped, thread: Some(thread), first: None })
    }

    /// The next batch; `None` at the end. No batch follows the end or an error.
    fn next(&mut self, go_on: Option<GoOn<'_>>) -> quipu::Result<Option<quipu::QueryResult>> {
        self.owner.check().map_err(|error| Error::caused(ErrorKind::Forked, error))?;
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            match self.parts.recv_timeout(STEP) {
                Ok(part) => return part.map(Some),
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
                    let why = "the thread of the query panicked";
                    return ended.map(|()| None).map_err(|_| Error::new(ErrorKind::Io, why));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let is_closed = self.is_stopped.load(Ordering::Relaxed);
                    if is_closed || go_on.is_some_and(|go_on| !go_on()) {
                        return Err(Error::new(ErrorKind::Cancelled, "the query was interrupted"));
                    }
                }
            }
        }
    }
}

impl Drop for Running {
    /// Stops the script and waits until its thread has ended.
    fn drop(&mut self) {
        if !self.owner.is_here() || is_ending() {
            // The thread does not exist in this process, or may be parked for ever: it is not
            // joined.
            self.is_stopped.store(true, Ordering::Relaxed);
            std::mem::forget(std::mem::replace(&mut self.parts, sync_channel(0).1));
            std::mem::forget(self.thread.take());
            return;
        }
        self.is_stopped.store(true, Ordering::Relaxed);
        // The thread may be blocked in `send`: dropping the receiver makes it fail.
        drop(std::mem::replace(&mut self.parts, sync_channel(0).1));
        if let Some(thread) = self.thread.take() {
            // An error means that it panicked, which the panic hook has reported.
            let _ = thread.join();
        }
    }
}

/// State of a stream. No lock is held while a call waits for a batch, because a signal handler may
/// close the stream.
enum State {
    Ready(Running),
    /// A call holds the script and waits for a batch.
    Busy,
    /// At its end, closed, or exported to Arrow.
    Done,
}

/// An iterator over the batches of a result, as of the snapshot that the script read.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct ResultStream {
    columns: Vec<String>,
    schema: Arc<Schema>,
    is_stopped: Arc<AtomicBool>,
    state: Own<Mutex<State>>,
}

/// Starts a script and waits for its first batch. Mistakes in the script are raised here.
pub(crate) fn stream(
    py: Python<'_>,
    database: &quipu::Database,
    script: &str,
    given: Option<&Bound<'_, PyAny>>,
    options: RunOptions<'static>,
    files: Option<Files>,
) -> PyResult<ResultStream> {
    let parameters = parameters(given)?;
    let (database, script) = (database.clone(), script.to_owned());
    let (mut running, first) = crate::interruptible::interruptible(py, |go_on| {
        let running = Running::start(database, script, parameters, options, files);
        let mut running = running.map_err(|error| Error::caused(ErrorKind::Io, error))?;
        let first = running.next(Some(go_on))?;
        Ok((running, first))
    })?;
    let first = first.ok_or_else(|| invalid("the script answered nothing"))?;
    let schema = first.to_batch().map_err(arrow_error)?.schema();
    let columns = first.columns().to_vec();
    running.first = Some(first);
    let is_stopped = Arc::clone(&running.is_stopped);
    Ok(ResultStream {
        columns,
        schema,
        is_stopped,
        state: Own::new(Mutex::new(State::Ready(running))),
    })
}

impl ResultStream {
    /// Takes the running script out of the stream and leaves `next` as the state; `None` at the
    /// end.
    fn take(&self, next: State) -> PyResult<Option<Running>> {
        let mut state = check_process(&self.state)?.lock();
        match std::mem::replace(&mut *state, next) {
            State::Ready(running) => Ok(Some(running)),
            State::Done => {
                *state = State::Done;
                Ok(None)
            }
            State::Busy => {
                *state = State::Busy;
                Err(invalid("another call waits for a part of the stream"))
            }
        }
    }

    /// Puts the script back where `goes_on` says that batches may follow and the stream was not
    /// closed meanwhile. Otherwise returns it for the caller to drop, which joins a thread.
    fn put_back(&self, running: Running, goes_on: bool) -> Option<Running> {
        let Ok(state) = self.state.get() else { return Some(running) };
        let mut state = state.lock();
        match *state {
            State::Busy if goes_on => {
                *state = State::Ready(running);
                None
            }
            _ => {
                *state = State::Done;
                Some(running)
            }
        }
    }
}

#[documented]
#[guarded]
#[pymethods]
impl ResultStream {
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<ResultObject>> {
        let Some(mut running) = self.take(State::Busy)? else { return Ok(None) };
        let part = crate::interruptible::interruptible(py, |go_on| running.next(Some(go_on)));
        let ended = self.put_back(running, matches!(part, Ok(Some(_))));
        py.detach(|| drop(ended));
        Ok(part?.map(ResultObject::new))
    }

    fn close(&self, py: Python<'_>) {
        let Ok(state) = self.state.get() else { return Ok(()) };
        self.is_stopped.store(true, Ordering::Relaxed);
        let state = std::mem::replace(&mut *state.lock(), State::Done);
        py.detach(|| drop(state));
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // as in `Table`
        let running = self.take(State::Done)?;
        let mut running = running.ok_or_else(|| invalid("the stream was handed out already"))?;
        let next = move || {
            let part = running.next(None)?;
            let batch = part.map(|part| part.to_batch()).transpose();
            batch.map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
        };
        stream_capsule(py, &self.schema, Box::new(next))
    }
}
