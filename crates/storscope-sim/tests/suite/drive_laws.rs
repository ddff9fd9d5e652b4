//! Mechanical drives against closed forms: what is known exactly must come out.

use crate::drives::{Dice, assert_told_apart_by_seed, curve, sequential};
use storscope_device::Direction;
use storscope_sim::drive::fit::closed_loop::ClosedLoop;
use storscope_sim::drive::{Drive, DriveOp};
use storscope_types::design::drive::{
    Among, DriveDesign, MechanicalDesign, QueueingDesign, ReadAheadDesign, ReadOnAfter, ReadOnTo, SeekDesign,
    WriteBackOrder, WriteCacheDesign,
};
use storscope_types::{Bytes, Nanos};

const TRACK_TO_TRACK_MS: f64 = 0.8;
const AVERAGE_MS: f64 = 8.5;
const FULL_STROKE_MS: f64 = 16.0;
const OUTER: f64 = 115e6;
const INNER: f64 = 60e6;
const TURN_MS: f64 = 60_000.0 / 7_200.0;

/// No switch between tracks, no buffers, nothing sorted: what the formulas know.
fn plain() -> MechanicalDesign {
    let time = |ms: f64| Nanos((ms * 1e6) as u64);
    MechanicalDesign {
        size: Bytes(1_000_000_000_000),
        turns_per_min: 7200.0,
        seek: SeekDesign::DataSheet {
            track_to_track: time(TRACK_TO_TRACK_MS),
            average: time(AVERAGE_MS),
            full_stroke: time(FULL_STROKE_MS),
        },
        outer_rate_bytes_per_s: OUTER,
        inner_rate_bytes_per_s: INNER,
        zones: 16,
        heads: 4,
        head_switch: Nanos::ZERO,
        overhead: time(0.3),
        hit: time(0.1),
        switch: Nanos::ZERO,
        write_settle: time(0.5),
        interface_rate_bytes_per_s: 300e6,
        read_ahead: None,
        write_cache: None,
        queueing: None,
    }
}

fn mechanical(design: MechanicalDesign) -> DriveDesign {
    DriveDesign::Mechanical(design)
}

/// Mean seek over pairs of random addresses: zones of equal width hold in proportion to their rate; Lee and Katz's curve.
fn mean_seek_ms() -> f64 {
    let points = 1600;
    let weight = |point: usize| OUTER + (INNER - OUTER) * f64::from(point as u32 / 100) / 15.0;
    let seek_ms = |share: f64| {
        let root = (-10.0 * TRACK_TO_TRACK_MS + 15.0 * AVERAGE_MS - 5.0 * FULL_STROKE_MS) / 3.0;
        let linear = (7.0 * TRACK_TO_TRACK_MS - 15.0 * AVERAGE_MS + 8.0 * FULL_STROKE_MS) / 3.0;
        TRACK_TO_TRACK_MS + root * share.sqrt() + linear * share
    };
    let (mut sum, mut weights) = (0.0, 0.0);
    for from in 0..points {
        for to in 0..points {
            let both = weight(from) * weight(to);
            sum += both * seek_ms(from.abs_diff(to) as f64 / points as f64);
            weights += both;
        }
    }
    sum / weights
}

#[test]
fn a_random_read_takes_overhead_mean_seek_half_a_turn_and_its_transfer() {
    // The transfer's mean rate is the harmonic one over addresses: each zone holds and passes in proportion to its rate.
    let transfer_ms = 4096.0 / ((OUTER + INNER) / 2.0) * 1e3;
    let expected_ms = 0.3 + mean_seek_ms() + TURN_MS / 2.0 + transfer_ms;
    let measured = ClosedLoop::reads(1, 200_000).run(&mechanical(plain()), 3);
    let measured_ms = measured.latency_ns_mean / 1e6;
    assert!((measured_ms / expected_ms - 1.0).abs() < 0.01, "{measured_ms} ms, expected {expected_ms} ms");
}

