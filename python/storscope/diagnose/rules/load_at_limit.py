"""Load is at or near the point where latency climbs.

Looks for
    The knee of latency against load, per entity and for all volumes of a system together, from the intervals
    observed; how near the load of the last hour (or of the last bad window) is to it; and whether time beyond the
    knee is saturation (load on a plateau while latency stays high) or short bursts. Where latency, and that of
    reads and of writes where they are told apart, stays below the warning limit of its tier (wider for large I/O),
    that is information about headroom and no more.

Why it matters
    Up to the knee more load costs little; beyond it every operation more makes all others wait. Who is at 80 % of it
    has no room for a failed drive, a rebuild or the next server.

Evidence
    Operations and latency over at least 30 intervals in which the load went up and down: iostat -x -t, esxtop -b,
    EVAperf, perfmon. A capture of a quiet hour shows no knee, nor does a backup that is switched on and off: what lies
    between the two loads was not seen. A knee below the least load is not told, nor one of a controller whose processor
    is known to be less than half busy: what changed there was something else. Times in which the array's log has a
    rebuild running or a controller failed are left out, if enough is left; so is the time after it in which what had
    waited for its end was done.

When it is wrong
    Load is counted in operations: where the mix of sizes or of reads and writes differs at high load, the knee is that
    of this mix. Latency that another system causes on shared drives looks like noise here, and a noisy neighbour with
    the same timetable like a knee. The capacity is extrapolated; trust the knee more.

References
    Knee at twice the light-load latency and 80 % of it: common practice after Pesto (Gulati and others, SoCC 2011).
    Curve: Sakasegawa 1977. Power of a queue: Kleinrock 1979.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from storscope.diagnose.case import Case
from storscope.diagnose.judged_grids import JudgedGrid, judged_grids, means_words
from storscope.diagnose.peers import make_grid
from storscope.diagnose.rule import Rule, Settings, Threshold
from storscope.diagnose.rules._entities import joined
from storscope.diagnose.rules._intervals import median, weighted_mean
from storscope.diagnose.rules._load import between, headed, rows_sql
from storscope.diagnose.rules._load_subjects import NOW_MIN, Subject, lately, makes_its_own_latency, subjects_of
from storscope.diagnose.windows import bad_windows
from storscope.domain.arrays import BoolArray
from storscope.domain.entity import said_of
from storscope.domain.finding import EvidenceRows, Finding, Healthy, NotEvaluated, Outcome, Severity
from storscope.domain.units import NS_PER_S, format_bytes, format_duration, format_rate, format_ratio, format_span
from storscope.model.bootstrap import Interval
from storscope.model.knee import INTERVALS_MIN, Knee, find_knee
from storscope.model.overload import Overload, judge_overload

_NAME = "load-at-limit"


@dataclass(frozen=True)
class _State:
    """Where a subject stands against its knee."""

    subject: Subject
    knee: Knee
    when: str
    """'in the last hour', 'in the last bad window'."""
    load: float
    """Median load then, operations per second."""
    latency_ns: float
    apart: str
    """Latency of reads and of writes then, in words; empty where they are not told apart."""
    utilisation: Interval
    """Load then over the knee."""
    overload: Overload
    hurts: bool
    """True when latency then, that of reads or that of writes is above the warning limit of the tier."""
    harmful: bool
    """True when it is above it then or in the longest stay beyond the knee."""
    warning_ns: float
    """The limit for the mean latency then."""
    factor: float
    """Latency over that of light load that defines the knee."""
    sizes: tuple[float, float] | None
    """Median bytes an operation below and beyond the knee, where they differ much."""


def _evaluate(case: Case, settings: Settings) -> Sequence[Outcome]:
    subjects = subjects_of(case)
    if not subjects:
        return [
            NotEvaluated(
                _NAME, f"operations and latency over at least {INTERVALS_MIN} intervals (iostat -x -t, esxtop -b)"
            )
        ]
    return [_judge(case, settings, system, found) for system, found in subjects.items()]


# How near it is --------------------------------------------------------------------------------------------------


def _judge(case: Case, settings: Settings, system: str, subjects: list[Subject]) -> Outcome:
    seen: list[_State] = []
    unseen: list[tuple[Subject, Knee]] = []
    # A sum and its parts reach their limits together, and the sum says it best: parts only where no sum is near.
    for group in ([one for one in subjects if one.is_sum], [one for one in subjects if not one.is_sum]):
        knees = [(subject, _knee(case, settings, subject)) for subject in group if makes_its_own_latency(case, subject)]
        unseen += [(subject, knee) for subject, knee in knees if not knee.seen]
        states = [_state(case, settings, subject, knee) for subject, knee in knees if knee.seen]
        bad = [(severity, state) for state in states if (severity := _severity(settings, state)) is not None]
        if bad:
            bad.sort(key=lambda pair: (-pair[0], -pair[1].load))
            return _finding(case, settings, bad[0][0], [state for _, state in bad])
        seen += states
    if seen:
        return Healthy(_NAME, _room(seen[0]))
    flat = [(subject, knee) for subject, knee in unseen if knee.flat]
    if flat:
        return Healthy(_NAME, _no_limit(*flat[0]))
    if unseen:
        subject = unseen[0][0]
        left_out = f"; left out: {_other_words(subject)}" if subject.left_out_ns else ""
        return NotEvaluated(_NAME, _no_knee(*unseen[0]) + left_out)
    return NotEvaluated(_NAME, f"entities of {system} whose latency goes with their own load and not with others'")


def _knee(case: Case, settings: Settings, subject: Subject) -> Knee:
    """One below all load that was seen is none: at the least load latency is what it is, whatever made it so."""
    knee = find_knee(subject.ops, subject.latency_ns, ratio=settings["knee_latency_factor"], seed=case.seed)
    if knee.seen and knee.knee.estimate < knee.load_min:
        return replace(knee, seen=False, reason=f"no load below {format_rate(knee.load_min)} was seen")
    return knee


def _state(case: Case, settings: Settings, subject: Subject, knee: Knee) -> _State:
    sustained_ns = settings["saturated_s"] * NS_PER_S
    now, when = _now(case, subject, sustained_ns)
    load = median(subject.ops[now])
    latency = weighted_mean(subject.latency_ns[now], np.nan_to_num(subject.ops[now]))
    judged = judged_grids(case, subject.grid)
    _, warning_ns = judged[0].mean_and_limit_ns(now, judged[0].warning_ns, subject.column)
    hurts = any(one.is_above(now, one.warning_ns, subject.column) for one in judged)
    limit_ns = max(settings["knee_latency_factor"] * knee.light_latency_ns.estimate, 0.1 * warning_ns)
    overload = judge_overload(
        subject.ops, subject.latency_ns, knee=knee.knee.estimate, latency_limit_ns=limit_ns,
        step_ns=subject.grid.step_ns, sustained_ns=round(sustained_ns), anew=subject.grid.anew,
    )  # fmt: skip
    near = Interval(load / knee.knee.estimate, load / knee.knee.high, load / knee.knee.low)
    stay = slice(overload.first, overload.last + 1) if overload.first >= 0 else slice(0)
    harmful = hurts or any(_stays_above(one, subject.column, stay) for one in judged)
    return _State(
        subject, knee, when, load, latency, means_words(judged, now, subject.column), near, overload, hurts, harmful,
        warning_ns, settings["knee_latency_factor"], _sizes(settings, subject, knee.knee.estimate),
    )  # fmt: skip


def _stays_above(judged: JudgedGrid, column: int | None, stay: slice) -> bool:
    """Whether latency is above the warning limit in more than half of the intervals of a stay."""
    grid = judged.grid
    if column is None:
        return median((grid.total_latency_ns / judged.of_all(judged.warning_ns))[stay]) > 1
    return median((grid.latency_ns / judged.warning_ns)[stay, column]) > 1


def _sizes(settings: Settings, subject: Subject, knee: float) -> tuple[float, float] | None:
    """Median bytes an operation below and beyond the knee; None where they are alike or not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = subject.moved / subject.ops
    known = np.isfinite(size)
    below, beyond = (
        median(size[known & (subject.ops < 0.95 * knee)]),
        median(size[known & (subject.ops >= 0.95 * knee)]),
    )
    if not (below > 0 and beyond > 0):
        return None
    return (below, beyond) if max(below, beyond) >= settings["size_factor"] * min(below, beyond) else None


