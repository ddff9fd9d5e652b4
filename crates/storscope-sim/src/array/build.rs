//! From a design to an array that works.

use storscope_device::VirtualClock;
use storscope_types::Nanos;
use storscope_types::design::drive::DriveDesign;
use storscope_types::design::{ArrayDesign, GroupDesign, LimitsChange, LinkDesign, RateLimitDesign, RateLimits};

use super::Array;
use super::account::Account;
use super::background::Task;
use super::changes::changes_of;
use super::controller::{Controller, Link};
use super::drive_station::DriveStation;
use super::flash::Flash;
use super::group::Group;
use super::happening::Happenings;
use super::limits::Limit;
use super::marks::Marks;
use super::memory::Memory;
use super::rates::{RATES, RateLimit};
use super::report::{ComponentKind, LimitKind};
use super::slices::Slices;
use super::target::{Target, Volume};
use crate::drive::{DriveKind, catalogue, served_side_by_side};
use crate::error::SimError;
use crate::kernel::{NONE, Random, Slab, Station, Tournament};

/// What a simulation depends on beside the design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// All draws depend on it alone.
    pub seed: u64,
    /// Most requests in flight.
    pub depth: usize,
    /// Length of the slices in which queues are watched; doubled whenever there are too many.
    pub slice: Nanos,
    /// Most slices that are kept.
    pub slices: usize,
    /// How often all counters are noted, so that parts of the run can be told apart; doubled whenever there are too many.
    pub mark: Nanos,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, depth: 65_536, slice: Nanos::from_millis(50), slices: 512, mark: Nanos::NEVER }
    }
}

/// Stations and limits as they are made.
#[derive(Default)]
struct Stock {
    stations: Vec<Station>,
    names: Vec<(ComponentKind, String)>,
    limits: Vec<Limit>,
    limit_names: Vec<(LimitKind, String)>,
    rates: Vec<RateLimit>,
}

/// An index as the array keeps it: what a design has is bounded where it is checked.
fn index_of(index: usize) -> u16 {
    u16::try_from(index).expect("a design that was checked has fewer")
}

impl Stock {
    fn station(&mut self, kind: ComponentKind, name: String, servers: u32, latency: Nanos) -> u16 {
        self.stations.push(Station::new(servers as usize, latency));
        self.names.push((kind, name));
        index_of(self.stations.len() - 1)
    }

    fn link(&mut self, kind: ComponentKind, name: String, design: &LinkDesign, latency: Nanos) -> Link {
        Link::new(self.station(kind, name, design.ports, latency), design)
    }

    /// Both directions of a link: a station for each if it is duplex, else one for both.
    fn both_ways(&mut self, kind: ComponentKind, name: String, ways: [String; 2], design: &LinkDesign) -> [Link; 2] {
        if design.duplex {
            return ways.map(|way| self.link(kind, way, design, design.latency()));
        }
        [self.link(kind, name, design, design.latency()); 2]
    }

    fn limit(&mut self, kind: LimitKind, name: &str, most: Option<u32>) -> u16 {
        let Some(most) = most else { return u16::MAX };
        self.limits.push(Limit::new(most));
        self.limit_names.push((kind, name.to_owned()));
        index_of(self.limits.len() - 1)
    }

    fn rate(&mut self, design: Option<&RateLimitDesign>, name: String) -> u16 {
        let station = self.station(ComponentKind::RateLimit, name, 1, Nanos::ZERO);
        self.rates.push(RateLimit::new(design, station));
        index_of(self.rates.len() - 1)
    }

    /// Those of reads and of writes, each after that of both. `later` are those that changes bring: there is a place for
    /// them from the beginning.
    fn rates(&mut self, limits: &RateLimits, later: &[RateLimits], name: &str) -> [[u16; 2]; 2] {
        let mut made = |of: fn(&RateLimits) -> Option<RateLimitDesign>, which: &str| match of(limits) {
            None if later.iter().all(|limits| of(limits).is_none()) => u16::MAX,
            limit => self.rate(limit.as_ref(), format!("{name}{which}")),
        };
        let all = made(|limits| limits.all, "");
        [[all, made(|limits| limits.reads, " reads")], [all, made(|limits| limits.writes, " writes")]]
    }
}

