//! Links and controllers on the way of a job.

use storscope_types::Nanos;

use super::Array;
use super::account::{Asked, Part};
use super::controller::{Cost, Link};
use super::job::{Kind, Stage};

impl Array {
    /// A host I/O has passed all queue limits.
    #[inline]
    pub(super) fn enter(&mut self, place: u32) {
        if self.rates.is_empty() || self.jobs[place].asked == Asked::Flush {
            self.go_in(place);
        } else if self.someone_is_silent && self.is_silent(&self.targets[usize::from(self.jobs[place].account)]) {
            // What nobody takes yet counts at no limit, or all of it would pass at once when somebody does.
            self.wait_for_takeover(place);
        } else {
            self.pass_rates(place);
        }
    }

    /// A host I/O has passed all limits.
    #[inline]
    pub(super) fn go_in(&mut self, place: u32) {
        if self.controllers.is_empty() {
            return self.decoded(place);
        }
        if self.someone_is_silent && self.is_silent(&self.targets[usize::from(self.jobs[place].account)]) {
            return self.wait_for_takeover(place);
        }
        self.choose_controller(place);
        let job = &self.jobs[place];
        if let Some(memory) = &self.cache {
            memory.warm(job.group, job.offset);
        }
        let bytes = if job.write { job.length } else { 0 };
        match self.controllers[usize::from(job.via)].front_in {
            Some(link) => self.cross(place, link, u64::from(bytes), Part::FrontEnd, Stage::Arrived),
            None => self.arrived(place),
        }
    }

    /// Which controller it is sent to, and which one serves it.
    #[inline]
    fn choose_controller(&mut self, place: u32) {
        let target = &self.targets[usize::from(self.jobs[place].account)];
        let (owner, via) = (self.volumes[usize::from(target.volume)].owner, self.way_to(target));
        let job = &mut self.jobs[place];
        (job.owner, job.via) = (owner, via);
        job.proxied = job.via != job.owner;
        if job.proxied {
            self.accounts[usize::from(job.account)].proxied[job.asked as usize] += 1;
        }
        if self.watches_ownership && !job.write {
            self.watch_ownership(place);
        }
    }

    /// At the controller it was sent to.
    #[inline]
    pub(super) fn arrived(&mut self, place: u32) {
        let job = &self.jobs[place];
        let controller = &self.controllers[usize::from(job.via)];
        let (cost, next) =
            if job.proxied { (controller.proxy, Stage::Proxied) } else { (controller.op, Stage::Decoded) };
        let (via, bytes) = (job.via, u64::from(job.length));
        self.work(place, via, cost, bytes, next);
    }

    /// On its way to the owner.
    pub(super) fn proxied(&mut self, place: u32) {
        let job = &self.jobs[place];
        let bytes = if job.write { job.length } else { 0 };
        match self.mirror_link(job.via, job.owner) {
            Some(link) => self.cross(place, link, u64::from(bytes), Part::MirrorLink, Stage::AtOwner),
            None => self.at_owner(place),
        }
    }

    /// At the owner, after another controller handed it on.
    pub(super) fn at_owner(&mut self, place: u32) {
        let job = &self.jobs[place];
        let (owner, bytes) = (job.owner, u64::from(job.length));
        self.work(place, owner, self.controllers[usize::from(owner)].op, bytes, Stage::Decoded);
    }

    /// What was asked for is there, or is safe.
    #[inline]
    pub(super) fn answer(&mut self, place: u32) {
        let job = &self.jobs[place];
        if job.write || self.controllers.is_empty() {
            return self.finish(place);
        }
        match self.mirror_link(job.owner, job.via) {
            Some(link) if job.proxied => {
                let bytes = u64::from(job.length);
                self.cross(place, link, bytes, Part::MirrorLink, Stage::BackFromOwner);
            }
            _ => self.send_out(place),
        }
    }

    /// The link from one controller to another.
    #[inline]
    pub(super) fn mirror_link(&self, from: u16, to: u16) -> Option<Link> {
        self.mirror.map(|ways| ways[usize::from(to < from)])
    }

