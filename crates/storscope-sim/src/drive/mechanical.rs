//! A drive with platters: one arm, one link, and what waits for them.
//!
//! Reads that are in the buffer and writes that go to the cache need only the link; the rest needs the arm. The arm takes
//! the request it reaches first among a window of the oldest. It writes its cache back when nothing else waits for it, or,
//! once writes wait for room, in competition with what does: one extent at a time or, if several wait, a batch of them.
//!
//! A flush is done when the cache is empty: until then the arm does nothing but write back, and no write is taken. So does
//! a drive on ATA, whose FLUSH CACHE is no queued command (ACS, 7.10); one that can do other things meanwhile is quicker.

use std::collections::VecDeque;
use std::sync::Arc;

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::drive::{MechanicalDesign, ReadOnTo, WriteBackOrder};

use super::DriveOp;
use super::arm::{Arm, Mechanics, Place, Stretch};
use super::commands::Commands;
use super::geometry::fraction;
use super::line::Line;
use super::maths::{larger, whole};
use super::read_ahead::{Lookup, ReadAhead};
use super::window::{self, Window};
use super::write_cache::{Extent, WriteCache};

mod shortcuts;

/// Bytes of a run after which another request has its turn. A choice of this model: makers do not tell theirs.
const RUN_BYTES: u64 = 1 << 20;

/// What all drives of a design have in common.
#[derive(Debug, Clone)]
pub struct Traits {
    design: Arc<MechanicalDesign>,
    mechanics: Arc<Mechanics>,
    times: Arc<Times>,
    sizes: Arc<[f32]>,
}

/// See [`MechanicalDesign`].
#[derive(Debug)]
struct Times {
    /// What a read and a write need before the head can wait for the sector, the seek apart.
    before_ns: [f64; 2],
    before_turns: [f32; 2],
    overhead: Nanos,
    write_settle_ns: f64,
    hit_ns: f64,
    accept_ns: f64,
    switch_ns: f64,
    link_ns_per_byte: f64,
    up_to: ReadOnTo,
    size_bytes: u64,
}

impl Times {
    #[inline]
    fn before_ns(&self, op: &DriveOp) -> f64 {
        self.before_ns[usize::from(op.direction == Direction::Write)]
    }

    #[inline]
    fn before_turns(&self, op: &DriveOp) -> f32 {
        self.before_turns[usize::from(op.direction == Direction::Write)]
    }
}

impl Traits {
    /// Of a design.
    pub fn new(design: &MechanicalDesign) -> Self {
        let mechanics = Mechanics::new(design);
        let (overhead_ns, write_settle_ns) = (design.overhead.0 as f64, design.write_settle.0 as f64);
        let before_ns = [overhead_ns, overhead_ns + write_settle_ns];
        let times = Times {
            before_ns,
            before_turns: before_ns.map(|ns| mechanics.turns(ns)),
            overhead: design.overhead,
            write_settle_ns,
            hit_ns: design.hit.0 as f64,
            accept_ns: accept_ns(design),
            switch_ns: design.switch.0 as f64,
            link_ns_per_byte: 1e9 / design.interface_rate_bytes_per_s,
            up_to: design.read_ahead.map_or_else(ReadOnTo::default, |ahead| ahead.up_to),
            size_bytes: design.size.0,
        };
        Self {
            design: Arc::new(design.clone()),
            mechanics: Arc::new(mechanics),
            times: Arc::new(times),
            sizes: window::sizes(design.queueing.as_ref()),
        }
    }
}