impl Array {
    /// An idle array as designed, on a clock that it shares with its user.
    ///
    /// # Errors
    /// When the design cannot be simulated, with the path of the key.
    pub fn new(design: &ArrayDesign, clock: VirtualClock, settings: &Settings) -> Result<Self, SimError> {
        let kinds = drive_kinds(design)?;
        let (drives, mut groups) = build_groups(design, &kinds, settings.seed);
        let volumes = build_volumes(design)?;
        for (index, group) in groups.iter_mut().enumerate() {
            let ends = volumes.iter().filter(|volume| usize::from(volume.group) == index);
            group.map.restrict(ends.map(|volume| volume.start + volume.size).max().unwrap_or(0));
        }
        let mut stock = Stock::default();
        let controllers = build_controllers(design, &mut stock);
        let mirror = design.links.mirror.filter(|_| controllers.len() > 1).map(|link| {
            let ways = ways_of_mirror(&controllers);
            stock.both_ways(ComponentKind::MirrorLink, "mirror".to_owned(), ways, &link)
        });
        let targets = build_targets(design, &volumes, &mut stock)?;
        let cache = design.cache.as_ref().map(|cache| Box::new(Memory::new(cache, design, &groups, &volumes)));
        let tasks = build_tasks(design, &groups)?;
        let timers = stock.stations.len();
        let mut array = Self {
            name: design.name.clone(),
            clock,
            now: Nanos::ZERO,
            began: Nanos::ZERO,
            events: 0,
            tree: Tournament::new(drives.len()),
            late_tree: Tournament::new(timers + 1 + tasks.len()),
            timers,
            stations: stock.stations,
            station_names: stock.names,
            jobs: Slab::new(1_024),
            mirror,
            keeps_reads: design.cache.as_ref().and_then(|cache| cache.read).is_some_and(|read| read.size.is_some()),
            cache,
            limits: stock.limits,
            limit_names: stock.limit_names,
            rates: stock.rates,
            released: Vec::with_capacity(64),
            releasing: false,
            silenced: (NONE, NONE),
            someone_is_silent: false,
            tasks,
            changes: changes_of(design)?,
            next_change: 0,
            watches_ownership: design.transition.is_some(),
            transition: design.transition,
            accounts: vec![Account::new(); targets.len() + 1],
            slices: Slices::new(drives.len(), settings.slice, settings.slices),
            marks: Marks::new(settings.mark),
            happenings: Happenings::default(),
            random: Random::new(settings.seed, 0),
            plan: Vec::with_capacity(1_024),
            done: Vec::with_capacity(256),
            depth: settings.depth,
            drives,
            groups,
            volumes,
            targets,
            controllers,
        };
        array.mark(false);
        array.timer_event(0);
        Ok(array)
    }
}

/// The kind of drive of each group.
fn drive_kinds(design: &ArrayDesign) -> Result<Vec<DriveDesign>, SimError> {
    let kind = |(index, group): (usize, &GroupDesign)| {
        let own = design.drive_of(group).cloned();
        let drive = own.or_else(|| catalogue::find(&group.drive).map(|entry| entry.design()));
        let path = format!("groups[{index}].drive");
        drive.ok_or_else(|| SimError::design(&path, "a drive of the design or the catalogue", &group.drive))
    };
    design.groups.iter().enumerate().map(kind).collect()
}

/// How many requests a drive serves side by side; 1 of one whose arm can be at one place only.
///
/// Of flash: as many as there are dies, or fewer if its controller does not take commands fast enough to keep all of them
/// at work. Of a curve: the greatest rate over that of a single request, of reads or of writes.
fn parallel(kind: &DriveDesign) -> f64 {
    match kind {
        DriveDesign::Mechanical(_) => 1.0,
        DriveDesign::Flash(design) => {
            let latency_s = (design.read.0 + design.overhead.0) as f64 / 1e9;
            let taken = design.commands_per_s.map_or(f64::INFINITY, |rate| rate * latency_s);
            f64::from(design.dies).min(taken).max(1.0)
        }
        DriveDesign::Curve(design) => {
            let writes = design.writes.as_ref().map_or(1.0, |points| served_side_by_side(points));
            served_side_by_side(&design.reads).max(writes)
        }
    }
}

