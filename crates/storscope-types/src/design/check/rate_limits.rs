//! Limits of rates.

use super::paths::{DesignFault, require, within};
use super::{MOST_VOLUMES, at_most, check_rate};
use crate::design::{ArrayDesign, HostDesign, RateLimitDesign, RateLimits, VolumeDesign};

impl ArrayDesign {
    pub(super) fn check_rate_limits(&self) -> Result<(), DesignFault> {
        let volumes = self.volumes.iter().map(VolumeDesign::rate_limits);
        let hosts = self.hosts.iter().map(HostDesign::rate_limits);
        let named = |list: &'static str| move |(index, limits)| (format!("{list}[{index}]"), limits);
        let all = volumes.enumerate().map(named("volumes")).chain(hosts.enumerate().map(named("hosts")));
        // A change may bring all three.
        let mut count = 3 * self.changes.iter().filter(|change| change.limits_change.is_some()).count();
        for (path, limits) in all {
            count += check_limits(&limits, &path, path.starts_with("volumes"))?;
            at_most(count, MOST_VOLUMES, &path, "16,384 limits of rates at most")?;
        }
        Ok(())
    }
}

/// How many there are, of a volume or of a host.
pub(super) fn check_limits(limits: &RateLimits, path: &str, of_volume: bool) -> Result<usize, DesignFault> {
    limits.by_key().try_for_each(|(key, limit)| check_limit(&limit, &format!("{path}.{key}"), of_volume))?;
    Ok(limits.by_key().count())
}

fn check_limit(limit: &RateLimitDesign, path: &str, of_volume: bool) -> Result<(), DesignFault> {
    let says = limit.iops.is_some() || limit.bandwidth_bytes_per_s.is_some();
    let of_host = "nothing: a preset is of a volume, whose size it needs; iops, a bandwidth, or both";
    require(limit.preset.is_none() || of_volume, &format!("{path}.preset"), of_host, "a preset")?;
    require(says, path, "iops, a bandwidth, or both, or a preset", "neither")?;
    check_iops(limit.iops, &format!("{path}.iops"))?;
    check_rate(limit.bandwidth_bytes_per_s, &format!("{path}.bandwidth_bytes_per_s"))?;
    if let Some(unit) = limit.io_unit {
        let path = format!("{path}.io_unit_bytes");
        require(limit.iops.is_some(), &path, "iops beside it, of which it says how they are counted", "none")?;
        within(unit.0 as f64, 512.0, f64::from(1 << 30), &path, "512 bytes to 1 GiB")?;
    }
    let merges = format!("{path}.merge_sequential");
    let of_unit = "io_unit beside it, up to which I/Os are put together";
    require(!limit.merge_sequential || limit.io_unit.is_some(), &merges, of_unit, "none")?;
    check_burst(limit, path)
}

fn check_burst(limit: &RateLimitDesign, path: &str) -> Result<(), DesignFault> {
    let bursts = [
        (limit.burst_iops, limit.iops, "burst_iops", "iops"),
        (limit.burst_bandwidth_bytes_per_s, limit.bandwidth_bytes_per_s, "burst_bandwidth_bytes_per_s", "bandwidth"),
    ];
    for (burst, rate, key, of) in bursts {
        let Some(burst) = burst else { continue };
        let key = format!("{path}.{key}");
        let Some(rate) = rate else {
            return require(false, &key, &format!("{of} beside it, which holds when the credits are spent"), "none");
        };
        require(burst > rate, &key, &format!("more than {of}, which is allowed without credits"), &burst.to_string())?;
    }
    check_iops(limit.burst_iops, &format!("{path}.burst_iops"))?;
    check_rate(limit.burst_bandwidth_bytes_per_s, &format!("{path}.burst_bandwidth_bytes_per_s"))?;
    let is_burst = limit.burst_iops.is_some() || limit.burst_bandwidth_bytes_per_s.is_some();
    for (given, key) in [(limit.burst_for.is_some(), "burst_for_ns"), (limit.burst_left.is_some(), "burst_left")] {
        let expected = "burst_iops or burst_bandwidth beside it";
        require(is_burst || !given, &format!("{path}.{key}"), expected, "none of them")?;
    }
    let lasts = limit.burst_for.is_some_and(|time| time.0 > 0);
    let found = if limit.burst_for.is_some() { "0" } else { "nothing" };
    require(
        !is_burst || lasts,
        &format!("{path}.burst_for_ns"),
        "how long the burst lasts, such as \"30 min\"",
        found,
    )?;
    let lasts_ns = limit.burst_for.map_or(1e9, |time| time.0 as f64);
    within(lasts_ns, 1e6, 1e17, &format!("{path}.burst_for_ns"), "1 ms to 3 years")?;
    within(limit.burst_left.unwrap_or(1.0), 0.0, 1.0, &format!("{path}.burst_left"), "a ratio from 0 to 1")
}

fn check_iops(iops: Option<f64>, path: &str) -> Result<(), DesignFault> {
    within(iops.unwrap_or(1.0), 0.001, 1e8, path, "0.001 to 100,000,000 per second")
}
