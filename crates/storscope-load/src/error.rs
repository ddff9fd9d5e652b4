//! What ends a run early.

use std::path::PathBuf;

use storscope_device::{DeviceError, Direction};
use storscope_types::WorkloadError;
use thiserror::Error;

/// An error of the generator. What was measured until then was handed on, interval by interval.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The workload cannot be run.
    #[error("workload: {0}")]
    Workload(#[from] WorkloadError),
    /// The plan cannot be run.
    #[error("plan: {path}: expected {expected}, found {found}")]
    Plan {
        /// The field.
        path: String,
        /// What would be sound.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A target cannot be opened.
    #[error("cannot open {path} for {purpose}: {source}")]
    Open {
        /// The target.
        path: PathBuf,
        /// What for.
        purpose: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// More I/Os failed than the plan allows.
    #[error(
        "{failed} I/Os failed, {allowed} are allowed; the last was a {direction:?} of {length} bytes at byte \
             {offset} of target {target}: {reason}"
    )]
    Failed {
        /// How many.
        failed: u64,
        /// How many the plan allows.
        allowed: u64,
        /// The last one's target.
        target: u32,
        /// Its direction.
        direction: Direction,
        /// Its offset.
        offset: u64,
        /// Its size.
        length: u32,
        /// The system's message, or how many bytes were transferred instead.
        reason: String,
    },
    /// A block does not hold what was written to it.
    #[error("verification: byte {offset} of target {target} should carry its own stamp but {found}")]
    Mismatch {
        /// The target.
        target: u32,
        /// First byte of the block.
        offset: u64,
        /// What is there instead.
        found: String,
    },
    /// The device as a whole failed.
    #[error("device: {0}")]
    Device(#[from] DeviceError),
    /// A worker's thread ended without a result: a defect of the generator.
    #[error("a worker panicked")]
    Panicked,
}
