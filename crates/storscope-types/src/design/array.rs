//! The design of an array: what it is made of and how the parts are put together.
//!
//! In JSON every quantity is a bare number whose unit stands in the name of the field. The TOML form, in which designs
//! are written by hand, is read by `read_design`: there `segment = "512 KiB"` says the same as
//! `segment_bytes = 524288`, and lists have the singular names of the tables (`[[group]]`).
//!
//! A design that parsed is not yet sound: it has to be checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::background::{BackgroundDesign, ChangeDesign};
use super::cache::CacheDesign;
use super::drive::DriveDesign;
use super::group::{GroupDesign, VolumeDesign};
use super::host::HostDesign;
use super::link::LinksDesign;
use crate::Nanos;

/// A storage array and the hosts attached to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayDesign {
    /// Its name.
    pub name: String,
    /// Where the figures come from: a data sheet, a report, a measurement.
    #[serde(default)]
    pub source: Option<String>,
    /// Kinds of drives by name. Groups may also name one of the catalogue.
    #[serde(default, alias = "drive")]
    pub drives: BTreeMap<String, DriveDesign>,
    /// Disk groups.
    #[serde(alias = "group")]
    pub groups: Vec<GroupDesign>,
    /// Volumes on the groups.
    #[serde(alias = "volume")]
    pub volumes: Vec<VolumeDesign>,
    /// Controllers. Without any, I/Os go from the hosts to the drives directly and at once.
    #[serde(default, alias = "controller")]
    pub controllers: Vec<ControllerDesign>,
    /// The array's memory. Absent: every I/O goes to the drives.
    #[serde(default)]
    pub cache: Option<CacheDesign>,
    /// Links; those that are absent have no limit and take no time.
    #[serde(default)]
    pub links: LinksDesign,
    /// Hosts with what is attached to them. Each attachment is a target of the load, in this order.
    #[serde(alias = "host")]
    pub hosts: Vec<HostDesign>,
    /// Work that the array does by itself.
    #[serde(default)]
    pub background: Vec<BackgroundDesign>,
    /// When an array moves a volume to the controller that its reads come through. Absent: never.
    #[serde(default)]
    pub transition: Option<TransitionDesign>,
    /// What changes during the run.
    #[serde(default, alias = "at")]
    pub changes: Vec<ChangeDesign>,
}

/// A controller: processors with one queue. The time of an I/O is a part per operation and a part per KiB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerDesign {
    /// Its name.
    pub name: String,
    /// Processors; 1 to 64.
    #[serde(default = "one")]
    pub servers: u32,
    /// Time of a processor for each host I/O.
    #[serde(default)]
    pub cost_per_op_ns: f64,
    /// Time for each KiB of a host I/O: copying, checksums.
    #[serde(default)]
    pub cost_per_kib_ns: f64,
    /// Time for each KiB that goes through the parity computation: data read for it and parity made of it.
    #[serde(default)]
    pub parity_cost_per_kib_ns: f64,
    /// Time for an I/O that is handed on to the owner of its volume. Absent: the same as for one of its own.
    #[serde(default)]
    pub proxy_cost_per_op_ns: Option<f64>,
    /// Standard deviation over mean of the times: 0 is constant, 1 is exponential; nothing in between is modelled.
    #[serde(default)]
    pub cv: f64,
    /// Most host I/Os its ports take at a time; later ones wait in the hosts. Absent: no limit.
    #[serde(default)]
    pub queue_limit: Option<u32>,
}

/// Implicit transition of ownership (HP EVA: when about two thirds of a volume's reads were proxied for an hour).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransitionDesign {
    /// Share of proxied reads from which on the volume moves.
    #[serde(default = "two_thirds")]
    pub proxied_share: f64,
    /// How long reads are watched.
    #[serde(default = "one_hour", rename = "window_ns")]
    pub window: Nanos,
}

impl ArrayDesign {
    /// The targets of a load: (host, attachment of the host) as indices, in order.
    pub fn attachments(&self) -> impl Iterator<Item = (usize, usize)> {
        self.hosts.iter().enumerate().flat_map(|(host, design)| (0..design.volumes.len()).map(move |at| (host, at)))
    }

    /// The index of a volume.
    #[must_use]
    pub fn volume_index(&self, name: &str) -> Option<usize> {
        self.volumes.iter().position(|volume| volume.name == name)
    }

    /// The index of a group.
    #[must_use]
    pub fn group_index(&self, name: &str) -> Option<usize> {
        self.groups.iter().position(|group| group.name == name)
    }

    /// The index of a controller.
    #[must_use]
    pub fn controller_index(&self, name: &str) -> Option<usize> {
        self.controllers.iter().position(|controller| controller.name == name)
    }

    /// The drive of a group: one of the design's own, else of the catalogue.
    #[must_use]
    pub fn drive_of(&self, group: &GroupDesign) -> Option<&DriveDesign> {
        self.drives.get(&group.drive)
    }
}

pub(super) fn one() -> u32 {
    1
}

fn two_thirds() -> f64 {
    2.0 / 3.0
}

fn one_hour() -> Nanos {
    Nanos(3_600 * Nanos::SECOND.0)
}
