//! What makes a design impossible, said with the path of the key.

mod background;
mod groups;
mod paths;
mod rate_limits;
mod sizes;

use std::collections::BTreeSet;

use super::array::{ArrayDesign, ControllerDesign};
use super::cache::{CacheDesign, Placement};
use super::link::LinkDesign;
use crate::Bytes;

pub use paths::DesignFault;
use paths::{require, within};
pub(crate) use sizes::told_apart;

/// Most volumes, and most places where a host sees one: the simulator numbers them in 16 bits, and what they have several of.
const MOST_VOLUMES: usize = 16_384;
/// Most controllers, for the same reason.
const MOST_CONTROLLERS: usize = 256;
/// Most pages or blocks of a memory.
const MOST_PIECES: u64 = 100_000_000;

impl ArrayDesign {
    /// Whether the design can be simulated. Drives of a catalogue must have been added to the design's own.
    ///
    /// # Errors
    /// The first key that does not make sense, or contradicts another.
    pub fn check(&self) -> Result<(), DesignFault> {
        for (name, drive) in &self.drives {
            drive.check().map_err(|error| DesignFault {
                path: format!("drives.{name}.{}", error.path),
                expected: error.expected,
                found: error.found,
            })?;
        }
        require(!self.name.trim().is_empty(), "name", "a name, as reports will show it", "an empty one")?;
        self.check_groups()?;
        self.check_controllers()?;
        self.check_volumes()?;
        self.check_links()?;
        self.check_cache()?;
        self.check_hosts()?;
        self.check_rate_limits()?;
        self.check_background()?;
        self.check_changes()
    }

    fn check_controllers(&self) -> Result<(), DesignFault> {
        unique(self.controllers.iter().map(|controller| &controller.name), "controllers")?;
        at_most(self.controllers.len(), MOST_CONTROLLERS, "controllers", "256 controllers at most")?;
        for (index, controller) in self.controllers.iter().enumerate() {
            check_controller(controller, &format!("controllers[{index}]"))?;
        }
        let Some(transition) = &self.transition else { return Ok(()) };
        let several = self.controllers.len() > 1;
        require(several, "transition", "two controllers to move volumes between", &self.controllers.len().to_string())?;
        within(transition.proxied_share, 0.0, 1.0, "transition.proxied_share", "a ratio from 0 to 1")?;
        require(transition.window.0 > 0, "transition.window_ns", "a duration above 0", "0")
    }

    fn check_links(&self) -> Result<(), DesignFault> {
        for (link, path) in [
            (&self.links.front_end, "links.front_end"),
            (&self.links.back_end, "links.back_end"),
            (&self.links.mirror, "links.mirror"),
        ] {
            link.as_ref().map_or(Ok(()), |link| check_link(link, path))?;
        }
        let apart = self.links.front_end.is_some_and(|link| link.duplex);
        let expected = "nothing: both directions of a front-end link are apart already";
        require(!apart, "links.front_end.duplex", expected, "true")?;
        let several = self.controllers.len() > 1;
        let expected = "nothing, or a second controller at the other end of it";
        let found =
            if self.controllers.is_empty() { "a link without controllers" } else { "a link with one controller" };
        require(several || self.links.mirror.is_none(), "links.mirror", expected, found)
    }

    fn check_cache(&self) -> Result<(), DesignFault> {
        let Some(cache) = &self.cache else { return Ok(()) };
        let page = cache.page.0;
        // What is held is known in 32 parts of a page: 4 KiB of the greatest, which is what small I/Os have.
        within(page as f64, 512.0, f64::from(128 << 10), "cache.page_bytes", "512 bytes to 128 KiB")?;
        for (index, group) in self.groups.iter().enumerate() {
            let path = format!("groups[{index}].segment_bytes");
            let [page_size] = told_apart([page]);
            let expected = format!("a multiple of the cache's page of {page_size}");
            require(group.segment.0.is_multiple_of(page), &path, &expected, &group.segment.0.to_string())?;
        }
        let both = self.controllers.len() != 1 || cache.write.as_ref().is_none_or(|write| !write.mirrored);
        let expected = "false, or a second controller that holds the copies; one that only stands by costs nothing";
        require(both, "cache.write.mirrored", expected, "true with one controller")?;
        check_write_back(cache)?;
        check_reads(cache)
    }