/// See [`MechanicalDesign`].
#[derive(Debug)]
pub struct Mechanical {
    arm_done_at: Nanos,
    link_done_at: Nanos,
    job: Job,
    /// What the arm serves or writes back; in fields of their own, since moving an enumeration of both stalls.
    served: DriveOp,
    arm: Arm,
    times: Arc<Times>,
    /// For the arm.
    waiting: Line,
    /// Whether the arm has finished at this very instant, so that what waits can follow without a gap.
    just_done: bool,
    /// How far the present run has come, in bytes and on the drive.
    run_bytes: u64,
    run_end: u64,
    /// Whether any request ever went on behind another: where none did, nobody need look for the front of a run.
    has_runs: bool,
    commands: Commands,
    window: Window,
    busy: Nanos,
    busy_since: Nanos,
    /// Of the last request, if it needed only the link: its direction and end.
    last_on_link: Option<(Direction, u64)>,
    /// For the link: in the buffer, or in the cache already.
    ready: VecDeque<DriveOp>,
    /// Writes for which the cache has no room.
    blocked: VecDeque<DriveOp>,
    /// Flushes that wait for the cache to be empty, by their tags.
    flushing: Vec<u32>,
    link_tag: u32,
    read_ahead: Option<ReadAhead>,
    write_cache: Option<WriteCache>,
    written: Extent,
    /// Tests compare with and without shortcuts.
    #[cfg(test)]
    in_general_only: bool,
}

/// What the arm is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Job {
    Nothing,
    Serving,
    WritingBack,
}

impl Mechanical {
    pub fn new(traits: &Traits, seed: u64, index: u32) -> Self {
        let design = &traits.design;
        let window = Window::new(Arc::clone(&traits.sizes), design.queueing.as_ref());
        Self {
            arm_done_at: Nanos::NEVER,
            link_done_at: Nanos::NEVER,
            job: Job::Nothing,
            served: DriveOp { tag: 0, direction: Direction::Read, offset: 0, length: 0 },
            arm: Arm::new(Arc::clone(&traits.mechanics), phase_turns(seed, index)),
            times: Arc::clone(&traits.times),
            waiting: Line::new(window.most_seen()),
            just_done: false,
            run_bytes: 0,
            run_end: 0,
            has_runs: false,
            commands: Commands::default(),
            window,
            busy: Nanos::ZERO,
            busy_since: Nanos::NEVER,
            last_on_link: None,
            ready: VecDeque::new(),
            blocked: VecDeque::new(),
            flushing: Vec::new(),
            link_tag: 0,
            read_ahead: design.read_ahead.as_ref().map(ReadAhead::new),
            write_cache: design.write_cache.as_ref().map(WriteCache::new),
            written: Extent::default(),
            #[cfg(test)]
            in_general_only: false,
        }
    }

    pub fn submit(&mut self, now: Nanos, op: DriveOp) {
        if self.is_idle() && self.serve_alone(now, &op) {
            self.busy_since = now;
            return;
        }
        self.route(now, op);
        self.start(now);
        if self.busy_since == Nanos::NEVER {
            self.busy_since = now;
        }
    }

    /// Whether written data may be in a cache that a loss of power empties.
    pub fn is_volatile(&self) -> bool {
        self.write_cache.is_some()
    }

    /// Takes a flush: its tag comes back when all that was written is on the media.
    pub fn flush(&mut self, now: Nanos, tag: u32) {
        self.flushing.push(tag);
        self.answer_flushes();
        self.start(now);
        if self.busy_since == Nanos::NEVER {
            self.busy_since = now;
        }
    }

    /// Flushes are answered over the link once the cache is empty; writes are taken again then.
    fn answer_flushes(&mut self) {
        if self.write_cache.as_ref().is_some_and(|cache| !cache.is_clean()) {
            return;
        }
        let answer = |tag: u32| DriveOp { tag, direction: Direction::Write, offset: 0, length: 0 };
        self.ready.extend(self.flushing.drain(..).map(answer));
    }

    #[inline]
    pub fn next_event(&self) -> Nanos {
        self.arm_done_at.min(self.link_done_at)
    }

