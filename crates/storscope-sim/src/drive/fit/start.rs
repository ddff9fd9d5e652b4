//! Where the simplex starts: what can be read off a trace directly.

use super::classes::{Step, steps};
use super::habits::median;
use super::mechanics::{Guess, HEAD_SWITCH_RATIO};
use super::trace::TraceOp;
use super::trace_fit::{FitError, is_read};

/// Far reads that the regression needs.
const LEAST_FAR_READS: usize = 100;
/// Root, distance and length besides the constant.
const TERMS: usize = 4;

/// A first guess: far reads give the seek curve and, by their scatter around it, the turn (a uniform wait of one turn has a
/// standard deviation of a turn over √12); the fastest reads and the median write give the rest.
pub fn guess(trace: &[TraceOp], size_bytes: u64) -> Result<Guess, FitError> {
    let far = far_reads(trace, size_bytes);
    if far.len() < LEAST_FAR_READS {
        return Err(FitError::NoFarReads { least: LEAST_FAR_READS, found: far.len() });
    }
    let [constant_us, root_us, linear_us, link_us_per_kib] = regress(&far);
    let residual = |(terms, time): &([f64; TERMS], f64)| {
        time - (constant_us + root_us * terms[1] + linear_us * terms[2] + link_us_per_kib * terms[3])
    };
    let variance = far.iter().map(residual).map(|apart| apart * apart).sum::<f64>() / far.len() as f64;
    let turn_us = (12.0 * variance).sqrt();
    let link_us_per_kib = link_us_per_kib.max(1.0);
    let beyond_link_us = |time_us: f64| (time_us - link_us_per_kib * smallest_kib(trace)).max(50.0);
    let least_us = low_read(trace);
    let write_us = median(trace.iter().filter(|op| !is_read(op)).map(|op| op.service_us).collect());
    Ok(Guess {
        turn_us,
        seek_base_us: (constant_us - 0.5 * turn_us - least_us).max(300.0),
        seek_root_us: root_us.max(500.0),
        seek_linear_us: linear_us,
        overhead_us: 0.5 * least_us,
        hit_us: beyond_link_us(least_us),
        link_us_per_kib,
        write_us: beyond_link_us(write_us.unwrap_or(least_us).min(2.0 * least_us)),
        track_kib: turn_us / link_us_per_kib.clamp(turn_us / 200.0, turn_us / 25.0),
        head_switch_ratio: HEAD_SWITCH_RATIO,
        switch_us: 30.0,
        segment_kib: 64.0,
    })
}

/// Of each far read: 1, root and share of the distance, KiB; and its time.
fn far_reads(trace: &[TraceOp], size_bytes: u64) -> Vec<([f64; TERMS], f64)> {
    let steps = steps(trace);
    let far = (1..trace.len()).filter(|&index| steps[index] == Step::Far && is_read(&trace[index]));
    let terms = |index: usize| {
        let apart = trace[index].offset.abs_diff(trace[index - 1].offset) as f64 / size_bytes as f64;
        ([1.0, apart.sqrt(), apart, f64::from(trace[index].length) / 1024.0], trace[index].service_us)
    };
    far.map(terms).collect()
}

/// Least squares by the normal equations; they are small and well scaled.
fn regress(rows: &[([f64; TERMS], f64)]) -> [f64; TERMS] {
    let mut matrix = [[0.0; TERMS + 1]; TERMS];
    for (terms, time) in rows {
        for row in 0..TERMS {
            for column in 0..TERMS {
                matrix[row][column] += terms[row] * terms[column];
            }
            matrix[row][TERMS] += terms[row] * time;
        }
    }
    solve(matrix)
}

/// Gauss and Jordan; a matrix of squares needs no pivots. A term that never varies gets a coefficient of zero.
fn solve(mut matrix: [[f64; TERMS + 1]; TERMS]) -> [f64; TERMS] {
    for pivot in 0..TERMS {
        let head = matrix[pivot];
        if head[pivot].abs() < 1e-9 {
            continue;
        }
        for (row, line) in matrix.iter_mut().enumerate() {
            if row != pivot {
                let factor = line[pivot] / head[pivot];
                line.iter_mut().zip(head).for_each(|(value, of_head)| *value -= factor * of_head);
            }
        }
    }
    std::array::from_fn(|row| if matrix[row][row].abs() < 1e-9 { 0.0 } else { matrix[row][TERMS] / matrix[row][row] })
}

/// The most frequent small length: that of the lowest tenth.
fn smallest_kib(trace: &[TraceOp]) -> f64 {
    let mut lengths: Vec<u32> = trace.iter().map(|op| op.length).collect();
    lengths.sort_unstable();
    f64::from(lengths[lengths.len() / 10]) / 1024.0
}

/// About the least time of a read: the fastest one in two hundred.
fn low_read(trace: &[TraceOp]) -> f64 {
    let mut times: Vec<f64> = trace.iter().filter(|op| is_read(op)).map(|op| op.service_us).collect();
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 200).copied().unwrap_or(1_000.0)
}
