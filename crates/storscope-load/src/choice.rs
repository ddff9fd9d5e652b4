//! Which engine makes a stream's I/Os, and why.

use std::fmt::Write;

use storscope_types::Nanos;

/// Above this share of I/Os handed over, threads are the better engine unless a trial says otherwise.
const MOST_HANDED_OVER: f64 = 0.5;
/// And it says otherwise where the other engine takes less than this share of the time. What differs less differs between
/// two trials, too, and runs that are to be compared should have the same engine.
const CLEARLY_LESS: f64 = 0.8;

/// An engine, with the reason where it is not a ring that the kernel serves itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Ring {
        reason: Option<String>,
        /// Whether the kernel hands most I/Os to threads of its own.
        is_handed_over: bool,
    },
    Threads(Option<String>),
}

impl Choice {
    /// A ring that is not known to hand anything over.
    pub const PLAIN_RING: Self = Self::Ring { reason: None, is_handed_over: false };

    /// Whether the kernel hands most I/Os to threads of its own, of which it handed over this share.
    pub fn is_handed_over(share: f64) -> bool {
        share > MOST_HANDED_OVER
    }

    /// Where there is no choice, and the kernel hands a share of the ring's I/Os to threads.
    pub fn ring_as_asked(handed_over: f64) -> Self {
        Self::Ring { reason: Some(handing_over(handed_over)), is_handed_over: Self::is_handed_over(handed_over) }
    }

    /// Where the kernel hands a share of a ring's I/Os to threads, by the mean responses on both engines.
    pub fn of_trial(handed_over: f64, on_ring: Option<Nanos>, on_threads: Option<Nanos>) -> Self {
        let most = Self::is_handed_over(handed_over);
        let mut reason = handing_over(handed_over);
        let mut with_threads = most;
        if let (Some(ring), Some(threads)) = (on_ring, on_threads) {
            with_threads = if most { !is_clearly_less(ring, threads) } else { is_clearly_less(threads, ring) };
            let (ring, threads) = (microseconds(ring), microseconds(threads));
            let _ = write!(reason, "; they took {ring} so in a trial, and {threads} with threads of ours");
        }
        if with_threads {
            Self::Threads(Some(reason))
        } else {
            Self::Ring { reason: Some(reason), is_handed_over: most }
        }
    }
}

fn handing_over(share: f64) -> String {
    let many = if Choice::is_handed_over(share) { "most" } else { "some" };
    format!("the kernel hands {many} of this target's ring I/Os to threads of its own")
}

fn is_clearly_less(time: Nanos, other: Nanos) -> bool {
    (time.0 as f64) < CLEARLY_LESS * other.0 as f64
}

/// With three digits.
fn microseconds(time: Nanos) -> String {
    let time = time.0 as f64 / 1e3;
    let decimals = if time < 9.995 { 2 } else { usize::from(time < 99.95) };
    format!("{time:.decimals$} µs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(handed_over: f64, on_ring: u64, on_threads: u64) -> &'static str {
        match Choice::of_trial(handed_over, Some(Nanos(on_ring)), Some(Nanos(on_threads))) {
            Choice::Ring { .. } => "ring",
            Choice::Threads(_) => "threads",
        }
    }

    #[test]
    fn what_is_clearly_quicker_is_taken() {
        assert_eq!([engine(1.0, 45_000, 2_000), engine(0.3, 14_000, 2_000)], ["threads"; 2]);
        assert_eq!([engine(1.0, 60_000, 160_000), engine(0.3, 60_000, 160_000)], ["ring"; 2]);
    }

    #[test]
    fn what_hardly_differs_is_decided_by_what_is_handed_over() {
        assert_eq!([engine(1.0, 95_000, 100_000), engine(1.0, 100_000, 95_000)], ["threads"; 2]);
        assert_eq!([engine(0.3, 95_000, 100_000), engine(0.3, 100_000, 95_000)], ["ring"; 2]);
    }

    #[test]
    fn without_a_trial_so_is_it() {
        let hands = |many| Some(format!("the kernel hands {many} of this target's ring I/Os to threads of its own"));
        assert_eq!(Choice::of_trial(1.0, None, None), Choice::Threads(hands("most")));
        let ring = Choice::Ring { reason: hands("some"), is_handed_over: false };
        assert_eq!(Choice::of_trial(0.5, None, Some(Nanos(1))), ring);
    }

    #[test]
    fn the_reason_tells_both_times() {
        let choice = Choice::of_trial(1.0, Some(Nanos(9_996)), Some(Nanos(99_951)));
        let Choice::Ring { reason: Some(reason), is_handed_over: true } = choice else { panic!() };
        assert!(reason.ends_with("they took 10.0 µs so in a trial, and 100 µs with threads of ours"), "{reason}");
    }
}
