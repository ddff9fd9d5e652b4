//! A clock that costs about ten nanoseconds.
//!
//! Where the processor says that its time stamp counter runs evenly (CPUID 8000_0007h, EDX bit 8, in the manuals of
//! both makers) we read that, calibrated against the system's monotonic clock; the calibration is within a few parts
//! per million. Elsewhere it is the system's clock. Clones on other threads agree with each other.

use storscope_device::{Clock, SystemClock};
use storscope_types::Nanos;

/// The time stamp counter where it can be trusted, else the system's clock.
#[derive(Debug, Clone, Copy)]
pub struct FastClock {
    system: SystemClock,
    counter: Option<Counter>,
}

/// Nanoseconds are `(ticks - base) * nanos_per_tick / 2^32`.
#[derive(Debug, Clone, Copy)]
struct Counter {
    base: u64,
    nanos_per_tick: u64,
}

impl FastClock {
    /// Starts at zero now. Calibration takes 20 ms.
    #[must_use]
    pub fn start() -> Self {
        let system = SystemClock::start();
        Self { system, counter: Counter::calibrate(system) }
    }

    /// Which clock it is.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.counter.is_some() { "tsc" } else { "monotonic" }
    }
}

impl Clock for FastClock {
    #[inline]
    fn now(&self) -> Nanos {
        match self.counter {
            Some(counter) => counter.nanos(ticks()),
            None => self.system.now(),
        }
    }

    fn sleep_until(&self, instant: Nanos) {
        let wait = instant.since(self.now());
        if wait > Nanos::ZERO {
            std::thread::sleep(std::time::Duration::from_nanos(wait.0));
        }
    }
}

impl Counter {
    const CALIBRATION: Nanos = Nanos::from_millis(20);

    fn calibrate(system: SystemClock) -> Option<Self> {
        if !counter_is_even() {
            return None;
        }
        let (first_nanos, first_ticks) = simultaneous(system);
        system.sleep_until(Nanos(first_nanos) + Self::CALIBRATION);
        let (second_nanos, second_ticks) = simultaneous(system);
        let span_ticks = u128::from(second_ticks.checked_sub(first_ticks).filter(|&ticks| ticks > 0)?);
        let nanos_per_tick = ((u128::from(second_nanos - first_nanos) << 32) / span_ticks) as u64;
        let base = first_ticks.wrapping_sub(((u128::from(first_nanos) << 32) / u128::from(nanos_per_tick)) as u64);
        Some(Self { base, nanos_per_tick })
    }

    #[inline]
    fn nanos(self, ticks: u64) -> Nanos {
        Nanos(((u128::from(ticks.wrapping_sub(self.base)) * u128::from(self.nanos_per_tick)) >> 32) as u64)
    }
}

/// Both clocks at the same instant: of ten attempts the one that took least time.
fn simultaneous(system: SystemClock) -> (u64, u64) {
    let attempt = |_| {
        let before = ticks();
        let nanos = system.now().0;
        let after = ticks();
        (after.wrapping_sub(before), nanos, before.wrapping_add(after.wrapping_sub(before) / 2))
    };
    let (_, nanos, ticks) = (0..10).map(attempt).min().unwrap_or_default();
    (nanos, ticks)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86_64 processor has the instruction, and Linux leaves it to user space.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "x86_64")]
fn counter_is_even() -> bool {
    use core::arch::x86_64::__cpuid;
    const INVARIANT: u32 = 1 << 8;
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & INVARIANT != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_even() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_systems_clock() {
        let clock = FastClock::start();
        clock.system.sleep_until(Nanos::from_millis(200));
        // The thread may be held up between two readings, but not each time.
        let difference = |_| (clock.now().0 as f64 - clock.system.now().0 as f64).abs();
        let least = (0..20).map(difference).fold(f64::INFINITY, f64::min);
        assert!(least < 20_000.0, "{least} ns apart after 0.2 s");
    }

    #[test]
    fn it_never_goes_back() {
        let clock = FastClock::start();
        let instants: Vec<Nanos> = (0..100_000).map(|_| clock.now()).collect();
        assert!(instants.is_sorted());
    }
}
