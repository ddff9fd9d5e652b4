"""What is said of a simulated run: its warm-up, its figures, and what is doubted, in words that fit virtual time.

Warm-up is looked for before the first change only: what changes on purpose is no warm-up. Nothing but the design, its
schedule and the workload acts on a simulated array, so a level that moves by itself is a queue or a cache that fills.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storscope.bench.figures import Outcome
from storscope.bench.goals import default_figure, has_steps
from storscope.bench.judgement import Judgement, Settled, estimates_of, settled, shown_value
from storscope.bench.samples import BANDWIDTH, IOPS, Samples
from storscope.bench.settling import LEAST_SAMPLES, LevelChange, level_change
from storscope.domain.units import format_count, format_duration, format_instant
from storscope.domain.workload import Workload
from storscope.sim.happenings import Happening
from storscope.sim.load_changes import load_end_ns, steps_end_ns
from storscope.sim.phases import Phase, first_change_ns
from storscope.sim.replay import TracePlan
from storscope.sim.schedule import Lifetime
from storscope.sim.simulation import SimulationPlan
from storscope.sim.takeovers import Silence
from storscope.workbench.first_change import later_words

LONGER = "Simulate longer, with --duration"
_NEVER = "No longer run lets it settle, since the load is too much"
_LEAST_SHIFT = 0.01
"""A change of level that moves the mean over the run by less than this share of it is not worth a doubt."""


def judge(
    samples: Samples, interval_ns: int, workload: Workload, phases: Sequence[Phase], ended: str, full: str = "", *,
    ramp_ns: int = 0, longer: str = LONGER, is_overloaded: bool = False,
) -> Judgement:  # fmt: skip
    """The figures after the warm-up; those of a run in phases are of all of them, and have no intervals.

    `full` says that the write cache was full at the end (cache_filling.py), which is told where the level moved. At
    least `ramp_ns` at the start are left out. `longer` is what to try where the run was too short; of a load that is
    above what the array does, which is told elsewhere, no length of the run lets the response settle.
    """
    figure = default_figure(workload)
    changes_ns = first_change_ns(phases)
    if has_steps(workload):
        every = tuple(samples.between(0))
        plain = {name: one.without_interval for name, one in estimates_of(every, figure).items()}
        start = "The workload changes on purpose: no warm-up was looked for."
        return Judgement(figure.name, 0, samples.end_ns, start, ended, plain)
    before = samples if changes_ns is None else Samples(samples.between(0, changes_ns))
    kept = settled(before, interval_ns, ramp_ns)
    from_ns = kept.from_ns if kept.is_settled or ramp_ns else 0
    estimates = estimates_of(tuple(samples.between(from_ns)), figure)
    if changes_ns is not None:
        estimates = {name: one.without_interval for name, one in estimates.items()}
    return Judgement(
        figure.name, from_ns, samples.end_ns, _start(kept, changes_ns), ended, estimates,
        _doubts_of_level(kept, phases, full, longer, is_overloaded=is_overloaded),
    )  # fmt: skip


def judge_replay(samples: Samples, workload: Workload, phases: Sequence[Phase], ended: str) -> Judgement:
    """The figures of a replay, of all of it: a trace without its first or its last requests would be another trace."""
    figure = default_figure(workload)
    estimates = estimates_of(tuple(samples.between(0)), figure)
    if first_change_ns(phases) is not None:
        estimates = {name: one.without_interval for name, one in estimates.items()}
    start = "All of it counts: no warm-up was looked for."
    return Judgement(figure.name, 0, samples.end_ns, start, ended, estimates)


def _start(kept: Settled, changes_ns: int | None) -> str:
    if changes_ns is None:
        return kept.sentence
    before = f"before the first change, at {format_instant(changes_ns)}"
    if kept.start.is_too_short:
        return f"No warm-up was looked for: there are fewer than {LEAST_SAMPLES} samples {before}."
    if kept.start.samples is None:
        return f"No end of a warm-up was found {before}: nothing is left out."
    if not kept.from_ns:
        return f"No warm-up was found {before}."
    return kept.sentence


def _doubts_of_level(
    kept: Settled, phases: Sequence[Phase], full: str, longer: str, *, is_overloaded: bool
) -> tuple[str, ...]:
    if kept.start.is_too_short:
        return ()
    changes_ns = first_change_ns(phases)
    if changes_ns is not None:
        longer, is_overloaded = later_words(phases), False
    if not kept.is_settled:
        figure = kept.start.figure
        assert figure is not None  # it is what moved
        longer = _NEVER if is_overloaded and figure.statistic not in (IOPS, BANDWIDTH) else longer
        before, after = (shown_value(figure, value) for value in (kept.start.before, kept.start.after))
        why = f", and {full}" if full and changes_ns is None else ""
        return (f"The array had not settled: {figure.words} still went from {before} to {after}{why}. {longer}.",)
    found = level_change(kept.samples)
    if found is None or _hardly_counts(found, kept):
        return ()
    before, after = (shown_value(found.figure, value) for value in (found.before, found.after))
    longer = _NEVER if is_overloaded and found.figure.statistic not in (IOPS, BANDWIDTH) else longer
    what = found.figure.words[:1].upper() + found.figure.words[1:]
    why = full if full and changes_ns is None else "queues or caches were still filling or emptying"
    said = (
        f"{what} changed {format_instant(found.at_ns)} into the run, from {before} to {after}, though nothing was "
        f"scheduled then: {why}, and the figures are of both. {longer}."
    )
    return (said,)


def _hardly_counts(found: LevelChange, kept: Settled) -> bool:
    """Whether what lies before the change is so short that the figures are of the level after it."""
    before = (found.at_ns - kept.from_ns) / kept.duration_ns
    return before * abs(found.after - found.before) < _LEAST_SHIFT * abs(found.after)


# How it ended ---------------------------------------------------------------------------------------------------------


def ended_words(plan: SimulationPlan, outcome: Outcome, lost: Sequence[Happening], end_ns: int) -> str:
    """Why the run took as long as it did. `outcome` is as the core gave it, and `end_ns` that of the last interval."""
    is_after = bool(lost) and reached_its_time(plan, end_ns)  # lost by what was still in flight
    has_failed = outcome.error is not None and not is_after
    if lost and has_failed:
        return _lost_words(max(one.time_ns for one in lost), end_ns)
    if outcome.stopped or has_failed:
        return "It ended early."
    words = _replay_words(plan, outcome) if isinstance(plan, TracePlan) else _asked_words(plan, outcome, end_ns)
    return f"{words.removesuffix('.')}, though data was lost." if lost else words


def reached_its_time(plan: SimulationPlan, end_ns: int) -> bool:
    """Whether it ran for the time that was asked for."""
    return plan.duration_ns is not None and end_ns >= plan.duration_ns


def longer_words(plan: SimulationPlan, end_ns: int) -> str:
    """What makes a run longer that ended at `end_ns`: more time, or later ends of the streams that a schedule ended."""
    lifetimes = plan.design.lifetimes
    ends = [lifetimes.get(stream.name, Lifetime()).end_ns for stream in plan.workload.streams]
    is_over = bool(ends) and all(one is not None and one <= end_ns for one in ends)
    return "Let its streams end later" if is_over and not reached_its_time(plan, end_ns) else LONGER


def _lost_words(lost_ns: int, end_ns: int) -> str:
    if lost_ns < end_ns:
        return f"It ended at {format_instant(end_ns)}, when an I/O failed after data was lost."
    return f"It ended at {format_instant(lost_ns)}, when data was lost."


def _replay_words(plan: TracePlan, outcome: Outcome) -> str:
    requests, made = sum(map(len, plan.traces)), outcome.result["ending"]["submitted"]
    if plan.duration_ns is None or made == requests:
        counted = "one request" if requests == 1 else f"{format_count(requests)} requests"
        return f"It ran for the {counted} of the trace."
    asked = format_instant(plan.duration_ns)
    return f"It ran for the {asked} asked for, when of {format_count(requests)} requests {format_count(made)} were due."


def _asked_words(plan: SimulationPlan, outcome: Outcome, end_ns: int) -> str:
    ending = outcome.result["ending"]
    made = ending["completed"] - ending["drained"] - outcome.total.flushes.ios
    if plan.ios is not None and made >= plan.ios:
        asked = "the I/O that was asked for was" if plan.ios == 1 else f"the {plan.ios:,} I/Os that were asked for were"
        return f"It ran for {format_instant(end_ns)}, until {asked} made."
    if plan.duration_ns is not None and reached_its_time(plan, end_ns):
        return f"It ran for the {format_instant(plan.duration_ns)} that {_who_asked(plan, plan.duration_ns)}."
    asked = "" if plan.duration_ns is None else f"{format_instant(plan.duration_ns)} were asked for"
    if plan.ios is not None:
        asked = f"{format_count(made)} of the {format_count(plan.ios)} I/Os that were asked for were made"
    is_endless = load_end_ns(plan.workload, plan.design.lifetimes) is None
    why = "which is as long as it can be simulated" if is_endless else "until its streams had ended"
    return f"It ran for {format_instant(end_ns)}, {why}: {asked}."


def _who_asked(plan: SimulationPlan, duration_ns: int) -> str:
    steps_ns = steps_end_ns(plan.workload, plan.design.lifetimes)
    if steps_ns == duration_ns:
        return "its rate steps last"
    if steps_ns is None or steps_ns < duration_ns:
        return "were asked for"
    return f"were asked for; its rate steps would last {format_instant(steps_ns)}"


@dataclass(frozen=True)
class Cause:
    """What is known of a run that its doubts may be about."""

    is_bound: bool = False
    """Whether something behind the load bounds the run, so that more in flight would only wait there."""
    longest: Silence | None = None
    """The longest time for which nobody answered for a controller that had failed; None where the load is too much
    without that, too."""
    at_end: Silence | None = None
    """One of these that had not ended when the run did."""
    is_empty_told: bool = False
    """Whether it is told elsewhere why no I/O was done."""


def worded(outcome: Outcome, lost: Sequence[Happening], cause: Cause = Cause()) -> Outcome:
    """The same outcome with doubts and errors in words that fit a simulation."""
    structured = outcome.result["doubts"]
    doubts = [
        _doubt(doubt, said, cause) for doubt, said in zip(structured, outcome.doubts, strict=True)
        if not (lost and doubt["kind"] == "failures") and not (cause.is_empty_told and doubt["kind"] == "empty")
    ]  # fmt: skip
    error = outcome.error
    if lost:
        failed = sum(doubt["failed"] for doubt in structured if doubt["kind"] == "failures")
        told = f" {format_count(failed)} I/Os failed." if failed else ""
        error = ("data_lost", data_lost_words(lost) + told)
    return Outcome(outcome.result, tuple(doubts), error, outcome.stopped)


def data_lost_words(lost: Sequence[Happening]) -> str:
    """What was lost, when, and with which drives; a sentence for each volume."""
    return " ".join(f"At {format_duration(one.time_ns)} {one.words}." for one in lost)


def _doubt(doubt: Mapping[str, Any], said: str, cause: Cause) -> str:
    kind = doubt["kind"]
    if kind == "generator_late":
        return _late(doubt, cause)
    if kind == "overloaded":
        unsent, oldest = format_count(doubt["unsent"]), format_duration(doubt["oldest_unsent_ns"])
        never_sent = f"{unsent} I/Os were never sent, the first of them waited {oldest}"
        if cause.at_end is not None:
            return f"{never_sent}. {silent_at_end_words(cause.at_end)}"
        return (
            f"The load is above what the array does: {never_sent}. "
            "Latency grows for as long as it runs, and the figures depend on --duration."
        )
    if kind == "unanswered":
        waiting, response = format_count(doubt["waiting"]), format_duration(doubt["response_ns_p99"])
        why = "The array stood still or fell behind; a longer run tells how long that lasts."
        return (
            f"{waiting} I/Os were not done at the end and are in no latency: one of them took "
            f"{format_duration(doubt['oldest_ns'])} in all, of a response of {response} at p99. "
            f"{why if cause.at_end is None else silent_at_end_words(cause.at_end)}"
        )
    if kind == "empty":
        return "No I/O completed."
    return said


def _late(doubt: Mapping[str, Any], cause: Cause) -> str:
    waited, response = (format_duration(doubt[key]) for key in ("lateness_ns_p99", "response_ns_p99"))
    told = (
        f"I/Os waited {waited} at p99 before they were sent, of a response of {response}: as many as the workload "
        "allows were in flight"
    )
    silence = cause.longest
    if silence is not None and doubt["lateness_ns_p99"] <= silence.to_ns - silence.from_ns:
        since, until = format_instant(silence.from_ns), format_instant(silence.to_ns)
        return (
            f"{told} while nobody answered for controller {silence.controller}, from {since} to {until}. Only a "
            "shorter takeover makes that less; the response counts that wait."
        )
    remedy = (
        "Ask for less, or widen what bounds the run: more in flight would only wait there"
        if cause.is_bound else "Ask for less, or allow more outstanding I/Os"
    )  # fmt: skip
    return f"{told}. {remedy}; the response counts that wait."


def silent_at_end_words(silence: Silence) -> str:
    """Two sentences: why what was sent to a controller was not done when the run ended, and what to try."""
    failed, to, at = silence.controller, silence.to, format_instant(silence.to_ns)
    return (
        f"What is sent to controller {failed} waits until controller {to} has taken over from it, at {at}, and the run "
        "ended before. Simulate longer, with --duration."
    )
