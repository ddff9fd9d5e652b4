//! What a run gave, and whether it can be trusted.

use std::mem::discriminant;

use serde::Serialize;
use storscope_types::{Load, Nanos, Stream, Workload, counted};

use crate::tally::{Interval, Tally};
use crate::task::Ending;
use crate::usage::Usage;

/// Lateness may be this share of the response time before the generator, not the storage, is measured: of arrivals by
/// both p99, of a closed loop by both means, see [`lateness_doubts`].
const TOLERATED_LATENESS: f64 = 0.05;
/// Places in the queues of a closed loop that hold an I/O for less of the time pause in between: think time, delays.
const MOST_WITHOUT_PAUSES: f64 = 0.9;
/// Arrivals that may be left over at the end, as a share: more means that the queue grew.
const TOLERATED_UNSENT: f64 = 0.01;
/// Arrivals that the end may cut off while they wait longer than p99, as a share: p99 has as many above it.
const TOLERATED_UNANSWERED: f64 = 0.01;

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct RunResult {
    /// UTC, since 1970.
    pub started_unix_ns: u64,
    /// Sum of the intervals of all workers, without what was drained after the end.
    pub total: Interval,
    /// What was in flight at the end.
    pub drain: Interval,
    /// Counts of all workers.
    pub ending: Ending,
    /// How the I/Os of each stream were made.
    pub engines: Vec<EngineUsed>,
    /// Which clock timed them.
    pub clock: &'static str,
    /// CPU and context switches of the whole process during the run: includes kernel workers of rings, and whatever
    /// else the process did.
    pub process_usage: Usage,
    /// Why the figures may not mean what they say.
    pub doubts: Vec<Doubt>,
    /// Whether the latencies are meaningless because of a doubt.
    pub valid: bool,
    /// What latencies that are not valid still say.
    pub latency_bound: Option<LatencyBound>,
    /// Streams whose own latencies are meaningless, by index: see [`invalid_streams`].
    pub invalid_streams: Vec<u32>,
    /// Why the latencies of single streams are, where no doubt of all tells it.
    pub stream_doubts: Vec<StreamDoubt>,
}

/// A doubt about one stream, which is too small a part of the run to show in its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StreamDoubt {
    /// The stream's index.
    pub stream: u32,
    /// What is doubtful about it.
    #[serde(flatten)]
    pub doubt: Doubt,
}

/// What latencies that do not mean what they say are of those that the storage would have given at the load asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyBound {
    /// They are too high: arrivals waited for the generator. Sent earlier they would not have been done later, taken
    /// together: a drive that chooses among those that wait has more to choose from.
    Upper,
    /// They are too low: those that waited longest are not among them.
    Lower,
    /// They are those of a queue with as many places as the workload allows: the wait for a place is in them. With more
    /// places the storage might have done more at a time, or have let them wait itself.
    Limited,
}

/// How a stream's I/Os were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineUsed {
    /// The stream's index.
    pub stream: u32,
    /// `io_uring`, `threads` or `null`.
    pub engine: &'static str,
    /// Why, if it is not what was asked for or expected.
    pub reason: Option<String>,
    /// Whether the ring's buffers were registered.
    pub registered_buffers: bool,
}

/// A reason not to trust a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Doubt {
    /// The generator added too much of its own.
    GeneratorLate {
        /// Lateness, 99th percentile.
        lateness_ns_p99: u64,
        /// Response, 99th percentile.
        response_ns_p99: u64,
        /// Whether the place in the queue was missing, not the time.
        queue_was_full: bool,
    },
    /// The generator left places in the queue of a closed loop empty.
    PlacesEmpty {
        /// Mean lateness.
        lateness_ns_mean: f64,
        /// Mean response.
        response_ns_mean: f64,
        /// Share of the time that a place was empty because of it, on average.
        empty_share: f64,
    },
    /// A closed loop that pauses (think time, delays): what its places miss is little, but its I/Os left late after their
    /// pauses, and that is much of their response.
    MeanLate {
        /// Mean lateness.
        lateness_ns_mean: f64,
        /// Mean response, of which that is a part.
        response_ns_mean: f64,
        /// Response, median.
        response_ns_p50: u64,
        /// Mean service.
        service_ns_mean: f64,
        /// Service, median.
        service_ns_p50: u64,
        /// Service, 99th percentile.
        service_ns_p99: u64,
    },
    /// The slowest I/Os of a closed loop were slow because of the generator.
    TailLate {
        /// Response, 99th percentile.
        response_ns_p99: u64,
        /// Service, 99th percentile.
        service_ns_p99: u64,
    },
    /// More arrived than was sent: an open queue would grow for ever.
    Overloaded {
        /// Arrivals that were never sent.
        unsent: u64,
        /// How long the first of them had waited at the end.
        oldest_unsent_ns: u64,
    },
    /// The end came while many arrivals waited: an open loop that stood still.
    Unanswered {
        /// Arrivals that were not done at the end, and waited longer than `response_ns_p99`.
        waiting: u64,
        /// All arrivals.
        arrivals: u64,
        /// How long the first of them waited: until it was done, or until the end if it was never sent.
        oldest_ns: u64,
        /// Response, 99th percentile, of those that were done.
        response_ns_p99: u64,
    },
    /// I/Os failed; they have no latency.
    Failures {
        /// How many.
        failed: u64,
    },
    /// Nothing was measured.
    Empty,
}