    pub fn advance(&mut self, now: Nanos) -> Option<u32> {
        if self.goes_straight_on() {
            return Some(self.serve_next(now));
        }
        let done = if self.link_done_at <= self.arm_done_at { self.finish_link() } else { self.finish_arm(now) };
        self.start(now);
        if self.next_event() == Nanos::NEVER {
            self.busy += now.since(self.busy_since);
            self.busy_since = Nanos::NEVER;
        }
        done
    }

    pub fn queue_len(&self) -> usize {
        self.waiting.len() + self.blocked.len() + self.ready.len() + self.flushing.len()
    }

    pub fn in_service(&self) -> usize {
        usize::from(self.job == Job::Serving) + usize::from(self.link_done_at != Nanos::NEVER)
    }

    pub fn busy(&self, now: Nanos) -> Nanos {
        self.busy + now.since(self.busy_since)
    }

    /// Puts a request where it will be served from.
    #[inline]
    fn route(&mut self, now: Nanos, op: DriveOp) {
        match op.direction {
            Direction::Read => self.route_read(now, op),
            Direction::Write => self.route_write(now, op),
        }
    }

    #[inline]
    fn route_read(&mut self, now: Nanos, op: DriveOp) {
        let end = op.offset + u64::from(op.length);
        if self.in_buffer(now, op.offset, end) {
            self.ready.push_back(op);
        } else {
            self.wait_for_arm(op);
        }
    }

    #[inline]
    fn in_buffer(&mut self, now: Nanos, start: u64, end: u64) -> bool {
        if self.write_cache.as_ref().is_some_and(|cache| cache.holds(start, end)) {
            return true;
        }
        let Some(ahead) = &mut self.read_ahead else { return false };
        let hit = ahead.lookup(now, start, end) == Lookup::Hit;
        if hit {
            let arm = &mut self.arm;
            ahead.follow_reader(now, start, end, |byte| {
                arm.follow(byte);
                now + Nanos(whole(arm.reach_ns(now, 0.0, &arm.stretch(byte))))
            });
        }
        hit
    }

    #[inline]
    fn route_write(&mut self, now: Nanos, op: DriveOp) {
        let end = op.offset + u64::from(op.length);
        let stopped_at = self.read_ahead.as_mut().and_then(|ahead| ahead.forget(now, op.offset, end));
        if let Some(byte) = stopped_at {
            self.arm.follow(byte);
        }
        let Some(cache) = &mut self.write_cache else {
            self.wait_for_arm(op);
            return;
        };
        let arm = &self.arm;
        if self.blocked.is_empty()
            && self.flushing.is_empty()
            && cache.take(op.offset, end, |offset| arm.stretch(offset))
        {
            self.ready.push_back(op);
        } else {
            self.blocked.push_back(op);
        }
    }

    #[inline]
    fn wait_for_arm(&mut self, op: DriveOp) {
        self.waiting.push(op, |op| spot(&self.arm, &self.times, op));
    }

    fn finish_link(&mut self) -> Option<u32> {
        self.link_done_at = Nanos::NEVER;
        Some(self.link_tag)
    }

    fn finish_arm(&mut self, now: Nanos) -> Option<u32> {
        self.arm_done_at = Nanos::NEVER;
        match std::mem::replace(&mut self.job, Job::Nothing) {
            Job::Nothing => None,
            Job::Serving => {
                self.just_done = true;
                self.read_on(now);
                Some(self.served.tag)
            }
            Job::WritingBack => {
                if let Some(cache) = &mut self.write_cache {
                    cache.written(&self.written);
                }
                if !self.flushing.is_empty() {
                    self.answer_flushes();
                }
                self.admit_blocked();
                None
            }
        }
    }

    /// After a read from the media the arm reads on.
    #[inline(always)]
    fn read_on(&mut self, now: Nanos) {
        let Some(ahead) = &mut self.read_ahead else { return };
        let op = &self.served;
        if op.direction == Direction::Read {
            let end = op.offset + u64::from(op.length);
            if !ahead.is_filling() {
                let bounds = match self.times.up_to {
                    ReadOnTo::SegmentEnd => (op.offset, self.times.size_bytes),
                    ReadOnTo::TrackEnd => (op.offset, self.arm.track().1),
                    ReadOnTo::Track => self.arm.track(),
                };
                ahead.read(now, op.offset, end, self.arm.rate(), bounds);
            }
        }
    }

