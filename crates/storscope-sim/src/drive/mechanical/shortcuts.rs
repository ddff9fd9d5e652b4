//! Shortcuts for what a drive does nearly always: the arm of a busy one goes straight on to what waits, that of an idle one
//! to what comes. What they do is what the general way does, with the questions left out whose answers are known.

use storscope_device::Direction;
use storscope_types::Nanos;

use super::super::DriveOp;
use super::super::arm::Stretch;
use super::{Job, Mechanical, RUN_BYTES, spot};

impl Mechanical {
    /// Whether nothing waits and nothing is under way but reading on.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.takes_shortcuts() && self.busy_since == Nanos::NEVER && self.write_cache.is_none()
    }

    /// Has the idle arm serve a request that came to an idle drive, and of which nothing is in the buffer or on its way
    /// there, without standing in line first. Returns false, and has done nothing, where something may be.
    #[inline]
    pub(super) fn serve_alone(&mut self, now: Nanos, op: &DriveOp) -> bool {
        let (offset, end) = (op.offset, op.offset + u64::from(op.length));
        if let Some(ahead) = &self.read_ahead {
            let may_meet = match op.direction {
                Direction::Read => ahead.may_hold(offset),
                Direction::Write => ahead.may_overlap(offset, end),
            };
            if may_meet {
                return false;
            }
        }
        self.interrupt(now);
        let start = self.arm.stretch(offset);
        self.serve_from(now, op, &start);
        true
    }

    /// Whether the arm has served a request, others wait for it, and nothing else is there that could come first.
    #[inline]
    pub(super) fn goes_straight_on(&self) -> bool {
        let no_link = self.link_done_at == Nanos::NEVER && self.ready.is_empty();
        let no_buffer = self.write_cache.is_none() && self.read_ahead.as_ref().is_none_or(|ahead| !ahead.is_filling());
        self.takes_shortcuts() && self.job == Job::Serving && no_link && no_buffer && self.waiting.len() > 0
    }

    /// [`Mechanical::finish_arm`] and [`Mechanical::start`] in one go where the arm [goes straight
    /// on](Mechanical::goes_straight_on): it is nearly always so in a drive that has more to do than it can. Returns the tag
    /// of what is done.
    #[inline(always)]
    pub(super) fn serve_next(&mut self, now: Nanos) -> u32 {
        let done = self.served.tag;
        self.just_done = true;
        self.read_on(now);
        let goes_on = self.run().is_some_and(|(from, to)| self.waiting.may_start_within(from, to));
        if goes_on || self.run_bytes >= RUN_BYTES {
            self.leave_to_others(now);
            return done;
        }
        let index = self.choose(now);
        let op = self.waiting.seen_at(index).0;
        let is_read = op.direction == Direction::Read;
        if is_read && self.read_ahead.as_ref().is_some_and(|ahead| ahead.may_hold(op.offset)) {
            (self.arm_done_at, self.job) = (Nanos::NEVER, Job::Nothing);
            if self.serve(now, index, false) {
                self.start(now);
            }
            self.just_done = false;
            return done;
        }
        if let Some(ahead) = &mut self.read_ahead {
            ahead.stop_at_once();
        }
        self.serve_chosen(now, index);
        self.just_done = false;
        done
    }

    /// Has the arm serve a waiting request from the media, of which nothing is in a buffer: [`Mechanical::take`] and
    /// [`Mechanical::reach_and_transfer`] without moving the request about.
    #[inline(always)]
    fn serve_chosen(&mut self, now: Nanos, index: usize) {
        let keeps_order = self.window.keeps_order(self.waiting.len());
        let (op, start) = self.waiting.seen_at(index);
        let place = match start {
            Some(start) => *start,
            None => self.arm.place(op.offset),
        };
        let (op, start) = (*op, Stretch { offset: op.offset, start: place });
        self.serve_from(now, &op, &start);
        self.waiting.drop(index, keeps_order, |op| spot(&self.arm, &self.times, op));
    }

    /// Takes up a request whose start is known, without a question about what lies behind it.
    #[inline(always)]
    fn serve_from(&mut self, now: Nanos, op: &DriveOp, start: &Stretch) {
        self.count_run(op.offset, op.offset + u64::from(op.length));
        self.commands.begin(now + self.times.overhead);
        let reach_ns = self.arm.reach_ns(now, self.times.before_ns(op), start);
        self.transfer(now, op, start, reach_ns);
    }

    /// The arm is idle now; what comes next is found out in general.
    #[cold]
    fn leave_to_others(&mut self, now: Nanos) {
        (self.arm_done_at, self.job) = (Nanos::NEVER, Job::Nothing);
        self.start(now);
    }

    #[inline]
    fn takes_shortcuts(&self) -> bool {
        #[cfg(test)]
        if self.in_general_only {
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use storscope_types::Bytes;
    use storscope_types::design::drive::{
        Among, MechanicalDesign, QueueingDesign, ReadAheadDesign, ReadOnAfter, ReadOnTo, SeekDesign,
    };

    use super::super::Traits;
    use super::*;

    const SIZE: u64 = 20 << 30;

    fn design(read_ahead: Option<ReadAheadDesign>, queueing: Option<QueueingDesign>) -> MechanicalDesign {
        MechanicalDesign {
            size: Bytes(SIZE),
            turns_per_min: 10_000.0,
            seek: SeekDesign::DataSheet {
                track_to_track: Nanos(300_000),
                average: Nanos(4_200_000),
                full_stroke: Nanos(8_600_000),
            },
            outer_rate_bytes_per_s: 100e6,
            inner_rate_bytes_per_s: 60e6,
            zones: 16,
            heads: 4,
            head_switch: Nanos(500_000),
            overhead: Nanos(200_000),
            hit: Nanos(100_000),
            switch: Nanos(50_000),
            write_settle: Nanos(400_000),
            interface_rate_bytes_per_s: 300e6,
            read_ahead,
            write_cache: None,
            queueing,
        }
    }

    fn read_aheads() -> impl Strategy<Value = Option<ReadAheadDesign>> {
        let after = prop_oneof![Just(ReadOnAfter::AnyRead), Just(ReadOnAfter::NearbyRead)];
        let up_to = prop_oneof![Just(ReadOnTo::SegmentEnd), Just(ReadOnTo::TrackEnd), Just(ReadOnTo::Track)];
        let some = (1..20_u32, after, up_to, any::<bool>()).prop_map(|(segments, after, up_to, lost_on_write)| {
            ReadAheadDesign { segments, segment: Bytes(256 << 10), after, up_to, lost_on_write }
        });
        prop_oneof![1 => Just(None), 4 => some.prop_map(Some)]
    }

    fn queueings() -> impl Strategy<Value = Option<QueueingDesign>> {
        let among = prop_oneof![Just(Among::Any), Just(Among::Oldest)];
        let some = (0.0..1.0, 1..4_u32, 2..20_u32, among)
            .prop_map(|(gamma, least_depth, depth, among)| QueueingDesign { gamma, least_depth, depth, among });
        prop_oneof![1 => Just(None), 3 => some.prop_map(Some)]
    }

    /// Requests: how long after the one before, whether it goes on behind that, where else, how long, whether it writes.
    fn requests() -> impl Strategy<Value = Vec<(u64, bool, u64, u64, bool)>> {
        let gap = prop_oneof![Just(0), 0..3_000_000_u64, 0..40_000_000_u64];
        // Mostly few places, so that requests meet what is in the buffer and on its way there.
        let place = prop_oneof![0..40_u64, 0..SIZE / 65_536 - 64];
        prop::collection::vec((gap, prop::bool::weighted(0.3), place, 1..40_u64, prop::bool::weighted(0.3)), 1..120)
    }

    /// What is done when, and how busy the drive was.
    fn course(
        design: &MechanicalDesign,
        requests: &[(u64, bool, u64, u64, bool)],
        in_general_only: bool,
    ) -> Vec<(Nanos, Option<u32>)> {
        let mut drive = Mechanical::new(&Traits::new(design), 1, 0);
        drive.in_general_only = in_general_only;
        let (mut now, mut end, mut course) = (Nanos::ZERO, 0, Vec::new());
        let mut advance = |drive: &mut Mechanical, until: Nanos| {
            while drive.next_event() <= until && drive.next_event() < Nanos::NEVER {
                let at = drive.next_event();
                course.push((at, drive.advance(at)));
            }
        };
        for (tag, &(gap, goes_on, place, blocks, write)) in requests.iter().enumerate() {
            now += Nanos(gap);
            advance(&mut drive, now);
            let length = blocks * 4_096;
            let offset = if goes_on && end + length < SIZE { end } else { place * 65_536 };
            end = offset + length;
            let direction = if write { Direction::Write } else { Direction::Read };
            drive.submit(now, DriveOp { tag: tag as u32, direction, offset, length: length as u32 });
        }
        advance(&mut drive, Nanos(u64::MAX - 1));
        let busy = drive.busy(now);
        course.push((busy, None));
        course
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn shortcuts_change_nothing(
            read_ahead in read_aheads(),
            queueing in queueings(),
            requests in requests(),
        ) {
            let design = design(read_ahead, queueing);
            let with = course(&design, &requests, false);
            prop_assert_eq!(with.iter().filter(|(_, tag)| tag.is_some()).count(), requests.len());
            prop_assert_eq!(with, course(&design, &requests, true));
        }
    }
}
