//! What ends a run early.

use std::path::PathBuf;

use storscope_device::{DeviceError, Direction};
use storscope_types::{FlushKind, WorkloadError, counted, grouped};
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
        "{} failed, {}; the last was a {last} of target {target}: {reason}",
        counted(*failed, "I/O", "I/Os"),
        allowance(*allowed)
    )]
    Failed {
        /// How many.
        failed: u64,
        /// How many the plan allows.
        allowed: u64,
        /// The last one.
        last: FailedIo,
        /// Its target.
        target: u32,
        /// The system's message, or how many bytes were transferred instead.
        reason: String,
    },
    /// Virtual time does not pass: I/Os of a closed loop that take none go on for ever.
    #[error(
        "{} were done at one instant, since nothing on their way takes time: give controllers a cost (cost_per_op), links, \
         or the load a think time",
        counted(*ios, "I/O", "I/Os")
    )]
    TimeStands {
        /// How many.
        ios: u64,
    },
    /// A block does not hold what was written to it.
    #[error("verification: byte {} of target {target} should carry its own stamp but {found}", grouped(*offset))]
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

/// What failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedIo {
    /// A read or a write.
    Transfer {
        /// Which of both.
        direction: Direction,
        /// Its offset.
        offset: u64,
        /// Its size.
        length: u32,
    },
    /// A flush.
    Flush(FlushKind),
}

impl std::fmt::Display for FailedIo {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Transfer { direction, offset, length } => {
                let (length, offset) = (grouped(u64::from(*length)), grouped(*offset));
                write!(formatter, "{} of {length} bytes at byte {offset}", word(*direction))
            }
            Self::Flush(kind) => write!(formatter, "flush ({})", kind.word()),
        }
    }
}

/// The system starts no thread beyond the `found` first of the `wanted` ones that `users` need.
pub(crate) fn no_thread(users: &str, wanted: usize, found: usize, source: &std::io::Error) -> DeviceError {
    let said = format!(
        "expected {} for {users}, found that the system starts {} ({source}): allow more tasks (ulimit -u, pids.max of the \
         cgroup, TasksMax of the service) or memory, or ask for fewer {users}",
        counted(wanted as u64, "thread", "threads"),
        grouped(found as u64)
    );
    DeviceError::System { action: "threads", source: std::io::Error::new(source.kind(), said) }
}

fn allowance(allowed: u64) -> String {
    match allowed {
        0 => "none is allowed".to_owned(),
        1 => "1 is allowed".to_owned(),
        _ => format!("{} are allowed", grouped(allowed)),
    }
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    }
}

#[cfg(test)]
mod tests {
    use storscope_device::Direction;
    use storscope_types::FlushKind;

    use super::{FailedIo, LoadError};

    #[test]
    fn failures_are_counted_in_words() {
        let said = |failed, allowed| {
            let last = FailedIo::Transfer { direction: Direction::Write, offset: 1_048_576, length: 65_536 };
            let reason = "Input/output error".to_owned();
            LoadError::Failed { failed, allowed, last, target: 0, reason }.to_string()
        };
        let last = "the last was a write of 65,536 bytes at byte 1,048,576 of target 0: Input/output error";
        assert_eq!(said(1, 0), format!("1 I/O failed, none is allowed; {last}"));
        assert_eq!(said(2, 1), format!("2 I/Os failed, 1 is allowed; {last}"));
        assert_eq!(said(1_001, 1_000), format!("1,001 I/Os failed, 1,000 are allowed; {last}"));
    }

    #[test]
    fn a_flush_that_fails_is_told_by_its_system_call() {
        let (last, reason) = (FailedIo::Flush(FlushKind::Data), "Input/output error".to_owned());
        let error = LoadError::Failed { failed: 1, allowed: 0, last, target: 2, reason };
        let said = "1 I/O failed, none is allowed; the last was a flush (fdatasync) of target 2: Input/output error";
        assert_eq!(error.to_string(), said);
    }

    #[test]
    fn a_place_that_does_not_hold_its_stamp_is_readable() {
        let error = LoadError::Mismatch { target: 1, offset: 4_294_967_296, found: "zeros".to_owned() };
        let said = "verification: byte 4,294,967,296 of target 1 should carry its own stamp but zeros";
        assert_eq!(error.to_string(), said);
    }
}
