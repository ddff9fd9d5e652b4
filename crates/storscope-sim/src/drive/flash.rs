//! A drive of flash memory: a controller, a link, channels and dies that work in parallel.
//!
//! A command passes the controller, then the dies of its pages, then (a read) their channels and the link. Each of them
//! serves in the order of arrival, so when a request will be done is known when it comes. Pages that follow each other lie
//! on dies of different channels (Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX 2008, on ganging and
//! striping), so that a large request is read by many dies at once and runs at the rate of channels and link. A page that a
//! die's register still holds is not read again.
//!
//! Writes are done when they are in the buffer, where they fill pages; pages are programmed on one die after another. In
//! the steady state each page written at random makes others move (write amplification), and dies do that in bursts: this
//! is what reads and full buffers then wait for. A sequential stream leaves whole blocks without valid pages behind, so
//! that nothing has to move for it (Hu et al., "Write Amplification Analysis in Flash-Based Solid State Drives", SYSTOR
//! 2009).
//!
//! Where a drive suspends, reads go first: a program, a move or an erase under way stops for them within a given time and
//! goes on afterwards (Wu and He, "Reducing SSD Read Latency via NAND Flash Program and Erase Suspension", FAST 2012).
//!
//! A flush is done at once where a loss of power takes nothing, else when all pages in the buffer are programmed, the one
//! that is being filled included: what is not written of it is lost for other data.
//!
//! When a page will be programmed is told when it is full and does not move for reads that come later, so that writes of
//! full buffers end a little early beside many reads.
//!
//! What is not there: the translation layer, reading on, caches of single-level cells, trim, wear, heat, the two
//! directions of a link apart, the channels' time of what dies move.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::drive::FlashDesign;

use super::DriveOp;
use super::variate::{LogNormal, Random};
use super::write_streams::WriteStreams;

/// See [`FlashDesign`].
#[derive(Debug)]
pub struct Flash {
    page_bytes: u64,
    unit_bytes: u64,
    overhead_ns: u64,
    read_ns: f64,
    program_ns: f64,
    accept_ns: u64,
    command_ns: u64,
    link_ns_per_byte: f64,
    channel_ns_per_byte: f64,
    suspend: Option<Nanos>,
    latency: LogNormal,
    buffer_pages: usize,
    is_volatile: bool,
    cleaning: Cleaning,

    random: Random,
    dies: Vec<Die>,
    next_die: usize,
    controller: Server,
    link: Server,
    channels: Vec<Server>,
    /// When what was last read for the present request is through each channel.
    brought: Vec<Nanos>,
    alone: Alone,
    streams: WriteStreams,
    /// Bytes in the page that is being filled, from when on the buffer has room for it, and whether a stream fills it.
    open_bytes: u64,
    open_from: Nanos,
    open_sequential: bool,
    /// When all pages that were full so far will be programmed.
    all_programmed: Nanos,
    /// When each page in the buffer will be programmed, in the order they came.
    buffer: VecDeque<Nanos>,
    /// When each operation will be done, its number, its tag, and how long it would have taken alone.
    done: BinaryHeap<Reverse<(Nanos, u64, u32, Nanos)>>,
    taken: u64,
    /// The last of the four of what was done last.
    served: Nanos,
    read_waits: ReadWaits,
    /// The longest that a page of the present read waits for what its die does for writes.
    behind_writes: Nanos,
    /// When the request came that is being planned.
    now: Nanos,
    busy: Nanos,
    busy_since: Nanos,
}

/// What does one thing after the other, and for how long it has.
#[derive(Debug, Clone, Default)]
struct Server {
    /// Earlier stretches of work that may not be over: beginning and end.
    earlier: VecDeque<(Nanos, Nanos)>,
    free_at: Nanos,
    /// From when on it has work without a break.
    since: Nanos,
    /// All that it was given.
    given: Nanos,
}

#[derive(Debug, Clone, Default)]
struct Die {
    work: Server,
    /// When its last read is done.
    read_until: Nanos,
    /// When the last that it does for writes is done: programs, moves and erases; not kept where these are suspended.
    write_until: Nanos,
    /// The page that its register holds.
    page: Option<u64>,
    /// Pages that garbage collection still has to move, and pages programmed since the last erase.
    owed_pages: f64,
    programmed: f64,
}