#[test]
fn a_write_to_the_media_takes_its_settle_longer() {
    let read = ClosedLoop::reads(1, 100_000).run(&mechanical(plain()), 3);
    let write = ClosedLoop::writes(1, 100_000).run(&mechanical(plain()), 3);
    let longer_ms = (write.latency_ns_mean - read.latency_ns_mean) / 1e6;
    assert!((longer_ms - 0.5).abs() < 0.03, "{longer_ms} ms");
}

#[test]
fn first_come_first_served_gains_nothing_from_depth() {
    let one = ClosedLoop::reads(1, 100_000).run(&mechanical(plain()), 3);
    let many = ClosedLoop::reads(32, 100_000).run(&mechanical(plain()), 3);
    assert!((many.iops / one.iops - 1.0).abs() < 0.01);
    assert!((many.latency_ns_mean / (32.0 * one.latency_ns_mean) - 1.0).abs() < 0.01, "Little's law");
    assert!((many.busy_ratio - 1.0).abs() < 1e-6);
}

/// What an open run of Poisson arrivals saw.
struct OpenRun {
    rate_per_ns: f64,
    response_ns: f64,
    inside: f64,
    busy_ratio: f64,
}

fn open_run(design: &DriveDesign, mean_gap_ns: f64, requests: u32) -> OpenRun {
    let mut drive = Drive::new(design, 1, 0);
    let mut dice = Dice(7);
    let mut came_at = std::collections::HashMap::new();
    let (mut now, mut next_arrival) = (0.0, 0.0);
    let (mut area, mut response_sum, mut done) = (0.0, 0.0, 0);
    let mut sent = 0;
    while done < requests {
        let event = drive.next_event();
        let arrives = next_arrival <= event.0 as f64;
        let at: f64 = if arrives { next_arrival } else { event.0 as f64 };
        area += came_at.len() as f64 * (at - now);
        now = at;
        if arrives {
            let offset = (dice.unit() * 244_000_000.0) as u64 * 4096;
            came_at.insert(sent, at);
            drive.submit(Nanos(at as u64), DriveOp { tag: sent, direction: Direction::Read, offset, length: 4096 });
            assert_eq!(drive.queue_len() + drive.in_service(), came_at.len());
            sent += 1;
            next_arrival = (at + dice.exponential(mean_gap_ns)).round();
        } else if let Some(tag) = drive.advance(event) {
            response_sum += at - came_at.remove(&tag).expect("each request completes once");
            done += 1;
        }
    }
    OpenRun {
        rate_per_ns: f64::from(done) / now,
        response_ns: response_sum / f64::from(done),
        inside: area / now,
        busy_ratio: drive.busy(Nanos(now as u64)).0 as f64 / now,
    }
}

#[test]
fn poisson_arrivals_wait_as_pollaczek_and_khinchine_say() {
    let design = mechanical(plain());
    let service = ClosedLoop::reads(1, 400_000).run(&design, 5);
    let mean = service.latency_ns_mean;
    let second_moment = mean * mean + service.latency_ns_sd * service.latency_ns_sd;
    let run = open_run(&design, 2.0 * mean, 1_500_000);
    let rate = run.rate_per_ns;
    let expected = mean + rate * second_moment / (2.0 * (1.0 - rate * mean));
    assert!((run.response_ns / expected - 1.0).abs() < 0.01, "{} ns, expected {expected} ns", run.response_ns);
    assert!((run.inside / (rate * run.response_ns) - 1.0).abs() < 1e-3, "Little's law");
    assert!((run.busy_ratio / (rate * mean) - 1.0).abs() < 5e-3, "utilisation law");
}

fn write_cache() -> WriteCacheDesign {
    WriteCacheDesign {
        size: Bytes::from_mib(16),
        extents: 256,
        accept: None,
        window: 16,
        order: WriteBackOrder::Nearest,
        batch: None,
        batch_from: 3,
    }
}

