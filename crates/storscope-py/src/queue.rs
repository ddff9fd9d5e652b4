//! The load generator on a simulated queue, in virtual time: the known workload and device that what is built on the
//! generator is proved on.

use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use storscope_device::{QueueingDevice, VirtualClock};
use storscope_load as load;
use storscope_types::Nanos;

use crate::load::{RunError, finished_form, refused};

/// Runs a plan on a queue with several servers; see the stub.
#[pyfunction]
#[pyo3(signature = (plan, *, servers, service_mean_ns, seed))]
pub fn queue_run<'py>(
    py: Python<'py>,
    plan: &str,
    servers: usize,
    service_mean_ns: u64,
    seed: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let plan: load::Plan =
        serde_json::from_str(plan).map_err(|error| RunError::new_err(("plan", error.to_string())))?;
    let run = || -> Result<Vec<u8>, load::LoadError> {
        let clock = VirtualClock::default();
        let slots = load::slots_of(&plan);
        let device = QueueingDevice::new(clock.clone(), servers, Nanos(service_mean_ns), slots, seed);
        let mut intervals = Vec::new();
        let run = load::VirtualRun::new(plan, &[], device, clock)?;
        let (finished, _) = run.run(0, &AtomicBool::new(false), &mut |interval| intervals.push(interval));
        let mut form = finished_form(&finished);
        form["intervals"] = json!(intervals);
        Ok(form.to_string().into_bytes())
    };
    py.detach(run).map(|text| PyBytes::new(py, &text)).map_err(|error| refused(&error))
}
