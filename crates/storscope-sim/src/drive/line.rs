//! What waits for the arm, laid out for choosing.
//!
//! The drive sees only so many requests; the others wait behind them, first come, first served. Choosing looks at the
//! cylinder and angle of many requests, so these lie side by side in lanes and are compared in single precision, several
//! at a time. Only the choice is so: times are computed in double precision afterwards. Requests that are seen stay at the
//! front of their memory, since the lines of all drives of an array together have to fit the processor's caches.

use std::collections::VecDeque;

use storscope_device::Direction;

use super::DriveOp;
use super::arm::{Aim, Place};
use super::window::View;

/// Requests compared in one step.
const LANES: usize = 8;
/// Low bits of a turn's single-precision pattern that hold a place in line while places are compared: requests that are
/// reached within 2^-13 of each other's time count as equal.
const PLACE_BITS: u32 = 10;
/// Most requests a drive can see.
const MOST_SEEN: usize = 1 << PLACE_BITS;
/// Up to so many requests are compared one by one, which is less work than comparing all lanes.
const FEW: usize = 4;

/// Where a request has to go: its first byte, and the turns of other work before the head can wait for it.
type Spot = (Place, f32);

/// The waiting requests.
#[derive(Debug)]
pub struct Line {
    /// Those the drive sees.
    seen: Vec<Seen>,
    /// Where they have to go; empty where there is nothing to choose.
    lanes: Vec<Lanes>,
    most_seen: usize,
    /// Those it does not see yet, oldest first.
    behind: VecDeque<DriveOp>,
}

/// A request that the drive sees.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Seen {
    op: DriveOp,
    /// Where it starts on the media, as it was found for the lanes; not set where there are none.
    start: Place,
}

/// Where requests next to each other in line have to go.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Lanes {
    cylinders: [f32; LANES],
    tracks: [f32; LANES],
    angles: [f32; LANES],
    /// What is needed beyond the seek before the head can wait for the sector.
    before_turns: [f32; LANES],
    /// Where they start and end, see [`unit`].
    starts: [u32; LANES],
    ends: [u32; LANES],
}

/// The low bits of a byte's number in units of 512 bytes: enough to pass over what lies elsewhere, many at a time.
#[inline]
fn unit(byte: u64) -> u32 {
    (byte >> 9) as u32
}

impl Line {
    /// Nobody waits; the drive will see so many at a time, at least one.
    pub fn new(most_seen: usize) -> Self {
        let most_seen = most_seen.clamp(1, MOST_SEEN);
        let blocks = if most_seen > 1 { most_seen.div_ceil(LANES) } else { 0 };
        Self {
            seen: Vec::with_capacity(most_seen),
            lanes: vec![Lanes::default(); blocks],
            most_seen,
            behind: VecDeque::with_capacity(LANES),
        }
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.seen.len() + self.behind.len()
    }

    /// The last in line. `spot` tells where it has to go, once it is seen and there is something to choose.
    #[inline]
    pub fn push(&mut self, op: DriveOp, spot: impl Fn(&DriveOp) -> Spot) {
        if self.seen.len() < self.most_seen { self.see(op, &spot) } else { self.behind.push_back(op) }
    }

    #[inline]
    fn see(&mut self, op: DriveOp, spot: &impl Fn(&DriveOp) -> Spot) {
        let index = self.seen.len();
        let mut start = Place::default();
        if let Some(lanes) = self.lanes.get_mut(index / LANES) {
            let (place, before_turns) = spot(&op);
            let lane = index % LANES;
            lanes.cylinders[lane] = place.cylinder as f32;
            lanes.tracks[lane] = place.track as f32;
            lanes.angles[lane] = place.angle as f32;
            lanes.before_turns[lane] = before_turns;
            lanes.starts[lane] = unit(op.offset);
            lanes.ends[lane] = unit(op.offset + u64::from(op.length));
            start = place;
        }
        self.seen.push(Seen { op, start });
    }