/// For how long reads have waited in a drive: all that they took longer than alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadWaits {
    /// In all.
    pub all: Nanos,
    /// Of that, until their dies have done the last that they had to do for writes before: programs, moves and erases. What
    /// few reads go before that are in it, those that wait behind it are not.
    pub for_writes: Nanos,
}

/// The read that is being planned, if nothing else went on: when its last page is ready on each die, when each channel has
/// brought its last page, and when the link has brought all, from the instant at which the dies begin.
#[derive(Debug)]
struct Alone {
    dies: Vec<Nanos>,
    channels: Vec<Nanos>,
    done: Nanos,
}

/// What a page written costs later.
#[derive(Debug, Clone, Copy)]
struct Cleaning {
    moves_per_page: f64,
    burst_pages: f64,
    move_ns: f64,
    erase_ns: f64,
    pages_per_block: f64,
}

impl Flash {
    pub fn new(design: &FlashDesign, seed: u64, index: u32) -> Self {
        let mut random = Random::new(seed, index);
        let cleaning = Cleaning::new(design);
        let channels = design.channels.map_or(1, |channels| channels.count as usize);
        Self {
            page_bytes: design.page.0,
            unit_bytes: design.map_unit.unwrap_or(design.page).0,
            overhead_ns: design.overhead.0,
            read_ns: design.read.0 as f64,
            program_ns: design.program.0 as f64,
            accept_ns: design.write_accept.0,
            command_ns: design.commands_per_s.map_or(0, |rate| (1e9 / rate) as u64),
            link_ns_per_byte: 1e9 / design.interface_rate_bytes_per_s,
            channel_ns_per_byte: design.channels.map_or(0.0, |channels| 1e9 / channels.rate_bytes_per_s),
            suspend: design.suspend,
            latency: LogNormal::new(design.latency_cv),
            buffer_pages: design.buffer_pages as usize,
            is_volatile: !design.power_loss_protection && design.buffer_pages > 0,
            dies: (0..design.dies).map(|_| cleaning.worn_die(&mut random)).collect(),
            cleaning,
            random,
            next_die: 0,
            controller: Server::default(),
            link: Server::default(),
            channels: vec![Server::default(); channels],
            brought: vec![Nanos::ZERO; channels],
            alone: Alone::new(design.dies as usize, channels),
            streams: WriteStreams::new(design.page.0 * u64::from(design.pages_per_block)),
            open_bytes: 0,
            open_from: Nanos::ZERO,
            open_sequential: false,
            all_programmed: Nanos::ZERO,
            buffer: VecDeque::with_capacity(design.buffer_pages as usize + 1),
            done: BinaryHeap::with_capacity(1024),
            taken: 0,
            served: Nanos::ZERO,
            read_waits: ReadWaits::default(),
            behind_writes: Nanos::ZERO,
            now: Nanos::ZERO,
            busy: Nanos::ZERO,
            busy_since: Nanos::NEVER,
        }
    }

    pub fn submit(&mut self, now: Nanos, op: DriveOp) {
        self.now = now;
        let passed = self.controller.give(now, now, Nanos(self.command_ns));
        let (at, alone) = match op.direction {
            Direction::Read => {
                let (at, alone) = self.read(passed + Nanos(self.overhead_ns), &op);
                self.read_waits.add(now, at, alone + Nanos(self.command_ns), self.behind_writes);
                (at, alone)
            }
            Direction::Write => self.write(passed, &op),
        };
        self.will_be_done(op.tag, at, alone);
    }

    /// Whether written data may be in a buffer that a loss of power empties.
    pub fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    /// Takes a flush: its tag comes back when all that was written is programmed.
    pub fn flush(&mut self, now: Nanos, tag: u32) {
        self.now = now;
        let passed = self.controller.give(now, now, Nanos(self.command_ns));
        if self.is_volatile && self.open_bytes > 0 {
            self.close_page(passed, passed.max(self.open_from), self.open_sequential);
        }
        let at = if self.is_volatile { passed.max(self.all_programmed) } else { passed };
        self.will_be_done(tag, at + Nanos(self.accept_ns), at - passed + Nanos(self.accept_ns));
    }

    fn will_be_done(&mut self, tag: u32, at: Nanos, alone: Nanos) {
        self.done.push(Reverse((at, self.taken, tag, alone + Nanos(self.command_ns))));
        self.taken += 1;
        if self.busy_since == Nanos::NEVER {
            self.busy_since = self.now;
        }
    }

