//! The buffer of a mechanical drive for reads: segments that are filled by reading on.
//!
//! After a read from the media the arm stays and reads on at the media's rate until its segment is full or something else
//! is asked of it. Each segment so follows one sequential stream, also when several streams interleave. What is not there:
//! reading before the requested sectors, adaptive segment sizes, and a least amount read before giving way.

use storscope_types::Nanos;
use storscope_types::design::drive::ReadAheadDesign;

/// The segments.
#[derive(Debug)]
pub struct ReadAhead {
    segments: Vec<Segment>,
    segment_bytes: u64,
    /// The one the arm is filling.
    filling: Option<Filling>,
    uses: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    start: u64,
    end: u64,
    used: u64,
}

#[derive(Debug, Clone, Copy)]
struct Filling {
    segment: usize,
    from_byte: u64,
    from: Nanos,
    bytes_per_ns: f64,
    limit: u64,
}

/// What the buffer knows of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// It is there.
    Hit,
    /// The arm is on its way there; it will be there at the given instant if the arm is left alone.
    Coming(Nanos),
    /// It has to be read.
    Miss,
}

impl Filling {
    fn reached(&self, now: Nanos) -> u64 {
        let read = now.since(self.from).0 as f64 * self.bytes_per_ns;
        self.limit.min(self.from_byte + read as u64)
    }

    fn reaches(&self, byte: u64) -> Nanos {
        let bytes = byte.saturating_sub(self.from_byte) as f64;
        self.from.saturating_add(Nanos((bytes / self.bytes_per_ns) as u64 + 1))
    }
}

impl ReadAhead {
    /// Empty segments.
    pub fn new(design: &ReadAheadDesign) -> Self {
        Self {
            segments: vec![Segment::default(); design.segments as usize],
            segment_bytes: design.segment.0,
            filling: None,
            uses: 0,
        }
    }

    /// Whether the bytes from `start` to `end` are in the buffer at `now`.
    #[inline]
    pub fn lookup(&mut self, now: Nanos, start: u64, end: u64) -> Lookup {
        if let Some(filling) = self.filling {
            let first = self.segments[filling.segment].start;
            let reached = filling.reached(now);
            if first <= start && start <= reached {
                return self.in_filling(filling, reached, end);
            }
        }
        self.uses += 1;
        for segment in &mut self.segments {
            if segment.start <= start && end <= segment.end {
                segment.used = self.uses;
                return Lookup::Hit;
            }
        }
        Lookup::Miss
    }

    fn in_filling(&mut self, filling: Filling, reached: u64, end: u64) -> Lookup {
        self.uses += 1;
        self.segments[filling.segment].used = self.uses;
        if end <= reached {
            return Lookup::Hit;
        }
        if reached == filling.limit && end > filling.limit {
            return Lookup::Miss;
        }
        Lookup::Coming(filling.reaches(end))
    }

    /// The arm goes on for the reader of what is coming up to `end`, and keeps as far ahead of it as before.
    pub fn keep_filling(&mut self, end: u64) {
        let segment_bytes = self.segment_bytes;
        if let Some(filling) = &mut self.filling {
            filling.limit = filling.limit.max(end + segment_bytes / 2);
            let segment = &mut self.segments[filling.segment];
            segment.start = segment.start.max(filling.limit.saturating_sub(segment_bytes));
        }
    }

    /// Ends the filling because the arm is needed. Returns the byte it has come to.
    #[inline]
    pub fn stop(&mut self, now: Nanos) -> Option<u64> {
        let filling = self.filling.take()?;
        let reached = filling.reached(now);
        self.segments[filling.segment].end = reached;
        Some(reached)
    }

    /// A read from the media from `start` to `end` is done at `now`, and the arm reads on.
    #[inline]
    pub fn read(&mut self, now: Nanos, start: u64, end: u64, bytes_per_ns: f64, most: u64) {
        let index = self.segment_for(start);
        self.uses += 1;
        let first = if self.segments[index].end == start { self.segments[index].start } else { start };
        let limit = end.max(start + self.segment_bytes).min(most);
        let first = first.max(limit.saturating_sub(self.segment_bytes));
        self.segments[index] = Segment { start: first, end, used: self.uses };
        self.filling = Some(Filling { segment: index, from_byte: end, from: now, bytes_per_ns, limit });
    }

    /// The segment whose stream goes on at `start`, or else the one not used for longest.
    fn segment_for(&self, start: u64) -> usize {
        let same_stream = self.segments.iter().position(|segment| segment.end == start && segment.used > 0);
        same_stream.unwrap_or_else(|| {
            let oldest = self.segments.iter().enumerate().min_by_key(|(_, segment)| segment.used);
            oldest.map_or(0, |(index, _)| index)
        })
    }

    /// Whether the arm is reading on.
    #[inline]
    pub fn is_filling(&self) -> bool {
        self.filling.is_some()
    }

    /// Forgets what a write from `start` to `end` makes stale. Returns the byte the arm has come to if that ends its
    /// reading on.
    #[inline]
    pub fn forget(&mut self, now: Nanos, start: u64, end: u64) -> Option<u64> {
        let stale = |filling: &Filling| self.segments[filling.segment].start < end && start < filling.limit;
        let stopped_at = if self.filling.as_ref().is_some_and(stale) { self.stop(now) } else { None };
        for segment in &mut self.segments {
            if segment.start < end && start < segment.end {
                *segment = Segment::default();
            }
        }
        stopped_at
    }
}
