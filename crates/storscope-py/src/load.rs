//! A run of the load generator: start it, take its intervals, sum up.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use storscope_load as load;

/// Waiting longer for one interval is waiting for ever, and Duration refuses what is negative or no number.
const LONGEST_WAIT_S: f64 = 3600.0;

create_exception!(
    storscope._core,
    RunError,
    PyException,
    "What the load generator refuses: args are (kind, message). `storscope.bench.engine` makes a StorscopeError of it."
);

pub(crate) fn kind(error: &load::LoadError) -> &'static str {
    match error {
        load::LoadError::Workload(_) => "workload",
        load::LoadError::Plan { .. } => "plan",
        load::LoadError::Open { .. } => "open",
        load::LoadError::Failed { .. } => "failed",
        load::LoadError::Mismatch { .. } => "mismatch",
        load::LoadError::TimeStands { .. } => "time_stands",
        load::LoadError::Device(_) => "device",
        load::LoadError::Panicked => "panicked",
    }
}

/// A run under way; see the stub.
#[pyclass(module = "storscope._core", frozen)]
pub struct LoadRun {
    run: Mutex<Option<load::Run>>,
}

#[pymethods]
impl LoadRun {
    #[new]
    fn new(py: Python<'_>, plan: &str) -> PyResult<Self> {
        let plan = read(plan)?;
        let run = py.detach(|| load::Run::start(plan)).map_err(|error| refused(&error))?;
        Ok(Self { run: Mutex::new(Some(run)) })
    }

    #[getter]
    fn started_ns(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        py.detach(|| self.with_run(|run| run.started_unix_ns())).ok_or_else(over)
    }

    #[getter]
    fn is_ready(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.with_run(|run| run.is_ready())).ok_or_else(over)
    }

    fn begin(&self, py: Python<'_>) {
        py.detach(|| self.with_run(|run| run.begin()));
    }

    fn next<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if timeout_s.is_nan() || timeout_s < 0.0 {
            return Err(PyValueError::new_err("timeout_s: expected zero or more"));
        }
        let patience = Duration::from_secs_f64(timeout_s.min(LONGEST_WAIT_S));
        let text = py.detach(|| self.with_run(|run| news_text(run.next(patience)))).ok_or_else(over)?;
        text.map_err(internal).map(|text| text.map(|text| PyBytes::new(py, &text)))
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.with_run(|run| run.stop()));
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let text = py.detach(|| self.lock().take().map(|run| finished_text(&run.finish())));
        Ok(PyBytes::new(py, &text.ok_or_else(over)?.map_err(internal)?))
    }
}

impl LoadRun {
    fn lock(&self) -> MutexGuard<'_, Option<load::Run>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_run<T>(&self, job: impl FnOnce(&mut load::Run) -> T) -> Option<T> {
        self.lock().as_mut().map(job)
    }
}

/// What a plan's run would take of memory; see the stub.
#[pyfunction]
pub fn plan_buffer_bytes(py: Python<'_>, plan: &str) -> PyResult<u64> {
    let plan = read(plan)?;
    let needed = || {
        plan.check()?;
        plan.check_left(load::MemoryLeft::now().as_ref())?;
        Ok(plan.buffer_bytes().0)
    };
    py.detach(needed).map_err(|error: load::LoadError| refused(&error))
}

fn read(plan: &str) -> PyResult<load::Plan> {
    serde_json::from_str(plan).map_err(|error| RunError::new_err(("plan", error.to_string())))
}

/// Nothing yet is an empty object, the end is none.
fn news_text(news: load::News) -> serde_json::Result<Option<Vec<u8>>> {
    match news {
        load::News::Interval(interval) => serde_json::to_vec(&interval).map(Some),
        load::News::Pending => Ok(Some(b"{}".to_vec())),
        load::News::Finished => Ok(None),
    }
}

fn finished_text(finished: &load::Finished) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&finished_form(finished))
}

/// What was measured, what is doubted in words, and what ended it early.
pub(crate) fn finished_form(finished: &load::Finished) -> serde_json::Value {
    let words: Vec<String> = finished.result.doubts.iter().map(load::Doubt::explain).collect();
    let of_streams: Vec<String> = finished.result.stream_doubts.iter().map(|one| one.doubt.explain()).collect();
    let error = finished.error.as_ref().map(|error| json!({"kind": kind(error), "message": error.to_string()}));
    json!({
        "result": finished.result, "doubts_in_words": words, "stream_doubts_in_words": of_streams, "error": error,
    })
}

/// The exception for what the generator refuses.
pub(crate) fn refused(error: &load::LoadError) -> PyErr {
    RunError::new_err((kind(error), error.to_string()))
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the run was finished already")
}

fn internal(error: serde_json::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