    #[inline]
    pub fn next_event(&self) -> Nanos {
        self.done.peek().map_or(Nanos::NEVER, |Reverse(first)| first.0)
    }

    pub fn advance(&mut self, now: Nanos) -> Option<u32> {
        let Reverse((_, _, tag, alone)) = self.done.pop()?;
        self.served = alone;
        if self.done.is_empty() {
            self.busy += now.since(self.busy_since);
            self.busy_since = Nanos::NEVER;
        }
        Some(tag)
    }

    pub fn queue_len(&self) -> usize {
        self.done.len().saturating_sub(self.dies.len())
    }

    pub fn in_service(&self) -> usize {
        self.done.len().min(self.dies.len())
    }

    pub fn busy(&self, now: Nanos) -> Nanos {
        self.busy + now.since(self.busy_since)
    }

    /// How long the operation that was done last would have taken alone: what is more it waited.
    pub fn served(&self) -> Nanos {
        self.served
    }

    /// For how long the reads that came have to wait in all.
    pub fn read_waits(&self) -> ReadWaits {
        self.read_waits
    }

    /// For how long it has worked in all until `now`, as far as a drive can be used: of its controller, its link, the mean
    /// of its channels and that of its dies, what has worked longest.
    pub fn used(&self, now: Nanos) -> Nanos {
        let mean = |servers: &mut dyn Iterator<Item = &Server>, count: usize| {
            Nanos(servers.map(|server| server.worked(now).0).sum::<u64>() / count as u64)
        };
        let dies = mean(&mut self.dies.iter().map(|die| &die.work), self.dies.len());
        let channels = mean(&mut self.channels.iter(), self.channels.len());
        dies.max(channels).max(self.link.worked(now)).max(self.controller.worked(now))
    }

    /// When a read that reaches the dies at `at` is done, and how long it would have taken alone.
    fn read(&mut self, at: Nanos, op: &DriveOp) -> (Nanos, Nanos) {
        let (mut from, end) = (op.offset, op.offset + u64::from(op.length));
        let mut done = at;
        self.brought.fill(at);
        self.alone.begin();
        self.behind_writes = Nanos::ZERO;
        while from < end {
            let page = from / self.page_bytes;
            let to = end.min((page + 1) * self.page_bytes);
            let time = Nanos((self.read_ns * self.latency.draw(&mut self.random)) as u64);
            let index = self.die_of(page);
            let alone_time = if self.dies[index].page == Some(page) { Nanos::ZERO } else { time };
            let (read, behind_writes) = self.dies[index].read(self.now, page, at, time, self.suspend);
            self.behind_writes = self.behind_writes.max(behind_writes);
            // Of one request a bus takes one page after the other.
            let channel = index % self.brought.len();
            let ready = read.max(at).max(self.brought[channel]);
            self.brought[channel] = self.over_channel(index, at, ready, to - from);
            done = self.over_link(at, self.brought[channel].max(done), to - from);
            let over = |ns_per_byte: f64| Nanos(((to - from) as f64 * ns_per_byte) as u64);
            let buses = [over(self.channel_ns_per_byte), over(self.link_ns_per_byte)];
            self.alone.page(index, channel, alone_time, buses);
            from = to;
        }
        (done, self.alone.done + Nanos(self.overhead_ns))
    }

    /// Neighbouring pages lie on one die after the other; each round of all dies begins somewhere else, so that no stride
    /// of requests meets the same die for ever.
    fn die_of(&self, page: u64) -> usize {
        let dies = self.dies.len() as u64;
        let turn = (page / dies).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        ((page + turn) % dies) as usize
    }

    /// When a write that comes at `at` is in the buffer, or without one on the dies, and how long that would have taken alone.
    fn write(&mut self, at: Nanos, op: &DriveOp) -> (Nanos, Nanos) {
        let mut alone_ns = f64::from(op.length) * self.link_ns_per_byte + self.accept_ns as f64;
        if self.buffer_pages == 0 {
            alone_ns += self.page_bytes as f64 * self.channel_ns_per_byte + self.program_ns;
        }
        let mut taken = self.over_link(at, at, u64::from(op.length));
        let streamed = self.streams.streamed_bytes(op.offset, u64::from(op.length));
        let mut left = if streamed == u64::from(op.length) { streamed } else { self.in_units(op) };
        while left > 0 {
            let sequential = left <= streamed;
            if self.open_bytes == 0 {
                self.open_from = self.room();
            }
            taken = taken.max(self.open_from);
            let part = left.min(self.page_bytes - self.open_bytes);
            (self.open_bytes, left) = (self.open_bytes + part, left - part);
            let is_last_unbuffered = self.buffer_pages == 0 && left == 0;
            if self.open_bytes == self.page_bytes || is_last_unbuffered {
                let programmed = self.close_page(at, taken, sequential);
                if self.buffer_pages == 0 {
                    taken = taken.max(programmed);
                }
            }
        }
        self.open_sequential = streamed > 0;
        (taken + Nanos(self.accept_ns), Nanos(alone_ns as u64))
    }