impl Doubt {
    /// Whether it makes the latencies meaningless.
    #[must_use]
    pub fn invalidates(&self) -> bool {
        !matches!(self, Self::Failures { .. } | Self::MeanLate { .. } | Self::TailLate { .. })
    }

    /// What is still sure of latencies that it makes meaningless. Of empty places nothing is: the response is longer for
    /// the delay, but fewer were at the storage.
    fn latency_bound(&self) -> Option<LatencyBound> {
        match self {
            Self::GeneratorLate { queue_was_full: true, .. } => Some(LatencyBound::Limited),
            Self::GeneratorLate { queue_was_full: false, .. } => Some(LatencyBound::Upper),
            Self::Overloaded { .. } | Self::Unanswered { .. } => Some(LatencyBound::Lower),
            _ => None,
        }
    }

    /// The same of a run in virtual time, where an arrival leaves late for nothing but a full queue.
    #[must_use]
    pub(crate) fn in_virtual_time(self) -> Self {
        match self {
            Self::GeneratorLate { lateness_ns_p99, response_ns_p99, .. } => {
                Self::GeneratorLate { lateness_ns_p99, response_ns_p99, queue_was_full: true }
            }
            other => other,
        }
    }

    /// What it means and what to do.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::GeneratorLate { lateness_ns_p99, response_ns_p99, queue_was_full } => {
                let cause = if *queue_was_full {
                    "the queue was full; allow more outstanding I/Os or ask for less"
                } else {
                    "the generator was too slow; use more workers, or a quieter machine"
                };
                format!("I/Os left {lateness_ns_p99} ns late at p99, of a response of {response_ns_p99} ns: {cause}")
            }
            Self::PlacesEmpty { lateness_ns_mean, response_ns_mean, empty_share } => {
                let percent = 100.0 * empty_share;
                format!(
                    "the generator left each place in the queue empty for {percent:.0} % of the time (I/Os left \
                     {lateness_ns_mean:.0} ns late on average, of a response of {response_ns_mean:.0} ns), so that the \
                     rate is lower than the storage's by up to as much: use fewer workers, or a quieter machine"
                )
            }
            Self::MeanLate {
                lateness_ns_mean,
                response_ns_mean,
                response_ns_p50,
                service_ns_mean,
                service_ns_p50,
                service_ns_p99,
            } => format!(
                "the response ({response_ns_mean:.0} ns on average, {response_ns_p50} ns at p50) has delays of the generator \
                 in it: after their pauses (think time, delays) I/Os left {lateness_ns_mean:.0} ns late on average; the \
                 storage alone took {service_ns_mean:.0} ns on average, {service_ns_p50} ns at p50 and {service_ns_p99} ns \
                 at p99, the service; the rate is right"
            ),
            Self::TailLate { response_ns_p99, service_ns_p99 } => format!(
                "the response at p99, {response_ns_p99} ns, has delays of the generator in it; the storage alone took \
                 {service_ns_p99} ns at p99, the service"
            ),
            Self::Overloaded { unsent, oldest_unsent_ns } => {
                let seconds = *oldest_unsent_ns as f64 / 1e9;
                format!(
                    "{} never sent, the first waited {seconds:.3} s: the load is above what the storage does, and \
                     latency depends on how long the run is",
                    counted(*unsent, "arrival was", "arrivals were")
                )
            }
            Self::Unanswered { waiting, arrivals, oldest_ns, response_ns_p99 } => {
                let (percent, seconds) = (100.0 * *waiting as f64 / *arrivals as f64, *oldest_ns as f64 / 1e9);
                format!(
                    "{} at the end and {} in no latency ({percent:.0} % of all; the first waited {seconds:.3} s, of a \
                     response of {response_ns_p99} ns at p99): the storage stood still or fell behind, and a longer run \
                     tells how long that lasts",
                    counted(*waiting, "arrival was not done", "arrivals were not done"),
                    if *waiting == 1 { "is" } else { "are" }
                )
            }
            Self::Failures { failed } => {
                format!("{} in no latency", counted(*failed, "I/O failed and is", "I/Os failed and are"))
            }
            Self::Empty => "no I/O completed".to_owned(),
        }
    }
}

