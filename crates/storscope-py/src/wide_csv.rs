//! Wide counter CSV: find rows, read them into NumPy's memory.

use std::fs::File;
use std::path::PathBuf;

use pyo3::buffer::{Element, PyBuffer};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use storscope_parse as parse;

create_exception!(
    storscope._core,
    ReadError,
    PyException,
    "What the reader refuses: args are (kind, message). `storscope.sources._core_errors` makes a StorscopeError of it."
);

fn raise(error: parse::ReadError) -> PyErr {
    let kind = match &error {
        parse::ReadError::Io { .. } => "io",
        parse::ReadError::NoHeader => "no_header",
        parse::ReadError::LineTooLong { .. } => "line_too_long",
        parse::ReadError::TooManyColumns { .. } => "too_many_columns",
        parse::ReadError::UnclosedQuote { .. } => "unclosed_quote",
        parse::ReadError::Shrunk { .. } => "shrunk",
        parse::ReadError::WrongShape { .. } => return PyValueError::new_err(error.to_string()),
    };
    ReadError::new_err((kind, error.to_string()))
}

/// A wide counter CSV; see the stub.
#[pyclass(module = "storscope._core")]
pub struct WideCsv {
    reader: parse::WideCsv<File>,
}

#[pymethods]
impl WideCsv {
    #[new]
    #[pyo3(signature = (path, offset = 0))]
    fn new(py: Python<'_>, path: PathBuf, offset: u64) -> PyResult<Self> {
        let opened = py.detach(|| parse::WideCsv::open(&path, offset, parse::Limits::default()));
        Ok(Self { reader: opened.map_err(raise)? })
    }

    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.reader.header().names.iter().map(|name| PyBytes::new(py, name)).collect()
    }

    #[getter]
    fn separator(&self) -> char {
        char::from(self.reader.header().separator)
    }

    #[getter]
    fn header_line(&self) -> u64 {
        self.reader.header().line
    }

    #[getter]
    fn blank_lines(&self) -> u64 {
        self.reader.blank_lines()
    }

    #[getter]
    fn section_end(&self) -> Option<u64> {
        self.reader.section_end()
    }

    fn next_block(&mut self, py: Python<'_>, max_rows: usize) -> PyResult<Option<WideCsvBlock>> {
        let block = py.detach(|| self.reader.next_block(max_rows)).map_err(raise)?;
        Ok(block.map(|block| WideCsvBlock { block }))
    }
}

/// What becomes of each column; see the stub.
#[pyclass(module = "storscope._core", frozen)]
pub struct WideCsvPlan {
    plan: parse::Plan,
}

#[pymethods]
impl WideCsvPlan {
    #[new]
    #[pyo3(signature = (slots, numbers, *, slot_count, decimal_comma = false))]
    fn new(
        py: Python<'_>,
        slots: PyBuffer<i32>,
        numbers: PyBuffer<f64>,
        slot_count: usize,
        decimal_comma: bool,
    ) -> PyResult<Self> {
        let slots = slots.to_vec(py)?;
        let numbers = numbers.to_vec(py)?;
        if numbers.len() != 4 * slots.len() {
            return Err(PyValueError::new_err("numbers: expected shape (4, len(slots))"));
        }
        let rows: [&[f64]; 4] = std::array::from_fn(|row| &numbers[row * slots.len()..][..slots.len()]);
        let mut plan = parse::Plan::new(&slots, rows, slot_count).map_err(raise)?;
        plan.decimal_comma = decimal_comma;
        Ok(Self { plan })
    }
}

/// Rows that were found; see the stub.
#[pyclass(module = "storscope._core", frozen)]
pub struct WideCsvBlock {
    block: parse::Block<File>,
}

#[pymethods]
impl WideCsvBlock {
    #[getter]
    fn rows(&self) -> usize {
        self.block.rows()
    }

    #[getter]
    fn end(&self) -> u64 {
        self.block.end()
    }

    #[getter]
    fn first_line(&self) -> u64 {
        self.block.first_line
    }

    fn points(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.block.points()).map_err(raise)
    }

    #[pyo3(signature = (plan, values, times, *, threads = 1))]
    fn read(
        &self,
        py: Python<'_>,
        plan: &WideCsvPlan,
        mut values: PyBuffer<f64>,
        mut times: PyBuffer<i64>,
        threads: usize,
    ) -> PyResult<WideCsvTally> {
        let values = writable(&mut values, "values")?;
        let times = writable(&mut times, "times")?;
        let tally = py.detach(|| self.block.read(&plan.plan, values, times, threads)).map_err(raise)?;
        Ok(WideCsvTally { tally })
    }
}

/// The memory of a writable, contiguous buffer, for as long as the buffer is held.
fn writable<'a, T: Element>(buffer: &'a mut PyBuffer<T>, what: &str) -> PyResult<&'a mut [T]> {
    if buffer.readonly() || !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err(format!("{what}: expected a writable, C-contiguous array")));
    }
    if buffer.item_count() == 0 {
        return Ok(&mut []);
    }
    // SAFETY: PyBuffer has checked the element type and its alignment; the export keeps the memory in place while the
    // buffer lives. The stub obliges the caller not to touch the array until the call returns, since the interpreter
    // lock is released meanwhile; every bit pattern is a valid f64 and i64.
    Ok(unsafe { std::slice::from_raw_parts_mut(buffer.buf_ptr().cast(), buffer.item_count()) })
}

/// What was met in a block; see the stub.
#[pyclass(module = "storscope._core", frozen)]
pub struct WideCsvTally {
    tally: parse::Tally,
}

#[pymethods]
impl WideCsvTally {
    #[getter]
    fn blank(&self) -> u64 {
        self.tally.blank
    }

    #[getter]
    fn unparsable(&self) -> u64 {
        self.tally.unparsable
    }

    #[getter]
    fn commas(&self) -> u64 {
        self.tally.commas
    }

    #[getter]
    fn impossible(&self) -> u64 {
        self.tally.impossible
    }

    #[getter]
    fn missing(&self) -> u64 {
        self.tally.missing
    }

    #[getter]
    fn short_rows(&self) -> u64 {
        self.tally.short_rows
    }

    #[getter]
    fn extra(&self) -> u64 {
        self.tally.extra
    }

    #[getter]
    fn long_rows(&self) -> u64 {
        self.tally.long_rows
    }

    #[getter]
    fn stamps<'py>(&self, py: Python<'py>) -> Vec<(usize, Bound<'py, PyBytes>)> {
        self.tally.stamps.iter().map(|(row, text)| (*row, PyBytes::new(py, text))).collect()
    }
}