    /// The page that was being filled goes to a die. Returns when it will be programmed.
    fn close_page(&mut self, came: Nanos, at: Nanos, sequential: bool) -> Nanos {
        self.open_bytes = 0;
        let programmed = self.program(came, at, sequential);
        if self.buffer_pages > 0 {
            self.buffer.push_back(programmed);
        }
        self.all_programmed = self.all_programmed.max(programmed);
        programmed
    }

    /// Bytes of the units that a write touches.
    fn in_units(&self, op: &DriveOp) -> u64 {
        let (first, end) = (op.offset / self.unit_bytes, op.offset + u64::from(op.length));
        (end.div_ceil(self.unit_bytes) - first) * self.unit_bytes
    }

    /// From when on the buffer has room for another page.
    fn room(&mut self) -> Nanos {
        if self.buffer.len() < self.buffer_pages {
            return Nanos::ZERO;
        }
        self.buffer.pop_front().unwrap_or_default()
    }

    /// When a page is programmed whose write came at `came`, and which is full and has room at `at`.
    fn program(&mut self, came: Nanos, at: Nanos, sequential: bool) -> Nanos {
        let time_ns = self.program_ns * self.latency.draw(&mut self.random);
        let index = self.die_to_write();
        let brought = self.over_channel(index, came, at, self.page_bytes);
        let die = &mut self.dies[index];
        die.page = None;
        let programmed = die.work.give(self.now, brought, Nanos(time_ns as u64));
        let due = Nanos(self.cleaning.due_ns(die, sequential) as u64);
        die.write_until = die.work.give(self.now, programmed, due);
        programmed
    }

    /// The die that is free first, of those alike the next in turn (dynamic allocation: Tavakkol et al., "Performance
    /// Evaluation of Dynamic Page Allocation Strategies in SSDs", 2016).
    fn die_to_write(&mut self) -> usize {
        let turn = (self.next_die..self.dies.len()).chain(0..self.next_die);
        let index = turn.min_by_key(|&index| self.dies[index].work.free_at).unwrap_or(0);
        self.next_die = (index + 1) % self.dies.len();
        index
    }

    /// When bytes of a die that are ready at `ready` have crossed its channel.
    fn over_channel(&mut self, die: usize, came: Nanos, ready: Nanos, bytes: u64) -> Nanos {
        let channel = die % self.channels.len();
        let time = Nanos((bytes as f64 * self.channel_ns_per_byte) as u64);
        self.channels[channel].pass(self.now, came, ready, time)
    }

    /// When bytes that are ready at `ready` are through the link.
    fn over_link(&mut self, came: Nanos, ready: Nanos, bytes: u64) -> Nanos {
        let time = Nanos((bytes as f64 * self.link_ns_per_byte) as u64);
        self.link.pass(self.now, came, ready, time)
    }
}

impl ReadWaits {
    /// One that comes at `now` and is done at `at`, and takes `alone` by itself.
    #[inline]
    fn add(&mut self, now: Nanos, at: Nanos, alone: Nanos, behind_writes: Nanos) {
        let waited = (at - now).0.saturating_sub(alone.0);
        self.all += Nanos(waited);
        self.for_writes += Nanos(waited.min(behind_writes.0));
    }
}

impl Alone {
    fn new(dies: usize, channels: usize) -> Self {
        Self { dies: vec![Nanos::ZERO; dies], channels: vec![Nanos::ZERO; channels], done: Nanos::ZERO }
    }

    /// Another read begins.
    fn begin(&mut self) {
        self.dies.fill(Nanos::ZERO);
        self.channels.fill(Nanos::ZERO);
        self.done = Nanos::ZERO;
    }

