//! What makes a workload impossible to run, said with the path of the field.

use thiserror::Error;

use crate::{
    Access, AccessSpec, Bytes, Copy, DataPool, Flush, Load, Nanos, Offsets, RateStep, Stream, Verification, Workload,
};

/// The least unit a stamp fits in, twice over.
const LEAST_STAMP_UNIT: Bytes = Bytes(32);
/// The largest transfer: what fits the 32-bit length of a request with room to spare.
const LARGEST_TRANSFER: Bytes = Bytes(1 << 30);
/// Most I/Os of one worker on one target, or of an open loop on all: what a ring can hold. That a worker's targets share
/// one is the load generator's concern; a simulated array knows no rings.
const MOST_OUTSTANDING: u32 = 32_768;

/// Blocks that repeat: from the stamped block to more than any array compares.
const DUPLICATE_BLOCK: std::ops::RangeInclusive<u64> = 4 << 10..=1 << 20;
/// What all contents of such blocks may take: each worker has them in memory.
const MOST_CONTENTS: u64 = 256 << 20;

/// A field that cannot be run as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: expected {expected}, found {found}")]
pub struct WorkloadError {
    /// The field, as in `streams[0].access.lines[2].share`.
    pub path: String,
    /// What would be sound.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl Workload {
    /// Whether the workload can be run on `targets` targets.
    ///
    /// # Errors
    /// The first field that does not make sense, or contradicts another.
    pub fn check(&self, targets: usize) -> Result<(), WorkloadError> {
        require(!self.streams.is_empty(), "streams", "at least one stream", "none")?;
        for (index, stream) in self.streams.iter().enumerate() {
            check_stream(stream, &format!("streams[{index}]"), targets)?;
        }
        self.check_data()
    }

    fn check_data(&self) -> Result<(), WorkloadError> {
        check_ratio(self.data.compressible_ratio, "data.compressible_ratio")?;
        check_ratio(self.data.duplicate_ratio, "data.duplicate_ratio")?;
        check_duplicates(&self.data)?;
        if self.verification == Verification::None {
            return Ok(());
        }
        let unit = self.stamp_unit();
        require(
            unit >= LEAST_STAMP_UNIT,
            "verification",
            "sizes and alignments with a common divisor of 32 bytes or more, to stamp each block",
            &format!("a common divisor of {} bytes", unit.0),
        )?;
        let copies = self.streams.iter().any(|stream| matches!(stream.access, Access::Copy(_)));
        require(!copies, "verification", "no copy streams: copied blocks name the place they came from", "one")
    }
}

fn check_duplicates(data: &DataPool) -> Result<(), WorkloadError> {
    require(data.duplicate_contents > 0, "data.duplicate_contents", "at least one", "0")?;
    let block = data.duplicate_block.0;
    require(
        block.is_power_of_two() && DUPLICATE_BLOCK.contains(&block),
        "data.duplicate_block",
        "a power of two from 4 KiB to 1 MiB",
        &format!("{block} bytes"),
    )?;
    let together = u64::from(data.duplicate_contents) * block;
    require(
        data.duplicate_ratio == 0.0 || together <= MOST_CONTENTS,
        "data.duplicate_contents",
        "contents that are 256 MiB together at most, as each worker holds them in memory",
        &format!("{together} bytes"),
    )
}

fn check_stream(stream: &Stream, path: &str, targets: usize) -> Result<(), WorkloadError> {
    for (index, &target) in stream.targets.iter().enumerate() {
        check_target(target, targets, &format!("{path}.targets[{index}]"))?;
    }
    require(
        (1..=1024).contains(&stream.workers),
        &format!("{path}.workers"),
        "1 to 1024",
        &stream.workers.to_string(),
    )?;
    check_load(&stream.load, &format!("{path}.load"))?;
    check_offsets(&stream.offsets, &format!("{path}.offsets"))?;
    let open_think = stream.load.is_open() && stream.think_time.is_some();
    require(!open_think, &format!("{path}.think_time"), "none in an open loop: arrivals do not wait", "a think time")?;
    if let Some(flush) = stream.flush {
        check_flush(flush, &stream.access, &format!("{path}.flush"))?;
    }
    match &stream.access {
        Access::Mix { lines } => check_lines(lines, stream.load.is_open(), &format!("{path}.access")),
        Access::Copy(copy) => check_copy(copy, targets, &format!("{path}.access")),
    }
}

fn check_flush(flush: Flush, access: &Access, path: &str) -> Result<(), WorkloadError> {
    require(flush.every > 0, &format!("{path}.every"), "a flush after every 1 write or more", "0")?;
    require(access.writes(), path, "writes, which a flush follows", "a stream that only reads")
}

