//! Groups and volumes.

use super::paths::{DesignFault, require, within};
use super::sizes::told_apart;
use super::{MOST_VOLUMES, at_most, known, unique};
use crate::Bytes;
use crate::design::{ArrayDesign, GroupDesign, Layout, Redundancy, VolumeDesign};

/// A sector.
const LEAST_VOLUME_BYTES: u64 = 512;

/// Where a volume starts and ends, and its name.
type Extent<'design> = (u64, u64, &'design str);

impl ArrayDesign {
    pub(super) fn check_groups(&self) -> Result<(), DesignFault> {
        require(!self.groups.is_empty(), "groups", "at least one group", "none")?;
        unique(self.groups.iter().map(|group| &group.name), "groups")?;
        let mut drives = 0_u64;
        for (index, group) in self.groups.iter().enumerate() {
            require(group.count > 0, &format!("groups[{index}].count"), "at least one drive", "0")?;
            drives += u64::from(group.count) + u64::from(group.spares);
            let most = if group.spares > group.count { "spares" } else { "count" };
            within(drives as f64, 1.0, 8_192.0, &format!("groups[{index}].{most}"), "1 to 8,192 drives in all groups")?;
        }
        for (index, group) in self.groups.iter().enumerate() {
            let path = format!("groups[{index}]");
            let names = self.drives.keys().map(String::as_str);
            known(&group.drive, names, &format!("{path}.drive"), "drive of the design or of the catalogue")?;
            check_group(group, &path)?;
        }
        Ok(())
    }

    pub(super) fn check_volumes(&self) -> Result<(), DesignFault> {
        require(!self.volumes.is_empty(), "volumes", "at least one volume", "none")?;
        at_most(self.volumes.len(), MOST_VOLUMES, "volumes", "16,384 volumes at most")?;
        unique(self.volumes.iter().map(|volume| &volume.name), "volumes")?;
        let mut ends = vec![0_u64; self.groups.len()];
        let mut taken = vec![Vec::new(); self.groups.len()];
        for (index, volume) in self.volumes.iter().enumerate() {
            self.check_volume(volume, &format!("volumes[{index}]"), &mut ends, &mut taken)?;
        }
        Ok(())
    }

    fn check_volume<'design>(
        &self,
        volume: &'design VolumeDesign,
        path: &str,
        ends: &mut [u64],
        taken: &mut [Vec<Extent<'design>>],
    ) -> Result<(), DesignFault> {
        let names = self.groups.iter().map(|group| group.name.as_str());
        known(&volume.group, names, &format!("{path}.group"), "group")?;
        if let Some(owner) = &volume.owner {
            self.known_controller(owner, &format!("{path}.owner"))?;
        }
        let (Some(index), size) = (self.group_index(&volume.group), volume.size.0) else { return Ok(()) };
        let group = &self.groups[index];
        let drive_size = self.drive_of(group).map_or(Bytes::ZERO, |drive| drive.size());
        let usable = group.usable(drive_size).0;
        let start = volume.start.map_or(ends[index], |start| start.0);
        let key = format!("{path}.size_bytes");
        require(size >= LEAST_VOLUME_BYTES, &key, "512 bytes or more", &size.to_string())?;
        let end = start.saturating_add(size);
        let free = usable.saturating_sub(start);
        let [found, free, usable_size] = told_apart([size, free, usable]);
        let expected = format!("at most the {free} left of the {usable_size} of group {}", group.name);
        require(end <= usable, &key, &expected, &found)?;
        check_place(&taken[index], start, end, path)?;
        ends[index] = end;
        taken[index].push((start, end, volume.name.as_str()));
        Ok(())
    }
}

/// Whether a volume has its part of a group's space for itself.
fn check_place(taken: &[Extent], start: u64, end: u64, path: &str) -> Result<(), DesignFault> {
    let Some(other) = taken.iter().find(|other| start < other.1 && other.0 < end) else { return Ok(()) };
    let [other_start, other_end, start, end] = told_apart([other.0, other.1, start, end]);
    let expected = format!("a place of its own: volume {} takes {other_start} to {other_end}", other.2);
    require(false, &format!("{path}.start_bytes"), &expected, &format!("{start} to {end}"))
}

