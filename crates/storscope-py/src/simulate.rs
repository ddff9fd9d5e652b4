//! A run of the load generator on a simulated array, in virtual time: start it, take its intervals, sum up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use serde_json::{Value, json};
use storscope_device::VirtualClock;
use storscope_load as load;
use storscope_sim as sim;
use storscope_types::Nanos;
use storscope_types::design::{ArrayDesign, GroupDesign};

use crate::load::{RunError, finished_form, kind};

/// Longer than any simulation keeps its caller waiting for one interval.
const LONGEST_WAIT_S: f64 = 3600.0;

create_exception!(
    storscope._core,
    DesignError,
    PyException,
    "What is wrong with a design: args are (line, column, key, expected, found, hint). `storscope.sim.design` makes a \
     StorscopeError of it."
);

/// A design from its TOML text, with its attachments in the order of targets; see the stub.
#[pyfunction]
pub fn read_design<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
    let design = py.detach(|| sim::read_design(text)).map_err(|error| {
        DesignError::new_err((error.line, error.column, error.key, error.expected, error.found, error.hint))
    })?;
    let attachment = |(host, at): (usize, usize)| {
        let name = &design.hosts[host].volumes[at].volume;
        let size = design.volume_index(name).map(|index| design.volumes[index].size.0);
        json!({"host": design.hosts[host].name, "volume": name, "size_bytes": size})
    };
    let attachments: Vec<Value> = design.attachments().map(attachment).collect();
    let shape = |group: &GroupDesign| {
        let drive = design.drive_of(group)?.size();
        let shape = group.shape(drive);
        let (data, parity, copies) = (shape.data, shape.parity, shape.copies);
        Some(json!({"drive_bytes": drive.0, "data": data, "parity": parity, "copies": copies,
            "usable_bytes": group.usable(drive).0}))
    };
    let shapes: Vec<Option<Value>> = design.groups.iter().map(shape).collect();
    let form = json!({"design": design, "attachments": attachments, "shapes": shapes});
    Ok(PyBytes::new(py, form.to_string().as_bytes()))
}

/// The catalogue of drives; see the stub.
#[pyfunction]
pub fn drive_catalogue(py: Python<'_>) -> Bound<'_, PyBytes> {
    let entry = |entry: sim::drive::catalogue::CatalogueEntry| {
        let source = |source: &sim::drive::catalogue::Source| json!({"what": source.fields, "origin": source.origin.word(), "source": source.text});
        let sources: Vec<Value> = entry.sources.iter().map(source).collect();
        let (name, title, class) = (entry.name, entry.title, entry.class);
        json!({"name": name, "title": title, "class": class, "sources": sources, "design": entry.design()})
    };
    let entries: Vec<Value> = sim::drive::catalogue::entries().map(entry).collect();
    PyBytes::new(py, json!(entries).to_string().as_bytes())
}

/// What a simulation depends on beside the design and the plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The instant that the record gives to the run's start.
    started_unix_ns: u64,
    /// For each stream when it is active, since the start; an empty list: all the time.
    #[serde(default)]
    lifetimes_ns: Vec<(u64, Option<u64>)>,
    /// The run ends when all streams together have done so many I/Os.
    #[serde(default)]
    max_ios: Option<u64>,
    /// Length of the slices in which queues are watched.
    slice_ns: u64,
    /// Most slices that are kept.
    slices: usize,
    /// How often all counters are noted.
    mark_ns: u64,
    /// When they are noted, too: where the load changes.
    #[serde(default)]
    marked_ns: Vec<u64>,
}

/// Intervals that wait to be taken: of a large array each has megabytes, and the simulation is faster than who takes them.
const MOST_WAITING: usize = 8;