    /// Takes waiting writes into the cache, in their order, as far as there is room; none while a batch is written back, or
    /// all that is there.
    fn admit_blocked(&mut self) {
        let Some(cache) = &mut self.write_cache else { return };
        if cache.is_in_batch() || !self.flushing.is_empty() {
            return;
        }
        let arm = &self.arm;
        while let Some(op) = self.blocked.front() {
            if !cache.take(op.offset, op.offset + u64::from(op.length), |offset| arm.stretch(offset)) {
                return;
            }
            self.ready.extend(self.blocked.pop_front());
        }
    }

    #[inline]
    fn start(&mut self, now: Nanos) {
        while self.job == Job::Nothing && self.start_arm(now) {}
        self.just_done = false;
        if self.link_done_at == Nanos::NEVER {
            self.start_link(now);
        }
    }

    fn start_link(&mut self, now: Nanos) {
        let Some(op) = self.ready.pop_front() else { return };
        self.link_tag = op.tag;
        let fixed_ns = if op.direction == Direction::Read { self.times.hit_ns } else { self.times.accept_ns };
        let end = op.offset + u64::from(op.length);
        let is_flush = op.length == 0;
        let goes_on = self.last_on_link == Some((op.direction, op.offset));
        let switch_ns = if goes_on || is_flush { 0.0 } else { self.times.switch_ns };
        if !is_flush {
            self.last_on_link = Some((op.direction, end));
        }
        self.link_done_at = now + self.link_time(fixed_ns + switch_ns, op.length);
    }

    fn link_time(&self, fixed_ns: f64, length: u32) -> Nanos {
        Nanos(whole(fixed_ns + f64::from(length) * self.times.link_ns_per_byte))
    }

    /// Gives the idle arm something to do. Returns whether it should be asked again: what it was to read has come into
    /// the buffer meanwhile.
    #[inline]
    fn start_arm(&mut self, now: Nanos) -> bool {
        let requests = self.waiting.len();
        if requests == 0 || !self.flushing.is_empty() {
            return self.start_writing_back(now);
        }
        if let Some((from, to)) = self.run()
            && let Some(index) = self.next_of_run(from, to)
        {
            return self.serve(now, index, true);
        }
        if self.run_bytes >= RUN_BYTES
            && let Some(index) = self.other_than_run()
        {
            return self.serve(now, index, false);
        }
        // What is reached first depends on where the arm has come to by reading on.
        if let Some(byte) = self.read_ahead.as_ref().and_then(|ahead| ahead.reached(now)) {
            self.arm.follow(byte);
        }
        let index = self.choose(now);
        if !self.blocked.is_empty() && self.extent_is_nearer(now, index) {
            return self.start_writing_back(now);
        }
        self.serve(now, index, false)
    }

    /// The request in the window that the arm reaches first, or the front of the run that it belongs to.
    #[inline(always)]
    fn choose(&mut self, now: Nanos) -> usize {
        let view = self.window.view(self.waiting.len());
        let index = if view.size > 1 { self.waiting.nearest(view, &self.arm.aim(now)) } else { view.from };
        if self.has_runs { self.waiting.front_of_run(index) } else { index }
    }

    /// Where requests start that go on where the arm is: in the segment that it is filling, or right behind what it has
    /// just read or written. The bounds are included.
    #[inline]
    fn run(&self) -> Option<(u64, u64)> {
        let filled = self.read_ahead.as_ref().and_then(ReadAhead::filled);
        let head = self.arm.head_byte();
        filled.or_else(|| (self.just_done && self.waiting.sees_several()).then_some((head, head)))
    }

