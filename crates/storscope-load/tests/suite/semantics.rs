//! Mixes, places and follow-ups have the meaning Iometer gives them.

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::{GIB, Outcome, Spy, closed, ios, mix, open, reads_4k, run, task};
use proptest::prelude::*;
use storscope_device::{Direction, QueueingDevice, Request, VirtualClock};
use storscope_load::{FollowUp, Limit, Random, RandomPlace, Span, Transfer, Transfers, Zipf};
use storscope_types::{Access, AccessSpec, Bytes, Copy, Nanos, Offsets, Process, Starts, Stream, Workload};

/// What a device with four servers of 1 ms was asked, and when.
fn requests(workload: &Workload, spans: &[Span], limit: Limit) -> (Vec<(Nanos, Request)>, Outcome) {
    let clock = VirtualClock::default();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let device = QueueingDevice::new(clock.clone(), 4, Nanos(1_000_000), 1024, 1);
    let spy = Spy { device, seen: Rc::clone(&seen), flushes: Rc::default(), clock: clock.clone() };
    let outcome = run(spy, clock, &task(workload, spans, limit));
    (seen.take(), outcome)
}

fn share(requests: &[(Nanos, Request)], of: impl Fn(&Request) -> bool) -> f64 {
    requests.iter().filter(|(_, request)| of(request)).count() as f64 / requests.len() as f64
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

#[test]
fn a_share_is_one_of_bursts_so_long_bursts_weigh_more() {
    let short = AccessSpec { share: 50.0, burst: 1, size: Bytes(4096), ..reads_4k() };
    let long = AccessSpec { share: 50.0, burst: 3, size: Bytes(8192), ..reads_4k() };
    let (requests, _) = requests(&mix(vec![short, long], closed(4)), &[GIB], ios(40_000));
    close(share(&requests, |request| request.length == 8192), 0.75, 0.01);
}

#[test]
fn a_burst_is_sent_without_a_transfer_of_another_line_between() {
    let line = |size, burst| AccessSpec { burst, size: Bytes(size), ..reads_4k() };
    let (requests, _) = requests(&mix(vec![line(4096, 5), line(8192, 7)], closed(3)), &[GIB], ios(12_000));
    let lengths: Vec<u32> = requests.iter().map(|(_, request)| request.length).collect();
    let runs = lengths[..11_900].chunk_by(|a, b| a == b);
    for run in runs.take(100) {
        let burst = if run[0] == 4096 { 5 } else { 7 };
        assert_eq!(run.len() % burst, 0, "{} of {} bytes", run.len(), run[0]);
    }
}

#[test]
fn each_line_has_its_own_read_and_random_share() {
    let first = AccessSpec { size: Bytes(4096), read_share: 0.67, random_share: 1.0, ..reads_4k() };
    let second = AccessSpec { size: Bytes(65_536), read_share: 0.1, random_share: 0.0, ..reads_4k() };
    let (requests, _) = requests(&mix(vec![first, second], closed(8)), &[GIB], ios(40_000));
    let of_size = |size| requests.iter().copied().filter(|(_, request)| request.length == size).collect::<Vec<_>>();
    close(share(&of_size(4096), |request| request.direction == Direction::Read), 0.67, 0.015);
    close(share(&of_size(65_536), |request| request.direction == Direction::Read), 0.1, 0.01);
    let pairs = requests.windows(2).filter(|pair| pair[1].1.length == 65_536);
    let (mut followed, mut count) = (0, 0);
    for pair in pairs {
        count += 1;
        let end = pair[0].1.offset + u64::from(pair[0].1.length);
        followed += u32::from(pair[1].1.offset == end.next_multiple_of(65_536) % GIB.length);
    }
    assert_eq!(followed, count, "a sequential transfer follows the previous one, whatever that was");
}

#[test]
fn sequential_transfers_are_shared_by_all_slots_and_wrap() {
    let span = Span { start: 8192, length: 10 * 4096 + 100 };
    let line = AccessSpec { random_share: 0.0, ..reads_4k() };
    let (requests, _) = requests(&mix(vec![line], closed(4)), &[span], ios(25));
    let offsets: Vec<u64> = requests.iter().map(|(_, request)| (request.offset - 8192) / 4096).collect();
    let expected: Vec<u64> = (0..25).map(|index| index % 10).collect();
    assert_eq!(offsets, expected);
}

#[test]
fn targets_have_tracks_of_their_own_and_their_own_slots() {
    let line = AccessSpec { random_share: 0.0, ..reads_4k() };
    let (requests, outcome) = requests(&mix(vec![line], closed(2)), &[GIB, GIB, GIB], ios(300));
    for target in 0..3 {
        let of_target = requests.iter().filter(|(_, request)| request.target == target);
        assert!(of_target.enumerate().all(|(index, (_, request))| request.offset == index as u64 * 4096));
    }
    assert_eq!(outcome.total.cells.len(), 3);
    assert!(outcome.total.cells.iter().all(|cell| cell.reads.ios > 50));
    assert!(outcome.total.outstanding_mean > 5.8, "2 on each of 3 targets, not {}", outcome.total.outstanding_mean);
}

#[test]
fn alignment_holds_also_where_it_is_no_power_of_two() {
    let line = AccessSpec { align: Bytes(3_000), size: Bytes(1_024), random_share: 0.5, ..reads_4k() };
    let span = Span { start: 512, length: 1_000_000 };
    let (requests, _) = requests(&mix(vec![line], closed(4)), &[span], ios(5_000));
    assert!(requests.iter().all(|(_, request)| (request.offset - 512) % 3_000 == 0));
    assert!(requests.iter().all(|(_, request)| request.offset - 512 + 1_024 <= 1_000_000));
}

#[test]
fn a_delay_separates_bursts_and_counts_in_no_latency() {
    let line = AccessSpec { delay: Nanos(50_000_000), burst: 4, ..reads_4k() };
    let (requests, outcome) = requests(&mix(vec![line], closed(4)), &[GIB], ios(40));
    for (index, (at, _)) in requests.iter().enumerate() {
        assert_eq!(at.0, (index as u64 / 4 + 1) * 50_000_000, "transfer {index}");
    }
    assert!(outcome.total.all().response.max().unwrap() < 50_000_000);
    assert_eq!(outcome.total.all().lateness.max(), Some(0));
}

#[test]
fn a_reply_goes_the_other_way_and_keeps_the_place() {
    let line = AccessSpec { reply: Bytes(512), align: Bytes(512), ..reads_4k() };
    let (requests, outcome) = requests(&mix(vec![line], closed(2)), &[GIB], ios(1_000));
    let (reads, writes): (Vec<_>, Vec<_>) =
        requests.iter().partition(|(_, request)| request.direction == Direction::Read);
    assert!(reads.iter().all(|(_, request)| request.length == 4096));
    assert!(writes.iter().all(|(_, request)| request.length == 512));
    assert_eq!((reads.len(), writes.len()), (1_000, 1_000));
    assert!(outcome.total.outstanding_mean <= 2.0);
}

#[test]
fn a_copy_writes_each_block_it_read_to_its_place() {
    let copy = Copy { size: Bytes(65_536), destination: 1, destination_start: Bytes(1 << 20), random_share: 0.0 };
    let mut stream = Stream::new(Access::Copy(copy), closed(4));
    stream.targets = vec![0];
    stream.region.start = Bytes(4096);
    let workload = Workload::of("copy", stream);
    let spans = [Span { start: 4096, length: 100 * 65_536 }, Span { start: 0, length: 1 << 30 }];
    let (requests, outcome) = requests(&workload, &spans, ios(100));
    let mut read_at = std::collections::HashMap::new();
    for (_, request) in &requests {
        match request.direction {
            Direction::Read => {
                assert_eq!(request.target, 0);
                read_at.insert(request.token, (request.offset, request.buffer));
            }
            Direction::Write => {
                let (offset, buffer) = read_at.remove(&request.token).expect("a read comes first");
                assert_eq!((request.target, request.buffer), (1, buffer));
                assert_eq!(request.offset, offset - 4096 + (1 << 20));
            }
        }
    }
    assert!(read_at.is_empty(), "every read is followed by its write");
    let written: u64 = outcome.total.cells.iter().filter(|cell| cell.target == 1).map(|cell| cell.writes.ios).sum();
    assert_eq!(written, 100);
}

#[test]
fn open_arrivals_spread_over_targets() {
    let spans = [GIB, GIB, GIB, GIB];
    for process in [Process::Fixed, Process::Poisson] {
        let (requests, _) = requests(&mix(vec![reads_4k()], open(1_000.0, process, 64)), &spans, ios(20_000));
        for target in 0..4 {
            close(share(&requests, |request| request.target == target), 0.25, 0.015);
        }
    }
}

fn drawn(offsets: Offsets, positions: u64, draws: usize) -> Vec<u64> {
    let place = RandomPlace::new(&offsets, positions * 4096, 4096);
    let mut random = Random::of_worker(5, 0);
    let mut counts = vec![0; positions as usize];
    (0..draws).for_each(|_| counts[(place.draw(&mut random) / 4096) as usize] += 1);
    counts
}

#[test]
fn uniform_offsets_pass_a_chi_square_test() {
    let counts = drawn(Offsets::Uniform, 100, 1_000_000);
    let chi_square: f64 = counts.iter().map(|&count| (count as f64 - 1e4).powi(2) / 1e4).sum();
    // 99 degrees of freedom: 99.9 % lie below 148.2.
    assert!(chi_square < 148.2, "{chi_square}");
}

#[test]
fn zipf_ranks_have_zipfs_probabilities() {
    for exponent in [0.5, 0.99, 1.0, 1.2, 2.0] {
        let zipf = Zipf::new(1_000, exponent);
        let mut random = Random::of_worker(6, 0);
        let mut counts = vec![0_u32; 1_001];
        (0..1_000_000).for_each(|_| counts[zipf.draw(&mut random) as usize] += 1);
        let total: f64 = (1..=1_000).map(|rank| f64::from(rank).powf(-exponent)).sum();
        for rank in [1, 2, 3, 10, 100] {
            let expected = 1e6 * f64::from(rank).powf(-exponent) / total;
            close(f64::from(counts[rank as usize]), expected, 5.0 * expected.sqrt());
        }
    }
}

#[test]
fn zipf_positions_are_scattered_over_the_region_one_for_each_rank() {
    let counts = drawn(Offsets::Zipf { exponent: 1.0 }, 64, 1_000_000);
    assert!(counts.iter().all(|&count| count > 0), "every position is reached");
    let mut order: Vec<usize> = (0..64).collect();
    order.sort_by_key(|&position| std::cmp::Reverse(counts[position]));
    assert!(order[..4].windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 8), "the hottest are {:?}", &order[..4]);
}

