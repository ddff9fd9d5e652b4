//! The drives of a design: mechanical, flash, or a measured curve.
//!
//! Times are nanoseconds, sizes bytes, rates bytes per second; the unit stands in the field's name. Every field says its
//! sound range; [`DriveDesign::check`] holds them to it. What a drive leaves out is left out on purpose: see the
//! catalogue of components in the documentation.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

mod check;

pub use check::DriveError;

/// A drive, by what its behaviour is computed from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DriveDesign {
    /// Platters and an arm.
    Mechanical(MechanicalDesign),
    /// Flash behind a controller.
    Flash(FlashDesign),
    /// Throughput against queue depth, as measured.
    Curve(CurveDesign),
}

impl DriveDesign {
    /// Usable bytes.
    #[must_use]
    pub fn size(&self) -> Bytes {
        match self {
            Self::Mechanical(design) => design.size,
            Self::Flash(design) => design.size,
            Self::Curve(design) => design.size,
        }
    }
}

/// A drive with platters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanicalDesign {
    /// Usable bytes; 1 MB to 100 TB.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Turns per minute; 1,000 to 30,000.
    pub turns_per_min: f64,
    /// How long the arm takes.
    pub seek: SeekDesign,
    /// Sustained rate at the outer edge, where the lowest addresses are; switching between tracks is included, as in
    /// data sheets.
    pub outer_rate_bytes_per_s: f64,
    /// Sustained rate at the inner edge; at most the outer rate.
    pub inner_rate_bytes_per_s: f64,
    /// Zones of equal width; 1 to 64.
    #[serde(default = "default_zones")]
    pub zones: u32,
    /// Recording surfaces: tracks of a cylinder, between which only the head is switched; 1 to 32.
    #[serde(default = "default_heads")]
    pub heads: u32,
    /// Switch to the next track of a cylinder. Tracks are laid out so that sequential transfers lose just this.
    #[serde(default = "default_head_switch", rename = "head_switch_ns")]
    pub head_switch: Nanos,
    /// Time the drive spends on a command before the arm moves: decoding, controller.
    #[serde(rename = "overhead_ns")]
    pub overhead: Nanos,
    /// Time a read takes that is in the drive's buffer, without its transfer.
    #[serde(default = "default_hit", rename = "hit_ns")]
    pub hit: Nanos,
    /// What a read from the buffer or a write into it takes longer when it does not go on where the request before it,
    /// served in the same way, ended.
    #[serde(default, rename = "switch_ns")]
    pub switch: Nanos,
    /// What a write to the media takes longer than a read: the head must be still.
    #[serde(default, rename = "write_settle_ns")]
    pub write_settle: Nanos,
    /// Rate of the link. A read from the media takes at least the time of its transfer over the link.
    #[serde(default = "default_interface")]
    pub interface_rate_bytes_per_s: f64,
    /// Reading on after a read, into the buffer. Absent: never.
    #[serde(default)]
    pub read_ahead: Option<ReadAheadDesign>,
    /// Reporting writes as done before they are on the media. Absent: off.
    #[serde(default)]
    pub write_cache: Option<WriteCacheDesign>,
    /// Sorting of what waits. Absent: first come, first served.
    #[serde(default)]
    pub queueing: Option<QueueingDesign>,
}

/// The seek curve, in one of two forms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case", deny_unknown_fields)]
pub enum SeekDesign {
    /// Three numbers of a data sheet, joined by Lee and Katz (1993): a·√(x−1) + b·(x−1) + c over cylinders.
    DataSheet {
        /// One cylinder.
        #[serde(rename = "track_to_track_ns")]
        track_to_track: Nanos,
        /// Mean over random pairs of addresses' cylinders, about that of a third of the stroke.
        #[serde(rename = "average_ns")]
        average: Nanos,
        /// From edge to edge.
        #[serde(rename = "full_stroke_ns")]
        full_stroke: Nanos,
    },
    /// a + b·√x + c·x with x as a share of the stroke; zero without movement.
    Curve {
        /// Nanoseconds of any movement.
        a_ns: f64,
        /// Nanoseconds of the root of the whole stroke.
        b_ns: f64,
        /// Nanoseconds of the whole stroke; may be negative as long as the curve rises.
        c_ns: f64,
    },
}

