//! Backups and restores: progress, Ctrl-C, and the reports.

use crate::interruptible::interruptible;
use crate::python_code::attached;
use env::sync::Mutex;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use quipu::{BackupOptions, RestoreOptions};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Milliseconds between two reports of progress.
const STEP_MS: u64 = 100;

/// Files and bytes of a backup, and how long it took.
#[documented]
#[pyclass(module = "quipu", frozen, weakref, get_all)]
pub(crate) struct BackupReport {
    files: u64,
    linked: u64,
    copied: u64,
    reused: u64,
    bytes_written: u64,
    bytes_total: u64,
    sequence: u64,
    seconds: f64,
}

#[documented]
#[guarded]
#[pymethods]
impl BackupReport {
    fn __repr__(&self) -> String {
        format!(
            "BackupReport(files={}, linked={}, copied={}, reused={}, bytes_written={}, bytes_total={}, seconds={:.3})",
            self.files,
            self.linked,
            self.copied,
            self.reused,
            self.bytes_written,
            self.bytes_total,
            self.seconds
        )
    }
}

/// Files, bytes and rows that were restored, the commit they are of, and how long it took.
#[documented]
#[pyclass(module = "quipu", frozen, weakref, get_all)]
pub(crate) struct RestoreReport {
    files: u64,
    bytes: u64,
    rows: u64,
    sequence: u64,
    moment: f64,
    seconds: f64,
}

#[documented]
#[guarded]
#[pymethods]
impl RestoreReport {
    fn __repr__(&self) -> String {
        format!(
            "RestoreReport(files={}, bytes={}, rows={}, seconds={:.3})",
            self.files, self.bytes, self.rows, self.seconds
        )
    }
}

pub(crate) fn back_up(
    py: Python<'_>,
    database: &quipu::Database,
    path: PathBuf,
    earlier: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<BackupReport> {
    let options = BackupOptions { earlier, ..BackupOptions::default() };
    let report = run(py, "backing up", progress, |told| database.backup(path, &options, told))?;
    Ok(BackupReport {
        files: report.files,
        linked: report.linked,
        copied: report.copied,
        reused: report.reused,
        bytes_written: report.bytes_written,
        bytes_total: report.bytes_total,
        sequence: report.seq.0,
        seconds: report.seconds,
    })
}

#[documented]
#[guarded]
#[pyfunction]
#[pyo3(signature = (path, target, *, replace=false, progress=None))]
pub(crate) fn restore(
    py: Python<'_>,
    path: PathBuf,
    target: PathBuf,
    replace: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RestoreReport> {
    let options = RestoreOptions { replace };
    let report =
        run(py, "restoring", progress, |told| quipu::restore(path, target, options, told))?;
    Ok(RestoreReport {
        files: report.files,
        bytes: report.bytes,
        rows: report.rows,
        sequence: report.seq.0,
        moment: report.moment_us as f64 / 1e6,
        seconds: report.seconds,
    })
}

/// Runs `work` without the GIL and reports its progress. `progress` is true for a line on a
/// terminal, or a callable that takes the bytes done and the bytes in total.
fn run<T: Send>(
    py: Python<'_>,
    what: &str,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&(dyn Fn(u64, u64) -> bool + Send + Sync)) -> quipu::Result<T> + Send,
) -> PyResult<T> {
    let callable = progress.filter(|progress| progress.is_callable()).map(|p| p.clone().unbind());
    let draws = callable.is_none()
        && progress.map_or(Ok(false), |progress| progress.is_truthy())?
        && std::io::stderr().is_terminal();
    let (start, next) = (Instant::now(), AtomicU64::new(0));
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let result = interruptible(py, |go_on| {
        work(&|done, total| {
            let now = start.elapsed().as_millis() as u64;
            if now >= next.load(Ordering::Relaxed) || done == total {
                next.store(now + STEP_MS, Ordering::Relaxed);
                if draws {
                    let percent = done as f64 / total.max(1) as f64 * 100.0;
                    let _ = write!(std::io::stderr(), "\r\x1b[K{what}: {percent:.0} %");
                }
                if let Some(callable) = &callable {
                    let told = attached(|py| callable.call1(py, (done, total)).map(drop));
                    if let Err(error) = told {
                        *raised.lock() = Some(error);
                        return false;
                    }
                }
            }
            go_on()
        })
    });
    if draws {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    match raised.into_inner() {
        Some(error) => Err(error),
        None => result,
    }
}