def _now(case: Case, subject: Subject, sustained_ns: float) -> tuple[BoolArray, str]:
    """The intervals that say how things stand: the last bad window, else the last hour or quarter of the capture.

    A bad window counts when it lasted: that load is high in a burst says nothing about how things stand.
    """
    grid = subject.grid
    known = np.isfinite(subject.ops)
    lasting = [one for one in bad_windows(case).get(grid.system, []) if one[1] - one[0] >= sustained_ns]
    inside = grid.inside(lasting[-1:]) & known
    if inside.sum() >= NOW_MIN:
        return inside, "in the last bad window"
    last, when = lately(grid)
    return last & known, when


def _severity(settings: Settings, state: _State) -> Severity | None:
    """None when there is room. Latency below the tier's warning is information: nobody waits, room gets scarce."""
    severity = _nearness(settings, state)
    if severity is None or not state.harmful:
        return severity and Severity.INFO
    # Where the sizes differ as well, the load may not be what slows.
    return min(severity, Severity.WARNING) if state.sizes else severity


def _nearness(settings: Settings, state: _State) -> Severity | None:
    if state.utilisation.estimate > 1.0 and state.overload.kind == "saturated":
        return Severity.CRITICAL if state.hurts else Severity.WARNING
    if state.utilisation.estimate > settings["utilisation_ratio"]:
        return Severity.WARNING
    if state.overload.kind == "saturated" and state.overload.share >= settings["beyond_share"]:
        return Severity.WARNING
    if state.overload.kind == "burst" and state.overload.share >= settings["beyond_share"]:
        return Severity.WARNING if state.hurts else Severity.INFO
    return None


