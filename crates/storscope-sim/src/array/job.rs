//! What is under way in the array: host I/Os, parts of them, and what the array does by itself.

use storscope_types::Nanos;

use super::account::Asked;
use crate::kernel::NONE;

/// What a job is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An I/O of a host.
    Host,
    /// The write of one stripe, for the job named as its parent.
    Stripe,
    /// Dirty data on its way to the drives.
    Destage,
    /// Data read ahead of a stream.
    Prefetch,
    /// A step of background work.
    Background,
}

/// What happens to a job when it leaves the station, or the drives, where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A host's flash has found it.
    FlashRead,
    /// A host's flash has answered.
    FlashHit,
    /// A limit of rates lets it pass.
    Allowed,
    /// It has crossed the front-end link towards the array.
    Arrived,
    /// The controller it was sent to has handed it on.
    Proxied,
    /// It has crossed the mirror link to the owner.
    AtOwner,
    /// The owner has worked on it.
    Decoded,
    /// It waits for room in the write cache.
    WaitsForRoom,
    /// Its data has been mirrored.
    Mirrored,
    /// It waits for what is being read ahead.
    WaitsForPage,
    /// The drives read for it.
    Reading,
    /// What was read has crossed the back-end link.
    ReadBack,
    /// What was lost has been computed from what was read.
    Recovered,
    /// The drives read what its parity is computed from.
    ReadingOld,
    /// The parity has been computed.
    ParityReady,
    /// Its journal entry is being written.
    Journalling,
    /// What it writes has crossed the back-end link.
    WriteSent,
    /// The drives write it.
    Writing,
    /// Its stripes are being written.
    WaitsForStripes,
    /// The drives empty their caches for it.
    Flushing,
    /// Its data has crossed the mirror link back from the owner.
    BackFromOwner,
    /// It has crossed the front-end link towards the host.
    Answered,
}

/// A job.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// What it is for.
    pub kind: Kind,
    /// What comes next.
    pub stage: Stage,
    /// What its host asked for, or what it does for the array.
    pub asked: Asked,
    /// Whether it writes. A flush does, nothing.
    pub write: bool,
    /// Whether it cannot be done: too many drives have failed.
    pub lost: bool,
    /// Whether it came through another controller than the owner.
    pub proxied: bool,
    /// Whether some of its data has to be computed from other drives.
    pub degraded: bool,
    /// Whether the host's flash answered it.
    pub from_flash: bool,
    /// Queue limits: the gate it waits at; all of them once it is admitted, 0 without limits.
    pub gate: u8,
    /// Limits of rates that it has met.
    pub rates_met: u8,
    /// The limit of the ports it was sent to.
    pub port: u16,
    /// The limit of rates that it met last.
    pub rate: u16,
    /// Index of the account its time goes to.
    pub account: u16,
    /// Index of the group.
    pub group: u16,
    /// The controller it was sent to, and the owner when it arrived. Of a rebuild, the failed drive by its place in the list.
    pub via: u16,
    /// See `via`.
    pub owner: u16,
    /// The request's token of a host I/O; the parent's place of others.
    pub token: u32,
    /// Bytes.
    pub length: u32,
    /// Byte offset in the group's space; of background work, the step.
    pub offset: u64,
    /// Operations or parts that are not done.
    pub pending: u32,
    /// Operations or parts of the present phase.
    pub ops: u32,
    /// Jobs of the same parent, itself included.
    pub siblings: u32,
    /// The next job of the list it waits in.
    pub next: u32,
    /// When it came.
    pub submitted: Nanos,
    /// When the present phase began.
    pub mark: Nanos,
    /// Sum of the times of the phase's operations, waiting included.
    pub response: Nanos,
    /// Sum of the times they were served.
    pub service: Nanos,
    /// Bytes of the phase's operations.
    pub moved: u64,
    /// What belongs to the kind: bytes of parity work, a task, a page.
    pub extra: u64,
}

impl Job {
    /// A job that begins now.
    #[inline(always)]
    #[must_use]
    pub fn new(kind: Kind, write: bool, account: u16, group: u16, offset: u64, length: u32, now: Nanos) -> Self {
        Self {
            kind,
            stage: Stage::Arrived,
            asked: Asked::of(write),
            write,
            lost: false,
            proxied: false,
            degraded: false,
            from_flash: false,
            gate: 0,
            rates_met: 0,
            port: u16::MAX,
            rate: u16::MAX,
            account,
            group,
            via: 0,
            owner: 0,
            token: NONE,
            length,
            offset,
            pending: 0,
            ops: 0,
            siblings: 1,
            next: NONE,
            submitted: now,
            mark: now,
            response: Nanos::ZERO,
            service: Nanos::ZERO,
            moved: 0,
            extra: 0,
        }
    }
}
