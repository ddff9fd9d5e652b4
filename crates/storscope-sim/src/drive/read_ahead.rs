//! The buffer of a mechanical drive for reads: segments that are filled by reading on.
//!
//! After a read from the media the arm stays and reads on at the media's rate until its segment is full or something else
//! is asked of it. A segment is a ring: what its reader has taken makes room for what comes, so that the arm goes on for as
//! long as the reader does, as far as half a segment ahead of it. An arm that was ahead and stopped has to wait until the
//! sector comes by again. Each segment so follows one sequential stream, also when several streams interleave. What is not
//! there: adaptive segment sizes, and a least amount read before giving way.

use storscope_types::Nanos;
use storscope_types::design::drive::{ReadAheadDesign, ReadOnAfter, ReadOnTo};

use super::neighbourhood::Neighbourhood;

/// The segments.
#[derive(Debug)]
pub struct ReadAhead {
    segments: Vec<Segment>,
    /// Tells that no segment is near an address, so that most reads need not look at any.
    near: Neighbourhood,
    segment_bytes: u64,
    any_read: bool,
    lost_on_write: bool,
    /// Whether the arm stops at the end of a track, whatever its reader does.
    ends_with_track: bool,
    /// The one the arm is filling.
    filling: Option<Filling>,
    /// The segment that the next new stream takes.
    next: usize,
}

/// Empty when start and end are equal.
#[derive(Debug, Clone, Copy, Default)]
struct Segment {
    start: u64,
    end: u64,
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
    /// It is there up to that byte; the rest has to be read.
    Partly(u64),
    /// It has to be read.
    Miss,
}

