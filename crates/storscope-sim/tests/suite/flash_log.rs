//! Sequential and large writes to flash against a log of another kind: pages mapped one by one, written one after the other,
//! and blocks cleaned that hold least (Desnoyers, "Analytic Modeling of SSD Write Performance", SYSTOR 2012). The simulated
//! drive is told how much it moves for random pages; what it moves for streams has to come out as in the log.

use crate::drives::Dice;
use storscope_device::Direction;
use storscope_sim::drive::{Drive, DriveOp};
use storscope_types::design::drive::{ChannelsDesign, DriveDesign, FlashDesign};
use storscope_types::{Bytes, Nanos};

const BLOCKS: usize = 512;
const PAGES: usize = 64;
/// 13 % are spare.
const LOGICAL: usize = BLOCKS * PAGES * 87 / 100;

/// Where pages are, and what each block holds.
struct Log {
    place_of: Vec<usize>,
    holds: Vec<usize>,
    valid: Vec<usize>,
    free: Vec<usize>,
    /// The blocks that are being filled, by what is written and by what is moved, and how far.
    open: [(usize, usize); 2],
    programmed: usize,
}

impl Log {
    fn new() -> Self {
        let mut free: Vec<usize> = (0..BLOCKS).collect();
        let mut open = || (free.pop().expect("free"), 0);
        let open = [open(), open()];
        let holds = vec![usize::MAX; BLOCKS * PAGES];
        Self { place_of: vec![usize::MAX; LOGICAL], holds, valid: vec![0; BLOCKS], free, open, programmed: 0 }
    }

    fn put(&mut self, page: usize, moved: bool) {
        let open = &mut self.open[usize::from(moved)];
        if open.1 == PAGES {
            *open = (self.free.pop().expect("cleaned in time"), 0);
        }
        let place = open.0 * PAGES + open.1;
        open.1 += 1;
        let before = std::mem::replace(&mut self.place_of[page], place);
        if before != usize::MAX {
            self.valid[before / PAGES] -= 1;
        }
        self.holds[place] = page;
        self.valid[place / PAGES] += 1;
        self.programmed += 1;
    }

    fn write(&mut self, page: usize) {
        self.put(page, false);
        while self.free.len() < 4 {
            let in_use = |block: &usize| !self.free.contains(block) && self.open.iter().all(|open| open.0 != *block);
            let block = (0..BLOCKS).filter(in_use).min_by_key(|&block| self.valid[block]).expect("some are full");
            for place in block * PAGES..(block + 1) * PAGES {
                let page = self.holds[place];
                if page != usize::MAX && self.place_of[page] == place {
                    self.put(page, true);
                }
            }
            self.free.push(block);
        }
    }
}

/// Pages programmed for each page written, once all has been written several times.
fn amplification(mut next: impl FnMut() -> usize) -> f64 {
    let mut log = Log::new();
    (0..4 * LOGICAL).for_each(|_| log.write(next()));
    let before = log.programmed;
    (0..2 * LOGICAL).for_each(|_| log.write(next()));
    (log.programmed - before) as f64 / (2 * LOGICAL) as f64
}

fn amplification_of_streams(streams: usize) -> f64 {
    let mut turn = 0;
    amplification(|| {
        let (stream, page) = (turn % streams, turn / streams % (LOGICAL / streams));
        turn += 1;
        stream * (LOGICAL / streams) + page
    })
}

/// Of random writes of so many pages, which begin at multiples of `align`.
fn amplification_of_random(pages: usize, align: usize) -> f64 {
    let (mut dice, mut at, mut end) = (Dice(1), 0, 0);
    amplification(|| {
        if at == end {
            at = (dice.unit() * ((LOGICAL - pages) / align + 1) as f64) as usize * align;
            end = at + pages;
        }
        at += 1;
        at - 1
    })
}

const PAGE_BYTES: u64 = 16 << 10;
const BLOCK_BYTES: u64 = 256 * PAGE_BYTES;
const DIES: u64 = 8;

fn design(write_amplification: f64) -> FlashDesign {
    FlashDesign {
        size: Bytes(250_000_000_000),
        dies: DIES as u32,
        page: Bytes(PAGE_BYTES),
        map_unit: Some(Bytes::from_kib(4)),
        channels: Some(ChannelsDesign { count: 4, rate_bytes_per_s: 400e6 }),
        overhead: Nanos::from_micros(10),
        read: Nanos::from_micros(100),
        program: Nanos::from_micros(500),
        latency_cv: 0.0,
        suspend: None,
        commands_per_s: None,
        interface_rate_bytes_per_s: 3e9,
        write_accept: Nanos::from_micros(20),
        buffer_pages: 64,
        power_loss_protection: true,
        write_amplification,
        cleaning_burst_pages: 4,
        erase: Nanos::ZERO,
        pages_per_block: 256,
    }
}

