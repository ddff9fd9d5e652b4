//! Background work and changes.

use std::collections::BTreeSet;

use super::paths::{DesignFault, require, within};
use super::rate_limits::check_limits;
use super::{check_rate, known, unique};
use crate::Bytes;
use crate::design::{ArrayDesign, BackgroundDesign, BackgroundKind, ChangeDesign, HostDesign, Layout, LimitsChange};

impl ArrayDesign {
    pub(super) fn check_background(&self) -> Result<(), DesignFault> {
        unique(self.background.iter().map(|task| &task.name), "background")?;
        for (index, task) in self.background.iter().enumerate() {
            let path = format!("background[{index}]");
            self.check_task(task, &path)?;
            let is_rebuild = |task: &&BackgroundDesign| task.kind == BackgroundKind::Rebuild;
            let mut before = self.background[..index].iter().filter(is_rebuild);
            let other = before.find(|other| is_rebuild(&task) && other.group == task.group);
            let expected = other.map_or_else(String::new, |other| {
                format!("one rebuild for a group: {:?} rebuilds all drives of {} that fail", other.name, task.group)
            });
            require(other.is_none(), &format!("{path}.group"), &expected, "another")?;
        }
        Ok(())
    }

    fn check_task(&self, task: &BackgroundDesign, path: &str) -> Result<(), DesignFault> {
        let names = self.groups.iter().map(|group| group.name.as_str());
        known(&task.group, names, &format!("{path}.group"), "group")?;
        let Some(group) = self.groups.iter().find(|group| group.name == task.group) else { return Ok(()) };
        let size = self.drive_of(group).map_or(Bytes::ZERO, |drive| drive.size());
        let shape = group.shape(size);
        let expected = "a group with redundancy";
        let rebuilds = task.kind == BackgroundKind::Rebuild;
        require(!rebuilds || shape.tolerance() > 0, &format!("{path}.group"), expected, &task.group)?;
        let moves = task.kind == BackgroundKind::Restripe;
        let several = "a group of several drives: on a single one there is nowhere to move to";
        require(!moves || group.count > 1, &format!("{path}.group"), several, &task.group)?;
        let outstanding = format!("{path}.outstanding");
        task.outstanding.map_or(Ok(()), |count| within(f64::from(count), 1.0, 256.0, &outstanding, "1 to 256"))?;
        let share = format!("{path}.share");
        require(task.share > 0.0 && task.share <= 1.0, &share, "a ratio above 0, at most 1", &task.share.to_string())?;
        check_rate(task.rate_bytes_per_s, &format!("{path}.rate_bytes_per_s"))?;
        let chunk = task.chunk.map_or(group.segment.0, |chunk| chunk.0);
        let sound = chunk > 0 && chunk.is_multiple_of(group.segment.0) && chunk <= size.0 && chunk <= 1 << 30;
        let single = rebuilds || group.layout != Layout::Pool || chunk == group.segment.0;
        let expected =
            "nothing: stripes of a pool are scrubbed and moved one by one; outstanding says how many at a time";
        require(single, &format!("{path}.chunk_bytes"), expected, &chunk.to_string())?;
        let expected = format!("a multiple of the segment of {} bytes, at most 1 GiB and a drive", group.segment.0);
        require(sound, &format!("{path}.chunk_bytes"), &expected, &chunk.to_string())
    }

    pub(super) fn check_changes(&self) -> Result<(), DesignFault> {
        for (index, change) in self.changes.iter().enumerate() {
            self.check_change(change, &format!("changes[{index}]"))?;
        }
        self.check_one_controller_works()
    }

    /// At no time may all controllers have failed: I/Os would wait for ever.
    fn check_one_controller_works(&self) -> Result<(), DesignFault> {
        let mut in_order: Vec<(usize, &ChangeDesign)> = self.changes.iter().enumerate().collect();
        in_order.sort_by_key(|(_, change)| change.time);
        let mut failed = BTreeSet::new();
        for (index, change) in in_order {
            if let Some(name) = &change.controller_returns {
                failed.remove(name.as_str());
            }
            let Some(failure) = &change.controller_fails else { continue };
            failed.insert(failure.controller.as_str());
            let path = format!("changes[{index}].controller_fails.controller");
            let expected = "a controller besides which another one works: without any, no I/O ends";
            let found = format!("{:?}, the last of {}", failure.controller, self.controllers.len());
            require(failed.len() < self.controllers.len(), &path, expected, &found)?;
        }
        Ok(())
    }