# Words -----------------------------------------------------------------------------------------------------------


def _knee_words(state: _State) -> str:
    knee = state.knee
    times = "twice" if state.factor == 2 else f"{state.factor:g} times"
    text = (
        f"the knee is at {format_rate(knee.knee.estimate)} ({between(knee.knee, format_rate)}), where latency is "
        f"{times} the {format_duration(knee.light_latency_ns.estimate)} of light load"
    )
    if knee.light_is_extrapolated:
        text += (
            f" (extrapolated: the least load seen, {format_rate(knee.load_min)}, took "
            f"{format_duration(knee.latency_min_load_ns)})"
        )
    return text


def _room(state: _State) -> str:
    free = Interval(1 - state.utilisation.estimate, 1 - state.utilisation.high, 1 - state.utilisation.low)
    return (
        f"Load of {state.subject.words} is below its limit: {_knee_words(state)}; the {format_rate(state.load)} "
        f"{state.when} leave {format_ratio(free.estimate)} of it free ({between(free, format_ratio)})."
        f"{_left_out_words(state.subject)}"
    )


def _left_out_words(subject: Subject) -> str:
    return f" Left out: {_other_words(subject)}." if subject.left_out_ns else ""


def _other_words(subject: Subject) -> str:
    backlog = ", or what had waited for that was done" if subject.backlog_ns else ""
    return f"{format_span(subject.left_out_ns)} in which a rebuild ran or a controller had failed{backlog}"


def _no_limit(subject: Subject, knee: Knee) -> str:
    return (
        f"No limit of {subject.words} within {format_rate(knee.load_max)}: latency stays flat from "
        f"{format_rate(knee.load_min)} up to it, {format_duration(knee.latency_min_load_ns)} at the least load."
        f"{_left_out_words(subject)}"
    )


def _no_knee(subject: Subject, knee: Knee) -> str:
    if "explain" in knee.reason:
        return said_of(
            f"a load test in steps (storscope bench --knee), or a time in which operations explain the latency of "
            f"{subject.words}",
            f"here {knee.reason}; sizes or neighbours may explain the rest",
        )
    return (
        f"a wider range of load on {subject.words} (a busier hour, or a load test in steps with storscope bench "
        f"--knee): "
        f"{knee.reason}"
    )


def _mix_words(state: _State) -> str:
    if state.sizes is None:
        return ""
    below, beyond = (format_bytes(size) for size in state.sizes)
    return f"The mean I/O is {beyond} beyond it against {below} below, so the size may be what slows, not the load. "


