//! Limits of rates: what a volume or a host is allowed, whatever the array could do.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// A limit of the rate of I/Os, of bytes, or of both: the size of a cloud volume, the quality of service of an array, the
/// share of a virtual machine.
///
/// I/Os pass one after the other, each at the earliest instant that all figures allow; those that come too fast wait in
/// turn. An I/O that comes alone does not wait. With a burst there is a bucket of credits that fills at the allowed rate
/// and holds what the burst takes beyond it in `burst_for`; while there are credits, I/Os pass at the rate of the burst.
/// That is the leaky bucket of ITU-T I.371 (GCRA), and what providers describe: gp2 of AWS has 5.4 million credits, so its
/// burst of 3,000 I/Os per second lasts 5.4 million / (3,000 - allowed rate) seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimitDesign {
    /// A kind of cloud volume, whose figures follow from its size; what is given beside it replaces its figure.
    #[serde(default)]
    pub preset: Option<RateLimitPreset>,
    /// I/Os per second. Absent: no limit.
    #[serde(default)]
    pub iops: Option<f64>,
    /// Bytes per second. Absent: no limit.
    #[serde(default)]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Bytes up to which an I/O counts as one; a larger one counts as several. Absent: every I/O counts as one.
    #[serde(default, rename = "io_unit_bytes")]
    pub io_unit: Option<Bytes>,
    /// Whether an I/O that begins where an earlier one ended counts by its share of `io_unit` alone, as if both had been one:
    /// providers put what is sequential together before they count it.
    #[serde(default)]
    pub merge_sequential: bool,
    /// I/Os per second while there are credits. Absent: as without.
    #[serde(default)]
    pub burst_iops: Option<f64>,
    /// Bytes per second while there are credits. Absent: as without.
    #[serde(default)]
    pub burst_bandwidth_bytes_per_s: Option<f64>,
    /// How long a full bucket lasts at the rate of the burst.
    #[serde(default, rename = "burst_for_ns")]
    pub burst_for: Option<Nanos>,
    /// Share of the bucket that is filled when the run begins. Absent: all of it.
    #[serde(default)]
    pub burst_left: Option<f64>,
}

/// Volumes of providers, as documented; recalled, not read again in 2026.
///
/// AWS: "Amazon EBS volume types", "Amazon EBS I/O characteristics". Azure: "Azure managed disk types" and "Managed disk
/// bursting". Both count an I/O of up to 256 KiB as one, on disks of AWS (st1, sc1) of up to 1 MiB, and AWS merges what is
/// sequential before. AWS counts MiB/s, Azure MB/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimitPreset {
    /// 3 I/Os per second for each GiB, 100 at least and 16,000 at most; below 1,000 GiB bursts of 3,000 with 5.4 million
    /// credits; 128 MiB/s up to 170 GiB, then 250.
    EbsGp2,
    /// 3,000 I/Os per second and 125 MiB/s, whatever the size; more is bought.
    EbsGp3,
    /// 40 MiB/s for each TiB, bursts of 250 for each, 500 at most; credits for as many bytes as it has. Counted in I/Os of 1 MiB:
    /// a small one that is not sequential costs as much as a whole one.
    EbsSt1,
    /// 12 MiB/s for each TiB, bursts of 80 for each, 192 and 250 at most; the rest as of `EbsSt1`.
    EbsSc1,
    /// Premium SSD by its tier, P1 to P80; up to P20 (512 GiB) bursts of 3,500 I/Os per second and 170 MB/s for 30 minutes.
    AzurePremium,
}

/// Premium SSD: GiB at most, I/Os per second, MB/s.
const AZURE_PREMIUM: [(u64, f64, f64); 11] = [
    (32, 120.0, 25.0),
    (64, 240.0, 50.0),
    (128, 500.0, 100.0),
    (256, 1_100.0, 125.0),
    (512, 2_300.0, 150.0),
    (1_024, 5_000.0, 200.0),
    (2_048, 7_500.0, 250.0),
    (4_096, 7_500.0, 250.0),
    (8_192, 16_000.0, 500.0),
    (16_384, 18_000.0, 750.0),
    (u64::MAX, 20_000.0, 900.0),
];

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_024.0 * MIB;
const TIB: f64 = 1_024.0 * GIB;