    fn check_change(&self, change: &ChangeDesign, path: &str) -> Result<(), DesignFault> {
        let given = [
            change.drive_fails.is_some(),
            change.cache_lost.is_some(),
            change.cache_restored.is_some(),
            change.flash_cache_lost.is_some(),
            change.flash_cache_restored.is_some(),
            change.controller_fails.is_some(),
            change.controller_returns.is_some(),
            change.volume_moves.is_some(),
            change.limits_change.is_some(),
            change.background_starts.is_some(),
            change.background_stops.is_some(),
        ];
        let count = given.iter().filter(|&&given| given).count();
        let expected = "one of drive_fails, cache_lost, cache_restored, flash_cache_lost, flash_cache_restored, \
                        controller_fails, controller_returns, volume_moves, limits_change, background_starts, background_stops";
        let found = if count == 0 { "none of them".to_owned() } else { format!("{count} of them") };
        require(count == 1, path, expected, &found)?;
        self.check_names(change, path)
    }

    fn check_limits_change(&self, change: &LimitsChange, path: &str) -> Result<(), DesignFault> {
        let (expected, both) = ("volume or host: whose limits change", "both");
        let found = if change.volume.is_some() { both } else { "neither" };
        require(change.volume.is_some() != change.host.is_some(), path, expected, found)?;
        if let Some(volume) = &change.volume {
            let names = self.volumes.iter().map(|volume| volume.name.as_str());
            known(volume, names, &format!("{path}.volume"), "volume")?;
        }
        if let Some(host) = &change.host {
            let names = self.hosts.iter().map(|host| host.name.as_str());
            known(host, names, &format!("{path}.host"), "host")?;
        }
        check_limits(&change.rate_limits(), path, change.volume.is_some()).map(|_| ())
    }

    fn check_names(&self, change: &ChangeDesign, path: &str) -> Result<(), DesignFault> {
        for (name, key) in [
            (&change.cache_lost, "cache_lost"),
            (&change.cache_restored, "cache_restored"),
            (&change.controller_returns, "controller_returns"),
        ] {
            name.as_ref().map_or(Ok(()), |name| self.known_controller(name, &format!("{path}.{key}")))?;
        }
        let has_flash = |host: &&HostDesign| host.volumes.iter().any(|one| one.flash_cache.is_some());
        let hosts = || self.hosts.iter().filter(has_flash).map(|host| host.name.as_str());
        for (name, key) in
            [(&change.flash_cache_lost, "flash_cache_lost"), (&change.flash_cache_restored, "flash_cache_restored")]
        {
            let path = format!("{path}.{key}");
            name.as_ref().map_or(Ok(()), |name| known(name, hosts(), &path, "host with a flash_cache"))?;
        }
        let tasks = || self.background.iter().map(|task| task.name.as_str());
        for (name, key) in
            [(&change.background_starts, "background_starts"), (&change.background_stops, "background_stops")]
        {
            let path = format!("{path}.{key}");
            name.as_ref().map_or(Ok(()), |name| known(name, tasks(), &path, "background task"))?;
        }
        if let Some(failure) = &change.controller_fails {
            self.known_controller(&failure.controller, &format!("{path}.controller_fails.controller"))?;
        }
        if let Some(to) = &change.volume_moves {
            let volumes = self.volumes.iter().map(|volume| volume.name.as_str());
            known(&to.volume, volumes, &format!("{path}.volume_moves.volume"), "volume")?;
            self.known_controller(&to.to, &format!("{path}.volume_moves.to"))?;
        }
        if let Some(limits) = &change.limits_change {
            self.check_limits_change(limits, &format!("{path}.limits_change"))?;
        }
        let Some(drive) = &change.drive_fails else { return Ok(()) };
        let names = self.groups.iter().map(|group| group.name.as_str());
        known(&drive.group, names, &format!("{path}.drive_fails.group"), "group")?;
        let Some(group) = self.groups.iter().find(|group| group.name == drive.group) else { return Ok(()) };
        let index = format!("{path}.drive_fails.index");
        let is_spare = (group.count..group.count.saturating_add(group.spares)).contains(&drive.index);
        let why = if is_spare { ", a spare, and spares do not fail" } else { "" };
        let (expected, found) = (format!("0 to {}", group.count - 1), format!("{}{why}", drive.index));
        require(drive.index < group.count, &index, &expected, &found)
    }
}
