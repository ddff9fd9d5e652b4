//! The Python binding of storscope. Functions convert arguments, release the interpreter lock, call the core once
//! per job and fill buffers that Python owns. Logic lives on either side, not between.

use pyo3::prelude::*;

mod fit;
mod load;
mod queue;
mod replay;
mod simulate;
mod stats;
mod wide_csv;

/// The Rust core of storscope.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::fit::{FitError, fit_drive_to_grid, fit_drive_to_trace};
    #[pymodule_export]
    use super::load::{LoadRun, RunError, plan_buffer_bytes};
    #[pymodule_export]
    use super::queue::queue_run;
    #[pymodule_export]
    use super::replay::replay_run;
    #[pymodule_export]
    use super::simulate::{DesignError, SimulationRun, drive_catalogue, read_design};
    #[pymodule_export]
    use super::stats::{line_through, mean_interval, strongest_change, warm_up, warm_up_within_half};
    #[pymodule_export]
    use super::wide_csv::{ReadError, WideCsv, WideCsvBlock, WideCsvPlan, WideCsvTally};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