impl RateLimitPreset {
    /// The figures of a volume of this size.
    #[must_use]
    pub fn figures(self, size: Bytes) -> RateLimitDesign {
        let bytes = size.0 as f64;
        let none = RateLimitDesign { io_unit: Some(Bytes::from_kib(256)), ..RateLimitDesign::default() };
        let merging = RateLimitDesign { merge_sequential: true, ..none };
        match self {
            Self::EbsGp2 => {
                let iops = (3.0 * (bytes / GIB).round()).clamp(100.0, 16_000.0);
                let (burst, bandwidth) = (3_000.0, if bytes <= 170.0 * GIB { 128.0 } else { 250.0 });
                let plain =
                    RateLimitDesign { iops: Some(iops), bandwidth_bytes_per_s: Some(bandwidth * MIB), ..merging };
                if iops >= burst {
                    return plain;
                }
                RateLimitDesign { burst_iops: Some(burst), burst_for: Some(seconds(5.4e6 / (burst - iops))), ..plain }
            }
            Self::EbsGp3 => {
                RateLimitDesign { iops: Some(3_000.0), bandwidth_bytes_per_s: Some(125.0 * MIB), ..merging }
            }
            Self::EbsSt1 => by_size(bytes, [40.0, 250.0], [500.0, 500.0]),
            Self::EbsSc1 => by_size(bytes, [12.0, 80.0], [192.0, 250.0]),
            Self::AzurePremium => {
                let tier = AZURE_PREMIUM.iter().find(|tier| bytes <= tier.0 as f64 * GIB);
                let &(most_gib, iops, bandwidth) = tier.unwrap_or(&AZURE_PREMIUM[AZURE_PREMIUM.len() - 1]);
                let plain = RateLimitDesign { iops: Some(iops), bandwidth_bytes_per_s: Some(bandwidth * 1e6), ..none };
                if most_gib > 512 {
                    return plain;
                }
                RateLimitDesign {
                    burst_iops: Some(3_500.0),
                    burst_bandwidth_bytes_per_s: Some(170e6),
                    burst_for: Some(seconds(1_800.0)),
                    ..plain
                }
            }
        }
    }
}

/// A limit of I/Os of 1 MiB that grows with the size, allowed and in a burst: so many for each TiB, and at most. The credits
/// are for as many bytes as the volume has.
fn by_size(bytes: f64, [allowed, burst]: [f64; 2], [most_allowed, most_burst]: [f64; 2]) -> RateLimitDesign {
    let rate = |per_tib: f64, most: f64| (per_tib * bytes / TIB).min(most);
    let (allowed, burst) = (rate(allowed, most_allowed), rate(burst, most_burst));
    let io_unit = Some(Bytes::from_mib(1));
    let plain = RateLimitDesign { iops: Some(allowed), io_unit, merge_sequential: true, ..RateLimitDesign::default() };
    if burst <= allowed {
        return plain;
    }
    RateLimitDesign { burst_iops: Some(burst), burst_for: Some(seconds(bytes / MIB / (burst - allowed))), ..plain }
}

fn seconds(time: f64) -> Nanos {
    Nanos((time * 1e9).round() as u64)
}

impl RateLimitDesign {
    /// The same with the figures of its preset where none are given. A burst whose rate is bought away goes.
    #[must_use]
    pub fn for_size(self, size: Bytes) -> Self {
        let Some(preset) = self.preset else { return self };
        let known = preset.figures(size);
        let iops = self.iops.or(known.iops);
        let bandwidth_bytes_per_s = self.bandwidth_bytes_per_s.or(known.bandwidth_bytes_per_s);
        let above = |burst: Option<f64>, rate: Option<f64>| burst.filter(|burst| rate.is_none_or(|rate| *burst > rate));
        let burst_iops = self.burst_iops.or(above(known.burst_iops, iops));
        let burst_bandwidth_bytes_per_s =
            self.burst_bandwidth_bytes_per_s.or(above(known.burst_bandwidth_bytes_per_s, bandwidth_bytes_per_s));
        let is_burst = burst_iops.is_some() || burst_bandwidth_bytes_per_s.is_some();
        Self {
            preset: self.preset,
            iops,
            bandwidth_bytes_per_s,
            io_unit: self.io_unit.or(known.io_unit).filter(|_| iops.is_some()),
            merge_sequential: self.merge_sequential || (known.merge_sequential && iops.is_some()),
            burst_iops,
            burst_bandwidth_bytes_per_s,
            burst_for: self.burst_for.or(known.burst_for.filter(|_| is_burst)),
            burst_left: self.burst_left,
        }
    }
}

/// The limits of a volume or a host: of all its I/Os, and of each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateLimits {
    /// Of reads and writes together.
    pub all: Option<RateLimitDesign>,
    /// Of reads.
    pub reads: Option<RateLimitDesign>,
    /// Of writes.
    pub writes: Option<RateLimitDesign>,
}