impl Filling {
    #[inline]
    fn reached(&self, now: Nanos) -> u64 {
        let read = now.since(self.from).0 as i64 as f64 * self.bytes_per_ns;
        self.limit.min(self.from_byte + read as i64 as u64)
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
            near: Neighbourhood::new(design.segments as usize, design.segment.0),
            segment_bytes: design.segment.0,
            any_read: design.after == ReadOnAfter::AnyRead,
            lost_on_write: design.lost_on_write,
            ends_with_track: design.up_to != ReadOnTo::SegmentEnd,
            filling: None,
            next: 0,
        }
    }

    /// Whether the bytes from `start` to `end` are in the buffer at `now`.
    #[inline]
    pub fn lookup(&self, now: Nanos, start: u64, end: u64) -> Lookup {
        if let Some(filling) = self.filling {
            let first = self.segments[filling.segment].start;
            // What starts a little further on is waited for, too: it takes less than coming back a turn later.
            if first <= start && start <= filling.limit {
                return in_filling(&filling, filling.reached(now), end);
            }
        }
        let holds_start = |segment: &&Segment| segment.start <= start && start < segment.end;
        if !self.near.may_be_near(start) {
            return Lookup::Miss;
        }
        match self.segments.iter().find(holds_start) {
            None => Lookup::Miss,
            Some(segment) if end <= segment.end => Lookup::Hit,
            Some(segment) => Lookup::Partly(segment.end),
        }
    }

    /// The byte that the arm has come to, if it is reading on.
    #[inline]
    pub fn reached(&self, now: Nanos) -> Option<u64> {
        self.filling.map(|filling| filling.reached(now))
    }

    /// The first byte of the segment that the arm is filling, and how far it will be filled.
    #[inline]
    pub fn filled(&self) -> Option<(u64, u64)> {
        self.filling.map(|filling| (self.segments[filling.segment].start, filling.limit))
    }

    /// The arm goes on for the reader of what is coming up to `end`, and keeps as far ahead of it as before.
    pub fn keep_filling(&mut self, end: u64) {
        let segment_bytes = self.segment_bytes;
        if let Some(filling) = &mut self.filling {
            filling.limit = filling.limit.max(end + segment_bytes / 2);
            let segment = &mut self.segments[filling.segment];
            segment.start = segment.start.max(filling.limit.saturating_sub(segment_bytes));
            self.near.set(filling.segment, segment.start, filling.limit);
        }
    }

    /// The same for the reader of what was there, from `start` to `end`, if the arm is filling the segment it lies in. If it
    /// has stopped there, it goes on when the byte that `back_at` is asked for comes by.
    #[inline(never)]
    pub fn follow_reader(&mut self, now: Nanos, start: u64, end: u64, back_at: impl FnOnce(u64) -> Nanos) {
        let Some(filling) = &mut self.filling else { return };
        let is_there = self.segments[filling.segment].start <= start && end <= filling.limit;
        if !is_there || self.ends_with_track || end + self.segment_bytes / 2 <= filling.limit {
            return;
        }
        if filling.reached(now) == filling.limit {
            (filling.from, filling.from_byte) = (back_at(filling.limit), filling.limit);
        }
        self.keep_filling(end);
    }

    /// Ends the filling because the arm is needed. Returns the byte it has come to.
    #[inline]
    pub fn stop(&mut self, now: Nanos) -> Option<u64> {
        let filling = self.filling.take()?;
        let reached = filling.reached(now);
        self.segments[filling.segment].end = reached;
        Some(reached)
    }

    /// A read from the media from `start` to `end` is done at `now`. The arm reads on within `bounds`, if this looks like a
    /// stream. What it reads before `start` it is taken to have at once.
    #[inline]
    pub fn read(&mut self, now: Nanos, start: u64, end: u64, bytes_per_ns: f64, bounds: (u64, u64)) {
        let (index, nearby) = self.segment_for(start);
        let reads_on = self.any_read || nearby;
        let ahead = (start + self.segment_bytes).max(end + self.segment_bytes / 2);
        let limit = if reads_on { ahead.min(bounds.1.max(end)) } else { end };
        let adjoins = self.segments[index].end == start;
        let first = if adjoins { self.segments[index].start } else { start };
        let first = if reads_on { first.min(bounds.0) } else { first };
        let first = first.max(limit.saturating_sub(self.segment_bytes)).min(start);
        self.segments[index] = Segment { start: first, end };
        self.near.set(index, first, limit.max(end));
        if reads_on {
            self.filling = Some(Filling { segment: index, from_byte: end, from: now, bytes_per_ns, limit });
        }
    }

    /// [`ReadAhead::stop`] at the instant that the arm began to read on.
    #[inline]
    pub fn stop_at_once(&mut self) {
        self.filling = None;
    }

    /// Whether any segment, the one that is being filled included, may overlap the bytes from `start` to before `end`, or
    /// is lost by any write.
    #[inline]
    pub fn may_overlap(&self, start: u64, end: u64) -> bool {
        self.lost_on_write || self.near.may_overlap(start, end)
    }

    /// Whether a byte may be in a segment, the one that is being filled included.
    #[inline]
    pub fn may_hold(&self, byte: u64) -> bool {
        self.near.may_be_near(byte)
    }

    /// The segment whose stream goes on near `start`, or else the next in turn; and which of the two.
    #[inline]
    fn segment_for(&mut self, start: u64) -> (usize, bool) {
        let reach = self.segment_bytes;
        let is_near = |segment: &Segment| segment.end > segment.start && start.abs_diff(segment.end) <= reach;
        if self.near.may_be_near(start)
            && let Some(index) = self.segments.iter().position(is_near)
        {
            return (index, true);
        }
        let index = self.next;
        self.next = if index + 1 == self.segments.len() { 0 } else { index + 1 };
        (index, false)
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
        let stale = |filling: &Filling| {
            self.lost_on_write || (self.segments[filling.segment].start < end && start < filling.limit)
        };
        let stopped_at = if self.filling.as_ref().is_some_and(stale) { self.stop(now) } else { None };
        if !self.lost_on_write && !self.near.may_overlap(start, end) {
            return stopped_at;
        }
        for segment in &mut self.segments {
            if self.lost_on_write || (segment.start < end && start < segment.end) {
                *segment = Segment::default();
            }
        }
        stopped_at
    }
}

/// For a read that starts in the segment being filled: what it finds.
#[cold]
fn in_filling(filling: &Filling, reached: u64, end: u64) -> Lookup {
    if end <= reached {
        return Lookup::Hit;
    }
    if reached == filling.limit && end > filling.limit {
        return Lookup::Partly(filling.limit);
    }
    Lookup::Coming(filling.reaches(end))
}