/// Reading on into the buffer after a read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadAheadDesign {
    /// Streams that are kept apart; 1 to 64.
    pub segments: u32,
    /// Bytes of a segment: what is read on at most.
    #[serde(rename = "segment_bytes")]
    pub segment: Bytes,
    /// After which reads the drive reads on.
    #[serde(default)]
    pub after: ReadOnAfter,
    /// How far it reads on.
    #[serde(default)]
    pub up_to: ReadOnTo,
    /// Whether a write to the media takes the whole buffer, so that what was read on is lost.
    #[serde(default)]
    pub lost_on_write: bool,
}

/// What a drive reads besides what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadOnTo {
    /// What follows, as much as fits the segment.
    #[default]
    SegmentEnd,
    /// What follows on the same track.
    TrackEnd,
    /// The whole track.
    Track,
}

/// Which reads a drive takes as the sign of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadOnAfter {
    /// Every read from the media.
    #[default]
    AnyRead,
    /// A read that starts at most a segment away from where an earlier one ended: the second of a stream.
    NearbyRead,
}

/// Writes that are done when they are in the drive's memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteCacheDesign {
    /// Bytes it holds.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Separate extents it holds; adjacent writes share one.
    pub extents: u32,
    /// Time to take a write, without its transfer. Absent: that of a read from the buffer.
    #[serde(default, rename = "accept_ns")]
    pub accept: Option<Nanos>,
    /// Among how many of the oldest extents the next to be written is chosen: 1 keeps their order.
    pub window: u32,
    /// How the next to be written is chosen.
    #[serde(default)]
    pub order: WriteBackOrder,
    /// Extents written back in one go, in which no write is taken; 1: one at a time. It needs that all extents are dirty
    /// and that `batch_from` writes wait. Absent: five eighths of the extents.
    #[serde(default)]
    pub batch: Option<u32>,
    /// Writes waiting for room from which on extents are written back in batches; 1 to 1024.
    #[serde(default = "default_batch_from")]
    pub batch_from: u32,
}

impl WriteCacheDesign {
    /// Where a design does not say it: the 500 GB drive of the same source shows no batch at depths 1 and 2, and at 4 it does.
    pub const BATCH_FROM: u32 = 3;

    /// Extents of a batch. Two drives of 7,200 turns per minute were measured that hold up writes for as long as 100 to 190
    /// extents take (github.com/louwrentius/fio-plot): 160 of the 256 of the catalogue's drives.
    #[must_use]
    pub fn batch_extents(&self) -> u32 {
        self.batch.unwrap_or((self.extents * 5 / 8).max(1))
    }
}

/// How a drive chooses what it writes back next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteBackOrder {
    /// What the arm reaches first of the `window` oldest extents, rotation included.
    #[default]
    Nearest,
    /// By rising address of all extents, from the arm on and around: the rotation is not looked at, nor `window`.
    Address,
}

/// Command queueing: the shortest positioning time among a limited number of the waiting requests.
///
/// With n requests waiting a drive looks at (n − n₀ + 1)^γ of them; an ideal drive has γ = 1 and n₀ = 1. Real firmware gains
/// 37 to 67 % of what the ideal gains on a logarithmic scale (four drives measured in github.com/louwrentius/fio-plot).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueingDesign {
    /// γ, 0 to 1.
    pub gamma: f64,
    /// n₀: requests waiting below which nothing is sorted; 1 to 1024.
    #[serde(default = "default_least_depth")]
    pub least_depth: u32,
    /// Requests the drive takes; later ones wait outside and are not seen. 1 to 1024.
    pub depth: u32,
    /// Which requests it looks at.
    #[serde(default)]
    pub among: Among,
}

/// Which of the waiting requests a drive looks at. Throughput is the same, fairness is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Among {
    /// Any of them: response times spread as widely as their mean, which is what most drives show.
    #[default]
    Any,
    /// The oldest: response times stay close together.
    Oldest,
}