fn buffered() -> MechanicalDesign {
    MechanicalDesign {
        head_switch: Nanos::from_micros(800),
        read_ahead: Some(ReadAheadDesign {
            segments: 16,
            segment: Bytes::from_kib(1024),
            after: ReadOnAfter::AnyRead,
            up_to: ReadOnTo::SegmentEnd,
            lost_on_write: false,
        }),
        write_cache: Some(write_cache()),
        ..plain()
    }
}

#[test]
fn one_stream_runs_at_the_rate_of_the_media() {
    for direction in [Direction::Read, Direction::Write] {
        for (start, rate) in [(0, OUTER), (960_000_000_000, INNER)] {
            let measured = sequential(&mechanical(buffered()), direction, start, 1, 65_536);
            assert!((measured / rate - 1.0).abs() < 0.03, "{direction:?} at {start}: {measured} of {rate}");
        }
    }
}

#[test]
fn one_stream_of_requests_larger_than_a_segment_runs_at_the_rate_of_the_media() {
    for kib in [512, 768, 1024, 2048, 4096] {
        let measured = sequential(&mechanical(buffered()), Direction::Read, 0, 1, kib * 1024);
        assert!((measured / OUTER - 1.0).abs() < 0.03, "{kib} KiB: {measured} of {OUTER}");
    }
}

/// Bytes per second of a reader that takes a pause after each request.
fn paused(pause: Nanos) -> f64 {
    const LENGTH: u32 = 65_536;
    let mut drive = Drive::new(&mechanical(buffered()), 1, 0);
    let (mut now, mut came) = (Nanos::ZERO, Nanos::ZERO);
    for tag in 0..8_000 {
        while drive.next_event() < came {
            let at = drive.next_event();
            assert_eq!(drive.advance(at), None);
        }
        drive.submit(
            came,
            DriveOp { tag, direction: Direction::Read, offset: u64::from(tag) * u64::from(LENGTH), length: LENGTH },
        );
        loop {
            now = drive.next_event();
            if drive.advance(now).is_some() {
                break;
            }
        }
        came = now + pause;
    }
    8_000.0 * f64::from(LENGTH) / now.as_secs_f64()
}

#[test]
fn a_stream_slower_than_the_media_is_read_ahead_of_in_a_ring() {
    // While the arm waits for its sector to come by, a reader that is nearly as fast empties the buffer.
    let hit_s = 65_536.0 / paused(Nanos::from_micros(10_000)) - 10e-3;
    for (pause_us, least) in [(200_u32, 0.85), (500, 0.8), (1_000, 0.9), (3_000, 0.99)] {
        let undisturbed = 65_536.0 / (hit_s + f64::from(pause_us) * 1e-6);
        let measured = paused(Nanos::from_micros(u64::from(pause_us)));
        let share = measured / undisturbed.min(OUTER);
        assert!((least..1.001).contains(&share), "{pause_us} us: {share} of what no wait for the media gives");
    }
}

/// Bytes per second of one sequential stream with `depth` outstanding, and the I/Os per second of one random reader
/// beside it if there is one.
fn stream_and_reader(design: &MechanicalDesign, direction: Direction, depth: u32, reader: bool) -> (f64, f64) {
    let mut drive = Drive::new(&mechanical(design.clone()), 1, 0);
    let (mut end, mut dice) = (0, Dice(1));
    let mut request = |tag: u32| {
        if tag == depth {
            let offset = (dice.unit() * 9e11) as u64 / 4096 * 4096;
            return DriveOp { tag, direction: Direction::Read, offset, length: 4096 };
        }
        end += 65_536;
        DriveOp { tag, direction, offset: end - 65_536, length: 65_536 }
    };
    (0..depth + u32::from(reader)).for_each(|tag| drive.submit(Nanos::ZERO, request(tag)));
    let (mut streamed, mut read, mut now) = (0.0, 0.0, Nanos::ZERO);
    while streamed < 12_000.0 {
        now = drive.next_event();
        if let Some(tag) = drive.advance(now) {
            *if tag == depth { &mut read } else { &mut streamed } += 1.0;
            drive.submit(now, request(tag));
        }
    }
    (streamed * 65_536.0 / now.as_secs_f64(), read / now.as_secs_f64())
}