type Failure = (&'static str, String);
pub(crate) type Ended = Result<Vec<u8>, Failure>;

/// A simulation under way; see the stub.
#[pyclass(module = "storscope._core", frozen)]
pub struct SimulationRun {
    started_unix_ns: u64,
    /// None once nobody asks for them any more.
    intervals: Mutex<Option<Receiver<Vec<u8>>>>,
    thread: Mutex<Option<JoinHandle<Ended>>>,
    stop: Arc<AtomicBool>,
}

#[pymethods]
impl SimulationRun {
    #[new]
    fn new(design: &str, plan: &str, options: &str) -> PyResult<Self> {
        let design: ArrayDesign = parsed(design, "design")?;
        let plan: load::Plan = parsed(plan, "plan")?;
        let options: Options = parsed(options, "plan")?;
        Ok(Self::spawn(options.started_unix_ns, move |stop, intervals| run(&design, plan, &options, stop, intervals)))
    }

    #[getter]
    fn started_ns(&self) -> u64 {
        self.started_unix_ns
    }

    fn next<'py>(&self, py: Python<'py>, timeout_s: f64) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if timeout_s.is_nan() || timeout_s < 0.0 {
            return Err(PyValueError::new_err("timeout_s: expected zero or more"));
        }
        let patience = Duration::from_secs_f64(timeout_s.min(LONGEST_WAIT_S));
        let news = py.detach(|| match &*self.intervals.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(intervals) => intervals.recv_timeout(patience),
            None => Err(RecvTimeoutError::Disconnected),
        });
        match news {
            Ok(interval) => Ok(Some(PyBytes::new(py, &interval))),
            Err(RecvTimeoutError::Timeout) => Ok(Some(PyBytes::new(py, b"{}"))),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let ended = py.detach(|| {
            self.stop_listening();
            self.thread.lock().unwrap_or_else(PoisonError::into_inner).take().map(JoinHandle::join)
        });
        match ended {
            None => Err(PyRuntimeError::new_err("the run was finished already")),
            Some(Err(_)) => Err(RunError::new_err(("panicked", "the simulator stopped; this is a defect".to_owned()))),
            Some(Ok(Err(failure))) => Err(RunError::new_err(failure)),
            Some(Ok(Ok(text))) => Ok(PyBytes::new(py, &text)),
        }
    }
}

impl SimulationRun {
    /// Lets a job go on that waits for somebody to take its intervals.
    fn stop_listening(&self) {
        self.intervals.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Runs `job`, which hands out intervals and looks at the request to stop, on a thread of its own.
    pub(crate) fn spawn(
        started_unix_ns: u64,
        job: impl FnOnce(&AtomicBool, &SyncSender<Vec<u8>>) -> Ended + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, intervals) = sync_channel(MOST_WAITING);
        let shared = Arc::clone(&stop);
        let thread = std::thread::spawn(move || job(&shared, &sender));
        Self { started_unix_ns, intervals: Mutex::new(Some(intervals)), thread: Mutex::new(Some(thread)), stop }
    }
}

impl Drop for SimulationRun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stop_listening();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // What it would have said is of no use any more.
            let _ = thread.join();
        }
    }
}

pub(crate) fn parsed<'de, T: Deserialize<'de>>(text: &'de str, kind: &'static str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| RunError::new_err((kind, error.to_string())))
}

/// Refuses what is longer than the array's event list can tell: later events would never come, nor the run's end.
pub(crate) fn check_length(wanted: Nanos, array: &sim::Array) -> Result<(), Failure> {
    let longest = array.longest();
    if wanted > longest { Err(("too_long", format!("{} {}", longest.0, wanted.0))) } else { Ok(()) }
}

fn run(
    design: &ArrayDesign,
    mut plan: load::Plan,
    options: &Options,
    stop: &AtomicBool,
    intervals: &SyncSender<Vec<u8>>,
) -> Ended {
    let clock = VirtualClock::default();
    let settings = sim::Settings {
        seed: plan.seed,
        depth: load::slots_of(&plan),
        slice: Nanos(options.slice_ns),
        slices: options.slices,
        mark: Nanos(options.mark_ns),
    };
    let array = sim::Array::new(design, clock.clone(), &settings).map_err(|error| ("design", error.to_string()))?;
    if options.max_ios.or(plan.max_ios_per_worker).is_some() {
        plan.duration = plan.duration.map(|duration| duration.min(array.longest()));
    }
    check_length(plan.duration.unwrap_or_default(), &array)?;
    let marked: Vec<Nanos> = options.marked_ns.iter().copied().map(Nanos).collect();
    let array = array.marked_at(&marked);
    let lifetimes: Vec<load::Lifetime> = options.lifetimes_ns.iter().map(lifetime).collect();
    let refused = |error: load::LoadError| (kind(&error), error.to_string());
    let run = load::VirtualRun::new(plan, &lifetimes, array, clock).map_err(refused)?;
    let run = match options.max_ios {
        Some(ios) => run.ending_after(ios),
        None => run,
    };
    let (finished, array) = run.run(options.started_unix_ns, stop, &mut |mut interval| {
        // Of thousands of volumes most may be silent in an interval.
        interval.cells.retain(|cell| !cell.is_silent());
        if let Ok(text) = serde_json::to_vec(&interval) {
            // Nobody listens any more only if the run was given up.
            let _ = intervals.send(text);
        }
    });
    let mut form: Value = finished_form(&finished);
    form["array"] = json!(array.borrow_mut().report().map_err(|error| ("simulator", error.to_string()))?);
    Ok(form.to_string().into_bytes())
}

fn lifetime(bounds: &(u64, Option<u64>)) -> load::Lifetime {
    load::Lifetime { start: Nanos(bounds.0), end: bounds.1.map_or(Nanos::NEVER, Nanos) }
}