    /// The next request of a run, if one is seen and all that is seen belongs to the run: firmware need not look for it
    /// by position then. With others in between, each choice is by position, so that two streams pay a seek for each
    /// request, as they do in the field.
    #[inline]
    fn next_of_run(&self, from: u64, to: u64) -> Option<usize> {
        let index = self.waiting.first_from(self.served.direction, from, to)?;
        self.waiting.is_one_run(from, to).then_some(index)
    }

    /// A request that does not go on behind the last, so that a deep stream does not keep the arm for ever.
    #[cold]
    fn other_than_run(&mut self) -> Option<usize> {
        let first =
            if self.window.keeps_order(self.waiting.len()) { 0 } else { self.window.somewhere(self.waiting.seen()) };
        self.waiting.other_than_run(self.run_end, self.run_end, first)
    }

    #[inline]
    fn start_writing_back(&mut self, now: Nanos) -> bool {
        let Some(cache) = &mut self.write_cache else { return false };
        cache.batch_for(self.blocked.len());
        if let Some((index, reach_ns)) = self.nearest_extent(now) {
            self.write_back(now, index, reach_ns);
        }
        false
    }

    fn extent_is_nearer(&self, now: Nanos, index: usize) -> bool {
        let reach_ns = |op: &DriveOp| self.arm.reach_ns(now, self.times.before_ns(op), &self.arm.stretch(op.offset));
        let request_ns = self.waiting.get(index).map(reach_ns);
        match (self.nearest_extent(now), request_ns) {
            (Some((_, extent_ns)), Some(request_ns)) => extent_ns < request_ns,
            (extent, _) => extent.is_some(),
        }
    }

    fn nearest_extent(&self, now: Nanos) -> Option<(usize, f64)> {
        let cache = self.write_cache.as_ref()?;
        let reach = |extent: &Extent| {
            let adjacent = extent.stretch.offset == self.arm.head_byte();
            let settle_ns = if adjacent { 0.0 } else { self.times.write_settle_ns };
            self.arm.reach_ns(now, settle_ns, &extent.stretch)
        };
        match cache.order() {
            WriteBackOrder::Nearest => {
                cache.candidates().iter().map(reach).enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
            }
            WriteBackOrder::Address => {
                let index = cache.next_by_address(self.arm.head_byte())?;
                Some((index, reach(cache.extent(index))))
            }
        }
    }

    /// Has the arm serve a waiting request. Returns whether the arm is still idle.
    #[inline]
    fn serve(&mut self, now: Nanos, index: usize, follows: bool) -> bool {
        let (op, start) = self.take(index);
        let start = match self.look_again(now, &op) {
            Lookup::Hit => {
                self.ready.push_back(op);
                return true;
            }
            Lookup::Coming(at) => {
                self.arm_done_at = at.max(now + self.link_time(self.times.hit_ns, op.length));
                self.commands.begin(now);
                self.job = Job::Serving;
                self.served = op;
                return false;
            }
            Lookup::Partly(from) => self.arm.stretch(from),
            Lookup::Miss => {
                let start = start.unwrap_or_else(|| self.arm.place(op.offset));
                Stretch { offset: op.offset, start }
            }
        };
        self.serve_from_media(now, op, &start, follows);
        false
    }

    /// Takes a waiting request out of the line, with where it starts if that is known.
    #[inline]
    fn take(&mut self, index: usize) -> (DriveOp, Option<Place>) {
        let spot = |op: &DriveOp| spot(&self.arm, &self.times, op);
        let keeps_order = self.window.keeps_order(self.waiting.len());
        let (op, start) = self.waiting.remove(index, keeps_order, spot);
        self.count_run(op.offset, op.offset + u64::from(op.length));
        (op, start)
    }