    fn check_hosts(&self) -> Result<(), DesignFault> {
        require(!self.hosts.is_empty(), "hosts", "at least one host", "none")?;
        unique(self.hosts.iter().map(|host| &host.name), "hosts")?;
        let mut attachments = 0;
        for (index, host) in self.hosts.iter().enumerate() {
            let path = format!("hosts[{index}]");
            attachments += host.volumes.len();
            at_most(attachments, MOST_VOLUMES, &path, "hosts that see 16,384 volumes at most, each host's counted")?;
            require(!host.volumes.is_empty(), &format!("{path}.volumes"), "at least one volume", "none")?;
            for (limit, key) in [(host.queue_limit, "queue_limit"), (host.adapter_queue_limit, "adapter_queue_limit")] {
                check_limit(limit, &format!("{path}.{key}"))?;
            }
            for (at, attachment) in host.volumes.iter().enumerate() {
                let path = format!("{path}.volumes[{at}]");
                let again = host.volumes[..at].iter().any(|other| other.volume == attachment.volume);
                let found = format!("{:?} again", attachment.volume);
                require(!again, &format!("{path}.volume"), "each volume once: a host sees it as one", &found)?;
                self.check_attachment(attachment, &path)?;
            }
        }
        Ok(())
    }

    fn check_attachment(&self, attachment: &super::AttachmentDesign, path: &str) -> Result<(), DesignFault> {
        let volumes = self.volumes.iter().map(|volume| volume.name.as_str());
        known(&attachment.volume, volumes, &format!("{path}.volume"), "volume")?;
        if let Some(via) = &attachment.via {
            self.known_controller(via, &format!("{path}.via"))?;
        }
        check_limit(attachment.queue_limit, &format!("{path}.queue_limit"))?;
        let Some(flash) = &attachment.flash_cache else { return Ok(()) };
        let path = format!("{path}.flash_cache");
        let block = flash.block.0;
        let sound = block.is_power_of_two() && (512..=128 << 10).contains(&block);
        let expected = "a power of two from 512 bytes to 128 KiB";
        require(sound, &format!("{path}.block_bytes"), expected, &block.to_string())?;
        room(flash.size, flash.block, 1, "blocks", &format!("{path}.size_bytes"))?;
        within(f64::from(flash.parallel), 1.0, 64.0, &format!("{path}.parallel"), "1 to 64")?;
        check_rate(flash.bandwidth_bytes_per_s, &format!("{path}.bandwidth_bytes_per_s"))
    }

    pub(super) fn known_controller(&self, name: &str, path: &str) -> Result<(), DesignFault> {
        known(name, self.controllers.iter().map(|controller| controller.name.as_str()), path, "controller")
    }
}

fn check_controller(controller: &ControllerDesign, path: &str) -> Result<(), DesignFault> {
    within(f64::from(controller.servers), 1.0, 64.0, &format!("{path}.servers"), "1 to 64")?;
    let proxy = controller.proxy_cost_per_op_ns.unwrap_or(0.0);
    for (cost, key) in [
        (controller.cost_per_op_ns, "cost_per_op_ns"),
        (controller.cost_per_kib_ns, "cost_per_kib_ns"),
        (controller.parity_cost_per_kib_ns, "parity_cost_per_kib_ns"),
        (proxy, "proxy_cost_per_op_ns"),
    ] {
        within(cost, 0.0, 1e9, &format!("{path}.{key}"), "0 to 1 s")?;
    }
    let constant_or_exponential = controller.cv == 0.0 || controller.cv == 1.0;
    let expected = "0 (constant) or 1 (exponential)";
    require(constant_or_exponential, &format!("{path}.cv"), expected, &controller.cv.to_string())?;
    check_limit(controller.queue_limit, &format!("{path}.queue_limit"))
}

fn check_link(link: &LinkDesign, path: &str) -> Result<(), DesignFault> {
    let says = link.preset.is_some() || link.bandwidth_bytes_per_s.is_some() || link.latency.is_some();
    require(says, path, "a preset, a bandwidth or a latency", "none of them")?;
    check_rate(link.bandwidth_bytes_per_s, &format!("{path}.bandwidth_bytes_per_s"))?;
    within(f64::from(link.ports), 1.0, 64.0, &format!("{path}.ports"), "1 to 64")?;
    within(link.latency().0 as f64, 0.0, 1e10, &format!("{path}.latency_ns"), "0 to 10 s")
}