/// A drive of flash memory: dies work in parallel, behind channels and one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashDesign {
    /// Usable bytes.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Dies, or planes, that work at the same time; 1 to 1024.
    pub dies: u32,
    /// Bytes of a page: what one die reads or programs at a time.
    #[serde(rename = "page_bytes")]
    pub page: Bytes,
    /// Bytes that the translation layer maps together, at most a page: random writes take a multiple of it and fill pages
    /// together. Absent: a page.
    #[serde(default, rename = "map_unit_bytes")]
    pub map_unit: Option<Bytes>,
    /// The buses between the dies and the controller. Absent: moving data within the drive takes no time.
    #[serde(default)]
    pub channels: Option<ChannelsDesign>,
    /// Controller and link, for each command.
    #[serde(rename = "overhead_ns")]
    pub overhead: Nanos,
    /// Mean time of a die to read a page.
    #[serde(rename = "read_ns")]
    pub read: Nanos,
    /// Mean time of a die to program a page.
    #[serde(rename = "program_ns")]
    pub program: Nanos,
    /// Standard deviation over mean of both, log-normal; 0 to 3.
    #[serde(default = "default_flash_cv")]
    pub latency_cv: f64,
    /// Most commands per second through the controller. Absent: no limit but the others.
    #[serde(default)]
    pub commands_per_s: Option<f64>,
    /// Rate of the link.
    pub interface_rate_bytes_per_s: f64,
    /// Time to take a write into memory.
    #[serde(rename = "write_accept_ns")]
    pub write_accept: Nanos,
    /// Pages of writes held in memory before the next has to wait for a die; 0: none.
    #[serde(default = "default_flash_buffer")]
    pub buffer_pages: u32,
    /// Whether what is held in memory outlives a loss of power, as in drives with capacitors: then a flush waits for nothing.
    #[serde(default = "yes")]
    pub power_loss_protection: bool,
    /// Pages programmed for each page written at random, in the steady state; 1 to 20. Of a sequential stream it is 1, once
    /// that has written a block: what it overwrites are whole blocks, from which nothing has to be moved.
    #[serde(default = "one")]
    pub write_amplification: f64,
    /// Pages a die moves at a time when it makes room: what a read may have to wait for; 1 to 1024.
    #[serde(default = "default_cleaning_burst")]
    pub cleaning_burst_pages: u32,
    /// How soon a program, a move or an erase under way stops for a read, to go on after it. Absent: a die serves in the
    /// order of arrival.
    #[serde(default, rename = "suspend_ns")]
    pub suspend: Option<Nanos>,
    /// Time of a die to erase a block.
    #[serde(default, rename = "erase_ns")]
    pub erase: Nanos,
    /// Pages of a block: one erase is due for as many programmed pages.
    #[serde(default = "default_block_pages")]
    pub pages_per_block: u32,
}

/// The buses between the dies of a flash drive and its controller, over which the dies are spread in turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelsDesign {
    /// How many; 1 to 256.
    pub count: u32,
    /// Rate of each: of an interface 8 bits wide, its transfers per second.
    pub rate_bytes_per_s: f64,
}

/// A drive by its measured throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveDesign {
    /// Usable bytes.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Reads per second against outstanding requests.
    pub reads: Vec<CurvePoint>,
    /// Writes per second; the same as reads where absent.
    #[serde(default)]
    pub writes: Option<Vec<CurvePoint>>,
    /// Standard deviation over mean of the time between completions while there is work; 1 is exponential. 0 to 3.
    #[serde(default = "one")]
    pub cv: f64,
    /// Bytes of the requests the curve was measured with.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// Rate at which larger requests transfer what they have more. Absent: size does not matter.
    #[serde(default)]
    pub rate_bytes_per_s: Option<f64>,
}

/// One point of a measured curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurvePoint {
    /// Outstanding requests.
    pub qd: u32,
    /// Completions per second.
    pub iops: f64,
}

fn default_zones() -> u32 {
    16
}

fn default_heads() -> u32 {
    4
}

fn default_head_switch() -> Nanos {
    Nanos::from_micros(800)
}

fn default_hit() -> Nanos {
    Nanos::from_micros(100)
}

fn default_interface() -> f64 {
    250e6
}

fn default_least_depth() -> u32 {
    1
}

fn default_batch_from() -> u32 {
    WriteCacheDesign::BATCH_FROM
}

fn default_flash_cv() -> f64 {
    0.2
}

fn yes() -> bool {
    true
}

fn default_flash_buffer() -> u32 {
    256
}

fn default_cleaning_burst() -> u32 {
    4
}

fn default_block_pages() -> u32 {
    256
}

fn one() -> f64 {
    1.0
}
