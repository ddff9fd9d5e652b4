//! Which buffer an I/O uses: reads have their own, writes take turns in the pool.

use std::collections::VecDeque;

use storscope_types::{Access, Stream, Verification, Workload};

/// Reads that nobody looks at share this much memory at most.
const SHARED_READ_BYTES: u64 = 64 << 20;

/// How a device's memory is divided: `reads` buffers, then `writes` of the pool, each of `size` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferPlan {
    /// Bytes of a buffer: the largest transfer, in whole pages.
    pub size: usize,
    /// Buffers for reads, at least one.
    pub reads: usize,
    /// Buffers of the pool.
    pub writes: usize,
}

impl BufferPlan {
    /// What a worker of `stream` with `slots` places in its queue needs.
    #[must_use]
    pub fn new(workload: &Workload, stream: &Stream, slots: usize) -> Self {
        let size = stream.access.largest().0.next_multiple_of(4096);
        let kept = workload.verification != Verification::None || matches!(stream.access, Access::Copy(_));
        let shared = (SHARED_READ_BYTES / size).max(1) as usize;
        let reads = match (stream.access.reads(), kept) {
            (false, _) => 1,
            (true, true) => slots,
            (true, false) => slots.min(shared),
        };
        let pool = workload.data.size.0.div_ceil(size) as usize;
        let needs_pool = stream.access.writes() && !matches!(stream.access, Access::Copy(_));
        Self { size: size as usize, reads, writes: if needs_pool { pool.max(slots) } else { 0 } }
    }

    /// Bytes of all buffers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.size * (self.reads + self.writes)
    }
}

/// Hands out buffers.
#[derive(Debug)]
pub struct Buffers {
    reads: u32,
    pool: VecDeque<u32>,
}

impl Buffers {
    /// All of the plan, free.
    #[must_use]
    pub fn new(plan: &BufferPlan) -> Self {
        let pool = (plan.reads..plan.reads + plan.writes).map(|buffer| buffer as u32);
        Self { reads: plan.reads as u32, pool: pool.collect() }
    }

    /// The buffer that the reads of a slot use.
    #[inline]
    #[must_use]
    pub fn of_read(&self, slot: u32) -> u32 {
        // Most slots have a buffer of their own; a division is slower than the question.
        if slot < self.reads { slot } else { slot % self.reads }
    }

    /// The buffer of the pool that was not used for longest. There are as many as slots, so one is free.
    ///
    /// # Panics
    /// When none is: another's would be read while it is written.
    #[inline]
    pub fn take(&mut self) -> u32 {
        self.pool.pop_front().expect("a buffer for each slot")
    }

    /// The write is done.
    #[inline]
    pub fn give_back(&mut self, buffer: u32) {
        self.pool.push_back(buffer);
    }

    /// Whether a buffer is one of the pool.
    #[inline]
    #[must_use]
    pub fn is_of_pool(&self, buffer: u32) -> bool {
        buffer >= self.reads
    }

    /// The pool's buffers, to fill them.
    pub fn pool(&self) -> impl Iterator<Item = u32> {
        self.pool.iter().copied()
    }
}