fn check_write_back(cache: &CacheDesign) -> Result<(), DesignFault> {
    let Some(write) = &cache.write else { return Ok(()) };
    // Mirroring halves what it holds.
    let copies = if write.mirrored { 2 } else { 1 };
    room(write.size, Bytes(cache.page.0 * copies), 8, "pages", "cache.write.size_bytes")?;
    let run = write.run().0 as f64;
    within(run, 512.0, (64 << 20) as f64, "cache.write.run_bytes", "512 bytes to 64 MiB")?;
    let takes_run = write.placement != Placement::Log;
    let expected = "nothing: a log (placement = \"log\") writes one full stripe at a time";
    require(takes_run || write.run.is_none(), "cache.write.run_bytes", expected, "a run")?;
    let (low, high) = (write.low_watermark, write.high_watermark);
    within(high, 0.0, 1.0, "cache.write.high_watermark", "a ratio from 0 to 1")?;
    within(low, 0.0, high, "cache.write.low_watermark", "a ratio, at most the high watermark")?;
    let most = write.destages.unwrap_or(1);
    within(f64::from(most), 1.0, 65_536.0, "cache.write.destages", "1 to 65,536")
}

fn check_reads(cache: &CacheDesign) -> Result<(), DesignFault> {
    if let Some(read) = &cache.read {
        let one = read.size.is_some() != read.hit_ratio.is_some();
        require(one, "cache.read", "a size or a hit ratio", if read.size.is_some() { "both" } else { "neither" })?;
        within(read.hit_ratio.unwrap_or(0.0), 0.0, 1.0, "cache.read.hit_ratio", "a ratio from 0 to 1")?;
        read.size.map_or(Ok(()), |size| room(size, cache.page, 1, "pages", "cache.read.size_bytes"))?;
    }
    let Some(prefetch) = &cache.prefetch else { return Ok(()) };
    within(f64::from(prefetch.streams), 1.0, 256.0, "cache.prefetch.streams", "1 to 256")?;
    let page = cache.page.0;
    let [page_size] = told_apart([page]);
    let expected = format!("a page of {page_size} to 1 GB");
    within(prefetch.depth.0 as f64, page as f64, 1e9, "cache.prefetch.depth_bytes", &expected)?;
    within(f64::from(prefetch.trigger), 1.0, 1e3, "cache.prefetch.trigger", "1 to 1,000 reads")?;
    let least = 2 * prefetch.depth.0;
    let sound = prefetch.size.is_none_or(|size| size.0 >= least && size.0 <= MOST_PIECES * page);
    let found = prefetch.size.map_or(0, |size| size.0).to_string();
    let [least_size, most_size] = told_apart([least, MOST_PIECES * page]);
    let expected = format!("{least_size}, room for twice the depth, to {most_size}, 100,000,000 pages");
    require(sound, "cache.prefetch.size_bytes", &expected, &found)
}

/// Whether memory has room for some pieces, and not for more than can be kept in order.
fn room(size: Bytes, piece: Bytes, least: u64, pieces: &str, path: &str) -> Result<(), DesignFault> {
    let (least_bytes, most_bytes) = (least * piece.0, MOST_PIECES * piece.0);
    let [from, to] = told_apart([least_bytes, most_bytes]);
    let expected = format!("{from} to {to}, room for {least} to 100,000,000 {pieces}");
    require((least_bytes..=most_bytes).contains(&size.0), path, &expected, &size.0.to_string())
}

fn check_limit(limit: Option<u32>, path: &str) -> Result<(), DesignFault> {
    within(f64::from(limit.unwrap_or(1)), 1.0, 65_536.0, path, "1 to 65,536")
}

pub(super) fn check_rate(rate: Option<f64>, path: &str) -> Result<(), DesignFault> {
    within(rate.unwrap_or(1e6), 1e3, 1e13, path, "1 kB/s to 10 TB/s")
}

/// A list, or what lists hold together, is not too long.
pub(super) fn at_most(count: usize, most: usize, path: &str, expected: &str) -> Result<(), DesignFault> {
    require(count <= most, path, expected, &count.to_string())
}

pub(super) fn unique<'names>(names: impl Iterator<Item = &'names String>, list: &str) -> Result<(), DesignFault> {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        let path = format!("{list}[{index}].name");
        require(!name.is_empty(), &path, "a name", "an empty one")?;
        require(seen.insert(name), &path, "a name of its own", &format!("{name:?} again"))?;
    }
    Ok(())
}

pub(super) fn known<'names>(
    name: &str,
    names: impl Iterator<Item = &'names str>,
    path: &str,
    what: &str,
) -> Result<(), DesignFault> {
    let names: Vec<&str> = names.collect();
    let expected = match names.as_slice() {
        [] => format!("the name of a {what}, of which there are none"),
        names => format!("the name of a {what}: {}", names.join(", ")),
    };
    require(names.contains(&name), path, &expected, &format!("{name:?}"))
}
