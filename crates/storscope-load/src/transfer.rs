//! What a worker asks for next: draws lines, directions and places with Iometer's meaning.

use storscope_device::Direction;
use storscope_types::{Access, AccessSpec, Nanos, Starts, Stream};

use crate::place::{RandomPlace, Span, align_up};
use crate::random::{Chance, Random};

/// What follows a transfer on the same place of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowUp {
    /// Nothing.
    Nothing,
    /// A transfer of the opposite direction and of this size.
    Reply(u32),
    /// A write of the same bytes to this target and offset.
    CopyTo {
        /// The target's index.
        target: u32,
        /// The byte offset.
        offset: u64,
    },
}

/// One transfer that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Index of the target.
    pub target: u32,
    /// Read or write.
    pub direction: Direction,
    /// Byte offset.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// What comes after it.
    pub then: FollowUp,
}

/// What is drawn of a transfer; the rest is its line's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Read or write.
    pub direction: Direction,
    /// Byte offset.
    pub offset: u64,
}

/// A line of the mix, ready to draw from.
#[derive(Debug, Clone)]
struct Line {
    size: u32,
    align: u64,
    reply: u32,
    reads: Chance,
    randoms: Chance,
    delay: Nanos,
    burst: u32,
    /// For each target of the worker.
    places: Vec<RandomPlace>,
    /// Shares of this and earlier lines, the last being 1.
    cumulative_share: f64,
}

/// A target as a worker sees it.
#[derive(Debug, Clone, Copy)]
struct Track {
    index: u32,
    span: Span,
    /// End of the previous transfer relative to the span.
    next: u64,
}

/// Draws the transfers of one worker.
#[derive(Debug, Clone)]
pub struct Transfers {
    random: Random,
    lines: Vec<Line>,
    line: usize,
    left_in_burst: u32,
    tracks: Vec<Track>,
    copy_destination: Option<(u32, u64)>,
    /// The next one, if it was drawn already.
    foreseen: Option<Drawn>,
    /// Whether it may be: with several targets the next is not known, and replies draw in between.
    foreseeable: bool,
}

impl Transfers {
    /// For a worker of the stream and the targets with these indices and spans.
    #[must_use]
    pub fn new(stream: &Stream, worker: u32, targets: &[(u32, Span)], random: Random) -> Self {
        let track = |&(index, span): &(u32, Span)| Track { index, span, next: first_place(stream, worker, span) };
        let tracks: Vec<Track> = targets.iter().map(track).collect();
        let (specs, copy_destination) = specs_of(stream);
        let total: f64 = specs.iter().map(|spec| spec.share).sum();
        let mut sum = 0.0;
        let mut prepare = |spec: &AccessSpec| {
            sum += spec.share / total;
            Line::new(spec, sum, stream, targets)
        };
        let lines: Vec<Line> = specs.iter().map(&mut prepare).collect();
        let foreseeable = tracks.len() == 1 && lines.iter().all(|line| line.reply == 0);
        Self { random, lines, line: 0, left_in_burst: 0, tracks, copy_destination, foreseen: None, foreseeable }
    }

    /// Draws the line of the next burst if the present one is used up. Returns what to wait before it.
    #[inline]
    pub fn begin_burst(&mut self) -> Nanos {
        if self.left_in_burst > 0 {
            return Nanos::ZERO;
        }
        if self.lines.len() > 1 {
            let point = self.random.unit();
            let found = self.lines.iter().position(|line| point < line.cumulative_share);
            self.line = found.unwrap_or(self.lines.len() - 1);
        }
        let line = &self.lines[self.line];
        self.left_in_burst = line.burst;
        line.delay
    }

    /// The next transfer of the burst, to the `track`-th target of the worker. Call [`Transfers::begin_burst`] before.
    #[inline(always)]
    pub fn next(&mut self, track: usize) -> Transfer {
        self.left_in_burst -= 1;
        let drawn = self.foreseen.take().unwrap_or_else(|| self.draw(track));
        self.transfer(track, drawn)
    }

    /// Whether a transfer differs from the one before it by direction and offset alone, and follows without a delay.
    #[must_use]
    pub fn are_alike(&self) -> bool {
        let [line] = self.lines.as_slice() else { return false };
        self.foreseeable && self.copy_destination.is_none() && line.delay == Nanos::ZERO
    }