    /// A request that is seen, by its place in line.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&DriveOp> {
        self.seen.get(index).map(|seen| &seen.op)
    }

    /// The same, with where it starts on the media if that was asked before.
    #[inline]
    pub fn seen_at(&self, index: usize) -> (&DriveOp, Option<&Place>) {
        let seen = &self.seen[index];
        (&seen.op, (!self.lanes.is_empty()).then_some(&seen.start))
    }

    /// Takes out a request that is seen, with where it starts if that was asked before. All others keep their order, or
    /// the last that is seen takes its place in line.
    #[inline]
    pub fn remove(
        &mut self,
        index: usize,
        keeps_order: bool,
        spot: impl Fn(&DriveOp) -> Spot,
    ) -> (DriveOp, Option<Place>) {
        let Seen { op, start } = self.seen[index];
        self.drop(index, keeps_order, spot);
        (op, (!self.lanes.is_empty()).then_some(start))
    }

    /// Only takes it out.
    #[inline]
    pub fn drop(&mut self, index: usize, keeps_order: bool, spot: impl Fn(&DriveOp) -> Spot) {
        let last = self.seen.len() - 1;
        if !keeps_order {
            self.copy(last, index);
        } else {
            (index..last).for_each(|index| self.copy(index + 1, index));
        }
        self.seen.truncate(last);
        if let Some(lanes) = self.lanes.get_mut(last / LANES) {
            // It is passed over in searches.
            (lanes.starts[last % LANES], lanes.ends[last % LANES]) = (u32::MAX, u32::MAX);
        }
        self.see_next(&spot);
    }

    /// Puts what is at one place in line at another, too.
    #[inline]
    fn copy(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        // `Vec::swap_remove` and `Vec::remove` call the library to move what is here moved in some instructions.
        self.seen[to] = self.seen[from];
        if !self.lanes.is_empty() {
            self.copy_lane(from, to);
        }
    }

    #[inline]
    fn copy_lane(&mut self, from: usize, to: usize) {
        let source = &self.lanes[from / LANES];
        let lane = from % LANES;
        let (cylinder, track) = (source.cylinders[lane], source.tracks[lane]);
        let (angle, before) = (source.angles[lane], source.before_turns[lane]);
        let (start, end) = (source.starts[lane], source.ends[lane]);
        let target = &mut self.lanes[to / LANES];
        let lane = to % LANES;
        (target.cylinders[lane], target.tracks[lane]) = (cylinder, track);
        (target.angles[lane], target.before_turns[lane]) = (angle, before);
        (target.starts[lane], target.ends[lane]) = (start, end);
    }

    #[inline]
    fn see_next(&mut self, spot: &impl Fn(&DriveOp) -> Spot) {
        if !self.behind.is_empty()
            && let Some(op) = self.behind.pop_front()
        {
            self.see(op, spot);
        }
    }

    /// Whether the drive sees more than the oldest.
    #[inline]
    pub fn sees_several(&self) -> bool {
        self.most_seen > 1
    }

    /// Whether a request that is seen may start between two bytes, both included.
    #[inline]
    pub fn may_start_within(&self, from: u64, to: u64) -> bool {
        let (first_unit, units) = (unit(from), ((to >> 9) - (from >> 9)).min(u32::MAX.into()) as u32);
        self.any_lane(|lanes, lane| lanes.starts[lane].wrapping_sub(first_unit) <= units)
    }

    /// Of the requests seen in a direction that start between two bytes, both included, the one that starts first.
    #[inline]
    pub fn first_from(&self, direction: Direction, from: u64, to: u64) -> Option<usize> {
        if !self.may_start_within(from, to) {
            return None;
        }
        let (mut found, mut least) = (None, u64::MAX);
        for (index, Seen { op, .. }) in self.seen.iter().enumerate() {
            let beyond = op.offset.wrapping_sub(from);
            if beyond <= to - from && op.direction == direction && beyond < least {
                (found, least) = (Some(index), beyond);
            }
        }
        found
    }

    /// Whether anything is so in any lane, or may be: lanes that nobody uses any more count, too, as if what was there
    /// began and ended at the last unit of all. Without lanes it may be so.
    #[inline]
    fn any_lane(&self, is_so: impl Fn(&Lanes, usize) -> bool) -> bool {
        let used = &self.lanes[..self.seen.len().div_ceil(LANES).min(self.lanes.len())];
        let found = used
            .iter()
            .fold(0, |found, lanes| (0..LANES).fold(found, |found, lane| found | u32::from(is_so(lanes, lane))));
        found > 0 || self.lanes.is_empty()
    }

    /// Whether all requests that are seen lie where a run that begins between two bytes comes along.
    pub fn is_one_run(&self, from: u64, to: u64) -> bool {
        self.other_than_run(from, to, 0).is_none()
    }

    /// A request seen, from a place in line on, that does not lie where a run that begins between two bytes comes along.
    pub fn other_than_run(&self, from: u64, to: u64, first: usize) -> Option<usize> {
        let all: u64 = self.seen.iter().map(|seen| u64::from(seen.op.length)).sum();
        let mut places = (first..self.seen.len()).chain(0..first);
        places.find(|&index| !(from..=to + 2 * all).contains(&self.seen[index].op.offset))
    }

    /// How many requests the drive sees.
    #[inline]
    pub fn seen(&self) -> usize {
        self.seen.len()
    }

    /// The first of the requests seen that are next to each other on the drive and lead up to this one.
    pub fn front_of_run(&self, index: usize) -> usize {
        let before = |at: &DriveOp| {
            let at_unit = unit(at.offset);
            if !self.any_lane(|lanes, lane| lanes.ends[lane] == at_unit) {
                return None;
            }
            let leads_up = |op: &DriveOp| op.offset + u64::from(op.length) == at.offset && op.direction == at.direction;
            self.seen.iter().position(|seen| leads_up(&seen.op))
        };
        let mut front = index;
        while let Some(earlier) = before(&self.seen[front].op) {
            front = earlier;
        }
        front
    }

    /// The one in view that the arm reaches first.
    #[inline]
    pub fn nearest(&self, view: View, aim: &Aim) -> usize {
        if view.size <= FEW {
            return self.nearest_of_few(view, aim);
        }
        let end = view.from + view.size;
        let near = self.nearest_of(view.from, end.min(view.seen), aim);
        let near = if end > view.seen { near.min(self.nearest_of(0, end - view.seen, aim)) } else { near };
        near as usize & (MOST_SEEN - 1)
    }

    #[inline]
    fn nearest_of_few(&self, view: View, aim: &Aim) -> usize {
        let (mut nearest, mut index) = (i32::MAX, view.from);
        for _ in 0..view.size {
            let (lanes, lane) = (&self.lanes[index / LANES], index % LANES);
            nearest = nearest.min(key(aim, lanes, lane, index as i32));
            index = if index + 1 == view.seen { 0 } else { index + 1 };
        }
        nearest as usize & (MOST_SEEN - 1)
    }

    /// Of the requests from one place in line to before another: how soon the first is reached, with its place in the low
    /// bits. Turns are not negative, so that their patterns are in the order of their values.
    #[inline]
    fn nearest_of(&self, from: usize, end: usize, aim: &Aim) -> i32 {
        let mut nearest = [i32::MAX; LANES];
        for block in from / LANES..end.div_ceil(LANES) {
            let lanes = &self.lanes[block];
            for (lane, nearest) in nearest.iter_mut().enumerate() {
                let index = (block * LANES + lane) as i32;
                let key = key(aim, lanes, lane, index);
                let in_view = (index >= from as i32) & (index < end as i32);
                *nearest = (*nearest).min(if in_view { key } else { i32::MAX });
            }
        }
        nearest.into_iter().fold(i32::MAX, i32::min)
    }
}

/// How soon a request is reached, with its place in line in the low bits.
#[inline]
fn key(aim: &Aim, lanes: &Lanes, lane: usize, index: i32) -> i32 {
    let turns = aim.turns_to(lanes.cylinders[lane], lanes.tracks[lane], lanes.angles[lane], lanes.before_turns[lane]);
    (turns.to_bits() as i32 & !(MOST_SEEN as i32 - 1)) | index
}
