//! A measured curve: the points as they stand, and their variability.

use storscope_types::Bytes;
use storscope_types::design::drive::{CurveDesign, CurvePoint};

use super::grid::{DepthPoint, Grid};

/// The drive with the reads of a grid. At depth 1 the time between completions is the response, whose spread may be known.
pub fn with_reads(base: &CurveDesign, grid: &Grid) -> CurveDesign {
    let first = grid.reads.iter().find(|point| point.qd == 1);
    let cv = first.zip(grid.latency_ns_sd).map_or(base.cv, |(first, sd)| (sd * first.iops / 1e9).clamp(0.0, 3.0));
    CurveDesign { reads: points(&grid.reads), cv, block: Bytes(u64::from(grid.block_bytes)), ..base.clone() }
}

/// The drive with the writes of a grid, if it has any.
pub fn with_writes(design: &CurveDesign, grid: &Grid) -> CurveDesign {
    let writes = (!grid.writes.is_empty()).then(|| points(&grid.writes));
    CurveDesign { writes: writes.or_else(|| design.writes.clone()), ..design.clone() }
}

fn points(points: &[DepthPoint]) -> Vec<CurvePoint> {
    points.iter().map(|point| CurvePoint { qd: point.qd, iops: point.iops }).collect()
}
