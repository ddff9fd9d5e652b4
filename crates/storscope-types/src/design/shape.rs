//! The geometry that follows from a group's layout: how wide its stripes are and how much they hold.

use super::group::{GroupDesign, Layout, Redundancy};
use crate::Bytes;

/// Arrangements of a pool's drives before they repeat. Each gives every drive nearly the same number of extents.
pub const POOL_ROUNDS: u64 = 64;

/// What a stripe is made of, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Segments of a stripe that hold data.
    pub data: u64,
    /// Segments of a stripe that hold parity.
    pub parity: u64,
    /// Copies of each data segment, the data itself included.
    pub copies: u64,
    /// Sets of drives side by side; in a pool, stripes that fit beside each other on the drives.
    pub sets: u64,
    /// Stripes of the whole group.
    pub stripes: u64,
    /// Extents that a pool uses of each drive in [`POOL_ROUNDS`] rounds; 1 of other layouts.
    pub slots: u64,
    /// Stripes of an extent of a pool; 1 of other layouts.
    pub rows: u64,
}

impl Shape {
    /// Drives a stripe lies on.
    #[must_use]
    pub const fn width(&self) -> u64 {
        self.data * self.copies + self.parity
    }

    /// How many drives of a set may fail without loss.
    #[must_use]
    pub const fn tolerance(&self) -> u64 {
        self.parity + self.copies - 1
    }
}

impl GroupDesign {
    /// The shape of the group with drives of this size. It is sound only if [`GroupDesign::check_geometry`] says so.
    #[must_use]
    pub fn shape(&self, drive_size: Bytes) -> Shape {
        let (parity, copies) = self.redundancy_of_set();
        let width = u64::from(self.set_width().max(1));
        let data = if copies > 1 { 1 } else { width.saturating_sub(parity).max(1) };
        let sets = (u64::from(self.count) / (data * copies + parity)).max(1);
        let mut shape = Shape { data, parity, copies, sets, stripes: 0, slots: 1, rows: 1 };
        let segment = self.segment.0.max(1);
        shape.stripes = if self.layout == Layout::Pool {
            shape.slots = (POOL_ROUNDS * sets * shape.width()).div_ceil(u64::from(self.count.max(1)));
            let kept = (drive_size.0 as f64 * (1.0 - self.spare_share)) as u64;
            shape.rows = self.extent.map_or(1, |extent| (extent.0 / segment).max(1));
            kept / (shape.slots * shape.rows * segment) * POOL_ROUNDS * sets * shape.rows
        } else {
            drive_size.0 / segment * sets
        };
        shape
    }

    /// Bytes of data the group holds.
    #[must_use]
    pub fn usable(&self, drive_size: Bytes) -> Bytes {
        let shape = self.shape(drive_size);
        Bytes(shape.stripes.saturating_mul(shape.data).saturating_mul(self.segment.0))
    }

    /// Drives of one set.
    #[must_use]
    pub fn set_width(&self) -> u32 {
        match self.layout {
            Layout::Raid0 => 1,
            Layout::Raid1 | Layout::Raid10 => self.copies_of_mirror(),
            Layout::Raid5 | Layout::Raid6 => self.count,
            Layout::Raid50 | Layout::Raid60 => self.width.unwrap_or(self.count),
            Layout::Pool => self.width_in_pool(),
        }
    }

    fn width_in_pool(&self) -> u32 {
        match self.redundancy {
            None | Some(Redundancy::Raid0) => 1,
            Some(Redundancy::Raid1) => self.copies_of_mirror(),
            // HP EVA: Vraid5 is four segments of data and one of parity.
            Some(Redundancy::Raid5) => self.width.unwrap_or(5),
            Some(Redundancy::Raid6) => self.width.unwrap_or(self.parities().saturating_add(4)),
        }
    }

    fn copies_of_mirror(&self) -> u32 {
        self.copies.unwrap_or(2)
    }

    fn parities(&self) -> u32 {
        self.parity.unwrap_or(2)
    }

    /// Whether its data is kept as copies.
    #[must_use]
    pub fn is_mirrored(&self) -> bool {
        let in_pool = self.layout == Layout::Pool && self.redundancy == Some(Redundancy::Raid1);
        in_pool || matches!(self.layout, Layout::Raid1 | Layout::Raid10)
    }

    /// Whether its stripes have the parities of RAID 6.
    #[must_use]
    pub fn has_more_parities(&self) -> bool {
        let in_pool = self.layout == Layout::Pool && self.redundancy == Some(Redundancy::Raid6);
        in_pool || matches!(self.layout, Layout::Raid6 | Layout::Raid60)
    }

    /// Parity segments and copies.
    fn redundancy_of_set(&self) -> (u64, u64) {
        match (self.layout, self.redundancy) {
            _ if self.is_mirrored() => (0, self.copies_of_mirror().into()),
            _ if self.has_more_parities() => (self.parities().into(), 1),
            (Layout::Raid5 | Layout::Raid50, _) | (Layout::Pool, Some(Redundancy::Raid5)) => (1, 1),
            _ => (0, 1),
        }
    }

    /// Whether so many drives make this layout: what was expected and found if not.
    ///
    /// # Errors
    /// The key, what would be sound, and what stands there.
    pub fn check_geometry(&self) -> Result<(), (&'static str, String, String)> {
        let (parity, copies) = self.redundancy_of_set();
        let width = self.set_width();
        let least = if copies > 1 {
            copies as u32
        } else if parity > 0 {
            parity as u32 + 2
        } else {
            1
        };
        let needs_width = matches!(self.layout, Layout::Raid50 | Layout::Raid60);
        if needs_width && self.width.is_none() {
            return Err(("width", "the drives of one parity set".to_owned(), "nothing".to_owned()));
        }
        if width < least || width > 255 {
            let key = if self.width.is_some() { "width" } else { "count" };
            return Err((key, format!("{least} to 255 drives for a set"), width.to_string()));
        }
        if self.count < least || self.count > 4_096 {
            return Err(("count", format!("{least} to 4096 drives"), self.count.to_string()));
        }
        if self.count < width {
            let all = format!("the {} drives of the group (count)", self.count);
            return Err(match self.width {
                Some(_) => ("width", format!("at most {all}"), width.to_string()),
                None => ("count", format!("{width} to 4096 drives"), self.count.to_string()),
            });
        }
        if self.layout != Layout::Pool && !self.count.is_multiple_of(width) {
            let of_width = if self.width.is_some() { ", which is the width of a set" } else { "" };
            return Err(("count", format!("a multiple of {width}{of_width}"), self.count.to_string()));
        }
        Ok(())
    }
}