/// What the latencies of a run with these doubts still say; none where they are valid, or doubted in more than one way.
///
/// A queue that is full because the storage falls behind is no doubt of its own.
#[must_use]
pub fn latency_bound(doubts: &[Doubt]) -> Option<LatencyBound> {
    let bounds = || doubts.iter().filter(|doubt| doubt.invalidates()).map(Doubt::latency_bound);
    let among = |bound| bounds().any(|one| one == Some(bound));
    let all = |allowed: &[LatencyBound]| bounds().all(|one| one.is_some_and(|one| allowed.contains(&one)));
    let found =
        [LatencyBound::Lower, LatencyBound::Limited, LatencyBound::Upper].into_iter().find(|&one| among(one))?;
    let beside: &[LatencyBound] = if found == LatencyBound::Lower { &[found, LatencyBound::Limited] } else { &[found] };
    all(beside).then_some(found)
}

/// What is doubtful about a total, what was drained after it and how it ended. `fullest` is the mean number in flight of
/// the part in which it was greatest.
#[must_use]
pub fn doubts(interval: &Interval, drain: &Interval, ending: &Ending, workload: &Workload, fullest: f64) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    doubts.extend(lateness_doubts_of_part(interval, workload, fullest));
    let flushes = interval.flushes().ios + drain.flushes().ios;
    doubts.extend(overload_doubt(ending, flushes).or_else(|| unanswered_doubt(interval, drain, ending, workload)));
    if interval.failed() > 0 {
        doubts.push(Doubt::Failures { failed: interval.failed() });
    }
    doubts
}

/// No arrivals are among what was submitted: `flushes`, which follow what arrived.
fn overload_doubt(ending: &Ending, flushes: u64) -> Option<Doubt> {
    let arrivals = ending.submitted.saturating_sub(flushes) + ending.unsent;
    let oldest_unsent_ns = ending.oldest_unsent.unwrap_or(Nanos::ZERO).0;
    (ending.unsent as f64 > TOLERATED_UNSENT * arrivals as f64)
        .then_some(Doubt::Overloaded { unsent: ending.unsent, oldest_unsent_ns })
}

/// Whether p99 would be higher with the arrivals that the end cut off.
///
/// Some of what is in flight at any instant is slower than p99. More than a hundredth of all arrivals, and more than are in
/// flight on average (by Little's law the sum of the responses over the time), were held up together.
fn unanswered_doubt(interval: &Interval, drain: &Interval, ending: &Ending, workload: &Workload) -> Option<Doubt> {
    let (done, drained) = (tally_where(interval, workload, true), tally_where(drain, workload, true));
    let response_ns_p99 = done.response.quantile(0.99).unwrap_or(0);
    let oldest_unsent_ns = ending.oldest_unsent.unwrap_or(Nanos::ZERO).0;
    let unsent = if oldest_unsent_ns > response_ns_p99 { ending.unsent } else { 0 };
    let waiting = drained.response.count_above(response_ns_p99) + unsent;
    let arrivals = done.ios + drained.ios + ending.unsent;
    let in_flight = done.response.sum() as f64 / interval.duration.0 as f64;
    let oldest_ns = oldest_unsent_ns.max(drained.response.max().unwrap_or(0));
    (waiting as f64 > in_flight.max(TOLERATED_UNANSWERED * arrivals as f64)).then_some(Doubt::Unanswered {
        waiting,
        arrivals,
        oldest_ns,
        response_ns_p99,
    })
}

/// What lateness does to the figures of an interval or a total.
///
/// Where requests arrive, one that leaves late has waited for the generator, and a user would have: lateness that shows
/// in the response makes it meaningless. In a closed loop nobody waits; there is only a place in the queue that is empty
/// until the next I/O leaves. By the interactive response time law, N = X (S + L + Z) for N places, a rate X, a mean
/// service S, a mean lateness L and a mean think time Z (Denning and Buzen 1978, ACM Computing Surveys 10(3); Lazowska et
/// al. 1984, Quantitative System Performance, 3.6), so places are empty for X L / N of the time because of the generator,
/// and the rate is lower by about as much. Rare delays hardly move the means: they stand in the tail of the response
/// alone, which is said, and the service is free of them.
#[must_use]
pub fn lateness_doubts(interval: &Interval, workload: &Workload) -> Vec<Doubt> {
    lateness_doubts_of_part(interval, workload, interval.outstanding_mean)
}