impl RateLimits {
    /// Each with the name of its key.
    pub fn by_key(&self) -> impl Iterator<Item = (&'static str, RateLimitDesign)> {
        let keys = [("limit", self.all), ("read_limit", self.reads), ("write_limit", self.writes)];
        keys.into_iter().filter_map(|(key, limit)| limit.map(|limit| (key, limit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(preset: RateLimitPreset, gib: u64) -> RateLimitDesign {
        RateLimitDesign { preset: Some(preset), ..RateLimitDesign::default() }.for_size(Bytes(gib << 30))
    }

    /// I/Os per second, MiB/s, and the seconds that a burst lasts.
    fn figures(limit: &RateLimitDesign) -> (Option<f64>, Option<f64>, Option<u64>) {
        let mib = limit.bandwidth_bytes_per_s.map(|rate| rate / MIB);
        (limit.iops, mib, limit.burst_for.map(|time| time.0 / Nanos::SECOND.0))
    }

    #[test]
    fn figures_are_those_of_the_tables_of_the_providers() {
        // The table of durations in AWS's page on gp2: 100 GiB last 2,000 s, 250 GiB 2,400 s, 500 GiB 3,600 s, 750 GiB 7,200 s.
        for (gib, iops, lasts) in
            [(100, 300.0, 2_000), (250, 750.0, 2_400), (500, 1_500.0, 3_600), (750, 2_250.0, 7_200)]
        {
            let limit = of(RateLimitPreset::EbsGp2, gib);
            assert_eq!((limit.iops, limit.burst_iops), (Some(iops), Some(3_000.0)), "{gib} GiB");
            assert_eq!(figures(&limit).2, Some(lasts), "{gib} GiB");
        }
        assert_eq!(figures(&of(RateLimitPreset::EbsGp2, 10)), (Some(100.0), Some(128.0), Some(1_862)));
        assert_eq!(figures(&of(RateLimitPreset::EbsGp2, 1_000)), (Some(3_000.0), Some(250.0), None));
        assert_eq!(figures(&of(RateLimitPreset::EbsGp2, 9_000)), (Some(16_000.0), Some(250.0), None));
        assert_eq!(figures(&of(RateLimitPreset::EbsGp3, 9_000)), (Some(3_000.0), Some(125.0), None));
        // A TiB of st1: 40 MiB/s, bursts of 250 until a TiB of credits is gone.
        assert_eq!(figures(&of(RateLimitPreset::EbsSt1, 1_024)), (Some(40.0), None, Some(4_993)));
        assert_eq!(of(RateLimitPreset::EbsSt1, 1_024).io_unit, Some(Bytes::from_mib(1)));
        assert_eq!(figures(&of(RateLimitPreset::EbsSt1, 13_000)), (Some(500.0), None, None));
        assert_eq!(figures(&of(RateLimitPreset::EbsSc1, 16_384)).0, Some(192.0));
    }

    #[test]
    fn a_disk_of_azure_has_the_tier_that_its_size_needs() {
        let tier = |gib| {
            let limit = of(RateLimitPreset::AzurePremium, gib);
            (
                limit.iops.unwrap_or_default() as u32,
                limit.bandwidth_bytes_per_s.unwrap_or_default() / 1e6,
                limit.burst_iops,
            )
        };
        assert_eq!(tier(4), (120, 25.0, Some(3_500.0)));
        assert_eq!(tier(129), (1_100, 125.0, Some(3_500.0)));
        assert_eq!(tier(512), (2_300, 150.0, Some(3_500.0)));
        assert_eq!(tier(1_024), (5_000, 200.0, None));
        assert_eq!(tier(32_767), (20_000, 900.0, None));
    }

    #[test]
    fn what_is_bought_replaces_what_a_preset_has() {
        let bought = RateLimitDesign {
            preset: Some(RateLimitPreset::EbsGp3),
            iops: Some(6_000.0),
            ..RateLimitDesign::default()
        };
        assert_eq!(figures(&bought.for_size(Bytes(1 << 40))), (Some(6_000.0), Some(125.0), None));
        let faster = RateLimitDesign {
            preset: Some(RateLimitPreset::EbsGp2),
            iops: Some(4_000.0),
            ..RateLimitDesign::default()
        };
        assert_eq!(faster.for_size(Bytes(100 << 30)).burst_for, None);
        assert_eq!(faster.for_size(Bytes(100 << 30)).for_size(Bytes(100 << 30)), faster.for_size(Bytes(100 << 30)));
    }
}