fn check_group(group: &GroupDesign, path: &str) -> Result<(), DesignFault> {
    let segment = format!("{path}.segment_bytes");
    within(group.segment.0 as f64, 512.0, (1 << 30) as f64, &segment, "512 bytes to 1 GiB")?;
    require(group.segment.0.is_multiple_of(512), &segment, "a multiple of 512 bytes", &group.segment.0.to_string())?;
    check_redundancy(group, path)?;
    group.check_geometry().map_err(|(key, expected, found)| DesignFault {
        path: format!("{path}.{key}"),
        expected,
        found,
    })?;
    let pool = group.layout == Layout::Pool;
    let takes_width = pool || matches!(group.layout, Layout::Raid50 | Layout::Raid60);
    let unused = "nothing: only RAID 50, RAID 60 and pools have sets of a width";
    require(takes_width || group.width.is_none(), &format!("{path}.width"), unused, "a width")?;
    let protection = "nothing: only pools say it apart from the layout";
    require(pool || group.redundancy.is_none(), &format!("{path}.redundancy"), protection, "a redundancy")?;
    let parity_pool = matches!(group.redundancy, Some(Redundancy::Raid5 | Redundancy::Raid6));
    let wide = "nothing: only pools with parity have sets of a width";
    require(!pool || parity_pool || group.width.is_none(), &format!("{path}.width"), wide, "a width")?;
    check_extent(group, path)?;
    check_choices(group, path)?;
    check_spares(group, path)?;
    let Some(journal) = &group.journal else { return Ok(()) };
    let size = format!("{path}.journal.size_bytes");
    within(journal.size.0 as f64, 512.0, (1 << 20) as f64, &size, "512 bytes to 1 MiB")?;
    within(journal.share, 0.0, 1.0, &format!("{path}.journal.share"), "a ratio from 0 to 1")
}

/// How many copies or parities there are, where a layout leaves that open.
fn check_redundancy(group: &GroupDesign, path: &str) -> Result<(), DesignFault> {
    let (key, expected) = (format!("{path}.copies"), "nothing: only mirrors (raid1, raid10) have copies");
    require(group.is_mirrored() || group.copies.is_none(), &key, expected, "a number of copies")?;
    within(f64::from(group.copies.unwrap_or(2)), 2.0, 8.0, &key, "2 to 8 copies, the data itself included")?;
    let (key, expected) = (format!("{path}.parity"), "nothing: only raid6, raid60 and pools of raid6 have two or more");
    require(group.has_more_parities() || group.parity.is_none(), &key, expected, "a number of parities")?;
    within(f64::from(group.parity.unwrap_or(2)), 2.0, 16.0, &key, "2 to 16 parity segments of a stripe")
}

/// What a pool hands out at a time.
fn check_extent(group: &GroupDesign, path: &str) -> Result<(), DesignFault> {
    let Some(extent) = group.extent else { return Ok(()) };
    let key = format!("{path}.extent_bytes");
    require(group.layout == Layout::Pool, &key, "nothing: only pools hand out extents", "an extent")?;
    within(extent.0 as f64, 512.0, (1_u64 << 34) as f64, &key, "512 bytes to 16 GiB")?;
    let whole = extent.0.is_multiple_of(group.segment.0.max(1)) && extent.0 > 0;
    let [segment, found] = told_apart([group.segment.0, extent.0]);
    require(whole, &key, &format!("a multiple of the segment of {segment}"), &found)
}

/// What only mirrors, or only parity, can choose.
fn check_choices(group: &GroupDesign, path: &str) -> Result<(), DesignFault> {
    let shape = group.shape(Bytes::ZERO);
    let chosen = group.read_choice.is_some();
    let (key, expected) = (format!("{path}.read_choice"), "nothing: only mirrors have copies to choose from");
    require(shape.copies > 1 || !chosen, &key, expected, "a choice for a layout without copies")?;
    let chosen = group.parity_update.is_some();
    let (key, expected) = (format!("{path}.parity_update"), "nothing: only layouts with parity update it");
    require(shape.parity > 0 || !chosen, &key, expected, "a choice for a layout without parity")
}

fn check_spares(group: &GroupDesign, path: &str) -> Result<(), DesignFault> {
    let pool = group.layout == Layout::Pool;
    let found = group.spares.to_string();
    let expected = "0: without redundancy there is nothing to rebuild a drive from";
    let of_use = pool || group.shape(Bytes::ZERO).tolerance() > 0;
    require(of_use || group.spares == 0, &format!("{path}.spares"), expected, &found)?;
    let expected = "0: a pool keeps its spare distributed, see spare_share";
    require(!pool || group.spares == 0, &format!("{path}.spares"), expected, &found)?;
    within(f64::from(group.spares), 0.0, 256.0, &format!("{path}.spares"), "0 to 256")?;
    let share = format!("{path}.spare_share");
    within(group.spare_share, 0.0, 0.9, &share, "a ratio from 0 to 0.9")?;
    let expected = "0: only pools keep their spare distributed, others have spares";
    require(pool || group.spare_share == 0.0, &share, expected, &group.spare_share.to_string())
}