/// Where the queue was full for a part only, as at the last of several rates, its arrivals are the late ones.
fn lateness_doubts_of_part(interval: &Interval, workload: &Workload, fullest: f64) -> Vec<Doubt> {
    if interval.ios() == 0 {
        return vec![Doubt::Empty];
    }
    let of = |is_open: bool| tally_where(interval, workload, is_open);
    let full = || fullest > 0.9 * open_slots(workload);
    let place_ns = closed_slots(interval, workload) * interval.duration.0 as f64;
    let flushes = flushes_of_closed(interval, workload);
    arrivals_doubt(&of(true), full).into_iter().chain(closed_doubt(&of(false), &flushes, place_ns)).collect()
}

/// What makes the latencies of single streams meaningless: each is judged by its own I/Os. A stream without any has none.
///
/// Whether its queue was full is told by the mean number that the storage had of it, by Little's law.
#[must_use]
pub fn lateness_of_streams(interval: &Interval, workload: &Workload) -> Vec<StreamDoubt> {
    let doubts_of = |(index, stream): (usize, &Stream)| {
        let alone = Workload { streams: vec![stream.clone()], ..workload.clone() };
        let own = interval.of_stream(index as u32);
        let in_flight = tally_where(&own, &alone, stream.load.is_open()).service.sum() as f64 / own.duration.0 as f64;
        let found = if own.ios() == 0 { Vec::new() } else { lateness_doubts_of_part(&own, &alone, in_flight) };
        let invalid = found.into_iter().filter(Doubt::invalidates);
        invalid.map(move |doubt| StreamDoubt { stream: index as u32, doubt }).collect::<Vec<_>>()
    };
    workload.streams.iter().enumerate().flat_map(doubts_of).collect()
}

/// Streams whose own latencies are meaningless, by index: those that were late by themselves, and all that a doubt is
/// about which nobody can tell apart. Arrivals that were never sent or not done are counted of all open loops together;
/// lateness that shows in the I/Os of all loops of a kind and in those of none alone is of all of them.
#[must_use]
pub fn invalid_streams(doubts: &[Doubt], late: &[StreamDoubt], workload: &Workload) -> Vec<u32> {
    let is_late = |index: u32| late.iter().any(|one| one.stream == index);
    let alike = |is_open: bool| (0..).zip(&workload.streams).filter(move |(_, one)| one.load.is_open() == is_open);
    let shared = |doubt: &Doubt, is_open: bool| match doubt {
        Doubt::Empty => true,
        Doubt::Overloaded { .. } | Doubt::Unanswered { .. } => is_open,
        Doubt::GeneratorLate { .. } => is_open && !alike(true).any(|(index, _)| is_late(index)),
        Doubt::PlacesEmpty { .. } => !is_open && !alike(false).any(|(index, _)| is_late(index)),
        Doubt::MeanLate { .. } | Doubt::TailLate { .. } | Doubt::Failures { .. } => false,
    };
    let is_invalid =
        |index: u32, stream: &Stream| is_late(index) || doubts.iter().any(|doubt| shared(doubt, stream.load.is_open()));
    (0..).zip(&workload.streams).filter(|&(index, stream)| is_invalid(index, stream)).map(|(index, _)| index).collect()
}

/// Of the doubts about streams those of a kind that no doubt of all is of.
#[must_use]
pub fn not_told_of_all(late: Vec<StreamDoubt>, doubts: &[Doubt]) -> Vec<StreamDoubt> {
    let is_told = |own: &Doubt| doubts.iter().any(|one| discriminant(one) == discriminant(own));
    late.into_iter().filter(|one| !is_told(&one.doubt)).collect()
}

/// The I/Os of all open loops, or of all closed ones, without flushes.
fn tally_where(interval: &Interval, workload: &Workload, is_open: bool) -> Tally {
    let mut all = Tally::default();
    let fits = |stream: u32| workload.streams[stream as usize].load.is_open() == is_open;
    interval.cells.iter().filter(|cell| fits(cell.stream)).for_each(|cell| {
        all.merge(&cell.reads);
        all.merge(&cell.writes);
    });
    all
}

/// The flushes of all closed loops: they hold the places of their writes.
fn flushes_of_closed(interval: &Interval, workload: &Workload) -> Tally {
    let mut all = Tally::default();
    let is_closed = |stream: u32| !workload.streams[stream as usize].load.is_open();
    let cells = interval.cells.iter().filter(|cell| is_closed(cell.stream));
    cells.filter_map(|cell| cell.flushes.as_ref()).for_each(|flushes| all.merge(flushes));
    all
}