/// Bytes per second that the dies can take when they program so many pages for each (docs/drives.md).
fn rate(amplification: f64) -> f64 {
    let move_s = 100e-6 + 2.0 * PAGE_BYTES as f64 / 400e6;
    (DIES * PAGE_BYTES) as f64 / (500e-6 * amplification + move_s * (amplification - 1.0))
}

/// Bytes per second of writes of a length with four in flight, after as much again.
fn written(amplification: f64, length: u64, bytes: u64, mut next: impl FnMut() -> u64) -> f64 {
    let mut drive = Drive::new(&DriveDesign::Flash(design(amplification)), 1, 0);
    let mut op = |tag| DriveOp { tag, direction: Direction::Write, offset: next(), length: length as u32 };
    (0..4).for_each(|tag| drive.submit(Nanos::ZERO, op(tag)));
    let (mut now, mut since) = (Nanos::ZERO, Nanos::ZERO);
    for done in 0..2 * bytes / length {
        if done == bytes / length {
            since = now;
        }
        now = drive.next_event();
        let tag = drive.advance(now).expect("flash has no events of its own");
        drive.submit(now, op(tag));
    }
    (bytes / length * length) as f64 / (now - since).as_secs_f64()
}

/// Of streams that are written in turn, 64 KiB each time.
fn written_by_streams(streams: u64) -> f64 {
    let (mut turn, mut dice) = (0, Dice(3));
    let begin: Vec<u64> = (0..streams).map(|_| (dice.unit() * 2e11) as u64 / 4096 * 4096).collect();
    // Of each more than four blocks, so that the first, in which it is none yet, is passed.
    written(4.0, 65_536, streams.max(16) * 5 * BLOCK_BYTES, || {
        let (stream, step) = (turn % streams, turn / streams);
        turn += 1;
        begin[stream as usize] + step * 65_536
    })
}

#[test]
fn streams_in_turn_move_nothing_however_many() {
    for streams in [1, 8, 9, 64] {
        let log = amplification_of_streams(streams);
        let simulated = written_by_streams(streams as u64);
        assert!((simulated / rate(log) - 1.0).abs() < 0.02, "{streams}: {simulated}, in the log {log}");
    }
}

/// The ninth as little as the thousandth: what finds no room among those that are known displaces nobody else for long.
#[test]
fn another_stream_costs_little_at_any_number() {
    let mut before = rate(1.0);
    for streams in [8_u64, 9, 16, 64, 128, 256, 330, 420, 520, 640, 800, 1_024, 1_400, 2_048] {
        let simulated = written_by_streams(streams);
        assert!(streams > 128 || simulated > 0.98 * rate(1.0), "{streams}: {simulated}");
        assert!(simulated > 0.7 * before, "{streams}: {simulated} after {before}");
        before = simulated;
    }
}

/// What dies of 4 MiB blocks fill side by side are groups of 32 MiB. A write as long as one leaves others' blocks in part,
/// unless it begins where one of them did: the log says between which rates it has to lie. (Min et al., "SFS: Random Write
/// Considered Harmful in Solid State Drives", FAST 2012: such writes reach the sequential rate.)
#[test]
fn random_writes_as_long_as_a_group_of_blocks_are_nearly_sequential() {
    let small = amplification_of_random(1, 1);
    let group = DIES * BLOCK_BYTES;
    let mut before = 0.0;
    for (part, pages) in [(8, PAGES / 8), (4, PAGES / 4), (2, PAGES / 2), (1, PAGES)] {
        let length = group / part;
        let mut dice = Dice(2);
        let simulated = written(small, length, 200 * group, || (dice.unit() * 2e11) as u64 / 4096 * 4096);
        let blocks = (length / BLOCK_BYTES) as f64;
        let expected = rate(1.0 + (small - 1.0) / blocks);
        assert!((simulated / expected - 1.0).abs() < 0.02, "{length}: {simulated}, expected {expected}");
        assert!(simulated > before, "{length}: {simulated} after {before}");
        before = simulated;
        let [at_random, aligned] = [1, pages].map(|align| amplification_of_random(pages, align));
        // A part of a group is in fewer blocks of the drive than of the log.
        assert!(part == 8 || simulated > rate(at_random), "{length}: {simulated}, in the log {at_random}");
        if part == 1 {
            assert!(simulated < rate(aligned), "{simulated}, in the log {aligned}");
        }
    }
}

#[test]
fn small_random_writes_pay_as_the_log_does() {
    let small = amplification_of_random(1, 1);
    for length in [4_096, 65_536, BLOCK_BYTES] {
        let mut dice = Dice(2);
        let simulated = written(small, length, 4 << 30, || (dice.unit() * 2e11) as u64 / 4096 * 4096);
        assert!((simulated / rate(small) - 1.0).abs() < 0.02, "{length}: {simulated}, {}", rate(small));
    }
}