#[test]
fn a_hot_spot_gets_its_share_where_it_is() {
    let offsets = Offsets::HotSpot { access_share: 0.8, space_share: 0.2, start_share: 0.5 };
    let counts = drawn(offsets, 1_000, 1_000_000);
    let hot: u64 = counts[500..700].iter().sum();
    close(hot as f64 / 1e6, 0.8, 0.002);
    let before: u64 = counts[..500].iter().sum();
    close(before as f64 / 2e5, 5.0 / 8.0, 0.01);
}

/// The offsets of the first transfers of each worker of a sequential stream.
fn firsts(starts: Starts, workers: u32, size: Bytes, span: Span, count: usize) -> Vec<Vec<u64>> {
    let line = AccessSpec { random_share: 0.0, size, ..reads_4k() };
    let stream = Stream { workers, starts, ..Stream::new(Access::Mix { lines: vec![line] }, closed(1)) };
    let of_worker = |worker| {
        let mut transfers = Transfers::new(&stream, worker, &[(0, span)], Random::of_worker(1, worker));
        let mut next = || {
            transfers.begin_burst();
            transfers.next(0).offset
        };
        (0..count).map(|_| next()).collect()
    };
    (0..workers).map(of_worker).collect()
}

#[test]
fn workers_begin_together_or_evenly_spread_over_the_region() {
    let (size, span) = (Bytes(4096), Span { start: 8192, length: 40 * 4096 });
    for worker in firsts(Starts::Together, 4, size, span, 3) {
        assert_eq!(worker, [8192, 8192 + 4096, 8192 + 2 * 4096]);
    }
    for (index, worker) in firsts(Starts::Apart, 4, size, span, 12).iter().enumerate() {
        let first = 10 * index as u64;
        let expected: Vec<u64> = (first..first + 12).map(|place| 8192 + place % 40 * 4096).collect();
        assert_eq!(*worker, expected, "the last goes on at the start of the region");
    }
}

