//! A drive from measurements of it: traces of single requests, throughput against queue depth.

use std::cell::Cell;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use storscope_sim::drive::fit::{self, FitError as Refusal, Frame, Grid};
use storscope_types::design::drive::DriveDesign;

create_exception!(
    storscope._core,
    FitError,
    PyException,
    "Why no drive can be fitted: args are (line, message); the line is None unless the evidence has it. \
     `storscope.sim.fitting` makes a StorscopeError of it."
);

/// Asks the interpreter now and then whether Ctrl-C was pressed, and keeps what it said.
#[derive(Default)]
struct Patience {
    interrupt: Cell<Option<PyErr>>,
}

impl Patience {
    fn lasts(&self) -> bool {
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(interrupt) => {
                self.interrupt.set(Some(interrupt));
                false
            }
        }
    }

    fn error(&self, refusal: &Refusal) -> PyErr {
        self.interrupt.take().unwrap_or_else(|| FitError::new_err((None::<usize>, refusal.to_string())))
    }
}

/// A mechanical drive from a trace; see the stub.
#[pyfunction]
pub fn fit_drive_to_trace<'py>(py: Python<'py>, text: &str, frame: &str, share: f64) -> PyResult<Bound<'py, PyBytes>> {
    let frame: Frame = serde_json::from_str(frame).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let trace =
        py.detach(|| fit::parse(text)).map_err(|error| FitError::new_err((Some(error.line), error.to_string())))?;
    // The wish to stop is looked for on this thread, so nothing is shared between threads.
    let fitted = py.detach(|| {
        let patience = Patience::default();
        fit::fit_and_predict(&trace, &frame, share, &|| patience.lasts()).map_err(|refusal| patience.error(&refusal))
    })?;
    let form = json!({
        "design": DriveDesign::Mechanical(fitted.fit.design),
        "parameters": fitted.fit.parameters,
        "numbers": fitted.fit.numbers,
        "requests": trace.len(),
        "on_itself": fitted.fit.on_itself,
        "on_rest": fitted.on_rest,
        "table_on_rest": fitted.table_on_rest,
    });
    Ok(bytes_of(py, &form))
}

/// A drive from throughput against queue depth; see the stub.
#[pyfunction]
pub fn fit_drive_to_grid<'py>(py: Python<'py>, base: &str, grid: &str) -> PyResult<Bound<'py, PyBytes>> {
    let malformed = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let base: DriveDesign = serde_json::from_str(base).map_err(malformed)?;
    let grid: Grid = serde_json::from_str(grid).map_err(malformed)?;
    let fitted = py.detach(|| {
        let patience = Patience::default();
        fit::from_grid(&base, &grid, &|| patience.lasts()).map_err(|refusal| patience.error(&refusal))
    })?;
    Ok(bytes_of(py, &json!(fitted)))
}

fn bytes_of<'py>(py: Python<'py>, form: &Value) -> Bound<'py, PyBytes> {
    PyBytes::new(py, form.to_string().as_bytes())
}
