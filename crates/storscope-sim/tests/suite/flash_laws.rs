//! Flash drives against closed forms: what is known exactly must come out.

use crate::drives::{Dice, assert_told_apart_by_seed, sequential};
use storscope_device::Direction;
use storscope_sim::drive::fit::closed_loop::ClosedLoop;
use storscope_sim::drive::{Drive, DriveOp};
use storscope_types::design::drive::{ChannelsDesign, DriveDesign, FlashDesign};
use storscope_types::{Bytes, Nanos};

fn flash() -> FlashDesign {
    FlashDesign {
        size: Bytes(250_000_000_000),
        dies: 8,
        page: Bytes(4096),
        map_unit: None,
        channels: None,
        overhead: Nanos::from_micros(10),
        read: Nanos::from_micros(100),
        program: Nanos::from_micros(500),
        latency_cv: 0.3,
        suspend: None,
        commands_per_s: None,
        interface_rate_bytes_per_s: 500e6,
        write_accept: Nanos::from_micros(20),
        buffer_pages: 64,
        power_loss_protection: true,
        write_amplification: 1.0,
        cleaning_burst_pages: 4,
        erase: Nanos::ZERO,
        pages_per_block: 256,
    }
}

#[test]
fn a_flash_read_takes_overhead_page_and_link() {
    let measured = ClosedLoop::reads(1, 50_000).run(&DriveDesign::Flash(flash()), 1);
    let expected_ns = 10_000.0 + 100_000.0 + 4096.0 / 0.5;
    assert!((measured.latency_ns_mean / expected_ns - 1.0).abs() < 0.01, "{}", measured.latency_ns_mean);
}

#[test]
fn flash_writes_settle_at_what_the_dies_can_program_and_move() {
    for (amplification, erase_us) in [(1.0, 0), (2.0, 0), (3.0, 2_000)] {
        let erase = Nanos::from_micros(erase_us);
        let design = FlashDesign { write_amplification: amplification, erase, ..flash() };
        let per_page_s =
            500e-6 * amplification + 100e-6 * (amplification - 1.0) + erase.as_secs_f64() * amplification / 256.0;
        let expected = 8.0 / per_page_s;
        let measured = ClosedLoop::writes(16, 100_000).run(&DriveDesign::Flash(design), 1).iops;
        assert!((measured / expected - 1.0).abs() < 0.01, "{amplification}: {measured}, expected {expected}");
    }
}

/// With pages of 16 KiB that are filled by units of 4 KiB, behind four channels.
fn flash_of_channels() -> FlashDesign {
    let channels = ChannelsDesign { count: 4, rate_bytes_per_s: 200e6 };
    FlashDesign {
        page: Bytes::from_kib(16),
        map_unit: Some(Bytes::from_kib(4)),
        channels: Some(channels),
        latency_cv: 0.0,
        ..flash()
    }
}

#[test]
fn a_large_flash_read_is_read_by_many_dies_at_once() {
    let one = ClosedLoop { block: 65_536, ..ClosedLoop::reads(1, 20_000) };
    let measured = one.run(&DriveDesign::Flash(flash_of_channels()), 1).latency_ns_mean;
    // Four pages on four dies, each over a channel of its own; the link takes them one by one.
    let expected_ns = 10_000.0 + 100_000.0 + 16_384.0 / 0.2 + 65_536.0 / 0.5;
    assert!((measured / expected_ns - 1.0).abs() < 0.01, "{measured}, expected {expected_ns}");
    let less = ClosedLoop::reads(1, 20_000).run(&DriveDesign::Flash(flash_of_channels()), 1).latency_ns_mean;
    let expected_ns = 10_000.0 + 100_000.0 + 4_096.0 / 0.2 + 4_096.0 / 0.5;
    assert!((less / expected_ns - 1.0).abs() < 0.01, "{less}, expected {expected_ns}");
}

#[test]
fn deep_large_flash_reads_run_at_the_rate_of_what_is_slowest() {
    let drive = |dies, channel, link| FlashDesign {
        dies,
        channels: Some(ChannelsDesign { count: 4, rate_bytes_per_s: channel }),
        interface_rate_bytes_per_s: link,
        ..flash_of_channels()
    };
    for (what, design, expected) in [
        ("link", drive(8, 400e6, 500e6), 500e6),
        ("channels", drive(8, 100e6, 3e9), 400e6),
        ("dies", drive(2, 400e6, 3e9), 2.0 * 16_384.0 / 100e-6),
    ] {
        let measured = sequential(&DriveDesign::Flash(design), Direction::Read, 0, 32, 131_072);
        assert!((measured / expected - 1.0).abs() < 0.05, "{what}: {measured}, expected {expected}");
    }
}