fn caching(cache: WriteCacheDesign) -> DriveDesign {
    mechanical(MechanicalDesign { write_cache: Some(cache), ..buffered() })
}

#[test]
fn all_that_wait_for_a_batch_wait_as_long_as_it_takes() {
    // Of n writes of a cycle that last T together, one waits for T and the others hardly: mean T / n, mean square T² / n.
    for batch in [1, 4, 40, 160, 240] {
        let design = caching(WriteCacheDesign { batch: Some(batch), batch_from: 1, ..write_cache() });
        let found = ClosedLoop::writes(1, 60_000).run(&design, 1);
        let mean_s = found.latency_ns_mean * 1e-9;
        let square_s2 = mean_s * mean_s + (found.latency_ns_sd * 1e-9).powi(2);
        let held_up = square_s2 / mean_s * found.iops;
        assert!((held_up / f64::from(batch) - 1.0).abs() < 0.15, "{batch}: {held_up}");
    }
}

#[test]
fn batches_wait_for_several_writes_and_move_no_mean() {
    let steady = caching(WriteCacheDesign { batch: Some(1), ..write_cache() });
    let batches = caching(WriteCacheDesign { batch: Some(160), batch_from: 3, ..write_cache() });
    for (qd, are_held_up) in [(1, false), (2, false), (3, true), (32, true)] {
        let [one, many] = [&steady, &batches].map(|design| ClosedLoop::writes(qd, 60_000).run(design, 1));
        assert!((many.iops / one.iops - 1.0).abs() < 0.03, "{qd}: {one:?} {many:?}");
        assert_eq!(many.latency_ns_sd > 5.0 * one.latency_ns_sd, are_held_up, "{qd}: {one:?} {many:?}");
    }
}

/// Random reads and writes come and go; returns when each was done.
fn mixed(design: &DriveDesign) -> Vec<(u32, Nanos)> {
    let mut drive = Drive::new(design, 1, 0);
    let mut dice = Dice(5);
    let mut request = |tag: u32| {
        let direction = if dice.unit() < 0.3 { Direction::Read } else { Direction::Write };
        DriveOp { tag, direction, offset: (dice.unit() * 9e11) as u64 / 4096 * 4096, length: 4096 }
    };
    (0..24).for_each(|tag| drive.submit(Nanos::ZERO, request(tag)));
    let (mut next, mut done) = (24, Vec::new());
    while drive.next_event() != Nanos::NEVER {
        let now = drive.next_event();
        let Some(tag) = drive.advance(now) else { continue };
        done.push((tag, now));
        if next < 6_000 {
            drive.submit(now, request(next));
            next += 1;
        }
    }
    assert_eq!((drive.queue_len(), drive.in_service()), (0, 0));
    done
}