    /// [`Transfers::next`] and [`Transfers::begin_burst`] of transfers that [`are alike`](Transfers::are_alike).
    #[inline]
    pub fn next_alike(&mut self) -> Drawn {
        self.left_in_burst = if self.left_in_burst > 1 { self.left_in_burst - 1 } else { self.lines[0].burst };
        self.foreseen.take().unwrap_or_else(|| self.draw(0))
    }

    /// [`Transfers::foresee`] right after [`Transfers::next_alike`].
    #[inline]
    pub fn foresee_alike(&mut self) -> (u32, u64) {
        let drawn = self.draw(0);
        self.foreseen = Some(drawn);
        (self.tracks[0].index, drawn.offset)
    }

    /// Draws the next transfer now, if it is settled what will be drawn: target and offset of it.
    #[inline]
    pub fn foresee(&mut self) -> Option<(u32, u64)> {
        let is_settled = self.foreseeable && (self.left_in_burst > 0 || self.lines.len() == 1);
        if is_settled && self.foreseen.is_none() {
            self.foreseen = Some(self.draw(0));
        }
        self.foreseen.map(|drawn| (self.tracks[0].index, drawn.offset))
    }

    #[inline(always)]
    fn draw(&mut self, track: usize) -> Drawn {
        let line = &self.lines[self.line];
        let reads = line.reads.happens(&mut self.random);
        let direction = if reads { Direction::Read } else { Direction::Write };
        let offset = self.place(track, self.line, line.size);
        Drawn { direction, offset }
    }

    #[inline]
    fn transfer(&self, track: usize, drawn: Drawn) -> Transfer {
        let line = &self.lines[self.line];
        let (size, reply) = (line.size, line.reply);
        let Drawn { direction, offset } = drawn;
        let then = match self.copy_destination {
            Some((target, shift)) => FollowUp::CopyTo { target, offset: offset.wrapping_add(shift) },
            None if reply > 0 => FollowUp::Reply(reply),
            None => FollowUp::Nothing,
        };
        Transfer { target: self.tracks[track].index, direction, offset, length: size, then }
    }

    /// The reply to a transfer, placed as the line in force places its own.
    pub fn reply(&mut self, track: usize, direction: Direction, length: u32) -> Transfer {
        let offset = self.place(track, self.line, length);
        Transfer { target: self.tracks[track].index, direction, offset, length, then: FollowUp::Nothing }
    }

    #[inline]
    fn place(&mut self, track: usize, line: usize, size: u32) -> u64 {
        let line = &self.lines[line];
        let state = &mut self.tracks[track];
        let random = line.randoms.happens(&mut self.random);
        let relative =
            if random { line.places[track].draw(&mut self.random) } else { align_up(state.next, line.align) };
        let offset = state.span.wrap(relative, size);
        state.next = offset - state.span.start + u64::from(size);
        offset
    }
}

impl Line {
    fn new(spec: &AccessSpec, cumulative_share: f64, stream: &Stream, targets: &[(u32, Span)]) -> Self {
        let align = spec.effective_align().0;
        let place = |&(_, span): &(u32, Span)| RandomPlace::new(&stream.offsets, span.length, align);
        Self {
            size: spec.size.0 as u32,
            align,
            reply: spec.reply.0 as u32,
            reads: Chance::new(spec.read_share),
            randoms: Chance::new(spec.random_share),
            delay: spec.delay,
            burst: spec.burst,
            places: targets.iter().map(place).collect(),
            cumulative_share,
        }
    }
}

/// Where a worker begins, relative to the span.
fn first_place(stream: &Stream, worker: u32, span: Span) -> u64 {
    match stream.starts {
        Starts::Together => 0,
        Starts::Apart => span.length / u64::from(stream.workers) * u64::from(worker),
    }
}

/// A copy is a line that only reads; its destination is a shift of the offset, modulo 2^64.
fn specs_of(stream: &Stream) -> (Vec<AccessSpec>, Option<(u32, u64)>) {
    match &stream.access {
        Access::Mix { lines } => (lines.clone(), None),
        Access::Copy(copy) => {
            let line = AccessSpec { random_share: copy.random_share, ..AccessSpec::random_read(copy.size) };
            let shift = copy.destination_start.0.wrapping_sub(stream.region.start.0);
            (vec![line], Some((copy.destination, shift)))
        }
    }
}