#[test]
fn workers_that_begin_apart_keep_to_the_alignment_and_the_region() {
    let (size, span) = (Bytes(16_384), Span { start: 4096, length: 100_000 });
    for worker in firsts(Starts::Apart, 7, size, span, 20) {
        for offset in worker {
            assert_eq!((offset - span.start) % size.0, 0);
            assert!(offset + size.0 <= span.start + span.length);
        }
    }
}

/// The first transfers of a mix, some of them looked at before they are drawn, as `looks` says. None looks at any.
fn drawn_after_looks(lines: &[AccessSpec], targets: usize, looks: Option<&[bool]>) -> Vec<Transfer> {
    let stream = Stream::new(Access::Mix { lines: lines.to_vec() }, closed(1));
    let targets: Vec<(u32, Span)> = (0..targets as u32).map(|index| (index, GIB)).collect();
    let mut transfers = Transfers::new(&stream, 0, &targets, Random::of_worker(7, 0));
    let draw = |step: usize| {
        transfers.begin_burst();
        let transfer = transfers.next(step % targets.len());
        let reply = match transfer.then {
            FollowUp::Reply(length) => Some(transfers.reply(step % targets.len(), transfer.direction, length)),
            _ => None,
        };
        let foreseen = looks.is_some_and(|looks| looks[step]).then(|| transfers.foresee()).flatten();
        (transfer, reply, foreseen)
    };
    let drawn: Vec<_> = (0..looks.map_or(200, <[bool]>::len)).map(draw).collect();
    for pair in drawn.windows(2) {
        let next = &pair[1].0;
        assert!(pair[0].2.is_none_or(|foreseen| foreseen == (next.target, next.offset)), "another came: {next:?}");
    }
    drawn.into_iter().flat_map(|(transfer, reply, _)| std::iter::once(transfer).chain(reply)).collect()
}