def _finding(case: Case, settings: Settings, severity: Severity, states: list[_State]) -> Finding:
    state = states[0]
    subject, overload = state.subject, state.overload
    start, end = _span(state)
    return Finding(
        rule=_NAME,
        severity=severity,
        confidence=min(
            0.5 if state.sizes or state.knee.light_is_extrapolated else 0.9, 0.4 + 0.5 * state.knee.explained
        ),
        title=_title(settings, state),
        summary=(
            f"For {subject.words} {_knee_words(state)}. {_now_words(state)} {_overload_words(state)} "
            f"{_mix_words(state)}The curve's pole, the most it can do, is extrapolated to about "
            f"{format_rate(state.knee.capacity.estimate)} ({between(state.knee.capacity, format_rate)}). "
            f"{_good_words(state)}{_others(states)}"
        ).strip()
        + _left_out_words(subject),
        why=(
            "Beyond the knee every operation more makes all others wait; there is no room for a failure or for growth."
            if state.harmful
            else "Nobody waits yet, but headroom gets scarce: from here on latency grows faster than load."
        ),
        innocent=(
            "The mix changed at the same time: larger I/O, more writes, another neighbour on the same drives; or it is "
            "a batch that nobody waits for."
        ),
        check=(
            "Compare I/O size and read share at high and at low load; then measure the limit itself with the same mix: "
            "storscope workload derive writes the mix, and storscope bench DIRECTORY --workload FILE --knee raises its "
            "load in steps, in a quiet time."
        ),
        remedy=(
            "Smooth or move the bursts (backup, batch, virus scan) in time."
            if overload.kind == "burst"
            else "Take the heaviest load elsewhere or to another time; else more drives, flash or cache in front."
        ),
        source=f"Knee at {settings['knee_latency_factor']:g} times the light-load latency, warning at "
        f"{format_ratio(settings['utilisation_ratio'])} of it: common practice (Pesto, SoCC 2011).",
        entities=[each.subject.entity for each in states],
        start_ns=start,
        end_ns=end,
        evidence=(_rows(case, state),),
        weight=min(1.0, max(state.utilisation.estimate, overload.share) * max(state.knee.explained, 0.1)),
        numbers=_numbers(state),
    )


def _good_words(state: _State) -> str:
    if state.harmful:
        return ""
    limits = format_duration(state.warning_ns)
    return f"Latency is below the {limits} of its tier all the same: this is about headroom, not about harm. "


def _title(settings: Settings, state: _State) -> str:
    words = headed(state.subject.words[0].upper() + state.subject.words[1:])
    near = state.utilisation.estimate > settings["utilisation_ratio"]
    if not state.harmful:
        share = format_ratio(state.utilisation.estimate)
        return f"{words} {f'at {share} of' if near else 'at times beyond'} the knee, latency still good"
    if state.overload.kind == "saturated" and state.utilisation.estimate > 1.0:
        return f"{words} saturated, beyond the knee"
    if near:
        return f"{words} at {format_ratio(state.utilisation.estimate)} of the knee"
    return f"{words} {'saturated at times' if state.overload.kind == 'saturated' else 'bursts go beyond the knee'}"


def _now_words(state: _State) -> str:
    latency = format_duration(state.latency_ns) + (f" ({state.apart})" if state.apart else "")
    return (
        f"{state.when.capitalize()} the load was {format_rate(state.load)} at {latency}, "
        f"{format_ratio(state.utilisation.estimate)} of the knee ({between(state.utilisation, format_ratio)})."
    )


def _overload_words(state: _State) -> str:
    overload = state.overload
    if overload.kind == "none":
        return "It never stayed beyond it."
    longest = format_span(overload.longest_ns)
    if overload.kind == "saturated" and not state.harmful:
        return f"{format_ratio(overload.share)} of the time lies beyond it, {longest} on end at the longest."
    if overload.kind == "saturated":
        return (
            f"This is saturation: {format_ratio(overload.share)} of the time lies beyond it, {longest} on end with the "
            f"load on a plateau (it varies by {format_ratio(overload.plateau_spread)}) while latency stayed high."
        )
    return (
        f"These are bursts: {overload.runs:,} of them, {format_ratio(overload.share)} of the time, the longest "
        f"{longest}; latency comes down again with the load."
    )


def _others(states: list[_State]) -> str:
    words = [f"{each.subject.words} ({format_ratio(each.utilisation.estimate)} of the knee)" for each in states[1:]]
    return f"Near their limits too: {joined(words, 3)}." if words else ""