fn arrivals_doubt(all: &Tally, queue_was_full: impl FnOnce() -> bool) -> Option<Doubt> {
    let (lateness_ns_p99, response_ns_p99) = (all.lateness.quantile(0.99)?, all.response.quantile(0.99)?);
    (lateness_ns_p99 as f64 > TOLERATED_LATENESS * response_ns_p99 as f64).then(|| Doubt::GeneratorLate {
        lateness_ns_p99,
        response_ns_p99,
        queue_was_full: queue_was_full(),
    })
}

/// `place_ns` is the time of all places together, which I/Os and flushes hold in turn.
fn closed_doubt(all: &Tally, flushes: &Tally, place_ns: f64) -> Option<Doubt> {
    let (lateness_ns_mean, response_ns_mean) = (all.lateness.mean()?, all.response.mean()?);
    let empty_share = (all.lateness.sum() + flushes.lateness.sum()) as f64 / place_ns;
    if empty_share > TOLERATED_LATENESS {
        return Some(Doubt::PlacesEmpty { lateness_ns_mean, response_ns_mean, empty_share });
    }
    let (response_ns_p99, service_ns_p99) = (all.response.quantile(0.99)?, all.service.quantile(0.99)?);
    let (response_ns_p50, service_ns_p50) = (all.response.quantile(0.5)?, all.service.quantile(0.5)?);
    let is_longer = |response: u64, service: u64| response as f64 > (1.0 + TOLERATED_LATENESS) * service as f64;
    let pauses = ((all.response.sum() + flushes.response.sum()) as f64) < MOST_WITHOUT_PAUSES * place_ns;
    let is_late = lateness_ns_mean > TOLERATED_LATENESS * response_ns_mean;
    if pauses && (is_late || is_longer(response_ns_p50, service_ns_p50)) {
        let service_ns_mean = all.service.mean()?;
        return Some(Doubt::MeanLate {
            lateness_ns_mean,
            response_ns_mean,
            response_ns_p50,
            service_ns_mean,
            service_ns_p50,
            service_ns_p99,
        });
    }
    is_longer(response_ns_p99, service_ns_p99).then_some(Doubt::TailLate { response_ns_p99, service_ns_p99 })
}

/// Places in the queues of all closed loops. A stream without targets of its own has those of its cells.
fn closed_slots(interval: &Interval, workload: &Workload) -> f64 {
    let cells = |index: usize| interval.cells.iter().filter(|cell| cell.stream as usize == index).count();
    let closed = workload.streams.iter().enumerate().filter(|(_, stream)| !stream.load.is_open());
    let slots = closed.map(|(index, stream)| {
        let targets = if stream.targets.is_empty() { cells(index) } else { stream.targets.len() };
        stream.load.slots_per_worker(targets) as f64 * f64::from(stream.workers)
    });
    slots.sum()
}

/// Places in the queues of all open loops; none in a closed loop can be missing.
fn open_slots(workload: &Workload) -> f64 {
    let slots = workload.streams.iter().map(|stream| match stream.load {
        Load::Closed { .. } => f64::INFINITY,
        Load::Open { max_outstanding, .. } | Load::Steps { max_outstanding, .. } => {
            f64::from(max_outstanding) * f64::from(stream.workers)
        }
    });
    slots.sum()
}

#[cfg(test)]
mod tests {
    use super::Doubt;

    #[test]
    fn what_is_counted_is_told_in_words() {
        let unsent = |unsent| Doubt::Overloaded { unsent, oldest_unsent_ns: 1_500_000_000 }.explain();
        assert!(unsent(726_867).starts_with("726,867 arrivals were never sent, the first waited 1.500 s: "));
        assert!(unsent(1).starts_with("1 arrival was never sent, "));
        let waiting = |waiting| {
            let (oldest_ns, response_ns_p99) = (3_012_000_000, 310_000_000);
            Doubt::Unanswered { waiting, arrivals: 3_000, oldest_ns, response_ns_p99 }.explain()
        };
        assert_eq!(
            waiting(655),
            "655 arrivals were not done at the end and are in no latency (22 % of all; the first waited 3.012 s, of a \
             response of 310000000 ns at p99): the storage stood still or fell behind, and a longer run tells how long \
             that lasts"
        );
        assert!(waiting(1).starts_with("1 arrival was not done at the end and is in no latency ("));
        assert_eq!(Doubt::Failures { failed: 1 }.explain(), "1 I/O failed and is in no latency");
        assert_eq!(Doubt::Failures { failed: 12_000 }.explain(), "12,000 I/Os failed and are in no latency");
    }
}