#[test]
fn small_random_flash_writes_fill_pages_together_and_pay_for_what_moves() {
    for amplification in [1.0, 3.0] {
        let design = FlashDesign { write_amplification: amplification, ..flash_of_channels() };
        let move_s = 600e-6 + 2.0 * 16_384.0 / 200e6;
        let expected = 4.0 * 8.0 / (500e-6 + (amplification - 1.0) * move_s);
        let measured = ClosedLoop::writes(16, 200_000).run(&DriveDesign::Flash(design), 1).iops;
        assert!((measured / expected - 1.0).abs() < 0.02, "{amplification}: {measured}, expected {expected}");
    }
}

/// Response times of one reader beside one writer that thinks between its writes, and the share of the drive used.
fn reads_beside_writes(design: FlashDesign, reads: usize) -> (Vec<u64>, f64) {
    let mut drive = Drive::new(&DriveDesign::Flash(design), 1, 0);
    let mut dice = Dice(3);
    let mut request = |tag: u32| {
        let (direction, length) = if tag == 0 { (Direction::Read, 4096) } else { (Direction::Write, 4096) };
        DriveOp { tag, direction, offset: (dice.unit() * 2e11) as u64 / 4096 * 4096, length }
    };
    let (mut took, mut now, mut began, mut next_write) = (Vec::new(), Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
    drive.submit(now, request(0));
    while took.len() < reads {
        now = drive.next_event().min(next_write);
        if now == next_write {
            drive.submit(now, request(1));
            next_write = now + Nanos::from_micros(331);
        } else if drive.advance(now) == Some(0) {
            took.push((now - began).0);
            began = now;
            drive.submit(now, request(0));
        }
    }
    (took, drive.used(now).expect("flash knows").0 as f64 / now.0 as f64)
}

#[test]
fn a_read_waits_for_what_is_under_way_unless_that_is_suspended() {
    let in_order = FlashDesign { latency_cv: 0.0, write_amplification: 3.0, ..flash() };
    // Overhead, page, its way over the link, and that of a write before it.
    let alone_ns = 10_000 + 100_000 + 8_192;
    let suspend = Some(Nanos::from_micros(30));
    let (took, _) = reads_beside_writes(FlashDesign { suspend, ..in_order.clone() }, 20_000);
    let most = took.iter().max().expect("reads");
    assert!((alone_ns + 30_000..=alone_ns + 30_000 + 8_192).contains(most), "{most} ns");
    let stopped = took.iter().filter(|&&took| took >= alone_ns + 30_000).count();
    let (took, _) = reads_beside_writes(in_order, 20_000);
    let waited = took.iter().filter(|&&took| took > alone_ns + 30_000).count();
    assert!(waited > 1_000 && took.iter().any(|&took| took > alone_ns + 2_000_000), "{waited}");
    assert!(stopped > 1_000, "{stopped}");
}

/// Writes wait for room in the buffer, and take no time of a bus before they have it.
#[test]
fn a_read_does_not_wait_for_writes_that_have_not_begun() {
    let channels = Some(ChannelsDesign { count: 4, rate_bytes_per_s: 400e6 });
    let suspend = Some(Nanos::from_micros(30));
    let design = FlashDesign { latency_cv: 0.0, channels, suspend, interface_rate_bytes_per_s: 3e9, ..flash() };
    let mut drive = Drive::new(&DriveDesign::Flash(design), 1, 0);
    let mut dice = Dice(9);
    let mut request = |tag: u32| {
        let direction = if tag == 0 { Direction::Read } else { Direction::Write };
        let offset = (dice.unit() * 2e11) as u64 / 4096 * 4096;
        DriveOp { tag, direction, offset, length: 4096 }
    };
    (0..65).for_each(|tag| drive.submit(Nanos::ZERO, request(tag)));
    let (mut took, mut began) = (Vec::new(), Nanos::ZERO);
    while took.len() < 5_000 {
        let now = drive.next_event();
        let Some(tag) = drive.advance(now) else { continue };
        if tag == 0 {
            took.push((now - began).0);
            began = now;
        }
        drive.submit(now, request(tag));
        assert!(drive.used(now).expect("flash knows") <= now);
    }
    took.sort_unstable();
    // Overhead, a stop, the page and its way; and few pages of others on the channel.
    let most = took[took.len() * 99 / 100];
    assert!((110_000..=10_000 + 30_000 + 100_000 + 6 * 10_240).contains(&most), "{most} ns");
}

/// What is used is never more than the time, also when much is planned ahead with breaks before it.
#[test]
fn flash_is_never_used_for_longer_than_it_is_there() {
    for buffer_pages in [0, 1, 64] {
        let design = FlashDesign { buffer_pages, commands_per_s: Some(100_000.0), ..flash_of_channels() };
        let mut drive = Drive::new(&DriveDesign::Flash(design), 1, 0);
        let mut dice = Dice(11);
        for tag in 0..512 {
            let direction = if tag % 3 == 0 { Direction::Read } else { Direction::Write };
            let offset = (dice.unit() * 2e11) as u64 / 4096 * 4096;
            drive.submit(Nanos::ZERO, DriveOp { tag, direction, offset, length: 65_536 });
        }
        let mut before = Nanos::ZERO;
        while drive.next_event() != Nanos::NEVER {
            let now = drive.next_event();
            let used = drive.used(now).expect("flash knows");
            assert!(used >= before && used <= now, "{used:?} after {before:?} at {now:?}, {buffer_pages} pages");
            before = used;
            drive.advance(now);
        }
    }
}

/// The utilisation law: what the dies do for each operation, times operations per second, over the dies.
#[test]
fn flash_is_used_as_much_as_its_dies_work() {
    for suspend in [None, Some(Nanos::ZERO)] {
        let design = FlashDesign { latency_cv: 0.0, write_amplification: 3.0, suspend, ..flash() };
        let (took, used) = reads_beside_writes(design, 50_000);
        let seconds = took.iter().sum::<u64>() as f64 / 1e9;
        let per_write_s = 500e-6 + 2.0 * 600e-6;
        let expected = (took.len() as f64 * 100e-6 / seconds + per_write_s / 331e-6) / 8.0;
        assert!((used / expected - 1.0).abs() < 0.01, "{used}, expected {expected}");
    }
    // Full, but not more than that.
    let mut drive = Drive::new(&DriveDesign::Flash(flash()), 1, 0);
    let mut dice = Dice(5);
    let mut request = |tag: u32| {
        let offset = (dice.unit() * 2e11) as u64 / 4096 * 4096;
        DriveOp { tag, direction: Direction::Read, offset, length: 4096 }
    };
    (0..512).for_each(|tag| drive.submit(Nanos::ZERO, request(tag)));
    let (mut now, mut before) = (Nanos::ZERO, Nanos::ZERO);
    for _ in 0..100_000 {
        now = drive.next_event();
        if let Some(tag) = drive.advance(now) {
            let used = drive.used(now).expect("flash knows");
            assert!(used >= before && used <= now, "{used:?} after {before:?} at {now:?}");
            before = used;
            drive.submit(now, request(tag));
        }
    }
    assert!(before.0 as f64 / now.0 as f64 > 0.99);
}

#[test]
fn a_sequential_stream_of_flash_writes_moves_nothing() {
    let design = FlashDesign { write_amplification: 5.0, ..flash_of_channels() };
    let measured = sequential(&DriveDesign::Flash(design), Direction::Write, 0, 1, 131_072);
    let expected = 8.0 * 16_384.0 / 500e-6;
    assert!((measured / expected - 1.0).abs() < 0.03, "{measured}, expected {expected}");
}

#[test]
fn the_same_seed_gives_the_same_instants_and_another_does_not() {
    assert_told_apart_by_seed(&DriveDesign::Flash(flash()));
}

/// The mean response of operations one at a time, far apart, and how long the drive says that they would take alone.
fn one_at_a_time(design: &FlashDesign, direction: Direction, length: u32) -> (f64, f64) {
    let mut drive = Drive::new(&DriveDesign::Flash(design.clone()), 1, 0);
    let (mut now, mut response, mut alone) = (Nanos::ZERO, 0, 0);
    for index in 0..500 {
        now += Nanos::from_millis(200);
        drive.submit(now, DriveOp { tag: 0, direction, offset: index * (8 << 20), length });
        let done = drive.next_event();
        drive.advance(done);
        response += (done - now).0;
        alone += drive.served().expect("flash knows").0;
    }
    (response as f64 / 500.0, alone as f64 / 500.0)
}

#[test]
fn what_is_alone_does_not_wait() {
    let unbuffered = FlashDesign { buffer_pages: 0, ..flash_of_channels() };
    let mut cases = vec![(unbuffered, Direction::Write, 4_096_u32)];
    for length in [512, 4_096, 65_536, 1 << 20] {
        cases.extend([flash(), flash_of_channels()].map(|design| (design, Direction::Read, length)));
        cases.push((flash(), Direction::Write, length.min(65_536)));
    }
    for (design, direction, length) in cases {
        let (response, alone) = one_at_a_time(&design, direction, length);
        assert!((alone / response - 1.0).abs() < 0.001, "{direction:?} {length}: {alone} of {response}");
    }
}

#[test]
fn reads_that_go_first_do_not_count_the_wait_of_the_writes_beside_them() {
    let suspending = FlashDesign { suspend: Some(Nanos::from_micros(5)), latency_cv: 0.0, ..flash() };
    let mut drive = Drive::new(&DriveDesign::Flash(suspending), 1, 0);
    let mut dice = Dice(7);
    let mut submit = |drive: &mut Drive, now, direction, tag| {
        let offset = (dice.unit() * 2e11) as u64 / 4_096 * 4_096;
        drive.submit(now, DriveOp { tag, direction, offset, length: 4_096 });
    };
    (0..200).for_each(|tag| submit(&mut drive, Nanos::ZERO, Direction::Write, tag));
    submit(&mut drive, Nanos::ZERO, Direction::Read, 200);
    let mut submitted = vec![Nanos::ZERO; 201];
    let (mut reads, mut writes) = ([0_u64; 2], [0_u64; 2]);
    for _ in 0..50_000 {
        let now = drive.next_event();
        let Some(tag) = drive.advance(now) else { continue };
        let is_read = tag == 200;
        let sums = if is_read { &mut reads } else { &mut writes };
        sums[0] += (now - submitted[tag as usize]).0;
        sums[1] += drive.served().expect("flash knows").0;
        submitted[tag as usize] = now;
        submit(&mut drive, now, if is_read { Direction::Read } else { Direction::Write }, tag);
    }
    let share = |[response, alone]: [u64; 2]| alone as f64 / response as f64;
    assert!(share(reads) > 0.85, "{}", share(reads));
    assert!(share(writes) < 0.05, "{}", share(writes));
}

/// What reads wait for writes that came before them is told apart from what they wait for each other.
#[test]
fn reads_that_wait_for_what_a_die_does_for_writes_are_told_from_those_that_wait_for_reads() {
    let one_die =
        FlashDesign { dies: 1, latency_cv: 0.0, write_amplification: 3.0, cleaning_burst_pages: 1, ..flash() };
    let op = |tag, direction| DriveOp { tag, direction, offset: u64::from(tag) << 20, length: 4096 };
    let waits = |suspend, reads| {
        let mut drive = Drive::new(&DriveDesign::Flash(FlashDesign { suspend, ..one_die.clone() }), 1, 0);
        // Through the link after 8.192 us, programmed after 500 us; two pages are moved then, in 600 us each, and one more
        // at most that was due before.
        drive.submit(Nanos::ZERO, op(1, Direction::Write));
        (0..reads).for_each(|read| drive.submit(Nanos::from_micros(100), op(2 + read, Direction::Read)));
        drive.read_waits().expect("flash knows")
    };
    let (none, one, two) = (waits(None, 0), waits(None, 1), waits(None, 2));
    assert_eq!((none.all, none.for_writes), (Nanos::ZERO, Nanos::ZERO));
    // It comes to the die 10 us after it was sent.
    assert_eq!(one.all, one.for_writes);
    let until = one.for_writes.0 + 110_000 - 508_192;
    assert!((1_200_000..=1_800_000).contains(&until), "{until} ns");
    // The second one waits for the first one's page, too.
    assert_eq!(two.for_writes.0, 2 * one.for_writes.0);
    assert_eq!(two.all.0, 2 * one.all.0 + 100_000);
    let suspended = waits(Some(Nanos::from_micros(30)), 2);
    assert_eq!((suspended.for_writes.0, suspended.all.0), (30_000, 30_000 + 130_000));
}
