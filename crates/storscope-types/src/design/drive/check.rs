//! What makes a drive impossible, said with the path of the field.

use thiserror::Error;

use super::{CurveDesign, CurvePoint, DriveDesign, FlashDesign, MechanicalDesign, SeekDesign, WriteCacheDesign};
use crate::Nanos;
use crate::design::check::told_apart;

/// A field of a drive that cannot be simulated as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: expected {expected}, found {found}")]
pub struct DriveError {
    /// The field, as in `write_cache.window`.
    pub path: String,
    /// What would be sound.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl DriveDesign {
    /// Whether the drive can be simulated.
    ///
    /// # Errors
    /// The first field that is out of its range or contradicts another.
    pub fn check(&self) -> Result<(), DriveError> {
        within(self.size().0 as f64, 1e6, 1e14, "size_bytes", "1 MB to 100 TB")?;
        match self {
            Self::Mechanical(design) => check_mechanical(design),
            Self::Flash(design) => check_flash(design),
            Self::Curve(design) => check_curve(design),
        }
    }
}

fn check_mechanical(design: &MechanicalDesign) -> Result<(), DriveError> {
    within(design.turns_per_min, 1e3, 3e4, "turns_per_min", "1000 to 30000")?;
    within(design.outer_rate_bytes_per_s, 1e4, 1e10, "outer_rate_bytes_per_s", "10 kB/s to 10 GB/s")?;
    let outer = design.outer_rate_bytes_per_s;
    let expected = format!("10 kB/s to the outer_rate of {}", in_mb_per_s(outer));
    within(design.inner_rate_bytes_per_s, 1e4, outer, "inner_rate_bytes_per_s", &expected)?;
    within(design.interface_rate_bytes_per_s, 1e4, 1e11, "interface_rate_bytes_per_s", "10 kB/s to 100 GB/s")?;
    within(f64::from(design.zones), 1.0, 64.0, "zones", "1 to 64")?;
    within(f64::from(design.heads), 1.0, 32.0, "heads", "1 to 32")?;
    for (time, path) in [
        (design.overhead, "overhead_ns"),
        (design.hit, "hit_ns"),
        (design.switch, "switch_ns"),
        (design.write_settle, "write_settle_ns"),
        (design.head_switch, "head_switch_ns"),
    ] {
        within(time.0 as f64, 0.0, 1e9, path, "0 to 1 s")?;
    }
    check_track(design)?;
    check_seek(&design.seek)?;
    check_buffers(design)
}

fn check_track(design: &MechanicalDesign) -> Result<(), DriveError> {
    let track_bytes = design.outer_rate_bytes_per_s * 60.0 / design.turns_per_min;
    let tracks = design.size.0 as f64 / track_bytes;
    let least = f64::from(design.zones * design.heads);
    let [least_size, track] = told_apart([(least * track_bytes).ceil() as u64, track_bytes as u64]);
    let expected = format!("at least {least_size}, {least} tracks of {track} for the zones and heads");
    require(tracks >= least, "size_bytes", &expected, &design.size.0.to_string())
}

fn check_seek(seek: &SeekDesign) -> Result<(), DriveError> {
    match *seek {
        SeekDesign::DataSheet { track_to_track, average, full_stroke } => {
            let rises = track_to_track <= average && average <= full_stroke;
            let found = [track_to_track, average, full_stroke].map(in_ms).join(", ");
            require(rises, "seek", "track_to_track <= average <= full_stroke", &found)?;
            within(full_stroke.0 as f64, 1.0, 1e9, "seek.full_stroke_ns", "above 0, at most 1 s")
        }
        SeekDesign::Curve { a_ns, b_ns, c_ns } => {
            within(a_ns, 0.0, 1e9, "seek.a_ns", "0 to 1 s")?;
            within(b_ns, 0.0, 1e9, "seek.b_ns", "0 to 1 s")?;
            let rises = c_ns.is_finite() && 0.5 * b_ns + c_ns >= 0.0;
            require(rises, "seek.c_ns", "at least minus half of b_ns: the curve rises", &c_ns.to_string())
        }
    }
}

fn check_buffers(design: &MechanicalDesign) -> Result<(), DriveError> {
    if let Some(read_ahead) = &design.read_ahead {
        within(f64::from(read_ahead.segments), 1.0, 64.0, "read_ahead.segments", "1 to 64")?;
        within(read_ahead.segment.0 as f64, 512.0, 1e10, "read_ahead.segment_bytes", "512 bytes to 10 GB")?;
    }
    if let Some(queueing) = &design.queueing {
        within(queueing.gamma, 0.0, 1.0, "queueing.gamma", "0 to 1")?;
        within(f64::from(queueing.depth), 1.0, 1024.0, "queueing.depth", "1 to 1024")?;
        let most = f64::from(queueing.depth);
        within(
            f64::from(queueing.least_depth),
            1.0,
            most,
            "queueing.least_depth",
            "1 to the depth, or nothing is sorted",
        )?;
    }
    design.write_cache.as_ref().map_or(Ok(()), check_write_cache)
}