    /// Its next page takes so long on its die, and so long over its channel and the link.
    fn page(&mut self, die: usize, channel: usize, time: Nanos, [over_channel, over_link]: [Nanos; 2]) {
        self.dies[die] += time;
        self.channels[channel] = self.channels[channel].max(self.dies[die]) + over_channel;
        self.done = self.done.max(self.channels[channel]) + over_link;
    }
}

impl Server {
    /// Gives it, at the instant `now`, work that can begin at `at`. Returns when that is done.
    fn give(&mut self, now: Nanos, at: Nanos, time: Nanos) -> Nanos {
        if at > self.free_at {
            if self.free_at > now {
                self.earlier.push_back((self.since, self.free_at));
            }
            while self.earlier.front().is_some_and(|&(_, end)| end <= now) {
                self.earlier.pop_front();
            }
            (self.free_at, self.since) = (at, at);
        }
        self.free_at += time;
        self.given += time;
        self.free_at
    }

    /// When what comes at `came` and is ready at `ready` has passed a bus. The time of a bus is given out in the order of
    /// arrival, so that slow pages of one request do not hold up another's.
    fn pass(&mut self, now: Nanos, came: Nanos, ready: Nanos, time: Nanos) -> Nanos {
        let done = self.give(now, came, time);
        done.max(ready + time)
    }

    /// For how long it has worked until `now`: all that it was given, less what lies ahead.
    fn worked(&self, now: Nanos) -> Nanos {
        let ahead = |begin: Nanos, end: Nanos| end.since(begin.max(now));
        let earlier = self.earlier.iter().map(|&(begin, end)| ahead(begin, end).0).sum();
        self.given - ahead(self.since, self.free_at) - Nanos(earlier)
    }
}

impl Die {
    /// Reads a page into its register, unless that holds it. Returns when it is there, and for how long it waits for
    /// what the die does for writes.
    fn read(&mut self, now: Nanos, page: u64, at: Nanos, time: Nanos, suspend: Option<Nanos>) -> (Nanos, Nanos) {
        let is_held = self.page.replace(page) == Some(page);
        let Some(suspend) = suspend else {
            let read = if is_held { self.work.free_at } else { self.work.give(now, at, time) };
            return (read, self.write_until.since(at));
        };
        if is_held {
            return (self.read_until, Nanos::ZERO);
        }
        // Of reads that follow each other only the first finds something under way.
        let stops =
            if at > self.read_until && self.work.since <= at && self.work.free_at > at { suspend } else { Nanos::ZERO };
        let begin = at.max(self.read_until);
        self.work.give(now, begin, stops + time);
        self.read_until = begin + stops + time;
        (self.read_until, stops)
    }
}

impl Cleaning {
    fn new(design: &FlashDesign) -> Self {
        Self {
            moves_per_page: design.write_amplification - 1.0,
            burst_pages: f64::from(design.cleaning_burst_pages),
            move_ns: (design.read.0 + design.program.0) as f64 + over_channels_ns(design),
            erase_ns: design.erase.0 as f64,
            pages_per_block: f64::from(design.pages_per_block),
        }
    }

    /// A die somewhere in its cycle, so that the dies do not clean at the same time.
    fn worn_die(&self, random: &mut Random) -> Die {
        let owed_pages = self.burst_pages * random.unit();
        Die { owed_pages, programmed: self.pages_per_block * random.unit(), ..Die::default() }
    }

    /// What a die does after it has programmed one more page.
    fn due_ns(&self, die: &mut Die, sequential: bool) -> f64 {
        let moves = if sequential { 0.0 } else { self.moves_per_page };
        let mut time_ns = 0.0;
        die.owed_pages += moves;
        if die.owed_pages >= self.burst_pages && self.moves_per_page > 0.0 {
            time_ns += die.owed_pages * self.move_ns;
            die.owed_pages = 0.0;
        }
        die.programmed += 1.0 + moves;
        if die.programmed >= self.pages_per_block {
            time_ns += self.erase_ns;
            die.programmed -= self.pages_per_block;
        }
        time_ns
    }
}

/// A page that is moved crosses its channel twice: what is read is checked for errors by the controller.
fn over_channels_ns(design: &FlashDesign) -> f64 {
    design.channels.map_or(0.0, |channels| 2e9 * design.page.0 as f64 / channels.rate_bytes_per_s)
}