fn build_groups(design: &ArrayDesign, kinds: &[DriveDesign], seed: u64) -> (Vec<DriveStation>, Vec<Group>) {
    let mut drives = Vec::new();
    let mut groups = Vec::new();
    for (group, kind) in design.groups.iter().zip(kinds) {
        let first = drives.len() as u32;
        let all = first..first + group.count + group.spares;
        let shared = DriveKind::new(kind);
        drives.extend(all.map(|index| DriveStation::new(shared.drive(seed, index), parallel(kind))));
        groups.push(Group::new(group, kind.size(), parallel(kind), first, seed.wrapping_add(u64::from(first))));
    }
    (drives, groups)
}

/// Volumes follow each other on their group unless they say where they start.
fn build_volumes(design: &ArrayDesign) -> Result<Vec<Volume>, SimError> {
    let mut ends = vec![0; design.groups.len()];
    let mut volumes = Vec::new();
    for (index, volume) in design.volumes.iter().enumerate() {
        let path = format!("volumes[{index}].group");
        let group = design
            .group_index(&volume.group)
            .ok_or_else(|| SimError::design(&path, "the name of a group", &volume.group))?;
        let owner = volume.owner.as_deref().and_then(|name| design.controller_index(name)).unwrap_or(0);
        let start = volume.start.map_or(ends[group], |start| start.0);
        ends[group] = start + volume.size.0;
        volumes.push(Volume {
            name: volume.name.clone(),
            group: index_of(group),
            start,
            size: volume.size.0,
            owner: index_of(owner),
            write_back: volume.write_back,
            reads_via: vec![0; design.controllers.len()],
            watched_since: Nanos::ZERO,
            moves: 0,
            home: None,
            silent_until: Nanos::ZERO,
            has_lost: false,
        });
    }
    Ok(volumes)
}

/// What the directions of a mirror link are called.
fn ways_of_mirror(controllers: &[Controller]) -> [String; 2] {
    match controllers {
        [first, second] => {
            [[first, second], [second, first]].map(|[from, to]| format!("mirror {} to {}", from.name, to.name))
        }
        _ => ["mirror forth", "mirror back"].map(str::to_owned),
    }
}

/// Links without controllers belong to one that costs nothing.
fn build_controllers(design: &ArrayDesign, stock: &mut Stock) -> Vec<Controller> {
    let mut controllers: Vec<Controller> = design.controllers.iter().map(Controller::new).collect();
    if controllers.is_empty() && (design.links.front_end.is_some() || design.links.back_end.is_some()) {
        controllers.push(Controller { name: "controller".to_owned(), ..Controller::default() });
    }
    for (index, controller) in controllers.iter_mut().enumerate() {
        let name = controller.name.clone();
        if let Some(design) = design.controllers.get(index) {
            let cpu =
                |stock: &mut Stock| stock.station(ComponentKind::Controller, name.clone(), design.servers, Nanos::ZERO);
            controller.cpu = (!controller.is_free()).then(|| cpu(stock));
            controller.limit = design.queue_limit.map(|most| stock.limit(LimitKind::Port, &name, Some(most)));
        }
        if let Some(link) = &design.links.front_end {
            let (kind, to, from) = (ComponentKind::FrontEndLink, format!("{name} in"), format!("{name} out"));
            controller.front_in = Some(stock.link(kind, to, link, link.latency()));
            controller.front_out = Some(stock.link(kind, from, link, Nanos::ZERO));
        }
        if let Some(link) = &design.links.back_end {
            let ways = [format!("{name} out"), format!("{name} in")];
            controller.back = Some(stock.both_ways(ComponentKind::BackEndLink, name.clone(), ways, link));
        }
    }
    controllers
}

