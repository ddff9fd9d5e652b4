//! Destaging: dirty data goes to the drives, the oldest first, together with its neighbours.

use storscope_types::design::Placement;

use super::Array;
use super::job::{Job, Kind};
use super::memory::Memory;
use crate::cache::State;
use crate::kernel::NONE;

/// Bytes to be destaged: the pages as a chain, and where they go.
struct Batch {
    chain: u32,
    pages: u64,
    group: u16,
    offset: u64,
    length: u64,
}

impl Array {
    /// Begins as many destages as the watermarks ask for.
    #[inline]
    pub(super) fn destage(&mut self) {
        while let Some(memory) = &mut self.cache {
            if !memory.wants_destage() {
                return;
            }
            let Some(oldest) = memory.directory.oldest_dirty() else { return };
            let group = (memory.directory.page(oldest).key >> 44) as usize;
            let stripe_bytes = self.groups[group].map.stripe_bytes();
            let batch = match memory.placement {
                Placement::InPlace => gather_neighbours(memory, oldest, stripe_bytes),
                Placement::Log => gather_any(memory, oldest, stripe_bytes, self.groups[group].map.stripes()),
            };
            memory.destages += 1;
            memory.totals.destages += 1;
            memory.totals.destaged_pages += batch.pages;
            memory.directory.warm_destages();
            self.begin_destage(&batch);
        }
    }

    fn begin_destage(&mut self, batch: &Batch) {
        let account = self.own_account();
        let mut job = Job::new(Kind::Destage, true, account, batch.group, batch.offset, batch.length as u32, self.now);
        job.owner = self.owner_at(batch.group, batch.offset);
        job.extra = u64::from(batch.chain);
        let place = self.jobs.insert(job);
        self.write(place);
    }

    /// Destaged pages are clean; who waits for room may have it.
    pub(super) fn destage_done(&mut self, place: u32) {
        let mut page = self.jobs[place].extra as u32;
        self.jobs.remove(place);
        if let Some(memory) = &mut self.cache {
            memory.destages -= 1;
            while page != NONE {
                let next = memory.directory.chained(page);
                memory.destaged(page);
                page = next;
            }
        }
        self.let_in();
        self.destage();
    }
}

/// The page and its dirty neighbours within the stripe, as far as they leave no gap.
fn gather_neighbours(memory: &mut Memory, oldest: u32, stripe_bytes: u64) -> Batch {
    let page = memory.directory.page(oldest);
    let (key, mask) = (page.key, page.dirty);
    let group = (key >> 44) as u16;
    let number = key & ((1 << 44) - 1);
    let (mut start, mut end) = memory.directory.span(number, mask);
    let mut batch = Batch { chain: NONE, pages: 0, group, offset: 0, length: 0 };
    take(memory, oldest, &mut batch);
    let stripe = start / stripe_bytes * stripe_bytes;
    let mut next = number + 1;
    while end == next * memory.directory.page_bytes() && end < stripe + stripe_bytes {
        let Some((place, from, to)) = dirty_span(memory, group, next) else { break };
        if from != end {
            break;
        }
        take(memory, place, &mut batch);
        (end, next) = (to, next + 1);
    }
    let mut before = number;
    while start == before * memory.directory.page_bytes() && start > stripe && before > 0 {
        let Some((place, from, to)) = dirty_span(memory, group, before - 1) else { break };
        if to != start {
            break;
        }
        take(memory, place, &mut batch);
        (start, before) = (from, before - 1);
    }
    (batch.offset, batch.length) = (start, end - start);
    batch
}

fn dirty_span(memory: &Memory, group: u16, number: u64) -> Option<(u32, u64, u64)> {
    let place = memory.directory.find(Memory::key(group, number))?;
    let page = memory.directory.page(place);
    if page.state != State::Dirty || page.dirty == 0 {
        return None;
    }
    let (from, to) = memory.directory.span(number, page.dirty);
    Some((place, from, to))
}

/// Pages in the order they became dirty, up to a full stripe of the log.
fn gather_any(memory: &mut Memory, oldest: u32, stripe_bytes: u64, stripes: u64) -> Batch {
    let group = (memory.directory.page(oldest).key >> 44) as u16;
    let mut batch = Batch { chain: NONE, pages: 0, group, offset: 0, length: 0 };
    let mut bytes = 0;
    while let Some(place) = memory.directory.oldest_dirty() {
        let page = memory.directory.page(place);
        let used = u64::from(page.dirty.count_ones()) * memory.directory.page_bytes() / 32;
        if (page.key >> 44) as u16 != group || (batch.pages > 0 && bytes + used > stripe_bytes) {
            break;
        }
        bytes += used;
        take(memory, place, &mut batch);
    }
    let head = &mut memory.log_head[usize::from(group)];
    (batch.offset, batch.length) = (*head * stripe_bytes, stripe_bytes);
    *head = (*head + 1) % stripes;
    batch
}

/// Takes a dirty page into a batch.
fn take(memory: &mut Memory, place: u32, batch: &mut Batch) {
    memory.directory.unlink(place);
    let page = memory.directory.page_mut(place);
    (page.state, page.dirty) = (State::Destaging, 0);
    memory.directory.chain(place, batch.chain);
    batch.chain = place;
    batch.pages += 1;
}