fn check_lines(lines: &[AccessSpec], open: bool, path: &str) -> Result<(), WorkloadError> {
    let total: f64 = lines.iter().map(|line| line.share).sum();
    require(total > 0.0 && total.is_finite(), &format!("{path}.lines"), "shares above zero", &total.to_string())?;
    for (index, line) in lines.iter().enumerate() {
        check_line(line, open, &format!("{path}.lines[{index}]"))?;
    }
    Ok(())
}

fn check_line(line: &AccessSpec, open: bool, path: &str) -> Result<(), WorkloadError> {
    check_size(line.size, &format!("{path}.size_bytes"))?;
    let sound = line.share >= 0.0 && line.share.is_finite();
    require(sound, &format!("{path}.share"), "zero or more", &line.share.to_string())?;
    check_ratio(line.read_share, &format!("{path}.read_share"))?;
    check_ratio(line.random_share, &format!("{path}.random_share"))?;
    require(line.burst > 0, &format!("{path}.burst"), "at least one transfer", "0")?;
    let reply = line.reply <= LARGEST_TRANSFER;
    require(reply, &format!("{path}.reply_bytes"), "at most 1 GiB", &line.reply.0.to_string())?;
    let still = !open || line.delay == Nanos::ZERO;
    require(still, &format!("{path}.delay_ns"), "0 in an open loop: arrivals set the pace", &line.delay.0.to_string())
}

fn check_copy(copy: &Copy, targets: usize, path: &str) -> Result<(), WorkloadError> {
    check_size(copy.size, &format!("{path}.size_bytes"))?;
    check_ratio(copy.random_share, &format!("{path}.random_share"))?;
    check_target(copy.destination, targets, &format!("{path}.destination"))
}

fn check_load(load: &Load, path: &str) -> Result<(), WorkloadError> {
    match load {
        Load::Closed { outstanding } => check_outstanding(*outstanding, &format!("{path}.outstanding")),
        Load::Open { rate_per_s, max_outstanding, .. } => {
            check_rate(*rate_per_s, &format!("{path}.rate_per_s"))?;
            check_outstanding(*max_outstanding, &format!("{path}.max_outstanding"))
        }
        Load::Steps { steps, max_outstanding, .. } => {
            check_steps(steps, path)?;
            check_outstanding(*max_outstanding, &format!("{path}.max_outstanding"))
        }
    }
}

fn check_steps(steps: &[RateStep], path: &str) -> Result<(), WorkloadError> {
    require(!steps.is_empty(), &format!("{path}.steps"), "at least one step", "none")?;
    for (index, step) in steps.iter().enumerate() {
        check_rate(step.rate_per_s, &format!("{path}.steps[{index}].rate_per_s"))?;
        let lasts = step.duration > Nanos::ZERO;
        require(lasts, &format!("{path}.steps[{index}].duration_ns"), "more than 0", "0")?;
    }
    Ok(())
}

fn check_offsets(offsets: &Offsets, path: &str) -> Result<(), WorkloadError> {
    match *offsets {
        Offsets::Uniform => Ok(()),
        Offsets::Zipf { exponent } => {
            let sound = exponent > 0.0 && exponent <= 10.0;
            require(sound, &format!("{path}.exponent"), "above 0, at most 10", &exponent.to_string())
        }
        Offsets::HotSpot { access_share, space_share, start_share } => {
            check_ratio(access_share, &format!("{path}.access_share"))?;
            check_ratio(start_share, &format!("{path}.start_share"))?;
            let sound = space_share > 0.0 && start_share + space_share <= 1.0;
            require(sound, &format!("{path}.space_share"), "above 0 and within the region", &space_share.to_string())
        }
    }
}

fn check_size(size: Bytes, path: &str) -> Result<(), WorkloadError> {
    require(size > Bytes::ZERO && size <= LARGEST_TRANSFER, path, "1 byte to 1 GiB", &size.0.to_string())
}

fn check_ratio(ratio: f64, path: &str) -> Result<(), WorkloadError> {
    require((0.0..=1.0).contains(&ratio), path, "a ratio from 0 to 1", &ratio.to_string())
}

fn check_rate(rate_per_s: f64, path: &str) -> Result<(), WorkloadError> {
    let sound = rate_per_s > 0.0 && rate_per_s <= 1e9;
    require(sound, path, "above 0, at most 1e9 per second", &rate_per_s.to_string())
}

fn check_outstanding(count: u32, path: &str) -> Result<(), WorkloadError> {
    let expected = format!("1 to {MOST_OUTSTANDING}");
    require((1..=MOST_OUTSTANDING).contains(&count), path, &expected, &count.to_string())
}

fn check_target(target: u32, targets: usize, path: &str) -> Result<(), WorkloadError> {
    let expected = format!("the index of one of {targets} targets");
    require((target as usize) < targets, path, &expected, &target.to_string())
}

fn require(sound: bool, path: &str, expected: &str, found: &str) -> Result<(), WorkloadError> {
    if sound {
        return Ok(());
    }
    Err(WorkloadError { path: path.to_owned(), expected: expected.to_owned(), found: found.to_owned() })
}
