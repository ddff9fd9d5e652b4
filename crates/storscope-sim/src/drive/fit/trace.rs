//! Traces of single requests: what was asked, how long it took, how long the host thought before the next.
//!
//! The format is that of the validation traces published with DiskSim: one line per request,
//! `R|W Hit|Miss lbn sectors service_us think_us`. The second word is not used: it says `Hit` throughout. Empty lines and
//! lines that begin with `#` are passed over.

use storscope_device::Direction;
use thiserror::Error;

/// Bytes of a sector of the traces.
pub const SECTOR_BYTES: u64 = 512;
/// Characters of a wrong line that an error repeats.
const MOST_SHOWN: usize = 80;

/// One request of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceOp {
    /// Read or write.
    pub direction: Direction,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// From submission to completion.
    pub service_us: f64,
    /// From completion to the next submission.
    pub think_us: f64,
}

/// A line that is not a request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: expected {expected}, found {found:?}")]
pub struct TraceError {
    /// Counted from 1.
    pub line: usize,
    /// What would be sound.
    pub expected: &'static str,
    /// What stands there.
    pub found: String,
}

/// Reads a trace.
///
/// # Errors
/// The first line that is not a request.
pub fn parse(text: &str) -> Result<Vec<TraceOp>, TraceError> {
    let says_something = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines = text.lines().enumerate().filter(|(_, line)| says_something(line));
    lines.map(|(index, line)| parse_line(index + 1, line)).collect()
}

fn parse_line(line: usize, text: &str) -> Result<TraceOp, TraceError> {
    let wrong = |expected, found: &str| TraceError { line, expected, found: found.chars().take(MOST_SHOWN).collect() };
    let words: Vec<&str> = text.split_whitespace().collect();
    let [direction, _, first, sectors, service, think] = words[..] else {
        return Err(wrong("R or W, a flag, first sector, sectors, service and think time in microseconds", text));
    };
    let direction = match direction {
        "R" => Direction::Read,
        "W" => Direction::Write,
        other => return Err(wrong("R or W", other)),
    };
    let first: u64 = first.parse().map_err(|_| wrong("a sector number", first))?;
    let count: u32 = sectors.parse().map_err(|_| wrong("a number of sectors", sectors))?;
    if count == 0 || count > 1 << 20 || first > 1 << 44 {
        return Err(wrong("1 to 1048576 sectors below sector 2^44", text));
    }
    Ok(TraceOp {
        direction,
        offset: first * SECTOR_BYTES,
        length: count * SECTOR_BYTES as u32,
        service_us: parse_time(service).ok_or_else(|| wrong("microseconds", service))?,
        think_us: parse_time(think).ok_or_else(|| wrong("microseconds", think))?,
    })
}

fn parse_time(word: &str) -> Option<f64> {
    word.parse().ok().filter(|time: &f64| (0.0..1e12).contains(time))
}

#[cfg(test)]
mod tests {
    use super::{TraceOp, parse};
    use storscope_device::Direction;

    #[test]
    fn a_line_is_a_request() {
        let ops = parse("# one request\nR Hit 7563004 4 14368.00000 28778.00000\n\n").unwrap();
        let expected = TraceOp {
            direction: Direction::Read,
            offset: 7_563_004 * 512,
            length: 2048,
            service_us: 14_368.0,
            think_us: 28_778.0,
        };
        assert_eq!(ops, [expected]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = parse("R Hit 1 4 1.0 1.0\nX Hit 1 4 1.0 1.0").unwrap_err();
        assert_eq!(error.to_string(), "line 2: expected R or W, found \"X\"");
        assert!(parse("R Hit 1 0 1.0 1.0").is_err());
        assert!(parse("R Hit 1 4 nan 1.0").is_err());
        assert!(parse("R Hit 1 4 1.0").is_err());
    }
}