fn check_write_cache(cache: &WriteCacheDesign) -> Result<(), DriveError> {
    within(cache.size.0 as f64, 512.0, 1e10, "write_cache.size_bytes", "512 bytes to 10 GB")?;
    let accept_ns = cache.accept.map_or(0.0, |time| time.0 as f64);
    within(accept_ns, 0.0, 1e9, "write_cache.accept_ns", "0 to 1 s")?;
    within(f64::from(cache.extents), 1.0, 4096.0, "write_cache.extents", "1 to 4096")?;
    let most = f64::from(cache.extents);
    within(f64::from(cache.window), 1.0, most, "write_cache.window", "1 to the number of extents")?;
    within(f64::from(cache.batch_extents()), 1.0, most, "write_cache.batch", "1 to the number of extents")?;
    within(f64::from(cache.batch_from), 1.0, 1024.0, "write_cache.batch_from", "1 to 1024")
}

fn check_flash(design: &FlashDesign) -> Result<(), DriveError> {
    within(f64::from(design.dies), 1.0, 1024.0, "dies", "1 to 1024")?;
    within(design.page.0 as f64, 512.0, 1e8, "page_bytes", "512 bytes to 100 MB")?;
    within(design.latency_cv, 0.0, 3.0, "latency_cv", "0 to 3")?;
    within(design.interface_rate_bytes_per_s, 1e4, 1e12, "interface_rate_bytes_per_s", "10 kB/s to 1 TB/s")?;
    within(design.write_amplification, 1.0, 20.0, "write_amplification", "1 to 20")?;
    within(f64::from(design.pages_per_block), 1.0, 1e5, "pages_per_block", "1 to 100000")?;
    within(f64::from(design.cleaning_burst_pages), 1.0, 1024.0, "cleaning_burst_pages", "1 to 1024")?;
    within(f64::from(design.buffer_pages), 0.0, 1e6, "buffer_pages", "0 to 1000000")?;
    if let Some(unit) = design.map_unit {
        within(unit.0 as f64, 512.0, design.page.0 as f64, "map_unit_bytes", "512 bytes to those of a page")?;
    }
    if let Some(channels) = design.channels {
        within(f64::from(channels.count), 1.0, 256.0, "channels.count", "1 to 256")?;
        within(channels.rate_bytes_per_s, 1e4, 1e12, "channels.rate_bytes_per_s", "10 kB/s to 1 TB/s")?;
    }
    if let Some(rate) = design.commands_per_s {
        within(rate, 1.0, 1e8, "commands_per_s", "1 to 1e8")?;
    }
    for (time, path) in [
        (design.overhead, "overhead_ns"),
        (design.read, "read_ns"),
        (design.program, "program_ns"),
        (design.write_accept, "write_accept_ns"),
        (design.suspend.unwrap_or_default(), "suspend_ns"),
        (design.erase, "erase_ns"),
    ] {
        within(time.0 as f64, 0.0, 1e9, path, "0 to 1 s")?;
    }
    Ok(())
}

fn check_curve(design: &CurveDesign) -> Result<(), DriveError> {
    within(design.cv, 0.0, 3.0, "cv", "0 to 3")?;
    within(design.block.0 as f64, 512.0, 1e9, "block_bytes", "512 bytes to 1 GB")?;
    if let Some(rate) = design.rate_bytes_per_s {
        within(rate, 1e4, 1e12, "rate_bytes_per_s", "10 kB/s to 1 TB/s")?;
    }
    check_points(&design.reads, "reads")?;
    design.writes.as_ref().map_or(Ok(()), |points| check_points(points, "writes"))
}

fn check_points(points: &[CurvePoint], path: &str) -> Result<(), DriveError> {
    require(!points.is_empty(), path, "at least one point", "none")?;
    let rises = points.windows(2).all(|pair| pair[0].qd < pair[1].qd);
    require(rises && points[0].qd > 0, path, "queue depths that rise from 1 or more", "others")?;
    for (index, point) in points.iter().enumerate() {
        within(point.iops, 1e-3, 1e9, &format!("{path}[{index}].iops"), "0.001 to 1e9 per second")?;
    }
    Ok(())
}

fn in_ms(time: Nanos) -> String {
    format!("{} ms", time.0 as f64 / 1e6)
}

/// Decimal, as drives are sold.
fn in_mb_per_s(rate_bytes_per_s: f64) -> String {
    format!("{} MB/s", rate_bytes_per_s / 1e6)
}

fn within(value: f64, least: f64, most: f64, path: &str, expected: &str) -> Result<(), DriveError> {
    require((least..=most).contains(&value), path, expected, &value.to_string())
}

fn require(sound: bool, path: &str, expected: &str, found: &str) -> Result<(), DriveError> {
    if sound {
        return Ok(());
    }
    Err(DriveError { path: path.to_owned(), expected: expected.to_owned(), found: found.to_owned() })
}