def _span(state: _State) -> tuple[int, int]:
    times, step = state.subject.grid.time_ns, state.subject.grid.step_ns
    if state.overload.first < 0:
        return int(times[0]), int(times[-1]) + step
    return int(times[state.overload.first]), int(times[state.overload.last]) + step


def _numbers(state: _State) -> dict[str, float]:
    knee = state.knee
    numbers = {
        "knee_ops_per_s": knee.knee.estimate, "knee_low_ops_per_s": knee.knee.low,
        "knee_high_ops_per_s": knee.knee.high,
        "capacity_ops_per_s": knee.capacity.estimate, "capacity_low_ops_per_s": knee.capacity.low,
        "capacity_high_ops_per_s": knee.capacity.high, "latency_ns_light": knee.light_latency_ns.estimate,
        "ops_per_s": state.load, "latency_ns_mean": state.latency_ns, "utilisation_ratio": state.utilisation.estimate,
        "explained_ratio": knee.explained, "share_beyond_knee": state.overload.share,
        "longest_beyond_knee_s": state.overload.longest_ns / NS_PER_S,
    }  # fmt: skip
    return {name: value for name, value in numbers.items() if np.isfinite(value)}


def _rows(case: Case, state: _State) -> EvidenceRows:
    """Latency in ten classes of load."""
    subject = state.subject
    grid = subject.grid if subject.is_sum else make_grid([case.all_series[subject.entity]]) or subject.grid
    width = max(state.knee.load_max / 10, 1e-9)
    return case.evidence(
        f"Latency by load, {subject.words}",
        f"""WITH load AS (SELECT {case.instant()} // {grid.step_ns} AS step, sum(ops_per_s) AS ops_per_s,
        sum(ops_per_s * latency_ns_mean) / nullif(sum(ops_per_s) FILTER (latency_ns_mean IS NOT NULL), 0)
        AS latency_ns_mean FROM observations WHERE {rows_sql(case, grid)} GROUP BY step)
        SELECT round(floor(ops_per_s / {width:.6g}) * {width:.6g}) AS ops_per_s_from, count(*) AS intervals,
        round(median(latency_ns_mean)) AS latency_ns_median, round(quantile_cont(latency_ns_mean, 0.95))
        AS latency_ns_p95 FROM load WHERE latency_ns_mean IS NOT NULL GROUP BY 1 ORDER BY 1""",
    )


_IMPOSED = ("throughput-cap", "burst-credits-spent")
"""Rules that tell of limits which are none of the storage's own."""


def _behind_a_limit(_case: Case, finding: Finding, outcomes: Sequence[Outcome]) -> Finding:
    """With another remedy where a limit that is set makes the knee: drives and cache would not move it."""
    own = set(finding.entities)
    wholes = {entity.system for entity in own if entity.kind in ("array", "host")}
    for one in outcomes:
        if not isinstance(one, Finding) or one.rule not in _IMPOSED or one.severity is Severity.INFO:
            continue
        if own & set(one.entities) or wholes & {entity.system for entity in one.entities}:
            remedy = f"See first '{one.title}' ({one.rule}): drives and cache do not move a limit that is set."
            return replace(finding, remedy=remedy, weight=_LESS * finding.weight)
    return finding


_LESS = 0.5
"""Part of its weight that a knee has where a limit explains it, which is told first."""


RULE = Rule(
    name=_NAME,
    title="load is at or near the point where latency climbs",
    evaluate=_evaluate,
    completed=_behind_a_limit,
    thresholds=(
        Threshold("utilisation_ratio", 0.8, "load over the knee from which it is near its limit",
                  "common practice (Pesto, SoCC 2011)"),
        Threshold("knee_latency_factor", 2.0, "latency over that of light load that defines the knee",
                  "common practice; where load over latency is greatest for one server (Kleinrock 1979)"),
        Threshold("saturated_s", 300, "time on end beyond the knee that is saturation and no burst", "ours"),
        Threshold("size_factor", 1.5, "mean I/O size beyond the knee over that below (or the reverse) that is told",
                  "ours"),
        Threshold("beyond_share", 0.01, "share of the time beyond the knee that is worth reporting by itself", "ours"),
    ),
)  # fmt: skip