fn build_targets(design: &ArrayDesign, volumes: &[Volume], stock: &mut Stock) -> Result<Vec<Target>, SimError> {
    let mut targets = Vec::new();
    let rates_of_volumes: Vec<[[u16; 2]; 2]> = design
        .volumes
        .iter()
        .map(|volume| {
            let later = later_limits(design, |change| change.volume.as_ref() == Some(&volume.name));
            stock.rates(&volume.rate_limits(), &later, &format!("volume {}", volume.name))
        })
        .collect();
    for (index, host) in design.hosts.iter().enumerate() {
        let adapter = stock.limit(LimitKind::Adapter, &host.name, host.adapter_queue_limit);
        let whole = stock.limit(LimitKind::Host, &host.name, host.queue_limit);
        let later = later_limits(design, |change| change.host.as_ref() == Some(&host.name));
        let rates = stock.rates(&host.rate_limits(), &later, &format!("host {}", host.name));
        for (at, attachment) in host.volumes.iter().enumerate() {
            let path = format!("hosts[{index}].volumes[{at}].volume");
            let volume = design
                .volume_index(&attachment.volume)
                .ok_or_else(|| SimError::design(&path, "the name of a volume", &attachment.volume))?;
            let via = attachment.via.as_deref().and_then(|name| design.controller_index(name));
            let flash = attachment.flash_cache.as_ref().map(|flash| {
                let name = format!("{} {}", host.name, attachment.volume);
                let transfers = flash.bandwidth_bytes_per_s.map(|bandwidth| {
                    let name = format!("{name} transfers");
                    Link::of_rate(stock.station(ComponentKind::Flash, name, 1, Nanos::ZERO), Some(bandwidth))
                });
                let station = stock.station(ComponentKind::Flash, name, flash.parallel, Nanos::ZERO);
                Box::new(Flash::new(flash, station, transfers))
            });
            targets.push(Target {
                host: host.name.clone(),
                volume_name: attachment.volume.clone(),
                size: volumes[volume].size,
                volume: index_of(volume),
                via: via.map(index_of),
                limits: [
                    stock.limit(
                        LimitKind::Lun,
                        &format!("{}/{}", host.name, attachment.volume),
                        attachment.queue_limit,
                    ),
                    adapter,
                    whole,
                ],
                rates: [0, 1].map(|direction| one_way(rates[direction], rates_of_volumes[volume][direction])),
                flash,
                flash_elsewhere: Vec::new(),
            });
        }
    }
    let flash: Vec<(u16, u16)> = targets
        .iter()
        .enumerate()
        .filter_map(|(at, one)| Some((index_of(at), one.flash.as_ref().map(|_| one.volume)?)))
        .collect();
    for (at, target) in targets.iter_mut().enumerate() {
        let is_elsewhere = |&&(other, volume): &&(u16, u16)| volume == target.volume && usize::from(other) != at;
        target.flash_elsewhere = flash.iter().filter(is_elsewhere).map(|&(other, _)| other).collect();
    }
    Ok(targets)
}

/// What those are allowed later on whom a change is about.
fn later_limits(design: &ArrayDesign, is_about: impl Fn(&LimitsChange) -> bool) -> Vec<RateLimits> {
    let changes = design.changes.iter().filter_map(|change| change.limits_change.as_ref());
    changes.filter(|change| is_about(change)).map(LimitsChange::rate_limits).collect()
}

/// The limits of a host, then those of a volume.
fn one_way(host: [u16; 2], volume: [u16; 2]) -> [u16; RATES] {
    [host[0], host[1], volume[0], volume[1]]
}

fn build_tasks(design: &ArrayDesign, groups: &[Group]) -> Result<Vec<Task>, SimError> {
    let task = |(index, task): (usize, &storscope_types::design::BackgroundDesign)| {
        let path = format!("background[{index}].group");
        let group = design
            .group_index(&task.group)
            .ok_or_else(|| SimError::design(&path, "the name of a group", &task.group))?;
        Ok(Task::new(task, group, &groups[group]))
    };
    design.background.iter().enumerate().map(task).collect()
}