#[test]
fn every_request_beside_batches_is_done_once_and_the_same_each_time() {
    for (order, batch) in
        [(WriteBackOrder::Nearest, 160), (WriteBackOrder::Nearest, 256), (WriteBackOrder::Address, 256)]
    {
        let design = caching(WriteCacheDesign { order, batch: Some(batch), batch_from: 1, ..write_cache() });
        let done = mixed(&design);
        let mut tags: Vec<u32> = done.iter().map(|(tag, _)| *tag).collect();
        tags.sort_unstable();
        assert!(tags.into_iter().eq(0..6_000), "{order:?} {batch}");
        assert!(done.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        assert_eq!(done, mixed(&design));
    }
}

#[test]
fn an_idle_drive_writes_its_cache_back_whatever_the_batch() {
    let design = caching(WriteCacheDesign { batch: Some(256), batch_from: 1, ..write_cache() });
    let mut drive = Drive::new(&design, 1, 0);
    let mut dice = Dice(3);
    let mut now = Nanos::ZERO;
    for round in 0..4 {
        let came = now;
        let offset = |share: f64| (share * 9e11) as u64 / 4096 * 4096;
        let write = |tag, share| DriveOp { tag, direction: Direction::Write, offset: offset(share), length: 4096 };
        (0..250).for_each(|tag| drive.submit(came, write(tag, dice.unit())));
        let mut taken = Nanos::ZERO;
        while drive.next_event() != Nanos::NEVER {
            now = drive.next_event();
            if drive.advance(now).is_some() {
                taken = now.since(came);
            }
        }
        assert!(taken < Nanos::from_millis(100), "all found room in round {round}: {taken:?}");
        assert!(now.since(came) > Nanos::from_millis(1_000), "250 extents went to the media in round {round}");
    }
}

#[test]
fn by_address_saves_seeks_only_and_so_gains_less_within_a_short_stroke() {
    let by = |order| caching(WriteCacheDesign { order, window: 30, extents: 128, batch: Some(1), ..write_cache() });
    let rate = |order, span_ratio| ClosedLoop { span_ratio, ..ClosedLoop::writes(8, 20_000) }.run(&by(order), 1).iops;
    let [near, address] =
        [WriteBackOrder::Nearest, WriteBackOrder::Address].map(|order| rate(order, 0.1) / rate(order, 1.0));
    assert!(near > 1.35 * address, "a tenth over all: {near} and {address}");
    // By address each waits for half a turn on the mean, whatever the seek.
    let rotation = 7_200.0 / 60.0 * 2.0;
    assert!(rate(WriteBackOrder::Address, 0.1) < rotation, "more than half a turn lets through");
}

fn sorted(design: MechanicalDesign, gamma: f64, among: Among) -> MechanicalDesign {
    MechanicalDesign { queueing: Some(QueueingDesign { gamma, least_depth: 2, depth: 32, among }), ..design }
}

/// With so few waiting that the drive looks at the oldest only, nobody is passed over.
#[test]
fn below_its_least_depth_a_drive_serves_in_order() {
    for among in [Among::Any, Among::Oldest] {
        let queueing = Some(QueueingDesign { gamma: 0.7, least_depth: 5, depth: 32, among });
        let mut drive = Drive::new(&mechanical(MechanicalDesign { queueing, ..plain() }), 1, 0);
        let mut dice = Dice(7);
        let mut request = |tag| {
            let offset = (dice.unit() * 9e11) as u64 / 4096 * 4096;
            DriveOp { tag, direction: Direction::Read, offset, length: 4096 }
        };
        (0..4).for_each(|tag| drive.submit(Nanos::ZERO, request(tag)));
        let mut served = Vec::new();
        while served.len() < 400 {
            let now = drive.next_event();
            if let Some(tag) = drive.advance(now) {
                served.push(tag);
                drive.submit(now, request(tag));
            }
        }
        assert!(served.chunks(4).all(|round| round == [0, 1, 2, 3]), "{among:?}: {:?}", &served[..40]);
    }
}

/// All requests lie in one cylinder, so that the arm never moves, but most need another head. Of many the one is chosen whose
/// sector comes by next after that switch; one that comes by during it would cost a turn.
#[test]
fn a_choice_among_the_tracks_of_a_cylinder_knows_of_the_head_switch() {
    const SWITCH_MS: f64 = 1.6;
    let switching = MechanicalDesign { head_switch: Nanos(1_600_000), ..plain() };
    let cylinder_bytes = 4.0 * OUTER * (TURN_MS + SWITCH_MS) / 1e3;
    let within = |qd| ClosedLoop { span_ratio: 0.99 * cylinder_bytes / 1e12, ..ClosedLoop::reads(qd, 20_000) };
    let in_order_ms = 1e3 / within(1).run(&mechanical(switching.clone()), 3).iops;
    let expected_ms = 0.3 + 0.75 * SWITCH_MS + TURN_MS / 2.0;
    assert!((in_order_ms / expected_ms - 1.0).abs() < 0.03, "{in_order_ms} ms, expected {expected_ms} ms");
    let chosen_ms = 1e3 / within(16).run(&mechanical(sorted(switching, 1.0, Among::Any)), 3).iops;
    assert!(chosen_ms < 0.3 + SWITCH_MS + TURN_MS / 8.0, "{chosen_ms} ms");
}

#[test]
fn a_stream_with_requests_waiting_runs_at_the_rate_of_the_media_whatever_is_sorted() {
    let unbuffered = MechanicalDesign { head_switch: Nanos::from_micros(800), ..plain() };
    let reading = MechanicalDesign { write_cache: None, ..buffered() };
    for (gamma, among) in [(0.5, Among::Any), (0.5, Among::Oldest), (1.0, Among::Any)] {
        for depth in [4, 16, 40] {
            for (design, direction) in
                [(&unbuffered, Direction::Read), (&unbuffered, Direction::Write), (&reading, Direction::Read)]
            {
                let design = sorted(design.clone(), gamma, among);
                let (rate, _) = stream_and_reader(&design, direction, depth, false);
                assert!((rate / OUTER - 1.0).abs() < 0.04, "{direction:?} at {depth} with {gamma}: {rate}");
            }
        }
    }
}

/// Requests per second of one sequential stream with `depth` outstanding, from the outer edge on.
fn small_stream(design: &MechanicalDesign, direction: Direction, depth: u32, length: u32) -> f64 {
    let mut drive = Drive::new(&mechanical(design.clone()), 1, 0);
    let (mut end, mut now) = (0, Nanos::ZERO);
    let mut request = |tag: u32| {
        end += u64::from(length);
        DriveOp { tag, direction, offset: end - u64::from(length), length }
    };
    (0..depth).for_each(|tag| drive.submit(now, request(tag)));
    let mut done = 0;
    while done < 8_000 {
        now = drive.next_event();
        if let Some(tag) = drive.advance(now) {
            done += 1;
            drive.submit(now, request(tag));
        }
    }
    f64::from(done) / now.as_secs_f64()
}

/// What is sent when a request is done is not taken up before its sector, right behind that, has passed: it waits for a turn,
/// with all that are sent until then.
#[test]
fn without_buffers_small_requests_in_sequence_make_as_many_a_turn_as_are_outstanding() {
    let turns_per_s = 1e3 / TURN_MS;
    for direction in [Direction::Read, Direction::Write] {
        for depth in [1, 2, 4, 8, 16] {
            let measured = small_stream(&sorted(plain(), 0.5, Among::Any), direction, depth, 512);
            let expected = f64::from(depth) * turns_per_s;
            assert!((measured / expected - 1.0).abs() < 0.02, "{direction:?} at {depth}: {measured}, not {expected}");
        }
    }
}

/// Nor is any other stream from the media faster than that, or than the media.
#[test]
fn a_small_stream_from_the_media_runs_at_the_rate_of_its_commands_at_most() {
    let queueing = Some(QueueingDesign { gamma: 0.5, least_depth: 1, depth: 256, among: Among::Any });
    let design = MechanicalDesign { queueing, ..plain() };
    for direction in [Direction::Read, Direction::Write] {
        for length in [512, 4_096, 16_384, 32_768] {
            let most = (1e9 / (100e3 + f64::from(length) / 0.3)).min(OUTER / f64::from(length));
            for depth in [2, 8, 32, 256] {
                let measured = small_stream(&design, direction, depth, length);
                assert!(measured < 1.01 * most, "{direction:?}, {length} bytes at {depth}: {measured} of {most}");
                assert!(depth < 256 || measured > 0.9 * most, "{direction:?}, {length} bytes: {measured} of {most}");
            }
        }
    }
}

#[test]
fn a_deep_stream_and_a_random_reader_both_go_on() {
    for direction in [Direction::Read, Direction::Write] {
        for among in [Among::Any, Among::Oldest] {
            let design = sorted(MechanicalDesign { write_cache: None, ..buffered() }, 0.5, among);
            let (rate, iops) = stream_and_reader(&design, direction, 16, true);
            assert!(rate > 0.05 * OUTER && rate < 0.9 * OUTER, "{direction:?}, {among:?}: the stream has {rate}");
            assert!(iops > 3.0, "{direction:?}, {among:?}: the reader has {iops}");
        }
    }
}

#[test]
fn a_stream_of_every_second_block_is_read_on_the_way() {
    for queueing in [false, true] {
        let design = MechanicalDesign { write_cache: None, ..buffered() };
        let design = if queueing { sorted(design, 0.5, Among::Any) } else { design };
        let mut drive = Drive::new(&mechanical(design), 1, 0);
        let request = |tag: u32, index: u64| {
            let (direction, offset, length) = (Direction::Read, index * 16_384, 8192);
            DriveOp { tag, direction, offset, length }
        };
        (0..2).for_each(|tag| drive.submit(Nanos::ZERO, request(tag, u64::from(tag))));
        let (mut next, mut now) = (2, Nanos::ZERO);
        while next < 8_000 {
            now = drive.next_event();
            if let Some(tag) = drive.advance(now) {
                drive.submit(now, request(tag, next));
                next += 1;
            }
        }
        let rate = next as f64 * 8192.0 / now.as_secs_f64();
        assert!((rate / (OUTER / 2.0) - 1.0).abs() < 0.05, "with queueing {queueing}: {rate}");
    }
}

#[test]
fn two_streams_pay_a_seek_for_each_request() {
    let alone = sequential(&mechanical(buffered()), Direction::Read, 0, 1, 65_536);
    let together = sequential(&mechanical(buffered()), Direction::Read, 0, 2, 65_536);
    assert!(together < 0.15 * alone, "{together} of {alone}");
}

#[test]
fn without_buffers_a_sequential_reader_loses_a_turn_each_time() {
    let measured = sequential(&mechanical(plain()), Direction::Read, 0, 1, 65_536);
    let lost = 65_536.0 / (TURN_MS / 1e3);
    assert!((measured / lost - 1.0).abs() < 0.1, "{measured}, expected about {lost}");
}

#[test]
fn writing_back_what_was_just_read_takes_a_turn() {
    let mut drive = Drive::new(&mechanical(plain()), 1, 0);
    let mut now = Nanos::ZERO;
    let mut took_ms = Vec::new();
    for step in 0..200_u64 {
        for direction in [Direction::Read, Direction::Write] {
            let began = now;
            drive.submit(now, DriveOp { tag: 0, direction, offset: step * 4_999_999_488 / 5, length: 4096 });
            now = drive.next_event();
            assert_eq!(drive.advance(now), Some(0));
            took_ms.push(now.since(began).0 as f64 / 1e6);
        }
    }
    let writes: Vec<f64> = took_ms.iter().skip(1).step_by(2).copied().collect();
    assert!(writes.iter().all(|ms| (ms - TURN_MS).abs() < 0.01), "{writes:?}");
}

#[test]
fn the_order_of_cached_writes_does_not_depend_on_depth() {
    let one = ClosedLoop::writes(1, 40_000).run(&mechanical(buffered()), 1);
    let many = ClosedLoop::writes(32, 40_000).run(&mechanical(buffered()), 1);
    let uncached = ClosedLoop::writes(1, 40_000).run(&mechanical(plain()), 1);
    assert!((many.iops / one.iops - 1.0).abs() < 0.02, "{} and {}", one.iops, many.iops);
    assert!(one.iops > 1.4 * uncached.iops, "{} and {}", one.iops, uncached.iops);
}

#[test]
fn the_same_seed_gives_the_same_instants_and_another_does_not() {
    for design in [mechanical(buffered()), curve(&[(1, 100.0), (8, 300.0)], 1.0)] {
        assert_told_apart_by_seed(&design);
    }
}