    /// The way to the controller that keeps the copies of what is in a controller's write cache: the next one that works.
    #[inline]
    pub(super) fn way_of_copies(&self, owner: u16) -> Option<Link> {
        self.mirror.and_then(|ways| Some(ways[usize::from(self.next_working(owner)? < owner)]))
    }

    /// Over the front-end link to the host.
    #[inline]
    pub(super) fn send_out(&mut self, place: u32) {
        let job = &self.jobs[place];
        match self.controllers[usize::from(job.via)].front_out {
            Some(link) => self.cross(place, link, u64::from(job.length), Part::FrontEnd, Stage::Answered),
            None => self.finish(place),
        }
    }

    /// A controller works on a job, then comes the stage.
    #[inline]
    pub(super) fn work(&mut self, place: u32, controller: u16, cost: Cost, bytes: u64, next: Stage) {
        let controller = &self.controllers[usize::from(controller)];
        self.jobs[place].stage = next;
        let Some(cpu) = controller.cpu else { return self.proceed(place) };
        let mut service = cost.of(bytes);
        if controller.exponential {
            service = Nanos((service.0 as f64 * self.random.exponential()).round() as u64);
        }
        let wait = self.visit(place, cpu, service);
        self.spend_each(place, [(Part::ControllerQueue, wait), (Part::ControllerService, service)]);
    }

    /// A job crosses a link, then comes the stage. Without data it is a command, which goes between the frames of data.
    #[inline]
    pub(super) fn cross(&mut self, place: u32, link: Link, bytes: u64, part: Part, next: Stage) {
        self.jobs[place].stage = next;
        if bytes == 0 {
            return self.command(place, link, part);
        }
        let transfer = link.transfer.of(bytes);
        let latency = self.stations[usize::from(link.station)].latency();
        let wait = self.visit(place, link.station, transfer);
        self.spend(place, part, wait + transfer + latency);
    }

    #[inline]
    fn command(&mut self, place: u32, link: Link, part: Part) {
        let index = usize::from(link.station);
        let departure = self.stations[index].get_across(self.now, place);
        if departure.is_next {
            self.late_tree.set(index, self.stations[index].next_event());
        }
        self.spend(place, part, self.stations[index].latency());
    }

    /// A job, or none, goes to a station. Returns for how long it will wait there.
    #[inline]
    pub(super) fn visit(&mut self, place: u32, station: u16, service: Nanos) -> Nanos {
        let index = usize::from(station);
        let departure = self.stations[index].arrive(self.now, place, service);
        if departure.is_next {
            self.late_tree.set(index, self.stations[index].next_event());
        }
        departure.wait
    }

    /// A job leaves a station.
    #[inline]
    pub(super) fn proceed(&mut self, place: u32) {
        match self.jobs[place].stage {
            Stage::Allowed => self.allowed(place),
            Stage::Arrived => self.arrived(place),
            Stage::Decoded => self.decoded(place),
            Stage::Answered | Stage::FlashHit => self.finish(place),
            Stage::FlashRead => self.transfer_from_flash(place),
            Stage::Proxied => self.proxied(place),
            Stage::AtOwner => self.at_owner(place),
            Stage::BackFromOwner => self.send_out(place),
            Stage::Mirrored => self.answer(place),
            Stage::ReadBack => self.read_back(place),
            Stage::Recovered => self.data_done(place),
            Stage::ParityReady => self.begin_write(place),
            Stage::WriteSent => self.write_now(place),
            Stage::WaitsForRoom
            | Stage::WaitsForPage
            | Stage::Reading
            | Stage::ReadingOld
            | Stage::Journalling
            | Stage::Writing
            | Stage::Flushing
            | Stage::WaitsForStripes => unreachable!("a job that waits for drives or memory is at no station"),
        }
    }

    /// The data of a job has been read, or is on the drives.
    #[inline]
    pub(super) fn data_done(&mut self, place: u32) {
        match self.jobs[place].kind {
            Kind::Host => self.host_data_done(place),
            Kind::Stripe => self.stripe_done(place),
            Kind::Destage => self.destage_done(place),
            Kind::Prefetch => self.prefetch_done(place),
            Kind::Background => self.background_done(place),
        }
    }
}
