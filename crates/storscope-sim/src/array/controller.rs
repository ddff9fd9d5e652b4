//! Controllers and links as stations, and what they cost.

use storscope_types::Nanos;
use storscope_types::design::{ControllerDesign, LinkDesign};

/// A time that grows with the bytes: a part that is fixed, and nanoseconds per MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    fixed: u64,
    per_mib: u64,
}

impl Cost {
    /// From nanoseconds per operation and per KiB.
    #[must_use]
    pub fn new(per_op_ns: f64, per_kib_ns: f64) -> Self {
        Self { fixed: per_op_ns.round() as u64, per_mib: (per_kib_ns * 1_024.0).round() as u64 }
    }

    /// Of so many bytes.
    #[inline]
    #[must_use]
    pub const fn of(self, bytes: u64) -> Nanos {
        Nanos(self.fixed + ((bytes as u128 * self.per_mib as u128) >> 20) as u64)
    }

    /// Whether nothing costs anything.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        self.fixed == 0 && self.per_mib == 0
    }
}

/// A link: its station, and the time of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Index of the station.
    pub station: u16,
    /// Time of a transfer.
    pub transfer: Cost,
}

impl Link {
    /// With a station that is already there.
    #[must_use]
    pub fn new(station: u16, design: &LinkDesign) -> Self {
        Self::of_rate(station, design.bandwidth())
    }

    /// The same, of so many bytes per second.
    #[must_use]
    pub fn of_rate(station: u16, bytes_per_s: Option<f64>) -> Self {
        let per_kib_ns = bytes_per_s.map_or(0.0, |rate| 1_024e9 / rate);
        Self { station, transfer: Cost::new(0.0, per_kib_ns) }
    }
}

/// A controller at work.
#[derive(Debug, Clone, Default)]
pub struct Controller {
    /// Its name.
    pub name: String,
    /// Index of the station; none when nothing costs anything.
    pub cpu: Option<u16>,
    /// From the hosts.
    pub front_in: Option<Link>,
    /// To the hosts.
    pub front_out: Option<Link>,
    /// To the drives, and from them: one link twice if it carries one direction at a time.
    pub back: Option<[Link; 2]>,
    /// A host I/O.
    pub op: Cost,
    /// A host I/O that is handed on.
    pub proxy: Cost,
    /// Parity computation.
    pub parity: Cost,
    /// Whether times are exponential, not constant.
    pub exponential: bool,
    /// Index of the limit of its ports.
    pub limit: Option<u16>,
    /// Whether its volumes' writes go through.
    pub cache_lost: bool,
    /// Whether they do because it is the only one that works.
    pub is_alone: bool,
    /// Whether it has failed.
    pub failed: bool,
    /// When I/Os that are sent to it go to another one; until then they wait.
    pub silent_until: Nanos,
}

impl Controller {
    /// Without stations.
    #[must_use]
    pub fn new(design: &ControllerDesign) -> Self {
        let proxy = design.proxy_cost_per_op_ns.unwrap_or(design.cost_per_op_ns);
        Self {
            name: design.name.clone(),
            op: Cost::new(design.cost_per_op_ns, design.cost_per_kib_ns),
            proxy: Cost::new(proxy, design.cost_per_kib_ns),
            parity: Cost::new(0.0, design.parity_cost_per_kib_ns),
            exponential: design.cv > 0.5,
            ..Self::default()
        }
    }

    /// Whether it never takes time.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.op.is_nothing() && self.proxy.is_nothing() && self.parity.is_nothing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_transfer_over_a_slow_link_takes_as_long_as_it_does() {
        let link = Link::of_rate(0, Some(1_000.0));
        assert_eq!(link.transfer.of(64 << 20).0, 67_108_864_000_000);
        assert_eq!(Cost::new(5.0, 1e9).of(64 << 20).0, 65_536 * 1_000_000_000 + 5);
    }
}