proptest! {
    #[test]
    fn what_is_foreseen_comes_and_looking_changes_nothing(
        lines in prop::collection::vec((1_u32..4, 0.0_f64..1.0, 0.0_f64..1.0, prop::bool::weighted(0.2)), 1..4),
        targets in 1_usize..3,
        looks in prop::collection::vec(any::<bool>(), 200),
    ) {
        let line = |&(burst, read_share, random_share, replies): &(u32, f64, f64, bool)| {
            let reply = Bytes(if replies { 512 } else { 0 });
            AccessSpec { share: 1.0, burst, read_share, random_share, reply, ..reads_4k() }
        };
        let lines: Vec<AccessSpec> = lines.iter().map(line).collect();
        prop_assert_eq!(drawn_after_looks(&lines, targets, Some(&looks)), drawn_after_looks(&lines, targets, None));
    }
}

#[test]
fn the_next_transfer_to_the_only_target_is_foreseen() {
    let stream = Stream::new(Access::Mix { lines: vec![reads_4k()] }, closed(1));
    let mut transfers = Transfers::new(&stream, 0, &[(3, GIB)], Random::of_worker(7, 0));
    let foreseen = transfers.foresee();
    transfers.begin_burst();
    let next = transfers.next(0);
    assert_eq!(foreseen, Some((3, next.offset)));
}
