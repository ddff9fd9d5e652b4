//! From a design to an array that works.

use storscope_device::VirtualClock;
use storscope_types::Nanos;
use storscope_types::design::drive::DriveDesign;
use storscope_types::design::{ArrayDesign, GroupDesign};

use super::Array;
use super::account::Account;
use super::drive_station::DriveStation;
use super::group::Group;
use super::target::{Target, Volume};
use crate::drive::Drive;
use crate::error::SimError;
use crate::kernel::{Random, Slab, Tournament};

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
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, depth: 65_536, slice: Nanos::from_millis(50), slices: 512 }
    }
}

impl Array {
    /// An idle array as designed, on a clock that it shares with its user.
    ///
    /// # Errors
    /// When the design cannot be simulated, with the path of the key.
    pub fn new(design: &ArrayDesign, clock: VirtualClock, settings: &Settings) -> Result<Self, SimError> {
        let kinds = drive_kinds(design)?;
        let (drives, groups) = build_groups(design, &kinds, settings.seed);
        let volumes = build_volumes(design, &groups)?;
        let targets = build_targets(design, &volumes)?;
        Ok(Self {
            clock,
            now: Nanos::ZERO,
            began: Nanos::ZERO,
            events: 0,
            tree: Tournament::new(drives.len()),
            stations: Vec::new(),
            jobs: Slab::new(1_024),
            accounts: vec![Account::new(); targets.len() + 1],
            random: Random::new(settings.seed, 0),
            plan: Vec::with_capacity(1_024),
            done: Vec::with_capacity(256),
            depth: settings.depth,
            drives,
            groups,
            volumes,
            targets,
        })
    }
}

/// The kind of drive of each group.
fn drive_kinds(design: &ArrayDesign) -> Result<Vec<DriveDesign>, SimError> {
    let kind = |(index, group): (usize, &GroupDesign)| {
        let own = design.drive_of(group).cloned();
        own.ok_or_else(|| SimError::design(&format!("groups[{index}].drive"), "a drive of the design", &group.drive))
    };
    design.groups.iter().enumerate().map(kind).collect()
}

fn build_groups(design: &ArrayDesign, kinds: &[DriveDesign], seed: u64) -> (Vec<DriveStation>, Vec<Group>) {
    let mut drives = Vec::new();
    let mut groups = Vec::new();
    for (group, kind) in design.groups.iter().zip(kinds) {
        let first = drives.len() as u32;
        let all = first..first + group.count + group.spares;
        drives.extend(all.map(|index| DriveStation::new(Drive::new(kind, seed, index))));
        groups.push(Group::new(group, kind.size(), first, seed.wrapping_add(u64::from(first))));
    }
    (drives, groups)
}

/// Volumes follow each other on their group unless they say where they start.
fn build_volumes(design: &ArrayDesign, groups: &[Group]) -> Result<Vec<Volume>, SimError> {
    let mut ends = vec![0; groups.len()];
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
            group: group as u16,
            start,
            size: volume.size.0,
            owner: owner as u16,
            write_back: volume.write_back,
        });
    }
    Ok(volumes)
}

fn build_targets(design: &ArrayDesign, volumes: &[Volume]) -> Result<Vec<Target>, SimError> {
    let target = |(host, at): (usize, usize)| {
        let attachment = &design.hosts[host].volumes[at];
        let path = format!("hosts[{host}].volumes[{at}].volume");
        let volume = design
            .volume_index(&attachment.volume)
            .ok_or_else(|| SimError::design(&path, "the name of a volume", &attachment.volume))?;
        Ok(Target {
            host: design.hosts[host].name.clone(),
            volume_name: attachment.volume.clone(),
            size: volumes[volume].size,
            volume: volume as u16,
            via: attachment.via.as_deref().and_then(|name| design.controller_index(name)).map(|index| index as u16),
        })
    };
    design.attachments().map(target).collect()
}
