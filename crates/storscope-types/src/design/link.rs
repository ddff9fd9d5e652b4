//! Links: bandwidth and latency.

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// The links of an array.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinksDesign {
    /// Between hosts and each controller; both directions at the same time.
    #[serde(default)]
    pub front_end: Option<LinkDesign>,
    /// Between each controller and the drives; one direction at a time, as on a loop, unless it is `duplex`.
    #[serde(default)]
    pub back_end: Option<LinkDesign>,
    /// Between the controllers: mirrored writes and proxied I/Os; one direction at a time unless it is `duplex`.
    #[serde(default)]
    pub mirror: Option<LinkDesign>,
}

/// A link, by name or by figures. What is given beside a preset replaces its figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkDesign {
    /// A usual link.
    #[serde(default)]
    pub preset: Option<LinkPreset>,
    /// Payload of one port.
    #[serde(default)]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Time a transfer takes that does not occupy the link: of command, acknowledgement and interrupts together.
    #[serde(default, rename = "latency_ns")]
    pub latency: Option<Nanos>,
    /// Ports side by side; an I/O uses one. 1 to 64.
    #[serde(default = "super::array::one")]
    pub ports: u32,
    /// Whether both directions go at the same time, each at the bandwidth. Not of front-end links, of which they always do.
    #[serde(default, skip_serializing_if = "is_false")]
    pub duplex: bool,
}

/// Designs without it look as before.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Usual links. Rates are payload: 8b/10b Fibre Channel carries 100 MB/s per Gbit/s of its name (FC-PI-4, FC-PI-5 for
/// 16GFC with 64b/66b; FC-PI-6 and FC-PI-7 for 32GFC and 64GFC, from memory); TCP over Ethernet with frames of 1,500
/// bytes carries 1,448 of 1,538 bytes on the wire, with 9,000 bytes 8,948 of 9,038. Latencies are estimates of a quiet
/// path (10 to 30 µs for FC, 60 to 150 µs for iSCSI with a software initiator).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkPreset {
    /// 2 Gbit Fibre Channel.
    Fc2,
    /// 4 Gbit Fibre Channel.
    Fc4,
    /// 8 Gbit Fibre Channel.
    Fc8,
    /// 16 Gbit Fibre Channel.
    Fc16,
    /// 32 Gbit Fibre Channel.
    Fc32,
    /// 64 Gbit Fibre Channel.
    Fc64,
    /// iSCSI over 1 Gbit Ethernet, MTU 1,500.
    Iscsi1,
    /// iSCSI over 1 Gbit Ethernet, MTU 9,000.
    Iscsi1Jumbo,
    /// iSCSI over 10 Gbit Ethernet, MTU 1,500.
    Iscsi10,
    /// iSCSI over 10 Gbit Ethernet, MTU 9,000.
    Iscsi10Jumbo,
    /// iSCSI over 25 Gbit Ethernet, MTU 1,500.
    Iscsi25,
    /// iSCSI over 25 Gbit Ethernet, MTU 9,000.
    Iscsi25Jumbo,
}

impl LinkPreset {
    /// Payload of a port in bytes per second, and latency.
    #[must_use]
    pub fn figures(self) -> (f64, Nanos) {
        match self {
            Self::Fc2 => (200e6, Nanos::from_micros(20)),
            Self::Fc4 => (400e6, Nanos::from_micros(20)),
            Self::Fc8 => (800e6, Nanos::from_micros(15)),
            Self::Fc16 => (1_600e6, Nanos::from_micros(10)),
            Self::Fc32 => (3_200e6, Nanos::from_micros(10)),
            Self::Fc64 => (6_400e6, Nanos::from_micros(10)),
            Self::Iscsi1 => (125e6 * 1_448.0 / 1_538.0, Nanos::from_micros(120)),
            Self::Iscsi1Jumbo => (125e6 * 8_948.0 / 9_038.0, Nanos::from_micros(120)),
            Self::Iscsi10 => (1_250e6 * 1_448.0 / 1_538.0, Nanos::from_micros(80)),
            Self::Iscsi10Jumbo => (1_250e6 * 8_948.0 / 9_038.0, Nanos::from_micros(80)),
            Self::Iscsi25 => (3_125e6 * 1_448.0 / 1_538.0, Nanos::from_micros(80)),
            Self::Iscsi25Jumbo => (3_125e6 * 8_948.0 / 9_038.0, Nanos::from_micros(80)),
        }
    }
}

impl LinkDesign {
    /// Payload of a port in bytes per second; absent: no limit.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        self.bandwidth_bytes_per_s.or(self.preset.map(|preset| preset.figures().0))
    }

    /// The latency; zero where nothing is said.
    #[must_use]
    pub fn latency(&self) -> Nanos {
        self.latency.or(self.preset.map(|preset| preset.figures().1)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::LinkPreset;

    #[test]
    fn the_links_of_today_carry_what_their_names_say_less_the_frames() {
        let carried = |preset: LinkPreset| preset.figures().0 / 1e6;
        assert_eq!([LinkPreset::Fc16, LinkPreset::Fc32, LinkPreset::Fc64].map(carried), [1_600.0, 3_200.0, 6_400.0]);
        for (ten, more) in
            [(LinkPreset::Iscsi10, LinkPreset::Iscsi25), (LinkPreset::Iscsi10Jumbo, LinkPreset::Iscsi25Jumbo)]
        {
            assert!((carried(more) / carried(ten) - 2.5).abs() < 1e-9);
        }
    }
}
