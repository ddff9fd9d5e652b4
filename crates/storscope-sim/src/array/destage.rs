//! Destaging: dirty data goes to the drives in the order of addresses, or of age, together with its neighbours.

use storscope_types::design::Placement;

use super::Array;
use super::job::{Job, Kind};
use super::memory::Memory;
use crate::cache::State;
use crate::kernel::{Divisor, NONE};

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
            let Some(group) = memory.group_to_destage() else { return };
            let Some(next) = memory.next_dirty(group) else { return };
            let (map, window) = (&self.groups[usize::from(group)].map, memory.sharing.window(group));
            let batch = match memory.placement {
                Placement::InPlace => gather_neighbours(memory, next, window),
                Placement::Log => gather_any(memory, group, map.stripe_bytes(), map.stripes()),
            };
            memory.sharing.begins(group, map.segments_of(batch.length));
            memory.totals.destages += 1;
            memory.totals.destaged_pages += batch.pages;
            memory.warm_destages(group);
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
        let job = &self.jobs[place];
        let (mut page, group, length) = (job.extra as u32, job.group, u64::from(job.length));
        let lost = self.controllers.get(usize::from(job.owner)).is_some_and(|controller| controller.cache_lost);
        self.jobs.remove(place);
        if let Some(memory) = &mut self.cache {
            memory.sharing.ends(group, self.groups[usize::from(group)].map.segments_of(length));
            while page != NONE {
                let next = memory.directory.chained(page);
                let found = memory.directory.page(page);
                let exposed = (lost && memory.exposing && found.dirty != 0).then_some(found.key());
                memory.destaged(page);
                exposed.into_iter().for_each(|key| memory.expose_page(key));
                page = next;
            }
        }
        self.let_in();
        self.destage();
    }
}

/// The page and its dirty neighbours within a window of the group's space, as far as they leave no gap.
fn gather_neighbours(memory: &mut Memory, first: u32, window: Divisor) -> Batch {
    let page = memory.directory.page(first);
    let (key, mask) = (page.key(), page.dirty);
    let (group, number) = Memory::group_and_page(key);
    let (mut start, mut end) = memory.directory.span(number, mask);
    let mut batch = Batch { chain: NONE, pages: 0, group, offset: 0, length: 0 };
    take(memory, first, &mut batch);
    let window_start = start - window.split(start).1;
    let window_end = window_start + window.value();
    let mut next = number + 1;
    while end == next * memory.directory.page_bytes() && end < window_end {
        let Some((place, from, to)) = dirty_span(memory, group, next) else { break };
        if from != end {
            break;
        }
        take(memory, place, &mut batch);
        (end, next) = (to, next + 1);
    }
    let mut before = number;
    while start == before * memory.directory.page_bytes() && start > window_start && before > 0 {
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
    if page.state() != State::Dirty || page.dirty == 0 {
        return None;
    }
    let (from, to) = memory.directory.span(number, page.dirty);
    Some((place, from, to))
}

/// Pages of a group as they come, up to a full stripe of the log.
fn gather_any(memory: &mut Memory, group: u16, stripe_bytes: u64, stripes: u64) -> Batch {
    let mut batch = Batch { chain: NONE, pages: 0, group, offset: 0, length: 0 };
    let mut bytes = 0;
    while let Some(place) = memory.next_dirty(group) {
        let page = memory.directory.page(place);
        let used = u64::from(page.dirty.count_ones()) * memory.directory.page_bytes() / 32;
        if batch.pages > 0 && bytes + used > stripe_bytes {
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
    memory.begin_to_destage(place);
    memory.directory.chain(place, batch.chain);
    batch.chain = place;
    batch.pages += 1;
}