    /// A request from `start` to `end` is taken up. What was in the buffer when it came is not counted.
    #[inline]
    fn count_run(&mut self, start: u64, end: u64) {
        let goes_on = start.wrapping_sub(self.run_end) < RUN_BYTES;
        self.run_bytes = if goes_on { self.run_bytes + (end - self.run_end) } else { end - start };
        self.run_end = end;
        self.has_runs |= goes_on;
    }

    #[inline]
    fn look_again(&mut self, now: Nanos, op: &DriveOp) -> Lookup {
        let Some(ahead) = &mut self.read_ahead else { return Lookup::Miss };
        if op.direction == Direction::Write {
            return Lookup::Miss;
        }
        let end = op.offset + u64::from(op.length);
        let lookup = ahead.lookup(now, op.offset, end);
        if let Lookup::Coming(_) = lookup {
            ahead.keep_filling(end);
        }
        lookup
    }

    /// Has the arm read or write what lies behind `start`. What follows without a gap needs no positioning.
    #[inline]
    fn serve_from_media(&mut self, now: Nanos, op: DriveOp, start: &Stretch, follows: bool) {
        self.interrupt(now);
        self.reach_and_transfer(now, op, start, follows);
    }

    #[inline]
    fn reach_and_transfer(&mut self, now: Nanos, op: DriveOp, start: &Stretch, follows: bool) {
        let adjoins = follows && self.just_done && start.offset == self.arm.head_byte();
        let command = || self.link_time(self.times.hit_ns, op.length);
        let reach_ns = if adjoins && self.commands.is_taken_up(now, command(), self.waiting.seen()) {
            0.0
        } else {
            self.commands.begin(now + self.times.overhead);
            self.arm.reach_ns(now, self.times.before_ns(&op), start)
        };
        self.transfer(now, &op, start, reach_ns);
    }

    /// Has the arm read or write what lies from `start` to the end of a request, once it is there in `reach_ns`.
    #[inline(always)]
    fn transfer(&mut self, now: Nanos, op: &DriveOp, start: &Stretch, reach_ns: f64) {
        self.last_on_link = None;
        let media_ns = self.arm.transfer(start, op.offset + u64::from(op.length) - start.offset);
        let link_ns = f64::from(op.length) * self.times.link_ns_per_byte;
        let service_ns = reach_ns + if op.direction == Direction::Read { larger(media_ns, link_ns) } else { media_ns };
        self.arm_done_at = now + Nanos(whole(service_ns));
        self.job = Job::Serving;
        self.served = *op;
    }

    fn write_back(&mut self, now: Nanos, index: usize, reach_ns: f64) {
        self.interrupt(now);
        let Some(cache) = &mut self.write_cache else { return };
        let extent = cache.remove(index);
        let length = extent.end - extent.stretch.offset;
        let service_ns = reach_ns + self.arm.transfer(&extent.stretch, length);
        self.arm_done_at = now + Nanos(whole(service_ns));
        self.job = Job::WritingBack;
        self.written = extent;
        // The place in the list is free at once, the bytes when written.
        self.admit_blocked();
    }

    /// Ends the reading on; the head is where that has come to.
    #[inline]
    fn interrupt(&mut self, now: Nanos) {
        if let Some(byte) = self.read_ahead.as_mut().and_then(|ahead| ahead.stop(now)) {
            self.arm.follow(byte);
        }
    }
}

#[inline]
fn spot(arm: &Arm, times: &Times, op: &DriveOp) -> (Place, f32) {
    (arm.place(op.offset), times.before_turns(op))
}

fn accept_ns(design: &MechanicalDesign) -> f64 {
    design.write_cache.and_then(|cache| cache.accept).unwrap_or(design.hit).0 as f64
}

/// The angle at which this drive's platters start: golden-ratio steps spread the drives of one array evenly.
fn phase_turns(seed: u64, index: u32) -> f64 {
    let of_seed = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 53) as f64;
    fraction(of_seed + f64::from(index) * 0.618_033_988_749_894_9)
}
